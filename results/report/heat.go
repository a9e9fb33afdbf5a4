package report

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"

	"tune/internal/plain"
	"tune/results/insight"
)

// heat is a cell of a heat map: the best outcome with a value of each of two parameters, and how many have both.
type heat struct {
	best  *insight.Row
	count int
}

// side is a side of a heat map: the tried values of a parameter.
type side struct {
	*insight.Parameter
	bins  [][2]int // the first and the last value of each bin, by their indices
	of    []int    // the bin of each value
	tried int      // how many values
}

// newSide makes a side of how many outcomes have each value. Each value has a bin of its own, unless more were tried than there may be bins:
// then a bin ends at each quantile of the tried values, so that about as many of them are in each.
func newSide(p *insight.Parameter, counts []int, most int) side {
	s := side{Parameter: p, of: make([]int, len(counts))}
	for _, n := range counts {
		s.tried += min(n, 1)
	}
	seen := 0
	for v, n := range counts {
		if n == 0 {
			continue
		}
		bin := seen * min(s.tried, most) / s.tried
		if bin == len(s.bins) {
			s.bins = append(s.bins, [2]int{v, v})
		}
		seen++
		s.bins[bin][1] = v
		s.of[v] = bin
	}
	return s
}

// words names a bin; by stands between its first and its last value.
func (s side) words(bin int, by string) string {
	first, last := s.Values[s.bins[bin][0]], s.Values[s.bins[bin][1]]
	if first == last {
		return first
	}
	return first + by + last
}

// binned says that there are more values than bins; "" where there are not.
func (s side) binned() string {
	if s.tried == len(s.bins) {
		return ""
	}
	return fmt.Sprintf("; %d values of %s in %d bins", s.tried, s.Name, len(s.bins))
}

// pair draws the best cost at each combination of the values of two parameters.
func (r *Run) pair(a, b int, room portion) Plot {
	var both []*insight.Row
	counts := [2][]int{make([]int, len(r.Table.Parameters[a].Values)), make([]int, len(r.Table.Parameters[b].Values))}
	for i := range r.Table.Rows {
		if row := &r.Table.Rows[i]; row.Counts() && row.Choice(a) >= 0 && row.Choice(b) >= 0 {
			both = append(both, row)
			counts[0][row.Choice(a)]++
			counts[1][row.Choice(b)]++
		}
	}
	pa, pb := newSide(&r.Table.Parameters[a], counts[0], room.cells()), newSide(&r.Table.Parameters[b], counts[1], room.cells())
	if len(pa.bins) < 2 || len(pb.bins) < 2 {
		return Plot{}
	}
	cells := make([]heat, len(pa.bins)*len(pb.bins))
	for _, row := range both {
		c := &cells[pb.of[row.Choice(b)]*len(pa.bins)+pa.of[row.Choice(a)]]
		if c.best == nil || row.Less(c.best) {
			c.best = row
		}
		c.count++
	}
	return Plot{
		Caption: "Best costs of a pair; the darker the better" + pa.binned() + pb.binned(),
		Drawing: r.drawHeat(pa, pb, cells), Numbers: []Numbers{r.heatNumbers(pa, pb, cells, room.rows())},
	}
}

// drawHeat draws a heat map.
func (r *Run) drawHeat(pa, pb side, cells []heat) template.HTML {
	low, high := math.Inf(1), math.Inf(-1)
	for _, c := range cells {
		if c.best != nil {
			low, high = min(low, c.best.Cost), max(high, c.best.Cost)
		}
	}
	share := func(cost float64) float64 {
		past, span := cost/2-low/2, high/2-low/2
		if low > 0 { // the ratio of two costs may overflow
			past, span = math.Log(cost)-math.Log(low), math.Log(high)-math.Log(low)
		}
		if !(span > 0) {
			return 1
		}
		return 1 - past/span
	}
	const size = 26.0
	from := 110.0
	h := top + size*float64(len(pb.bins)) + bottom
	step := min((width-from-right)/float64(len(pa.bins)), 60)
	d := newDrawing(width, h, fmt.Sprintf("best costs by %s and %s", pa.Name, pb.Name), fmt.Sprintf("from %s to %s; the darker the better", r.Unit.Words(low), r.Unit.Words(high)))
	for y := range pb.bins {
		at := top + size*float64(len(pb.bins)-1-y)
		d.label("tick", "end", from-6, at+size/2+4, plain.Clip(pb.words(y, "–"), 12))
		for x := range pa.bins {
			c := cells[y*len(pa.bins)+x]
			if c.best == nil {
				continue
			}
			class := fmt.Sprintf("heat h%d", int(math.Round(10*share(c.best.Cost))))
			if c.best.Cost == low {
				class += " win"
			}
			d.rect(class, from+step*float64(x)+0.5, at+0.5, step-1, size-1, fmt.Sprintf("%s=%s %s=%s: best %s of %d", pa.Name, pa.words(x, " to "), pb.Name, pb.words(y, " to "), r.Unit.Words(c.best.Cost), c.count))
		}
	}
	every := max(1, int(math.Ceil(34/step)))
	for x := range pa.bins {
		if x%every == 0 {
			d.label("tick", "middle", from+step*(float64(x)+0.5), h-bottom+16, plain.Clip(pa.words(x, "–"), max(int(step*float64(every)/7), 3)))
		}
	}
	d.label("name", "middle", from+step*float64(len(pa.bins))/2, h-bottom+32, clip(pa.Name))
	fmt.Fprintf(&d.b, `<text class="name" text-anchor="middle" transform="translate(13 %s) rotate(-90)">%s</text>`, number((top+h-bottom)/2), text(clip(pb.Name)))
	return d.html()
}

// heatNumbers is the table of a heat map, the best cells first.
func (r *Run) heatNumbers(pa, pb side, cells []heat, most int) Numbers {
	n := Numbers{Title: fmt.Sprintf("Best costs by %s and %s", pa.Name, pb.Name), Head: []string{pa.Name, pb.Name, "best", "candidates"}}
	var at []int
	for k, c := range cells {
		if c.best != nil {
			at = append(at, k)
		}
	}
	slices.SortStableFunc(at, func(x, y int) int { return cmp.Compare(cells[x].best.Cost, cells[y].best.Cost) })
	for _, k := range at {
		x, y := k%len(pa.bins), k/len(pa.bins)
		n.add(Valued(pa.words(x, " to "), float64(x)), Valued(pb.words(y, " to "), float64(y)), r.cost(cells[k].best.Cost), Counted(cells[k].count))
	}
	n.limit(most)
	return n
}
