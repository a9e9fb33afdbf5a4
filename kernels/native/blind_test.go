package native

import (
	"strings"
	"testing"

	"tune/kernels"
	"tune/kernels/native/worker"
	"tune/space"
)

// TestBlind: a candidate whose blind calls take longer than its timed calls were said to take is refused, and one that is only met by a slower machine is not.
func TestBlind(t *testing.T) {
	const said = 10e-6
	for _, c := range []struct {
		name     string
		blind    []float64 // seconds a blind call, by try; the last one goes on
		now      float64   // seconds that a timed call is said to take after the first try
		away     float64   // seconds a blind call on outputs out of the caches; 0 for the same
		baseline float64   // what a blind call of the baseline takes over a timed one; 0 where that is unknown
		isIt     bool      // the baseline
		refused  bool
		tries    int
	}{
		{name: "as long", blind: []float64{said}, now: said, tries: 1},
		{name: "shorter", blind: []float64{said / 2}, now: said, tries: 1},
		{name: "longer once", blind: []float64{2 * said, said}, now: said, tries: 2},
		{name: "a third is hidden", blind: []float64{1.5 * said}, now: said, refused: true, tries: blindTries},
		{name: "a seventh is hidden", blind: []float64{1.17 * said}, now: said, refused: true, tries: blindTries},
		{name: "the machine is slower now", blind: []float64{1.5 * said}, now: 1.45 * said, tries: blindAgree},
		{name: "stores past the caches", blind: []float64{1.5 * said}, now: said, away: said, tries: 2},
		{name: "the baseline's take longer too", blind: []float64{1.5 * said}, now: said, baseline: 1.4, tries: 1},
		{name: "the baseline's take less", blind: []float64{1.17 * said}, now: said, baseline: 0.5, refused: true, tries: blindTries},
		{name: "the baseline", blind: []float64{1.5 * said}, now: said, isIt: true, tries: blindTries},
	} {
		var seen reactions
		f := &fake{seconds: c.now}
		m := newFakeMeter(f, 0)
		m.against, m.isBaseline = &seen, c.isIt
		if c.baseline > 0 {
			seen.noteBlind(c.baseline)
		}
		requests := 0
		f.blind = func(q worker.BlindRequest) worker.Blind {
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
		if r != nil && (r.Status != space.Invalid || !strings.Contains(r.Reason, "timed calls were said to take 10.00 µs")) {
			t.Errorf("%s: %v: %s", c.name, r.Status, r.Reason)
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
	calls := m.blindCalls(said)
	took, err := m.blindly(t.Context(), calls, said, false)
	if err != nil || took != said {
		t.Errorf("where nothing is beside the calls, one takes %v s, %v", took, err)
	}
	f.beside = 1
	f.blind = func(q worker.BlindRequest) worker.Blind { return worker.Blind{Seconds: said * float64(q.Calls)} }
	if took, err = m.blindly(t.Context(), calls, said, false); err != nil || took < 0.9*said {
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
		{50e-9, 1 << 10, 1, 16, blindMost},        // as many as half of the cache holds
		{10e-6, 1 << 10, 1, 16, 100},              // a millisecond
		{5e-6, 1 << 23, 1, 5, 5},                  // they are never in the cache
		{5e-6, 1 << 28, 1, 1, 1},                  // they are far too large
		{1, 1 << 10, 1, 1, 1},                     // one is long enough
		{100e-6, 1 << 10, 2, 50, 50},              // threads
		{50e-9, 1 << 12, 2, blindMost, blindMost}, // many
		{50e-9, 1 << 20, 2, 60, 64},               // no more than memory may be used for
	} {
		m := newFakeMeter(&fake{seconds: c.said}, 0)
		m.bytes, m.buffers, m.uses = c.bytes, 2, c.uses
		if n := m.blindCalls(c.said); n < c.least || n > c.most {
			t.Errorf("%v s a call, %d bytes, %d threads: %d calls, want %d to %d", c.said, c.bytes, c.uses, n, c.least, c.most)
		}
	}
}

// TestBlindEvidence: what blind calls wrote is verified, at once where they worked on one variant, and else by a call of the candidate that is loaded anew. A
// candidate that is clearly behind makes none.
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
		{"behind", 0, wrong, 0, ""},
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
