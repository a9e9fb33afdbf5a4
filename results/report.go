package results

import (
	"cmp"
	"maps"
	"slices"

	"tune/space"
)

// Summary is what a run has come to. The zero value is that of a run without outcomes.
type Summary struct {
	Evaluations int           // outcomes, of any status and fidelity
	Counts      []StatusCount // one for each status, in the order of space.Statuses
	ValidShare  float64       // the share of the outcomes that are OK; 0 where there are none
	Best        *space.Entry  // the incumbent; nil while no outcome of full fidelity is OK
	Elapsed     float64       // seconds, over all sittings
}

// StatusCount is how many outcomes have a status.
type StatusCount struct {
	Status space.Status
	Count  int
}

// Summarise counts the outcomes of a history and finds its incumbent.
func Summarise(h space.History) Summary {
	s := Summary{Evaluations: len(h.Entries), Elapsed: h.Elapsed}
	counts := make(map[space.Status]int)
	for _, e := range h.Entries {
		counts[e.Outcome.Status]++
	}
	for _, status := range space.Statuses() {
		s.Counts = append(s.Counts, StatusCount{status, counts[status]})
	}
	if s.Evaluations > 0 {
		s.ValidShare = float64(counts[space.OK]) / float64(s.Evaluations)
	}
	if ranking := Ranking(h); len(ranking) > 0 {
		s.Best = &ranking[0]
	}
	return s
}

// Convergence returns the trials that were, when they ended, better than every one that had ended before. Of several
// that ended at once the one asked first counts first. Costs of reduced fidelity do not count, because they cannot be
// compared with full ones.
func Convergence(h space.History) []space.Entry {
	right := rightInOrder(h)
	slices.SortStableFunc(right, func(a, b space.Entry) int { return cmp.Compare(a.Elapsed, b.Elapsed) })
	var steps []space.Entry
	for _, e := range right {
		if len(steps) == 0 || e.Outcome.Better(steps[len(steps)-1].Outcome) {
			steps = append(steps, e)
		}
	}
	return steps
}

// Ranking returns the right outcomes of full fidelity, the cheapest first, and of equals the one asked
// first: the incumbent, and whatever takes its place should it not stand its last check.
func Ranking(h space.History) []space.Entry {
	ranking := rightInOrder(h)
	slices.SortStableFunc(ranking, func(a, b space.Entry) int { return cmp.Compare(a.Outcome.Cost, b.Outcome.Cost) })
	return ranking
}

// rightInOrder returns the right outcomes of full fidelity by trial number.
func rightInOrder(h space.History) []space.Entry {
	return slices.DeleteFunc(inOrder(h), func(e space.Entry) bool {
		return e.Outcome.Status != space.OK || e.Outcome.Fidelity != 0
	})
}

// inOrder returns the entries of a history by trial number.
func inOrder(h space.History) []space.Entry {
	entries := make([]space.Entry, 0, len(h.Entries))
	for _, number := range slices.Sorted(maps.Keys(h.Entries)) {
		entries = append(entries, h.Entries[number])
	}
	return entries
}
