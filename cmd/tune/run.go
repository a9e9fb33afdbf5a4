package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/spf13/cobra"

	"tune"
	"tune/kernels"
	"tune/results"
	"tune/search"
	"tune/search/strategies"
	"tune/space"
)

func (a *app) runCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "run KERNEL",
		Short: "Search, check, and export the best schedule",
		Long: `run searches the space of a kernel until its budget ends, and exports the best candidate, checked on fresh inputs.
Everything that it measures is on disk at once: a run that is stopped, in whatever way, goes on with tune resume.`,
		Example: `  tune run treehash --budget 10m
  tune run treehash --shape height=8,rounds=12,batch=128 --evals 2000 --strategy random --seed 7
  tune run --config treehash-small --json`,
	}
	a.asRun(c)
	c.Args = cobra.ArbitraryArgs
	return c
}

// asRun gives a command the flags and the action of run.
func (a *app) asRun(c *cobra.Command) {
	keys := []string{"shape", "strategy", "seed", "budget", "evals", "target", "jobs", "out", "dir"}
	addSettings(c.Flags(), keys...)
	config := c.Flags().StringP("config", "c", "", "`preset` or YAML file with settings")
	asJSON, quiet := outputFlags(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) > 1 {
			return usage(fmt.Errorf("%s wants one kernel, but got %q", c.CommandPath(), args))
		}
		set, err := readSettings(c.Flags(), *config, a.environ)
		if err != nil {
			return usage(err)
		}
		if len(args) == 1 {
			set.kernel = args[0]
		}
		return a.search(c, set, *asJSON, *quiet)
	}
}

func outputFlags(c *cobra.Command) (asJSON, quiet *bool) {
	return c.Flags().Bool("json", false, "print the result as JSON"), c.Flags().BoolP("quiet", "q", false, "show no progress")
}

func (a *app) search(c *cobra.Command, set settings, asJSON, quiet bool) error {
	k, err := a.table.Lookup(set.kernel)
	if err != nil {
		return usage(err)
	}
	shape, err := kernels.ParseShape(k.Info().Shape, set.shape)
	if err != nil {
		return usage(err)
	}
	if _, err := strategies.Lookup(set.strategy); err != nil {
		return usage(err)
	}
	if set.budget.Wall == 0 && set.budget.Evaluations == 0 {
		set.budget.Wall = defaultBudget
	}
	if set.jobs == 0 {
		set.jobs = runtime.NumCPU()
	}
	if set.dir == "" {
		set.dir = results.DefaultDir(set.out, set.kernel, a.began, set.seed)
	}
	d := newDisplay(a.stderr, a.terminal, quiet, a.began)
	started := false
	report, err := tune.Run(c.Context(), tune.Options{
		Kernel: k, Shape: shape, Strategy: set.strategy, Seed: set.seed, Budget: set.budget, Jobs: set.jobs, Dir: set.dir,
		Began: a.began, Observe: d.observe, Start: func(s tune.Start) { started = true; d.start(s) },
	})
	if started {
		d.end()
	}
	return a.finish(report, err, asJSON)
}

func (a *app) resumeCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "resume DIR",
		Short: "Go on with a run that was stopped",
		Long: `resume leads the strategy through what the run has recorded, evaluates nothing twice, and goes on with what is
left of the budget. A limit given here replaces the run's own; it counts from the beginning of the run.`,
		Example: `  tune resume runs/treehash-20260102-150405-1
  tune resume runs/treehash-20260102-150405-1 --budget 2h`,
		Args: exactly(1, "the directory of a run"),
	}
	addSettings(c.Flags(), "budget", "evals", "target", "jobs")
	asJSON, quiet := outputFlags(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		set, err := readSettings(c.Flags(), "", nil)
		if err != nil {
			return usage(err)
		}
		d := newDisplay(a.stderr, a.terminal, *quiet, a.began)
		started := false
		report, err := tune.Resume(c.Context(), a.table, args[0], tune.Changes{
			Budget: set.budget, Jobs: set.jobs, Began: a.began, Observe: d.observe,
			Start: func(s tune.Start) { started = true; d.start(s) },
		})
		if started {
			d.end()
		}
		return a.finish(report, err, *asJSON)
	}
	return c
}

// finish prints a report and turns it into an exit code.
func (a *app) finish(report *tune.Report, err error, asJSON bool) error {
	if report == nil {
		return err
	}
	write := a.printReport
	if asJSON {
		write = a.jsonReport
	}
	if werr := write(report); werr != nil {
		return errors.Join(err, werr)
	}
	switch {
	case err != nil:
		return err
	case report.Result.Stop == search.Interrupted:
		return &exitError{exitInterrupted, fmt.Errorf("interrupted: go on with 'tune resume %s'", report.Dir)}
	case report.Schedule == nil:
		return &exitError{exitNoValid, fmt.Errorf("no candidate was valid: see 'tune export %s --format csv' for the reasons", report.Dir)}
	}
	return nil
}

func (a *app) printReport(r *tune.Report) error {
	w := a.stdout
	fmt.Fprintf(w, "%s after %.1f s: %s evaluated, %s valid\n", r.Result.Stop, r.Result.Elapsed.Seconds(), number(float64(r.Result.Told)), number(float64(r.Result.Valid)))
	for _, f := range r.Refused {
		fmt.Fprintf(w, "refused: %s: %s\n", f.Key, f.Reason)
	}
	s := r.Schedule
	if s == nil {
		return nil
	}
	fmt.Fprintf(w, "best      %s %s, %.2f× the %s %s of %s\n", number(s.Cost), s.Unit, s.Ratio, number(s.Baseline.Cost), s.Unit, s.Baseline.Preset)
	fmt.Fprintf(w, "point     %s\n", s.Key)
	fmt.Fprintf(w, "checked   on %d fresh inputs\n", len(s.Checks))
	fmt.Fprintf(w, "schedule  %s\n", filepath.Join(r.Dir, tune.ScheduleName))
	for _, file := range s.Artifacts {
		fmt.Fprintf(w, "          %s\n", filepath.Join(r.Dir, file.Name))
	}
	_, err := fmt.Fprintf(w, "again     %s\n", s.Reproduce[0])
	return err
}

// runJSON is what run and resume print with --json.
type runJSON struct {
	Dir         string            `json:"dir"`
	Stop        string            `json:"stop"`
	Evaluations int               `json:"evaluations"`
	Valid       int               `json:"valid"`
	Elapsed     float64           `json:"elapsed_seconds"`
	Baseline    results.Baseline  `json:"baseline"`
	Refused     []tune.Refusal    `json:"refused,omitempty"`
	Schedule    *results.Schedule `json:"schedule"` // null where no candidate was valid
}

func (a *app) jsonReport(r *tune.Report) error {
	return printJSON(a.stdout, runJSON{
		r.Dir, r.Result.Stop.String(), r.Result.Told, r.Result.Valid, r.Result.Elapsed.Seconds(), r.Baseline, r.Refused, r.Schedule,
	})
}

func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

func (a *app) replayCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "replay DIR",
		Short:   "Prove that a run asks the points that it recorded",
		Long:    "replay leads the strategy of a run through its journal, and compares every point that it asks with the recorded one. Nothing is evaluated.",
		Example: "  tune replay runs/treehash-20260102-150405-1",
		Args:    exactly(1, "the directory of a run"),
		RunE: func(c *cobra.Command, args []string) error {
			n, err := tune.Replay(a.table, args[0])
			if err != nil {
				return fmt.Errorf("after %d trials that agree: %w", n, err)
			}
			_, err = fmt.Fprintf(a.stdout, "%d of %d trials agree\n", n, n)
			return err
		},
	}
}

func (a *app) exportCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "export DIR",
		Short: "Write a run's schedule, program, trace or outcomes",
		Long: `export writes a run in one of four formats: json (the schedule), program (the exchange format of the machine), trace
(Chrome trace events, for Perfetto), or csv (the journal as text: an outcome a line, in the order told, and nothing
that depends on the clock).`,
		Example: `  tune export runs/treehash-20260102-150405-1 --format csv > outcomes.csv
  tune export runs/treehash-20260102-150405-1 --format program --output best.program.json`,
		Args: exactly(1, "the directory of a run"),
	}
	format := c.Flags().StringP("format", "f", "json", "`format`: json, program, trace or csv")
	output := c.Flags().StringP("output", "o", "", "`file` to write (default: standard output)")
	c.RunE = func(c *cobra.Command, args []string) error {
		if !slices.Contains(tune.Formats, *format) {
			return usage(fmt.Errorf("--format: unknown format %q%s", *format, space.DidYouMean(*format, tune.Formats)))
		}
		write := func(w io.Writer) error { return tune.Export(c.Context(), a.table, args[0], *format, w) }
		var err error
		if *output == "" {
			err = write(a.stdout)
		} else {
			_, err = results.WriteArtifact(*output, write)
		}
		if errors.Is(err, tune.ErrNoValid) {
			return &exitError{exitNoValid, fmt.Errorf("%s: %w", args[0], err)}
		}
		return err
	}
	return c
}

func (a *app) verifyCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "verify SCHEDULE",
		Short: "Rebuild a schedule and check it on fresh inputs",
		Long: `verify rebuilds a schedule from its point and checks it on fresh inputs, and checks the program that was saved beside it
by itself. It fails where either is wrong, costs something else, or differs from the other.`,
		Example: "  tune verify runs/treehash-20260102-150405-1/best.json\n  tune verify best.json --checks 100",
		Args:    exactly(1, "the file of a schedule"),
	}
	checks := c.Flags().Int("checks", tune.ExportChecks, "`number` of fresh inputs")
	asJSON := c.Flags().Bool("json", false, "print the result as JSON")
	c.RunE = func(c *cobra.Command, args []string) error {
		if *checks < 1 {
			return usage(fmt.Errorf("--checks %d: want 1 or more", *checks))
		}
		v, err := tune.Verify(c.Context(), a.table, args[0], tune.FreshSeeds(*checks))
		if err != nil {
			return err
		}
		if *asJSON {
			err = printJSON(a.stdout, verifyJSON(v))
		} else {
			for _, s := range v.Steps {
				mark, why := "ok    ", ""
				if s.Err != nil {
					mark, why = "FAILED", ": "+s.Err.Error()
				}
				fmt.Fprintf(a.stdout, "%s  %s%s\n", mark, s.Name, why)
			}
		}
		if err == nil && !v.OK() {
			err = &exitError{exitFailed, fmt.Errorf("%s does not hold", args[0])}
		}
		return err
	}
	return c
}

func verifyJSON(v *tune.Verification) any {
	type step struct {
		Name  string `json:"name"`
		OK    bool   `json:"ok"`
		Error string `json:"error,omitempty"`
	}
	out := struct {
		OK    bool     `json:"ok"`
		Cost  float64  `json:"cost"`
		Unit  string   `json:"unit"`
		Seeds []uint64 `json:"seeds"`
		Steps []step   `json:"steps"`
	}{OK: v.OK(), Cost: v.Schedule.Cost, Unit: v.Schedule.Unit, Seeds: v.Seeds}
	for _, s := range v.Steps {
		j := step{Name: s.Name, OK: s.Err == nil}
		if s.Err != nil {
			j.Error = s.Err.Error()
		}
		out.Steps = append(out.Steps, j)
	}
	return out
}
