package qgemm

import (
	"embed"
	"fmt"

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

// flags are those of the compiler. In the plain loops nothing may be contracted, because the scale of a quant is rounded before it is
// rounded to an integer; in panels an instruction that the compiler does not know stands between the two.
func (g *Spec) flags(p space.Point) []string {
	f := cgen.Flags{Arch: g.machine.Arch, Std: "gnu11", Opt: p.Str("opt"), Contract: cgen.ContractOff, ISA: cgen.Native, Wide: true}
	if p.Str("form") != formPlain {
		f.ISA, f.Contract, f.Threads = p.Str("isa"), cgen.ContractFast, g.workers(p) > 1
	}
	return f.List()
}

// pieces are the constant parts of the code.
var pieces = cgen.ParsePieces(pieceFiles, "pieces.c.tmpl")

//go:embed pieces.c.tmpl
var pieceFiles embed.FS

// knobs are what the pieces need to know of a point.
type knobs struct {
	format
	FormatBytes int // of a block in ggml's layout

	ISA        string
	Bytes      int // of a vector
	MR, NR     int
	Embedded   bool // a word of A is the operand of a multiplication
	Rows       bool // weights are taken as they are, 32 to a vector
	Signed     bool // quants are multiplied as signed bytes
	ScaleBytes int  // of the scales of a block of a panel
	HighBits   int
	// Stored is what is added to quants before they are stored.
	Stored int
	Tile   bool // matrix tiles multiply
	// Overlap: matrix tiles make the products of the next weights while the sums of others are added to the results.
	Overlap  bool
	Unpacked bool // the quants of a panel are made bytes once, for all tiles of a block of rows
	Digits   bool // so are the quants times the scales of their sub-blocks, as two bytes each
	Late     bool // scales of blocks of activations are multiplied once for a block, and not with each sub-block
	Apart    bool // so are those of weights and minima, whose sums stay apart
	Placed   bool // upper nibbles are multiplied where they are, and their sums shifted
	Next     bool // the tiles of a block of rows share in fetching the panels that come next

	Chunks       int
	SplitColumns bool
}

// knobs reads a point.
func (g *Spec) knobs(p space.Point) knobs {
	k := knobs{format: g.weights, FormatBytes: g.weights.Bytes}
	if p.Str("form") == formPlain {
		return k
	}
	u := unitOf(p)
	k.ISA, k.Bytes = u.Name, u.Bytes
	k.MR, k.NR = p.Int("mr"), p.Int("nr")
	if layout, ok := g.packingOf(p, g.n, g.k); ok {
		k.Embedded = p.Str("isa") == cgen.AVX512VNNI && p.Str("broadcast") == broadcastEmbedded
		k.Digits = g.hasDigits() && u.Name == cgen.AMXInt8 && p.Str("unpack") == unpackDigits
		k.Late = g.weights.Whole && !k.Digits && p.Str("scaling") != scalingParts
		k.Apart = k.Late && p.Str("scaling") == scalingAll
		k.Placed = g.weights.Bits == 4 && u.DotBytes && p.Int("chains") == 2 && p.Str("nibbles") == nibblesPlaced
		k.Next = g.m > 1 && u.Name != cgen.AMXInt8 && p.Str("order") == orderColumns && p.Str("next") == yes
		k.ScaleBytes, k.HighBits = layout.scaleBytes(), layout.highBits()
	} else {
		k.Rows, k.Bytes = true, rowBytes
	}
	if k.Tile = u.Name == cgen.AMXInt8; k.Tile {
		k.MR *= tileRows
		k.Overlap = !k.Digits && p.Str("overlap") == yes
		k.Unpacked = g.weights.Bits < 8 && p.Str("unpack") == unpackPanel
	}
	if k.Signed = signed(g.weights, u); !k.Signed {
		k.Stored = g.weights.Center
	}
	k.Chunks = 1
	if w := g.workers(p); w > 1 {
		k.Chunks, k.SplitColumns = w*p.Int("pieces"), p.Str("split") == orderColumns
	}
	return k
}

// Lanes is the number of words in a vector.
func (k knobs) Lanes() int { return k.Bytes / 4 }

// Starts reports whether sums start from what takes the centre of stored quants off. Matrix tiles get quants without it.
func (k knobs) Starts() bool { return !k.Mins && !k.Tile }

// HalfBytes is the size of as many fp16.
func (k knobs) HalfBytes() int { return k.Bytes / 2 }

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
	g.Comment("qgemm, format=%s: %s", g.weights.Name, g.p.Key())
	if g.p.Str("form") == formPlain {
		g.plainText()
		return
	}
	g.includes()
	parallel := g.workers(g.p) > 1
	if parallel {
		g.Text(cgen.Crew(g.p).Text())
		g.Blank()
	}
	if g.Rows {
		g.piece("sizes", "types", "rows dot", "bytes_of", "narrow", "quantise block", "scratch", "rows job")
		g.rowsTile()
	} else {
		if g.Tile {
			g.Text(cgen.Tiles())
		}
		g.piece("sizes", "types", "dot", "narrow", "job", "scratch", "sides", "describe", "quantise block", "quantise_tile", "quants_of", "bytes_of")
		switch {
		case g.Digits:
			g.piece("digits")
			g.unpackDigits()
			g.digitTiles()
		case g.Unpacked:
			g.unpack()
			g.tile()
		default:
			g.tile()
		}
	}
	if g.Digits {
		g.multiplyDigits()
	} else {
		g.multiply()
	}
	if parallel {
		g.piece("parallel entry")
	} else {
		g.piece("entry")
	}
	if !g.Rows {
		g.piece("tune_pack")
	}
}

// includes writes the headers that all forms need.
func (g *generator) includes() {
	g.Line("#include <float.h>")
	g.Line("#include <stdint.h>")
	g.Line("#include <stdlib.h>")
	g.Blank()
}

// plainText writes the plain loops.
func (g *generator) plainText() {
	g.includes()
	g.piece("sizes", "scratch", "quantise", "half", "quants_of", "bytes_of", "scales_of", "plain")
}

// each calls f for each panel of a tile.
func (g *generator) each(f func(v int)) {
	for v := range g.NR {
		f(v)
	}
}

// eachResult calls f for each row of a tile and each panel.
func (g *generator) eachResult(f func(r, v int)) {
	g.each(func(v int) {
		for r := range g.MR {
			f(r, v)
		}
	})
}

// addBlock adds the sums of a block to the results.
func (g *generator) addBlock(r, v int) {
	switch {
	case g.Apart:
		g.Line("c%d_%d += (b%d_%d * d%d - m%d_%d * m%d) * d[%d];", r, v, r, v, v, r, v, v, r)
	case g.Mins:
		g.Line("c%d_%d += b%d_%d * d[%d];", r, v, r, v, r)
	default:
		g.Line("c%d_%d += b%d_%d * (d%d * d[%d]);", r, v, r, v, v, r)
	}
}

// tile writes the product of a tile of activations and NR panels.
func (g *generator) tile() {
	g.Comment("tile multiplies tile t with the panels from p on. Panels that do not exist are the last one, and are not stored.")
	more := ""
	switch {
	case g.Unpacked:
		more = ", const uint8_t *quants"
	case g.Next:
		g.Comment("It fetches share bytes from next on, which is memory that is read later.")
		more = ", const uint8_t *next, int64_t share"
	}
	g.Func("static void tile(const struct job *j, int64_t t, int64_t p%s)", more)
	g.Line("const word *a = j->rows + t * MR * (j->k / 4);")
	g.Line("const float *d = j->d + t * MR * j->blocks;")
	switch {
	case g.Mins:
		g.Line("const float *sums = j->sums + t * MR * j->blocks * SUBS;")
	case g.Starts():
		g.Line("const int32_t *start = j->start + t * MR * j->blocks * SUBS;")
	}
	if g.Tile {
		g.tileBuffers()
	}
	g.each(func(v int) {
		if g.Unpacked {
			g.Line("const uint8_t *q%d = quants + %d * j->k * LANES;", v, v)
			g.scalesOfPanel(v)
		} else {
			g.panel(v)
			g.Line("const uint8_t *s%d = w%d + j->low_bytes + j->high_bytes;", v, v)
		}
		for r := range g.MR {
			g.Line("vec c%d_%d = { 0 };", r, v)
		}
	})
	if g.Overlap {
		g.firstTiles()
	}
	if g.Next {
		g.fetchRest()
	}
	g.Open("for (int64_t b = 0; b < j->blocks; b++)")
	if g.Whole {
		g.blockScales()
		if g.Late {
			g.eachResult(func(r, v int) {
				g.Line("vec b%d_%d = { 0 };", r, v)
				if g.Apart {
					g.Line("vec m%d_%d = { 0 };", r, v)
				}
			})
		}
		g.Open("for (int part = 0; part < BLOCK / 32; part++)")
		g.part()
		g.advance()
		g.Close()
		if g.Late {
			g.eachResult(g.addBlock)
		}
	} else {
		g.part()
		g.advance()
	}
	g.each(func(v int) { g.Line("s%d += %d;", v, g.ScaleBytes) })
	g.Line("d += MR;")
	g.Close()
	g.store()
	g.EndFunc()
}

// panelAt is the number of a panel of a group of NR, and that of the last panel where there is none.
func panelAt(v int) string {
	if v == 0 {
		return "p"
	}
	return fmt.Sprintf("(p + %d < j->panels ? p + %d : j->panels - 1)", v, v)
}

// panel declares where the quants of a panel are.
func (g *generator) panel(v int) {
	g.Line("const uint8_t *w%d = j->w + %s * j->panel_bytes;", v, panelAt(v))
	if g.HighBits > 0 {
		g.Line("const uint8_t *h%d = w%d + j->low_bytes;", v, v)
	}
}

// scalesOfPanel declares where the scales of a panel are.
func (g *generator) scalesOfPanel(v int) {
	g.Line("const uint8_t *s%d = j->w + %s * j->panel_bytes + j->low_bytes + j->high_bytes;", v, panelAt(v))
}

// blockScales reads what all sub-blocks of a block share, and where their scales are.
func (g *generator) blockScales() { g.each(g.panelScales) }

// panelScales does so for a panel.
func (g *generator) panelScales(v int) {
	bytes := "SUBS"
	if g.Mins {
		bytes = "2 * SUBS"
	}
	g.Line("const vec d%d = halves(s%d + %s * LANES);", v, v, bytes)
	if g.Mins {
		g.Line("const vec m%d = halves(s%d + (%s + 2) * LANES);", v, v, bytes)
	}
	g.Line("const uint8_t *f%d = s%d;", v, v)
}

// subs is how many sub-blocks 32 weights have.
func (g *generator) subs() int { return 32 / g.Sub }

// part writes the products of 32 weights along k.
func (g *generator) part() {
	switch {
	case g.Overlap:
		g.overlappedPart()
	case g.Tile:
		g.tilePart()
	default:
		g.vectorPart()
	}
	if !g.Unpacked {
		g.each(g.prefetch)
	}
	if g.Next {
		g.fetchNext()
	}
}

// vectorPart writes those products with vectors.
func (g *generator) vectorPart() {
	groups := g.p.Str("nest") == nestGroups
	for sub := range g.subs() {
		g.Line("{")
		g.In()
		if groups {
			g.each(g.begin(sub))
			for i := range g.Sub / 4 {
				g.each(func(v int) { g.products(v, i, sub*g.Sub/4+i) })
			}
			g.each(g.end(sub))
		} else {
			g.each(func(v int) {
				g.Line("{")
				g.In()
				g.begin(sub)(v)
				for i := range g.Sub / 4 {
					g.products(v, i, sub*g.Sub/4+i)
				}
				g.end(sub)(v)
				g.Close()
			})
		}
		g.Close()
	}
}

// chains is how many sums the products of a sub-block are spread over.
func (g *generator) chains() int { return min(g.p.Int("chains"), g.Sub/4) }

// begin writes the sums of a sub-block: what corrects the centre of the quants, or zero.
func (g *generator) begin(sub int) func(v int) {
	return func(v int) {
		for r := range g.MR {
			for c := range g.chains() {
				if c > 0 || g.Mins || g.Stored == 0 {
					g.Line("words i%d_%d_%d = { 0 };", r, v, c)
				} else {
					g.Line("words i%d_%d_%d = splat(start[%d]);", r, v, c, sub*g.MR+r)
				}
			}
		}
	}
}

// products writes the products of a word of each row: the i-th of a sub-block, the group-th of 32 weights.
func (g *generator) products(v, i, group int) {
	g.Line("const words u%d_%d = %s;", v, group, g.group(v, group))
	for r := range g.MR {
		chain := i % g.chains()
		if g.Placed {
			chain = group / 4
		}
		sum := fmt.Sprintf("i%d_%d_%d", r, v, chain)
		g.Line("%s = dot(%s, u%d_%d, a + %d);", sum, sum, v, group, group*g.MR+r)
	}
}

// group returns the expression of the words of a group.
func (g *generator) group(v, group int) string {
	if g.Bits == 8 {
		return fmt.Sprintf("load(w%d + %d)", v, group*g.Bytes)
	}
	low := fmt.Sprintf("load(w%d + %d)", v, group%4*g.Bytes)
	if group >= 4 && g.Placed {
		return fmt.Sprintf("(%s & (int32_t)0xf0f0f0f0)", low)
	}
	if group >= 4 {
		low += " >> 4"
	}
	low = fmt.Sprintf("(%s & 0x0f0f0f0f)", low)
	if g.HighBits == 0 {
		return low
	}
	at, up, mask := 0, 4-group, "0x10101010"
	if g.HighBits == 2 {
		at, up, mask = group/4*g.Bytes, 4-group%4*2, "0x30303030"
	}
	high := fmt.Sprintf("load(h%d + %d)", v, at)
	switch {
	case up > 0:
		high += fmt.Sprintf(" << %d", up)
	case up < 0:
		high += fmt.Sprintf(" >> %d", -up)
	}
	return fmt.Sprintf("%s | (%s & %s)", low, high, mask)
}

// end adds the sums of a sub-block to the results.
func (g *generator) end(sub int) func(v int) {
	return func(v int) {
		g.scales(v, sub)
		for r := range g.MR {
			sum := fmt.Sprintf("i%d_%d_0", r, v)
			for c := 1; c < g.chains(); c++ {
				sum += fmt.Sprintf(" + i%d_%d_%d", r, v, c)
			}
			if g.Placed {
				sum = fmt.Sprintf("i%d_%d_0 + (i%d_%d_1 >> 4)", r, v, r, v)
			}
			g.add(r, v, sub, sum)
		}
	}
}

// scales reads the scales of a sub-block.
func (g *generator) scales(v, sub int) {
	if g.Whole {
		if g.Late && (g.Apart || !g.Mins) {
			g.Line("const vec scale%d = factors(f%d + %d * LANES);", v, v, sub)
			if g.Apart {
				g.Line("const vec min%d = factors(f%d + (SUBS + %d) * LANES);", v, v, sub)
			}
			return
		}
		g.Line("const vec scale%d = factors(f%d + %d * LANES) * d%d;", v, v, sub, v)
		if g.Mins {
			g.Line("const vec min%d = factors(f%d + (SUBS + %d) * LANES) * m%d;", v, v, sub, v)
		}
		return
	}
	g.Line("const vec scale%d = halves(s%d);", v, v)
	if g.Mins {
		g.Line("const vec min%d = -halves(s%d + 2 * LANES);", v, v)
	}
}

// add adds the sums of a row and a panel to the results.
func (g *generator) add(r, v, sub int, sum string) {
	to := "c"
	if g.Late {
		to = "b"
		g.Line("b%d_%d += __builtin_convertvector(%s, vec) * scale%d;", r, v, sum, v)
	} else {
		g.Line("c%d_%d += __builtin_convertvector(%s, vec) * (scale%d * d[%d]);", r, v, sum, v, r)
	}
	switch {
	case g.Apart:
		g.Line("m%d_%d += min%d * sums[%d];", r, v, v, sub*g.MR+r)
	case g.Mins:
		g.Line("%s%d_%d -= min%d * sums[%d];", to, r, v, v, sub*g.MR+r)
	}
}

// lowStep is the size of the low bits of 32 weights of a panel.
func (g *generator) lowStep() int {
	if g.Bits == 8 {
		return 8 * g.Bytes
	}
	return 4 * g.Bytes
}

// advance moves behind 32 weights.
func (g *generator) advance() {
	if g.Overlap {
		g.Open("if (--left > 0)")
		g.advanceQuants()
		g.Close()
		g.each(g.advanceFactor)
	} else {
		g.each(func(v int) {
			g.advanceBytes(v)
			g.advanceFactor(v)
		})
		g.Line("a += 8 * MR;")
	}
	switch {
	case g.Mins:
		g.Line("sums += %d * MR;", g.subs())
	case g.Starts():
		g.Line("start += %d * MR;", g.subs())
	}
}

// advanceQuants moves behind the quants of 32 weights, and behind as many activations.
func (g *generator) advanceQuants() {
	g.each(g.advanceBytes)
	g.Line("a += 8 * MR;")
}

// advanceBytes moves behind the quants of a panel where it is read.
func (g *generator) advanceBytes(v int) {
	if g.Unpacked {
		g.Line("q%d += 32 * LANES;", v)
	} else {
		g.advancePanel(v)
	}
}

// advancePanel moves behind the quants of a panel.
func (g *generator) advancePanel(v int) {
	g.Line("w%d += %d;", v, g.lowStep())
	if g.HighBits > 0 {
		g.Line("h%d += %d;", v, g.HighBits*g.Bytes)
	}
}

// advanceFactor moves behind the factors of the sub-blocks of 32 weights of a panel.
func (g *generator) advanceFactor(v int) {
	if g.Whole {
		g.Line("f%d += %d * LANES;", v, g.subs())
	}
}

// store writes the results, those of a panel at the edge by way of a copy.
func (g *generator) store() {
	g.Line("const int64_t rows = j->m - t * MR;")
	g.Line("float *c = j->c + t * MR * j->n + p * LANES;")
	g.each(func(v int) {
		g.Line("const int64_t columns%d = j->n - (p + %d) * LANES;", v, v)
		g.Open("if (columns%d >= LANES)", v)
		for r := range g.MR {
			guard := ""
			if r > 0 {
				guard = fmt.Sprintf("if (rows > %d) ", r)
			}
			g.Line("%s*(vec_memory *)(c + %d * j->n + %d * LANES) = c%d_%d;", guard, r, v, r, v)
		}
		g.Line("} else if (columns%d > 0) {", v)
		for r := range g.MR {
			g.Line("if (rows > %d)", r)
			g.In()
			g.Line("__builtin_memcpy(c + %d * j->n + %d * LANES, &c%d_%d, 4 * columns%d);", r, v, r, v, v)
			g.Out()
		}
		g.Close()
	})
}

// multiply writes the loops over tiles and panels.
func (g *generator) multiply() {
	g.Comment("multiply does the tiles from t0 to t1 with the groups of NR %s from p0 to p1.", map[bool]string{false: "panels", true: "rows of w"}[g.Rows])
	g.Func("static void multiply(const struct job *j, int64_t t0, int64_t t1, int64_t p0, int64_t p1)")
	if g.Tile {
		g.configure()
	}
	if g.Unpacked {
		g.Line("uint8_t *quants = reserve(0, NR * j->k * LANES);")
	}
	first, last := "t0", "t1"
	mc := g.p.Int("mc")
	if mc > 0 {
		tiles := cgen.Ceil(mc, g.MR)
		g.Open("for (int64_t block = t0; block < t1; block += %d)", tiles)
		g.Line("const int64_t stop = t1 - block > %d ? block + %d : t1;", tiles, tiles)
		first, last = "block", "stop"
	}
	g.blockOfRows(first, last)
	if mc > 0 {
		g.Close()
	}
	if g.Tile {
		g.Line("tile_restore(&callers);")
	}
	if g.Unpacked {
		g.Line("give_back(0, quants);")
	}
	g.EndFunc()
}

// blockOfRows writes the loops over the tiles of a block of rows and over the panels.
func (g *generator) blockOfRows(first, last string) {
	tiles := fmt.Sprintf("for (int64_t t = %s; t < %s; t++)", first, last)
	const panels = "for (int64_t p = p0; p < p1; p++)"
	call := "tile(j, t, p * NR);"
	switch {
	case g.Rows:
		call = "tile(j, t, p);"
	case g.Unpacked:
		g.Open(panels)
		g.Line("unpack(j, p * NR, quants);")
		g.Line("%s", tiles)
		g.In()
		g.Line("tile(j, t, p * NR, quants);")
		g.Out()
		g.Close()
		return
	case g.Next:
		g.Line("const int64_t tiles = %s > %s ? %s - %s : 1;", last, first, last, first)
		g.Line("const int64_t share = whole_lines(NR * j->panel_bytes / 4 / tiles) * 4;")
		call = fmt.Sprintf("tile(j, t, p * NR, j->w + (p + 1) * NR * j->panel_bytes + (t - %s) * share, share);", first)
	}
	if g.p.Str("order") == orderRows {
		g.Nested(tiles, panels, call)
	} else {
		g.Nested(panels, tiles, call)
	}
}
