package gemm

import "fmt"

// fewTerms writes the products whose sums have k terms. What few columns need of B stays in registers. Of more columns a few rows are computed at
// once, which load B once for all of them, and write results far away in the order in which they lie in memory.
func (t *thinWriter) fewTerms(k int) {
	if t.masked() {
		for vectors := 1; vectors <= thinStrip; vectors++ {
			t.termsStrip(k, vectors)
		}
	}
	heights := t.termRows(k)
	for _, rows := range heights {
		t.rowsOfTerms(k, rows)
	}
	t.Blank()
	t.Comment("Products of sums of %d terms.", k)
	t.Open("static THIN void terms_%d(i64 m, i64 n, %s)", k, matrixArguments)
	if t.masked() {
		for vectors := 1; vectors <= thinStrip; vectors++ {
			t.Line("if (n <= %d) return terms_%d_%d(m, n, %s);", vectors*t.wide.lanes, k, vectors, matrices)
		}
		if full := thinStrip * t.wide.lanes; k == 2 {
			t.Open("if (m * n <= %d)", nearCache/2)
			t.Line("for (; n > %d; n -= %[1]d, b += %[1]d, c += %[1]d) terms_%[2]d_%[3]d(m, %[1]d, %[4]s);", full, k, thinStrip, matrices)
			t.Line("return terms_%d(m, n, %s);", k, matrices)
			t.Close()
		}
	} else {
		t.fewTermsOf(quad, k)
		t.fewTermsOf(t.wide, k)
	}
	t.goDown(heights, fmt.Sprintf("sums_%d_%%d", k), matrices)
	t.Close()
}

// termRows are how many rows are computed at once, of products of sums of k terms. The factors of all of them stay in registers.
func (t *thinWriter) termRows(k int) []int {
	switch {
	case k == 1: // B is in a cache, and one stream of results is written faster than two
		return []int{1}
	case k > 2 && !t.masked():
		return []int{2, 1}
	}
	return []int{4, 2, 1}
}

// rowsOfTerms writes the function for a few rows.
func (t *thinWriter) rowsOfTerms(k, rows int) {
	t.Blank()
	t.Open("static THIN void sums_%d_%d(i64 n, %s)", k, rows, matrixArguments)
	for p := 1; p < k; p++ {
		t.Line("const float *b%d = b + %d * ldb;", p, p)
	}
	t.factors(rows, k)
	step := func(of, at string, load func(at string) string, store func(at, of string) string) {
		for p := range k {
			v := fmt.Sprintf("v%d", p)
			t.Line("%s %s = %s;", of, v, load(fmt.Sprintf("b%s + %s", index(p), at)))
			if of == "wide" {
				t.keep(rows, v)
			}
		}
		for r := range rows {
			sum := ""
			for p := range k {
				sum += fmt.Sprintf(" + a%d_%d * v%d", r, p, p)
			}
			t.Line("%s", store(fmt.Sprintf("c + %d * ldc + %s", r, at), sum[3:]))
		}
	}
	part := func(width string) {
		step("wide", "j", func(at string) string { return t.wide.part(at, width) }, func(at, of string) string { return t.wide.storePart(at, of, width) })
	}
	lanes := t.wide.lanes
	if t.masked() && k > 1 { // as in addRows
		t.Open("for (i64 j = 0; j < n; j += %d)", lanes)
		t.Line("const i64 width = least(n - j, %d);", lanes)
		part("width")
		t.Close()
		t.Close()
		return
	}
	t.Line("i64 j = 0;")
	t.Open("for (; n - j >= %d; j += %d)", lanes, lanes)
	step("wide", "j", t.wide.load, t.wide.store)
	t.Close()
	if t.masked() {
		t.Open("if (j < n)")
		part("n - j")
		t.Close()
	} else {
		t.Open("if (j > 0 && j < n)")
		step("wide", fmt.Sprintf("n - %d", lanes), t.wide.load, t.wide.store)
		t.Close()
		t.Open("for (; j < n && n < %d; j++)", lanes)
		step("float", "j", func(at string) string { return "*(" + at + ")" }, func(at, of string) string { return "*(" + at + ") = " + of + ";" })
		t.Close()
	}
	t.Close()
}

// termsStrip writes the function for a few vectors of columns, of which the last one ends at column n. They stay in registers.
func (t *thinWriter) termsStrip(k, vectors int) {
	vec := t.wide
	t.Blank()
	t.Open("static THIN void terms_%d_%d(i64 m, i64 n, %s)", k, vectors, matrixArguments)
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
		at := fmt.Sprintf("b + %d * ldb", p)
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
