package treehash

import (
	"io"

	"tune/kernels/treehash/tree"
	"tune/sim"
)

// Examination is the result of running a program on one tree.
type Examination struct {
	Result sim.Result
	Usage  sim.Usage
	Bound  sim.Bound
	// Values and Indices name the first wrong item; nil where all are right.
	Values, Indices error
	// Warnings are things that the machine executes but a generator probably did not intend.
	Warnings []sim.Warning
}

// Examine runs a program from any source on the tree of a seed, with pauses off. The error is a *sim.Fault.
func Examine(p *sim.Program, s tree.Shape, seed uint64, lim sim.Limits) (Examination, error) {
	if err := s.Validate(); err != nil {
		return Examination{}, err
	}
	code, err := sim.Decode(p)
	if err != nil {
		return Examination{}, err
	}
	image := tree.Image(s, seed)
	values, indices := tree.Reference(s, image)
	lim.Pause = false
	e := Examination{Warnings: sim.Lint(p)}
	stores, err := sim.LintRun(p, image, lim)
	if err != nil {
		return e, err
	}
	e.Warnings = append(e.Warnings, stores...)
	var visits []int
	if e.Result, visits, err = sim.NewMachine().Profile(code, image, lim); err != nil {
		return e, err
	}
	e.Usage, e.Bound = sim.Utilisation(p, visits), sim.BoundOf(p, visits)
	e.Values = compare("value", image[s.ValueAddr():], values)
	e.Indices = compare("index", image[s.IndexAddr():], indices)
	return e, nil
}

// TraceWriter returns a function that writes the trace of a program on the tree of a seed, as Chrome trace events.
func TraceWriter(p *sim.Program, s tree.Shape, seed uint64, lim sim.Limits) func(io.Writer) error {
	return func(w io.Writer) error {
		return sim.WriteTrace(w, p, sim.TraceOptions{Mem: tree.Image(s, seed), Cycles: lim.Cycles})
	}
}
