//go:build stress

package attention

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

func TestStressRandomPoints(t *testing.T) {
	for seed := range uint64(20) {
		checkRandom(t, 100+seed, 30)
	}
}

// TestStressRandomTiles checks random points for matrix tiles at random shapes.
func TestStressRandomTiles(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	for i := range 60 {
		kvHeads, group := 1+rng.IntN(2), []int{1, 2, 3, 4, 7}[rng.IntN(5)]
		queries := []int{1 + rng.IntN(5), 1 + rng.IntN(100)}[i%2]
		checkTiles(t, fmt.Sprintf("queries=%d,context=%d,heads=%d,kv_heads=%d,head=%d,causal=%s,threads=%d", queries, queries+rng.IntN(150), kvHeads*group, kvHeads,
			[]int{16, 64, 80, 96, 112, 128, 256}[rng.IntN(7)], []string{"yes", "no"}[rng.IntN(2)], 1+i%3), rng)
	}
}
