package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"tune/internal/cpu"
	"tune/internal/files"
	"tune/kernels/native"
	"tune/results"
	"tune/results/report"
	"tune/space"
)

// roofline says how near to the roofs of this processor a kernel in C is, or why that is not known. It measures nothing.
func (a *app) roofline(dir string, r *report.Run) {
	below(dir, r, results.ThisMachine(), func() []native.Roof { return a.host.KeptRoofs(context.Background()).Roofs })
}

// below places the kernel of a run below the roofs of one core of a machine; none are kept where kept returns none. It leaves kernels alone
// that are not in C, or state no work.
func below(dir string, r *report.Run, here results.Machine, kept func() []native.Roof) {
	s := r.Schedule
	threads := threadsOf(dir, s)
	if threads == 0 || !statesWork(s.Metrics) {
		return
	}
	if s.Machine.CPU != here.CPU || s.Machine.Arch != here.Arch {
		r.Limits = []string{otherProcessor(s)}
		return
	}
	roofs := kept()
	if len(roofs) == 0 {
		r.Limits = []string{"not known yet: 'tune machine' measures the roofs of this processor, and reports that are written after it have them"}
		return
	}
	r.Limits = limitWords(s, threads, roofs, cpu.CacheSizes())
	r.Roofline = rooflineOf(s.Metrics, threads, roofs)
}

// threadsOf is how many threads the kernel of a schedule has; 0 where it is not in C.
func threadsOf(dir string, s *results.Schedule) (threads int) {
	for _, artifact := range s.Artifacts {
		var b builtWith
		if !strings.HasSuffix(artifact.Name, ".build.json") {
			continue
		}
		if text, err := files.In(dir).Read(artifact.Name, files.Settings); err == nil && json.Unmarshal(text, &b) == nil {
			threads = max(b.Threads, 1)
		}
	}
	return threads
}

// statesWork reports whether metrics have a rate that roofs bound.
func statesWork(metrics []space.Metric) bool {
	return slices.ContainsFunc(metrics, func(m space.Metric) bool {
		return m.Name == space.MetricGFLOPS || m.Name == space.MetricGOPS || m.Name == space.MetricGBS
	})
}

// otherProcessor says that the limits of a run are not known on this machine.
func otherProcessor(s *results.Schedule) string {
	return fmt.Sprintf("not known here: the run is of another processor (%s %s)", s.Machine.Arch, s.Machine.CPU)
}

// rooflineOf places rates below the roofs of as many cores as a kernel has threads, and those of one core at levels of memory that cores
// share; nil where operations or bytes are not stated.
func rooflineOf(metrics []space.Metric, threads int, roofs []native.Roof) *report.Roofline {
	operations, floats := space.FindMetric(metrics, space.MetricGFLOPS)
	if !floats {
		operations, _ = space.FindMetric(metrics, space.MetricGOPS)
	}
	bytes, _ := space.FindMetric(metrics, space.MetricGBS)
	if operations == 0 || bytes == 0 {
		return nil
	}
	f := &report.Roofline{Intensity: operations / bytes, Reached: operations, Unit: "GOP/s"}
	wanted := func(one native.Roof) bool { return one.Unit == f.Unit }
	if floats {
		f.Unit, wanted = "GFLOP/s", func(one native.Roof) bool { return one.Kind == "f32" }
	}
	for _, one := range roofs {
		most, alone := together(one, threads)
		switch {
		case wanted(one) && most > f.Peak.Most:
			f.Peak = report.Roof{Name: one.Kind, Most: most}
		case one.Kind == "read":
			name := one.Level
			if alone {
				name += ", of one core"
			}
			f.Memory = append(f.Memory, report.Roof{Name: name, Most: most})
		}
	}
	return f
}
