package gofunc

import (
	"context"
	"slices"
	"time"

	"tune/kernels"
	"tune/kernels/native/timing"
)

// compare times finalists in turns with the baseline, on the same inputs. In a confirming series the functions are made anew for
// each round, because where their data lie in memory may decide how fast they are.
func (p *problem) compare(ctx context.Context, baseline kernels.Candidate, finalists []kernels.Candidate, series kernels.Series) (kernels.Final, error) {
	all, err := timing.Candidates[*candidate](baseline, finalists)
	if err != nil {
		return kernels.Final{}, err
	}
	p.turn.Lock()
	defer p.turn.Unlock()
	final, saves, err := p.contest(ctx, all, series, false)
	if saves && err == nil {
		final, _, err = p.contest(ctx, all, series, true)
	}
	return final, err
}

// contest is one comparison. afresh says that Inputs comes before each timed call. Without it, the contest ends when an entrant is found whose
// repeated calls save something, and reports that.
func (p *problem) contest(ctx context.Context, all []*candidate, series kernels.Series, afresh bool) (final kernels.Final, saves bool, err error) {
	w := watch{before: timing.ReadLoad(), calm: timing.Idle(ctx)}
	s := timing.Series{
		Series: series, Entrants: len(all), Counting: w.counting, Counted: w.counted,
		Slow: func(i int) bool { return all[i].perCall >= timing.Slow },
		End:  func(ctx context.Context, _ int) error { w.end(ctx); return nil },
	}
	// each calls f for the entrants that are not out. What f rejects is out, but the baseline's rejection is an error.
	each := func(f func(c *candidate) error) error {
		for i, c := range all {
			if s.Out(i) || saves {
				continue
			}
			err := guarded(func() error { return f(c) })
			switch {
			case err == nil:
			case i == 0 || kernels.AsRejection(err) == nil:
				return err
			default:
				s.Reject(i, err)
			}
		}
		return nil
	}
	finds := func(c *candidate) error {
		if afresh {
			return nil
		}
		saved, err := c.saves(ctx, series.Seed)
		saves = saves || saved > 0
		return err
	}
	defer func() {
		for _, c := range all {
			c.afresh = false
		}
	}()
	for _, step := range p.preparation(ctx, series, afresh, finds) {
		if err := each(step); err != nil || saves {
			return kernels.Final{}, saves, err
		}
	}
	s.Turn = func(ctx context.Context, i int) (seconds float64, err error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		err = guarded(func() error {
			if err := all[i].renew(series.Confirm); err != nil {
				return err
			}
			seconds = all[i].sample() * nanoseconds
			return nil
		})
		return seconds, err
	}
	if err := s.Run(ctx); err != nil {
		return kernels.Final{}, false, err
	}
	// All are checked on the inputs of the comparison before any gets others.
	for _, step := range []func(*candidate) error{
		func(c *candidate) error { return c.checkCall(late) },
		finds,
		func(c *candidate) error { return c.checkLate(ctx, series.Seed) },
	} {
		if err := each(step); err != nil || saves {
			return kernels.Final{}, saves, err
		}
	}
	final = s.Final()
	final.Machine = w.state()
	for i := range final.Comparisons {
		if c := &final.Comparisons[i]; c.Err == nil && c.Pairs > 0 {
			c.Metrics = sampleMetrics(timing.Summarise(s.Costs(i+1), 0))
		}
	}
	return final, false, nil
}

// preparation returns what each entrant has to do before the turns, in steps that all of them take before any takes the next.
func (p *problem) preparation(ctx context.Context, series kernels.Series, afresh bool, finds func(*candidate) error) []func(*candidate) error {
	seed := kernels.Derive(series.Seed, "inputs of a comparison")
	first := func(c *candidate) error {
		p.inputs(seed)
		if err := c.make(); err != nil {
			return err
		}
		c.calibrate()
		return c.keeps(ctx, series.Seed)
	}
	if afresh {
		return []func(*candidate) error{first, func(c *candidate) error { return c.takeAfresh(series.Seed) }}
	}
	filled := false
	return []func(*candidate) error{first, finds, func(c *candidate) error {
		// All take their turns on the same inputs. A function may read them when it is made.
		if !filled {
			p.inputs(seed)
			filled = true
		}
		return c.make()
	}}
}

// renew prepares a turn: it makes the function anew, where that is asked for, and calls it once, so that neither its first call nor
// what the turn before left in the caches counts.
func (c *candidate) renew(anew bool) error {
	if anew {
		if c.afresh && !c.live { // it takes its inputs when it is made
			c.p.inputs(c.seed)
		}
		if err := c.make(); err != nil {
			return err
		}
	}
	if c.perCall < longCall {
		c.time(1)
	}
	return nil
}

// watch looks at the machine between the rounds of a comparison. Functions may use all cores and are timed by wall clock, so that a
// round counts only where nothing else ran before and after it. It is apart from the watch of kernels/native, which finds slow phases of the
// core with a loop in a worker of C and then counts other rounds: all that both would share is the list of quiet rounds.
type watch struct {
	before timing.Load
	calm   bool      // whether nothing else ran after the last round
	quiet  []bool    // by round: whether nothing else ran before and after it
	probes []float64 // seconds of a loop of fixed work, by round
}

func (w *watch) end(ctx context.Context) {
	after := timing.Idle(ctx)
	w.quiet = append(w.quiet, w.calm && after)
	w.calm = after
	w.probes = append(w.probes, probe())
}

// counted returns how many of the first n rounds are good.
func (w *watch) counted(n int) (k int) {
	for _, quiet := range w.quiet[:n] {
		if quiet {
			k++
		}
	}
	return k
}

// counting returns the function that reports which of the first n rounds count: the quiet ones if there are enough for an interval,
// and otherwise all, which are then unverified.
func (w *watch) counting(n int) (counts func(round int) bool, unverified bool) {
	if w.counted(n) >= min(n, timing.LeastPairs) {
		return func(round int) bool { return w.quiet[round] }, false
	}
	return func(int) bool { return true }, true
}

// state says how quiet the machine was.
func (w *watch) state() kernels.MachineState {
	now := timing.ReadLoad()
	busy, steal := now.Shares(w.before)
	s := kernels.MachineState{Load: now.OneMin, Busy: busy, Steal: steal, Probes: len(w.probes)}
	if len(w.probes) > 0 {
		sorted := slices.Sorted(slices.Values(w.probes))
		cut := len(sorted) / 10
		s.Drift = (sorted[len(sorted)-1-cut] - sorted[cut]) / timing.Quantile(sorted, 0.5)
	}
	return s
}

// probe returns the seconds of a loop whose work is always the same: about half a millisecond.
func probe() float64 {
	began := time.Now()
	x := uint64(began.UnixNano()) | 1
	for range 200_000 {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	if x == 0 { // never, but the compiler does not know it
		panic("gofunc: the state of a xorshift generator is 0")
	}
	return time.Since(began).Seconds()
}
