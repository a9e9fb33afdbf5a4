//go:build stress

package attention

import "testing"

func TestStressRandomPoints(t *testing.T) {
	for seed := range uint64(20) {
		checkRandom(t, 100+seed, 30)
	}
}

func TestStressRandomTiles(t *testing.T) { randomTiles(t, 7, 60) }
