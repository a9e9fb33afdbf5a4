package treehash

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"

	"tune/kernels"
	"tune/kernels/treehash/tree"
	"tune/sim"
	"tune/space"
)

// checker runs the programs of one problem. It is safe for concurrent use.
type checker struct {
	shape   tree.Shape
	indices bool // the indices are examined, not only the values
	limit   int  // of cycles
	inputs  *tree.Inputs
	runners sync.Pool // of *runner
}

// runner is the reusable state of a run.
type runner struct {
	machine sim.Machine
	mem     []uint32
}

func newChecker(s tree.Shape, indices bool) *checker {
	// The baseline takes 36 cycles for an item and round, and a few for the header and constants. A program that takes four times
	// as long is stuck.
	const slack = 4
	return &checker{
		shape:   s,
		indices: indices,
		limit:   slack * (36*s.Rounds*s.Batch + s.Batch + 40),
		inputs:  tree.NewInputs(s),
		runners: sync.Pool{New: func() any { return &runner{mem: make([]uint32, s.Words())} }},
	}
}

// run executes a program on the inputs of a seed and returns its cycles. It returns a *kernels.Rejection
// where the program faults, does not end, or ends in a wrong state.
func (c *checker) run(code *sim.Code, seed uint64) (int, error) {
	in := c.inputs.Get(seed)
	r := c.runners.Get().(*runner)
	defer c.runners.Put(r)
	copy(r.mem, in.Image)
	res, err := r.machine.Run(code, r.mem, sim.Limits{Cycles: c.limit})
	if err != nil {
		if f, ok := errors.AsType[*sim.Fault](err); ok && f.Cycle >= c.limit {
			return 0, kernels.Reject(space.Timeout, "does not end within %d cycles", c.limit)
		}
		return 0, kernels.Reject(space.Crashed, "%v", err)
	}
	if err := compare("value", r.mem[c.shape.ValueAddr():], in.Values); err != nil {
		return 0, err
	}
	if c.indices {
		if err := compare("index", r.mem[c.shape.IndexAddr():], in.Indices); err != nil {
			return 0, err
		}
	}
	return res.Cycles, nil
}

// compare rejects a result that does not begin with the words wanted.
func compare(what string, got, want []uint32) error {
	for i, w := range want {
		if got[i] != w {
			return kernels.Reject(space.WrongAnswer, "%s of item %d is %d, want %d", what, i, got[i], w)
		}
	}
	return nil
}

// candidate is one program. It belongs to one goroutine at a time.
type candidate struct {
	checker *checker
	program *sim.Program
	foreign bool      // not from a generator of ours
	code    *sim.Code // nil until the first check
	cycles  int       // of the first check that passed; 0 before it
}

// Check runs the program with pauses off and compares the outputs with the reference. Its cycles must not depend on the inputs,
// because one score stands for all of them.
func (c *candidate) Check(ctx context.Context, seed uint64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if c.code == nil {
		code, err := sim.Decode(c.program)
		if err != nil {
			return kernels.Reject(space.Crashed, "%v", err)
		}
		c.code = code
	}
	cycles, err := c.checker.run(c.code, seed)
	if err != nil {
		return err
	}
	if c.cycles == 0 && c.foreign {
		if err := c.checker.doubleWrites(c.program, seed); err != nil {
			return err
		}
	}
	if c.cycles != 0 && cycles != c.cycles {
		return kernels.Reject(space.WrongAnswer, "takes %d cycles on the inputs of seed %d, and took %d on others", cycles, seed, c.cycles)
	}
	c.cycles = cycles
	return nil
}

// doubleWrites rejects a program in which two slots of a bundle write the same word, even where the answer is right, because the
// specification of the machine forbids relying on the order of these writes. The check takes several times as long as a run, so
// that it is used only for loaded programs; tests cover those of our generators.
func (c *checker) doubleWrites(p *sim.Program, seed uint64) error {
	warnings, err := sim.LintRun(p, c.inputs.Get(seed).Image, sim.Limits{Cycles: c.limit})
	if err != nil {
		return kernels.Reject(space.Crashed, "%v", err)
	}
	for _, w := range slices.Concat(sim.Lint(p), warnings) {
		// The other warnings are about reads of scratch that is still 0, which the machine guarantees.
		if strings.HasPrefix(w.Reason, "writes ") {
			return kernels.Reject(space.WrongAnswer, "%v", w)
		}
	}
	return nil
}

// The metrics of a full score beside those that have the name of an engine.
const (
	metricFloor = "floor" // the minimum of cycles that the busiest engine needs
	metricSlots = "slots" // executed on all engines
)

// metricNames returns the names of the metrics of a full score, in order.
func metricNames() []string {
	names := []string{metricFloor, metricSlots}
	for e := range sim.Debug {
		names = append(names, e.String())
	}
	slices.Sort(names)
	return names
}

// Score returns the cycles of a program that has passed a check, which are exact at every fidelity. The metrics are the slots
// that it executed on each engine, slots, their sum, and floor, the minimum of cycles that the busiest engine needs for them. At
// the cheapest fidelity that minimum is called bound, because a search looks for that name.
func (c *candidate) Score(ctx context.Context, fidelity int) (kernels.Score, error) {
	if err := ctx.Err(); err != nil {
		return kernels.Score{}, err
	}
	if c.cycles == 0 {
		return kernels.Score{}, errors.New("treehash: a program is scored before it passed a check")
	}
	var visits []int
	if !c.program.StraightLine() {
		var err error
		if visits, err = c.checker.profile(c.code); err != nil {
			return kernels.Score{}, err
		}
	}
	slots := sim.Utilisation(c.program, visits).Slots
	floor, all := 0, 0
	var metrics []space.Metric
	for e := range sim.Debug {
		metrics = append(metrics, space.Metric{Name: e.String(), Value: float64(slots[e])})
		floor = max(floor, (slots[e]+sim.SlotLimit[e]-1)/sim.SlotLimit[e])
		all += slots[e]
	}
	name := metricFloor
	if fidelity >= bounded {
		name = space.MetricBound
	}
	metrics = append(metrics, space.Metric{Name: name, Value: float64(floor)}, space.Metric{Name: metricSlots, Value: float64(all)})
	slices.SortFunc(metrics, func(a, b space.Metric) int { return strings.Compare(a.Name, b.Name) })
	return kernels.Score{Cost: float64(c.cycles), Metrics: metrics}, nil
}

// profile counts the executions of each bundle of a program with jumps.
func (c *checker) profile(code *sim.Code) ([]int, error) {
	r := c.runners.Get().(*runner)
	defer c.runners.Put(r)
	copy(r.mem, c.inputs.Get(traceSeed).Image)
	_, visits, err := r.machine.Profile(code, r.mem, sim.Limits{Cycles: c.limit})
	if err != nil {
		return nil, kernels.Reject(space.Crashed, "%v", err)
	}
	return visits, nil
}

// traceSeed draws the inputs of profiles and traces.
const traceSeed = 0

// traceCycles limits the length of a trace. Longer ones are hard on the viewers.
const traceCycles = 1 << 12

// Abilities returns none.
func (*candidate) Abilities() kernels.Abilities { return kernels.Abilities{} }

// Artifacts are the program in the exchange format and a trace for a browser.
func (c *candidate) Artifacts() ([]kernels.Artifact, error) {
	return []kernels.Artifact{
		{Name: "program.json", Write: c.program.Write},
		{Name: "trace.json", Derived: true, Write: func(w io.Writer) error {
			return sim.WriteTrace(w, c.program, sim.TraceOptions{Mem: c.checker.inputs.Get(traceSeed).Image, Cycles: traceCycles})
		}},
	}, nil
}
