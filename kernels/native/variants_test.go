package native

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"tune/kernels"
	"tune/kernels/native/timing"
	"tune/kernels/native/worker"
	"tune/space"
)

// TestStale: a candidate whose first call on new inputs takes longer than the caches explain is timed apart on new
// inputs, and one that is honest is not.
func TestStale(t *testing.T) {
	for _, c := range []struct {
		name               string
		seconds            float64
		vary               bool
		each, first, whole float64
		fresh              bool
	}{
		{"honest and short", 1e-6, true, 1e-6, 1.2e-6, 0, false},
		{"the clock blurs it", 1e-8, true, 1e-8, 2.5e-7, 0, false},
		{"the caches", 1e-7, true, 1e-7, 4e-7, 0, false},
		{"only the first call works", 1e-7, true, 1.2e-7, 2e-6, 0, true},
		{"the first call does most of the work", 3e-7, true, 3e-7, 1e-6, 0, true},
		{"large buffers are loaded", 3e-6, true, 3e-6, 12e-6, 0, false},
		{"large buffers excuse no more than four calls", 3e-7, true, 3e-7, 4e-6, 0, true},
		{"nothing varies", 1e-7, false, 1.2e-7, 2e-6, 0, false},
		{"honest and large", 1e-3, true, 0, 0, 1.4e-3, false},
		{"new inputs are dear", 1e-3, true, 0, 0, 3e-3, true},
	} {
		f := &fake{seconds: c.seconds, timing: func(q worker.TimeRequest, got *worker.Timing) {
			got.Window, got.Each, got.First, got.Whole = q.Window, c.each, c.first, c.whole
		}}
		m := newFakeMeter(f, 0)
		m.variants.differ = c.vary
		if strings.HasPrefix(c.name, "large buffers") {
			m.bytes = 200_000 // 12.5 µs to load
		}
		for range 6 {
			if _, err := m.sample(t.Context(), 2); err != nil {
				t.Fatal(err)
			}
		}
		if m.apart != c.fresh {
			t.Errorf("%s: timed apart: %v", c.name, m.apart)
		}
		last := f.requests[len(f.requests)-1]
		if c.fresh && (last.Window != last.Copies || last.Sparse || last.Calls > m.mostCalls()) {
			t.Errorf("%s: the last request is %+v", c.name, last)
		}
	}
}

// TestProveLate: honest code whose first calls are late now and then, because of what else the machine does, is not taken for code that reuses
// results, and most of the code is whose first calls are late most of the time.
func TestProveLate(t *testing.T) {
	for _, c := range []struct {
		late        float64 // share of the requests in which the first calls are late
		least, most int     // of 200 proofs
	}{{0, 0, 0}, {0.1, 0, 0}, {lateHonest, 0, 0}, {lateReusing, 170, 200}, {0.9, 196, 200}, {1, 200, 200}} {
		rng := rand.New(rand.NewPCG(1, 2))
		f := &fake{seconds: 1e-7, idle: 1e-7, timing: func(_ worker.TimeRequest, got *worker.Timing) {
			got.Each, got.First = 1e-7, 2e-7
			if rng.Float64() < c.late {
				got.First = 2e-6
			}
		}}
		m := newFakeMeter(f, 0)
		proven := 0
		for range 200 {
			yes, err := m.proveLate(t.Context(), 1, worker.CPU)
			if err != nil {
				t.Fatal(err)
			}
			if yes {
				proven++
			}
		}
		if proven < c.least || proven > c.most {
			t.Errorf("late in %g of the requests: %d of 200 are proven, want %d to %d", c.late, proven, c.least, c.most)
		}
	}
}

// TestRequest: what varies follows from the size of the buffers and the length of a call.
func TestRequest(t *testing.T) {
	const small, large = 64 << 10, 1 << 30
	for _, c := range []struct {
		name    string
		seconds float64
		bytes   int
		outputs int // how many times the size of the outputs that is
		inPlace bool
		cold    bool
		want    worker.TimeRequest
	}{
		{"short", 1.01e-6, small, 2, false, false, worker.TimeRequest{Window: 10, Copies: 1, Touch: true}},
		{"by itself", 2e-5, small, 2, false, false, worker.TimeRequest{Window: 1, Copies: 1, Touch: true}},
		{"beyond the caches", 1e-3, large, 2, false, false, worker.TimeRequest{Window: 1, Copies: 1, Sparse: true, Refill: true}},
		{"beyond the caches, with few outputs", 1e-3, large, 100, false, false, worker.TimeRequest{Window: 1, Copies: 1, Sparse: true}},
		{"and long", 0.1, large, 2, false, false, worker.TimeRequest{Window: 1, Copies: 1}},
		{"in place", 1.01e-6, 4 << 10, 2, true, false, worker.TimeRequest{Window: 10, Copies: 10, Touch: true}},
		{"in place and by itself", 1e-4, small, 2, true, false, worker.TimeRequest{Window: 1, Copies: 1, Touch: true}},
		{"cold", 1e-4, small, 2, false, true, worker.TimeRequest{Window: 1, Copies: coldCopies(small, 0), Cold: true, Refill: true}},
		{"cold, with few outputs", 1e-4, small, 100, false, true, worker.TimeRequest{Window: 1, Copies: coldCopies(small, 0), Cold: true}},
	} {
		m := newFakeMeter(&fake{seconds: c.seconds}, 0)
		m.bytes, m.inputs, m.inPlace, m.cold = c.bytes, c.bytes-c.bytes/c.outputs, c.inPlace, c.cold
		q := m.request(4, worker.CPU)
		got := worker.TimeRequest{Window: q.Window, Copies: q.Copies, Touch: q.Touch, Sparse: q.Sparse, Cold: q.Cold, Refill: q.Refill}
		if got.Window != c.want.Window || got.Copies != c.want.Copies || got.Touch != c.want.Touch || got.Sparse != c.want.Sparse || got.Cold != c.want.Cold || got.Refill != c.want.Refill {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
		if err := q.Validate(); err != nil || q.Limit < timing.Seconds(4*float64(m.calls)*c.seconds) {
			t.Errorf("%s: limit %v, %v", c.name, q.Limit, err)
		}
	}
}

// copying is a case whose output has to be its input, and a right and a wrong output.
func copying() (one Case, right, wrong []byte) {
	right, wrong = []byte{1, 0, 0, 0}, []byte{2, 0, 0, 0}
	one = Case{Name: "one", Buffers: []Buffer{{"x", I32, 1, In}, {"y", I32, 1, Out}}, Inputs: [][]byte{right, nil}}
	one.Verify = func(b [][]byte) (d kernels.Deviation, err error) {
		if !bytes.Equal(b[0], b[1]) {
			return d, kernels.Reject(space.WrongAnswer, "y[0] is off")
		}
		return d, nil
	}
	return one, right, wrong
}

// TestEvidence: what a call on one variant wrote is verified at once, whatever else is repeated afresh, and a difference is the
// candidate's.
func TestEvidence(t *testing.T) {
	one, right, wrong := copying()
	evidence := func(variant int, wrote []byte) worker.Evidence {
		return worker.Evidence{Variant: variant, Given: [][]byte{right, nil}, Wrote: [][]byte{nil, wrote}}
	}
	meterOf := func() (*meter, *fake) {
		f := &fake{seconds: 1e-3}
		m := newFakeMeter(f, 0)
		m.variants = &variants{cases: []Case{one, one}, differ: true}
		if err := mapCase(f, one); err != nil {
			t.Fatal(err)
		}
		return m, f
	}
	m, _ := meterOf()
	if err := m.weigh([]worker.Evidence{evidence(1, right), evidence(0, right)}, nil); err != nil || m.evidence.whole != 2 {
		t.Errorf("right calls: %v, %d are verified", err, m.evidence.whole)
	}
	if r := kernels.AsRejection(m.weigh([]worker.Evidence{evidence(1, wrong)}, nil)); r == nil || r.Status != space.WrongAnswer || !strings.Contains(r.Reason, "in a timed call") {
		t.Errorf("a wrong call: %v", r)
	}
	for _, c := range []struct {
		afresh, timed []byte
		agree         func(int, [][]byte, [][]byte) error
		reason        string
	}{
		{right, right, nil, ""},
		{right, wrong, nil, "keeps something between calls"},
		{right, wrong, func(int, [][]byte, [][]byte) error { return nil }, ""},
		{right, wrong, func(int, [][]byte, [][]byte) error { return kernels.Reject(space.WrongAnswer, "far off") }, "far off"},
	} {
		m, f := meterOf()
		m.variants.cases[0].Agree = c.agree
		m.evidence.whole = 1
		if err := m.weigh([]worker.Evidence{evidence(-1, c.timed)}, nil); err != nil {
			t.Fatal(err)
		}
		f.call = func() { copy(f.outputs[1], c.afresh) }
		err := m.verifyTimed(t.Context(), false)
		if c.reason == "" && err != nil || c.reason != "" && (kernels.AsRejection(err) == nil || !strings.Contains(err.Error(), c.reason)) {
			t.Errorf("timed %v, afresh %v: %v, want %q", c.timed, c.afresh, err, c.reason)
		}
	}
	// Elements that a call leaves unwritten are no difference, but only where the reference leaves some unwritten too.
	for _, c := range []struct {
		unwritten []bool
		reason    string
	}{{[]bool{false, true}, ""}, {[]bool{false, false}, "keeps something between calls"}} {
		m, f := meterOf()
		m.variants.unwritten = c.unwritten
		m.evidence.whole = 1
		if err := m.weigh([]worker.Evidence{evidence(-1, wrong)}, nil); err != nil {
			t.Fatal(err)
		}
		calls := 0
		f.call = func() {
			copy(f.outputs[1], [][]byte{{0xa7, 0xff, 0xa7, 0xff}, {0xf3, 0x7f, 0xf3, 0x7f}}[calls%2])
			calls++
		}
		err := m.verifyTimed(t.Context(), false)
		if c.reason == "" && err != nil || c.reason != "" && (kernels.AsRejection(err) == nil || !strings.Contains(err.Error(), c.reason)) {
			t.Errorf("with unwritten elements, the reference %v: %v, want %q", c.unwritten, err, c.reason)
		}
	}
	// What is fast is looked at, however many calls there are that are right.
	m, f := meterOf()
	m.evidence.whole = 1
	f.call = func() { copy(f.outputs[1], right) }
	for i := range 1000 {
		one, seconds := evidence(-1, right), 1e-3
		if i == 400 {
			one, seconds = evidence(-1, wrong), 1e-4
		}
		if err := m.weigh([]worker.Evidence{one}, []float64{seconds}); err != nil {
			t.Fatal(err)
		}
	}
	if r := kernels.AsRejection(m.verifyTimed(t.Context(), false)); r == nil || !strings.Contains(r.Reason, "keeps something") {
		t.Errorf("one call of a thousand that was fast and wrong: %v", r)
	}
	// Where no timed call could be held against a reference, one more call is.
	m, f = meterOf()
	f.call = func() { copy(f.outputs[0], right); copy(f.outputs[1], wrong) }
	if r := kernels.AsRejection(m.verifyTimed(t.Context(), false)); r == nil || !strings.Contains(r.Reason, "after many calls") {
		t.Errorf("without evidence: %v", r)
	}
	m.perCall = 2 * timing.Slow
	if err := m.verifyTimed(t.Context(), true); err != nil {
		t.Errorf("of a slow one that has lost: %v", err)
	}
}

// TestVerifyKnown: where buffers are large, further calls are made on variants with a known reference, so that a candidate whose first
// call is right is found out by the next ones.
func TestVerifyKnown(t *testing.T) {
	one, right, wrong := copying()
	for _, c := range []struct {
		name                      string
		large, vary, slow, behind bool
		taken, known              int // requests of the meter, and those for calls on known variants
	}{
		{"large", true, true, false, false, 40, leastAfresh},
		{"large and slow", true, true, true, false, 40, 2},
		{"stopped after one call", true, true, false, false, 1, 1},
		{"small", false, true, false, false, 40, 0},
		{"nothing varies", true, false, false, false, 40, 0},
		{"slow and behind", true, true, true, true, 40, 0},
	} {
		known := 0
		f := &fake{seconds: 1e-3, timing: func(q worker.TimeRequest, got *worker.Timing) {
			if !q.Known {
				return
			}
			known++
			if q.Calls != 1 || q.Samples != 1 {
				t.Errorf("%s: the request is %+v", c.name, q)
			}
			wrote := wrong
			if known < c.known {
				wrote = right
			}
			got.Evidence = []worker.Evidence{{Variant: 1, Given: [][]byte{right, nil}, Wrote: [][]byte{nil, wrote}}}
		}}
		m := newFakeMeter(f, 0)
		m.variants = &variants{cases: []Case{one, one}, differ: c.vary}
		m.large, m.taken, m.evidence.whole = c.large, c.taken, 1
		if c.slow {
			m.perCall = 2 * timing.Slow
		}
		r := kernels.AsRejection(m.verifyTimed(t.Context(), c.behind))
		if known != c.known || (r != nil) != (c.known > 0) || r != nil && r.Status != space.WrongAnswer {
			t.Errorf("%s: %v after %d calls on known variants, want %d", c.name, r, known, c.known)
		}
	}
}

// TestKeepEvidence: calls are kept with the same chance, and no more of them than there is room for.
func TestKeepEvidence(t *testing.T) {
	var first, last int
	for seed := range 2000 {
		m := newMeterOf(nil)
		var e evidence
		for i := range 80 {
			b := []byte{byte(i)}
			e.keep(worker.Evidence{Given: [][]byte{b}, Wrote: [][]byte{nil}}, m.draw)
		}
		if len(e.kept) != mostKept {
			t.Fatalf("seed %d: %d are kept", seed, len(e.kept))
		}
		for _, k := range e.kept {
			if k.Given[0][0] < 8 {
				first++
			}
			if k.Given[0][0] >= 72 {
				last++
			}
		}
	}
	const tenth = 2000 * mostKept / 10
	if first < tenth*8/10 || first > tenth*12/10 || last < tenth*8/10 || last > tenth*12/10 {
		t.Errorf("of the first eight %d are kept, of the last eight %d", first, last)
	}
	var e evidence
	e.keep(worker.Evidence{Given: [][]byte{make([]byte, mostKeptBytes+1)}, Wrote: [][]byte{nil}}, func(int) int { return 0 })
	if len(e.kept) != 0 {
		t.Error("more is kept than there is room for")
	}
}

// TestVariants: there are few of large inputs, more of small ones, and one where nothing is drawn.
func TestVariants(t *testing.T) {
	draw := func(size int, varies bool) func(uint64) (Case, error) {
		return func(seed uint64) (Case, error) {
			b := make([]byte, size)
			if varies {
				b[0] = byte(seed)
			}
			return Case{Buffers: []Buffer{{"x", U8, size, In}, {"y", U8, 1, Out}}, Inputs: [][]byte{b, nil}}, nil
		}
	}
	for _, c := range []struct {
		size   int
		varies bool
		want   int
	}{{10, true, 3}, {smallVariants, true, 3}, {smallVariants + 1, true, 2}, {10, false, 1}} {
		v, err := newVariants(1, draw(c.size, c.varies), nil)
		if err != nil || len(v.cases) != c.want || v.differ != c.varies || v.cases[0].Inputs == nil {
			t.Errorf("%+v: %d variants, %v, %v", c, len(v.cases), v.differ, err)
		}
	}
	// Further contents are drawn within bounds of their number and of their bytes.
	for _, c := range []struct{ size, want int }{{4, mostContents}, {512, mostContents}, {2048, contentsBytes / 2048}, {16 << 10, contentsBytes / (16 << 10)}, {1 << 20, 8}, {6 << 20, 3}} {
		drawn := 0
		_, err := newVariants(1, draw(c.size, true), func(seed uint64) ([][]byte, error) {
			drawn++
			one, err := draw(c.size, true)(seed)
			return one.Inputs, err
		})
		if got := drawn - 1 + manyVariants; err != nil || got != c.want { // one is drawn to see whether they differ
			t.Errorf("inputs of %d bytes have %d contents, want %d: %v", c.size, got, c.want, err)
		}
	}
	// Inputs with few contents are the same for some seeds; the variants differ nonetheless.
	for seed := range uint64(50) {
		few := func(seed uint64) (Case, error) {
			return Case{Buffers: []Buffer{{"x", U8, 1, In}}, Inputs: [][]byte{{byte(seed % 3 / 2)}}}, nil
		}
		v, err := newVariants(seed, few, func(seed uint64) ([][]byte, error) { c, err := few(seed); return c.Inputs, err })
		if err != nil || !v.differ || len(v.cases) != manyVariants {
			t.Errorf("seed %d: %d variants, %v", seed, len(v.cases), err)
		}
	}
	seen := map[uint64]bool{}
	for i := range 100 {
		seen[variantSeed(7, i)] = true
	}
	if len(seen) != 100 {
		t.Errorf("100 variants have %d seeds", len(seen))
	}
	broken := errors.New("no reference")
	if _, err := newVariants(1, func(uint64) (Case, error) { return Case{}, broken }, nil); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

// TestMetrics: a score says how many threads the code has, and its rates, beside what the estimate says.
func TestMetrics(t *testing.T) {
	p := &Problem{work: Work{Ops: 4000, OpsName: "GOP/s", Bytes: 8000}}
	e := estimate{unverified: true}
	e.Cost, e.Kept, e.Spread = 2e-6, 5, 0.125
	got := p.score(e, 2)
	want := []space.Metric{
		{Name: "gbs", Value: 4}, {Name: "gops", Value: 2}, {Name: "samples", Value: 5}, {Name: "spread", Value: 0.125},
		{Name: "threads", Value: 2}, {Name: "unverified", Value: 1},
	}
	if math.Abs(got.Cost-2000) > 1e-9 || len(got.Metrics) != len(want) {
		t.Fatalf("the score is %+v, want %v", got, want)
	}
	for i, m := range got.Metrics {
		if m.Name != want[i].Name || math.Abs(m.Value-want[i].Value) > 1e-9 {
			t.Errorf("metric %d is %+v, want %+v", i, m, want[i])
		}
	}
}

// TestRevisit: a candidate that is stopped before its calls come to a place again is called there until they do, so that what it does on
// outputs that are not new is verified too.
func TestRevisit(t *testing.T) {
	one, right, wrong := copying()
	for _, samples := range []int{2, 1000} {
		revisits := 0
		f := &fake{seconds: 1e-4, timing: func(q worker.TimeRequest, got *worker.Timing) {
			wrote := right
			if q.Places == 1 && q.Samples*q.Calls >= leastRevisits {
				wrote = wrong
				revisits++
			}
			got.Evidence = []worker.Evidence{{Variant: 1, Given: [][]byte{right, nil}, Wrote: [][]byte{nil, wrote}}}
		}}
		f.call = func() { copy(f.outputs[1], right) }
		m := newFakeMeter(f, 0)
		m.bytes = 16 << 10
		m.variants = &variants{cases: []Case{one, one}, differ: true}
		if err := mapCase(f, one); err != nil {
			t.Fatal(err)
		}
		if m.request(1, worker.CPU).Places < 2 {
			t.Skip("the caches of this processor hold one place")
		}
		if _, err := m.sampleBy(t.Context(), samples, worker.CPU); err != nil {
			t.Fatal(err)
		}
		r := kernels.AsRejection(m.revisit(t.Context()))
		if few := samples < 100; few != (r != nil) || few != (revisits == 1) {
			t.Errorf("%d samples: %v after %d requests at one place", samples, r, revisits)
		}
	}
}

// TestVerifyNarrowed: after its timed calls a candidate is called on inputs from a part of their range, and has to be right there too.
func TestVerifyNarrowed(t *testing.T) {
	one, right, wrong := copying()
	for _, wrote := range [][]byte{right, wrong} {
		f := &fake{seconds: 1e-3}
		m := newFakeMeter(f, 0)
		m.variants = &variants{cases: []Case{one, one}, differ: true, narrowed: &one}
		m.evidence.whole = 1
		f.call = func() { copy(f.outputs[0], right); copy(f.outputs[1], wrote) }
		r := kernels.AsRejection(m.verifyTimed(t.Context(), false))
		if (r != nil) != (wrote[0] == wrong[0]) || r != nil && !strings.Contains(r.Reason, "after calls on other inputs: y[0] is off") {
			t.Errorf("writes %v: %v", wrote, r)
		}
	}
}
