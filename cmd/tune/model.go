package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"tune"
	"tune/internal/plain"
	"tune/kernels"
	"tune/kernels/model"
	"tune/kernels/native"
	"tune/results"
	modellib "tune/results/model"
	"tune/space"
)

// modelBudget is the time for the library of a model where none is given.
const modelBudget = 20 * time.Minute

// modelFlags are the flags of the command model.
type modelFlags struct {
	options           model.Options
	family, name, out string
	align, list       bool
	peers             []string
	noPeers           bool
	measure           string
	asJSON, quiet     *bool
}

func (a *app) modelCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "model CONFIG",
		Short: "Tune the kernels of a language model, and write a library that runs its layers",
		Long: fmt.Sprintf(`model reads a config.json of Hugging Face, or the metadata of a GGUF file. It lists the kernels that a token of the model needs, with their
shapes and how often each is called: for decoding, with each batch and context, and for a prompt. Families: %s.

Each kernel and shape is searched in turn, and the time goes where it pays: by its share of a token. Then the best of each is measured in
pairs beside the plain form in C, beside the installed libraries and beside the machine's roof. The tables say what a token takes, before
and after. --list shows the kernels without measuring.

The folder of the library holds the sources, headers and a program, bench, that runs all layers of a step on random weights and compares it
with the sum of its kernels. All measurements are in its subfolder tuning: the same command continues a library that was
interrupted. The budget counts the time of all sessions together.

Formats of weights: %s.`, strings.Join(model.Families(), ", "), strings.Join(model.Quants(), ", ")),
		Example: "  tune model configs/models/0.5b.json --list\n  tune model config.json --quant q4_0 --contexts 512,4096 --batch 1,32 --budget 20m --out lib",
		Args:    exactly(1, "a model: a config.json or a GGUF file"),
	}
	var f modelFlags
	addSettings(c.Flags(), "budget", "evals", "jobs")
	c.Flags().Lookup("jobs").Usage = jobsUsage
	c.Flags().Lookup("budget").Usage = "wall `time` for the whole library, with a unit: 20m, 1h30m (default 20m, if evals is not given)"
	c.Flags().Lookup("evals").Usage = "`number` of evaluations for each kernel, in place of a budget"
	c.Flags().StringVar(&f.options.Quant, "quant", "", "`format` of the weights (default: that of most weights in a GGUF file, else q4_0)")
	c.Flags().IntSliceVar(&f.options.Contexts, "contexts", model.DefaultContexts, "`lengths` of the contexts to decode with, in tokens; 0 leaves decoding out")
	c.Flags().IntSliceVar(&f.options.Batches, "batch", model.DefaultBatches, "`numbers` of sequences that a step decodes")
	c.Flags().IntVar(&f.options.Prompt, "prompt", 512, "`number` of tokens of a prompt; 0 leaves the prompt out")
	c.Flags().IntVar(&f.options.Threads, "threads", 1, "`number` of threads that a kernel may use at most")
	c.Flags().BoolVar(&f.align, "align", false, "pad the intermediate size and the vocabulary so that rows are multiples of 64 bytes")
	c.Flags().StringVar(&f.family, "family", "", "`name` of the family whose layers the model has, where the file names another")
	c.Flags().StringVar(&f.name, "name", "", "`name` that the functions begin with (default: made from the name of the file)")
	c.Flags().StringVarP(&f.out, "out", "o", "", "`folder` of the library; it is made (default: the name of the functions)")
	c.Flags().StringSliceVar(&f.peers, "peers", nil, "`names` of the libraries to measure beside (default: all that are installed)")
	c.Flags().BoolVar(&f.noPeers, "no-peers", false, "measure beside no libraries")
	c.Flags().StringVar(&f.measure, "measure", "", "roughly how long each series of a final measurement may take, a `time` with a unit (default: what the budget allows; 2s with --evals)")
	c.Flags().BoolVar(&f.list, "list", false, "list the kernels, shapes and calls, and measure nothing")
	f.asJSON, f.quiet = a.outputFlags(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		set, err := readSettings(c.Flags(), "", a.environ)
		if err != nil {
			return usage(err)
		}
		here := results.ThisMachine()
		plan, err := a.modelPlan(args[0], &f, here.Fingerprint)
		if err != nil {
			return usage(err)
		}
		if f.list {
			return a.listModel(plan, *f.asJSON)
		}
		o := modellib.Options{
			Plan: plan, Dir: f.out, Find: a.catalog(false).Lookup, Budget: set.budget.Wall, Evaluations: set.budget.Evaluations, Jobs: set.jobs,
			Peers: f.peers, NoPeers: f.noPeers, Machine: here, Version: tune.Version(), Began: time.Now(),
		}
		if o.Dir == "" {
			o.Dir = plan.Name
		}
		if f.measure != "" {
			if o.Measure, err = parseDuration(f.measure); err != nil {
				return usage(fmt.Errorf("--measure: %w", err))
			}
		}
		switch {
		case o.Budget > 0 && o.Evaluations > 0:
			return usage(errors.New("--budget and --evals exclude each other here: give one of them"))
		case f.noPeers && len(f.peers) > 0:
			return usage(errors.New("--peers and --no-peers exclude each other: give one of them"))
		case o.Budget == 0 && o.Evaluations == 0:
			o.Budget = modelBudget
		}
		if o.Jobs == 0 {
			o.Jobs = runtime.NumCPU()
		}
		return a.makeModel(c.Context(), o, f)
	}
	return c
}

// modelPlan reads a model and plans what the flags ask for. machine is the fingerprint of the one that measures.
func (a *app) modelPlan(path string, f *modelFlags, machine string) (*modellib.Plan, error) {
	if f.family != "" && !slices.Contains(model.Families(), f.family) {
		return nil, fmt.Errorf("--family %s: want one of %s%s", f.family, strings.Join(model.Families(), ", "), space.DidYouMean(f.family, model.Families()))
	}
	if err := takes(path, wantsModel); err != nil {
		return nil, err
	}
	c, err := model.ReadFile(path, f.family)
	if err != nil {
		return nil, fileFault{err}
	}
	o := f.options
	if slices.Equal(o.Contexts, []int{0}) {
		o.Contexts = nil
	}
	if o.Quant != "" && !slices.Contains(model.Quants(), o.Quant) {
		return nil, fmt.Errorf("--quant %s: want one of %s%s", o.Quant, strings.Join(model.Quants(), ", "), space.DidYouMean(o.Quant, model.Quants()))
	}
	if o.Quant == "" {
		o.Quant = "q4_0"
		if slices.Contains(model.Quants(), c.Quant) {
			o.Quant = c.Quant
		}
	}
	if o.Threads < 1 || o.Threads > 256 {
		return nil, fmt.Errorf("--threads %d: want 1 to 256", o.Threads)
	}
	if o.Prompt < 0 {
		return nil, fmt.Errorf("--prompt %d: want 0 or more", o.Prompt)
	}
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("--%w", err)
	}
	if o.Prompt == 0 && len(o.Contexts)*len(o.Batches) == 0 {
		return nil, errors.New("there is nothing to do: give --contexts with numbers other than 0, or --prompt")
	}
	if f.name != "" {
		if err := native.CheckLibraryName(f.name); err != nil {
			return nil, fmt.Errorf("--name: %w", err)
		}
	}
	var padded []string
	if f.align {
		padded = c.Align()
	}
	plan, err := modellib.NewPlan(c, o, f.name, a.catalog(false).Lookup, machine)
	if _, placed := errors.AsType[*model.Fault](err); placed {
		return nil, fileFault{err}
	}
	if err != nil {
		return nil, fileFault{fmt.Errorf("%s: %w", path, err)}
	}
	plan.Notes = append(plan.Notes, padded...)
	return plan, nil
}

// makeModel makes the library of a model.
func (a *app) makeModel(ctx context.Context, o modellib.Options, f modelFlags) error {
	n := newNotice(a, *f.quiet)
	o.Observe = n.tasks
	report, err := modellib.Make(ctx, o)
	n.end()
	if errors.Is(err, context.Canceled) {
		return &exitError{exitInterrupted, fmt.Errorf("interrupted: everything that was measured is kept in %s: the same command continues", o.Dir)}
	}
	if peers, ok := errors.AsType[*modellib.PeersError](err); ok {
		return usage(fmt.Errorf("--peers: %w", peers))
	}
	if err != nil {
		return unmade("out", o.Dir, err)
	}
	if *f.asJSON {
		return printJSON(a.stdout, report)
	}
	if err := report.Write(a.stdout); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.stdout, "library  %s after %s: 'make -C %[1]s' builds it, '%[1]s/bench --tokens 32' runs the layers\n", report.Dir, space.Duration(report.Elapsed).Round(time.Second))
	return err
}

// listModel prints the kernels of a model.
func (a *app) listModel(plan *modellib.Plan, asJSON bool) error {
	if asJSON {
		return printJSON(a.stdout, plan)
	}
	m := plan.Model
	fmt.Fprintf(a.stdout, "model    %s, of the family %s: %d layers, embed %d, %d heads of %d, %d of keys and values, intermediate %d, vocabulary %d\n",
		m.Name, m.Family, m.Layers, m.Embed, m.Heads, m.HeadDim, m.KVHeads, m.Intermediate, m.Vocab)
	for _, s := range plan.Scenarios {
		fmt.Fprintf(a.stdout, "\n%s\n", s.Name)
		w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "operation\tkernel\tcalls a step\tshape\tin symbols")
		weights := 0.0
		for _, o := range s.Operations {
			fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\n", o.Role, o.Kernel, o.Calls, o.Shape, o.Symbols)
			weights += o.Weights * float64(o.Calls)
		}
		if err := w.Flush(); err != nil {
			return err
		}
		fmt.Fprintf(a.stdout, "weights  %.1f MB a step of %s\n", weights/1e6, plain.Count(s.Tokens, "token"))
	}
	fmt.Fprintf(a.stdout, "\ntasks    %d: kernels at different shapes\n", len(plan.Tasks))
	for _, n := range plan.Notes {
		fmt.Fprintf(a.stdout, "note     %s\n", plain.Line(n))
	}
	return nil
}

// verifyModel verifies the library of a model and prints what was found.
func (a *app) verifyModel(ctx context.Context, dir string, checks int, asJSON, quiet bool) error {
	n := newNotice(a, quiet)
	n.brief = true
	v, err := modellib.Verify(ctx, modellib.VerifyOptions{Dir: dir, Find: a.catalog(false).Lookup, Seeds: tune.FreshSeeds(checks), Observe: n.tasks})
	n.end()
	if _, other := errors.AsType[*modellib.MismatchError](err); other || kernels.AsRejection(err) != nil {
		return &exitError{exitFailed, fmt.Errorf("%w: verification failed", err)}
	}
	if err != nil {
		return err
	}
	if asJSON {
		return printJSON(a.stdout, v)
	}
	fmt.Fprintf(a.stdout, "ok      %s are what the measurements make\n", plain.Count(v.Files, "file"))
	_, err = fmt.Fprintf(a.stdout, "ok      %s, right in %s\n", plain.Count(v.Kernels, "kernel"), plain.Count(v.Checks, "check"))
	return err
}
