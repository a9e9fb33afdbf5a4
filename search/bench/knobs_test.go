package bench_test

import (
	"reflect"
	"slices"
	"testing"

	"tune/search/bench"
)

// TestKnobs: each kernel trades work for accuracy over several sizes of the error, and is the same each time. Its most exact point is as
// right as numbers of 32 bits can be expected to be.
func TestKnobs(t *testing.T) {
	run := func() *bench.ObjectivesReport {
		spaces, err := bench.Knobs()
		if err != nil {
			t.Fatal(err)
		}
		r, err := bench.Objectives{Spaces: spaces, Second: []string{"compile"}, Strategies: []string{"random", "nsga2"}, Seeds: []uint64{1, 2, 3}, Evaluations: []int{200}}.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	r := run()
	if !reflect.DeepEqual(r, run()) {
		t.Error("a second run has another report")
	}
	var names []string
	for _, task := range r.Tasks {
		names = append(names, task.Name)
		first, last := task.Front[0], task.Front[len(task.Front)-1]
		if len(task.Front) < 4 || first[1] < 1000*last[1] || last[0] < 2*first[0] || last[1] > 1e-5 {
			t.Errorf("%s has a front of %d points, from %v to %v", task.Name, len(task.Front), first, last)
		}
	}
	if want := []string{"softmax error", "product error", "multigrid error"}; !slices.Equal(names, want) {
		t.Errorf("the tasks are %q, want %q", names, want)
	}
	if random, nsga2 := r.Overall[0].Volume.Mean, r.Overall[1].Volume.Mean; nsga2 < random+0.1 {
		t.Errorf("nsga2 finds %.3f, random points %.3f", nsga2, random)
	}
}
