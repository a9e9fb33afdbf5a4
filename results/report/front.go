package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"tune/internal/plain"
	"tune/results"
	"tune/space"
)

// Front is what a run with several objectives found: the right outcomes of which no other is better in one objective and worse in none.
type Front struct {
	Goals  []string // their names
	Points []FrontPoint
	Pick   string // a command that exports one of them
	// Lacking is how many right outcomes lack a number that is an objective.
	Lacking int

	goals space.Goals
	dots  []frontDot // other right outcomes, every stride-th one
	// others is how many right outcomes with all numbers are not on the front.
	others int
}

// FrontPoint is a point of the front, the least cost first.
type FrontPoint struct {
	Number int
	Key    string
	Values []float64 // as measured, one for each objective
	Words  []string
}

// frontDot is an outcome that is not on the front.
type frontDot struct {
	number int
	values []float64
}

// readFront finds the front of a run with several objectives.
func (r *Run) readFront(h results.History) {
	goals, err := r.Settings.Goals()
	if err != nil {
		r.problem("the objectives cannot be read, so that there is no front: %v", err)
		return
	}
	if !goals.Several() {
		return
	}
	f := &Front{goals: goals, Pick: "tune export " + quoted(r.Name) + " --pick " + quoted(goals.Pick())}
	for _, g := range goals {
		f.Goals = append(f.Goals, cmp.Or(g.Metric, "cost"))
	}
	front, stride := space.NewFront(goals), 1
	for round, err := range h.Rounds() {
		if err != nil {
			break // the page of the run says so of the journal
		}
		for _, e := range round.Entries {
			values, ok := f.measured(e.Outcome)
			if !ok {
				if e.Outcome.Counts() {
					f.Lacking++
				}
				continue
			}
			front.Offer(e)
			f.others++
			if e.Number%stride != 0 {
				continue
			}
			if f.dots = append(f.dots, frontDot{e.Number, values}); len(f.dots) > 2*mostFrontDots {
				stride *= 2
				f.dots = slices.DeleteFunc(f.dots, func(d frontDot) bool { return d.number%stride != 0 })
			}
		}
	}
	on := map[int]bool{}
	for _, e := range front.Entries() {
		values, _ := f.measured(e.Outcome)
		on[e.Number] = true
		f.Points = append(f.Points, FrontPoint{e.Number, e.Key, values, f.words(r.Unit, values)})
	}
	f.others -= len(f.Points)
	f.dots = slices.DeleteFunc(f.dots, func(d frontDot) bool { return on[d.number] })
	r.Front = f
}

// quoted writes a word so that a POSIX shell reads it as that one word.
func quoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// measured returns the numbers of a right outcome that the objectives are about.
func (f *Front) measured(o space.Outcome) (values []float64, ok bool) {
	if !o.Counts() {
		return nil, false
	}
	for _, g := range f.goals {
		v, ok := g.Measured(o)
		if !ok || !space.Finite(v) {
			return nil, false
		}
		values = append(values, v)
	}
	return values, true
}

// words writes the numbers of an outcome.
func (f *Front) words(unit space.Unit, values []float64) (out []string) {
	for k, v := range values {
		if f.goals[k].Metric == "" {
			out = append(out, unit.Words(v))
		} else {
			out = append(out, plain.Number(v))
		}
	}
	return out
}

// draw draws each objective but the first over the first: all right outcomes, and the front.
func (f *Front) draw(unit space.Unit, room portion) (out []Plot) {
	if len(f.Points) == 0 {
		return nil
	}
	for k := 1; k < len(f.goals); k++ {
		out = append(out, f.drawOne(unit, k, room))
	}
	return out
}

// drawOne draws objective k over the cost. Of the other outcomes, those that are far away from the front are left out, so that the front has
// room.
func (f *Front) drawOne(unit space.Unit, k int, room portion) Plot {
	drawings := len(f.goals) - 1
	name := f.Goals[k]
	var costs, others []float64
	for _, p := range f.Points {
		costs, others = append(costs, p.Values[0]), append(others, p.Values[k])
	}
	dots, far := f.near(k, room.of(mostFrontDots/drawings, 40))
	for _, dot := range dots {
		costs, others = append(costs, dot.values[0]), append(others, dot.values[k])
	}
	low, high := slices.Min(others), slices.Max(others)
	points := f.Points[:min(len(f.Points), room.of(mostFrontPoints/drawings, 20))]
	about := f.about(len(points), len(dots), far)
	d := newDrawing(width, height, "front of cost and "+name, about, fmt.Sprintf(`class="front" data-points="%d"`, len(f.Points)))
	x, shown := costAxis(unit, costs, left, width-right)
	y := newAxis(low, high, height-bottom, top, true, clip(name)+map[bool]string{true: ", more is better"}[f.goals[k].Maximise])
	d.vertical(y)
	d.horizontal(x, height-bottom)
	title := func(number int, values []float64) string {
		words := f.words(unit, values)
		for i, w := range words {
			words[i] = f.Goals[i] + " " + w
		}
		return fmt.Sprintf("#%d %s", number, strings.Join(words, ", "))
	}
	for _, dot := range dots {
		d.dot("pt", x.at(shown(dot.values[0])), y.at(dot.values[k]), 1.8, title(dot.number, dot.values))
	}
	if len(f.goals) == 2 { // the line of what is known to be reached
		var path stairs
		for _, p := range points {
			path.to(x.at(shown(p.Values[0])), y.at(p.Values[k]))
		}
		fmt.Fprintf(&d.b, `<path class="best" d="%s"/>`, path.text.String())
	}
	for _, p := range points {
		d.dot("step", x.at(shown(p.Values[0])), y.at(p.Values[k]), 3.5, title(p.Number, p.Values)+": "+plain.Clip(p.Key, 200))
	}
	// The points of the front are in the table below the drawings.
	return Plot{Caption: about, Drawing: d.html()}
}

// about says what a drawing of the front shows of its points and of the other right outcomes, and what it leaves out.
func (f *Front) about(points, dots, far int) string {
	text := "The front of " + counting(len(f.Points), "point")
	if points < len(f.Points) {
		text += fmt.Sprintf(", of which the first %s are drawn", plain.Number(float64(points)))
	}
	if f.others == 0 {
		return text
	}
	text += fmt.Sprintf(", and %s of the %s other right outcomes beside it", plain.Number(float64(dots)), plain.Number(float64(f.others)))
	if far > 0 {
		text += "; those far from it are left out"
	}
	return text
}

// near returns outcomes beside the front, at most the given number, and how many are far from it: among the worst tenth in the cost or in
// objective k, and there worse than all of the front.
func (f *Front) near(k, most int) (dots []frontDot, far int) {
	loss := func(k int, values []float64) float64 { // what is minimised
		if f.goals[k].Maximise {
			return -values[k]
		}
		return values[k]
	}
	bound := func(k int) float64 {
		var all []float64
		for _, dot := range f.dots {
			all = append(all, loss(k, dot.values))
		}
		slices.Sort(all)
		worst := math.Inf(-1)
		for _, p := range f.Points {
			worst = max(worst, loss(k, p.Values))
		}
		if len(all) == 0 {
			return worst
		}
		return max(worst, all[(len(all)-1)*9/10])
	}
	cost, other := bound(0), bound(k)
	for _, dot := range f.dots {
		if loss(0, dot.values) > cost || loss(k, dot.values) > other {
			far++
			continue
		}
		dots = append(dots, dot)
	}
	step := max((len(dots)+most-1)/most, 1)
	some := dots[:0]
	for i := 0; i < len(dots); i += step {
		some = append(some, dots[i])
	}
	return some, far
}

// frontMarkdown writes the front as a table.
func (r *Run) frontMarkdown(b *strings.Builder) {
	f := r.Front
	if f == nil || len(f.Points) == 0 {
		return
	}
	if sense := f.Sense(); sense != "" {
		b.WriteString(cellOf(sense) + "\n\n")
	}
	for _, g := range f.Goals {
		fmt.Fprintf(b, "| %s ", cellOf(g))
	}
	b.WriteString("| point of the front |\n" + strings.Repeat("| ---: ", len(f.Goals)) + "| --- |\n")
	for _, p := range f.Points[:min(len(f.Points), mostFrontMarkdown)] {
		for _, w := range p.Words {
			fmt.Fprintf(b, "| %s ", cellOf(w))
		}
		fmt.Fprintf(b, "| %s |\n", cellOf(p.Key))
	}
	more := len(f.Points) - mostFrontMarkdown
	switch {
	case len(f.Points) > mostNumbers:
		fmt.Fprintf(b, "\n%d more are left out; the report of this run as HTML has the first %d.\n", more, mostNumbers)
	case more > 0:
		fmt.Fprintf(b, "\n%d more are in the report as HTML.\n", more)
	}
	b.WriteByte('\n')
}

// Lacks says how many right outcomes are left out; "" where none is.
func (f *Front) Lacks() string {
	switch f.Lacking {
	case 0:
		return ""
	case 1:
		return "One right outcome lacks one of these numbers."
	}
	return counting(f.Lacking, "right outcome") + " lack one of these numbers."
}

// Sense says of which numbers more is better, and which differences do not count; "" where less of all is better, and all count.
func (f *Front) Sense() string {
	var out []string
	for k, g := range f.goals {
		if g.Maximise {
			out = append(out, fmt.Sprintf("More %s is better.", f.Goals[k]))
		}
		if g.Box > 0 {
			size := plain.Number(g.Box)
			if g.Percent {
				size += " %"
			}
			out = append(out, fmt.Sprintf("Differences in %s of less than about %s do not count.", f.Goals[k], size))
		}
	}
	return strings.Join(out, " ")
}

// mostFrontMarkdown is how many points of a front a summary has.
const mostFrontMarkdown = 20
