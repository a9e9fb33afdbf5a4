package gemm16

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tune/kernels"
	"tune/kernels/native/cgen"
	"tune/space"
)

// The words of the parameters.
const (
	unitPlain = "plain"
	unitWide  = "wide"
	unitDot   = "dot"
	unitTile  = "tile"

	panelsTogether = "together"
	panelsApart    = "apart"

	activationsRows   = "rows"
	activationsTiles  = "tiles"
	activationsDirect = "direct"

	broadcastEmbedded = "embedded"
	broadcastRegister = "register"

	packAhead = "ahead"
	packPanel = "panel"

	orderColumns = "columns"
	orderRows    = "rows"

	prepareAhead  = "ahead"
	prepareTile   = "tile"
	prepareBeside = "beside"

	alongAround = "around"
	alongWithin = "within"

	resultsDirect = "direct"
	resultsBeside = "beside"

	no, yes = "no", "yes"
)

// The bounds of a tile of the code.
const (
	maxRows    = 14
	maxVectors = 6
	maxTiles   = 8 // registers of matrix tiles
)

// wideSets returns the instruction sets of the machine that widened elements are multiplied with, the better after the worse.
func (g *Spec) wideSets() []string {
	names := []string{cgen.Generic, cgen.AVX2, cgen.AVX512}
	if g.Type == Half {
		names = []string{cgen.F16C, cgen.AVX512}
	}
	var out []string
	for _, in := range cgen.Select(g.machine, names...) {
		if in.Name != cgen.Generic || g.Type == BFloat16 {
			out = append(out, in.Name)
		}
	}
	return out
}

// units returns those of the machine, the better after the worse.
func (g *Spec) units() []string {
	out := []string{unitPlain}
	if len(g.wideSets()) > 0 {
		out = append(out, unitWide)
	}
	if g.Type == BFloat16 {
		for _, in := range cgen.Select(g.machine, cgen.AVX512BF16, cgen.AMXBF16) {
			out = append(out, map[string]string{cgen.AVX512BF16: unitDot, cgen.AMXBF16: unitTile}[in.Name])
		}
	}
	return out
}

// isaOf returns the instruction set of a point that is not plain.
func isaOf(p space.Point) cgen.ISA {
	switch p.Str("unit") {
	case unitDot:
		return cgen.Lookup(cgen.AVX512BF16)
	case unitTile:
		return cgen.Lookup(cgen.AMXBF16)
	}
	return cgen.Lookup(p.Str("isa"))
}

func (g *Spec) newSpace() (*space.Space, error) {
	units, wide := g.units(), g.wideSets()
	parameters := []space.Parameter{
		space.Enum("unit", units...).
			Describe("plain loops, multiply-adds of widened elements, dot products of pairs, or matrix tiles"),
		space.Enum("compiler", g.machine.Compilers...).Describe("the compiler"),
		space.Enum("opt", "O2", "O3").WithDefault("O3").Describe("its level of optimisation"),
	}
	if len(units) == 1 {
		return space.New(g.name, parameters)
	}
	const blocked = "unit != 'plain'"
	activations := []string{activationsRows, activationsTiles}
	if g.hasDirect(units) {
		activations = append(activations, activationsDirect)
	}
	parameters = append(parameters,
		space.Enum("isa", wide...).If("unit == 'wide'").Describe("instruction set of the multiply-adds"),
		space.Range("mr", 1, min(maxRows, g.m)).If(blocked).Describe("rows of A in a tile; of matrix tiles where the unit has them"),
		space.Range("nr", 1, maxVectors).If(blocked).Describe("vectors of columns of B in a tile"),
		space.Enum("panels", panelsTogether, panelsApart).If(blocked+" && nr > 1").
			Describe("the vectors of a tile are one panel of packed B, or have one each"),
		space.Enum("activations", activations...).If(blocked).
			Describe("A: copied row by row, with the rows of a tile interleaved or in whole matrix tiles, or read as it is"),
		space.Ints("unroll", 1, 2, 4).If(blocked).Describe("steps along k in one turn of the inner loop"),
		space.Ints("ahead", 0, 512, 1024, 2048, 4096).If(blocked).Describe("bytes of B between what is used and what is prefetched; 0 is no prefetch"),
		space.Ints("kc", cgen.Blocks(g.k, 256, 512, 1024, 2048)...).If(blocked).Describe("elements along k in a block; 0 is all"),
		space.Ints("mc", cgen.Blocks(g.m, 32, 64, 128, 256, 512)...).If(blocked).Describe("rows of A in a block, up to a whole tile; 0 is all"),
		space.Enum("order", orderColumns, orderRows).If(blocked).
			Describe("outer loop in a block: over panels, which stay in the cache, or over tiles"),
	)
	if slices.Contains(units, unitTile) {
		parameters = append(parameters, g.matrixParameters()...)
	}
	large := g.large(units)
	constraints := g.tileConstraints(units, large)
	if large != "" {
		parameters = append(parameters, space.Enum("broadcast", broadcastEmbedded, broadcastRegister).If(large).
			Describe("an element of A: operand of each multiplication, or loaded into a register"))
	}
	if g.weights != asPacked {
		parameters = append(parameters, space.Enum("pack", packAhead, packPanel).If(blocked).
			Describe("B is packed as a whole, or panel by panel where it is used"))
		constraints = append(constraints, "pack != 'panel' || order == 'columns' && mc == 0 && kc == 0")
	}
	if g.threads > 1 {
		const parallel = blocked + " && workers > 1"
		parameters = append(parameters,
			space.Range("workers", 1, g.threads).If(blocked).Describe("threads that share the work, the caller included; 1 is serial"),
			space.Enum("split", orderColumns, orderRows).If(parallel).Describe("workers share the panels of B, or the tiles of A"),
			space.Ints("pieces", 1, 2, 4, 8).If(parallel).Describe("chunks for each worker"),
		)
		parameters = append(parameters, cgen.CrewParameters(parallel)...)
		if g.weights != asPacked {
			constraints = append(constraints, "pack != 'panel' || split == 'columns'")
		}
	}
	return space.New(g.name, parameters, constraints...)
}

// matrixParameters are those of matrix tiles alone.
func (g *Spec) matrixParameters() []space.Parameter {
	const tiled = "unit == 'tile'"
	return []space.Parameter{
		space.Ints("nc", cgen.Blocks(g.n, cgen.ColumnBlockSizes()...)...).If(tiled).Describe("columns of B in a block, around all other loops; 0 is all"),
		space.Enum("along", alongAround, alongWithin).If(tiled + " && kc > 0").
			Describe("loop over blocks along k: around those over tiles and panels, or within the outer one of these"),
		space.Enum("prepare", prepareAhead, prepareTile, prepareBeside).If(tiled).
			Describe("A is copied as a whole, tile by tile where it is used, or between the products of the tile before"),
		space.Enum("results", resultsDirect, resultsBeside).If(tiled + " && order == 'rows' && (kc == 0 || along == 'within')").
			Describe("sums go to C as they are, or by way of a buffer, from where they are stored between the products of the next tile"),
		space.Enum("passing", no, yes).If(tiled).Describe("whether tiles that the inner loop changes are loaded with the hint that the nearest cache need not keep them"),
	}
}

// large is the condition of points that have 32 registers of vectors; "" for none.
func (g *Spec) large(units []string) string {
	var out []string
	if slices.Contains(g.wideSets(), cgen.AVX512) {
		out = append(out, "unit == 'wide' && isa == 'avx512'")
	}
	if slices.Contains(units, unitDot) {
		out = append(out, "unit == 'dot'")
	}
	return strings.Join(out, " || ")
}

// tileConstraints keep what a tile needs in registers, and ways to read A to the units that have them.
func (g *Spec) tileConstraints(units []string, large string) []string {
	vectors := "mr * nr + nr + 1 <= 16"
	if large != "" {
		vectors = fmt.Sprintf("mr * nr + nr + 1 <= (%s ? 32 : 16)", large)
	}
	var out []string
	if slices.Contains(units, unitTile) {
		vectors = "unit == 'tile' || " + vectors
		out = append(out,
			fmt.Sprintf("unit != 'tile' || mr * nr + mr + nr <= %d", maxTiles),
			"prepare == 'ahead' || unit != 'tile' || order == 'rows' && mc == 0 && (kc == 0 || along == 'within')")
	}
	if g.hasDirect(units) {
		out = append(out, "unit != 'wide' || activations != 'direct'")
		if slices.Contains(units, unitTile) {
			out = append(out, "unit != 'tile' || prepare == 'ahead' || activations != 'direct'")
		}
	}
	return append(out, vectors)
}

// hasDirect reports whether a unit can read A as it is.
func (g *Spec) hasDirect(units []string) bool {
	return g.inputs == asHalf && (slices.Contains(units, unitDot) || slices.Contains(units, unitTile))
}

// newPresets makes the baseline and the points to start from.
func (g *Spec) newPresets() ([]kernels.Preset, error) {
	with := func(ms ...map[string]any) map[string]any {
		out := map[string]any{"compiler": g.machine.Compilers[0], "opt": "O3"}
		for _, m := range ms {
			maps.Copy(out, m)
		}
		return out
	}
	type preset struct {
		name, doc string
		values    map[string]any
	}
	docs := map[string]string{
		unitWide: "widened elements, a tile that fills the registers of the best instruction set",
		unitDot:  "dot products of pairs, a tile of eight rows",
		unitTile: "matrix tiles, four accumulators where A has the rows",
	}
	list := []preset{{"baseline", "plain loops, compiled with -O3 for this CPU", with(map[string]any{"unit": unitPlain})}}
	units := g.units()
	for _, unit := range units[1:] {
		list = append(list, preset{unit, docs[unit], with(g.startValues(unit))})
	}
	var out []kernels.Preset
	for i, l := range list {
		p, err := g.Space().Make(l.values)
		if err != nil {
			return nil, fmt.Errorf("preset %s: %w", l.name, err)
		}
		// Matrix tiles are far ahead of the others. Which of the others is faster depends on the processor: some take two cycles for a dot product.
		last := len(list) - 1
		out = append(out, kernels.Preset{Name: l.name, Doc: l.doc, Point: p, Start: i > 0 && (i == last || list[last].name != unitTile)})
	}
	return out, nil
}

// startValues are those of the preset of a unit.
func (g *Spec) startValues(unit string) map[string]any {
	values := map[string]any{"unit": unit, "mr": min(g.m, 4), "nr": 2}
	wide := g.wideSets()
	best := wide[len(wide)-1]
	switch {
	case unit == unitTile:
		values["mr"] = min(2, cgen.Ceil(g.m, tileRows))
		if g.m <= tileRows {
			values["nr"] = 3
		}
	case unit == unitDot:
		values["mr"] = min(g.m, 8)
	case best == cgen.AVX512:
		values["mr"] = min(g.m, maxRows)
	}
	if unit == unitWide {
		values["isa"] = best
	}
	if g.m <= 2 && unit != unitTile {
		values["nr"], values["panels"], values["unroll"] = 4, panelsApart, 4 // streams through the weights
	}
	if unit == unitTile {
		if g.m > tileRows {
			maps.Copy(values, g.matrixStart())
		}
		return values
	}
	const block, keptBytes = 128, 4 << 20
	if g.m > block {
		values["mc"] = block
		if 2*g.n*g.k <= keptBytes {
			values["order"] = orderRows // a tile of A stays in the nearest cache, and B in a farther one
		}
	}
	return values
}

// matrixStart returns what a search of more than one matrix tile of rows starts from. Where there are rows enough to read a block of B often,
// and the second cache has room for one that is wide enough, a part of a tile of A stays in the nearest cache, while A is copied and C is
// stored beside. Otherwise a block of A stays in the second cache, and panels of B pass along it.
func (g *Spec) matrixStart() map[string]any {
	const depth, few, wide = 512, 128, 256
	values := map[string]any{"panels": panelsApart, "activations": activationsTiles, "passing": yes}
	block := cgen.TileColumns(g.n, 2*g.k)
	if g.m <= few || block != 0 && block < wide {
		if rows := cgen.TileBlock(2 * g.k); g.m > rows {
			values["mc"] = rows
		}
		return values
	}
	maps.Copy(values, map[string]any{"prepare": prepareBeside, "order": orderRows, "results": resultsBeside, "nc": block})
	if g.k > depth {
		values["kc"], values["along"] = depth, alongWithin
	}
	return values
}

// workers returns the threads of a point.
func (g *Spec) workers(p space.Point) int {
	if g.threads == 1 || p.Str("unit") == unitPlain {
		return 1
	}
	return max(1, p.Int("workers"))
}
