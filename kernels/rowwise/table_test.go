package rowwise

import (
	"math"
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
