package user

import (
	"bytes"
	"context"
	"math"
	"slices"
	"time"

	"tune/kernels"
	"tune/kernels/native"
	"tune/space"
)

// results returns the inputs of a seed at the asked shape, and what the reference leaves there.
func (s *sourceSpec) results(ctx context.Context, seed uint64) (inputs [][]byte, result outcome, err error) {
	release, err := s.host.Beside(ctx)
	if err != nil {
		return nil, result, err
	}
	defer release()
	if inputs, err = s.s.inputs(s.asked, seed, true); err != nil {
		return nil, result, s.s.explain(err)
	}
	c := native.Case{Name: s.asked.label, Dims: s.asked.dims, Buffers: s.asked.buffers, Inputs: inputs}
	all, err := s.expected(ctx, []call{s.asked}, []native.Case{c})
	if err != nil {
		return nil, result, err
	}
	return inputs, all[0], nil
}

// Telling tries the reference for tellingTime, and on tellingLeast inputs however long that takes. One that is fine needs the first input
// alone: a run waits for one call of a slow reference more than for its checks, and no longer than its budget lasts (the session sees to that).
const (
	tellingTime  = 10 * time.Second
	tellingLeast = 2
)

// Telling reports outputs that cannot tell a right candidate from a wrong one: those to which the reference writes only NaN on all
// inputs tried, and all outputs where it writes to none of them. Errors are Faults, or that of ctx. A reference that fails is no
// error here: the baseline fails because of it. Once it found nothing, it makes no calls again.
func (p *SourceProblem) Telling(ctx context.Context) error {
	p.mu.Lock()
	told := p.told
	p.mu.Unlock()
	if told {
		return nil
	}
	err := p.telling(ctx, tellingTime)
	if err == nil {
		p.mu.Lock()
		p.told = true
		p.mu.Unlock()
	}
	return err
}

// telling is Telling, with the time after which no further input is tried.
func (p *SourceProblem) telling(ctx context.Context, within time.Duration) error {
	s := p.spec
	judge := s.listen()
	limited, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for _, seed := range p.probeSeeds() {
		trying := ctx
		if judge.tried >= tellingLeast {
			trying = limited
		}
		_, result, err := s.results(trying, seed)
		if err != nil && limited.Err() != nil && ctx.Err() == nil && judge.tried >= tellingLeast {
			break
		}
		if err != nil {
			return ctx.Err()
		}
		if judge.hear(&result) {
			return nil
		}
	}
	return judge.faults()
}

// verdict is what calls of the reference say of the outputs. A nil one hears nothing, and finds no fault.
type verdict struct {
	s          *sourceSpec
	told, nans []bool // by buffer
	tried      int    // calls
}

// listen returns a verdict that has heard nothing yet.
func (s *sourceSpec) listen() *verdict {
	return &verdict{s: s, told: make([]bool, len(s.asked.buffers)), nans: make([]bool, len(s.asked.buffers))}
}

// hear adds what a call left, and reports whether all outputs have told something by now.
func (v *verdict) hear(result *outcome) (all bool) {
	if v == nil {
		return true
	}
	v.tried++
	all = true
	for _, i := range v.s.outputs() {
		if !v.told[i] {
			var nan bool
			v.told[i], nan = tells(v.s.asked.buffers[i], i, result)
			v.nans[i] = v.nans[i] || nan
		}
		all = all && v.told[i]
	}
	return all
}

// faults returns what is wrong with outputs that have told nothing, as Faults, or nil.
func (v *verdict) faults() error {
	if v == nil {
		return nil
	}
	s := v.s
	r := &reader{file: s.path}
	none := !slices.Contains(v.told, true)
	for _, i := range s.outputs() {
		node, name := s.s.arguments[s.asked.index[i]].node, s.asked.buffers[i].Name
		switch {
		case v.told[i]:
		case v.nans[i]:
			r.fault(node, "the reference writes only NaN to %s (inputs tried: %d), and a candidate that does the same is right: change the fills so that its results are numbers, or correct the reference", name, v.tried)
		case none:
			r.fault(node, "the reference writes nothing to %s (inputs tried: %d), and a number to no other output: every candidate would be right; correct the reference, or the access of this argument", name, v.tried)
		}
	}
	if len(r.faults) > 0 {
		return r.faults.sorted(s.path)
	}
	return nil
}

// outputs returns the indices of the buffers that are compared.
func (s *sourceSpec) outputs() (out []int) {
	for i, b := range s.asked.buffers {
		if b.Mode != native.In {
			out = append(out, i)
		}
	}
	return out
}

// tells reports whether a call of the reference writes something to buffer i that is not NaN, and whether what it writes is NaN.
func tells(b native.Buffer, i int, result *outcome) (told, nan bool) {
	size := b.Elem.Size()
	for e := range b.Len {
		one := result.element(i, e, size)
		if one == nil {
			continue
		}
		if !floating(b.Elem) || !math.IsNaN(decode(one, b.Elem)) {
			return true, false
		}
		nan = true
	}
	return false, nan
}

// weak returns the outputs of which checks on the inputs of the given seeds prove little. It calls the reference until every output
// has shown that it is none of them.
func (p *SourceProblem) weak(ctx context.Context, seeds []uint64) ([]space.WeakOutput, error) {
	s := p.spec
	outputs := s.outputs()
	constant, unchanged, unwritten := map[int]bool{}, map[int]bool{}, map[int]bool{}
	var first outcome
	tried := 0
	for _, seed := range p.checking().Claimed(seeds) {
		inputs, result, err := s.results(ctx, seed)
		if ended := ctx.Err(); err != nil && ended != nil {
			return nil, ended
		}
		if err != nil {
			return nil, s.referenceError(err)
		}
		if tried++; tried == 1 {
			first = result
		}
		some := false
		for _, i := range outputs {
			b := s.asked.buffers[i]
			begun := tried == 1
			constant[i] = begun || constant[i] && slices.Equal(first.unwritten[i], result.unwritten[i]) &&
				bytes.Equal(first.compared(i, result.buffers[i], b.Elem), first.buffers[i])
			unchanged[i] = (begun || unchanged[i]) && b.Mode == native.InOut && bytes.Equal(inputs[i], result.buffers[i])
			unwritten[i] = (begun || unwritten[i]) && result.unwritten[i] != nil && !slices.Contains(result.unwritten[i], false)
			some = some || constant[i] || unchanged[i] || unwritten[i]
		}
		if !some {
			return nil, nil
		}
	}
	var out []space.WeakOutput
	for _, i := range outputs {
		name := s.asked.buffers[i].Name
		switch {
		case unwritten[i]:
			out = append(out, space.WeakOutput{Output: name, Kind: space.Unwritten})
		case unchanged[i]:
			out = append(out, space.WeakOutput{Output: name, Kind: space.Unchanged})
		case constant[i] && tried > 1 && p.checking() == kernels.FreshInputs:
			out = append(out, space.WeakOutput{Output: name, Kind: space.Constant})
		}
	}
	return out, nil
}
