package attention

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
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
var fullMachine = native.Machine{Arch: "amd64", Compilers: []string{"gcc", "clang"}, ISAs: []string{"generic", "avx2", "f16c", "avx512"}, Cache: 32 << 20}

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
	for i, shape := range []string{
		"context=150,heads=8,kv_heads=2,head=64",
		"queries=37,context=61,heads=6,kv_heads=2,head=40,kv=bf16,threads=2",
		"queries=5,context=3,heads=2,kv_heads=2,head=16,kv=f32,causal=no,accuracy=fast",
	} {
		t.Run(shape, func(t *testing.T) {
			nativetest.Run(t, here(t, shape), nativetest.Options{Points: []int{2, 1, 1}[i], Quick: i > 0})
		})
	}
}

// checkRandom checks random points of random shapes.
func checkRandom(t *testing.T, seed uint64, count int) {
	rng := rand.New(rand.NewPCG(seed, 0))
	for i := range count {
		kvHeads, group := 1+rng.IntN(3), []int{1, 1, 2, 3, 4, 7}[rng.IntN(6)]
		queries := []int{1, 1 + rng.IntN(5), 1 + rng.IntN(150)}[i%3]
		shape := fmt.Sprintf("queries=%d,context=%d,heads=%d,kv_heads=%d,head=%d,causal=%s,kv=%s,accuracy=%s,threads=%d",
			queries, queries+rng.IntN(200), kvHeads*group, kvHeads, []int{8, 40, 64, 72, 80, 96, 128, 256}[rng.IntN(8)],
			[]string{"yes", "no"}[rng.IntN(2)], []string{kvF32, kvF16, kvBF16}[rng.IntN(3)],
			[]string{accuracyExact, accuracyFast}[rng.IntN(2)], 1+2*(i%2))
		if i%4 == 1 {
			head, options, _ := strings.Cut(shape, ",kv=")
			_, threads, _ := strings.Cut(options, ",threads=")
			shape = tileShape(head) + ",threads=" + threads
		}
		a := here(t, shape)
		p, err := a.Space().Sample(rng)
		for ; err == nil && p.Str("form") == formPlain; p, err = a.Space().Sample(rng) {
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Run(shape, func(t *testing.T) { nativetest.Right(t, a, p, rng.Uint64()) })
	}
}

func TestRandomPoints(t *testing.T) { checkRandom(t, 1, 6) }

// TestForms: each way to lay out keys and values, to pack them, and to divide the work gives the right result in tiles that do not
// divide the shape.
func TestForms(t *testing.T) {
	a := here(t, "queries=45,context=77,heads=6,kv_heads=2,head=64,threads=3")
	base := map[string]any{"form": formOnline, "isa": a.widest().Name, "lanes": 8, "key_tile": 32, "query_tile": 16, "rows": 3, "columns": 3, "unroll": 2}
	if a.widest().Lanes() < 8 {
		base["lanes"] = a.widest().Lanes()
	}
	for _, more := range []map[string]any{
		{"keys": layoutRows, "dots": 3, "values": layoutPanels, "packing": packHead, "together": 1, "workers": 2, "split": splitHeads},
		{"keys": layoutPanels, "vectors": 2, "values": layoutPanels, "packing": packHead, "form": formNaive},
		{"keys": layoutPanels, "vectors": 1, "values": layoutRows, "workers": 3, "split": splitQueries, "hand_out": "dynamic"},
		{"keys": layoutRows, "dots": 4, "values": layoutRows, "workers": 2, "split": splitContext, "parts": 4, "prefetch": 8},
		{"keys": layoutRows, "dots": 2, "values": layoutRows, "workers": 2, "split": splitContext, "parts": 3, "form": formNaive},
	} {
		values := maps.Clone(base)
		maps.Copy(values, more)
		p, err := a.Space().Make(values)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(p.Key(), func(t *testing.T) { nativetest.Right(t, a, p, 5, nativetest.Quick) })
	}
}

// widest is the best instruction set of the machine.
func (a *Spec) widest() cgen.ISA {
	sets := instructionSets(a.machine, a.kv)
	return sets[len(sets)-1]
}

// TestInstructionSets: the code for each instruction set compiles here, and is right where this machine has the instructions.
func TestInstructionSets(t *testing.T) {
	m := nativetest.Here(t)
	if m.Arch != fullMachine.Arch {
		t.Skip("the instruction sets are those of amd64")
	}
	has := m.ISAs
	m.ISAs = fullMachine.ISAs
	for _, c := range []struct{ kv, isa, keys string }{
		{kvF16, cgen.Generic, layoutPanels}, {kvF16, cgen.AVX2, layoutRows}, {kvF16, cgen.F16C, layoutPanels}, {kvF16, cgen.AVX512, layoutRows},
		{kvBF16, cgen.Generic, layoutRows}, {kvBF16, cgen.AVX512, layoutPanels},
	} {
		a := specOn(t, m, "queries=9,context=50,heads=4,kv_heads=2,head=64,kv="+c.kv)
		p, err := a.Space().Make(map[string]any{"form": formOnline, "opt": "O2", "isa": c.isa, "lanes": cgen.Lookup(c.isa).Lanes(), "keys": c.keys, "rows": 2})
		if err != nil {
			t.Fatal(err)
		}
		built, err := nativetest.Problem(t, a).Build(t.Context(), p)
		if err == nil && (c.isa == cgen.Generic || slices.Contains(has, c.isa)) {
			err = built.Check(t.Context(), 4)
		}
		if err != nil {
			t.Errorf("%s: %v", p, err)
		}
	}
}

// halves is the family on one key in each head, whose values are all numbers of half precision: so they are the result.
type halves struct{ *Spec }

func (halves) CaseClass(space.Point) string { return "halves" }

func (h halves) Cases(context.Context, space.Point, uint64) ([]native.Case, error) {
	heads := 1 << 16 / h.head
	c := native.Case{
		Name: "halves", Dims: []int64{1, 1, int64(heads), int64(heads), int64(h.head)}, Buffers: h.buffers(size{1, 1, heads, heads}),
		Inputs: [][]byte{make([]byte, 4<<16), make([]byte, 2<<16), make([]byte, 2<<16), nil},
	}
	for bits := range 1 << 16 {
		binary.NativeEndian.PutUint16(c.Inputs[2][2*bits:], uint16(bits))
	}
	c.Verify = func(buffers [][]byte) (kernels.Deviation, error) {
		for bits, got := range native.AsFloats(buffers[3]) {
			want := blocks.FromF16(uint16(bits))
			nan := got != got && want != want
			if !nan && got != want && !(math.Abs(float64(got-want)) <= 1e-6*math.Abs(float64(want))) {
				return kernels.Deviation{}, kernels.Reject(space.WrongAnswer, "%#04x becomes %v, want %v", bits, got, want)
			}
		}
		return kernels.Deviation{}, nil
	}
	return []native.Case{c}, nil
}

// TestHalves: each way to widen half precision gives every number, infinities and NaN too.
func TestHalves(t *testing.T) {
	m := nativetest.Here(t)
	a := specOn(t, m, "queries=1,context=1,heads=1,kv_heads=1,head=64,kv=f16")
	points := []map[string]any{{"form": formPlain}}
	for _, isa := range instructionSets(m, kvF16) {
		points = append(points, map[string]any{"form": formOnline, "isa": isa.Name, "lanes": isa.Lanes(), "values": layoutPanels, "opt": "O2"})
	}
	for _, values := range points {
		p, err := a.Space().Make(values)
		if err != nil {
			t.Fatal(err)
		}
		built, err := nativetest.Problem(t, halves{a}).Build(t.Context(), p)
		if err == nil {
			err = built.Check(t.Context(), 1)
		}
		if err != nil {
			t.Errorf("%s: %v", p, err)
		}
	}
}

// TestReference: the reference agrees with sums that are written down as the definition is, and that of coded keys with that of all
// keys.
func TestReference(t *testing.T) {
	for _, shape := range []string{
		"queries=6,context=40,heads=6,kv_heads=2,head=24,kv=f16",
		"queries=9,context=70,heads=2,kv_heads=2,head=8,kv=bf16,causal=no",
		"queries=70,context=70,heads=3,kv_heads=1,head=16,kv=f32",
		"queries=5,context=50,heads=2,kv_heads=1,head=16,kv=bf16,accuracy=bf16",
	} {
		a := specOn(t, fullMachine, shape)
		o, code := a.draw(a.size, coded, 3, 0)
		byKey, byCode := *o, *o
		var rows []int
		for row := range a.heads * a.queries {
			rows = append(rows, row)
		}
		if err := byKey.prepare(t.Context(), rows); err != nil {
			t.Fatal(err)
		}
		if err := byCode.prepareCoded(t.Context(), codes, code); err != nil {
			t.Fatal(err)
		}
		key, value := make([]float64, a.head), make([]float64, a.head)
		for row := range rows {
			h, i := row/a.queries, row%a.queries
			want, total := make([]float64, a.head), 0.0
			for j := range a.context {
				if a.causal && j > a.context-a.queries+i {
					break
				}
				at := (h/(a.heads/a.kvHeads)*a.context + j) * a.head
				o.k.widen(at, key)
				o.v.widen(at, value)
				score := 0.0
				for d := range key {
					q := o.q[row*a.head+d]
					if a.accuracy == accuracyBF16 {
						q = blocks.FromBF16(blocks.ToBF16(q))
					}
					score += float64(q) * key[d] / math.Sqrt(float64(a.head))
				}
				total += math.Exp(score)
				for d := range want {
					want[d] += math.Exp(score) * value[d]
				}
			}
			for d := range want {
				for name, got := range map[string]operands{"all keys": byKey, "codes": byCode} {
					if g := float64(got.want[row*a.head+d]); math.Abs(g-want[d]/total) > 1e-6 {
						t.Fatalf("%s: %s: row %d, %d: %v, want %v", shape, name, row, d, g, want[d]/total)
					}
					if tol := got.tolerance[row*a.head+d]; !(tol > 0 && tol <= float32(tolerances[a.accuracy])) {
						t.Fatalf("%s: %s: row %d, %d: the tolerance is %v", shape, name, row, d, tol)
					}
				}
			}
		}
	}
}

// TestLarge: where a shape is too large to compute every row from all of its keys, a second case still compares every row, and a
// wrong element anywhere is found. A real kernel passes both.
func TestLarge(t *testing.T) {
	a := here(t, "queries=384,context=512,heads=8,kv_heads=2,head=64")
	cases, err := a.askedOf(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if a.whole(a.size) || len(cases) != 2 {
		t.Fatalf("%d cases of the asked shape", len(cases))
	}
	nativetest.Right(t, a, a.Presets()[2].Point, 1)
	o, code := a.draw(a.size, coded, 1, 1)
	if err := o.prepareCoded(t.Context(), codes, code); err != nil {
		t.Fatal(err)
	}
	right := make([]float32, a.queries*a.heads*a.head)
	for row := range o.rows {
		h, i := row/a.queries, row%a.queries
		copy(right[(i*a.heads+h)*a.head:], o.want[row*a.head:(row+1)*a.head])
	}
	check := func(c native.Case, out []float32) error {
		_, err := c.Verify([][]byte{c.Inputs[0], c.Inputs[1], c.Inputs[2], native.AsBytes(out)})
		return err
	}
	if err := check(cases[1], right); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 30 {
		wrong := slices.Clone(right)
		wrong[rng.IntN(len(wrong))] += 2e-4
		if kernels.AsRejection(check(cases[1], wrong)) == nil {
			t.Fatal("a wrong element is not found")
		}
	}
	// Rows of the first case that are not compared are still mean values.
	garbage := slices.Clone(right)
	garbage[rng.IntN(len(garbage))] = 1.01
	if kernels.AsRejection(check(cases[0], garbage)) == nil {
		t.Error("an element beyond all values is not found")
	}
}

// TestWrongCode: mistakes in the code itself are found by the check.
func TestWrongCode(t *testing.T) {
	const shape = "queries=20,context=70,heads=4,kv_heads=2,head=32,threads=2"
	online := map[string]any{"form": formOnline, "isa": "generic", "key_tile": 32, "query_tile": 16, "keys": layoutRows, "dots": 2, "rows": 3}
	split := maps.Clone(online)
	maps.Copy(split, map[string]any{"workers": 2, "split": splitContext, "parts": 2})
	plain := map[string]any{"form": formPlain}
	for _, m := range []struct {
		values   map[string]any
		old, new string
	}{
		{plain, "c->context - c->queries + i + 1", "c->context - c->queries + i"},
		{plain, "w[j] = s * factor", "w[j] = s * factor * 1.001f"},
		{plain, "h / GROUP", "h % 2"},
		{online, "s->sum[r] *= less;", ""},
		{online, "c->context - c->queries + i + 1", "c->context - c->queries + i + 2"},
		{online, "(i * c->heads + h)", "(h * c->queries + i)"},
		{online, "(row + r) % TOGETHER;\n\t\tfloat *out", "(row + r + 1) % TOGETHER;\n\t\tfloat *out"},
		{online, "for (int64_t i = up; i < last; i++)", "for (int64_t i = up; i < 0; i++)"},
		{online, "0x1.8p23f)", "0x1.8p23f) * 1.0005f"},
		{split, "weights[p] = scale(parts[p].top[r] - top)", "weights[p] = 1"},
	} {
		a := here(t, shape)
		p, err := a.Space().Make(m.values)
		if err != nil {
			t.Fatal(err)
		}
		src, err := a.Generate(p)
		if err != nil {
			t.Fatal(err)
		}
		old := m.old
		if p.Str("form") == formPlain {
			old = strings.ReplaceAll(old, "c->", "")
			m.new = strings.ReplaceAll(m.new, "c->", "")
		}
		if !strings.Contains(src.Text, old) {
			t.Fatalf("the code has no %q", old)
		}
		src.Text = strings.ReplaceAll(src.Text, old, m.new)
		err = nativetest.Problem(t, a).Wrap(nativetest.Quick(src), p).Check(t.Context(), 3)
		if r := kernels.AsRejection(err); r == nil || r.Status != space.WrongAnswer {
			t.Errorf("%q for %q: %v, want a wrong answer", m.new, old, err)
		}
	}
}

// TestExponentials: each polynomial is as exact as it says, in single precision too.
func TestExponentials(t *testing.T) {
	for _, e := range exponentials {
		worst := 0.0
		for f := -0.5; f <= 0.5; f += 1e-4 {
			x := float32(f)
			y := float32(e.from[e.degree()])
			for i := e.degree() - 1; i >= 0; i-- {
				y = float32(float64(y)*float64(x) + float64(float32(e.from[i])))
			}
			worst = max(worst, math.Abs(float64(y)/math.Exp2(float64(x))-1))
		}
		if worst > e.err || worst < e.err/4 {
			t.Errorf("degree %d is off by %.3g, and says %.3g", e.degree(), worst, e.err)
		}
	}
	for accuracy, want := range map[string][]int{accuracyExact: {4, 5}, accuracyFast: {3, 4, 5}, accuracyBF16: {3, 4, 5}} {
		if got := specOn(t, fullMachine, "kv=bf16,accuracy="+accuracy).degrees(); !slices.Equal(got, want) {
			t.Errorf("%s: degrees %v, want %v", accuracy, got, want)
		}
	}
}

// TestInputs pins the inputs of a seed: they are the same everywhere.
func TestInputs(t *testing.T) {
	for shape, want := range map[string]string{
		"queries=3,context=20,heads=4,kv_heads=2,head=16":                 "ef1e10cc0937735c",
		"queries=2,context=9,heads=3,kv_heads=3,head=8,kv=f32,causal=no":  "b8c569743817e5ff",
		"queries=2,context=9,heads=3,kv_heads=3,head=8,kv=bf16,causal=no": "76e57f0ddbfac9d4",
	} {
		a := specOn(t, fullMachine, shape)
		cases, err := a.Cases(t.Context(), a.Presets()[1].Point, 42)
		if err != nil {
			t.Fatal(err)
		}
		h := sha256.New()
		for _, c := range cases {
			fmt.Fprint(h, c.Name)
			for i, in := range c.Inputs {
				// By value, so that the byte order of a machine does not count.
				size := c.Buffers[i].Elem.Size()
				for ; len(in) > 0; in = in[size:] {
					if size == 2 {
						fmt.Fprintf(h, " %04x", binary.NativeEndian.Uint16(in))
					} else {
						fmt.Fprintf(h, " %08x", binary.NativeEndian.Uint32(in))
					}
				}
			}
		}
		if got := fmt.Sprintf("%x", h.Sum(nil)[:8]); got != want {
			t.Errorf("%s: the inputs hash to %s, want %s", shape, got, want)
		}
	}
}

// TestSpaces: a space holds what the machine and the shape have room for, and always the choice of one thread.
func TestSpaces(t *testing.T) {
	small := native.Machine{Arch: "arm64", Compilers: []string{"cc"}, ISAs: []string{"generic"}, Cache: 1 << 20}
	for _, m := range []native.Machine{fullMachine, small, nativetest.Machines()["avx2"]} {
		for _, shape := range []string{"", "queries=512,context=512,kv=f32", "context=1,heads=1,kv_heads=1,head=8", "queries=7,context=9,heads=5,kv_heads=5,head=72,threads=4", "context=32768,heads=28,kv_heads=4,kv=bf16,threads=2"} {
			a := specOn(t, m, shape)
			for _, p := range a.Presets() {
				if _, err := a.Generate(p.Point); err != nil {
					t.Errorf("%s: %s: %v", shape, p.Name, err)
				}
			}
			has := func(name string, v space.Value) bool {
				p, ok := a.Space().Parameter(name)
				if !ok {
					return false
				}
				_, ok = p.Ordinal(v)
				return ok
			}
			if a.threads > 1 && !has("workers", space.IntValue(1)) {
				t.Errorf("%s: no point is serial", shape)
			}
			if has("isa", space.StringValue(cgen.AVX512)) != slices.Contains(m.ISAs, cgen.AVX512) {
				t.Errorf("%s: wrong choice of instruction sets", shape)
			}
			if has("isa", space.StringValue(cgen.F16C)) != (a.kv == kvF16 && slices.Contains(m.ISAs, cgen.F16C)) {
				t.Errorf("%s: f16c is for keys and values of half precision alone", shape)
			}
			if has("lanes", space.IntValue(16)) != (slices.Contains(m.ISAs, cgen.AVX512) && a.head%16 == 0) {
				t.Errorf("%s: vectors of 16 do not fit head=%d", shape, a.head)
			}
			if _, ok := a.Space().Parameter("together"); ok != (a.group() > 1) {
				t.Errorf("%s: heads are tiled together: %v", shape, ok)
			}
		}
	}
}

func TestShapes(t *testing.T) {
	for shape, want := range map[string]string{
		"heads=10,kv_heads=4":                         "heads=10 is not a multiple of kv_heads=4",
		"heads=4,kv_heads=8":                          "heads=4 is not a multiple of kv_heads=8",
		"head=100":                                    "head=100 is not a multiple of 8: want one, such as 96 or 104",
		"queries=9,context=8":                         "queries=9 is more than context=8: with causal=yes",
		"queries=9,context=8,causal=no":               "",
		"queries=4096,heads=1024,head=512,kv_heads=1": "a buffer may have at most",
		"context=1048576,kv_heads=32":                 "a buffer may have at most",
		"accuracy=bf16":                               "kv=f16 are not bfloat16: say kv=bf16, or accuracy=fast",
		"accuracy=bf16,kv=bf16":                       "",
		"kv=f61":                                      `did you mean "f16"`,
		"head=4":                                      "range",
	} {
		s, err := kernels.ParseShape(Fields(), shape)
		if err == nil {
			_, err = NewSpec(s, fullMachine)
		}
		if want == "" {
			if err != nil {
				t.Errorf("%s: %v", shape, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error with %q", shape, err, want)
		}
	}
}

// TestWork: masked pairs do not count as work, and the operands are cold where they exceed the cache.
func TestWork(t *testing.T) {
	for shape, want := range map[string]native.Work{
		"queries=4,context=6,heads=4,kv_heads=2,head=8":                  {Ops: 4 * (3 + 4 + 5 + 6) * 8 * 4, Bytes: 4*4*4*8*2 + 2*2*6*2*8},
		"queries=4,context=6,heads=4,kv_heads=2,head=8,causal=no,kv=f32": {Ops: 4 * 4 * 6 * 8 * 4, Bytes: 4*4*4*8*2 + 2*4*6*2*8},
		"queries=1,context=6,heads=4,kv_heads=4,head=8,cache=cold":       {Ops: 4 * 6 * 8 * 4, Bytes: 4*4*8*2 + 2*2*6*4*8, Cold: true},
		"queries=1,context=32768,heads=8,kv_heads=8,head=128,kv=bf16":    {Ops: 4 * 32768 * 128 * 8, Bytes: 4*8*128*2 + 2*2*32768*8*128, Cold: true},
	} {
		w := specOn(t, fullMachine, shape).Work()
		if w.Ops != want.Ops || w.Bytes != want.Bytes || w.Cold != want.Cold || w.OpsName != "GFLOP/s" || w.MinSeconds <= 0 {
			t.Errorf("%s: %+v, want %+v", shape, w, want)
		}
	}
}

func TestKernel(t *testing.T) {
	s, err := kernels.ParseShape(Kernel{}.Info().Shape, "context=40,heads=2,kv_heads=1,head=16")
	if err != nil {
		t.Fatal(err)
	}
	p, err := Kernel{Host: nativetest.Host()}.Problem(s)
	if err != nil {
		t.Skip(err)
	}
	e := &kernels.Evaluator{Problem: p, CheckSeed: 1}
	out, err := e.Evaluate(t.Context(), space.Trial{Proposal: space.Proposal{Point: p.Presets()[1].Point}})
	if err != nil || out.Status != space.OK || out.Cost <= 0 {
		t.Errorf("%+v, %v", out, err)
	}
}
