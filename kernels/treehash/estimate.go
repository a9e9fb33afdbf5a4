package treehash

import (
	"context"

	"tune/kernels"
	"tune/kernels/treehash/internal/vector"
	"tune/space"
)

// estimate is the candidate of the cheapest fidelity: what is known about a point's program without generating it. There is
// nothing to check and nothing to export, because only full scores count as results.
type estimate vector.Bound

// Check has nothing to check.
func (estimate) Check(ctx context.Context, _ uint64) error { return ctx.Err() }

// Score returns a forecast of the cycles. The metric bound is a lower bound of them.
func (e estimate) Score(context.Context, int) (kernels.Score, error) {
	b := vector.Bound(e)
	return kernels.Score{Cost: b.Forecast(), Metrics: []space.Metric{{Name: space.MetricBound, Value: float64(b.Cycles())}}}, nil
}

// Artifacts returns nothing.
func (estimate) Artifacts() ([]kernels.Artifact, error) { return nil, nil }

// Abilities returns none.
func (estimate) Abilities() kernels.Abilities { return kernels.Abilities{} }
