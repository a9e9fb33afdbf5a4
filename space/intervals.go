package space

import (
	"cmp"
	"slices"
)

// intervals collects ranges of ordinals, of which many are duplicates.
type intervals struct {
	list   [][2]int
	sorted int // the part of the list that is sorted and without overlaps
}

func (s *intervals) add(lo, hi int) {
	s.list = append(s.list, [2]int{lo, hi})
	if len(s.list) >= 2*s.sorted+1024 {
		s.merge()
	}
}

// merge sorts the list and joins what overlaps or touches.
func (s *intervals) merge() {
	slices.SortFunc(s.list, func(a, b [2]int) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	out := s.list[:0]
	for _, r := range s.list {
		if k := len(out) - 1; k >= 0 && r[0] <= out[k][1] {
			out[k][1] = max(out[k][1], r[1])
		} else {
			out = append(out, r)
		}
	}
	s.list, s.sorted = out, len(out)
}

// total is the number of ordinals in all ranges.
func (s *intervals) total() int {
	s.merge()
	n := 0
	for _, r := range s.list {
		n += r[1] - r[0]
	}
	return n
}
