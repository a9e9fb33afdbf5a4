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
	return &first{inner: inner, points: different, unasked: len(different)}
}

type first struct {
	inner  Strategy
	points []space.Point // not asked yet
	asking bool          // whether the last batch consisted of such points

	// The outcomes of the points, and how many of the points the inner strategy has not asked for.
	trials   []space.Trial
	outcomes []space.Outcome
	unasked  int

	// The last batch of the inner strategy. It is told as a whole, once the outcome of each proposal is known: from trials, or from told.
	batch   []space.Proposal
	open    []space.Proposal // those that are neither among trials nor asked yet
	told    []space.Trial    // those that were asked as a part of this batch, with their outcomes in results
	results []space.Outcome
}

// Ask proposes the points, and then those proposals of the inner strategy whose outcomes are not known.
func (f *first) Ask(p space.Progress) []space.Proposal {
	batch := Take(len(f.points), p, func() (space.Point, bool) {
		next := f.points[0]
		f.points = f.points[1:]
		return next, true
	})
	if f.asking = len(batch) > 0; f.asking {
		return batch
	}
	for len(f.open) == 0 {
		ahead := p
		if p.Evaluations > 0 {
			ahead.Evaluations += f.unasked // their outcomes are known, so that they take nothing of the budget
		}
		if f.batch = f.inner.Ask(ahead); len(f.batch) == 0 {
			return nil
		}
		f.open, f.told, f.results = nil, nil, nil
		for _, b := range f.batch {
			if f.known(b) < 0 {
				f.open = append(f.open, b)
			} else {
				f.unasked--
			}
		}
		if len(f.open) == 0 {
			f.tell()
		}
	}
	n := len(f.open)
	if p.Evaluations > 0 {
		n = min(n, p.Evaluations)
	}
	batch, f.open = f.open[:n:n], f.open[n:]
	return batch
}

// known returns the index in trials of a proposal, -1 where it is none of the points.
func (f *first) known(b space.Proposal) int {
	if b.Fidelity != 0 {
		return -1
	}
	return slices.IndexFunc(f.trials, func(t space.Trial) bool { return t.Point.Equal(b.Point) })
}

// Tell keeps the outcomes of the points, and tells the inner strategy those of its batch once all are known.
func (f *first) Tell(trials []space.Trial, outcomes []space.Outcome) {
	if f.asking {
		f.trials, f.outcomes = append(f.trials, trials...), append(f.outcomes, outcomes...)
		return
	}
	f.told, f.results = append(f.told, trials...), append(f.results, outcomes...)
	if len(f.open) == 0 {
		f.tell()
	}
}

// tell tells the inner strategy its batch.
func (f *first) tell() {
	var trials []space.Trial
	var outcomes []space.Outcome
	asked := 0
	for _, b := range f.batch {
		if i := f.known(b); i >= 0 {
			trials, outcomes = append(trials, f.trials[i]), append(outcomes, f.outcomes[i])
			continue
		}
		trials, outcomes = append(trials, f.told[asked]), append(outcomes, f.results[asked])
		asked++
	}
	f.inner.Tell(trials, outcomes)
}
