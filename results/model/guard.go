package model

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"tune/kernels"
	"tune/results"
	"tune/results/schedule"
)

// GuardOptions say how the library of a model is guarded.
type GuardOptions struct {
	Dir  string
	Find func(name string) (kernels.Kernel, error)
	// Guard says how each kernel is measured. Its Of is multiplied by how many kernels there are.
	Guard schedule.GuardOptions
	// Observe is called with the name of what is guarded next; it may be nil.
	Observe func(name string)
}

// Guard generates each kernel of a library with the generator of today, builds it with the compiler of today, checks it, and measures it in
// turns with the plain form, from which its recorded ratio is. The ratio must hold; without an interval of it, the kernel must be as fast as the
// plain form. Of a kernel that is the plain form, only the results are checked.
func Guard(ctx context.Context, o GuardOptions) ([]*schedule.Guarded, error) {
	m, report, err := reopen(o.Dir, o.Find)
	if err != nil {
		return nil, err
	}
	o.Guard.Of = max(o.Guard.Of, 1) * len(m.tasks)
	var out []*schedule.Guarded
	for _, t := range m.tasks {
		g := t.asked(o.Dir, report.Machine.CPU, o.Guard.Slack)
		if o.Observe != nil {
			o.Observe(g.Name)
		}
		if err := m.hold(ctx, t, g, o.Guard); err != nil {
			return nil, err
		}
		out = append(out, g)
	}
	return out, nil
}

// asked is what a kernel is held to, before it is measured. cpu is the processor on which the library was made.
func (t *task) asked(dir, cpu string, slack *float64) *schedule.Guarded {
	g := &schedule.Guarded{
		Name: dir + ": " + t.Name, Against: "the plain form", Kernel: t.Kernel, Shape: t.Shape, Unit: t.search.Kernel.Info().Unit,
		Promise: max(1, t.row.Low), Slack: schedule.DefaultSlack,
	}
	if r := t.row; r.Low > 0 {
		g.Recorded, g.RecordedLow, g.RecordedHigh = r.Ratio, r.Low, r.High
		g.Processor, g.ProcessorNow = cpu, results.ThisMachine().CPU
	}
	if slack != nil {
		g.Slack = *slack
	}
	g.Bar = g.Promise / (1 + g.Slack)
	return g
}

// hold builds and checks a kernel and the plain form, and measures them. What is wrong with the kernel is its standing, and what is wrong with
// the plain form an error.
func (m *maker) hold(ctx context.Context, t *task, g *schedule.Guarded, o schedule.GuardOptions) error {
	k, err := t.open()
	if err != nil {
		return err
	}
	plain := k.Problem.Presets()[0].Point
	point, err := k.Problem.Space().Parse(t.row.Point)
	if err != nil {
		return fmt.Errorf("%s: field point of %s: %w: remove its line, and the command that began the library measures it again", filepath.Join(m.Dir, tuningDir, measuredName), t.Name, err)
	}
	guarded, err := k.Build(ctx, point, o.Seeds)
	if err != nil {
		return broken(g, err)
	}
	g.Checked = k.Problem.Traits().Checking.Words(len(o.Seeds))
	if point.Key() == plain.Key() {
		g.Standing, g.Itself = schedule.Holds, true
		return nil
	}
	base, err := k.Build(ctx, plain, o.Seeds[:1])
	if err != nil {
		return fmt.Errorf("%s: %s: %w", t.Name, g.Against, err)
	}
	return broken(g, g.Measure(ctx, k.Compare(), base, guarded, o))
}

// broken makes a fault of what is guarded its standing, and passes on other errors.
func broken(g *schedule.Guarded, err error) error {
	side, sided := errors.AsType[*schedule.SideError](err)
	if kernels.AsRejection(err) == nil || sided && side.Which == schedule.BaseSide {
		return err
	}
	g.Standing, g.Err = schedule.Broken, err
	return nil
}
