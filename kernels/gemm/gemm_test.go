package gemm

import (
	"fmt"
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

// wide is a machine with all instruction sets that code is generated for, whatever this machine has.
var wide = native.Machine{ISAs: []string{"generic", "avx2", "avx512"}, Compilers: []string{"gcc", "clang"}}

// host is this machine. Tests that compile are skipped where it has no compiler.
func host(t *testing.T) native.Machine {
	t.Helper()
	return nativetest.Here(t)
}

func newTestSpec(t *testing.T, m native.Machine, layout string, d Dims, threads int) *Spec {
	t.Helper()
	s, err := NewSpec(m, layout, d, threads)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestConformance(t *testing.T) {
	m := host(t)
	for i, test := range []struct {
		layout  string
		d       Dims
		threads int
	}{
		{LayoutNN, Dims{67, 53, 41}, 3},
		{LayoutNT, Dims{67, 53, 41}, 1},
		{LayoutNT, Dims{5, 210, 131}, 2},
	} {
		if i == 1 && !nativetest.Stress {
			continue // TestLinkedConformance has products of this kind
		}
		t.Run(fmt.Sprintf("layout=%s/M=%d/N=%d/K=%d", test.layout, test.d.M, test.d.N, test.d.K), func(t *testing.T) {
			nativetest.Run(t, newTestSpec(t, m, test.layout, test.d, test.threads), nativetest.Options{Points: []int{2, 1, 1}[i], Quick: i > 0})
		})
	}
}

// check builds a point and checks it on the asked shape and the odd ones.
func check(t *testing.T, s *Spec, p space.Point) {
	t.Helper()
	problem, err := native.New(s, native.Options{Host: nativetest.Host()})
	if err != nil {
		t.Fatal(err)
	}
	c, err := problem.Build(t.Context(), p)
	if err == nil {
		err = c.Check(t.Context(), 7)
	}
	if err != nil {
		t.Errorf("M=%d N=%d K=%d layout=%s: %s: %v", s.dims.M, s.dims.N, s.dims.K, s.layout, p, err)
	}
}

// randomDims draws a shape. Each dimension is small, medium or large, so that dimensions below, near and above the size of a tile
// and of a block occur.
func randomDims(r *rand.Rand) Dims {
	side := func() int { return 1 + r.IntN([]int{4, 40, 300}[r.IntN(3)]) }
	return Dims{side(), side(), side()}
}

// sampleForm draws a point of one form. It returns false if the space has none.
func sampleForm(t *testing.T, s *Spec, form string, r *rand.Rand) (space.Point, bool) {
	t.Helper()
	for range 3000 {
		p, err := s.Space().Sample(r)
		if err != nil {
			t.Fatal(err)
		}
		if p.Str("form") == form {
			return p, true
		}
	}
	return space.Point{}, false
}

// randomPoints checks n random points of random shapes, alternating between the tiled and the skinny form.
func randomPoints(t *testing.T, n int, seed uint64) {
	m := host(t)
	for i := range n {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, uint64(i)))
			d := randomDims(r)
			form := FormTiled
			if i%2 == 1 {
				form = FormSkinny
				if i%4 == 1 {
					d.M = 1 + r.IntN(skinnyLimit)
				} else {
					d.N = 1 + r.IntN(skinnyLimit)
				}
			}
			s := newTestSpec(t, m, []string{LayoutNN, LayoutNT}[i/2%2], d, 1+r.IntN(3))
			if p, ok := sampleForm(t, s, form, r); ok {
				check(t, s, p)
			}
		})
	}
}

func TestRandomPoints(t *testing.T) {
	randomPoints(t, 4, 1)
}

// These combinations of choices are rare among random points. Any two of instruction set, layout, tail and packing occur in each combination; in
// make stress any three.
func TestCorners(t *testing.T) {
	m := host(t)
	for i, isa := range isasOf(m) {
		for j, layout := range []string{LayoutNN, LayoutNT} {
			for k, tail := range []string{TailMasked, TailScalar, TailPadded} {
				pack := (i+j+k)%2 == 1
				if !nativetest.Stress {
					if pack {
						continue
					}
					pack = (i/2+k)%2 == 1
				}
				t.Run(fmt.Sprintf("isa=%s/layout=%s/tail=%s/pack=%v", isa, layout, tail, pack), func(t *testing.T) {
					t.Parallel()
					s := newTestSpec(t, m, layout, Dims{41, 83, 37}, 1)
					values := map[string]any{
						"form": "tiled", "isa": isa, "vec": vectorBytes(isa), "mr": 3, "nv": 2, "ku": 4, "kc": 32, "mc": 16, "nc": 64,
						"pack_x": pack, "tail": tail, "fixed": !pack, "inner": map[bool]string{false: "columns", true: "rows"}[pack],
					}
					if layout == LayoutNT {
						values["swap"] = pack
					} else {
						values["pack_y"] = pack
					}
					if !pack {
						values["next_y"] = true
					}
					p, err := s.Space().Make(values)
					if err != nil {
						t.Fatal(err)
					}
					nativetest.Right(t, s, p, 7, nativetest.Quick)
				})
			}
		}
	}
}

// The presets are right for the shapes of the requirements and for the smallest shape.
func TestShapes(t *testing.T) {
	m := host(t)
	for i, d := range []Dims{{1, 1, 1}, {1000, 3, 1000}, {37, 4099, 53}, {1, 300, 1}} {
		for j, layout := range []string{LayoutNN, LayoutNT} {
			if i%2 != j && !nativetest.Stress {
				continue // the layouts take turns
			}
			t.Run(fmt.Sprintf("layout=%s/M=%d/N=%d/K=%d", layout, d.M, d.N, d.K), func(t *testing.T) {
				t.Parallel()
				s := newTestSpec(t, m, layout, d, 2)
				presets := s.Presets()
				nativetest.Right(t, s, presets[0].Point, 7, nativetest.Quick)
				for _, preset := range presets { // those of the best instruction set
					if isas := isasOf(m); strings.HasSuffix(preset.Name, "-"+isas[len(isas)-1]) {
						nativetest.Right(t, s, preset.Point, 7, nativetest.Quick)
					}
				}
			})
		}
	}
}

// TestWrongCode: the check finds mistakes in the generated code.
func TestWrongCode(t *testing.T) {
	tiled := map[string]any{"form": "tiled", "isa": "generic", "vec": 16, "mr": 2, "nv": 1, "ku": 2, "kc": 128, "pack_x": true, "tail": "masked"}
	skinny := map[string]any{"form": "skinny", "isa": "generic", "vec": 16, "mr": 2, "nr": 2, "workers": 2, "chunk": 4, "dynamic": true}
	naive := map[string]any{"form": "naive", "loops": "ikj"}
	right := map[string]bool{} // points whose code has been checked as it is
	for _, m := range []struct {
		what, layout string
		values       map[string]any
		old, new     string
	}{
		{"an element of A is taken from another row", LayoutNN, naive, "a[i * k + p]", "a[(i ^ 1) % m * k + p]"},
		{"the last product is left out", LayoutNN, naive, "p < k", "p < k - 1"},
		{"C is not cleared", LayoutNN, naive, "c[i] = 0", "(void)0"},
		{"the rest of K after unrolling is left out", LayoutNN, tiled, "for (; k > 0; k--)", "for (; 0;)"},
		{"a second block along K replaces the first", LayoutNN, tiled, "ldc, p > 0)", "ldc, 0)"},
		{"the last block along K is taken for a full one", LayoutNN, tiled, "pb = least(128, k - p)", "pb = least(128, k)"},
		{"the rows that fill no tile are left out", LayoutNN, tiled, "for (; i < m; i++)", "for (; 0;)"},
		{"one product too many under a mask", LayoutNN, tiled, "store_part(c + 0 * ldc + 0, c0_0, width)", "store_part(c + 0 * ldc + 0, c0_0, width - 1)"},
		{"the last chunk of columns goes to nobody", LayoutNT, skinny, "(j.n + c.share - 1) / c.share", "j.n / c.share"},
		{"a chunk of columns goes to two", LayoutNT, skinny, "from = number * c->share", "from = number / 2 * 2 * c->share"},
	} {
		t.Run(m.what, func(t *testing.T) {
			s := newTestSpec(t, host(t), m.layout, Dims{5, 70, 128}, 2)
			p, err := s.Space().Make(m.values)
			if err != nil {
				t.Fatal(err)
			}
			src, err := s.Generate(p)
			if err != nil {
				t.Fatal(err)
			}
			src = nativetest.Quick(src)
			problem := nativetest.Problem(t, s)
			if !right[p.Key()] {
				if err := problem.Wrap(src, p).Check(t.Context(), 3); err != nil {
					t.Fatalf("the code as it is: %v", err)
				}
				right[p.Key()] = true
			}
			if !strings.Contains(src.Text, m.old) {
				t.Fatalf("the code has no %q:\n%s", m.old, src.Text)
			}
			src.Text = strings.ReplaceAll(src.Text, m.old, m.new)
			err = problem.Wrap(src, p).Check(t.Context(), 3)
			if r := kernels.AsRejection(err); r == nil || r.Status != space.WrongAnswer && r.Status != space.Crashed {
				t.Errorf("%v, want a wrong answer", err)
			}
		})
	}
}

// A machine with fewer instruction sets has a smaller space, and no point of it needs an instruction set that is missing.
func TestSpaceShrinks(t *testing.T) {
	small := native.Machine{ISAs: []string{"generic"}, Compilers: []string{"cc"}}
	for _, layout := range []string{LayoutNN, LayoutNT} {
		for _, d := range []Dims{{256, 256, 256}, {4, 4096, 4096}, {1, 1, 1}} {
			for _, m := range []native.Machine{wide, small, {ISAs: []string{"generic", "avx2"}, Compilers: []string{"gcc"}}} {
				s := newTestSpec(t, m, layout, d, 2)
				if name := s.Presets()[0].Name; name != "baseline" {
					t.Errorf("the first preset is %s", name)
				}
				r := rand.New(rand.NewPCG(3, 4))
				for range 300 {
					p, err := s.Space().Sample(r)
					if err != nil {
						t.Fatal(err)
					}
					c := configOf(p, layout)
					if c.ISA != cgen.Native && !slices.Contains(isasOf(m), c.ISA) || !slices.Contains(m.Compilers, c.Compiler) {
						t.Fatalf("%s: the machine has only %v and %v", p, m.ISAs, m.Compilers)
					}
					registers := 16
					if c.ISA == cgen.AVX512 {
						registers = 32
					}
					if c.Form == FormTiled && c.MR*c.NV+c.NV+1 > registers {
						t.Fatalf("%s: the tile needs more than %d registers", p, registers)
					}
				}
			}
		}
	}
}

func TestNewSpecFaults(t *testing.T) {
	for _, test := range []struct {
		layout  string
		d       Dims
		threads int
		m       native.Machine
		want    string
	}{
		{"tn", Dims{1, 1, 1}, 1, wide, "layout"},
		{LayoutNN, Dims{0, 1, 1}, 1, wide, "at least 1"},
		{LayoutNN, Dims{1, 1, 1}, 0, wide, "at least 1"},
		{LayoutNN, Dims{1 << 20, 1 << 20, 1}, 1, wide, "more than"},
		{LayoutNN, Dims{1, 1, 1}, 1, native.Machine{}, "no C compiler"},
	} {
		if _, err := NewSpec(test.m, test.layout, test.d, test.threads); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s %v %d: %v, want something about %q", test.layout, test.d, test.threads, err, test.want)
		}
	}
}
