// Package session carries out a run: the baseline, the search, the final measurement and the export.
//
// A [Session] is one sitting of a run: of a new one, or of a recorded one that is resumed.
//
//	new run        New, then Create, which makes the run directory
//	recorded run   Open, then Continue, with the run directory opened for writing
//
// [Session.Carry] then does the work, once. Package tune makes the sessions of single runs. Packages results/library and results/model share a
// budget among many runs: [Sliced] is one of these, which gets its time in slices, each a sitting of its own that only searches.
package session

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"strings"
	"time"

	"tune/internal/plain"
	"tune/kernels"
	"tune/results"
	"tune/results/insight"
	"tune/results/schedule"
	"tune/search"
	"tune/search/halving"
	"tune/search/strategies"
	"tune/search/surrogate"
	"tune/space"
)

// Start is what is known when the search of a sitting begins: the baseline is evaluated, and nothing else.
type Start struct {
	Dir      string
	Settings results.Settings
	Space    *space.Space
	Baseline results.Baseline
	Budget   search.Budget // of the whole run, with all its sittings
	// Resumed is how many outcomes the run already had, and Elapsed how long they took.
	Resumed int
	Elapsed time.Duration
	// Recovery is what was repaired when the journal was opened.
	Recovery results.Recovery
	// Lacks lists, as sentences, the means of isolating candidates that this system lacks.
	Lacks []string
	// Unsigned is why the run could not be marked as made here (see results.Sign). Whoever resumes or verifies such a run is asked
	// whether its kernel may run. It is nil where the mark was made, or where nothing in the directory is ever executed.
	Unsigned error
	// Unmeasured are the metrics that the run asks for and this machine does not measure.
	Unmeasured []Unmeasured
	// Measured says that costs are measured and so not exact: the search only selects the points that are measured again at the
	// end.
	Measured bool
	// Compiled says that candidates are compiled on this machine, and kept in the cache of this user.
	Compiled bool
}

// Report is the result of a run.
type Report struct {
	Dir      string
	Settings results.Settings
	Result   search.Result
	// Elapsed is the time of the whole run over all its sittings: the search and everything after it. Where time is simulated, it
	// is the time of the search alone.
	Elapsed time.Duration
	// Baseline has the baseline's cost in the final measurement, as the schedule has it. Without a schedule it has the cost that was
	// measured before the search.
	Baseline results.Baseline
	// Checking says how much the checks of this kernel's candidates prove.
	Checking kernels.Checking
	// Schedule is what was exported: the incumbent, or the baseline where nothing is proven to be better. It is nil where no
	// candidate was valid. The best outcome of the search is in Result.
	Schedule *results.Schedule
	// Best are the best right outcomes of full fidelity, in the order of results.Ranking: schedule.Kept of them, or all. Work.SearchOnly leaves
	// them out.
	Best []space.Entry
	// Whole says that Best and Insight are of all outcomes of the run. Where a target was reached, those after it are left out.
	Whole bool
	// Front are the right outcomes that no other one dominates, the least cost first, where the run has several objectives; else nil.
	Front []space.Entry
	Goals space.Goals // the objectives of the run
	// Insight is what the search found out about the parameters, and about the candidates that failed; nil where Work.SearchOnly is set.
	Insight *insight.Insight
	// Refused lists incumbents that passed their check during the search but failed on fresh inputs. They are not exported.
	Refused []schedule.Refusal
}

// Work says how a session is carried out. Functions may be nil.
type Work struct {
	Evaluator search.Evaluator              // of the candidates of the search; nil means that of the kernel
	Machine   *results.Machine              // that measures; nil means results.ThisMachine
	Budget    search.Budget                 // of the whole run, with all its sittings
	Jobs      int                           // candidates evaluated at once; 0 means 1
	Began     time.Time                     // when the wall-clock budget of this sitting started to count
	Observe   func(search.Event)            // called with every outcome
	Start     func(Start)                   // called once, before the first outcome
	Baseline  func()                        // called before the baseline is evaluated
	Searched  func()                        // called when the search is over, before the final measurement
	Measuring func(kernels.ContestProgress) // called before each pair of the final measurement
	// Measurer is called after the final measurement, and says who made it; nil means Machine, and the worker that the run is tuned for.
	Measurer func() (machine *results.Machine, by string)
	Final    time.Duration // roughly how long the final measurement may take; 0 lets the budget decide
	// SearchOnly leaves out the final measurement and the export, and evaluates the baseline in the first sitting only: the caller
	// measures what the search found.
	SearchOnly bool
}

// Session is one sitting of a run, with the kernel that it tunes and the strategy that searches.
type Session struct {
	// Strategy is the entry of the strategy, with its name, constants and version.
	Strategy strategies.Strategy

	version   string // of tune
	kernel    *kernels.Opened
	evaluator search.Evaluator
	strategy  search.Strategy
	settings  results.Settings
	run       *results.Run
	goals     space.Goals // the objectives; nil for the least cost alone
	// sources are the earlier measurements that the strategy starts from, in the order of the run directory.
	sources []space.Source
	// unsigned and unmeasured are those of Start.
	unsigned   error
	unmeasured []Unmeasured
}

// New makes the session of a new run; version is that of tune. Create then makes its directory. read returns the earlier measurements that the
// strategy starts from. New writes the objectives to settings in their canonical form.
func New(version string, k *kernels.Opened, entry strategies.Strategy, settings *results.Settings,
	read func(kernels.Problem) ([]space.Source, error)) (*Session, error) {
	sources, err := read(k.Problem)
	if err != nil {
		return nil, err
	}
	goals, err := settings.Goals()
	if err != nil {
		return nil, &GoalsError{errors.Unwrap(err)}
	}
	settings.Objectives = ""
	if goals.Several() {
		settings.Objectives = goals.Text(k.Info.Maximised)
	}
	traits := k.Problem.Traits()
	cheap := halving.Config{Levels: traits.Levels, Blind: traits.Blind}
	if goals.Several() {
		if !entry.Several {
			return nil, &GoalsError{fmt.Errorf("strategy %s looks for the least cost alone: several objectives need %s", entry.Name, strategies.ForSeveral())}
		}
		cheap = halving.Config{} // a cheap score has the cost alone
	}
	var unmeasured []Unmeasured
	if k.Metrics, unmeasured, err = measurable(k, settings.Metrics, goals); err != nil {
		return nil, err
	}
	hints := strategies.Hints{Goals: goals, Start: kernels.Starts(k.Problem), Sources: space.BestFirst(sources)}
	for _, key := range settings.First {
		p, err := k.Problem.Space().Parse(key)
		if err != nil {
			return nil, fmt.Errorf("field first: %w", err)
		}
		hints.First = append(hints.First, p)
	}
	strategy, err := entry.Make(k.Problem.Space(), settings.Seed, hints, cheap)
	if err != nil {
		return nil, err
	}
	return &Session{
		version: version, kernel: k, Strategy: entry, strategy: strategy, settings: *settings, sources: sources, goals: goals, unmeasured: unmeasured,
		evaluator: &kernels.Evaluator{Problem: k.Problem, CheckSeed: settings.CheckSeed, Metrics: k.Metrics},
	}, nil
}

// Unmeasured is a metric that a run asks for and that this machine does not measure.
type Unmeasured struct {
	Name string
	Err  error // why
}

// measurable returns the metrics that are measured of each candidate: those that were asked for, and those that objectives are about. A metric
// that this machine does not measure is left out and returned in without; if an objective needs it, that is an error.
func measurable(k *kernels.Opened, asked []string, goals space.Goals) (names []string, without []Unmeasured, err error) {
	measures := k.Problem.Traits().Measures
	if measures == nil && len(asked) > 0 {
		return nil, nil, &MetricsError{fmt.Errorf("kernel %s has no %s: these are metrics of machine code that tune compiles", k.Info.Name, strings.Join(asked, ", "))}
	}
	if measures == nil {
		return nil, nil, nil // a goal that the baseline does not have is an error then
	}
	for _, name := range goals.Measures(asked) {
		err := measures(name)
		switch {
		case err == nil:
			names = append(names, name)
		case goals.Needs(name):
			return nil, nil, &GoalsError{fmt.Errorf("%s: this machine does not measure it: %w", name, err)}
		default:
			without = append(without, Unmeasured{name, err})
		}
	}
	return names, without, nil
}

// simulated reports whether the clock of the run is simulated, from the recorded times of its evaluations.
func (s *Session) simulated() bool { return s.kernel.Problem.Traits().Seconds != nil }

// clock returns the word for that clock in run directories.
func (s *Session) clock() string {
	if s.simulated() {
		return results.Simulated
	}
	return ""
}

// Open makes the session of a recorded run in a directory. Continue then gives it the run, opened for writing. It refuses a run whose points
// mean something else in this version of the kernel. own are strategies of the caller's, besides those of tune.
func Open(version string, table kernels.Table, settings *results.Settings, dir string, own ...strategies.Strategy) (*Session, error) {
	k, err := schedule.OpenRun(table, settings)
	if err != nil {
		return nil, err
	}
	entry, err := strategies.Recorded(settings.Strategy, settings.StrategyConfig, settings.StrategyVersion, own...)
	if err != nil {
		return nil, err
	}
	return New(version, k, entry, settings, func(problem kernels.Problem) ([]space.Source, error) {
		if len(settings.From) == 0 {
			return nil, nil
		}
		return results.ReadSources(dir, problem.Space())
	})
}

// Create makes the directory of a new run. To the settings that New was given it adds what the kernel decides: its data, its clock, its baseline,
// and the fingerprint of its space. What is wrong with the directory is a *results.DirError.
func (s *Session) Create(ctx context.Context, dir string) (err error) {
	if err := s.examine(ctx, space.Duration(s.settings.Budget.WallSeconds)); err != nil {
		return err
	}
	settings, files := s.settings, s.kernel.Info.Files
	settings.Data, settings.Clock = (*results.File)(files.Data), s.clock()
	base := s.kernel.Problem.Presets()[0]
	settings.Baseline = results.Preset{Name: base.Name, Key: base.Point.Key()}
	settings.SpaceFingerprint = s.kernel.Problem.Space().Fingerprint()
	var prepare []func(dir string, settings results.Settings) error
	each := func(save func(dir string) error) {
		prepare = append(prepare, func(dir string, _ results.Settings) error { return save(dir) })
	}
	if len(s.sources) > 0 {
		each(func(dir string) error { return results.WriteSources(dir, s.sources) })
	}
	if files.Save != nil {
		each(files.Save)
	}
	if len(files.Started) > 0 {
		// Before the run begins: a kill leaves no run that has to be asked about.
		prepare = append(prepare, func(dir string, settings results.Settings) error {
			s.unsigned = results.Sign(dir, settings, files.Started...)
			return nil
		})
	}
	if s.run, err = results.Create(dir, settings, prepare...); err != nil {
		return err
	}
	s.settings = s.run.Settings
	return nil
}

// examineLeast is how long a kernel may be examined, whatever the budget: its code may take a while to compile.
const examineLeast = 20 * time.Second

// examine returns what is wrong with the kernel as a whole. It takes no longer than a wall budget, where there is one: after that the baseline
// says what the run needs. A slow reference could take far longer.
func (s *Session) examine(ctx context.Context, wall time.Duration) error {
	examine := s.kernel.Problem.Traits().Examine
	if examine == nil {
		return nil
	}
	limited, cancel := ctx, func() {}
	if wall > 0 {
		limited, cancel = context.WithTimeout(ctx, max(wall, examineLeast))
	}
	defer cancel()
	err := examine(limited)
	if limited.Err() != nil && ctx.Err() == nil && errors.Is(err, limited.Err()) {
		return nil
	}
	return err
}

// Continue gives the session the recorded run that it carries on, opened for writing. Open must have been called with the directory of this run.
func (s *Session) Continue(run *results.Run) { s.run, s.settings = run, run.Settings }

// Replay feeds the run in a directory to its strategy, and returns how many trials agree. version is that of tune, and own are strategies of the
// caller's. observe is told how many trials have been compared, and about how many there are; it may be nil.
func Replay(version string, table kernels.Table, dir string, observe func(done, total int), own ...strategies.Strategy) (int, error) {
	run, err := results.Look(dir)
	if err != nil {
		return 0, err
	}
	s, err := Open(version, table, &run.Settings, dir, own...)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", dir, err)
	}
	var tell []func(compared int)
	if observe != nil {
		total := results.Describe(dir).Summary.Evaluations
		tell = append(tell, func(compared int) { observe(compared, total) })
	}
	n, err := search.Replay(s.strategy, asked{run}, tell...)
	if err != nil {
		return n, fmt.Errorf("%s: after %d trials that agree: %w", dir, n, err)
	}
	return n, nil
}

// asked is a run whose outcomes have no keys.
type asked struct{ *results.Run }

func (a asked) Rounds() iter.Seq2[space.Round, error] { return a.Asked(nil, nil) }

// RoundsBeside is Rounds for [search.ReadAhead].
func (a asked) RoundsBeside(beside func()) iter.Seq2[space.Round, error] {
	return a.Asked(nil, func(space.Round) { beside() })
}

// forExport returns how much of a wall budget is kept for the export, where building the program again takes the time rebuild.
func forExport(wall, rebuild time.Duration) time.Duration {
	if wall <= 0 {
		return 0
	}
	return min(min(max(wall/100, 100*time.Millisecond), 600*time.Millisecond)+rebuild, wall/2)
}

// Carry carries the session out: it evaluates the baseline, searches, makes the final measurement and exports. Create or Continue comes first.
// Carry closes the run, so that it can be called only once. When ctx is cancelled it stops searching at once, and still exports, after a final
// measurement that is short. One that is under way is cut short too.
func (s *Session) Carry(ctx context.Context, o Work) (report *Report, err error) {
	defer func() {
		if cerr := s.run.Close(); cerr != nil && !errors.Is(err, cerr) { // the journal repeats its first error
			err = errors.Join(err, cerr)
		}
	}()
	if o.Evaluator != nil {
		s.evaluator = o.Evaluator
	}
	found, err := s.baseline(ctx, o)
	if err != nil {
		return nil, err
	}
	baseline := schedule.AsBaseline(found)
	if o.Start != nil {
		o.Start(s.start(o, baseline))
	}
	var reserve func(space.Outcome, int) time.Duration
	if !o.SearchOnly {
		reserve = func(best space.Outcome, beside int) time.Duration {
			return s.reserve(o.Budget.Wall, found, best, beside)
		}
	}
	journal := newNotebook(schedule.NewDigest(s.run, s.kernel.Serial()))
	result, err := search.Run(ctx, s.strategy, s.evaluator, search.Settings{
		Budget: o.Budget, Reserve: reserve, Jobs: o.Jobs, Recorder: journal, History: journal, Began: o.Began, Observe: o.Observe,
		Virtual: s.simulated(), Check: s.check(),
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
	report = &Report{Dir: s.run.Dir, Settings: s.settings, Result: result, Baseline: baseline, Checking: s.kernel.Problem.Traits().Checking, Goals: s.goals, Whole: end.Told == 0}
	if s.goals.Several() {
		log, err := results.Read(s.run.Dir)
		if err != nil {
			return nil, err
		}
		if report.Front, err = results.Front(end.Trim(log), s.goals); err != nil {
			return nil, err
		}
	}
	if o.SearchOnly {
		return report, nil
	}
	// The export comes first, because the budget has time for it. What look takes comes on top.
	err = s.export(ctx, o, report, journal.Digest, end)
	return report, errors.Join(err, s.look(report, found, journal, end))
}

// look finds out what the search says about the parameters.
func (s *Session) look(report *Report, baseline kernels.Baseline, journal *notebook, end results.End) error {
	outcomes, err := journal.Outcomes(end)
	if err == nil {
		learn := func(in *space.Space, right []space.Observation, log bool) (insight.Model, bool) {
			return surrogate.Learn(in, s.settings.Seed, right, log)
		}
		table := journal.table()
		if end.Told > 0 { // the target was reached, and outcomes after that do not count
			if table, err = insight.Collect(outcomes, 0); err != nil {
				return err
			}
		}
		from := insight.Reference{Defaults: s.settings.Baseline.Key, Cost: baseline.Outcome.Cost, Measured: baseline.Outcome.Counts()}
		if report.Schedule != nil {
			from.Exported = report.Schedule.Key
		}
		report.Insight, err = table.LookIn(outcomes, s.kernel.Problem.Space(), from, learn)
	}
	return err
}

// check returns what refuses a proposal that is not for this kernel.
func (s *Session) check() func(space.Proposal) error {
	in, levels := s.kernel.Problem.Space(), s.kernel.Problem.Traits().Levels
	return func(p space.Proposal) error {
		if of := p.Point.Space(); !in.Same(of) {
			return fmt.Errorf("that point is of space %s, and not of the kernel's space %s: a strategy proposes points of the space that it was made for",
				of.Name(), in.Name())
		}
		if p.Fidelity > levels {
			return fmt.Errorf("this kernel has the fidelities 0 to %d, and 0 is the full one", levels)
		}
		return nil
	}
}

// start says what the run starts from.
func (s *Session) start(o Work, baseline results.Baseline) Start {
	var lacks []string
	isolate := s.kernel.Problem.Traits().Lacks
	if isolate != nil {
		lacks = isolate()
	}
	return Start{
		Lacks: lacks, Dir: s.run.Dir, Settings: s.settings, Space: s.kernel.Problem.Space(), Baseline: baseline, Budget: o.Budget,
		Resumed: s.run.Outcomes, Elapsed: space.Duration(s.run.Elapsed), Recovery: s.run.Recovery,
		Unsigned: s.unsigned, Unmeasured: s.unmeasured, Measured: !s.kernel.Info.Exact, Compiled: isolate != nil && s.settings.For == "",
	}
}

// reserve returns how much of a wall budget the search leaves for the last checks, the final measurement and the export of the best point.
// beside is how many candidates were evaluated at the same time as this point.
func (s *Session) reserve(wall time.Duration, baseline kernels.Baseline, best space.Outcome, beside int) time.Duration {
	if s.kernel.Compare() != nil {
		return max(forExport(wall, 0), schedule.Reserve(wall, baseline.Outcome.Cost, space.Duration(baseline.Outcome.Seconds)))
	}
	if s.kernel.Info.Asked { // its client has answered already
		return forExport(wall, 0)
	}
	// The point is built again, alone this time. In the search it took longer if more candidates were built at once than there are cores.
	crowd := max(1, float64(beside)/float64(runtime.GOMAXPROCS(0)))
	return forExport(wall, space.Duration(best.Seconds/crowd))
}

// export makes the schedule after the search, and fills the report with the result.
func (s *Session) export(ctx context.Context, o Work, report *Report, journal *schedule.Digest, end results.End) error {
	began := time.Now()
	maker := &schedule.Maker{
		Kernel: s.kernel, Settings: s.settings, ToolVersion: s.version, Run: s.run.Dir, Dir: s.run.Dir, Baseline: report.Baseline,
		Told: report.Result.Told, Batches: journal.Telling(), Budget: o.Budget, Progress: o.Measuring, Limit: o.Final,
		Machine: o.Machine, By: s.settings.For, Measurer: o.Measurer,
		// ctx may have stopped the search; what was found is exported all the same.
		Hurry: ctx.Err() != nil,
		Elapsed: func() time.Duration {
			if s.simulated() {
				return report.Result.Elapsed
			}
			return report.Result.Elapsed + time.Since(began)
		},
	}
	if o.Budget.Wall > 0 && !s.simulated() {
		maker.Until = began.Add(o.Budget.Wall - report.Result.Elapsed)
	}
	if o.Searched != nil {
		o.Searched()
	}
	whole, ranking, serial := journal.Ranking(end)
	report.Best = slices.Clone(ranking)
	made, err := s.final(ctx, maker, ranking, serial)
	if maker.Hurry && s.kernel.Compare() != nil {
		report.Result.Stop = search.Interrupted // perhaps after the search
	}
	ctx = context.WithoutCancel(ctx)
	if err == nil && made.Schedule == nil && !whole {
		// None of the best points holds. This is rare, so that an answer matters more than the time to read the whole journal.
		var log *results.Run
		if log, err = results.Read(s.run.Dir); err == nil {
			made, err = maker.MakeFrom(ctx, end.Trim(log))
		}
	}
	report.Schedule, report.Refused, report.Elapsed = made.Schedule, made.Refused, maker.Elapsed()
	if report.Schedule != nil {
		report.Baseline = report.Schedule.Baseline
	}
	return err
}

// final makes the schedule. Where ctx ends during a final measurement, a short one takes its place.
func (s *Session) final(ctx context.Context, maker *schedule.Maker, ranking, serial []space.Entry) (made schedule.Made, err error) {
	try := func(ctx context.Context) (schedule.Made, error) {
		maker.Serial = serial // which Make uses up
		return maker.Make(ctx, ranking)
	}
	within, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	if !maker.Hurry && s.kernel.Compare() != nil {
		defer context.AfterFunc(ctx, cancel)()
	}
	made, err = try(within)
	if loss, ok := errors.AsType[kernels.Loss](err); ok && loss.Lost() { // once: a machine that is not back soon ends the run
		made, err = try(within)
	}
	if err != nil && within.Err() != nil {
		maker.Hurry = true
		made, err = try(context.WithoutCancel(ctx))
	}
	return made, err
}

// baseline evaluates the baseline, unless an earlier sitting of a search alone has done it. It refuses a baseline that lacks a metric of the
// objectives. Where the run ends here because of the baseline, the journal says so: otherwise the run would look like one that was killed.
func (s *Session) baseline(ctx context.Context, o Work) (found kernels.Baseline, err error) {
	if o.SearchOnly && s.run.Outcomes > 0 {
		return found, nil
	}
	if o.Baseline != nil {
		o.Baseline()
	}
	found, err = s.baselineWithin(ctx, o)
	if err == nil && s.goals.Several() {
		if lacking := s.goals.Lacking(found.Outcome, s.kernel.Problem.Traits().Measures != nil); lacking != nil {
			err = &GoalsError{lacking}
		}
	}
	if reason := failure(err); reason != "" {
		end := results.End{Why: results.BaselineFailed, Reason: plain.Clip(plain.Line(reason), mostReason), Elapsed: s.run.Elapsed, Clock: s.clock()}
		if jerr := s.run.Journal.End(end); jerr != nil {
			err = errors.Join(err, jerr)
		}
	}
	return found, err
}

// mostReason bounds, in bytes, why a baseline failed as the journal keeps it.
const mostReason = 1000

// failure is why the baseline failed; "" for any other error.
func failure(err error) string {
	if failed, ok := errors.AsType[*kernels.BaselineError](err); ok {
		return fmt.Sprintf("%s: %s", failed.Outcome.Status, failed.Outcome.Reason)
	}
	if lacks, ok := errors.AsType[*GoalsError](err); ok {
		return lacks.Error()
	}
	return ""
}

// baselineWithin evaluates the baseline, and gives up when the wall budget is spent: a slow reference could take far longer.
func (s *Session) baselineWithin(ctx context.Context, o Work) (kernels.Baseline, error) {
	if o.Budget.Wall > 0 && !s.simulated() {
		return s.kernel.BaselineWithin(ctx, s.settings.CheckSeed, o.Began, o.Budget.Wall)
	}
	return s.kernel.Baseline(ctx, s.settings.CheckSeed)
}
