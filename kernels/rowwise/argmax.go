package rowwise

import (
	"fmt"
	"strings"
)

// argmaxPieces writes the functions that argmax needs.
func (g *generator) argmaxPieces() {
	if g.blocks {
		g.piece("larger", "highest", "wider")
		return
	}
	g.piece("select")
}

// argmax writes the search for the first largest element of rows.
func (g *generator) argmax(count int) {
	g.Line("const ivec lanes = { %s };", g.order(func(lane int) int { return lane }))
	if g.blocks {
		g.argmaxBlocks(count)
	} else {
		g.argmaxIndices(count)
	}
}

// argmaxBlocks finds the maximum of each stretch of a row, and then the first place of the largest of them in its stretch.
func (g *generator) argmaxBlocks(count int) {
	for r := range count {
		g.Line("float top%d = %s;", r, minusInfinity)
		g.Line("int64_t first%d = 0; // of the stretch of the maximum", r)
	}
	g.spans(func() {
		peaks := g.accumulators("m", count, "splat("+minusInfinity+")")
		g.sweep("from", "to", g.here(count), func(step []place) {
			for r := range count {
				for _, v := range step {
					m := peaks[r][v.sum]
					g.Line("%s = larger(%s, %s);", m, g.load(fmt.Sprintf("x%d", r), v, minusInfinity), m) // passes over NaN
				}
			}
		})
		for r := range count {
			g.Line("const float here%d = highest(%s);", r, largest(peaks[r]))
			g.Line("first%d = here%d > top%d ? from : first%d;", r, r, r, r)
			g.Line("top%d = here%d > top%d ? here%d : top%d;", r, r, r, r, r)
		}
	})
	for r := range count {
		g.Block(func() {
			g.Line("const int64_t to = n - first%d > %d ? first%d + %d : n;", r, sumSpan, r, sumSpan)
			g.Line("ivec left = { 0 }; // how many elements follow the first place of the maximum in a lane")
			g.sweep(fmt.Sprintf("first%d", r), "to", fetch{}, func(step []place) {
				for _, v := range step {
					g.Line("left = wider(left, (%s == top%d) & (0x7fffffff - (int32_t)(%s) - lanes));", g.load(fmt.Sprintf("x%d", r), v, minusInfinity), r, v.at)
				}
			})
			for _, order := range g.Halvings() {
				g.Line("left = wider(left, SHUFFLE(left, %s));", order)
			}
			g.Line("c->y[row + %d] = top%d > %s ? 0x7fffffff - left[0] : 0;", r, r, minusInfinity)
		})
	}
}

// argmaxIndices keeps the place of the maximum of each lane with it.
func (g *generator) argmaxIndices(count int) {
	peaks := g.accumulators("m", count, "splat("+minusInfinity+")")
	places := make([][]string, count)
	for r := range places {
		for u := range g.Unroll {
			places[r] = append(places[r], fmt.Sprintf("at%d_%d", r, u))
		}
		g.Line("ivec %s = { 0 };", strings.Join(places[r], " = { 0 }, "))
	}
	g.sweep("0", "n", g.here(count), func(step []place) {
		for r := range count {
			for _, v := range step {
				m, at := peaks[r][v.sum], places[r][v.sum]
				g.Block(func() {
					g.Line("const vec a = %s;", g.load(fmt.Sprintf("x%d", r), v, minusInfinity))
					g.Line("const ivec above = a > %s;", m)
					g.Line("%s = (vec)chosen(above, (ivec)a, (ivec)%s);", m, m)
					g.Line("%s = chosen(above, lanes + (int32_t)(%s), %s);", at, v.at, at)
				})
			}
		}
	})
	for r := range count {
		g.Block(func() {
			g.Line("const vec tops[] = { %s };", strings.Join(peaks[r], ", "))
			g.Line("const ivec places[] = { %s };", strings.Join(places[r], ", "))
			g.Line("float top = %s;", minusInfinity)
			g.Line("int32_t best = 0;")
			g.Line("for (int k = 0; k < %d; k++)", g.Unroll)
			g.In()
			g.Open("for (int l = 0; l < LANES; l++)")
			g.Open("if (tops[k][l] > top || (tops[k][l] == top && places[k][l] < best))")
			g.Line("top = tops[k][l];")
			g.Line("best = places[k][l];")
			g.Close()
			g.Close()
			g.Out()
			g.Line("c->y[row + %d] = best;", r)
		})
	}
}
