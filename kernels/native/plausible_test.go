package native

import (
	"context"
	"strings"
	"testing"

	"tune/kernels/native/worker"
)

// TestPlausible: what no call can be shorter than.
func TestPlausible(t *testing.T) {
	peaks := Peaks{F32: 100e9, I8: 400e9, L1: 200e9}
	for _, c := range []struct {
		p       *Problem
		threads int
		want    float64
		why     string
	}{
		{&Problem{traffic: 2000}, 1, 10e-9, "reading its inputs"},
		{&Problem{traffic: 2000}, 2, 5e-9, "reading its inputs"},
		{&Problem{traffic: 2000, work: Work{Bytes: 8000}}, 1, 20e-9, "stated bytes"},
		{&Problem{traffic: 2000, work: Work{Ops: 1e6}}, 1, 10e-6, "stated work"},
		{&Problem{traffic: 2000, integers: true, work: Work{Ops: 1e6}}, 1, 2.5e-6, "stated work"},
	} {
		r := c.p.leastAt(peaks, c.threads)
		if d := r.seconds/c.want - 1; d > 1e-9 || d < -1e-9 || !strings.Contains(r.why, c.why) {
			t.Errorf("%+v: %g s, %s", c.p.work, r.seconds, r.why)
		}
	}
	host := NewHost(HostOptions{})
	host.peak = &peaks
	c := &candidate{problem: &Problem{host: host, traffic: 2000, work: Work{Plausible: true}}}
	if err := c.plausible(context.Background(), 9.5e-9); err != nil {
		t.Errorf("within the error of the probe: %v", err)
	}
	if err := c.plausible(context.Background(), 1); err != nil {
		t.Errorf("far above the least time: %v", err)
	}
}

// TestGlimpse: a time that a few samples show to be possible needs no complete measurement of the peaks, and the gauge goes on after it.
func TestGlimpse(t *testing.T) {
	h := NewHost(HostOptions{})
	defer h.Close()
	if _, err := h.Toolchain(t.Context()); err != nil {
		t.Skip(err)
	}
	// 5 GFLOP/s is above what needs no probe at all.
	c := &candidate{problem: &Problem{host: h, traffic: 2000, work: Work{Plausible: true, Ops: 1e6}}}
	if err := c.plausible(t.Context(), 200e-6); err != nil {
		t.Fatal(err)
	}
	if h.peak != nil || h.glimpse.F32 < 4e9 || h.glimpse.I8 != 0 {
		t.Errorf("measured: %+v, all: %+v", h.glimpse, h.peak)
	}
	known := h.glimpse
	if err := c.plausible(t.Context(), 210e-6); err != nil || h.glimpse != known {
		t.Errorf("what is known is measured again: %v, %+v", err, h.glimpse)
	}
	err := h.timed(t.Context(), 1, worker.Limits{}, func(o worker.Options) error {
		_, err := h.slowed(t.Context(), o, gaugeFirst, false)
		return err
	})
	if err != nil || h.gauge.m == nil || len(h.gauge.seen) == 0 {
		t.Errorf("the gauge: %v, %d turns", err, len(h.gauge.seen))
	}
	err = h.timed(t.Context(), 1, worker.Limits{}, func(o worker.Options) error {
		if begin := h.blindBegin(t.Context(), o, false); begin != (beginning{}) {
			t.Errorf("to begin blind calls takes %v s before that was measured", begin)
		}
		possible := func(b beginning) bool { return min(b.own, b.caller) > 1e-6 && max(b.own, b.caller) < 0.1 }
		begin := h.blindBegin(t.Context(), o, true)
		if kept := h.blindBegin(t.Context(), o, false); kept != begin || !possible(begin) {
			t.Errorf("to begin blind calls takes %v s, and then %v s", begin, kept)
		}
		h.endGauge()
		now := h.blindBegin(t.Context(), o, true)
		least := beginning{min(begin.own, now.own), min(begin.caller, now.caller)}
		if kept := h.blindBegin(t.Context(), o, false); now == begin || !possible(now) || kept != least {
			t.Errorf("to begin blind calls takes %v s, measured anew %v s, at least %v s", begin, now, kept)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
