package space

import (
	"cmp"
	"math"
)

// Objective says which of two outcomes is better. Everything that ranks outcomes uses it, so that the goal of a search is defined
// in one place. The zero value looks for the least cost.
type Objective struct{}

// Value returns what a strategy minimises: the cost in the kernel's unit, or +Inf for a failed outcome. Values of different
// fidelities are not comparable.
func (Objective) Value(o Outcome) float64 {
	if o.Status != OK {
		return math.Inf(1)
	}
	return o.Cost
}

// Less reports whether a is better than b. A right outcome is better than a failed one; an outcome of a dearer fidelity is better
// than one of a cheaper fidelity; at the same fidelity, the lower value is better. Failed outcomes are equal.
func (j Objective) Less(a, b Outcome) bool {
	if a.Status != OK || b.Status != OK {
		return a.Status == OK && b.Status != OK
	}
	if a.Fidelity != b.Fidelity {
		return a.Fidelity < b.Fidelity
	}
	return j.Value(a) < j.Value(b)
}

// Order is -1 where a is better than b, 1 where b is better, and 0 where neither is: for functions that sort, the best first.
func (j Objective) Order(a, b Outcome) int {
	switch {
	case j.Less(a, b):
		return -1
	case j.Less(b, a):
		return 1
	}
	return 0
}

// Compare orders entries, the best first; of equal ones, the one that was asked for first.
func (j Objective) Compare(a, b Entry) int {
	return cmp.Or(j.Order(a.Outcome, b.Outcome), cmp.Compare(a.Number, b.Number))
}

// Reaches reports whether an outcome counts and is at least as good as a target, in the kernel's unit.
func (j Objective) Reaches(o Outcome, target float64) bool { return o.Counts() && j.Value(o) <= target }
