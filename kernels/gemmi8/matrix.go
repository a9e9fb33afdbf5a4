package gemmi8

import (
	"fmt"

	"tune/kernels/native/cgen"
)

// tileBytes is the size of a row of a matrix tile.
const tileBytes = 64

// matrixTile writes the product of a tile with accumulators in matrix tiles: first they, then the tiles of A, then those of W have the
// registers.
func (g *generator) matrixTile() {
	to := g.open()
	mr := g.MR / tileRows
	sums := func(f func(acc int, at string)) {
		for r := range mr {
			for v := range g.NR {
				f(r*g.NR+v, fmt.Sprintf("%d * NR + %d", tileRows*r, tileRows*v))
			}
		}
	}
	zero := func() { sums(func(acc int, _ string) { g.Line("tile_zero(%d);", acc) }) }
	if g.KC > 0 {
		g.Open("if (from > 0)")
		sums(func(acc int, at string) { g.Line("tile_load(%d, sums + %s, 4 * NR);", acc, at) })
		g.Out()
		g.Line("} else {")
		g.In()
		zero()
		g.Close()
	} else {
		zero()
	}
	a, w := mr*g.NR, mr*g.NR+mr
	row := "NR"
	if g.Apart {
		row = "LANES"
	}
	loadA, loadW := cgen.TileLoads(g.Passing, g.p.Str("order") == orderRows)
	g.along("to", fmt.Sprintf(" * %d", tileRows), fmt.Sprintf("g += %d", tileRows), func(group string) {
		g.prefetchGroups(group, tileRows)
		for r := range mr {
			g.Line("%s(%d, %s);", loadA, a+r, g.matrixAt(r, group))
		}
		for v := range g.NR {
			g.Line("%s(%d, %s, 4 * %s);", loadW, w+v, g.weightsAt(v, group), row)
			for r := range mr {
				g.Line("tile_dot_ss(%d, %d, %d);", r*g.NR+v, a+r, w+v)
			}
			if v == 0 {
				g.beside()
			}
		}
	})
	sums(func(acc int, at string) { g.Line("tile_store(%d, %s + %s, 4 * NR);", acc, to, at) })
	g.end()
	g.EndFunc()
}

// open begins the function of a tile, says where its operands and sums are, and returns to where the sums go.
func (g *generator) open() (to string) {
	var more []string
	if g.Coming {
		more = append(more, ", const word *a")
	}
	if g.Beside {
		more = append(more, ", struct coming *next")
	}
	if g.Later {
		more = append(more, ", struct results *last")
	}
	g.tile("tile multiplies tile t with panel p, from one group along k to another.", more...)
	if !g.Matrices {
		g.Line("const int64_t stride = j->stride;")
	}
	switch {
	case g.Coming:
	case g.Matrices:
		g.Line("const word *a = j->rows + t * MR * j->stride;")
	default:
		g.Line("const word *a = j->rows + t * MR * stride;")
	}
	g.apart()
	switch {
	case g.KC > 0:
		g.Line("int32_t *sums = j->partial + (t * j->panels + p) * MR * NR;")
	case g.Later:
		g.Line("int32_t *sums = last->other;")
	default:
		g.Line("_Alignas(64) int32_t sums[MR * NR];")
	}
	to = "sums"
	if g.KC > 0 && g.Later {
		g.Line("int32_t *whole = to >= j->groups ? last->other : sums;")
		to = "whole"
	}
	return to
}

// matrixAt returns where the matrix tile of A is that has the rows r of the tile, and how far its rows are apart.
func (g *generator) matrixAt(r int, group string) string {
	if g.Matrices {
		return fmt.Sprintf("a + (%s) * MR + %d, %d", group, r*tileRows*tileBytes/4, tileBytes)
	}
	return fmt.Sprintf("a + %d * stride + %s, 4 * stride", tileRows*r, group)
}

// beside writes what a step does while the unit multiplies: rows of results of the tile before, and parts of the next tile of A, as many as
// all steps of a tile need.
func (g *generator) beside() {
	if g.Later {
		depth := g.k
		if g.KC > 0 {
			depth = min(depth, g.KC)
		}
		rows := cgen.Ceil(g.MR, cgen.Ceil(depth, tileBytes))
		g.Nested(fmt.Sprintf("for (int i = 0; i < %d && last->row < last->rows; i++)", rows), "store_row(j, last);")
	}
	if g.Beside {
		columns := g.n
		if g.NC > 0 {
			columns = min(columns, g.NC)
		}
		panels := cgen.Ceil(columns, g.NR*g.Lanes())
		if g.SplitColumns {
			panels = min(panels, cgen.Ceil(cgen.Ceil(g.n, g.NR*g.Lanes()), g.Chunks))
		}
		g.Nested(fmt.Sprintf("for (int i = 0; i < %d && next->row < next->rows; i++)", cgen.Ceil(g.MR, panels)), "quantise_part(j, next);")
	}
}

// end writes what becomes of the sums of a tile.
func (g *generator) end() {
	finish := "finish(j, t, p, sums);"
	if g.Later {
		finish = "finish_later(j, t, p, last);"
	}
	if g.KC > 0 {
		g.Nested("if (to >= j->groups)", finish)
	} else {
		g.Line("%s", finish)
	}
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
	}
	return out
}

// quantiseComing writes what becomes of the tile of A that comes next when its turn has come: it is completed and used, and another one comes.
func (g *generator) quantiseComing() {
	g.Nested("while (next.row < next.rows)", "quantise_part(j, &next);")
	g.Line("const word *a = next.to;")
	to := "rows"
	if g.Beside {
		to = "rows + (t + 1 - t0) % 2 * MR * j->stride"
	}
	g.Line("next = coming(j, t + 1, t1, %s);", to)
}

// configure writes the configuration of the matrix tiles.
func (g *generator) configure() {
	mr := g.MR / tileRows
	g.ConfigureTiles(mr*g.NR+mr+g.NR, mr*g.NR+mr)
}
