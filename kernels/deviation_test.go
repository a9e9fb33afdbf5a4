package kernels_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tune/kernels"
	"tune/space"
)

// TestDeviationAdd: each number is the largest that was added, and what is no error changes nothing.
func TestDeviationAdd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var d, want, left, right kernels.Deviation
		for i := range rapid.IntRange(0, 20).Draw(t, "n") {
			err := rapid.Float64Range(-1, 1).Draw(t, "error")
			tolerance := rapid.Float64Range(0, 2).Draw(t, "tolerance")
			d.Add(err, tolerance)
			half := &left
			if i%2 == 1 {
				half = &right
			}
			half.Add(err, tolerance)
			if err > 0 {
				want.MaxError = max(want.MaxError, err)
				if tolerance > 0 {
					want.ErrorShare = max(want.ErrorShare, err/tolerance)
				}
			}
		}
		if d != want || left.Or(right) != want {
			t.Fatalf("%+v, in two parts %+v, want %+v", d, left.Or(right), want)
		}
	})
	var d kernels.Deviation
	d.Add(math.NaN(), 1)
	d.Add(math.Inf(1), 1)
	if d != (kernels.Deviation{}) {
		t.Errorf("what is not a number gave %+v", d)
	}
}

func TestDeviationValidate(t *testing.T) {
	for _, test := range []struct {
		d  kernels.Deviation
		ok bool
	}{
		{kernels.Deviation{}, true},
		{kernels.Deviation{MaxError: 1e9, ErrorShare: 1}, true},
		{kernels.Deviation{MaxError: -1}, false},
		{kernels.Deviation{MaxError: math.NaN()}, false},
		{kernels.Deviation{ErrorShare: 1.01}, false},
		{kernels.Deviation{ErrorShare: math.NaN()}, false},
	} {
		if err := test.d.Validate(); (err == nil) != test.ok {
			t.Errorf("%+v: %v", test.d, err)
		}
	}
}

// deviating is a stub that measures how far off it is.
type deviating struct {
	*stub
	d kernels.Deviation
}

func (c *deviating) Build(context.Context, space.Point) (kernels.Candidate, error) {
	return c, c.build()
}
func (c *deviating) Abilities() kernels.Abilities {
	return kernels.Abilities{Deviation: func() kernels.Deviation { return c.d }}
}

// TestEvaluateDeviation: the outcome has the candidate's deviation among its metrics, once and in order.
func TestEvaluateDeviation(t *testing.T) {
	s := &deviating{newStub(t), kernels.Deviation{MaxError: 0.25, ErrorShare: 0.5}}
	s.score.Metrics = []space.Metric{{Name: "max_error", Value: 9}, {Name: "gflops", Value: 3}}
	e := &kernels.Evaluator{Problem: s}
	out, err := e.Evaluate(t.Context(), s.trial())
	want := []space.Metric{{Name: "error_share", Value: 0.5}, {Name: "gflops", Value: 3}, {Name: "max_error", Value: 0.25}}
	if err != nil || !slices.Equal(out.Metrics, want) {
		t.Errorf("%v, %v; want %v", out.Metrics, err, want)
	}
	d, rest, ok := kernels.SplitDeviation(out.Metrics)
	if d != s.d || !ok || !slices.Equal(rest, want[1:2]) {
		t.Errorf("%+v %v %t", d, rest, ok)
	}
	if _, _, ok := kernels.SplitDeviation(rest); ok {
		t.Error("a deviation was found where there is none")
	}
}
