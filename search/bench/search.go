// Package bench compares strategies: on the space of a kernel, and on measured spaces, whose optimum is known. Race uses such
// spaces to judge the rule by which measured candidates are given up early, and Tasks to judge the rules that share a budget among
// several searches.
package bench

import (
	"context"
	"fmt"
	"slices"

	"tune/kernels"
	"tune/kernels/native/timing"
	"tune/search"
	"tune/search/strategies"
	"tune/space"
)

// Search compares strategies on the space of a kernel, over several seeds, with the same number of evaluations.
type Search struct {
	Kernel      kernels.Kernel
	Shape       kernels.Shape
	Strategies  []string // as strategies.Parse reads them
	Seeds       []uint64
	Evaluations int
	Jobs        int
	// Observe is called after each run; nil observes nothing.
	Observe func(done, total int)
}

// Curve is how one strategy did.
type Curve struct {
	Strategy string `json:"strategy"`
	// At are numbers of evaluations, and Mean the best cost so far at each of them, as a mean over seeds.
	At   []int     `json:"at"`
	Mean []float64 `json:"mean"`
	// Best holds the final best cost of each seed's run. It is never +Inf: a run without a valid candidate is an error.
	Best []float64 `json:"best"`
}

// Median returns the median over seeds of the final best cost.
func (c Curve) Median() float64 { return timing.Median(c.Best) }

// Wins counts the seeds for which c ended below other; a tie counts half.
func (c Curve) Wins(other Curve) float64 {
	wins := 0.0
	for i, b := range c.Best {
		switch {
		case b < other.Best[i]:
			wins++
		case b == other.Best[i]:
			wins += 0.5
		}
	}
	return wins
}

// checkpoints are the numbers of evaluations at which curves are read.
func checkpoints(evaluations int) []int {
	at := slices.DeleteFunc([]int{25, 50, 100, 200, 500, 1000, 2000, 5000}, func(n int) bool { return n >= evaluations })
	return append(at, evaluations)
}

// Run carries out every run and returns a curve for each strategy. Nothing is written to disk.
func (b Search) Run(ctx context.Context) ([]Curve, error) {
	k, err := kernels.Open(b.Kernel, b.Shape)
	if err != nil {
		return nil, err
	}
	at := checkpoints(b.Evaluations)
	var curves []Curve
	done := 0
	for _, name := range b.Strategies {
		entry, err := strategies.Parse(name)
		if err != nil {
			return nil, err
		}
		curve := Curve{Strategy: name, At: at, Mean: make([]float64, len(at))}
		for _, seed := range b.Seeds {
			best, err := b.run(ctx, k, entry, seed, at)
			if err != nil {
				return nil, fmt.Errorf("strategy %s, seed %d: %w", name, seed, err)
			}
			for i, v := range best {
				curve.Mean[i] += v / float64(len(b.Seeds))
			}
			curve.Best = append(curve.Best, best[len(best)-1])
			done++
			if b.Observe != nil {
				b.Observe(done, len(b.Strategies)*len(b.Seeds))
			}
		}
		curves = append(curves, curve)
	}
	return curves, nil
}

// run returns the best cost so far of one run at each checkpoint. Until a candidate is valid, the best cost is the baseline's.
func (b Search) run(ctx context.Context, k *kernels.Opened, entry strategies.Strategy, seed uint64, at []int) ([]float64, error) {
	// Each score counts as an evaluation, the cheap ones too.
	strategy, err := StrategyOf(entry, k.Problem, seed)
	if err != nil {
		return nil, err
	}
	evaluator := &kernels.Evaluator{Problem: k.Problem, CheckSeed: kernels.CheckSeed(seed)}
	baseline, err := k.Baseline(ctx, evaluator.CheckSeed)
	if err != nil {
		return nil, err
	}
	steps, err := trace(ctx, strategy, evaluator, search.Settings{Budget: search.Budget{Evaluations: b.Evaluations}, Jobs: b.Jobs})
	if err != nil {
		return nil, err
	}
	best, out := baseline.Outcome.Cost, make([]float64, 0, len(at))
	for i := range b.Evaluations {
		if i < len(steps) && steps[i].outcome.Fidelity == 0 {
			best = min(best, space.Objective{}.Value(steps[i].outcome))
		}
		if i+1 == at[len(out)] {
			out = append(out, best)
		}
	}
	return out, nil
}
