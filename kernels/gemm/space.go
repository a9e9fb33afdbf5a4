package gemm

import (
	"fmt"
	"slices"

	"tune/kernels"
	"tune/space"
)

// Machine is what a space depends on beside the shape.
type Machine struct {
	ISAs      []string // instruction sets of this CPU; only those that this package names count
	Compilers []string // installed, the preferred one first; at least one
	Registers int      // vector registers without AVX-512; 0 means 16
}

// isas lists the instruction sets that code can be generated for, the best last.
func (m Machine) isas() []string {
	out := []string{ISAGeneric}
	for _, isa := range []string{ISAAVX2, ISAAVX512} {
		if slices.Contains(m.ISAs, isa) {
			out = append(out, isa)
		}
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
	maxPacked  = 1 << 23 // floats of a packed block
	maxScratch = 1 << 27 // floats of the packed blocks of all threads
)

// tileSides returns the most rows and columns that the result of tiles can have, which may be those of Cᵀ.
func tileSides(layout string, d Dims) (rows, cols int) {
	if layout == LayoutNT {
		return max(d.M, d.N), max(d.M, d.N)
	}
	return d.M, d.N
}

// newSpace returns the points of a shape. The knobs of a form are active in that form alone.
func newSpace(m Machine, layout string, d Dims, threads int) (*space.Space, error) {
	nt := layout == LayoutNT
	method, _ := skinnyMethod(nt, d)
	forms := []string{FormNaive, FormBlocked, FormTiled}
	fast := isTiled
	if method != skinnyNone {
		forms = append(forms, FormSkinny)
		fast = "form in ['tiled', 'skinny']"
	}
	isas := m.isas()
	best := isas[len(isas)-1]
	registers := max(m.Registers, 16)
	vec := map[string]int{ISAGeneric: 16, ISAAVX2: 32, ISAAVX512: 64}[best]
	vecs := []int{16}
	for _, isa := range isas[1:] {
		vecs = append(vecs, map[string]int{ISAAVX2: 32, ISAAVX512: 64}[isa])
	}
	if best == ISAAVX512 && !slices.Contains(vecs, 32) {
		vecs = []int{16, 32, 64}
	}
	rows, cols := tileSides(layout, d)
	mr, nv := 4, 2
	if best == ISAAVX512 {
		mr = 8
	}
	ps := []space.Parameter{
		space.Enum("form", forms...).WithDefault(FormTiled).
			Describe("three loops, blocks of three loops, register tiles in cache blocks, or (few rows or columns) no copy of the large operand"),
		space.Enum("compiler", m.Compilers...).Describe("the C compiler"),
		space.Enum("opt", "O2", "O3").Describe("its level of optimisation"),
		space.Enum("mtune", "default", "native").Describe("the processor whose instruction timings it assumes"),
		space.Enum("isa", append(slices.Clone(isas), ISANative)...).WithDefault(best).
			Describe("instruction set; native is the compiler's choice, for the plain forms"),
		space.Enum("loops", "ijk", "ikj", "jik", "jki", "kij", "kji").WithDefault("ikj").If(plainForms).
			Describe("order of the loops, outermost first"),
		space.Ints("block", 8, 16, 24, 32, 48, 64, 96, 128, 256).WithDefault(32).If("form == 'blocked'").
			Describe("rows, columns and depth of a block"),
		space.Ints("vec", vecs...).WithDefault(vec).If(fast).Describe("bytes of a vector"),
	}
	if nt {
		ps = append(ps, space.Bool("swap").If(isTiled).Describe("tiles of the transposed result: A gives the vectors and is packed, B is broadcast"))
	}
	ps = append(ps,
		space.Range("mr", 1, min(maxRows, rows)).WithDefault(min(mr, rows)).If(fast).Describe("rows of a register tile"),
		space.Range("nv", 1, max(1, min(6, ceil(cols, 4)))).WithDefault(min(nv, max(1, ceil(cols, 4)))).If(isTiled).
			Describe("vectors in each row of a register tile"))
	if method == skinnyDot {
		large := max(d.M, d.N)
		ps = append(ps,
			space.Range("nr", 1, min(12, large)).WithDefault(min(4, large)).If(isSkinny).Describe("rows of the large operand in a tile of dot products"),
			space.Ints("depth", 1, 2, 3, 4).If(isSkinny).Describe("accumulators along K of each dot product"))
	}
	ps = append(ps,
		space.Ints("ku", 1, 2, 4, 8).WithDefault(4).If(fast).Describe("unrolling of K"),
		space.Ints("kc", upTo(d.K, 32, 48, 64, 96, 128, 192, 256, 320, 384, 512, 768, 1024, 2048, 4096)...).WithDefault(upTo(d.K, 256)[0]).If(depthIf(method)).
			Describe("depth of a cache block, at the most; blocks are of equal size"),
		space.Ints("mc", upTo(rows, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 2048)...).WithDefault(upTo(rows, 96)[0]).If(isTiled).
			Describe("rows of a cache block, at the most"),
		space.Ints("nc", upTo(cols, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 2048, 4096)...).WithDefault(upTo(cols, 1024)[0]).If(columnsIf(method)).
			Describe("columns of a cache block, at the most"))
	packIf := isTiled
	if method == skinnyDot && nt {
		packIf = fast
	}
	ps = append(ps, space.Bool("pack_x").If(packIf).Describe("copy the operand that is broadcast (or has few rows) so that a tile reads it in order"))
	if !nt {
		ps = append(ps, space.Bool("pack_y").If(isTiled).Describe("copy the operand that is read in vectors so that a tile reads it in order"))
	}
	tails := []string{TailMasked, TailScalar, TailPadded}
	ps = append(ps,
		space.Enum("order", "jpi", "ipj", "pji", "pij").If(isTiled).Describe("loops over cache blocks, outermost first: i rows, j columns, p depth"),
		space.Enum("inner", "columns", "rows").If(isTiled).Describe("outer loop over the tiles of a cache block"),
		space.Enum("tail", tails...).If(fast).Describe("rows and columns that fill no tile: narrow tiles and masks, narrow tiles and scalars, or padded copies"),
		space.Bool("fixed").If(isTiled).Describe("a second copy of the code for exactly the asked dimensions"),
		space.Ints("prefetch_x", 0, 4, 8, 16, 32, 64).If(prefetchIf(method)).Describe("steps of K that the broadcast operand is prefetched ahead; 0 for not"),
		space.Ints("prefetch_y", 0, 1, 2, 4, 8, 16, 32).If(isTiled).Describe("the same for the operand read in vectors"),
		space.Bool("prefetch_c").If(isTiled).Describe("prefetch a tile of the result before it is computed"),
		space.Bool("next_y").If("form == 'tiled' && inner == 'columns'").Describe("prefetch the next strip of columns while the tiles of one are computed"))
	if method != skinnyNone {
		ps = append(ps, space.Ints("ahead", 0, 64, 128, 256, 512, 1024).If(isSkinny).Describe("floats that the large operand is prefetched ahead in each row; 0 for not"))
	}
	if threads > 1 {
		parallel := "workers > 1"
		ps = append(ps,
			space.Range("workers", 1, threads).WithDefault(threads).If(fast).Describe("threads, the caller included; 1 is serial"),
			space.Enum("split", "columns", "rows").If("form == 'tiled' && "+parallel).Describe("axis of the result that tasks divide"),
			space.Ints("chunk", 0, 1, 2, 4, 8, 16, 32).If(parallel).Describe("tiles in a task; 0 gives every thread one task of equal size"),
			space.Bool("dynamic").If(parallel+" && chunk > 0").Describe("idle threads take the next task, instead of every n-th"),
			space.Ints("spin", 1, 10, 100).WithDefault(10).If(parallel).Describe("thousands of polls before an idle thread sleeps"))
	}
	cs := []string{
		"isa != 'native' || " + plainForms,
		"vec != 16 || isa == 'generic'",
		"vec != 32 || isa in ['avx2', 'avx512']",
		"vec != 64 || isa == 'avx512'",
		// Accumulators, a row of vectors, and one broadcast.
		fmt.Sprintf("form != 'tiled' || mr * nv + nv + 1 <= (32 if isa == 'avx512' else %d)", registers),
	}
	if !slices.Contains(isas, ISAAVX512) {
		cs = []string{cs[0], cs[1], fmt.Sprintf("form != 'tiled' || mr * nv + nv + 1 <= %d", registers)}
		if best == ISAAVX2 {
			cs = append(cs, "vec != 32 || isa == 'avx2'")
		}
	}
	if nt {
		cs = append(cs, fmt.Sprintf("form != 'tiled' || kc * nc <= %d", maxPacked))
	} else {
		cs = append(cs, fmt.Sprintf("not pack_y || kc * nc <= %d", maxPacked))
	}
	cs = append(cs, fmt.Sprintf("form != 'tiled' || not pack_x || kc * mc <= %d", maxPacked))
	if threads > 1 {
		cs = append(cs, fmt.Sprintf("form != 'tiled' || workers * kc * max(mc, nc) <= %d", maxScratch))
	}
	limit := "(32 if isa == 'avx512' else " + fmt.Sprint(registers) + ")"
	if best != ISAAVX512 {
		limit = fmt.Sprint(registers)
	}
	if method != skinnyNone {
		cs = append(cs, "form != 'skinny' || tail != 'padded'", fmt.Sprintf("form != 'skinny' || mr <= %d", min(d.M, d.N)))
	}
	switch method {
	case skinnyDot:
		cs = append(cs, "form != 'skinny' || mr * nr * depth + min(mr, nr) + 1 <= "+limit)
	case skinnyAxpy:
		cs = append(cs, "form != 'skinny' || mr * ku + mr + 1 <= "+limit)
	}
	return space.New("gemm-f32", ps, cs...)
}

// depthIf, columnsIf and prefetchIf say in which forms a block size or a prefetch has a meaning.
func depthIf(method string) string {
	if method == skinnyDot {
		return "form in ['tiled', 'skinny']"
	}
	return isTiled
}

func columnsIf(method string) string {
	if method == skinnyAxpy {
		return "form in ['tiled', 'skinny']"
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
func presets(s *space.Space, m Machine, layout string, d Dims, threads int) ([]kernels.Preset, error) {
	var out []kernels.Preset
	add := func(name, doc string, values map[string]any) error {
		values["compiler"] = m.Compilers[0]
		p, err := s.Make(values)
		if err != nil {
			return fmt.Errorf("preset %s: %w", name, err)
		}
		out = append(out, kernels.Preset{Name: name, Doc: doc, Point: p})
		return nil
	}
	loops := "ikj"
	if layout == LayoutNT {
		loops = "ijk" // the order in which both operands are read row by row
	}
	err := add("baseline", "three loops, -O3 -march=native", map[string]any{"form": FormNaive, "loops": loops, "opt": "O3", "isa": ISANative})
	if err == nil {
		err = add("naive", "three loops in the order of the textbook, -O2", map[string]any{"form": FormNaive, "loops": "ijk", "opt": "O2", "isa": ISAGeneric})
	}
	if err == nil {
		err = add("blocked32", "blocks of 32 by 32 by 32, -O3", map[string]any{"form": FormBlocked, "loops": loops, "block": 32, "opt": "O3", "isa": ISANative})
	}
	for _, isa := range m.isas() {
		if err != nil {
			break
		}
		err = add("tiled-"+isa, "register tiles with "+isa+" vectors, a good start", tiledStart(isa, layout, d))
		if method, _ := skinnyMethod(layout == LayoutNT, d); err == nil && method != skinnyNone {
			err = add("skinny-"+isa, "the large operand read once, with "+isa+" vectors", skinnyStart(isa, method, layout, d))
		}
	}
	return out, err
}

// tiledStart returns the knobs of a tiled point that is good for most shapes like d. What it knows comes from
// tuning: nothing is worth packing while B fits the second-level cache or is used for few rows.
func tiledStart(isa, layout string, d Dims) map[string]any {
	tile := map[string]struct{ vec, mr, nv int }{ISAGeneric: {16, 4, 2}, ISAAVX2: {32, 6, 2}, ISAAVX512: {64, 8, 2}}[isa]
	values := map[string]any{"form": FormTiled, "isa": isa, "vec": tile.vec, "fixed": true}
	rows, cols := d.M, d.N
	few := min(d.M, d.N) <= 192
	if layout == LayoutNT && d.M <= 192 && d.M < d.N {
		values["swap"] = true
		rows, cols = d.N, d.M
	}
	values["mr"], values["nv"] = min(tile.mr, rows), min(tile.nv, ceil(cols, 4))
	mostRows, mostCols := tileSides(layout, d)
	if few || d.K*d.N <= 1<<18 {
		values["kc"], values["mc"], values["nc"] = min(d.K, 512), min(mostRows, 512), min(mostCols, 1024)
		if layout == LayoutNN {
			values["next_y"] = d.K*d.N > 1<<18
			if rows <= 4 {
				values["nv"], values["nc"] = min(2*tile.nv, ceil(cols, 4)), min(mostCols, 4096)
				if isa != ISAAVX512 {
					values["mr"], values["nv"] = min(2, rows), min(4, ceil(cols, 4))
				}
			}
		}
		if !few {
			values["kc"], values["inner"] = min(d.K, 256), "rows"
			delete(values, "next_y")
		}
		return values
	}
	values["kc"], values["mc"], values["nc"] = min(d.K, 128), min(mostRows, 512), min(mostCols, 1024)
	values["pack_x"], values["inner"], values["prefetch_c"] = true, "rows", true
	if layout == LayoutNN {
		values["pack_y"] = true
	}
	return values
}

// skinnyStart is tiledStart for the skinny form.
func skinnyStart(isa, method, layout string, d Dims) map[string]any {
	small, large := min(d.M, d.N), max(d.M, d.N)
	vec := map[string]int{ISAGeneric: 16, ISAAVX2: 32, ISAAVX512: 64}[isa]
	values := map[string]any{"form": FormSkinny, "isa": isa, "vec": vec, "ku": 2, "ahead": 256}
	mr, nr := 2, 4
	if isa == ISAAVX512 {
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
