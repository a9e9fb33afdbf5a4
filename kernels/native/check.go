package native

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"time"

	"tune/kernels"
	"tune/space"
)

// caseCache keeps the cases of the last classes and seeds, because their references are dear.
type caseCache struct {
	mu      sync.Mutex
	entries []*caseEntry // the last used first
}

type caseEntry struct {
	class string
	seed  uint64
	once  sync.Once
	cases []Case
	err   error
}

// caseEntries is how many sets of cases are kept: those of the search, and those of a check at the end.
const caseEntries = 4

// of returns the cases of a point. Points of one class wait for each other instead of computing the same.
func (cc *caseCache) of(spec Spec, p space.Point, seed uint64) ([]Case, error) {
	classer, ok := spec.(CaseClasser)
	if !ok {
		return spec.Cases(p, seed)
	}
	class := classer.CaseClass(p)
	cc.mu.Lock()
	i := slices.IndexFunc(cc.entries, func(e *caseEntry) bool { return e.class == class && e.seed == seed })
	e := &caseEntry{class: class, seed: seed}
	if i >= 0 {
		e = cc.entries[i]
		cc.entries = slices.Delete(cc.entries, i, i+1)
	}
	cc.entries = slices.Insert(cc.entries, 0, e)
	cc.entries = cc.entries[:min(len(cc.entries), caseEntries)]
	cc.mu.Unlock()
	e.once.Do(func() { e.cases, e.err = spec.Cases(p, seed) })
	return e.cases, e.err
}

// repeatSeconds is how long a call may take to be made twice in a check.
const repeatSeconds = 0.05

// Check runs the candidate on the cases of its point, with the inputs of a seed, in a worker.
func (c *candidate) Check(ctx context.Context, seed uint64) error {
	p := c.problem
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := c.compile(ctx); err != nil {
		return err
	}
	return p.host.check(ctx, c.threads(), p.limits, func(w runner) error {
		cases, err := p.cases.of(p.spec, c.point, seed)
		if err != nil {
			return err
		}
		if len(cases) == 0 {
			return kernels.Reject(space.Invalid, "there is no case to check it on")
		}
		c.seed = seed
		for i, one := range cases {
			if err := mapCase(w, one); err != nil {
				return err
			}
			if i == 0 {
				if err := w.Load(c.so); err != nil {
					return err
				}
			}
			took, err := c.checkCase(ctx, w, one)
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
	})
}

// checkCase calls the loaded candidate on a case and verifies what it wrote. It returns how many seconds the first call
// took.
func (c *candidate) checkCase(ctx context.Context, w runner, one Case) (took float64, err error) {
	start := time.Now()
	if err := w.Call(ctx, one.Dims); err != nil {
		return 0, err
	}
	took = time.Since(start).Seconds()
	if err := c.verify(one, w.Outputs()); err != nil || took > repeatSeconds {
		return took, err
	}
	// A candidate that keeps something between calls is right just once.
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
			// Threads may add up in another order.
			err := c.verify(one, w.Outputs())
			if r := kernels.AsRejection(err); r != nil {
				err = kernels.Reject(r.Status, "in the second call: %s", r.Reason)
			}
			return took, err
		}
	}
	return took, nil
}

// kernelFault reports whether an error is the candidate's and not the tuner's.
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
	err = p.host.check(ctx, c.threads(), p.limits, func(w runner) error {
		if err := mapCase(w, one); err != nil {
			return err
		}
		if err := w.Load(c.so); err != nil {
			return err
		}
		if err := w.Call(ctx, one.Dims); err != nil {
			return err
		}
		for _, b := range w.Outputs() {
			out = append(out, bytes.Clone(b))
		}
		return nil
	})
	return out, err
}
