// Package schedule makes the schedule of a run from what the run has measured, exports it, and verifies one.
//
//	Maker    chooses the point to export: checks it on fresh inputs, measures the best ones again, and writes it
//	Digest   follows a run and keeps what a Maker needs
//	Exporter writes a run in one of Formats
//	Verify   rebuilds a schedule and checks it on fresh inputs
//	Measure  holds the final measurement of a run again
//	Compare  tells in what two schedules differ, and measures them in turns
//	Guard    finds out whether a schedule has become slower beside its baseline
package schedule

import (
	"context"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"time"

	"tune/kernels"
	"tune/results"
	"tune/search"
	"tune/space"
)

// Maker makes the schedule of a run. Set its fields before Make. Those from Serial on are optional.
type Maker struct {
	Kernel      *kernels.Opened
	Settings    results.Settings
	ToolVersion string
	Run         string // the directory of the run
	Dir         string // the directory to write to
	// Baseline is the baseline with the cost that the search measured.
	Baseline results.Baseline
	Told     int                  // evaluations of the run
	Elapsed  func() time.Duration // how long the run has taken
	Batches  []space.Batch        // those needed to reproduce the run
	Serial   []space.Entry        // the best points with one thread, where the kernel has others too
	Until    time.Time            // when the budget ends; zero where it has no end
	Hurry    bool                 // a user has interrupted the run and is waiting
	Budget   search.Budget        // of the last sitting, where it is known
	// Limit is how long the final measurement may take; 0 lets the budget decide.
	Limit time.Duration
	// Machine describes the machine that measures; nil means results.ThisMachine.
	Machine *results.Machine
	// By names the worker of that machine where Kernel builds, checks and measures; "" where this process does.
	By string
	// Measurer says of both at the end, where another worker may have taken the place of that one; nil means that Machine and By hold.
	Measurer func() (machine *results.Machine, by string)
	Progress func(kernels.ContestProgress) // of the final measurement; may be nil

	made   Made
	series *results.Final // what the contest measured, for the file beside the schedule; nil where there was none
}

// Made is the result of a Maker.
type Made struct {
	// Schedule is nil where no candidate passes.
	Schedule *results.Schedule
	// Refused are the candidates that were right during the search and failed on fresh inputs.
	Refused []Refusal
}

// Refusal is a candidate that failed its last check.
type Refusal struct {
	Key    string `json:"key"`
	Reason string `json:"reason"`
}

// Make exports the first candidate of a ranking that passes, or the one that a contest prefers; the baseline, where that is no
// better. The schedule is nil where no candidate passes. With an error, the result has what was refused before it.
func (m *Maker) Make(ctx context.Context, ranking []space.Entry) (Made, error) {
	m.made, m.series = Made{}, nil
	err := m.export(ctx, ranking)
	return m.made, err
}

// MakeFrom is Make for the ranking of a whole history.
func (m *Maker) MakeFrom(ctx context.Context, h results.History) (Made, error) {
	m.made, m.series = Made{}, nil
	err := m.exportFrom(ctx, h)
	return m.made, err
}

// export checks the incumbent on fresh inputs and writes its schedule and its program. If the incumbent fails there it is
// refused, and the next best takes its place. Where the first one that passes is no better than the baseline, the baseline is
// exported instead.
func (m *Maker) export(ctx context.Context, ranking []space.Entry) error {
	if compare := m.Kernel.Compare(); compare != nil {
		return m.exportMeasured(ctx, compare, ranking)
	}
	seeds := kernels.ExportSeeds(m.Settings.Seed)
	for _, e := range ranking {
		point, err := m.Kernel.Problem.Space().Parse(e.Key)
		if err != nil {
			return err
		}
		c, score, err := m.Kernel.Rebuild(ctx, point, e.Outcome.Cost, seeds)
		if kernels.AsRejection(err) != nil {
			m.refuse(e.Key, err)
			continue
		}
		if err != nil {
			return err
		}
		if e.Key != m.Baseline.Key && !results.Cheaper(e.Outcome.Cost, m.Baseline.Cost) {
			if done, err := m.exportNoGain(ctx, ranking, e, seeds); done || err != nil {
				return err
			}
		}
		e.Outcome.Metrics = score.Metrics // whatever evaluated it in the search
		m.made.Schedule, err = m.writeSchedule(ctx, e, point, c, seeds, func(s *results.Schedule) { unmeasured(m.Kernel.Info, s, nil) })
		return err
	}
	return nil
}

// exportNoGain exports the baseline instead of the best right point of the search, which is no better. done is false where the
// baseline fails on the fresh inputs: then that point is the better of the two after all.
func (m *Maker) exportNoGain(ctx context.Context, ranking []space.Entry, best space.Entry, seeds []uint64) (done bool, err error) {
	base := space.Entry{Key: m.Baseline.Key, Number: results.NoTrial, Outcome: costing(m.Baseline.Cost)}
	isBaseline := func(key string) bool { return key == base.Key }
	if slices.ContainsFunc(m.made.Refused, func(r Refusal) bool { return isBaseline(r.Key) }) {
		return false, nil
	}
	for _, e := range ranking {
		// An evaluator of the caller's may have answered with another cost. That trial is not the source of this one.
		if isBaseline(e.Key) && (!m.Kernel.Info.Exact || e.Outcome.Cost == m.Baseline.Cost) {
			base.Number = e.Number
		}
	}
	point, err := m.Kernel.Problem.Space().Parse(base.Key)
	if err != nil {
		return false, fmt.Errorf("%s: %w", kernels.BaselineName(m.Baseline.Preset), err)
	}
	c, score, err := m.Kernel.Rebuild(ctx, point, base.Outcome.Cost, seeds)
	if kernels.AsRejection(err) != nil {
		m.refuse(base.Key, err)
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("%s: %w", kernels.BaselineName(m.Baseline.Preset), err)
	}
	base.Outcome.Metrics = score.Metrics
	m.made.Schedule, err = m.writeSchedule(ctx, base, point, c, seeds, func(s *results.Schedule) { unmeasured(m.Kernel.Info, s, &best) })
	return true, err
}

// costing is the outcome of a right candidate with a cost.
func costing(cost float64) space.Outcome { return space.Outcome{Status: space.OK, Cost: cost} }

// unmeasured enters into a schedule what is known without a final measurement. closest is the best point of the search where the
// baseline is exported instead; otherwise it is nil.
func unmeasured(info kernels.Info, s *results.Schedule, closest *space.Entry) {
	s.Verdict = results.VerdictOf(info.Exact, s.Cost, s.Baseline.Cost)
	s.Unverified = s.Verdict == space.Unverified
	if closest != nil {
		cost := closest.Outcome.Cost
		s.Closest = &results.Closest{Key: closest.Key, Cost: cost, Ratio: results.RatioOf(s.Baseline.Cost, cost)}
	}
}

// writeSchedule writes the schedule and its files. judge enters the verdict, and what it follows from.
func (m *Maker) writeSchedule(ctx context.Context, e space.Entry, p space.Point, c kernels.Candidate, seeds []uint64, judge func(*results.Schedule)) (*results.Schedule, error) {
	path := filepath.Join(m.Dir, results.ScheduleName)
	values, err := p.MarshalJSON()
	if err != nil {
		return nil, err
	}
	set, machine, by := m.Settings, m.Machine, m.By
	if m.Measurer != nil {
		machine, by = m.Measurer()
	}
	schedule := results.Schedule{
		Kernel: set.Kernel, KernelVersion: set.KernelVersion, Program: set.Program, Shape: set.Shape, Unit: m.Kernel.Info.Unit,
		Point: values, Key: e.Key, Cost: e.Outcome.Cost, Metrics: e.Outcome.Metrics,
		Baseline: m.Baseline, Ratio: results.RatioOf(m.Baseline.Cost, e.Outcome.Cost),
		SpaceFingerprint: set.SpaceFingerprint, Pinned: set.Pinned, Strategy: set.Strategy, StrategyConfig: set.StrategyConfig, StrategyVersion: set.StrategyVersion, Seed: set.Seed,
		Evaluations: m.Told, ElapsedSeconds: m.Elapsed().Seconds(), Trial: e.Number,
		Clock: set.Clock, Data: set.Data, Run: filepath.Base(m.Run), ToolVersion: m.ToolVersion, Machine: machine.OrThis(), By: by, Created: time.Now(),
		Reproduce: append(m.reproduce(e.Number), "tune verify "+results.ScheduleName),
	}
	judge(&schedule)
	schedule.Repacking = c.Abilities().Repacking
	schedule.Metrics = kernels.WithDeviation(schedule.Metrics, c) // of all the fresh inputs
	if i, ok := m.Kernel.Problem.Space().Index(p); ok {
		schedule.Index = &i
	}
	checking := m.Kernel.Problem.Traits().Checking
	schedule.Checked, schedule.Checks = checking.String(), []results.Check{}
	for _, seed := range checking.Claimed(seeds) {
		schedule.Checks = append(schedule.Checks, results.Check{Seed: seed, OK: true})
	}
	if schedule.Weak, err = weakOutputs(ctx, m.Kernel, seeds); err != nil {
		return nil, err
	}
	artifacts, err := c.Artifacts()
	if err != nil {
		return nil, err
	}
	for _, a := range artifacts {
		write := results.WriteArtifact
		if a.Derived {
			write = results.WriteDerived
		}
		written, err := write(results.ArtifactPath(path, a.Name), a.Write)
		if err != nil {
			return nil, err
		}
		schedule.Artifacts = append(schedule.Artifacts, written)
	}
	if err := schedule.Write(path); err != nil {
		return nil, err
	}
	// Report what is on disk.
	if schedule, err = results.ReadSchedule(path); err != nil {
		return nil, err
	}
	return &schedule, m.series.Keep(m.Dir, schedule)
}

// weakOutputs returns the outputs of which checks on the inputs of the given seeds prove little, where the kernel tells.
func weakOutputs(ctx context.Context, k *kernels.Opened, seeds []uint64) ([]space.WeakOutput, error) {
	weak := k.Problem.Traits().Weak
	if weak == nil {
		return nil, nil
	}
	return weak(ctx, seeds)
}

// pages yields the ranking of a history in parts, each twice as long as the one before, so that a caller who needs only the best
// ones does not hold all of them in memory.
func pages(h results.History) iter.Seq2[[]space.Entry, error] {
	return func(yield func([]space.Entry, error) bool) {
		var last *space.Entry
		for most := Kept; ; most *= 2 {
			page, err := results.Ranking(h, last, most)
			if err == nil && len(page) == 0 || !yield(page, err) || err != nil {
				return
			}
			last = &page[len(page)-1]
		}
	}
}

// exportFrom is export for the ranking of a whole history.
func (m *Maker) exportFrom(ctx context.Context, h results.History) (err error) {
	if m.Serial, err = BestSerial(m.Kernel, h); err != nil {
		return err
	}
	for ranking, err := range pages(h) {
		if err != nil {
			return err
		}
		if err := m.export(ctx, ranking); err != nil || m.made.Schedule != nil {
			return err
		}
	}
	return nil
}
