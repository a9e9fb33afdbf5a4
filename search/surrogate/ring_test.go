package surrogate

import (
	"testing"

	"tune/search/functions"
	"tune/space"
)

// TestRings: from roamFrom evaluations on every roamEvery-th point differs from the best one in roamFar parameters or more;
// the others need not, but are soon sought near it where the number of parameters says so.
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
		roamed, free, outside := 0, 0, 0
		for n := 0; n < 170; {
			first, best := u.picked, u.best
			proposals := u.Ask(space.Progress{Told: n, Left: 1})
			trials, outcomes := make([]space.Trial, len(proposals)), make([]space.Outcome, len(proposals))
			for i, p := range proposals {
				trials[i] = space.Trial{Number: n + i, Proposal: p}
				outcomes[i] = space.Outcome{Status: space.OK, Cost: f.Cost(p.Point)}
				if n < roamFrom || u.picked == first {
					continue
				}
				differ := 0
				for k := range f.Space.Parameters() {
					if p.Point.Ordinal(k) != u.seen[best].point.Ordinal(k) {
						differ++
					}
				}
				far := n < roamUntil && (first+i+1)%roamEvery == 0
				switch {
				case far && differ < roamFar:
					t.Errorf("%d parameters: point %d, pick %d, differs from the best in %d", test.parameters, n+i, first+i+1, differ)
				case far:
					roamed++
				case differ < roamFar:
					free++
				case differ > near && n >= nearFrom && n < roamUntil:
					outside++
				}
			}
			u.Tell(trials, outcomes)
			n += len(proposals)
		}
		if roamed < 20 || free < 20 {
			t.Errorf("%d parameters: %d points were sought far from the best, %d others were near it", test.parameters, roamed, free)
		}
		if (outside == 0) != test.intensify {
			t.Errorf("%d parameters: %d points were not sought near the best", test.parameters, outside)
		}
	}
}
