package native

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"tune/internal/cpu"
	"tune/kernels"
	"tune/kernels/native/timing"
	"tune/kernels/native/worker"
	"tune/space"
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
	inputs   int // of the buffers that are read
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
	restless bool // whether other work slows the core now and then
	strict   bool // whether a weaker suspicion of reused results is enough, because then all entrants are timed apart
	// against is how the baseline of the comparison reacts to new inputs. isBaseline says that the candidate is this baseline.
	against    *reactions
	isBaseline bool

	staleInRow int // requests in a row that looked stale
	manner
	spent, made float64   // seconds of the samples by which an uneven candidate is levelled, and how many calls these are
	whole       []float64 // by request: the time of a call on wholly new inputs, in seconds
	evidence    evidence
}

// newMeterOf returns a meter of a candidate with one thread and no inputs.
func newMeterOf(w runner) *meter {
	return &meter{
		w: w, threads: 1, uses: 1, calls: 1, length: timing.SampleSeconds, variants: &variants{cases: []Case{probeCase}},
		rng: rand.New(rand.NewPCG(kernels.FreshSeed(), kernels.FreshSeed())),
	}
}

// metering says how a candidate is timed.
type metering struct {
	length float64 // of a sample at least, in seconds
	manner         // in any case, whatever the meter finds out
	known  *meter  // of the same candidate in a similar worker, which knows how many calls make a sample; nil for none
	// against is how the baseline of the comparison reacts to new inputs, and isBaseline says that the candidate is this baseline. Where
	// against is nil, the baseline is that of the candidate's problem.
	against    *reactions
	isBaseline bool
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
	if err := w.Load(c.so); err != nil {
		return nil, err
	}
	m := newMeterOf(w)
	m.length = how.length
	if m.against, m.isBaseline = how.against, how.isBaseline; m.against == nil {
		m.against, m.isBaseline = &p.baseline, c.isBaseline()
	}
	m.c, m.dims, m.threads, m.uses, m.variants = c, one.Dims, c.threads(), c.threads(), v
	m.floor, m.wall, m.cold = p.work.MinSeconds, p.limits.Wall, p.work.Cold
	kept := 0 // bytes of a call that is kept
	for _, b := range one.Buffers {
		m.bytes += b.Bytes()
		kept += b.Bytes()
		if b.Mode != Out {
			m.inputs += b.Bytes()
		}
		if b.Mode == InOut {
			m.inPlace = true
			kept += b.Bytes()
		}
	}
	m.large = kept > mostKeptBytes/leastAfresh
	m.manner = how.manner.and(c.noted())
	if known := how.known; known != nil {
		m.perCall, m.calls, m.manner = known.perCall, known.calls, known.manner.and(m.manner)
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
// expensive, and hardly ever much too long by mistake.
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

// coldCopies returns how many copies of the buffers it takes to evict a copy completely from the last-level cache before its next
// turn.
func coldCopies(bytes int) int {
	const most = 1 << 30 // bytes
	total := 1 + bytes
	copies := (2*max(cpu.L2(), cpu.L3()) + total - 1) / total
	return max(min(copies+1, most/total), 1)
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
		t.Cold, t.Copies = true, coldCopies(m.bytes)
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
	// Each copy is called once to warm up, unless that would take longer than a sample and add nothing. Changing the content of
	// the buffers takes less time than reading and writing them at the rate of a slow memory.
	const slowMemory = 1e9
	expect := timing.Seconds(m.perCall*float64(n*m.calls+t.Copies) + float64(n*(m.calls/t.Window+2)*m.inputs+t.Copies*t.Places*m.bytes)/slowMemory)
	t.Limit = 20*expect + m.wall
	return t
}

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

// The test of proveLate: how often first calls of honest code and of code that reuses results are later than those of a function that does
// nothing, at most and at least; the errors that are accepted for one and for the other; and how many requests it takes at most.
const (
	lateHonest  = 0.2
	lateReusing = 0.7
	errHonest   = 1e-5
	errReusing  = 0.1
	mostProofs  = 48
)

// proveLate finds out whether the candidate is the reason that its first calls on new inputs were late. Other work on the machine delays
// first calls too: by 0 to 600 ns, differently in each request. So the request is repeated, each time beside the same request with a
// function that does nothing. First calls of honest code are later than those of that function now and then, and first calls of code that
// reuses results are later most of the time. A sequential probability ratio test tells them apart [Wald, "Sequential tests of statistical
// hypotheses", 1945]. It is over soon where the answer is clear.
func (m *meter) proveLate(ctx context.Context, n int, clock worker.Clock) (bool, error) {
	return prove(func() (late, told bool, err error) {
		request := m.request(n, clock)
		t, err := m.timed(ctx, request)
		if err != nil {
			return false, false, err
		}
		request.Idle = true
		idle, err := m.timed(ctx, request)
		if err != nil {
			return false, false, err
		}
		// Where each call took no time there were too few stretches to tell.
		return m.late(t, max(idle.First-idle.Each, 0)), t.Each != 0, nil
	})
}

// prove is the test of proveLate. request makes one request: late is what it found, where it told anything.
func prove(request func() (late, told bool, err error)) (bool, error) {
	odds := 0.0 // the logarithm of the likelihood that the candidate reuses results over that it is honest
	for range mostProofs {
		late, told, err := request()
		switch {
		case err != nil:
			return false, err
		case !told:
		case late:
			odds += math.Log(lateReusing / lateHonest)
		default:
			odds += math.Log((1 - lateReusing) / (1 - lateHonest))
		}
		switch {
		case odds >= math.Log((1-errReusing)/errHonest):
			return true, nil
		case odds <= math.Log(errReusing/(1-errHonest)):
			return false, nil
		}
	}
	return false, nil
}

// reuses reports whether calls on wholly new inputs took more than so many times as long as the samples of a request. Then the sampled
// calls, whose inputs hardly differ from those of the calls before them, reused what those calls left.
func (m *meter) reuses(t worker.Timing, times float64) bool {
	return t.Whole > 0 && t.Window <= 1 && t.Whole > times*timing.Quantile(slices.Sorted(slices.Values(t.Seconds)), 0.75)
}

// again repeats a request in which a candidate seemed to reuse results, where its operands are to be out of the caches. If the candidate
// does so again it is rejected. It cannot be timed apart instead, because new inputs are in the caches when they have just been
// written.
func (m *meter) again(ctx context.Context, before worker.Timing, n int, clock worker.Clock) (worker.Timing, error) {
	t, err := m.w.Time(ctx, m.request(n, clock))
	if err == nil && m.reuses(t, coldWhole) {
		err = kernels.Reject(space.Invalid, "implausible: a call on wholly new inputs takes %.3g s, and one on inputs that hardly differ %.3g s: it keeps results between calls",
			before.Whole, slices.Min(before.Seconds))
	}
	if err != nil {
		return t, err
	}
	return t, m.weigh(t.Evidence, t.Seconds)
}

// mostCalls bounds the calls of a sample, because the plan of a timing has a step for each. Fewer are enough where each call has inputs of
// its own.
func (m *meter) mostCalls() int {
	if m.inPlace || m.apart {
		return 2048
	}
	return 8192
}

// Bounds beyond which a candidate seems to reuse results. An honest first call on new inputs is later than the following ones too, because
// of caches, branch prediction and the clock. It may take staleCalls times as long as one of these, staleSeconds more, and the time to load
// the buffers from the second-level cache (staleRate). The bounds that begin with strict are those of a comparison; see meter.strict.
const (
	staleCalls    = 1.5
	staleSeconds  = 0.3e-6
	staleBeyond   = 0.1e-6 // seconds more than the baseline's first call is late, where that is known: in place of staleSeconds if it is less
	strictCalls   = 1.2
	strictBeyond  = 0.05e-6
	strictLeast   = 0.2e-6 // seconds of a call: for shorter ones the strict bounds are not used, because honest first calls exceed them
	staleRate     = 16e9   // bytes a second
	mostCallsLate = 4      // calls, and seconds, that the first call may take in any case: loading large buffers does not excuse a call that reads a few lines
	mostLate      = 1e-6
	staleRequests = 2    // requests in a row that have to look stale
	staleSamples  = 8    // samples in a request from which on one request is enough
	staleWhole    = 2    // how many times as long as another a call on wholly new inputs may take, where the baseline's ratio is unknown
	nearWhole     = 1.35 // the same as a multiple of the baseline's ratio, where that is known
	strictWhole   = 1.25
	leastWhole    = 2 // requests with calls on wholly new inputs that it takes to judge
	// Where a call on wholly new inputs takes more than chargeWhole times as long as the samples, its time counts in place of theirs.
	// Where the operands are to be out of the caches, a candidate for which it takes coldWhole times as long is rejected.
	chargeWhole = 4
	coldWhole   = 8
)

// reaction is how the time of the baseline changes when its inputs are new. Honest candidates react much as the baseline does, so
// that a bound beside it can be closer than a fixed one.
type reaction struct {
	first, other float64 // seconds of the first call on new inputs, and of one on nearly the same inputs as the call before; 0 where unknown
	whole        float64 // the time of a call on wholly new inputs over that of another; 0 where unknown
	least        float64 // the same in the request in which it was least
}

// reactions holds the baseline's reaction as far as it was seen. All meters of a comparison share one, also where their candidates are
// of several problems.
type reactions struct {
	mu   sync.Mutex
	seen reaction
}

// noteFirst notes what the first calls of the baseline take.
func (r *reactions) noteFirst(t worker.Timing) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t.First > 0 && (r.seen.first == 0 || len(t.Seconds) >= staleSamples) {
		r.seen.first, r.seen.other = t.First, t.Each
	}
}

// noteWhole notes what a call of the baseline on wholly new inputs takes, over another one: in all requests, and in the last one.
func (r *reactions) noteWhole(all, last float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen.whole = all
	if r.seen.least == 0 || last < r.seen.least {
		r.seen.least = last
	}
}

func (r *reactions) get() reaction {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.seen
}

// reaction returns the reaction of the baseline that the candidate is judged by. It is not known for the baseline itself, and with several
// threads, which are timed by the wall clock.
func (m *meter) reaction() (of reaction, known bool) {
	if m.against == nil || m.threads > 1 || m.isBaseline {
		return reaction{}, false
	}
	return m.against.get(), true
}

// firstLimit returns how long the first call on new inputs may take, where the following calls take each, in seconds: times·each + seconds.
func (m *meter) firstLimit(each float64) (times, seconds float64) {
	times, seconds = staleCalls, staleSeconds
	if of, known := m.reaction(); known && of.first > 0 {
		beyond := staleBeyond
		if m.strict && each >= strictLeast {
			times, beyond = strictCalls, strictBeyond
		}
		seconds = min(seconds, max(of.first-of.other, 0)+beyond)
	}
	return times, seconds + float64(m.bytes)/staleRate
}

// wholeLimit returns how many times as long as another a call on wholly new inputs may take.
func (m *meter) wholeLimit() float64 {
	of, known := m.reaction()
	if !known || of.whole == 0 {
		return staleWhole
	}
	times := float64(nearWhole)
	if m.strict {
		times = strictWhole
	}
	return min(staleWhole, times*max(of.whole, 1))
}

// apartFactor returns the factor by which the cost of calls that are timed apart is multiplied before it is compared with the cost of the baseline,
// which is timed in another way.
//
//   - Short calls of the baseline are timed in stretches. Their time includes the changes of words between the calls, and a call overlaps
//     with the end of the call before it. The factor, from 1 to staleCalls, is a call in a stretch over the first call on new inputs.
//   - Of large inputs of the baseline only parts change before a call. A call on new inputs takes longer, and the factor, from
//     1/staleWhole to 1, makes up for it. The ratio of the two is noisy. The least that was seen counts, so that a candidate that reuses
//     results gains nothing by noise.
func (of reaction) apartFactor() float64 {
	switch {
	case of.first > 0:
		return min(max(of.other/of.first, 1), staleCalls)
	case of.least > 0:
		return 1 / min(max(of.least, 1), staleWhole)
	}
	return 1
}

// stale reports whether calls are much faster when their inputs are nearly those of the call before: whether they seem to reuse results.
// Reused results are usually found in the outputs, which are then wrong. This finds them where the outputs do not depend on all inputs.
func (m *meter) stale(t worker.Timing) bool {
	if m.apart || !m.variants.differ {
		return false
	}
	if m.isBaseline {
		m.against.noteFirst(t)
	}
	if m.late(t, 0) {
		return true
	}
	if t.Whole <= 0 || t.Window > 1 || m.cold {
		return false
	}
	m.whole = append(m.whole, t.Whole)
	// One call of eight has new inputs too, so that the slowest samples say nothing.
	cost := timing.Quantile(slices.Sorted(slices.Values(t.Seconds)), 0.75)
	if len(m.whole) < leastWhole {
		return false
	}
	if m.isBaseline {
		m.against.noteWhole(m.onWhole()/cost, t.Whole/cost)
	}
	return m.suspect(cost)
}

// late reports whether the first calls on new inputs of a request take too long, beyond the seconds by which the harness itself delays them.
func (m *meter) late(t worker.Timing, harness float64) bool {
	times, slack := m.firstLimit(t.Each)
	return t.First > min(times*t.Each+slack, mostCallsLate*t.Each+mostLate)+harness
}

// onWhole returns the median time of a call on wholly new inputs.
func (m *meter) onWhole() float64 { return timing.Quantile(slices.Sorted(slices.Values(m.whole)), 0.5) }

// suspect reports whether calls on wholly new inputs take much longer than a call is said to take, in seconds.
func (m *meter) suspect(cost float64) bool {
	return len(m.whole) > 0 && m.onWhole() > m.wholeLimit()*cost
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

// estimate is the result of timing a candidate.
type estimate struct {
	timing.Summary
	unverified bool
	stopped    bool // early, because the candidate is behind
}

// takeTurns takes n turns of SampleSeconds each, in seconds a call. Other work on the core comes and goes within a turn, so a
// turn is cut into short samples, and its result is that of the fastest of them.
func (m *meter) takeTurns(ctx context.Context, n int) ([]float64, error) {
	short := m.bursts(timing.SampleSeconds)
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

// bursts returns how many samples make a turn of the given seconds.
func (m *meter) bursts(seconds float64) int {
	return int(math.Round(min(max(seconds/(m.perCall*float64(m.calls)), 1), max(seconds/m.length, 1))))
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

// settleSuspicion takes more samples of a candidate that may be fast only because its inputs hardly change, until that is certain or it is
// not suspect any more. If it is certain, m.apart is set, and the candidate has to be measured again.
func (m *meter) settleSuspicion(ctx context.Context, cost float64) error {
	const most = 6
	for range most {
		if m.apart || !m.suspect(cost) {
			return nil
		}
		if _, err := m.takeTurns(ctx, 1); err != nil {
			return err
		}
	}
	return nil
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
			if m, err = c.newMeter(ctx, w, metering{length: timing.BurstSeconds}); err != nil {
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
			return m.verifyTimed(ctx, e.stopped)
		})
	})
	if err != nil {
		return kernels.Score{}, err
	}
	c.timed = &meter{perCall: m.perCall, calls: m.calls, manner: m.manner}
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
