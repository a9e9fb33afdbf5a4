package bench

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"tune/kernels"
	"tune/search"
	"tune/search/strategies"
	"tune/search/tasks"
	"tune/space"
)

// Tasks compares the rules that hand out a budget among tasks. Each measured space is a task. What a strategy finds after some
// evaluations of a space does not depend on when it made them, so every rule sees the same searches. A strategy is told of no budget:
// one that is paced by what is left searches as if there were no end.
type Tasks struct {
	Spaces      []DataSpace
	Strategy    string   // as strategies.Parse reads it
	Weights     []string // of Weightings
	Seeds       []uint64 // two or more
	Evaluations []int    // the mean number for each task
	Slice       int      // evaluations of a slice, which divides each of Evaluations
	// Jobs is how many seeds run at once; 0 means 1. The result does not depend on it.
	Jobs int
	// Observe is called, by one goroutine at a time, after each seed; nil observes nothing.
	Observe func(done, total int)
}

// Weightings are the ways to weight tasks: all alike, or each between 1 and 16, drawn by the seed from a distribution that is uniform in
// the logarithm.
var Weightings = []string{"equal", "random"}

// TasksReport is how the rules did.
type TasksReport struct {
	Tasks    []string     `json:"tasks"`
	Strategy string       `json:"strategy"`
	Slice    int          `json:"slice"`
	Seeds    int          `json:"seeds"`
	Rules    []TaskResult `json:"rules"` // by weights, by evaluations, then in the order of tasks.Rules
}

// TaskResult is how a rule did. The values are means over seeds.
type TaskResult struct {
	Weights     string `json:"weights"`
	Evaluations int    `json:"evals"` // the mean number for each task
	Rule        string `json:"rule"`
	// Sum is what is judged, where the rule is told to lower it: the weighted mean over tasks of best / optimum - 1. A task that found
	// nothing counts as the first valid configuration of its space.
	Sum Estimate `json:"sum"`
	// Log is the weighted mean over tasks of the logarithm of best / optimum, where the rule is told to lower that.
	Log Estimate `json:"log"`
	// SumBehind and LogBehind are how much more that is than what the first rule reached with the same seed.
	SumBehind Estimate `json:"sum_behind"`
	LogBehind Estimate `json:"log_behind"`
}

// Estimate is a mean over seeds.
type Estimate struct {
	Mean  float64 `json:"mean"`
	Error float64 `json:"standard_error"`
}

func estimate(values []float64) Estimate {
	n := float64(len(values))
	sum, squares := 0.0, 0.0
	for _, v := range values {
		sum += v
	}
	for _, v := range values {
		squares += (v - sum/n) * (v - sum/n)
	}
	return Estimate{sum / n, math.Sqrt(squares / (n - 1) / n)}
}

// Validate reports what makes no sense, named as the flags of the command are.
func (b Tasks) Validate() error {
	switch {
	case len(b.Seeds) < 2:
		return fmt.Errorf("--seeds: %d: want 2 or more, for a standard error", len(b.Seeds))
	case b.Slice < 1:
		return fmt.Errorf("--slice: %d: want a whole number, 1 or more", b.Slice)
	}
	for _, n := range b.Evaluations {
		if n < 1 || n%b.Slice != 0 {
			return fmt.Errorf("--evals: %d: want a multiple of the %d evaluations of a slice (--slice)", n, b.Slice)
		}
	}
	for _, w := range b.Weights {
		if !slices.Contains(Weightings, w) {
			return fmt.Errorf("--weights: %q: want %s", w, strings.Join(Weightings, " or "))
		}
	}
	if _, err := strategies.Parse(b.Strategy); err != nil {
		return fmt.Errorf("--strategy: %w", err)
	}
	return nil
}

// Run hands out every budget by every rule.
func (b Tasks) Run(ctx context.Context) (*TasksReport, error) {
	if err := b.Validate(); err != nil {
		return nil, err
	}
	r := &TasksReport{Strategy: b.Strategy, Slice: b.Slice, Seeds: len(b.Seeds)}
	for _, s := range b.Spaces {
		if !(s.Problem.Optimum() > 0) {
			return nil, fmt.Errorf("%s: its optimum is %v: the ratio to it needs costs above 0", s.Name, s.Problem.Optimum())
		}
		r.Tasks = append(r.Tasks, s.Name)
	}
	bySeed := make([][]handed, len(b.Seeds))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(b.Jobs, 1))
	var mu sync.Mutex
	done := 0
	for i, seed := range b.Seeds {
		group.Go(func() (err error) {
			if bySeed[i], err = b.seed(ctx, seed); err != nil || b.Observe == nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			done++
			b.Observe(done, len(b.Seeds))
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	rules := tasks.Rules()
	for k := range bySeed[0] {
		first := k - k%len(rules)
		var sum, log, sumBehind, logBehind []float64
		for _, all := range bySeed {
			sum, log = append(sum, all[k].sum), append(log, all[k].log)
			sumBehind, logBehind = append(sumBehind, all[k].sum-all[first].sum), append(logBehind, all[k].log-all[first].log)
		}
		budget := k / len(rules)
		r.Rules = append(r.Rules, TaskResult{
			Weights: b.Weights[budget/len(b.Evaluations)], Evaluations: b.Evaluations[budget%len(b.Evaluations)], Rule: rules[k%len(rules)].Name,
			Sum: estimate(sum), Log: estimate(log), SumBehind: estimate(sumBehind), LogBehind: estimate(logBehind),
		})
	}
	return r, nil
}

// handed is where a rule ended with one seed.
type handed struct{ sum, log float64 }

// seed hands out the budgets with one seed, by weights, evaluations and rules.
func (b Tasks) seed(ctx context.Context, seed uint64) ([]handed, error) {
	entry, err := strategies.Parse(b.Strategy)
	if err != nil {
		return nil, err
	}
	courses := make([]*course, len(b.Spaces))
	for i, s := range b.Spaces {
		strategy, err := entry.New(s.Problem.Space(), seed, strategies.Hints{Start: kernels.Starts(s.Problem)})
		if err != nil {
			return nil, fmt.Errorf("%s, strategy %s, seed %d: %w", s.Name, entry.Text(), seed, err)
		}
		courses[i] = &course{DataSpace: s, strategy: strategy}
	}
	var out []handed
	for _, w := range b.Weights {
		weights := weigh(w, seed, len(courses))
		for _, n := range b.Evaluations {
			for _, rule := range tasks.Rules() {
				if ctx.Err() != nil {
					return nil, context.Cause(ctx)
				}
				set := tasks.Setting{Sum: true, Total: float64(n * len(courses)), Seed: seed}
				one := handed{sum: b.hand(rule, set, courses, weights)}
				set.Sum = false
				one.log = b.hand(rule, set, courses, weights)
				out = append(out, one)
			}
		}
	}
	return out, nil
}

func weigh(weighting string, seed uint64, n int) []float64 {
	rng := rand.New(rand.NewPCG(seed, 0))
	weights := slices.Repeat([]float64{1}, n)
	if weighting == "random" {
		for i := range weights {
			weights[i] = math.Pow(16, rng.Float64())
		}
	}
	return weights
}

// hand hands out a budget by a rule, and returns the weighted mean that the rule was told to lower. The rule sees costs as multiples of
// the optimum, so that the costs of all spaces are in one unit.
func (b Tasks) hand(rule tasks.Rule, set tasks.Setting, courses []*course, weights []float64) float64 {
	all := make([]tasks.Task, len(courses))
	had := make([]int, len(courses))
	for i := range all {
		all[i].Weight = weights[i]
	}
	for left := int(set.Total); left > 0; {
		i := rule.Next(all, set)
		if i < 0 {
			break
		}
		best, made := courses[i].after(had[i] + b.Slice)
		all[i].Done = made < had[i]+b.Slice
		if spent := made - had[i]; spent > 0 {
			all[i].Slices = append(all[i].Slices, tasks.Slice{Spent: float64(spent), Best: best})
			had[i], left = made, left-spent
		}
	}
	mean, sum := 0.0, 0.0
	for i, c := range courses {
		best, _ := c.after(had[i])
		if math.IsInf(best, 1) {
			best = c.Problem.Lookup(c.Problem.Presets()[0].Point).Cost / c.Problem.Optimum()
		}
		sum += weights[i]
		if set.Sum {
			mean += weights[i] * (best - 1)
		} else {
			mean += weights[i] * math.Log(best)
		}
	}
	return mean / sum
}

// course is a search of a space that goes on as far as it is looked at.
type course struct {
	DataSpace
	strategy search.Strategy
	best     []float64 // the least cost after each evaluation, over the optimum; +Inf while there is none
	over     bool      // the strategy has no other point
}

// after returns the least cost after n evaluations, over the optimum, and how many could be made.
func (c *course) after(n int) (best float64, made int) {
	best = math.Inf(1)
	if len(c.best) > 0 {
		best = c.best[len(c.best)-1]
	}
	for len(c.best) < n && !c.over {
		var trials []space.Trial
		var outcomes []space.Outcome
		told := len(c.best)
		for i, p := range c.strategy.Ask(space.Progress{Told: told, Left: 1}) {
			o := c.Problem.Lookup(p.Point)
			trials, outcomes = append(trials, space.Trial{Number: told + i, Proposal: p}), append(outcomes, o)
			best = min(best, space.Objective{}.Value(o)/c.Problem.Optimum())
			c.best = append(c.best, best)
		}
		if c.over = len(trials) == 0; !c.over {
			c.strategy.Tell(trials, outcomes)
		}
	}
	made = min(n, len(c.best))
	if made == 0 {
		return math.Inf(1), 0
	}
	return c.best[made-1], made
}
