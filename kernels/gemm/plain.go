package gemm

import "fmt"

// naive writes three loops.
func naive(w *writer, c Config, nt bool) {
	w.f("typedef long i64;")
	b := "b[p * n + j]"
	if nt {
		b = "b[j * k + p]"
	}
	w.f("\nvoid tune_kernel(void *const *args, const i64 *dims) {")
	w.in()
	w.f("const float *restrict a = args[0], *restrict b = args[1];")
	w.f("float *restrict c = args[2];")
	w.f("const i64 m = dims[0], n = dims[1], k = dims[2];")
	bound := map[byte]string{'i': "m", 'j': "n", 'p': "k"}
	order := loopOrders[c.Loops]
	inner := order[2] == 'p'
	if !inner {
		w.f("for (i64 i = 0; i < m * n; i++) c[i] = 0;")
	}
	for n, loop := range []byte(order) {
		if n == 2 && inner {
			w.f("float s = 0;")
		}
		w.f("for (i64 %c = 0; %c < %s; %c++)%s", loop, loop, bound[loop], loop, map[bool]string{true: " {"}[n == 1 && inner || n == 0])
		w.in()
	}
	if inner {
		w.f("s += a[i * k + p] * %s;", b)
		w.out()
		w.f("c[i * n + j] = s;")
		w.out()
		w.f("}")
		w.out()
	} else {
		w.f("c[i * n + j] += a[i * k + p] * %s;", b)
		w.out()
		w.out()
		w.out()
	}
	w.f("}")
	w.out()
	w.f("}")
}

// loopOrders maps the names of the orders to the variables of the generated code, where K is p.
var loopOrders = map[string]string{"ijk": "ijp", "ikj": "ipj", "jik": "jip", "jki": "jpi", "kij": "pij", "kji": "pji"}

// blocked writes three loops over square blocks and three inside them.
func blocked(w *writer, c Config, nt bool) {
	w.f("typedef long i64;")
	w.f("static inline i64 least(i64 a, i64 b) { return a < b ? a : b; }")
	w.f("\nvoid tune_kernel(void *const *args, const i64 *dims) {")
	w.in()
	w.f("const float *restrict a = args[0], *restrict b = args[1];")
	w.f("float *restrict c = args[2];")
	w.f("const i64 m = dims[0], n = dims[1], k = dims[2];")
	w.f("for (i64 i = 0; i < m * n; i++) c[i] = 0;")
	bound := map[byte]string{'i': "m", 'j': "n", 'p': "k"}
	for _, loop := range []byte("ijp") {
		w.f("for (i64 %c0 = 0; %c0 < %s; %c0 += %d)", loop, loop, bound[loop], loop, c.Block)
		w.in()
	}
	inner := loopOrders[c.Loops]
	b := "b[p * n + j]"
	if nt {
		b = "b[j * k + p]"
	}
	for _, loop := range []byte(inner) {
		w.f("for (i64 %c = %c0; %c < least(%s, %c0 + %d); %c++)", loop, loop, loop, bound[loop], loop, c.Block, loop)
		w.in()
	}
	w.f("%s", fmt.Sprintf("c[i * n + j] += a[i * k + p] * %s;", b))
	w.depth = 0
	w.f("}")
}
