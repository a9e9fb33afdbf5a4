package native

import (
	"cmp"
	"context"
	"math"
	"slices"

	"tune/kernels"
	"tune/kernels/native/worker"
	"tune/space"
)

// evidence is what is known of the timed calls of a candidate. A call on one variant is verified at once, against the reference of the
// variant. A call on mixed contents has no reference: it is kept, and repeated by the candidate when it is loaded anew.
type evidence struct {
	whole int        // calls on one variant that were verified
	seen  int        // calls on mixed contents that could be kept
	kept  []keptCall // of those, drawn at random
	bytes int        // of kept
	// fast are calls of the fastest samples, the fastest first: if work was skipped, it was skipped there.
	fast []fastCall
	// blind are blind calls. Nothing that the candidate can reach says what they were given. Of decided, the time has decided.
	decided, blind []keptCall
}

// fastCall is a call of one of the fastest samples.
type fastCall struct {
	keptCall
	seconds float64 // a call of its sample took
}

// keptCall is a call with its number among those that could be kept.
type keptCall struct {
	worker.Evidence
	number int
}

// Limits for the calls on mixed contents that are kept, to be repeated by the candidate when it is loaded anew.
const (
	mostKept      = 32
	mostFast      = 3
	mostBlind     = 12
	mostDecided   = 32
	mostKeptBytes = 256 << 20
	// More than fewKept calls, and more than one of the fastest, are kept only up to this many bytes.
	fewKept   = 8
	manyBytes = 64 << 20
)

// keepBlind keeps blind calls, as far as there is room.
func (e *evidence) keepBlind(list []worker.Evidence) {
	for _, one := range list {
		e.seen++ // which gives it its number
		if sizeOf(one)*(len(e.blind)+1) <= manyBytes && len(e.blind) < mostBlind {
			e.blind = append(e.blind, keptCall{one, e.seen})
		}
	}
}

// decideBlind keeps blind calls of a request whose time decides, before those that decided earlier. At least one is kept.
func (e *evidence) decideBlind(list []worker.Evidence) {
	var decided []keptCall
	for _, one := range list {
		e.seen++
		if size := sizeOf(one); size*(len(decided)+1) <= manyBytes || len(decided) == 0 && size <= mostKeptBytes {
			decided = append(decided, keptCall{one, e.seen})
		}
	}
	e.decided = append(decided, e.decided...)
	e.decided = e.decided[:min(len(e.decided), mostDecided)]
}

// keepFast keeps a call if it is of one of the fastest samples.
func (e *evidence) keepFast(one worker.Evidence, seconds float64) {
	at, _ := slices.BinarySearchFunc(e.fast, seconds, func(f fastCall, s float64) int { return cmp.Compare(f.seconds, s) })
	size := sizeOf(one)
	most := min(mostFast, max(1, manyBytes/max(size, 1)))
	if at >= most || size > mostKeptBytes/mostFast {
		return
	}
	var old worker.Evidence
	if len(e.fast) >= most {
		old = e.fast[most-1].Evidence
		e.fast = e.fast[:most-1]
	}
	e.fast = slices.Insert(e.fast, at, fastCall{keptCall{cloneTo(old, one), e.seen}, seconds})
}

// sizeOf returns the bytes of a call.
func sizeOf(one worker.Evidence) int { return totalBytes(one.Given) + totalBytes(one.Wrote) }

// cloneTo copies a call. It takes the memory of old, a call that is not needed any more and may be empty.
func cloneTo(old, one worker.Evidence) worker.Evidence {
	return worker.Evidence{Variant: -1, Sample: -1, Given: cloneAllTo(old.Given, one.Given), Wrote: cloneAllTo(old.Wrote, one.Wrote)}
}

// decisive returns the calls that say most about a candidate: the one of its fastest sample, then blind calls, those of the fastest request first, then
// those of other fast samples.
func (e *evidence) decisive() (list []keptCall) {
	for i, f := range e.fast {
		if i == 1 {
			list = append(append(list, e.decided...), e.blind...)
		}
		list = append(list, f.keptCall)
	}
	if len(e.fast) < 2 {
		list = append(append(list, e.decided...), e.blind...)
	}
	return list
}

// keep keeps a call, perhaps in place of another one, such that each call has the same chance to be kept (reservoir sampling).
func (e *evidence) keep(one worker.Evidence, draw func(n int) int) {
	size := sizeOf(one)
	if size > mostKeptBytes {
		return // verifyKnown makes further calls in its place
	}
	e.seen++
	at := len(e.kept)
	room := mostKeptBytes
	if at >= fewKept {
		room = manyBytes
	}
	if at >= mostKept || e.bytes+size > room {
		if at = draw(e.seen); at >= len(e.kept) {
			return
		}
	} else {
		e.kept = append(e.kept, keptCall{})
		e.bytes += size
	}
	e.kept[at] = keptCall{cloneTo(e.kept[at].Evidence, one), e.seen}
}

// weigh verifies the calls on one variant of a list of evidence, and keeps the others. seconds says, by sample, how long a call took.
func (m *meter) weigh(list []worker.Evidence, seconds []float64) error {
	for _, one := range list {
		if whole, err := m.weighWhole(one); err != nil {
			return err
		} else if whole {
			continue
		}
		m.evidence.keep(one, m.draw) // counts it, which gives it its number
		if one.Sample >= 0 && one.Sample < len(seconds) {
			m.evidence.keepFast(one, seconds[one.Sample])
		}
	}
	return nil
}

// weighBlind verifies the blind calls on one variant of a list, and returns the others.
func (m *meter) weighBlind(list []worker.Evidence) (left []worker.Evidence, err error) {
	for _, one := range list {
		if whole, err := m.weighWhole(one); err != nil {
			return nil, err
		} else if !whole {
			left = append(left, one)
		}
	}
	return left, nil
}

// weighWhole verifies a call on one variant, and reports whether it is one. All calls of tune's own probes are.
func (m *meter) weighWhole(one worker.Evidence) (bool, error) {
	if m.c == nil {
		return true, nil
	}
	if one.Variant < 0 || one.Variant >= len(m.variants.cases) {
		return false, nil
	}
	m.evidence.whole++
	err := m.c.verify(m.variants.cases[one.Variant], buffersOf(one))
	if r := kernels.AsRejection(err); r != nil {
		return true, kernels.Reject(r.Status, "%s, in a timed call: %s", m.variants.cases[0].Name, r.Reason)
	}
	return true, err
}

// buffersOf returns all buffers as they were after a call.
func buffersOf(one worker.Evidence) [][]byte {
	buffers := slices.Clone(one.Wrote)
	for i, b := range one.Given {
		if buffers[i] == nil {
			buffers[i] = b
		}
	}
	return buffers
}

// afreshSeconds bounds how long calls are repeated by a candidate that is loaded anew. In any case at least leastAfresh calls are repeated,
// or two if they are long: the first call after loading reuses nothing, so that one call alone proves nothing.
const (
	afreshSeconds = 0.02
	leastAfresh   = 3
)

// leastRepeats returns how many calls are repeated at least: leastAfresh, or two if they are long.
func (m *meter) leastRepeats() int {
	if m.slow() {
		return 2
	}
	return leastAfresh
}

// verifyTimed verifies what a candidate wrote in timed calls, in seven steps:
//
//  1. Where the buffers are large, it makes and verifies further calls (verifyKnown).
//  2. Where no timed call has been verified, it makes and verifies one more (verifyOne): a candidate may be right in its first calls and
//     wrong in the thousandth.
//  3. Where it is not clearly behind, it makes blind calls, and compares their time with that of the timed ones (verifyBlind).
//  4. It makes and verifies a call on inputs from a part of their range (verifyNarrowed).
//  5. It makes a call on inputs with another distribution, loads the candidate anew, in a process of its own, and verifies that the call
//     writes the same again (verifyReshaped).
//  6. It compares blind calls and calls of the fastest samples with the reference, where that can be called on their inputs (judge).
//  7. It loads the candidate anew, so that nothing is left of earlier calls, repeats kept calls, and verifies that they write the same again. If the
//     reference could not be asked, and the candidate is a user's, that is in a process of its own.
//
// behind says that the candidate has lost already: then calls of a second and more are not worth the time.
func (m *meter) verifyTimed(ctx context.Context, behind bool) error {
	m.renewed = false
	if behind && m.slow() {
		return nil
	}
	if err := m.verifyKnown(ctx); err != nil {
		return err
	}
	if err := m.verifyOne(ctx); err != nil {
		return err
	}
	if err := m.verifyBlind(ctx, m.said); err != nil {
		return err
	}
	if err := m.verifyNarrowed(ctx); err != nil {
		return err
	}
	if err := m.verifyReshaped(ctx); err != nil {
		return err
	}
	judged, err := m.judge(ctx)
	if err != nil {
		return err
	}
	m.shuffle(m.evidence.kept)
	kept := m.evidence.decisive()
	for _, k := range m.evidence.kept {
		if !slices.ContainsFunc(kept, func(f keptCall) bool { return f.number == k.number }) {
			kept = append(kept, k)
		}
	}
	m.evidence = evidence{whole: m.evidence.whole}
	if len(kept) == 0 {
		return nil
	}
	kept = kept[:min(len(kept), max(m.leastRepeats(), int(afreshSeconds/m.perCall)))]
	one := m.variants.cases[0]
	if one.Tolerant && !judged && !m.renewed {
		// The process keeps what an object leaves behind, such as memory that a pointer of the C library leads to. There the candidate could
		// find what it has written before.
		m.w.Renew("")
	}
	if err := m.w.Load(m.c.so); err != nil {
		return err
	}
	for _, e := range kept {
		again := one
		again.Inputs = e.Given
		if err := mapCase(m.w, again); err != nil {
			return err
		}
		if err := m.repeat(ctx, one, e.Wrote); err != nil {
			return err
		}
	}
	return nil
}

// How many samples revisit takes at one place, at most and at least.
const (
	mostRevisits  = 16
	leastRevisits = 4
)

// revisit makes more calls at one place in memory, where a candidate was stopped before its samples came to any place a second time. Until
// then its calls found outputs that nobody had written before. A candidate that works only on such outputs would not be noticed.
func (m *meter) revisit(ctx context.Context) error {
	request := m.request(1, m.clock())
	if m.taken >= 2*request.Places || m.slow() {
		return nil
	}
	request = m.request(min(max(int(afreshSeconds/(m.perCall*float64(m.calls))), leastRevisits), mostRevisits), m.clock())
	request.Places = 1
	_, err := m.timed(ctx, request)
	return err
}

// repeat makes a timed call again, on the inputs that the worker has, and compares what it writes with what the timed call wrote. Where the
// reference leaves elements of a buffer unwritten, the elements that the call does not write are not compared: in the timed call they held
// what an earlier call wrote.
func (m *meter) repeat(ctx context.Context, one Case, wrote [][]byte) error {
	if err := m.w.Call(ctx, one.Dims); err != nil {
		return err
	}
	fresh := m.w.Outputs()
	err := one.agree(m.uses, inTimedCall, wrote, fresh)
	if !kernelFault(err) || !slices.Contains(m.variants.unwritten, true) {
		return err
	}
	fresh = cloneAll(fresh)
	if err := m.w.CallAgain(ctx, one.Dims); err != nil {
		return err
	}
	return one.agree(m.uses, inTimedCall, m.variants.leaveOut(wrote, fresh, m.w.Outputs()), fresh)
}

// leaveOut returns what a timed call wrote, except that elements which the call does not write are taken from fresh. fresh and again are
// the buffers after Call and CallAgain, which start from different contents of the outputs.
func (v *variants) leaveOut(wrote, fresh, again [][]byte) [][]byte {
	out := slices.Clone(wrote)
	for i, b := range v.cases[0].Buffers {
		if b.Mode == Out && v.unwritten[i] {
			size := b.Elem.Size()
			out[i] = Replace(wrote[i], fresh[i], worker.Unwritten(fresh[i], again[i], size), size)
		}
	}
	return out
}

// verifyKnown makes a few more calls where the buffers are large, each on another variant than the call before, and verifies them against
// the references. Too few calls of that size can be kept for repetition, and the only timed call that was verified may have been the first
// after loading, which reuses nothing.
func (m *meter) verifyKnown(ctx context.Context) error {
	if !m.large || !m.variants.differ {
		return nil
	}
	request := m.request(1, m.clock())
	request.Calls, request.Known, request.Whole = 1, true, false
	for range min(m.leastRepeats(), m.taken) {
		if _, err := m.timed(ctx, request); err != nil {
			return err
		}
	}
	return nil
}

// verifyOne makes and verifies one more call where no timed call was verified against a reference.
func (m *meter) verifyOne(ctx context.Context) error {
	if m.evidence.whole > 0 {
		return nil
	}
	one := m.variants.cases[0]
	err := m.w.Call(ctx, one.Dims)
	if err == nil {
		err = m.c.verify(one, m.w.Outputs())
	}
	if r := kernels.AsRejection(err); r != nil {
		return kernels.Reject(r.Status, "%s, after many calls: %s", one.Name, r.Reason)
	}
	return err
}

// inTimedCall begins the message about a timed call.
const inTimedCall = "in a timed call, "

// agree compares what a call wrote with what the same call wrote after the candidate was loaded anew (fresh). which begins a message about
// the first of the two.
func (c Case) agree(threads int, which string, wrote, fresh [][]byte) error {
	for i, b := range c.Buffers {
		if b.Mode == In || slices.Equal(wrote[i], fresh[i]) {
			continue
		}
		if c.Agree != nil {
			err := c.Agree(threads, wrote, fresh)
			if r := kernels.AsRejection(err); r != nil {
				return kernels.Reject(r.Status, "%sunlike the same call made afresh: %s", which, r.Reason)
			}
			return err
		}
		at, size := 0, b.Elem.Size()
		for at < b.Len-1 && slices.Equal(wrote[i][at*size:(at+1)*size], fresh[i][at*size:(at+1)*size]) {
			at++
		}
		return kernels.Reject(space.WrongAnswer, "%s%s[%d] is %x, and the same call made afresh writes %x: it keeps something between calls", which, b.Name, at,
			wrote[i][at*size:(at+1)*size], fresh[i][at*size:(at+1)*size])
	}
	return nil
}

// AgreeF32 returns an Agree for the floats of one buffer. With several threads values may differ by abs + rel·|want|, or both are
// NaN; with one thread they must be equal.
func AgreeF32(buffer int, abs, rel float64) func(threads int, got, want [][]byte) error {
	return func(threads int, got, want [][]byte) error {
		if threads == 1 {
			abs, rel = 0, 0
		}
		g, w := AsFloats(got[buffer]), AsFloats(want[buffer])
		for i := range g {
			x, y := float64(g[i]), float64(w[i])
			if x == y || math.IsNaN(x) && math.IsNaN(y) || math.Abs(x-y) <= abs+rel*math.Abs(y) {
				continue
			}
			return kernels.Reject(space.WrongAnswer, "element %d is %g, and afresh %g", i, x, y)
		}
		return nil
	}
}
