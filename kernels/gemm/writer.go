package gemm

import (
	"fmt"
	"slices"
	"strings"
)

// writer collects C text, indented.
type writer struct {
	b     strings.Builder
	depth int
}

// f writes a line. A line that starts with a line break stands apart from those above.
func (w *writer) f(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	for rest, ok := strings.CutPrefix(line, "\n"); ok; rest, ok = strings.CutPrefix(line, "\n") {
		w.b.WriteByte('\n')
		line = rest
	}
	if !strings.HasPrefix(line, "#") {
		w.b.WriteString(strings.Repeat("\t", w.depth))
	}
	w.b.WriteString(line)
	w.b.WriteByte('\n')
}

func (w *writer) in()  { w.depth++ }
func (w *writer) out() { w.depth-- }

// lines writes text as it is.
func (w *writer) lines(text string) { w.b.WriteString(text) }

// types writes the vector types and what is made of them. No header is needed, which keeps a compilation
// short.
func (w *writer) types(vecBytes int) {
	lanes := vecBytes / 4
	w.f("typedef long i64;")
	w.f("typedef float vec __attribute__((vector_size(%d)));", vecBytes)
	w.f("typedef float vec_any __attribute__((vector_size(%d), aligned(4), may_alias)); // as it lies in memory", vecBytes)
	w.lines(`
#define LOAD(p) ((vec)*(const vec_any *)(p))
#define STORE(p, v) (*(vec_any *)(p) = (v))
#define NOINLINE __attribute__((noinline))
#ifdef __has_builtin
#define HAS(x) __has_builtin(x)
#else
#define HAS(x) 0
#endif

static inline i64 least(i64 a, i64 b) { return a < b ? a : b; }
`)
	w.lines(partText(lanes))
}

// partText is the code that loads and stores the first n floats of a vector, 0 < n <= lanes.
func partText(lanes int) string {
	const plain = `static inline vec load_part(const float *p, i64 n) {
	vec v = {0};
	for (i64 i = 0; i < n; i++) v[i] = p[i];
	return v;
}
static inline void store_part(float *p, vec v, i64 n) {
	for (i64 i = 0; i < n; i++) p[i] = v[i];
}
`
	avx512 := func(bits int, mask string) string {
		return fmt.Sprintf(`static inline vec load_part(const float *p, i64 n) {
	return __builtin_ia32_loadups%[1]d_mask((const void *)p, (vec){0}, (%[2]s)((1u << n) - 1));
}
static inline void store_part(float *p, vec v, i64 n) {
	__builtin_ia32_storeups%[1]d_mask((void *)p, v, (%[2]s)((1u << n) - 1));
}
`, bits, mask)
	}
	out := "\n// Loads and stores of the first n floats of a vector.\n"
	switch lanes {
	case 16:
		return out + "#if defined __AVX512F__ && HAS(__builtin_ia32_loadups512_mask) && HAS(__builtin_ia32_storeups512_mask)\n" + avx512(512, "unsigned short") + "#else\n" + plain + "#endif\n"
	case 8:
		return out + "#if defined __AVX512VL__ && HAS(__builtin_ia32_loadups256_mask) && HAS(__builtin_ia32_storeups256_mask)\n" + avx512(256, "unsigned char") + `#elif defined __AVX__ && HAS(__builtin_ia32_maskloadps256) && HAS(__builtin_ia32_maskstoreps256)
typedef int ivec __attribute__((vector_size(32)));
static inline ivec first(i64 n) { return ((ivec){0, 1, 2, 3, 4, 5, 6, 7} < (int)n); }
static inline vec load_part(const float *p, i64 n) { return __builtin_ia32_maskloadps256((const void *)p, first(n)); }
static inline void store_part(float *p, vec v, i64 n) { __builtin_ia32_maskstoreps256((void *)p, first(n), v); }
#else
` + plain + "#endif\n"
	}
	return out + plain
}

// transpose writes the function of that name, by which strips are packed.
func (w *writer) transpose(lanes int) {
	w.f("\n// Writes the n rows of a matrix, k long and ld apart, as columns of a strip that is wide floats wide; columns")
	w.f("// without a row become zero.")
	w.f("static inline __attribute__((always_inline)) void transpose(i64 n, i64 wide, i64 k, const float *from, i64 ld, float *to) {")
	w.in()
	w.f("i64 p = 0;")
	w.f("#if HAS(__builtin_shufflevector)")
	w.f("for (; k - p >= %d; p += %d) {", lanes, lanes)
	w.in()
	w.f("i64 i = 0;")
	for rows := min(8, lanes); rows > 1; rows /= 2 {
		w.transposeRows(lanes, rows)
	}
	w.f("for (; i < n; i++)")
	w.f("\tfor (i64 q = p; q < p + %d; q++) to[q * wide + i] = from[i * ld + q];", lanes)
	w.out()
	w.f("}")
	w.f("#endif")
	w.f("for (; p < k; p++)")
	w.f("\tfor (i64 i = 0; i < n; i++) to[p * wide + i] = from[i * ld + p];")
	w.f("if (n < wide)")
	w.f("\tfor (p = 0; p < k; p++)")
	w.f("\t\tfor (i64 i = n; i < wide; i++) to[p * wide + i] = 0;")
	w.out()
	w.f("}")
}

// transposeRows writes the loop that transposes that many rows at once, a vector of each: vectors of ever more rows are
// interleaved until each has whole columns.
func (w *writer) transposeRows(lanes, rows int) {
	w.f("for (; n - i >= %d; i += %d) {", rows, rows)
	w.in()
	w.f("typedef float column __attribute__((vector_size(%d), aligned(4), may_alias));", 4*rows)
	w.f("const float *f = from + i * ld + p;")
	w.f("float *t = to + p * wide + i;")
	// The rows below are packed next, and lie too far apart for the hardware to fetch them ahead.
	w.f("for (i64 r = 0; r < %d; r++) __builtin_prefetch(f + (n + r) * ld);", rows)
	// vector has in lane l an element of column k[l].
	type vector struct {
		name string
		k    []int
	}
	var groups [][]vector // those of the same rows
	for r := range rows {
		v := vector{name: fmt.Sprintf("r%d", r)}
		for l := range lanes {
			v.k = append(v.k, l)
		}
		groups = append(groups, []vector{v})
		w.f("vec %s = LOAD(f + %d * ld);", v.name, r)
	}
	for unit := 1; unit < rows; unit *= 2 {
		var next [][]vector
		for g := 0; g < len(groups); g += 2 {
			var merged []vector
			for n, a := range groups[g] {
				b := groups[g+1][n]
				for half := range 2 {
					pattern := interleave(lanes, unit, half)
					v := vector{name: fmt.Sprintf("s%d_%d_%d", unit, g/2, len(merged))}
					var at []string
					for _, from := range pattern {
						at = append(at, fmt.Sprint(from))
						v.k = append(v.k, slices.Concat(a.k, b.k)[from])
					}
					w.f("vec %s = __builtin_shufflevector(%s, %s, %s);", v.name, a.name, b.name, strings.Join(at, ", "))
					merged = append(merged, v)
				}
			}
			next = append(next, merged)
		}
		groups = next
	}
	for _, v := range groups[0] {
		for l := 0; l < lanes; l += rows {
			value := v.name
			if lanes > rows {
				var at []string
				for i := range rows {
					at = append(at, fmt.Sprint(l+i))
				}
				value = fmt.Sprintf("__builtin_shufflevector(%s, %s, %s)", v.name, v.name, strings.Join(at, ", "))
			}
			w.f("*(column *)(t + %d * wide) = %s;", v.k[l], value)
		}
	}
	w.out()
	w.f("}")
}

// interleave returns which lanes of two vectors, counted through, make the first or the second half of both, with units
// of either in turn: in each four lanes, where units are smaller, as processors have such an instruction.
func interleave(lanes, unit, half int) []int {
	block := 4
	if unit >= block {
		block = lanes
	}
	var out []int
	for start := 0; start < lanes; start += block {
		first := start + half*block/2
		for at := first; at < first+block/2; at += unit {
			for _, vector := range []int{0, lanes} {
				for i := range unit {
					out = append(out, vector+at+i)
				}
			}
		}
	}
	return out
}
