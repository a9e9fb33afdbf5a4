package gemm16

import (
	"encoding/binary"
	"fmt"

	"tune/kernels/native"
	"tune/kernels/native/cgen"
	"tune/space"
)

// The size of a tile of the processor.
const (
	tileRows  = 16
	tileBytes = 64 // of a row
)

// lineBytes is the size of a cache line.
const lineBytes = 64

// layout is the form of packed B: panels of columns, one after the other. A panel has one row for each group of elements along k, in which
// the elements of a group stand together, column by column. Rows and columns that do not exist are zeros.
type layout struct {
	group   int // elements of a column that stand together
	columns int // of a panel
	panels  int
	rows    int // of a panel
	side    int // panels side by side, which are there or not together
	whole   int // what rows are a multiple of
}

// layoutOf returns the layout that a point wants; false where it takes B as it is.
func (g *Spec) layoutOf(p space.Point, n, k int) (layout, bool) {
	if p.Str("unit") == unitPlain {
		return layout{}, false
	}
	lanes, nr := isaOf(p).Lanes(), p.Int("nr")
	l := layout{group: g.group, columns: lanes * nr, rows: cgen.Ceil(k, g.group), side: 1, whole: 1}
	l.panels = cgen.Ceil(n, l.columns)
	if p.Str("panels") == panelsApart {
		l.columns, l.panels, l.side = lanes, l.panels*nr, nr
	}
	if p.Str("unit") == unitTile {
		l.rows, l.whole = cgen.Ceil(l.rows, tileRows)*tileRows, tileRows
	}
	return l, true
}

// bytes is the size of packed B.
func (l layout) bytes() int { return 2 * l.group * l.columns * l.rows * l.panels }

// PackedBytes returns the size of packed B in the largest layout.
func PackedBytes(n, k int) int {
	lanes := cgen.Lookup(cgen.AVX512).Lanes()
	most := 0
	for nr := range maxVectors {
		// A tile makes k whole tiles.
		most = max(most, layout{group: 2, columns: lanes * (nr + 1), rows: cgen.Ceil(k, 2*tileRows) * tileRows, panels: cgen.Ceil(n, lanes*(nr+1))}.bytes())
	}
	return most
}

// pack arranges B, n rows of k elements with nt, or else k rows of n.
func (l layout) pack(b []uint16, n, k int, nt bool) []byte {
	out := make([]byte, l.bytes())
	native.InParts(cgen.Ceil(n, l.columns), func(from, to int) {
		for j := from * l.columns; j < min(to*l.columns, n); j++ {
			panel, column := out[j/l.columns*l.rows*l.columns*l.group*2:], j%l.columns
			for i := range k {
				v := b[at(i, j, n, k, nt)]
				binary.NativeEndian.PutUint16(panel[2*((i/l.group*l.columns+column)*l.group+i%l.group):], v)
			}
		}
	})
	return out
}

// at is the place in B of the element in row i and column j.
func at(i, j, n, k int, nt bool) int {
	if nt {
		return j*k + i
	}
	return i*n + j
}

// packOf describes the layout of B that a point wants; nil where it takes B as it is.
func (g *Spec) packOf(p space.Point) *native.Pack {
	l, ok := g.layoutOf(p, g.n, g.k)
	if !ok || g.weights != asPacked {
		return nil
	}
	cells := "one after the other"
	if l.group > 1 {
		cells = fmt.Sprintf("%d elements along k together", l.group)
	}
	return &native.Pack{
		Repacking: space.Repacking{
			Argument: "b", Bytes: 2 * int64(g.n) * int64(g.k), PackedBytes: int64(l.bytes()), Alignment: lineBytes,
			Layout: fmt.Sprintf("Panels of %d columns of C, of %d bytes each. A panel has %d rows along k, and a row the elements of each column, %s. "+
				"Rows and columns that do not exist are zeros.", l.columns, l.bytes()/l.panels, l.rows, cells),
		},
		Parameters: "uint8_t *packed, const uint16_t *b, int64_t n, int64_t k",
		Sizes:      []int64{int64(g.n), int64(g.k)},
		Name:       l.name(),
		Length:     l.length(),
	}
}
