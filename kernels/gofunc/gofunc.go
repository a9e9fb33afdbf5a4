package gofunc

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/metrics"
	"sync"
	"time"

	"tune/internal/guard"
	"tune/internal/pattern"
	"tune/kernels"
	"tune/kernels/native/timing"
	"tune/space"
)

// Function is a Go function with choices.
type Function struct {
	Name    string       // letters, digits, - _ and .
	Version string       // changes whenever the function does; "" means 1
	Space   *space.Space // the choices; the default point is the baseline
	// Make returns the function that is timed, for a point. What it does itself is not timed. It must be set.
	Make func(p space.Point) func()
	// Inputs fills the inputs of the function by a seed, and clears what an earlier call left in its outputs; it is not timed. nil
	// means that they are the same in each check.
	Inputs func(seed uint64)
	// Reset comes before each call, for a function that changes its inputs; it is not timed. Each call is then timed alone, which is
	// exact to about 0.1 µs. nil means that nothing is needed.
	Reset func()
	// Check returns what is wrong with the results of the last call. nil means that no result is checked.
	Check func() error
}

var namePattern = pattern.Lazy(`^[A-Za-z0-9_.-]+$`)

// Validate reports a function that cannot be tuned.
func (f Function) Validate() error {
	switch {
	case !namePattern().MatchString(f.Name):
		return fmt.Errorf("field Name is %q: want letters, digits and . - _", f.Name)
	case kernels.BuiltIn(f.Name):
		return fmt.Errorf("field Name is %q, the name of a kernel that comes with tune: choose another", f.Name)
	case f.Space == nil:
		return errors.New("field Space is not set")
	case f.Make == nil:
		return errors.New("field Make is not set: it returns the function to time for a point")
	}
	return nil
}

// Space returns the points of a function. The error names the field of tune.Function that is wrong.
func Space(name string, parameters []space.Parameter, constraints []string) (*space.Space, error) {
	if len(parameters) == 0 {
		return nil, errors.New("field Parameters is empty: list what may vary")
	}
	s, err := space.Document{Name: name, Parameters: parameters, Constraints: constraints}.Written()
	if err != nil {
		field := "Constraints"
		if _, err := space.New(name, parameters); err != nil {
			field = "Parameters"
		}
		return nil, fmt.Errorf("field %s: %w", field, errors.Unwrap(err)) // without the name of the space, which is that of the function
	}
	return s, nil
}

// New returns the kernel of a function. It has no shape.
func New(f Function) (kernels.Kernel, error) {
	if err := f.Validate(); err != nil {
		return nil, err
	}
	return kernel{f}, nil
}

type kernel struct{ f Function }

// Info describes the kernel.
func (k kernel) Info() kernels.Info {
	version := k.f.Version
	if version == "" {
		version = "1"
	}
	return kernels.Info{Name: k.f.Name, Doc: "a Go function", Version: version, Unit: "ns", Function: true}
}

// Problem returns the only problem of the kernel.
func (k kernel) Problem(kernels.Shape) (kernels.Problem, error) { return &problem{f: k.f}, nil }

type problem struct {
	f Function

	turn sync.Mutex // held while the function runs: all points may share its inputs
	best float64    // seconds a call of the best point so far; 0 for none

	swept []byte // see sweep
}

// Space returns the points.
func (p *problem) Space() *space.Space { return p.f.Space }

// Presets returns the baseline: the default of every parameter.
func (p *problem) Presets() []kernels.Preset {
	return []kernels.Preset{{Name: "baseline", Doc: "the default of every parameter", Point: p.f.Space.Default()}}
}

// Traits says what checks show, and that points are compared side by side.
func (p *problem) Traits() kernels.Traits {
	t := kernels.Traits{Compare: p.compare}
	switch {
	case p.f.Check == nil:
		t.Checking = kernels.NotChecked
	case p.f.Inputs == nil:
		t.Checking = kernels.FixedInput
	}
	return t
}

// Build returns the candidate of a point. Its function is made for each check, when the inputs are there.
func (p *problem) Build(ctx context.Context, point space.Point) (kernels.Candidate, error) {
	return &candidate{p: p, point: point}, ctx.Err()
}

type candidate struct {
	p         *problem
	point     space.Point
	call      func()
	calls     int     // of a sample; 0 before the first measurement
	perCall   float64 // roughly how many seconds a call takes
	allocates bool    // whether calls leave garbage
	live      bool    // whether it is right after Inputs alone, without being made anew; see keeps
	afresh    bool    // whether Inputs comes before each timed call; see saves
	seed      uint64  // of the inputs of the last of these calls, and of all where it is not live
}

// Check runs the function once on the inputs of a seed.
func (c *candidate) Check(ctx context.Context, seed uint64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c.p.turn.Lock()
	defer c.p.turn.Unlock()
	return guarded(func() error {
		c.p.inputs(seed)
		if err := c.make(); err != nil {
			return err
		}
		return c.checkCall("")
	})
}

// Score returns the time of a call. It checks the results of more calls after that, because a function may be right once only, or do its work
// in some calls alone.
func (c *candidate) Score(ctx context.Context, _ int) (score kernels.Score, err error) {
	c.p.turn.Lock()
	defer c.p.turn.Unlock()
	err = guarded(func() (err error) {
		score, err = c.score(ctx)
		return err
	})
	return score, err
}

// score is Score, by one goroutine at a time.
func (c *candidate) score(ctx context.Context) (kernels.Score, error) {
	if c.call == nil {
		c.p.inputs(0)
		if err := c.make(); err != nil {
			return kernels.Score{}, err
		}
	}
	if err := ctx.Err(); err != nil { // the call of the check may have taken all of the time
		return kernels.Score{}, err
	}
	runtime.GC()
	c.calibrate()
	if err := c.keeps(ctx, 0); err != nil {
		return kernels.Score{}, err
	}
	sampling := timing.Sampling{Want: timing.Samples(c.perCall), Best: c.p.best, Long: c.perCall >= longCall}
	sum, _, err := sampling.Run(func(n int) (samples []float64, err error) {
		for range n {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			samples = append(samples, c.sample())
		}
		return samples, nil
	})
	if err == nil {
		err = c.checkCall(late)
	}
	var saved float64
	if err == nil {
		saved, err = c.saves(ctx, 0)
	}
	if err == nil {
		err = c.checkLate(ctx, 0)
	}
	if err != nil {
		return kernels.Score{}, err
	}
	if sum.Kept == 0 {
		return kernels.Score{}, kernels.Reject(space.Invalid, "a call takes no time that can be measured: let the function do its work several times")
	}
	sum.Cost += saved
	if c.p.best == 0 || sum.Cost < c.p.best {
		c.p.best = sum.Cost
	}
	return kernels.Score{Cost: sum.Cost * nanoseconds, Metrics: sampleMetrics(sum)}, nil
}

const nanoseconds = 1e9

func sampleMetrics(s timing.Summary) []space.Metric {
	return []space.Metric{{Name: space.MetricSamples, Value: float64(s.Kept)}, {Name: space.MetricSpread, Value: s.Spread}}
}

// Abilities returns none.
func (*candidate) Abilities() kernels.Abilities { return kernels.Abilities{} }

// Artifacts returns the values of the point.
func (c *candidate) Artifacts() ([]kernels.Artifact, error) {
	return []kernels.Artifact{{Name: "values.json", Write: kernels.WriteJSON(c.point)}}, nil
}

// inputs fills the inputs.
func (p *problem) inputs(seed uint64) {
	if p.f.Inputs != nil {
		p.f.Inputs(seed)
	}
}

// make makes the function of the point.
func (c *candidate) make() error {
	if c.call = c.p.f.Make(c.point); c.call == nil {
		return kernels.Reject(space.Invalid, "Make returned no function")
	}
	return nil
}

// checkCall calls the function and checks its results. The reason of a rejection begins with when.
func (c *candidate) checkCall(when string) error {
	c.time(1)
	if c.p.f.Check == nil {
		return nil
	}
	if err := c.p.f.Check(); err != nil {
		return kernels.Reject(space.WrongAnswer, "%s%v", when, err)
	}
	return nil
}

// time returns how many seconds some calls take that are timed.
func (c *candidate) time(calls int) float64 {
	if !c.afresh {
		return c.run(calls)
	}
	took := 0.0
	for range calls {
		if c.live {
			c.seed++
		}
		c.p.inputs(c.seed)
		took += c.run(1)
	}
	return took
}

// run returns how many seconds some calls take in a row.
func (c *candidate) run(calls int) float64 {
	if c.p.f.Reset == nil {
		began := time.Now()
		for range calls {
			c.call()
		}
		return time.Since(began).Seconds()
	}
	var took time.Duration
	for range calls {
		c.p.f.Reset()
		began := time.Now()
		c.call()
		took += time.Since(began)
	}
	return took.Seconds()
}

const (
	// sampleSeconds is how long a sample is at least: long enough for the clock, and for the garbage of its calls to be collected
	// within it.
	sampleSeconds = 2 * timing.SampleSeconds
	// longCall is the length of a call from which on one sample is reliable and expensive.
	longCall = 20 * timing.SampleSeconds
)

// calibrate finds out how many calls make a sample, in steps as package testing does, and whether they leave garbage.
func (c *candidate) calibrate() {
	before := allocated()
	calls, all := 1, 0
	for {
		took := c.time(calls)
		all += calls
		c.perCall = took / float64(calls)
		if took >= sampleSeconds/2 || calls >= 1<<24 {
			break
		}
		calls = min(timing.Calls(c.perCall, sampleSeconds), 100*calls)
	}
	c.calls = timing.Calls(c.perCall, sampleSeconds)
	c.allocates = float64(allocated()-before) > float64(all)/2
}

// allocated returns how many objects the program has allocated so far.
func allocated() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:objects"}}
	metrics.Read(s)
	if s[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return s[0].Value.Uint64()
}

// sample returns the seconds of a call in one sample. It begins without garbage, which its own calls must not pay for.
func (c *candidate) sample() float64 {
	if c.allocates {
		runtime.GC()
	}
	return c.time(c.calls) / float64(c.calls)
}

// guarded calls f in a goroutine of its own. It turns a panic into a rejection that says where it was, and the end of that goroutine
// into one too.
func guarded(f func() error) error {
	err := guard.Apart(f)
	if p, ok := errors.AsType[*guard.Panic](err); ok {
		return kernels.Reject(space.Crashed, "%v", p)
	}
	if errors.Is(err, guard.ErrExited) {
		return kernels.Reject(space.Crashed, "%v", err)
	}
	return err
}
