package surrogate

import (
	"math"
	"math/rand/v2"
	"testing"

	"tune/search/internal/functions"
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
	p := &priors{sources: []known{{flat: 1}, {flat: 1.4}}}
	for _, flat := range []bool{false, true} {
		floor := []float64{0, 0}
		if flat {
			floor = []float64{1, 1.4}
		}
		truth := func(s []float64) float64 { return 3 + 0.7*max(s[0], floor[0]) + 0.2*max(s[1], floor[1]) }
		y := make([]float64, len(prior))
		for k, s := range prior {
			y[k] = truth(s)
		}
		fitted := p.fit(y, flat, says)
		for _, s := range [][]float64{{0.1, 0.2}, {0.9, 0.4}, {1.5, 0.3}, {1.9, 1.8}} {
			if got, want := fitted.at(s), truth(s); math.Abs(got-want) > 0.03 {
				t.Errorf("floor %v: at %v it is %v, not %v", floor, s, got, want)
			}
		}
	}
}

// TestSourceLater: after each fit of the hyper-parameters the best points of a source come into the pool again, and which of its
// better points is the best does not count from flatFrom to earlyUntil evaluations.
func TestSourceLater(t *testing.T) {
	f := functions.Rosenbrock(6)
	rng := rand.New(rand.NewPCG(1, 2))
	var source space.Source
	for range 100 {
		p, err := f.Space.Sample(rng)
		if err != nil {
			t.Fatal(err)
		}
		source.Observations = append(source.Observations, space.Observation{
			Point: p, Outcome: space.Outcome{Status: space.OK, Cost: f.Cost(p)},
		})
	}
	u, err := New(f.Space, 1, Config{Sources: []space.Source{source}, Pool: 500, Samples: 1})
	if err != nil {
		t.Fatal(err)
	}
	flattened, asked := 0, map[string]bool{}
	for n := 0; n < 170; {
		trials, outcomes := ask(u, n, f)
		for _, t := range trials {
			asked[t.Point.Key()] = true
		}
		if len(u.models) > 0 {
			want := 0.0
			if n >= flatFrom && n < earlyUntil {
				want = u.prior.sources[0].flat
				flattened++
			}
			if u.trend.floor[0] != want {
				t.Errorf("after %d evaluations the floor is %v, not %v", n, u.trend.floor[0], want)
			}
		}
		u.Tell(trials, outcomes)
		n += len(trials)
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

// TestFlat: a quarter of the space is better than where a source is flat, whether it has measured all of it, or good points
// only.
func TestFlat(t *testing.T) {
	s, err := space.New("flat", []space.Parameter{space.Range("x", 0, 39), space.Range("y", 0, 39)})
	if err != nil {
		t.Fatal(err)
	}
	cost := func(p space.Point) float64 { return 1 + float64(p.Int("x")+p.Int("y")) }
	for _, most := range []float64{math.Inf(1), 12} {
		var source space.Source
		for p := range s.All() {
			if cost(p) <= most {
				source.Observations = append(source.Observations, space.Observation{
					Point: p, Outcome: space.Outcome{Status: space.OK, Cost: cost(p)},
				})
			}
		}
		e := newEncoder(s)
		p := newPriors(s, e, []space.Source{source})
		better := 0
		for q := range s.All() {
			if p.at(q, e.encode(q))[0] < p.sources[0].flat {
				better++
			}
		}
		if share := float64(better) / (40 * 40); share < 0.2 || share > 0.3 {
			t.Errorf("%d points of the source: %v of the space is better than %v", len(source.Observations), share, p.sources[0].flat)
		}
	}
}
