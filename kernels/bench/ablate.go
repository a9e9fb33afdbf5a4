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

	"tune/kernels"
	"tune/kernels/native/timing"
	"tune/search"
	"tune/search/bench"
	"tune/search/strategies"
	"tune/space"
)

// Ablate measures how much the choices of a space contribute: it searches the whole space, and then the space without one choice
// at a time, with the same seeds and budget. Costs have to be exact, because costs of different runs are compared.
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
}

// Ablation is the result of the searches of one space.
type Ablation struct {
	Fixed map[string]string `json:"fixed,omitempty"` // nil for the whole space
	// Best has the best cost of each seed's search, and Evaluations how many outcomes it had, cheap ones included.
	Best        []float64 `json:"best"`
	Evaluations []int     `json:"evals"`
	Median      float64   `json:"median"`
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
	if info := b.Kernel.Info(); !info.Exact {
		return nil, fmt.Errorf("the costs of %s are measured, and do not compare from one run to another: an ablation wants exact ones", info.Name)
	}
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
		for _, seed := range b.Seeds {
			r, err := b.search(ctx, p, entry, seed)
			if err != nil {
				return nil, fmt.Errorf("%s, seed %d: %w", cmp.Or(a.Choice(), "the whole space"), seed, err)
			}
			a.Best, a.Evaluations = append(a.Best, r.Best.Outcome.Cost), append(a.Evaluations, r.Told)
			if b.Observe != nil {
				b.Observe(len(out)*len(b.Seeds)+len(a.Best), len(problems)*len(b.Seeds))
			}
		}
		a.Median = timing.Median(a.Best)
		out = append(out, a)
	}
	return out, nil
}

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
