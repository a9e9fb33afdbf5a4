package elementwise

import (
	"slices"

	"tune/kernels"
	"tune/kernels/native"
	"tune/kernels/native/cgen"
	"tune/space"
)

// maxElements bounds the elements of a buffer, so that no shape asks for more memory than machines have.
const maxElements = 1 << 28

// operation is what a kernel computes.
type operation struct {
	name   string
	two    bool    // whether there is a second input
	reduce bool    // whether each array becomes one number
	ops    float64 // arithmetic operations on an element
	expr   string  // of a term or result, in C, over the scalars or vectors a and b
}

var operations = []operation{
	{name: "relu", ops: 1, expr: "a < 0 ? 0 : a"},
	{name: "mul", two: true, ops: 1, expr: "a * b"},
	{name: "add", two: true, ops: 1, expr: "a + b"},
	{name: "sqdiff", two: true, ops: 2, expr: "(a - b) * (a - b)"},
	{name: "dot", two: true, reduce: true, ops: 2, expr: "a * b"},
	{name: "distance", two: true, reduce: true, ops: 3, expr: "(a - b) * (a - b)"},
}

func operationNames() []string {
	var names []string
	for _, op := range operations {
		names = append(names, op.name)
	}
	return names
}

// Kernel is the kernel elementwise-f32.
type Kernel struct {
	// Host is the machine that it is compiled and run on. Problem needs it.
	Host *native.Host
}

// Info describes the kernel.
func (Kernel) Info() kernels.Info {
	return kernels.Info{
		Name:    "elementwise-f32",
		Doc:     "elementwise work and reductions on arrays of float32, as generated C on this CPU",
		Version: "4",
		Unit:    "ns",
		Shape:   Fields(),
		Rate:    space.MetricGBS,
	}
}

// Problem makes the problem of a shape on this machine. It fails where there is no C compiler.
func (k Kernel) Problem(s kernels.Shape) (kernels.Problem, error) {
	return native.Open(k.Host, s, NewSpec, nil)
}

// Fields returns the fields of a shape.
func Fields() []kernels.Field {
	return append([]kernels.Field{
		{Name: "op", Doc: "what is computed", Default: "relu", Options: operationNames()},
		{Name: "n", Doc: "elements of an array", Default: "1048576", Min: 1, Max: maxElements},
		{Name: "arrays", Doc: "arrays in a batch", Default: "1", Min: 1, Max: 1 << 20},
	}, cgen.Fields()...)
}

// Spec is the family of kernels at one shape. It implements native.Spec and
// is safe for concurrent use.
type Spec struct {
	op      operation
	n       int
	arrays  int
	threads int
	cache   string
	machine native.Machine

	native.Choices
	plain  space.Point // the plain loop, for every processor
	inputs native.Kept[[]native.Case]
}

// NewSpec makes the family of a shape on a machine. It fails where the shape has too many elements.
func NewSpec(s kernels.Shape, m native.Machine) (*Spec, error) {
	k := &Spec{
		op:      operations[slices.IndexFunc(operations, func(o operation) bool { return o.name == s.Text("op") })],
		n:       s.Int("n"),
		arrays:  s.Int("arrays"),
		threads: s.Int("threads"),
		cache:   s.Text("cache"),
		machine: m,
	}
	if k.n*k.arrays > maxElements {
		return nil, kernels.BadShape("n=%d,arrays=%d: a buffer may have at most %d elements", k.n, k.arrays, maxElements)
	}
	if 4*k.n*k.arrays > keepBytes {
		k.inputs.Most = 1
	}
	err := k.Choose(k.newSpace, k.newPresets)
	if err != nil {
		return nil, err
	}
	if k.plain, err = k.plainPoint(); err != nil {
		return nil, err
	}
	return k, nil
}

// Sizes returns the arrays, and what is kept of them for a seed: the inputs of one case, or of the two of a reduction.
func (k *Spec) Sizes() ([]native.Buffer, int64) {
	buffers := k.buffers(k.n, k.arrays)
	kept := int64(0)
	for _, b := range buffers {
		if b.Mode == native.In {
			kept += int64(b.Bytes())
		}
	}
	if k.op.reduce {
		kept *= 2
	}
	return buffers, kept
}
