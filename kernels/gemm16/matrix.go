package gemm16

import (
	"fmt"

	"tune/kernels/native/cgen"
)

// matrixTile writes the product of a tile with accumulators in matrix tiles: first they, then the tiles of A, then those of B have the
// registers.
func (g *generator) matrixTile() {
	g.begin()
	mr := g.MR / tileRows
	from := "c" // where sums are that wait for the next block along k
	if g.Later {
		from = "sums"
	}
	results := func(f func(acc int, at string)) {
		for r := range mr {
			for v := range g.NR {
				f(r*g.NR+v, fmt.Sprintf("%d * line + %d", tileRows*r, tileRows*v))
			}
		}
	}
	zero := func() { results(func(acc int, _ string) { g.Line("tile_zero(%d);", acc) }) }
	if g.KC > 0 {
		g.Open("if (from > 0)")
		results(func(acc int, at string) { g.Line("tile_load(%d, %s + %s, 4 * line);", acc, from, at) })
		g.Out()
		g.Line("} else {")
		g.In()
		zero()
		g.Close()
	} else {
		zero()
	}
	loadA, loadB := cgen.TileLoads(g.Passing, g.p.Str("order") == orderRows)
	a, b := mr*g.NR, mr*g.NR+mr
	g.along(tileRows, func(row string) {
		g.prefetch(row, tileRows)
		for r := range mr {
			g.Line("%s(%d, %s);", loadA, a+r, g.matrixAt(r, row))
		}
		for v := range g.NR {
			g.Line("%s(%d, %s, 4 * PANEL);", loadB, b+v, g.weightsAt(v, row))
			for r := range mr {
				g.Line("tile_dot_bf16(%d, %d, %d);", r*g.NR+v, a+r, b+v)
			}
			if v == 0 {
				g.beside()
			}
		}
	})
	results(func(acc int, at string) { g.Line("tile_store(%d, c + %s, 4 * line);", acc, at) })
	g.end()
}

// matrixAt returns where the matrix tile of A is that has the rows r of the tile, and how far its rows are apart.
func (g *generator) matrixAt(r int, row string) string {
	if g.Matrices {
		return fmt.Sprintf("a + %s * MR + %d, %d", factor(row), r*tileRows*tileBytes/4, tileBytes)
	}
	return fmt.Sprintf("a + %d * stride + %s, 4 * stride", tileRows*r, row)
}

// beside writes what a step does while the unit multiplies: it stores rows of results of the tile before, and prepares parts of the next tile of
// A, as many as all steps of a tile need.
func (g *generator) beside() {
	if g.Later {
		depth := g.k
		if g.KC > 0 {
			depth = min(depth, g.KC)
		}
		rows := cgen.Ceil(g.MR, cgen.Ceil(depth, tileBytes/2))
		g.Nested(fmt.Sprintf("for (int i = 0; i < %d && last->row < last->rows; i++)", rows), "store_row(j, last);")
	}
	if !g.Beside {
		return
	}
	columns := g.n
	if g.NC > 0 {
		columns = min(columns, g.NC)
	}
	panels := cgen.Ceil(columns, g.NR*g.Lanes())
	if g.SplitColumns {
		panels = min(panels, cgen.Ceil(cgen.Ceil(g.n, g.NR*g.Lanes()), g.Chunks))
	}
	g.Nested(fmt.Sprintf("for (int i = 0; i < %d && next->row < next->rows; i++)", cgen.Ceil(g.MR, panels)), "prepare_part(j, next);")
}

// configure writes the configuration of the matrix tiles.
func (g *generator) configure() {
	mr := g.MR / tileRows
	g.ConfigureTiles(mr*g.NR+mr+g.NR, mr*g.NR+mr)
}

// further returns the further arguments of a tile.
func (g *generator) further() string {
	out := ""
	if g.Coming {
		out += ", a"
	}
	if g.Beside {
		out += ", &next"
	}
	if g.Later {
		out += ", &last"
		if g.KC > 0 {
			first := "p0"
			if g.NC > 0 {
				first = "q"
			}
			out += fmt.Sprintf(", sums + (p - %s) * MR * NR", first)
		}
	}
	return out
}

// laterSums writes where the sums go of a tile whose results are stored later.
func (g *generator) laterSums() {
	g.Line("enum { line = NR };")
	if g.KC == 0 {
		g.Line("float *c = last->other;")
		return
	}
	g.Line("float *c = to >= j->depth ? last->other : sums;")
}

// prepareComing writes what becomes of the tile of A that comes next when its turn has come: it is completed and used, and another one comes.
func (g *generator) prepareComing() {
	g.Nested("while (next.row < next.rows)", "prepare_part(j, &next);")
	g.Line("const word *a = next.to;")
	to := "rows"
	if g.Beside {
		to = "rows + (t + 1 - t0) % 2 * MR * j->stride"
	}
	g.Line("next = coming(j, t + 1, t1, %s);", to)
}
