package native

import (
	"bytes"
	"context"
	"time"

	"tune/kernels"
	"tune/kernels/native/timing"
	"tune/space"
)

// Reshaper is implemented by a Varier that can change how the numbers of its inputs are distributed. All contents of timed calls have one
// distribution, so that they are alike in what many numbers have in common: the largest one, the norm, the share of those above 0. A
// candidate that keeps that from its first call is right in all of these calls, within the tolerance.
type Reshaper interface {
	// Reshape returns inputs like those of a variant, but with another distribution, and a note for messages about a call on them. It
	// returns no inputs where they would be the same. It leaves those that it is given as they are.
	Reshape(p space.Point, inputs [][]byte, seed uint64) (reshaped [][]byte, note string, err error)
}

// reshapedNumber is the number of the seed of reshaped inputs. No content has it.
const reshapedNumber = 1<<30 + 1

// reshaped are inputs with another distribution than those of timed calls.
type reshaped struct {
	inputs [][]byte
	note   string
}

// addReshaped adds inputs with another distribution. They need no reference: the candidate itself, loaded anew, is that.
func (v *variants) addReshaped(p *Problem, c *candidate, seed uint64) error {
	r, ok := as[Reshaper](p.spec)
	if !ok || !v.differ {
		return nil
	}
	inputs, note, err := r.Reshape(c.point, v.cases[0].Inputs, variantSeed(seed, reshapedNumber))
	if err == nil && inputs != nil {
		v.reshaped = &reshaped{inputs, note}
	}
	return err
}

// verifyReshaped calls the candidate, which has been timed, on inputs with another distribution. Then it loads the candidate anew and calls
// it on them again: what it writes must not depend on the calls before. The call afresh is in a process of its own, because a candidate may
// keep something where no object that is loaded anew clears it, such as in a variable of the C library. A slow candidate is called so once. Nothing says that a candidate can take such inputs, so that the call proves nothing where the call afresh fails
// too. If that is the baseline, no other is called on them.
func (m *meter) verifyReshaped(ctx context.Context) error {
	r := m.variants.reshaped
	if r == nil || m.c.reshaped && m.slow() {
		return nil
	}
	one := m.variants.cases[0]
	one.Inputs = r.inputs
	if err := mapCase(m.w, one); err != nil {
		return err
	}
	// The call afresh has half the time of the other one, so that a call which is over just in time is so both times.
	within := time.Duration(m.uses) * max(timing.Seconds(hopelessCall*m.perCall), shortCall)
	err := m.w.CallWithin(ctx, one.Dims, 2*within)
	if err != nil && !kernelFault(err) {
		return err
	}
	later, wrote := kernels.AsRejection(err), one.written(m.w.Outputs())
	m.w.Renew("")
	m.renewed = true
	if err := m.w.Load(m.c.so); err != nil {
		return err
	}
	err = m.w.CallWithin(ctx, one.Dims, within)
	if err == nil && later == nil {
		later, err = m.unlikeAfresh(ctx, one, wrote)
	}
	m.c.reshaped = true
	switch {
	case kernelFault(err):
		if m.isBaseline {
			m.variants.reshaped = nil
		}
		return m.w.Load(m.c.so)
	case err != nil || later == nil:
		return err
	}
	return kernels.Reject(later.Status, "%s, after calls on other inputs: %s. In this call %s", one.Name, later.Reason, r.note)
}

// unlikeAfresh says how what a call wrote differs from what the same call has just written afresh; nil where it does not. With several
// threads two calls afresh may differ by themselves, which says nothing.
func (m *meter) unlikeAfresh(ctx context.Context, one Case, wrote [][]byte) (*kernels.Rejection, error) {
	err := one.agree(m.uses, "", wrote, m.w.Outputs())
	unlike := kernels.AsRejection(err)
	switch {
	case unlike == nil:
		return nil, err
	case m.uses == 1:
		return unlike, nil
	}
	fresh := one.written(m.w.Outputs())
	if err = m.w.Call(ctx, one.Dims); err == nil && one.agree(m.uses, "", m.w.Outputs(), fresh) != nil {
		return nil, nil
	}
	return unlike, err
}

// written returns copies of the buffers that a call of the case may write; nil for the others.
func (c Case) written(buffers [][]byte) [][]byte {
	out := make([][]byte, len(buffers))
	for i, b := range buffers {
		if c.Buffers[i].Mode != In {
			out[i] = bytes.Clone(b)
		}
	}
	return out
}
