package report

import (
	"slices"
	"testing"

	"tune/results/insight"
)

// TestSide: a side has a bin for each value, or as many bins as it can, whichever values most outcomes have.
func TestSide(t *testing.T) {
	ones := func(n int) []int { return slices.Repeat([]int{1}, n) }
	for name, c := range map[string]struct {
		counts      []int
		bins, tried int
	}{
		"few":        {[]int{3, 0, 900, 1}, 3, 3},
		"just all":   {append(ones(mostCells-1), 500), mostCells, mostCells},
		"one more":   {ones(mostCells + 1), mostCells, mostCells + 1},
		"last":       {append(ones(39), 961), mostCells, 40},
		"first":      {append([]int{961}, ones(39)...), mostCells, 40},
		"middle":     {slices.Concat(ones(12), []int{500}, ones(13)), mostCells, 26},
		"with holes": {slices.Concat(ones(20), make([]int, 30), ones(20), []int{961}), mostCells, 41},
		"none":       {make([]int, 5), 0, 0},
	} {
		s := newSide(&insight.Parameter{}, c.counts, mostCells)
		if len(s.bins) != c.bins || s.tried != c.tried {
			t.Errorf("%s: %d values in %d bins, want %d in %d", name, s.tried, len(s.bins), c.tried, c.bins)
			continue
		}
		last := -1
		for k, bin := range s.bins {
			if bin[0] <= last || bin[1] < bin[0] {
				t.Errorf("%s: bin %d is %v after %d", name, k, bin, last)
			}
			last = bin[1]
			if n := last - bin[0] + 1; name != "with holes" && len(c.counts) > mostCells && n > 2 {
				t.Errorf("%s: bin %d has %d values", name, k, n)
			}
		}
		for v, n := range c.counts {
			if bin := s.bins[s.of[v]:]; n > 0 && (v < bin[0][0] || v > bin[0][1]) {
				t.Errorf("%s: value %d is in bin %v", name, v, bin[0])
			}
		}
	}
}
