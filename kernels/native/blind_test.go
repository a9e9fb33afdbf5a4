package native

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"tune/kernels"
	"tune/kernels/native/worker"
	"tune/space"
)

// TestBlind: a candidate whose blind calls take longer than its timed calls were said to take is refused, or charged what they take, and one that is only met
// by a slower machine is not.
func TestBlind(t *testing.T) {
	const said = 10e-6
	for _, c := range []struct {
		name     string
		said     float64   // seconds of a timed call; 0 for 10 µs
		blind    []float64 // seconds a blind call, by try; the last one goes on
		now      float64   // seconds that a timed call is said to take beside a try
		away     float64   // seconds a blind call on outputs out of the caches; 0 for the same
		baseline float64   // what a blind call of the baseline takes over a timed one; 0 where that is unknown
		isIt     bool      // the baseline
		bytes    int       // of the buffers, of which a request has room for few
		refused  bool
		charged  float64 // at least
		tries    int
	}{
		{name: "as long", blind: []float64{said}, now: said, charged: said / blindTimes, tries: 1},
		{name: "shorter", blind: []float64{said / 2}, now: said, charged: said / 2 / blindTimes, tries: 1},
		{name: "longer once", blind: []float64{2 * said, said}, now: said, charged: said / blindTimes, tries: 2},
		{name: "three fifths are hidden", blind: []float64{2.5 * said}, now: said, refused: true, tries: blindTries},
		{name: "more than half is hidden", blind: []float64{2.1 * said}, now: said, refused: true, tries: blindTries},
		{name: "two fifths are hidden", blind: []float64{1.65 * said}, now: said, charged: 1.65 * said, tries: blindTries},
		{name: "a third is hidden", blind: []float64{1.5 * said}, now: said, charged: 1.5 * said, tries: blindTries},
		{name: "a fifth is hidden", blind: []float64{1.25 * said}, now: said, charged: 1.25 * said, tries: blindTries},
		{name: "calls of some nanoseconds take little too long", said: 50e-9, blind: []float64{200e-9}, now: 50e-9, charged: 200e-9, tries: blindTries},
		{name: "calls of some nanoseconds take much too long", said: 50e-9, blind: []float64{1e-6}, now: 50e-9, refused: true, tries: blindTries},
		{name: "all calls of a request take little too long", said: 2e-6, bytes: 1 << 17, blind: []float64{9e-6}, now: 2e-6, charged: 9e-6, tries: blindTries},
		{name: "all calls of a request take much too long", said: 2e-6, bytes: 1 << 17, blind: []float64{60e-6}, now: 2e-6, refused: true, tries: blindTries},
		{name: "the machine is slower now", blind: []float64{1.5 * said}, now: 1.45 * said, charged: 1.45 * said, tries: blindTries},
		{name: "the machine is faster now", blind: []float64{0.75 * said}, now: 0.75 * said, charged: 0.75 * said / blindTimes, tries: 1},
		{name: "the machine is faster now, and a quarter is hidden", blind: []float64{said}, now: 0.75 * said, charged: said / 0.75, tries: blindTries},
		{name: "the machine is faster now, and half is hidden", blind: []float64{1.7 * said}, now: 0.75 * said, refused: true, tries: blindTries},
		{name: "stores past the caches", blind: []float64{1.5 * said}, now: said, away: said, charged: said / blindTimes, tries: 2},
		{name: "the baseline's take longer too", blind: []float64{1.5 * said}, now: said, baseline: 1.4, charged: 1.5 / 1.54 * said, tries: 1},
		{name: "the baseline's take less", blind: []float64{2.1 * said}, now: said, baseline: 0.5, refused: true, tries: blindTries},
		{name: "the baseline", blind: []float64{1.5 * said}, now: said, isIt: true, tries: blindTries},
	} {
		said := cmp.Or(c.said, said)
		var seen reactions
		f := &fake{seconds: c.now}
		m := newFakeMeter(f, 0)
		m.against, m.isBaseline, m.bytes = &seen, c.isIt, c.bytes
		if c.baseline > 0 {
			seen.noteBlind(c.baseline)
		}
		requests := 0
		f.blind = func(q worker.BlindRequest) worker.Blind {
			if q.Whole {
				return worker.Blind{} // its time does not count
			}
			if q.Away && c.away > 0 {
				return worker.Blind{Seconds: c.away * float64(q.Calls)}
			}
			if !q.Away {
				requests++
			}
			try := (requests - 1) / blindRepeats
			return worker.Blind{Seconds: c.blind[min(try, len(c.blind)-1)] * float64(q.Calls)}
		}
		err := m.verifyBlind(t.Context(), said)
		r := kernels.AsRejection(err)
		if (r != nil) != c.refused || r == nil && err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if r != nil && (r.Status != space.Invalid || !strings.Contains(r.Reason, "timed calls were said to take "+secondsWords(said))) {
			t.Errorf("%s: %v: %s", c.name, r.Status, r.Reason)
		}
		if math.Abs(m.charged-c.charged) > 0.05*said {
			t.Errorf("%s: it is charged %v s a call, want %v", c.name, m.charged, c.charged)
		}
		if requests != c.tries*blindRepeats {
			t.Errorf("%s: %d requests are %d tries, want %d", c.name, requests, requests/blindRepeats, c.tries)
		}
		if times := seen.get().blind; c.isIt && (times < 1.4 || times > 1.5) {
			t.Errorf("%s: its blind calls take %v times as long, want nearly 1.5", c.name, times)
		}
	}
}

// TestBlindBeside: what a request takes without calls is subtracted, but no more than it takes to begin calls and to read their buffers: a thread that a
// candidate has left behind may be at work then.
func TestBlindBeside(t *testing.T) {
	const said = 10e-6
	f := &fake{seconds: said}
	m := newFakeMeter(f, 0)
	m.bytes, m.buffers = 1<<10, 2
	const calls = 100
	took, err := m.blindly(t.Context(), calls, said, beginning{caller: 40e-6}, false)
	if err != nil || took != said {
		t.Errorf("where nothing is beside the calls, one takes %v s, %v", took, err)
	}
	f.beside = 1
	f.blind = func(q worker.BlindRequest) worker.Blind { return worker.Blind{Seconds: said * float64(q.Calls)} }
	if took, err = m.blindly(t.Context(), calls, said, beginning{caller: 40e-6}, false); err != nil || took < 0.9*said {
		t.Errorf("where a second was spent beside the calls, one takes %v s, %v", took, err)
	}
}

// TestBlindCalls: how many calls a request has.
func TestBlindCalls(t *testing.T) {
	for _, c := range []struct {
		said        float64
		bytes, uses int
		least, most int
	}{
		{50e-9, 1 << 10, 1, 16, worker.BlindCalls(0, 0)},                      // as many as half of the cache holds
		{10e-6, 1 << 10, 1, 16, 100},                                          // a millisecond
		{5e-6, 1 << 23, 1, 5, 5},                                              // they are never in the cache
		{5e-6, 1 << 28, 1, 1, 1},                                              // they are far too large
		{1, 1 << 10, 1, 1, 1},                                                 // one is long enough
		{100e-6, 1 << 10, 2, 50, 50},                                          // threads
		{50e-9, 1 << 12, 2, worker.BlindCalls(0, 2), worker.BlindCalls(0, 2)}, // as many as there is room for the results of
		{50e-9, 1 << 20, 2, 60, 64},                                           // no more than memory may be used for
	} {
		m := newFakeMeter(&fake{seconds: c.said}, 0)
		m.bytes, m.buffers, m.uses = c.bytes, 2, c.uses
		if n := m.blindCalls(c.said); n < c.least || n > c.most {
			t.Errorf("%v s a call, %d bytes, %d threads: %d calls, want %d to %d", c.said, c.bytes, c.uses, n, c.least, c.most)
		}
	}
}

// TestBlindEvidence: what blind calls wrote is verified, at once where they worked on one variant, and else by a call of the candidate that is loaded anew.
func TestBlindEvidence(t *testing.T) {
	one, right, wrong := copying()
	for _, c := range []struct {
		name    string
		variant int
		wrote   []byte
		said    float64
		reason  string
	}{
		{"right on a variant", 0, right, 1e-3, ""},
		{"wrong on a variant", 0, wrong, 1e-3, "in a timed call"},
		{"right on parts of several", -1, right, 1e-3, ""},
		{"wrong on parts of several", -1, wrong, 1e-3, "keeps something between calls"},
		{"a probe of tune, which nothing is said of", 0, wrong, 0, ""},
	} {
		f := &fake{seconds: 1e-3}
		m := newFakeMeter(f, 0)
		m.variants = &variants{cases: []Case{one, one}, differ: true}
		m.evidence.whole, m.said = 1, c.said
		if err := mapCase(f, one); err != nil {
			t.Fatal(err)
		}
		f.call = func() { copy(f.outputs[1], right) }
		// Thousands of calls before are right.
		for range 1000 {
			if err := m.weigh([]worker.Evidence{{Variant: -1, Sample: -1, Given: [][]byte{right, nil}, Wrote: [][]byte{nil, right}}}, nil); err != nil {
				t.Fatal(err)
			}
		}
		f.blind = func(q worker.BlindRequest) worker.Blind {
			e := worker.Evidence{Variant: c.variant, Sample: -1, Given: [][]byte{right, nil}, Wrote: [][]byte{nil, c.wrote}}
			return worker.Blind{Seconds: 1e-3 * float64(q.Calls), Evidence: []worker.Evidence{e}}
		}
		err := m.verifyTimed(t.Context(), false)
		if c.reason == "" && err != nil || c.reason != "" && (kernels.AsRejection(err) == nil || !strings.Contains(err.Error(), c.reason)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.reason)
		}
	}
}

// TestBlindDecides: the fastest request decides, so calls of that one are verified, whichever it is. In the others a candidate may have worked.
func TestBlindDecides(t *testing.T) {
	one, right, wrong := copying()
	for _, fastest := range []int{-1, 0, 1, blindRepeats - 1} {
		f := &fake{seconds: 1e-3}
		m := newFakeMeter(f, 0)
		m.variants = &variants{cases: []Case{one, one}, differ: true}
		m.evidence.whole, m.said = 1, 1e-3
		if err := mapCase(f, one); err != nil {
			t.Fatal(err)
		}
		f.call = func() { copy(f.outputs[1], right) }
		made := 0
		f.blind = func(q worker.BlindRequest) worker.Blind {
			if q.Whole {
				return worker.Blind{} // its time says nothing
			}
			e := worker.Evidence{Variant: -1, Sample: -1, Given: [][]byte{right, nil}, Wrote: [][]byte{nil, right}}
			took := 1e-3
			if made == fastest {
				e.Wrote[1], took = wrong, 0.5e-3
			}
			made++
			return worker.Blind{Seconds: took * float64(q.Calls), Evidence: []worker.Evidence{e, e, e, e, e, e, e, e}}
		}
		err := m.verifyTimed(t.Context(), false)
		if refused := kernels.AsRejection(err) != nil; refused != (fastest >= 0) {
			t.Errorf("where request %d is fast and wrong: %v", fastest, err)
		}
		if made != blindRepeats {
			t.Errorf("%d requests were made, want %d", made, blindRepeats)
		}
	}
}

// TestCharge: costs of rounds before the process, and rounds without a cost, are left alone.
func TestCharge(t *testing.T) {
	costs := []float64{1, 2, 0, 9}
	if charge(costs, 1, 3e-9); !slices.Equal(costs, []float64{1, 3, 0, 9}) {
		t.Errorf("charged 3 ns from the second round on: %v", costs)
	}
	charge(nil, 2, 1)
}

// TestChargeBeforeSure: a series that ends once it is sure decides by what blind calls have shown, and not by what timed calls say. It is not verified where
// others may be the reason for what they took.
func TestChargeBeforeSure(t *testing.T) {
	const said, took = 1e-6, 1.28e-6
	p := &Problem{spec: newTester(t), host: NewHost(HostOptions{})}
	closed := 0
	start := func(i int) *counted {
		f := &counted{fake: fake{seconds: said}, closed: &closed}
		if i == 1 {
			f.blind = func(q worker.BlindRequest) worker.Blind { return worker.Blind{Seconds: took * float64(q.Calls)} }
		}
		return f
	}
	p.host.start = func(context.Context, worker.Options) (runner, error) { return start(0), nil }
	c := &candidate{problem: p, point: p.Space().Default()}
	var asked [][2]float64
	sure := func(a, b float64) bool { asked = append(asked, [2]float64{a, b}); return true }
	r := newRounds(p, []*candidate{c, c}, kernels.Series{Limit: time.Minute, Confirm: true, Seed: 1, Sure: sure})
	r.drift, r.calm = newFakeMeter(&fake{seconds: 1e-3}, 0), true
	for i, e := range r.entrants {
		f := start(i)
		if err := mapCase(f, Case{Buffers: []Buffer{{Elem: F32, Len: 4, Mode: Out}}, Inputs: [][]byte{nil}}); err != nil {
			t.Fatal(err)
		}
		e.w, e.m, e.perCall = f, newFakeMeter(&f.fake, 0), said
		r.opened = append(r.opened, f)
	}
	r.plan()
	if err := errors.Join(r.Run(t.Context()), r.finish(t.Context())); err != nil {
		t.Fatal(err)
	}
	f, err := r.final(t.Context())
	if c := f.Comparisons[0]; err != nil || !c.Unverified {
		t.Errorf("%v, %+v", err, c)
	}
	if len(asked) != 1 || math.Abs(asked[0][0]-1000) > 1 || math.Abs(asked[0][1]-1280) > 1 {
		t.Errorf("it was asked of %v ns, want 1000 and 1280", asked)
	}
}

// TestBlindOwn: what the worker's own threads use beyond what they need is the candidate's, which may have them do its work.
func TestBlindOwn(t *testing.T) {
	const said, calls = 10e-6, 100
	for _, c := range []struct{ own, idle, begin, least, most float64 }{
		{100e-6, 100e-6, 120e-6, 0, 0},
		{1e-3, 100e-6, 120e-6, 0.5, 2},
		{1e-3, 1e-3, 120e-6, 0.5, 2},     // it works in requests without calls as well
		{600e-6, 600e-6, 120e-6, 0.1, 2}, // so do they where this machine needs less,
		{600e-6, 600e-6, 300e-6, 0, 0},   // and not where it needs as much
	} {
		f := &fake{seconds: said, own: c.idle}
		m := newFakeMeter(f, 0)
		m.bytes, m.buffers = 1<<10, 2
		f.blind = func(q worker.BlindRequest) worker.Blind { return worker.Blind{Own: c.own} }
		took, err := m.blindly(t.Context(), calls, said, beginning{own: c.begin}, false)
		if all := took * calls / 1e-3; err != nil || all < c.least || all > c.most {
			t.Errorf("%v s, %v s without calls, and %v s to begin: %v ms count, %v", c.own, c.idle, c.begin, all, err)
		}
	}
}

// TestBlindBegin: what this machine needs counts, within limits, and what it needs now counts from the second try on.
func TestBlindBegin(t *testing.T) {
	least := beginning{150e-6, 40e-6}
	m := newFakeMeter(&fake{seconds: 1e-6}, 0)
	if begin := m.begins(t.Context(), true); begin != least {
		t.Errorf("where the machine is not known: %v s", begin)
	}
	for needs, want := range map[beginning]beginning{
		{0, 0}: least, {50e-6, 16e-6}: least, {200e-6, 80e-6}: {250e-6, 100e-6}, {200e-6, 0}: {250e-6, 40e-6}, {1, 1}: {500e-6, 150e-6},
	} {
		m.blindBegin = func(_ context.Context, again bool) (none beginning) {
			if again {
				return needs
			}
			return none
		}
		if before, now := m.begins(t.Context(), false), m.begins(t.Context(), true); before != least || now != want {
			t.Errorf("where it needs %v s: %v s before, and %v s now, want %v", needs, before, now, want)
		}
	}
	m.uses = 2
	if begin := m.begins(t.Context(), true); begin != least {
		t.Errorf("for two threads, whose limit does not depend on it, it was measured: %v s", begin)
	}
}
