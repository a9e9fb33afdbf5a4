package native

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"tune/kernels"
	"tune/kernels/native/timing"
	"tune/space"
)

// caseCache keeps the cases of recent classes and seeds, because their references are expensive to compute.
type caseCache struct {
	mu      sync.Mutex
	entries []*caseEntry // the most recently used first
}

type caseEntry struct {
	class string
	seed  uint64
	done  chan struct{} // closed when the other fields are set
	cases []Case
	err   error
	bytes int // of its buffers; guarded by the mutex of the cache
}

// caseEntries is how many sets of cases are kept at most: those of the search, and those of the checks at the end, which every finalist
// gets with the same seeds. Several large sets are kept only while they have fewer than caseBytes together; the last one is always kept.
const (
	caseEntries = 12
	caseBytes   = 1 << 30
)

// of returns the cases of a point. Points of one class wait for each other instead of computing the same cases. Work that a
// context has interrupted is not kept.
func (cc *caseCache) of(ctx context.Context, spec Spec, p space.Point, seed uint64) ([]Case, error) {
	classer, ok := as[CaseClasser](spec)
	if !ok {
		return spec.Cases(ctx, p, seed)
	}
	class := classer.CaseClass(p)
	for {
		e, mine := cc.entry(class, seed)
		if mine {
			e.cases, e.err = spec.Cases(ctx, p, seed)
			cc.settle(e, ctx.Err() != nil)
			close(e.done)
			return e.cases, e.err
		}
		select {
		case <-e.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if !isDone(e.err) {
			return e.cases, e.err
		}
		// The context of the other caller ended, not this one.
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
}

func isDone(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// entry returns the entry of a class and seed, and whether the caller has to fill it.
func (cc *caseCache) entry(class string, seed uint64) (e *caseEntry, mine bool) {
	cc.mu.Lock()
	defer cc.mu.Unlock()
	i := slices.IndexFunc(cc.entries, func(e *caseEntry) bool { return e.class == class && e.seed == seed })
	if i >= 0 {
		e = cc.entries[i]
		cc.entries = slices.Delete(cc.entries, i, i+1)
	} else {
		e, mine = &caseEntry{class: class, seed: seed, done: make(chan struct{})}, true
	}
	cc.entries = slices.Insert(cc.entries, 0, e)
	cc.entries = cc.entries[:min(len(cc.entries), caseEntries)]
	return e, mine
}

// settle removes an entry that was interrupted, and makes room for a complete one.
func (cc *caseCache) settle(e *caseEntry, ended bool) {
	cc.mu.Lock()
	defer cc.mu.Unlock()
	if ended && e.err != nil {
		cc.entries = slices.DeleteFunc(cc.entries, func(other *caseEntry) bool { return other == e })
		return
	}
	// The buffers are a good estimate of the size of an entry with its reference.
	for _, c := range e.cases {
		for _, b := range c.Buffers {
			e.bytes += b.Bytes()
		}
	}
	total := e.bytes
	cc.entries = slices.DeleteFunc(cc.entries, func(other *caseEntry) bool {
		if other == e {
			return false
		}
		total += other.bytes
		return total > caseBytes
	})
}

// repeatSeconds is how short a call must be for a check to make it twice. Longer calls are repeated during timing, if the
// candidate is not far behind (see verifyTimed).
const repeatSeconds = 0.05

// A call of the asked case is ended when it takes this many times as long as a call of the best candidate, unless it is short:
// such a candidate cannot win, and waiting for it may use up the budget. Checks share the machine with each other, so the bound
// is far above the one that ends the timing of slow candidates.
const (
	hopelessCall = 10
	shortCall    = time.Second
)

// patience returns how much CPU time a call of the asked case may take. The baseline is never cut short, because everything is compared
// with it.
func (c *candidate) patience() time.Duration {
	p := c.problem
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.best == 0 || c.isBaseline() {
		return p.limits.CPU
	}
	return min(time.Duration(c.threads())*max(timing.Seconds(hopelessCall*p.best), shortCall), p.limits.CPU)
}

// Check runs the candidate on the cases of its point, with the inputs of a seed, in a worker.
func (c *candidate) Check(ctx context.Context, seed uint64) error {
	p := c.problem
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := c.compile(ctx); err != nil {
		return err
	}
	end := c.makeVariantsBeside(ctx)
	err := p.host.check(ctx, c.threads(), p.limits, c.companyOfChecks(), func(w runner) error {
		cases, err := p.casesOf(ctx, c.point, seed)
		if err != nil {
			return err
		}
		c.seed = seed
		return c.checkCases(ctx, w, cases)
	})
	end(err)
	return err
}

// casesOf returns the cases of a point, of which there is at least one.
func (p *Problem) casesOf(ctx context.Context, point space.Point, seed uint64) ([]Case, error) {
	cases, err := p.cases.of(ctx, p.spec, point, seed)
	if err == nil && len(cases) == 0 {
		err = kernels.Reject(space.Invalid, "there is no case to check it on")
	}
	return cases, err
}

// checkCases loads the candidate in a worker and calls it on cases, the asked one first.
func (c *candidate) checkCases(ctx context.Context, w runner, cases []Case) error {
	for i, one := range cases {
		if err := mapCase(w, one); err != nil {
			return err
		}
		if i == 0 {
			if err := w.Load(c.so); err != nil {
				return err
			}
		}
		within := c.problem.limits.CPU
		if i == 0 {
			within = c.patience()
		}
		took, err := c.checkCase(ctx, w, one, within)
		if i == 0 {
			c.took = took
		}
		if r := kernels.AsRejection(err); r != nil {
			return kernels.Reject(r.Status, "%s: %s", one.Name, r.Reason)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkCase calls the loaded candidate on a case and verifies what it wrote. It returns how many seconds the first call took. A
// call that takes too long is ended.
func (c *candidate) checkCase(ctx context.Context, w runner, one Case, within time.Duration) (took float64, err error) {
	start := time.Now()
	if err := w.CallWithin(ctx, one.Dims, within); err != nil {
		r := kernels.AsRejection(err)
		if r != nil && r.Status == space.Timeout && within < c.problem.limits.CPU {
			err = kernels.Reject(r.Status, "%s, more than %d times what the best takes", r.Reason, hopelessCall)
		}
		return 0, err
	}
	took = time.Since(start).Seconds()
	if err := c.verify(one, w.Outputs()); err != nil || took > repeatSeconds {
		return took, err
	}
	// A candidate that keeps something between calls may be right only the first time.
	first := make([][]byte, len(one.Buffers))
	for i, b := range w.Outputs() {
		if one.Buffers[i].Mode != In {
			first[i] = bytes.Clone(b)
		}
	}
	if err := w.Call(ctx, one.Dims); err != nil {
		return took, err
	}
	for i, b := range w.Outputs() {
		if one.Buffers[i].Mode != In && !bytes.Equal(first[i], b) {
			// Threads may add up in a different order.
			err := c.verify(one, w.Outputs())
			if r := kernels.AsRejection(err); r != nil {
				err = kernels.Reject(r.Status, "in the second call: %s", r.Reason)
			}
			return took, err
		}
	}
	return took, nil
}

// kernelFault reports whether an error is the fault of the candidate and not of tune.
func kernelFault(err error) bool { return kernels.AsRejection(err) != nil }

// Outputs runs a point once on a case and returns copies of all its buffers, in order. It does not verify them. It is
// for tests of what Verify catches.
func (p *Problem) Outputs(ctx context.Context, point space.Point, one Case) ([][]byte, error) {
	built, err := p.Build(ctx, point)
	if err != nil {
		return nil, err
	}
	c := built.(*candidate)
	var out [][]byte
	err = p.host.check(ctx, c.threads(), p.limits, c.companyOfChecks(), func(w runner) (err error) {
		out, err = callOnce(ctx, w, c.so, one)
		return err
	})
	return out, err
}
