package qgemm

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"tune/internal/plain"
	"tune/kernels"
	"tune/kernels/blocks"
	"tune/kernels/gguf"
	"tune/kernels/native"
	"tune/kernels/native/cgen"
)

// Bounds of a shape. Sums of products stay far from the limits of 32 bits, because each is of a sub-block. The head of a language model has
// up to some 2³¹ weights; whether this machine has the memory for that is asked when the problem is made.
const (
	maxSide     = 1 << 18
	maxElements = int64(1) << 31
)

// largestElement is more bytes than any element takes in a buffer, in a layout or in a reference.
const largestElement = 16

// Kernel is the kernel qgemm.
type Kernel struct {
	// Host is the machine that it is compiled and run on. Problem needs it.
	Host *native.Host
}

// Info describes the kernel.
func (Kernel) Info() kernels.Info {
	return kernels.Info{
		Name:    "qgemm",
		Doc:     "product of activations with weights in ggml's block formats, as generated C on this CPU",
		Version: "4",
		Unit:    "ns",
		Shape:   Fields(),
	}
}

// Problem makes the problem of a shape on this machine. It fails where there is no C compiler.
func (k Kernel) Problem(s kernels.Shape) (kernels.Problem, error) {
	return native.Open(k.Host, s, NewSpec, (*Spec).peers)
}

// Fields returns the fields of a shape.
func Fields() []kernels.Field {
	return append([]kernels.Field{
		{Name: "m", Doc: "rows of the activations", Default: "1", Min: 1, Max: maxSide},
		{Name: "n", Doc: "outputs: rows of the weights", Default: "4096", Min: 1, Max: maxSide},
		{Name: "k", Doc: "length of a row of either, a multiple of the format's block", Default: "4096", Min: 1, Max: maxSide},
		{Name: "format", Doc: "block format of the weights", Default: "q8_0", Options: formatNames()},
		{Name: "weights", Doc: "the weights: random ones, or a tensor of a model of this n, k and format", Default: weightsRandom, Text: "random, or FILE.gguf:TENSOR"},
		{Name: "repack", Doc: "whether a point may rearrange the weights before the timed call", Default: "yes", Options: []string{"yes", "no"}},
	}, cgen.Fields()...)
}

// formatNames returns the formats of weights, which are all but that of activations.
func formatNames() []string {
	var names []string
	for _, f := range blocks.Formats() {
		if f.Name != "q8_k" {
			names = append(names, f.Name)
		}
	}
	return names
}

// weightsRandom is the word for weights that are drawn.
const weightsRandom = "random"

// openTensor checks that a tensor of a model, FILE:TENSOR, has the n, k and format of a spec, and returns what reads it.
func openTensor(text string, g *Spec) (func() ([]byte, error), error) {
	colon := strings.LastIndexByte(text, ':') // a path may have others
	if colon < 1 || colon == len(text)-1 {
		return nil, errors.New("want random, or FILE.gguf:TENSOR")
	}
	path, name := text[:colon], text[colon+1:]
	f, err := gguf.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	t, err := f.Tensor(name)
	if err != nil {
		return nil, fmt.Errorf("%w ('tune gguf %s' lists the tensors)", err, plain.ShellWord(path))
	}
	format, err := t.Format()
	if err != nil {
		return nil, err
	}
	if !slices.Contains(formatNames(), format.Name) {
		return nil, fmt.Errorf("the tensor is of %s: want one of %s", format.Name, strings.Join(formatNames(), ", "))
	}
	if len(t.Dims) != 2 {
		return nil, fmt.Errorf("the tensor has the dimensions %d: want two", t.Dims)
	}
	if t.Dims[0] != uint64(g.k) || t.Dims[1] != uint64(g.n) || format.Name != g.weights.Name {
		return nil, fmt.Errorf("the tensor has n=%d,k=%d,format=%s: say so in the shape, which has n=%d,k=%d,format=%s", t.Dims[1], t.Dims[0], format.Name, g.n, g.k, g.weights.Name)
	}
	return sync.OnceValues(func() ([]byte, error) {
		w, err := readTensor(path, name)
		if err == nil && len(w) != g.n*g.rowBytes() {
			err = fmt.Errorf("the file has changed: it has %d bytes now, and had %d", len(w), g.n*g.rowBytes())
		}
		if err == nil {
			err = g.weights.usable(w, g.k)
		}
		if err != nil {
			err = fmt.Errorf("%s: tensor %s: %w", path, plain.Line(name), err)
		}
		return w, err
	}), nil
}

// readTensor reads a tensor.
func readTensor(path, name string) ([]byte, error) {
	f, err := gguf.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	t, err := f.Tensor(name)
	if err != nil {
		return nil, err
	}
	return t.Read()
}

// Spec is the family of kernels at one shape. It implements native.Spec and is safe for concurrent use.
type Spec struct {
	m, n, k int
	weights format
	// tensor reads the weights of the asked shape; nil where they are random.
	tensor  func() ([]byte, error)
	repack  bool
	threads int
	cache   string
	machine native.Machine

	native.Choices
	// The inputs and references of the asked shape: those that candidates are checked on, and timed on.
	inputs, varied native.Kept[*drawn]
}

// NewSpec makes the family of a shape on a machine. It fails where the shape has too many elements, or where its rows are no whole
// number of blocks.
func NewSpec(s kernels.Shape, m native.Machine) (*Spec, error) {
	g := &Spec{
		m: s.Int("m"), n: s.Int("n"), k: s.Int("k"),
		repack:  s.Text("repack") == "yes",
		threads: s.Int("threads"),
		cache:   s.Text("cache"),
		machine: m,
		varied:  native.Kept[*drawn]{Most: keepVariants},
	}
	f, err := blocks.ByName(s.Text("format"))
	if err != nil {
		return nil, err
	}
	g.weights = formatOf(f)
	if _, err := f.RowBytes(g.k); err != nil {
		return nil, kernels.BadShape("%v", err)
	}
	if err := native.FitProduct(g.m, g.n, g.k, min(maxElements, math.MaxInt/largestElement)); err != nil {
		return nil, err
	}
	if text := s.Text("weights"); text != weightsRandom {
		if g.tensor, err = openTensor(text, g); err != nil {
			return nil, kernels.BadShape("weights=%s: %v", plain.Line(text), err)
		}
	}
	if err := g.Choose(g.newSpace, g.newPresets); err != nil {
		return nil, err
	}
	return g, nil
}

// Sizes returns the operands, the weights in the largest layout, and what is kept of them for a seed: the operands, the weights in each
// layout, their quants, scales and sums, and the reference of what is compared one by one.
func (g *Spec) Sizes() ([]native.Buffer, int64) {
	m, n, k, f := int64(g.m), int64(g.n), int64(g.k), g.weights
	subs := k / int64(f.Sub)
	kept := 5*m*k + 4*m*(k/int64(f.Weights)+subs)
	kept += int64(g.rowBytes())*n + n*k + 4*n*subs
	if f.Mins {
		kept += 4 * n * subs
	}
	for _, layout := range g.layouts() {
		kept += int64(layout.bytes())
	}
	if m*n*k <= wholeLimit {
		kept += sizeOfResult * m * n
	} else {
		kept += sizeOfResult*(native.SampledLines+1)*m + sizeOfResult*int64(1+native.SampledRows(wholeLimit, g.n, g.k))*n + 8*(n+2*k+2*subs)
	}
	return []native.Buffer{
		{Name: "a", Elem: native.F32, Len: g.m * g.k, Mode: native.In},
		{Name: "w", Elem: native.U8, Len: max(g.rowBytes()*g.n, PackedBytes(g.weights.Format, g.n, g.k)), Mode: native.In},
		{Name: "c", Elem: native.F32, Len: g.m * g.n, Mode: native.Out},
	}, kept
}

// rowBytes is the size of a row of weights in ggml's layout.
func (g *Spec) rowBytes() int { return g.k / g.weights.Weights * g.weights.Bytes }

// Work returns the operations of one call, a multiply-add counted as two, and the memory that it reads and writes at the least, with
// the weights as ggml has them.
func (g *Spec) Work() native.Work {
	bytes := int64(g.rowBytes())*int64(g.n) + 4*int64(g.m)*int64(g.k) + 4*int64(g.m)*int64(g.n)
	ops := 2 * float64(g.m) * float64(g.n) * float64(g.k)
	return native.Work{
		Ops: ops, OpsName: "GOP/s", Unit: native.Integers, Bytes: float64(bytes),
		MinSeconds: ops / (coreRoof * float64(g.threads)),
		Cold:       g.cold(bytes),
	}
}

// coreRoof is a rate in operations a second that no core of today reaches with the instructions generated here: times below it are
// faults of a clock.
const coreRoof = 10e12

// cold reports whether times are taken with the operands, of so many bytes, in memory.
func (g *Spec) cold(bytes int64) bool {
	return cgen.ColdProduct(g.cache, g.m, bytes, g.machine.Cache)
}
