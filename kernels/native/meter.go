package native

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"tune/internal/cpu"
	"tune/kernels"
	"tune/kernels/native/timing"
	"tune/kernels/native/worker"
)

// meter takes samples of one candidate, which is loaded in a worker. It finds out how many calls make a sample, asks the worker for
// samples, collects evidence of timed calls, and watches for candidates that reuse the results of earlier calls. The words (sample,
// turn, stretch, evidence) are explained in doc.go.
type meter struct {
	c        *candidate
	w        runner
	dims     []int64
	threads  int // decides the clock: with one thread it is the CPU time of that thread
	uses     int // threads that a call uses
	bytes    int // of the buffers
	buffers  int // how many
	inputs   int // of the buffers that are read
	outputs  int // of the buffers that are written
	inPlace  bool
	large    bool          // whether a call is so large that fewer than leastAfresh of them can be kept as evidence; see verifyKnown
	cold     bool          // whether the operands of a call are to be out of the caches
	floor    float64       // the least possible seconds of a call
	wall     time.Duration // limit of a call
	variants *variants
	rng      *rand.Rand

	length  float64   // the least length of a sample, in seconds
	perCall float64   // seconds, roughly
	warm    bool      // whether calls were made a moment ago
	calls   int       // in a sample
	taken   int       // samples
	ready   []float64 // unused samples of that many calls, from calibration

	brief    bool // whether nothing is measured twice; see Problem.Brief
	hasty    bool // whether turns have few samples; see testonly.Host
	restless bool // whether other work slows the core now and then
	strict   bool // whether a weaker suspicion of reused results is enough, because then all entrants are timed apart
	// against is how the baseline of the comparison reacts to new inputs. isBaseline says that the candidate is this baseline.
	against    *reactions
	isBaseline bool
	// blindBegin is that of the host; see metering.
	blindBegin func(ctx context.Context, again bool) beginning

	staleInRow int // requests in a row that looked stale
	manner
	spent, made float64   // seconds of the samples by which an uneven candidate is levelled, and how many calls these are
	whole       []float64 // by request: the time of a call on wholly new inputs, in seconds
	// wholes has by request, also of earlier processes of a comparison, the same beside the time of another call.
	wholes   *timing.Sequential
	began    time.Time // when the candidate came to be timed
	leads    bool      // whether it is the best so far
	said     float64   // the seconds a call that decide about it; 0 where none do
	charged  float64   // the seconds a call that it is charged at least, by blind calls; 0 where there were none
	doubted  bool      // whether it is charged for blind calls that others may have slowed
	turns    []float64 // of a comparison in this process, seconds a call
	renewed  bool      // whether the process is another one than that in which it was timed
	evidence evidence
}

// newMeterOf returns a meter of a candidate with one thread and no inputs.
func newMeterOf(w runner) *meter {
	return &meter{
		w: w, threads: 1, uses: 1, calls: 1, length: timing.SampleSeconds, variants: &variants{cases: []Case{probeCase}}, began: time.Now(),
		wholes: &timing.Sequential{Error: errWhole},
		rng:    rand.New(rand.NewPCG(kernels.FreshSeed(), kernels.FreshSeed())),
	}
}

// metering says how a candidate is timed.
type metering struct {
	length float64 // of a sample at least, in seconds
	manner         // in any case, whatever the meter finds out
	loaded bool    // whether the worker has loaded the candidate
	known  *meter  // of the same candidate in a similar worker, which knows how many calls make a sample; nil for none
	// against is how the baseline of the comparison reacts to new inputs, and isBaseline says that the candidate is this baseline. Where
	// against is nil, the baseline is that of the candidate's problem.
	against    *reactions
	isBaseline bool
	// blindBegin returns what it takes to begin and to end blind calls: see Host.blindBegin.
	blindBegin func(ctx context.Context, again bool) beginning
}

// newMeter loads a compiled candidate in a worker and finds out how many calls make a sample.
func (c *candidate) newMeter(ctx context.Context, w runner, how metering) (*meter, error) {
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
	if !how.loaded {
		if err := w.Load(c.so); err != nil {
			return nil, err
		}
	}
	m := newMeterOf(w)
	m.length = how.length
	if m.against, m.isBaseline = how.against, how.isBaseline; m.against == nil {
		m.against, m.isBaseline = &p.baseline, c.isBaseline()
	}
	m.c, m.dims, m.threads, m.uses, m.variants = c, one.Dims, c.threads(), c.threads(), v
	m.floor, m.wall, m.cold, m.hasty = p.work.MinSeconds, p.limits.Wall, p.work.Cold, p.host.hasty
	m.buffers, m.blindBegin = len(one.Buffers), how.blindBegin
	kept := 0 // bytes of a call that is kept
	for _, b := range one.Buffers {
		m.bytes += b.Bytes()
		kept += b.Bytes()
		if b.Mode != Out {
			m.inputs += b.Bytes()
		}
		if b.Mode != In {
			m.outputs += b.Bytes()
		}
		if b.Mode == InOut {
			m.inPlace = true
			kept += b.Bytes()
		}
	}
	m.large = kept > mostKeptBytes/leastAfresh
	m.manner = how.manner.and(c.noted())
	if known := how.known; known != nil {
		m.perCall, m.calls, m.wholes, m.manner = known.perCall, known.calls, known.wholes, known.manner.and(m.manner)
		return m, nil
	}
	if c.took >= longCalls*timing.SampleSeconds {
		// The call of the check was the warm-up.
		m.perCall, m.warm = c.took, true
	}
	return m, m.calibrate(ctx)
}

// longCalls is how many times the needed length of a sample a call must take to count as long.
const longCalls = 10

// calibrate finds out how many calls make a sample. The first calls are slower than the rest, one call may be too short for the
// clock, and a single sample may be wrong in either direction; so two have to agree. A long call is not repeated: it is
// expensive, and hardly ever much too long by mistake. Where samples are short, calls of SampleSeconds are long.
func (m *meter) calibrate(ctx context.Context) error {
	const tries, agree, growth = 10, 4, 100
	for range tries {
		s, err := m.sample(ctx, 1)
		if err != nil {
			return err
		}
		if m.perCall = s[0]; m.calls == 1 && (m.long() || m.length < timing.BurstSeconds && m.perCall >= timing.SampleSeconds) {
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

// coldCopies returns how many copies of the buffers it takes to evict a copy completely from the last-level cache before its next
// turn, where they fit into 1 GiB of memory. Very small buffers may stay in a large last-level cache. Workers draw the next copy among a
// quarter of all, so that a third more are needed than if each had its turn.
func coldCopies(bytes, buffers int) int {
	const most = 1 << 30 // bytes
	total := 1 + bytes
	turns := (2*max(cpu.L2(), cpu.L3())+total-1)/total + 1
	return max(min(turns+(turns+2)/3, most/copyBytes(total, buffers)), 1)
}

// copyBytes returns how much memory a copy of the buffers takes at most: a worker begins each at a new page, and shifts it by up to a page.
func copyBytes(bytes, buffers int) int {
	const page = 4096
	return bytes + 2*page*buffers
}

// warmPlaces returns the number of places in memory that samples use in turn. Buffers that fit the second-level cache get so many
// that the turns of a comparison rarely use one again, because there the speed depends on the place. Larger buffers would find
// less of themselves in the outer caches at each change of place, and are equally fast in all places.
func warmPlaces(bytes, l2 int) int {
	const most, room = 64, 32 << 20
	if bytes >= l2 {
		return 1
	}
	return max(1, min(most, room/(bytes+1)))
}

// clock is what the candidate is timed by.
func (m *meter) clock() worker.Clock {
	if m.threads > 1 {
		return worker.Wall
	}
	return worker.CPU
}

// fitting returns how many of n samples fit into one request. Calls that are timed apart may be a stretch each, and a request
// has at most MostStretches.
func (m *meter) fitting(n int) int {
	if m.apart {
		return max(1, min(n, worker.MostStretches/m.calls))
	}
	return n
}

// sample takes n samples, in seconds a call.
func (m *meter) sample(ctx context.Context, n int) ([]float64, error) {
	s := m.ready[:min(n, len(m.ready))]
	if m.ready = m.ready[len(s):]; len(s) == n {
		return s, nil
	}
	more, err := m.sampleBy(ctx, n-len(s), m.clock())
	return append(slices.Clip(s), more...), err
}

// windowSeconds is the length of a stretch of short calls that is timed as one. The time to read the clock, about a fiftieth of
// that, is subtracted.
const windowSeconds = 10e-6

// request returns the timing of n samples.
func (m *meter) request(n int, clock worker.Clock) worker.TimeRequest {
	t := worker.TimeRequest{
		Dims: m.dims, Calls: m.calls, Samples: n, Clock: clock, Threads: m.uses,
		Warm: m.warm && m.perCall >= timing.SampleSeconds, Window: 1, Copies: 1, Places: 1,
	}
	t.Whole = m.variants != nil && m.variants.cases[0].Tolerant && m.bytes > cpu.L2()
	if m.perCall > 0 {
		t.Window = int(min(max(math.Ceil(windowSeconds/m.perCall), 1), float64(m.calls)))
	}
	l2, outer := cpu.L2(), max(cpu.L2(), cpu.L3())
	switch {
	case m.cold:
		t.Cold, t.Copies = true, coldCopies(m.bytes, m.buffers)
	case m.inPlace, m.apart:
		// Each call of a stretch needs a copy with its input, and all copies are to stay in the second-level cache.
		t.Copies = max(1, min(t.Window, mostCopies, l2/2/max(m.bytes, 1)))
		t.Window = t.Copies
	}
	if !m.cold {
		t.Places = max(1, warmPlaces(m.bytes*t.Copies, l2)/t.Copies)
		t.Touch = m.bytes <= outer
		t.Sparse = m.bytes > l2 && !m.long() && !m.apart
	}
	t.Refill = leastStored*(m.bytes-m.inputs) >= m.bytes && (t.Cold || t.Sparse && m.bytes > outer)
	// Each copy is called once to warm up, unless that would take longer than a sample and add nothing; of copies that are to stay cold, one
	// is called. Changing the content of the buffers takes less time than reading and writing them at the rate of a slow memory.
	const slowMemory = 1e9
	warmUps := t.Copies
	if m.cold {
		warmUps = 1
	}
	expect := timing.Seconds(m.perCall*float64(n*m.calls+warmUps) + float64(n*(m.calls/t.Window+2)*m.inputs+t.Copies*t.Places*m.bytes)/slowMemory)
	t.Limit = 20*expect + m.wall
	return t
}

// leastStored is the share of the buffers that outputs must have, as a divisor, for their stores to matter where operands are in memory.
const leastStored = 16

// mostCopies is how many copies of the buffers are used in turn, where each call has its own.
const mostCopies = 256

// sampleBy takes n samples by a clock, in seconds a call. If the candidate is found to reuse results meanwhile, it takes all of them again,
// by calls that are timed apart; if it is found to be uneven, by samples that are levelled.
func (m *meter) sampleBy(ctx context.Context, n int, clock worker.Clock) ([]float64, error) {
	s := make([]float64, 0, n)
	for len(s) < n {
		before := m.manner
		more, err := m.take(ctx, m.fitting(n-len(s)), clock)
		if err != nil {
			return nil, err
		}
		s = append(s, more...)
		if m.level != before.level {
			s, m.ready = s[len(s)-len(more):], nil
		}
		if m.apart == before.apart {
			continue
		}
		m.calls, m.ready = min(m.calls, m.mostCalls()), nil
		if s, err = m.take(ctx, 1, clock); err != nil {
			return nil, err
		}
		m.perCall = s[0]
		m.calls = min(timing.Calls(m.perCall, m.length), m.mostCalls())
		m.c.noteReuse()
		s = s[:0]
	}
	return s, nil
}

// timed carries out a request, and weighs its evidence.
func (m *meter) timed(ctx context.Context, request worker.TimeRequest) (worker.Timing, error) {
	t, err := m.w.Time(ctx, request)
	if m.warm = err == nil; err == nil && !request.Idle {
		err = m.weigh(t.Evidence, t.Seconds)
	}
	return t, err
}

// take takes n samples by one request, in seconds a call. It sets m.apart where the candidate is found to reuse results.
func (m *meter) take(ctx context.Context, n int, clock worker.Clock) ([]float64, error) {
	t, err := m.timed(ctx, m.request(n, clock))
	if err != nil {
		return nil, err
	}
	m.taken += n
	if err := m.levelOut(ctx, t, clock); err != nil {
		return nil, err
	}
	if m.cold && m.reuses(t, coldWhole) {
		if t, err = m.again(ctx, t, n, clock); err != nil {
			return nil, err
		}
	}
	if m.reuses(t, chargeWhole) {
		for i := range t.Seconds {
			t.Seconds[i] = max(t.Seconds[i], t.Whole)
		}
	}
	if !m.stale(t) {
		if t.First > 0 || t.Whole > 0 { // otherwise the request says nothing
			m.staleInRow = 0
		}
		return t.Seconds, nil
	}
	// A disturbed call looks the same, but not those of many samples.
	if m.staleInRow++; m.staleInRow < staleRequests && len(t.Seconds) < staleSamples {
		return t.Seconds, nil
	}
	if m.late(t, 0) {
		if proven, err := m.proveLate(ctx, n, clock); err != nil || !proven {
			m.staleInRow = 0
			return t.Seconds, err
		}
	}
	m.apart = true
	m.c.noteReuse()
	return t.Seconds, nil
}

// mostCalls bounds the calls of a sample, because the plan of a timing has a step for each. Fewer are enough where each call has inputs of
// its own.
func (m *meter) mostCalls() int {
	if m.inPlace || m.apart {
		return 2048
	}
	return 8192
}

// draw draws a number below n.
func (m *meter) draw(n int) int { return m.rng.IntN(n) }

func (m *meter) shuffle(list []keptCall) {
	m.rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
}

func (m *meter) slow() bool { return m.perCall >= timing.Slow }

// cool notes that other work ran since the last sample, so that the next one needs a warm-up call. Long calls need none: the cache misses
// hardly matter to them.
func (m *meter) cool() { m.warm = m.warm && m.long() }

// long reports whether calls are so long that single samples are reliable and expensive.
func (m *meter) long() bool { return m.perCall >= longCalls*timing.SampleSeconds }

// How many samples make a turn where samples are short, and how many calls at least.
const (
	turnBursts = 10
	turnCalls  = 4
)

// turn returns how long a turn is, in seconds: SampleSeconds, or less where samples are shorter than bursts.
func (m *meter) turn() float64 {
	return min(timing.SampleSeconds, max(turnBursts*m.length, turnCalls*m.perCall))
}

// takeTurns takes n turns, in seconds a call. Other work on the core comes and goes within a turn, so a
// turn is cut into short samples, and its result is that of the fastest of them.
func (m *meter) takeTurns(ctx context.Context, n int) ([]float64, error) {
	short := m.bursts(m.turn())
	s, err := m.sample(ctx, n*short)
	if err != nil {
		return nil, err
	}
	return inTurns(s, short, m.floor), nil
}

// inTurns groups samples into turns of perTurn samples, and returns the result of each; 0 is a turn whose samples are all below floor.
func inTurns(samples []float64, perTurn int, floor float64) (turns []float64) {
	for turn := range slices.Chunk(samples, perTurn) {
		turns = append(turns, timing.Summarise(turn, floor).Fast)
	}
	return turns
}

// hastyBursts is how many samples a turn has at most on a hasty host. The two turns that begin a score have staleSamples together.
const hastyBursts = staleSamples / 2

// bursts returns how many samples make a turn of the given seconds.
func (m *meter) bursts(seconds float64) int {
	if m.hasty {
		seconds = min(seconds, hastyBursts*m.length)
	}
	return int(math.Round(min(max(seconds/(m.perCall*float64(m.calls)), 1), max(seconds/m.length, 1))))
}
