package native

import (
	"context"
	"math"
	"slices"
	"sync"

	"tune/kernels"
	"tune/kernels/native/timing"
	"tune/kernels/native/worker"
	"tune/space"
)

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
	// Many requests prove more than a few. Where they prove that the ratio is more than closeWhole times the baseline's, of which as many as
	// manyWhole requests tell, that is enough, in a search too. errWhole is the probability with which honest code at that bound is taken for such.
	closeWhole = 1.1
	manyWhole  = 8
	errWhole   = 1e-3
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
	wholes       int     // how many requests tell that
	least        float64 // the same in the request in which it was least
	blind        float64 // the least time of a blind call over that of a timed one; 0 where unknown
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

// noteWhole notes what a call of the baseline on wholly new inputs takes, over another one: in so many requests, and in the last one.
func (r *reactions) noteWhole(all float64, requests int, last float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen.whole, r.seen.wholes = all, requests
	if r.seen.least == 0 || last < r.seen.least {
		r.seen.least = last
	}
}

// noteBlind notes what a blind call of the baseline takes, over a timed one. The least counts, so that noise excuses nobody.
func (r *reactions) noteBlind(times float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen.blind == 0 || times < r.seen.blind {
		r.seen.blind = times
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
	// One call of eight has new inputs too, so that the slowest samples say nothing.
	cost := timing.Quantile(slices.Sorted(slices.Values(t.Seconds)), 0.75)
	m.whole = append(m.whole, t.Whole)
	m.wholes.Add(t.Whole, cost)
	if len(m.whole) < leastWhole {
		return false
	}
	if m.isBaseline {
		m.against.noteWhole(m.wholes.Ratio().Value, m.wholes.Pairs(), t.Whole/cost)
	}
	return m.suspect(cost) || m.gains()
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

// closeLimit is wholeLimit for what many requests tell. It is 0 where too little is known of the baseline.
func (m *meter) closeLimit() float64 {
	of, known := m.reaction()
	if !known || of.wholes < manyWhole {
		return 0
	}
	return closeWhole * max(of.whole, 1)
}

// gains reports whether many requests prove that calls are faster where inputs hardly change, by more than that speeds up the baseline.
func (m *meter) gains() bool {
	limit := m.closeLimit()
	return limit > 0 && m.wholes.Above(limit)
}

// seemsToGain reports whether more requests may prove that.
func (m *meter) seemsToGain() bool {
	limit := m.closeLimit()
	return limit > 0 && m.wholes.Ratio().Value > limit
}

// settleSuspicion takes more samples of a candidate that may be fast only because its inputs hardly change, until that is certain or it is
// not suspect any more. If it is certain, m.apart is set, and the candidate has to be measured again.
func (m *meter) settleSuspicion(ctx context.Context, cost float64) error {
	const most = 6
	for range most {
		if m.apart || !m.suspect(cost) && !m.seemsToGain() {
			return nil
		}
		if _, err := m.takeTurns(ctx, 1); err != nil {
			return err
		}
	}
	return nil
}
