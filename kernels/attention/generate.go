package attention

import (
	"embed"
	"fmt"
	"math"
	"strconv"
	"strings"

	"tune/kernels/native"
	"tune/kernels/native/cgen"
	"tune/space"
)

// Generate writes the C code of a point.
func (a *Spec) Generate(p space.Point) (native.Source, error) { return a.source(p, a.knobs(p)), nil }

// source writes the code of a point.
func (a *Spec) source(p space.Point, k knobs) native.Source {
	g := &generator{knobs: k, point: p}
	g.file()
	src := native.Source{Lang: "c", Text: g.String(), Compiler: p.Str("compiler"), Flags: a.flags(p), Threads: 1, Overlaps: true}
	if g.Parallel {
		src.Threads = p.Int("workers")
	}
	return src
}

// isParallel reports whether the code of a point has more than one worker.
func (a *Spec) isParallel(p space.Point) bool {
	return a.threads > 1 && p.Str("form") != formPlain && p.Int("workers") > 1
}

// flags are those of the compiler.
func (a *Spec) flags(p space.Point) []string {
	isa := cgen.AMXBF16
	if p.Str("form") != formTiles {
		isa = p.Str("isa")
	}
	return cgen.Flags{
		Arch: a.machine.Arch, Std: "gnu11", Opt: p.Str("opt"), Contract: cgen.ContractFast, NoMathErrno: true, ISA: isa,
		Threads: a.isParallel(p),
	}.List()
}

// pieces are the constant parts of the code.
var pieces = cgen.ParsePieces(pieceFiles, "pieces.c.tmpl", "tiles.c.tmpl")

//go:embed pieces.c.tmpl tiles.c.tmpl
var pieceFiles embed.FS

// knobs are what the code depends on.
type knobs struct {
	Form       string
	KV         string // type of keys and values
	Head       int
	Group      int // query heads of a kv head
	Causal     bool
	Beside     bool // scores of the next micro-tile are made between the weights of one
	Rounded    bool // queries are rounded to bfloat16
	Convert    bool // the instruction set converts half precision
	SSE        bool // vectors of the base instruction set
	Degree     int
	Lanes      int
	Rows       int // of a micro-tile
	TileRows   int
	TileKeys   int
	Together   int
	KeyPanels  bool
	ValuePanel bool // values are packed to panels
	Dots       int
	Vectors    int
	Columns    int
	Unroll     int
	Prefetch   int
	PackHead   bool
	Parallel   bool
	Split      string
	Parts      int
	Linked     bool // the heads are fixed, and keys and values of a kv head have a stride
	Heads      int  // query heads, where they are fixed
}

// knobs reads a point.
func (a *Spec) knobs(p space.Point) knobs {
	k := knobs{Form: p.Str("form"), KV: a.kv, Head: a.head, Group: a.group(), Causal: a.causal, Rounded: a.accuracy == accuracyBF16}
	if k.Form == formPlain {
		return k
	}
	k.Degree, k.TileKeys = p.Int("degree"), p.Int("key_tile")
	if k.Matrix() {
		k.Lanes, k.Rows, k.Beside = matrixRows, matrixRows*p.Int("row_tiles"), p.Str("scores") == scoresBeside
	} else {
		a.vectorKnobs(&k, p)
	}
	k.Together = 1
	if k.Group > 1 {
		k.Together = p.Int("together")
	}
	tile := a.queryTiles()[0]
	if len(a.queryTiles()) > 1 {
		tile = p.Int("query_tile")
	}
	tile = min(tile, a.queries*k.Together)
	k.TileRows = cgen.Ceil(tile, k.Rows) * k.Rows
	k.Parallel = a.isParallel(p)
	if k.Parallel && !k.Matrix() {
		k.Split = p.Str("split")
		if k.Split == splitContext {
			k.Parts = p.Int("parts")
		}
	}
	return k
}

// vectorKnobs reads what the forms in vectors have of their own.
func (a *Spec) vectorKnobs(k *knobs, p space.Point) {
	isa := p.Str("isa")
	k.Convert = isa == cgen.F16C || isa == cgen.AVX512
	k.SSE = isa == cgen.Generic
	k.Lanes, k.Rows = p.Int("lanes"), p.Int("rows")
	k.KeyPanels, k.ValuePanel = p.Str("keys") == layoutPanels, p.Str("values") == layoutPanels
	k.Columns, k.Unroll = p.Int("columns"), p.Int("unroll")
	if k.KeyPanels {
		k.Vectors = p.Int("vectors")
	} else {
		k.Dots = p.Int("dots")
	}
	if !k.KeyPanels || !k.ValuePanel {
		k.Prefetch = p.Int("prefetch")
	}
	if k.KeyPanels || k.ValuePanel {
		k.PackHead = p.Str("packing") == packHead
	}
}

// Bytes is the size of a vector.
func (k knobs) Bytes() int { return 4 * k.Lanes }

// Panel is how many keys a panel has.
func (k knobs) Panel() int { return k.Vectors * k.Lanes }

// Units is how many tiles of heads a kv head has.
func (k knobs) Units() int { return k.Group / k.Together }

// scorePad is how many floats are added to rows of scores, so that rows do not fall into one set of a cache, and a micro-tile of
// dot products may be stored whole.
const scorePad = 16

// ScorePad is scorePad.
func (knobs) ScorePad() int { return scorePad }

// Strip is how many numbers of a value a strip has.
func (k knobs) Strip() int { return k.Columns * k.Lanes }

// HalfBytes is the size of a vector of 16-bit numbers.
func (k knobs) HalfBytes() int { return 2 * k.Lanes }

// Turns are the lanes of a vector, turned by a half of it, a quarter, and so on.
func (k knobs) Turns() []string {
	var out []string
	for by := k.Lanes / 2; by > 0; by /= 2 {
		var at []string
		for l := range k.Lanes {
			at = append(at, strconv.Itoa((l+by)%k.Lanes))
		}
		out = append(out, strings.Join(at, ", "))
	}
	return out
}

// More says what lies behind the memory of a worker; "" for nothing.
func (k knobs) More() string {
	var parts []string
	if !k.Online() {
		parts = append(parts, "scores")
	}
	if k.PackHead && k.KeyPanels {
		parts = append(parts, "keys of a kv head")
	}
	if k.PackHead && k.ValuePanel {
		parts = append(parts, "values of a kv head")
	}
	return strings.Join(parts, ", ")
}

// PackedKeys and PackedValues are where the panels of a kv head are, in C.
func (k knobs) PackedKeys() string {
	if k.Online() {
		return "s->more"
	}
	return "s->more + TILE_ROWS * c->ld"
}

func (k knobs) PackedValues() string {
	if k.KeyPanels {
		return k.PackedKeys() + " + c->packed"
	}
	return k.PackedKeys()
}

// PackedTimes is how many of them there are.
func (k knobs) PackedTimes() int {
	if k.KeyPanels && k.ValuePanel {
		return 2
	}
	return 1
}

// KeysAt and ValuesAt are where those of a tile begin, in C.
func (k knobs) KeysAt() string {
	switch {
	case !k.KeyPanels:
		return "k + j * HEAD"
	case k.PackHead:
		return k.PackedKeys() + " + j * HEAD"
	}
	return "s->keys"
}

func (k knobs) ValuesAt() string {
	switch {
	case !k.ValuePanel:
		return "v + j * HEAD"
	case k.PackHead:
		return k.PackedValues() + " + j * HEAD"
	}
	return "s->values"
}

// Online reports whether sums are rescaled.
func (k knobs) Online() bool { return k.Form == formOnline }

// Half reports whether keys and values have 16 bits.
func (k knobs) Half() bool { return k.KV != kvF32 }

// Apart is how many keys the kv heads are apart, in C, and PlainApart that in plain loops.
func (k knobs) Apart() string { return "c->" + k.PlainApart() }

func (k knobs) PlainApart() string {
	if k.Linked {
		return "stride"
	}
	return "context"
}

// KeyType and ValueType are the C types that products read keys and values in.
func (k knobs) KeyType() string   { return panelType(k.KeyPanels) }
func (k knobs) ValueType() string { return panelType(k.ValuePanel) }

func panelType(panel bool) string {
	if panel {
		return "float"
	}
	return "kv"
}

// Factor is what queries are multiplied by: the scores are then logarithms to base 2.
func (k knobs) Factor() string { return hex(float32(math.Log2E / math.Sqrt(float64(k.Head)))) }

// hex writes a float so that C reads exactly that.
func hex(f float32) string { return strconv.FormatFloat(float64(f), 'x', -1, 32) + "f" }

// generator writes one file.
type generator struct {
	cgen.Writer
	knobs
	point space.Point
}

// piece writes pieces of C.
func (g *generator) piece(names ...string) {
	for _, name := range names {
		g.Piece(pieces, name, g.knobs)
	}
}

func (g *generator) file() {
	g.Comment("attention over %s keys and values: %s", g.KV, g.point.Key())
	if g.Parallel {
		g.Text(cgen.Crew(g.point).Text())
		g.Blank()
	}
	if g.Matrix() {
		g.matrixFile()
		return
	}
	g.piece("head")
	if g.Form == formPlain {
		g.piece("one")
		g.scalarPower("power")
		g.piece("plain")
		return
	}
	g.piece("vector")
	if g.KeyPanels {
		g.piece("one")
	}
	g.vectorPower()
	g.scalarPower("scale")
	g.piece("call", "worker memory", "take", "weigh")
	if g.KeyPanels {
		g.packKeys()
		g.panelScores()
	} else {
		g.dotScores()
	}
	if g.ValuePanel {
		g.piece("pack values")
	}
	g.sums()
	g.piece("block")
	if g.Split == splitContext {
		g.piece("merge")
	}
	g.piece("entry")
}

// vectorPower writes the exponential of the weights.
func (g *generator) vectorPower() {
	e := exponentialOf(g.Degree)
	g.powerComment(e)
	g.Func("static inline vec power(vec x)")
	g.Line("x = larger(x, (vec){ 0 } + %s);", leastPower)
	g.Line("const vec t = x + 0x1.8p23f; // the integer is in the low bits")
	g.Line("const vec f = x - (t - 0x1.8p23f);")
	g.Line("const vec y = %s;", e.horner())
	g.Line("return (vec)((ivec)y + ((ivec)t << 23));")
	g.EndFunc()
}

// scalarPower writes the most accurate exponential, for a single number.
func (g *generator) scalarPower(name string) {
	e := exponentials[len(exponentials)-1]
	g.powerComment(e)
	g.Func("static inline float %s(float x)", name)
	g.Line("x = x > %s ? x : %s;", leastPower, leastPower)
	g.Line("union { float f; uint32_t i; } t = { .f = x + 0x1.8p23f }, y; // the integer is in the low bits")
	g.Line("const float f = x - (t.f - 0x1.8p23f);")
	g.Line("y.f = %s;", e.horner())
	g.Line("y.i += t.i << 23;")
	g.Line("return y.f;")
	g.EndFunc()
}

func (g *generator) powerComment(e exponential) {
	g.Comment("2 to the power of x, which is at most 0: 2^n times a polynomial in x - n, which is off by %.1g of it.", e.err)
}

// leastPower is where the exponential ends: weights below 2 to that power count as much as none.
const leastPower = "-120.0f"

// exponential is a polynomial for 2^f, |f| ≤ 1/2.
type exponential struct {
	err  float64   // the largest relative error
	from []float64 // the coefficients, that of f⁰ first
}

// exponentialOf returns the polynomial of a degree.
func exponentialOf(degree int) exponential {
	for _, e := range exponentials {
		if e.degree() == degree {
			return e
		}
	}
	panic(fmt.Sprintf("attention: no polynomial of degree %d", degree))
}

func (e exponential) degree() int { return len(e.from) - 1 }

// horner writes the polynomial of f in C.
func (e exponential) horner() string {
	n := e.degree()
	out := hex(float32(e.from[n]))
	for i := n - 1; i >= 0; i-- {
		out = fmt.Sprintf("(%s) * f + %s", out, hex(float32(e.from[i])))
	}
	return out
}

// exponentials have the least relative error of their degree, by Remez's exchange.
var exponentials = []exponential{
	{7.5e-5, []float64{0.9999280735404955, 0.6932609854573369, 0.24261112219433023, 0.05517166907486058}},
	{2.7e-6, []float64{0.9999992614457144, 0.6931218147367706, 0.2402474482794409, 0.05591786031930373, 0.00957010190807703}},
	{2.5e-7, []float64{1.0000000716546822, 0.693146967064733, 0.2402211972384874, 0.055507132735437094, 0.009675541334205775, 0.0013276471979039245}},
}
