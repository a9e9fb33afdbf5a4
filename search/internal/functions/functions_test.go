package functions_test

import (
	"math/rand/v2"
	"testing"

	"tune/search/internal/functions"
)

// Every function has its minimum where the table says, and nothing below it among its neighbours and at random.
func TestMinima(t *testing.T) {
	for _, f := range functions.Table() {
		t.Run(f.Name, func(t *testing.T) {
			at, err := f.Space.Parse(f.At)
			if err != nil {
				t.Fatal(err)
			}
			if got := f.Cost(at); got != f.Minimum {
				t.Errorf("the cost at %s is %v, not %v", f.At, got, f.Minimum)
			}
			for i, parameter := range f.Space.Parameters() {
				for ordinal := range parameter.Len() {
					ordinals := at.Ordinals()
					ordinals[i] = ordinal
					p, err := f.Space.FromOrdinals(ordinals)
					if err != nil {
						t.Fatal(err)
					}
					if got := f.Cost(p); got < f.Minimum {
						t.Fatalf("the cost at %s is %v, below the minimum of %v", p, got, f.Minimum)
					}
				}
			}
			rng := rand.New(rand.NewPCG(1, 1))
			for range 2000 {
				p, err := f.Space.Sample(rng)
				if err != nil {
					t.Fatal(err)
				}
				if got := f.Cost(p); got < f.Minimum {
					t.Fatalf("the cost at %s is %v, below the minimum of %v", p, got, f.Minimum)
				}
			}
		})
	}
}
