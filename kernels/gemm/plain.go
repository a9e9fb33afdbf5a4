package gemm

import "fmt"

// bounds maps the loop variables of the generated code to their dimensions. The variable along K is p.
var bounds = map[byte]string{'i': "m", 'j': "n", 'p': "k"}

// loopOrders maps the name of a loop order to the variables of the generated code, outermost first.
var loopOrders = map[string]string{"ijk": "ijp", "ikj": "ipj", "jik": "jip", "jki": "jpi", "kij": "pij", "kji": "pji"}

// plainHead writes the beginning of tune_kernel for the forms without scratch.
func plainHead(w *writer, linked bool) {
	w.Blank()
	w.Open("void tune_kernel(void *const *args, const i64 *dims)")
	w.Line("const float *restrict a = args[0], *restrict b = args[1];")
	w.Line("float *restrict c = args[2];")
	w.Line("const i64 m = dims[0], n = dims[1], k = dims[2]%s;", map[bool]string{true: ", lda = dims[3], ldb = dims[4], ldc = dims[5]"}[linked])
}

// plainForm has the C expressions of the plain forms. The rows of the operands are apart by their leading dimensions, or dense.
type plainForm struct{ lda, ldb, ldc string }

func plainOf(nt, linked bool) plainForm {
	switch {
	case linked:
		return plainForm{"lda", "ldb", "ldc"}
	case nt:
		return plainForm{"k", "k", "n"}
	}
	return plainForm{"k", "n", "n"}
}

// clear writes the loops that clear C.
func (f plainForm) clear(w *writer) {
	if f.ldc == "n" {
		w.Line("for (i64 i = 0; i < m * n; i++) c[i] = 0;")
		return
	}
	w.Nested("for (i64 i = 0; i < m; i++)", "for (i64 j = 0; j < n; j++) c[i * ldc + j] = 0;")
}

// element returns the expression of an element of C.
func (f plainForm) element() string { return "c[i * " + f.ldc + " + j]" }

// term returns the expression of one product in the sum for an element of C.
func (f plainForm) term(nt bool) string {
	if nt {
		return fmt.Sprintf("a[i * %s + p] * b[j * %s + p]", f.lda, f.ldb)
	}
	return fmt.Sprintf("a[i * %s + p] * b[p * %s + j]", f.lda, f.ldb)
}

// naive writes three loops.
func naive(w *writer, c Config, nt, linked bool) {
	w.Line("typedef long i64;")
	plainHead(w, linked)
	f := plainOf(nt, linked)
	order := loopOrders[c.Loops]
	var loops []string
	for _, v := range []byte(order) {
		loops = append(loops, fmt.Sprintf("for (i64 %c = 0; %c < %s; %c++)", v, v, bounds[v], v))
	}
	if order[2] == 'p' { // the innermost loop computes a whole element of C
		w.Open("%s", loops[0])
		w.Open("%s", loops[1])
		w.Line("float s = 0;")
		w.Nested(loops[2], fmt.Sprintf("s += %s;", f.term(nt)))
		w.Line("%s = s;", f.element())
		w.Close()
		w.Close()
	} else {
		f.clear(w)
		w.Open("%s", loops[0])
		w.Nested(loops[1], loops[2], fmt.Sprintf("%s += %s;", f.element(), f.term(nt)))
		w.Close()
	}
	w.Close()
}

// blocked writes three loops over square blocks, and three loops inside a block.
func blocked(w *writer, c Config, nt, linked bool) {
	w.Line("typedef long i64;")
	w.Line("static inline i64 least(i64 a, i64 b) { return a < b ? a : b; }")
	plainHead(w, linked)
	f := plainOf(nt, linked)
	f.clear(w)
	var lines []string
	for _, v := range []byte("ijp") {
		lines = append(lines, fmt.Sprintf("for (i64 %c0 = 0; %c0 < %s; %c0 += %d)", v, v, bounds[v], v, c.Block))
	}
	for _, v := range []byte(loopOrders[c.Loops]) {
		lines = append(lines, fmt.Sprintf("for (i64 %c = %c0; %c < least(%s, %c0 + %d); %c++)", v, v, v, bounds[v], v, c.Block, v))
	}
	w.Nested(append(lines, fmt.Sprintf("%s += %s;", f.element(), f.term(nt)))...)
	w.Close()
}
