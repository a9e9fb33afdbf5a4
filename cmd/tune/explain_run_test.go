package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tune"
	"tune/results"
	"tune/results/insight"
	"tune/space"
)

// TestExplainOfTarget: outcomes that were in flight when a run reached its target do not count.
func TestExplainOfTarget(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	small, dir := filepath.Join(root, "small"), filepath.Join(root, "run")
	tuneOK(t, "run", "treehash", "--shape", "height=4,rounds=4,batch=16", "--evals", "4", "-q", "--no-db", "--dir", small)
	look, err := results.Look(small)
	if err != nil {
		t.Fatal(err)
	}
	run, err := results.Create(dir, look.Settings)
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	if err := run.Journal.Batch(space.Batch{Count: 3}); err != nil {
		t.Fatal(err)
	}
	for i, key := range []string{"n=2", "n=1", "n=3"} {
		if err := run.Journal.Record(space.Entry{Number: i, Key: key, Elapsed: 1, Outcome: space.Outcome{Status: space.OK, Cost: float64(30 - 10*i)}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := run.Journal.End(results.End{Why: "target reached", Elapsed: 1, Told: 2}); err != nil {
		t.Fatal(err)
	}
	best, err := os.ReadFile(filepath.Join(small, tune.ScheduleName))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, tune.ScheduleName), best, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := (&app{}).explainRun(t.Context(), &out, dir); err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`(?m)^n +1 +20 cycles +1 candidate\n +2 +30 cycles .*\n?\z`).MatchString(out.String()) {
		t.Errorf("it is not what the search told:\n%s", &out)
	}
}

// TestPrintLosses: a loss is printed where it is known, and nothing stands for one that is not.
func TestPrintLosses(t *testing.T) {
	var b strings.Builder
	err := printLosses(&b, "points", []insight.Loss{
		{Parameter: "a", Default: "2", Chosen: "1", Count: 3, Best: 5, Loss: 4, Known: true}, {Parameter: "b", Default: "2", Chosen: "1", Count: 1, Best: 5}, {Parameter: "c", Default: "2", Chosen: "1"},
	})
	const want = "a  2 instead of 1  5 points        +400.0 %  3 candidates\nb  2 instead of 1  5 points                  1 candidate\nc  2 instead of 1  none was right            0 candidates\n"
	if _, got, _ := strings.Cut(b.String(), "first:\n"); err != nil || got != want {
		t.Errorf("%v, printed\n%s\nwant\n%s", err, got, want)
	}
}
