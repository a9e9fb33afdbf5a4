package library

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"tune/internal/plain"
	"tune/kernels"
	"tune/kernels/native"
	"tune/space"
)

// Plan is what a library is made for: the shapes of each task, drawn and chosen. It stands in the library's directory, and does not
// change while the library is made.
type Plan struct {
	Format  int        `json:"format"`
	Name    string     `json:"name"`
	Seed    uint64     `json:"seed"`
	Machine string     `json:"machine"` // the fingerprint of the processor that measures
	BLAS    bool       `json:"blas,omitempty"`
	Tasks   []TaskPlan `json:"tasks"`

	own map[string]kernels.Kernel // those of users, by the function of their task, where their files were read
}

const planFormat = 1

// TaskPlan is the plan of one task.
type TaskPlan struct {
	Kernel   string  `json:"kernel"`
	Own      bool    `json:"own,omitempty"` // it is a user's, in a file
	Version  string  `json:"kernel_version"`
	Function string  `json:"function"`
	Fixed    string  `json:"fixed"`  // name=value,… of the shape's fields that all calls share
	Weight   float64 `json:"weight"` // beside other tasks
	// Fields are those of a shape that calls differ in, in the order of Shape.Fields.
	Fields []string `json:"fields"`
	// Training are the shapes that variants are chosen by; HeldOut those of the certificate, which play no other part.
	Training []PlannedShape `json:"training"`
	HeldOut  []PlannedShape `json:"held_out"`
	// Representatives are the indices of the training shapes that are searched, the heaviest group first.
	Representatives []int   `json:"representatives"`
	Variants        int     `json:"variants"`  // at most
	Tolerated       float64 `json:"tolerated"` // regret
	// Counted says that weights are numbers of calls, so that a call counts by its time too.
	Counted bool `json:"counted,omitempty"`
}

// PlannedShape is a shape that a task is called with.
type PlannedShape struct {
	Fields []int64 `json:"fields"`
	Weight float64 `json:"weight"`
}

// Text returns the whole shape in the form of kernels.ParseShape.
func (t TaskPlan) Text(s PlannedShape) string {
	var parts []string
	if t.Fixed != "" {
		parts = append(parts, t.Fixed)
	}
	return strings.Join(append(parts, t.Called(s.Fields)), ",")
}

// Called returns the fields that calls differ in: m=1,n=2.
func (t TaskPlan) Called(fields []int64) string {
	var parts []string
	for i, name := range t.Fields {
		parts = append(parts, fmt.Sprintf("%s=%d", name, fields[i]))
	}
	return strings.Join(parts, ",")
}

// UnlinkableError says that programs cannot call the code of a kernel at any shape, so that no library can be made of it.
type UnlinkableError struct{ Kernel, Fixed string }

func (e *UnlinkableError) Error() string {
	with := ""
	if e.Fixed != "" {
		with = " with " + e.Fixed
	}
	return fmt.Sprintf("kernel %s%s has no function that can be called at any shape: a library can be made of gemm-f32, gemm-bf16, gemm-f16, gemm-i8, qgemm, elementwise-f32, rowwise, attention, and your own in C or C++", e.Kernel, with)
}

// Plan draws the shapes of every task, and chooses the representatives.
func (f *File) Plan(find Kernels, machine string) (*Plan, error) {
	p := &Plan{Format: planFormat, Name: f.Name, Seed: 1, Machine: machine, BLAS: f.BLAS}
	if f.Seed != nil {
		p.Seed = *f.Seed
	}
	for i := range f.Tasks {
		k, err := find.of(f, f.Tasks[i])
		if err != nil {
			first, more, several := strings.Cut(err.Error(), "\n")
			if several {
				first += fmt.Sprintf(" (and %d more: 'tune check %s' lists them)", 1+strings.Count(more, "\n"), plain.ShellWord(f.beside(f.Tasks[i].Kernel)))
			}
			return nil, f.fault([]any{"tasks", i, "kernel"}, "%s", first)
		}
		t, err := f.planTask(i, k, p.Seed)
		if err != nil {
			return nil, err
		}
		if t.Own {
			if p.own == nil {
				p.own = map[string]kernels.Kernel{}
			}
			p.own[t.Function] = k
		}
		p.Tasks = append(p.Tasks, *t)
	}
	return p, nil
}

// fieldNames are the names of the fields of a shape.
func fieldNames(shape []kernels.Field) []string {
	var names []string
	for _, f := range shape {
		names = append(names, f.Name)
	}
	return names
}

// planner makes the plan of one task.
type planner struct {
	file   *File
	index  int // of the task
	task   Task
	kernel kernels.Kernel
	info   kernels.Info
	plan   *TaskPlan
	// multiples are what the fields have to be multiples of, in the order of the plan; 1 where any value will do.
	multiples []int64
	factors   []string // the fields that they have to be multiples of; "" where there is none
}

func (f *File) planTask(i int, k kernels.Kernel, seed uint64) (*TaskPlan, error) {
	t := f.Tasks[i]
	p := &planner{file: f, index: i, task: t, kernel: k, info: k.Info()}
	p.plan = &TaskPlan{
		Kernel: p.info.Name, Own: t.Own(), Version: p.info.Version, Function: t.Function, Weight: or(t.Weight, 1), Variants: or(t.Variants, defaultVariants),
	}
	p.plan.Tolerated, _ = t.tolerated()
	var fixed []string
	for _, field := range p.info.Shape {
		if v, ok := t.Fixed[field.Name]; ok {
			fixed = append(fixed, field.Name+"="+v)
		}
	}
	p.plan.Fixed = strings.Join(fixed, ",")
	for _, name := range slices.Sorted(maps.Keys(t.Fixed)) {
		if !slices.ContainsFunc(p.info.Shape, func(f kernels.Field) bool { return f.Name == name }) {
			return nil, p.fault([]any{"fixed", name}, "the shape of %s has no field %s%s", p.info.Name, name, space.DidYouMeanOneOf(name, fieldNames(p.info.Shape)))
		}
	}
	if err := p.divide(); err != nil {
		return nil, err
	}
	if len(p.plan.Fields) == 0 {
		return nil, p.fault([]any{"fixed"}, "no field is left that calls differ in: leave one of them out of fixed")
	}
	if err := p.shapes(seed); err != nil {
		return nil, err
	}
	return p.plan, p.represent()
}

// divide finds out which fields calls differ in, and which all of them have to share.
func (p *planner) divide() error {
	problem, linkage, err := p.linked("")
	if err != nil {
		// What is fixed may not go with the defaults of the other fields, such as 7 heads with 32 rows.
		if called := p.example(); called != "" {
			problem, linkage, err = p.linked(called)
		}
	}
	if err != nil {
		return p.fault([]any{"kernel"}, "%v", err)
	}
	for _, fixed := range linkage.Fixed {
		if _, ok := p.task.Fixed[fixed.Name]; !ok {
			return p.fault([]any{"fixed"}, "%s is missing: all calls of a library share it, because %s. Give its value, as in fixed: {%[1]s: 64}", fixed.Name, fixed.Why)
		}
	}
	for _, d := range linkage.Dims {
		if _, fixed := p.task.Fixed[d.Name]; d.Dense == "" && !fixed {
			p.plan.Fields, p.multiples = append(p.plan.Fields, d.Name), append(p.multiples, max(d.Multiple, 1))
			p.factors = append(p.factors, d.MultipleOf)
		}
	}
	if linkage.Foreign {
		if err := checkForeign(problem, linkage); err != nil {
			return p.fault([]any{"kernel"}, "%s: %v", p.task.Kernel, err)
		}
	}
	return nil
}

// example returns fields of a shape that the kernel has, from the shapes or the ranges of the task; "" where none is found.
func (p *planner) example() string {
	const tries = 200
	r := rand.New(rand.NewPCG(1, 0))
	for range tries {
		var parts []string
		if len(p.task.Shapes) > 0 {
			given := p.task.Shapes[r.IntN(len(p.task.Shapes))].Fields
			for _, name := range slices.Sorted(maps.Keys(given)) {
				parts = append(parts, name+"="+given[name])
			}
		} else {
			for _, name := range slices.Sorted(maps.Keys(p.task.Ranges)) {
				g := p.task.Ranges[name]
				parts = append(parts, fmt.Sprintf("%s=%d", name, g.From+r.IntN(g.To-g.From+1)))
			}
		}
		called := strings.Join(parts, ",")
		if _, _, err := p.linked(called); err == nil {
			return called
		}
	}
	return ""
}

func or[T any](v *T, other T) T {
	if v == nil {
		return other
	}
	return *v
}

func (p *planner) fault(path []any, format string, args ...any) error {
	return p.file.fault(append([]any{"tasks", p.index}, path...), format, args...)
}

// linked opens the kernel at a shape, given by the fields that calls differ in.
func (p *planner) linked(called string) (*native.Problem, native.Linkage, error) {
	return openLinked(p.kernel, p.plan.Fixed, called)
}

// shapes collects the shapes of the task. Those that are listed and those of the log are for training; of a log too long for that,
// the ones with fewer calls are held out. Ranges give both.
func (p *planner) shapes(seed uint64) error {
	t := p.task
	seen := map[string]bool{}
	add := func(to *[]PlannedShape, fields []int64, weight float64) {
		if key := fmt.Sprint(fields); !seen[key] {
			seen[key] = true
			*to = append(*to, PlannedShape{fields, weight})
		}
	}
	var listed []PlannedShape
	for i, s := range t.Shapes {
		fields, err := p.fields(s.Fields)
		if err != nil {
			return p.fault([]any{"shapes", i}, "%v", err)
		}
		listed = append(listed, PlannedShape{fields, or(s.Weight, 1)})
	}
	for _, s := range together(listed) {
		add(&p.plan.Training, s.Fields, s.Weight)
	}
	samples, heldOut := or(t.Samples, defaultSamples), or(t.HeldOut, defaultHeldOut)
	if t.Log != "" {
		if err := p.fromLog(add, samples, heldOut); err != nil {
			return err
		}
	}
	if len(t.Ranges) == 0 {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(t.Ranges)) {
		if !slices.Contains(p.plan.Fields, name) {
			return p.fault([]any{"ranges", name}, "it is none of the fields that calls of %s differ in%s", p.info.Name, space.DidYouMeanOneOf(name, p.plan.Fields))
		}
	}
	for i, name := range p.plan.Fields {
		g, ok := t.Ranges[name]
		if !ok {
			return p.fault([]any{"ranges"}, "%s is missing: give its range, or its value in fixed", name)
		}
		if of := int(p.multiples[i]); g.To/of*of < g.From {
			return p.fault([]any{"ranges", name}, "from %d to %d: want a range with a multiple of %d, which %s has to be", g.From, g.To, of, name)
		}
		for _, end := range []int{t.Ranges[name].From, t.Ranges[name].To} {
			if _, err := kernels.ParseShape(p.info.Shape, fmt.Sprintf("%s=%d", name, end)); err != nil {
				return p.fault([]any{"ranges", name}, "%v", err)
			}
		}
	}
	weight := 1.0
	if n := len(p.plan.Training); n > 0 { // what is listed and what is drawn count alike, in all
		weight = totalWeight(p.plan.Training) / float64(samples)
	}
	stream := func(what string) *rand.Rand {
		return rand.New(rand.NewPCG(seed, kernels.Derive(seed, what+" shapes of "+t.Function)))
	}
	if err := p.draw(stream("training"), samples, weight, func(f []int64, w float64) { add(&p.plan.Training, f, w) }); err != nil {
		return err
	}
	return p.draw(stream("held-out"), heldOut, 1, func(f []int64, w float64) { add(&p.plan.HeldOut, f, w) })
}

// together adds up the weights of what is the same shape, however its numbers are written.
func together(shapes []PlannedShape) (out []PlannedShape) {
	at := map[string]int{}
	for _, s := range shapes {
		key := fmt.Sprint(s.Fields)
		if i, ok := at[key]; ok {
			out[i].Weight += s.Weight
			continue
		}
		at[key] = len(out)
		out = append(out, s)
	}
	return out
}

func totalWeight(shapes []PlannedShape) (sum float64) {
	for _, s := range shapes {
		sum += s.Weight
	}
	return sum
}

// fields reads the fields that calls differ in.
func (p *planner) fields(given map[string]string) ([]int64, error) {
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains(p.plan.Fields, name) {
			return nil, fmt.Errorf("%s is none of the fields that calls differ in%s", name, space.DidYouMeanOneOf(name, p.plan.Fields))
		}
	}
	var out []int64
	for _, name := range p.plan.Fields {
		text, ok := given[name]
		if !ok {
			return nil, fmt.Errorf("%s is missing: give its value, or one for all calls in fixed", name)
		}
		n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %q: want a whole number", name, text)
		}
		if _, err := kernels.ParseShape(p.info.Shape, fmt.Sprintf("%s=%d", name, n)); err != nil {
			return nil, err
		}
		out = append(out, n)
	}
	return out, nil
}

// fromLog takes the shapes with the most calls for training, and holds out others.
func (p *planner) fromLog(add func(*[]PlannedShape, []int64, float64), samples, heldOut int) error {
	path := p.file.beside(p.task.Log)
	calls, err := readLog(path)
	if err != nil {
		return p.fault([]any{"log"}, "%v", err)
	}
	if len(p.plan.Training) > 0 {
		return p.fault([]any{"log"}, "a log has numbers of calls, which do not compare with the weights of shapes: make it a task of its own")
	}
	p.plan.Counted = true
	var counted []PlannedShape
	for _, c := range calls {
		fields, err := p.fields(c.fields)
		if err != nil {
			return fmt.Errorf("%s:%d: %w", path, c.line, err)
		}
		counted = append(counted, PlannedShape{fields, c.count})
	}
	counted = together(counted)
	slices.SortStableFunc(counted, func(a, b PlannedShape) int { return cmp.Compare(b.Weight, a.Weight) })
	for i, c := range counted {
		switch {
		case i < samples:
			add(&p.plan.Training, c.Fields, c.Weight)
		case len(p.plan.HeldOut) < heldOut:
			add(&p.plan.HeldOut, c.Fields, c.Weight)
		}
	}
	if len(p.task.Ranges) > 0 {
		return p.fault([]any{"ranges"}, "a task has a log or ranges: make them two tasks")
	}
	return nil
}

// draw draws shapes from the ranges. Where ranges are so small that different shapes run out, there are fewer. A kernel may not
// have some shapes, such as more queries than keys, which are drawn again.
func (p *planner) draw(r *rand.Rand, n int, weight float64, add func([]int64, float64)) error {
	const tries = 20
	for range n {
		var fields []int64
		var err error
		for try := 0; try == 0 || err != nil && try < tries; try++ {
			fields = p.drawn(r)
			_, _, err = p.linked(p.plan.Called(fields))
		}
		if err != nil {
			return p.fault([]any{"ranges"}, "of %d shapes that were drawn one after another, the kernel has none; of the last: %v", tries, err)
		}
		add(fields, weight)
	}
	return nil
}

// drawn draws one shape.
func (p *planner) drawn(r *rand.Rand) []int64 {
	fields := make([]int64, len(p.plan.Fields))
	for i, name := range p.plan.Fields {
		g, of := p.task.Ranges[name], p.multiples[i]
		from, to := (int64(g.From)+of-1)/of, int64(g.To)/of
		if g.Draw == "uniform" {
			fields[i] = of * (from + r.Int64N(to-from+1))
			continue
		}
		v := math.Exp(math.Log(float64(from)) + r.Float64()*(math.Log(float64(to)+1)-math.Log(float64(from))))
		fields[i] = of * min(max(int64(v), from), to)
	}
	for i, name := range p.factors {
		if of := p.value(name, fields); of > 1 {
			fields[i] = max(fields[i]/of, 1) * of
		}
	}
	return fields
}

// value returns the value of a field of the shape in calls with some fields; 0 for "".
func (p *planner) value(name string, fields []int64) int64 {
	if i := slices.Index(p.plan.Fields, name); i >= 0 {
		return fields[i]
	}
	n, err := strconv.ParseInt(p.task.Fixed[name], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// represent chooses the training shapes that are searched. They are the medoids of the shapes in the logarithms of the fields and of
// the operations for each byte, which decide what limits a kernel. Each is the one that lowers the weighted distance of all shapes to
// their medoid the most (the BUILD phase of PAM: Kaufman and Rousseeuw, Finding Groups in Data, 1990, chapter 2).
func (p *planner) represent() error {
	training := p.plan.Training
	if len(training) == 0 {
		return errors.New("library: a task without shapes")
	}
	points, weights := make([][]float64, len(training)), make([]float64, len(training))
	for i, s := range training {
		problem, _, err := p.linked(p.plan.Called(s.Fields))
		if err != nil {
			return p.fault([]any{"shapes"}, "%s: %v", p.plan.Called(s.Fields), err)
		}
		for _, v := range s.Fields {
			points[i] = append(points[i], math.Log2(float64(max(v, 1))))
		}
		w := problem.Work()
		if w.Ops > 0 && w.Bytes > 0 {
			points[i] = append(points[i], math.Log2(w.Ops/w.Bytes))
		}
		if weights[i] = s.Weight; p.plan.Counted {
			weights[i] *= max(w.Ops, w.Bytes, 1) // roughly the time of all calls
		}
	}
	most := min(or(p.task.Representatives, p.plan.Variants+p.plan.Variants/2), len(training))
	nearest := slices.Repeat([]float64{math.Inf(1)}, len(training))
	for len(p.plan.Representatives) < most {
		best, least := -1, math.Inf(1)
		for c := range training {
			if slices.Contains(p.plan.Representatives, c) {
				continue
			}
			sum := 0.0
			for i := range training {
				sum += weights[i] * min(nearest[i], distance(points[c], points[i]))
			}
			if sum < least {
				best, least = c, sum
			}
		}
		p.plan.Representatives = append(p.plan.Representatives, best)
		for i := range training {
			nearest[i] = min(nearest[i], distance(points[best], points[i]))
		}
	}
	return nil
}

func distance(a, b []float64) (sum float64) {
	for i := range a {
		sum += (a[i] - b[i]) * (a[i] - b[i])
	}
	return math.Sqrt(sum)
}

// parsePlan reads a plan.
func parsePlan(text []byte) (*Plan, error) {
	var p Plan
	if err := json.Unmarshal(text, &p); err != nil {
		return nil, err
	}
	if p.Format != planFormat {
		return nil, fmt.Errorf("field format is %d, want %d: another version of tune has begun this library", p.Format, planFormat)
	}
	for i, t := range p.Tasks {
		for _, r := range t.Representatives {
			if r < 0 || r >= len(t.Training) {
				return nil, fmt.Errorf("field tasks[%d].representatives: %d is no training shape: give --out a new folder", i, r)
			}
		}
		for _, s := range append(slices.Clone(t.Training), t.HeldOut...) {
			if len(s.Fields) != len(t.Fields) || !(s.Weight > 0) {
				return nil, fmt.Errorf("field tasks[%d]: the shape %v with weight %g does not fit the fields %s: give --out a new folder", i, s.Fields, s.Weight, strings.Join(t.Fields, ", "))
			}
		}
		for _, list := range []struct {
			name string
			n    int
		}{{"fields", len(t.Fields)}, {"training", len(t.Training)}, {"representatives", len(t.Representatives)}, {"variants", t.Variants}} {
			if list.n < 1 {
				return nil, fmt.Errorf("field tasks[%d].%s: there is none: give --out a new folder", i, list.name)
			}
		}
	}
	return &p, nil
}
