package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"tune/search/bench"
)

func (a *app) benchObjectivesCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "objectives {--data FILE [FILE...] | --knobs}",
		Short: "Compare strategies for several objectives by the fronts that they find",
		Long: `objectives searches measured spaces for two numbers at once: the cost, and another number that the file has of each configuration, which
--second names:

` + secondList() + `
All points of a measured space are known, and so is the true front. Each strategy searches each task with each seed. After some
evaluations the front that it found is judged by its hypervolume, as a share of that of the true front: 1 is the whole front. Numbers
count as logarithms where all are above 0, along the range of the true front; the reference point lies a tenth of that range beyond its
worst ends. A configuration that failed counts as an evaluation. The result does not depend on --jobs.

--knobs adds three tasks that need no file: a softmax, a product of matrices and a solver, whose knobs trade accuracy for work. The two
numbers are a count of operations and the largest error. Both are computed, so that every machine has the same tasks.

With --rows, the JSON has all points of each task, so that other programs can search the same tasks; docs/scripts/objectives.py does so
with Optuna's NSGA-II. Files may be folders, and more may follow the first.`,
		Example: `  tune bench objectives --data tuning-data --seeds 20
  tune bench objectives --knobs --strategies random,nsga2
  tune bench objectives --data tuning-data --second compile,spread --strategies auto,nsga2:population=50
  tune bench objectives --data tuning-data --json --rows > objectives.json`,
		Args: cobra.ArbitraryArgs,
	}
	var b bench.Objectives
	var flags measuredFlags
	flags.add(c, 2, "searches")
	c.Flags().IntSliceVar(&b.Evaluations, "evals", []int{100, 200, 500}, "`numbers` of evaluations, ascending")
	c.Flags().StringSliceVar(&b.Second, "second", nil, "`columns` that are the second number, each in a task of its own (default: the first of the list that a file has)")
	knobs := c.Flags().Bool("knobs", false, "search three kernels with knobs for accuracy too, which need no file")
	names := c.Flags().StringSlice("strategies", []string{"random", "nsga2", "auto"}, "`strategies` to compare; those with constants as in nsga2,nsga2:population=50")
	c.Flags().BoolVar(&b.Rows, "rows", false, "with --json: print the points of all tasks too")
	c.RunE = func(c *cobra.Command, args []string) error {
		var err error
		if *knobs && len(flags.data)+len(args) == 0 {
			b.Seeds, err = flags.checkRest()
		} else {
			b.Seeds, err = flags.check()
		}
		if err != nil {
			return usage(err)
		}
		if b.Strategies, err = strategyTexts(*names); err != nil {
			return usage(fmt.Errorf("--strategies: %w", err))
		}
		if err := b.Validate(); err != nil {
			return usage(err)
		}
		if b.Rows && !flags.asJSON {
			return usage(errors.New("--rows: only JSON has them: give --json too"))
		}
		b.Jobs = flags.jobs
		run := func(spaces []bench.DataSpace, observe func(done, total int)) (*bench.ObjectivesReport, error) {
			b.Spaces, b.Observe = spaces, observe
			if *knobs {
				more, err := bench.Knobs()
				if err != nil {
					return nil, err
				}
				b.Spaces = append(b.Spaces, more...)
			}
			return b.Run(c.Context())
		}
		return onMeasured(a, &flags, args, "searches", run, func(r *bench.ObjectivesReport) error { return a.printObjectives(r, b.Evaluations) })
	}
	return c
}

// secondList says what each column is.
func secondList() (text string) {
	for _, c := range bench.SecondColumns() {
		text += fmt.Sprintf("  %-8s %s\n", c.Name, c.Doc)
	}
	return text
}

// printObjectives prints a table in Markdown.
func (a *app) printObjectives(r *bench.ObjectivesReport, evaluations []int) error {
	w := tabwriter.NewWriter(a.stdout, 0, 8, 1, ' ', 0)
	row := func(cells ...string) { fmt.Fprintf(w, "| %s\t|\n", strings.Join(cells, "\t| ")) }
	head := []string{"task", "strategy"}
	for _, n := range evaluations {
		head = append(head, "@"+strconv.Itoa(n))
	}
	row(head...)
	row(slices.Repeat([]string{"---"}, len(head))...)
	all := slices.Concat(r.Results, r.Overall)
	var shown [][2]string
	for _, one := range all {
		if is := [2]string{one.Task, one.Strategy}; !slices.Contains(shown, is) {
			shown = append(shown, is)
			cells := []string{cmp.Or(one.Task, "overall"), one.Strategy}
			for _, other := range all {
				if other.Task == one.Task && other.Strategy == one.Strategy {
					cells = append(cells, fmt.Sprintf("%.4f ±%.4f", other.Volume.Mean, other.Volume.Error))
				}
			}
			row(cells...)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, `
%d seeds. @N: the mean over seeds of the hypervolume of the front after N evaluations, failed ones included, as a share of that of the
true front, ± its standard error.
`, r.Seeds)
	for _, name := range r.Left {
		fmt.Fprintf(a.stdout, "%s is left out: one point is the best in both numbers.\n", name)
	}
	return nil
}
