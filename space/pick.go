package space

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// ErrNoPick says that no point of a front is what is picked.
var ErrNoPick = errors.New("no point of the front is within the limits: loosen one of them")

// Pick chooses a point of a front.
type Pick struct {
	limits []limit
	least  Goal // of what is left, the best of this
}

// limit bounds the number of a goal: as a number, or as a multiple of the best one on the front.
type limit struct {
	goal   Goal
	atMost bool
	value  float64
	best   bool
}

// ParsePick reads what is picked, such as "time <= 1.1*best, min error": limits on goals, and the goal that is then the best. Without
// one that is the cost.
func ParsePick(text string, goals Goals, unit string) (Pick, error) {
	var p Pick
	wrong := func(part string) error {
		return fmt.Errorf("%q is nothing to pick by: want limits and the goal that is best, such as \"time <= 1.1*best, min error\"", part)
	}
	find := func(name string) (Goal, error) {
		name = strings.TrimSpace(name)
		parsed, err := ParseGoals(goalCost+","+name, unit)
		if one, cerr := ParseGoals(name, unit); cerr == nil && len(one) == 1 {
			parsed, err = Goals{{}, one[0]}, nil
		}
		for _, g := range goals {
			if err == nil && len(parsed) == 2 && g.same(parsed[1]) {
				return g, nil
			}
		}
		return Goal{}, fmt.Errorf("%q is no objective of this run: want one of %s", name, goals)
	}
	chosen := false
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		word, name, _ := strings.Cut(part, " ")
		var err error
		switch sign := strings.IndexAny(part, "<>"); {
		case sign >= 0:
			l := limit{atMost: part[sign] == '<'}
			value, ok := strings.CutPrefix(part[sign+1:], "=")
			if !ok {
				return p, wrong(part)
			}
			if l.goal, err = find(part[:sign]); err != nil {
				return p, err
			}
			if l.value, l.best, ok = limitOf(value, l.goal, Unit(unit)); !ok {
				return p, wrong(part)
			}
			if _, isRate := Unit(unit).Rate(); isRate && l.goal.Metric == "" && !l.best {
				l.atMost = !l.atMost // the number limits the rate, whose inverse the cost is
			}
			p.limits = append(p.limits, l)
		case word == "min" || word == "max":
			if chosen {
				return p, fmt.Errorf("%q: only one goal can be the best", part)
			}
			chosen = true
			if p.least, err = find(name); err != nil {
				return p, err
			}
			if p.least.Maximise != (word == "max") {
				return p, fmt.Errorf("%q: the run has the objective %s", part, p.least)
			}
		default:
			return p, wrong(part)
		}
	}
	return p, nil
}

// limitOf reads a limit on a goal: 12.5, 1.1*best or best, and for a cost that is a time 2us too. Where the cost is the inverse of a rate, a
// number is the rate, as in 4Melem/s, and the value its cost.
func limitOf(text string, of Goal, unit Unit) (value float64, best, ok bool) {
	text = strings.TrimSpace(text)
	if text == "best" {
		return 1, true, true
	}
	text, best = strings.CutSuffix(text, "best")
	if best {
		if text, ok = strings.CutSuffix(strings.TrimSpace(text), "*"); !ok {
			return 0, false, false
		}
	}
	_, err := fmt.Sscanf(strings.TrimSpace(text)+"\n", "%g\n", &value)
	if _, isRate := unit.Rate(); of.Metric == "" && !best && (err != nil || isRate) {
		value, err = unit.Parse(text)
	}
	return value, best, err == nil && Finite(value)
}

// From returns the entry of a front that is picked; of equal ones the one with the least cost. The error of none is ErrNoPick.
func (p Pick) From(front []Entry) (Entry, error) {
	left := slices.Clone(front)
	for _, l := range p.limits {
		bound := l.value
		if l.best {
			best := math.Inf(1)
			for _, e := range front {
				best = min(best, l.goal.value(e))
			}
			if l.goal.Maximise {
				best = -best
			}
			if best < 0 { // 1.1 allows a tenth of its size beyond the best, whatever its sign
				bound = 2 - bound
			}
			bound *= best
		}
		left = slices.DeleteFunc(left, func(e Entry) bool {
			v, _ := l.goal.Measured(e.Outcome)
			return l.atMost && v > bound || !l.atMost && v < bound
		})
	}
	if len(left) == 0 {
		return Entry{}, ErrNoPick
	}
	return slices.MinFunc(left, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(p.least.value(a), p.least.value(b)), Objective{}.Compare(a, b))
	}), nil
}

// value is what is minimised of an entry of a front.
func (g Goal) value(e Entry) float64 {
	v, _ := g.Measured(e.Outcome)
	if g.Maximise {
		return -v
	}
	return v
}

// Pick returns a text that ParsePick reads: of points that cost little, the best in the second goal.
func (g Goals) Pick() string {
	if !g.Several() {
		return "min " + goalCost
	}
	word := "min "
	if g[1].Maximise {
		word = "max "
	}
	return goalCost + " <= 1.1*best, " + word + g[1].Metric
}
