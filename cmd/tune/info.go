package main

import (
	"cmp"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"tune/configs"
	"tune/kernels/recorded"
	"tune/results"
	"tune/search/strategies"
)

func (a *app) listCommand() *cobra.Command {
	c := &cobra.Command{
		Use:     "list",
		Short:   "List the kernels, strategies and presets",
		Example: "  tune list\n  tune list --json",
		Args:    noArgs,
	}
	asJSON := c.Flags().Bool("json", false, "print the list as JSON")
	c.RunE = func(*cobra.Command, []string) error {
		if *asJSON {
			return printJSON(a.stdout, a.listJSON())
		}
		w := tabwriter.NewWriter(a.stdout, 0, 8, 2, ' ', 0)
		fmt.Fprintln(w, "kernels")
		for _, k := range a.table {
			info := k.Info()
			fmt.Fprintf(w, "  %s\t%s (cost in %s; strategy %s)\n", info.Name, info.Doc, info.Unit, cmp.Or(info.Strategy, strategies.Default))
			for _, f := range info.Shape {
				want := fmt.Sprintf("%d to %d", f.Min, f.Max)
				if len(f.Options) > 0 {
					want = strings.Join(f.Options, " or ")
				}
				fmt.Fprintf(w, "    %s=%s\t%s: %s\n", f.Name, f.Default, f.Doc, want)
			}
		}
		fmt.Fprintf(w, "  %s\t%s\n", recorded.Name, recorded.Doc)
		fmt.Fprintln(w, "strategies")
		for _, s := range strategies.Table() {
			fmt.Fprintf(w, "  %s\t%s\n", s.Name, s.Doc)
		}
		fmt.Fprintln(w, "presets, for --config")
		for _, name := range configs.Names() {
			fmt.Fprintf(w, "  %s\t%s\n", name, configs.Doc(name))
		}
		return w.Flush()
	}
	return c
}

func (a *app) listJSON() any {
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
	out := struct {
		Kernels    []kernel `json:"kernels"`
		Strategies []entry  `json:"strategies"`
		Presets    []entry  `json:"presets"`
	}{[]kernel{}, []entry{}, []entry{}}
	for _, k := range a.table {
		info := k.Info()
		j := kernel{info.Name, info.Doc, info.Version, info.Unit, info.Exact, cmp.Or(info.Strategy, strategies.Default), []field{}}
		for _, f := range info.Shape {
			jf := field{Name: f.Name, Doc: f.Doc, Default: f.Default, Options: f.Options}
			if len(f.Options) == 0 {
				jf.Min, jf.Max = &f.Min, &f.Max
			}
			j.Shape = append(j.Shape, jf)
		}
		out.Kernels = append(out.Kernels, j)
	}
	for _, s := range strategies.Table() {
		out.Strategies = append(out.Strategies, entry{s.Name, s.Doc})
	}
	for _, name := range configs.Names() {
		out.Presets = append(out.Presets, entry{name, configs.Doc(name)})
	}
	return out
}

func (a *app) runsCommand() *cobra.Command {
	c := &cobra.Command{
		Use:     "runs",
		Short:   "List the runs, newest first",
		Example: "  tune runs --out runs",
		Args:    noArgs,
	}
	addSettings(c.Flags(), "out")
	c.Flags().Lookup("out").Usage = "`folder` that holds the run directories"
	asJSON := c.Flags().Bool("json", false, "print the runs as JSON")
	c.RunE = func(c *cobra.Command, _ []string) error {
		set, err := readSettings(c.Flags(), "", a.environ)
		if err != nil {
			return usage(err)
		}
		list, err := results.List(set.out)
		if err != nil {
			return err
		}
		if *asJSON {
			rows := []runRow{}
			for _, l := range list {
				rows = append(rows, rowOf(l))
			}
			return printJSON(a.stdout, rows)
		}
		if len(list) == 0 {
			_, err := fmt.Fprintf(a.stdout, "no runs in %s\n", set.out)
			return err
		}
		w := tabwriter.NewWriter(a.stdout, 0, 8, 2, ' ', 0)
		fmt.Fprintln(w, "RUN\tSTATE\tEVALS\tBEST\tSEED\tSTRATEGY\tKERNEL")
		for _, l := range list {
			r := rowOf(l)
			best := "-"
			if r.Best != nil {
				best = number(*r.Best) + " " + r.Unit
			}
			state := r.State
			if r.Why != "" {
				state += ": " + r.Why
			}
			fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%d\t%s\t%s %s\n", r.Dir, state, r.Evaluations, best, r.Seed, r.Strategy, r.Kernel, r.Shape)
		}
		return w.Flush()
	}
	return c
}

// runRow is one run in the output of tune runs --json.
type runRow struct {
	Dir         string    `json:"dir"`
	State       string    `json:"state"`
	Why         string    `json:"why,omitempty"`
	Kernel      string    `json:"kernel"`
	Shape       string    `json:"shape"`
	Strategy    string    `json:"strategy"`
	Seed        uint64    `json:"seed"`
	Evaluations int       `json:"evaluations"`
	Best        *float64  `json:"best"` // null while no candidate was valid
	Unit        string    `json:"unit"`
	Elapsed     float64   `json:"elapsed_seconds"`
	Clock       string    `json:"clock,omitempty"` // "simulated" where the time is
	Created     time.Time `json:"created"`
}

func rowOf(l results.Listing) runRow {
	r := runRow{
		Dir: l.Dir, State: l.State.String(), Why: l.End.Why, Kernel: l.Settings.Kernel, Shape: l.Settings.Shape,
		Strategy: l.Settings.Strategy, Seed: l.Settings.Seed, Evaluations: l.Summary.Evaluations, Unit: l.Settings.Unit,
		Elapsed: l.Summary.Elapsed, Clock: l.Settings.Clock, Created: l.Settings.Created,
	}
	if l.Summary.Best != nil {
		r.Best = &l.Summary.Best.Outcome.Cost
	}
	if l.Err != nil {
		r.Why = l.Err.Error()
	}
	return r
}
