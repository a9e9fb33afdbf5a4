package surrogate

import (
	"math"
	"math/rand/v2"
	"testing"

	"tune/search"
	"tune/search/functions"
	"tune/space"
)

// TestTrend: it finds constant and weights, and with a floor what is below it counts as much as the floor.
func TestTrend(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	prior := make([][]float64, 400)
	for k := range prior {
		prior[k] = []float64{2 * rng.Float64(), 2 * rng.Float64()}
	}
	says := func(k int) []float64 { return prior[k] }
	p := &priors{sources: make([]known, 2)}
	for _, floor := range []float64{0, 1} {
		truth := func(s []float64) float64 { return 3 + 0.7*max(s[0], floor) + 0.2*max(s[1], floor) }
		y := make([]float64, len(prior))
		for k, s := range prior {
			y[k] = truth(s)
		}
		fitted := p.fit(y, floor, says)
		for _, s := range [][]float64{{0.1, 0.2}, {0.9, 0.4}, {1.5, 0.3}, {1.9, 1.8}} {
			if got, want := fitted.at(s), truth(s); math.Abs(got-want) > 0.03 {
				t.Errorf("floor %v: at %v it is %v, not %v", floor, s, got, want)
			}
		}
	}
}

// TestSourceLater: after each fit of the hyper-parameters the best points of a source come into the pool again, and which of its
// better points is the best does not count from flatFrom to roamUntil evaluations.
func TestSourceLater(t *testing.T) {
	f := functions.Rosenbrock(6)
	rng := rand.New(rand.NewPCG(1, 2))
	var source search.Source
	for range 100 {
		p, err := f.Space.Sample(rng)
		if err != nil {
			t.Fatal(err)
		}
		source.Observations = append(source.Observations, search.Observation{
			Point: p, Outcome: space.Outcome{Status: space.OK, Cost: f.Cost(p)},
		})
	}
	u, err := New(f.Space, 1, Config{Sources: []search.Source{source}, Pool: 500, Samples: 1})
	if err != nil {
		t.Fatal(err)
	}
	flattened, asked := 0, map[string]bool{}
	for n := 0; n < 170; {
		proposals := u.Ask(space.Progress{Told: n, Left: 1})
		trials, outcomes := make([]space.Trial, len(proposals)), make([]space.Outcome, len(proposals))
		for i, p := range proposals {
			asked[p.Point.Key()] = true
			trials[i] = space.Trial{Number: n + i, Proposal: p}
			outcomes[i] = space.Outcome{Status: space.OK, Cost: f.Cost(p.Point)}
		}
		if len(u.models) > 0 {
			want := 0.0
			if n >= flatFrom && n < roamUntil {
				want = flat
				flattened++
			}
			if u.trend.floor != want {
				t.Errorf("after %d evaluations the floor is %v, not %v", n, u.trend.floor, want)
			}
		}
		u.Tell(trials, outcomes)
		n += len(proposals)
	}
	if flattened == 0 {
		t.Error("there was no batch with a floor")
	}
	lacked := 0
	for _, again := range []bool{false, true} {
		if again {
			u.learn()
		}
		for _, o := range source.Observations {
			if key := o.Point.Key(); !u.pooled[key] && !asked[key] {
				if lacked++; again {
					t.Errorf("after a fit the pool lacks %v of the source", o.Point)
				}
			}
		}
	}
	if lacked == 0 {
		t.Error("the pool had dropped none of them, so that this test shows nothing")
	}
}
