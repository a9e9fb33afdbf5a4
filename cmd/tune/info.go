package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"tune/configs"
	"tune/internal/plain"
	"tune/kernels/recorded"
	"tune/kernels/user"
	"tune/results"
	"tune/results/report"
	"tune/search/strategies"
	"tune/space"
)

func (a *app) listCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "list [kernels|strategies|presets [FILE]]",
		Short: "List the kernels, strategies with their constants, and presets",
		Long: `list prints the kernels with their shapes, the strategies, and the presets, or only one of the three. 'tune list
strategies' also prints the constants of each strategy, with default, meaning and range. Constants are set after the name of
the strategy: --strategy auto:lead=100,batch=16, or the same text in a settings file. A run records its constants and the
version of its strategy, and can only be resumed with both.

'tune list presets FILE' prints the presets in the file of your own kernel. Those of ./kernel.yaml are printed without it too.`,
		Example: "  tune list\n  tune list strategies\n  tune list presets my.yaml\n  tune list --json",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 0 && !slices.Contains(listed, args[0]) {
				return usage(fmt.Errorf("unknown list %q: want %s%s", args[0], strings.Join(listed, ", "), space.DidYouMean(args[0], listed)))
			}
			most := 1
			if len(args) > 0 && args[0] == presetList {
				most = 2 // with the file that they stand in
			}
			if len(args) > most {
				return usage(fmt.Errorf("%s takes one list and nothing else, but got %q", c.CommandPath(), args[most]))
			}
			return nil
		},
	}
	asJSON := c.Flags().Bool("json", false, "print the list as JSON")
	c.RunE = func(_ *cobra.Command, args []string) error {
		only, file := "", ""
		if len(args) > 0 {
			only = args[0]
		}
		if len(args) > 1 {
			file = args[1]
		}
		presets, err := listPresets(file)
		if err != nil {
			return err
		}
		if *asJSON {
			return printJSON(a.stdout, a.listJSON(only, presets))
		}
		w := tabwriter.NewWriter(a.stdout, 0, 8, 2, ' ', 0)
		if only == "" || only == "kernels" {
			a.listKernels(w)
		}
		if only == "" || only == "strategies" {
			fmt.Fprintln(w, "strategies")
			for _, s := range strategies.Table() {
				fmt.Fprintf(w, "  %s\t%s\n", s.Name, s.Doc)
				for _, c := range s.Constants {
					if only != "" {
						fmt.Fprintf(w, "    %s=%s\t%s: %s\n", c.Name, c.Format(c.Default), c.Doc, c.Range())
					}
				}
			}
		}
		if file != "" && len(presets) == 0 {
			fmt.Fprintf(w, "no presets in %s\n", file)
		}
		if only == "" || only == presetList {
			printPresets(w, presets)
		}
		return w.Flush()
	}
	return c
}

// listed are what tune list can list alone.
var listed = []string{"kernels", "strategies", presetList}

// presetList is the list of presets.
const presetList = "presets"

// listedPreset is a preset as tune list shows it.
type listedPreset struct {
	Name string `json:"name"`
	Doc  string `json:"doc"`
	File string `json:"file,omitempty"` // of the user's kernel that has it; "" where it comes with tune
}

// listPresets returns the presets in the file of a kernel, or for "" those that come with tune and those of the working folder.
func listPresets(file string) ([]listedPreset, error) {
	list := []listedPreset{}
	add := func(file string, presets []user.Preset) {
		for _, p := range presets {
			list = append(list, listedPreset{p.Name, presetLine(p), file})
		}
	}
	if file != "" {
		k, err := user.Load(file)
		if err != nil {
			return nil, usage(err)
		}
		defer k.Close()
		add(file, k.Presets())
		return list, nil
	}
	for _, name := range configs.Names() {
		list = append(list, listedPreset{name, configs.Doc(name), ""})
	}
	add("./"+kernelName, presetsHere())
	return list, nil
}

// printPresets prints presets below the file that has them.
func printPresets(w io.Writer, presets []listedPreset) {
	for i, p := range presets {
		switch {
		case i > 0 && p.File == presets[i-1].File:
		case p.File == "":
			fmt.Fprintln(w, "presets, for --config")
		default:
			fmt.Fprintf(w, "presets, for tune run %s --config\n", p.File)
		}
		fmt.Fprintf(w, "  %s\t%s\n", p.Name, p.Doc)
	}
}

func (a *app) listKernels(w io.Writer) {
	fmt.Fprintln(w, "kernels")
	for _, k := range a.table {
		info := k.Info()
		fmt.Fprintf(w, "  %s\t%s (cost in %s; strategy %s)\n", info.Name, info.Doc, info.Unit, cmp.Or(info.Strategy, strategies.Default))
		for _, f := range info.Shape {
			want := fmt.Sprintf("%d to %d", f.Min, f.Max)
			if len(f.Options) > 0 {
				want = strings.Join(f.Options, " or ")
			} else if f.Text != "" {
				want = f.Text
			}
			fmt.Fprintf(w, "    %s=%s\t%s: %s\n", f.Name, f.Default, f.Doc, want)
		}
	}
	fmt.Fprintf(w, "  %s\t%s\n", recorded.Name, recorded.Doc)
}

// strategyOf shows the strategy of a run with the constants that are not the defaults.
func strategyOf(s results.Settings) string {
	return strategies.Label(s.Strategy, s.StrategyConfig, s.StrategyVersion)
}

// listJSON is what tune list prints with --json: all, or one of listed alone.
func (a *app) listJSON(only string, presets []listedPreset) any {
	type field struct {
		Name    string   `json:"name"`
		Doc     string   `json:"doc"`
		Default string   `json:"default"`
		Min     *int     `json:"min,omitempty"`
		Max     *int     `json:"max,omitempty"`
		Options []string `json:"options,omitempty"`
	}
	type kernel struct {
		Name     string  `json:"name"`
		Doc      string  `json:"doc"`
		Version  string  `json:"version"`
		Unit     string  `json:"unit"`
		Exact    bool    `json:"exact"`
		Strategy string  `json:"strategy"`
		Shape    []field `json:"shape"`
	}
	type entry struct {
		Name string `json:"name"`
		Doc  string `json:"doc"`
	}
	type constant struct {
		Name    string `json:"name"`
		Doc     string `json:"doc"`
		Kind    string `json:"kind"`    // int, float or bool
		Default any    `json:"default"` // a number, or true or false
		Min     any    `json:"min"`
		Max     any    `json:"max"`
	}
	type strategy struct {
		entry
		Version   int        `json:"version"`
		Constants []constant `json:"constants"`
	}
	out := struct {
		Kernels    []kernel       `json:"kernels"`
		Strategies []strategy     `json:"strategies"`
		Presets    []listedPreset `json:"presets"`
	}{[]kernel{}, []strategy{}, presets}
	for _, k := range a.table {
		info := k.Info()
		j := kernel{info.Name, info.Doc, info.Version, info.Unit, info.Exact, cmp.Or(info.Strategy, strategies.Default), []field{}}
		for _, f := range info.Shape {
			jf := field{Name: f.Name, Doc: f.Doc, Default: f.Default, Options: f.Options}
			if len(f.Options) == 0 && f.Text == "" {
				jf.Min, jf.Max = &f.Min, &f.Max
			}
			j.Shape = append(j.Shape, jf)
		}
		out.Kernels = append(out.Kernels, j)
	}
	for _, s := range strategies.Table() {
		j := strategy{entry{s.Name, s.Doc}, s.Version, []constant{}}
		for _, c := range s.Constants {
			j.Constants = append(j.Constants, constant{c.Name, c.Doc, c.Kind.String(), c.Any(c.Default), c.Any(c.Min), c.Any(c.Max)})
		}
		out.Strategies = append(out.Strategies, j)
	}
	switch only {
	case "kernels":
		return out.Kernels
	case "strategies":
		return out.Strategies
	case presetList:
		return out.Presets
	}
	return out
}

func (a *app) runsCommand() *cobra.Command {
	c := &cobra.Command{
		Use:     "runs",
		Short:   "List the runs, newest first",
		Example: "  tune runs --out runs\n  tune runs --kernel gemm-f32 --state running",
		Args:    noArgs,
	}
	addSettings(c.Flags(), "out")
	c.Flags().Lookup("out").Usage = "`folder` that holds the run directories"
	kernel := c.Flags().String("kernel", "", "list only runs of this `kernel`")
	shape := c.Flags().String("shape", "", "list only runs whose shape has this `text`, such as m=512")
	state := c.Flags().String("state", "", "list only runs in this `state`: "+strings.Join(results.States(), ", "))
	asJSON := c.Flags().Bool("json", false, "print the runs as JSON")
	c.RunE = func(c *cobra.Command, _ []string) error {
		set, err := readSettings(c.Flags(), "", a.environ)
		if err != nil {
			return usage(err)
		}
		if *state != "" && !slices.Contains(results.States(), *state) {
			return usage(fmt.Errorf("--state: %q: want %s%s", *state, strings.Join(results.States(), ", "), space.DidYouMean(*state, results.States())))
		}
		folder := set.out
		if _, serr := os.Stat(folder); errors.Is(serr, fs.ErrNotExist) && set.from["out"] == "--out" {
			return set.blame("out", fmt.Errorf("there is no folder %s: name the one that holds the runs", folder))
		}
		list, err := results.List(folder)
		if err != nil {
			return err
		}
		all := len(list)
		var of []string
		for _, l := range list {
			of = append(of, l.Settings.Kernel)
		}
		if err := a.someKernel(*kernel, folder, of); err != nil {
			return err
		}
		list = slices.DeleteFunc(list, func(l results.Listing) bool {
			return *kernel != "" && l.Settings.Kernel != *kernel || !strings.Contains(l.Settings.Shape, *shape) || *state != "" && l.State.String() != *state
		})
		if *asJSON {
			rows := []runRow{}
			for _, l := range list {
				rows = append(rows, rowOf(l))
			}
			return printJSON(a.stdout, rows)
		}
		if len(list) == 0 {
			such := ""
			if all > 0 {
				such = fmt.Sprintf(" match, of %d", all)
			}
			_, err := fmt.Fprintf(a.stdout, "no runs in %s%s\n", folder, such)
			return err
		}
		w := tabwriter.NewWriter(a.stdout, 0, 8, 2, ' ', 0)
		fmt.Fprintln(w, "RUN\tSTATE\tEVALS\tBEST\tSEED\tSTRATEGY\tKERNEL\tAGE")
		var damaged []string
		for _, l := range list {
			r := rowOf(l)
			state := r.State
			switch {
			case l.Err != nil:
				damaged = append(damaged, r.Why) // too long for a column
			case l.State == results.Failed:
				state = plain.Clip(plain.Line(l.End.Words()), mostState)
			case r.Why != "" && r.Why != state:
				state += ": " + r.Why
			}
			age := ""
			if !r.Created.IsZero() {
				age = report.Age(a.began.Sub(r.Created))
			}
			fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%d\t%s\t%s %s\t%s\n", plain.Line(r.Dir), state, r.Evaluations, r.words(), r.Seed, strategyOf(l.Settings), r.Kernel, r.Shape, age)
		}
		err = w.Flush()
		for _, why := range damaged {
			if err == nil {
				_, err = fmt.Fprintln(a.stdout, why)
			}
		}
		return err
	}
	return c
}

// mostState is how many bytes of a state a list of runs shows.
const mostState = 100

// runRow is one run in the output of tune runs --json.
type runRow struct {
	Dir         string   `json:"dir"`
	State       string   `json:"state"`
	Why         string   `json:"why,omitempty"`
	Reason      string   `json:"reason,omitempty"` // why the baseline failed
	Kernel      string   `json:"kernel"`
	Shape       string   `json:"shape"`
	Strategy    string   `json:"strategy"`
	Constants   string   `json:"strategy_config,omitempty"` // of the strategy
	Seed        uint64   `json:"seed"`
	Evaluations int      `json:"evaluations"`
	Best        *float64 `json:"best"` // null while no candidate was valid, or the best are not yet measured beside the baseline
	// Baseline, Ratio and Verdict are those of the schedule, as Best is; left out where there is none.
	Baseline float64       `json:"baseline,omitempty"`
	Ratio    float64       `json:"ratio,omitempty"`
	Verdict  space.Verdict `json:"verdict,omitempty"`
	// Seen is the least cost that the search saw, where that is not what is exported.
	Seen    *float64  `json:"least_seen_by_search,omitempty"`
	Unit    string    `json:"unit"`
	Elapsed float64   `json:"elapsed_seconds"`
	Clock   string    `json:"clock,omitempty"` // "simulated" where the time is
	Created time.Time `json:"created"`
}

// words says what is known of the best point of a run; "-" for nothing.
func (r runRow) words() string {
	unit := space.Unit(r.Unit)
	switch {
	case r.Best != nil && r.Verdict == "":
		return unit.Words(*r.Best)
	case r.Best != nil && r.Ratio > 0:
		return fmt.Sprintf("%s (%s, %s)", unit.Words(*r.Best), times(r.Ratio), r.Verdict)
	case r.Best != nil:
		return fmt.Sprintf("%s (%s)", unit.Words(*r.Best), r.Verdict)
	case r.Seen != nil:
		return fmt.Sprintf("%s seen by the search", unit.Words(*r.Seen))
	}
	return "-"
}

func rowOf(l results.Listing) runRow {
	known := l.Known()
	r := runRow{
		Dir: l.Dir, State: l.State.String(), Why: l.End.Why, Reason: l.End.Reason, Kernel: l.Settings.Kernel, Shape: l.Settings.Shape,
		Strategy: l.Settings.Strategy, Constants: l.Settings.StrategyConfig, Seed: l.Settings.Seed, Evaluations: l.Summary.Evaluations, Unit: l.Settings.Unit,
		Best: known.Best, Baseline: known.Baseline, Ratio: known.Ratio, Verdict: known.Verdict, Seen: known.Seen,
		Elapsed: known.Elapsed, Clock: l.Settings.Clock, Created: l.Settings.Created,
	}
	if l.Err != nil {
		r.Why = l.Err.Error()
	}
	return r
}
