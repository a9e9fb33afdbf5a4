package choice

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"tune/space"
)

// Amount is something that a call of a variant does, such as steps of a loop: the product of its factors, each a formula over the
// fields of the shape. Without factors it is 1. A factor is a double in the product, as in a Feature.
type Amount []space.Formula

// ParseAmounts reads amounts, each by its factors.
func ParseAmounts(texts [][]string) ([]Amount, error) {
	var out []Amount
	for _, factors := range texts {
		amount := Amount{}
		for _, text := range factors {
			f, err := space.ParseFormula(text)
			if err != nil {
				return nil, err
			}
			amount = append(amount, f)
		}
		out = append(out, amount)
	}
	return out, nil
}

// value returns the product; NaN where a factor has no value. A factor that is false ends it: the product is 0, whatever the others are.
func (a Amount) value(of map[string]space.Value) float64 {
	product := 1.0
	for _, f := range a {
		v, err := f.Value(of)
		x, ok := v.Number()
		if is, truth := v.Any().(bool); truth {
			if !is {
				return 0
			}
			x, ok = 1, true
		}
		if err != nil || !ok {
			return math.NaN()
		}
		product *= x
	}
	return product
}

// unknown are the amounts of a variant of which nothing is known: the products of some of the fields, which may each be a loop.
func unknown(fields []string) []Amount {
	out := []Amount{{}}
	for _, name := range fields {
		f, err := space.ParseFormula(name)
		if err != nil {
			return nil // no name in a formula
		}
		for _, a := range slices.Clone(out) {
			if len(fields) <= mostLoops || len(a) == 0 {
				out = append(out, append(slices.Clone(a), f))
			}
		}
	}
	return out
}

// mostLoops is the number of fields up to which all of their products are amounts.
const mostLoops = 4

// Term is a part of a predicted cost: an amount, and what one of it costs, in seconds.
type Term struct {
	Weight float64
	Amount Amount
}

// Prediction is what a variant is predicted to cost: the sum of its terms, from left to right.
type Prediction struct {
	Variant int
	Terms   []Term
}

// Known is a shape of which measurements say which variant it takes.
type Known struct {
	Fields  []int64
	Variant int
}

// Predictor chooses the variant of the least predicted cost, of equals the first, and at known shapes what is known.
type Predictor struct {
	Fields      []string
	Fixed       map[string]int64 // what else formulas name
	Predictions []Prediction
	Known       []Known
}

// At returns the variant that a shape takes.
func (p *Predictor) At(fields []int64) int {
	for _, k := range p.Known {
		if slices.Equal(k.Fields, fields) {
			return k.Variant
		}
	}
	return p.predicted(fields)
}

func (p *Predictor) predicted(fields []int64) int {
	of := p.values(fields)
	best, least := -1, 0.0
	for _, one := range p.Predictions {
		if cost := one.cost(of); best < 0 || cost < least {
			best, least = one.Variant, cost
		}
	}
	return best
}

// values gives the fields of a shape their names.
func (p *Predictor) values(fields []int64) map[string]space.Value {
	of := make(map[string]space.Value, len(fields)+len(p.Fixed))
	for name, v := range p.Fixed {
		of[name] = space.IntValue(v)
	}
	for i, name := range p.Fields {
		of[name] = space.IntValue(fields[i])
	}
	return of
}

// cost adds up the terms. The conversion keeps the machine from adding a product that is not rounded, as C is told not to.
func (p Prediction) cost(of map[string]space.Value) float64 {
	sum := 0.0
	for _, t := range p.Terms {
		sum += float64(t.Weight * t.Amount.value(of))
	}
	return sum
}

// Variants returns the variants that a shape may take, ascending.
func (p *Predictor) Variants() []int {
	var out []int
	for _, one := range p.Predictions {
		out = append(out, one.Variant)
	}
	return slices.Sorted(slices.Values(out))
}

// leastRows is how many measured shapes the costs of a variant are fitted to, at least.
const leastRows = 8

// leastJudged is how many shapes tell a tree and predicted costs apart, at least.
const leastJudged = 16

// Dispatch returns what chooses among at most k variants: the tree of Fit, or one leaf with predicted costs. These are taken where
// they have the smaller regret in cross-validation, at the shapes that no variant was tuned at. A library is called at others too, and
// the variants that were tuned at a shape would be missed where it is held out. With few such shapes the tree stays.
//
// The costs of the predictor are those of the at most k variants of Choose. What one of each amount costs is fitted to the costs of
// the variant by least squares of the relative errors, where none is negative. The shape that it was tuned at is left out:
// its code may be another one there. Known are the shapes of the matrix at which another variant is measurably faster than the
// predicted one. A variant that does not run at all shapes is not among them.
func Dispatch(m Matrix, k int, s Search, g Growth) (*Tree, error) {
	tree, err := Fit(m, k, s, g)
	if err != nil {
		return nil, err
	}
	t := newTerms(m)
	if g, err = g.check(m, t.undominated(nil)); err != nil {
		return nil, err
	}
	table := newAmountTable(m)
	p := t.predictor(k, s, table)
	if p == nil || !t.predictsBetter(k, s, g, table) {
		return tree, nil
	}
	return &Tree{g.Features, &Node{Variant: -1, Predictor: p}}, nil
}

// predictsBetter compares a tree with predicted costs, each made from the shapes of the other folds.
func (t terms) predictsBetter(k int, s Search, g Growth, table *amountTable) bool {
	var judged []int
	for i, shape := range t.m.Shapes {
		if !slices.ContainsFunc(t.m.Variants, func(v Variant) bool { return slices.Equal(v.Tuned, shape.Fields) }) {
			judged = append(judged, i)
		}
	}
	if len(judged) < leastJudged {
		return false
	}
	folds, order := min(g.Folds, len(judged)), rand.New(rand.NewPCG(g.Seed, uint64(len(judged)))).Perm(len(judged))
	byTree, byCosts := 0.0, 0.0
	for fold := range folds {
		var heldOut []int
		for at := fold; at < len(order); at += folds {
			heldOut = append(heldOut, judged[order[at]])
		}
		train, _ := t.m.Split(heldOut)
		rest := newTerms(train)
		p := rest.predictor(k, s, table)
		if p == nil {
			return false
		}
		tree := rest.fitTree(k, s, g)
		for _, i := range heldOut {
			byTree += t.judged(i, tree.At(t.m.Shapes[i].Fields))
			byCosts += t.judged(i, p.At(t.m.Shapes[i].Fields))
		}
	}
	return byCosts < byTree*(1-rounding)
}

// predictor fits the costs of the variants; nil where there are too few variants or shapes for that.
func (t terms) predictor(k int, s Search, table *amountTable) *Predictor {
	var which []int
	for j := range t.m.Variants {
		if table.amounts[j] != nil && !slices.ContainsFunc(t.m.Costs, func(row []float64) bool { return math.IsInf(row[j], 1) }) {
			which = append(which, j)
		}
	}
	if len(which) < 2 || len(t.m.Shapes) <= leastRows || slices.ContainsFunc(s.Must, func(j int) bool { return !slices.Contains(which, j) }) {
		return nil
	}
	narrow := t.only(which)
	p := &Predictor{Fields: t.m.Fields, Fixed: t.m.Fixed}
	for _, at := range narrow.solve(k, s.among(which), noGoal).set {
		j := which[at]
		p.Predictions = append(p.Predictions, Prediction{j, t.fit(j, table)})
	}
	if len(p.Predictions) < 2 {
		return nil
	}
	for i, shape := range t.m.Shapes {
		best := p.Predictions[0].Variant
		for _, one := range p.Predictions[1:] {
			if t.m.Costs[i][one.Variant] < t.m.Costs[i][best] {
				best = one.Variant
			}
		}
		if t.m.Costs[i][p.predicted(shape.Fields)] > (1+leastKnown)*t.m.Costs[i][best] {
			p.Known = append(p.Known, Known{shape.Fields, best})
		}
	}
	return p
}

// leastKnown is by how much a measured shape has to be faster with another variant than the predicted one, to be kept.
const leastKnown = 0.02

// only returns the terms of some variants.
func (t terms) only(which []int) terms {
	m := t.m
	m.Variants, m.Costs = nil, nil
	for _, j := range which {
		m.Variants = append(m.Variants, t.m.Variants[j])
	}
	for _, row := range t.m.Costs {
		var costs []float64
		for _, j := range which {
			costs = append(costs, row[j])
		}
		m.Costs = append(m.Costs, costs)
	}
	return newTerms(m)
}

// among returns the search with indices among some variants.
func (s Search) among(which []int) Search {
	out := s
	out.Must = nil
	for _, j := range s.Must {
		out.Must = append(out.Must, slices.Index(which, j))
	}
	return out
}

// amountTable has the amounts of each variant at each shape, which are computed once.
type amountTable struct {
	amounts [][]Amount // by variant; nil where they have no value at a shape
	values  []map[string][]float64
}

func newAmountTable(m Matrix) *amountTable {
	t := &amountTable{amounts: make([][]Amount, len(m.Variants)), values: make([]map[string][]float64, len(m.Variants))}
	names := Predictor{Fields: m.Fields, Fixed: m.Fixed}
	for j, v := range m.Variants {
		amounts := v.Amounts
		if amounts == nil {
			amounts = unknown(m.Fields)
		}
		t.values[j] = make(map[string][]float64, len(m.Shapes))
		for _, s := range m.Shapes {
			row, of := make([]float64, len(amounts)), names.values(s.Fields)
			for f, a := range amounts {
				row[f] = a.value(of)
				if !(row[f] >= 0) || math.IsInf(row[f], 1) {
					amounts = nil
					break
				}
			}
			if amounts == nil {
				break
			}
			t.values[j][fmt.Sprint(s.Fields)] = row
		}
		t.amounts[j] = amounts
	}
	return t
}

// fit returns the terms of the cost of a variant.
func (t terms) fit(j int, table *amountTable) (out []Term) {
	var rows [][]float64
	for i, s := range t.m.Shapes {
		if slices.Equal(s.Fields, t.m.Variants[j].Tuned) {
			continue
		}
		row := slices.Clone(table.values[j][fmt.Sprint(s.Fields)])
		for f := range row {
			row[f] /= t.m.Costs[i][j]
		}
		rows = append(rows, row)
	}
	for f, w := range leastSquares(rows) {
		if w > 0 {
			out = append(out, Term{rounded(w), table.amounts[j][f]})
		}
	}
	return out
}

// rounded returns a number with as many digits as a price is known to, so that people can read it.
func rounded(x float64) float64 {
	out, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 5, 64), 64)
	if err != nil {
		panic(err) // it is a finite number
	}
	return out
}

// leastSquares returns the weights, none negative, with which the sums of the rows are nearest to 1: of each column in turn the best one,
// again and again.
func leastSquares(rows [][]float64) []float64 {
	n := len(rows[0])
	scale, square, sum, x := make([]float64, n), make([][]float64, n), make([]float64, n), make([]float64, n)
	for _, r := range rows {
		for f, v := range r {
			scale[f] += v * v
		}
	}
	for f := range n {
		scale[f] = 1 / math.Sqrt(scale[f])
		square[f] = make([]float64, n)
	}
	for _, r := range rows {
		for f := range n {
			if math.IsInf(scale[f], 1) || r[f] == 0 {
				continue
			}
			sum[f] += r[f] * scale[f]
			for g := range n {
				if r[g] != 0 {
					square[f][g] += r[f] * scale[f] * r[g] * scale[g]
				}
			}
		}
	}
	for range leastSweeps {
		for f := range n {
			if math.IsInf(scale[f], 1) {
				continue
			}
			rest := sum[f]
			for g := range n {
				if g != f {
					rest -= float64(square[f][g] * x[g])
				}
			}
			x[f] = max(rest/(square[f][f]+ridge), 0)
		}
	}
	for f := range x {
		if x[f] > 0 {
			x[f] *= scale[f]
		}
	}
	return x
}

const (
	leastSweeps = 500
	ridge       = 1e-2 // of the square of a column, so that equal columns share what they explain
)
