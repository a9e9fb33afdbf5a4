package insight_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tune/results/insight"
	"tune/search/surrogate"
	"tune/space"
)

// function is a function on a space whose shares are known in closed form.
type function struct {
	name   string
	space  *space.Space
	cost   func(p space.Point) float64 // the logarithm of the cost
	shares map[string]float64
}

func newSpace(t *testing.T, params []space.Parameter, constraints ...string) *space.Space {
	t.Helper()
	s, err := space.New("known", params, constraints...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// functions are sums and products of steps x = ±1/2, ±3/2, …: the variance of n equal steps of width 1 is (n²−1)/12, and that of a
// product of independent ones with mean 0 the product of theirs.
func functions(t *testing.T) []function {
	steps := func(p space.Point, name string, n int) float64 { return float64(p.Int(name)) - float64(n-1)/2 }
	plain := newSpace(t, []space.Parameter{space.Range("a", 0, 7), space.Range("b", 0, 3), space.Range("c", 0, 4), space.Bool("d")})
	va, vb := 63./12, 15./12
	sign := func(p space.Point) float64 {
		if p.Bool("d") {
			return 1
		}
		return -1
	}
	// Of the 15 points with a ≤ b, x = a has the mean b/2 given b. Var x = 14/9, and Var E[x|b] = Var(b)/4 = 14/36.
	triangle := newSpace(t, []space.Parameter{space.Range("a", 0, 4), space.Range("b", 0, 4)}, "a <= b")
	return []function{
		{"a sum", plain, func(p space.Point) float64 { return steps(p, "a", 8) + 3*steps(p, "b", 4) },
			map[string]float64{"a": va / (va + 9*vb), "b": 9 * vb / (va + 9*vb), "c": 0, "d": 0, "a × b": 0}},
		{"a product", plain, func(p space.Point) float64 { return steps(p, "a", 8) * sign(p) },
			map[string]float64{"a": 0, "d": 0, "a × d": 1, "b × d": 0}},
		{"a sum and a product", plain, func(p space.Point) float64 { return 2*steps(p, "b", 4) + steps(p, "a", 8)*sign(p) },
			map[string]float64{"a": 0, "b": 4 * vb / (4*vb + va), "d": 0, "a × d": va / (4*vb + va)}},
		{"constrained", triangle, func(p space.Point) float64 { return float64(p.Int("a")) },
			map[string]float64{"a": 1, "b": 0.25, "a × b": 0}},
	}
}

// pair is the name of parameters, whatever their order.
func pair(names ...string) string { return strings.Join(slices.Sorted(slices.Values(names)), " × ") }

// named returns shares by the names of their parameters.
func named(s insight.Shares) map[string]float64 {
	out := map[string]float64{}
	for _, one := range slices.Concat(s.Single, s.Pairs) {
		out[pair(one.Parameters...)] = one.Share
	}
	return out
}

func compare(t *testing.T, name string, got insight.Shares, want map[string]float64, within float64) {
	t.Helper()
	found := named(got)
	for k, v := range want {
		if g, ok := found[k]; !ok || math.Abs(g-v) > within {
			t.Errorf("%s: the share of %s is %v, want %v within %v", name, k, g, v, within)
		}
	}
}

// Over all points of a space, the shares are those in closed form.
func TestTrueShares(t *testing.T) {
	for _, f := range functions(t) {
		var points []space.Point
		var costs []float64
		for p := range f.space.All() {
			points, costs = append(points, p), append(costs, math.Exp(f.cost(p)))
		}
		got := insight.True(f.space, points, costs)
		if !got.All || !got.Log || got.Points != len(points) {
			t.Errorf("%s: %+v", f.name, got)
		}
		compare(t, f.name, got, f.shares, 1e-9)
	}
}

// expected is a model that knows the truth.
type expected func(space.Point) float64

func (e expected) Predict(p space.Point) float64 { return e(p) }

// Of a model that is the function itself, the shares are exact in a small space, and near in a large one, which is sampled.
func TestLearnedShares(t *testing.T) {
	for _, f := range functions(t) {
		compare(t, f.name, insight.Learned(f.space, expected(f.cost), true), f.shares, 1e-9)
	}
	large := newSpace(t, []space.Parameter{space.Range("a", 0, 999), space.Range("b", 0, 999), space.Range("c", 0, 999)})
	got := insight.Learned(large, expected(func(p space.Point) float64 { return float64(p.Int("a") + 2*p.Int("b")) }), false)
	if got.All {
		t.Error("a sample says that it has all points")
	}
	compare(t, "large", got, map[string]float64{"a": 0.2, "b": 0.8, "c": 0, "a × b": 0}, 0.02)
}

func learn(s *space.Space, right []space.Observation, log bool) (insight.Model, bool) {
	return surrogate.Learn(s, 1, right, log)
}

// What the model of the search learns from outcomes at random has nearly the shares of the function.
func TestLearn(t *testing.T) {
	for _, f := range functions(t)[:3] {
		rng := rand.New(rand.NewPCG(1, 2))
		var right []space.Observation
		for range 80 {
			p, err := f.space.Sample(rng)
			if err != nil {
				t.Fatal(err)
			}
			right = append(right, space.Observation{Point: p, Outcome: space.Outcome{Status: space.OK, Cost: math.Exp(f.cost(p))}})
		}
		learned, measured := insight.Of(f.space, right, learn)
		compare(t, f.name, learned, f.shares, 0.08)
		if measured.Points != len(right) || measured.All {
			t.Errorf("%s: measured %+v", f.name, measured)
		}
	}
}

// A sample of noise has no shares worth a word, whatever the number of values.
func TestNoise(t *testing.T) {
	s := newSpace(t, []space.Parameter{space.Range("a", 0, 39), space.Range("b", 0, 39), space.Bool("c")})
	rng := rand.New(rand.NewPCG(3, 4))
	var right []space.Observation
	for range 200 {
		p, err := s.Sample(rng)
		if err != nil {
			t.Fatal(err)
		}
		right = append(right, space.Observation{Point: p, Outcome: space.Outcome{Status: space.OK, Cost: 1 + rng.Float64()}})
	}
	_, measured := insight.Of(s, right, learn)
	for _, one := range measured.Single {
		if one.Share > 0.12 {
			t.Errorf("noise has the share %v", one)
		}
	}
}

// Fewer outcomes than a model needs, and equal costs, give none.
func TestLearnNothing(t *testing.T) {
	s := newSpace(t, []space.Parameter{space.Range("a", 0, 39)})
	var same []space.Observation
	for i := range uint64(20) {
		same = append(same, space.Observation{Point: s.At(i), Outcome: space.Outcome{Status: space.OK, Cost: 5}})
	}
	if _, ok := surrogate.Learn(s, 1, same, true); ok {
		t.Error("a model was learned from equal costs")
	}
	if _, ok := surrogate.Learn(s, 1, same[:3], true); ok {
		t.Error("a model was learned from three points")
	}
	if got := insight.True(s, nil, nil); len(got.Single) != 0 {
		t.Errorf("no points have the shares %+v", got)
	}
}

// byCounting is functional analysis of variance by its definition: the mean cost at each combination of values, less the mean of all and the
// effects of fewer parameters.
func byCounting(points []space.Point, y []float64) map[string]float64 {
	names := points[0].Space().Parameters()
	mean, total := 0.0, 0.0
	for _, v := range y {
		mean += v / float64(len(y))
	}
	for _, v := range y {
		total += (v - mean) * (v - mean)
	}
	// The mean over the points that agree with a point in some parameters, less that of all.
	effect := func(p space.Point, in ...int) float64 {
		sum, n := 0.0, 0.0
		for i, q := range points {
			if !slices.ContainsFunc(in, func(k int) bool { return q.Ordinal(k) != p.Ordinal(k) }) {
				sum, n = sum+y[i], n+1
			}
		}
		return sum/n - mean
	}
	out := map[string]float64{}
	for k, a := range names {
		for _, p := range points {
			out[a.Name] += effect(p, k) * effect(p, k) / total
		}
		for j, b := range names[:k] {
			for _, p := range points {
				d := effect(p, j, k) - effect(p, j) - effect(p, k)
				out[pair(a.Name, b.Name)] += d * d / total
			}
		}
	}
	return out
}

// Where all combinations were measured nothing is left to chance: the shares of the outcomes are those by counting, also those of noise.
func TestMeasuredGrid(t *testing.T) {
	params := []space.Parameter{space.Range("a", 0, 5), space.Range("b", 0, 4), space.Enum("c", "x", "y")}
	grid := newSpace(t, params)
	rows := [][]int{}
	for p := range grid.All() {
		rows = append(rows, p.Ordinals())
	}
	listed, err := space.FromRows("rows", params, rows)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(5, 6))
	var points []space.Point
	var y []float64
	var entries []space.Entry
	for p := range grid.All() {
		v := math.Log(float64(1+p.Int("a")+p.Int("b")*p.Int("b"))) + 0.4*rng.NormFloat64()
		points, y = append(points, p), append(y, v)
		entries = append(entries, space.Entry{Number: len(entries), Key: p.Key(), Outcome: space.Outcome{Status: space.OK, Cost: math.Exp(v)}})
	}
	want := byCounting(points, y)
	for _, s := range []*space.Space{grid, listed, nil} {
		got := table(t, entries, 0).Look(s, insight.Reference{}, nil).Measured
		if got.All != (s != nil) {
			t.Errorf("with the space %v: %+v", s, got)
		}
		compare(t, "all", got, want, 1e-9)
	}
	// A point is missing: chance is taken away again, and a small share with it.
	if got := named(table(t, entries[1:], 0).Look(grid, insight.Reference{}, nil).Measured); got["b × c"] > want["b × c"]/2 {
		t.Errorf("without a point the share of a pair is %v, with it %v", got["b × c"], want["b × c"])
	}
}

// So it is where a constraint forbids combinations, as far as means at pairs of values are: all points of the space were measured.
func TestMeasuredSpace(t *testing.T) {
	s := newSpace(t, []space.Parameter{space.Range("a", 0, 7), space.Range("b", 0, 7), space.Bool("c")}, "a <= b")
	rng := rand.New(rand.NewPCG(7, 8))
	var points []space.Point
	var costs []float64
	var entries []space.Entry
	for p := range s.All() {
		points, costs = append(points, p), append(costs, math.Exp(rng.NormFloat64()))
		entries = append(entries, space.Entry{Number: len(entries), Key: p.Key(), Outcome: space.Outcome{Status: space.OK, Cost: costs[len(costs)-1]}})
	}
	got := table(t, entries, 0).Look(s, insight.Reference{}, nil).Measured
	if want := insight.True(s, points, costs); !got.All || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func ExampleShare() {
	fmt.Println(insight.Share{Parameters: []string{"mr", "nr"}, Share: 0.223})
	// Output: mr × nr 22 %
}
