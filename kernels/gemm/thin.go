package gemm

import (
	"fmt"
	"strings"

	"tune/kernels/native/cgen"
)

// hasThin reports whether code has forms of its own for thin products, which depend on the instruction set alone. Linked code has them, where
// parts of vectors are loaded under a mask. Code for several threads has none: it divides thin products too.
func hasThin(c Config, nt, linked bool) bool {
	return linked && !nt && c.Workers <= 1 && c.ISA != cgen.Generic && (c.Form == FormTiled || c.Form == FormSkinny)
}

// The limits of thin products.
const (
	thinRows  = 3    // rows of a product that is computed as sums of rows of B
	thinDepth = 4    // terms of the sums of a product that is computed row by row
	thinStrip = 4    // vectors of a strip of columns whose sums stay in registers
	thinSums  = 8    // sums in flight, which hide the latency of a multiply-add
	thinBlock = 1024 // elements of a column that are copied at once
)

// thinVector is a type of vectors.
type thinVector struct {
	name  string
	lanes int
}

func (v thinVector) load(at string) string {
	return fmt.Sprintf("LOAD_%s(%s)", strings.ToUpper(v.name), at)
}
func (v thinVector) part(at, n string) string {
	return fmt.Sprintf("load_part_%s(%s, %s)", v.name, at, n)
}
func (v thinVector) store(at, of string) string {
	return fmt.Sprintf("STORE_%s(%s, %s);", strings.ToUpper(v.name), at, of)
}
func (v thinVector) storePart(at, of, n string) string {
	return fmt.Sprintf("store_part_%s(%s, %s, %s);", v.name, at, of, n)
}

// thinWriter writes the forms for products with one column, few rows, or sums of few terms.
type thinWriter struct {
	*writer
	wide   thinVector
	narrow thinVector // of few columns: loads of whole vectors would cross lines of the cache; the wide type where there is no other
}

func newThinWriter(w *writer, isa string) *thinWriter {
	t := &thinWriter{writer: w, wide: thinVector{"wide", vectorBytes(isa) / 4}}
	t.narrow = t.wide
	if t.wide.lanes == 16 {
		t.narrow = thinVector{"narrow", 8}
	}
	return t
}

// thinCall are the arguments of most functions.
const (
	thinCall      = "k, a, lda, b, ldb, c, ldc"
	thinArguments = "i64 k, const float *a, i64 lda, const float *b, i64 ldb, float *c, i64 ldc"
)

func (t *thinWriter) write() {
	t.vector(t.wide)
	if t.narrow != t.wide {
		t.vector(t.narrow)
	}
	t.sumOf("wide", "wide_sum", "wide_quad", t.wide.lanes)
	t.Line("%s", cgen.Memory("float", "wide_quad_any", 16, 4))
	for rows := 1; rows <= thinRows; rows++ {
		t.fewRows(rows)
	}
	t.oneColumn()
	for k := 1; k <= thinDepth; k++ {
		t.fewTerms(k)
	}
	t.choose()
}

// vector writes a type of vectors, with what loads and stores it.
func (t *thinWriter) vector(v thinVector) {
	names := vectorNames(4*v.lanes, v.name, "_"+v.name, v.name+"_ints")
	names["Any"], names["Upper"] = v.name+"_any", strings.ToUpper(v.name)
	t.Piece(pieces, "thin types", names)
}

// fewRows writes the products of a few rows as sums of rows of B.
func (t *thinWriter) fewRows(rows int) {
	narrow := t.narrow != t.wide
	if narrow {
		t.strip(rows, 1, t.narrow)
	}
	for vectors := 1; vectors <= thinStrip; vectors++ {
		t.strip(rows, vectors, t.wide)
	}
	for _, terms := range []int{4, 2, 1} {
		t.addRows(rows, terms, false)
	}
	t.addRows(rows, 4, true)
	t.Blank()
	t.Comment("Products of %d rows as sums of rows of B. What is far away is read in its order.", rows)
	t.Open("static NOINLINE void rows_%d(i64 n, %s)", rows, thinArguments)
	if narrow {
		t.Line("if (n <= %d) return strip_%d_1_narrow(n, %s);", t.narrow.lanes, rows, thinCall)
	}
	for vectors := 1; vectors <= thinStrip; vectors++ {
		t.Line("if (n <= %d) return strip_%d_%d_wide(n - %d, %s);", vectors*t.wide.lanes, rows, vectors, (vectors-1)*t.wide.lanes, thinCall)
	}
	if rows > 1 {
		full := thinStrip * t.wide.lanes
		t.Open("if (n * k <= %d)", nextCache/4)
		t.Line("for (; n > %d; n -= %[1]d, b += %[1]d, c += %[1]d) strip_%d_%d_wide(%d, %s);", full, rows, thinStrip, t.wide.lanes, thinCall)
		for vectors := 1; vectors <= thinStrip; vectors++ {
			t.Line("if (n <= %d) return strip_%d_%d_wide(n - %d, %s);", vectors*t.wide.lanes, rows, vectors, (vectors-1)*t.wide.lanes, thinCall)
		}
		t.Close()
	}
	t.Line("i64 p = 0;")
	call := func(terms int, far string) {
		t.Line("add_%d_%d%s(n, a + p, lda, b + p * ldb, ldb, c, ldc, p > 0);", rows, terms, far)
	}
	t.Open("for (; k - p >= 4; p += 4)")
	t.Line("if (n * k > %d)", nextCache/4)
	call(4, "_far")
	t.Line("else")
	call(4, "")
	t.Close()
	t.Open("if (k - p >= 2)")
	call(2, "")
	t.Line("p += 2;")
	t.Close()
	t.Open("if (p < k)")
	call(1, "")
	t.Close()
	t.Close()
}

// strip writes the function for a few vectors of columns, of which the last one holds n elements. Sums of one vector are several ones.
func (t *thinWriter) strip(rows, vectors int, vec thinVector) {
	unroll := max(thinSums/(rows*vectors), 1)
	t.Blank()
	t.Open("static NOINLINE void strip_%d_%d_%s(i64 n, %s)", rows, vectors, vec.name, thinArguments)
	for r := range rows {
		for v := range vectors {
			for u := range unroll {
				t.Line("%s c%d_%d_%d = {0};", vec.name, r, v, u)
			}
		}
	}
	for r := 1; r < rows; r++ {
		t.Line("const float *a%d = a + %d * lda;", r, r)
	}
	steps := func(unroll int) {
		for u := range unroll {
			for v := range vectors {
				at := fmt.Sprintf("b + %d", v*vec.lanes)
				load := vec.load(at)
				if v == vectors-1 {
					load = vec.part(at, "n")
				}
				t.Line("const %s b%d_%d = %s;", vec.name, v, u, load)
				for r := range rows {
					t.Line("c%d_%d_%d += a%s[%d] * b%d_%d;", r, v, u, index(r), u, v, u)
				}
			}
			t.Line("b += ldb;")
		}
		for r := range rows {
			t.Line("a%s += %d;", index(r), unroll)
		}
	}
	if unroll > 1 {
		t.Open("for (; k >= %d; k -= %d)", unroll, unroll)
		steps(unroll)
		t.Close()
	}
	t.Open("for (; k > 0; k--)")
	steps(1)
	t.Close()
	for r := range rows {
		for v := range vectors {
			var sums []string
			for u := range unroll {
				sums = append(sums, fmt.Sprintf("c%d_%d_%d", r, v, u))
			}
			at := fmt.Sprintf("c + %d * ldc + %d", r, v*vec.lanes)
			if v == vectors-1 {
				t.Line("%s", vec.storePart(at, inPairs(sums), "n"))
			} else {
				t.Line("%s", vec.store(at, inPairs(sums)))
			}
		}
	}
	t.Close()
}

// index is the suffix of the pointer to a row: that to the first one has none.
func index(row int) string {
	if row == 0 {
		return ""
	}
	return fmt.Sprint(row)
}

// inPairs adds up as a tree does, so that few additions wait for each other.
func inPairs(sums []string) string {
	for len(sums) > 1 {
		var half []string
		for at := 0; at < len(sums); at += 2 {
			if at+1 < len(sums) {
				half = append(half, "("+sums[at]+" + "+sums[at+1]+")")
			} else {
				half = append(half, sums[at])
			}
		}
		sums = half
	}
	return sums[0]
}

// addRows writes the function that adds a few rows of B, scaled, to rows of C. Of a B that is far away it asks for the rows that follow, in
// the order in which they lie in memory where B is dense: several streams of it arrive more slowly than one.
func (t *thinWriter) addRows(rows, terms int, far bool) {
	suffix := map[bool]string{true: "_far"}[far]
	t.Blank()
	t.Open("static NOINLINE void add_%d_%d%s(i64 n, const float *a, i64 lda, const float *b, i64 ldb, float *c, i64 ldc, int add)", rows, terms, suffix)
	t.factors(rows, terms)
	for u := 1; u < terms; u++ {
		t.Line("const float *b%d = b + %d * ldb;", u, u)
	}
	if far {
		t.Line("const float *next = b + %d * ldb;", terms)
	}
	vec := t.wide
	step := func(load func(at string) string, store func(at, of string) string) {
		for u := range terms {
			t.Line("const wide v%d = %s;", u, load(fmt.Sprintf("b%s + j", index(u))))
		}
		for r := range rows {
			at := fmt.Sprintf("c + %d * ldc + j", r)
			t.Line("wide c%d = {0};", r)
			t.Line("if (add) c%d = %s;", r, load(at))
			for u := range terms {
				t.Line("c%d += a%d_%d * v%d;", r, r, u, u)
			}
			t.Line("%s", store(at, fmt.Sprintf("c%d", r)))
		}
	}
	t.Line("i64 j = 0;")
	t.Open("for (; n - j >= %d; j += %d)", vec.lanes, vec.lanes)
	if far {
		for at := 0; at < terms*vec.lanes; at += 16 {
			t.Line("__builtin_prefetch(next + %d, 0, 2);", at)
		}
		t.Line("next += %d;", terms*vec.lanes)
	}
	step(vec.load, vec.store)
	t.Close()
	t.Open("if (j < n)")
	step(func(at string) string { return vec.part(at, "n - j") }, func(at, of string) string { return vec.storePart(at, of, "n - j") })
	t.Close()
	t.Close()
}

// factors writes the constants that rows of B are scaled by.
func (t *thinWriter) factors(rows, terms int) {
	for r := range rows {
		for u := range terms {
			t.Line("const float a%d_%d = a[%d * lda + %d];", r, u, r, u)
		}
	}
}

// oneColumn writes the products with one column.
func (t *thinWriter) oneColumn() {
	heights := []int{8, 4, 2, 1}
	for _, rows := range heights {
		t.Blank()
		t.Open("static NOINLINE void dots_%d(i64 k, const float *a, i64 lda, const float *b, float *c, i64 ldc, int add)", rows)
		t.dots(rows, false)
		t.Close()
	}
	t.Blank()
	t.Open("static NOINLINE void dots_4_far(i64 k, const float *a, i64 lda, const float *b, float *c, i64 ldc, int add)")
	t.dots(4, true)
	t.Close()
	t.Blank()
	t.Comment("Products with one column as dot products of the rows of A and the column, which is copied where its elements are apart.")
	t.Open("static NOINLINE void one_column(i64 m, %s)", thinArguments)
	t.Line("float column[%d];", thinBlock)
	t.Open("for (i64 p = 0, depth; p < k; p += depth)")
	t.Line("depth = ldb == 1 ? k : least(%d, k - p);", thinBlock)
	t.Line("const float *x = b;")
	t.Open("if (ldb != 1)")
	t.Line("for (i64 l = 0; l < depth; l++) column[l] = b[(p + l) * ldb];")
	t.Line("x = column;")
	t.Close()
	t.Line("i64 i = 0;")
	t.Line("if (m * k > %d)", nextCache/4)
	t.Line("for (; m - i >= 4; i += 4) dots_4_far(depth, a + i * lda + p, lda, x, c + i * ldc, ldc, p > 0);")
	for n, rows := range heights {
		if n == 0 {
			t.Open("for (; m - i >= %d; i += %d)", rows, rows)
		} else {
			t.Open("if (m - i >= %d)", rows)
		}
		t.Line("dots_%d(depth, a + i * lda + p, lda, x, c + i * ldc, ldc, p > 0);", rows)
		if n > 0 && rows > 1 {
			t.Line("i += %d;", rows)
		}
		t.Close()
	}
	t.Close()
	t.Close()
}

// dots writes the dot products of some rows and a column. Few rows have several sums each.
func (t *thinWriter) dots(rows int, far bool) {
	depth, vec := max(thinSums/rows, 1), t.wide
	if far {
		t.Line("const float *next = a + 4 * lda;")
	}
	for r := range rows {
		for d := range depth {
			t.Line("wide c%d_%d = {0};", r, d)
		}
		if r > 0 {
			t.Line("const float *a%d = a + %d * lda;", r, r)
		}
	}
	t.Line("i64 p = 0;")
	step := func(d int, load func(at string) string) {
		t.Line("const wide b%d = %s;", d, load(fmt.Sprintf("b + p + %d", d*vec.lanes)))
		for r := range rows {
			t.Line("c%d_%d += b%d * %s;", r, d, d, load(fmt.Sprintf("a%s + p + %d", index(r), d*vec.lanes)))
		}
	}
	if depth > 1 {
		t.Open("for (; k - p >= %d; p += %[1]d)", depth*vec.lanes)
		if far {
			for at := 0; at < rows*depth*vec.lanes; at += 16 {
				t.Line("__builtin_prefetch(next + %d, 0, 2);", at)
			}
			t.Line("next += %d;", rows*depth*vec.lanes)
		}
		for d := range depth {
			step(d, vec.load)
		}
		t.Close()
	}
	t.Open("for (; k - p >= %d; p += %[1]d)", vec.lanes)
	step(0, vec.load)
	t.Close()
	t.Open("if (p < k)")
	step(0, func(at string) string { return vec.part(at, "k - p") })
	t.Close()
	sum := func(r int) string {
		var sums []string
		for d := range depth {
			sums = append(sums, fmt.Sprintf("c%d_%d", r, d))
		}
		return inPairs(sums)
	}
	for r := 0; r < rows; r += 4 {
		if rows >= 4 {
			t.Line("const wide_quad q%d = wide_sums(%s, %s, %s, %s);", r, sum(r), sum(r+1), sum(r+2), sum(r+3))
			t.Line("if (ldc == 1 && !add) *(wide_quad_any *)(c + %d) = q%[1]d;", r)
			t.Line("else")
			t.Open("if (1)")
		}
		for l := range min(rows, 4) {
			of := fmt.Sprintf("q%d[%d]", r, l)
			if rows < 4 {
				of = fmt.Sprintf("wide_sum(%s)", sum(l))
			}
			t.Line("c[%d * ldc] = %s + (add ? c[%[1]d * ldc] : 0);", r+l, of)
		}
		if rows >= 4 {
			t.Close()
		}
	}
}

// fewTerms writes the products whose sums have k terms, row by row.
func (t *thinWriter) fewTerms(k int) {
	t.Blank()
	t.Comment("Products of sums of %d terms.", k)
	t.Open("static NOINLINE void terms_%d(i64 m, i64 n, const float *a, i64 lda, const float *b, i64 ldb, float *c, i64 ldc)", k)
	for p := 1; p < k; p++ {
		t.Line("const float *b%d = b + %d * ldb;", p, p)
	}
	for _, rows := range []int{2, 1} {
		if rows == 2 {
			t.Line("if (n <= 64)")
		}
		t.Open("for (; m >= %d; m -= %[1]d, a += %[1]d * lda, c += %[1]d * ldc)", rows)
		t.termRows(rows, k)
		t.Close()
	}
	t.Close()
}

func (t *thinWriter) termRows(rows, k int) {
	vec := t.wide
	t.factors(rows, k)
	sum := func(r int) string {
		var sums []string
		for p := range k {
			sums = append(sums, fmt.Sprintf("a%d_%d * v%d", r, p, p))
		}
		return strings.Join(sums, " + ")
	}
	step := func(of string, load func(at string) string, store func(at, of string) string) {
		for p := range k {
			t.Line("const %s v%d = %s;", of, p, load(fmt.Sprintf("b%s + j", index(p))))
		}
		for r := range rows {
			t.Line("%s", store(fmt.Sprintf("c + %d * ldc + j", r), sum(r)))
		}
	}
	t.Line("i64 j = 0;")
	t.Open("for (; n - j >= %d; j += %d)", vec.lanes, vec.lanes)
	step("wide", vec.load, vec.store)
	t.Close()
	if vec.lanes == 16 {
		t.Open("if (j < n)")
		step("wide", func(at string) string { return vec.part(at, "n - j") }, func(at, of string) string { return vec.storePart(at, of, "n - j") })
	} else { // stores under a mask are slow
		t.Open("for (; j < n; j++)")
		step("float", func(at string) string { return "*(" + at + ")" }, func(at, of string) string { return "*(" + at + ") = " + of + ";" })
	}
	t.Close()
}

// choose writes the function that the code begins with.
func (t *thinWriter) choose() {
	t.Blank()
	t.Comment("Computes a product that is thin; says 0 if it is not.")
	t.Open("static inline int thin(i64 m, i64 n, %s)", thinArguments)
	for k := 1; k <= thinDepth; k++ {
		t.Line("if (k == %d) return terms_%d(m, n, a, lda, b, ldb, c, ldc), 1;", k, k)
	}
	t.Line("if (n == 1) return one_column(m, %s), 1;", thinCall)
	for rows := 1; rows <= thinRows; rows++ {
		t.Line("if (m == %d) return rows_%d(n, %s), 1;", rows, rows, thinCall)
	}
	t.Line("return 0;")
	t.Close()
}
