package gemm

import (
	"fmt"
	"strings"

	"tune/kernels/native/cgen"
)

// hasThin reports whether programs get forms of their own for thin products, which depend on the instruction set alone. They do where parts of
// vectors are loaded under a mask. Code for several threads divides thin products, and keeps its forms.
func hasThin(c Config, nt bool) bool {
	return !nt && c.Workers <= 1 && c.ISA != cgen.Generic && (c.Form == FormTiled || c.Form == FormSkinny)
}

// The limits of thin products.
const (
	thinRows    = 3    // rows of a product that is computed as sums of rows of B
	thinDepth   = 4    // terms of the sums of a product that is computed row by row
	thinStrip   = 4    // vectors of a strip of columns whose sums stay in registers
	thinSums    = 8    // sums in flight, which hide the latency of a multiply-add
	thinColumns = 6    // columns of a product that is computed as dot products
	thinBlock   = 1024 // elements of a column that are copied at once, or columns of sums of rows
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

// quad is the shortest vector.
var quad = thinVector{"wide_quad", 4}

// thinWriter writes the forms for thin products: those with few columns, few rows, or sums of few terms.
type thinWriter struct {
	*writer
	isa    string
	wide   thinVector
	narrow thinVector // of few columns: loads of whole vectors would cross lines of the cache; the wide type where there is no other
}

func newThinWriter(w *writer, isa string) *thinWriter {
	t := &thinWriter{writer: w, isa: isa, wide: thinVector{"wide", vectorBytes(isa) / 4}}
	t.narrow = t.wide
	if t.masked() {
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
	t.sumOf(t.narrow.name, "lane_sum", "wide_quad", t.narrow.lanes)
	t.Line("%s", cgen.Memory("float", "wide_quad_any", 16, 4))
	t.Line("#define LOAD_WIDE_QUAD(p) ((wide_quad)*(const wide_quad_any *)(p))")
	t.Line("#define STORE_WIDE_QUAD(p, v) (*(wide_quad_any *)(p) = (v))")
	for rows := 1; rows <= thinRows; rows++ {
		t.fewRows(rows)
	}
	t.oneVector()
	t.fewColumns()
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
	strips := func() {
		for vectors := 1; vectors <= thinStrip; vectors++ {
			t.Line("if (n <= %d) return strip_%d_%d_wide(n - %d, %s);", vectors*t.wide.lanes, rows, vectors, (vectors-1)*t.wide.lanes, thinCall)
		}
	}
	t.Blank()
	t.Comment("Products of %d rows as sums of rows of B. What is far away is read in its order.", rows)
	t.Open("static NOINLINE void thin_rows_%d(i64 n, %s)", rows, thinArguments)
	if narrow {
		t.Line("if (n <= %d) return strip_%d_1_narrow(n, %s);", t.narrow.lanes, rows, thinCall)
	}
	strips()
	if rows > 1 {
		full := thinStrip * t.wide.lanes
		t.Open("if (n * k <= %d)", nextCache/4)
		t.Line("for (; n > %d; n -= %[1]d, b += %[1]d, c += %[1]d) strip_%d_%d_wide(%d, %s);", full, rows, thinStrip, t.wide.lanes, thinCall)
		strips()
		t.Close()
	}
	t.Line("const int far = n * k > %d;", nextCache/4)
	t.Line("const i64 block = far ? n : %d;", thinBlock)
	t.Open("for (i64 j = 0; j < n; j += block)")
	t.Line("const i64 width = least(block, n - j);")
	t.Line("i64 p = 0;")
	call := func(terms int, far string) {
		t.Line("add_%d_%d%s(width, a + p, lda, b + p * ldb + j, ldb, c + j, ldc, p > 0);", rows, terms, far)
	}
	t.Open("for (; k - p >= 4; p += 4)")
	t.Line("if (far)")
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
	t.Close()
}

// oneVector writes the products with columns that fit into one vector, a part of which is loaded and stored, or into two that overlap.
func (t *thinWriter) oneVector() {
	one := func(vec thinVector) {
		t.down("one_"+vec.name, "strip_%d_1_"+vec.name, []int{8, 4, 2, 1}, func(rows int) {
			if rows > thinRows { // those for fewer rows are there already
				t.strip(rows, 1, vec)
			}
		})
	}
	if t.narrow != t.wide {
		one(t.narrow)
	}
	one(t.wide)
	if !t.masked() {
		for _, vec := range []thinVector{quad, t.wide} {
			t.down("two_"+vec.name, "pair_%d_"+vec.name, []int{4, 2, 1}, func(rows int) { t.pair(rows, vec) })
		}
	}
}

// down writes the function that goes down the rows of C with functions for some rows at once, which write writes.
func (t *thinWriter) down(name, rowsOf string, heights []int, write func(rows int)) {
	for _, rows := range heights {
		write(rows)
	}
	t.Blank()
	t.Open("static NOINLINE void %s(i64 m, i64 n, %s)", name, thinArguments)
	for n, rows := range heights {
		call := fmt.Sprintf(rowsOf+"(n, %s);", rows, thinCall)
		next := fmt.Sprintf("m -= %d, a += %[1]d * lda, c += %[1]d * ldc", rows)
		switch {
		case n == 0:
			t.Line("for (; m >= %d; %s) %s", rows, next, call)
		case rows == 1:
			t.Line("if (m > 0) %s", call)
		default:
			t.Open("if (m >= %d)", rows)
			t.Line("%s", call)
			t.Line("%s;", next)
			t.Close()
		}
	}
	t.Close()
}

// pair writes the function for n columns in two vectors that overlap.
func (t *thinWriter) pair(rows int, vec thinVector) {
	t.Blank()
	t.Open("static NOINLINE void pair_%d_%s(i64 n, %s)", rows, vec.name, thinArguments)
	t.Line("n -= %d;", vec.lanes)
	for r := range rows {
		t.Line("%s c%d = {0}, d%[2]d = {0};", vec.name, r)
	}
	for r := 1; r < rows; r++ {
		t.Line("const float *a%d = a + %d * lda;", r, r)
	}
	t.Open("for (i64 p = 0; p < k; p++, b += ldb)")
	t.Line("%s v = %s, w = %s;", vec.name, vec.load("b"), vec.load("b + n"))
	t.keep(rows, "v")
	t.keep(rows, "w")
	for r := range rows {
		t.Line("c%d += a%s[p] * v;", r, index(r))
		t.Line("d%d += a%s[p] * w;", r, index(r))
	}
	t.Close()
	for r := range rows {
		at := fmt.Sprintf("c + %d * ldc", r)
		t.Line("%s", vec.store(at, fmt.Sprintf("c%d", r)))
		t.Line("%s", vec.store(at+" + n", fmt.Sprintf("d%d", r)))
	}
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
				t.Line("%s b%d_%d = %s;", vec.name, v, u, load)
				t.keep(rows, fmt.Sprintf("b%d_%d", v, u))
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
			t.Line("wide v%d = %s;", u, load(fmt.Sprintf("b%s + j", index(u))))
			t.keep(rows, fmt.Sprintf("v%d", u))
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
		t.Open("static NOINLINE void thin_columns_%d(i64 m, %s)", columns, thinArguments)
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
	t.Open("static NOINLINE void copy_columns(i64 n, i64 k, const float *b, i64 ldb, float *to)")
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
	t.Open("static NOINLINE void dots_%dx%d(i64 k, const float *a, i64 lda, const float *b, float *c, i64 ldc, int add, int far)", rows, columns)
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

// fewTerms writes the products whose sums have k terms. Results far away are written in the order in which they lie in memory.
func (t *thinWriter) fewTerms(k int) {
	if t.masked() {
		for vectors := 1; vectors <= thinStrip; vectors++ {
			t.termsStrip(k, vectors)
		}
	}
	t.Blank()
	t.Comment("Products of sums of %d terms.", k)
	t.Open("static NOINLINE void terms_%d(i64 m, i64 n, const float *a, i64 lda, const float *b, i64 ldb, float *c, i64 ldc)", k)
	if t.masked() {
		const arguments = "a, lda, b, ldb, c, ldc"
		for vectors := 1; vectors <= thinStrip; vectors++ {
			t.Line("if (n <= %d) return terms_%d_%d(m, n, %s);", vectors*t.wide.lanes, k, vectors, arguments)
		}
		if full := thinStrip * t.wide.lanes; k > 1 {
			t.Open("if (m * n <= %d)", nextCache/8)
			t.Line("for (; n > %d; n -= %[1]d, b += %[1]d, c += %[1]d) terms_%[2]d_%[3]d(m, %[1]d, %[4]s);", full, k, thinStrip, arguments)
			t.Line("return terms_%d(m, n, %s);", k, arguments)
			t.Close()
		}
	} else if full := 2 * t.wide.lanes; k > 1 {
		t.Open("if (n > %d && m * n <= %d)", full, nextCache/8)
		t.Open("for (i64 j = 0; j < n; j += %d)", full)
		t.Line("const i64 at = least(j, n - %d);", full)
		t.Line("terms_%d(m, %d, a, lda, b + at, ldb, c + at, ldc);", k, full)
		t.Close()
		t.Line("return;")
		t.Close()
	}
	for p := 1; p < k; p++ {
		t.Line("const float *b%d = b + %d * ldb;", p, p)
	}
	if !t.masked() {
		t.fewTermsOf(quad, k)
		t.fewTermsOf(t.wide, k)
	}
	t.Open("for (; m > 0; m--, a += lda, c += ldc)")
	for p := range k {
		t.Line("const float a%d = a[%d];", p, p)
	}
	t.Line("i64 j = 0;")
	step := func(of, at string, load func(at string) string, store func(at, of string) string) {
		sum := ""
		for p := range k {
			sum += fmt.Sprintf(" + a%d * %s", p, load(fmt.Sprintf("b%s + %s", index(p), at)))
		}
		t.Line("%s", store("c + "+at, sum[3:]))
	}
	vec := t.wide
	t.Line("for (; n - j >= %d; j += %d)", vec.lanes, vec.lanes)
	step("wide", "j", vec.load, vec.store)
	if t.masked() {
		t.Line("if (j < n)")
		step("wide", "j", func(at string) string { return vec.part(at, "n - j") }, func(at, of string) string { return vec.storePart(at, of, "n - j") })
	} else {
		t.Line("if (j > 0 && j < n)")
		step("wide", fmt.Sprintf("n - %d", vec.lanes), vec.load, vec.store)
		t.Line("for (; j < n && n < %d; j++)", vec.lanes)
		step("float", "j", func(at string) string { return "*(" + at + ")" }, func(at, of string) string { return "*(" + at + ") = " + of + ";" })
	}
	t.Close()
	t.Close()
}

// masked reports whether stores under a mask are fast.
func masked(isa string) bool { return vectorBytes(isa) == 64 }

func (t *thinWriter) masked() bool { return masked(t.isa) }

// termsStrip writes the function for a few vectors of columns, of which the last one ends at column n. They stay in registers.
func (t *thinWriter) termsStrip(k, vectors int) {
	vec := t.wide
	t.Blank()
	t.Open("static NOINLINE void terms_%d_%d(i64 m, i64 n, const float *a, i64 lda, const float *b, i64 ldb, float *c, i64 ldc)", k, vectors)
	t.Line("n -= %d;", (vectors-1)*vec.lanes)
	for p := range k {
		for v := range vectors {
			at := fmt.Sprintf("b + %d * ldb + %d", p, v*vec.lanes)
			load := vec.load(at)
			if v == vectors-1 {
				load = vec.part(at, "n")
			}
			t.Line("const %s b%d_%d = %s;", vec.name, p, v, load)
		}
	}
	t.Open("for (; m > 0; m--, a += lda, c += ldc)")
	for v := range vectors {
		sum := ""
		for p := range k {
			sum += fmt.Sprintf(" + a[%d] * b%d_%d", p, p, v)
		}
		at := fmt.Sprintf("c + %d", v*vec.lanes)
		if v == vectors-1 {
			t.Line("%s", vec.storePart(at, sum[3:], "n"))
		} else {
			t.Line("%s", vec.store(at, sum[3:]))
		}
	}
	t.Close()
	t.Close()
}

// fewTermsOf writes the loop over rows where two vectors that overlap hold all columns.
func (t *thinWriter) fewTermsOf(vec thinVector, k int) {
	sum := func(of string) string {
		text := ""
		for p := range k {
			text += fmt.Sprintf(" + a[%d] * %s%d", p, of, p)
		}
		return text[3:]
	}
	t.Open("if (n >= %d && n <= %d)", vec.lanes, 2*vec.lanes)
	for p := range k {
		at := "b" + index(p)
		t.Line("%s v%d = %s, w%d = %s;", vec.name, p, vec.load(at), p, vec.load(fmt.Sprintf("%s + n - %d", at, vec.lanes)))
	}
	t.Open("for (; m > 0; m--, a += lda, c += ldc)")
	t.Line("const %s last = %s;", vec.name, sum("w"))
	t.Line("%s", vec.store("c", sum("v")))
	t.Line("%s", vec.store(fmt.Sprintf("c + n - %d", vec.lanes), "last"))
	t.Close()
	t.Line("return;")
	t.Close()
}

// keep has the compiler hold a vector in a register that several rows use: gcc would load it for each of them.
func (t *thinWriter) keep(rows int, vector string) {
	if rows > 1 {
		t.Line("__asm__(\"\" : \"+v\"(%s));", vector)
	}
}

// thinProducts is the condition, as a formula, under which a product takes these forms.
func thinProducts() string {
	return fmt.Sprintf("k <= %d or m <= %d or n <= 16", thinDepth, thinRows)
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

// choose writes the function that the code begins with.
func (t *thinWriter) choose() {
	t.Blank()
	t.Comment("Computes a product that is thin; says 0 if it is not.")
	t.Open("static inline int thin(i64 m, i64 n, %s)", thinArguments)
	t.Line("if (!(%s)) return 0;", strings.NewReplacer(" or ", " || ", " and ", " && ").Replace(thinProducts()))
	for k := 1; k <= thinDepth; k++ {
		t.Line("if (k == %d) return terms_%d(m, n, a, lda, b, ldb, c, ldc), 1;", k, k)
	}
	t.Line("if (n == 1) return thin_columns_1(m, %s), 1;", thinCall)
	for rows := 1; rows <= thinRows; rows++ {
		t.Line("if (m == %d) return thin_rows_%d(n, %s), 1;", rows, rows, thinCall)
	}
	for columns := 2; columns <= thinColumns; columns++ {
		t.Line("if (n == %d && k >= %d) return thin_columns_%d(m, %s), 1;", columns, t.deep(columns), columns, thinCall)
	}
	if t.masked() {
		t.Line("if (n <= %d) return one_narrow(m, n, %s), 1;", t.narrow.lanes, thinCall)
		t.Line("return one_wide(m, n, %s), 1;", thinCall)
	} else {
		t.Line("if (n > %d) return two_%s(m, n, %s), 1;", t.wide.lanes, t.wide.name, thinCall)
		t.Line("if (k >= %d) return one_%s(m, n, %s), 1;", deepColumns, t.wide.name, thinCall)
		t.Line("return two_%s(m, n, %s), 1;", quad.name, thinCall)
	}
	t.Close()
}
