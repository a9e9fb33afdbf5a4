package attention

import (
	"fmt"

	"tune/kernels/native/cgen"
)

// The sizes of a matrix tile, and of a micro-tile in them.
const (
	matrixRows    = 16 // rows of a matrix tile, and keys or columns of one
	matrixStep    = 32 // numbers of a row
	matrixColumns = 2  // matrix tiles of keys, or columns, in a micro-tile
)

// hasMatrix reports whether the machine and the shape have the form in matrix tiles. They multiply bfloat16 alone.
func (a *Spec) hasMatrix() bool {
	return a.accuracy == accuracyBF16 && a.head%matrixRows == 0 && len(cgen.Select(a.machine, cgen.AMXBF16)) > 0
}

// Matrix reports whether products are those of matrix tiles.
func (k knobs) Matrix() bool { return k.Form == formTiles }

// DepthTiles is how many matrix tiles a query or a key has.
func (k knobs) DepthTiles() int { return cgen.Ceil(k.Head, matrixStep) }

// LaneNumbers are those of the lanes of a vector, in C.
func (k knobs) LaneNumbers() string {
	out := ""
	for l := range k.Lanes {
		if l > 0 {
			out += ", "
		}
		out += fmt.Sprint(l)
	}
	return out
}

// matrixFile writes the form in matrix tiles.
func (g *generator) matrixFile() {
	g.piece("matrix head")
	g.Text(cgen.Tiles())
	g.Blank()
	g.piece("matrix vector")
	g.vectorPower()
	g.scalarPower("scale")
	g.piece("matrix call")
	g.Comment("Writes a matrix tile of %d words of each of %d keys, which are stride numbers apart: word by word.", g.Lanes, g.Lanes)
	g.Func("static inline void transpose(const kv *k, int64_t stride, word *to)")
	g.transposed(
		func(row int) string { return fmt.Sprintf("LOAD(k + %d * stride)", row) },
		func(column int) string { return fmt.Sprintf("to + %d", column*g.Lanes) })
	g.EndFunc()
	g.piece("matrix pack", "matrix take")
	g.matrixScores()
	g.piece("matrix weigh")
	g.matrixSums()
	g.piece("matrix block", "matrix entry")
}

// The registers of matrix tiles: sums, then rows, then keys or columns.
func (g *generator) sumTile(r, c int) int { return r*matrixColumns + c }
func (g *generator) rowTile(r int) int    { return g.Rows/matrixRows*matrixColumns + r }
func (g *generator) columnTile(c int) int { return g.Rows/matrixRows*(matrixColumns+1) + c }
func (g *generator) eachRowTile(f func(r int)) {
	for r := range g.Rows / matrixRows {
		f(r)
	}
}

// matrixScores writes the scores of a micro-tile of rows, in parts.
func (g *generator) matrixScores() {
	g.Comment("Makes a part of scores: the products of a matrix tile of each query, and of each key of a step. After the last part of a step, its scores")
	g.Comment("are stored. The sums stay in matrix tiles from part to part.")
	g.Func("static inline void score_part(struct scoring *c)")
	each := func(f func(r, c int)) {
		g.eachRowTile(func(r int) {
			for c := range matrixColumns {
				f(r, c)
			}
		})
	}
	g.Open("if (c->d == 0)")
	each(func(r, c int) { g.Line("tile_zero(%d);", g.sumTile(r, c)) })
	g.Close()
	g.Line("const word *q = c->q + c->d * WORDS, *k = c->k + c->d * WORDS;")
	g.eachRowTile(func(r int) { g.Line("tile_load(%d, q + %d * WORDS, 64);", g.rowTile(r), r*g.DepthTiles()) })
	for c := range matrixColumns {
		g.Line("tile_load(%d, k + %d * WORDS, 64);", g.columnTile(c), c*g.DepthTiles())
		g.eachRowTile(func(r int) { g.Line("tile_dot_bf16(%d, %d, %d);", g.sumTile(r, c), g.rowTile(r), g.columnTile(c)) })
	}
	g.Line("c->left--;")
	g.Open("if (++c->d == DEPTH)")
	each(func(r, c int) {
		g.Line("tile_store(%d, c->to + %d * LD + %d, 4 * LD);", g.sumTile(r, c), r*matrixRows, c*matrixRows)
	})
	g.Line("c->d = 0;")
	g.Line("c->k += %d * DEPTH * WORDS;", matrixColumns)
	g.Line("c->to += STEP;")
	g.Close()
	g.EndFunc()
}

// matrixSums writes the sums of weighted values of a micro-tile of rows.
func (g *generator) matrixSums() {
	g.Comment("Adds n values, up to a whole step, times the weights w of %d rows, to the sums of the rows.", g.Rows)
	g.Func("static NOINLINE void add_values(const word *w, const word *v, float *to, int64_t n)")
	all := g.Head / matrixRows
	for from := 0; from < all; from += matrixColumns {
		width := min(matrixColumns, all-from)
		sums := func(what string) {
			g.eachRowTile(func(r int) {
				for c := range width {
					g.Line("tile_%s(%d, to + %d * HEAD + %d, 4 * HEAD);", what, g.sumTile(r, c), r*matrixRows, (from+c)*matrixRows)
				}
			})
		}
		sums("load")
		g.Open("for (int64_t i = 0; i < (n + STEP - 1) / STEP; i++)")
		g.eachRowTile(func(r int) {
			g.Line("tile_load(%d, w + (%d + i) * WORDS, 64);", g.rowTile(r), r*g.TileKeys/matrixStep)
		})
		for c := range width {
			g.Line("tile_load(%d, v + (i * COLUMNS + %d) * WORDS, 64);", g.columnTile(c), from+c)
			g.eachRowTile(func(r int) { g.Line("tile_dot_bf16(%d, %d, %d);", g.sumTile(r, c), g.rowTile(r), g.columnTile(c)) })
		}
		g.Close()
		sums("store")
	}
	g.EndFunc()
}
