package native

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"tune/kernels"
	"tune/kernels/native/timing"
	"tune/kernels/native/worker"
	"tune/space"
)

// entrant is a candidate in a comparison, with its own worker.
type entrant struct {
	c *candidate
	w runner
	m *meter
	o worker.Options // of its worker
	// known is the meter of its last worker, which knows how long a call takes.
	known *meter
	// perCall is roughly how many seconds a call takes; it outlives the worker.
	perCall float64
	// from is the first round that its worker takes part in.
	from int
	// Of its workers, so many have ended, and in so many its blind calls took long, for which others may be the reason.
	ended, doubted int
}

func (e *entrant) slow() bool { return e.perCall >= timing.Slow }

// Compare measures finalists in turns with the baseline, each in a fresh worker. In a confirming series each round has new
// workers. Where one of them has several threads, all are timed by wall clock, so that each ratio is of one clock. Where one of them
// reuses the results of earlier calls, all are timed apart: each call has new inputs. Where one of them is uneven, the samples of all are
// levelled.
func (p *Problem) Compare(ctx context.Context, baseline kernels.Candidate, finalists []kernels.Candidate, series kernels.Series) (kernels.Final, error) {
	began := time.Now()
	candidates, err := timing.Candidates[*candidate](baseline, finalists)
	if err != nil {
		return kernels.Final{}, fmt.Errorf("native: %w", err)
	}
	limit := series.Limit
	for {
		var how manner
		for _, c := range candidates {
			how = how.and(c.noted())
		}
		final, err := p.compare(ctx, candidates, series, how)
		if !errors.Is(err, errManner) {
			return final, err
		}
		series.Limit = max(limit-time.Since(began), limit/2)
	}
}

// errManner ends a comparison in which an entrant is found to reuse the results of earlier calls, or to be uneven. That is noted for its
// point, so that Compare begins again, and times all entrants in the same manner. There are two such findings at most.
var errManner = errors.New("an entrant reuses results, or is uneven")

// compare holds one comparison.
func (p *Problem) compare(ctx context.Context, candidates []*candidate, series kernels.Series, how manner) (kernels.Final, error) {
	r := newRounds(p, candidates, series)
	r.manner, r.Mean = how, how.level
	if r.reactions = new(reactions); candidates[0].isBaseline() {
		r.reactions = &candidates[0].problem.baseline // with what the search has seen
	}
	for i, c := range candidates {
		r.threaded = r.threaded || c.threads() > 1
		err := c.compile(ctx)
		if err == nil {
			err = c.makeVariants(ctx)
		}
		if err != nil {
			if i == 0 || !kernelFault(err) {
				return kernels.Final{}, err
			}
			r.Reject(i, err)
		}
	}
	probe, err := p.host.probe(ctx)
	if err != nil {
		return kernels.Final{}, err
	}
	if series.Peak {
		if r.yardstick, err = p.yardstick(ctx); err != nil {
			return kernels.Final{}, err
		}
	}
	threads := 1
	if r.threaded {
		threads = 2
	}
	err = p.host.timed(ctx, threads, p.limits, func(o worker.Options) error { return r.measure(ctx, o, probe) })
	if err != nil {
		return kernels.Final{}, err
	}
	return r.final(ctx)
}

// measure starts the workers, measures all rounds, and verifies what was measured last.
func (r *rounds) measure(ctx context.Context, o worker.Options, probe string) error {
	defer r.close()
	err := r.open(ctx, o, probe)
	if err == nil {
		err = r.Run(ctx)
	}
	if err == nil {
		err = r.finish(ctx)
	}
	return err
}

// finish verifies what was measured last.
func (r *rounds) finish(ctx context.Context) error {
	for i := range r.entrants {
		if err := r.leave(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// rounds is a comparison in progress. Its parts: timing.Series decides who is measured when and sums up, watch decides which rounds count, and
// this file starts the workers and measures the turns.
type rounds struct {
	timing.Series
	watch
	problem     *Problem
	entrants    []*entrant // the baseline first
	manner                 // of all
	reactions   *reactions // of the baseline
	turnSeconds float64    // seconds of a turn that is cut into bursts

	opened    []runner
	yardstick *yardstick // a loop of only what the problem must do; nil where there is none
	peak      *meter     // of that loop
	peaks     []float64  // seconds a call of that loop, by round
}

func newRounds(p *Problem, candidates []*candidate, series kernels.Series) *rounds {
	r := &rounds{problem: p, watch: watch{strict: series.Peak, before: timing.ReadLoad()}}
	for _, c := range candidates {
		r.entrants = append(r.entrants, &entrant{c: c})
	}
	r.Series = timing.Series{
		Series: series, Few: p.host.hasty, Entrants: len(candidates), Turn: r.turn, Begin: r.begin, End: r.end, Counting: r.counting,
		Slow:    func(i int) bool { return r.entrants[i].slow() },
		Counted: r.counted,
		Floors:  slices.Repeat([]float64{p.work.MinSeconds * nanoseconds}, len(candidates)),
	}
	return r
}

func (r *rounds) close() {
	for _, w := range r.opened {
		w.Close()
	}
	r.opened = nil
}

// start starts a worker, which close ends.
func (r *rounds) start(ctx context.Context, o worker.Options) (runner, error) {
	o.Executable = r.problem.host.options.Executable
	w, err := r.problem.host.start(ctx, o)
	if err == nil {
		r.opened = append(r.opened, w)
	}
	return w, err
}

// open starts the workers of the entrants and of the probes, finds out how long a call of each entrant takes, and plans the turns.
func (r *rounds) open(ctx context.Context, o worker.Options, probe string) error {
	for i, e := range r.entrants {
		e.o = o
		if r.threaded && e.c.threads() == 1 {
			e.o.Core = r.problem.host.timingCore()
		}
		if err := r.enter(ctx, i); err != nil {
			return err
		}
	}
	o.Core = r.problem.host.timingCore()
	w, err := r.start(ctx, o)
	if err != nil {
		return err
	}
	if r.drift, err = newProbe(ctx, w, probe, probeIssue, timing.SampleSeconds); err != nil {
		return err
	}
	if r.yardstick != nil {
		if r.peak, err = probeMeter(ctx, w, r.yardstick.dims(), timing.SampleSeconds); err != nil {
			return fmt.Errorf("the probe of the peak: %w", err)
		}
		r.peak.lengthen(r.entrants[0].m)
	}
	if err := r.recalibrate(ctx); err != nil {
		return err
	}
	r.pace()
	r.plan()
	r.calm = r.idle(ctx)
	return err
}

// recalibrate measures again, in turns, how long a call of each entrant takes. If other work disturbed an entrant when its worker started,
// its calls looked longer than they are. Its samples would then have fewer calls than those of the others, and the first calls of a
// sample, which are slower, would weigh more.
func (r *rounds) recalibrate(ctx context.Context) error {
	if r.Peak {
		return nil
	}
	looks := 3
	if r.brief() || r.Few {
		looks = 1
	}
	least := make([]float64, len(r.entrants))
	for range looks {
		for i, e := range r.entrants {
			if r.Out(i) || e.m.long() {
				continue
			}
			s, err := r.turnOf(ctx, i, e.m.bursts(timing.SampleSeconds))
			if err != nil {
				if i == 0 || !kernelFault(err) {
					return err
				}
				r.Reject(i, err)
				continue
			}
			if s.Fast > 0 && (least[i] == 0 || s.Fast < least[i]) {
				least[i] = s.Fast
			}
		}
	}
	for i, e := range r.entrants {
		if least[i] > 0 && !r.Out(i) {
			e.m.perCall, e.m.ready = least[i], nil
			e.m.calls = min(timing.Calls(least[i], e.m.length), e.m.mostCalls())
			e.perCall = least[i]
		}
	}
	return nil
}

// pace gives entrants that may be equally fast samples of exactly the same number of calls. Otherwise the length of a sample
// would make two equal candidates look different.
func (r *rounds) pace() {
	if r.Peak {
		return
	}
	var paced []*entrant
	var perCall []float64
	for i, e := range r.entrants {
		if !r.Out(i) {
			paced, perCall = append(paced, e), append(perCall, e.perCall)
		}
	}
	for i, least := range paces(perCall) {
		e := paced[i]
		if least < e.perCall {
			e.perCall, e.m.perCall = least, least
			e.m.calls = min(timing.Calls(least, e.m.length), e.m.mostCalls())
		}
	}
}

// paces returns for each time the least of the times that it may be equal to, within what a slow core explains.
func paces(times []float64) []float64 {
	// While somebody else works on the other hardware thread of the core, calls take up to 1.5 times as long, for seconds.
	const about = 1.6
	order := make([]int, len(times))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(times[i], times[j]) })
	out := slices.Clone(times)
	least := math.Inf(-1)
	for _, i := range order {
		if times[i] > about*least {
			least = times[i]
		}
		out[i] = least
	}
	return out
}

// plan decides how many turns an entrant has in a round, and how long they are. Short turns expose all entrants to the same
// bursts of other work on the core. But long calls are expensive, threads need time to settle after each turn, and what is
// compared with the peak is measured without a break.
func (r *rounds) plan() {
	apart := !r.threaded && !r.Peak
	for i, e := range r.entrants {
		apart = apart && (r.Out(i) || !e.m.long())
	}
	r.turnSeconds = shortTurn * timing.SampleSeconds
	switch {
	case apart && r.Few:
		r.Turns, r.turnSeconds = 2, timing.SampleSeconds
	case apart && r.Confirm:
		r.Turns, r.turnSeconds = confirmTurns, timing.SampleSeconds
	case apart:
		r.Turns, r.turnSeconds = shortTurn, timing.SampleSeconds
	case r.Confirm:
		r.Turns = 2
	}
	if r.brief() {
		r.Turns = 1
	}
}

// confirmTurns is how many turns of SampleSeconds an entrant has in a round of a confirming series.
const confirmTurns = 8

// brief reports whether the limit of a confirming series is too short for even one round. There will be no interval then, so one turn of each
// entrant is enough.
func (r *rounds) brief() bool {
	return r.Confirm && r.Sure == nil && r.Limit < timing.Seconds(float64(confirmTurns*len(r.entrants))*timing.SampleSeconds)
}

// enter starts the worker of an entrant, and finds out how long its calls take. It rejects a finalist that is at fault. An error ends the
// comparison: it is tune's own, or the baseline's.
func (r *rounds) enter(ctx context.Context, i int) error {
	e := r.entrants[i]
	if r.Out(i) {
		return nil
	}
	m, err := r.meterOf(ctx, e)
	if i == 0 && clocksDisagree(err) {
		r.dismiss(e)
		m, err = r.meterOf(ctx, e)
	}
	if err != nil {
		if i == 0 || !kernelFault(err) {
			return err
		}
		r.Reject(i, err)
		return nil
	}
	if r.threaded && m.threads == 1 {
		m.threads = 2 // timed by the same clock as the others
		m.ready = nil
	}
	e.m, e.perCall, e.from = m, m.perCall, len(r.Costs(i))
	return nil
}

// meterOf starts the worker of an entrant, and returns a meter of the entrant in it.
func (r *rounds) meterOf(ctx context.Context, e *entrant) (m *meter, err error) {
	if e.w, err = r.start(ctx, e.o); err != nil {
		return nil, err
	}
	length := timing.BurstSeconds
	if r.Peak {
		length = timing.SampleSeconds
	}
	begin := func(ctx context.Context, again bool) beginning { return r.problem.host.blindBegin(ctx, e.o, again) }
	m, err = e.c.newMeter(ctx, e.w, metering{
		length: length, manner: r.manner, known: e.known, against: r.reactions, isBaseline: e == r.entrants[0], blindBegin: begin,
	})
	if err == nil {
		m.strict = true
	}
	return m, err
}

// dismiss ends the worker of an entrant.
func (r *rounds) dismiss(e *entrant) {
	r.opened = slices.DeleteFunc(r.opened, func(w runner) bool { return w == e.w })
	e.w.Close()
	e.w, e.m = nil, nil
}

// clocksDisagree reports whether an error is a rejection as invalid: the clocks contradict each other. Other work on the machine can cause
// that too, so it does not end a comparison at once. The baseline is measured once more, in a fresh worker.
func clocksDisagree(err error) bool {
	r := kernels.AsRejection(err)
	return r != nil && r.Status == space.Invalid
}

// leave verifies timed calls of an entrant, and ends its worker. It rejects a finalist that is wrong; a wrong baseline is an error.
func (r *rounds) leave(ctx context.Context, i int) error {
	e := r.entrants[i]
	if e.w == nil || r.Failed(i) {
		return nil
	}
	if len(e.m.turns) > 0 {
		e.m.said = timing.Median(e.m.turns)
	}
	if err := e.m.verifyTimed(ctx, false); err != nil {
		if i == 0 {
			return fmt.Errorf("the baseline: %w", err)
		}
		if !kernelFault(err) {
			return err
		}
		r.Reject(i, err)
	}
	charge(r.Costs(i), e.from, e.m.charged)
	if e.ended++; e.m.doubted {
		e.doubted++
	}
	e.known = &meter{perCall: e.m.perCall, calls: e.m.calls, wholes: e.m.wholes, manner: e.m.manner}
	r.dismiss(e)
	return nil
}

// charge raises the costs of an entrant, from the first round of a process on, to what blind calls have shown that it takes, in seconds a call. The fastest turn of
// a round counts, and a candidate may be honest in all others.
func charge(costs []float64, from int, seconds float64) {
	for k := from; k < len(costs); k++ {
		if costs[k] > 0 {
			costs[k] = max(costs[k], seconds*nanoseconds)
		}
	}
}

// renew gives each entrant a new worker in a confirming series. Otherwise the luck of one process's memory layout would affect
// all of its pairs.
func (r *rounds) renew(ctx context.Context) error {
	for i := range r.entrants {
		if i == 0 && r.Once() {
			continue
		}
		if r.Backward() {
			i = len(r.entrants) - 1 - i
		}
		if err := r.leave(ctx, i); err != nil {
			return err
		}
		if err := r.enter(ctx, i); err != nil {
			return err
		}
		if e := r.entrants[i]; e.m != nil && !e.m.long() {
			e.m.ready = nil // another entrant has started since
		}
	}
	return nil
}

// turn measures an entrant once, and returns its cost in nanoseconds.
func (r *rounds) turn(ctx context.Context, i int) (float64, error) {
	m := r.entrants[i].m
	n := m.turnSamples()
	if !r.Peak {
		n = m.bursts(r.turnSeconds)
	}
	s, err := r.turnOf(ctx, i, n)
	if r.Peak {
		return s.Cost * nanoseconds, err
	}
	return s.Fast * nanoseconds, err
}

// turnOf measures an entrant once, by n samples. It ends the comparison with errManner where the entrant has to be timed in another manner. A
// baseline whose clocks disagree is measured once more.
func (r *rounds) turnOf(ctx context.Context, i, n int) (timing.Summary, error) {
	s, err := r.entrants[i].m.turnOf(ctx, n)
	if err == nil && r.entrants[i].m.exceeds(r.manner) {
		err = errManner
	}
	if err == nil && s.Fast > 0 {
		r.entrants[i].m.turns = append(r.entrants[i].m.turns, s.Fast)
	}
	if i > 0 || !clocksDisagree(err) {
		return s, err
	}
	if err := r.leave(ctx, i); err != nil {
		return s, err
	}
	if err := r.enter(ctx, i); err != nil {
		return s, err
	}
	return r.entrants[i].m.turnOf(ctx, n)
}

// nanoseconds in a second.
const nanoseconds = 1e9

// begin is called before a round. It starts new workers in a confirming series, and looks at the machine. Where the baseline has the first
// turn, it measures the yardstick.
func (r *rounds) begin(ctx context.Context, round int) error {
	if r.Confirm && round > 0 {
		if err := r.renew(ctx); err != nil {
			return err
		}
	}
	if err := r.watch.begin(ctx); err != nil {
		return err
	}
	if r.Backward() {
		return nil
	}
	return r.measurePeak(ctx)
}

// end is called after a round. Where the baseline had the last turn, it measures the yardstick; then it looks at the machine.
func (r *rounds) end(ctx context.Context, _ int) error {
	if r.Backward() {
		if err := r.measurePeak(ctx); err != nil {
			return err
		}
	}
	r.watch.end(ctx)
	if r.Sure == nil {
		return nil
	}
	// Whether the pairs are enough is decided by what the entrants are charged.
	for i := range r.entrants {
		if i == 0 && r.Once() {
			continue
		}
		if err := r.leave(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// measurePeak runs the yardstick, a loop of nothing but what the problem must do, beside the turn of the baseline, which is first in one
// round and last in the next. It runs the loop only once where the baseline is so slow that it has one turn in all.
func (r *rounds) measurePeak(ctx context.Context) error {
	base := r.entrants[0]
	if r.peak == nil || base.slow() && len(r.peaks) > 0 {
		return nil
	}
	took, err := r.peak.turnOf(ctx, base.m.turnSamples())
	if err != nil {
		return errors.Join(ctx.Err(), fmt.Errorf("the probe of the peak: %v", err))
	}
	r.peaks = append(r.peaks, took.Cost)
	return nil
}

// shortTurn is how many samples of SampleSeconds make a turn. Where turns are cut into bursts, a turn is as long, or an entrant has this
// many turns of SampleSeconds in a round: see plan.
const shortTurn = 4

// turnSamples returns how many samples a turn has where it is not cut into bursts.
func (m *meter) turnSamples() int {
	if m.long() {
		return 1
	}
	return shortTurn
}

// turnOf measures the candidate once, by n samples. On a busy machine single samples vary ten times as much as the summary of several.
// Where no sample is plausible the summary has the cost 0.
func (m *meter) turnOf(ctx context.Context, n int) (timing.Summary, error) {
	m.cool()
	s, err := m.sample(ctx, n)
	return timing.Summarise(s, m.floor), err
}

// peakShare returns the baseline's rate over the peak rate of its cores at the same time, as a median over the rounds that count;
// 0 where that is unknown.
func (r *rounds) peakShare() float64 {
	if r.yardstick == nil || r.yardstick.shared && r.entrants[0].c.threads() > 1 {
		return 0
	}
	base := r.Costs(0)
	var shares []float64
	n := min(len(base), len(r.peaks))
	counts, _ := r.counting(n)
	for i := range n {
		if counts(i) && base[i] > 0 && r.peaks[i] > 0 {
			rate := r.yardstick.of / (base[i] / nanoseconds)
			shares = append(shares, rate/(r.yardstick.each/r.peaks[i]*float64(r.entrants[0].c.threads())))
		}
	}
	if len(shares) == 0 {
		return 0
	}
	return timing.Quantile(slices.Sorted(slices.Values(shares)), 0.5)
}

// refuseImpossible rejects finalists with a cost that this machine cannot reach, as Score does. A baseline with such a cost is an error.
func (r *rounds) refuseImpossible(ctx context.Context) error {
	for i, c := range r.Final().Comparisons {
		if c.Err != nil || c.Pairs == 0 {
			continue
		}
		if err := r.entrants[0].c.plausible(ctx, c.Baseline/nanoseconds); err != nil {
			return fmt.Errorf("the baseline: %w", err)
		}
		if err := r.entrants[i+1].c.plausible(ctx, c.Cost/nanoseconds); kernelFault(err) {
			r.Reject(i+1, err)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// final sums up what was measured. It is called when nothing is being timed any more, because it may measure the peak of the machine.
func (r *rounds) final(ctx context.Context) (kernels.Final, error) {
	if err := r.refuseImpossible(ctx); err != nil {
		return kernels.Final{}, err
	}
	f := r.Final()
	for i := range f.Comparisons {
		c := &f.Comparisons[i]
		if c.Err != nil || c.Pairs == 0 {
			continue
		}
		if e := r.entrants[i+1]; 2*e.doubted > e.ended {
			c.Unverified = true
		}
		took := estimate{Summary: timing.Summarise(r.Costs(i+1), r.Floors[i+1]), unverified: c.Unverified}
		took.Cost = c.Cost / nanoseconds
		c.Metrics = r.problem.score(took, r.entrants[i+1].c.threads()).Metrics
	}
	if f.Machine, f.PeakShare = r.state(), r.peakShare(); f.PeakShare > 0 {
		f.PeakOf = r.yardstick.name
	}
	return f, nil
}
