package space

import (
	"math/big"
	"math/rand/v2"
)

// Size returns the number of points, however many they are. It is not known, and ok is false, where the diagram does not
// have all constraints; [Space.Estimate] says what can be said then.
func (s *Space) Size() (n *big.Int, ok bool) {
	if s.partial {
		return nil, false
	}
	return s.diagram.size(), true
}

// size is len without a limit.
func (d *diagram) size() *big.Int {
	if n := d.len(); n != saturated {
		return new(big.Int).SetUint64(n)
	}
	var below []*big.Int
	for i := len(d.layers) - 1; i >= 0; i-- {
		l := &d.layers[i]
		counts := make([]*big.Int, len(l.count))
		for k := range counts {
			total, term := new(big.Int), new(big.Int)
			for _, r := range l.runs[l.first[k]:l.first[k+1]] {
				term.SetInt64(int64(r.n))
				if below != nil {
					term.Mul(term, below[r.child])
				}
				total.Add(total, term)
			}
			counts[k] = total
		}
		below = counts
	}
	return below[0]
}

// Estimate draws from the points before rejection and says how many of the draws are points of the space: Sample accepts
// about that share of its draws, and the space has about that share of the from points. Where Size is known, every draw
// is accepted, and from is the size.
func (s *Space) Estimate(r *rand.Rand, draws int) (accepted int, from *big.Int) {
	from = s.diagram.size()
	if !s.partial {
		return draws, from
	}
	ords := make([]int, len(s.params))
	for range draws {
		s.diagram.sample(r, ords)
		if s.accepts(ords) {
			accepted++
		}
	}
	return accepted, from
}

// Effect is what one constraint does to a space.
type Effect struct {
	// Constraint is its text, as it was given.
	Constraint string
	// Alone is how many combinations it excludes where there are no other constraints, Last how many it excludes of
	// those that all others leave. They are nil where a count is not known.
	Alone, Last *big.Int
}

// Analysis says where the points of a space come from.
type Analysis struct {
	// Combinations is the number of points that there would be without constraints, nil where it is not known. It is less
	// than the product of the domains where parameters are conditional.
	Combinations *big.Int
	// Effects has one element a constraint, in order.
	Effects []Effect
	// Used is the number of values of each parameter that occur in some point; nil where that is not known.
	Used []int
}

// Analyse counts the points with and without each constraint. It costs as much as opening the space twice for each of
// them, at most.
func (s *Space) Analyse() Analysis {
	m := newMachines(s)
	count := func(keep func(c *check) bool) *big.Int {
		b := &builder{machines: m, loose: make([]bool, len(s.params)), limit: s.limits.edges}
		for _, checks := range s.byLast {
			for _, c := range checks {
				if keep(c) {
					b.kept = append(b.kept, c)
				}
			}
		}
		if d, _ := b.build(); d != nil {
			return d.size()
		}
		return nil
	}
	minus := func(a, b *big.Int) *big.Int {
		if a == nil || b == nil {
			return nil
		}
		return new(big.Int).Sub(a, b)
	}
	out := Analysis{Combinations: count(func(*check) bool { return false })}
	size, known := s.Size()
	for k, e := range s.constraints {
		effect := Effect{Constraint: e.src, Alone: minus(out.Combinations, count(func(c *check) bool { return c.constraint == k }))}
		if known {
			effect.Last = minus(count(func(c *check) bool { return c.constraint != k }), size)
		}
		out.Effects = append(out.Effects, effect)
	}
	if known {
		out.Used = s.diagram.used()
	}
	return out
}

// used counts, for each parameter, the ordinals on the paths from the root. Every node that has completions and that is
// reached is on one.
func (d *diagram) used() []int {
	out := make([]int, len(d.layers))
	reached := []bool{true}
	for i := range d.layers {
		l := &d.layers[i]
		below := make([]bool, 1)
		if i+1 < len(d.layers) {
			below = make([]bool, len(d.layers[i+1].count))
		}
		var spans intervals
		for k := range l.count {
			if k >= len(reached) || !reached[k] {
				continue
			}
			for _, r := range l.runs[l.first[k]:l.first[k+1]] {
				below[r.child] = true
				if r.lo >= 0 {
					spans.add(r.lo, r.lo+r.n)
				}
			}
		}
		out[i] = spans.total()
		reached = below
	}
	return out
}
