package schedule

import (
	"context"
	"slices"
	"strings"
	"testing"

	"tune/kernels"
	"tune/results"
	"tune/space"
)

// weakProblem is a problem of which only the weak outputs are known.
type weakProblem struct {
	kernels.Problem
	outputs []space.WeakOutput
}

func (p weakProblem) Traits() kernels.Traits {
	return kernels.Traits{Weak: func(context.Context, []uint64) ([]space.WeakOutput, error) { return p.outputs, nil }}
}

// TestVerifyWeak: what a schedule says of weak outputs is compared with the reference; earlier versions say nothing.
func TestVerifyWeak(t *testing.T) {
	y := []space.WeakOutput{{Output: "y", Kind: space.Constant}}
	z := []space.WeakOutput{{Output: "z", Kind: space.Unwritten}}
	for _, c := range []struct {
		claimed, found []space.WeakOutput
		want           string
	}{{nil, nil, ""}, {nil, y, ""}, {y, y, ""}, {y, nil, "field weak_checks is"}, {y, z, "field weak_checks is"}} {
		x := &verifier{Verification: &Verification{Schedule: results.Schedule{Weak: c.claimed}}, k: &kernels.Opened{Problem: weakProblem{outputs: c.found}}}
		err := x.weak(t.Context())
		if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) || !slices.Equal(x.Weak, c.found) {
			t.Errorf("%v beside %v: %v, %v", c.claimed, c.found, err, x.Weak)
		}
	}
}
