package report

import (
	"slices"
	"strings"
	"testing"

	"tune/results"
	"tune/space"
)

// TestFinalists: points that are not told apart, and those of which there are too few pairs, are rows of their own, with the pairs that are
// kept beside the schedule. Where no number is known, the row has none.
func TestFinalists(t *testing.T) {
	r := &Run{Schedule: &results.Schedule{
		Key: "n=1", Cost: 4, Ratio: 2, Pairs: 1500, Baseline: results.Baseline{Key: "n=0", Cost: 8}, IndistinctFrom: []string{"n=2", "n=4"}, TooFewPairs: []string{"n=3"},
	}}
	rows := func() (out []Finalist) {
		for _, f := range r.Finalists() {
			f.Cost, f.Value = "", 0
			out = append(out, f)
		}
		return out
	}
	want := []Finalist{
		{Name: "exported", Key: "n=1", Ratio: "2.000×", Pairs: "1,500"}, {Name: "baseline", Key: "n=0", Ratio: "1.000×"},
		{Name: "not distinguishable", Key: "n=2"}, {Name: "not distinguishable", Key: "n=4"}, {Name: "too few pairs to tell", Key: "n=3"},
	}
	if got := rows(); !slices.Equal(got, want) {
		t.Errorf("without the pairs: %+v", got)
	}
	r.Final = &results.Final{First: []results.Compared{
		{Key: "n=3", Ratio: 1.9, Pairs: 2}, {Key: "n=2", Ratio: 2, Interval: &[2]float64{1.95, 2.05}, Pairs: 21}, {Key: "n=4", Failed: "it died"},
	}}
	want[2].Ratio, want[2].Interval, want[2].Pairs = "2.000×", "1.950 to 2.050 (95 %)", "21"
	want[4].Ratio, want[4].Pairs = "1.900×", "2"
	// Each interval says how sure it is: a series of its own has another level, earlier versions had none, and some follow from the costs alone.
	r.Schedule.RatioInterval, r.Schedule.Verdict = &[2]float64{1.9, 2.1}, space.Faster
	want[0].Interval = "1.900 to 2.100 (98 %)"
	if got := rows(); !slices.Equal(got, want) {
		t.Errorf("with the pairs: %+v", got)
	}
	r.Schedule.Verdict = ""
	if got := rows()[0].Interval; got != "1.900 to 2.100 (95 %)" {
		t.Errorf("of an earlier version: %s", got)
	}
	r.Schedule.Metrics = []space.Metric{{Name: space.MetricWithin, Value: 0.01}}
	if got := rows(); got[0].Interval != "1.900 to 2.100 (within 1 %)" || got[2].Interval != "1.950 to 2.050 (within 1 %)" {
		t.Errorf("of costs that are nearly exact: %+v", got)
	}
}

// TestLossOfZero: where the best cost is 0, no share of it says what a default costs, and none is shown.
func TestLossOfZero(t *testing.T) {
	for cost, want := range map[float64][2]string{0: {`<td class="n">–</td>`, "| – |"}, 1: {`<td class="n">400.0 %</td>`, "| 400.0 % |"}} {
		dir := t.TempDir() + "/run"
		run, err := results.Create(dir, results.Settings{Kernel: "k", Unit: "points", SpaceFingerprint: "f", Strategy: "auto", Baseline: results.Preset{Name: "plain", Key: "a=2"}})
		if err != nil {
			t.Fatal(err)
		}
		must := func(err error) {
			if err != nil {
				t.Fatal(err)
			}
		}
		must(run.Journal.Batch(space.Batch{Count: 2}))
		must(run.Journal.Record(space.Entry{Number: 0, Key: "a=2", Outcome: space.Outcome{Status: space.OK, Cost: 5}}))
		must(run.Journal.Record(space.Entry{Number: 1, Key: "a=1", Outcome: space.Outcome{Status: space.OK, Cost: cost}}))
		run.Close()
		var html, text strings.Builder
		page := Page{Runs: []*Run{Open(dir, Options{})}}
		must(page.HTML(&html))
		must(page.Markdown(&text))
		if !strings.Contains(html.String(), want[0]) || !strings.Contains(text.String(), want[1]) {
			t.Errorf("with the best cost %v: the page has no %q, or Markdown no %q in\n%s", cost, want[0], want[1], text.String())
		}
	}
}
