package main

import (
	"context"
	"fmt"
	"slices"

	"tune/internal/cpu"
	"tune/internal/plain"
	"tune/kernels/native"
	"tune/results"
	"tune/space"
)

// limit is a rate that the cores of a kernel reach with nothing else to do, and the one that the kernel has of it.
type limit struct {
	has, most float64 // in billions a second
	unit      string
	how       string // what the cores do
	bytes     bool   // whether it is of bytes, and not of operations
	alone     bool   // whether the rate is that of one core, though the kernel has more: what these reach together is not known
}

func (l limit) share() float64 { return l.has / l.most }

// sharedLevel reports a level of memory that cores share. Of it, several of them do not reach several times the rate of one.
func sharedLevel(level string) bool { return level == "L3" || level == "memory" }

// together is the rate of as many cores as a kernel has threads, in billions a second, or that of one where they share what bounds it.
func together(r native.Roof, threads int) (most float64, alone bool) {
	if threads > 1 && sharedLevel(r.Level) {
		return r.Rate / 1e9, true
	}
	return r.Rate / 1e9 * float64(max(threads, 1)), false
}

// limitsOf compares the rates of a schedule with the roofs of as many cores as its kernel has threads, the nearest limit first, and those last
// that are of one core alone.
func limitsOf(s *results.Schedule, threads int, roofs []native.Roof, caches cpu.Caches) (limits []limit) {
	add := func(has float64, of func(native.Roof) bool, how string, bytes bool) {
		best := native.Roof{}
		for _, r := range roofs {
			if of(r) && r.Rate > best.Rate {
				best = r
			}
		}
		if best.Rate > 0 {
			most, alone := together(best, threads)
			limits = append(limits, limit{has, most, best.Unit, how, bytes, alone})
		}
	}
	if v, ok := space.FindMetric(s.Metrics, space.MetricGFLOPS); ok {
		add(v, func(r native.Roof) bool { return r.Kind == "f32" }, "with multiply-adds of 32-bit floats", false)
	}
	if v, ok := space.FindMetric(s.Metrics, space.MetricGOPS); ok {
		add(v, func(r native.Roof) bool { return r.Unit == "GOP/s" }, "with products of bytes", false)
	}
	if v, ok := space.FindMetric(s.Metrics, space.MetricGBS); ok {
		level := levelOf(v*s.Cost, caches)
		add(v, func(r native.Roof) bool { return r.Level == level }, "with reads or copies in "+level, true)
	}
	slices.SortStableFunc(limits, func(a, b limit) int {
		switch {
		case a.alone != b.alone:
			return map[bool]int{true: 1, false: -1}[a.alone]
		case a.share() > b.share():
			return -1
		case a.share() < b.share():
			return 1
		}
		return 0
	})
	return limits
}

// levelOf returns the nearest level of memory that holds so many bytes, as roofs name it.
func levelOf(bytes float64, caches cpu.Caches) string {
	for _, c := range []struct {
		level string
		bytes int
	}{{"L1", caches.L1}, {"L2", caches.L2}, {"L3", caches.L3}} {
		if bytes <= float64(c.bytes) {
			return c.level
		}
	}
	return "memory"
}

// limitWords says how near to the limits of the processor a kernel is, and what that means. nil where nothing can be compared.
func limitWords(s *results.Schedule, threads int, roofs []native.Roof, caches cpu.Caches) (lines []string) {
	limits := limitsOf(s, threads, roofs, caches)
	if len(limits) == 0 {
		return nil
	}
	cores := "one core reaches"
	if threads > 1 {
		cores = plain.Count(threads, "core") + " reach"
	}
	for _, l := range limits {
		if l.alone {
			lines = append(lines, fmt.Sprintf("%s what one core reaches %s, %s %s; what %s reach together is not known", times(l.share()), l.how, rate(l.most), l.unit, plain.Count(threads, "core")))
			continue
		}
		lines = append(lines, fmt.Sprintf("%.1f %% of the %s %s that %s %s and nothing else", 100*l.share(), rate(l.most), l.unit, cores, l.how))
	}
	nearest := limits[0]
	if nearest.alone {
		return lines
	}
	possible := times(1 / nearest.share())
	switch {
	case nearest.share() > 1 && nearest.share() <= 1+noiseOf(s):
		return append(lines, fmt.Sprintf("as much as possible, within the noise of the measurement (%.1f %%)", 100*noiseOf(s)))
	case nearest.share() > 1 && nearest.bytes:
		return append(lines, "more than all: it moves fewer bytes than it states, or finds them in a nearer cache")
	case nearest.share() > 1:
		return append(lines, "more than all: it does fewer operations than it states, or operations on smaller numbers")
	case nearest.bytes:
		return append(lines, fmt.Sprintf("no version that moves as many bytes there can be more than %s as fast; the rest goes to instructions, and to waiting", possible))
	}
	return append(lines, fmt.Sprintf("no version with as many operations can be more than %s as fast; the rest goes to other instructions, and to waiting for data", possible))
}

// noiseOf is the share by which the cost of a schedule may be wrong: by how much the speed of the machine drifted meanwhile, or how far the
// interval of the ratio reaches, whichever is more. 0 where neither is known.
func noiseOf(s *results.Schedule) (share float64) {
	if m := s.MachineState; m != nil {
		share = m.Drift
	}
	if i := s.RatioInterval; i != nil && s.Ratio > 0 {
		share = max(share, (i[1]-i[0])/2/s.Ratio)
	}
	return share
}

// limits is limitWords for the result of a run, where it can be said on this machine. Where the roofs of this processor are not known
// yet, it measures them, which starts processes of tune's own and none of the run.
func (a *app) limits(ctx context.Context, s *results.Schedule, threads int) (lines []string, err error) {
	if !statesWork(s.Metrics) {
		return nil, nil
	}
	if here := results.ThisMachine(); s.Machine.CPU != here.CPU || s.Machine.Arch != here.Arch {
		return []string{otherProcessor(s)}, nil
	}
	observe, end := a.counter("loops measured")
	roofs, err := a.host.Roofs(ctx, false, observe)
	end()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil: // such as no compiler, or no place for what it makes
		return []string{"not known: " + err.Error()}, nil
	}
	return limitWords(s, threads, roofs.Roofs, cpu.CacheSizes()), nil
}
