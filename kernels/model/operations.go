package model

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"tune/kernels/blocks"
	"tune/space"
)

// Options say what a model is asked to do.
type Options struct {
	// Quant is the format of the weights: one of Quants.
	Quant string
	// Contexts and Batches make a scenario of decoding for each pair: so many sequences, each of that length.
	Contexts []int
	Batches  []int
	// Prompt is the number of tokens of a prompt; 0 for no scenario of one.
	Prompt int
	// Threads is how many a kernel may use; 0 means 1.
	Threads int
}

// Validate reports a number that is out of its range. The error begins with the name of the flag that sets it.
func (o Options) Validate() error {
	for _, n := range []struct {
		name string
		all  []int
	}{{"contexts", o.Contexts}, {"batch", o.Batches}, {"prompt", []int{max(o.Prompt, 1)}}} {
		for _, v := range n.all {
			if v < 1 || v > mostOfAny {
				return fmt.Errorf("%s: %d: want 1 to %d", n.name, v, mostOfAny)
			}
		}
	}
	return nil
}

// The default options.
var (
	DefaultContexts = []int{512, 4096}
	DefaultBatches  = []int{1}
)

// Quants returns the formats of weights that there are products for.
func Quants() []string {
	var names []string
	for _, f := range blocks.Formats() {
		if f.Name != "q8_k" { // of activations
			names = append(names, f.Name)
		}
	}
	return append(names, "f16", "bf16")
}

// fallback is what has blocks of 32 weights, for rows that are no whole number of larger blocks, as ggml replaces them.
var fallback = map[string]string{"q4_k": "q5_0", "q5_k": "q5_1", "q6_k": "q8_0"}

// Scenario is a step of a model.
type Scenario struct {
	Name    string `json:"name"`   // decode-b1-c512, prompt-512
	Tokens  int    `json:"tokens"` // that go through the layers in a step
	Batch   int    `json:"batch"`  // sequences
	Context int    `json:"context"`
	Prompt  bool   `json:"prompt,omitempty"`
	// Operations are in the order of the step, each role once.
	Operations []Operation `json:"operations"`
}

// Operation is a kernel that a step calls.
type Operation struct {
	Role    string `json:"role"` // what it is in the model: q, attention, down
	Kernel  string `json:"kernel"`
	Symbols string `json:"symbols"` // the shape, in symbols of the model
	Shape   string `json:"shape"`
	Calls   int    `json:"calls"` // in a step
	// Ops and Bytes are those of a call: arithmetic operations, a multiply-add counted as two, and the memory that it reads and writes
	// at the least. Weights are the bytes of weights, as files have them.
	Ops     float64 `json:"ops"`
	Bytes   float64 `json:"bytes"`
	Weights float64 `json:"weights"`
}

// The roles of operations.
const (
	RoleNorm      = "norm"     // of the first layer
	RoleAddNorm   = "add-norm" // with the residual sum
	RoleQ         = "q"
	RoleK         = "k"
	RoleV         = "v"
	RoleBiasQ     = "bias q"
	RoleBiasKV    = "bias k, v"
	RoleNormQ     = "norm q"
	RoleNormK     = "norm k"
	RoleRopeQ     = "rope q"
	RoleRopeK     = "rope k"
	RoleAttention = "attention"
	RoleWindow    = "attention, window"
	RoleOut       = "o"
	RolePostNorm  = "norm behind"
	RoleGate      = "gate"
	RoleUp        = "up"
	RoleAct       = "activation"
	RoleMul       = "gate · up"
	RoleDown      = "down"
	RoleAdd       = "residual"
	RoleBiasEmbed = "bias o, down"
	RoleBiasUp    = "bias up"
	RoleHead      = "vocabulary"
	RoleBiasHead  = "bias vocabulary"
	RoleArgmax    = "argmax"
)

// Scenarios returns what the model is asked to do, with the operations of each. Notes are sentences about choices that the model forced.
func (c *Config) Scenarios(o Options) (out []Scenario, notes []string, err error) {
	o.Threads = max(o.Threads, 1)
	if !slices.Contains(Quants(), o.Quant) {
		return nil, nil, fmt.Errorf("unknown format of weights %q: want one of %s%s", o.Quant, strings.Join(Quants(), ", "), space.DidYouMean(o.Quant, Quants()))
	}
	if err := o.Validate(); err != nil {
		return nil, nil, err
	}
	notes = slices.Clone(c.Notes)
	for _, b := range once(o.Batches) {
		for _, context := range once(o.Contexts) {
			out = append(out, Scenario{Name: fmt.Sprintf("decode-b%d-c%d", b, context), Tokens: b, Batch: b, Context: context})
		}
	}
	if o.Prompt > 0 {
		out = append(out, Scenario{Name: fmt.Sprintf("prompt-%d", o.Prompt), Tokens: o.Prompt, Batch: 1, Context: o.Prompt, Prompt: true})
	}
	for i := range out {
		s := &step{config: c, options: o, scenario: &out[i], notes: notes}
		s.build()
		if s.err != nil {
			return nil, nil, s.err
		}
		notes = s.notes
	}
	return out, notes, nil
}

// once returns numbers without those that stand before.
func once(numbers []int) (out []int) {
	for _, n := range numbers {
		if !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

// step lists the operations of a scenario.
type step struct {
	config   *Config
	options  Options
	scenario *Scenario
	notes    []string
	err      error
}

// build lists the operations in the order of the step.
func (s *step) build() {
	c, fam, layers := s.config, s.config.family, s.config.Layers
	norms := "rows=tokens,cols=embed"
	s.rows(RoleNorm, fam.norm, norms, s.firstNorms())
	s.product(RoleQ, "tokens", "heads*head_dim", "embed", layers)
	s.product(RoleK, "tokens", "kv_heads*head_dim", "embed", layers)
	s.product(RoleV, "tokens", "kv_heads*head_dim", "embed", layers)
	if fam.biasQKV || fam.biasAll {
		s.add(RoleBiasQ, "add", "heads*head_dim", layers*s.scenario.Tokens)
		s.add(RoleBiasKV, "add", "kv_heads*head_dim", 2*layers*s.scenario.Tokens)
	}
	if fam.qkNorm {
		s.rows(RoleNormQ, fam.norm, "rows=tokens*heads,cols=head_dim", layers)
		s.rows(RoleNormK, fam.norm, "rows=tokens*kv_heads,cols=head_dim", layers)
	}
	rope := "rope"
	if c.Pairwise {
		rope = "rope-pairwise"
	}
	s.rows(RoleRopeQ, rope, "rows=tokens*heads,cols=rotary,heads=heads", layers)
	s.rows(RoleRopeK, rope, "rows=tokens*kv_heads,cols=rotary,heads=kv_heads", layers)
	s.attention()
	s.product(RoleOut, "tokens", "embed", "heads*head_dim", layers)
	if fam.postNorms {
		s.rows(RolePostNorm, fam.norm, norms, 2*layers)
	}
	if !fam.parallel {
		s.rows(RoleAddNorm, "add-"+fam.norm, norms, 2*layers)
	}
	if fam.gated {
		s.product(RoleGate, "tokens", "intermediate", "embed", layers)
	}
	s.product(RoleUp, "tokens", "intermediate", "embed", layers)
	if fam.biasAll {
		s.add(RoleBiasUp, "add", "intermediate", layers*s.scenario.Tokens)
	}
	s.activation()
	s.product(RoleDown, "tokens", "embed", "intermediate", layers)
	if fam.biasAll {
		s.add(RoleBiasEmbed, "add", "embed", 2*layers*s.scenario.Tokens)
	}
	if fam.parallel {
		s.add(RoleAdd, "add", "tokens*embed", 2*layers)
	}
	s.product(RoleHead, "batch", "vocab", "embed", 1)
	if fam.biasAll {
		s.add(RoleBiasHead, "add", "vocab", s.scenario.Batch)
	}
	s.rows(RoleArgmax, "argmax", "rows=batch,cols=vocab", 1)
}

// firstNorms is how many norms have no residual sum before them: that of the first layer, and all of a family whose sums stand apart.
func (s *step) firstNorms() int {
	if s.config.family.parallel {
		return s.config.Layers + 1
	}
	return 1
}

// attention lists the attention of the layers that see all keys, and of those that see a window.
func (s *step) attention() {
	c := s.config
	local := c.Local
	if c.Window >= s.scenario.Context {
		local = 0
	}
	queries, calls := "queries=1", s.scenario.Batch
	if s.scenario.Prompt {
		queries, calls = "queries=tokens", 1
	}
	if s.scenario.Prompt && local > 0 {
		// The kernel has no windows for many queries: the layers are counted with all keys.
		s.note(fmt.Sprintf("in %s, %d layers see %d keys at most; they are measured with all keys", s.scenario.Name, local, c.Window))
		local = 0
	}
	shape := ",heads=heads,kv_heads=kv_heads,head=head_dim,kv=f16"
	s.call(RoleAttention, "attention", queries+",context=context"+shape, (c.Layers-local)*calls)
	s.call(RoleWindow, "attention", queries+",context=window"+shape, local*calls)
}

// activation lists what stands between the products of the feed-forward net.
func (s *step) activation() {
	c := s.config
	rows := "rows=tokens,cols=intermediate"
	if c.family.gated && c.Activation == actSilu {
		s.rows(RoleAct, "swiglu", rows, c.Layers)
		return
	}
	s.rows(RoleAct, c.Activation, rows, c.Layers)
	if c.family.gated {
		s.add(RoleMul, "mul", "tokens*intermediate", c.Layers)
	}
}

// product lists a product with weights of n rows of k.
func (s *step) product(role, m, n, k string, calls int) {
	quant, row := s.options.Quant, s.value(k)
	for {
		f, err := blocks.ByName(quant)
		if err != nil {
			s.fail(err)
			return
		}
		if row%f.Weights == 0 {
			break
		}
		next := fallback[quant]
		if next == "" {
			key := map[string]string{"embed": "hidden_size", "intermediate": "intermediate_size"}[k]
			if key == "" {
				key = "head_dim num_attention_heads"
			}
			s.fail(s.config.origin.at(key, "the rows of %s have %d weights: %s needs a multiple of %d: choose another --quant", role, row, quant, f.Weights))
			return
		}
		s.note(fmt.Sprintf("rows of %d weights are %s, because %s has blocks of %d", row, next, quant, f.Weights))
		quant = next
	}
	if quant == "f16" || quant == "bf16" {
		s.call(role, "gemm-"+quant, fmt.Sprintf("m=%s,n=%s,k=%s,layout=nt,inputs=f32,weights=packed", m, n, k), calls)
		return
	}
	s.call(role, "qgemm", fmt.Sprintf("m=%s,n=%s,k=%s,format=%s", m, n, k, quant), calls)
}

// rows lists an op of the kernel rowwise.
func (s *step) rows(role, op, shape string, calls int) {
	text := "op=" + op + "," + shape
	if strings.HasSuffix(op, "norm") {
		text += ",eps=" + s.eps()
	}
	s.call(role, "rowwise", text, calls)
}

// add lists an op of two arrays.
func (s *step) add(role, op, n string, calls int) {
	s.call(role, "elementwise-f32", "op="+op+",n="+n, calls)
}

// eps returns the eps of the kernel that is nearest to that of the model: the time does not depend on it.
func (s *step) eps() string {
	best, least := "", math.Inf(1)
	for _, text := range []string{"1e-5", "1e-6", "1e-8", "1e-12"} {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			panic(err) // a constant
		}
		if d := math.Abs(math.Log(v / max(s.config.Eps, 1e-12))); d < least {
			best, least = text, d
		}
	}
	if s.config.Eps == 0 {
		return "1e-5"
	}
	return best
}

// call lists an operation.
func (s *step) call(role, kernel, symbols string, calls int) {
	if calls == 0 || s.err != nil {
		return
	}
	one := Operation{Role: role, Kernel: kernel, Symbols: symbols, Shape: s.resolve(symbols), Calls: calls}
	if s.options.Threads > 1 {
		one.Shape += fmt.Sprintf(",threads=%d", s.options.Threads)
	}
	if cache := s.cache(kernel); cache != "" {
		one.Shape += ",cache=" + cache
	}
	one.measure()
	s.scenario.Operations = append(s.scenario.Operations, one)
}

// cache says where operands are when a call begins. A step of decoding reads each weight and each key once, and everything else of the
// model goes through the caches before it reads them again. Activations were written just before.
func (s *step) cache(kernel string) string {
	switch {
	case kernel == "rowwise" || kernel == "elementwise-f32":
		return "" // by size
	case s.scenario.Prompt:
		return ""
	}
	return "cold"
}

func (s *step) fail(err error) {
	if s.err == nil {
		s.err = err
	}
}

func (s *step) note(text string) {
	if !slices.Contains(s.notes, text) {
		s.notes = append(s.notes, text)
	}
}

// resolve replaces the symbols of a shape by numbers.
func (s *step) resolve(symbols string) string {
	var fields []string
	for field := range strings.SplitSeq(symbols, ",") {
		name, value, _ := strings.Cut(field, "=")
		if n := s.value(value); n > 0 {
			value = strconv.Itoa(n)
		}
		fields = append(fields, name+"="+value)
	}
	return strings.Join(fields, ",")
}

// value returns the value of a product of symbols; 0 where a factor is none.
func (s *step) value(text string) int {
	product := 1
	for factor := range strings.SplitSeq(text, "*") {
		product *= s.symbol(factor)
	}
	return product
}

// symbol returns the value of a symbol of the model.
func (s *step) symbol(name string) int {
	c := s.config
	switch name {
	case "tokens":
		return s.scenario.Tokens
	case "batch":
		return s.scenario.Batch
	case "context":
		return s.scenario.Context
	case "window":
		return min(c.Window, s.scenario.Context)
	case "embed":
		return c.Embed
	case "heads":
		return c.Heads
	case "kv_heads":
		return c.KVHeads
	case "head_dim":
		return c.HeadDim
	case "rotary":
		return c.Rotary
	case "intermediate":
		return c.Intermediate
	case "vocab":
		return c.Vocab
	}
	return 0
}

// Field returns a field of the shape; "" where it is not there.
func (o Operation) Field(name string) string {
	for field := range strings.SplitSeq(o.Shape, ",") {
		if n, value, _ := strings.Cut(field, "="); n == name {
			return value
		}
	}
	return ""
}

// Number returns a field of the shape as a number; 0 where it is none.
func (o Operation) Number(name string) int {
	n, err := strconv.Atoi(o.Field(name))
	if err != nil {
		return 0
	}
	return n
}

// measure fills in what a call computes and moves.
func (o *Operation) measure() {
	f := func(name string) float64 { return float64(o.Number(name)) }
	switch o.Kernel {
	case "attention":
		pairs := f("queries") * f("context")
		pairs -= f("queries") * (f("queries") - 1) / 2
		o.Ops = 4 * pairs * f("head") * f("heads")
		o.Bytes = 8*f("queries")*f("heads")*f("head") + 4*f("kv_heads")*f("context")*f("head")
	case "rowwise":
		o.Bytes = 4 * o.arrays() * f("rows") * f("cols")
		switch op := o.Field("op"); {
		case strings.HasPrefix(op, "rope"):
			o.Bytes += 4 * f("rows") / f("heads") * f("cols")
		case strings.HasSuffix(op, "rmsnorm"):
			o.Bytes += 4 * f("cols")
		case op == normLayer:
			o.Bytes += 8 * f("cols")
		case op == "argmax":
			o.Bytes += 4 * f("rows")
		}
	case "elementwise-f32":
		o.Ops, o.Bytes = f("n"), 12*f("n")
	default:
		format := o.Field("format")
		if format == "" {
			format = strings.TrimPrefix(o.Kernel, "gemm-")
		}
		b, err := blocks.ByName(format)
		if err != nil {
			panic(err) // product chose it
		}
		o.Ops = 2 * f("m") * f("n") * f("k")
		o.Weights = f("n") * f("k") / float64(b.Weights) * float64(b.Bytes)
		o.Bytes = o.Weights + 4*f("m")*(f("k")+f("n"))
	}
}

// arrays is how many arrays of rows · cols an op of the kernel rowwise reads and writes.
func (o Operation) arrays() float64 {
	switch o.Field("op") {
	case "argmax":
		return 1
	case "swiglu":
		return 3
	case "add-rmsnorm":
		return 4
	}
	return 2
}
