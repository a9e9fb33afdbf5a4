package native

import (
	"context"
	crand "crypto/rand"
	"encoding/binary"
	"math"
	"math/rand/v2"
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
	c        *candidate
	w        runner
	dims     []int64
	threads  int // by which clock: one is timed by the CPU time of its thread
	uses     int // threads that a call uses
	bytes    int // of the buffers
	inputs   int // of those that are read
	inPlace  bool
	cold     bool
	floor    float64       // seconds that no call can be below
	wall     time.Duration // limit of a call
	variants *variants
	rng      *rand.Rand

	length  float64   // seconds that a sample takes at least
	perCall float64   // seconds, roughly
	warm    bool      // whether the last calls were made a moment ago
	calls   int       // of a sample
	ready   []float64 // samples of that many calls that were taken on the way and are not used yet

	restless bool // whether others slow the core now and then

	doubts   int       // requests in a row that looked like that
	fresh    bool      // whether every timed call is made on inputs that are wholly new, and timed by itself
	whole    []float64 // seconds a call of those that were, before
	evidence evidence
}

// newMeterOf returns a meter of a candidate of one thread that reads nothing.
func newMeterOf(w runner) *meter {
	var seed [16]byte
	crand.Read(seed[:]) // it never fails
	return &meter{
		w: w, threads: 1, uses: 1, calls: 1, length: timing.SampleSeconds, variants: &variants{cases: []Case{probeCase}},
		rng: rand.New(rand.NewPCG(binary.LittleEndian.Uint64(seed[:]), binary.LittleEndian.Uint64(seed[8:]))),
	}
}

// newMeter loads a compiled candidate in a worker and finds out how many calls take length, in seconds. known is the meter of
// the same candidate in a worker like this one, which has found that out before; nil for none.
func (c *candidate) newMeter(ctx context.Context, w runner, length float64, known *meter) (*meter, error) {
	p := c.problem
	v, err := p.varied.of(ctx, p, c)
	if err != nil {
		return nil, err
	}
	one := v.cases[0]
	if err := mapCase(w, one); err != nil {
		return nil, err
	}
	if err := w.Vary(v.pool); err != nil {
		return nil, err
	}
	if err := w.Load(c.so); err != nil {
		return nil, err
	}
	m := newMeterOf(w)
	m.length = length
	m.c, m.dims, m.threads, m.uses, m.variants = c, one.Dims, c.threads(), c.threads(), v
	m.floor, m.wall, m.cold = p.work.MinSeconds, p.limits.Wall, p.work.Cold
	for _, b := range one.Buffers {
		m.bytes += b.Bytes()
		m.inPlace = m.inPlace || b.Mode == InOut
		if b.Mode != Out {
			m.inputs += b.Bytes()
		}
	}
	if known != nil {
		m.perCall, m.calls, m.fresh = known.perCall, known.calls, known.fresh
		return m, nil
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
		next := min(timing.Calls(low, m.length), growth*m.calls, m.mostCalls())
		if low*float64(m.calls) >= 0.6*m.length || next <= m.calls {
			m.ready = append(s, again...)
			return nil
		}
		m.calls = next
	}
	return nil
}

// coldCopies returns how many copies of the buffers exceed the last-level cache so far that none of it is left there
// when its turn comes again.
func coldCopies(bytes int) int {
	const most = 1 << 30 // bytes
	total := 1 + bytes
	copies := (2*max(cpu.L2(), cpu.L3()) + total - 1) / total
	return max(min(copies+1, most/total), 1)
}

// warmPlaces returns how many places in memory the samples take turns with. What fits the second-level cache gets so many
// that the turns of a comparison hardly come back to one: how lucky a place is decides there. What does not fit would find
// less of itself in the outer caches at each change, and its luck is the same in all places.
func warmPlaces(bytes, l2 int) int {
	const most, room = 64, 32 << 20
	if bytes >= l2 {
		return 1
	}
	return max(1, min(most, room/(bytes+1)))
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

// windowSeconds is how long calls are timed as one, where a call is shorter. What it takes to read the clock, a fiftieth of
// that, is taken off.
const windowSeconds = 10e-6

// request returns the timing of n samples.
func (m *meter) request(n int, clock worker.Clock) worker.TimeRequest {
	t := worker.TimeRequest{
		Dims: m.dims, Calls: m.calls, Samples: n, Clock: clock, Threads: m.uses,
		Warm: m.warm && m.perCall >= timing.SampleSeconds, Window: 1, Copies: 1, Places: 1,
	}
	if m.perCall > 0 && !m.fresh {
		t.Window = int(min(max(math.Ceil(windowSeconds/m.perCall), 1), float64(m.calls)))
	}
	l2, outer := cpu.L2(), max(cpu.L2(), cpu.L3())
	switch {
	case m.cold:
		t.Cold, t.Copies = true, coldCopies(m.bytes)
	case m.inPlace:
		// Each call of a stretch needs a copy with its input, and they are all to stay in the second cache.
		t.Copies = max(1, min(t.Window, mostInPlace, l2/2/max(m.bytes, 1)))
		t.Window = t.Copies
	}
	if !m.cold {
		t.Places = max(1, warmPlaces(m.bytes*t.Copies, l2)/t.Copies)
		t.Touch = m.bytes <= outer
		t.Sparse = m.bytes > l2 && !m.long() && !m.fresh
	}
	// The copies are each called once to warm up, unless that would take longer than a sample and tell nothing new. To
	// change what the buffers hold takes less than to read and write them at the rate of a slow memory.
	const slowMemory = 1e9
	expect := timing.Seconds(m.perCall*float64(n*m.calls+t.Copies) + float64(n*(m.calls/t.Window+2)*m.inputs+t.Copies*t.Places*m.bytes)/slowMemory)
	t.Limit = 20*expect + m.wall
	return t
}

// mostInPlace is how many copies of a buffer that is read and written are called on in turn.
const mostInPlace = 256

func (m *meter) sampleBy(ctx context.Context, n int, clock worker.Clock) ([]float64, error) {
	t, err := m.w.Time(ctx, m.request(n, clock))
	m.warm = err == nil
	if err != nil {
		return nil, err
	}
	if err := m.weigh(t.Evidence, t.Seconds); err != nil {
		return nil, err
	}
	if !m.stale(t) {
		m.doubts = 0
		return t.Seconds, nil
	}
	// One that was disturbed looks like that too.
	if m.doubts++; m.doubts < staleRequests {
		return t.Seconds, nil
	}
	// From here on every call is timed that has to do the work.
	m.fresh, m.ready = true, nil
	if t, err = m.w.Time(ctx, m.request(n, clock)); err != nil {
		return nil, err
	}
	m.perCall = t.Seconds[0]
	m.calls = min(timing.Calls(m.perCall, m.length), m.mostCalls())
	return t.Seconds, m.weigh(t.Evidence, t.Seconds)
}

// mostCalls bounds the calls of a sample where each one needs inputs of its own.
func (m *meter) mostCalls() int {
	if m.inPlace || m.fresh {
		return 2048
	}
	return math.MaxInt
}

// How much longer the first call on new inputs may take than those that follow, because of the caches and of what the
// processor foresees of branches: so many calls, and what it takes to get the buffers from the second cache.
const (
	staleCalls    = 2
	staleSeconds  = 1e-6
	staleRate     = 16e9 // bytes a second
	staleShort    = 1.25 // what is less may be the clock
	staleRequests = 2
	staleWhole    = 2
)

// stale reports whether calls are much faster on inputs that are nearly those of the call before. A result of an earlier
// call that is taken again is seen in what was written where that depends on all inputs; here it is seen where it does not.
func (m *meter) stale(t worker.Timing) bool {
	if m.fresh || !m.variants.vary {
		return false
	}
	if t.Long > 0 && t.Short > staleShort*t.Long {
		// A stretch of n calls takes first + n·each.
		first := (t.Short - t.Long) / (1/t.ShortCalls - 1/t.LongCalls)
		each := max(t.Long-first/t.LongCalls, 0)
		if first > staleCalls*each+staleSeconds+float64(m.bytes)/staleRate {
			return true
		}
	}
	if t.Whole <= 0 || t.Window > 1 || m.cold {
		return false
	}
	m.whole = append(m.whole, t.Whole)
	sorted := slices.Sorted(slices.Values(m.whole))
	return len(m.whole) >= 3 && timing.Quantile(sorted, 0.5) > staleWhole*slices.Max(t.Seconds)
}

// draw draws a number below n.
func (m *meter) draw(n int) int { return m.rng.IntN(n) }

func (m *meter) shuffle(list []worker.Evidence) {
	m.rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
}

func (m *meter) slow() bool { return m.perCall >= timing.Slow }

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

// takeTurns takes n turns of SampleSeconds each, in seconds a call. What others do on the core comes and goes within a turn, so
// that it is cut into short samples, and is what the fastest of them say.
func (m *meter) takeTurns(ctx context.Context, n int) ([]float64, error) {
	short := m.bursts(timing.SampleSeconds)
	s, err := m.sample(ctx, n*short)
	if err != nil {
		return nil, err
	}
	return inTurns(s, short, m.floor), nil
}

// inTurns returns what turns of so many samples come to; 0 is a turn whose samples all are below floor.
func inTurns(samples []float64, short int, floor float64) (turns []float64) {
	for turn := range slices.Chunk(samples, short) {
		turns = append(turns, timing.Summarise(turn, floor).Fast)
	}
	return turns
}

// bursts returns how many samples make a turn of so many seconds.
func (m *meter) bursts(seconds float64) int {
	return int(math.Round(min(max(seconds/(m.perCall*float64(m.calls)), 1), max(seconds/m.length, 1))))
}

// measure takes turns until there are enough, or until the candidate is behind the best; 0 is no best.
func (m *meter) measure(ctx context.Context, want int, best float64) (estimate, error) {
	var e estimate
	var err error
	sampling := timing.Sampling{Want: want, Floor: m.floor, Best: best, Long: m.long(), Restless: m.restless}
	e.Summary, e.stopped, err = sampling.Run(func(n int) ([]float64, error) { return m.takeTurns(ctx, n) })
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

// idleTries is how often a measurement by the wall is made until it had the machine to itself.
const idleTries = 3

// Score times the candidate on the asked shape.
func (c *candidate) Score(ctx context.Context, fidelity int) (kernels.Score, error) {
	p := c.problem
	var e estimate
	// Nothing can be compiled once the compilers are stopped.
	err := c.compile(ctx)
	if err == nil {
		err = c.vary(ctx)
	}
	if err != nil {
		return kernels.Score{}, err
	}
	err = p.host.timed(ctx, c.threads(), p.limits, func(o worker.Options) error {
		return p.host.borrow(ctx, o, c.company(), func(w runner) error {
			m, err := c.newMeter(ctx, w, timing.BurstSeconds, nil)
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
			start := time.Now()
			slowed := func(wait bool) (bool, error) { return p.host.slowed(ctx, o, wait) }
			e, err = m.fairly(ctx, want, best, slowed, p.host.gauge.restless)
			p.host.gauge.spent += time.Since(start)
			if err != nil {
				return err
			}
			return m.verifyTimed(ctx, e.stopped)
		})
	})
	if err != nil {
		return kernels.Score{}, err
	}
	if e.Kept == 0 || !(e.Cost > 0) {
		return kernels.Score{}, kernels.Reject(space.Invalid, "none of the %d times that were measured can be", e.Rejected)
	}
	if err := c.underRoof(ctx, e.Cost); err != nil {
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

// fairTries is how often a candidate is measured while the core is slow.
const fairTries = 6

// fairly measures, and measures again where the core is slow before or after that, as soon as it is fast, unless the candidate is
// hopeless even so. The best of the measurements stands; where the core stays slow it is marked. One that was stopped after a few
// turns may have met a slow moment between two looks: where the core has many, it has a second chance.
func (m *meter) fairly(ctx context.Context, want int, best float64, slowed func(wait bool) (bool, error), restless func() bool) (estimate, error) {
	before, err := slowed(false)
	if err != nil {
		return estimate{}, err
	}
	m.restless = restless()
	e, err := m.verified(ctx, want, best)
	// Long calls average over slow phases, if there are enough of them.
	single := e.stopped && e.Kept == 1
	for try := 1; err == nil && (m.perCall < timing.Slow/10 || single) && (best <= 0 || e.Cost <= timing.Hopeless*best); try++ {
		slow, err := slowed(false)
		if err != nil {
			return e, err
		}
		again := try == 1 && e.stopped && m.restless
		if !slow && !before && !again {
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
		next, err := m.verified(ctx, want, best)
		if err != nil {
			return e, err
		}
		if e.Kept == 0 || next.Kept > 0 && next.Cost < e.Cost {
			e = next
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

// score makes a score of an estimate.
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
	return kernels.Score{Cost: e.Cost * 1e9, Metrics: metrics}
}

// rateName returns the name of the metric of a rate: "gflops" for "GFLOP/s", "gops" for "GOP/s".
func rateName(ops string) string {
	if strings.EqualFold(ops, "GOP/s") {
		return space.MetricGOPS
	}
	return space.MetricGFLOPS
}
