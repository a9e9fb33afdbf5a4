package space

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"sort"
)

// saturated is the count of a node with more completions than a uint64 holds.
const saturated = math.MaxUint64

// check is one test of an assignment: a constraint or, where a condition is too wide for the diagram, the requirement that the
// parameter is active exactly where its condition is true.
type check struct {
	*expr
	owner int // the conditional parameter; -1 for a constraint
	last  int // the last parameter that the check reads
	// constraint is the index of the constraint that this check is, or is a part of.
	constraint int
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

// diagram is a layered multi-valued decision diagram of a space: the paths from its root are the points that pass the checks it
// was built with. See the package documentation.
type diagram struct {
	layers []layer
}

// machines has the automata of all checks and conditions of a space. They cache their results, so that building another diagram
// of the same space is cheaper.
type machines struct {
	s       *Space
	bounds  *bounds
	offable []bool
	checks  map[*check]*automaton
	// conditions has the automaton of each condition, nil where there is none or it reads nothing.
	conditions []*automaton
}

func newMachines(s *Space) *machines {
	m := &machines{s: s, bounds: newBounds(s.params), offable: make([]bool, len(s.params)),
		checks: map[*check]*automaton{}, conditions: make([]*automaton, len(s.params))}
	for i, when := range s.when {
		m.offable[i] = when != nil
	}
	for i, when := range s.when {
		if when != nil && len(when.reads) > 0 {
			m.conditions[i] = newAutomaton(&check{expr: when, owner: i, last: when.last()}, m.bounds, m.offable)
		}
	}
	return m
}

// forget drops an automaton that gave up, so that the next use starts a new one.
func (m *machines) forget(c *check) {
	if c.owner >= 0 {
		m.conditions[c.owner] = newAutomaton(c, m.bounds, m.offable)
	} else {
		delete(m.checks, c)
	}
}

func (m *machines) of(c *check) *automaton {
	if m.checks[c] == nil {
		m.checks[c] = newAutomaton(c, m.bounds, m.offable)
	}
	return m.checks[c]
}

// builder compiles a space into a diagram, within a limit on edges and on the work of the automata. A node of the diagram is a
// vector of residues, one for each check and condition that is open there: the diagram is the product of the automata.
type builder struct {
	*machines
	kept  []*check // constraints in the diagram
	loose []bool   // conditions that are left to rejection
	limit int
	used  int // edges
	work  int // of the automata
	// culprit is the check whose automaton reached the limit by itself.
	culprit *check
}

// part is one automaton in a layer of the product.
type part struct {
	*automaton
	// depth is how many parameters of the check are bound before the layer.
	depth int
	// from is the index of its residue in the vector of the layer, -1 where nothing is bound. to is its index in the vector of
	// the next layer, -1 where the check is complete.
	from, to int
	residue  residue
	row      *row
	at       int // the current step of the row
}

// joint holds what one layer of the product needs.
type joint struct {
	parts []part
	// copies are pairs of indices, in this vector and in the next, of residues that the layer does not change.
	copies [][2]int
	// condition is the index of the condition of the layer's parameter, -1 where the diagram has none.
	condition int
	width     int // of the next layer's vector
}

// joints assigns the automata to the layers.
func (b *builder) joints() []joint {
	type entry struct {
		*automaton
		until int // the last layer that uses its residue
	}
	var entries []entry
	for _, c := range b.kept {
		entries = append(entries, entry{b.of(c), c.last})
	}
	for i, a := range b.conditions {
		if a != nil && !b.loose[i] {
			entries = append(entries, entry{a, i})
		}
	}
	n := len(b.s.params)
	out := make([]joint, n)
	places := make([]int, len(entries))
	for k := range places {
		places[k] = -1
	}
	for i := range out {
		j := &out[i]
		j.condition = -1
		for k, e := range entries {
			if e.owner == i {
				j.condition = places[k]
			}
			depth, reads := slices.BinarySearch(e.reads, i)
			if !reads && places[k] < 0 {
				continue
			}
			next := -1
			if e.until > i {
				next = j.width
				j.width++
			}
			switch {
			case reads:
				j.parts = append(j.parts, part{automaton: e.automaton, depth: depth, from: places[k], to: next})
			case next >= 0:
				j.copies = append(j.copies, [2]int{places[k], next})
			}
			places[k] = next
		}
	}
	return out
}

// build returns the diagram, or nil and the layer where the limit was reached.
func (b *builder) build() (*diagram, int) {
	d := &diagram{layers: make([]layer, len(b.s.params))}
	joints := b.joints()
	// nodes numbers the residue vectors of the current layer; the root has none.
	nodes := &interner[residue]{}
	nodes.find(nil)
	for i := range joints {
		j := &joints[i]
		next := &interner[residue]{width: j.width}
		l := &d.layers[i]
		l.first = make([]int32, 0, nodes.count+1)
		vector := make([]residue, j.width)
		for k := range nodes.count {
			l.first = append(l.first, int32(len(l.runs)))
			edges := len(l.runs)
			if !b.expand(i, j, l, nodes.keys[k*nodes.width:(k+1)*nodes.width], next, vector) {
				return nil, i
			}
			b.used += len(l.runs) - edges + 1
			if b.spent() > b.limit {
				return nil, i
			}
		}
		l.first = append(l.first, int32(len(l.runs)))
		nodes = next
	}
	d.number(nodes.count)
	return d, 0
}

// spent is the cost of building so far; an evaluation of a check counts as much as an edge.
func (b *builder) spent() int { return b.used + b.work }

// expand adds the edges of one node to layer i. It returns false where an automaton reached the limit.
func (b *builder) expand(i int, j *joint, l *layer, residues []residue, next *interner[residue], vector []residue) bool {
	for _, c := range j.copies {
		vector[c[1]] = residues[c[0]]
	}
	for k := range j.parts {
		p := &j.parts[k]
		p.residue, p.row, p.at = firstOpen, nil, 0
		if p.from >= 0 {
			p.residue = residues[p.from]
		}
		if p.residue >= firstOpen {
			before := p.work
			p.limit, p.wide = before+b.limit-b.spent(), b.s.limits.edges
			p.row = p.automaton.row(p.depth, p.residue)
			if b.work += p.work - before; p.failed {
				b.culprit = p.check
				b.forget(p.check)
				return false
			}
		} else if p.to >= 0 {
			vector[p.to] = p.residue
		}
	}
	off, on := false, true
	switch when := b.s.when[i]; {
	case when == nil:
	case b.loose[i]:
		off = true
	case j.condition >= 0:
		on = residues[j.condition] == passed
		off = !on
	default: // the condition reads nothing
		on = when.eval(nil) == isTrue
		off = !on
	}
	if off && j.leave(vector) {
		l.runs = append(l.runs, run{lo: -1, n: 1, child: child(next, vector)})
	}
	if on {
		j.sweep(l, b.s.sizes[i], next, vector)
	}
	return true
}

func child(next *interner[residue], vector []residue) int32 {
	number, _ := next.find(vector)
	return int32(number)
}

// leave writes the residues for an inactive parameter into the vector. It returns false where one is dead.
func (j *joint) leave(vector []residue) bool {
	for k := range j.parts {
		p := &j.parts[k]
		if p.row == nil {
			continue
		}
		if p.row.off == dead {
			return false
		}
		if p.to >= 0 {
			vector[p.to] = p.row.off
		}
	}
	return true
}

// sweep walks through the steps of all rows in parallel and adds a run for every stretch where none is dead.
func (j *joint) sweep(l *layer, size int, next *interner[residue], vector []residue) {
	start := len(l.runs)
	for lo := 0; lo < size; {
		hi := size
		for k := range j.parts {
			p := &j.parts[k]
			if p.row == nil {
				continue
			}
			steps := p.row.steps
			for p.at < len(steps) && steps[p.at].lo+steps[p.at].n <= lo {
				p.at++
			}
			if p.at == len(steps) {
				return
			}
			s := &steps[p.at]
			if s.lo > lo {
				// The stretch before the step is dead.
				lo, hi = s.lo, lo
				break
			}
			hi = min(hi, s.lo+s.n)
			if p.to >= 0 {
				vector[p.to] = s.to
			}
		}
		if hi <= lo {
			continue
		}
		to := child(next, vector)
		if last := len(l.runs) - 1; last >= start && l.runs[last].child == to && l.runs[last].lo >= 0 && l.runs[last].lo+l.runs[last].n == lo {
			l.runs[last].n += hi - lo
		} else {
			l.runs = append(l.runs, run{lo: lo, n: hi - lo, child: to})
		}
		lo = hi
	}
}

// number counts the completions of every node, from the last layer up, and drops edges that lead to none. The terminal layer has
// the given number of nodes: one, or none where no point is left.
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

// weigh computes relative weights where counts are saturated. Each layer is scaled by a power of two, which is exact, so that no
// number of layers overflows.
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

// len returns the number of paths, saturated where it is too large.
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

// index is the inverse of at; ok is false where no path has these ordinals.
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
