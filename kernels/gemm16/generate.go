package gemm16

import (
	"embed"
	"fmt"
	"strconv"
	"strings"

	"tune/kernels/native"
	"tune/kernels/native/cgen"
	"tune/space"
)

// Generate writes the C code of a point.
func (g *Spec) Generate(p space.Point) (native.Source, error) {
	w := &generator{Spec: g, p: p, knobs: g.knobs(p)}
	w.file()
	return native.Source{
		Lang: "c", Text: w.String(), Compiler: p.Str("compiler"), Flags: g.flags(p), Threads: g.workers(p), Pack: g.packOf(p), Overlaps: true,
	}, nil
}

// flags are those of the compiler.
func (g *Spec) flags(p space.Point) []string {
	f := cgen.Flags{
		Arch: g.machine.Arch, Std: "gnu11", Opt: p.Str("opt"), Contract: cgen.ContractFast, ISA: cgen.Native, Wide: true,
		Threads: g.workers(p) > 1,
	}
	if p.Str("unit") != unitPlain {
		f.ISA = isaOf(p).Name
	}
	return f.List()
}

// pieces are the constant parts of the code.
var pieces = cgen.ParsePieces(pieceFiles, "pieces.c.tmpl")

//go:embed pieces.c.tmpl
var pieceFiles embed.FS

// knobs are what the pieces need to know of a point.
type knobs struct {
	Brain   bool   // bfloat16, not half precision
	NT      bool   // B is n × k
	Inputs  string // the word of the field inputs
	Weights string

	Unit        string
	ISA         string
	Bytes       int // of a vector
	Group       int // elements of B that stand together
	MR, NR      int // rows, and vectors of columns, of a tile
	KC          int
	Apart       bool // each vector has a panel
	Interleaved bool // the rows of a tile of A
	Direct      bool // A is read as it is
	Matrices    bool // a tile of A is in whole matrix tiles, one after the other
	Coming      bool // a tile of A is prepared for its use, and not all of A ahead
	Beside      bool // that happens between the products of the tile before
	Within      bool // all blocks along k follow each other for a tile of A, or for a group of panels
	NC          int
	Passing     bool // tiles that the inner loop changes are not kept in the nearest cache
	Later       bool // sums go to C by way of a buffer, between the products of the next tile
	Embedded    bool // an element of A is the operand of a multiplication

	// What becomes of B: one of these holds, or it arrives packed.
	Ahead bool // it is packed as a whole
	Panel bool // it is packed panel by panel

	Chunks       int
	SplitColumns bool
}

// knobs reads a point.
func (g *Spec) knobs(p space.Point) knobs {
	k := knobs{Brain: g.Type == BFloat16, NT: g.nt, Inputs: g.inputs, Weights: g.weights, Unit: p.Str("unit"), Group: g.group}
	if k.Unit == unitPlain {
		return k
	}
	in := isaOf(p)
	k.ISA, k.Bytes = in.Name, in.Bytes
	k.MR, k.NR, k.KC = p.Int("mr"), p.Int("nr"), p.Int("kc")
	if k.Tile() {
		k.MR *= tileRows
	}
	k.Apart = p.Str("panels") == panelsApart
	k.Interleaved, k.Direct = p.Str("activations") == activationsTiles, p.Str("activations") == activationsDirect
	if k.Tile() {
		k.Matrices, k.Interleaved = k.Interleaved, false
		k.Beside = p.Str("prepare") == prepareBeside
		k.Coming = k.Beside || p.Str("prepare") == prepareTile
		k.Within, k.NC, k.Passing = k.KC > 0 && p.Str("along") == alongWithin, p.Int("nc"), p.Str("passing") == yes
		k.Later = p.Str("results") == resultsBeside
	}
	k.Embedded = in.Registers == 32 && !k.Tile() && p.Str("broadcast") == broadcastEmbedded
	if g.weights != asPacked {
		k.Ahead, k.Panel = p.Str("pack") == packAhead, p.Str("pack") == packPanel
	}
	k.Chunks = 1
	if w := g.workers(p); w > 1 {
		k.Chunks, k.SplitColumns = w*p.Int("pieces"), p.Str("split") == orderColumns
	}
	return k
}

// Wide reports whether elements are widened.
func (k knobs) Wide() bool { return k.Unit == unitWide }

// Tile reports whether the unit has matrix tiles.
func (k knobs) Tile() bool { return k.Unit == unitTile }

// Lanes is the number of floats in a vector.
func (k knobs) Lanes() int { return k.Bytes / 4 }

// HalfBytes is the size of as many 16-bit floats.
func (k knobs) HalfBytes() int { return k.Bytes / 2 }

// InputType is the C type of the elements of a.
func (k knobs) InputType() string { return cType(k.Inputs) }

// WeightType is the C type of the elements of b that are packed.
func (k knobs) WeightType() string { return cType(k.Weights) }

// cType returns the C type of what arrives in the form of a word.
func cType(word string) string {
	if word == asF32 {
		return "float"
	}
	return "uint16_t"
}

// Word is the C type of what a multiplication takes from A.
func (k knobs) Word() string {
	if k.Wide() {
		return "float"
	}
	return "uint32_t"
}

// Words is how many of them a row of a panel meets.
func (k knobs) Words() int {
	if k.Wide() {
		return k.Group
	}
	return 1
}

// Cell is the C type of the elements of B that stand together.
func (k knobs) Cell() string { return map[int]string{1: "uint16_t", 2: "uint32_t"}[k.Group] }

// Rooms is for how many tiles of A a call has room.
func (k knobs) Rooms() string {
	switch {
	case k.Beside:
		return fmt.Sprint(2 * k.Chunks)
	case k.Coming:
		return fmt.Sprint(k.Chunks)
	}
	return "j->tiles"
}

// Buffers is how many groups of panels a call has room for.
func (k knobs) Buffers() string {
	switch {
	case k.Ahead:
		return "j->groups"
	case k.Panel:
		return fmt.Sprint(k.Chunks)
	}
	return "0"
}

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

// includes writes the headers that all units need.
func (g *generator) includes() {
	g.Line("#include <stdint.h>")
	g.Line("#include <stdlib.h>")
	g.Blank()
}

// plainText writes the plain loops.
func (g *generator) plainText() {
	g.includes()
	g.piece("scratch", "scalar", "plain")
}

func (g *generator) file() {
	layout := layoutNN
	if g.NT {
		layout = layoutNT
	}
	g.Comment("%s, layout=%s, inputs=%s, weights=%s: %s", g.name, layout, g.Inputs, g.Weights, g.p.Key())
	if g.Unit == unitPlain {
		g.plainText()
		return
	}
	g.includes()
	parallel := g.workers(g.p) > 1
	if parallel {
		g.Text(cgen.Crew(g.p).Text())
		g.Blank()
	}
	if g.Tile() {
		g.Text(cgen.Tiles())
		g.Blank()
		if g.Passing {
			g.Text(cgen.PassingTiles())
			g.Blank()
		}
	}
	g.piece("types", "round", "widen", "multiply-add", "rows", "job", "scratch", "sides", "describe", "prepare_part", "prepare_tile", "pack_panel", "edges", "later results")
	if g.Tile() {
		g.matrixTile()
	} else {
		g.vectorTile()
	}
	g.multiply()
	if parallel {
		g.piece("parallel entry")
	} else {
		g.piece("entry")
	}
	if g.weights == asPacked {
		g.piece("tune_pack")
	}
}

// begin opens the function of a tile, and says where its operands and results are.
func (g *generator) begin() {
	g.Comment("tile multiplies tile t of A with group p of panels, from one row of a panel to another.")
	more := ""
	if g.Coming {
		more = ", const word *a"
	}
	if g.Beside {
		g.Comment("Beside its products it prepares parts of the next tile of A.")
		more += ", struct coming *next"
	}
	if g.Later {
		g.Comment("Beside its products it stores results of the tile before.")
		more += ", struct results *last"
		if g.KC > 0 {
			more += ", float *sums"
		}
	}
	g.Func("static void tile(const struct job *j, int64_t t, int64_t p, const cell *w, int64_t from, int64_t to%s)", more)
	switch {
	case !g.Later:
		g.Line("const int64_t rows = j->m - t * MR, columns = j->n - p * NR;")
	case g.Direct:
		g.Line("const int64_t rows = j->m - t * MR;")
	}
	need := "MR"
	if g.Tile() && g.MR == tileRows && (!g.Later || g.Direct) {
		g.Line("const int64_t need = j->m < MR ? j->m : MR; // matrix tiles are not larger than A")
		need = "need"
	}
	if !g.Coming {
		g.Line("const word *a = j->rows + t * MR * j->stride;")
	}
	if !g.Matrices {
		g.Line("int64_t stride = j->stride;")
	}
	if g.Direct {
		g.Open("if (j->direct && rows >= %s)", need)
		g.Line("a = (const word *)j->a + t * MR * (j->k / 2);")
		g.Line("stride = j->k / 2;")
		g.Close()
	}
	if g.Interleaved {
		g.Line("(void)stride;")
	}
	if g.Apart {
		for v := range g.NR {
			g.Line("const cell *w%d = w + %d * j->panel;", v, v)
		}
	}
	if g.Later {
		g.laterSums()
		return
	}
	g.Line("float edge[MR * NR], *c = j->c + t * MR * j->n + p * NR;")
	g.Line("int64_t line = j->n;")
	g.Line("const int whole = rows >= %s && columns >= NR;", need)
	g.Open("if (!whole)")
	g.Line("c = edge;")
	g.Line("line = NR;")
	if g.KC > 0 {
		g.Nested("if (from > 0)", "fetch(j, t, p, edge);")
	}
	g.Close()
}

// end closes the function of a tile.
func (g *generator) end() {
	switch {
	case g.Later && g.KC > 0:
		g.Nested("if (to >= j->depth)", "finish(j, t, p, last);")
	case g.Later:
		g.Line("finish(j, t, p, last);")
	default:
		g.Nested("if (!whole)", "put(j, t, p, edge);")
	}
	g.EndFunc()
}

// weightsAt returns where vector v of B is in a row of its panel.
func (g *generator) weightsAt(v int, row string) string {
	if g.Apart {
		return fmt.Sprintf("w%d + %s * PANEL", v, factor(row))
	}
	return fmt.Sprintf("w + %s * PANEL + %d * LANES", factor(row), v)
}

// factor returns an expression as a factor of a product.
func factor(sum string) string {
	if strings.Contains(sum, " ") {
		return "(" + sum + ")"
	}
	return sum
}

// along writes the loops along k: turns of several steps, and single ones. size is how many rows of a panel a step has.
func (g *generator) along(size int, step func(at string)) {
	g.Line("int64_t g = from;")
	if unroll := g.p.Int("unroll"); unroll > 1 {
		g.Open("for (; g + %d <= to; g += %d)", unroll*size, unroll*size)
		for u := range unroll {
			g.Block(func() { step(fmt.Sprintf("g + %d", u*size)) })
		}
		g.Close()
	}
	g.Open("for (; g < to; g += %d)", size)
	step("g")
	g.Close()
}

// prefetch asks for what will be used of B, for a step of so many rows of a panel.
func (g *generator) prefetch(row string, size int) {
	ahead := g.p.Int("ahead")
	if ahead == 0 {
		return
	}
	vectors := g.NR
	if g.Apart {
		vectors = 1
	}
	const line = 64
	for v := 0; v < g.NR; v += vectors {
		for at := 0; at < size*vectors*g.Lanes()*g.Group*2; at += line {
			g.Line("__builtin_prefetch((const char *)(%s) + %d);", g.weightsAt(v, row), ahead+at)
		}
	}
}

// each calls f for each accumulator of a tile of vectors.
func (g *generator) each(f func(r, v int)) {
	for r := range g.MR {
		for v := range g.NR {
			f(r, v)
		}
	}
}

// vectorTile writes the product of a tile with accumulators in vectors.
func (g *generator) vectorTile() {
	g.begin()
	g.each(func(r, v int) { g.Line("vec s%d_%d = { 0 };", r, v) })
	if g.KC > 0 {
		g.Open("if (from > 0)")
		g.each(func(r, v int) {
			g.Line("s%d_%d = *(const vec_memory *)(c + %d * line + %d * LANES);", r, v, r, v)
		})
		g.Close()
	}
	g.along(1, func(row string) {
		g.prefetch(row, 1)
		for e := range g.Words() {
			g.vectorStep(row, e)
		}
	})
	g.each(func(r, v int) {
		g.Line("*(vec_memory *)(c + %d * line + %d * LANES) = s%d_%d;", r, v, r, v)
	})
	g.end()
}

// vectorStep writes the products of one word of each row of A with a row of a panel.
func (g *generator) vectorStep(row string, e int) {
	kind, name := "vec", fmt.Sprintf("x%d_", e)
	if !g.Wide() {
		kind = "words"
	}
	for v := range g.NR {
		g.Line("const %s %s%d = load%d(%s);", kind, name, v, e, g.weightsAt(v, row))
	}
	at := factor(row) + " * WORDS"
	if e > 0 {
		at += fmt.Sprintf(" + %d", e)
	}
	for r := range g.MR {
		a := fmt.Sprintf("a + %d * stride + %s", r, at)
		if g.Interleaved {
			a = fmt.Sprintf("a + (%s) * MR + %d", at, r)
		}
		if !g.Embedded {
			g.Line("const %s a%d_%d = splat(*(%s));", kind, e, r, a)
			a = fmt.Sprintf("a%d_%d", e, r)
		}
		for v := range g.NR {
			g.Line("s%d_%d = multiply_add(s%d_%d, %s%d, %s);", r, v, r, v, name, v, a)
		}
	}
}

// multiply writes the loops over tiles and groups of panels.
func (g *generator) multiply() {
	own := "cell *own"
	if g.Coming {
		own = "word *rows"
		g.Comment("multiply does the tiles from t0 to t1 with the groups of panels from p0 to p1; rows is room for the tiles of A that it prepares.")
	} else {
		g.Comment("multiply does the tiles from t0 to t1 with the groups of panels from p0 to p1; own is room for a group.")
	}
	if g.Later && g.KC > 0 {
		g.Comment("sums is room for those of a tile with all panels.")
		own += ", float *sums"
	}
	g.Func("static void multiply(const struct job *j, int64_t t0, int64_t t1, int64_t p0, int64_t p1, %s)", own)
	if g.Tile() {
		g.configure()
	}
	if g.Later {
		g.Line("_Alignas(64) float buffers[2][MR * NR];")
		g.Line("struct results last = { .sums = buffers[0], .other = buffers[1] };")
	}
	step := ""
	if g.KC > 0 && !g.Within {
		step = strconv.Itoa(g.KC / g.Group)
	}
	g.ColumnBlocks(cgen.Ceil(g.NC, g.NR*g.Lanes()), func(panels string) {
		g.Blocks("j->depth", step, cgen.Ceil(g.p.Int("mc"), g.MR), func(tiles, from, to string) { g.multiplyBlock(panels, tiles, from, to) })
	})
	if g.Later {
		g.Nested("while (last.row < last.rows)", "store_row(j, &last);")
	}
	if !g.Panel && !g.Coming {
		g.Line("(void)own;")
	}
	if g.Tile() {
		g.Line("tile_restore(&callers);")
	}
	g.EndFunc()
}

// multiplyBlock writes the loops over the tiles and groups of panels of a block.
func (g *generator) multiplyBlock(panels, tiles, from, to string) {
	call := func(w string) string { return fmt.Sprintf("tile(j, t, p, %s, %s, %s%s);", w, from, to, g.further()) }
	if g.Panel {
		g.Open("%s", panels)
		g.Line("pack_group(j, j->b, p, own);")
		g.Nested(tiles, call("own"))
		g.Close()
		return
	}
	outer, inner := panels, tiles
	if g.p.Str("order") == orderRows {
		outer, inner = tiles, panels
	}
	const w = "j->packed + p * j->group"
	if !g.Coming && !g.Within {
		g.Nested(outer, inner, call(w))
		return
	}
	if g.Coming {
		g.Line("struct coming next = coming(j, t0, t1, rows);")
	}
	g.Open("%s", outer)
	if g.Coming {
		g.prepareComing()
	}
	if g.Within {
		from, to = g.DepthBlocks("j->depth", strconv.Itoa(g.KC/g.Group))
	}
	g.Nested(inner, call(w))
	if g.Within {
		g.Close()
	}
	g.Close()
}
