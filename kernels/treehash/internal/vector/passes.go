package vector

import (
	"context"
	"fmt"
	"io"
	"strings"

	"tune/kernels/treehash/tree"
	"tune/sim"
)

// compilation is a program in the making: what the passes have left so far.
type compilation struct {
	plan
	indices  bool // whether the final indices are stored too
	descents int  // of the pass schedule, which is left out where they are negative

	graph  *graph
	edges  *edges      // of the graph, from the pass list on
	greedy *schedule   // the first one
	sched  *schedule   // the one that holds
	alloc  *allocation // of the registers
}

func newCompilation(s tree.Shape, c Config, indices bool, descents int) *compilation {
	return &compilation{plan: plan{s, c}, indices: indices, descents: descents}
}

// pass is a step of the compiler. Nil functions have nothing to do.
type pass struct {
	name, doc string
	on        func(c *compilation) bool // what turns the pass on; nil where every program needs it
	run       func(ctx context.Context, c *compilation) error
	// check reports what breaks a rule of the machine or of the graph, and execute does what the program would do to an image.
	check   func(c *compilation) error
	execute func(c *compilation, image []uint32) error
	// show writes what the pass leaves behind.
	show func(w io.Writer, c *compilation) error
}

// passes are the steps from a configuration to a program, in their order. What runs, verifies, shows or describes them goes by
// this table; emit then writes the program.
var passes = []pass{
	{
		name: "plan", doc: "how each group finds its nodes in each round; the later passes follow it",
		show: func(w io.Writer, c *compilation) error { _, err := fmt.Fprint(w, c.plan); return err },
	},
	{
		name: "lower", doc: "the operations on virtual registers, in an order that is right",
		run: func(_ context.Context, c *compilation) error {
			c.graph = lower(c.shape, c.cfg, c.indices)
			return nil
		},
		execute: (*compilation).interpret, show: dump,
	},
	{
		name: "engines", doc: "which vector arithmetic may be executed lane by lane on the scalar engine",
		on:      func(c *compilation) bool { return c.cfg.Lanes },
		run:     func(_ context.Context, c *compilation) error { chooseEngines(c.graph); return nil },
		check:   func(c *compilation) error { return c.graph.checkEngines() },
		execute: (*compilation).interpret, show: dump,
	},
	{
		name: "list", doc: "a first schedule: the cycle of every operation, by priorities",
		run: func(ctx context.Context, c *compilation) (err error) {
			c.edges = c.graph.edges()
			c.greedy, err = listSchedule(ctx, c.graph, c.edges, c.cfg)
			c.sched = c.greedy
			return err
		},
		check:   func(c *compilation) error { return c.sched.check(c.graph, c.edges) },
		execute: (*compilation).interpret, show: dump,
	},
	{
		name: "schedule", doc: "the schedule pushed back and forth until nothing is gained",
		on: func(c *compilation) bool { return c.descents >= 0 },
		run: func(ctx context.Context, c *compilation) (err error) {
			c.sched, err = newJustifier(c.graph, c.edges, uint64(c.cfg.Shuffle)).improve(ctx, c.greedy, c.descents, c.graph.bound(c.edges).Cycles())
			return err
		},
		check:   (*compilation).checkBound,
		execute: (*compilation).interpret, show: dump,
	},
	{
		name: "allocate", doc: "the words of every register, and the buffer of every copy through memory",
		run: func(_ context.Context, c *compilation) (err error) {
			c.alloc, err = allocate(c.graph, c.sched)
			return err
		},
		execute: (*compilation).simulate, show: dump,
	},
}

// Passes lists the names of the passes, whose results Explain shows, in the order in which they run.
func Passes() []string {
	names := make([]string, len(passes))
	for i := range passes {
		names[i] = passes[i].name
	}
	return names
}

// DescribePasses returns a line for each pass that says what it leaves behind.
func DescribePasses() string {
	var b strings.Builder
	for i := range passes {
		fmt.Fprintf(&b, "  %-10s %s\n", passes[i].name, passes[i].doc)
	}
	return b.String()
}

// through runs the passes up to the named one.
func (c *compilation) through(ctx context.Context, name string) error {
	for i := range passes {
		if err := passes[i].do(ctx, c); err != nil {
			return err
		}
		if passes[i].name == name {
			return nil
		}
	}
	return fmt.Errorf("vector: there is no pass %q", name)
}

// do runs a pass where it is on, unless the context has ended.
func (p *pass) do(ctx context.Context, c *compilation) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if p.run == nil || p.on != nil && !p.on(c) {
		return nil
	}
	return p.run(ctx, c)
}

// verifyTrees is how many trees each pass is verified on.
const verifyTrees = 3

// verify checks what a pass has left, and compares what its execution makes of a few trees, from a seed on, with the reference.
func (p *pass) verify(c *compilation, seed uint64) error {
	if p.check != nil {
		if err := p.check(c); err != nil {
			return fmt.Errorf("pass %s: %w", p.name, err)
		}
	}
	if p.execute == nil {
		return nil
	}
	for n := range uint64(verifyTrees) {
		if err := c.verifyTree(p.execute, seed+n); err != nil {
			return fmt.Errorf("pass %s: %w", p.name, err)
		}
	}
	return nil
}

// emit writes the program of a compilation whose passes have all run.
func (c *compilation) emit() *sim.Program { return emit(c.graph, c.sched, c.alloc) }
