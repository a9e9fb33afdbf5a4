package native

import (
	"context"
	"time"

	"tune/kernels"
	"tune/space"
)

// Narrower is implemented by a Varier whose random inputs come from a range. Inputs of one range are alike in what many numbers have in
// common, such as the largest of them. A candidate that keeps that from its first call is right in all calls, within the tolerance.
type Narrower interface {
	// Narrowed returns a variant whose random inputs come from a part of their range. ok is false where there is none.
	Narrowed(ctx context.Context, p space.Point, seed uint64) (c Case, ok bool, err error)
}

const (
	// A reference that takes longer than this for the variants is not called once more.
	narrowedTime = 3 * time.Second
	// narrowedNumber is the number of the seed of the narrowed variant. No other content has it.
	narrowedNumber = 1 << 30
)

// addNarrowed adds the variant whose inputs come from a part of their range. took is how long it took to make the others.
func (v *variants) addNarrowed(ctx context.Context, p *Problem, c *candidate, seed uint64, took time.Duration) error {
	n, ok := as[Narrower](p.spec)
	if !ok || !v.differ || p.traffic > besideBytes || took > narrowedTime {
		return nil
	}
	one, ok, err := n.Narrowed(ctx, c.point, variantSeed(seed, narrowedNumber))
	if ok && err == nil {
		v.narrowed = &one
	}
	return err
}

// verifyNarrowed calls the candidate, which has been timed on inputs of the whole range, on inputs from a part of it. It calls a slow one once.
func (m *meter) verifyNarrowed(ctx context.Context) error {
	one := m.variants.narrowed
	if one == nil || m.c.narrowed && m.slow() {
		return nil
	}
	err := mapCase(m.w, *one)
	if err == nil {
		err = m.w.Call(ctx, one.Dims)
	}
	if err == nil {
		err = m.c.verify(*one, m.w.Outputs())
	}
	if r := kernels.AsRejection(err); r != nil {
		return kernels.Reject(r.Status, "%s, after calls on other inputs: %s", one.Name, r.Reason)
	}
	m.c.narrowed = err == nil
	return err
}
