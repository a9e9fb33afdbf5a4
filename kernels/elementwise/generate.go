package elementwise

import (
	"embed"
	"fmt"
	"slices"
	"strings"

	"tune/kernels/native"
	"tune/kernels/native/cgen"
	"tune/space"
)

// lineFloats is how many floats a cache line holds.
const lineFloats = 16

// Generate writes the C code of a point.
func (k *Spec) Generate(p space.Point) (native.Source, error) { return k.source(p), nil }

func (k *Spec) source(p space.Point) native.Source {
	g := &generator{Spec: k, p: p, knobs: k.knobs(p)}
	g.file()
	src := native.Source{Lang: "c", Text: g.String(), Compiler: p.Str("compiler"), Flags: k.flags(p, p.Str("isa")), Threads: 1, Overlaps: true}
	if k.parallel(p) && k.n*k.arrays >= p.Int("threshold") {
		src.Threads = p.Int("workers")
	}
	return src
}

// parallel reports whether the code of a point has more than one worker.
func (k *Spec) parallel(p space.Point) bool { return k.threads > 1 && p.Int("workers") > 1 }

// flags are those of the compiler, for an instruction set.
func (k *Spec) flags(p space.Point, isa string) []string {
	return cgen.Flags{
		Arch: k.machine.Arch, Std: "gnu11", Opt: p.Str("opt"), NoMathErrno: true, ISA: isa, Wide: true,
		UnrollLoops: p.Bool("unroll_loops"), Threads: k.parallel(p),
	}.List()
}

// pieces are the constant parts of the code.
var pieces = cgen.ParsePieces(pieceFiles, "pieces.c.tmpl")

//go:embed pieces.c.tmpl
var pieceFiles embed.FS

// knobs are what the pieces need to know of a point.
type knobs struct {
	Names  []string // of the inputs
	Expr   string   // of a term or result
	Reduce bool
	Root   bool // the result is the root of the sum

	Lanes, Unroll, Streams, Skew int
	Tail                         string
	SSE                          bool // vectors of the base instruction set

	Parallel          bool
	Threshold, Chunks int
	SplitArrays       bool
	Spread            bool // what does not divide evenly is spread
}

// knobs reads a point.
func (k *Spec) knobs(p space.Point) knobs {
	n := knobs{
		Names: []string{"a"}, Expr: k.op.expr, Reduce: k.op.reduce, Root: k.op.name == "distance",
		Lanes: p.Int("lanes"), Unroll: p.Int("unroll"), Streams: p.Int("streams"), Skew: p.Int("skew"), Tail: p.Str("tail"),
		SSE: p.Int("lanes") == 4 && p.Str("isa") == cgen.Generic,
	}
	if k.op.two {
		n.Names = append(n.Names, "b")
	}
	if k.parallel(p) {
		n.Parallel = true
		n.Threshold, n.Chunks = p.Int("threshold"), p.Int("workers")*p.Int("pieces")
		n.SplitArrays, n.Spread = p.Str("split") == splitArrays, p.Str("rest") == restSpread
	}
	return n
}

// LineFloats is how many floats a cache line holds.
func (knobs) LineFloats() int { return lineFloats }

// PlainBlock is the number of elements that the plain reduction sums at a time.
func (knobs) PlainBlock() int { return 1 << 16 }

// Bytes is the size of a vector.
func (k knobs) Bytes() int { return 4 * k.Lanes }

// Grain is the number of elements, or of arrays, that chunks are multiples of.
func (k knobs) Grain() int {
	if k.SplitArrays {
		return 1
	}
	return lineFloats
}

// Each lists the inputs, with what stands before and after each: "load(a + i), load(b + i)".
func (k knobs) Each(before, after string) string {
	var parts []string
	for _, name := range k.Names {
		parts = append(parts, before+name+after)
	}
	return strings.Join(parts, ", ")
}

// Pointers lists the inputs as parameters of a function.
func (k knobs) Pointers() string { return k.Each("const float *restrict ", "") }

// Finish turns a sum into a result.
func (k knobs) Finish(sum string) string {
	if k.Root {
		return "__builtin_sqrtf(" + sum + ")"
	}
	return sum
}

// Array returns the statement that does the whole array k.
func (k knobs) Array() string {
	inputs := k.Each("", " + k * n")
	if k.Reduce {
		return fmt.Sprintf("y[k] = %s;", k.Finish(fmt.Sprintf("run(%s, n)", inputs)))
	}
	return fmt.Sprintf("run(%s, y + k * n, n);", inputs)
}

// StorePast is GCC's name of the store past the caches.
func (k knobs) StorePast() string { return cgen.StorePast(k.Lanes) }

// generator writes one file.
type generator struct {
	*Spec
	cgen.Writer
	p space.Point
	knobs
}

// piece writes pieces of C.
func (g *generator) piece(names ...string) {
	for _, name := range names {
		g.Piece(pieces, name, g.knobs)
	}
}

func (g *generator) file() {
	g.Comment("elementwise-f32, %s: %s", g.op.name, g.p.Key())
	g.Line("#include <stdint.h>")
	g.Blank()
	if g.Parallel {
		g.Text(cgen.Crew(g.p).Text())
		g.Blank()
	}
	vector, masked, past := g.p.Str("code") == codeVector, g.Tail == tailMasked, g.past()
	if !masked || past {
		g.piece("one")
	}
	switch {
	case vector && g.Reduce:
		g.vectorTypes(masked, past)
		g.vectorSum()
	case vector:
		g.vectorTypes(masked, past)
		g.vectorMap()
	case g.Reduce:
		g.piece("plain sum")
	default:
		g.piece("plain map")
	}
	if g.Parallel {
		g.piece("chunks")
	}
	g.piece("entry")
}

// past reports whether results go past the caches.
func (g *generator) past() bool { return !g.Reduce && g.p.Str("stores") == storesNT }

// vectorTypes writes the types and the operations on a vector.
func (g *generator) vectorTypes(masked, past bool) {
	g.piece("vector")
	if g.op.name == "relu" {
		g.piece("relu")
	} else if !g.Reduce {
		g.piece("many")
	}
	if masked {
		g.piece("load_first")
	}
	if g.Reduce {
		return
	}
	if masked {
		g.piece("store_first")
	}
	g.piece("store")
	if past {
		g.piece("store_past")
	}
}

// steps writes the constants of the loop.
func (g *generator) steps() {
	g.piece("step")
	if g.Streams > 1 {
		g.piece("distance")
	}
}

// loop writes the main loop, which calls step for the body at element `at`, and then rest for the elements from and to.
func (g *generator) loop(step func(at string), rest func(from, to string)) {
	if g.Streams == 1 {
		g.Open("for (; i + STEP <= n; i += STEP)")
		g.prefetches("i")
		step("i")
		g.Close()
		rest("i", "n")
		return
	}
	g.Line("const int64_t d = distance(n - i);")
	g.Line("int64_t j = 0;")
	g.Line("for (; j + STEP <= d; j += STEP)")
	g.eachStream(func() {
		g.Line("const int64_t at = i + s * d + j;")
		g.prefetches("at")
		step("at")
	})
	g.Line("if (j < d)")
	g.eachStream(func() { rest("i + s * d + j", "i + (s + 1) * d") })
	rest("i + STREAMS * d", "n")
}

// eachStream writes the loop over the streams, below a line that governs it.
func (g *generator) eachStream(body func()) {
	g.In()
	g.Open("for (int s = 0; s < STREAMS; s++)")
	body()
	g.Close()
	g.Out()
}

// prefetches writes the prefetches for the step at element `at`.
func (g *generator) prefetches(at string) {
	ahead := g.p.Int("prefetch")
	if ahead == 0 {
		return
	}
	locality := 3
	if g.p.Str("hint") == hintNTA {
		locality = 0
	}
	for _, name := range g.Names {
		for l := range max(1, g.Unroll*g.Lanes/lineFloats) {
			g.Line("__builtin_prefetch(%s + %s + %d, 0, %d);", name, at, (ahead+l)*lineFloats, locality)
		}
	}
}

// loads returns the vectors of the inputs at an offset, the u-th of a step.
func (g *generator) loads(at string, u int) (offset, loads string) {
	if u > 0 {
		at = fmt.Sprintf("%s + %d * LANES", at, u)
	}
	return at, g.Each("load(", " + "+at+")")
}

// vectorMap writes the elementwise family.
func (g *generator) vectorMap() {
	g.steps()
	g.piece("span map")
	g.Func("static void run(%s, float *restrict y, int64_t n)", g.Pointers())
	g.Line("int64_t i = 0;")
	store := "store"
	if g.past() {
		store = "store_past"
		g.Nested("for (; i < n && (uintptr_t)(y + i) % sizeof(vec) != 0; i++)", fmt.Sprintf("y[i] = one(%s);", g.Each("", "[i]")))
	}
	g.loop(func(at string) {
		for u := range g.Unroll {
			offset, loads := g.loads(at, u)
			g.Line("%s(y + %s, many(%s));", store, offset, loads)
		}
	}, func(from, to string) {
		g.Line("span(%s, y, %s, %s);", g.Each("", ""), from, to)
	})
	if g.past() {
		g.Line("#if defined(__x86_64__)")
		g.Line("__builtin_ia32_sfence(); // others see the results only after it")
		g.Line("#endif")
	}
	g.EndFunc()
}

// vectorSum writes the reductions.
func (g *generator) vectorSum() {
	g.steps()
	g.piece("fused", "span sum")
	g.Horizontal("float", "vec", g.Lanes)
	g.Func("static float run(%s, int64_t n)", g.Pointers())
	g.Line("int64_t i = 0;")
	g.Line("float rest = 0;")
	var sums []string
	for u := range g.Unroll {
		sums = append(sums, fmt.Sprintf("s%d", u))
		g.Line("vec s%d = { 0 };", u)
	}
	g.loop(func(at string) {
		for u, sum := range sums {
			_, loads := g.loads(at, u)
			g.Line("%s = fused(%s, %s);", sum, sum, loads)
		}
	}, func(from, to string) {
		g.Line("s0 = span(s0, &rest, %s, %s, %s);", g.Each("", ""), from, to)
	})
	g.Line("return horizontal(%s) + rest;", pairwise(sums))
	g.EndFunc()
}

// pairwise returns the sum of terms, added in pairs: its rounding errors are smaller than those of a chain.
func pairwise(terms []string) string {
	for len(terms) > 1 {
		var next []string
		for pair := range slices.Chunk(terms, 2) {
			if len(pair) == 2 {
				next = append(next, "("+pair[0]+" + "+pair[1]+")")
			} else {
				next = append(next, pair[0])
			}
		}
		terms = next
	}
	return terms[0]
}
