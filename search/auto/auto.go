// Package auto is a portfolio of strategies that share what they find, and a bandit that learns during the run which of
// them pays. It is the strategy for who does not want to choose one.
//
//  1. A model (package surrogate) has the first evaluations for itself: with little known it is the best by far.
//  2. From then on each batch is one strategy's: the model's, or that of iterated local search (package ils), which
//     leaves where the model is sure that nothing is to be found. All of them hear of all outcomes at the barrier, and
//     none asks what another did.
//  3. Which one is chosen by its credit: its batches of a sliding window that brought a better point, the recent ones
//     counting more, and a bonus for those that were used little (Fialho, Da Costa, Schoenauer and Sebag, "Analyzing
//     bandit-based adaptive operator selection mechanisms", 2010; the form is that of Ansel et al., "OpenTuner: an
//     extensible framework for program autotuning", 2014).
//  4. Batches grow with the number of evaluations, and the model's share falls, because what it costs to think is then
//     best spent on evaluating. Towards the end of the budget they shrink: a batch is at most a quarter of what is left.
package auto

import (
	"errors"
	"fmt"
	"math"

	"tune/search"
	"tune/search/anneal"
	"tune/search/evolve"
	"tune/search/ils"
	"tune/search/surrogate"
	"tune/space"
)

// Config holds the hyper-parameters. Zero values take the defaults.
type Config struct {
	Lead        int     // evaluations that the model has for itself; default 150
	Window      int     // batches that the bandit remembers; default 60
	Exploration float64 // weight of the bonus for what was used little; default 0.2
	// Start are points to begin with.
	Start []space.Point
	// Sources are what earlier runs measured, for package surrogate.
	Sources []search.Source
	// Arms are the strategies beside the model, by name: "ils", "anneal", "evolve"; nil for the first alone.
	// With all three, auto was behind "ils" alone at 200 and 500 evaluations in the one comparison that was made,
	// of 8 seeds (docs/design/search-auto.md).
	Arms []string
}

func (c Config) withDefaults() Config {
	if c.Lead == 0 {
		c.Lead = 150
	}
	if c.Window == 0 {
		c.Window = 60
	}
	if c.Exploration == 0 {
		c.Exploration = 0.2
	}
	if c.Arms == nil {
		c.Arms = []string{"ils"}
	}
	return c
}

// Validate reports hyper-parameters that make no sense.
func (c Config) Validate() error {
	c = c.withDefaults()
	switch {
	case c.Lead < 1:
		return fmt.Errorf("auto: lead is %d: want 1 or more", c.Lead)
	case c.Window < 1:
		return fmt.Errorf("auto: window is %d: want 1 or more", c.Window)
	case !(c.Exploration >= 0) || math.IsInf(c.Exploration, 1):
		return fmt.Errorf("auto: exploration is %v: want a finite number, 0 or more", c.Exploration)
	}
	return nil
}

// arm is a strategy of the portfolio.
type arm interface {
	search.Strategy
	// Learn hears of outcomes that another arm asked for.
	Learn([]space.Trial, []space.Outcome)
}

// use is a batch that the bandit remembers.
type use struct {
	arm    int
	better bool
}

type auto struct {
	cfg     Config
	arms    []arm // the model first
	current int
	told    int
	best    float64
	uses    []use // the last batches after the lead
	model   int   // batches since the model's last
}

// New returns the strategy for a space.
func New(s *space.Space, seed uint64, c Config) (search.Strategy, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c = c.withDefaults()
	fresh := search.SeededFresh(s, seed)
	a := &auto{cfg: c, best: math.Inf(1)}
	model, err := surrogate.New(s, seed, surrogate.Config{Start: c.Start, Sources: c.Sources, Fresh: fresh})
	a.arms = append(a.arms, model)
	for _, name := range c.Arms {
		var next arm
		var e error
		switch name {
		case "ils":
			next, e = ils.New(s, seed, ils.Config{Batch: 4, Fresh: fresh})
		case "anneal":
			next, e = anneal.New(s, seed, anneal.Config{Chains: 4, Fresh: fresh})
		case "evolve":
			next, e = evolve.New(s, seed, evolve.Config{Fresh: fresh})
		default:
			e = fmt.Errorf("auto: unknown arm %q: want ils, anneal, evolve", name)
		}
		a.arms, err = append(a.arms, next), errors.Join(err, e)
	}
	if err != nil {
		return nil, err
	}
	return a, nil
}

// How the model's share falls: from modelRare evaluations on, it has one batch of modelEvery at most.
const (
	modelRare  = 2000
	modelEvery = 8
)

// Ask lets one arm ask.
func (a *auto) Ask(p space.Progress) []space.Proposal {
	a.current = a.choose()
	if n := rest(p) / endShare; n < math.MaxInt32 {
		most := max(int(n+1e-6), 1) // what follows from a share is not exact
		if p.Evaluations == 0 || most < p.Evaluations {
			p.Evaluations = most
		}
	}
	return a.arms[a.current].Ask(p)
}

// endShare bounds a batch to a share of what is left of the budget: near the end each point is chosen with the
// outcomes of those before it, as there is no later batch that could make good what this one did not know.
const endShare = 4

// rest returns how many evaluations are left: as many as are counted, and no more than time allows at the rate so far.
// It is +Inf where nothing is known of an end.
func rest(p space.Progress) float64 {
	n := math.Inf(1)
	if p.Evaluations > 0 {
		n = float64(p.Evaluations)
	}
	if p.Told > 0 && p.Left < 1 {
		n = min(n, float64(p.Told)*p.Left/(1-p.Left))
	}
	return n
}

// choose returns the arm with the most credit and bonus, the first of equal ones.
func (a *auto) choose() int {
	if a.told < a.cfg.Lead {
		return 0
	}
	uses, credit, weight := make([]float64, len(a.arms)), make([]float64, len(a.arms)), make([]float64, len(a.arms))
	for _, u := range a.uses {
		k := u.arm
		uses[k]++
		weight[k] += uses[k]
		if u.better {
			credit[k] += uses[k]
		}
	}
	best, most := -1, 0.0
	for k := range a.arms {
		if k == 0 && a.told >= modelRare && a.model < modelEvery && len(a.arms) > 1 {
			continue
		}
		score := math.Inf(1)
		if uses[k] > 0 {
			score = credit[k]/weight[k] + a.cfg.Exploration*math.Sqrt(2*math.Log(float64(len(a.uses)))/uses[k])
		}
		if best < 0 || score > most {
			best, most = k, score
		}
	}
	return best
}

// Tell lets the arm that asked hear of its outcomes, the others learn from them, and the bandit give credit.
func (a *auto) Tell(trials []space.Trial, outcomes []space.Outcome) {
	a.arms[a.current].Tell(trials, outcomes)
	for k, other := range a.arms {
		if k != a.current {
			other.Learn(trials, outcomes)
		}
	}
	better := false
	for _, o := range outcomes {
		if cost := (space.Objective{}).Value(o); cost < a.best {
			a.best, better = cost, true
		}
	}
	if a.model++; a.current == 0 {
		a.model = 0
	}
	if a.told >= a.cfg.Lead {
		if a.uses = append(a.uses, use{a.current, better}); len(a.uses) > a.cfg.Window {
			a.uses = a.uses[1:]
		}
	}
	a.told += len(trials)
}
