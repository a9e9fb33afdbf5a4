package library

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"time"

	"tune/internal/files"
	"tune/kernels"
	"tune/kernels/native"
	"tune/results/schedule"
)

// CompareOptions say which libraries are compared, and how.
type CompareOptions struct {
	A, B string // directories
	Kernels
	// Recorded compares what the two have measured. Nothing is built or run.
	Recorded bool
	Limit    time.Duration // roughly, for the measurement of one shape
	Seeds    []uint64      // of the inputs of the checks, and of the order of the measurements
	Observe  func(Progress)
	Began    time.Time
}

// Comparison is how two libraries compare: by function and shape.
type Comparison struct {
	A         string             `json:"a"`
	B         string             `json:"b"`
	Recorded  bool               `json:"recorded"`
	Functions []ComparedFunction `json:"functions"`
	// OnlyA and OnlyB are the functions that one of them has.
	OnlyA []string `json:"only_a,omitempty"`
	OnlyB []string `json:"only_b,omitempty"`
}

// ComparedFunction is a function that both have.
type ComparedFunction struct {
	Function string          `json:"function"`
	Kernel   string          `json:"kernel"`
	Fixed    string          `json:"fixed,omitempty"`
	Shapes   []ComparedShape `json:"shapes"`
	// Unknown counts the shapes of which nothing is recorded of one of the choices.
	Unknown int `json:"unknown_shapes,omitempty"`
}

// ComparedShape is what the two choose at a shape.
type ComparedShape struct {
	Shape string         `json:"shape"`
	A     ComparedChoice `json:"a"`
	B     ComparedChoice `json:"b"`
	// Same says that both run the same code, so that there is nothing to measure.
	Same bool `json:"same,omitempty"`
	// Ratio is the cost of A over that of B, so that above 1 B is faster; Low and High are its interval, 0 where there is none.
	Ratio      float64           `json:"ratio,omitempty"`
	Low        float64           `json:"low,omitempty"`
	High       float64           `json:"high,omitempty"`
	Pairs      int               `json:"pairs,omitempty"`
	Unverified bool              `json:"unverified,omitempty"`
	Verdict    schedule.Standing `json:"verdict"`
}

// ComparedChoice is the variant that a library runs at a shape, and what it costs there.
type ComparedChoice struct {
	Variant string  `json:"variant"` // "plain" for the plain form
	Point   string  `json:"point,omitempty"`
	Cost    float64 `json:"cost,omitempty"` // in ns; 0 where it is unknown
}

// As returns the comparison at a shape in the form of one of schedules, which judges it.
func (s ComparedShape) As() *schedule.Comparison {
	return &schedule.Comparison{
		Unit: "ns", Shape: s.Shape, Exact: s.Same, Ratio: s.Ratio, Low: s.Low, High: s.High, Pairs: s.Pairs, Unverified: s.Unverified,
		A: schedule.Compared{Cost: s.A.Cost}, B: schedule.Compared{Cost: s.B.Cost},
	}
}

// Compare compares two libraries at all shapes of both, with what each chooses there. Unless what is recorded is asked for, both choices
// are built and checked, and measured in turns. Where B looks slower it is measured again, and that counts: of many shapes some look
// slower by chance.
func Compare(ctx context.Context, o CompareOptions) (*Comparison, error) {
	var sides [2][]*settled
	for i, dir := range []string{o.A, o.B} {
		var err error
		if o.Recorded {
			sides[i], err = recorded(dir)
		} else {
			_, _, sides[i], err = reopen(ctx, dir, o.Kernels)
		}
		if err != nil {
			return nil, err
		}
	}
	c := &Comparison{A: o.A, B: o.B, Recorded: o.Recorded}
	var pairs [][2]*settled
	n := 0
	for _, a := range sides[0] {
		b := functionOf(sides[1], a.Function)
		if b == nil {
			c.OnlyA = append(c.OnlyA, a.Function)
			continue
		}
		if a.TaskPlan.Kernel != b.TaskPlan.Kernel || a.Fixed != b.Fixed || !slices.Equal(a.Fields, b.Fields) {
			return nil, &schedule.MismatchError{What: "function " + a.Function, A: a.calls(), B: b.calls()}
		}
		pairs = append(pairs, [2]*settled{a, b})
		n += len(shapesOf(a, b))
	}
	for _, b := range sides[1] {
		if functionOf(sides[0], b.Function) == nil {
			c.OnlyB = append(c.OnlyB, b.Function)
		}
	}
	if len(pairs) == 0 {
		return nil, &schedule.MismatchError{What: "functions", A: fmt.Sprint(c.OnlyA), B: fmt.Sprint(c.OnlyB)}
	}
	done := 0
	for _, p := range pairs {
		f := ComparedFunction{Function: p[0].Function, Kernel: p[0].TaskPlan.Kernel, Fixed: p[0].Fixed}
		for _, fields := range shapesOf(p[0], p[1]) {
			if o.Observe != nil {
				o.Observe(Progress{Step: "comparing", Text: f.Function + " " + p[0].Called(fields), Done: done, Of: n, Elapsed: time.Since(o.Began)})
			}
			done++
			one, ok, err := o.shape(ctx, p[0], p[1], fields)
			if err != nil {
				return nil, err
			}
			if !ok {
				f.Unknown++
				continue
			}
			one.Verdict = one.As().Verdict()
			f.Shapes = append(f.Shapes, one)
		}
		c.Functions = append(c.Functions, f)
	}
	return c, nil
}

// calls says what a function is called with.
func (s *settled) calls() string {
	text := "kernel " + s.TaskPlan.Kernel
	if s.Fixed != "" {
		text += " with " + s.Fixed
	}
	return fmt.Sprintf("%s, called by %v", text, s.Fields)
}

func functionOf(all []*settled, name string) *settled {
	if i := slices.IndexFunc(all, func(s *settled) bool { return s.Function == name }); i >= 0 {
		return all[i]
	}
	return nil
}

// shapesOf returns all shapes of two tasks: those that variants were chosen by first.
func shapesOf(a, b *settled) (out [][]int64) {
	for _, shapes := range [][]PlannedShape{a.Training, b.Training, a.HeldOut, b.HeldOut} {
		for _, s := range shapes {
			if !slices.ContainsFunc(out, func(f []int64) bool { return slices.Equal(f, s.Fields) }) {
				out = append(out, s.Fields)
			}
		}
	}
	return out
}

// recorded reads what a library has measured, without its kernels.
func recorded(dir string) ([]*settled, error) {
	path := filepath.Join(dir, tuningDir, planName)
	text, err := files.Read(path, mostPlan)
	if err != nil {
		return nil, err
	}
	plan, err := parsePlan(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var out []*settled
	for _, p := range plan.Tasks {
		t := &task{TaskPlan: p, dir: filepath.Join(dir, tuningDir, p.Function)}
		if err := t.readVariants(); err != nil {
			return nil, err
		}
		if t.measured, err = readMeasured(filepath.Join(t.dir, measuredName), false); err != nil {
			return nil, err
		}
		s, err := t.settle(plan.Seed)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", dir, err)
		}
		out = append(out, s)
	}
	return out, nil
}

// shape compares the choices at a shape. ok is false where nothing is recorded of one of them.
func (o CompareOptions) shape(ctx context.Context, a, b *settled, fields []int64) (one ComparedShape, ok bool, err error) {
	one = ComparedShape{Shape: a.Called(fields), A: a.choice(fields), B: b.choice(fields)}
	if o.Recorded {
		one.A, one.B = a.recordedAt(fields, one.A), b.recordedAt(fields, one.B)
		if one.A.Cost == 0 || one.B.Cost == 0 {
			return one, false, nil
		}
		one.Ratio = one.A.Cost / one.B.Cost
		return one, true, nil
	}
	p, l, err := openLinked(a.kernel, a.Fixed, one.Shape)
	if err != nil {
		return one, false, err
	}
	if !sameCall(l, b.linkage) {
		return one, false, &schedule.MismatchError{What: "the arguments of function " + a.Function, A: callOf(l), B: callOf(b.linkage)}
	}
	sideA, err := a.build(fields, &one.A)
	if err != nil {
		return one, false, err
	}
	sideB, err := b.build(fields, &one.B)
	if err != nil {
		return one, false, err
	}
	if one.Same = sideA.source.Text == sideB.source.Text && slices.Equal(sideA.source.Flags, sideB.source.Flags) && sideA.source.Compiler == sideB.source.Compiler; one.Same {
		one.Ratio = 1
		return one, true, nil
	}
	for _, side := range []struct {
		which, name string
		built
	}{{"A", o.A, sideA}, {"B", o.B, sideB}} {
		if err := kernels.Verify(ctx, side.candidate, o.Seeds); err != nil {
			if kernels.AsRejection(err) == nil {
				return one, false, err
			}
			return one, false, &schedule.SideError{Which: side.which, Name: side.name + ": " + a.Function + " at " + one.Shape, Wrong: true, Err: err}
		}
	}
	for again := range 2 {
		if err := one.measure(ctx, p, sideA, sideB, kernels.Series{Limit: o.Limit, Seed: kernels.Derive(o.Seeds[0], fmt.Sprint(again, one.Shape)), Confirm: true}); err != nil {
			return one, false, err
		}
		if one.As().Verdict() != schedule.BSlower {
			break
		}
	}
	return one, true, nil
}

// built is a choice as a candidate.
type built struct {
	candidate kernels.Candidate
	source    native.Source
}

// choice returns the variant that the library calls at a shape.
func (s *settled) choice(fields []int64) ComparedChoice {
	v := s.variants[s.tree.At(fields)]
	return ComparedChoice{Variant: v.Name, Point: v.Key}
}

// recordedAt adds what was measured of a choice at a shape.
func (s *settled) recordedAt(fields []int64, c ComparedChoice) ComparedChoice {
	m := s.at(training, fields)
	if m == nil {
		m = s.at(heldOut, fields)
	}
	if m == nil {
		return c
	}
	if slices.Contains(m.Outside, c.Variant) {
		return ComparedChoice{Variant: plainName}
	}
	if i := slices.IndexFunc(m.Costs, func(one measured) bool { return one.Variant == c.Variant }); i >= 0 {
		c.Cost = m.Costs[i].Cost
	}
	return c
}

// build makes a candidate of the choice at a shape: of the plain form where the variant does not take it.
func (s *settled) build(fields []int64, c *ComparedChoice) (built, error) {
	p, _, err := openLinked(s.kernel, s.Fixed, s.Called(fields))
	if err != nil {
		return built{}, err
	}
	v := s.variants[s.tree.At(fields)]
	source := v.source
	point, err := v.at(p)
	if err != nil {
		*c, source, point = ComparedChoice{Variant: plainName}, s.linkage.Plain, p.Presets()[0].Point
	}
	return built{p.Wrap(source, point), source}, nil
}

// sameCall reports whether functions of two linkages are called alike.
func sameCall(a, b native.Linkage) bool { return callOf(a) == callOf(b) }

// callOf writes the arguments of a linkage.
func callOf(l native.Linkage) string {
	var words []string
	for _, d := range l.Dims {
		words = append(words, d.Name)
	}
	for i, b := range l.Buffers {
		e := l.Extents[i]
		words = append(words, b.Declared()+" of "+cmp.Or(e.Length, fmt.Sprint(e.Rows, " ", e.Cols)))
	}
	return fmt.Sprint(words)
}

// measure measures both in turns.
func (s *ComparedShape) measure(ctx context.Context, p *native.Problem, a, b built, series kernels.Series) error {
	final, err := p.Compare(ctx, a.candidate, []kernels.Candidate{b.candidate}, series)
	if err != nil {
		return err
	}
	c := final.Comparisons[0]
	if c.Err != nil {
		return fmt.Errorf("the choice of B at %s: %w", s.Shape, c.Err)
	}
	s.Ratio, s.Low, s.High, s.Pairs, s.Unverified = c.Ratio, c.Low, c.High, c.Pairs, c.Unverified
	s.A.Cost, s.B.Cost = c.Baseline, 0
	if c.Ratio > 0 && !math.IsInf(c.Ratio, 0) {
		s.B.Cost = c.Baseline / c.Ratio
	}
	return nil
}

// Regressed lists the shapes at which B is proven to cost more than A by over a share.
func (c *Comparison) Regressed(slack float64) (out []string) {
	for _, f := range c.Functions {
		for _, s := range f.Shapes {
			if s.As().Regressed(slack) {
				out = append(out, f.Function+" "+s.Shape)
			}
		}
	}
	return out
}

// Untold counts the shapes at which the two could not be compared well enough to tell, or not at all, and the functions that B lacks.
func (c *Comparison) Untold() (n int) {
	for _, f := range c.Functions {
		n += f.Unknown
		for _, s := range f.Shapes {
			if s.Verdict == schedule.Undecided {
				n++
			}
		}
	}
	return n + len(c.OnlyA)
}
