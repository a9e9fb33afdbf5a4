package rowwise

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tune/kernels"
	"tune/kernels/blocks"
	"tune/kernels/native"
	"tune/kernels/native/cgen"
	"tune/kernels/native/nativetest"
	"tune/space"
)

// fullMachine has everything that the generator knows. Its code can be generated anywhere.
var fullMachine = native.Machine{Arch: "amd64", Compilers: []string{"gcc", "clang"}, ISAs: []string{"generic", "avx2", "avx512"}, Cache: 32 << 20}

func specOn(t *testing.T, m native.Machine, shape string) *Spec {
	t.Helper()
	return nativetest.Made(t, Fields(), shape, m, NewSpec)
}

// here returns the spec on this machine.
func here(t *testing.T, shape string) *Spec {
	t.Helper()
	return specOn(t, nativetest.Here(t), shape)
}

func TestConformance(t *testing.T) {
	for i, shape := range []string{"op=softmax,rows=5,cols=1300", "op=add-rmsnorm,rows=9,cols=100,threads=3", "op=swiglu-q8,rows=3,cols=96"} {
		t.Run(shape, func(t *testing.T) {
			nativetest.Run(t, here(t, shape), nativetest.Options{Points: []int{2, 1, 1}[i], Quick: i > 0})
		})
	}
}

// shapeOf draws a shape of an operation.
func shapeOf(op operation, rng *rand.Rand) string {
	rows, cols, heads := 1+rng.IntN(40), 1+rng.IntN([]int{20, 300, 5000}[rng.IntN(3)]), 1
	if op.q8 {
		cols = (cols + q8Weights) / q8Weights * q8Weights
	}
	shape := fmt.Sprintf("op=%s,threads=%d", op.name, 1+2*rng.IntN(2))
	if op.rope {
		heads = 1 + rng.IntN(6)
		rows, cols = rows*heads, 2*cols
		shape += fmt.Sprintf(",heads=%d", heads)
	}
	if op.exponential && rng.IntN(3) == 0 {
		shape += ",accuracy=fast"
	}
	return fmt.Sprintf("%s,rows=%d,cols=%d", shape, rows, cols)
}

// checkRandom checks random points of random shapes of each operation.
func checkRandom(t *testing.T, seed uint64, each int) {
	for i, op := range operations {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		for range each {
			shape := shapeOf(op, rng)
			k := here(t, shape)
			p, err := k.Space().Sample(rng)
			if err != nil {
				t.Fatal(err)
			}
			t.Run(shape, func(t *testing.T) { nativetest.Right(t, k, p, rng.Uint64()) })
		}
	}
}

func TestRandomPoints(t *testing.T) { checkRandom(t, 1, 1) }

// TestVector: the fast form of each operation is right, with choices that random points may miss.
func TestVector(t *testing.T) {
	for _, c := range []struct {
		shape  string
		values map[string]any
	}{
		{"op=softmax,rows=6,cols=2500", map[string]any{"passes": passesTwo, "unroll": 2, "together": 4}},
		{"op=softmax,rows=6,cols=2500", map[string]any{"passes": passesTwoRecompute, "unroll": 4}},
		{"op=softmax,rows=6,cols=2500", map[string]any{"form": formTable, "together": 2, "interleave": true}},
		{"op=softmax,rows=6,cols=2500", map[string]any{"passes": passesUnshifted, "together": 2, "interleave": true}},
		{"op=softmax,rows=6,cols=2500", map[string]any{"passes": passesUnshifted, "scale": scaleReduce, "degree": 4, "kept": keptBuffer, "stores": storesNT}},
		{"op=softmax,rows=6,cols=2500,accuracy=fast", map[string]any{"form": formTable, "passes": passesTwo, "next": nextL1}},
		{"op=softmax,rows=6,cols=2500", map[string]any{"scale": scaleReduce}},
		{"op=swiglu,rows=3,cols=333", map[string]any{"scale": scaleReduce, "degree": 4, "reciprocal": reciprocalAlternate, "interleave": true}},
		{"op=layernorm,rows=5,cols=2500", map[string]any{"passes": passesTwo, "unroll": 2, "together": 2}},
		{"op=rope,rows=24,cols=90,heads=6", map[string]any{"unroll": 2, "together": 4}},
		{"op=rope-pairwise,rows=24,cols=90,heads=6", map[string]any{"unroll": 2, "together": 4, "pairs": pairsSplit}},
		{"op=gelu-erf,rows=3,cols=333", map[string]any{"form": formPolynomial}},
		{"op=gelu,rows=3,cols=333", map[string]any{"degree": 4}},
		{"op=argmax,rows=9,cols=333", map[string]any{"search": searchIndices, "together": 4}},
		{"op=argmax,rows=9,cols=3000", map[string]any{"search": searchBlocks, "together": 2}},
		{"op=gelu-erf,rows=3,cols=333", map[string]any{"form": formTable, "segments": 32, "interleave": true}},
		{"op=gelu,rows=3,cols=333,accuracy=fast", map[string]any{"form": formTable}},
		{"op=swiglu-q8,rows=3,cols=320", map[string]any{"form": formTable}},
		{"op=rmsnorm-q8,rows=5,cols=96", map[string]any{"unroll": 2, "together": 2}},
	} {
		t.Run(c.shape, func(t *testing.T) {
			k := here(t, c.shape)
			isas := vectorISAs(k.machine)
			widest := isas[len(isas)-1]
			if (c.values["form"] == formTable || c.values["scale"] != nil) && widest.Name != cgen.AVX512 {
				t.Skip("this form needs AVX-512")
			}
			c.values["code"], c.values["isa"], c.values["lanes"] = codeVector, widest.Name, widest.Lanes()
			p, err := k.Space().Make(c.values)
			if err != nil {
				t.Fatal(err)
			}
			nativetest.Right(t, k, p, 5, nativetest.Quick)
		})
	}
}

// TestUnshifted: softmax without a maximum finds out from its sums which rows need one.
func TestUnshifted(t *testing.T) {
	k := here(t, "op=softmax,rows=3,cols=300")
	p, err := k.Space().Make(map[string]any{"code": codeVector, "isa": cgen.Generic, "lanes": 4, "passes": passesUnshifted, "kept": keptBuffer})
	if err != nil {
		t.Fatal(err)
	}
	right, err := k.Generate(p)
	if err != nil {
		t.Fatal(err)
	}
	problem := nativetest.Problem(t, k)
	for _, m := range []struct {
		old, new string
		wrong    bool
	}{
		{leastSum, leastSum, false},
		{"sum0 > " + leastSum, "sum0 > 0", true},                     // sums of numbers near the least float
		{" && sum0 < " + largestSum, "", true},                       // infinities
		{"buffer0 : y0", "y0 : buffer0", false},                      // the result is as good a place
		{"careful1(c, row + 0);", "careful1(c, c->rows - 1);", true}, // not the row that needs it
	} {
		src := right
		if src.Text = strings.ReplaceAll(right.Text, m.old, m.new); !strings.Contains(right.Text, m.old) {
			t.Fatalf("the code has no %q", m.old)
		}
		err := problem.Wrap(nativetest.Quick(src), p).Check(t.Context(), 3)
		if r := kernels.AsRejection(err); (r != nil) != m.wrong || r == nil && err != nil {
			t.Errorf("%q for %q: %v", m.new, m.old, err)
		}
	}
}

// TestCompiles: the code for processors that this one is not compiles.
func TestCompiles(t *testing.T) {
	for _, op := range []string{"softmax", "swiglu", "rmsnorm-q8", "argmax"} {
		k := specOn(t, fullMachine, "op="+op+",rows=8,cols=96")
		p := k.Presets()[1].Point
		nativetest.Compiles(t, k, []space.Point{p})
	}
}

// rows makes a reference of one row for each input.
func rows(t *testing.T, shape string, in ...[]float32) *reference {
	t.Helper()
	k := specOn(t, fullMachine, fmt.Sprintf("%s,rows=1,cols=%d", shape, len(in[0])))
	return &reference{Spec: k, size: k.size, in: in}
}

// TestReference pins the definitions: plain numbers, and special ones.
func TestReference(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, c := range []struct {
		op   string
		in   [][]float32
		want []float64
	}{
		{"softmax", [][]float32{{0, float32(math.Log(3))}}, []float64{0.25, 0.75}},
		{"softmax", [][]float32{{1e30, 1e30, -inf, -1e30}}, []float64{0.5, 0.5, 0, 0}},
		{"softmax", [][]float32{{-inf, -inf}}, []float64{math.NaN(), math.NaN()}},
		{"softmax", [][]float32{{inf, 1}}, []float64{math.NaN(), math.NaN()}},
		{"softmax", [][]float32{{nan, 1}}, []float64{math.NaN(), math.NaN()}},
		{"rmsnorm", [][]float32{{3, 4}, {1, 2}}, []float64{3 / math.Sqrt(12.5+1e-5), 8 / math.Sqrt(12.5+1e-5)}},
		{"rmsnorm", [][]float32{{inf, 1}, {1, 1}}, []float64{math.NaN(), 0}},
		{"add-rmsnorm", [][]float32{{1, 2}, {2, 2}, {1, 2}}, []float64{3 / math.Sqrt(12.5+1e-5), 8 / math.Sqrt(12.5+1e-5)}},
		{"layernorm", [][]float32{{1, 3}, {2, 5}, {10, 20}}, []float64{10 - 2/math.Sqrt(1+1e-5), 20 + 5/math.Sqrt(1+1e-5)}},
		{"rope", [][]float32{{1, 2, 3, 4}, {0, 1, 1, 0}}, []float64{-3, 2, 1, 4}},
		{"rope-pairwise", [][]float32{{1, 2, 3, 4}, {0, 1, 1, 0}}, []float64{-2, 1, 3, 4}},
		{"silu", [][]float32{{0, float32(math.Log(3)), -inf, inf}}, []float64{0, 0.75 * float64(float32(math.Log(3))), 0, math.Inf(1)}},
		{"swiglu", [][]float32{{0, float32(math.Log(3)), -inf, inf}, {1, 2, 3, -1}}, []float64{0, 1.5 * float64(float32(math.Log(3))), 0, math.Inf(-1)}},
		{"gelu", [][]float32{{0, 1, -1, -inf}}, []float64{0, 0.8411919906, -0.1588080094, 0}},
		{"gelu-erf", [][]float32{{0, 1, -1, -inf}}, []float64{0, 0.8413447461, -0.1586552539, 0}},
	} {
		for i, w := range rows(t, "op="+c.op, c.in...).row(0) {
			if !(wanted{c.want[i], 1e-7 * math.Abs(c.want[i])}).right(w.value) {
				t.Errorf("%s of %v: element %d is %v, want %v", c.op, c.in, i, w.value, c.want[i])
			}
		}
	}
	for _, c := range []struct {
		x    []float32
		want int32
	}{{[]float32{1, 3, 2, 3}, 1}, {[]float32{nan, -inf, nan}, 0}, {[]float32{nan, -5, inf, inf}, 2}, {[]float32{-inf, -3}, 1}} {
		if got := rows(t, "op=argmax", c.x).argmax(0); got != c.want {
			t.Errorf("argmax of %v is %d, want %d", c.x, got, c.want)
		}
	}
}

// TestHeads: rows of one token share a row of the table.
func TestHeads(t *testing.T) {
	k := specOn(t, fullMachine, "op=rope,rows=4,cols=2,heads=2")
	f := &reference{Spec: k, size: k.size, in: [][]float32{{1, 2, 1, 2, 1, 2, 1, 2}, {1, 0, 0, 1}}}
	for row, want := range [][]float64{{1, 2}, {1, 2}, {-2, 1}, {-2, 1}} {
		if got := f.row(row); got[0].value != want[0] || got[1].value != want[1] {
			t.Errorf("row %d is %v, want %v", row, got, want)
		}
	}
}

// TestTolerance: a result just within the stated tolerance passes, and one beyond it does not.
func TestTolerance(t *testing.T) {
	for _, c := range []struct {
		shape     string
		in        [][]float32
		value     float64 // of element 0
		tolerance float64
	}{
		{"op=softmax", [][]float32{{0, float32(math.Log(3))}}, 0.25, 1e-5 * 0.25},
		{"op=softmax,accuracy=fast", [][]float32{{0, float32(math.Log(3))}}, 0.25, 1e-3 * 0.25},
		{"op=rmsnorm", [][]float32{{1, 1}, {2, 1}}, 2 / math.Sqrt(1+1e-5), 1e-6 * 2 / math.Sqrt(1+1e-5)},
		{"op=layernorm", [][]float32{{1, 3}, {2, 5}, {10, 20}}, 10 - 2/math.Sqrt(1+1e-5), 1e-5 * (2*(1+2) + 10)},
		{"op=rope", [][]float32{{3, 4}, {0.6, 0.8}}, -1.4, 1e-6 * (1.8 + 3.2)},
		{"op=silu", [][]float32{{2, 0}}, 2 / (1 + math.Exp(-2)), 1e-6 * (2 + 2/(1+math.Exp(-2)))},
		{"op=silu", [][]float32{{-50, 0}}, -50 / (1 + math.Exp(50)), 8e-6},
		{"op=swiglu,accuracy=fast", [][]float32{{2, 0}, {3, 0}}, 6 / (1 + math.Exp(-2)), 3e-3 * (2 + 2/(1+math.Exp(-2)))},
		{"op=gelu", [][]float32{{1, 0}}, 0.8411919906, 1.8411919906e-6},
	} {
		f := rows(t, c.shape, c.in...)
		right := f.row(0)
		for share, ok := range map[float64]bool{0: true, 0.9: true, -0.9: true, 1.1: false, -1.1: false, math.NaN(): false} {
			out := []float32{}
			for _, w := range right {
				out = append(out, float32(w.value))
			}
			out[0] = float32(c.value + share*c.tolerance)
			var buffers [][]byte
			for _, in := range c.in {
				buffers = append(buffers, native.AsBytes(in))
			}
			d, err := f.verify(append(buffers, native.AsBytes(out)))
			if (err == nil) != ok {
				t.Errorf("%s: off by %v of the tolerance: %v", c.shape, share, err)
			}
			if ok && math.Abs(d.ErrorShare-math.Abs(share)) > 0.25 {
				t.Errorf("%s: off by %v of the tolerance is reported as %+v", c.shape, share, d)
			}
		}
	}
}

// TestBlocks: what package blocks makes of the numbers passes, and what is off by one does not.
func TestBlocks(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	x, w := make([]float32, 64), make([]float32, 64)
	for i := range x {
		x[i], w[i] = float32(rng.NormFloat64()), 1
	}
	f := rows(t, "op=rmsnorm-q8", x, w)
	var y []float32
	for _, v := range f.row(0) {
		y = append(y, float32(v.value))
	}
	format, err := blocks.ByName("q8_0")
	if err != nil {
		t.Fatal(err)
	}
	right := make([]byte, 2*q8Bytes)
	if err := format.Quantise(right, y); err != nil {
		t.Fatal(err)
	}
	verify := func(out []byte) error {
		_, err := f.verify([][]byte{native.AsBytes(x), native.AsBytes(w), out})
		return err
	}
	if err := verify(right); err != nil {
		t.Error(err)
	}
	for at := range right {
		wrong := slices.Clone(right)
		wrong[at] ^= 1
		if kernels.AsRejection(verify(wrong)) == nil {
			t.Errorf("byte %d is wrong, and nobody minds", at)
		}
	}
	x[40] = float32(math.NaN())
	none := make([]byte, 2*q8Bytes)
	binary.LittleEndian.PutUint16(none, 0x7e00)
	binary.LittleEndian.PutUint16(none[q8Bytes:], 0x7e00)
	if err := verify(none); err != nil {
		t.Error(err)
	}
	if err := verify(right); err == nil {
		t.Error("a row with NaN has ordinary blocks, and nobody minds")
	}
}

// TestWrongCode: mistakes in the code itself are found by the check.
func TestWrongCode(t *testing.T) {
	for _, m := range []struct{ shape, old, new string }{
		{"op=softmax,rows=3,cols=300", "x[i] > top ? x[i] : top", "0"}, // the exponentials of large elements are infinite
		{"op=rmsnorm,rows=3,cols=300", " + 1e-5", ""},
		{"op=layernorm,rows=3,cols=300", "squares / (double)n", "squares / (double)(n - 1)"},
		{"op=rope,rows=12,cols=64,heads=4", "row / c->heads", "row % (c->rows / c->heads)"},
		{"op=silu,rows=3,cols=300", "x < -88 ? 0 : ", ""}, // −∞ becomes NaN
		{"op=argmax,rows=3,cols=300", "x[i] > top", "x[i] >= top"},
		{"op=swiglu-q8,rows=3,cols=64", "roundf", ""},
		{"op=swiglu-q8,rows=3,cols=64", "finite ? half(d) : 0x7e00", "half(d)"},
		{"op=rmsnorm-q8,rows=3,cols=64", "(v.u & 0xfff)", "((v.u - 1) & 0xfff)"},
	} {
		k := here(t, m.shape)
		problem, base := nativetest.Problem(t, k), k.Presets()[0].Point
		src, err := k.Generate(base)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(src.Text, m.old) {
			t.Fatalf("%s: the code has no %q", m.shape, m.old)
		}
		src.Text = strings.ReplaceAll(src.Text, m.old, m.new)
		err = problem.Wrap(nativetest.Quick(src), base).Check(t.Context(), 3)
		if r := kernels.AsRejection(err); r == nil || r.Status != space.WrongAnswer {
			t.Errorf("%s with %q for %q: %v, want a wrong answer", m.shape, m.new, m.old, err)
		}
	}
}

// TestInputs pins the inputs of a seed: they are the same everywhere.
func TestInputs(t *testing.T) {
	for shape, want := range map[string]string{"op=softmax,rows=3,cols=100": "9c65891f28fcaddf", "op=swiglu-q8,rows=3,cols=64": "3bd65a75eac3ab99"} {
		k := specOn(t, fullMachine, shape)
		h := sha256.New()
		cases, err := k.Cases(t.Context(), k.Presets()[1].Point, 42)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range cases {
			fmt.Fprint(h, c.Name)
			for _, in := range c.Inputs {
				// By value, so that the byte order of a machine does not count.
				for _, f := range native.AsFloats(in) {
					fmt.Fprintf(h, " %08x", math.Float32bits(f))
				}
			}
		}
		if got := fmt.Sprintf("%x", h.Sum(nil)[:8]); got != want {
			t.Errorf("%s: the inputs hash to %s, want %s", shape, got, want)
		}
	}
}

// TestSpaces: a space holds what the machine has and the operation needs, and every preset can be generated.
func TestSpaces(t *testing.T) {
	small := native.Machine{Arch: "arm64", Compilers: []string{"cc"}, ISAs: []string{"generic"}, Cache: 1 << 20}
	for _, m := range []native.Machine{fullMachine, small} {
		for _, op := range operations {
			for _, shape := range []string{"rows=1,cols=64", "rows=7,cols=96,threads=4"} {
				k := specOn(t, m, "op="+op.name+","+shape)
				for _, p := range k.Presets() {
					if _, err := k.Generate(p.Point); err != nil {
						t.Errorf("%s,%s: %s: %v", op.name, shape, p.Name, err)
					}
				}
				isa, _ := k.Space().Parameter("isa")
				if _, ok := isa.Ordinal(space.StringValue(cgen.AVX512)); ok != slices.Contains(m.ISAs, cgen.AVX512) {
					t.Errorf("%s: avx512 is in the space: %v", m.Arch, ok)
				}
				for name, want := range map[string]bool{
					"workers": strings.Contains(shape, "threads"), "degree": op.exponential, "stores": op.name != "argmax" && !op.q8,
					"scale": op.exponential && m.Arch == "amd64", "form": op.exponential && (m.Arch == "amd64" || op.name == "gelu-erf"), "reciprocal": op.exponential && op.flat && m.Arch == "amd64", "tail": false,
				} {
					if k.has(name) != want {
						t.Errorf("%s,%s on %s: parameter %s is in the space: %v", op.name, shape, m.Arch, name, !want)
					}
				}
			}
		}
	}
	if !specOn(t, fullMachine, "op=silu,cols=100").has("tail") {
		t.Error("rows with elements left over have no choice for them")
	}
}

// TestShapes: a shape that the operation does not have is refused by name.
func TestShapes(t *testing.T) {
	for shape, want := range map[string]string{
		"rows=1000000,cols=1000":            "rows=1000000,cols=1000: a buffer may have at most 134217728 elements",
		"op=rmsnorm-q8,cols=100":            "cols=100 is not a multiple of 32, the block of q8_0",
		"op=rope,cols=65":                   "cols=65 is odd, and rope turns pairs",
		"op=rope-pairwise,rows=10,heads=4":  "rows=10 is not a multiple of heads=4",
		"op=softmax,heads=2":                "heads=2: only rope and rope-pairwise have heads, and op is softmax",
		"op=silu,eps=1e-6":                  "eps=1e-6: only norms have an eps, and op is silu",
		"op=rmsnorm,accuracy=fast":          "accuracy=fast: rmsnorm has no exponential",
		"op=softmin":                        "op=softmin",
		"eps=0":                             "eps=0: want one of",
		"op=rope,rows=64,cols=128,heads=-1": "heads=-1 is out of range",
	} {
		s, err := kernels.ParseShape(Fields(), shape)
		if err == nil {
			_, err = NewSpec(s, fullMachine)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error with %q", shape, err, want)
		}
	}
}

// TestWork: a call reads each input and writes each output once; the operands are cold where they exceed the cache, or where the
// shape says so.
func TestWork(t *testing.T) {
	for shape, want := range map[string]struct {
		bytes float64
		cold  bool
	}{
		"op=softmax,rows=10,cols=1000":            {80_000, false},
		"op=softmax,rows=8192,cols=4096":          {8 * 8192 * 4096, true},
		"op=rmsnorm,rows=10,cols=1000,cache=cold": {84_000, true},
		"op=add-rmsnorm,rows=10,cols=1000":        {164_000, false},
		"op=rope,rows=64,cols=128,heads=32":       {8*64*128 + 4*2*128, false},
		"op=argmax,rows=10,cols=1000":             {40_040, false},
		"op=swiglu-q8,rows=10,cols=320":           {8*3200 + 3400, false},
	} {
		w := specOn(t, fullMachine, shape).Work()
		if w.Bytes != want.bytes || w.Cold != want.cold || w.Ops != 0 || w.MinSeconds <= 0 {
			t.Errorf("%s: %+v, want %+v", shape, w, want)
		}
	}
}

func TestKernel(t *testing.T) {
	s, err := kernels.ParseShape(Kernel{}.Info().Shape, "rows=4,cols=100")
	if err != nil {
		t.Fatal(err)
	}
	p, err := Kernel{Host: nativetest.Host()}.Problem(s)
	if err != nil {
		t.Skip(err)
	}
	p.(*native.Problem).Brief()
	e := &kernels.Evaluator{Problem: p, CheckSeed: 1}
	out, err := e.Evaluate(t.Context(), space.Trial{Proposal: space.Proposal{Point: p.Presets()[1].Point}})
	if err != nil || out.Status != space.OK || out.Cost <= 0 {
		t.Errorf("%+v, %v", out, err)
	}
}

// TestReduce: the form that rounds a product with log₂ e has a polynomial that leaves room for that.
func TestReduce(t *testing.T) {
	for degree, want := range map[int]bool{4: false, 5: true} {
		_, err := specOn(t, fullMachine, "op=softmax").Space().Make(map[string]any{"code": codeVector, "isa": cgen.AVX512, "lanes": 16, "scale": scaleReduce, "degree": degree})
		if (err == nil) != want {
			t.Errorf("degree %d: %v", degree, err)
		}
	}
}

// TestDegrees: polynomials that are not exact enough for a form of softmax are not in its space.
func TestDegrees(t *testing.T) {
	for shape, least := range map[string]map[string]int{
		"op=softmax":               {passesThree: 4, passesThreeRecompute: 4, passesTwo: 5, passesTwoRecompute: 5},
		"op=softmax,accuracy=fast": {passesThree: 3, passesThreeRecompute: 3, passesTwo: 3, passesTwoRecompute: 5},
	} {
		k := specOn(t, fullMachine, shape)
		for passes, want := range least {
			for degree := 3; degree <= 5; degree++ {
				_, err := k.Space().Make(map[string]any{"code": codeVector, "isa": cgen.AVX2, "lanes": 8, "passes": passes, "degree": degree})
				if (err == nil) != (degree >= want) {
					t.Errorf("%s, passes=%s, degree=%d: %v", shape, passes, degree, err)
				}
			}
		}
	}
}
