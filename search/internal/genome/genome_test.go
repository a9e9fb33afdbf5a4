package genome

import (
	"math/rand/v2"
	"testing"
)

// eaopt draws from the strategy's own generator, and not from a global one.
func TestOldSource(t *testing.T) {
	pcg := rand.NewPCG(1, 2)
	source := oldSource{pcg}
	source.Seed(99)
	twin := rand.NewPCG(1, 2)
	for range 10 {
		if got, want := source.Int63(), int64(twin.Uint64()>>1); got != want || got < 0 {
			t.Fatalf("it draws %d, not %d", got, want)
		}
	}
}
