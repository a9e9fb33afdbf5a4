package peers_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"tune/kernels/native"
	"tune/kernels/peers"
)

func bytesOf(list []int32) (b []byte) {
	for _, v := range list {
		b = binary.NativeEndian.AppendUint32(b, uint32(v))
	}
	return b
}

func integers(b []byte) (list []int32) {
	for ; len(b) > 0; b = b[4:] {
		list = append(list, int32(binary.NativeEndian.Uint32(b)))
	}
	return list
}

// The variant for this processor is the one that ggml's own scores prefer.
func TestGGMLVariant(t *testing.T) {
	g := ggml(t)
	found, err := filepath.Glob(filepath.Join(filepath.Dir(g.Base), "libggml-cpu-*.so"))
	if err != nil || len(found) < 2 {
		t.Fatal(found, err)
	}
	text := "#include <dlfcn.h>\n#include <stdint.h>\nvoid tune_kernel(void *const *args, const int64_t *dims) {\n\tint32_t *score = args[0];\n" +
		fmt.Sprintf("\tdlopen(%q, RTLD_NOW | RTLD_LOCAL);\n", g.Base)
	for i, path := range found {
		text += fmt.Sprintf("\tscore[%d] = ((int (*)(void))dlsym(dlopen(%q, RTLD_NOW | RTLD_LOCAL), \"ggml_backend_score\"))();\n", i, path)
	}
	scores := integers(calls(t, native.Source{Lang: "c", Text: text + "}\n"}, nil, len(found)))
	best := 0
	for i, s := range scores {
		if s > scores[best] {
			best = i
		}
	}
	t.Log(g.CPU, scores)
	if found[best] != g.Library {
		t.Errorf("took %s, and ggml would take %s", g.Library, found[best])
	}
}

// Positions from 0, and given ones; of pairs of neighbours, and of elements of the two halves.
func TestGGMLRope(t *testing.T) {
	g := ggml(t)
	const tokens, heads, width, base = 5, 2, 16, 10000
	rng := rand.New(rand.NewPCG(5, 6))
	x := floats(rng, tokens*heads*width)
	for _, split := range []bool{false, true} {
		for _, given := range []bool{false, true} {
			inputs, positions, y := [][]byte{native.AsBytes(x)}, peers.None, 1
			at := func(t int) float64 { return float64(t) }
			if given {
				inputs, positions, y = append(inputs, bytesOf([]int32{7, 0, 300, 2, 9})), 1, 2
				at = func(t int) float64 { return [tokens]float64{7, 0, 300, 2, 9}[t] }
			}
			graph := peers.Rope(3, "dims[0]", "dims[1]", "dims[2]", base, split, 0, positions, y)
			got := native.AsFloats(calls(t, g.Source(graph, peers.Plain, 1), []int64{tokens, heads, width}, len(x), inputs...))
			worst := 0.0
			for token := range tokens {
				for head := range heads {
					row := (token*heads + head) * width
					for i := range width / 2 {
						a, b := row+2*i, row+2*i+1
						if split {
							a, b = row+i, row+i+width/2
						}
						sin, cos := math.Sincos(at(token) * math.Pow(base, -2*float64(i)/width))
						p, q := float64(x[a]), float64(x[b])
						worst = max(worst, math.Abs(float64(got[a])-(p*cos-q*sin)), math.Abs(float64(got[b])-(p*sin+q*cos)))
					}
				}
			}
			t.Logf("split %v, given %v: %.1e", split, given, worst)
			if !(worst < 1e-4) { // the angles are products of floats
				t.Errorf("split %v, given %v: the error is %.2g", split, given, worst)
			}
		}
	}
}

func TestGGMLArgMax(t *testing.T) {
	g := ggml(t)
	x := []float32{1, 5, 2, 9, 3, 3.5}
	got := integers(calls(t, g.Source(peers.ArgMax(2, "dims[0]", "dims[1]", 0, 1), peers.Plain, 1), []int64{2, 3}, 2, native.AsBytes(x)))
	if got[0] != 1 || got[1] != 0 {
		t.Errorf("got %v, want 1 and 0", got)
	}
}

// Attention in all forms: keys of each type, in one pass and by all scores, by heads and by tokens, decoding and several queries.
func TestGGMLAttention(t *testing.T) {
	g := ggml(t)
	const keys, heads, shared, width = 40, 4, 2, 64
	for _, typ := range []peers.Type{peers.F32, peers.F16, peers.BF16} {
		for form := range 8 {
			naive, byHead, resultByHead := form&1 != 0, form&2 != 0, form&4 != 0
			causal := form == 0 || form == 3 || form == 5 || form == 6
			queries := 1
			if causal {
				queries = 7
			}
			name := fmt.Sprintf("%s naive=%v byHead=%v resultByHead=%v causal=%v", typ.Name, naive, byHead, resultByHead, causal)
			rng := rand.New(rand.NewPCG(7, uint64(form)))
			q := floats(rng, queries*heads*width)
			kBytes, k := weights(rng, typ, keys*shared*width)
			vBytes, v := weights(rng, typ, keys*shared*width)
			// index of an element of a tensor of tokens of heads.
			index := func(byHead bool, tokens, heads, token, head, i int) int {
				if byHead {
					return (head*tokens+token)*width + i
				}
				return (token*heads+head)*width + i
			}
			if naive {
				turn := peers.Turned(typ.Bytes, byHead, func(dims []int64) (heads, tokens, width int64) { return shared, dims[1], 64 })
				vBytes, _ = turn(t.Context(), []int64{int64(queries), keys}, vBytes) // it cannot fail
			}
			a := peers.Attention{
				Dims: 2, Type: typ, Queries: "dims[0]", Keys: "dims[1]", Heads: "4", KVHeads: "2", Width: "64",
				Scale: 0.125, Causal: causal, ByHead: byHead, ResultByHead: resultByHead, Naive: naive, Q: 0, K: 1, V: 2, Y: 3,
			}
			got := native.AsFloats(calls(t, g.Source(a.Graph(), peers.Plain, 1), []int64{int64(queries), keys}, len(q), native.AsBytes(q), kBytes, vBytes))
			worst := 0.0
			for query := range queries {
				for head := range heads {
					kv, sum := head/(heads/shared), 0.0
					want := make([]float64, width)
					for key := range keys - queries + query + 1 {
						score := 0.0
						for i := range width {
							score += float64(q[index(byHead, queries, heads, query, head, i)]) * k[index(byHead, keys, shared, key, kv, i)]
						}
						p := math.Exp(score / 8)
						sum += p
						for i := range width {
							want[i] += p * v[index(byHead, keys, shared, key, kv, i)]
						}
					}
					for i := range width {
						e := math.Abs(float64(got[index(resultByHead, queries, heads, query, head, i)]) - want[i]/sum)
						if !(e <= worst) {
							worst = e
						}
					}
				}
			}
			t.Logf("%s: %.1e", name, worst)
			if tolerance := map[peers.Type]float64{peers.F32: 1e-5, peers.F16: 1e-2, peers.BF16: 5e-2}[typ]; !(worst < tolerance) {
				t.Errorf("%s: the error is %.2g", name, worst)
			}
		}
	}
}

// Threads that ggml starts are allowed, and compute the same. They are there before the calls that are timed.
func TestGGMLThreads(t *testing.T) {
	g := ggml(t)
	rng := rand.New(rand.NewPCG(8, 9))
	const m, n, k = 5, 96, 256
	a, w := floats(rng, m*k), floats(rng, n*k)
	for _, threads := range []int{1, 2} {
		source := g.Source(peers.MulMat(peers.F32), peers.Plain, threads)
		if !strings.Contains(source.Text, "ggml_backend_cpu_set_threadpool(backend, ggml_threadpool_new(") {
			t.Errorf("with %d threads a call makes a pool of its own", threads)
		}
		got := native.AsFloats(calls(t, source, []int64{m, n, k}, m*n, native.AsBytes(a), native.AsBytes(w)))
		if worst := worstProduct(got, a, wide(w), m, n, k); !(worst < 1e-6) {
			t.Errorf("with %d threads the error is %.2g", threads, worst)
		}
	}
}

// A graph follows the dimensions and the addresses of each call.
func TestGGMLOtherCalls(t *testing.T) {
	g := ggml(t)
	source := g.Source(peers.MulMat(peers.F32), peers.Plain, 1)
	source.Text = strings.Replace(source.Text, "void tune_kernel(", "static void once(", 1) + `
// Argument 3 has a second product, of dimensions 2, 3 and 4.
void tune_kernel(void *const *args, const int64_t *dims) {
	once(args, dims);
	const int64_t others[] = {2, 3, 4};
	void *other[] = {args[0], args[1], (float *)args[2] + 1};
	once(other, others);
	once(args, dims);
}
`
	// 1 × 1 of 4, and after it 2 × 3 of 4.
	rng := rand.New(rand.NewPCG(10, 11))
	a, w := floats(rng, 8), floats(rng, 12)
	got := native.AsFloats(calls(t, source, []int64{1, 1, 4}, 7, native.AsBytes(a), native.AsBytes(w)))
	if worst := max(worstProduct(got[:1], a[:4], wide(w[:4]), 1, 1, 4), worstProduct(got[1:], a, wide(w), 2, 3, 4)); !(worst < 1e-6) {
		t.Errorf("the error is %.2g: %v", worst, got)
	}
}
