package qgemm

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
	formRows   = "rows"
	formPanels = "panels"

	orderColumns = "columns"
	orderRows    = "rows"

	broadcastRegister = "register"
	broadcastEmbedded = "embedded"

	scalingParts  = "parts"
	scalingBlocks = "blocks"
	scalingAll    = "all"

	nibblesShifted = "shifted"
	nibblesPlaced  = "placed"

	no, yes = "no", "yes"

	unpackPart   = "part"
	unpackPanel  = "panel"
	unpackDigits = "digits"

	nestPanels = "panels"
	nestGroups = "groups"
)

// mostRows is the largest block of rows of A.
const mostRows = 256

// rowBytes is the size of a vector in the form rows: the 32 quants of a block, or of a part of one.
const rowBytes = 32

// unitOf returns the instruction set of a point that is not plain.
func unitOf(p space.Point) cgen.ISA { return cgen.Lookup(p.Str("isa")) }

// instructionSets returns those of the machine that vectors are generated for, the better after the worse.
func instructionSets(m native.Machine) []cgen.ISA {
	return cgen.Select(m, cgen.F16C, cgen.AVXVNNI, cgen.AVX512VNNI)
}

// hasTiles reports whether code for matrix tiles is generated: for interleaved rows, on a machine that has them.
func (g *Spec) hasTiles() bool { return g.repack && slices.Contains(g.machine.ISAs, cgen.AMXInt8) }

func (g *Spec) newSpace() (*space.Space, error) {
	sets := instructionSets(g.machine)
	parameters := []space.Parameter{
		space.Enum("form", formPlain).Describe("plain loops over the weights as they are"),
		space.Enum("compiler", g.machine.Compilers...).Describe("the compiler"),
		space.Enum("opt", "O2", "O3").WithDefault("O3").Describe("its level of optimisation"),
	}
	if len(sets) == 0 {
		return space.New("qgemm", parameters)
	}
	forms := []string{formPlain, formRows}
	if g.repack {
		forms = append(forms, formPanels)
	}
	parameters[0] = space.Enum("form", forms...).
		Describe("plain loops over the weights as they are, vectors of 32 weights of a row as they are, or interleaved rows")
	var isas, wide, dots []string
	for _, in := range sets {
		isas = append(isas, in.Name)
		if in.Registers == 32 {
			wide = append(wide, fmt.Sprintf("isa == '%s'", in.Name))
		}
		if in.DotBytes {
			dots = append(dots, in.Name)
		}
	}
	vectorPanels := "form == 'panels'"
	if g.hasTiles() {
		isas = append(isas, cgen.AMXInt8)
		wide = append(wide, "isa == 'amxint8'")
		vectorPanels += " && isa != 'amxint8'"
	}
	registers := "16"
	if len(wide) > 0 {
		registers = fmt.Sprintf("(%s ? 32 : 16)", strings.Join(wide, " || "))
	}
	const vectors, panels = "form != 'plain'", "form == 'panels'"
	rowsOfTile := "rows of A in a tile"
	if g.hasTiles() {
		rowsOfTile += "; with amxint8 matrix tiles of up to 16 rows"
	}
	parameters = append(parameters,
		space.Enum("isa", isas...).If(vectors).Describe("instruction set; of interleaved rows 8 or 16 fill a vector"),
		space.Range("mr", 1, min(16, max(g.m, 1))).If(vectors).Describe(rowsOfTile),
		space.Range("nr", 1, 6).If(vectors).Describe("panels, or rows, of W that are read side by side"),
		space.Ints("ahead", 0, 512, 1024, 2048, 4096).If(vectors).Describe("bytes of W between what is used and what is prefetched; 0 is no prefetch"),
		space.Ints("mc", cgen.Blocks(g.m, 16, 32, 64, 128, mostRows)...).If(vectors).Describe("rows of A in a block, up to a whole tile; 0 is all"),
		space.Enum("order", orderColumns, orderRows).If(vectors).
			Describe("outer loop in a block: over W, which stays in the cache, or over tiles"),
	)
	constraints := []string{fmt.Sprintf("form != 'rows' || mr * nr + 6 <= %s", registers)}
	if g.repack {
		parameters = append(parameters,
			space.Enum("nest", nestPanels, nestGroups).If(vectorPanels+" && nr > 1").
				Describe("order of the products of a sub-block: panel by panel, or all panels for each word of A"),
			space.Ints("chains", 1, 2, 4).If(vectorPanels).Describe("sums that each product of a sub-block is spread over"),
		)
		constraints = append(constraints,
			// Accumulators, sums of a sub-block, and the operands.
			fmt.Sprintf("form != 'panels' || mr * nr + mr * chains * (nest == 'groups' ? nr : 1) + 2 <= %s", registers),
			"chains == 1 || mr * (nest == 'groups' ? nr : 1) <= 4",
		)
	}
	if g.repack && g.m > 1 {
		parameters = append(parameters, space.Enum("next", no, yes).If(vectorPanels+" && order == 'columns'").
			Describe("whether the tiles of a block share in fetching the panels that come next into the second cache"))
	}
	if g.hasTiles() {
		more, rule := g.unpackParameters()
		parameters, constraints = append(parameters, more...), append(constraints, rule...)
	}
	parameters = append(parameters, g.lateParameters(panels, vectorPanels, dots)...)
	if g.hasTiles() {
		parameters = append(parameters, space.Enum("overlap", no, yes).If(matrix+g.unless(unpackDigits)).
			Describe("whether matrix tiles make the products of the next weights while the sums of others are added to the results"))
		constraints = append(constraints, fmt.Sprintf("isa != 'amxint8' || form == 'panels' && mr <= %d && mr * nr + mr + nr <= %d", cgen.Ceil(g.m, tileRows), maxTiles))
	}
	if g.repack && slices.Contains(dots, cgen.AVX512VNNI) {
		parameters = append(parameters, space.Enum("broadcast", broadcastEmbedded, broadcastRegister).If(panels+" && isa == 'avx512vnni'").
			Describe("a word of A: operand of each multiplication, or loaded into a register"))
	}
	return space.New("qgemm", append(parameters, g.threadParameters(vectors)...), constraints...)
}

// threadParameters are those of how threads share the work of points with a condition.
func (g *Spec) threadParameters(vectors string) []space.Parameter {
	if g.threads == 1 {
		return nil
	}
	parallel := vectors + " && workers > 1"
	return append([]space.Parameter{
		space.Range("workers", 1, g.threads).If(vectors).Describe("threads that share the work, the caller included; 1 is serial"),
		space.Enum("split", orderColumns, orderRows).If(parallel).Describe("workers share the panels of W, or the tiles of A"),
		space.Ints("pieces", 1, 2, 4, 8).If(parallel).Describe("chunks for each worker"),
	}, cgen.CrewParameters(parallel)...)
}

// lateParameters say what is done once for several sums. The others are the conditions of panels, and of those without matrix tiles, and the
// instruction sets with a product of bytes that does not saturate.
func (g *Spec) lateParameters(panels, vectorPanels string, dots []string) (out []space.Parameter) {
	if g.repack && g.weights.Whole {
		scaling := []string{scalingParts, scalingBlocks}
		if g.weights.Mins {
			scaling = append(scaling, scalingAll)
		}
		out = append(out, space.Enum("scaling", scaling...).If(panels+g.unless(unpackDigits)).
			Describe("the scales of a block are multiplied in with each sub-block, or once: those of A, or all, with sums of the minima apart"))
	}
	if g.repack && g.weights.Bits == 4 && len(dots) > 0 {
		var with []string
		for _, name := range dots {
			with = append(with, fmt.Sprintf("isa == '%s'", name))
		}
		out = append(out, space.Enum("nibbles", nibblesShifted, nibblesPlaced).If(vectorPanels+" && chains == 2 && ("+strings.Join(with, " || ")+")").
			Describe("upper nibbles: shifted down, or multiplied where they are, as a sum of their own that is shifted"))
	}
	return out
}

// matrix is the condition of points that have matrix tiles.
const matrix = "form == 'panels' && isa == 'amxint8'"

// hasDigits reports whether quants can be multiplied by the scales of their sub-blocks ahead.
func (g *Spec) hasDigits() bool { return g.hasTiles() && g.weights.Whole }

// unless returns what follows a condition of points that must not unpack in a way.
func (g *Spec) unless(unpack string) string {
	if !g.hasDigits() {
		return ""
	}
	return fmt.Sprintf(" && (isa != 'amxint8' || unpack != '%s')", unpack)
}

// unpackParameters are those of what becomes of quants for matrix tiles, and their constraints.
func (g *Spec) unpackParameters() (out []space.Parameter, constraints []string) {
	if g.weights.Bits == 8 {
		return nil, nil
	}
	ways := []string{unpackPart, unpackPanel}
	doc := "quants become bytes 32 at a time for each tile, or a panel at a time for all tiles of a block"
	if g.hasDigits() {
		ways = append(ways, unpackDigits)
		doc += "; or so do the quants times the scales of their sub-blocks, as two digits, whose products are added up over a block of 256"
	}
	out = append(out, space.Enum("unpack", ways...).If(matrix).Describe(doc))
	constraints = append(constraints, "unpack != 'panel' || order == 'columns'")
	if !g.hasDigits() {
		return out, constraints
	}
	const with = matrix + " && unpack == 'digits'"
	out = append(out,
		space.Ints("kc", cgen.Blocks(g.k, 256, 512, 1024, 2048)...).If(with).Describe("elements along k whose digits are made at a time; 0 is all"),
		space.Ints("nc", cgen.Blocks(g.n, 128, 256, 512, 1024, 2048)...).If(with).Describe("rows of W in a block; 0 is all"))
	return out, append(constraints, fmt.Sprintf("unpack != 'digits' || order == 'columns' && 2 * mr * nr + mr + 2 <= %d", maxTiles))
}

// streamRows is up to how many rows of A the weights take longer to read than to multiply.
const streamRows = 4

// evenRows returns the size of a tile, from least to most rows, with which the fewest rows are left empty in the last tile of m rows; the
// largest of these.
func evenRows(m, least, most int) int {
	best := min(m, most)
	for rows := best - 1; rows >= least; rows-- {
		if cgen.Ceil(m, rows)*rows < cgen.Ceil(m, best)*best {
			best = rows
		}
	}
	return best
}

// tileStart returns the values to start from with matrix tiles: two panels share the loads of A, and the next products are made while the
// sums of the last ones are added up. With digits, two tiles of rows share the loads of a panel; for few rows and minima, making them takes
// longer than they save.
func (g *Spec) tileStart() map[string]any {
	values := map[string]any{"form": formPanels, "isa": cgen.AMXInt8, "mr": 1, "nr": 2}
	if g.m <= cgen.FewRows {
		values["ahead"] = 1024 // the weights come from memory
	}
	if g.m > tileRows && g.hasDigits() && (g.m > cgen.FewRows || !g.weights.Mins) {
		values["mr"], values["nr"], values["unpack"] = 2, 1, unpackDigits
		if g.m > cgen.FewRows {
			values["kc"], values["nc"] = partOf(g.k, 512), partOf(g.n, 512)
		}
		if g.m > mostRows {
			values["mc"] = mostRows
		}
		return values
	}
	values["overlap"] = yes
	if g.m > tileRows && g.weights.Bits < 8 {
		values["unpack"] = unpackPanel
	}
	if block := min(cgen.TileBlock(g.k), mostRows); g.m > block {
		values["mc"] = block
	}
	if g.weights.Whole {
		values["scaling"] = scalingBlocks
	}
	return values
}

// partOf returns the size of a part of a whole; 0 where there is only one.
func partOf(whole, size int) int {
	if size < whole {
		return size
	}
	return 0
}

// newPresets makes the baseline and the points to start from.
func (g *Spec) newPresets() ([]kernels.Preset, error) {
	with := func(m map[string]any) map[string]any {
		out := map[string]any{"compiler": g.machine.Compilers[0], "opt": "O3"}
		maps.Copy(out, m)
		return out
	}
	type preset struct {
		name, doc string
		values    map[string]any
	}
	list := []preset{{"baseline", "plain loops, compiled with -O3 for this CPU", with(map[string]any{"form": formPlain})}}
	sets := instructionSets(g.machine)
	if len(sets) > 0 {
		best := sets[len(sets)-1]
		list = append(list, preset{"rows", "weights as they are, by the best instruction set", with(map[string]any{
			"form": formRows, "isa": best.Name, "mr": min(g.m, 4), "nr": 2,
		})})
	}
	if g.repack && len(sets) > 0 {
		best := sets[len(sets)-1]
		tile := map[string]any{"mr": min(g.m, 4), "nr": 1}
		switch {
		case g.m <= streamRows:
			// Reading the weights takes longest: two panels side by side, and what comes next ahead.
			tile["nr"], tile["ahead"] = 2, 2048
			if best.Registers < 32 {
				tile["mr"] = min(g.m, 2)
			}
			if g.m == 1 {
				tile["chains"] = 2
				if g.weights.Bits == 4 && best.DotBytes {
					tile["nibbles"] = nibblesPlaced
				}
			}
		case best.Registers == 32 && (g.weights.Bits == 4 || g.weights.Bits == 8):
			// The sums of the second panel hide the latency of those of the first.
			tile["mr"], tile["nr"] = evenRows(g.m, 6, 10), 2
		case best.Registers == 32:
			tile["mr"] = evenRows(g.m, 8, 12)
		}
		if g.m > streamRows && g.m <= cgen.FewRows {
			tile["next"] = yes // the weights come from memory
		}
		if g.weights.Whole {
			tile["scaling"] = scalingBlocks
			if g.weights.Mins && g.m == 1 {
				tile["scaling"] = scalingAll
			}
		}
		maps.Copy(tile, map[string]any{"form": formPanels, "isa": best.Name})
		list = append(list, preset{"panels", "interleaved rows, a tile that fills the registers of the best instruction set", with(tile)})
	}
	if g.hasTiles() {
		tile := g.tileStart()
		list = append(list, preset{"tiles", "interleaved rows, products by matrix tiles", with(tile)})
	}
	var out []kernels.Preset
	for _, l := range list {
		p, err := g.Space().Make(l.values)
		if err != nil {
			return nil, fmt.Errorf("preset %s: %w", l.name, err)
		}
		out = append(out, kernels.Preset{Name: l.name, Doc: l.doc, Point: p, Start: l.name != "baseline"})
	}
	return out, nil
}

// workers returns the threads of a point.
func (g *Spec) workers(p space.Point) int {
	if g.threads == 1 || p.Str("form") == formPlain {
		return 1
	}
	return max(1, p.Int("workers"))
}
