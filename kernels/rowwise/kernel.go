package rowwise

import (
	"fmt"
	"slices"
	"strconv"

	"tune/kernels"
	"tune/kernels/native"
	"tune/kernels/native/cgen"
	"tune/space"
)

// Bounds of a shape, so that none asks for more memory than machines have.
const (
	maxElements = 1 << 27
	maxCols     = 1 << 20
	maxHeads    = 1 << 16
)

// The blocks of Q8_0.
const (
	q8Weights = 32
	q8Bytes   = 34
	// leastScale is the scale below which the integers of a block are 0. In half precision it is 0 long before.
	leastScale = 0x1p-100
)

// operation is what a kernel computes.
type operation struct {
	name    string
	inputs  []string
	outputs []string
	// norm says that rows are normalised, with the field eps; rope that they are turned, with the field heads.
	norm, rope bool
	// exponential says that exponentials are computed, so that accuracy=fast means something.
	exponential bool
	// flat says that elements do not depend on others of their row.
	flat bool
	q8   bool // whether the result is blocks of Q8_0
}

var operations = []operation{
	{name: "softmax", inputs: []string{"x"}, outputs: []string{"y"}, exponential: true},
	{name: "rmsnorm", inputs: []string{"x", "w"}, outputs: []string{"y"}, norm: true},
	{name: "add-rmsnorm", inputs: []string{"x", "r", "w"}, outputs: []string{"s", "y"}, norm: true},
	{name: "layernorm", inputs: []string{"x", "w", "b"}, outputs: []string{"y"}, norm: true},
	{name: "rope", inputs: []string{"x", "table"}, outputs: []string{"y"}, rope: true},
	{name: "rope-pairwise", inputs: []string{"x", "table"}, outputs: []string{"y"}, rope: true},
	{name: "silu", inputs: []string{"x"}, outputs: []string{"y"}, exponential: true, flat: true},
	{name: "swiglu", inputs: []string{"g", "u"}, outputs: []string{"y"}, exponential: true, flat: true},
	{name: "gelu", inputs: []string{"x"}, outputs: []string{"y"}, exponential: true, flat: true},
	{name: "gelu-erf", inputs: []string{"x"}, outputs: []string{"y"}, exponential: true, flat: true},
	{name: "argmax", inputs: []string{"x"}, outputs: []string{"y"}},
	{name: "rmsnorm-q8", inputs: []string{"x", "w"}, outputs: []string{"y"}, norm: true, q8: true},
	{name: "swiglu-q8", inputs: []string{"g", "u"}, outputs: []string{"y"}, exponential: true, flat: true, q8: true},
}

func operationNames() []string {
	var names []string
	for _, op := range operations {
		names = append(names, op.name)
	}
	return names
}

// Kernel is the kernel rowwise.
type Kernel struct {
	// Host is the machine that it is compiled and run on. Problem needs it.
	Host *native.Host
}

// Info describes the kernel.
func (Kernel) Info() kernels.Info {
	return kernels.Info{
		Name:    "rowwise",
		Doc:     "softmax, norms, rope, activations and argmax of rows of float32, as generated C on this CPU",
		Version: "3",
		Unit:    "ns",
		Shape:   Fields(),
		Rate:    space.MetricGBS,
	}
}

// Problem makes the problem of a shape on this machine. It fails where there is no C compiler.
func (k Kernel) Problem(s kernels.Shape) (kernels.Problem, error) {
	return native.Open(k.Host, s, NewSpec, (*Spec).peers)
}

// The values of the field accuracy.
const (
	accuracyExact = "exact"
	accuracyFast  = "fast"
)

const defaultEps = "1e-5"

// Fields returns the fields of a shape.
func Fields() []kernels.Field {
	return append([]kernels.Field{
		{Name: "op", Doc: "what is computed", Default: "softmax", Options: operationNames()},
		{Name: "rows", Doc: "rows; of rope tokens · heads", Default: "32", Min: 1, Max: maxElements},
		{Name: "cols", Doc: "elements of a row; of rope the size of a head", Default: "4096", Min: 1, Max: maxCols},
		{Name: "heads", Doc: "heads of a token, for rope", Default: "1", Min: 1, Max: maxHeads},
		{Name: "eps", Doc: "what a norm adds to the mean square", Default: defaultEps, Options: []string{"1e-5", "1e-6", "1e-8", "1e-12"}},
		{Name: "accuracy", Doc: "tolerance: exact is 1e-6 for norms, rope and activations and 1e-5 for softmax and layernorm; fast is 1e-3", Default: accuracyExact, Options: []string{accuracyExact, accuracyFast}},
	}, cgen.Fields()...)
}

// Spec is the family of kernels at one shape. It implements native.Spec and
// is safe for concurrent use.
type Spec struct {
	op      operation
	size    size
	eps     float64
	epsText string
	fast    bool
	// fromZero says that the tables of rope are of positions from 0 on.
	fromZero bool
	threads  int
	cache    string
	machine  native.Machine

	native.Choices
	loop space.Point // of the plain loop for every processor
}

// NewSpec makes the family of a shape on a machine. It fails for a shape that the operation does not have.
func NewSpec(s kernels.Shape, m native.Machine) (*Spec, error) {
	k := &Spec{
		op:      operations[slices.IndexFunc(operations, func(o operation) bool { return o.name == s.Text("op") })],
		size:    size{s.Int("rows"), s.Int("cols"), s.Int("heads")},
		epsText: s.Text("eps"),
		fast:    s.Text("accuracy") == accuracyFast,
		threads: s.Int("threads"),
		cache:   s.Text("cache"),
		machine: m,
	}
	if err := k.refuse(); err != nil {
		return nil, fmt.Errorf("shape: %w", err)
	}
	var err error
	if k.eps, err = strconv.ParseFloat(k.epsText, 64); err != nil {
		return nil, fmt.Errorf("shape: eps: %w", err)
	}
	if err = k.Choose(k.newSpace, k.newPresets); err != nil {
		return nil, err
	}
	if k.loop, err = k.newPlain(); err != nil {
		return nil, fmt.Errorf("the plain form: %w", err)
	}
	return k, nil
}

// refuse returns what is wrong with the shape.
func (k *Spec) refuse() error {
	name, s := k.op.name, k.size
	switch {
	case s.rows > maxElements/s.cols:
		return fmt.Errorf("rows=%d,cols=%d: a buffer may have at most %d elements", s.rows, s.cols, maxElements)
	case k.op.q8 && s.cols%q8Weights != 0:
		return fmt.Errorf("cols=%d is not a multiple of %d, the block of q8_0 in %s", s.cols, q8Weights, name)
	case k.op.rope && s.cols%2 != 0:
		return fmt.Errorf("cols=%d is odd, and %s turns pairs of elements", s.cols, name)
	case k.op.rope && s.rows%s.heads != 0:
		return fmt.Errorf("rows=%d is not a multiple of heads=%d: the rows of %s are tokens · heads", s.rows, s.heads, name)
	case !k.op.rope && s.heads != 1:
		return fmt.Errorf("heads=%d: only rope and rope-pairwise have heads, and op is %s", s.heads, name)
	case !k.op.norm && k.epsText != defaultEps:
		return fmt.Errorf("eps=%s: only norms have an eps, and op is %s", k.epsText, name)
	case k.fast && !k.op.exponential:
		return fmt.Errorf("accuracy=%s: %s has no exponential that could be less exact", accuracyFast, name)
	}
	return nil
}

// Sizes returns the buffers, and what is kept of them for a seed: the inputs.
func (k *Spec) Sizes() ([]native.Buffer, int64) {
	buffers, kept := k.buffers(k.size), int64(0)
	for _, b := range buffers {
		if b.Mode == native.In {
			kept += int64(b.Bytes())
		}
	}
	return buffers, kept
}

// memoryRoof and cacheRoof are bytes a second that no core of today comes near: times below them are faults of a clock.
const (
	cacheRoof  = 2e12
	memoryRoof = 400e9
)

// Work returns the memory traffic of one call: each input is read once and each output written once.
func (k *Spec) Work() native.Work {
	var w native.Work
	for _, b := range k.buffers(k.size) {
		w.Bytes += float64(b.Bytes())
	}
	w.Cold = cgen.Cold(k.cache, w.Bytes > float64(k.machine.Cache))
	roof := cacheRoof
	if w.Cold {
		roof = memoryRoof
	}
	w.MinSeconds = w.Bytes / (roof * float64(k.threads))
	return w
}

// buffers returns the arguments of a call.
func (k *Spec) buffers(s size) []native.Buffer {
	var list []native.Buffer
	for _, name := range k.op.inputs {
		b := native.Buffer{Name: name, Elem: native.F32, Len: s.rows * s.cols, Mode: native.In}
		switch name {
		case "w", "b":
			b.Len = s.cols
		case "table":
			b.Len = s.rows / s.heads * s.cols
		}
		list = append(list, b)
	}
	for _, name := range k.op.outputs {
		b := native.Buffer{Name: name, Elem: native.F32, Len: s.rows * s.cols, Mode: native.Out}
		switch {
		case k.op.q8:
			b.Elem, b.Len = native.U8, s.rows*s.cols/q8Weights*q8Bytes
		case k.op.name == "argmax":
			b.Elem, b.Len = native.I32, s.rows
		}
		list = append(list, b)
	}
	return list
}
