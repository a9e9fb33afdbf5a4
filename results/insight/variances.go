package insight

import (
	"math"

	"golang.org/x/sync/errgroup"

	"tune/internal/linear"
	"tune/space"
)

// variances are the variance of a sum, that of its means at each bin of a parameter, and what the means at each pair of bins of two
// parameters vary beyond those at the bins of each. Those of parameters are where they are active, times the probability of that.
type variances struct {
	total  float64
	single []float64
	pairs  [][]float64 // of a parameter and each later one
	varied []bool      // whether a parameter has several bins
}

// variances computes them.
func (f *sum) variances() *variances {
	v := &variances{}
	after := f.backward()
	f.mean = linear.Dot(f.weights[1:], after[0][1:])
	before := f.weights
	alone := f.newBins()
	for k := range f.layers {
		f.collect(k, before, after[k+1], alone)
		v.single = append(v.single, squaresBetween(alone.groups))
		var used []int
		for bin, g := range alone.groups {
			if g.mass > 0 {
				used = append(used, bin)
			}
		}
		v.varied = append(v.varied, len(used) > 1)
		v.pairs = append(v.pairs, f.pairs(k, used, before, after))
		before = f.forward(k, before, nil)
	}
	v.total = f.squares() - f.mean*f.mean
	return v
}

// pairs returns what parameter k and each later one vary together, given the bins of the former.
func (f *sum) pairs(k int, used []int, before []float64, after [][]float64) (out []float64) {
	later := f.layers[k+1:]
	cells := make([][]group, len(later)) // those of each bin of k, one after the other
	for j := range later {
		cells[j] = make([]group, len(used)*later[j].bins)
	}
	if len(later) > 0 {
		inTwo(len(used), func() func(i int) {
			p := &pass{row: f.newBins()}
			return func(i int) {
				p.clamped(f, k, used[i], before, after, func(j int, of []group) { copy(cells[j][i*len(of):], of) })
			}
		})
	}
	for j := range later {
		first, second := margins(cells[j], len(used), later[j].bins)
		out = append(out, squaresBetween(cells[j])-squaresBetween(first)-squaresBetween(second))
	}
	return out
}

// pass is the memory of a pass through the layers.
type pass struct {
	from, to []float64
	row      *bins
}

// clamped calls a function with the groups of each parameter after parameter k, for the paths through a bin of the latter.
func (p *pass) clamped(f *sum, k, bin int, before []float64, after [][]float64, found func(j int, of []group)) {
	p.from = zeros(p.from, f.nodes(k+1)*f.width)
	l := &f.layers[k]
	for i := range l.edges {
		e := &l.edges[i]
		for j, part := range l.spans[e.span].parts {
			if int(part.bin) == bin {
				addProduct(row(p.from, e.to, f.width), e.p, row(f.parts[k][e.span], int32(j), f.width), row(before, e.from, f.width))
			}
		}
	}
	for j := k + 1; j < len(f.layers); j++ {
		f.collect(j, p.from, after[j+1], p.row)
		found(j-k-1, p.row.groups)
		p.from, p.to = f.forward(j, p.from, p.to), p.from
	}
}

// bins are the groups of a parameter, and the memory for a product of all products.
type bins struct {
	groups  []group
	product []float64
}

func (f *sum) newBins() *bins { return &bins{product: make([]float64, f.width)} }

// squares returns the mean square of the sum, without its constant. The products of all pairs of products are again products; those
// of a tile go through the diagram together.
func (f *sum) squares() (total float64) {
	type block struct{ a, b int }
	var blocks []block
	for a := 1; a < f.width; a += tile {
		for b := a; b < f.width; b += tile {
			blocks = append(blocks, block{a, b})
		}
	}
	found := make([]float64, len(blocks))
	inTwo(len(blocks), func() func(i int) {
		var s square
		return func(i int) {
			a, b := blocks[i].a, blocks[i].b
			found[i] = s.mean(f, a, min(a+tile, f.width), b, min(b+tile, f.width))
			if a != b {
				found[i] *= 2
			}
		}
	})
	for _, v := range found {
		total += v
	}
	return total
}

// square is the memory of a pass with products of products.
type square struct{ now, after, span []float64 }

// mean returns the mean of the product of two parts of a sum: of its products from a to aEnd, and from b to bEnd.
func (s *square) mean(f *sum, a, aEnd, b, bEnd int) float64 {
	width := (aEnd - a) * (bEnd - b)
	s.after = append(s.after[:0], ones(width)...)
	for k := len(f.layers) - 1; k >= 0; k-- {
		l := &f.layers[k]
		s.span = zeros(s.span, len(l.spans)*width)
		for i := range l.spans {
			of := s.span[i*width : (i+1)*width]
			for r := range len(f.rows[k][i]) / f.width {
				values := row(f.rows[k][i], int32(r), f.width)
				for x, v := range values[a:aEnd] {
					addScaled(of[x*(bEnd-b):(x+1)*(bEnd-b)], v, values[b:bEnd])
				}
			}
		}
		s.now = zeros(s.now, l.nodes*width)
		for i := range l.edges {
			e := &l.edges[i]
			addProduct(row(s.now, e.from, width), e.p, row(s.span, e.span, width), row(s.after, e.to, width))
		}
		s.now, s.after = s.after, s.now
	}
	sum := 0.0
	for x, w := range f.weights[a:aEnd] {
		sum += w * linear.Dot(f.weights[b:bEnd], s.after[x*(bEnd-b):(x+1)*(bEnd-b)])
	}
	return sum
}

// zeros returns n zeros in the memory of a slice.
func zeros[T float64 | group](v []T, n int) []T {
	if cap(v) < n {
		return make([]T, n)
	}
	v = v[:n]
	clear(v)
	return v
}

// inTwo calls a function for 0 to n-1 in two goroutines, each of which makes a function of its own.
func inTwo(n int, maker func() func(i int)) {
	var group errgroup.Group
	for part := range 2 {
		group.Go(func() error {
			do := maker()
			for i := part; i < n; i += 2 {
				do(i)
			}
			return nil
		})
	}
	_ = group.Wait() // no part fails
}

// shares returns the shares of the parameters that have several bins.
func (v *variances) shares(s *space.Space) (out Shares) {
	out.All, out.Points = true, math.MaxInt
	if n, ok := s.Len(); ok && n < math.MaxInt {
		out.Points = int(n)
	}
	part := func(x float64) float64 { return min(max(x/v.total, 0), 1) }
	parameters := s.Parameters()
	for k, a := range parameters {
		if !v.varied[k] {
			continue
		}
		out.Single = append(out.Single, Share{[]string{a.Name}, part(v.single[k])})
		for j, b := range parameters[:k] {
			if v.varied[j] {
				out.Pairs = append(out.Pairs, Share{[]string{b.Name, a.Name}, part(v.pairs[j][k-j-1])})
			}
		}
	}
	out.order()
	return out
}
