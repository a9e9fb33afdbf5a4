package gemmi8

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tune/kernels"
	"tune/kernels/native"
	"tune/kernels/native/cgen"
	"tune/space"
)

// The words of the parameters.
const (
	formPlain  = "plain"
	formPacked = "packed"
	formDot    = "dot"
	formTile   = "tile"

	packAhead = "ahead"
	packPanel = "panel"
	packNone  = "none"

	orderColumns = "columns"
	orderRows    = "rows"

	broadcastRegister = "register"
	broadcastEmbedded = "embedded"

	panelsTogether = "together"
	panelsApart    = "apart"

	no, yes = "no", "yes"

	activationsRows  = "rows"
	activationsTiles = "tiles"

	prepareAhead  = "ahead"
	prepareTile   = "tile"
	prepareBeside = "beside"

	resultsAfter  = "after"
	resultsBeside = "beside"
)

// maxTiles is the number of registers of matrix tiles.
const maxTiles = 8

// instructions describe how an instruction set multiplies.
type instructions struct {
	cgen.ISA
	group int // products that one 32-bit sum takes from an instruction: 4 bytes or 2 shorts
}

// instructionsOf returns the instruction set of a name.
func instructionsOf(name string) instructions {
	in := instructions{ISA: cgen.Lookup(name), group: 2}
	if in.DotBytes {
		in.group = 4
	}
	return in
}

// instructionSets returns those of the machine, the better after the worse.
func instructionSets(m native.Machine) []cgen.ISA {
	return cgen.Select(m, cgen.Generic, cgen.AVX2, cgen.AVXVNNI, cgen.AVX512, cgen.AVX512VNNI)
}

// hasTiles reports whether a machine has matrix tiles of bytes.
func hasTiles(m native.Machine) bool { return len(cgen.Select(m, cgen.AMXInt8)) > 0 }

func (g *Spec) newSpace() (*space.Space, error) {
	sets := instructionSets(g.machine)
	isas := []string{cgen.Native}
	var wide []string
	for _, in := range sets {
		isas = append(isas, in.Name)
		if in.Registers == 32 {
			wide = append(wide, fmt.Sprintf("isa == '%s'", in.Name))
		}
	}
	registers := "16"
	if len(wide) > 0 {
		registers = fmt.Sprintf("(%s ? 32 : 16)", strings.Join(wide, " || "))
	}
	const tiled = "form != 'plain'"
	const packed = "form == 'packed'"
	const interleaved = "form != 'plain' && form != 'dot'"
	forms, formDoc, rowsDoc := []string{formPlain, formPacked, formDot}, "plain loops, panels interleaved for broadcasts, or rows as they are for dot products", "rows of A in a tile"
	if hasTiles(g.machine) {
		forms, isas = append(forms, formTile), append(isas, cgen.AMXInt8)
		formDoc = "plain loops, panels interleaved for broadcasts, rows as they are for dot products, or panels for matrix tiles"
		rowsDoc = "rows of A in a tile; of matrix tiles in form tile"
	}
	parameters := []space.Parameter{
		space.Enum("form", forms...).Describe(formDoc),
		space.Enum("compiler", g.machine.Compilers...).Describe("the compiler"),
		space.Enum("opt", "O2", "O3").WithDefault("O3").Describe("its level of optimisation"),
		space.Enum("isa", isas...).
			Describe("instruction set: all that the CPU has, as the compiler knows it, or a named one"),
		space.Range("mr", 1, 16).WithDefault(4).If(tiled).Describe(rowsDoc),
		space.Range("nr", 1, 8).WithDefault(2).If(tiled).
			Describe("rows of W in a panel: single ones in form dot, as many as a vector has words otherwise"),
		space.Ints("unroll", 1, 2, 4, 8).If(tiled).Describe("steps along k in one turn of the inner loop"),
		space.Ints("kc", cgen.Blocks(g.k, 256, 512, 1024, 2048, 4096)...).If(interleaved).Describe("elements along k in a block; 0 is all"),
		space.Ints("mc", cgen.Blocks(g.m, 32, 64, 128, 256, 512)...).If(tiled).Describe("rows of A in a block, up to a whole tile; 0 is all"),
		space.Enum("order", orderColumns, orderRows).If(tiled).
			Describe("outer loop in a block: over panels, which stay in the cache, or over tiles"),
		space.Enum("activations", activationsRows, activationsTiles).If(interleaved).
			Describe("quantised A: row by row, or the rows of a tile interleaved, or in whole matrix tiles"),
		space.Enum("panels", panelsTogether, panelsApart).If(interleaved + " && nr > 1").
			Describe("the vectors of a panel: side by side, or each in a place of its own"),
		space.Ints("ahead", 0, 512, 1024, 2048, 4096).If(tiled).Describe("bytes of W between what is used and what is prefetched; 0 is no prefetch"),
		space.Enum("next", no, yes).If(packed + " && order == 'columns'").
			Describe("whether the tiles of A, each in part, prefetch the panel after the one that they use"),
	}
	constraints := []string{
		// Only the plain loops leave the instructions to the compiler.
		"form == 'plain' || isa != 'native'",
	}
	vectors := "mr * nr + nr + 1 <= " + registers
	if hasTiles(g.machine) {
		parameters = append(parameters, g.matrixParameters()...)
		constraints = append(constraints,
			"form != 'tile' || isa == 'amxint8'", "form == 'tile' || isa != 'amxint8'",
			fmt.Sprintf("form != 'tile' || mr * nr + mr + nr <= %d", maxTiles),
			"prepare == 'ahead' || form != 'tile' || order == 'rows' && mc == 0 && kc == 0")
		vectors = "form == 'tile' || " + vectors
	}
	constraints = append(constraints, vectors)
	if slices.ContainsFunc(sets, func(in cgen.ISA) bool { return in.Name == cgen.AVX512VNNI }) {
		parameters = append(parameters, space.Enum("broadcast", broadcastRegister, broadcastEmbedded).If(packed+" && isa == 'avx512vnni'").
			Describe("a word of A: loaded into a register, or operand of each multiplication"))
	}
	if g.weights != weightsPacked {
		packs := []string{packAhead, packPanel}
		if g.weights == weightsInt8 {
			packs = append(packs, packNone)
			constraints = append(constraints, "pack != 'none' || form == 'dot'")
		}
		parameters = append(parameters, space.Enum("pack", packs...).If(tiled).
			Describe("W: rearranged as a whole, panel by panel where it is used, or read as it is"))
		constraints = append(constraints, "pack != 'panel' || order == 'columns' && mc == 0 && kc == 0 && next != 'yes'")
	}
	if g.threads > 1 {
		const parallel = "form != 'plain' && workers > 1"
		parameters = append(parameters,
			space.Range("workers", 1, g.threads).If(tiled).Describe("threads that share the work, the caller included; 1 is serial"),
			space.Enum("split", orderColumns, orderRows).If(parallel).Describe("workers share the panels of W, or the tiles of A"),
			space.Ints("pieces", 1, 2, 4, 8).If(parallel).Describe("chunks for each worker"),
		)
		parameters = append(parameters, cgen.CrewParameters(parallel)...)
		if g.weights != weightsPacked {
			constraints = append(constraints, "pack != 'panel' || split == 'columns'")
		}
	}
	return space.New("gemm-i8", parameters, constraints...)
}

// matrixParameters are those of matrix tiles alone.
func (g *Spec) matrixParameters() []space.Parameter {
	const tiled = "form == 'tile'"
	return []space.Parameter{
		space.Ints("nc", cgen.Blocks(g.n, cgen.ColumnBlockSizes()...)...).If(tiled).Describe("rows of W in a block, around all other loops; 0 is all"),
		space.Enum("prepare", prepareAhead, prepareTile, prepareBeside).If(tiled).
			Describe("A is quantised as a whole, tile by tile where it is used, or between the products of the tile before"),
		space.Enum("results", resultsAfter, resultsBeside).If(tiled).
			Describe("sums become results after their products, or between the products of the next tile"),
		space.Enum("passing", no, yes).If(tiled).Describe("whether tiles that the inner loop changes are loaded with the hint that the nearest cache need not keep them"),
	}
}

// packedStart returns the tile to start from in form packed.
func (g *Spec) packedStart(best cgen.ISA) map[string]any {
	const fewRows, someRows, keptBytes = 4, 64, 2 << 20
	switch {
	case g.m <= fewRows:
		// Reading the weights is what takes the time: several streams, far ahead.
		nr := 4
		if best.Registers < 32 {
			nr = 2
		}
		return map[string]any{"mr": g.m, "nr": nr, "panels": panelsApart, "ahead": 2048}
	case best.Registers < 32:
		return map[string]any{"mr": 4, "nr": 2}
	case g.m <= someRows:
		return map[string]any{"mr": 8, "nr": 3, "next": yes} // reads a panel while it multiplies by another
	case g.n*g.k <= keptBytes:
		return map[string]any{"mr": 14, "nr": 2, "order": orderRows} // a tile of A stays in the nearest cache, and W in a farther one
	}
	return map[string]any{"mr": 8, "nr": 3}
}

// matrixStart returns what a search of more than one matrix tile of rows starts from. Where the second cache has room for W, or for a block of
// it that is wide enough, a tile of A stays in the nearest cache, while vectors quantise A and write results beside. Otherwise a block of A
// stays in the second cache, and panels of W pass along it.
func (g *Spec) matrixStart() map[string]any {
	const wide = 512
	values := map[string]any{"panels": panelsApart, "activations": activationsTiles, "passing": yes, "results": resultsBeside}
	block := cgen.TileColumns(g.n, g.k)
	if block != 0 && block < wide {
		if rows := cgen.TileBlock(g.k); g.m > rows {
			values["mc"] = rows
		}
		return values
	}
	maps.Copy(values, map[string]any{"prepare": prepareBeside, "order": orderRows, "nc": block})
	return values
}

// newPresets makes the baseline and the points to start from.
func (g *Spec) newPresets() ([]kernels.Preset, error) {
	sets := instructionSets(g.machine)
	best := sets[len(sets)-1]
	with := func(ms ...map[string]any) map[string]any {
		out := map[string]any{"compiler": g.machine.Compilers[0], "opt": "O3"}
		for _, m := range ms {
			maps.Copy(out, m)
		}
		return out
	}
	skinny := map[string]any{"form": formDot, "isa": best.Name, "mr": min(g.m, 4), "nr": 2, "unroll": 2}
	if g.m == 1 || best.Registers == 32 {
		skinny["nr"] = 4 // as many streams through the weights
	}
	switch g.weights {
	case weightsF32:
		skinny["pack"] = packPanel
	case weightsInt8:
		skinny["pack"] = packNone
	}
	type preset struct {
		name, doc string
		values    map[string]any
	}
	list := []preset{
		{"baseline", "plain loops, compiled with -O3 for this CPU", with(map[string]any{"form": formPlain, "isa": cgen.Native})},
		{"packed", "interleaved panels, a tile that fills the registers of the best instruction set", with(g.packedStart(best), map[string]any{"form": formPacked, "isa": best.Name, "unroll": 2})},
		{"dot", "rows of the weights as they are, for few rows of activations", with(skinny)},
		{"generic", "instructions that every CPU of the architecture has", with(map[string]any{"form": formPacked, "isa": cgen.Generic, "mr": 4, "nr": 2})},
	}
	if hasTiles(g.machine) {
		values := map[string]any{"form": formTile, "isa": cgen.AMXInt8, "mr": 2, "nr": 2}
		if g.m <= tileRows {
			values["mr"], values["nr"] = 1, 3
		}
		if g.m > tileRows {
			maps.Copy(values, g.matrixStart())
		}
		list = append(list, preset{"tile", "matrix tiles, four accumulators where A has the rows", with(values)})
	}
	var out []kernels.Preset
	for _, l := range list {
		p, err := g.Space().Make(l.values)
		if err != nil {
			return nil, fmt.Errorf("preset %s: %w", l.name, err)
		}
		out = append(out, kernels.Preset{Name: l.name, Doc: l.doc, Point: p, Start: l.name == "packed" || l.name == "dot" || l.name == "tile"})
	}
	return out, nil
}
