package main

import (
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
budget and rule, tasks prints two numbers, as means over seeds with their standard errors: sum, the weighted mean over tasks of
best / optimum - 1, and log, the weighted mean of the logarithm of best / optimum. For each of the two, the budget is handed out once more, and the rule
is told to lower this number. tasks also prints how far each number is behind that of the first rule with the same seed. Weights are equal, or random between 1 and 16. Files may be folders, and more may follow the first.`,
		Example: `  tune bench tasks --data tuning-data --evals 20,50,100 --seeds 20 --slice 10
  tune bench tasks --data tuning-data --spaces 'conv*,pnpoly*' --weights random --json`,
		Args: cobra.ArbitraryArgs,
	}
	var b bench.Tasks
	var flags measuredFlags
	flags.add(c, 2, "seeds")
	c.Flags().IntSliceVar(&b.Evaluations, "evals", []int{20, 50, 100}, "`numbers` of evaluations for each task, on average; each is a budget of its own")
	c.Flags().IntVar(&b.Slice, "slice", 10, "`number` of evaluations of a slice")
	c.Flags().StringSliceVar(&b.Weights, "weights", bench.Weightings, "`weights` of the tasks: equal, random or both")
	c.Flags().StringVar(&b.Strategy, "strategy", strategies.Default, "`strategy` of the searches, as for tune run")
	c.RunE = func(c *cobra.Command, args []string) error {
		var err error
		if b.Seeds, err = flags.check(); err != nil {
			return usage(err)
		}
		if err := b.Validate(); err != nil {
			return usage(err)
		}
		b.Jobs = flags.jobs
		return onMeasured(a, &flags, args, "seeds", func(spaces []bench.DataSpace, observe func(done, total int)) (*bench.TasksReport, error) {
			b.Spaces, b.Observe = spaces, observe
			return b.Run(c.Context())
		}, a.printTasks)
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
