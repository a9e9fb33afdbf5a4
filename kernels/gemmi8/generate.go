package gemmi8

import (
	"fmt"
	"strings"

	"tune/kernels/native"
	"tune/kernels/threads"
	"tune/space"
)

// Generate writes the C code of a point.
func (g *Spec) Generate(p space.Point) (native.Source, error) {
	b := &generator{Spec: g, p: p}
	b.file()
	return native.Source{Lang: "c", Text: b.b.String(), Compiler: p.Str("compiler"), Flags: g.flags(p), Threads: g.workers(p)}, nil
}

// flags are those of the compiler. Nothing may be contracted: a product of floats is rounded before it is used.
func (g *Spec) flags(p space.Point) []string {
	flags := []string{"-std=gnu11", "-" + p.Str("opt"), "-ffp-contract=off"}
	switch isa := p.Str("isa"); {
	case isa == isaNative && g.machine.Arch == "amd64":
		flags = append(flags, "-march=native")
	case isa == isaNative:
		flags = append(flags, "-mcpu=native")
	default:
		flags = append(flags, instructionsOf(isa).flags...)
	}
	if g.workers(p) > 1 {
		flags = append(flags, threads.Flags()...)
	}
	return flags
}

// generator writes one file.
type generator struct {
	*Spec
	p  space.Point
	in instructions
	b  strings.Builder
}

func (g *generator) line(format string, args ...any) {
	fmt.Fprintf(&g.b, format+"\n", args...)
}

// text writes lines as they are.
func (g *generator) text(s string) { g.b.WriteString(strings.TrimPrefix(s, "\n")) }

func (g *generator) file() {
	g.line("// gemm-i8, relu=%v, weights=%s: %s", g.relu, g.weights, g.p.Key())
	g.line("#include <stdint.h>\n")
	if g.p.Str("form") == formPlain {
		g.plain()
		return
	}
	g.in = instructionsOf(g.p.Str("isa"))
	if g.workers(g.p) > 1 {
		g.line("%s", threads.Config{
			Workers: g.workers(g.p),
			HandOut: map[string]threads.HandOut{handStatic: threads.Static, handDynamic: threads.Dynamic}[g.p.Str("hand_out")],
			Start:   map[string]threads.Start{startPool: threads.Pool, startSpawn: threads.Spawn}[g.p.Str("start")],
			Spin:    g.p.Int("spin"),
		}.Text())
	}
	g.types()
	g.dotProduct()
	g.quantise()
	g.job()
	g.packRows()
	if g.direct() {
		g.loadWeights()
	} else {
		g.packPanel()
	}
	if g.p.Str("form") == formDot {
		g.dotTile()
	} else {
		g.packedTile()
	}
	g.multiply()
	g.entry()
	if g.weights == weightsPacked {
		g.packFunction()
	}
}

// imageOne is the quantisation of one float. Adding 1.5·2²³ rounds to an integer, ties to even, which then stands in
// the low bits: a float of that size has no others.
const imageOne = `
static inline int32_t image_one(float x, float inverse)
{
	float t = x * inverse;
	t = t < -128.0f ? -128.0f : t;
	t = t > 127.0f ? 127.0f : t;
	union { float f; int32_t i; } u = { .f = t + 12582912.0f };
	return u.i - 0x4B400000;
}

`

// sum returns the expression of a result from that of its sum.
func (g *generator) sum(s string) string {
	if g.relu {
		return fmt.Sprintf("(float)(%s > 0 ? %s : 0) * scale", s, s)
	}
	return fmt.Sprintf("(float)%s * scale", s)
}

// weightType is the C type of the elements of w.
func (g *generator) weightType() string {
	switch g.weights {
	case weightsF32:
		return "float"
	case weightsInt8:
		return "int8_t"
	}
	return "uint8_t"
}

// scratchText is the memory for quantised operands. It is kept between calls, for the next one of the same size; what
// it holds is not.
const scratchText = `
#include <stdlib.h>

static void *scratch;
static int64_t scratch_bytes;

// reserve returns memory of at least so many bytes, aligned to a cache line.
static void *reserve(int64_t bytes)
{
	if (bytes > scratch_bytes) {
		free(scratch);
		scratch_bytes = (bytes + 4095) / 4096 * 4096;
		scratch = aligned_alloc(4096, scratch_bytes);
		if (!scratch)
			abort();
	}
	return scratch;
}

__attribute__((destructor)) static void release(void)
{
	free(scratch);
}

`

// plain writes the loops that anyone would write.
func (g *generator) plain() {
	g.text(scratchText)
	g.text(imageOne)
	g.line("void tune_kernel(void *const *args, const int64_t *dims)\n{")
	g.line("\tconst float *restrict a = args[0], *scales = args[2];")
	g.line("\tfloat *restrict c = args[3];")
	g.line("\tconst int64_t m = dims[0], n = dims[1], k = dims[2];")
	g.line("\tconst float scale = scales[0] * scales[1];")
	bytes := "m * k"
	if g.weights == weightsF32 {
		bytes = "m * k + n * k"
	}
	g.line("\tint8_t *restrict qa = reserve(%s);", bytes)
	g.line("\tfor (int64_t i = 0; i < m * k; i++)\n\t\tqa[i] = (int8_t)image_one(a[i], 1.0f / scales[0]);")
	if g.weights == weightsF32 {
		g.line("\tconst float *restrict w = args[1];")
		g.line("\tint8_t *restrict qw = qa + m * k;")
		g.line("\tfor (int64_t i = 0; i < n * k; i++)\n\t\tqw[i] = (int8_t)image_one(w[i], 1.0f / scales[1]);")
	} else {
		g.line("\tconst int8_t *restrict qw = args[1];")
	}
	g.line("\tfor (int64_t i = 0; i < m; i++)\n\t\tfor (int64_t j = 0; j < n; j++) {")
	g.line("\t\t\tint32_t s = 0;")
	g.line("\t\t\tfor (int64_t l = 0; l < k; l++)\n\t\t\t\ts += qa[i * k + l] * qw[j * k + l];")
	g.line("\t\t\tc[i * n + j] = %s;\n\t\t}\n}", g.sum("s"))
}

// types writes the types of the vectors and of what they hold.
func (g *generator) types() {
	unit := "uint8_t"
	if g.in.group == 2 {
		unit = "int16_t"
	}
	mr, nr := g.p.Int("mr"), fmt.Sprint(g.p.Int("nr"))
	if g.p.Str("form") == formPacked {
		nr += " * LANES"
	}
	g.line("enum { LANES = %d, GROUP = %d, MR = %d, NR = %s };", g.in.lanes(), g.in.group, mr, nr)
	g.line("typedef uint32_t word __attribute__((may_alias)); // GROUP elements of a row")
	g.line("typedef %s unit __attribute__((may_alias)); // an element", unit)
	g.line("typedef int32_t words __attribute__((vector_size(%d)));", g.in.bytes)
	g.line("typedef int32_t words_memory __attribute__((vector_size(%d), aligned(4), may_alias));", g.in.bytes)
	g.line("typedef float vec __attribute__((vector_size(%d)));", g.in.bytes)
	g.line("typedef float vec_memory __attribute__((vector_size(%d), aligned(4), may_alias));", g.in.bytes)
	g.line("typedef %s units __attribute__((vector_size(%d)));", unit, g.in.lanes()*4/g.in.group)
	g.line("typedef %s units_memory __attribute__((vector_size(%d), aligned(%d), may_alias));\n", unit, g.in.lanes()*4/g.in.group, 4/g.in.group)
}

// dotProduct writes the instruction that multiplies. It stands as such because the compilers' names for it differ.
func (g *generator) dotProduct() {
	g.line("// dot adds the products of GROUP elements of w and a to each word of s.")
	g.line("static inline words dot(words s, words w, words a)\n{")
	switch g.in.isa {
	case isaAVX512VNNI:
		g.line("\t__asm__(\"vpdpbusd %%2, %%1, %%0\" : \"+v\"(s) : \"v\"(w), \"v\"(a));\n\treturn s;\n}\n")
	case isaAVXVNNI:
		g.line("\t__asm__(\"%%{vex%%} vpdpbusd %%2, %%1, %%0\" : \"+x\"(s) : \"x\"(w), \"x\"(a));\n\treturn s;\n}\n")
	case isaAVX512, isaAVX2:
		g.line("\twords p;\n\t__asm__(\"vpmaddwd %%2, %%1, %%0\" : \"=v\"(p) : \"v\"(w), \"v\"(a));\n\treturn s + p;\n}\n")
	default:
		g.line("#if defined(__x86_64__)\n\t__asm__(\"pmaddwd %%1, %%0\" : \"+x\"(w) : \"x\"(a));\n\treturn s + w;")
		g.line("#else\n\ttypedef int16_t shorts __attribute__((vector_size(%d)));", g.in.bytes)
		g.line("\tconst shorts x = (shorts)w, y = (shorts)a;")
		g.line("\tfor (int i = 0; i < LANES; i++)\n\t\ts[i] += x[2 * i] * y[2 * i] + x[2 * i + 1] * y[2 * i + 1];")
		g.line("\treturn s;\n#endif\n}\n")
	}
	if g.embedded() {
		g.line("static inline words dot_word(words s, words w, const word *a)\n{")
		g.line("\t__asm__(\"vpdpbusd %%2%%{1to16%%}, %%1, %%0\" : \"+v\"(s) : \"v\"(w), \"m\"(*a));\n\treturn s;\n}\n")
	}
	g.text(`
static inline words load(const word *p)
{
	return *(const words_memory *)p;
}

static inline words splat(int32_t x)
{
	return (words){ 0 } + x;
}

`)
}

// embedded reports whether a word of A is the operand of a multiplication.
func (g *generator) embedded() bool {
	return g.in.isa == isaAVX512VNNI && g.p.Str("form") == formPacked && g.p.Str("broadcast") == broadcastEmbedded
}

// quantise writes the functions that turn rows into elements.
func (g *generator) quantise() {
	g.text(imageOne)
	g.line("// clip returns x where it is between low and high, else the nearer of these.")
	g.line("static inline vec clip(vec x, vec low, vec high)\n{")
	if g.in.isa == isaGeneric {
		g.line("#if defined(__x86_64__)")
		g.line("\t__asm__(\"maxps %%1, %%0\\n\\tminps %%2, %%0\" : \"+x\"(x) : \"x\"(low), \"x\"(high));\n\treturn x;")
		g.line("#else\n\tfor (int i = 0; i < LANES; i++) {\n\t\tx[i] = x[i] < low[i] ? low[i] : x[i];\n\t\tx[i] = x[i] > high[i] ? high[i] : x[i];\n\t}\n\treturn x;\n#endif\n}\n")
	} else {
		g.line("\t__asm__(\"vmaxps %%1, %%0, %%0\\n\\tvminps %%2, %%0, %%0\" : \"+v\"(x) : \"v\"(low), \"v\"(high));\n\treturn x;\n}\n")
	}
	g.text(`
// image quantises LANES floats.
static inline words image(const float *x, float inverse)
{
	const vec t = *(const vec_memory *)x * inverse;
	return (words)(clip(t, (vec){ 0 } - 128.0f, (vec){ 0 } + 127.0f) + 12582912.0f) - 0x4B400000;
}

`)
	g.narrow()
	// The sum of a row corrects the offset of the weights.
	if g.in.group == 4 {
		g.text(`
// activations quantises a row, and returns the sum of its elements.
static int32_t activations(unit *to, const float *x, int64_t count, float inverse)
{
	words sums = { 0 };
	int32_t sum = 0;
	int64_t i = 0;
	for (; i + LANES <= count; i += LANES) {
		const words q = image(x + i, inverse);
		sums += q;
		narrow(to + i, q);
	}
	for (; i < count; i++) {
		const int32_t q = image_one(x[i], inverse);
		sum += q;
		to[i] = (unit)q;
	}
	for (int l = 0; l < LANES; l++)
		sum += sums[l];
	return sum;
}

enum { OFFSET = 128 }; // of the weights, which are unsigned here

`)
	} else {
		g.text(`
// activations quantises a row.
static void activations(unit *to, const float *x, int64_t count, float inverse)
{
	int64_t i = 0;
	for (; i + LANES <= count; i += LANES)
		narrow(to + i, image(x + i, inverse));
	for (; i < count; i++)
		to[i] = (unit)image_one(x[i], inverse);
}

enum { OFFSET = 0 }; // of the weights

`)
	}
	if g.weights == weightsF32 {
		g.text(`
// weights quantises a row.
static void weights(unit *to, const float *w, int64_t count, float inverse)
{
	int64_t i = 0;
	for (; i + LANES <= count; i += LANES)
		narrow(to + i, image(w + i, inverse) + OFFSET);
	for (; i < count; i++)
		to[i] = (unit)(image_one(w[i], inverse) + OFFSET);
}

`)
		return
	}
	if g.direct() {
		return
	}
	g.line("// weights widens or offsets a row.")
	g.line("static void weights(unit *to, const int8_t *w, int64_t count, float inverse)\n{")
	g.line("\t(void)inverse;\n\tint64_t i = 0;")
	if g.in.group == 4 {
		g.line("\ttypedef uint8_t bytes __attribute__((vector_size(%d), aligned(1), may_alias));", g.in.bytes)
		g.line("\tfor (; i + 4 * LANES <= count; i += 4 * LANES)")
		g.line("\t\t*(bytes *)(to + i) = *(const bytes *)(w + i) ^ 128;")
	} else {
		g.line("\ttypedef int8_t bytes __attribute__((vector_size(%d)));", g.in.bytes/2)
		g.line("\ttypedef int8_t bytes_memory __attribute__((vector_size(%d), aligned(1), may_alias));", g.in.bytes/2)
		g.line("\ttypedef int16_t shorts __attribute__((vector_size(%d)));", g.in.bytes)
		g.line("\ttypedef int16_t shorts_memory __attribute__((vector_size(%d), aligned(2), may_alias));", g.in.bytes)
		g.line("\tfor (; i + 2 * LANES <= count; i += 2 * LANES) {")
		g.line("\t\tconst bytes b = *(const bytes_memory *)(w + i);")
		g.line("\t\t*(shorts_memory *)(to + i) = __builtin_convertvector(b, shorts);\n\t}")
	}
	g.line("\tfor (; i < count; i++)\n\t\tto[i] = (unit)(w[i] + OFFSET);\n}\n")
}

// narrow writes the store of integers as elements. Compilers do a conversion of vectors to bytes lane by lane.
func (g *generator) narrow() {
	g.line("// narrow stores the low bits of q, which fit an element.")
	g.line("static inline void narrow(unit *to, words q)\n{")
	instruction := map[bool]string{true: "vpmovdb", false: "vpmovdw"}[g.in.group == 4]
	if g.in.bytes == 64 {
		g.line("\t__asm__(\"%s %%1, %%0\" : \"=m\"(*(units_memory *)to) : \"v\"(q));\n}\n", instruction)
		return
	}
	g.line("#if defined(__x86_64__)")
	g.line("\ttypedef int16_t shorts __attribute__((vector_size(16), may_alias));\n\tshorts s;")
	if g.in.bytes == 32 {
		g.line("\t__asm__(\"vpackssdw %%2, %%1, %%0\" : \"=x\"(s) : \"x\"(((const shorts *)&q)[0]), \"x\"(((const shorts *)&q)[1]));")
	} else {
		g.line("\ts = (shorts)q;\n\t__asm__(\"packssdw %%0, %%0\" : \"+x\"(s));")
	}
	if g.in.group == 4 {
		g.line("\ts &= 255;\n\t__asm__(\"vpackuswb %%0, %%0, %%0\" : \"+x\"(s));")
	}
	g.line("\t__builtin_memcpy(to, &s, LANES * sizeof(unit));")
	g.line("#else\n\t*(units_memory *)to = __builtin_convertvector(q, units);\n#endif\n}\n")
}

// job writes the struct that all functions share, and how it is made of the arguments.
func (g *generator) job() {
	dot := g.p.Str("form") == formDot
	g.line("struct job {")
	g.line("\tconst float *a;\n\tconst %s *w;\n\tfloat *c;", g.weightType())
	g.line("\tint64_t m, n, k;")
	g.line("\tfloat inverse_a, inverse_w, scale;")
	g.line("\tint64_t groups, stride;     // words of a quantised row, and from row to row")
	g.line("\tint64_t tiles, panels;      // of MR rows of a, of NR rows of w")
	g.line("\tint64_t panel_words;")
	g.line("\tword *rows;                 // a, quantised")
	g.line("\tint32_t *start;             // what the sums of a row start from")
	g.line("\tword *packed;               // panels of w")
	g.line("\tint32_t *partial;           // sums that wait for the next block along k\n};\n")
	g.line("static inline int64_t whole_lines(int64_t words)\n{\n\treturn (words + 15) / 16 * 16;\n}\n")
	g.text(scratchText)
	g.line("static void describe(struct job *j, void *const *args, const int64_t *dims)\n{")
	g.line("\tconst float *scales = args[2];")
	g.line("\tj->a = args[0];\n\tj->w = args[1];\n\tj->c = args[3];")
	g.line("\tj->m = dims[0];\n\tj->n = dims[1];\n\tj->k = dims[2];")
	g.line("\tj->inverse_a = 1.0f / scales[0];\n\tj->inverse_w = 1.0f / scales[1];\n\tj->scale = scales[0] * scales[1];")
	if dot {
		g.line("\tj->groups = (j->k + GROUP * LANES - 1) / (GROUP * LANES) * LANES;")
	} else {
		g.line("\tj->groups = (j->k + GROUP - 1) / GROUP;")
	}
	g.line("\t// An odd number of cache lines keeps the rows of a tile out of each other's sets.")
	g.line("\tj->stride = ((j->groups + 15) / 16 | 1) * 16;")
	g.line("\tj->tiles = (j->m + MR - 1) / MR;\n\tj->panels = (j->n + NR - 1) / NR;")
	row := "j->stride"
	if g.p.Str("activations") == activationsTiles {
		row = "j->groups"
	}
	if dot {
		g.line("\tj->panel_words = j->stride * NR;")
	} else {
		g.line("\tj->panel_words = j->groups * NR;")
	}
	buffers := "j->panels"
	switch {
	case g.weights == weightsPacked || g.direct():
		buffers = "0"
	case g.p.Str("pack") == packPanel:
		buffers = fmt.Sprint(g.chunks(g.p))
	}
	partial := "0"
	if g.p.Int("kc") > 0 {
		partial = "j->tiles * MR * j->panels * NR"
	}
	g.line("\tconst int64_t rows = whole_lines(j->tiles * MR * %s), starts = whole_lines(j->tiles * MR);", row)
	g.line("\tconst int64_t packed = %s * j->panel_words, partial = %s;", buffers, partial)
	g.line("\tj->rows = reserve(4 * (rows + starts + packed + partial));")
	g.line("\tj->start = (int32_t *)j->rows + rows;")
	g.line("\tj->packed = (word *)j->start + starts;")
	g.line("\tj->partial = (int32_t *)j->packed + packed;")
	if g.weights == weightsPacked {
		g.line("\tj->packed = args[1];")
	}
	g.line("}\n")
}

// packRows writes the quantisation of a tile of A.
func (g *generator) packRows() {
	g.line("// quantise_tile quantises MR rows of a, or those that there are; others are left as they are, and so will be")
	g.line("// their products, which nobody reads.")
	g.line("static void quantise_tile(const struct job *j, int64_t t)\n{")
	g.line("\tfor (int64_t r = 0; r < MR && t * MR + r < j->m; r++) {")
	g.line("\t\tconst int64_t i = t * MR + r;")
	if g.p.Str("activations") == activationsTiles {
		g.line("\t\tword *to = j->rows + t * MR * j->groups + r;")
		if g.in.group == 4 {
			g.line("\t\tint32_t sum = 0;")
		}
		g.line("\t\tfor (int64_t l = 0; l < j->k; l += %d) {", packBlock)
		g.line("\t\t\tword row[%d / GROUP];", packBlock)
		g.line("\t\t\tconst int64_t count = j->k - l < %d ? j->k - l : %d;", packBlock, packBlock)
		g.line("\t\t\tconst int64_t groups = (count + GROUP - 1) / GROUP;")
		g.line("\t\t\trow[groups - 1] = 0;")
		if g.in.group == 4 {
			g.line("\t\t\tsum += activations((unit *)row, j->a + i * j->k + l, count, j->inverse_a);")
		} else {
			g.line("\t\t\tactivations((unit *)row, j->a + i * j->k + l, count, j->inverse_a);")
		}
		g.line("\t\t\tfor (int64_t g = 0; g < groups; g++)\n\t\t\t\tto[(l / GROUP + g) * MR] = row[g];\n\t\t}")
		if g.in.group == 4 {
			g.line("\t\tj->start[i] = -OFFSET * sum;")
		}
	} else {
		g.line("\t\tword *to = j->rows + i * j->stride;")
		g.line("\t\tfor (int64_t g = j->k / GROUP; g < j->groups; g++)\n\t\t\tto[g] = 0; // before the elements, which fill the last word in part")
		if g.in.group == 4 {
			g.line("\t\tj->start[i] = -OFFSET * activations((unit *)to, j->a + i * j->k, j->k, j->inverse_a);")
		} else {
			g.line("\t\tactivations((unit *)to, j->a + i * j->k, j->k, j->inverse_a);")
		}
	}
	g.line("\t}\n}\n")
}

// packBlock is how many elements of a row are interleaved at a time, so that the lines written to stay in the cache.
const packBlock = 1024

// packPanel writes the arrangement of NR rows of W.
func (g *generator) packPanel() {
	source := g.weightType()
	if g.weights == weightsPacked {
		source = "int8_t"
	}
	g.line("// pack_panel arranges `rows` rows of w, at most NR. What belongs to no row or element stays as it is: it meets")
	g.line("// zeros of a, or becomes products that nobody reads.")
	g.line("static void pack_panel(const struct job *j, const %s *w, int64_t rows, word *to)\n{", source)
	if g.p.Str("form") == formDot {
		g.line("\tfor (int64_t r = 0; r < rows; r++)")
		g.line("\t\tweights((unit *)(to + r * j->stride), w + r * j->k, j->k, j->inverse_w);\n}\n")
		return
	}
	g.line("\tfor (int64_t l = 0; l < j->k; l += %d) {", packBlock)
	g.line("\t\tconst int64_t count = j->k - l < %d ? j->k - l : %d;", packBlock, packBlock)
	g.line("\t\tconst int64_t groups = (count + GROUP - 1) / GROUP;")
	g.line("\t\tfor (int64_t r = 0; r < rows; r++) {")
	g.line("\t\t\tword row[%d / GROUP];", packBlock)
	g.line("\t\t\trow[groups - 1] = 0;")
	g.line("\t\t\tweights((unit *)row, w + r * j->k + l, count, j->inverse_w);")
	g.line("\t\t\tfor (int64_t g = 0; g < groups; g++)\n\t\t\t\tto[(l / GROUP + g) * NR + r] = row[g];")
	g.line("\t\t}\n\t}\n}\n")
}

// packedTile writes the product of a tile and an interleaved panel.
func (g *generator) packedTile() {
	mr, nv, unroll := g.p.Int("mr"), g.p.Int("nr"), g.p.Int("unroll")
	blocked := g.p.Int("kc") > 0
	g.line("// tile multiplies tile t with panel p, from one group along k to another.")
	g.line("static void tile(const struct job *j, int64_t t, int64_t p, const word *w, int64_t from, int64_t to)\n{")
	at := func(r int, group string) string {
		if g.p.Str("activations") == activationsTiles {
			return fmt.Sprintf("a + (%s) * MR + %d", group, r)
		}
		return fmt.Sprintf("a + %d * stride + %s", r, group)
	}
	if g.p.Str("activations") == activationsTiles {
		g.line("\tconst word *a = j->rows + t * MR * j->groups;")
	} else {
		g.line("\tconst int64_t stride = j->stride;")
		g.line("\tconst word *a = j->rows + t * MR * stride;")
	}
	each := func(f func(r, v int)) {
		for r := range mr {
			for v := range nv {
				f(r, v)
			}
		}
	}
	if g.in.group == 4 {
		g.line("\tconst int32_t *start = j->start + t * MR;")
	}
	each(func(r, v int) {
		if g.in.group == 4 {
			g.line("\twords s%d_%d = splat(start[%d]);", r, v, r)
		} else {
			g.line("\twords s%d_%d = { 0 };", r, v)
		}
	})
	if blocked {
		g.line("\tint32_t *partial = j->partial + (t * j->panels + p) * MR * NR;")
		g.line("\tif (from > 0) {")
		each(func(r, v int) {
			g.line("\t\ts%d_%d = load((const word *)partial + %d * NR + %d * LANES);", r, v, r, v)
		})
		g.line("\t}")
	}
	step := func(indent, group string) {
		for v := range nv {
			g.line("%sconst words w%d = load(w + (%s) * NR + %d * LANES);", indent, v, group, v)
		}
		for r := range mr {
			if g.embedded() {
				for v := range nv {
					g.line("%ss%d_%d = dot_word(s%d_%d, w%d, %s);", indent, r, v, r, v, v, at(r, group))
				}
				continue
			}
			g.line("%sconst words a%d = splat((int32_t)*(%s));", indent, r, at(r, group))
			for v := range nv {
				g.line("%ss%d_%d = dot(s%d_%d, w%d, a%d);", indent, r, v, r, v, v, r)
			}
		}
	}
	g.line("\tint64_t g = from;")
	if unroll > 1 {
		g.line("\tfor (; g + %d <= to; g += %d) {", unroll, unroll)
		for u := range unroll {
			g.line("\t\t{")
			step("\t\t\t", fmt.Sprintf("g + %d", u))
			g.line("\t\t}")
		}
		g.line("\t}")
	}
	g.line("\tfor (; g < to; g++) {")
	step("\t\t", "g")
	g.line("\t}")
	if blocked {
		g.line("\tif (to < j->groups) {")
		each(func(r, v int) {
			g.line("\t\t*(words_memory *)(partial + %d * NR + %d * LANES) = s%d_%d;", r, v, r, v)
		})
		g.line("\t\treturn;\n\t}")
	}
	g.line("\tconst float scale = j->scale;")
	g.line("\tconst int64_t rows = j->m - t * MR, columns = j->n - p * NR;")
	g.line("\tfloat *c = j->c + t * MR * j->n + p * NR;")
	result := func(r, v int) string {
		s := fmt.Sprintf("s%d_%d", r, v)
		if g.relu {
			s = fmt.Sprintf("(%s & (%s > 0))", s, s)
		}
		return fmt.Sprintf("__builtin_convertvector(%s, vec) * scale", s)
	}
	g.line("\tif (rows >= MR && columns >= NR) {")
	each(func(r, v int) {
		g.line("\t\t*(vec_memory *)(c + %d * j->n + %d * LANES) = %s;", r, v, result(r, v))
	})
	g.line("\t\treturn;\n\t}")
	g.line("\tfloat edge[MR * NR];")
	each(func(r, v int) {
		g.line("\t*(vec_memory *)(edge + %d * NR + %d * LANES) = %s;", r, v, result(r, v))
	})
	g.line("\tfor (int64_t r = 0; r < MR && r < rows; r++)\n\t\tfor (int64_t i = 0; i < NR && i < columns; i++)\n\t\t\tc[r * j->n + i] = edge[r * NR + i];\n}\n")
}

// direct reports whether tiles read the weights where they are.
func (g *generator) direct() bool {
	return g.weights == weightsInt8 && g.p.Str("pack") == packNone
}

// loadWeights writes the load of weights that are not packed.
func (g *generator) loadWeights() {
	g.line("enum { STEP = GROUP * LANES }; // weights in a vector\n")
	g.line("// load_weights returns STEP weights as elements.")
	g.line("static inline words load_weights(const int8_t *p)\n{")
	if g.in.group == 4 {
		g.line("\ttypedef int32_t words_anywhere __attribute__((vector_size(%d), aligned(1), may_alias));", g.in.bytes)
		g.line("\treturn *(const words_anywhere *)p ^ (int32_t)0x80808080; // adds OFFSET to each\n}\n")
		return
	}
	g.line("\ttypedef int8_t bytes __attribute__((vector_size(%d)));", g.in.bytes/2)
	g.line("\ttypedef int8_t bytes_memory __attribute__((vector_size(%d), aligned(1), may_alias));", g.in.bytes/2)
	if g.in.isa == isaGeneric {
		g.line("\ttypedef int16_t shorts __attribute__((vector_size(%d)));", g.in.bytes)
		g.line("\tconst bytes b = *(const bytes_memory *)p;")
		g.line("\treturn (words)__builtin_convertvector(b, shorts);\n}\n")
		return
	}
	g.line("\twords w;\n\t__asm__(\"vpmovsxbw %%1, %%0\" : \"=v\"(w) : \"vm\"((bytes)*(const bytes_memory *)p));\n\treturn w;\n}\n")
}

// dotTile writes the product of a tile and a panel of rows as they are.
func (g *generator) dotTile() {
	mr, nr, unroll := g.p.Int("mr"), g.p.Int("nr"), g.p.Int("unroll")
	g.line("// horizontal returns the sum of the words of s.")
	g.line("static inline int32_t horizontal(words s)\n{")
	from, l := "s", g.in.lanes()
	for ; l > 4; l /= 2 {
		g.line("\ttypedef int32_t words%d __attribute__((vector_size(%d), may_alias));", l/2, 2*l)
		g.line("\tconst words%d h%d = ((const words%d *)&%s)[0] + ((const words%d *)&%s)[1];", l/2, l/2, l/2, from, l/2, from)
		from = fmt.Sprintf("h%d", l/2)
	}
	g.line("\treturn (%s[0] + %s[1]) + (%s[2] + %s[3]);\n}\n", from, from, from, from)
	g.line("// tile multiplies tile t with panel p, which has the rows w.")
	g.line("static void tile(const struct job *j, int64_t t, int64_t p, const word *w, int64_t from, int64_t to)\n{")
	g.line("\tconst int64_t stride = j->stride;")
	g.line("\tconst word *a = j->rows + t * MR * stride;")
	each := func(f func(r, c int)) {
		for r := range mr {
			for c := range nr {
				f(r, c)
			}
		}
	}
	direct := g.direct()
	if direct {
		g.line("\t// A panel that is not full has its last row more than once.")
		g.line("\tconst int64_t k = j->k, last = j->n - p * NR - 1;")
		g.line("\tconst int8_t *v = j->w + p * NR * k;")
		for c := range nr {
			g.line("\tconst int8_t *v%d = v + (last < %d ? last : %d) * k;", c, c, c)
		}
		g.line("\t(void)w;\n\t(void)to;")
	}
	each(func(r, c int) { g.line("\twords s%d_%d = { 0 };", r, c) })
	step := func(indent, at string, tail bool) {
		for c := range nr {
			switch {
			case tail:
				g.line("%sconst words w%d = load_weights(tail + %d * STEP);", indent, c, c)
			case direct:
				g.line("%sconst words w%d = load_weights(v%d + (%s) * GROUP);", indent, c, c, at)
			default:
				g.line("%sconst words w%d = load(w + %d * stride + %s);", indent, c, c, at)
			}
		}
		for r := range mr {
			g.line("%sconst words a%d = load(a + %d * stride + %s);", indent, r, r, at)
			for c := range nr {
				g.line("%ss%d_%d = dot(s%d_%d, w%d, a%d);", indent, r, c, r, c, c, r)
			}
		}
	}
	end := "to"
	if direct {
		g.line("\tconst int64_t end = k / STEP * LANES;")
		end = "end"
	}
	g.line("\tint64_t g = from;")
	if unroll > 1 {
		g.line("\tfor (; g + %d * LANES <= %s; g += %d * LANES) {", unroll, end, unroll)
		for u := range unroll {
			g.line("\t\t{")
			step("\t\t\t", fmt.Sprintf("g + %d * LANES", u), false)
			g.line("\t\t}")
		}
		g.line("\t}")
	}
	g.line("\tfor (; g < %s; g += LANES) {", end)
	step("\t\t", "g", false)
	g.line("\t}")
	if direct {
		g.line("\tif (k %% STEP != 0) {")
		g.line("\t\t// What is left of the rows, with zeros of a beside whatever follows.")
		g.line("\t\tint8_t tail[NR * STEP] = { 0 };")
		for c := range nr {
			g.line("\t\t__builtin_memcpy(tail + %d * STEP, v%d + g * GROUP, k %% STEP);", c, c)
		}
		step("\t\t", "g", true)
		g.line("\t}")
	}
	g.line("\tint32_t sums[MR * NR];")
	each(func(r, c int) { g.line("\tsums[%d * NR + %d] = horizontal(s%d_%d);", r, c, r, c) })
	g.line("\tconst float scale = j->scale;")
	g.line("\tconst int64_t rows = j->m - t * MR, columns = j->n - p * NR;")
	g.line("\tfor (int64_t r = 0; r < MR && r < rows; r++)\n\t\tfor (int64_t i = 0; i < NR && i < columns; i++) {")
	start := ""
	if g.in.group == 4 {
		start = " + j->start[t * MR + r]"
	}
	g.line("\t\t\tconst int32_t s = sums[r * NR + i]%s;", start)
	g.line("\t\t\tj->c[(t * MR + r) * j->n + p * NR + i] = %s;\n\t\t}\n}\n", g.sum("s"))
}

// multiply writes the loops over tiles and panels.
func (g *generator) multiply() {
	g.line("// multiply does the tiles from t0 to t1 with the panels from p0 to p1; own is room for a panel.")
	g.line("static void multiply(const struct job *j, int64_t t0, int64_t t1, int64_t p0, int64_t p1, word *own)\n{")
	indent := "\t"
	open := func(format string, args ...any) {
		g.line(indent+format, args...)
		indent += "\t"
	}
	closing := 0
	from, to := "0", "j->groups"
	if kc := g.p.Int("kc"); kc > 0 {
		open("for (int64_t g = 0; g < j->groups; g += %d / GROUP) {", kc)
		g.line("%sconst int64_t end = j->groups - g > %d / GROUP ? g + %d / GROUP : j->groups;", indent, kc, kc)
		from, to = "g", "end"
		closing++
	}
	first, last := "t0", "t1"
	if mc := g.p.Int("mc"); mc > 0 {
		tiles := ceil(mc, g.p.Int("mr"))
		open("for (int64_t b = t0; b < t1; b += %d) {", tiles)
		g.line("%sconst int64_t stop = t1 - b > %d ? b + %d : t1;", indent, tiles, tiles)
		first, last = "b", "stop"
		closing++
	}
	tiles := fmt.Sprintf("for (int64_t t = %s; t < %s; t++)", first, last)
	const panels = "for (int64_t p = p0; p < p1; p++)"
	panel := g.weights != weightsPacked && g.p.Str("pack") == packPanel
	switch {
	case panel:
		open(panels + " {")
		g.line("%spack_panel(j, j->w + p * NR * j->k, j->n - p * NR < NR ? j->n - p * NR : NR, own);", indent)
		g.line("%s%s\n%s\ttile(j, t, p, own, %s, %s);", indent, tiles, indent, from, to)
		closing++
	case g.direct():
		outer, inner := panels, tiles
		if g.p.Str("order") == orderRows {
			outer, inner = tiles, panels
		}
		g.line("%s%s\n%s\t%s\n%s\t\ttile(j, t, p, 0, %s, %s);", indent, outer, indent, inner, indent, from, to)
	default:
		outer, inner := panels, tiles
		if g.p.Str("order") == orderRows {
			outer, inner = tiles, panels
		}
		g.line("%s%s\n%s\t%s\n%s\t\ttile(j, t, p, j->packed + p * j->panel_words, %s, %s);", indent, outer, indent, inner, indent, from, to)
	}
	for range closing {
		indent = indent[1:]
		g.line("%s}", indent)
	}
	if !panel {
		g.line("\t(void)own;")
	}
	g.line("}\n")
}

// entry writes the exported function.
func (g *generator) entry() {
	ahead := g.weights != weightsPacked && g.p.Str("pack") == packAhead
	const packP = "pack_panel(j, j->w + p * NR * j->k, j->n - p * NR < NR ? j->n - p * NR : NR, j->packed + p * j->panel_words);"
	if g.workers(g.p) == 1 {
		g.line("void tune_kernel(void *const *args, const int64_t *dims)\n{")
		g.line("\tstruct job job, *j = &job;\n\tdescribe(j, args, dims);")
		g.line("\tfor (int64_t t = 0; t < j->tiles; t++)\n\t\tquantise_tile(j, t);")
		if ahead {
			g.line("\tfor (int64_t p = 0; p < j->panels; p++)\n\t\t%s", packP)
		}
		g.line("\tmultiply(j, 0, j->tiles, 0, j->panels, j->packed);\n}")
		return
	}
	g.line("enum { CHUNKS = %d };\n", g.chunks(g.p))
	g.line("// prepare is a task of the first part: a tile of a, or a panel of w.")
	g.line("static void prepare(void *context, int64_t i, __attribute__((unused)) int worker)\n{\n\tconst struct job *j = context;")
	g.line("\tif (i < j->tiles) {\n\t\tquantise_tile(j, i);\n\t\treturn;\n\t}")
	count := "j->tiles"
	if ahead {
		g.line("\tconst int64_t p = i - j->tiles;\n\t%s", packP)
		count = "j->tiles + j->panels"
	}
	g.line("}\n")
	g.line("// chunk is a task of the second part: panels with all tiles, or tiles with all panels.")
	g.line("static void chunk(void *context, int64_t i, __attribute__((unused)) int worker)\n{\n\tconst struct job *j = context;")
	if g.p.Str("split") == orderColumns {
		own := "j->packed"
		if g.weights != weightsPacked && g.p.Str("pack") == packPanel {
			own = "j->packed + i * j->panel_words"
		}
		g.line("\tmultiply(j, 0, j->tiles, j->panels * i / CHUNKS, j->panels * (i + 1) / CHUNKS, %s);\n}\n", own)
	} else {
		g.line("\tmultiply(j, j->tiles * i / CHUNKS, j->tiles * (i + 1) / CHUNKS, 0, j->panels, j->packed);\n}\n")
	}
	g.line("void tune_kernel(void *const *args, const int64_t *dims)\n{")
	g.line("\tstruct job job, *j = &job;\n\tdescribe(j, args, dims);")
	g.line("\tparallel(prepare, j, %s);", count)
	g.line("\tparallel(chunk, j, CHUNKS);\n}")
}

// packFunction writes the function that packs weights ahead.
func (g *generator) packFunction() {
	g.line("\nvoid tune_pack(uint8_t *packed, const int8_t *w, int64_t n, int64_t k)\n{")
	g.line("\tfloat scales[2] = { 1, 1 };")
	g.line("\tvoid *args[4] = { 0, packed, scales, 0 };")
	g.line("\tint64_t dims[3] = { 0, n, k };")
	g.line("\tstruct job job, *j = &job;\n\tdescribe(j, args, dims);")
	g.line("\tfor (int64_t p = 0; p < j->panels; p++)")
	g.line("\t\tpack_panel(j, w + p * NR * k, n - p * NR < NR ? n - p * NR : NR, j->packed + p * j->panel_words);\n}")
}
