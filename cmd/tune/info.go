package main

import (
	"fmt"
	"math/big"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"tune/configs"
	"tune/kernels"
	"tune/results"
	"tune/search/strategies"
	"tune/space"
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
			fmt.Fprintf(w, "  %s\t%s (cost in %s)\n", info.Name, info.Doc, info.Unit)
			for _, f := range info.Shape {
				want := fmt.Sprintf("%d to %d", f.Min, f.Max)
				if len(f.Options) > 0 {
					want = strings.Join(f.Options, " or ")
				}
				fmt.Fprintf(w, "    %s=%s\t%s: %s\n", f.Name, f.Default, f.Doc, want)
			}
		}
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
		Name    string  `json:"name"`
		Doc     string  `json:"doc"`
		Version string  `json:"version"`
		Unit    string  `json:"unit"`
		Exact   bool    `json:"exact"`
		Shape   []field `json:"shape"`
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
		j := kernel{info.Name, info.Doc, info.Version, info.Unit, info.Exact, []field{}}
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
	Created     time.Time `json:"created"`
}

func rowOf(l results.Listing) runRow {
	r := runRow{
		Dir: l.Dir, State: l.State.String(), Why: l.End.Why, Kernel: l.Settings.Kernel, Shape: l.Settings.Shape,
		Strategy: l.Settings.Strategy, Seed: l.Settings.Seed, Evaluations: l.Summary.Evaluations, Unit: l.Settings.Unit,
		Elapsed: l.Summary.Elapsed, Created: l.Settings.Created,
	}
	if l.Summary.Best != nil {
		r.Best = &l.Summary.Best.Outcome.Cost
	}
	if l.Err != nil {
		r.Why = l.Err.Error()
	}
	return r
}

func (a *app) spaceCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "space KERNEL|FILE",
		Short: "Show parameters, constraints and size of a space",
		Long: "space shows the space of a kernel at a shape, with the named points that the kernel has there, or the space of a YAML\n" +
			"file, of which it may be all or a kernel of your own.",
		Example: `  tune space treehash --shape height=8,rounds=12,batch=128
  tune space my-space.yaml
  tune space treehash --yaml > treehash.yaml`,
		Args: exactly(1, "a kernel or the file of a space"),
	}
	addSettings(c.Flags(), "shape")
	asYAML := c.Flags().Bool("yaml", false, "print the space as YAML")
	asJSON := c.Flags().Bool("json", false, "print the space as JSON")
	c.RunE = func(c *cobra.Command, args []string) error {
		if *asYAML && *asJSON {
			return usage(fmt.Errorf("--yaml and --json exclude each other"))
		}
		set, err := readSettings(c.Flags(), "", a.environ)
		if err != nil {
			return usage(err)
		}
		s, presets, err := a.findSpace(args[0], set)
		switch {
		case err != nil:
			return err
		case *asYAML:
			return s.Write(a.stdout)
		case *asJSON:
			return printJSON(a.stdout, spaceJSON(s, presets))
		}
		return a.printSpace(s, presets)
	}
	return c
}

// findSpace returns the space of a kernel or a file, and the presets of the kernel, the baseline first.
func (a *app) findSpace(name string, set settings) (*space.Space, []kernels.Preset, error) {
	if strings.ContainsAny(name, "./\\") {
		own, err := loadKernel(name)
		if err != nil {
			return nil, nil, usage(err)
		}
		if own != nil {
			defer own.Close()
			return spaceOf(own, set)
		}
		if set.from["shape"] == "--shape" {
			return nil, nil, usage(fmt.Errorf("--shape: the space of a file has none: leave it out"))
		}
		file, err := os.Open(name)
		if err != nil {
			return nil, nil, err
		}
		defer file.Close()
		s, err := space.Read(file)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", name, err)
		}
		return s, nil, nil
	}
	k, err := a.table.Lookup(name)
	if err != nil {
		if _, serr := os.Stat(name); serr == nil {
			err = fmt.Errorf("%w; for the file write ./%s", err, name)
		}
		return nil, nil, usage(err)
	}
	return spaceOf(k, set)
}

// spaceOf returns the space of a kernel at the shape of the settings, and its presets.
func spaceOf(k kernels.Kernel, set settings) (*space.Space, []kernels.Preset, error) {
	shape, err := kernels.ParseShape(k.Info().Shape, set.shape)
	if err != nil {
		return nil, nil, set.blame("shape", err)
	}
	p, err := k.Problem(shape)
	if err != nil {
		return nil, nil, err
	}
	return p.Space(), p.Presets(), nil
}

func (a *app) printSpace(s *space.Space, presets []kernels.Preset) error {
	w := tabwriter.NewWriter(a.stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintf(w, "space %s, fingerprint %s\n", s.Name(), s.Fingerprint())
	for _, p := range s.Parameters() {
		when := ""
		if p.When != "" {
			when = "  [if " + p.When + "]"
		}
		fmt.Fprintf(w, "  %s\t%s\t%s\t%s%s\n", p.Name, p.Type, domain(p), p.Doc, when)
	}
	for _, text := range s.Constraints() {
		fmt.Fprintf(w, "  constraint %s\n", text)
	}
	fmt.Fprintf(w, "product of the values: %s\n", s.Product())
	if n, ok := s.Len(); ok {
		share := 0.0
		if product := s.Product(); product.Sign() > 0 {
			share, _ = new(big.Rat).SetFrac(new(big.Int).SetUint64(n), product).Float64()
		}
		fmt.Fprintf(w, "points: %s (%.3g%%)\n", new(big.Int).SetUint64(n), 100*share)
	} else {
		fmt.Fprintln(w, "points: too many to count")
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, p := range presets {
		if _, err := fmt.Fprintf(a.stdout, "preset %s: %s\n  %s\n", p.Name, p.Doc, p.Point.Key()); err != nil {
			return err
		}
	}
	return nil
}

func spaceJSON(s *space.Space, presets []kernels.Preset) any {
	type parameter struct {
		Name   string `json:"name"`
		Type   string `json:"type"`
		Values int    `json:"values"` // how many there are
		Domain string `json:"domain"`
		When   string `json:"when,omitempty"`
		Doc    string `json:"doc,omitempty"`
	}
	type preset struct {
		Name  string `json:"name"`
		Doc   string `json:"doc"`
		Key   string `json:"key"`
		Start bool   `json:"start"` // whether searches begin here
	}
	out := struct {
		Name        string      `json:"name"`
		Fingerprint string      `json:"fingerprint"`
		Parameters  []parameter `json:"parameters"`
		Constraints []string    `json:"constraints"`
		Product     *big.Int    `json:"product"`
		Points      *uint64     `json:"points"` // null where they are too many to count
		Presets     []preset    `json:"presets"`
	}{s.Name(), s.Fingerprint(), []parameter{}, append([]string{}, s.Constraints()...), s.Product(), nil, []preset{}}
	for _, p := range presets {
		out.Presets = append(out.Presets, preset{p.Name, p.Doc, p.Point.Key(), p.Start})
	}
	for _, p := range s.Parameters() {
		out.Parameters = append(out.Parameters, parameter{p.Name, fmt.Sprint(p.Type), p.Len(), domain(p), p.When, p.Doc})
	}
	if n, ok := s.Len(); ok {
		out.Points = &n
	}
	return out
}

// domain describes the values of a parameter.
func domain(p space.Parameter) string {
	const most = 6
	n := p.Len()
	if n <= most {
		values := make([]string, n)
		for i := range values {
			values[i] = p.At(i).String()
		}
		return strings.Join(values, " ")
	}
	return fmt.Sprintf("%s %s … %s (%d)", p.At(0), p.At(1), p.At(n-1), n)
}
