package qgemm

import "fmt"

// The sizes of matrix tiles: rows, registers, and bytes of a row of sums and of weights, which have 16 words.
const (
	tileRows  = 16
	maxTiles  = 8
	tileBytes = 64
)

// tileStep is the words of activations of a row for 32 weights, which stand together where matrix tiles read them.
const tileStep = 8

// The registers of matrix tiles: sums of each tile of rows with each panel, then rows of activations, then panels.
func (g *generator) tileCount() int          { return g.MR / tileRows }
func (g *generator) tileOfSums(r, v int) int { return r*g.NR + v }
func (g *generator) tileOfRows(r int) int    { return g.tileCount()*g.NR + r }
func (g *generator) tileOfPanel(v int) int   { return g.tileCount()*(g.NR+1) + v }

// configure writes the configuration of the matrix tiles. A product is of a sub-block, whose sums share a scale.
func (g *generator) configure() {
	tiles := g.tileCount()
	g.Line("struct tile_configuration callers, sizes = { .palette = 1 };")
	g.Line("tile_save(&callers);")
	g.Open("for (int t = 0; t < %d; t++)", g.tileOfPanel(g.NR))
	g.Line("sizes.columns[t] = t >= %d && t < %d ? SUB : %d;", g.tileOfRows(0), g.tileOfRows(tiles), tileBytes)
	g.Line("sizes.rows[t] = t >= %d ? SUB / 4 : j->m < %d ? (uint8_t)j->m : %d;", g.tileOfPanel(0), tileRows, tileRows)
	g.Close()
	g.Line("tile_configure(&sizes);")
}

// tileBuffers declares where matrix tiles leave their sums, and where they find quants of less than a byte.
func (g *generator) tileBuffers() {
	g.Line("int32_t products[%d][%d] __attribute__((aligned(64)));", g.tileCount()*g.NR, tileRows*tileBytes/4)
	if g.Bits < 8 {
		g.Line("uint8_t quants[NR][32 * LANES] __attribute__((aligned(64)));")
	}
}

// tilePart writes the products of 32 weights along k with matrix tiles, and adds their sums to the results.
func (g *generator) tilePart() {
	if g.Bits < 8 {
		g.each(func(v int) {
			for group := range tileStep {
				g.Line("*(words_memory *)(quants[%d] + %d) = centred(%s);", v, group*g.Bytes, g.group(v, group))
			}
		})
	}
	for sub := range g.subs() {
		words := sub * g.Sub / 4
		for r := range g.tileCount() {
			g.Line("tile_load(%d, a + %d, %d);", g.tileOfRows(r), r*tileRows*tileStep+words, 4*tileStep)
		}
		g.each(func(v int) {
			from := fmt.Sprintf("w%d", v)
			if g.Bits < 8 {
				from = fmt.Sprintf("quants[%d]", v)
			}
			g.Line("tile_load(%d, %s + %d, %d);", g.tileOfPanel(v), from, words*g.Bytes, g.Bytes)
		})
		for r := range g.tileCount() {
			g.each(func(v int) {
				sums := g.tileOfSums(r, v)
				g.Line("tile_zero(%d);", sums)
				g.Line("tile_dot_ss(%d, %d, %d);", sums, g.tileOfRows(r), g.tileOfPanel(v))
				g.Line("tile_store(%d, products[%d], %d);", sums, sums, tileBytes)
			})
		}
		g.each(func(v int) {
			g.Block(func() {
				g.scales(v, sub)
				for r := range g.MR {
					g.add(r, v, sub, fmt.Sprintf("load(products[%d] + %d)", g.tileOfSums(r/tileRows, v), r%tileRows*tileBytes/4))
				}
			})
		})
	}
}
