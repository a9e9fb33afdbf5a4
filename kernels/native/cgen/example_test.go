package cgen_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"tune/kernels"
	"tune/kernels/native"
	"tune/kernels/native/cgen"
	"tune/kernels/native/nativetest"
	"tune/space"
)

// saxpy is a complete family: y = a·x + y. It defines the algorithm, the cases and the reference; cgen and native do the rest.
type saxpy struct {
	n     int
	arch  string
	isas  []cgen.ISA
	space *space.Space
}

func newSaxpy(n int, m native.Machine) (*saxpy, error) {
	s := &saxpy{n: n, arch: m.Arch, isas: cgen.Select(m, cgen.Generic, cgen.AVX2, cgen.AVX512)}
	names := []string{cgen.Native}
	for _, isa := range s.isas {
		names = append(names, isa.Name)
	}
	var err error
	s.space, err = space.New("saxpy", []space.Parameter{
		space.Enum("isa", names...).Describe("a plain loop for the CPU at hand, or vectors of an instruction set"),
		space.Ints("unroll", 1, 2, 4, 8).If("isa != 'native'").Describe("vectors in one turn of the loop"),
	})
	return s, err
}

func (s *saxpy) Space() *space.Space { return s.space }

// Presets returns the baseline, and a start with the best instruction set. Their values belong to the space above.
func (s *saxpy) Presets() []kernels.Preset {
	plain, _ := s.space.Make(map[string]any{"isa": cgen.Native})
	vector, _ := s.space.Make(map[string]any{"isa": s.isas[len(s.isas)-1].Name, "unroll": 4})
	return []kernels.Preset{
		{Name: "baseline", Doc: "a plain loop", Point: plain},
		{Name: "vector", Doc: "the widest vectors, four in a turn", Point: vector, Start: true},
	}
}

// Generate writes the C of a point. Its arguments are a, x and y, and its dimension is the length of x and y.
func (s *saxpy) Generate(p space.Point) (native.Source, error) {
	isa, w := p.Str("isa"), &cgen.Writer{}
	w.Line("#include <stdint.h>")
	if isa != cgen.Native {
		w.Line("%s", cgen.Memory("float", "vec", cgen.Lookup(isa).Bytes, 4))
	}
	w.Func("void tune_kernel(void *const *args, const int64_t *dims)")
	w.Line("const float a = *(const float *)args[0], *x = args[1];")
	w.Line("float *y = args[2];")
	w.Line("int64_t i = 0;")
	if isa != cgen.Native {
		lanes, unroll := cgen.Lookup(isa).Lanes(), p.Int("unroll")
		w.Open("for (; i + %d <= dims[0]; i += %d)", lanes*unroll, lanes*unroll)
		for at := 0; at < lanes*unroll; at += lanes {
			w.Line("*(vec *)(y + i + %d) += a * *(const vec *)(x + i + %d);", at, at)
		}
		w.Close()
	}
	w.Nested("for (; i < dims[0]; i++)", "y[i] += a * x[i];")
	w.Close()
	flags := cgen.Flags{Arch: s.arch, Std: "gnu11", Opt: "O3", Contract: cgen.ContractFast, ISA: isa}
	return native.Source{Lang: "c", Text: w.String(), Flags: flags.List()}, nil
}

// Cases returns the asked length, and a length shorter than a vector.
func (s *saxpy) Cases(_ context.Context, _ space.Point, seed uint64) ([]native.Case, error) {
	return []native.Case{newCase(s.n, seed), newCase(3, seed)}, nil
}

func newCase(n int, seed uint64) native.Case {
	rng := rand.New(rand.NewPCG(seed, uint64(n)))
	draw := func(n int) (out []float32) {
		for range n {
			out = append(out, 2*rng.Float32()-1)
		}
		return out
	}
	a, x, y := draw(1), draw(n), draw(n)
	return native.Case{
		Name: fmt.Sprintf("n=%d", n),
		Dims: []int64{int64(n)},
		Buffers: []native.Buffer{
			{Name: "a", Elem: native.F32, Len: 1, Mode: native.In},
			{Name: "x", Elem: native.F32, Len: n, Mode: native.In},
			{Name: "y", Elem: native.F32, Len: n, Mode: native.InOut},
		},
		Inputs: [][]byte{native.AsBytes(a), native.AsBytes(x), native.AsBytes(y)},
		Verify: func(buffers [][]byte) (d kernels.Deviation, err error) {
			for i, got := range native.AsFloats(buffers[2]) {
				product := float64(a[0]) * float64(x[i])
				want := product + float64(y[i])
				tolerance := 0x1p-23 * (math.Abs(product) + math.Abs(want)) // the product and the sum are rounded
				off := math.Abs(float64(got) - want)
				if !(off <= tolerance) {
					return d, kernels.Reject(space.WrongAnswer, "y[%d] is %v, want %v", i, got, want)
				}
				d.Add(off, tolerance)
			}
			return d, nil
		},
	}
}

// Work counts two operations for each element, two numbers read and one written.
func (s *saxpy) Work() native.Work {
	return native.Work{Ops: 2 * float64(s.n), OpsName: "GFLOP/s", Bytes: 12 * float64(s.n)}
}

// TestSaxpy compiles the family, runs it and compares it with its reference. It is skipped where there is no C compiler.
func TestSaxpy(t *testing.T) {
	s, err := newSaxpy(1000, nativetest.Here(t))
	if err != nil {
		t.Fatal(err)
	}
	nativetest.Run(t, s, nativetest.Options{Points: 4})
}

// Example prints the C of a point.
func Example() {
	s, _ := newSaxpy(1000, native.Machine{Arch: "amd64", ISAs: []string{"generic", "avx2"}})
	p, _ := s.Space().Parse("isa=avx2 unroll=2")
	src, _ := s.Generate(p)
	fmt.Print(src.Text)
	// Output:
	// #include <stdint.h>
	// typedef float vec __attribute__((vector_size(32), aligned(4), may_alias));
	// void tune_kernel(void *const *args, const int64_t *dims)
	// {
	// 	const float a = *(const float *)args[0], *x = args[1];
	// 	float *y = args[2];
	// 	int64_t i = 0;
	// 	for (; i + 16 <= dims[0]; i += 16) {
	// 		*(vec *)(y + i + 0) += a * *(const vec *)(x + i + 0);
	// 		*(vec *)(y + i + 8) += a * *(const vec *)(x + i + 8);
	// 	}
	// 	for (; i < dims[0]; i++)
	// 		y[i] += a * x[i];
	// }
}
