package qgemm

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
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
var fullMachine = native.Machine{Arch: "amd64", Compilers: []string{"gcc", "clang"}, ISAs: []string{"generic", "avx2", "f16c", "avxvnni", "avx512", "avx512vnni"}, Cache: 32 << 20}

func specOn(t testing.TB, m native.Machine, shape string) *Spec {
	t.Helper()
	return nativetest.Made(t, Fields(), shape, m, NewSpec)
}

// here returns the spec on this machine.
func here(t testing.TB, shape string) *Spec {
	t.Helper()
	return specOn(t, nativetest.Here(t), shape)
}

func TestConformance(t *testing.T) {
	for i, shape := range []string{"m=7,n=90,k=96,format=q5_0", "m=3,n=41,k=512,format=q6_k,threads=3"} {
		t.Run(shape, func(t *testing.T) {
			nativetest.Run(t, here(t, shape), nativetest.Options{Points: 2 - i, Beyond: 0.01, Quick: i > 0})
		})
	}
}

// TestFormats: each format is right in each form, on every other instruction set of this machine, and in make stress on all of them; the other
// choices take turns.
func TestFormats(t *testing.T) {
	turns := []map[string]any{
		{"mr": 2, "nr": 2, "nest": nestGroups},
		{"mr": 1, "nr": 3, "nest": nestPanels, "chains": 4, "ahead": 512},
		{"mr": 3, "nr": 1, "order": orderRows},
	}
	for i, name := range formatNames() {
		g := here(t, fmt.Sprintf("m=5,n=37,k=768,format=%s", name))
		nativetest.Right(t, g, g.Presets()[0].Point, 1, nativetest.Quick)
		for j, in := range instructionSets(g.machine) {
			if (i+j)%2 == 1 && !nativetest.Stress {
				continue
			}
			panels := maps.Clone(turns[(i+j)%len(turns)])
			panels["form"] = formPanels
			if g.weights.Whole {
				panels["scaling"] = scalingBlocks
				if g.weights.Mins && j%2 == 0 {
					panels["scaling"] = scalingAll
				}
			}
			if g.weights.Bits == 4 && in.DotBytes && (i+j)%len(turns) != 1 {
				panels["chains"], panels["nibbles"] = 2, nibblesPlaced
			}
			if in.Name == cgen.AVX512VNNI && i%2 == 0 {
				panels["broadcast"] = broadcastRegister
			}
			rows := map[string]any{"form": formRows, "mr": 2, "nr": 1 + (i+j)%3, "ahead": 512 * (i % 2)}
			for _, values := range []map[string]any{panels, rows} {
				values["isa"], values["opt"] = in.Name, "O2"
				p, err := g.Space().Make(values)
				if err != nil {
					t.Fatal(err)
				}
				nativetest.Right(t, g, p, 1, nativetest.Quick)
			}
		}
	}
}

// checkRandom checks random points of random shapes.
func checkRandom(t *testing.T, seed uint64, count int) {
	rng := rand.New(rand.NewPCG(seed, 0))
	names := formatNames()
	for i := range count {
		f, err := blocks.ByName(names[(i+int(seed))%len(names)])
		if err != nil {
			t.Fatal(err)
		}
		shape := fmt.Sprintf("m=%d,n=%d,k=%d,format=%s,threads=%d", 1+rng.IntN([]int{1, 4, 40}[rng.IntN(3)]), 1+rng.IntN(150), f.Weights*(1+rng.IntN(4)), f.Name, 1+3*(i%2))
		g := here(t, shape)
		var p space.Point
		for want := []string{formPanels, formRows}[i/2%2]; p.IsZero() || p.Str("form") != want && len(instructionSets(g.machine)) > 0; {
			if p, err = g.Space().Sample(rng); err != nil {
				t.Fatal(err)
			}
		}
		t.Run(shape, func(t *testing.T) { nativetest.Right(t, g, p, rng.Uint64()) })
	}
}

func TestRandomPoints(t *testing.T) { checkRandom(t, 1, 8) }

// TestNext: the tiles share in fetching the next panels where there are several, and where a thread has none.
func TestNext(t *testing.T) {
	for _, test := range []struct {
		shape, more string
	}{
		{"m=20,n=70,k=96,format=q8_0", ""},
		{"m=20,n=70,k=512,format=q5_k", ""},
		{"m=6,n=70,k=96,format=q4_0,threads=3", " workers=3 split=rows"},
	} {
		g := here(t, test.shape)
		if len(instructionSets(g.machine)) == 0 {
			t.Skip("this machine has no instructions for panels")
		}
		p, err := g.Space().ParsePartial("form=panels mr=3 nr=1 next=yes" + test.more)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(test.shape, func(t *testing.T) { nativetest.Right(t, g, p, 5) })
	}
}

// oneCase is a spec with a case of a test's own.
type oneCase struct {
	*Spec
	c native.Case
}

func (s *oneCase) Cases(context.Context, space.Point, uint64) ([]native.Case, error) {
	return []native.Case{s.c}, nil
}

// TestPack: the packing function of the code does what the inputs of its check have, for each format and instruction set.
func TestPack(t *testing.T) {
	for _, name := range formatNames() {
		g := here(t, "m=3,n=37,k=512,format="+name)
		d := g.draw(size{3, 37, 512}, uniform, 1, 0)
		sets := instructionSets(g.machine)
		for _, in := range sets[max(0, len(sets)-1):] { // The code differs by the number of rows alone.
			p, err := g.Space().Make(map[string]any{"form": formPanels, "isa": in.Name, "opt": "O2"})
			if err != nil {
				t.Fatal(err)
			}
			src, err := g.Generate(p)
			if err != nil {
				t.Fatal(err)
			}
			layout, _ := g.packingOf(p, d.n, d.k)
			src.Text = strings.ReplaceAll(src.Text, "void tune_kernel(", "void multiply_all(") + `
void tune_kernel(void *const *args, const int64_t *dims)
{
	tune_pack(args[1], args[0], dims[0], dims[1]);
}
`
			want := layout.pack(d.w)
			if len(want) != layout.bytes() || len(want) > PackedBytes(g.weights.Format, d.n, d.k) {
				t.Errorf("%s: %d bytes, want %d, at most %d", name, len(want), layout.bytes(), PackedBytes(g.weights.Format, d.n, d.k))
			}
			wrapped := &oneCase{Spec: g, c: native.Case{
				Name: "pack", Dims: []int64{int64(d.n), int64(d.k)},
				Buffers: []native.Buffer{{Name: "w", Elem: native.U8, Len: len(d.w), Mode: native.In}, {Name: "packed", Elem: native.U8, Len: len(want), Mode: native.Out}},
				Inputs:  [][]byte{d.w, nil},
				Verify: func(buffers [][]byte) (d kernels.Deviation, err error) {
					if !slices.Equal(buffers[1], want) {
						return d, kernels.Reject(space.WrongAnswer, "packed otherwise")
					}
					return d, nil
				},
			}}
			problem, err := native.New(wrapped, native.Options{Host: nativetest.Host()})
			if err != nil {
				t.Fatal(err)
			}
			if err := problem.(*native.Problem).Wrap(src, p).Check(t.Context(), 1); err != nil {
				t.Errorf("%s, %s: %v", name, in.Name, err)
			}
		}
	}
}

// TestReference checks the reference against dequantised floats: the difference is what the quantisation of the activations may do.
func TestReference(t *testing.T) {
	for _, name := range formatNames() {
		g := specOn(t, fullMachine, "m=2,n=5,k=512,format="+name)
		s := size{2, 5, 512}
		a, w := g.inputsOf(s, uniform, 7, 0)
		d := g.draw(s, uniform, 7, 0)
		weights := make([]float32, s.n*s.k)
		if err := g.weights.Dequantise(weights, w); err != nil {
			t.Fatal(err)
		}
		for i := range s.m {
			for j := range s.n {
				want, limit := 0.0, 0.0
				for l := range s.k {
					v := float64(weights[j*s.k+l])
					want += float64(a[i*s.k+l]) * v
					limit += math.Abs(v) / 254 // half a step of activations below 1
				}
				if got := d.want.known.Rows[i][j].Value; math.Abs(got-want) > limit {
					t.Errorf("%s: element (%d, %d) is %g, and %g ± %g by floats", name, i, j, got, want, limit)
				}
			}
		}
	}
}

// formLate says that panels multiply scales in as late as they can.
const formLate = "late"

// mutations are mistakes that this kernel invites: format, text and what replaces it.
var mutations = []struct{ name, format, form, old, new string }{
	{"centre forgotten", "q4_0", formPanels, "splat(start[0])", "splat(0)"},
	{"nibbles swapped", "q4_0", formPanels, "(load(w0 + 0) >> 4 & 0x0f0f0f0f)", "(load(w0 + 0) & 0x0f0f0f0f)"},
	{"one high bit lost", "q5_1", formPanels, "0x10101010", "0x10101000"},
	{"minimum forgotten", "q4_1", formPanels, "c0_0 -= min0", "c0_0 -= 0 * min0"},
	{"minimum with the wrong sign", "q4_k", formPanels, "c0_0 -= min0", "c0_0 += min0"},
	{"scale of the first sub-block for all", "q5_k", formPanels, "f0 += 1 * LANES", "f0 += 0"},
	{"unsigned scales", "q6_k", formPanels, "vpmovsxbd", "vpmovzxbd"},
	{"upper nibbles not shifted", "q4_k", formLate, "i0_0_1 >> 4", "i0_0_1"},
	{"upper nibbles in the other sum", "q4_k", formLate, "i1_0_1 = dot(i1_0_1", "i1_0_0 = dot(i1_0_0"},
	{"minima with the scale", "q4_k", formLate, "- m0_0 * m0)", "- m0_0 * d0)"},
	{"scale of another row of A", "q4_k", formLate, "* d[1]", "* d[0]"},
	{"scale of the weights forgotten", "q6_k", formLate, "(d0 * d[1])", "d[1]"},
	{"halves swapped", "q5_0", formRows, "half = { 0, 0, 0, 0, -1, -1, -1, -1 }", "half = { -1, -1, -1, -1, 0, 0, 0, 0 }"},
	{"fifth bits of another quant", "q5_1", formRows, "{ 1, 2, 4, 8, 16, 32, 64, 128 }", "{ 1, 2, 4, 8, 16, 32, 128, 64 }"},
	{"second scale forgotten", "q6_k", formRows, "scale[3]", "scale[2]"},
	{"minima of a row not its own", "q4_k", formRows, "sums1 += SUBS", "sums1 += 0"},
	{"toward zero", "q8_0", formPlain, "u = { .f = t + 12582912.0f };\n\t\tq[l] = (int8_t)(u.i - 0x4B400000)", "u = { .f = t };\n\t\tq[l] = (int8_t)u.f"},
	{"last block forgotten", "q8_0", formPlain, "b < blocks; b++", "b < blocks - (blocks > 1); b++"},
	{"a row of NaN taken for zeros", "q5_0", formPlain, "(usable ? d : 0) + odd", "usable ? d : 0"},
	{"six bits without the upper two", "q4_k", formPlain, "| (u[0] >> 2 & 0x30303030)", ""},
	{"subnormal scales lost", "q8_0", formPlain, "u.f *= 0x1p112f", "u.f = rest < 0x400 ? 0 : u.f * 0x1p112f"},
}

// TestWrongCode: the mistakes are found by the check. That the code is right without them is what the other tests show.
func TestWrongCode(t *testing.T) {
	for _, m := range mutations {
		t.Run(m.name, func(t *testing.T) {
			g := here(t, "m=6,n=35,k=512,format="+m.format)
			p := g.Presets()[0].Point
			if m.form != formPlain {
				sets := instructionSets(g.machine)
				if len(sets) == 0 || !sets[len(sets)-1].DotBytes {
					t.Skip("this machine has no dot products of bytes")
				}
				values := map[string]any{"form": m.form, "isa": sets[len(sets)-1].Name, "mr": 2, "opt": "O2"}
				if m.form == formLate {
					values["form"], values["scaling"] = formPanels, scalingBlocks
					if g.weights.Mins {
						values["scaling"], values["chains"], values["nibbles"] = scalingAll, 2, nibblesPlaced
					}
				}
				var err error
				if p, err = g.Space().Make(values); err != nil {
					t.Fatal(err)
				}
			}
			src, err := g.Generate(p)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(src.Text, m.old) {
				t.Fatalf("the code has no %q:\n%s", m.old, src.Text)
			}
			src.Text = strings.ReplaceAll(src.Text, m.old, m.new)
			err = nativetest.Problem(t, g).Wrap(nativetest.Quick(src), p).Check(t.Context(), 5)
			if r := kernels.AsRejection(err); r == nil || r.Status != space.WrongAnswer {
				t.Errorf("%v, want a wrong answer", err)
			}
		})
	}
}

// TestLarge: above the limit some rows and columns are compared, and a wrong element anywhere else fails its row.
func TestLarge(t *testing.T) {
	g := specOn(t, fullMachine, "m=60,n=70,k=512,format=q4_k")
	d := g.draw(size{60, 70, 512}, uniform, 3, 0)
	c := make([]float32, 60*70)
	for i := range 60 {
		for j := range 70 {
			c[i*70+j] = float32(d.want.known.Rows[i][j].Value)
		}
	}
	o := *d.want
	o.compute(rand.New(rand.NewPCG(9, 9)), 0)
	if o.known.Whole || len(o.known.Rows) == 60 || len(o.known.Cols) == 70 {
		t.Fatal("the reference is whole")
	}
	if _, err := o.verify(c); err != nil {
		t.Fatalf("the right product: %v", err)
	}
	for i := range 60 {
		for j := i % 7; j < 70; j += 7 {
			right := c[i*70+j]
			for _, wrong := range []float32{right + float32(0.001*d.want.known.Rows[i][j].Size), 0, float32(math.NaN())} {
				if math.Abs(float64(wrong-right)) < 1e-4*d.want.known.Rows[i][j].Size {
					continue
				}
				c[i*70+j] = wrong
				if _, err := o.verify(c); kernels.AsRejection(err) == nil {
					t.Fatalf("element (%d, %d) is %v and not %v, and nobody minds", i, j, wrong, right)
				}
			}
			c[i*70+j] = right
		}
	}
}

// TestSpaces: a space holds what the machine has.
func TestSpaces(t *testing.T) {
	small := native.Machine{Arch: "arm64", Compilers: []string{"cc"}, ISAs: []string{"generic"}, Cache: 1 << 20}
	middle := native.Machine{Arch: "amd64", Compilers: []string{"gcc"}, ISAs: []string{"generic", "avx2", "f16c"}, Cache: 1 << 20}
	for _, m := range []native.Machine{tileMachine, fullMachine, small, middle} {
		for _, shape := range []string{"", "m=512,format=q4_k", "m=4,repack=no,format=q6_k", "m=33,n=1000,k=1024,threads=8,format=q5_1"} {
			g := specOn(t, m, shape)
			for _, p := range g.Presets() {
				if _, err := g.Generate(p.Point); err != nil {
					t.Errorf("%s: %s: %v", shape, p.Name, err)
				}
			}
			isa, ok := g.Space().Parameter("isa")
			if ok != (len(instructionSets(m)) > 0) {
				t.Errorf("%s, %s: has vectors: %v", m.Arch, shape, ok)
			}
			form, _ := g.Space().Parameter("form")
			if _, panels := form.Ordinal(space.StringValue(formPanels)); panels != (ok && g.repack) {
				t.Errorf("%s, %s: has panels: %v", m.Arch, shape, panels)
			}
			if ok {
				if _, ok := isa.Ordinal(space.StringValue(cgen.AVX512VNNI)); ok != slices.Contains(m.ISAs, cgen.AVX512VNNI) {
					t.Errorf("%s: avx512vnni is in the space: %v", m.Arch, ok)
				}
			}
		}
	}
}

// TestEvenRows: the tiles of the start leave few rows empty.
func TestEvenRows(t *testing.T) {
	for m, want := range map[int]int{5: 5, 12: 12, 13: 7, 32: 8, 33: 11, 512: 8, 26: 9} {
		if got := evenRows(m, 7, 12); got != want {
			t.Errorf("%d rows: %d in a tile, want %d", m, got, want)
		}
	}
}

func TestShapes(t *testing.T) {
	for shape, want := range map[string]string{
		"k=100":               "k=100 is not a multiple of 32, the block of q8_0",
		"k=288,format=q4_k":   "k=288 is not a multiple of 256, the block of q4_k",
		"m=262144,n=262144":   "at most",
		"format=q3_k":         "format",
		"k=0":                 "range",
		"repack=perhaps":      "repack",
		"k=131072,n=200000":   "at most",
		"format=q8_k,k=25600": "format",
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

// TestLargestShapes: the heads of language models are no larger than what is admitted.
func TestLargestShapes(t *testing.T) {
	for shape, want := range map[string]bool{"n=128256,k=4096,format=q4_0": true, "n=262144,k=8192,format=q6_k": true, "n=262144,k=8224": false, "m=262144,n=8193,k=32": false} {
		s, err := kernels.ParseShape(Fields(), shape)
		if err != nil {
			t.Fatal(err)
		}
		g, err := NewSpec(s, fullMachine)
		if (err == nil) != want {
			t.Errorf("%s: %v", shape, err)
		}
		if err != nil {
			continue
		}
		buffers, kept := g.Sizes()
		weights := int64(g.n) * int64(g.k)
		if int64(buffers[1].Len) < weights/2 || kept < 2*weights {
			t.Errorf("%s: %d bytes of weights, %d bytes are kept", shape, buffers[1].Len, kept)
		}
	}
}

// TestMemory: what is kept of a seed is as much as the estimate says.
func TestMemory(t *testing.T) {
	heap := func() int64 {
		runtime.GC()
		runtime.GC() // The first one leaves what finalizers and pools hold.
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	for _, shape := range []string{"m=256,n=1024,k=1024,format=q8_0", "m=2,n=1024,k=2048,format=q4_k", "m=2,n=2048,k=1024,format=q6_k,repack=no"} {
		g := specOn(t, tileMachine, shape)
		before := heap()
		d, err := g.drawnOf(&g.inputs, 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, layout := range g.layouts() {
			d.packedAs(layout)
		}
		if !d.want.known.Whole {
			d.want.product()
		}
		got := heap() - before
		runtime.KeepAlive(d)
		if _, kept := g.Sizes(); float64(got) > 1.05*float64(kept) || float64(got) < 0.9*float64(kept) {
			t.Errorf("%s: %d bytes are kept, and %d are expected", shape, got, kept)
		}
	}
}

func TestWork(t *testing.T) {
	for shape, cold := range map[string]bool{"": true, "n=64,k=64": false, "m=64": false, "cache=warm": false, "n=64,k=64,cache=cold": true} {
		g := specOn(t, fullMachine, shape)
		w := g.Work()
		if w.Cold != cold || w.Ops != 2*float64(g.m)*float64(g.n)*float64(g.k) || w.OpsName != "GOP/s" || w.MinSeconds <= 0 || w.Bytes <= 0 {
			t.Errorf("%s: %+v", shape, w)
		}
	}
}

// modelFile writes a GGUF file of one tensor.
func modelFile(t *testing.T, name string, k, n int, f blocks.Format, data []byte) string {
	t.Helper()
	var b bytes.Buffer
	put := func(v any) { binary.Write(&b, binary.LittleEndian, v) } // a buffer takes everything
	b.WriteString("GGUF")
	put(uint32(3))
	put(uint64(1)) // tensors
	put(uint64(0)) // values
	put(uint64(len(name)))
	b.WriteString(name)
	put(uint32(2))
	put(uint64(k))
	put(uint64(n))
	put(f.Type)
	put(uint64(0))
	b.Write(make([]byte, (32-b.Len()%32)%32))
	b.Write(data)
	path := filepath.Join(t.TempDir(), "model.gguf")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestModel: the weights of a model are those that are multiplied, and a shape that is not the tensor's is refused with the right one.
func TestModel(t *testing.T) {
	f, err := blocks.ByName("q5_k")
	if err != nil {
		t.Fatal(err)
	}
	source := specOn(t, fullMachine, "m=2,n=19,k=512,format=q5_k")
	_, data := source.inputsOf(size{2, 19, 512}, uniform, 77, 0)
	path := modelFile(t, "blk.0.weight", 512, 19, f, data)
	shape := "m=2,n=19,k=512,format=q5_k,weights=" + path + ":blk.0.weight"
	g := here(t, shape)
	for _, p := range g.Presets() {
		nativetest.Right(t, g, p.Point, 1)
		cases, err := g.Cases(t.Context(), p.Point, 1)
		if err != nil {
			t.Fatal(err)
		}
		want := data
		if layout, ok := g.packingOf(p.Point, 19, 512); ok {
			want = layout.pack(data)
		}
		one, err := g.Variant(t.Context(), p.Point, 5)
		if err != nil {
			t.Fatal(err)
		}
		inputs, err := g.Draw(t.Context(), p.Point, 6)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(cases[0].Inputs[1], want) || !slices.Equal(one.Inputs[1], want) || !slices.Equal(inputs[1], want) {
			t.Errorf("%s: the weights are not the model's", p.Name)
		}
		if slices.Equal(one.Inputs[0], inputs[0]) {
			t.Errorf("%s: the activations do not vary", p.Name)
		}
	}
	colon := filepath.Join(t.TempDir(), "a:b.gguf")
	if err := os.Rename(path, colon); err != nil {
		t.Fatal(err)
	}
	if w, err := here(t, "m=2,n=19,k=512,format=q5_k,weights="+colon+":blk.0.weight").tensor(); err != nil || !slices.Equal(w, data) {
		t.Errorf("a path with a colon: %v", err)
	}
	if err := os.Rename(colon, path); err != nil {
		t.Fatal(err)
	}
	// A block with a scale that is no number is refused by its place.
	const block = 19*2 - 1
	for at, wrong := range map[int]uint16{0: 0x7c00, 2: 0x7e01} {
		broken := slices.Clone(data)
		binary.LittleEndian.PutUint16(broken[block*f.Bytes+at:], wrong)
		bad := modelFile(t, "blk.0.weight", 512, 19, f, broken)
		_, err := here(t, "m=2,n=19,k=512,format=q5_k,weights="+bad+":blk.0.weight").Cases(t.Context(), g.Presets()[0].Point, 1)
		for _, want := range []string{bad, "blk.0.weight", fmt.Sprintf("at byte %d of the tensor, in row 18,", block*f.Bytes), "infinite or not a number"} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("a scale of %#x at %d: %v, want an error with %q", wrong, at, err, want)
			}
		}
	}
	for text, want := range map[string]string{
		"m=2,n=20,k=512,format=q5_k,weights=" + path + ":blk.0.weight":  "the tensor has n=19,k=512,format=q5_k: say so in the shape, which has n=20,k=512,format=q5_k",
		"m=2,n=19,k=512,format=q4_k,weights=" + path + ":blk.0.weight":  "format=q5_k: say so",
		"m=2,n=19,k=512,format=q5_k,weights=" + path + ":blk.1.weight":  "did you mean \"blk.0.weight\"? ('tune gguf " + path + "' lists the tensors)",
		"m=2,n=19,k=512,format=q5_k,weights=" + path:                    "want random, or FILE.gguf:TENSOR",
		"m=2,n=19,k=512,format=q5_k,weights=":                           "weights=",
		"m=2,n=19,k=512,format=q5_k,weights=missing.gguf:blk.0.weight":  "missing.gguf",
		"m=2,n=19,k=512,format=q5_k,weights=/dev/zero:blk.0.weight":     "/dev/zero",
		"m=2,n=19,k=512,format=q5_k,weights=qgemm_test.go:blk.0.weight": "qgemm_test.go",
		"m=2,n=19,k=512,format=q5_k,weights=" + path + "x:blk.0.weight": "model.ggufx",
	} {
		s, err := kernels.ParseShape(Fields(), text)
		if err == nil {
			_, err = NewSpec(s, fullMachine)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error with %q", text, err, want)
		}
	}
}
