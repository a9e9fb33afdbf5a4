package gemm

import (
	"fmt"

	"tune/kernels"
	"tune/kernels/native"
	"tune/kernels/native/cgen"
	"tune/space"
)

// isasOf lists the instruction sets that code can be generated for, the best last.
func isasOf(m native.Machine) []string {
	var out []string
	for _, isa := range cgen.Select(m, cgen.Generic, cgen.AVX2, cgen.AVX512) {
		out = append(out, isa.Name)
	}
	return out
}

// upTo returns the sizes below n, and n.
func upTo(n int, sizes ...int) []int {
	var out []int
	for _, s := range sizes {
		if s < n {
			out = append(out, s)
		}
	}
	return append(out, n)
}

const (
	plainForms = "form in ['naive', 'blocked']"
	isTiled    = "form == 'tiled'"
	isSkinny   = "form == 'skinny'"
	maxRows    = 16      // of a tile
	maxVectors = 6       // in a row of a tile
	maxDots    = 12      // rows of the large operand in a tile of dot products
	maxPacked  = 1 << 23 // floats of a packed block
	maxScratch = 1 << 27 // floats of the packed blocks of all threads
)

// vectorBytes returns the size of the widest vectors of an instruction set.
func vectorBytes(isa string) int { return cgen.Lookup(isa).Bytes }

// goodTiles are tiles that are good for most shapes: enough accumulators to hide the latency of a multiply-add, and
// fewer loads than those take.
var goodTiles = map[string]struct{ mr, nv int }{cgen.Generic: {4, 2}, cgen.AVX2: {6, 2}, cgen.AVX512: {8, 2}}

// tileSides returns the most rows and columns that the result of tiles can have, which may be those of Cᵀ.
func tileSides(layout string, d Dims) (rows, cols int) {
	if layout == LayoutNT {
		return max(d.M, d.N), max(d.M, d.N)
	}
	return d.M, d.N
}

// newSpace returns the points of a shape. The knobs of a form are active in that form alone.
func newSpace(m native.Machine, layout string, d Dims, threads int) (*space.Space, error) {
	method, _ := skinnyMethod(layout == LayoutNT, d)
	ps := commonParameters(m, method)
	ps = append(ps, tileParameters(m, layout, d, method)...)
	ps = append(ps, blockParameters(layout, d, method)...)
	ps = append(ps, finishParameters(method)...)
	if threads > 1 {
		ps = append(ps, threadParameters(threads, method)...)
	}
	return space.New("gemm-f32", ps, constraints(m, layout, d, threads, method)...)
}

// fastForms is the condition of the knobs that the tiled and the skinny form share.
func fastForms(method string) string {
	if method == skinnyNone {
		return isTiled
	}
	return "form in ['tiled', 'skinny']"
}

// commonParameters are the form, the compiler, and the knobs of the plain forms.
func commonParameters(m native.Machine, method string) []space.Parameter {
	forms := []string{FormNaive, FormBlocked, FormTiled}
	if method != skinnyNone {
		forms = append(forms, FormSkinny)
	}
	isas := isasOf(m)
	return []space.Parameter{
		space.Enum("form", forms...).WithDefault(FormTiled).
			Describe("three loops, blocks of three loops, register tiles in cache blocks, or (few rows or columns) no copy of the large operand"),
		space.Enum("compiler", m.Compilers...).Describe("the C compiler"),
		space.Enum("opt", "O2", "O3").Describe("its level of optimisation"),
		space.Enum("mtune", "default", "native").Describe("the processor whose instruction timings it assumes"),
		space.Enum("isa", append(isas, cgen.Native)...).WithDefault(isas[len(isas)-1]).
			Describe("instruction set; native is the compiler's choice, for the plain forms"),
		space.Enum("loops", "ijk", "ikj", "jik", "jki", "kij", "kji").WithDefault("ikj").If(plainForms).
			Describe("order of the loops, outermost first"),
		space.Ints("block", 8, 16, 24, 32, 48, 64, 96, 128, 256).WithDefault(32).If("form == 'blocked'").
			Describe("rows, columns and depth of a block"),
	}
}

// tileParameters are the size of a register tile and what it computes.
func tileParameters(m native.Machine, layout string, d Dims, method string) []space.Parameter {
	isas := isasOf(m)
	best := isas[len(isas)-1]
	var sizes []int
	for _, isa := range isas {
		sizes = append(sizes, vectorBytes(isa))
	}
	rows, cols := tileSides(layout, d)
	start := goodTiles[best]
	ps := []space.Parameter{space.Ints("vec", sizes...).WithDefault(vectorBytes(best)).If(fastForms(method)).Describe("bytes of a vector")}
	if layout == LayoutNT {
		ps = append(ps, space.Bool("swap").If(isTiled).Describe("tiles of the transposed result: A gives the vectors and is packed, B is broadcast"))
	}
	vectors := cgen.Ceil(cols, 4)
	ps = append(ps,
		space.Range("mr", 1, min(maxRows, rows)).WithDefault(min(start.mr, rows)).If(fastForms(method)).Describe("rows of a register tile"),
		space.Range("nv", 1, min(maxVectors, vectors)).WithDefault(min(start.nv, vectors)).If(isTiled).Describe("vectors in each row of a register tile"))
	if method == skinnyDot {
		large := max(d.M, d.N)
		ps = append(ps,
			space.Range("nr", 1, min(maxDots, large)).WithDefault(min(4, large)).If(isSkinny).Describe("rows of the large operand in a tile of dot products"),
			space.Ints("depth", 1, 2, 3, 4).If(isSkinny).Describe("accumulators along K of each dot product"))
	}
	return append(ps, space.Ints("ku", 1, 2, 4, 8).WithDefault(4).If(fastForms(method)).Describe("unrolling of K"))
}

// blockParameters are the cache blocks, what of them is copied, and the order in which they are computed.
func blockParameters(layout string, d Dims, method string) []space.Parameter {
	rows, cols := tileSides(layout, d)
	ps := []space.Parameter{
		space.Ints("kc", upTo(d.K, 32, 48, 64, 96, 128, 192, 256, 320, 384, 512, 768, 1024, 2048, 4096)...).WithDefault(min(d.K, 256)).If(depthIf(method)).
			Describe("depth of a cache block, at the most; blocks are of equal size"),
		space.Ints("mc", upTo(rows, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 2048)...).WithDefault(min(rows, 96)).If(isTiled).
			Describe("rows of a cache block, at the most"),
		space.Ints("nc", upTo(cols, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 2048, 4096)...).WithDefault(min(cols, 1024)).If(columnsIf(method)).
			Describe("columns of a cache block, at the most"),
	}
	packIf := isTiled
	if method == skinnyDot && layout == LayoutNT {
		packIf = fastForms(method)
	}
	ps = append(ps, space.Bool("pack_x").If(packIf).Describe("copy the operand that is broadcast (or has few rows) so that a tile reads it in order"))
	if layout == LayoutNN {
		ps = append(ps, space.Bool("pack_y").If(isTiled).Describe("copy the operand that is read in vectors so that a tile reads it in order"))
	}
	return append(ps,
		space.Enum("order", "jpi", "ipj", "pji", "pij").If(isTiled).Describe("loops over cache blocks, outermost first: i rows, j columns, p depth"),
		space.Enum("inner", "columns", "rows").If(isTiled).Describe("outer loop over the tiles of a cache block"))
}

// finishParameters are the treatment of the rest, and prefetching.
func finishParameters(method string) []space.Parameter {
	ps := []space.Parameter{
		space.Enum("tail", TailMasked, TailScalar, TailPadded).If(fastForms(method)).
			Describe("rows and columns that fill no tile: narrow tiles and masks, narrow tiles and scalars, or padded copies"),
		space.Bool("fixed").If(isTiled).Describe("a second copy of the code for exactly the asked dimensions"),
		space.Ints("prefetch_x", 0, 4, 8, 16, 32, 64).If(prefetchIf(method)).Describe("steps of K that the broadcast operand is prefetched ahead; 0 for not"),
		space.Ints("prefetch_y", 0, 1, 2, 4, 8, 16, 32).If(isTiled).Describe("the same for the operand read in vectors"),
		space.Bool("prefetch_c").If(isTiled).Describe("prefetch a tile of the result before it is computed"),
		space.Bool("next_y").If("form == 'tiled' && inner == 'columns'").Describe("prefetch the next strip of columns while the tiles of one are computed"),
	}
	if method != skinnyNone {
		ps = append(ps, space.Ints("ahead", 0, 64, 128, 256, 512, 1024).If(isSkinny).Describe("floats that the large operand is prefetched ahead in each row; 0 for not"))
	}
	return ps
}

// threadParameters say how threads share the work.
func threadParameters(threads int, method string) []space.Parameter {
	const parallel = "workers > 1"
	return []space.Parameter{
		space.Range("workers", 1, threads).WithDefault(threads).If(fastForms(method)).Describe("threads, the caller included; 1 is serial"),
		space.Enum("split", "columns", "rows").If("form == 'tiled' && " + parallel).Describe("axis of the result that tasks divide"),
		space.Ints("chunk", 0, 1, 2, 4, 8, 16, 32).If(parallel).Describe("tiles in a task; 0 gives every thread one task of equal size"),
		space.Bool("dynamic").If(parallel + " && chunk > 0").Describe("idle threads take the next task, instead of every n-th"),
		space.Ints("spin", 1, 10, 100).WithDefault(10).If(parallel).Describe("thousands of polls before an idle thread sleeps"),
	}
}

// constraints keep vectors to what an instruction set has, tiles to its registers, and packed blocks to a size.
func constraints(m native.Machine, layout string, d Dims, threads int, method string) []string {
	isas := isasOf(m)
	cs := []string{"isa != 'native' || " + plainForms}
	registers := "16"
	if m.Arch == "arm64" {
		registers = "32"
	}
	for _, isa := range isas {
		if isa == cgen.AVX512 {
			// Its encoding reaches 32 registers of 32 bytes too.
			cs = append(cs, "isa != 'avx512' || vec >= 32")
			registers = "(32 if isa == 'avx512' else " + registers + ")"
		} else {
			cs = append(cs, fmt.Sprintf("isa != '%s' || vec == %d", isa, vectorBytes(isa)))
		}
	}
	// Accumulators, a row of vectors, and one broadcast.
	cs = append(cs, "form != 'tiled' || mr * nv + nv + 1 <= "+registers)
	switch method {
	case skinnyDot:
		cs = append(cs, "form != 'skinny' || mr * nr * depth + min(mr, nr) + 1 <= "+registers)
	case skinnyAxpy:
		cs = append(cs, "form != 'skinny' || mr * ku + mr + 1 <= "+registers)
	}
	if method != skinnyNone {
		cs = append(cs, "form != 'skinny' || tail != 'padded'", fmt.Sprintf("form != 'skinny' || mr <= %d", min(d.M, d.N)))
	}
	packY := "not pack_y"
	if layout == LayoutNT {
		packY = "form != 'tiled'" // it is always packed
	}
	cs = append(cs,
		fmt.Sprintf("%s || kc * nc <= %d", packY, maxPacked),
		fmt.Sprintf("form != 'tiled' || not pack_x || kc * mc <= %d", maxPacked))
	if threads > 1 {
		cs = append(cs, fmt.Sprintf("form != 'tiled' || workers * kc * max(mc, nc) <= %d", maxScratch))
	}
	return cs
}

// depthIf, columnsIf and prefetchIf say in which forms a block size or a prefetch has a meaning.
func depthIf(method string) string {
	if method == skinnyDot {
		return fastForms(method)
	}
	return isTiled
}

func columnsIf(method string) string {
	if method == skinnyAxpy {
		return fastForms(method)
	}
	return isTiled
}

func prefetchIf(method string) string {
	if method == skinnyDot {
		return "form == 'tiled' || pack_x"
	}
	return isTiled
}

// presets returns the named points of a space.
func presets(s *space.Space, m native.Machine, layout string, d Dims, threads int) ([]kernels.Preset, error) {
	loops := "ikj"
	if layout == LayoutNT {
		loops = "ijk" // the order in which both operands are read row by row
	}
	type start struct {
		name, doc string
		values    map[string]any
		good      bool // whether a search may begin here
	}
	starts := []start{
		{"baseline", "three loops, -O3 -march=native", map[string]any{"form": FormNaive, "loops": loops, "opt": "O3", "isa": cgen.Native}, false},
		{"naive", "three loops in the order of the textbook, -O2", map[string]any{"form": FormNaive, "loops": "ijk", "opt": "O2", "isa": cgen.Generic}, false},
		{"blocked32", "blocks of 32 by 32 by 32, -O3", map[string]any{"form": FormBlocked, "loops": loops, "block": 32, "opt": "O3", "isa": cgen.Native}, false},
	}
	isas := isasOf(m)
	for _, isa := range isas {
		starts = append(starts, start{"tiled-" + isa, "register tiles with " + isa + " vectors, a good start", tiledStart(isa, layout, d), true})
		if method, _ := skinnyMethod(layout == LayoutNT, d); method != skinnyNone {
			starts = append(starts, start{"skinny-" + isa, "the large operand read once, with " + isa + " vectors", skinnyStart(isa, method, layout, d), true})
		}
	}
	if best := isas[len(isas)-1]; threads > 1 {
		serial := func(values map[string]any) map[string]any {
			values["workers"] = 1
			return values
		}
		starts = append(starts, start{"serial", "register tiles with " + best + " vectors and one thread, a good start", serial(tiledStart(best, layout, d)), true})
		if method, _ := skinnyMethod(layout == LayoutNT, d); method != skinnyNone {
			starts = append(starts, start{"skinny-serial", "the large operand read once by one thread", serial(skinnyStart(best, method, layout, d)), true})
		}
	}
	out := make([]kernels.Preset, len(starts))
	for i, start := range starts {
		p, err := s.Make(start.values)
		if err != nil {
			return nil, fmt.Errorf("preset %s: %w", start.name, err)
		}
		out[i] = kernels.Preset{Name: start.name, Doc: start.doc, Point: p, Start: start.good}
	}
	return out, nil
}

// tiledStart returns the knobs of a tiled point that is good for most shapes like d. What it knows comes from
// tuning: nothing is worth packing while B fits the second-level cache or is used for few rows.
func tiledStart(isa, layout string, d Dims) map[string]any {
	tile := goodTiles[isa]
	values := map[string]any{"form": FormTiled, "isa": isa, "vec": vectorBytes(isa), "fixed": true}
	rows, cols := d.M, d.N
	few := min(d.M, d.N) <= 192
	if layout == LayoutNT && d.M <= 192 && d.M < d.N {
		values["swap"] = true
		rows, cols = d.N, d.M
	}
	values["mr"], values["nv"] = min(tile.mr, rows), min(tile.nv, cgen.Ceil(cols, 4))
	mostRows, mostCols := tileSides(layout, d)
	if few || d.K*d.N <= 1<<18 {
		values["kc"], values["mc"], values["nc"] = min(d.K, 512), min(mostRows, 512), min(mostCols, 1024)
		if layout == LayoutNN {
			values["next_y"] = d.K*d.N > 1<<18
			if rows <= 4 {
				values["nv"], values["nc"] = min(2*tile.nv, cgen.Ceil(cols, 4)), min(mostCols, 4096)
				if isa != cgen.AVX512 {
					values["mr"], values["nv"] = min(2, rows), min(4, cgen.Ceil(cols, 4))
				}
			}
		}
		if !few {
			values["kc"], values["inner"] = min(d.K, 256), "rows"
			delete(values, "next_y")
		}
		return values
	}
	// A strip of Y stays in the first-level cache, and the block of X that streams past it in the second.
	values["kc"], values["mc"], values["nc"] = min(d.K, 256), min(mostRows, 128), min(mostCols, 2048)
	values["pack_x"], values["prefetch_x"], values["prefetch_y"] = true, 32, 4
	values["prefetch_c"] = true
	if layout == LayoutNN {
		values["pack_y"] = true
	}
	return values
}

// skinnyStart is tiledStart for the skinny form.
func skinnyStart(isa, method, layout string, d Dims) map[string]any {
	small, large := min(d.M, d.N), max(d.M, d.N)
	values := map[string]any{"form": FormSkinny, "isa": isa, "vec": vectorBytes(isa), "ku": 2, "ahead": 256}
	mr, nr := 2, 4
	if isa == cgen.AVX512 {
		mr, nr = 4, 6
	}
	values["mr"] = min(mr, small)
	if method == skinnyAxpy {
		values["ku"], values["nc"], values["ahead"] = 4, min(d.N, 4096), 128
		if small == 1 {
			values["ahead"] = 0
		}
		return values
	}
	values["kc"] = min(d.K, 4096)
	values["nr"] = min(nr, large)
	if layout == LayoutNT {
		values["pack_x"] = small > 1
	}
	if small == 1 {
		values["nr"], values["depth"] = min(4, large), 2
	}
	return values
}
