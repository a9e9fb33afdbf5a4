package report

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strings"

	"tune/internal/plain"
	"tune/results"
)

// strips draws what was measured at the end.
func (r *Run) strips(room portion) (out []Plot) {
	if r.Final == nil {
		return nil
	}
	pairs := 0
	for _, c := range slices.Concat(r.Final.First, r.Final.Confirmed, r.Final.Peers) {
		pairs += len(c.Ratios)
	}
	most := room.of(mostDots, 60)
	every := max((pairs+most-1)/most, 1)
	for _, s := range []struct {
		caption, name, axis string
		confirmed           bool
		list                []results.Compared
	}{
		{"The finalists, pair by pair: the baseline's cost over theirs, so that those right of 1 are faster", "finalists", "baseline / finalist", false, r.Final.First},
		{"Measured again, with the baseline alone", "confirmation", "baseline / finalist", true, r.Final.Confirmed},
		{"The best beside peers, pair by pair: their costs over its own, so that it is faster than those right of 1", "peers", "peer / best", false, r.Final.Peers},
	} {
		list, left := r.fewer(s.list, room.of(mostStrips, 6))
		drawing := r.strip(s.name, s.axis, r.level(s.confirmed), list, every)
		if drawing == "" {
			continue
		}
		p := Plot{s.caption, drawing, []Numbers{stripNumbers(s.axis, r.level(s.confirmed), list)}, nil}
		if p.Numbers[0].Left = left; left > 0 {
			p.note("Of %d comparisons, %d are shown.", len(s.list), len(list))
		}
		if every > 1 {
			p.note("Of each comparison, one pair in %d is drawn.", every)
		}
		out = append(out, p)
	}
	return out
}

// fewer returns the first comparisons, at most the given number, and how many are left out. It keeps the one of the exported point.
func (r *Run) fewer(list []results.Compared, most int) (some []results.Compared, left int) {
	some, left = first(list, most)
	some = slices.Clone(some)
	for _, c := range list[len(some):] {
		if c.Key != "" && c.Key == r.Schedule.Key {
			some[len(some)-1] = c
		}
	}
	return some, left
}

// PairsMissing says that the pairs of a comparison are not there; "" where they are, or where there were none.
func (r *Run) PairsMissing() string {
	if s := r.Schedule; r.Final != nil || s == nil || s.Pairs == 0 && (s.Closest == nil || s.Closest.Pairs == 0) {
		return ""
	}
	return "The single pairs are not shown: there is no " + results.FinalName + " of this schedule."
}

// strip draws a line of dots for each comparison, a dot for every n-th pair, with the ratio and its interval; "" where there are none.
func (r *Run) strip(name, of, level string, list []results.Compared, every int) template.HTML {
	const lane = 34.0
	low, high := 1.0, 1.0
	var rows []results.Compared
	for _, c := range list {
		if c.Ratio == 0 && c.Failed == "" {
			continue
		}
		rows = append(rows, c)
		values := c.Ratios
		if c.Ratio > 0 {
			values = append([]float64{c.Ratio}, values...)
		}
		if c.Interval != nil {
			values = append(values, c.Interval[0], c.Interval[1])
		}
		for _, v := range values {
			low, high = min(low, v), max(high, v)
		}
	}
	if len(rows) == 0 {
		return ""
	}
	floor := top + lane*float64(len(rows))
	d := newDrawing(width, floor+bottom, name, fmt.Sprintf("ratios of %s, %s", counting(len(rows), "comparison"), of), fmt.Sprintf(`class="strips" data-series="%s"`, name))
	const from = labelWidth*float64(mostLabel) - 20
	x := newAxis(low, high, from, width-right, true, of)
	ticks := x.ticks()
	words := ticksWords(ticks)
	for i, v := range ticks {
		d.line("grid", x.at(v), top, x.at(v), floor)
		d.label("tick", "middle", x.at(v), floor+16, words[i])
	}
	d.line("axis", from, floor, width-right, floor)
	d.label("name", "middle", (x.from+x.to)/2, floor+32, of)
	d.line("baseline", x.at(1), top, x.at(1), floor)
	labels := labelsOf(rows)
	for i, c := range rows {
		d.stripRow(x, top+lane*float64(i), lane, c, labels[i], level, c.Key == r.Schedule.Key, every)
	}
	return d.html()
}

// stripNumbers is the table of comparisons: each ratio with its interval, and the pairs that are furthest apart.
func stripNumbers(of, level string, list []results.Compared) Numbers {
	n := Numbers{Title: "Ratios", Head: []string{"what", of, "interval (" + level + ") from", "to", "pairs", "least of a pair", "greatest"}}
	for _, c := range list {
		name := words(plain.Clip(cmp.Or(c.Name, c.Key), mostKey))
		if c.Failed != "" {
			n.add(name, words("failed: "+plain.Clip(plain.Line(c.Failed), mostKey)), words(""), words(""), Counted(c.Pairs), words(""), words(""))
			continue
		}
		if c.Ratio == 0 {
			continue
		}
		ends, far := []Cell{words(""), words("")}, []Cell{words(""), words("")}
		if c.Interval != nil {
			ends = []Cell{Valued(times(c.Interval[0]), c.Interval[0]), Valued(times(c.Interval[1]), c.Interval[1])}
		}
		if len(c.Ratios) > 0 {
			low, high := slices.Min(c.Ratios), slices.Max(c.Ratios)
			far = []Cell{Valued(times(low), low), Valued(times(high), high)}
		}
		n.add(slices.Concat([]Cell{name, Valued(times(c.Ratio), c.Ratio)}, ends, []Cell{Counted(c.Pairs)}, far)...)
	}
	return n
}

// labelsOf are short names for comparisons: of points, the values in which they differ.
func labelsOf(rows []results.Compared) (labels []string) {
	count := map[string]int{}
	for _, c := range rows {
		for _, value := range strings.Fields(c.Key) {
			count[value]++
		}
	}
	for _, c := range rows {
		values := slices.DeleteFunc(strings.Fields(c.Key), func(value string) bool { return count[value] == len(rows) })
		labels = append(labels, cmp.Or(c.Name, strings.Join(values, " "), c.Key))
	}
	return labels
}

// stripRow draws one comparison at a height.
func (d *drawing) stripRow(x axis, y, lane float64, c results.Compared, name, level string, exported bool, every int) {
	who, class, label := cmp.Or(c.Name, c.Key), "interval", "tick"
	if exported {
		class, label = class+" win", "tick win"
	}
	middle := y + lane/2
	d.label(label, "end", x.from-6, middle+4, clip(name))
	if c.Failed != "" {
		d.label("tick", "start", x.from+6, middle+4, plain.Clip("failed: "+plain.Line(c.Failed), 60))
		return
	}
	about := fmt.Sprintf("%s: %s of %s", plain.Clip(who, 200), times(c.Ratio), counting(c.Pairs, "pair"))
	if c.Unverified {
		about += ", unverified"
	}
	if c.Interval != nil {
		about += fmt.Sprintf(", interval %s to %s (%s)", times(c.Interval[0]), times(c.Interval[1]), level)
		d.rect(class, x.at(c.Interval[0]), y+5, max(x.at(c.Interval[1])-x.at(c.Interval[0]), 1), lane-10, about)
	}
	// The dots of one comparison are at different heights, because most of them have almost the same place.
	const heights = 5
	for i := 0; i < len(c.Ratios); i += every {
		at := middle + (float64(i/every%heights)-(heights-1)/2.0)*3.5
		d.dot("pt pair", x.at(c.Ratios[i]), at, 2, fmt.Sprintf("%s, pair %d: %s", plain.Clip(name, 80), i+1, times(c.Ratios[i])))
	}
	d.line("median", x.at(c.Ratio), y+4, x.at(c.Ratio), y+lane-4)
	d.dot("step", x.at(c.Ratio), y+4, 3, about)
}

// times writes a ratio.
func times(ratio float64) string { return fmt.Sprintf("%.5g×", ratio) }
