package report

import (
	"testing"

	"tune/results"
)

// TestFinalists: points that are not told apart, and those of which there are too few pairs, are rows of their own.
func TestFinalists(t *testing.T) {
	r := &Run{Schedule: &results.Schedule{Key: "n=1", IndistinctFrom: []string{"n=2"}, TooFewPairs: []string{"n=3"}}}
	rows := r.Finalists()
	if n := len(rows); n != 3 || rows[1] != (Finalist{Name: "not distinguishable", Key: "n=2"}) || rows[2] != (Finalist{Name: "too few pairs to tell", Key: "n=3"}) {
		t.Errorf("%+v", rows)
	}
}
