package report

import (
	"fmt"
	"html/template"
	"slices"

	"tune/internal/plain"
	"tune/results"
	"tune/results/insight"
	"tune/space"
)

// Plot is a drawing, and the same as tables.
type Plot struct {
	Caption string
	Drawing template.HTML
	Numbers []Numbers
	Notes   []string // sentences about what the drawing leaves out
}

// note adds a sentence about what is left out.
func (p *Plot) note(format string, args ...any) {
	p.Notes = append(p.Notes, fmt.Sprintf(format, args...))
}

// plots are those of the given ones that have something to show.
func plots(all ...Plot) []Plot {
	return slices.DeleteFunc(all, func(p Plot) bool { return p.Drawing == "" })
}

// Numbers is a table.
type Numbers struct {
	Title string
	Head  []string
	Rows  [][]Cell
	Left  int // how many further rows are left out
}

// add adds a row.
func (n *Numbers) add(cells ...Cell) { n.Rows = append(n.Rows, cells) }

// limit leaves out all rows but the first.
func (n *Numbers) limit(most int) {
	n.Left += max(len(n.Rows)-most, 0)
	n.Rows = n.Rows[:min(len(n.Rows), most)]
}

// Cell is a cell of a table: what it says, and the number that it is sorted by, if it has one.
type Cell struct {
	Text   string
	Number bool
	Value  float64
}

func words(text string) Cell { return Cell{Text: text} }

// Valued is a cell with a number that people read otherwise.
func Valued(text string, value float64) Cell { return Cell{text, space.Finite(value), value} }

// Counted is a cell with a count.
func Counted(n int) Cell { return Valued(plain.Number(float64(n)), float64(n)) }

// counting is plain.Count with thousands apart, as numbers in tables have them.
func counting(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return plain.Number(float64(n)) + " " + what + "s"
}

// shared is a cell with a share.
func shared(share float64) Cell {
	if share == noShare {
		return words("–")
	}
	return Valued(fmt.Sprintf("%.1f %%", 100*share), share)
}

func (r *Run) cost(cost float64) Cell { return Valued(r.Unit.Words(cost), cost) }

// mostKey is how many bytes of a point a table of a chart shows.
const mostKey = 200

// progress are the tables of the outcomes over their number or over time: the best so far, the last first. Over their number they have the
// points too, and a table says how many have which status: that is not said again over time.
func (r *Run) progress(overTime bool, most int) []Numbers {
	best := Numbers{Title: "The best so far", Head: []string{"outcome", "after", "cost"}}
	if !overTime {
		best.Head = append(best.Head, "point")
	}
	for _, row := range slices.Backward(r.improvements(overTime)) {
		best.add(Valued(fmt.Sprintf("#%d", row.Number), float64(row.Number)), Valued(r.after(row.Elapsed), row.Elapsed), r.cost(row.Cost))
		if last := &best.Rows[len(best.Rows)-1]; !overTime {
			*last = append(*last, words(plain.Clip(r.Table.Key(row), mostKey)))
		}
	}
	best.limit(most)
	if overTime {
		return []Numbers{best}
	}
	return []Numbers{best, r.statuses()}
}

// statuses says how many outcomes have which status.
func (r *Run) statuses() Numbers {
	status := Numbers{Title: "Outcomes by status", Head: []string{"status", "outcomes"}}
	if r.Table.Stride > 1 {
		status.Title = "The outcomes that are drawn, by status"
	}
	count, reduced := map[space.Status]int{}, 0
	for i := range r.Table.Rows {
		if row := &r.Table.Rows[i]; row.Reduced && row.Status == space.OK {
			reduced++
		} else {
			count[row.Status]++
		}
	}
	for _, s := range space.Statuses() {
		if count[s] > 0 {
			status.add(words(s.String()), Counted(count[s]))
		}
	}
	if reduced > 0 {
		status.add(words(space.OK.String()+", of reduced fidelity"), Counted(reduced))
	}
	return status
}

// valueNumbers is the table of the chart of a parameter.
func (r *Run) valueNumbers(e insight.Effect, values []insight.ValueEffect, winner string) Numbers {
	n := Numbers{
		Title: "Costs by " + e.Parameter, Left: len(e.Values) - len(values),
		Head: []string{"value", "candidates", "best", "lower quartile", "median", "upper quartile"},
	}
	for _, v := range values {
		name := v.Value
		if name == winner {
			name += " (of the best)"
		}
		n.add(Valued(name, float64(v.Order())), Counted(v.Count), r.cost(v.Best), r.cost(v.Quartiles[0]), r.cost(v.Quartiles[1]), r.cost(v.Quartiles[2]))
	}
	return n
}

// TopOutcome is one of the best outcomes, with all that was measured of it.
type TopOutcome struct {
	Number  int
	Key     string
	Cost    float64
	Elapsed float64 // seconds
	Metrics []space.Metric
}

const (
	// mostTop is how many of the best outcomes have their metrics on a page, leastTop how many where it has several runs.
	mostTop  = 10
	leastTop = 3
	// mostMetrics is how many metrics these show.
	mostMetrics = 32
)

// readTop finds the best outcomes, the best first. It reads the metrics only of those that are among the best so far.
func (r *Run) readTop(h results.History) {
	var top []space.Entry
	among := func(e *space.Entry) bool {
		return e.Outcome.Counts() && (len(top) < mostTop || space.Objective{}.Less(e.Outcome, top[mostTop-1].Outcome))
	}
	for round, err := range results.Only(h, among) {
		if err != nil {
			break // the page of the run says so of the journal
		}
		for i := range round.Entries {
			e := &round.Entries[i]
			if !among(e) {
				continue
			}
			at, _ := slices.BinarySearchFunc(top, e.Outcome, func(have space.Entry, o space.Outcome) int {
				if (space.Objective{}).Less(o, have.Outcome) {
					return 1
				}
				return -1 // of equal ones the first comes first
			})
			top = slices.Insert(top, at, *e)
			top = top[:min(len(top), mostTop)]
		}
	}
	for _, e := range top {
		r.Top = append(r.Top, TopOutcome{e.Number, e.PointKey(), e.Outcome.Cost, e.Elapsed, e.Outcome.Metrics})
	}
}

// topNumbers is the table of the best outcomes, at most the given number, with sentences about what it leaves out; nil where there is none.
func (r *Run) topNumbers(most int) (n *Numbers, left []string) {
	if len(r.Top) == 0 {
		return nil, nil
	}
	var names []string
	top := r.Top[:min(len(r.Top), most)]
	for _, o := range top {
		for _, m := range o.Metrics {
			if !slices.Contains(names, m.Name) {
				names = append(names, m.Name)
			}
		}
	}
	if len(top) < len(r.Top) {
		left = append(left, fmt.Sprintf("A page of several runs shows the %d best outcomes of each; a page of this run alone shows %d.", len(top), len(r.Top)))
	}
	if len(names) > mostMetrics {
		left = append(left, fmt.Sprintf("Of %d metrics, the first %d are shown.", len(names), mostMetrics))
		names = names[:mostMetrics]
	}
	n = &Numbers{Title: "The best outcomes of the search", Head: slices.Concat([]string{"outcome", "cost"}, names, []string{"after", "point"})}
	for _, o := range top {
		row := []Cell{Valued(fmt.Sprintf("#%d", o.Number), float64(o.Number)), r.cost(o.Cost)}
		for _, name := range names {
			cell := words("")
			if v, ok := space.FindMetric(o.Metrics, name); ok {
				cell = Valued(metricWords(space.Metric{Name: name, Value: v}), v)
			}
			row = append(row, cell)
		}
		n.add(append(row, Valued(r.after(o.Elapsed), o.Elapsed), words(o.Key))...)
	}
	return n, left
}
