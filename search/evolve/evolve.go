// Package evolve is a genetic algorithm over the points of a space:
//
//  1. The first population consists of random points.
//  2. Parents are chosen by tournament and crossed parameter by parameter. A mutation changes a number by a step, and replaces a
//     word or a boolean by another value. Listed numbers count as numbers if they ascend or descend. The best points, the elites,
//     stay in the population beside the children.
//  3. A child that violates a constraint or was asked before is mutated again, and finally replaced by a random point that was not
//     asked before. So no evaluation is wasted.
//  4. After several generations without a better point the population is replaced: alternately by strong mutations of the best
//     point and by random points.
//
// A point that failed counts as the worst.
//
// # What eaopt does
//
// [eaopt] provides individuals (genomes with a fitness), populations, and the step from one generation to the next. Its
// generational model chooses couples by tournament, crosses a share of them, and mutates a share of the children. It calls the
// operators of the genome, which are in search/internal/genome because they depend on the parameters. So is the repair of children that
// cannot be asked for: eaopt knows neither constraints nor the points that were asked for before. This package has:
//
//   - Ask and Tell. The loop of eaopt evaluates individuals itself, and ends when one fails.
//   - Elites and the order of a population. The generational model keeps no individual, and eaopt's sort is not stable.
//   - Restarts, and learning from points of other strategies.
//
// All of this draws from a single random generator, so that a run depends only on the seed.
//
// [eaopt]: https://pkg.go.dev/github.com/MaxHalford/eaopt
package evolve

import (
	"fmt"
	"math"
	"slices"

	"github.com/MaxHalford/eaopt"

	"tune/search"
	"tune/search/constant"
	"tune/search/internal/genome"
	"tune/space"
)

// Config holds the hyper-parameters. Zero values take the defaults.
type Config struct {
	Population  int     // points in a generation; default 24, at least 4
	Elites      int     // best points that are kept beside the children; default Population/6
	Contestants int     // points in a tournament; default 3
	Crossover   float64 // share of couples that are crossed; default 0.7
	Mutation    float64 // parameters that a mutation changes, on average; default 1.5
	Patience    int     // generations without a better point before a restart; default 12
	// Start are the first points of the first population. Mutations of them and random points follow.
	Start []space.Point
	// Fresh holds the points that were not asked for yet, where several strategies share it; nil for one of its own.
	Fresh *search.Fresh
}

// Constants are the hyper-parameters that users may set, with their defaults and ranges.
func Constants() constant.Table[Config] {
	return constant.Table[Config]{
		constant.NewInt("population", "points in a generation", 24, 4, 10000, func(c *Config) *int { return &c.Population }),
		constant.NewInt("elites", "best points of a generation that are kept beside the children, less than the population and by default a sixth of it", 4, 1, 9999, func(c *Config) *int { return &c.Elites }).
			Within("population", 1).Or(func(c Config) float64 { return float64(max(c.Population/6, 1)) }),
		constant.NewInt("contestants", "points of a tournament, less than the population", 3, 1, 9999, func(c *Config) *int { return &c.Contestants }).Within("population", 1),
		constant.NewFloat("crossover", "share of couples that are crossed", 0.7, 0.01, 1, func(c *Config) *float64 { return &c.Crossover }),
		constant.NewFloat("mutation", "parameters that a mutation changes, on average", 1.5, 1, 1000, func(c *Config) *float64 { return &c.Mutation }),
		constant.NewInt("patience", "generations without a better point before a restart", 12, 1, 100000, func(c *Config) *int { return &c.Patience }),
	}
}

// Validate reports hyper-parameters that make no sense.
func (c Config) Validate() error { return Constants().Settle("evolve", &c) }

// New returns the strategy for a space.
func New(s *space.Space, seed uint64, c Config) (*Strategy, error) {
	if err := Constants().Settle("evolve", &c); err != nil {
		return nil, err
	}
	breed := genome.NewBreed(s, seed, 0x65766F6C, c.Fresh, c.Mutation)
	model := eaopt.ModGenerational{
		Selector:  eaopt.SelTournament{NContestants: uint(c.Contestants)},
		CrossRate: c.Crossover,
		MutRate:   1 - unmutated*c.Crossover, // most crossed children mutate too; others would be copies
	}
	if err := model.Validate(); err != nil {
		return nil, fmt.Errorf("evolve: %w", err)
	}
	return &Strategy{cfg: c, breed: breed, model: model, population: eaopt.Population{RNG: breed.Old}}, nil
}

// Strategy is the genetic algorithm. It also learns from points that other strategies asked for.
type Strategy struct {
	cfg   Config
	breed *genome.Breed

	model eaopt.Model // makes the next generation
	// population holds the possible parents, the best first. All of them have a known fitness.
	population eaopt.Population
	best       eaopt.Individual // of the whole run; its genome is nil until a point has succeeded
	// era is the best fitness since the last restart; stale counts the generations since it improved.
	era      float64
	stale    int
	restarts int // how often the population was replaced
	// begun counts the points of the first population, where there is a Config.Start: its points, then the random ones and the mutations.
	begun int
}

// worst is the fitness of a failed point. It is finite, because selection compares fitness and must not see NaN or Inf.
const worst = math.MaxFloat64

// Ask returns the next generation.
func (e *Strategy) Ask(p space.Progress) []space.Proposal {
	size := e.cfg.Population
	if e.stale >= e.cfg.Patience {
		e.restart()
	}
	if len(e.population.Individuals) < e.cfg.Contestants+1 {
		return search.Take(size, p, e.newcomer)
	}
	children := e.population
	children.Individuals = e.population.Individuals.Clone(e.population.RNG)
	if err := e.model.Apply(&children); err != nil {
		// This cannot happen: the population is large enough for a tournament, and the fitness of all individuals is known.
		panic("evolve: " + err.Error())
	}
	next := 0
	return search.Take(size, p, func() (space.Point, bool) {
		if next == len(children.Individuals) {
			return e.breed.Fresh.Draw()
		}
		child := genome.Of(children.Individuals[next])
		next++
		return e.breed.Unseen(child)
	})
}

// The constants that users cannot set. They were chosen by hand.
const (
	// unmutated is the share of crossed children that do not mutate.
	unmutated = 0.3
	// A new population that starts from the best point changes one in immigrantShare of its parameters.
	immigrantShare = 3
)

// newcomer returns a point of a new population, when there are not enough individuals for a tournament. The first population begins with
// Config.Start; then random points and mutations of Config.Start alternate. Without Config.Start, once a point has succeeded, and in later
// populations it is an immigrant.
func (e *Strategy) newcomer() (space.Point, bool) {
	for e.begun < len(e.cfg.Start) {
		point := e.cfg.Start[e.begun]
		e.begun++
		if e.breed.Fresh.Mark(point) {
			return point, true
		}
	}
	if e.restarts > 0 || len(e.cfg.Start) == 0 || e.best.Genome != nil {
		return e.immigrant()
	}
	e.begun++
	if e.begun%2 == 0 {
		return e.breed.Fresh.Draw()
	}
	ordinals := e.cfg.Start[e.begun/2%len(e.cfg.Start)].Ordinals()
	e.breed.Mutate(ordinals, e.cfg.Mutation)
	return e.breed.Unseen(ordinals)
}

// immigrant returns a random point or, in every other population, a strong mutation of the best point of the run.
func (e *Strategy) immigrant() (space.Point, bool) {
	if e.restarts%2 == 0 || e.best.Genome == nil {
		return e.breed.Fresh.Draw()
	}
	ordinals := slices.Clone(genome.Of(e.best))
	e.breed.Mutate(ordinals, float64(len(ordinals))/immigrantShare)
	return e.breed.Unseen(ordinals)
}

// restart discards the population.
func (e *Strategy) restart() {
	e.population.Individuals, e.stale = nil, 0
	e.restarts++
}

// Tell makes the evaluated points the next population. The elites of the previous one take the place of the worst.
func (e *Strategy) Tell(trials []space.Trial, outcomes []space.Outcome) {
	before := e.population.Individuals
	first := len(before) == 0
	told := make(eaopt.Individuals, len(trials))
	for i, t := range trials {
		told[i] = e.individual(t, outcomes[i])
	}
	rank(told)
	improved := first
	if len(told) > 0 && (first || told[0].Fitness < e.era) {
		e.era, improved = told[0].Fitness, true
	}
	if len(told) > 0 && told[0].Fitness < worst && (e.best.Genome == nil || told[0].Fitness < e.best.Fitness) {
		e.best = told[0]
	}
	if e.stale++; improved {
		e.stale = 0
	}
	elites := min(e.cfg.Elites, len(before))
	next := append(slices.Clone(before[:elites]), told...)
	rank(next)
	e.population.Individuals = next[:min(len(next), e.cfg.Population)]
}

// Learn takes in the outcomes of points that another strategy asked for. Each point that is better than the worst of the population
// takes its place.
func (e *Strategy) Learn(trials []space.Trial, outcomes []space.Outcome) {
	all := e.population.Individuals
	for i, t := range trials {
		one := e.individual(t, outcomes[i])
		all = append(all, one)
		if one.Fitness < worst && (e.best.Genome == nil || one.Fitness < e.best.Fitness) {
			e.best = one
		}
	}
	rank(all)
	e.population.Individuals = all[:min(len(all), e.cfg.Population)]
	if len(all) > 0 && all[0].Fitness < e.era {
		e.era, e.stale = all[0].Fitness, 0
	}
}

func (e *Strategy) individual(t space.Trial, o space.Outcome) eaopt.Individual {
	return e.breed.Individual(t.Point, min(worst, space.Objective{}.Value(o)))
}

// rank orders individuals by fitness. The sort is stable, so that individuals of equal fitness keep their order: older ones come
// first.
func rank(in eaopt.Individuals) {
	slices.SortStableFunc(in, func(a, b eaopt.Individual) int {
		switch {
		case a.Fitness < b.Fitness:
			return -1
		case a.Fitness > b.Fitness:
			return 1
		}
		return 0
	})
}
