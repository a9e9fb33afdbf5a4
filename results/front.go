package results

import "tune/space"

// Front returns the outcomes of a run that no other one dominates in its goals, the least cost first.
func Front(h History, goals space.Goals) ([]space.Entry, error) {
	front := space.NewFront(goals)
	for r, err := range h.Rounds() {
		if err != nil {
			return nil, err
		}
		for _, e := range r.Entries {
			front.Offer(e)
		}
	}
	return front.Entries(), nil
}
