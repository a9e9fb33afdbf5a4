package native

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"tune/kernels"
	"tune/kernels/native/timing"
	"tune/space"
)

// TestVerifyReshaped: what a candidate writes on inputs with another distribution must not depend on the calls before.
func TestVerifyReshaped(t *testing.T) {
	one, right, wrong := copying()
	crash := kernels.Reject(space.Crashed, "it crashed")
	broken := errors.New("the worker is broken")
	for _, c := range []struct {
		name   string
		uses   int
		wrote  [][]byte // in each call, the first one before the candidate is loaded anew
		fails  []error
		reason string
		loads  int
	}{
		{"honest", 1, [][]byte{right, right}, nil, "", 1},
		{"keeps something", 1, [][]byte{wrong, right}, nil, "one, after calls on other inputs: y[0] is 02000000, and the same call made afresh writes 01000000: it keeps something between calls. In this call x is other", 1},
		{"crashes", 1, [][]byte{right, right}, []error{crash, nil}, "one, after calls on other inputs: it crashed. In this call x is other", 1},
		{"crashes afresh too", 1, [][]byte{right, right}, []error{crash, crash}, "", 2},
		{"crashes afresh", 1, [][]byte{wrong, right}, []error{nil, crash}, "", 2},
		{"threads that keep something", 2, [][]byte{wrong, right, right}, nil, "keeps something", 1},
		{"threads that never agree", 2, [][]byte{wrong, right, wrong}, nil, "", 1},
		{"threads that crash the second time", 2, [][]byte{wrong, right, right}, []error{nil, nil, crash}, "", 2},
	} {
		f := &fake{seconds: 1e-3}
		calls := 0
		f.call = func() { copy(f.outputs[1], c.wrote[calls]) }
		f.broken = func() error {
			calls++
			if calls <= len(c.fails) {
				return c.fails[calls-1]
			}
			return nil
		}
		m := newFakeMeter(f, 0)
		m.uses = c.uses
		m.variants = &variants{cases: []Case{one, one}, differ: true, reshaped: &reshaped{[][]byte{right, nil}, "x is other"}}
		err := m.verifyReshaped(t.Context())
		r := kernels.AsRejection(err)
		if f.fresh != 1 || !m.renewed {
			t.Errorf("%s: %d processes were asked for, want one for the call afresh", c.name, f.fresh)
		}
		if c.reason == "" && err != nil || c.reason != "" && (r == nil || !strings.Contains(r.Reason, c.reason)) || f.loads != c.loads || calls != len(c.wrote) {
			t.Errorf("%s: %v after %d calls and %d loads", c.name, err, calls, f.loads)
		}
		if want := time.Duration(c.uses) * shortCall; !slices.Equal(f.within, []time.Duration{2 * want, want}) {
			t.Errorf("%s: the calls may take %v", c.name, f.within)
		}
		// A slow candidate is called so once.
		m.perCall = 2 * timing.Slow
		before := calls
		if err := m.verifyReshaped(t.Context()); err != nil || calls != before {
			t.Errorf("%s: %v, %d calls more of a slow one", c.name, err, calls-before)
		}
		// Where the baseline cannot take the inputs, no other candidate is called on them.
		m.isBaseline, m.perCall, calls = true, 1e-3, 0
		if err := m.verifyReshaped(t.Context()); (err == nil) != (c.reason == "") || (m.variants.reshaped == nil) != slices.Contains(c.fails[min(1, len(c.fails)):], error(crash)) {
			t.Errorf("%s: the baseline: %v", c.name, err)
		}
		f.broken = func() error { return broken }
		m.variants.reshaped = &reshaped{[][]byte{right, nil}, ""}
		calls = 0
		if err := m.verifyReshaped(t.Context()); !errors.Is(err, broken) {
			t.Errorf("%s: with a broken worker: %v", c.name, err)
		}
	}
}
