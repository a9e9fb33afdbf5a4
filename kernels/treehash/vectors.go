package treehash

import (
	"fmt"
	"slices"

	"tune/kernels/treehash/tree"
	"tune/sim"
)

// CheckVectors compares the reference with the end states of the published kernel, and returns one error
// for each tree that differs.
func CheckVectors(v *sim.Vectors) []error {
	var errs []error
	for i, t := range v.Trees {
		if err := checkTree(t); err != nil {
			errs = append(errs, fmt.Errorf("tree %d: %w", i, err))
		}
	}
	return errs
}

func checkTree(t sim.TreeVector) error {
	s := tree.Shape{Height: t.Height, Rounds: t.Rounds, Batch: t.Batch}
	if err := s.Validate(); err != nil {
		return err
	}
	if len(t.Image) != s.Words() {
		return fmt.Errorf("image has %d words, want %d for %v", len(t.Image), s.Words(), s)
	}
	for i, index := range t.Image[s.IndexAddr():s.ValueAddr()] {
		if index >= uint32(s.Nodes()) {
			return fmt.Errorf("item %d starts at node %d, and the tree has %d", i, index, s.Nodes())
		}
	}
	values, indices := tree.Reference(s, t.Image)
	if !slices.Equal(values, t.Values) {
		return fmt.Errorf("%v: the values differ", s)
	}
	if !slices.Equal(indices, t.Indices) {
		return fmt.Errorf("%v: the indices differ", s)
	}
	return nil
}
