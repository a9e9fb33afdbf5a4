package user

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"tune/internal/plain"
	"tune/kernels"
	"tune/kernels/native"
	"tune/kernels/native/timing"
	"tune/space"
)

// commandProblem tunes a command at one shape.
type commandProblem struct {
	c         *command
	space     *space.Space
	presets   []kernels.Preset
	constants map[string]int
	here      string // the directory of the kernel's file

	// host is held Alone while a time is measured, and where all candidates share a directory; it is held Beside others for
	// anything else. Other work would disturb a measurement.
	host *native.Host

	mu    sync.Mutex
	best  float64           // cost of the best candidate so far, where times are measured; 0 for none
	owner *commandCandidate // the candidate whose build is in the shared directory; guarded by holding the host alone
	own   scratch           // the directories of candidates that have their own
	once  errands           // setup and cleanup
	units map[int]unit      // what follows each number, by metric; guarded by mu
	wrote map[string]bool   // the paths of files whose sizes are metrics and that runs have made; guarded by mu
	show  func(what, stdout, stderr string)
}

func newCommandProblem(k *Kernel, constants map[string]int) (kernels.Problem, error) {
	sp, err := k.d.space.tuned(constants)
	if err != nil {
		return nil, fmt.Errorf("at the shape %s: %w", shapeName(constants), err)
	}
	p := &commandProblem{c: k.d.command, space: sp, presets: k.d.space.presets(sp), constants: constants, here: k.dir, host: k.host, show: k.show, wrote: map[string]bool{}}
	k.onClose(p.close)
	return p, nil
}

// Space returns the points.
func (p *commandProblem) Space() *space.Space { return p.space }

// Presets returns the baseline, the default of every parameter, and the start points of the file.
func (p *commandProblem) Presets() []kernels.Preset { return slices.Clone(p.presets) }

// Traits says that candidates are processes, that the file's check command, if there is one, decides whether they are right, and
// that candidates with a noisy metric are compared side by side.
func (p *commandProblem) Traits() kernels.Traits {
	t := kernels.Traits{Launches: true, Checking: kernels.CheckCommand}
	if p.c.check == nil {
		t.Checking = kernels.NotChecked
	}
	switch {
	case p.c.metric.within > 0:
		t.Compare = p.compareSteady
	case !p.c.metric.exact:
		t.Compare = p.compare
	}
	if p.c.setup != nil {
		t.Examine = p.begin // so that a setup that fails ends a run before it has a directory
	}
	return t
}

// Build puts the values of a point into the commands. The build command runs with the first check.
func (p *commandProblem) Build(ctx context.Context, point space.Point) (kernels.Candidate, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	values := pointValues(point, p.constants)
	if err := computable(p.c.templates(), values); err != nil {
		return nil, kernels.Reject(space.Invalid, "%v", err)
	}
	return &commandCandidate{p: p, point: point, chosen: values}, nil
}

// shared reports whether all candidates run in one directory.
func (p *commandProblem) shared() bool { return !p.c.own }

// exclusive reports whether a candidate needs the machine to itself while it runs. One with a setup might leave something in the
// directory of that, which others read.
func (p *commandProblem) exclusive() bool {
	return p.shared() || !p.c.metric.exact || p.c.setup != nil
}

// commandCandidate is a command with the values of one point.
type commandCandidate struct {
	p      *commandProblem
	point  space.Point
	chosen values

	dir     string           // its own directory, if it has one
	temp    string           // the folder for temporary files of the last run; "" before the first
	made    made             // what is in it after the build
	built   map[string]entry // the files whose sizes are metrics that the build has written
	stale   map[string]bool  // which of these neither the build nor the last run has written
	ran     bool             // whether the directory holds the output of a run
	seed    uint64           // of the last check
	checked float64          // the least cost of a run that was found right; 0 before the first
	warmed  int              // runs that do not count, because they come before the first that does
	samples []reading        // not yet used in a score
	scored  bool
}

// reading is what one run says.
type reading struct {
	value  float64   // the metric
	others []float64 // what is reported beside it
}

// Check builds and runs the candidate, and then runs the check command, in this order because the check looks at the output of
// the run. The number from that run is used in the following score.
func (c *commandCandidate) Check(ctx context.Context, seed uint64) error {
	return c.p.own.blame(c, c.with(ctx, func() error {
		if err := c.sample(ctx); err != nil {
			return err
		}
		c.seed = seed
		if err := c.inspectRun(ctx); err != nil {
			return err
		}
		if c.scored {
			return nil
		}
		// The first time, all samples are taken while the directory is this candidate's: another candidate may need it before the
		// score is asked for.
		c.scored = true
		return c.fill(ctx)
	}))
}

// inspect runs the check command, which looks at the output of the last run.
func (c *commandCandidate) inspect(ctx context.Context) error {
	if c.p.c.check == nil {
		return nil
	}
	texts := c.values()
	texts["seed"] = space.StringValue(strconv.FormatUint(c.seed, 10))
	e, err := c.run(ctx, "the check", c.p.c.check, texts, c.p.c.limits.check)
	if err != nil {
		return err
	}
	if !e.ok() {
		return kernels.Reject(space.WrongAnswer, "%s", e.describe("the check"))
	}
	return nil
}

// inspectLater runs the check command after a later run than the first. A command may be right in its first run only.
func (c *commandCandidate) inspectLater(ctx context.Context) error {
	err := c.inspectRun(ctx)
	if rejected := kernels.AsRejection(err); rejected != nil {
		return kernels.Reject(rejected.Status, "in a later run: %s", rejected.Reason)
	}
	return err
}

// inspectRun runs the check command after the run that took the last sample.
func (c *commandCandidate) inspectRun(ctx context.Context) error {
	err := c.inspect(ctx)
	if n := len(c.samples); err == nil && n > 0 {
		if cost, _ := c.p.c.metric.cost(c.samples[n-1].value); c.checked == 0 || cost < c.checked {
			c.checked = cost
		}
	}
	return err
}

// better is how much less a run has to cost than all that were checked to be checked too.
const better = 0.95

// suspect reports whether the run that took the last sample costs clearly less than all that were checked. A command may leave out its
// work in some runs, and the fastest runs are those that count.
func (c *commandCandidate) suspect() bool {
	m := c.p.c.metric
	if c.p.c.check == nil || m.exact || m.within > 0 {
		return false
	}
	cost, err := m.cost(c.samples[len(c.samples)-1].value)
	return err == nil && (c.checked == 0 || cost < better*c.checked)
}

// Score returns the median of the samples.
func (c *commandCandidate) Score(ctx context.Context, _ int) (kernels.Score, error) {
	if len(c.samples) == 0 {
		if err := c.with(ctx, func() error { return c.fill(ctx) }); err != nil {
			return kernels.Score{}, c.p.own.blame(c, err)
		}
	}
	samples := c.samples
	c.samples = nil
	inOrder := make([]float64, len(samples))
	for i, s := range samples {
		inOrder[i] = s.value
	}
	values := slices.Sorted(slices.Values(inOrder))
	m := c.p.c.metric
	value, least, most := timing.Median(values), values[0], values[len(values)-1]
	cost, err := m.cost(value)
	if err != nil {
		return kernels.Score{}, kernels.Reject(space.WrongAnswer, "%v", err)
	}
	if m.exact && least != most {
		return kernels.Score{}, kernels.Reject(space.WrongAnswer, "the file says that the metric is exact, but two runs of one point gave %v and %v", least, most)
	}
	if err := m.steady(values); err != nil {
		return kernels.Score{}, err
	}
	score := kernels.Score{Cost: cost, Metrics: c.p.otherMetrics(samples)}
	if m.maximise {
		score.Metrics = append(score.Metrics, space.Metric{Name: space.MetricValue, Value: value})
	}
	if !m.exact {
		score.Metrics = append(score.Metrics, space.Metric{Name: space.MetricRuns, Value: float64(len(values))})
		if value != 0 {
			score.Metrics = append(score.Metrics, space.Metric{Name: space.MetricSpread, Value: (most - least) / value})
		}
		score.Metrics = append(score.Metrics, outlierMetrics(inOrder)...)
	}
	if m.within > 0 {
		score.Metrics = append(score.Metrics, space.Metric{Name: space.MetricWithin, Value: m.within})
	}
	c.p.mu.Lock()
	if c.p.best == 0 || cost < c.p.best {
		c.p.best = cost
	}
	c.p.mu.Unlock()
	return score, nil
}

// otherMetrics returns the medians of the numbers that are reported beside the metric.
func (p *commandProblem) otherMetrics(samples []reading) []space.Metric {
	if len(samples) == 0 {
		return nil
	}
	var out []space.Metric
	for i, m := range p.c.others {
		var values []float64
		for _, s := range samples {
			values = append(values, s.others[i])
		}
		out = append(out, space.Metric{Name: m.name, Value: timing.Median(values)})
	}
	return out
}

// fill takes the missing samples, and checks the last of them, and those that cost clearly less than what was checked. It stops early where
// the candidate is clearly behind the best.
func (c *commandCandidate) fill(ctx context.Context) error {
	for len(c.samples) < c.p.c.metric.repeats && !c.behind() {
		if err := c.sample(ctx); err != nil {
			return err
		}
		last := len(c.samples) == c.p.c.metric.repeats || c.behind()
		if last || c.suspect() {
			if err := c.inspectLater(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// behind reports whether more samples are a waste: after two runs at more than 1.25 times the cost of the best, after six at more
// than 1.05 times.
func (c *commandCandidate) behind() bool {
	n := len(c.samples)
	c.p.mu.Lock()
	best := c.p.best
	c.p.mu.Unlock()
	if best <= 0 || c.p.c.metric.exact || n < 2 {
		return false
	}
	limit := 1.25
	if n >= 6 {
		limit = 1.05
	}
	for _, s := range c.samples {
		if cost, err := c.p.c.metric.cost(s.value); err != nil || cost <= limit*best {
			return false
		}
	}
	return true
}

// sample runs the command once and reads the metric. The first time, runs that do not count come before it.
func (c *commandCandidate) sample(ctx context.Context) error {
	for ; c.warmed < c.p.c.warmup; c.warmed++ {
		if _, err := c.execute(ctx); err != nil {
			return err
		}
	}
	e, err := c.execute(ctx)
	if err != nil {
		return err
	}
	r := reading{}
	if r.value, err = c.number(0, c.p.c.metric, e); err == nil {
		_, err = c.p.c.metric.cost(r.value)
	}
	if err != nil {
		return kernels.Reject(space.WrongAnswer, "%v", err)
	}
	for i, m := range c.p.c.others {
		v, err := c.number(i+1, m.metric, e)
		if err == nil && !space.Finite(v) {
			err = fmt.Errorf("it is %v, which is not a number", v)
		}
		if err != nil {
			return kernels.Reject(space.WrongAnswer, "command.metrics.%s: %v", m.name, err)
		}
		r.others = append(r.others, v)
	}
	c.samples = append(c.samples, r)
	return nil
}

// execute runs the command once, after what prepares it, where nothing is left of the run before.
func (c *commandCandidate) execute(ctx context.Context) (ended, error) {
	if err := c.renew(ctx); err != nil {
		return ended{}, err
	}
	if err := c.p.renewSetup(ctx); err != nil {
		return ended{}, err
	}
	if err := c.p.own.renewTemp(c); err != nil {
		return ended{}, err
	}
	c.ran = true
	before, err := c.clearSized()
	if err != nil {
		return ended{}, err
	}
	if c.p.c.prepare != nil {
		if _, err := c.succeed(ctx, "command.prepare", c.p.c.prepare, c.p.c.limits.prepare); err != nil {
			return ended{}, err
		}
	}
	e, err := c.succeed(ctx, "the command", c.p.c.run, c.p.c.limits.run)
	if err == nil {
		err = c.noteSized(before)
	}
	return e, err
}

// succeed runs a command that is a crash of the candidate where it fails.
func (c *commandCandidate) succeed(ctx context.Context, what string, l *line, wall time.Duration) (ended, error) {
	e, err := c.run(ctx, what, l, c.values(), wall)
	if err == nil && !e.ok() {
		err = kernels.Reject(space.Crashed, "%s", e.describe(what))
	}
	return e, err
}

// sizeOf returns the path of the file whose size is a metric.
func (c *commandCandidate) sizeOf(m metric) string {
	name, _ := parseTemplate(m.file).expand(c.values())
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(c.directory(), name)
}

// number returns the number of metric i of all after a run.
func (c *commandCandidate) number(i int, m metric, e ended) (float64, error) {
	switch m.from {
	case fromTime:
		return float64(e.Wall.Nanoseconds()), nil
	case fromCPU:
		return float64(e.CPU.Nanoseconds()), nil
	case fromSize:
		path := c.sizeOf(m)
		info, err := os.Stat(path)
		if err != nil {
			return 0, fmt.Errorf("the command wrote no file %s", m.file)
		}
		if c.stale[path] {
			return 0, fmt.Errorf("the command wrote no file %s: the one that is there is as it was before the run: name a file that each run writes", m.file)
		}
		if info.IsDir() {
			return 0, fmt.Errorf("%s is a folder, whose size says nothing: name a file, or have the command print the bytes of the files in it", m.file)
		}
		return float64(info.Size()), nil
	}
	printed := e.Stdout
	if m.from == fromStderr {
		printed = e.Stderr
	}
	v, follows, err := m.read(printed)
	if err == nil {
		err = c.p.sameUnit(i, m, follows)
	}
	return v, err
}

// values returns the values of the point, and the path of this candidate's directory.
func (c *commandCandidate) values() values {
	out := values{"here": space.StringValue(c.p.here)}
	for name, v := range c.chosen {
		out[name] = v
	}
	return out
}

// directory returns where the commands run.
func (c *commandCandidate) directory() string {
	if !c.p.shared() {
		return c.dir
	}
	return c.p.directory()
}

// directory returns where the commands of all candidates run, if they share one.
func (p *commandProblem) directory() string {
	if filepath.IsAbs(p.c.directory) {
		return p.c.directory
	}
	return filepath.Join(p.here, p.c.directory)
}

// words returns the words of a command line.
func (l *line) expand(v values) []string {
	if l.shell {
		return []string{"/bin/sh", "-c", expandShell(l.words[0], l.places, v)}
	}
	return expandAll(l.words, v)
}

// environment returns the environment variables that the file sets.
func (p *commandProblem) environment(v values) []string {
	var out []string
	for _, e := range p.c.environment {
		if text, whole := e.value.expand(v); whole {
			out = append(out, e.name+"="+text)
		}
	}
	return out
}

func (c *commandCandidate) run(ctx context.Context, what string, l *line, v values, wall time.Duration) (ended, error) {
	if !c.placed() {
		return ended{}, c.gone(what)
	}
	limits := c.p.c.limits
	e, err := job{
		what: what, words: l.expand(v), dir: c.directory(),
		env:  slices.Concat(os.Environ(), tempEnvironment(c.temp), c.p.setupEnvironment(), c.p.environment(c.values())),
		wall: wall, tally: c.p.c.countsCPU(), memory: limits.memory, output: limits.output, file: limits.file, show: c.p.show, point: c.point.Key(),
	}.run(ctx)
	if ctx.Err() == nil && !c.placed() {
		return ended{}, c.gone(what)
	}
	return e, err
}

// countsCPU reports whether a number of the command is its CPU time.
func (c *command) countsCPU() bool {
	return slices.ContainsFunc(c.metrics(), func(m metric) bool { return m.from == fromCPU })
}

// gone is the error where the directory of the candidate is missing.
func (c *commandCandidate) gone(what string) error {
	if c.p.shared() {
		return fmt.Errorf("there is no directory %s, where the commands of the kernel run: make it, and resume the run", c.directory())
	}
	return &goneError{what}
}

// goneError says that the directory of a candidate went while one of its commands ran.
type goneError struct{ what string }

func (e *goneError) Error() string { return e.what + " removed the directory that it runs in" }

// placed reports whether the directory of the candidate is there. In place of its own, a link is not good enough.
func (c *commandCandidate) placed() bool {
	if !c.p.shared() {
		return isDirectory(c.dir)
	}
	info, err := os.Stat(c.directory())
	return err == nil && info.IsDir()
}

// isDirectory reports whether a path is a directory, and no link to one.
func isDirectory(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}

// with calls f while the candidate is built and may run.
func (c *commandCandidate) with(ctx context.Context, f func() error) error {
	if err := c.p.begin(ctx); err != nil {
		return err
	}
	if c.p.shared() {
		release, err := c.p.host.Alone(ctx)
		if err != nil {
			return err
		}
		defer release()
		if c.p.owner != c {
			c.p.disown()
			if err := c.build(ctx); err != nil {
				return err
			}
			c.p.owner = c
		}
		return f()
	}
	leave, err := c.p.own.enter(c, func() error { return c.hold(ctx, false, func() error { return c.make(ctx) }) })
	if err != nil {
		return err
	}
	defer leave()
	return c.hold(ctx, c.p.exclusive(), func() error {
		if !c.placed() { // another candidate removed it
			if err := c.make(ctx); err != nil {
				return err
			}
		}
		return f()
	})
}

// disown takes the shared directory from the candidate whose build is in it. The caller holds the host alone.
func (p *commandProblem) disown() {
	if p.owner != nil {
		p.owner.dropTemp()
	}
	p.owner = nil
}

// hold calls f while it holds the machine, alone or beside others. Where the directory goes although others ran too, one of them
// may have removed it, so that f is called again, alone.
func (c *commandCandidate) hold(ctx context.Context, alone bool, f func() error) error {
	take := c.p.host.Beside
	if alone {
		take = c.p.host.Alone
	}
	release, err := take(ctx)
	if err != nil {
		return err
	}
	err = f()
	release()
	var gone *goneError
	switch {
	case !errors.As(err, &gone):
		return err
	case !alone:
		return c.hold(ctx, true, f)
	}
	return kernels.Reject(space.Crashed, "%v", gone)
}

// make makes a new directory for the candidate, and builds there.
func (c *commandCandidate) make(ctx context.Context) error {
	if err := c.p.own.create(c); err != nil {
		return err
	}
	if err := c.copyFiles(); errors.Is(err, fs.ErrNotExist) {
		return c.gone("another command") // it removed this one too
	} else if err != nil {
		return err
	}
	if err := c.build(ctx); err != nil {
		return err
	}
	var err error
	if c.made, err = survey(c.around()); errors.Is(err, fs.ErrNotExist) {
		return c.gone("another command")
	} else if err != nil {
		return kernels.Reject(space.CompileFailed, "what the build left cannot be read: %v", err)
	}
	return nil
}

// build runs the build command.
func (c *commandCandidate) build(ctx context.Context) error {
	c.ran = false
	c.dropTemp()
	if c.p.c.build == nil {
		return nil
	}
	before, err := c.sized()
	if err != nil {
		return err
	}
	e, err := c.run(ctx, "the build", c.p.c.build, c.values(), c.p.c.limits.build)
	if err != nil {
		return err
	}
	if !e.ok() {
		return kernels.Reject(space.CompileFailed, "%s", e.describe("the build"))
	}
	return c.noteBuilt(before)
}

// copyFiles writes the files of the kernel into the candidate's directory.
func (c *commandCandidate) copyFiles() error {
	for _, f := range c.p.c.files {
		if err := f.write(c.dir, c.values()); err != nil {
			return err
		}
	}
	return nil
}

// write writes the file into a directory.
func (f copied) write(dir string, v values) error {
	path := filepath.Join(dir, f.name)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	return os.WriteFile(path, f.content(v), f.mode|0o600)
}

func (f copied) content(v values) []byte {
	if f.fixed {
		return f.data
	}
	text, _ := f.text.expand(v)
	return []byte(text)
}

// Abilities returns none.
func (*commandCandidate) Abilities() kernels.Abilities { return kernels.Abilities{} }

// Artifacts returns the commands as a shell script, and the files that have values inserted.
func (c *commandCandidate) Artifacts() ([]kernels.Artifact, error) {
	script := c.script()
	out := []kernels.Artifact{{Name: "command.sh", Write: func(w io.Writer) error {
		_, err := io.WriteString(w, script)
		return err
	}}}
	for _, f := range c.p.c.files {
		if f.fixed {
			continue
		}
		content := f.content(c.values())
		out = append(out, kernels.Artifact{Name: "file-" + strings.ReplaceAll(f.name, "/", "-"), Write: func(w io.Writer) error {
			_, err := w.Write(content)
			return err
		}})
	}
	return out, nil
}

// script writes the commands of the candidate for sh.
func (c *commandCandidate) script() string {
	var b strings.Builder
	fmt.Fprintf(&b, "#!/bin/sh\n# %s\nset -e\n", c.point.Key())
	if c.p.shared() {
		fmt.Fprintf(&b, "cd %s\n", plain.ShellWord(c.directory()))
	} else {
		b.WriteString("# It runs in a directory of its own")
		for i, f := range c.p.c.files {
			b.WriteString([]string{", which holds ", ", "}[min(i, 1)] + f.name)
		}
		b.WriteString(".\n")
	}
	for _, v := range c.p.environment(c.values()) {
		name, value, _ := strings.Cut(v, "=")
		fmt.Fprintf(&b, "%s=%s; export %s\n", name, plain.ShellWord(value), name)
	}
	if l := c.p.c.setup; l != nil {
		// Like tune, it runs where all candidates do, or in a directory of its own with copies of the files.
		place := "TUNE_SETUP=$PWD; export TUNE_SETUP\n(\n"
		if !c.p.shared() {
			place = "TUNE_SETUP=$(mktemp -d); export TUNE_SETUP\ncp -R . \"$TUNE_SETUP\"\n(\ncd \"$TUNE_SETUP\"\n"
		}
		b.WriteString(place + l.script(c.values()) + ")\n")
	}
	if l := c.p.c.build; l != nil {
		b.WriteString(l.script(c.values()))
	}
	if l := c.p.c.prepare; l != nil {
		b.WriteString("(\n" + l.script(c.values()) + ")\n")
	}
	b.WriteString(c.p.c.run.script(c.values()))
	return b.String()
}

// script writes a command line for sh.
func (l *line) script(v values) string {
	words := l.expand(v)
	if l.shell {
		return strings.TrimSpace(words[2]) + "\n"
	}
	for i, word := range words {
		words[i] = plain.ShellWord(word)
	}
	return strings.Join(words, " ") + "\n"
}
