package attention

import (
	"tune/kernels"
	"tune/kernels/native"
	"tune/kernels/native/cgen"
	"tune/space"
)

// Bounds of a shape.
const (
	maxQueries  = 1 << 17
	maxContext  = 1 << 20
	maxHeads    = 1 << 10
	maxHead     = 512
	headStep    = 8       // head is a multiple of this
	maxElements = 1 << 28 // of a buffer
)

// The words of the field kv.
const (
	kvF32  = "f32"
	kvF16  = "f16"
	kvBF16 = "bf16"
)

// The words of the field accuracy.
const (
	accuracyExact = "exact"
	accuracyFast  = "fast"
	accuracyBF16  = "bf16"
)

// roundedWeights is by how much of itself a weight errs at most that is rounded to bfloat16, which has eight bits: so much does the weighted sum.
const roundedWeights = 0x1p-8

// tolerances are relative to the weighted sum of the absolute values. Where weights are rounded, the rest may err as in fast kernels.
var tolerances = map[string]float64{accuracyExact: 1e-4, accuracyFast: 1e-3, accuracyBF16: roundedWeights + 1e-3, accuracyHalves: 2e-3, accuracyPeers: 1e-2}

// Kernel is the kernel attention.
type Kernel struct {
	// Host is the machine that it is compiled and run on. Problem needs it.
	Host *native.Host
}

// Info describes the kernel.
func (Kernel) Info() kernels.Info {
	return kernels.Info{
		Name:    "attention",
		Doc:     "attention over cached keys and values, decoding or prompts, as generated C on this CPU",
		Version: "2",
		Unit:    "ns",
		Shape:   Fields(),
		Rate:    space.MetricGFLOPS,
	}
}

// Problem makes the problem of a shape on this machine. It fails where there is no C compiler.
func (k Kernel) Problem(s kernels.Shape) (kernels.Problem, error) {
	return native.Open(k.Host, s, NewSpec, (*Spec).peers)
}

// Fields returns the fields of a shape.
func Fields() []kernels.Field {
	return append([]kernels.Field{
		{Name: "queries", Doc: "queries of each head: 1 decodes, many are a prompt", Default: "1", Min: 1, Max: maxQueries},
		{Name: "context", Doc: "keys and values of each head", Default: "4096", Min: 1, Max: maxContext},
		{Name: "heads", Doc: "query heads", Default: "32", Min: 1, Max: maxHeads},
		{Name: "kv_heads", Doc: "heads of keys and values, of which heads is a multiple", Default: "8", Min: 1, Max: maxHeads},
		{Name: "head", Doc: "numbers of a query, key or value: a multiple of 8", Default: "128", Min: headStep, Max: maxHead},
		{Name: "causal", Doc: "whether the queries are the last ones of the context, and see no later keys", Default: "yes", Options: []string{"yes", "no"}},
		{Name: "kv", Doc: "type of keys and values", Default: kvF16, Options: []string{kvF32, kvF16, kvBF16}},
		{Name: "accuracy", Doc: "tolerance: 1e-4 (exact) or 1e-3 (fast) of the weighted sum of absolute values; with bf16, queries are rounded to the type of keys and values first, weights may be, and the tolerance is 5e-3", Default: accuracyExact, Options: []string{accuracyExact, accuracyFast, accuracyBF16}},
	}, cgen.Fields()...)
}

// Spec is the family of kernels at one shape. It implements native.Spec and
// is safe for concurrent use.
type Spec struct {
	size
	head     int
	causal   bool
	kv       string
	accuracy string
	threads  int
	cache    string
	machine  native.Machine

	native.Choices
	asked native.Kept[[]native.Case]
}

// size is what may differ between the cases of a spec.
type size struct{ queries, context, heads, kvHeads int }

// NewSpec makes the family of a shape on a machine. It fails where the shape is impossible or too large.
func NewSpec(s kernels.Shape, m native.Machine) (*Spec, error) {
	a := &Spec{
		size:     size{s.Int("queries"), s.Int("context"), s.Int("heads"), s.Int("kv_heads")},
		head:     s.Int("head"),
		causal:   s.Text("causal") == "yes",
		kv:       s.Text("kv"),
		accuracy: s.Text("accuracy"),
		threads:  s.Int("threads"),
		cache:    s.Text("cache"),
		machine:  m,
	}
	switch {
	case a.heads%a.kvHeads != 0:
		return nil, kernels.BadShape("heads=%d is not a multiple of kv_heads=%d", a.heads, a.kvHeads)
	case a.head%headStep != 0:
		below := a.head / headStep * headStep
		return nil, kernels.BadShape("head=%d is not a multiple of %d: want one, such as %d or %d", a.head, headStep, below, below+headStep)
	case a.accuracy == accuracyBF16 && a.kv != kvBF16:
		return nil, kernels.BadShape("accuracy=bf16 rounds queries and weights as keys and values are, and kv=%s are not bfloat16: say kv=bf16, or accuracy=fast", a.kv)
	case a.causal && a.queries > a.context:
		return nil, kernels.BadShape("queries=%d is more than context=%d: with causal=yes the queries are the last ones of the context", a.queries, a.context)
	case a.heads*a.queries*a.head > maxElements:
		return nil, kernels.BadShape("queries=%d,heads=%d,head=%d: a buffer may have at most %d elements", a.queries, a.heads, a.head, maxElements)
	case a.kvHeads*a.context*a.head > maxElements:
		return nil, kernels.BadShape("context=%d,kv_heads=%d,head=%d: a buffer may have at most %d elements", a.context, a.kvHeads, a.head, maxElements)
	}
	if err := a.Choose(a.newSpace, a.newPresets); err != nil {
		return nil, err
	}
	return a, nil
}

// group is the number of query heads of a kv head.
func (a *Spec) group() int { return a.heads / a.kvHeads }

// buffers returns the arguments of a call.
func (a *Spec) buffers(s size) []native.Buffer {
	kv := native.U16
	if a.kv == kvF32 {
		kv = native.F32
	}
	return []native.Buffer{
		{Name: "q", Elem: native.F32, Len: s.heads * s.queries * a.head, Mode: native.In},
		{Name: "k", Elem: kv, Len: s.kvHeads * s.context * a.head, Mode: native.In},
		{Name: "v", Elem: kv, Len: s.kvHeads * s.context * a.head, Mode: native.In},
		{Name: "out", Elem: native.F32, Len: s.queries * s.heads * a.head, Mode: native.Out},
	}
}

// Sizes returns the arrays, and what is kept of them for a seed: the inputs and what results are compared with, in two cases where
// the shape is large.
func (a *Spec) Sizes() ([]native.Buffer, int64) {
	buffers := a.buffers(a.size)
	var inputs int64
	for _, b := range buffers {
		if b.Mode == native.In {
			inputs += int64(b.Bytes())
		}
	}
	kept := inputs + 8*int64(a.queries*a.heads*a.head) // the result and its tolerance in single precision
	if !a.whole(a.size) {
		kept += inputs
	}
	return buffers, kept
}

// visible is the number of pairs of a query and a key that it sees, of one head.
func (a *Spec) visible(s size) float64 {
	pairs := float64(s.queries) * float64(s.context)
	if a.causal {
		pairs -= float64(s.queries) * float64(s.queries-1) / 2
	}
	return pairs
}

// coreRoof is a rate in operations a second that no core of today reaches with the vectors generated here, and matrixRoof one that none
// reaches with matrix tiles: times below it are faults of a clock.
const (
	coreRoof   = 1e12
	matrixRoof = 6e12
)

// Work returns the operations of one call, a multiply-add counted as two, of the pairs that are not masked; and the memory that it
// reads and writes at the least.
func (a *Spec) Work() native.Work {
	w := native.Work{Ops: 4 * a.visible(a.size) * float64(a.head) * float64(a.heads), OpsName: "GFLOP/s"}
	for _, b := range a.buffers(a.size) {
		w.Bytes += float64(b.Bytes())
	}
	roof := coreRoof
	if a.hasMatrix() {
		roof, w.Unit = matrixRoof, native.BFloats
	}
	w.MinSeconds = w.Ops / (roof * float64(a.threads))
	w.Cold = cgen.Cold(a.cache, int64(w.Bytes) > a.machine.Cache)
	return w
}
