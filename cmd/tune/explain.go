package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tune"
	"tune/internal/plain"
	"tune/kernels"
	"tune/kernels/treehash"
	"tune/results"
	"tune/space"
)

func (a *app) explainCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "explain POINT|SCHEDULE|DIR",
		Short: "Show what is built from a point, what limits its cost, and which parameters matter",
		Long: `explain shows what the generator of the tree hash builds from a point: how many slots each engine needs, a lower bound for every
schedule, and how far its own schedule is from that bound. Give a point as text, as runs print it, or give the schedule or
directory of a run, which also determine kernel and shape.

For a run of any other kernel, also your own, explain shows how its best point is built, its metrics, what mattered, the best cost with one
parameter at its default, and the least cost with each value of each parameter, those that matter most first. Where a kernel in C
states its operations or bytes, explain also shows their share of what this processor reaches (see tune machine). It compiles and runs nothing of the run.

With --pass it prints the result of one pass of the tree hash. The passes that make vector programs are:

` + treehash.DescribePasses() + `
The result of each pass after plan is executed on a few trees (after allocate as a program on the machine), and the first
wrong pass is named.`,
		Example: `  tune explain runs/treehash-20260102-150405-1
  tune explain runs/my-kernel-20260102-150405-1
  tune explain runs/treehash-20260102-150405-1/best.json --pass schedule
  tune explain runs/treehash-20260102-150405-1 --pass plan`,
		Args: exactly(1, "a point, or the file of a schedule, or the directory of a run"),
	}
	addSettings(c.Flags(), "kernel", "shape")
	c.Flags().Lookup("kernel").Usage = "`kernel` that the point is of (see tune list)"
	pass := c.Flags().String("pass", "", "print the result of the pass of this `name`")
	c.RunE = func(c *cobra.Command, args []string) error {
		set, err := readSettings(c.Flags(), "", a.environ)
		if err != nil {
			return usage(err)
		}
		kernel, shapeText, read, err := a.pointOf(args[0], set)
		if err != nil {
			return err
		}
		if dir := runOf(args[0]); dir != "" && !a.explains(kernel, shapeText) {
			if *pass != "" {
				return usage(fmt.Errorf("--pass: kernel %s has no passes: leave it out", kernel))
			}
			out := bufio.NewWriter(a.stdout)
			return errors.Join(a.explainRun(c.Context(), out, dir), out.Flush())
		}
		k, err := a.catalog(false).Lookup(kernel)
		if _, serr := os.Stat(args[0]); err != nil && serr == nil {
			return fmt.Errorf("%s: %w", args[0], err)
		} else if err != nil && isYAML(kernel) {
			return usage(fmt.Errorf("--kernel: %s is the file of a kernel: 'tune run %s' tunes it, and 'tune explain DIR' explains that run", kernel, plain.ShellWord(kernel)))
		} else if err != nil {
			return set.blame("kernel", err)
		}
		shape, err := kernels.ParseShape(k.Info().Shape, shapeText)
		if err != nil {
			return set.blame("shape", err)
		}
		problem, err := k.Problem(shape)
		if err != nil {
			return err
		}
		traits := problem.Traits()
		if traits.Explain == nil {
			return usage(fmt.Errorf("kernel %s has no generator to explain", kernel))
		}
		point, err := read(problem.Space())
		if err != nil {
			return err
		}
		if passes := traits.Passes(point); *pass != "" && !slices.Contains(passes, *pass) {
			return usage(fmt.Errorf("--pass: unknown pass %q: want one of %s%s", *pass, strings.Join(passes, ", "), space.DidYouMean(*pass, passes)))
		}
		out := bufio.NewWriter(a.stdout)
		if err := traits.Explain(c.Context(), out, point, *pass); err != nil {
			return errors.Join(out.Flush(), err)
		}
		return out.Flush()
	}
	return c
}

// runOf returns the run directory that an argument names, by itself or by the schedule in it; "" for any other argument.
func runOf(arg string) string {
	dir, err := runDir(arg)
	if err != nil || !isRunDir(dir) {
		return ""
	}
	return dir
}

// noRun refuses a YAML file, which describes a kernel or settings, and a file of a run, where a run is wanted.
func noRun(arg string) error {
	info, err := os.Stat(arg)
	switch {
	case err != nil || info.IsDir():
		return nil
	case isSource(arg) && fileOfRun(arg) == nil || isProse(arg) && !isRunDir(filepath.Dir(arg)):
		return ofFile(fmt.Errorf("%s is neither YAML nor JSON: want the directory of a run (see tune runs), or a file with results", arg))
	case !isYAML(arg):
		return fileOfRun(arg)
	}
	return ofFile(fmt.Errorf("%s is a YAML file, and no result of a run: give the directory of a run (see tune runs), or the %s in it", arg, tune.ScheduleName))
}

// fileOfRun refuses a file in the directory of a run where the run is wanted; nil for the schedule, which stands for the run, and for files
// that the run has not written.
func fileOfRun(arg string) error {
	dir, name := filepath.Split(filepath.Clean(arg))
	dir = filepath.Clean(dir)
	if info, err := os.Stat(arg); err != nil || info.IsDir() || name == tune.ScheduleName || !results.IsRun(dir) {
		return nil
	}
	if !results.IsOfRun(name) {
		return nil
	}
	return ofFile(fmt.Errorf("%s is a file of a run: name the directory of the run, %s", arg, dir))
}

// explains reports whether a kernel has a generator that explains what it builds.
func (a *app) explains(kernel, shapeText string) bool {
	k, err := a.catalog(false).Lookup(kernel)
	if err != nil {
		return false
	}
	shape, err := kernels.ParseShape(k.Info().Shape, shapeText)
	if err != nil {
		return false
	}
	problem, err := k.Problem(shape)
	return err == nil && problem.Traits().Explain != nil
}

// pointOf returns the kernel and the shape of a point, and what reads the point in the space that they give.
func (a *app) pointOf(arg string, set settings) (kernel, shape string, read func(*space.Space) (space.Point, error), err error) {
	info, err := os.Stat(arg)
	if err != nil {
		if !strings.Contains(arg, "=") {
			if none := absent(arg); none != nil {
				err = none
			}
			return "", "", nil, fmt.Errorf("%w, and a point is written as name=value, separated by spaces", err)
		}
		return set.kernel, set.shape, func(s *space.Space) (space.Point, error) {
			p, err := s.Parse(arg)
			return p, usage(err)
		}, nil
	}
	if err := noRun(arg); err != nil {
		return "", "", nil, err
	}
	if info.IsDir() {
		if arg, err = scheduleIn(arg); err != nil {
			return "", "", nil, err
		}
	}
	for _, name := range []string{"kernel", "shape"} {
		if flag := "--" + name; set.from[name] == flag {
			return "", "", nil, usage(fmt.Errorf("%s: %s already determines it: leave it out", flag, arg))
		}
	}
	schedule, err := results.ReadSchedule(arg)
	if err != nil {
		return "", "", nil, err
	}
	return schedule.Kernel, schedule.Shape, func(s *space.Space) (space.Point, error) {
		p, err := s.UnmarshalPoint(schedule.Point)
		if err != nil {
			return p, fmt.Errorf("%s: the point: %w", arg, err)
		}
		return p, nil
	}, nil
}
