package choice

import (
	"fmt"
	"slices"
)

// Search says what a choice must hold, and how long to look for it.
type Search struct {
	// Must are variants that are always in, such as the one that runs at all shapes.
	Must []int
	// Nodes is the most nodes that the search for a proof may visit: DefaultNodes where it is 0.
	Nodes int
}

// DefaultNodes is how many nodes a search visits at most.
const DefaultNodes = 2000

// Choice is a set of variants, and what it costs to have no others.
type Choice struct {
	Variants []int // ascending
	Use      []int // by shape, the fastest of Variants; -1 where none of them runs
	Regrets
	// Bound is what was proven: no set of as many variants has a smaller mean regret. It is Mean where Optimal.
	Bound   float64
	Optimal bool
	Nodes   int // how many were visited
}

// Choose returns at most k variants with the least weighted mean regret, where each shape takes the fastest of them.
// A set that leaves a shape without a variant is worse than any that does not.
func Choose(m Matrix, k int, s Search) (Choice, error) {
	if err := s.check(m, k); err != nil {
		return Choice{}, err
	}
	t := newTerms(m)
	set := t.greedy(k, s.Must)
	c := Choice{Variants: set, Use: m.Use(set)}
	c.Regrets = m.Regrets(c.Use)
	c.Optimal = c.Mean == 0
	return c, nil
}

// Fewest returns the least number of variants whose weighted mean regret is at most tolerated, and of those the best.
// Optimal says that fewer were proven not to do and that no other set of as many is better.
func Fewest(m Matrix, tolerated float64, s Search) (Choice, error) {
	if !(tolerated >= 0) {
		return Choice{}, fmt.Errorf("the tolerated regret is %v: want 0 or more, such as 0.02 for 2 %%", tolerated)
	}
	for k := max(1, len(s.Must)); ; k++ {
		c, err := Choose(m, k, s)
		if err != nil || c.Mean <= tolerated || k >= len(m.Variants) {
			return c, err
		}
	}
}

func (s Search) check(m Matrix, k int) error {
	if err := m.Validate(); err != nil {
		return err
	}
	if k < 1 {
		return fmt.Errorf("%d variants cannot serve a call: want at least 1", k)
	}
	if k < len(s.Must) {
		return fmt.Errorf("%d variants must be in a choice of at most %d: allow more, or ask for fewer", len(s.Must), k)
	}
	for at, j := range s.Must {
		if j < 0 || j >= len(m.Variants) || slices.Contains(s.Must[:at], j) {
			return fmt.Errorf("variant %d must be in the choice: want different indices from 0 to %d", j, len(m.Variants)-1)
		}
	}
	return nil
}

// greedy adds the variant that lowers the mean most, until there are k or none helps.
func (t terms) greedy(k int, must []int) []int {
	set := slices.Clone(must)
	least := make([]float64, len(t.costs))
	for i, row := range t.costs {
		least[i] = 2 * (slices.Max(row) + t.penalty)
		for _, j := range set {
			least[i] = min(least[i], row[j])
		}
	}
	for len(set) < k {
		best, gain := -1, 0.0
		for j := range t.m.Variants {
			g := 0.0
			for i, row := range t.costs {
				g += max(0, least[i]-row[j])
			}
			if g > gain {
				best, gain = j, g
			}
		}
		if best < 0 {
			break
		}
		set = append(set, best)
		for i, row := range t.costs {
			least[i] = min(least[i], row[best])
		}
	}
	slices.Sort(set)
	return set
}
