package surrogate

import (
	"fmt"
	"testing"

	"tune/search/internal/functions"
	"tune/space"
)

// ask asks for the batch after n evaluations, and evaluates it.
func ask(u *Strategy, n int, f functions.Function) ([]space.Trial, []space.Outcome) {
	proposals := u.Ask(space.Progress{Told: n, Left: 1})
	trials, outcomes := make([]space.Trial, len(proposals)), make([]space.Outcome, len(proposals))
	for i, p := range proposals {
		trials[i] = space.Trial{Number: n + i, Proposal: p}
		outcomes[i] = space.Outcome{Status: space.OK, Cost: f.Cost(p.Point)}
	}
	return trials, outcomes
}

// TestRings: from roamFrom evaluations on every roamEvery-th point differs from the best one in roamFar parameters or more;
// the others need not, but where there are from manyFrom to manyTo parameters they are near it from
// nearFrom evaluations on. Both end at earlyUntil.
func TestRings(t *testing.T) {
	for _, test := range []struct {
		parameters int
		intensify  bool
	}{{manyFrom - 1, false}, {manyFrom, true}, {manyTo, true}, {manyTo + 1, false}} {
		f := functions.Rosenbrock(test.parameters)
		u, err := New(f.Space, 1, Config{Samples: 1})
		if err != nil {
			t.Fatal(err)
		}
		roamed, free, outside, after := 0, 0, 0, 0
		for n := 0; n < 170; {
			first, best := u.picked, u.best
			trials, outcomes := ask(u, n, f)
			for i, p := range trials {
				if n < roamFrom || u.picked == first {
					continue
				}
				differ := 0
				for k := range f.Space.Parameters() {
					if p.Point.Ordinal(k) != u.seen.point(best).Ordinal(k) {
						differ++
					}
				}
				far := n < earlyUntil && (first+i+1)%roamEvery == 0
				switch {
				case far && differ < roamFar:
					t.Errorf("%d parameters: point %d, pick %d, differs from the best in %d", test.parameters, n+i, first+i+1, differ)
				case far:
					roamed++
				case n >= earlyUntil && differ > near:
					after++
				case differ < roamFar:
					free++
				case differ > near && n >= nearFrom && n < earlyUntil:
					outside++
				}
			}
			u.Tell(trials, outcomes)
			n += len(trials)
		}
		if roamed < 20 || free < 20 {
			t.Errorf("%d parameters: %d points were sought far from the best, %d others were near it", test.parameters, roamed, free)
		}
		if after == 0 {
			t.Errorf("%d parameters: all points are sought near the best to the end", test.parameters)
		}
		if (outside == 0) != test.intensify {
			t.Errorf("%d parameters: %d points were not sought near the best", test.parameters, outside)
		}
	}
}

// TestRingsChoice: a parameter of one value is none that has a choice.
func TestRingsChoice(t *testing.T) {
	for _, test := range []struct {
		choices, fixed int
		local          bool
	}{{manyFrom - 1, 1, false}, {manyFrom, 1, true}, {manyTo, 1, true}} {
		var params []space.Parameter
		for i := range test.choices + test.fixed {
			params = append(params, space.Range(fmt.Sprintf("x%d", i), 0, min(max(test.choices-i, 0), 1)))
		}
		s, err := space.New("choices", params)
		if err != nil {
			t.Fatal(err)
		}
		u, err := New(s, 1, Config{})
		if err != nil {
			t.Fatal(err)
		}
		if u.local != test.local {
			t.Errorf("%d parameters with a choice and %d without: near is %v", test.choices, test.fixed, u.local)
		}
	}
}
