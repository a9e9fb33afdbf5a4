package tune_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"tune"
	"tune/kernels"
	"tune/results"
	"tune/search"
	"tune/search/strategies"
	"tune/space"
)

// climb is a strategy: it asks for the neighbours of the best point so far, and for random points where none is new.
type climb struct {
	fresh *search.Fresh
	best  space.Point
	least space.Outcome // that of best; unset before
}

func newClimb(s *space.Space, seed uint64, h strategies.Hints) (search.Strategy, error) {
	c := &climb{fresh: search.SeededFresh(s, seed)}
	if len(h.Start) > 0 {
		c.best = h.Start[0]
	}
	return c, nil
}

// Ask proposes up to eight points. A strategy proposes no point twice; search.Fresh keeps count.
func (c *climb) Ask(p space.Progress) (batch []space.Proposal) {
	most := 8
	if p.Evaluations > 0 {
		most = min(most, p.Evaluations)
	}
	if !c.best.IsZero() {
		for _, near := range c.best.Space().Neighbours(c.best, space.Adjacent) {
			if len(batch) < most && c.fresh.Mark(near) {
				batch = append(batch, space.Proposal{Point: near})
			}
		}
	}
	for len(batch) < most {
		point, ok := c.fresh.Draw()
		if !ok {
			break
		}
		batch = append(batch, space.Proposal{Point: point})
	}
	return batch
}

func (c *climb) Tell(trials []space.Trial, outcomes []space.Outcome) {
	for i, o := range outcomes {
		if (space.Objective{}).Less(o, c.least) {
			c.best, c.least = trials[i].Point, o
		}
	}
}

// A run takes a strategy of one's own. Its name is recorded, so that the run is resumed and replayed with no other.
func Example_ownStrategy() {
	root, err := os.MkdirTemp("", "tune-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(root)
	ctx, table, dir := context.Background(), kernels.Table{power{}}, filepath.Join(root, "run")

	mine, err := strategies.Own("climb", 1, newClimb)
	if err != nil {
		log.Fatal(err)
	}
	shape, err := kernels.ParseShape(power{}.Info().Shape, "n=999999999")
	if err != nil {
		log.Fatal(err)
	}
	report, err := tune.Run(ctx, tune.Options{Kernel: power{}, Shape: shape, Own: &mine, Dir: dir, Budget: search.Budget{Evaluations: 6}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s, %d evaluated\n", report.Settings.Strategy, report.Result.Told)

	report, err = tune.Resume(ctx, table, dir, tune.Changes{Own: &mine, Budget: search.Budget{Evaluations: 16}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d evaluated, best %s\n", report.Result.Told, report.Schedule.Key)

	n, err := tune.Replay(table, dir, mine)
	fmt.Println(n, "points replayed, error:", err)
	// Output:
	// climb, 6 evaluated
	// 16 evaluated, best width=3 slide=true
	// 16 points replayed, error: <nil>
}

// elsewhere is an evaluator that pretends to hand each candidate to one of several machines. A real one would send the point, and
// wait for the outcome.
type elsewhere struct {
	machines []string
	local    search.Evaluator
}

func (e elsewhere) Evaluate(ctx context.Context, t space.Trial) (space.Outcome, error) {
	o, err := e.local.Evaluate(ctx, t)
	o.By = e.machines[t.Number%len(e.machines)]
	return o, err
}

// A run takes an evaluator of one's own, and its journal says what measured each candidate. The baseline and what is exported are
// checked and scored by the kernel itself.
func Example_ownEvaluator() {
	root, err := os.MkdirTemp("", "tune-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(root)
	dir := filepath.Join(root, "run")

	shape, err := kernels.ParseShape(power{}.Info().Shape, "n=999999999")
	if err != nil {
		log.Fatal(err)
	}
	opened, err := kernels.Open(power{}, shape)
	if err != nil {
		log.Fatal(err)
	}
	const seed = 1
	local := &kernels.Evaluator{Problem: opened.Problem, CheckSeed: kernels.CheckSeed(seed)}
	_, err = tune.Run(context.Background(), tune.Options{
		Kernel: power{}, Shape: shape, Strategy: "grid", Seed: seed, Dir: dir, Evaluator: elsewhere{[]string{"ada", "grace"}, local},
	})
	if err != nil {
		log.Fatal(err)
	}
	run, err := results.Read(dir)
	if err != nil {
		log.Fatal(err)
	}
	count := map[string]int{}
	for round, err := range run.Rounds() {
		if err != nil {
			log.Fatal(err)
		}
		for _, e := range round.Entries {
			count[e.Outcome.By]++
		}
	}
	fmt.Println(count)
	// Output:
	// map[ada:8 grace:8]
}
