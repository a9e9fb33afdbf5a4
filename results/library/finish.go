package library

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"tune/internal/files"
	"tune/kernels"
	"tune/kernels/library"
	"tune/kernels/library/choice"
	"tune/kernels/native"
	"tune/results"
	"tune/space"
)

// Report is what a library came to. It stands in its manifest.
type Report struct {
	Format      int               `json:"format"`
	Name        string            `json:"name"`
	ToolVersion string            `json:"tool_version"`
	Seed        uint64            `json:"seed"`
	Machine     results.Machine   `json:"machine"`
	Created     time.Time         `json:"created"`
	Elapsed     float64           `json:"elapsed_seconds"` // over all sittings
	Functions   []ReportFunction  `json:"functions"`
	Files       map[string]string `json:"files"` // the SHA-256 of each file by its path
	Dir         string            `json:"-"`
}

const reportFormat = 1

// ReportFunction is what a task came to.
type ReportFunction struct {
	Function      string   `json:"function"`
	Kernel        string   `json:"kernel"`
	KernelVersion string   `json:"kernel_version"`
	Fixed         string   `json:"fixed,omitempty"`
	Fields        []string `json:"fields"`
	// Candidates is how many variants were measured, Variants those that the library holds.
	Candidates int             `json:"candidates"`
	Variants   []ReportVariant `json:"variants"`
	// Training is the regret at the training shapes if each took the best of the variants; Bound what was proven that no set of as
	// many can go below; TreeRegret what the tree costs there.
	Training   Share `json:"training_regret"`
	Bound      Share `json:"proven_bound"`
	Optimal    bool  `json:"optimal"`
	TreeRegret Share `json:"tree_regret"`
	// Predicted says that the dispatcher compares predicted costs, in place of a tree.
	Predicted bool `json:"predicted,omitempty"`
	Measured  int  `json:"training_shapes"`
	Planned   int  `json:"planned_training_shapes"`
	// Plain counts the training shapes at which the library calls the plain form, because the variant does not take them. TreeRegret is
	// about the others.
	Plain int `json:"plain_training_shapes,omitempty"`
	// Weak lists the outputs of which checks prove little at every training shape.
	Weak []space.WeakOutput `json:"weak_checks,omitempty"`
	// Certificate is what the library costs at shapes that played no part; nil where there are none.
	Certificate *Certificate `json:"certificate,omitempty"`
	// Rules are what simpler rules cost at the same shapes, by the first series of each.
	Rules []RuleResult `json:"rules,omitempty"`
}

// ReportVariant is a variant of the library.
type ReportVariant struct {
	Name   string  `json:"name"`
	Tuned  []int64 `json:"tuned_at"`
	Point  string  `json:"point"`
	Leaves int     `json:"leaves"` // of the tree
	// Baseline compares it with the baseline of its kernel; nil where that was not measured.
	Baseline *ReportRatio `json:"baseline,omitempty"`
}

// Certificate is the regret of the library at held-out shapes: how much slower its choice is than the best of all variants that were
// measured there. Numbers are ratios less 1, each with a 95 % interval.
type Certificate struct {
	Shapes     int        `json:"shapes"`
	Mean       [3]float64 `json:"mean"` // value, low, high
	P95        [3]float64 `json:"p95"`
	Worst      [3]float64 `json:"worst"`
	Unverified int        `json:"unverified"` // shapes at which the machine was not quiet
}

// RuleResult is the regret of a rule at held-out shapes.
type RuleResult struct {
	Rule     string `json:"rule"`
	Variants int    `json:"variants"` // that it used there
	Mean     Share  `json:"mean"`
	P95      Share  `json:"p95"`
	Worst    Share  `json:"worst"`
}

// Share is a regret. It is infinite where a choice does not run at a shape, which JSON says as null.
type Share float64

// MarshalJSON writes null for what is infinite.
func (s Share) MarshalJSON() ([]byte, error) {
	if math.IsInf(float64(s), 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(s))
}

// UnmarshalJSON reads null as infinite.
func (s *Share) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		*s = Share(math.Inf(1))
		return nil
	}
	return json.Unmarshal(text, (*float64)(s))
}

// settled is what was decided for a task.
type settled struct {
	*task
	matrix choice.Matrix
	chosen choice.Choice
	tree   *choice.Tree
	used   []int // the variants of the leaves
	wrong  int   // how many variants were known to be wrong
}

// settle chooses the variants of a task and grows its tree from what was measured at training shapes.
func (t *task) settle(seed uint64) (*settled, error) {
	s := &settled{task: t, matrix: t.matrixOf(training), wrong: len(t.bad())}
	var err error
	if t.Tolerated > 0 {
		s.chosen, err = choice.Fewest(s.matrix, t.Tolerated, choice.Search{})
	}
	if err == nil && (t.Tolerated == 0 || len(s.chosen.Variants) > t.Variants) {
		s.chosen, err = choice.Choose(s.matrix, t.Variants, choice.Search{})
	}
	if err == nil {
		s.tree, err = choice.Dispatch(s.matrix, len(s.chosen.Variants), choice.Search{}, t.growth(seed))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.Function, err)
	}
	s.used = s.tree.Variants()
	return s, nil
}

// growth says how the tree of the task is grown.
func (t *task) growth(seed uint64) choice.Growth {
	return choice.Growth{Seed: kernels.Derive(seed, "tree of "+t.Function)}
}

// matrixOf returns the costs that were measured at the shapes of a role, in seconds. A variant that was refused anywhere costs
// choice.Missing everywhere, and so does one that came after the measurement of a training shape, there.
func (t *task) matrixOf(role string) choice.Matrix {
	m := choice.Matrix{Fields: t.Fields, Fixed: t.fixedNumbers()}
	at := map[string]int{}
	for i, v := range t.variants {
		at[v.Name] = i
		m.Variants = append(m.Variants, choice.Variant{Name: v.Name, Tuned: v.Tuned, Amounts: v.amounts})
	}
	bad := t.bad()
	shapes := map[string][]PlannedShape{training: t.Training, heldOut: t.HeldOut}[role]
	for _, shape := range shapes {
		one := t.at(role, shape.Fields)
		if one == nil && role == training {
			one = t.before(shape.Fields)
		}
		if one == nil {
			continue
		}
		costs := slices.Repeat([]float64{choice.Missing}, len(t.variants))
		for _, c := range one.Costs {
			if i, ok := at[c.Variant]; ok && !bad[c.Variant] {
				costs[i] = c.Cost * 1e-9
			}
		}
		if math.IsInf(slices.Min(costs), 1) {
			continue // the plain form runs there
		}
		weight := shape.Weight
		if best := slices.Min(costs); t.Counted {
			weight *= best
		}
		m.Shapes = append(m.Shapes, choice.Shape{Fields: one.Fields, Weight: weight})
		m.Costs = append(m.Costs, costs)
	}
	return m
}

// bad are the variants that were refused at a shape.
func (t *task) bad() map[string]bool {
	bad := map[string]bool{}
	for _, one := range t.measured {
		for _, r := range one.Refused {
			bad[r.Variant] = true
		}
	}
	return bad
}

// fixedNumbers are the fields of the shape that all calls share, as far as they are numbers.
func (t *task) fixedNumbers() map[string]int64 {
	out := map[string]int64{}
	for part := range strings.SplitSeq(t.Fixed, ",") {
		name, value, _ := strings.Cut(part, "=")
		if n, err := strconv.ParseInt(value, 10, 64); err == nil {
			out[name] = n
		}
	}
	return out
}

// finish decides, certifies, and writes the library.
func (m *maker) finish(ctx context.Context) (*Report, error) {
	report := &Report{
		Format: reportFormat, Name: m.Plan.Name, ToolVersion: m.Version, Seed: m.Plan.Seed, Machine: m.Machine, Created: m.Began.UTC(), Dir: m.Dir,
	}
	var all []*settled
	for _, t := range m.tasks {
		s, err := t.settle(m.Plan.Seed)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	for i := range all {
		s, err := m.certified(ctx, all[i])
		if err != nil {
			return nil, err
		}
		all[i] = s
		f, err := s.report(m.Plan.Seed)
		if err != nil {
			return nil, err
		}
		if f.Weak, err = s.weakOutputs(ctx, m.Plan.Seed); err != nil {
			return nil, err
		}
		report.Functions = append(report.Functions, f)
	}
	m.tell(Progress{Step: "writing", Text: m.Dir})
	report.Elapsed = m.elapsed().Seconds()
	return report, m.write(all, report)
}

// certified certifies a task, and records how its variants compare with the baseline. Where a variant is found wrong on the way, the task is
// settled again without it.
func (m *maker) certified(ctx context.Context, s *settled) (*settled, error) {
	for {
		err := m.certify(ctx, s)
		if err == nil && len(s.task.bad()) == s.wrong {
			err = m.recordRatios(ctx, s)
		}
		if err != nil || len(s.task.bad()) == s.wrong {
			return s, err
		}
		if s, err = s.settle(m.Plan.Seed); err != nil {
			return nil, err
		}
	}
}

// certify measures the variants at held-out shapes.
func (m *maker) certify(ctx context.Context, s *settled) error {
	for n, h := range s.HeldOut {
		choice := s.variants[s.tree.At(h.Fields)].Name
		if one := s.at(heldOut, h.Fields); one != nil && one.Choice == choice {
			continue
		}
		if m.Evaluations == 0 && n >= leastMeasured && !m.left(certifyUntil) {
			break
		}
		m.tell(Progress{Step: "certifying", Text: s.Function + " " + s.Called(h.Fields), Done: n, Of: len(s.HeldOut), Left: m.until(certifyUntil)})
		began := time.Now()
		limit := m.seconds(certifyUntil-measureUntil, len(s.HeldOut))
		one, field, err := m.measure(ctx, s.task, h.Fields, limit)
		if err != nil {
			return err
		}
		one.Choice = choice
		runs := choice
		if slices.Contains(one.Outside, choice) {
			runs = plainName
		}
		if best := bestBeside(one.Costs, runs); best != "" {
			var doubtful bool
			if one.Confirmed, doubtful, err = field.confirm(ctx, s.task, h.Fields, runs, best, limit); err != nil {
				return err
			}
			one.Unverified = doubtful
		}
		one.Role, one.Seconds = heldOut, time.Since(began).Seconds()
		if err := s.keep(one); err != nil {
			return err
		}
		if len(s.task.bad()) > s.wrong {
			break // certified settles the task again
		}
	}
	return nil
}

// bestBeside returns the fastest variant if the choice is measurably slower or of unknown cost; "" where none looks faster.
func bestBeside(costs []measured, choice string) string {
	if len(costs) == 0 {
		return ""
	}
	at := slices.IndexFunc(costs, func(c measured) bool { return c.Variant == choice })
	best := slices.MinFunc(costs, func(a, b measured) int { return cmp.Compare(a.Cost, b.Cost) })
	if at < 0 && choice != plainName || best.Variant == choice {
		return ""
	}
	return best.Variant
}

// report says what the task came to.
func (s *settled) report(seed uint64) (ReportFunction, error) {
	f := ReportFunction{
		Function: s.Function, Kernel: s.Kernel, KernelVersion: s.Version, Fixed: s.Fixed, Fields: s.Fields, Candidates: len(s.variants),
		Training: Share(s.chosen.Mean), Bound: Share(s.chosen.Bound), Optimal: s.chosen.Optimal, Planned: len(s.task.Training),
	}
	for _, shape := range s.task.Training {
		if s.at(training, shape.Fields) != nil {
			f.Measured++
		}
	}
	var use, runs []int
	f.Plain = f.Measured
	for i, shape := range s.matrix.Shapes {
		v := s.tree.At(shape.Fields)
		if math.IsInf(s.matrix.Costs[i][v], 1) {
			continue
		}
		use, runs = append(use, v), append(runs, i)
		if s.at(training, shape.Fields) != nil {
			f.Plain--
		}
	}
	if len(runs) > 0 {
		f.TreeRegret = Share(s.matrix.Rows(runs).Regrets(use).Mean)
	}
	for _, v := range s.used {
		one := ReportVariant{Name: s.variants[v].Name, Tuned: s.variants[v].Tuned, Point: s.variants[v].Key, Baseline: s.ratioOf(s.variants[v])}
		s.tree.Walk(func(n *choice.Node, _ int) {
			if n.Predictor != nil || n.Leaf() && n.Variant == v {
				one.Leaves++
			}
			f.Predicted = f.Predicted || n.Predictor != nil
		})
		f.Variants = append(f.Variants, one)
	}
	return f, s.judge(&f, seed)
}

// judge fills in the certificate, and what simpler rules cost.
func (s *settled) judge(f *ReportFunction, seed uint64) error {
	held := s.matrixOf(heldOut)
	if len(held.Shapes) < 2 {
		return nil
	}
	boot := choice.Bootstrap{Seed: kernels.Derive(seed, "certificate of "+s.Function)}
	var pairs []choice.Pair
	unverified := 0
	for _, shape := range held.Shapes {
		one := s.at(heldOut, shape.Fields)
		p := choice.Pair{Weight: shape.Weight, Ratio: 1, Low: 1, High: 1, Variant: s.tree.At(shape.Fields)}
		if one.Choice != s.variants[p.Variant].Name {
			continue // the budget ended before it was measured for this tree
		}
		if c := one.Confirmed; c != nil {
			if !(c.Ratio > 0) {
				continue // no pair of turns was plausible: nothing is known of the shape
			}
			p.Ratio, p.Low, p.High = c.Ratio, c.Low, c.High
			if c.Low <= 0 { // too few pairs for an interval
				p.Low, p.High = c.Ratio, c.Ratio
			}
		}
		if one.Unverified || one.Confirmed != nil && one.Confirmed.Low <= 0 {
			unverified++
		}
		pairs = append(pairs, p)
	}
	if len(pairs) < 2 { // one shape says nothing about others
		return nil
	}
	c, err := choice.Certify(pairs, boot)
	if err != nil {
		return fmt.Errorf("%s: the certificate: %w", s.Function, err)
	}
	f.Certificate = &Certificate{Shapes: c.Shapes, Mean: triple(c.Mean), P95: triple(c.P95), Worst: triple(c.Worst), Unverified: unverified}
	for _, r := range s.rules(seed) {
		chooser, err := r.Train(s.matrix)
		if err != nil {
			return fmt.Errorf("%s: %s: %w", s.Function, r.Name, err)
		}
		c, err := choice.Evaluate(chooser, held, boot)
		if err != nil {
			return fmt.Errorf("%s: %s: %w", s.Function, r.Name, err)
		}
		f.Rules = append(f.Rules, RuleResult{r.Name, c.Variants, Share(c.Mean.Value), Share(c.P95.Value), Share(c.Worst.Value)})
	}
	return nil
}

// rules are the library's own, and simpler ones to hold it against, all trained on the same matrix.
func (s *settled) rules(seed uint64) []choice.Rule {
	growth := s.growth(seed)
	return []choice.Rule{
		choice.Library(len(s.chosen.Variants), choice.Search{}, growth), choice.OneForAll(), choice.Nearest(), choice.Wisdom(),
		choice.Classifier(s.chosen.Variants, growth),
	}
}

func triple(e choice.Estimate) [3]float64 { return [3]float64{e.Value, e.Low, e.High} }

// files makes the files of the library, without its manifest.
func (m *maker) files(all []*settled) (map[string][]byte, error) {
	l := library.Library{Name: m.Plan.Name, About: "made by tune " + m.Version + " on " + m.Machine.CPU, BLAS: m.Plan.BLAS}
	for _, s := range all {
		f, err := s.function()
		if err != nil {
			return nil, err
		}
		l.Functions = append(l.Functions, f)
	}
	return l.Files()
}

// write writes the files of the library, and removes those of an earlier one that it no longer has.
func (m *maker) write(all []*settled, report *Report) error {
	made, err := m.files(all)
	if err != nil {
		return err
	}
	report.Files = sums(made)
	text, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		return err
	}
	if old, err := ReadReport(m.Dir); err == nil {
		for name := range old.Files {
			if _, ok := made[name]; !ok && filepath.IsLocal(filepath.FromSlash(name)) {
				if err := os.Remove(filepath.Join(m.Dir, filepath.FromSlash(name))); err != nil && !errors.Is(err, fs.ErrNotExist) {
					return err
				}
			}
		}
	}
	made[manifestName] = append(text, '\n')
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(made)), func(name string) bool { return name == manifestName })
	for _, name := range append(names, manifestName) { // where the manifest is, the rest is
		path := filepath.Join(m.Dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return err
		}
		if err := files.Write(path, made[name]); err != nil {
			return err
		}
	}
	return nil
}

// function is the function of the library that a task becomes.
func (s *settled) function() (library.Function, error) {
	linkage := s.linkage
	f := library.Function{Name: s.Function, Linkage: linkage, Tree: s.planted(linkage)}
	for _, v := range s.used {
		one := s.variants[v]
		f.Variants = append(f.Variants, library.Variant{Source: one.source, Point: one.Key, Tuned: s.Called(one.Tuned)})
		f.Shapes = append(f.Shapes, s.dims(linkage, one.Tuned))
	}
	return f, nil
}

// planted is the tree of a task over the dimensions of the linkage, of which a task may fix some. Its leaves are indices of used.
func (s *settled) planted(l native.Linkage) *choice.Tree {
	var dims []string
	for _, d := range l.Dims {
		if d.Dense == "" {
			dims = append(dims, d.Name)
		}
	}
	out := &choice.Tree{Root: s.graft(s.tree.Root, l, dims)}
	for _, f := range s.tree.Features {
		var factors []int
		for _, i := range f.Factors {
			factors = append(factors, slices.Index(dims, s.Fields[i]))
		}
		out.Features = append(out.Features, choice.Feature{Factors: factors})
	}
	return out
}

// dims are all dimensions of a shape, of which calls give some.
func (s *settled) dims(l native.Linkage, fields []int64) (out []int64) {
	shape, err := kernels.ParseShape(s.kernel.Info().Shape, s.Text(PlannedShape{Fields: fields}))
	if err != nil {
		panic(err) // the variant was measured at it
	}
	for _, d := range l.Dims {
		if d.Dense == "" {
			out = append(out, int64(shape.Int(d.Name)))
		}
	}
	return out
}

// graft copies a node, with the leaves of planted.
func (s *settled) graft(n *choice.Node, l native.Linkage, dims []string) *choice.Node {
	if n == nil {
		return nil
	}
	out := *n
	if n.Leaf() {
		out.Variant = slices.Index(s.used, n.Variant)
	}
	if p := n.Predictor; p != nil {
		out.Predictor = &choice.Predictor{Fields: dims}
		for _, one := range p.Predictions {
			out.Predictor.Predictions = append(out.Predictor.Predictions, choice.Prediction{Variant: slices.Index(s.used, one.Variant), Terms: one.Terms})
		}
		for _, k := range p.Known {
			out.Predictor.Known = append(out.Predictor.Known, choice.Known{Fields: s.dims(l, k.Fields), Variant: slices.Index(s.used, k.Variant)})
		}
	}
	out.Left, out.Right = s.graft(n.Left, l, dims), s.graft(n.Right, l, dims)
	return &out
}

// manifestName is the file that says what the library came to.
const manifestName = results.ManifestName

// sums returns the SHA-256 of each file.
func sums(made map[string][]byte) map[string]string {
	out := map[string]string{}
	for name, content := range made {
		out[name] = fmt.Sprintf("%x", sha256.Sum256(content))
	}
	return out
}
