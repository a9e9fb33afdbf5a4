package native

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"tune/internal/cpu"
	"tune/kernels"
	"tune/kernels/native/internal/testonly"
	"tune/kernels/native/timing"
	"tune/kernels/native/worker"
	"tune/space"
)

// fake is a worker whose candidate takes as long as it is told, seen through a clock that is told too.
type fake struct {
	seconds  float64                                  // of a call
	clock    func(truth float64, n int) float64       // what the n-th sample shows; nil shows the truth
	fail     func(n int) error                        // of the n-th sample; nil never fails
	timing   func(worker.TimeRequest, *worker.Timing) // changes what a request gives; nil leaves it
	call     func()                                   // is made by Call; nil does nothing
	broken   func() error                             // what Call fails with; nil never fails
	loads    int                                      // of the candidate
	idle     float64                                  // seconds of a first call on new inputs of a function that does nothing
	beside   float64                                  // seconds of blind calls of a function that does nothing
	blind    func(worker.BlindRequest) worker.Blind   // the result of blind calls; nil for right ones that take as long
	own      float64                                  // seconds of the threads of the worker itself in blind requests without calls
	requests []worker.TimeRequest
	within   []time.Duration // of the calls of CallWithin
	samples  int
	outputs  [][]byte
	fresh    int  // processes that were asked for
	shared   bool // whether others have run in the one that it has
	unloaded bool
}

func (f *fake) Unload()      { f.unloaded = true }
func (f *fake) Renew(string) { f.fresh, f.shared = f.fresh+1, false }
func (f *fake) Shared() bool { return f.shared }

func (f *fake) Map(buffers []worker.Buffer, _ [][]byte) error {
	f.outputs = make([][]byte, len(buffers))
	for i, b := range buffers {
		f.outputs[i] = make([]byte, b.Bytes)
	}
	return nil
}
func (f *fake) Vary(*worker.Pool) error { return nil }
func (f *fake) Load(string) error       { f.loads++; return nil }

func (f *fake) Call(ctx context.Context, _ []int64) error {
	if f.call != nil {
		f.call()
	}
	if f.broken != nil {
		if err := f.broken(); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (f *fake) CallAgain(ctx context.Context, dims []int64) error { return f.Call(ctx, dims) }
func (f *fake) CallWithin(ctx context.Context, dims []int64, within time.Duration) error {
	f.within = append(f.within, within)
	return f.Call(ctx, dims)
}
func (f *fake) Outputs() [][]byte { return f.outputs }
func (f *fake) Close() error      { return nil }

func (f *fake) Time(ctx context.Context, t worker.TimeRequest) (worker.Timing, error) {
	if err := t.Validate(); err != nil {
		return worker.Timing{}, err
	}
	if t.Idle {
		return worker.Timing{Calls: t.Calls * t.Samples, First: f.idle}, ctx.Err()
	}
	f.requests = append(f.requests, t)
	out := make([]float64, t.Samples)
	for i := range out {
		if f.fail != nil {
			if err := f.fail(f.samples); err != nil {
				return worker.Timing{}, err
			}
		}
		out[i] = f.seconds
		if f.clock != nil && t.Clock == worker.CPU {
			out[i] = f.clock(f.seconds, f.samples)
		}
		f.samples++
	}
	timed := worker.Timing{Seconds: out}
	if f.timing != nil {
		f.timing(t, &timed)
	}
	return timed, ctx.Err()
}

func (f *fake) Blind(ctx context.Context, t worker.BlindRequest) (worker.Blind, error) {
	if err := t.Validate(); err != nil {
		return worker.Blind{}, err
	}
	if t.Idle {
		return worker.Blind{Seconds: f.beside, Own: f.own}, ctx.Err()
	}
	if f.blind != nil {
		return f.blind(t), ctx.Err()
	}
	return worker.Blind{Seconds: f.seconds * float64(t.Calls)}, ctx.Err()
}

func newFakeMeter(f *fake, floor float64) *meter {
	m := newMeterOf(f)
	m.floor, m.perCall, m.calls, m.wall = floor, f.seconds, timing.Calls(f.seconds, m.length), time.Second
	m.c = &candidate{}
	m.variants.cases[0].Verify = func([][]byte) (d kernels.Deviation, err error) { return d, nil }
	return m
}

func TestMeasure(t *testing.T) {
	glitch := func(at int, to float64) func(float64, int) float64 {
		return func(truth float64, n int) float64 {
			if n == at {
				return to * truth
			}
			return truth
		}
	}
	tests := []struct {
		name       string
		fake       fake
		floor      float64
		best       float64
		want       int
		cost       float64
		samples    int
		stopped    bool
		unverified bool
	}{
		{"first", fake{seconds: 1e-3}, 0, 0, timing.Most, 1e-3, timing.Most, false, false},
		{"far behind", fake{seconds: 1e-2}, 0, 1e-3, timing.Most, 1e-2, 2, true, false},
		{"behind", fake{seconds: 1.5e-3}, 0, 1e-3, timing.Most, 1.5e-3, 3, true, false},
		{"a little behind", fake{seconds: 1.1e-3}, 0, 1e-3, timing.Most, 1.1e-3, 6, true, false},
		{"close", fake{seconds: 1.02e-3}, 0, 1e-3, timing.Most, 1.02e-3, timing.Most, false, false},
		{"better", fake{seconds: 0.5e-3}, 0, 1e-3, timing.Most, 0.5e-3, timing.Most, false, false},
		{"a burst in the beginning", fake{seconds: 1e-3, clock: glitch(0, 1.5)}, 0, 1e-3, timing.Most, 1e-3, timing.Most, false, false},
		{"a clock that lies once", fake{seconds: 1e-3, clock: glitch(3, 1e-5)}, 0, 0, timing.Most, 1e-3, timing.Most - 1, false, false},
		{"and below the roof", fake{seconds: 1e-3, clock: glitch(3, 0.8)}, 0.95e-3, 0, timing.Most, 1e-3, timing.Most, false, false},
		{"a clock that always lies", fake{seconds: 1e-3, clock: func(s float64, _ int) float64 { return s / 5 }}, 0.9e-3, 0, timing.Most, 1e-3, timing.Most, false, true},
		{"faster than can be", fake{seconds: 1e-3}, 2e-3, 0, timing.Most, 2e-3, timing.Most, false, true},
		{"long and hopeless", fake{seconds: 0.2}, 0, 0.05, timing.Least, 0.2, 1, true, false},
		{"long and clearly behind", fake{seconds: 0.1}, 0, 0.05, timing.Least, 0.1, 1, true, false},
		{"long and behind", fake{seconds: 0.07}, 0, 0.05, timing.Most, 0.07, 2, true, false},
		{"long and a little behind", fake{seconds: 0.055}, 0, 0.05, timing.Most, 0.055, 6, true, false},
		{"few", fake{seconds: 1e-3}, 0, 0, 2, 1e-3, 2, false, false},
		{"one", fake{seconds: 5}, 0, 0, 1, 5, 1, false, false},
	}
	for _, test := range tests {
		m := newFakeMeter(&test.fake, test.floor)
		e, err := m.measure(t.Context(), test.want, test.best)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if d := e.Cost/test.cost - 1; d < -1e-9 || d > 1e-9 || e.Kept < test.samples || e.Kept > test.samples+1 || e.stopped != test.stopped || e.unverified != test.unverified {
			t.Errorf("%s: %+v", test.name, e)
		}
	}
}

// TestTakeTurns: a turn is what the fastest of its short samples say, but the very fastest, and a turn that cannot be is none.
func TestTakeTurns(t *testing.T) {
	const truth = 1e-4
	others := func(_ float64, n int) float64 { // are on the core for nine tenths of the time
		if n%10 < 2 {
			return truth
		}
		return 1.5 * truth
	}
	for _, c := range []struct {
		name  string
		clock func(float64, int) float64
		floor float64
		want  []float64
	}{
		{"alone", nil, 0, []float64{truth, truth, truth}},
		{"others work most of the time", others, 0, []float64{truth, truth, truth}},
		{"the clock lies once a turn", func(s float64, n int) float64 { return s * float64(min(n%10, 1)) / 1 }, 0, []float64{truth, truth, truth}},
		{"a turn below the floor", func(s float64, n int) float64 { return s * float64(min(n/10, 1)) }, truth, []float64{0, truth, truth}},
	} {
		f := &fake{seconds: truth, clock: c.clock}
		m := newFakeMeter(f, c.floor)
		m.length = timing.BurstSeconds
		m.calls = timing.Calls(truth, m.length)
		got, err := m.takeTurns(t.Context(), len(c.want))
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, %v", c.name, got, err)
		}
		if n := 10 * len(c.want); f.samples != n {
			t.Errorf("%s: %d samples, want %d", c.name, f.samples, n)
		}
	}
}

// TestFairly: a candidate is not given up in a slow phase of the core, and no time is spent on one that is hopeless.
func TestFairly(t *testing.T) {
	for _, test := range []struct {
		name    string
		seconds float64
		phase   int // samples that take twice as long
		best    float64
		slow    int // looks at the core that find it slow, also at the end of the wait for it to be fast
		cost    float64
		stopped bool
		asked   int
	}{
		{"in time", 1e-3, 0, 1e-3, 0, 1e-3, false, 2},
		{"a slow phase", 1e-3, 2, 1e-3, 1, 1e-3, false, 4},
		{"a slow phase at first", 1e-3, timing.Most, 0, 2, 1e-3, false, 4},
		{"a slow phase that does not end", 1e-3, 1000, 1e-3, 1000, 2e-3, true, 3},
		{"behind", 1.5e-3, 0, 1e-3, 0, 1.5e-3, true, 2},
		{"hopeless", 1e-2, 0, 1e-3, 1000, 1e-2, true, 1},
		{"long and clearly behind", 0.2, 0, 0.1, 0, 0.2, true, 2},
		{"long and in a slow phase", 0.1, 1, 0.1, 2, 0.1, false, 4},
		{"long and hopeless", 0.4, 0, 0.1, 1000, 0.4, true, 1},
	} {
		f := &fake{seconds: test.seconds, clock: func(truth float64, n int) float64 {
			if n < test.phase {
				return 2 * truth
			}
			return truth
		}}
		asked := 0
		e, err := newFakeMeter(f, 0).fairly(t.Context(), timing.Most, test.best, func(wait bool) (bool, error) {
			asked++
			if wait != (asked > 1 && asked%2 == 1) {
				t.Errorf("%s: look %d waits: %t", test.name, asked, wait)
			}
			return asked <= test.slow, nil
		}, func() bool { return false })
		if err != nil {
			t.Fatal(err)
		}
		if d := e.Cost/test.cost - 1; d < -1e-9 || d > 1e-9 || e.stopped != test.stopped || asked != test.asked || e.unverified != (test.asked == 3) {
			t.Errorf("%s: %+v, the core was looked at %d times", test.name, e, asked)
		}
	}
	// Where the core becomes slow again and again, the last look has no wait.
	looks := 0
	e, err := newFakeMeter(&fake{seconds: 1e-3}, 0).fairly(t.Context(), timing.Most, 0, func(wait bool) (bool, error) { looks++; return !wait, nil }, func() bool { return false })
	if err != nil || looks != 2*fairTries || !e.unverified {
		t.Errorf("%d looks at a core that is slow after each measurement: %+v, %v", looks, e, err)
	}
	// A slow moment between two looks stops a candidate, which has a second chance where there are many such moments, and only
	// one.
	for _, restless := range []bool{false, true} {
		for _, moment := range []int{3, 1000} {
			f := &fake{seconds: 1e-3, clock: func(truth float64, n int) float64 {
				if n < moment {
					return 1.5 * truth
				}
				return truth
			}}
			e, err := newFakeMeter(f, 0).fairly(t.Context(), timing.Most, 1e-3, func(bool) (bool, error) { return false, nil }, func() bool { return restless })
			if err != nil || e.stopped != (!restless || moment == 1000) || e.unverified || f.samples > 3+timing.Most {
				t.Errorf("restless %t, a moment of %d samples: %d samples, %+v, %v", restless, moment, f.samples, e, err)
			}
		}
	}
}

// TestGauge: a slow core is waited for, within bounds, and waiting changes nothing in what counts as slow.
func TestGauge(t *testing.T) {
	var g gauge
	var at time.Time
	now := func() time.Time { return at }
	slowUntil := at
	take := func(n int) ([]float64, error) {
		out := make([]float64, n)
		for i := range out {
			if out[i] = 1e-3; at.Before(slowUntil) {
				out[i] = 1.5e-3
			}
			at = at.Add(5 * time.Millisecond)
		}
		return out, nil
	}
	look := func(n int, wait, want bool) (took time.Duration) {
		t.Helper()
		start := at
		slow, err := g.look(take, n, wait, now)
		if err != nil || slow != want {
			t.Errorf("slow is %t, %v", slow, err)
		}
		return at.Sub(start)
	}
	if g.restless() {
		t.Error("a core that was never looked at is restless")
	}
	look(gaugeFirst, false, false)
	if g.restless() {
		t.Error("a core that was never slow is restless")
	}
	g.remember(1e-7) // the clock lied
	look(1, false, false)
	slowUntil = at.Add(time.Hour)
	if d := look(1, false, true); d != 5*time.Millisecond {
		t.Errorf("a look took %v", d)
	}
	for range 3 {
		d := look(1, true, true)
		if g.spent += d; d < gaugePatience || d > gaugePatience+10*time.Millisecond {
			t.Errorf("a slow core was waited for for %v", d)
		}
	}
	seen := len(g.seen)
	for range 8 { // What is spent is waits alone, so that no more than what the first may wait is left.
		g.spent += look(1, true, true)
	}
	if g.waited < gaugeCredit-gaugePatience || g.waited > gaugeCredit+gaugePatience || len(g.seen) > seen+16 {
		t.Errorf("waited for %v, %d turns are remembered", g.waited, len(g.seen))
	}
	if !g.restless() {
		t.Error("a core that is slow at every tenth look is not restless")
	}
	g.spent += time.Minute
	slowUntil = at.Add(100 * time.Millisecond)
	if d := look(1, true, false); d < 100*time.Millisecond || d > 110*time.Millisecond {
		t.Errorf("a core that was slow for .1 s was waited for for %v", d)
	}
	for range 2 * gaugeSeen {
		g.remember(1e-3)
	}
	if len(g.seen) != gaugeSeen {
		t.Errorf("%d turns are remembered", len(g.seen))
	}
}

// TestCalibrate: samples become long enough, also where the clock is wrong about one.
func TestCalibrate(t *testing.T) {
	for _, seconds := range []float64{2e-8, 1e-6, 3e-4, 4e-3, 0.02, 0.3, 2} {
		for _, lie := range []float64{1, 1e-6, 1e4} {
			for at := range 6 {
				length := []float64{timing.SampleSeconds, timing.BurstSeconds}[at/3]
				if lie*seconds >= longCalls*timing.SampleSeconds && seconds < longCalls*timing.SampleSeconds {
					continue // The worker itself refuses more time than has passed.
				}
				f := &fake{seconds: seconds, clock: func(truth float64, n int) float64 {
					if n == at%3 {
						return lie * truth
					}
					return truth
				}}
				m := newMeterOf(f)
				m.wall, m.length = time.Second, length
				if err := m.calibrate(t.Context()); err != nil {
					t.Fatal(err)
				}
				took := seconds * float64(m.calls)
				if took < 0.5*min(length, float64(m.mostCalls())*seconds) || took > max(seconds, 4*length) {
					t.Errorf("%v s a call, sample %d times %v: a sample of %d calls takes %v s", seconds, at, lie, m.calls, took)
				}
				if lie == 1 && (len(m.ready) == 1) != (seconds >= longCalls*timing.SampleSeconds) {
					t.Errorf("%v s a call: %d samples are ready", seconds, len(m.ready))
				}
			}
		}
	}
}

// TestReactions: a comparison judges all of its candidates by its own baseline, those of other problems and their baselines too.
func TestReactions(t *testing.T) {
	var seen reactions
	meter := func(leads bool) *meter {
		p := &Problem{spec: newTester(t), host: NewHost(HostOptions{})}
		how := metering{length: timing.SampleSeconds, against: &seen, isBaseline: leads}
		m, err := (&candidate{problem: p, point: p.Space().Default()}).newMeter(t.Context(), &fake{seconds: 1e-3}, how)
		if err != nil {
			t.Fatal(err)
		}
		m.variants = &variants{differ: true, cases: m.variants.cases}
		return m
	}
	leader, other := meter(true), meter(false)
	timed := func(first, whole float64) worker.Timing {
		return worker.Timing{Seconds: slices.Repeat([]float64{1e-3}, staleSamples), First: first, Each: 1e-3, Whole: whole}
	}
	late := timed(staleCalls*1e-3+staleBeyond+staleSeconds/2, 1e-3)
	if other.stale(late) {
		t.Error("before anything is known of the baseline, a first call within the fixed bound is refused")
	}
	for range leastWhole {
		if leader.stale(timed(1e-3, 1e-3)) {
			t.Error("the baseline is refused")
		}
	}
	if !other.stale(late) {
		t.Error("beside a baseline that new inputs do not slow, a late first call is accepted")
	}
	if got := other.wholeLimit(); got != nearWhole {
		t.Errorf("calls on new inputs may take %v times as long, want %v", got, nearWhole)
	}
	if leader.stale(late) || leader.wholeLimit() != staleWhole {
		t.Error("the baseline is judged by itself")
	}
}

// TestGains: many requests find out what a few do not prove: that calls are faster where inputs hardly change, by more than that speeds up the baseline.
func TestGains(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	timed := func(whole float64) worker.Timing {
		return worker.Timing{Seconds: slices.Repeat([]float64{1e-3}, staleSamples), Each: 1e-3, Whole: 1e-3 * whole * math.Exp(0.03*rng.NormFloat64())}
	}
	for _, c := range []struct {
		name        string
		requests    int // of the baseline
		base, whole float64
		least, most int // requests until it is found, 0 for never
	}{
		{"a fifth", 20, 1.2, 1.2 * 1.25, 9, 60},
		{"no more than the baseline", 20, 1.2, 1.2, 0, 0},
		{"a little more than the baseline", 20, 1.2, 1.2 * 1.06, 0, 0},
		{"a fifth, beside a baseline that looks slower on new inputs", 20, 0.8, 1.25, 9, 60},
		{"little is known of the baseline", manyWhole - 1, 1.2, 1.2 * 1.25, 0, 0},
	} {
		var seen reactions
		leader, m := newFakeMeter(&fake{}, 0), newFakeMeter(&fake{}, 0)
		leader.against, leader.isBaseline, leader.variants.differ = &seen, true, true
		m.against, m.variants.differ = &seen, true
		for range c.requests {
			leader.stale(timed(c.base))
		}
		found := 0
		for n := 1; n <= 200 && found == 0; n++ {
			if m.stale(timed(c.whole)) {
				found = n
			}
		}
		if found < c.least || found > c.most {
			t.Errorf("%s: found after %d requests, want %d to %d", c.name, found, c.least, c.most)
		}
		if seems := m.seemsToGain(); seems != (c.most > 0) {
			t.Errorf("%s: it seems to gain: %v", c.name, seems)
		}
	}
}

// TestApart: the cost of calls that are timed apart is lowered by no more than new inputs cost the baseline in each of its requests.
func TestApart(t *testing.T) {
	var seen reactions
	for _, step := range []struct{ all, last, want float64 }{{1.5, 1.25, 0.8}, {1.6, 1.9, 0.8}, {1.4, 0.9, 1}, {1.4, 1.5, 1}} {
		if seen.noteWhole(step.all, manyWhole, step.last); seen.get().apartFactor() != step.want || seen.get().whole != step.all {
			t.Errorf("after %v: %v, and calls apart count %v", step, seen.get(), seen.get().apartFactor())
		}
	}
}

// TestApartRequest: where calls are timed apart, each call of a stretch has its own copy of the buffers with wholly new inputs, and all copies stay
// in half of the second-level cache, if one does. Every request can be made.
func TestApartRequest(t *testing.T) {
	for _, bytes := range []int{0, 1, 4096, cpu.L2() / 4, cpu.L2(), 100 << 20, 3 << 30} {
		for _, perCall := range []float64{0, 1e-9, 1e-6, 1e-3, 1} {
			for kind := range 6 {
				m := newFakeMeter(&fake{seconds: perCall}, 0)
				m.apart, m.bytes, m.buffers, m.perCall = true, bytes, 3, perCall
				m.inPlace, m.cold = kind%3 == 1, kind%3 == 2
				if kind >= 3 {
					m.threads, m.uses = 2, 2
				}
				for _, m.calls = range []int{1, timing.Calls(max(perCall, 1e-9), timing.SampleSeconds), m.mostCalls()} {
					m.calls = min(m.calls, m.mostCalls())
					n := m.fitting(11)
					r := m.request(n, m.clock())
					if err := r.Validate(); err != nil {
						t.Errorf("%d bytes, %v s, %d calls, kind %d: %v", bytes, perCall, m.calls, kind, err)
					}
					if r.Sparse || n < 1 || n > 1 && n*m.calls > worker.MostStretches {
						t.Errorf("%d bytes, %v s, %d calls, kind %d: %d samples of %+v", bytes, perCall, m.calls, kind, n, r)
					}
					if !m.cold && (r.Window != r.Copies || r.Copies > 1 && r.Copies*bytes > cpu.L2()/2 || r.Copies > 256) {
						t.Errorf("%d bytes, %v s, %d calls, kind %d: %+v", bytes, perCall, m.calls, kind, r)
					}
				}
			}
		}
	}
}

// TestLate: calls that are slow after new inputs reuse results, unless the harness is then as slow by itself.
func TestLate(t *testing.T) {
	for _, test := range []struct {
		idle  float64
		fresh bool
	}{{0, true}, {0.1e-6, true}, {1e-6, false}} {
		f := &fake{seconds: 0.1e-6, idle: test.idle, timing: func(_ worker.TimeRequest, r *worker.Timing) { r.First, r.Each = 1e-6, 0.1e-6 }}
		m := newFakeMeter(f, 0)
		m.variants.differ = true
		for range staleRequests {
			if s, err := m.take(t.Context(), staleSamples, worker.CPU); err != nil || len(s) != staleSamples {
				t.Fatalf("%v, %v", s, err)
			}
		}
		if m.apart != test.fresh {
			t.Errorf("first calls of nothing take %v s: found to reuse results: %v, want %v", test.idle, m.apart, test.fresh)
		}
	}
}

// TestWarm: long calls are not repeated to warm up, short ones always are.
func TestWarm(t *testing.T) {
	for _, test := range []struct {
		seconds, checked float64 // of a call, and as the check saw it
		others           bool    // whether others work before the last sample
		want             []bool  // of the requests
	}{
		{1e-3, 0, false, []bool{false, false, false, false}},
		{0.02, 0.03, false, []bool{false, true, true, true}},
		{0.02, 0.03, true, []bool{false, true, true, false}},
		{0.2, 0.3, false, []bool{true, true}},
		{0.2, 0.3, true, []bool{true, true}},
		{0.2, 0, true, []bool{false, true}},
	} {
		f := &fake{seconds: test.seconds}
		p := &Problem{spec: newTester(t), host: NewHost(HostOptions{})}
		m, err := (&candidate{problem: p, point: p.Space().Default(), took: test.checked}).newMeter(t.Context(), f, metering{length: timing.SampleSeconds})
		if err != nil {
			t.Fatal(err)
		}
		if m.ready = nil; !m.long() {
			if _, err := m.sample(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
		}
		if test.others {
			m.cool()
		}
		if _, err := m.sample(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		var got []bool
		for _, r := range f.requests {
			got = append(got, r.Warm)
		}
		if len(got) < len(test.want) || !slices.Equal(got[len(got)-len(test.want):], test.want) {
			t.Errorf("%+v: the requests are warm: %v", test, got)
		}
	}
}

// tester is a spec of one point, which does nothing.
type tester struct{ space *space.Space }

func newTester(t *testing.T) tester {
	s, err := space.New("tester", []space.Parameter{space.Range("n", 1, 9)})
	if err != nil {
		t.Fatal(err)
	}
	return tester{s}
}

func (s tester) Space() *space.Space { return s.space }
func (s tester) Presets() []kernels.Preset {
	return []kernels.Preset{{Name: "baseline", Doc: "nothing", Point: s.space.Default()}}
}
func (s tester) Generate(space.Point) (Source, error) { return Source{Lang: "c", Text: "\n"}, nil }
func (s tester) Work() Work                           { return Work{} }
func (s tester) Cases(context.Context, space.Point, uint64) ([]Case, error) {
	return []Case{{Name: "one", Buffers: []Buffer{{Name: "y", Elem: F32, Len: 4, Mode: Out}}, Inputs: [][]byte{nil}, Verify: func([][]byte) (d kernels.Deviation, err error) { return d, nil }}}, nil
}

func newFakes(t *testing.T, fakes ...*fake) *rounds {
	p := &Problem{spec: newTester(t), host: NewHost(HostOptions{})}
	r := newRounds(p, make([]*candidate, len(fakes)), kernels.Series{Limit: time.Minute})
	r.drift = newFakeMeter(&fake{seconds: 1e-3}, 0)
	r.calm = true
	r.turnSeconds = shortTurn * timing.BurstSeconds
	for i, f := range fakes {
		if err := mapCase(f, Case{Buffers: []Buffer{{Elem: F32, Len: 4, Mode: Out}}, Inputs: [][]byte{nil}}); err != nil {
			t.Fatal(err)
		}
		c := &candidate{problem: p, point: p.Space().Default()}
		r.entrants[i] = &entrant{c: c, w: f, m: newFakeMeter(f, 0), perCall: f.seconds}
	}
	return r
}

// noisy is a clock on a machine that changes its speed from turn to turn, the same for all.
func noisy(seed uint64) func(float64, int) float64 {
	drift, own := rand.New(rand.NewPCG(1, 2)), rand.New(rand.NewPCG(3, seed))
	var speed []float64
	return func(truth float64, n int) float64 {
		for len(speed) <= n/shortTurn {
			speed = append(speed, 1+drift.Float64())
		}
		return truth * speed[n/shortTurn] * (1 + 0.01*own.NormFloat64())
	}
}

// TestLengthen: the peak is measured by samples as long as those of what is held against it.
func TestLengthen(t *testing.T) {
	probe := fake{seconds: 1e-5}
	for _, c := range []struct{ perCall, want float64 }{{1e-6, 5e-3}, {4e-3, 8e-3}, {40e-3, 25e-3}, {72e-3, 72e-3}, {3, 0.1}} {
		other, m := newFakeMeter(&fake{seconds: c.perCall}, 0), newFakeMeter(&probe, 0)
		other.perCall, other.calls, m.perCall = c.perCall, timing.Calls(c.perCall, m.length), probe.seconds
		m.lengthen(other)
		if got := float64(m.calls) * m.perCall; math.Abs(got-c.want) > 2*probe.seconds {
			t.Errorf("beside calls of %g s: samples of %g s, want %g", c.perCall, got, c.want)
		}
	}
}

// TestRounds: turns are ranked through the noise of the machine, ties are told as ties, and what dies is left out.
func TestRounds(t *testing.T) {
	died := kernels.Reject(space.Crashed, "it died")
	r := newFakes(t,
		&fake{seconds: 2e-3, clock: noisy(1)},
		&fake{seconds: 1e-3, clock: noisy(7)},
		&fake{seconds: 1e-3, clock: noisy(8)},
		&fake{seconds: 1.3e-3, clock: noisy(4)},
		&fake{seconds: 0.1e-3, fail: func(n int) error {
			if n > 5 {
				return died
			}
			return nil
		}},
		&fake{seconds: 2e-3, clock: noisy(5)})
	if err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	f, err := r.final(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c := f.Comparisons
	if f.Best != 0 && f.Best != 1 || c[3].Err != died {
		t.Fatalf("the best is %d: %+v", f.Best, c)
	}
	if other := 1 - f.Best; !c[other].Indistinct || c[f.Best].Indistinct || c[2].Indistinct || c[4].Indistinct {
		t.Errorf("told apart are %+v", c)
	}
	for i, want := range map[int]float64{0: 2, 1: 2, 2: 2 / 1.3, 4: 1} {
		// Half of the rounds count, and who is behind has had fewer.
		pairs := c[i].Pairs == 32
		if i > 1 {
			pairs = c[i].Pairs >= timing.LeastPairs && c[i].Pairs < 21
		}
		if c[i].Low > want || c[i].High < want || !pairs || c[i].High/c[i].Low > 1.05 {
			t.Errorf("finalist %d is %+v, want %v", i, c[i], want)
		}
	}
	if f.Machine.Probes != 63 {
		t.Errorf("the machine was probed %d times", f.Machine.Probes)
	}
}

// ticking is a clock on which the same time passes between any two looks.
func ticking(step time.Duration) func() time.Time {
	at := time.Time{}
	return func() time.Time {
		at = at.Add(step)
		return at
	}
}

// working is a clock that goes on while one of some fakes works.
func working(fakes []*fake) func() time.Time {
	return func() time.Time {
		at := time.Time{}
		for _, f := range fakes {
			at = at.Add(timing.Seconds(f.seconds * float64(f.samples)))
		}
		return at
	}
}

// TestRoundsLimit: without time the best still gets its interval, and what is slow is timed once.
func TestRoundsLimit(t *testing.T) {
	r := newFakes(t, &fake{seconds: 2e-3}, &fake{seconds: 1.5e-3}, &fake{seconds: 1e-3}, &fake{seconds: 3e-3})
	r.Limit, r.Now = 2*time.Second, ticking(time.Second)
	if err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	f, err := r.final(t.Context())
	if err != nil || f.Best != 1 {
		t.Fatalf("%+v, %v", f, err)
	}
	if c := f.Comparisons[1]; c.Pairs < timing.LeastPairs-1 || c.Pairs > timing.LeastPairs || c.Low == 0 || c.Ratio != 2 {
		t.Errorf("the best is %+v", c)
	}
	if c := f.Comparisons[2]; c.Err != nil || c.Pairs >= timing.LeastPairs || c.Low != 0 || !c.Indistinct || !c.TooFew {
		t.Errorf("the slowest is %+v", c)
	}

	r = newFakes(t, &fake{seconds: 2e-3}, &fake{seconds: 1e-3})
	r.Limit, r.Now = 2*time.Second, ticking(5*time.Second)
	if err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if f, err = r.final(t.Context()); err != nil || f.Comparisons[0].Pairs > 2 || f.Comparisons[0].Ratio != 2 || f.Comparisons[0].Low != 0 {
		t.Errorf("long after the limit: %+v, %v", f, err)
	}

	base := &fake{seconds: 10}
	fakes := []*fake{base, {seconds: 1e-3}, {seconds: 2e-3}}
	r = newFakes(t, fakes...)
	r.Limit, r.Now = 30*time.Second, working(fakes)
	if err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if f, err = r.final(t.Context()); err != nil || f.Best != 0 || f.Comparisons[0].Pairs != 11 || f.Comparisons[0].Unverified ||
		f.Comparisons[0].Low != 5000 || f.Comparisons[0].High != 20000 {
		t.Errorf("with a slow baseline: %+v, %v", f, err)
	}
	if base.samples != 1 {
		t.Errorf("a baseline of %v s was timed %d times", base.seconds, base.samples)
	}
	fakes = []*fake{{seconds: 10}, {seconds: 3}, {seconds: 2}}
	r = newFakes(t, fakes...)
	r.Limit, r.Now = 30*time.Second, working(fakes)
	if err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if f, err = r.final(t.Context()); err != nil || f.Best != 1 || f.Comparisons[1].Ratio != 5 || f.Comparisons[1].Pairs != 1 || !f.Comparisons[1].Unverified {
		t.Errorf("where all are slow: %+v, %v", f, err)
	}
	r = newFakes(t, fakes...)
	r.Limit, r.Now = 2*time.Minute, working(fakes)
	if err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if f, err = r.final(t.Context()); err != nil || f.Best != 1 || f.Comparisons[1].Pairs < timing.LeastPairs || f.Comparisons[1].Low != 5 || f.Comparisons[1].Unverified {
		t.Errorf("where all are slow, and there is time: %+v, %v", f, err)
	}
}

// acted is a comparison of two after so many rounds that went as act says.
func acted(t *testing.T, most int, act func(round int) (quiet bool, probe, base, other float64)) *rounds {
	r := newFakes(t, &fake{seconds: 2e-3}, &fake{seconds: 1e-3})
	over := errors.New("it is over")
	round := 0
	r.Begin = func(_ context.Context, at int) error {
		round = at
		_, probe, _, _ := act(at)
		r.probes = append(r.probes, probe)
		return nil
	}
	r.Turn = func(_ context.Context, i int) (float64, error) {
		_, _, base, other := act(round)
		return []float64{base, other}[i] * nanoseconds, nil
	}
	r.End = func(context.Context, int) error {
		quiet, _, _, _ := act(round)
		if r.quiet = append(r.quiet, quiet); len(r.quiet) == most {
			return over
		}
		return nil
	}
	if err := r.Run(t.Context()); err != over {
		t.Fatal(err)
	}
	return r
}

// TestRoundsQuiet: rounds on a machine that was not idle do not count where enough others do, and are marked where not.
func TestRoundsQuiet(t *testing.T) {
	for _, first := range []int{0, 1} { // quiet round
		r := acted(t, 14, func(round int) (bool, float64, float64, float64) {
			if round%2 == 0 {
				return round >= first, 1e-3, 2, 1
			}
			return false, 1e-3, 2, 50
		})
		c := r.Final().Comparisons[0]
		if first == 0 && (c.Unverified || c.Ratio != 2 || c.Pairs != 7) {
			t.Errorf("with seven quiet rounds: %+v", c)
		}
		if first == 1 && !c.Unverified {
			t.Errorf("six quiet rounds are enough: %+v", c)
		}
	}
}

// TestRoundsSlow: rounds in a slow phase of the core do not count where enough others do.
func TestRoundsSlow(t *testing.T) {
	r := acted(t, 14, func(round int) (bool, float64, float64, float64) {
		if round >= 8 {
			return true, 2e-3, 2, 1.5
		}
		return true, 1e-3, 2, 1
	})
	// The eighth round ends in the slow phase.
	if c := r.Final().Comparisons[0]; c.Unverified || c.Ratio != 2 || c.Pairs != 7 {
		t.Errorf("%+v", c)
	}
}

// TestRoundsConfirm: each pair of a series that confirms has workers of its own, which have verified what they computed before
// they end, and chance says which of a pair is first. A finalist whose last worker is wrong is refused.
func TestRoundsConfirm(t *testing.T) {
	p := &Problem{spec: newTester(t), host: NewHost(HostOptions{})}
	var started, closed int
	var order []float64
	seconds := []float64{2e-3, 1e-3}
	p.host.start = func(context.Context, worker.Options) (runner, error) {
		started++
		return &counted{fake: fake{}, closed: &closed}, nil
	}
	c := &candidate{problem: p, point: p.Space().Default()}
	r := newRounds(p, []*candidate{c, c}, kernels.Series{Limit: time.Minute, Confirm: true, Seed: 1})
	r.drift, r.calm = newFakeMeter(&fake{seconds: 1e-3}, 0), true
	for i := range seconds {
		f := &counted{fake: fake{seconds: seconds[i]}, closed: &closed}
		if err := mapCase(f, Case{Buffers: []Buffer{{Elem: F32, Len: 4, Mode: Out}}, Inputs: [][]byte{nil}}); err != nil {
			t.Fatal(err)
		}
		r.entrants[i].w, r.entrants[i].m, r.entrants[i].perCall = f, newFakeMeter(&f.fake, 0), seconds[i]
		r.opened = append(r.opened, f)
	}
	for limit, turns := range map[time.Duration]int{79 * time.Millisecond: 1, time.Minute: 8} {
		r.Limit = limit
		if r.plan(); r.Turns != turns {
			t.Errorf("in %v each has %d turns in a round, want %d", limit, r.Turns, turns)
		}
	}
	r.Limit = time.Minute
	r.plan()
	turn := r.Turn
	var at int
	p.host.start = func(context.Context, worker.Options) (runner, error) {
		started++
		// The entrants are renewed in the order of their turns.
		i := at % 2
		if r.Backward() {
			i = 1 - i
		}
		at++
		return &counted{fake: fake{seconds: seconds[i]}, closed: &closed}, nil
	}
	r.Turn = func(ctx context.Context, i int) (float64, error) {
		s, err := turn(ctx, i)
		order = append(order, s)
		return s, err
	}
	if err := errors.Join(r.Run(t.Context()), r.finish(t.Context())); err != nil {
		t.Fatal(err)
	}
	f, err := r.final(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if c := f.Comparisons[0]; c.Ratio != 2 || c.Pairs != 15 || c.Low != 2 || c.High != 2 || c.Cost*c.Ratio != c.Baseline {
		t.Errorf("got %+v", c)
	}
	if started != 58 || closed != 60 || len(r.opened) != 0 {
		t.Errorf("%d workers were started after the first two, and %d ended; %d are left", started, closed, len(r.opened))
	}
	first := 0 // pairs that began with the baseline
	for i := 0; i < len(order); i += 16 {
		for j, other := range []int{0, 1, 1, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 1, 1, 0} {
			if order[i+j] != order[i+other] || order[i] == order[i+1] {
				t.Fatalf("the turns of pair %d took %v", i/16, order[i:i+16])
			}
		}
		if order[i] > order[i+1] {
			first++
		}
	}
	if first < 7 || first > 23 {
		t.Errorf("%d of 30 pairs began with the baseline", first)
	}
}

// TestRoundsDoubt: a doubt about the clocks of the baseline costs its worker, and ends the comparison only where it comes twice. A
// wrong answer ends it at once.
func TestRoundsDoubt(t *testing.T) {
	doubt, wrong := kernels.Reject(space.Invalid, "implausible"), kernels.Reject(space.WrongAnswer, "wrong")
	for _, c := range []struct {
		name    string
		fails   []error // of the first samples of each worker of the baseline
		started int
		want    error
	}{
		{"one doubt", []error{doubt, nil}, 1, nil},
		{"two doubts", []error{doubt, doubt}, 1, doubt},
		{"a wrong answer", []error{wrong}, 0, wrong},
	} {
		t.Run(c.name, func(t *testing.T) {
			worker0 := func(i int) *fake {
				return &fake{seconds: 2e-3, fail: func(n int) error {
					if n == 0 {
						return c.fails[i]
					}
					return nil
				}}
			}
			r := newFakes(t, worker0(0), &fake{seconds: 1e-3})
			r.opened = []runner{r.entrants[0].w, r.entrants[1].w}
			started := 0
			r.problem.host.start = func(context.Context, worker.Options) (runner, error) {
				started++
				return worker0(started), nil
			}
			err := r.Run(t.Context())
			if !errors.Is(err, c.want) || started != c.started || len(r.opened) != 2 {
				t.Errorf("got %v with %d further workers, %d are left", err, started, len(r.opened))
			}
			if f := r.Final(); c.want == nil && f.Comparisons[0].Ratio != 2 {
				t.Errorf("got %+v", f.Comparisons[0])
			}
		})
	}
}

// TestRoundsImpossible: a final has the roof of the search. A finalist below it is rejected, and the best of the others is the best; a baseline
// below it ends the comparison.
func TestRoundsImpossible(t *testing.T) {
	h := NewHost(HostOptions{})
	defer h.Close()
	if _, err := h.Toolchain(t.Context()); err != nil {
		t.Skip(err)
	}
	compare := func(seconds ...float64) (kernels.Final, error) {
		var fakes []*fake
		for _, s := range seconds {
			fakes = append(fakes, &fake{seconds: s})
		}
		r := newFakes(t, fakes...)
		r.problem.host = h
		r.problem.work.Plausible, r.problem.traffic = true, 1<<30 // at 1 TB/s more than a millisecond
		if err := r.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		return r.final(t.Context())
	}
	f, err := compare(0.2, 0.1, 1e-4)
	if err != nil {
		t.Fatal(err)
	}
	c := f.Comparisons
	if r := kernels.AsRejection(c[1].Err); r == nil || r.Status != space.Invalid || !strings.Contains(r.Reason, "implausible: a call takes 1e+05 ns") {
		t.Errorf("a finalist that reads a GiB in 0.1 ms: %+v", c[1])
	}
	if f.Best != 0 || c[0].Err != nil || c[0].Ratio != 2 {
		t.Errorf("the best is %d: %+v", f.Best, c[0])
	}
	if _, err := compare(1e-4, 0.1); kernels.AsRejection(err) == nil || !strings.HasPrefix(err.Error(), "the baseline: ") {
		t.Errorf("a baseline that reads a GiB in 0.1 ms: %v", err)
	}
}

// counted is a fake whose end is counted.
type counted struct {
	fake
	closed *int
}

func (c *counted) Close() error { *c.closed++; return nil }

func TestColdCopies(t *testing.T) {
	small := coldCopies(4<<10, 1)
	large := coldCopies(1<<30, 1)
	if small < 2 || large != 1 {
		t.Errorf("%d copies of 4 KiB, %d of 1 GiB", small, large)
	}
	if total := small * 4096; total > 1<<30+4096 {
		t.Errorf("%d bytes of copies", total)
	}
	// The next copy is one of a quarter of all, so that three quarters at least have their turns before one comes again.
	for _, bytes := range []int{64 << 10, 1 << 20, 40 << 20} {
		n := coldCopies(bytes, 1)
		if between := (n - n/4) * bytes; between < 2*max(cpu.L2(), cpu.L3()) && (n+1)*copyBytes(bytes, 1) <= 1<<30 {
			t.Errorf("with %d copies of %d bytes, one comes again after %d bytes", n, bytes, between)
		}
	}
	// Buffers of a few bytes take whole pages.
	if tiny := coldCopies(64, 3); tiny < 2 || tiny*3*4096 > 1<<30 {
		t.Errorf("%d copies of three buffers of 64 bytes in all", tiny)
	}
}

func TestWarmPlaces(t *testing.T) {
	const l2 = 1 << 20
	for _, c := range []struct{ elements, want int }{{0, 64}, {1, 64}, {1 << 16, 64}, {3 << 16, 42}, {1 << 18, 1}, {1 << 28, 1}} {
		if got := warmPlaces(4*c.elements, l2); got != c.want {
			t.Errorf("%d places for %d elements, want %d", got, c.elements, c.want)
		}
	}
}

func TestPatience(t *testing.T) {
	if d := callPatience(Work{}); d != 10*time.Second {
		t.Errorf("nothing may take %v", d)
	}
	if d := callPatience(Work{Ops: 2 * 2048 * 2048 * 2048}); d < time.Minute || d > 3*time.Minute {
		t.Errorf("a large product may take %v", d)
	}
}

// TestPaces: entrants that a slow phase of the core may be all that tells apart have samples of as many calls.
func TestPaces(t *testing.T) {
	for _, c := range []struct{ times, want []float64 }{
		{nil, nil},
		{[]float64{3}, []float64{3}},
		{[]float64{1.03, 1, 1.5, 1.02}, []float64{1, 1, 1, 1}},             // the third was met by a slow phase
		{[]float64{1.45, 0.97, 1.4}, []float64{0.97, 0.97, 0.97}},          // so were the baseline and the third
		{[]float64{4, 1, 1.1, 3.9}, []float64{3.9, 1, 1, 3.9}},             // finalists that beat the baseline by far
		{[]float64{1, 1.5, 2.2, 3.2, 3.3}, []float64{1, 1, 2.2, 2.2, 2.2}}, // no chain of such steps
		{[]float64{0, 1, 1, math.Inf(1)}, []float64{0, 1, 1, math.Inf(1)}}, // a time that was never taken
	} {
		if got := paces(c.times); !slices.Equal(got, c.want) {
			t.Errorf("%v are paced by %v, want %v", c.times, got, c.want)
		}
	}
}

// TestBrief: a brief measurement on a slow core waits for nothing, and its result is marked.
func TestBrief(t *testing.T) {
	for _, slow := range []bool{false, true} {
		waits := 0
		m := newFakeMeter(&fake{seconds: 1e-3}, 0)
		m.brief = true
		e, err := m.fairly(t.Context(), timing.Most, 0, func(wait bool) (bool, error) {
			if wait {
				waits++
			}
			return slow, nil
		}, func() bool { return false })
		if err != nil || waits > 0 || e.unverified != slow || e.Kept != timing.Most {
			t.Errorf("slow %t: %+v, %v, after waiting %d times", slow, e, err, waits)
		}
	}
}

// TestHasty: a hasty host has no gauge, and others have.
func TestHasty(t *testing.T) {
	for _, hasty := range []bool{true, false} {
		h, started := NewHost(HostOptions{}, testonly.Host{Hasty: hasty}), 0
		h.start = func(context.Context, worker.Options) (runner, error) { started++; return nil, errors.New("none") }
		if slow, err := h.slowed(t.Context(), worker.Options{}, gaugeFirst, true); slow || err != nil || (started == 0) != hasty {
			t.Errorf("hasty %t: slow is %t, %v, after %d processes", hasty, slow, err, started)
		}
	}
}
