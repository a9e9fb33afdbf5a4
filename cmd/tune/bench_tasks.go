package main

import (
	"errors"
	"fmt"
	"strconv"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"tune/search/bench"
	"tune/search/strategies"
	"tune/search/tasks"
)

func (a *app) benchTasksCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "tasks --data FILE [FILE...]",
		Short: "Compare the rules that share a budget among several searches",
		Long: `tasks judges how a budget is handed out among several tasks, as tune library does among shapes. Each measured space is a task with a
weight. The rules are

` + ruleList() + `
Each budget is handed out in slices by each rule. All rules see the same searches: what a strategy finds after some evaluations of a
space does not depend on when it made them. The strategy is told of no budget, so auto searches as if there were no end. For each
budget and rule tasks prints, as means over seeds with their standard errors, the weighted mean over tasks of best / optimum - 1 (sum)
and of the logarithm of best / optimum (log, for which the rule is told to lower this one), and how far each is behind the first rule with the
same seed. Weights are equal, or random between 1 and 16. Files may be folders, and more may follow the first.`,
		Example: `  tune bench tasks --data tuning-data --evals 20,50,100 --seeds 20 --slice 10
  tune bench tasks --data tuning-data --spaces 'conv*,pnpoly*' --weights random --json`,
		Args: cobra.ArbitraryArgs,
	}
	var b bench.Tasks
	data := c.Flags().StringArray("data", nil, "`file` of measurements, or folder of such files; may be given several times")
	spaces := c.Flags().String("spaces", "", "`pattern` of the spaces to use, such as 'gemm*'; separate several by commas")
	seeds := c.Flags().Int("seeds", 20, "`number` of seeds, 2 or more")
	c.Flags().IntSliceVar(&b.Evaluations, "evals", []int{20, 50, 100}, "`numbers` of evaluations for each task, on average; each is a budget of its own")
	c.Flags().IntVar(&b.Slice, "slice", 10, "`number` of evaluations of a slice")
	c.Flags().StringSliceVar(&b.Weights, "weights", bench.Weightings, "`weights` of the tasks: equal, random or both")
	c.Flags().StringVar(&b.Strategy, "strategy", strategies.Default, "`strategy` of the searches, as for tune run")
	c.Flags().IntVar(&b.Jobs, "jobs", 1, "`number` of seeds that are searched at once; it changes no result")
	asJSON := c.Flags().Bool("json", false, "print the result as JSON")
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(*data) == 0 {
			return usage(errors.New("--data is missing: want files of measurements, or a folder of them"))
		}
		list, err := firstSeeds(*seeds)
		if err == nil {
			err = atLeastOne("jobs", b.Jobs)
		}
		if b.Seeds = list; err == nil {
			err = b.Validate()
		}
		if err != nil {
			return usage(err)
		}
		b.Spaces, err = a.readSpaces(append(*data, args...), *spaces, b.Jobs)
		if err != nil {
			return err
		}
		observe, end := a.counter("seeds")
		b.Observe = observe
		r, err := b.Run(c.Context())
		end()
		if err != nil {
			return err
		}
		if *asJSON {
			return printJSON(a.stdout, r)
		}
		return a.printTasks(r)
	}
	return c
}

// ruleList says what each rule does.
func ruleList() (text string) {
	for _, r := range tasks.Rules() {
		text += fmt.Sprintf("  %-9s %s\n", r.Name, r.Doc)
	}
	return text
}

// printTasks prints a table in Markdown.
func (a *app) printTasks(r *bench.TasksReport) error {
	w := tabwriter.NewWriter(a.stdout, 0, 8, 1, ' ', 0)
	row := func(cells ...any) {
		for _, c := range cells {
			fmt.Fprintf(w, "| %v\t", c)
		}
		fmt.Fprintln(w, "|")
	}
	row("weights", "evals", "rule", "sum", "behind", "log", "behind")
	row("---", "---", "---", "---", "---", "---", "---")
	first := tasks.Rules()[0].Name
	for _, t := range r.Rules {
		plain := func(e bench.Estimate) string { return fmt.Sprintf("%.4f ±%.4f", e.Mean, e.Error) }
		behind := func(e bench.Estimate) string {
			if t.Rule == first {
				return ""
			}
			return fmt.Sprintf("%+.4f ±%.4f", e.Mean, e.Error)
		}
		row(t.Weights, strconv.Itoa(t.Evaluations), t.Rule, plain(t.Sum), behind(t.SumBehind), plain(t.Log), behind(t.LogBehind))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.stdout, `
%d tasks, %d seeds, strategy %s, slices of %d evaluations. evals: the mean number for each task; sum: the weighted mean of
best / optimum - 1; log: that of its logarithm; behind: how much more than %s with the same seed. Each ± its standard error.
`, len(r.Tasks), r.Seeds, r.Strategy, r.Slice, first)
	return err
}
