package gemmi8

import (
	"embed"
	"fmt"
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

// flags are those of the compiler. Nothing may be contracted: a product of floats is rounded before it is used.
func (g *Spec) flags(p space.Point) []string {
	return cgen.Flags{
		Arch: g.machine.Arch, Std: "gnu11", Opt: p.Str("opt"), Contract: cgen.ContractOff, ISA: p.Str("isa"), Wide: true,
		Threads: g.workers(p) > 1,
	}.List()
}

// pieces are the constant parts of the code.
var pieces = cgen.ParsePieces(pieceFiles, "pieces.c.tmpl")

//go:embed pieces.c.tmpl
var pieceFiles embed.FS

// knobs are what the pieces need to know of a point.
type knobs struct {
	Relu    bool
	Weights string // the word of the field weights

	ISA          string
	Bytes, Group int
	Dot, Tile    bool // these forms, not packed
	MR, NR, KC   int
	Apart        bool // the vectors of a panel
	Interleaved  bool // the rows of a tile of A
	Matrices     bool // a tile of A is in whole matrix tiles, one after the other
	Coming       bool // a tile of A is quantised for its use, and not all of A ahead
	Beside       bool // that happens between the products of the tile before
	NC           int
	Passing      bool // tiles that the inner loop changes are not kept in the nearest cache
	Later        bool // sums become results between the products of the next tile
	Embedded     bool // a word of A is the operand of a multiplication

	// What becomes of the weights: one of these holds, or they arrive packed.
	Ahead  bool // they are packed as a whole
	Panel  bool // they are packed panel by panel
	Direct bool // tiles read them where they are

	Chunks       int
	SplitColumns bool
}

// knobs reads a point.
func (g *Spec) knobs(p space.Point) knobs {
	k := knobs{Relu: g.relu, Weights: g.weights}
	if p.Str("form") == formPlain {
		return k
	}
	in := instructionsOf(p.Str("isa"))
	k.ISA, k.Bytes, k.Group = in.Name, in.Bytes, in.group
	k.Dot, k.Tile = p.Str("form") == formDot, p.Str("form") == formTile
	k.MR, k.NR, k.KC = p.Int("mr"), p.Int("nr"), p.Int("kc")
	if k.Tile {
		k.MR *= tileRows
	}
	k.Apart = p.Str("panels") == panelsApart
	k.Interleaved = !k.Tile && p.Str("activations") == activationsTiles
	if k.Tile {
		k.Matrices = p.Str("activations") == activationsTiles
		k.Beside = p.Str("prepare") == prepareBeside
		k.Coming = k.Beside || p.Str("prepare") == prepareTile
		k.NC, k.Passing, k.Later = p.Int("nc"), p.Str("passing") == yes, p.Str("results") == resultsBeside
	}
	k.Embedded = in.Name == cgen.AVX512VNNI && !k.Dot && p.Str("broadcast") == broadcastEmbedded
	if g.weights != weightsPacked {
		k.Ahead, k.Panel, k.Direct = p.Str("pack") == packAhead, p.Str("pack") == packPanel, p.Str("pack") == packNone
	}
	k.Chunks = g.chunks(p)
	k.SplitColumns = g.workers(p) > 1 && p.Str("split") == orderColumns
	return k
}

// Offset reports whether weights are unsigned, with 128 added.
func (k knobs) Offset() bool { return k.Group == 4 && !k.Tile }

// Lanes is the number of words in a vector.
func (k knobs) Lanes() int { return k.Bytes / 4 }

// HalfBytes is the size of the vectors that become a vector when their elements are widened.
func (k knobs) HalfBytes() int { return k.Bytes / 2 }

// UnitBytes is the size of an element.
func (k knobs) UnitBytes() int { return 4 / k.Group }

// UnitsBytes is the size of as many elements as a vector has words.
func (k knobs) UnitsBytes() int { return k.Bytes / k.Group }

// Unit is the C type of an element.
func (k knobs) Unit() string {
	if k.Group == 2 {
		return "int16_t"
	}
	return "uint8_t"
}

// PackBlock is how many elements of a row are interleaved at a time, so that the lines written to stay in the cache.
func (knobs) PackBlock() int { return 1024 }

// WeightType is the C type of the elements of w.
func (k knobs) WeightType() string {
	switch k.Weights {
	case weightsF32:
		return "float"
	case weightsInt8:
		return "int8_t"
	}
	return "uint8_t"
}

// SourceType is the C type of the weights that are packed.
func (k knobs) SourceType() string {
	if k.Weights == weightsPacked {
		return "int8_t"
	}
	return k.WeightType()
}

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

// Buffers is how many panels a call has room for.
func (k knobs) Buffers() string {
	switch {
	case k.Ahead:
		return "j->panels"
	case k.Panel:
		return fmt.Sprint(k.Chunks)
	}
	return "0"
}

// Results returns the expression of a vector of results from that of their sums.
func (k knobs) Results(sums string) string {
	if k.Relu {
		sums = fmt.Sprintf("(%s & (%s > 0))", sums, sums)
	}
	return fmt.Sprintf("__builtin_convertvector(%s, vec) * scale", sums)
}

// Result returns the expression of a result from that of its sum.
func (k knobs) Result(sum string) string {
	if k.Relu {
		return fmt.Sprintf("(float)(%s > 0 ? %s : 0) * scale", sum, sum)
	}
	return fmt.Sprintf("(float)%s * scale", sum)
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

func (g *generator) file() {
	g.Comment("gemm-i8, relu=%v, weights=%s: %s", g.relu, g.weights, g.p.Key())
	g.Line("#include <stdint.h>")
	g.Blank()
	if g.p.Str("form") == formPlain {
		g.piece("scratch and header", "image_one", "plain")
		return
	}
	parallel := g.workers(g.p) > 1
	if parallel {
		g.Text(cgen.Crew(g.p).Text())
		g.Blank()
	}
	if g.Tile {
		g.Text(cgen.Tiles())
		g.Blank()
		if g.Passing {
			g.Text(cgen.PassingTiles())
			g.Blank()
		}
	}
	g.piece("types", "dot", "image_one", "image", "narrow", "activations")
	switch {
	case g.weights == weightsF32:
		g.piece("quantise weights")
	case !g.Direct:
		g.piece("convert weights")
	}
	g.piece("job", "scratch and header", "describe", "quantise_part", "quantise_tile")
	if g.Direct {
		g.piece("load_weights")
	} else {
		g.piece("pack_panel")
	}
	switch {
	case g.Dot:
		g.dotTile()
	case g.Tile:
		g.piece("matrix results", "later results")
		g.matrixTile()
	default:
		g.packedTile()
	}
	g.multiply()
	if parallel {
		g.piece("parallel entry")
	} else {
		g.piece("entry")
	}
	if g.weights == weightsPacked {
		g.piece("tune_pack")
	}
}

// tile opens the function of a tile; more are its further parameters.
func (g *generator) tile(comment string, more ...string) {
	g.Comment("%s", comment)
	g.Func("static void tile(const struct job *j, int64_t t, int64_t p, const word *w, int64_t from, int64_t to%s)", strings.Join(more, ""))
}

// each calls f for each accumulator of a tile.
func (g *generator) each(f func(r, c int)) {
	for r := range g.MR {
		for c := range g.NR {
			f(r, c)
		}
	}
}

// along writes the loops along k, up to end: turns of several steps, and single ones. unit is the length of a step, as a
// factor in C, and advance what goes a step further.
func (g *generator) along(end, unit, advance string, step func(at string)) {
	g.Line("int64_t g = from;")
	if unroll := g.p.Int("unroll"); unroll > 1 {
		g.Open("for (; g + %d%s <= %s; g += %d%s)", unroll, unit, end, unroll, unit)
		for u := range unroll {
			g.Block(func() { step(fmt.Sprintf("g + %d%s", u, unit)) })
		}
		g.Close()
	}
	g.Open("for (; g < %s; %s)", end, advance)
	step("g")
	g.Close()
}

// packedTile writes the product of a tile and an interleaved panel.
func (g *generator) packedTile() {
	g.tile("tile multiplies tile t with panel p, from one group along k to another.")
	if g.Interleaved {
		g.Line("const word *a = j->rows + t * MR * j->groups;")
	} else {
		g.Line("const int64_t stride = j->stride;")
		g.Line("const word *a = j->rows + t * MR * stride;")
	}
	g.apart()
	g.nextPanel()
	g.packedStart()
	g.along("to", "", "g++", g.packedStep)
	if g.KC > 0 {
		g.Open("if (to < j->groups)")
		g.each(func(r, v int) {
			g.Line("*(words_memory *)(partial + %d * NR + %d * LANES) = s%d_%d;", r, v, r, v)
		})
		g.Line("return;")
		g.Close()
	}
	g.packedResults()
	g.EndFunc()
}

// packedStart writes the accumulators of a tile, which start from what corrects the offset of the weights, or from the sums
// of the block before.
func (g *generator) packedStart() {
	if g.Group == 4 {
		g.Line("const int32_t *start = j->start + t * MR;")
	}
	g.each(func(r, v int) {
		if g.Group == 4 {
			g.Line("words s%d_%d = splat(start[%d]);", r, v, r)
		} else {
			g.Line("words s%d_%d = { 0 };", r, v)
		}
	})
	if g.KC == 0 {
		return
	}
	g.Line("int32_t *partial = j->partial + (t * j->panels + p) * MR * NR;")
	g.Open("if (from > 0)")
	g.each(func(r, v int) {
		g.Line("s%d_%d = load((const word *)partial + %d * NR + %d * LANES);", r, v, r, v)
	})
	g.Close()
}

// apart writes where the vectors of a panel are that has them apart.
func (g *generator) apart() {
	if g.Apart {
		for v := range g.NR {
			g.Line("const word *w_%d = w + %d * j->groups * LANES;", v, v)
		}
	}
}

// weightsAt returns where vector v of a group along k is.
func (g *generator) weightsAt(v int, group string) string {
	if g.Apart {
		return fmt.Sprintf("w_%d + (%s) * LANES", v, group)
	}
	return fmt.Sprintf("w + (%s) * NR + %d * LANES", group, v)
}

// prefetch asks for what follows a place of W, so many bytes of it.
func (g *generator) prefetch(from string, bytes int) {
	if ahead := g.p.Int("ahead"); ahead > 0 {
		for at := 0; at < bytes; at += line {
			g.Line("__builtin_prefetch((const char *)(%s) + %d);", from, ahead+at)
		}
	}
}

// prefetchGroups asks for what follows so many groups along k.
func (g *generator) prefetchGroups(group string, count int) {
	if !g.Apart {
		g.prefetch(g.weightsAt(0, group), count*g.NR*g.Bytes)
		return
	}
	for v := range g.NR {
		g.prefetch(g.weightsAt(v, group), count*g.Bytes)
	}
}

// nextLines returns how many lines of the next panel a tile asks for in a step, how many tiles take part, and how many a block has.
func (g *generator) nextLines() (lines, tiles, block int) {
	rows := g.m
	if mc := g.p.Int("mc"); mc > 0 {
		rows = min(rows, cgen.Ceil(mc, g.MR)*g.MR)
	}
	all := cgen.Ceil(g.NR*g.Bytes, line) // of a step
	block = cgen.Ceil(rows, g.MR)
	lines = cgen.Ceil(all, block)
	return lines, cgen.Ceil(all, lines), block
}

// nextPanel writes where the share of a tile in the next panel is. Tiles without a share ask for what they use themselves.
func (g *generator) nextPanel() {
	if g.p.Str("next") != yes {
		return
	}
	lines, tiles, block := g.nextLines()
	g.Line("const char *next = (const char *)(w + from * NR);")
	g.Line("const int64_t share = t %% %d;", block)
	g.Nested(fmt.Sprintf("if (share < %d)", tiles), fmt.Sprintf("next += 4 * j->panel_words + share * (to - from) * %d;", lines*line))
}

// packedStep writes the products of a group along k.
func (g *generator) packedStep(group string) {
	g.prefetchGroups(group, 1)
	if g.p.Str("next") == yes {
		lines, _, _ := g.nextLines()
		for i := range lines {
			g.Line("__builtin_prefetch(next + (%s - from) * %d + %d, 0, 2);", group, lines*line, i*line)
		}
	}
	for v := range g.NR {
		g.Line("const words w%d = load(%s);", v, g.weightsAt(v, group))
	}
	for r := range g.MR {
		at := fmt.Sprintf("a + %d * stride + %s", r, group)
		if g.Interleaved {
			at = fmt.Sprintf("a + (%s) * MR + %d", group, r)
		}
		if g.Embedded {
			for v := range g.NR {
				g.Line("s%d_%d = dot_word(s%d_%d, w%d, %s);", r, v, r, v, v, at)
			}
			continue
		}
		g.Line("const words a%d = splat((int32_t)*(%s));", r, at)
		for v := range g.NR {
			g.Line("s%d_%d = dot(s%d_%d, w%d, a%d);", r, v, r, v, v, r)
		}
	}
}

// packedResults writes what becomes of the accumulators: results, those of a tile at the edge by way of a copy.
func (g *generator) packedResults() {
	result := func(r, v int) string { return g.Results(fmt.Sprintf("s%d_%d", r, v)) }
	g.place()
	g.Line("float *c = j->c + t * MR * j->n + p * NR;")
	g.Open("if (rows >= MR && columns >= NR)")
	g.each(func(r, v int) {
		g.Line("*(vec_memory *)(c + %d * j->n + %d * LANES) = %s;", r, v, result(r, v))
	})
	g.Line("return;")
	g.Close()
	g.Line("float edge[MR * NR];")
	g.each(func(r, v int) {
		g.Line("*(vec_memory *)(edge + %d * NR + %d * LANES) = %s;", r, v, result(r, v))
	})
	g.Nested(
		"for (int64_t r = 0; r < MR && r < rows; r++)",
		"for (int64_t i = 0; i < NR && i < columns; i++)",
		"c[r * j->n + i] = edge[r * NR + i];")
}

// place writes where the results of a tile belong.
func (g *generator) place() {
	g.Line("const float scale = j->scale;")
	g.Line("const int64_t rows = j->m - t * MR, columns = j->n - p * NR;")
}

// dotTile writes the product of a tile and a panel of rows as they are.
func (g *generator) dotTile() {
	g.Comment("horizontal returns the sum of the words of s.")
	g.Horizontal("int32_t", "words", g.Lanes())
	g.tile("tile multiplies tile t with panel p, which has the rows w.")
	g.Line("const int64_t stride = j->stride;")
	g.Line("const word *a = j->rows + t * MR * stride;")
	end := "to"
	if g.Direct {
		end = "end"
		g.directRows()
	}
	g.each(func(r, c int) { g.Line("words s%d_%d = { 0 };", r, c) })
	if g.Direct {
		g.Line("const int64_t end = k / STEP * LANES;")
	}
	g.along(end, " * LANES", "g += LANES", func(at string) {
		place, load := "w + %d * stride + %s", "load(%s)"
		if g.Direct {
			place, load = "v%d + (%s) * GROUP", "load_weights(%s)"
		}
		for c := range g.NR {
			g.prefetch(fmt.Sprintf(place, c, at), g.Bytes)
		}
		g.dotStep(at, func(c int) string { return fmt.Sprintf(load, fmt.Sprintf(place, c, at)) })
	})
	if g.Direct {
		g.directTail()
	}
	g.dotResults()
	g.EndFunc()
}

// directRows writes where the rows of a panel are that is read as it is.
func (g *generator) directRows() {
	g.Comment("A panel that is not full has its last row more than once.")
	g.Line("const int64_t k = j->k, last = j->n - p * NR - 1;")
	g.Line("const int8_t *v = j->w + p * NR * k;")
	for c := range g.NR {
		g.Line("const int8_t *v%d = v + (last < %d ? last : %d) * k;", c, c, c)
	}
	g.Line("(void)w;")
	g.Line("(void)to;")
}

// dotStep writes the products of a vector along k.
func (g *generator) dotStep(at string, weights func(c int) string) {
	for c := range g.NR {
		g.Line("const words w%d = %s;", c, weights(c))
	}
	for r := range g.MR {
		g.Line("const words a%d = load(a + %d * stride + %s);", r, r, at)
		for c := range g.NR {
			g.Line("s%d_%d = dot(s%d_%d, w%d, a%d);", r, c, r, c, c, r)
		}
	}
}

// directTail writes the products of what is left of rows that are read as they are.
func (g *generator) directTail() {
	g.Open("if (k %% STEP != 0)")
	g.Comment("What is left of the rows, with zeros of a beside whatever follows.")
	g.Line("int8_t tail[NR * STEP] = { 0 };")
	for c := range g.NR {
		g.Line("__builtin_memcpy(tail + %d * STEP, v%d + g * GROUP, k %% STEP);", c, c)
	}
	g.dotStep("g", func(c int) string { return fmt.Sprintf("load_weights(tail + %d * STEP)", c) })
	g.Close()
}

// dotResults writes what becomes of the accumulators.
func (g *generator) dotResults() {
	g.Line("int32_t sums[MR * NR];")
	g.each(func(r, c int) { g.Line("sums[%d * NR + %d] = horizontal(s%d_%d);", r, c, r, c) })
	g.place()
	g.Line("for (int64_t r = 0; r < MR && r < rows; r++)")
	g.In()
	g.Open("for (int64_t i = 0; i < NR && i < columns; i++)")
	start := ""
	if g.Group == 4 {
		start = " + j->start[t * MR + r]"
	}
	g.Line("const int32_t s = sums[r * NR + i]%s;", start)
	g.Line("j->c[(t * MR + r) * j->n + p * NR + i] = %s;", g.Result("s"))
	g.Close()
	g.Out()
}

// multiply writes the loops over tiles and panels.
func (g *generator) multiply() {
	own := "word *own"
	if g.Coming {
		own = "word *rows"
		g.Comment("multiply does the tiles from t0 to t1 with the panels from p0 to p1; rows is room for the tiles of A that it quantises.")
	} else {
		g.Comment("multiply does the tiles from t0 to t1 with the panels from p0 to p1; own is room for a panel.")
	}
	g.Func("static void multiply(const struct job *j, int64_t t0, int64_t t1, int64_t p0, int64_t p1, %s)", own)
	if g.Tile {
		g.configure()
	}
	if g.Later {
		g.Line("_Alignas(64) int32_t sums[2][MR * NR];")
		g.Line("struct results last = { .sums = sums[0], .other = sums[1] };")
	}
	step := ""
	if g.KC > 0 {
		step = fmt.Sprintf("%d / GROUP", g.KC)
	}
	g.ColumnBlocks(cgen.Ceil(g.NC, g.NR*g.Lanes()), func(panels string) {
		g.Blocks("j->groups", step, cgen.Ceil(g.p.Int("mc"), g.MR), func(tiles, from, to string) { g.multiplyBlock(panels, tiles, from, to) })
	})
	if g.Later {
		g.Nested("while (last.row < last.rows)", "store_row(j, &last);")
	}
	if !g.Panel && !g.Coming {
		g.Line("(void)own;")
	}
	if g.Tile {
		g.Line("tile_restore(&callers);")
	}
	g.EndFunc()
}

// multiplyBlock writes the loops over the tiles and panels of a block.
func (g *generator) multiplyBlock(panels, tiles, from, to string) {
	call := func(w string) string { return fmt.Sprintf("tile(j, t, p, %s, %s, %s%s);", w, from, to, g.further()) }
	if g.Panel {
		g.Open("%s", panels)
		g.Line("pack_panel(j, j->w + p * NR * j->k, j->n - p * NR < NR ? j->n - p * NR : NR, own);")
		g.Nested(tiles, call("own"))
		g.Close()
		return
	}
	w := "j->packed + p * j->panel_words"
	if g.Direct {
		w = "0"
	}
	outer, inner := panels, tiles
	if g.p.Str("order") == orderRows {
		outer, inner = tiles, panels
	}
	if !g.Coming {
		g.Nested(outer, inner, call(w))
		return
	}
	g.Line("struct coming next = coming(j, t0, t1, rows);")
	g.Open("%s", outer)
	g.quantiseComing()
	g.Nested(inner, call(w))
	g.Close()
}
