package space

import (
	"cmp"
	"math"
)

// Objective says which of two outcomes is better. Whatever ranks outcomes asks it, so that what a search looks for is said in one
// place. The zero value looks for the least cost.
type Objective struct{}

// Value returns what a strategy minimises: the cost in the kernel's unit, +Inf where the outcome failed. Values of different
// fidelities do not compare.
func (Objective) Value(o Outcome) float64 {
	if o.Status != OK {
		return math.Inf(1)
	}
	return o.Cost
}

// Less reports whether a is better than b. A right outcome is better than any other, one of a dearer fidelity than one of a
// cheaper, and of two at the same fidelity the one of the lesser value. Two that failed are equal.
func (j Objective) Less(a, b Outcome) bool {
	if a.Status != OK || b.Status != OK {
		return a.Status == OK && b.Status != OK
	}
	if a.Fidelity != b.Fidelity {
		return a.Fidelity < b.Fidelity
	}
	return j.Value(a) < j.Value(b)
}

// Compare orders entries, the best first, and of equal ones the one that was asked first.
func (j Objective) Compare(a, b Entry) int {
	switch {
	case j.Less(a.Outcome, b.Outcome):
		return -1
	case j.Less(b.Outcome, a.Outcome):
		return 1
	}
	return cmp.Compare(a.Number, b.Number)
}

// Reaches reports whether an outcome counts and is no worse than a target, in the kernel's unit.
func (j Objective) Reaches(o Outcome, target float64) bool { return o.Counts() && j.Value(o) <= target }
