package timing

import (
	"errors"
	"math"

	"golang.org/x/perf/benchmath"
)

// Confidence is that of every interval.
const Confidence = 0.95

// LeastPairs is the number of pairs from which on the median has an interval of that confidence.
const LeastPairs = 6

// Ratio is the median of paired ratios, with its interval.
type Ratio struct {
	Median    float64
	Low, High float64 // the interval; both 0 where there are fewer than LeastPairs
	Pairs     int
}

// Pairs compares two candidates that were measured in turns: the i-th sample of one right beside the i-th of the
// other, so that whatever slows the machine slows both. The ratio is base over other: above 1 the other is faster.
// Pairs with a sample that cannot be are left out: one that is no positive number, is below Slack times floor
// (of base and of other), or whose ratio is wild, eight times off the median.
func Pairs(base, other []float64, baseFloor, otherFloor float64) (Ratio, error) {
	if len(base) != len(other) {
		return Ratio{}, errors.New("timing: samples that are no pairs")
	}
	valid := func(s, floor float64) bool { return s > 0 && s >= Slack*floor && !math.IsInf(s, 1) }
	var ratios []float64
	for i := range base {
		if valid(base[i], baseFloor) && valid(other[i], otherFloor) {
			ratios = append(ratios, base[i]/other[i])
		}
	}
	if len(ratios) == 0 {
		return Ratio{}, errors.New("timing: no pair of samples can be believed")
	}
	const wild = 8
	middle := benchmath.AssumeNothing.Summary(sample(ratios), Confidence).Center
	kept := ratios[:0:0]
	for _, r := range ratios {
		if r < middle*wild && r > middle/wild {
			kept = append(kept, r)
		}
	}
	s := benchmath.AssumeNothing.Summary(sample(kept), Confidence)
	r := Ratio{Median: s.Center, Low: s.Lo, High: s.Hi, Pairs: len(kept)}
	if len(kept) < LeastPairs || math.IsInf(r.Low, 0) || math.IsInf(r.High, 0) {
		r.Low, r.High = 0, 0
	}
	return r, nil
}

func sample(values []float64) *benchmath.Sample {
	return benchmath.NewSample(append([]float64(nil), values...), &benchmath.DefaultThresholds)
}

// Indistinct reports whether the ratio does not tell its two sides apart: its interval holds 1, or there is none.
func (r Ratio) Indistinct() bool { return r.Low <= 1 && r.High >= 1 || r.Low == 0 && r.High == 0 }
