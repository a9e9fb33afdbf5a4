package choice

import (
	"cmp"
	"container/heap"
	"math"
	"slices"
)

// noGoal is the goal of a search for the best set. With another goal a search ends where a set reaches it or none can.
const noGoal = -1

const (
	rootSteps = 400  // of the prices at the root
	nodeSteps = 40   // at other nodes, which begin with the prices of their parents
	sameValue = 1e-9 // the relative difference below which values count as equal
)

// solution is the best set that a search found, and what it proved: no set has a smaller value than bound.
type solution struct {
	set     []int
	bound   float64
	optimal bool
	nodes   int
}

// solver is a branch and bound under way. A node decides of some variants that they are in or out.
type solver struct {
	terms
	k        int
	must     []int
	variants []int // those that a search needs to look at
	goal     float64
	set      []int
	value    float64
	reached  bool // the goal
	open     queue
	made     int
}

// node is a part of the search: the sets that have all variants that are in, and none that is out.
type node struct {
	in, free []int
	prices   []float64 // of the parent
	bound    float64
	serial   int
}

// queue gives the node with the least bound first, and of equal ones the first that was made.
type queue []*node

func (q queue) Len() int { return len(q) }
func (q queue) Less(a, b int) bool {
	return cmp.Or(cmp.Compare(q[a].bound, q[b].bound), cmp.Compare(q[a].serial, q[b].serial)) < 0
}
func (q queue) Swap(a, b int) { q[a], q[b] = q[b], q[a] }
func (q *queue) Push(n any)   { *q = append(*q, n.(*node)) }
func (q *queue) Pop() any {
	last := len(*q) - 1
	n := (*q)[last]
	*q = (*q)[:last]
	return n
}

// solve looks for the set of at most k variants with the least value.
func (t terms) solve(k int, search Search, goal float64) solution {
	s := &solver{terms: t, k: k, must: search.Must, variants: t.undominated(search.Must), goal: goal, value: math.Inf(1)}
	s.found(s.greedy(k, s.must, s.variants))
	free := slices.DeleteFunc(slices.Clone(s.variants), func(j int) bool { return slices.Contains(s.must, j) })
	s.push(&node{in: s.must, free: free, prices: s.firstPrices(), bound: 0})
	nodes := s.run(cmp.Or(search.Nodes, DefaultNodes))
	out := solution{set: s.needed(s.set, s.must), nodes: nodes, bound: s.cutoff()}
	for _, n := range s.open {
		out.bound = min(out.bound, n.bound)
	}
	out.optimal = goal == noGoal && (s.value == 0 || out.bound >= s.cutoff())
	return out
}

// run visits nodes until none is of interest, or the limit is reached, and returns how many it visited.
func (s *solver) run(limit int) (nodes int) {
	for len(s.open) > 0 && nodes < limit && !s.reached {
		n := heap.Pop(&s.open).(*node)
		if n.bound >= s.cutoff() {
			s.open = nil // the bounds of all others are not lower
			break
		}
		nodes++
		s.visit(n)
	}
	return nodes
}

// found notes a set, improved by exchanges, if it is the best so far.
func (s *solver) found(set []int) {
	if s.terms.value(set) < s.value {
		s.set = s.interchange(set, s.must, s.variants)
		s.value = s.terms.value(s.set)
		s.reached = s.value == 0 || s.goal != noGoal && s.reaches(s.set, s.goal)
	}
}

// cutoff is the bound from which on a node is of no interest: it holds nothing better than what was found, or nothing that reaches
// the goal. It is a little lower than the value of the set that was found, and a little higher than the goal, for the rounding of sums.
func (s *solver) cutoff() float64 {
	best := s.value * (1 - sameValue)
	if s.goal == noGoal {
		return best
	}
	return min(best, s.goal*(1+sameValue)+1e-12)
}

func (s *solver) push(n *node) {
	n.serial = s.made
	s.made++
	heap.Push(&s.open, n)
}

// firstPrices asks of each shape what its second best variant costs.
func (s *solver) firstPrices() []float64 {
	prices := make([]float64, len(s.costs))
	for i, row := range s.costs {
		best, next := row[s.variants[0]], math.Inf(1)
		for _, j := range s.variants[1:] {
			best, next = min(best, row[j]), min(next, max(best, row[j]))
		}
		if prices[i] = next; len(s.variants) == 1 {
			prices[i] = best
		}
	}
	return prices
}

// visit bounds a node, settles the variants that the bound settles, and divides the node by one that is left.
func (s *solver) visit(n *node) {
	if s.leaf(n) {
		return
	}
	steps := nodeSteps
	if n.serial == 0 {
		steps = rootSteps
	}
	r := s.relax(n, steps)
	if r.bound >= s.cutoff() {
		return
	}
	child := s.settle(n, r)
	if s.leaf(child) {
		return
	}
	at := 0 // the free variant that is in about half of the relaxed sets
	for i, j := range child.free {
		if math.Abs(r.share[j]-0.5) < math.Abs(r.share[child.free[at]]-0.5) {
			at = i
		}
	}
	rest := slices.Delete(slices.Clone(child.free), at, at+1)
	s.push(&node{in: append(slices.Clone(child.in), child.free[at]), free: rest, prices: r.prices, bound: r.bound})
	s.push(&node{in: child.in, free: rest, prices: r.prices, bound: r.bound})
}

// leaf values the set of a node that is not worse than its others, where there is nothing left to decide, and reports whether so.
func (s *solver) leaf(n *node) bool {
	set := slices.Clone(n.in)
	switch {
	case len(n.in)+len(n.free) <= s.k:
		set = append(set, n.free...)
	case len(n.in) < s.k:
		return false
	}
	if len(set) > 0 {
		s.found(set)
	}
	return true
}

// relaxed is the best bound of a node: the prices that gave it, what each variant is worth at these prices, and the share of the last
// steps in which each was taken.
type relaxed struct {
	bound  float64
	prices []float64
	worth  []float64
	share  []float64
}

// relax moves the prices of the shapes towards the highest bound. At given prices, a variant is worth what the shapes would pay
// above their costs; the bound is the sum of the prices less the worth of the k best variants. A shape that no variant of them
// serves raises its price, and one that several serve lowers it (subgradient steps of Polyak's length).
func (s *solver) relax(n *node, steps int) relaxed {
	r := relaxed{bound: math.Inf(-1), prices: slices.Clone(n.prices), share: make([]float64, len(s.m.Variants))}
	prices, slope, length, stuck := slices.Clone(n.prices), make([]float64, len(s.costs)), 1.0, 0
	worth := make([]float64, len(s.m.Variants))
	for range steps {
		bound, taken := s.bound(n, prices, worth)
		s.found(taken)
		for _, j := range n.free {
			r.share[j] *= 0.95
		}
		for _, j := range taken {
			r.share[j] += 0.05
		}
		if bound > r.bound {
			r.bound, stuck = bound, 0
			copy(r.prices, prices)
			r.worth = append(r.worth[:0], worth...)
		} else if stuck++; stuck == 8 {
			length, stuck = length/2, 0
		}
		if r.bound >= s.cutoff() || length < 1e-3 {
			break
		}
		square := 0.0
		for i, row := range s.costs {
			slope[i] = 1
			for _, j := range taken {
				if row[j] < prices[i] {
					slope[i]--
				}
			}
			square += slope[i] * slope[i]
		}
		if square == 0 {
			break // each shape is served once: the bound is the value of what was taken
		}
		step := length * (1.02*s.value - bound) / square
		for i := range prices {
			prices[i] = max(0, prices[i]+step*slope[i])
		}
	}
	r.bound -= 1e-12 * (1 + math.Abs(r.bound))
	return r
}

// bound returns the bound at the given prices and the variants that are taken there, which are at least one. It fills worth.
func (s *solver) bound(n *node, prices, worth []float64) (float64, []int) {
	clear(worth)
	sum := 0.0
	for i, row := range s.costs {
		p := prices[i]
		sum += p
		for _, j := range n.in {
			if row[j] < p {
				worth[j] += p - row[j]
			}
		}
		for _, j := range n.free {
			if row[j] < p {
				worth[j] += p - row[j]
			}
		}
	}
	taken := slices.Clone(n.in)
	for _, j := range n.in {
		sum -= worth[j]
	}
	for _, j := range s.dearest(n.free, worth)[:min(len(n.free), s.k-len(n.in))] {
		if worth[j] > 0 || len(taken) == 0 {
			sum -= worth[j]
			taken = append(taken, j)
		}
	}
	return sum, taken
}

// dearest sorts variants by what they are worth.
func (s *solver) dearest(free []int, worth []float64) []int {
	order := slices.Clone(free)
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(worth[b], worth[a]), cmp.Compare(a, b)) })
	return order
}

// settle decides of the free variants for which the other decision would lift the bound to the cutoff. A variant that is not taken
// would replace the last that is, and the first that is not taken would replace one that is.
func (s *solver) settle(n *node, r relaxed) *node {
	child := &node{in: slices.Clone(n.in)}
	order := s.dearest(n.free, r.worth)
	room := s.k - len(n.in) // less than there are free variants
	last, next := max(0, r.worth[order[room-1]]), max(0, r.worth[order[room]])
	for at, j := range order {
		switch {
		case at < room && r.bound+r.worth[j]-next >= s.cutoff():
			child.in = append(child.in, j)
		case at >= room && r.bound+last-r.worth[j] >= s.cutoff():
		default:
			child.free = append(child.free, j)
		}
	}
	return child
}
