package native

import (
	"context"
	"math"
	"slices"

	"tune/kernels/native/timing"
	"tune/kernels/native/worker"
	"tune/space"
)

// measures says why candidates cannot have a metric of space.Measured on this machine.
func (p *Problem) measures(name string) error {
	if name == space.MetricCodeBytes {
		return nil
	}
	return p.host.options.Counters.Probe(name)
}

// measure returns metrics of space.Measured, after Score. Those of counters are means over calls.
func (c *candidate) measure(ctx context.Context, names []string) ([]space.Metric, error) {
	var out []space.Metric
	var counted []string
	for _, name := range names {
		switch {
		case name == space.MetricCodeBytes:
			n, err := c.codeBytes(ctx)
			if err != nil {
				return nil, err
			}
			out = append(out, space.Metric{Name: name, Value: float64(n)})
		case c.problem.measures(name) == nil:
			counted = append(counted, name)
		}
	}
	if len(counted) == 0 {
		return out, nil
	}
	counts, err := c.count(ctx, counted)
	if err != nil {
		return nil, err
	}
	for i, n := range counts {
		out = append(out, space.Metric{Name: counted[i], Value: n})
	}
	return out, nil
}

// How long counted calls take together, in seconds: counts of events are nearly exact, and energy is counted about once in a millisecond.
const (
	countSeconds  = 10e-3
	energySeconds = 0.2
	// mostCounted bounds the samples of a request.
	mostCounted = 256
)

// count returns what counters count during a call of the candidate, as means over many calls. Calls are made as they are timed, so that
// the candidate cannot tell the two apart, and some of them are verified.
func (c *candidate) count(ctx context.Context, names []string) (counts []float64, err error) {
	p := c.problem
	err = p.host.timed(ctx, c.threads(), p.limits, func(o worker.Options) error {
		return p.host.borrow(ctx, o, c.company(), func(w runner) error {
			m, err := c.newMeter(ctx, w, metering{length: timing.BurstSeconds, known: c.timed})
			if err != nil {
				return err
			}
			if counts, err = m.count(ctx, names); err != nil {
				return err
			}
			return m.verifyTimed(ctx, false)
		})
	})
	return counts, err
}

// count makes calls while counters count, and the same changes of the buffers without the calls: the difference is the candidate's. It
// returns nil where a counter fails that this machine has.
func (m *meter) count(ctx context.Context, names []string) ([]float64, error) {
	if _, err := m.take(ctx, 1, m.clock()); err != nil { // which warms up
		return nil, err
	}
	seconds := countSeconds
	if slices.Contains(names, space.MetricEnergy) {
		seconds = energySeconds
	}
	n := int(min(max(math.Ceil(seconds/(m.perCall*float64(m.calls))), 1), mostCounted))
	request := m.request(m.fitting(n), m.clock())
	request.Seed = [2]uint64{m.rng.Uint64() | 1, m.rng.Uint64()}
	with, calls, err := m.counted(ctx, request, names)
	if err != nil || with == nil {
		return nil, err
	}
	request.Idle = true
	without, _, err := m.counted(ctx, request, names)
	if err != nil || without == nil {
		return nil, err
	}
	for i := range with {
		with[i] = max(with[i]-without[i], 0) / float64(calls)
	}
	return with, nil
}

// counted returns what counters count during a request, nil where one of them fails, and how many calls the request has.
func (m *meter) counted(ctx context.Context, t worker.TimeRequest, names []string) (counts []float64, calls int, err error) {
	t.Around = func(pid int) (end func()) {
		read, err := m.c.problem.host.options.Counters.Begin(pid, names)
		if err != nil {
			return func() { counts = nil }
		}
		return func() {
			if counts, err = read(); err != nil {
				counts = nil
			}
		}
	}
	timed, err := m.timed(ctx, t)
	return counts, timed.Calls, err
}
