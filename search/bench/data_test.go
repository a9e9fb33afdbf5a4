package bench_test

import (
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tune/kernels"
	"tune/kernels/recorded"
	"tune/results/exchange"
	"tune/search/bench"
	"tune/space"
)

// dataSpace makes a measured space of 600 configurations, an eighth of which fail.
func dataSpace(t testing.TB, name string, seed uint64) bench.DataSpace {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	f := &exchange.File{Space: name, Objective: "time", Unit: "ms", Parameters: []space.Parameter{
		space.Ints("a", 1, 2, 4, 8, 16), space.Range("b", 0, 19), space.Enum("c", "x", "y", "z", "u", "v", "w"),
	}}
	for a := range 5 {
		for b := range 20 {
			for c := range 6 {
				o := space.Outcome{Status: space.OK, Cost: 1 + float64((a-3)*(a-3)) + float64(b)/4 + rng.Float64(), Seconds: 1}
				if rng.IntN(8) == 0 {
					o = space.Fail(space.Crashed, "RuntimeFailedConfig")
				}
				f.Rows = append(f.Rows, exchange.Row{Ordinals: []int{a, b, c}, Outcome: o})
			}
		}
	}
	var text strings.Builder
	if err := f.Write(&text, exchange.Recorded); err != nil {
		t.Fatal(err)
	}
	k, err := recorded.New(name+".json", []byte(text.String()))
	if err != nil {
		t.Fatal(err)
	}
	p, err := k.Problem(kernels.Shape{})
	if err != nil {
		t.Fatal(err)
	}
	return bench.DataSpace{Name: name, Problem: p.(*recorded.Problem)}
}

func TestData(t *testing.T) {
	b := bench.Data{
		Spaces: []bench.DataSpace{dataSpace(t, "one", 1), dataSpace(t, "two", 2)}, Strategies: []string{"random", "grid"},
		Seeds: []uint64{1, 2, 3, 4, 5}, Evaluations: 600,
	}
	var reports []*bench.DataReport
	for _, jobs := range []int{1, 3, 8} {
		b.Jobs = jobs
		last := 0
		b.Observe = func(done, total int) {
			if done != last+1 || total != 20 {
				t.Errorf("%d of %d searches after %d", done, total, last)
			}
			last = done
		}
		r, err := b.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		reports = append(reports, r)
	}
	r := reports[0]
	for _, other := range reports[1:] {
		if !reflect.DeepEqual(r, other) {
			t.Error("the report depends on the number of jobs")
		}
	}
	if len(r.Overall) != 2 || len(r.Spaces) != 4 || r.Spaces[3].Space != "two" || r.Spaces[3].Strategy != "grid" {
		t.Fatalf("%+v", r)
	}
	for _, d := range append(r.Spaces, r.Overall...) {
		n := len(d.Mean.Value)
		if d.Mean.At[n-1] != 600 || d.Mean.Value[n-1] != 1 || d.Optimum != 1 {
			t.Errorf("%s %s: the whole space is searched, and the mean is %v, the optimum found %v", d.Space, d.Strategy, d.Mean, d.Optimum)
		}
		for e := range 600 {
			if c := d.Curve; !(0 <= c.Low[e] && c.Low[e] <= c.High[e] && c.High[e] <= 1 && c.Mean[e] <= 1) || e > 0 && c.Mean[e] < c.Mean[e-1] {
				t.Fatalf("%s %s: after %d evaluations the mean is %v in %v to %v", d.Space, d.Strategy, e+1, c.Mean[e], c.Low[e], c.High[e])
			}
		}
	}
	// Every failed configuration is met once.
	failed := 0.0
	for p := range b.Spaces[0].Problem.Space().All() {
		if b.Spaces[0].Problem.Lookup(p).Status != space.OK {
			failed++
		}
	}
	if r.Spaces[0].Wasted != failed {
		t.Errorf("%v wasted evaluations, want %v", r.Spaces[0].Wasted, failed)
	}
	text, err := json.Marshal(r.Overall[0])
	if err != nil || !strings.HasPrefix(string(text), `{"strategy":"random","mean":{"25":`) || !strings.Contains(string(text), `"600":1},"optimum":1,`) {
		t.Errorf("%s, %v", text, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Run(ctx); err != context.Canceled {
		t.Errorf("cancelled: %v", err)
	}
}

// TestDataError: the error is what the means of the seeds, each run alone, differ by, and one seed has none.
func TestDataError(t *testing.T) {
	b := bench.Data{
		Spaces: []bench.DataSpace{dataSpace(t, "one", 1), dataSpace(t, "two", 2)}, Strategies: []string{"random", "ils"},
		Seeds: []uint64{1, 2, 3, 4, 5}, Evaluations: 50,
	}
	all, err := b.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var alone []*bench.DataReport
	for _, seed := range b.Seeds {
		b.Seeds = []uint64{seed}
		r, err := b.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		alone = append(alone, r)
		if text, err := json.Marshal(r.Overall[0]); err != nil || !strings.Contains(string(text), `"standard_error":{}`) {
			t.Errorf("one seed: %s, %v", text, err)
		}
	}
	check := func(d bench.DataResult, mean func(r *bench.DataReport) bench.Checkpoints) {
		if !slices.Equal(d.Error.At, []int{25, 50}) || len(d.Error.Value) != 2 {
			t.Fatalf("errors %v at %v", d.Error.Value, d.Error.At)
		}
		for i, got := range d.Error.Value {
			sum := 0.0
			for j, r := range alone {
				for _, s := range alone[:j] {
					difference := mean(r).Value[i] - mean(s).Value[i]
					sum += difference * difference
				}
			}
			if want := math.Sqrt(sum / 5 / 5 / 4); want == 0 || math.Abs(got-want) > 1e-12 {
				t.Errorf("%s %s: after %d evaluations the error is %v, want %v", d.Space, d.Strategy, d.Error.At[i], got, want)
			}
		}
	}
	for k, d := range all.Spaces {
		check(d, func(r *bench.DataReport) bench.Checkpoints { return r.Spaces[k].Mean })
	}
	for k, d := range all.Overall {
		check(d, func(r *bench.DataReport) bench.Checkpoints { return r.Overall[k].Mean })
	}
}

func BenchmarkDataSearch(b *testing.B) {
	bench := bench.Data{Spaces: []bench.DataSpace{dataSpace(b, "one", 1)}, Strategies: []string{"random"}, Seeds: []uint64{1}, Evaluations: 500, Jobs: 1}
	for b.Loop() {
		if _, err := bench.Run(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
