package tune

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tune/kernels"
	"tune/results"
	"tune/search"
	"tune/space"
)

// TestNoGain: where costs are exact, the baseline is exported if no right point of the search is better, and the best one of the
// search is named beside it.
func TestNoGain(t *testing.T) {
	fresh := kernels.ExportSeeds(1)
	wrong := func(numbers ...int) func(context.Context, int, uint64) error {
		return func(ctx context.Context, n int, seed uint64) error {
			if slices.Contains(numbers, n) && seed == fresh[ExportChecks-1] {
				return wrongAnswer(n)
			}
			return ctx.Err()
		}
	}
	for _, test := range []struct {
		name          string
		check         func(context.Context, int, uint64) error
		cost          func(n int) float64 // of the points 1 to 20, the last of which is the baseline
		evals         int
		key           string
		trial         int
		verdict       space.Verdict
		closest       string
		cheaper       float64 // the cost of the closest
		refused, told []string
	}{
		{name: "all are slower", cost: func(n int) float64 { return 100 - float64(n) }, evals: 5,
			key: "n=20", trial: results.NoTrial, verdict: space.NoGain, closest: "n=5", cheaper: 95, told: []string{"tune verify best.json"}},
		{name: "the search asked for the baseline", cost: func(n int) float64 { return 80 + float64(n%20) }, evals: 20,
			key: "n=20", trial: 19, verdict: space.NoGain, told: []string{"tune run toy --strategy grid --seed 1 --evals 20", "tune verify best.json"}},
		{name: "an equal one", cost: func(n int) float64 { return 80 + float64(n%10) }, evals: 20,
			key: "n=20", trial: 19, verdict: space.NoGain, closest: "n=10", cheaper: 80,
			told: []string{"tune run toy --strategy grid --seed 1 --evals 20", "tune verify best.json"}},
		{name: "the faster ones are wrong", check: wrong(1, 2), cost: func(n int) float64 { return []float64{50, 1, 2, 60, 70}[n%5] }, evals: 4,
			key: "n=20", trial: results.NoTrial, verdict: space.NoGain, closest: "n=3", cheaper: 60, refused: []string{"n=1", "n=2"},
			told: []string{"tune verify best.json"}},
		{name: "the baseline is wrong", check: wrong(20), cost: func(n int) float64 { return 100 - float64(n) }, evals: 5,
			key: "n=5", trial: 4, verdict: space.NoGain, refused: []string{"n=20"},
			told: []string{"tune run toy --strategy grid --seed 1 --evals 5", "tune verify best.json"}},
		{name: "one is faster", cost: func(n int) float64 { return 80 + float64(n) }, evals: 5,
			key: "n=1", trial: 0, verdict: space.Faster, told: []string{"tune run toy --strategy grid --seed 1 --evals 1", "tune verify best.json"}},
		{name: "costs below 0", cost: func(n int) float64 { return -float64(n) }, evals: 5,
			key: "n=20", trial: results.NoTrial, verdict: space.NoGain, closest: "n=5", cheaper: -5, told: []string{"tune verify best.json"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			k := toy{size: 20, check: test.check, cost: test.cost}
			report := runToy(t, k, Options{Strategy: "grid", Seed: 1, Budget: search.Budget{Evaluations: test.evals}})
			s := report.Schedule
			if s == nil || s.Key != test.key || s.Trial != test.trial || s.Verdict != test.verdict || s.Evaluations != test.evals || s.Search != nil || s.Pairs != 0 {
				t.Fatalf("the schedule is %+v", s)
			}
			if base := test.cost(20); s.Baseline.Cost != base || s.Key == "n=20" && (s.Cost != base || base > 0 && s.Ratio != 1) {
				t.Errorf("the baseline of %v costs %v, and what is exported %v, with the ratio %v", base, s.Baseline.Cost, s.Cost, s.Ratio)
			}
			if c := s.Closest; (c != nil) != (test.closest != "") || c != nil && (c.Key != test.closest || c.Cost != test.cheaper || c.Pairs != 0 || c.RatioInterval != nil) {
				t.Errorf("the closest is %+v", c)
			} else if c != nil && c.Cost > 0 && c.Ratio != s.Baseline.Cost/c.Cost {
				t.Errorf("the ratio of the closest is %v", c.Ratio)
			}
			var refused []string
			for _, r := range report.Refused {
				refused = append(refused, r.Key)
			}
			if !slices.Equal(refused, test.refused) || !slices.Equal(s.Reproduce, test.told) {
				t.Errorf("refused are %q, and the commands are %q", refused, s.Reproduce)
			}
			// What the search saw stays what it was.
			if best := report.Result.Best; strings.Count(export(t, k, report.Dir, "csv"), "\n") != test.evals+1 || test.closest != "" && len(test.refused) == 0 && best.Outcome.Cost != test.cheaper {
				t.Errorf("the search saw %+v", best)
			}
			if failed := verify(t, k, report.Dir); failed != nil {
				t.Errorf("verification fails: %q", failed)
			}
			before, err := os.ReadFile(filepath.Join(report.Dir, ScheduleName))
			if err != nil {
				t.Fatal(err)
			}
			// Where a better point is refused, an export finds that out again.
			if got := export(t, k, report.Dir, "json"); test.refused == nil && got != string(before) {
				t.Errorf("an export has another schedule: %s", got)
			}
			if err := os.Remove(filepath.Join(report.Dir, ScheduleName)); err != nil {
				t.Fatal(err)
			}
			if got, want := export(t, k, report.Dir, "program"), strings.TrimPrefix(test.key, "n=")+"\n"; got != want {
				t.Errorf("an export of the journal alone has the program %q, want %q", got, want)
			}
		})
	}
}

// TestNoGainGoesOn: a schedule of the baseline is out of date when the run has gone on and found something better.
func TestNoGainGoesOn(t *testing.T) {
	k := toy{size: 20, cost: func(n int) float64 {
		if n == 7 {
			return 1
		}
		return 100 - float64(n)
	}}
	report := runToy(t, k, Options{Strategy: "grid", Budget: search.Budget{Evaluations: 5}})
	old, err := os.ReadFile(filepath.Join(report.Dir, ScheduleName))
	if err != nil || report.Schedule.Key != "n=20" {
		t.Fatalf("%v: the schedule is %+v", err, report.Schedule)
	}
	report, err = Resume(t.Context(), kernels.Table{k}, report.Dir, Changes{Budget: search.Budget{Evaluations: 10}})
	if err != nil || report.Schedule.Key != "n=7" || report.Schedule.Closest != nil {
		t.Fatalf("%v: the schedule is %+v", err, report.Schedule)
	}
	if err := os.WriteFile(filepath.Join(report.Dir, ScheduleName), old, 0o666); err != nil {
		t.Fatal(err)
	}
	if got := export(t, k, report.Dir, "json"); !strings.Contains(got, `"key": "n=7"`) {
		t.Errorf("the export is %s", got)
	}
	// It is still what the run exported then; only its files were replaced.
	for _, failed := range verify(t, k, report.Dir) {
		if !strings.HasPrefix(failed, "best.") && !strings.HasPrefix(failed, "the saved program") {
			t.Errorf("verification fails: %s", failed)
		}
	}
}

// TestNoGainChart: a chart of a run whose baseline is exported says so, and one of another run does not.
func TestNoGainChart(t *testing.T) {
	for verdict, cost := range map[space.Verdict]func(n int) float64{
		space.NoGain: func(n int) float64 { return 100 - float64(n) },
		space.Faster: func(n int) float64 { return 80 + float64(n) },
	} {
		k := toy{size: 20, cost: cost}
		report := runToy(t, k, Options{Strategy: "grid", Budget: search.Budget{Evaluations: 5}})
		svg := export(t, k, report.Dir, "svg")
		if got := strings.Contains(svg, "seen by the search"); report.Schedule.Verdict != verdict || got != (verdict == space.NoGain) || got != strings.Contains(svg, "exported: 80 cycles") {
			t.Errorf("%s: the chart says that its costs were seen by the search: %v", report.Schedule.Verdict, got)
		}
	}
}
