package treehash

import (
	"context"
	"fmt"
	"io"

	"tune/kernels"
	"tune/kernels/treehash/internal/scalar"
	"tune/kernels/treehash/internal/vector"
	"tune/kernels/treehash/tree"
	"tune/sim"
	"tune/space"
)

// Kernel is the tree-hash kernel.
type Kernel struct{}

// Info describes the kernel.
func (Kernel) Info() kernels.Info {
	return kernels.Info{
		Name:     "treehash",
		Doc:      "hash a batch of values down a tree, on the simulated VLIW machine",
		Version:  "8",
		Unit:     "cycles",
		Exact:    true,
		Strategy: "evolve",
		Metrics:  metricNames(),
		Shape: []kernels.Field{
			{Name: "height", Doc: "levels of the tree below its root", Default: "10", Min: 1, Max: tree.MaxHeight},
			{Name: "rounds", Doc: "levels that each item goes down", Default: "16", Min: 1, Max: tree.MaxRounds},
			{Name: "batch", Doc: "items", Default: "256", Min: 1, Max: tree.MaxBatch},
			{Name: "outputs", Doc: "what has to be right in the end", Default: outputValues, Options: []string{outputValues, outputAll}},
		},
	}
}

// The options of the field outputs.
const (
	outputValues = "values"
	outputAll    = "all" // the indices too
)

// Problem makes the problem of a shape.
func (Kernel) Problem(s kernels.Shape) (kernels.Problem, error) {
	return newProblem(tree.Shape{Height: s.Int("height"), Rounds: s.Int("rounds"), Batch: s.Int("batch")}, s.Text("outputs") == outputAll)
}

// problem is the kernel at one shape.
type problem struct {
	families []family
	space    *space.Space
	presets  []kernels.Preset
	checker  *checker
}

// family is a generator and its knobs.
type family struct {
	name, doc  string
	parameters []space.Parameter
	// build makes the program of a point; at a cheap fidelity it makes one quickly.
	build func(ctx context.Context, p space.Point, fidelity int) (*sim.Program, error)
	// bound returns what is known about the cycles of build's program without making it; nil where the family is so fast that
	// this saves nothing.
	bound func(p space.Point) (vector.Bound, error)
	// passes and explain are those of kernels.Traits; nil where the family has none.
	passes  []string
	explain func(ctx context.Context, w io.Writer, p space.Point, pass string) error
}

// families lists the generators of a shape; their programs also store the indices where these are an output. New families are
// added only here.
func families(s tree.Shape, indices bool) []family {
	return []family{
		{
			name:       "scalar",
			doc:        "one item a lane, in scalar registers",
			parameters: scalar.Parameters(),
			build: func(_ context.Context, p space.Point, _ int) (*sim.Program, error) {
				return scalar.Build(s, scalar.ConfigOf(p))
			},
		},
		{
			name:       "vector",
			doc:        "8 items a group, in vector registers",
			parameters: vector.Parameters(s, indices),
			build: func(ctx context.Context, p space.Point, fidelity int) (*sim.Program, error) {
				descents := finished
				if fidelity == quick {
					descents = quickly
				}
				return vector.Build(ctx, s, vector.ConfigOf(p), indices, descents)
			},
			bound: func(p space.Point) (vector.Bound, error) {
				return vector.BoundOf(s, vector.ConfigOf(p), indices)
			},
			passes: vector.Passes(),
			explain: func(ctx context.Context, w io.Writer, p space.Point, pass string) error {
				return vector.Explain(ctx, w, s, vector.ConfigOf(p), indices, finished, pass, traceSeed)
			},
		},
	}
}

// DescribePasses returns a line for each pass of the generators.
func DescribePasses() string { return vector.DescribePasses() }

// presets are the named points of every shape, the baseline first.
//
// A search starts from one more, "vector": the defaults of the vector family. It ensures that even the shortest run ends with a
// program that is right; making it good is the job of the search.
var presets = []struct{ name, doc, values string }{
	{
		"baseline", "one item at a time and one slot a bundle",
		"family=scalar lanes=1 offsets=constant packing=single index_registers=single hash_output=in_place hash_order=free",
	},
	{
		"study", "three lanes packed in order, the result of the public study",
		"family=scalar lanes=3 offsets=counter packing=in_order memory=one load_order=kind index_registers=single hash_output=renamed hash_order=token",
	},
}

func newProblem(s tree.Shape, indices bool) (*problem, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	p := &problem{families: families(s, indices), checker: newChecker(s, indices)}
	var err error
	if p.space, err = newSpace(p.families); err != nil {
		return nil, err
	}
	for _, preset := range presets {
		point, err := p.space.Parse(preset.values)
		if err != nil {
			return nil, fmt.Errorf("preset %s: %w", preset.name, err)
		}
		p.presets = append(p.presets, kernels.Preset{Name: preset.name, Doc: preset.doc, Point: point})
	}
	point, err := p.space.Make(map[string]any{"family": "vector", "spread": true})
	if err != nil {
		return nil, fmt.Errorf("preset vector: %w", err)
	}
	p.presets = append(p.presets, kernels.Preset{Name: "vector", Doc: "eight items a group, nothing tuned", Point: point, Start: true})
	return p, nil
}

// newSpace joins the knobs of the families: each is active only in its own.
func newSpace(fs []family) (*space.Space, error) {
	names := make([]string, len(fs))
	for i, f := range fs {
		names[i] = f.name
	}
	parameters := []space.Parameter{space.Enum("family", names...).Describe("the generator")}
	for _, f := range fs {
		for _, p := range f.parameters {
			when := fmt.Sprintf("family == '%s'", f.name)
			if p.When != "" {
				when += " && (" + p.When + ")"
			}
			parameters = append(parameters, p.If(when))
		}
	}
	return space.New("treehash", parameters)
}

// Space returns the points of every family.
func (p *problem) Space() *space.Space { return p.space }

// Presets returns the baseline, the study, and the point that searches begin with.
func (p *problem) Presets() []kernels.Preset { return p.presets }

// How often the vector generator disturbs and improves a schedule: for the full score, and for a cheap one.
const (
	finished = 32
	quickly  = 4
)

// The cheap fidelities: a program whose schedule was improved for a short time only, and a forecast from lower bounds, which
// needs no schedule. A family without bounds builds its program at the latter too.
const (
	quick = 1 + iota
	bounded
	levels = bounded
)

// Traits are the cheap fidelities, and programs that can be loaded and explained. The forecast does not depend on the knobs of
// schedules.
func (p *problem) Traits() kernels.Traits {
	return kernels.Traits{
		Levels: levels, BuildAt: p.buildAt, Blind: vector.ScheduleKnobs(),
		Load: p.load, Passes: p.passes, Explain: p.explain,
	}
}

// Build generates the program of a point.
func (p *problem) Build(ctx context.Context, point space.Point) (kernels.Candidate, error) {
	return p.buildAt(ctx, point, 0)
}

// buildAt generates the program of a point at a fidelity.
func (p *problem) buildAt(ctx context.Context, point space.Point, fidelity int) (kernels.Candidate, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f, err := p.family(point)
	if err != nil {
		return nil, err
	}
	if fidelity >= bounded && f.bound != nil {
		b, err := f.bound(point)
		if err != nil {
			return nil, err
		}
		return estimate(b), nil
	}
	program, err := f.build(ctx, point, fidelity)
	if err != nil {
		return nil, err
	}
	return &candidate{checker: p.checker, program: program}, nil
}

func (p *problem) family(point space.Point) (*family, error) {
	name := point.Str("family")
	for i := range p.families {
		if p.families[i].name == name {
			return &p.families[i], nil
		}
	}
	return nil, fmt.Errorf("treehash: no family %q", name)
}

// passes lists the passes of the generator of a point.
func (p *problem) passes(point space.Point) []string {
	f, err := p.family(point)
	if err != nil {
		return nil
	}
	return f.passes
}

// explain writes what the generator makes of a point.
func (p *problem) explain(ctx context.Context, w io.Writer, point space.Point, pass string) error {
	f, err := p.family(point)
	if err != nil {
		return err
	}
	if f.explain == nil {
		return fmt.Errorf("the generator of family %s has nothing to explain", f.name)
	}
	return f.explain(ctx, w, point, pass)
}

// load reads a program in the exchange format.
func (p *problem) load(r io.Reader) (kernels.Candidate, error) {
	program, err := sim.Read(r)
	if err != nil {
		return nil, err
	}
	return &candidate{checker: p.checker, program: program, foreign: true}, nil
}
