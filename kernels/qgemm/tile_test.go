package qgemm

import (
	"fmt"
	"maps"
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

// tileMachine has matrix tiles too.
var tileMachine = native.Machine{Arch: "amd64", Compilers: fullMachine.Compilers, ISAs: append(slices.Clone(fullMachine.ISAs), cgen.AMXInt8), Cache: 32 << 20}

// emulated returns the code of a point for matrix tiles that does without them. It is otherwise the same.
func emulated(t *testing.T, g *Spec, p space.Point) native.Source {
	t.Helper()
	here := nativetest.Here(t)
	if !slices.Contains(here.ISAs, cgen.AVX512VNNI) {
		t.Skip("this machine has no " + cgen.AVX512VNNI + ", which the code around matrix tiles uses")
	}
	src, err := g.Generate(p)
	if err != nil {
		t.Fatal(err)
	}
	src.Compiler = here.Compilers[0]
	f := cgen.Flags{Arch: here.Arch, Std: "gnu11", Opt: "Og", ISA: cgen.AVX512VNNI, Threads: g.workers(p) > 1, Contract: cgen.ContractFast, Wide: true}
	src.Flags = append(f.List(), cgen.TilesEmulated)
	return src
}

// tilePoint makes a point for matrix tiles.
func tilePoint(t *testing.T, g *Spec, values map[string]any) space.Point {
	t.Helper()
	values["form"], values["isa"] = formPanels, cgen.AMXInt8
	p, err := g.Space().Make(values)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestTiles: the code for matrix tiles is right in an emulation, for each format and size of a tile, and with each way to order the work. The
// ways take turns.
func TestTiles(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	sizes := []map[string]any{{"mr": 1, "nr": 1}, {"mr": 2, "nr": 2, "mc": 32}, {"mr": 1, "nr": 3, "order": orderRows}, {"mr": 3, "nr": 1, "ahead": 512}, {"mr": 2, "nr": 1}}
	for i, format := range formatNames() {
		values := maps.Clone(sizes[i%len(sizes)])
		m := 1 + rng.IntN(12)
		if values["mr"] != 1 {
			m = 33 + rng.IntN(30)
		}
		g := specOn(t, tileMachine, fmt.Sprintf("m=%d,n=%d,k=512,format=%s,threads=%d", m, 20+rng.IntN(60), format, 1+i%2))
		if i%2 == 1 {
			values["workers"] = 2
		}
		if g.weights.Whole && i%2 == 1 {
			values["scaling"] = scalingBlocks
		}
		ways := g.ways(values)
		for n, way := range slices.Sorted(maps.Keys(ways)) {
			if _, both := ways["both"]; both && (way == "in turn" || way == "both") != (i/2%2 == 0) {
				continue
			}
			if n != i%len(ways) && !nativetest.Stress {
				continue
			}
			more := ways[way]
			with := maps.Clone(values)
			maps.Copy(with, more)
			p := tilePoint(t, g, with)
			t.Run(format+" "+way, func(t *testing.T) {
				if err := nativetest.Problem(t, g).Wrap(emulated(t, g, p), p).Check(t.Context(), 1); err != nil {
					t.Errorf("%s: %v", p.Key(), err)
				}
			})
		}
	}
}

// ways returns the values of the parameters that only matrix tiles have, by a name.
func (g *Spec) ways(values map[string]any) map[string]map[string]any {
	out := map[string]map[string]any{"in turn": {}, "overlapped": {"overlap": yes}}
	if g.weights.Bits < 8 && values["order"] != orderRows {
		out["unpacked"] = map[string]any{"unpack": unpackPanel}
		out["both"] = map[string]any{"unpack": unpackPanel, "overlap": yes}
	}
	return out
}

// digitPoints are the ways to order the work with digits: parts along k, of the rows of W, and of A.
var digitPoints = []map[string]any{
	{"mr": 2, "nr": 1, "kc": 512, "nc": 128},
	{"mr": 1, "nr": 2, "kc": 256, "mc": 16, "ahead": 512},
	{"mr": 1, "nr": 1},
}

// TestDigits: scaled quants as two digits give the right results in an emulation, for each format that has scales of sub-blocks and each size
// of a tile, with edges on all sides, and with threads.
func TestDigits(t *testing.T) {
	for i, format := range []string{"q4_k", "q5_k", "q6_k"} {
		for n, values := range digitPoints {
			if n != i && !nativetest.Stress {
				continue
			}
			g := specOn(t, tileMachine, fmt.Sprintf("m=%d,n=150,k=768,format=%s,threads=2", []int{71, 39, 7}[n], format))
			with := maps.Clone(values)
			with["unpack"], with["workers"] = unpackDigits, 1+n%2
			p := tilePoint(t, g, with)
			t.Run(p.Key(), func(t *testing.T) {
				if err := nativetest.Problem(t, g).Wrap(emulated(t, g, p), p).Check(t.Context(), 1); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// tileMutations are mistakes that tiles invite: format, text and what replaces it.
var tileMutations = []struct{ name, format, old, new string }{
	{"a row of A too long", "q4_0", "tile_load(4, a + 0, 32)", "tile_load(4, a + 0, 36)"},
	{"the first rows twice", "q4_0", "tile_load(5, a + 128, 32)", "tile_load(5, a + 0, 32)"},
	{"the panel before", "q4_0", "tile_load(7, quants[1] + 0, 64)", "tile_load(7, quants[0] + 0, 64)"},
	{"the sums of another tile", "q4_0", "tile_dot_ss(3, 5, 7)", "tile_dot_ss(3, 5, 6)"},
	{"the centre left in", "q4_0", "(quants)u - 8", "(quants)u"},
	{"sums that are not cleared", "q4_0", "tile_zero(0);", ""},
	{"sums of another row", "q4_0", "load(products[0] + 16)", "load(products[0] + 0)"},
	{"more rows than A has", "q4_0", "j->m < 16 ? (uint8_t)j->m : 16", "j->m < 16 ? 15 : 15"},
	{"tiles that are not configured", "q4_0", "t < 8; t++", "t < 7; t++"},
	{"words of another row", "q4_0", "* MR + r) * 8 + g % 8", "* MR + r) * 8 + (g ^ 1) % 8"},
	{"the first half of 32 weights twice", "q6_k", "tile_load(4, a + 4, 32)", "tile_load(4, a + 0, 32)"},
	{"a sub-block of 32", "q6_k", "? SUB / 4 :", "? 8 :"},
}

// overlapMutations are mistakes that products ahead of their additions and quants unpacked ahead invite.
var overlapMutations = []struct{ name, format, old, new string }{
	{"the half that is being written", "q4_0", "load(products[now]", "load(products[now ^ 1]"},
	{"the same half for ever", "q4_0", "now ^= 1;", ""},
	{"one step too few", "q4_0", "left = j->k / 32 - 1;", "left = j->k / 32 - 2;"},
	{"quants of the panel before", "q4_0", "quants + 1 * j->k * LANES", "quants + 0 * j->k * LANES"},
	{"panels unpacked once", "q4_0", "unpack(j, p * NR, quants);", "if (p == p0) unpack(j, p * NR, quants);"},
	{"the second sub-block over the first", "q6_k", "products[now ^ 1][4]", "products[now ^ 1][0]"},
}

// digitMutations are mistakes that digits invite.
var digitMutations = []struct{ name, format, old, new string }{
	{"the digits the other way round", "q4_k", "(scale >> 3)", "(scale & 7)"},
	{"a first digit that counts too little", "q6_k", "* 128.0f", "* 64.0f"},
	{"second digits without a sign", "q6_k", "& 127) << 8) - 64", "& 127) << 8)"},
	{"signed products of unsigned digits", "q5_k", "tile_dot_su(1, 2, 4)", "tile_dot_ss(1, 2, 4)"},
	{"scales of the sub-block before", "q6_k", "in_halves(f0 + 1 * LANES)", "in_halves(f0 + 0 * LANES)"},
	{"the first part along k twice", "q4_k", "w0 += from * 2048;", ""},
	{"minima of the first part", "q4_k", "(t * j->blocks + from) * MR * SUBS", "(t * j->blocks) * MR * SUBS"},
	{"sums that start again", "q4_k", "if (from > 0)", "if (from > to)"},
	{"sums of the panels before", "q4_k", "partial + (p - first) * step", "partial"},
	{"rows of the next tile from the start", "q4_k", "a += (j->blocks - depth) * MR * (BLOCK / 4);", ""},
	{"minima once for all sub-blocks", "q5_k", "factors(f0 + (SUBS + s) * LANES)", "factors(f0 + SUBS * LANES)"},
}

// TestWrongTiles: the mistakes are found by the check in the emulation: wrong answers, or the abort of an instruction that would fault.
func TestWrongTiles(t *testing.T) {
	specs := map[string]*Spec{}
	find := func(name, format, old, with string, values map[string]any) {
		g := specs[format]
		if g == nil {
			g = specOn(t, tileMachine, "m=40,n=50,k=512,format="+format)
			specs[format] = g
		}
		p := tilePoint(t, g, values)
		t.Run(name, func(t *testing.T) {
			src := emulated(t, g, p)
			if !strings.Contains(src.Text, old) {
				t.Fatalf("the code has no %q:\n%s", old, src.Text)
			}
			src.Text = strings.ReplaceAll(src.Text, old, with)
			err := nativetest.Problem(t, g).Wrap(src, p).Check(t.Context(), 5)
			if r := kernels.AsRejection(err); r == nil || r.Status != space.WrongAnswer && r.Status != space.Crashed {
				t.Errorf("%v, want a wrong answer or a crash", err)
			}
		})
	}
	// These are mistakes of the test of package gemmi8 too.
	alike := []string{"a row of A too long", "the sums of another tile", "more rows than A has", "tiles that are not configured"}
	for _, m := range tileMutations {
		if slices.Contains(alike, m.name) && !nativetest.Stress {
			continue
		}
		find(m.name, m.format, m.old, m.new, map[string]any{"mr": 2, "nr": 2})
	}
	for _, m := range overlapMutations {
		find(m.name, m.format, m.old, m.new, map[string]any{"mr": 2, "nr": 2, "overlap": yes, "unpack": unpackPanel})
	}
	for _, m := range digitMutations {
		find(m.name, m.format, m.old, m.new, map[string]any{"mr": 1, "nr": 1, "unpack": unpackDigits, "kc": 256})
	}
}

// TestTilesCompile: the code compiles for the instructions themselves.
func TestTilesCompile(t *testing.T) {
	for _, format := range []string{"q8_0", "q5_k"} {
		g := specOn(t, tileMachine, "m=40,n=64,k=256,format="+format)
		points := []space.Point{tilePoint(t, g, map[string]any{"mr": 2, "nr": 2})}
		for _, more := range g.ways(nil) {
			points = append(points, tilePoint(t, g, more))
		}
		if g.hasDigits() {
			points = append(points, tilePoint(t, g, map[string]any{"mr": 2, "nr": 1, "unpack": unpackDigits}))
		}
		nativetest.Compiles(t, g, points)
	}
}
