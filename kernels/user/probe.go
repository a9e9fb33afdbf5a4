package user

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"tune/kernels"
	"tune/kernels/native"
	"tune/space"
)

// probeSeeds returns the seeds of the inputs for trying the reference: one where all have the same.
func (p *SourceProblem) probeSeeds() []uint64 {
	if p.checking() == kernels.FixedInput {
		return []uint64{1}
	}
	return []uint64{1, 2, 3}
}

// probeBytes limits what is kept of the calls of a probe, besides the calls of a check.
const probeBytes = 2 << 30

// lengthPoints is how many random points are asked for the lengths of their outputs.
const lengthPoints = 64

// probePoints is how many further random points the reference is built at, to see whether its parameters matter.
const probePoints = 2

// Probe tries the reference on some inputs at the asked shape, and reports anything that makes a check prove less than it seems
// to: results of which all or nearly all are the same for all inputs, that are not numbers, not written, no larger than their
// tolerance, or that depend on parameters. An error is one of the reference, or of ctx.
//
// Nothing is timed at the same time, but candidates may be checked.
func (p *SourceProblem) Probe(ctx context.Context) (Faults, error) {
	if p.spec.s.reference.outputs != nil {
		return nil, nil
	}
	return p.probe(ctx, nil)
}

// Try is Telling and then Probe. With small buffers it makes the calls that both need once.
func (p *SourceProblem) Try(ctx context.Context) (Faults, error) {
	if p.spec.s.reference.outputs != nil || !p.Small() {
		if err := p.Telling(ctx); err != nil {
			return nil, err
		}
		return p.Probe(ctx)
	}
	return p.probe(ctx, p.spec.listen())
}

// probe is Probe. With a verdict, it is Telling too.
func (p *SourceProblem) probe(ctx context.Context, judge *verdict) (Faults, error) {
	s := p.spec
	release, err := s.host.Beside(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	seeds := p.probeSeeds()
	r := &reader{file: s.path}
	if one := 2 * s.asked.kept(); one > probeBytes/2 {
		r.warn(s.s.reference.node, "at this shape it was not seen whether inputs make a difference to its results: a smaller --shape shows it")
		return r.warnings, nil
	} else if n := int(probeBytes / one); n < len(seeds) {
		seeds = seeds[:n]
	}
	calls := &caller{s: s, ctx: ctx}
	defer calls.close()
	cases, results, err := s.attempt(ctx, calls, seeds)
	for i := range results {
		judge.hear(&results[i])
	}
	if err == nil || ctx.Err() != nil && len(results) >= tellingLeast {
		if untold := judge.faults(); untold != nil {
			return nil, untold
		}
	}
	if err != nil {
		return nil, err
	}
	s.noteOdd(r, cases, results)
	if err := s.noteKept(ctx, r, calls, cases, results); err != nil {
		return nil, err
	}
	s.noteUnwritten(r, results)
	s.noteLengths(r)
	if err := s.noteScalars(ctx, r, calls, cases[0], results[0]); err != nil {
		return nil, err
	}
	if err := s.probeVariation(ctx, r, calls, results[0].took); err != nil {
		return nil, err
	}
	if err := s.probeParameters(ctx, r, calls, cases[:1], results[0]); err != nil {
		return nil, err
	}
	return r.warnings.sorted(s.path), nil
}

// glanceBytes limits the buffers of a call of Glance.
const glanceBytes = 16 << 20

// Small reports whether the buffers of a call are so small that the reference may be tried while candidates are checked.
func (p *SourceProblem) Small() bool { return p.spec.asked.kept() <= glanceBytes }

// Glance is Probe as far as it costs no more than some calls of the reference with small buffers: it builds the reference at no
// other point. Of larger buffers it reports nothing. Where all inputs take longer than within, it judges by those that do not, or by one.
func (p *SourceProblem) Glance(ctx context.Context, within time.Duration) (Faults, error) {
	s := p.spec
	if s.s.reference.outputs != nil || !p.Small() {
		return nil, nil
	}
	release, err := s.host.Beside(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	r := &reader{file: s.path}
	s.noteLengths(r)
	calls := &caller{s: s, ctx: ctx}
	defer calls.close()
	limited, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	cases, results, err := s.attempt(limited, calls, p.probeSeeds())
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		if err = nil; len(results) == 0 {
			again := &caller{s: s, ctx: ctx} // the call that was too slow has ended the first one's process
			defer again.close()
			cases, results, err = s.attempt(ctx, again, p.probeSeeds()[:1])
		}
	}
	if err == nil {
		s.noteOdd(r, cases, results)
		if limited.Err() == nil {
			err = errors.Join(s.noteKept(ctx, r, calls, cases, results), s.noteScalars(ctx, r, calls, cases[0], results[0]))
		}
	}
	return r.warnings.sorted(s.path), err
}

// attempt calls the reference on the inputs of each seed. Where it fails, it returns the results that it has.
func (s *sourceSpec) attempt(ctx context.Context, calls *caller, seeds []uint64) (cases []native.Case, results []outcome, err error) {
	for _, seed := range seeds {
		inputs, err := s.s.inputs(s.asked, seed, true)
		if err != nil {
			return cases, results, s.s.explain(err)
		}
		one := native.Case{Name: s.asked.label, Dims: s.asked.dims, Buffers: s.asked.buffers, Inputs: inputs}
		got, err := calls.compute(ctx, s.standard, []native.Case{one})
		if ended := ctx.Err(); err != nil && ended != nil {
			return cases, results, ended
		}
		if err != nil {
			return cases, results, s.referenceError(err)
		}
		cases, results = append(cases, one), append(results, got...)
	}
	return cases, results, nil
}

// noteOdd warns of what is odd about the results of the reference in some calls.
func (s *sourceSpec) noteOdd(r *reader, cases []native.Case, results []outcome) {
	for i, b := range s.asked.buffers {
		if b.Mode == native.In {
			continue
		}
		a := s.s.arguments[s.asked.index[i]]
		text := odd(b, i, cases, results)
		if text == "" {
			text = tooWide(b, i, a.tolerance, cases, results)
		}
		if text != "" {
			r.warn(a.node, "%s", text)
		}
	}
}

// written are the elements of a buffer that the reference writes in some of several calls.
type written struct {
	n       int    // how many
	alike   int    // how many of them are the same in all calls
	nans    int    // how many are not numbers in the first call
	uniform bool   // whether all that the first call writes are the same
	value   string // of one that the first call writes
}

// writtenIn looks at buffer i after each of some calls.
func writtenIn(b native.Buffer, i int, results []outcome) (w written) {
	w.uniform = true
	size := b.Elem.Size()
	var first []byte // that the first call writes
	for e := range b.Len {
		one := results[0].element(i, e, size)
		some, alike := one != nil, true
		for k := 1; k < len(results); k++ {
			other := results[k].element(i, e, size)
			some, alike = some || other != nil, alike && bytes.Equal(one, other)
		}
		if some {
			w.n++
		}
		if some && alike {
			w.alike++
		}
		if one == nil {
			continue
		}
		if floating(b.Elem) && math.IsNaN(decode(one, b.Elem)) {
			w.nans++
		}
		if first == nil {
			first, w.value = one, show(one, b.Elem, 0)
		}
		w.uniform = w.uniform && bytes.Equal(one, first)
	}
	return w
}

// odd says what is odd about the content of buffer i after each of some calls, or returns "".
func odd(b native.Buffer, i int, cases []native.Case, results []outcome) string {
	w := writtenIn(b, i, results)
	switch {
	case w.n == 0:
		return fmt.Sprintf("the reference writes nothing to %s (inputs tried: %d): nothing of it is compared, and a candidate that leaves it out is right", b.Name, len(cases))
	case w.nans > 0:
		return fmt.Sprintf("the reference writes NaN to %d of the %d elements of %s: a candidate that does the same is right there", w.nans, b.Len, b.Name)
	}
	unchanged := b.Mode == native.InOut
	for k, c := range cases {
		unchanged = unchanged && bytes.Equal(results[k].buffers[i], c.Inputs[i])
	}
	if unchanged {
		return fmt.Sprintf("the reference leaves %s as it is: a candidate that does nothing is right", b.Name)
	}
	same := w.alike == w.n
	const remedy = "a candidate that reads nothing may pass for right; change the fills, or what is compared"
	switch {
	case same && len(cases) > 1 && (w.uniform || w.n == 1):
		return fmt.Sprintf("the reference writes %s to all of %s, whatever its inputs are (%d were tried): %s", w.value, b.Name, len(cases), remedy)
	case same && len(cases) > 1:
		return fmt.Sprintf("the reference writes the same to %s, whatever its inputs are (%d were tried): %s", b.Name, len(cases), remedy)
	case len(cases) > 1 && 100*w.alike >= 99*w.n:
		return fmt.Sprintf("the reference writes the same to %d of the %d elements of %s, whatever its inputs are (%d were tried): there a candidate that reads nothing is right; change the fills, or what is compared",
			w.alike, w.n, b.Name, len(cases))
	case same && w.uniform && w.n > 1:
		return fmt.Sprintf("the reference writes %s to all of %s: %s", w.value, b.Name, remedy)
	}
	return ""
}

// noteKept warns of a reference whose result depends on the calls before: it gives another one on the last of some inputs in a process that
// has called nothing yet. The right candidate is wrong then. A reference whose calls are long is not called again.
func (s *sourceSpec) noteKept(ctx context.Context, r *reader, calls *caller, cases []native.Case, results []outcome) error {
	last := len(results) - 1
	if last < 1 || results[last].took > variationTime {
		return nil
	}
	calls.afresh()
	again, err := calls.compute(ctx, s.standard, cases[last:last+1])
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return s.referenceError(err)
	}
	_, err = s.s.verify(s.asked, again[0].buffers, results[last])
	if unlike := kernels.AsRejection(err); unlike != nil {
		r.warn(s.s.reference.node, "function %s does not always give the same result on the same inputs: in a process of its own %v. It keeps something between calls, or is random, so that right candidates may be wrong: let it compute everything from its arguments",
			s.s.reference.function, unlike.Reason)
		return nil
	}
	return err
}

// noteUnwritten says how many elements of each output the reference leaves unwritten, where it writes others.
func (s *sourceSpec) noteUnwritten(r *reader, results []outcome) {
	for i, b := range s.asked.buffers {
		n := 0
		for _, is := range results[0].unwritten[i] {
			if is {
				n++
			}
		}
		if n > 0 && n < b.Len {
			r.warn(s.s.arguments[s.asked.index[i]].node, "the reference leaves %d of the %d elements of %s unwritten: there nothing is compared", n, b.Len, b.Name)
		}
	}
}

// noteLengths warns of an output that is much shorter at another point than at the baseline: a call does less work there, and calls are
// what the search compares.
func (s *sourceSpec) noteLengths(r *reader) {
	rng := rand.New(rand.NewPCG(1, 0))
	for range lengthPoints {
		p, err := s.space.Sample(rng)
		if err != nil {
			return // points of this space are hard to draw
		}
		c, err := s.s.shapeCase(p, s.constants)
		if err != nil {
			continue
		}
		for i, b := range c.buffers {
			// Padding makes less of a difference.
			if asked := s.asked.buffers[i]; b.Mode != native.In && 4*b.Len < 3*asked.Len {
				r.warn(s.s.arguments[c.index[i]].node, "%s has %d elements with %s, and %d at the baseline: a call does less work there, and is compared as if it did the same; write a length that no parameter makes shorter",
					b.Name, b.Len, p.Key(), asked.Len)
				return
			}
		}
	}
}

// noteScalars warns of a scalar that parameters give other values, where the results of the reference depend on it: a call does other work at
// another point, and calls are what the search compares. one is a call at the baseline, and want its result.
func (s *sourceSpec) noteScalars(ctx context.Context, r *reader, calls *caller, one native.Case, want outcome) error {
	if want.took > variationTime {
		return nil
	}
	rng := rand.New(rand.NewPCG(1, 0))
	tried := [][]int64{s.asked.dims}
	for range lengthPoints {
		p, err := s.space.Sample(rng)
		if err != nil {
			return nil // points of this space are hard to draw
		}
		c, err := s.s.shapeCase(p, s.constants)
		known := func(dims []int64) bool { return slices.Equal(dims, c.dims) }
		if err != nil || !slices.Equal(c.buffers, s.asked.buffers) || slices.ContainsFunc(tried, known) {
			continue
		}
		if tried = append(tried, c.dims); len(tried) > 1+probePoints {
			return nil
		}
		one.Dims = c.dims
		differs := func() bool {
			got, err := calls.compute(ctx, s.standard, []native.Case{one})
			if err == nil {
				_, err = s.s.verify(s.asked, got[0].buffers, want)
			}
			return kernels.AsRejection(err) != nil && ctx.Err() == nil
		}
		different := differs()
		if different {
			calls.afresh() // what an earlier call left in the process is not the reason
			different = differs()
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if different {
			s.warnScalar(r, p, c)
			return nil
		}
	}
	return nil
}

// warnScalar says which scalar has another value in a call at a point than at the baseline, and that the results depend on it.
func (s *sourceSpec) warnScalar(r *reader, p space.Point, c call) {
	i := 0
	for _, a := range s.s.arguments {
		if !a.scalar {
			continue
		}
		if c.dims[i] != s.asked.dims[i] {
			here, _ := a.value.number(c.values)
			there, _ := a.value.number(s.asked.values)
			r.warn(a.node, "%s is %v with %s, and %v at the baseline, and function %s gives other results for that: a call does other work there, and is compared as if it did the same; write a value that no parameter changes, or one on which no result depends",
				a.name, here, p.Key(), there, s.s.reference.function)
			return
		}
		i++
	}
}

// The variation of inputs is tried with calls of the reference that are neither long nor large.
const (
	variationTries  = 5                      // of each kind in a round
	variationRounds = 4                      // at most: one that finds no difference is the last
	variationTime   = 200 * time.Millisecond // of a call
	// anotherWay is how many times as long as another one a call takes that does something else.
	anotherWay = 3
)

// probeVariation warns where a call of the reference takes much more or much less time on inputs that vary as in timed calls than on
// those of the file: it may refuse them. took is the time of a call.
func (s *sourceSpec) probeVariation(ctx context.Context, r *reader, calls *caller, took time.Duration) error {
	if took > variationTime || s.asked.kept() > glanceBytes {
		return nil
	}
	var varied []string
	// The least time is the one that other work on the machine has disturbed least. A busy machine can disturb a whole round of short calls.
	least := [2]time.Duration{math.MaxInt64, math.MaxInt64}
	for round := range uint64(variationRounds) {
		cases, names, err := s.variedCases(round * variationTries)
		if err != nil || names == nil {
			return err
		}
		varied = names
		results, err := calls.compute(ctx, s.standard, cases)
		if ended := ctx.Err(); ended != nil {
			return ended
		}
		if err != nil {
			return s.variedError(varied, err)
		}
		for i, o := range results {
			least[i%2] = min(least[i%2], o.took)
		}
		if least[0] < anotherWay*least[1] && least[1] < anotherWay*least[0] {
			return nil
		}
	}
	i := slices.IndexFunc(s.s.arguments, func(a argument) bool { return a.name == varied[0] })
	r.warn(s.s.arguments[i].node, "a call of the reference takes %v on the numbers of the file, and %v in timed calls, where %s: it takes another way there, perhaps that of an error; write vary: false if other numbers do not occur",
		least[0].Round(100*time.Nanosecond), least[1].Round(100*time.Nanosecond), variedText(varied))
	return nil
}

// variedCases returns inputs of the file and inputs that vary as in timed calls, in turns, and the names of those that vary; nil where none does.
func (s *sourceSpec) variedCases(seed uint64) (cases []native.Case, varied []string, err error) {
	for i := range uint64(variationTries) {
		inputs, names, err := s.draw(s.asked, seed+i)
		if err != nil || names == nil {
			return nil, nil, err
		}
		file, err := s.s.inputs(s.asked, seed+i, true)
		if err != nil {
			return nil, nil, s.s.explain(err)
		}
		varied = names
		for _, in := range [][][]byte{file, inputs} {
			cases = append(cases, native.Case{Name: s.asked.label, Dims: s.asked.dims, Buffers: s.asked.buffers, Inputs: in})
		}
	}
	return cases, varied, nil
}

// probeParameters warns where the results of the reference differ at other points from those with the values that it is compiled
// with, unless the file states these values.
func (s *sourceSpec) probeParameters(ctx context.Context, r *reader, calls *caller, cases []native.Case, want outcome) error {
	ref := s.s.reference
	if len(ref.parameters) > 0 {
		return nil
	}
	rng := rand.New(rand.NewPCG(1, 0))
	for range probePoints {
		p, err := s.space.Sample(rng)
		if err != nil {
			return nil // points of this space are hard to draw
		}
		c, err := s.s.shapeCase(p, s.constants)
		if err != nil || !slices.Equal(c.dims, s.asked.dims) || !slices.Equal(c.buffers, s.asked.buffers) {
			continue // a different call
		}
		differs := func() bool {
			got, err := calls.compute(ctx, s.s.standardAt(p, s.standard.compiler, s.constants), cases)
			if err == nil {
				_, err = s.s.verify(s.asked, got[0].buffers, want)
				return err != nil
			}
			return false // it is never built there
		}
		different := differs()
		if different {
			calls.afresh() // what an earlier call left in the process is not the reason
			different = differs()
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if different {
			r.warn(ref.node, "function %s gives other results with %s than with %s, the values that it is compiled with: state those that are meant in reference.parameters, or take a function that uses no parameter",
				ref.function, p.Key(), s.standard.point.Key())
			return nil
		}
	}
	return nil
}
