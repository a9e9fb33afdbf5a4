package gemm

import (
	"fmt"
	"slices"

	"tune/kernels/native/cgen"
)

// Without cheap masks, tiles of one vector are a waste: they wait for their sums, and load as much as they multiply. So the last columns of linked code are
// cut into tails of two or three vectors. The last vector of a tail overlaps the one before it where the columns do not fill it: what both hold is computed
// twice, and stored twice, with the same value. A tail has as many rows as its sums leave registers for.

// tailVectors are the widths of tails, in falling order.
var tailVectors = []int{3, 2}

// tailHeight are the rows of a tail of so many vectors; of one masked vector where there are no more than eight columns.
var tailHeight = map[int]int{3: 4, 2: 6, 1: 8}

// vectorRegisters is how many registers the instruction sets have whose last columns are cut into tails.
const vectorRegisters = 16

// tails lists the widths of the tails of this copy; nil where its last columns have other tiles. Rows that are packed are so in strips of the height of a
// full tile, which tails have then too.
func (t *tiledWriter) tails() (sizes []int) {
	if !t.many || t.nt || t.c.ISA != cgen.AVX2 || t.c.Tail == TailPadded {
		return nil
	}
	for _, size := range tailVectors {
		if rows := t.tailRows(size); rows*size+size+1 <= vectorRegisters {
			sizes = append(sizes, size)
		}
	}
	return sizes
}

// tailRows returns the height of a tail of so many vectors.
func (t *tiledWriter) tailRows(size int) int {
	if t.c.PackX {
		return t.c.MR
	}
	return tailHeight[size]
}

// tailStrips lists the heights of the tiles of a tail, in falling order.
func (t *tiledWriter) tailStrips(size int) []int {
	if t.c.PackX {
		return t.rowStrips()
	}
	return t.heights(0, t.tailRows(size))
}

// shares reports whether a single row that full strips of this height would leave over shares the rows of the last full strip: one row waits for its sums
// as long as three do. Then there is a strip of three rows too.
func (t *tiledWriter) shares(full int) bool { return t.tails() != nil && full >= 4 && full <= 6 }

// heights lists the heights of tiles for a dimension, in falling order, of which the asked shape leaves rest.
func (t *tiledWriter) heights(rest, full int) []int {
	out := heights(rest, full, t.many)
	if t.shares(full) && !slices.Contains(out, 3) {
		out = slices.Insert(out, len(out)-2, 3) // before those of two rows and of one
	}
	return out
}

// gives reports whether the last full strip becomes a part of the tail, so that the tail has more than one vector.
func (t *tiledWriter) gives() bool { return len(t.tails()) == len(tailVectors) || t.c.NV == 1 }

// whole returns the number of columns in full strips, as an expression in C.
func (t *tiledWriter) whole() string {
	nr := t.nr()
	if !t.gives() {
		return fmt.Sprintf("n - n %% %d", nr)
	}
	return fmt.Sprintf("n %% %[1]d == 0 ? n : n > %[1]d ? (n / %[1]d - 1) * %[1]d : 0", nr)
}

// tailTiles writes the tiles of the tails.
func (t *tiledWriter) tailTiles() {
	for _, size := range t.tails() {
		for _, rows := range t.tailStrips(size) {
			t.tile(rows, strip{size: size, over: true})
		}
	}
	for _, rows := range t.tailStrips(1) {
		t.tile(rows, strip{size: 1, part: true})
	}
}

// eachTail writes the loop over the tails that begin at column j. body writes the code for one: its last vector begins at the column last of it, and the
// masked vector has width columns.
func (t *tiledWriter) eachTail(body func(strip)) {
	lanes := t.lanes()
	t.Open("while (j < n)")
	t.Line("const i64 left = n - j;")
	for _, size := range t.tails() {
		full := size * lanes
		fits := fmt.Sprintf("left > %d", lanes)
		if size > 2 { // what follows it has two vectors at least
			fits = fmt.Sprintf("left > %d || (left > %d && left <= %d)", full+lanes, full-lanes, full)
		}
		t.Open("if (%s)", fits)
		t.Line("const i64 last = least(%d, left - %d);", full-lanes, lanes)
		body(strip{size: size, over: true})
		t.Line("j += %d;", full)
		t.Line("continue;")
		t.Close()
	}
	t.Line("const i64 width = left;")
	body(strip{size: 1, part: true})
	t.Line("break;")
	t.Close()
}

// tilesWithTails writes the loops over the tiles of a block: full strips of columns, and then the tails.
func (t *tiledWriter) tilesWithTails() {
	full := strip{size: t.c.NV}
	t.Line("const i64 whole = %s;", t.whole())
	columns := func(body func()) {
		t.Open("for (i64 j = 0; j < whole; j += %d)", t.nr())
		body()
		t.Close()
	}
	if t.c.Inner == "columns" {
		columns(func() {
			if t.c.NextY {
				t.nextStrip(full)
			}
			t.eachRow(func(rows int) { t.callTile(rows, full) }, nil)
		})
	} else {
		t.eachRow(func(rows int) { columns(func() { t.callTile(rows, full) }) }, nil)
	}
	t.Line("i64 j = whole;")
	t.eachTail(func(s strip) {
		t.eachStrip(t.tailStrips(s.size), func(rows int) { t.callTile(rows, s) })
	})
}
