package native_test

import (
	"strings"
	"testing"
	"time"

	"tune/kernels"
	"tune/kernels/native"
	"tune/space"
)

// TestSurvey: a survey finds what candidates cost, and refuses those that are wrong, also where only the thousandth call is. A second one, at another
// size, starts no further process for those that were right.
func TestSurvey(t *testing.T) {
	h := testHost(t)
	list := []struct {
		form   string
		work   int
		status space.Status // OK where it is right
	}{
		{"plain", 64, space.OK}, {"wrong", 4, space.WrongAnswer}, {"plain", 8, space.OK}, {"crash", 4, space.Crashed}, {"later", 4, space.WrongAnswer},
		{"typo", 4, space.CompileFailed}, {"state", 4, space.WrongAnswer}, {"plain", 9, space.OK}, {"plain", 256, space.OK},
	}
	for round, n := range []int{64, 200} {
		spec := newPoly(t, n)
		p := problem(t, spec, h)
		var candidates []kernels.Candidate
		for _, one := range list {
			point := spec.point(t, one.form, one.work)
			source, err := spec.Generate(point)
			if err != nil {
				t.Fatal(err)
			}
			c := p.Adopt(source, point)
			if !native.Surveys(c) {
				t.Fatalf("%s is not surveyed", point)
			}
			candidates = append(candidates, c)
		}
		before := native.Seats(h)
		found, err := p.Survey(t.Context(), candidates, native.Survey{Seed: uint64(n), Whole: round == 0, Limit: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		right := 0
		for i, one := range list {
			r := kernels.AsRejection(found[i].Err)
			switch {
			case one.status == space.OK && (found[i].Err != nil || !(found[i].Cost > 0)):
				t.Errorf("n=%d: %s work=%d: %+v", n, one.form, one.work, found[i])
			case one.status != space.OK && (r == nil || r.Status != one.status):
				t.Errorf("n=%d: %s work=%d: %v, want it to be %s", n, one.form, one.work, found[i].Err, one.status)
			case one.status == space.OK:
				right++
			}
		}
		if most, more, less := found[8].Cost, found[0].Cost, found[2].Cost; !(most > 1.5*more && more > 1.5*less) { // 4 and 8 times, on a quiet machine
			t.Errorf("n=%d: work=256 costs %g, work=64 %g, work=8 %g", n, most, more, less)
		}
		if after := native.Seats(h); after-before != right*(1-round) {
			t.Errorf("n=%d: %d workers are kept, after %d before, for %d right candidates", n, after, before, right)
		}
	}
}

// Candidates with several threads take no turns among others.
func TestSurveyThreads(t *testing.T) {
	spec := newPoly(t, 64)
	p := problem(t, spec, testHost(t))
	if c := p.Adopt(mustGenerate(t, spec, "threads", 4), spec.point(t, "threads", 4)); native.Surveys(c) {
		t.Error("a candidate with two threads would be surveyed")
	}
	var foreign kernels.Candidate
	if _, err := p.Survey(t.Context(), []kernels.Candidate{foreign}, native.Survey{}); err == nil || !strings.Contains(err.Error(), "native: cannot survey a candidate of type <nil>") {
		t.Errorf("a candidate that is none: %v", err)
	}
}
