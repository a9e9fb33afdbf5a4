package main

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"tune/kernels"
	"tune/kernels/user"
	"tune/search/bench"
	"tune/search/strategies"
	"tune/space"
)

func (a *app) benchCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "bench [KERNEL]",
		Short: "Tune a kernel at several shapes and compare it with libraries, or compare strategies",
		Long: `bench tunes a kernel with measured costs at each shape. It measures the result in turns with the kernel's baseline and
with the installed libraries that compute the same, which are loaded at run time: for gemm-f32 OpenBLAS, BLIS and oneDNN (on
Debian the packages libopenblas0, libblis4 and libdnnl2), and with layout=nt ggml (tune peers fetch); for gemm-i8 and gemm-bf16
oneDNN; for qgemm, attention, rowwise and, with layout=nt, gemm-bf16 and gemm-f16 ggml. Without --peers, those that are not
installed are left out. The file of your own kernel may name functions to compare with, as source.peers. A library that
can compute a kernel in several ways has a column for each way. The ratio is estimated from pairs of measurements, with its 95 % interval.`,
		Example: `  tune bench gemm-f32 --shapes "m=128,n=128,k=128;m=512,n=512,k=512" --peers openblas,blis,dnnl --budget 1m
  tune bench gemm-f32 --shapes m=1,n=4096,k=4096,layout=nt --peers ggml
  tune bench elementwise-f32 --shapes op=relu,n=33554432 --json
  tune bench my.yaml --shapes "n=1000;n=100000" --peers blas
  tune bench search treehash`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return fileOr(exactly(1, "a kernel"))(c, args)
		},
	}
	a.benchKernel(c)
	for _, comparison := range []*cobra.Command{
		a.benchSearchCommand(), a.benchRaceCommand(), a.benchTasksCommand(), a.benchImportanceCommand(), a.benchObjectivesCommand(), a.benchAblateCommand(),
	} {
		a.progressFlags(comparison)
		c.AddCommand(comparison)
	}
	c.AddCommand(a.benchLibraryCommand())
	return c
}

func (a *app) benchSearchCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "search [KERNEL]",
		Short: "Compare strategies at an equal number of evaluations",
		Long: `search runs each strategy on a kernel's space with each of the seeds 1..N. It prints the mean over seeds of the best cost
so far, and for how many seeds each strategy ended below random search. If a kernel has cheap scores, they are used as in a
run. Each counts as an evaluation, but only full scores of checked candidates count as costs. Nothing is written to disk.

With --data it runs the strategies on measured spaces, whose optimum is known. For each space and over all spaces it prints
the mean over seeds of optimum / best so far with its standard error, the share of seeds that found the optimum, and the
evaluations that were wasted on failed configurations. More files may follow the first.`,
		Example: `  tune bench search treehash --seeds 20 --evals 500 --strategies evolve,random,grid
  tune bench search --data tuning-data --seeds 100 --evals 500 --chart curves.svg
  tune bench search --data tuning-data --strategies auto,auto:lead=50,batch=16
  tune bench search --data tuning-data --spaces 'gemm*,convolution*' --json
  tune bench search --data convolution_A4000.json.gz --from convolution_A100.json.gz`,
		Args: cobra.ArbitraryArgs,
	}
	var o searchBench
	o.data.add(c)
	addSettings(c.Flags(), "shape", "jobs")
	c.Flags().Lookup("jobs").Usage = "with --data: `number` of searches that run at once, otherwise of candidates that are evaluated at once (default: one for each core); with exact costs it does not change the result"
	seeds := c.Flags().Int("seeds", 20, "`number` of seeds")
	c.Flags().IntVar(&o.evals, "evals", 500, "`number` of evaluations of a run")
	names := c.Flags().StringSlice("strategies", strategies.Names(), "`strategies` to compare; those with constants as in auto,auto:lead=50,batch=16,evolve")
	c.Flags().BoolVar(&o.asJSON, "json", false, "print the curves as JSON")
	c.RunE = func(c *cobra.Command, args []string) error {
		set, err := readSettings(c.Flags(), "", a.environ)
		if err != nil {
			return usage(err)
		}
		o.jobs = cmp.Or(set.jobs, runtime.NumCPU())
		if err := o.data.check(c); err != nil {
			return usage(err)
		}
		if o.seeds, err = firstSeeds(*seeds); err != nil {
			return usage(err)
		}
		if err := atLeastOne("evals", o.evals); err != nil {
			return usage(err)
		}
		if o.strategies, err = strategyTexts(*names); err != nil {
			return usage(fmt.Errorf("--strategies: %w", err))
		}
		if len(o.data.data) == 0 {
			if err := exactly(1, "a kernel, or --data and measured spaces")(c, args); err != nil {
				return err
			}
			return a.benchSearch(c, &o, args[0], set)
		}
		o.data.data = append(o.data.data, args...)
		return a.benchData(c, &o.data, bench.Data{Strategies: o.strategies, Seeds: o.seeds, Evaluations: o.evals, Jobs: o.jobs}, o.asJSON)
	}
	return c
}

// searchBench is what tune bench search is asked for.
type searchBench struct {
	data        dataFlags
	seeds       []uint64
	evals, jobs int
	strategies  []string // in their full text, each once
	asJSON      bool
}

// benchSearch compares strategies on a kernel.
func (a *app) benchSearch(c *cobra.Command, o *searchBench, kernel string, set settings) error {
	k, shape, done, err := a.kernelAt(kernel, set)
	if err != nil {
		return err
	}
	defer done()
	b := bench.Search{Kernel: k, Shape: shape, Strategies: o.strategies, Seeds: o.seeds, Evaluations: o.evals, Jobs: o.jobs}
	observe, end := a.counterOf("runs", len(b.Strategies)*len(b.Seeds), 0)
	b.Observe = observe
	curves, err := b.Run(c.Context())
	end()
	if err != nil {
		return err
	}
	if o.asJSON {
		return printJSON(a.stdout, curves)
	}
	return a.printCurves(curves, len(o.seeds), space.Unit(k.Info().Unit))
}

// fileFlag defines the flag that names the file of a kernel as tune run does, in place of an argument. fileOr checks the arguments of
// such a command, and kernelNamed returns the kernel that either names; "" for none.
func fileFlag(c *cobra.Command) *string {
	return c.Flags().StringP("config", "c", "", "YAML `file` of your own kernel, which may be the argument as well")
}

func fileOr(want cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		switch f := c.Flags().Lookup("config"); {
		case !f.Changed:
			return want(c, args)
		case len(args) > 0:
			return usage(fmt.Errorf("--config: %s is given as well, and only one kernel can be measured", quoted(args[0])))
		case !isYAML(f.Value.String()):
			return usage(fmt.Errorf("--config: %s: want the YAML file of your own kernel", quoted(f.Value.String())))
		}
		return nil
	}
}

func kernelNamed(args []string, file string) string {
	if len(args) > 0 {
		return args[0]
	}
	return file
}

// kernelOf returns the kernel that an argument names: one that tune knows, or that of a YAML file. done ends what it has started.
func (a *app) kernelOf(name string) (k kernels.Kernel, done func(), err error) {
	if !isYAML(name) {
		k, err = a.lookup(name)
		return k, func() {}, usage(err)
	}
	if err := present(name); err != nil {
		return nil, nil, usage(err)
	}
	if err := noKernel(name); err != nil {
		return nil, nil, usage(err)
	}
	own, err := user.Load(name)
	if err != nil {
		return nil, nil, usage(err)
	}
	if err := a.builtIn(own); err != nil {
		own.Close()
		return nil, nil, err
	}
	own.On(a.host)
	a.table = append(slices.Clone(a.table), own)
	return own, func() { a.end(own) }, nil
}

// kernelAt returns the kernel that an argument names, and the shape of the settings. done is that of kernelOf.
func (a *app) kernelAt(name string, set settings) (k kernels.Kernel, shape kernels.Shape, done func(), err error) {
	k, done, err = a.kernelOf(name)
	if err != nil {
		return nil, shape, nil, err
	}
	shape, err = kernels.ParseShape(k.Info().Shape, set.shape)
	if err != nil {
		done()
		return nil, shape, nil, set.blame("shape", err)
	}
	return k, shape, done, nil
}

// strategyTexts returns the full texts of strategies, which are all different.
func strategyTexts(names []string) ([]string, error) {
	var texts []string
	for _, text := range strategies.Split(names) {
		if strings.ContainsAny(text, " ;") {
			return nil, fmt.Errorf("%q is no strategy: write commas between several", text)
		}
		s, err := strategies.Parse(text)
		if err != nil {
			return nil, err
		}
		if slices.Contains(texts, s.Text()) {
			return nil, fmt.Errorf("%s is given twice", s.Text())
		}
		texts = append(texts, s.Text())
	}
	return texts, nil
}

// firstSeeds returns as many seeds as the flag --seeds says: 1, 2, 3 and so on.
func firstSeeds(n int) ([]uint64, error) {
	if err := atLeastOne("seeds", n); err != nil {
		return nil, err
	}
	seeds := make([]uint64, n)
	for i := range seeds {
		seeds[i] = uint64(i) + 1
	}
	return seeds, nil
}

// atLeastOne reports the number of a flag that is too small.
func atLeastOne(flag string, n int) error {
	if n < 1 {
		return fmt.Errorf("--%s: %d: want a whole number, 1 or more", flag, n)
	}
	return nil
}

// printCurves prints a table in Markdown, as the README shows it.
func (a *app) printCurves(curves []bench.Curve, seeds int, unit space.Unit) error {
	w := tabwriter.NewWriter(a.stdout, 0, 8, 1, ' ', 0)
	row := func(cells ...string) { fmt.Fprintf(w, "| %s\t|\n", strings.Join(cells, "\t| ")) }
	head := []string{"strategy"}
	for _, n := range curves[0].At {
		head = append(head, fmt.Sprintf("mean @%d", n))
	}
	head = append(head, "best", "median", "worst", "below random")
	row(head...)
	row(slices.Repeat([]string{"---"}, len(head))...)
	random := slices.IndexFunc(curves, func(c bench.Curve) bool { return c.Strategy == "random" })
	for _, c := range curves {
		cells := []string{c.Strategy}
		for _, m := range c.Mean {
			cells = append(cells, unit.Words(m))
		}
		wins := "–"
		if random >= 0 && c.Strategy != "random" {
			wins = fmt.Sprintf("%g of %d", c.Wins(curves[random]), seeds)
		}
		row(append(cells, unit.Words(slices.Min(c.Best)), unit.Words(c.Median()), unit.Words(slices.Max(c.Best)), wins)...)
	}
	return w.Flush()
}
