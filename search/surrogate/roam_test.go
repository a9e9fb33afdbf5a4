package surrogate

import (
	"testing"

	"tune/search/functions"
	"tune/space"
)

// TestRoam: from roamFrom evaluations on every roamEvery-th point differs from the best one in roamFar parameters or more,
// and others need not.
func TestRoam(t *testing.T) {
	f := functions.Sphere(5)
	u, err := New(f.Space, 1, Config{Samples: 1})
	if err != nil {
		t.Fatal(err)
	}
	roamed, near := 0, 0
	for n := 0; n < 120; {
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
			switch pick := first + i + 1; {
			case pick%roamEvery != 0:
				if differ < roamFar {
					near++
				}
			case differ < roamFar:
				t.Errorf("point %d, pick %d, differs from the best in %d parameters", n+i, pick, differ)
			default:
				roamed++
			}
		}
		u.Tell(trials, outcomes)
		n += len(proposals)
	}
	if roamed < 20 || near < 20 {
		t.Errorf("%d points were sought far from the best, %d others were near it", roamed, near)
	}
}
