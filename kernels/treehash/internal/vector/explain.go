package vector

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"tune/kernels/treehash/tree"
	"tune/sim"
)

// Explain says what the passes make of a configuration: a summary with bounds where pass is "", and all that a pass
// leaves behind where it names one. From lower on each pass is verified on the way: the operations, in the order that it
// gives them, by an interpreter, and those of allocate by the machine, as the program that is emitted from them. The
// first pass that is wrong on one of a few trees, or breaks an arc or the limit of an engine, is the error, and so is that
// the registers do not fit. The number of descents is that of Build.
func Explain(ctx context.Context, w io.Writer, s tree.Shape, cfg Config, indices bool, descents int, pass string, seed uint64) error {
	if err := cfg.Validate(s, indices); err != nil {
		return err
	}
	if pass != "" && !slices.Contains(Passes(), pass) {
		return fmt.Errorf("unknown pass %q: want one of %s", pass, strings.Join(Passes(), ", "))
	}
	c := newCompilation(s, cfg, indices, descents)
	for i := range passes {
		p := &passes[i]
		err := p.do(ctx, c)
		if err == nil {
			err = p.verify(c, seed)
		}
		if pass == "" && i == len(passes)-1 {
			summarise(w, c) // of what does not fit too
		}
		switch {
		case err != nil:
			return err
		case p.name == pass:
			return p.show(w, c)
		}
	}
	return nil
}

// checkBound checks a schedule, and that it is no shorter than it can be.
func (c *compilation) checkBound() error {
	if err := c.sched.check(c.graph, c.edges); err != nil {
		return err
	}
	if least := c.graph.bound(c.edges).Cycles(); c.sched.cycles < least {
		return fmt.Errorf("%d cycles are below the bound of %d", c.sched.cycles, least)
	}
	return nil
}

// verifyTree compares what an execution leaves in the image of the tree of a seed with the reference.
func (c *compilation) verifyTree(execute func(c *compilation, image []uint32) error, seed uint64) error {
	image := tree.Image(c.shape, seed)
	values, wantIndices := tree.Reference(c.shape, image)
	if err := execute(c, image); err != nil {
		return err
	}
	if !slices.Equal(image[c.shape.ValueAddr():], values) {
		return fmt.Errorf("the values are wrong on the tree of seed %d", seed)
	}
	if c.indices && !slices.Equal(image[c.shape.IndexAddr():c.shape.ValueAddr()], wantIndices) {
		return fmt.Errorf("the indices are wrong on the tree of seed %d", seed)
	}
	return nil
}

// interpret executes the operations in the order of the schedule, or as they were written where there is none.
func (c *compilation) interpret(image []uint32) error {
	var order []int32
	if s := c.sched; s != nil {
		order = make([]int32, len(c.graph.ops))
		for i := range order {
			order[i] = int32(i)
		}
		// Within a cycle what reads stands before what writes, as the numbers of the operations have it.
		slices.SortStableFunc(order, func(a, b int32) int { return int(s.last[a] - s.last[b]) })
	}
	return interpret(c.graph, order, image)
}

// simulate executes the program on the machine.
func (c *compilation) simulate(image []uint32) error {
	code, err := sim.Decode(c.emit())
	if err != nil {
		return err
	}
	_, err = sim.NewMachine().Run(code, image, sim.Limits{})
	return err
}

func summarise(w io.Writer, c *compilation) {
	g, greedy, final := c.graph, c.greedy, c.sched
	b := g.bound(c.edges)
	fmt.Fprintf(w, "%-14s %6s %8s %6s %7s %20s\n", "engine", "slots", "a cycle", "floor", "", "head + floor + tail")
	for e := range sim.Debug {
		what := e.String()
		switch e {
		case sim.ALU:
			what = "alu and valu"
		case sim.VALU:
			what = "valu alone"
		}
		fmt.Fprintf(w, "%-14s %6d %8d %6d %7s %20d\n", what, b.Slots[e], perCycle(e), b.Floors[e], "cycles", b.Engines[e])
	}
	fmt.Fprintf(w, "longest chain          %14d cycles\n", b.Dependence)
	fmt.Fprintf(w, "no schedule below      %14d cycles\n", b.Cycles())
	fmt.Fprintf(w, "list schedule          %14d cycles, %d words of scratch at once\n", greedy.cycles, demand(g, lifetimesOf(g, greedy), greedy.cycles))
	fmt.Fprintf(w, "improved               %14d cycles, %d words of scratch at once\n", final.cycles, demand(g, lifetimesOf(g, final), final.cycles))
	fmt.Fprintf(w, "above the bound        %14d cycles\n", final.cycles-b.Cycles())
}

// dump lists the operations: in the order of their cycles where there is a schedule, with the words of their registers
// where there is an allocation.
func dump(w io.Writer, c *compilation) error {
	g, s, a := c.graph, c.sched, c.alloc
	order := make([]int32, len(g.ops))
	for i := range order {
		order[i] = int32(i)
	}
	if s != nil {
		slices.SortStableFunc(order, func(a, b int32) int { return int(s.first[a] - s.first[b]) })
	}
	text := func(o *op, r operand) string {
		if r.reg < 0 {
			r.reg = g.buffers[0]
			if a != nil {
				r.reg = g.buffers[a.buffer[o.buffer]]
			}
		}
		if a != nil {
			return fmt.Sprintf("@%d", a.addr[r.reg]+uint32(max(r.lane, 0)))
		}
		if r.lane >= 0 {
			return fmt.Sprintf("r%d+%d", r.reg, r.lane)
		}
		return fmt.Sprintf("r%d", r.reg)
	}
	var b strings.Builder
	for _, i := range order {
		o := &g.ops[i]
		b.Reset()
		if s != nil {
			fmt.Fprintf(&b, "%5d", s.first[i])
			if s.last[i] > s.first[i] {
				fmt.Fprintf(&b, "-%-5d", s.last[i])
			} else {
				fmt.Fprintf(&b, "%6s", "")
			}
		}
		fmt.Fprintf(&b, "%6d  g%-3d r%-3d %-12s", i, o.group, o.round, o.place)
		if o.place != onNone {
			fmt.Fprintf(&b, " %-12s", o.code)
			if o.dst.reg >= 0 {
				fmt.Fprintf(&b, " %s <-", text(o, o.dst))
			}
			for k := range int(o.nsrc) {
				fmt.Fprintf(&b, " %s", text(o, o.src[k]))
			}
			if o.code == sim.OpConst || o.code == sim.OpAddImm {
				fmt.Fprintf(&b, " %#x", o.imm)
			}
		}
		b.WriteByte('\n')
		if _, err := io.WriteString(w, b.String()); err != nil {
			return err
		}
	}
	return nil
}
