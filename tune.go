// Package tune finds the fastest right program of a kernel, and exports it with all that it takes to trust and
// to reproduce it. It joins the rooms of the module for Go programs as cmd/tune does for users: a kernel
// (package kernels) gives a space of points (package space), a strategy (package search) explores it, every
// candidate is checked before it is scored, a run directory (package results) keeps every outcome, and the best
// point becomes a schedule.
//
//	Run      searches in a new run directory, and exports the best schedule
//	Resume   goes on with a run that was stopped, or gives one a larger budget
//	Replay   proves that a run's strategy asks the recorded points
//	Export   writes a run's schedule, program, trace or outcomes
//	Verify   rebuilds a schedule and checks it on fresh inputs
package tune

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"tune/internal/files"
	"tune/kernels"
	"tune/results"
	"tune/results/chart"
	"tune/results/exchange"
	"tune/search"
	"tune/search/halving"
	"tune/search/strategies"
	"tune/space"
)

// Options say what to run. Kernel and Dir must be set.
type Options struct {
	Kernel   kernels.Kernel
	Shape    kernels.Shape
	Strategy string // as strategies.Parse reads it, such as auto:lead=100; "" means the kernel's own, or else the default
	Seed     uint64
	Budget   search.Budget
	Jobs     int    // candidates evaluated at once; 0 means 1
	Dir      string // the run directory, which must not exist or be empty
	// From are earlier measurements that the strategy may begin with. What it sees of them is kept in the run
	// directory.
	From []*Earlier
	// FromAny takes From as it is. Without it, measurements of another kernel are an *OtherKernelError.
	FromAny bool
	// Began is when the wall budget began to count; the zero value means now.
	Began time.Time
	// Observe is called with every outcome; see search.Settings. Start is called once before the first,
	// with what the run starts from.
	Observe func(search.Event)
	Start   func(Start)
	// Measuring is called while what the search found is measured beside the baseline, before each pair. May be nil.
	Measuring func(kernels.ContestProgress)
	// Final is about how long that measurement takes; 0 leaves it to the budget.
	Final time.Duration
}

// Validate reports options that no run can have.
func (o Options) Validate() error {
	switch {
	case o.Kernel == nil:
		return errors.New("tune: Options.Kernel is not set")
	case o.Dir == "":
		return errors.New("tune: Options.Dir is not set")
	}
	return search.Settings{Budget: o.Budget, Jobs: o.Jobs}.Validate()
}

// Start is what a run starts from.
type Start struct {
	Dir      string
	Settings results.Settings
	Space    *space.Space
	Baseline results.Baseline
	Budget   search.Budget
	// Resumed is how many outcomes the run already had, and Elapsed the time that they took.
	Resumed  int
	Elapsed  time.Duration
	Recovery results.Recovery
	// Lacks says what this system has no means for to keep candidates from doing harm, each as a sentence.
	Lacks []string
	// Unsigned is why the run could not be marked as made here, so that who goes on with it or verifies it is asked
	// whether its kernel may run; nil where it was, or where nothing in its directory is run.
	Unsigned error
	// Measured says that the costs are not exact: those of the search only decide what is measured at the end.
	Measured bool
}

// Report is what a run came to.
type Report struct {
	Dir      string
	Settings results.Settings
	Result   search.Result
	// Elapsed is how long all of it took, over all sittings: the search and what came after it. Where time is simulated
	// it is that of the search.
	Elapsed time.Duration
	// Baseline has the cost of the schedule's pairs. The search saw another one, see results.Schedule; without a
	// schedule it is that.
	Baseline results.Baseline
	// Checking is what the checks of its candidates show.
	Checking kernels.Checking
	// Schedule is the exported incumbent; nil where no candidate was valid.
	Schedule *results.Schedule
	// Refused lists incumbents that were right during the search and failed on fresh inputs. They
	// are not exported.
	Refused []Refusal
}

// Refusal is an incumbent that failed its last check.
type Refusal struct {
	Key    string `json:"key"`
	Reason string `json:"reason"`
}

// ScheduleName is the name of the schedule in a run directory.
const ScheduleName = "best.json"

// ExportChecks is how many fresh inputs a schedule is checked on before it is exported.
const ExportChecks = 8

// Version is the version of tune, with the revision that it was built from where that is known.
func Version() string {
	const version = "0.1.0"
	if info, ok := debug.ReadBuildInfo(); ok {
		revision, dirty := "", ""
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision" && len(s.Value) >= 12:
				revision = "+" + s.Value[:12]
			case s.Key == "vcs.modified" && s.Value == "true":
				dirty = "-dirty"
			}
		}
		if revision != "" {
			return version + revision + dirty
		}
	}
	return version
}

// Run searches, and exports the best schedule into the run directory. When ctx is cancelled it stops at once, and
// still exports. A wall budget covers the export too.
func Run(ctx context.Context, o Options) (*Report, error) {
	if o.Began.IsZero() {
		o.Began = time.Now()
	}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	info := o.Kernel.Info()
	entry, err := strategies.Parse(cmp.Or(o.Strategy, info.Strategy, strategies.Default))
	if err != nil {
		return nil, err
	}
	settings := results.Settings{
		ToolVersion: Version(), Kernel: info.Name, KernelVersion: info.Version, Shape: o.Shape.String(), Unit: info.Unit,
		Strategy: entry.Name, StrategyConfig: entry.Config(), StrategyVersion: entry.Version, Seed: o.Seed, CheckSeed: derive(o.Seed, "check"),
		Budget: results.Budget{WallSeconds: o.Budget.Wall.Seconds(), Evaluations: o.Budget.Evaluations, Target: o.Budget.Target},
		Jobs:   o.Jobs, Created: o.Began, Machine: results.ThisMachine(), Measured: !info.Exact,
	}
	s, err := newSession(o.Kernel, &settings, func(problem kernels.Problem) (prior []results.Prior, err error) {
		for _, e := range o.From {
			other := e.fits(info.Name, problem)
			if other != nil && !o.FromAny {
				return nil, other
			}
			p, from := e.prior(problem.Space())
			from.Other = other != nil
			prior, settings.From = append(prior, p), append(settings.From, from)
		}
		return prior, nil
	})
	if err != nil {
		return nil, err
	}
	if x, ok := s.problem.(kernels.Examiner); ok {
		if err := x.Examine(ctx); err != nil {
			return nil, err
		}
	}
	settings.Data, settings.Clock = s.data, s.clock()
	base := s.problem.Presets()[0]
	settings.Baseline = results.Preset{Name: base.Name, Key: base.Point.Key()}
	settings.SpaceFingerprint = s.problem.Space().Fingerprint()
	var prepare []func(dir string) error
	if len(s.prior) > 0 {
		prepare = append(prepare, func(dir string) error { return results.WritePrior(dir, s.prior) })
	}
	if k, ok := o.Kernel.(interface{ Save(dir string) error }); ok {
		// The table of the next sitting does not have this kernel; what it takes to make it again is kept
		// with the run.
		prepare = append(prepare, k.Save)
	}
	if s.run, err = results.Create(o.Dir, settings, prepare...); err != nil {
		return nil, err
	}
	s.settings = s.run.Settings
	if k, ok := o.Kernel.(foreign); ok {
		s.unsigned = results.Sign(o.Dir, k.SavedFiles()...)
	}
	return s.carryOut(ctx, o)
}

// foreign is implemented by kernels whose candidates are made of what a run directory holds, rather than by tune.
type foreign interface {
	// SavedFiles are the files of a run directory that say all of what the kernel starts.
	SavedFiles() []string
}

// Changes are what a resumed run may do differently. Zero values keep what the run has.
type Changes struct {
	// Strategy, as in Options, must be what the run has, for each constant that it names; "" names nothing.
	Strategy string
	Budget   search.Budget // each limit that is set replaces the run's own, and counts from the run's beginning
	Jobs     int
	Began    time.Time
	Observe  func(search.Event)
	Start    func(Start)
	// Measuring is as in Options.
	Measuring func(kernels.ContestProgress)
}

// Resume goes on with the run in a directory, with what is left of its budget.
func Resume(ctx context.Context, table kernels.Table, dir string, c Changes) (*Report, error) {
	if c.Began.IsZero() {
		c.Began = time.Now()
	}
	run, recovery, err := results.Open(dir)
	if err != nil {
		return nil, err
	}
	run.Recovery = recovery
	settings := run.Settings
	s, err := openSession(table, &settings, dir)
	if err == nil {
		err = s.canLead(c.Strategy)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", dir, err), run.Close())
	}
	s.run, s.settings = run, settings
	budget := search.Budget{
		Wall:        time.Duration(settings.Budget.WallSeconds * float64(time.Second)),
		Evaluations: settings.Budget.Evaluations, Target: settings.Budget.Target,
	}
	if c.Budget.Wall > 0 {
		budget.Wall = c.Budget.Wall
	}
	if c.Budget.Evaluations > 0 {
		budget.Evaluations = c.Budget.Evaluations
	}
	if c.Budget.Target != nil {
		budget.Target = c.Budget.Target
	}
	if c.Jobs == 0 {
		c.Jobs = settings.Jobs
	}
	return s.carryOut(ctx, Options{Budget: budget, Jobs: c.Jobs, Began: c.Began, Observe: c.Observe, Start: c.Start, Measuring: c.Measuring})
}

// session is a run with the problem that it searches.
type session struct {
	info      kernels.Info
	problem   kernels.Problem
	evaluator *kernels.Evaluator
	strategy  search.Strategy
	entry     strategies.Strategy // that strategy is made of
	settings  results.Settings
	run       *results.Run
	// file is the path of the file that the kernel was read from, "" for one of tune's own.
	file string
	// data is the file of measurements that the kernel was made of, nil for one without.
	data *results.Source
	// prior is what the strategy begins with.
	prior []results.Prior
	// lost is why the strategy of the recorded run is not to be had here; nil where it is.
	lost error
	// unsigned is why the run could not be marked as made here.
	unsigned error
	// evaluation is how long it took to evaluate the baseline.
	evaluation time.Duration
}

// newSession makes the session of a run. prior returns what the strategy begins with, as points of the problem's space.
func newSession(k kernels.Kernel, settings *results.Settings, prior func(kernels.Problem) ([]results.Prior, error)) (*session, error) {
	info := k.Info()
	shape, err := kernels.ParseShape(info.Shape, settings.Shape)
	if err != nil {
		return nil, err
	}
	problem, err := k.Problem(shape)
	if err != nil {
		return nil, err
	}
	entry, lost, err := recordedStrategy(settings)
	if err != nil {
		return nil, err
	}
	seen, err := prior(problem)
	if err != nil {
		return nil, err
	}
	hints := strategies.Hints{Start: kernels.Starts(problem)}
	if hints.Sources, err = sources(problem.Space(), seen); err != nil {
		return nil, err
	}
	strategy, err := newStrategy(entry, problem, problem.Space(), settings.Seed, hints)
	if err != nil {
		return nil, err
	}
	made := &session{
		info: info, problem: problem, entry: entry, lost: lost, strategy: strategy, settings: *settings, prior: seen,
		evaluator: &kernels.Evaluator{Problem: problem, CheckSeed: settings.CheckSeed},
	}
	if k, ok := k.(interface{ Path() string }); ok {
		made.file = k.Path()
	}
	if k, ok := k.(interface{ Data() results.Source }); ok {
		data := k.Data()
		made.data = &data
	}
	return made, nil
}

// newStrategy makes the strategy of a run in a space of a problem's points. A batch is scored at the cheap fidelities
// first, where the problem has any.
func newStrategy(entry strategies.Strategy, problem kernels.Problem, s *space.Space, seed uint64, hints strategies.Hints) (search.Strategy, error) {
	inner, err := entry.New(s, seed, hints)
	if err != nil {
		return nil, err
	}
	c := halving.Config{Levels: kernels.Levels(problem), Blind: kernels.BlindTo(problem)}
	if !entry.Hintless {
		c.First = search.Leaders(s, hints.Sources, search.MostLeaders)
	}
	return halving.New(s, seed, inner, c)
}

// simulated reports whether evaluations take the time that they once took.
func (s *session) simulated() bool {
	_, ok := s.problem.(kernels.Simulated)
	return ok
}

// clock says so in the words of run directories.
func (s *session) clock() string {
	if s.simulated() {
		return results.Simulated
	}
	return ""
}

// openSession makes the session of the recorded run in a directory. It refuses a run whose points mean something else by
// now.
func openSession(table kernels.Table, settings *results.Settings, dir string) (*session, error) {
	k, err := table.Lookup(settings.Kernel)
	if err != nil {
		return nil, err
	}
	s, err := newSession(k, settings, func(problem kernels.Problem) ([]results.Prior, error) {
		// Another space is reported below, and cannot read the points of this one.
		if len(settings.From) == 0 || problem.Space().Fingerprint() != settings.SpaceFingerprint {
			return nil, nil
		}
		return results.ReadPrior(dir)
	})
	if err != nil {
		return nil, err
	}
	if v := s.info.Version; v != settings.KernelVersion {
		return nil, fmt.Errorf("the run was made with version %s of kernel %s; this is version %s: its outcomes do not hold here, start a new run", settings.KernelVersion, s.info.Name, v)
	}
	if f := s.problem.Space().Fingerprint(); f != settings.SpaceFingerprint {
		return nil, fmt.Errorf("the run searched another space (fingerprint %s, here %s): its points cannot be asked again, start a new run", settings.SpaceFingerprint, f)
	}
	return s, nil
}

// reserve is how much of a wall budget is kept for the last checks and the export.
func reserve(wall time.Duration) time.Duration {
	if wall <= 0 {
		return 0
	}
	return min(max(wall/100, 180*time.Millisecond), 600*time.Millisecond, wall/2)
}

// carryOut searches and exports. The run is closed when it returns.
func (s *session) carryOut(ctx context.Context, o Options) (report *Report, err error) {
	defer func() {
		if cerr := s.run.Close(); cerr != nil && !errors.Is(err, cerr) { // the journal says the same again
			err = errors.Join(err, cerr)
		}
	}()
	baseline, err := s.baselineWithin(ctx, o)
	if err != nil {
		return nil, err
	}
	if o.Start != nil {
		var lacks []string
		if e, ok := s.problem.(kernels.Exposed); ok {
			lacks = e.Lacks()
		}
		o.Start(Start{Lacks: lacks, Dir: s.run.Dir, Settings: s.settings, Space: s.problem.Space(), Baseline: baseline, Budget: o.Budget,
			Resumed: s.run.Outcomes, Elapsed: time.Duration(s.run.Elapsed * float64(time.Second)), Recovery: s.run.Recovery,
			Unsigned: s.unsigned, Measured: !s.info.Exact})
	}
	budget := o.Budget
	kept := reserve(budget.Wall)
	if s.simulated() {
		kept = 0 // real time is needed for the export, and that is not counted
	}
	if _, ok := s.problem.(kernels.Comparer); ok && !s.info.Exact {
		kept = max(kept, finalReserve(budget.Wall, baseline.Cost, s.evaluation))
	}
	budget.Wall -= kept
	journal := newDigest(s.run, s.serialTest())
	result, err := search.Run(ctx, s.strategy, s.evaluator, search.Settings{
		Budget: budget, Jobs: o.Jobs, Recorder: journal, History: journal, Began: o.Began, Observe: o.Observe,
		Virtual: s.simulated(),
	})
	if err != nil {
		return nil, err
	}
	end := results.End{Why: result.Stop.String(), Elapsed: result.Elapsed.Seconds(), Clock: s.clock()}
	if result.Stop == search.TargetReached {
		end.Told = result.Told
	}
	if err := s.run.Journal.End(end); err != nil {
		return nil, err
	}
	report = &Report{Dir: s.run.Dir, Settings: s.settings, Result: result, Baseline: baseline, Checking: kernels.CheckingOf(s.problem)}
	// The search may have been stopped by ctx, and what it found is exported all the same.
	hurry := ctx.Err() != nil
	ctx = context.WithoutCancel(ctx)
	whole, ranking, serial := journal.ranking(end)
	until := time.Time{} // by then the export is to be done
	if o.Budget.Wall > 0 && !s.simulated() {
		until = time.Now().Add(o.Budget.Wall - result.Elapsed)
	}
	x := exporter{
		session: s, report: report, batches: journal.batches, dir: s.run.Dir, serial: serial, until: until, hurry: hurry, budget: o.Budget,
		progress: o.Measuring, limit: o.Final, searched: time.Now(),
	}
	if err = x.export(ctx, ranking); err == nil && report.Schedule == nil && !whole {
		// None of the best holds. It takes a strange kernel to come here, so that the time to read
		// the whole journal matters less than the answer.
		var log *results.Run
		if log, err = results.Read(s.run.Dir); err == nil {
			report.Refused = nil
			err = x.exportFrom(ctx, end.Trim(log))
		}
	}
	report.Elapsed = x.elapsed()
	if report.Schedule != nil {
		report.Baseline = report.Schedule.Baseline
	}
	return report, err
}

// pages gives the ranking of a history part by part, each twice as long as the one before, so that who needs the best
// ones only takes no memory for the others.
func pages(h results.History) iter.Seq2[[]space.Entry, error] {
	return func(yield func([]space.Entry, error) bool) {
		var last *space.Entry
		for most := finalists; ; most *= 2 {
			page, err := results.Ranking(h, last, most)
			if err == nil && len(page) == 0 || !yield(page, err) || err != nil {
				return
			}
			last = &page[len(page)-1]
		}
	}
}

// exportFrom exports the first of a history that holds, in the order of their ranking.
func (x *exporter) exportFrom(ctx context.Context, h results.History) (err error) {
	if x.serial, err = x.bestSerial(h); err != nil {
		return err
	}
	for ranking, err := range pages(h) {
		if err != nil {
			return err
		}
		if err := x.export(ctx, ranking); err != nil || x.report.Schedule != nil {
			return err
		}
	}
	return nil
}

// baselineGrace is how long a baseline may take when its run is to end.
const baselineGrace = 500 * time.Millisecond

// lingering returns a context that is done a while after its parent is.
func lingering(parent context.Context, grace time.Duration) (ctx context.Context, done func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(parent))
	stop := context.AfterFunc(parent, func() { time.AfterFunc(grace, cancel) })
	return ctx, func() { stop(); cancel() }
}

// BaselineError says that the baseline of a kernel does not hold, so that there is nothing to compare candidates with.
type BaselineError struct {
	Kernel, Preset string
	Outcome        space.Outcome // never OK
}

// Error names the kernel and says what is wrong.
func (e *BaselineError) Error() string {
	return fmt.Sprintf("%s of kernel %s: %s: %s", baselineOf(e.Preset), e.Kernel, e.Outcome.Status, e.Outcome.Reason)
}

// baselineOf names a baseline by its preset, unless that is called baseline too.
func baselineOf(preset string) string {
	if preset == "baseline" {
		return "the baseline"
	}
	return "baseline " + preset
}

// SlowBaselineError says that a budget was over before the baseline was measured.
type SlowBaselineError struct{ Budget time.Duration }

func (e *SlowBaselineError) Error() string {
	return fmt.Sprintf("the budget of %v is over before it is measured: it wants a larger one", e.Budget)
}

// leastPatience is how long a baseline may take however small the budget is.
const leastPatience = 10 * time.Second

// baselineWithin is baseline within the time that a run has. A reference may take longer than that by far.
func (s *session) baselineWithin(ctx context.Context, o Options) (results.Baseline, error) {
	if o.Budget.Wall <= 0 || s.simulated() {
		return s.baseline(ctx)
	}
	ctx, cancel := context.WithDeadlineCause(ctx, o.Began.Add(max(o.Budget.Wall, leastPatience)),
		&SlowBaselineError{o.Budget.Wall})
	defer cancel()
	return s.baseline(ctx)
}

// baseline scores the point that others are compared with.
func (s *session) baseline(ctx context.Context) (results.Baseline, error) {
	// A quick one is had even where the run is to end, so that there is something to compare with.
	patient, done := lingering(ctx, baselineGrace)
	defer done()
	var p kernels.Preset
	evaluate := func() (space.Outcome, error) {
		p = s.problem.Presets()[0]
		return s.evaluator.Evaluate(patient, space.Trial{Proposal: space.Proposal{Point: p.Point}})
	}
	o, err := evaluate()
	if x, ok := s.problem.(kernels.Settler); ok && err == nil && o.Status == space.WrongAnswer {
		if err = x.Settle(patient, s.settings.CheckSeed); err == nil {
			o, err = evaluate()
		}
	}
	if err != nil {
		if ended := ctx.Err(); ended != nil && patient.Err() != nil {
			err = context.Cause(ctx)
		}
		return results.Baseline{}, fmt.Errorf("%s: %w", baselineOf(p.Name), err)
	}
	if o.Status != space.OK {
		return results.Baseline{}, &BaselineError{Kernel: s.info.Name, Preset: p.Name, Outcome: o}
	}
	s.evaluation = time.Duration(o.Seconds * float64(time.Second))
	return results.Baseline{Preset: p.Name, Key: p.Point.Key(), Cost: o.Cost}, nil
}

// derive returns a seed for one purpose of a run, so that no two purposes share random numbers.
func derive(seed uint64, purpose string) uint64 {
	h := uint64(14695981039346656037) // FNV-1a, 64 bits
	for _, c := range []byte(purpose) {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return rand.New(rand.NewPCG(seed, h)).Uint64()
}

// freshSeeds returns seeds of inputs that no candidate of the run has met.
func freshSeeds(seed uint64) []uint64 {
	seeds := make([]uint64, ExportChecks)
	for i := range seeds {
		seeds[i] = derive(seed, fmt.Sprintf("export %d", i))
	}
	return seeds
}

// exporter writes the schedule of a run.
type exporter struct {
	*session
	report  *Report
	batches []space.Batch // of the run
	dir     string        // to write to
	serial  []space.Entry // the best points of one thread, where the kernel has others too
	until   time.Time     // when the budget ends; zero where it has no end
	hurry   bool          // somebody has interrupted the run and waits
	budget  search.Budget // of the last sitting, where it is known
	// limit is how long the final measurement may take where somebody says so; 0 leaves it to the budget.
	limit    time.Duration
	progress func(kernels.ContestProgress) // of the final measurement; may be nil
	searched time.Time                     // when the search ended; zero where that was in another sitting
}

// elapsed is how long the run has taken.
func (x *exporter) elapsed() time.Duration {
	if x.searched.IsZero() || x.simulated() {
		return x.report.Result.Elapsed
	}
	return x.report.Result.Elapsed + time.Since(x.searched)
}

// export checks the incumbent on fresh inputs and writes its schedule and its program. An incumbent that fails
// there is refused, and the next best takes its place.
func (x *exporter) export(ctx context.Context, ranking []space.Entry) error {
	if comparer, ok := x.problem.(kernels.Comparer); ok && !x.info.Exact {
		return x.exportMeasured(ctx, comparer, ranking)
	}
	seeds := freshSeeds(x.settings.Seed)
	for _, e := range ranking {
		point, err := x.problem.Space().Parse(e.Key)
		if err != nil {
			return err
		}
		c, err := x.rebuild(ctx, point, e.Outcome.Cost, seeds)
		if r := kernels.AsRejection(err); r != nil {
			x.report.Refused = append(x.report.Refused, Refusal{e.Key, err.Error()})
			continue
		}
		if err != nil {
			return err
		}
		schedule, err := x.writeSchedule(e, point, c, seeds, nil)
		if err != nil {
			return err
		}
		x.report.Schedule = schedule
		return nil
	}
	return nil
}

// rebuild builds a point and checks it on the inputs of every seed. Where scores are exact it must cost what it
// did before.
func (s *session) rebuild(ctx context.Context, p space.Point, cost float64, seeds []uint64) (kernels.Candidate, error) {
	var c kernels.Candidate
	err := guard(func() (err error) {
		c, err = s.problem.Build(ctx, p)
		return err
	})
	if err != nil {
		return nil, err
	}
	return c, s.confirm(ctx, c, cost, seeds)
}

func (s *session) confirm(ctx context.Context, c kernels.Candidate, cost float64, seeds []uint64) error {
	if err := kernels.Verify(ctx, c, seeds); err != nil {
		return err
	}
	var score kernels.Score
	err := guard(func() (err error) {
		score, err = c.Score(ctx, 0)
		return err
	})
	if err != nil {
		return err
	}
	if s.info.Exact && score.Cost != cost {
		return kernels.Reject(space.WrongAnswer, "it costs %v %s, not %v", score.Cost, s.info.Unit, cost)
	}
	return nil
}

// guard makes a panic of a candidate or its generator a rejection, as the evaluator does in a search.
func guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = kernels.Reject(space.Crashed, "panic: %v", p)
		}
	}()
	return f()
}

// writeSchedule writes the schedule and what belongs to it. m is what was measured at the end, nil where costs are
// exact.
func (x *exporter) writeSchedule(e space.Entry, p space.Point, c kernels.Candidate, seeds []uint64, m *measured) (*results.Schedule, error) {
	path := filepath.Join(x.dir, ScheduleName)
	values, err := p.MarshalJSON()
	if err != nil {
		return nil, err
	}
	set, report := x.settings, x.report
	schedule := results.Schedule{
		Kernel: set.Kernel, KernelVersion: set.KernelVersion, Shape: set.Shape, Unit: x.info.Unit,
		Point: values, Key: e.Key, Cost: e.Outcome.Cost, Metrics: e.Outcome.Metrics,
		Baseline: report.Baseline, Ratio: ratio(report.Baseline.Cost, e.Outcome.Cost),
		SpaceFingerprint: set.SpaceFingerprint, Strategy: set.Strategy, StrategyConfig: set.StrategyConfig, StrategyVersion: set.StrategyVersion, Seed: set.Seed,
		Evaluations: report.Result.Told, ElapsedSeconds: x.elapsed().Seconds(), Trial: e.Number,
		Clock: set.Clock, Data: set.Data, Run: filepath.Base(report.Dir), ToolVersion: Version(), Machine: results.ThisMachine(), Created: time.Now(),
		Reproduce: append(x.reproduce(e.Number), "tune verify "+ScheduleName),
	}
	if m != nil {
		m.apply(&schedule)
	} else {
		schedule.Verdict = x.verdictOf(e.Outcome.Cost, report.Baseline.Cost)
		schedule.Unverified = schedule.Verdict == space.Unverified
	}
	schedule.Metrics = kernels.WithDeviation(schedule.Metrics, c) // of all the fresh inputs
	if i, ok := x.problem.Space().Index(p); ok {
		schedule.Index = &i
	}
	checking := kernels.CheckingOf(x.problem)
	schedule.Checked, schedule.Checks = checking.String(), []results.Check{}
	for _, seed := range checking.Claimed(seeds) {
		schedule.Checks = append(schedule.Checks, results.Check{Seed: seed, OK: true})
	}
	artifacts, err := c.Artifacts()
	if err != nil {
		return nil, err
	}
	for _, a := range artifacts {
		write := results.WriteArtifact
		if a.Derived {
			write = results.WriteDerived
		}
		written, err := write(results.ArtifactPath(path, a.Name), a.Write)
		if err != nil {
			return nil, err
		}
		schedule.Artifacts = append(schedule.Artifacts, written)
	}
	if err := schedule.Write(path); err != nil {
		return nil, err
	}
	// What is on disk counts.
	schedule, err = results.ReadSchedule(path)
	return &schedule, err
}

// verdictOf is that of a cost that no final measurement has compared with the baseline's.
func (s *session) verdictOf(cost, baseline float64) space.Verdict {
	switch {
	case !s.info.Exact:
		return space.Unverified
	case cost < baseline:
		return space.Faster
	}
	return space.NoGain
}

// ratio returns how many times faster a cost is than the baseline's; 0 where that is no number.
func ratio(baseline, cost float64) float64 {
	if cost <= 0 || baseline <= 0 {
		return 0
	}
	return baseline / cost
}

// reproduce returns the command lines that find a trial again. The strategies draw the points of a batch one after
// another, so that a run up to this trial finds it, and its last batch may be cut short. A batch before that one
// may not: where the run had a smaller budget once, it is resumed from there.
func (x *exporter) reproduce(trial int) []string {
	if !x.info.Exact || x.lost != nil {
		return nil // what a strategy asks depends on times that no other run measures, or on what is not here
	}
	set, kernel := x.settings, x.settings.Kernel
	if x.file != "" {
		kernel = "-c " + kernels.ShellWord(x.file)
	}
	if x.data != nil {
		kernel += " --data " + kernels.ShellWord(x.data.Path)
	}
	for _, from := range set.From {
		kernel += " --from " + kernels.ShellWord(from.Path)
	}
	if slices.ContainsFunc(set.From, func(f results.From) bool { return f.Other }) {
		kernel += " --from-any"
	}
	strategy := strategies.Label(set.Strategy, set.StrategyConfig, set.StrategyVersion)
	run := fmt.Sprintf("tune run %s --shape %s --strategy %s --seed %d", kernel, set.Shape, strategy, set.Seed)
	if set.Shape == "" {
		run = fmt.Sprintf("tune run %s --strategy %s --seed %d", kernel, strategy, set.Seed)
	}
	if wall := time.Duration(set.Budget.WallSeconds * float64(time.Second)); set.Clock == results.Simulated && wall > 0 {
		// What is asked may depend on the simulated time that is left, and that on the workers.
		line := fmt.Sprintf("%s --budget %s --jobs %d", run, wall, set.Jobs)
		if n := set.Budget.Evaluations; n > 0 {
			line += fmt.Sprintf(" --evals %d", n)
		}
		if x.budget.Wall == 0 || x.budget.Wall == wall && (x.budget.Evaluations == set.Budget.Evaluations) {
			return []string{line}
		}
		again := fmt.Sprintf("tune resume again --budget %s", x.budget.Wall)
		if n := x.budget.Evaluations; n > 0 {
			again += fmt.Sprintf(" --evals %d", n)
		}
		return []string{line + " --dir again", again}
	}
	if entry, err := strategies.Lookup(set.Strategy); err == nil && entry.Paced {
		return x.reproducePaced(run, trial)
	}
	var stops []int // evaluations at which the run's budget was spent before
	for _, b := range x.batches {
		if b.First+b.Count <= trial && b.Count == b.Progress.Evaluations {
			stops = append(stops, b.First+b.Count)
		}
	}
	stops = append(stops, trial+1)
	if len(stops) == 1 {
		return []string{fmt.Sprintf("%s --evals %d", run, stops[0])}
	}
	lines := []string{fmt.Sprintf("%s --evals %d --dir again", run, stops[0])}
	for _, n := range stops[1:] {
		lines = append(lines, fmt.Sprintf("tune resume again --evals %d", n))
	}
	return lines
}

// reproducePaced is reproduce for a strategy that fits itself to what is left of the budget: it needs the limits that the
// run had, not those that end it at the trial. Where what was left is a reading of the clock, and where a sitting was
// interrupted before another limit came, only the run itself can be led through what it did.
func (x *exporter) reproducePaced(run string, trial int) []string {
	replay := []string{"tune replay " + kernels.ShellWord(x.report.Dir)}
	var limits []int
	for _, b := range x.batches {
		if b.First > trial {
			break
		}
		if b.Progress.Evaluations == 0 {
			return replay
		}
		limit := b.Progress.Told + b.Progress.Evaluations
		if n := len(limits); n > 0 && limit == limits[n-1] {
			continue
		} else if n > 0 && b.First != limits[n-1] {
			return replay
		}
		limits = append(limits, limit)
	}
	if x.settings.Budget.WallSeconds > 0 || x.budget.Wall > 0 || len(limits) == 0 {
		return replay
	}
	line := fmt.Sprintf("%s --evals %d", run, limits[0])
	if len(limits) == 1 {
		return []string{line}
	}
	lines := []string{line + " --dir again"}
	for _, n := range limits[1:] {
		lines = append(lines, fmt.Sprintf("tune resume again --evals %d", n))
	}
	return lines
}

// Replay leads the strategy of a recorded run through its journal, and proves that it asks the same points in the
// same order. It returns how many trials it compared.
func Replay(table kernels.Table, dir string) (int, error) {
	run, err := results.Look(dir)
	if err != nil {
		return 0, err
	}
	s, err := openSession(table, &run.Settings, dir)
	if err == nil {
		err = s.canLead("")
	}
	if err != nil {
		return 0, fmt.Errorf("%s: %w", dir, err)
	}
	n, err := search.Replay(s.strategy, run)
	if err != nil {
		return n, fmt.Errorf("%s: after %d trials that agree: %w", dir, n, err)
	}
	return n, nil
}

// Formats are what Export can write.
var Formats = slices.Concat([]string{"json", "program", "trace", "csv"}, chart.Formats,
	[]string{string(exchange.T4), string(exchange.KernelTuner), string(exchange.Recorded)})

// Export writes a run in one of Formats: its schedule, its program or the program's trace, its outcomes as text or in a
// format of package exchange, or a chart of the best cost over time. Whatever is not in the run directory, or not as it was
// exported, is made from the journal, where that starts neither a compiler nor a process. Else it is a *StaleError.
func Export(ctx context.Context, table kernels.Table, dir, format string, w io.Writer) error {
	return exportRun(ctx, table, dir, format, false, w)
}

// ExportMeasured is Export, but for building, running and measuring the best candidates again where that is what it takes.
func ExportMeasured(ctx context.Context, table kernels.Table, dir, format string, w io.Writer) error {
	return exportRun(ctx, table, dir, format, true, w)
}

func exportRun(ctx context.Context, table kernels.Table, dir, format string, measure bool, w io.Writer) error {
	if !slices.Contains(Formats, format) {
		return fmt.Errorf("unknown format %q: want %s%s", format, strings.Join(Formats, ", "), space.DidYouMean(format, Formats))
	}
	run, err := results.Read(dir)
	if err != nil {
		return err
	}
	s, err := openSession(table, &run.Settings, dir)
	if err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	if format == "csv" {
		return s.csv(run, w)
	}
	if f := exchange.Format(format); slices.Contains(exchange.Formats(), f) {
		return s.exchangeFormat(run, f, w)
	}
	if slices.Contains(chart.Formats, format) {
		return s.chart(run, format, w)
	}
	return s.exportFile(ctx, run, format, measure, w)
}

// StaleError says that the schedule of a run is missing, or is not that of the run as it stands, and that to make it again
// would run candidates.
type StaleError struct {
	Dir string
	Err error // what is missing or wrong
}

func (e *StaleError) Error() string { return e.Err.Error() }
func (e *StaleError) Unwrap() error { return e.Err }

// chart draws the best cost over time.
func (s *session) chart(run *results.Run, format string, w io.Writer) error {
	c := chart.Run{Unit: s.info.Unit, End: run.Elapsed, Title: strings.TrimSpace(s.info.Name + " " + s.settings.Shape)}
	if c.Seen = !s.info.Exact; c.Seen {
		// The schedule has numbers of its own.
		if best, err := results.ReadSchedule(filepath.Join(run.Dir, ScheduleName)); err == nil && best.Pairs > 0 {
			c.Final, c.Note = best.Cost, fmt.Sprintf("exported: %.6g %s, %.2f× the baseline's %.6g", best.Cost, best.Unit, best.Ratio, best.Baseline.Cost)
		}
	}
	steps, err := results.Convergence(run)
	if err != nil {
		return err
	}
	for _, e := range steps {
		c.Steps = append(c.Steps, chart.Step{Seconds: e.Elapsed, Cost: e.Outcome.Cost})
	}
	if len(c.Steps) == 0 {
		return ErrNoValid
	}
	return chart.WriteRun(w, format, c)
}

// ErrNoValid says that a run has no right candidate to export.
var ErrNoValid = errors.New("no candidate was valid")

// exportFile writes the schedule, its program, or the trace of it.
func (s *session) exportFile(ctx context.Context, run *results.Run, format string, measure bool, w io.Writer) error {
	history := run.LastEnd().Trim(run)
	ranking, err := results.Ranking(history, nil, finalists)
	if err != nil {
		return err
	}
	if len(ranking) == 0 {
		return ErrNoValid
	}
	dir := run.Dir
	serial, err := s.bestSerial(history)
	if err != nil {
		return err
	}
	launches := kernels.Launches(s.problem)
	if launches && format == "trace" {
		return fmt.Errorf("kernel %s has no trace to export", s.info.Name)
	}
	schedule, stale := s.current(dir, slices.Concat(ranking, serial))
	if stale == nil {
		stale = s.verifyFields(schedule)
	}
	if stale == nil && !launches {
		stale = s.verifyCosts(ctx, nil, schedule)
	}
	if stale != nil && launches && !measure {
		return &StaleError{run.Dir, stale}
	}
	if stale != nil {
		if dir, err = os.MkdirTemp("", "tune-export-"); err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		baseline, err := s.baseline(ctx)
		if err != nil {
			return err
		}
		batches, err := batchesOf(run)
		if err != nil {
			return err
		}
		x := exporter{session: s, report: &Report{Dir: run.Dir, Settings: run.Settings, Baseline: baseline}, batches: batches, dir: dir}
		x.report.Result.Told = run.Outcomes
		x.report.Result.Elapsed = time.Duration(run.Elapsed * float64(time.Second))
		if err := x.exportFrom(ctx, history); err != nil {
			return err
		}
		if x.report.Schedule == nil {
			return ErrNoValid
		}
		schedule = *x.report.Schedule
	}
	name := ScheduleName
	switch {
	case format == "trace":
		return s.exportTrace(ctx, schedule, w)
	case format == "program" && len(schedule.Artifacts) == 0:
		return fmt.Errorf("kernel %s has no program to export", s.info.Name)
	case format == "program":
		name = schedule.Artifacts[0].Name
	}
	file, err := files.In(dir).Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = io.Copy(w, file)
	return err
}

// current returns the schedule in a run directory where it is that of the incumbent, with its files as they were
// exported, or what speaks against that. Where costs are measured, the final measurement may have preferred another of the
// finalists.
func (s *session) current(dir string, ranking []space.Entry) (results.Schedule, error) {
	path := filepath.Join(dir, ScheduleName)
	schedule, err := results.ReadSchedule(path)
	if errors.Is(err, fs.ErrNotExist) {
		return schedule, fmt.Errorf("%s is missing", path)
	}
	if err != nil {
		return schedule, err
	}
	choice := ranking[:1]
	isBaseline := func(e space.Entry) bool { return e.Key == schedule.Baseline.Key }
	if !s.info.Exact {
		// The baseline has no place among the finalists, and may be exported.
		others := slices.DeleteFunc(slices.Clone(ranking), isBaseline)
		choice = slices.Concat(others[:min(len(others), mostFinalists)], s.serialOf(others, 1))
	}
	if !slices.ContainsFunc(choice, func(e space.Entry) bool {
		return e.Number == schedule.Trial && e.Key == schedule.Key && (!s.info.Exact || e.Outcome.Cost == schedule.Cost)
	}) && (s.info.Exact || schedule.Key != schedule.Baseline.Key) {
		return schedule, fmt.Errorf("%s is of trial %d, which is not one of the best of the run as it stands", path, schedule.Trial)
	}
	for _, a := range schedule.Artifacts {
		if err := a.Verify(dir); err != nil {
			return schedule, err
		}
	}
	return schedule, nil
}

// exportTrace builds the point of a schedule and writes the trace of it.
func (s *session) exportTrace(ctx context.Context, schedule results.Schedule, w io.Writer) error {
	point, err := s.problem.Space().Parse(schedule.Key)
	if err != nil {
		return err
	}
	c, err := s.problem.Build(ctx, point)
	if err != nil {
		return err
	}
	artifacts, err := c.Artifacts()
	if err != nil {
		return err
	}
	for _, a := range artifacts {
		if a.Name == "trace.json" {
			return a.Write(w)
		}
	}
	return fmt.Errorf("kernel %s has no trace to export", s.info.Name)
}

func (s *session) csv(run *results.Run, w io.Writer) error {
	var names []string
	for _, p := range s.problem.Space().Parameters() {
		names = append(names, p.Name)
	}
	values := make([]string, len(names))
	return results.WriteCSV(w, run, run.LastEnd(), names, func(key string) ([]string, error) {
		// A key has the values as the file shows them, and in the order of the parameters.
		clear(values)
		at := 0
		err := space.SplitKey(key, func(name, text string) {
			for at < len(names) && names[at] != name {
				at++
			}
			if at < len(names) {
				values[at] = text
			}
		})
		if err == nil && at == len(names) {
			err = fmt.Errorf("key %q is none of the space", key)
		}
		return values, err
	})
}
