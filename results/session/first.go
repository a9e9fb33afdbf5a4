package session

import (
	"slices"

	"tune/kernels"
	"tune/space"
)

// First returns the keys of the points that a new run evaluates before all others: those given, and then those of the kernel's own file.
// Parameters that a given key leaves out have their defaults. The error is a *FirstError.
func First(problem kernels.Problem, given []string) ([]string, error) {
	var points []space.Point
	for _, key := range given {
		p, err := problem.Space().ParsePartial(key)
		if err != nil {
			return nil, &FirstError{key, err}
		}
		points = append(points, p)
	}
	var keys []string
	for _, p := range append(points, kernels.Firsts(problem)...) {
		if key := p.Key(); !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys, nil
}
