package insight

import (
	"slices"

	"tune/internal/linear"
	"tune/space"
)

// paths are the points of a space as paths through its decision diagram, each equally likely.
type paths struct {
	layers []layer // of each parameter
}

// layer is what the paths choose for one parameter.
type layer struct {
	nodes int
	edges []edge // ascending by the node that they come from
	spans []span // distinct ones of the edges
	sizes int    // how many ordinals there are, with that of an inactive parameter
	bins  int    // of the ordinals of an active one
}

// edge is a bundle of edges between two nodes, for the values of a span.
type edge struct {
	from, to, span int32
	p              float64 // the probability of each value, where a path comes from the node
}

// span is n ordinals from lo on; the parts share a bin each.
type span struct {
	lo, n int
	parts []part
}

type part struct {
	bin   int32 // -1 where the parameter is inactive
	lo, n int
}

const (
	// mostEdges is how many edges a diagram has at most whose paths are summed over.
	mostEdges = 1 << 16
	// mostValues is how many values a parameter has at most.
	mostValues = 1 << 10
)

// pathsOf returns the paths of a space; ok is false where the diagram lacks constraints, and where it or a parameter is too large.
func pathsOf(s *space.Space) (p *paths, ok bool) {
	diagram, ok := s.Layers(mostEdges)
	if !ok {
		return nil, false
	}
	p = &paths{layers: make([]layer, len(diagram))}
	for k, parameter := range s.Parameters() {
		if parameter.Len() > mostValues {
			return nil, false
		}
		p.layers[k] = newLayer(diagram[k], parameter.Len())
	}
	// The probabilities come from the number of completions of each node, in proportion to the others of its layer.
	below := []float64{1}
	for k := len(p.layers) - 1; k >= 0; k-- {
		l := &p.layers[k]
		weights, largest := make([]float64, l.nodes), 0.0
		for _, e := range l.edges {
			weights[e.from] += float64(l.spans[e.span].n) * below[e.to]
			largest = max(largest, weights[e.from])
		}
		for i := range l.edges {
			e := &l.edges[i]
			if weights[e.from] > 0 { // a node so much lighter than the others that it underflows is left out
				e.p = below[e.to] / weights[e.from]
			}
		}
		for n := range weights {
			weights[n] /= largest
		}
		below = weights
	}
	return p, true
}

// newLayer puts the values of a parameter into bins.
func newLayer(d space.Layer, size int) layer {
	l := layer{nodes: d.Nodes, sizes: size + 1, bins: min(size, mostBins)}
	known := map[[2]int]int32{}
	for _, e := range d.Edges {
		at, ok := known[[2]int{e.Lo, e.N}]
		if !ok {
			at = int32(len(l.spans))
			known[[2]int{e.Lo, e.N}] = at
			s := span{lo: e.Lo, n: e.N}
			for o := e.Lo; o < e.Lo+e.N; o++ {
				bin := int32(binOf(o, size))
				if last := len(s.parts) - 1; last >= 0 && s.parts[last].bin == bin {
					s.parts[last].n++
					continue
				}
				s.parts = append(s.parts, part{bin, o, 1})
			}
			l.spans = append(l.spans, s)
		}
		l.edges = append(l.edges, edge{from: e.From, to: e.To, span: at})
	}
	return l
}

// sums are what the passes over the paths need of some products: for each parameter and each span the sum of the factors over the
// values of the span, and the factors themselves.
type sums struct {
	width   int         // how many products there are
	spans   [][]float64 // of each parameter, one span after the other
	factors [][]factors // of each parameter and span
}

func newSums(width, parameters int) *sums {
	return &sums{width: width, spans: make([][]float64, parameters), factors: make([][]factors, parameters)}
}

// set sets the sums of parameter k, given the factors of all products for the ordinal -1, then for 0, and so on.
func (s *sums) set(k int, l *layer, rows []float64) {
	s.spans[k], s.factors[k] = make([]float64, len(l.spans)*s.width), make([]factors, len(l.spans))
	for i, sp := range l.spans {
		of := rows[(sp.lo+1)*s.width : (sp.lo+sp.n+1)*s.width]
		for o := range sp.n {
			addTo(row(s.spans[k], int32(i), s.width), row(of, int32(o), s.width))
		}
		s.factors[k][i] = newFactors(sp, of, s.width)
	}
}

// backward returns, for each layer and node, the mean of each product over the parameters from the layer on. The last layer is that
// behind all parameters.
func (f *sum) backward() [][]float64 {
	out := make([][]float64, len(f.layers)+1)
	out[len(f.layers)] = ones(f.width)
	for k := len(f.layers) - 1; k >= 0; k-- {
		l := &f.layers[k]
		out[k] = make([]float64, l.nodes*f.width)
		for i := range l.edges {
			e := &l.edges[i]
			addProduct(row(out[k], e.from, f.width), e.p, row(f.spans[k], e.span, f.width), row(out[k+1], e.to, f.width))
		}
	}
	return out
}

// forward carries the sums over all paths to the nodes of layer k on to those of the next layer. It writes them to the memory of to.
func (f *sum) forward(k int, from, to []float64) []float64 {
	to = zeros(to, f.nodes(k+1)*f.width)
	l := &f.layers[k]
	for i := range l.edges {
		e := &l.edges[i]
		if of := row(from, e.from, f.width); reached(of) {
			addProduct(row(to, e.to, f.width), e.p, row(f.spans[k], e.span, f.width), of)
		}
	}
	return to
}

// nodes is how many nodes the layer of parameter k has; the layer behind the last parameter has one.
func (p *paths) nodes(k int) int {
	if k == len(p.layers) {
		return 1
	}
	return p.layers[k].nodes
}

// collect sums over the paths through each bin of parameter k, given the sums over all paths to the nodes of its layer, and those over
// all that follow.
func (f *sum) collect(k int, from, after []float64, b *bins) {
	l := &f.layers[k]
	b.groups = zeros(b.groups, l.bins)
	for i := range l.edges {
		e := &l.edges[i]
		of := row(from, e.from, f.width)
		if !reached(of) {
			continue
		}
		clear(b.product)
		addProduct(b.product, e.p, of, row(after, e.to, f.width))
		factors := &f.factors[k][e.span]
		b.dots = b.dots[:0]
		for r := range len(factors.basis) / f.width {
			b.dots = append(b.dots, linear.Dot(b.product[1:], row(factors.basis, int32(r), f.width)[1:]))
		}
		for j, part := range l.spans[e.span].parts {
			if part.bin >= 0 {
				b.groups[part.bin].add(group{b.product[0] * float64(part.n), linear.Dot(factors.parts[j], b.dots)})
			}
		}
	}
}

// reached reports whether there are paths to a node, given the sums over them.
func reached(sums []float64) bool {
	return slices.ContainsFunc(sums, func(v float64) bool { return v != 0 })
}

func row(of []float64, node int32, width int) []float64 {
	return of[int(node)*width : (int(node)+1)*width]
}

func ones(n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = 1
	}
	return out
}

func addTo(to, a []float64) {
	a = a[:len(to)]
	for i := range to {
		to[i] += a[i]
	}
}

func multiply(to, a []float64) {
	a = a[:len(to)]
	for i := range to {
		to[i] *= a[i]
	}
}

// addProduct adds p·a·b to a vector, element by element.
func addProduct(to []float64, p float64, a, b []float64) {
	a, b = a[:len(to)], b[:len(to)]
	for i := range to {
		to[i] += p * a[i] * b[i]
	}
}

// addFour adds four vectors, each times a number.
func addFour(to []float64, by [4]float64, a, b, c, d []float64) {
	a, b, c, d = a[:len(to)], b[:len(to)], c[:len(to)], d[:len(to)]
	for i := range to {
		to[i] += by[0]*a[i] + by[1]*b[i] + (by[2]*c[i] + by[3]*d[i])
	}
}

func addScaled(to []float64, by float64, a []float64) {
	a = a[:len(to)]
	for i := range to {
		to[i] += by * a[i]
	}
}
