package timing

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"sync"
)

// Confidence is that of an interval of which nothing more depends than an order. See also kernels.Confirmed.
const Confidence = 0.95

// LeastPairs is the number of pairs from which on a ratio has an interval of any confidence that is asked for here.
const LeastPairs = 7

// Ratio is what paired ratios come to, with its interval.
type Ratio struct {
	Value     float64 // the median of the geometric means of all pairs of ratios, each with itself included
	Low, High float64 // the interval; both 0 where there are too few pairs for it
	Pairs     int
}

// Pairs compares two candidates that were measured in turns: the i-th cost of one right beside the i-th of the
// other, so that whatever slows the machine slows both. The ratio is base over other: above 1 the other is faster.
// Pairs with a cost that cannot be are left out: one that is no positive number, is below Slack times floor (of base
// and of other), or whose ratio is wild, eight times off the median.
//
// The estimate and its interval are those of Hodges and Lehmann ("Estimates of location based on rank tests", 1963)
// for the logarithms of the ratios, which is Wilcoxon's signed-rank test turned round. That test needs no more than
// that the two sides of a pair could as well have stood the other way round where they are alike. Where chance says
// which side is first this holds whatever the machine does: its slow phases may be long, so that pairs resemble their
// neighbours, and its outliers may be large. An interval of 95 % leaves out 1 on one side by mistake one time in
// 40, one of 98 % one time in 100.
func Pairs(base, other []float64, baseFloor, otherFloor, confidence float64) (Ratio, error) {
	if len(base) != len(other) {
		return Ratio{}, errors.New("timing: costs that are no pairs")
	}
	valid := func(s, floor float64) bool { return s > 0 && s >= Slack*floor && !math.IsInf(s, 1) }
	var ratios []float64
	for i := range base {
		if valid(base[i], baseFloor) && valid(other[i], otherFloor) {
			ratios = append(ratios, base[i]/other[i])
		}
	}
	if len(ratios) == 0 {
		return Ratio{}, errors.New("timing: no pair of costs can be believed")
	}
	const wild = 8
	middle := Quantile(slices.Sorted(slices.Values(ratios)), 0.5)
	ratios = slices.DeleteFunc(ratios, func(r float64) bool { return r >= middle*wild || r <= middle/wild })
	if len(ratios) == 0 {
		return Ratio{}, errors.New("timing: no two pairs of costs agree")
	}
	means := make([]float64, 0, len(ratios)*(len(ratios)+1)/2)
	for i, a := range ratios {
		for _, b := range ratios[i:] {
			means = append(means, math.Sqrt(a*b))
		}
	}
	slices.Sort(means)
	r := Ratio{Value: Quantile(means, 0.5), Pairs: len(ratios)}
	if cut := signedRank(len(ratios), (1-confidence)/2); cut >= 0 {
		r.Low, r.High = means[cut], means[len(means)-1-cut]
	}
	return r, nil
}

// calmest returns the half of some pairs whose products are least, but LeastPairs where there are so many: there the machine
// was least in the way of either side. A few that are far below all others are left out, because the clock lied there.
// Neither the order of two sides that are alike nor a factor between them changes which pairs these are, so that Pairs errs
// no more often on them.
func calmest(base, other []float64) (calmBase, calmOther []float64) {
	const few, far = 1. / 6, 1.2 // of the pairs, and between products
	product := func(i int) float64 { return base[i] * other[i] }
	var order []int
	for i := range base {
		if product(i) > 0 { // there are costs of both sides
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(product(i), product(j)) })
	lies := 0
	for i := 1; i <= int(few*float64(len(order))) && len(order)-i >= LeastPairs; i++ {
		if product(order[i]) > far*product(order[i-1]) {
			lies = i
		}
	}
	n := min(len(order)-lies, max(LeastPairs, (len(order)+1)/2))
	for _, i := range order[lies : lies+n] {
		calmBase, calmOther = append(calmBase, base[i]), append(calmOther, other[i])
	}
	return calmBase, calmOther
}

// signedRank returns the greatest value that Wilcoxon's signed-rank statistic of n differences does not exceed with
// more than the given probability; -1 where it exceeds that at 0 already, because n is too small.
func signedRank(n int, probability float64) int {
	type question struct {
		n           int
		probability float64
	}
	if known, ok := signedRanks.Load(question{n, probability}); ok {
		return known.(int)
	}
	answer := countSignedRank(n, probability)
	signedRanks.Store(question{n, probability}, answer)
	return answer
}

// signedRanks keeps what signedRank has found: there are few questions, asked again and again.
var signedRanks sync.Map

func countSignedRank(n int, probability float64) int {
	// ways[w] is the share of the 2^n sets of signs whose positive ranks add up to w.
	ways := make([]float64, n*(n+1)/2+1)
	ways[0] = 1
	for rank, last := 1, 0; rank <= n; rank++ {
		last += rank
		for w := last; w >= 0; w-- {
			ways[w] /= 2
			if w >= rank {
				ways[w] += ways[w-rank] / 2
			}
		}
	}
	total := 0.0
	for w, share := range ways {
		if total += share; total > probability {
			return w - 1
		}
	}
	return len(ways) - 1
}

// Indistinct reports whether the ratio does not tell its two sides apart: its interval holds 1, or there is none.
func (r Ratio) Indistinct() bool { return r.Low <= 1 && r.High >= 1 || r.Low == 0 && r.High == 0 }
