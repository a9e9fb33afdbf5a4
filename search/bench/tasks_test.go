package bench_test

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"tune/search/bench"
	"tune/search/tasks"
)

func TestTasks(t *testing.T) {
	b := bench.Tasks{
		Spaces: []bench.DataSpace{dataSpace(t, "one", 1), dataSpace(t, "two", 2), dataSpace(t, "three", 3)}, Strategy: "random",
		Weights: bench.Weightings, Seeds: []uint64{1, 2, 3, 4, 5}, Evaluations: []int{20, 50, 600}, Slice: 10,
	}
	var reports []*bench.TasksReport
	for _, jobs := range []int{1, 4} {
		b.Jobs = jobs
		calls := 0
		b.Observe = func(done, total int) {
			if calls++; done != calls || total != 5 {
				t.Errorf("%d of %d after %d", done, total, calls)
			}
		}
		r, err := b.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		reports = append(reports, r)
	}
	if !reflect.DeepEqual(reports[0], reports[1]) {
		t.Error("the result depends on the number of jobs")
	}
	r, rules := reports[0], tasks.Rules()
	if len(r.Rules) != 2*3*len(rules) {
		t.Fatalf("%d results", len(r.Rules))
	}
	for k, got := range r.Rules {
		if got.Rule != rules[k%len(rules)].Name || got.Evaluations != b.Evaluations[k/len(rules)%3] || got.Weights != bench.Weightings[k/len(rules)/3] {
			t.Errorf("result %d is %+v", k, got)
		}
		first := r.Rules[k-k%len(rules)]
		if math.Abs(got.Sum.Mean-first.Sum.Mean-got.SumBehind.Mean) > 1e-12 || math.Abs(got.Log.Mean-first.Log.Mean-got.LogBehind.Mean) > 1e-12 {
			t.Errorf("%+v is not as far behind %+v as it says", got, first)
		}
		switch {
		case got.Evaluations == 600: // the whole spaces: a task that is done leaves its share to the others
			if got.Sum.Mean != 0 || got.Log.Mean != 0 {
				t.Errorf("%+v did not find every optimum", got)
			}
		case !(got.Sum.Mean > got.Log.Mean && got.Log.Mean > 0 && got.Sum.Error > 0):
			t.Errorf("%+v: log x lies between 0 and x-1", got)
		}
	}
}

// TestTasksEqual: what the equal split reports is what searches of an equal length find.
func TestTasksEqual(t *testing.T) {
	spaces, seeds := []bench.DataSpace{dataSpace(t, "one", 1), dataSpace(t, "two", 2)}, []uint64{1, 2, 3}
	got, err := bench.Tasks{Spaces: spaces, Strategy: "random", Weights: []string{"equal"}, Seeds: seeds, Evaluations: []int{40}, Slice: 10}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := 0.0
	for i, s := range spaces {
		for _, seed := range seeds {
			r, err := bench.Data{Spaces: spaces[i : i+1], Strategies: []string{"random"}, Seeds: []uint64{seed}, Evaluations: 40}.Run(t.Context())
			if err != nil {
				t.Fatal(s.Name, err)
			}
			want += (1/r.Overall[0].Curve.Mean[39] - 1) / 6
		}
	}
	for _, r := range got.Rules {
		if r.Rule == "equal" && math.Abs(r.Sum.Mean-want) > 1e-12 {
			t.Errorf("the equal split ends at %v, want %v", r.Sum.Mean, want)
		}
	}
}

func TestTasksErrors(t *testing.T) {
	good := bench.Tasks{Strategy: "random", Weights: bench.Weightings, Seeds: []uint64{1, 2}, Evaluations: []int{20}, Slice: 10}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for want, spoil := range map[string]func(*bench.Tasks){
		"--seeds: 1":       func(b *bench.Tasks) { b.Seeds = b.Seeds[:1] },
		"--slice: 0":       func(b *bench.Tasks) { b.Slice = 0 },
		"--evals: 25":      func(b *bench.Tasks) { b.Evaluations = []int{20, 25} },
		"--weights: \"x\"": func(b *bench.Tasks) { b.Weights = []string{"x"} },
		"--strategy: ":     func(b *bench.Tasks) { b.Strategy = "rndom" },
	} {
		b := good
		spoil(&b)
		if err := b.Validate(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
