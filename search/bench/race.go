package bench

import (
	"context"
	"errors"
	"fmt"
	"math"

	"tune/kernels"
	"tune/kernels/native/timing"
	"tune/kernels/recorded"
	"tune/results/exchange"
	"tune/search"
	"tune/search/strategies"
	"tune/space"
)

// Race judges racing, the rule that gives up slow native kernels early (see timing.Sampling). It works on a space of which every
// repeat was measured: it replays searches, once with every repeat and once with the repeats that racing would take, and compares
// the time that was spent and the configuration that was picked. Both see the same configurations in the same order.
type Race struct {
	Space       DataSpace
	File        *exchange.File
	Strategy    string // as strategies.Parse reads it; it is told the cost from every repeat
	Seeds       []uint64
	Evaluations int // of each search; 0 for the whole space
	// Observe is called after each search; nil observes nothing.
	Observe func(done, total int)
}

// RaceReport is what racing saves and costs, over all seeds.
type RaceReport struct {
	Space       string     `json:"space"`
	Strategy    string     `json:"strategy"`
	Evaluations int        `json:"evals"`
	Seeds       []RaceSeed `json:"seeds"`
	// KernelSaved is the share of the kernels' run time that racing saves, AllSaved the share of all time, including compilation
	// and the rest.
	KernelSaved float64 `json:"kernel_saved"`
	AllSaved    float64 `json:"all_saved"`
	Changed     int     `json:"picks_changed"` // searches that pick another configuration
	// Loss is the largest ratio of the cost of racing's pick to that of the pick with every repeat, both costs from every repeat.
	Loss float64 `json:"worst_loss"`
}

// RaceSeed is one search.
type RaceSeed struct {
	Seed       uint64  `json:"seed"`
	Measured   int     `json:"measured"` // configurations with repeats
	Stopped    int     `json:"stopped"`  // of them, given up by racing before their last repeat
	Kernel     float64 `json:"kernel_seconds"`
	KernelRace float64 `json:"kernel_seconds_racing"`
	All        float64 `json:"all_seconds"`
	Pick       string  `json:"pick"`
	PickRace   string  `json:"pick_racing"`
	Loss       float64 `json:"loss"`
}

// Run replays the searches.
func (b Race) Run(ctx context.Context) (*RaceReport, error) {
	entry, err := strategies.Parse(b.Strategy)
	if err != nil {
		return nil, err
	}
	unit, ok := b.File.SecondsPerUnit()
	repeats := 0
	for i := range b.File.Rows {
		repeats += len(b.File.Rows[i].Repeats)
	}
	if !ok || repeats == 0 {
		return nil, fmt.Errorf("%s: it does not have the single repeats of its configurations, as cache files of Kernel Tuner and T4 files may", b.File.Path)
	}
	r := &RaceReport{Space: b.Space.Name, Strategy: b.Strategy, Loss: 1}
	if r.Evaluations = b.Evaluations; r.Evaluations == 0 {
		r.Evaluations = len(b.File.Rows)
	}
	kernel, race, all := 0.0, 0.0, 0.0
	for _, seed := range b.Seeds {
		steps, err := b.asked(ctx, entry, seed)
		if err != nil {
			return nil, fmt.Errorf("seed %d: %w", seed, err)
		}
		one := raceOne(b.Space.Problem, steps, unit)
		one.Seed = seed
		r.Seeds = append(r.Seeds, one)
		kernel, race, all = kernel+one.Kernel, race+one.KernelRace, all+one.All
		if one.Pick != one.PickRace {
			r.Changed++
		}
		r.Loss = max(r.Loss, one.Loss)
		if b.Observe != nil {
			b.Observe(len(r.Seeds), len(b.Seeds))
		}
	}
	if kernel > 0 {
		r.KernelSaved, r.AllSaved = 1-race/kernel, (kernel-race)/all
	}
	return r, nil
}

// asked returns what a search asks for, in order.
func (b Race) asked(ctx context.Context, entry strategies.Strategy, seed uint64) ([]step, error) {
	p := b.Space.Problem
	strategy, err := entry.New(p.Space(), seed, strategies.Hints{Start: kernels.Starts(p)})
	if err != nil {
		return nil, err
	}
	look := func(_ context.Context, t space.Trial) (space.Outcome, error) { return p.Lookup(t.Point), nil }
	return trace(ctx, strategy, search.EvaluatorFunc(look), search.Settings{Budget: search.Budget{Evaluations: b.Evaluations}, Virtual: true})
}

// raceOne measures the points with every repeat, and by racing. unit is that of the repeats, in seconds.
func raceOne(p *recorded.Problem, steps []step, unit float64) RaceSeed {
	out := RaceSeed{Loss: 1}
	best, bestRace := math.Inf(1), 0.0 // by every repeat; by racing, 0 for none
	ofRace := 0.0                      // what every repeat says of the pick of racing
	for _, s := range steps {
		row := p.Row(s.point)
		out.All += row.Outcome.Seconds
		if row.Outcome.Status != space.OK || len(row.Repeats) == 0 {
			continue
		}
		out.Measured++
		samples := make([]float64, len(row.Repeats))
		for i, v := range row.Repeats {
			samples[i] = v * unit
			out.Kernel += samples[i]
		}
		whole := timing.Summarise(samples, 0)
		if whole.Kept > 0 && whole.Cost < best {
			best, out.Pick = whole.Cost, s.point.Key()
		}
		taken := 0
		sum, stopped, _ := timing.Sampling{Want: len(samples), Best: bestRace}.Run(func(n int) ([]float64, error) {
			// Only the recorded repeats exist: a rejected sample cannot be replaced.
			next := samples[taken:min(taken+n, len(samples))]
			taken += len(next)
			if len(next) == 0 {
				return nil, errNoRepeats
			}
			return next, nil
		})
		for _, v := range samples[:taken] {
			out.KernelRace += v
		}
		if stopped {
			out.Stopped++
			continue
		}
		if sum.Kept > 0 && (bestRace == 0 || sum.Cost < bestRace) {
			bestRace, out.PickRace, ofRace = sum.Cost, s.point.Key(), whole.Cost
		}
	}
	if ofRace > 0 && best > 0 {
		out.Loss = ofRace / best
	}
	return out
}

var errNoRepeats = errors.New("there are no more repeats")
