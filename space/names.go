package space

import (
	"fmt"
	"strings"
)

// Nearest returns the member of want that got is most likely a misspelling of, or "" where none is near. It ignores case and
// counts insertions, deletions, substitutions and swaps of neighbours (the optimal string alignment distance). One edit is
// allowed for every three characters, and at least one, but fewer than would change every character. Of equally near members the
// first wins.
func Nearest(got string, want []string) string {
	limit := max(1, len(got)/3)
	best, bestDistance := "", limit+1
	for _, candidate := range want {
		if abs(len(candidate)-len(got)) >= bestDistance {
			continue
		}
		d := editDistance(strings.ToLower(got), strings.ToLower(candidate))
		if d < min(bestDistance, max(len(got), len(candidate))) || candidate == got {
			best, bestDistance = candidate, d
		}
	}
	return best
}

// DidYouMean returns a hint to append to an error about an unknown name, with a leading space, such
// as ` (did you mean "lanes"?)`, or "" where no member of want is near.
func DidYouMean(got string, want []string) string {
	if near := Nearest(got, want); near != "" {
		return fmt.Sprintf(" (did you mean %q?)", near)
	}
	return ""
}

// mostListed is how many names an error lists at most.
const mostListed = 12

// DidYouMeanOneOf is DidYouMean or, where no member of want is near, a hint that lists them, such as ` (want one of lanes, tile)`; of many,
// the first.
func DidYouMeanOneOf(got string, want []string) string {
	switch hint := DidYouMean(got, want); {
	case hint != "" || len(want) == 0:
		return hint
	case len(want) > mostListed:
		return fmt.Sprintf(" (want one of %s and %d more)", strings.Join(want[:mostListed], ", "), len(want)-mostListed)
	case len(want) == 1:
		return fmt.Sprintf(" (want %s)", want[0])
	}
	return fmt.Sprintf(" (want one of %s)", strings.Join(want, ", "))
}

// editDistance is the optimal string alignment distance in bytes. Names longer than 64 bytes are cut,
// which bounds the work on hostile input.
func editDistance(a, b string) int {
	a, b = a[:min(len(a), 64)], b[:min(len(b), 64)]
	before, previous, current := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range previous {
		previous[j] = j
	}
	for i := 1; i <= len(a); i++ {
		current[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			current[j] = min(previous[j]+1, current[j-1]+1, previous[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				current[j] = min(current[j], before[j-2]+1)
			}
		}
		before, previous, current = previous, current, before
	}
	return previous[len(b)]
}

func abs[T int | int64](n T) T {
	if n < 0 {
		return -n
	}
	return n
}
