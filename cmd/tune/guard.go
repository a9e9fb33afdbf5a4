package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tune"
	"tune/internal/plain"
	"tune/results"
	"tune/results/library"
	modellib "tune/results/model"
	"tune/results/schedule"
	"tune/space"
)

func (a *app) guardCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "guard FILE|DIR…",
		Short: "Find out whether exported kernels have become slower beside their baselines",
		Long: `guard builds exported kernels and their baselines again, with the compiler of today, checks them on fresh inputs, and measures
each kernel in turns with its baseline. It fails where the ratio of the two is proven to have become worse than the schedule says. A
change that slows both alike is not noticed where costs are timed. FILE is a schedule (best.json), and DIR a run directory or a library
of tune library or tune model. The kernel is the copy in its run; --config builds all with the kernel in one file, which is how sources
that have changed are guarded.

What is guarded is the low end of the recorded interval of the ratio to the baseline, and at least 1. A kernel is slower if its ratio is
proven to be below that by more than --slack. Each pair runs in new processes, and the measurement ends as soon as it is sure, or after
--limit. However often it looks, at most one guard in 100 calls a kernel slower that is not, and at most one in 100 says that a slower
kernel holds. With several kernels, that is true of all of them together. Exact costs are compared with the recorded ones as they are,
and without --slack any higher cost is slower.

Each variant of a library is measured at the shape that it was tuned at: beside the baseline of its kernel, and beside the other variant
that came nearest to it there. Each kernel of the library of a model is measured beside its plain form. These ratios were recorded when the
library was made, and are guarded in the same way.

With --against OTHER, another schedule or run directory of the same kernel and shape, each is measured in turns with that instead. OTHER
is built from its own copy, whatever --config says.

Exit codes: 0 all hold; 1 one is slower, wrong, or cannot be built; 4 for one the time was too short to tell, and guard says how much would
be enough, or the machine was not quiet within --wait; 2 wrong usage; 130 interrupted.` + aboutConsent,
		Example: `  tune guard runs/gemm-f32-20260102-150405-1
  tune guard kernels/*/best.json --slack 3% --limit 30s --format md
  tune guard runs/mine --config mine.yaml --json
  tune guard new/best.json --against old/best.json
  tune guard lib`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage(errors.New("guard needs schedules, run directories or libraries: see 'tune help guard'"))
			}
			return nil
		},
	}
	var with guardFlags
	c.Flags().StringVar(&with.slack, "slack", "", "how much slower is allowed, as a `percentage` such as 5% (default 2%, and 0% where costs are exact)")
	c.Flags().StringVar(&with.limit, "limit", "1m", "roughly how long to measure a kernel at most, a `time` with a unit")
	c.Flags().StringVar(&with.wait, "wait", "0", "how long to wait for a quiet machine before each measurement, a `time` with a unit; 0 does not wait")
	c.Flags().StringVar(&with.against, "against", "", "measure beside this `schedule` or run directory, in place of the baseline")
	c.Flags().StringVarP(&with.config, "config", "c", "", "build with your own kernel in this YAML `file`, in place of the copies in the runs")
	c.Flags().StringVar(&with.format, "format", "text", "`form` of the result: text, or md for a summary that GitHub shows")
	asJSON, quiet := a.outputFlags(c)
	with.yes = addYes(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		o, err := with.options(c.Flags().Changed)
		if err != nil {
			return err
		}
		if *asJSON && with.format != "text" {
			return usage(errors.New("--json and --format exclude each other: leave one of them out"))
		}
		found, err := a.guard(c.Context(), args, with, o, *quiet)
		if err != nil {
			return adviseGuard(err)
		}
		switch {
		case *asJSON:
			err = printJSON(a.stdout, guardedJSON(found))
		case with.format == "md":
			err = writeGuardMarkdown(a.stdout, found)
		default:
			err = a.printGuarded(found)
		}
		if err != nil {
			return err
		}
		return guardEnd(found)
	}
	return c
}

// guardFlags are the flags of a guard.
type guardFlags struct {
	slack, limit, wait, against, config, format string
	yes                                         *bool
}

// options reads the flags.
func (f guardFlags) options(changed func(flag string) bool) (o schedule.GuardOptions, err error) {
	if changed("slack") {
		share, err := parsePercent(f.slack)
		if err != nil {
			return o, usage(fmt.Errorf("--slack: %w", err))
		}
		o.Slack = &share
	}
	if f.format != "text" && f.format != "md" {
		return o, usage(fmt.Errorf("--format: %s: want text or md", quoted(f.format)))
	}
	if o.Limit, err = patience("limit", f.limit, false); err != nil {
		return o, err
	}
	o.Wait, err = patience("wait", f.wait, true)
	return o, err
}

// guard guards what the arguments name, one after the other.
func (a *app) guard(ctx context.Context, args []string, with guardFlags, o schedule.GuardOptions, quiet bool) (all []*schedule.Guarded, err error) {
	if err := a.checkGuarded(args, with); err != nil {
		return nil, err
	}
	n := newNotice(a, quiet)
	defer n.end()
	name := ""
	o.Of = len(args)
	o.Waiting = n.waiting
	o.Observe = func(p schedule.GuardProgress) { n.guarding(name, p) }
	var against *tune.Side
	if with.against != "" {
		side, done, err := a.guardSide(with.against, "", *with.yes)
		if err != nil {
			return nil, fmt.Errorf("--against: %w", err)
		}
		defer done()
		against = &side
	}
	for _, arg := range args {
		o.Seeds = tune.FreshSeeds(tune.ExportChecks)
		found, err := a.guardOne(ctx, arg, against, with, o, func(of string) { name = of })
		switch {
		case err != nil && (len(args) == 1 || ctx.Err() != nil || isUsage(adviseGuard(err))):
			return nil, err
		case err != nil: // the others are guarded all the same
			found = []*schedule.Guarded{schedule.Unguarded(arg, err)}
		}
		all = append(all, found...)
	}
	return all, nil
}

// checkGuarded reports what is wrong with what a guard is asked for, before anything is measured. What else is wrong with an argument makes
// that one broken.
func (a *app) checkGuarded(args []string, with guardFlags) error {
	for _, arg := range args {
		if isLibrary(arg) && (with.against != "" || with.config != "") {
			return usage(fmt.Errorf("%s is a library: --against and --config are for schedules and run directories: leave them out", arg))
		}
	}
	var against tune.Side
	if with.against != "" {
		var err error
		if against, err = readSide(with.against); err != nil {
			return fmt.Errorf("--against: %w", err)
		}
	}
	for _, arg := range args {
		if isLibrary(arg) {
			continue
		}
		side, err := readSide(arg)
		if err == nil && with.against != "" {
			if err = schedule.Comparable(against, side); err != nil {
				err = fmt.Errorf("%s and %s: %w", against.Name, side.Name, err)
			}
		}
		if err == nil && with.config != "" {
			err = a.fitsConfig(side, with)
		}
		if isUsage(adviseGuard(err)) {
			return err
		}
	}
	return nil
}

// fitsConfig reports whether --config has the kernel of a schedule.
func (a *app) fitsConfig(side tune.Side, with guardFlags) error {
	found, err := a.catalog(*with.yes).OfSchedule(side.Name, with.config, "")
	if err == nil {
		a.end(found)
	}
	return err
}

// isLibrary reports whether an argument is a library of tune library or tune model.
func isLibrary(arg string) bool { return library.IsLibrary(arg) || modellib.IsLibrary(arg) }

// isUsage reports whether an error is about what was asked for.
func isUsage(err error) bool {
	e, ok := errors.AsType[*exitError](err)
	return ok && e.code == exitUsage
}

// guardOne guards what one argument names; names is told the name of each part of it.
func (a *app) guardOne(ctx context.Context, arg string, against *tune.Side, with guardFlags, o schedule.GuardOptions, names func(string)) ([]*schedule.Guarded, error) {
	if library.IsLibrary(arg) {
		find, done := a.libraryKernels(*with.yes)
		defer done()
		return library.Guard(ctx, library.GuardOptions{Dir: arg, Kernels: find, Guard: o, Observe: names})
	}
	if modellib.IsLibrary(arg) {
		return modellib.Guard(ctx, modellib.GuardOptions{Dir: arg, Find: a.catalog(false).Lookup, Guard: o, Observe: names})
	}
	side, done, err := a.guardSide(arg, with.config, *with.yes)
	if err != nil {
		return nil, err
	}
	defer done()
	names(side.Name)
	g, err := schedule.Guard(ctx, side, against, o)
	if err != nil {
		return nil, err
	}
	return []*schedule.Guarded{g}, nil
}

// readSide reads the schedule that an argument names.
func readSide(arg string) (tune.Side, error) {
	path, err := schedulePath(arg)
	if err != nil {
		return tune.Side{}, err
	}
	return tune.ReadSide(path)
}

// guardSide reads a schedule and finds its kernel, which done closes.
func (a *app) guardSide(arg, config string, yes bool) (side tune.Side, done func(), err error) {
	if side, err = readSide(arg); err != nil {
		return side, nil, err
	}
	found, err := a.catalog(yes).OfSchedule(side.Name, config, "")
	if err != nil {
		return side, nil, adviseProgram(err, "schedule.Guard of tune/results/schedule")
	}
	side.Table = found.Table
	return side, func() { a.end(found) }, nil
}

// adviseGuard says what to do about an error of a guard.
func adviseGuard(err error) error {
	if _, different := errors.AsType[*tune.MismatchError](err); different {
		return usage(err)
	}
	return givenError(err)
}

// guardEnd turns what was found into an exit code.
func guardEnd(all []*schedule.Guarded) error {
	fails, unknown := 0, 0
	for _, g := range all {
		switch g.Standing {
		case schedule.Slowed, schedule.Broken:
			fails++
		case schedule.CannotTell:
			unknown++
		}
	}
	switch {
	case fails > 0:
		return &exitError{exitFailed, fmt.Errorf("%s of %d: slower than --slack allows, or broken", plain.Count(fails, "measurement"), len(all))}
	case unknown > 0:
		return &exitError{exitUnsure, fmt.Errorf("%s of %d cannot be told in the time given: a longer --limit or --wait, more --slack or a quiet machine helps", plain.Count(unknown, "measurement"), len(all))}
	}
	return nil
}

// guardRatio writes the ratio of a guard with its interval.
func guardRatio(ratio, low, high float64) string {
	switch {
	case ratio == 0:
		return "unknown"
	case low == 0 && high == 0:
		return timesOf(ratio)
	case low == 0:
		return fmt.Sprintf("%s, at most %.3f", timesOf(ratio), high)
	case high == 0:
		return fmt.Sprintf("%s, at least %.3f", timesOf(ratio), low)
	}
	return fmt.Sprintf("%s, %.3f to %.3f", timesOf(ratio), low, high)
}

// printGuarded shows what became of all.
func (a *app) printGuarded(all []*schedule.Guarded) error {
	w := a.stdout
	for i, g := range all {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "guarded   %s\n", g.Name)
		if g.Kernel != "" {
			fmt.Fprintf(w, "kernel    %s\nagainst   %s\n", plain.Line(strings.TrimSpace(g.Kernel+" "+g.Shape)), plain.Line(g.Against))
		}
		if g.Checked != "" {
			fmt.Fprintf(w, "checked   %s\n", g.Checked)
			printWeak(w, underChecked, g.Weak)
		}
		if g.CompilerNow != "" {
			fmt.Fprintf(w, "compiler  %s%s\n", plain.Line(g.CompilerNow), compilerThen(g))
		}
		printGuardedCosts(w, g)
		if g.Busy {
			fmt.Fprintln(w, "note      the machine was busy: where its load slows one side more than the other, the ratio is not that of a quiet one")
		}
		fmt.Fprintf(w, "verdict   %s\n", plain.Line(g.Words()))
	}
	return nil
}

// printGuardedCosts shows the costs and ratios of what is guarded.
func printGuardedCosts(w io.Writer, g *schedule.Guarded) {
	unit := space.Unit(g.Unit)
	switch {
	case g.Standing == schedule.Broken || g.Itself || g.Kernel == "":
	case g.Exact:
		fmt.Fprintf(w, "cost      %s; before %s\n", unit.Words(g.Cost), unit.Words(g.RecordedCost))
	default:
		if g.Recorded > 0 {
			fmt.Fprintf(w, "recorded  %s%s\n", guardRatio(g.Recorded, g.RecordedLow, g.RecordedHigh), elsewhere(g))
		}
		if why := unproven(g); why != "" {
			fmt.Fprintf(w, "recorded  %s\n", why)
		}
		fmt.Fprintf(w, "now       %s, in %s and %v\n", guardRatio(g.Ratio, g.Low, g.High), plain.Count(g.Pairs, "pair"), space.Duration(g.Seconds).Round(100*time.Millisecond))
		fmt.Fprintf(w, "wanted    %.3f, which is %.3f with costs %s higher\n", g.Bar, g.Promise, percent(g.Slack))
		if g.Cost > 0 {
			fmt.Fprintf(w, "cost      %s beside %s\n", unit.Words(g.Cost), unit.Words(g.Baseline))
		}
	}
}

// compilerThen says which compiler a program was built with, where that is another one.
func compilerThen(g *schedule.Guarded) string {
	if g.Compiler == "" || g.Compiler == g.CompilerNow {
		return ""
	}
	return "; before " + plain.Line(g.Compiler)
}

// elsewhere says on which processor the ratio was recorded, where that is another one: the ratio may well be another on this one.
func elsewhere(g *schedule.Guarded) string {
	if g.Recorded == 0 || g.Processor == "" || g.Processor == g.ProcessorNow {
		return ""
	}
	return fmt.Sprintf(" on another processor, %s; this one is %s", plain.Line(g.Processor), plain.Line(g.ProcessorNow))
}

// unproven says why a ratio of the schedule is not guarded.
func unproven(g *schedule.Guarded) string {
	if g.Unproven == 0 {
		return ""
	}
	return timesOf(g.Unproven) + " in too few pairs for an interval, so that only the cost of the baseline is guarded; 'tune measure' measures it again"
}

func recordedElsewhere(g *schedule.Guarded) string {
	if where := elsewhere(g); where != "" {
		return "; recorded" + where
	}
	return ""
}

func recordedUnproven(g *schedule.Guarded) string {
	if why := unproven(g); why != "" {
		return "; recorded " + why
	}
	return ""
}

// writeGuardMarkdown writes a summary for GitHub.
func writeGuardMarkdown(w io.Writer, all []*schedule.Guarded) error {
	marks := map[schedule.GuardStanding]string{schedule.Holds: "✅", schedule.Slowed: "❌", schedule.Broken: "❌", schedule.CannotTell: "❔"}
	counts := map[schedule.GuardStanding]int{}
	for _, g := range all {
		counts[g.Standing]++
	}
	var b strings.Builder
	fmt.Fprintf(&b, "### tune guard: %d of %d hold\n\n", counts[schedule.Holds], len(all))
	b.WriteString("| | guarded | kernel | against | recorded | now | wanted | pairs | s |\n| --- | --- | --- | --- | --- | --- | --- | ---: | ---: |\n")
	for _, g := range all {
		recorded, now, wanted := "", "", ""
		switch unit := space.Unit(g.Unit); {
		case g.Standing == schedule.Broken || g.Itself || g.Kernel == "":
		case g.Exact:
			recorded, now, wanted = unit.Words(g.RecordedCost), unit.Words(g.Cost), "at most "+percent(g.Slack)+" more"
		default:
			if g.Recorded > 0 {
				recorded = guardRatio(g.Recorded, g.RecordedLow, g.RecordedHigh)
			}
			now, wanted = guardRatio(g.Ratio, g.Low, g.High), fmt.Sprintf("≥ %.3f", g.Bar)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %d | %.1f |\n", marks[g.Standing], cell(g.Name), cell(strings.TrimSpace(g.Kernel+" "+g.Shape)),
			cell(g.Against), cell(recorded), cell(now), wanted, g.Pairs, g.Seconds)
	}
	b.WriteString("\n")
	for _, g := range all {
		fmt.Fprintf(&b, "- %s %s: %s%s\n", marks[g.Standing], cell(g.Name), cell(g.Words()), cell(compilerThen(g)+recordedElsewhere(g)+recordedUnproven(g)))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// cell writes a text of others as a cell of a table in Markdown, in which nothing of it is markup.
func cell(text string) string {
	var b strings.Builder
	for _, r := range plain.Line(text) {
		if strings.ContainsRune("\\`*_{}[]<>()#+!|~&@", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// guardedJSON is what guard prints as JSON. Ratios are costs of what it is compared with over its own, so that above 1 it is faster.
func guardedJSON(all []*schedule.Guarded) any {
	type one struct {
		Name             string                 `json:"name"`
		Against          string                 `json:"against"`
		Kernel           string                 `json:"kernel"`
		Shape            string                 `json:"shape"`
		Unit             string                 `json:"unit"`
		Exact            bool                   `json:"exact"`
		Standing         schedule.GuardStanding `json:"standing"`
		Words            string                 `json:"words"`
		Checked          string                 `json:"checked,omitempty"`
		Weak             []space.WeakOutput     `json:"weak_checks,omitempty"`
		Slack            float64                `json:"slack"`
		Recorded         float64                `json:"recorded_ratio,omitempty"`
		RecordedInterval *[2]float64            `json:"recorded_interval,omitempty"`
		RecordedCost     float64                `json:"recorded_cost,omitempty"`
		Unproven         float64                `json:"unproven_ratio,omitempty"` // a recorded ratio without an interval, which is not guarded
		Promise          float64                `json:"promised_ratio,omitempty"` // the low end of the recorded interval, or 1
		Bar              float64                `json:"wanted_ratio,omitempty"`   // less the slack
		Ratio            float64                `json:"ratio,omitempty"`
		Low              float64                `json:"ratio_at_least,omitempty"` // left out where nothing is proven
		High             float64                `json:"ratio_at_most,omitempty"`
		Error            float64                `json:"error,omitempty"` // how likely each of the two is wrong
		Cost             float64                `json:"cost,omitempty"`
		Baseline         float64                `json:"cost_against,omitempty"`
		Pairs            int                    `json:"pairs"`
		Seconds          float64                `json:"seconds"`
		NeedsPairs       int                    `json:"needs_pairs,omitempty"`
		NeedsSeconds     float64                `json:"needs_seconds,omitempty"`
		Compiler         string                 `json:"compiler_then,omitempty"`
		CompilerNow      string                 `json:"compiler,omitempty"`
		Processor        string                 `json:"processor_then,omitempty"`
		ProcessorNow     string                 `json:"processor,omitempty"`
		Busy             bool                   `json:"busy,omitempty"`
		State            *results.MachineState  `json:"machine_state,omitempty"`
	}
	out := struct {
		Holds   bool  `json:"holds"`
		Guarded []one `json:"guarded"`
	}{true, []one{}}
	for _, g := range all {
		out.Holds = out.Holds && g.Standing == schedule.Holds
		v := one{
			Name: g.Name, Against: g.Against, Kernel: g.Kernel, Shape: g.Shape, Unit: g.Unit, Exact: g.Exact, Standing: g.Standing, Words: g.Words(), Checked: g.Checked, Weak: g.Weak,
			Slack: g.Slack, Recorded: g.Recorded, RecordedCost: g.RecordedCost, Unproven: g.Unproven, Ratio: g.Ratio, Low: g.Low, High: g.High, Error: g.Error, Cost: g.Cost,
			Baseline: g.Baseline, Pairs: g.Pairs, Seconds: g.Seconds, NeedsPairs: g.NeedsPairs, NeedsSeconds: g.NeedsSeconds, Compiler: g.Compiler,
			CompilerNow: g.CompilerNow, Processor: g.Processor, ProcessorNow: g.ProcessorNow, Busy: g.Busy, State: g.State(),
		}
		if g.Recorded > 0 {
			v.RecordedInterval = &[2]float64{g.RecordedLow, g.RecordedHigh}
		}
		if !g.Exact && !g.Itself {
			v.Promise, v.Bar = g.Promise, g.Bar
		}
		out.Guarded = append(out.Guarded, v)
	}
	return out
}

// guarding shows how far a guard is.
func (n *notice) guarding(name string, p schedule.GuardProgress) {
	e := event{Event: eventProgress, Phase: string(p.Phase), Of: p.Of, Text: name}
	if n.brief = p.Phase != schedule.Guarding; n.brief { // checks are short as a rule
		e.Check = p.At
	} else {
		e.Pair = p.At
	}
	what, ratio, found := strings.Cut(p.String(), ": ")
	if found {
		ratio = ": " + ratio
	}
	l := append(line{{name, cut + 6}, {": ", 6}}, progressLine(what)...)
	l = append(l, part{ratio, 5})
	if left, ok := n.pace.left(time.Now(), name+e.Phase, p.At-1, p.Of); ok {
		l, e.Left = l.left("about", left), seconds(left)
	} else if p.Left > 0 {
		l, e.Left = l.left("up to", p.Left), seconds(p.Left)
	}
	n.say(name+e.Phase, l, e)
}
