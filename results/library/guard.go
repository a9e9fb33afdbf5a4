package library

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"tune/kernels"
	"tune/kernels/native"
	"tune/results"
	"tune/results/schedule"
)

// GuardOptions say how a library is guarded.
type GuardOptions struct {
	Dir string
	Kernels
	// Guard says how each of its measurements is made. Its Of is replaced by how many there are.
	Guard schedule.GuardOptions
	// Observe is called with the name of what is guarded next; it may be nil.
	Observe func(name string)
}

// Guard generates each variant of a library that its tree uses with the generator of today, builds it with the compiler of today, and
// checks it at the shape that it was tuned at. There it measures the variant in turns with the baseline of the kernel, and with the variant
// that came nearest to it when the library was made. Both ratios were recorded then, and must hold; without a recorded one, the variant
// must be as fast as the baseline.
func Guard(ctx context.Context, o GuardOptions) ([]*schedule.Guarded, error) {
	_, report, all, err := reopen(ctx, o.Dir, o.Kernels)
	if err != nil {
		return nil, err
	}
	var bouts []bout
	for _, s := range all {
		for _, v := range s.used {
			bouts = append(bouts, s.bouts(v)...)
		}
	}
	o.Guard.Of = max(o.Guard.Of, 1) * len(bouts)
	var out []*schedule.Guarded
	for _, b := range bouts {
		g := b.asked(o.Dir, report.Machine.CPU, o.Guard.Slack)
		if o.Observe != nil {
			o.Observe(g.Name)
		}
		if err := b.hold(ctx, g, o.Guard); err != nil {
			return nil, err
		}
		out = append(out, g)
	}
	return out, nil
}

// bout is a measurement of a variant beside something else.
type bout struct {
	*settled
	variant variant
	// rival is the variant that it is measured beside; nil for the baseline of the kernel. The recorded cost of that over the one of variant is
	// ratio, with its interval; all are 0 where nothing is recorded.
	rival            *variant
	ratio, low, high float64
}

// asked is what a measurement is held to, before it is made. cpu is the processor on which the library was made.
func (b *bout) asked(dir, cpu string, slack *float64) *schedule.Guarded {
	g := &schedule.Guarded{
		Name: dir + ": " + b.variant.Name, Against: b.against(), Kernel: b.Kernel, Shape: b.Called(b.variant.Tuned), Unit: b.kernel.Info().Unit,
		Recorded: b.ratio, RecordedLow: b.low, RecordedHigh: b.high, Promise: b.low, Slack: schedule.DefaultSlack,
	}
	if b.rival == nil {
		g.Promise = max(1, b.low)
	}
	if b.ratio > 0 {
		g.Processor, g.ProcessorNow = cpu, results.ThisMachine().CPU
	}
	if slack != nil {
		g.Slack = *slack
	}
	g.Bar = g.Promise / (1 + g.Slack)
	return g
}

// bouts returns what is measured of a variant.
func (s *settled) bouts(v int) []bout {
	beside := bout{settled: s, variant: s.variants[v]}
	if r := s.ratioOf(s.variants[v]); r != nil && r.Low > 0 && !r.Unverified {
		beside.ratio, beside.low, beside.high = r.Ratio, r.Low, r.High
	}
	out := []bout{beside}
	m := s.at(training, s.variants[v].Tuned)
	if m == nil || m.Unverified {
		return out
	}
	if b := (bout{settled: s, variant: s.variants[v]}); b.nearest(m) {
		out = append(out, b)
	}
	return out
}

// nearest finds the rival of a variant in a measurement, and reports whether there is one with an interval. All ratios of a measurement
// are of its first variant: for that, the rival is the best of the others, and for another it is the first.
func (b *bout) nearest(m *measurement) bool {
	i := slices.IndexFunc(m.Costs, func(c measured) bool { return c.Variant == b.variant.Name })
	if i < 0 || len(m.Costs) < 2 {
		return false
	}
	rival := m.Costs[0]
	if b.ratio, b.low, b.high = m.Costs[i].Ratio, m.Costs[i].Low, m.Costs[i].High; i == 0 {
		rival = slices.MaxFunc(m.Costs[1:], func(x, y measured) int { return cmp.Compare(x.Ratio, y.Ratio) })
		if rival.Low <= 0 {
			return false
		}
		b.ratio, b.low, b.high = 1/rival.Ratio, 1/rival.High, 1/rival.Low
	}
	v := slices.IndexFunc(b.variants, func(v variant) bool { return v.Name == rival.Variant })
	if v < 0 || b.low <= 0 {
		return false
	}
	b.rival = &b.variants[v]
	return true
}

func (b *bout) against() string {
	if b.rival == nil {
		return "the baseline"
	}
	return b.rival.Name
}

// hold builds and checks both sides, and measures them. What is wrong with the variant is its standing, and what is wrong with the baseline
// an error.
func (b *bout) hold(ctx context.Context, g *schedule.Guarded, o schedule.GuardOptions) error {
	p, guarded, err := b.contender(b.variant)
	if err != nil {
		return err
	}
	if err := kernels.Verify(ctx, guarded, o.Seeds); err != nil {
		return b.fault(g, err)
	}
	base, err := b.base(ctx, p)
	if err == nil {
		err = kernels.Verify(ctx, base, o.Seeds[:1])
	}
	if err != nil {
		return b.fault(g, &schedule.SideError{Which: schedule.BaseSide, Name: g.Against, Wrong: true, Err: err})
	}
	g.Checked = p.Traits().Checking.Words(len(o.Seeds))
	if err := g.Measure(ctx, p.Traits().Compare, base, guarded, o); err != nil {
		return b.fault(g, err)
	}
	return nil
}

// base builds what the variant is measured beside.
func (b *bout) base(ctx context.Context, p *native.Problem) (kernels.Candidate, error) {
	if b.rival != nil {
		point, err := b.rival.at(p)
		return p.Wrap(b.rival.source, point), err
	}
	return p.Build(ctx, p.Presets()[0].Point)
}

// fault makes a fault of the variant its standing, and passes on other errors. Where the rival is at fault, which has a standing of its own, it
// cannot tell.
func (b *bout) fault(g *schedule.Guarded, err error) error {
	side, sided := errors.AsType[*schedule.SideError](err)
	ofBase := sided && side.Which == schedule.BaseSide
	switch {
	case kernels.AsRejection(err) == nil || ofBase && b.rival == nil:
		return err
	case ofBase:
		g.Standing, g.Err = schedule.CannotTell, err
	default:
		g.Standing, g.Err = schedule.Broken, err
	}
	return nil
}
