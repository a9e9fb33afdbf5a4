package insight

import (
	"math"
	"sync/atomic"

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
	counts := f.counts()
	countsAfter, countsBefore := counts.backward(), counts.weights
	for k := range f.layers {
		f.collect(k, before, after[k+1], alone)
		f.centre(alone.groups)
		v.single = append(v.single, squaresBetween(alone.groups))
		var used []int
		for bin, g := range alone.groups {
			if g.mass > 0 {
				used = append(used, bin)
			}
		}
		v.varied = append(v.varied, len(used) > 1)
		cells := f.cells(k, used, before, after)
		for j, of := range counts.cells(k, used, countsBefore, countsAfter) {
			for i, g := range of {
				cells[j][i].mass = g.mass // exact: 0 where there is no path
			}
		}
		v.pairs = append(v.pairs, f.together(k, len(used), cells))
		before, countsBefore = f.forward(k, before, nil), counts.forward(k, countsBefore, nil)
	}
	v.total = f.squares() - f.mean*f.mean
	return v
}

// centre takes the mean over all paths from the sums of groups.
func (f *sum) centre(groups []group) {
	for i := range groups {
		if groups[i].mass == 0 {
			groups[i].sum = 0
		}
		groups[i].sum -= f.mean * groups[i].mass
	}
}

// together returns what parameter k and each later one vary together, given their cells.
func (f *sum) together(k, used int, cells [][]group) (out []float64) {
	for j, of := range cells {
		f.centre(of)
		first, second := margins(of, used, f.layers[k+1+j].bins)
		out = append(out, squaresBetween(of)-squaresBetween(first)-squaresBetween(second))
	}
	return out
}

// start is a way through the layer of a parameter: factors in place of those of its values.
type start struct {
	spans [][]float64 // of each span; nil where the way does not use the span
	bins  []float64   // the weights with which such ways add up to the paths through each bin
}

// starts returns ways that add up to the paths through the used bins of parameter k: the vectors of the bases of its spans, or the bins
// themselves where these are not more.
func (f *sum) starts(k int, used []int) (out []start) {
	place := make([]int, f.layers[k].bins)
	for i := range place {
		place[i] = -1
	}
	for i, bin := range used {
		place[bin] = i
	}
	placeOf := func(p part) int {
		if p.bin < 0 {
			return -1
		}
		return place[p.bin]
	}
	spans, vectors := f.layers[k].spans, 0
	for s := range spans {
		vectors += len(f.factors[k][s].basis) / f.width
	}
	if vectors < len(used) {
		for s := range spans {
			of := &f.factors[k][s]
			for r := range len(of.basis) / f.width {
				way := start{make([][]float64, len(spans)), make([]float64, len(used))}
				way.spans[s] = row(of.basis, int32(r), f.width)
				for j, part := range spans[s].parts {
					if i := placeOf(part); i >= 0 {
						way.bins[i] += of.parts[j][r]
					}
				}
				out = append(out, way)
			}
		}
		return out
	}
	for i := range used {
		way := start{make([][]float64, len(spans)), make([]float64, len(used))}
		way.bins[i] = 1
		out = append(out, way)
	}
	for s := range spans {
		for j, part := range spans[s].parts {
			if i := placeOf(part); i >= 0 {
				out[i].spans[s] = f.factors[k][s].part(j, f.width)
			}
		}
	}
	return out
}

// cells returns the groups of the pairs of a used bin of parameter k and a bin of each later one: those of each bin of k, one after
// the other.
func (f *sum) cells(k int, used []int, before []float64, after [][]float64) [][]group {
	later := f.layers[k+1:]
	if len(later) == 0 {
		return nil
	}
	starts := f.starts(k, used)
	found := make([][]group, len(later)) // those of each start, one after the other
	for j := range later {
		found[j] = make([]group, len(starts)*later[j].bins)
	}
	inTwo(len(starts), func() func(i int) {
		p := &pass{row: f.newBins()}
		return func(i int) {
			p.through(f, k, starts[i].spans, before, after, func(j int, of []group) { copy(found[j][i*len(of):], of) })
		}
	})
	out := make([][]group, len(later))
	for j := range later {
		n := later[j].bins
		out[j] = make([]group, len(used)*n)
		for i := range starts {
			for bin, w := range starts[i].bins {
				if w == 0 {
					continue
				}
				to := out[j][bin*n : (bin+1)*n]
				for x, g := range found[j][i*n : (i+1)*n] {
					to[x].add(group{w * g.mass, w * g.sum})
				}
			}
		}
	}
	return out
}

// pass is the memory of a pass through the layers.
type pass struct {
	from, to []float64
	row      *bins
}

// through calls a function with the groups of each parameter after parameter k, for the paths of a start.
func (p *pass) through(f *sum, k int, spans [][]float64, before []float64, after [][]float64, found func(j int, of []group)) {
	p.from = zeros(p.from, f.nodes(k+1)*f.width)
	l := &f.layers[k]
	for i := range l.edges {
		e := &l.edges[i]
		if factors := spans[e.span]; factors != nil {
			addProduct(row(p.from, e.to, f.width), e.p, factors, row(before, e.from, f.width))
		}
	}
	for j := k + 1; j < len(f.layers); j++ {
		f.collect(j, p.from, after[j+1], p.row)
		found(j-k-1, p.row.groups)
		p.from, p.to = f.forward(j, p.from, p.to), p.from
	}
}

// bins are the groups of a parameter, and the memory for a product of all products and for its products with a basis.
type bins struct {
	groups  []group
	product []float64
	dots    []float64
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
			addOuter(of, f.factors[k][i].squares, f.width, a, aEnd, b, bEnd)
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

// addOuter adds the outer product of columns a to aEnd and b to bEnd of each row.
func addOuter(to, rows []float64, width, a, aEnd, b, bEnd int) {
	n, r := bEnd-b, 0
	for ; r+4 <= len(rows)/width; r += 4 {
		one, two := row(rows, int32(r), width), row(rows, int32(r+1), width)
		three, four := row(rows, int32(r+2), width), row(rows, int32(r+3), width)
		for x := a; x < aEnd; x++ {
			by := [4]float64{one[x], two[x], three[x], four[x]}
			addFour(to[(x-a)*n:(x-a+1)*n], by, one[b:bEnd], two[b:bEnd], three[b:bEnd], four[b:bEnd])
		}
	}
	for ; r < len(rows)/width; r++ {
		values := row(rows, int32(r), width)
		for x := a; x < aEnd; x++ {
			addScaled(to[(x-a)*n:(x-a+1)*n], values[x], values[b:bEnd])
		}
	}
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
	var next atomic.Int64
	for range min(2, n) {
		group.Go(func() error {
			do := maker()
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
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
	out.finish()
	return out
}
