package timing

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"sync"
)

// Confidence is that of an interval that only decides an order. See also kernels.Confirmed.
const Confidence = 0.95

// LeastPairs is the number of pairs that is enough for an interval at every confidence used here.
const LeastPairs = 7

// Ratio is the ratio estimated from pairs, with its interval.
type Ratio struct {
	Value     float64 // the median of the geometric means of all pairs of ratios, including each with itself
	Low, High float64 // the interval; both 0 where there are too few pairs for it
	Pairs     int
}

// Pairs compares two candidates that were measured in turns: the i-th cost of one immediately beside the i-th cost of the other,
// so that whatever slows the machine slows both. The ratio is base over other: above 1 the other is faster; ratios are those of the
// pairs that count. It drops pairs with an implausible cost: one that is not a positive number or is below Slack times its floor
// (that of base or of other), or whose ratio is eight times off the median.
//
// The estimate and its interval are those of Hodges and Lehmann ("Estimates of location based on rank tests", 1963) for the
// logarithms of the ratios, the inverse of Wilcoxon's signed-rank test. That test assumes only that, for two equal candidates,
// each pair could equally well have been the other way round. This holds whatever the machine does if the first side of a pair is
// drawn at random: slow phases may be so long that neighbouring pairs are alike, and outliers may be large. For equal candidates,
// a 95 % interval lies above 1 one time in 40, and a 98 % interval one time in 100; the same holds below 1.
func Pairs(base, other []float64, baseFloor, otherFloor, confidence float64) (r Ratio, ratios []float64, err error) {
	if ratios, err = believed(base, other, baseFloor, otherFloor); err != nil {
		return Ratio{}, nil, err
	}
	return estimate(ratios, confidence), ratios, nil
}

// estimate sums up the ratios of pairs, of which there is one at least.
func estimate(ratios []float64, confidence float64) Ratio {
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
	return r
}

// believed returns the ratios of the pairs that Pairs keeps.
func believed(base, other []float64, baseFloor, otherFloor float64) (ratios []float64, err error) {
	if len(base) != len(other) {
		return nil, errors.New("timing: costs that are no pairs")
	}
	for i := range base {
		if believable(base[i], baseFloor) && believable(other[i], otherFloor) {
			ratios = append(ratios, base[i]/other[i])
		}
	}
	if len(ratios) == 0 {
		return nil, errors.New("timing: no pair of costs can be believed")
	}
	const wild = 8
	middle := Quantile(slices.Sorted(slices.Values(ratios)), 0.5)
	ratios = slices.DeleteFunc(ratios, func(r float64) bool { return r >= middle*wild || r <= middle/wild })
	if len(ratios) == 0 {
		return nil, errors.New("timing: no two pairs of costs agree")
	}
	return ratios, nil
}

// believable reports whether a cost can be one, above a floor.
func believable(cost, floor float64) bool {
	return cost > 0 && cost >= Slack*floor && !math.IsInf(cost, 1)
}

// calmest returns the half of the pairs with the smallest products, but at least LeastPairs if there are so many, and at most the
// given number: the machine disturbed these least. They are in the order of their products. A few that are far below all others are
// dropped, because the clock was wrong there. The selection depends neither on the order of the two sides nor on a factor between them,
// so that it does not make Pairs wrong more often.
func calmest(base, other []float64, most int) (calmBase, calmOther []float64) {
	const few, far = 1. / 6, 1.2 // of the pairs, and between products
	product := func(i int) float64 { return base[i] * other[i] }
	var order []int
	for i := range base {
		if product(i) > 0 { // both sides have a cost
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
	n := min(len(order)-lies, max(LeastPairs, (len(order)+1)/2), max(LeastPairs, most))
	for _, i := range order[lies : lies+n] {
		calmBase, calmOther = append(calmBase, base[i]), append(calmOther, other[i])
	}
	return calmBase, calmOther
}

// signedRank returns the largest value that Wilcoxon's signed-rank statistic of n differences is at most equal to with no more
// than the given probability; -1 where n is so small that even 0 is more probable.
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

// signedRanks caches results of signedRank: few different ones are needed, very often.
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

// Indistinct reports whether the ratio fails to tell its two sides apart: its interval contains 1, or there is none.
func (r Ratio) Indistinct() bool { return r.Low <= 1 && r.High >= 1 || r.TooFew() }

// TooFew reports whether there are too few pairs for an interval, so that nothing is known of the difference.
func (r Ratio) TooFew() bool { return r.Low == 0 && r.High == 0 }
