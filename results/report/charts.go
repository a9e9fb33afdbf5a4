package report

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"

	"tune/internal/plain"
	"tune/results/insight"
	"tune/space"
)

const (
	// mostValues is how many values of a parameter a chart has at most: those with the least costs.
	mostValues = 32
	// mostCells is how many values a side of a heat map has at most.
	mostCells = 24
	// bins is into how many bars the costs are counted.
	bins = 48
)

// trace draws all outcomes over their number or over time: the right ones at their costs, the best so far as a line, the others below the
// axis by their status. Marks that would be on top of each other are drawn once, and there are at most the given number.
func (r *Run) trace(overTime bool, most int) template.HTML {
	if len(r.Table.Rows) == 0 {
		return ""
	}
	costs, lanes := r.rightCosts(), r.lanes()
	name, of := "costs over evaluations", func(row *insight.Row) float64 { return float64(row.Number + 1) }
	label := "evaluation"
	if overTime {
		unit, seconds := r.clock()
		name, label, of = "costs over time", unit, func(row *insight.Row) float64 { return row.Elapsed / seconds }
	}
	h := height + laneHeight*float64(len(lanes))
	d := newDrawing(width, h, name, fmt.Sprintf("%d outcomes, %d of them right", len(r.Table.Rows), len(costs)), fmt.Sprintf(`class="trace" data-outcomes="%d"`, len(r.Table.Rows)))
	floor := height - bottom
	low, high := math.Inf(1), math.Inf(-1)
	for i := range r.Table.Rows {
		low, high = min(low, of(&r.Table.Rows[i])), max(high, of(&r.Table.Rows[i]))
	}
	x := newAxis(min(low, 0), max(high, 1e-9), left, width-right, false, label)
	y, shown := axis{}, func(float64) float64 { return 0 }
	if len(costs) > 0 {
		y, shown = costAxis(r.Unit, costs, floor, top)
		d.vertical(y)
	}
	if v := shown(r.baselineCost()); r.baselineCost() > 0 && len(costs) > 0 && v >= y.low && v <= y.high {
		d.line("baseline", left, y.at(v), width-right, y.at(v))
		d.label("tick", "end", width-right, y.at(v)-4, "baseline "+r.Unit.Words(r.baselineCost()))
	}
	place := func(row *insight.Row) (class string, px, py float64, ok bool) {
		switch lane := slices.Index(lanes, row.Status); {
		case lane >= 0:
			return fmt.Sprintf("fail s%d", row.Status), x.at(of(row)), floor + laneHeight*(float64(lane)+0.5), true
		case row.Counts():
			return "pt", x.at(of(row)), y.at(shown(row.Cost)), true
		}
		return "", 0, 0, false
	}
	type cell struct {
		class string
		x, y  int
	}
	size := 1.0
	var marks []*insight.Row
	for ; ; size *= 1.4 {
		seen := map[cell]bool{}
		marks = marks[:0]
		for i := range r.Table.Rows {
			row := &r.Table.Rows[i]
			if class, px, py, ok := place(row); ok && !seen[cell{class, int(px / size), int(py / size)}] {
				seen[cell{class, int(px / size), int(py / size)}] = true
				if marks = append(marks, row); len(marks) > most {
					break
				}
			}
		}
		if len(marks) <= most {
			break
		}
	}
	for _, row := range marks {
		class, px, py, _ := place(row)
		title := fmt.Sprintf("#%d %s", row.Number, row.Status)
		if row.Counts() {
			title = fmt.Sprintf("#%d %s", row.Number, r.Unit.Words(row.Cost))
		}
		d.dot(class, px, py, 1.8, title)
	}
	for i, status := range lanes {
		d.label("tick", "end", left-6, floor+laneHeight*(float64(i)+0.5)+4, status.String())
	}
	r.steps(d, overTime, func(row *insight.Row) (float64, float64) { return x.at(of(row)), y.at(shown(row.Cost)) }, x.to)
	d.horizontal(x, h-bottom)
	return d.html()
}

// steps draws the best so far.
func (r *Run) steps(d *drawing, overTime bool, at func(*insight.Row) (float64, float64), end float64) {
	best := r.improvements(overTime)
	if len(best) == 0 {
		return
	}
	var path stairs
	for _, row := range best {
		path.to(at(row))
	}
	fmt.Fprintf(&d.b, `<path class="best" d="%sH%s"/>`, path.text.String(), number(end))
	for _, row := range best[max(len(best)-200, 0):] {
		px, py := at(row)
		d.dot("step", px, py, 3, fmt.Sprintf("best so far: #%d %s after %s: %s", row.Number, r.Unit.Words(row.Cost), r.after(row.Elapsed), plain.Clip(r.Table.Key(row), 200)))
	}
}

// improvements are the rows that were better than all before them, by number or by time.
func (r *Run) improvements(overTime bool) (out []*insight.Row) {
	var rows []*insight.Row
	for i := range r.Table.Rows {
		if r.Table.Rows[i].Counts() {
			rows = append(rows, &r.Table.Rows[i])
		}
	}
	if overTime {
		slices.SortStableFunc(rows, func(a, b *insight.Row) int { return cmp.Compare(a.Elapsed, b.Elapsed) })
	}
	for _, row := range rows {
		if len(out) == 0 || row.Cost < out[len(out)-1].Cost {
			out = append(out, row)
		}
	}
	return out
}

// lanes are the statuses of rows that failed.
func (r *Run) lanes() (out []space.Status) {
	for _, status := range space.Statuses() {
		if status != space.OK && slices.ContainsFunc(r.Table.Rows, func(row insight.Row) bool { return row.Status == status }) {
			out = append(out, status)
		}
	}
	return out
}

// rightCosts are the costs of the rows that count.
func (r *Run) rightCosts() (costs []float64) {
	for i := range r.Table.Rows {
		if row := &r.Table.Rows[i]; row.Counts() {
			costs = append(costs, row.Cost)
		}
	}
	return costs
}

// distribution draws how many outcomes have which cost.
func (r *Run) distribution() template.HTML {
	costs := r.rightCosts()
	if len(costs) < 2 {
		return ""
	}
	y, shown := costAxis(r.Unit, costs, 0, bins)
	counts := make([]int, bins)
	for _, c := range costs {
		counts[min(int(y.at(shown(c))), bins-1)]++
	}
	d := newDrawing(width, 200, "distribution of costs", plain.Count(len(costs), "right outcome"))
	x := y
	x.from, x.to = left, width-right
	count := newAxis(0, float64(slices.Max(counts)), 200-bottom, top, false, "outcomes")
	d.vertical(count)
	step := (width - left - right) / bins
	for k, n := range counts {
		if n > 0 {
			at := count.at(float64(n))
			d.rect("bar", left+float64(k)*step+0.5, at, step-1, 200-bottom-at, fmt.Sprintf("%s %s: %s", tickWords(x.valueAt(left+(float64(k)+0.5)*step)), y.name, plain.Count(n, "outcome")))
		}
	}
	d.horizontal(x, 200-bottom)
	return d.html()
}

// valueAt is the inverse of at.
func (a axis) valueAt(place float64) float64 {
	share := (place - a.from) / (a.to - a.from)
	if a.log {
		v := math.Exp(math.Log(a.low) + share*(math.Log(a.high)-math.Log(a.low)))
		return roundTo(v)
	}
	return roundTo(a.low + share*(a.high-a.low))
}

// roundTo rounds to four digits.
func roundTo(v float64) float64 {
	if v == 0 || math.IsInf(v, 0) || math.Abs(v) < 1e-290 {
		return v
	}
	unit := math.Pow(10, math.Floor(math.Log10(math.Abs(v)))-3)
	return math.Round(v/unit) * unit
}

// importance draws shares, those of the model beside those of the outcomes.
func importance(learned, measured *insight.Shares) template.HTML {
	shares := map[string][2]float64{}
	var names []string
	for side, list := range []*insight.Shares{learned, measured} {
		if list == nil {
			continue
		}
		for _, s := range slices.Concat(list.Single, list.Pairs) {
			name := strings.Join(s.Parameters, " × ")
			both, known := shares[name]
			if both[side] = s.Share; !known {
				names = append(names, name)
			}
			shares[name] = both
		}
	}
	slices.SortStableFunc(names, func(a, b string) int {
		x, y := max(shares[a][0], shares[a][1]), max(shares[b][0], shares[b][1])
		switch {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
	names = slices.DeleteFunc(names, func(n string) bool { return max(shares[n][0], shares[n][1]) < 0.005 })
	names = names[:min(len(names), 16)]
	if len(names) == 0 {
		return ""
	}
	h := top + 2*barHeight*float64(len(names)) + bottom
	d := newDrawing(width, h, "importance", "share of the variance of the costs by parameter and by pair")
	from := labelWidth*float64(mostLabel) - 20
	x := newAxis(0, 1, from, width-right-30, false, "share of the variance")
	for i, name := range names {
		y := top + 2*barHeight*float64(i)
		d.label("tick", "end", from-6, y+barHeight, clip(name))
		for side, of := range []string{"learned", "measured"} {
			v := shares[name][side]
			d.rect("bar "+of, from, y+float64(side)*(barHeight-3)+2, x.at(v)-from, barHeight-5, fmt.Sprintf("%s, %s: %.1f %%", name, of, 100*v))
		}
	}
	d.line("axis", from, top, from, h-bottom)
	for _, v := range []float64{0, 0.25, 0.5, 0.75, 1} {
		d.label("tick", "middle", x.at(v), h-bottom+16, fmt.Sprintf("%.0f %%", 100*v))
	}
	d.label("name", "middle", (x.from+x.to)/2, h-bottom+32, x.name)
	return d.html()
}

// values draws the costs by value of a parameter: a box from quartile to quartile, the median, and the best.
func (r *Run) values(e insight.Effect, winner string) template.HTML {
	values := slices.Clone(e.Values)
	values = values[:min(len(values), mostValues)]
	slices.SortFunc(values, func(a, b insight.ValueEffect) int { return a.Order() - b.Order() })
	var costs []float64
	for _, v := range values {
		costs = append(costs, v.Best, v.Quartiles[2])
	}
	const h = 220.0
	d := newDrawing(width, h, "costs by "+e.Parameter, plain.Count(len(e.Values), "value"))
	y, shown := costAxis(r.Unit, costs, h-bottom, top)
	d.vertical(y)
	step := (width - left - right) / float64(len(values))
	box := min(step*0.6, 40)
	every := max(1, int(math.Ceil(46/step)))
	for i, v := range values {
		mid := left + (float64(i)+0.5)*step
		a, b := y.at(shown(v.Quartiles[0])), y.at(shown(v.Quartiles[2]))
		class := "box"
		if v.Value == winner {
			class = "box win"
		}
		title := fmt.Sprintf("%s=%s: best %s, median %s, quartiles %s and %s, %s", e.Parameter, v.Value, r.Unit.Words(v.Best), r.Unit.Words(v.Quartiles[1]),
			r.Unit.Words(v.Quartiles[0]), r.Unit.Words(v.Quartiles[2]), plain.Count(v.Count, "candidate"))
		d.line("whisker", mid, y.at(shown(v.Best)), mid, (a+b)/2)
		d.rect(class, mid-box/2, min(a, b), box, math.Abs(a-b)+1, title)
		m := y.at(shown(v.Quartiles[1]))
		d.line("median", mid-box/2, m, mid+box/2, m)
		d.dot("step", mid, y.at(shown(v.Best)), 3, title)
		if i%every == 0 || v.Value == winner {
			d.label("tick", "middle", mid, h-bottom+16, plain.Clip(v.Value, max(int(step*float64(every)/7), 3)))
		}
		if v.Value == winner {
			d.label("tick win", "middle", mid, h-bottom+30, "▲ best")
		}
	}
	d.line("axis", left, h-bottom, width-right, h-bottom)
	return d.html()
}

// pair draws the best cost at each combination of the values of two parameters.
func (r *Run) pair(a, b int) template.HTML {
	type cell struct {
		cost  float64
		count int
	}
	cells := map[[2]int32]cell{}
	var rows, columns []int32
	for i := range r.Table.Rows {
		row := &r.Table.Rows[i]
		x, y := row.Choice(a), row.Choice(b)
		if !row.Counts() || x < 0 || y < 0 {
			continue
		}
		c, ok := cells[[2]int32{x, y}]
		if !ok || row.Cost < c.cost {
			c.cost = row.Cost
		}
		c.count++
		cells[[2]int32{x, y}] = c
		columns, rows = append(columns, x), append(rows, y)
	}
	distinct := func(list []int32) []int32 {
		slices.Sort(list)
		return slices.Compact(list)
	}
	columns, rows = distinct(columns), distinct(rows)
	if len(columns) < 2 || len(rows) < 2 || len(columns) > mostCells || len(rows) > mostCells {
		return ""
	}
	low, high := math.Inf(1), math.Inf(-1)
	for _, c := range cells {
		low, high = min(low, c.cost), max(high, c.cost)
	}
	share := func(cost float64) float64 {
		switch {
		case low == high:
			return 1
		case low > 0:
			return 1 - math.Log(cost/low)/math.Log(high/low)
		}
		return 1 - (cost/2-low/2)/(high/2-low/2)
	}
	pa, pb := &r.Table.Parameters[a], &r.Table.Parameters[b]
	const size = 26.0
	from := 110.0
	h := top + size*float64(len(rows)) + bottom
	step := min((width-from-right)/float64(len(columns)), 60)
	d := newDrawing(width, h, fmt.Sprintf("best costs by %s and %s", pa.Name, pb.Name), fmt.Sprintf("from %s to %s; the darker the better", r.Unit.Words(low), r.Unit.Words(high)))
	for j, y := range rows {
		at := top + size*float64(len(rows)-1-j)
		d.label("tick", "end", from-6, at+size/2+4, plain.Clip(pb.Values[y], 9))
		for i, x := range columns {
			c, ok := cells[[2]int32{x, y}]
			if !ok {
				continue
			}
			class := fmt.Sprintf("heat h%d", int(math.Round(10*share(c.cost))))
			if c.cost == low {
				class += " win"
			}
			d.rect(class, from+step*float64(i)+0.5, at+0.5, step-1, size-1, fmt.Sprintf("%s=%s %s=%s: best %s of %d", pa.Name, pa.Values[x], pb.Name, pb.Values[y], r.Unit.Words(c.cost), c.count))
		}
	}
	every := max(1, int(math.Ceil(34/step)))
	for i, x := range columns {
		if i%every == 0 {
			d.label("tick", "middle", from+step*(float64(i)+0.5), h-bottom+16, plain.Clip(pa.Values[x], max(int(step*float64(every)/7), 3)))
		}
	}
	d.label("name", "middle", from+step*float64(len(columns))/2, h-bottom+32, clip(pa.Name))
	fmt.Fprintf(&d.b, `<text class="name" text-anchor="middle" transform="translate(13 %s) rotate(-90)">%s</text>`, number((top+h-bottom)/2), text(clip(pb.Name)))
	return d.html()
}

// Usage is how much of each unit of a machine is used in each cycle.
type Usage struct {
	Units    []string
	Limits   []int     // slots of each unit in a cycle
	Bounds   []int     // cycles that each unit needs at least
	Cycles   [][]uint8 // of each cycle, the slots that each unit used
	Bound    int       // cycles that any program with these slots needs at least
	Limiting string    // what that bound comes from
}

// usage draws the units over the cycles.
func (u *Usage) usage() template.HTML {
	const columns = 280
	const lane = 26.0
	h := top + lane*float64(len(u.Units)) + bottom
	d := newDrawing(width, h, "use of the engines by cycle", fmt.Sprintf("%d cycles; the bound is %d, by %s", len(u.Cycles), u.Bound, u.Limiting))
	n := min(columns, len(u.Cycles))
	if n == 0 {
		return ""
	}
	step := (width - left - right) / float64(n)
	for k, name := range u.Units {
		y := top + lane*float64(k)
		d.label("tick", "end", left-6, y+lane/2+4, name)
		for c := range n {
			from, to := c*len(u.Cycles)/n, max((c+1)*len(u.Cycles)/n, c*len(u.Cycles)/n+1)
			used := 0
			for _, cycle := range u.Cycles[from:to] {
				used += int(cycle[k])
			}
			share := float64(used) / float64(max(u.Limits[k], 1)*(to-from))
			if used > 0 {
				d.rect(fmt.Sprintf("heat h%d", max(int(math.Round(10*share)), 1)), left+step*float64(c), y+1, step+0.1, lane-2,
					fmt.Sprintf("%s, cycles %d to %d: %.0f %%", name, from, to-1, 100*share))
			}
		}
	}
	d.horizontal(newAxis(0, float64(len(u.Cycles)), left, width-right, false, "cycle"), h-bottom)
	return d.html()
}

// overlay draws the best so far of several runs with the same unit, over evaluations.
func overlay(runs []*Run) template.HTML {
	var costs []float64
	most := 0
	for _, r := range runs {
		for _, row := range r.improvements(false) {
			costs = append(costs, row.Cost)
		}
		most = max(most, r.Table.Seen)
	}
	if len(costs) == 0 {
		return ""
	}
	h := height + laneHeight*1.4*float64(len(runs))
	d := newDrawing(width, h, "best so far", plain.Count(len(runs), "run"))
	y, shown := costAxis(runs[0].Unit, costs, height-bottom, top)
	x := newAxis(0, float64(most), left, width-right, false, "evaluation")
	d.vertical(y)
	d.horizontal(x, height-bottom)
	for k, r := range runs {
		class := fmt.Sprintf("best c%d", k%8)
		var path stairs
		for _, row := range r.improvements(false) {
			path.to(x.at(float64(row.Number+1)), y.at(shown(row.Cost)))
		}
		if path.text.Len() > 0 {
			fmt.Fprintf(&d.b, `<path class="%s" d="%sH%s"><title>%s</title></path>`, class, path.text.String(), number(x.at(float64(r.Table.Seen))), text(r.Name))
		}
		at := height + laneHeight*1.4*(float64(k)+0.5)
		d.line(class, left, at, left+24, at)
		d.label("tick", "start", left+30, at+4, plain.Clip(r.Name, 80))
	}
	return d.html()
}
