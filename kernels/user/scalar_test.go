package user

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tune/kernels/native"
)

// TestCallArguments: what programs are told of each argument says what a number is, as it says how long a buffer is.
func TestCallArguments(t *testing.T) {
	needCompiler(t)
	text := strings.NewReplacer(
		"    - {name: n, type: int, value: n}\n", "    - {name: n, type: int, value: n}\n    - {name: t, type: long, value: T}\n    - {name: way, type: int, value: WAY}\n"+
			"    - {name: half, type: double, value: n / 2 + T}\n    - {name: k, type: float, value: 0.5}\n",
	).Replace(probeYAML)
	k, _ := load(t, text, "f.c", "void f(void) {}\nvoid g(void) {}\n")
	s := problem(t, k, "").(*SourceProblem).spec
	p, err := s.space.Parse("compiler=gcc T=2 WAY=3")
	if err != nil {
		if p, err = s.space.Parse("T=2 WAY=3"); err != nil {
			t.Fatal(err)
		}
	}
	source, err := s.Generate(p)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, a := range source.Call.Arguments {
		got = append(got, a.Name+": "+a.About)
	}
	want := []string{
		"x: 16 elements, in, aligned to 64 bytes when measured", "y: 16 elements, out, aligned to 64 bytes when measured",
		"z: 1 element, inout, aligned to 64 bytes when measured", "n: int, the constant n of the shape, tuned with 16",
		"t: long, the parameter T, which has to be 2 (tried: 1 to 2)", "way: int, the parameter WAY, which has to be 3 (tried: 7, 3)",
		"half: double, n / 2 + T, tuned with 10", "k: float, always 0.5",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestDrawFloats: the numbers of large buffers are those that rand.Rand draws, so that results of a seed stay the same.
func TestDrawFloats(t *testing.T) {
	for _, elem := range []native.Elem{native.F32, native.F64} {
		b := native.Buffer{Elem: elem, Len: 100}
		got := drawFloats(nil, b, rand.NewPCG(3, 4), -1, 2.5)
		rng, want := rand.New(rand.NewPCG(3, 4)), []byte(nil)
		for range b.Len {
			want = encode(want, -1+3.5*rng.Float64(), elem)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%v: other numbers", elem)
		}
	}
}
