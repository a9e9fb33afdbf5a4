package attention

import (
	"fmt"
	"maps"
	"slices"

	"tune/kernels"
	"tune/kernels/native"
	"tune/kernels/native/cgen"
	"tune/space"
)

// The words of the parameters.
const (
	formPlain  = "plain"
	formNaive  = "naive"
	formOnline = "online"
	formTiles  = "tiles"

	scoresBefore = "before"
	scoresBeside = "beside"

	layoutRows   = "rows"
	layoutPanels = "panels"

	packTile = "tile"
	packHead = "head"

	splitHeads   = "heads"
	splitQueries = "queries"
	splitContext = "context"
)

// mostRows bounds the rows of a micro-tile.
const mostRows = 16

// instructionSets returns those of the machine that differ in the code for a type of keys.
func instructionSets(m native.Machine, kv string) []cgen.ISA {
	if kv == kvF16 {
		return cgen.Select(m, cgen.Generic, cgen.AVX2, cgen.F16C, cgen.AVX512)
	}
	return cgen.Select(m, cgen.Generic, cgen.AVX2, cgen.AVX512)
}

// upTo returns those sizes that a whole has room for, and the next one, which holds all of it.
func upTo(whole int, sizes ...int) []int {
	for i, s := range sizes {
		if s >= whole {
			return sizes[:i+1]
		}
	}
	return sizes
}

// divisors returns the divisors of n, the largest first.
func divisors(n int) []int {
	var out []int
	for d := n; d > 0; d-- {
		if n%d == 0 {
			out = append(out, d)
		}
	}
	return out
}

// queryTiles and keyTiles are the sizes of tiles.
func (a *Spec) queryTiles() []int { return upTo(a.queries*a.group(), 8, 16, 32, 64, 128, 256) }
func (a *Spec) keyTiles() []int {
	return upTo(a.context, 32, 64, 96, 128, 192, 256, 384, 512, 768, 1024)
}

// degrees are those of polynomials whose error is within the accuracy.
func (a *Spec) degrees() []int {
	var out []int
	for _, e := range exponentials {
		// The weights and their sum err by as much as the polynomial does.
		if 2*e.err < tolerances[a.accuracy] {
			out = append(out, e.degree())
		}
	}
	return out
}

func (a *Spec) newSpace() (*space.Space, error) {
	isas := []string{cgen.Native}
	registers, widths := "16", []int{}
	var fits []string
	for _, isa := range instructionSets(a.machine, a.kv) {
		isas = append(isas, isa.Name)
		if a.head%isa.Lanes() == 0 && (len(widths) == 0 || widths[len(widths)-1] != isa.Lanes()) {
			widths = append(widths, isa.Lanes())
		}
		if isa.Registers == 32 {
			registers = fmt.Sprintf("(isa == '%s' ? 32 : 16)", isa.Name)
		}
		fits = append(fits, fmt.Sprintf("isa != '%s' || lanes <= %d", isa.Name, isa.Lanes()))
	}
	// Points in matrix tiles have few of the parameters of those in vectors.
	const all = "form != 'plain'"
	const panels = "keys == 'panels' || values == 'panels'"
	tiled, matrix := all, []space.Parameter{}
	isa := space.Enum("isa", isas...).
		Describe("instruction set: all that the CPU has, as the compiler knows it, or a named one")
	form := space.Enum("form", formPlain, formNaive, formOnline).
		Describe("plain loops; tiles with all scores of a row stored; or tiles with sums that are rescaled as scores grow")
	if a.hasMatrix() {
		tiled, isa = "(form == 'naive' || form == 'online')", isa.If("form != 'tiles'")
		matrix = matrixParameters()
		form = space.Enum("form", formPlain, formNaive, formOnline, formTiles).
			Describe("plain loops; tiles with all scores of a row stored; or tiles with sums that are rescaled as scores grow, by vectors or by matrix tiles")
	}
	parameters := []space.Parameter{
		form,
		space.Enum("compiler", a.machine.Compilers...).Describe("the compiler"),
		space.Enum("opt", "O2", "O3").WithDefault("O3").Describe("its level of optimisation"),
		isa,
		space.Ints("lanes", widths...).If(tiled).Describe("floats in a vector"),
		space.Ints("key_tile", a.keyTiles()...).WithDefault(a.keyTiles()[min(3, len(a.keyTiles())-1)]).If(all).Describe("keys of a tile"),
		space.Range("rows", 1, min(mostRows, a.queries*a.group())).If(tiled).Describe("rows, which are queries of one head each, in a micro-tile"),
		space.Enum("keys", layoutRows, layoutPanels).If(tiled).
			Describe("scores: dot products with keys as they are, or sums over keys transposed to panels"),
		space.Ints("dots", 1, 2, 3, 4, 5, 6, 8, 16).If(tiled + " && keys == 'rows'").Describe("keys in a micro-tile of dot products"),
		space.Ints("vectors", 1, 2, 3, 4).If(tiled + " && keys == 'panels'").Describe("vectors of keys in a panel"),
		space.Enum("values", layoutRows, layoutPanels).If(tiled).
			Describe("values: read as they are, or from panels of floats"),
		space.Ints("columns", 1, 2, 3, 4, 5, 6, 8).If(tiled).Describe("vectors of a value in a micro-tile"),
		space.Ints("unroll", 1, 2, 4).If(tiled).Describe("steps in one turn of an inner loop"),
		space.Ints("degree", a.degrees()...).If(all).Describe("degree of the polynomial of the exponential"),
		space.Ints("prefetch", 0, 8, 16, 32, 64).If(tiled + " && (keys == 'rows' || values == 'rows')").
			Describe("keys, or values, that are prefetched ahead; 0 leaves it to the hardware"),
		space.Enum("packing", packTile, packHead).If(tiled + " && (" + panels + ")").
			Describe("panels are made for each tile of rows, or once for a kv head"),
	}
	parameters = append(parameters, matrix...)
	if tiles := a.queryTiles(); len(tiles) > 1 {
		parameters = append(parameters, space.Ints("query_tile", tiles...).WithDefault(tiles[min(3, len(tiles)-1)]).If(all).
			Describe("rows of a tile, up to a whole micro-tile"))
	}
	if a.group() > 1 {
		parameters = append(parameters, space.Ints("together", divisors(a.group())...).If(all).
			Describe("query heads of a kv head that are tiled together, so that keys and values are read once for them"))
	}
	constraints := append([]string{
		// The plain loops leave the instructions to the compiler, and only they do.
		"form == 'plain' || isa != 'native'",
		"form != 'plain' || isa == 'native'",
		"rows * dots + (rows < dots ? rows : dots) + 1 <= " + registers,
		"rows * vectors + vectors + 1 <= " + registers,
		"rows * columns + columns + 1 <= " + registers,
		fmt.Sprintf("columns * lanes <= %d", a.head),
		"key_tile % (lanes * vectors) == 0",
	}, fits...)
	if a.threads > 1 {
		p, c := a.parallel()
		parameters, constraints = append(parameters, p...), append(constraints, c...)
	}
	return space.New("attention", parameters, constraints...)
}

// matrixParameters are those of matrix tiles alone.
func matrixParameters() []space.Parameter {
	const tiles = "form == 'tiles'"
	return []space.Parameter{
		space.Ints("row_tiles", 1, 2).WithDefault(2).If(tiles).Describe("matrix tiles of rows in a micro-tile"),
		space.Enum("scores", scoresBefore, scoresBeside).WithDefault(scoresBeside).If(tiles).
			Describe("scores of a micro-tile: made before its weights, or between the weights of the micro-tile before"),
	}
}

// parallel returns the parameters and constraints of threads.
func (a *Spec) parallel() ([]space.Parameter, []string) {
	const parallel = "form != 'plain' && workers > 1"
	split := parallel
	if a.hasMatrix() {
		split += " && form != 'tiles'"
	}
	var splits []string
	whole := "packing != 'head'" // panels of a whole head are for one worker
	if a.kvHeads > 1 {
		splits = append(splits, splitHeads)
		whole += " || split == 'heads'"
	} else {
		whole += " || workers == 1"
	}
	splits = append(splits, splitContext)
	if a.queries > 1 || a.group() > 1 {
		splits = append(splits, splitQueries)
	}
	return append([]space.Parameter{
		space.Range("workers", 1, a.threads).If("form != 'plain'").Describe("threads that share the work, the caller included; 1 is serial"),
		space.Enum("split", splits...).If(split).
			Describe("a chunk of work: a kv head, a tile of rows, or a tile of rows over a part of the context, whose sums are merged"),
		space.Ints("parts", 2, 3, 4, 8, 16, 32).If(split + " && split == 'context'").Describe("parts of the context"),
	}, cgen.CrewParameters(parallel)...), []string{whole}
}

// fewRows is up to how many rows of a kv head read keys and values about once.
const fewRows = 16

// newPresets makes the baseline and the points to start from.
func (a *Spec) newPresets() ([]kernels.Preset, error) {
	sets := instructionSets(a.machine, a.kv)
	best := sets[len(sets)-1]
	lanes := best.Lanes()
	for a.head%lanes != 0 {
		lanes /= 2
	}
	all := a.queries * a.group()
	vectors := a.head / lanes
	common := map[string]any{"compiler": a.machine.Compilers[0], "opt": "O3"}
	tiled := map[string]any{"form": formOnline, "isa": best.Name, "lanes": lanes, "unroll": 2}
	dot := map[string]any{"key_tile": a.keyTiles()[min(5, len(a.keyTiles())-1)], "keys": layoutRows, "values": layoutRows, "rows": min(all, 4), "dots": 2, "columns": min(vectors, 2)}
	panel := map[string]any{"key_tile": a.keyTiles()[min(3, len(a.keyTiles())-1)], "keys": layoutPanels, "values": layoutRows, "packing": packHead, "rows": min(all, 4), "vectors": 2, "columns": min(vectors, 2)}
	if best.Registers == 32 {
		dot["dots"], dot["columns"] = 4, min(vectors, 4)
		panel["rows"] = min(all, 12)
	}
	if tiles := a.queryTiles(); len(tiles) > 1 {
		panel["query_tile"] = tiles[min(4, len(tiles)-1)]
	}
	if all <= fewRows {
		dot["prefetch"] = 32 // keys and values come from far away, and are read once
	}
	if a.kv != kvF32 {
		panel["values"] = layoutPanels // each is widened once
	}
	type preset struct {
		name, doc string
		start     bool
		values    []map[string]any
	}
	list := []preset{
		{"baseline", "plain loops, compiled with -O3 for this CPU", false, []map[string]any{{"form": formPlain, "isa": cgen.Native}}},
		{"dot", "dot products with keys as they are, for few rows", true, []map[string]any{tiled, dot}},
		{"panels", "panels of transposed keys, for many rows", true, []map[string]any{tiled, panel}},
		{"stored", "as dot, with all scores of a row stored", false, []map[string]any{tiled, dot, {"form": formNaive}}},
	}
	if a.hasMatrix() {
		values := map[string]any{"form": formTiles, "key_tile": a.keyTiles()[min(5, len(a.keyTiles())-1)]}
		if tiles := a.queryTiles(); len(tiles) > 1 {
			values["query_tile"] = tiles[len(tiles)-1]
		}
		list = slices.Insert(list, 1, preset{"tiles", "matrix tiles of bfloat16", true, []map[string]any{values}})
	}
	var out []kernels.Preset
	for _, l := range list {
		values := maps.Clone(common)
		for _, v := range l.values {
			maps.Copy(values, v)
		}
		p, err := a.Space().Make(values)
		if err != nil {
			return nil, fmt.Errorf("preset %s: %w", l.name, err)
		}
		out = append(out, kernels.Preset{Name: l.name, Doc: l.doc, Point: p, Start: l.start})
	}
	return out, nil
}
