// Command trust tests tune's promises: it tries kernels that cheat, and honest ones, and reports what became of each.
//
//	go run ./internal/trust             all of it, as make trust does
//	go run ./internal/trust cheats      the table of cheats and honest kernels
//	go run ./internal/trust power       how often the last measurement errs, and how often it finds a gain
//	go run ./internal/trust guard       how often tune guard errs, and how often it finds a slowdown
//	go run ./internal/trust memory      the memory of a simulated day
//	go run ./internal/trust cheats --only own-clock,honest-short
//	go run ./internal/trust cheats --quick
//
// The exit status is 1 if any result is not as it should be. docs/trust.md says how to read the tables, and how to add a kernel.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tune/internal/trust/cheats"
	"tune/internal/trust/memcurve"
	"tune/internal/trust/power"
)

func main() {
	if cheats.IsChild() {
		cheats.Main()
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := command().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "trust:", err)
		os.Exit(1)
	}
}

// errFailed says that a table has a line that is not as it should be.
var errFailed = errors.New("something is not as it should be: see the tables")

// options are the flags.
type options struct {
	cheats.Options
	runs  int      // contests of programs that are alike, and of slower ones; 0 leaves it to the part
	cases []string // of the contests; none are all
	seed  uint64   // of the first contest; the others have those that follow

	machines  []string // of the guards; none are both
	hyperfine string   // whether it is asked about the pairs of guards: "", too or only
}

// part is one of the tables.
type part struct {
	name, doc string
	run       func(ctx context.Context, w io.Writer, o options) error
}

var parts = []part{
	{"cheats", "kernels that cheat, make a mistake, or are honest, and what became of each", runCheats},
	{"power", "claims of the last measurement: of programs that are alike, of slower ones, and of real gains", runPower},
	{"guard", "what tune guard says of the same code, and of a slowdown of 3 %", runGuard},
	{"memory", "memory over a simulated day", runMemory},
}

func runCheats(ctx context.Context, w io.Writer, o options) error {
	failed, err := cheats.Run(ctx, w, o.Options)
	if err == nil && failed > 0 {
		err = errFailed
	}
	return err
}

// runPower holds many short contests to measure how often they err, which does not depend on their length, and fewer long ones to
// measure how often they find a gain.
func runPower(ctx context.Context, w io.Writer, o options) error {
	errs, gains := 500, 40
	if o.Quick {
		errs, gains = 20, 5
	}
	if o.runs > 0 {
		errs, gains = o.runs, max(o.runs/12, 1)
	}
	var all power.Report
	for _, p := range []power.Options{
		{Runs: errs, Limit: 3 * time.Second, Busy: true, Cases: []string{"alike", "slower"}},
		{Runs: gains, Limit: 30 * time.Second, Quiet: true, Busy: true, Cases: []string{"gain"}},
	} {
		if len(o.cases) > 0 {
			p.Cases = slices.DeleteFunc(p.Cases, func(name string) bool { return !slices.Contains(o.cases, name) })
		}
		if len(p.Cases) == 0 {
			continue
		}
		p.Seed = o.seed
		p.Observe = func(done, total int, outcome string) { o.Progress("contest %d of %d: %s", done, total, outcome) }
		out := w
		if o.JSON {
			out = io.Discard
		}
		r, err := power.Run(ctx, out, p)
		if err != nil {
			return err
		}
		all.Rows = append(all.Rows, r.Rows...)
	}
	if o.JSON {
		if err := json.NewEncoder(w).Encode(all); err != nil {
			return err
		}
	}
	if !all.OK() {
		return errFailed
	}
	return nil
}

// on chooses the machines that the flag names; without it those of the options stay.
func (o options) on(p *power.Options) error {
	if len(o.machines) == 0 {
		return nil
	}
	p.Quiet, p.Busy = false, false
	for _, m := range o.machines {
		switch m {
		case "alone":
			p.Quiet = true
		case "busy":
			p.Busy = true
		default:
			return fmt.Errorf("--machines: unknown machine %q: want alone, busy or both, with a comma between them", m)
		}
	}
	return nil
}

// runGuard holds guards with a minute each at most.
func runGuard(ctx context.Context, w io.Writer, o options) error {
	p := power.Options{Runs: o.runs, Seed: o.seed}
	switch o.hyperfine {
	case "":
	case "too":
		p.Hyperfine = true
	case "only":
		p.OnlyHyperfine = true
	default:
		return fmt.Errorf("--hyperfine: want too or only, not %q", o.hyperfine)
	}
	if err := o.on(&p); err != nil {
		return err
	}
	if o.Quick && p.Runs == 0 {
		p.Runs = 3
	}
	p.Observe = func(done, total int, outcome string) { o.Progress("guard %d of %d: %s", done, total, outcome) }
	out := w
	if o.JSON {
		out = io.Discard
	}
	rows, err := power.Guard(ctx, out, p)
	if err == nil && o.JSON {
		err = json.NewEncoder(w).Encode(rows)
	}
	if err == nil && !p.OnlyHyperfine && slices.ContainsFunc(rows, func(r power.GuardRow) bool { return !r.OK }) {
		err = errFailed
	}
	return err
}

func runMemory(ctx context.Context, w io.Writer, o options) error {
	p := memcurve.Options{JSON: o.JSON}
	if o.Quick {
		p.Evaluations = 100_000
	}
	return memcurve.Run(ctx, w, p)
}

func command() *cobra.Command {
	var o options
	o.Progress = func(format string, args ...any) { fmt.Fprintf(os.Stderr, "trust: "+format+"\n", args...) }
	root := &cobra.Command{Use: "trust", Short: "Show what tune's promises are worth", SilenceErrors: true, SilenceUsage: true, Args: cobra.NoArgs}
	flags := root.PersistentFlags()
	flags.BoolVar(&o.Quick, "quick", false, "less of it: what the tests try")
	flags.BoolVar(&o.JSON, "json", false, "JSON in place of tables")
	flags.StringVar(&o.Only, "only", "", "names of kernels, with commas between them")
	flags.IntVar(&o.runs, "runs", 0, "contests of the part power, 500 by default, or guards of each case of the part guard, 200 by default")
	flags.Uint64Var(&o.seed, "seed", 1, "of the first contest of the parts power and guard; the others have those that follow")
	flags.StringSliceVar(&o.cases, "cases", nil, "cases of the part power: "+strings.Join(power.Cases(), ", "))
	flags.StringSliceVar(&o.machines, "machines", nil, "part guard: alone, busy, or both, with a comma between them (default both)")
	flags.StringVar(&o.hyperfine, "hyperfine", "", "part guard: what hyperfine says of the same pairs, as programs, too; or only that, with =only")
	flags.Lookup("hyperfine").NoOptDefVal = "too"
	all := func(c *cobra.Command, _ []string) error {
		var failures []error
		for _, p := range parts {
			if err := p.run(c.Context(), os.Stdout, o); err != nil {
				failures = append(failures, fmt.Errorf("%s: %w", p.name, err))
			}
		}
		return errors.Join(failures...)
	}
	root.RunE = all
	root.AddCommand(&cobra.Command{Use: "all", Short: "all tables", Args: cobra.NoArgs, RunE: all})
	for _, p := range parts {
		root.AddCommand(&cobra.Command{Use: p.name, Short: p.doc, Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error {
			return p.run(c.Context(), os.Stdout, o)
		}})
	}
	return root
}
