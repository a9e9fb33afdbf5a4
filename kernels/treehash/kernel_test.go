package treehash_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"tune/kernels"
	"tune/kernels/kernelstest"
	"tune/kernels/treehash"
	"tune/kernels/treehash/tree"
	"tune/sim"
	"tune/space"
)

func TestConformance(t *testing.T) {
	kernelstest.Run(t, treehash.Kernel{}, "", "height=1,rounds=1,batch=1", "height=3,rounds=5,batch=37,outputs=all", "height=12,rounds=2,batch=13")
}

// problem returns the problem of a shape.
func problem(t testing.TB, shape string) kernels.Problem {
	t.Helper()
	s, err := kernels.ParseShape(treehash.Kernel{}.Info().Shape, shape)
	if err != nil {
		t.Fatal(err)
	}
	p, err := treehash.Kernel{}.Problem(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// outcome evaluates a preset.
func outcome(t *testing.T, p kernels.Problem, preset string) space.Outcome {
	t.Helper()
	for _, pr := range p.Presets() {
		if pr.Name == preset {
			out, err := (&kernels.Evaluator{Problem: p}).Evaluate(t.Context(), space.Trial{Proposal: space.Proposal{Point: pr.Point}})
			if err != nil {
				t.Fatal(err)
			}
			return out
		}
	}
	t.Fatalf("no preset %s", preset)
	return space.Outcome{}
}

// TestPresets pins the landmarks of the kernel at its default shape.
func TestPresets(t *testing.T) {
	p := problem(t, "")
	for preset, want := range map[string]float64{"baseline": 147_734, "study": 64_383} {
		if out := outcome(t, p, preset); out.Status != space.OK || out.Cost != want {
			t.Errorf("%s: %v %v %s, want ok %v", preset, out.Status, out.Cost, out.Reason, want)
		}
	}
}

func TestMetrics(t *testing.T) {
	out := outcome(t, problem(t, ""), "baseline")
	var names []string
	for _, m := range out.Metrics {
		names = append(names, m.Name)
	}
	if stated := (treehash.Kernel{}).Info().Metrics; !slices.Equal(names, stated) {
		t.Errorf("the metrics are %v, and the kernel states %v", names, stated)
	}
	want := []space.Metric{
		// 29 of 36 slots are arithmetic, 3 load, 2 store and 2 select; the flow engine also pauses twice.
		{Name: "alu", Value: 29 * 4096},
		{Name: "floor", Value: 9899},
		{Name: "flow", Value: 2*4096 + 2},
		{Name: "load", Value: 3*4096 + 14 + 262},
		{Name: "slots", Value: 29*4096 + 2*4096 + 2 + 3*4096 + 14 + 262 + 2*4096},
		{Name: "store", Value: 2 * 4096},
		{Name: "valu", Value: 0},
	}
	if len(out.Metrics) != len(want) {
		t.Fatalf("metrics %v, want %v", out.Metrics, want)
	}
	for i, m := range out.Metrics {
		if m != want[i] {
			t.Errorf("metric %v, want %v", m, want[i])
		}
	}
}

// TestCheapestBounds: whatever the family, the cheapest score has a bound, and no score above it claims one.
func TestCheapestBounds(t *testing.T) {
	p := problem(t, "height=4,rounds=4,batch=16")
	for _, preset := range p.Presets() {
		for fidelity := range p.Traits().Levels + 1 {
			out, err := (&kernels.Evaluator{Problem: p}).Evaluate(t.Context(),
				space.Trial{Proposal: space.Proposal{Point: preset.Point, Fidelity: fidelity}})
			if err != nil || out.Status != space.OK {
				t.Fatalf("%s at fidelity %d: %v, %v", preset.Name, fidelity, out, err)
			}
			has := func(name string) bool {
				return slices.ContainsFunc(out.Metrics, func(m space.Metric) bool { return m.Name == name })
			}
			if cheapest := fidelity == p.Traits().Levels; has(space.MetricBound) != cheapest || has("floor") == cheapest {
				t.Errorf("%s at fidelity %d has the metrics %v", preset.Name, fidelity, out.Metrics)
			}
		}
	}
}

// TestFaultyPrograms loads programs that are wrong, each in its own way.
func TestFaultyPrograms(t *testing.T) {
	p := problem(t, "height=1,rounds=1,batch=2,outputs=all")
	s := tree.Shape{Height: 1, Rounds: 1, Batch: 2}
	// right writes the outputs of seed 1 as constants.
	in := tree.NewInputs(s).Get(1)
	var right []sim.Bundle
	for i, w := range append(append([]uint32(nil), in.Indices...), in.Values...) {
		right = append(right,
			sim.Bundle{Slots: []sim.Slot{{Op: sim.OpConst, Args: [4]uint32{0, uint32(s.IndexAddr() + i)}}, {Op: sim.OpConst, Args: [4]uint32{1, w}}}},
			sim.Bundle{Slots: []sim.Slot{{Op: sim.OpStore, Args: [4]uint32{0, 1}}}})
	}
	var b bytes.Buffer
	if err := (&sim.Program{Bundles: right}).Write(&b); err != nil {
		t.Fatal(err)
	}
	rightText := strings.TrimSuffix(strings.TrimSpace(b.String()), "]")

	for _, test := range []struct {
		name, program string
		status        space.Status
		reason        string
	}{
		{"right on its seed", rightText + "]", space.OK, ""},
		{"nothing", "[]", space.WrongAnswer, "value of item 0 is "},
		{"wrong index", rightText + `, {"load":[["const",0,11],["const",1,7]]}, {"store":[["store",0,1]]}]`, space.WrongAnswer, "index of item 1 is 7, want "},
		{"no such word", `[{"load":[["const",0,999]]}, {"load":[["load",1,0]]}]`, space.Crashed, "bundle 1, load slot 0"},
		{"too many slots", `[{"flow":[["pause"],["pause"]]}]`, space.Crashed, "bundle 0, flow slot 1"},
		{"no end", `[{"flow":[["jump",0]]}]`, space.Timeout, "does not end within"},
		{"two writes of scratch", rightText + `, {"load":[["const",0,1],["const",0,2]]}]`, space.WrongAnswer, "bundle 8, load slot 1: writes scratch word 0"},
		{"two writes of memory", rightText + `, {"load":[["const",0,1],["const",2,1]]}, {"store":[["store",0,1],["store",2,1]]}]`, space.WrongAnswer, "bundle 9, store slot 1: writes memory word 1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, err := p.Traits().Load(strings.NewReader(test.program))
			if err != nil {
				t.Fatal(err)
			}
			err = c.Check(t.Context(), 1)
			if test.status == space.OK {
				if err != nil {
					t.Error(err)
				}
				// It was built from the inputs of seed 1, so it fails on any other.
				if r := kernels.AsRejection(c.Check(t.Context(), 2)); r == nil || r.Status != space.WrongAnswer {
					t.Errorf("seed 2: %v, want a wrong answer", r)
				}
				return
			}
			r := kernels.AsRejection(err)
			if r == nil || r.Status != test.status || !strings.Contains(r.Reason, test.reason) {
				t.Errorf("%v, want %v with %q", err, test.status, test.reason)
			}
			if _, err := c.Score(t.Context(), 0); err == nil {
				t.Error("a program without a passed check was scored")
			}
		})
	}
}

// TestCyclesMayNotDependOnInputs loads a program that is right but takes a cycle more where the first value
// is odd.
func TestCyclesMayNotDependOnInputs(t *testing.T) {
	p := problem(t, "height=1,rounds=1,batch=1")
	var b bytes.Buffer
	c, err := p.Build(t.Context(), p.Presets()[0].Point)
	if err != nil {
		t.Fatal(err)
	}
	artifacts, err := c.Artifacts()
	if err != nil {
		t.Fatal(err)
	}
	if err := artifacts[0].Write(&b); err != nil {
		t.Fatal(err)
	}
	head := strings.TrimSuffix(strings.TrimSpace(b.String()), "]")
	at := strconv.Itoa(strings.Count(head, "{") + 5) // the last of the bundles that are added
	branchy := head + `, {"load":[["const",0,11],["const",1,2]]}, {"load":[["load",0,0]]}, {"alu":[["%",0,0,1]]}, {"flow":[["cond_jump",0,` + at + `]]}, {"flow":[["pause"]]}, {"flow":[["pause"]]}]`
	c, err = p.Traits().Load(strings.NewReader(branchy))
	if err != nil {
		t.Fatal(err)
	}
	var rejected *kernels.Rejection
	for seed := uint64(0); seed < 32 && rejected == nil; seed++ {
		if err := c.Check(t.Context(), seed); err != nil {
			rejected = kernels.AsRejection(err)
			if rejected == nil {
				t.Fatal(err)
			}
		}
	}
	if rejected == nil || rejected.Status != space.WrongAnswer || !strings.Contains(rejected.Reason, "cycles on the inputs of seed") {
		t.Errorf("%v, want a wrong answer on account of the cycles", rejected)
	}
	// Its slots are counted as they are executed: one pause or two in the added part.
	score, err := c.Score(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range score.Metrics {
		if m.Name == "flow" && m.Value != 6 && m.Value != 7 {
			t.Errorf("%v flow slots, want 6 or 7", m.Value)
		}
	}
}

// TestSlowestPoint: the limit of cycles leaves room for the slowest point, whose lanes are nearly all masked
// off.
func TestSlowestPoint(t *testing.T) {
	p := problem(t, "height=2,rounds=32,batch=1")
	point, err := p.Space().Parse("family=scalar lanes=32 offsets=counter packing=single index_registers=single hash_output=in_place hash_order=barrier")
	if err != nil {
		t.Fatal(err)
	}
	c, err := p.Build(t.Context(), point)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Check(t.Context(), 1); err != nil {
		t.Error(err)
	}
}

// TestShapeOutputs: the indices count only where they are an output.
func TestShapeOutputs(t *testing.T) {
	spoil := `, {"load":[["const",0,10],["const",1,99]]}, {"store":[["store",0,1]]}]` // 10 is the only index
	for shape, want := range map[string]bool{"height=1,rounds=1,batch=1": true, "height=1,rounds=1,batch=1,outputs=all": false} {
		p := problem(t, shape)
		c, err := p.Build(t.Context(), p.Presets()[0].Point)
		if err != nil {
			t.Fatal(err)
		}
		artifacts, err := c.Artifacts()
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := artifacts[0].Write(&b); err != nil {
			t.Fatal(err)
		}
		c, err = p.Traits().Load(strings.NewReader(strings.TrimSuffix(strings.TrimSpace(b.String()), "]") + spoil))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Check(t.Context(), 1); (err == nil) != want {
			t.Errorf("%s: %v", shape, err)
		}
	}
}

// TestConcurrentChecks runs candidates of one problem side by side, as a search does.
func TestConcurrentChecks(t *testing.T) {
	p := problem(t, "height=4,rounds=3,batch=20")
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for _, preset := range p.Presets() {
				c, err := p.Build(t.Context(), preset.Point)
				if err != nil {
					t.Error(err)
					return
				}
				if err := kernels.Verify(t.Context(), c, []uint64{1, 2, 3, 4, 5}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// TestVectors: the reference agrees with the published kernel on every recorded tree.
func TestVectors(t *testing.T) {
	f, err := os.Open("../../sim/testdata/vliw.json.gz")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("the recorded vectors are not in this checkout")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	v, err := sim.ReadVectors(f)
	if err != nil {
		t.Fatal(err)
	}
	if len(v.Trees) == 0 {
		t.Fatal("the vectors have no trees")
	}
	for _, err := range treehash.CheckVectors(v) {
		t.Error(err)
	}
	v.Trees[0].Values[0]++
	v.Trees[1].Indices[0]++
	v.Trees[2].Image = v.Trees[2].Image[1:]
	v.Trees[3].Image[tree.HeaderWords+1<<(v.Trees[3].Height+1)-1] = 1 << 20
	if errs := treehash.CheckVectors(v); len(errs) != 4 {
		t.Errorf("%d errors for four spoilt trees: %v", len(errs), errs)
	}
}

// BenchmarkCheck is what a search pays for a candidate that is built.
func BenchmarkCheck(b *testing.B) {
	p := problem(b, "")
	for _, preset := range p.Presets() {
		b.Run("point="+preset.Name, func(b *testing.B) {
			c, err := p.Build(b.Context(), preset.Point)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := c.Check(b.Context(), 1); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
