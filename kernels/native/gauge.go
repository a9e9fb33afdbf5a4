package native

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"time"

	"tune/kernels/native/timing"
	"tune/kernels/native/worker"
)

// gauge measures the current speed of the core used for timing, by a loop of fixed work. The cores of a virtual machine are often
// two hardware threads of one physical core, or are shared with other machines. Work on the other one makes a candidate take up
// to twice as long, even by the CPU clock, and such a phase may last for seconds.
type gauge struct {
	so   string    // the compiled probes
	m    *meter    // nil until it is needed
	seen []float64 // the last turns, in seconds a call
	// spent is the time that candidates have taken; waited is the part of it spent waiting for the core.
	spent, waited time.Duration
	// blindBegin is what it took at least to begin and to end blind calls; zero before that was measured.
	blindBegin beginning
}

const (
	gaugeSeen  = 512  // turns that are remembered
	gaugeFirst = 40   // turns before the first judgement
	gaugeBrief = 8    // the same where a look must not take long
	gaugeSlow  = 1.10 // how much slower than in good moments the core may be
)

// How long one candidate may wait for a slow core, and the total time for which waiting is free; after that at most half of the
// time is spent on waiting. On two virtual cores of an EPYC, 95 of 100 spans of half a second had a moment in which nobody else
// used the core, but only 60 of 100 spans of a fiftieth of a second.
const (
	gaugePatience = 500 * time.Millisecond
	gaugeCredit   = 2 * time.Second
)

// patience returns how long a candidate may wait now.
func (g *gauge) patience() time.Duration {
	return min(gaugePatience, gaugeCredit+g.spent-2*g.waited)
}

// slowed reports whether the core is slower than it is known to be; the first look takes first turns. With wait, it looks again until the
// core is fast or patience ends. A hasty host does not look. Only the goroutine that times may call it. A failing gauge is not the
// candidate's fault: the next look starts a new one.
func (h *Host) slowed(ctx context.Context, o worker.Options, first int, wait bool) (bool, error) {
	if h.hasty {
		return false, nil
	}
	g := &h.gauge
	if err := h.startGauge(ctx, o); err != nil {
		return false, ctx.Err()
	}
	n := 1
	if len(g.seen) == 0 {
		n = first
	}
	take := func(n int) ([]float64, error) {
		s, err := g.m.takeTurns(ctx, n)
		if err != nil {
			h.endGauge()
			return nil, cmp.Or(ctx.Err(), errGauge)
		}
		return s, nil
	}
	slow, err := g.look(take, n, wait, time.Now)
	if err == errGauge {
		return false, nil
	}
	return slow, err
}

// errGauge says that the gauge does not work.
var errGauge = errors.New("the gauge failed")

// look takes n turns and remembers them. Where the last one is slow and wait is set, it takes more until one is fast or patience
// ends, and remembers the fastest of these, so that the memory does not fill up during one slow phase.
func (g *gauge) look(take func(n int) ([]float64, error), n int, wait bool, now func() time.Time) (slow bool, err error) {
	s, err := take(n)
	if err != nil {
		return false, err
	}
	for _, one := range s {
		g.remember(one)
	}
	least := s[len(s)-1]
	if slow = g.slow(least); !slow || !wait {
		return slow, nil
	}
	start, patience := now(), g.patience()
	for slow && now().Sub(start) < patience {
		if s, err = take(1); err != nil {
			return false, err
		}
		slow, least = g.slow(s[0]), min(least, s[0])
	}
	g.remember(least)
	g.waited += now().Sub(start)
	return slow, nil
}

// restless reports whether the core is slow now and then, judged by the remembered turns.
func (g *gauge) restless() bool {
	const share = 20 // one in so many
	slow := 0
	limit := g.limit()
	for _, s := range g.seen {
		if s > limit {
			slow++
		}
	}
	return slow*share > len(g.seen)
}

// remember adds a turn to the memory.
func (g *gauge) remember(s float64) {
	if len(g.seen) >= gaugeSeen {
		g.seen = slices.Delete(g.seen, 0, 1)
	}
	g.seen = append(g.seen, s)
}

// slow reports whether a turn is a slow one.
func (g *gauge) slow(s float64) bool { return s > g.limit() }

// limit returns the longest time of a turn that is not slow; any is before the first, as long as the gauge does not work.
func (g *gauge) limit() float64 {
	if len(g.seen) == 0 {
		return math.Inf(1)
	}
	sorted := slices.Sorted(slices.Values(g.seen))
	// Not the minimum: the clock may have been wrong there.
	return gaugeSlow * timing.Quantile(sorted, 0.1)
}

// startGauge starts the gauge, unless it runs. Only the goroutine that times may call it.
func (h *Host) startGauge(ctx context.Context, o worker.Options) error {
	if h.gauge.m != nil {
		return nil
	}
	m, err := h.newGauge(ctx, o)
	if err == nil {
		h.gauge.m = m
	}
	return err
}

// endGauge ends the process of the gauge; the next look starts another one.
func (h *Host) endGauge() {
	h.retire(h.gauge.m.w)
	h.gauge.m = nil
}

// beginning is what it takes to begin and to end blind calls, in CPU seconds: by the worker's own threads, and by the thread that makes the calls.
type beginning struct{ own, caller float64 }

// blindBegin returns what it takes to begin and to end blind calls: the least that was measured, zero for none. With again it measures anew, and
// returns what it takes now. That is in the gauge's process, in which there is no candidate. It differs from machine to machine, and where others use the
// machine. Only the goroutine that times may call it.
func (h *Host) blindBegin(ctx context.Context, o worker.Options, again bool) beginning {
	const requests = 8
	g := &h.gauge
	if !again || h.startGauge(ctx, o) != nil {
		return g.blindBegin
	}
	var own, caller []float64
	for range requests {
		b, err := g.m.w.Blind(ctx, worker.BlindRequest{Dims: g.m.dims, Calls: 1, Clock: worker.CPU, Threads: g.m.uses, Idle: true, Limit: g.m.wall})
		if err != nil {
			h.endGauge()
			return g.blindBegin
		}
		own, caller = append(own, b.Own), append(caller, b.Seconds)
	}
	now, least := beginning{timing.Median(own), timing.Median(caller)}, &g.blindBegin
	if least.own == 0 || now.own < least.own {
		least.own = now.own
	}
	if least.caller == 0 || now.caller < least.caller {
		least.caller = now.caller
	}
	return now
}

func (h *Host) newGauge(ctx context.Context, o worker.Options) (*meter, error) {
	o.Limits, o.Core, o.Executable, o.Halt = worker.Limits{}, h.timingCore(), h.options.Executable, false
	w, err := h.start(context.WithoutCancel(ctx), o)
	if err != nil {
		return nil, err
	}
	m, err := newProbe(ctx, w, h.gauge.so, probeIssue, timing.BurstSeconds)
	if err != nil {
		w.Close()
		return nil, err
	}
	h.mu.Lock()
	h.kept = append(h.kept, w)
	h.mu.Unlock()
	return m, nil
}

// supportedProbes returns a mask of the probes that the processor can run.
func supportedProbes(ctx context.Context, w runner, so string) (uint32, error) {
	of := probeCase
	of.Dims = []int64{probeSupported, 0}
	out, err := callOnce(ctx, w, so, of)
	if err != nil {
		return 0, err
	}
	return binary.NativeEndian.Uint32(out[0]), nil
}

// Pace returns how many seconds this machine takes for a call of a loop of fixed work, in its good moments. It tells machines with the
// same processor apart whose clocks differ, or that others use too.
func (h *Host) Pace(ctx context.Context) (float64, error) {
	pace := 0.0
	err := h.timed(ctx, 1, worker.Limits{}, func(o worker.Options) error {
		if err := h.startGauge(ctx, o); err != nil {
			return err
		}
		turns, err := h.gauge.m.takeTurns(ctx, gaugeFirst)
		if err != nil {
			h.endGauge()
			return err
		}
		for _, s := range turns {
			h.gauge.remember(s)
		}
		pace = timing.Quantile(slices.Sorted(slices.Values(turns)), 0.1)
		return nil
	})
	return pace, err
}
