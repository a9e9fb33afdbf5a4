package choice

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
)

// sgemm returns what 18 variants of a product cost at 167 shapes on a Zen 4, in ns: testdata/sgemm.txt has first the shape that each variant
// was tuned at and its point, and then a shape and its costs in each line. The code was that of version 4 of the kernel, and
// testdata/sgemm-amounts.txt has what it did.
func sgemm(t testing.TB) Matrix { return measured(t, "testdata/sgemm") }

// sgemm5 returns the costs of the same variants as version 5 of the kernel writes them, measured on a busy machine with warm caches, and
// what the code of version 6 does.
func sgemm5(t testing.TB) Matrix { return measured(t, "testdata/sgemm5") }

// recordedAmounts reads what each variant does, by the shape that it was tuned at.
func recordedAmounts(t testing.TB, file string) map[string][][]string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	of := map[string][][]string{}
	for block := range strings.SplitSeq(strings.TrimPrefix(string(text), "# "), "\n# ") {
		tuned, lines, _ := strings.Cut(block, "\n")
		for line := range strings.SplitSeq(strings.TrimSuffix(lines, "\n"), "\n") {
			var factors []string
			if line != "" {
				factors = strings.Split(line, "\t")
			}
			of[tuned] = append(of[tuned], factors)
		}
	}
	return of
}

// measured reads a file of variants and costs, and the one of what the variants do.
func measured(t testing.TB, name string) Matrix {
	t.Helper()
	amounts := recordedAmounts(t, name+"-amounts.txt")
	f, err := os.Open(name + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m := Matrix{Fields: []string{"m", "n", "k"}}
	lines := bufio.NewScanner(f)
	for lines.Scan() && lines.Text() != "" {
		tuned, _, _ := strings.Cut(lines.Text(), " ")
		of, err := ParseAmounts(amounts[tuned])
		if err != nil {
			t.Fatal(err)
		}
		m.Variants = append(m.Variants, Variant{Name: tuned, Tuned: shapeOf(t, tuned), Amounts: of})
	}
	for lines.Scan() {
		numbers := make([]float64, 3+len(m.Variants))
		for i, word := range strings.Fields(lines.Text()) {
			if _, err := fmt.Sscan(word, &numbers[i]); err != nil {
				t.Fatal(err)
			}
		}
		m.Shapes = append(m.Shapes, Shape{[]int64{int64(numbers[0]), int64(numbers[1]), int64(numbers[2])}, 1})
		m.Costs = append(m.Costs, numbers[3:])
	}
	return m
}

func shapeOf(t testing.TB, text string) []int64 {
	t.Helper()
	d := make([]int64, 3)
	if _, err := fmt.Sscanf(text, "%d,%d,%d", &d[0], &d[1], &d[2]); err != nil {
		t.Fatal(err)
	}
	return d
}

// tunedAt returns the index of the variant that was tuned at a shape; -1 where there is none.
func (m Matrix) tunedAt(fields []int64) int {
	return slices.IndexFunc(m.Variants, func(v Variant) bool { return slices.Equal(v.Tuned, fields) })
}

// elsewhere returns the regrets of a rule at shapes that it did not see and no variant was tuned at, in ten folds. It is made from the shapes
// that variants were tuned at and others, as many as there are to be.
func elsewhere(t testing.TB, r Rule, m Matrix, train int, seed uint64) Regrets {
	t.Helper()
	var tuned, others []int
	for i, s := range m.Shapes {
		if m.tunedAt(s.Fields) >= 0 {
			tuned = append(tuned, i)
		} else {
			others = append(others, i)
		}
	}
	random := rand.New(rand.NewPCG(seed, 1))
	random.Shuffle(len(others), func(a, b int) { others[a], others[b] = others[b], others[a] })
	use := slices.Repeat([]int{-1}, len(m.Shapes))
	const folds = 10
	for fold := range folds {
		var rest []int
		for at, i := range others {
			if at%folds != fold {
				rest = append(rest, i)
			}
		}
		random.Shuffle(len(rest), func(a, b int) { rest[a], rest[b] = rest[b], rest[a] })
		c, err := r.Train(m.Rows(append(slices.Clone(tuned), rest[:min(train-len(tuned), len(rest))]...)))
		if err != nil {
			t.Fatal(err)
		}
		for at := fold; at < len(others); at += folds {
			use[others[at]] = c.At(m.Shapes[others[at]].Fields)
		}
	}
	var chosen []int
	for _, i := range others {
		chosen = append(chosen, use[i])
	}
	return m.Rows(others).Regrets(chosen)
}

// byCosts is the rule of predicted costs alone.
var byCosts = Rule{"predicted costs", func(m Matrix) (Chooser, error) {
	return newTerms(m).predictor(12, Search{}, newAmountTable(m)), nil
}}

// byTree is the rule of trees alone.
var byTree = Rule{"tree", func(m Matrix) (Chooser, error) { return Fit(m, 12, Search{}, Growth{Seed: 1}) }}

// TestFitWithMoreVariants: a tree that may have more variants is not worse on the matrix.
func TestFitWithMoreVariants(t *testing.T) {
	m := sgemm(t)
	m = m.Rows(rand.New(rand.NewPCG(1, 1)).Perm(len(m.Shapes))[:48])
	before := 0.0
	for k := 1; k <= 12; k++ {
		tree, err := Fit(m, k, Search{}, Growth{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		mean := m.Regrets(uses(m, tree)).Mean
		if k > 1 && mean > before+1e-12 {
			t.Errorf("the tree of %d variants has the mean regret %.4f, and that of %d has %.4f", k, mean, k-1, before)
		}
		before = mean
	}
}

// TestPredictedCosts: at shapes that were not measured, predicted costs choose better than a tree, from few shapes and from many.
func TestPredictedCosts(t *testing.T) {
	m := sgemm(t)
	for _, c := range []struct {
		train     int
		mean, p95 float64
	}{{37, 0.16, 0.7}, {150, 0.08, 0.4}} {
		costs := elsewhere(t, byCosts, m, c.train, 1)
		t.Logf("%d shapes: mean %.3f, p95 %.3f", c.train, costs.Mean, costs.P95)
		if costs.Mean > c.mean || costs.P95 > c.p95 {
			t.Errorf("%d shapes: the mean regret is %.3f, and the 95th percentile %.3f; want at most %.3f and %.3f", c.train, costs.Mean, costs.P95, c.mean, c.p95)
		}
	}
	costs, tree := elsewhere(t, byCosts, m, 48, 1), elsewhere(t, byTree, m, 48, 1)
	if t.Logf("48 shapes: %.3f, with a tree %.3f", costs.Mean, tree.Mean); costs.Mean > tree.Mean/2 {
		t.Errorf("the mean regret is %.3f by predicted costs, and %.3f by a tree", costs.Mean, tree.Mean)
	}
}

// TestPredictedCostsOfStrips: the same for newer variants. They are more alike, so that a tree errs less too.
func TestPredictedCostsOfStrips(t *testing.T) {
	m := sgemm5(t)
	costs, tree := elsewhere(t, byCosts, m, 48, 1), elsewhere(t, byTree, m, 48, 1)
	t.Logf("48 shapes: mean %.3f, p95 %.3f, with a tree %.3f", costs.Mean, costs.P95, tree.Mean)
	if costs.Mean > 0.1 || costs.P95 > 0.5 || costs.Mean > 0.7*tree.Mean {
		t.Errorf("the mean regret is %.3f, the 95th percentile %.3f, and the mean with a tree %.3f", costs.Mean, costs.P95, tree.Mean)
	}
}

// TestDispatch: predicted costs are taken where they are better at other shapes, and at the shapes of the matrix they are near the best.
func TestDispatch(t *testing.T) {
	m := sgemm(t)
	m = m.Rows(rand.New(rand.NewPCG(2, 1)).Perm(len(m.Shapes))[:60])
	d, err := Dispatch(m, 12, Search{}, Growth{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	best, err := Choose(m, 12, Search{})
	if err != nil {
		t.Fatal(err)
	}
	if d.Root.Predictor == nil || len(d.Variants()) > 12 {
		t.Fatalf("the dispatcher has predicted costs: %v, and %d variants", d.Root.Predictor != nil, len(d.Variants()))
	}
	if mean := m.Regrets(uses(m, d)).Mean; mean > best.Mean+leastKnown {
		t.Errorf("the mean regret is %.4f at the shapes of the matrix, and that of its variants %.4f", mean, best.Mean)
	}
	// From the shapes that variants were tuned at, and a few others, nothing can be told of others: the tree stays.
	var few []int
	for i, s := range m.Shapes {
		if m.tunedAt(s.Fields) >= 0 || len(few) < leastJudged-2 {
			few = append(few, i)
		}
	}
	if d, err = Dispatch(m.Rows(few), 12, Search{}, Growth{Seed: 1}); err != nil || d.Root.Predictor != nil {
		t.Errorf("of %d shapes there are predicted costs: %v", len(few), err)
	}
}

// TestDispatchKeepsTrees: a rule that a tree finds is not replaced by predicted costs that miss it.
func TestDispatchKeepsTrees(t *testing.T) {
	for name, rule := range plantedRules {
		r := rand.New(rand.NewPCG(1, 1))
		m, held := ruled(r, 60, 4, 0.01, rule), ruled(r, 500, 4, 0, rule)
		d, err := Dispatch(m, 4, Search{}, Growth{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		tree, err := Fit(m, 4, Search{}, Growth{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := held.Regrets(uses(held, d)).Mean, held.Regrets(uses(held, tree)).Mean; got > want+1e-12 {
			t.Errorf("%s: the mean regret at other shapes is %.4f, and that of the tree %.4f", name, got, want)
		}
	}
}

// TestPredictorFindsPrices: where costs are sums of amounts, the prices are found, and so are the variants at any other shape.
func TestPredictorFindsPrices(t *testing.T) {
	amounts, err := ParseAmounts([][]string{{}, {"n // 16"}, {"n % 16", "k"}, {"n", "k"}, {"n > 100", "n"}})
	if err != nil {
		t.Fatal(err)
	}
	prices := [][]float64{{50, 3, 0.5, 0, 0}, {5, 0, 0, 0.4, 2}}
	cost := func(v int, n, k int64) float64 {
		far := int64(0)
		if n > 100 {
			far = n
		}
		p := prices[v]
		return p[0] + p[1]*float64(n/16) + p[2]*float64(n%16*k) + p[3]*float64(n*k) + p[4]*float64(far)
	}
	m, r := Matrix{Fields: []string{"n"}, Fixed: map[string]int64{"k": 3}}, rand.New(rand.NewPCG(1, 1))
	for v := range prices {
		m.Variants = append(m.Variants, Variant{Name: fmt.Sprint(v), Amounts: amounts})
	}
	for range 40 {
		n := 1 + r.Int64N(1<<(1+r.IntN(12)))
		m.Shapes, m.Costs = append(m.Shapes, Shape{[]int64{n}, 1}), append(m.Costs, []float64{cost(0, n, 3), cost(1, n, 3)})
	}
	p := newTerms(m).predictor(2, Search{}, newAmountTable(m))
	if len(p.Known) > 0 {
		t.Errorf("the prediction misses %d shapes of the matrix", len(p.Known))
	}
	for n := int64(1); n < 5000; n++ {
		if a, b, got := cost(0, n, 3), cost(1, n, 3), p.At([]int64{n}); max(a, b) > 1.02*min(a, b) && (got == 0) != (a < b) {
			t.Fatalf("n=%d: variant %d of %g and %g", n, got, a, b)
		}
	}
}

// TestPredictorLeavesOut: a variant that does not run at a shape of the matrix, and one whose amounts have no value there, are not predicted,
// and a prediction of one is none.
func TestPredictorLeavesOut(t *testing.T) {
	wrong, err := ParseAmounts([][]string{{"n // (n - 5)"}})
	if err != nil {
		t.Fatal(err)
	}
	m := Matrix{Fields: []string{"n"}, Variants: []Variant{{Name: "a"}, {Name: "b"}, {Name: "c"}, {Name: "d", Amounts: wrong}}}
	for n := int64(1); n < 30; n++ {
		m.Shapes, m.Costs = append(m.Shapes, Shape{[]int64{n}, 1}), append(m.Costs, []float64{float64(100 + n), float64(20 + 8*n), 1, 2})
	}
	m.Costs[3][2] = Missing
	p := newTerms(m).predictor(4, Search{}, newAmountTable(m))
	if got := p.Variants(); !slices.Equal(got, []int{0, 1}) {
		t.Errorf("the costs of %v are predicted, want those of 0 and 1", got)
	}
	if p := newTerms(m).predictor(4, Search{Must: []int{3}}, newAmountTable(m)); p != nil {
		t.Error("a variant that must be there is not")
	}
	m.Costs[4][1] = Missing
	if p := newTerms(m).predictor(4, Search{}, newAmountTable(m)); p != nil {
		t.Errorf("the costs of %v are predicted", p.Variants())
	}
}
