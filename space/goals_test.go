package space

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestParseGoals: goals are read as they are written, and what is none is refused.
func TestParseGoals(t *testing.T) {
	for text, want := range map[string]Goals{
		"":                           nil,
		"time":                       {{}},
		"cost,error":                 {{}, {Metric: "error"}},
		"ns, size":                   {{}, {Metric: "size"}},
		"time,speed:maximise,x":      {{}, {Metric: "speed", Maximise: true}, {Metric: "x"}},
		"time:minimise,e:minimise":   {{}, {Metric: "e"}},
		"time,max_error,error_share": {{}, {Metric: MetricMaxError}, {Metric: "error_share"}},
		"time:1%,q:maximise:0.25":    {{Box: 1, Percent: true}, {Metric: "q", Maximise: true, Box: 0.25}},
		"q:maximise,e,time":          {{}, {Metric: "q", Maximise: true}, {Metric: "e"}},
		"cost:7%:minimise,e:1e-6":    {{Box: 7, Percent: true}, {Metric: "e", Box: 1e-6}},
	} {
		got, err := ParseGoals(text, "ns")
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
		if again, err := ParseGoals(got.String(), "ns"); err != nil || !slices.Equal(again, got) {
			t.Errorf("%q is written as %q, which reads as %v, %v", text, got, again, err)
		}
	}
	for text, want := range map[string]string{
		"error":                    `"error" leaves out the cost: write "cost,error", where the cost may be called cost, time or ns; to tune error alone, have it be the cost`,
		"q:maximise,error":         `write "cost,q:maximise,error"`,
		"cycles,error":             "leaves out the cost",
		"tme":                      `(did you mean "time"?)`,
		"error,cost,time":          `"time" is the cost again: leave it out`,
		"time,cost":                `"cost" is the cost again: leave it out`,
		"time,":                    `"" is no objective: want a word such as time or error`,
		"time,a b":                 "is no objective",
		"time,a:max":               "is no objective",
		"time,a:0%":                "is no objective",
		"time,a:-1":                "is no objective",
		"time,a:NaN":               "is no objective",
		"time,a:1%:2%":             "is no objective",
		"time,a:":                  "is no objective",
		"time,a:maximise:maximise": "is no objective",
		"time,a:maximise:minimise": "want one of :maximise and :minimise",
		"time:5%":                  "is for fronts: want several objectives",
		"time:maximise":            `"time:maximise": the cost is minimised: leave :maximise out`,
		"time,error,max_error":     "is there twice",
		"time,a,b,c,d,e,f":         "7 objectives: want 6 at most",
	} {
		if _, err := ParseGoals(text, "ns"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	if _, err := ParseGoals("cycles,slots", "cycles"); err != nil {
		t.Error(err)
	}
	for _, m := range []Metric{{"error", 3}, {MetricMaxError, 3}} {
		if v, ok := (Goal{Metric: "error"}).Measured(Outcome{Status: OK, Metrics: []Metric{m}}); !ok || v != 3 {
			t.Errorf("the error of %v is %v, %v", m, v, ok)
		}
	}
	if err := (Goals{{}, {Metric: "slot"}}).Lacking(Outcome{Status: OK, Metrics: []Metric{{"slots", 1}}}, false); err == nil || !strings.Contains(err.Error(), `did you mean "slots"?`) {
		t.Errorf("a metric that is not there: %v", err)
	}
	if err := (Goals{{}, {Metric: "slot"}}).Lacking(Outcome{Status: OK}, false); err == nil || err.Error() != "slot: this kernel has no metrics beside its cost (a program can report more numbers: name them under metrics in its file)" {
		t.Errorf("a kernel without metrics: %v", err)
	}
	compiled := Outcome{Status: OK, Metrics: []Metric{{MetricMaxError, 0}, {MetricSamples, 9}}}
	want := `siz: this kernel has no such metric: want one of error, samples, size, instructions, cpu_cycles, cache_misses, branch_misses, page_faults, energy (did you mean "size"?)`
	if err := (Goals{{}, {Metric: "siz"}}).Lacking(compiled, true); err == nil || err.Error() != want {
		t.Errorf("a kernel that is measured:\n%v\nwant\n%s", err, want)
	}
}

// twoGoals are a cost and a metric to maximise.
var twoGoals = Goals{{}, {Metric: "m", Maximise: true}}

// entryOf is an entry with a cost and the metric m.
func entryOf(number int, cost, m float64) Entry {
	return Entry{Number: number, Key: "k", Outcome: Outcome{Status: OK, Cost: cost, Metrics: []Metric{{"m", m}}}}
}

// TestMeasured: each metric that is asked for, or that a goal needs, is measured once, whatever it is called.
func TestMeasured(t *testing.T) {
	goals, err := ParseGoals("time,energy,size,error", "ns")
	if err != nil {
		t.Fatal(err)
	}
	asked, err := ParseMeasured("energy, page-faults,cpu_cycles")
	if want := []string{MetricCycles, MetricPageFaults, MetricEnergy}; err != nil || !slices.Equal(asked, want) {
		t.Errorf("%q, %v, want %q", asked, err, want)
	}
	if got, want := goals.Measures(asked), []string{MetricCodeBytes, MetricCycles, MetricPageFaults, MetricEnergy}; !slices.Equal(got, want) {
		t.Errorf("%q are measured, want %q", got, want)
	}
	if got := Goals(nil).Measures(nil); len(got) > 0 || !goals.Needs(MetricCodeBytes) || goals.Needs(MetricCycles) {
		t.Errorf("%q are measured of nothing", got)
	}
	for text, want := range map[string]string{"siz": `did you mean "size"`, "size,code-bytes": "twice", "error": "is no metric that can be asked for", "size,": `"" is no metric`} {
		if got, err := ParseMeasured(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %q, %v, want %s", text, got, err, want)
		}
	}
}

// TestFront: a front holds what nothing dominates, whatever the order is in which entries come.
func TestFront(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var all []Entry
		for i := range 30 {
			e := entryOf(i, float64(r.IntN(6)), float64(r.IntN(6)))
			switch r.IntN(8) {
			case 0:
				e.Outcome = Fail(Crashed, "gone")
			case 1:
				e.Outcome.Metrics = nil
			case 2:
				e.Outcome.Fidelity = 1
			}
			all = append(all, e)
		}
		var want []Entry
		for _, a := range all {
			va, ok := twoGoals.Values(a.Outcome)
			on := ok && a.Outcome.Counts()
			for _, b := range all {
				vb, ok := twoGoals.Values(b.Outcome)
				if on && ok && b.Outcome.Counts() && (Dominates(vb, va) || slices.Equal(va, vb) && b.Number < a.Number) {
					on = false
				}
			}
			if on {
				want = append(want, a)
			}
		}
		slices.SortFunc(want, func(a, b Entry) int { return Objective{}.Compare(a, b) })
		for range 3 {
			f := NewFront(twoGoals)
			for _, i := range r.Perm(len(all)) {
				f.Offer(all[i])
			}
			got := f.Entries()
			if !slices.EqualFunc(got, want, func(a, b Entry) bool { return a.Number == b.Number }) {
				t.Fatalf("the front is %v, want %v", got, want)
			}
		}
	}
}

// TestHypervolume: it is the share of random points that something dominates.
func TestHypervolume(t *testing.T) {
	if v := Hypervolume([][]float64{{1, 3}, {2, 2}, {3, 1}, {4, 0}, {2.5, 2.5}}, []float64{4, 4}); v != 6 {
		t.Errorf("it is %v, want 6", v)
	}
	if v := Hypervolume(nil, []float64{1, 1}); v != 0 {
		t.Errorf("of nothing it is %v", v)
	}
	r := rand.New(rand.NewPCG(3, 4))
	for _, goals := range []int{1, 2, 3, 4} {
		var values [][]float64
		for range 8 {
			v := make([]float64, goals)
			for i := range v {
				v[i] = r.Float64() * 1.2
			}
			values = append(values, v)
		}
		reference := slices.Repeat([]float64{1}, goals)
		hits := 0
		const darts = 40000
		for range darts {
			at := make([]float64, goals)
			for i := range at {
				at[i] = r.Float64()
			}
			if slices.ContainsFunc(values, func(v []float64) bool { return Dominates(v, at) }) {
				hits++
			}
		}
		if got, want := Hypervolume(values, reference), float64(hits)/darts; math.Abs(got-want) > 0.015 {
			t.Errorf("%d goals: %v, and %v of darts hit", goals, got, want)
		}
	}
}

// TestPick: limits and the best goal choose a point of a front.
func TestPick(t *testing.T) {
	front := []Entry{entryOf(0, 10, 1), entryOf(1, 10.5, 4), entryOf(2, 12, 6), entryOf(3, 40, 9)}
	for text, want := range map[string]int{
		"min time":                        0,
		"max m":                           3,
		"time <= 1.1*best, max m":         1,
		"time<=1.2 * best,max m":          2,
		"m >= 5":                          2,
		"m >= best":                       3,
		"time <= 11":                      0,
		"time <= 0.011us, max m":          1,
		"time <= 12 ns, max m":            2,
		"m >= 0.5*best, m <= 8, min cost": 2,
	} {
		p, err := ParsePick(text, twoGoals, "ns")
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if e, err := p.From(front); err != nil || e.Number != want {
			t.Errorf("%q picks %d, %v, want %d", text, e.Number, err, want)
		}
	}
	for text, want := range map[string]string{
		"":                 "nothing to pick by",
		"time":             "nothing to pick by",
		"time < 3":         "nothing to pick by",
		"time <= many":     "nothing to pick by",
		"time <= 2best":    "nothing to pick by",
		"time <= 2us*best": "nothing to pick by",
		"time <= 2kg":      "nothing to pick by",
		"m <= 2us":         "nothing to pick by",
		"time <= NaN":      "nothing to pick by",
		"speed <= 3":       "is no objective of this run: want one of cost,m:maximise",
		"min m":            "the run has the objective m:maximise",
		"min time,max m":   "only one goal can be the best",
	} {
		if _, err := ParsePick(text, twoGoals, "ns"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	// A tenth of the size of a negative best is on the same side of it as of a positive one.
	below := []Entry{entryOf(0, -10, -6), entryOf(1, -9.5, -4), entryOf(2, -5, -2)}
	for text, want := range map[string]int{"time <= 1.1*best, max m": 1, "time <= best, max m": 0, "m >= 0.5*best": 2, "m >= 0*best": 1} {
		p, err := ParsePick(text, twoGoals, "ns")
		if err != nil {
			t.Fatal(err)
		}
		if e, err := p.From(below); err != nil || e.Number != want {
			t.Errorf("%q picks %d below 0, %v, want %d", text, e.Number, err, want)
		}
	}
	p, _ := ParsePick("time <= 5", twoGoals, "ns")
	if _, err := p.From(front); !errors.Is(err, ErrNoPick) {
		t.Errorf("nothing within the limits: %v", err)
	}
}

// TestPickRates: where the cost is the inverse of a rate, a number limits the rate, and best is the least cost.
func TestPickRates(t *testing.T) {
	front := []Entry{entryOf(0, 1/9e6, 1), entryOf(1, 1/5e6, 4), entryOf(2, 1/2e6, 6)}
	for text, want := range map[string]int{"cost >= 4Melem/s, max m": 1, "cost >= 4000000, max m": 1, "cost >= 1 Melem/s, max m": 2, "cost <= 3Melem/s": 2, "cost <= 2*best, max m": 1} {
		p, err := ParsePick(text, twoGoals, string(InverseOf("elem/s")))
		if err != nil {
			t.Errorf("%q: %v", text, err)
		} else if e, err := p.From(front); err != nil || e.Number != want {
			t.Errorf("%q picks %d, %v, want %d", text, e.Number, err, want)
		}
	}
	for _, text := range []string{"cost >= 4kg", "cost >= 0", "m >= 4Melem/s"} {
		if _, err := ParsePick(text, twoGoals, string(InverseOf("elem/s"))); err == nil || !strings.Contains(err.Error(), "nothing to pick by") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestBoxes: of the points of a front, those in boxes that no other box dominates are kept, one of each, whatever the order.
func TestBoxes(t *testing.T) {
	goals := Goals{{Box: 10, Percent: true}, {Metric: "m", Maximise: true, Box: 2}}
	r := rand.New(rand.NewPCG(7, 8))
	for range 100 {
		var all []Entry
		for i := range 40 {
			m := r.Float64() * 20
			all = append(all, entryOf(i, (m+1)*(m+1)*(1+r.Float64()), m-8))
		}
		place := func(e Entry) []float64 {
			v, _ := goals.Values(e.Outcome)
			return []float64{math.Floor(math.Log(v[0]) / math.Log(1.1)), math.Floor(v[1] / 2)}
		}
		var want []int
		for _, a := range all {
			if !slices.ContainsFunc(all, func(b Entry) bool { return Dominates(place(b), place(a)) }) {
				// The least cost of a box that is not the best of another number is on no front, but the least of those that are on it is.
				want = append(want, a.Number)
			}
		}
		f, again := NewFront(goals), NewFront(goals)
		for i := range all {
			f.Offer(all[i])
			again.Offer(all[len(all)-1-i])
		}
		got := f.Entries()
		if !slices.EqualFunc(got, again.Entries(), func(a, b Entry) bool { return a.Number == b.Number }) {
			t.Fatal("the front depends on the order")
		}
		var boxes [][]float64
		for _, e := range got {
			if !slices.Contains(want, e.Number) || slices.ContainsFunc(boxes, func(b []float64) bool { return slices.Equal(b, place(e)) }) {
				t.Fatalf("entry %d of box %v is on the front %v", e.Number, place(e), got)
			}
			boxes = append(boxes, place(e))
		}
		for _, n := range want {
			if !slices.ContainsFunc(boxes, func(b []float64) bool { return slices.Equal(b, place(all[n])) }) {
				t.Fatalf("the front has nothing of box %v", place(all[n]))
			}
		}
	}
	// Boxes of numbers of any sign keep their order.
	for _, g := range []Goal{{Box: 10, Percent: true}, {Box: 0.3}, {}} {
		numbers := []float64{math.Inf(-1), -1e300, -5, -1, -0.95, -1e-300, 0, 1e-300, 0.95, 1, 5, 1e300, math.Inf(1)}
		for i := range numbers[1:] {
			if a, b := g.box(numbers[i]), g.box(numbers[i+1]); !(a <= b) {
				t.Errorf("%+v: %v has the box %v, and %v has %v", g, numbers[i], a, numbers[i+1], b)
			}
		}
	}
}

// TestValues: what is minimised is the cost, and each metric, or its negative where more is better. What failed or lacks a metric has none.
func TestValues(t *testing.T) {
	right := Outcome{Status: OK, Cost: 7, Metrics: []Metric{{"m", 3}, {"e", 0.5}}}
	for _, c := range []struct {
		goals   Goals
		outcome Outcome
		want    []float64
	}{
		{nil, right, []float64{7}},
		{Goals{{}}, right, []float64{7}},
		{Goals{{}, {Metric: "m", Maximise: true}, {Metric: "e"}}, right, []float64{7, -3, 0.5}},
		{Goals{{}, {Metric: "gone"}}, right, nil},
		{nil, Fail(Crashed, "gone"), nil},
	} {
		if got, ok := c.goals.Values(c.outcome); !slices.Equal(got, c.want) || ok != (c.want != nil) {
			t.Errorf("%v of %+v: %v, %v, want %v", c.goals, c.outcome, got, ok, c.want)
		}
	}
}
