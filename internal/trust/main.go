// Command trust shows what tune's promises are worth: it tries kernels that cheat and honest ones on it, and says what became
// of each.
//
//	go run ./internal/trust             all of it, as make trust does
//	go run ./internal/trust cheats      the table of cheats and honest kernels
//	go run ./internal/trust cheats --only own-clock,honest-short
//	go run ./internal/trust cheats --quick
//
// The exit status is 1 where something is not as it should be. docs/trust.md says how to read the tables, and how to add a
// kernel.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/spf13/cobra"

	"tune/internal/trust/cheats"
	"tune/kernels/native/worker"
)

func main() {
	if worker.IsChild() {
		worker.Main()
	}
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

// part is one of the tables.
type part struct {
	name, doc string
	run       func(ctx context.Context, w io.Writer, o cheats.Options) error
}

var parts = []part{
	{"cheats", "kernels that cheat, make a mistake, or are honest, and what became of each", runCheats},
	// MERGE: {"power", "claims of the final measurement: A/A, and real gains", …} calls power.Run of internal/trust/power.
	// MERGE: {"memory", "memory over a long run", …} calls memcurve.Run of internal/trust/memcurve.
}

func runCheats(ctx context.Context, w io.Writer, o cheats.Options) error {
	failed, err := cheats.Run(ctx, w, o)
	if err == nil && failed > 0 {
		err = errFailed
	}
	return err
}

func command() *cobra.Command {
	var o cheats.Options
	o.Progress = func(format string, args ...any) { fmt.Fprintf(os.Stderr, "trust: "+format+"\n", args...) }
	root := &cobra.Command{Use: "trust", Short: "Show what tune's promises are worth", SilenceErrors: true, SilenceUsage: true, Args: cobra.NoArgs}
	flags := root.PersistentFlags()
	flags.BoolVar(&o.Quick, "quick", false, "less of it: what the tests try")
	flags.BoolVar(&o.JSON, "json", false, "JSON in place of tables")
	flags.StringVar(&o.Only, "only", "", "names of kernels, with commas between them")
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
