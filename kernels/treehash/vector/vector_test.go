package vector

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tune/kernels"
	"tune/kernels/treehash/tree"
	"tune/sim"
	"tune/space"
)

var headline = tree.Shape{Height: 10, Rounds: 16, Batch: 256}

// randomConfig draws a configuration that Validate accepts; n(k) draws from [0, k).
func randomConfig(s tree.Shape, n func(k int) int) Config {
	c := Config{
		Levels: n(levelLimit(s) + 1), BiasFlow: n(9), Fuse: n(2) == 0, Window: 1 + n(Groups(s)), Stagger: n(41),
		ALU: []string{ALUNever, ALUShare, ALUIdle}[n(3)], Share: 1 + n(16), MaddFirst: n(2) == 0,
		Addresses: []string{AddrLoad, AddrFlow, AddrALU}[n(3)],
		LoadRound: 20 * n(31), VectorRound: 20 * n(31), FlowRound: 20 * n(31), SetupRound: 20 * n(31),
		Laggards: 5 * n(21), Shuffle: n(64),
	}
	if c.Levels >= 1 {
		c.DeferC = n(2) == 0
	}
	if c.Levels >= 2 {
		c.Shallow, c.MaddLevels = n(Groups(s)+1), n(c.Levels)
	}
	return c
}

// run executes a program and compares what it leaves with the reference.
func run(p *sim.Program, s tree.Shape, seed uint64, indices bool) (int, error) {
	code, err := sim.Decode(p)
	if err != nil {
		return 0, err
	}
	image := tree.Image(s, seed)
	values, wantIndices := tree.Reference(s, image)
	res, err := sim.NewMachine().Run(code, image, sim.Limits{})
	if err != nil {
		return 0, err
	}
	if got := image[s.ValueAddr():s.Words()]; !slices.Equal(got, values) {
		return 0, fmt.Errorf("values are %v, want %v", got, values)
	}
	if got := image[s.IndexAddr():s.ValueAddr()]; indices && !slices.Equal(got, wantIndices) {
		return 0, fmt.Errorf("indices are %v, want %v", got, wantIndices)
	}
	return res.Cycles, nil
}

// TestEveryShape builds random configurations for random shapes: each is right, or is rejected because it does
// not fit.
func TestEveryShape(t *testing.T) {
	ctx := context.Background()
	rapid.Check(t, func(t *rapid.T) {
		n := func(k int) int { return rapid.IntRange(0, k-1).Draw(t, "n") }
		s := tree.Shape{Height: 1 + n(tree.MaxHeight), Rounds: 1 + n(tree.MaxRounds), Batch: rapid.OneOf(
			rapid.IntRange(1, tree.MaxBatch), rapid.IntRange(1, 40), rapid.SampledFrom([]int{7, 8, 9, 255, 257, 504, 511, 512}),
		).Draw(t, "batch")}
		c := randomConfig(s, n)
		indices := rapid.Bool().Draw(t, "indices")
		p, err := Build(ctx, s, c, indices)
		if r := kernels.AsRejection(err); r != nil && r.Status == space.Invalid {
			return
		}
		if err != nil {
			t.Fatalf("%v, %+v: %v", s, c, err)
		}
		if _, err := run(p, s, uint64(n(1000)), indices); err != nil {
			t.Fatalf("%v, %+v, indices %v: %v", s, c, indices, err)
		}
		for _, w := range sim.Lint(p) {
			t.Fatalf("%v, %+v: %v", s, c, w)
		}
	})
}

// TestLargeShapes does the same with few draws where a program is long.
func TestLargeShapes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for i, s := range []tree.Shape{headline, headline, headline, {Height: 12, Rounds: 32, Batch: 512}, {Height: 1, Rounds: 32, Batch: 511}, {Height: 12, Rounds: 1, Batch: 509}} {
		c := randomConfig(s, r.IntN)
		p, err := Build(context.Background(), s, c, i%2 == 0)
		if kernels.AsRejection(err) != nil {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := run(p, s, uint64(i), i%2 == 0); err != nil {
			t.Errorf("%v, %+v: %v", s, c, err)
		}
	}
}

// TestPasses runs the kernel after each pass and names the first that breaks it.
func TestPasses(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	for range 60 {
		s := tree.Shape{Height: 1 + r.IntN(7), Rounds: 1 + r.IntN(20), Batch: 1 + r.IntN(40)}
		c := randomConfig(s, r.IntN)
		image := tree.Image(s, 7)
		want, wantIndices := tree.Reference(s, image)

		g := lower(s, c, true)
		mem := slices.Clone(image)
		interpret(t, g, mem)
		if !slices.Equal(mem[s.ValueAddr():], want) || !slices.Equal(mem[s.IndexAddr():s.ValueAddr()], wantIndices) {
			t.Fatalf("lower: %v, %+v: wrong", s, c)
		}
		chooseEngines(g, c)
		sched, err := listSchedule(context.Background(), g, c)
		if err != nil {
			t.Fatal(err)
		}
		checkSchedule(t, g, sched)
		addr, err := allocate(g, sched)
		if kernels.AsRejection(err) != nil {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if cycles, err := run(emit(g, sched, addr), s, 7, true); err != nil {
			t.Fatalf("allocate or emit: %v, %+v: %v", s, c, err)
		} else if cycles != sched.cycles() {
			t.Fatalf("the machine takes %d cycles, the schedule %d", cycles, sched.cycles())
		}
	}
}

// interpret executes a graph in the order in which it was written, on registers instead of scratch.
func interpret(t *testing.T, g *graph, mem []uint32) {
	regs := make([][sim.VLen]uint32, len(g.width))
	arith := map[sim.Op]func(a, b uint32) uint32{
		sim.OpVAdd: func(a, b uint32) uint32 { return a + b },
		sim.OpVSub: func(a, b uint32) uint32 { return a - b },
		sim.OpVXor: func(a, b uint32) uint32 { return a ^ b },
		sim.OpVAnd: func(a, b uint32) uint32 { return a & b },
		sim.OpVShl: func(a, b uint32) uint32 { return a << b },
		sim.OpVShr: func(a, b uint32) uint32 { return a >> b },
	}
	for i := range g.ops {
		o := &g.ops[i]
		word := func(k int) uint32 { return regs[o.src[k].reg][max(o.src[k].lane, 0)] }
		var d *[sim.VLen]uint32
		if o.dst.reg >= 0 {
			d = &regs[o.dst.reg]
		}
		lane := max(o.dst.lane, 0)
		v := func(k, l int) uint32 { return regs[o.src[k].reg][l] }
		switch o.code {
		case sim.OpConst:
			d[0] = o.imm
		case sim.OpAddImm:
			d[0] = word(0) + o.imm
		case sim.OpAdd:
			d[0] = word(0) + word(1)
		case sim.OpSub:
			d[0] = word(0) - word(1)
		case sim.OpLoad:
			d[lane] = mem[word(0)]
		case sim.OpVLoad:
			copy(d[:], mem[word(0):][:sim.VLen])
		case sim.OpStore:
			mem[word(0)] = word(1)
		case sim.OpVStore:
			copy(mem[word(0):][:sim.VLen], regs[o.src[1].reg][:])
		case sim.OpLoadOffset:
			for l := range sim.VLen {
				d[l] = mem[v(0, l)]
			}
		case sim.OpVBroadcast:
			for l := range sim.VLen {
				d[l] = word(0)
			}
		case sim.OpMultiplyAdd:
			for l := range sim.VLen {
				d[l] = v(0, l)*v(1, l) + v(2, l)
			}
		case sim.OpVSelect:
			for l := range sim.VLen {
				d[l] = v(2, l)
				if v(0, l) != 0 {
					d[l] = v(1, l)
				}
			}
		default:
			f := arith[o.code]
			if f == nil {
				t.Fatalf("the interpreter does not know %v", o.code)
			}
			for l := range sim.VLen {
				d[l] = f(v(0, l), v(1, l))
			}
		}
	}
}

// checkSchedule proves that a schedule issues every slot once, after what it reads, within the engines' limits.
func checkSchedule(t *testing.T, g *graph, s *schedule) {
	t.Helper()
	issued := make([]int, len(g.ops))
	for c := range s.cycles() {
		var used [sim.NumEngines]int
		for _, is := range s.issues[s.start[c]:s.start[c+1]] {
			o := &g.ops[is.op]
			issued[is.op]++
			engine := o.code.Engine()
			if is.lane >= 0 && engine == sim.VALU {
				engine = sim.ALU
			}
			used[engine]++
			for k := range int(o.nsrc) {
				for _, d := range append(g.moreDefs[o.src[k].reg], g.def[o.src[k].reg]) {
					if s.last[d] >= int32(c) {
						t.Fatalf("operation %d reads in cycle %d what operation %d writes in cycle %d", is.op, c, d, s.last[d])
					}
				}
			}
		}
		for e, n := range used {
			if n > sim.SlotLimit[e] {
				t.Fatalf("cycle %d uses %d slots of %v", c, n, sim.Engine(e))
			}
		}
	}
	for _, a := range g.after {
		if s.last[a[0]] >= s.first[a[1]] {
			t.Fatalf("operation %d begins before operation %d has ended", a[1], a[0])
		}
	}
	for i, n := range issued {
		if n != 1 && n != sim.VLen {
			t.Fatalf("operation %d has %d slots", i, n)
		}
	}
}

// TestIdeasPay pins the direction, not the size, of what each piece of algebra is for: fewer vector operations.
func TestIdeasPay(t *testing.T) {
	base := Config{Levels: 4, Window: 32, ALU: ALUNever, Addresses: AddrFlow, Laggards: 100}
	count := func(c Config) (vector, loads, flow int) {
		for _, o := range lower(headline, c, false).ops {
			switch o.place {
			case onVALU:
				vector++
			case onLoad:
				loads += int(o.units)
			case onFlow:
				flow++
			}
		}
		return
	}
	vector, loads, flow := count(base)
	fused := base
	fused.Fuse = true
	if v, _, _ := count(fused); v != vector-headline.Rounds*32+1 {
		// One operation less a group and round; one more constant.
		t.Errorf("fusing gives %d vector operations, from %d", v, vector)
	}
	deferred := base
	deferred.DeferC = true
	if v, _, _ := count(deferred); v >= vector-7*32+20 {
		t.Errorf("deferring the last constant gives %d vector operations, from %d", v, vector)
	}
	shallow := base
	shallow.Shallow = 32
	if _, l, f := count(shallow); l <= loads || f >= flow {
		t.Errorf("a level less gives %d loads and %d on flow, from %d and %d", l, f, loads, flow)
	}
	madd := base
	madd.MaddLevels = 3
	if v, _, f := count(madd); f != flow-2*32*(1+2+4) || v <= vector {
		t.Errorf("selecting by multiply_add gives %d on flow, from %d", f, flow)
	}
}

func TestDoesNotFit(t *testing.T) {
	// Arithmetic runs ahead of the loads it feeds, so that every group waits with its registers full.
	c := Config{Levels: 5, Window: 32, ALU: ALUNever, Addresses: AddrLoad, LoadRound: 20, VectorRound: 500, Laggards: 5}
	_, err := Build(context.Background(), headline, c, false)
	r := kernels.AsRejection(err)
	if r == nil || r.Status != space.Invalid {
		t.Fatalf("error is %v; want a rejection", err)
	}
}

func TestValidate(t *testing.T) {
	good := Config{Levels: 2, Window: 1, ALU: ALUNever, Addresses: AddrLoad}
	if err := good.Validate(headline); err != nil {
		t.Fatal(err)
	}
	for _, change := range []func(*Config){
		func(c *Config) { c.Levels = 6 }, func(c *Config) { c.Levels = -1 }, func(c *Config) { c.Window = 0 },
		func(c *Config) { c.Window = 33 }, func(c *Config) { c.MaddLevels = 2 }, func(c *Config) { c.ALU = "" },
		func(c *Config) { c.Addresses = "x" }, func(c *Config) { c.Laggards = 101 },
	} {
		bad := good
		change(&bad)
		if err := bad.Validate(headline); err == nil {
			t.Errorf("%+v is accepted", bad)
		}
		if _, err := Build(context.Background(), headline, bad, false); err == nil || kernels.AsRejection(err) != nil {
			t.Errorf("%+v: error is %v", bad, err)
		}
	}
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	c := Config{Levels: 2, Window: 16, ALU: ALUNever, Addresses: AddrLoad}
	if _, err := Build(ctx, headline, c, false); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
}

func BenchmarkBuild(b *testing.B) {
	c := Config{Levels: 4, Window: 24, Stagger: 4, Fuse: true, DeferC: true, ALU: ALUIdle, Addresses: AddrFlow,
		LoadRound: 360, VectorRound: 240, FlowRound: 220, Laggards: 90, SetupRound: 200}
	ctx := context.Background()
	b.Run("pass=all", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Build(ctx, headline, c, false); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "programs/s")
	})
	b.Run("pass=lower", func(b *testing.B) {
		for b.Loop() {
			lower(headline, c, false)
		}
	})
	g := lower(headline, c, false)
	chooseEngines(g, c)
	b.Run("pass=schedule", func(b *testing.B) {
		for b.Loop() {
			listSchedule(ctx, g, c)
		}
	})
	s, _ := listSchedule(ctx, g, c)
	b.Run("pass=allocate", func(b *testing.B) {
		for b.Loop() {
			allocate(g, s)
		}
	})
	addr, err := allocate(g, s)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("pass=emit", func(b *testing.B) {
		for b.Loop() {
			emit(g, s, addr)
		}
	})
	p := emit(g, s, addr)
	b.Run("pass=decode", func(b *testing.B) {
		for b.Loop() {
			sim.Decode(p)
		}
	})
	code, _ := sim.Decode(p)
	in := tree.NewInputs(headline).Get(1)
	mem := make([]uint32, len(in.Image))
	m := sim.NewMachine()
	b.Run("pass=run", func(b *testing.B) {
		for b.Loop() {
			copy(mem, in.Image)
			m.Run(code, mem, sim.Limits{})
		}
	})
}
