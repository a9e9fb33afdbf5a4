package space

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Goal is a number of outcomes that a search makes as small as it can, or as large.
type Goal struct {
	Metric   string // its name; "" is the cost
	Maximise bool
}

// Goals are what a search with several objectives looks for: outcomes of which no other is better in one of them and worse in none. The
// first is the cost, so that everything that ranks outcomes by one number goes by that; see Objective. No goals, or one, mean the cost
// alone.
type Goals []Goal

// Words for goals. In place of a word, a goal may be named by its metric; a word is also the name of a metric that is called so.
const (
	goalCost    = "cost"
	goalTime    = "time"
	goalError   = "error"
	goalSize    = "size"
	goalLargest = ":maximise"
	goalLeast   = ":minimise"
)

// MetricCodeBytes is the size of the machine code of a native candidate.
const MetricCodeBytes = "code_bytes"

// goalMetrics are the metrics of words.
var goalMetrics = map[string]string{goalError: MetricMaxError, goalSize: MetricCodeBytes}

// ParseGoals reads goals from their text, such as time,error or cost,throughput:maximise, for a kernel whose costs have a unit. "" are no
// goals.
func ParseGoals(text, unit string) (Goals, error) {
	var goals Goals
	for i, word := range strings.Split(text, ",") {
		word = strings.TrimSpace(word)
		var g Goal
		name, largest := strings.CutSuffix(word, goalLargest)
		name, least := strings.CutSuffix(name, goalLeast)
		g.Maximise = largest
		_, timed := Unit(unit).isTime()
		isCost := name == goalCost || name == unit || name == goalTime && timed
		switch {
		case text == "":
			return nil, nil
		case name == "" || strings.ContainsAny(name, ": \t<>=*"):
			return nil, fmt.Errorf("%q is no objective: want a word such as time or error, or the name of a metric, with :maximise behind it where more is better", word)
		case largest && least || isCost && largest:
			return nil, fmt.Errorf("%q: the cost is minimised", word)
		case i == 0 && !isCost:
			return nil, fmt.Errorf("%q cannot be the first objective: want the cost, which is called cost or %s here", word, unit)
		case i > 0 && isCost:
			return nil, fmt.Errorf("%q is the cost again", word)
		case !isCost:
			g.Metric = name
		}
		if slices.ContainsFunc(goals, func(h Goal) bool { return h.same(g) }) {
			return nil, fmt.Errorf("%q is there twice", word)
		}
		goals = append(goals, g)
	}
	if len(goals) > mostGoals {
		return nil, fmt.Errorf("%d objectives: want %d at most", len(goals), mostGoals)
	}
	return goals, nil
}

// mostGoals bounds how many goals a search has. With more of them, hardly any point is worse than another in all.
const mostGoals = 6

// String is the inverse of ParseGoals.
func (g Goals) String() string {
	var words []string
	for _, goal := range g {
		words = append(words, goal.String())
	}
	return strings.Join(words, ",")
}

// String names the goal.
func (g Goal) String() string {
	name := cmp.Or(g.Metric, goalCost)
	if g.Maximise {
		name += goalLargest
	}
	return name
}

// Several reports whether there is more than one goal.
func (g Goals) Several() bool { return len(g) > 1 }

// Measured returns the number of an outcome that the goal is about, as it is measured. ok is false where the outcome does not have it.
func (g Goal) Measured(o Outcome) (v float64, ok bool) {
	if g.Metric == "" {
		return o.Cost, o.Status == OK
	}
	if v, ok = o.Metric(g.Metric); !ok && goalMetrics[g.Metric] != "" {
		return o.Metric(goalMetrics[g.Metric])
	}
	return v, ok
}

// same reports whether two goals are of one number.
func (g Goal) same(h Goal) bool {
	return cmp.Or(goalMetrics[g.Metric], g.Metric) == cmp.Or(goalMetrics[h.Metric], h.Metric)
}

// Sizes reports whether a goal may be the size of the code.
func (g Goals) Sizes() bool { return slices.ContainsFunc(g, Goal{Metric: MetricCodeBytes}.same) }

// Values returns what is minimised: a number for each goal, which for goals to maximise is the negative. ok is false where the outcome
// failed, or lacks a metric.
func (g Goals) Values(o Outcome) (values []float64, ok bool) {
	if o.Status != OK {
		return nil, false
	}
	values = make([]float64, max(len(g), 1))
	values[0] = Objective{}.Value(o)
	for i, goal := range g {
		v, ok := goal.Measured(o)
		if !ok {
			return nil, false
		}
		if goal.Maximise {
			v = -v
		}
		values[i] = v
	}
	return values, true
}

// Lacking returns an error that names the first goal whose metric an outcome does not have; nil where it has all.
func (g Goals) Lacking(o Outcome) error {
	for _, goal := range g {
		if _, ok := goal.Measured(o); ok {
			continue
		}
		var names []string
		for _, m := range o.Metrics {
			names = append(names, m.Name)
		}
		if len(names) == 0 {
			return fmt.Errorf("%s: this kernel has no metrics beside its cost", goal.Metric)
		}
		return fmt.Errorf("%s: this kernel has no such metric: want one of %s%s", goal.Metric, strings.Join(names, ", "), DidYouMean(goal.Metric, names))
	}
	return nil
}
