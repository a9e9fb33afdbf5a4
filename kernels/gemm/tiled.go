package gemm

import (
	"fmt"

	"tune/kernels/native/cgen"
)

// tiledWriter writes one copy of the tiled form. A tile multiplies MR rows of the operand X, whose elements are broadcast, by NV
// vectors of the operand Y. It keeps its part of the result in registers for KC steps of K. For C = A·B, X is A and Y is B. For
// C = A·Bᵀ the operands may be swapped: then X is B, Y is A, and tiles are tiles of Cᵀ.
type tiledWriter struct {
	*writer
	c     Config
	nt    bool   // the lanes of a vector of Y are not contiguous in memory, so that Y must be packed
	suf   string // the suffix of this copy's function names
	fixed *Dims  // the dimensions that are constants in this copy; nil if none are
	many  bool   // the copy is called at many shapes: it is linked, and has no fixed dimensions
	d     Dims   // the asked dimensions
	rows  int    // rows of the matrix that is tiled: M, or N when swapped
	cols  int
	kc    int // the block sizes, rounded up to whole tiles
	mc    int
	nc    int
}

func newTiledWriter(w *writer, c Config, nt bool, d Dims, linked bool) *tiledWriter {
	t := &tiledWriter{writer: w, c: c, nt: nt, many: linked, d: d, rows: d.M, cols: d.N}
	if c.Swap {
		t.rows, t.cols = d.N, d.M
	}
	t.kc = t.block(d.K, c.KC, c.KU, 256)
	t.mc = t.block(t.rows, c.MC, c.MR, 96)
	t.nc = t.block(t.cols, c.NC, t.nr(), 1024)
	return t
}

// block returns a block size. Where a block holds all of the asked dimension, its limit says nothing of larger ones. In linked code it is
// then at least the usual size, unless it is the size of a copy.
func (t *tiledWriter) block(n, limit, unit, usual int) int {
	size := balance(n, limit, unit)
	if t.many && n <= limit && !t.c.PackX && !t.c.PackY && t.c.Tail != TailPadded && !t.nt {
		size = max(size, balance(usual, usual, unit))
	}
	return size
}

// balance returns a block size that divides n into equal parts. The size is at most about limit, and is rounded up to a multiple
// of unit.
func balance(n, limit, unit int) int {
	parts := cgen.Ceil(n, max(limit, 1))
	return cgen.Ceil(cgen.Ceil(n, parts), unit) * unit
}

func (t *tiledWriter) nr() int    { return t.c.NV * t.c.Lanes() }
func (t *tiledWriter) lanes() int { return t.c.Lanes() }

// ld returns the C expression for a leading dimension. It is a constant in a copy with fixed dimensions.
func (t *tiledWriter) ld(name string) string {
	if t.fixed == nil {
		return name
	}
	n := map[string]int{"ldx": t.d.K, "ldy": t.d.N, "ldc": t.d.N}
	if t.nt {
		n["ldy"] = t.d.K
	}
	return fmt.Sprint(n[name])
}

// strip is the width of a tile.
type strip struct {
	size int  // vectors
	part bool // the last vector is only partly filled
	over bool // the last vector may overlap the one before it; see tails
}

// rowStrips lists the tile heights that the code has, in falling order, as heights does. Where there is a copy with fixed dimensions, only
// that copy has the remainder of the asked shape, and it has no other.
func (t *tiledWriter) rowStrips() []int {
	out := []int{t.c.MR}
	if t.c.Tail == TailPadded {
		return out
	}
	rest := t.rows % t.c.MR
	switch {
	case t.fixed != nil && rest > 0:
		return append(out, rest)
	case t.fixed != nil:
		return out
	case t.c.Fixed:
		rest = 0
	}
	return t.heights(rest, t.c.MR)
}

// colStrips lists the tile widths that the code has, in the same order. The last columns, which fill no vector, have a tile of one masked
// vector. Where linked code may mask vectors at no cost, a tile of each width takes the columns that fill all of its vectors but the last.
// A copy with fixed dimensions has one tile for its remainder.
func (t *tiledWriter) colStrips() []strip {
	out := []strip{{size: t.c.NV}}
	if t.c.Tail == TailPadded || t.tails() != nil {
		return out
	}
	rest := t.cols % t.nr()
	if t.c.Tail == TailScalar {
		rest -= rest % t.lanes()
	}
	s := strip{size: cgen.Ceil(rest, t.lanes()), part: rest%t.lanes() != 0}
	switch {
	case t.fixed != nil && s.size > 0:
		return append(out, s)
	case t.fixed != nil:
		return out
	case t.anyWidth():
		for size := t.c.NV; size > 0; size-- {
			out = append(out, strip{size: size, part: true})
		}
		return out
	}
	for size := t.c.NV; size > 0; size-- {
		asked := size == s.size && !t.c.Fixed
		if size < t.c.NV && (size == 1 || t.many && size&(size-1) == 0 || asked && !s.part) {
			out = append(out, strip{size: size})
		}
		if asked && s.part || size == 1 && t.c.Tail == TailMasked {
			out = append(out, strip{size: size, part: true})
		}
	}
	return out
}

// anyWidth reports whether this copy has tiles of each width whose last vector is masked.
func (t *tiledWriter) anyWidth() bool {
	return t.many && t.c.Tail == TailMasked && t.c.ISA == cgen.AVX512
}

func (t *tiledWriter) tileName(rows int, s strip) string {
	name := fmt.Sprintf("tile_%dx%d", rows, s.size)
	if s.part {
		name += "_part"
	}
	if s.over {
		name += "_over"
	}
	return name + t.suf
}

// write writes the whole copy. The last function is "product", which the rest of the code calls.
func (t *tiledWriter) write() {
	for _, rows := range t.rowStrips() {
		for _, s := range t.colStrips() {
			t.tile(rows, s)
		}
	}
	switch {
	case t.tails() != nil:
		t.tailTiles()
	case t.c.Tail == TailScalar:
		t.scalarColumn()
	case t.c.Tail == TailPadded:
		t.edge()
	}
	if t.c.PackX {
		t.packX()
	}
	if t.c.PackY {
		t.packY()
	}
	if t.byColumns() {
		t.columns()
	}
	t.tiles()
	t.product()
}

// scalarColumn writes the function for a single column of the result. The column of Y may be a packed copy.
func (t *tiledWriter) scalarColumn() {
	c := t.c
	yk := t.ld("ldy")
	if c.PackY {
		yk = "1"
	}
	xk, xi := "1", t.ld("ldx")
	if c.PackX {
		xk, xi = "rows", "1"
	}
	ci := t.ld("ldc")
	if c.Swap {
		ci = "1"
	}
	t.Blank()
	t.Comment("One column of the given number of rows.")
	t.Open("static NOINLINE void scalar_column%s(i64 rows, i64 k, const float *x, i64 ldx, const float *y, i64 ldy, float *c, i64 ldc, int add)", t.suf)
	t.Open("for (i64 i = 0; i < rows; i++)")
	t.Line("float s = add ? c[i * %s] : 0;", ci)
	t.Line("for (i64 p = 0; p < k; p++) s += x[p * %s + i * %s] * y[p * %s];", xk, xi, yk)
	t.Line("c[i * %s] = s;", ci)
	t.Close()
	t.Close()
}

// edge writes the function for a padded tile, of which only a part is stored.
func (t *tiledWriter) edge() {
	mr, nr := t.c.MR, t.nr()
	i, j := "i * ldc + j", fmt.Sprintf("i * %d + j", nr)
	if t.c.Swap {
		i, j = "j * ldc + i", fmt.Sprintf("j * %d + i", mr)
	}
	t.Blank()
	t.Comment("A full tile of which rows by cols elements are stored.")
	t.Open("static NOINLINE void edge%s(i64 k, const float *x, i64 ldx, const float *y, i64 ldy, float *c, i64 ldc, int add, i64 rows, i64 cols)", t.suf)
	t.Line("float b[%d] __attribute__((aligned(64)));", mr*nr)
	ldb := nr
	if t.c.Swap {
		ldb = mr
	}
	// The copies that are padded have leading dimensions of their own.
	next := ""
	if t.c.NextY {
		next = ", y, 0, y"
	}
	t.Line("tile_%dx%d(k, x, ldx, y, ldy, b, %d, 0%s);", mr, t.c.NV, ldb, next)
	t.Nested(
		"for (i64 i = 0; i < rows; i++)",
		fmt.Sprintf("for (i64 j = 0; j < cols; j++) c[%s] = add ? c[%s] + b[%s] : b[%s];", i, i, j, j))
	t.Close()
}

// eachRow writes the loops over strips of rows. body writes the code for a strip of the given number of rows that begins at row i.
// edge writes the code for fewer than MR padded rows.
func (t *tiledWriter) eachRow(body func(rows int), edge func()) {
	t.eachStrip(t.rowStrips(), body)
	if t.c.Tail == TailPadded {
		t.Open("if (i < m)")
		edge()
		t.Close()
	}
}

// eachStrip writes the loops over strips of rows of the given heights, which fall.
func (t *tiledWriter) eachStrip(heights []int, body func(rows int)) {
	for n, rows := range heights {
		switch {
		case n == 0:
			t.Line("i64 i = 0;")
			more := ""
			if t.shares(rows) {
				more = fmt.Sprintf(" && m - i != %d", rows+1)
			}
			t.Open("for (; m - i >= %d%s; i += %d)", rows, more, rows)
		case rows == 1:
			t.Open("for (; i < m; i++)")
		default:
			t.Open("if (m - i >= %d)", rows)
		}
		body(rows)
		if n > 0 && rows > 1 {
			t.Line("i += %d;", rows)
		}
		t.Close()
	}
}

// eachCol is eachRow for columns. scalar writes the code for the single column j.
func (t *tiledWriter) eachCol(body func(strip), scalar, edge func()) {
	lanes := t.lanes()
	for n, s := range t.colStrips() {
		width := s.size * lanes
		switch {
		case n == 0:
			t.Line("i64 j = 0;")
			t.Open("for (; n - j >= %d; j += %d)", width, width)
		case s.size == 1 && !s.part:
			t.Open("for (; n - j >= %d; j += %d)", lanes, lanes)
		case s.size == 1:
			t.Open("if (j < n)")
			t.Line("i64 width = n - j;")
		case s.part && t.anyWidth():
			t.Open("if (n - j > %d)", width-lanes)
			t.Line("i64 width = n - j - %d;", width-lanes)
		case s.part:
			rest := t.cols % t.nr()
			t.Open("if (n - j == %d)", rest)
			t.Line("const i64 width = %d;", rest-(s.size-1)*lanes)
		default:
			t.Open("if (n - j >= %d)", width)
		}
		body(s)
		switch {
		case s.part:
			t.Line("j = n;")
		case n > 0 && s.size > 1:
			t.Line("j += %d;", width)
		}
		t.Close()
	}
	switch t.c.Tail {
	case TailScalar:
		t.Open("for (; j < n; j++)")
		scalar()
		t.Close()
	case TailPadded:
		t.Open("if (j < n)")
		edge()
		t.Close()
	}
}

// tiles writes the loops over the tiles of one cache block.
func (t *tiledWriter) tiles() {
	c := t.c
	t.Blank()
	t.Comment("The tiles of m rows by n columns, k deep.")
	t.Open("static NOINLINE void block%s(struct scratch *s, i64 m, i64 n, i64 k, const float *x, i64 ldx, const float *y, i64 ldy, float *c, i64 ldc, int add)", t.suf)
	if c.Tail == TailPadded && !c.PackX {
		t.Line("const i64 odd_rows = m %% %d;", c.MR)
		t.Nested(
			fmt.Sprintf("for (i64 i = 0; odd_rows && i < %d; i++)", c.MR),
			fmt.Sprintf("for (i64 p = 0; p < k; p++) s->edge_x[i * %d + p] = i < odd_rows ? x[(m - odd_rows + i) * %s + p] : 0;", t.kc, t.ld("ldx")))
	}
	if c.Tail == TailPadded && !c.PackY {
		t.Line("const i64 odd_cols = n %% %d;", t.nr())
		t.Nested(
			"for (i64 p = 0; odd_cols && p < k; p++)",
			fmt.Sprintf("for (i64 j = 0; j < %d; j++) s->edge_y[p * %d + j] = j < odd_cols ? y[p * %s + n - odd_cols + j] : 0;", t.nr(), t.nr(), t.ld("ldy")))
	}
	if t.byColumns() {
		t.splitColumns()
	}
	if c.NextY {
		t.Line("const i64 tiles = (m + %d) / %d;", c.MR-1, c.MR)
	}
	if t.tails() != nil {
		t.tilesWithTails()
		t.Close()
		return
	}
	if c.Inner == "columns" { // columns are the outer loop: a strip of Y stays in the nearest cache while X is read
		t.eachCol(func(s strip) {
			if c.NextY {
				t.nextStrip(s)
			}
			t.eachRow(func(rows int) { t.callTile(rows, s) }, func() { t.callEdge(true, false) })
		}, t.callScalar, func() {
			t.eachRow(func(int) { t.callEdge(false, true) }, func() { t.callEdge(true, true) })
		})
	} else {
		t.eachRow(func(rows int) {
			t.eachCol(func(s strip) { t.callTile(rows, s) }, func() { t.callScalarRows(rows) }, func() { t.callEdge(false, true) })
		}, func() {
			t.eachCol(func(strip) { t.callEdge(true, false) }, nil, func() { t.callEdge(true, true) })
		})
	}
	t.Close()
}

// nextStrip writes the variables with which the tiles of a strip of columns prefetch the next strip. Each tile prefetches its share
// of the rows. The last strip of a block is followed by the first one of the next block along K.
func (t *tiledWriter) nextStrip(s strip) {
	width := s.size * t.lanes()
	if t.c.PackY {
		t.Line("const i64 row = %d;", t.nr())
		t.Line("const float *next = y + (j + %d) * k;", width)
	} else {
		t.Line("const i64 row = %s;", t.ld("ldy"))
		t.Line("const float *next = n - j > %d ? y + j + %d : y + k * row;", width, width)
	}
	t.Line("const float *end = next + (k - 1) * row;")
}

// xAt, yAt and cAt return the C expressions for the operands of the tile at (i, j).
func (t *tiledWriter) xAt() string {
	if t.c.PackX {
		return "x + i * k"
	}
	return "x + i * " + t.ld("ldx")
}

func (t *tiledWriter) yAt() string {
	if t.c.PackY {
		return "y + j * k"
	}
	return "y + j"
}

func (t *tiledWriter) cAt() string {
	if t.c.Swap {
		return "c + j * " + t.ld("ldc") + " + i"
	}
	return "c + i * " + t.ld("ldc") + " + j"
}

func (t *tiledWriter) callTile(rows int, s strip) {
	width := ""
	if s.part {
		width = ", width"
	}
	if s.over {
		width = ", last"
	}
	switch {
	case t.c.NextY && t.tails() != nil && s != (strip{size: t.c.NV}): // nothing follows the tails
		width += fmt.Sprintf(", %s, 0, %[1]s", t.yAt())
	case t.c.NextY:
		width += fmt.Sprintf(", next + i / %d * row, tiles * row, end", t.c.MR)
	}
	t.Line("%s(k, %s, %s, %s, %s, %s, %s, add%s);", t.tileName(rows, s), t.xAt(), t.ld("ldx"), t.yAt(), t.ld("ldy"), t.cAt(), t.ld("ldc"), width)
}

func (t *tiledWriter) callScalarRows(rows int) {
	t.Line("scalar_column%s(%d, k, %s, %s, %s, %s, %s, %s, add);", t.suf, rows, t.xAt(), t.ld("ldx"), t.yAt(), t.ld("ldy"), t.cAt(), t.ld("ldc"))
}

func (t *tiledWriter) callScalar() {
	t.eachRow(func(rows int) { t.callScalarRows(rows) }, nil)
}

// callEdge writes the call for a tile that extends beyond the last row, the last column, or both.
func (t *tiledWriter) callEdge(lastRow, lastCol bool) {
	x, ldx, rows := t.xAt(), t.ld("ldx"), fmt.Sprint(t.c.MR)
	y, ldy, cols := t.yAt(), t.ld("ldy"), fmt.Sprint(t.nr())
	if lastRow {
		rows = "m - i"
		if !t.c.PackX {
			x, ldx = "s->edge_x", fmt.Sprint(t.kc)
		}
	}
	if lastCol {
		cols = "n - j"
		if !t.c.PackY {
			y, ldy = "s->edge_y", fmt.Sprint(t.nr())
		}
	}
	t.Line("edge%s(k, %s, %s, %s, %s, %s, %s, add, %s, %s);", t.suf, x, ldx, y, ldy, t.cAt(), t.ld("ldc"), rows, cols)
}

// product writes the loops over cache blocks.
func (t *tiledWriter) product() {
	c := t.c
	t.Blank()
	t.Comment("The m by n result of tiles, block by block.")
	t.Open("static NOINLINE void product%s(struct scratch *s, i64 m, i64 n, i64 k, const float *x, i64 ldx, const float *y, i64 ldy, float *c, i64 ldc)", t.suf)
	open := map[byte]bool{}
	packedX, packedY := !c.PackX, !c.PackY
	x := "x + i * " + t.ld("ldx") + " + p"
	y := "y + p * " + t.ld("ldy") + " + j"
	if t.nt {
		y = "y + j * " + t.ld("ldy") + " + p"
	}
	for _, loop := range []byte(c.Order) {
		v := string(loop)
		size, bound := t.kc, "k"
		switch loop {
		case 'i':
			size, bound = t.mc, "m"
		case 'j':
			size, bound = t.nc, "n"
		}
		t.Open("for (i64 %s = 0; %s < %s; %s += %d)", v, v, bound, v, size)
		t.Line("const i64 %sb = least(%d, %s - %s);", v, size, bound, v)
		open[loop] = true
		if !packedX && open['i'] && open['p'] {
			t.Line("pack_x%s(ib, pb, %s, %s, s->x);", t.suf, x, t.ld("ldx"))
			packedX, x = true, "s->x"
		}
		if !packedY && open['j'] && open['p'] {
			t.Line("pack_y%s(jb, pb, %s, %s, s->y);", t.suf, y, t.ld("ldy"))
			packedY, y = true, "s->y"
		}
	}
	cAt := "c + i * " + t.ld("ldc") + " + j"
	if c.Swap {
		cAt = "c + j * " + t.ld("ldc") + " + i"
	}
	t.Line("block%s(s, ib, jb, pb, %s, %s, %s, %s, %s, %s, p > 0);", t.suf, x, t.ld("ldx"), y, t.ld("ldy"), cAt, t.ld("ldc"))
	for range c.Order {
		t.Close()
	}
	t.Close()
}

// scratch writes the struct with the buffers of one thread, and returns its size.
func (t *tiledWriter) scratch() (bytes int) {
	c := t.c
	t.Open("struct scratch")
	field := func(name string, n int) {
		n = cgen.Ceil(n, 16) * 16
		t.Line("float %s[%d] __attribute__((aligned(64)));", name, n)
		bytes += 4 * n
	}
	if c.PackX {
		field("x", t.mc*t.kc)
	}
	if c.PackY {
		field("y", cgen.Ceil(t.nc, t.nr())*t.nr()*t.kc)
	}
	if t.byColumns() {
		field("column", t.kc)
	}
	if c.Tail == TailPadded {
		if !c.PackX {
			field("edge_x", c.MR*t.kc)
		}
		if !c.PackY {
			field("edge_y", t.nr()*t.kc)
		}
	}
	if bytes == 0 {
		t.Line("char none;")
	}
	t.EndType()
	return bytes
}
