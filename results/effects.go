package results

import (
	"cmp"
	"slices"
	"strings"

	"tune/space"
)

// Effect is what a run saw of one parameter: the least cost with each of its values, the best value first.
type Effect struct {
	Parameter string        `json:"parameter"`
	Values    []ValueEffect `json:"values"`
}

// ValueEffect is what a run saw of the candidates with one value of a parameter.
type ValueEffect struct {
	Value string  `json:"value"` // as keys write it
	Count int     `json:"count"` // of right candidates
	Best  float64 `json:"best"`  // the least of their costs
}

// Effects returns the effects of the parameters of which a history has right candidates with several values, those that matter most
// first: the ones whose middle value is furthest from the best. A search does not try all values as often, and other parameters may
// make up for a value, so that they only show where to look.
func Effects(h History) ([]Effect, error) {
	seen := map[string]map[string]*ValueEffect{}
	for r, err := range h.Rounds() {
		if err != nil {
			return nil, err
		}
		for i := range r.Entries {
			e := &r.Entries[i]
			if !e.Outcome.Counts() {
				continue
			}
			for _, c := range choicesOf(e.Key) {
				if seen[c.name] == nil {
					seen[c.name] = map[string]*ValueEffect{}
				}
				v := seen[c.name][c.value]
				if v == nil {
					v = &ValueEffect{Value: c.value, Best: e.Outcome.Cost}
					seen[c.name][c.value] = v
				}
				v.Count++
				if (space.Objective{}).Less(e.Outcome, space.Outcome{Status: space.OK, Cost: v.Best}) {
					v.Best = e.Outcome.Cost
				}
			}
		}
	}
	var out []Effect
	for name, values := range seen {
		if len(values) < 2 {
			continue
		}
		effect := Effect{Parameter: name}
		for _, v := range values {
			effect.Values = append(effect.Values, *v)
		}
		slices.SortFunc(effect.Values, func(a, b ValueEffect) int {
			return cmp.Or(cmp.Compare(a.Best, b.Best), strings.Compare(a.Value, b.Value))
		})
		out = append(out, effect)
	}
	slices.SortFunc(out, func(a, b Effect) int {
		return cmp.Or(cmp.Compare(b.matters(), a.matters()), strings.Compare(a.Parameter, b.Parameter))
	})
	return out, nil
}

// matters is the distance of the middle value from the best one.
func (e Effect) matters() float64 { return e.Values[len(e.Values)/2].Best - e.Values[0].Best }
