package native

import (
	"slices"
	"testing"
)

// TestInParts: each index is in exactly one part.
func TestInParts(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, 7, 64, 1001} {
		seen := make([]int, n)
		InParts(n, func(from, to int) {
			for i := from; i < to; i++ {
				seen[i]++
			}
		})
		if slices.ContainsFunc(seen, func(k int) bool { return k != 1 }) {
			t.Errorf("of %d indices some are in no part or in several: %v", n, seen)
		}
	}
}
