package auto

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"tune/search"
	"tune/search/random"
	"tune/search/searchtest"
	"tune/space"
)

var suiteGoals = space.Goals{{}, {Metric: searchtest.Metric, Maximise: true}}

// The suite with two goals; a short lead brings the bandit to work, and all arms take part. A start and a source change how it begins
// alone, so that the brief suite is enough for them.
func TestConformanceSeveral(t *testing.T) {
	searchtest.Conformance(t, "two goals", func(in *space.Space, seed uint64) (search.Strategy, error) {
		return New(in, seed, Config{Lead: 12, Anneal: true, Evolve: true, Goals: suiteGoals, Pool: 60, Samples: 1})
	}, searchtest.Paced, searchtest.Dear)
	searchtest.Brief(t, func(in *space.Space, seed uint64) (search.Strategy, error) {
		var source space.Source
		for p := range in.All() {
			if len(source.Observations) == 20 {
				break
			}
			source.Observations = append(source.Observations, space.Observation{Point: p, Outcome: space.Outcome{Status: space.OK, Cost: float64(len(source.Observations))}})
		}
		c := Config{Lead: 12, Goals: suiteGoals, Pool: 60, Samples: 1, Start: []space.Point{in.Default(), in.Default()}, Sources: []space.Source{source}}
		return New(in, seed, c)
	})
}

var twoGoals = space.Goals{{}, {Metric: "m"}}

// trade has a front along a line of the plane: the cost is the distance from one corner, the metric that from another.
func trade(p space.Point) space.Outcome {
	x, y := float64(p.Int("x")), float64(p.Int("y"))
	if int(x+y)%17 == 3 {
		return space.Fail(space.Crashed, "it is forbidden")
	}
	return space.Outcome{Status: space.OK, Cost: 1 + math.Hypot(x-20, y-30), Metrics: []space.Metric{{Name: "m", Value: 1 + math.Hypot(x-80, y-60)}}}
}

// places are the logarithms of the values of an outcome, none where it failed.
func places(o space.Outcome) [][]float64 {
	v, ok := twoGoals.Values(o)
	if !ok {
		return nil
	}
	return [][]float64{{math.Log(v[0]), math.Log(v[1])}}
}

// reference is a little beyond the ends of the front of trade.
var reference = []float64{4.5, 4.5}

// found is the hypervolume that a strategy reaches.
func found(t *testing.T, s search.Strategy, evaluations int, outcome func(space.Point) space.Outcome) float64 {
	t.Helper()
	var values [][]float64
	seen := map[string]bool{}
	for told := 0; told < evaluations; {
		var trials []space.Trial
		var outcomes []space.Outcome
		for _, p := range s.Ask(space.Progress{Told: told, Left: 1 - float64(told)/float64(evaluations), Evaluations: evaluations - told}) {
			if seen[p.Point.Key()] {
				t.Fatalf("it asks for %s again", p.Point)
			}
			seen[p.Point.Key()] = true
			o := outcome(p.Point)
			trials, outcomes = append(trials, space.Trial{Number: told + len(trials), Proposal: p}), append(outcomes, o)
			values = append(values, places(o)...)
		}
		if len(trials) == 0 {
			t.Fatalf("it stops after %d points", told)
		}
		s.Tell(trials, outcomes)
		told += len(trials)
	}
	return space.Hypervolume(values, reference)
}

// TestSeveral: it misses less of the front than random points do, and than one goal alone.
func TestSeveral(t *testing.T) {
	in := plane(t)
	var all [][]float64
	for p := range in.All() {
		all = append(all, places(trade(p))...)
	}
	whole := space.Hypervolume(all, reference)
	var ours, theirs, single float64
	const seeds, evaluations = 3, 80
	for seed := range uint64(seeds) {
		s, err := New(in, seed, Config{Goals: twoGoals, Pool: 200, Samples: 2})
		if err != nil {
			t.Fatal(err)
		}
		ours += (whole - found(t, s, evaluations, trade)) / seeds
		if s, err = New(in, seed, Config{Pool: 200, Samples: 2}); err != nil {
			t.Fatal(err)
		}
		single += (whole - found(t, s, evaluations, trade)) / seeds
		r, err := random.Config{}.New(in, seed)
		if err != nil {
			t.Fatal(err)
		}
		theirs += (whole - found(t, r, evaluations, trade)) / seeds
	}
	t.Logf("of %.2f it misses %.2f, random points %.2f, the least cost alone %.2f", whole, ours, theirs, single)
	if ours < 0 || ours > 0.85*theirs || ours > 0.9*single {
		t.Errorf("of %.2f it misses %.2f, random points %.2f, the least cost alone %.2f", whole, ours, theirs, single)
	}
}

// TestSeveralOfOne: one goal is the search for the least cost.
func TestSeveralOfOne(t *testing.T) {
	one, err := New(plane(t), 3, Config{Goals: space.Goals{{}}, Pool: 60})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := one.(*auto); !ok {
		t.Errorf("one goal is searched by %T", one)
	}
}

// TestSeveralBoxes: differences that do not count change what a front keeps, and not what is asked.
func TestSeveralBoxes(t *testing.T) {
	var asked [2][]string
	for i, goals := range []space.Goals{twoGoals, {{Box: 50, Percent: true}, {Metric: "m", Box: 20}}} {
		s, err := New(plane(t), 4, Config{Goals: goals, Pool: 60, Samples: 1})
		if err != nil {
			t.Fatal(err)
		}
		found(t, s, 40, func(p space.Point) space.Outcome {
			asked[i] = append(asked[i], p.Key())
			return trade(p)
		})
	}
	if !slices.Equal(asked[0], asked[1]) {
		t.Error("boxes change what is asked")
	}
}

// TestScalar: of two points on the ends of the front, and one between, the weights decide which costs least; a point that others
// dominate costs more than they do; what has no value fails.
func TestScalar(t *testing.T) {
	v := known(t, [][]float64{{1, 100}, {10, 10}, {100, 1}, {200, 200}, {math.NaN(), math.NaN()}})
	least := func(weights ...float64) int {
		_, outcomes := with(v, weights).known(0, 5)
		best := 0
		for i, o := range outcomes {
			if o.Status == space.OK && o.Cost < outcomes[best].Cost {
				best = i
			}
			if o.Status == space.OK && o.Cost >= 0 && i < 3 {
				t.Errorf("the scalar %v is not below 0", o.Cost)
			}
		}
		if outcomes[3].Cost <= outcomes[1].Cost || outcomes[4].Status == space.OK {
			t.Errorf("weights %v: %+v", weights, outcomes)
		}
		return best
	}
	if a, b, c := least(0.98, 0.02), least(0.5, 0.5), least(0.02, 0.98); a != 0 || b != 1 || c != 2 {
		t.Errorf("the least scalars are those of points %d, %d, %d", a, b, c)
	}
	// Values of 0 cannot be logarithms.
	if s := known(t, [][]float64{{1, 0}, {2, -3}}).newScalar([]float64{0.5, 0.5}); !s.log[0] || s.log[1] {
		t.Errorf("logarithms: %v", s.log)
	}
	s := v.newScalar([]float64{0.5, 0.5})
	if s.serves([]float64{1, 0}) || !s.serves([]float64{1e-9, 1e9}) {
		t.Error("a logarithm of 0 serves, or one of a small number does not")
	}
	if (&several{front: space.NewFront(twoGoals), values: make([]search.Column[float64], 2)}).newScalar([]float64{0.5, 0.5}).serves([]float64{1, 1}) {
		t.Error("a scalar without a front serves")
	}
	v = known(t, [][]float64{{-math.MaxFloat64, math.MaxFloat64}, {math.MaxFloat64, -math.MaxFloat64}, {5, 5}, {5, 5}})
	_, outcomes := with(v, []float64{0.3, 0.7}).known(0, 4)
	for _, o := range outcomes {
		if !space.Finite(o.Cost) {
			t.Errorf("the scalar is %v", o.Cost)
		}
	}
}

// known returns a search for two goals that was told some values.
func known(t *testing.T, values [][]float64) *several {
	t.Helper()
	s, err := New(plane(t), 1, Config{Goals: twoGoals, Pool: 60, Samples: 1})
	if err != nil {
		t.Fatal(err)
	}
	v := s.(*several)
	var trials []space.Trial
	var outcomes []space.Outcome
	for i, x := range values {
		p, _ := v.fresh.Draw()
		trials = append(trials, space.Trial{Number: i, Proposal: space.Proposal{Point: p}})
		o := space.Outcome{Status: space.OK, Cost: x[0], Metrics: []space.Metric{{Name: "m", Value: x[1]}}}
		if math.IsNaN(x[0]) {
			o = space.Fail(space.WrongAnswer, "not equal")
		}
		outcomes = append(outcomes, o)
	}
	v.Tell(trials, outcomes)
	return v
}

// with gives a search some weights.
func with(v *several, weights []float64) *several {
	v.scalar = v.newScalar(weights)
	return v
}

// TestWeights: they add up to 1, fill the simplex evenly whatever the number of goals, and differ with the seed.
func TestWeights(t *testing.T) {
	for goals := 2; goals <= 6; goals++ {
		w := newWeights(goals, rand.New(rand.NewPCG(1, 2)))
		mean := make([]float64, goals)
		const n = 400
		for k := range n {
			sum := 0.0
			for i, x := range w.at(k) {
				if x < 0 || x > 1 {
					t.Fatalf("a weight is %v", x)
				}
				sum += x
				mean[i] += x / n
			}
			if math.Abs(sum-1) > 1e-12 {
				t.Fatalf("the weights add up to %v", sum)
			}
		}
		for _, m := range mean {
			if math.Abs(m*float64(goals)-1) > 0.1 {
				t.Errorf("of %d goals the mean weights are %v", goals, mean)
			}
		}
		if slices.Equal(w.at(0), newWeights(goals, rand.New(rand.NewPCG(2, 2))).at(0)) {
			t.Error("the seed does not matter")
		}
	}
	// Of two goals, any ten in a row leave no wide gap.
	w := newWeights(2, rand.New(rand.NewPCG(3, 2)))
	for from := range 50 {
		var first []float64
		for k := range 10 {
			first = append(first, w.at(from + k)[0])
		}
		slices.Sort(first)
		for i := range first[1:] {
			if first[i+1]-first[i] > 0.2 {
				t.Errorf("ten weights are %v", first)
			}
		}
	}
}
