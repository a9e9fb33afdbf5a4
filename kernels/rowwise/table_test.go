package rowwise

import (
	"math"
	"strconv"
	"strings"
	"testing"
)

// TestTables: evaluated in floats, as the code does it, the tables are within three quarters of the tolerance.
func TestTables(t *testing.T) {
	for _, exact := range []bool{true, false} {
		for i, op := range []string{"silu", "silu", "gelu", "gelu", "gelu-erf", "gelu-erf"} {
			tab := tableOf(op, tableLanes*(1+i%2), exact)
			f := &reference{Spec: &Spec{op: operation{name: op}, fast: !exact}}
			steps, worst, at := float32(1/tab.step()), 0.0, 0.0
			for i := -200_000; i <= 200_000; i++ {
				x := float32(i) / 10_000
				a := min(float32(math.Abs(float64(x))), float32(tab.bound))
				n := float32(math.RoundToEven(float64(a * steps)))
				r, p := float32(math.FMA(float64(a), float64(steps), -float64(n))), float32(0)
				for power := len(tab.coefficients) - 1; power >= 0; power-- {
					p = float32(math.FMA(float64(p), float64(r), float64(float32(tab.coefficients[power][int(n)]))))
				}
				if -float64(x) >= tab.bound && p != 0 {
					t.Fatalf("%s, %d segments, exact %v: the factor of %v is %v, want exactly 0", op, tab.segments, exact, x, p)
				}
				w := f.activated(float64(x))
				if off := math.Abs(float64(float32(math.FMA(-float64(a), float64(p), float64(max(x, 0)))))-w.value) / (w.tolerance + least); off > worst {
					worst, at = off, float64(x)
				}
			}
			t.Logf("%s, %d segments, exact %v: %.2f of the tolerance at %v", op, tab.segments, exact, worst, at)
			if worst > 0.75 {
				t.Errorf("%s, %d segments, exact %v: %.2f of the tolerance at %v", op, tab.segments, exact, worst, at)
			}
		}
	}
}

// TestPowers: evaluated in floats, the exponentials by a table are well within the tolerance of softmax.
func TestPowers(t *testing.T) {
	for _, exact := range []bool{true, false} {
		tab, worst := tableOf("softmax", tableLanes, exact), 0.0
		for i := range 800_000 {
			x := float32(i) / -10_000
			s := x * 0x1.715476p+0
			n := float32(math.RoundToEven(float64(s)*tableLanes) / tableLanes)
			r, p := s-n, float32(0)
			segment := int(n*tableLanes) & (tableLanes - 1)
			for power := len(tab.coefficients) - 1; power >= 0; power-- {
				p = float32(math.FMA(float64(p), float64(r), float64(float32(tab.coefficients[power][segment]))))
			}
			got, want := math.Ldexp(float64(p), int(math.Floor(float64(n)))), math.Exp(float64(x))
			worst = max(worst, math.Abs(got-want)/want)
		}
		t.Logf("exact %v: %g", exact, worst)
		if limit := map[bool]float64{true: toleranceSoftmax / 2, false: toleranceFast / 4}[exact]; worst > limit {
			t.Errorf("exact %v: a relative error of %g, want at most %g", exact, worst, limit)
		}
	}
}

// TestErf: evaluated in floats, the form of gelu-erf that takes an exponential is within three quarters of the tolerance at every
// degree of its space, and the degree below the least of them is not.
func TestErf(t *testing.T) {
	for _, c := range []struct {
		shape  string
		terms  erfTerms
		beyond int // a degree that the space leaves out
	}{{"op=gelu-erf,rows=1,cols=16", erfExact, 4}, {"op=gelu-erf,rows=1,cols=16,accuracy=fast", erfFast, 0}} {
		k := here(t, c.shape)
		degrees := []int{}
		if p, ok := k.Space().Parameter("degree"); ok {
			for i := range p.Len() {
				degree, _ := p.At(i).Number()
				degrees = append(degrees, int(degree))
			}
		}
		if len(degrees) == 0 {
			t.Fatalf("%s: no degree in the space", c.shape)
		}
		for _, degree := range degrees {
			if off, at := erfError(k, c.terms, degree); off > 0.75 {
				t.Errorf("%s, degree %d: %.2f of the tolerance at %v", c.shape, degree, off, at)
			}
		}
		if off, _ := erfError(k, c.terms, c.beyond); c.beyond > 0 && off < 0.75 {
			t.Errorf("%s: degree %d takes %.2f of the tolerance, so it may come into the space", c.shape, c.beyond, off)
		}
	}
}

// erfError returns the largest error of the exponential form, in tolerances, and where it is. The power of two comes off downwards, as
// with scale=reduce, or to the nearest, as with the others.
func erfError(k *Spec, terms erfTerms, degree int) (worst, at float64) {
	f := &reference{Spec: k}
	for i := -130_000; i <= 130_000; i += 3 {
		x := float32(i) / 10_000
		if i%2 != 0 {
			x /= 1000 // small arguments, whose tolerance is the tightest for the factor
		}
		a := min(float32(math.Abs(float64(x))), 13)
		d := float32(math.FMA(parse(terms.scale), float64(a), 1))
		p, argument := horner(terms.terms, 1/d)/d, -0.5*a*a
		down := argument * 0x1.715476p+0
		n := float32(math.Floor(float64(down)))
		near := float32(math.RoundToEven(float64(argument) * math.Log2E))
		for _, e := range []float64{
			math.Ldexp(float64(horner(binaries[degree], down-n)), int(n)),
			math.Ldexp(float64(horner(exponentials[degree], float32(math.FMA(float64(near), -math.Ln2, float64(argument))))), int(near)),
		} {
			w := f.activated(float64(x))
			got := float32(math.FMA(-float64(a), float64(p*float32(e)), float64(max(x, 0))))
			if off := math.Abs(float64(got)-w.value) / (w.tolerance + least); off > worst {
				worst, at = off, float64(x)
			}
		}
	}
	return worst, at
}

// horner evaluates a polynomial, the highest power first, in floats.
func horner(terms []string, x float32) float32 {
	p := float32(0)
	for _, c := range terms {
		p = float32(math.FMA(float64(p), float64(x), parse(c)))
	}
	return p
}

// parse reads a constant of C.
func parse(text string) float64 {
	f, err := strconv.ParseFloat(strings.TrimSuffix(text, "f"), 32)
	if err != nil {
		panic(err)
	}
	return f
}
