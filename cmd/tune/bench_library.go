package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"tune/internal/plain"
	"tune/results/library"
)

func (a *app) benchLibraryCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "library FILE.yaml",
		Short: "Compare a library of kernels with other libraries",
		Long: `library measures a library that 'tune library FILE.yaml' made beside the installed libraries that compute the same, at shapes
that it was not tuned for. They are drawn from the ranges of the file, with a seed of their own; of a log of calls they are those
that were held out, and of listed shapes all. At each shape the function is called as programs call it, with its dispatcher, and
takes turns with the others. The library is written again from what was measured and built by make in a temporary folder.

A ratio says how many times as fast the library is as another one. The row "best" is about the fastest of the others at each shape.
A library that gives wrong results at a shape is not compared with there, and a line below the table says so.`,
		Example: "  tune bench library configs/libraries/sgemm.yaml --dir lib --samples 200 --seed 7\n  tune bench library mine.yaml --peers openblas,blis --json",
		Args:    exactly(1, "the file of a library, such as mine.yaml"),
	}
	dir := c.Flags().String("dir", "", "`folder` of the library (default: the name in the file)")
	samples := c.Flags().Int("samples", 50, "`number` of shapes that are drawn from the ranges of a function")
	seed := c.Flags().String("seed", "2", "`seed` of the shapes; another one than that of the library gives other shapes")
	peers := c.Flags().StringSlice("peers", nil, "`names` of libraries to compare with, which have to be installed (default: all that are)")
	limit := c.Flags().String("measure", "2s", "roughly how long the measurement of a shape may take, a `time` with a unit")
	asJSON, quiet := a.outputFlags(c)
	yes := addYes(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		f, err := readLibrary(args[0])
		if err != nil {
			return err
		}
		find, done := a.libraryKernels(*yes)
		defer done()
		b := library.Beside{File: f, Dir: *dir, Kernels: find, Samples: *samples, Names: *peers, Began: time.Now()}
		if b.Dir == "" {
			b.Dir = f.Name
		}
		if b.Seed, err = parseSeed(*seed); err != nil {
			return usage(fmt.Errorf("--seed: %w", err))
		}
		if b.Limit, err = parseDuration(*limit); err != nil {
			return usage(fmt.Errorf("--measure: %w", err))
		}
		if err := atLeastOne("samples", b.Samples); err != nil {
			return usage(err)
		}
		n := newNotice(a, *quiet)
		b.Observe = n.tasks
		results, err := b.Run(c.Context())
		n.end()
		if err != nil {
			return err
		}
		if *asJSON {
			err = printJSON(a.stdout, results)
		} else {
			err = a.printBeside(results)
		}
		if err == nil && !slices.ContainsFunc(results, func(r library.BesideResult) bool { return len(r.Rows) > 0 }) {
			err = errors.New("no other library could be compared with at any shape: choose others by --peers")
		}
		return err
	}
	return c
}

// printBeside prints tables in Markdown, one for each function.
func (a *app) printBeside(results []library.BesideResult) error {
	for i, r := range results {
		if i > 0 {
			fmt.Fprintln(a.stdout)
		}
		fmt.Fprintf(a.stdout, "%s at %s\n\n", r.Function, plain.Count(len(r.Rows), "shape"))
		if len(r.Rows) > 0 {
			if err := a.printRatios(r); err != nil {
				return err
			}
		}
		if r.Unverified > 0 {
			fmt.Fprintf(a.stdout, "\nThe machine was not quiet at %d of them.\n", r.Unverified)
		}
		for _, name := range slices.Sorted(maps.Keys(r.LeftOut)) {
			fmt.Fprintf(a.stdout, "without %s: %s\n", name, r.LeftOut[name])
		}
	}
	return nil
}

// printRatios prints the table of a function.
func (a *app) printRatios(r library.BesideResult) error {
	w := tabwriter.NewWriter(a.stdout, 0, 8, 1, ' ', 0)
	fmt.Fprintln(w, "| beside\t| shapes\t| geometric mean\t| 5th percentile\t| worst\t| not slower at\t|")
	fmt.Fprintln(w, "| ---\t| ---:\t| ---:\t| ---:\t| ---:\t| ---:\t|")
	for _, name := range library.PeersInOrder(r) {
		p := r.Peers[name]
		fmt.Fprintf(w, "| %s\t| %d\t| %.3f\t| %.3f\t| %.3f\t| %s\t|\n", name, p.Shapes, p.Mean, p.P5, p.Worst, share(p.Ahead))
	}
	return w.Flush()
}
