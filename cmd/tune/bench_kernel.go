package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"tune"
	"tune/internal/plain"
	"tune/kernels"
	"tune/kernels/bench"
	"tune/results/session"
	"tune/search"
	"tune/space"
)

// kernelBudget is the time for each shape where none is given.
const kernelBudget = time.Minute

// benchKernel gives bench the flags and the action of tuning a kernel at several shapes.
func (a *app) benchKernel(c *cobra.Command) {
	addSettings(c.Flags(), "budget", "evals", "jobs")
	c.Flags().Lookup("jobs").Usage = jobsUsage
	c.Flags().Lookup("budget").Usage = "wall `time` for each shape, the measurement of its search included, with a unit: 90s, 10m, 1h30m (default 1m, if evals is not given)"
	seed := c.Flags().String("seed", "1", "`seed` of the searches")
	shapes := c.Flags().StringArray("shapes", nil, "`shapes` to tune, name=value,… separated by semicolons; may be repeated (default: the kernel's own)")
	peers := c.Flags().StringSlice("peers", nil, "`names` of libraries, or of the peers in the file of your own kernel, to compare with. Libraries have to be installed (default: all functions in the file, and the libraries that are installed)")
	limit := c.Flags().String("measure", "20s", "`time` for measuring the winner of a shape beside the libraries, after its search")
	dir := c.Flags().String("dir", "", "`directory` that keeps the run of each shape, with what was measured beside the peers, for tune report (default: none is kept)")
	asJSON := c.Flags().Bool("json", false, "print the rows as JSON")
	quiet := a.progressFlags(c)
	file := fileFlag(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		name := kernelNamed(args, *file)
		if name == "" && c.Flags().NFlag() > 0 {
			return exactly(1, "a kernel")(c, args)
		}
		if name == "" {
			return c.Help()
		}
		set, err := readSettings(c.Flags(), "", a.environ)
		if err != nil {
			return usage(err)
		}
		k, done, err := a.kernelOf(name)
		if err != nil {
			if !isYAML(name) && space.Nearest(name, []string{"search"}) != "" {
				err = fmt.Errorf("unknown kernel %q%s", name, space.DidYouMean(name, append(a.table.Names(), "search")))
			}
			return usage(err)
		}
		defer done()
		b := bench.Peers{Kernel: k, Names: *peers, Dir: *dir}
		if b.Seed, err = parseSeed(*seed); err != nil {
			return usage(fmt.Errorf("--seed: %w", err))
		}
		if b.Limit, err = parseDuration(*limit); err != nil {
			return usage(fmt.Errorf("--measure: %w", err))
		}
		o := session.NewRun{Version: tune.Version(), Kernel: k, Seed: b.Seed, Work: session.Work{Budget: set.budget, Jobs: set.jobs, Final: b.Limit}}
		if o.Budget.Wall == 0 && o.Budget.Evaluations == 0 {
			o.Budget.Wall = kernelBudget
		}
		if o.Jobs == 0 {
			o.Jobs = runtime.NumCPU()
		}
		for text := range strings.SplitSeq(strings.Join(*shapes, ";"), ";") {
			if c.Flags().Changed("shapes") && strings.TrimSpace(text) == "" {
				return usage(fmt.Errorf("--shapes: a shape of %q is empty: write name=value,… between semicolons", strings.Join(*shapes, ";")))
			}
			shape, err := kernels.ParseShape(k.Info().Shape, text)
			if err != nil {
				return usage(fmt.Errorf("--shapes: %w", err))
			}
			b.Shapes = append(b.Shapes, shape)
		}
		tuned := 0
		b.Tune = func(ctx context.Context, shape kernels.Shape, dir string) (bench.Tuned, error) {
			o := o
			o.Shape, o.Dir = shape, dir
			end := a.showShape(&o, tuned, len(b.Shapes), *quiet)
			tuned++
			report, err := session.Run(ctx, o)
			end()
			switch {
			case err != nil:
				return bench.Tuned{}, err
			case report.Result.Stop == search.Interrupted:
				return bench.Tuned{}, context.Cause(ctx)
			case report.Result.Told == 0:
				return bench.Tuned{}, &exitError{exitNoValid, fmt.Errorf("no candidate was evaluated before the budget ended: checking and timing the baseline took all of it; give --budget %s or more", longer(o.Budget.Wall))}
			case report.Schedule == nil:
				return bench.Tuned{}, &exitError{exitNoValid, tune.ErrNoValid}
			}
			return bench.Tuned{Key: report.Schedule.Key, Evaluations: report.Result.Told}, nil
		}
		return a.runKernelBench(c, b, *asJSON, *quiet)
	}
}

// longer returns a budget that is likely to be enough where another one was not: four times as long, in whole seconds.
func longer(budget time.Duration) string {
	text := max((4 * budget).Round(time.Second), time.Minute).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	return text
}

// showShape makes a run, one of several, show its progress: on a terminal in a line that changes, with how long all of them will
// take, or as events; elsewhere the name alone. end removes the line.
func (a *app) showShape(o *session.NewRun, before, of int, quiet bool) (end func()) {
	if quiet || a.width == nil && a.events == nil {
		if !quiet {
			o.Start = func(s tune.Start) { fmt.Fprintf(a.stderr, "%s %s\n", s.Settings.Kernel, s.Settings.Shape) }
		}
		return func() {}
	}
	d := newDisplay(a.live, a.width, false, time.Now())
	d.events = a.events
	d.prefix = fmt.Sprintf("%d of %d", before+1, of)
	if left := of - before; o.Budget.Wall > 0 && of > 1 {
		d.prefix += fmt.Sprintf(", about %v", time.Duration(left)*(o.Budget.Wall+o.Final))
	}
	d.prefix += " · "
	started := false
	o.Start = func(s tune.Start) { started = true; d.start(s) }
	o.Observe, o.Measuring = d.observe, d.measuring
	return func() {
		if started {
			d.end()
		}
	}
}

func (a *app) runKernelBench(c *cobra.Command, b bench.Peers, asJSON, quiet bool) error {
	if k := b.Kernel.Info(); k.Exact {
		return usage(fmt.Errorf("the costs of %s are exact: tune run finds them, and there is nothing to measure", k.Name))
	}
	absent, err := b.Absent()
	if err != nil {
		return usage(err)
	}
	for _, p := range absent {
		fmt.Fprintf(a.stderr, "%s: not installed, left out (%s)\n", p.Name, p.Install)
	}
	rows := []bench.Row{}
	n := newNotice(a, quiet)
	n.brief = true
	b.Measuring = n.turns
	b.Failed = func(err error) {
		n.end()
		if !quiet {
			fmt.Fprintf(a.stderr, "  %s\n", inWords(err, true))
		}
	}
	err = b.Run(c.Context(), func(r bench.Row) error {
		n.end()
		rows = append(rows, r)
		if !quiet {
			fmt.Fprintf(a.stderr, "  %s after %s, %.2f × %s\n", speed(r), plain.Count(r.Evaluations, "evaluation"), r.Ratio, r.BestPeer)
			for _, name := range slices.Sorted(maps.Keys(r.LeftOut)) {
				fmt.Fprintf(a.stderr, "  without %s: %s\n", name, r.LeftOut[name])
			}
		}
		return nil
	})
	n.end()
	write := func() error { return a.printRows(rows) }
	if asJSON {
		write = func() error { return printJSON(a.stdout, rows) }
	}
	if b.Dir != "" {
		err = unmade("dir", b.Dir, err)
	}
	if len(rows) > 0 || err == nil {
		err = errors.Join(err, write())
	}
	return err
}

// printRows prints a table in Markdown, as the README shows it.
func (a *app) printRows(rows []bench.Row) error {
	peers := map[string]bool{}
	unit, threaded, within := "", false, 0.0
	for _, r := range rows {
		unit, threaded, within = r.Unit, threaded || r.Threads > 1, max(within, r.Within)
		for name := range r.Peers {
			peers[name] = true
		}
	}
	names := slices.Sorted(maps.Keys(peers))
	w := tabwriter.NewWriter(a.stdout, 0, 8, 1, ' ', 0)
	line := func(cells ...string) { fmt.Fprintf(w, "| %s\t|\n", strings.Join(cells, "\t| ")) }
	if unit != "" {
		unit = ", " + unit
	}
	head := append(append([]string{"shape", "tune" + unit, "of peak"}, names...), "baseline", "ratio to the best", intervalHead(within))
	if threaded {
		head = append(head, "ratio to its serial best", intervalHead(within))
	}
	line(head...)
	line(slices.Repeat([]string{"---"}, len(head))...)
	for _, r := range rows {
		share := "–"
		if r.PeakShare > 0 {
			share = fmt.Sprintf("%.1f %%", 100*r.PeakShare)
			if streams := strings.Contains(r.PeakOf, " in "); streams { // not of arithmetic, but of moving bytes
				share += " of " + r.PeakOf
			}
		}
		own, baseline := rate(r.Rate), rate(r.Baseline)
		if unit == "" {
			own, baseline = r.CostUnit.Words(r.Cost), r.CostUnit.Words(r.BaselineCost)
		}
		cells := []string{r.Shape, own, share}
		for _, name := range names {
			cell := "–"
			if v, ok := r.Peers[name]; ok {
				cell = rate(v)
				if unit == "" {
					cell = r.CostUnit.Words(r.PeerCosts[name])
				}
			}
			cells = append(cells, cell)
		}
		ratio := fmt.Sprintf("%.2f (%s)", r.Ratio, r.BestPeer)
		if r.Unverified {
			ratio += ", unverified: the machine was busy"
		}
		cells = append(cells, baseline, ratio, interval(r.Low, r.High))
		if threaded {
			serial := "–"
			if r.SerialRatio > 0 {
				serial = fmt.Sprintf("%.2f", r.SerialRatio)
			}
			cells = append(cells, serial, interval(r.SerialLow, r.SerialHigh))
		}
		line(cells...)
	}
	return w.Flush()
}

// speed writes the rate of a result, or its cost where it has no rate.
func speed(r bench.Row) string {
	if r.Unit == "" {
		return r.CostUnit.Words(r.Cost)
	}
	return rate(r.Rate) + " " + r.Unit
}

// rate writes a rate: to a tenth, or where it is below one to three digits.
func rate(v float64) string {
	if v < 1 {
		return fmt.Sprintf("%.3g", v)
	}
	return fmt.Sprintf("%.1f", v)
}

// intervalHead says above intervals what they are: of confidence, or what follows from how far the costs of a point may differ.
func intervalHead(within float64) string {
	if within > 0 {
		return fmt.Sprintf("within %.3g %%", 100*within)
	}
	return "95 %"
}

// interval writes the interval of a ratio; a dash where there is none.
func interval(low, high float64) string {
	if high <= 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f–%.2f", low, high)
}
