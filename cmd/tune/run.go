package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"tune"
	"tune/internal/files"
	"tune/internal/plain"
	"tune/kernels"
	"tune/kernels/catalog"
	"tune/kernels/native"
	"tune/kernels/remote"
	"tune/kernels/user"
	"tune/results"
	"tune/results/insight"
	"tune/results/library"
	modellib "tune/results/model"
	"tune/results/schedule"
	"tune/results/session"
	"tune/search"
	"tune/space"
)

func (a *app) runCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "run [KERNEL|FILE]",
		Short: "Search, check, and export the best schedule",
		Long: `run searches the space of a kernel until its budget ends, checks the best candidate on fresh inputs, and exports it.
FILE is the YAML file of your own kernel, or of settings; it is the same as --config FILE. Without an argument, run takes
the kernel that ./tune.yaml names, else the one in ./kernel.yaml, else the tree hash, and says which. With FILE, or where
./kernel.yaml describes a kernel, --config may name one of the presets in that file.

Every measurement is written to disk at once. A run that was stopped, in whatever way, is continued by tune resume.

With --from, the run starts from earlier measurements, perhaps of another shape or device: the strategy tries the best
points early, and learns from the others as far as it can. Points are carried over by the names and values of their
parameters; a number that this space lacks becomes the nearest one. What was read is kept in the run directory.
Measurements of another kernel are refused unless --from-any is given, because they say nothing about this one.

With --from db, these are the latest runs of the same version of the kernel in the index of runs (tune db), up to four: those on this
processor first, and the nearest shapes before others.

With --objective time,error the run has several objectives: the cost, and metrics of the kernel. Each is minimised, or maximised with
:maximise. The run keeps the front: every point that no other point beats. A point beats another if it is better in at least
one number and worse in none. With time:1%,error:0.001 a difference of 1 % in time, or of 0.001 in error, does not count, and the front has
fewer points. The summary shows the front, and tune export --pick 'time <= 1.1*best, min error' writes a point of it. best.json has the
point with the least cost, as in any run.

With --metrics, tune also measures the metrics that you name, for each candidate that it compiles. They are in the journal, in tables and,
beside those of the baseline, in the summary. As an objective, such as time,energy, a metric needs no --metrics. What this machine does not
measure is left out, and run says why:

` + metricList() + `
With --start, the search evaluates these points first, after the baseline, whatever the strategy. Those that the file of your
own kernel has under start follow.

With --pin, parameters keep the values that you name, wherever they are active, and the run searches the rest of the space. The baseline has
these values too, so that the ratio says what the other parameters bring.

With --workers or --listen, other machines evaluate the candidates (tune help worker). With --for as well, the run is tuned for the machine
of that worker: the space, the baseline, the final measurement and the exported program are made there, and this machine only searches.`,
		Example: `  tune run treehash --budget 10m
  tune run treehash --shape height=8,rounds=12,batch=128 --evals 2000 --strategy random --seed 7
  tune run my.yaml --budget 5m
  tune run my.yaml --config small
  tune run --config treehash-small --json
  tune run recorded --data convolution.json.gz --budget 10m --jobs 4
  tune run gemm-f32 --shape m=512,n=512,k=512 --from runs/gemm-f32-20260102-150405-1 --from other.T4.json
  tune run gemm-f32 --shape m=640,n=640,k=640 --from db
  tune run gemm-i8 --objective time,size --budget 5m
  tune run my.yaml --metrics instructions,cache_misses --budget 5m
  tune run my.yaml --objective time:1%,error:10% --budget 5m
  tune run my.yaml --start 'tile=16 unroll=4' --start unroll=8
  tune run gemm-f32 --pin isa=avx2 --pin compiler=gcc
  tune run gemm-f32 --workers nats://build-host:4222 --token-file token --for board
  tune run --config my-other.yaml --from runs/my-20260102-150405-1 --from-any`,
	}
	a.asRun(c)
	c.Args = cobra.ArbitraryArgs
	return c
}

// asRun gives a command the flags and the action of run.
func (a *app) asRun(c *cobra.Command) {
	config := addRunSettings(c.Flags())
	from := c.Flags().StringArray("from", nil, "earlier `run`, schedule or file of measurements to start from, or db for what the index of runs knows of the kernel; may be given several times, the most similar first")
	fromAny := c.Flags().Bool("from-any", false, "let --from take measurements of another kernel too, as far as names and values of parameters match")
	metrics := c.Flags().String("metrics", "", "`metrics` to measure of each candidate that tune compiles, such as instructions,cache_misses; 'tune help run' lists them")
	start := c.Flags().StringArray("start", nil, "`point` to evaluate before all others, such as 'tile=16 unroll=4'; parameters that are left out have their defaults; may be given several times")
	pin := c.Flags().StringArray("pin", nil, "`value` that a parameter keeps, such as isa=avx2: the run searches the points that have it; may be given several times")
	keep(c.Flags(), "from", "earlier measurements")
	keep(c.Flags(), "from-any", "earlier measurements")
	keep(c.Flags(), "metrics", "metrics")
	keep(c.Flags(), "start", "start points")
	keep(c.Flags(), "pin", "pinned values")
	workers := addRemote(c.Flags()).addOn()
	workers.addTarget()
	asJSON, quiet := a.outputFlags(c)
	show := showFlag(c)
	live := c.Flags().Bool("live", false, "show the run in a browser while it goes on, at an address of this machine that is printed first")
	c.RunE = func(c *cobra.Command, args []string) error {
		set, _, _, done, err := a.settingsOfRun(c, *config, args)
		if err != nil {
			return err
		}
		defer done()
		if *fromAny && len(*from) == 0 {
			return usage(errors.New("--from-any has no effect without --from: leave it out, or give both"))
		}
		measure, err := space.ParseMeasured(*metrics)
		if err != nil {
			return usage(fmt.Errorf("--metrics: %w", err))
		}
		pinned, err := kernels.ParsePinned(*pin)
		if err != nil {
			return usage(fmt.Errorf("--pin: %w", err))
		}
		return a.search(c, set, starting{*from, *fromAny, pinned, slices.Concat(*start, set.preset.Start), measure, workers}, shown{*asJSON, *quiet, *show, *live})
	}
}

// shown says what is shown of a run.
type shown struct {
	asJSON, quiet bool
	output        bool // that of the commands of a kernel
	live          bool // in a browser
}

// showFlag defines the flag of commands that can show what the commands of a kernel print.
func showFlag(c *cobra.Command) *bool {
	return c.Flags().Bool("show-output", false, "show on standard error what the commands of your kernel print, after each has ended")
}

// showOutput makes a kernel show what its commands print. nil stands for one that is not the user's. One without commands has
// nothing to show; name says in the error which it is.
func showOutput(own *user.Kernel, name string, w io.Writer) error {
	if own != nil && own.ShowOutput(w) {
		return nil
	}
	return usage(fmt.Errorf("--show-output: %s has no commands that print: leave it out", name))
}

// adviseSetup says, where the setup command of the kernel of a run failed, nothing but that, and what to do. The trial that came first
// is not at fault.
func adviseSetup(dir string, err error) error {
	if setup, failed := errors.AsType[*user.SetupError](err); failed {
		return fmt.Errorf("%s: %w: mend what it needs, then repeat this command; to change it, start a new run", dir, setup)
	}
	return err
}

// starting says what a run starts with.
type starting struct {
	from    []string // files of earlier measurements
	fromAny bool
	pinned  map[string]string // values by parameter
	first   []string          // keys of points
	// metrics are measured of each candidate besides.
	metrics []string
	workers *remoteFlags
}

func (a *app) search(c *cobra.Command, set settings, with starting, say shown) error {
	find := a.catalog(false).Lookup
	if set.from["kernel"] == "" {
		find = a.lookup // it is an argument
	}
	k, err := find(set.kernel)
	if err != nil {
		return set.blame("kernel", fileOfKernel(set.kernel, err))
	}
	shape, err := kernels.ParseShape(k.Info().Shape, set.shape)
	if err != nil {
		return set.blame("shape", err)
	}
	d := a.watch(say.quiet)
	own, isOwn := k.(*user.Kernel)
	if say.output {
		if err := showOutput(own, set.kernel, d); err != nil {
			return err
		}
	}
	indexed, err := a.indexPath(c.Flags(), set)
	if err != nil {
		return err
	}
	from, err := a.expandFrom(c, set, indexed, with.from, k, shape)
	if err != nil {
		return err
	}
	earlier, err := readEarlier(from)
	if err != nil {
		return err
	}
	budget, err := set.newBudget(space.Unit(k.Info().Unit))
	if err != nil {
		return err
	}
	remotely, err := with.workers.asked()
	if err != nil {
		return err
	}
	if set.jobs == 0 {
		set.jobs = jobsFor(remotely)
	}
	made, stop, err := a.begin(c.Context(), &set, say.live)
	if err != nil {
		return err
	}
	defer stop()
	d.found = set.found
	glanced := func() ([]user.Fault, error) { return nil, nil }
	if isOwn && !say.quiet && with.workers.target == "" {
		ctx, cancel := context.WithCancel(c.Context())
		// The baseline is checked at the same time.
		glanced = meanwhile(func() ([]user.Fault, error) { return glance(ctx, own, shape) })
		defer func() { cancel(); _, _ = glanced() }()
	}
	started := false
	start := func(s tune.Start) {
		started = true
		if isOwn && !say.quiet {
			odd, _ := glanced()
			d.warnings = slices.Concat(own.Warnings(), own.LeftOut(shape), odd)
		}
		d.start(s)
	}
	farm, ctx, err := a.farmOf(c.Context(), with.workers, farmed{
		kernel: k, shape: shape, seed: set.seed, objectives: set.objective, metrics: with.metrics, dir: set.dir, created: a.began,
		target: with.workers.target,
	}, d)
	if err != nil {
		if made {
			_ = os.Remove(set.dir)
		}
		return err
	}
	_, absent := os.Stat(set.dir)
	report, err := session.Run(ctx, session.NewRun{
		Version: tune.Version(), Kernel: farm.of(k), Shape: shape, Strategy: set.strategy, Seed: set.seed, Objectives: set.objective, Metrics: with.metrics,
		Pinned: with.pinned, First: with.first, From: earlier, FromAny: with.fromAny, For: with.workers.target, Dir: set.dir,
		Work: session.Work{
			Evaluator: farm.evaluator(), Machine: farm.machine(), Budget: budget, Jobs: set.jobs, Began: farm.began(a.began), Observe: d.observe,
			Start: func(s tune.Start) { start(s); farm.begin(ctx, s) }, Baseline: d.baseline, Searched: farm.searched, Measuring: d.measuring, Measurer: farm.measurer(), Final: set.final,
		},
	})
	farm.end()
	return a.runEnded(c.Context(), report, err, runEnd{
		set: set, path: k.Info().Files.Path, indexed: indexed, made: made, started: started, absent: absent, workers: with.workers,
	}, d, say.asJSON)
}

// runEnd is what the end of a new run depends on.
type runEnd struct {
	set           settings
	path, indexed string // of the kernel's file, and of the index of runs
	made, started bool   // whether the directory of the run is of its own name, and whether the run has begun
	absent        error  // that the directory was not there; nil where it was
	workers       *remoteFlags
}

// runEnded says what became of a new run.
func (a *app) runEnded(ctx context.Context, report *tune.Report, err error, e runEnd, d *display, asJSON bool) error {
	set := e.set
	if wrong := startingError(err, set); wrong != nil {
		unmake(set.dir, e.made, err, e.absent)
		return usage(wrong)
	}
	_, gone := errors.AsType[*remote.GoneError](err)
	if e.started {
		d.end()
		if err == nil {
			a.remember(ctx, e.indexed, set.dir, report)
		}
		err = adviseSetup(set.dir, adviseFull(set.dir, err))
	} else if err != nil && !gone && !interrupted(ctx, err) {
		err = adviseRun(set.dir, e.path, e.made, err)
		if e.made {
			_ = os.Remove(set.dir) // where nothing was written to it
		}
	}
	return a.finish(report, e.workers.adviseTarget("resume", set.dir, err), asJSON)
}

// unmake removes the directory of a run that could not start: where it was made for the run, or where the run itself has filled it before
// it knew that the kernel lacks a metric, and absent says that it was not there.
func unmake(dir string, made bool, err, absent error) {
	if _, lacks := errors.AsType[*session.GoalsError](err); lacks && (made || errors.Is(absent, fs.ErrNotExist)) {
		_ = os.RemoveAll(dir)
	} else if made {
		os.Remove(dir)
	}
}

// startingError says which flag or preset is at fault where a run cannot start with what it was given; nil where none is.
func startingError(err error, set settings) error {
	if other, ok := errors.AsType[*tune.OtherKernelError](err); ok {
		return fmt.Errorf("--from: %w: leave it out, or give --from-any to take what matches", other)
	}
	if pin, ok := errors.AsType[*session.PinError](err); ok {
		return fmt.Errorf("--pin: %w", pin)
	}
	if goals, ok := errors.AsType[*session.GoalsError](err); ok {
		return set.blame("objective", goals)
	}
	if metrics, ok := errors.AsType[*session.MetricsError](err); ok {
		return fmt.Errorf("--metrics: %w: leave them out", metrics)
	}
	if first, ok := errors.AsType[*tune.FirstError](err); ok && slices.Contains(set.preset.Start, first.Key) {
		return fmt.Errorf("--config: the start point %q of preset %s does not exist at this shape: %w: leave --shape out, or the point", first.Key, set.preset.Name, first.Err)
	} else if ok {
		return fmt.Errorf("--start %q: %s", first.Key, strings.TrimPrefix(first.Err.Error(), fmt.Sprintf("key %q: ", first.Key)))
	}
	return nil
}

// readEarlier reads what --from names.
func readEarlier(paths []string) ([]*tune.Earlier, error) {
	var out []*tune.Earlier
	for _, path := range paths {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return nil, usage(fmt.Errorf("--from: there is no file or folder %s: want a run (see tune runs), a schedule, a file of measurements, or db", path))
		}
		err := noRun(path)
		if info, serr := os.Stat(path); serr == nil && info.IsDir() {
			err = mustBeRun(path)
		}
		if err != nil {
			return nil, fmt.Errorf("--from: %w", err)
		}
		e, err := tune.ReadEarlier(path)
		if err != nil {
			return nil, fmt.Errorf("--from: %w", err)
		}
		out = append(out, e)
	}
	return out, nil
}

// begin makes the directory of a new run, unless the settings name one, and reports whether it did. If wanted, it shows the run live until
// stop is called.
func (a *app) begin(ctx context.Context, set *settings, live bool) (made bool, stop func(), err error) {
	if made = set.dir == ""; made {
		if set.dir, err = freeDir(results.DefaultDir(set.out, set.kernel, a.began, set.seed)); err != nil {
			return false, nil, set.unmadeDir(err)
		}
	}
	stop, err = a.serveBeside(ctx, set.dir, live)
	return made, stop, err
}

// unmadeDir says what to do where the directory of a run cannot be made in the folder of the settings.
func (s settings) unmadeDir(err error) error {
	if from := s.from["out"]; from != "" && !strings.HasPrefix(from, "--") {
		return fmt.Errorf("cannot create a run directory: %w: choose another folder there (%s), or give one by --out", err, from)
	}
	return fmt.Errorf("cannot create a run directory: %w: choose another --out", err)
}

// freeDir makes the directory of a new run: the given one, or where that exists the next of its name. Runs that
// begin in the same second may share everything that their names are made of.
func freeDir(dir string) (string, error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o777); err != nil {
		return "", err
	}
	for i := 1; ; i++ {
		name := dir
		if i > 1 {
			name = fmt.Sprintf("%s-%d", dir, i)
		}
		if err := os.Mkdir(name, 0o777); errors.Is(err, fs.ErrExist) {
			continue
		} else if err != nil {
			return "", err
		}
		// The name has to be on disk before anything that is kept under it.
		return name, files.SyncDir(filepath.Dir(name))
	}
}

// adviseRun adds to the error of a run that could not begin what to do about its directory, or about the file of the kernel;
// path is "" where it has none. made says that the directory is one of tune's choice.
func adviseRun(dir, path string, made bool, err error) error {
	if ofMachine(err) {
		return err
	}
	base, failed := errors.AsType[*tune.BaselineError](err)
	_, uncompiled := errors.AsType[*user.UncompiledReferenceError](err)
	again := "start again"
	if !made && isRunDir(dir) {
		again = "start again with another --dir"
	}
	// To go on with the run would come to the same.
	switch {
	case (failed || uncompiled) && path != "":
		what := "it"
		if failed && base.Outcome.Status == space.WrongAnswer {
			what = "it, its tolerance or the defaults of its parameters"
		}
		return fmt.Errorf("%w: fix %s in %s (try it with 'tune check %s'), and %s", err, what, path, plain.ShellWord(configPath(path)), again)
	case failed:
		return fmt.Errorf("%w: mend what it names, and %s", err, again)
	}
	if faults, wrong := errors.AsType[user.Faults](err); wrong {
		return usage(faults)
	}
	if shape, wrong := errors.AsType[*kernels.ShapeError](err); wrong {
		return usage(shape)
	}
	if isFull(err) {
		return adviseFull(dir, err)
	}
	if setup, failed := errors.AsType[*user.SetupError](err); failed {
		return fmt.Errorf("%w: fix it in %s, and start again", setup, path)
	}
	if _, large := errors.AsType[*native.RoomError](err); large {
		return err // in every directory
	}
	if _, slow := errors.AsType[*tune.SlowBaselineError](err); slow {
		return fmt.Errorf("%w: continue it with 'tune resume %s --budget TIME'", err, plain.ShellWord(dir))
	}
	if _, busy := errors.AsType[*results.InUseError](err); busy {
		return fmt.Errorf("%w: wait for it, or use another --dir", err)
	}
	if run, rerr := results.Read(dir); rerr == nil && run.LastEnd().Why == results.BaselineFailed {
		return fmt.Errorf("%w, and %s: mend the kernel, and use another --dir", err, results.BaselineFailed)
	}
	switch _, unfit := errors.AsType[*results.DirError](err); {
	case unfit && isRunDir(dir):
		return fmt.Errorf("%w: continue it with 'tune resume %s', or use another --dir", err, plain.ShellWord(dir))
	case unfit:
		return fmt.Errorf("%w: use another --dir", err)
	case isRunDir(dir):
		return fmt.Errorf("%w; then 'tune resume %s' continues the run", err, plain.ShellWord(dir))
	}
	return err
}

// adviseFull adds to the error of a full disk what to do about it, and how the run in a directory goes on.
func adviseFull(dir string, err error) error {
	return adviseFullBy(dir, "tune resume "+plain.ShellWord(dir), err)
}

// adviseFullBy is adviseFull for a run that another command continues.
func adviseFullBy(dir, again string, err error) error {
	if !isFull(err) {
		return err
	}
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		err = fmt.Errorf("cannot write %s: %w", p.Path, p.Err)
	}
	room := "make room on the disk"
	if errors.Is(err, syscall.EFBIG) {
		room = "raise the limit on the size of files (ulimit -f)"
	}
	if _, serr := os.Stat(filepath.Join(dir, results.SettingsName)); serr != nil {
		return fmt.Errorf("%w: %s, then start the run again", err, room)
	}
	return fmt.Errorf("%w: %s, then continue the run with '%s'", err, room, again)
}

// isFull reports whether an error says that no more can be written.
func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}

// interrupted reports whether an error only says that a command was interrupted. A baseline that failed in that moment has
// failed all the same.
func interrupted(ctx context.Context, err error) bool {
	_, failed := errors.AsType[*tune.BaselineError](err)
	return ctx.Err() != nil && !failed
}

func (a *app) resumeCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "resume DIR",
		Short: "Continue a run that was stopped",
		Long: `resume replays the recorded outcomes to the strategy, evaluates nothing twice, and continues with the rest of the
budget. A limit given here replaces the run's own for this session (one tune run or tune resume). It counts from the beginning
of the run. If it is spent already, resume says so and evaluates nothing. In any case it replaces best.json, after a new final
measurement where costs are measured. A run that is tuned for a worker (--for) needs --workers or --listen, and finds that
worker again by its name. The other settings are the run's own: of the environment only TUNE_JOBS, TUNE_FINAL and TUNE_DB are read.` + aboutConsent,
		Example: `  tune resume runs/treehash-20260102-150405-1
  tune resume runs/treehash-20260102-150405-1 --budget 2h
  tune resume downloaded/my-kernel-20260102-150405-1 --yes`,
		Args: exactly(1, "the directory of a run"),
	}
	addSettings(c.Flags(), "strategy", "budget", "evals", "target", "jobs", "final")
	addDB(c.Flags())
	c.Flags().Lookup("strategy").Usage = "the `strategy` that the run has, and values that its constants have: any other is an error"
	c.Flags().Lookup("budget").Usage = "wall `time` over all sessions, with a unit: 90s, 10m, 1h30m (default: the run's own)"
	c.Flags().Lookup("evals").Usage = "`number` of evaluations over all sessions (default: the run's own)"
	c.Flags().Lookup("jobs").Usage = "`number` of candidates evaluated at once (default: as many as before); with --evals and exact costs it changes nothing in the result"
	workers := addRemote(c.Flags()).addOn()
	asJSON, quiet := a.outputFlags(c)
	show := showFlag(c)
	yes := addYes(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		environ := slices.DeleteFunc(slices.Clone(a.environ), func(pair string) bool {
			return !slices.ContainsFunc([]string{"jobs", "final", "db"}, func(key string) bool { return strings.HasPrefix(pair, variable(key)+"=") })
		})
		set, err := readSettings(c.Flags(), "", environ)
		if err != nil {
			return usage(err)
		}
		indexed, err := a.indexPath(c.Flags(), set)
		if err != nil {
			return err
		}
		dir, found, err := a.runAt(args[0], *yes, true, "tune.Resume, or tune.Func with this Dir")
		if err != nil {
			return err
		}
		defer a.end(found)
		if found.Asked() != nil {
			if *show {
				return usage(fmt.Errorf("--show-output: %s has a client, which prints by itself: leave it out", dir))
			}
			return a.resumeAsked(c, set, indexed, found, dir, optimizing{asJSON: asJSON, quiet: quiet}, nil)
		}
		budget := set.budget
		if set.target != "" {
			run, err := results.Look(dir)
			if err != nil {
				return err
			}
			if budget, err = set.budgetIn(space.Unit(run.Settings.Unit)); err != nil {
				return err
			}
		}
		d := a.watch(*quiet)
		if *show {
			if err := showOutput(found.Own(), "the kernel of "+dir, d); err != nil {
				return err
			}
		}
		farm, ctx, err := a.resumeFarm(c.Context(), workers, &set, found, dir, d)
		if err != nil {
			return err
		}
		started := false
		report, err := session.Resume(ctx, tune.Version(), farm.in(found.Table), dir, set.strategy, session.Work{
			Evaluator: farm.evaluator(), Machine: farm.machine(), Budget: budget, Jobs: set.jobs, Began: farm.began(a.began), Observe: d.observe,
			Baseline: d.baseline, Start: func(s tune.Start) { started = true; d.start(s); farm.begin(ctx, s) }, Searched: farm.searched, Measuring: d.measuring, Measurer: farm.measurer(), Final: set.final,
		})
		farm.end()
		if started {
			d.end()
			if err == nil {
				a.remember(c.Context(), indexed, dir, report)
			}
		}
		if _, busy := errors.AsType[*results.InUseError](err); busy {
			err = fmt.Errorf("%w: wait for it, or stop it", err)
		}
		if _, failed := errors.AsType[*tune.BaselineError](err); failed {
			err = fmt.Errorf("%w: mend the kernel, and start a new run", err)
		}
		return a.finish(report, workers.adviseTarget("resume", dir, adviseSetup(dir, adviseFull(dir, err))), *asJSON)
	}
	return c
}

// runDir returns the directory of a run that is named by it, or by the schedule in it.
func runDir(arg string) (string, error) {
	if err := cmp.Or(absent(arg), noRun(arg)); err != nil {
		return "", err
	}
	if info, err := os.Stat(arg); err != nil || info.IsDir() {
		return arg, nil
	}
	if filepath.Base(arg) != tune.ScheduleName {
		return "", ofFile(fmt.Errorf("%s is a file: want the directory of a run, or the %s in it", arg, tune.ScheduleName))
	}
	return filepath.Dir(arg), nil
}

// runAt returns the directory of the run that an argument names, and the kernels that it was made with; see catalog.OfRun. call is the
// function of package tune by which a Go program does the same with a run of its own.
func (a *app) runAt(arg string, yes, run bool, call string) (string, *catalog.Found, error) {
	dir, err := runDir(arg)
	if err != nil {
		return "", nil, err
	}
	if err := mustBeRun(dir); err != nil {
		return "", nil, err
	}
	found, err := a.catalog(yes).OfRun(dir, run)
	if err != nil {
		return "", nil, err
	}
	if err := found.CheckRun(dir); err != nil {
		a.end(found)
		return "", nil, adviseProgram(err, call)
	}
	return dir, found, nil
}

// adviseProgram says what to do about a run of a kernel that only a Go program has, or whose copy is missing. call is the function of package tune that it calls to do
// what the command cannot do.
func adviseProgram(err error, call string) error {
	if missing, ok := errors.AsType[*catalog.MissingError](err); ok {
		return fmt.Errorf("%w; 'tune explain %[2]s', 'tune report %[2]s' and 'tune export %[2]s' show the run without it", missing, plain.ShellWord(missing.Dir))
	}
	program, ok := errors.AsType[*catalog.ProgramError](err)
	if !ok {
		return err
	}
	return fmt.Errorf("%w: let it call %s; here 'tune explain %[3]s', 'tune report %[3]s' and 'tune export %[3]s' show the run", program, call, plain.ShellWord(program.Dir))
}

// finish prints a report and turns it into an exit code.
func (a *app) finish(report *tune.Report, err error, asJSON bool) error {
	if report == nil {
		return err
	}
	write := a.printReport
	if asJSON {
		write = a.jsonReport
	}
	if werr := write(report); werr != nil {
		return errors.Join(err, werr)
	}
	switch {
	case err != nil:
		return err
	case report.Result.Stop == search.Interrupted:
		if report.Settings.For != "" {
			return &exitError{exitInterrupted, fmt.Errorf("interrupted: continue with 'tune resume %s --workers URL'", plain.ShellWord(report.Dir))}
		}
		return &exitError{exitInterrupted, fmt.Errorf("interrupted: continue with 'tune resume %s'", plain.ShellWord(report.Dir))}
	case report.Result.Told == 0:
		return nothingValid(report.Dir, 0)
	case report.Schedule == nil:
		return nothingValid(report.Dir, report.Result.Told)
	}
	return nil
}

func (a *app) printReport(r *tune.Report) error {
	w := a.stdout
	search := ""
	if r.Settings.Clock != results.Simulated && r.Schedule != nil && r.Schedule.Search != nil {
		search = fmt.Sprintf(", %.1f s of it searching", r.Result.Elapsed.Seconds())
	}
	fmt.Fprintf(w, "%s after %.1f %s%s: %s evaluated, %s valid\n", r.Result.Stop, r.Elapsed.Seconds(), secondsOf(r.Settings), search, plain.Number(float64(r.Result.Told)), plain.Number(float64(r.Result.Valid)))
	found := cmp.Or(r.Insight, &insight.Insight{})
	for i, f := range found.Failures {
		label := "failed"
		if i > 0 {
			label = ""
		}
		fmt.Fprintf(w, "%-9s %s\n", label, f)
		reason, point := plain.Line(f.Reason), plain.Line(f.Point)
		if reason == "" {
			continue
		}
		fmt.Fprintf(w, "          the first: %s\n", plain.Clip(reason, mostReason))
		if utf8.RuneCountInString(point) <= mostReason {
			fmt.Fprintf(w, "          at %s\n", point)
		}
	}
	a.printSchedule(r)
	a.printFront(r)
	if mattered := found.String(); mattered != "" {
		fmt.Fprintf(w, "mattered  %s\n", mattered)
	}
	return nil
}

// mostReason is how much of the reason of a failure the summary shows, in characters. A point that is longer is not shown.
const mostReason = 160

// printSchedule says what is exported, and what is not.
func (a *app) printSchedule(r *tune.Report) {
	w := a.stdout
	for _, f := range r.Refused {
		fmt.Fprintf(w, "refused: %s: %s\n", f.Key, f.Reason)
	}
	s := r.Schedule
	if s == nil {
		return
	}
	unit := space.Unit(s.Unit)
	best, baseline := unit.Words(s.Cost), unit.Words(s.Baseline.Cost)
	switch {
	case s.Key == s.Baseline.Key:
		fmt.Fprintf(w, "best      %s: %s itself\n", best, baselineName(s))
	case s.Ratio > 0:
		fmt.Fprintf(w, "best      %s, %s %s as %s (%s)\n", best, times(s.Ratio), unit.Compared(), baselineName(s), baseline)
	default: // of costs that are not above 0
		fmt.Fprintf(w, "best      %s, against %s of %s\n", best, baseline, baselineName(s))
	}
	fmt.Fprintf(w, "point     %s\n", s.Key)
	printMeasured(w, s)
	printMetrics(w, s)
	if advice := user.OutlierAdvice(s.Metrics); advice != "" {
		fmt.Fprintf(w, "warning   %s\n", advice)
	}
	fmt.Fprintf(w, "checked   %s%s\n", r.Checking.Words(len(s.Checks)), deviation(s.Metrics))
	printWeak(w, underChecked, s.Weak)
	fmt.Fprintf(w, "schedule  %s\n", filepath.Join(r.Dir, tune.ScheduleName))
	for _, file := range s.Artifacts {
		fmt.Fprintf(w, "          %s\n", filepath.Join(r.Dir, file.Name))
	}
	label := "again"
	for _, line := range s.Reproduce[:max(len(s.Reproduce)-1, 0)] { // the last one verifies
		fmt.Fprintf(w, "%-9s %s\n", label, line)
		label = ""
	}
}

// metricList says what each metric of --metrics is.
func metricList() (text string) {
	for _, m := range space.Measured() {
		text += fmt.Sprintf("  %-14s %s\n", m.Name, m.Doc)
	}
	return text
}

// printMetrics shows the metrics that the run asked for, beside those of the baseline.
func printMetrics(w io.Writer, s *results.Schedule) {
	label := "metrics"
	for _, m := range space.Measured() {
		v, ok := space.FindMetric(s.Metrics, m.Name)
		if !ok {
			continue
		}
		fmt.Fprintf(w, "%-9s %s %s", label, m.Name, metricText(v))
		if base, ok := space.FindMetric(s.Baseline.Metrics, m.Name); ok && s.Key != s.Baseline.Key {
			fmt.Fprintf(w, ", of the baseline %s", metricText(base))
		}
		fmt.Fprintln(w)
		label = ""
	}
}

// metricText writes a metric: to a whole number, or where that is small to four digits.
func metricText(v float64) string {
	if math.Abs(v) >= 1000 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

// underChecked leads the lines of printWeak that stand under the line "checked".
const underChecked = "          "

// printWeak shows the outputs of which a passed check proves little, a line each. lead is how a line begins.
func printWeak(w io.Writer, lead string, outputs []space.WeakOutput) {
	for _, weak := range outputs {
		fmt.Fprintf(w, "%s%s\n", lead, weak)
	}
}

// secondsOf is the unit of a run's time.
func secondsOf(s results.Settings) string {
	if s.Clock == results.Simulated {
		return "simulated s"
	}
	return "s"
}

// deviation says how far off results were, after a comma, where metrics tell.
func deviation(metrics []space.Metric) string {
	if d, _, ok := kernels.SplitDeviation(metrics); ok {
		return ", " + d.String()
	}
	return ""
}

// runJSON is what run and resume print with --json.
type runJSON struct {
	Dir         string            `json:"dir"`
	Stop        string            `json:"stop"`
	Evaluations int               `json:"evaluations"`
	Valid       int               `json:"valid"`
	Elapsed     float64           `json:"elapsed_seconds"`          // of all of it, over all sittings
	Searched    float64           `json:"search_seconds,omitempty"` // of them before the measurement at the end
	Clock       string            `json:"clock,omitempty"`          // "simulated" where the time is
	Baseline    results.Baseline  `json:"baseline"`
	Mattered    *insight.Insight  `json:"mattered,omitempty"` // of the parameters; without the failures
	Failures    []insight.Failure `json:"failures,omitempty"`
	Refused     []tune.Refusal    `json:"refused,omitempty"`
	Schedule    *results.Schedule `json:"schedule"` // null where no candidate was valid
	Front       []frontJSON       `json:"front,omitempty"`
}

func (a *app) jsonReport(r *tune.Report) error {
	var failures []insight.Failure
	mattered := r.Insight
	if mattered != nil {
		rest := *mattered
		failures, rest.Failures = rest.Failures, nil
		mattered = &rest
	}
	return printJSON(a.stdout, runJSON{
		r.Dir, r.Result.Stop.String(), r.Result.Told, r.Result.Valid, r.Elapsed.Seconds(), r.Result.Elapsed.Seconds(), r.Settings.Clock, r.Baseline, mattered, failures, r.Refused, r.Schedule, frontOf(r),
	})
}

func printJSON(w io.Writer, v any) error {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return err
	}
	escape := plain.JSON
	if p, ok := w.(*plain.Writer); ok && p.ASCII {
		escape = plain.JSONInASCII
	}
	_, err := w.Write(escape(text.Bytes()))
	return err
}

func (a *app) replayCommand() *cobra.Command {
	c := &cobra.Command{
		Use:     "replay DIR",
		Short:   "Prove that a run asks for the points that it recorded",
		Long:    "replay feeds the journal of a run to its strategy, and compares every point that the strategy asks for with the recorded\none. Nothing is evaluated.",
		Example: "  tune replay runs/treehash-20260102-150405-1",
		Args:    exactly(1, "the directory of a run"),
	}
	asJSON := c.Flags().Bool("json", false, "print the result as JSON")
	c.RunE = func(c *cobra.Command, args []string) error {
		dir, found, err := a.runAt(args[0], false, false, "tune.Replay")
		if err != nil {
			return err
		}
		defer a.end(found)
		w := a.work("replaying "+dir, false)
		n, err := session.Replay(tune.Version(), found.Table, dir, func(done, total int) { w.observe("replaying", done, total) })
		w.end()
		if *asJSON && (err == nil || n > 0) {
			out := struct {
				OK     bool   `json:"ok"`
				Trials int    `json:"trials"` // that agree
				Error  string `json:"error,omitempty"`
			}{err == nil, n, ""}
			if err != nil {
				out.Error = err.Error()
			}
			return errors.Join(err, printJSON(a.stdout, out))
		}
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(a.stdout, "%d of %d trials agree\n", n, n)
		return err
	}
	return c
}

func (a *app) exportCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "export DIR|FILE",
		Short: "Write a run's schedule, program, trace or outcomes, or a file of measurements in another form",
		Long: `export writes a run in one of these formats:

  json         the schedule
  program      the program: in the exchange format of the VLIW machine, or as source
  trace        Chrome trace events, for Perfetto
  csv          the journal as text: one outcome a line, in the order told, without times
  svg, png     a chart of the best cost over time
  t4           the results format T4
  kerneltuner  a cache file of Kernel Tuner; times become milliseconds
  recorded     tune's own form of a measured space, which the kernel 'recorded' can search
  library      a header and a source to link into a program, for kernels in C: one function with your --prefix as its name

If the schedule or program is missing or out of date, export recreates it where that needs computation only. Where it would
have to compile or run candidates, it says so and stops; --measure then runs and measures the best ones again. Nothing in
the run directory changes. To write the schedule there, continue the run with tune resume.
With --output FILE.json, the files that the schedule names are written beside it, as FILE.kernel.c or FILE.program.json, so that
'tune verify FILE.json' works. Of the files there, those of the schedule that FILE.json has had until now are replaced or removed.

With --pick, a point of the front of a run with several objectives is written as json, program or library. It is built and checked
again, and where costs are measured, measured beside the baseline; only if it is proven to be faster its verdict is faster.

A run of a Go program is written without the program, in every format but trace and library.

Given a file of measurements, export converts it to t4, kerneltuner or recorded. A file that already has that format
keeps every value as it was written, and keys that tune does not know.` + aboutConsent,
		Example: `  tune export runs/treehash-20260102-150405-1 --format csv > outcomes.csv
  tune export runs/treehash-20260102-150405-1 --format program --output best.program.json
  tune export runs/treehash-20260102-150405-1 --format svg --output convergence.svg
  tune export runs/gemm-f32-20260102-150405-1 --format t4 --output results.json
  tune export runs/gemm-f32-20260102-150405-1 --format program --measure
  tune export runs/mine-20260102-150405-1 --pick 'time <= 1.1*best, min error' --output small.json
  tune export runs/gemm-f32-20260102-150405-1 --format library --prefix gemm_512 --output src
  tune export convolution.json.gz --format kerneltuner --output convolution.cache.json`,
		Args: exactly(1, "the directory of a run, or a file of measurements"),
	}
	format := c.Flags().StringP("format", "f", "json", "`format`: "+strings.Join(exportFormats(), ", ")+"; without it, the ending of --output may say csv, svg or png")
	output := c.Flags().StringP("output", "o", "", "`file` to write (default: standard output), or for a library the folder (default: this one)")
	prefix := c.Flags().String("prefix", "", "`name` of the function and the files of a library (default: made from kernel and shape)")
	measure := c.Flags().Bool("measure", false, "compile, run and measure the best candidates again where the schedule is missing or out of date")
	pick := c.Flags().String("pick", "", "write a `point` of the front of a run with several objectives, such as 'time <= 1.1*best, min error': limits, and the objective that is then the best")
	limit := c.Flags().String("limit", "30s", "with --measure or --pick: roughly how long each series of the measurement may take, a `time` with a unit")
	quiet := a.progressFlags(c)
	yes := addYes(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		chosen := c.Flags().Changed("format")
		if !chosen || slices.Contains(exportFormats(), *format) {
			var err error
			if *format, err = exportFormat(*format, *output, chosen); err != nil {
				return usage(err)
			}
		}
		if err := checkExport(*format, *prefix, *pick); err != nil {
			return usage(err)
		}
		*measure = *measure || *pick != "" // it is built and checked in any case
		most, err := patience("limit", *limit, false)
		if err != nil {
			return err
		}
		if !*measure && c.Flags().Changed("limit") {
			return usage(errors.New("--limit has no effect without --measure or --pick, because nothing is measured: leave it out"))
		}
		if filepath.Base(args[0]) == tune.ScheduleName {
			args[0] = filepath.Dir(args[0])
		}
		if err := noRun(args[0]); err != nil {
			return err
		}
		if info, serr := os.Stat(args[0]); serr == nil && !info.IsDir() {
			if c.Flags().Lookup("format").Changed {
				return a.convert(args[0], *format, *output, *quiet)
			}
			return usage(fmt.Errorf("%s is a file: say by --format how to convert it: %s", args[0], exchangeFormats()))
		}
		if *yes && !*measure {
			return usage(errors.New("--yes has no effect without --measure, because nothing is run: leave it out, or give both"))
		}
		if err := cmp.Or(absent(args[0]), mustBeRun(args[0])); err != nil {
			return err
		}
		e := schedule.Exporter{ToolVersion: tune.Version(), Measure: *measure, Pick: *pick, Limit: most}
		return a.export(c.Context(), e, args[0], exportTo{*format, *output, *prefix, *yes, *quiet})
	}
	return c
}

// exportTo says how an export is written. yes answers what would be asked before something runs.
type exportTo struct {
	format, output, prefix string
	yes, quiet             bool
}

// export writes the run in a directory.
func (a *app) export(ctx context.Context, e schedule.Exporter, dir string, to exportTo) error {
	if results.IsOwn(to.output) {
		return usage(fmt.Errorf("--output: %s belongs to a run: choose another file", to.output))
	}
	found, err := a.catalog(to.yes).OfRun(dir, e.Measure)
	if err != nil {
		return err
	}
	defer a.end(found)
	lacks := found.CheckRun(dir)
	_, program := errors.AsType[*catalog.ProgramError](lacks)
	_, missing := errors.AsType[*catalog.MissingError](lacks)
	if (program || missing) && (to.format == libraryFormat || to.format == "trace") {
		return fmt.Errorf("--format %s: %w: 'tune export %s --format program' writes what the run found", to.format, lacks, plain.ShellWord(dir))
	}
	if e.Measure {
		if err := measuredElsewhere(dir); err != nil {
			return err
		}
	}
	if e.Table = found.Table; to.format == libraryFormat {
		err = a.exportLibrary(ctx, e, dir, to.prefix, to.output, to.quiet)
	} else {
		err = a.exportRun(ctx, e, dir, to.format, to.output, to.quiet)
	}
	err = adviseExport(dir, err)
	if errors.Is(err, tune.ErrNoValid) {
		if none := withoutResult(dir); none != nil {
			return none
		}
		return &exitError{exitNoValid, fmt.Errorf("%s: %w", dir, err)}
	}
	return err
}

// adviseExport says what to do about an error of an export.
func adviseExport(dir string, err error) error {
	if bad, ok := errors.AsType[*schedule.PickError](err); ok {
		return usage(fmt.Errorf("--pick: %w", bad))
	}
	if stale, ok := errors.AsType[*tune.StaleError](err); ok {
		return fmt.Errorf("%w: 'tune export %[2]s --measure' compiles and measures the best candidates again, and 'tune resume %[2]s' writes the schedule",
			stale, plain.ShellWord(dir))
	}
	return err
}

// checkExport reports flags of an export that do not go together.
func checkExport(format, prefix, pick string) error {
	switch formats := exportFormats(); {
	case !slices.Contains(formats, format):
		return fmt.Errorf("--format: unknown format %q: want %s%s", format, strings.Join(formats, ", "), space.DidYouMean(format, formats))
	case prefix != "" && format != libraryFormat:
		return fmt.Errorf("--prefix has no effect without --format %s: leave it out, or give both", libraryFormat)
	case pick != "" && !slices.Contains([]string{"json", "program", libraryFormat}, format):
		return fmt.Errorf("--pick has no effect with --format %s: want json, program or %s", format, libraryFormat)
	}
	return nil
}

// exportRun writes a run in a format. Where it measures again, a terminal shows how far that is.
func (a *app) exportRun(ctx context.Context, e schedule.Exporter, dir, format, output string, quiet bool) error {
	if format == "json" && ordinary(output) {
		return a.exportSchedule(ctx, e, dir, output, quiet)
	}
	if !e.Measure {
		shows := a.work("exporting "+dir, quiet)
		e.Rows = shows.rows
		return a.writeOut(shows, output, func(w io.Writer) error { return e.Export(ctx, dir, format, w) })
	}
	n := newNotice(a, quiet)
	n.brief = true
	return a.writeOut(nil, output, func(w io.Writer) error {
		defer n.end()
		e.Progress = n.measuring
		return e.Export(ctx, dir, format, wiping{w, n})
	})
}

// ordinary reports whether an output is a file beside which others can be written: neither standard output nor a
// device or a link, and not compressed.
func ordinary(output string) bool {
	info, err := os.Lstat(output)
	return output != "" && filepath.Ext(output) != ".gz" && (err != nil || info.Mode().IsRegular())
}

// exportSchedule writes the schedule of a run to a file, and the files that it names beside it.
func (a *app) exportSchedule(ctx context.Context, e schedule.Exporter, dir, output string, quiet bool) error {
	folder := filepath.Dir(output)
	if _, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot write %s: there is no folder %s", output, folder)
	}
	var shows *work
	n := newNotice(a, quiet)
	if n.brief = true; e.Measure {
		e.Progress = n.measuring
	} else {
		shows = a.work("exporting "+dir, quiet)
	}
	wrote, err := e.ExportTo(ctx, dir, output)
	n.end()
	shows.end()
	if len(wrote) > 0 {
		fmt.Fprintf(a.stderr, "beside %s: %s\n", output, plain.Line(strings.Join(wrote, ", ")))
	}
	return unwritten("output", output, err)
}

func (a *app) verifyCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "verify SCHEDULE|DIR",
		Short: "Rebuild a schedule and check it on fresh inputs",
		Long: `verify rebuilds a schedule from its point and checks the result on fresh inputs. It also checks the program that was saved
beside the schedule. It fails if either is wrong, has another cost, or differs from the other. A saved program that has to be
compiled is run only if it is, byte for byte, what the point builds. Given a run directory, it verifies best.json there. In a run
directory, the schedule must also agree with the journal.

Given the folder of a library, it writes the files of the library again and compares them with those in the folder, byte for byte,
and checks each variant on fresh inputs. It runs nothing from the folder.` + aboutConsent,
		Example: `  tune verify runs/treehash-20260102-150405-1/best.json
  tune verify best.json --checks 100
  tune verify best.json --config my.yaml
  tune verify best.json --data elsewhere/convolution_A100.cache.json.gz
  tune verify downloaded/my-kernel-20260102-150405-1 --yes`,
		Args: exactly(1, "the file of a schedule, or the directory of a run or a library"),
	}
	checks := c.Flags().Int("checks", tune.ExportChecks, "`number` of fresh inputs")
	config := c.Flags().StringP("config", "c", "", "YAML `file` of your own kernel, if the schedule is not in its run directory")
	data := c.Flags().String("data", "", "`file` of measurements, if the schedule is of the kernel 'recorded' and not in its run directory")
	asJSON, quiet := a.outputFlags(c)
	yes := addYes(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		if *checks < 1 || *checks > mostChecks {
			return usage(fmt.Errorf("--checks: %d: want 1 to %d", *checks, mostChecks))
		}
		if err := noRun(args[0]); err != nil {
			return err
		}
		path := args[0]
		if library.IsLibrary(path) {
			return a.verifyLibrary(c.Context(), path, *checks, *yes, *asJSON, *quiet)
		}
		if modellib.IsLibrary(path) {
			return a.verifyModel(c.Context(), path, *checks, *asJSON, *quiet)
		}
		if err := absent(path); err != nil {
			return err
		}
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			if path, err = scheduleIn(path); err != nil {
				return err
			}
		}
		found, err := a.catalog(*yes).OfSchedule(path, *config, *data)
		if err != nil {
			return givenError(adviseProgram(err, "tune.Verify"))
		}
		defer a.end(found)
		n := newNotice(a, *quiet)
		n.brief = true
		v, err := tune.Verify(c.Context(), found.Table, path, tune.FreshSeeds(*checks), n.verifying)
		n.end()
		if err != nil {
			return err
		}
		if *asJSON {
			err = printJSON(a.stdout, verifyJSON(v))
		} else {
			for _, s := range v.Steps {
				mark, why := "ok    ", ""
				if s.Err != nil {
					mark, why = "FAILED", ": "+inWords(s.Err, false)
				}
				fmt.Fprintf(a.stdout, "%s  %s%s\n", mark, s.Name, why)
			}
		}
		if err == nil && !v.OK() {
			err = &exitError{exitFailed, fmt.Errorf("%s: verification failed", path)}
		}
		return err
	}
	return c
}

// scheduleIn returns the path of the schedule in the directory of a run.
func scheduleIn(dir string) (string, error) {
	path := filepath.Join(dir, tune.ScheduleName)
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return path, nil
	}
	if err := isRun(dir); err != nil {
		return "", usage(err)
	}
	if !isRunDir(dir) {
		return "", ofFile(fmt.Errorf("%s is not a run: it has neither %s nor %s: 'tune runs' lists the runs", dir, results.SettingsName, tune.ScheduleName))
	}
	if err := withoutResult(dir); err != nil {
		return "", err
	}
	return "", fmt.Errorf("%s is missing: 'tune resume %s' writes it, if the run was interrupted", path, plain.ShellWord(dir))
}

// mostChecks bounds --checks, whose seeds are drawn beforehand and printed.
const mostChecks = 100_000

func verifyJSON(v *tune.Verification) any {
	type step struct {
		Name  string `json:"name"`
		OK    bool   `json:"ok"`
		Error string `json:"error,omitempty"`
	}
	out := struct {
		OK   bool    `json:"ok"`
		Cost float64 `json:"cost"`
		Unit string  `json:"unit"`
		// Verdict is that of the schedule, left out where it is of an earlier version.
		Verdict space.Verdict `json:"verdict,omitempty"`
		Checked string        `json:"checked"` // what the checks show
		Seeds   []uint64      `json:"seeds"`   // of the checks
		// Weak are the outputs of which checks prove little.
		Weak []space.WeakOutput `json:"weak_checks,omitempty"`
		// On the inputs of the seeds; left out where the kernel has no tolerance to measure by.
		MaxError   *float64 `json:"max_error,omitempty"`
		ErrorShare *float64 `json:"error_share,omitempty"`
		Steps      []step   `json:"steps"`
	}{OK: v.OK(), Cost: v.Schedule.Cost, Unit: v.Schedule.Unit, Verdict: v.Schedule.Verdict, Checked: v.Checking.String(), Seeds: append([]uint64{}, v.Seeds...), Weak: v.Weak}
	if d := v.Deviation; d != nil {
		out.MaxError, out.ErrorShare = &d.MaxError, &d.ErrorShare
	}
	for _, s := range v.Steps {
		j := step{Name: s.Name, OK: s.Err == nil}
		if s.Err != nil {
			j.Error = s.Err.Error()
		}
		out.Steps = append(out.Steps, j)
	}
	return out
}
