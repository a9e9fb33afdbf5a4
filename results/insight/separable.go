package insight

import (
	"cmp"
	"math"
	"slices"

	"tune/space"
)

// Separable is a model that is a sum of a constant, functions of one parameter each, and products of one factor for each parameter.
// Sums of products over all points of a space are exact: a pass through the layers of its decision diagram computes them.
type Separable interface {
	Model
	// Alone is what parameter k adds at an ordinal, whatever the values of the others are. The ordinal is -1 where it is inactive.
	Alone(k, ordinal int) float64
	// Products returns the weight of each product.
	Products() []float64
	// Factors writes the factor of parameter k in each product.
	Factors(k, ordinal int, out []float64)
}

const (
	// checked is at how many points the sum is compared with the model.
	checked = 1 << 10
	// mostMissing is the standard deviation of what the sum may leave of the model, in the same measure. In the spaces of the kernels that
	// come with tune it leaves 3e-4 or less.
	mostMissing = 1e-3
	// mostWork bounds the additions and multiplications of all passes: they take 1.5 to 2.5 seconds of CPU time.
	mostWork = 3e9
	// mostHeld bounds the memory for all sums, in numbers.
	mostHeld = 1 << 23
	// tile is how many products are multiplied with as many others in one pass.
	tile = 32
)

// negligible is how much the standard deviations of the products that are left out add up to at most, as a share of that of the model: the
// first, or the second where the first leaves too much. Most of the errors of so many products cancel.
var negligible = [...]float64{5e-3, 1e-3}

// sum is a weighted sum of products, less a constant. Product 0 is 1, with the weight 1, and stands for the constant.
type sum struct {
	*paths
	*sums
	weights []float64
	mean    float64 // over all paths
}

// throughDiagram returns the shares of a model through the diagram. ok is false where that is too much work, and where products do
// not add up to the model.
func throughDiagram(s *space.Space, m Separable) (out Shares, ok bool) {
	p, ok := pathsOf(s)
	if !ok || p.held()*len(m.Products()) > mostHeld {
		return out, false
	}
	points := draw(s, checked)
	kept, ok := choose(p, m, points, predicted(m, points))
	if !ok || p.work(1+len(p.layers)+len(kept)) > mostWork {
		return out, false
	}
	v := newSum(p, m, kept).variances()
	return v.shares(s), v.total > 0
}

// held is how many numbers of each product are in memory: those of spans, their parts, and nodes.
func (p *paths) held() (n int) {
	for k := range p.layers {
		l := &p.layers[k]
		n += 2 * l.nodes
		for _, s := range l.spans {
			n += 1 + len(s.parts)
		}
	}
	return n
}

// work is about how many additions and multiplications the passes take with so many products. Of more than leastRows values, about as many
// vectors are a basis.
func (p *paths) work(products int) float64 {
	square, linear, after := 0.0, 0.0, 0.0
	for k := len(p.layers) - 1; k >= 0; k-- {
		l := &p.layers[k]
		vectors := 0
		for _, s := range l.spans {
			vectors += min(len(s.parts), leastRows)
			square += float64(min(s.n, leastRows))
			if s.n >= leastRows {
				linear += leastRows * float64(s.n) // of basisOf
			}
		}
		linear += float64(min(l.bins, vectors)) * after
		for i := range l.edges {
			after += 2 + float64(min(len(l.spans[l.edges[i].span].parts), leastRows))
		}
		square += float64(len(l.edges))
	}
	width := float64(products)
	return width*(width+tile)/2*square + width*linear
}

// factorsOf returns the factors of all products of a model for the ordinal -1 of a parameter, then for 0, and so on.
func (p *paths) factorsOf(m Separable, k, products int) []float64 {
	n := p.layers[k].sizes
	factors := make([]float64, n*products)
	for o := range n {
		m.Factors(k, o-1, row(factors, int32(o), products))
	}
	return factors
}

// choose returns the products that are not negligible at some points. ok is false where the sum differs from what the model predicts
// there.
func choose(p *paths, m Separable, points []space.Point, y []float64) (kept []int, ok bool) {
	weights := m.Products()
	rest, products := slices.Clone(y), make([][]float64, len(points))
	for i := range products {
		products[i] = slices.Clone(weights)
	}
	for k := range p.layers {
		n := p.layers[k].sizes
		occurs := make([]bool, n)
		for _, point := range points {
			occurs[point.Ordinal(k)+1] = true
		}
		factors, alone := make([]float64, n*len(weights)), make([]float64, n)
		inTwo(n, func() func(int) {
			return func(o int) {
				if occurs[o] {
					alone[o] = m.Alone(k, o-1)
					m.Factors(k, o-1, row(factors, int32(o), len(weights)))
				}
			}
		})
		inTwo(len(points), func() func(int) {
			return func(i int) {
				o := points[i].Ordinal(k) + 1
				rest[i] -= alone[o]
				multiply(products[i], row(factors, int32(o), len(weights)))
			}
		})
	}
	for _, share := range negligible {
		kept = keep(products, share*deviation(y))
		left := slices.Clone(rest)
		for i, product := range products {
			for _, c := range kept {
				left[i] -= product[c]
			}
		}
		if deviation(left) <= mostMissing*deviation(y) {
			return kept, true
		}
	}
	return kept, false
}

// newSum makes the sum of some products of a model.
func newSum(p *paths, m Separable, kept []int) *sum {
	// What the parameters add alone are products too: all other factors are 1.
	first, of := 1+len(p.layers), m.Products()
	f := &sum{paths: p, weights: ones(first)}
	for _, c := range kept {
		f.weights = append(f.weights, of[c])
	}
	f.sums = newSums(len(f.weights), len(p.layers))
	inTwo(len(p.layers), func() func(int) {
		return func(k int) {
			all := p.factorsOf(m, k, len(of))
			rows := make([]float64, 0, p.layers[k].sizes*f.width)
			for o := range p.layers[k].sizes {
				rows = append(rows, ones(first)...)
				rows[o*f.width+1+k] = m.Alone(k, o-1)
				for _, c := range kept {
					rows = append(rows, all[o*len(of)+c])
				}
			}
			f.set(k, &p.layers[k], rows)
		}
	})
	return f
}

// counts returns the sum of product 0 alone, which is 1: sums over paths are their probabilities.
func (p *paths) counts() *sum {
	f := &sum{paths: p, sums: newSums(1, len(p.layers)), weights: ones(1)}
	for k := range p.layers {
		f.set(k, &p.layers[k], ones(p.layers[k].sizes))
	}
	return f
}

// keep returns the columns of a matrix without those of the least standard deviations, which add up to the given one at most.
func keep(rows [][]float64, negligible float64) (kept []int) {
	column := make([]float64, len(rows))
	deviations := make([]float64, len(rows[0]))
	order := make([]int, len(rows[0]))
	for c := range order {
		for i := range rows {
			column[i] = rows[i][c]
		}
		order[c], deviations[c] = c, deviation(column)
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(deviations[a], deviations[b]) })
	sum := 0.0
	for i, c := range order {
		if sum += deviations[c]; sum > negligible {
			kept = order[i:]
			break
		}
	}
	slices.Sort(kept)
	return kept
}

// deviation is the standard deviation of values.
func deviation(values []float64) float64 {
	mean, squares := 0.0, 0.0
	for _, v := range values {
		mean += v / float64(len(values))
	}
	for _, v := range values {
		squares += (v - mean) * (v - mean) / float64(len(values))
	}
	return math.Sqrt(squares)
}
