package choice

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// sizes is a matrix by hand: three sizes, each with the variant that was tuned there.
func sizes() Matrix {
	return Matrix{
		Fields:   []string{"n"},
		Shapes:   []Shape{{[]int64{10}, 1}, {[]int64{100}, 1}, {[]int64{1000}, 2}},
		Variants: []Variant{{Name: "small", Tuned: []int64{10}}, {Name: "middle", Tuned: []int64{100}}, {Name: "large", Tuned: []int64{1000}}, {Name: "plain"}},
		Costs: [][]float64{
			{1, 2, 4, 1.5},
			{2, 1, 2, 1.5},
			{8, 2, 1, 1.5},
		},
	}
}

// TestRules: each rule takes the variant that its definition says, at shapes of the matrix and between them.
func TestRules(t *testing.T) {
	for _, c := range []struct {
		rule Rule
		want map[int64]string
	}{
		{OneForAll(), map[int64]string{1: "plain", 100: "plain", 9999: "plain"}},
		{Nearest(), map[int64]string{0: "small", 10: "small", 30: "small", 35: "middle", 300: "middle", 330: "large", 1 << 40: "large"}},
		{Wisdom(), map[int64]string{0: "small", 10: "small", 54: "small", 55: "small", 56: "middle", 100: "middle", 540: "middle", 560: "large", 1 << 40: "large"}},
		{Classifier(nil, Growth{}), map[int64]string{1: "small", 55: "small", 56: "middle", 550: "middle", 551: "large"}},
	} {
		m := sizes()
		chooser, err := c.rule.Train(m)
		if err != nil {
			t.Fatal(err)
		}
		for n, want := range c.want {
			if got := m.Variants[chooser.At([]int64{n})].Name; got != want {
				t.Errorf("%s at n=%d: %s, want %s", c.rule.Name, n, got, want)
			}
		}
	}
}

// TestRecords: of two variants that were tuned at a shape the faster is its record, and one without a cost is none.
func TestRecords(t *testing.T) {
	m := sizes()
	m.Variants[3].Tuned = []int64{10}
	m.Costs[0][0] = Missing
	c, err := Wisdom().Train(m)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.At([]int64{10}); got != 3 {
		t.Errorf("n=10 takes variant %d, want 3", got)
	}
	for j := range m.Variants {
		m.Variants[j].Tuned = nil
	}
	if _, err := Nearest().Train(m); err == nil || !strings.Contains(err.Error(), "no variant was tuned") {
		t.Errorf("without records the error is %v", err)
	}
}

// TestSplit: what was tuned at a held shape is hidden from the other half, and the indices stay.
func TestSplit(t *testing.T) {
	m := sizes()
	train, held := m.Split([]int{2})
	if len(train.Shapes) != 2 || len(held.Shapes) != 1 || held.Costs[0][2] != 1 {
		t.Fatalf("train has %d shapes, held %d", len(train.Shapes), len(held.Shapes))
	}
	for i, row := range train.Costs {
		if !math.IsInf(row[2], 1) || math.IsInf(row[1], 1) || m.Costs[i][2] > 100 {
			t.Errorf("row %d of train is %v, and of the matrix %v", i, row, m.Costs[i])
		}
	}
	only := m
	only.Costs = [][]float64{{Missing, Missing, 3, Missing}, {1, 1, 1, 1}, {1, 1, 1, 1}}
	if train, _ := only.Split([]int{2}); len(train.Shapes) != 1 || train.Shapes[0].Fields[0] != 100 {
		t.Errorf("a shape without other costs stays in train: %v", train.Shapes)
	}
}

// TestCrossPairs: each shape is judged once, by a chooser that did not see it: a rule that remembers is found out.
func TestCrossPairs(t *testing.T) {
	m := sizes()
	pairs, err := CrossPairs(Wisdom(), m, 3, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{2, 2, 2} { // the neighbour's variant, and at 100 that of 10, which is nearer
		if pairs[i].Ratio != want || pairs[i].Weight != m.Shapes[i].Weight {
			t.Errorf("shape %d: %+v, want the ratio %v", i, pairs[i], want)
		}
	}
	for _, folds := range []int{1, 4} {
		if _, err := CrossPairs(Wisdom(), m, folds, 1); err == nil {
			t.Errorf("%d folds of 3 shapes are accepted", folds)
		}
	}
}

// TestLibraryBeatsRules: where the first variant is good at few rows and the second at many, and the others are often the fastest by
// little and at times slow by a lot, labels are mostly noise. A library is better than labels, than one variant for all, and than the
// records of neighbours.
func TestLibraryBeatsRules(t *testing.T) {
	mean := map[string]float64{}
	const seeds = 2
	for seed := range uint64(seeds) {
		r := rand.New(rand.NewPCG(seed, 2))
		m := ruled(r, 120, 6, 0, func(_, _, _ int64) int { return 0 })
		for i, s := range m.Shapes {
			for j := range m.Variants {
				m.Costs[i][j] = math.Exp(0.03 * r.NormFloat64())
				switch {
				case j == cut(s.Fields[0] > 64):
					m.Costs[i][j] *= 1.01
				case r.IntN(4) == 0:
					m.Costs[i][j] *= 4
				}
			}
		}
		for j := range m.Variants {
			m.Variants[j].Tuned = m.Shapes[j].Fields
		}
		for _, r := range []Rule{Library(3, Search{}, Growth{}), OneForAll(), Nearest(), Wisdom(), Classifier(nil, Growth{})} {
			pairs, err := CrossPairs(r, m, 5, seed)
			if err != nil {
				t.Fatal(err)
			}
			c, err := Certify(pairs, Bootstrap{Samples: 100})
			if err != nil {
				t.Fatal(err)
			}
			mean[r.Name] += c.Mean.Value / seeds
		}
	}
	t.Log(mean)
	for name, other := range mean {
		if name != "library" && mean["library"] > 0.9*other {
			t.Errorf("the library has the mean regret %v, and %s %v", mean["library"], name, other)
		}
	}
}

// TestGini: of shapes with two labels, half and half, half would be wrong; of one label, none.
func TestGini(t *testing.T) {
	for _, c := range []struct {
		counts []float64
		want   float64
	}{{[]float64{3, 3}, 3}, {[]float64{5, 0}, 0}, {[]float64{0, 0}, 0}, {[]float64{1, 3}, 1.5}} {
		if got := gini(c.counts); got != c.want {
			t.Errorf("%v: %v, want %v", c.counts, got, c.want)
		}
	}
}

// TestFeatures: the products of all fields, each once.
func TestFeatures(t *testing.T) {
	fields := []string{"m", "n", "k"}
	var names []string
	for _, f := range Features(3) {
		names = append(names, f.Name(fields))
	}
	if want := []string{"m", "n", "k", "m*n", "m*k", "n*k", "m*n*k"}; !slices.Equal(names, want) {
		t.Errorf("got %v, want %v", names, want)
	}
	big := []int64{1 << 20, 1 << 20, 1 << 20}
	if got := Features(3)[6].Value(big); got != 1<<60 {
		t.Errorf("the product of %v is %v", big, got)
	}
	if n := len(Features(1)) + len(Features(2)); n != 1+3 {
		t.Errorf("one and two fields have %d features, want 4", n)
	}
}
