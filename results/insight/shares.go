package insight

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"tune/internal/plain"
)

// Share is a part of the variance of the costs.
type Share struct {
	Parameters []string `json:"parameters"` // one, or the two of a pair
	Share      float64  `json:"share"`      // from 0 to 1
}

// String writes a share in short: isa 61 %, or mr × nr 22 %.
func (s Share) String() string {
	return strings.Join(s.Parameters, " × ") + " " + plain.Number(math.Round(100*s.Share)) + " %"
}

// Shares say how much of the variance of the costs comes from which parameters, as functional analysis of variance does (Hooker,
// "Generalized functional ANOVA diagnostics", 2007; Hutter, Hoos and Leyton-Brown, "An efficient approach for assessing
// hyperparameter importance", 2014). All points weigh the same. The share of a parameter is the variance of the mean cost at each of
// its values, over the variance of all. The share of a pair is what the means at each combination of their values vary beyond
// that: what the two do together that neither does alone. Constraints make parameters depend on each other. Then a pair may
// say less than its parameters do one by one, and its share is 0; and the shares need not add up to 1.
type Shares struct {
	Single []Share `json:"single,omitempty"` // of each parameter with several values, the largest first
	Pairs  []Share `json:"pairs,omitempty"`  // of each pair of them, the largest first
	// Points is how many points they are computed from. All says that these are all points of the space, so that the shares are
	// exact; otherwise they are a sample, and a share is off by about a hundredth.
	Points int  `json:"points"`
	All    bool `json:"all,omitempty"`
	// Log says that the logarithms of the costs are analysed, so that twice the cost counts the same anywhere. That is so where all
	// costs are above 0.
	Log bool `json:"log,omitempty"`
}

// mostBins is into how many groups the values of a parameter are put at most.
const mostBins = 64

// column is a parameter of a sample.
type column struct {
	name string
	at   []int32 // the group of each point, from 0
	bins int
}

// newColumn makes a column of ordinals below size; −1 is that of an inactive parameter. Neighbouring values share a group where there are
// many. It reports whether the column has several values.
func newColumn(name string, ordinals []int, size int) (c column, varied bool) {
	size++
	c = column{name: name, at: make([]int32, len(ordinals)), bins: min(size, mostBins)}
	for i, o := range ordinals {
		if o++; size > mostBins {
			o = int(float64(o) / float64(size) * mostBins)
		}
		c.at[i] = int32(o)
		varied = varied || o != int(c.at[0])
	}
	return c, varied
}

// analyse computes shares from a sample. Where it does not cover the space, the share of a group's means that chance alone would give is
// taken away (Kelley, "An unbiased correlation ratio measure", 1935).
func analyse(columns []column, y []float64, covers bool) Shares {
	out := Shares{Points: len(y), All: covers}
	mean, total := 0.0, 0.0
	for _, v := range y {
		mean += v / float64(len(y))
	}
	for _, v := range y {
		total += (v - mean) * (v - mean)
	}
	if !(total > 0) || math.IsInf(total, 0) {
		return out
	}
	var sums []float64
	var counts []int32
	between := func(bins int, at func(i int) int) float64 {
		sums, counts = slices.Grow(sums[:0], bins)[:bins], slices.Grow(counts[:0], bins)[:bins]
		clear(sums)
		clear(counts)
		for i, v := range y {
			k := at(i)
			sums[k] += v - mean
			counts[k]++
		}
		sum, groups := 0.0, 0
		for k, n := range counts {
			if n > 0 {
				sum += sums[k] * sums[k] / float64(n)
				groups++
			}
		}
		if covers {
			return sum / total
		}
		if groups >= len(y) {
			return 0
		}
		return max(sum-float64(groups-1)*(total-sum)/float64(len(y)-groups), 0) / total
	}
	single := make([]float64, len(columns))
	for k, c := range columns {
		single[k] = min(between(c.bins, func(i int) int { return int(c.at[i]) }), 1)
		out.Single = append(out.Single, Share{[]string{c.name}, single[k]})
	}
	for k, a := range columns {
		for l, b := range columns[:k] {
			both := between(a.bins*b.bins, func(i int) int { return int(a.at[i])*b.bins + int(b.at[i]) })
			out.Pairs = append(out.Pairs, Share{[]string{b.name, a.name}, min(max(both-single[k]-single[l], 0), 1)})
		}
	}
	order := func(list []Share) {
		slices.SortStableFunc(list, func(a, b Share) int {
			return cmp.Or(cmp.Compare(b.Share, a.Share), slices.Compare(a.Parameters, b.Parameters))
		})
	}
	order(out.Single)
	order(out.Pairs)
	return out
}

// logs returns the logarithms of costs if all are above 0.
func logs(costs []float64) (values []float64, log bool) {
	for _, c := range costs {
		if c <= 0 {
			return costs, false
		}
	}
	values = make([]float64, len(costs))
	for i, c := range costs {
		values[i] = math.Log(c)
	}
	return values, true
}
