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
	"tune/search/ils"
	"tune/search/random"
	"tune/search/surrogate"
	"tune/search/swarm"
	"tune/space"
)

// Default is the strategy that a run takes where none is named.
const Default = "evolve"

// Strategy is one entry of the table.
type Strategy struct {
	Name string
	Doc  string // one line
	// New makes the strategy for a space and a seed.
	New func(s *space.Space, seed uint64, h Hints) (search.Strategy, error)
}

// Hints are what is known before a run. A strategy makes of them what it can; the zero value says nothing.
type Hints struct {
	// Start are points of the space that are known to be good.
	Start []space.Point
	// Sources are what earlier runs measured, perhaps of another shape or on another machine, the most alike first.
	Sources []search.Source
}

// Table returns every strategy, in the order in which they are listed.
func Table() []Strategy {
	return []Strategy{
		{"auto", "a model and local search that share what they find; a bandit learns which of them pays",
			func(s *space.Space, seed uint64, h Hints) (search.Strategy, error) {
				return auto.New(s, seed, auto.Config{Start: h.Start, Sources: h.Sources})
			}},
		{"evolve", "genetic algorithm: tournaments, crossover by parameter, elites, restarts",
			func(s *space.Space, seed uint64, h Hints) (search.Strategy, error) {
				return evolve.New(s, seed, evolve.Config{Start: h.Start})
			}},
		{"surrogate", "Gaussian process with expected improvement",
			func(s *space.Space, seed uint64, h Hints) (search.Strategy, error) {
				return surrogate.New(s, seed, surrogate.Config{Start: h.Start, Sources: h.Sources})
			}},
		{"anneal", "simulated annealing: chains that cool, and start anew when frozen",
			func(s *space.Space, seed uint64, h Hints) (search.Strategy, error) {
				return anneal.New(s, seed, anneal.Config{Start: h.Start})
			}},
		{"ils", "iterated local search: descents through three neighbourhoods, and kicks between them",
			func(s *space.Space, seed uint64, h Hints) (search.Strategy, error) {
				return ils.New(s, seed, ils.Config{Start: h.Start})
			}},
		{"diffevo", "differential evolution over ordinals",
			func(s *space.Space, seed uint64, h Hints) (search.Strategy, error) {
				return diffevo.New(s, seed, diffevo.Config{Start: h.Start})
			}},
		{"swarm", "particle swarm over ordinals",
			func(s *space.Space, seed uint64, h Hints) (search.Strategy, error) {
				return swarm.New(s, seed, swarm.Config{Start: h.Start})
			}},
		{"random", "uniform random points, without replacement",
			func(s *space.Space, seed uint64, _ Hints) (search.Strategy, error) {
				return random.New(s, seed), nil
			}},
		{"grid", "every point, in canonical order",
			func(s *space.Space, _ uint64, _ Hints) (search.Strategy, error) { return grid.New(s), nil }},
	}
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
