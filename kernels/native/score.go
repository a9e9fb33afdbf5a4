package native

import (
	"context"
	"slices"
	"strings"
	"time"

	"tune/kernels"
	"tune/kernels/native/timing"
	"tune/kernels/native/worker"
	"tune/space"
)

// estimate is the result of timing a candidate.
type estimate struct {
	timing.Summary
	unverified bool
	stopped    bool // early, because the candidate is behind
}

// measure takes turns until there are enough, or until the candidate is behind best; 0 means no best.
func (m *meter) measure(ctx context.Context, want int, best float64) (estimate, error) {
	var e estimate
	var err error
	sampling := timing.Sampling{Want: want, Floor: m.floor, Best: best, Long: m.long(), Restless: m.restless}
	for {
		before := m.manner
		e.Summary, e.stopped, err = sampling.Run(func(n int) ([]float64, error) { return m.takeTurns(ctx, n) })
		if err == nil && !e.stopped {
			err = m.settleSuspicion(ctx, e.Cost)
		}
		if err != nil || e.stopped {
			return e, err
		}
		if m.manner == before {
			break
		}
	}
	if e.Kept < min(want, timing.Least) {
		return e, m.measureByWall(ctx, want, &e)
	}
	return e, nil
}

// measureByWall measures a candidate again by the wall clock, because most of its samples were impossibly short by the clock that it is
// timed by. The cost is then at least what the machine can do, and marked as unverified.
func (m *meter) measureByWall(ctx context.Context, want int, e *estimate) error {
	short := m.bursts(timing.SampleSeconds)
	s, err := m.sampleBy(ctx, want*short, worker.Wall)
	if err != nil {
		return err
	}
	rejected := e.Rejected
	e.Summary = timing.Summarise(inTurns(s, short, 0), 0)
	e.Rejected += rejected
	e.Cost = max(e.Cost, m.floor)
	e.unverified = true
	return nil
}

// idleTries is how often a wall-clock measurement is repeated until the machine was idle.
const idleTries = 3

// Score times the candidate on the asked shape.
func (c *candidate) Score(ctx context.Context, fidelity int) (kernels.Score, error) {
	p := c.problem
	var e estimate
	// Nothing can be compiled once the compilers are stopped.
	err := c.compile(ctx)
	if err == nil {
		err = c.makeVariants(ctx)
	}
	if err != nil {
		return kernels.Score{}, err
	}
	var m *meter
	err = p.host.timed(ctx, c.threads(), p.limits, func(o worker.Options) error {
		return p.host.borrow(ctx, o, c.company(), func(w runner) (err error) {
			begin := func(ctx context.Context, again bool) beginning { return p.host.blindBegin(ctx, o, again) }
			if m, err = c.newMeter(ctx, w, metering{length: timing.BurstSeconds, blindBegin: begin}); err != nil {
				return err
			}
			want := timing.Samples(m.perCall)
			first := gaugeFirst
			if m.brief = p.brief; m.brief {
				want, first = min(want, briefSamples), gaugeBrief
			}
			if p.host.hasty {
				want = min(want, briefSamples)
			}
			if fidelity > 0 {
				want = min(want, 2)
			}
			p.mu.Lock()
			best := p.best
			p.mu.Unlock()
			start := time.Now()
			slowed := func(wait bool) (bool, error) { return p.host.slowed(ctx, o, first, wait) }
			e, err = m.fairly(ctx, want, best, slowed, p.host.gauge.restless)
			p.host.gauge.spent += time.Since(start)
			if err != nil {
				return err
			}
			if err := m.revisit(ctx); err != nil {
				return err
			}
			if !e.stopped {
				m.leads, m.said = best == 0 || e.Cost < best, e.Cost
			}
			return m.verifyTimed(ctx, e.stopped)
		})
	})
	if err != nil {
		return kernels.Score{}, err
	}
	c.timed = &meter{perCall: m.perCall, calls: m.calls, wholes: m.wholes, manner: m.manner}
	if m.charged > e.Cost {
		e.Cost, e.unverified = m.charged, true
	}
	if c.noted().apart {
		e.Cost *= p.baseline.get().apartFactor()
	}
	if e.Kept == 0 || !(e.Cost > 0) {
		return kernels.Score{}, kernels.Reject(space.Invalid, "none of the %d times that were measured can be", e.Rejected)
	}
	if err := c.plausible(ctx, e.Cost); err != nil {
		return kernels.Score{}, err
	}
	if fidelity == 0 && !e.stopped {
		p.mu.Lock()
		if p.best == 0 || e.Cost < p.best {
			p.best = e.Cost
		}
		p.mu.Unlock()
	}
	return p.score(e, c.threads()), nil
}

// briefSamples is how many samples a brief score has at most. They have a spread.
const briefSamples = 3

// fairTries is how often a candidate is measured again because the core is slow.
const fairTries = 6

// fairly measures a candidate. Where the core was slow before or after, it waits until the core is fast and measures again, unless the
// candidate is hopeless anyway. The least cost counts; if the core stays slow it is marked as unverified. A candidate that was stopped
// after a few turns may have met a slow moment that nothing noticed. So on a core that is often slow (restless) it is measured twice.
func (m *meter) fairly(ctx context.Context, want int, best float64, slowed func(wait bool) (bool, error), restless func() bool) (estimate, error) {
	before, err := slowed(false)
	if err != nil {
		return estimate{}, err
	}
	m.restless = restless()
	e, err := m.measureIdle(ctx, want, best)
	// Long calls average over slow phases, if there are enough calls.
	once := e.stopped && e.Kept == 1
	for try := 1; err == nil && (m.perCall < timing.Slow/10 || once) && (best <= 0 || e.Cost <= timing.Hopeless*best); try++ {
		slow, err := slowed(false)
		if err != nil {
			return e, err
		}
		again := try == 1 && e.stopped && m.restless
		if !slow && !before && !again {
			return e, nil
		}
		if m.brief {
			e.unverified = true
			return e, nil
		}
		if try < fairTries {
			if slow, err = slowed(true); err != nil {
				return e, err
			}
		}
		if slow {
			e.unverified = true
			break
		}
		before = false
		next, err := m.measureIdle(ctx, want, best)
		if err != nil {
			return e, err
		}
		if e.Kept == 0 || next.Kept > 0 && next.Cost < e.Cost {
			e = next
		}
	}
	return e, err
}

// measureIdle measures a candidate. One that is timed by the wall clock is measured while the machine is idle before and after. Where it
// never is, the least cost counts, and is marked as unverified. So is the cost of calls that are too slow to be timed twice.
func (m *meter) measureIdle(ctx context.Context, want int, best float64) (estimate, error) {
	if m.threads <= 1 {
		e, err := m.measure(ctx, want, best)
		e.unverified = e.unverified || m.perCall >= timing.Slow
		return e, err
	}
	var kept estimate
	for try := range idleTries {
		before := awaitIdle(ctx)
		e, err := m.measure(ctx, want, best)
		if err != nil {
			return e, err
		}
		if before && timing.Idle(ctx) && m.perCall < timing.Slow {
			return e, nil
		}
		e.unverified = true
		if try == 0 || e.Kept > 0 && e.Cost < kept.Cost {
			kept = e
		}
		if !before || m.brief || m.perCall >= timing.Slow/10 {
			break // Repeating it does not make the machine quieter.
		}
	}
	return kept, nil
}

// awaitIdle waits a moment for the machine to become idle, and reports whether it is.
func awaitIdle(ctx context.Context) bool {
	const looks, pause = 4, 25 * time.Millisecond
	for i := range looks {
		if timing.Idle(ctx) {
			return true
		}
		if i < looks-1 {
			select {
			case <-time.After(pause):
			case <-ctx.Done():
				return false
			}
		}
	}
	return false
}

// score converts an estimate to a score.
func (p *Problem) score(e estimate, threads int) kernels.Score {
	unverified := 0.0
	if e.unverified {
		unverified = 1
	}
	metrics := []space.Metric{
		{Name: space.MetricSamples, Value: float64(e.Kept)}, {Name: space.MetricSpread, Value: e.Spread}, {Name: space.MetricUnverified, Value: unverified},
		{Name: space.MetricThreads, Value: float64(threads)},
	}
	if p.work.Ops > 0 {
		metrics = append(metrics, space.Metric{Name: rateName(p.work.OpsName), Value: p.work.Ops / e.Cost / 1e9})
	}
	if p.work.Bytes > 0 {
		metrics = append(metrics, space.Metric{Name: space.MetricGBS, Value: p.work.Bytes / e.Cost / 1e9})
	}
	slices.SortFunc(metrics, func(a, b space.Metric) int { return strings.Compare(a.Name, b.Name) })
	return kernels.Score{Cost: e.Cost * nanoseconds, Metrics: metrics}
}

// rateName returns the name of the metric of a rate: "gflops" for "GFLOP/s", "gops" for "GOP/s".
func rateName(ops string) string {
	if strings.EqualFold(ops, "GOP/s") {
		return space.MetricGOPS
	}
	return space.MetricGFLOPS
}
