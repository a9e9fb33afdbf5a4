package vector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tune/kernels"
	"tune/kernels/treehash/tree"
	"tune/sim"
	"tune/space"
)

var headline = tree.Shape{Height: 10, Rounds: 16, Batch: 256}

// randomConfig draws a configuration that Validate accepts; n(k) draws from [0, k).
func randomConfig(s tree.Shape, indices bool, n func(k int) int) Config {
	c := Config{
		Levels: n(levelLimit(s) + 1), Fuse: n(2) == 0, DeferC: n(2) == 0, FirstFlow: n(3*shares + 1), NextFlow: n(2*shares + 1),
		ChainFlow: n(shares + 1), WindowGather: n(shares + 1), AddressFlow: n(shares + 1),
		DeriveConstants: n(shares + 1), ConstantFlow: n(shares + 1),
		Window: 1 + n(Groups(s)), Lanes: n(4) > 0, MaddFirst: n(2) == 0,
		LoadRound: n(601), VectorRound: n(601), ScalarRound: n(601), FlowRound: n(601), SetupRound: n(601),
		Laggards: n(101), Shuffle: n(64),
	}
	if c.Levels >= 2 {
		c.Shallow, c.Madd1, c.Madd2, c.Madd3 = n(Groups(s)+1)*n(2), n(shares+1), n(shares+1), n(shares+1)
	}
	if c.Levels >= leastTableLevel {
		c.Tables, c.StoreCopies = n(tablesTo(tableLimit(s), c.Levels)+1), n(shares+1)
		c.CopyBuffers, c.SplitRecords = n(bufferShares+1), n(shares+1)*n(2)
		c.StoreBroadcasts = n(s.Rounds+1) * n(2)
	}
	if c.Levels == lastTableLevel && c.Tables > 0 && lastTableFits(s, indices) && n(3) > 0 {
		c.LastTable, c.LastFlow, c.LastCopies, c.Shallow = true, n(shares+1), n(shares+1), 0
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
		indices := rapid.Bool().Draw(t, "indices")
		c := randomConfig(s, indices, n)
		p, err := Build(ctx, s, c, indices, n(4)-1)
		if r := kernels.AsRejection(err); r != nil && r.Status == space.Invalid {
			return
		}
		if err != nil {
			t.Fatalf("%v, %+v: %v", s, c, err)
		}
		if _, err := run(p, s, uint64(n(1000)), indices); err != nil {
			t.Fatalf("%v, %+v, indices %v: %v", s, c, indices, err)
		}
		// Only the word that is zero is read without having been written.
		zero := p.Names[slices.IndexFunc(p.Names, func(n sim.NamedRange) bool { return n.Name == "zero" })].Span.Addr
		for _, w := range sim.Lint(p) {
			if w.Reason != fmt.Sprintf("reads scratch word %d, which nothing writes before", zero) {
				t.Fatalf("%v, %+v: %v", s, c, w)
			}
		}
	})
}

// TestManyPoints does the same for many points of each of a few shapes, in every way that a schedule may come about.
func TestManyPoints(t *testing.T) {
	points := manyPoints
	if testing.Short() {
		points = 200
	}
	for _, s := range []tree.Shape{{Height: 5, Rounds: 9, Batch: 24}, {Height: 3, Rounds: 8, Batch: 11}, {Height: 6, Rounds: 7, Batch: 64}, {Height: 9, Rounds: 12, Batch: 16}, {Height: 4, Rounds: 10, Batch: 27}, {Height: 4, Rounds: 10, Batch: 96}} {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(3, uint64(s.Words())))
			right := 0
			for i := range points {
				indices := r.IntN(2) == 0
				c := randomConfig(s, indices, r.IntN)
				p, err := Build(context.Background(), s, c, indices, i%3-1)
				if kernels.AsRejection(err) != nil {
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				if _, err := run(p, s, uint64(i), indices); err != nil {
					t.Fatalf("%+v, indices %v: %v", c, indices, err)
				}
				right++
			}
			if right < points*9/10 {
				t.Errorf("%d of %d points fit", right, points)
			}
		})
	}
}

// chosen returns the graph that the passes up to engines leave, and its edges.
func chosen(t testing.TB, s tree.Shape, c Config, indices bool) (*graph, *edges) {
	t.Helper()
	k := newCompilation(s, c, indices, -1)
	if err := k.through(context.Background(), "engines"); err != nil {
		t.Fatal(err)
	}
	return k.graph, k.graph.edges()
}

// randomSchedule takes a random configuration as far as its first schedule.
func randomSchedule(t *testing.T, r *rand.Rand, s tree.Shape) (Config, *graph, *edges, *schedule) {
	t.Helper()
	indices := r.IntN(2) == 0
	c := randomConfig(s, indices, r.IntN)
	g, e := chosen(t, s, c, indices)
	first, err := listSchedule(context.Background(), g, e, c)
	if err != nil {
		t.Fatal(err)
	}
	return c, g, e, first
}

// TestBound: no schedule is shorter than its bound.
func TestBound(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 1))
	for range 100 {
		s := tree.Shape{Height: 1 + r.IntN(9), Rounds: 1 + r.IntN(16), Batch: 1 + r.IntN(64)}
		c, g, e, greedy := randomSchedule(t, r, s)
		best, err := newJustifier(g, e, 1).improve(context.Background(), greedy, 3, 0)
		if err != nil {
			t.Fatal(err)
		}
		if b := g.bound(e); best.cycles < b.Cycles() {
			t.Fatalf("%v, %+v: %d cycles, and the bound is %+v", s, c, best.cycles, b)
		}
		if b := g.bound(e); b.Forecast() < float64(b.Cycles()) {
			t.Fatalf("%v, %+v: the forecast %v is below the bound %d", s, c, b.Forecast(), b.Cycles())
		}
		if best.cycles > greedy.cycles {
			t.Fatalf("%v, %+v: improved from %d to %d cycles", s, c, greedy.cycles, best.cycles)
		}
	}
}

// TestSlots: the slots of a bound are those of the program, and each floor follows from the slots beside it.
func TestSlots(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 1))
	counted := 0
	for range 100 {
		s := tree.Shape{Height: 1 + r.IntN(9), Rounds: 1 + r.IntN(16), Batch: 1 + r.IntN(64)}
		indices := r.IntN(2) == 0
		c := randomConfig(s, indices, r.IntN)
		p, err := Build(context.Background(), s, c, indices, -1)
		if kernels.AsRejection(err) != nil {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := BoundOf(s, c, indices)
		if err != nil {
			t.Fatal(err)
		}
		want := sim.Utilisation(p, nil).Slots
		if b.Slots[sim.VALU] > want[sim.VALU] {
			t.Errorf("%v, %+v: %d slots are of valu alone, and the program has %d", s, c, b.Slots[sim.VALU], want[sim.VALU])
		}
		want[sim.ALU] += sim.VLen * want[sim.VALU]
		want[sim.VALU] = b.Slots[sim.VALU]
		if b.Slots != want {
			t.Errorf("%v, %+v: the slots are %v, want %v", s, c, b.Slots, want)
		}
		for e := range sim.Debug {
			if n, least := perCycle(e), b.Floors[e]; least*n < b.Slots[e] || (least-1)*n >= b.Slots[e] {
				t.Errorf("%v, %+v: %v has %d slots, %d a cycle, and the floor %d", s, c, e, b.Slots[e], n, least)
			}
		}
		counted++
	}
	if counted < 50 {
		t.Errorf("%d of 100 programs were counted", counted)
	}
}

// TestHeadAndTail compares with all pairs of a head and a tail, counted one by one.
func TestHeadAndTail(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 1))
	for range 300 {
		top, limit := 1+r.IntN(30), 1+r.IntN(8)
		ws := make([]weighed, 1+r.IntN(60))
		total := 0
		for i := range ws {
			head := r.IntN(top + 1)
			ws[i] = weighed{int32(head), int32(r.IntN(top - head + 1)), int32(1 + r.IntN(8))}
			total += int(ws[i].slots)
		}
		floor := (total + limit - 1) / limit
		want := floor
		for head := range int32(top + 1) {
			for tail := range int32(top + 1) {
				slots := 0
				for _, w := range ws {
					if w.head >= head && w.tail >= tail {
						slots += int(w.slots)
					}
				}
				if slots > 0 {
					want = max(want, int(head+tail)+(slots+limit-1)/limit)
				}
			}
		}
		if got := headAndTail(ws, limit, top, floor); got != want {
			t.Fatalf("%d, want %d: %v, %d slots a cycle", got, want, ws, limit)
		}
	}
}

// TestScheduleKnobs: no bound depends on them.
func TestScheduleKnobs(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 1))
	for range 40 {
		s := tree.Shape{Height: 1 + r.IntN(9), Rounds: 1 + r.IntN(16), Batch: 1 + r.IntN(64)}
		sp, err := space.New("vector", Parameters(s, false))
		if err != nil {
			t.Fatal(err)
		}
		p, err := sp.Sample(r)
		if err != nil {
			t.Fatal(err)
		}
		q := p.Ordinals()
		for i, parameter := range sp.Parameters() {
			if slices.Contains(ScheduleKnobs(), parameter.Name) {
				q[i] = r.IntN(parameter.Len())
			}
		}
		other, ok := sp.Complete(q)
		if !ok {
			t.Fatalf("%v is no point", q)
		}
		a, err := BoundOf(s, ConfigOf(p), false)
		if err != nil {
			t.Fatal(err)
		}
		b, err := BoundOf(s, ConfigOf(other), false)
		if err != nil {
			t.Fatal(err)
		}
		if a != b {
			t.Errorf("%v: %+v at %s, and %+v at %s", s, a, p.Key(), b, other.Key())
		}
	}
}

// naivePack is packer.pack by the book: of the operations whose predecessors are placed the one with the least key is
// next, and the first cycle that has room is found by looking at every one.
func naivePack(p *packer, keys []int32, lastFirst bool) *schedule {
	n := int32(len(keys))
	s := newSchedule(int(n))
	var used [sim.NumEngines][]int
	room := func(e sim.Engine, at int32) int {
		for int(at) >= len(used[e]) {
			used[e] = append(used[e], 0)
		}
		return sim.SlotLimit[e] - used[e][at]
	}
	first := func(e sim.Engine, at int32) int32 {
		for room(e, at) == 0 {
			at++
		}
		return at
	}
	placed := make([]bool, n)
	for range n {
		next := int32(-1)
		for i := range n {
			ready := !placed[i] && !slices.ContainsFunc(p.arcs[p.start[i]:p.start[i+1]], func(a int32) bool { return !placed[a>>1] })
			if ready && (next < 0 || keys[i] < keys[next] || keys[i] == keys[next] && lastFirst) {
				next = i
			}
		}
		i, est := next, int32(0)
		placed[i] = true
		for _, a := range p.arcs[p.start[i]:p.start[i+1]] {
			est = max(est, s.last[a>>1]+1-a&1)
		}
		lanes := func(e sim.Engine) (out []int32) {
			for at := est; len(out) < sim.VLen; at++ {
				for k := 0; k < room(e, at) && len(out) < sim.VLen; k++ {
					out = append(out, at)
				}
			}
			return out
		}
		spread := func(e sim.Engine, at []int32) {
			for l, t := range at {
				used[e][t]++
				s.lanes[sim.VLen*i+int32(l)] = t
			}
			s.first[i], s.last[i] = at[0], at[sim.VLen-1]
		}
		engine := sim.Engine(p.kinds[i])
		switch p.kinds[i] {
		case fenceKind:
			s.first[i], s.last[i] = est, est-1
			continue
		case gatherKind:
			spread(sim.Load, lanes(sim.Load))
			s.cycles = max(s.cycles, int(s.last[i])+1)
			continue
		case eitherKind:
			engine = sim.VALU
			if at := lanes(sim.ALU); at[sim.VLen-1] < first(sim.VALU, est) {
				spread(sim.ALU, at)
				s.cycles = max(s.cycles, int(s.last[i])+1)
				continue
			}
		}
		at := first(engine, est)
		used[engine][at]++
		s.first[i], s.last[i] = at, at
		s.cycles = max(s.cycles, int(at)+1)
	}
	return s
}

// TestRoundTrip compares the packer, which is fast because it takes operations in a sorted order, with the naive one.
func TestRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 1))
	for range 25 {
		s := tree.Shape{Height: 1 + r.IntN(6), Rounds: 1 + r.IntN(7), Batch: 1 + r.IntN(20)}
		c, g, e, sched := randomSchedule(t, r, s)
		j := newJustifier(g, e, 1)
		late, early := j.roundTrip(sched, 0)

		keys := make([]int32, len(g.ops))
		for i := range keys {
			keys[i] = -sched.last[i]
		}
		wantLate := naivePack(&j.backward, keys, true)
		wantLate.reverse(g)
		for i := range keys {
			keys[i] = late.first[i]
		}
		wantEarly := naivePack(&j.forward, keys, false)
		for _, pair := range [][2]*schedule{{late, wantLate}, {early, wantEarly}} {
			got, want := pair[0], pair[1]
			if got.cycles != want.cycles || !slices.Equal(got.first, want.first) || !slices.Equal(got.last, want.last) {
				t.Fatalf("%v, %+v: the packers differ: %d and %d cycles", s, c, got.cycles, want.cycles)
			}
			for i := range int32(len(g.ops)) {
				if got.spread(i) != want.spread(i) || got.spread(i) && !slices.Equal(got.lanes[sim.VLen*i:sim.VLen*i+sim.VLen], want.lanes[sim.VLen*i:sim.VLen*i+sim.VLen]) {
					t.Fatalf("%v, %+v: the lanes of operation %d differ", s, c, i)
				}
			}
		}
	}
}

// TestLargeShapes does the same with few draws where a program is long.
func TestLargeShapes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for i, s := range []tree.Shape{headline, headline, headline, {Height: 12, Rounds: 32, Batch: 512}, {Height: 1, Rounds: 32, Batch: 511}, {Height: 12, Rounds: 1, Batch: 509}} {
		c := randomConfig(s, i%2 == 0, r.IntN)
		p, err := Build(context.Background(), s, c, i%2 == 0, i-1)
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
		c := randomConfig(s, true, r.IntN)
		image := tree.Image(s, 7)
		want, wantIndices := tree.Reference(s, image)
		check := func(pass string, g *graph, order []int32) {
			t.Helper()
			mem := slices.Clone(image)
			if err := interpret(g, order, mem); err != nil {
				t.Fatalf("%s: %v, %+v: %v", pass, s, c, err)
			}
			if !slices.Equal(mem[s.ValueAddr():], want) || !slices.Equal(mem[s.IndexAddr():s.ValueAddr()], wantIndices) {
				t.Fatalf("%s: %v, %+v: wrong", pass, s, c)
			}
		}
		check("lower", lower(s, c, true), nil)
		g, e := chosen(t, s, c, true)
		sched, err := listSchedule(context.Background(), g, e, c)
		if err != nil {
			t.Fatal(err)
		}
		if err := sched.check(g, e); err != nil {
			t.Fatal(err)
		}
		for _, pass := range append(Passes(), "") {
			if err := Explain(context.Background(), io.Discard, s, c, true, 1, pass, 7); err != nil && kernels.AsRejection(err) == nil {
				t.Fatalf("explain %q: %v, %+v: %v", pass, s, c, err)
			}
		}
		late, early := newJustifier(g, e, 1).roundTrip(sched, r.IntN(8))
		for _, next := range []*schedule{late, early} {
			if err := next.check(g, e); err != nil {
				t.Fatal(err)
			}
		}
		sched = []*schedule{sched, late, early}[r.IntN(3)]
		a, err := allocate(g, sched)
		if kernels.AsRejection(err) != nil {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if cycles, err := run(emit(g, sched, a), s, 7, true); err != nil {
			t.Fatalf("allocate or emit: %v, %+v: %v", s, c, err)
		} else if cycles != sched.cycles {
			t.Fatalf("the machine takes %d cycles, the schedule %d", cycles, sched.cycles)
		}
	}
}

// TestIdeasPay pins the direction, not the size, of what each piece of algebra is for.
func TestIdeasPay(t *testing.T) {
	base := Config{Levels: 4, Window: 32}
	count := func(change func(*Config)) (vector, loads, flow int) {
		c := base
		change(&c)
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
	vector, loads, flow := count(func(*Config) {})
	if v, _, _ := count(func(c *Config) { c.Fuse = true }); v != vector-headline.Rounds*32+1 {
		// One operation less a group and round; one more constant.
		t.Errorf("fusing gives %d vector operations, from %d", v, vector)
	}
	if v, _, _ := count(func(c *Config) { c.DeferC = true }); v >= vector-7*32+20 {
		t.Errorf("deferring the last constant gives %d vector operations, from %d", v, vector)
	}
	if _, l, f := count(func(c *Config) { c.Shallow = 32 }); l <= loads || f >= flow {
		t.Errorf("a level less gives %d loads and %d on flow, from %d and %d", l, f, loads, flow)
	}
	if v, _, f := count(func(c *Config) { c.Madd1, c.Madd2, c.Madd3 = 32, 32, 32 }); f != flow-2*32*(1+2+4) || v <= vector {
		t.Errorf("selecting by multiply_add gives %d on flow, from %d", f, flow)
	}
	if _, l, _ := count(func(c *Config) { c.Tables = 2 }); l > loads-2*32*8+200 {
		t.Errorf("two tables give %d loads, from %d", l, loads)
	}
	if v, _, _ := count(func(c *Config) { c.WindowGather = 32 }); v >= vector {
		t.Errorf("the easier addresses give %d vector operations, from %d", v, vector)
	}
	last := func(c *Config) { c.Levels, c.Tables, c.LastTable, c.LastCopies, c.CopyBuffers = 3, 3, true, 32, 2 }
	others := func(c *Config) { c.Levels, c.Tables, c.StoreCopies, c.CopyBuffers = 3, 3, 32, 2 }
	for _, with := range []func(c *Config){last, others} {
		vector, loads, _ = count(with)
		v, l, _ := count(func(c *Config) { with(c); c.StoreBroadcasts = 12 })
		if vector-v < 5 || vector-v > l-loads || l-loads > vector-v+8 {
			// One load for each, and some for addresses.
			t.Errorf("constants through memory give %d vector operations and %d loads, from %d and %d", v, l, vector, loads)
		}
	}
}

func TestDoesNotFit(t *testing.T) {
	// Arithmetic runs ahead of the loads it feeds, so that every group waits with its registers full.
	c := Config{Levels: 5, Window: 32, LoadRound: 20, VectorRound: 500, Laggards: 5}
	_, err := Build(context.Background(), headline, c, false, 0)
	r := kernels.AsRejection(err)
	if r == nil || r.Status != space.Invalid {
		t.Fatalf("error is %v; want a rejection", err)
	}
	for _, pass := range []string{"", "allocate"} {
		var out strings.Builder
		err := Explain(context.Background(), &out, headline, c, false, 0, pass, 7)
		if kernels.AsRejection(err) == nil {
			t.Errorf("explain %q: error is %v; want a rejection", pass, err)
		}
		if summary := strings.Contains(out.String(), "no schedule below"); summary != (pass == "") {
			t.Errorf("explain %q prints %q", pass, out.String())
		}
	}
}

// TestVerifyNames: what a pass made wrong is named, before and after there is a program.
func TestVerifyNames(t *testing.T) {
	s := tree.Shape{Height: 3, Rounds: 3, Batch: 8}
	c := Config{Levels: 2, Window: 1}
	k := newCompilation(s, c, false, 0)
	for i := range passes {
		p := &passes[i]
		err := p.do(context.Background(), k)
		if err == nil {
			err = p.verify(k, 7)
		}
		if err != nil {
			t.Fatal(err)
		}
		if k.graph == nil || k.alloc == nil && k.sched != nil {
			continue // the plan is not executed, and what checks a schedule wants all operations
		}
		all := k.graph.ops
		k.graph.ops = all[:len(all)-1]
		if err := p.verify(k, 7); err == nil || err.Error() != "pass "+p.name+": the values are wrong on the tree of seed 7" {
			t.Errorf("pass %s, without the last operation: %v", p.name, err)
		}
		k.graph.ops = all
	}
	if err := k.through(context.Background(), "shedule"); err == nil {
		t.Error("a pass that there is not is run")
	}
}

// TestPassesAreDescribed: the documentation names the passes of the table, in their order.
func TestPassesAreDescribed(t *testing.T) {
	for _, doc := range []struct{ file, form string }{{"doc.go", "//  %[2]d. %[1]s "}, {"../../../../docs/design/vector-compiler.md", "`%[1]s`"}} {
		data, err := os.ReadFile(doc.file)
		if err != nil {
			t.Fatal(err)
		}
		rest := string(data)
		for i, name := range Passes() {
			var ok bool
			if _, rest, ok = strings.Cut(rest, fmt.Sprintf(doc.form, name, i+1)); !ok {
				t.Errorf("%s does not name pass %s, or not in its place", doc.file, name)
			}
		}
	}
	if lines := strings.Count(DescribePasses(), "\n"); lines != len(passes) {
		t.Errorf("%d passes are described in %d lines", len(passes), lines)
	}
}

// TestCheckFails: what breaks an arc or an engine's limit is told.
func TestCheckFails(t *testing.T) {
	s := tree.Shape{Height: 4, Rounds: 6, Batch: 32}
	c := Config{Levels: 3, Tables: 1, Window: 4, Lanes: true}
	scheduled := func() (*graph, *edges, *schedule) {
		g, e := chosen(t, s, c, false)
		first, err := listSchedule(context.Background(), g, e, c)
		if err == nil {
			err = errors.Join(g.checkEngines(), first.check(g, e))
		}
		if err != nil {
			t.Fatal(err)
		}
		return g, e, first
	}
	g, _, _ := scheduled()
	i := slices.IndexFunc(g.ops, func(o op) bool { return o.code == sim.OpMultiplyAdd })
	g.ops[i].place = onEither
	if err := g.checkEngines(); err == nil || !strings.Contains(err.Error(), "multiply_add") {
		t.Errorf("a multiply_add on the scalar engine: %v", err)
	}
	g, e, sched := scheduled()
	i = slices.IndexFunc(g.ops, func(o op) bool { return o.place == onFlow })
	j := i + 1 + slices.IndexFunc(g.ops[i+1:], func(o op) bool { return o.place == onFlow })
	sched.first[i], sched.last[i] = sched.first[j], sched.last[j]
	if err := sched.check(g, e); err == nil {
		t.Error("two operations of one flow slot pass")
	}
	g, e, sched = scheduled()
	for n := range g.ops {
		if k := int32(n); g.ops[n].place == onVALU && len(e.succs(k)) > 0 {
			to := e.succs(k)[0] >> 1
			if e.succs(k)[0]&1 == 0 && g.ops[to].place == onVALU {
				sched.first[to], sched.last[to] = sched.first[k], sched.last[k]
				break
			}
		}
	}
	if err := sched.check(g, e); err == nil || !strings.Contains(err.Error(), "begins in cycle") {
		t.Errorf("an operation beside the one that it waits for: %v", err)
	}
}

func TestValidate(t *testing.T) {
	good := Config{Levels: 2, Window: 1}
	if err := good.Validate(headline, false); err != nil {
		t.Fatal(err)
	}
	for _, change := range []func(*Config){
		func(c *Config) { c.Levels = 6 }, func(c *Config) { c.Levels = -1 }, func(c *Config) { c.Window = 0 },
		func(c *Config) { c.Window = 33 }, func(c *Config) { c.Tables = 1 }, func(c *Config) { c.Madd1 = 33 },
		func(c *Config) { c.FirstFlow = -1 }, func(c *Config) { c.Laggards = 101 }, func(c *Config) { c.LastFlow = 1 },
		func(c *Config) { c.StoreBroadcasts = 17 },
		func(c *Config) { c.LastTable = true }, func(c *Config) { c.Levels, c.Tables, c.Shallow, c.LastTable = 3, 1, 1, true },
	} {
		bad := good
		change(&bad)
		if err := bad.Validate(headline, false); err == nil {
			t.Errorf("%+v is accepted", bad)
		}
		if _, err := Build(context.Background(), headline, bad, false, 0); err == nil || kernels.AsRejection(err) != nil {
			t.Errorf("%+v: error is %v", bad, err)
		}
	}
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	c := Config{Levels: 2, Window: 16}
	if _, err := Build(ctx, headline, c, false, -1); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
}

func BenchmarkBuild(b *testing.B) {
	c := Config{Levels: 3, Tables: 3, Window: 24, Fuse: true, DeferC: true, Lanes: true, FirstFlow: 32, NextFlow: 32,
		WindowGather: 32, AddressFlow: 32, LoadRound: 360, VectorRound: 240, FlowRound: 220, ScalarRound: 240, Laggards: 90, SetupRound: 200}
	ctx := context.Background()
	b.Run("pass=all", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Build(ctx, headline, c, false, -1); err != nil {
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
	g, e := chosen(b, headline, c, false)
	b.Run("pass=list", func(b *testing.B) {
		for b.Loop() {
			listSchedule(ctx, g, e, c)
		}
	})
	s, _ := listSchedule(ctx, g, e, c)
	b.Run("pass=allocate", func(b *testing.B) {
		for b.Loop() {
			allocate(g, s)
		}
	})
	a, err := allocate(g, s)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("pass=emit", func(b *testing.B) {
		for b.Loop() {
			emit(g, s, a)
		}
	})
	p := emit(g, s, a)
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
