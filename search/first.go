package search

import (
	"slices"

	"tune/space"
)

// First returns a strategy that asks for some points before all others, in their order and at full fidelity, and then for what the
// inner strategy asks. Where the inner strategy asks for one of these points too, it is told the outcome that is known already, so
// that nothing is evaluated twice. A point that is given twice counts once.
func First(inner Strategy, points []space.Point) Strategy {
	var different []space.Point
	for _, p := range points {
		if !slices.ContainsFunc(different, p.Equal) {
			different = append(different, p)
		}
	}
	if len(different) == 0 {
		return inner
	}
	return &first{inner: inner, points: different}
}

type first struct {
	inner  Strategy
	points []space.Point // not asked yet
	asking bool          // whether the last batch consisted of such points

	// What was told of the points.
	trials   []space.Trial
	outcomes []space.Outcome

	batch []space.Proposal // the last one of the inner strategy, with the points that are known
}

// Ask proposes the points, and then what the inner strategy proposes and is not known.
func (f *first) Ask(p space.Progress) []space.Proposal {
	batch := Take(len(f.points), p, func() (space.Point, bool) {
		next := f.points[0]
		f.points = f.points[1:]
		return next, true
	})
	if f.asking = len(batch) > 0; f.asking {
		return batch
	}
	for {
		f.batch = f.inner.Ask(p)
		out := slices.DeleteFunc(slices.Clone(f.batch), func(b space.Proposal) bool { return f.known(b) >= 0 })
		if len(out) > 0 || len(f.batch) == 0 {
			return out
		}
		f.tell(nil, nil)
	}
}

// known returns the index of what was told of a proposal, -1 where it is none of the points.
func (f *first) known(b space.Proposal) int {
	if b.Fidelity != 0 {
		return -1
	}
	return slices.IndexFunc(f.trials, func(t space.Trial) bool { return t.Point.Equal(b.Point) })
}

// Tell keeps the outcomes of the points, and tells the inner strategy those of its batch.
func (f *first) Tell(trials []space.Trial, outcomes []space.Outcome) {
	if f.asking {
		f.trials, f.outcomes = append(f.trials, trials...), append(f.outcomes, outcomes...)
		return
	}
	f.tell(trials, outcomes)
}

// tell tells the inner strategy its whole batch, of which trials and outcomes are the part that was not known.
func (f *first) tell(trials []space.Trial, outcomes []space.Outcome) {
	var all []space.Trial
	var results []space.Outcome
	for _, b := range f.batch {
		if i := f.known(b); i >= 0 {
			all, results = append(all, f.trials[i]), append(results, f.outcomes[i])
			continue
		}
		all, results = append(all, trials[0]), append(results, outcomes[0])
		trials, outcomes = trials[1:], outcomes[1:]
	}
	f.inner.Tell(all, results)
}
