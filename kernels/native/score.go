package native

import (
	"context"
	"hash/maphash"
	"slices"
	"strings"
	"time"

	"tune/kernels"
	"tune/kernels/native/cpu"
	"tune/kernels/native/timing"
	"tune/kernels/native/worker"
	"tune/space"
)

// meter takes samples of one loaded candidate.
type meter struct {
	w       runner
	dims    []int64
	threads int
	copies  int
	places  int           // that samples take turns with
	floor   float64       // seconds that no call can be below
	wall    time.Duration // limit of a call

	perCall float64   // seconds, roughly
	warm    bool      // whether the last calls were made a moment ago
	calls   int       // of a sample
	ready   []float64 // samples of that many calls that were taken on the way and are not used yet
}

// newMeter loads a compiled candidate in a worker and finds out how long a call takes.
func (c *candidate) newMeter(ctx context.Context, w runner) (*meter, error) {
	p := c.problem
	cases, err := p.cases.of(ctx, p.spec, c.point, c.seed)
	if err != nil {
		return nil, err
	}
	if len(cases) == 0 {
		return nil, kernels.Reject(space.Invalid, "there is no case to time it on")
	}
	if err := mapCase(w, cases[0]); err != nil {
		return nil, err
	}
	if err := w.Load(c.so); err != nil {
		return nil, err
	}
	m := &meter{w: w, dims: cases[0].Dims, threads: c.threads(), floor: p.work.MinSeconds, wall: p.limits.Wall, calls: 1}
	if p.work.Cold {
		m.copies = coldCopies(cases[0].Buffers)
	} else {
		m.places = warmPlaces(cases[0].Buffers, cpu.L2())
	}
	if c.took >= longCalls*timing.SampleSeconds {
		// The call of the check stands for the warm-up.
		m.perCall, m.warm = c.took, true
	}
	return m, m.calibrate(ctx)
}

// longCalls is how many times as long as a sample need be a call is that counts as long.
const longCalls = 10

// calibrate finds out how many calls make a sample. The first calls are slower than the rest, one call may be shorter
// than the clock can tell, and a single sample may be wrong in either way, so that two have to agree; but one that is
// long is dear, and can hardly be too long by mistake.
func (m *meter) calibrate(ctx context.Context) error {
	const tries, agree, growth = 10, 4, 100
	for range tries {
		s, err := m.sample(ctx, 1)
		if err != nil {
			return err
		}
		if m.perCall = s[0]; m.calls == 1 && m.long() {
			m.ready = s
			return nil
		}
		again, err := m.sample(ctx, 1)
		if err != nil {
			return err
		}
		low, high := min(s[0], again[0]), max(s[0], again[0])
		m.perCall = low
		if high > agree*low {
			continue
		}
		next := min(timing.Calls(low), growth*m.calls)
		if low*float64(m.calls) >= 0.6*timing.SampleSeconds || next <= m.calls {
			m.ready = append(s, again...)
			return nil
		}
		m.calls = next
	}
	return nil
}

// coldCopies returns how many copies of the buffers exceed the last-level cache so far that none of it is left there
// when its turn comes again.
func coldCopies(buffers []Buffer) int {
	const most = 1 << 30 // bytes
	total := 1
	for _, b := range buffers {
		total += b.Bytes()
	}
	copies := (2*max(cpu.L2(), cpu.L3()) + total - 1) / total
	return max(min(copies+1, most/total), 1)
}

// warmPlaces returns how many places in memory the samples take turns with. What fits the second-level cache gets so many
// that the turns of a comparison hardly come back to one: how lucky a place is decides there. What does not fit would find
// less of itself in the outer caches at each change, and its luck is the same in all places.
func warmPlaces(buffers []Buffer, l2 int) int {
	const most, bytes = 64, 32 << 20
	total := 1
	for _, b := range buffers {
		total += b.Bytes()
	}
	if total > l2 {
		return 1
	}
	return max(1, min(most, bytes/total))
}

// sample takes n samples, in seconds a call.
func (m *meter) sample(ctx context.Context, n int) ([]float64, error) {
	clock := worker.CPU
	if m.threads > 1 {
		clock = worker.Wall
	}
	s := m.ready[:min(n, len(m.ready))]
	if m.ready = m.ready[len(s):]; len(s) == n {
		return s, nil
	}
	more, err := m.sampleBy(ctx, n-len(s), clock)
	return append(slices.Clip(s), more...), err
}

func (m *meter) sampleBy(ctx context.Context, n int, clock worker.Clock) ([]float64, error) {
	// The copies are each called once to warm up, unless that would take longer than a sample and tell nothing new.
	expect := timing.Seconds(m.perCall * float64(n*m.calls+max(m.copies, 1)))
	s, err := m.w.Time(ctx, worker.TimeRequest{
		Dims: m.dims, Calls: m.calls, Samples: n, Clock: clock, Copies: m.copies, Places: m.places, Warm: m.warm && m.perCall >= timing.SampleSeconds,
		Limit: 20*expect + time.Duration(n+1)*m.wall,
	})
	m.warm = err == nil
	return s, err
}

// cool says that others have worked since the last sample. What they have put into the caches is soon replaced, as
// long calls go.
func (m *meter) cool() { m.warm = m.warm && m.long() }

// long reports whether a call is so long that single samples say a lot and cost a lot.
func (m *meter) long() bool { return m.perCall >= longCalls*timing.SampleSeconds }

// estimate is what timing a candidate came to.
type estimate struct {
	timing.Summary
	unverified bool
	stopped    bool // early, because it is behind
}

// hopeless is how far behind the best a candidate must be where no slow phase can be to blame.
const hopeless = 3

// measure takes samples until there are enough, or until the candidate is behind the best; 0 is no best.
func (m *meter) measure(ctx context.Context, want int, best float64) (estimate, error) {
	var e estimate
	var err error
	sampling := timing.Sampling{Want: want, Floor: m.floor, Best: best, Long: m.long()}
	e.Summary, e.stopped, err = sampling.Run(func(n int) ([]float64, error) { return m.sample(ctx, n) })
	if err != nil || e.stopped {
		return e, err
	}
	if e.Kept < min(want, timing.Least) {
		return e, m.doubt(ctx, want, &e)
	}
	return e, nil
}

// doubt is for a candidate whose samples are mostly impossible. The clock of the wall has the last word, and what it
// says is not taken as more than the machine can do.
func (m *meter) doubt(ctx context.Context, want int, e *estimate) error {
	s, err := m.sampleBy(ctx, want, worker.Wall)
	if err != nil {
		return err
	}
	rejected := e.Rejected
	e.Summary = timing.Summarise(s, 0)
	e.Rejected += rejected
	e.Cost = max(e.Cost, m.floor)
	e.unverified = true
	return nil
}

// idleTries is how often a measurement by the wall is made until it had the machine to itself.
const idleTries = 3

// Score times the candidate on the asked shape.
func (c *candidate) Score(ctx context.Context, fidelity int) (kernels.Score, error) {
	p := c.problem
	var e estimate
	// Nothing can be compiled once the compilers are stopped.
	err := c.compile(ctx)
	if err != nil {
		return kernels.Score{}, err
	}
	err = p.host.timed(ctx, c.threads(), p.limits, func(o worker.Options) error {
		return p.host.borrow(ctx, o, c.company(), func(w runner) error {
			m, err := c.newMeter(ctx, w)
			if err != nil {
				return err
			}
			want := timing.Samples(m.perCall)
			if fidelity > 0 {
				want = min(want, 2)
			}
			p.mu.Lock()
			best := p.best
			p.mu.Unlock()
			slowed := func() (bool, error) { return p.host.slowed(ctx, o) }
			if e, err = m.fairly(ctx, want, best, slowed); err != nil {
				return err
			}
			return c.verifyTimed(ctx, w, m.perCall, e.stopped)
		})
	})
	if err != nil {
		return kernels.Score{}, err
	}
	if e.Kept == 0 || !(e.Cost > 0) {
		return kernels.Score{}, kernels.Reject(space.Invalid, "none of the %d times that were measured can be", e.Rejected)
	}
	if fidelity == 0 && !e.stopped {
		p.mu.Lock()
		if p.best == 0 || e.Cost < p.best {
			p.best = e.Cost
		}
		p.mu.Unlock()
	}
	return p.score(e), nil
}

// fairTries is how often a candidate is measured while the core is slow.
const fairTries = 3

// fairly measures, and measures again where the core is slow just now, unless the candidate is hopeless even so. The
// best of the measurements stands; where the core stays slow it is marked.
func (m *meter) fairly(ctx context.Context, want int, best float64, slowed func() (bool, error)) (estimate, error) {
	e, err := m.verified(ctx, want, best)
	// Long calls average over slow phases, if there are enough of them.
	single := e.stopped && e.Kept == 1
	for try := 1; err == nil && (m.perCall < timing.Slow/10 || single) && (best <= 0 || e.Cost <= hopeless*best); try++ {
		slow, err := slowed()
		if err != nil || !slow {
			return e, err
		}
		if try == fairTries {
			e.unverified = true
			break
		}
		again, err := m.verified(ctx, want, best)
		if err != nil {
			return e, err
		}
		if e.Kept == 0 || again.Kept > 0 && again.Cost < e.Cost {
			e = again
		}
	}
	return e, err
}

// verified measures, and for wall times sees to it that the machine was idle before and after. Where it never is, the
// best of the measurements stands and is marked. So is a call that is too slow to be timed more than once.
func (m *meter) verified(ctx context.Context, want int, best float64) (estimate, error) {
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
		if !before || m.perCall >= timing.Slow/10 {
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

// verifyTimed verifies what the last timed call wrote, and further calls: a candidate may be right in the first calls and
// wrong in the thousandth, or leave alone what an earlier call of the same sample wrote. Buffers that are read and
// written hold their inputs by then, so that only further calls can tell. One that is behind the best has none otherwise,
// and a call that was too long to be repeated in the check has two.
func (c *candidate) verifyTimed(ctx context.Context, w runner, perCall float64, behind bool) error {
	cases, err := c.problem.cases.of(ctx, c.problem.spec, c.point, c.seed)
	if err != nil {
		return err
	}
	asked := cases[0]
	inPlace := slices.ContainsFunc(asked.Buffers, func(b Buffer) bool { return b.Mode == InOut })
	calls := 1
	switch {
	case behind || perCall >= timing.Slow:
		if !inPlace {
			calls = 0
		}
	case c.took > repeatSeconds:
		calls = 2
	}
	if !inPlace {
		err = c.verify(asked, w.Outputs())
	}
	right := hashOutputs(asked, w.Outputs())
	verified := !inPlace
	for i := 0; err == nil && i < calls; i++ {
		if err = w.Call(ctx, asked.Dims); err != nil {
			break
		}
		if h := hashOutputs(asked, w.Outputs()); !verified || h != right {
			err = c.verify(asked, w.Outputs())
			right, verified = h, true
		}
	}
	if r := kernels.AsRejection(err); r != nil {
		return kernels.Reject(r.Status, "%s, after many calls: %s", asked.Name, r.Reason)
	}
	return err
}

var outputSeed = maphash.MakeSeed()

// hashOutputs tells whether two calls wrote the same, without a copy of it.
func hashOutputs(c Case, buffers [][]byte) uint64 {
	var h maphash.Hash
	h.SetSeed(outputSeed)
	for i, b := range buffers {
		if c.Buffers[i].Mode != In {
			h.Write(b)
		}
	}
	return h.Sum64()
}

// score makes a score of an estimate.
func (p *Problem) score(e estimate) kernels.Score {
	unverified := 0.0
	if e.unverified {
		unverified = 1
	}
	metrics := []space.Metric{
		{Name: "samples", Value: float64(e.Kept)}, {Name: "spread", Value: e.Spread}, {Name: "unverified", Value: unverified},
	}
	if p.work.Ops > 0 {
		metrics = append(metrics, space.Metric{Name: rateName(p.work.OpsName), Value: p.work.Ops / e.Cost / 1e9})
	}
	if p.work.Bytes > 0 {
		metrics = append(metrics, space.Metric{Name: "gbs", Value: p.work.Bytes / e.Cost / 1e9})
	}
	slices.SortFunc(metrics, func(a, b space.Metric) int { return strings.Compare(a.Name, b.Name) })
	return kernels.Score{Cost: e.Cost * 1e9, Metrics: metrics}
}

// rateName returns the name of the metric of a rate: "gflops" for "GFLOP/s", "gops" for "GOP/s".
func rateName(ops string) string {
	if strings.EqualFold(ops, "GOP/s") {
		return "gops"
	}
	return "gflops"
}
