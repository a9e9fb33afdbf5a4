package report

import (
	"testing"

	"tune/results"
	"tune/space"
)

// TestMetricWords: a rate has the prefix that suits its size.
func TestMetricWords(t *testing.T) {
	for want, m := range map[string]space.Metric{
		"4.222 GB/s":   {Name: space.MetricGBS, Value: 4.22163},
		"3.4 MB/s":     {Name: space.MetricGBS, Value: 0.0034},
		"1.2 TFLOP/s":  {Name: space.MetricGFLOPS, Value: 1200},
		"112 MOP/s":    {Name: space.MetricGOPS, Value: 0.112},
		"0 B/s":        {Name: space.MetricGBS},
		"12,345 bytes": {Name: space.MetricCodeBytes, Value: 12345},
		"17":           {Name: "load", Value: 17},
	} {
		if got := metricWords(m); got != want {
			t.Errorf("%+v is %q, want %q", m, got, want)
		}
	}
}

// TestTitle: a page of one thing has its name, and one of several says how many there are.
func TestTitle(t *testing.T) {
	library, run := &Library{Title: "library sums"}, &Run{Settings: results.Settings{Kernel: "blur", Shape: "n=512"}}
	for _, c := range []struct {
		libraries, runs int
		want            string
	}{
		{0, 0, "tune: 0 runs"},
		{0, 1, "tune: blur n=512"},
		{0, 3, "tune: 3 runs"},
		{1, 0, "tune: library sums"},
		{1, 1, "tune: library sums, 1 run"},
		{1, 3, "tune: library sums, 3 runs"},
		{2, 0, "tune: 2 libraries"},
		{2, 1, "tune: 2 libraries, 1 run"},
		{2, 3, "tune: 2 libraries, 3 runs"},
	} {
		var p Page
		for range c.libraries {
			p.Libraries = append(p.Libraries, library)
		}
		for range c.runs {
			p.Runs = append(p.Runs, run)
		}
		if got := p.title(); got != c.want {
			t.Errorf("%d libraries and %d runs have the title %q, want %q", c.libraries, c.runs, got, c.want)
		}
	}
}
