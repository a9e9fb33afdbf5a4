package space

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// Neighbourhood says which points are neighbours.
type Neighbourhood uint8

// The neighbourhoods.
const (
	// Adjacent changes one active parameter to the next or the previous value of its domain.
	Adjacent Neighbourhood = iota
	// AnyValue changes one active parameter to any other value. In a domain of more than 1024 values it tries the values at
	// distances that are powers of two, and both ends.
	AnyValue
	// Pairs changes two active parameters to other values at once. Such moves remain where constraints such as x * y <= 1024 or x
	// % y == 0 allow little change of one parameter alone. In wide domains it tries the same values as AnyValue.
	Pairs
)

// wideDomain is the largest domain in which AnyValue tries every value.
const wideDomain = 1024

// repairTries is how many values of newly active parameters Neighbours tries besides their defaults.
const repairTries = 1024

// Neighbours returns the points that differ from p in one active parameter, or in two, as hood says, in the order of the
// parameters and then of the changed ordinals. They are distinct and valid. A parameter that the change makes inactive loses its
// value. One that it makes active takes its default or, where that breaks a constraint, the first value that fits, which may need
// a bounded search. With Pairs it takes the first value that the constraints so far allow; if a later constraint rules that out,
// the neighbour is left out. There may be thousands of Pairs; Neighbour draws a single one. Neighbours panics where p does not
// belong to s.
func (s *Space) Neighbours(p Point, hood Neighbourhood) []Point {
	if !s.same(p.space) {
		panic(fmt.Sprintf("space: Neighbours: the point %q does not belong to space %q", p.Key(), s.name))
	}
	if hood == Pairs {
		return s.pairs(p)
	}
	var points []Point
	want := slices.Clone(p.ords)
	for i, o := range p.ords {
		if o < 0 {
			continue
		}
		for _, changed := range moves(o, s.sizes[i], hood) {
			want[i] = changed
			t := &settler{s: s, want: want, ords: slices.Clone(p.ords), tries: repairTries}
			if t.from(i) {
				points = append(points, Point{s, t.ords})
			}
		}
		want[i] = o
	}
	return points
}

// moves lists the ordinals that o may change to, ascending.
func moves(o, size int, hood Neighbourhood) []int {
	var out []int
	switch {
	case hood == Adjacent:
		for _, m := range []int{o - 1, o + 1} {
			if m >= 0 && m < size {
				out = append(out, m)
			}
		}
	case size <= wideDomain:
		for m := range size {
			if m != o {
				out = append(out, m)
			}
		}
	default:
		for distance := 1; distance < size; distance *= 2 {
			for _, m := range []int{o - distance, o + distance} {
				if m >= 0 && m < size {
					out = append(out, m)
				}
			}
		}
		for _, m := range []int{0, size - 1} {
			if m != o {
				out = append(out, m)
			}
		}
		slices.Sort(out)
		out = slices.Compact(out)
	}
	return out
}

// trail is a point's path through the diagram, with what is needed to leave the path and return to it.
type trail struct {
	s     *Space
	point []int
	nodes []int32 // the node of each layer on the path
	ords  []int   // the path being tried
}

// trail returns the path of a point of s.
func (s *Space) trail(p Point) *trail {
	t := &trail{s: s, point: p.ords, nodes: make([]int32, len(p.ords)), ords: slices.Clone(p.ords)}
	node := int32(0)
	for i := range t.nodes {
		t.nodes[i] = node
		node = s.diagram.layers[i].follow(node, p.ords[i]).child
	}
	return t
}

// along continues from a node of layer i to the node of layer end with the values of the point, while the parameters are still
// active; those that have become active take their default, or the first value that the node has. It writes the ordinals, and
// returns false where a constraint forbids a value.
func (t *trail) along(i int, node int32, end int) (int32, bool) {
	for ; i < end; i++ {
		l := &t.s.diagram.layers[i]
		ord := t.point[i]
		r := l.follow(node, ord)
		if r == nil {
			first := &l.runs[l.first[node]]
			switch {
			case ord < 0: // the parameter has become active
				if ord = t.s.defaults[i]; l.follow(node, ord) == nil {
					ord = first.lo
				}
			case first.lo < 0: // the parameter has become inactive
				ord = -1
			default:
				return 0, false
			}
			r = l.follow(node, ord)
		}
		t.ords[i] = ord
		node = r.child
	}
	return node, true
}

// finish is along to the end, followed by the checks that the diagram lacks.
func (t *trail) finish(i int, node int32) bool {
	_, ok := t.along(i, node, len(t.point))
	return ok && (!t.s.partial || t.s.accepts(t.ords))
}

// pairs lists the points that differ in two parameters.
func (s *Space) pairs(p Point) []Point {
	t := s.trail(p)
	// reaches caches whether a node of a layer leads to a point with the values of p. It is not valid where the diagram lacks a
	// check, because that reads earlier parameters.
	type place struct {
		layer int
		node  int32
	}
	reaches := map[place]bool{}
	var points []Point
	n := len(t.point)
	options := make([][]int, n)
	for i, o := range t.point {
		if o >= 0 {
			options[i] = moves(o, s.sizes[i], AnyValue)
		}
	}
	for i := range n {
		copy(t.ords, t.point)
		for _, first := range options[i] {
			r := s.diagram.layers[i].follow(t.nodes[i], first)
			if r == nil {
				continue
			}
			node := r.child
			for j := i + 1; j < n; j++ {
				t.ords[i] = first
				l := &s.diagram.layers[j]
				for _, second := range options[j] {
					r := l.follow(node, second)
					if r == nil {
						continue
					}
					key := place{j + 1, r.child}
					ok, known := reaches[key]
					if known && !ok {
						continue
					}
					t.ords[j] = second
					if !known {
						_, ok = t.along(j+1, r.child, n)
						reaches[key] = ok
					}
					if ok && t.finish(j+1, r.child) {
						points = append(points, Point{s, slices.Clone(t.ords)})
					}
				}
				var ok bool
				if node, ok = t.along(j, node, j+1); !ok {
					break
				}
			}
		}
	}
	slices.SortStableFunc(points, func(a, b Point) int { return comparePairs(p.ords, a.ords, b.ords) })
	return points
}

// comparePairs orders by the two parameters that differ from p, and then by their ordinals.
func comparePairs(p, a, b []int) int {
	i, j := changed(p, a)
	k, l := changed(p, b)
	return slices.Compare([]int{i, j, a[i], a[j]}, []int{k, l, b[k], b[l]})
}

// changed returns the two parameters that are active in both and differ.
func changed(p, q []int) (first, second int) {
	first = -1
	for i := range p {
		if p[i] < 0 || q[i] < 0 || p[i] == q[i] {
			continue
		}
		if first >= 0 {
			return first, i
		}
		first = i
	}
	return first, first
}

// fewOptions is how many values of the first parameter of a pair Neighbour tries, and manyOptions how many if that found nothing
// for any pair.
const fewOptions, manyOptions = 8, wideDomain

// Neighbour returns a random one of the Neighbours of p. It draws the parameter, or the pair, and then a value, or a pair of
// values, among those that the diagram allows; where there are none it draws another parameter or pair. So every neighbour can be
// drawn; those of parameters with few neighbours are more likely. It takes microseconds, even where there are many neighbours.
// Unlike Neighbours it tries all values of wide domains, but for parameters that become active only the first value that fits. It
// returns false where p has no such neighbour or, where the diagram lacks constraints, where it found none. It panics where p
// does not belong to s.
func (s *Space) Neighbour(p Point, hood Neighbourhood, r *rand.Rand) (Point, bool) {
	if !s.same(p.space) {
		panic(fmt.Sprintf("space: Neighbour: the point %q does not belong to space %q", p.Key(), s.name))
	}
	t := s.trail(p)
	var active []int
	for i, o := range p.ords {
		if o >= 0 && s.sizes[i] > 1 {
			active = append(active, i)
		}
	}
	if hood != Pairs {
		shuffle(active, r)
		for _, i := range active {
			if t.one(i, hood, r) {
				return Point{s, t.ords}, true
			}
		}
		return Point{}, false
	}
	for _, limit := range [2]int{fewOptions, manyOptions} {
		if t.pair(active, limit, r) {
			return Point{s, t.ords}, true
		}
	}
	return Point{}, false
}

// pair changes two of the parameters. It tries every pair at most once, in the order of a random permutation that is generated
// only as far as needed.
func (t *trail) pair(active []int, limit int, r *rand.Rand) bool {
	pairs := len(active) * (len(active) - 1) / 2
	var swapped map[int]int
	for k := range pairs {
		at := k + r.IntN(pairs-k)
		number, ok := swapped[at]
		if !ok {
			number = at
		}
		other, ok := swapped[k]
		if !ok {
			other = k
		}
		second, first := 1, number
		for ; first >= second; second++ {
			first -= second
		}
		if t.two(active[first], active[second], limit, r) {
			return true
		}
		if swapped == nil {
			swapped = map[int]int{}
		}
		swapped[at] = other
	}
	return false
}

func shuffle(list []int, r *rand.Rand) {
	r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
}

// option is a stretch of values for a parameter that all lead to one child.
type option struct {
	first, second int // the ordinal of the first parameter of a pair; the lowest of the last one
	n             int
	child         int32
}

// options lists the values other than o that a node of layer i allows.
func (t *trail) options(i int, node int32, o int, list []option) []option {
	l := &t.s.diagram.layers[i]
	for _, r := range l.runs[l.first[node]:l.first[node+1]] {
		switch {
		case r.lo < 0:
		case o < r.lo || o >= r.lo+r.n:
			list = append(list, option{0, r.lo, r.n, r.child})
		default:
			if o > r.lo {
				list = append(list, option{0, r.lo, o - r.lo, r.child})
			}
			if o+1 < r.lo+r.n {
				list = append(list, option{0, o + 1, r.lo + r.n - o - 1, r.child})
			}
		}
	}
	return list
}

// take draws values from the list by weight until one makes a point, and removes those that fail.
func (t *trail) take(list []option, r *rand.Rand, try func(o option, ord int) bool) bool {
	total := 0
	for _, o := range list {
		total += o.n
	}
	for total > 0 {
		u, at := r.IntN(total), 0
		for u >= list[at].n {
			u -= list[at].n
			at++
		}
		o := list[at]
		if try(o, o.second+u) {
			return true
		}
		if !t.s.partial || o.n == 1 {
			total -= o.n
			list[at] = list[len(list)-1]
			list = list[:len(list)-1]
			continue
		}
		// It is unknown which values of the stretch the missing checks reject; half of it is removed.
		list[at].n -= (o.n + 1) / 2
		if u < (o.n+1)/2 {
			list[at].second += (o.n + 1) / 2
		}
		total -= (o.n + 1) / 2
	}
	return false
}

// one changes parameter i.
func (t *trail) one(i int, hood Neighbourhood, r *rand.Rand) bool {
	list := t.options(i, t.nodes[i], t.point[i], nil)
	if hood == Adjacent {
		near := list[:0]
		for _, o := range list {
			if o.second == t.point[i]+1 {
				o.n = 1
				near = append(near, o)
			} else if o.second+o.n == t.point[i] {
				o.second, o.n = t.point[i]-1, 1
				near = append(near, o)
			}
		}
		list = near
	}
	copy(t.ords, t.point)
	return t.take(list, r, func(o option, ord int) bool {
		t.ords[i] = ord
		return t.finish(i+1, o.child)
	})
}

// two changes parameters i and j, where j is later. It tries at most a limited number of values of i, drawn at random where there
// are more.
func (t *trail) two(i, j, limit int, r *rand.Rand) bool {
	copy(t.ords, t.point)
	firsts := t.options(i, t.nodes[i], t.point[i], nil)
	total := 0
	for _, o := range firsts {
		total += o.n
	}
	var list []option
	look := func(o option, ord int) {
		t.ords[i] = ord
		node, ok := t.along(i+1, o.child, j)
		if !ok {
			return
		}
		from := len(list)
		list = t.options(j, node, t.point[j], list)
		kept := list[:from]
		for _, second := range list[from:] {
			if _, ok := t.along(j+1, second.child, len(t.point)); ok {
				second.first = ord
				kept = append(kept, second)
			}
		}
		list = kept
	}
	if total <= limit {
		for _, o := range firsts {
			for u := range o.n {
				look(o, o.second+u)
			}
		}
	} else if total > 0 {
		for range limit {
			u, at := r.IntN(total), 0
			for u >= firsts[at].n {
				u -= firsts[at].n
				at++
			}
			look(firsts[at], firsts[at].second+u)
		}
	}
	return t.take(list, r, func(o option, ord int) bool {
		t.ords[i] = o.first
		// The values between the two may have changed which parameters are active.
		l := &t.s.diagram.layers[i]
		node, ok := t.along(i+1, l.follow(t.nodes[i], o.first).child, j)
		if !ok {
			return false
		}
		t.ords[j] = ord
		return t.finish(j+1, t.s.diagram.layers[j].follow(node, ord).child)
	})
}
