// Package halving lets any strategy work on points that have cheap scores beside their full one: successive halving
// over fidelities (Jamieson and Talwalkar 2016; Karnin, Koren and Somekh 2013).
//
// Every batch of the strategy inside is scored at the cheapest fidelity first. The best of it, one of Config.Keep
// points, go on to the next dearer fidelity, and the best of those to the next, until the full one. The strategy is
// then told of every point the dearest outcome that is known. Costs of different fidelities are not on one scale: a
// lower bound is below the cost, a hasty try above it. So what was not promoted is told with the greatest difference
// that the promoted points of its batch have shown. Then it is never better than they are, as it was not at the
// fidelity at which they were compared.
//
// When the strategy inside has asked for all points, those that were not promoted follow at full fidelity, the
// cheapest first and then those that failed, so that every point is asked in the end.
package halving

import (
	"cmp"
	"fmt"
	"slices"

	"tune/search"
	"tune/space"
)

// Config holds the hyper-parameters. Zero values take the defaults.
type Config struct {
	Levels int // fidelities below the full one; 0 leaves the strategy as it is
	Keep   int // one of so many points is promoted, and at least one of a batch; default 5, at least 2
}

// Validate reports hyper-parameters that make no sense.
func (c Config) Validate() error {
	switch {
	case c.Levels < 0:
		return fmt.Errorf("halving: levels is %d: want 0 or more", c.Levels)
	case c.Keep < 0 || c.Keep == 1:
		return fmt.Errorf("halving: keep is %d: want 2 or more", c.Keep)
	}
	return nil
}

// New wraps a strategy.
func New(inner search.Strategy, c Config) (search.Strategy, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if c.Levels == 0 {
		return inner, nil
	}
	if c.Keep == 0 {
		c.Keep = 5
	}
	return &halving{inner: inner, cfg: c, gaps: make([]float64, c.Levels+1)}, nil
}

type halving struct {
	inner search.Strategy
	cfg   Config

	batch   []*candidate // of the strategy inside, in its order
	asked   []*candidate // in the batch that was asked last
	level   int          // the fidelity that was asked last
	gaps    []float64    // of each fidelity, what the full cost was more, at the most, in the last batch that shows it
	waiting []*candidate // those of earlier batches that were not scored fully
}

// candidate is a point of the strategy inside, with the dearest outcome that is known.
type candidate struct {
	trial   space.Trial
	outcome space.Outcome
	costs   []float64 // of each fidelity at which it was right, the cheapest first
}

// rest is how many waiting points are asked at once when the strategy inside has no more.
const rest = 16

// Ask proposes the next batch of the strategy inside, or the promoted points of its last.
func (h *halving) Ask(p space.Progress) []space.Proposal {
	h.asked = nil
	if len(h.batch) > 0 {
		h.asked = h.promoted()
	} else if proposals := h.inner.Ask(p); len(proposals) > 0 {
		h.level = h.cfg.Levels
		for _, proposal := range proposals {
			h.batch = append(h.batch, &candidate{trial: space.Trial{Proposal: proposal}})
		}
		h.asked = h.batch
	} else {
		h.level = 0
		slices.SortStableFunc(h.waiting, byCost)
		h.asked = h.waiting[:min(rest, len(h.waiting))]
	}
	if p.Evaluations > 0 {
		h.asked = h.asked[:min(len(h.asked), p.Evaluations)]
	}
	var out []space.Proposal
	for _, c := range h.asked {
		out = append(out, space.Proposal{Point: c.trial.Point, Fidelity: h.level})
	}
	return out
}

// byCost puts failures last.
func byCost(a, b *candidate) int {
	if c := cmp.Compare(failed(a), failed(b)); c != 0 {
		return c
	}
	return cmp.Compare(a.outcome.Cost, b.outcome.Cost)
}

func failed(c *candidate) int {
	if c.outcome.Status == space.OK {
		return 0
	}
	return 1
}

// promoted returns the best of the batch that were scored at this level, and moves on to the next.
func (h *halving) promoted() []*candidate {
	right := make([]*candidate, 0, len(h.batch))
	for _, c := range h.batch {
		if c.outcome.Status == space.OK && c.outcome.Fidelity == h.level {
			right = append(right, c)
		}
	}
	h.level--
	slices.SortStableFunc(right, byCost)
	return right[:(len(right)+h.cfg.Keep-1)/h.cfg.Keep]
}

// Tell keeps the outcomes, and passes them on once no point of the batch is to be promoted.
func (h *halving) Tell(trials []space.Trial, outcomes []space.Outcome) {
	for i, c := range h.asked[:len(trials)] {
		if len(h.batch) > 0 && h.level == h.cfg.Levels {
			c.trial.Number = trials[i].Number
		}
		c.outcome = outcomes[i]
		if c.outcome.Status == space.OK {
			c.costs = append(c.costs, c.outcome.Cost)
		}
	}
	if len(h.batch) == 0 {
		h.waiting = h.waiting[len(trials):]
		return
	}
	if h.level > 0 && slices.ContainsFunc(h.batch, func(c *candidate) bool { return c.outcome.Status == space.OK && c.outcome.Fidelity == h.level }) {
		return
	}
	h.measureGaps()
	told, known := make([]space.Trial, len(h.batch)), make([]space.Outcome, len(h.batch))
	for i, c := range h.batch {
		told[i], known[i] = c.trial, c.outcome
		known[i].Fidelity = c.trial.Fidelity
		if c.outcome.Status == space.OK {
			known[i].Cost += h.gaps[c.outcome.Fidelity]
		}
		if c.outcome.Fidelity > 0 {
			h.waiting = append(h.waiting, c)
		}
	}
	h.batch = nil
	h.inner.Tell(told, known)
}

// measureGaps learns from the batch how far the costs of each fidelity are from the full ones. The gaps between
// neighbouring fidelities add up.
func (h *halving) measureGaps() {
	steps := make([]float64, len(h.gaps))
	for level := 1; level < len(h.gaps); level++ {
		steps[level] = h.gaps[level] - h.gaps[level-1]
		at, seen := h.cfg.Levels-level, false
		for _, c := range h.batch {
			if len(c.costs) > at+1 {
				gap := c.costs[at+1] - c.costs[at]
				if !seen || gap > steps[level] {
					steps[level] = gap
				}
				seen = true
			}
		}
	}
	for level := 1; level < len(h.gaps); level++ {
		h.gaps[level] = h.gaps[level-1] + steps[level]
	}
}
