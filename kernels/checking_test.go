package kernels_test

import (
	"slices"
	"testing"

	"tune/kernels"
	"tune/results"
)

func TestChecking(t *testing.T) {
	seeds := []uint64{1, 2, 3}
	for c, want := range map[kernels.Checking]struct {
		name, many, one string
		claimed         int
	}{
		kernels.FreshInputs:  {"fresh inputs", "on 3 fresh inputs", "on 1 fresh input", 3},
		kernels.FixedInput:   {"fixed input", "on one fixed input", "on one fixed input", 1},
		kernels.CheckCommand: {"check command", "by its own check command (3 times)", "by its own check command (once)", 3},
		kernels.NotChecked:   {results.Unchecked, "not checked", "not checked", 0},
	} {
		if got := c.String(); got != want.name {
			t.Errorf("%s, want %s", got, want.name)
		}
		if got := c.Words(3); got != want.many {
			t.Errorf("%s, want %s", got, want.many)
		}
		if got := c.Words(1); got != want.one {
			t.Errorf("%s, want %s", got, want.one)
		}
		if got := c.Claimed(seeds); !slices.Equal(got, seeds[:want.claimed]) {
			t.Errorf("%s claims %v", c, got)
		}
	}
}
