package gemm

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tune/kernels"
	"tune/space"
)

// result returns the product in float32, as a correct kernel may compute it.
func result(t testing.TB, o *operands) []float32 {
	t.Helper()
	want := product(t, o)
	out := make([]float32, len(want))
	for i, v := range want {
		out[i] = float32(v)
	}
	return out
}

func product(t testing.TB, o *operands) []float64 {
	t.Helper()
	want, err := o.product(t.Context(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return want
}

// prepared has operands with their reference: either all elements, or samples and sums.
func prepared(t testing.TB, d Dims, nt bool, seed uint64, full bool) *operands {
	t.Helper()
	o := newOperands(d, nt, seed)
	o.full = full
	if err := o.prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestReference(t *testing.T) {
	for _, nt := range []bool{false, true} {
		for _, d := range []Dims{{1, 1, 1}, {3, 5, 7}, {70, 67, 300}} {
			o := newOperands(d, nt, 5)
			got := product(t, o)
			for i := range d.M {
				for j := range d.N {
					var want float64
					for p := range d.K {
						b := o.b[min(p*d.N+j, len(o.b)-1)]
						if nt {
							b = o.b[j*d.K+p]
						}
						want += float64(o.a[i*d.K+p]) * float64(b)
					}
					if math.Abs(got[i*d.N+j]-want) > 1e-10 {
						t.Fatalf("%v nt=%v: C[%d,%d] is %v, want %v", d, nt, i, j, got[i*d.N+j], want)
					}
				}
			}
		}
	}
}

func TestInputs(t *testing.T) {
	d := Dims{40, 50, 60}
	a, b := newOperands(d, false, 1), newOperands(d, false, 1)
	c := newOperands(d, false, 2)
	var sum float64
	for i, v := range a.a {
		if v != b.a[i] {
			t.Fatal("the same seed gave other inputs")
		}
		if v < -1 || v >= 1 {
			t.Fatalf("%v is not in [-1, 1)", v)
		}
		sum += float64(v)
	}
	if a.a[0] == c.a[0] && a.a[1] == c.a[1] {
		t.Error("two seeds gave the same inputs")
	}
	if mean := sum / float64(len(a.a)); math.Abs(mean) > 0.05 {
		t.Errorf("the mean is %v", mean)
	}
}

// Every mistake is found, both by comparing all elements and by samples and sums.
func TestVerify(t *testing.T) {
	d := Dims{90, 110, 130}
	for _, nt := range []bool{false, true} {
		for _, full := range []bool{true, false} {
			o := prepared(t, d, nt, 9, full)
			right := result(t, o)
			if _, err := o.verify(right); err != nil {
				t.Fatalf("nt=%v full=%v: %v", nt, full, err)
			}
			sampled := func(i, j int) bool {
				for _, r := range o.rows {
					if r == i {
						return true
					}
				}
				for _, c := range o.cols {
					if c == j {
						return true
					}
				}
				return false
			}
			i, j := 41, 57
			for sampled(i, j) { // take an element that only the sums can find
				i, j = i+1, j+1
			}
			for name, spoil := range map[string]func(c []float32){
				"nan":             func(c []float32) { c[i*d.N+j] = float32(math.NaN()) },
				"infinity":        func(c []float32) { c[i*d.N+j] = float32(math.Inf(1)) },
				"missing product": func(c []float32) { c[i*d.N+j] -= 0.3 },
				"zero tile":       func(c []float32) { clear(c[i*d.N+j : i*d.N+j+8]) },
				"not written":     func(c []float32) { clear(c) },
				"last element":    func(c []float32) { c[len(c)-1] += 0.01 },
				"swapped rows": func(c []float32) {
					for x := range d.N {
						c[i*d.N+x], c[(i+1)*d.N+x] = c[(i+1)*d.N+x], c[i*d.N+x]
					}
				},
				"wrong sign": func(c []float32) {
					for x := range c {
						c[x] = -c[x]
					}
				},
			} {
				c := append([]float32(nil), right...)
				spoil(c)
				_, err := o.verify(c)
				r := kernels.AsRejection(err)
				if r == nil || r.Status != space.WrongAnswer {
					t.Errorf("nt=%v full=%v: %s was not found", nt, full, name)
				} else if name == "nan" && !strings.Contains(r.Reason, "C[") {
					t.Errorf("nt=%v full=%v: %s: %q names no element", nt, full, name, r.Reason)
				}
			}
		}
	}
}

// multiply returns the product as a plain loop in float32 computes it, with its rounding errors.
func multiply(o *operands) []float32 {
	d := o.d
	c := make([]float32, d.M*d.N)
	for i := range d.M {
		for p := range d.K {
			x := o.a[i*d.K+p]
			row := c[i*d.N : (i+1)*d.N]
			if o.nt {
				for j := range row {
					row[j] += x * o.b[j*d.K+p]
				}
				continue
			}
			for j, y := range o.b[p*d.N : (p+1)*d.N] {
				row[j] += x * y
			}
		}
	}
	return c
}

// TestSingleElements: one element that is off by a little more than its tolerance is found anywhere, even outside of the sampled
// rows and columns and among the rounding errors of all others. The product of a plain loop passes.
func TestSingleElements(t *testing.T) {
	for _, test := range []struct {
		d  Dims
		nt bool
	}{{Dims{67, 259, 1024}, false}, {Dims{40, 150, 4096}, true}, {Dims{34, 80, 1 << 15}, true}} {
		o := prepared(t, test.d, test.nt, 4, false)
		right, want := multiply(o), product(t, o)
		c := slices.Clone(right)
		if _, err := o.verify(c); err != nil {
			t.Fatalf("%v: %v", test.d, err)
		}
		abs := absTolerance * math.Sqrt(float64(test.d.K))
		r := rand.New(rand.NewPCG(1, 2))
		for n := range 40 {
			at := r.IntN(len(c))
			tolerance := abs + relTolerance*math.Abs(want[at])
			off := []float64{1.1, -1.1, 2, -2}[n%4] * tolerance
			before := c[at]
			c[at] = float32(want[at] + off)
			if _, err := o.verify(c); kernels.AsRejection(err) == nil {
				t.Errorf("%v: element %d is off by %.3g tolerances: %v", test.d, at, off/tolerance, err)
			}
			c[at] = before
		}
		// Elements within the tolerance pass, whatever the sum of their errors.
		for i := range c {
			c[i] = float32(want[i] + 0.9*abs)
		}
		if _, err := o.verify(c); err != nil {
			t.Errorf("%v: 0.9 tolerances everywhere: %v", test.d, err)
		}
		// Two columns of a block are exchanged.
		copy(c, right)
		for i := range test.d.M {
			c[i*test.d.N+40], c[i*test.d.N+41] = c[i*test.d.N+41], c[i*test.d.N+40]
		}
		if _, err := o.verify(c); kernels.AsRejection(err) == nil {
			t.Errorf("%v: swapped columns: %v", test.d, err)
		}
	}
}

// An error of up to 1e-5·√K + 1e-4·|C| passes, a larger one does not, and both are reported as shares of this tolerance.
func TestTolerance(t *testing.T) {
	d := Dims{2, 2, 16}
	o := prepared(t, d, false, 3, true)
	right := result(t, o)
	limit := 1e-5*4 + 1e-4*math.Abs(product(t, o)[3])
	for _, test := range []struct {
		share float64
		ok    bool
	}{{0.9, true}, {1.1, false}} {
		c := append([]float32(nil), right...)
		c[3] += float32(test.share * limit)
		found, err := o.verify(c)
		if (err == nil) != test.ok {
			t.Errorf("an error of %v tolerances: %v", test.share, err)
		}
		if math.Abs(found.ErrorShare-test.share) > 0.01 || math.Abs(found.MaxError-test.share*limit) > 0.01*limit {
			t.Errorf("an error of %v tolerances of %v is reported as %+v", test.share, limit, found)
		}
	}
}

// BenchmarkPrepare computes the reference of a shape above fullLimit; BenchmarkVerify compares a result with it.
func BenchmarkPrepare(b *testing.B) {
	o := newOperands(Dims{2048, 2048, 2048}, false, 1)
	for b.Loop() {
		if err := o.prepare(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkVerify(b *testing.B) {
	o := prepared(b, Dims{2048, 2048, 512}, false, 1, false)
	c := result(b, o)
	for b.Loop() {
		if _, err := o.verify(c); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReference(b *testing.B) {
	o := newOperands(Dims{512, 512, 512}, false, 1)
	for b.Loop() {
		product(b, o)
	}
	b.ReportMetric(float64(b.N)*512*512*512/b.Elapsed().Seconds()/1e9, "Gmadd/s")
}
