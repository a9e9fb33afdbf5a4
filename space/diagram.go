package space

import (
	"encoding/binary"
	"math"
	"math/bits"
	"math/rand/v2"
	"sort"
)

// saturated is the count of a node that has more completions than a uint64 can tell.
const saturated = math.MaxUint64

// check is one test of an assignment: a constraint, or, where a condition is too wide for the diagram,
// that the parameter is active exactly where its condition is true.
type check struct {
	*expr
	owner int // the conditional parameter; -1 for a constraint
	last  int // the last parameter that the check reads
}

// holds reports whether the ordinals up to last pass. A constraint excludes a point only where it is
// definitely false or has no value.
func (c *check) holds(ords []int) bool {
	t := c.eval(ords)
	if c.owner < 0 {
		return t == isTrue || t == isUnknown
	}
	return (ords[c.owner] >= 0) == (t == isTrue)
}

// run is a bundle of n edges for the ordinals lo, lo+1, … that lead to the same child. The ordinal -1
// stands for an inactive parameter.
type run struct {
	lo, n int
	// before counts the completions of the node's earlier runs.
	before uint64
	child  int32
}

// layer holds the nodes that decide one parameter. Node k has the runs first[k] … first[k+1]-1.
type layer struct {
	first []int32
	runs  []run
	count []uint64 // completions of each node
	// weight is the number of completions in proportion to the layer's other nodes, and before the
	// weight of a node's earlier runs. They are set only where a count is saturated.
	weight []float64
	before []float64
}

// diagram is a layered multi-valued decision diagram of a space: the paths from its root are the
// points that pass the checks it was built with. See the package documentation.
type diagram struct {
	layers []layer
}

// builder compiles a space into a diagram, within a limit on the edges that it examines.
type builder struct {
	s     *Space
	kept  []*check // constraints in the diagram
	loose []bool   // conditions that are left to rejection
	limit int
	used  int
}

// build returns the diagram, or nil and the layer where the limit was reached.
func (b *builder) build() (*diagram, int) {
	n := len(b.s.params)
	// liveUntil[j] is the last layer that reads parameter j, 0 where none does.
	liveUntil := make([]int, n)
	byLast := make([][]*check, n)
	for _, c := range b.kept {
		byLast[c.last] = append(byLast[c.last], c)
		for _, j := range c.reads {
			liveUntil[j] = max(liveUntil[j], c.last)
		}
	}
	for k, when := range b.s.when {
		if when == nil || b.loose[k] {
			continue
		}
		for _, j := range when.reads {
			liveUntil[j] = max(liveUntil[j], k)
		}
	}
	d := &diagram{layers: make([]layer, n)}
	ords := make([]int, n)
	// states holds the nodes of the current layer: for each the ordinals of the parameters in live.
	nodes, live, states := 1, []int(nil), []int32(nil)
	for i := range n {
		var next []int
		for _, j := range live {
			if liveUntil[j] > i {
				next = append(next, j)
			}
		}
		if liveUntil[i] > i {
			next = append(next, i)
		}
		g := newGrouping(b.s, next, len(next) == len(live)+1)
		l := &d.layers[i]
		// A parameter that nothing tests and nothing reads later needs one bundle of edges.
		free := len(byLast[i]) == 0 && liveUntil[i] <= i
		l.first = make([]int32, 0, nodes+1)
		bind := func(k int) {
			for at, j := range live {
				ords[j] = int(states[k*len(live)+at])
			}
		}
		if !free && !b.fits(i, nodes, ords, bind) {
			return nil, i
		}
		for k := range nodes {
			bind(k)
			l.first = append(l.first, int32(len(l.runs)))
			lo, hi := b.domain(i, ords)
			if free {
				if b.used++; b.used > b.limit {
					return nil, i
				}
				ords[i] = lo
				child := g.find(ords)
				if lo < 0 && hi > 0 {
					l.runs = append(l.runs, run{lo: -1, n: 1, child: child})
					lo = 0
				}
				l.runs = append(l.runs, run{lo: lo, n: hi - lo, child: child})
				continue
			}
			b.used += hi - lo
			b.expand(l, g, byLast[i], ords, i, lo, hi)
		}
		l.first = append(l.first, int32(len(l.runs)))
		nodes, live, states = g.nodes, next, g.states
	}
	d.number(nodes)
	return d, 0
}

// fits reports whether the edges that layer i has to examine are within the limit. It looks at the
// conditions of all nodes first, so that a layer that is too wide costs next to nothing.
func (b *builder) fits(i, nodes int, ords []int, bind func(node int)) bool {
	left := b.limit - b.used
	if nodes <= left/(b.s.sizes[i]+1) {
		return true
	}
	for k := range nodes {
		bind(k)
		lo, hi := b.domain(i, ords)
		if left -= hi - lo; left < 0 {
			return false
		}
	}
	return true
}

// domain returns the ordinals [lo, hi) that parameter i may take after those before it.
func (b *builder) domain(i int, ords []int) (lo, hi int) {
	when := b.s.when[i]
	switch {
	case when == nil:
		return 0, b.s.sizes[i]
	case b.loose[i]:
		return -1, b.s.sizes[i]
	case when.eval(ords) == isTrue:
		return 0, b.s.sizes[i]
	}
	return -1, 0
}

// expand adds the edges of one node to layer i, with neighbours that lead to the same child in one run.
func (b *builder) expand(l *layer, g *grouping, checks []*check, ords []int, i, lo, hi int) {
	start := len(l.runs)
next:
	for o := lo; o < hi; o++ {
		ords[i] = o
		for _, c := range checks {
			if !c.holds(ords) {
				continue next
			}
		}
		child := g.find(ords)
		if last := len(l.runs) - 1; last >= start && l.runs[last].child == child && l.runs[last].lo >= 0 && l.runs[last].lo+l.runs[last].n == o {
			l.runs[last].n++
			continue
		}
		l.runs = append(l.runs, run{lo: o, n: 1, child: child})
	}
}

// grouping finds the node of a layer that stands for a state. It knows states by a mixed-radix number
// where one fits, by a string of bytes otherwise; where no two edges can meet it need not know them.
type grouping struct {
	live     []int
	states   []int32
	nodes    int
	distinct bool
	radix    []uint64
	numbers  map[uint64]int32
	strings  map[string]int32
	buffer   []byte
}

func newGrouping(s *Space, live []int, distinct bool) *grouping {
	g := &grouping{live: live, distinct: distinct, numbers: map[uint64]int32{}}
	product := uint64(1)
	for _, j := range live {
		g.radix = append(g.radix, product)
		high, low := bits.Mul64(product, uint64(s.sizes[j])+1)
		if high != 0 {
			g.strings = map[string]int32{}
			break
		}
		product = low
	}
	return g
}

// find returns the node for the state in ords, a new one where there is none.
func (g *grouping) find(ords []int) int32 {
	var number uint64
	switch {
	case g.distinct:
	case g.strings != nil:
		g.buffer = g.buffer[:0]
		for _, j := range g.live {
			g.buffer = binary.LittleEndian.AppendUint32(g.buffer, uint32(ords[j]))
		}
		if node, ok := g.strings[string(g.buffer)]; ok {
			return node
		}
		g.strings[string(g.buffer)] = int32(g.nodes)
	default:
		for at, j := range g.live {
			number += g.radix[at] * uint64(ords[j]+1)
		}
		if node, ok := g.numbers[number]; ok {
			return node
		}
		g.numbers[number] = int32(g.nodes)
	}
	// A live parameter has been expanded value by value, so that its ordinals fit 32 bits.
	for _, j := range g.live {
		g.states = append(g.states, int32(ords[j]))
	}
	g.nodes++
	return int32(g.nodes - 1)
}

// number counts the completions of every node, from the last layer up, and drops the edges that lead
// to none. The terminal layer has the given number of nodes: one, or none where no point is left.
func (d *diagram) number(terminals int) {
	counts := make([]uint64, terminals)
	for k := range counts {
		counts[k] = 1
	}
	tooMany := false
	for i := len(d.layers) - 1; i >= 0; i-- {
		l := &d.layers[i]
		l.count = make([]uint64, len(l.first)-1)
		kept := 0
		for k := range l.count {
			begin, end := l.first[k], l.first[k+1]
			l.first[k] = int32(kept)
			total := uint64(0)
			for _, r := range l.runs[begin:end] {
				if counts[r.child] == 0 {
					continue
				}
				r.before = total
				l.runs[kept] = r
				kept++
				total = addCount(total, mulCount(uint64(r.n), counts[r.child]))
			}
			l.count[k] = total
			tooMany = tooMany || total == saturated
		}
		l.first[len(l.count)] = int32(kept)
		l.runs = l.runs[:kept:kept]
		counts = l.count
	}
	if tooMany {
		d.weigh(terminals)
	}
}

// weigh computes relative weights where counts are saturated. Each layer is scaled by a power of two,
// which is exact, so that no number of layers overflows.
func (d *diagram) weigh(terminals int) {
	below := make([]float64, terminals)
	for k := range below {
		below[k] = 1
	}
	for i := len(d.layers) - 1; i >= 0; i-- {
		l := &d.layers[i]
		l.weight, l.before = make([]float64, len(l.count)), make([]float64, len(l.runs))
		largest := 0.0
		for k := range l.weight {
			for at := l.first[k]; at < l.first[k+1]; at++ {
				l.before[at] = l.weight[k]
				l.weight[k] += float64(l.runs[at].n) * below[l.runs[at].child]
			}
			largest = max(largest, l.weight[k])
		}
		_, exponent := math.Frexp(largest)
		for k := range l.weight {
			l.weight[k] = math.Ldexp(l.weight[k], -exponent)
		}
		for at := range l.before {
			l.before[at] = math.Ldexp(l.before[at], -exponent)
		}
		below = l.weight
	}
}

func addCount(a, b uint64) uint64 {
	sum, carry := bits.Add64(a, b, 0)
	if carry != 0 {
		return saturated
	}
	return sum
}

func mulCount(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	if high != 0 || a == saturated || b == saturated {
		return saturated
	}
	return low
}

// len returns the number of paths, saturated where it does not fit.
func (d *diagram) len() uint64 { return d.layers[0].count[0] }

// at writes the ordinals of the path with the given index.
func (d *diagram) at(index uint64, ords []int) {
	node := int32(0)
	for i := range d.layers {
		l := &d.layers[i]
		begin, end := int(l.first[node]), int(l.first[node+1])
		at := begin + sort.Search(end-begin, func(k int) bool { return l.runs[begin+k].before > index }) - 1
		r := &l.runs[at]
		index -= r.before
		each := uint64(1)
		if i+1 < len(d.layers) {
			each = d.layers[i+1].count[r.child]
		}
		ords[i] = r.lo + int(index/each)
		index %= each
		node = r.child
	}
}

// index is the inverse of at; ok is false where no path has the ordinals.
func (d *diagram) index(ords []int) (index uint64, ok bool) {
	node := int32(0)
	for i := range d.layers {
		l := &d.layers[i]
		r := l.follow(node, ords[i])
		if r == nil {
			return 0, false
		}
		each := uint64(1)
		if i+1 < len(d.layers) {
			each = d.layers[i+1].count[r.child]
		}
		index += r.before + uint64(ords[i]-r.lo)*each
		node = r.child
	}
	return index, true
}

// follow returns the run of the node that has the ordinal, or nil.
func (l *layer) follow(node int32, ord int) *run {
	begin, end := int(l.first[node]), int(l.first[node+1])
	at := begin + sort.Search(end-begin, func(k int) bool { return l.runs[begin+k].lo > ord }) - 1
	if at < begin || ord >= l.runs[at].lo+l.runs[at].n {
		return nil
	}
	return &l.runs[at]
}

// draw chooses an edge of a node by weight.
func (l *layer) draw(node int32, r *rand.Rand) (ord int, child int32) {
	begin, end := int(l.first[node]), int(l.first[node+1])
	u := r.Float64() * l.weight[node]
	at := begin + sort.Search(end-begin, func(k int) bool { return l.before[begin+k] > u }) - 1
	chosen := &l.runs[max(at, begin)]
	return chosen.lo + int(r.Uint64N(uint64(chosen.n))), chosen.child
}

// sample writes the ordinals of a random path, uniform over all.
func (d *diagram) sample(r *rand.Rand, ords []int) {
	if n := d.len(); n != saturated {
		d.at(r.Uint64N(n), ords)
		return
	}
	node := int32(0)
	for i := range d.layers {
		ords[i], node = d.layers[i].draw(node, r)
	}
}
