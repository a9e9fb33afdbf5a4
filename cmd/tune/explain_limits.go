package main

import (
	"context"
	"errors"
	"fmt"

	"tune/internal/plain"
	"tune/kernels/native"
	"tune/kernels/native/cc"
	"tune/results"
	"tune/space"
)

// limit is a rate that the processor reaches, and the one that a kernel has of it.
type limit struct {
	has, most float64 // in 10^9 per second
	unit      string
	how       string // how the processor reaches it, after its cores
	bytes     bool   // whether it is of bytes, and not of operations
}

func (l limit) share() float64 { return l.has / l.most }

// limitsOf compares the rates of a kernel in C with those that as many cores as it has threads reach, the nearest first.
func limitsOf(metrics []space.Metric, threads int, peaks native.Peaks) (limits []limit) {
	n := float64(max(threads, 1)) / 1e9
	for _, l := range []struct {
		metric string
		limit
	}{
		{space.MetricGFLOPS, limit{most: n * peaks.F32, unit: "GFLOP/s", how: "in multiply-adds of 32-bit floats and nothing else"}},
		{space.MetricGOPS, limit{most: n * peaks.I8, unit: "GOP/s", how: "in dot products of bytes and nothing else"}},
		// The stated bytes may be read or written, and a core does both at once.
		{space.MetricGBS, limit{most: 2 * n * peaks.L1, unit: "GB/s", how: "when it reads and writes in its nearest cache at once", bytes: true}},
	} {
		var ok bool
		if l.has, ok = space.FindMetric(metrics, l.metric); !ok || l.most <= 0 {
			continue
		}
		if len(limits) > 0 && l.share() > limits[0].share() {
			limits = append([]limit{l.limit}, limits...)
		} else {
			limits = append(limits, l.limit)
		}
	}
	return limits
}

// limitWords says how near to the limits of the processor a kernel is, and what that means. nil where nothing can be compared.
func limitWords(metrics []space.Metric, threads int, peaks native.Peaks) (lines []string) {
	limits := limitsOf(metrics, threads, peaks)
	if len(limits) == 0 {
		return nil
	}
	cores := "one core"
	if threads > 1 {
		cores = plain.Count(threads, "core")
	}
	for _, l := range limits {
		lines = append(lines, fmt.Sprintf("%.1f %% of the %s %s that %s of this processor can reach %s", 100*l.share(), rate(l.most), l.unit, cores, l.how))
	}
	nearest := limits[0]
	possible := times(1 / nearest.share())
	switch {
	case nearest.share() > 1 && nearest.bytes:
		return append(lines, "more than all: it moves fewer bytes than it states")
	case nearest.share() > 1:
		return append(lines, "more than all: it does fewer operations than it states, or operations on smaller numbers")
	case nearest.bytes:
		return append(lines, fmt.Sprintf("no version that moves as many bytes can be more than %s as fast, and from larger caches or memory bytes come slower", possible))
	}
	return append(lines, fmt.Sprintf("no version with as many operations can be more than %s as fast; the rest goes to other instructions, and to waiting for data", possible))
}

// limits is limitWords for the result of a run, where it can be said on this machine. It measures what the processor reaches, which
// starts processes of tune's own and none of the run.
func (a *app) limits(ctx context.Context, s *results.Schedule, threads int) (lines []string, err error) {
	if limitsOf(s.Metrics, threads, native.Peaks{F32: 1, I8: 1, L1: 1}) == nil {
		return nil, nil
	}
	if here := results.ThisMachine(); s.Machine.CPU != here.CPU || s.Machine.Arch != here.Arch {
		return []string{fmt.Sprintf("not known here: the run is of another processor (%s %s)", s.Machine.Arch, s.Machine.CPU)}, nil
	}
	defer a.working("measuring what the processor can reach")()
	peaks, err := a.host.Peak(ctx)
	switch {
	case errors.Is(err, cc.ErrNone):
		return []string{"not known: " + err.Error()}, nil
	case err != nil:
		return nil, err
	}
	return limitWords(s.Metrics, threads, peaks), nil
}
