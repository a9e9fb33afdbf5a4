package native

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"tune/kernels"
	"tune/kernels/native/cc"
	"tune/kernels/native/timing"
	"tune/kernels/native/worker"
)

// watch checks the machine before and after each round of a comparison, and decides which rounds count.
type watch struct {
	drift    *meter    // of a loop of fixed work; nil where there is none
	probes   []float64 // the time of that loop, by round
	threaded bool      // whether entrants use several cores
	strict   bool      // whether rounds on a slow core do not count, because something is measured beside the pairs
	quiet    []bool    // by round: whether the machine was idle before and after, where threads need that
	calm     bool      // whether it was idle after the last round
	before   timing.Load
}

// idle reports whether the machine has nothing else to do. Only rounds with threads need that.
func (w *watch) idle(ctx context.Context) bool { return !w.threaded || timing.Idle(ctx) }

// begin is called before a round.
func (w *watch) begin(ctx context.Context) error {
	if w.drift == nil {
		return nil
	}
	s, err := w.drift.sample(ctx, 1)
	if err != nil {
		return errors.Join(ctx.Err(), fmt.Errorf("the probe of the machine: %v", err)) // no candidate's fault
	}
	w.probes = append(w.probes, s...)
	return nil
}

// end is called after a round.
func (w *watch) end(ctx context.Context) {
	after := w.idle(ctx)
	w.quiet = append(w.quiet, w.calm && after)
	w.calm = after
}

// swift returns a function that reports the rounds without a slow phase of the core. Slow phases affect candidates differently,
// so that the other rounds are more reliable.
func (w *watch) swift() func(round int) bool {
	if len(w.probes) == 0 {
		return func(int) bool { return false }
	}
	limit := gaugeSlow * timing.Quantile(slices.Sorted(slices.Values(w.probes)), 0.1)
	return func(i int) bool {
		return w.quiet[i] && w.probes[i] <= limit && w.probes[min(i+1, len(w.probes)-1)] <= limit
	}
}

func (w *watch) isQuiet(round int) bool { return w.quiet[round] }

// counted returns how many of the first n rounds are good. Both sides of a pair suffer alike from a slow core, so that pairs
// count even then, unless the peak is measured beside them.
func (w *watch) counted(n int) int {
	if w.strict {
		return count(w.swift(), n)
	}
	return count(w.isQuiet, n)
}

// counting returns the function that reports which of the first n rounds count: the quiet ones if there are enough, and otherwise
// all, marked as unverified.
func (w *watch) counting(n int) (counts func(round int) bool, unverified bool) {
	swift := w.swift()
	enough := min(n, timing.LeastPairs)
	swiftEnough := enough
	if !w.strict {
		swiftEnough = max(enough, 2*n/3) // more pairs, even slow ones, give a better result
	}
	switch {
	case count(swift, n) >= swiftEnough:
		return swift, false
	case count(w.isQuiet, n) >= enough:
		return w.isQuiet, false
	}
	return func(int) bool { return true }, true
}

// count returns how many of the first n rounds have a property.
func count(property func(int) bool, n int) (k int) {
	for i := range n {
		if property(i) {
			k++
		}
	}
	return k
}

// state says how quiet the machine was.
func (w *watch) state() kernels.MachineState {
	now := timing.ReadLoad()
	busy, steal := now.Shares(w.before)
	s := kernels.MachineState{Load: now.OneMin, Busy: busy, Steal: steal, Probes: len(w.probes)}
	probes := slices.SortedFunc(slices.Values(w.probes), cmp.Compare[float64])
	if len(probes) > 0 {
		cut := len(probes) / 10
		s.Drift = (probes[len(probes)-1-cut] - probes[cut]) / timing.Quantile(probes, 0.5)
	}
	return s
}

// Run runs a series of entrants that are no candidates of a native problem, such as processes. Between rounds it checks the machine
// as [Problem.Compare] does. Where costs are wall times, rounds count only if the machine was idle, because entrants may use all
// cores. The returned state says what was found. On a machine without a C compiler, or without a folder for compiled objects, the speed
// of the core is not checked. The entrants' turns hold the machine with [Host.Alone].
func (h *Host) Run(ctx context.Context, s *timing.Series, wall bool) (kernels.MachineState, error) {
	w := &watch{threaded: wall, before: timing.ReadLoad()}
	switch tools, err := h.Toolchain(ctx); {
	case err == nil:
		stop, err := w.probe(ctx, h, tools)
		switch {
		case err == nil:
			defer stop()
		case !errors.Is(err, cc.ErrCache):
			return kernels.MachineState{}, err
		}
	case !errors.Is(err, cc.ErrNone):
		return kernels.MachineState{}, err
	}
	w.calm = w.idle(ctx)
	s.Begin = func(ctx context.Context, _ int) error { return w.begin(ctx) }
	s.End = func(ctx context.Context, _ int) error { w.end(ctx); return nil }
	s.Counting, s.Counted = w.counting, w.counted
	err := s.Run(ctx)
	return w.state(), err
}

// probe starts a worker that measures the drift of the core.
func (w *watch) probe(ctx context.Context, h *Host, tools *cc.Toolchain) (stop func() error, err error) {
	so, err := buildProbe(ctx, tools)
	if err != nil {
		return nil, err
	}
	o := worker.Options{Core: h.timingCore(), Executable: h.options.Executable}
	if o.Harness, err = buildHarness(ctx, tools); err != nil {
		return nil, err
	}
	r, err := h.start(ctx, o)
	if err != nil {
		return nil, err
	}
	if w.drift, err = newProbe(ctx, r, so, probeIssue, timing.SampleSeconds); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r.Close, nil
}
