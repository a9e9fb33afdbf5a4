package nsga2

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tune/search"
	"tune/search/random"
	"tune/search/searchtest"
	"tune/space"
)

// TestConformance tests configurations at the limits; package strategies tests the default one.
func TestConformance(t *testing.T) {
	for name, c := range map[string]Config{"smallest": {Population: 4, Crossover: 0.01, Mutation: 10}, "two goals": {Goals: suiteGoals}} {
		searchtest.Conformance(t, name, func(s *space.Space, seed uint64) (search.Strategy, error) { return New(s, seed, c) })
	}
}

func TestValidate(t *testing.T) {
	for want, c := range map[string]Config{
		"population is 3: want a whole number from 4 to 10000": {Population: 3},
		"crossover is 1.5": {Crossover: 1.5},
		"mutation is NaN":  {Mutation: math.NaN()},
	} {
		if _, err := New(plane(t), 1, c); err == nil || !strings.HasPrefix(err.Error(), "nsga2: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", c, err, want)
		}
	}
}

var twoGoals = space.Goals{{}, {Metric: "m"}}

// suiteGoals are goals that the outcomes of the conformance suite have.
var suiteGoals = space.Goals{{}, {Metric: searchtest.Metric}}

// plane is a space of ten numbers.
func plane(t *testing.T) *space.Space {
	t.Helper()
	var params []space.Parameter
	for _, name := range strings.Split("a b c d e f g h i j", " ") {
		params = append(params, space.Range(name, 0, 100))
	}
	s, err := space.New("plane", params)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// zdt1 is the first problem of Zitzler, Deb and Thiele ("Comparison of multiobjective evolutionary algorithms", 2000): the best points
// have a first number of any value, and others of 0. Some points fail.
func zdt1(p space.Point) space.Outcome {
	x := p.Ordinals()
	if x[1] == 50 {
		return space.Fail(space.Crashed, "it is forbidden")
	}
	sum := 0.0
	for _, v := range x[1:] {
		sum += float64(v) / 100
	}
	g := 1 + 9*sum/float64(len(x)-1)
	f := float64(x[0]) / 100
	return space.Outcome{Status: space.OK, Cost: f, Metrics: []space.Metric{{Name: "m", Value: g * (1 - math.Sqrt(f/g))}}}
}

// volume is the hypervolume that a strategy reaches on zdt1.
func volume(t *testing.T, s search.Strategy, evaluations int) float64 {
	t.Helper()
	var values [][]float64
	for told := 0; told < evaluations; {
		var trials []space.Trial
		var outcomes []space.Outcome
		for _, p := range s.Ask(space.Progress{Told: told, Left: 1 - float64(told)/float64(evaluations), Evaluations: evaluations - told}) {
			o := zdt1(p.Point)
			trials, outcomes = append(trials, space.Trial{Number: told + len(trials), Proposal: p}), append(outcomes, o)
			if v, ok := twoGoals.Values(o); ok {
				values = append(values, v)
			}
		}
		s.Tell(trials, outcomes)
		told += len(trials)
	}
	return space.Hypervolume(values, []float64{1.1, 6})
}

// TestZDT1: it finds far more of the front than random points do, and than one goal alone.
func TestZDT1(t *testing.T) {
	s := plane(t)
	var ours, theirs, single float64
	const seeds, evaluations = 5, 1000
	for seed := range uint64(seeds) {
		n, err := New(s, seed, Config{Goals: twoGoals})
		if err != nil {
			t.Fatal(err)
		}
		ours += volume(t, n, evaluations) / seeds
		if n, err = New(s, seed, Config{}); err != nil {
			t.Fatal(err)
		}
		single += volume(t, n, evaluations) / seeds
		r, err := random.Config{}.New(s, seed)
		if err != nil {
			t.Fatal(err)
		}
		theirs += volume(t, r, evaluations) / seeds
	}
	t.Logf("of 6.27 NSGA-II finds %.3f, random points %.3f, the least cost alone %.3f", ours, theirs, single)
	if ours < 5.8 || ours < theirs+0.5 || ours < single+0.5 {
		t.Errorf("of 6.27 it finds %.3f, random points %.3f, the least cost alone %.3f", ours, theirs, single)
	}
}

// TestRanks: fronts are those of the definition, and the crowding that of the paper.
func TestRanks(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 100 {
		var all []member
		for range 20 {
			all = append(all, member{values: []float64{float64(r.IntN(8)), float64(r.IntN(8)), float64(r.IntN(3))}})
		}
		left := make([]int, len(all))
		for i := range left {
			left[i] = i
		}
		for _, front := range fronts(all) {
			var want []int
			for _, i := range left {
				if !slices.ContainsFunc(left, func(j int) bool { return space.Dominates(all[j].values, all[i].values) }) {
					want = append(want, i)
				}
			}
			if !slices.Equal(front, want) {
				t.Fatalf("a front is %v, want %v", front, want)
			}
			left = slices.DeleteFunc(left, func(i int) bool { return slices.Contains(want, i) })
		}
		if len(left) > 0 {
			t.Fatalf("%d points are on no front", len(left))
		}
	}
	line := []member{{values: []float64{0, 10}}, {values: []float64{1, 5}}, {values: []float64{4, 1}}, {values: []float64{10, 0}}, {}}
	got := crowding(line, []int{0, 1, 2, 3})
	if want := []float64{math.Inf(1), 0.4 + 0.9, 0.9 + 0.5, math.Inf(1)}; !slices.EqualFunc(got, want, func(a, b float64) bool { return a == b || math.Abs(a-b) < 1e-12 }) {
		t.Errorf("crowding is %v, want %v", got, want)
	}
	order, first := ranked(line)
	if first != 4 {
		t.Errorf("the first front has %d points, want 4", first)
	}
	if order[4].values != nil || order[2].values[0] != 4 || order[3].values[0] != 1 {
		t.Errorf("ranked are %v", order)
	}
}
