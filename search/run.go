package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"tune/internal/guard"
	"tune/internal/plain"
	"tune/space"
)

// Settings say how a run is carried out. The zero value evaluates one trial at a time until the space is exhausted, and records
// nothing.
type Settings struct {
	Budget Budget
	// Reserve returns how much of the wall budget the search leaves for what the caller does with the incumbent afterwards. best is
	// the incumbent's outcome, whose status is unset while there is no incumbent, and beside is how many trials may have been evaluated
	// at the same time. It is called whenever the incumbent changes. nil leaves nothing. It does not apply to simulated time.
	Reserve func(best space.Outcome, beside int) time.Duration
	// Jobs is how many trials are evaluated at once; 0 means 1. It changes no result.
	Jobs int
	// Recorder records the run; nil records nothing.
	Recorder Recorder
	// History is what earlier sittings of this run recorded; nil means nothing. It is first replayed to the strategy, batch by
	// batch, and nothing in it is evaluated again.
	History History
	// Began is when this sitting began, for wall-clock budgets; the zero value means now. The time to replay the history does not
	// count.
	Began time.Time
	// Now is the clock that progress and durations are read from; nil means time.Now. A timer, not this clock, ends a wall-clock
	// budget.
	Now func() time.Time
	// Virtual makes time simulated. An evaluation takes the Seconds of its outcome, on one of Jobs simulated workers, and the
	// wall budget counts this time. Trials begin in the order asked, each on the worker that is free first; a batch begins when
	// the one before it has ended. So time, and what a budget of it allows, depend on Jobs and on the outcomes, and on no clock.
	// Outcomes are recorded and observed in the order in which the evaluations end. An evaluation that would end after the budget
	// has no outcome.
	Virtual bool
	// Check refuses a proposal that this run cannot evaluate: its error ends the run before the batch is recorded. nil refuses
	// none. Points of different spaces are refused in any case.
	Check func(space.Proposal) error
	// Observe is called with every outcome as soon as it is known, by one goroutine at a time; nil observes nothing.
	Observe func(Event)
}

// Validate reports settings that make no sense.
func (s Settings) Validate() error {
	switch {
	case s.Jobs < 0:
		return fmt.Errorf("search: Settings.Jobs is %d: want 1 or more, or 0 for one", s.Jobs)
	case s.Budget.Wall < 0:
		return fmt.Errorf("search: Settings.Budget.Wall is %v: want more than nothing, or 0 for no limit", s.Budget.Wall)
	case s.Budget.Evaluations < 0:
		return fmt.Errorf("search: Settings.Budget.Evaluations is %d: want 1 or more, or 0 for no limit", s.Budget.Evaluations)
	case s.Budget.Target != nil && math.IsNaN(*s.Budget.Target):
		return errors.New("search: Settings.Budget.Target is not a number: want a cost, or nil")
	}
	return nil
}

// Event is one outcome of a run.
type Event struct {
	Trial   space.Trial
	Outcome space.Outcome
	// Best is the incumbent after this outcome; its status is unset while there is none.
	Best Best
	// Known is how many outcomes the run has, Valid how many of them are correct.
	Known, Valid int
	// Elapsed is the time that the run had spent when the outcome was known, over all its sittings.
	Elapsed time.Duration
}

// Best is an incumbent.
type Best struct {
	Trial   space.Trial
	Outcome space.Outcome
}

// Stop says why a run ended. All of these are normal ends; a failure is an error.
type Stop uint8

// The reasons to stop.
const (
	StopUnset        Stop = iota
	TimeSpent             // the wall time is spent
	EvaluationsSpent      // the evaluations are spent
	TargetReached         // an outcome reached the target
	SpaceExhausted        // the strategy has no unseen point left
	Interrupted           // the context was cancelled
)

var stopNames = [...]string{"unset", "time budget spent", "evaluations spent", "target reached", "space exhausted", "interrupted"}

// String returns the reason in words.
func (s Stop) String() string {
	if int(s) < len(stopNames) {
		return stopNames[s]
	}
	return fmt.Sprintf("stop(%d)", uint8(s))
}

// Result is what a run found.
type Result struct {
	Stop Stop
	// Best is the best correct outcome of full fidelity; its status is unset where there is none. Of equal ones the first that
	// was asked for wins.
	Best Best
	// Told is the number of outcomes that count. All that are known count, also those of a batch that was not told because the run
	// ended. Where the target was reached, only those up to the one that reached it count.
	Told int
	// Valid is how many of them are correct.
	Valid int
	// Elapsed is the time over all sittings: wall time, or simulated time.
	Elapsed time.Duration
}

// Run drives a strategy: it asks for a batch, evaluates it in parallel, records every outcome as soon as it is known, and tells
// the outcomes in the order asked. Reaching a budget and the end of the context are normal ends. An error means that the
// evaluator, the recorder or the strategy failed; what was recorded until then remains.
//
// Run returns as soon as the evaluator has noticed that its context is done.
func Run(ctx context.Context, s Strategy, ev Evaluator, set Settings) (Result, error) {
	if err := set.Validate(); err != nil {
		return Result{}, err
	}
	if set.Now == nil {
		set.Now = time.Now
	}
	if set.Began.IsZero() {
		set.Began = set.Now()
	}
	r := &run{strategy: s, evaluator: ev, set: set}
	r.reserve()
	if set.History == nil {
		r.set.History = space.History{}
	}
	if !set.Virtual { // the end of the history is found by going through it
		r.prior = space.Duration(r.set.History.Spent())
	}
	err := r.loop(ctx)
	if set.Recorder != nil {
		if serr := set.Recorder.Sync(); !errors.Is(err, serr) { // a recorder may return the same error again
			err = errors.Join(err, serr)
		}
	}
	r.result.Elapsed = r.elapsed()
	return r.result, err
}

// Replay feeds a recorded run to a strategy, and proves that it asks for the same points in the same order. It returns the number
// of trials that agree. Each of observe is told after each batch how many trials the strategy has asked for so far.
func Replay(s Strategy, h History, observe ...func(asked int)) (agree int, err error) {
	r := &run{strategy: s}
	defer func() {
		var differ error
		if agree, differ = r.comparison.finish(); differ != nil {
			err = differ
		}
	}()
	asked, last, missing := 0, 0, 0 // trials, the batch that was not told, and how many of its outcomes are missing
	for past, err := range r.comparison.rounds(h) {
		if err != nil {
			return 0, err
		}
		if missing > 0 {
			return 0, fmt.Errorf("search: batch %d was told though %d of its outcomes are missing", last, missing)
		}
		b, err := r.ask(past.Batch.Progress)
		if err != nil {
			return 0, err
		}
		known, err := r.follow(b, past)
		if err != nil {
			return 0, err
		}
		asked += known
		for _, tell := range observe {
			tell(asked)
		}
		if missing = len(b.trials) - known; missing > 0 {
			// What was in flight when the run was stopped was never told.
			last = past.Batch.Number
			continue
		}
		r.tell(b)
	}
	return 0, nil
}

type run struct {
	strategy  Strategy
	evaluator Evaluator
	set       Settings
	prior     time.Duration // spent by earlier sittings
	clock     time.Duration // simulated time that is spent
	spent     bool          // the simulated time has ended

	comparison comparison // of the history

	space   *space.Space // of the first point; nil before
	batches int          // that the strategy has asked for
	told    int          // outcomes that the strategy has been told; Result.Told may be more

	mu       sync.Mutex
	result   Result
	beside   int           // how many trials of the last batch are evaluated at once
	reserved time.Duration // of the wall budget, for what follows the search: see Settings.Reserve
	timer    *time.Timer   // ends the search; nil where no time does
}

// batch is what one call of Ask returned. Outcomes are stored by index, so that the order of finishing changes nothing; an unset
// status means not known yet.
type batch struct {
	trials   []space.Trial
	outcomes []space.Outcome
	elapsed  time.Duration // of the run at the moment of the last outcome in the history
}

func (r *run) elapsed() time.Duration {
	if r.set.Virtual {
		return r.clock
	}
	return r.prior + r.set.Now().Sub(r.set.Began)
}

func (r *run) loop(ctx context.Context) (err error) {
	defer func() {
		if _, differ := r.comparison.finish(); differ != nil {
			err = differ
		}
	}()
	replayBegan, replaying := r.set.Now(), true
	cancel := func() {}
	defer func() { cancel() }()
	// goOn ends the replay of the history, and fails where it is of another run. From then on time counts, and the wall budget can end
	// the search.
	goOn := func() error {
		if !replaying {
			return nil
		}
		replaying = false
		if _, err := r.comparison.finish(); err != nil {
			return err
		}
		if r.batches > 0 {
			r.set.Began = r.set.Began.Add(r.set.Now().Sub(replayBegan))
		}
		if r.set.Budget.Wall > 0 && !r.set.Virtual {
			ctx, cancel = r.limit(ctx)
		}
		return nil
	}
	// turn takes a batch, of the history or a new one. ended says that the run is over.
	turn := func(past space.Round, replayed bool) (ended bool, err error) {
		// The history counts whatever the budget is now: if the budget is smaller than it was, the run ends after its history.
		if n := r.set.Budget.Evaluations; !replayed && n > 0 && r.told >= n {
			r.result.Stop = EvaluationsSpent
			return true, nil
		}
		if !replayed {
			if err := goOn(); err != nil {
				return true, err
			}
			if r.set.Virtual && r.set.Budget.Wall > 0 && r.clock >= r.set.Budget.Wall {
				r.result.Stop = TimeSpent
				return true, nil
			}
		}
		if !replaying && ctx.Err() != nil {
			r.result.Stop = stopOf(ctx)
			return true, nil
		}
		progress := r.progress()
		if replayed {
			progress = past.Batch.Progress
		}
		b, err := r.ask(progress)
		if err != nil {
			return true, err
		}
		if len(b.trials) == 0 && !replayed {
			r.result.Stop = SpaceExhausted
			return true, nil
		}
		known, err := r.begin(b, past, replayed, progress)
		if err != nil {
			return true, err
		}
		if known < len(b.trials) {
			if err := goOn(); err != nil {
				return true, err
			}
		}
		if ended, err := r.complete(ctx, b, known); ended || err != nil {
			return true, err
		}
		r.tell(b)
		return false, nil
	}
	for past, err := range r.comparison.rounds(r.set.History) {
		if err != nil {
			return err
		}
		if ended, err := turn(past, true); ended {
			return err
		}
	}
	for {
		if ended, err := turn(space.Round{}, false); ended {
			return err
		}
	}
}

// limit returns a context that ends when the time is spent that the budget leaves to the search.
func (r *run) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, end := context.WithCancelCause(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	left := r.left()
	if left <= 0 {
		end(errTimeSpent)
	}
	r.timer = time.AfterFunc(left, func() { end(errTimeSpent) })
	timer := r.timer
	return ctx, func() { timer.Stop(); end(nil) }
}

// left returns how much of the wall budget is left to the search. The caller holds mu.
func (r *run) left() time.Duration { return r.set.Budget.Wall - r.reserved - r.elapsed() }

// reserve asks what the incumbent needs after the search, and moves the end of the search. The caller holds mu, unless nothing else runs yet.
func (r *run) reserve() {
	if r.set.Reserve == nil || r.set.Virtual {
		return
	}
	r.reserved = r.set.Reserve(r.result.Best.Outcome, r.beside)
	if r.timer != nil && r.timer.Stop() { // else the search has ended
		r.timer.Reset(r.left())
	}
}

// begin compares a batch with the recorded one and takes over its outcomes, or records that the batch was asked for. It returns
// how many outcomes are known.
func (r *run) begin(b *batch, past space.Round, replayed bool, progress space.Progress) (known int, err error) {
	if replayed {
		if known, err = r.follow(b, past); err != nil {
			return known, err
		}
		for i, o := range b.outcomes {
			if o.Status != space.StatusUnset {
				r.learn(b.trials[i], o)
			}
		}
		return known, nil
	}
	if r.set.Recorder == nil {
		return 0, nil
	}
	return 0, r.set.Recorder.Batch(space.Batch{
		Number: r.batches - 1, First: b.trials[0].Number, Count: len(b.trials), Progress: progress,
	})
}

// complete evaluates the missing outcomes of a batch, and makes them durable. ended says that the search ends before the batch is
// told; r.result then says why.
func (r *run) complete(ctx context.Context, b *batch, known int) (ended bool, err error) {
	var hit int
	switch {
	case r.set.Virtual:
		hit, err = r.simulate(ctx, b)
	case known < len(b.trials):
		hit, err = r.evaluate(ctx, b)
	default:
		hit = slices.IndexFunc(b.outcomes, r.reaches)
	}
	if err != nil {
		return false, err
	}
	if hit >= 0 {
		r.result.Stop = TargetReached
		r.endAt(b, hit)
		return true, nil
	}
	if b.unknown() {
		switch {
		case ctx.Err() != nil:
			r.result.Stop = stopOf(ctx)
		case r.spent:
			r.result.Stop = TimeSpent
		default:
			r.result.Stop = EvaluationsSpent
		}
		return true, nil
	}
	if known < len(b.trials) && r.set.Recorder != nil {
		return false, r.set.Recorder.Sync()
	}
	return false, nil
}

var errTimeSpent = errors.New("time budget spent")

func stopOf(ctx context.Context) Stop {
	if context.Cause(ctx) == errTimeSpent {
		return TimeSpent
	}
	return Interrupted
}

// progress reports how much of the budget is spent.
func (r *run) progress() space.Progress {
	p := space.Progress{Told: r.told, Left: 1}
	if n := r.set.Budget.Evaluations; n > 0 {
		p.Evaluations = n - r.told
		p.Left = float64(p.Evaluations) / float64(n)
	}
	if wall := r.set.Budget.Wall; wall > 0 {
		p.Left = max(0, min(p.Left, 1-r.elapsed().Seconds()/max(wall-r.reserved, 1).Seconds()))
	}
	return p
}

// ask asks for the next batch and numbers its trials.
func (r *run) ask(p space.Progress) (*batch, error) {
	proposals := r.strategy.Ask(p)
	if p.Evaluations > 0 && len(proposals) > p.Evaluations {
		return nil, fmt.Errorf("search: the strategy asked for %d points where the budget allows %d", len(proposals), p.Evaluations)
	}
	b := &batch{trials: make([]space.Trial, 0, len(proposals)), outcomes: make([]space.Outcome, len(proposals))}
	for i, proposal := range proposals {
		if proposal.Point.IsZero() {
			return nil, fmt.Errorf("search: the strategy asked for an empty point in batch %d", r.batches)
		}
		if proposal.Fidelity < 0 {
			return nil, fmt.Errorf("search: the strategy asked for %q at fidelity %d: want 0 or more", proposal.Point.Key(), proposal.Fidelity)
		}
		if r.set.Check != nil {
			if err := r.set.Check(proposal); err != nil {
				return nil, fmt.Errorf("search: the strategy asked for %q at fidelity %d: %w", proposal.Point.Key(), proposal.Fidelity, err)
			}
		}
		if r.space == nil {
			r.space = proposal.Point.Space()
		}
		if of := proposal.Point.Space(); !of.Same(r.space) {
			return nil, fmt.Errorf("search: the strategy asked for %q of space %s, and before for points of space %s, which has other points",
				proposal.Point.Key(), of.Name(), r.space.Name())
		}
		b.trials = append(b.trials, space.Trial{Number: r.told + i, Proposal: proposal})
	}
	r.batches++
	r.beside = max(1, min(r.set.Jobs, len(b.trials)))
	return b, nil
}

// tell tells the strategy a batch whose outcomes are all known.
func (r *run) tell(b *batch) {
	r.strategy.Tell(b.trials, b.outcomes)
	r.told += len(b.trials)
}

// follow fills in the outcomes of a batch that are in the history, has its trials compared with them, and returns their number. It fails
// where the strategy asked for other points than were recorded, as far as that is known yet: see comparison.
func (r *run) follow(b *batch, past space.Round) (int, error) {
	want := past.Batch
	if len(b.trials) != want.Count {
		return 0, fmt.Errorf("search: batch %d asks for %d points, but %d were recorded: the strategy, its settings or the space have changed", want.Number, len(b.trials), want.Count)
	}
	for known := range past.Entries {
		e := &past.Entries[known]
		k := e.Number - b.trials[0].Number
		if k < 0 || k >= len(b.trials) {
			return known, fmt.Errorf("search: trial %d is recorded in batch %d, which has the trials from %d on", e.Number, want.Number, b.trials[0].Number)
		}
		if !r.comparison.add(b.trials[k], e) {
			_, err := r.comparison.finish()
			return 0, err
		}
		b.outcomes[k] = e.Outcome
		b.elapsed = max(b.elapsed, space.Duration(e.Elapsed))
	}
	return len(past.Entries), nil
}

func (b *batch) unknown() bool {
	for _, o := range b.outcomes {
		if o.Status == space.StatusUnset {
			return true
		}
	}
	return false
}

// evaluate evaluates the missing outcomes of a batch, in parallel. It returns the index of the first trial that reached the
// target, or -1; all trials before that one are known then, later ones may not be. Outcomes stay unknown where the context ends,
// and where the batch was asked for under a larger budget than there is now.
func (r *run) evaluate(ctx context.Context, b *batch) (int, error) {
	// Trials at or past limit are not needed: the budget ends before them, or an earlier one has reached the
	// target.
	limit, hit := len(b.trials), -1
	if n := r.set.Budget.Evaluations; n > 0 {
		limit = min(limit, max(n-r.told, 0))
	}
	for i, o := range b.outcomes {
		if r.reaches(o) {
			limit, hit = min(limit, i), i
			break
		}
	}
	var (
		mu      sync.Mutex
		cancels = make([]context.CancelFunc, len(b.trials))
		next    atomic.Int64
	)
	group, groupCtx := errgroup.WithContext(ctx)
	// one evaluates a trial. ended says that there is nothing left to evaluate.
	one := func(i int, ev Evaluator) (ended bool, err error) {
		mu.Lock()
		if i >= limit || groupCtx.Err() != nil {
			mu.Unlock()
			return true, nil
		}
		if b.outcomes[i].Status != space.StatusUnset {
			mu.Unlock()
			return false, nil
		}
		trialCtx, cancel := context.WithCancel(groupCtx)
		defer cancel()
		cancels[i] = cancel
		mu.Unlock()

		o, err := r.trial(trialCtx, ev, b.trials[i])
		if err != nil || o.Status == space.StatusUnset {
			return true, err
		}
		mu.Lock()
		defer mu.Unlock()
		b.outcomes[i] = o
		if r.reaches(o) && i < limit {
			limit, hit = i, i
			for _, c := range cancels[i+1:] {
				if c != nil {
					c()
				}
			}
		}
		return false, nil
	}
	var work func() error
	work = func() error {
		for {
			i, began := int(next.Add(1)-1), r.set.Now()
			// The goroutine of an evaluator that ends it is lost. Another takes its place.
			exited := func() {
				group.Go(func() error {
					if ended, err := one(i, gone{r.set.Now().Sub(began)}); ended || err != nil {
						return err
					}
					return work()
				})
			}
			if ended, err := one(i, guarded{r.evaluator, exited}); ended || err != nil {
				return err
			}
		}
	}
	for range max(1, min(r.set.Jobs, len(b.trials))) {
		group.Go(work)
	}
	if err := group.Wait(); err != nil {
		return -1, err
	}
	if ctx.Err() == nil {
		for i, o := range b.outcomes[:limit] {
			if o.Status == space.StatusUnset {
				return -1, fmt.Errorf("search: trial %d has no outcome, though the run has not ended: what recorded or observed it ended its goroutine (runtime.Goexit)", b.trials[i].Number)
			}
		}
	}
	if hit < 0 || (&batch{outcomes: b.outcomes[:hit]}).unknown() {
		return -1, nil
	}
	return hit, nil
}

func (r *run) reaches(o space.Outcome) bool {
	t := r.set.Budget.Target
	return t != nil && space.Objective{}.Reaches(o, *t)
}

// simulate does what evaluate does, on simulated workers. The evaluations take almost no real time, and run one after another.
func (r *run) simulate(ctx context.Context, b *batch) (int, error) {
	if !b.unknown() {
		// The elapsed time in the history holds however many workers there were.
		r.clock = max(r.clock, b.elapsed)
	}
	limit, hit := len(b.trials), -1
	if n := r.set.Budget.Evaluations; n > 0 && b.unknown() {
		limit = min(limit, max(n-r.told, 0))
	}
	outcomes := slices.Clone(b.outcomes[:limit])
	for i, o := range outcomes {
		if o.Status == space.StatusUnset {
			var err error
			if o, err = r.outcome(ctx, guarded{Evaluator: r.evaluator}, b.trials[i]); err != nil || o.Status == space.StatusUnset {
				return -1, err
			}
			outcomes[i] = o
		}
		if r.reaches(o) {
			outcomes, hit = outcomes[:i+1], i
			break
		}
	}
	free := make([]time.Duration, max(1, r.set.Jobs))
	for i := range free {
		free[i] = r.clock
	}
	order, ends := make([]int, len(outcomes)), make([]time.Duration, len(outcomes))
	for i, o := range outcomes {
		first := 0
		for w := range free {
			if free[w] < free[first] {
				first = w
			}
		}
		free[first] += space.Duration(o.Seconds)
		order[i], ends[i] = i, free[first]
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(ends[i], ends[j]) })
	for _, i := range order {
		if b.outcomes[i].Status != space.StatusUnset {
			continue
		}
		if wall := r.set.Budget.Wall; wall > 0 && ends[i] > wall {
			r.clock, r.spent = wall, true
			break // all others end later still
		}
		r.clock = max(r.clock, ends[i])
		if err := r.record(b.trials[i], outcomes[i]); err != nil {
			return -1, err
		}
		b.outcomes[i] = outcomes[i]
	}
	if hit < 0 || (&batch{outcomes: b.outcomes[:hit+1]}).unknown() {
		return -1, nil
	}
	return hit, nil
}

// trial evaluates one trial and records its outcome. The outcome is unset where the context ended first.
func (r *run) trial(ctx context.Context, ev Evaluator, t space.Trial) (space.Outcome, error) {
	began := r.set.Now()
	o, err := r.outcome(ctx, ev, t)
	if err != nil || o.Status == space.StatusUnset {
		return o, err
	}
	if o.Seconds == 0 {
		o.Seconds = r.set.Now().Sub(began).Seconds()
	}
	return o, r.record(t, o)
}

// outcome evaluates one trial. The outcome is unset where the context ended first.
func (r *run) outcome(ctx context.Context, ev Evaluator, t space.Trial) (space.Outcome, error) {
	o, err := ev.Evaluate(ctx, t)
	if ctx.Err() != nil && (err != nil || o.Status != space.OK) {
		// The end of the context alone may have caused the failure, and a recorded failure would stay for ever.
		return space.Outcome{}, nil
	}
	if err != nil {
		return o, err
	}
	o.Fidelity = t.Fidelity
	if err := o.Validate(); err != nil {
		o = space.Fail(space.Crashed, "the outcome cannot be used: %v", err)
		o.Fidelity = t.Fidelity
	}
	o.Reason = clip(o.Reason)
	return o, nil
}

// record records an outcome, and updates the result.
func (r *run) record(t space.Trial, o space.Outcome) error {
	if r.set.Recorder != nil {
		e := space.Entry{Number: t.Number, Key: t.Point.Key(), Outcome: o, Elapsed: r.elapsed().Seconds()}
		if err := r.set.Recorder.Record(e); err != nil {
			return fmt.Errorf("search: recording trial %d: %w", t.Number, err)
		}
	}
	r.learn(t, o)
	return nil
}

// clip limits the length of a reason and makes it safe to print: a candidate may put anything into it, and the journal keeps it.
func clip(reason string) string {
	const most = 2000
	if len(reason) > most {
		reason = reason[:most] + "…"
	}
	return plain.Line(reason)
}

// guarded turns a panic of an evaluator into an outcome of its candidate.
type guarded struct {
	Evaluator
	// exited is called where an evaluation ends its goroutine, as runtime.Goexit does. The goroutine ends after that. nil does nothing.
	exited func()
}

func (g guarded) Evaluate(ctx context.Context, t space.Trial) (o space.Outcome, err error) {
	returned := false
	defer func() {
		if !returned && g.exited != nil {
			g.exited()
		}
	}()
	err = guard.Call(func() error {
		o, err = g.Evaluator.Evaluate(ctx, t)
		return err
	})
	returned = true
	if p, ok := errors.AsType[*guard.Panic](err); ok {
		return space.Fail(space.Crashed, "panic: %v at %s", p.Value, p.Line), nil
	}
	return o, err
}

// gone is the evaluator of a trial whose evaluation ended its goroutine.
type gone struct{ took time.Duration }

func (g gone) Evaluate(context.Context, space.Trial) (space.Outcome, error) {
	o := space.Fail(space.Crashed, "%v", guard.ErrExited)
	o.Seconds = g.took.Seconds()
	return o, nil
}

// learn updates the incumbent and tells the observer.
func (r *run) learn(t space.Trial, o space.Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.result.Told++
	if o.Status == space.OK {
		r.result.Valid++
	}
	if r.result.Best.offer(t, o) {
		r.reserve()
	}
	if r.set.Observe != nil {
		r.set.Observe(Event{Trial: t, Outcome: o, Best: r.result.Best, Known: r.result.Told, Valid: r.result.Valid, Elapsed: r.elapsed()})
	}
}

// offer makes a trial the incumbent where it is better, or equal and asked earlier, and reports whether it did.
func (b *Best) offer(t space.Trial, o space.Outcome) bool {
	if !o.Counts() {
		return false
	}
	offered, held := space.Entry{Number: t.Number, Outcome: o}, space.Entry{Number: b.Trial.Number, Outcome: b.Outcome}
	if b.Outcome.Status == space.StatusUnset || (space.Objective{}).Compare(offered, held) < 0 {
		*b = Best{t, o}
		return true
	}
	return false
}

// endAt drops the outcomes after the one that reached the target: how many of them there are depends on the number of workers.
func (r *run) endAt(b *batch, hit int) {
	late, lateValid := 0, 0
	for _, o := range b.outcomes[hit+1:] {
		if o.Status != space.StatusUnset {
			late++
			if o.Status == space.OK {
				lateValid++
			}
		}
	}
	r.result.Told -= late
	r.result.Valid -= lateValid
	// No earlier trial reached the target, so the one that did is the best of those that count.
	r.result.Best = Best{b.trials[hit], b.outcomes[hit]}
}
