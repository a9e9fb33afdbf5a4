package report

import (
	"math"
	"strings"
	"testing"

	"tune/results"
	"tune/results/insight"
	"tune/space"
)

// TestTicksDiffer: in a narrow range ticks have as many digits as tell them apart.
func TestTicksDiffer(t *testing.T) {
	for _, test := range []struct {
		low, high float64
		want      string
	}{
		{2.84e-6, 2.96e-6, "2.85e-06 2.9e-06 2.95e-06"},
		{1.2345678, 1.2345681, "1.2345678 1.23456785 1.2345679 1.23456795 1.234568 1.23456805 1.2345681"},
		{20, 100, "20 40 60 80 100"},
		{1.001e15, 1.003e15, "1.001e+15 1.0015e+15 1.002e+15 1.0025e+15 1.003e+15"},
		{123456789, 123456790, ""},
	} {
		words := ticksWords(newAxis(test.low, test.high, 0, 100, false, "cost").ticks())
		if got := strings.Join(words, " "); len(words) < 2 || test.want != "" && got != test.want {
			t.Errorf("from %v to %v: %s, want %s", test.low, test.high, got, test.want)
		}
		for i, word := range words[1:] {
			if word == words[i] {
				t.Errorf("from %v to %v: %v", test.low, test.high, words)
			}
		}
	}
}

// TestCountedAxis: between two counts there is nothing to name.
func TestCountedAxis(t *testing.T) {
	for _, most := range []float64{1, 2, 3, 5, 12, 100, 12345} {
		ticks := counted(0, most, 0, 100, "outcomes").ticks()
		if len(ticks) < 2 {
			t.Errorf("to %v: the ticks are %v", most, ticks)
		}
		for _, v := range ticks {
			if v != math.Trunc(v) {
				t.Errorf("to %v: the ticks are %v", most, ticks)
			}
		}
	}
}

// TestCounting: counts are written as in tables, and one thing is one.
func TestCounting(t *testing.T) {
	for n, want := range map[int]string{0: "0 outcomes", 1: "1 outcome", 2: "2 outcomes", 10966: "10,966 outcomes"} {
		if got := counting(n, "outcome"); got != want {
			t.Errorf("%d: %q", n, got)
		}
	}
}

// TestBestWhileRunning: the best point has its parameters in the order of the journal, which a schedule keeps, though the table has another.
func TestBestWhileRunning(t *testing.T) {
	dir := t.TempDir() + "/run"
	run, err := results.Create(dir, results.Settings{Kernel: "k", Unit: "points", SpaceFingerprint: "f", Strategy: "auto", Baseline: results.Preset{Name: "plain", Key: "a=2 c=1"}})
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	must(err)
	must(run.Journal.Batch(space.Batch{Count: 2}))
	must(run.Journal.Record(space.Entry{Number: 0, Key: "a=2 c=1", Outcome: space.Outcome{Status: space.OK, Cost: 5}}))
	must(run.Journal.Record(space.Entry{Number: 1, Key: "a=1 b=3 c=2", Outcome: space.Outcome{Status: space.OK, Cost: 4}}))
	must(run.Journal.End(results.End{Why: "evaluations spent"}))
	run.Close()
	r := Open(dir, Options{})
	if got := r.bestKey(); got != "a=1 b=3 c=2" {
		t.Errorf("the best point is %q, and the table says %q", got, r.Table.Key(r.Table.Best()))
	}
	if len(r.Notes) != 1 || !strings.HasPrefix(r.Notes[0], "there is no best.json, ") {
		t.Errorf("nothing says that the schedule is not there: %q", r.Notes)
	}
	r.Insight.Failures = []insight.Failure{{Status: space.Crashed, Count: 58824}}
	var html, text strings.Builder
	must((Page{Runs: []*Run{r}}).HTML(&html))
	must((Page{Runs: []*Run{r}}).Markdown(&text))
	if !strings.Contains(html.String(), `data-value="58824">58,824</td>`) || !strings.Contains(text.String(), "| crashed | 58,824 |") {
		t.Error("the count of failures has no separators")
	}
}
