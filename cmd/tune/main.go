// Command tune finds the fastest correct version of a kernel.
//
// Usage:
//
//	tune                          print a short help
//	tune --budget 1h              tune the kernel of ./tune.yaml or ./kernel.yaml, else the tree hash
//	tune run KERNEL [flags]       search, check, and export the best schedule
//	tune optimize SPACE.yaml      ask a program in any language for the cost of points
//	tune resume DIR               continue a run that was stopped
//	tune measure DIR              measure the best points of a run again, when the machine is quiet
//	tune verify best.json         rebuild a schedule and check it on fresh inputs
//	tune library FILE.yaml        tune a kernel for many shapes, and write a C library that chooses a version at each call
//	tune model CONFIG             tune the kernels of a language model, and write a library that runs its layers
//	tune compare A B              compare the results of two runs: what differs, and which is faster
//	tune guard best.json…         find out whether exported kernels have become slower beside their baselines
//	tune export DIR|FILE          write a run's schedule, program, trace or outcomes; convert measurements
//	tune import FILE              read the spaces and measurements of other tuners
//	tune report RUN... -o FILE    show runs in one HTML file, or as Markdown
//	tune serve [DIR...]           show runs in a browser while they go on
//	tune replay DIR               prove that a run asks the points that it recorded
//	tune worker URL               evaluate candidates of runs on other machines
//	tune workers URL              list the workers at a NATS server
//	tune list, tune runs          the kernels, the runs
//	tune space KERNEL|FILE        parameters, constraints and size of a space
//	tune explain POINT|DIR        what a generator builds from a point, and what limits its cost
//	tune sim PROGRAM.json|DIR     run a program of the VLIW machine on a fresh tree
//	tune bench search KERNEL      compare strategies on a kernel or, with --data, on measured spaces
//	tune bench KERNEL             tune a kernel and compare it with installed libraries
//	tune bench race --data FILE   evaluate early stopping on a space whose single repeats are known
//	tune bench tasks --data FILE  compare the rules that share a budget among several searches
//	tune bench importance --data FILE  compare what searches say of the parameters with the truth
//	tune bench objectives --data FILE  compare the fronts that strategies find with the true ones
//	tune bench ablate KERNEL      measure what the choices of a space are worth
//	tune bench library FILE       compare a library of kernels with other libraries
//	tune init, tune check FILE    write an example kernel file; check a kernel file and try its baseline
//	tune machine                  what tune finds on this machine, and how kernels are isolated
//	tune peers, tune peers fetch  the libraries that bench compares with; get ggml
//	tune gguf FILE                list the tensors of a model file
//	tune config                   show each setting of a run, and where it comes from
//	tune best                     the best point that is known of a kernel at a shape
//	tune db list, tune db show, tune db rebuild, tune db gc, tune db export, tune db import
//	                              the index of runs, in which every run enters itself
//	tune cache, tune cache prune  where compiled kernels are kept, and how to remove them
//	tune version                  print the version
//	tune completion SHELL         a script that completes commands, kernels and runs in your shell
//	tune help COMMAND             flags and examples
//
// Settings come from flags, then from the environment (TUNE_BUDGET=1h), then from a preset or a file given by
// --config, then from ./tune.yaml or ./kernel.yaml, then from the user's tune/tune.yaml, then from the defaults: see tune config.
//
// Exit codes:
//
//	0    success: a result was checked and exported, whatever its verdict, or the check passed
//	1    tune failed, or a check failed, or tune compare --fail-over: the second result is slower, or tune guard: a result is slower or
//	     broken, or tune measure: nothing was measured, or the verdict is unverified
//	2    usage: a wrong command, flag, key, type or unit, an unknown kernel, or a file or folder that is not there or is of another kind
//	3    no valid candidate was found
//	4    tune guard, or tune compare --fail-over, cannot tell
//	130  interrupted; the best so far is exported, and the run can be resumed
//	141  the program that read the output ended first, as in tune runs | head
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"tune"
	"tune/internal/guard"
	"tune/internal/plain"
	"tune/kernels"
	"tune/kernels/all"
	"tune/kernels/native"
	"tune/kernels/native/cc"
	"tune/kernels/user"
	"tune/space"
)

// The exit codes.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitNoValid     = 3
	exitUnsure      = 4
	exitInterrupted = 130
)

func main() { runOn(native.NewHost(native.HostOptions{})) }

// runOn runs the command line of this process on a machine, and ends the process.
func runOn(host *native.Host) {
	began := processBegan(time.Now())
	limitMemory()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// After the first signal the default handling returns, so that a second one ends tune at once.
	context.AfterFunc(ctx, stop)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	readers := watchReaders(cancel)
	a := &app{
		stdin: os.Stdin, stdout: output{os.Stdout, readers, true}, stderr: output{os.Stderr, readers, false}, readers: readers,
		environ: os.Environ(), began: began, host: host, table: all.Table(host),
		shown: term.IsTerminal(int(os.Stdout.Fd())),
	}
	terminal := term.IsTerminal(int(os.Stderr.Fd()))
	a.interactive = terminal && term.IsTerminal(int(os.Stdin.Fd()))
	if terminal && os.Getenv("TERM") != "dumb" { // which cannot go back in a line
		a.width = terminalWidth
	}
	code := a.run(ctx, os.Args[1:])
	host.Close() // what it ends would end with tune
	if readers.left() {
		code = exitGone
	}
	os.Exit(code)
}

// processBegan returns when this process began, as far as the system tells: a busy machine takes a while to load a program. The time of a
// process that began long ago is that of another program, such as a shell that ended with exec; then now stands for it.
func processBegan(now time.Time) time.Time {
	stat, err := os.ReadFile("/proc/self/stat")
	uptime, uerr := os.ReadFile("/proc/uptime")
	if err != nil || uerr != nil {
		return now
	}
	age, ok := ageOf(string(stat), string(uptime))
	if !ok || age < 0 || age > time.Second {
		return now
	}
	return now.Add(-age)
}

// ageOf returns how long a process has run, from the texts that Linux has of it in stat and of the machine in uptime. ok is false where
// they do not say.
func ageOf(stat, uptime string) (age time.Duration, ok bool) {
	const (
		ticks = 100 // in a second
		field = 19  // of the time when the process began, after the name in parentheses
	)
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) <= field {
		return 0, false
	}
	began, err := strconv.ParseFloat(fields[field], 64)
	if err != nil {
		return 0, false
	}
	up, _, _ := strings.Cut(uptime, " ")
	now, err := strconv.ParseFloat(up, 64)
	return space.Duration(now - began/ticks), err == nil
}

// terminalWidth returns the columns of the terminal on standard error. It is called for every line, because users resize their
// windows.
func terminalWidth() int {
	if w, _, err := term.GetSize(int(os.Stderr.Fd())); err == nil && w > 0 {
		return w
	}
	if w, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && w > 0 {
		return w
	}
	return 80
}

// app is one invocation of the command.
type app struct {
	stdin io.Reader
	// Text written to stdout and stderr is made safe to show once run has begun. raw is unfiltered standard output, for files;
	// live is standard error for lines that change.
	stdout, stderr io.Writer
	raw, live      io.Writer
	readers        *readers // of stdout and stderr; nil where nobody watches them
	environ        []string
	began          time.Time
	host           *native.Host // that kernels in C are compiled and run on
	table          kernels.Table
	shown          bool       // whether stdout is a terminal
	interactive    bool       // whether somebody can be asked: stdin and stderr are terminals
	width          func() int // columns of the terminal on stderr; nil where no line can change there
	events         *events    // what --progress json writes to stderr; nil without it
	quiet          bool       // whether no progress is shown: --quiet
	plain          bool       // whether --progress asks for plain lines
}

// exitError is an end that is not a failure of tune. An error without a text has been reported already.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// usage marks an error as the user's. One of the machine stays as it is, and so does that of a file that must not be read.
func usage(err error) error {
	if err == nil || ofMachine(err) || errors.Is(err, fs.ErrPermission) {
		return err
	}
	return &exitError{exitUsage, err}
}

// ofMachine reports whether an error says that this machine has no C compiler, or no place for what it makes. It says what to do, and no
// other flag, file or folder helps.
func ofMachine(err error) bool { return errors.Is(err, cc.ErrNone) || errors.Is(err, cc.ErrCache) }

// fileFault marks an error that stands in a file or in the environment: help about commands would not help.
type fileFault struct{ error }

func (e fileFault) Unwrap() error { return e.error }

// inFile reports whether an error is about what a file holds.
func inFile(err error) bool {
	_, settings := errors.AsType[fileFault](err)
	_, kernel := errors.AsType[user.Faults](err)
	return settings || kernel
}

// run executes a command line and returns the exit code.
func (a *app) run(ctx context.Context, args []string) (code int) {
	stdout, stderr := plain.NewWriter(a.stdout), plain.NewWriter(a.stderr)
	a.raw, a.live, a.stdout, a.stderr = a.stdout, a.stderr, stdout, stderr
	if stdout.ASCII = onlyASCII(a.environ); stdout.ASCII {
		stderr.ASCII, a.live = true, asciiWriter{a.live}
	}
	defer func() { stdout.Flush(); stderr.Flush() }()
	err := guard.Call(func() error {
		code = a.execute(ctx, args)
		return nil
	})
	if p, ok := errors.AsType[*guard.Panic](err); ok {
		fmt.Fprintf(a.stderr, "tune: this is a bug in tune, please report it: %v at %s\n", p.Value, p.Place())
		return exitFailed
	}
	return code
}

func (a *app) execute(ctx context.Context, args []string) int {
	root := a.root()
	root.SetArgs(args)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	completionCommand(root)
	err := cmp.Or(versionAlone(args), singleDash(root, args), withoutValue(root, args))
	if err == nil {
		err = root.ExecuteContext(ctx)
	}
	if err == nil {
		err = a.readers.lost()
	}
	if err == nil {
		a.conclude(exitOK, "")
		return exitOK
	}
	if a.readers.left() {
		return exitGone
	}
	code := exitFailed
	if e, ok := errors.AsType[*exitError](err); ok {
		code = e.code
	} else if interrupted(ctx, err) {
		code = exitInterrupted
	}
	if interrupted(ctx, err) && errors.Is(err, context.Canceled) {
		err = errors.New("interrupted")
	}
	a.conclude(code, inWords(err, true))
	if code == exitUsage && !inFile(err) && a.events == nil {
		fmt.Fprintln(a.stderr, "Run 'tune help' for commands, flags and examples.")
	}
	return code
}

// conclude says why a command failed, if it did: as the last event where these are written.
func (a *app) conclude(code int, text string) {
	switch {
	case a.events != nil:
		a.events.emit(event{Event: eventEnd, Code: &code, Text: plain.Line(text)})
	case text != "":
		fmt.Fprintf(a.stderr, "tune: %s\n", text)
	}
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "tune",
		Short: "Find the fastest correct version of a kernel",
		Long: `tune searches the many ways to write a kernel for the fastest one that is still correct. Every candidate is
checked against a reference before its cost counts. The best is exported together with what is needed to verify and
reproduce it. With flags and no command, tune does what 'tune run' does.

Settings come from flags, from the environment (TUNE_BUDGET=1h), from files and from defaults: 'tune help config' has their order, and
'tune config' shows each setting with its source. Progress goes to standard error, results to standard output.

Exit codes:
  0    success: a result was checked and exported, whatever its verdict, or the check passed
  1    tune failed, or a check failed, or 'tune compare --fail-over': the second result is slower, or 'tune guard': a result is slower or
       broken, or 'tune measure': nothing was measured, or the verdict is unverified
  2    wrong usage, or a file or folder that is not there or is of another kind
  3    no valid candidate
  4    'tune guard' or 'tune compare --fail-over' cannot tell
  130  interrupted: the best so far is exported, and the run can be resumed
  141  the program that read the output ended first, as in 'tune runs | head'`,
		Example: `  tune --budget 1h
  tune run treehash --shape height=8,rounds=12,batch=128 --evals 2000 --seed 7
  tune verify runs/treehash-20260102-150405-1/best.json`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 0 && slices.Contains(a.table.Names(), args[0]) {
				return usage(fmt.Errorf("unknown command %q (did you mean 'tune run %s'?)", args[0], plain.ShellWord(args[0])))
			}
			if len(args) > 0 && strings.Contains(args[0], ".") {
				if other := noKernel(args[0]); other != nil {
					return usage(fmt.Errorf("unknown command %q: %w", args[0], other))
				}
			}
			if len(args) > 0 && isYAML(args[0]) {
				return usage(fmt.Errorf("unknown command %q (did you mean 'tune run %s'?)", args[0], plain.ShellWord(args[0])))
			}
			if len(args) > 0 && strings.ContainsAny(args[0], "./") {
				if info, err := os.Stat(args[0]); err == nil && info.Mode().IsRegular() {
					return usage(notYAML(args[0]))
				}
			}
			return noArgs(c, args)
		},
		SilenceErrors: true, SilenceUsage: true,
		Version: tune.Version(),
	}
	root.SetVersionTemplate(versionText() + "\n")
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return usage(flagError(c, err)) })
	root.PersistentPreRunE = func(c *cobra.Command, _ []string) error {
		return usage(cmp.Or(checkEnvironment(a.environ), emptyFlag(c.Flags())))
	}
	a.asRun(root)
	search := root.RunE
	root.RunE = func(c *cobra.Command, args []string) error {
		if c.Flags().NFlag() == 0 {
			_, err := fmt.Fprint(a.stdout, shortHelp)
			return err
		}
		return search(c, args)
	}
	root.SetHelpCommand(a.helpCommand(root))
	root.AddCommand(a.runCommand(), a.optimizeCommand(), a.resumeCommand(), a.measureCommand(), a.verifyCommand(), a.compareCommand(), a.guardCommand(), a.exportCommand(), a.replayCommand(), a.reportCommand(), a.serveCommand(),
		a.listCommand(), a.runsCommand(), a.spaceCommand(), a.explainCommand(), a.simCommand(), a.benchCommand(), a.importCommand(),
		a.initCommand(), a.checkCommand(), a.machineCommand(), a.peersCommand(), a.ggufCommand(), a.configCommand(),
		a.cacheCommand(), a.libraryCommand(), a.modelCommand(), a.bestCommand(), a.dbCommand(), a.workerCommand(), a.workersCommand(), a.versionCommand(), a.manCommand(root))
	a.complete(root)
	return root
}

// shortHelp is what tune prints without any argument.
const shortHelp = `tune finds the fastest correct version of a kernel.

  tune init my-kernel        write an example of your own kernel
  tune check FILE            check a kernel file and try its baseline
  tune run KERNEL|FILE       search, check, and export the best
  tune list                  the kernels that come with tune, the strategies and the presets
  tune runs                  the runs so far; tune resume DIR continues one
  tune explain DIR           how the best of a run is built, and what mattered
  tune verify DIR            rebuild the best of a run and check it on fresh inputs
  tune export DIR            the best of a run as a C library, or all outcomes as csv or a chart: see --format
  tune --budget 1h           tune the kernel of ./tune.yaml or ./kernel.yaml, else the built-in tree hash

'tune help' lists all commands, 'tune help COMMAND' the flags of one.
`

// helpCommand is cobra's, but for refusing what it does not know.
func (a *app) helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND]",
		Short:   "Show the flags and examples of a command",
		Example: "  tune help run",
		// Help is to be had whatever the environment holds.
		PersistentPreRunE: func(*cobra.Command, []string) error { return nil },
		ValidArgsFunction: func(_ *cobra.Command, args []string, begun string) (names []string, _ cobra.ShellCompDirective) {
			if of, rest, err := root.Find(args); err == nil && len(rest) == 0 {
				for _, c := range of.Commands() {
					if c.IsAvailableCommand() && strings.HasPrefix(c.Name(), begun) {
						names = append(names, c.Name())
					}
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			c, rest, err := root.Find(args)
			switch {
			case err != nil || len(rest) > 0 && c == root:
				return noArgs(root, args)
			case len(rest) > 0:
				return usage(fmt.Errorf("unknown command %q", strings.Join(args, " ")))
			}
			c.InitDefaultHelpFlag()
			c.InitDefaultVersionFlag()
			return c.Help()
		},
	}
}

// noArgs refuses arguments, and says which command may have been meant.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() || sub.Name() == "help" {
			names = append(names, sub.Name())
		}
	}
	if len(names) > 0 {
		return usage(fmt.Errorf("unknown command %q: want %s%s", args[0], strings.Join(names, ", "), space.DidYouMean(args[0], names)))
	}
	return usage(fmt.Errorf("%s takes no arguments, but got %q%s", c.CommandPath(), args[0], strayFlag(c, args[0])))
}

// exactly refuses any other number of arguments.
func exactly(n int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		switch {
		case len(args) < n:
			if ofKernel(what) && describesKernel(kernelName) {
				return usage(fmt.Errorf("%[1]s needs %[2]s: for the one here write '%[1]s %[3]s'", c.CommandPath(), what, kernelName))
			}
			return usage(fmt.Errorf("%s needs %s: %s", c.CommandPath(), what, strings.TrimSuffix(c.UseLine(), " [flags]")))
		case len(args) > n:
			return usage(fmt.Errorf("%s takes %s and nothing else, but got %q%s", c.CommandPath(), what, args[n], strayFlag(c, args[n])))
		}
		return nil
	}
}

// ofKernel reports whether an argument, as exactly describes it, may be the file of a kernel.
func ofKernel(what string) bool {
	return strings.HasPrefix(what, "a kernel") || what == "the file of a kernel"
}

// versionAlone refuses what stands behind --version, which would be left out without a word.
func versionAlone(args []string) error {
	if len(args) < 2 || args[0] != "--version" && args[0] != "-v" {
		return nil
	}
	return usage(fmt.Errorf("tune %s prints the version and takes nothing else, but got %q", args[0], args[1]))
}

// singleDash refuses the long name of a flag behind a single dash, as other programs take it: -budget is read as -b with the value udget.
func singleDash(root *cobra.Command, args []string) error {
	c, _, err := root.Find(args)
	if err != nil {
		return nil // which says more
	}
	for _, arg := range args {
		if arg == "--" {
			break
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(arg, "-"), "=")
		if len(name) > 1 && strings.HasPrefix(arg, "-") && c.Flags().Lookup(name) != nil {
			return usage(fmt.Errorf("unknown flag: -%s (did you mean --%[1]s?)", name))
		}
	}
	return nil
}

// withoutValue refuses a flag that stands in the place of the value of the flag before it, which would be taken for the value.
func withoutValue(root *cobra.Command, args []string) error {
	c, _, err := root.Find(args)
	if err != nil || len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		return nil // which says more, or completes a command line that is being written
	}
	for i, arg := range args[:max(len(args)-1, 0)] {
		if arg == "--" {
			break
		}
		f, next := flagOf(c, arg), args[i+1]
		name, _, _ := strings.Cut(next, "=")
		if f != nil && f.NoOptDefVal == "" && strings.HasPrefix(next, "--") && flagOf(c, name) != nil {
			what, _ := pflag.UnquoteUsage(f)
			return usage(fmt.Errorf("--%s needs a %s, and %s follows it: write a value between them", f.Name, what, name))
		}
	}
	return nil
}

// flagOf returns the flag of a command that an argument is, by its long name or its letter; nil where it is none.
func flagOf(c *cobra.Command, arg string) *pflag.Flag {
	if name, long := strings.CutPrefix(arg, "--"); long {
		return c.Flags().Lookup(name)
	}
	if letter, short := strings.CutPrefix(arg, "-"); short && len(letter) == 1 {
		return c.Flags().ShorthandLookup(letter)
	}
	return nil
}

// emptyFlag refuses a flag whose value is empty, as that of a variable of the shell that is not set. Settings say themselves what an empty
// value lacks, and a start point may be that of all defaults.
func emptyFlag(flags *pflag.FlagSet) (err error) {
	flags.Visit(func(f *pflag.Flag) {
		list, isList := f.Value.(pflag.SliceValue)
		what := "is empty"
		empty := f.Value.Type() == "string" && f.Value.String() == "" && !slices.Contains(settingKeys(), f.Name)
		if isList && f.Name != "start" {
			empty = len(list.GetSlice()) == 0 || slices.Contains(list.GetSlice(), "")
		}
		if empty && isList && len(list.GetSlice()) > 1 {
			what = "one of the values is empty"
		}
		if empty {
			err = fmt.Errorf("--%s: %s: write a value, or leave it out", f.Name, what)
		}
	})
	return err
}

// otherNames are the names that other programs have for flags of tune's, with those that each may stand for. Of a command that has none of
// them, nothing is said.
var otherNames = []struct{ names, flags []string }{
	{[]string{"o", "output", "out", "save", "dest", "destination", "output-dir", "out-dir", "directory", "folder"}, []string{"output", "out", "dir"}},
	{[]string{"t", "time", "timeout", "time-limit", "max-time", "duration", "seconds", "minutes"}, []string{"budget", "limit"}},
	{[]string{"n", "iterations", "iters", "iter", "trials", "n-trials", "max-evals", "evaluations", "samples", "steps", "count", "number"}, []string{"evals"}},
	{[]string{"threads", "parallel", "concurrency", "cores", "cpus", "procs", "nproc"}, []string{"jobs"}},
	{[]string{"port", "host", "address", "addr", "bind"}, []string{"listen"}},
	{[]string{"v", "verbose", "debug", "log", "log-level"}, []string{"show-output", "progress"}},
	{[]string{"silent", "no-progress"}, []string{"quiet"}},
	{[]string{"random-seed", "random-state", "rng"}, []string{"seed", "seeds"}},
	{[]string{"algorithm", "algo", "method", "optimizer", "optimiser", "tuner"}, []string{"strategy", "strategies"}},
	{[]string{"goal", "minimize", "minimise", "maximize", "maximise"}, []string{"objective"}},
	{[]string{"size", "sizes", "dims", "dimensions", "problem-size"}, []string{"shape", "shapes"}},
	{[]string{"threshold", "until", "stop"}, []string{"target"}},
	{[]string{"force", "assume-yes", "y"}, []string{"yes"}},
	{[]string{"settings", "preset", "configuration", "options"}, []string{"config"}},
	{[]string{"warm-start", "initial", "previous", "resume-from"}, []string{"from", "start"}},
	{[]string{"browser", "watch", "dashboard", "web"}, []string{"live"}},
	{[]string{"format", "output-format"}, []string{"json"}},
	{[]string{"database", "index"}, []string{"db"}},
}

// meantFlags says which of the flags of a command a name that other programs use may stand for, as the end of a message.
func meantFlags(other string, names []string) string {
	var like []string
	for _, o := range otherNames {
		for _, name := range o.flags {
			if slices.Contains(o.names, other) && slices.Contains(names, name) {
				like = append(like, "--"+name)
			}
		}
	}
	if len(like) == 0 {
		return ""
	}
	return fmt.Sprintf(" (did you mean %s?)", strings.Join(like, " or "))
}

// ofRuns are the commands that go on with a run, or look at one.
var ofRuns = []string{"resume", "replay", "measure"}

// flagError says what is wrong with a flag in the words of users.
func flagError(c *cobra.Command, err error) error {
	if bad, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		want := map[string]string{"int": "a whole number", "intSlice": "whole numbers with commas between them", "bool": "true or false"}[bad.GetFlag().Value.Type()]
		if want != "" {
			return fmt.Errorf("--%s: %s: want %s", bad.GetFlag().Name, quoted(bad.GetValue()), want)
		}
		return fmt.Errorf("--%s: %w", bad.GetFlag().Name, bad.Unwrap())
	}
	if missing, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		what, _ := pflag.UnquoteUsage(missing.GetFlag())
		return fmt.Errorf("--%s needs a %s", missing.GetFlag().Name, what)
	}
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return err
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if unknown.GetSpecifiedShortnames() != "" {
		return fmt.Errorf("%w%s", err, meantFlags(unknown.GetSpecifiedName(), names))
	}
	for _, other := range c.Root().Commands() {
		if other.IsAvailableCommand() && other.Name() == unknown.GetSpecifiedName() && c != other {
			return fmt.Errorf("%w: it is a command, 'tune %s'", err, other.Use)
		}
	}
	if called := kept(c.Root().Flags(), unknown.GetSpecifiedName()); called != "" && slices.Contains(ofRuns, c.Name()) {
		return fmt.Errorf("%w: the run keeps its %s: leave it out, or start a new run", err, called)
	}
	if meant := meantFlags(unknown.GetSpecifiedName(), names); meant != "" {
		return fmt.Errorf("%w%s", err, meant)
	}
	if n := space.Nearest(unknown.GetSpecifiedName(), names); n != "" {
		return fmt.Errorf("%w (did you mean --%s?)", err, n)
	}
	if what := strings.ToUpper(unknown.GetSpecifiedName()); what == "KERNEL" && strings.Contains(c.Use, what) {
		return fmt.Errorf("%w: the kernel is an argument, '%s %s'", err, c.CommandPath(), what)
	}
	return err
}
