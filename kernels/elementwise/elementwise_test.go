package elementwise

import (
	"context"
	"crypto/sha256"
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
	for i, shape := range []string{"op=relu,n=5000", "op=sqdiff,n=1999,arrays=3,threads=4", "op=distance,n=777,arrays=11,threads=4"} {
		t.Run(shape, func(t *testing.T) {
			nativetest.Run(t, here(t, shape), nativetest.Options{Points: []int{2, 1, 1}[i], Quick: i > 0})
		})
	}
}

// checkRandom checks random points of random shapes.
func checkRandom(t *testing.T, seed uint64, count int) {
	rng := rand.New(rand.NewPCG(seed, 0))
	for i := range count {
		op := operations[(i+int(seed))%len(operations)].name
		n := 1 + rng.IntN([]int{20, 300, 5000, 200_000}[rng.IntN(4)])
		arrays := 1 + rng.IntN(2)*rng.IntN(20)
		shape := fmt.Sprintf("op=%s,n=%d,arrays=%d,threads=%d", op, n, arrays, 1+3*(i%2))
		k := here(t, shape)
		p, err := k.Space().Sample(rng)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(shape, func(t *testing.T) { nativetest.Right(t, k, p, rng.Uint64()) })
	}
}

func TestRandomPoints(t *testing.T) { checkRandom(t, 1, 12) }

// TestReference pins the definitions that are not obvious.
func TestReference(t *testing.T) {
	inf, zero := float32(math.Inf(1)), float32(0)
	negative := float32(math.Copysign(0, -1))
	for _, c := range []struct {
		op         string
		a, b, want float32
	}{
		{"relu", -1, 0, 0}, {"relu", 2, 0, 2}, {"relu", float32(math.NaN()), 0, float32(math.NaN())}, {"relu", negative, 0, negative},
		{"relu", -inf, 0, 0}, {"relu", inf, 0, inf}, {"relu", -0x1p-149, 0, 0},
		{"mul", inf, 0, float32(math.NaN())}, {"mul", negative, 1, negative}, {"mul", 0x1p-100, 0x1p-49, 0x1p-149},
		{"add", inf, -inf, float32(math.NaN())}, {"add", negative, zero, 0}, {"add", 0x1p24, 1, 0x1p24},
		{"sqdiff", 3, 1, 4}, {"sqdiff", inf, 1, inf}, {"sqdiff", 1, 1, 0},
	} {
		k := specOn(t, fullMachine, "op="+c.op)
		if got := k.result(c.a, c.b); math.Float32bits(got) != math.Float32bits(c.want) && !(got != got && c.want != c.want) {
			t.Errorf("%s(%v, %v) = %v, want %v", c.op, c.a, c.b, got, c.want)
		}
	}
}

// rightOutput computes what a case wants, in double precision where it is a sum.
func rightOutput(k *Spec, c native.Case) []float32 {
	n, arrays := int(c.Dims[0]), int(c.Dims[1])
	a, b := native.AsFloats(c.Inputs[0]), native.AsFloats(c.Inputs[len(c.Inputs)-2])
	if !k.op.reduce {
		out := make([]float32, n*arrays)
		for i := range out {
			out[i] = k.result(a[i], b[i])
		}
		return out
	}
	out := make([]float32, arrays)
	for r := range out {
		sum := 0.0
		for i := r * n; i < (r+1)*n; i++ {
			if k.op.name == "dot" {
				sum += float64(a[i]) * float64(b[i])
			} else {
				d := float64(a[i]) - float64(b[i])
				sum += d * d
			}
		}
		if k.op.name == "distance" {
			sum = math.Sqrt(sum)
		}
		out[r] = float32(sum)
	}
	return out
}

// TestTolerance: the right results pass, the smallest difference beyond the tolerance does not, and none of the special
// values hides another.
func TestTolerance(t *testing.T) {
	for _, op := range operations {
		k := specOn(t, fullMachine, "op="+op.name+",n=1000,arrays=3")
		cases, err := k.Cases(t.Context(), k.Presets()[0].Point, 7)
		if err != nil {
			t.Fatal(err)
		}
		for number, c := range cases {
			verify := func(out []float32) error {
				buffers := slices.Clone(c.Inputs)
				buffers[len(buffers)-1] = native.AsBytes(out)
				_, err := c.Verify(buffers)
				return err
			}
			right := rightOutput(k, c)
			if err := verify(right); err != nil {
				t.Errorf("%s, case %d: the right results: %v", op.name, number, err)
			}
			n := int(c.Dims[0])
			for i, want := range right {
				if i > 40 && i < len(right)-40 {
					continue
				}
				for _, value := range wrongValues(k, c, i, n, want) {
					wrong := slices.Clone(right)
					wrong[i] = value
					r := kernels.AsRejection(verify(wrong))
					if r == nil || r.Status != space.WrongAnswer {
						t.Fatalf("%s, case %d: element %d is %v and not %v, and nobody minds", op.name, number, i, value, want)
					}
				}
			}
		}
	}
}

// wrongValues are values that a right one must not become.
func wrongValues(k *Spec, c native.Case, i, n int, want float32) []float32 {
	nan := float32(math.NaN())
	if want != want {
		return []float32{0, 1, float32(math.Inf(1))}
	}
	if !k.op.reduce {
		return []float32{math.Nextafter32(want, float32(math.Inf(-1))), math.Nextafter32(want, nan), -want, nan}[map[bool]int{true: 2, false: 0}[math.IsInf(float64(want), 0)]:]
	}
	if math.IsInf(float64(want), 0) {
		return []float32{-want, nan, 0}
	}
	a, b := native.AsFloats(c.Inputs[0])[i*n:(i+1)*n], native.AsFloats(c.Inputs[1])[i*n:(i+1)*n]
	sum, absolute := 0.0, 0.0
	for j := range a {
		x := float64(a[j]) * float64(b[j])
		if k.op.name == "distance" {
			x = (float64(a[j]) - float64(b[j])) * (float64(a[j]) - float64(b[j]))
		}
		sum, absolute = sum+x, absolute+math.Abs(x)
	}
	// A quarter more than the tolerance, and more than what rounding to a float could take off again.
	beyond := 1.25*4*math.Sqrt(float64(n))*0x1p-24*absolute + 0x1p-23*math.Abs(sum) + math.SmallestNonzeroFloat32
	if k.op.name == "distance" {
		return []float32{float32(math.Sqrt(sum + beyond)), float32(math.Sqrt(max(0, sum-beyond))) - map[bool]float32{true: 1, false: 0}[sum <= beyond], nan}
	}
	return []float32{float32(sum + beyond), float32(sum - beyond), nan}
}

// TestSumTolerance: a sum that is off by a little less than the tolerance passes.
func TestSumTolerance(t *testing.T) {
	k := specOn(t, fullMachine, "op=dot,n=1000")
	c := k.newCase(size{1000, 1}, uniform, 1, 1)
	a, b := native.AsFloats(c.Inputs[0]), native.AsFloats(c.Inputs[1])
	sum, absolute := 0.0, 0.0
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
		absolute += math.Abs(float64(a[i]) * float64(b[i]))
	}
	for share, ok := range map[float64]bool{0: true, 0.9: true, -0.9: true, 1.1: false, -1.1: false} {
		got := float32(sum + share*4*math.Sqrt(1000)*0x1p-24*absolute)
		d, err := c.Verify([][]byte{c.Inputs[0], c.Inputs[1], native.AsBytes([]float32{got})})
		if (err == nil) != ok {
			t.Errorf("off by %v of the tolerance: %v", share, err)
		}
		if tolerance := sumTolerance(1000, absolute); ok && (math.Abs(d.ErrorShare-math.Abs(share)) > 0.1 || math.Abs(d.MaxError-math.Abs(share)*tolerance) > 0.1*tolerance) {
			t.Errorf("off by %v of a tolerance of %v is reported as %+v", share, tolerance, d)
		}
	}
}

// TestLongSums: a long sum that is off by a few terms is within what rounding may do to random numbers; of whole numbers
// it is wrong. Sums of float32 in any order, with a root of either rounding, are right.
func TestLongSums(t *testing.T) {
	shapes := []string{"op=dot,n=1048576", "op=distance,n=1048576", "op=dot,n=20000000", "op=dot,n=3,arrays=1000", "op=distance,n=70000,arrays=3"}
	if nativetest.Stress {
		shapes = append(shapes, "op=distance,n=20000000")
	}
	for _, shape := range shapes {
		k := specOn(t, fullMachine, shape)
		cases, err := k.Cases(t.Context(), k.Presets()[0].Point, 7)
		if err != nil {
			t.Fatal(err)
		}
		c := cases[1]
		if !slices.Equal(c.Dims, cases[0].Dims) {
			t.Fatalf("%s: the second case is %s", shape, c.Name)
		}
		a, b := native.AsFloats(c.Inputs[0]), native.AsFloats(c.Inputs[1])
		right := make([]float32, k.arrays)
		for r := range right {
			var lanes [4]float32
			for i := range k.n {
				x, y := a[r*k.n+i], b[r*k.n+i]
				if k.op.name == "distance" {
					x, y = x-y, x-y
				}
				lanes[i*4/k.n] += x * y
			}
			right[r] = lanes[3] + (lanes[0] + lanes[2]) + lanes[1]
		}
		verify := func(out []float32) error {
			_, err := c.Verify([][]byte{c.Inputs[0], c.Inputs[1], native.AsBytes(out)})
			return err
		}
		last := len(right) - 1
		if k.op.name == "dot" {
			if err := verify(right); err != nil {
				t.Errorf("%s: %v", shape, err)
			}
			for _, off := range []float32{20, 1, -1} {
				wrong := slices.Clone(right)
				wrong[last] += off
				if kernels.AsRejection(verify(wrong)) == nil {
					t.Errorf("%s: %v more than %v, and nobody minds", shape, off, right[last])
				}
			}
			continue
		}
		root := func(off float32) []float32 {
			out := slices.Clone(right)
			out[last] += off
			for i := range out {
				out[i] = float32(math.Sqrt(float64(out[i])))
			}
			return out
		}
		for _, end := range []float32{0, float32(math.Inf(1))} {
			out := root(0)
			out[last] = math.Nextafter32(out[last], end)
			for _, out := range [][]float32{root(0), out} {
				if err := verify(out); err != nil {
					t.Errorf("%s: %v", shape, err)
				}
			}
		}
		for _, off := range []float32{20, 1, -1} {
			if kernels.AsRejection(verify(root(off))) == nil {
				t.Errorf("%s: the root of %v more than %v, and nobody minds", shape, off, right[last])
			}
		}
	}
}

// TestWrongCode: mistakes in the code itself are found by the check.
func TestWrongCode(t *testing.T) {
	for _, m := range []struct{ shape, old, new string }{
		{"op=relu,n=300", "a < 0 ? 0 : a", "a > 0 ? a : 0"}, // NaN becomes 0
		{"op=relu,n=300", "i < n", "i < n - 1"},
		{"op=sqdiff,n=300", "(a - b) * (a - b)", "a * a - 2 * a * b + b * b"},
		{"op=dot,n=300", "total += sum", "total += (float)(int)(sum * 65536) / 65536"},
		{"op=distance,n=300", "__builtin_sqrtf", ""},
		{"op=dot,n=300000", "total += sum", "total += n > 100000 ? sum + 5 : sum"},
		{"op=add,n=300,arrays=4", "k * n", "(k ^ 1) * n"}, // the order of the arrays
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
		err = problem.Wrap(src, base).Check(t.Context(), 3)
		if r := kernels.AsRejection(err); r == nil || r.Status != space.WrongAnswer && r.Status != space.Crashed {
			t.Errorf("%s with %q for %q: %v, want a wrong answer", m.shape, m.new, m.old, err)
		}
	}
}

// TestInputs pins the inputs of a seed: they are the same everywhere.
func TestInputs(t *testing.T) {
	for shape, want := range map[string]string{"op=mul,n=1000": "4b766dba106ff492", "op=distance,n=100,arrays=7": "4bb68352928f3214"} {
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

// TestSpaces: a space holds what the machine has, and always the choice of one thread.
func TestSpaces(t *testing.T) {
	small := native.Machine{Arch: "arm64", Compilers: []string{"cc"}, ISAs: []string{"generic"}, Cache: 1 << 20}
	for _, m := range []native.Machine{fullMachine, small} {
		for _, op := range operationNames() {
			for _, shape := range []string{"n=1", "n=100,threads=1", "n=1000000,threads=4", "n=5,arrays=1000,threads=2"} {
				k := specOn(t, m, "op="+op+","+shape)
				for _, p := range k.Presets() {
					if _, err := k.Generate(p.Point); err != nil {
						t.Errorf("%s,%s: %s: %v", op, shape, p.Name, err)
					}
				}
				if p, ok := k.Space().Parameter("workers"); ok {
					if _, ok := p.Ordinal(space.IntValue(1)); !ok {
						t.Errorf("%s,%s: no point is serial", op, shape)
					}
				}
				isa, _ := k.Space().Parameter("isa")
				if _, ok := isa.Ordinal(space.StringValue(cgen.AVX512)); ok != slices.Contains(m.ISAs, cgen.AVX512) {
					t.Errorf("%s: avx512 is in the space: %v", m.Arch, ok)
				}
			}
		}
	}
}

// TestParallelPreset: four workers, chunks of size / workers, the rest one more chunk, serial below 1,000 elements.
func TestParallelPreset(t *testing.T) {
	for shape, threads := range map[string]int{"op=mul,n=1000,threads=4": 4, "op=mul,n=999,threads=4": 1, "op=mul,n=10,arrays=100,threads=8": 4} {
		k := specOn(t, fullMachine, shape)
		i := slices.IndexFunc(k.Presets(), func(p kernels.Preset) bool { return p.Name == "parallel" })
		if i < 0 {
			t.Fatalf("%s: no preset parallel", shape)
		}
		p := k.Presets()[i].Point
		if p.Int("workers") != 4 || p.Int("threshold") != 1000 || p.Int("pieces") != 1 || p.Str("rest") != restChunk {
			t.Errorf("%s: the preset is %s", shape, p)
		}
		src, err := k.Generate(p)
		if err != nil {
			t.Fatal(err)
		}
		if src.Threads != threads {
			t.Errorf("%s: %d threads, want %d", shape, src.Threads, threads)
		}
		if !strings.Contains(src.Text, "if (n * arrays >= 1000)") || !strings.Contains(src.Text, "CHUNKS + (total % CHUNKS != 0)") {
			t.Errorf("%s: the code has no threshold, or no chunk of the rest:\n%s", shape, src.Text)
		}
	}
}

func TestShapes(t *testing.T) {
	for shape, want := range map[string]string{"n=268435456,arrays=2": "at most", "op=sum": "op=sum", "n=0": "range", "cache=hot": "cache"} {
		s, err := kernels.ParseShape(Fields(), shape)
		if err == nil {
			_, err = NewSpec(s, fullMachine)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error with %q", shape, err, want)
		}
	}
}

// TestWork: the operands are cold where they exceed the cache, or where the shape says so.
func TestWork(t *testing.T) {
	for shape, cold := range map[string]bool{"n=1000": false, "n=33554432": true, "n=1000,cache=cold": true, "n=33554432,cache=warm": false} {
		w := specOn(t, fullMachine, "op=mul,"+shape).Work()
		if w.Cold != cold || w.Bytes != 12*w.Ops || w.MinSeconds <= 0 {
			t.Errorf("%s: %+v", shape, w)
		}
	}
}

func TestKernel(t *testing.T) {
	s, err := kernels.ParseShape(Kernel{}.Info().Shape, "n=100")
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

// TestLinkage: a program may call the code at any size, so it says how many threads it has whatever the asked size takes, and the plain form
// is right on the cases of any point.
func TestLinkage(t *testing.T) {
	for _, op := range operationNames() {
		k := here(t, "op="+op+",n=100,arrays=3,threads=2")
		p, err := k.Space().Make(map[string]any{"workers": 2, "threshold": presetThreshold})
		if err != nil {
			t.Fatal(err)
		}
		alone, err := k.Generate(p)
		if err != nil {
			t.Fatal(err)
		}
		linked, err := k.Linked().Generate(p)
		if err != nil {
			t.Fatal(err)
		}
		if alone.Threads != 1 || linked.Threads != 2 || alone.Text != linked.Text {
			t.Errorf("%s: %d threads alone and %d linked, the same text: %v", op, alone.Threads, linked.Threads, alone.Text == linked.Text)
		}
		l := k.Linkage()
		if len(native.NeedsOf(l.Plain.Flags)) > 0 || l.About == "" {
			t.Errorf("%s: %+v", op, l)
		}
		if err := nativetest.Problem(t, k.Linked()).Wrap(l.Plain, p).Check(t.Context(), 3); err != nil {
			t.Errorf("%s: %v", op, err)
		}
	}
}
