package cgen_test

import (
	"context"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"os"
	"time"

	"tune"
	"tune/kernels"
	"tune/kernels/native"
	"tune/kernels/native/cgen"
	"tune/search"
	"tune/space"
)

// saxpyKernel is a kernel that tune searches, checks, measures and exports: y = a·x + y for arrays of n numbers.
type saxpyKernel struct{ host *native.Host }

func (saxpyKernel) Info() kernels.Info {
	return kernels.Info{Name: "saxpy", Doc: "y = a·x + y", Version: "1", Unit: "ns", Rate: space.MetricGFLOPS,
		Shape: []kernels.Field{{Name: "n", Doc: "numbers of an array", Default: "4096", Min: 1, Max: 1 << 24}}}
}

func (k saxpyKernel) Problem(s kernels.Shape) (kernels.Problem, error) {
	return native.Open(k.host, s, newSaxpy, nil)
}

// saxpy is the family of the kernel at a shape. It defines the algorithm, the cases and the reference; cgen and native do the rest.
type saxpy struct {
	n     int
	arch  string
	isas  []cgen.ISA
	space *space.Space
}

func newSaxpy(shape kernels.Shape, m native.Machine) (*saxpy, error) {
	s := &saxpy{n: shape.Int("n"), arch: m.Arch, isas: cgen.Select(m, cgen.Generic, cgen.AVX2, cgen.AVX512)}
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

func (s *saxpy) Presets() []kernels.Preset {
	plain, _ := s.space.Make(map[string]any{"isa": cgen.Native})
	return []kernels.Preset{{Name: "baseline", Doc: "a plain loop", Point: plain}}
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
	return native.Source{Lang: "c", Text: w.String(), Flags: cgen.Flags{Arch: s.arch, Std: "gnu11", Opt: "O3", Contract: cgen.ContractFast, ISA: isa}.List()}, nil
}

// Cases returns the asked length, and a length shorter than a vector.
func (s *saxpy) Cases(_ context.Context, _ space.Point, seed uint64) ([]native.Case, error) {
	return []native.Case{newCase(s.n, seed), newCase(3, seed)}, nil
}

func newCase(n int, seed uint64) native.Case {
	rng := rand.New(rand.NewPCG(seed, uint64(n)))
	a, x, y := make([]float32, 1), make([]float32, n), make([]float32, n)
	for _, numbers := range [][]float32{a, x, y} {
		for i := range numbers {
			numbers[i] = 2*rng.Float32() - 1
		}
	}
	return native.Case{
		Name: fmt.Sprintf("n=%d", n), Dims: []int64{int64(n)},
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
				off, tolerance := math.Abs(float64(got)-want), 0x1p-23*(math.Abs(product)+math.Abs(want)) // two roundings
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

// tuneSaxpy searches the kernel on the machine of a host, and keeps the run in a directory.
func tuneSaxpy(host *native.Host, dir string) (*tune.Report, error) {
	shape, err := kernels.ParseShape(saxpyKernel{}.Info().Shape, "n=10000")
	if err != nil {
		return nil, err
	}
	return tune.Run(context.Background(), tune.Options{
		Kernel: saxpyKernel{host}, Shape: shape, Dir: dir, Seed: 1, Budget: search.Budget{Evaluations: 6}, Final: 2 * time.Second})
}

// A family of C becomes a kernel, and the kernel is tuned: the directory has best.kernel.c, and best.json with what was measured.
func Example() {
	dir, err := os.MkdirTemp("", "saxpy-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	host := native.NewHost(native.HostOptions{})
	defer host.Close()
	report, err := tuneSaxpy(host, dir)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s, %.2f times as fast as the baseline\n", report.Schedule.Key, report.Schedule.Ratio)
}
