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

// Passes lists the passes whose results Explain dumps, in the order in which they run.
func Passes() []string { return []string{"plan", "lower", "engines", "list", "schedule", "allocate"} }

// Explain says what the passes make of a configuration: a summary with bounds where pass is "", and all that a pass
// leaves behind where it names one. From lower on each pass is verified on the way: the operations, in the order that it
// gives them, by an interpreter, and those of allocate by the machine, as the program that is emitted from them. The
// first pass that is wrong on one of a few trees, or breaks an arc or the limit of an engine, is the error, and so is that
// the registers do not fit. The number of descents is that of Build.
func Explain(ctx context.Context, w io.Writer, s tree.Shape, c Config, indices bool, descents int, pass string, seed uint64) error {
	if err := c.Validate(s); err != nil {
		return err
	}
	if pass != "" && !slices.Contains(Passes(), pass) {
		return fmt.Errorf("unknown pass %q: want one of %s", pass, strings.Join(Passes(), ", "))
	}
	if pass == "plan" {
		_, err := fmt.Fprint(w, plan{s, c})
		return err
	}
	g := lower(s, c, indices)
	if err := verifyPass("lower", g, nil, s, indices, seed); err != nil {
		return err
	}
	if pass == "lower" {
		return g.dump(w, nil, nil)
	}
	chooseEngines(g, c)
	if err := g.checkEngines(); err != nil {
		return fmt.Errorf("pass engines: %w", err)
	}
	if err := verifyPass("engines", g, nil, s, indices, seed); err != nil {
		return err
	}
	if pass == "engines" {
		return g.dump(w, nil, nil)
	}
	e := g.edges()
	greedy, err := listSchedule(ctx, g, e, c)
	if err != nil {
		return err
	}
	if err := greedy.check(g, e); err != nil {
		return fmt.Errorf("pass list: %w", err)
	}
	if err := verifyPass("list", g, greedy, s, indices, seed); err != nil {
		return err
	}
	if pass == "list" {
		return g.dump(w, greedy, nil)
	}
	b, final := g.bound(e), greedy
	if descents >= 0 {
		if final, err = newJustifier(g, e, uint64(c.Shuffle)).improve(ctx, greedy, descents, b.Cycles()); err != nil {
			return err
		}
		err := final.check(g, e)
		if err == nil && final.cycles < b.Cycles() {
			err = fmt.Errorf("%d cycles are below the bound of %d", final.cycles, b.Cycles())
		}
		if err != nil {
			return fmt.Errorf("pass schedule: %w", err)
		}
		if err := verifyPass("schedule", g, final, s, indices, seed); err != nil {
			return err
		}
	}
	if pass == "schedule" {
		return g.dump(w, final, nil)
	}
	a, err := allocate(g, final)
	if err == nil {
		err = verifyProgram(emit(g, final, a), s, indices, seed)
	}
	switch {
	case pass == "":
		summarise(w, g, b, greedy, final) // of what does not fit too
	case err == nil:
		return g.dump(w, final, a)
	}
	return err
}

// verifyPass executes a graph in the order of a schedule, or as it was written, on the tree of a seed.
func verifyPass(pass string, g *graph, s *schedule, shape tree.Shape, indices bool, seed uint64) error {
	var order []int32
	if s != nil {
		order = make([]int32, len(g.ops))
		for i := range order {
			order[i] = int32(i)
		}
		// Within a cycle what reads stands before what writes, as the numbers of the operations have it.
		slices.SortStableFunc(order, func(a, b int32) int { return int(s.last[a] - s.last[b]) })
	}
	return verify(pass, shape, indices, seed, func(image []uint32) error { return interpret(g, order, image) })
}

// verifyProgram executes what is emitted after allocate on the machine.
func verifyProgram(p *sim.Program, shape tree.Shape, indices bool, seed uint64) error {
	return verify("allocate", shape, indices, seed, func(image []uint32) error {
		code, err := sim.Decode(p)
		if err != nil {
			return err
		}
		_, err = sim.NewMachine().Run(code, image, sim.Limits{})
		return err
	})
}

// verifyTrees is how many trees each pass is verified on.
const verifyTrees = 3

// verify compares what executions leave in the images of a few trees with the reference.
func verify(pass string, shape tree.Shape, indices bool, seed uint64, execute func(image []uint32) error) error {
	for n := range uint64(verifyTrees) {
		if err := verifyTree(pass, shape, indices, seed+n, execute); err != nil {
			return err
		}
	}
	return nil
}

func verifyTree(pass string, shape tree.Shape, indices bool, seed uint64, execute func(image []uint32) error) error {
	image := tree.Image(shape, seed)
	values, wantIndices := tree.Reference(shape, image)
	if err := execute(image); err != nil {
		return fmt.Errorf("pass %s: %w", pass, err)
	}
	if !slices.Equal(image[shape.ValueAddr():], values) {
		return fmt.Errorf("pass %s: the values are wrong on the tree of seed %d", pass, seed)
	}
	if indices && !slices.Equal(image[shape.IndexAddr():shape.ValueAddr()], wantIndices) {
		return fmt.Errorf("pass %s: the indices are wrong on the tree of seed %d", pass, seed)
	}
	return nil
}

func summarise(w io.Writer, g *graph, b Bound, greedy, final *schedule) {
	fmt.Fprintf(w, "%-22s %6s %7s %7s %22s\n", "engine", "slots", "floor", "", "head + floor + tail")
	for e := range sim.Debug {
		what := e.String()
		switch e {
		case sim.ALU:
			what = "alu and valu"
		case sim.VALU:
			what = "valu alone"
		}
		fmt.Fprintf(w, "%-22s %6d %7d %7s %22d\n", what, b.Slots[e], b.Floors[e], "cycles", b.Engines[e])
	}
	fmt.Fprintf(w, "longest chain          %14d cycles\n", b.Dependence)
	fmt.Fprintf(w, "no schedule below      %14d cycles\n", b.Cycles())
	fmt.Fprintf(w, "list schedule          %14d cycles, %d words of scratch at once\n", greedy.cycles, demand(g, lifetimesOf(g, greedy), greedy.cycles))
	fmt.Fprintf(w, "improved               %14d cycles, %d words of scratch at once\n", final.cycles, demand(g, lifetimesOf(g, final), final.cycles))
	fmt.Fprintf(w, "above the bound        %14d cycles\n", final.cycles-b.Cycles())
}

// dump lists the operations: in the order of their cycles where there is a schedule, with the words of their registers
// where there is an allocation.
func (g *graph) dump(w io.Writer, s *schedule, a *allocation) error {
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
