package schedule

import (
	"cmp"
	"context"
	"fmt"

	"tune/kernels"
	"tune/results"
	"tune/space"
)

// comparing is a comparison in progress, of candidates that are built here.
type comparing struct {
	*Comparison
	options  CompareOptions
	entrants [2]*comparedEntrant // A, B
}

// comparedEntrant is one side, built here.
type comparedEntrant struct {
	side  *Compared
	which string
	phase ComparePhase
	k     *kernels.Opened
	point space.Point
	built kernels.Candidate
}

// fault returns what is wrong with a side. The end of a context is no side's.
func (e *comparedEntrant) fault(ctx context.Context, wrong bool, err error) error {
	if err == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	return &SideError{e.which, e.side.Name, wrong, err}
}

// open opens the kernel of each side, which may be another version of it, and reads the points.
func (x *comparing) open(a, b Side) error {
	x.entrants = [2]*comparedEntrant{{side: &x.A, which: "A", phase: CheckingA}, {side: &x.B, which: "B", phase: CheckingB}}
	for i, table := range []kernels.Table{a.Table, b.Table} {
		e := x.entrants[i]
		if err := x.openSide(e, table); err != nil {
			return err
		}
	}
	ka, kb := x.entrants[0].k, x.entrants[1].k
	if err := sameCosts(ka, kb); err != nil {
		return err
	}
	x.Exact, x.Shape, x.Unit = ka.Info.Exact, ka.Shape.String(), ka.Info.Unit
	var err error
	x.Parameters, err = parameters(x.Comparison, ka.Problem.Space(), kb.Problem.Space())
	return err
}

// openSide opens the kernel of one side and reads its point.
func (x *comparing) openSide(e *comparedEntrant, table kernels.Table) error {
	s := e.side.Schedule
	var err error
	e.k, err = open(table, s.Kernel, cmp.Or(x.options.Shape, s.Shape), nil)
	switch {
	case err != nil && x.options.Shape != "":
		return &BadShapeError{err}
	case err == nil:
		e.point, err = pointOf(e.k, s)
	}
	if err != nil {
		return &SideError{e.which, e.side.Name, false, err}
	}
	e.k.Checking = func(check, of int) { x.observe(e.phase, check, of) }
	return nil
}

// pointOf returns the point of a schedule.
func pointOf(k *kernels.Opened, s results.Schedule) (space.Point, error) {
	point, err := k.Problem.Space().UnmarshalPoint(s.Point)
	if err != nil {
		return point, fmt.Errorf("field point: %w", err)
	}
	if point.Key() != s.Key {
		return point, fmt.Errorf("field point is %q, and field key says %q", point.Key(), s.Key)
	}
	return point, nil
}

// sameCosts returns an error where the costs of two kernels are not of one kind.
func sameCosts(a, b *kernels.Opened) error {
	kind := map[bool]string{true: "exact costs", false: "measured costs"}
	if a.Info.Exact != b.Info.Exact {
		return &MismatchError{"metric", kind[a.Info.Exact], kind[b.Info.Exact]}
	}
	if a.Info.Unit != b.Info.Unit {
		return &MismatchError{"unit", a.Info.Unit, b.Info.Unit}
	}
	from, to := a.Problem.Traits().Origin, b.Problem.Traits().Origin
	if from != nil && to != nil && from.Kernel != to.Kernel {
		return &MismatchError{"measured kernel", from.Kernel, to.Kernel}
	}
	return nil
}

func (x *comparing) observe(phase ComparePhase, at, of int) {
	if x.options.Observe != nil {
		x.options.Observe(CompareProgress{phase, at, of})
	}
}

// check builds a side and compares it with the reference.
func (x *comparing) check(ctx context.Context, e *comparedEntrant) error {
	var err error
	if e.built, err = e.k.Build(ctx, e.point, nil); err != nil {
		return e.fault(ctx, false, err)
	}
	seeds, checking := x.options.Seeds, e.k.Problem.Traits().Checking
	e.side.Checked = checking.Words(len(seeds))
	if len(checking.Claimed(seeds)) < len(seeds) {
		seeds = seeds[:1] // it has to run, whatever that proves
	}
	if err = e.k.Check(ctx, e.built, seeds); err != nil {
		return e.fault(ctx, kernels.AsRejection(err) != nil, err)
	}
	e.side.Weak, err = weakOutputs(ctx, e.k, seeds)
	return e.fault(ctx, false, err)
}

// score compares exact costs.
func (x *comparing) score(ctx context.Context) error {
	for _, e := range x.entrants {
		score, err := e.k.Score(ctx, e.built)
		if err != nil {
			return e.fault(ctx, kernels.AsRejection(err) != nil, err)
		}
		e.side.Cost = score.Cost
	}
	x.Ratio = results.RatioOf(x.A.Cost, x.B.Cost)
	return nil
}

// measure compares costs that vary, in one confirming series of which A is the baseline.
func (x *comparing) measure(ctx context.Context) error {
	a, b := x.entrants[0], x.entrants[1]
	compare := a.k.Compare()
	if compare == nil {
		return fmt.Errorf("kernel %s has nothing to measure two points with", x.Kernel)
	}
	c, machine, err := inTurns(ctx, x.Kernel, compare, a.built, b.built, kernels.Series{
		Limit: cmp.Or(x.options.Limit, measureLimit), Seed: x.options.Seeds[0],
		Observe: func(pair, of int) { x.observe(Comparing, pair, of) },
	})
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case kernels.AsRejection(err) != nil:
		return a.fault(ctx, true, err)
	case err != nil:
		return fmt.Errorf("measuring A and B side by side: %w", err)
	case c.Err != nil:
		return b.fault(ctx, true, c.Err)
	}
	a.side.Cost, b.side.Cost = c.Baseline, c.Cost
	x.Ratio, x.Low, x.High, x.Pairs, x.Unverified, x.Machine = c.Ratio, c.Low, c.High, c.Pairs, c.Unverified, machine
	if x.Confidence = kernels.Confirmed; within(c.Metrics) > 0 || x.Low == 0 && x.High == 0 {
		x.Confidence = 0
	}
	return nil
}

// inTurns measures a candidate of a kernel in turns with a base, in a confirming series, and returns how the two compare and how quiet the
// machine was. A base at fault is the error; a candidate at fault is in the comparison.
func inTurns(ctx context.Context, kernel string, compare kernels.CompareFunc, base, other kernels.Candidate, s kernels.Series) (kernels.Comparison, kernels.MachineState, error) {
	s.Confirm = true
	final, err := compare(ctx, base, []kernels.Candidate{other}, s)
	if err == nil && len(final.Comparisons) != 1 {
		err = fmt.Errorf("kernel %s: two candidates were compared, and %d comparisons came back", kernel, len(final.Comparisons))
	}
	if err != nil {
		return kernels.Comparison{}, kernels.MachineState{}, err
	}
	return final.Comparisons[0], final.Machine, nil
}
