// Package auto is a portfolio of strategies that share what they find, with a bandit that learns during the run which of
// them pays. It is the default, so that users need not choose a strategy.
//
//  1. A model (package surrogate) has the first evaluations for itself: with little known it is the best by far.
//  2. From then on each batch belongs to one strategy: the model, or iterated local search (package ils). Local search
//     leaves a region where the model is sure that there is nothing to find. All of them learn from all outcomes at
//     the barrier, and none asks for a point that another one has asked for.
//  3. The strategy of a batch is chosen by its credit: how many of its batches in a sliding window brought a better
//     point, the recent ones counting more, and a bonus for those that were used little (Fialho, Da Costa, Schoenauer
//     and Sebag, "Analyzing bandit-based adaptive operator selection mechanisms", 2010; the form is that of Ansel et
//     al., "OpenTuner: an extensible framework for program autotuning", 2014).
//  4. As evaluations accumulate, batches grow and the model's share falls, because its thinking time is then better
//     spent on evaluating. Towards the end of the budget batches shrink: one is at most a quarter of what is left.
//
// With several goals the portfolio looks for the least of a scalar, a weighted mixture of the goals, and gets other weights again and
// again: see the file several.go.
package auto

import (
	"cmp"
	"errors"
	"math"

	"tune/search"
	"tune/search/anneal"
	"tune/search/constant"
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
	// Batch is how many points the model and local search ask for at once. By default the model asks for 2 to 8, see package
	// surrogate, and local search for 4.
	Batch int
	Taper int // a batch is at most 1/Taper of what is left of the budget; default 4
	// After ModelUntil evaluations, at least ModelEvery batches of others come between two of the model; default 2000 and 8.
	ModelUntil, ModelEvery int
	Pool, Samples          int // of the model, see package surrogate
	// NoILS leaves out iterated local search; Anneal and Evolve add simulated annealing and the genetic algorithm.
	NoILS, Anneal, Evolve bool
	// Start are points to begin with.
	Start []space.Point
	// Sources are what earlier runs measured, for package surrogate. With several goals, only their best points are used, to begin
	// with.
	Sources []space.Source
	// Goals are what is minimised or maximised; none, or one, mean the cost.
	Goals space.Goals
}

// Reasons for the defaults. The figures are from searches of measured spaces, as docs/design/search-auto.md describes them.
const (
	// lead: with 200, .9935 @200 and .9984 @500, the optimum in 91 % of runs; with 150, .9944, .9993 and 95 %. In a portfolio of
	// three strategies, 100 was at .981 @200 and 50 at .975.
	lead = 150
	// window and exploration were chosen by hand.
	window      = 60
	exploration = 0.2
	// armBatch is how many points the strategies other than the model ask for at once. It was chosen by hand.
	armBatch = 4
	// taper bounds a batch to a share of what is left of the budget. Near the end there is no later batch to correct a bad
	// choice, so small batches help: each point is then chosen with the outcomes of those before it. After 15 evaluations a
	// quarter reached .789 instead of .783 without a bound, after 25 and 50 evaluations .861 and .932 instead of .859 and .931,
	// where .01 is noise.
	taper = 4
	// modelUntil and modelEvery say how the model's share falls: where evaluations take milliseconds, the model thinks for longer
	// than an evaluation takes. The numbers were chosen by hand.
	modelUntil, modelEvery = 2000, 8
)

// Constants are the hyper-parameters that users may set, with their defaults and ranges.
func Constants() constant.Table[Config] {
	model := map[string]constant.Constant{}
	for _, c := range surrogate.Constants().Constants() {
		model[c.Name] = c
	}
	// ofModel is a constant of the model, with its default and range.
	ofModel := func(name string, at func(*Config) *int) constant.Of[Config] {
		c := model[name]
		return constant.NewInt(name, "of the model: "+c.Doc, int(c.Default), int(c.Min), int(c.Max), at)
	}
	return constant.Table[Config]{
		constant.NewInt("lead", "evaluations that the model has for itself", lead, 1, 1000000, func(c *Config) *int { return &c.Lead }),
		constant.NewInt("window", "batches that the bandit remembers", window, 1, 10000, func(c *Config) *int { return &c.Window }),
		constant.NewFloat("exploration", "weight of the bonus for strategies that were used little", exploration, 0.001, 100, func(c *Config) *float64 { return &c.Exploration }),
		constant.NewInt("batch", "points in a batch; 0 means 4 points if local search asks, and 2, later up to 8, if the model asks", 0, 0, 1000, func(c *Config) *int { return &c.Batch }),
		constant.NewInt("taper", "a batch is at most what is left of the budget, divided by this", taper, 1, 1000, func(c *Config) *int { return &c.Taper }),
		constant.NewInt("model_until", "evaluations up to which the model may ask as often as the others", modelUntil, 1, 1000000000, func(c *Config) *int { return &c.ModelUntil }),
		constant.NewInt("model_every", "after model_until, least number of batches of others between two of the model", modelEvery, 1, 1000000, func(c *Config) *int { return &c.ModelEvery }),
		ofModel("pool", func(c *Config) *int { return &c.Pool }),
		ofModel("samples", func(c *Config) *int { return &c.Samples }),
		constant.NewBool("ils", "whether iterated local search takes part", true, func(c *Config) *bool { return &c.NoILS }),
		constant.NewBool("anneal", "whether simulated annealing takes part", false, func(c *Config) *bool { return &c.Anneal }),
		constant.NewBool("evolve", "whether the genetic algorithm takes part", false, func(c *Config) *bool { return &c.Evolve }),
	}
}

// Validate reports hyper-parameters that make no sense.
func (c Config) Validate() error { return Constants().Settle("auto", &c) }

// arm is a strategy of the portfolio.
type arm interface {
	search.Strategy
	// Learn learns from outcomes that another arm asked for.
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
	if err := Constants().Settle("auto", &c); err != nil {
		return nil, err
	}
	fresh := search.SeededFresh(s, seed)
	if c.Goals.Several() {
		return newSeveral(s, seed, c, fresh)
	}
	arms, err := newArms(s, seed, c, fresh, false)
	if err != nil {
		return nil, err
	}
	return &auto{cfg: c, arms: arms, best: math.Inf(1)}, nil
}

// newArms makes the strategies of the portfolio, the model first. centred says that Config.Start has the middle of the space, so that the
// model need not begin with it.
func newArms(s *space.Space, seed uint64, c Config, fresh *search.Fresh, centred bool) (arms []arm, err error) {
	model, err := surrogate.New(s, seed, surrogate.Config{
		Start: c.Start, Sources: c.Sources, Fresh: fresh, Batch: c.Batch, Pool: c.Pool, Samples: c.Samples, NoCentre: centred,
	})
	arms = append(arms, model)
	add := func(takesPart bool, make func() (arm, error)) {
		if takesPart {
			next, e := make()
			arms, err = append(arms, next), errors.Join(err, e)
		}
	}
	// With all three of them, auto was worse than ils alone at 200 and 500 evaluations, in the only comparison, of 8 seeds
	// (docs/design/search-auto.md).
	batch := cmp.Or(c.Batch, armBatch)
	add(!c.NoILS, func() (arm, error) { return ils.New(s, seed, ils.Config{Batch: batch, Fresh: fresh}) })
	add(c.Anneal, func() (arm, error) { return anneal.New(s, seed, anneal.Config{Chains: batch, Fresh: fresh}) })
	add(c.Evolve, func() (arm, error) { return evolve.New(s, seed, evolve.Config{Fresh: fresh}) })
	if err != nil {
		return nil, err
	}
	return arms, nil
}

// Ask lets one arm ask.
func (a *auto) Ask(p space.Progress) []space.Proposal {
	a.current = a.choose()
	if n := rest(p) / float64(a.cfg.Taper); n < math.MaxInt32 {
		most := max(int(n+1e-6), 1) // rounding: a share of a whole number is not exact
		if p.Evaluations == 0 || most < p.Evaluations {
			p.Evaluations = most
		}
	}
	return a.arms[a.current].Ask(p)
}

// rest returns how many evaluations are left: by the limit of evaluations, or by the time that is left at the rate so far,
// whichever is less. It is +Inf where neither is known.
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

// choose returns the arm with the most credit and bonus; of equal ones, the first.
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
		if k == 0 && a.told >= a.cfg.ModelUntil && a.model < a.cfg.ModelEvery && len(a.arms) > 1 {
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

// Tell tells the outcomes to the arm that asked, lets the others learn from them, and gives credit to the arm.
func (a *auto) Tell(trials []space.Trial, outcomes []space.Outcome) {
	a.arms[a.current].Tell(trials, outcomes)
	for k, other := range a.arms {
		if k != a.current {
			other.Learn(trials, outcomes)
		}
	}
	better := a.improved(outcomes)
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

// improved notes the best of some outcomes, and reports whether it is the best so far.
func (a *auto) improved(outcomes []space.Outcome) bool {
	better := false
	for _, o := range outcomes {
		if cost := (space.Objective{}).Value(o); cost < a.best {
			a.best, better = cost, true
		}
	}
	return better
}

// learn lets all arms learn from outcomes of before.
func (a *auto) learn(trials []space.Trial, outcomes []space.Outcome) {
	for _, one := range a.arms {
		one.Learn(trials, outcomes)
	}
	a.improved(outcomes)
}
