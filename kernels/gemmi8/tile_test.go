package gemmi8

import (
	"fmt"
	"math/rand/v2"
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
	f := cgen.Flags{Arch: here.Arch, Std: "gnu11", Opt: "Og", Contract: cgen.ContractOff, ISA: cgen.Native, Threads: g.workers(p) > 1}
	src.Flags = append(f.List(), cgen.TilesEmulated)
	return src
}

// tilePoint makes a point for matrix tiles, whose other values are drawn.
func tilePoint(t *testing.T, g *Spec, rng *rand.Rand, mr, nr int) space.Point {
	t.Helper()
	for {
		p, err := g.Space().Sample(rng)
		if err != nil {
			t.Fatal(err)
		}
		if p.Str("form") == formTile && p.Int("mr") == mr && p.Int("nr") == nr {
			return p
		}
	}
}

// besidePoint makes a point that quantises A tile by tile, in blocks as far as the shape has some.
func besidePoint(t *testing.T, g *Spec, size [2]int, prepare, results string) space.Point {
	t.Helper()
	values := map[string]any{
		"form": formTile, "isa": cgen.AMXInt8, "mr": size[0], "nr": size[1], "activations": activationsTiles, "prepare": prepare, "results": results,
		"order": orderRows, "passing": yes,
	}
	if g.n > 128 {
		values["nc"] = 128
	}
	if g.threads > 1 {
		values["workers"], values["split"] = g.threads, []string{orderColumns, orderRows}[g.threads%2]
	}
	p, err := g.Space().Make(values)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// needAVX512 skips a test where the code around the tiles does not run.
func needAVX512(t *testing.T) {
	t.Helper()
	if len(cgen.Select(nativetest.Here(t), cgen.AVX512)) == 0 {
		t.Skip("this machine has no avx512")
	}
}

// TestTiles: the code for matrix tiles is right in an emulation, for each size of a tile and form of the operands.
func TestTiles(t *testing.T) {
	needAVX512(t)
	rng := rand.New(rand.NewPCG(1, 2))
	sizes := [][2]int{{2, 2}, {1, 3}, {3, 1}, {1, 1}}
	for i, shape := range []string{
		"m=1,n=100,k=320,weights=packed", "m=9,n=48,k=75,weights=int8,relu=yes", "m=33,n=70,k=96", "m=70,n=130,k=1290,weights=packed,threads=2",
		"m=48,n=33,k=1300,weights=int8,threads=3",
	} {
		g := specOn(t, fullMachine, shape)
		problem := nativetest.Problem(t, g)
		points := []space.Point{besidePoint(t, g, sizes[i%4], []string{prepareBeside, prepareTile}[i%2], []string{resultsAfter, resultsBeside}[i/2%2])}
		for _, size := range [][2]int{sizes[i%4], sizes[(i+1)%4]} {
			points = append(points, tilePoint(t, g, rng, size[0], size[1]))
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
	{"signed weights as unsigned", "tile_dot_ss(", "tile_dot_su("},
	{"signed activations as unsigned", "tile_dot_ss(", "tile_dot_us("},
	{"a row of A too long", "tile_load(4, a + 0 * stride + g, 4 * stride)", "tile_load(4, a + 0 * stride + g, 4 * stride + 4)"},
	{"rows of the next tile", "a + 16 * stride", "a + 17 * stride"},
	{"columns of the next tile", "w + (g) * NR + 1 * LANES", "w + (g) * NR + 0 * LANES"},
	{"an accumulator of another tile", "tile_dot_ss(3, 5, 7)", "tile_dot_ss(3, 5, 6)"},
	{"a step too long", "g += 16", "g += 32"},
	{"the sums of a tile in another place", "sums + 16 * NR + 16", "sums + 16 * NR + 0"},
	{"sums of the block before forgotten", "if (from > 0) {", "if (from > 1 << 20) {"},
	{"more rows than A has", "j->m < 16 ? (uint8_t)j->m : 16", "j->m < 16 ? 15 : 15"},
	{"tiles that are not configured", "t < 8; t++", "t < 7; t++"},
	{"the rest of the last tile of A", "to[g] = 0; // before", "to[g] = 0x01010101; // before"},
	{"the last column", "i < columns; i++", "i < columns - 1; i++"},
}

// besideMutations are mistakes that vector work between the products invites.
var besideMutations = []struct{ name, old, new string }{
	{"a tile that is not completed", "while (next.row < next.rows)", "while (0)"},
	{"one room for both tiles", "(t + 1 - t0) % 2 *", "0 *"},
	{"a row short", "left < MR ? left : MR, .to", "left < MR ? left : MR - 1, .to"},
	{"the second matrix tile is the first", "a + (g) * MR + 256", "a + (g) * MR + 0"},
	{"a block of columns too short", "q + 4 : p1", "q + 3 : p1"},
	{"no bound for large inputs", "vminps %2, %1, %0\\n\\tvcvtps2dq %0, %0", "vcvtps2dq %1, %0"},
	{"toward zero", "vcvtps2dq", "vcvttps2dq"},
	{"words as they are packed", "{ 0, 4, 8, 12, 1, 5,", "{ 0, 1, 8, 12, 4, 5,"},
	{"words wrapped, not clipped", "vpacksswb", "vpackuswb"},
	{"the last results forgotten", "while (last.row < last.rows)", "while (0)"},
	{"one room for all sums", ".other = sums[1]", ".other = sums[0]"},
	{"results of columns that do not exist", "if (j->n - p * NR < NR) {", "if (j->n - p * NR < 0) {"},
	{"results of rows that do not exist", ".rows = rows < MR ? rows : MR };", ".rows = MR };"},
}

// TestWrongTiles: the mistakes are found by the check in the emulation: wrong answers, or the abort of an instruction that would fault.
func TestWrongTiles(t *testing.T) {
	needAVX512(t)
	g := specOn(t, fullMachine, "m=40,n=70,k=301,weights=int8")
	p, err := g.Space().Make(map[string]any{"form": formTile, "isa": cgen.AMXInt8, "mr": 2, "nr": 2, "kc": 256})
	if err != nil {
		t.Fatal(err)
	}
	beside := specOn(t, fullMachine, "m=70,n=192,k=301,weights=packed")
	for _, form := range []struct {
		*Spec
		p         space.Point
		mutations []struct{ name, old, new string }
	}{{g, p, tileMutations}, {beside, besidePoint(t, beside, [2]int{2, 2}, prepareBeside, resultsBeside), besideMutations}} {
		problem := nativetest.Problem(t, form.Spec)
		if err := problem.Wrap(emulated(t, form.Spec, form.p), form.p).Check(t.Context(), 5); err != nil {
			t.Fatalf("the code as it is: %v", err)
		}
		for _, m := range form.mutations {
			t.Run(m.name, func(t *testing.T) {
				src := emulated(t, form.Spec, form.p)
				if !strings.Contains(src.Text, m.old) {
					t.Fatalf("the code has no %q:\n%s", m.old, src.Text)
				}
				src.Text = strings.ReplaceAll(src.Text, m.old, m.new)
				err := problem.Wrap(src, form.p).Check(t.Context(), 5)
				if r := kernels.AsRejection(err); r == nil || r.Status != space.WrongAnswer && r.Status != space.Crashed {
					t.Errorf("%v, want a wrong answer or a crash", err)
				}
			})
		}
	}
}

// TestTilesCompile: the code for matrix tiles compiles here, whatever this machine can run, and is left out where there are none.
func TestTilesCompile(t *testing.T) {
	g := specOn(t, fullMachine, "m=40,n=64,k=512,weights=packed")
	var points []space.Point
	for _, p := range g.Presets() {
		if p.Name == formTile {
			points = append(points, p.Point)
		}
	}
	if len(points) != 1 {
		t.Fatalf("%d presets for matrix tiles", len(points))
	}
	nativetest.Compiles(t, g, points)
	form, _ := specOn(t, nativetest.Machines()["avx512vnni"], "").Space().Parameter("form")
	if _, ok := form.Ordinal(space.StringValue(formTile)); ok {
		t.Error("the form tile is in the space of a machine without tiles")
	}
}

// TestCallersTiles: a thread finds its configuration of tiles as it was.
func TestCallersTiles(t *testing.T) {
	needAVX512(t)
	g := specOn(t, fullMachine, "m=20,n=40,k=100")
	p := tilePoint(t, g, rand.New(rand.NewPCG(1, 2)), 2, 2)
	nativetest.KeepsTiles(t, g, p, emulated(t, g, p))
}
