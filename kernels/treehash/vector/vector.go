package vector

import (
	"context"

	"tune/kernels/treehash/tree"
	"tune/sim"
)

// Build generates the program of a configuration. With indices it stores the final indices as well as the
// final values. The schedule is disturbed and improved the given number of times, or left as the list scheduler makes
// it where that is negative. A configuration whose registers do not fit is a *kernels.Rejection.
func Build(ctx context.Context, s tree.Shape, c Config, indices bool, descents int) (*sim.Program, error) {
	if err := c.Validate(s); err != nil {
		return nil, err
	}
	g := lower(s, c, indices)
	chooseEngines(g, c)
	e := g.edges()
	sched, err := listSchedule(ctx, g, e, c)
	if err != nil {
		return nil, err
	}
	if descents >= 0 {
		sched, err = newJustifier(g, e, uint64(c.Shuffle)).improve(ctx, sched, descents, g.bound(e).Cycles())
		if err != nil {
			return nil, err
		}
	}
	a, err := allocate(g, sched)
	if err != nil {
		return nil, err
	}
	return emit(g, sched, a), nil
}
