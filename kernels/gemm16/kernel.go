package gemm16

import (
	"tune/kernels"
	"tune/kernels/blocks"
	"tune/kernels/native"
	"tune/kernels/native/cgen"
)

// Bounds of a shape.
const (
	maxSide     = 1 << 18
	maxElements = 1 << 28
)

// The words of the fields inputs and weights.
const (
	asF32    = "f32"
	asHalf   = "half"
	asPacked = "packed"
)

// The words of the field layout.
const (
	layoutNN = "nn"
	layoutNT = "nt"
)

// Type is a type of 16-bit floats.
type Type struct {
	name   string // of the kernel
	doc    string
	unit   native.Unit
	bits   func(float32) uint16 // of the nearest number
	value  func(uint16) float32
	group  int     // elements along k that stand together in packed B
	flush  float64 // numbers up to this size may count as zero
	widest float32 // of the numbers that a case with extreme inputs has
}

// The types.
var (
	BFloat16 = &Type{
		name: "gemm-bf16", doc: "product of matrices of bfloat16 with sums in single precision, as generated C on this CPU",
		unit: native.BFloats, bits: blocks.ToBF16, value: blocks.FromBF16, group: 2, flush: 0x1p-126, widest: 0x1p40,
	}
	Half = &Type{
		name: "gemm-f16", doc: "product of matrices of half precision with sums in single precision, as generated C on this CPU",
		unit: native.Halves, bits: blocks.ToF16, value: blocks.FromF16, group: 1, widest: 65504,
	}
)

// Kernel is the kernel of a type.
type Kernel struct {
	Type *Type
	// Host is the machine that it is compiled and run on. Problem needs it.
	Host *native.Host
}

// Info describes the kernel.
func (k Kernel) Info() kernels.Info {
	return kernels.Info{Name: k.Type.name, Doc: k.Type.doc, Version: "4", Unit: "ns", Shape: Fields()}
}

// Problem makes the problem of a shape on this machine. It fails where there is no C compiler.
func (k Kernel) Problem(s kernels.Shape) (kernels.Problem, error) {
	of := func(s kernels.Shape, m native.Machine) (*Spec, error) { return NewSpec(k.Type, s, m) }
	return native.Open(k.Host, s, of, (*Spec).peers)
}

// Fields returns the fields of a shape.
func Fields() []kernels.Field {
	return append([]kernels.Field{
		{Name: "m", Doc: "rows of A and C", Default: "512", Min: 1, Max: maxSide},
		{Name: "n", Doc: "columns of C", Default: "512", Min: 1, Max: maxSide},
		{Name: "k", Doc: "columns of A, along which products are added up", Default: "512", Min: 1, Max: maxSide},
		{Name: "layout", Doc: "C = A·B with B k × n, or C = A·Bᵀ with B n × k", Default: layoutNT, Options: []string{layoutNN, layoutNT}},
		{Name: "inputs", Doc: "how A is passed: as float32, which the call rounds, or in 16 bits", Default: asF32, Options: []string{asF32, asHalf}},
		{Name: "weights", Doc: "how B is passed: as float32, which the call rounds, in 16 bits, or packed before the call", Default: asPacked, Options: []string{asF32, asHalf, asPacked}},
	}, cgen.Fields()...)
}

// Spec is the family of kernels of a type at one shape. It implements native.Spec and is safe for concurrent use.
type Spec struct {
	*Type
	m, n, k int
	nt      bool
	inputs  string
	weights string
	threads int
	cache   string
	machine native.Machine

	native.Choices
	// The inputs and references of the asked shape: those that candidates are checked on, and timed on.
	checked, varied native.Kept[*drawn]
}

// NewSpec makes the family of a shape on a machine. It fails where the shape has too many elements.
func NewSpec(t *Type, s kernels.Shape, m native.Machine) (*Spec, error) {
	g := &Spec{
		Type: t,
		m:    s.Int("m"), n: s.Int("n"), k: s.Int("k"),
		nt:      s.Text("layout") == layoutNT,
		inputs:  s.Text("inputs"),
		weights: s.Text("weights"),
		threads: s.Int("threads"),
		cache:   s.Text("cache"),
		machine: m,
		varied:  native.Kept[*drawn]{Most: keepVariants},
	}
	if err := native.FitProduct(g.m, g.n, g.k, maxElements); err != nil {
		return nil, err
	}
	if err := g.Choose(g.newSpace, g.newPresets); err != nil {
		return nil, err
	}
	return g, nil
}

// Sizes returns the operands, B in the largest layout, and what is kept of them for a seed: both rounded, and the reference of what is
// compared one by one.
func (g *Spec) Sizes() ([]native.Buffer, int64) {
	m, n, k := int64(g.m), int64(g.n), int64(g.k)
	kept := 8*(m+n)*k + 16*(native.SampledLines+1)*(m+n)
	if m*n*k <= wholeLimit {
		kept += 16 * m * n
	}
	b := native.Buffer{Name: "b", Elem: g.elem(g.weights), Len: g.n * g.k, Mode: native.In}
	if g.weights == asPacked {
		b.Len = PackedBytes(g.n, g.k)
	}
	return []native.Buffer{
		{Name: "a", Elem: g.elem(g.inputs), Len: g.m * g.k, Mode: native.In},
		b,
		{Name: "c", Elem: native.F32, Len: g.m * g.n, Mode: native.Out},
	}, kept
}

// elem is the type of a buffer, by the word of its field.
func (g *Spec) elem(word string) native.Elem {
	return map[string]native.Elem{asF32: native.F32, asHalf: native.U16, asPacked: native.U8}[word]
}

// Work returns the operations of one call, a multiply-add counted as two, and the memory that it reads and writes at the least.
func (g *Spec) Work() native.Work {
	ops := 2 * float64(g.m) * float64(g.n) * float64(g.k)
	bytes := g.operandBytes()
	return native.Work{
		Ops: ops, OpsName: "GFLOP/s", Unit: g.unit, Bytes: float64(bytes),
		MinSeconds: ops / (coreRoof * float64(g.threads)),
		Cold:       g.cold(bytes),
	}
}

// coreRoof is a rate in operations a second that no core of today reaches with the instructions generated here: times below it are
// faults of a clock.
const coreRoof = 6e12

// operandBytes is the size of the matrices.
func (g *Spec) operandBytes() int64 {
	size := func(word string) int64 {
		if word == asF32 {
			return 4
		}
		return 2
	}
	m, n, k := int64(g.m), int64(g.n), int64(g.k)
	return size(g.inputs)*m*k + size(g.weights)*n*k + 4*m*n
}

// cold reports whether times are taken with the operands, of so many bytes, in memory.
func (g *Spec) cold(bytes int64) bool {
	return cgen.ColdProduct(g.cache, g.m, bytes, g.machine.Cache)
}
