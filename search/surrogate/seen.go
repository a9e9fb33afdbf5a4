package surrogate

import (
	"cmp"
	"slices"

	"tune/search"
	"tune/space"
)

// seen holds everything that was told: for each point its number in the source of fresh points, and its cost. Whatever else the
// model needs is computed again for the points that it observes.
type seen struct {
	fresh   *search.Fresh
	numbers search.Column[int32]
	costs   search.Column[float64] // +Inf where it failed
	top     []int32                // the best, as many as elites
	order   []int32                // all that were told at the last ranking, the best first
}

func (s *seen) len() int { return s.costs.Len() }

func (s *seen) cost(i int) float64 { return *s.costs.At(i) }

func (s *seen) point(i int) space.Point { return s.fresh.At(int(*s.numbers.At(i))) }

func (s *seen) add(p space.Point, cost float64) {
	at, _ := slices.BinarySearchFunc(s.top, cost, func(j int32, cost float64) int {
		if s.cost(int(j)) <= cost {
			return -1
		}
		return 1
	})
	if at < elites {
		s.top = slices.Insert(s.top, at, int32(s.len()))
		s.top = s.top[:min(len(s.top), elites)]
	}
	s.numbers.Append(int32(s.fresh.Number(p)))
	s.costs.Append(cost)
}

// ranked lists the observations, the best first; of equal ones, the one that was told first.
func (s *seen) ranked() []int32 {
	old := len(s.order)
	for i := old; i < s.len(); i++ {
		s.order = append(s.order, int32(i))
	}
	late := slices.Clone(s.order[old:])
	slices.SortStableFunc(late, func(a, b int32) int { return cmp.Compare(s.cost(int(a)), s.cost(int(b))) })
	// Merge from the end, where there is room.
	for at := len(s.order) - 1; len(late) > 0; at-- {
		last := len(late) - 1
		if old > 0 && s.cost(int(s.order[old-1])) > s.cost(int(late[last])) {
			old--
			s.order[at] = s.order[old]
			continue
		}
		s.order[at], late = late[last], late[:last]
	}
	return slices.Clone(s.order)
}

// observation returns an observation in the terms of the model. It is cached until the next fit.
func (u *Strategy) observation(i int) observation {
	o, ok := u.used[i]
	if !ok {
		p := u.seen.point(i)
		o.x = u.enc.encode(p)
		o.prior = u.prior.at(p, o.x)
		u.used[i] = o
	}
	return o
}
