package schedule

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"time"

	"tune/internal/plain"
	"tune/kernels"
	"tune/results"
	"tune/space"
)

// Side is one of two schedules that are compared.
type Side struct {
	Name     string // of its file, for messages
	Schedule results.Schedule
	Compiler string        // that its program was built with; "" where that is unknown
	Table    kernels.Table // with its kernel; not used where Recorded is set
}

// ReadSide reads a schedule, and which compiler its program was built with. Its table is the caller's to set.
func ReadSide(path string) (Side, error) {
	s, err := results.ReadSchedule(path)
	return Side{Name: path, Schedule: s, Compiler: compilerOf(filepath.Dir(path), s)}, err
}

// CompareOptions say how Compare works.
type CompareOptions struct {
	// Recorded compares what the schedules say. Nothing is built or run.
	Recorded bool
	// Shape is the shape at which both are built; "" is their own, which must be the same then.
	Shape string
	// Limit is roughly how long the measurement takes; 0 means a minute.
	Limit time.Duration
	// Seeds draw the inputs of the checks, and the order of the measurements. There must be one unless Recorded is set.
	Seeds []uint64
	// Observe is called before each check and each pair; it may be nil.
	Observe func(CompareProgress)
}

// CompareProgress says how far a comparison is: the check or the pair that begins, from 1, and how many the phase has.
type CompareProgress struct {
	Phase  ComparePhase
	At, Of int
}

// ComparePhase is a part of a comparison.
type ComparePhase string

// The phases of a comparison.
const (
	CheckingA ComparePhase = "check-a"
	CheckingB ComparePhase = "check-b"
	Comparing ComparePhase = "compare"
)

// String describes the progress in words.
func (p CompareProgress) String() string {
	switch p.Phase {
	case CheckingA:
		return fmt.Sprintf("checking A, input %d of %d", p.At, p.Of)
	case CheckingB:
		return fmt.Sprintf("checking B, input %d of %d", p.At, p.Of)
	}
	if p.Of == 0 {
		return fmt.Sprintf("measuring A and B in turns, pair %d", p.At)
	}
	return fmt.Sprintf("measuring A and B in turns, pair %d of %d", p.At, p.Of)
}

// Standing says how B compares with A.
type Standing string

// The standings. Only the first two are proven differences.
const (
	BFaster     Standing = "faster" // B costs less
	BSlower     Standing = "slower" // B costs more
	Alike       Standing = "no difference"
	Undecided   Standing = "unverified"   // there is no interval, or the machine was not quiet
	NotCompared Standing = "not compared" // the costs are of different shapes
)

// Comparison is how two schedules of one kernel compare.
type Comparison struct {
	Kernel, Shape, Unit string
	A, B                Compared
	// Differences are those between what the two were made of, and where.
	Differences []Difference
	// Parameters are those whose values differ, and those that only one of the two spaces has.
	Parameters []Parameter
	Recorded   bool // whether all is as the schedules say
	Exact      bool // whether the costs are exact
	// Ratio is the cost of A over the cost of B: above 1 B is faster. It is 0 where it is unknown.
	Ratio float64
	// Low and High are the interval of the ratio; both are 0 where there is none, or the costs are exact.
	Low, High float64
	// Confidence is that of the interval. It is 0 where the interval follows from how far runs may differ, as the kernel says.
	Confidence float64
	Pairs      int // of measurements, for the ratio
	// Unverified says that the machine was not as quiet as the measurement needs.
	Unverified bool
	// ByBaselines says that the ratio is that of the recorded ratios to the baseline, which both have been measured beside.
	ByBaselines bool
	Machine     kernels.MachineState // during the measurement
}

// Compared is one side of a comparison.
type Compared struct {
	Name     string
	Cost     float64            // as measured now, or as recorded; 0 where no pair of measurements was usable
	Checked  string             // how it was checked now, in words; "" where it was not built
	Weak     []space.WeakOutput // of this check
	Schedule results.Schedule
}

// Difference is a thing in which two schedules differ.
type Difference struct {
	Field string `json:"field"`
	A     string `json:"a"`
	B     string `json:"b"`
}

// Parameter is a parameter in which two points differ.
type Parameter struct {
	Name string `json:"name"`
	// A and B are the values; nil where the point has none.
	A *string `json:"a"`
	B *string `json:"b"`
	// Only is "a" or "b" where only that space has the parameter.
	Only string `json:"only_in,omitempty"`
}

// MismatchError says why two schedules cannot be compared.
type MismatchError struct{ What, A, B string }

func (e *MismatchError) Error() string {
	return fmt.Sprintf("the two differ in %s: A has %s, and B has %s", e.What, plain.Line(e.A), plain.Line(e.B))
}

// SideError says that one of two schedules cannot be compared, as it is.
type SideError struct {
	Which, Name string // A or B, and its file
	Wrong       bool   // whether it was built and is wrong; otherwise it cannot be built here
	Err         error
}

func (e *SideError) Error() string {
	what := "cannot be built here"
	if e.Wrong {
		what = "is wrong"
	}
	return fmt.Sprintf("%s, %s, %s: %v", e.Which, e.Name, what, e.Err)
}

// Unwrap returns the reason.
func (e *SideError) Unwrap() error { return e.Err }

// BadShapeError says that the kernel has no such shape as the options ask for.
type BadShapeError struct{ Err error }

func (e *BadShapeError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *BadShapeError) Unwrap() error { return e.Err }

// Compare compares two schedules of one kernel. Unless what is recorded is asked for, both are built here and checked, and where
// costs are not exact measured in turns, in new processes. Schedules that have nothing in common are a *MismatchError, and one that
// cannot be built, or is wrong, is a *SideError.
func Compare(ctx context.Context, a, b Side, o CompareOptions) (*Comparison, error) {
	c, err := compared(a, b, o)
	if err != nil {
		return nil, err
	}
	if o.Recorded {
		c.fromFiles()
		return c, nil
	}
	x := &comparing{Comparison: c, options: o}
	if err := x.open(a, b); err != nil {
		return nil, err
	}
	for _, e := range x.entrants {
		if err := x.check(ctx, e); err != nil {
			return nil, err
		}
	}
	if c.Exact {
		err = x.score(ctx)
	} else {
		err = x.measure(ctx)
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// compared returns what the files say of both sides.
func compared(a, b Side, o CompareOptions) (*Comparison, error) {
	s, t := a.Schedule, b.Schedule
	c := &Comparison{Kernel: s.Kernel, Shape: cmp.Or(o.Shape, s.Shape), Unit: s.Unit, Recorded: o.Recorded,
		A: Compared{Name: a.Name, Schedule: s, Cost: s.Cost}, B: Compared{Name: b.Name, Schedule: t, Cost: t.Cost}}
	if err := mismatch(s, t, !o.Recorded && o.Shape == ""); err != nil {
		return nil, err
	}
	add := func(field, a, b string) {
		if a != b {
			c.Differences = append(c.Differences, Difference{field, cmp.Or(a, "unknown"), cmp.Or(b, "unknown")})
		}
	}
	add("kernel_version", s.KernelVersion, t.KernelVersion)
	add("shape", s.Shape, t.Shape)
	add("data", fileOf(s.Data).SHA256, fileOf(t.Data).SHA256)
	add("machine", machineWords(s.Machine, t.Machine), machineWords(t.Machine, s.Machine))
	add("compiler", a.Compiler, b.Compiler)
	add("tool_version", s.ToolVersion, t.ToolVersion)
	var err error
	c.Parameters, err = parameters(c, nil, nil)
	return c, err
}

// Comparable reports as a *MismatchError that two schedules are of different kernels, units or shapes.
func Comparable(a, b Side) error { return mismatch(a.Schedule, b.Schedule, true) }

// mismatch is Comparable; shapes says whether they have to be the same.
func mismatch(a, b results.Schedule, shapes bool) error {
	switch {
	case a.Kernel != b.Kernel:
		return &MismatchError{"kernel", a.Kernel, b.Kernel}
	case a.Unit != b.Unit:
		return &MismatchError{"unit", a.Unit, b.Unit}
	case a.Shape != b.Shape && shapes:
		return &MismatchError{"shape", a.Shape, b.Shape}
	}
	return nil
}

// machineWords describes a machine, so that it differs from another one where the two do.
func machineWords(m, other results.Machine) string {
	words := func(m results.Machine) string {
		return fmt.Sprintf("%s, %s/%s, %d cores", cmp.Or(m.CPU, "a processor without a name"), m.OS, m.Arch, m.Cores)
	}
	text := words(m)
	if text == words(other) && m.Fingerprint != "" && other.Fingerprint != "" && m.Fingerprint != other.Fingerprint {
		text += ", " + m.Fingerprint
	}
	return text
}

// parameters returns the parameters in which the points of both sides differ. Where the spaces are nil, those that a point has no
// value for count as parameters that its space has not, unless the spaces are the same.
func parameters(c *Comparison, spaceA, spaceB *space.Space) (out []Parameter, err error) {
	var names []string
	values := [2]map[string]string{}
	for i, side := range []Compared{c.A, c.B} {
		at, of := 0, map[string]string{} // at: behind the parameter before
		put := func(name string) {
			found := slices.Index(names, name)
			if found < 0 {
				found = at
				names = slices.Insert(names, at, name)
			}
			at = found + 1
		}
		if sp := []*space.Space{spaceA, spaceB}[i]; sp != nil {
			for _, p := range sp.Parameters() {
				put(p.Name)
			}
		}
		at = min(at, len(names))
		err := space.SplitKey(side.Schedule.Key, func(name, text string) {
			put(name)
			of[name] = text
		})
		if err != nil {
			return nil, fmt.Errorf("%s: field key: %w", side.Name, err)
		}
		values[i] = of
	}
	same := c.A.Schedule.SpaceFingerprint == c.B.Schedule.SpaceFingerprint
	has := func(sp *space.Space, of map[string]string, name string) bool {
		if sp != nil {
			_, has := sp.Parameter(name)
			return has
		}
		_, has := of[name]
		return has || same
	}
	for _, name := range names {
		p := Parameter{Name: name}
		if v, ok := values[0][name]; ok {
			p.A = &v
		}
		if v, ok := values[1][name]; ok {
			p.B = &v
		}
		inA, inB := has(spaceA, values[0], name), has(spaceB, values[1], name)
		switch {
		case inA && !inB:
			p.Only = "a"
		case inB && !inA:
			p.Only = "b"
		case p.A == nil && p.B == nil, p.A != nil && p.B != nil && *p.A == *p.B:
			continue
		}
		out = append(out, p)
	}
	return out, nil
}

// fromFiles compares what the schedules say. Costs that were measured at different moments are compared by way of the baseline,
// beside which each was measured, where both have the same one.
func (c *Comparison) fromFiles() {
	a, b := c.A.Schedule, c.B.Schedule
	exact := func(s results.Schedule) bool {
		return s.Search == nil && s.Pairs == 0 && s.Verdict != "" && s.Verdict != space.Unverified
	}
	if c.Exact = exact(a) && exact(b); a.Shape != b.Shape {
		return
	}
	c.Ratio = results.RatioOf(a.Cost, b.Cost)
	if c.Exact || a.Baseline.Key != b.Baseline.Key || a.KernelVersion != b.KernelVersion || a.Ratio <= 0 || b.Ratio <= 0 {
		return
	}
	c.ByBaselines, c.Ratio = true, b.Ratio/a.Ratio
	c.Unverified = a.Unverified || b.Unverified
	lowA, highA, missA, okA := gainOf(a)
	lowB, highB, missB, okB := gainOf(b)
	if !okA || !okB {
		return
	}
	c.Low, c.High, c.Confidence = lowB/highA, highB/lowA, 1-missA-missB
	if within(a.Metrics) > 0 || within(b.Metrics) > 0 {
		c.Confidence = 0
	}
}

// gainOf returns the interval of a schedule's ratio to its baseline, and how likely the ratio is outside of it. The baseline itself
// has the ratio 1.
func gainOf(s results.Schedule) (low, high, miss float64, ok bool) {
	switch {
	case s.Key == s.Baseline.Key:
		return 1, 1, 0, true
	case s.RatioInterval == nil || s.RatioInterval[0] <= 0:
		return 0, 0, 0, false
	case s.Verdict == "":
		miss = 0.05 // of earlier versions
	default:
		miss = 1 - kernels.Confirmed
	}
	return s.RatioInterval[0], s.RatioInterval[1], miss, true
}

// within returns how far runs may differ, as the file of a command says; 0 where it does not say so.
func within(metrics []space.Metric) float64 {
	share, _ := space.FindMetric(metrics, space.MetricWithin)
	return share
}

// Verdict says how B compares with A.
func (c *Comparison) Verdict() Standing {
	switch {
	case c.Recorded && c.A.Schedule.Shape != c.B.Schedule.Shape:
		return NotCompared
	case c.Exact && results.Cheaper(c.B.Cost, c.A.Cost):
		return BFaster
	case c.Exact && results.Cheaper(c.A.Cost, c.B.Cost):
		return BSlower
	case c.Exact:
		return Alike
	case c.Unverified || c.Low == 0 && c.High == 0:
		return Undecided
	case c.Low > 1:
		return BFaster
	case c.High < 1:
		return BSlower
	}
	return Alike
}

// Slowdown returns by which share of A's cost B costs more, and by which at least, at the near end of the interval. Both are 0 where B
// is not proven to be slower.
func (c *Comparison) Slowdown() (by, least float64) {
	switch {
	case c.Verdict() != BSlower:
		return 0, 0
	case c.Exact:
		by = (c.B.Cost - c.A.Cost) / math.Abs(c.A.Cost)
		return by, by
	}
	return 1/c.Ratio - 1, 1/c.High - 1
}

// Regressed reports whether B is proven to cost more than A by more than a share.
func (c *Comparison) Regressed(slack float64) bool {
	_, least := c.Slowdown()
	return least > slack
}
