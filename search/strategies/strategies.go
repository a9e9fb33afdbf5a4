// Package strategies is the table of strategies that users choose from by name.
package strategies

import (
	"fmt"
	"strings"

	"tune/search"
	"tune/search/anneal"
	"tune/search/auto"
	"tune/search/diffevo"
	"tune/search/evolve"
	"tune/search/grid"
	"tune/search/halving"
	"tune/search/ils"
	"tune/search/random"
	"tune/search/surrogate"
	"tune/search/swarm"
	"tune/search/warm"
	"tune/space"
)

// Default is the strategy that a run takes where none is named, and the kernel names none.
const Default = "auto"

// Strategy is one entry of the table.
type Strategy struct {
	Name string
	Doc  string // one line
	// Paced says that what it asks depends on how much of the budget is left, so that a run with a smaller budget does
	// not ask the first points of one with a larger.
	Paced bool
	// Hintless says that it begins with no given point.
	Hintless bool
	// New makes the strategy for a space and a seed.
	New func(s *space.Space, seed uint64, h Hints) (search.Strategy, error)
}

// Make makes the strategy of a run: a batch is scored at the cheap fidelities first, where the problem has any. Of cheap the
// levels and what the cheapest does not depend on are set.
func (e Strategy) Make(s *space.Space, seed uint64, h Hints, cheap halving.Config) (search.Strategy, error) {
	inner, err := e.New(s, seed, h)
	if err != nil {
		return nil, err
	}
	if !e.Hintless {
		cheap.First = search.Leaders(s, h.Sources, search.MostLeaders)
	}
	return halving.New(s, seed, inner, cheap)
}

// Hints are what is known before a run. A strategy makes of them what it can: a model learns from all that the sources
// measured, strategies without one begin with their best points and ask last what was bad in them (package warm), random
// and grid take no hint. The zero value says nothing.
type Hints struct {
	// Start are points of the space that are known to be good.
	Start []space.Point
	// Sources are what earlier runs measured, perhaps of another shape or on another machine, the most alike first.
	Sources []search.Source
}

// warmed makes a strategy that has no model begin with the sources.
func warmed[S warm.Strategy](s *space.Space, seed uint64, h Hints, make func(*search.Fresh) (S, error)) (search.Strategy, error) {
	fresh := search.SeededFresh(s, seed)
	inner, err := make(fresh)
	if err != nil {
		return nil, err
	}
	return warm.New(s, inner, fresh, h.Start, h.Sources), nil
}

// Table returns every strategy, in the order in which they are listed.
func Table() []Strategy {
	return []Strategy{{
		Name: "auto", Paced: true,
		Doc: "a model and local search that share what they find; a bandit learns which of them pays, and the budget sets the pace",
		New: func(s *space.Space, seed uint64, h Hints) (search.Strategy, error) {
			return auto.New(s, seed, auto.Config{Start: h.Start, Sources: h.Sources})
		},
	}, {
		Name: "evolve", Doc: "genetic algorithm: tournaments, crossover by parameter, elites, restarts",
		New: func(s *space.Space, seed uint64, h Hints) (search.Strategy, error) {
			return warmed(s, seed, h, func(fresh *search.Fresh) (*evolve.Strategy, error) {
				return evolve.New(s, seed, evolve.Config{Start: h.Start, Fresh: fresh})
			})
		},
	}, {
		Name: "surrogate", Doc: "Gaussian process with expected improvement; avoids what it learned to fail",
		New: func(s *space.Space, seed uint64, h Hints) (search.Strategy, error) {
			return surrogate.New(s, seed, surrogate.Config{Start: h.Start, Sources: h.Sources})
		},
	}, {
		Name: "anneal", Doc: "simulated annealing: chains that cool, and start anew when frozen",
		New: func(s *space.Space, seed uint64, h Hints) (search.Strategy, error) {
			return warmed(s, seed, h, func(fresh *search.Fresh) (*anneal.Strategy, error) {
				return anneal.New(s, seed, anneal.Config{Start: h.Start, Fresh: fresh})
			})
		},
	}, {
		Name: "ils", Doc: "iterated local search: descents through three neighbourhoods, and kicks between them",
		New: func(s *space.Space, seed uint64, h Hints) (search.Strategy, error) {
			return warmed(s, seed, h, func(fresh *search.Fresh) (*ils.Strategy, error) {
				return ils.New(s, seed, ils.Config{Start: h.Start, Fresh: fresh})
			})
		},
	}, {
		Name: "diffevo", Doc: "differential evolution over ordinals: the best and differences of members lead",
		New: func(s *space.Space, seed uint64, h Hints) (search.Strategy, error) {
			return warmed(s, seed, h, func(fresh *search.Fresh) (*diffevo.Strategy, error) {
				return diffevo.New(s, seed, diffevo.Config{Start: h.Start, Fresh: fresh})
			})
		},
	}, {
		Name: "swarm", Doc: "particle swarm over ordinals: each is drawn to its own best and the best of all",
		New: func(s *space.Space, seed uint64, h Hints) (search.Strategy, error) {
			return warmed(s, seed, h, func(fresh *search.Fresh) (*swarm.Strategy, error) {
				return swarm.New(s, seed, swarm.Config{Start: h.Start, Fresh: fresh})
			})
		},
	}, {
		Name: "random", Hintless: true, Doc: "uniform random points, without replacement",
		New: func(s *space.Space, seed uint64, _ Hints) (search.Strategy, error) {
			return random.New(s, seed), nil
		},
	}, {
		Name: "grid", Hintless: true, Doc: "every point, in canonical order",
		New: func(s *space.Space, _ uint64, _ Hints) (search.Strategy, error) { return grid.New(s), nil },
	}}
}

// Names lists the names of the table.
func Names() []string {
	var names []string
	for _, s := range Table() {
		names = append(names, s.Name)
	}
	return names
}

// Lookup finds a strategy by name. The error names the nearest right one.
func Lookup(name string) (Strategy, error) {
	for _, s := range Table() {
		if s.Name == name {
			return s, nil
		}
	}
	return Strategy{}, fmt.Errorf("unknown strategy %q: want %s%s", name, strings.Join(Names(), ", "), space.DidYouMean(name, Names()))
}
