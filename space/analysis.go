package space

import (
	"math/big"
	"math/rand/v2"
)

// Size returns the number of points, however large it is. ok is false where it is unknown because the diagram lacks some
// constraints; use [Space.Estimate] then.
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

// Estimate samples points before rejection and returns how many of the draws are points of the space: Sample accepts about that
// share of its draws, and the space has about that share of the from points. Where Size is known every draw is accepted, and from
// is the size.
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

// Effect is what one constraint excludes.
type Effect struct {
	// Constraint is its text, as given.
	Constraint string
	// Alone is how many combinations the constraint excludes without the others, Last how many it excludes of those that all
	// others leave. They are nil where a count is unknown.
	Alone, Last *big.Int
}

// Analysis says how constraints shape a space.
type Analysis struct {
	// Combinations is the number of points without constraints, nil where it is unknown. It is less than the product of the
	// domains where parameters are conditional.
	Combinations *big.Int
	// Effects has one element for each constraint, in order.
	Effects []Effect
	// Used is the number of values of each parameter that occur in some point; nil where it is unknown.
	Used []int
}

// Analyse counts the points with and without each constraint. It costs at most as much as opening the space twice for each
// constraint.
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

// used counts, for each parameter, the ordinals on paths from the root. Every reachable node that has completions is on such a
// path.
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
