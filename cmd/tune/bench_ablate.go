package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"tune/kernels"
	"tune/kernels/bench"
	"tune/search/strategies"
	"tune/space"
)

func (a *app) benchAblateCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "ablate KERNEL|FILE",
		Short: "Measure how much each choice of a space contributes",
		Long: `ablate searches the space of a kernel with each of the seeds 1..N, and then, with the same seeds and budget, the space with
one choice fixed. --off NAME=VALUE keeps the points that have this value wherever the parameter is active;
NAME=VALUE,NAME=VALUE fixes several at once. It prints the best cost of each search, the median over the seeds, and how much
worse that is than in the whole space. Where costs are measured, the best points are measured again in turns, and the last
columns have how many times as long each takes as the best of the whole space, with its interval. Nothing is written to disk.`,
		Example: `  tune bench ablate treehash --off fuse=false --off defer_c=false --off store_copies=0,window_gather=0 --budget 2m --seeds 3
  tune bench ablate treehash --off spread=false --evals 2000 --json
  tune bench ablate my.yaml --off UNROLL=1 --off opt=-O2 --budget 30s --seeds 1`,
		Args: fileOr(exactly(1, "a kernel, or the file of your own one")),
	}
	addSettings(c.Flags(), "shape", "strategy", "budget", "evals", "jobs")
	c.Flags().Lookup("jobs").Usage = jobsUsage + "; with --evals and exact costs it does not change the result"
	c.Flags().Lookup("budget").Usage = "wall `time` of each search, with a unit: 90s, 10m, 1h30m (default 2m, if evals is not given)"
	c.Flags().Lookup("evals").Usage = "`number` of evaluations of each search"
	off := c.Flags().StringArray("off", nil, "`choice` to fix, name=value,…; may be repeated")
	seeds := c.Flags().Int("seeds", 3, "`number` of seeds")
	limit := c.Flags().String("measure", "20s", "`time` for measuring the best point of a choice beside that of the whole space, where costs are measured")
	asJSON := c.Flags().Bool("json", false, "print the result as JSON")
	file := fileFlag(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		set, err := readSettings(c.Flags(), "", a.environ)
		if err != nil {
			return usage(err)
		}
		if set.jobs == 0 {
			set.jobs = runtime.NumCPU()
		}
		if set.budget.Wall == 0 && set.budget.Evaluations == 0 {
			set.budget.Wall = defaultBudget
		}
		list, err := firstSeeds(*seeds)
		if err != nil {
			return usage(err)
		}
		if len(*off) == 0 {
			return usage(errors.New("--off is missing: it says which choice to fix, as name=value,…"))
		}
		k, shape, done, err := a.kernelAt(kernelNamed(args, *file), set)
		if err != nil {
			return err
		}
		defer done()
		problem, err := k.Problem(shape)
		if err != nil {
			return set.blame("shape", err)
		}
		b := bench.Ablate{
			Kernel: k, Shape: shape, Strategy: cmp.Or(set.strategy, k.Info().Strategy, strategies.Default),
			Budget: set.budget, Jobs: set.jobs, Seeds: list,
		}
		if b.Off, err = parseOff(*off, problem.Space()); err != nil {
			return usage(fmt.Errorf("--off: %w", err))
		}
		each, err := parseDuration(*limit)
		if err != nil {
			return usage(fmt.Errorf("--measure: %w", err))
		}
		b.Limit = each * time.Duration(len(b.Off))
		observe, end := a.counterOf("searches", (1+len(b.Off))*len(b.Seeds), set.budget.Wall)
		b.Observe = observe
		n := newNotice(a, a.quiet)
		n.brief = true
		b.Measuring = n.turns
		rows, err := b.Run(c.Context())
		n.end()
		end()
		if err != nil {
			return err
		}
		if *asJSON {
			return printJSON(a.stdout, rows)
		}
		return a.printAblations(rows, b.Seeds, k.Info())
	}
	return c
}

// parseOff reads the choices to fix, each of which leaves points in the space.
func parseOff(texts []string, s *space.Space) (off []map[string]string, err error) {
	for _, text := range texts {
		values, err := parseChoice(text)
		if err == nil {
			_, err = s.Fix(values)
		}
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(off, func(other map[string]string) bool { return maps.Equal(other, values) }) {
			return nil, fmt.Errorf("%s is given twice", text)
		}
		off = append(off, values)
	}
	return off, nil
}

// parseChoice reads name=value,….
func parseChoice(text string) (map[string]string, error) {
	values := map[string]string{}
	for field := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(field), "=")
		if !ok || name == "" || value == "" {
			return nil, fmt.Errorf("%s: want name=value,…", quoted(text))
		}
		if _, twice := values[name]; twice {
			return nil, fmt.Errorf("%s: %s is given twice", quoted(text), name)
		}
		values[name] = value
	}
	return values, nil
}

// printAblations prints a table in Markdown, as the README shows it.
func (a *app) printAblations(rows []bench.Ablation, seeds []uint64, info kernels.Info) error {
	w := tabwriter.NewWriter(a.stdout, 0, 8, 1, ' ', 0)
	row := func(cells ...string) { fmt.Fprintf(w, "| %s\t|\n", strings.Join(cells, "\t| ")) }
	unit := space.Unit(info.Unit)
	head := []string{"fixed"}
	for _, s := range seeds {
		head = append(head, fmt.Sprintf("seed %d", s))
	}
	cost := func(v float64) string { return fmt.Sprintf("%g", v) }
	if info.Exact {
		head = append(head, "median "+info.Unit, "worth")
	} else {
		cost = unit.Words
		within := 0.0
		for _, r := range rows {
			within = max(within, r.Within)
		}
		head = append(head, "median", "takes", intervalHead(within))
	}
	row(head...)
	row(slices.Repeat([]string{"---"}, len(head))...)
	for i, r := range rows {
		cells := []string{cmp.Or(r.Choice(), "nothing")}
		for _, b := range r.Best {
			cells = append(cells, cost(b))
		}
		cells = append(cells, cost(r.Median))
		switch {
		case i == 0 && info.Exact:
			cells = append(cells, "–")
		case info.Exact:
			cells = append(cells, fmt.Sprintf("%+g", r.Median-rows[0].Median))
		case i == 0:
			cells = append(cells, "–", "–")
		default:
			takes := times(r.Worth)
			if r.Unverified {
				takes += ", unverified: the machine was busy"
			}
			cells = append(cells, takes, interval(r.WorthLow, r.WorthHigh))
		}
		row(cells...)
	}
	return w.Flush()
}
