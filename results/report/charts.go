package report

import (
	"cmp"
	"fmt"
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
	// mostCells is how many values, or bins of values, a side of a heat map has at most.
	mostCells = 24
	// mostShares is how many shares are drawn.
	mostShares = 16
	// mostBins is into how many bars the costs are counted.
	mostBins = 48
)

// trace draws all outcomes over their number or over time: the right ones at their costs, the best so far as a line, the others below the
// axis by their status. Those of reduced fidelity are paler. Marks that would be on top of each other are drawn once.
func (r *Run) trace(overTime bool, room portion) Plot {
	if len(r.Table.Rows) == 0 {
		return Plot{}
	}
	costs, lanes := r.rightCosts(), r.lanes()
	name, of := "costs over evaluations", func(row *insight.Row) float64 { return float64(row.Number + 1) }
	label, caption := "evaluation", "Costs over evaluations; failures are below the axis"
	if overTime {
		unit, seconds := r.clock()
		caption = "Costs over time"
		name, label, of = "costs over time", unit, func(row *insight.Row) float64 { return row.Elapsed / seconds }
	}
	h := height + laneHeight*float64(len(lanes))
	d := newDrawing(width, h, name, fmt.Sprintf("%s, %s of them right", counting(len(r.Table.Rows), "outcome"), plain.Number(float64(len(costs)))), fmt.Sprintf(`class="trace" data-outcomes="%d"`, len(r.Table.Rows)))
	floor := height - bottom
	low, high := math.Inf(1), math.Inf(-1)
	for i := range r.Table.Rows {
		low, high = min(low, of(&r.Table.Rows[i])), max(high, of(&r.Table.Rows[i]))
	}
	x := newAxis(min(low, 0), max(high, 1e-9), left, width-right, false, label)
	x.whole = !overTime
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
		case len(costs) > 0: // of reduced fidelity: what is beyond the axis is at its end
			return "low", x.at(of(row)), y.at(min(max(shown(row.Cost), y.low), y.high)), true
		}
		return "", 0, 0, false
	}
	pale := func(is bool) func(*insight.Row) (string, float64, float64, bool) {
		return func(row *insight.Row) (class string, px, py float64, ok bool) {
			class, px, py, ok = place(row)
			return class, px, py, ok && (class == "low") == is
		}
	}
	marks, placed := r.apart(pale(false), room.marks())
	pales, palesPlaced := r.apart(pale(true), max(room.marks()/4, 1))
	marks, placed = append(pales, marks...), placed+palesPlaced
	for _, row := range marks {
		class, px, py, _ := place(row)
		title := fmt.Sprintf("#%d %s", row.Number, row.Status)
		switch {
		case row.Counts():
			title = fmt.Sprintf("#%d %s", row.Number, r.Unit.Words(row.Cost))
		case class == "low":
			title = fmt.Sprintf("#%d %s, of reduced fidelity", row.Number, r.Unit.Words(row.Cost))
		}
		d.dot(class, px, py, 1.8, title)
	}
	for i, status := range lanes {
		d.label("tick", "end", left-6, floor+laneHeight*(float64(i)+0.5)+4, status.String())
	}
	steps, rest := r.steps(d, overTime, room, func(row *insight.Row) (float64, float64) { return x.at(of(row)), y.at(shown(row.Cost)) }, x.to)
	d.horizontal(x, h-bottom)
	p := Plot{caption, d.html(), r.progress(overTime, room.rows()), nil}
	if len(marks) < placed {
		p.note("%s of %s outcomes have a mark of their own; the others would lie on these marks or beside them.", plain.Number(float64(len(marks))), plain.Number(float64(placed)))
	}
	if rest > 0 {
		p.note("Of the %s that were the best so far, the last %d are marked.", counting(steps+rest, "outcome"), steps)
	}
	if all, most := steps+rest, room.of(mostStairs, 40); all > most {
		p.note("The line goes through %d of them.", most)
	}
	return p
}

// apart returns rows whose marks are not on top of each other, at most the given number, and how many have a place.
func (r *Run) apart(place func(*insight.Row) (class string, x, y float64, ok bool), most int) (marks []*insight.Row, placed int) {
	type cell struct {
		class string
		x, y  int
	}
	for i := range r.Table.Rows {
		if _, _, _, ok := place(&r.Table.Rows[i]); ok {
			placed++
		}
	}
	for size := 1.0; ; size *= 1.4 {
		seen := map[cell]bool{}
		marks = marks[:0]
		for i := range r.Table.Rows {
			row := &r.Table.Rows[i]
			class, x, y, ok := place(row)
			if at := (cell{class, int(x / size), int(y / size)}); ok && !seen[at] {
				seen[at] = true
				if marks = append(marks, row); len(marks) > most {
					break
				}
			}
		}
		if len(marks) <= most {
			return marks, placed
		}
	}
}

// steps draws the best so far, with marks for the last ones. It returns how many have a mark, and how many none.
func (r *Run) steps(d *drawing, overTime bool, room portion, at func(*insight.Row) (float64, float64), end float64) (marked, rest int) {
	best := r.improvements(overTime)
	if len(best) == 0 {
		return 0, 0
	}
	var path stairs
	for _, row := range some(best, room.of(mostStairs, 40)) {
		path.to(at(row))
	}
	fmt.Fprintf(&d.b, `<path class="best" d="%sH%s"/>`, path.text.String(), number(end))
	rest = max(len(best)-room.of(mostSteps, 4), 0)
	for _, row := range best[rest:] {
		px, py := at(row)
		d.dot("step", px, py, 3, fmt.Sprintf("best so far: #%d %s after %s: %s", row.Number, r.Unit.Words(row.Cost), r.after(row.Elapsed), plain.Clip(r.Table.Key(row), 200)))
	}
	return len(best) - rest, rest
}

// some are rows at about equal distances, at most the given number, the first and the last among them.
func some(rows []*insight.Row, most int) []*insight.Row {
	if len(rows) <= most {
		return rows
	}
	out := make([]*insight.Row, most)
	for i := range out {
		out[i] = rows[i*(len(rows)-1)/(most-1)]
	}
	return out
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
		if len(out) == 0 || row.Less(out[len(out)-1]) {
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
func (r *Run) distribution(room portion) Plot {
	costs := r.rightCosts()
	if len(costs) < 2 {
		return Plot{}
	}
	bins := min(room.of(2*mostBins, 16), mostBins)
	y, shown := costAxis(r.Unit, costs, 0, float64(bins))
	counts := make([]int, bins)
	for _, c := range costs {
		counts[min(int(y.at(shown(c))), bins-1)]++
	}
	d := newDrawing(width, 200, "distribution of costs", counting(len(costs), "right outcome"))
	table := Numbers{Title: "Outcomes by cost", Head: []string{"from " + y.name, "to " + y.name, "outcomes"}}
	x := y
	x.from, x.to = left, width-right
	count := counted(0, float64(slices.Max(counts)), 200-bottom, top, "outcomes")
	d.vertical(count)
	step := (width - left - right) / float64(bins)
	for k, n := range counts {
		if n > 0 {
			at := count.at(float64(n))
			d.rect("bar", left+float64(k)*step+0.5, at, step-1, 200-bottom-at, fmt.Sprintf("%s %s: %s", tickWords(x.valueAt(left+(float64(k)+0.5)*step)), y.name, counting(n, "outcome")))
			from, to := y.valueAt(float64(k)), y.valueAt(float64(k+1))
			table.add(Valued(tickWords(from), from), Valued(tickWords(to), to), Counted(n))
		}
	}
	d.horizontal(x, 200-bottom)
	return Plot{"Distribution of the costs", d.html(), []Numbers{table}, nil}
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

// noShare stands for a share that was not computed.
const noShare = -1

// importance draws shares, those of the model beside those of the outcomes.
func importance(learned, measured *insight.Shares, room portion) Plot {
	shares := map[string][2]float64{}
	var names []string
	for side, list := range []*insight.Shares{learned, measured} {
		if list == nil {
			continue
		}
		for _, s := range slices.Concat(list.Single, list.Pairs) {
			name := strings.Join(s.Parameters, " × ")
			both, known := shares[name]
			if !known {
				names, both = append(names, name), [2]float64{noShare, noShare}
			}
			both[side] = s.Share
			shares[name] = both
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return byShares(shares[b], shares[a]) })
	names = slices.DeleteFunc(names, func(n string) bool { return max(shares[n][0], shares[n][1]) < 0.005 })
	if len(names) == 0 {
		return Plot{}
	}
	table, all := shareNumbers(names, shares, learned != nil, room.rows()), len(names)
	names = names[:min(len(names), room.of(2*mostShares, 6), mostShares)]
	h := top + 2*barHeight*float64(len(names)) + bottom
	d := newDrawing(width, h, "importance", "share of the variance of the costs by parameter and by pair")
	from := labelWidth*float64(mostLabel) - 20
	x := newAxis(0, 1, from, width-right-30, false, "share of the variance")
	for i, name := range names {
		y := top + 2*barHeight*float64(i)
		d.label("tick", "end", from-6, y+barHeight, clip(name))
		for side, of := range []string{"learned", "measured"} {
			v := shares[name][side]
			if v == noShare {
				continue
			}
			d.rect("bar "+of, from, y+float64(side)*(barHeight-3)+2, x.at(v)-from, barHeight-5, fmt.Sprintf("%s, %s: %.1f %%", name, of, 100*v))
		}
	}
	d.line("axis", from, top, from, h-bottom)
	for _, v := range []float64{0, 0.25, 0.5, 0.75, 1} {
		d.label("tick", "middle", x.at(v), h-bottom+16, fmt.Sprintf("%.0f %%", 100*v))
	}
	d.label("name", "middle", (x.from+x.to)/2, h-bottom+32, x.name)
	caption := "Importance in the outcomes"
	few := len(measured.Single) == 0
	switch {
	case few && learned.All:
		caption = "Importance: the model of all points"
	case few:
		caption = "Importance: the model of a sample of the points"
	case learned != nil && learned.All:
		caption = "Importance: the model of all points in colour, the outcomes in grey"
	case learned != nil:
		caption = "Importance: the model of a sample of the points in colour, the outcomes in grey"
	}
	p := Plot{caption, d.html(), []Numbers{table}, nil}
	if few {
		p.note("The outcomes have no shares of their own: too few are right.")
	}
	if len(names) < all {
		p.note("Of %d shares, the greatest %d are drawn.", all, len(names))
	}
	for _, side := range []struct {
		of     string
		shares *insight.Shares
	}{{"model", learned}, {"outcomes", measured}} {
		if side.shares != nil && side.shares.Overlap {
			p.note("The shares of the %s overlap: they add up to more than 100 %%, because parameters depend on each other, or because the points are few.", side.of)
		}
	}
	return p
}

// byShares orders shares as the line that says what mattered does: those of the model first, because in the outcomes much varies together.
func byShares(a, b [2]float64) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) }

// shareNumbers is the table of shares by the names of their parameters: of the model, where there is one, and of the outcomes.
func shareNumbers(names []string, shares map[string][2]float64, learned bool, most int) Numbers {
	n := Numbers{Title: "Shares of the variance", Head: []string{"parameters", "outcomes"}}
	if learned {
		n.Head = []string{"parameters", "model", "outcomes"}
	}
	for _, name := range names {
		row := []Cell{words(name)}
		if learned {
			row = append(row, shared(shares[name][0]))
		}
		n.add(append(row, shared(shares[name][1]))...)
	}
	n.limit(most)
	return n
}

// values draws the costs by value of a parameter: a box from quartile to quartile, the median, and the best.
func (r *Run) values(e insight.Effect, winner string, room portion) Plot {
	values := slices.Clone(e.Values)
	values = values[:min(len(values), room.of(2*mostValues, 10), mostValues)]
	slices.SortFunc(values, func(a, b insight.ValueEffect) int { return a.Order() - b.Order() })
	var costs []float64
	for _, v := range values {
		costs = append(costs, v.Best, v.Quartiles[2])
	}
	const h = 220.0
	caption, about := e.Parameter, counting(len(e.Values), "value")
	if len(values) < len(e.Values) {
		about = fmt.Sprintf("%d of %d values, those with the least costs", len(values), len(e.Values))
		caption += ": " + about
	}
	d := newDrawing(width, h, "costs by "+e.Parameter, about)
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
			r.Unit.Words(v.Quartiles[0]), r.Unit.Words(v.Quartiles[2]), counting(v.Count, "candidate"))
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
	return Plot{caption, d.html(), []Numbers{r.valueNumbers(e, values, winner)}, nil}
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
func (u *Usage) usage(room portion) Plot {
	const lane = 26.0
	h := top + lane*float64(len(u.Units)) + bottom
	d := newDrawing(width, h, "use of the engines by cycle", fmt.Sprintf("%d cycles; the bound is %d, by %s", len(u.Cycles), u.Bound, u.Limiting))
	n := min(room.of(mostColumns, 16), len(u.Cycles))
	if n == 0 {
		return Plot{}
	}
	step := (width - left - right) / float64(n)
	for k, name := range u.Units {
		y := top + lane*float64(k)
		d.label("tick", "end", left-6, y+lane/2+4, name)
		for c := range n {
			from, to := c*len(u.Cycles)/n, (c+1)*len(u.Cycles)/n
			if used, share := u.used(k, from, to); used > 0 {
				d.rect(fmt.Sprintf("heat h%d", max(int(math.Round(10*share)), 1)), left+step*float64(c), y+1, step+0.1, lane-2,
					fmt.Sprintf("%s, cycles %d to %d: %.0f %%", name, from, to-1, 100*share))
			}
		}
	}
	d.horizontal(counted(0, float64(len(u.Cycles)), left, width-right, "cycle"), h-bottom)
	return Plot{"Use of the engines by cycle; the darker the more", d.html(), []Numbers{u.numbers(room.of(mostRanges, 8))}, nil}
}

// used is how many slots of a unit a range of cycles uses, and which part of all.
func (u *Usage) used(unit, from, to int) (slots int, share float64) {
	for _, cycle := range u.Cycles[from:to] {
		slots += int(cycle[unit])
	}
	return slots, float64(slots) / float64(max(u.Limits[unit], 1)*(to-from))
}

// numbers is the table of the units: the slots that each uses in ranges of cycles.
func (u *Usage) numbers(ranges int) Numbers {
	table := Numbers{Title: "Slots that the engines use", Head: append([]string{"cycles"}, u.Units...)}
	n := min(ranges, len(u.Cycles))
	for c := range n {
		from, to := c*len(u.Cycles)/n, (c+1)*len(u.Cycles)/n
		row := []Cell{Valued(fmt.Sprintf("%d to %d", from, to-1), float64(from))}
		for k := range u.Units {
			slots, share := u.used(k, from, to)
			row = append(row, Valued(fmt.Sprintf("%d (%.0f %%)", slots, 100*share), share))
		}
		table.add(row...)
	}
	return table
}
