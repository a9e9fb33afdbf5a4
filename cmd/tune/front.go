package main

import (
	"cmp"
	"fmt"
	"text/tabwriter"

	"tune"
	"tune/internal/plain"
	"tune/space"
)

// mostFront is how many points of a front the summary shows.
const mostFront = 20

// printFront shows the front of a run with several objectives.
func (a *app) printFront(r *tune.Report) {
	if !r.Goals.Several() {
		return
	}
	fmt.Fprintf(a.stdout, "front     %s that no other point beats in %s\n", plain.Count(len(r.Front), "point"), plain.Line(r.Goals.String()))
	if len(r.Front) == 0 {
		return
	}
	unit := space.Unit(r.Settings.Unit)
	t := tabwriter.NewWriter(a.stdout, 0, 8, 2, ' ', 0)
	for _, g := range r.Goals {
		fmt.Fprintf(t, "%s\t", plain.Line(cmp.Or(g.Metric, "cost")))
	}
	fmt.Fprintln(t, "point")
	for _, e := range r.Front[:min(len(r.Front), mostFront)] {
		for _, g := range r.Goals {
			v, _ := g.Measured(e.Outcome)
			text := metricText(v)
			if g.Metric == "" {
				text = unit.Words(v)
			}
			fmt.Fprintf(t, "%s\t", text)
		}
		fmt.Fprintln(t, plain.Line(e.Key))
	}
	t.Flush()
	if more := len(r.Front) - mostFront; more > 0 {
		fmt.Fprintf(a.stdout, "          and %d more: --json has all\n", more)
	}
	fmt.Fprintf(a.stdout, "pick      tune export %s --pick %s\n", plain.ShellWord(r.Dir), plain.ShellWord(r.Goals.Pick()))
}

// frontJSON is a point of a front as JSON.
type frontJSON struct {
	Trial  int                `json:"trial"`
	Key    string             `json:"key"`
	Values map[string]float64 `json:"values"` // by objective, as measured
}

// frontOf returns the front of a run.
func frontOf(r *tune.Report) (out []frontJSON) {
	for _, e := range r.Front {
		one := frontJSON{e.Number, e.Key, map[string]float64{}}
		for _, g := range r.Goals {
			one.Values[cmp.Or(g.Metric, "cost")], _ = g.Measured(e.Outcome)
		}
		out = append(out, one)
	}
	return out
}
