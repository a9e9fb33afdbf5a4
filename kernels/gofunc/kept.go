package gofunc

import (
	"math"
	"time"

	"tune/kernels"
	"tune/space"
)

// A function that keeps its result has nothing to do when it is called again on the same inputs, as in a sample, and would win
// without working. What shows it is how long calls take whose inputs have just changed:
//
//   - fresh: the first call after new inputs;
//   - again: the first call after Inputs has written the very same numbers once more, so that caches and goroutines are in the same state;
//   - repeated: a call in a sample.
//
// A function may read its inputs when it is made. Only where Check accepts a call after Inputs alone is it known that it does not
// (live); otherwise it is made anew each time, and what the made function keeps can be seen only in the repeated calls.
const (
	// freshCalls is how often the inputs change, and leastFresh how often at least: freshSeconds bound the rest.
	freshCalls, leastFresh, freshSeconds = 7, 2, 0.25
	// A kept result is found sooner than it is recomputed: a fresh call takes keptShare times as long as the same call again, beyond keptSlack.
	keptShare, keptSlack = 2, 0.5e-6
	// A repeated call finds caches and goroutines warm, so that more is allowed: a fresh one takes liveShare or madeShare times as long,
	// beyond coldSlack. Where it takes coldShare times as long, the least that such a call costs is enough.
	liveShare, madeShare, coldSlack = 3, 8, 50e-6
	coldShare, callSlack            = 50, 2e-6
)

// keeps returns a rejection where the function has less to do on inputs that it has seen. It leaves the function made, called, and on
// inputs of its own.
func (c *candidate) keeps(seed uint64) error {
	repeated := min(c.sample(), c.sample())
	input := func(k int) uint64 { return kernels.Derive(seed, "fresh inputs") + uint64(k) }
	live := c.p.f.Inputs != nil && c.p.f.Check != nil
	if live {
		c.p.inputs(input(0))
		c.time(1)
		live = c.p.f.Check() == nil
	}
	first := func(k int) (float64, error) {
		c.p.inputs(input(k))
		if !live {
			if err := c.make(); err != nil {
				return 0, err
			}
		}
		return c.time(1), nil
	}
	began := time.Now()
	fresh, again := math.Inf(1), math.Inf(1)
	for k := 1; k <= freshCalls && (k <= leastFresh || time.Since(began).Seconds() < freshSeconds); k++ {
		for _, least := range []*float64{&fresh, &again} {
			took, err := first(k)
			if err != nil {
				return err
			}
			*least = min(*least, took)
		}
	}
	share := float64(liveShare)
	if !live {
		share = madeShare
	}
	ns := space.Unit("ns")
	switch {
	case c.p.f.Inputs != nil && fresh > keptShare*again+keptSlack:
		return kernels.Reject(space.Invalid, "implausible: a call on new inputs takes %s, and on inputs that it has seen before %s: a result that is kept does not count",
			ns.Words(fresh*nanoseconds), ns.Words(again*nanoseconds))
	case fresh > share*repeated+coldSlack, fresh > coldShare*repeated+callSlack:
		return kernels.Reject(space.Invalid, "implausible: the first call takes %s, and a later one %s: a result that is kept does not count. "+
			"Let Reset restore what a call changes, and Make do what is needed once", ns.Words(fresh*nanoseconds), ns.Words(repeated*nanoseconds))
	}
	return nil
}
