package treehash

import (
	"context"

	"tune/kernels"
)

// estimate is the candidate of the cheapest fidelity: a lower bound on the cycles of a point's program, which is not
// made. There is nothing to check in it, and nothing to export: only full scores count as results.
type estimate int

// Check has nothing to check.
func (estimate) Check(ctx context.Context, _ uint64) error { return ctx.Err() }

// Score returns the bound.
func (e estimate) Score(context.Context, int) (kernels.Score, error) {
	return kernels.Score{Cost: float64(e)}, nil
}

// Artifacts returns nothing.
func (estimate) Artifacts() ([]kernels.Artifact, error) { return nil, nil }
