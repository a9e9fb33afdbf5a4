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
	products := g.tileCount() * g.NR
	if g.Overlap {
		g.Line("int32_t products[2][%d][%d] __attribute__((aligned(64)));", products*g.subs(), tileRows*tileBytes/4)
	} else {
		g.Line("int32_t products[%d][%d] __attribute__((aligned(64)));", products, tileRows*tileBytes/4)
	}
	if g.Bits < 8 && !g.Unpacked {
		g.Line("uint8_t quants[NR][32 * LANES] __attribute__((aligned(64)));")
	}
}

// unpackQuants returns the lines that make bytes of the quants of 32 weights of panel v.
func (g *generator) unpackQuants(v int, to string) (lines []string) {
	for group := range tileStep {
		lines = append(lines, fmt.Sprintf("*(words_memory *)(%s + %d) = centred(%s);", to, group*g.Bytes, g.group(v, group)))
	}
	return lines
}

// unpackPart returns the lines that make bytes of the quants of 32 weights of each panel, where tiles do not find them as bytes.
func (g *generator) unpackPart() (lines []string) {
	if g.Bits < 8 && !g.Unpacked {
		g.each(func(v int) { lines = append(lines, g.unpackQuants(v, fmt.Sprintf("quants[%d]", v))...) })
	}
	return lines
}

// tileLoads returns the lines that load the operands of a sub-block.
func (g *generator) tileLoads(sub int) (lines []string) {
	words := sub * g.Sub / 4
	for r := range g.tileCount() {
		lines = append(lines, fmt.Sprintf("tile_load(%d, a + %d, %d);", g.tileOfRows(r), r*tileRows*tileStep+words, 4*tileStep))
	}
	g.each(func(v int) {
		from := fmt.Sprintf("w%d", v)
		switch {
		case g.Unpacked:
			from = fmt.Sprintf("q%d", v)
		case g.Bits < 8:
			from = fmt.Sprintf("quants[%d]", v)
		}
		lines = append(lines, fmt.Sprintf("tile_load(%d, %s + %d, %d);", g.tileOfPanel(v), from, words*g.Bytes, g.Bytes))
	})
	return lines
}

// tileProduct returns the lines that multiply a tile of rows with a panel, and store the sums.
func (g *generator) tileProduct(r, v int, to string) []string {
	sums := g.tileOfSums(r, v)
	return []string{
		fmt.Sprintf("tile_zero(%d);", sums),
		fmt.Sprintf("tile_dot_ss(%d, %d, %d);", sums, g.tileOfRows(r), g.tileOfPanel(v)),
		fmt.Sprintf("tile_store(%d, %s, %d);", sums, to, tileBytes),
	}
}

// lines writes some.
func (g *generator) lines(list []string) {
	for _, l := range list {
		g.Line("%s", l)
	}
}

// tilePart writes the products of 32 weights along k with matrix tiles, and adds their sums to the results.
func (g *generator) tilePart() {
	g.lines(g.unpackPart())
	for sub := range g.subs() {
		g.lines(g.tileLoads(sub))
		for r := range g.tileCount() {
			g.each(func(v int) { g.lines(g.tileProduct(r, v, fmt.Sprintf("products[%d]", g.tileOfSums(r, v)))) })
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

// productIn is where the sums of a sub-block, of a tile of rows and a panel, stand among those of 32 weights.
func (g *generator) productIn(sub, r, v int) int {
	return sub*g.tileCount()*g.NR + g.tileOfSums(r, v)
}

// tilesAhead returns the lines that make the products of 32 weights, and leave their sums in one half of the buffer.
func (g *generator) tilesAhead(half string) []string {
	list := g.unpackPart()
	for sub := range g.subs() {
		list = append(list, g.tileLoads(sub)...)
		for r := range g.tileCount() {
			g.each(func(v int) {
				list = append(list, g.tileProduct(r, v, fmt.Sprintf("products[%s][%d]", half, g.productIn(sub, r, v)))...)
			})
		}
	}
	return list
}

// firstTiles writes the products of the first 32 weights.
func (g *generator) firstTiles() {
	g.lines(g.tilesAhead("0"))
	g.Line("int now = 0;")
	g.Line("int64_t left = j->k / 32 - 1; // parts of 32 weights whose products are to be made")
	g.Open("if (left > 0)")
	g.advanceQuants()
	g.Close()
}

// overlappedPart adds the sums of 32 weights to the results, and makes the products of the next ones between the additions: they keep
// different units of the CPU busy. After the last 32 it makes their products again, which nobody reads.
func (g *generator) overlappedPart() {
	ahead := g.tilesAhead("now ^ 1")
	adds, done, written := g.subs()*g.NR*g.MR, 0, 0
	for sub := range g.subs() {
		g.each(func(v int) {
			g.Block(func() {
				g.scales(v, sub)
				for r := range g.MR {
					done++
					until := len(ahead) * done / adds
					g.lines(ahead[written:until])
					written = until
					g.add(r, v, sub, fmt.Sprintf("load(products[now][%d] + %d)", g.productIn(sub, r/tileRows, v), r%tileRows*tileBytes/4))
				}
			})
		})
	}
	g.Line("now ^= 1;")
}

// unpack writes the function that makes bytes of the quants of NR panels, which all tiles of a block of rows find then.
func (g *generator) unpack() {
	g.Comment("unpack makes bytes of the quants of the panels from p on. Panels that do not exist are the last one.")
	g.Func("static void unpack(const struct job *j, int64_t p, uint8_t *to)")
	g.each(func(v int) {
		g.Block(func() {
			g.panel(v)
			g.Open("for (int64_t l = 0; l < j->k; l += 32)")
			g.lines(g.unpackQuants(v, "to"))
			g.prefetch(v)
			g.advancePanel(v)
			g.Line("to += 32 * LANES;")
			g.Close()
		})
	})
	g.EndFunc()
}
