package gemm

import (
	"fmt"

	"tune/kernels"
	"tune/kernels/native"
	"tune/kernels/native/cgen"
	"tune/space"
)

// Spec is a matrix product of one shape. It implements native.Spec and is safe for concurrent use.
type Spec struct {
	layout  string
	dims    Dims
	threads int
	native.Choices
	machine native.Machine
	asked   *native.Kept[*operands]
	linked  bool // the code takes the leading dimensions
}

// maxElements bounds each matrix, to 1 GiB.
const maxElements = 1 << 28

// NewSpec makes the product of a shape on a machine. layout is LayoutNN or LayoutNT; threads is the most that
// a point may use, at least 1.
func NewSpec(m native.Machine, layout string, d Dims, threads int) (*Spec, error) {
	switch {
	case layout != LayoutNN && layout != LayoutNT:
		return nil, fmt.Errorf("gemm: layout %q is neither %s nor %s", layout, LayoutNN, LayoutNT)
	case d.M < 1 || d.N < 1 || d.K < 1 || threads < 1:
		return nil, fmt.Errorf("gemm: M=%d N=%d K=%d with %d threads: each has to be at least 1", d.M, d.N, d.K, threads)
	case d.M*d.K > maxElements || d.N*d.K > maxElements || d.M*d.N > maxElements:
		return nil, fmt.Errorf("gemm: M=%d N=%d K=%d: a matrix has more than %d elements", d.M, d.N, d.K, maxElements)
	case len(m.Compilers) == 0:
		return nil, fmt.Errorf("gemm: the machine has no C compiler")
	}
	s := &Spec{layout: layout, dims: d, threads: threads, machine: m, asked: new(native.Kept[*operands])}
	err := s.Choose(
		func() (*space.Space, error) { return newSpace(m, layout, d, threads) },
		func() ([]kernels.Preset, error) { return presets(s.Space(), m, layout, d, threads) })
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Generate writes the C source of a point.
func (s *Spec) Generate(p space.Point) (native.Source, error) {
	c := configOf(p, s.layout)
	if s.linked {
		c = s.linkedConfig(p)
	}
	return generate(c, s.layout, s.dims, s.linked), nil
}

// Finish writes the C source of a point for programs.
func (s *Spec) Finish(p space.Point) (native.Source, error) {
	c := s.linkedConfig(p)
	c.Thin = hasThin(c, s.layout == LayoutNT)
	return generate(c, s.layout, s.dims, s.linked), nil
}

// linkedConfig reads the parameters of a point for linked code.
func (s *Spec) linkedConfig(p space.Point) Config {
	c := configOf(p, s.layout)
	if isas := isasOf(s.machine); c.ISA == cgen.Native {
		c.ISA = isas[len(isas)-1] // a library names what its code needs
	}
	return c
}

// Sizes returns the operands and, of what is kept for a seed, those and the reference.
func (s *Spec) Sizes() ([]native.Buffer, int64) {
	d := s.dims
	kept := 4*int64(d.M)*int64(d.K) + 4*int64(d.K)*int64(d.N)
	if multiplyAdds(d) <= fullLimit {
		kept += 8 * int64(d.M) * int64(d.N)
		if s.linked { // the operands with padded rows, roughly
			kept += 4 * (int64(d.M)*int64(d.K) + int64(d.K)*int64(d.N) + int64(d.M)*int64(d.N))
		}
	} else {
		kept += 8 * (int64(d.M)*int64(d.N)/int64(blockWidth(d.K)) + sampledLines*int64(d.M+d.N))
	}
	return buffersOf(d), kept
}

// Work describes one product.
func (s *Spec) Work() native.Work {
	d := s.dims
	ops := 2 * float64(d.M) * float64(d.N) * float64(d.K)
	bytes := 4 * (float64(d.M)*float64(d.K) + float64(d.K)*float64(d.N) + float64(d.M)*float64(d.N))
	w := native.Work{Ops: ops, OpsName: "GFLOP/s", Bytes: bytes, MinSeconds: ops / (float64(s.threads) * roof(s.machine))}
	// The weights of a matrix-vector product, or of few rows, are not in the near caches when it is called:
	// the rest of the model has gone through them.
	w.Cold = min(d.M, d.N) <= skinnyLimit && bytes > coldBytes
	return w
}

// coldBytes is the size from which the operands of a skinny product are taken to come from memory.
const coldBytes = 1 << 20

// roof is a number of floating-point operations a second that no core known to us reaches: two multiply-adds
// of a vector a cycle, at 7 GHz.
func roof(m native.Machine) float64 {
	lanes := map[string]float64{cgen.Generic: 8, cgen.AVX2: 8, cgen.AVX512: 16}[isasOf(m)[len(isasOf(m))-1]]
	return lanes * 2 * 2 * 7e9
}
