package user

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tune/kernels"
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

// TestCallArgumentsCompiledIn: a constant of the shape that a flag or the source contains is no number that programs may change.
func TestCallArgumentsCompiledIn(t *testing.T) {
	needCompiler(t)
	const more = "    - {name: half, type: double, value: n / 2 + T}\n    - {name: m, type: int, value: m}\n"
	for _, test := range []struct{ name, add, source string }{
		{"flag", "  flags: ['-DN={{n}}']\n", "void f(void) {}\nvoid g(void) {}\n"},
		{"a part of a flag", "  flags: ['-DN={{n // 4}}']\n", "void f(void) {}\nvoid g(void) {}\n"},
		{"source", "  parameters: template\n", "void f(void) { int rows = {{n}}; (void)rows; }\nvoid g(void) {}\n"},
	} {
		text := strings.NewReplacer("shape: {n: 16}", "shape: {n: 16, m: 3}", "    - {name: n, type: int, value: n}\n", "    - {name: n, type: int, value: n}\n"+more).Replace(probeYAML)
		k, _ := load(t, text+test.add, "f.c", test.source)
		s := problem(t, k, "").(*SourceProblem).spec
		source, err := s.Generate(s.space.Default())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, a := range source.Call.Arguments[3:] {
			got = append(got, a.About)
		}
		want := []string{
			"int, the constant n of the shape, which has to be 16: the source or a flag contains {{n}}",
			"double, n / 2 + T, which has to be 9: the source or a flag contains {{n}}", "int, the constant m of the shape, tuned with 3",
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got\n%s\nwant\n%s", test.name, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// TestHeaderThreads: the header of the values says how many threads they were measured with, where a program could take another number.
// Headers of earlier versions did not, and are accepted.
func TestHeaderThreads(t *testing.T) {
	needCompiler(t)
	for _, test := range []struct{ add, point, want string }{
		{"", "T=2 WAY=3", ""},
		{"  threads: T\n", "T=1 WAY=3", ""},
		{"  threads: T\n", "T=2 WAY=3", "/* A call was measured with 2 threads. If your source uses OpenMP, call omp_set_num_threads(2) before its function. */\n"},
		{"  flags: [-fopenmp]\n", "T=2 WAY=3", "/* A call was measured with 1 thread. If your source uses OpenMP, call omp_set_num_threads(1) before its function. */\n"},
	} {
		k, _ := load(t, probeYAML+test.add, "f.c", "void f(const float *x, float *y, int *z, int n) {}\nvoid g(void) {}\n")
		p := problem(t, k, "")
		point, err := p.Space().Parse(test.point)
		if err != nil {
			t.Fatal(err)
		}
		c, err := p.Build(t.Context(), point)
		if err != nil {
			t.Fatal(err)
		}
		artifacts, err := c.Artifacts()
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(artifacts, func(a kernels.Artifact) bool { return a.Name == "kernel.h" })
		var now, earlier strings.Builder
		if err := cmp.Or(artifacts[at].Write(&now), artifacts[at].Earlier(&earlier)); err != nil {
			t.Fatal(err)
		}
		if now.String() != test.want+earlier.String() || !strings.HasPrefix(earlier.String(), "/*\n * The values that tune chose for probed at n=16.\n") {
			t.Errorf("%q, %s: the header is\n%s", test.add, test.point, now.String())
		}
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
