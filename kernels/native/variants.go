package native

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"tune/kernels"
	"tune/kernels/native/worker"
	"tune/space"
)

// Varier is implemented by a Spec that can make the asked case (the first of Cases) alone, for any seed. Such a case is a variant.
// Candidates are timed on several variants in turn, so that a candidate gains nothing by keeping results of earlier calls. For a Spec
// without it, all of Cases are made for each variant, and only the first is used.
type Varier interface {
	// Variant returns the asked case with inputs drawn from a seed. They need not be distributed like those of Cases: where Cases
	// has constant inputs, these may vary.
	Variant(ctx context.Context, p space.Point, seed uint64) (Case, error)
	// VariantClass names what Variant depends on besides the seed: points of the same class have the same variants.
	VariantClass(p space.Point) string
}

// Batcher is implemented by a Varier for which several variants at once cost less than one by one.
type Batcher interface {
	// Variants returns what Variant returns for each of the seeds.
	Variants(ctx context.Context, p space.Point, seeds []uint64) ([]Case, error)
}

// Drawer is implemented by a Varier that can draw the inputs of a variant without its reference. Calls are then timed on many
// more contents than those with a known reference, so that neither a table of results nor branch prediction can learn them.
type Drawer interface {
	// Draw returns the inputs of the variant of a seed.
	Draw(ctx context.Context, p space.Point, seed uint64) ([][]byte, error)
}

// variants are what the candidates of a class are timed on: a few variants, whose references are known, and further contents of the inputs
// without a reference. (Package worker calls all of these contents variants.)
type variants struct {
	cases  []Case       // the variants; only the first one keeps its inputs
	pool   *worker.Pool // all contents, those of the variants first
	differ bool         // whether they differ
	// unwritten says, by buffer, whether the reference leaves elements of it unwritten in one of the cases.
	unwritten []bool
	narrowed  *Case // see Narrower; nil where there is none
}

// The number of variants and of further contents.
const (
	fewVariants    = 2
	manyVariants   = 3       // of small inputs
	smallVariants  = 8 << 20 // bytes of inputs of one
	variantClasses = 4       // that are kept
	// Contents without a reference are drawn up to this number and this many bytes in total, those of the variants included. Timed calls work
	// on contents that are put together from parts of them, so that there are many more.
	mostContents  = 16384
	contentsBytes = 8 << 20
	// Where the tolerance accepts results that differ (Case.Tolerant), inputs are mixed anew from three contents: then every part changes,
	// and no content comes again. Inputs of up to this many bytes have a third content for that, without a reference.
	mixedContents = 256 << 20
	// Up to this many bytes that a call reads or writes, variants are made at the same time as a check.
	besideBytes = 64 << 20
	// Small inputs may be the same for two seeds by chance. Then so many more seeds are tried, within contentsBytes.
	mostTries = 16
)

// variantCache keeps the variants of recent classes. All variants of a problem come from one seed that nobody can predict. A candidate that
// knew them could work for them alone, and write anything for the contents that are mixed from them.
type variantCache struct {
	mu   sync.Mutex
	seed uint64         // 0 before the first use
	kept []keptVariants // the last used first
}

type keptVariants struct {
	class string
	*variants
}

// of returns the variants of a point.
func (vc *variantCache) of(ctx context.Context, p *Problem, c *candidate) (*variants, error) {
	vc.mu.Lock()
	defer vc.mu.Unlock()
	if vc.seed == 0 {
		vc.seed = kernels.FreshSeed()
	}
	variant := func(seed uint64) (Case, error) {
		cases, err := p.cases.of(ctx, p.spec, c.point, seed)
		if err != nil {
			return Case{}, err
		}
		if len(cases) == 0 {
			return Case{}, kernels.Reject(space.Invalid, "there is no case to time it on")
		}
		return cases[0], nil
	}
	class, classed := "", false
	if v, ok := as[Varier](p.spec); ok {
		class, classed = v.VariantClass(c.point), true
		variant = func(seed uint64) (Case, error) { return v.Variant(ctx, c.point, seed) }
	} else if v, ok := as[CaseClasser](p.spec); ok {
		class, classed = v.CaseClass(c.point), true
	}
	if b, ok := as[Batcher](p.spec); ok {
		variant = p.atOnce(vc.seed, variant, func(seeds []uint64) ([]Case, error) { return b.Variants(ctx, c.point, seeds) })
	}
	if i := slices.IndexFunc(vc.kept, func(k keptVariants) bool { return classed && k.class == class }); i >= 0 {
		k := vc.kept[i]
		vc.kept = slices.Insert(slices.Delete(vc.kept, i, i+1), 0, k)
		return k.variants, nil
	}
	var draw func(seed uint64) ([][]byte, error)
	if d, ok := as[Drawer](p.spec); ok {
		draw = func(seed uint64) ([][]byte, error) { return d.Draw(ctx, c.point, seed) }
	}
	began := time.Now()
	made, err := newVariants(vc.seed, variant, draw)
	if err == nil {
		err = made.addNarrowed(ctx, p, c, vc.seed, time.Since(began))
	}
	if err != nil {
		return nil, err
	}
	vc.kept = slices.Insert(vc.kept, 0, keptVariants{class, made})
	vc.kept = vc.kept[:min(len(vc.kept), variantClasses)]
	return made, nil
}

// atOnce returns a function like variant. Its first call makes all variants together that newVariants usually asks for; later calls return
// them. Any other variant is made by itself.
func (p *Problem) atOnce(seed uint64, variant func(seed uint64) (Case, error), several func(seeds []uint64) ([]Case, error)) func(seed uint64) (Case, error) {
	n := fewVariants
	if p.read > 0 && p.read <= smallVariants {
		n = manyVariants
	}
	var made map[uint64]Case
	return func(asked uint64) (Case, error) {
		if made == nil {
			seeds := make([]uint64, n)
			for i := range seeds {
				seeds[i] = variantSeed(seed, i)
			}
			cases, err := several(seeds)
			if err != nil {
				return Case{}, err
			}
			made = map[uint64]Case{}
			for i, one := range cases {
				made[seeds[i]] = one
			}
		}
		if one, ok := made[asked]; ok {
			return one, nil
		}
		return variant(asked)
	}
}

// makeVariantsBeside makes the variants of the baseline on another goroutine while it is checked: the check leaves a core free, and a run
// cannot begin before the baseline is timed. For other candidates, and where buffers are large, it does nothing: Score makes the variants.
// It drops errors, because the same ones occur when the candidate is scored. The caller calls end with the outcome of the check.
func (c *candidate) makeVariantsBeside(ctx context.Context) (end func(error)) {
	p := c.problem
	if _, ok := as[Batcher](p.spec); !ok || !c.isBaseline() || c.alone || p.traffic == 0 || p.traffic > besideBytes {
		return func(error) {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { _ = recover() }() // a panic occurs again too, where it is caught and reported
		_ = c.makeVariants(ctx)
	}()
	return func(err error) {
		if err != nil {
			cancel()
		}
		<-done
		cancel()
	}
}

// makeVariants makes the variants for timing a candidate before its turn comes: their references may have to be compiled, and may take
// long.
func (c *candidate) makeVariants(ctx context.Context) error {
	h := c.problem.host
	if err := h.noise.Acquire(ctx, 1); err != nil {
		return err
	}
	defer h.noise.Release(1)
	_, err := c.problem.varied.of(ctx, c.problem, c)
	return err
}

// newVariants makes the variants of a seed, and further contents where they can be drawn without a reference; draw may be nil.
func newVariants(seed uint64, variant func(seed uint64) (Case, error), draw func(seed uint64) ([][]byte, error)) (*variants, error) {
	v := &variants{}
	var inputs [][][]byte
	skipped := 0 // seeds after the first whose inputs are those of the first
	for n := fewVariants; len(v.cases) < n; {
		if len(v.cases) == 1 && draw != nil {
			var err error
			if skipped, err = likeFirst(seed, inputs[0], draw); err != nil {
				return nil, err
			}
		}
		one, err := variant(variantSeed(seed, skipped+len(v.cases)))
		if err != nil {
			return nil, err
		}
		if len(one.Inputs) != len(one.Buffers) {
			return nil, fmt.Errorf("native: case %s has %d buffers and %d inputs", one.Name, len(one.Buffers), len(one.Inputs))
		}
		if len(v.cases) > 0 && !slices.Equal(one.Buffers, v.cases[0].Buffers) {
			return nil, errors.New("native: the buffers of the asked case depend on the seed")
		}
		for i, in := range one.Inputs {
			v.differ = v.differ || len(inputs) > 0 && !slices.Equal(in, inputs[0][i])
		}
		if size := totalBytes(one.Inputs); size > 0 && size <= smallVariants {
			n = manyVariants
		}
		inputs = append(inputs, one.Inputs)
		one.Inputs = nil
		v.add(one)
		if len(v.cases) == fewVariants && !v.differ {
			break // There is nothing to draw.
		}
	}
	if !v.differ {
		v.cases, inputs = v.cases[:1], inputs[:1]
	}
	size := totalBytes(inputs[0])
	enough := func() bool {
		if v.cases[0].Tolerant && len(inputs) < manyVariants && size <= mixedContents {
			return false
		}
		return len(inputs) >= mostContents || size*(len(inputs)+1) > contentsBytes
	}
	for draw != nil && v.differ && !enough() {
		more, err := draw(variantSeed(seed, skipped+len(inputs)))
		if err != nil {
			return nil, err
		}
		inputs = append(inputs, more)
	}
	buffers := workerBuffers(v.cases[0].Buffers)
	v.cases[0].Inputs = inputs[0] // for calls on it
	var err error
	v.pool, err = worker.NewPool(buffers, inputs, len(v.cases))
	return v, err
}

// add adds a case.
func (v *variants) add(one Case) {
	v.cases = append(v.cases, one)
	if v.unwritten == nil {
		v.unwritten = make([]bool, len(one.Buffers))
	}
	for i, is := range one.Unwritten {
		v.unwritten[i] = v.unwritten[i] || is
	}
}

// likeFirst returns how many seeds after the first draw the same inputs as the first; 0 where none of those that were tried draws others.
func likeFirst(seed uint64, first [][]byte, draw func(seed uint64) ([][]byte, error)) (int, error) {
	size := totalBytes(first)
	for n := range mostTries {
		if size*(n+1) > contentsBytes {
			break
		}
		inputs, err := draw(variantSeed(seed, n+1))
		if err != nil {
			return 0, err
		}
		if !slices.EqualFunc(inputs, first, bytes.Equal) {
			return n, nil
		}
	}
	return 0, nil
}

// variantSeed returns the seed of a variant [splitmix64: Steele, Lea, Flood, "Fast splittable pseudorandom number
// generators", OOPSLA 2014].
func variantSeed(seed uint64, n int) uint64 {
	z := seed + uint64(n+1)*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// evidence is what is known of the timed calls of a candidate. A call on one variant is verified at once, against the reference of the
// variant. A call on mixed contents has no reference: it is kept, and repeated by the candidate when it is loaded anew.
type evidence struct {
	whole int        // calls on one variant that were verified
	seen  int        // calls on mixed contents that could be kept
	kept  []keptCall // of those, drawn at random
	bytes int        // of kept
	// fast are calls of the fastest samples, the fastest first: if work was skipped, it was skipped there.
	fast []fastCall
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
	mostKeptBytes = 256 << 20
	// More than fewKept calls, and more than one of the fastest, are kept only up to this many bytes.
	fewKept   = 8
	manyBytes = 64 << 20
)

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

// totalBytes returns the bytes of a list of buffers.
func totalBytes(list [][]byte) (size int) {
	for _, b := range list {
		size += len(b)
	}
	return size
}

// cloneTo copies a call. It takes the memory of old, a call that is not needed any more and may be empty.
func cloneTo(old, one worker.Evidence) worker.Evidence {
	return worker.Evidence{Variant: -1, Sample: -1, Given: cloneAllTo(old.Given, one.Given), Wrote: cloneAllTo(old.Wrote, one.Wrote)}
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

func cloneAll(list [][]byte) [][]byte { return cloneAllTo(nil, list) }

// cloneAllTo copies a list of buffers to the memory of others of the same sizes, or to new memory.
func cloneAllTo(old, list [][]byte) [][]byte {
	out := make([][]byte, len(list))
	for i, b := range list {
		if i < len(old) && len(old[i]) == len(b) && b != nil {
			out[i] = old[i]
			copy(out[i], b)
		} else {
			out[i] = slices.Clone(b)
		}
	}
	return out
}

// weigh verifies the calls on one variant of a list of evidence, and keeps the others. seconds says, by sample, how long a call took.
func (m *meter) weigh(list []worker.Evidence, seconds []float64) error {
	for _, one := range list {
		if m.c == nil {
			break // a probe of tune's own
		}
		if one.Variant < 0 || one.Variant >= len(m.variants.cases) {
			m.evidence.keep(one, m.draw) // counts it, which gives it its number
			if one.Sample >= 0 && one.Sample < len(seconds) {
				m.evidence.keepFast(one, seconds[one.Sample])
			}
			continue
		}
		m.evidence.whole++
		buffers := slices.Clone(one.Wrote)
		for i, b := range one.Given {
			if buffers[i] == nil {
				buffers[i] = b
			}
		}
		err := m.c.verify(m.variants.cases[one.Variant], buffers)
		if r := kernels.AsRejection(err); r != nil {
			return kernels.Reject(r.Status, "%s, in a timed call: %s", m.variants.cases[0].Name, r.Reason)
		}
		if err != nil {
			return err
		}
	}
	return nil
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

// verifyTimed verifies what a candidate wrote in timed calls, in four steps:
//
//  1. Where the buffers are large, it makes and verifies further calls (verifyKnown).
//  2. Where no timed call has been verified, it makes and verifies one more (verifyOne): a candidate may be right in its first calls and
//     wrong in the thousandth.
//  3. It makes and verifies a call on inputs from a part of their range (verifyNarrowed).
//  4. It loads the candidate anew, so that nothing is left of earlier calls, repeats kept calls, and verifies that they write the same again.
//
// behind says that the candidate has lost already: then calls of a second and more are not worth the time.
func (m *meter) verifyTimed(ctx context.Context, behind bool) error {
	if behind && m.slow() {
		return nil
	}
	if err := m.verifyKnown(ctx); err != nil {
		return err
	}
	if err := m.verifyOne(ctx); err != nil {
		return err
	}
	if err := m.verifyNarrowed(ctx); err != nil {
		return err
	}
	m.shuffle(m.evidence.kept)
	var kept []keptCall
	for _, f := range m.evidence.fast {
		kept = append(kept, f.keptCall)
	}
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
	if err := m.w.Load(m.c.so); err != nil {
		return err
	}
	one := m.variants.cases[0]
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
	if m.taken > 2*request.Places || m.slow() {
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
	err := one.agree(m.uses, wrote, fresh)
	if !kernelFault(err) || !slices.Contains(m.variants.unwritten, true) {
		return err
	}
	fresh = cloneAll(fresh)
	if err := m.w.CallAgain(ctx, one.Dims); err != nil {
		return err
	}
	return one.agree(m.uses, m.variants.leaveOut(wrote, fresh, m.w.Outputs()), fresh)
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

// Replace returns a copy of a buffer in which the marked elements, of size bytes each, are those of other. Without marks it returns the
// buffer itself.
func Replace(buffer, other []byte, marked []bool, size int) []byte {
	if marked == nil {
		return buffer
	}
	out := slices.Clone(buffer)
	for i, is := range marked {
		if is {
			copy(out[i*size:(i+1)*size], other[i*size:])
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

// agree compares what a timed call wrote with what the same call wrote after the candidate was loaded anew (fresh).
func (c Case) agree(threads int, timed, fresh [][]byte) error {
	for i, b := range c.Buffers {
		if b.Mode == In || slices.Equal(timed[i], fresh[i]) {
			continue
		}
		if c.Agree != nil {
			err := c.Agree(threads, timed, fresh)
			if r := kernels.AsRejection(err); r != nil {
				return kernels.Reject(r.Status, "in a timed call, unlike the same call made afresh: %s", r.Reason)
			}
			return err
		}
		at, size := 0, b.Elem.Size()
		for at < b.Len-1 && slices.Equal(timed[i][at*size:(at+1)*size], fresh[i][at*size:(at+1)*size]) {
			at++
		}
		return kernels.Reject(space.WrongAnswer, "in a timed call %s[%d] is %x, and the same call made afresh writes %x: it keeps something between calls", b.Name, at,
			timed[i][at*size:(at+1)*size], fresh[i][at*size:(at+1)*size])
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
