// Package warm gives what earlier runs measured to strategies that have no model: they gain by sources that are right, and
// lose little by sources that mislead.
//
//  1. The best points of the sources come first ([search.Leaders]).
//  2. The strategy begins as it would without them, and hears of them only after some evaluations of its own. One that is
//     better than all that it found is then where it goes on from. Were they its first points, it would stay near them for
//     long, also where they lie in a poor local optimum.
//  3. A point that a source has measured waits while it was worse there than each of the better half of those that the
//     strategy has asked here. A source that ranks points otherwise than they rank here thus keeps nearly nothing back, and
//     a point that no source has measured never waits.
package warm

import (
	"math"
	"slices"

	"tune/search"
	"tune/space"
)

// Strategy is what can be warmed: it also learns from points that it did not ask for.
type Strategy interface {
	search.Strategy
	Learn([]space.Trial, []space.Outcome)
}

const (
	// alone is how many evaluations a strategy has before it hears of the leaders.
	alone = 24
	// compared is how many points that are measured both here and in a source it takes to keep others back.
	compared = 20
)

// New wraps a strategy that draws from fresh. The points of start are those that it begins with by itself. Without sources
// the strategy is returned as it is.
func New(inner Strategy, fresh *search.Fresh, start []space.Point, sources []space.Source) search.Strategy {
	if len(sources) == 0 {
		return inner
	}
	w := &warm{inner: inner, fresh: fresh}
	for _, p := range search.Leaders(sources, search.MostLeaders) {
		if !slices.ContainsFunc(start, p.Equal) {
			w.leaders = append(w.leaders, p)
		}
	}
	for _, source := range sources {
		r := &ranking{costs: map[string]float64{}, limit: math.Inf(1)}
		for _, o := range source.Observations {
			if o.Outcome.Fidelity != 0 {
				continue
			}
			key, cost := o.Point.Key(), space.Objective{}.Value(o.Outcome)
			if before, known := r.costs[key]; known {
				cost = min(cost, before)
			}
			r.costs[key] = cost
		}
		w.rankings = append(w.rankings, r)
	}
	fresh.Later = func(p space.Point) bool {
		key := p.Key()
		return slices.ContainsFunc(w.rankings, func(r *ranking) bool {
			cost, known := r.costs[key]
			return known && cost > r.limit
		})
	}
	return w
}

type warm struct {
	inner    Strategy
	fresh    *search.Fresh
	leaders  []space.Point // that are left to ask
	asking   bool          // whether the last batch was of leaders
	rankings []*ranking    // one a source
	told     int           // outcomes of the strategy's own points

	// What became of the leaders, until the strategy hears of it.
	trials   []space.Trial
	outcomes []space.Outcome
}

// Ask proposes the leaders, and then what the strategy does.
func (w *warm) Ask(p space.Progress) []space.Proposal {
	batch := search.Take(len(w.leaders), p, func() (space.Point, bool) {
		for len(w.leaders) > 0 {
			p := w.leaders[0]
			w.leaders = w.leaders[1:]
			if w.fresh.Mark(p) {
				return p, true
			}
		}
		return space.Point{}, false
	})
	if w.asking = len(batch) > 0; w.asking {
		return batch
	}
	return w.inner.Ask(p)
}

// Tell tells the strategy what it asked for, and the leaders when it is time.
func (w *warm) Tell(trials []space.Trial, outcomes []space.Outcome) {
	if w.asking {
		w.trials, w.outcomes = append(w.trials, trials...), append(w.outcomes, outcomes...)
		return
	}
	w.inner.Tell(trials, outcomes)
	for _, r := range w.rankings {
		r.compare(trials, outcomes)
	}
	if w.told += len(trials); w.told >= alone && len(w.trials) > 0 {
		w.inner.Learn(w.trials, w.outcomes)
		w.trials, w.outcomes = nil, nil
	}
}

// ranking is how a source ranks the points of the space.
type ranking struct {
	costs map[string]float64 // by key, +Inf where the point failed
	pairs []pair             // the cheapest here first
	limit float64            // the cost in the source above which points wait
}

// pair has the costs of one point.
type pair struct{ here, there float64 }

// compare learns from what was measured here.
func (r *ranking) compare(trials []space.Trial, outcomes []space.Outcome) {
	for i, t := range trials {
		if there, ok := r.costs[t.Point.Key()]; ok {
			here := space.Objective{}.Value(outcomes[i])
			at := len(r.pairs)
			for at > 0 && r.pairs[at-1].here > here {
				at--
			}
			r.pairs = slices.Insert(r.pairs, at, pair{here, there})
		}
	}
	if len(r.pairs) < compared {
		return
	}
	r.limit = math.Inf(-1)
	for _, p := range r.pairs[:len(r.pairs)/2] {
		r.limit = max(r.limit, p.there)
	}
}
