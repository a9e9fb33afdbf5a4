package gofunc

import (
	"context"
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
// A function may read its inputs when it is made, or keep what it made of them in its first call. Only where Check accepts a call after
// Inputs alone is it known that it does neither (live). Otherwise the fresh call comes after the function was made anew, and the one again
// does not: what the first call prepares is work on the inputs, and not a table for all of them.
const (
	// freshCalls is how often the inputs change, and leastFresh how often at least: freshSeconds bound the rest.
	freshCalls, leastFresh, freshSeconds = 7, 2, 0.25
	// newCalls is how many calls are checked after the timed ones, on outputs that were cleared, and leastNew how many at least: newSeconds bound
	// the rest.
	newCalls, leastNew, newSeconds = 8, 3, 0.1
	// On a busy machine every one of a few calls may be interrupted. So a function is in doubt only if it is after each of freshTries tries.
	freshTries = 5
	// A kept result is found sooner than it is recomputed: a fresh call takes keptShare times as long as the same call again, beyond keptSlack.
	// The first call of a function that was just made meets memory that nobody has used; it may take firstShare times as long, beyond firstSlack.
	keptShare, keptSlack   = 2, 0.5e-6
	firstShare, firstSlack = 1.5, 20e-6
	// A repeated call finds caches and goroutines warm, so that more is allowed: a fresh one takes liveShare or madeShare times as long,
	// beyond coldSlack. Where it takes coldShare times as long, the least that such a call costs is enough.
	liveShare, madeShare, coldSlack = 3, 8, 50e-6
	coldShare, callSlack            = 50, 2e-6
)

// keeps returns a rejection where the function has less to do on inputs that it has seen. It leaves the function made, called, and on
// inputs of its own. Between calls, which may be long, it looks whether ctx has ended.
func (c *candidate) keeps(ctx context.Context, seed uint64) error {
	repeated, err := c.repeated(ctx)
	if err != nil {
		return err
	}
	input := func(k int) uint64 { return kernels.Derive(seed, "fresh inputs") + uint64(k) }
	t := firstCalls{fresh: math.Inf(1), again: math.Inf(1), repeated: repeated, live: c.p.f.Inputs != nil && c.p.f.Check != nil}
	if t.live {
		if t.live, err = c.takesNew(ctx, input(0)); err != nil {
			return err
		}
	}
	c.live = t.live
	call := func(k int, anew bool) (float64, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		c.p.inputs(input(k))
		if anew {
			if err := c.make(); err != nil {
				return 0, err
			}
		}
		return c.time(1), nil
	}
	k := 0
	for range freshTries {
		began := time.Now()
		for n := 1; n <= freshCalls && (n <= leastFresh || time.Since(began).Seconds() < freshSeconds); n++ {
			k++
			first, err := call(k, !t.live)
			if err != nil {
				return err
			}
			second, err := call(k, false)
			if err != nil {
				return err
			}
			t.fresh, t.again = min(t.fresh, first), min(t.again, second)
		}
		if t.doubt(c.p.f.Inputs != nil) == nil {
			return nil
		}
	}
	// The machine may have been faster when the repeated calls were timed.
	if repeated, err = c.repeated(ctx); err != nil {
		return err
	}
	t.repeated = max(t.repeated, repeated)
	return t.doubt(c.p.f.Inputs != nil)
}

// takesNew reports whether the function is right after Inputs alone. One that does nothing in some of its calls is wrong in these, so that one right call
// of a few is enough.
func (c *candidate) takesNew(ctx context.Context, seed uint64) (bool, error) {
	began := time.Now()
	for n := 1; n <= newCalls && (n <= leastNew || time.Since(began).Seconds() < newSeconds); n++ {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		c.p.inputs(seed)
		c.time(1)
		if c.p.f.Check() == nil {
			return true, nil
		}
	}
	return false, nil
}

// late begins the message about a call after the timed ones.
const late = "after the timed calls: "

// checkLate checks calls that come after the timed ones. While the inputs stay the same, the outputs hold the right result already, also after a call
// that leaves out a part of its work. So Inputs clears the outputs before each of these calls. A function that takes new inputs gets some; another one
// gets those again that it was made for. That shows something only where Inputs writes the same numbers again.
func (c *candidate) checkLate(ctx context.Context, seed uint64) error {
	if c.p.f.Inputs == nil || c.p.f.Check == nil {
		return nil
	}
	seed = kernels.Derive(seed, "late inputs")
	if !c.live {
		c.p.inputs(seed)
		if err := c.make(); err != nil {
			return err
		}
		c.p.inputs(seed)
		if c.time(1); c.p.f.Check() != nil {
			return nil
		}
		c.time(c.calls)
	}
	began := time.Now()
	for n := 1; n <= newCalls && (n <= leastNew || time.Since(began).Seconds() < newSeconds); n++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		if c.live {
			seed++
		}
		c.p.inputs(seed)
		if err := c.checkCall(late); err != nil {
			return err
		}
	}
	return nil
}

// repeated returns the least seconds that a call takes in two samples.
func (c *candidate) repeated(ctx context.Context) (float64, error) {
	least := math.Inf(1)
	for range 2 {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		least = min(least, c.sample())
	}
	return least, nil
}

// firstCalls holds the least seconds that calls of each kind took.
type firstCalls struct {
	fresh, again, repeated float64
	live                   bool
}

// doubt returns a rejection where a fresh call takes so long that the others cannot have done the same work. Inputs says whether the
// function's inputs change.
func (t firstCalls) doubt(inputs bool) error {
	share, kept := float64(liveShare), t.fresh > keptShare*t.again+keptSlack
	if !t.live {
		share, kept = madeShare, t.fresh > firstShare*t.again+firstSlack
	}
	words := func(seconds float64) string { return space.Unit("ns").Words(seconds * nanoseconds) }
	switch {
	case inputs && kept:
		return kernels.Reject(space.Invalid, "implausible: a call on new inputs takes %s, and on inputs that it has seen before %s: what is kept of a call does not count. "+
			"Do in each call what depends on the inputs, or in Make what is needed once", words(t.fresh), words(t.again))
	case t.fresh > share*t.repeated+coldSlack, t.fresh > coldShare*t.repeated+callSlack:
		return kernels.Reject(space.Invalid, "implausible: the first call takes %s, and a later one %s: a result that is kept does not count. "+
			"Let Reset restore what a call changes, and Make do what is needed once", words(t.fresh), words(t.repeated))
	}
	return nil
}
