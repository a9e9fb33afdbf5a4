package treehash

import (
	"context"

	"tune/kernels"
	"tune/kernels/treehash/vector"
	"tune/space"
)

// estimate is the candidate of the cheapest fidelity: what is known of a point's program without making it. There is
// nothing to check in it, and nothing to export: only full scores count as results.
type estimate vector.Bound

// Check has nothing to check.
func (estimate) Check(ctx context.Context, _ uint64) error { return ctx.Err() }

// Score returns a forecast of the cycles. The metric bound is what they cannot fall below.
func (e estimate) Score(context.Context, int) (kernels.Score, error) {
	b := vector.Bound(e)
	return kernels.Score{Cost: b.Forecast(), Metrics: []space.Metric{{Name: space.MetricBound, Value: float64(b.Cycles())}}}, nil
}

// Artifacts returns nothing.
func (estimate) Artifacts() ([]kernels.Artifact, error) { return nil, nil }
