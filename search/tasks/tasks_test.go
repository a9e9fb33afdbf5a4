package tasks_test

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"tune/search/tasks"
)

var inf = math.Inf(1)

// task is one whose slices each took 10 and ended with these costs.
func task(weight float64, best ...float64) tasks.Task {
	t := tasks.Task{Weight: weight}
	for _, b := range best {
		t.Slices = append(t.Slices, tasks.Slice{Spent: 10, Best: b})
	}
	return t
}

// turns hands out slices by a rule, and counts those of each task. after returns the cost of a task with n slices.
func turns(rule tasks.Rule, all []tasks.Task, n int, set tasks.Setting, after func(task, n int) float64) []int {
	had := make([]int, len(all))
	for range n {
		i := rule.Next(all, set)
		if i < 0 {
			break
		}
		had[i]++
		all[i].Slices = append(all[i].Slices, tasks.Slice{Spent: 10, Best: after(i, len(all[i].Slices)+1)})
	}
	return had
}

func rule(t *testing.T, name string) tasks.Rule {
	t.Helper()
	for _, r := range tasks.Rules() {
		if r.Name == name {
			return r
		}
	}
	t.Fatalf("no rule %s", name)
	return tasks.Rule{}
}

func TestNext(t *testing.T) {
	for _, c := range []struct {
		name string
		all  []tasks.Task
		want int
	}{
		{"no task", nil, -1},
		{"a task without a slice comes first", []tasks.Task{task(9, 5, 4, 3), task(1), task(5)}, 1},
		{"the heavier of two alike", []tasks.Task{task(1, 5, 4), task(2, 5, 4)}, 1},
		{"the one that gains more", []tasks.Task{task(1, 5, 4.9), task(1, 5, 4)}, 1},
		{"relative gains count", []tasks.Task{task(1, 500, 490), task(1, 5, 4)}, 1},
		{"the one that gained lately", []tasks.Task{task(1, 5, 4, 4, 4), task(1, 5, 5, 5, 4)}, 1},
		{"of two that gain nothing, the one that had less", []tasks.Task{task(1, 5, 5, 5), task(1, 5, 5)}, 1},
		{"one that knows nothing", []tasks.Task{task(1, 5, 4, 3), task(1, inf, inf, inf)}, 1},
		{"no task that is done", []tasks.Task{task(1, 5, 5), {Weight: 9, Done: true}, {Weight: 9, Done: true, Slices: task(1, 9, 1).Slices}}, 0},
		{"all done", []tasks.Task{{Weight: 1, Done: true}}, -1},
		{"without weight, but alone", []tasks.Task{task(0, 5, 5)}, 0},
	} {
		if got := tasks.Next(c.all); got != c.want {
			t.Errorf("%s: task %d, want %d", c.name, got, c.want)
		}
	}
}

// TestSpent: what counts is the gain for what was spent, and not how it was cut in slices.
func TestSpent(t *testing.T) {
	dear := tasks.Task{Weight: 1, Slices: []tasks.Slice{{Spent: 40, Best: 5}, {Spent: 40, Best: 4}}}
	if got := tasks.Next([]tasks.Task{dear, task(1, 5, 4)}); got != 1 {
		t.Errorf("the task whose gain took four times as long comes first")
	}
}

// TestScale: the unit of weights, costs and times means nothing.
func TestScale(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		var all, scaled []tasks.Task
		for range 2 + rng.IntN(6) {
			one, cost := tasks.Task{Weight: rng.Float64()}, inf
			unit := math.Exp(10 * rng.NormFloat64()) // costs of each task have their own
			for range 1 + rng.IntN(8) {
				if rng.IntN(3) > 0 {
					cost = min(cost, 1+rng.Float64())
				}
				one.Slices = append(one.Slices, tasks.Slice{Spent: 1 + rng.Float64(), Best: cost})
			}
			other := tasks.Task{Weight: 1024 * one.Weight, Slices: slices.Clone(one.Slices)}
			for i := range other.Slices {
				other.Slices[i].Spent *= 64
				other.Slices[i].Best *= unit
			}
			all, scaled = append(all, one), append(scaled, other)
		}
		if a, b := tasks.Next(all), tasks.Next(scaled); a != b {
			t.Fatalf("task %d, in other units %d: %+v", a, b, all)
		}
	}
}

// TestStarved: a task that has stopped gaining gets few slices beside one that gains, and not none.
func TestStarved(t *testing.T) {
	gains := func(i, n int) float64 {
		if i == 0 {
			return 1
		}
		return math.Pow(float64(n), -0.5)
	}
	had := turns(rule(t, "gain"), []tasks.Task{{Weight: 1}, {Weight: 1}}, 400, tasks.Setting{}, gains)
	if had[0] < 3 || had[0] > 60 {
		t.Errorf("of 400 slices the task that gains nothing had %d", had[0])
	}
	// Nor does a task that never finds anything take them all.
	had = turns(rule(t, "gain"), []tasks.Task{{Weight: 1}, {Weight: 1}}, 400, tasks.Setting{}, func(i, n int) float64 {
		if i == 0 {
			return inf
		}
		return math.Pow(float64(n), -0.5)
	})
	if had[1] < 20 || had[0] < had[1] {
		t.Errorf("of 400 slices the task without any cost had %d, the other %d", had[0], had[1])
	}
}

// TestWeights: tasks that gain nothing get turns by the square roots of their weights.
func TestWeights(t *testing.T) {
	had := turns(rule(t, "gain"), []tasks.Task{{Weight: 1}, {Weight: 4}, {Weight: 16}}, 700, tasks.Setting{}, func(int, int) float64 { return 1 })
	for i, want := range []int{100, 200, 400} {
		if had[i] < want-2 || had[i] > want+2 {
			t.Errorf("task %d had %d slices, want about %d", i, had[i], want)
		}
	}
}

func TestRules(t *testing.T) {
	curve := func(i, n int) float64 { return 1 + float64(i+1)/float64(n) }
	for _, r := range tasks.Rules() {
		set := tasks.Setting{Total: 600, Seed: 3, Sum: true}
		fresh := func() []tasks.Task { return []tasks.Task{{Weight: 1}, {Weight: 2}, {Weight: 3}} }
		first := turns(r, fresh(), 60, set, curve)
		if again := turns(r, fresh(), 60, set, curve); !reflect.DeepEqual(again, first) {
			t.Errorf("%s: %v, then %v", r.Name, first, again)
		}
		if slices.Min(first) == 0 {
			t.Errorf("%s: a task had nothing: %v", r.Name, first)
		}
		all := fresh()
		all[2].Done = true
		had := turns(r, all, 60, set, curve)
		if had[2] != 0 || had[0]+had[1] != 60 {
			t.Errorf("%s: with the third task done: %v", r.Name, had)
		}
		for i := range all {
			all[i].Done = true
		}
		if got := r.Next(all, set); got != -1 {
			t.Errorf("%s: task %d of tasks that are all done", r.Name, got)
		}
		if got := r.Next(nil, set); got != -1 {
			t.Errorf("%s: task %d of none", r.Name, got)
		}
	}
}

// TestEqual: one task after another has its share, and what is left goes to the one that had least.
func TestEqual(t *testing.T) {
	equal, all := rule(t, "equal"), []tasks.Task{{Weight: 1}, {Weight: 8}, {Weight: 1, Done: true}}
	var order []int
	for range 6 {
		i := equal.Next(all, tasks.Setting{Total: 60})
		order = append(order, i)
		all[i].Slices = append(all[i].Slices, tasks.Slice{Spent: 10, Best: 1})
	}
	if want := []int{0, 0, 1, 1, 0, 1}; !slices.Equal(order, want) {
		t.Errorf("order %v, want %v", order, want)
	}
}

// TestGradient compares with falls that were worked out by hand: 0.2 × the fall per slice over three slices + 0.8 × g/t.
func TestGradient(t *testing.T) {
	gradient := rule(t, "gradient")
	falls := []tasks.Task{
		task(1, 8, 7, 6, 5),     // 0.2 × 1 + 0.8 × 5/4 = 1.2
		task(2, 2, 2, 2, 2),     // 2 × 0.8 × 2/4 = 0.8
		task(1, 3, 2),           // 0.8 × 2/2 = 0.8: the window does not fit
		task(1, 9, 9, 9, 9, 4.), // 0.2 × 5/3 + 0.8 × 4/5 = 0.973
	}
	logs := []tasks.Task{
		task(1, 8, 7, 6, 5), // 1.2/5 = 0.24
		task(1, 2, 2, 2, 2), // 0.2
		task(1, 3, 2),       // 0.4
	}
	rare := 0
	for seed := range uint64(400) { // one choice in twenty is random
		if gradient.Next(falls, tasks.Setting{Sum: true, Seed: seed}) != 0 {
			rare++
		}
		if gradient.Next(logs, tasks.Setting{Seed: seed}) != 2 {
			rare++
		}
	}
	if rare < 10 || rare > 60 {
		t.Errorf("%d of 800 choices are not the steepest, want about 28", rare)
	}
}

// TestSum: in a sum of costs a relative gain counts by the cost, and a task without any by the dearest.
func TestSum(t *testing.T) {
	gain := rule(t, "gain")
	all := []tasks.Task{task(1, 50, 45), task(1, 5, 4)}
	if got := gain.Next(all, tasks.Setting{}); got != 1 {
		t.Errorf("relative gains: task %d", got)
	}
	if got := gain.Next(all, tasks.Setting{Sum: true}); got != 0 {
		t.Errorf("a sum of costs: task %d", got)
	}
	all = append(all, task(1, inf, inf))
	if got := gain.Next(all, tasks.Setting{Sum: true}); got != 2 {
		t.Errorf("a task without any cost: task %d", got)
	}
	if all[0].Weight != 1 {
		t.Error("the weights have changed")
	}
}
