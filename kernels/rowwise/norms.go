package rowwise

import "fmt"

// squares writes the sums of squares of rows, and leaves the factors of the elements in scale0 and so on.
func (g *generator) squares(count int) {
	g.totals("total", count, g.here(count), func(sums [][]string, step []place) {
		for r := range count {
			for _, v := range step {
				g.Block(func() {
					x := g.load(fmt.Sprintf("x%d", r), v, "0.f")
					if g.op.name == "add-rmsnorm" {
						x += " + " + g.load(fmt.Sprintf("r%d", r), v, "0.f")
					}
					g.Line("const vec a = %s;", x)
					if g.op.name == "add-rmsnorm" {
						g.store(fmt.Sprintf("s%d", r), v, "a", false)
					}
					g.Line("%s += a * a;", sums[r][v.sum])
				})
			}
		}
	})
	for r := range count {
		g.Line("const float scale%d = 1.f / __builtin_sqrtf(horizontal(total%d) / (float)n + %sf);", r, r, g.Eps)
	}
}

// rmsnorm writes rmsnorm and add-rmsnorm.
func (g *generator) rmsnorm(count int) {
	g.squares(count)
	from := "x"
	if g.op.name == "add-rmsnorm" {
		from = "s"
	}
	g.sweep("0", "n", g.nextRows(count), func(step []place) {
		for _, v := range step {
			g.Block(func() {
				g.Line("const vec weights = %s;", g.load("w", v, "0.f"))
				for r := range count {
					g.store(fmt.Sprintf("y%d", r), v, fmt.Sprintf("%s * scale%d * weights", g.load(fmt.Sprintf("%s%d", from, r), v, "0.f"), r), true)
				}
			})
		}
	})
}

// rmsnormQ8 writes rmsnorm with quantised results.
func (g *generator) rmsnormQ8(count int) {
	g.squares(count)
	g.blocksOf("n", g.nextRows(count), func(at string) {
		for r := range count {
			g.quantise(fmt.Sprintf("(row + %d) * n", r), at, func(part string) string {
				return fmt.Sprintf("load(x%d + %s) * scale%d * load(w + %s)", r, part, r, part)
			})
		}
	})
}

// blocksOf writes a loop over blocks of Q8_0, unrolled; n is the number of elements.
func (g *generator) blocksOf(n string, f fetch, body func(at string)) {
	g.Line("i = 0;")
	if g.Unroll > 1 {
		g.Open("for (; i + %d * BLOCK <= %s; i += %d * BLOCK)", g.Unroll, n, g.Unroll)
		g.prefetch(f, g.Unroll*q8Weights)
		for u := range g.Unroll {
			at := "i"
			if u > 0 {
				at = fmt.Sprintf("i + %d * BLOCK", u)
			}
			body(at)
		}
		g.Close()
	}
	g.Open("for (; i < %s; i += BLOCK)", n)
	if g.Unroll == 1 {
		g.prefetch(f, q8Weights)
	}
	body("i")
	g.Close()
}

// quantise writes the block at an offset in the elements from a start on; value returns the vector at an offset.
func (g *generator) quantise(start, offset string, value func(part string) string) {
	g.Block(func() {
		g.Line("const vec v[PARTS] = {")
		g.In()
		for k := range q8Weights / g.Lanes {
			part := offset
			if k > 0 {
				part = fmt.Sprintf("%s + %d * LANES", offset, k)
			}
			g.Line("%s,", value(part))
		}
		g.Out()
		g.Line("};")
		g.Line("quantise(c->y + (%s + %s) / BLOCK * BLOCK_BYTES, v);", start, offset)
	})
}

// layernorm writes layernorm.
func (g *generator) layernorm(count int) {
	if g.passes == passesThree {
		g.momentsOfRows(count)
	} else {
		g.momentsOfSpans(count)
	}
	g.sweep("0", "n", g.nextRows(count), func(step []place) {
		for _, v := range step {
			g.Block(func() {
				g.Line("const vec weights = %s, bias = %s;", g.load("w", v, "0.f"), g.load("b", v, "0.f"))
				for r := range count {
					g.store(fmt.Sprintf("y%d", r), v, fmt.Sprintf("(%s - mean%d) * scale%d * weights + bias", g.load(fmt.Sprintf("x%d", r), v, "0.f"), r, r), true)
				}
			})
		}
	})
}

// momentsOfRows finds the means, and then the variances.
func (g *generator) momentsOfRows(count int) {
	g.totals("total", count, g.here(count), g.addElements)
	for r := range count {
		g.Line("const float mean%d = horizontal(total%d) / (float)n;", r, r)
	}
	g.totals("squares", count, fetch{}, func(sums [][]string, step []place) { g.addSquares(sums, step, "mean") })
	for r := range count {
		g.Line("const float scale%d = 1.f / __builtin_sqrtf(horizontal(squares%d) / (float)n + %sf);", r, r, g.Eps)
	}
}

// momentsOfSpans finds the moments of stretches of a row, while these are in the first-level cache, and combines them [Chan, Golub,
// LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances", 1979].
func (g *generator) momentsOfSpans(count int) {
	for r := range count {
		g.Line("double middle%d = 0, squares%d = 0;", r, r)
	}
	g.spans(func() {
		sums := g.accumulators("s", count, "{ 0 }")
		g.sweep("from", "to", g.here(count), func(step []place) { g.addElements(sums, step) })
		for r := range count {
			g.Line("const float part%d = horizontal(%s) / (float)(to - from);", r, pairwise(sums[r]))
		}
		apart := g.accumulators("q", count, "{ 0 }")
		g.sweep("from", "to", fetch{}, func(step []place) { g.addSquares(apart, step, "part") })
		for r := range count {
			g.Block(func() {
				g.Line("const double apart = part%d - middle%d, share = (double)(to - from) / (double)to;", r, r)
				g.Line("middle%d += apart * share;", r)
				g.Line("squares%d += (double)horizontal(%s) + apart * apart * share * (double)from;", r, pairwise(apart[r]))
			})
		}
	})
	for r := range count {
		g.Line("const float mean%d = (float)middle%d;", r, r)
		g.Line("const float scale%d = 1.f / __builtin_sqrtf((float)(squares%d / (double)n) + %sf);", r, r, g.Eps)
	}
}

// addElements adds the elements of a step to sums.
func (g *generator) addElements(sums [][]string, step []place) {
	for r := range sums {
		for _, v := range step {
			g.Line("%s += %s;", sums[r][v.sum], g.load(fmt.Sprintf("x%d", r), v, "0.f"))
		}
	}
}

// addSquares adds the squares of the distances from a mean, which fills what is beyond the row.
func (g *generator) addSquares(sums [][]string, step []place, mean string) {
	for r := range sums {
		for _, v := range step {
			m := fmt.Sprintf("%s%d", mean, r)
			g.Block(func() {
				g.Line("const vec a = %s - %s;", g.load(fmt.Sprintf("x%d", r), v, m), m)
				g.Line("%s += a * a;", sums[r][v.sum])
			})
		}
	}
}
