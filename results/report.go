package results

import (
	"cmp"
	"slices"

	"tune/space"
)

// Summary is the result of a run so far. The zero value is that of a run without outcomes.
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

// tally counts outcomes and keeps the incumbent.
type tally struct {
	Counts  map[space.Status]int `json:"counts"`
	Best    *space.Entry         `json:"best,omitempty"`
	Elapsed float64              `json:"elapsed"`
}

func newTally() tally { return tally{Counts: make(map[space.Status]int)} }

func (t *tally) add(e *space.Entry) {
	t.Counts[e.Outcome.Status]++
	t.Elapsed = max(t.Elapsed, e.Elapsed)
	if e.Outcome.Counts() && (t.Best == nil || (space.Objective{}).Compare(*e, *t.Best) < 0) {
		best := *e
		t.Best = &best
	}
}

// outcomes returns how many were counted.
func (t *tally) outcomes() (n int) {
	for _, count := range t.Counts {
		n += count
	}
	return n
}

func (t *tally) summary() Summary {
	s := Summary{Best: t.Best, Elapsed: t.Elapsed}
	for _, status := range space.Statuses() {
		s.Counts = append(s.Counts, StatusCount{status, t.Counts[status]})
	}
	s.Evaluations = t.outcomes()
	if s.Evaluations > 0 {
		s.ValidShare = float64(t.Counts[space.OK]) / float64(s.Evaluations)
	}
	return s
}

// Summarise counts the outcomes of a history and finds its incumbent.
func Summarise(h History) (Summary, error) {
	t := newTally()
	t.Elapsed = h.Spent()
	for r, err := range h.Rounds() {
		if err != nil {
			return Summary{}, err
		}
		for i := range r.Entries {
			t.add(&r.Entries[i])
		}
	}
	return t.summary(), nil
}

// Convergence returns the trials that were better, when they ended, than every trial that had ended before. Of several that ended
// at the same time, the one that was asked for first comes first. Costs of reduced fidelity do not count, because they cannot be
// compared with full ones.
func Convergence(h History) ([]space.Entry, error) {
	var steps []space.Entry
	var objective space.Objective
	for r, err := range Only(h, counts) {
		if err != nil {
			return nil, err
		}
		for _, e := range r.Entries {
			if !e.Outcome.Counts() {
				continue
			}
			at, _ := slices.BinarySearchFunc(steps, e, func(a, b space.Entry) int {
				return cmp.Or(cmp.Compare(a.Elapsed, b.Elapsed), cmp.Compare(a.Number, b.Number))
			})
			if at > 0 && !objective.Less(e.Outcome, steps[at-1].Outcome) {
				continue
			}
			worse := at // ended later and no better: not a step
			for worse < len(steps) && !objective.Less(steps[worse].Outcome, e.Outcome) {
				worse++
			}
			steps = slices.Replace(steps, at, worse, e)
		}
	}
	return steps, nil
}

// Ranking returns the right outcomes of full fidelity, the best first; of equal ones, the one that was asked for first. The first
// is the incumbent, and the next ones take its place should it fail its last check. The ranking begins after the given entry, if
// that is not nil, and has most entries at the most; 0 means all.
func Ranking(h History, after *space.Entry, most int) ([]space.Entry, error) {
	var ranking []space.Entry
	var objective space.Objective
	cut := func() {
		slices.SortFunc(ranking, objective.Compare)
		if most > 0 {
			ranking = ranking[:min(len(ranking), most)]
		}
	}
	for r, err := range Only(h, counts) {
		if err != nil {
			return nil, err
		}
		for _, e := range r.Entries {
			if !e.Outcome.Counts() || after != nil && objective.Compare(e, *after) <= 0 {
				continue
			}
			if ranking = append(ranking, e); most > 0 && len(ranking) >= 2*most {
				cut()
			}
		}
	}
	cut()
	return ranking, nil
}

// counts says which outcomes have their keys where only those matter that may be exported.
func counts(e *space.Entry) bool { return e.Outcome.Counts() }
