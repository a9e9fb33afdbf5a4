package memcurve

import (
	"context"
	"fmt"
	"io"

	"tune/kernels"
	"tune/space"
)

const (
	parameters = 24
	values     = 12
)

// kernel is a sum over many parameters, each beside its neighbour: next to nothing to compute, in a space that no run
// exhausts. Every seventh point or so is invalid.
type kernel struct {
	space  *space.Space
	levels int
}

func newKernel(levels int) (*kernel, error) {
	var params []space.Parameter
	for i := range parameters {
		params = append(params, space.Range(fmt.Sprintf("knob_%02d", i), 0, values-1))
	}
	s, err := space.New("cheap", params)
	return &kernel{s, levels}, err
}

func (k *kernel) Info() kernels.Info {
	return kernels.Info{Name: "cheap", Doc: "a sum", Version: "1", Unit: "cycles", Exact: true}
}

func (k *kernel) Problem(kernels.Shape) (kernels.Problem, error) { return k, nil }

func (k *kernel) Space() *space.Space { return k.space }

func (k *kernel) Presets() []kernels.Preset {
	return []kernels.Preset{{Name: "baseline", Point: k.space.Default()}}
}

// Traits says how long an evaluation is said to take: PerDay of them fill a day.
func (k *kernel) Traits() kernels.Traits {
	t := kernels.Traits{Seconds: func(space.Point) float64 { return day.Seconds() / PerDay }}
	if k.levels > 0 {
		t.Levels, t.BuildAt = k.levels, k.buildAt
	}
	return t
}

func (k *kernel) Build(ctx context.Context, p space.Point) (kernels.Candidate, error) {
	return k.buildAt(ctx, p, 0)
}

func (k *kernel) buildAt(_ context.Context, p space.Point, fidelity int) (kernels.Candidate, error) {
	sum, twist := 0, 0
	for i := range parameters {
		a, b := p.Ordinal(i), p.Ordinal((i+1)%parameters)
		d := a - (i*5)%values
		sum += d*d + (a*b)%values
		twist += a * (i + 1)
	}
	if twist%7 == 3 {
		return nil, kernels.Reject(space.Invalid, "the sum of the knobs, %d, does not fit", twist)
	}
	return &candidate{sum + 1 - fidelity*twist%5, twist}, nil
}

type candidate struct{ cost, twist int }

func (c *candidate) Check(ctx context.Context, _ uint64) error { return ctx.Err() }

func (c *candidate) Score(context.Context, int) (kernels.Score, error) {
	return kernels.Score{Cost: float64(c.cost), Metrics: []space.Metric{{Name: "twist", Value: float64(c.twist)}}}, nil
}

func (*candidate) Abilities() kernels.Abilities { return kernels.Abilities{} }

func (c *candidate) Artifacts() ([]kernels.Artifact, error) {
	return []kernels.Artifact{{Name: "cost.txt", Write: func(w io.Writer) error {
		_, err := fmt.Fprintln(w, c.cost)
		return err
	}}}, nil
}
