package user

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"tune/kernels"
	"tune/kernels/native"
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

// probePoints is how many further random points the reference is built at, to see whether its parameters matter.
const probePoints = 2

// Probe tries the reference on some inputs at the asked shape, and reports anything that makes a check prove less than it seems
// to: results of which all or nearly all are the same for all inputs, that are not numbers, that are no larger than their
// tolerance, or that depend on parameters. An error is one of the reference, or of ctx.
func (p *SourceProblem) Probe(ctx context.Context) (Faults, error) {
	s := p.spec
	if s.s.reference.outputs != nil {
		return nil, nil
	}
	seeds := p.probeSeeds()
	r := &reader{file: s.path}
	if one := 2 * s.asked.kept(); one > probeBytes/2 {
		r.warn(s.s.reference.node, "at this shape it was not seen whether inputs make a difference to its results: a smaller --shape shows it")
		return r.warnings, nil
	} else if n := int(probeBytes / one); n < len(seeds) {
		seeds = seeds[:n]
	}
	cases, results, err := s.attempt(ctx, r, seeds)
	if err != nil {
		return nil, err
	}
	if err := s.probeParameters(ctx, r, cases[:1], results[0]); err != nil {
		return nil, err
	}
	return r.warnings.sorted(s.path), nil
}

// glanceBytes limits the buffers of a call of Glance.
const glanceBytes = 16 << 20

// Glance is Probe as far as it costs no more than some calls of the reference with small buffers: it builds the reference at no
// other point. Of larger buffers it reports nothing.
func (p *SourceProblem) Glance(ctx context.Context) (Faults, error) {
	s := p.spec
	if s.s.reference.outputs != nil || s.asked.kept() > glanceBytes {
		return nil, nil
	}
	r := &reader{file: s.path}
	_, _, err := s.attempt(ctx, r, p.probeSeeds())
	return r.warnings.sorted(s.path), err
}

// attempt calls the reference on the inputs of each seed, and warns of what is odd about its results.
func (s *sourceSpec) attempt(ctx context.Context, r *reader, seeds []uint64) (cases []native.Case, results [][][]byte, err error) {
	cases = make([]native.Case, len(seeds))
	for i, seed := range seeds {
		inputs, err := s.s.inputs(s.asked, seed, true)
		if err != nil {
			return nil, nil, s.s.explain(err)
		}
		cases[i] = native.Case{Name: s.asked.name, Dims: s.asked.dims, Buffers: s.asked.buffers, Inputs: inputs}
	}
	if results, err = s.compute(ctx, s.standard, cases); err != nil {
		if ended := ctx.Err(); ended != nil {
			return nil, nil, ended
		}
		return nil, nil, s.referenceError(err)
	}
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
	return cases, results, nil
}

// odd says what is odd about the content of buffer i after each of some calls, or returns "".
func odd(b native.Buffer, i int, cases []native.Case, results [][][]byte) string {
	first := results[0][i]
	size := b.Elem.Size()
	nans := 0
	for at := 0; floating(b.Elem) && at < len(first); at += size {
		if math.IsNaN(decode(first[at:at+size], b.Elem)) {
			nans++
		}
	}
	if nans > 0 {
		return fmt.Sprintf("of the %d elements of %s the reference leaves %d without a number (NaN, which is also what an unwritten buffer holds): a candidate that writes nothing there passes too",
			b.Len, b.Name, nans)
	}
	unchanged := b.Mode == native.InOut
	for k, c := range cases {
		unchanged = unchanged && bytes.Equal(results[k][i], c.Inputs[i])
	}
	if unchanged {
		return fmt.Sprintf("the reference leaves %s as it is: a candidate that does nothing is right", b.Name)
	}
	alike := alikeElements(i, size, results)
	same := alike == b.Len
	uniform := b.Len > 1 && bytes.Equal(first[size:], first[:len(first)-size])
	const remedy = "a candidate that reads nothing may pass for right; change the fills, or what is compared"
	switch {
	case same && len(cases) > 1 && (uniform || b.Len == 1):
		return fmt.Sprintf("the reference writes %s to all of %s, whatever its inputs are (%d were tried): %s", show(first, b.Elem, 0), b.Name, len(cases), remedy)
	case same && len(cases) > 1:
		return fmt.Sprintf("the reference writes the same to %s, whatever its inputs are (%d were tried): %s", b.Name, len(cases), remedy)
	case len(cases) > 1 && 100*alike >= 99*b.Len:
		return fmt.Sprintf("the reference writes the same to %d of the %d elements of %s, whatever its inputs are (%d were tried): there a candidate that reads nothing is right; change the fills, or what is compared",
			alike, b.Len, b.Name, len(cases))
	case same && uniform:
		return fmt.Sprintf("the reference writes %s to all of %s: %s", show(first, b.Elem, 0), b.Name, remedy)
	}
	return ""
}

// tooWide says that the tolerance of buffer i accepts a buffer that nobody has computed, after each of some calls, or returns "".
func tooWide(b native.Buffer, i int, t tolerance, cases []native.Case, results [][][]byte) string {
	accepts := func(content func(k int) []byte) bool {
		for k := range cases {
			if _, _, wrong := compare(content(k), results[k][i], b.Elem, t, new(kernels.Deviation)); wrong > 0 {
				return false
			}
		}
		return true
	}
	const remedy = "narrow absolute and relative in reference.tolerance, or in the tolerance of this argument"
	if b.Mode == native.InOut && accepts(func(k int) []byte { return cases[k].Inputs[i] }) {
		return fmt.Sprintf("the tolerance of %s is as large as what the reference changes: a candidate that leaves it as it is passes; %s", b.Name, remedy)
	}
	zeros := make([]byte, b.Bytes())
	if accepts(func(int) []byte { return zeros }) {
		return fmt.Sprintf("the tolerance of %s is as large as its results: an output of zeros passes; %s", b.Name, remedy)
	}
	return ""
}

// alikeElements returns how many elements of buffer i are the same in all results.
func alikeElements(i, size int, results [][][]byte) (n int) {
	first := results[0][i]
	for at := 0; at < len(first); at += size {
		element := first[at : at+size]
		if !slices.ContainsFunc(results[1:], func(r [][]byte) bool { return !bytes.Equal(r[i][at:at+size], element) }) {
			n++
		}
	}
	return n
}

// probeParameters warns where the results of the reference differ at other points from those with the values that it is compiled
// with, unless the file states these values.
func (s *sourceSpec) probeParameters(ctx context.Context, r *reader, cases []native.Case, want [][]byte) error {
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
		got, err := s.compute(ctx, s.s.standardAt(p, s.standard.compiler, s.constants), cases)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			continue // it is never built there
		}
		if _, err := s.s.verify(s.asked, got[0], want); err != nil {
			r.warn(ref.node, "function %s gives other results with %s than with %s, the values that it is compiled with: state those that are meant in reference.parameters, or take a function that uses no parameter",
				ref.function, p.Key(), s.standard.point.Key())
			return nil
		}
	}
	return nil
}
