// Package tasks hands out the time of a search among several tasks, such as the shapes of a library of kernels.
//
// A scheduler sees what each task has found so far, and names the one that gets the next slice of the budget. It knows no kernel and no
// strategy.
package tasks

import "math"

// Task is what a scheduler knows of a task.
type Task struct {
	// Weight is how much a relative gain of this task counts.
	Weight float64
	// Slices are those that the task has had, in order.
	Slices []Slice
}

// Slice is a part of the budget that a task had.
type Slice struct {
	Spent float64 // how much it was: seconds or evaluations
	Best  float64 // the least cost that the task knew at its end; +Inf while it knew none
}

// Next returns the task that gets the next slice: the first that has had none, then the one with the greatest expected gain for each
// unit that is spent, times its weight. -1 stands for no task.
//
// The gain of a task is expected to shrink as its curve has: with n slices behind it, the best of a random search is lowered by a
// share of about 1/n of what n slices lowered it. A task that gained little in its last slices is expected to gain their mean again, and
// at least what a search that has gone on for as long gains on average.
func Next(all []Task) int {
	best, most := -1, math.Inf(-1)
	for i, t := range all {
		if len(t.Slices) == 0 {
			return i
		}
		if g := t.Weight * t.rate(); g > most {
			best, most = i, g
		}
	}
	return best
}

// rate is the expected relative gain of the next slice, for each unit spent.
func (t Task) rate() float64 {
	n := len(t.Slices)
	last := t.Slices[n-1]
	if math.IsInf(last.Best, 1) {
		return math.Inf(1) // it has nothing yet
	}
	spent, gain := 0.0, 0.0
	for i := max(n-recent, 1); i < n; i++ {
		spent += t.Slices[i].Spent
		if before := t.Slices[i-1].Best; !math.IsInf(before, 1) {
			gain += math.Log(before / t.Slices[i].Best)
		}
	}
	least := common / float64(n*n)
	if spent == 0 {
		return common / t.Slices[0].Spent
	}
	return max(gain/spent/2, least/last.Spent)
}

const (
	recent = 3   // slices that tell how a task does now
	common = 0.1 // the relative gain of a second slice, on average
)
