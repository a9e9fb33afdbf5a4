package native

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"tune/kernels"
	"tune/kernels/native/worker"
	"tune/space"
)

// TestJudge: what calls of the fastest samples wrote is compared with the reference on their inputs, though the candidate writes the same when
// it is loaded anew. Where the reference says nothing, that is in another process.
func TestJudge(t *testing.T) {
	one, right, wrong := copying()
	for _, c := range []struct {
		name   string
		wrote  []byte
		leads  bool
		takes  time.Duration // the reference
		fails  error         // of the reference
		calls  int           // of the reference
		refuse bool
		fresh  int // processes
	}{
		{"right", right, true, time.Microsecond, nil, 2, false, 0},
		{"right, and behind", right, false, time.Microsecond, nil, 1, false, 0},
		{"wrong", wrong, true, time.Microsecond, nil, 1, true, 0},
		{"wrong, and behind", wrong, false, time.Microsecond, nil, 1, true, 0},
		{"wrong, behind, and too long for that", wrong, false, time.Second, nil, 0, false, 1},
		{"inputs that the reference does not take", wrong, true, time.Microsecond, kernels.Reject(space.Crashed, "a fault"), 1, false, 1},
	} {
		f := &fake{seconds: 1e-3}
		m := newFakeMeter(f, 0)
		calls := 0
		asked := one
		asked.Tolerant = true
		asked.With = func(context.Context, [][]byte) (Case, error) {
			calls++
			return one, c.fails
		}
		m.variants = &variants{cases: []Case{asked, one}, differ: true, judging: c.takes}
		m.evidence.whole, m.leads, m.c.timing = 1, c.leads, time.Second
		for range 2 {
			m.evidence.keepFast(worker.Evidence{Variant: -1, Given: [][]byte{right, nil}, Wrote: [][]byte{nil, c.wrote}}, 1e-3)
		}
		f.call = func() { copy(f.outputs[1], c.wrote) }
		err := m.verifyTimed(t.Context(), false)
		if r := kernels.AsRejection(err); (r != nil) != c.refuse || r != nil && !strings.Contains(r.Reason, "one, in a timed call: y[0] is off") || err != nil && r == nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if calls != c.calls || m.c.judged != (calls > 0) || f.fresh != c.fresh {
			t.Errorf("%s: %d calls of the reference, want %d, and %d fresh processes", c.name, calls, c.calls, f.fresh)
		}
	}
	m := newFakeMeter(&fake{seconds: 1e-3}, 0)
	ended, cancel := context.WithCancel(t.Context())
	asked := one
	asked.With = func(context.Context, [][]byte) (Case, error) { cancel(); return one, errors.New("interrupted") }
	m.variants, m.leads = &variants{cases: []Case{asked}, differ: true}, true
	m.evidence.keepFast(worker.Evidence{Given: [][]byte{right, nil}, Wrote: [][]byte{nil, right}}, 1e-3)
	if _, err := m.judge(ended); err != context.Canceled {
		t.Errorf("an interrupted reference: %v", err)
	}
}

// TestJudgeLoose: where the function may count on what inputs of timed calls do not have, candidates are judged only if the baseline agreed with the
// reference there.
func TestJudgeLoose(t *testing.T) {
	one, right, wrong := copying()
	asked := one
	asked.Loose = true
	asked.With = func(context.Context, [][]byte) (Case, error) { return one, nil }
	v := &variants{cases: []Case{asked}, differ: true}
	judge := func(baseline bool, wrote []byte) (bool, error) {
		m := newFakeMeter(&fake{seconds: 1e-3}, 0)
		m.variants, m.leads, m.isBaseline = v, true, baseline
		m.evidence.keepFast(worker.Evidence{Given: [][]byte{right, nil}, Wrote: [][]byte{nil, wrote}}, 1e-3)
		return m.judge(t.Context())
	}
	for _, c := range []struct {
		name             string
		baseline         bool
		wrote            []byte
		judged, rejected bool
	}{
		{"before the baseline", false, wrong, false, false},
		{"the baseline", true, right, true, false},
		{"right", false, right, true, false},
		{"wrong", false, wrong, false, true},
		{"the baseline, which does not agree", true, wrong, false, false},
		{"after that", false, wrong, false, false},
	} {
		judged, err := judge(c.baseline, c.wrote)
		if rejected := kernels.AsRejection(err) != nil; judged != c.judged || rejected != c.rejected {
			t.Errorf("%s: judged %v, %v", c.name, judged, err)
		}
	}
}

// TestMayJudge: the reference takes a tenth of the time in which a candidate was timed, or 5 ms, and whoever leads is judged once even if that takes seconds.
func TestMayJudge(t *testing.T) {
	for _, c := range []struct {
		takes, judging, timing time.Duration
		leads, judged, want    bool
	}{
		{takes: 10 * time.Millisecond, timing: 100 * time.Millisecond, want: true},
		{takes: 11 * time.Millisecond, timing: 100 * time.Millisecond, want: false},
		{takes: 5 * time.Millisecond, want: true},
		{takes: 10 * time.Millisecond, timing: 100 * time.Millisecond, judging: time.Millisecond, judged: true, want: false},
		{takes: 2 * time.Second, timing: 100 * time.Millisecond, leads: true, want: true},
		{takes: 2 * time.Second, timing: 100 * time.Millisecond, leads: true, judged: true, want: false},
		{takes: 4 * time.Second, timing: 100 * time.Millisecond, leads: true, want: false},
	} {
		m := newFakeMeter(&fake{seconds: 1e-3}, 0)
		m.leads, m.c.judged, m.c.judging, m.c.timing, m.variants.judging = c.leads, c.judged, c.judging, c.timing, c.takes
		if got := m.mayJudge(); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
