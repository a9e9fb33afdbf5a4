package timing

import (
	"math"
	"slices"
	"time"
)

// Sample sizes and how many samples.
const (
	// SampleSeconds is the least that one turn of a candidate takes, or one sample where turns are not cut.
	SampleSeconds = 0.005
	// BurstSeconds is the least that a sample takes where a turn is cut into many, because what others do on the core comes
	// and goes within SampleSeconds. The clock's error is a fiftieth of it at the most, and much the same for all.
	BurstSeconds = 0.0005
	// Least is the number of samples from which a summary is one that ranks well.
	Least = 5
	// Most is how many samples a candidate gets that nothing stops early.
	Most = 11
	// Slow is the length of a call, in seconds, from which on it is timed once: such a call averages over
	// what disturbs it, and more of them would eat the budget.
	Slow = 1.0
	// Slack is the share of the least possible time below which a sample is rejected. The roof is
	// measured too, and both may be a few percent off.
	Slack = 0.9
)

// Summary is what a list of samples says.
type Summary struct {
	Cost     float64 // seconds per call: the lower quartile of what was kept, with less than four the median
	Median   float64 // of what was kept
	Fast     float64 // what an eighth of what was kept is below, at the most; of less than eight the least
	Low      float64 // the least that was kept; it decides nothing but whether to go on
	Spread   float64 // the distance of the quartiles over the median
	Kept     int
	Rejected int // samples that cannot be
}

// Summarise sums up samples in seconds per call. It rejects those that are no positive number, below Slack times
// floor (0 is no floor), or less than half the median of the rest: the clock lied there. Slow samples are kept,
// because they did happen; a quartile does not feel them.
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

// Calls returns how many calls make a sample of the given length, both in seconds.
func Calls(perCall, sample float64) int {
	const most = 1 << 24
	if !(perCall > 0) {
		return most
	}
	return int(min(max(math.Ceil(sample/perCall), 1), most))
}

// Samples returns how many samples a candidate gets whose calls take the given seconds: Most, less for slow ones, and
// one from Slow on.
func Samples(perCall float64) int {
	switch {
	case perCall >= Slow:
		return 1
	case perCall >= Slow/10:
		return Least
	}
	return Most
}

// race says when a candidate has fallen so far behind the best that more samples are a waste. On recorded data these
// numbers saved nine tenths of the time and never changed the pick.
type race struct {
	// After this many samples a candidate that costs more than Ratio times the best is stopped.
	After int
	Ratio float64
}

// races are applied one after the other.
var races = []race{{2, 1.25}, {6, 1.05}}

// behind reports whether a candidate that was summed up after a number of samples has lost against the best, in
// seconds per call; 0 means that there is none yet.
func behind(s Summary, best float64) bool {
	if best <= 0 {
		return false
	}
	cost := s.Cost
	if s.Kept < 4 {
		// One of so few may be far too slow, and a candidate that is stopped has no second chance.
		cost = s.Low
	}
	for _, r := range races {
		if s.Kept >= r.After && cost > r.Ratio*best {
			return true
		}
	}
	return false
}

// Hopeless is how far behind the best a candidate must be where no slow phase of the core can be to blame.
const Hopeless = 3

// restlessFor is how many samples a candidate that is not hopeless gets where the core is restless.
const restlessFor = 6

// How far behind the best a candidate must be, to be stopped by one sample of a long call, and by two samples alone.
const clearly, doubtful = 1.5, 2

// Sampling is how a candidate is sampled: in stages, after each of which it may have lost against the best.
type Sampling struct {
	Want  int     // samples that are enough
	Floor float64 // seconds that no call can be below, see Summarise
	Best  float64 // seconds a call of the best candidate so far; 0 where there is none
	Long  bool    // calls are so long that a single sample says a lot and costs a lot
	// Restless says that others slow the core now and then, so that the first samples may all have met them.
	Restless bool
}

// Run takes samples, in seconds a call, until there are enough or the candidate is behind. take returns the next n. An
// error of take ends it.
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
			judged.Cost = sum.Low // the other samples may be somebody else's work
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
			// Two samples may have met the same burst of somebody else's work; a third one is cheap.
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

// Seconds converts seconds to a duration, at the most to about a century.
func Seconds(s float64) time.Duration {
	return time.Duration(min(max(s, 0), 3e9) * float64(time.Second))
}
