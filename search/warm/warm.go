// Package warm lets strategies without a model use the measurements of earlier runs, the sources. Sources that are right help much;
// sources that mislead harm little.
//
//  1. The best points of the sources, the leaders, are evaluated first ([search.Leaders]).
//  2. The strategy begins as it would without sources. It learns of the leaders only after some evaluations of its own, and
//     continues from a leader that is better than everything that it has found. If it began with the leaders, it would stay near
//     them for long, even if they are in a poor local optimum.
//  3. A point that a source has measured is postponed while its cost in the source is higher than that of each point in the
//     better half of those that the strategy has evaluated. So a source that ranks points differently from this run postpones almost nothing,
//     and a point that no source has measured is never postponed.
package warm

import (
	"math"
	"slices"

	"tune/search"
	"tune/space"
)

// Strategy is a strategy that can also learn from points that it did not ask for.
type Strategy interface {
	search.Strategy
	Learn([]space.Trial, []space.Outcome)
}

// The constants that users cannot set. They were chosen by hand.
const (
	// alone is the number of evaluations after which a strategy learns of the leaders.
	alone = 24
	// compared is the number of points measured both here and in a source from which on the source postpones points.
	compared = 20
)

// New wraps a strategy that draws its points from fresh and begins with those of start. Without sources it returns the strategy
// itself.
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
	leaders  []space.Point // not asked yet
	asking   bool          // whether the last batch consisted of leaders
	rankings []*ranking    // one for each source
	told     int           // outcomes of the strategy's own points

	// The leaders and their outcomes, until the strategy learns of them.
	trials   []space.Trial
	outcomes []space.Outcome
}

// Ask proposes the leaders first, and then the strategy's own points.
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

// Tell tells the strategy the outcomes of its own points, and at the right time those of the leaders.
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

// ranking compares the costs in a source with those of this run.
type ranking struct {
	costs map[string]float64 // in the source, by key; +Inf for a point that failed
	pairs []pair             // ascending by the cost in this run
	limit float64            // the cost in the source above which points are postponed
}

// pair has the costs of one point, in this run and in the source.
type pair struct{ here, there float64 }

// compare adds outcomes of this run and updates the limit.
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
