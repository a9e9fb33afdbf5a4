package gemmi8

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tune/kernels"
	"tune/kernels/native"
	"tune/kernels/native/cgen"
	"tune/kernels/native/nativetest"
	"tune/space"
)

// fullMachine has everything that the generator knows. Its code can be generated anywhere.
var fullMachine = native.Machine{Arch: "amd64", Compilers: []string{"gcc", "clang"}, ISAs: []string{"generic", "avx2", "avx512", "avx512vnni", "avxvnni", "amxint8"}, Cache: 32 << 20}

func specOn(t *testing.T, m native.Machine, shape string) *Spec {
	t.Helper()
	return nativetest.Made(t, Fields(), shape, m, NewSpec)
}

// here returns the spec on this machine.
func here(t *testing.T, shape string) *Spec {
	t.Helper()
	return specOn(t, nativetest.Here(t), shape)
}

// point returns a point of the tiled forms on an instruction set, or skips the test where the machine has not got it.
func point(t *testing.T, g *Spec, form, isa string) space.Point {
	t.Helper()
	values := map[string]any{"form": form, "isa": isa, "mr": 3, "nr": 2}
	if form == formTile {
		values["mr"] = 1
	}
	if p, _ := g.Space().Parameter("isa"); p.Len() > 0 {
		if _, ok := p.Ordinal(space.StringValue(isa)); !ok {
			t.Skipf("this machine has no %s", isa)
		}
	}
	p, err := g.Space().Make(values)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestConformance(t *testing.T) {
	for i, shape := range []string{"m=70,n=90,k=130", "m=37,n=41,k=5,relu=yes,weights=packed,threads=3"} {
		t.Run(shape, func(t *testing.T) {
			// Every result has its own integer: off by one step is wrong, whatever its size.
			nativetest.Run(t, here(t, shape), nativetest.Options{Points: 2 - i, Beyond: 1e-4, Quick: i > 0})
		})
	}
}

// checkRandom checks random points of random shapes.
func checkRandom(t *testing.T, seed uint64, count int) {
	rng := rand.New(rand.NewPCG(seed, 0))
	sides := []int{4, 40, 150}
	if nativetest.Stress {
		sides = append(sides, 600)
	}
	side := func() int { return 1 + rng.IntN(sides[rng.IntN(len(sides))]) }
	for i := range count {
		shape := fmt.Sprintf("m=%d,n=%d,k=%d,relu=%s,weights=%s,threads=%d", side(), side(), side(),
			[]string{"no", "yes"}[rng.IntN(2)], []string{weightsF32, weightsInt8, weightsPacked}[(i+int(seed))%3], 1+3*(i%2))
		g := here(t, shape)
		// Each form in turn, because most points are of one of them.
		var p space.Point
		var err error
		want := []string{formPacked, formDot, formPacked, formPlain}[i%4]
		if want == formPlain { // which is drawn once in a hundred thousand times
			if p, err = g.Space().Make(map[string]any{"form": want}); err != nil {
				t.Fatal(err)
			}
		}
		for p.IsZero() || p.Str("form") != want {
			if p, err = g.Space().Sample(rng); err != nil {
				t.Fatal(err)
			}
		}
		t.Run(shape, func(t *testing.T) { nativetest.Right(t, g, p, rng.Uint64()) })
	}
}

func TestRandomPoints(t *testing.T) { checkRandom(t, 1, 4) }

// TestQuantise pins the definition: clipped, ties to even.
func TestQuantise(t *testing.T) {
	inf := float32(math.Inf(1))
	for x, want := range map[float32]int8{
		0: 0, 0.5: 0, 1.5: 2, 2.5: 2, -0.5: 0, -1.5: -2, -2.5: -2, 126.5: 126, 127.4: 127, 127.5: 127, 1e9: 127, inf: 127,
		-127.5: -128, -128.4: -128, -128.5: -128, -1e9: -128, -inf: -128, 0.49999997: 0,
	} {
		if got := quantise([]float32{x * 0.25}, 0.25)[0]; got != want {
			t.Errorf("%v steps become %d, want %d", x, got, want)
		}
	}
}

// TestReference checks the reference against the definition at a small size, digit by digit.
func TestReference(t *testing.T) {
	o := &operands{size: size{2, 2, 3}, a: []int8{1, -2, 3, -128, -128, 127}, w: []int8{4, 5, 6, -128, -128, -128}, scale: 0.5}
	o.compute(rand.New(rand.NewPCG(1, 1)), wholeLimit)
	want := []float32{6, -128, -195, 8256}
	if got := slices.Concat(o.rows[0], o.rows[1]); !slices.Equal(got, want) {
		t.Errorf("C is %v, want %v", got, want)
	}
	o.relu = true
	o.compute(rand.New(rand.NewPCG(1, 1)), wholeLimit)
	if got := slices.Concat(o.rows[0], o.rows[1]); !slices.Equal(got, []float32{6, 0, 0, 8256}) {
		t.Errorf("C with relu is %v", got)
	}
}

// mutation is a mistake in generated code.
type mutation struct {
	name, form, isa string
	old, new        string
}

const (
	// What vpmaddubsw does: the sum of two products saturates in 16 bits.
	saturating = `	typedef int16_t shorts __attribute__((vector_size(sizeof(words))));
	shorts p;
	const shorts ones = (shorts){ 0 } + 1;
	__asm__("vpmaddubsw %2, %1, %0" : "=v"(p) : "v"(w), "v"(a));
	__asm__("vpmaddwd %1, %0, %0" : "+v"(p) : "v"(ones));
	return s + (words)p;`
	// The trick that makes |w| unsigned and gives its sign to a. Only −128 times −128, twice, saturates, and only −128
	// has no opposite. It wants the weights as they are.
	signTrick = `	typedef int16_t shorts __attribute__((vector_size(sizeof(words))));
	shorts p;
	words absolute, moved;
	const shorts ones = (shorts){ 0 } + 1;
	__asm__("vpabsb %1, %0" : "=x"(absolute) : "x"(w));
	__asm__("vpsignb %2, %1, %0" : "=x"(moved) : "x"(a), "x"(w));
	__asm__("vpmaddubsw %2, %1, %0" : "=x"(p) : "x"(absolute), "x"(moved));
	__asm__("vpmaddwd %1, %0, %0" : "+x"(p) : "x"(ones));
	return s + (words)p;`
	dot512  = "\t__asm__(\"vpdpbusd %2, %1, %0\" : \"+v\"(s) : \"v\"(w), \"v\"(a));\n\treturn s;"
	dot256  = "\t__asm__(\"%{vex%} vpdpbusd %2, %1, %0\" : \"+x\"(s) : \"x\"(w), \"x\"(a));\n\treturn s;"
	swapped = "\t__asm__(\"vpdpbusd %2, %1, %0\" : \"+v\"(s) : \"v\"(a), \"v\"(w));\n\treturn s;"
)

var mutations = []mutation{
	{"signed weights as unsigned", formPacked, cgen.AVX512VNNI, "enum { OFFSET = 128 }", "enum { OFFSET = 0 }"},
	{"signed weights as unsigned", formDot, cgen.AVX512VNNI, "enum { OFFSET = 128 }", "enum { OFFSET = 0 }"},
	{"no correction of the offset", formPacked, cgen.AVX512VNNI, "-OFFSET * ", "0 * "},
	{"operands the wrong way round", formPacked, cgen.AVX512VNNI, dot512, swapped},
	{"vpmaddubsw", formPacked, cgen.AVX512VNNI, dot512, saturating},
	{"vpmaddubsw", formPacked, cgen.AVXVNNI, dot256, saturating},
	{"vpmaddubsw", formDot, cgen.AVX512VNNI, dot512, saturating},
	{"toward zero", formPacked, cgen.Generic, "u = { .f = t + 12582912.0f };\n\treturn u.i - 0x4B400000", "u = { .f = t };\n\treturn (int32_t)u.f"},
	{"ties away from zero", formPlain, cgen.Native, "u = { .f = t + 12582912.0f };\n\treturn u.i - 0x4B400000", "u = { .f = t };\n\treturn (int32_t)(u.f < 0 ? u.f - 0.5f : u.f + 0.5f)"},
	{"clipped at -127", formPlain, cgen.Native, "-128.0f", "-127.0f"},
	{"wrapped, not clipped", formPlain, cgen.Native, "t > 127.0f ? 127.0f : t", "t > 1000 ? 127.0f : t"},
	{"sums of 16 bits", formPlain, cgen.Native, "int32_t s = 0;", "int16_t s = 0;"},
	{"scales one after the other", formPlain, cgen.Native, "(float)s * scale", "(float)s * scales[0] * scales[1]"},
	{"last element along k", formPlain, cgen.Native, "l < k", "l < k - (k > 5)"},
	{"relu on other terms", formPlain, cgen.Native, "s += qa[i * k + l] * qw[j * k + l]", "s += qw[j * k + l] > 0 ? qa[i * k + l] * qw[j * k + l] : 0"},
}

// TestWrongCode: the mistakes that this kernel invites are found by the check.
func TestWrongCode(t *testing.T) {
	for _, m := range mutations {
		t.Run(m.name+"/"+m.form+"/"+m.isa, func(t *testing.T) {
			g := here(t, "m=6,n=70,k=90")
			p := g.Presets()[0].Point
			if m.form != formPlain {
				p = point(t, g, m.form, m.isa)
			}
			mutate(t, g, p, m.old, m.new)
		})
	}
}

// right has the points whose code mutate has checked as it is.
var right = map[string]bool{}

// mutate replaces text of a point's code, and expects a wrong answer.
func mutate(t *testing.T, g *Spec, p space.Point, pairs ...string) {
	t.Helper()
	src, err := g.Generate(p)
	if err != nil {
		t.Fatal(err)
	}
	src = nativetest.Quick(src)
	problem := nativetest.Problem(t, g)
	if !right[p.Key()] {
		if err := problem.Wrap(src, p).Check(t.Context(), 5); err != nil {
			t.Fatalf("the code as it is: %v", err)
		}
		right[p.Key()] = true
	}
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(src.Text, pairs[i]) {
			t.Fatalf("the code has no %q:\n%s", pairs[i], src.Text)
		}
		src.Text = strings.ReplaceAll(src.Text, pairs[i], pairs[i+1])
	}
	err = problem.Wrap(src, p).Check(t.Context(), 5)
	if r := kernels.AsRejection(err); r == nil || r.Status != space.WrongAnswer {
		t.Errorf("%v, want a wrong answer", err)
	}
}

// TestSignTrick: the form of vpmaddubsw that is right for all but −128 is found too, by inputs that hold it.
func TestSignTrick(t *testing.T) {
	g := here(t, "m=6,n=70,k=90")
	p := point(t, g, formPacked, cgen.AVXVNNI)
	mutate(t, g, p, dot256, signTrick, "enum { OFFSET = 128 }", "enum { OFFSET = 0 }")

	// Without it, the trick is right: it is no other mistake that is found.
	rng := rand.New(rand.NewPCG(1, 1))
	floats := func(count int) []float32 {
		x := make([]float32, count)
		for i := range x {
			x[i] = float32(rng.IntN(255) - 127)
		}
		return x
	}
	a, w := floats(g.m*g.k), floats(g.n*g.k)
	o := &operands{size: size{g.m, g.n, g.k}, a: quantise(a, 1), w: quantise(w, 1), scale: 1}
	o.compute(rng, wholeLimit)
	d := &drawn{size: o.size, a: native.AsBytes(a), w: native.AsBytes(w), scales: native.AsBytes([]float32{1, 1}), want: o}
	problem, err := native.New(&oneCase{Spec: g, c: g.newCase(p, d)}, native.Options{Host: nativetest.Host()})
	if err != nil {
		t.Fatal(err)
	}
	src, err := g.Generate(p)
	if err != nil {
		t.Fatal(err)
	}
	src.Text = strings.NewReplacer(dot256, signTrick, "enum { OFFSET = 128 }", "enum { OFFSET = 0 }").Replace(src.Text)
	if err := problem.(*native.Problem).Wrap(src, p).Check(t.Context(), 1); err != nil {
		t.Errorf("the trick without -128: %v", err)
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

// TestLarge: above the limit some rows and columns are compared, and a wrong element anywhere else fails the test by a
// random vector, or is no integer times the scales.
func TestLarge(t *testing.T) {
	for _, relu := range []bool{false, true} {
		g := specOn(t, fullMachine, "m=90,n=110,k=64,relu="+map[bool]string{false: "no", true: "yes"}[relu])
		d := g.draw(size{90, 110, 64}, map[bool]filling{true: signed}[relu], 3, 0)
		var c []float32
		for i := range 90 {
			c = append(c, d.want.rows[i]...)
		}
		o := *d.want
		o.compute(rand.New(rand.NewPCG(9, 9)), 0)
		if o.whole || len(o.rows) == 90 || len(o.cols) == 110 {
			t.Fatal("the reference is whole")
		}
		if err := o.verify(c); err != nil {
			t.Fatalf("the right product: %v", err)
		}
		for i := range 90 {
			for j := i % 7; j < 110; j += 7 {
				right := c[i*110+j]
				step := float32(math.Round(float64(right/o.scale))) + 1
				for _, wrong := range []float32{right * 1.001, step * o.scale} {
					if wrong == right {
						continue
					}
					c[i*110+j] = wrong
					if kernels.AsRejection(o.verify(c)) == nil {
						t.Fatalf("relu=%v: element (%d, %d) is %v and not %v, and nobody minds", relu, i, j, wrong, right)
					}
				}
				c[i*110+j] = right
			}
		}
	}
}

// TestLargeRelu: where relu cuts sums off above the limit, a case of the asked shape tells every wrong element, also of
// deep products, whose sums are large.
func TestLargeRelu(t *testing.T) {
	if testing.Short() {
		t.Skip("short tests leave out products of billions of multiply-adds")
	}
	const shape = "m=130,n=127,k=65536,relu=yes"
	g := specOn(t, fullMachine, shape)
	cases, err := g.Cases(t.Context(), g.Presets()[0].Point, 3)
	if err != nil {
		t.Fatal(err)
	}
	o := g.asked(3)[1].want
	if !slices.Equal(cases[0].Dims, cases[1].Dims) || o.whole {
		t.Fatalf("the first cases are %s and %s", cases[0].Name, cases[1].Name)
	}
	whole := *o
	whole.compute(rand.New(rand.NewPCG(1, 1)), math.MaxInt)
	var c []float32
	zeros, largest := 0, float32(0)
	for i := range g.m {
		for _, v := range whole.rows[i] {
			largest = max(largest, v/o.scale)
			if v == 0 {
				zeros++
			}
		}
		c = append(c, whole.rows[i]...)
	}
	if zeros < len(c)/3 || zeros > 2*len(c)/3 || largest > 1<<24 || largest < 1<<21 {
		t.Errorf("%s: %d of %d results are 0, and the largest sum is %v", shape, zeros, len(c), largest)
	}
	verify := func() error {
		_, err := cases[1].Verify([][]byte{nil, nil, nil, native.AsBytes(c)})
		return err
	}
	if err := verify(); err != nil {
		t.Fatalf("%s: the right product: %v", shape, err)
	}
	rng := rand.New(rand.NewPCG(5, 6))
	for range 20 {
		at := rng.IntN(len(c))
		before := c[at]
		for _, sum := range []float32{0, 1, before/o.scale + 1} {
			if c[at] = sum * o.scale; c[at] != before && kernels.AsRejection(verify()) == nil {
				t.Errorf("%s: element (%d, %d) is %v and not %v, and nobody minds", shape, at/g.n, at%g.n, c[at], before)
			}
		}
		c[at] = before
	}
}

// TestPack: the packing function of the code does what the inputs of its check have.
func TestPack(t *testing.T) {
	const shape = "m=3,n=70,k=91,weights=packed"
	g := here(t, shape)
	for i, in := range append(instructionSets(g.machine), cgen.Lookup(cgen.AMXInt8)) {
		for _, form := range []string{formPacked, formDot, formTile} {
			if (form == formTile) != (in.Name == cgen.AMXInt8) {
				continue
			}
			full := specOn(t, fullMachine, shape)
			p := point(t, full, form, in.Name)
			if form != formDot && i%2 == 1 { // the shorts of AVX2, the bytes of others, and tiles
				var err error
				if p, err = full.Space().Make(map[string]any{"form": form, "isa": in.Name, "mr": 1, "nr": 2, "panels": panelsApart}); err != nil {
					t.Fatal(err)
				}
			}
			src, err := g.Generate(p)
			if err != nil {
				t.Fatal(err)
			}
			if form == formTile {
				needAVX512(t)
				src = emulated(t, g, p)
			}
			l := layoutOf(p, g.n, g.k)
			bytes := native.Buffer{Name: "packed", Elem: native.U8, Len: l.packedBytes(), Mode: native.Out}
			w := native.Buffer{Name: "w", Elem: native.I8, Len: g.n * g.k, Mode: native.In}
			src.Text = strings.ReplaceAll(src.Text, "void tune_kernel(", "void multiply_all(") + `
void tune_kernel(void *const *args, const int64_t *dims)
{
	for (int64_t i = 0; i < dims[2]; i++)
		((uint8_t *)args[1])[i] = 0; // what belongs to no weight is not written
	tune_pack(args[1], args[0], dims[0], dims[1]);
}
`
			d := g.asked(1)[0]
			want := l.pack(d.want.w, g.n, g.k)
			wrapped := &oneCase{Spec: g, c: native.Case{
				Name: "pack", Dims: []int64{int64(g.n), int64(g.k), int64(bytes.Len)}, Buffers: []native.Buffer{w, bytes}, Inputs: [][]byte{native.AsBytes(d.want.w), nil},
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
				t.Errorf("%s, %s: %v", form, in.Name, err)
			}
		}
	}
}

// TestNext: the shares of the tiles are the whole panel, whatever its width and the rows of A, and no tile asks for what follows it.
func TestNext(t *testing.T) {
	for _, isa := range []string{cgen.Generic, cgen.AVX2, cgen.AVX512VNNI} {
		for _, values := range []map[string]any{{"mr": 4, "nr": 6}, {"mr": 8, "nr": 3}, {"mr": 8, "nr": 1}, {"mr": 1, "nr": 7}, {"mr": 4, "nr": 3, "mc": 32}} {
			for _, m := range []int{1, 5, 16, 70} {
				g := specOn(t, fullMachine, fmt.Sprintf("m=%d,weights=packed", m))
				values["form"], values["isa"], values["next"] = formPacked, isa, yes
				p, err := g.Space().Make(values)
				if err != nil {
					continue // too large for the registers, or a block of more rows than A has
				}
				w := &generator{Spec: g, p: p, knobs: g.knobs(p)}
				lines, tiles, block := w.nextLines()
				held := m
				if mc := p.Int("mc"); mc > 0 {
					held = min(m, mc)
				}
				if all := cgen.Ceil(w.NR*w.Bytes, line); lines*tiles < all || lines*(tiles-1) >= all || tiles > block || block != cgen.Ceil(held, w.MR) {
					t.Errorf("m=%d %s: %d of %d tiles ask for %d lines each, of %d in a step", m, p.Key(), tiles, block, lines, all)
				}
			}
		}
	}
}

// TestSpaces: a space holds what the machine has.
func TestSpaces(t *testing.T) {
	small := native.Machine{Arch: "arm64", Compilers: []string{"cc"}, ISAs: []string{"generic"}, Cache: 1 << 20}
	middle := native.Machine{Arch: "amd64", Compilers: []string{"gcc"}, ISAs: []string{"generic", "avx2", "avxvnni"}, Cache: 1 << 20}
	for _, m := range []native.Machine{fullMachine, small, middle} {
		for _, shape := range []string{"", "m=1,n=1,k=1", "m=1,n=4096,k=4096,weights=int8", "m=512,weights=packed,threads=2", "m=4096,n=4096,k=4096,threads=8"} {
			g := specOn(t, m, shape)
			for _, p := range g.Presets() {
				if _, err := g.Generate(p.Point); err != nil {
					t.Errorf("%s: %s: %v", shape, p.Name, err)
				}
			}
			isa, _ := g.Space().Parameter("isa")
			if _, ok := isa.Ordinal(space.StringValue(cgen.AVX512VNNI)); ok != slices.Contains(m.ISAs, cgen.AVX512VNNI) {
				t.Errorf("%s: avx512vnni is in the space: %v", m.Arch, ok)
			}
		}
	}
}

func TestShapes(t *testing.T) {
	for shape, want := range map[string]string{"m=65536,n=65536": "at most", "relu=maybe": "relu", "k=0": "range", "weights=int4": "weights"} {
		s, err := kernels.ParseShape(Fields(), shape)
		if err == nil {
			_, err = NewSpec(s, fullMachine)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error with %q", shape, err, want)
		}
	}
}

func TestWork(t *testing.T) {
	for shape, cold := range map[string]bool{"": false, "m=1,n=4096,k=4096,weights=int8": true, "m=1,n=64,k=64": false, "cache=cold": true, "m=1,n=4096,k=4096,cache=warm": false} {
		g := specOn(t, fullMachine, shape)
		w := g.Work()
		if w.Cold != cold || w.Ops != 2*float64(g.m)*float64(g.n)*float64(g.k) || w.OpsName != "GOP/s" || w.MinSeconds <= 0 {
			t.Errorf("%s: %+v", shape, w)
		}
	}
}

func TestKernel(t *testing.T) {
	s, err := kernels.ParseShape(Kernel{}.Info().Shape, "m=64,n=64,k=64")
	if err != nil {
		t.Fatal(err)
	}
	p, err := Kernel{}.Problem(s)
	if err != nil {
		t.Skip(err)
	}
	e := &kernels.Evaluator{Problem: p, CheckSeed: 1}
	out, err := e.Evaluate(context.Background(), space.Trial{Proposal: space.Proposal{Point: p.Presets()[1].Point}})
	if err != nil || out.Status != space.OK || out.Cost <= 0 {
		t.Errorf("%+v, %v", out, err)
	}
}
