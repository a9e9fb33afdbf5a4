package gemm

import (
	"fmt"

	"tune/kernels/native/cgen"
)

// fewRows writes the products of a few rows as sums of rows of B.
func (t *thinWriter) fewRows(rows int) {
	narrow := t.narrow != t.wide
	if narrow {
		t.strip(rows, 1, t.narrow)
	}
	for vectors := 1; vectors <= thinStrip; vectors++ {
		t.strip(rows, vectors, t.wide)
	}
	spans := t.spans(rows)
	for n, vectors := range spans {
		t.span(rows, append([]int{thinStrip}, spans...)[n], vectors)
	}
	terms := t.termsAtOnce(rows)
	for _, at := range terms {
		t.addRows(rows, at, false)
	}
	t.addRows(rows, terms[0], true)
	strips := func() {
		for vectors := 1; vectors <= thinStrip; vectors++ {
			t.Line("if (n <= %d) return strip_%d_%d_wide(n - %d, %s);", vectors*t.wide.lanes, rows, vectors, (vectors-1)*t.wide.lanes, thinCall)
		}
	}
	t.Blank()
	t.Comment("Products of %d rows as sums of rows of B. What is far away is read in its order.", rows)
	t.Open("static THIN void thin_rows_%d(i64 n, %s)", rows, thinArguments)
	if narrow {
		t.Line("if (n <= %d) return strip_%d_1_narrow(n, %s);", t.narrow.lanes, rows, thinCall)
	}
	strips()
	for _, vectors := range spans {
		t.Line("if (n <= %d) return span_%d_%d(n, %s);", vectors*t.wide.lanes, rows, vectors, thinCall)
	}
	if rows == thinRows {
		full := thinStrip * t.wide.lanes
		t.Open("if (n * k <= %d)", nearCache/4)
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
	for n, at := range terms {
		switch {
		case n == 0:
			t.Open("for (; k - p >= %d; p += %[1]d)", at)
			t.Line("if (far)")
			call(at, "_far")
			t.Line("else")
			call(at, "")
			t.Close()
		case at == 1:
			t.Line("if (p < k)")
			call(at, "")
		default:
			t.Open("if (k - p >= %d)", at)
			call(at, "")
			t.Line("p += %d;", at)
			t.Close()
		}
	}
	t.Close()
	t.Close()
}

// spans are how many vectors hold all columns of a few rows: more than a strip does, and as many as registers do with the rest of the loop.
func (t *thinWriter) spans(rows int) (out []int) {
	registers := 12
	if t.masked() {
		registers = 28
	}
	for _, vectors := range []int{5, 6, 7, 8, 9, 10, 12, 14, 16, 20, 24, 28} {
		if rows*vectors <= registers {
			out = append(out, vectors)
		}
	}
	return out
}

// span writes the function for a few rows whose columns are more than those of fewer vectors, and at most those of vectors. B is read in
// its order. The last vectors overlap.
func (t *thinWriter) span(rows, fewer, vectors int) {
	t.Blank()
	t.Open("static THIN void span_%d_%d(i64 n, %s)", rows, vectors, thinArguments)
	each := func(f func(r, v int)) {
		for r := range rows {
			for v := range vectors {
				f(r, v)
			}
		}
	}
	at := func(v int) string {
		if v < fewer {
			return fmt.Sprint(v * t.wide.lanes)
		}
		return fmt.Sprintf("at%d", v)
	}
	for v := fewer; v < vectors-1; v++ {
		t.Line("const i64 at%d = least(%d, n - %d);", v, v*t.wide.lanes, t.wide.lanes)
	}
	t.Line("const i64 at%d = n - %d;", vectors-1, t.wide.lanes)
	each(func(r, v int) { t.Line("wide c%d_%d = {0};", r, v) })
	for r := 1; r < rows; r++ {
		t.Line("const float *a%d = a + %d * lda;", r, r)
	}
	t.Open("for (i64 p = 0; p < k; p++, b += ldb)")
	load := func(v int) {
		t.Line("wide b%d = %s;", v, t.wide.load("b + "+at(v)))
		t.keep(rows, fmt.Sprintf("b%d", v))
	}
	oneStep(rows, vectors, load, func(r, v int) { t.Line("c%d_%d += a%s[p] * b%d;", r, v, index(r), v) })
	t.Close()
	each(func(r, v int) {
		t.Line("%s", t.wide.store(fmt.Sprintf("c + %d * ldc + %s", r, at(v)), fmt.Sprintf("c%d_%d", r, v)))
	})
	t.Close()
}

// termsAtOnce are how many rows of B are added at once. The factors of all of them stay in registers.
func (t *thinWriter) termsAtOnce(rows int) []int {
	switch {
	case !t.masked():
		return []int{4, 2, 1}
	case rows < thinRows:
		return []int{8, 4, 2, 1}
	}
	return []int{6, 4, 2, 1}
}

// oneVector writes the products with columns that fit into one vector, a part of which is loaded and stored, or into two that overlap.
func (t *thinWriter) oneVector() {
	heights := []int{8, 4, 2, 1}
	if t.masked() {
		heights = []int{8, 7, 6, 5, 4, 3, 2, 1} // registers hold several sums of each element
	}
	one := func(vec thinVector) {
		t.down("one_"+vec.name, "strip_%d_1_"+vec.name, heights, func(rows int) {
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
	t.Open("static THIN void %s(i64 m, i64 n, %s)", name, thinArguments)
	t.goDown(heights, rowsOf, thinCall)
	t.Close()
}

// goDown writes the loop down the rows of C: calls of the functions for some rows at once, the most rows first. rowsOf is their name, with a
// verb for the number of rows.
func (t *thinWriter) goDown(heights []int, rowsOf, arguments string) {
	for n, rows := range heights {
		call := fmt.Sprintf(rowsOf+"(n, %s);", rows, arguments)
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
}

// pair writes the function for n columns in two vectors that overlap.
func (t *thinWriter) pair(rows int, vec thinVector) {
	t.Blank()
	t.Open("static THIN void pair_%d_%s(i64 n, %s)", rows, vec.name, thinArguments)
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

// oneStep writes the loads of a row of B, and what its vectors add to the sums of some rows. With more rows than vectors, the vectors stay in
// registers for all rows; otherwise the factors of the rows do.
func oneStep(rows, vectors int, load func(v int), add func(r, v int)) {
	if rows <= max(vectors, thinRows) {
		for v := range vectors {
			load(v)
			for r := range rows {
				add(r, v)
			}
		}
		return
	}
	for v := range vectors {
		load(v)
	}
	for r := range rows {
		for v := range vectors {
			add(r, v)
		}
	}
}

// sumsOf is how many sums each element of a strip has.
func (t *thinWriter) sumsOf(rows, vectors int) int {
	if rows > thinRows {
		return cgen.Ceil(thinSums, rows*vectors)
	}
	return max(thinSums/(rows*vectors), 1)
}

// strip writes the function for a few vectors of columns, of which the last one holds n elements. Sums of one vector are several ones.
func (t *thinWriter) strip(rows, vectors int, vec thinVector) {
	unroll := t.sumsOf(rows, vectors)
	t.Blank()
	t.Open("static THIN void strip_%d_%d_%s(i64 n, %s)", rows, vectors, vec.name, thinArguments)
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
			load := func(v int) {
				at := fmt.Sprintf("b + %d", v*vec.lanes)
				vector := vec.load(at)
				if v == vectors-1 {
					vector = vec.part(at, "n")
				}
				t.Line("%s b%d_%d = %s;", vec.name, v, u, vector)
				t.keep(rows, fmt.Sprintf("b%d_%d", v, u))
			}
			oneStep(rows, vectors, load, func(r, v int) { t.Line("c%d_%d_%d += a%s[%d] * b%d_%d;", r, v, u, index(r), u, v, u) })
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

// addRows writes the function that adds a few rows of B, scaled, to rows of C. Where loads of parts of vectors are fast, all loads are such: B that is
// in the second cache arrives half as fast again on a Zen 5, where loads under a mask do not train the prefetcher of its first cache. Of a B that is far away it asks for the rows that follow, in
// the order in which they lie in memory where B is dense: several streams of it arrive more slowly than one.
func (t *thinWriter) addRows(rows, terms int, far bool) {
	suffix := map[bool]string{true: "_far"}[far]
	t.Blank()
	t.Open("static THIN void add_%d_%d%s(i64 n, %s, int add)", rows, terms, suffix, matrixArguments)
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
			if terms > 4 {
				t.Line("wide d%d = {0};", r)
			}
			t.Line("if (add) c%d = %s;", r, load(at))
			for u := range terms {
				sum := "c"
				if terms > 4 && u >= terms/2 {
					sum = "d" // does not wait for the first half
				}
				t.Line("%s%d += a%d_%d * v%d;", sum, r, r, u, u)
			}
			sum := fmt.Sprintf("c%d", r)
			if terms > 4 {
				sum += fmt.Sprintf(" + d%d", r)
			}
			t.Line("%s", store(at, sum))
		}
	}
	part := func(width string) {
		step(func(at string) string { return vec.part(at, width) }, func(at, of string) string { return vec.storePart(at, of, width) })
	}
	ahead := func() {
		for at := 0; far && at < terms*vec.lanes; at += 16 {
			t.Line("__builtin_prefetch(next + %d, 0, 2);", at)
		}
		if far {
			t.Line("next += %d;", terms*vec.lanes)
		}
	}
	if t.masked() {
		t.Open("for (i64 j = 0; j < n; j += %d)", vec.lanes)
		ahead()
		t.Line("const i64 width = least(n - j, %d);", vec.lanes)
		part("width")
		t.Close()
	} else {
		t.Line("i64 j = 0;")
		t.Open("for (; n - j >= %d; j += %d)", vec.lanes, vec.lanes)
		ahead()
		step(vec.load, vec.store)
		t.Close()
		t.Open("if (j < n)")
		part("n - j")
		t.Close()
	}
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
