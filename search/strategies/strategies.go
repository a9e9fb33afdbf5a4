// Package strategies is the table of strategies that users choose from by name.
package strategies

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"tune/search"
	"tune/search/anneal"
	"tune/search/auto"
	"tune/search/constant"
	"tune/search/diffevo"
	"tune/search/evolve"
	"tune/search/grid"
	"tune/search/halving"
	"tune/search/ils"
	"tune/search/nsga2"
	"tune/search/random"
	"tune/search/surrogate"
	"tune/search/swarm"
	"tune/search/warm"
	"tune/space"
)

// Default is the strategy of a run that names none and whose kernel names none.
const Default = "auto"

// For returns the strategy of a run that names none. objectives are as space.ParseGoals reads them, and kernel is the strategy that the
// kernel names, "" for none. For several objectives, a kernel that names a strategy other than the default has evaluations that are so fast
// that no strategy should think for long, and gets nsga2. docs/design/objectives.md has the figures.
func For(objectives, kernel string) string {
	switch named := cmp.Or(kernel, Default); {
	case !strings.Contains(objectives, ","):
		return named
	case named != Default:
		return "nsga2"
	}
	return Default
}

// ForSeveral lists the strategies that serve several objectives, as words.
func ForSeveral() string {
	var names []string
	for _, s := range Table() {
		if s.Several {
			names = append(names, s.Name)
		}
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// Strategy is one entry of the table, with values for its constants.
type Strategy struct {
	Name string
	Doc  string // one line
	// Version changes whenever the strategy, or what wraps it, asks for other points with the same seed and constants, and when a
	// default changes. A run is resumed only by the version that started it.
	Version int
	// Constants are those that users may set: see Parse.
	Constants []constant.Constant
	// Paced says that what the strategy asks for depends on how much of the budget is left. Then a run with a small budget does
	// not ask for the first points of a run with a larger one.
	Paced bool
	// Hintless says that the strategy ignores points to start from.
	Hintless bool
	// Several says that the strategy serves several goals: it looks at all of them, or at none. Others look at the cost alone.
	Several bool

	values []float64 // of the constants
	// resolve fills in the NaN among values with defaults, and checks all of them.
	resolve func(values []float64) ([]float64, error)
	make    func(s *space.Space, seed uint64, h Hints, values []float64) (search.Strategy, error)
}

// Validate reports a strategy that comes from none of the functions of this package, and so cannot be made.
func (s Strategy) Validate() error {
	if s.make == nil {
		return fmt.Errorf("strategy %q cannot be made: take one that Own, Parse, Lookup or Table returned", s.Name)
	}
	return nil
}

// New makes the strategy, with its constants, for a space and a seed.
func (s Strategy) New(in *space.Space, seed uint64, h Hints) (search.Strategy, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	return s.make(in, seed, h, s.values)
}

// Make makes the strategy of a run, which asks for the points of h.First before all others. Where the problem has cheap fidelities, a
// batch is scored at these first. The caller sets Levels and Blind of cheap, which say what these scores see: see halving.Config.
func (e Strategy) Make(s *space.Space, seed uint64, h Hints, cheap halving.Config) (search.Strategy, error) {
	inside := h
	inside.Start = slices.Clone(h.First)
	for _, p := range h.Start {
		if !slices.ContainsFunc(h.First, p.Equal) {
			inside.Start = append(inside.Start, p)
		}
	}
	inner, err := e.New(s, seed, inside)
	if err != nil {
		return nil, err
	}
	if !e.Hintless {
		cheap.First = slices.Concat(h.First, search.Leaders(h.Sources, search.MostLeaders))
	}
	if inner, err = halving.New(s, seed, inner, cheap); err != nil {
		return nil, err
	}
	return search.First(inner, h.First), nil
}

// Hints are what is known before a run. Each strategy uses them in its own way: a model learns from everything that the sources
// measured; strategies without a model start with the best points of the sources, and ask for their bad points last (package
// warm); random and grid ignore hints, except First. The zero value says nothing.
type Hints struct {
	// First are points that are evaluated before all others, whatever the strategy: see search.First. Only Make uses them.
	First []space.Point
	// Goals are what the run looks for; none mean the least cost.
	Goals space.Goals
	// Start are points of the space that are known to be good.
	Start []space.Point
	// Sources are earlier measurements, perhaps of another shape or another machine, the most similar first. Their points are
	// of the strategy's space.
	Sources []space.Source
}

// warmed returns a function that makes a strategy without a model, which starts from the sources. set sets the fields of its
// configuration that are not constants.
func warmed[S warm.Strategy, C config](
	make func(*space.Space, uint64, C) (S, error), set func(*C, []space.Point, *search.Fresh),
) func(*space.Space, uint64, Hints, C) (search.Strategy, error) {
	return func(s *space.Space, seed uint64, h Hints, c C) (search.Strategy, error) {
		fresh := search.SeededFresh(s, seed)
		set(&c, h.Start, fresh)
		inner, err := make(s, seed, c)
		if err != nil {
			return nil, err
		}
		return warm.New(inner, fresh, h.Start, h.Sources), nil
	}
}

// config lists what the configurations of all strategies have in common.
type config interface{ Validate() error }

// entry makes an entry of the table from the constants of a strategy's configuration C, and from the function that makes the
// strategy.
func entry[C config](s Strategy, table constant.Table[C], make func(*space.Space, uint64, Hints, C) (search.Strategy, error)) Strategy {
	of := func(values []float64) (c C) {
		table.Set(&c, values)
		return c
	}
	s.Constants = table.Constants()
	s.resolve = func(values []float64) ([]float64, error) {
		c := of(values)
		if err := c.Validate(); err != nil {
			return nil, err
		}
		table.Fill(&c)
		return table.Values(c), nil
	}
	s.make = func(in *space.Space, seed uint64, h Hints, values []float64) (search.Strategy, error) {
		return make(in, seed, h, of(values))
	}
	unset := slices.Repeat([]float64{math.NaN()}, len(table))
	var err error
	if s.values, err = s.resolve(unset); err != nil {
		panic("strategies: the defaults of " + s.Name + " are out of range: " + err.Error())
	}
	return s
}

// Table returns every strategy, in the order in which they are listed. Its constants have their defaults.
func Table() []Strategy {
	return []Strategy{
		entry(Strategy{
			Name: "auto", Version: 1, Paced: true, Several: true,
			Doc: "a model as in surrogate, and iterated local search as in ils, share what they find; a multi-armed bandit, a rule that learns which of them pays, decides which asks next",
		}, auto.Constants(), func(s *space.Space, seed uint64, h Hints, c auto.Config) (search.Strategy, error) {
			c.Start, c.Sources, c.Goals = h.Start, h.Sources, h.Goals
			return auto.New(s, seed, c)
		}),
		entry(Strategy{
			Name: "evolve", Version: 1, Doc: "genetic algorithm: tournaments, crossover by parameter, elites, restarts",
		}, evolve.Constants(), warmed(evolve.New, func(c *evolve.Config, start []space.Point, fresh *search.Fresh) { c.Start, c.Fresh = start, fresh })),
		entry(Strategy{
			Name: "surrogate", Version: 1, Doc: "Gaussian process with expected improvement; avoids what it learned to fail",
		}, surrogate.Constants(), func(s *space.Space, seed uint64, h Hints, c surrogate.Config) (search.Strategy, error) {
			c.Start, c.Sources = h.Start, h.Sources
			return surrogate.New(s, seed, c)
		}),
		entry(Strategy{
			Name: "anneal", Version: 1, Doc: "simulated annealing: chains that cool, and start anew when frozen",
		}, anneal.Constants(), warmed(anneal.New, func(c *anneal.Config, start []space.Point, fresh *search.Fresh) { c.Start, c.Fresh = start, fresh })),
		entry(Strategy{
			Name: "ils", Version: 1, Doc: "iterated local search: descents through three neighbourhoods, and kicks between them",
		}, ils.Constants(), warmed(ils.New, func(c *ils.Config, start []space.Point, fresh *search.Fresh) { c.Start, c.Fresh = start, fresh })),
		entry(Strategy{
			Name: "diffevo", Version: 1, Doc: "differential evolution over ordinals: the best and differences of members lead",
		}, diffevo.Constants(), warmed(diffevo.New, func(c *diffevo.Config, start []space.Point, fresh *search.Fresh) { c.Start, c.Fresh = start, fresh })),
		entry(Strategy{
			Name: "swarm", Version: 1, Doc: "particle swarm over ordinals: each is drawn to its own best and the best of all",
		}, swarm.Constants(), warmed(swarm.New, func(c *swarm.Config, start []space.Point, fresh *search.Fresh) { c.Start, c.Fresh = start, fresh })),
		entry(Strategy{
			Name: "nsga2", Version: 3, Several: true, Doc: "NSGA-II, a genetic algorithm for several objectives: ranks by front and by crowding",
		}, nsga2.Constants(), func(s *space.Space, seed uint64, h Hints, c nsga2.Config) (search.Strategy, error) {
			goals := h.Goals
			return warmed(nsga2.New, func(c *nsga2.Config, start []space.Point, fresh *search.Fresh) {
				c.Goals, c.Start, c.Fresh = goals, start, fresh
			})(s, seed, h, c)
		}),
		entry(Strategy{
			Name: "random", Version: 1, Hintless: true, Several: true, Doc: "uniform random points, without replacement",
		}, random.Constants(), func(s *space.Space, seed uint64, _ Hints, c random.Config) (search.Strategy, error) {
			return c.New(s, seed)
		}),
		entry(Strategy{
			Name: "grid", Version: 1, Hintless: true, Several: true, Doc: "every point, in canonical order",
		}, grid.Constants(), func(s *space.Space, _ uint64, _ Hints, c grid.Config) (search.Strategy, error) { return c.New(s) }),
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
	if first, rest, several := strings.Cut(name, ","); several && slices.Contains(Names(), first) {
		if strings.Contains(rest, "=") {
			return Strategy{}, fmt.Errorf("unknown strategy %q: constants follow a colon: write %s:%s", name, first, rest)
		}
		return Strategy{}, fmt.Errorf("unknown strategy %q: a run has one: write %s", name, first)
	}
	return Strategy{}, fmt.Errorf("unknown strategy %q: want %s%s", name, strings.Join(Names(), ", "), space.DidYouMean(name, Names()))
}
