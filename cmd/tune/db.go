package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tune"
	"tune/internal/files"
	"tune/internal/plain"
	"tune/kernels"
	"tune/kernels/native"
	"tune/kernels/recorded"
	"tune/results"
	"tune/results/db"
	"tune/space"
)

// The index of runs is where the setting db says, and nowhere if that is off.
const dbOff = "off"

// addDB defines the flags of commands that use the index of runs. They keep --db among their settings.
func addDB(flags *pflag.FlagSet) {
	addSettings(flags, "db")
	flags.Bool("no-db", false, "do not use the index of runs; the same as --db off")
}

// indexPath returns where the index is; "" where the user wants none, or nothing says where it could be.
func (a *app) indexPath(flags *pflag.FlagSet, set settings) (string, error) {
	no, err := flags.GetBool("no-db")
	switch {
	case err != nil:
		return "", err
	case no && set.from["db"] == "--db":
		return "", usage(errors.New("--db and --no-db exclude each other: give one of them"))
	case no || set.db == dbOff:
		return "", nil
	}
	return cmp.Or(set.db, db.DefaultPath(a.getenv)), nil
}

// noIndex says why a command has no index of runs, and what gives it one.
func noIndex(flags *pflag.FlagSet, set settings) error {
	no, err := flags.GetBool("no-db")
	switch {
	case err != nil:
		return err
	case no:
		return errors.New("the index of runs is switched off by --no-db: leave that out")
	case set.db == dbOff:
		return fmt.Errorf("the index of runs is switched off (%s): name its file by --db", set.from["db"])
	}
	return errors.New("nothing says where the index of runs is: set HOME or XDG_DATA_HOME, or name its file by --db")
}

// neededIndex is indexPath for a command that cannot do without the index.
func (a *app) neededIndex(flags *pflag.FlagSet, set settings) (string, error) {
	path, err := a.indexPath(flags, set)
	if err == nil && path == "" {
		err = usage(noIndex(flags, set))
	}
	return path, err
}

// getenv returns the value of a variable of the environment that the command was started with; "" for none.
func (a *app) getenv(name string) (value string) {
	for _, pair := range a.environ {
		if v, ok := strings.CutPrefix(pair, name+"="); ok {
			value = v
		}
	}
	return value
}

// remember enters a run into the index. The run directory holds everything, so that a fault is no more than a note. An interrupted run
// is entered too.
func (a *app) remember(ctx context.Context, path, dir string, report *tune.Report) {
	if path == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	index, err := db.Open(ctx, path)
	if err == nil {
		defer index.Close()
		err = index.Add(ctx, dir, factsOf(report))
	}
	if err != nil {
		a.note(fmt.Sprintf("note: the run is not in the index of runs: %s", inWords(err, false)))
	}
}

// factsOf returns what a sitting found out about its run; nil where that has to be read from the run. Outcomes after the one that reached
// a target count for the index, and not for the report.
func factsOf(r *tune.Report) *db.Facts {
	if r.Insight == nil || !r.Whole {
		return nil
	}
	return &db.Facts{Best: r.Best, Failures: r.Insight.Failures}
}

// keepRoofs puts the roofs of this machine into the index.
func (a *app) keepRoofs(ctx context.Context, path string, roofs []native.Roof) {
	if path == "" || len(roofs) == 0 {
		return
	}
	text, err := json.Marshal(roofs)
	if err == nil {
		var index *db.DB
		if index, err = db.Open(ctx, path); err == nil {
			defer index.Close()
			err = index.SetRoofs(ctx, results.ThisMachine(), text)
		}
	}
	if err != nil {
		a.note(fmt.Sprintf("note: the roofs are not in the index of runs: %s", inWords(err, false)))
	}
}

// fromIndex is the value of --from that stands for the index, and mostIndexed how many runs it stands for.
const (
	fromIndex   = "db"
	mostIndexed = 4
)

// expandFrom replaces "db" in --from by the runs that the index knows of a kernel: this processor and near shapes first.
func (a *app) expandFrom(c *cobra.Command, set settings, path string, from []string, k kernels.Kernel, shape kernels.Shape) ([]string, error) {
	ctx := c.Context()
	var out []string
	for _, f := range from {
		if f != fromIndex {
			out = append(out, f)
			continue
		}
		if path == "" {
			return nil, usage(fmt.Errorf("--from db: %w, or name runs instead", noIndex(c.Flags(), set)))
		}
		if err := namedIndex(set, path); err != nil {
			return nil, err
		}
		index, err := db.OpenExisting(ctx, path)
		if err != nil {
			return nil, fmt.Errorf("--from db: %w", err)
		}
		dirs, err := index.Sources(ctx, db.Query{Kernel: k.Info().Name, Version: k.Info().Version, Shape: shape.String(), Machine: results.ThisMachine()},
			mostIndexed, func(dir string) bool { return !db.Gone(dir) })
		if err = errors.Join(err, index.Close()); err != nil {
			return nil, fmt.Errorf("--from db: %w", err)
		}
		if len(dirs) == 0 {
			a.note(fmt.Sprintf("note: the index of runs knows no run of this version of %s: the run starts from nothing", k.Info().Name))
		}
		out = append(out, dirs...)
	}
	return out, nil
}

func (a *app) bestCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "best KERNEL|FILE",
		Short: "Show the best point that is known of a kernel at a shape",
		Long: `best answers from the index of runs, which lists every run. It measures nothing. Runs on this processor come first, and among them
those at the shape that you ask for, or else at the nearest one. best says which shape and which machine it took. Shapes are compared by
the ratios of their numbers; another layout or type counts as far away. Only runs of today's version of the kernel count. Of several runs at one shape,
one that is proven faster than its baseline comes before others, and then the one of the least cost. A run with
pinned values may have a slow baseline, so it counts as proven only if a run without pinned values is proven too.`,
		Example: "  tune best gemm-f32 --shape m=512,n=512,k=512\n  tune best my.yaml --json",
		Args:    exactly(1, "a kernel, or the file of your own"),
	}
	addSettings(c.Flags(), "shape")
	addDB(c.Flags())
	asJSON := c.Flags().Bool("json", false, "print the answer as JSON")
	c.RunE = func(c *cobra.Command, args []string) error {
		set, err := readSettings(c.Flags(), "", a.environ)
		if err != nil {
			return usage(err)
		}
		k, shape, done, err := a.kernelAt(args[0], set)
		if err != nil {
			return a.namedOwn(c, set, args[0], err)
		}
		defer done()
		index, err := a.index(c, set)
		if err != nil {
			return err
		}
		defer index.Close()
		best, err := index.Best(c.Context(), db.Query{Kernel: k.Info().Name, Version: k.Info().Version, Shape: shape.String(), Machine: results.ThisMachine()})
		if errors.Is(err, db.ErrUnknown) {
			return &exitError{exitNoValid, fmt.Errorf("%w: 'tune run %s' finds a point", err, plain.Line(args[0]))}
		}
		if err != nil {
			return err
		}
		if *asJSON {
			return printJSON(a.stdout, best)
		}
		return a.printBest(best, shape.String())
	}
	return c
}

// namedOwn says of the name of a kernel that does not come with tune, and that runs in the index have, what to write instead. Any other error
// stays as it is.
func (a *app) namedOwn(c *cobra.Command, set settings, name string, err error) error {
	if _, unknown := errors.AsType[*kernels.UnknownError](err); !unknown || name == "" {
		return err
	}
	index, ierr := a.index(c, set)
	if ierr != nil {
		return err
	}
	defer index.Close()
	if list, lerr := index.List(c.Context(), db.Filter{Kernel: name, Most: 1}); lerr != nil || len(list) == 0 {
		return err
	}
	return ofFile(fmt.Errorf("%[1]s does not come with tune: write the file that describes it, 'tune best FILE', or list its runs by 'tune db list --kernel %[1]s'", plain.Line(name)))
}

// index opens the index for a command that cannot do without.
func (a *app) index(c *cobra.Command, set settings) (*db.DB, error) {
	path, err := a.neededIndex(c.Flags(), set)
	if err != nil {
		return nil, err
	}
	if err := namedIndex(set, path); err != nil {
		return nil, err
	}
	return db.OpenExisting(c.Context(), path)
}

// namedIndex refuses a file of the index that the settings name, where it is not there or is a folder.
func namedIndex(set settings, path string) error {
	info, err := os.Stat(path)
	switch {
	case set.from["db"] == "":
		return nil // it is the usual one
	case err == nil && info.IsDir():
		return set.blame("db", fmt.Errorf("%s is a folder: name the file of an index of runs", path))
	case err == nil && !info.Mode().IsRegular():
		return set.blame("db", fmt.Errorf("%s is not a regular file: name the file of an index of runs", path))
	case err != nil && errors.Is(err, fs.ErrNotExist):
		return set.blame("db", fmt.Errorf("%w: 'tune db rebuild DIR' makes an index of runs there", present(path)))
	}
	return nil
}

func (a *app) printBest(b db.Answer, asked string) error {
	s := &b.Schedule
	w := a.stdout
	if b.Distance > 0 {
		fmt.Fprintf(w, "nearest   %s; nothing is known of %s\n", plain.Line(b.Shape), asked)
	}
	unit := space.Unit(b.Unit)
	fmt.Fprintf(w, "best      %s: %s\n", strings.TrimSpace(plain.Line(b.Kernel)+" "+plain.Line(b.Shape)), unit.Words(s.Cost))
	fmt.Fprintf(w, "point     %s\n", plain.Line(s.Key))
	if pinned := kernels.PinnedText(s.Pinned); pinned != "" {
		fmt.Fprintf(w, "pinned    %s, in the baseline too\n", plain.Line(pinned))
	}
	if s.Ratio > 0 {
		interval := ""
		if i := s.RatioInterval; i != nil {
			interval = fmt.Sprintf(" [%s, %s]", times(i[0]), times(i[1]))
		}
		fmt.Fprintf(w, "ratio     %s%s as fast as %s: %s\n", times(s.Ratio), interval, baselineName(s), cmp.Or(string(s.Verdict), "no verdict"))
	}
	if !b.Here {
		fmt.Fprintf(w, "machine   measured on another one: %s\n", plain.Line(b.CPU))
	}
	from := "an imported run"
	if b.Dir != "" {
		from = plain.Line(b.Dir)
		if db.Gone(b.Dir) {
			from += " (gone)"
		}
	}
	_, err := fmt.Fprintf(w, "from      %s, %s\n", from, dateOf(b.Created))
	return err
}

// dateOf writes a moment of the index for people, as reports do.
func dateOf(created string) string {
	t, err := time.Parse(time.RFC3339Nano, created)
	if err != nil {
		return plain.Line(created)
	}
	return t.UTC().Format("2006-01-02 15:04 UTC")
}

func (a *app) dbCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "db",
		Short: "The index of runs: list, show, rebuild, gc, export, import",
		Long: `db looks after the index of runs, an SQLite file in which every run enters itself when it ends: kernel, shape, machine, the best
points, failures, the schedule and its comparisons. It is at --db, else TUNE_DB, else tune/tune.db in the user's data folder
($XDG_DATA_HOME, ~/.local/share). --no-db leaves it alone.

The run directories remain the source of truth. If the file is lost or damaged, 'tune db rebuild' makes it again from them.`,
		Example: "  tune db list\n  tune db rebuild runs",
		Args:    noArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(a.dbListCommand(), a.dbShowCommand(), a.dbRebuildCommand(), a.dbCollectCommand(), a.dbExportCommand(), a.dbImportCommand())
	return c
}

// indexCommand gives a command the flags of the index. do gets the settings, and whether the result is wanted as JSON.
func (a *app) indexCommand(c *cobra.Command, do func(c *cobra.Command, set settings, asJSON bool, args []string) error) *cobra.Command {
	addDB(c.Flags())
	asJSON := c.Flags().Bool("json", false, "print the result as JSON")
	c.RunE = func(c *cobra.Command, args []string) error {
		set, err := readSettings(c.Flags(), "", a.environ)
		if err != nil {
			return usage(err)
		}
		return do(c, set, *asJSON, args)
	}
	return c
}

func (a *app) dbListCommand() *cobra.Command {
	c := &cobra.Command{Use: "list", Short: "List the runs in the index, newest first", Example: "  tune db list --kernel gemm-f32 --most 20", Args: noArgs}
	kernel := c.Flags().String("kernel", "", "only the runs of this `kernel`")
	most := c.Flags().Int("most", 0, "at most this `number` of runs (default: all)")
	return a.indexCommand(c, func(c *cobra.Command, set settings, asJSON bool, _ []string) error {
		if *most < 0 {
			return usage(fmt.Errorf("--most: %d: want a whole number, 0 or more", *most))
		}
		index, err := a.index(c, set)
		if err != nil {
			return err
		}
		defer index.Close()
		list, err := index.List(c.Context(), db.Filter{Kernel: *kernel, Most: *most})
		if err == nil && len(list) == 0 && *kernel != "" {
			err = a.knownKernel(c.Context(), index, *kernel)
		}
		if err != nil {
			return err
		}
		if asJSON {
			return printJSON(a.stdout, list)
		}
		if len(list) == 0 {
			such := ""
			if *kernel != "" {
				such = " of " + *kernel
			}
			_, err := fmt.Fprintf(a.stdout, "no runs%s in %s\n", such, index.Path())
			return err
		}
		w := tabwriter.NewWriter(a.stdout, 0, 8, 2, ' ', 0)
		fmt.Fprintln(w, "RUN\tCREATED\tEVALS\tBEST\tVERDICT\tKERNEL\tCPU")
		for _, r := range list {
			best := "-"
			if r.Cost != nil {
				best = space.Unit(r.Unit).Words(*r.Cost)
			}
			fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\t%s %s\t%s\n", plain.Line(cmp.Or(r.Dir, r.Run)), dateOf(r.Created), r.Evaluations, best,
				cmp.Or(plain.Line(string(r.Verdict)), "-"), plain.Line(r.Kernel), plain.Line(r.Shape), plain.Line(r.CPU))
		}
		return w.Flush()
	})
}

// knownKernel refuses a kernel of --kernel that neither tune nor the index knows.
func (a *app) knownKernel(ctx context.Context, index *db.DB, kernel string) error {
	all, err := index.List(ctx, db.Filter{})
	if err != nil {
		return err
	}
	var of []string
	for _, r := range all {
		of = append(of, plain.Line(r.Kernel))
	}
	return a.someKernel(kernel, index.Path(), of)
}

// someKernel refuses a kernel of --kernel that tune does not know, and of which there is no run in a place; of are the kernels of the runs
// there. "" stands for all kernels.
func (a *app) someKernel(kernel, place string, of []string) error {
	of = slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(of))), func(name string) bool { return name == "" })
	if kernel == "" || len(of) == 0 || slices.Contains(of, kernel) || kernel == recorded.Name || slices.Contains(a.table.Names(), kernel) {
		return nil
	}
	known := append(of, a.table.Names()...)
	return usage(fmt.Errorf("--kernel: unknown kernel %q: %s has runs of %s%s", kernel, place, strings.Join(of, ", "), space.DidYouMean(kernel, known)))
}

func (a *app) dbShowCommand() *cobra.Command {
	c := &cobra.Command{Use: "show RUN", Short: "Show what the index holds of a run", Long: "show prints what the index holds of a run. RUN is its directory, or what 'tune db list' shows in its place.",
		Example: "  tune db show runs/gemm-f32-20260102-150405-1", Args: exactly(1, "a run")}
	return a.indexCommand(c, func(c *cobra.Command, set settings, asJSON bool, args []string) error {
		index, err := a.index(c, set)
		if err != nil {
			return err
		}
		defer index.Close()
		d, err := index.Show(c.Context(), args[0])
		if err != nil {
			return err
		}
		if asJSON {
			return printJSON(a.stdout, d)
		}
		w := a.stdout
		unit := space.Unit(d.Unit)
		fmt.Fprintf(w, "run       %s, %s\n", plain.Line(cmp.Or(d.Dir, d.Run)), dateOf(d.Created))
		fmt.Fprintf(w, "kernel    %s %s, version %s\n", plain.Line(d.Kernel), plain.Line(d.Shape), plain.Line(d.Version))
		fmt.Fprintf(w, "machine   %s (%s)\n", plain.Line(d.CPU), plain.Line(d.Fingerprint))
		fmt.Fprintf(w, "search    %s, seed %s: %s evaluated, %s valid, %.1f s, %s\n", plain.Line(d.Strategy), plain.Line(d.Seed), plain.Number(float64(d.Evaluations)),
			plain.Number(float64(d.Valid)), d.Elapsed, cmp.Or(plain.Line(d.Ended), "not ended"))
		for _, one := range d.Comparisons {
			fmt.Fprintf(w, "measured  %s [%s, %s] as fast as %s: %s\n", times(one.Ratio), times(one.Low), times(one.High), plain.Line(one.Other), plain.Line(one.Key))
		}
		for i, p := range d.Points {
			label := "search"
			if i == 0 {
				label = "best of"
			}
			fmt.Fprintf(w, "%-9s %s  %s\n", label, unit.Words(p.Cost), plain.Line(p.Key))
		}
		for _, f := range d.Failures {
			fmt.Fprintf(w, "failed    %s\n", plain.Line(f.String()))
		}
		return nil
	})
}

func (a *app) dbRebuildCommand() *cobra.Command {
	c := &cobra.Command{Use: "rebuild DIR...", Short: "Enter all runs below folders into the index, and replace a damaged one",
		Long: `rebuild enters every run below the folders. What did not change since it was entered is not read again. A damaged index is moved
aside to FILE.damaged-1 and made anew. What it held of runs whose directory is gone, or of imported ones, is lost then.`,
		Example: "  tune db rebuild runs", Args: cobra.ArbitraryArgs}
	return a.indexCommand(c, func(c *cobra.Command, set settings, asJSON bool, args []string) error {
		if len(args) == 0 {
			return usage(errors.New("a folder that holds runs is missing: 'tune db rebuild runs'"))
		}
		path, err := a.neededIndex(c.Flags(), set)
		if err != nil {
			return err
		}
		for _, folder := range args {
			info, serr := os.Stat(folder)
			switch {
			case errors.Is(serr, fs.ErrNotExist):
				return usage(fmt.Errorf("there is no folder %s: name one that holds runs", folder))
			case serr == nil && !info.IsDir():
				return ofFile(fmt.Errorf("%s is a file: name a folder that holds runs", folder))
			}
		}
		done, err := db.Rebuild(c.Context(), path, args, nil)
		if err != nil {
			return err
		}
		for _, f := range done.Faults {
			a.note("note: left out: " + plain.Line(f))
		}
		if asJSON {
			return printJSON(a.stdout, done)
		}
		if done.Damaged != "" {
			fmt.Fprintf(a.stdout, "the damaged index is in %s\n", done.Damaged)
		}
		_, err = fmt.Fprintf(a.stdout, "%s: %s\n", path, plain.Count(done.Runs, "run"))
		return err
	})
}

func (a *app) dbCollectCommand() *cobra.Command {
	c := &cobra.Command{Use: "gc", Short: "Forget the runs whose directory is gone",
		Long:    "gc removes runs from the index whose directory is gone, and gives the space back. Imported runs stay. It touches no run directory.",
		Example: "  tune db gc", Args: noArgs}
	return a.indexCommand(c, func(c *cobra.Command, set settings, asJSON bool, _ []string) error {
		index, err := a.index(c, set)
		if err != nil {
			return err
		}
		defer index.Close()
		n, err := index.Collect(c.Context(), db.Gone)
		if err != nil {
			return err
		}
		if asJSON {
			return printJSON(a.stdout, struct {
				Forgotten int `json:"forgotten"`
			}{n})
		}
		_, err = fmt.Fprintf(a.stdout, "forgot %s\n", plain.Count(n, "run"))
		return err
	})
}

func (a *app) dbExportCommand() *cobra.Command {
	c := &cobra.Command{Use: "export [FILE]", Short: "Write the index as JSON Lines, a run a line",
		Long:    "export writes all that the index holds to a file, or to standard output: a JSON object a line, a line a run. 'tune db import' reads it.",
		Example: "  tune db export runs.jsonl\n  tune db export | jq .settings.kernel", Args: func(c *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage(fmt.Errorf("%s takes one file and nothing else, but got %q", c.CommandPath(), args[1]))
			}
			return nil
		}}
	addDB(c.Flags())
	c.RunE = func(c *cobra.Command, args []string) error {
		set, err := readSettings(c.Flags(), "", a.environ)
		if err != nil {
			return usage(err)
		}
		index, err := a.index(c, set)
		if err != nil {
			return err
		}
		defer index.Close()
		if len(args) == 0 {
			_, err := index.Export(c.Context(), a.stdout)
			return err
		}
		n := 0
		if info, serr := os.Stat(args[0]); serr == nil && info.IsDir() {
			return ofFile(fmt.Errorf("%s is a folder: name a file", args[0]))
		}
		err = files.Out(args[0], true, func(w io.Writer) error {
			n, err = index.Export(c.Context(), w)
			return err
		})
		if p, ok := errors.AsType[*fs.PathError](err); ok && p.Path == args[0] {
			return fmt.Errorf("cannot write %s: %w: name another file", args[0], p.Err)
		}
		if err == nil {
			_, err = fmt.Fprintf(a.stdout, "%s: %s\n", args[0], plain.Count(n, "run"))
		}
		return err
	}
	return c
}

func (a *app) dbImportCommand() *cobra.Command {
	c := &cobra.Command{Use: "import FILE", Short: "Enter what tune db export wrote, perhaps on another machine",
		Long: `import enters the runs of an export. They have no directory here. A run that the index knows from its own directory stays as it is.
Import only files that you trust: nothing proves what they say. tune best says of such a run that it is imported.`,
		Example: "  tune db import colleague.jsonl", Args: exactly(1, "a file that tune db export wrote")}
	return a.indexCommand(c, func(c *cobra.Command, set settings, asJSON bool, args []string) error {
		path, err := a.neededIndex(c.Flags(), set)
		if err != nil {
			return err
		}
		if err := present(args[0]); err != nil {
			return usage(err)
		}
		file, err := files.Open(args[0])
		if err != nil {
			return ofFile(err)
		}
		defer file.Close()
		index, err := db.Open(c.Context(), path)
		if err != nil {
			return err
		}
		defer index.Close()
		n, err := index.Import(c.Context(), file, filepath.Clean(args[0]))
		if err != nil {
			return err
		}
		if asJSON {
			return printJSON(a.stdout, struct {
				Runs int `json:"runs"`
			}{n})
		}
		_, err = fmt.Fprintf(a.stdout, "%s: %s new\n", strings.TrimSpace(index.Path()), plain.Count(n, "run"))
		return err
	})
}
