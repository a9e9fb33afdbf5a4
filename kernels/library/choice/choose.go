package choice

import (
	"fmt"
	"math"
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
const DefaultNodes = 1000

// Choice is a set of variants, and what it costs to have no others.
type Choice struct {
	Variants []int // ascending
	Use      []int // by shape, the fastest of Variants; -1 where none of them runs
	Regrets
	// Bound is what was proven: no set of as many variants has a smaller mean regret. It is Mean where Optimal.
	Bound float64
	// Optimal says that no other set is better by more than one part in 10^9.
	Optimal bool
	Nodes   int // how many were visited
}

// Choose returns at most k variants with the least weighted mean regret, where each shape takes the fastest of them. A set that
// leaves a shape without a variant is worse than any that does not. A variant that lowers no cost is left out.
//
// The problem is that of k medians. A first set comes from adding the best variant again and again, and from exchanging one
// variant at a time (Teitz and Bart, Operations Research 16, 1968). Branch and bound then proves that it is the best, or finds a
// better one, with the bound of the Lagrangian relaxation in which a shape may take no variant or several, at a price
// (Cornuéjols, Fisher and Nemhauser, Management Science 23, 1977). Where the limit of nodes comes first, the choice is the best
// that was found, with the bound that was proven.
func Choose(m Matrix, k int, s Search) (Choice, error) {
	if err := s.check(m, k); err != nil {
		return Choice{}, err
	}
	t := newTerms(m)
	return t.choice(m, t.solve(k, s, noGoal)), nil
}

// Fewest returns the least number of variants whose weighted mean regret is at most tolerated, and of the sets of that size the
// best. Optimal says that fewer were proven not to do, and that no other set of as many is better. Bound is of as many.
func Fewest(m Matrix, tolerated float64, s Search) (Choice, error) {
	if !(tolerated >= 0) {
		return Choice{}, fmt.Errorf("the tolerated regret is %v: want 0 or more, such as 0.02 for 2 %%", tolerated)
	}
	least := max(1, len(s.Must))
	if err := s.check(m, least); err != nil {
		return Choice{}, err
	}
	t := newTerms(m)
	nodes, proven := 0, true
	for k := least; ; k++ {
		tried := t.solve(k, s, tolerated)
		nodes += tried.nodes
		if !t.reaches(tried.set, tolerated) {
			proven = proven && tried.bound > tolerated
			continue // it ends, because all variants together have no regret
		}
		c := t.choice(m, t.solve(k, s, noGoal))
		c.Nodes += nodes
		c.Optimal = c.Optimal && proven
		return c, nil
	}
}

func (s Search) check(m Matrix, k int) error {
	if err := m.Validate(); err != nil {
		return err
	}
	if k < 1 {
		return fmt.Errorf("%d variants cannot serve a call: want at least 1", k)
	}
	if s.Nodes < 0 {
		return fmt.Errorf("the search may visit %d nodes: want 0, which is the default, or more", s.Nodes)
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

// choice describes a solution in the order of the caller's matrix.
func (t terms) choice(m Matrix, s solution) Choice {
	c := Choice{Variants: s.set, Use: m.Use(s.set), Nodes: s.nodes, Optimal: s.optimal}
	c.Regrets = m.Regrets(c.Use)
	switch {
	case s.optimal:
		c.Bound = c.Mean
	case s.bound > t.penalty/2: // more than the mean of any set that leaves no shape out
		c.Bound = math.Inf(1)
	default:
		c.Bound = min(c.Mean, s.bound)
	}
	return c
}

// reaches reports whether a set has at most the given mean regret.
func (t terms) reaches(set []int, mean float64) bool { return t.m.Regrets(t.m.Use(set)).Mean <= mean }

// value is what a set adds up to: its mean regret, and penalties for the shapes that it leaves out.
func (t terms) value(set []int) float64 {
	sum := 0.0
	for _, row := range t.costs {
		least := math.Inf(1)
		for _, j := range set {
			least = min(least, row[j])
		}
		sum += least
	}
	return sum
}

// greedy adds the candidate that lowers the value most, until there are k or none helps.
func (t terms) greedy(k int, must, candidates []int) []int {
	set := slices.Clone(must)
	least := make([]float64, len(t.costs))
	for i, row := range t.costs {
		least[i] = 2 * (slices.Max(row) + t.penalty) // more than any variant, so that the first is the best alone
		for _, j := range set {
			least[i] = min(least[i], row[j])
		}
	}
	for len(set) < k {
		best, gain := -1, 0.0
		for _, j := range candidates {
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
	return set
}

// interchange replaces one member by one candidate as long as that lowers the value; members of must stay. Each time it takes the
// best exchange of all.
func (t terms) interchange(set, must, candidates []int) []int {
	set = slices.Clone(set)
	first, second := make([]int, len(t.costs)), make([]float64, len(t.costs))
	loss := make([]float64, len(set))
	for {
		for i, row := range t.costs { // the best member of each shape by its position, and what the next best costs
			first[i], second[i] = 0, math.Inf(1)
			for at := 1; at < len(set); at++ {
				switch c := row[set[at]]; {
				case c < row[set[first[i]]]:
					first[i], second[i] = at, row[set[first[i]]]
				default:
					second[i] = min(second[i], c)
				}
			}
		}
		bestOut, bestIn, bestGain := -1, -1, 1e-12*t.value(set)
		for _, in := range candidates {
			if slices.Contains(set, in) {
				continue
			}
			clear(loss)
			gain := 0.0
			for i, row := range t.costs {
				now, c := row[set[first[i]]], row[in]
				if c < now {
					gain += now - c
				} else {
					loss[first[i]] += min(c, second[i]) - now
				}
			}
			for at, j := range set {
				if g := gain - loss[at]; g > bestGain && !slices.Contains(must, j) {
					bestOut, bestIn, bestGain = at, in, g
				}
			}
		}
		if bestOut < 0 {
			return set
		}
		set[bestOut] = bestIn
	}
}

// needed returns the set, ascending, without the members that lower no cost.
func (t terms) needed(set, must []int) []int {
	set = slices.Sorted(slices.Values(set))
	for at := len(set) - 1; at >= 0 && len(set) > 1; at-- {
		rest := slices.Delete(slices.Clone(set), at, at+1)
		idle := !slices.Contains(must, set[at])
		for _, row := range t.costs {
			if !idle {
				break
			}
			idle = slices.ContainsFunc(rest, func(j int) bool { return row[j] <= row[set[at]] })
		}
		if idle {
			set = rest
		}
	}
	return set
}

// undominated returns the variants that are not at all shapes at least as slow as another one; of equal ones the first stays. The
// best set of any size has a counterpart that is as good among them and the members of must.
func (t terms) undominated(must []int) []int {
	var out []int
	for j := range t.m.Variants {
		dominated := false
		for l := range t.m.Variants {
			if l == j || dominated {
				continue
			}
			slower, same := true, true
			for _, row := range t.costs {
				slower = slower && row[l] <= row[j]
				same = same && row[l] == row[j]
			}
			dominated = slower && (!same || l < j)
		}
		if !dominated || slices.Contains(must, j) {
			out = append(out, j)
		}
	}
	return out
}
