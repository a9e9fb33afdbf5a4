package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"tune/kernels"
	"tune/kernels/recorded"
	"tune/search/bench"
	"tune/search/strategies"
)

func (a *app) benchRaceCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "race --data FILE",
		Short: "Evaluate early stopping on a space whose single repeats are known",
		Long: `race replays searches of a measured space twice: once with every repeat of each configuration, and once with only the
repeats that racing would take. Racing is the rule by which native kernels are timed: it stops a candidate after 2 repeats
if it costs more than 1.25 times the best, and after 6 if it costs more than 1.05 times. race prints how much kernel time that
saves, and whether another configuration is picked. The file must contain the single repeats, which cache files of Kernel
Tuner and T4 files can.`,
		Example: "  tune bench race --data convolution_A100.cache.json.gz --seeds 20",
		Args:    noArgs,
	}
	data := c.Flags().String("data", "", "`file` of measurements")
	seeds := c.Flags().Int("seeds", 20, "`number` of seeds")
	evals := c.Flags().Int("evals", 500, "`number` of evaluations of a search")
	strategy := c.Flags().String("strategy", "random", "`strategy` of the searches, as for tune run")
	asJSON := c.Flags().Bool("json", false, "print the result as JSON")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if *data == "" {
			return usage(errors.New("--data is missing: want a file with the single repeats"))
		}
		list, err := firstSeeds(*seeds)
		if err == nil {
			err = atLeastOne("evals", *evals)
		}
		if err != nil {
			return usage(err)
		}
		if _, err := strategies.Parse(*strategy); err != nil {
			return usage(fmt.Errorf("--strategy: %w", err))
		}
		if err := noData(*data); err != nil {
			return fmt.Errorf("--data: %w", err)
		}
		reading := a.work("reading "+*data, a.quiet)
		k, err := recorded.LoadObserved(*data, reading.step)
		reading.end()
		if err != nil {
			return err
		}
		p, err := k.Problem(kernels.Shape{})
		if err != nil {
			return err
		}
		b := bench.Race{
			Space: bench.DataSpace{Name: k.File().Space, Problem: p.(*recorded.Problem)}, File: k.File(),
			Strategy: *strategy, Evaluations: *evals, Seeds: list,
		}
		observe, end := a.counterOf("searches", len(list), 0)
		b.Observe = observe
		r, err := b.Run(c.Context())
		end()
		if err != nil {
			return err
		}
		if *asJSON {
			return printJSON(a.stdout, r)
		}
		measured, stopped, kernel, race := 0, 0, 0.0, 0.0
		for _, s := range r.Seeds {
			measured, stopped, kernel, race = measured+s.Measured, stopped+s.Stopped, kernel+s.Kernel, race+s.KernelRace
		}
		n := float64(len(r.Seeds))
		fmt.Fprintf(a.stdout, "%s, strategy %s, %d seeds of %d evaluations\n", r.Space, r.Strategy, len(r.Seeds), r.Evaluations)
		fmt.Fprintf(a.stdout, "stopped   %.1f%% of the configurations that were measured\n", 100*float64(stopped)/float64(max(measured, 1)))
		fmt.Fprintf(a.stdout, "kernels   %.2f s of %.2f s a search: %.1f%% saved\n", race/n, kernel/n, 100*r.KernelSaved)
		fmt.Fprintf(a.stdout, "all       %.1f%% saved, with compiling and the rest\n", 100*r.AllSaved)
		_, err = fmt.Fprintf(a.stdout, "picks     %d of %d changed; by every repeat the worst costs %.4f times the other\n", r.Changed, len(r.Seeds), r.Loss)
		return err
	}
	return c
}
