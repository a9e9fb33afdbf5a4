package native

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"tune/kernels/native/timing"
	"tune/kernels/native/worker"
)

// gauge measures how fast the core that times is just now, by a loop of fixed work. The cores of a virtual machine are
// often the two hardware threads of one real core, or are shared with other machines: work on the other one makes a
// candidate take up to twice as long, the CPU clock notwithstanding, and such a phase may last for seconds.
type gauge struct {
	so   string    // the compiled probes
	m    *meter    // nil before it is needed
	seen []float64 // the last turns, in seconds a call
	// spent is the time that candidates have taken, and waited what of it they have waited for the core.
	spent, waited time.Duration
}

const (
	gaugeSeen  = 512  // turns that are remembered
	gaugeFirst = 40   // turns that begin the memory
	gaugeSlow  = 1.10 // how much slower than in good moments the core may be
)

// How long one candidate waits for a core that is slow, and what the first may wait together; after that no more than half of the
// time goes by in waiting. Of 100 spans of half a second 95 have a moment in which nobody else uses the core, of 100 spans of a
// fiftieth of a second 60 (two virtual cores of an EPYC).
const (
	gaugePatience = 500 * time.Millisecond
	gaugeCredit   = 2 * time.Second
)

// patience returns how long a candidate may wait now.
func (g *gauge) patience() time.Duration {
	return min(gaugePatience, gaugeCredit+g.spent-2*g.waited)
}

// slowed reports whether the core is slower than it was seen to be. Where it is, and wait says so, it looks again until the
// core is fast or patience ends. It is called by the one that times. A gauge that fails is no candidate's fault: the next look
// begins with a new one.
func (h *Host) slowed(ctx context.Context, o worker.Options, wait bool) (bool, error) {
	g := &h.gauge
	if g.m == nil {
		m, err := h.newGauge(ctx, o)
		if err != nil {
			return false, ctx.Err()
		}
		g.m = m
	}
	n := 1
	if len(g.seen) == 0 {
		n = gaugeFirst
	}
	take := func(n int) ([]float64, error) {
		s, err := g.m.takeTurns(ctx, n)
		if err != nil {
			h.retire(g.m.w)
			g.m = nil
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

// errGauge says that the gauge cannot tell.
var errGauge = errors.New("the gauge failed")

// look takes n turns and remembers them. Where the last one is slow, and wait says so, it takes more until one is fast or
// patience ends, of which it remembers the fastest: the memory is one of candidates, not of time.
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

// restless reports whether the core is slow now and then, by the turns that are remembered.
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

// limit returns what a turn takes that is not a slow one, at the most.
func (g *gauge) limit() float64 {
	sorted := slices.Sorted(slices.Values(g.seen))
	// Not the very best: the clock may have lied about it.
	return gaugeSlow * timing.Quantile(sorted, 0.1)
}

func (h *Host) newGauge(ctx context.Context, o worker.Options) (*meter, error) {
	o.Limits, o.Core, o.Executable = worker.Limits{}, h.core, h.options.Executable
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
	if err := mapCase(w, probeCase); err != nil {
		return 0, err
	}
	if err := w.Load(so); err != nil {
		return 0, err
	}
	if err := w.Call(ctx, []int64{probeSupported, 0}); err != nil {
		return 0, err
	}
	return binary.NativeEndian.Uint32(w.Outputs()[0]), nil
}
