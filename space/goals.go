package space

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Goal is a number of outcomes that a search makes as small as it can, or as large.
type Goal struct {
	Metric   string // its name; "" is the cost
	Maximise bool
	// Box is the size of a difference that does not count: of several points whose numbers lie in the same boxes, a front keeps one. It
	// is in the unit of the number or, where Percent is set, in percent of it; 0 means that all differences count.
	Box     float64
	Percent bool
}

// Goals are what a search with several objectives looks for: outcomes of which no other is better in one of them and worse in none. The
// first is the cost (ParseGoals puts it there), so that everything that ranks outcomes by one number goes by that; see Objective. No goals, or one, mean the cost
// alone.
type Goals []Goal

// Words for goals. In place of a word, a goal may be named by its metric; a word is also the name of a metric that is called so.
const (
	goalCost    = "cost"
	goalTime    = "time"
	goalError   = "error"
	goalSize    = "size"
	goalEnergy  = "energy"
	goalLargest = "maximise"
	goalLeast   = "minimise"
)

// goalMetrics are the metrics of words.
var goalMetrics = map[string]string{goalError: MetricMaxError, goalSize: MetricCodeBytes, goalEnergy: MetricEnergy}

// goalWord returns the word for a metric, or where it has none its name.
func goalWord(metric string) string {
	for word, name := range goalMetrics {
		if name == metric {
			return word
		}
	}
	return metric
}

// costWords are the words for the cost where that has a unit.
func costWords(unit string) []string {
	if _, timed := Unit(unit).isTime(); timed {
		return []string{goalCost, goalTime, unit}
	}
	return []string{goalCost, unit}
}

// ParseGoals reads goals from their text, such as time,error or cost,throughput:maximise, for a kernel whose costs have a unit. "" are no
// goals. The cost, which has to be among them, is the first of those that it returns: a front is the same in any order.
func ParseGoals(text, unit string) (Goals, error) {
	if text == "" {
		return nil, nil
	}
	var goals Goals
	costAt, ofCost := -1, costWords(unit)
	for i, word := range strings.Split(text, ",") {
		word = strings.TrimSpace(word)
		g, name, largest, least, known := splitGoal(word)
		isCost := slices.Contains(ofCost, name)
		switch {
		case name == "" || !known || strings.ContainsAny(name, " \t<>=*"):
			return nil, fmt.Errorf("%q is no objective: want a word such as time or error, or the name of a metric, with :maximise behind it where more is better, and :5%% or :0.1 where smaller differences do not count", word)
		case largest && least:
			return nil, fmt.Errorf("%q: want one of :%s and :%s", word, goalLargest, goalLeast)
		case isCost && largest:
			return nil, fmt.Errorf("%q: the cost is minimised: leave :maximise out", word)
		case isCost && costAt >= 0:
			return nil, fmt.Errorf("%q is the cost again: leave it out", word)
		case isCost:
			costAt = i
		default:
			g.Metric = name
		}
		if slices.ContainsFunc(goals, func(h Goal) bool { return h.same(g) }) {
			return nil, fmt.Errorf("%q is there twice", word)
		}
		goals = append(goals, g)
	}
	switch {
	case costAt < 0:
		first := goals[0].Metric
		return nil, fmt.Errorf("%q leaves out the cost: write %q, where the cost may be called %s; to tune %s alone, have it be the cost (in the file of a command by metric, with goal)%s",
			text, goalCost+","+text, strings.Join(ofCost[:len(ofCost)-1], ", ")+" or "+ofCost[len(ofCost)-1], first, DidYouMean(first, ofCost))
	case len(goals) > mostGoals:
		return nil, fmt.Errorf("%d objectives: want %d at most", len(goals), mostGoals)
	case len(goals) == 1 && goals[0].Box > 0:
		return nil, fmt.Errorf("%q: a difference that does not count is for fronts: want several objectives", strings.TrimSpace(text))
	}
	cost := goals[costAt]
	return slices.Insert(slices.Delete(goals, costAt, costAt+1), 0, cost), nil
}

// Directed returns the text of goals with a direction where it has none and more of the metric is better, as the kernel says it.
func Directed(text string, maximised []string) string {
	words := strings.Split(text, ",")
	for i, word := range words {
		if _, name, largest, least, _ := splitGoal(strings.TrimSpace(word)); !largest && !least && slices.Contains(maximised, name) {
			words[i] = strings.TrimSpace(word) + ":" + goalLargest
		}
	}
	return strings.Join(words, ",")
}

// Text is String with the direction of each goal that is minimised against what the kernel says, so that Directed leaves it.
func (g Goals) Text(maximised []string) string {
	var words []string
	for _, goal := range g {
		word := goal.String()
		if !goal.Maximise && slices.Contains(maximised, goal.Metric) {
			word += ":" + goalLeast
		}
		words = append(words, word)
	}
	return strings.Join(words, ",")
}

// splitGoal reads the parts of a goal: a name and what follows it, each behind a colon. known is false where that is nothing known.
func splitGoal(word string) (g Goal, name string, largest, least, known bool) {
	name, rest, more := strings.Cut(word, ":")
	for known = true; more && known; {
		var part string
		part, rest, more = strings.Cut(rest, ":")
		switch {
		case part == goalLargest:
			known, largest = !largest, true
		case part == goalLeast:
			known, least = !least, true
		default:
			number, percent := strings.CutSuffix(part, "%")
			v, err := strconv.ParseFloat(number, 64)
			known = err == nil && v > 0 && Finite(v) && g.Box == 0
			g.Box, g.Percent = v, percent
		}
	}
	g.Maximise = largest
	return g, name, largest, least, known
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
		name += ":" + goalLargest
	}
	if g.Box > 0 {
		name += ":" + strconv.FormatFloat(g.Box, 'g', -1, 64)
		if g.Percent {
			name += "%"
		}
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

// Needs reports whether a goal is about a metric.
func (g Goals) Needs(metric string) bool { return slices.ContainsFunc(g, Goal{Metric: metric}.same) }

// Measures returns the names of the metrics of Measured that are asked for, or that goals need.
func (g Goals) Measures(asked []string) (names []string) {
	for _, m := range measured {
		if slices.Contains(asked, m.Name) || g.Needs(m.Name) {
			names = append(names, m.Name)
		}
	}
	return names
}

// Exact returns the goals without boxes: all differences count.
func (g Goals) Exact() Goals {
	out := slices.Clone(g)
	for i := range out {
		out[i].Box, out[i].Percent = 0, false
	}
	return out
}

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

// box returns the place of a number, which is minimised, among the boxes of the goal: numbers in one box have the same, and a larger one
// never has a smaller place. Without boxes the number itself is its place.
func (g Goal) box(v float64) float64 {
	switch {
	case g.Box == 0 || v == 0:
		return v
	case !g.Percent:
		return math.Floor(v / g.Box)
	}
	// The ends of a box differ by that many percent.
	step := math.Log1p(g.Box / 100)
	if v < 0 {
		return -math.Exp(math.Ceil(math.Log(-v)/step) * step)
	}
	return math.Exp(math.Floor(math.Log(v)/step) * step)
}

// Lacking returns an error that names the first goal whose metric an outcome does not have; nil where it has all. measures says that the
// kernel also has the metrics of Measured, where a run asks for them.
func (g Goals) Lacking(o Outcome, measures bool) error {
	for _, goal := range g {
		if _, ok := goal.Measured(o); ok {
			continue
		}
		var names []string
		add := func(metric string) {
			if name := goalWord(metric); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		for _, m := range o.Metrics {
			add(m.Name)
		}
		for _, m := range measured {
			if measures {
				add(m.Name)
			}
		}
		if len(names) == 0 {
			return fmt.Errorf("%s: this kernel has no metrics beside its cost (a program can report more numbers: name them under metrics in its file)", goal.Metric)
		}
		return fmt.Errorf("%s: this kernel has no such metric: want one of %s%s", goal.Metric, strings.Join(names, ", "), DidYouMean(goal.Metric, names))
	}
	return nil
}
