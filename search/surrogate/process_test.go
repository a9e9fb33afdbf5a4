package surrogate

import (
	"math"
	"testing"
)

// TestMatern: the table is near the definition, and has no step at its ends.
func TestMatern(t *testing.T) {
	fillMatern()
	if v := matern(0); v != 1 {
		t.Errorf("at 0 it is %v", v)
	}
	for e := -20.0; e < 12; e += 0.001 {
		squared := math.Exp2(e)
		r := math.Sqrt(5 * squared)
		if got, want := matern(squared), (1+r+r*r/3)*math.Exp(-r); math.Abs(got-want) > 3e-6 {
			t.Fatalf("at %v it is %v, not %v", squared, got, want)
		}
		if got, want := maternSlope(squared), -5.0/6*(1+r)*math.Exp(-r); math.Abs(got-want) > 1e-3 {
			t.Fatalf("its slope at %v is %v, not %v", squared, got, want)
		}
	}
}
