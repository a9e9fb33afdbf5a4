package gemm16

import (
	"fmt"
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

// emulated returns the code of a point for matrix tiles that does without them, whatever machine this is. It is otherwise the same.
func emulated(t *testing.T, g *Spec, p space.Point) native.Source {
	t.Helper()
	src, err := g.Generate(p)
	if err != nil {
		t.Fatal(err)
	}
	here := nativetest.Here(t)
	src.Compiler = here.Compilers[0]
	f := cgen.Flags{Arch: here.Arch, Std: "gnu11", Opt: "Og", ISA: cgen.Native, Threads: g.workers(p) > 1}
	src.Flags = append(f.List(), cgen.TilesEmulated)
	return src
}

// tilePoint draws a point for matrix tiles.
func tilePoint(t *testing.T, g *Spec, rng *rand.Rand) space.Point {
	t.Helper()
	for {
		p, err := g.Space().Sample(rng)
		if err != nil {
			t.Fatal(err)
		}
		if p.Str("unit") == unitTile {
			return p
		}
	}
}

// TestTiles: the code for matrix tiles is right in an emulation, for each size of a tile and form of the operands.
func TestTiles(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for i, shape := range []string{
		"m=1,n=100,k=320", "m=9,n=48,k=75,inputs=half", "m=33,n=70,k=96,inputs=half,weights=half", "m=16,n=17,k=512,inputs=half,weights=f32,layout=nn",
		"m=48,n=33,k=300,weights=half,layout=nn,threads=3", "m=70,n=130,k=640,inputs=half,threads=2",
	} {
		g := specOn(t, BFloat16, fullMachine, shape)
		problem := nativetest.Problem(t, g)
		points := []space.Point{tilePoint(t, g, rng)}
		for _, size := range [][2]int{{2, 2}, {1, 3}, {3, 1}, {1, 1}}[i%4:][:1] {
			values := map[string]any{"unit": unitTile, "mr": min(size[0], g.m), "nr": size[1]}
			if g.inputs == asHalf {
				values["activations"] = activationsDirect
			}
			points = append(points, made(t, g, values))
		}
		for _, p := range points {
			t.Run(fmt.Sprintf("%s %s", shape, p.Key()), func(t *testing.T) {
				if err := problem.Wrap(emulated(t, g, p), p).Check(t.Context(), 1); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// tileMutations are mistakes that tiles invite: text and what replaces it.
var tileMutations = []struct{ name, old, new string }{
	{"the elements of a pair swapped", "even[c] | (cell)odd[c] << 16", "odd[c] | (cell)even[c] << 16"},
	{"a row of B too short", "4 * PANEL);", "4 * PANEL - 4);"},
	{"a row of A too long", "tile_load(4, a + 0 * stride + g, 4 * stride)", "tile_load(4, a + 0 * stride + g, 4 * stride + 4)"},
	{"rows of the next tile", "a + 16 * stride", "a + 17 * stride"},
	{"the first tile twice", "a + 16 * stride", "a + 0 * stride"},
	{"columns of the next tile", "w + g * PANEL + 1 * LANES", "w + g * PANEL + 0 * LANES"},
	{"an accumulator of another tile", "tile_dot_bf16(3, 5, 7)", "tile_dot_bf16(3, 5, 6)"},
	{"a step too long", "g += 16", "g += 32"},
	{"the results of a tile in another place", "c + 16 * line + 16", "c + 16 * line + 0"},
	{"sums of the block before forgotten", "if (from > 0) {", "if (from > 1 << 20) {"},
	{"more rows than A has", "j->m < 16 ? (uint8_t)j->m : 16", "j->m < 16 ? 15 : 15"},
	{"tiles that are not configured", "t < 8; t++", "t < 7; t++"},
	{"the rest of the last tile of A", "to[i] = 0; // before", "to[i] = 0x7fc07fc0; // before"},
}

// TestWrongTiles: the mistakes are found by the check in the emulation: wrong answers, or the abort of an instruction that would fault.
func TestWrongTiles(t *testing.T) {
	g := specOn(t, BFloat16, fullMachine, "m=40,n=70,k=301,layout=nn,weights=half")
	p := made(t, g, map[string]any{"unit": unitTile, "mr": 2, "nr": 2, "kc": 256})
	problem := nativetest.Problem(t, g)
	if err := problem.Wrap(emulated(t, g, p), p).Check(t.Context(), 5); err != nil {
		t.Fatalf("the code as it is: %v", err)
	}
	// What is wrong with addresses of tiles and their configuration is wrong in the same way in package gemmi8, whose test makes these mistakes.
	alike := []string{"a row of A too long", "rows of the next tile", "columns of the next tile", "a step too long", "more rows than A has", "tiles that are not configured"}
	for _, m := range tileMutations {
		if slices.Contains(alike, m.name) && !nativetest.Stress {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			src := emulated(t, g, p)
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

// TestCallersTiles: a thread finds its configuration of tiles as it was.
func TestCallersTiles(t *testing.T) {
	g := specOn(t, BFloat16, fullMachine, "m=20,n=40,k=100")
	p := made(t, g, map[string]any{"unit": unitTile, "mr": 2, "nr": 2})
	nativetest.KeepsTiles(t, g, p, emulated(t, g, p))
}
