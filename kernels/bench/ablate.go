// Package bench judges kernels: it measures the result of a search beside installed libraries, and how much each choice of a
// space contributes.
package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"tune/kernels"
	"tune/kernels/native/timing"
	"tune/search"
	"tune/search/bench"
	"tune/search/strategies"
	"tune/space"
)

// Ablate measures how much the choices of a space contribute: it searches the whole space, and then the space without one choice
// at a time, with the same seeds and budget. Where costs are measured, those of different searches do not compare, so that the best
// points are measured again, in turns.
type Ablate struct {
	Kernel   kernels.Kernel
	Shape    kernels.Shape
	Strategy string // as strategies.Parse reads it
	// Off are the choices to leave out: each fixes some parameters to values, written as in keys.
	Off    []map[string]string
	Seeds  []uint64
	Budget search.Budget // of each search
	Jobs   int
	// Observe is called after each search; nil observes nothing.
	Observe func(done, total int)
	// Limit is roughly how long the measurement in turns may take in all; 0 means 20 s for each choice.
	Limit time.Duration
	// Measuring is told which of how many turns begins; nil is not told.
	Measuring func(turn, of int)
}

// Ablation is the result of the searches of one space.
type Ablation struct {
	Fixed map[string]string `json:"fixed,omitempty"` // nil for the whole space
	// Best has the best cost of each seed's search, and Evaluations how many outcomes it had, cheap ones included.
	Best        []float64 `json:"best"`
	Evaluations []int     `json:"evals"`
	Median      float64   `json:"median"`
	Point       string    `json:"point"` // the best of all seeds
	// Worth is how many times as long as the best point of the whole space Point takes, with its 95 % interval: what the choice
	// is worth. Zero where costs are exact, and for the whole space; 1 where it is the same point.
	Worth     float64 `json:"worth,omitempty"`
	WorthLow  float64 `json:"worth_low,omitempty"`
	WorthHigh float64 `json:"worth_high,omitempty"`
	// Within is the share by which the costs of a point may differ, where the interval follows from that alone; otherwise 0.
	Within float64 `json:"within,omitempty"`
	// Unverified says that the machine was not as quiet as the measurement needs.
	Unverified bool `json:"unverified,omitempty"`
}

// Choice returns what was fixed, as name=value separated by spaces; "" for the whole space.
func (a Ablation) Choice() string {
	var fixed []string
	for _, name := range slices.Sorted(maps.Keys(a.Fixed)) {
		fixed = append(fixed, name+"="+a.Fixed[name])
	}
	return strings.Join(fixed, " ")
}

// Run carries out every search. The first element is the whole space. Nothing is written to disk.
func (b Ablate) Run(ctx context.Context) ([]Ablation, error) {
	problem, err := b.Kernel.Problem(b.Shape)
	if err != nil {
		return nil, err
	}
	entry, err := strategies.Parse(b.Strategy)
	if err != nil {
		return nil, err
	}
	// Choices that cannot be fixed are reported before the first search.
	off := append([]map[string]string{nil}, b.Off...)
	problems := make([]kernels.Problem, len(off))
	for i, values := range off {
		if problems[i], err = kernels.Pin(problem, values); err != nil {
			return nil, err
		}
	}
	var out []Ablation
	for i, p := range problems {
		a := Ablation{Fixed: off[i]}
		var best space.Outcome
		for _, seed := range b.Seeds {
			r, err := b.search(ctx, p, entry, seed)
			if err != nil {
				return nil, fmt.Errorf("%s, seed %d: %w", cmp.Or(a.Choice(), "the whole space"), seed, err)
			}
			a.Best, a.Evaluations = append(a.Best, r.Best.Outcome.Cost), append(a.Evaluations, r.Told)
			if (space.Objective{}).Less(r.Best.Outcome, best) {
				best, a.Point = r.Best.Outcome, r.Best.Trial.Point.Key()
			}
			if b.Observe != nil {
				b.Observe(len(out)*len(b.Seeds)+len(a.Best), len(problems)*len(b.Seeds))
			}
		}
		a.Median = timing.Median(a.Best)
		out = append(out, a)
	}
	if b.Kernel.Info().Exact {
		return out, nil
	}
	return out, b.measure(ctx, out)
}

// measure fills the Worth of all rows but the first, which is the whole space: it measures their best points in turns with that of
// the whole space.
func (b Ablate) measure(ctx context.Context, rows []Ablation) error {
	s, err := kernels.Open(b.Kernel, b.Shape)
	if err != nil {
		return err
	}
	compare := s.Compare()
	if compare == nil {
		return fmt.Errorf("%s cannot compare its candidates", s.Info.Name)
	}
	seeds := kernels.ExportSeeds(b.Seeds[0])[:1]
	build := func(key string) (kernels.Candidate, error) {
		point, err := s.Problem.Space().Parse(key)
		if err != nil {
			return nil, err
		}
		return s.Build(ctx, point, seeds)
	}
	whole, err := build(rows[0].Point)
	if err != nil {
		return fmt.Errorf("the whole space: %s: %w", rows[0].Point, err)
	}
	var others []kernels.Candidate
	var measured []*Ablation
	for i := range rows[1:] {
		row := &rows[1+i]
		if row.Point == rows[0].Point {
			row.Worth, row.WorthLow, row.WorthHigh = 1, 1, 1
			continue
		}
		c, err := build(row.Point)
		if err != nil {
			return fmt.Errorf("%s: %s: %w", row.Choice(), row.Point, err)
		}
		others, measured = append(others, c), append(measured, row)
	}
	if len(others) == 0 {
		return nil
	}
	limit := cmp.Or(b.Limit, time.Duration(len(others))*measureLimit)
	final, err := compare(ctx, whole, others, kernels.Series{Limit: limit, Seed: b.Seeds[0], Observe: b.Measuring})
	if err != nil {
		return err
	}
	for i, c := range final.Comparisons {
		if c.Err != nil {
			return fmt.Errorf("%s: %s: %w", measured[i].Choice(), measured[i].Point, c.Err)
		}
		measured[i].Worth, measured[i].WorthLow, measured[i].WorthHigh = inverse(c)
		measured[i].Unverified = c.Unverified
		measured[i].Within, _ = space.FindMetric(c.Metrics, space.MetricWithin)
	}
	return nil
}

// measureLimit is roughly how long one comparison takes where no limit is set.
const measureLimit = 20 * time.Second

// search looks for the best point of a problem.
func (b Ablate) search(ctx context.Context, p kernels.Problem, entry strategies.Strategy, seed uint64) (search.Result, error) {
	strategy, err := bench.StrategyOf(entry, p, seed)
	if err != nil {
		return search.Result{}, err
	}
	evaluator := &kernels.Evaluator{Problem: p, CheckSeed: kernels.CheckSeed(seed)}
	r, err := search.Run(ctx, strategy, evaluator, search.Settings{Budget: b.Budget, Jobs: b.Jobs})
	switch {
	case err != nil:
		return r, err
	case r.Stop == search.Interrupted:
		return r, context.Cause(ctx)
	case r.Best.Outcome.Status != space.OK:
		return r, errors.New("no point was right within the budget")
	}
	return r, nil
}
