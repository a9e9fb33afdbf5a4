package gemmi8

import (
	"tune/kernels"
	"tune/kernels/native"
	"tune/kernels/native/cgen"
	"tune/kernels/peers"
)

// Bounds of a shape. Sums of maxK products of bytes fit 32 bits.
const (
	maxSide     = 1 << 16
	maxK        = 1 << 16
	maxElements = 1 << 28
)

// The words of the field weights.
const (
	weightsF32    = "f32"
	weightsInt8   = "int8"
	weightsPacked = "packed"
)

// Kernel is the kernel gemm-i8.
type Kernel struct {
	// Host is the machine that it is compiled and run on. Problem needs it.
	Host *native.Host
}

// Info describes the kernel.
func (Kernel) Info() kernels.Info {
	return kernels.Info{
		Name:    "gemm-i8",
		Doc:     "product of two matrices quantised to int8, as generated C on this CPU",
		Version: "5",
		Unit:    "ns",
		Shape:   Fields(),
	}
}

// Problem makes the problem of a shape on this machine. It fails where there is no C compiler.
func (k Kernel) Problem(s kernels.Shape) (kernels.Problem, error) {
	return native.Open(k.Host, s, NewSpec, (*Spec).peers)
}

// peers returns the product of oneDNN. It quantises as the kernel does, and its weights are packed ahead where the kernel's are.
func (g *Spec) peers(p *native.Problem, names []string) ([]kernels.Peer, error) {
	q := peers.Quantised{Packed: g.weights == weightsPacked, Floats: g.weights == weightsF32, Relu: g.relu}
	return peers.Select(names, []peers.Offer{peers.OfMatmul(q.Unfit(g.machine.ISAs), func(l peers.Library) (kernels.Candidate, error) {
		plain, source := g.Presets()[0].Point, l.Quantised(q, g.threads) // whose weights are not packed
		if q.Packed {
			return peers.Packed(p.Host(), g, plain, 1, l.QuantisedPacker(p.Host(), q), source)
		}
		return p.Wrap(source, plain), nil
	})})
}

// Fields returns the fields of a shape.
func Fields() []kernels.Field {
	return append([]kernels.Field{
		{Name: "m", Doc: "rows of the activations", Default: "512", Min: 1, Max: maxSide},
		{Name: "n", Doc: "outputs: rows of the weights", Default: "512", Min: 1, Max: maxSide},
		{Name: "k", Doc: "length of a row of either", Default: "512", Min: 1, Max: maxK},
		{Name: "relu", Doc: "whether negative sums become 0, before they are scaled", Default: "no", Options: []string{"no", "yes"}},
		{Name: "weights", Doc: "how the weights are passed: as float32, which the call quantises, quantised, or packed before the call", Default: weightsF32, Options: []string{weightsF32, weightsInt8, weightsPacked}},
	}, cgen.Fields()...)
}

// Spec is the family of kernels at one shape. It implements native.Spec and
// is safe for concurrent use.
type Spec struct {
	m, n, k int
	relu    bool
	weights string
	threads int
	cache   string
	machine native.Machine

	native.Choices
	inputs native.Kept[[]*drawn]
	varied native.Kept[*drawn] // those that candidates are timed on
}

// NewSpec makes the family of a shape on a machine. It fails where the shape has too many elements.
func NewSpec(s kernels.Shape, m native.Machine) (*Spec, error) {
	g := &Spec{
		m: s.Int("m"), n: s.Int("n"), k: s.Int("k"),
		relu:    s.Text("relu") == "yes",
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

// Sizes returns the operands as floats, the most that they take, and what is kept of them for a seed: with the quantised
// ones, the reference of what is compared one by one, and a second case where relu asks for one.
func (g *Spec) Sizes() ([]native.Buffer, int64) {
	m, n, k := int64(g.m), int64(g.n), int64(g.k)
	kept := 5*(m+n)*k + 4*(someLines+1)*(m+n)
	if g.m*g.n*g.k <= wholeLimit {
		kept += 4 * m * n
	} else if g.relu {
		kept *= 2
	}
	return []native.Buffer{
		{Name: "a", Elem: native.F32, Len: g.m * g.k, Mode: native.In},
		{Name: "w", Elem: native.F32, Len: g.n * g.k, Mode: native.In},
		{Name: "c", Elem: native.F32, Len: g.m * g.n, Mode: native.Out},
	}, kept
}

// coreRoof is a rate in operations a second that no core of today reaches with the instructions generated here:
// times below it are faults of a clock.
const coreRoof = 12e12

// Work returns the operations of one call, a multiply-add counted as two, and the memory that it reads and writes
// at the least.
func (g *Spec) Work() native.Work {
	ops := 2 * float64(g.m) * float64(g.n) * float64(g.k)
	bytes := g.operandBytes()
	return native.Work{
		Ops: ops, OpsName: "GOP/s", Bytes: float64(bytes),
		MinSeconds: ops / (coreRoof * float64(g.threads)),
		Cold:       g.cold(bytes),
	}
}

// cold reports whether times are taken with the operands, of so many bytes, in memory.
func (g *Spec) cold(bytes int64) bool {
	return cgen.ColdProduct(g.cache, g.m, bytes, g.machine.Cache)
}

// operandBytes is the size of the matrices.
func (g *Spec) operandBytes() int64 {
	weight := int64(1)
	if g.weights == weightsF32 {
		weight = 4
	}
	m, n, k := int64(g.m), int64(g.n), int64(g.k)
	return 4*m*k + weight*n*k + 4*m*n
}
