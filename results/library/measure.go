package library

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"tune/internal/files"
	"tune/kernels"
	"tune/kernels/library/choice"
	"tune/kernels/native"
	"tune/results"
	"tune/space"
)

// variant is the winner of a representative, written so that programs can call it at any shape.
type variant struct {
	Name  string  `json:"name"`
	Tuned []int64 `json:"tuned"` // the shape that it was tuned at
	Key   string  `json:"key"`   // of its point there
	// Amounts are what a call does at any shape, each by its factors, so that the choice by predicted costs can be told without the kernel; nil where
	// the kernel does not say it.
	Amounts [][]string `json:"amounts,omitempty"`
	amounts []choice.Amount
	source  native.Source
}

// The roles of a measured shape.
const (
	training = "training"
	heldOut  = "held out"
	// besideBaseline is that of the shape of a variant, at which it alone was measured, beside the baseline of its kernel.
	besideBaseline = "beside the baseline"
)

// measurement is what the variants cost at a shape, measured in turns. It is a line of a file.
type measurement struct {
	Role    string     `json:"role"`
	Fields  []int64    `json:"fields"`
	Costs   []measured `json:"costs"`
	Refused []refused  `json:"refused,omitempty"`
	// Outside are the variants that are no points of the kernel at this shape: where the library chooses one, the plain form runs.
	Outside []string `json:"outside,omitempty"`
	// Choice is the variant that the library took at a held-out shape, or that was measured beside the baseline.
	Choice string `json:"choice,omitempty"`
	// Confirmed compares the variant that the library takes there with the best other one, in a series of their own; nil where the
	// first series had no better one than that which the library takes, and for training shapes.
	Confirmed *confirmed `json:"confirmed,omitempty"`
	Seconds   float64    `json:"seconds"` // that it took
	// Unverified says that the machine was not as quiet as the measurement needs.
	Unverified bool `json:"unverified,omitempty"`
}

// measured is the cost of a variant. Where it took turns with others, the rest compares it with the first of these, whose ratio is 1.
type measured struct {
	Variant string  `json:"variant"`
	Cost    float64 `json:"cost"` // in the kernel's unit
	Ratio   float64 `json:"ratio,omitempty"`
	Low     float64 `json:"low,omitempty"`
	High    float64 `json:"high,omitempty"`
	Pairs   int     `json:"pairs,omitempty"`
}

// refused is a variant that was wrong at a shape, or failed there. The library does not hold it.
type refused struct {
	Variant string `json:"variant"`
	Reason  string `json:"reason"`
}

// confirmed is the ratio of the cost of the library's choice to that of the best other variant, with its interval.
type confirmed struct {
	Choice string  `json:"choice"`
	Best   string  `json:"best"`
	Ratio  float64 `json:"ratio"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	Pairs  int     `json:"pairs"`
}

// readVariants reads the variants that earlier sittings have settled.
func (t *task) readVariants() error {
	path := filepath.Join(t.dir, variantsName)
	text, err := files.Read(path, mostPlan)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(text, &t.variants)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for i := range t.variants {
		v := &t.variants[i]
		if len(v.Tuned) != len(t.Fields) || v.Name != t.name(v.Tuned) {
			return fmt.Errorf("%s: the variant %q does not fit the fields %v: remove the file, and repeat 'tune library'", path, v.Name, t.Fields)
		}
		if v.amounts, err = choice.ParseAmounts(v.Amounts); err != nil {
			return fmt.Errorf("%s: field amounts of the variant %s: %w: remove the file, and repeat 'tune library'", path, v.Name, err)
		}
	}
	return nil
}

// variantOf returns the variant of a representative; nil while there is none.
func (t *task) variantOf(shape int) *variant {
	i := slices.IndexFunc(t.variants, func(v variant) bool { return slices.Equal(v.Tuned, t.Training[shape].Fields) })
	if i < 0 {
		return nil
	}
	return &t.variants[i]
}

// gather settles the variants of a task: the best points of its representatives. They stay, so that what is measured of them counts.
func (m *maker) gather(ctx context.Context, t *task) error {
	for _, r := range t.Representatives {
		if t.variantOf(r) != nil {
			continue
		}
		run, err := results.Read(t.runDir(r))
		if results.NotBegun(err) {
			continue
		}
		if err != nil {
			return err
		}
		summary, err := results.Summarise(run)
		if err != nil {
			return err
		}
		if summary.Best != nil {
			fields := t.Training[r].Fields
			t.variants = append(t.variants, variant{Name: t.name(fields), Tuned: fields, Key: summary.Best.Key})
		}
	}
	if len(t.variants) == 0 {
		return fmt.Errorf("%s: no candidate was right at any of the searched shapes of %s: give it a longer --budget", m.Dir, t.Function)
	}
	if err := m.sources(ctx, t); err != nil {
		return err
	}
	text, err := json.MarshalIndent(t.variants, "", "  ")
	if err != nil {
		return err
	}
	path, text := filepath.Join(t.dir, variantsName), append(text, '\n')
	if old, err := files.Read(path, mostPlan); err == nil && bytes.Equal(old, text) {
		return nil
	}
	return files.Write(path, text)
}

// sources generates the code of the variants.
func (m *maker) sources(ctx context.Context, t *task) error {
	for i := range t.variants {
		v := &t.variants[i]
		p, l, err := openLinked(t.kernel, t.Fixed, t.Called(v.Tuned))
		if err != nil {
			return err
		}
		point, err := p.Space().Parse(v.Key)
		if err == nil {
			v.source, err = p.Source(point)
		}
		if err == nil && l.Foreign {
			err = t.nameSymbols(ctx, p, &v.source)
		}
		if err == nil {
			v.Amounts = p.Amounts(point)
			v.amounts, err = choice.ParseAmounts(v.Amounts)
		}
		if err != nil {
			return fmt.Errorf("%s: the variant %s: %w", m.Dir, v.Name, err)
		}
	}
	return nil
}

// measureAll measures the variants at the training shapes, the representatives first.
func (m *maker) measureAll(ctx context.Context) error {
	for _, t := range m.tasks {
		order := slices.Clone(t.Representatives)
		for i := range t.Training {
			if !slices.Contains(order, i) {
				order = append(order, i)
			}
		}
		for n, i := range order {
			s := t.Training[i]
			if t.at(training, s.Fields) != nil {
				continue
			}
			if m.Evaluations == 0 && n >= leastMeasured && !m.left(measureUntil) {
				break
			}
			m.tell(Progress{Step: "measuring", Text: t.Function + " " + t.Called(s.Fields), Done: n, Of: len(order), Left: m.until(measureUntil)})
			began := time.Now()
			one, _, err := m.measure(ctx, t, s.Fields, m.seconds(measureUntil-searchUntil, len(order)))
			if err != nil {
				return err
			}
			one.Role, one.Seconds = training, time.Since(began).Seconds()
			if err := t.keep(one); err != nil {
				return err
			}
		}
	}
	return nil
}

// leastMeasured is how many shapes are measured whatever the budget says.
const leastMeasured = 3

// seconds is how long one of n measurements may take, roughly, in a share of the budget.
func (m *maker) seconds(share float64, n int) time.Duration {
	const least, most, usual = 300 * time.Millisecond, 20 * time.Second, 2 * time.Second
	switch {
	case m.Measure > 0:
		return m.Measure
	case m.Budget == 0:
		return usual
	}
	each := time.Duration(share * float64(m.Budget) / float64(max(n*len(m.tasks), 1)))
	return min(max(each/3, least), most) // starting processes, checks and first scores take the rest
}

// field holds the candidates of the variants at one shape.
type field struct {
	problem    *native.Problem
	names      []string
	candidates []kernels.Candidate
	point      space.Point // of the baseline there
	seed       uint64      // of the checks
}

// plainName stands for the plain form beside the names of variants.
const plainName = "plain"

// enter makes candidates of the variants at a shape, those tuned nearest to it first.
func (m *maker) enter(ctx context.Context, t *task, fields []int64, out *measurement) (*field, error) {
	p, _, err := openLinked(t.kernel, t.Fixed, t.Called(fields))
	if err != nil {
		return nil, err
	}
	f := &field{problem: p, point: p.Presets()[0].Point}
	order := slices.Clone(t.variants)
	slices.SortStableFunc(order, func(a, b variant) int { return cmp.Compare(t.far(fields, a.Tuned), t.far(fields, b.Tuned)) })
	f.seed = kernels.Derive(m.Plan.Seed, "checks at "+t.Called(fields))
	for _, v := range order {
		c, err := adopt(p, v)
		if err != nil {
			out.Outside = append(out.Outside, v.Name)
			continue
		}
		f.names, f.candidates = append(f.names, v.Name), append(f.candidates, c)
	}
	return f, nil
}

// adopt makes a candidate of a variant at the shape of a problem. The error says that it is no point there.
func adopt(p *native.Problem, v variant) (kernels.Candidate, error) {
	point, err := v.at(p)
	return p.Adopt(v.source, point), err
}

// at returns the point whose cases code of a variant is checked on. Those of tune's kernels are the same for all points.
func (v variant) at(p *native.Problem) (space.Point, error) {
	if v.source.Takes == "" {
		return p.PointOf(v.source)
	}
	return p.Space().Parse(v.Key)
}

// measure checks the variants at a shape, and finds out what they cost there. What takes turns takes limit at most, roughly.
func (m *maker) measure(ctx context.Context, t *task, fields []int64, limit time.Duration) (measurement, *field, error) {
	out := measurement{Fields: fields}
	f, err := m.enter(ctx, t, fields, &out)
	if err != nil || len(f.names) == 0 {
		return out, f, err
	}
	if slices.ContainsFunc(f.candidates, func(c kernels.Candidate) bool { return !native.Surveys(c) }) {
		out.Costs, err = f.byThemselves(ctx, t, &out, limit)
	} else {
		out.Costs, err = f.survey(ctx, t, &out, limit)
	}
	if err != nil {
		return out, nil, err
	}
	return out, f, nil
}

// survey checks and measures all candidates in short turns. Where one of them was tuned they are checked on all cases, elsewhere on the shape and a few
// others: each has had all cases before, with other inputs.
func (f *field) survey(ctx context.Context, t *task, out *measurement, limit time.Duration) ([]measured, error) {
	found, err := f.problem.Survey(ctx, f.candidates, native.Survey{Seed: f.seed, Whole: t.variantAt(out.Fields), Limit: limit})
	if err != nil {
		return nil, fmt.Errorf("%s: turns at %s: %w", t.Function, t.Called(out.Fields), err)
	}
	var list []measured
	for i, one := range found {
		if one.Err != nil {
			out.Refused = append(out.Refused, refused{f.names[i], one.Err.Error()})
			continue
		}
		list = append(list, measured{Variant: f.names[i], Cost: one.Cost})
	}
	return list, f.some(t, out, len(list))
}

// some is an error where none of the candidates is left.
func (f *field) some(t *task, out *measurement, left int) error {
	if left == 0 {
		return fmt.Errorf("%s: no variant is right at %s: %s", t.Function, t.Called(out.Fields), out.Refused[0].Reason)
	}
	return nil
}

// byThemselves checks and scores candidates of which some have several threads, each by itself, as in a search. Those that fall far behind are given up
// early. The fastest few meet again in turns. Scores after the first take limit at most, and the turns half of it.
func (f *field) byThemselves(ctx context.Context, t *task, out *measurement, limit time.Duration) ([]measured, error) {
	f.problem.Brief() // the first scores tell which ones take turns, and those are measured in full
	if err := f.check(ctx, t, out); err != nil {
		return nil, err
	}
	costs, err := f.score(ctx, t, out, limit)
	if err != nil {
		return nil, err
	}
	close := f.close(costs)
	if len(close) < 2 {
		return costs, nil
	}
	again, err := f.compare(ctx, t, out, close, limit/2)
	return merge(costs, again), err
}

// check checks the candidates, and leaves out those that are wrong.
func (f *field) check(ctx context.Context, t *task, out *measurement) error {
	var names []string
	var right []kernels.Candidate
	for i, c := range f.candidates {
		err := c.Check(ctx, f.seed)
		if r := kernels.AsRejection(err); r != nil {
			out.Refused = append(out.Refused, refused{f.names[i], r.Error()})
			continue
		}
		if err != nil {
			return err
		}
		names, right = append(names, f.names[i]), append(right, c)
	}
	f.names, f.candidates = names, right
	return f.some(t, out, len(names))
}

// variantAt reports whether a variant was tuned at a shape.
func (t *task) variantAt(fields []int64) bool {
	return slices.ContainsFunc(t.variants, func(v variant) bool { return slices.Equal(v.Tuned, fields) })
}

// How often candidates are scored: at most so many times, and no more when the two least scores agree. Those that cost so many times as much
// as the fastest are scored once.
const (
	mostScores = 4
	agreeBy    = 1.05
	farBehind  = 5
)

// score measures each candidate by itself. The core may be slow throughout a score, by up to a half, because other machines use it too. So
// candidates that are not far behind are scored again, each after all others, until two scores agree or limit has passed. The least cost
// counts: nothing makes code faster than it is.
func (f *field) score(ctx context.Context, t *task, out *measurement, limit time.Duration) ([]measured, error) {
	costs := make([][]float64, len(f.candidates)) // ascending; empty for those that were refused
	again := func(i int, fastest float64) bool {
		c := costs[i]
		return len(c) > 0 && c[0] <= farBehind*fastest && (len(c) == 1 || c[1] > agreeBy*c[0])
	}
	var began time.Time
	for round := range mostScores {
		fastest := math.Inf(1)
		for _, c := range costs {
			if len(c) > 0 {
				fastest = min(fastest, c[0])
			}
		}
		for i, c := range f.candidates {
			if round > 0 && (!again(i, fastest) || time.Since(began) >= limit) {
				continue
			}
			score, err := c.Score(ctx, 0)
			if r := kernels.AsRejection(err); r != nil {
				out.Refused = append(out.Refused, refused{f.names[i], r.Error()})
				costs[i] = nil
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("%s: the variant %s at %s: %w", t.Function, f.names[i], t.Called(out.Fields), err)
			}
			costs[i] = append(costs[i], score.Cost)
			slices.Sort(costs[i])
		}
		if round == 0 {
			began = time.Now()
		}
	}
	var list []measured
	for i, c := range costs {
		if len(c) > 0 {
			list = append(list, measured{Variant: f.names[i], Cost: c[0]})
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s: no variant could be measured at %s: %s", t.Function, t.Called(out.Fields), out.Refused[0].Reason)
	}
	return list, nil
}

// close returns the candidates that may be the fastest, by what each costs by itself: those near the least cost, the fastest first, and
// no more than a few.
func (f *field) close(costs []measured) (out []int) {
	costs = slices.Clone(costs)
	slices.SortStableFunc(costs, func(a, b measured) int { return cmp.Compare(a.Cost, b.Cost) })
	for _, c := range costs[:min(len(costs), mostClose)] {
		if c.Cost <= closeBy*costs[0].Cost {
			out = append(out, slices.Index(f.names, c.Variant))
		}
	}
	return out
}

// Which candidates meet again in turns: those that look at most so much slower than the fastest, and at most so many.
const (
	closeBy   = 1.1
	mostClose = 4
)

// merge replaces costs by those of a series of turns, in which fewer took part. If the machine has changed its pace since, the others
// are scaled by what those that took part cost before and cost now.
func merge(first, again []measured) []measured {
	out := slices.Clone(again)
	before, now := 0.0, 0.0
	for _, a := range again {
		for _, b := range first {
			if a.Variant == b.Variant {
				before, now = before+b.Cost, now+a.Cost
			}
		}
	}
	for _, b := range first {
		if !slices.ContainsFunc(again, func(a measured) bool { return a.Variant == b.Variant }) {
			b.Cost *= now / before
			out = append(out, b)
		}
	}
	return out
}

// compare measures some candidates in turns; the others are compared with the first of them.
func (f *field) compare(ctx context.Context, t *task, out *measurement, which []int, limit time.Duration) ([]measured, error) {
	var rest []kernels.Candidate
	for _, i := range which[1:] {
		rest = append(rest, f.candidates[i])
	}
	base := f.names[which[0]]
	if len(rest) == 0 {
		score, err := f.candidates[which[0]].Score(ctx, 0)
		if err != nil {
			return nil, fmt.Errorf("%s: the variant %s at %s: %w", t.Function, base, t.Called(out.Fields), err)
		}
		return []measured{{Variant: base, Cost: score.Cost, Ratio: 1, Low: 1, High: 1}}, nil
	}
	final, err := f.problem.Compare(ctx, f.candidates[which[0]], rest, kernels.Series{Limit: limit, Seed: kernels.Derive(uint64(len(which)), t.Called(out.Fields))})
	if err != nil {
		return nil, fmt.Errorf("%s: the variant %s at %s: %w", t.Function, base, t.Called(out.Fields), err)
	}
	var costs []measured
	for n, c := range final.Comparisons {
		name := f.names[which[n+1]]
		if c.Err != nil {
			out.Refused = append(out.Refused, refused{name, c.Err.Error()})
			continue
		}
		if !(c.Ratio > 0) { // no pair of turns was plausible: the score stands
			continue
		}
		if len(costs) == 0 {
			costs = append(costs, measured{Variant: base, Cost: c.Baseline, Ratio: 1, Low: 1, High: 1, Pairs: c.Pairs})
		}
		out.Unverified = out.Unverified || c.Unverified
		costs = append(costs, measured{Variant: name, Cost: costs[0].Cost / c.Ratio, Ratio: c.Ratio, Low: c.Low, High: c.High, Pairs: c.Pairs})
	}
	if len(costs) == 0 { // all others failed
		return f.compare(ctx, t, out, which[:1], limit)
	}
	return costs, nil
}

// confirm measures two variants again, by themselves.
func (f *field) confirm(ctx context.Context, t *task, fields []int64, choice, best string, limit time.Duration) (*confirmed, bool, error) {
	b := f.candidates[slices.Index(f.names, best)]
	a := f.problem.Wrap(t.linkage.Plain, f.point)
	if choice == plainName {
		if err := a.Check(ctx, kernels.Derive(2, t.Called(fields))); err != nil {
			return nil, false, fmt.Errorf("%s: the plain form at %s: %w", t.Function, t.Called(fields), err)
		}
	} else {
		a = f.candidates[slices.Index(f.names, choice)]
	}
	final, err := f.problem.Compare(ctx, a, []kernels.Candidate{b}, kernels.Series{Limit: limit, Seed: kernels.Derive(1, t.Called(fields)), Confirm: true})
	if err != nil {
		return nil, false, fmt.Errorf("%s: the variant %s at %s: %w", t.Function, choice, t.Called(fields), err)
	}
	c := final.Comparisons[0]
	if c.Err != nil {
		return nil, false, nil
	}
	return &confirmed{Choice: choice, Best: best, Ratio: c.Ratio, Low: c.Low, High: c.High, Pairs: c.Pairs}, c.Unverified, nil
}

// at returns the last measurement of all variants at a shape in a role; nil where there is none.
func (t *task) at(role string, fields []int64) *measurement {
	for i, m := range slices.Backward(t.measured) {
		if m.Role == role && slices.Equal(m.Fields, fields) && t.covers(m) {
			return &t.measured[i]
		}
	}
	return nil
}

// before returns the last measurement of some variants at a training shape; nil where there is none. It says what was known there before the
// others came.
func (t *task) before(fields []int64) *measurement {
	for i, m := range slices.Backward(t.measured) {
		if m.Role == training && slices.Equal(m.Fields, fields) {
			return &t.measured[i]
		}
	}
	return nil
}

// covers reports whether a measurement has all variants.
func (t *task) covers(m measurement) bool {
	for _, v := range t.variants {
		if !slices.Contains(m.Outside, v.Name) && !slices.ContainsFunc(m.Costs, func(c measured) bool { return c.Variant == v.Name }) &&
			!slices.ContainsFunc(m.Refused, func(r refused) bool { return r.Variant == v.Name }) {
			return false
		}
	}
	return true
}

// keep appends a measurement to the file of the task, and syncs it.
func (t *task) keep(one measurement) error {
	line, err := json.Marshal(one)
	if err != nil {
		return err
	}
	if err = files.AppendLine(filepath.Join(t.dir, measuredName), line); err == nil {
		t.measured = append(t.measured, one)
	}
	return err
}

// readMeasured reads the measurements of a task. A last line that was cut off is left out, and removed with mend: who only reads must
// not take it from a tune that is writing it.
func readMeasured(path string, mend bool) (out []measurement, err error) {
	text, err := files.Read(path, mostPlan)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for n := 1; len(text) > 0; n++ {
		line, rest, whole := bytes.Cut(text, []byte("\n"))
		if !whole && !mend {
			return out, nil
		}
		if !whole {
			info, err := os.Stat(path)
			if err != nil {
				return nil, err
			}
			return out, files.Cut(path, info.Size()-int64(len(line)))
		}
		var m measurement
		if err := json.Unmarshal(line, &m); err != nil {
			return nil, fmt.Errorf("%s: line %d: %w: remove the line, and what it measured is measured again", path, n, err)
		}
		out, text = append(out, m), rest
	}
	return out, nil
}
