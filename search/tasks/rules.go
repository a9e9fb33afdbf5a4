package tasks

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Rule is a way to hand out a budget, in slices.
type Rule struct {
	Name string
	Doc  string // one line
	// Next returns the task that gets the next slice, or -1 where all are done. It depends on its arguments alone.
	Next func(all []Task, s Setting) int
}

// Setting is what some rules know beside the tasks.
type Setting struct {
	// Sum says that the weighted sum of the best costs is to fall, which are in one unit. Otherwise it is the weighted sum of their
	// logarithms: relative gains count.
	Sum   bool
	Total float64 // the whole budget, in the unit of Slice.Spent
	Seed  uint64  // of what a rule draws
}

// Rules returns the rules to compare. The first is Next, where relative gains count.
func Rules() []Rule {
	return []Rule{
		{"gain", "the greatest expected gain, read off the task's own curve", gain},
		{"equal", "one task after another, each for its equal share of the budget", equal},
		{"robin", "the task that has had the fewest slices", robin},
		{"gradient", "the steepest fall of the weighted sum, as TVM estimates it", gradient},
	}
}

// gain is Next. In a sum of costs a relative gain counts by the cost; a task without one counts as the dearest.
func gain(all []Task, s Setting) int {
	if !s.Sum {
		return Next(all)
	}
	dearest := 0.0
	for _, t := range all {
		if g := t.best(); !math.IsInf(g, 1) {
			dearest = max(dearest, g)
		}
	}
	if dearest == 0 {
		return Next(all) // no task has any cost
	}
	all = slices.Clone(all)
	for i, t := range all {
		all[i].Weight *= min(t.best(), dearest)
	}
	return Next(all)
}

// equal gives each task the same share of the budget, and what tasks leave that end early to the one that has had least.
func equal(all []Task, s Setting) int {
	least := -1
	for i, t := range all {
		if t.Done {
			continue
		}
		if t.spent() < s.Total/float64(len(all)) {
			return i
		}
		if least < 0 || t.spent() < all[least].spent() {
			least = i
		}
	}
	return least
}

func robin(all []Task, _ Setting) int {
	least := -1
	for i, t := range all {
		if !t.Done && (least < 0 || len(t.Slices) < len(all[least].Slices)) {
			least = i
		}
	}
	return least
}

// The constants of the gradient rule, as published.
const (
	alpha  = 0.2  // the weight of what a task gained lately; the rest is that of what it may gain
	window = 3    // slices that tell what it gained lately
	random = 0.05 // the share of slices that go to a random task
)

// gradient is the task scheduler of Ansor, the auto-scheduler of TVM (Zheng et al., OSDI 2020, section 6). Every task gets one slice. Then
// the next goes where the estimated fall of the weighted sum of best costs g is steepest: with t slices behind a task, alpha times its
// fall per slice in the last ones, and 1-alpha times g/t, as if a cost that took t slices could fall to 0 in as many. Their second
// bound, by the speed of similar tasks (beta), counts only between tasks that are known to be similar, and here none are. For
// the sum of logarithms, as for their geometric mean of speedups, the derivative by g is 1/g.
func gradient(all []Task, s Setting) int {
	best, most, had := -1, math.Inf(-1), 0
	var open []int
	for i, t := range all {
		n := len(t.Slices)
		had += n
		if t.Done {
			continue
		}
		if n == 0 {
			return i
		}
		open = append(open, i)
		g, fall := t.best(), math.Inf(1)
		if !math.IsInf(g, 1) {
			lately := 0.0
			if n > window {
				lately = (t.Slices[n-1-window].Best - g) / window
			}
			fall = t.Weight * (alpha*lately + (1-alpha)*g/float64(n))
			if !s.Sum {
				fall /= g
			}
		}
		if best < 0 || fall > most {
			best, most = i, fall
		}
	}
	if rng := rand.New(rand.NewPCG(s.Seed, uint64(had))); len(open) > 0 && rng.Float64() < random {
		return open[rng.IntN(len(open))]
	}
	return best
}
