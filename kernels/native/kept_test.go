package native

import (
	"errors"
	"slices"
	"testing"
)

// TestKept: the last seeds are kept, and what failed is drawn again.
func TestKept(t *testing.T) {
	for _, c := range []struct {
		most int
		want []uint64 // the seeds that are drawn
	}{
		{0, []uint64{1, 2, 3, 4, 1}},
		{1, []uint64{1, 2, 1, 3, 4, 1, 4}},
		{3, []uint64{1, 2, 3, 4, 1}},
		{9, []uint64{1, 2, 3, 4}},
	} {
		kept := Kept[uint64]{Most: c.most}
		var drawn []uint64
		for _, seed := range []uint64{1, 2, 1, 3, 3, 4, 1, 4} {
			got, err := kept.Of(seed, func() (uint64, error) {
				drawn = append(drawn, seed)
				return 10 * seed, nil
			})
			if err != nil || got != 10*seed {
				t.Errorf("seed %d: %d, %v", seed, got, err)
			}
		}
		if !slices.Equal(drawn, c.want) {
			t.Errorf("with %d kept the seeds %v were drawn, want %v", c.most, drawn, c.want)
		}
	}
	var kept Kept[int]
	for _, failure := range []error{errors.New("no memory"), nil} {
		if got, err := kept.Of(1, func() (int, error) { return 5, failure }); err != failure || err == nil && got != 5 {
			t.Errorf("%d, %v, want %v", got, err, failure)
		}
	}
}
