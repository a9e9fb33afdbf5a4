package attention

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tune/kernels"
	"tune/kernels/native"
	"tune/kernels/native/cgen"
	"tune/kernels/native/nativetest"
	"tune/space"
)

// tileMachine has matrix tiles.
var tileMachine = nativetest.Machines()["tiles"]

// emulated returns the code of a point for matrix tiles that does without them, whatever machine this is. It is otherwise the same.
func emulated(t *testing.T, a native.Spec, p space.Point) native.Source {
	t.Helper()
	src, err := a.Generate(p)
	if err != nil {
		t.Fatal(err)
	}
	here := nativetest.Here(t)
	src.Compiler = here.Compilers[0]
	f := cgen.Flags{Arch: here.Arch, Std: "gnu11", Opt: "Og", Contract: cgen.ContractFast, NoMathErrno: true, ISA: cgen.Native, Threads: src.Threads > 1}
	src.Flags = append(f.List(), cgen.TilesEmulated)
	return src
}

// inTiles returns a point for matrix tiles.
func inTiles(t *testing.T, a *Spec, values map[string]any) space.Point {
	t.Helper()
	values["form"] = formTiles
	p, err := a.Space().Make(values)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// tileShape is a shape that has matrix tiles.
func tileShape(shape string) string { return shape + ",kv=bf16,accuracy=bf16" }

// checkTiles checks a random point for matrix tiles in an emulation, and by the instructions where this machine has them and its compiler.
func checkTiles(t *testing.T, shape string, rng *rand.Rand) {
	a := specOn(t, tileMachine, tileShape(shape))
	p, err := a.Space().Sample(rng)
	for ; err == nil && p.Str("form") != formTiles; p, err = a.Space().Sample(rng) {
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Run(shape+" "+p.Key(), func(t *testing.T) {
		seed, here := rng.Uint64(), nativetest.Here(t)
		if err := nativetest.Problem(t, a).Wrap(emulated(t, a, p), p).Check(t.Context(), seed); err != nil {
			t.Error(err)
		}
		if slices.Contains(here.ISAs, cgen.AMXBF16) && slices.Contains(here.Compilers, p.Str("compiler")) {
			nativetest.Right(t, a, p, seed)
		}
	})
}

// TestTiles: the code for matrix tiles is right in an emulation, for each size of a head, masked or not, with heads tiled together, and with
// threads.
func TestTiles(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for i, shape := range []string{
		"queries=40,context=75,heads=4,kv_heads=2,head=64",
		"queries=3,context=70,heads=7,kv_heads=1,head=80,threads=3",
		"queries=70,context=70,heads=2,kv_heads=2,head=96,causal=no",
		"queries=33,context=40,heads=3,kv_heads=1,head=128,threads=2",
		"queries=17,context=9,heads=2,kv_heads=1,head=256,causal=no",
		"queries=1,context=200,heads=1,kv_heads=1,head=16",
	} {
		if i < 4 || nativetest.Stress {
			checkTiles(t, shape, rng)
		}
	}
}

// tileMutations are mistakes that tiles invite: text and what replaces it.
var tileMutations = []struct{ name, old, new string }{
	{"the halves of a word swapped", "((uvec)a + 0x8000) >> 16 | (((uvec)b + 0x8000) & 0xffff0000)", "((uvec)b + 0x8000) >> 16 | (((uvec)a + 0x8000) & 0xffff0000)"},
	{"the next value beside one", "(j + i + STEP / 2) * HEAD", "(j + i + 1) * HEAD"},
	{"queries cut off", "(u + 0x7fff + (u >> 16 & 1))", "u"},
	{"one key too many", "c->context - c->queries + i + 1", "c->context - c->queries + i + 2"},
	{"one key too few", "c->context - c->queries + i + 1", "c->context - c->queries + i"},
	{"keys that a row does not see", "seen - i - LANES, 0)", "seen - i, 0)"},
	{"the sum of the weights is not rescaled", "s->sum[row] *= less;", ""},
	{"the sums are not rescaled", "* HEAD + d) * less", "* HEAD + d)"},
	{"another tile of the keys", "tile_load(7, k + 3 * WORDS", "tile_load(7, k + 2 * WORDS"},
	{"a part of the scores forgotten", "/ STEP * DEPTH, 0 }", "/ STEP * DEPTH - 1, 0 }"},
	{"parts too few for the rows", "(r + 1) * parts / ROWS", "r * parts / ROWS"},
	{"one room for all scores", "other = s->scores + ROWS * LD", "other = s->scores"},
	{"another tile of rows", "tile_load(5, w + (2 + i)", "tile_load(5, w + (0 + i)"},
	{"a sum of another tile", "tile_dot_bf16(3, 5, 7)", "tile_dot_bf16(3, 5, 6)"},
	{"scores in another place", "LD + 16, 4 * LD", "LD + 0, 4 * LD"},
	{"sums from another column", "tile_load(1, to + 0 * HEAD + 16", "tile_load(1, to + 0 * HEAD + 0"},
	{"the last column forgotten", "tile_store(0, to + 0 * HEAD + 64", "tile_load(0, to + 0 * HEAD + 64"},
	{"a tile of keys too short", "i / heads * TILE_KEYS", "i / heads * STEP"},
	{"the keys of another head", "head = unit / UNITS", "head = 0"},
	{"values in another place", "values + m.j / STEP * COLUMNS * WORDS, s", "values + m.j / STEP * DEPTH * WORDS, s"},
	{"results in the order of queries", "s->to[r] = c->out + (i * c->heads + h)", "s->to[r] = c->out + (h * c->queries + i)"},
	{"tiles that are not configured", "t < 8; t++", "t < 7; t++"},
}

// TestWrongTiles: the mistakes are found by the check in the emulation.
func TestWrongTiles(t *testing.T) {
	a := specOn(t, tileMachine, tileShape("queries=20,context=150,heads=4,kv_heads=2,head=80,threads=2"))
	p := inTiles(t, a, map[string]any{"row_tiles": 2, "key_tile": 64, "query_tile": 32, "together": 2, "workers": 2})
	problem := nativetest.Problem(t, a)
	if err := problem.Wrap(emulated(t, a, p), p).Check(t.Context(), 5); err != nil {
		t.Fatalf("the code as it is: %v", err)
	}
	for i, m := range tileMutations {
		if i%3 != 0 && !nativetest.Stress {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			src := emulated(t, a, p)
			if !strings.Contains(src.Text, m.old) {
				t.Fatalf("the code has no %q:\n%s", m.old, src.Text)
			}
			src.Text = strings.ReplaceAll(src.Text, m.old, m.new)
			err := problem.Wrap(src, p).Check(t.Context(), 5)
			if r := kernels.AsRejection(err); r == nil || r.Status != space.WrongAnswer && r.Status != space.Crashed {
				t.Errorf("%v, want a wrong answer or a crash", err)
			}
		})
	}
}

// TestLinkedTiles: code for linking is right, too, with the heads of a model and a stride of its cache.
func TestLinkedTiles(t *testing.T) {
	a := specOn(t, tileMachine, tileShape("queries=20,context=45,heads=4,kv_heads=2,head=64,threads=2"))
	for workers := range 2 {
		p := inTiles(t, a, map[string]any{"key_tile": 32, "query_tile": 16, "workers": 1 + workers})
		linked := a.Linked()
		if err := nativetest.Problem(t, linked).Wrap(emulated(t, linked, p), p).Check(t.Context(), 2); err != nil {
			t.Errorf("%s: %v", p.Key(), err)
		}
	}
}

// TestCallersTiles: a thread finds its configuration of tiles as it was.
func TestCallersTiles(t *testing.T) {
	a := specOn(t, tileMachine, tileShape("queries=5,context=40,heads=2,kv_heads=1,head=32"))
	p := inTiles(t, a, map[string]any{})
	nativetest.KeepsTiles(t, a, p, emulated(t, a, p))
}

// TestCompiles: the code for matrix tiles compiles here, whatever this machine can run.
func TestCompiles(t *testing.T) {
	a := specOn(t, tileMachine, tileShape("queries=64,context=128,heads=4,kv_heads=2,head=80,threads=2"))
	var points []space.Point
	for i, compiler := range tileMachine.Compilers {
		points = append(points, inTiles(t, a, map[string]any{"compiler": compiler, "row_tiles": 1 + i, "workers": 1 + i}))
	}
	nativetest.Compiles(t, a, points)
}

// TestTileSpaces: matrix tiles are offered where the machine has them, and the shape lets weights be rounded as they do.
func TestTileSpaces(t *testing.T) {
	const shape = "queries=64,context=64,heads=2,kv_heads=1,head=64"
	for _, test := range []struct {
		machine native.Machine
		shape   string
		want    bool
	}{
		{tileMachine, tileShape(shape), true},
		{fullMachine, tileShape(shape), false},
		{tileMachine, shape + ",kv=bf16", false},
		{tileMachine, shape + ",kv=bf16,accuracy=fast", false},
		{tileMachine, tileShape("queries=64,context=64,heads=2,kv_heads=1,head=72"), false},
	} {
		a := specOn(t, test.machine, test.shape)
		at := slices.IndexFunc(a.Presets(), func(p kernels.Preset) bool { return p.Start && p.Point.Str("form") == formTiles })
		if (at >= 0) != test.want {
			t.Errorf("%s: a search starts in matrix tiles: %v, want %v", test.shape, at >= 0, test.want)
		}
		form, _ := a.Space().Parameter("form")
		if _, has := form.Ordinal(space.StringValue(formTiles)); has != test.want {
			t.Errorf("%s: the space has matrix tiles: %v, want %v", test.shape, has, test.want)
		}
	}
}
