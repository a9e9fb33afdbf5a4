package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"tune"
	"tune/internal/plain"
	"tune/kernels"
	"tune/kernels/user"
	"tune/results"
	"tune/results/library"
	"tune/results/session"
	"tune/space"
)

// libraryBudget is the time for a library where none is given.
const libraryBudget = 10 * time.Minute

func (a *app) libraryCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "library FILE.yaml",
		Short: "Tune a kernel for many shapes, and write a C library that chooses a version at each call",
		Long: `library makes a C library of a kernel that programs call with many shapes. The file lists the shapes, or ranges or a log of calls.

Some of the shapes are searched. The winners are the variants. They are measured in turns at all training shapes. Regret is how much
slower a choice is than the best variant; the few variants with the least regret are kept. At each call, a decision tree over the shape, or
the predicted costs of the variants, decides which one runs. The certificate gives the regret at shapes that played no part in the choice, each
measured in pairs.

The folder of the library holds a header, the sources, a Makefile, a self-test and a benchmark, and README.md says how to link it.
All measurements are in its subfolder tuning: the same command continues a library that was interrupted, and a longer --budget
measures more shapes. The budget counts the time of all sessions together.

With blas: true in the file, the library is also a BLAS for products of float32, cblas_sgemm and sgemm_: programs that are linked to
another BLAS call it if LD_PRELOAD names it. Its functions are nn and nt.

Kernels that can be called at any shape: gemm-f32, gemm-bf16, gemm-f16, gemm-i8, qgemm, elementwise-f32, rowwise, attention, and your
own in C or C++.
If variants need the weights in other layouts, a function of the library rearranges them, once for all calls. A task names your kernel
by its file, such as kernel: mine.yaml. A size that your function takes as an argument may differ from call to call; all others stand
under fixed. Your reference becomes the plain form, which runs where no variant may.` + aboutConsent,
		Example: "  tune library configs/libraries/sgemm.yaml --budget 30m --out lib\n  tune library mine.yaml --out lib --update --budget 5m",
		Args:    exactly(1, "the file of a library, such as mine.yaml"),
	}
	addSettings(c.Flags(), "budget", "evals", "jobs")
	c.Flags().Lookup("jobs").Usage = jobsUsage
	c.Flags().Lookup("budget").Usage = "wall `time` for the whole library, with a unit: 10m, 1h30m (default 10m, if evals is not given)"
	c.Flags().Lookup("evals").Usage = "`number` of evaluations for each shape that is searched, in place of a budget; then every shape is measured"
	out := c.Flags().StringP("out", "o", "", "`folder` of the library; it is made (default: the name in the file)")
	measure := c.Flags().String("measure", "", "roughly how long the measurement of a shape may take, a `time` with a unit (default: what the budget allows; 2s with --evals)")
	update := c.Flags().Bool("update", false, "take the tasks and shapes of the file into the library that the folder holds; what it has is kept, and the budget is that of the update")
	asJSON, quiet := a.outputFlags(c)
	yes := addYes(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		set, err := readSettings(c.Flags(), "", a.environ)
		if err != nil {
			return usage(err)
		}
		f, err := readLibrary(args[0])
		if err != nil {
			return err
		}
		find, done := a.libraryKernels(*yes)
		defer done()
		here := results.ThisMachine()
		plan, err := f.Plan(find, here.Fingerprint)
		if err != nil {
			return ofFile(err)
		}
		o := library.Options{
			Plan: plan, Dir: *out, Kernels: find, Budget: set.budget.Wall, Evaluations: set.budget.Evaluations, Jobs: set.jobs,
			Update: *update, Machine: here, Version: tune.Version(), Began: time.Now(),
		}
		if o.Dir == "" {
			o.Dir = f.Name
		}
		if *measure != "" {
			if o.Measure, err = parseDuration(*measure); err != nil {
				return usage(fmt.Errorf("--measure: %w", err))
			}
		}
		if o.Budget > 0 && o.Evaluations > 0 {
			return usage(errors.New("--budget and --evals exclude each other here: give one of them"))
		}
		if o.Budget == 0 && o.Evaluations == 0 {
			o.Budget = libraryBudget
		}
		if o.Jobs == 0 {
			o.Jobs = runtime.NumCPU()
		}
		n := newNotice(a, *quiet)
		o.Observe = n.tasks
		report, err := library.Make(c.Context(), o)
		n.end()
		if errors.Is(err, context.Canceled) {
			return &exitError{exitInterrupted, fmt.Errorf("interrupted: everything that was measured is kept in %s: the same command continues", o.Dir)}
		}
		if err != nil {
			return unmade("out", o.Dir, err)
		}
		return a.showLibrary(report, *asJSON)
	}
	return c
}

// libraryKernels finds the kernels of a library: tune's own, and the user's. done ends what those have started.
func (a *app) libraryKernels(yes bool) (find library.Kernels, done func()) {
	var own []io.Closer
	find.Lookup = a.catalog(yes).Lookup
	find.Load = func(path string) (kernels.Kernel, error) {
		k, err := user.Load(path)
		if err != nil {
			return nil, err
		}
		own = append(own, k)
		return k.On(a.host), nil
	}
	find.Open = func(dir string) (kernels.Kernel, error) {
		found, err := a.catalog(yes).OfRun(dir, true)
		if err != nil {
			return nil, err
		}
		own = append(own, found)
		if k := found.Own(); k != nil {
			return k, nil
		}
		return nil, fmt.Errorf("%s: it has no copy of a kernel of a user, which every run of one keeps: make the library again", dir)
	}
	return find, func() {
		for _, k := range own {
			a.end(k)
		}
	}
}

// tasks shows how far the work on several tasks is.
func (n *notice) tasks(p session.Progress) {
	l, e := line{{p.Step, stays}}, event{Event: eventProgress, Phase: p.Step, Text: p.Text, Check: p.Done, Of: p.Of}
	if p.Of > 0 {
		l = append(l, part{fmt.Sprintf(" %d of %d", p.Done, p.Of), 8})
	}
	l = append(l, part{": " + p.Text, cut + 5}, part{" · " + p.Elapsed.Round(time.Second).String(), 4})
	if p.Left > 0 {
		l, e.Left = l.left("up to", p.Left), seconds(p.Left)
	} else if left, ok := n.pace.left(time.Now(), p.Step, p.Done, p.Of); ok {
		l, e.Left = l.left("about", left), seconds(left)
	}
	n.say(p.Step, l, e)
}

// showLibrary prints what a library came to.
func (a *app) showLibrary(r *library.Report, asJSON bool) error {
	if asJSON {
		return printJSON(a.stdout, r)
	}
	for i, f := range r.Functions {
		if i > 0 {
			fmt.Fprintln(a.stdout)
		}
		fmt.Fprintf(a.stdout, "function   %s_%s: %d of %d variants of %s\n", r.Name, f.Function, len(f.Variants), f.Candidates, f.Kernel)
		proof := "no choice of as many has less"
		if !f.Optimal {
			proof = fmt.Sprintf("no choice of as many has less than %s", share(f.Bound))
		}
		if f.Measured < f.Planned {
			fmt.Fprintf(a.stdout, "note       only %d of %d training shapes are measured, so that the choice knows little: the same command with a longer --budget measures the others\n", f.Measured, f.Planned)
		}
		by := "the tree"
		if f.Predicted {
			by = "predicted costs"
		}
		fmt.Fprintf(a.stdout, "training   %d shapes: regret %s with the best of them at each (%s), %s by %s\n", f.Measured, share(f.Training), proof, share(f.TreeRegret), by)
		if f.Plain > 0 {
			fmt.Fprintf(a.stdout, "note       at %s of them the plain form runs, because a constraint of the kernel leaves out the variant: more representatives near them find one\n", plain.Count(f.Plain, "shape"))
		}
		printWeak(a.stdout, "note       a passed check proves little: ", f.Weak)
		if c := f.Certificate; c != nil {
			fmt.Fprintf(a.stdout, "certified  at %d other shapes: mean regret %s [%s, %s], 95th percentile %s, worst %s\n",
				c.Shapes, share(c.Mean[0]), share(c.Mean[1]), share(c.Mean[2]), share(c.P95[0]), share(c.Worst[0]))
			if c.Unverified > 0 {
				fmt.Fprintf(a.stdout, "           the machine was not quiet at %d of them\n", c.Unverified)
			}
		}
		if len(f.Rules) > 0 {
			w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "rule\tvariants\tmean\t95th percentile\tworst")
			for _, rule := range f.Rules {
				fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\n", rule.Rule, rule.Variants, share(rule.Mean), share(rule.P95), share(rule.Worst))
			}
			if err := w.Flush(); err != nil {
				return err
			}
		}
	}
	_, err := fmt.Fprintf(a.stdout, "library    %s after %s: 'make -C %[1]s check' tests it, README.md says how to link it\n", r.Dir, space.Duration(r.Elapsed).Round(time.Second))
	return err
}

// share writes a regret as a percentage.
func share[T float64 | library.Share](v T) string {
	return strings.Replace(fmt.Sprintf("%.1f %%", 100*float64(v)), "+Inf %", "unknown", 1)
}

// checkLibrary reads the file of a library and prints its plan.
func (a *app) checkLibrary(path string, asJSON bool) error {
	f, err := readLibrary(path)
	if err != nil {
		return err
	}
	find, done := a.libraryKernels(false)
	defer done()
	plan, err := f.Plan(find, results.ThisMachine().Fingerprint)
	if err != nil {
		return ofFile(err)
	}
	if asJSON {
		return printJSON(a.stdout, plan)
	}
	for _, t := range plan.Tasks {
		fmt.Fprintf(a.stdout, "%s_%s: kernel %s", plan.Name, t.Function, t.Kernel)
		if t.Fixed != "" {
			fmt.Fprintf(a.stdout, " with %s", t.Fixed)
		}
		fmt.Fprintf(a.stdout, ", at most %s\n  searched   ", plain.Count(t.Variants, "variant"))
		var shapes []string
		for _, r := range t.Representatives {
			shapes = append(shapes, t.Called(t.Training[r].Fields))
		}
		fmt.Fprintf(a.stdout, "%s: %s\n  measured   %s\n  held out   %s\n", plain.Count(len(shapes), "shape"), strings.Join(shapes, "; "),
			plain.Count(len(t.Training), "shape"), plain.Count(len(t.HeldOut), "shape"))
	}
	return nil
}

// verifyLibrary verifies a library and prints what was found.
func (a *app) verifyLibrary(ctx context.Context, dir string, checks int, yes, asJSON, quiet bool) error {
	find, done := a.libraryKernels(yes)
	defer done()
	n := newNotice(a, quiet)
	n.brief = true
	v, err := library.Verify(ctx, library.VerifyOptions{
		Dir: dir, Kernels: find, Seeds: tune.FreshSeeds(checks), Observe: n.tasks,
	})
	n.end()
	if _, other := errors.AsType[*library.MismatchError](err); other || kernels.AsRejection(err) != nil {
		return &exitError{exitFailed, fmt.Errorf("%w: verification failed", err)}
	}
	if err != nil {
		return err
	}
	if asJSON {
		return printJSON(a.stdout, v)
	}
	fmt.Fprintf(a.stdout, "ok      %s are what the measurements make\n", plain.Count(v.Files, "file"))
	fmt.Fprintf(a.stdout, "ok      %s of %s, right in %s\n", plain.Count(v.Variants, "variant"), plain.Count(v.Functions, "function"), plain.Count(v.Checks, "check"))
	for _, function := range slices.Sorted(maps.Keys(v.Weak)) {
		printWeak(a.stdout, "note    a passed check of "+function+" proves little: ", v.Weak[function])
	}
	return nil
}
