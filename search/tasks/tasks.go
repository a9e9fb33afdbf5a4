// Package tasks hands out the time of a search among several tasks, such as the shapes of a library of kernels.
//
// A scheduler sees what each task has found so far, and names the one that gets the next slice of the budget. It knows no kernel and no
// strategy.
package tasks

import "math"

// Task is what a scheduler knows of a task.
type Task struct {
	// Weight is how much a relative gain of this task counts, 0 or more.
	Weight float64
	// Slices are those that the task has had, in order.
	Slices []Slice
	// Done says that nothing is left to search: the task gets no other slice.
	Done bool
}

// spent is all that the task had.
func (t Task) spent() (sum float64) {
	for _, s := range t.Slices {
		sum += s.Spent
	}
	return sum
}

// Slice is a part of the budget that a task had.
type Slice struct {
	Spent float64 // how much it was, above 0: seconds or evaluations
	Best  float64 // the least cost that the task knew at its end, above 0; +Inf while it knew none
}

// best is the least cost that the task knows, +Inf for none.
func (t Task) best() float64 {
	if len(t.Slices) == 0 {
		return math.Inf(1)
	}
	return t.Slices[len(t.Slices)-1].Best
}

// Next returns the task that gets the next slice, -1 where all are done: the first that has had none, then the one with the greatest
// expected gain for each unit that is spent, times its weight.
//
// What a task may gain is read off its own curve. A search gains about as much in each doubling of what was spent, so the expected gain
// of the next unit is the gain of the last doublings, divided by the time t that was spent. A gain counts by its logarithm and by (s/t)²,
// where s is when it was made: what was gained lately says most, and a task that gains no more loses its turns. Of the sum the square
// root is taken, because searches gain in bursts: who gained ten times as much will not gain ten times as much again. And a search may
// find nothing for long and then much. So each task is expected to gain something beside, which falls with the square of t. For tasks
// that have stopped gaining this gives turns by the square roots of their weights, and none is left out for ever. A task that knows no
// cost yet counts as one with large gains.
func Next(all []Task) int {
	best, most := -1, math.Inf(-1)
	for i, t := range all {
		if t.Done {
			continue
		}
		if len(t.Slices) == 0 {
			return i
		}
		if g := t.Weight * t.rate(); best < 0 || g > most {
			best, most = i, g
		}
	}
	return best
}

const (
	some  = 0.5 // what each task is expected to gain beside: docs/design/task-scheduler.md
	found = 2.0 // what a task gains that finds its first cost
)

// rate is the expected gain for one more unit spent. Only its ratio to that of other tasks means something.
func (t Task) rate() float64 {
	total, first := t.spent(), t.Slices[0].Spent
	gains, spent := 0.0, first
	for i, s := range t.Slices[1:] {
		spent += s.Spent
		if before := t.Slices[i].Best; !math.IsInf(before, 1) {
			gains += math.Log(before/s.Best) * (spent / total) * (spent / total)
		}
	}
	last := math.Sqrt(gains)
	if math.IsInf(t.best(), 1) {
		last = found
	}
	return (last + some*first/total) / total
}
