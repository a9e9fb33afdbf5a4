package insight

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"tune/space"
)

// TestPacked: rows come back as they were, also those that fill more than a chunk.
func TestPacked(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var p packed
	var want []Row
	for n := range 3000 {
		r := Row{Number: rng.IntN(1 << rng.IntN(40)), Status: space.Status(rng.IntN(7)), Reduced: rng.IntN(2) == 0, Cost: math.Float64frombits(rng.Uint64() >> 2), Elapsed: rng.Float64()}
		size := rng.IntN(40)
		if n == 1500 {
			size = 2 * chunkBytes
		}
		r.Choices = make([]int32, size)
		for i := range r.Choices {
			r.Choices[i] = rng.Int32N(1<<rng.IntN(31)) - 1
		}
		want = append(want, r)
		p.add(&r)
	}
	var got []Row
	for r := range p.all() {
		r.Choices = append([]int32{}, r.Choices...)
		got = append(got, r)
	}
	if p.len != len(want) || !slices.EqualFunc(got, want, func(a, b Row) bool { return reflect.DeepEqual(a, b) }) {
		t.Errorf("%d rows came back, not as they were; %d were added", len(got), len(want))
	}
	for range p.all() {
		break
	}
}
