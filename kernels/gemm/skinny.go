package gemm

import (
	"fmt"
	"math/bits"
	"slices"

	"tune/kernels/native/cgen"
)

// skinnyLimit is the largest number of rows or columns of a skinny product.
const skinnyLimit = 32

// The methods of the skinny form. The shape decides which one is used.
const (
	skinnyNone = ""     // the shape is not skinny
	skinnyDot  = "dot"  // dot products of rows; at least the large operand is contiguous along K
	skinnyAxpy = "axpy" // sums of rows of B, for C = A·B with few rows
)

// skinnyMethod returns the method for a shape, and whether the operands are swapped, so that B is the small one.
func skinnyMethod(nt bool, d Dims) (method string, swapped bool) {
	switch {
	case min(d.M, d.N) > skinnyLimit:
		return skinnyNone, false
	case d.N < d.M:
		return skinnyDot, true
	case nt:
		return skinnyDot, false
	}
	return skinnyAxpy, false
}

// skinny writes the form for few rows or few columns.
func skinny(w *writer, c Config, nt bool, d Dims, linked bool) {
	w.types(c.Vec)
	method, swapped := skinnyMethod(nt, d)
	s := &skinnyWriter{writer: w, c: c, nt: nt, swapped: swapped, linked: linked, d: d, small: d.M, large: d.N}
	if swapped {
		s.small, s.large = d.N, d.M
	}
	e := entry{writer: w, c: c, nt: nt, linked: linked, asked: d, rowUnit: 1, colUnit: 1}
	e.c.Split = "columns"
	if method == skinnyAxpy {
		s.axpy()
		e.colUnit = c.Lanes() * 4
		e.part = func(m, n string) {
			w.Line("product(%s, %s, j.k, j.a + i0 * j.lda, j.lda, j.b + j0, j.ldb, %s);", m, n, e.result())
		}
		e.write()
		return
	}
	e.scratch = s.dot()
	if swapped {
		e.c.Split = "rows"
		e.rowUnit = c.NR
	} else {
		e.colUnit = c.NR
	}
	e.part = func(m, n string) {
		x, y := "j.a + i0 * j.lda", "j.b + j0 * j.ldb"
		ldx, ldy := "j.lda", "j.ldb"
		if !nt {
			y = "j.b + j0"
		}
		if swapped {
			x, y, ldx, ldy, m, n = y, x, ldy, ldx, n, m
		}
		w.Line("product(s, %s, %s, j.k, %s, %s, %s, %s, %s);", m, n, x, ldx, y, ldy, e.result())
	}
	e.write()
}

// skinnyWriter writes the skinny form. X is the operand with few rows, Y the one with many.
type skinnyWriter struct {
	*writer
	c            Config
	nt           bool
	swapped      bool
	linked       bool
	d            Dims
	small, large int
}

// heights lists the heights of the tiles, in falling order: the full height, the remainder of n, which is the number of rows in the asked
// shape, and one row. Linked code, which is called at many shapes, has each power of two below the full height.
func heights(n, full int, linked bool) []int {
	out := []int{full, 1}
	if rest := n % full; rest > 0 {
		out = append(out, rest)
	}
	for h := 2; linked && h < full; h *= 2 {
		out = append(out, h)
	}
	slices.Sort(out)
	slices.Reverse(out)
	return slices.Compact(out)
}

// each writes the loops over strips of rows, from row 0 to the C variable bound. n is the number of rows in the asked shape.
func (s *skinnyWriter) each(v, bound string, n, full int, body func(rows int)) {
	s.Line("i64 %s = 0;", v)
	for i, rows := range heights(n, full, s.linked) {
		once := i > 0 && (rows > 1 || s.linked)
		if once {
			s.Open("if (%s - %s >= %d)", bound, v, rows)
		} else {
			s.Open("for (; %s - %s >= %d; %s += %d)", bound, v, rows, v, rows)
		}
		body(rows)
		if once && rows > 1 {
			s.Line("%s += %d;", v, rows)
		}
		s.Close()
	}
}

// hold returns the number of rows of X that are copied at once: a multiple of MR.
func (s *skinnyWriter) hold() int { return cgen.Ceil(s.small, s.c.MR) * s.c.MR }

// dot writes the form with tiles of MR × NR dot products, and returns the size of its scratch memory.
func (s *skinnyWriter) dot() (scratch int) {
	c, lanes := s.c, s.c.Lanes()
	kc := balance(s.d.K, c.KC, lanes)
	s.Blank()
	s.Open("struct scratch")
	if c.PackX {
		s.Line("float x[%d] __attribute__((aligned(64)));", s.hold()*kc)
		scratch = 4 * s.hold() * kc
	} else {
		s.Line("char none;")
	}
	s.EndType()
	s.sum(lanes)
	for _, rows := range heights(s.small, c.MR, s.linked) {
		for _, cols := range heights(s.large, c.NR, s.linked) {
			s.dotTile(rows, cols)
		}
	}
	if c.PackX {
		s.packX()
	}
	s.Blank()
	s.Comment("The m by n result of dot products, read once for each %d rows of X.", s.hold())
	s.Open("static NOINLINE void product(struct scratch *s, i64 m, i64 n, i64 k, const float *x, i64 ldx, const float *y, i64 ldy, float *c, i64 ldc)")
	s.Open("for (i64 h = 0; h < m; h += %d)", s.hold())
	s.Line("const i64 hb = least(%d, m - h);", s.hold())
	s.Open("for (i64 p = 0; p < k; p += %d)", kc)
	s.Line("const i64 pb = least(%d, k - p);", kc)
	if c.PackX {
		if s.nt {
			s.Line("pack_x(hb, pb, x + h * ldx + p, ldx, s->x);")
		} else {
			s.Line("pack_x(hb, pb, x + p * ldx + h, ldx, s->x);")
		}
		s.Line("const i64 kw = (pb + %d) / %d * %d;", lanes-1, lanes, lanes)
	}
	s.each("j", "n", s.large, c.NR, func(cols int) {
		s.each("i", "hb", s.small, c.MR, func(rows int) {
			x := "x + (h + i) * ldx + p"
			if c.PackX {
				x = "s->x + i * kw"
			}
			at := "c + (h + i) * ldc + j"
			if s.swapped {
				at = "c + j * ldc + h + i"
			}
			s.Line("dot_%dx%d(pb, %s, ldx, y + j * ldy + p, ldy, %s, ldc, p > 0);", rows, cols, x, at)
		})
	})
	for range 3 {
		s.Close()
	}
	return scratch
}

// packX writes the function that copies rows of X so that the vectors which a tile reads in one step of K are contiguous. The last
// step is filled up with zeros.
func (s *skinnyWriter) packX() {
	lanes := s.c.Lanes()
	if !s.nt {
		for _, columns := range []int{4, 2, 1} {
			s.gather(columns, lanes)
		}
	}
	s.Blank()
	s.Comment("Copies m rows of X, k deep, a vector of each row of a tile after the other.")
	s.Open("static NOINLINE void pack_x(i64 m, i64 k, const float *x, i64 ldx, float *to)")
	s.each("i", "m", s.small, s.c.MR, func(rows int) {
		s.Line("i64 p = 0;")
		s.Open("for (; k - p >= %d; p += %d, to += %d)", lanes, lanes, rows*lanes)
		from := "x[(i + r) * ldx + p + l]"
		if s.nt {
			for r := range rows {
				s.Line("STORE(to + %d, LOAD(x + (i + %d) * ldx + p));", r*lanes, r)
			}
		} else {
			from = "x[(p + l) * ldx + i + r]"
			s.packColumns(rows, lanes)
		}
		s.Close()
		s.Nested(
			fmt.Sprintf("for (i64 r = 0; p < k && r < %d; r++, to += %d)", rows, lanes),
			fmt.Sprintf("for (i64 l = 0; l < %d; l++) to[l] = p + l < k ? %s : 0;", lanes, from))
	})
	s.Close()
}

// packColumns writes the copying of a vector of each of several columns.
func (s *skinnyWriter) packColumns(columns, lanes int) {
	for at := 0; at < columns; {
		n := 1 << (bits.Len(uint(min(columns-at, 4))) - 1)
		s.Line("columns_%d(x + p * ldx + i + %d, ldx, to + %d);", n, at, at*lanes)
		at += n
	}
}

// gather writes the function that copies a vector of each of one, two or four columns, four rows at a time.
func (s *skinnyWriter) gather(columns, lanes int) {
	s.Blank()
	s.Line("%s", cgen.Memory("float", fmt.Sprintf("part_%d", columns), 4*columns, 4))
	s.Comment("Copies a vector of each of the columns.")
	s.Open("static inline void columns_%d(const float *x, i64 ldx, float *to)", columns)
	loop := fmt.Sprintf("for (i64 l = 0; l < %d; l += 4, x += 4 * ldx)", lanes)
	if columns == 1 {
		s.Nested("if (ldx == 1)", "STORE(to, LOAD(x));") // a vector
		s.Nested("else", loop, "*(part_4 *)(to + l) = (part_4){x[0], x[ldx], x[2 * ldx], x[3 * ldx]};")
		s.Close()
		return
	}
	s.Line("#if HAS(__builtin_shufflevector)")
	s.Open("%s", loop)
	for r, name := range "abcd" {
		s.Line("const part_%d %c = *(const part_%[1]d *)(x + %[3]d * ldx);", columns, name, r)
	}
	for at := 0; at < columns; at += 2 {
		zip := fmt.Sprintf("%d, %d, %d, %d", at, columns+at, at+1, columns+at+1)
		s.Line("const quad ab%d = __builtin_shufflevector(a, b, %s), cd%[1]d = __builtin_shufflevector(c, d, %[2]s);", at, zip)
		for half := range 2 {
			s.Line("*(part_4 *)(to + %d + l) = __builtin_shufflevector(ab%d, cd%[2]d, %[3]d, %d, %d, %d);", (at+half)*lanes, at, 2*half, 2*half+1, 4+2*half, 5+2*half)
		}
	}
	s.Close()
	s.Line("#else")
	s.Nested(fmt.Sprintf("for (i64 l = 0; l < %d; l++)", lanes), fmt.Sprintf("for (i64 r = 0; r < %d; r++) to[r * %d + l] = x[l * ldx + r];", columns, lanes))
	s.Line("#endif")
	s.Close()
}

// axpy writes the form with tiles that add KU scaled rows of B to MR rows of C.
func (s *skinnyWriter) axpy() {
	c, lanes := s.c, s.c.Lanes()
	nc := balance(s.d.N, c.NC, lanes)
	s.Blank()
	s.Line("struct scratch { char none; };")
	for _, rows := range heights(s.small, c.MR, s.linked) {
		for _, ku := range heights(s.d.K, c.KU, s.linked) {
			s.axpyTile(rows, ku)
		}
	}
	s.Blank()
	s.Comment("The m by n result as sums of rows of B, n at most %d at a time.", nc)
	s.Open("static NOINLINE void product(i64 m, i64 n, i64 k, const float *a, i64 lda, const float *b, i64 ldb, float *c, i64 ldc)")
	s.Open("for (i64 j = 0; j < n; j += %d)", nc)
	s.Line("const i64 jb = least(%d, n - j);", nc)
	s.each("p", "k", s.d.K, c.KU, func(ku int) {
		s.each("i", "m", s.small, c.MR, func(rows int) {
			s.Line("axpy_%dx%d(jb, a + i * lda + p, lda, b + p * ldb + j, ldb, c + i * ldc + j, ldc, p > 0);", rows, ku)
		})
	})
	s.Close()
	s.Close()
}

func (s *skinnyWriter) axpyTile(rows, ku int) {
	c, lanes := s.c, s.c.Lanes()
	s.Blank()
	s.Comment("Adds to %d rows of C, or stores there, %d rows of B, scaled.", rows, ku)
	s.Open("static NOINLINE void axpy_%dx%d(i64 n, const float *a, i64 lda, const float *b, i64 ldb, float *c, i64 ldc, int add)", rows, ku)
	for i := range rows {
		for u := range ku {
			s.Line("const float a%d_%d = a[%d * lda + %d];", i, u, i, u)
		}
	}
	step := func(name, load, store, width string) {
		s.Macro("%s(v)", name)
		for u := range ku {
			s.MacroLine("vec b%d = %s(b + %d * ldb + (v) * %d%s);", u, load, u, lanes, width)
		}
		for i := range rows {
			s.MacroLine("vec c%d = {0};", i)
			s.MacroLine("if (add) c%d = %s(c + %d * ldc + (v) * %d%s);", i, load, i, lanes, width)
			for u := range ku {
				s.MacroLine("c%d += a%d_%d * b%d;", i, i, u, u)
			}
			s.MacroLine("%s(c + %d * ldc + (v) * %d, c%d%s);", store, i, lanes, i, width)
		}
		s.Close()
	}
	step("STEP", "LOAD", "STORE", "")
	const unroll = 2
	s.Open("for (; n >= %d; n -= %d)", unroll*lanes, unroll*lanes)
	if c.PrefetchY > 0 {
		for u := range ku {
			for at := 0; at < unroll*lanes; at += 16 {
				s.Line("__builtin_prefetch(b + %d * ldb + %d);", u, c.PrefetchY+at)
			}
		}
	}
	for v := range unroll {
		s.Line("STEP(%d)", v)
	}
	s.Line("b += %d;", unroll*lanes)
	s.Line("c += %d;", unroll*lanes)
	s.Close()
	s.Open("for (; n >= %d; n -= %d)", lanes, lanes)
	s.Line("STEP(0)")
	s.Line("b += %d;", lanes)
	s.Line("c += %d;", lanes)
	s.Close()
	s.Line("#undef STEP")
	if c.Tail == TailMasked {
		step("LAST", "load_part", "store_part", ", n")
		s.Line("if (n > 0) LAST(0)")
		s.Line("#undef LAST")
	} else {
		s.Open("for (; n > 0; n--, b++, c++)")
		for i := range rows {
			text := fmt.Sprintf("(add ? c[%d * ldc] : 0)", i)
			for u := range ku {
				text += fmt.Sprintf(" + a%d_%d * b[%d * ldb]", i, u, u)
			}
			s.Line("c[%d * ldc] = %s;", i, text)
		}
		s.Close()
	}
	s.Close()
}
