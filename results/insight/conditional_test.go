package insight_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"tune/results/insight"
	"tune/space"
)

// conditional are functions on a space of two families, each with parameters of its own. Of its 48 points 40 are in family x, which has depth,
// and of these 32 have wide. The shares that are not named are 0.
func conditional(t testing.TB) []function {
	s, err := space.New("families", []space.Parameter{
		space.Enum("family", "x", "y"), space.Range("depth", 0, 3).If("family == 'x'"), space.Range("wide", 0, 3).If("depth >= 2"),
		space.Bool("fast").If("family == 'y'"), space.Range("other", 0, 3),
	})
	if err != nil {
		t.Fatal(err)
	}
	where := func(p space.Point, name string) float64 {
		if p.Active(name) {
			return 1
		}
		return 0
	}
	steps := func(p space.Point, name string) float64 {
		if !p.Active(name) {
			return 0
		}
		return float64(p.Int(name)) - 1.5
	}
	return []function{
		{"the family decides", s, func(p space.Point) float64 { return 3 * where(p, "depth") }, map[string]float64{"family": 1}},
		// The mean is 4/5 in family x, and 2/3 in all.
		{"the depth decides", s, func(p space.Point) float64 { return where(p, "wide") }, map[string]float64{"family": 0.4, "depth": 0.6}},
		{"a value decides", s, func(p space.Point) float64 { return steps(p, "wide") }, map[string]float64{"wide": 1}},
		{"two values decide", s, func(p space.Point) float64 { return steps(p, "wide") * steps(p, "other") }, map[string]float64{"other × wide": 1}},
		// With the same variance in each family, other has 1/6 of it to itself, and 5/6 · 1/6 of four times as much together with the family.
		{"in one family", s, func(p space.Point) float64 { return where(p, "depth") * steps(p, "other") },
			map[string]float64{"other": 5. / 6, "family × other": 1. / 6}},
	}
}

// others adds a share of 0 for all that a function does not name.
func others(want map[string]float64, got insight.Shares) map[string]float64 {
	all := named(got)
	for name := range all {
		all[name] = 0
	}
	maps.Copy(all, want)
	return all
}

// additive is a model that is a sum of functions of one parameter each.
type additive func(k, ordinal int) float64

func (a additive) Predict(p space.Point) (sum float64) {
	for k, o := range p.Ordinals() {
		sum += a(k, o)
	}
	return sum
}

func (a additive) Alone(k, ordinal int) float64 { return a(k, ordinal) }
func (a additive) Products() []float64          { return nil }
func (a additive) Factors(int, int, []float64)  {}

// A difference between points with a parameter and points without it counts for what decides whether they have it: in all points, a
// sample of them, what was measured, and what was learned.
func TestConditional(t *testing.T) {
	for _, f := range conditional(t) {
		var points []space.Point
		var costs []float64
		var entries []space.Entry
		for p := range f.space.All() {
			cost := math.Exp(f.cost(p))
			points, costs = append(points, p), append(costs, cost)
			for range 5 {
				entries = append(entries, space.Entry{Number: len(entries), Key: p.Key(), Outcome: space.Outcome{Status: space.OK, Cost: cost}})
			}
		}
		truth := insight.True(f.space, points, costs)
		if len(truth.Single) != 5 || len(truth.Pairs) != 10 {
			t.Errorf("%s: %+v", f.name, truth)
		}
		compare(t, f.name+", all points", truth, others(f.shares, truth), 1e-9)
		sampled := insight.Sampled(f.space, expected(f.cost), 20_000)
		compare(t, f.name+", a sample", sampled, others(f.shares, sampled), 0.02)
		for _, of := range []*space.Space{f.space, nil} {
			in, err := insight.Look(history(entries), of, insight.Reference{}, learn)
			if err != nil {
				t.Fatal(err)
			}
			if line := in.String(); f.shares["family"] == 1 && line != "family 100 %" {
				t.Errorf("%s: a run says %q", f.name, line)
			}
			compare(t, f.name+", measured", in.Measured, others(f.shares, in.Measured), 0.01)
			if of != nil {
				for _, one := range in.Measured.Pairs {
					if !slices.ContainsFunc(in.Learned.Pairs, func(o insight.Share) bool { return slices.Equal(o.Parameters, one.Parameters) }) {
						t.Errorf("%s: %s was measured, and has another name where it was learned", f.name, one)
					}
				}
				compare(t, f.name+", learned", *in.Learned, others(f.shares, *in.Learned), 0.05)
			}
		}
	}
}

// The same through the diagram of a large space. Of its points 20,100 in 21,100 are in family x, and 20,000 have b.
func TestConditionalThroughDiagram(t *testing.T) {
	s := newSpace(t, []space.Parameter{
		space.Enum("family", "x", "y"), space.Range("a", 0, 199).If("family == 'x'"), space.Range("b", 0, 199).If("a >= 100"),
		space.Range("c", 0, 999).If("family == 'y'"), space.Range("d", 0, 99),
	})
	active := func(of int) additive {
		return func(k, ordinal int) float64 {
			if k == of && ordinal >= 0 {
				return 1
			}
			return 0
		}
	}
	x, b := 20_100./21_100, 20_000./21_100
	for name, f := range map[string]struct {
		model  additive
		want   map[string]float64
		within float64
	}{
		"the family decides": {active(1), map[string]float64{"family": 1}, 1e-9},
		"a decides":          {active(2), map[string]float64{"family": (b*b/x - b*b) / (b - b*b), "a": (b - b*b/x) / (b - b*b)}, 1e-9},
		"a value decides": {func(k, ordinal int) float64 {
			if k != 2 || ordinal < 0 {
				return 0
			}
			return float64(ordinal) - 99.5
		}, map[string]float64{"b": 1}, 5e-4}, // its values share groups
	} {
		got, ok := insight.ThroughDiagram(s, f.model)
		if !ok || len(got.Single) != 5 || len(got.Pairs) != 10 {
			t.Fatalf("%s: %+v", name, got)
		}
		compare(t, name, got, others(f.want, got), f.within)
	}
}

// definition returns the shares of costs as Shares defines them, from lists of the points of each group.
func definition(s *space.Space, points []space.Point, costs []float64) map[string]float64 {
	mean := func(list []int) (m float64) {
		for _, i := range list {
			m += costs[i] / float64(len(list))
		}
		return m
	}
	// explained is the variance of the means of the points of a list that have the same values of some parameters, times its part of all.
	explained := func(list []int, parameters ...int) (v float64) {
		groups := map[string][]int{}
		for _, i := range list {
			key := ""
			for _, k := range parameters {
				key += fmt.Sprint(points[i].Ordinal(k), " ")
			}
			groups[key] = append(groups[key], i)
		}
		m := mean(list)
		for _, g := range groups {
			v += float64(len(g)) / float64(len(points)) * (mean(g) - m) * (mean(g) - m)
		}
		return v
	}
	active := func(parameters ...int) (list []int) {
		for i, p := range points {
			if !slices.ContainsFunc(parameters, func(k int) bool { return p.Ordinal(k) < 0 }) {
				list = append(list, i)
			}
		}
		return list
	}
	every := make([]int, len(s.Parameters()))
	for k := range every {
		every[k] = k
	}
	total := explained(active(), every...)
	out := map[string]float64{}
	for k, p := range s.Parameters() {
		out[p.Name] = explained(active(k), k) / total
		for j, q := range s.Parameters()[:k] {
			both := active(j, k)
			out[pair(q.Name, p.Name)] = max(explained(both, j, k)-explained(both, j)-explained(both, k), 0) / total
		}
	}
	return out
}

// Of costs at random, which differ most between active and inactive parameters, the shares are those of the definition.
func TestDefinition(t *testing.T) {
	spaces := small(t)
	delete(spaces, "bins") // values that share a group
	spaces["families"] = conditional(t)[0].space
	for _, name := range slices.Sorted(maps.Keys(spaces)) {
		s := spaces[name]
		rng := rand.New(rand.NewPCG(9, 10))
		var points []space.Point
		var costs, exponentials []float64
		for p := range s.All() {
			cost := rng.NormFloat64()
			for k, o := range p.Ordinals() {
				if o < 0 {
					cost += float64(3 + k)
				}
			}
			points, costs, exponentials = append(points, p), append(costs, cost), append(exponentials, math.Exp(cost))
		}
		compare(t, name, insight.True(s, points, exponentials), definition(s, points, costs), 1e-9)
	}
}
