package rowwise

import "fmt"

// rope turns halves of heads. Rows that are walked side by side are of one token, and share its angles.
func (g *generator) rope(count int) {
	g.sweep("0", "h", g.here(count), func(step []place) {
		for _, v := range step {
			g.Block(func() {
				g.angles(v)
				for r := range count {
					x, y := fmt.Sprintf("x%d", r), fmt.Sprintf("y%d", r)
					g.Block(func() {
						g.Line("const vec a = %s, b = %s;", g.load(x, v, "0.f"), g.load(x+" + h", v, "0.f"))
						g.store(y, v, "a * cosine - b * sine", true)
						g.store(y+" + h", v, "a * sine + b * cosine", true)
					})
				}
			})
		}
	})
}

// angles loads the cosines and sines of a place.
func (g *generator) angles(v place) {
	g.Line("const vec cosine = %s, sine = %s;", g.load("cosines", v, "0.f"), g.load("sines", v, "0.f"))
}

// pair returns the places of the two vectors that hold the pairs of a place.
func pair(v place) (low, high place) {
	low.at = "2 * (" + v.at + ")"
	high.at = low.at + " + LANES"
	if v.rest != "" {
		low.rest = "2 * (" + v.rest + ")"
		high.rest = low.rest + " - LANES"
	}
	return low, high
}

// ropePairwise turns neighbours.
func (g *generator) ropePairwise(count int) {
	if !g.splitPairs {
		g.Line("const ivec minus = { %s }; // the sign of the first of each pair", g.order(func(lane int) int { return []int{-1 << 31, 0}[lane%2] }))
	}
	g.sweep("0", "h", g.here(count), func(step []place) {
		for _, v := range step {
			g.Block(func() {
				g.angles(v)
				if g.splitPairs {
					g.splitEach(count, v)
				} else {
					g.swapEach(count, v)
				}
			})
		}
	})
}

// splitEach takes the pairs of each row apart: the first elements in one vector, the second ones in another.
func (g *generator) splitEach(count int, v place) {
	low, high := pair(v)
	even := g.order(func(lane int) int { return 2 * lane })
	odd := g.order(func(lane int) int { return 2*lane + 1 })
	first := g.order(func(lane int) int { return lane/2 + lane%2*g.Lanes })
	second := g.order(func(lane int) int { return g.Lanes/2 + lane/2 + lane%2*g.Lanes })
	for r := range count {
		x, y := fmt.Sprintf("x%d", r), fmt.Sprintf("y%d", r)
		g.Block(func() {
			g.Line("const vec low = %s, high = %s;", g.load(x, low, "0.f"), g.load(x, high, "0.f"))
			g.Line("const vec a = SHUFFLE2(low, high, %s);", even)
			g.Line("const vec b = SHUFFLE2(low, high, %s);", odd)
			g.Line("const vec p = a * cosine - b * sine, q = a * sine + b * cosine;")
			g.store(y, low, fmt.Sprintf("SHUFFLE2(p, q, %s)", first), true)
			g.store(y, high, fmt.Sprintf("SHUFFLE2(p, q, %s)", second), true)
		})
	}
}

// swapEach leaves the pairs of each row where they are: cosines and sines are doubled, and the elements of a pair swapped.
func (g *generator) swapEach(count int, v place) {
	low, high := pair(v)
	first := g.order(func(lane int) int { return lane / 2 })
	second := g.order(func(lane int) int { return g.Lanes/2 + lane/2 })
	swap := g.order(func(lane int) int { return lane ^ 1 })
	for half, order := range []string{first, second} {
		at := []place{low, high}[half]
		g.Block(func() {
			g.Line("const vec cosine2 = SHUFFLE(cosine, %s);", order)
			g.Line("const vec sine2 = (vec)((ivec)SHUFFLE(sine, %s) ^ minus);", order)
			for r := range count {
				g.Block(func() {
					g.Line("const vec a = %s;", g.load(fmt.Sprintf("x%d", r), at, "0.f"))
					g.store(fmt.Sprintf("y%d", r), at, fmt.Sprintf("a * cosine2 + SHUFFLE(a, %s) * sine2", swap), true)
				})
			}
		})
	}
}
