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
		Use:   "objectives --data FILE [FILE...]",
		Short: "Compare strategies for several objectives by the fronts that they find",
		Long: `objectives searches measured spaces for two numbers at once: the cost, and another number that the file has of each configuration, which
--second names:

` + secondList() + `
All points of a measured space are known, and so is the true front. Each strategy searches each task with each seed. After some
evaluations the front that it found is judged by its hypervolume, as a share of that of the true front: 1 is the whole front. Numbers
count as logarithms where all are above 0, along the range of the true front; the reference point lies a tenth of that range beyond its
worst ends. A configuration that failed counts as an evaluation. The result does not depend on --jobs.

With --rows, the JSON has all points of each task, so that other programs can search the same tasks; docs/scripts/objectives.py does so
with Optuna's NSGA-II. Files may be folders, and more may follow the first.`,
		Example: `  tune bench objectives --data tuning-data --seeds 20
  tune bench objectives --data tuning-data --second compile,spread --strategies auto,nsga2:population=50
  tune bench objectives --data tuning-data --json --rows > objectives.json`,
		Args: cobra.ArbitraryArgs,
	}
	var b bench.Objectives
	data := c.Flags().StringArray("data", nil, "`file` of measurements, or folder of such files; may be given several times")
	spaces := c.Flags().String("spaces", "", "`pattern` of the spaces to use, such as 'gemm*'; separate several by commas")
	seeds := c.Flags().Int("seeds", 20, "`number` of seeds, 2 or more")
	c.Flags().IntSliceVar(&b.Evaluations, "evals", []int{100, 200, 500}, "`numbers` of evaluations, ascending")
	c.Flags().StringSliceVar(&b.Second, "second", nil, "`columns` that are the second number, each in a task of its own (default: the first of the list that a file has)")
	names := c.Flags().StringSlice("strategies", []string{"random", "nsga2", "auto"}, "`strategies` to compare; those with constants as in nsga2,nsga2:population=50")
	c.Flags().IntVar(&b.Jobs, "jobs", 1, "`number` of searches at once; it changes no result")
	c.Flags().BoolVar(&b.Rows, "rows", false, "with --json: print the points of all tasks too")
	asJSON := c.Flags().Bool("json", false, "print the result as JSON")
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(*data) == 0 {
			return usage(errors.New("--data is missing: want files of measurements, or a folder of them"))
		}
		list, err := firstSeeds(*seeds)
		if err == nil {
			err = atLeastOne("jobs", b.Jobs)
		}
		if b.Seeds = list; err != nil {
			return usage(err)
		}
		if b.Strategies, err = strategyTexts(*names); err != nil {
			return usage(fmt.Errorf("--strategies: %w", err))
		}
		if err := b.Validate(); err != nil {
			return usage(err)
		}
		if b.Rows && !*asJSON {
			return usage(errors.New("--rows: only JSON has them: give --json too"))
		}
		b.Spaces, err = a.readSpaces(append(*data, args...), *spaces, b.Jobs)
		if err != nil {
			return err
		}
		observe, end := a.counter("searches")
		b.Observe = observe
		r, err := b.Run(c.Context())
		end()
		if err != nil {
			return err
		}
		if *asJSON {
			return printJSON(a.stdout, r)
		}
		return a.printObjectives(r, b.Evaluations)
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
