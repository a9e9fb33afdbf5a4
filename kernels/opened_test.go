package kernels_test

import (
	"errors"
	"testing"

	"tune/kernels"
	"tune/space"
)

// TestSerial: an outcome with the metric threads is judged by it, and no code is generated for it. Older outcomes lack the metric:
// then the problem says how many threads the point has.
func TestSerial(t *testing.T) {
	g := newGifted(t)
	opened := &kernels.Opened{Problem: g}
	if opened.Serial() != nil {
		t.Error("a problem that does not know of threads tells serial points apart")
	}
	asked := 0
	g.traits.Threads = func(p space.Point) (int, error) {
		asked++
		switch p.Int("n") {
		case 3:
			return 0, errors.New("no code")
		case 4:
			panic("no code")
		}
		return p.Int("n"), nil
	}
	metric := func(n float64) []space.Metric { return []space.Metric{{Name: space.MetricThreads, Value: n}} }
	for _, c := range []struct {
		name    string
		key     string
		metrics []space.Metric
		want    bool
		asked   int
	}{
		{"its metric says one", "n=4 mode=slow", metric(1), true, 0},
		{"its metric says two", "n=1 mode=slow", metric(2), false, 0},
		{"its metric says none", "n=1 mode=slow", metric(0), false, 0},
		{"the point has one", "n=1 mode=slow", nil, true, 1},
		{"the point has two", "n=2 mode=slow", nil, false, 1},
		{"its code cannot be generated", "n=3 mode=slow", nil, false, 1},
		{"its generator panics", "n=4 mode=slow", nil, false, 1},
		{"it is not of the space", "n=9", nil, false, 0},
	} {
		asked = 0
		got := opened.Serial()(space.Entry{Key: c.key, Outcome: space.Outcome{Status: space.OK, Metrics: c.metrics}})
		if got != c.want || asked != c.asked {
			t.Errorf("%s: %v after %d questions, want %v after %d", c.name, got, asked, c.want, c.asked)
		}
	}
}
