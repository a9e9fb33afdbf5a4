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

// besideValues are those of a point that prepares A tile by tile, in blocks as far as the shape has some.
func besideValues(g *Spec, mr, nr int, prepare string) map[string]any {
	values := map[string]any{"unit": unitTile, "mr": mr, "nr": nr, "activations": activationsTiles, "prepare": prepare, "order": orderRows, "passing": yes}
	if prepare == prepareBeside {
		values["results"] = resultsBeside
	}
	if g.k > 256 {
		values["kc"], values["along"] = 256, alongWithin
	}
	if g.n > 128 {
		values["nc"] = 128
	}
	if g.threads > 1 {
		values["workers"], values["split"] = g.threads, []string{orderColumns, orderRows}[g.threads%2]
	}
	return values
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
			points = append(points, made(t, g, besideValues(g, min(size[0], g.m), size[1], []string{prepareBeside, prepareTile}[i%2])))
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

// besideMutations are mistakes that preparing A tile by tile invites.
var besideMutations = []struct{ name, old, new string }{
	{"a tile that is not completed", "while (next.row < next.rows)", "while (0)"},
	{"one room for both tiles", "(t + 1 - t0) % 2 *", "0 *"},
	{"a row short", "left < MR ? left : MR, .to", "left < MR ? left : MR - 1, .to"},
	{"rows in another place", "c->row * 16;", "c->row * 8;"},
	{"the second matrix tile is the first", "a + g * MR + 256", "a + g * MR + 0"},
	{"the rest of a row", "__builtin_memset(to, 0, 64)", "__builtin_memset(to, 255, 64)"},
	{"a block of columns too short", "q + 4 : p1", "q + 3 : p1"},
	{"blocks along k that overlap", "g + 128 : j->depth", "g + 144 : j->depth"},
	{"the sums of a block in the room of another panel", "sums + (p - q) *", "sums + (p - p) *"},
	{"the last results forgotten", "while (last.row < last.rows)", "while (0)"},
	{"one room for all results", ".other = buffers[1]", ".other = buffers[0]"},
	{"results of columns that do not exist", "if (j->n - p * NR < NR) {", "if (j->n - p * NR < 0) {"},
	{"results of rows that do not exist", ".rows = rows < MR ? rows : MR };", ".rows = MR };"},
}

// TestWrongTiles: the mistakes are found by the check in the emulation: wrong answers, or the abort of an instruction that would fault.
func TestWrongTiles(t *testing.T) {
	// What is wrong with addresses of tiles and their configuration is wrong in the same way in package gemmi8, whose test makes these mistakes.
	alike := []string{"a row of A too long", "rows of the next tile", "columns of the next tile", "a step too long", "more rows than A has", "tiles that are not configured",
		"one room for both tiles", "a row short", "the second matrix tile is the first", "a block of columns too short"}
	g := specOn(t, BFloat16, fullMachine, "m=40,n=70,k=301,layout=nn,weights=half")
	beside := specOn(t, BFloat16, fullMachine, "m=70,n=192,k=301")
	for _, form := range []struct {
		*Spec
		values    map[string]any
		mutations []struct{ name, old, new string }
	}{
		{g, map[string]any{"unit": unitTile, "mr": 2, "nr": 2, "kc": 256}, tileMutations},
		{beside, besideValues(beside, 2, 2, prepareBeside), besideMutations},
	} {
		p := made(t, form.Spec, form.values)
		problem := nativetest.Problem(t, form.Spec)
		if err := problem.Wrap(emulated(t, form.Spec, p), p).Check(t.Context(), 5); err != nil {
			t.Fatalf("the code as it is: %v", err)
		}
		for _, m := range form.mutations {
			if slices.Contains(alike, m.name) && !nativetest.Stress {
				continue
			}
			t.Run(m.name, func(t *testing.T) {
				src := emulated(t, form.Spec, p)
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
}

// TestCallersTiles: a thread finds its configuration of tiles as it was.
func TestCallersTiles(t *testing.T) {
	g := specOn(t, BFloat16, fullMachine, "m=20,n=40,k=100")
	p := made(t, g, map[string]any{"unit": unitTile, "mr": 2, "nr": 2})
	nativetest.KeepsTiles(t, g, p, emulated(t, g, p))
}
