package native

import (
	"context"
	"math"
	"slices"
	"time"

	"tune/internal/cpu"
	"tune/kernels"
	"tune/kernels/native/timing"
	"tune/kernels/native/worker"
	"tune/space"
)

// The times of timed calls come from the candidate's process, and so does the evidence of what they did. On purpose a candidate can change the
// former, and find out of which calls there will be evidence. So a candidate that is not clearly behind makes blind calls as well (see worker.Blind), and
// they must not take much longer than the timed ones were said to take.
const (
	// A request has calls for blindSeconds, and no more than there is room for the results of. Where their buffers do not fit into half of the
	// second-level cache, or have more than blindPages pages, so that the processor finds them more slowly, it has fewer, for blindLeast.
	blindSeconds = 1e-3
	blindLeast   = 25e-6
	blindPages   = 1024
	blindBytes   = 64 << 20 // of the buffers of more than one call
	// Where the operands are to be in memory, calls vary more, and need no room in a cache.
	blindCold = 200e-6
	// With several threads it has calls for blindThreads seconds: some threads may still work when their results are asked for.
	blindThreads = 5e-3
	// blindRepeats is how many requests make a try. Where the buffers of a request have more than blindLarge bytes it is two, and where its calls take longer
	// than blindLong seconds one. As many requests show what everything beside the calls takes.
	blindRepeats = 6
	blindLarge   = 16 << 20 // bytes
	blindLong    = 0.1
	// A blind call may take blindTimes times as long as a timed one, or as many times as long as the baseline's does if that is more. A request may take
	// blindSlack seconds more. Its outputs go from the nearest cache to the next one, because each call has its own, and inputs that the nearest cache does not
	// hold come from caches that others use too: the rates, in bytes per second. What a call finds in the processor, such as predictions of its branches, is
	// worth blindEach seconds at most.
	blindTimes   = 1.15
	blindSlack   = 4e-6
	blindEach    = 40e-9
	blindOutputs = 32e9
	blindInputs  = 96e9
	blindNear    = 32 << 10 // bytes
	// On a busy machine, calls take longer now and then. So a candidate is refused only after blindTries tries, with longer and longer breaks.
	blindTries = 6
	blindBreak = 20 * time.Millisecond
	// Where calls took no more than blindDoubt seconds too long each, or those of a request no more than blindRequest, or most of them blindGross times as long
	// as timed ones, what others do on the machine may be the reason. So the candidate is charged what its blind calls took, and is not refused.
	blindDoubt   = 100e-9
	blindRequest = 100e-6
	blindGross   = 2
	// blindLook is at how many calls of a request tune looks.
	blindLook = 8
)

// verifyBlind makes blind calls, and compares what they take with the seconds that a timed call was said to take.
//
// A candidate can tell blind calls from timed ones, and do all of its work once it has met blind ones. So turns that are taken later may excuse it, because the
// machine is slower than it was, but they say then what it takes: see meter.charged. And said may be the time of most turns, where others have been faster.
func (m *meter) verifyBlind(ctx context.Context, said float64) error {
	if m.c == nil || !(said > 0) {
		return nil
	}
	calls := m.blindCalls(said)
	limit := m.blindLimit()
	moves := blindSlack/float64(calls) + m.blindMoves()
	least, excess := math.Inf(1), math.Inf(1) // of a try: what a call takes with its moves, and what it takes too long
	var ratios, wholes, later []float64
	for try := range blindTries {
		time.Sleep(time.Duration(try) * blindBreak)
		begin := m.begins(ctx, try > 0)
		now := said
		if try > 0 || !m.slow() {
			// The machine may be slower than it was, or faster.
			turn, err := m.takeTurns(ctx, 1)
			if err != nil {
				return err
			}
			now = turn[0]
		}
		all, err := m.blindly(ctx, calls, said, begin, try > 0)
		if r := kernels.AsRejection(err); r != nil && r.Status == space.Timeout {
			return kernels.Reject(space.Invalid, "implausible: blind calls: %d, each of which was said to take %s: %s", calls, secondsWords(said), r.Reason)
		}
		if err != nil {
			return err
		}
		took := max(all-moves, 0)
		over := took - limit*min(said, now)
		if over <= 0 {
			m.noteBlind(took / said)
			m.chargeAtLeast(took / limit)
			return nil
		}
		least, excess = min(least, all), min(excess, over)
		if now > 0 {
			ratios, wholes = append(ratios, took/now), append(wholes, all/now)
			if try > 0 {
				later = append(later, now)
			}
		}
		if m.slow() && try > 0 {
			break
		}
	}
	if len(ratios) > 0 {
		m.noteBlind(timing.Median(ratios))
	}
	switch {
	case m.isBaseline:
		return nil
	case len(later) > 0 && timing.Median(ratios) <= limit:
		m.chargeAtLeast(timing.Median(later))
		return nil
	case len(ratios) > 0 && (excess <= max(blindDoubt, blindRequest/float64(calls)) || timing.Median(ratios) <= blindGross):
		m.doubted = true
		m.chargeAtLeast(max(least, said*timing.Median(wholes))) // the machine may be faster than when it was said
		return nil
	}
	return kernels.Reject(space.Invalid, "implausible: a call takes %s by a clock that is out of its reach, and its timed calls were said to take %s: it changes the times, or does less where it is not looked at",
		secondsWords(max(least-moves, 0)), secondsWords(said))
}

func secondsWords(seconds float64) string { return space.Unit("ns").Words(seconds * nanoseconds) }

// blindMoves returns how many seconds longer a blind call may take because of what it finds in the processor, and of what it moves between caches.
func (m *meter) blindMoves() float64 {
	moves := blindEach + float64(m.outputs)/blindOutputs
	if m.bytes > blindNear {
		moves += float64(m.inputs) / blindInputs
	}
	return moves
}

// blindCalls returns how many blind calls a request has.
func (m *meter) blindCalls(said float64) int {
	const page = 4096
	each := max(copyBytes(m.bytes, m.buffers), 1)
	n := math.Ceil(blindThreads / said)
	if m.uses == 1 {
		least := blindLeast
		if m.cold {
			least = blindCold
		}
		fit := math.Min(float64(cpu.L2())/2/float64(m.bytes+1), blindPages/float64(m.bytes/page+2*m.buffers+1))
		n = min(math.Ceil(blindSeconds/said), max(math.Floor(fit), math.Ceil(least/said)))
	}
	return max(1, int(min(n, float64(worker.BlindCalls(m.outputs, m.buffers)), float64(blindBytes/each))))
}

// blindBeside returns how many seconds what is beside blind calls takes at most: to begin and end, to begin each call, and to read its buffers. A candidate
// may have left something behind that makes it longer, when no call is made, for all that to be subtracted.
func (m *meter) blindBeside(calls int, begin beginning) float64 {
	const each, near, far = 0.2e-6, 16e9, 4e9
	rate := near
	if calls*m.bytes > cpu.L2()/2 {
		rate = far
	}
	return begin.caller + float64(calls)*(each+float64(m.bytes)/rate)
}

// blindly makes blind calls, and returns the seconds that one takes. In timed calls, outputs are in the caches, unless the candidate stores past them.
// So away asks for calls on outputs that are not in the caches too. The least counts.
func (m *meter) blindly(ctx context.Context, calls int, said float64, begin beginning, away bool) (float64, error) {
	request := worker.BlindRequest{Dims: m.dims, Calls: calls, Look: blindLook, Clock: m.clock(), Threads: m.uses, Cold: m.cold}
	const slowMemory = 1e9
	request.Limit = 20*timing.Seconds(float64(calls)*(said+float64(m.bytes)/slowMemory)) + m.wall
	repeats := blindRepeats
	switch {
	case said*float64(calls) > blindLong:
		repeats = 1
	case calls*m.bytes > blindLarge:
		repeats = 2 // writing the contents takes longer than the calls
	}
	if !away {
		if err := m.blindWhole(ctx, request); err != nil {
			return 0, err
		}
	}
	took, decisive, err := m.fastestRequest(ctx, request, repeats, begin)
	if err != nil {
		return 0, err
	}
	if away && !m.cold {
		request.Away = true
		past, others, err := m.fastestRequest(ctx, request, repeats, begin)
		if err != nil {
			return 0, err
		}
		if past < took {
			took, decisive, others = past, others, decisive
		}
		m.evidence.decideBlind(others)
	}
	m.evidence.decideBlind(decisive)
	return took, nil
}

// blindWhole makes blind calls of which some are on contents whose reference is known. Their time says nothing: a candidate may have kept the results.
func (m *meter) blindWhole(ctx context.Context, request worker.BlindRequest) error {
	request.Whole = true
	b, err := m.w.Blind(ctx, request)
	if err != nil {
		return err
	}
	m.warm = true
	_, err = m.weighBlind(b.Evidence)
	return err
}

// fastestRequest repeats a request, and returns the seconds that a call takes: the least of a request, less the least of what is beside its calls. It returns the
// calls of that request too, as far as they have to be verified: in the others a candidate may have worked.
func (m *meter) fastestRequest(ctx context.Context, request worker.BlindRequest, repeats int, begin beginning) (seconds float64, decisive []worker.Evidence, err error) {
	beside := math.Inf(1)
	var idle []float64
	var made []worker.Blind
	for range repeats {
		request.Idle = true
		b, err := m.w.Blind(ctx, request)
		if err != nil {
			return 0, nil, err
		}
		beside, idle = min(beside, b.Seconds), append(idle, b.Own)
		request.Idle = false
		if b, err = m.w.Blind(ctx, request); err != nil {
			return 0, nil, err
		}
		m.warm = true
		if b.Evidence, err = m.weighBlind(b.Evidence); err != nil {
			return 0, nil, err
		}
		made = append(made, b)
	}
	took, own := math.Inf(1), (1+ownShare)*slices.Min(idle)
	if !request.Away {
		own = min((1+ownShare)*timing.Median(idle), m.blindOwn(request.Calls, begin))
	}
	for _, b := range made {
		seconds, left := b.Seconds, b.Evidence
		if m.uses == 1 && !m.cold {
			seconds += max(b.Own-own-ownSlack, 0)
		}
		if seconds < took {
			took, decisive, left = seconds, left, decisive
		}
		m.evidence.keepBlind(left)
	}
	return max(took-min(beside, m.blindBeside(request.Calls, begin)), 0) / float64(request.Calls), decisive, nil
}

// The worker's own threads may use this much more than in a request without calls: a share, and so many seconds.
const (
	ownShare = 0.25
	ownSlack = 30e-6
)

// blindOwn returns how many seconds the worker's own threads need at most to prepare blind calls and to copy what they wrote. What they use beyond that counts
// as the candidate's, because it can have them work: where they return to, and what they call, stands in memory that it can write to. To remove lines from the
// caches may take far longer than the calls, and never takes equally long: there, no limit would be of use.
func (m *meter) blindOwn(calls int, begin beginning) float64 {
	const each, rate = 2.5e-6, 1.6e9
	return begin.own + float64(calls)*(each+float64(m.bytes)/rate)
}

// begins returns what it may take to begin and to end blind calls; again asks what that takes on this machine now.
func (m *meter) begins(ctx context.Context, again bool) beginning {
	least, most := beginning{own: 150e-6, caller: 40e-6}, beginning{own: 500e-6, caller: 150e-6}
	if m.blindBegin == nil || m.uses > 1 || m.cold {
		return least
	}
	takes := m.blindBegin(ctx, again)
	return beginning{
		own:    min(max((1+ownShare)*takes.own, least.own), most.own),
		caller: min(max((1+ownShare)*takes.caller, least.caller), most.caller),
	}
}

// blindLimit returns how many times as long as a timed call a blind one may take.
func (m *meter) blindLimit() float64 {
	if of, known := m.reaction(); known && of.blind > 0 {
		return blindTimes * max(of.blind, 1)
	}
	return blindTimes
}

// chargeAtLeast notes what a call takes at least. The baseline is charged nothing: others would look faster.
func (m *meter) chargeAtLeast(seconds float64) {
	if !m.isBaseline {
		m.charged = seconds
	}
}

// noteBlind notes how many times as long as a timed call a blind one of the baseline takes.
func (m *meter) noteBlind(times float64) {
	if m.isBaseline {
		m.against.noteBlind(times)
	}
}
