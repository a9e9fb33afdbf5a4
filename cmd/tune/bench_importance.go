package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"tune/search/bench"
	"tune/search/strategies"
)

func (a *app) benchImportanceCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "importance --data FILE [FILE...]",
		Short: "Compare what searches say about the importance of parameters with the truth",
		Long: `importance judges the shares by which tune run says what mattered. All points of a measured space are known, and so are the true shares
of its parameters in the variance of the costs. Each space is searched with each seed, and after some evaluations the shares that are
computed from the outcomes are ranked: those of the model of the search (learned), and those of the outcomes themselves (measured).
The table has the rank correlations (Spearman) of these shares with the true ones, as means over seeds with their standard errors.

With --outcomes, the JSON has the outcomes of each search, so that other programs can compute importance from the same outcomes;
docs/scripts/importance.py does so with Optuna. Files may be folders, and more may follow the first.`,
		Example: `  tune bench importance --data tuning-data --evals 100,200 --seeds 20
  tune bench importance --data tuning-data --json --outcomes > importance.json`,
		Args: cobra.ArbitraryArgs,
	}
	var b bench.Importance
	data := c.Flags().StringArray("data", nil, "`file` of measurements, or folder of such files; may be given several times")
	spaces := c.Flags().String("spaces", "", "`pattern` of the spaces to use, such as 'gemm*'; separate several by commas")
	seeds := c.Flags().Int("seeds", 20, "`number` of seeds")
	c.Flags().IntSliceVar(&b.Evaluations, "evals", []int{100, 200}, "`numbers` of evaluations, ascending")
	c.Flags().StringVar(&b.Strategy, "strategy", strategies.Default, "`strategy` of the searches, as for tune run")
	c.Flags().IntVar(&b.Jobs, "jobs", 1, "`number` of searches at once; it changes no result")
	c.Flags().BoolVar(&b.Outcomes, "outcomes", false, "with --json: print the outcomes of all searches too")
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
		if len(b.Evaluations) == 0 || b.Evaluations[0] < 1 || !slices.IsSorted(b.Evaluations) {
			return usage(fmt.Errorf("--evals: %v: want numbers from 1, ascending", b.Evaluations))
		}
		if b.Outcomes && !*asJSON {
			return usage(errors.New("--outcomes: only JSON has them: give --json too"))
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
		return a.printImportance(r)
	}
	return c
}

// printImportance prints a table in Markdown.
func (a *app) printImportance(r *bench.ImportanceReport) error {
	w := tabwriter.NewWriter(a.stdout, 0, 8, 1, ' ', 0)
	fmt.Fprintln(w, "| space\t| evals\t| learned\t| measured\t|\n| ---\t| ---\t| ---\t| ---\t|")
	for _, one := range slices.Concat(r.Spaces, r.Overall) {
		name := one.Space
		if name == "" {
			name = "overall"
		}
		words := func(e bench.Estimate) string { return fmt.Sprintf("%.3f ±%.3f", e.Mean, e.Error) }
		fmt.Fprintf(w, "| %s\t| %s\t| %s\t| %s\t|\n", name, strconv.Itoa(one.Evaluations), words(one.Learned), words(one.Measured))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.stdout, `
Seeds: %d. Rank correlations with the true shares of the parameters, and their standard errors: learned are the shares of the
model of the search, measured those of the outcomes themselves.
`, r.Seeds)
	return err
}
