package choice

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// everyVariant returns the indices of all variants.
func everyVariant(m Matrix) []int {
	out := make([]int, len(m.Variants))
	for j := range out {
		out[j] = j
	}
	return out
}

func grown(t *testing.T, m Matrix, g Growth) *Tree {
	t.Helper()
	tree, err := Grow(m, everyVariant(m), g)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// depth returns the most questions that a call answers.
func depth(t *Tree) int { return t.Root.depth() }

func uses(m Matrix, c Chooser) []int {
	use := make([]int, len(m.Shapes))
	for i, s := range m.Shapes {
		use[i] = c.At(s.Fields)
	}
	return use
}

// ruled returns shapes of m, n and k, at which the variant of the rule costs 1 and the others more, up to noise.
func ruled(r *rand.Rand, shapes, variants int, noise float64, rule func(m, n, k int64) int) Matrix {
	m := Matrix{Fields: []string{"m", "n", "k"}}
	for j := range variants {
		m.Variants = append(m.Variants, Variant{Name: string(rune('a' + j))})
	}
	size := func() int64 { return int64(math.Exp2(12 * r.Float64())) }
	for range shapes {
		s := Shape{[]int64{size(), size(), size()}, 0.5 + r.Float64()}
		row := make([]float64, variants)
		for j := range row {
			row[j] = 1e-3 * (1.3 + 0.1*float64(j))
		}
		row[rule(s.Fields[0], s.Fields[1], s.Fields[2])] = 1e-3
		for j := range row {
			row[j] *= math.Exp(noise * r.NormFloat64())
		}
		m.Shapes, m.Costs = append(m.Shapes, s), append(m.Costs, row)
	}
	return m
}

// plantedRules are what trees have to find.
var plantedRules = map[string]func(m, n, k int64) int{
	"one field":  func(m, n, k int64) int { return cut(m > 64) },
	"two fields": func(m, n, k int64) int { return cut(m > 64) + 2*cut(n > 100) },
	"a product":  func(m, n, k int64) int { return cut(m*n > 4096) + cut(m*n > 1<<17) },
	"either":     func(m, n, k int64) int { return cut(m <= 16 || n <= 16) },
	"rare":       func(m, n, k int64) int { return cut(m > 3000) },
}

func cut(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// TestGrowFindsRules: a tree that grew on some shapes of a rule gives the variants of the rule at others.
func TestGrowFindsRules(t *testing.T) {
	for name, rule := range plantedRules {
		for seed := range uint64(5) {
			r := rand.New(rand.NewPCG(seed, 1))
			tree := grown(t, ruled(r, 200, 4, 0.01, rule), Growth{Seed: seed})
			held := ruled(r, 1000, 4, 0, rule)
			regrets := held.Regrets(uses(held, tree))
			nodes := 0
			tree.Walk(func(*Node, int) { nodes++ })
			if regrets.Mean > 0.02 || nodes > 9 {
				t.Errorf("%s, seed %d: %d nodes, the mean regret at other shapes is %v", name, seed, nodes, regrets.Mean)
			}
		}
	}
}

// TestGrowFindsNoRulesInNoise: where variants differ by noise alone, a tree is one leaf, but for one matrix in fifty or so. The seeds are
// fixed, and so is the number of trees.
// Of few shapes at which the variants differ by factors, a tree is grown all the same: nothing else is known, and no error of a
// measurement is as large.
func TestGrowFromFewShapes(t *testing.T) {
	grownTrees := 0
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 3))
		m := ruled(r, 8, 3, 0.01, func(m, _, _ int64) int { return int(cut(m <= 45)) })
		grownTrees += cut(depth(grown(t, m, Growth{Seed: seed})) > 0)
	}
	if grownTrees < 33 {
		t.Errorf("of 50 matrices of 8 shapes %d have a tree", grownTrees)
	}
}

func TestGrowFindsNoRulesInNoise(t *testing.T) {
	trees, trials := 0, 0
	for _, shapes := range []int{5, 10, 40, 120} {
		for seed := range uint64(50) {
			r := rand.New(rand.NewPCG(seed, uint64(shapes)))
			m := ruled(r, shapes, 8, 0, func(_, _, _ int64) int { return 0 })
			for _, row := range m.Costs {
				for j := range row {
					row[j] = 1e-3 * math.Exp(0.02*r.NormFloat64())
				}
			}
			tree := grown(t, m, Growth{Seed: seed})
			trees += cut(depth(tree) > 0)
			trials++
		}
	}
	t.Logf("%d of %d matrices of noise have a tree", trees, trials)
	if trees > trials/25 {
		t.Errorf("%d of %d matrices of noise have a tree", trees, trials)
	}
}

// TestGrowDropsSmallGains: a rule that is worth less than MinGain is not asked about.
func TestGrowDropsSmallGains(t *testing.T) {
	rule := func(m, _, _ int64) int { return cut(m > 64) }
	m := ruled(rand.New(rand.NewPCG(1, 1)), 100, 2, 0, rule)
	if tree := grown(t, m, Growth{MinGain: 0.05}); depth(tree) != 1 {
		t.Errorf("with a least gain of 5 %% the depth is %d, want 1", depth(tree))
	}
	if tree := grown(t, m, Growth{MinGain: 0.5}); depth(tree) != 0 {
		t.Errorf("with a least gain of 50 %% the depth is %d, want 0", depth(tree))
	}
}

// TestGrowWeighsCosts: a leaf has the variant that costs least, not the one that is the best most often.
func TestGrowWeighsCosts(t *testing.T) {
	m := Matrix{Fields: []string{"n"}, Variants: []Variant{{Name: "often"}, {Name: "safe"}}}
	for n := range int64(20) {
		m.Shapes = append(m.Shapes, Shape{[]int64{7}, 1 + float64(n)/100})
		m.Costs = append(m.Costs, []float64{1, 1.01})
	}
	for i := range 4 {
		m.Costs[i][0] = 5
	}
	if got := grown(t, m, Growth{}).At([]int64{7}); got != 1 {
		t.Errorf("the tree takes %s", m.Variants[got].Name)
	}
	c, err := Classifier(nil, Growth{}).Train(m)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.At([]int64{7}); got != 0 {
		t.Errorf("the classifier takes %s", m.Variants[got].Name)
	}
}

// TestGrowAvoidsMissing: a leaf takes a variant that runs at all its shapes where there is one.
func TestGrowAvoidsMissing(t *testing.T) {
	m := Matrix{Fields: []string{"n"}, Variants: []Variant{{Name: "fast"}, {Name: "safe"}}}
	for n := range int64(30) {
		m.Shapes = append(m.Shapes, Shape{[]int64{1 + n%3}, 1})
		m.Costs = append(m.Costs, []float64{1, 3})
	}
	m.Costs[4][0] = Missing
	if got := m.Regrets(uses(m, grown(t, m, Growth{}))); math.IsInf(got.Mean, 1) {
		t.Errorf("the tree takes a variant where it has no cost")
	}
}

// TestThresholds: a threshold is a whole number from one value on and below the next, in the middle on a logarithmic scale.
func TestThresholds(t *testing.T) {
	m := Matrix{Fields: []string{"n"}, Variants: []Variant{{Name: "a"}, {Name: "b"}}}
	for i := range 40 {
		m.Shapes = append(m.Shapes, Shape{[]int64{[]int64{4, 256}[i%2]}, 1})
		m.Costs = append(m.Costs, [][]float64{{1, 2}, {2, 1}}[i%2])
	}
	tree := grown(t, m, Growth{})
	if depth(tree) != 1 || tree.Root.Threshold != 32 || tree.At([]int64{32}) != 0 || tree.At([]int64{33}) != 1 {
		t.Errorf("depth %d, threshold %v: want 1 and 32", depth(tree), tree.Root.Threshold)
	}
	gr := &grower{between: func(a, b float64) float64 { return math.Sqrt(a) * math.Sqrt(b) }}
	r := rand.New(rand.NewPCG(1, 1))
	for range 10000 {
		a := math.Floor(math.Exp2(60*r.Float64()) - 1)
		b := math.Nextafter(a, math.Inf(1))
		if a < 1<<52 {
			b = a + 1 + float64(r.IntN(3))
		}
		if at := gr.threshold(a, b); at < a || at >= b || at != math.Floor(at) {
			t.Fatalf("the threshold of %v and %v is %v", a, b, at)
		}
	}
}

// TestGrowIsNeverWorse: on the matrix itself, a tree is at least as good as its best variant alone, at each depth.
func TestGrowIsNeverWorse(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for trial := range 200 {
		m := random(r, 1+r.IntN(40), 1+r.IntN(8), []float64{0, 0.3}[trial%2], trial%3 == 0)
		one, err := Choose(m, 1, Search{})
		if err != nil {
			t.Fatal(err)
		}
		most := 1 + r.IntN(5)
		tree := grown(t, m, Growth{Depth: most, MinGain: 1e-9, Seed: uint64(trial)})
		if mean := m.Regrets(uses(m, tree)).Mean; mean > one.Mean+1e-12 && !same(mean, one.Mean) || depth(tree) > most {
			t.Fatalf("trial %d: the tree of depth %d has %v, one variant %v", trial, depth(tree), mean, one.Mean)
		}
	}
}

// shuffled returns the matrix with its rows in another order.
func shuffled(r *rand.Rand, m Matrix) (Matrix, []int) {
	order := r.Perm(len(m.Shapes))
	return m.Rows(order), order
}

// TestOrderOfRows: neither the choice nor the tree nor the certificate depends on the order of the rows.
func TestOrderOfRows(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for trial := range 3 {
		m := planted(r, 60, 12, 0.05)
		if trial == 0 {
			m = random(r, 60, 12, 0.2, true)
		}
		other, order := shuffled(r, m)
		c, err := Choose(m, 4, Search{})
		if err != nil {
			t.Fatal(err)
		}
		d, err := Choose(other, 4, Search{})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(c.Variants, d.Variants) || c.Regrets != d.Regrets || c.Bound != d.Bound || c.Nodes != d.Nodes {
			t.Fatalf("trial %d: %+v, and in another order %+v", trial, c, d)
		}
		for at, i := range order {
			if c.Use[i] != d.Use[at] {
				t.Fatalf("trial %d: shape %d uses %d, and in another order %d", trial, i, c.Use[i], d.Use[at])
			}
		}
		p, err := CrossPairs(OneForAll(), m, 4, 1)
		if err != nil {
			t.Fatal(err)
		}
		q, err := CrossPairs(OneForAll(), other, 4, 1)
		if err != nil {
			t.Fatal(err)
		}
		for at, i := range order {
			if p[i] != q[at] {
				t.Fatalf("trial %d: shape %d has the pair %+v, and in another order %+v", trial, i, p[i], q[at])
			}
		}
		for _, rule := range []Rule{Library(4, Search{}, Growth{Seed: 3}), OneForAll(), Classifier(nil, Growth{})} {
			a, err := rule.Train(m)
			if err != nil {
				t.Fatal(err)
			}
			b, err := rule.Train(other)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(a, b) {
				t.Fatalf("trial %d: the rule %s depends on the order of rows", trial, rule.Name)
			}
			one, err := Evaluate(a, m, Bootstrap{Seed: 1, Samples: 100})
			if err != nil {
				t.Fatal(err)
			}
			two, err := Evaluate(b, other, Bootstrap{Seed: 1, Samples: 100})
			if err != nil {
				t.Fatal(err)
			}
			if one != two {
				t.Fatalf("trial %d: the certificate %+v, and in another order %+v", trial, one, two)
			}
		}
	}
}

// TestFit: a tree of at most k variants, which is not worse on the matrix than that of the variants of Choose, and now and then is better.
func TestFit(t *testing.T) {
	better := 0
	for seed := range uint64(15) {
		r := rand.New(rand.NewPCG(seed, 5))
		m := random(r, 30+r.IntN(60), 8, []float64{0, 0.2}[seed%2], false)
		if seed%3 == 0 {
			m = planted(r, 80, 12, 0.1)
		}
		k := 1 + r.IntN(5)
		c, err := Choose(m, k, Search{})
		if err != nil {
			t.Fatal(err)
		}
		grow, err := Grow(m, c.Variants, Growth{Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		fit, err := Fit(m, k, Search{}, Growth{Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		one, two := m.Regrets(uses(m, grow)).Mean, m.Regrets(uses(m, fit)).Mean
		if len(fit.Variants()) > k || two > one && !same(one, two) {
			t.Errorf("seed %d: %d variants of %d, the mean regret %v, and of Grow %v", seed, len(fit.Variants()), k, two, one)
		}
		better += cut(two < one && !same(one, two))
	}
	if better == 0 {
		t.Error("Fit is never better than Grow")
	}
}
