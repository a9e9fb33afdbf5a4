package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"tune/internal/files"
	"tune/internal/guard"
	"tune/internal/plain"
	"tune/kernels"
	"tune/kernels/native/cc"
	"tune/kernels/recorded"
	"tune/kernels/user"
	"tune/results/library"
	"tune/space"
)

// loadKernel reads the kernel of the user that a config holds; nil where it is a preset, or settings alone.
func loadKernel(config string) (*user.Kernel, error) {
	if !strings.ContainsAny(config, "./\\") {
		return nil, nil // a preset
	}
	data, err := files.Read(config, files.YAML)
	if err != nil || !user.IsKernel(data) {
		return nil, nil // who reads the settings says what is wrong
	}
	return user.Load(config)
}

// adopt puts the kernel of a config into the table, and makes it the one to run.
func (a *app) adopt(k *user.Kernel, set *settings, args []string) error {
	switch name := k.Info().Name; {
	case len(args) > 0:
		return fmt.Errorf("%s defines the kernel: leave %q out", k.Path(), args[0])
	case set.from["kernel"] != "":
		return fileFault{fmt.Errorf("%s: %s defines the kernel: unset it", set.from["kernel"], k.Path())}
	default:
		if err := a.builtIn(k); err != nil {
			return err
		}
		set.kernel = name
	}
	a.table = append(slices.Clone(a.table), k.On(a.host))
	return nil
}

// end closes a kernel. Its cleanup may fail, which makes no result wrong.
func (a *app) end(k io.Closer) {
	if err := k.Close(); err != nil {
		fmt.Fprintf(aboveLine{a}, "warning: %v\n", err)
	}
}

// aboveLine writes to standard error where a line may be live.
type aboveLine struct{ a *app }

func (l aboveLine) Write(p []byte) (int, error) {
	if l.a.width != nil {
		l.a.wipe()
	}
	return l.a.stderr.Write(p)
}

// embeddedKeys are the settings that a kernel's file may hold: all but which kernel, and the data of one.
func embeddedKeys() []string {
	return slices.DeleteFunc(settingKeys(), func(key string) bool { return key == "kernel" || key == "data" })
}

// parseEmbedded reads the settings in the file of a kernel.
func parseEmbedded(data []byte) (values map[string]any, lines map[string]int, err error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, nil, yamlError(data, err)
	}
	root := doc.Content[0] // a kernel has one
	for i := 0; i+1 < len(root.Content); i += 2 {
		if root.Content[i].Value == "run" {
			return parseSettings(root.Content[i+1], embeddedKeys())
		}
	}
	return map[string]any{}, map[string]int{}, nil
}

// schemas are the schemas of files, by the names that --schema takes.
var schemas = map[string]func() []byte{"kernel": user.Schema, "library": library.Schema}

func (a *app) printSchema(of string) error {
	schema, ok := schemas[of]
	if !ok {
		return usage(fmt.Errorf("--schema: %s: want kernel or library%s", quoted(of), space.DidYouMean(of, []string{"kernel", "library"})))
	}
	_, err := a.stdout.Write(schema())
	return err
}

func (a *app) initCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "init [DIR]",
		Short: "Write an example of your own kernel",
		Long: `init writes a commented example that can be run as it is: kernel.yaml with kernel.c beside it or, with --command,
command.yaml, which tunes a program through its command line. It overwrites nothing. --schema prints a JSON schema of all
fields, for editors, and --schema=library that of the files of tune library.`,
		Example: "  tune init my-kernel\n  tune init --command",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage(fmt.Errorf("%s takes one directory and nothing else, but got %q", c.CommandPath(), args[1]))
			}
			return nil
		},
	}
	command := c.Flags().Bool("command", false, "write the example of a command kernel")
	schema := c.Flags().String("schema", "", "print the JSON schema of a `kind` of files, and write nothing: kernel, or library for the files of tune library")
	c.Flags().Lookup("schema").NoOptDefVal = "kernel"
	c.RunE = func(c *cobra.Command, args []string) error {
		if *schema != "" && len(args) > 0 {
			return usage(fmt.Errorf("--schema goes to standard output, and %q is not needed: leave it out, or write --schema=kernel or --schema=library", args[0]))
		}
		if *schema != "" {
			return a.printSchema(*schema)
		}
		dir := "."
		if len(args) == 1 {
			dir = args[0]
		}
		files := user.Example(*command)
		for _, f := range files {
			if _, err := os.Lstat(filepath.Join(dir, f.Name)); err == nil {
				return fmt.Errorf("%s already exists: choose another directory", filepath.Join(dir, f.Name))
			}
		}
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return fmt.Errorf("cannot make the folder of the example: %w: choose another", err)
		}
		for i, f := range files {
			path := filepath.Join(dir, f.Name)
			if err := writeNew(path, f.Text); err != nil {
				for _, before := range files[:i] { // a part of the example would be in the way of another try
					os.Remove(filepath.Join(dir, before.Name))
				}
				return fmt.Errorf("cannot write the example: %w: choose another folder, 'tune init DIR'", err)
			}
			fmt.Fprintf(a.stdout, "wrote %s\n", path)
		}
		_, err := fmt.Fprintf(a.stdout, "next: tune check %[1]s, then tune run %[1]s\n", configPath(filepath.Join(dir, files[0].Name)))
		return err
	}
	return c
}

// configPath writes the path of a file so that --config does not take it for the name of a preset.
func configPath(path string) string {
	if strings.ContainsAny(path, "./\\") {
		return path
	}
	return "./" + path
}

func writeNew(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err != nil {
		os.Remove(path)
	}
	return err
}

// checkReport is what tune check finds.
type checkReport struct {
	OK       bool         `json:"ok"`
	Faults   []checkFault `json:"faults"`
	Warnings []checkFault `json:"warnings"`
	Kernel   string       `json:"kernel,omitempty"`
	Shape    string       `json:"shape,omitempty"`
	Settings []string     `json:"settings,omitempty"` // that the file holds, where it holds nothing else
	Points   *uint64      `json:"points"`             // null where the space is not enumerable
	// Checked is what checks show: "fresh inputs", "fixed input", "check command" or "not checked".
	Checked string `json:"checked,omitempty"`
	// Arguments says whether those of the file were held against the functions of the source: "fit", or why not; "" for a
	// command.
	Arguments string           `json:"arguments,omitempty"`
	Reference *user.Reference  `json:"reference,omitempty"` // what results are compared with
	Baseline  *checkedBaseline `json:"baseline,omitempty"`
	unit      string           // of costs
}

// argumentsFit says in a report that the arguments of the file are those of the functions.
const argumentsFit = "fit"

type checkFault struct {
	File    string `json:"file"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`
}

type checkedBaseline struct {
	Key     string         `json:"key"`
	Status  string         `json:"status"`
	Cost    float64        `json:"cost,omitempty"`
	Unit    string         `json:"unit"`
	Metrics []space.Metric `json:"metrics,omitempty"`
	Reason  string         `json:"reason,omitempty"`
}

func (a *app) checkCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "check FILE",
		Short: "Check the file of your own kernel, and try its baseline",
		Long: `check reads the file of a kernel, reports all faults by line and column, and prints the size of the space. Then it
compares the arguments in the file with the functions of the source, and builds, checks and measures the baseline once, as a
run would, but with fewer samples. It also tries the reference on several inputs, and warns if its results do not depend on
them or are no larger than their tolerance. --static skips everything after the file, and starts no process except compilers
to ask for their version.

It also reads the files of settings that a run would read (see tune config). If FILE holds only settings, it checks those. If it is the
file of a library, check lists the shapes that 'tune library' would search, and counts those to measure and to hold out.`,
		Example: "  tune check my.yaml\n  tune check my.yaml --static --json",
		Args:    exactly(1, "the file of a kernel"),
	}
	addSettings(c.Flags(), "shape")
	static := c.Flags().Bool("static", false, "check the file alone, and run nothing")
	show := showFlag(c)
	asJSON := c.Flags().Bool("json", false, "print the result as JSON")
	c.RunE = func(c *cobra.Command, args []string) error {
		set, err := readSettings(c.Flags(), "", a.environ)
		if err != nil {
			return usage(err)
		}
		kind := kindOf(args[0])
		if kind == kindLibrary {
			return a.checkLibrary(args[0], *asJSON)
		}
		if err := kind.noKernel(args[0]); err != nil {
			return usage(err)
		}
		var report *checkReport
		w := a.work("checking "+args[0], false)
		if kind == kindSettings {
			report, err = a.checkSettings(c, args[0])
		} else {
			report, err = a.check(c, w, args[0], set, *static, *show)
		}
		w.end()
		if report == nil {
			return err
		}
		if *asJSON {
			err = errors.Join(err, printJSON(a.stdout, report))
		} else {
			a.printCheck(report)
		}
		return err
	}
	return c
}

// sourceEndings end the names of files that people take for the file of a kernel.
var sourceEndings = []string{".c", ".h", ".cc", ".cpp", ".cxx", ".hpp", ".cu", ".py", ".sh", ".go", ".rs"}

// comesWith adds to the error of a file that is not there which kernel of tune's own its name most likely stands for.
func (a *app) comesWith(name string, err error) error {
	near := name
	if names := a.table.Names(); !slices.Contains(names, name) {
		near = space.Nearest(name, names)
	}
	if near == "" {
		return err
	}
	return fmt.Errorf("%w; the kernel %s comes with tune and needs no check: 'tune run %[2]s' tunes it", err, near)
}

// check examines a file. The report is nil where nothing can be said about it. shows is told what is done.
func (a *app) check(c *cobra.Command, shows *work, path string, set settings, static, show bool) (*checkReport, error) {
	report := &checkReport{Faults: []checkFault{}, Warnings: []checkFault{}}
	if err := present(path); err != nil {
		return nil, usage(a.comesWith(path, err))
	}
	if err := folderFault(path, "tune check"); err != nil {
		return nil, usage(err)
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil, ofFile(fmt.Errorf("%s is a folder without the file of a kernel: name a file", path))
	}
	k, err := user.Load(path)
	if err != nil && isSource(path) {
		return nil, usage(notYAML(path))
	}
	if err != nil {
		return report.faulty(path, err)
	}
	defer a.end(k.On(a.host))
	report.Warnings = checkFaults(k.Warnings())
	var faults []checkFault
	if n := k.Settings(); n != nil {
		faults = settingFaults(path, "run", n)
	}
	faults = append(faults, presetFaults(path, k.Presets())...)
	if faults = append(faults, objectiveFaults(path, k)...); len(faults) > 0 {
		report.Faults = faults
		return report, faultsError(path, len(faults))
	}
	if err := a.checkFound(); err != nil {
		return nil, err
	}
	info := k.Info()
	if err := a.builtIn(k); err != nil {
		return nil, err
	}
	if show {
		if err := showOutput(k, info.Name, aboveLine{a}); err != nil {
			return nil, err
		}
	}
	shape, err := kernels.ParseShape(info.Shape, set.shape)
	if err != nil {
		return nil, set.blame("shape", err)
	}
	p, err := k.Problem(shape)
	if _, wrong := errors.AsType[user.Faults](err); wrong {
		return report.faulty(path, err)
	} else if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	report.Warnings = append(report.Warnings, checkFaults(k.LeftOut(shape))...)
	report.Kernel, report.Shape, report.unit = info.Name, shape.String(), info.Unit
	if n, ok := p.Space().Len(); ok {
		report.Points = &n
	}
	report.Checked = p.Traits().Checking.String()
	source, _ := p.(*user.SourceProblem)
	if source != nil {
		reference := source.Reference()
		report.Reference, report.Arguments = &reference, "not checked: --static"
	}
	if static {
		report.OK = true
		return report, nil
	}
	if source != nil {
		a.note(cacheNote())
		shows.doing("comparing the arguments with the source")
		if told, err := examine(c.Context(), source, path, report); told {
			return report, err
		} else if err != nil {
			return nil, err
		}
		if !source.Small() {
			if err := source.Telling(c.Context()); err != nil {
				return report.faulty(path, err)
			}
		}
	}
	shows.doing("trying the baseline")
	return tryAll(c.Context(), p, source, path, report)
}

// tryAll tries the baseline and, where the kernel has a source, its reference, and adds what it finds to a report.
func tryAll(ctx context.Context, p kernels.Problem, source *user.SourceProblem, path string, report *checkReport) (*checkReport, error) {
	// Trying the reference takes about as long as checking the baseline, and nothing is timed before both are done. Where much memory is
	// needed, it comes last.
	tried := func() ([]checkFault, error) { return nil, nil }
	limited, cancel := context.WithCancel(ctx)
	defer cancel()
	switch {
	case source == nil:
	case source.Small():
		tried = meanwhile(func() ([]checkFault, error) {
			odd, err := probe(ctx, source, path, probeTime)
			if _, wrong := errors.AsType[user.Faults](err); wrong {
				cancel() // the baseline would say nothing
			}
			return odd, err
		})
	default:
		tried = func() ([]checkFault, error) { return probe(ctx, source, path, probeTime) }
	}
	if source != nil {
		source.Brief()
	}
	warnings := report.Warnings
	err := tryBaseline(limited, p, source, path, report)
	odd, probed := tried()
	if _, wrong := errors.AsType[user.Faults](probed); wrong {
		report.Baseline, report.OK, report.Warnings = nil, false, warnings
		return report.faulty(path, probed)
	}
	if err != nil {
		if setup, failed := errors.AsType[*user.SetupError](err); failed {
			err = setup // it is no trial's
		}
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if probed != nil && report.OK {
		return nil, fmt.Errorf("%s: %w", path, probed)
	}
	report.Warnings = append(report.Warnings, odd...)
	if !report.OK {
		return report, &exitError{exitFailed, fmt.Errorf("%s: the baseline failed: %s", path, mend(report.Baseline.Status, source != nil))}
	}
	return report, nil
}

// mend says what to change where the baseline of a kernel ends with a status. inC says that the kernel is a function in C.
func mend(status string, inC bool) string {
	switch {
	case !inC && status == space.Timeout.String():
		return "mend the command, or give it more time by command.limits"
	case !inC && status == space.WrongAnswer.String():
		return "mend the command, its check or metric, or the defaults of its parameters; --show-output shows what is printed"
	case !inC:
		return "mend the command, or the defaults of its parameters; --show-output shows what is printed"
	}
	what := map[string]string{
		space.CompileFailed.String(): "mend the source, source.flags",
		space.WrongAnswer.String():   "mend the function, source.reference and its tolerance",
		space.Crashed.String():       "mend the function, the lengths of source.arguments",
		space.Timeout.String():       "mend the function, source.limits",
	}[status]
	return cmp.Or(what, "mend the function") + ", or the defaults of the parameters"
}

// faulty returns the report with the faults of a file that are in an error, and what the command ends with. It returns no report where
// the error is another one.
func (r *checkReport) faulty(path string, err error) (*checkReport, error) {
	faults, ok := errors.AsType[user.Faults](err)
	if !ok {
		return nil, err
	}
	r.Faults = checkFaults(faults)
	return r, faultsError(path, len(faults))
}

// examine compares the arguments of a file with the functions of its source. told says that the report has what is wrong.
func examine(ctx context.Context, source *user.SourceProblem, path string, report *checkReport) (told bool, err error) {
	err = source.Examine(ctx)
	switch faults, wrong := errors.AsType[user.Faults](err); {
	case wrong:
		report.Faults, report.Arguments = checkFaults(faults), "do not fit"
		if strings.HasPrefix(faults[0].Field, "source.compilers") {
			report.Arguments = "not checked: one of the compilers is none"
		}
		return true, faultsError(path, len(faults))
	case errors.Is(err, cc.ErrNone):
		report.Arguments = "not checked: that takes a C compiler"
		return true, fmt.Errorf("%s: %w", path, err)
	case err != nil:
		return false, fmt.Errorf("%s: %w", path, err)
	}
	report.Arguments = argumentsFit
	misplaced, err := source.Misplaced(ctx)
	if err != nil {
		return false, fmt.Errorf("%s: %w", path, err)
	}
	report.Warnings = append(report.Warnings, checkFaults(misplaced)...)
	return false, nil
}

// tryBaseline evaluates the baseline of a kernel, and reports what came of it. source is the kernel's problem, if that is a function in
// C.
func tryBaseline(ctx context.Context, p kernels.Problem, source *user.SourceProblem, path string, report *checkReport) error {
	base := p.Presets()[0].Point
	e := &kernels.Evaluator{Problem: p}
	out, err := e.Evaluate(ctx, space.Trial{Proposal: space.Proposal{Point: base}})
	if err == nil && source != nil && out.Status == space.WrongAnswer {
		// Another point may be the baseline of a run.
		err = source.Settle(ctx, e.CheckSeed)
		if right := source.Presets()[0].Point; err == nil && !right.Equal(base) {
			report.Warnings = append(report.Warnings, checkFault{File: path, Field: "space.parameters",
				Message: fmt.Sprintf("the first values (%s) give a wrong answer, so another point is the baseline: %s", base.Key(), out.Reason)})
			base = right
			out, err = e.Evaluate(ctx, space.Trial{Proposal: space.Proposal{Point: base}})
		}
	}
	if err != nil {
		return err
	}
	report.Baseline = &checkedBaseline{base.Key(), out.Status.String(), out.Cost, report.unit, out.Metrics, out.Reason}
	report.OK = out.Status == space.OK
	return nil
}

// builtIn refuses a kernel of the user's with the name of a kernel that comes with tune, or with a preset of such a name.
func (a *app) builtIn(k *user.Kernel) error {
	if name := k.Info().Name; slices.Contains(a.table.Names(), name) || name == recorded.Name {
		return usage(fileFault{fmt.Errorf("%s: kernel.name: %s is a built-in kernel: choose another name", k.Path(), name)})
	}
	return presetNames(k)
}

// meanwhile calls f on another goroutine. The function that it returns waits for the result; a panic of f is an error.
func meanwhile[T any](f func() (T, error)) func() (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		var r result
		if err := guard.Call(func() error { r.value, r.err = f(); return nil }); err != nil {
			r.err = err
		}
		done <- r
	}()
	return sync.OnceValues(func() (T, error) { r := <-done; return r.value, r.err })
}

// probeTime is how long the reference is tried on inputs. A slower one is judged by one input.
const probeTime = 20 * time.Second

// probe returns what is odd about the results of the reference, as far as that is seen within a time. It judges the outputs too, as Telling
// does.
func probe(ctx context.Context, p *user.SourceProblem, path string, within time.Duration) ([]checkFault, error) {
	limited, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	odd, err := p.Try(limited)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		release, err := p.Host().Beside(ctx) // the baseline may be timed by now
		if err != nil {
			return nil, err
		}
		untold := p.Telling(ctx)
		if release(); untold != nil {
			return nil, untold
		}
		odd, _ := p.Glance(ctx, 0) // where this fails, so does the check of the baseline
		return append(checkFaults(odd), checkFault{File: path, Field: "source.reference", Message: fmt.Sprintf("%v were not enough to see whether its results depend on its inputs", within)}), ctx.Err()
	}
	return checkFaults(odd), err
}

// glanceTime is how long a run tries the reference on several inputs before it begins. A slower one is judged by the inputs that were tried,
// or by a single one, which takes about as long as the check of the baseline meanwhile.
const glanceTime = 2 * time.Second

// glance returns what is odd about the results of the reference of a kernel at a shape, as far as that is seen at once. What
// fails here says nothing about the run.
func glance(ctx context.Context, k *user.Kernel, shape kernels.Shape) ([]user.Fault, error) {
	p, err := k.Problem(shape)
	source, ok := p.(*user.SourceProblem)
	if err != nil || !ok {
		return nil, err
	}
	// Before anything is compiled, the compilers of the file have to show that they are some.
	if err := source.Examine(ctx); err != nil {
		return nil, err
	}
	misplaced, err := source.Misplaced(ctx)
	if err != nil {
		return nil, err
	}
	odd, err := source.Glance(ctx, glanceTime)
	return append(misplaced, odd...), err
}

func faultsError(path string, n int) error {
	return usage(fileFault{fmt.Errorf("%s: %s", path, plain.Count(n, "fault"))})
}

// settingFaults finds what is wrong with the settings in a field of the file of a kernel. also are keys that it may have beside them.
func settingFaults(path, in string, n *yaml.Node, also ...string) []checkFault {
	if _, _, err := parseSettings(n, embeddedKeys(), also...); err != nil {
		f := checkFault{File: path, Field: in, Message: err.Error()}
		if _, serr := fmt.Sscanf(f.Message, "line %d:", &f.Line); serr == nil {
			_, f.Message, _ = strings.Cut(f.Message, ": ")
			f.Column = columnOf(n, f.Line)
		}
		return []checkFault{f}
	}
	var faults []checkFault
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		one := settingTable[slices.IndexFunc(settingTable, func(s setting) bool { return s.key == key.Value })]
		if err := one.parse(&settings{}, settingValue(value)); err != nil {
			faults = append(faults, checkFault{path, value.Line, value.Column, in + "." + key.Value, strings.TrimPrefix(err.Error(), key.Value+": ")})
		}
	}
	return faults
}

// objectiveFaults finds what is wrong with the objectives in the file of a kernel: a word that is none, or a number that its command does not
// report.
func objectiveFaults(path string, k *user.Kernel) (faults []checkFault) {
	info := k.Info()
	reports := space.Outcome{Status: space.OK}
	for _, name := range info.Metrics {
		reports.Metrics = append(reports.Metrics, space.Metric{Name: name})
	}
	check := func(in string, n *yaml.Node) {
		for i := 0; n != nil && i+1 < len(n.Content); i += 2 {
			value := n.Content[i+1]
			if n.Content[i].Value != "objective" {
				continue
			}
			goals, err := space.ParseGoals(settingValue(value), info.Unit)
			for _, tunes := range []string{space.MetricRuns, space.MetricSpread, space.MetricValue} { // tune's own numbers of commands
				if goals.Needs(tunes) {
					reports.Metrics = append(reports.Metrics, space.Metric{Name: tunes})
				}
			}
			if err == nil && k.Commands() {
				err = goals.Lacking(reports, false)
			}
			if err != nil {
				faults = append(faults, checkFault{path, value.Line, value.Column, in + ".objective", err.Error()})
			}
		}
	}
	check("run", k.Settings())
	for _, p := range k.Presets() {
		check("presets."+p.Name, p.Settings)
	}
	return faults
}

// columnOf returns the column of the first key on a line of a mapping, 0 where there is none.
func columnOf(n *yaml.Node, line int) int {
	for i := 0; i < len(n.Content); i += 2 {
		if n.Content[i].Line == line {
			return n.Content[i].Column
		}
	}
	return 0
}

func checkFaults(faults []user.Fault) []checkFault {
	out := []checkFault{}
	for _, f := range faults {
		out = append(out, checkFault{f.File, f.Line, f.Column, f.Field, f.Text})
	}
	return out
}

// rightBy says of a baseline that holds how it was checked.
var rightBy = map[string]string{
	kernels.FreshInputs.String():  "right",
	kernels.FixedInput.String():   "right on one fixed input",
	kernels.CheckCommand.String(): "right by its own check command",
	kernels.NotChecked.String():   "not checked",
}

func (a *app) printCheck(r *checkReport) {
	line := func(prefix string, f checkFault) {
		fmt.Fprintf(a.stdout, "%s%s\n", prefix, user.Fault{File: f.File, Line: f.Line, Column: f.Column, Field: f.Field, Text: f.Message})
	}
	for _, f := range r.Faults {
		line("", f)
	}
	if len(r.Faults) == 0 {
		for _, f := range r.Warnings {
			line("warning: ", f)
		}
	}
	if len(r.Settings) > 0 {
		fmt.Fprintf(a.stdout, "settings  %s\n", strings.Join(r.Settings, ", "))
	}
	if r.Kernel == "" {
		return
	}
	fmt.Fprintf(a.stdout, "kernel    %s\n", strings.TrimSpace(r.Kernel+" "+r.Shape))
	if len(r.Settings) > 0 {
		return
	}
	points := "more points than can be counted"
	if r.Points != nil {
		if points = plain.Number(float64(*r.Points)) + " points"; *r.Points == 1 {
			points = "1 point"
		}
	}
	fmt.Fprintf(a.stdout, "space     %s\n", points)
	if r.Reference != nil {
		fmt.Fprintf(a.stdout, "reference %s\n", r.Reference)
	}
	if r.Arguments != "" && r.Arguments != argumentsFit {
		fmt.Fprintf(a.stdout, "arguments %s\n", r.Arguments)
	}
	if b := r.Baseline; b != nil {
		fmt.Fprintf(a.stdout, "baseline  %s\n", b.Key)
		if b.Status != space.OK.String() {
			fmt.Fprintf(a.stdout, "          %s: %s\n", b.Status, b.Reason)
			return
		}
		fmt.Fprintf(a.stdout, "          %s%s, %s\n", rightBy[r.Checked], deviation(b.Metrics), space.Unit(b.Unit).Words(b.Cost))
		_, rest, _ := kernels.SplitDeviation(b.Metrics)
		for _, m := range rest {
			fmt.Fprintf(a.stdout, "          %s %s\n", m.Name, plain.Number(m.Value))
		}
		if advice := user.OutlierAdvice(b.Metrics); advice != "" {
			fmt.Fprintf(a.stdout, "warning: %s\n", advice)
		}
	}
}
