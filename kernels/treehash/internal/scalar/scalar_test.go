package scalar

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tune/kernels"
	"tune/kernels/treehash/tree"
	"tune/sim"
	"tune/space"
)

var update = flag.Bool("update", false, "write the golden files")

var headline = tree.Shape{Height: 10, Rounds: 16, Batch: 256}

// baseline is the study's starting point: one item at a time, one slot a bundle.
func baseline() Config {
	return Config{Lanes: 1, Offsets: OffsetConstant}
}

// theStudy is the study's result: three lanes, packed in order. Its own code also threads a token through the
// stages of each lane and renames the hash register; neither changes the count.
func theStudy() Config {
	return Config{Lanes: 3, HashOrder: HashToken, HashOutput: HashRenamed, Packing: PackInOrder}
}

// run executes a program on a random image and compares values and indices with the reference.
func run(p *sim.Program, s tree.Shape, seed uint64) (cycles int, err error) {
	code, err := sim.Decode(p)
	if err != nil {
		return 0, err
	}
	image := tree.Image(s, seed)
	values, indices := tree.Reference(s, image)
	res, err := sim.NewMachine().Run(code, image, sim.Limits{})
	switch {
	case err != nil:
		return 0, err
	case !slices.Equal(image[s.ValueAddr():], values):
		return 0, fmt.Errorf("values %v, want %v", image[s.ValueAddr():], values)
	case !slices.Equal(image[s.IndexAddr():s.ValueAddr()], indices):
		return 0, fmt.Errorf("indices %v, want %v", image[s.IndexAddr():s.ValueAddr()], indices)
	}
	return res.Cycles, nil
}

// TestCycles pins exact counts. Those of one slot a bundle and of packing in order with one access to
// memory a bundle are published or follow from the study's rules; the others are this generator's own and
// may only fall.
func TestCycles(t *testing.T) {
	study := theStudy()
	plain := Config{Lanes: 3, Packing: PackInOrder}
	inOrder := func(lanes int) Config { c := plain; c.Lanes = lanes; return c }
	tests := []struct {
		name   string
		config Config
		want   int
	}{
		{"baseline", baseline(), 147_734},
		{"study", study, 64_383},
		{"study without tokens", with(study, func(c *Config) { c.HashOrder = HashFree }), 64_383},
		{"study in place", with(study, func(c *Config) { c.HashOutput = HashInPlace }), 64_383},
		{"study without either", plain, 64_383},
		{"study with cur and next", with(study, func(c *Config) { c.IndexRegisters = IndexCurNext }), 64_383},
		{"1 lane", inOrder(1), 102_447},
		{"2 lanes", inOrder(2), 65_583},
		{"4 lanes", inOrder(4), 63_568},
		{"8 lanes", inOrder(8), 62_608},
		{"list, 8 lanes", Config{Lanes: 8, Packing: PackList, Memory: MemoryFull, Offsets: OffsetConstant, LoadOrder: LoadsByLane, Priority: PriorityOrder}, 13_467},
		{"list, 32 lanes", Config{Lanes: 32, Packing: PackList, Memory: MemoryFull, Offsets: OffsetConstant, LoadOrder: LoadsByLane, Priority: PriorityOrder}, 13_225},
		{"list by path, 32 lanes", Config{Lanes: 32, Packing: PackList, Memory: MemoryFull, Offsets: OffsetConstant}, 16_044},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p, err := Build(headline, test.config)
			if err != nil {
				t.Fatal(err)
			}
			cycles, err := run(p, headline, 1)
			if err != nil {
				t.Fatal(err)
			}
			if cycles != test.want {
				t.Errorf("%d cycles, want %d", cycles, test.want)
			}
		})
	}
}

func with(c Config, change func(*Config)) Config {
	change(&c)
	return c
}

// TestPauses pins where the pauses of the study stand: after the prologue and at the end.
func TestPauses(t *testing.T) {
	p, err := Build(headline, theStudy())
	if err != nil {
		t.Fatal(err)
	}
	var at []int
	for i, b := range p.Bundles {
		for _, s := range b.Slots {
			if s.Op == sim.OpPause {
				at = append(at, i)
			}
		}
	}
	if want := []int{14 + 3 + 12, len(p.Bundles) - 1}; !slices.Equal(at, want) {
		t.Errorf("pauses in bundles %v, want %v", at, want)
	}
}

// configs draws a configuration, valid by construction.
func configs() *rapid.Generator[Config] {
	return rapid.Custom(func(t *rapid.T) Config {
		pick := func(name string, last uint8) uint8 { return rapid.Uint8Range(0, last).Draw(t, name) }
		return Config{
			Lanes:          rapid.IntRange(1, MaxLanes).Draw(t, "lanes"),
			LoadOrder:      LoadOrder(pick("load order", uint8(LoadsDiagonal))),
			Stagger:        rapid.IntRange(1, MaxStagger).Draw(t, "stagger"),
			IndexRegisters: IndexRegisters(pick("index registers", uint8(IndexCurNext))),
			HashOrder:      HashOrder(pick("hash order", uint8(HashBarrier))),
			HashOutput:     HashOutput(pick("hash output", uint8(HashRenamed))),
			Packing:        Packing(pick("packing", uint8(PackList))),
			Priority:       Priority(pick("priority", uint8(PriorityOrder))),
			Memory:         Memory(pick("memory", uint8(MemoryFull))),
			Offsets:        Offsets(pick("offsets", uint8(OffsetConstant))),
		}
	})
}

// shapes draws small shapes, and one in ten from all that there are, with at most 4,096 rounds of an item: a scalar
// program has some 36 slots for each.
func shapes() *rapid.Generator[tree.Shape] {
	return rapid.Custom(func(t *rapid.T) tree.Shape {
		if rapid.IntRange(0, 9).Draw(t, "small") > 0 {
			return tree.Shape{
				Height: rapid.IntRange(1, 5).Draw(t, "height"),
				Rounds: rapid.IntRange(1, 7).Draw(t, "rounds"),
				Batch:  rapid.IntRange(1, 70).Draw(t, "batch"),
			}
		}
		batch := rapid.OneOf(rapid.IntRange(1, tree.MaxBatch), rapid.SampledFrom([]int{255, 257, 511, 512})).Draw(t, "batch")
		return tree.Shape{
			Height: rapid.IntRange(1, tree.MaxHeight).Draw(t, "height"),
			Rounds: rapid.IntRange(1, min(tree.MaxRounds, 4096/batch)).Draw(t, "rounds"),
			Batch:  batch,
		}
	})
}

// TestEveryProgramIsRight checks what must hold at every point: the program computes the reference, no
// bundle writes a word twice, and nothing reads a word that was never written.
func TestEveryProgramIsRight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, c := shapes().Draw(t, "shape"), configs().Draw(t, "config")
		p, err := Build(s, c)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := run(p, s, rapid.Uint64().Draw(t, "seed")); err != nil {
			t.Fatal(err)
		}
		for _, w := range sim.Lint(p) {
			t.Fatal(w)
		}
		again, err := Build(s, c)
		if err != nil {
			t.Fatal(err)
		}
		if text(t, p) != text(t, again) {
			t.Fatal("the same point gave two programs")
		}
	})
}

func text(t interface{ Fatal(...any) }, p *sim.Program) string {
	var b strings.Builder
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestShapes covers the corners of the shapes with every packing.
func TestShapes(t *testing.T) {
	shapes := []tree.Shape{{Height: 1, Rounds: 1, Batch: 1}, {Height: 12, Rounds: 1, Batch: 512}, {Height: 1, Rounds: 32, Batch: 2}, {Height: 12, Rounds: 32, Batch: 37}}
	for _, s := range shapes {
		for _, c := range []Config{
			baseline(), theStudy(),
			{Lanes: MaxLanes, Packing: PackList, Memory: MemoryFull},
			{Lanes: 5, Packing: PackList, Memory: MemoryFull, Priority: PriorityOrder, Offsets: OffsetConstant, LoadOrder: LoadsDiagonal, Stagger: 2, HashOutput: HashRenamed},
			{Lanes: 7, Packing: PackInOrder, Memory: MemoryFull, HashOrder: HashBarrier, LoadOrder: LoadsByLane},
		} {
			t.Run(fmt.Sprintf("%v/%+v", s, c), func(t *testing.T) {
				p, err := Build(s, c)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := run(p, s, 5); err != nil {
					t.Fatal(err)
				}
				for _, w := range sim.Lint(p) {
					t.Error(w)
				}
			})
		}
	}
}

// TestGolden pins whole programs of a small shape, so that a change of the generator shows. Run with -update
// to accept it.
func TestGolden(t *testing.T) {
	s := tree.Shape{Height: 2, Rounds: 2, Batch: 4}
	for name, c := range map[string]Config{
		"baseline": baseline(),
		"study":    theStudy(),
		"list":     {Lanes: 3, Packing: PackList, Priority: PriorityOrder, Memory: MemoryFull, LoadOrder: LoadsDiagonal, Stagger: 2, IndexRegisters: IndexCurNext},
	} {
		p, err := Build(s, c)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join("testdata", name+".json")
		got := text(t, p)
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s: the program is not that of %s", name, file)
		}
	}
}

func TestRejection(t *testing.T) {
	// No valid configuration needs more scratch than there is, so this one goes past Validate.
	_, err := newLayout(headline, Config{Lanes: 200})
	r := kernels.AsRejection(err)
	if r == nil {
		t.Fatalf("error %v, want a rejection", err)
	}
	if want := "needs 1824 words of scratch"; r.Status != space.Invalid || !strings.Contains(r.Reason, want) {
		t.Errorf("rejection %v, want %v with %q", r, space.Invalid, want)
	}
	big := Config{Lanes: MaxLanes, IndexRegisters: IndexCurNext, HashOutput: HashRenamed, Offsets: OffsetConstant}
	if _, err := newLayout(tree.Shape{Height: 12, Rounds: 32, Batch: tree.MaxBatch}, big); err != nil {
		t.Errorf("the largest configuration: %v", err)
	}
}

func TestValidate(t *testing.T) {
	for _, c := range []Config{{}, {Lanes: 33}, {Lanes: 1, LoadOrder: LoadsDiagonal}, {Lanes: 1, Packing: PackList + 1}, {Lanes: 1, Offsets: 9}} {
		if _, err := Build(headline, c); err == nil {
			t.Errorf("%+v was built", c)
		}
	}
	if _, err := Build(tree.Shape{}, theStudy()); err == nil {
		t.Error("a program of no shape was built")
	}
}

// TestParameters pins that the points of the space and the configurations are the same thing.
func TestParameters(t *testing.T) {
	s, err := space.New("scalar", Parameters())
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		key  string
		want Config
	}{
		{"lanes=1 offsets=constant packing=single index_registers=single hash_output=in_place hash_order=free", baseline()},
		{"lanes=3 offsets=counter packing=in_order memory=one load_order=kind index_registers=single hash_output=renamed hash_order=token", theStudy()},
		{
			"lanes=9 offsets=constant packing=list priority=order memory=full load_order=diagonal stagger=4 index_registers=cur_next hash_output=renamed hash_order=barrier",
			Config{9, LoadsDiagonal, 4, IndexCurNext, HashBarrier, HashRenamed, PackList, PriorityOrder, MemoryFull, OffsetConstant},
		},
	} {
		p, err := s.Parse(test.key)
		if err != nil {
			t.Fatal(err)
		}
		if got := ConfigOf(p); got != test.want {
			t.Errorf("%s is %+v, want %+v", test.key, got, test.want)
		}
	}
}

// TestHeap pins that keys come out in order.
func TestHeap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SliceOf(rapid.Uint64()).Draw(t, "keys")
		var h heap
		for _, k := range keys {
			h.push(k)
		}
		var got []uint64
		for len(h) > 0 {
			got = append(got, h.pop())
		}
		slices.Sort(keys)
		if !slices.Equal(got, keys) {
			t.Fatalf("got %v, want %v", got, keys)
		}
	})
}

func BenchmarkBuild(b *testing.B) {
	for _, bench := range []struct {
		name   string
		config Config
	}{
		{"baseline", baseline()},
		{"study", theStudy()},
		{"list", Config{Lanes: 32, Packing: PackList, Memory: MemoryFull}},
	} {
		b.Run("point="+bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Build(headline, bench.config); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
