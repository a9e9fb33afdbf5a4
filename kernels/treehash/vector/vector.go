package vector

import (
	"context"

	"tune/kernels/treehash/tree"
	"tune/sim"
)

// Build generates the program of a configuration. With indices it stores the final indices as well as the
// final values. A configuration whose registers do not fit is a *kernels.Rejection.
func Build(ctx context.Context, s tree.Shape, c Config, indices bool) (*sim.Program, error) {
	if err := c.Validate(s); err != nil {
		return nil, err
	}
	g := lower(s, c, indices)
	chooseEngines(g, c)
	sched, err := listSchedule(ctx, g, g.edges(), c)
	if err != nil {
		return nil, err
	}
	a, err := allocate(g, sched)
	if err != nil {
		return nil, err
	}
	return emit(g, sched, a), nil
}
