package gemm

import (
	"fmt"
	"strings"

	"tune/kernels/native/cgen"
)

// byColumns reports whether this copy may compute the columns that fill no vector as dot products of the rows of A, which are read where
// they are, and each column. A masked vector takes as long for one column as for all of them.
func (t *tiledWriter) byColumns() bool {
	return t.many && !t.nt && !t.c.PackX && !t.c.PackY && t.c.Tail != TailPadded && t.lanes() > 4
}

// fewColumns returns the condition, in C, under which dot products are faster where few columns are left. To add up the lanes takes as long
// as some steps, and to copy a column, where its elements are apart, as long as some multiply-adds for each of them. The numbers are measured
// ones.
func (t *tiledWriter) fewColumns(few, m, k, apart string) string {
	cond := fmt.Sprintf("%s * (%s * (%s / 8 + 16) + 3 * %[3]s * (%[4]s)) < %[2]s * %[3]s", few, m, k, apart)
	switch {
	case t.tails() != nil: // A is read once more for each column
		cond += " / 3"
	case t.lanes() < 16: // masked vectors take less time
		cond += " / 2"
	}
	return cond
}

// columns writes the function for columns that fill no vector.
func (t *tiledWriter) columns() {
	t.Blank()
	t.Comment("A few columns as dot products of the rows of X and each column, which is copied where its elements are apart.")
	t.Open("static NOINLINE void columns%s(struct scratch *s, i64 m, i64 n, i64 k, const float *x, i64 ldx, const float *y, i64 ldy, float *c, i64 ldc, int add)", t.suf)
	t.Open("for (i64 j = 0; j < n; j++)")
	t.Line("const float *column = y + j;")
	t.Open("if (ldy != 1)")
	t.Line("for (i64 p = 0; p < k; p++) s->column[p] = column[p * ldy];")
	t.Line("column = s->column;")
	t.Close()
	t.Line("i64 i = 0;")
	t.Open("for (; m - i >= 4; i += 4)")
	t.dots(4)
	t.Line("const quad q = sums(c0, c1, c2, c3);")
	t.Line("for (int r = 0; r < 4; r++) c[(i + r) * ldc + j] = add ? c[(i + r) * ldc + j] + q[r] : q[r];")
	t.Close()
	for _, rows := range []int{2, 1} {
		t.Open("if (m - i >= %d)", rows)
		t.dots(rows)
		for r := range rows {
			t.Line("const float q%d = sum(c%[1]d);", r)
			t.Line("c[(i + %d) * ldc + j] = add ? c[(i + %[1]d) * ldc + j] + q%[1]d : q%[1]d;", r)
		}
		if rows > 1 {
			t.Line("i += %d;", rows)
		}
		t.Close()
	}
	t.Close()
	t.Close()
}

// dots writes the dot products of the column and some rows. Few rows have several sums each, so that no multiply-add waits for the one
// before it.
func (t *tiledWriter) dots(rows int) {
	lanes, inFlight := t.lanes(), 8
	if lanes == 16 { // each multiply-add takes both halves of the unit
		inFlight = 4
	}
	depth := max(inFlight/rows, 1)
	name := func(r, d int) string {
		if d == 0 {
			return fmt.Sprintf("c%d", r)
		}
		return fmt.Sprintf("c%d_%d", r, d)
	}
	step := func(d int, load, more string) {
		at := "p"
		if d > 0 {
			at = fmt.Sprintf("p + %d", d*lanes)
		}
		t.Line("const vec v%d = %s(column + %s%s);", d, load, at, more)
		for r := range rows {
			t.Line("%s += v%d * %s(x + (i + %d) * ldx + %s%s);", name(r, d), d, load, r, at, more)
		}
	}
	for d := range depth {
		for r := range rows {
			t.Line("vec %s = {0};", name(r, d))
		}
	}
	t.Line("i64 p = 0;")
	if depth > 1 {
		t.Open("for (; k - p >= %d; p += %d)", depth*lanes, depth*lanes)
		for d := range depth {
			step(d, "LOAD", "")
		}
		t.Close()
		for d := 1; d < depth; d++ {
			for r := range rows {
				t.Line("%s += %s;", name(r, 0), name(r, d))
			}
		}
	}
	t.Open("for (; k - p >= %d; p += %d)", lanes, lanes)
	step(0, "LOAD", "")
	t.Close()
	t.Open("if (p < k)")
	step(0, "load_part", ", k - p")
	t.Close()
}

// splitColumns writes the part of a block that computes the last columns, if that is faster.
func (t *tiledWriter) splitColumns() {
	t.Line("const i64 few = n %% %d;", t.lanes())
	t.Open("if (%s)", "few && "+t.fewColumns("few", "m", "k", "ldy > 1"))
	t.Line("columns%s(s, m, few, k, x, ldx, y + n - few, ldy, c + n - few, ldc, add);", t.suf)
	t.Line("n -= few;")
	t.Close()
}

// sum writes the functions that add the lanes of one vector, and of each of four.
func (w *writer) sum(lanes int) { w.sumOf("vec", "sum", "quad", lanes) }

// sumOf is sum for a vector type of any name. The other names are those of the functions, and of the vector of four lanes.
func (w *writer) sumOf(vec, sum, quad string, lanes int) {
	w.Blank()
	w.Comment("The sum of the lanes.")
	w.Open("static inline float %s(%s v)", sum, vec)
	w.Line("#if HAS(__builtin_shufflevector)")
	for half := lanes / 2; half > 0; half /= 2 {
		at := ""
		for l := range lanes {
			at += fmt.Sprintf(", %d", l^half)
		}
		w.Line("v += __builtin_shufflevector(v, v%s);", at)
	}
	w.Line("return v[0];")
	w.Line("#else")
	w.Line("float t = 0;")
	w.Line("for (int l = 0; l < %d; l++) t += v[l];", lanes)
	w.Line("return t;")
	w.Line("#endif")
	w.Close()
	w.sums(vec, sum, quad, lanes)
}

// sums writes the function that adds the lanes of four vectors. Two of them become one vector with pairs of their lanes, and two of these
// one with a lane of each of the four in every sixteen bytes.
func (w *writer) sums(vec, sum, quad string, lanes int) {
	pick := func(from ...int) string { // from each sixteen bytes of two vectors
		text := ""
		for at := 0; at < lanes; at += 4 {
			for _, f := range from {
				text += fmt.Sprintf(", %d", at+f%4+f/4*lanes)
			}
		}
		return text
	}
	pair := func(to, a, b string, low, high string) {
		w.Line("const %s %s = __builtin_shufflevector(%s, %s%s) + __builtin_shufflevector(%s, %s%s);", vec, to, a, b, low, a, b, high)
	}
	w.Blank()
	w.Line("%s", cgen.Vector("float", quad, 16))
	w.Blank()
	w.Comment("The sums of the lanes of each.")
	w.Open("static inline %s %ss(%s a, %[3]s b, %[3]s c, %[3]s d)", quad, sum, vec)
	w.Line("#if HAS(__builtin_shufflevector)")
	pair("ab", "a", "b", pick(0, 4, 1, 5), pick(2, 6, 3, 7))
	pair("cd", "c", "d", pick(0, 4, 1, 5), pick(2, 6, 3, 7))
	pair("all", "ab", "cd", pick(0, 1, 4, 5), pick(2, 3, 6, 7))
	var quads []string
	for at := 0; at < lanes; at += 4 {
		quads = append(quads, fmt.Sprintf("__builtin_shufflevector(all, all, %d, %d, %d, %d)", at, at+1, at+2, at+3))
	}
	w.Line("return %s;", strings.Join(quads, " + "))
	w.Line("#else")
	w.Line("return (%s){%s(a), %[2]s(b), %[2]s(c), %[2]s(d)};", quad, sum)
	w.Line("#endif")
	w.Close()
}
