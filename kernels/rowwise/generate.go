package rowwise

import (
	"embed"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tune/kernels/native"
	"tune/kernels/native/cgen"
	"tune/space"
)

// lineFloats is how many floats a cache line holds.
const lineFloats = 16

// Generate writes the C code of a point.
func (k *Spec) Generate(p space.Point) (native.Source, error) { return k.source(p), nil }

func (k *Spec) source(p space.Point) native.Source { return k.sourceOf(p, k.knobs(p)) }

// sourceOf is the code of a point whose knobs may be others than its own.
func (k *Spec) sourceOf(p space.Point, with knobs) native.Source {
	g := &generator{Spec: k, p: p, knobs: with}
	g.file()
	src := native.Source{Lang: "c", Text: g.String(), Compiler: p.Str("compiler"), Flags: k.flags(p), Threads: 1, Overlaps: true}
	if g.Parallel {
		src.Threads = p.Int("workers")
	}
	return src
}

// flags are those of the compiler.
func (k *Spec) flags(p space.Point) []string {
	return cgen.Flags{
		Arch: k.machine.Arch, Std: "gnu11", Opt: p.Str("opt"), Contract: cgen.ContractFast, NoMathErrno: true, ISA: p.Str("isa"), Wide: true,
		UnrollLoops: p.Bool("unroll_loops"), Threads: parallel(p),
	}.List()
}

// parallel reports whether the code of a point has more than one worker.
func parallel(p space.Point) bool { return p.Has("workers") && p.Int("workers") > 1 }

// pieces are the constant parts of the code.
var pieces = cgen.ParsePieces(pieceFiles, "pieces.c.tmpl", "plain.c.tmpl")

//go:embed pieces.c.tmpl plain.c.tmpl
var pieceFiles embed.FS

// knobs are what the pieces need to know of a point.
type knobs struct {
	Inputs, Outputs []string
	Anywhere        bool // it may be called beyond the bounds of a shape, as the plain form of a library
	Rope            bool
	Eps             string
	Q8              bool

	Lanes, Unroll, Together int
	AMD64, SSE, FMA         bool
	Masked, Past            bool

	// Of the exponential: Deep says that its argument may be anything up to 0.
	Deep, Scalef, Reduce bool
	Polynomial           []string
	Reciprocal           string
	Cubic                bool   // the logistic function is one of a cubic polynomial
	Bound                string // of the argument of silu and gelu

	ErfScale           string
	ErfTerms           []string
	PhiBound, PhiScale string
	PhiTerms           []string
	form               string
	table              table
	TwoRegisters       bool // for each coefficient of the table
	Guess              bool // exponentials are taken of numbers above 0 too
	interleave         bool
	alternate          bool // every other vector is divided
	kept               bool // exponentials go to a buffer of their own

	Element  string // of the result of a plain loop
	Parallel bool
	Chunks   int

	plain, avx512 bool
	indices       bool // whether the result is indices
	passes        string
	splitPairs    bool
	blocks        bool // whether the block of a maximum is searched again
	ahead         int  // cache lines
	next          string
}

// text returns the value of a parameter that not every space has.
func text(p space.Point, name string) string {
	if !p.Has(name) {
		return ""
	}
	return p.Str(name)
}

// knobs reads a point.
func (k *Spec) knobs(p space.Point) knobs {
	amd64, isa := k.machine.Arch == "amd64", p.Str("isa")
	n := knobs{
		Inputs: k.op.inputs, Outputs: k.op.outputs, Rope: k.op.rope, Eps: k.epsText, Q8: k.op.q8,
		Lanes: p.Int("lanes"), Unroll: p.Int("unroll"), Together: 1,
		AMD64: amd64, SSE: amd64 && isa == cgen.Generic, FMA: amd64 && isa != cgen.Generic,
		Masked: text(p, "tail") == tailMasked, Past: text(p, "stores") == storesNT,
		Deep: k.op.name == "softmax", Scalef: text(p, "scale") == scaleScalef, Reduce: text(p, "scale") == scaleReduce,
		Reciprocal: text(p, "reciprocal"), Cubic: k.op.name == "gelu", Bound: "80",
		plain: p.Str("code") == codePlain, passes: text(p, "passes"), splitPairs: text(p, "pairs") == pairsSplit,
		blocks: text(p, "search") == searchBlocks, ahead: p.Int("prefetch"), next: text(p, "next"),
		form: text(p, "form"), avx512: isa == cgen.AVX512, indices: k.op.name == "argmax",
		Element: map[string]string{"silu": "silu(x[i])", "swiglu": "silu(g[i]) * u[i]", "gelu": "gelu(x[i])", "gelu-erf": "gelu(x[i])"}[k.op.name],
	}
	if n.Cubic {
		n.Bound = "9.5f"
	}
	n.Guess, n.interleave = n.passes == passesUnshifted, p.Has("interleave") && p.Bool("interleave")
	n.alternate, n.kept = n.Reciprocal == reciprocalAlternate, text(p, "kept") == keptBuffer
	if n.alternate {
		n.Reciprocal = reciprocalNewton // of single vectors, and of the others
	}
	if n.Reciprocal == "" {
		n.Reciprocal = reciprocalDivide
	}
	if p.Has("together") && !n.plain {
		n.Together = p.Int("together")
	}
	if p.Has("degree") {
		n.Polynomial = exponentials[p.Int("degree")]
		if n.Reduce {
			n.Polynomial = binaries[p.Int("degree")]
		}
	}
	erf, phi := erfExact, phiExact
	if k.fast {
		erf, phi = erfFast, phiFast
	}
	n.ErfScale, n.ErfTerms = erf.scale, erf.terms
	n.PhiBound, n.PhiScale, n.PhiTerms = phi.bound, phi.scale, phi.terms
	if n.form == formTable {
		segments := tableLanes
		if p.Has("segments") {
			segments = p.Int("segments")
		}
		n.table, n.TwoRegisters = tableOf(k.op.name, segments, !k.fast), segments > tableLanes
	}
	if parallel(p) {
		n.Parallel, n.Chunks = true, p.Int("workers")*p.Int("pieces")
	}
	return n
}

// Bytes is the size of a vector.
func (k knobs) Bytes() int { return 4 * k.Lanes }

// LeastScale is the scale of a block of Q8_0 from which on its numbers are not all 0.
func (knobs) LeastScale() string { return strconv.FormatFloat(leastScale, 'x', -1, 32) + "f" }

// OutputType is the type of the elements of an output.
func (k knobs) OutputType(string) string {
	switch {
	case k.Q8:
		return "uint8_t"
	case k.indices:
		return "int32_t"
	}
	return "float"
}

// RowInputs are the inputs that have the rows of the output.
func (k knobs) RowInputs() []string {
	return slices.DeleteFunc(slices.Clone(k.Inputs), func(name string) bool { return slices.Contains([]string{"w", "b", "table"}, name) })
}

// RowOutputs are the outputs of floats.
func (k knobs) RowOutputs() []string {
	if k.OutputType("y") != "float" {
		return nil
	}
	return k.Outputs
}

// Arguments lists the arguments of tune_kernel.
func (k knobs) Arguments() string {
	var list []string
	for i := range len(k.Inputs) + len(k.Outputs) {
		list = append(list, fmt.Sprintf("args[%d]", i))
	}
	return strings.Join(list, ", ")
}

// Halvings are the orders of lanes that bring each lane together with all others, by exchanges over half as many lanes each.
func (k knobs) Halvings() []string {
	var out []string
	for distance := k.Lanes / 2; distance > 0; distance /= 2 {
		out = append(out, k.order(func(lane int) int { return lane ^ distance }))
	}
	return out
}

// order lists a lane for each lane.
func (k knobs) order(of func(lane int) int) string {
	var list []string
	for lane := range k.Lanes {
		list = append(list, strconv.Itoa(of(lane)))
	}
	return strings.Join(list, ", ")
}

// Divides reports whether the factor of an activation is a quotient.
func (k knobs) Divides() bool { return k.Reciprocal == reciprocalDivide }

// Estimate is the instruction that estimates a reciprocal.
func (k knobs) Estimate() string {
	switch {
	case k.SSE:
		return "rcpps"
	case k.avx512:
		return "vrcp14ps"
	}
	return "vrcpps"
}

// StorePast is GCC's name of the store past the caches.
func (k knobs) StorePast() string { return cgen.StorePast(k.Lanes) }

// generator writes one file.
type generator struct {
	*Spec
	cgen.Writer
	p space.Point
	knobs
}

// piece writes pieces of C.
func (g *generator) piece(names ...string) {
	for _, name := range names {
		g.Piece(pieces, name, g.knobs)
	}
}

func (g *generator) file() {
	g.Comment("rowwise, %s: %s", g.op.name, g.p.Key())
	if g.plain {
		g.Line("#include <math.h>")
	}
	g.Line("#include <stdint.h>")
	g.Blank()
	if g.Parallel {
		g.Text(cgen.Crew(g.p).Text())
		g.Blank()
	}
	g.piece("call")
	if g.Q8 {
		g.piece("half")
	}
	if g.plain {
		g.plainSpan()
	} else {
		g.piece("vector")
		g.vectorSpan()
	}
	g.piece("run")
}

// plainSpan writes the plain loops.
func (g *generator) plainSpan() {
	if g.Q8 {
		g.piece("plain quantise")
	}
	switch g.op.name {
	case "silu", "swiglu":
		g.piece("plain silu", "plain map")
	case "swiglu-q8":
		g.piece("plain silu", "plain swiglu-q8")
	case "gelu", "gelu-erf":
		g.piece("plain "+g.op.name, "plain map")
	default:
		g.piece("plain " + g.op.name)
	}
}

// vectorSpan writes the functions on vectors that the operation needs, those for rows, and span, which does the rows from one to
// another.
func (g *generator) vectorSpan() {
	g.piece("shuffle", "load_some")
	if g.storesPast() {
		g.piece("store_some", "store")
	}
	switch g.op.name {
	case "softmax":
		g.piece("larger", "highest")
		if g.Guess && !g.Reduce {
			g.piece("smaller")
		}
		if g.interleave {
			g.piece("hold")
		}
		g.piece(map[bool]string{true: "exponential table", false: "exponential"}[g.form == formTable])
		g.Horizontal("float", "vec", g.Lanes)
		if g.Guess {
			g.careful()
		}
		g.eachCount(g.softmax)
	case "rmsnorm", "add-rmsnorm":
		g.Horizontal("float", "vec", g.Lanes)
		g.eachCount(g.rmsnorm)
	case "rmsnorm-q8":
		g.piece("wider", "quantise")
		g.Horizontal("float", "vec", g.Lanes)
		g.eachCount(g.rmsnormQ8)
	case "layernorm":
		g.Horizontal("float", "vec", g.Lanes)
		g.eachCount(g.layernorm)
	case "rope":
		g.eachCount(g.rope)
	case "rope-pairwise":
		g.eachCount(g.ropePairwise)
	case "argmax":
		g.argmaxPieces()
		g.eachCount(g.argmax)
	default:
		g.activation()
		return
	}
	g.span()
}

// counts are the numbers of rows that there are functions for: those that are walked side by side, and one.
func (g *generator) counts() []int {
	if g.Together > 1 {
		return []int{g.Together, 1}
	}
	return []int{1}
}

// eachCount writes a function for each number of rows. Their pointers are named after the inputs and outputs, with the number of
// the row.
func (g *generator) eachCount(body func(count int)) {
	for _, count := range g.counts() {
		g.rowsFunc("rows", count)
		body(count)
		g.EndFunc()
	}
}

// rowsFunc begins the function for a number of rows.
func (g *generator) rowsFunc(name string, count int) {
	past := ""
	if g.Past {
		past = ", int past"
	}
	g.Func("static void %s%d(const struct call *c, int64_t row%s)", name, count, past)
	g.Line("const int64_t n = c->cols;")
	for r := range count {
		row := "row"
		if r > 0 {
			row = fmt.Sprintf("(row + %d)", r)
		}
		for _, name := range g.RowInputs() {
			g.Line("const float *restrict %s%d = c->%s + %s * n;", name, r, name, row)
		}
		for _, name := range g.RowOutputs() {
			g.Line("float *restrict %s%d = c->%s + %s * n;", name, r, name, row)
		}
	}
	for _, name := range g.Inputs {
		switch name {
		case "w", "b":
			g.Line("const float *restrict %s = c->%s;", name, name)
		case "table":
			g.Line("const int64_t h = n / 2;")
			g.Line("const float *restrict cosines = c->table + row / c->heads * n, *restrict sines = cosines + h;")
		}
	}
	g.Line("int64_t i;")
}

// span writes the function that does the rows from one to another.
func (g *generator) span() {
	g.Func("static void span(const struct call *c, int64_t from, int64_t to)")
	past := ""
	if g.Past {
		past = ", past"
		unit := "c->cols"
		if g.op.name == "rope" {
			unit = "(c->cols / 2)"
		}
		g.Line("const int past = %s %% LANES == 0 && (uintptr_t)c->y %% sizeof(vec) == 0;", unit)
	}
	if g.Together > 1 && g.Rope {
		g.Open("for (int64_t row = from; row < to;)")
		g.Line("const int64_t next = (row / c->heads + 1) * c->heads, end = next < to ? next : to; // of the token")
		g.Nested(fmt.Sprintf("for (; row + %d <= end; row += %d)", g.Together, g.Together), fmt.Sprintf("rows%d(c, row%s);", g.Together, past))
		g.Nested("for (; row < end; row++)", fmt.Sprintf("rows1(c, row%s);", past))
		g.Close()
	} else {
		g.Line("int64_t row = from;")
		if g.Together > 1 {
			g.Nested(fmt.Sprintf("for (; row + %d <= to; row += %d)", g.Together, g.Together), fmt.Sprintf("rows%d(c, row%s);", g.Together, past))
		}
		g.Nested("for (; row < to; row++)", fmt.Sprintf("rows1(c, row%s);", past))
	}
	g.fence()
	g.EndFunc()
}

// fence makes others see the results that went past the caches.
func (g *generator) fence() {
	if g.Past && g.AMD64 {
		g.Line("__builtin_ia32_sfence();")
	}
}
