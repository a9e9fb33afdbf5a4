package qgemm

import "tune/kernels/native/cgen"

// prefetch asks for the low bits of 32 weights of a panel that are used later.
func (g *generator) prefetch(v int) {
	ahead := g.p.Int("ahead")
	for at := 0; ahead > 0 && at < g.lowStep(); at += line {
		g.Line("__builtin_prefetch(w%d + %d);", v, ahead+at)
	}
}

// The first tile of a block of rows reads its panels from memory, and the others find them in a cache. So the memory would rest most of the
// time. With next=yes each tile fetches a share of the panels that come next into the second cache: as many lines with each 32 weights as
// all tiles need, rounded down, and the rest at its start.

// nextLines is how many lines a tile fetches with each 32 weights.
func (g *generator) nextLines() int {
	rows := g.m
	if mc := g.p.Int("mc"); mc > 0 {
		rows = min(rows, mc)
	}
	tiles := max(1, cgen.Ceil(rows, g.MR))
	step := g.lowStep() + g.HighBits*g.Bytes + g.ScaleBytes/(g.Weights/32)
	return g.NR * step / line / tiles
}

// fetchNext asks for the lines that a tile fetches with 32 weights.
func (g *generator) fetchNext() {
	lines := g.nextLines()
	for i := range lines {
		g.Line("__builtin_prefetch(next + %d, 0, 2);", i*line)
	}
	if lines > 0 {
		g.Line("next += %d;", lines*line)
	}
}

// fetchRest asks for the part of a tile's share that fetchNext does not ask for.
func (g *generator) fetchRest() {
	g.Line("for (int64_t at = j->blocks * %d; at < share; at += %d)", g.Weights/32*g.nextLines()*line, line)
	g.In()
	g.Line("__builtin_prefetch(next + at, 0, 2);")
	g.Out()
}
