package gemm

import (
	"fmt"

	"tune/kernels/native/cgen"
)

// fewColumns writes the products with a few columns, as dot products of the rows of A and the columns. The columns are copied where their
// elements are apart.
func (t *thinWriter) fewColumns() {
	t.copyColumns()
	for columns := 1; columns <= thinColumns; columns++ {
		heights := t.heights(columns)
		for _, rows := range heights {
			t.dots(rows, columns)
		}
		t.Blank()
		t.Comment("Products with columns: %d.", columns)
		t.Open("static THIN void thin_columns_%d(i64 m, %s)", columns, thinArguments)
		t.Line("float copy[%d] __attribute__((aligned(64)));", cgen.Ceil(columns, 4)*4*thinBlock)
		t.Line("const int far = m * k > %d;", nextCache/4)
		block := fmt.Sprint(thinBlock)
		if columns == 1 {
			block = fmt.Sprintf("ldb == 1 ? k : %d", thinBlock)
		}
		t.Line("const i64 block = %s;", block)
		t.Open("for (i64 p = 0; p < k; p += block)")
		t.Line("const i64 depth = least(block, k - p);")
		t.Line("const float *x = copy;")
		if columns == 1 {
			t.Line("if (ldb == 1) x = b;")
			t.Line("else")
		}
		t.Line("copy_columns(%d, depth, b + p * ldb, ldb, copy);", columns)
		t.Line("i64 i = 0;")
		for n, rows := range heights {
			call := fmt.Sprintf("dots_%dx%d(depth, a + i * lda + p, lda, x, c + i * ldc, ldc, p > 0, far);", rows, columns)
			switch {
			case n == 0 || rows == 1 && columns > 1:
				t.Line("for (; m - i >= %d; i += %[1]d) %s", rows, call)
			default:
				t.Open("if (m - i >= %d)", rows)
				t.Line("%s", call)
				t.Line("i += %d;", rows)
				t.Close()
			}
		}
		t.Close()
		t.Close()
	}
}

// heights are the rows of the tiles of dot products with a number of columns.
func (t *thinWriter) heights(columns int) []int {
	switch {
	case columns == 1:
		return []int{8, 4, 2, 1}
	case t.masked() && columns <= 3:
		return []int{8, 4, 1}
	case columns == 2 || t.masked():
		return []int{4, 1}
	}
	return []int{2, 1} // of sixteen registers
}

// copyColumns writes the function that copies columns, so that the elements of each follow each other. Four rows are read at once, four elements
// of each. Beyond a row these are those of the next one, or lie between the two; so the last row is not among them.
func (t *thinWriter) copyColumns() {
	t.Blank()
	t.Comment("Copies columns. Up to three more are written, with anything in them.")
	t.Open("static THIN void copy_columns(i64 n, i64 k, const float *b, i64 ldb, float *to)")
	t.Open("for (i64 j = 0; j < n; j += 4)")
	t.Line("i64 p = 0;")
	t.Line("#if HAS(__builtin_shufflevector)")
	t.Open("for (; n > 1 && k - p > 4; p += 4)")
	for r, name := range "aecd" {
		t.Line("const wide_quad %c = LOAD_WIDE_QUAD(b + (p + %d) * ldb + j);", name, r)
	}
	for half, zip := range []string{"0, 4, 1, 5", "2, 6, 3, 7"} {
		t.Line("const wide_quad ab%d = __builtin_shufflevector(a, e, %s), cd%[1]d = __builtin_shufflevector(c, d, %[2]s);", half, zip)
	}
	for l, pick := range []string{"0, 1, 4, 5", "2, 3, 6, 7", "0, 1, 4, 5", "2, 3, 6, 7"} {
		t.Line("STORE_WIDE_QUAD(to + (j + %d) * %d + p, __builtin_shufflevector(ab%d, cd%[3]d, %s));", l, thinBlock, l/2, pick)
	}
	t.Close()
	t.Line("#endif")
	t.Nested("for (; p < k; p++)", fmt.Sprintf("for (i64 l = j; l < n && l < j + 4; l++) to[l * %d + p] = b[p * ldb + l];", thinBlock))
	t.Close()
	t.Close()
}

// dots writes the function for dot products of some rows and columns. Few of them have several sums each. Of an A that is far away it asks
// for the rows that follow.
func (t *thinWriter) dots(rows, columns int) {
	depth, vec := max(thinSums/(rows*columns), 1), t.narrow
	t.Blank()
	t.Open("static THIN void dots_%dx%d(i64 k, const float *a, i64 lda, const float *b, float *c, i64 ldc, int add, int far)", rows, columns)
	each := func(f func(r, j int)) {
		for r := range rows {
			for j := range columns {
				f(r, j)
			}
		}
	}
	each(func(r, j int) {
		for d := range depth {
			t.Line("%s c%d_%d_%d = {0};", vec.name, r, j, d)
		}
	})
	for r := 1; r < rows; r++ {
		t.Line("const float *a%d = a + %d * lda;", r, r)
	}
	t.Line("const float *next = a + %d * lda;", rows)
	t.Line("i64 p = 0;")
	columnAt := func(j, d int) string { return fmt.Sprintf("b + p + %d", j*thinBlock+d*vec.lanes) }
	rowAt := func(r, d int) string { return fmt.Sprintf("a%s + p + %d", index(r), d*vec.lanes) }
	// What the operand with more of them has is loaded where it is used, so that registers suffice.
	outer, inner, outerAt, innerAt := columns, rows, columnAt, rowAt
	if rows < columns {
		outer, inner, outerAt, innerAt = inner, outer, innerAt, outerAt
	}
	step := func(d int, load func(at string) string) {
		for o := range outer {
			t.Line("%s x%d_%d = %s;", vec.name, o, d, load(outerAt(o, d)))
			t.keep(inner, fmt.Sprintf("x%d_%d", o, d))
		}
		for i := range inner {
			t.Line("%s y%d_%d = %s;", vec.name, i, d, load(innerAt(i, d)))
			t.keep(outer, fmt.Sprintf("y%d_%d", i, d))
			for o := range outer {
				r, j := i, o
				if rows < columns {
					r, j = o, i
				}
				t.Line("c%d_%d_%d += x%d_%d * y%d_%d;", r, j, d, o, d, i, d)
			}
		}
	}
	if depth > 1 {
		t.Open("for (; k - p >= %d; p += %[1]d)", depth*vec.lanes)
		for d := range depth {
			step(d, vec.load)
		}
		t.Close()
	}
	t.Open("for (; k - p >= %d; p += %[1]d)", vec.lanes)
	t.Open("if (far)")
	for at := 0; at < rows*vec.lanes; at += 16 {
		t.Line("__builtin_prefetch(next + %d, 0, 2);", at)
	}
	t.Line("next += %d;", rows*vec.lanes)
	t.Close()
	step(0, vec.load)
	t.Close()
	t.Open("if (p < k)")
	step(0, func(at string) string { return vec.part(at, "k - p") })
	t.Close()
	t.storeDots(rows, columns, depth)
	t.Close()
}

// storeDots adds up the lanes, of four sums at once where there are as many, and stores them.
func (t *thinWriter) storeDots(rows, columns, depth int) {
	sum := func(r, j int) string {
		var sums []string
		for d := range depth {
			sums = append(sums, fmt.Sprintf("c%d_%d_%d", r, j, d))
		}
		return inPairs(sums)
	}
	if rows < 4 && columns < 4 {
		for r := range rows {
			for j := range columns {
				t.addTo(r, j, fmt.Sprintf("lane_sum(%s)", sum(r, j)))
			}
		}
		return
	}
	if rows >= 4 { // a quad for each column and four rows
		for r := 0; r < rows; r += 4 {
			for j := range columns {
				q := fmt.Sprintf("q%d_%d", r, j)
				t.Line("const wide_quad %s = lane_sums(%s, %s, %s, %s);", q, sum(r, j), sum(r+1, j), sum(r+2, j), sum(r+3, j))
				if columns == 1 {
					t.Line("if (ldc == 1 && !add) STORE_WIDE_QUAD(c + %d, %s);", r, q)
					t.Line("else")
					t.Open("")
				}
				for l := range 4 {
					t.addTo(r+l, j, fmt.Sprintf("%s[%d]", q, l))
				}
				if columns == 1 {
					t.Close()
				}
			}
		}
		return
	}
	for r := range rows { // a quad for four columns, and what is left
		t.Line("const wide_quad q%d = lane_sums(%s, %s, %s, %s);", r, sum(r, 0), sum(r, 1), sum(r, 2), sum(r, 3))
		for j := range columns {
			of := fmt.Sprintf("q%d[%d]", r, j)
			if j >= 4 {
				of = fmt.Sprintf("lane_sum(%s)", sum(r, j))
			}
			t.addTo(r, j, of)
		}
	}
}

// addTo writes the code that stores a result, or adds it to the one that is there.
func (t *thinWriter) addTo(r, j int, of string) {
	t.Line("c[%d * ldc + %d] = %s + (add ? c[%[1]d * ldc + %[2]d] : 0);", r, j, of)
}

// deep is how many terms the sums of a few columns have where dot products are faster than sums of rows: to add up the lanes takes as long as
// several terms. The numbers are measured ones.
func (t *thinWriter) deep(columns int) int {
	if t.masked() {
		return []int{8, 16, 32, 48, 72}[columns-2]
	}
	return []int{0, 0, deepColumns, deepColumns, deepColumns}[columns-2]
}

// deepColumns is how many terms the sums of a few columns have where it pays to store parts of vectors without fast stores under a mask.
const deepColumns = 16
