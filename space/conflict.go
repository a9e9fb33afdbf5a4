package space

import (
	"errors"
	"fmt"
	"strings"
)

// conflictTrials limits how many sets of constraints explainEmpty tries, and conflictEdges the cost of each, so that an error
// costs little more than the diagram.
const (
	conflictTrials = 2000
	conflictEdges  = 1 << 17
)

// conflict searches for sets of constraints that no point satisfies.
type conflict struct {
	s      *Space
	m      *machines
	trials int
	budget int
}

// empty reports whether it is certain that no point satisfies the constraints of the set.
func (c *conflict) empty(set []int) bool {
	if c.trials--; c.trials < 0 || c.budget < 0 {
		return false
	}
	b := &builder{machines: c.m, loose: make([]bool, len(c.s.params)), limit: min(conflictEdges, c.s.limits.edges, c.budget)}
	for _, checks := range c.s.byLast {
		for _, check := range checks {
			for _, k := range set {
				if check.constraint == k {
					b.kept = append(b.kept, check)
				}
			}
		}
	}
	d, _ := b.build()
	c.budget -= b.spent()
	return d != nil && d.len() == 0
}

// smallest returns a smallest set of constraints that leaves no point. It tries all sets of one constraint, then of two, and so
// on. Where that takes too many trials, it returns a set from which no constraint can be left out, which may not be the smallest;
// certain is then false. It returns nothing where it is not known that all constraints together leave no point.
func (c *conflict) smallest() (set []int, certain bool) {
	n := len(c.s.constraints)
	// Enough trials must remain for leaving out one constraint after another.
	for size := 1; size <= n; size++ {
		sets := 1
		for k := range size {
			if sets = sets * (n - k) / (k + 1); sets > c.trials-n-1 {
				return c.irreducible(), false
			}
		}
		if set := c.choose(nil, size, n); set != nil {
			return set, true
		}
	}
	return nil, false
}

// choose returns the first set of that size that begins with the given constraints and leaves no point.
func (c *conflict) choose(set []int, size, n int) []int {
	if len(set) == size {
		if c.empty(set) {
			return set
		}
		return nil
	}
	next := 0
	if len(set) > 0 {
		next = set[len(set)-1] + 1
	}
	for ; next < n; next++ {
		if found := c.choose(append(set[:len(set):len(set)], next), size, n); found != nil {
			return found
		}
	}
	return nil
}

// irreducible removes constraints, from the last to the first, while the rest still leaves no point.
func (c *conflict) irreducible() []int {
	set := make([]int, len(c.s.constraints))
	for i := range set {
		set[i] = i
	}
	if !c.empty(set) {
		return nil
	}
	for i := len(set) - 1; i >= 0; i-- {
		rest := append(set[:i:i], set[i+1:]...)
		if c.empty(rest) {
			set = rest
		}
	}
	return set
}

// explainEmpty names constraints that leave no point: a smallest set of them, if it finds one.
func (s *Space) explainEmpty() error {
	c := &conflict{s: s, m: newMachines(s), trials: conflictTrials, budget: 4 * s.limits.edges}
	set, certain := c.smallest()
	switch {
	case len(set) == 0:
		return errors.New("it has no point: no combination satisfies all constraints")
	case len(set) == 1:
		// Other sets may leave no point either.
		texts := []string{s.constraints[set[0]].src}
		for k := set[0] + 1; k < len(s.constraints); k++ {
			if c.empty([]int{k}) {
				texts = append(texts, s.constraints[k].src)
			}
		}
		return fmt.Errorf("it has no point: none satisfies %s", strings.Join(texts, "; none satisfies "))
	}
	texts := make([]string, len(set))
	for i, k := range set {
		texts[i] = s.constraints[k].src
	}
	words := "of which any smaller set can be satisfied"
	if !certain {
		words = "of which none can be left out"
	}
	return fmt.Errorf("it has no point: these %d constraints conflict, %s: %s", len(set), words, strings.Join(texts, "; "))
}
