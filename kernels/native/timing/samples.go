package timing

import (
	"math"
	"slices"
	"time"
)

// Lengths and numbers of samples.
const (
	// SampleSeconds is the least length of one turn of a candidate, or of one sample where turns are not cut.
	SampleSeconds = 0.005
	// BurstSeconds is the least length of a sample where a turn is cut into many, because other work on the core comes and goes
	// within SampleSeconds. The clock's error is at most a fiftieth of it, and much the same for all candidates.
	BurstSeconds = 0.0005
	// GlanceSeconds is the least length of a sample of a candidate that is scored again later, among many others.
	GlanceSeconds = 0.0001
	// Least is the number of samples from which a summary ranks candidates well.
	Least = 5
	// Most is how many samples a candidate gets unless it is stopped early.
	Most = 11
	// Slow is the length of a call, in seconds, from which on it is timed only once: such a call averages over disturbances, and
	// more of them would use up the budget.
	Slow = 1.0
	// Slack is the share of the least possible time below which a sample is rejected. That bound is measured too, and both may be
	// a few percent off.
	Slack = 0.9
)

// Summary describes a list of samples.
type Summary struct {
	Cost     float64 // seconds per call: the lower quartile of the kept samples; with fewer than four, the median
	Median   float64 // of the kept samples
	Fast     float64 // at most an eighth of the kept samples is below it; of fewer than eight samples, the least
	Low      float64 // the least kept sample; it only decides whether to continue
	Spread   float64 // interquartile range over median
	Kept     int
	Rejected int // implausible samples
}

// Summarise summarises samples, in seconds per call. It rejects samples that are not a positive number, that are below Slack
// times floor (0 means no floor), or that are less than half the median of the rest: the clock was wrong there. Slow samples are
// kept because they are real; the quartile is not affected by them.
func Summarise(samples []float64, floor float64) Summary {
	keep := make([]float64, 0, len(samples))
	for _, s := range samples {
		if s > 0 && s >= floor*Slack && !math.IsInf(s, 1) {
			keep = append(keep, s)
		}
	}
	slices.Sort(keep)
	if len(keep) > 2 {
		half := Quantile(keep, 0.5) / 2
		for len(keep) > 0 && keep[0] < half {
			keep = keep[1:]
		}
	}
	s := Summary{Kept: len(keep), Rejected: len(samples) - len(keep)}
	if len(keep) == 0 {
		return s
	}
	s.Low, s.Fast, s.Median = keep[0], keep[len(keep)/8], Quantile(keep, 0.5)
	s.Cost = s.Median
	if len(keep) >= 4 {
		s.Cost = Quantile(keep, 0.25)
	}
	s.Spread = (Quantile(keep, 0.75) - Quantile(keep, 0.25)) / s.Median
	return s
}

// Quantile returns the q-quantile of a sorted list that is not empty, interpolated between its neighbours.
func Quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}

// Median returns the middle one of some values in any order, or the mean of both. There is at least one.
func Median(values []float64) float64 {
	s := slices.Sorted(slices.Values(values))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// Mean returns the mean of some values, 0 where there are none.
func Mean(values []float64) (sum float64) {
	for _, x := range values {
		sum += x / float64(len(values))
	}
	return sum
}

// Calls returns how many calls make a sample of the given length, both in seconds.
func Calls(perCall, sample float64) int {
	const most = 1 << 24
	if !(perCall > 0) {
		return most
	}
	return int(min(max(math.Ceil(sample/perCall), 1), most))
}

// Samples returns how many samples a candidate gets whose calls take the given seconds: Most, fewer for slow ones, and one from
// Slow on.
func Samples(perCall float64) int {
	switch {
	case perCall >= Slow:
		return 1
	case perCall >= Slow/10:
		return Least
	}
	return Most
}

// race says when a candidate is so far behind the best that more samples are a waste. On recorded data these numbers saved nine
// tenths of the time and never changed the winner.
type race struct {
	// After this many samples a candidate is stopped if it costs more than Ratio times the best.
	After int
	Ratio float64
}

// races are applied in this order.
var races = []race{{2, 1.25}, {6, 1.05}}

// behind reports whether a candidate, with this summary of its samples, has lost against the best cost, in seconds per call; 0
// means that there is no best yet.
func behind(s Summary, best float64) bool {
	if best <= 0 {
		return false
	}
	cost := s.Cost
	if s.Kept < 4 {
		// One of so few samples may be far too slow, and a stopped candidate has no second chance.
		cost = s.Low
	}
	for _, r := range races {
		if s.Kept >= r.After && cost > r.Ratio*best {
			return true
		}
	}
	return false
}

// Hopeless is how far behind the best a candidate must be for a slow phase of the core not to be the cause.
const Hopeless = 3

// restlessFor is how many samples a candidate gets on a restless core, unless it is hopeless.
const restlessFor = 6

// How far behind the best a candidate must be to be stopped after one sample of a long call, and after only two samples.
const clearly, doubtful = 1.5, 2

// Sampling says how a candidate is sampled: in stages, after each of which it may have lost against the best.
type Sampling struct {
	Want  int     // samples that are enough
	Floor float64 // the least possible seconds of a call; see Summarise
	Best  float64 // seconds a call of the best candidate so far; 0 where there is none
	Long  bool    // calls are so long that a single sample is reliable and expensive
	// Restless says that other work slows the core now and then, so that it may have affected all of the first samples.
	Restless bool
}

// Run takes samples, in seconds a call, until there are enough or the candidate is behind. take returns the next n. An error of
// take ends Run.
func (s Sampling) Run(take func(n int) ([]float64, error)) (sum Summary, stopped bool, err error) {
	var all []float64
	more := func(n int) error {
		next, err := take(n)
		all = append(all, next...)
		sum = Summarise(all, s.Floor)
		return err
	}
	behind := func() bool {
		judged := sum
		if s.Restless {
			judged.Cost = sum.Low // the other samples may have been disturbed
			if sum.Kept < min(restlessFor, s.Want) && sum.Low <= Hopeless*s.Best {
				return false
			}
		}
		return behind(judged, s.Best)
	}
	stages := []int{2, 6, s.Want}
	if s.Long {
		stages = []int{1, 2, 6, s.Want}
	}
	for i := 0; i < len(stages); {
		if n := min(stages[i], s.Want) - sum.Kept; n > 0 {
			if err := more(n); err != nil {
				return sum, false, err
			}
		}
		if s.Best > 0 && s.Long && sum.Cost > clearly*s.Best {
			return sum, true, nil
		}
		if behind() {
			// The same disturbance may have hit both samples; a third one is cheap.
			if sum.Kept == 2 && s.Want > 2 && sum.Low < doubtful*s.Best {
				if err := more(1); err != nil {
					return sum, false, err
				}
			}
			if behind() {
				return sum, true, nil
			}
		}
		if sum.Kept >= min(stages[i], s.Want) || len(all) >= 3*s.Want {
			i++
		}
	}
	return sum, false, nil
}

// Seconds converts seconds to a duration, limited to about a century.
func Seconds(s float64) time.Duration {
	return time.Duration(min(max(s, 0), 3e9) * float64(time.Second))
}
