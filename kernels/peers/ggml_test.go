package peers_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"tune/kernels"
	"tune/kernels/blocks"
	"tune/kernels/native"
	"tune/kernels/native/nativetest"
	"tune/kernels/peers"
	"tune/space"
)

// ggml returns the library, and skips the test where it is not there.
func ggml(t *testing.T) peers.GGML {
	t.Helper()
	nativetest.Here(t)
	g, ok := peers.FindGGML()
	if !ok {
		t.Skip("no ggml: make peers brings it")
	}
	return g
}

// calls calls a source once. The last buffer is the result, of so many elements of 4 bytes.
func calls(t *testing.T, s native.Source, dims []int64, result int, inputs ...[]byte) []byte {
	t.Helper()
	one := native.Case{Dims: dims, Inputs: append(inputs, nil)}
	for i, in := range inputs {
		one.Buffers = append(one.Buffers, native.Buffer{Name: fmt.Sprint("in", i), Elem: native.U8, Len: len(in), Mode: native.In})
	}
	one.Buffers = append(one.Buffers, native.Buffer{Name: "out", Elem: native.F32, Len: result, Mode: native.Out})
	out, err := nativetest.Host().Call(t.Context(), s, one)
	if err != nil {
		t.Fatal(err)
	}
	return out[len(inputs)]
}

func floats(rng *rand.Rand, n int) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = float32(rng.NormFloat64())
	}
	return out
}

// weights draws weights of a type: their bytes as ggml stores them, and their values.
func weights(rng *rand.Rand, typ peers.Type, n int) (data []byte, values []float64) {
	small := func() uint16 { return blocks.ToF16(float32(0.01 + 0.01*rng.Float64())) }
	put := func(b []byte, h uint16) float64 { b[0], b[1] = byte(h), byte(h>>8); return float64(blocks.FromF16(h)) }
	for range n / typ.Block {
		b := make([]byte, typ.Bytes)
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		v := make([]float64, typ.Block)
		nibble := func(qs []byte, i int) int { return int(qs[i%16]>>(i/16*4)) & 15 }
		switch typ {
		case peers.F32:
			f := float32(rng.NormFloat64())
			v[0] = float64(f)
			copy(b, native.AsBytes([]float32{f}))
		case peers.F16:
			v[0] = put(b, blocks.ToF16(float32(0.5+rng.Float64())))
		case peers.BF16:
			bits := math.Float32bits(float32(rng.NormFloat64())) >> 16
			v[0] = float64(math.Float32frombits(bits << 16))
			b[0], b[1] = byte(bits), byte(bits>>8)
		case peers.Q8_0:
			d := put(b, small())
			for i := range v {
				v[i] = d * float64(int8(b[2+i]))
			}
		case peers.Q4_0, peers.Q5_0:
			d, qs, top := put(b, small()), b[2:], 8
			high := func(int) int { return 0 }
			if typ == peers.Q5_0 {
				qs, top = b[6:], 16
				high = func(i int) int { return int(b[2+i/8]>>(i%8)) & 1 << 4 }
			}
			for i := range v {
				v[i] = d * float64(nibble(qs, i)+high(i)-top)
			}
		case peers.Q4_1, peers.Q5_1:
			d, m, qs := put(b, small()), put(b[2:], small()), b[4:]
			high := func(int) int { return 0 }
			if typ == peers.Q5_1 {
				qs = b[8:]
				high = func(i int) int { return int(b[4+i/8]>>(i%8)) & 1 << 4 }
			}
			for i := range v {
				v[i] = d*float64(nibble(qs, i)+high(i)) + m
			}
		case peers.Q4_K, peers.Q5_K:
			d, m, s, qs := put(b, small()), put(b[2:], small()), b[4:16], b[16:]
			high := func(int) int { return 0 }
			if typ == peers.Q5_K {
				qs = b[48:]
				high = func(i int) int { return int(b[16+i%32]>>(i/32)) & 1 << 4 }
			}
			for i := range v {
				sub := i / 32
				scale, least := int(s[sub%4])&63, int(s[4+sub%4])&63
				if sub >= 4 {
					scale = int(s[4+sub])&15 | int(s[sub-4])>>6<<4
					least = int(s[4+sub])>>4 | int(s[sub])>>6<<4
				}
				q := int(qs[i/64*32+i%32]>>(i/32%2*4))&15 + high(i)
				v[i] = d*float64(scale*q) - m*float64(least)
			}
		case peers.Q6_K:
			d := put(b[208:], small())
			for i := range v {
				part, l := i%128, i%32
				ql, qh := b[i/128*64:], b[128+i/128*32:]
				q := int(ql[l+part/32%2*32]>>(part/64*4))&15 | int(qh[l]>>(part/32*2))&3<<4
				v[i] = d * float64(int8(b[192+i/16])) * float64(q-32)
			}
		default:
			panic(typ.Name)
		}
		data, values = append(data, b...), append(values, v...)
	}
	return data, values
}

// Each type of weights, in each way that this processor has. The error of a result is relative to the norms of its two vectors: ggml
// rounds the activations to the precision of the weights, or to 8 bits.
func TestGGMLProducts(t *testing.T) {
	g := ggml(t)
	rng := rand.New(rand.NewPCG(1, 2))
	for _, typ := range peers.Types() {
		t.Run(typ.Name, func(t *testing.T) {
			for _, m := range []int{1, 3, 16} {
				const n, k = 64, 512
				a := floats(rng, m*k)
				w, values := weights(rng, typ, n*k)
				graph := peers.MulMat(typ)
				dims := []int64{int64(m), n, k}
				for _, way := range []peers.Way{peers.Plain, peers.Repack, peers.Tiles} {
					given := w
					if way != peers.Plain {
						var err error
						given, err = g.Packer(nativetest.Host(), graph, way)(t.Context(), dims, w)
						if r := kernels.AsRejection(err); r != nil && r.Status == space.Invalid {
							continue
						}
						if err != nil {
							t.Fatal(err)
						}
					}
					c := native.AsFloats(calls(t, g.Source(graph, way, 1), dims, m*n, native.AsBytes(a), given))
					worst := worstProduct(c, a, values, m, n, k)
					t.Logf("m=%d%s: %.1e", m, way, worst)
					tolerance := 2e-3
					if typ == peers.F32 {
						tolerance = 1e-6
					}
					if !(worst < tolerance) {
						t.Errorf("m=%d, %q: the error is %.2g", m, way, worst)
					}
				}
			}
		})
	}
}

// worstProduct returns the largest error of a product of a and wᵀ, relative to the norms of the rows.
func worstProduct(c, a []float32, w []float64, m, n, k int) (worst float64) {
	for i := range m {
		for j := range n {
			var want, aa, ww float64
			for l := range k {
				x, y := float64(a[i*k+l]), w[j*k+l]
				want += x * y
				aa += x * x
				ww += y * y
			}
			e := math.Abs(float64(c[i*n+j])-want) / math.Sqrt(aa*ww)
			if !(e <= worst) {
				worst = e
			}
		}
	}
	return worst
}

// rowOps are the operations on rows, with their references for a row x, another one y, and a weight and a bias.
var rowOps = []struct {
	name      string
	graph     peers.Graph
	inputs    int // 1: x; 2: x and y; then the weight, the bias
	weight    int // how many of weight and bias
	tolerance float64
	want      func(x, y, w, b []float64) []float64
}{
	{"softmax", peers.Softmax(2, "dims[0]", "dims[1]", 0, 1), 1, 0, 1e-5, func(x, _, _, _ []float64) []float64 {
		sum := 0.0
		for _, v := range x {
			sum += math.Exp(v)
		}
		return each(x, func(i int) float64 { return math.Exp(x[i]) / sum })
	}},
	{"rmsnorm", peers.RMSNorm(2, "dims[0]", "dims[1]", 1e-6, 0, 1, 2), 1, 1, 1e-6, func(x, _, w, _ []float64) []float64 {
		_, square := moments(x)
		return each(x, func(i int) float64 { return x[i] / math.Sqrt(square+1e-6) * w[i] })
	}},
	{"rmsnorm alone", peers.RMSNorm(2, "dims[0]", "dims[1]", 1e-6, 0, peers.None, 1), 1, 0, 1e-6, func(x, _, _, _ []float64) []float64 {
		_, square := moments(x)
		return each(x, func(i int) float64 { return x[i] / math.Sqrt(square+1e-6) })
	}},
	{"add, rmsnorm", peers.AddRMSNorm(2, "dims[0]", "dims[1]", 1e-6, 0, 1, 2, peers.None, 3), 2, 1, 1e-6, func(x, y, w, _ []float64) []float64 {
		s := each(x, func(i int) float64 { return x[i] + y[i] })
		_, square := moments(s)
		return each(x, func(i int) float64 { return s[i] / math.Sqrt(square+1e-6) * w[i] })
	}},
	{"layernorm", peers.LayerNorm(2, "dims[0]", "dims[1]", 1e-5, 0, 1, 2, 3), 1, 2, 1e-5, func(x, _, w, b []float64) []float64 {
		mean, square := moments(x)
		return each(x, func(i int) float64 { return (x[i]-mean)/math.Sqrt(square-mean*mean+1e-5)*w[i] + b[i] })
	}},
	{"silu", peers.SiLU(2, "dims[0]", "dims[1]", 0, 1), 1, 0, 1e-6, func(x, _, _, _ []float64) []float64 {
		return each(x, func(i int) float64 { return x[i] / (1 + math.Exp(-x[i])) })
	}},
	{"swiglu", peers.SwiGLU(2, "dims[0]", "dims[1]", 0, 1, 2), 2, 0, 1e-6, func(x, y, _, _ []float64) []float64 {
		return each(x, func(i int) float64 { return x[i] / (1 + math.Exp(-x[i])) * y[i] })
	}},
	// By a table of half precision.
	{"gelu", peers.GELU(2, "dims[0]", "dims[1]", false, 0, 1), 1, 0, 2e-3, func(x, _, _, _ []float64) []float64 {
		return each(x, func(i int) float64 {
			return x[i] / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x[i]+0.044715*x[i]*x[i]*x[i])))
		})
	}},
	{"gelu erf", peers.GELU(2, "dims[0]", "dims[1]", true, 0, 1), 1, 0, 1e-6, func(x, _, _, _ []float64) []float64 {
		return each(x, func(i int) float64 { return x[i] / 2 * (1 + math.Erf(x[i]/math.Sqrt2)) })
	}},
}

func each(x []float64, f func(i int) float64) []float64 {
	out := make([]float64, len(x))
	for i := range out {
		out[i] = f(i)
	}
	return out
}

// moments returns the mean, and that of the squares.
func moments(x []float64) (mean, square float64) {
	for _, v := range x {
		mean += v / float64(len(x))
		square += v * v / float64(len(x))
	}
	return mean, square
}

func wide(x []float32) []float64 {
	return each(make([]float64, len(x)), func(i int) float64 { return float64(x[i]) })
}

func TestGGMLRows(t *testing.T) {
	g := ggml(t)
	for _, op := range rowOps {
		t.Run(op.name, func(t *testing.T) {
			const height, width = 3, 70
			rng := rand.New(rand.NewPCG(3, 4))
			x, y := floats(rng, height*width), floats(rng, height*width)
			w, b := floats(rng, width), floats(rng, width)
			inputs := [][]byte{native.AsBytes(x), native.AsBytes(y)}[:op.inputs]
			inputs = append(inputs, [][]byte{native.AsBytes(w), native.AsBytes(b)}[:op.weight]...)
			got := native.AsFloats(calls(t, g.Source(op.graph, peers.Plain, 1), []int64{height, width}, height*width, inputs...))
			worst := 0.0
			for r := range height {
				row := func(v []float32) []float64 { return wide(v[r*width : (r+1)*width]) }
				for i, want := range op.want(row(x), row(y), wide(w), wide(b)) {
					worst = math.Max(worst, math.Abs(float64(got[r*width+i])-want)/(1+math.Abs(want)))
				}
			}
			t.Logf("%.1e", worst)
			if !(worst < op.tolerance) {
				t.Errorf("the error is %.2g", worst)
			}
		})
	}
}

// A library that cannot be loaded, or is another one, is the candidate's failure, whose reason says so.
func TestGGMLThatCannotBeLoaded(t *testing.T) {
	nativetest.Here(t)
	tools, err := nativetest.Host().Toolchain(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	other, err := tools.Build(t.Context(), "c", "void *ggml_init(void) { return 0; }", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		g    peers.GGML
		want string
	}{
		{peers.GGML{CPU: "zen4", Base: "/nowhere/libggml-base.so", Library: other}, "/nowhere/libggml-base.so: cannot open shared object file"},
		{peers.GGML{CPU: "zen4", Base: other, Library: other}, "undefined symbol: ggml_free"},
	} {
		one := native.Case{
			Dims:    []int64{1, 4},
			Buffers: []native.Buffer{{Name: "x", Elem: native.F32, Len: 4, Mode: native.In}, {Name: "y", Elem: native.F32, Len: 4, Mode: native.Out}},
			Inputs:  [][]byte{make([]byte, 16), nil},
		}
		_, err := nativetest.Host().Call(t.Context(), c.g.Source(peers.Softmax(2, "dims[0]", "dims[1]", 0, 1), peers.Plain, 1), one)
		if r := kernels.AsRejection(err); r == nil || !strings.Contains(r.Reason, c.want) {
			t.Errorf("got %v, want a rejection with %q", err, c.want)
		}
	}
}
