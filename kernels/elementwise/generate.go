package elementwise

import (
	"fmt"
	"slices"
	"strings"

	"tune/kernels/native"
	"tune/kernels/threads"
	"tune/space"
)

// lineFloats is how many floats a cache line holds.
const lineFloats = 16

// Generate writes the C code of a point.
func (k *Spec) Generate(p space.Point) (native.Source, error) {
	g := &generator{Spec: k, p: p}
	g.file()
	src := native.Source{Lang: "c", Text: g.b.String(), Compiler: p.Str("compiler"), Flags: k.flags(p), Threads: 1}
	if k.parallel(p) && k.n*k.arrays >= p.Int("threshold") {
		src.Threads = p.Int("workers")
	}
	return src, nil
}

// parallel reports whether the code of a point has more than one worker.
func (k *Spec) parallel(p space.Point) bool { return k.threads > 1 && p.Int("workers") > 1 }

// flags are those of the compiler. None allows it to change the order or the operations of IEEE arithmetic.
func (k *Spec) flags(p space.Point) []string {
	flags := []string{"-std=gnu11", "-" + p.Str("opt"), "-fno-math-errno"}
	isa := p.Str("isa")
	switch {
	case isa == isaNative && k.machine.Arch == "amd64":
		flags = append(flags, "-march=native")
	case isa == isaNative:
		flags = append(flags, "-mcpu=native")
	case isa == isaAVX2:
		flags = append(flags, "-mavx2", "-mfma")
	case isa == isaAVX512:
		flags = append(flags, "-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl", "-mfma", "-mprefer-vector-width=512")
	}
	if p.Bool("unroll_loops") {
		flags = append(flags, "-funroll-loops")
	}
	if k.parallel(p) {
		flags = append(flags, threads.Flags()...)
	}
	return flags
}

// generator writes one file.
type generator struct {
	*Spec
	p space.Point
	b strings.Builder
}

func (g *generator) line(format string, args ...any) {
	fmt.Fprintf(&g.b, format+"\n", args...)
}

func (g *generator) file() {
	g.line("// elementwise-f32, %s: %s", g.op.name, g.p.Key())
	g.line("#include <stdint.h>\n")
	if g.parallel(g.p) {
		g.line("%s", threads.Config{
			Workers: g.p.Int("workers"),
			HandOut: map[string]threads.HandOut{handStatic: threads.Static, handDynamic: threads.Dynamic}[g.p.Str("hand_out")],
			Start:   map[string]threads.Start{startPool: threads.Pool, startSpawn: threads.Spawn}[g.p.Str("start")],
			Spin:    g.p.Int("spin"),
		}.Text())
	}
	if g.p.Str("tail") != tailMasked || !g.op.reduce && g.p.Str("stores") == storesNT {
		g.line("static inline float one(%s)\n{\n\treturn %s;\n}\n", g.inputs("float ", ""), g.op.expr)
	}
	if g.p.Str("code") == codeVector {
		g.vectorHelpers()
		if g.op.reduce {
			g.vectorSum()
		} else {
			g.vectorMap()
		}
	} else {
		g.plain()
	}
	g.entry()
}

// inputs returns a list of the inputs, as in "const float *restrict a, const float *restrict b".
func (g *generator) inputs(prefix, suffix string) string {
	s := prefix + "a" + suffix
	if g.op.two {
		s += ", " + prefix + "b" + suffix
	}
	return s
}

// signature opens the function that works on n elements.
func (g *generator) signature() {
	if g.op.reduce {
		g.line("static float run(%s, int64_t n)\n{", g.inputs("const float *restrict ", ""))
	} else {
		g.line("static void run(%s, float *restrict y, int64_t n)\n{", g.inputs("const float *restrict ", ""))
	}
}

// plain writes the loop that anyone would write.
func (g *generator) plain() {
	g.signature()
	if g.op.reduce {
		// One float for the whole sum would stop growing at 2²⁴.
		g.line("\tfloat total = 0;")
		g.line("\tfor (int64_t i = 0; i < n;) {")
		g.line("\t\tconst int64_t end = n - i > %d ? i + %d : n;", plainBlock, plainBlock)
		g.line("\t\tfloat sum = 0;")
		g.line("\t\tfor (; i < end; i++)\n\t\t\tsum += one(%s);", g.inputs("", "[i]"))
		g.line("\t\ttotal += sum;\n\t}")
		g.line("\treturn total;\n}\n")
		return
	}
	g.line("\tfor (int64_t i = 0; i < n; i++)\n\t\ty[i] = one(%s);\n}\n", g.inputs("", "[i]"))
}

// plainBlock is the number of elements that the plain reduction sums at a time.
const plainBlock = 1 << 16

// vectorHelpers writes the types and the operations on a vector.
func (g *generator) vectorHelpers() {
	l := g.p.Int("lanes")
	g.line("enum { LANES = %d };", l)
	g.line("typedef float vec __attribute__((vector_size(%d)));", 4*l)
	g.line("typedef float vec_memory __attribute__((vector_size(%d), aligned(4), may_alias));\n", 4*l)
	g.line("static inline vec load(const float *p)\n{\n\treturn *(const vec_memory *)p;\n}\n")
	if g.op.name == "relu" {
		g.reluVector(l)
	} else if !g.op.reduce {
		g.line("static inline vec many(vec a, vec b)\n{\n\treturn %s;\n}\n", g.op.expr)
	}
	if g.p.Str("tail") == tailMasked {
		g.maskedHelpers()
	}
	if g.op.reduce {
		return
	}
	g.line("static inline void store(float *p, vec v)\n{\n\t*(vec_memory *)p = v;\n}\n")
	if g.p.Str("stores") == storesNT {
		builtin := map[int]string{4: "__builtin_ia32_movntps", 8: "__builtin_ia32_movntps256", 16: "__builtin_ia32_movntps512"}[l]
		g.line("// Past the caches; p is aligned to the vector.")
		g.line("static inline void store_past(float *p, vec v)\n{")
		g.line("#if defined(__clang__)\n\t__builtin_nontemporal_store(v, (vec *)p);")
		g.line("#elif defined(__x86_64__)\n\t%s(p, v);", builtin)
		g.line("#else\n\tstore(p, v);\n#endif\n}\n")
	}
}

// maskedHelpers writes loads and stores of the first lanes of a vector. What is masked out is not touched, so that
// it may lie beyond the end of a buffer. The two compilers have no common name for the instructions.
func (g *generator) maskedHelpers() {
	g.line("static inline vec load_first(const float *p, int64_t lanes)\n{\n\tvec v;")
	g.line("\tconst uint16_t mask = (uint16_t)((1u << lanes) - 1);")
	g.line("\t__asm__(\"vmovups %%1, %%0%%{%%2%%}%%{z%%}\" : \"=v\"(v) : \"m\"(*(const vec_memory *)p), \"Yk\"(mask));\n\treturn v;\n}\n")
	if g.op.reduce {
		return
	}
	g.line("static inline void store_first(float *p, vec v, int64_t lanes)\n{")
	g.line("\tconst uint16_t mask = (uint16_t)((1u << lanes) - 1);")
	g.line("\t__asm__(\"vmovups %%1, %%0%%{%%2%%}\" : \"+m\"(*(vec_memory *)p) : \"v\"(v), \"Yk\"(mask));\n}\n")
}

// reluVector writes relu of a vector. The instruction returns its second source where that is NaN or both are
// zeros, which is what the definition asks for; in other words than this the compilers need two instructions.
func (g *generator) reluVector(l int) {
	g.line("static inline vec many(vec a)\n{")
	g.line("#if defined(__x86_64__)\n\tvec y = { 0 };")
	if l == 4 && g.p.Str("isa") == isaGeneric {
		g.line("\t__asm__(\"maxps %%1, %%0\" : \"+x\"(y) : \"x\"(a));")
	} else {
		g.line("\t__asm__(\"vmaxps %%1, %%0, %%0\" : \"+v\"(y) : \"v\"(a));")
	}
	g.line("\treturn y;")
	g.line("#else\n\ttypedef int32_t mask __attribute__((vector_size(%d)));", 4*l)
	g.line("\treturn (vec)((mask)a & ~(mask)(a < 0));\n#endif\n}\n")
}

// prefetches writes the prefetches for the step at element `at`.
func (g *generator) prefetches(indent, at string, step int) {
	ahead := g.p.Int("prefetch")
	if ahead == 0 {
		return
	}
	locality := 3
	if g.p.Str("hint") == hintNTA {
		locality = 0
	}
	for _, name := range g.names() {
		for l := 0; l < max(1, step/lineFloats); l++ {
			g.line("%s__builtin_prefetch(%s + %s + %d, 0, %d);", indent, name, at, (ahead+l)*lineFloats, locality)
		}
	}
}

// names returns the names of the inputs.
func (g *generator) names() []string {
	if g.op.two {
		return []string{"a", "b"}
	}
	return []string{"a"}
}

// loads returns the loaded inputs at an offset: "load(a + at), load(b + at)".
func (g *generator) loads(at string) string {
	var parts []string
	for _, name := range g.names() {
		parts = append(parts, fmt.Sprintf("load(%s + %s)", name, at))
	}
	return strings.Join(parts, ", ")
}

// firsts returns the inputs at i, with the lanes up to n.
func (g *generator) firsts() string {
	var parts []string
	for _, name := range g.names() {
		parts = append(parts, fmt.Sprintf("load_first(%s + i, n - i)", name))
	}
	return strings.Join(parts, ", ")
}

// distance writes the function that places the streams.
func (g *generator) distance() {
	g.line("// distance returns how many elements a stream of n elements in all has. It is a multiple of a cache line.")
	g.line("static inline int64_t distance(int64_t n)\n{")
	g.line("\tint64_t lines = n / STREAMS / %d;", lineFloats)
	if skew := g.p.Int("skew"); skew > 0 {
		g.line("\tlines -= (lines - %d) & 63;", skew)
	}
	g.line("\treturn lines * %d < STEP ? 0 : lines * %d;\n}\n", lineFloats, lineFloats)
}

// loop writes the main loop, which calls step for the body at element `at`, and then rest for the elements from and to.
func (g *generator) loop(step func(indent, at string), rest func(indent, from, to string)) {
	size := g.p.Int("unroll") * g.p.Int("lanes")
	if g.p.Int("streams") == 1 {
		g.line("\tfor (; i + STEP <= n; i += STEP) {")
		g.prefetches("\t\t", "i", size)
		step("\t\t", "i")
		g.line("\t}")
		rest("\t", "i", "n")
		return
	}
	g.line("\tconst int64_t d = distance(n - i);")
	g.line("\tint64_t j = 0;")
	g.line("\tfor (; j + STEP <= d; j += STEP)")
	g.line("\t\tfor (int s = 0; s < STREAMS; s++) {")
	g.line("\t\t\tconst int64_t at = i + s * d + j;")
	g.prefetches("\t\t\t", "at", size)
	step("\t\t\t", "at")
	g.line("\t\t}")
	g.line("\tif (j < d)\n\t\tfor (int s = 0; s < STREAMS; s++) {")
	rest("\t\t\t", "i + s * d + j", "i + (s + 1) * d")
	g.line("\t\t}")
	rest("\t", "i + STREAMS * d", "n")
}

// steps writes the constants of the loop.
func (g *generator) steps() {
	g.line("enum { STEP = %d * LANES, STREAMS = %d };\n", g.p.Int("unroll"), g.p.Int("streams"))
	if g.p.Int("streams") > 1 {
		g.distance()
	}
}

// vectorMap writes the elementwise family.
func (g *generator) vectorMap() {
	in := g.inputs("const float *restrict ", "")
	call := g.inputs("", "")
	past := g.p.Str("stores") == storesNT
	g.steps()
	g.line("// span does the elements that fill no step.")
	g.line("static inline void span(%s, float *restrict y, int64_t i, int64_t n)\n{", in)
	if g.p.Str("tail") == tailOverlap {
		g.line("\tif (n - i >= LANES) {")
		g.line("\t\tfor (; i + LANES <= n; i += LANES)\n\t\t\tstore(y + i, many(%s));", g.loads("i"))
		g.line("\t\tif (i < n)\n\t\t\tstore(y + n - LANES, many(%s));", g.loads("n - LANES"))
		g.line("\t\treturn;\n\t}")
	} else {
		g.line("\tfor (; i + LANES <= n; i += LANES)\n\t\tstore(y + i, many(%s));", g.loads("i"))
	}
	if g.p.Str("tail") == tailMasked {
		g.line("\tif (i < n)\n\t\tstore_first(y + i, many(%s), n - i);", g.firsts())
	} else {
		g.scalarLoop("\t", "y[i] = one(%s);")
	}
	g.line("}\n")
	g.signature()
	g.line("\tint64_t i = 0;")
	store := "store"
	if past {
		store = "store_past"
		g.line("\tfor (; i < n && (uintptr_t)(y + i) %% sizeof(vec) != 0; i++)\n\t\ty[i] = one(%s);", g.inputs("", "[i]"))
	}
	g.loop(func(indent, at string) {
		for u := range g.p.Int("unroll") {
			offset := at
			if u > 0 {
				offset = fmt.Sprintf("%s + %d * LANES", at, u)
			}
			g.line("%s%s(y + %s, many(%s));", indent, store, offset, g.loads(offset))
		}
	}, func(indent, from, to string) {
		g.line("%sspan(%s, y, %s, %s);", indent, call, from, to)
	})
	if past {
		g.line("#if defined(__x86_64__)\n\t__builtin_ia32_sfence(); // others see the results only after it\n#endif")
	}
	g.line("}\n")
}

// scalarLoop writes a loop over single elements, which the compiler need not make fast.
func (g *generator) scalarLoop(indent, body string) {
	g.line("%sfor (; i < n; i++)\n%s\t"+body, indent, indent, g.inputs("", "[i]"))
}

// vectorSum writes the reductions.
func (g *generator) vectorSum() {
	in := g.inputs("const float *restrict ", "")
	call := g.inputs("", "")
	unroll := g.p.Int("unroll")
	g.steps()
	g.line("// fused returns s plus the terms of a and b.")
	g.line("static inline vec fused(vec s, vec a, vec b)\n{")
	if g.op.name == "distance" {
		g.line("\tconst vec c = a - b;\n\treturn s + c * c;\n}\n")
	} else {
		g.line("\treturn s + a * b;\n}\n")
	}
	g.line("// span adds the whole vectors among the elements that fill no step to s, and the others to rest.")
	g.line("static inline vec span(vec s, float *rest, %s, int64_t i, int64_t n)\n{", in)
	g.line("\tfor (; i + LANES <= n; i += LANES)\n\t\ts = fused(s, %s);", g.loads("i"))
	if g.p.Str("tail") == tailMasked {
		// A masked lane is 0 in both inputs, and so is its term.
		g.line("\tif (i < n)\n\t\ts = fused(s, %s);", g.firsts())
		g.line("\t(void)rest;")
	} else {
		g.scalarLoop("\t", "*rest += one(%s);")
	}
	g.line("\treturn s;\n}\n")
	g.horizontal()
	g.signature()
	g.line("\tint64_t i = 0;\n\tfloat rest = 0;")
	for u := range unroll {
		g.line("\tvec s%d = { 0 };", u)
	}
	g.loop(func(indent, at string) {
		for u := range unroll {
			offset := at
			if u > 0 {
				offset = fmt.Sprintf("%s + %d * LANES", at, u)
			}
			g.line("%ss%d = fused(s%d, %s);", indent, u, u, g.loads(offset))
		}
	}, func(indent, from, to string) {
		g.line("%ss0 = span(s0, &rest, %s, %s, %s);", indent, call, from, to)
	})
	// The sums are added in pairs, whose rounding errors are smaller than those of a chain.
	sums := make([]string, unroll)
	for u := range sums {
		sums[u] = fmt.Sprintf("s%d", u)
	}
	for len(sums) > 1 {
		var next []string
		for pair := range slices.Chunk(sums, 2) {
			if len(pair) == 2 {
				pair[0] = "(" + pair[0] + " + " + pair[1] + ")"
			}
			next = append(next, pair[0])
		}
		sums = next
	}
	g.line("\treturn horizontal(%s) + rest;\n}\n", sums[0])
}

// horizontal writes the sum over the lanes of a vector, by halves.
func (g *generator) horizontal() {
	l := g.p.Int("lanes")
	g.line("static inline float horizontal(vec s)\n{")
	from := "s"
	for ; l > 4; l /= 2 {
		g.line("\ttypedef float vec%d __attribute__((vector_size(%d), may_alias));", l/2, 2*l)
		g.line("\tconst vec%d h%d = ((const vec%d *)&%s)[0] + ((const vec%d *)&%s)[1];", l/2, l/2, l/2, from, l/2, from)
		from = fmt.Sprintf("h%d", l/2)
	}
	g.line("\treturn (%s[0] + %s[1]) + (%s[2] + %s[3]);\n}\n", from, from, from, from)
}

// entry writes the exported function.
func (g *generator) entry() {
	type argument struct{ name, decl string }
	var list []argument
	for _, name := range g.names() {
		list = append(list, argument{name, "const float *" + name})
	}
	list = append(list, argument{"y", "float *y"})
	parallel := g.parallel(g.p)
	if parallel {
		g.tasks()
	}
	g.line("void tune_kernel(void *const *args, const int64_t *dims)\n{")
	for i, a := range list {
		g.line("\t%s = args[%d];", a.decl, i)
	}
	g.line("\tconst int64_t n = dims[0], arrays = dims[1];")
	if parallel {
		g.line("\tif (n * arrays >= %d) {", g.p.Int("threshold"))
		g.parallelBody()
		g.line("\t\treturn;\n\t}")
	}
	g.line("\tfor (int64_t k = 0; k < arrays; k++)")
	g.line("\t\t%s\n}", g.array())
}

// array returns the statement that does the whole array k.
func (g *generator) array() string {
	if g.op.reduce {
		return fmt.Sprintf("y[k] = %s;", g.finish(fmt.Sprintf("run(%s, n)", g.inputs("", " + k * n"))))
	}
	return fmt.Sprintf("run(%s, y + k * n, n);", g.inputs("", " + k * n"))
}

// finish turns a sum into a result.
func (g *generator) finish(sum string) string {
	if g.op.name == "distance" {
		return "__builtin_sqrtf(" + sum + ")"
	}
	return sum
}

// tasks writes what the workers run, and how the work is cut.
func (g *generator) tasks() {
	pieces := g.p.Int("workers") * g.p.Int("pieces")
	g.line("enum { CHUNKS = %d };\n", pieces)
	grain := lineFloats
	if g.p.Str("split") == splitArrays {
		grain = 1
	}
	g.line("// chunk returns where the i-th part of total begins; it ends where the next begins.")
	g.line("static inline int64_t chunk(int64_t total, int64_t i)\n{")
	if g.p.Str("rest") == restChunk {
		g.line("\treturn i > CHUNKS ? total : total / CHUNKS * i;\n}\n")
		g.line("// tasks returns the number of parts: those of equal size, and one more for the rest.")
		g.line("static inline int64_t tasks(int64_t total)\n{\n\treturn CHUNKS + (total %% CHUNKS != 0);\n}\n")
	} else {
		g.line("\treturn i >= CHUNKS ? total : total / %d * i / CHUNKS * %d;\n}\n", grain, grain)
		g.line("static inline int64_t tasks(int64_t total)\n{\n\t(void)total;\n\treturn CHUNKS;\n}\n")
	}
	g.line("struct batch {")
	for _, name := range g.names() {
		g.line("\tconst float *%s;", name)
	}
	g.line("\tfloat *y;\n\tint64_t n, arrays;\n};\n")
	g.line("static void part(void *context, int64_t i, __attribute__((unused)) int worker)\n{\n\tconst struct batch *w = context;")
	for _, name := range g.names() {
		g.line("\tconst float *%s = w->%s;", name, name)
	}
	g.line("\tfloat *y = w->y;\n\tconst int64_t n = w->n;")
	if g.p.Str("split") == splitArrays {
		g.line("\tconst int64_t end = chunk(w->arrays, i + 1);")
		g.line("\tfor (int64_t k = chunk(w->arrays, i); k < end; k++)\n\t\t%s\n}\n", g.array())
		return
	}
	g.line("\tconst int64_t from = chunk(n, i), to = chunk(n, i + 1);")
	if g.op.reduce {
		g.line("\ty[i] = run(%s, to - from);\n}\n", g.inputs("", " + from"))
	} else {
		g.line("\trun(%s, y + from, to - from);\n}\n", g.inputs("", " + from"))
	}
}

// parallelBody writes the call of the workers.
func (g *generator) parallelBody() {
	members := g.inputs("", "")
	if g.p.Str("split") == splitArrays {
		g.line("\t\tstruct batch w = { %s, y, n, arrays };", members)
		g.line("\t\tparallel(part, &w, tasks(arrays));")
		return
	}
	g.line("\t\tfor (int64_t k = 0; k < arrays; k++) {")
	if !g.op.reduce {
		g.line("\t\t\tstruct batch w = { %s, y + k * n, n, arrays };", g.inputs("", " + k * n"))
		g.line("\t\t\tparallel(part, &w, tasks(n));\n\t\t}")
		return
	}
	// The sums of the parts are added in the order of the parts, whoever computed them.
	g.line("\t\t\tfloat sums[CHUNKS + 1], sum = 0;")
	g.line("\t\t\tstruct batch w = { %s, sums, n, arrays };", g.inputs("", " + k * n"))
	g.line("\t\t\tparallel(part, &w, tasks(n));")
	g.line("\t\t\tfor (int64_t i = 0; i < tasks(n); i++)\n\t\t\t\tsum += sums[i];")
	g.line("\t\t\ty[k] = %s;\n\t\t}", g.finish("sum"))
}
