package choice

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// sets calls visit with each set of at most k variants that holds those of the node that are in, and none that is out.
func (n *node) sets(k int, visit func(set []int)) {
	for bits := range 1 << len(n.free) {
		set := slices.Clone(n.in)
		for at, j := range n.free {
			if bits>>at&1 == 1 {
				set = append(set, j)
			}
		}
		if len(set) > 0 && len(set) <= k {
			visit(set)
		}
	}
}

// TestBounds: at any node and any prices the bound is at most the value of each set of the node, and what is settled leaves in each
// set that is better than the cutoff. The searches of small instances begin with the best set, so that they would not show an error here.
func TestBounds(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	settled := 0
	for trial := range 400 {
		m := random(r, 3+r.IntN(20), 3+r.IntN(8), []float64{0, 0.3}[trial%2], trial%5 == 0)
		terms := newTerms(m)
		k := 1 + r.IntN(len(m.Variants)-1)
		n := &node{prices: make([]float64, len(m.Shapes))}
		for _, j := range r.Perm(len(m.Variants)) {
			switch x := r.IntN(6); {
			case x == 0 && len(n.in) < k-1:
				n.in = append(n.in, j)
			case x == 1:
			default:
				n.free = append(n.free, j)
			}
		}
		if len(n.in)+len(n.free) <= k {
			continue
		}
		best := math.Inf(1)
		n.sets(k, func(set []int) { best = min(best, terms.value(set)) })
		s := &solver{terms: terms, k: k, variants: everyVariant(m), goal: noGoal, value: math.Inf(1)}
		for range 20 {
			for i, row := range terms.costs {
				n.prices[i] = row[r.IntN(len(row))] * 2 * r.Float64()
			}
			if bound, _ := s.bound(n, n.prices, make([]float64, len(m.Variants))); bound > best+1e-12*(1+best) {
				t.Fatalf("trial %d: the bound is %v, and a set has %v", trial, bound, best)
			}
		}
		n.prices = s.firstPrices()
		s.found(terms.greedy(k, nil, s.variants))
		relaxed := s.relax(n, 60)
		if relaxed.bound > best+1e-12*(1+best) {
			t.Fatalf("trial %d: after steps the bound is %v, and a set has %v", trial, relaxed.bound, best)
		}
		s.value = best * (1 + 0.2*r.Float64())
		child := s.settle(n, relaxed)
		settled += len(n.free) - len(child.free)
		n.sets(k, func(set []int) {
			if terms.value(set) >= s.cutoff()*(1-1e-6) || len(set) < k {
				return
			}
			for _, j := range n.free {
				in, out := slices.Contains(child.in, j), !slices.Contains(child.in, j) && !slices.Contains(child.free, j)
				if in != slices.Contains(set, j) && (in || out) {
					t.Fatalf("trial %d: variant %d was settled, and the set %v with %v, better than %v, is lost", trial, j, set, terms.value(set), s.cutoff())
				}
			}
		})
	}
	if settled < 100 {
		t.Errorf("only %d variants were settled", settled)
	}
}

// TestWithoutHeuristics: branch and bound finds the best set also where it begins with a bad one that exchanges do not improve.
func TestWithoutHeuristics(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	for trial := range 100 {
		m := random(r, 5+r.IntN(20), 4+r.IntN(6), 0, trial%2 == 0)
		k := 1 + r.IntN(3)
		s := &solver{terms: newTerms(m), k: k, variants: everyVariant(m), goal: noGoal, value: 1e6, set: []int{0}}
		// All variants must stay, so that no exchange is possible.
		s.must = s.variants
		s.push(&node{free: slices.Clone(s.variants), prices: s.firstPrices()})
		s.run(1 << 20)
		if want, _ := brute(m, k, nil); !same(s.value, want) {
			t.Fatalf("trial %d: %v, want %v", trial, s.value, want)
		}
	}
}
