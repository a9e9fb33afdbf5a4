package rowwise

import (
	"fmt"
	"strings"
)

// lowest is where maxima start. It is finite, so that a lane that has only seen −∞ has exponentials of 0 and not of NaN.
const lowest = "splat(-0x1.fffffep127f)"

const minusInfinity = "-__builtin_inff()"

// softmax writes the passes over rows.
func (g *generator) softmax(count int) {
	switch g.passes {
	case passesTwo:
		g.softmaxBlocks(count)
	case passesTwoRecompute:
		g.softmaxRunning(count)
		g.softmaxScale(count, false, g.nextRows(count))
	case passesUnshifted:
		g.softmaxUnshifted(count)
	default:
		g.softmaxThree(count, g.passes == passesThree)
	}
}

// softmaxThree writes the three passes: maximum, exponentials, scaling.
func (g *generator) softmaxThree(count int, keep bool) {
	g.softmaxKept(count)
	g.softmaxPeak(count)
	g.softmaxSum(count, keep)
	g.softmaxScale(count, keep, fetch{})
}

// careful writes the function that does a row in three passes, whatever its numbers are.
func (g *generator) careful() {
	g.rowsFunc("careful", 1)
	g.softmaxThree(1, true)
	g.EndFunc()
}

// keptCols is how long rows may be whose exponentials are kept in a buffer.
const keptCols = 8192

// softmaxKept declares where exponentials are kept, kept0 and so on: in a buffer that stays in the first-level cache, or in the result.
func (g *generator) softmaxKept(count int) {
	if !g.kept {
		return
	}
	for r := range count {
		g.Line("float buffer%d[%d] __attribute__((aligned(64)));", r, keptCols)
		g.Line("float *const kept%d = n <= %d ? buffer%d : y%d;", r, keptCols, r, r)
	}
}

// keptIn names the array of a row in which exponentials are kept.
func (g *generator) keptIn(row int) string {
	if g.kept {
		return fmt.Sprintf("kept%d", row)
	}
	return fmt.Sprintf("y%d", row)
}

// Sums of exponentials that were not shifted by the maximum are good between these bounds. From the lower one on, exponentials below
// the least float are results that may be 0. The upper one bounds the rounding of arguments.
const (
	leastSum       = "0x1p-30f"
	largestSum     = "0x1p60f"
	largestSumFour = "0x1p32f" // of an exponential that leaves less room in the tolerance
)

// softmaxUnshifted adds up exponentials without looking for the maximum first. Only the sum shows whether that was right: NaN and
// infinities end up there too. Where it was not, the row is done again with care.
func (g *generator) softmaxUnshifted(count int) {
	g.softmaxKept(count)
	g.totals("total", count, g.here(count), func(sums [][]string, step []place) { g.addExponentials(sums, step, "", true) })
	largest := largestSum
	if g.Reduce && len(g.Polynomial) < 6 {
		largest = largestSumFour
	}
	var good []string
	for r := range count {
		g.Line("const float sum%d = horizontal(total%d), scale%d = 1.f / sum%d;", r, r, r, r)
		good = append(good, fmt.Sprintf("sum%d > %s && sum%d < %s", r, leastSum, r, largest))
	}
	past := ""
	if g.Past {
		past = ", past"
	}
	g.Open("if (!(%s))", strings.Join(good, " && "))
	for r := range count {
		g.Line("careful1(c, row + %d%s);", r, past)
	}
	g.Line("return;")
	g.Close()
	g.softmaxScale(count, true, g.nextRows(count))
}

// softmaxPeak finds the maxima, top0 and so on.
func (g *generator) softmaxPeak(count int) {
	peaks := g.accumulators("m", count, lowest)
	g.sweep("0", "n", g.here(count), g.raise(peaks))
	for r := range count {
		g.Line("const float top%d = highest(%s);", r, largest(peaks[r]))
	}
}

// raise returns the body of a sweep that finds maxima.
func (g *generator) raise(peaks [][]string) func(step []place) {
	return func(step []place) {
		for r := range peaks {
			for _, v := range step {
				m := peaks[r][v.sum]
				g.Line("%s = larger(%s, %s);", m, m, g.load(fmt.Sprintf("x%d", r), v, minusInfinity))
			}
		}
	}
}

// softmaxSum adds up the exponentials, keeps them where asked, and leaves the reciprocals of the sums in scale0 and so on.
func (g *generator) softmaxSum(count int, keep bool) {
	g.totals("total", count, g.nextRows(count), func(sums [][]string, step []place) { g.addExponentials(sums, step, "top", keep) })
	for r := range count {
		g.Line("const float scale%d = 1.f / horizontal(total%d);", r, r)
	}
}

// addExponentials adds the exponentials of a step to sums; top names what is subtracted, if anything.
func (g *generator) addExponentials(sums [][]string, step []place, top string, keep bool) {
	argument := func(r int, v place) string {
		x := g.load(fmt.Sprintf("x%d", r), v, minusInfinity)
		if top != "" {
			x += fmt.Sprintf(" - %s%d", top, r)
		}
		return x
	}
	woven := len(sums) * len(step)
	if g.woven(woven) {
		g.Block(func() {
			for r := range sums {
				for u, v := range step {
					g.Line("vec x_%d = %s;", r*len(step)+u, argument(r, v))
				}
			}
			g.weaveExponentials(woven)
			for r := range sums {
				for u, v := range step {
					e := fmt.Sprintf("e_%d", r*len(step)+u)
					if keep {
						g.store(g.keptIn(r), v, e, false)
					}
					g.Line("%s += %s;", sums[r][v.sum], e)
				}
			}
		})
		return
	}
	for r := range sums {
		for _, v := range step {
			e := fmt.Sprintf("exponential(%s)", argument(r, v))
			if !keep {
				g.Line("%s += %s;", sums[r][v.sum], e)
				continue
			}
			g.Block(func() {
				g.Line("const vec e = %s;", e)
				g.store(g.keptIn(r), v, "e", false)
				g.Line("%s += e;", sums[r][v.sum])
			})
		}
	}
}

// softmaxScale writes the results, from the kept exponentials or from new ones.
func (g *generator) softmaxScale(count int, kept bool, f fetch) {
	g.sweep("0", "n", f, func(step []place) {
		for r := range count {
			for _, v := range step {
				y := fmt.Sprintf("y%d", r)
				e := g.load(g.keptIn(r), v, "0.f")
				if !kept {
					e = fmt.Sprintf("exponential(%s - top%d)", g.load(fmt.Sprintf("x%d", r), v, "0.f"), r)
				}
				g.store(y, v, fmt.Sprintf("%s * scale%d", e, r), true)
			}
		}
	})
}

// softmaxRunning finds maxima and sums together: each lane has the sum of the exponentials below its maximum so far, and scales it
// when that rises [Milakov, Gimelshein, "Online normalizer calculation for softmax", 2018].
func (g *generator) softmaxRunning(count int) {
	for r := range count {
		g.Line("vec m%d = %s, total%d = { 0 };", r, lowest, r)
	}
	g.spans(func() {
		for r := range count {
			g.Line("const vec before%d = m%d;", r, r)
			g.Line("vec s%d = { 0 };", r)
		}
		g.sweep("from", "to", g.here(count), func(step []place) {
			for r := range count {
				g.Block(func() {
					var names, terms []string
					for u, v := range step {
						name := fmt.Sprintf("a%d", u)
						g.Line("const vec %s = %s;", name, g.load(fmt.Sprintf("x%d", r), v, minusInfinity))
						names, terms = append(names, name), append(terms, fmt.Sprintf("exponential(%s - top)", name))
					}
					g.Line("const vec top = larger(m%d, %s);", r, largest(names))
					g.Line("s%d = s%d * exponential(m%d - top) + %s;", r, r, r, pairwise(terms))
					g.Line("m%d = top;", r)
				})
			}
		})
		for r := range count {
			g.Line("total%d = total%d * exponential(before%d - m%d) + s%d;", r, r, r, r, r)
		}
	})
	for r := range count {
		g.Line("const float top%d = highest(m%d);", r, r)
		g.Line("const float scale%d = 1.f / horizontal(total%d * exponential(m%d - top%d));", r, r, r, r)
	}
}

// softmaxBlocks does stretches of the rows by themselves, each below its own maximum, and scales all of them afterwards.
func (g *generator) softmaxBlocks(count int) {
	const stretches = maxCols / sumSpan
	for r := range count {
		g.Line("float tops%d[%d], sums%d[%d]; // of stretches", r, stretches, r, stretches)
	}
	g.spans(func() {
		peaks := g.accumulators("m", count, lowest)
		g.sweep("from", "to", g.here(count), g.raise(peaks))
		for r := range count {
			g.Line("const float top%d = tops%d[from / %d] = highest(%s);", r, r, sumSpan, largest(peaks[r]))
		}
		sums := g.accumulators("s", count, "{ 0 }")
		g.sweep("from", "to", fetch{}, func(step []place) { g.addExponentials(sums, step, "top", true) })
		for r := range count {
			g.Line("sums%d[from / %d] = horizontal(%s);", r, sumSpan, pairwise(sums[r]))
		}
	})
	g.Line("const int64_t stretches = (n + %d) / %d;", sumSpan-1, sumSpan)
	for r := range count {
		g.Line("float peak%d = tops%d[0], total%d = 0;", r, r, r)
		g.Nested("for (int64_t k = 1; k < stretches; k++)", fmt.Sprintf("peak%d = tops%d[k] > peak%d ? tops%d[k] : peak%d;", r, r, r, r, r))
		g.Open("for (int64_t k = 0; k < stretches; k++)")
		g.Line("tops%d[k] = exponential(splat(tops%d[k] - peak%d))[0];", r, r, r)
		g.Line("total%d += sums%d[k] * tops%d[k];", r, r, r)
		g.Close()
	}
	g.spans(func() {
		for r := range count {
			g.Line("const float scale%d = tops%d[from / %d] / total%d;", r, r, sumSpan, r)
		}
		g.sweep("from", "to", g.nextRows(count), func(step []place) {
			for r := range count {
				for _, v := range step {
					y := fmt.Sprintf("y%d", r)
					g.store(y, v, fmt.Sprintf("%s * scale%d", g.load(y, v, "0.f"), r), true)
				}
			}
		})
	})
}
