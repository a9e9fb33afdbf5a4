package schedule

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"tune/internal/plain"
	"tune/kernels"
	"tune/kernels/native/timing"
	"tune/results"
	"tune/space"
)

// DefaultSlack is how much slower, as a share, something measured may be before a guard says so. Exact costs have none.
const DefaultSlack = 0.02

// GuardErrorRate is the probability with which a guard errs of what it has measured, in each direction.
const GuardErrorRate = 0.01

// GuardOptions say how Guard works.
type GuardOptions struct {
	// Slack is how much slower is allowed, as a share; nil means DefaultSlack, and 0 where costs are exact.
	Slack *float64
	// Limit is roughly how long the measurement takes at most; 0 means a minute. It ends as soon as it is sure.
	Limit time.Duration
	// Wait and Waiting are as in MeasureOptions.
	Wait    time.Duration
	Waiting func(why string, left time.Duration)
	// Of is how many are guarded together: the probability of an error is shared among them. 0 means 1.
	Of int
	// Seeds draw the inputs of the checks, and the order of the measurements. There must be one.
	Seeds []uint64
	// Observe is called before each check and each pair; it may be nil.
	Observe func(GuardProgress)
}

// GuardProgress says how far a guard is.
type GuardProgress struct {
	Phase  GuardPhase
	At, Of int           // the check or the pair that begins, from 1; Of is 0 for pairs, which end when they prove something
	Ratio  timing.Ratio  // of the pairs so far
	Bar    float64       // which the ratio is compared with
	Left   time.Duration // that the pairs may take yet; 0 for checks, whose time nothing limits
}

// GuardPhase is a part of a guard.
type GuardPhase string

// The phases of a guard.
const (
	CheckingBase    GuardPhase = "check-base"    // what the other is compared with
	CheckingGuarded GuardPhase = "check-guarded" // what is guarded
	Guarding        GuardPhase = "guard"
)

// String describes the progress in words.
func (p GuardProgress) String() string {
	switch {
	case p.Phase == CheckingBase:
		return fmt.Sprintf("checking what it is compared with, input %d of %d", p.At, p.Of)
	case p.Phase == CheckingGuarded:
		return fmt.Sprintf("checking it, input %d of %d", p.At, p.Of)
	case p.Ratio.Low == 0:
		return fmt.Sprintf("measuring in turns, pair %d", p.At)
	}
	return fmt.Sprintf("measuring in turns, pair %d: the ratio is %.3f to %.3f, and has to be %.3f", p.At, p.Ratio.Low, p.Ratio.High, p.Bar)
}

// GuardStanding says what became of what is guarded.
type GuardStanding string

// The standings.
const (
	Holds      GuardStanding = "holds"
	Slowed     GuardStanding = "slower"      // proven, by more than the slack
	CannotTell GuardStanding = "cannot tell" // in the time given
	Broken     GuardStanding = "broken"      // it cannot be built, or is wrong: Guarded.Err
)

// Guarded is what a guard found.
type Guarded struct {
	Name                string // of the file that is guarded, or what its library calls it
	Against             string // what it is compared with: another file, or a baseline
	Kernel, Shape, Unit string
	Exact               bool
	Standing            GuardStanding
	Err                 error // why it is Broken, or why CannotTell where nothing was measured; else nil
	Checked             string
	Weak                []space.WeakOutput // of this check
	Slack               float64
	// Itself says that what is guarded is the baseline, so that nothing but its answers can change.
	Itself bool
	// Recorded is the ratio to the baseline in the schedule, RecordedLow and RecordedHigh its interval; 0 where there is none. With exact
	// costs RecordedCost is what is compared.
	Recorded, RecordedLow, RecordedHigh float64
	RecordedCost                        float64
	// Unproven is the ratio to the baseline in the schedule where it has no interval, so that it is not guarded; 0 where there is an interval, or
	// no ratio, and where costs are exact.
	Unproven float64
	// Promise is the ratio that is guarded: the low end of the recorded interval, and at least 1. Bar is what the slack leaves of it.
	Promise, Bar float64
	// Ratio is the cost of what it is compared with over its own, as measured now, with an interval that is wrong with a probability of
	// Error at each end. Low and High are 0 where there is none.
	Ratio, Low, High, Error float64
	Cost, Baseline          float64 // measured now; 0 where nothing was
	Pairs                   int
	Seconds                 float64 // that the measurement took
	// NeedsPairs and NeedsSeconds are what it would take about to tell; 0 where it is sure, or no time would do.
	NeedsPairs   int
	NeedsSeconds float64
	// Compiler is the one that the program was built with then, and CompilerNow the one of today; "" where they are unknown.
	Compiler, CompilerNow string
	// Processor is the one on which Recorded was measured, and ProcessorNow that of this machine; "" where they are unknown, or nothing is
	// recorded.
	Processor, ProcessorNow string
	Busy                    bool // whether the machine was not as quiet as a final measurement needs
	Machine                 kernels.MachineState
}

// SlowerBy returns by which share the cost is above what was promised, as measured, and at least; negative where it is below. It is 0 where a
// recorded cost of 0 has no shares.
func (g *Guarded) SlowerBy() (by, least float64) {
	switch {
	case g.Exact && g.RecordedCost != 0:
		by = (g.Cost - g.RecordedCost) / math.Abs(g.RecordedCost)
		return by, by
	case g.Ratio == 0:
		return 0, 0
	}
	by = g.Promise/g.Ratio - 1
	if g.High > 0 {
		least = g.Promise/g.High - 1
	}
	return by, least
}

// Guard builds the point of a schedule with the compiler and the sources of today, checks it, and finds out whether it still is as much
// faster than its baseline as the schedule says, or, where against is not nil, as fast as that schedule. Both are measured in turns, in
// new processes, until a sequential test is sure; see [timing.Sequential]. Exact costs are compared as they are. What cannot be built or
// is wrong is Broken; an error means that the guard could not be held.
func Guard(ctx context.Context, s Side, against *Side, o GuardOptions) (*Guarded, error) {
	f := s.Schedule
	x := &guarding{options: o, g: &Guarded{
		Name: s.Name, Against: kernels.BaselineName(f.Baseline.Preset), Kernel: f.Kernel, Shape: f.Shape, Unit: f.Unit, Promise: 1, RecordedCost: f.Cost, Compiler: s.Compiler,
	}}
	base := Side{Name: s.Name, Table: s.Table, Schedule: f}
	if against != nil {
		base, x.g.Against, x.g.RecordedCost = *against, against.Name, 0
	} else if f.Ratio > 0 && f.RatioInterval != nil && f.Key != f.Baseline.Key {
		x.g.Recorded, x.g.RecordedLow, x.g.RecordedHigh = f.Ratio, f.RatioInterval[0], f.RatioInterval[1]
		x.g.Promise = max(1, f.RatioInterval[0])
		x.g.Processor, x.g.ProcessorNow = f.Machine.CPU, results.ThisMachine().CPU
	} else if f.Key != f.Baseline.Key {
		x.g.Unproven = f.Ratio
	}
	c, err := compared(base, s, CompareOptions{})
	if err != nil {
		return nil, err
	}
	x.comparing = comparing{Comparison: c, options: CompareOptions{Seeds: o.Seeds, Observe: x.checking}}
	err = x.hold(ctx, base, s, against == nil)
	if side, ok := errors.AsType[*SideError](err); ok && side.Which == guardedSide {
		x.g.Standing, x.g.Err, err = Broken, side, nil
	}
	if err != nil {
		return nil, err
	}
	return x.g, nil
}

// Unguarded is what becomes of a schedule that could not be guarded, beside others that were.
func Unguarded(name string, err error) *Guarded {
	return &Guarded{Name: name, Standing: Broken, Err: &SideError{guardedSide, name, false, err}}
}

// The sides of a guard, as its errors call them.
const (
	BaseSide    = "what it is compared with"
	guardedSide = "what is guarded"
)

// guarding is a guard in progress. Its first entrant is what the second, which is guarded, is compared with.
type guarding struct {
	comparing
	options GuardOptions
	g       *Guarded
}

// checking tells what the comparison does.
func (x *guarding) checking(p CompareProgress) {
	phase := CheckingGuarded
	if p.Phase == CheckingA {
		phase = CheckingBase
	}
	x.tell(GuardProgress{Phase: phase, At: p.At, Of: p.Of})
}

func (x *guarding) tell(p GuardProgress) {
	if x.options.Observe != nil {
		x.options.Observe(p)
	}
}

// hold opens, checks and compares both sides. own says that the base is the baseline of the schedule itself.
func (x *guarding) hold(ctx context.Context, base, s Side, own bool) error {
	b, e := &comparedEntrant{side: &x.A, which: BaseSide, phase: CheckingA}, &comparedEntrant{side: &x.B, which: guardedSide, phase: CheckingB}
	x.entrants = [2]*comparedEntrant{b, e}
	if err := x.openSide(e, s.Table); err != nil {
		return err
	}
	if own {
		b.k = e.k
		var err error
		if b.point, err = e.k.Problem.Space().Parse(s.Schedule.Baseline.Key); err != nil {
			return fmt.Errorf("%s: field baseline.key: %w", s.Name, err)
		}
	} else if err := x.openSide(b, base.Table); err != nil {
		return err
	}
	if err := sameCosts(b.k, e.k); err != nil {
		return err
	}
	if x.Exact, x.g.Exact = e.k.Info.Exact, e.k.Info.Exact; x.Exact {
		x.g.Unproven = 0
	}
	x.g.Slack = x.slack()
	x.g.Bar = x.g.Promise / (1 + x.g.Slack)
	if err := x.check(ctx, e); err != nil {
		return err
	}
	x.g.Checked, x.g.Weak, x.g.CompilerNow = e.side.Checked, e.side.Weak, compilerOfBuilt(e.built)
	switch {
	case x.Exact:
		return x.exact(ctx, b, own)
	case own && s.Schedule.Key == s.Schedule.Baseline.Key:
		x.g.Standing, x.g.Itself = Holds, true
		return nil
	}
	if err := x.check(ctx, b); err != nil {
		return err
	}
	compare := b.k.Compare()
	if compare == nil {
		return fmt.Errorf("kernel %s has nothing to measure two points with", x.Kernel)
	}
	return x.g.Measure(ctx, compare, b.built, e.built, x.options)
}

// slack returns the slack of the options, or its default.
func (x *guarding) slack() float64 {
	switch {
	case x.options.Slack != nil:
		return *x.options.Slack
	case x.Exact:
		return 0
	}
	return DefaultSlack
}

// exact compares exact costs: with those of the schedule or, where the base is another one, with what that costs now.
func (x *guarding) exact(ctx context.Context, b *comparedEntrant, own bool) error {
	e := x.entrants[1]
	score, err := e.k.Score(ctx, e.built)
	if err != nil {
		return e.fault(ctx, kernels.AsRejection(err) != nil, err)
	}
	g := x.g
	g.Cost = score.Cost
	if g.Against = "the recorded cost"; !own {
		g.Against = b.side.Name
		if err := x.check(ctx, b); err != nil {
			return err
		}
		if score, err = b.k.Score(ctx, b.built); err != nil {
			return b.fault(ctx, kernels.AsRejection(err) != nil, err)
		}
		g.RecordedCost = score.Cost
	}
	g.Ratio = results.RatioOf(g.RecordedCost, g.Cost)
	g.Standing = Holds
	if g.Cost > g.RecordedCost+g.Slack*math.Abs(g.RecordedCost) {
		g.Standing = Slowed
	}
	return nil
}

// Measure measures what is guarded in turns with its base until it is sure on which side of Bar the ratio is, and sets what is known
// after that. On a machine that stays busy it cannot tell. A base that is at fault is an error.
func (g *Guarded) Measure(ctx context.Context, compare kernels.CompareFunc, base, guarded kernels.Candidate, o GuardOptions) error {
	if err := awaitQuiet(ctx, o.Wait, o.Waiting); err != nil {
		if _, busy := errors.AsType[*BusyError](err); busy {
			g.Standing, g.Err = CannotTell, err
			return nil
		}
		return err
	}
	g.Error = GuardErrorRate / float64(max(o.Of, 1))
	test := timing.Sequential{Error: g.Error}
	began, limit := time.Now(), cmp.Or(o.Limit, measureLimit)
	c, machine, err := inTurns(ctx, g.Kernel, compare, base, guarded, kernels.Series{
		Limit: limit, Seed: o.Seeds[0],
		Observe: func(pair, _ int) {
			if o.Observe != nil {
				left := max(limit-time.Since(began), 0)
				o.Observe(GuardProgress{Phase: Guarding, At: pair, Ratio: test.Ratio(), Bar: g.Bar, Left: left})
			}
		},
		Sure: func(a, b float64) bool {
			test.Add(a, b)
			return test.Above(g.Bar) || test.Below(g.Bar)
		},
	})
	g.Seconds = time.Since(began).Seconds()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case kernels.AsRejection(err) != nil:
		return &SideError{BaseSide, g.Against, true, err}
	case err != nil:
		return fmt.Errorf("measuring in turns with %s: %w", g.Against, err)
	case c.Err != nil:
		return &SideError{guardedSide, g.Name, true, c.Err}
	}
	g.Machine, g.Busy = machine, c.Unverified
	if within(c.Metrics) > 0 { // the interval follows from how far runs may differ, and needs no test
		g.Error, g.Ratio, g.Low, g.High, g.Pairs = 0, c.Ratio, c.Low, c.High, c.Pairs
	} else {
		r := test.Ratio()
		g.Ratio, g.Low, g.High, g.Pairs = r.Value, r.Low, r.High, r.Pairs
	}
	if g.Pairs > 0 {
		g.Cost, g.Baseline = c.Cost, c.Baseline
	}
	switch {
	case test.Above(g.Bar), g.Error == 0 && g.Low > g.Bar:
		g.Standing = Holds
	case test.Below(g.Bar), g.Error == 0 && g.High < g.Bar:
		g.Standing = Slowed
	default:
		g.Standing = CannotTell
		if g.NeedsPairs = test.Needed(g.Bar); g.NeedsPairs > 0 {
			g.NeedsSeconds = g.Seconds / float64(g.Pairs) * float64(g.NeedsPairs)
		}
	}
	return nil
}

// State returns how quiet the machine was; nil where nothing was measured.
func (g *Guarded) State() *results.MachineState {
	if g.Machine.Probes == 0 {
		return nil
	}
	state := results.MachineState(g.Machine)
	return &state
}

// Words says in a sentence what became of it.
func (g *Guarded) Words() string {
	by, least := g.SlowerBy()
	share := func(v float64) string { return fmt.Sprintf("%.1f %%", 100*v) }
	slack, than := share(g.Slack), "promised"
	if g.Recorded == 0 {
		than = g.Against
	}
	switch {
	case g.Standing == Broken:
		side, _ := errors.AsType[*SideError](g.Err)
		if side != nil && !side.Wrong {
			return fmt.Sprintf("broken: it cannot be built here: %v", side.Err)
		}
		return fmt.Sprintf("broken: it is wrong: %v", kernels.AsRejection(g.Err))
	case g.Itself:
		return "holds: it is the baseline itself, and right"
	case g.Exact && g.RecordedCost == 0 && g.Cost != 0: // no share of 0 says how much that is
		unit := space.Unit(g.Unit)
		return fmt.Sprintf("%s: it costs %s instead of %s", g.Standing, unit.Words(g.Cost), unit.Words(0))
	case g.Standing == Slowed && g.Exact:
		return fmt.Sprintf("slower: it costs %s more, and %s are allowed", share(by), slack)
	case g.Standing == Slowed:
		return fmt.Sprintf("slower: it costs %s more than %s, at least %s, and %s are allowed", share(by), than, share(least), slack)
	case g.Standing == Holds && g.Exact && g.Cost == g.RecordedCost:
		return "holds: the cost is the same"
	case g.Standing == Holds && g.Exact:
		return fmt.Sprintf("holds: the cost differs by %+.1f %%, and %s more are allowed", 100*by, slack)
	case g.Standing == Holds:
		return fmt.Sprintf("holds: it costs at most %s more than %s", share(max(0, g.Promise/g.Low-1)), than)
	case g.Err != nil:
		return fmt.Sprintf("cannot tell: %v", g.Err)
	case g.NeedsPairs > 0:
		return fmt.Sprintf("cannot tell after %s: it would take about %d, so %v", plain.Count(g.Pairs, "pair"), g.NeedsPairs, space.Duration(g.NeedsSeconds).Round(time.Second))
	case g.Pairs == 0:
		return "cannot tell: no pair of measurements was usable"
	}
	return fmt.Sprintf("cannot tell after %s: the ratio is so near to %.3f that more time would not do; allow more or less slack", plain.Count(g.Pairs, "pair"), g.Bar)
}
