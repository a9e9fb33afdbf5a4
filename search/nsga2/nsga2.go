// Package nsga2 is NSGA-II (Deb, Pratap, Agarwal and Meyarivan, "A fast and elitist multiobjective genetic algorithm: NSGA-II", 2002) over
// the points of a space, for searches with several goals:
//
//  1. The first generation consists of random points, and is larger than the later ones.
//  2. Each generation ranks parents and children together: first by front (points that no other dominates, those that only these dominate,
//     and so on), then by crowding (how far the neighbours on the same front are apart, over all goals: the farther the better). The best
//     are the next parents: as many as a generation has points, or the whole first front where that is more, up to a bound.
//  3. Parents are chosen by tournaments of two, whose winner has the better rank. They are crossed and mutated as in package evolve.
//
// The paper has generations of 100 points, as many parents, and budgets of 25,000 evaluations. Budgets here are some hundreds: small
// generations learn earlier, and without the larger first one they would learn from too little.
//
// Failed points, and points that lack a number that is a goal, come last. With one goal, the ranks are the order of the costs.
//
// Couples and the step to the next generation are those of [eaopt]; ranking and crowding are here.
//
// [eaopt]: https://pkg.go.dev/github.com/MaxHalford/eaopt
package nsga2

import (
	"cmp"
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
	Population int     // points of a generation after the first; default 8, at least 4
	Crossover  float64 // share of couples that are crossed; default 0.9
	Mutation   float64 // parameters that a mutation changes, on average; default 1
	Redraw     float64 // share of mutations that draw one parameter anew from its whole domain; default 0.4
	// Goals are what is minimised or maximised; none mean the cost alone.
	Goals space.Goals
	// Start are the first points of the first generation.
	Start []space.Point
	// Fresh holds the points that were not asked for yet, where several strategies share it; nil for one of its own.
	Fresh *search.Fresh
}

// Constants are the hyper-parameters that users may set, with their defaults and ranges.
func Constants() constant.Table[Config] {
	return constant.Table[Config]{
		constant.NewInt("population", "points of a generation after the first, which has three times as many", 8, 4, 10000, func(c *Config) *int { return &c.Population }),
		constant.NewFloat("crossover", "share of couples that are crossed", 0.9, 0.01, 1, func(c *Config) *float64 { return &c.Crossover }),
		constant.NewFloat("mutation", "parameters that a mutation changes, on average", 1, 1, 1000, func(c *Config) *float64 { return &c.Mutation }),
		constant.NewFloat("redraw", "share of mutations that draw one parameter anew from its whole domain", 0.4, 0.01, 1, func(c *Config) *float64 { return &c.Redraw }),
	}
}

// Validate reports hyper-parameters that make no sense.
func (c Config) Validate() error { return Constants().Settle("nsga2", &c) }

// The first generation has firstShare times as many points as the others. A parent is added every growth evaluations, and there are at
// most mostParents times as many parents as points of a generation. Without redraws and growth, these were the hypervolumes of
// docs/design/objectives.md after 100, 200 and 500 evaluations, whose standard errors are from .006 to .014:
//
//	generations of 24, 24 parents, 1.5 mutations (version 1)    .475 .693 .888
//	generations of  8,  8 parents, 1 mutation, the first of 24  .630 .805 .908
//	the same with up to 32 parents (version 2)                  .636 .808 .913
//	generations of 12, 12 to 48 parents, the first of 24        .586 .786 .901
//
// The page says what redraws and growth are worth.
const firstShare, mostParents, growth = 3, 4, 32

// unmutated is the share of crossed children that do not mutate.
const unmutated = 0.3

// New returns the strategy for a space.
func New(s *space.Space, seed uint64, c Config) (*Strategy, error) {
	if err := Constants().Settle("nsga2", &c); err != nil {
		return nil, err
	}
	model := eaopt.ModGenerational{Selector: eaopt.SelTournament{NContestants: 2}, CrossRate: c.Crossover, MutRate: 1 - unmutated*c.Crossover}
	if err := model.Validate(); err != nil {
		return nil, fmt.Errorf("nsga2: %w", err)
	}
	breed := genome.NewBreed(s, seed, 0x6E736761, c.Fresh, c.Mutation)
	breed.Redraw = c.Redraw
	return &Strategy{cfg: c, breed: breed, model: model}, nil
}

// Strategy is the genetic algorithm.
type Strategy struct {
	cfg     Config
	breed   *genome.Breed
	model   eaopt.Model // makes the next generation
	parents []member    // the best first
	asked   int         // points of the first generation
	begun   int         // those of Config.Start that were considered
	told    int         // outcomes that were learned
}

// member is a point of the population.
type member struct {
	eaopt.Individual           // its fitness is its place in the ranking
	values           []float64 // what is minimised; nil where the point failed
}

// Ask returns the next generation.
func (n *Strategy) Ask(p space.Progress) []space.Proposal {
	const least = 3 // for a tournament of two, whose winner needs a mate
	if missing := firstShare*n.cfg.Population - n.asked; missing > 0 || len(n.parents) < least {
		out := search.Take(max(missing, least), p, n.newcomer)
		n.asked += len(out)
		return out
	}
	children := eaopt.Population{RNG: n.breed.Old}
	for _, m := range n.parents {
		children.Individuals = append(children.Individuals, m.Clone(n.breed.Old))
	}
	if err := n.model.Apply(&children); err != nil {
		// This cannot happen: the population is large enough for a tournament, and the fitness of all individuals is known.
		panic("nsga2: " + err.Error())
	}
	next := 0
	return search.Take(n.cfg.Population, p, func() (space.Point, bool) {
		if next == len(children.Individuals) {
			return n.breed.Fresh.Draw()
		}
		child := genome.Of(children.Individuals[next])
		next++
		return n.breed.Unseen(child)
	})
}

// newcomer returns a point of the first generation.
func (n *Strategy) newcomer() (space.Point, bool) {
	for n.begun < len(n.cfg.Start) {
		point := n.cfg.Start[n.begun]
		n.begun++
		if n.breed.Fresh.Mark(point) {
			return point, true
		}
	}
	return n.breed.Fresh.Draw()
}

// Tell makes the best of the parents and the evaluated points the next parents.
func (n *Strategy) Tell(trials []space.Trial, outcomes []space.Outcome) { n.Learn(trials, outcomes) }

// Learn takes in the outcomes of points, which another strategy may have asked for.
func (n *Strategy) Learn(trials []space.Trial, outcomes []space.Outcome) {
	all := n.parents
	for i, t := range trials {
		m := member{Individual: n.breed.Individual(t.Point, 0)}
		if values, ok := n.cfg.Goals.Values(outcomes[i]); ok {
			m.values = values
		}
		all = append(all, m)
	}
	n.told += len(trials)
	all, front := ranked(all)
	n.parents = all[:min(len(all), max(n.cfg.Population, min(max(front, n.told/growth), mostParents*n.cfg.Population)))]
	for i := range n.parents {
		n.parents[i].Fitness = float64(i)
	}
}

// ranked returns members by front, and on each by crowding; those that are alike in both stay in their order. Failed ones come last. first
// is how many are on the first front.
func ranked(all []member) (out []member, first int) {
	out = make([]member, 0, len(all))
	var right []member
	for _, m := range all {
		if m.values != nil {
			right = append(right, m)
		}
	}
	for i, front := range fronts(right) {
		if i == 0 {
			first = len(front)
		}
		crowd := crowding(right, front)
		order := make([]int, len(front))
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(crowd[j], crowd[i]) })
		for _, i := range order {
			out = append(out, right[front[i]])
		}
	}
	for _, m := range all {
		if m.values == nil {
			out = append(out, m)
		}
	}
	return out, first
}

// fronts returns the indices of members by front: the fast non-dominated sort of the paper.
func fronts(all []member) (out [][]int) {
	dominated, below := make([]int, len(all)), make([][]int, len(all)) // by how many, and which
	for i, a := range all {
		for j, b := range all {
			if space.Dominates(a.values, b.values) {
				below[i] = append(below[i], j)
				dominated[j]++
			}
		}
	}
	var front []int
	for i, n := range dominated {
		if n == 0 {
			front = append(front, i)
		}
	}
	for len(front) > 0 {
		out = append(out, front)
		var next []int
		for _, i := range front {
			for _, j := range below[i] {
				if dominated[j]--; dominated[j] == 0 {
					next = append(next, j)
				}
			}
		}
		slices.Sort(next)
		front = next
	}
	return out
}

// crowding returns the crowding distances of the members of a front: +Inf at its ends.
func crowding(all []member, front []int) []float64 {
	distance, order := make([]float64, len(front)), make([]int, len(front))
	for i := range order {
		order[i] = i
	}
	for goal := range all[front[0]].values {
		value := func(i int) float64 { return all[front[i]].values[goal] }
		slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(value(i), value(j)) })
		first, last := order[0], order[len(order)-1]
		span := value(last) - value(first)
		distance[first], distance[last] = math.Inf(1), math.Inf(1)
		if span <= 0 {
			continue
		}
		for at := 1; at+1 < len(order); at++ {
			distance[order[at]] += (value(order[at+1]) - value(order[at-1])) / span
		}
	}
	return distance
}
