package kernels

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tune/space"
)

// Contest decides which of some finalists to export, and whether it is faster than the baseline. It has two steps:
//
//  1. All finalists are measured in turns with the baseline, and ranked by the speed-up that is proven for each: the
//     lower end of the interval of its ratio. Where the measurement cannot be verified, the order of the search stays.
//  2. The first of them is measured again, with the baseline alone, in new processes. Only this series is reported,
//     because the first one selected its winner partly for its luck.
//
// There is only one such series, for one finalist, so that the chance of calling an equal program faster is the error rate
// of a single interval.
type Contest struct {
	Compare   CompareFunc // must be set
	Baseline  Candidate
	Finalists []Candidate   // in the order of the search, best first
	Limit     time.Duration // roughly how long both series take
	Seed      uint64        // draws which side of a pair is first
	// Admit, if not nil, is called to check the finalist that is to be confirmed. If it returns a *Rejection, the next finalist
	// takes its place.
	Admit   func(ctx context.Context, finalist int) error
	Observe func(ContestProgress) // may be nil
}

// ContestProgress says how far a contest is.
type ContestProgress struct {
	Finalists  int  // how many are measured
	Confirming bool // whether one of them is being measured again
	Pair, Of   int  // the pair that begins, and the largest number of pairs, 0 where nobody knows; both are 0 while finalists are checked
}

// Step names the current step.
func (p ContestProgress) Step() string {
	switch {
	case p.Pair == 0 && p.Confirming:
		return "checking the winner on fresh inputs"
	case p.Pair == 0:
		return "checking the finalists on fresh inputs"
	case p.Confirming:
		return "confirming the winner"
	}
	return fmt.Sprintf("measuring %d finalists", p.Finalists)
}

// String describes the progress in words.
func (p ContestProgress) String() string {
	if p.Pair == 0 {
		return p.Step()
	}
	most := ""
	if !p.Confirming {
		most = "up to "
	}
	if p.Of == 0 {
		return fmt.Sprintf("%s, pair %d", p.Step(), p.Pair)
	}
	return fmt.Sprintf("%s, pair %d of %s%d", p.Step(), p.Pair, most, p.Of)
}

// ContestResult is the result of a contest.
type ContestResult struct {
	Verdict space.Verdict
	// Chosen is the index of the finalist that was measured against the baseline in the second series. It is -1 where no finalist
	// was left for that; then all other fields but First and Refused are zero.
	Chosen int
	// Baseline says that the baseline is to be exported instead of the chosen finalist.
	Baseline bool
	// First are the comparisons of the first series, by finalist; nil where there is only one finalist.
	First []Comparison
	// Final is the second series; its only comparison is that of the chosen finalist.
	Final Final
	// Indistinct are the other finalists that the first series does not distinguish from the chosen one.
	Indistinct []int
	// TooFew are those of which the first series has too few pairs to say whether they differ from the chosen one.
	TooFew  []int
	Refused []Refused // finalists at fault, in the order in which they were found
}

// Comparison returns the comparison of the chosen finalist.
func (r ContestResult) Comparison() Comparison { return r.Final.Comparisons[0] }

// Refused is a finalist at fault.
type Refused struct {
	Finalist int
	Err      error // with a *Rejection in its chain
}

// share is the part of the limit for the first series, and the minimum for the second, however long the first and the checks
// took.
const share = 0.5

// Run holds the contest. An error means that it could not be held, for instance because the baseline failed.
func (c Contest) Run(ctx context.Context) (ContestResult, error) {
	result := ContestResult{Chosen: -1}
	observe := func(confirming bool) func(int, int) {
		return func(pair, of int) {
			if c.Observe != nil {
				c.Observe(ContestProgress{len(c.Finalists), confirming, pair, of})
			}
		}
	}
	began := time.Now()
	var first []Comparison
	if len(c.Finalists) == 1 {
		first = make([]Comparison, 1) // nothing to choose from
	} else {
		final, err := c.compare(ctx, c.Finalists, Series{Limit: time.Duration(share * float64(c.Limit)), Seed: c.Seed, Observe: observe(false)})
		if err != nil {
			return result, err
		}
		first, result.First = final.Comparisons, final.Comparisons
	}
	for _, i := range c.order(first) {
		err := first[i].Err
		if err == nil && c.Admit != nil {
			observe(true)(0, 0)
			err = c.Admit(ctx, i)
		}
		if err == nil {
			limit := max(c.Limit-time.Since(began), time.Duration(share*float64(c.Limit)))
			result.Final, err = c.compare(ctx, c.Finalists[i:i+1], Series{Limit: limit, Confirm: true, Seed: c.Seed, Observe: observe(true)})
			if err == nil {
				err = result.Final.Comparisons[0].Err
			}
		}
		if AsRejection(err) != nil {
			result.Refused = append(result.Refused, Refused{i, err})
			continue
		}
		if err != nil {
			return result, err
		}
		result.Chosen = i
		result.judge()
		for j, other := range first {
			switch {
			case j == i || other.Err != nil || result.Baseline:
			case other.TooFew:
				result.TooFew = append(result.TooFew, j)
			case other.Indistinct:
				result.Indistinct = append(result.Indistinct, j)
			}
		}
		return result, nil
	}
	return result, nil
}

// compare runs one series. It distinguishes a fault of the baseline from one of a finalist.
func (c Contest) compare(ctx context.Context, finalists []Candidate, s Series) (Final, error) {
	final, err := c.Compare(ctx, c.Baseline, finalists, s)
	switch {
	case AsRejection(err) != nil:
		return final, errors.New("the final measurement: " + err.Error())
	case err != nil:
		return final, fmt.Errorf("the final measurement: %w", err)
	case len(final.Comparisons) != len(finalists):
		return final, fmt.Errorf("%d finalists were compared, and %d comparisons came back", len(finalists), len(final.Comparisons))
	}
	for i, f := range final.Comparisons {
		if f.Err == nil && !f.finite() {
			final.Comparisons[i] = Comparison{Err: Reject(space.Invalid, "the final measurement gives the cost %v and the ratio %v, which nothing can be compared with", f.Cost, f.Ratio)}
		}
	}
	return final, nil
}

// order ranks the finalists by the first series.
func (c Contest) order(first []Comparison) []int {
	var order []int
	for i := range first {
		order = append(order, i)
	}
	rank := func(i int) int {
		switch f := first[i]; {
		case f.Err != nil:
			return 0 // these will be refused
		case f.Unverified && f.Slower():
			return 2
		}
		return 1
	}
	verified := slices.ContainsFunc(first, func(f Comparison) bool { return f.Err == nil && !f.Unverified })
	slices.SortStableFunc(order, func(i, j int) int {
		if !verified {
			return cmp.Compare(rank(i), rank(j))
		}
		a, b := first[i], first[j]
		switch {
		case a.Err != nil || b.Err != nil:
			return cmp.Compare(rank(i), rank(j))
		case a.Unverified != b.Unverified:
			return cmp.Compare(unverified(a), unverified(b))
		case a.Ahead(b):
			return -1
		case b.Ahead(a):
			return 1
		}
		return 0 // the search's order
	})
	return order
}

func unverified(c Comparison) int {
	if c.Unverified {
		return 1
	}
	return 0
}

// judge interprets the second series.
func (r *ContestResult) judge() {
	c := r.Comparison()
	switch {
	case c.Faster():
		r.Verdict = space.Faster
	case c.Unverified || c.Low == 0 && c.High == 0:
		// What looks slower is not exported, even where the machine may be the cause.
		r.Verdict, r.Baseline = space.Unverified, c.Slower()
	default:
		r.Verdict, r.Baseline = space.NoGain, true
	}
}

// Loss is an error of a machine that may have lost the candidates that were built there. Where Lost says so, what was asked of them may be
// asked of new ones.
type Loss interface {
	error
	Lost() bool
}
