package native

import (
	"context"
	"encoding/binary"
	"slices"

	"tune/kernels/native/timing"
	"tune/kernels/native/worker"
)

// gauge measures how fast the core that times is just now, by a loop of fixed work. The cores of a virtual machine are
// often the two hardware threads of one real core, or are shared with other machines: work on the other one makes a
// candidate take up to twice as long, the CPU clock notwithstanding, and such a phase may last for seconds.
type gauge struct {
	so   string    // the compiled probes
	m    *meter    // nil before it is needed
	seen []float64 // the last samples, in seconds a call
}

const (
	gaugeSeen  = 512  // samples that are remembered
	gaugeFirst = 8    // samples that begin the memory
	gaugeSlow  = 1.10 // how much slower than in good moments the core may be
)

// slowed reports whether the core is slower than it was seen to be. It is called by the one that times. A gauge that
// fails is no candidate's fault: the next look begins with a new one.
func (h *Host) slowed(ctx context.Context, o worker.Options) (bool, error) {
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
	s, err := g.m.sample(ctx, n)
	if err != nil {
		h.retire(g.m.w)
		g.m = nil
		return false, ctx.Err()
	}
	slow := false
	for _, one := range s {
		slow = g.add(one)
	}
	return slow, nil
}

// add remembers a sample and reports whether it is a slow one.
func (g *gauge) add(s float64) bool {
	if len(g.seen) >= gaugeSeen {
		g.seen = slices.Delete(g.seen, 0, 1)
	}
	g.seen = append(g.seen, s)
	sorted := slices.Sorted(slices.Values(g.seen))
	// Not the very best: the clock may have lied about it.
	return s > gaugeSlow*timing.Quantile(sorted, 0.1)
}

func (h *Host) newGauge(ctx context.Context, o worker.Options) (*meter, error) {
	o.Limits, o.Core, o.Executable = worker.Limits{}, h.core, h.options.Executable
	w, err := h.start(context.WithoutCancel(ctx), o)
	if err != nil {
		return nil, err
	}
	m, err := newProbe(ctx, w, h.gauge.so, probeIssue)
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
