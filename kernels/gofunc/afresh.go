package gofunc

import (
	"context"
	"math"
	"time"

	"tune/kernels"
)

// The calls of a sample meet the inputs that the call before met, and outputs that hold the right result already. A function that leaves
// out some of its work then is right nonetheless, and checks find it at work, because Inputs comes before them. So after the samples, calls on
// new inputs and cleared outputs (fresh) are compared with a second call each (again). Before each of the two, a sweep through memory brings
// caches and goroutines to the same state, so that little but the work is different, and a small difference counts.
//
// It is no reason for a rejection, because honest functions have it too: the processor learns the branches of a small sort, and outputs that
// Inputs makes anew have to grow. In a search what the second call saves is added to the cost. In a comparison, if any entrant saves
// something, Inputs comes before each timed call of all of them.
const (
	// The fresh calls take longer where the shortest of them takes metShare times as long as the shortest of those again, beyond metSlack. On a busy
	// machine that may be by chance, so that metPairs of the pairs have to agree.
	metShare, metSlack, metPairs = 1.15, 1e-6, 0.75
	// sweepBytes is more than second-level caches hold.
	sweepBytes = 4 << 20
	// afreshSeconds bounds the time of Inputs in a sample whose calls come after Inputs.
	afreshSeconds = 0.05
)

// saves returns how many seconds a call saves on inputs and outputs that it has met; 0 for nothing. It leaves the function made, and inputs of its own.
func (c *candidate) saves(ctx context.Context, seed uint64) (float64, error) {
	if c.p.f.Inputs == nil {
		return 0, nil
	}
	seed = kernels.Derive(seed, "met inputs")
	if takes, err := c.takesAgain(seed); !takes || err != nil {
		return 0, err
	}
	least := leastFresh
	if c.perCall >= longCall {
		least = 1
	}
	fresh, again := math.Inf(1), math.Inf(1)
	pairs, agree := 0, 0.0
	for range freshTries {
		began := time.Now()
		for n := 1; n <= freshCalls && (n <= least || time.Since(began).Seconds() < freshSeconds); n++ {
			if err := ctx.Err(); err != nil {
				return 0, err
			}
			if c.live {
				seed++
			}
			since := time.Now()
			c.p.inputs(seed)
			c.p.sweep(0)
			rest := time.Since(since)
			first := c.run(1)
			c.p.sweep(rest)
			second := c.run(1)
			fresh, again = min(fresh, first), min(again, second)
			if pairs++; first > second {
				agree++
			}
		}
		if fresh <= metShare*again+metSlack || agree < metPairs*float64(pairs) {
			return 0, nil
		}
	}
	return fresh - again, nil
}

// takesAgain prepares the function for Inputs with this seed before its calls, and reports whether it is right then. One that takes its inputs when it is
// made is so only where Inputs writes the same numbers again.
func (c *candidate) takesAgain(seed uint64) (bool, error) {
	if c.live {
		return true, nil
	}
	c.p.inputs(seed)
	if err := c.make(); err != nil {
		return false, err
	}
	c.p.inputs(seed)
	c.run(1)
	return c.p.f.Check == nil || c.p.f.Check() == nil, nil
}

// takeAfresh has Inputs come before each timed call.
func (c *candidate) takeAfresh(seed uint64) error {
	c.seed = kernels.Derive(seed, "inputs of timed calls")
	takes, err := c.takesAgain(c.seed)
	if !takes || err != nil {
		return err
	}
	began := time.Now()
	c.p.inputs(c.seed)
	if took := time.Since(began).Seconds(); took > 0 {
		c.calls = max(1, min(c.calls, int(afreshSeconds/took)))
	}
	c.afresh = true
	return nil
}

// sweep goes through memory that is nobody's, once and until so much time has passed. Goroutines that wait take longer to begin, the longer they
// have waited.
func (p *problem) sweep(least time.Duration) {
	const line = 64
	if p.swept == nil {
		p.swept = make([]byte, sweepBytes)
	}
	for began := time.Now(); ; {
		for i := 0; i < len(p.swept); i += line {
			p.swept[i]++
		}
		if time.Since(began) >= least {
			return
		}
	}
}
