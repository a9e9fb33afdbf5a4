package gemmi8

import (
	"fmt"

	"tune/kernels/native"
	"tune/kernels/native/cgen"
	"tune/space"
)

// line is the size of a cache line in bytes.
const line = 64

// tileRows is the number of rows of a matrix tile of the processor.
const tileRows = 16

// layout is the form of quantised operands at a point. The generated code computes the same from its dimensions.
type layout struct {
	instructions
	dot, tile  bool
	apart      bool // the vectors of a panel
	mr         int  // rows of a tile
	nr         int  // rows of W in a panel
	unit       int  // bytes of an element: 1 or 2
	groups     int  // 32-bit words of a quantised row
	stride     int  // words between quantised rows, for A and in form dot for W
	panels     int  // of W
	panelWords int  // of a panel
}

// layoutOf returns the layout of a tiled point at a size.
func layoutOf(p space.Point, n, k int) layout {
	l := layout{
		instructions: instructionsOf(p.Str("isa")), dot: p.Str("form") == formDot, tile: p.Str("form") == formTile, apart: p.Str("panels") == panelsApart,
		mr: p.Int("mr"), nr: p.Int("nr"),
	}
	l.unit = 4 / l.group
	l.groups = cgen.Ceil(k, l.group)
	if l.dot || l.tile {
		l.groups = cgen.Ceil(l.groups, l.Lanes()) * l.Lanes() // whole vectors, or whole matrix tiles
	}
	if !l.dot {
		l.nr *= l.Lanes()
	}
	if l.tile {
		l.mr *= tileRows
	}
	// An odd number of lines keeps the rows of a tile out of each other's cache sets.
	l.stride = (cgen.Ceil(4*l.groups, line) | 1) * line / 4
	l.panels = cgen.Ceil(n, l.nr)
	l.panelWords = l.groups * l.nr
	if l.dot {
		l.panelWords = l.stride * l.nr
	}
	return l
}

// workers returns the threads of a point.
func (g *Spec) workers(p space.Point) int {
	if g.threads == 1 {
		return 1
	}
	return max(1, p.Int("workers"))
}

// chunks returns into how many parts a point cuts its work.
func (g *Spec) chunks(p space.Point) int {
	if w := g.workers(p); w > 1 {
		return w * p.Int("pieces")
	}
	return 1
}

// packedBytes is the size of weights that are packed ahead.
func (l layout) packedBytes() int { return 4 * l.panels * l.panelWords }

// pack returns the weights, n rows of k, in the form of the point.
func (l layout) pack(w []int8, n, k int) []byte {
	out := make([]byte, l.packedBytes())
	for j := range n {
		panel := out[4*(j/l.nr)*l.panelWords:]
		row := j % l.nr
		for i, v := range w[j*k : (j+1)*k] {
			at := 4*(i/l.group*l.nr+row) + i%l.group*l.unit
			switch {
			case l.dot:
				at = 4*row*l.stride + i*l.unit
			case l.apart:
				at = 4*((row/l.Lanes()*l.groups+i/l.group)*l.Lanes()+row%l.Lanes()) + i%l.group*l.unit
			}
			switch {
			case l.tile:
				panel[at] = uint8(v)
			case l.group == 4:
				panel[at] = uint8(v) + 128
			default:
				putInt16(panel[at:], int16(v))
			}
		}
	}
	return out
}

// packOf describes the layout of the weights that a point wants; nil where they arrive as they are.
func (g *Spec) packOf(p space.Point) *native.Pack {
	if g.weights != weightsPacked || p.Str("form") == formPlain {
		return nil
	}
	l := layoutOf(p, g.n, g.k)
	elements := "shorts"
	switch {
	case l.tile:
		elements = "bytes"
	case l.group == 4:
		elements = "bytes with 128 added"
	}
	order := "A panel has words of rows that follow each other: first the first of each row"
	switch {
	case l.dot:
		order = fmt.Sprintf("A panel has its rows one after the other, %d bytes apart", 4*l.stride)
	case l.apart:
		order = fmt.Sprintf("A panel has parts of %d rows, one after the other, and a part words of rows that follow each other: first the first of each row", l.Lanes())
	}
	return &native.Pack{
		Repacking: space.Repacking{
			Argument: "w", Bytes: int64(g.n) * int64(g.k), PackedBytes: int64(l.packedBytes()), Alignment: line,
			Layout: fmt.Sprintf("Panels of %d rows, of %d bytes each. %s. A word has %d %s. Words and rows that do not exist may hold anything.", l.nr, 4*l.panelWords, order, l.group, elements),
		},
		Parameters: "uint8_t *packed, const int8_t *w, int64_t n, int64_t k",
		Sizes:      []int64{int64(g.n), int64(g.k)},
		Name:       l.name(),
		Length:     l.length(),
	}
}
