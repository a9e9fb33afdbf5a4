package native

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tune/kernels"
	"tune/kernels/native/timing"
	"tune/kernels/native/worker"
)

// mostRounds is how often finalists are measured in turns where the limit allows it, not counting rounds in which the
// core was slow. allRounds counts those too.
const mostRounds, allRounds = 21, 63

// overdue is after how many more times the limit a comparison ends without an interval.
const overdue = 2

// entrant is a candidate in a comparison, with a worker of its own.
type entrant struct {
	c       *candidate
	w       runner
	m       *meter
	samples []float64 // one a round, in seconds a call; 0 where there is none
	err     error     // what ended it
}

// MostFinalists returns how many finalists the memory of this machine has room for beside the baseline.
func (p *Problem) MostFinalists() int { return p.most }

func (e *entrant) slow() bool { return e.m.perCall >= timing.Slow }

// Compare measures finalists in turns with the baseline, each in a fresh worker. Where one of them has several threads
// all are timed by the wall, so that the ratios are of one clock.
func (p *Problem) Compare(ctx context.Context, baseline kernels.Candidate, finalists []kernels.Candidate, limit time.Duration) (kernels.Final, error) {
	entrants := make([]*entrant, 0, len(finalists)+1)
	threads := 1
	for _, k := range append([]kernels.Candidate{baseline}, finalists...) {
		c, ok := k.(*candidate)
		if !ok {
			return kernels.Final{}, fmt.Errorf("native: cannot measure a candidate of type %T", k)
		}
		threads = max(threads, c.threads())
		entrants = append(entrants, &entrant{c: c})
	}
	for _, e := range entrants {
		err := e.c.compile(ctx)
		if err == nil {
			err = e.c.vary(ctx)
		}
		if err != nil {
			if e == entrants[0] || !kernelFault(err) {
				return kernels.Final{}, err
			}
			e.err = err
		}
	}
	probe, err := p.host.probe(ctx)
	if err != nil {
		return kernels.Final{}, err
	}
	peaked, err := p.peakProbe(ctx)
	if err != nil {
		return kernels.Final{}, err
	}
	var final kernels.Final
	err = p.host.timed(ctx, threads, p.limits, func(o worker.Options) error {
		r := &rounds{problem: p, entrants: entrants, threaded: threads > 1, limit: limit, now: time.Now, peaked: peaked}
		defer r.close()
		err := r.open(ctx, o, probe)
		if err == nil {
			err = r.run(ctx)
		}
		if err == nil {
			final, err = r.final(ctx)
		}
		return err
	})
	return final, err
}

// rounds is one comparison under way.
type rounds struct {
	problem  *Problem
	entrants []*entrant // the baseline first
	threaded bool
	limit    time.Duration
	now      func() time.Time

	opened []runner
	drift  *meter // of a loop of fixed work
	probes []float64
	peaked *rateProbe // a loop of the problem's operations alone; nil where there is none
	peak   *meter     // of that loop
	ops    float64    // of a call of it
	peaks  []float64  // seconds a call of it, by round
	quiet  []bool     // by round: whether the machine was found idle before and after, where threads need that
	before timing.Load
}

func (r *rounds) close() {
	for _, w := range r.opened {
		w.Close()
	}
}

// start starts a worker for one entrant.
func (r *rounds) start(ctx context.Context, o worker.Options) (runner, error) {
	o.Executable = r.problem.host.options.Executable
	w, err := r.problem.host.start(ctx, o)
	if err == nil {
		r.opened = append(r.opened, w)
	}
	return w, err
}

// open starts the workers and finds out how long each entrant takes.
func (r *rounds) open(ctx context.Context, o worker.Options, probe string) error {
	r.before = timing.ReadLoad()
	for i, e := range r.entrants {
		if e.err != nil {
			continue
		}
		own := o
		if r.threaded && e.c.threads() == 1 {
			own.Core = r.problem.host.core
		}
		var err error
		if e.w, err = r.start(ctx, own); err != nil {
			return err
		}
		if e.m, e.err = e.c.newMeter(ctx, e.w); e.err != nil && (i == 0 || !kernelFault(e.err)) {
			return e.err
		}
		if e.err == nil && r.threaded && e.m.threads == 1 {
			e.m.threads = 2 // by the same clock as the others
			e.m.ready = nil
		}
	}
	o.Core = r.problem.host.core
	w, err := r.start(ctx, o)
	if err != nil {
		return err
	}
	if r.drift, err = newProbe(ctx, w, probe, probeIssue); err != nil {
		return err
	}
	if r.peaked != nil {
		r.ops = r.peaked.ops * probeIterations
		if r.peak, err = probeMeter(ctx, w, r.peaked.id); err == nil {
			r.peak.lengthen(r.entrants[0].m)
		}
	}
	return err
}

// run measures round by round: forwards, then backwards, so that a drift favours nobody.
func (r *rounds) run(ctx context.Context) error {
	deadline := r.now().Add(r.limit)
	base := r.entrants[0]
	r.settle(ctx)
	quiet := r.idle(ctx)
	for round := range allRounds {
		if r.count(r.swift(), round) >= mostRounds {
			return nil
		}
		switch late := r.now().Sub(deadline); {
		case late > 0 && round >= timing.LeastPairs, late > overdue*r.limit && round > 0:
			return nil
		case late > 0 && round >= 2:
			r.dropSlower()
		}
		s, err := r.drift.sample(ctx, 1)
		if err != nil {
			return errors.Join(ctx.Err(), fmt.Errorf("the probe of the machine: %v", err)) // no candidate's fault
		}
		r.probes = append(r.probes, s...)
		if round%2 == 0 {
			if err := r.measurePeak(ctx); err != nil {
				return err
			}
		}
		slow := false
		for i := range r.entrants {
			if round%2 == 1 {
				i = len(r.entrants) - 1 - i
			}
			e := r.entrants[i]
			if e.err != nil {
				continue
			}
			if e == base && e.slow() && round > 0 {
				e.samples = append(e.samples, e.samples[0])
				continue
			}
			s, err := e.m.turn(ctx)
			r.settle(ctx)
			if err != nil && (e == base || !kernelFault(err)) {
				return err
			}
			if e.err = err; err != nil {
				continue
			}
			for len(e.samples) < round {
				e.samples = append(e.samples, 0)
			}
			e.samples = append(e.samples, s)
			slow = slow || e != base && e.slow()
		}
		if round%2 == 1 {
			if err := r.measurePeak(ctx); err != nil {
				return err
			}
		}
		after := r.idle(ctx)
		r.quiet = append(r.quiet, quiet && after)
		quiet = after
		if slow {
			return nil
		}
	}
	return nil
}

// measurePeak runs the loop of the problem's operations beside the turn of the baseline, which is first in one round and last
// in the next; once, where the baseline is so slow that it has one turn.
func (r *rounds) measurePeak(ctx context.Context) error {
	base := r.entrants[0]
	if r.peak == nil || base.slow() && len(r.peaks) > 0 {
		return nil
	}
	took, err := r.peak.turnOf(ctx, base.m.turnSamples())
	if err != nil {
		return errors.Join(ctx.Err(), fmt.Errorf("the probe of the peak: %v", err))
	}
	r.peaks = append(r.peaks, took)
	return nil
}

// idle reports whether the machine has nothing else to do, which only the rounds of threads need.
func (r *rounds) idle(ctx context.Context) bool { return !r.threaded || timing.Idle(ctx) }

// settle waits until the threads of an entrant have given up their core, so that they are neither in the way of the next one
// nor taken for somebody else's: after a call they look out for another for a while, those of OpenBLAS for 2^26 cycles.
func (r *rounds) settle(ctx context.Context) {
	if !r.threaded {
		return
	}
	const while = 30 * time.Millisecond
	select {
	case <-time.After(while):
	case <-ctx.Done():
	}
}

// shortTurn is how many samples make one turn, where calls are not too slow for that.
const shortTurn = 4

func (m *meter) turnSamples() int {
	if m.long() {
		return 1
	}
	return shortTurn
}

// turn measures an entrant once. The lower quartile of a few samples is no pair's luck: on a busy machine single
// samples scatter ten times as much. 0 means that none of them can be believed.
func (m *meter) turn(ctx context.Context) (float64, error) { return m.turnOf(ctx, m.turnSamples()) }

// turnOf is a turn of n samples.
func (m *meter) turnOf(ctx context.Context, n int) (float64, error) {
	m.cool()
	s, err := m.sample(ctx, n)
	if err != nil {
		return 0, err
	}
	return timing.Summarise(s, m.floor).Cost, nil
}

// errDropped ends an entrant that is behind when there is no time to measure it to the end. It keeps its samples.
var errDropped = errors.New("no time is left to measure it to the end")

// dropSlower leaves the finalist that is ahead, so that it at least gets its interval.
func (r *rounds) dropSlower() {
	best := -1
	cost := func(i int) float64 { return timing.Summarise(r.entrants[i].samples, r.entrants[i].m.floor).Cost }
	for i, e := range r.entrants {
		if i > 0 && e.err == nil && (best < 0 || cost(i) < cost(best)) {
			best = i
		}
	}
	for i, e := range r.entrants {
		if i > 0 && e.err == nil && i != best {
			e.err = errDropped
		}
	}
}

// swift returns a function that tells the rounds without a slow phase of the core: candidates suffer differently in
// one, so that the others tell more.
func (r *rounds) swift() func(round int) bool {
	if len(r.probes) == 0 {
		return func(int) bool { return false }
	}
	limit := gaugeSlow * timing.Quantile(slices.Sorted(slices.Values(r.probes)), 0.1)
	return func(i int) bool {
		return r.quiet[i] && r.probes[i] <= limit && r.probes[min(i+1, len(r.probes)-1)] <= limit
	}
}

// counting returns the function that tells which of the first n rounds count: those that were quiet where there are
// enough of them, and otherwise all, unverified.
func (r *rounds) counting(n int) (counts func(round int) bool, unverified bool) {
	swift, idle := r.swift(), func(i int) bool { return r.quiet[i] }
	switch enough := min(n, timing.LeastPairs); {
	case r.count(swift, n) >= enough:
		return swift, false
	case r.count(idle, n) >= enough:
		return idle, false
	}
	return func(int) bool { return true }, true
}

// count returns how many of the first n rounds have a property.
func (r *rounds) count(property func(int) bool, n int) (k int) {
	for i := range n {
		if property(i) {
			k++
		}
	}
	return k
}

// pairs compares two entrants over the rounds that both have, and that count.
func (r *rounds) pairs(base, other *entrant) (ratio timing.Ratio, unverified bool, err error) {
	n := min(len(base.samples), len(other.samples))
	counts, unverified := r.counting(n)
	var a, b []float64
	for i := range n {
		if counts(i) {
			a, b = append(a, base.samples[i]), append(b, other.samples[i])
		}
	}
	ratio, err = timing.Pairs(a, b, base.m.floor, other.m.floor)
	return ratio, unverified, err
}

// peakShare returns the median over the rounds that count of the baseline's rate, against the rate that each of its
// cores had to give just then; 0 where that is not known.
func (r *rounds) peakShare() float64 {
	base := r.entrants[0]
	var shares []float64
	n := min(len(base.samples), len(r.peaks))
	counts, _ := r.counting(n)
	for i := range n {
		if counts(i) && base.samples[i] > 0 && r.peaks[i] > 0 {
			shares = append(shares, r.problem.work.Ops/base.samples[i]/(r.ops/r.peaks[i]*float64(base.c.threads())))
		}
	}
	if len(shares) == 0 {
		return 0
	}
	return timing.Quantile(slices.Sorted(slices.Values(shares)), 0.5)
}

// final sums up.
func (r *rounds) final(ctx context.Context) (kernels.Final, error) {
	base := r.entrants[0]
	if err := base.m.verifyTimed(ctx, false); err != nil {
		return kernels.Final{}, fmt.Errorf("the baseline: %w", err)
	}
	f := kernels.Final{Best: -1, Comparisons: make([]kernels.Comparison, len(r.entrants)-1)}
	for i, e := range r.entrants[1:] {
		c := &f.Comparisons[i]
		if c.Err = e.err; e.err == errDropped {
			c.Err = nil
		}
		if c.Err == nil {
			err := e.m.verifyTimed(ctx, false)
			if err != nil && !kernelFault(err) {
				return kernels.Final{}, err
			}
			c.Err = err
		}
		if c.Err != nil {
			continue
		}
		ratio, unverified, err := r.pairs(base, e)
		if err != nil {
			// The clock went wrong every time; what it said is no reason to call the finalist wrong.
			c.Unverified, c.Indistinct = true, true
			continue
		}
		c.Ratio, c.Low, c.High, c.Pairs = ratio.Median, ratio.Low, ratio.High, ratio.Pairs
		took := estimate{Summary: timing.Summarise(e.samples, e.m.floor)}
		c.Cost = took.Cost * 1e9
		c.Baseline = timing.Summarise(base.samples, base.m.floor).Cost * 1e9
		c.Unverified = unverified || e.slow() || base.slow()
		took.unverified = c.Unverified
		c.Metrics = r.problem.score(took).Metrics
		if f.Best < 0 || c.Ratio > f.Comparisons[f.Best].Ratio {
			f.Best = i
		}
	}
	if f.Best >= 0 {
		best := r.entrants[f.Best+1]
		for i := range f.Comparisons {
			c := &f.Comparisons[i]
			if c.Err != nil || c.Pairs == 0 {
				continue
			}
			against := best
			if i == f.Best {
				against = base
			}
			ratio, _, err := r.pairs(r.entrants[i+1], against)
			c.Indistinct = err != nil || ratio.Indistinct()
		}
	}
	f.Machine, f.PeakShare = r.state(), r.peakShare()
	return f, nil
}

// state says how quiet the machine was.
func (r *rounds) state() kernels.MachineState {
	now := timing.ReadLoad()
	busy, steal := now.Shares(r.before)
	s := kernels.MachineState{Load: now.OneMin, Busy: busy, Steal: steal, Probes: len(r.probes)}
	probes := slices.SortedFunc(slices.Values(r.probes), cmp.Compare[float64])
	if len(probes) > 0 {
		cut := len(probes) / 10
		s.Drift = (probes[len(probes)-1-cut] - probes[cut]) / timing.Quantile(probes, 0.5)
	}
	return s
}
