package gemm

import "fmt"

// skinnyLimit is the largest number of rows or columns of a skinny product.
const skinnyLimit = 32

// The methods of the skinny form, which the shape decides.
const (
	skinnyNone = ""     // the shape is not skinny
	skinnyDot  = "dot"  // dot products of rows: both operands, or the large one at least, have K contiguous
	skinnyAxpy = "axpy" // sums of rows of B, for C = A·B with few rows
)

// skinnyMethod returns how a skinny product of the shape is computed, and whether its roles are swapped, so that B is
// the small operand.
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
func skinny(w *writer, c Config, nt bool, d Dims) {
	w.types(c.Vec)
	method, swapped := skinnyMethod(nt, d)
	s := &skinnyWriter{writer: w, c: c, nt: nt, swapped: swapped, d: d, small: d.M, large: d.N}
	if swapped {
		s.small, s.large = d.N, d.M
	}
	e := entry{writer: w, c: c, nt: nt, rowUnit: 1, colUnit: 1}
	e.c.Split = "columns"
	if method == skinnyAxpy {
		s.axpy()
		e.colUnit = c.Lanes() * 4
		e.part = func(m, n string) {
			w.f("product(%s, %s, j.k, j.a + i0 * j.lda, j.lda, j.b + j0, j.ldb, j.c + i0 * j.n + j0, j.n);", m, n)
		}
		e.write()
		return
	}
	s.dot()
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
		w.f("product(s, %s, %s, j.k, %s, %s, %s, %s, j.c + i0 * j.n + j0, j.n);", m, n, x, ldx, y, ldy)
	}
	e.write()
}

// skinnyWriter writes the skinny form. X is the operand with few rows, Y the one with many.
type skinnyWriter struct {
	*writer
	c            Config
	nt           bool
	swapped      bool
	d            Dims
	small, large int
}

// heights lists the heights of the tiles for n rows: the full one, that of the rest, and one.
func heights(n, full int) []int {
	out := []int{full}
	if rest := n % full; rest > 1 {
		out = append(out, rest)
	}
	if full > 1 {
		out = append(out, 1)
	}
	return out
}

// each writes the loops over the strips of n rows, which together go from 0 to the variable bound.
func (s *skinnyWriter) each(v, bound string, n, full int, body func(rows int)) {
	s.f("i64 %s = 0;", v)
	for i, rows := range heights(n, full) {
		word := "for"
		if i > 0 && rows > 1 {
			word = "if"
		}
		switch {
		case word == "for":
			s.f("for (; %s - %s >= %d; %s += %d) {", bound, v, rows, v, rows)
		default:
			s.f("if (%s - %s >= %d) {", bound, v, rows)
		}
		s.in()
		body(rows)
		if word == "if" {
			s.f("%s += %d;", v, rows)
		}
		s.out()
		s.f("}")
	}
}

// hold is the number of rows of X that are copied at once, a multiple of MR.
func (s *skinnyWriter) hold() int { return ceil(s.small, s.c.MR) * s.c.MR }

// dot writes the form whose tiles are MR × NR dot products along K.
func (s *skinnyWriter) dot() {
	c, lanes := s.c, s.c.Lanes()
	kc := balance(s.d.K, c.KC, lanes)
	s.f("\nstruct scratch {")
	s.in()
	if c.PackX {
		s.f("float x[%d] __attribute__((aligned(64)));", s.hold()*kc)
	} else {
		s.f("char none;")
	}
	s.out()
	s.f("};")
	s.sum(lanes)
	for _, rows := range heights(s.small, c.MR) {
		for _, cols := range heights(s.large, c.NR) {
			s.dotTile(rows, cols)
		}
	}
	if c.PackX {
		s.packX()
	}
	s.f("\n// The m by n result of dot products, read once for each %d rows of X.", s.hold())
	s.f("static NOINLINE void product(struct scratch *s, i64 m, i64 n, i64 k, const float *x, i64 ldx, const float *y, i64 ldy, float *c, i64 ldc) {")
	s.in()
	s.f("for (i64 h = 0; h < m; h += %d) {", s.hold())
	s.in()
	s.f("const i64 hb = least(%d, m - h);", s.hold())
	s.f("for (i64 p = 0; p < k; p += %d) {", kc)
	s.in()
	s.f("const i64 pb = least(%d, k - p);", kc)
	if c.PackX {
		if s.nt {
			s.f("pack_x(hb, pb, x + h * ldx + p, ldx, s->x);")
		} else {
			s.f("pack_x(hb, pb, x + p * ldx + h, ldx, s->x);")
		}
		s.f("const i64 kw = (pb + %d) / %d * %d;", lanes-1, lanes, lanes)
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
			s.f("dot_%dx%d(pb, %s, ldx, y + j * ldy + p, ldy, %s, ldc, p > 0);", rows, cols, x, at)
		})
	})
	for range 2 {
		s.out()
		s.f("}")
	}
	s.out()
	s.f("}")
}

// sum writes the function that adds the lanes of a vector.
func (s *skinnyWriter) sum(lanes int) {
	s.f("\n// The sum of the lanes.")
	s.f("static inline float sum(vec v) {")
	s.in()
	s.f("#if HAS(__builtin_shufflevector)")
	for half := lanes / 2; half > 0; half /= 2 {
		at := ""
		for l := range lanes {
			at += fmt.Sprintf(", %d", l^half)
		}
		s.f("v += __builtin_shufflevector(v, v%s);", at)
	}
	s.f("return v[0];")
	s.f("#else")
	s.f("float t = 0;")
	s.f("for (int l = 0; l < %d; l++) t += v[l];", lanes)
	s.f("return t;")
	s.f("#endif")
	s.out()
	s.f("}")
}

// dotTile writes the function of one tile.
func (s *skinnyWriter) dotTile(rows, cols int) {
	c, lanes := s.c, s.c.Lanes()
	s.f("\n// Adds to C, or stores there, the dot products of %d rows of X and %d of Y.", rows, cols)
	s.f("static NOINLINE void dot_%dx%d(i64 k, const float *x, i64 ldx, const float *y, i64 ldy, float *c, i64 ldc, int add) {", rows, cols)
	s.in()
	for i := range rows {
		for j := range cols {
			for d := range c.Depth {
				s.f("vec c%d_%d_%d = {0};", i, j, d)
			}
		}
	}
	xAt := func(u string, i int) string {
		if c.PackX {
			return fmt.Sprintf("x + (%s) * %d + %d", u, rows*lanes, i*lanes)
		}
		return fmt.Sprintf("x + %d * ldx + (%s) * %d", i, u, lanes)
	}
	// The operand with fewer rows is held in registers, the other one's vectors are used as they come.
	step := func(name string, loadX, loadY func(i int) string) {
		s.f("#define %s(u, d) { \\", name)
		s.in()
		if rows < cols {
			for i := range rows {
				s.f("vec x%d = %s; \\", i, loadX(i))
			}
			for j := range cols {
				s.f("vec y%d = %s; \\", j, loadY(j))
				for i := range rows {
					s.f("c%d_%d_##d += x%d * y%d; \\", i, j, i, j)
				}
			}
		} else {
			for j := range cols {
				s.f("vec y%d = %s; \\", j, loadY(j))
			}
			for i := range rows {
				s.f("vec x%d = %s; \\", i, loadX(i))
				for j := range cols {
					s.f("c%d_%d_##d += x%d * y%d; \\", i, j, i, j)
				}
			}
		}
		s.out()
		s.f("}")
	}
	yAt := func(j int) string { return fmt.Sprintf("y + %d * ldy + (u) * %d", j, lanes) }
	step("STEP", func(i int) string { return "LOAD(" + xAt("u", i) + ")" }, func(j int) string { return "LOAD(" + yAt(j) + ")" })
	vectors := c.KU * c.Depth
	xStep := lanes
	if c.PackX {
		xStep = rows * lanes
	}
	s.f("for (; k >= %d; k -= %d) {", vectors*lanes, vectors*lanes)
	s.in()
	if c.PrefetchX > 0 && c.PackX {
		for at := 0; at < vectors*xStep; at += 16 {
			s.f("__builtin_prefetch(x + %d);", c.PrefetchX*rows+at)
		}
	}
	if c.PrefetchY > 0 {
		for j := range cols {
			for at := 0; at < vectors*lanes; at += 16 {
				s.f("__builtin_prefetch(y + %d * ldy + %d);", j, c.PrefetchY+at)
			}
		}
	}
	for u := range vectors {
		s.f("STEP(%d, %d)", u, u%c.Depth)
	}
	s.f("x += %d;", vectors*xStep)
	s.f("y += %d;", vectors*lanes)
	s.out()
	s.f("}")
	if vectors > 1 {
		s.f("for (; k >= %d; k -= %d) {", lanes, lanes)
		s.in()
		s.f("STEP(0, 0)")
		s.f("x += %d;", xStep)
		s.f("y += %d;", lanes)
		s.out()
		s.f("}")
	}
	s.f("#undef STEP")
	if c.Tail == TailMasked {
		step("LAST", func(i int) string {
			if c.PackX {
				return "LOAD(" + xAt("u", i) + ")"
			}
			return "load_part(" + xAt("u", i) + ", k)"
		}, func(j int) string { return "load_part(" + yAt(j) + ", k)" })
		s.f("if (k > 0) LAST(0, 0)")
		s.f("#undef LAST")
	}
	for i := range rows {
		for j := range cols {
			text := ""
			for d := range c.Depth {
				if d > 0 {
					text += " + "
				}
				text += fmt.Sprintf("c%d_%d_%d", i, j, d)
			}
			at := fmt.Sprintf("c[%d * ldc + %d]", i, j)
			if s.swapped {
				at = fmt.Sprintf("c[%d * ldc + %d]", j, i)
			}
			s.f("float s%d_%d = sum(%s);", i, j, text)
			if c.Tail == TailScalar {
				x := fmt.Sprintf("x[%d * ldx + p]", i)
				if c.PackX {
					x = fmt.Sprintf("x[%d + p]", i*lanes)
				}
				s.f("for (i64 p = 0; p < k; p++) s%d_%d += %s * y[%d * ldy + p];", i, j, x, j)
			}
			s.f("%s = add ? %s + s%d_%d : s%d_%d;", at, at, i, j, i, j)
		}
	}
	s.out()
	s.f("}")
}

// packX writes the function that copies rows of X so that the vectors which a tile reads at one step of K are
// neighbours; the last step is filled with zeros.
func (s *skinnyWriter) packX() {
	c, lanes := s.c, s.c.Lanes()
	from := "x[(i + r) * ldx + p + l]"
	if !s.nt {
		from = "x[(p + l) * ldx + i + r]"
	}
	s.f("\n// Copies m rows of X, k deep, a vector of each row of a tile after the other.")
	s.f("static NOINLINE void pack_x(i64 m, i64 k, const float *x, i64 ldx, float *to) {")
	s.in()
	s.each("i", "m", s.small, c.MR, func(rows int) {
		s.f("for (i64 p = 0; p < k; p += %d)", lanes)
		s.f("\tfor (i64 r = 0; r < %d; r++, to += %d)", rows, lanes)
		if s.nt {
			s.f("\t\tif (k - p >= %d) STORE(to, LOAD(x + (i + r) * ldx + p));", lanes)
			s.f("\t\telse")
		}
		s.f("\t\t\tfor (i64 l = 0; l < %d; l++) to[l] = p + l < k ? %s : 0;", lanes, from)
	})
	s.out()
	s.f("}")
}

// axpy writes the form whose tiles add KU rows of B, scaled, to MR rows of C.
func (s *skinnyWriter) axpy() {
	c, lanes := s.c, s.c.Lanes()
	nc := balance(s.d.N, c.NC, lanes)
	s.f("\nstruct scratch { char none; };")
	for _, rows := range heights(s.small, c.MR) {
		for _, ku := range heights(s.d.K, c.KU) {
			s.axpyTile(rows, ku)
		}
	}
	s.f("\n// The m by n result as sums of rows of B, n at most %d at a time.", nc)
	s.f("static NOINLINE void product(i64 m, i64 n, i64 k, const float *a, i64 lda, const float *b, i64 ldb, float *c, i64 ldc) {")
	s.in()
	s.f("for (i64 j = 0; j < n; j += %d) {", nc)
	s.in()
	s.f("const i64 jb = least(%d, n - j);", nc)
	s.each("p", "k", s.d.K, c.KU, func(ku int) {
		s.each("i", "m", s.small, c.MR, func(rows int) {
			s.f("axpy_%dx%d(jb, a + i * lda + p, lda, b + p * ldb + j, ldb, c + i * ldc + j, ldc, p > 0);", rows, ku)
		})
	})
	s.out()
	s.f("}")
	s.out()
	s.f("}")
}

func (s *skinnyWriter) axpyTile(rows, ku int) {
	c, lanes := s.c, s.c.Lanes()
	s.f("\n// Adds to %d rows of C, or stores there, %d rows of B, scaled.", rows, ku)
	s.f("static NOINLINE void axpy_%dx%d(i64 n, const float *a, i64 lda, const float *b, i64 ldb, float *c, i64 ldc, int add) {", rows, ku)
	s.in()
	for i := range rows {
		for u := range ku {
			s.f("const float a%d_%d = a[%d * lda + %d];", i, u, i, u)
		}
	}
	step := func(name, load, store, width string) {
		s.f("#define %s(v) { \\", name)
		s.in()
		for u := range ku {
			s.f("vec b%d = %s(b + %d * ldb + (v) * %d%s); \\", u, load, u, lanes, width)
		}
		for i := range rows {
			s.f("vec c%d = {0}; \\", i)
			s.f("if (add) c%d = %s(c + %d * ldc + (v) * %d%s); \\", i, load, i, lanes, width)
			for u := range ku {
				s.f("c%d += a%d_%d * b%d; \\", i, i, u, u)
			}
			s.f("%s(c + %d * ldc + (v) * %d, c%d%s); \\", store, i, lanes, i, width)
		}
		s.out()
		s.f("}")
	}
	step("STEP", "LOAD", "STORE", "")
	const unroll = 2
	s.f("for (; n >= %d; n -= %d) {", unroll*lanes, unroll*lanes)
	s.in()
	if c.PrefetchY > 0 {
		for u := range ku {
			for at := 0; at < unroll*lanes; at += 16 {
				s.f("__builtin_prefetch(b + %d * ldb + %d);", u, c.PrefetchY+at)
			}
		}
	}
	for v := range unroll {
		s.f("STEP(%d)", v)
	}
	s.f("b += %d;", unroll*lanes)
	s.f("c += %d;", unroll*lanes)
	s.out()
	s.f("}")
	s.f("for (; n >= %d; n -= %d) {", lanes, lanes)
	s.in()
	s.f("STEP(0)")
	s.f("b += %d;", lanes)
	s.f("c += %d;", lanes)
	s.out()
	s.f("}")
	s.f("#undef STEP")
	if c.Tail == TailMasked {
		step("LAST", "load_part", "store_part", ", n")
		s.f("if (n > 0) LAST(0)")
		s.f("#undef LAST")
	} else {
		s.f("for (; n > 0; n--, b++, c++) {")
		s.in()
		for i := range rows {
			text := fmt.Sprintf("(add ? c[%d * ldc] : 0)", i)
			for u := range ku {
				text += fmt.Sprintf(" + a%d_%d * b[%d * ldb]", i, u, u)
			}
			s.f("c[%d * ldc] = %s;", i, text)
		}
		s.out()
		s.f("}")
	}
	s.out()
	s.f("}")
}
