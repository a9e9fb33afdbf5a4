package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"tune"
	"tune/internal/plain"
	"tune/kernels"
	"tune/kernels/catalog"
	"tune/results"
	"tune/results/library"
	modellib "tune/results/model"
	"tune/space"
)

func (a *app) compareCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "compare A B",
		Short: "Compare the results of two runs of a kernel, or two libraries",
		Long: `compare shows how two schedules of one kernel differ, and which of them is faster. A and B are run directories or schedules
(best.json). It prints how the two differ: the version of the kernel, the machine, the compiler, the version of tune, and the
parameters of their points. Then it builds both here, checks both on fresh inputs, and measures them in turns, in new processes. Where
costs are exact, it compares them as they are. Each is built with the kernel of its own run; --config builds both with the kernel in
one file.

With --recorded nothing is built or run, and the numbers are those in the files. Costs from different moments cannot be compared
as they are. So if both were measured beside the same baseline, compare takes the ratios to that.

A and B may also be two libraries of tune library. They are compared at all shapes of both, with what each chooses there: what the
choices cost, and at which shapes B is slower. A shape at which B looks slower is measured again, and only the second
series counts. --limit is then the time for one shape, 5s by default.

The shapes must be the same. --shape builds both at one shape, whatever they were tuned for; --recorded shows both as they are.

With --fail-over 5% the exit code is 1 if B is proven to cost over 5 % more than A: even the end of the interval that favours B
says so. If the two could not be compared well enough to tell, the exit code is 4, as with tune guard, so that a test does not pass
only because too little was measured.

Exit codes: 0 compared; 1 B is slower than --fail-over allows, or A or B is wrong, or cannot be read or built; 2 wrong usage, or the
two are not of one kernel and shape; 4 with --fail-over, it cannot tell; 130 interrupted.` + aboutConsent,
		Example: `  tune compare runs/gemm-f32-20260102-150405-1 runs/gemm-f32-20260103-101500-1
  tune compare runs/before runs/after --fail-over 5%
  tune compare old/best.json new/best.json --recorded --json
  tune compare runs/small runs/large --shape m=512,n=512,k=512 --limit 2m`,
		Args: exactly(2, "two run directories, schedules or libraries"),
	}
	var with compareFlags
	c.Flags().BoolVar(&with.recorded, "recorded", false, "compare what the files say, and build and run nothing")
	c.Flags().StringVar(&with.failOver, "fail-over", "", "exit with 1 if B is proven to cost more than A by over this `percentage`, such as 5%, and with 4 if that cannot be told")
	c.Flags().StringVar(&with.limit, "limit", "1m", "roughly how long the measurement may take, a `time` with a unit")
	c.Flags().Var((*shapeFlag)(&with.shape), "shape", "build both at this `shape` of the kernel, name=value,…")
	c.Flags().StringVarP(&with.config, "config", "c", "", "build both with your own kernel in this YAML `file`")
	c.Flags().StringVar(&with.data, "data", "", "take the costs of both from this `file` of measurements, for schedules of the kernel 'recorded'")
	asJSON, quiet := a.outputFlags(c)
	yes := addYes(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		o, slack, err := with.options(c.Flags().Changed)
		if err != nil {
			return err
		}
		if with.recorded && *yes {
			return usage(errors.New("--yes has no effect with --recorded, because nothing is run: leave it out"))
		}
		for _, arg := range args {
			if modellib.IsLibrary(arg) {
				return ofFile(fmt.Errorf("%s is the library of a model, which compare does not take: 'tune guard %s' measures it beside its plain forms", arg, plain.ShellWord(arg)))
			}
		}
		if library.IsLibrary(args[0]) || library.IsLibrary(args[1]) {
			made := args[0]
			if !library.IsLibrary(made) {
				made = args[1]
			}
			for _, flag := range []string{"shape", "config", "data"} {
				if c.Flags().Changed(flag) {
					return usage(fmt.Errorf("--%s is for runs and schedules, and %s is a library: leave it out", flag, made))
				}
			}
			if !c.Flags().Changed("limit") {
				o.Limit = libraryShapeLimit
			}
			return a.compareLibraries(c.Context(), args, librariesCompared{recorded: with.recorded, yes: *yes, asJSON: *asJSON, quiet: *quiet, slack: slack, limit: o.Limit})
		}
		n := newNotice(a, *quiet)
		o.Observe = n.comparing
		result, err := a.compare(c.Context(), args, with, *yes, o)
		n.end()
		if err != nil {
			return adviseCompare(err)
		}
		failed := slack != nil && result.Regressed(*slack)
		if *asJSON {
			err = printJSON(a.stdout, comparisonJSON(result, slack, failed))
		} else {
			err = a.printComparison(result, slack)
		}
		if err != nil || slack == nil {
			return err
		}
		return failOver(result, *slack)
	}
	return c
}

// failOver turns a comparison into the exit code of --fail-over.
func failOver(c *tune.Comparison, slack float64) error {
	switch {
	case c.Regressed(slack):
		_, least := c.Slowdown()
		return &exitError{exitFailed, fmt.Errorf("%s costs at least %s more than %s: --fail-over allows %s", c.B.Name, percent(least), c.A.Name, percent(slack))}
	case untold(c):
		return &exitError{exitUnsure, fmt.Errorf("--fail-over: it cannot be told whether %s costs over %s more than %s: the verdict above says what helps", c.B.Name, percent(slack), c.A.Name)}
	}
	return nil
}

// untold reports whether a comparison does not tell which side is faster, nor that they are alike.
func untold(c *tune.Comparison) bool {
	return c.Verdict() == tune.Undecided || c.Verdict() == tune.NotCompared
}

// compareFlags are the flags of a comparison.
type compareFlags struct {
	recorded                             bool
	failOver, limit, shape, config, data string
}

// options reads the flags. slack is the share of --fail-over; nil without it.
func (f compareFlags) options(changed func(flag string) bool) (o tune.CompareOptions, slack *float64, err error) {
	if f.recorded {
		for _, flag := range []string{"limit", "shape", "config", "data"} {
			if changed(flag) {
				return o, nil, usage(fmt.Errorf("--%s has no effect with --recorded, because nothing is built or measured: leave one of them out", flag))
			}
		}
	}
	if changed("fail-over") {
		share, err := parsePercent(f.failOver)
		if err != nil {
			return o, nil, usage(fmt.Errorf("--fail-over: %w", err))
		}
		slack = &share
	}
	o = tune.CompareOptions{Recorded: f.recorded, Shape: f.shape, Seeds: tune.FreshSeeds(tune.ExportChecks)}
	o.Limit, err = patience("limit", f.limit, false)
	return o, slack, err
}

// parsePercent reads a share in percent, such as 5%.
func parsePercent(text string) (float64, error) {
	number, found := strings.CutSuffix(strings.TrimSpace(text), "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	switch {
	case err != nil || !space.Finite(v):
		return 0, fmt.Errorf("%s is no share: want a percentage, such as 5%%", quoted(text))
	case v < 0:
		return 0, fmt.Errorf("%s is negative: want 0 or more", quoted(text))
	case !found:
		return 0, fmt.Errorf("%s has no percent sign: write %[1]s%%", quoted(text))
	}
	return v / 100, nil
}

// compare compares the schedules that two arguments name.
func (a *app) compare(ctx context.Context, args []string, with compareFlags, yes bool, o tune.CompareOptions) (*tune.Comparison, error) {
	var sides [2]tune.Side
	for i, arg := range args {
		var err error
		if sides[i], err = readSide(arg); err != nil {
			return nil, err
		}
	}
	if sides[0].Schedule.Kernel == sides[1].Schedule.Kernel && !with.recorded { // otherwise nothing has to be run to tell
		for i := range sides {
			found, err := a.catalog(yes).OfSchedule(sides[i].Name, with.config, with.data)
			if err != nil {
				return nil, err
			}
			defer a.end(found)
			sides[i].Table = found.Table
		}
	}
	return tune.Compare(ctx, sides[0], sides[1], o)
}

// schedulePath returns the path of the schedule that an argument names: itself, or the one in the directory of a run.
func schedulePath(arg string) (string, error) {
	if err := cmp.Or(noRun(arg), absent(arg)); err != nil {
		return "", err
	}
	if info, err := os.Stat(arg); err == nil && info.IsDir() {
		return scheduleIn(arg)
	}
	return arg, nil
}

// adviseCompare says what to do about an error of a comparison.
func adviseCompare(err error) error {
	mismatch, different := errors.AsType[*tune.MismatchError](err)
	side, faulty := errors.AsType[*tune.SideError](err)
	_, shape := errors.AsType[*tune.BadShapeError](err)
	_, given := errors.AsType[*catalog.GivenError](err)
	_, unknown := errors.AsType[*kernels.UnknownError](err)
	program, ofProgram := errors.AsType[*catalog.ProgramError](err)
	missing, lost := errors.AsType[*catalog.MissingError](err)
	switch {
	case different && mismatch.What == "shape":
		return usage(fmt.Errorf("%w: build both at one shape with --shape, or see what the files say with --recorded", err))
	case different:
		return usage(err)
	case shape:
		return usage(fmt.Errorf("--%w", err))
	case given:
		return givenError(err)
	case faulty && side.Wrong:
		return err
	case ofProgram:
		return fmt.Errorf("%w: let it call tune.Compare; --recorded compares what the files say", program)
	case lost:
		return fmt.Errorf("%w; --recorded compares what the files say", missing)
	case faulty, unknown:
		return fmt.Errorf("%w; --recorded compares what the files say", err)
	}
	return err
}

// percent writes a share.
func percent(share float64) string {
	switch v := 100 * share; {
	case v < 1:
		return fmt.Sprintf("%.2g %%", v)
	case v < 100:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0") + " %"
	default:
		return plain.Number(math.Round(v)) + " %"
	}
}

// printComparison shows a comparison: first in what the two differ, then the costs.
func (a *app) printComparison(c *tune.Comparison, slack *float64) error {
	w := a.stdout
	fmt.Fprintf(w, "A         %s\nB         %s\nkernel    %s\n", c.A.Name, c.B.Name, plain.Line(strings.TrimSpace(c.Kernel+" "+c.Shape)))
	if len(c.Differences) == 0 {
		fmt.Fprintln(w, "made      by the same versions, on machines that are alike")
	}
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	for _, d := range c.Differences {
		fmt.Fprintf(t, "%s\tA %s\n\tB %s\n", d.Field, plain.Line(d.A), plain.Line(d.B))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if len(c.Parameters) == 0 {
		fmt.Fprintln(w, "point     the same: no parameter differs")
	}
	t = tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	for i, p := range c.Parameters {
		if i == 0 {
			fmt.Fprintln(t, "parameter\tA\tB")
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", p.Name, valueOr(p.A, p.Only == "b"), valueOr(p.B, p.Only == "a"))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	printCosts(a, c)
	fmt.Fprintf(w, "verdict   %s\n", comparedWords(c))
	switch {
	case slack == nil || c.Regressed(*slack) || untold(c):
	default:
		fmt.Fprintf(w, "fail-over passed: it is not proven that B costs over %s more\n", percent(*slack))
	}
	return nil
}

// valueOr writes the value of a parameter, or why there is none.
func valueOr(v *string, unknown bool) string {
	switch {
	case v != nil:
		return plain.Line(*v)
	case unknown:
		return "(not in this space)"
	}
	return "(inactive)"
}

// printCosts shows the costs and their ratio.
func printCosts(a *app, c *tune.Comparison) {
	unit, w := space.Unit(c.Unit), a.stdout
	if c.Recorded {
		fmt.Fprintln(w, "recorded  nothing was built or measured: the numbers are those of the files")
	}
	switch a, b := c.A.Checked, c.B.Checked; {
	case c.Recorded:
	case a != b:
		fmt.Fprintf(w, "checked   A %s, B %s\n", a, b)
	default:
		fmt.Fprintf(w, "checked   both %s\n", a)
	}
	if slices.Equal(c.A.Weak, c.B.Weak) {
		printWeak(w, underChecked, c.A.Weak)
	} else {
		printWeak(w, underChecked+"A: ", c.A.Weak)
		printWeak(w, underChecked+"B: ", c.B.Weak)
	}
	for _, side := range []struct {
		name string
		tune.Compared
	}{{"A", c.A}, {"B", c.B}} {
		s := side.Schedule
		text := unit.Words(side.Cost)
		switch {
		case !c.Recorded && !c.Exact && c.Pairs == 0:
			text = "no pair of measurements was usable"
		case !c.Recorded && c.Exact && side.Cost != s.Cost:
			text += fmt.Sprintf("; its file says %s", unit.Words(s.Cost))
		case c.Recorded && !c.Exact && s.Ratio > 0 && s.Key == s.Baseline.Key:
			text += ", the baseline itself"
		case c.Recorded && s.Ratio > 0:
			text += fmt.Sprintf(", %s %s as its baseline", times(s.Ratio), unit.Compared())
		}
		fmt.Fprintf(w, "cost %s    %s\n", side.name, text)
	}
	if c.Ratio == 0 || c.Verdict() == tune.NotCompared {
		return
	}
	faster, other, low, high := "B", "A", c.Low, c.High
	ratio := c.Ratio
	if ratio < 1 {
		faster, other, ratio = "A", "B", 1/ratio
		if low > 0 {
			low, high = 1/high, 1/low
		}
	}
	text := fmt.Sprintf("%s is %s %s as %s", faster, timesOf(ratio), unit.Compared(), other)
	switch {
	case c.Exact && ratio == 1:
		text = "the costs are equal"
	case c.Exact:
	case low == 0 && high == 0:
		text += ", without an interval"
	case c.Confidence == 0:
		text += fmt.Sprintf(", %.3f to %.3f, because runs may differ", low, high)
	default:
		text += fmt.Sprintf(", %.0f %% interval %.3f to %.3f", 100*c.Confidence, low, high)
	}
	switch {
	case c.Exact:
	case !c.Recorded:
		text += fmt.Sprintf(", measured now in %s", plain.Count(c.Pairs, "pair"))
	case c.ByBaselines:
		text += ", by way of the baseline"
	default:
		text += ", by costs from different moments"
	}
	fmt.Fprintf(w, "ratio     %s\n", text)
}

// timesOf writes a ratio with three decimals.
func timesOf(ratio float64) string { return fmt.Sprintf("%.3f×", ratio) }

// comparedWords says how B compares with A.
func comparedWords(c *tune.Comparison) string {
	switch c.Verdict() {
	case tune.BFaster:
		return "faster: B costs less than A"
	case tune.BSlower:
		by, least := c.Slowdown()
		if c.Exact {
			return fmt.Sprintf("slower: B costs %s more than A", percent(by))
		}
		return fmt.Sprintf("slower: B costs %s more than A, at least %s", percent(by), percent(least))
	case tune.Alike:
		if c.Exact {
			return "no difference"
		}
		return "no measurable difference"
	case tune.NotCompared:
		return "not compared: the costs are of different shapes; --shape, without --recorded, measures both at one"
	}
	switch {
	case c.Recorded:
		return "unverified: the files do not tell which is faster; without --recorded both are measured"
	case c.Unverified:
		return "unverified: the machine was too busy; repeat it on a quiet one"
	}
	return "unverified: too few pairs for an interval; give more time by --limit"
}

// comparisonJSON is what compare prints as JSON. Ratios are costs of A over costs of B, so that above 1 B is faster.
func comparisonJSON(c *tune.Comparison, slack *float64, failed bool) any {
	type side struct {
		Path          string             `json:"path"`
		KernelVersion string             `json:"kernel_version"`
		Shape         string             `json:"shape"` // that it was tuned for
		Key           string             `json:"key"`
		Checked       string             `json:"checked,omitempty"` // how, in words; left out with recorded
		Weak          []space.WeakOutput `json:"weak_checks,omitempty"`
		Cost          float64            `json:"cost"`          // measured now, or with recorded that of the file
		RecordedCost  float64            `json:"recorded_cost"` // of the file
		Ratio         float64            `json:"baseline_ratio,omitempty"`
		Interval      *[2]float64        `json:"baseline_ratio_interval,omitempty"`
		Verdict       string             `json:"verdict,omitempty"` // of the file
	}
	of := func(s tune.Compared) side {
		f := s.Schedule
		return side{s.Name, f.KernelVersion, f.Shape, f.Key, s.Checked, s.Weak, s.Cost, f.Cost, f.Ratio, f.RatioInterval, string(f.Verdict)}
	}
	out := struct {
		Kernel      string                    `json:"kernel"`
		Shape       string                    `json:"shape"`
		Unit        string                    `json:"unit"`
		Recorded    bool                      `json:"recorded"`
		Exact       bool                      `json:"exact"`
		A           side                      `json:"a"`
		B           side                      `json:"b"`
		Differences []tune.ComparedDifference `json:"differences"`
		Parameters  []tune.ComparedParameter  `json:"parameters"`
		Ratio       float64                   `json:"ratio,omitempty"`
		Interval    *[2]float64               `json:"ratio_interval,omitempty"`
		Confidence  float64                   `json:"confidence,omitempty"`
		Pairs       int                       `json:"pairs,omitempty"`
		ByBaselines bool                      `json:"by_baselines,omitempty"`
		Unverified  bool                      `json:"unverified,omitempty"`
		Verdict     tune.Standing             `json:"verdict"`
		SlowerBy    *float64                  `json:"slower_by,omitempty"`       // share of A's cost, where that is proven
		AtLeast     *float64                  `json:"slower_at_least,omitempty"` // the near end of the interval
		FailOver    *float64                  `json:"fail_over,omitempty"`
		Failed      bool                      `json:"failed"`
		State       *results.MachineState     `json:"machine_state,omitempty"`
	}{
		Kernel: c.Kernel, Shape: c.Shape, Unit: c.Unit, Recorded: c.Recorded, Exact: c.Exact, A: of(c.A), B: of(c.B),
		Differences: append([]tune.ComparedDifference{}, c.Differences...), Parameters: append([]tune.ComparedParameter{}, c.Parameters...),
		Ratio: c.Ratio, Confidence: c.Confidence, Pairs: c.Pairs, ByBaselines: c.ByBaselines, Unverified: c.Unverified, Verdict: c.Verdict(),
		FailOver: slack, Failed: failed,
	}
	if c.Low > 0 || c.High > 0 {
		out.Interval = &[2]float64{c.Low, c.High}
	}
	if by, least := c.Slowdown(); by > 0 && space.Finite(by) {
		out.SlowerBy, out.AtLeast = &by, &least
	}
	if state := results.MachineState(c.Machine); state.Probes > 0 {
		out.State = &state
	}
	return out
}

// comparing shows how far a comparison is.
func (n *notice) comparing(p tune.CompareProgress) {
	e := event{Event: eventProgress, Phase: string(p.Phase), Of: p.Of}
	if p.Phase == tune.Comparing {
		e.Pair = p.At
	} else {
		e.Check = p.At
	}
	n.brief = p.Phase != tune.Comparing // checks are short as a rule
	l := progressLine(p.String())
	if left, ok := n.pace.left(time.Now(), e.Phase, p.At-1, p.Of); ok {
		l, e.Left = l.left("about", left), seconds(left)
	}
	n.say(e.Phase, l, e)
}
