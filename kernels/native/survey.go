package native

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"tune/internal/cpu"
	"tune/kernels"
	"tune/kernels/native/timing"
	"tune/kernels/native/worker"
	"tune/space"
)

// Survey says how Problem.Survey measures.
type Survey struct {
	Seed uint64 // of the inputs of the checks
	// Whole asks for a check on all cases. Otherwise a candidate is checked on the asked shape, and on a few of the other cases, which the seed draws:
	// that is enough for code that was checked on all of them before.
	Whole bool
	// Limit is roughly how long candidates take turns, after the first two of each.
	Limit time.Duration
}

// Surveyed is what a survey found of a candidate: its cost, in the unit of the problem, or why it was refused.
type Surveyed struct {
	Cost float64
	Err  error // a *kernels.Rejection; nil where there is a cost
}

// A survey gives each candidate at least leastTurns turns, and two those that cost more than surveyFar times as much as the fastest. Candidates that
// cost at most surveyClose times as much have up to mostTurns.
const (
	leastTurns  = 4
	mostTurns   = 10
	surveyFar   = 5
	surveyClose = 1.1
	// surveyCases is how many cases a survey checks beside those of the asked shape, where it does not check all.
	surveyCases = 2
)

// Surveys reports whether Survey measures a candidate: one with several threads would be measured by the wall clock, and disturb the others.
func Surveys(c kernels.Candidate) bool {
	one, ok := c.(*candidate)
	return ok && one.threads() <= 1
}

// Survey checks and measures many candidates at the asked shape. They take short turns, so that a slow moment of the machine meets all of them. Each has
// a process of its own, in which no other candidate has run, and stays loaded between its turns. The processes are kept for the next survey of the same
// objects, at whatever shape. A candidate that is found at fault is checked and scored once more by itself, and that result counts.
func (p *Problem) Survey(ctx context.Context, candidates []kernels.Candidate, o Survey) ([]Surveyed, error) {
	s := &survey{Survey: o, problem: p}
	for _, k := range candidates {
		c, ok := k.(*candidate)
		if !ok {
			return nil, fmt.Errorf("native: cannot survey a candidate of type %T", k)
		}
		s.all = append(s.all, &surveyed{c: c})
	}
	if err := s.prepare(ctx); err != nil {
		return nil, err
	}
	for group := range slices.Chunk(s.all, s.fitting()) {
		err := p.host.timed(ctx, 1, p.limits, func(wo worker.Options) error { return s.measure(ctx, wo, group) })
		if err != nil {
			return nil, err
		}
	}
	out := make([]Surveyed, len(s.all))
	for i, e := range s.all {
		var err error
		if out[i], err = e.result(ctx, o.Seed); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// survey is a survey in progress.
type survey struct {
	Survey
	problem *Problem
	all     []*surveyed
	keep    bool // whether workers are kept for the next survey
}

// surveyed is a candidate of a survey.
type surveyed struct {
	c     *candidate
	w     runner
	cases []Case
	m     *meter
	turns []float64 // seconds a call
	fault error     // a rejection
}

// out reports whether the candidate has no more part in the survey.
func (e *surveyed) out() bool { return e.fault != nil }

// least returns the least of its turns, +Inf before the first.
func (e *surveyed) least() float64 {
	if len(e.turns) == 0 {
		return math.Inf(1)
	}
	return slices.Min(e.turns)
}

// agree reports whether two of its turns are nearly as fast as each other, and no other one is faster.
func (e *surveyed) agree() bool {
	const by = 1.05
	sorted := slices.Sorted(slices.Values(e.turns))
	return len(sorted) > 1 && sorted[1] <= by*sorted[0]
}

// prepare compiles the candidates, and makes what they are checked and timed on: while the survey has the machine, nothing is compiled.
func (s *survey) prepare(ctx context.Context) error {
	var g errgroup.Group
	g.SetLimit(len(s.problem.host.cores))
	for _, e := range s.all {
		g.Go(func() error {
			err := e.c.compile(ctx)
			if err == nil {
				err = e.c.makeVariants(ctx)
			}
			if err == nil {
				e.cases, err = s.problem.casesOf(ctx, e.c.point, s.Seed)
			}
			if kernelFault(err) {
				e.fault, err = err, nil
			}
			return err
		})
	}
	if err := g.Wait(); err != nil || s.Whole {
		return err
	}
	for _, e := range s.all {
		e.cases = fewCases(e.cases, s.Seed)
	}
	return nil
}

// fewCases returns the first two cases, which families make of the asked shape, the second with rows that are apart, and a few of the others.
func fewCases(cases []Case, seed uint64) []Case {
	first := min(len(cases), 2)
	out, others := slices.Clone(cases[:first]), slices.Clone(cases[first:])
	r := rand.New(rand.NewPCG(seed, 0))
	r.Shuffle(len(others), func(i, j int) { others[i], others[j] = others[j], others[i] })
	return append(out, others[:min(len(others), surveyCases)]...)
}

// bytes returns how much memory the worker of a candidate takes, roughly: shared buffers and evidence of calls, and the copies that calls are timed on.
func (s *survey) bytes() int {
	bytes, buffers := 0, 0
	for _, e := range s.all {
		if len(e.cases) > 0 {
			for _, b := range e.cases[0].Buffers {
				bytes, buffers = bytes+b.Bytes(), buffers+1
			}
			break
		}
	}
	copies := warmPlaces(bytes, cpu.L2())
	if s.problem.work.Cold {
		copies = coldCopies(bytes, buffers)
	}
	return workerBytes + 3*bytes + copies*copyBytes(bytes, buffers)
}

// workerBytes is how much memory a worker takes without the buffers.
const workerBytes = 48 << 20

// fitting returns how many candidates fit into half of the memory at once. Their workers are kept for the next survey where a quarter of it is enough for
// all of them.
func (s *survey) fitting() int {
	n := int64(max(len(s.all), 1))
	spare, ok := spareMemory()
	if !ok {
		spare = math.MaxInt64
	}
	s.keep = int64(s.bytes()) <= spare/4/n
	return int(min(max(spare/2/int64(s.bytes()), 1), n))
}

// measure surveys some of the candidates. Nothing else is measured meanwhile.
func (s *survey) measure(ctx context.Context, o worker.Options, group []*surveyed) error {
	group = slices.DeleteFunc(slices.Clone(group), (*surveyed).out)
	defer s.leave(o, group)
	for _, e := range group {
		if err := e.do(func() error { return s.enter(ctx, o, e) }); err != nil {
			return err
		}
	}
	began := time.Now()
	for round := range mostTurns {
		late := time.Since(began) > s.Limit
		fastest := math.Inf(1)
		for _, e := range group {
			if !e.out() {
				fastest = min(fastest, e.least())
			}
		}
		for i := range group {
			if round%2 == 1 { // so that nobody always comes after the same one
				i = len(group) - 1 - i
			}
			e := group[i]
			if e.out() || !e.goesOn(round, fastest, late) {
				continue
			}
			if err := e.do(func() error { return e.turn(ctx) }); err != nil {
				return err
			}
		}
	}
	for _, e := range group {
		if e.out() {
			continue
		}
		if err := e.do(func() error { return e.end(ctx) }); err != nil {
			return err
		}
	}
	return nil
}

// goesOn reports whether a candidate takes part in a round, where the fastest one has needed so much, in seconds a call.
func (e *surveyed) goesOn(round int, fastest float64, late bool) bool {
	switch least := e.least(); {
	case round < 1:
		return true
	case e.m.slow(), e.m.perCall >= timing.SampleSeconds && least > surveyFar*fastest:
		return false
	case round < 2:
		return true
	case late || least > surveyFar*fastest:
		return false
	case least <= surveyClose*fastest:
		return true
	}
	return round < leastTurns || round < mostTurns/2+1 && !e.agree()
}

// do calls f and notes a fault of the candidate. Other errors are returned.
func (e *surveyed) do(f func() error) error {
	err := f()
	if kernelFault(err) {
		e.fault, err = err, nil
	}
	return err
}

// enter checks a candidate in its worker, and finds out how long its calls take.
func (s *survey) enter(ctx context.Context, o worker.Options, e *surveyed) (err error) {
	if e.w, err = s.problem.host.seat(ctx, o, e.c.so); err != nil {
		return err
	}
	e.c.seed = s.Seed
	if err := e.c.checkCases(ctx, e.w, e.cases); err != nil {
		return err
	}
	e.m, err = e.c.newMeter(ctx, e.w, metering{length: timing.GlanceSeconds, loaded: true})
	return err
}

// turn measures a candidate once.
func (e *surveyed) turn(ctx context.Context) error {
	before := e.m.manner
	s, err := e.m.turnOf(ctx, e.m.bursts(e.m.turn()))
	if err != nil {
		return err
	}
	if e.m.manner != before { // the other turns were timed in another way
		e.turns = nil
	}
	if s.Fast > 0 {
		e.turns = append(e.turns, s.Fast)
	}
	return nil
}

// end verifies timed calls of a candidate.
func (e *surveyed) end(ctx context.Context) error {
	if len(e.turns) == 0 {
		return kernels.Reject(space.Invalid, "none of its times can be")
	}
	before := e.m.manner
	if err := e.m.settleSuspicion(ctx, e.least()); err != nil {
		return err
	}
	if e.m.manner != before {
		e.turns = nil
		if err := e.turn(ctx); err != nil {
			return err
		}
	}
	if err := e.m.revisit(ctx); err != nil {
		return err
	}
	return e.m.verifyTimed(ctx, false)
}

// leave unloads the candidates, and ends or keeps their workers.
func (s *survey) leave(o worker.Options, group []*surveyed) {
	for _, e := range group {
		if e.w == nil {
			continue
		}
		if s.keep && !e.out() && e.m != nil {
			e.w.Unload()
			s.problem.host.unseat(o, e.c.so, e.w)
		} else {
			e.w.Close()
		}
		e.w = nil
	}
}

// result returns the cost of a candidate. One that was found at fault is measured again by itself.
func (e *surveyed) result(ctx context.Context, seed uint64) (Surveyed, error) {
	out := Surveyed{Cost: e.least() * nanoseconds}
	switch {
	case e.out():
		e.c.isolate()
		err := e.c.Check(ctx, seed)
		var score kernels.Score
		if err == nil {
			score, err = e.c.Score(ctx, 0)
		}
		e.c.alone = false
		out.Cost, e.fault = score.Cost, err
	default:
		if e.c.noted().apart {
			out.Cost *= e.c.problem.baseline.get().apartFactor()
		}
		e.fault = e.c.plausible(ctx, out.Cost/nanoseconds)
	}
	if e.fault != nil && !kernelFault(e.fault) {
		return Surveyed{}, e.fault
	}
	if e.fault != nil {
		return Surveyed{Err: e.fault}, nil
	}
	return out, nil
}

// seat is a worker in whose process one object has run, and no other one.
type seat struct {
	so string
	o  worker.Options
	w  runner
}

// mostSeats is how many workers are kept for surveys.
const mostSeats = 24

// seat returns the worker that is kept for an object, or another one, whose process the object has for itself.
func (h *Host) seat(ctx context.Context, o worker.Options, so string) (runner, error) {
	h.mu.Lock()
	i := slices.IndexFunc(h.seats, func(s seat) bool { return s.so == so && s.o == o })
	var w runner
	if i >= 0 {
		w = h.seats[i].w
		h.seats = slices.Delete(h.seats, i, i+1)
	}
	h.mu.Unlock()
	if w != nil {
		w.Renew(so)
		return w, nil
	}
	o.Executable = h.options.Executable
	return h.start(context.WithoutCancel(ctx), o) // the worker outlives the call that starts it
}

// unseat keeps a worker. It ends the one that was used longest ago where there are too many.
func (h *Host) unseat(o worker.Options, so string, w runner) {
	h.mu.Lock()
	h.seats = append(h.seats, seat{so, o, w})
	var old []seat
	if n := len(h.seats) - mostSeats; h.done {
		old, h.seats = h.seats, nil
	} else if n > 0 {
		old, h.seats = slices.Clone(h.seats[:n]), slices.Delete(h.seats, 0, n)
	}
	h.mu.Unlock()
	for _, s := range old {
		s.w.Close()
	}
}
