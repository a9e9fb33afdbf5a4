package space

import (
	"iter"
	"maps"
	"slices"
)

// Round is a batch and what is known of its trials.
type Round struct {
	Batch   Batch
	Entries []Entry // by trial number; missing ones are not known
}

// Rounds yields the batches of a history in order. An entry that is in no batch is left out. The error is always nil; only a
// history that is read from a file has errors.
func (h History) Rounds() iter.Seq2[Round, error] {
	return func(yield func(Round, error) bool) {
		numbers := slices.Sorted(maps.Keys(h.Entries))
		for _, b := range h.Batches {
			first, _ := slices.BinarySearch(numbers, b.First)
			r := Round{Batch: b}
			for _, n := range numbers[first:] {
				if n-b.First >= b.Count {
					break
				}
				r.Entries = append(r.Entries, h.Entries[n])
			}
			if !yield(r, nil) {
				return
			}
		}
	}
}

// Spent returns the time in seconds that earlier sittings spent.
func (h History) Spent() float64 { return h.Elapsed }
