package bench_test

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"tune/kernels"
	"tune/kernels/recorded"
	"tune/results/exchange"
	"tune/search/bench"
	"tune/space"
)

// tradeSpace makes a measured space whose second column falls where the cost grows.
func tradeSpace(t testing.TB, name string, seconds func(a, b int) float64) bench.DataSpace {
	t.Helper()
	f := &exchange.File{Space: name, Objective: "time", Unit: "ms", Parameters: []space.Parameter{space.Range("a", 0, 29), space.Range("b", 0, 19)}}
	for a := range 30 {
		for b := range 20 {
			o := space.Outcome{Status: space.OK, Cost: 1 + float64(a) + float64(b*b)/10, Seconds: seconds(a, b)}
			if (a+b)%11 == 10 {
				o = space.Fail(space.Crashed, "RuntimeFailedConfig")
			}
			f.Rows = append(f.Rows, exchange.Row{Ordinals: []int{a, b}, Outcome: o})
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

func trading(a, b int) float64 { return 100/(1+float64(a)) + float64(b) }

// TestObjectives: the true front has a volume of 1, which a search of all points reaches, and no search exceeds; a search that learns finds
// more of it than random points do. The report does not depend on the number of jobs.
func TestObjectives(t *testing.T) {
	const auto = "auto:pool=60,samples=1"
	b := bench.Objectives{
		Spaces: []bench.DataSpace{tradeSpace(t, "one", trading), tradeSpace(t, "two", func(a, b int) float64 { return trading(a, 19-b) })},
		Second: []string{"seconds"}, Strategies: []string{"random", "nsga2", auto}, Seeds: []uint64{1, 2, 3}, Evaluations: []int{30, 60},
	}
	var reports []*bench.ObjectivesReport
	for _, jobs := range []int{1, 5} {
		b.Jobs = jobs
		r, err := b.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		reports = append(reports, r)
	}
	r := reports[0]
	if !reflect.DeepEqual(r, reports[1]) {
		t.Error("the report depends on the number of jobs")
	}
	if len(r.Tasks) != 2 || len(r.Results) != 12 || len(r.Overall) != 6 || r.Results[0].Task != "one seconds" || len(r.Left) != 0 {
		t.Fatalf("%d tasks, %d results, %d overall, first %+v", len(r.Tasks), len(r.Results), len(r.Overall), r.Results[0])
	}
	volume := map[string]float64{}
	for _, o := range r.Overall {
		if !(o.Volume.Mean > 0 && o.Volume.Mean < 1) || !(o.Volume.Error > 0) {
			t.Errorf("%+v", o)
		}
		volume[o.Strategy] = o.Volume.Mean // the last is that of most evaluations
	}
	if volume[auto] < volume["random"]+0.05 {
		t.Errorf("after 60 evaluations there is %v", volume)
	}
	b.Strategies, b.Evaluations = []string{"grid", "random", "nsga2"}, []int{600}
	all, err := b.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range all.Overall {
		if math.Abs(o.Volume.Mean-1) > 1e-12 || o.Volume.Error > 1e-12 {
			t.Errorf("all points: %+v", o)
		}
	}
}

// TestObjectivesRows: a task lists every point, and the values of those that are right, so that its front and volume can be computed again.
func TestObjectivesRows(t *testing.T) {
	b := bench.Objectives{
		Spaces:     []bench.DataSpace{tradeSpace(t, "one", trading), tradeSpace(t, "flat", func(a, b int) float64 { return float64(1 + a + b) })},
		Strategies: []string{"grid"}, Seeds: []uint64{1, 2}, Evaluations: []int{10}, Rows: true,
	}
	r, err := b.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Left) != 1 || r.Left[0] != "flat seconds" || len(r.Tasks) != 1 {
		t.Fatalf("left out are %q of %d tasks", r.Left, len(r.Tasks))
	}
	task := r.Tasks[0]
	if len(task.Rows) != 600 || len(task.Values) != 600 || task.Sizes[0] != 30 || task.Names[1] != "b" || !task.Log[0] || !task.Log[1] {
		t.Fatalf("%+v", task)
	}
	var places [][]float64
	low, high := task.Front[0], task.Front[len(task.Front)-1]
	right := 0
	for i, v := range task.Values {
		if (task.Rows[i][0]+task.Rows[i][1])%11 == 10 != (len(v) == 0) {
			t.Fatalf("%v has the values %v", task.Rows[i], v)
		}
		if len(v) > 0 {
			right++
			places = append(places, []float64{math.Log(v[0]/low[0]) / math.Log(high[0]/low[0]), math.Log(v[1]/high[1]) / math.Log(low[1]/high[1])})
		}
	}
	if v := space.Hypervolume(places, []float64{task.Reference, task.Reference}); math.Abs(v-task.Volume) > 1e-9 || right != task.Points {
		t.Errorf("the volume is %v of %d points, and the task says %v of %d", v, right, task.Volume, task.Points)
	}
}

func TestObjectivesMistakes(t *testing.T) {
	good := bench.Objectives{Spaces: []bench.DataSpace{tradeSpace(t, "one", trading)}, Strategies: []string{"nsga2"}, Seeds: []uint64{1, 2}, Evaluations: []int{5}}
	for want, spoil := range map[string]func(*bench.Objectives){
		`--second: "spred" is no column: want compile, seconds, spread (did you mean "spread"?)`: func(b *bench.Objectives) { b.Second = []string{"spred"} },
		"--second: spread is given twice":                                     func(b *bench.Objectives) { b.Second = []string{"spread", "spread"} },
		"--strategies: ils looks for the least cost alone: want ":             func(b *bench.Objectives) { b.Strategies = []string{"ils"} },
		"--seeds: 1: want 2 or more":                                          func(b *bench.Objectives) { b.Seeds = b.Seeds[:1] },
		"--evals: [20 10]: want numbers from 1, ascending":                    func(b *bench.Objectives) { b.Evaluations = []int{20, 10} },
		"no space makes a task: want files that have one of the columns, and": func(b *bench.Objectives) { b.Second = []string{"spread"} },
	} {
		b := good
		spoil(&b)
		if _, err := b.Run(t.Context()); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
