package evolve

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tune/search"
	"tune/search/internal/functions"
	"tune/search/internal/genome"
	"tune/search/searchtest"
	"tune/space"
)

// configs have values at the limits of what Validate allows.
var configs = map[string]Config{
	"smallest":   {Population: 4, Elites: 3, Contestants: 3, Patience: 1},
	"one wins":   {Population: 5, Elites: 1, Contestants: 4, Crossover: 1, Mutation: 10, Patience: 2},
	"no contest": {Population: 40, Contestants: 1, Crossover: 0.01, Mutation: 1, Patience: 1},
}

// TestConformance tests the configurations above; package strategies tests the default one.
func TestConformance(t *testing.T) {
	for name, c := range configs {
		searchtest.Conformance(t, name, func(s *space.Space, seed uint64) (search.Strategy, error) { return New(s, seed, c) })
	}
}

func TestValidate(t *testing.T) {
	for name, c := range configs {
		if err := c.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for want, c := range map[string]Config{
		"population is 3: want a whole number from 4 to 10000": {Population: 3},
		"elites is 24: want 1 to 23, as population is 24":      {Elites: 24},
		"elites is -1":                                         {Elites: -1},
		"contestants is 24: want 1 to 23":                      {Contestants: 24},
		"contestants is -1":                                    {Contestants: -1},
		"contestants is 9: want 1 to 7":                        {Population: 8, Contestants: 9},
		"crossover is 1.5: want a number from 0.01 to 1":       {Crossover: 1.5},
		"crossover is NaN":                                     {Crossover: math.NaN()},
		"mutation is -1: want a number from 1 to 1000":         {Mutation: -1},
		"mutation is NaN":                                      {Mutation: math.NaN()},
		"mutation is +Inf":                                     {Mutation: math.Inf(1)},
		"patience is -2: want a whole number from 1 to 100000": {Patience: -2},
	} {
		if err := c.Validate(); err == nil || !strings.HasPrefix(err.Error(), "evolve: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: the error is %v, not %s", c, err, want)
		}
		if _, err := New(functions.Sphere(2).Space, 1, c); err == nil {
			t.Errorf("%+v makes a strategy", c)
		}
	}
}

func mustNew(t *testing.T, s *space.Space, seed uint64, c Config) *Strategy {
	t.Helper()
	strategy, err := New(s, seed, c)
	if err != nil {
		t.Fatal(err)
	}
	return strategy
}

// generation asks for one batch, tells the outcomes, and returns the costs.
func generation(e *Strategy, score func(space.Point) space.Outcome) []float64 {
	var trials []space.Trial
	var outcomes []space.Outcome
	var costs []float64
	for _, p := range e.Ask(space.Progress{}) {
		o := score(p.Point)
		trials, outcomes = append(trials, space.Trial{Proposal: p}), append(outcomes, o)
		if o.Status == space.OK {
			costs = append(costs, o.Cost)
		}
	}
	e.Tell(trials, outcomes)
	return costs
}

func scored(f functions.Function) func(space.Point) space.Outcome {
	return func(p space.Point) space.Outcome { return space.Outcome{Status: space.OK, Cost: f.Cost(p)} }
}

// Between restarts the best points stay in the population, and its size is that of the configuration.
func TestElites(t *testing.T) {
	f := functions.Rastrigin(6)
	e := mustNew(t, f.Space, 1, Config{Patience: 1000})
	var best []float64 // the costs of all points so far, ascending
	for range 60 {
		best = append(best, generation(e, scored(f))...)
		slices.Sort(best)
		if len(e.population.Individuals) != e.cfg.Population {
			t.Fatalf("the population is %d, not %d", len(e.population.Individuals), e.cfg.Population)
		}
		for i := range e.cfg.Elites {
			if got := e.population.Individuals[i].Fitness; got != best[i] {
				t.Fatalf("place %d of the population costs %v, and the best told so far %v", i, got, best[:e.cfg.Elites])
			}
		}
		for i, individual := range e.population.Individuals {
			point, ok := e.breed.Space.Complete(genome.Of(individual))
			if !ok || f.Cost(point) != individual.Fitness {
				t.Fatalf("place %d of the population costs %v, and its point %v", i, individual.Fitness, f.Cost(point))
			}
		}
	}
}

// A population that does not improve for Patience generations is replaced, alternately by mutations of the best point and by random
// points.
func TestRestarts(t *testing.T) {
	f := functions.Sphere(10)
	const patience = 4
	e := mustNew(t, f.Space, 1, Config{Patience: patience})
	var at []int
	first := true
	for g := range 40 {
		restarts := e.restarts
		generation(e, func(p space.Point) space.Outcome {
			if first {
				first = false
				return space.Outcome{Status: space.OK, Cost: 1} // all other points cost more
			}
			return space.Outcome{Status: space.OK, Cost: 2}
		})
		if e.restarts > restarts {
			at = append(at, g)
		}
	}
	// By definition the first generation improves, and so does the first one after each restart.
	if want := []int{5, 10, 15, 20, 25, 30, 35}; !slices.Equal(at, want) {
		t.Errorf("it starts anew in generations %v, not %v", at, want)
	}
	if e.best.Fitness != 1 {
		t.Errorf("the best of the run costs %v after restarts", e.best.Fitness)
	}

	// In mutations of the best point about half of the parameters keep their values, in random points almost none.
	same := func(restarts int) float64 {
		e := mustNew(t, f.Space, 7, Config{})
		generation(e, scored(f))
		e.restart()
		e.restarts = restarts
		best, kept := genome.Of(e.best), 0
		proposals := e.Ask(space.Progress{})
		for _, p := range proposals {
			for i, o := range p.Point.Ordinals() {
				if o == best[i] {
					kept++
				}
			}
		}
		return float64(kept) / float64(len(proposals)*len(best))
	}
	if near, far := same(1), same(2); near < 0.4 || near > 0.9 || far > 0.05 {
		t.Errorf("%.2f of the best point's values are kept by mutations of it, and %.2f by fresh points", near, far)
	}
}

// If every point fails, none of them becomes the best point.
func TestFailures(t *testing.T) {
	f := functions.Sphere(3)
	e := mustNew(t, f.Space, 1, Config{Patience: 2})
	failing := func(space.Point) space.Outcome { return space.Fail(space.Crashed, "it died") }
	for range 20 {
		generation(e, failing)
	}
	if e.best.Genome != nil || e.restarts == 0 {
		t.Errorf("after failures alone, the best is %v, and there were %d restarts", e.best, e.restarts)
	}
	costs := generation(e, scored(f))
	if e.best.Genome == nil || e.best.Fitness != slices.Min(costs) {
		t.Errorf("the best is %v, and the least cost %v", e.best, slices.Min(costs))
	}
}

// A population that the budget or the end of the space leaves smaller than a tournament is filled up.
func TestSmallPopulations(t *testing.T) {
	f := functions.Sphere(3)
	for n := 1; n < 10; n++ {
		e := mustNew(t, f.Space, uint64(n), Config{Contestants: 5})
		for range 5 {
			proposals := e.Ask(space.Progress{Evaluations: n})
			if len(proposals) != n {
				t.Fatalf("with %d evaluations left it asks for %d", n, len(proposals))
			}
			e.Tell(make([]space.Trial, 0), nil) // a batch may be empty
			var trials []space.Trial
			var outcomes []space.Outcome
			for _, p := range proposals {
				trials, outcomes = append(trials, space.Trial{Proposal: p}), append(outcomes, scored(f)(p.Point))
			}
			e.Tell(trials, outcomes)
		}
		if costs := generation(e, scored(f)); len(costs) != e.cfg.Population {
			t.Errorf("after batches of %d it asks for %d", n, len(costs))
		}
	}
}

// A mutation changes only active parameters and stays in their domains. It changes a number to a near value more often than to a
// far one, and a word to each other value equally often.
func TestMutate(t *testing.T) {
	s, err := space.New("kinds", []space.Parameter{
		space.Range("int", 0, 99), space.Pow2("pow", 1, 1<<20), space.Ints("ascending", 1, 2, 3, 5, 8, 13, 21, 34),
		space.Floats("descending", 9, 8, 7, 6, 5, 4, 3, 2), space.Ints("mixed", 3, 1, 2, 9, 4, 7, 8, 5),
		space.Enum("word", "a", "b", "c", "d", "e", "f", "g", "h"), space.Bool("flag"), space.Range("one", 1, 1),
		space.Range("off", 0, 9).If("flag and not flag"),
	})
	if err != nil {
		t.Fatal(err)
	}
	e := mustNew(t, s, 1, Config{})
	if want := []bool{true, true, true, true, false, false, false, true, true}; !slices.Equal(e.breed.Ordered, want) {
		t.Errorf("ordered are %v, not %v", e.breed.Ordered, want)
	}
	r := rand.New(rand.NewPCG(1, 1))
	changes := 0
	const rounds = 20000
	steps := make([]map[int]int, len(e.breed.Sizes))
	for i := range steps {
		steps[i] = map[int]int{}
	}
	for range rounds {
		p, err := s.Sample(r)
		if err != nil {
			t.Fatal(err)
		}
		before := p.Ordinals()
		after := slices.Clone(before)
		e.breed.Mutate(after, 1.5)
		changed := 0
		for i := range after {
			if after[i] == before[i] {
				continue
			}
			changed++
			steps[i][max(after[i]-before[i], before[i]-after[i])]++
			if before[i] < 0 || after[i] < 0 || after[i] >= e.breed.Sizes[i] {
				t.Fatalf("%v became %v", before, after)
			}
		}
		if changed == 0 {
			t.Fatalf("%v did not change", before)
		}
		changes += changed
	}
	// One parameter changes for certain, and each of the six others with probability (1.5-1)/7.
	if mean := float64(changes) / rounds; math.Abs(mean-(1+0.5*6/7)) > 0.02 {
		t.Errorf("a mutation changes %.3f parameters in the mean", mean)
	}
	for i, kind := range []string{"int", "pow", "ascending", "descending", "mixed", "word"} {
		near, far := steps[i][1], 0
		for step, n := range steps[i] {
			if step > e.breed.Sizes[i]/4 {
				far += n
			}
		}
		if total := changes / 7; e.breed.Ordered[i] && (near < total/6 || far > 0) || !e.breed.Ordered[i] && far < total/3 {
			t.Errorf("%s: of about %d mutations %d are to the next value, %d beyond a quarter of the domain", kind, total, near, far)
		}
	}
}
