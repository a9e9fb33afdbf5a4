package vector

import (
	"context"

	"tune/kernels/treehash/tree"
	"tune/sim"
)

// Build generates the program of a configuration. With indices it stores the final indices as well as the
// final values. The schedule is disturbed and improved the given number of times, or left as the list scheduler makes
// it where that is negative. A configuration whose registers do not fit is a *kernels.Rejection.
func Build(ctx context.Context, s tree.Shape, cfg Config, indices bool, descents int) (*sim.Program, error) {
	if err := cfg.Validate(s, indices); err != nil {
		return nil, err
	}
	c := newCompilation(s, cfg, indices, descents)
	if err := c.through(ctx, "allocate"); err != nil {
		return nil, err
	}
	return c.emit(), nil
}
