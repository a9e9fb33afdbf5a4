package peers

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"tune/internal/cpu"
	"tune/kernels/native"
	"tune/kernels/native/cgen"
)

// GGML is the library ggml, as Fetch brings it.
type GGML struct {
	// CPU names the processors that Library was compiled for, such as "zen4".
	CPU string
	// Base and Library are the paths of the two shared libraries.
	Base, Library string
}

// variant is one of the libraries that the package has for processors of different age.
type variant struct {
	name  string
	needs []string // features, as package cpuid names them
}

// variants are in the order in which ggml prefers them: the last one that the processor supports is taken.
var variants = []variant{
	{"x64", nil},
	{"sse42", words("SSE42")},
	{"sandybridge", words("SSE42 AVX")},
	{"ivybridge", words("SSE42 AVX F16C")},
	{"piledriver", words("SSE42 AVX F16C FMA3")},
	{"haswell", words(ofHaswell)},
	{"alderlake", words(ofHaswell + " AVXVNNI")},
	{"skylakex", words(ofSkylakeX)},
	{"cannonlake", words(ofSkylakeX + " AVX512VBMI")},
	{"cascadelake", words(ofSkylakeX + " AVX512VNNI")},
	{"icelake", words(ofSkylakeX + " AVX512VBMI AVX512VNNI")},
	{"cooperlake", words(ofSkylakeX + " AVX512VNNI AVX512BF16")},
	{"zen4", words(ofSkylakeX + " AVX512VBMI AVX512VNNI AVX512BF16")},
	{"sapphirerapids", words(ofSkylakeX + " AVX512VBMI AVX512VNNI AVX512BF16 AMXTILE AMXINT8")},
}

const (
	ofHaswell  = "SSE42 AVX F16C FMA3 AVX2 BMI2"
	ofSkylakeX = ofHaswell + " AVX512F AVX512CD AVX512VL AVX512DQ AVX512BW"
)

func words(text string) []string { return strings.Fields(text) }

// variantFor returns the variant for a processor with some features.
func variantFor(has func(features ...string) bool) string {
	best := ""
	for _, v := range variants {
		if has(v.needs...) {
			best = v.name
		}
	}
	return best
}

// GGMLVersion is the version of the npm package that has the libraries.
const GGMLVersion = "3.22.1"

// The files of the library.
const baseFile = "libggml-base.so"

func libraryFile(variant string) string { return "libggml-cpu-" + variant + ".so" }

// IsGGML reports whether a file is one of the libraries of ggml, by its name.
func IsGGML(file string) bool {
	return file == baseFile || strings.HasPrefix(file, "libggml-cpu-") && strings.HasSuffix(file, ".so")
}

// Directory returns where the libraries of ggml are kept: in the cache of this user, where tune finds them from any folder, and never
// in a repository.
func Directory() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("there is no folder for the libraries of ggml: %w", err)
	}
	return filepath.Join(cache, "tune", "peers", "ggml-"+GGMLVersion), nil
}

// FindGGML returns the ggml that Fetch has brought, for this processor; ok is false where there is none.
func FindGGML() (g GGML, ok bool) {
	dir, err := Directory()
	if err != nil {
		return GGML{}, false
	}
	return findGGML(dir)
}

func findGGML(dir string) (g GGML, ok bool) {
	g.CPU = variantFor(cpu.Has)
	g.Base, g.Library = filepath.Join(dir, baseFile), filepath.Join(dir, libraryFile(g.CPU))
	for _, path := range []string{g.Base, g.Library} {
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
			return GGML{}, false
		}
	}
	return g, true
}

// Way is how ggml keeps the weights of a product.
type Way string

// The ways. A processor may lack one, and each is for some types and sizes of weights only.
const (
	Plain  Way = ""           // as in a file
	Repack Way = "CPU_REPACK" // rows interleaved
	Tiles  Way = "AMX"        // for matrix tiles
)

// suffixes tell the peers of the ways apart.
var ways = []struct {
	way    Way
	suffix string
}{{Plain, ""}, {Repack, "-repack"}, {Tiles, "-tiles"}}

// call is what the templates are given.
type call struct {
	GGML
	Graph
	Way     Way
	Threads int
}

// Source returns the candidate that computes a graph with some threads, on weights that are kept in a way: for any but Plain they have
// to be as Packer lays them out. It aborts, with the reason on standard error, where the library cannot be loaded.
func (g GGML) Source(graph Graph, way Way, threads int) native.Source {
	return g.write("ggml_call", graph, way, threads)
}

// packer returns the program that lays out weights.
func (g GGML) packer(graph Graph, way Way) native.Source { return g.write("ggml_pack", graph, way, 1) }

func (g GGML) write(piece string, graph Graph, way Way, threads int) native.Source {
	var w cgen.Writer
	w.Piece(pieces, piece, call{g, graph, way, threads})
	return native.Source{Lang: "c", Text: w.String(), Flags: []string{"-O2"}, Threads: threads}
}

// Type is the type of the elements of a tensor of ggml.
type Type struct {
	Name   string
	Number int // as ggml numbers them
	Block  int // elements of a block
	Bytes  int // of a block
}

// The types of weights.
var (
	F32  = Type{"f32", 0, 1, 4}
	F16  = Type{"f16", 1, 1, 2}
	Q4_0 = Type{"q4_0", 2, 32, 18}
	Q4_1 = Type{"q4_1", 3, 32, 20}
	Q5_0 = Type{"q5_0", 6, 32, 22}
	Q5_1 = Type{"q5_1", 7, 32, 24}
	Q8_0 = Type{"q8_0", 8, 32, 34}
	Q4_K = Type{"q4_k", 12, 256, 144}
	Q5_K = Type{"q5_k", 13, 256, 176}
	Q6_K = Type{"q6_k", 14, 256, 210}
	BF16 = Type{"bf16", 30, 1, 2}
)

// Types lists the types of weights.
func Types() []Type { return []Type{F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q4_K, Q5_K, Q6_K} }

// Size is a C expression of integers: a number, or one with the dimensions of a call, such as "dims[0]".
type Size string

// None stands for an argument that a graph does without.
const None = -1

// Graph is what ggml computes in a call: C statements that make its graph of the dimensions and arguments of tune_kernel. The
// functions of this file return those of the usual operations. Each names the arguments by their numbers.
//
// Statements of your own may call the functions that ggml.c.tmpl declares: argument and swapped make tensors of arguments, weights
// one that may be laid out, product multiplies by that, result says what to compute, positions and causal are constants.
type Graph struct {
	Doc   string // what it computes
	Dims  int    // how many dimensions a call has
	Build string
	// Weights is the number of the argument that Packer may lay out; 0 where there is none.
	Weights int
}

// MulMat is a product of weights of a type, n rows of k, and activations of float32, m rows of k: C = A·Wᵀ in float32, m rows of n.
// Arguments 0, 1 and 2 are A, W and C, and the dimensions m, n and k.
func MulMat(t Type) Graph { return MulMatOf(t, F32) }

// MulMatOf is the same with activations of a type: float32, or F16 or BF16 as the weights.
func MulMatOf(t, activations Type) Graph {
	return Graph{
		Doc: "C = A·Wᵀ with weights in " + t.Name, Dims: 3, Weights: 1,
		Build: fmt.Sprintf("\ttensor *w = weights(%d, dims[2], dims[1], 1);\n\tresult(product(w, argument(%d, dims[2], dims[0], 1, 0)), 2);",
			t.Number, activations.Number),
	}
}

// graph writes a graph: the C expression of its result, and which argument that is.
func graph(doc string, dims int, value string, to int) Graph {
	return Graph{Doc: doc, Dims: dims, Build: fmt.Sprintf("\tresult(%s, %d);", value, to)}
}

// rows is the C text of an argument of rows.
func rows(height, width Size, arg int) string {
	return fmt.Sprintf("argument(F32, %s, %s, 1, %d)", width, height, arg)
}

// weighted is the C text of rows that are multiplied by one row and added to another, None of which there need be.
func weighted(value string, width Size, weight, bias int) string {
	if weight != None {
		value = fmt.Sprintf("ggml_mul(ctx, %s, %s)", value, rows("1", width, weight))
	}
	if bias != None {
		value = fmt.Sprintf("ggml_add(ctx, %s, %s)", value, rows("1", width, bias))
	}
	return value
}

// Softmax is the softmax of each row of argument x, to y.
func Softmax(dims int, height, width Size, x, y int) Graph {
	return graph("softmax of rows", dims, fmt.Sprintf("ggml_soft_max_ext(ctx, %s, 0, 1, 0)", rows(height, width, x)), y)
}

// RMSNorm divides each row by the root of its mean square plus epsilon, and multiplies it by the row weight, which may be None.
func RMSNorm(dims int, height, width Size, epsilon float32, x, weight, y int) Graph {
	value := fmt.Sprintf("ggml_rms_norm(ctx, %s, %v)", rows(height, width, x), epsilon)
	return graph("RMSNorm of rows", dims, weighted(value, width, weight, None), y)
}

// AddRMSNorm is RMSNorm of the sum of x and residual. The sum is a result too, unless sum is None.
func AddRMSNorm(dims int, height, width Size, epsilon float32, x, residual, weight, sum, y int) Graph {
	build := fmt.Sprintf("\ttensor *sum = ggml_add(ctx, %s, %s);\n", rows(height, width, x), rows(height, width, residual))
	if sum != None {
		build += fmt.Sprintf("\tresult(sum, %d);\n", sum)
	}
	value := weighted(fmt.Sprintf("ggml_rms_norm(ctx, sum, %v)", epsilon), width, weight, None)
	return Graph{Doc: "RMSNorm of a sum of rows", Dims: dims, Build: build + fmt.Sprintf("\tresult(%s, %d);", value, y)}
}

// LayerNorm subtracts the mean of each row, divides by the root of its variance plus epsilon, multiplies by the row weight and adds the
// row bias, each of which may be None.
func LayerNorm(dims int, height, width Size, epsilon float32, x, weight, bias, y int) Graph {
	value := fmt.Sprintf("ggml_norm(ctx, %s, %v)", rows(height, width, x), epsilon)
	return graph("layer normalisation of rows", dims, weighted(value, width, weight, bias), y)
}

// Rope rotates the heads of tokens by their positions: pairs of neighbours, or with split of elements of the two halves. Argument x is
// tokens of heads of width elements. positions are integers of 32 bits, one a token; None stands for 0, 1, 2 and so on.
func Rope(dims int, tokens, heads, width Size, base float32, split bool, x, positions, y int) Graph {
	mode := 0
	if split {
		mode = 2
	}
	at := fmt.Sprintf("positions(%s)", tokens)
	if positions != None {
		at = fmt.Sprintf("argument(I32, %s, 1, 1, %d)", tokens, positions)
	}
	value := fmt.Sprintf("ggml_rope_ext(ctx, argument(F32, %s, %s, %s, %d), %s, 0, %s, %d, 0, %v, 1, 0, 1, 0, 0)", width, heads, tokens, x, at, width, mode, base)
	return graph("rotary positions", dims, value, y)
}

// SiLU is x·sigmoid(x) of each element.
func SiLU(dims int, height, width Size, x, y int) Graph {
	return graph("SiLU", dims, fmt.Sprintf("ggml_silu(ctx, %s)", rows(height, width, x)), y)
}

// GELU is by the hyperbolic tangent, which ggml takes from a table of half precision, or by the error function.
func GELU(dims int, height, width Size, erf bool, x, y int) Graph {
	function, doc := "ggml_gelu", "GELU by tanh"
	if erf {
		function, doc = "ggml_gelu_erf", "GELU by erf"
	}
	return graph(doc, dims, fmt.Sprintf("%s(ctx, %s)", function, rows(height, width, x)), y)
}

// SwiGLU is SiLU of each element of gate, multiplied by that of up.
func SwiGLU(dims int, height, width Size, gate, up, y int) Graph {
	return graph("SwiGLU", dims, fmt.Sprintf("ggml_swiglu_split(ctx, %s, %s)", rows(height, width, gate), rows(height, width, up)), y)
}

// ArgMax is the index of the largest element of each row, as an integer of 32 bits.
func ArgMax(dims int, height, width Size, x, y int) Graph {
	return graph("indices of the largest elements of rows", dims, fmt.Sprintf("ggml_argmax(ctx, %s)", rows(height, width, x)), y)
}

// Attention says what Graph computes: softmax(Q·Kᵀ·Scale)·V for each head.
type Attention struct {
	Dims int  // of a call
	Type Type // of keys and values: F32, F16 or BF16; queries and results are of float32
	// Width is that of a head. Heads of the queries share KVHeads of keys and values.
	Queries, Keys, Heads, KVHeads, Width Size
	Scale                                float32
	Causal                               bool // the last query sees all keys, the one before it all but the last, and so on
	// ByHead says that queries, keys and values have all tokens of a head after each other, otherwise all heads of a token;
	// ResultByHead says the same of the result.
	ByHead, ResultByHead bool
	// Naive computes all scores before their softmax. The values are then given with the tokens of each element of a head after each
	// other, as programs that compute like this keep them: heads, their elements, tokens. Turned lays them out so.
	Naive bool
	// Q, K, V and Y are the numbers of the arguments.
	Q, K, V, Y int
}

// Graph returns the graph.
func (a Attention) Graph() Graph {
	place := "swapped"
	if a.ByHead {
		place = "argument"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\ttensor *q = %s(F32, %s, %s, %s, %d);\n", place, a.Width, a.Queries, a.Heads, a.Q)
	fmt.Fprintf(&b, "\ttensor *k = %s(%d, %s, %s, %s, %d);\n", place, a.Type.Number, a.Width, a.Keys, a.KVHeads, a.K)
	mask := "0"
	if a.Causal {
		mask = fmt.Sprintf("causal(%s, %s)", a.Keys, a.Queries)
	}
	doc, byHead := "attention in one pass", false
	if a.Naive {
		doc, byHead = "attention by all scores", true
		fmt.Fprintf(&b, "\ttensor *v = argument(%d, %s, %s, %s, %d);\n", a.Type.Number, a.Keys, a.Width, a.KVHeads, a.V)
		fmt.Fprintf(&b, "\ttensor *y = ggml_mul_mat(ctx, v, ggml_soft_max_ext(ctx, ggml_mul_mat(ctx, k, q), %s, %v, 0));\n", mask, a.Scale)
	} else {
		fmt.Fprintf(&b, "\ttensor *v = %s(%d, %s, %s, %s, %d);\n", place, a.Type.Number, a.Width, a.Keys, a.KVHeads, a.V)
		fmt.Fprintf(&b, "\ttensor *y = ggml_flash_attn_ext(ctx, q, k, v, %s, %v, 0, 0);\n", mask, a.Scale)
	}
	if byHead != a.ResultByHead {
		b.WriteString("\ty = ggml_cont(ctx, ggml_permute(ctx, y, 0, 2, 1, 3));\n")
	}
	fmt.Fprintf(&b, "\tresult(y, %d);", a.Y)
	return Graph{Doc: doc, Dims: a.Dims, Build: b.String()}
}
