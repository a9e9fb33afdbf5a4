package gemm16

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tune/kernels"
	"tune/kernels/native"
	"tune/kernels/native/nativetest"
	"tune/space"
)

// fullMachine has everything that the generator knows. Its code can be generated anywhere.
var fullMachine = nativetest.Machines()["tiles"]

func specOn(t testing.TB, kind *Type, m native.Machine, shape string) *Spec {
	t.Helper()
	return nativetest.Made(t, Fields(), shape, m, func(s kernels.Shape, m native.Machine) (*Spec, error) { return NewSpec(kind, s, m) })
}

// here returns the spec on this machine.
func here(t testing.TB, kind *Type, shape string) *Spec {
	t.Helper()
	return specOn(t, kind, nativetest.Here(t), shape)
}

// made returns a point of a spec.
func made(t testing.TB, g *Spec, values map[string]any) space.Point {
	t.Helper()
	p, err := g.Space().Make(values)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// pointsOf returns points of each unit and instruction set of a spec's machine, with each form of packing.
func pointsOf(t testing.TB, g *Spec) []space.Point {
	points := []space.Point{g.Presets()[0].Point}
	for _, unit := range g.units()[1:] {
		isas := []string{""}
		if unit == unitWide {
			isas = g.wideSets()
		}
		for _, isa := range isas {
			for _, values := range []map[string]any{
				{"mr": 2, "nr": 2, "panels": panelsTogether, "activations": activationsRows, "unroll": 2},
				{"mr": 1, "nr": 3, "panels": panelsApart, "ahead": 512, "kc": 256, "order": orderRows, "mc": 32},
				{"mr": 1, "nr": 1, "activations": activationsDirect},
				{"mr": 2, "nr": 1, "activations": activationsTiles, "broadcast": broadcastRegister},
				{"mr": 2, "nr": 2, "pack": packPanel},
			} {
				values["unit"] = unit
				if isa != "" {
					values["isa"] = isa
				}
				if p, err := g.Space().Make(values); err == nil {
					points = append(points, p)
				}
			}
		}
	}
	return points
}

// TestForms: the forms of the operands are right in the points of each unit.
func TestForms(t *testing.T) {
	for _, kind := range []*Type{BFloat16, Half} {
		for i, form := range []string{"inputs=f32,weights=packed,layout=nt", "inputs=half,weights=half,layout=nn", "inputs=half,weights=f32,layout=nt"} {
			g := here(t, kind, fmt.Sprintf("m=37,n=70,k=%d,%s", []int{300, 301, 320}[i], form))
			for n, p := range pointsOf(t, g) {
				if n%3 == i { // each point in one of the forms
					t.Run(kind.name+" "+form+" "+p.Key(), func(t *testing.T) { nativetest.Right(t, g, p, 1, nativetest.Quick) })
				}
			}
		}
	}
}

func TestConformance(t *testing.T) {
	for shape, kind := range map[string]*Type{"m=7,n=90,k=96,threads=3": BFloat16, "m=3,n=41,k=130,layout=nn,inputs=half,weights=half": Half} {
		t.Run(kind.name, func(t *testing.T) { nativetest.Run(t, here(t, kind, shape), nativetest.Options{Points: 1}) })
	}
}

// checkRandom checks random points of random shapes.
func checkRandom(t *testing.T, seed uint64, count int) {
	rng := rand.New(rand.NewPCG(seed, 0))
	for i := range count {
		kind := []*Type{BFloat16, Half}[i%2]
		shape := fmt.Sprintf("m=%d,n=%d,k=%d,layout=%s,inputs=%s,weights=%s,threads=%d", 1+rng.IntN([]int{1, 4, 60}[rng.IntN(3)]), 1+rng.IntN(200), 1+rng.IntN(700),
			[]string{layoutNN, layoutNT}[rng.IntN(2)], []string{asF32, asHalf}[rng.IntN(2)], []string{asF32, asHalf, asPacked}[rng.IntN(3)], 1+3*(i/2%2))
		g := here(t, kind, shape)
		var p space.Point
		var err error
		for p.IsZero() || p.Str("unit") == unitPlain && len(g.units()) > 1 {
			if p, err = g.Space().Sample(rng); err != nil {
				t.Fatal(err)
			}
		}
		t.Run(kind.name+" "+shape, func(t *testing.T) { nativetest.Right(t, g, p, rng.Uint64()) })
	}
}

func TestRandomPoints(t *testing.T) { checkRandom(t, 1, 4) }

// oneCase is a spec with a case of a test's own.
type oneCase struct {
	*Spec
	c native.Case
}

func (s *oneCase) Cases(context.Context, space.Point, uint64) ([]native.Case, error) {
	return []native.Case{s.c}, nil
}

// TestPack: the packing function of the code does what the inputs of its check have, in each layout. The code for matrix tiles is emulated.
func TestPack(t *testing.T) {
	for _, kind := range []*Type{BFloat16, Half} {
		for _, layout := range []string{layoutNN, layoutNT} {
			g := specOn(t, kind, fullMachine, "m=3,n=75,k=301,layout="+layout)
			here := specOn(t, kind, nativetest.Here(t), "m=3,n=75,k=301,layout="+layout)
			d := g.inputsOf(size{3, 75, 301}, uniform, 1, 0)
			for _, unit := range g.units()[1:] {
				if unit != unitTile && !slices.Contains(here.units(), unit) {
					continue
				}
				values := map[string]any{"unit": unit, "mr": 1, "nr": 2, "panels": panelsApart}
				if unit == unitWide {
					values["isa"], values["panels"] = here.wideSets()[len(here.wideSets())-1], panelsTogether
				}
				p := made(t, g, values)
				src, err := g.Generate(p)
				if err != nil {
					t.Fatal(err)
				}
				if unit == unitTile {
					src = emulated(t, g, p)
				}
				checkPack(t, g, d, p, src)
			}
		}
	}
}

func checkPack(t *testing.T, g *Spec, d *drawn, p space.Point, src native.Source) {
	t.Helper()
	src.Text = strings.ReplaceAll(src.Text, "void tune_kernel(", "void multiply_all(") + `
void tune_kernel(void *const *args, const int64_t *dims)
{
	tune_pack(args[1], args[0], dims[0], dims[1]);
}
`
	l, _ := g.layoutOf(p, d.n, d.k)
	want := l.pack(arrange(d.size, d.bits, g.nt), d.n, d.k, g.nt)
	if len(want) != l.bytes() || len(want) > PackedBytes(d.n, d.k) {
		t.Errorf("%s: %d bytes, want %d, at most %d", p, len(want), l.bytes(), PackedBytes(d.n, d.k))
	}
	wrapped := &oneCase{Spec: g, c: native.Case{
		Name: "pack", Dims: []int64{int64(d.n), int64(d.k)},
		Buffers: []native.Buffer{{Name: "b", Elem: native.U16, Len: len(d.b) / 2, Mode: native.In}, {Name: "packed", Elem: native.U8, Len: len(want), Mode: native.Out}},
		Inputs:  [][]byte{d.b, nil},
		Verify: func(buffers [][]byte) (d kernels.Deviation, err error) {
			if !slices.Equal(buffers[1], want) {
				return d, kernels.Reject(space.WrongAnswer, "packed otherwise")
			}
			return d, nil
		},
	}}
	if err := nativetest.Problem(t, wrapped).Wrap(src, p).Check(t.Context(), 1); err != nil {
		t.Errorf("%s: %v", p, err)
	}
}

// mutations are mistakes that these kernels invite: text and what replaces it.
var mutations = []struct {
	name     string
	kind     *Type
	unit     string
	old, new string
}{
	{"ties away from zero", BFloat16, unitPlain, "0x7fff + (u.i >> 16 & 1)", "0x8000"},
	{"cut off", BFloat16, unitPlain, "(u.i + 0x7fff + (u.i >> 16 & 1)) >> 16", "u.i >> 16"},
	{"not rounded", BFloat16, unitPlain, "x[i] = rounded(a[i])", "x[i] = a[i]"},
	{"the wrong half of a pair", BFloat16, unitWide, "& 0xffff0000", "<< 0"},
	{"the last element along k forgotten", Half, unitPlain, "for (; l < k; l++)", "for (; l < k - (k > 1); l++)"},
	{"ties away from zero", Half, unitPlain, "0xfff + (u.i >> 13 & 1)", "0x1000"},
	{"subnormal numbers lost", Half, unitPlain, "u.f *= 0x1p112f", "u.f = rest < 0x400 ? 0 : u.f * 0x1p112f"},
	{"no infinity", Half, unitPlain, "return value(sign | 0x7c00)", "return value(sign | 0x7bff)"},
	{"toward zero", Half, unitWide, "vcvtps2ph $0", "vcvtps2ph $3"},
	{"sums of the block before forgotten", Half, unitWide, "if (from > 0) {", "if (from > 1 << 20) {"},
	{"an edge not written", Half, unitWide, "r < MR && t * MR + r < j->m; r++)\n\t\t__builtin_memcpy(j->c", "r < MR - 1 && t * MR + r < j->m; r++)\n\t\t__builtin_memcpy(j->c"},
	{"the halves of a pair swapped in A", BFloat16, unitDot, "(words){ 0 } + x", "(words){ 0 } + (x << 16 | x >> 16)"},
	{"the rest of the last pair", BFloat16, unitDot, "to[i] = 0; // before", "to[i] = 0x7fc07fc0; // before"},
}

// TestWrongCode: the mistakes are found by the check.
func TestWrongCode(t *testing.T) {
	right := map[string]bool{} // kinds and units whose code has been checked as it is
	for _, m := range mutations {
		t.Run(m.kind.name+" "+m.name, func(t *testing.T) {
			g := here(t, m.kind, "m=6,n=35,k=301")
			if !slices.Contains(g.units(), m.unit) {
				t.Skip("this machine lacks the unit")
			}
			values := map[string]any{"unit": m.unit}
			if m.unit != unitPlain {
				values["mr"], values["nr"], values["kc"] = 2, 1, 256
			}
			if m.unit == unitDot {
				values["broadcast"] = broadcastRegister
			}
			if m.unit == unitWide {
				values["isa"] = g.wideSets()[len(g.wideSets())-1]
			}
			p := made(t, g, values)
			src, err := g.Generate(p)
			if err != nil {
				t.Fatal(err)
			}
			src = nativetest.Quick(src)
			problem := nativetest.Problem(t, g)
			if !right[m.kind.name+m.unit] {
				if err := problem.Wrap(src, p).Check(t.Context(), 5); err != nil {
					t.Fatalf("the code as it is: %v", err)
				}
				right[m.kind.name+m.unit] = true
			}
			if !strings.Contains(src.Text, m.old) {
				t.Fatalf("the code has no %q:\n%s", m.old, src.Text)
			}
			src.Text = strings.ReplaceAll(src.Text, m.old, m.new)
			err = problem.Wrap(src, p).Check(t.Context(), 5)
			if r := kernels.AsRejection(err); r == nil || r.Status != space.WrongAnswer {
				t.Errorf("%v, want a wrong answer", err)
			}
		})
	}
}

// TestReference: rounded elements are the nearest of 16 bits, and results their exact sums.
func TestReference(t *testing.T) {
	for _, kind := range []*Type{BFloat16, Half} {
		g := specOn(t, kind, fullMachine, "m=5,n=6,k=40")
		for _, fill := range []filling{uniform, ties} {
			d := g.inputsOf(size{5, 6, 40}, fill, 3, 0)
			d.want.compute(rand.New(rand.NewPCG(1, 1)), wholeLimit)
			a := native.AsFloats(d.a)
			step := math.Ldexp(1, -kind.precision())
			for i, v := range d.want.a {
				if e := math.Abs(float64(v) - float64(a[i])); e > step/2*math.Abs(float64(a[i])) {
					t.Errorf("%s: %v is rounded to %v", kind.name, a[i], v)
				}
			}
			for i := range 5 {
				for j := range 6 {
					sum := new(big.Float).SetPrec(500)
					for l := range 40 {
						x, y := big.NewFloat(float64(d.want.a[i*40+l])), big.NewFloat(float64(d.want.b[j*40+l]))
						sum.Add(sum, new(big.Float).SetPrec(500).Mul(x, y))
					}
					want, _ := sum.Float64()
					if r := d.want.known.Rows[i][j]; math.Abs(r.Value-want) > 1e-13 || r.Size < 0 || r.Size > 1e-3 {
						t.Errorf("%s: element (%d, %d) is %v ± %v, want %v", kind.name, i, j, r.Value, r.Size, want)
					}
				}
			}
		}
	}
}

// TestLarge: above the limit some rows and columns are compared, and a wrong element anywhere else fails its row.
func TestLarge(t *testing.T) {
	g := specOn(t, BFloat16, fullMachine, "m=60,n=70,k=512")
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
			for _, wrong := range []float32{right + 0.01, -right, float32(math.NaN())} {
				if math.Abs(float64(wrong-right)) < 0.005 {
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
	for name, want := range map[string][2]string{
		"arm64":      {"plain wide", "plain"},
		"avx2":       {"plain wide", "plain"},
		"f16c":       {"plain wide", "plain wide"},
		"avx512":     {"plain wide", "plain wide"},
		"avx512bf16": {"plain wide dot", "plain wide"},
		"tiles":      {"plain wide dot tile", "plain wide"},
	} {
		for i, kind := range []*Type{BFloat16, Half} {
			for _, shape := range []string{"", "m=1,n=4096,k=4096,inputs=half", "m=33,n=1000,k=1024,threads=8,weights=f32,layout=nn"} {
				g := specOn(t, kind, nativetest.Machines()[name], shape)
				if got := strings.Join(g.units(), " "); got != want[i] {
					t.Errorf("%s: %s has the units %s, want %s", name, kind.name, got, want[i])
				}
				var starts []string
				for _, p := range g.Presets() {
					if _, err := g.Generate(p.Point); err != nil {
						t.Errorf("%s: %s: %v", shape, p.Name, err)
					}
					if p.Start {
						starts = append(starts, p.Point.Str("unit"))
					}
				}
				// All but the plain loops, or matrix tiles alone.
				if got, want := strings.Join(starts, " "), strings.TrimPrefix(strings.TrimPrefix(want[i], "plain"), " "); got != want && (got != unitTile || !strings.HasSuffix(want, unitTile)) {
					t.Errorf("%s: %s: the starts are %q", name, shape, got)
				}
			}
		}
	}
}

func TestShapes(t *testing.T) {
	for shape, want := range map[string]string{
		"m=262144,n=262144": "at most",
		"k=0":               "range",
		"layout=tt":         "layout",
		"inputs=packed":     "inputs",
		"weights=int8":      "weights",
		"k=131072,n=200000": "at most",
	} {
		s, err := kernels.ParseShape(Fields(), shape)
		if err == nil {
			_, err = NewSpec(BFloat16, s, fullMachine)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error with %q", shape, err, want)
		}
	}
}

func TestWork(t *testing.T) {
	for shape, cold := range map[string]bool{"": false, "m=1,n=4096,k=4096": true, "m=4,n=64,k=64": false, "m=64,n=4096,k=4096": true, "cache=cold": true} {
		for _, kind := range []*Type{BFloat16, Half} {
			g := specOn(t, kind, fullMachine, shape)
			w := g.Work()
			if w.Cold != cold || w.Ops != 2*float64(g.m)*float64(g.n)*float64(g.k) || w.OpsName != "GFLOP/s" || w.Unit != kind.unit || w.MinSeconds <= 0 {
				t.Errorf("%s: %+v", shape, w)
			}
			if want := float64(4*g.m*g.k + 2*g.n*g.k + 4*g.m*g.n); w.Bytes != want {
				t.Errorf("%s: %v bytes, want %v", shape, w.Bytes, want)
			}
		}
	}
}
