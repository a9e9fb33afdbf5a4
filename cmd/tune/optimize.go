package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"tune"
	"tune/internal/plain"
	"tune/kernels"
	"tune/kernels/asktell"
	"tune/kernels/catalog"
	"tune/kernels/recorded"
	"tune/results"
	"tune/results/session"
	"tune/search"
	"tune/space"
)

// optimizing are the flags of optimize.
type optimizing struct {
	parallel, fidelities int
	check                bool
	asJSON, quiet        *bool
}

func (a *app) optimizeCommand() *cobra.Command {
	var o optimizing
	c := &cobra.Command{
		Use:   "optimize [SPACE.yaml] [-- COMMAND…]",
		Short: "Ask a program in any language for the cost of points",
		Long: `optimize searches the space in a YAML file (parameters, constraints and perhaps start points, as tune space shows them). It
knows nothing of what is optimised: a client, a program in any language, is asked for the cost of each point, and the least cost is best.

The two speak JSON, one object a line. optimize asks on standard output, and reads the answers on standard input:

  {"ask":{"id":7,"point":{"tile":16,"layout":"row"},"fidelity":0}}
  {"tell":{"id":7,"cost":12.5}}

With COMMAND, optimize starts the client itself, connected to its standard input and output. docs/protocol.md has all messages, and
examples/clients a file to copy for Python, and clients in C and shell.

With --parallel, several questions are open at once; answers may come in any order. What the strategy asks depends only on the seed and
the answers. The first question is the default of every parameter, the baseline.

Each answer is in the run directory before the strategy hears of it. A run that was stopped, by its client or in any other way, goes
on with the same command and --dir; questions that had no answer are asked again. The other commands work with such a run as with
any other: tune export, tune replay, tune explain.

--protocol-check tries a client: it asks a dozen questions, keeps nothing, and says on standard error what the client does wrong.`,
		Example: `  tune optimize space.yaml --evals 200 --seed 1 --dir runs/x -- python3 train.py
  tune optimize space.yaml --evals 200 --parallel 4 -- ./simulator
  tune optimize --dir runs/x -- python3 train.py
  tune optimize space.yaml --protocol-check -- ./simulator`,
		Args: cobra.ArbitraryArgs,
	}
	addSettings(c.Flags(), "strategy", "seed", "budget", "evals", "target", "out", "dir")
	c.Flags().Lookup("target").Usage = "stop at the first point that costs no more than this `cost`"
	c.Flags().Lookup("budget").Usage = "wall `time` to spend, with a unit: 90s, 10m, 1h30m (default 2m, if evals is not given)"
	addDB(c.Flags())
	c.Flags().IntVarP(&o.parallel, "parallel", "p", 1, "`number` of questions that are open at once; with --evals it changes nothing in the result")
	c.Flags().IntVar(&o.fidelities, "fidelities", 0, "`number` of cheaper estimates of the cost that the client offers: fidelity 0 is the full cost, 1 the most expensive estimate, and this number the cheapest")
	c.Flags().BoolVar(&o.check, "protocol-check", false, "try the client, and keep nothing; without SPACE.yaml, on a space of its own")
	o.asJSON, o.quiet = a.outputFlags(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		command := []string{}
		if at := c.ArgsLenAtDash(); at >= 0 {
			args, command = args[:at], args[at:]
			if len(command) == 0 {
				return usage(errors.New("there is no command after the -- of 'tune optimize': write the client there, or leave -- out"))
			}
		}
		switch {
		case len(args) > 1:
			return usage(fmt.Errorf("tune optimize takes one SPACE.yaml and nothing else, but got %q: write the client after --", args[1]))
		case o.parallel < 1 || o.parallel > mostParallel:
			return usage(fmt.Errorf("--parallel: %d: want 1 to %d", o.parallel, mostParallel))
		case o.fidelities < 0 || o.fidelities > asktell.MostLevels:
			return usage(fmt.Errorf("--fidelities: %d: want 0 to %d", o.fidelities, asktell.MostLevels))
		}
		if o.check {
			return a.checkClient(c, o, args, command)
		}
		if err := a.mayPrint(*o.asJSON, command); err != nil {
			return err
		}
		return a.optimize(c, o, args, command)
	}
	return c
}

// mostParallel bounds the questions that are open at once.
const mostParallel = 10_000

// mayPrint refuses --json where standard output belongs to the client.
func (a *app) mayPrint(asJSON bool, command []string) error {
	if asJSON && len(command) == 0 {
		return usage(errors.New("--json: standard output belongs to the client, whose last message is the result: leave it out, or start the client by -- COMMAND"))
	}
	return nil
}

// optimize begins a run, or goes on with the one in --dir.
func (a *app) optimize(c *cobra.Command, o optimizing, args, command []string) error {
	set, err := readSettings(c.Flags(), "", a.environ)
	if err != nil {
		return usage(err)
	}
	indexed, err := a.indexPath(c.Flags(), set)
	if err != nil {
		return err
	}
	if set.dir != "" && isRunDir(set.dir) {
		return a.optimizeOn(c, o, set, indexed, args, command)
	}
	if len(args) == 0 {
		return usage(errors.New("tune optimize needs SPACE.yaml, or by --dir a run to continue"))
	}
	k, err := a.askedKernel(args[0], o.fidelities)
	if err != nil {
		return err
	}
	budget, err := set.newBudget(asktell.Unit)
	if err != nil {
		return err
	}
	made := set.dir == ""
	if made {
		if set.dir, err = freeDir(results.DefaultDir(set.out, k.Info().Name, a.began, set.seed)); err != nil {
			return set.unmadeDir(err)
		}
	}
	asked := a.asking(k, set.dir, o.parallel, command, o)
	return asked.carry(c.Context(), indexed, func(ctx context.Context, evaluator search.Evaluator, d *display) (*tune.Report, error) {
		report, err := session.Run(ctx, session.NewRun{
			Version: tune.Version(), Kernel: k, Strategy: set.strategy, Seed: set.seed, Dir: set.dir,
			Work: session.Work{
				Evaluator: evaluator, Budget: budget, Jobs: o.parallel, Began: a.began, Observe: d.observe, Baseline: d.baseline, Start: asked.start,
			},
		})
		if err != nil && made && !asked.started {
			_ = os.Remove(set.dir) // where nothing was written to it
		}
		return report, err
	})
}

// askedKernel reads the space of a client.
func (a *app) askedKernel(path string, fidelities int) (*asktell.Kernel, error) {
	if err := takes(path, wantsAsked); err != nil {
		return nil, err
	}
	switch kind := kindOf(path); kind {
	case kindUnknown, kindSpace, kindT1:
	case kindKernel:
		return nil, ofFile(fmt.Errorf("%s describes a kernel, and not a space alone: 'tune run %s' tunes it", path, plain.ShellWord(path)))
	default:
		return nil, ofFile(fmt.Errorf("%s %s, and no space: %s", path, kind.is, kind.command(path)))
	}
	k, err := asktell.Load(path, fidelities)
	if err != nil {
		return nil, usage(fileFault{err})
	}
	if name := k.Info().Name; slices.Contains(a.table.Names(), name) || name == recorded.Name {
		return nil, usage(fileFault{fmt.Errorf("%s: name: %s is a built-in kernel: choose another name", path, name)})
	}
	return k, nil
}

// optimizeOn goes on with a run.
func (a *app) optimizeOn(c *cobra.Command, o optimizing, set settings, indexed string, args, command []string) error {
	found, err := a.catalog(false).OfRun(set.dir, true)
	if err != nil {
		return err
	}
	defer a.end(found)
	k := found.Asked()
	if k == nil {
		return usage(fmt.Errorf("--dir: %s is a run of a kernel, and has no client: 'tune resume %s' continues it", set.dir, plain.ShellWord(set.dir)))
	}
	if len(args) > 0 {
		levels := k.Levels()
		if c.Flags().Changed("fidelities") {
			levels = o.fidelities
		}
		given, err := a.askedKernel(args[0], levels)
		if err != nil {
			return err
		}
		if given.Info().Version != k.Info().Version {
			return usage(fmt.Errorf("--dir: the run in %s searches another space than that of %s, or with other fidelities: choose another --dir", set.dir, args[0]))
		}
	}
	run, err := results.Look(set.dir)
	if err != nil {
		return err
	}
	if set.from["seed"] != "" && set.seed != run.Settings.Seed {
		return usage(fmt.Errorf("--seed: the run in %s has the seed %d: leave it out, or choose another --dir", set.dir, run.Settings.Seed))
	}
	if c.Flags().Changed("parallel") {
		set.jobs = o.parallel
	}
	return a.resumeAsked(c, set, indexed, found, set.dir, o, command)
}

// resumeAsked goes on with a run that has a client.
func (a *app) resumeAsked(c *cobra.Command, set settings, indexed string, found *catalog.Found, dir string, o optimizing, command []string) error {
	if err := a.mayPrint(*o.asJSON, command); err != nil {
		return err
	}
	run, err := results.Look(dir)
	if err != nil {
		return err
	}
	budget, err := set.budgetIn(asktell.Unit)
	if err != nil {
		return err
	}
	asked := a.asking(found.Asked(), dir, cmp.Or(set.jobs, run.Settings.Jobs), command, o)
	return asked.carry(c.Context(), indexed, func(ctx context.Context, evaluator search.Evaluator, d *display) (*tune.Report, error) {
		return session.Resume(ctx, tune.Version(), found.Table, dir, set.strategy, session.Work{
			Evaluator: evaluator, Budget: budget, Jobs: set.jobs, Began: a.began, Observe: d.observe, Baseline: d.baseline, Start: asked.start,
		})
	})
}

// asking is a run with a client.
type asking struct {
	a       *app
	kernel  *asktell.Kernel
	dir     string
	hello   asktell.Hello
	command []string // that starts the client; without one it is at tune's own standard input and output
	asJSON  bool
	display *display
	started bool
}

func (a *app) asking(k *asktell.Kernel, dir string, parallel int, command []string, o optimizing) *asking {
	return &asking{
		a: a, kernel: k, dir: dir, command: command, asJSON: *o.asJSON, display: a.watch(*o.quiet),
		hello: asktell.Hello{Tool: "tune " + tune.Version(), Space: k.Info().Name, Parallel: parallel, Fidelities: k.Levels()},
	}
}

func (s *asking) start(begin tune.Start) {
	s.started = true
	s.display.start(begin)
}

// again is the command that goes on with the run.
func (s *asking) again() string {
	text := "tune optimize --dir " + plain.ShellWord(s.dir)
	for i, word := range s.command {
		if i == 0 {
			text += " --"
		}
		text += " " + plain.ShellWord(plain.Line(word))
	}
	return text
}

// carry connects the client, carries out a run, and says what became of it.
func (s *asking) carry(ctx context.Context, indexed string, run func(context.Context, search.Evaluator, *display) (*tune.Report, error)) error {
	a := s.a
	link, err := a.connect(ctx, s.command, s.hello, s.display)
	if err != nil {
		return err
	}
	report, err := run(link.ctx, s.kernel.Attach(link.client), s.display)
	if s.started {
		s.display.end()
	}
	lost := link.client.Err()
	ended := link.close(endOf(report, err, lost))
	if report != nil && err == nil {
		a.remember(ctx, indexed, s.dir, report)
	}
	stopped := report == nil || report.Result.Stop == search.Interrupted
	if fault, ok := errors.AsType[*asktell.FaultError](lost); ok && stopped {
		return fmt.Errorf("%w: mend the client, and continue with '%s'", fault, s.again())
	}
	if lost != nil && stopped && ctx.Err() == nil {
		if !errors.Is(lost, asktell.ErrGone) {
			return fmt.Errorf("%w: mend the client, and continue with '%s'", lost, s.again())
		}
		if ended != nil && (report == nil || report.Result.Told == 0) {
			return fmt.Errorf("the client ended before it answered a question (%s: %w): mend it, and continue with '%s'", s.command[0], ended, s.again())
		}
		if ended != nil {
			lost = fmt.Errorf("%w (%s: %w)", lost, s.command[0], ended)
		}
		return &exitError{exitInterrupted, fmt.Errorf("%w: continue with '%s'", lost, s.again())}
	}
	if base, failed := errors.AsType[*tune.BaselineError](err); failed {
		return fmt.Errorf("the first point, the default of every parameter, %s: %s: choose defaults that work in %s, and start again with another --dir",
			base.Outcome.Status, base.Outcome.Reason, s.kernel.Info().Files.Path)
	}
	switch {
	case isFull(err):
		err = adviseFullBy(s.dir, s.again(), err)
	case report == nil && err != nil && !interrupted(ctx, err):
		err = adviseRun(s.dir, "", false, err)
	}
	if len(s.command) == 0 {
		a.stdout = a.stderr // standard output is the client's
	}
	err = a.finish(report, err, s.asJSON)
	if exit, ok := errors.AsType[*exitError](err); ok && exit.code == exitInterrupted {
		return &exitError{exitInterrupted, fmt.Errorf("interrupted: continue with '%s'", s.again())} // which starts the client too
	}
	return err
}

// endOf is the last message of a run to its client.
func endOf(r *tune.Report, err, lost error) asktell.End {
	switch {
	case r == nil && lost != nil:
		return asktell.End{Why: plain.Line(lost.Error())}
	case r == nil && err != nil:
		return asktell.End{Why: plain.Line(err.Error())}
	}
	e := asktell.End{Why: r.Result.Stop.String(), Evaluations: r.Result.Told, Valid: r.Result.Valid, Dir: r.Dir}
	if lost != nil {
		e.Why = plain.Line(lost.Error())
	}
	if best := r.Result.Best; best.Outcome.Status == space.OK {
		if text, jerr := json.Marshal(best.Trial.Point); jerr == nil {
			e.Best, e.Cost = text, &best.Outcome.Cost
		}
	}
	return e
}

// link is the connection to a client.
type link struct {
	client *asktell.Client
	ctx    context.Context // ends when the client is gone
	cancel context.CancelCauseFunc
	hangUp func()       // closes what the client reads
	wait   func() error // for the process of the client; nil where tune has not started it
	leaves time.Duration
}

// connect connects tune to a client: to the command if there is one, which shows its standard error through shown, and else to
// whatever is at standard input and output.
func (a *app) connect(ctx context.Context, command []string, hello asktell.Hello, shown io.Writer) (*link, error) {
	signal.Ignore(syscall.SIGPIPE) // a client that is gone must not end tune
	if len(command) == 0 && a.readers != nil {
		a.readers.needless.Store(true) // standard output is the client's
	}
	l := &link{leaves: clientLeaves}
	l.ctx, l.cancel = context.WithCancelCause(ctx)
	in, out := a.stdin, a.raw
	if len(command) == 0 {
		in = waitable(in)
	} else {
		process := exec.Command(command[0], command[1:]...)
		process.Stderr = shown
		stdin, err := process.StdinPipe()
		if err != nil {
			return nil, err
		}
		stdout, theirs, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		process.Stdout, process.WaitDelay = theirs, clientDrains
		err = process.Start()
		_ = theirs.Close() // the process has its own
		if err != nil {
			_ = stdout.Close() // nothing writes to it
			l.cancel(nil)
			return nil, usage(notStarted(command[0], err))
		}
		in, out = stdout, stdin
		ended := make(chan error, 1)
		go func() {
			err := process.Wait()
			if errors.Is(err, exec.ErrWaitDelay) {
				err = nil // a child of the client holds its standard error
			}
			ended <- err
			// A child of the client may hold its standard output for ever.
			time.AfterFunc(clientDrains, func() { _ = stdout.Close() })
		}()
		l.wait = func() error {
			// It may finish what it does, and no more than that.
			end := time.AfterFunc(l.leaves, func() {
				fmt.Fprintf(shown, "the client has not ended within %v after the last message: tune ends it\n", l.leaves)
				_ = process.Process.Kill()
			})
			defer end.Stop()
			return <-ended
		}
	}
	l.hangUp = func() {
		if c, ok := out.(io.Closer); ok {
			_ = c.Close() // nothing follows
		}
	}
	l.client = asktell.NewClient(in, out, hello, l.cancel)
	noteSilence(l.ctx, l.client, clientSilent, shown)
	return l, nil
}

// waitable returns a reader of the same pipe whose goroutine waits in the runtime, while a read of standard input keeps a thread:
// without the switches between threads a question takes half of the time. The pipe is opened again, because programs that share
// standard input may not find it changed. What is no pipe, or cannot be opened again, is returned as it is.
func waitable(in io.Reader) io.Reader {
	file, ok := in.(*os.File)
	if !ok {
		return in
	}
	if info, err := file.Stat(); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		return in
	}
	again, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", file.Fd()), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return in
	}
	return again
}

// clientSilent is after how long without a line of the client tune says what may be the reason.
const clientSilent = 10 * time.Second

// noteSilence says once what may be wrong with a client that has written nothing for some time.
func noteSilence(ctx context.Context, c *asktell.Client, after time.Duration, shown io.Writer) {
	timer := time.AfterFunc(after, func() {
		if c.Silent() {
			fmt.Fprintf(shown, "the client has written nothing for %v: if it should have answered by now, it may not flush its standard output after each line\n", after)
		}
	})
	context.AfterFunc(ctx, func() { timer.Stop() })
}

// clientLeaves is how long a client that tune has started may go on after the last message.
const clientLeaves = 10 * time.Second

// clientDrains is how long tune reads what a client has written after its process has ended, though a child of it holds its output.
const clientDrains = time.Second

// close says goodbye, and returns how the process of the client ended, if tune has started it.
func (l *link) close(end asktell.End) error {
	l.client.Close(end)
	l.hangUp()
	defer l.cancel(nil)
	if l.wait == nil {
		return nil
	}
	return l.wait()
}

// checkSpace is the space on which a client is tried that has none.
const checkSpace = `name: check
parameters:
  - {name: x, type: int, from: 0, to: 100}
  - {name: y, type: float, from: 0, to: 1, steps: 11}
  - {name: layout, type: enum, values: [row, column]}
  - {name: fast, type: bool}
`

// checkClient tries a client.
func (a *app) checkClient(c *cobra.Command, o optimizing, args, command []string) error {
	path, data := "the built-in space", []byte(checkSpace)
	k, err := asktell.New(path, data, o.fidelities)
	if len(args) > 0 {
		k, err = a.askedKernel(args[0], o.fidelities)
	}
	if err != nil {
		return err
	}
	problem, err := k.Problem(kernels.Shape{})
	if err != nil {
		return err
	}
	hello := asktell.Hello{Tool: "tune " + tune.Version(), Space: problem.Space().Name(), Parallel: o.parallel, Fidelities: o.fidelities}
	if !c.Flags().Changed("parallel") {
		hello.Parallel = 3
	}
	link, err := a.connect(c.Context(), command, hello, a.stderr)
	if err != nil {
		return err
	}
	defer link.cancel(nil)
	ok := link.client.Check(link.ctx, problem.Space(), hello, link.hangUp, func(s asktell.Step) {
		mark, why := "ok    ", ""
		if s.Err != nil {
			mark, why = "FAILED", ": "+s.Err.Error()
		}
		fmt.Fprintf(a.stderr, "%s  %s%s\n", mark, s.Name, why)
	})
	if link.wait != nil {
		if err := link.wait(); err != nil {
			fmt.Fprintf(a.stderr, "note: the client has ended with %v\n", err)
		}
	}
	if !ok {
		return &exitError{exitFailed, fmt.Errorf("tune optimize --protocol-check: the client does not do as the protocol says: see docs/protocol.md%s", of(command))}
	}
	return nil
}

// of names the command of a client in a sentence.
func of(command []string) string {
	if len(command) == 0 {
		return ""
	}
	return fmt.Sprintf(" (%s)", filepath.Base(strings.TrimSpace(command[0])))
}
