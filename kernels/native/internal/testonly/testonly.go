// Package testonly has what hosts of tests may be and others must not: package nativetest makes them.
package testonly

// Host says how the host of a test differs from others. The zero value does not.
type Host struct {
	// Hasty says that costs count as they are, although the core may be slow because others work too: nothing waits for it or measures
	// again, a search takes few samples of a candidate, and a comparison has few and short rounds.
	Hasty bool
	// Brief makes the scores of all problems brief; see native.Problem.Brief.
	Brief bool
}
