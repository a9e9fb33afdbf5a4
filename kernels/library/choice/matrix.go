package choice

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Missing is the cost of a variant at a shape where it cannot run, or where it was dropped as clearly slower. No set and no leaf of a
// tree that leaves a shape without a cost is chosen where another has costs at shapes of more weight.
var Missing = math.Inf(1)

// maxField is the largest value of a field: every smaller whole number is exact as a double.
const maxField = 1 << 53

// Shape is one size of the problem.
type Shape struct {
	Fields []int64 // the values, in the order of Matrix.Fields
	Weight float64 // how much the shape counts; larger than 0
}

// Variant is one way to write the kernel.
type Variant struct {
	Name  string
	Tuned []int64 // the fields of the shape that it was tuned at; nil where it was tuned at none
	// Amounts are what a call of a shape does, roughly each at a price of its own; nil where nothing is known of the variant.
	Amounts []Amount
}

// Matrix is what each variant costs at each shape.
type Matrix struct {
	Fields   []string
	Fixed    map[string]int64 // what the amounts of variants name beside the fields
	Shapes   []Shape
	Variants []Variant
	Costs    [][]float64 // in seconds, by shape and then by variant; Missing where there is none
}

// Validate reports the first thing that makes the matrix unusable.
func (m Matrix) Validate() error {
	switch {
	case len(m.Fields) == 0:
		return fmt.Errorf("the matrix has no fields: name at least one field of the shape")
	case len(m.Shapes) == 0:
		return fmt.Errorf("the matrix has no shapes: measure at least one")
	case len(m.Variants) == 0:
		return fmt.Errorf("the matrix has no variants: measure at least one")
	case len(m.Costs) != len(m.Shapes):
		return fmt.Errorf("the matrix has %d rows of costs for %d shapes: want one row for each shape", len(m.Costs), len(m.Shapes))
	}
	for i, name := range m.Fields {
		if name == "" || slices.Contains(m.Fields[:i], name) {
			return fmt.Errorf("field %d has the name %q: want names that are not empty and differ", i+1, name)
		}
	}
	names := make(map[string]bool, len(m.Variants))
	for j, v := range m.Variants {
		switch {
		case v.Name == "" || names[v.Name]:
			return fmt.Errorf("variant %d has the name %q: want names that are not empty and differ", j+1, v.Name)
		case v.Tuned != nil:
			if err := m.checkFields(v.Tuned); err != nil {
				return fmt.Errorf("variant %s was tuned at a wrong shape: %w", v.Name, err)
			}
		}
		names[v.Name] = true
	}
	for i, s := range m.Shapes {
		if err := m.checkFields(s.Fields); err != nil {
			return fmt.Errorf("shape %d: %w", i+1, err)
		}
		if !(s.Weight > 0) || math.IsInf(s.Weight, 1) {
			return fmt.Errorf("shape %s has the weight %v: want a finite number larger than 0", m.ShapeName(s.Fields), s.Weight)
		}
		if err := m.checkCosts(i); err != nil {
			return fmt.Errorf("shape %s: %w", m.ShapeName(s.Fields), err)
		}
	}
	return nil
}

func (m Matrix) checkFields(fields []int64) error {
	if len(fields) != len(m.Fields) {
		return fmt.Errorf("it has %d values: want one for each of %s", len(fields), strings.Join(m.Fields, ", "))
	}
	for f, v := range fields {
		if v < 0 || v > maxField {
			return fmt.Errorf("%s=%d is out of range: want 0 to 2^53", m.Fields[f], v)
		}
	}
	return nil
}

func (m Matrix) checkCosts(shape int) error {
	row := m.Costs[shape]
	if len(row) != len(m.Variants) {
		return fmt.Errorf("it has %d costs for %d variants: want one for each, Missing where there is none", len(row), len(m.Variants))
	}
	for j, c := range row {
		if !(c > 0) {
			return fmt.Errorf("variant %s costs %v: want a number larger than 0, or Missing", m.Variants[j].Name, c)
		}
	}
	if math.IsInf(slices.Min(row), 1) {
		return fmt.Errorf("no variant has a cost there: leave the shape out, or add a variant that runs there")
	}
	return nil
}

// ShapeName writes a shape as users do: m=1,n=2.
func (m Matrix) ShapeName(fields []int64) string {
	parts := make([]string, len(fields))
	for f, v := range fields {
		parts[f] = fmt.Sprintf("%s=%d", m.Fields[f], v)
	}
	return strings.Join(parts, ",")
}

// Best returns the least cost at a shape.
func (m Matrix) Best(shape int) float64 { return slices.Min(m.Costs[shape]) }

// Regret returns by what share a variant is slower than the best one at a shape: cost/best - 1. It is infinite where the cost is
// missing.
func (m Matrix) Regret(shape, variant int) float64 { return m.Costs[shape][variant]/m.Best(shape) - 1 }

// Use returns, for each shape, which of the variants is the fastest there: -1 where none of them has a cost. Of equals it is the
// one with the smallest index.
func (m Matrix) Use(variants []int) []int {
	order := slices.Sorted(slices.Values(variants))
	use := make([]int, len(m.Shapes))
	for i, row := range m.Costs {
		use[i] = -1
		for _, j := range order {
			if !math.IsInf(row[j], 1) && (use[i] < 0 || row[j] < row[use[i]]) {
				use[i] = j
			}
		}
	}
	return use
}

// Regrets is how much slower than the best a choice is, over all shapes: 0.01 is one per cent. All are infinite where the choice
// has no cost at a shape.
type Regrets struct {
	Mean  float64 // weighted
	P95   float64 // shapes with 95 % of the weight have at most this regret
	Worst float64
}

// Regrets sums up a choice of one variant for each shape; -1 is a shape where none runs.
func (m Matrix) Regrets(use []int) Regrets {
	regrets, weights := make([]float64, len(use)), make([]float64, len(use))
	for i, j := range use {
		weights[i] = m.Shapes[i].Weight
		regrets[i] = math.Inf(1)
		if j >= 0 {
			regrets[i] = m.Regret(i, j)
		}
	}
	return summarise(regrets, weights)
}

// summarise sorts before it adds, so that the order of the shapes does not matter.
func summarise(regrets, weights []float64) Regrets {
	order := make([]int, len(regrets))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(regrets[a], regrets[b]), cmp.Compare(weights[a], weights[b]))
	})
	sum, total := 0.0, 0.0
	for _, i := range order {
		sum += regrets[i] * weights[i]
		total += weights[i]
	}
	r := Regrets{Mean: sum / total, Worst: regrets[order[len(order)-1]]}
	seen := 0.0
	for _, i := range order {
		seen += weights[i]
		r.P95 = regrets[i]
		if seen >= 0.95*total*(1-1e-12) {
			break
		}
	}
	if math.IsInf(r.Worst, 1) {
		return Regrets{r.Worst, r.Worst, r.Worst}
	}
	return r
}

// Rows returns the matrix of some shapes, by their indices.
func (m Matrix) Rows(shapes []int) Matrix {
	out := m
	out.Shapes, out.Costs = make([]Shape, len(shapes)), make([][]float64, len(shapes))
	for at, i := range shapes {
		out.Shapes[at], out.Costs[at] = m.Shapes[i], m.Costs[i]
	}
	return out
}

// Split divides the matrix for a fair trial: held has the given shapes, and train the others, without the costs of the variants
// that were tuned at a held shape, because a library that never saw the shape would not have them. Variants keep their indices. A
// shape that has no other cost is left out of train.
func (m Matrix) Split(heldOut []int) (train, held Matrix) {
	out := make([]bool, len(m.Shapes))
	for _, i := range heldOut {
		out[i] = true
	}
	hidden := make([]bool, len(m.Variants))
	for j, v := range m.Variants {
		for _, i := range heldOut {
			hidden[j] = hidden[j] || v.Tuned != nil && slices.Equal(v.Tuned, m.Shapes[i].Fields)
		}
	}
	train = m
	train.Shapes, train.Costs = nil, nil
	for i, costs := range m.Costs {
		row := slices.Clone(costs)
		for j := range row {
			if hidden[j] {
				row[j] = Missing
			}
		}
		if !out[i] && !math.IsInf(slices.Min(row), 1) {
			train.Shapes, train.Costs = append(train.Shapes, m.Shapes[i]), append(train.Costs, row)
		}
	}
	return train, m.Rows(heldOut)
}

// terms is the matrix as the searches see it: what each variant adds to the mean regret at each shape. The rows are in an order
// that depends on what they hold alone, so that sums are the same for every order of the input.
type terms struct {
	m      Matrix // with its rows in that order
	order  []int  // by row, the index of the shape in the input
	shares []float64
	costs  [][]float64
	// penalty is what a missing cost adds to the mean at the shape with the least weight: more than all regrets together.
	penalty float64
}

func newTerms(m Matrix) terms {
	order := make([]int, len(m.Shapes))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		s, t := m.Shapes[a], m.Shapes[b]
		return cmp.Or(slices.Compare(s.Fields, t.Fields), cmp.Compare(s.Weight, t.Weight), slices.Compare(m.Costs[a], m.Costs[b]))
	})
	t := terms{m: m.Rows(order), order: order, shares: make([]float64, len(order)), costs: make([][]float64, len(order))}
	total, least, worst := 0.0, math.Inf(1), 0.0
	for i, s := range t.m.Shapes {
		total, least = total+s.Weight, min(least, s.Weight)
		for j := range m.Variants {
			if r := t.m.Regret(i, j); !math.IsInf(r, 1) {
				worst = max(worst, r)
			}
		}
	}
	t.penalty = 2 * (1 + worst)
	for i, s := range t.m.Shapes {
		t.costs[i] = make([]float64, len(m.Variants))
		t.shares[i] = s.Weight / total
		best := t.m.Best(i)
		for j, c := range t.m.Costs[i] {
			if math.IsInf(c, 1) {
				t.costs[i][j] = s.Weight / least * t.penalty
			} else {
				t.costs[i][j] = t.shares[i] * (c/best - 1)
			}
		}
	}
	return t
}
