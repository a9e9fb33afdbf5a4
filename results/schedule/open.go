package schedule

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"tune/kernels"
	"tune/results"
	"tune/space"
)

// OpenRun opens the kernel of a recorded run. It refuses a run whose points mean something else in this version of the kernel.
func OpenRun(table kernels.Table, settings *results.Settings) (*kernels.Opened, error) {
	k, err := open(table, settings.Kernel, settings.Shape, settings.Pinned)
	if unknown, ok := errors.AsType[*kernels.UnknownError](err); ok && len(unknown.Names) > 0 {
		return nil, fmt.Errorf("unknown kernel %q: the run is of it, and not of %s: choose another folder, or give the kernel of the run", unknown.Name, strings.Join(unknown.Names, ", "))
	}
	if err != nil {
		return nil, err
	}
	if v := k.Info.Version; v != settings.KernelVersion {
		return nil, fmt.Errorf("the run was made with version %s of kernel %s; this is version %s: its outcomes do not hold here, start a new run", settings.KernelVersion, k.Info.Name, v)
	}
	if f := k.Problem.Space().Fingerprint(); f != settings.SpaceFingerprint {
		return nil, fmt.Errorf("the run searched another space of kernel %s (fingerprint %s, here %s): its points cannot be asked again, start a new run", k.Info.Name, settings.SpaceFingerprint, f)
	}
	return k, nil
}

// open opens a kernel of a table at a shape given as text, with the points that have the pinned values.
func open(table kernels.Table, name, text string, pinned map[string]string) (*kernels.Opened, error) {
	k, err := table.Lookup(name)
	if err != nil {
		return nil, err
	}
	opened, err := kernels.OpenText(k, text)
	if err != nil {
		return nil, err
	}
	if err := opened.Pin(pinned); err != nil {
		return nil, fmt.Errorf("field pinned: %w", err)
	}
	return opened, nil
}

// AsBaseline returns a baseline in the form of run directories.
func AsBaseline(b kernels.Baseline) results.Baseline {
	return results.Baseline{Preset: b.Preset.Name, Key: b.Preset.Point.Key(), Cost: b.Outcome.Cost, Metrics: askedMetrics(b.Outcome.Metrics)}
}

// askedMetrics returns those of some metrics that are measured only where a run asks for them.
func askedMetrics(metrics []space.Metric) (out []space.Metric) {
	for _, m := range metrics {
		if slices.ContainsFunc(space.Measured(), func(d space.MeasuredMetric) bool { return d.Name == m.Name }) {
			out = append(out, m)
		}
	}
	return out
}
