package search_test

import (
	"context"
	"fmt"

	"tune/search"
	"tune/search/evolve"
	"tune/search/grid"
	"tune/search/searchtest"
	"tune/space"
)

// A plain Go function is tuned: a model of how many bytes a blocked matrix product moves.
func Example() {
	s, err := space.New("matmul", []space.Parameter{
		space.Pow2("rows", 1, 256),
		space.Pow2("cols", 1, 256),
		space.Range("unroll", 1, 16),
		space.Enum("order", "ijk", "ikj", "kij"),
	}, "rows * cols <= 4096") // what fits the cache
	if err != nil {
		fmt.Println(err)
		return
	}
	moved := func(_ context.Context, t space.Trial) (space.Outcome, error) {
		rows, cols, unroll := t.Point.Float("rows"), t.Point.Float("cols"), t.Point.Float("unroll")
		if rows < unroll {
			return space.Fail(space.Invalid, "there are fewer rows than copies of the loop"), nil
		}
		cost := 1e6/rows + 3e6/cols + 1e5/unroll + 500*unroll*unroll
		if t.Point.Str("order") != "ikj" {
			cost *= 1.5
		}
		return space.Outcome{Status: space.OK, Cost: cost}, nil
	}
	strategy, err := evolve.New(s, 1, evolve.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := search.Run(context.Background(), strategy, search.EvaluatorFunc(moved), search.Settings{
		Budget: search.Budget{Evaluations: 400},
		Jobs:   4,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	n, _ := s.Len()
	fmt.Printf("%s: %d of %d points, %d of them valid\n", r.Stop, r.Told, n, r.Valid)
	fmt.Printf("best %.0f at %s\n", r.Best.Outcome.Cost, r.Best.Trial.Point)
	// Output:
	// evaluations spent: 400 of 3408 points, 367 of them valid
	// best 87188 at rows=32 cols=128 unroll=5 order=ikj
}

// A run that was stopped goes on where it was: nothing is evaluated twice.
func ExampleRun_resume() {
	s, err := space.New("line", []space.Parameter{space.Range("x", 1, 100)})
	if err != nil {
		fmt.Println(err)
		return
	}
	evaluations := 0
	ev := search.EvaluatorFunc(func(_ context.Context, t space.Trial) (space.Outcome, error) {
		evaluations++
		x := t.Point.Int("x")
		return space.Outcome{Status: space.OK, Cost: float64((x - 80) * (x - 80))}, nil
	})
	journal := &searchtest.Memory{} // a program keeps it on disk: results.Journal
	ctx, cancel := context.WithCancel(context.Background())
	first, err := search.Run(ctx, grid.New(s), ev, search.Settings{
		Recorder: journal,
		Observe: func(e search.Event) {
			if e.Known == 70 {
				cancel()
			}
		},
	})
	fmt.Println(first.Stop, first.Told, first.Best.Trial.Point, err)

	second, err := search.Run(context.Background(), grid.New(s), ev, search.Settings{
		Recorder: journal,
		History:  journal.History(),
	})
	fmt.Println(second.Stop, second.Told, second.Best.Trial.Point, err)
	fmt.Println(evaluations, "evaluations")

	compared, err := search.Replay(grid.New(s), journal.History())
	fmt.Println(compared, "replayed,", err)
	// Output:
	// interrupted 70 x=70 <nil>
	// space exhausted 100 x=80 <nil>
	// 100 evaluations
	// 100 replayed, <nil>
}

// The target ends a run at the first point, in the order asked, that is good enough.
func ExampleBudget() {
	s, err := space.New("line", []space.Parameter{space.Range("x", 1, 1000)})
	if err != nil {
		fmt.Println(err)
		return
	}
	ev := search.EvaluatorFunc(func(_ context.Context, t space.Trial) (space.Outcome, error) {
		return space.Outcome{Status: space.OK, Cost: 1000 / t.Point.Float("x")}, nil
	})
	enough := 20.0
	r, err := search.Run(context.Background(), grid.New(s), ev, search.Settings{
		Budget: search.Budget{Evaluations: 500, Target: &enough},
		Jobs:   8,
	})
	fmt.Println(r.Stop, r.Told, r.Best.Trial.Point, r.Best.Outcome.Cost, err)
	// Output: target reached 50 x=50 20 <nil>
}
