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
// A point that is far from the best is not promoted at all: one whose cost would stay above it by more than a margin even
// if it fell as far as the best of the last promoted ones did.
//
// The first points of all are scored fully at once, so that the shortest run has a result.
//
// When the strategy inside has asked for all points, those that were not promoted follow at full fidelity, the
// cheapest first and then those that failed, so that every point is asked in the end.
package halving

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"tune/search"
	"tune/space"
)

// Config holds the hyper-parameters. Zero values take the defaults.
type Config struct {
	Levels int // fidelities below the full one; 0 leaves the strategy as it is
	Keep   int // one of so many points is promoted, and at least one of a batch; default 4, at least 2
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
		c.Keep = 4
	}
	return &halving{inner: inner, cfg: c, gaps: make([]float64, c.Levels+1), falls: make([][]float64, c.Levels+1), best: math.Inf(1)}, nil
}

type halving struct {
	inner search.Strategy
	cfg   Config

	batch   []*candidate // of the strategy inside, in its order
	asked   []*candidate // in the batch that was asked last
	level   int          // the fidelity that was asked last
	begun   bool         // the first points are asked
	gaps    []float64    // of each fidelity, what the full cost was more, at the most, in the last batch that shows it
	falls   [][]float64  // of each fidelity, how far the last promoted costs fell until the full one
	best    float64      // the least full cost
	sorted  bool         // waiting is sorted
	waiting []*candidate // those of earlier batches that were not scored fully
}

// candidate is a point of the strategy inside, with the dearest outcome that is known.
type candidate struct {
	trial   space.Trial
	outcome space.Outcome // status unset before the first
	costs   []float64     // at each fidelity, NaN where it was not scored or not right
}

const (
	rest   = 16    // waiting points that are asked at once when the strategy inside has no more
	first  = 2     // points that are scored fully at the start
	memory = 8     // promoted points that are remembered
	margin = 0.005 // share of the best cost by which a point may seem to stay above it
)

// Ask proposes the next batch of the strategy inside, or the promoted points of its last.
func (h *halving) Ask(p space.Progress) []space.Proposal {
	h.asked = nil
	switch {
	case slices.ContainsFunc(h.batch, isUnknown):
		// Some of the batch were the first of all, or a budget has cut it short; the others begin like those of any.
		h.level = h.cfg.Levels
		for _, c := range h.batch {
			if isUnknown(c) {
				h.asked = append(h.asked, c)
			}
		}
	case len(h.batch) > 0:
		if h.asked = h.promoted(); len(h.asked) == 0 {
			h.finish()
			return h.Ask(p)
		}
	default:
		for _, proposal := range h.inner.Ask(p) {
			c := &candidate{trial: space.Trial{Proposal: proposal}, costs: make([]float64, h.cfg.Levels+1)}
			for i := range c.costs {
				c.costs[i] = math.NaN()
			}
			h.batch = append(h.batch, c)
		}
		h.level, h.asked = h.cfg.Levels, h.batch
		switch {
		case len(h.batch) == 0:
			if !h.sorted {
				slices.SortStableFunc(h.waiting, byCost)
				h.sorted = true // the strategy inside has no more
			}
			h.level, h.asked = 0, h.waiting[:min(rest, len(h.waiting))]
		case !h.begun:
			h.begun, h.level, h.asked = true, 0, h.batch[:min(first, len(h.batch))]
		}
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

// promoted returns the best of the batch that were scored at this level, as far as they are promising, and moves on to
// the next.
func (h *halving) promoted() []*candidate {
	var right []*candidate
	for _, c := range h.batch {
		if h.isAt(c) {
			right = append(right, c)
		}
	}
	slices.SortStableFunc(right, byCost)
	right = right[:(len(right)+h.cfg.Keep-1)/h.cfg.Keep]
	if falls := h.falls[h.level]; len(falls) > 0 {
		most := slices.Max(falls)
		right = slices.DeleteFunc(right, func(c *candidate) bool {
			return c.outcome.Cost-most > h.best+margin*math.Abs(h.best)
		})
	}
	h.level--
	return right
}

// isAt says whether a point was right at the fidelity that was asked last.
func (h *halving) isAt(c *candidate) bool {
	return c.outcome.Status == space.OK && c.outcome.Fidelity == h.level
}

func isUnknown(c *candidate) bool { return c.outcome.Status == space.StatusUnset }

// Tell keeps the outcomes, and passes them on once no point of the batch is to be promoted.
func (h *halving) Tell(trials []space.Trial, outcomes []space.Outcome) {
	for i, c := range h.asked[:len(trials)] {
		if isUnknown(c) {
			c.trial.Number = trials[i].Number
		}
		c.outcome = outcomes[i]
		if c.outcome.Status == space.OK {
			c.costs[h.level] = c.outcome.Cost
			if h.level == 0 {
				h.best = min(h.best, c.outcome.Cost)
				h.remember(c)
			}
		}
	}
	switch {
	case len(h.batch) == 0:
		h.waiting = h.waiting[len(trials):]
		return
	case slices.ContainsFunc(h.batch, isUnknown):
		return
	case h.level > 0 && slices.ContainsFunc(h.batch, h.isAt):
		return
	}
	h.finish()
}

// finish tells the strategy inside of its batch.
func (h *halving) finish() {
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

// remember notes how far the costs of a point fell.
func (h *halving) remember(c *candidate) {
	for level := 1; level < len(c.costs); level++ {
		if fall := c.costs[level] - c.costs[0]; !math.IsNaN(fall) {
			h.falls[level] = append(h.falls[level], fall)
			h.falls[level] = h.falls[level][max(0, len(h.falls[level])-memory):]
		}
	}
}

// measureGaps learns from the batch how far the costs of each fidelity are from the full ones. The gaps between
// neighbouring fidelities add up; one that the batch does not show stays as it was.
func (h *halving) measureGaps() {
	steps := make([]float64, len(h.gaps))
	for level := 1; level < len(h.gaps); level++ {
		most := math.Inf(-1)
		for _, c := range h.batch {
			if gap := c.costs[level-1] - c.costs[level]; gap > most {
				most = gap
			}
		}
		if steps[level] = most; math.IsInf(most, -1) {
			steps[level] = h.gaps[level] - h.gaps[level-1]
		}
	}
	for level := 1; level < len(h.gaps); level++ {
		h.gaps[level] = h.gaps[level-1] + steps[level]
	}
}
