package schedule

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tune/kernels"
	"tune/results"
	"tune/search/strategies"
	"tune/space"
)

func TestReproduce(t *testing.T) {
	batch := func(first, count, left int) space.Batch {
		return space.Batch{First: first, Count: count, Progress: space.Progress{Told: first, Evaluations: left}}
	}
	const run = "tune run k --shape a=1 --strategy evolve --seed 7 --evals "
	for _, c := range []struct {
		name    string
		batches []space.Batch
		trial   int
		want    []string
	}{
		{"one batch", []space.Batch{batch(0, 24, 100)}, 5, []string{run + "6"}},
		{"a wall budget", []space.Batch{batch(0, 24, 0), batch(24, 24, 0)}, 30, []string{run + "31"}},
		{"cut short in the end", []space.Batch{batch(0, 24, 30), batch(24, 6, 6)}, 29, []string{run + "30"}},
		{"cut short, then resumed", []space.Batch{batch(0, 24, 30), batch(24, 6, 6), batch(30, 24, 70)}, 40, []string{run + "30 --dir again", "tune resume again --evals 41"}},
		{"before it was cut short", []space.Batch{batch(0, 24, 30), batch(24, 6, 6), batch(30, 24, 70)}, 20, []string{run + "21"}},
		{"twice", []space.Batch{batch(0, 10, 10), batch(10, 10, 10), batch(20, 24, 70)}, 40,
			[]string{run + "10 --dir again", "tune resume again --evals 20", "tune resume again --evals 41"}},
	} {
		m := Maker{
			Batches: c.batches, Kernel: &kernels.Opened{Info: kernels.Info{Exact: true}},
			Settings: results.Settings{Kernel: "k", Shape: "a=1", Strategy: "evolve", Seed: 7},
		}
		if got := m.reproduce(c.trial); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestReproduceConstants: the commands name the constants that are not the defaults, and where these are not to be had there is none.
func TestReproduceConstants(t *testing.T) {
	m := Maker{
		Batches: []space.Batch{{Count: 4}}, Kernel: &kernels.Opened{Info: kernels.Info{Exact: true}},
		Settings: results.Settings{Kernel: "k", Strategy: "evolve", Seed: 7, StrategyVersion: 1,
			StrategyConfig: "population=24,elites=4,contestants=3,crossover=0.7,mutation=2,patience=9"},
	}
	want := []string{"tune run k --strategy evolve:mutation=2,patience=9 --seed 7 --evals 3"}
	if got := m.reproduce(2); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	m.Settings.StrategyVersion = 99
	if got := m.reproduce(2); got != nil {
		t.Errorf("%q, want none", got)
	}
}

// TestReproduceQuotes: the commands are read by a shell, whatever the files are called.
func TestReproduceQuotes(t *testing.T) {
	m := Maker{
		Batches: []space.Batch{{Count: 4}}, Kernel: &kernels.Opened{Info: kernels.Info{Exact: true, Files: kernels.Files{Data: &kernels.DataFile{Path: "my data/$(it).json"}}}},
		Settings: results.Settings{Kernel: "recorded", Strategy: "evolve", Seed: 7,
			From: []results.From{{File: results.File{Path: "old run;1"}}, {File: results.File{Path: "plain"}}}},
	}
	want := []string{"tune run recorded --data 'my data/$(it).json' --from 'old run;1' --from plain --strategy evolve --seed 7 --evals 3"}
	if got := m.reproduce(2); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestReproducePaced: a strategy that fits itself to its budget is given the budget that the run had.
func TestReproducePaced(t *testing.T) {
	batch := func(first, count, limit int) space.Batch {
		return space.Batch{First: first, Count: count, Progress: space.Progress{Told: first, Evaluations: max(limit-first, 0)}}
	}
	const run = "tune run k --shape a=1 --strategy auto --seed 7 --evals "
	replay := []string{"tune replay runs/r"}
	for _, c := range []struct {
		name    string
		batches []space.Batch
		wall    time.Duration
		trial   int
		want    []string
	}{
		{"one batch", []space.Batch{batch(0, 24, 100)}, 0, 5, []string{run + "100"}},
		{"later", []space.Batch{batch(0, 24, 100), batch(24, 24, 100)}, 0, 30, []string{run + "100"}},
		{"resumed", []space.Batch{batch(0, 24, 30), batch(24, 6, 30), batch(30, 24, 100)}, 0, 40,
			[]string{run + "30 --dir again", "tune resume again --evals 100"}},
		{"before it was resumed", []space.Batch{batch(0, 24, 30), batch(24, 6, 30), batch(30, 24, 100)}, 0, 20, []string{run + "30"}},
		{"interrupted, then resumed with more", []space.Batch{batch(0, 24, 100), batch(24, 24, 200)}, 0, 30, replay},
		{"a wall budget", []space.Batch{batch(0, 24, 0), batch(24, 24, 0)}, 0, 30, replay},
		{"both", []space.Batch{batch(0, 24, 100)}, time.Minute, 5, replay},
	} {
		m := Maker{
			Batches: c.batches, Run: "runs/r", Kernel: &kernels.Opened{Info: kernels.Info{Exact: true}},
			Settings: results.Settings{Kernel: "k", Shape: "a=1", Strategy: "auto", Seed: 7, Budget: results.Budget{WallSeconds: c.wall.Seconds()}},
		}
		if got := m.reproduce(c.trial); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestAgain: the settings of a run give the command that begins it, whatever became of it.
func TestAgain(t *testing.T) {
	target, slow := 1.5e6, 1/2e7
	set := results.Settings{Kernel: "k", Shape: "a=1", Unit: "ns", Strategy: "auto", Seed: 7, StrategyVersion: strategyVersion(t, "auto")}
	for name, c := range map[string]struct {
		change func(*results.Settings)
		info   kernels.Info
		want   string
	}{
		"no budget": {func(*results.Settings) {}, kernels.Info{}, "tune run k --shape a=1 --strategy auto --seed 7"},
		"measured": {func(s *results.Settings) {
			s.Budget = results.Budget{WallSeconds: 90, Evaluations: 30, Target: &target}
		}, kernels.Info{},
			"tune run k --shape a=1 --strategy auto --seed 7 --budget 1m30s --evals 30 --target 1.5e+06ns"},
		"a rate":     {func(s *results.Settings) { s.Unit, s.Budget.Target = "1/(elem/s)", &slow }, kernels.Info{}, "tune run k --shape a=1 --strategy auto --seed 7 --target 2e+07"},
		"points":     {func(s *results.Settings) { s.Unit, s.Budget.Target = "points", &target }, kernels.Info{}, "tune run k --shape a=1 --strategy auto --seed 7 --target 1.5e+06"},
		"own kernel": {func(s *results.Settings) { s.Shape, s.Metrics = "", []string{"energy", "ipc"} }, kernels.Info{Files: kernels.Files{Path: "my k.yaml"}}, "tune run -c 'my k.yaml' --strategy auto --seed 7 --metrics energy,ipc"},
		"elsewhere":  {func(s *results.Settings) { s.For, s.Pinned = "ada", map[string]string{"n": "2"} }, kernels.Info{}, "tune run k --pin n=2 --shape a=1 --strategy auto --seed 7 --for ada"},
		"simulated": {func(s *results.Settings) { s.Clock, s.Jobs, s.Budget.WallSeconds = results.Simulated, 3, 60 }, kernels.Info{Files: kernels.Files{Data: &kernels.DataFile{Path: "m.json"}}},
			"tune run k --data m.json --shape a=1 --strategy auto --seed 7 --budget 1m0s --jobs 3"},
		"a client":            {func(*results.Settings) {}, kernels.Info{Asked: true}, "tune replay 'runs/it is'"},
		"a program's kernel":  {func(s *results.Settings) { s.Program = true }, kernels.Info{}, ""},
		"a function":          {func(s *results.Settings) { s.Function = true }, kernels.Info{}, ""},
		"an unknown strategy": {func(s *results.Settings) { s.StrategyVersion = 99 }, kernels.Info{}, ""},
	} {
		s := set
		c.change(&s)
		if got := Again(s, c.info, "runs/it is"); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// strategyVersion is the version of a strategy.
func strategyVersion(t *testing.T, name string) int {
	t.Helper()
	s, err := strategies.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return s.Version
}

func TestReserve(t *testing.T) {
	for _, test := range []struct {
		wall       time.Duration
		call       time.Duration
		evaluation time.Duration
		least      time.Duration
		most       time.Duration
	}{
		{0, time.Second, time.Second, 0, 0},
		{10 * time.Minute, time.Millisecond, time.Second, 9 * time.Second, 15 * time.Second},
		{10 * time.Minute, 17 * time.Second, 55 * time.Second, 60 * time.Second, 150 * time.Second},
		{10 * time.Second, time.Millisecond, time.Second, 3 * time.Second, 3500 * time.Millisecond},
	} {
		got := Reserve(test.wall, float64(test.call), test.evaluation)
		if got < test.least || got > test.most {
			t.Errorf("%s: %v is kept", fmt.Sprint(test), got)
		}
	}
}

// TestDigest: in whatever order outcomes come, the digest ranks those that it keeps as results.Ranking does.
func TestDigest(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 50 {
		h := space.History{Entries: map[int]space.Entry{}, Batches: []space.Batch{{Count: 4 * Kept}}}
		for n := range rng.IntN(4 * Kept) {
			e := space.Entry{Number: n, Key: []string{"even", "odd"}[n%2], Outcome: space.Outcome{Status: space.OK, Cost: float64(rng.IntN(50))}}
			switch rng.IntN(5) {
			case 0:
				e.Outcome = space.Fail(space.Invalid, "no")
			case 1:
				e.Outcome.Fidelity = 1
			}
			h.Entries[n] = e
		}
		end := results.End{Why: "x"}
		if round%2 == 0 && len(h.Entries) > 1 {
			end.Told = rng.IntN(len(h.Entries))
		}
		odd := func(e space.Entry) bool { return e.Key == "odd" }
		d := NewDigest(&results.Run{}, odd)
		var group sync.WaitGroup
		for e := range maps.Values(h.Entries) { // in no order
			group.Go(func() {
				d.mu.Lock()
				defer d.mu.Unlock()
				d.add(&e)
			})
		}
		group.Wait()
		whole, got, serial := d.Ranking(end)
		want, err := results.Ranking(end.Trim(h), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		if whole && len(got) != len(want) || len(got) > len(want) || !reflect.DeepEqual(got, want[:len(got):len(got)]) && len(got) > 0 {
			t.Fatalf("round %d: whole is %t, kept %d of %d, or in another order", round, whole, len(got), len(want))
		}
		want = slices.DeleteFunc(want, func(e space.Entry) bool { return !odd(e) })
		if len(serial) > len(want) || len(want) > 0 && (len(serial) == 0 && end.Told == 0 || !reflect.DeepEqual(serial, want[:len(serial):len(serial)]) && len(serial) > 0) {
			t.Fatalf("round %d: of the serial ones kept %d of %d, or in another order", round, len(serial), len(want))
		}
	}
}

func TestRatio(t *testing.T) {
	for _, c := range []struct{ base, cost, want float64 }{{10, 5, 2}, {5, 10, 0.5}, {0, 5, 0}, {5, 0, 0}, {-1, 5, 0}, {63, 5e-324, 0}, {1e300, 1e-300, 0}} {
		if got := results.RatioOf(c.base, c.cost); got != c.want {
			t.Errorf("%v over %v is %v", c.base, c.cost, got)
		}
	}
}

// TestPatience: the final measurement takes what it is given, two thirds of what is left of a budget, and a second at the least.
func TestPatience(t *testing.T) {
	for _, c := range []struct {
		name        string
		hurry       bool
		limit, left time.Duration // 0 for none
		want        time.Duration
	}{
		{"nothing is given", false, 0, 0, finalLimit},
		{"somebody waits", true, time.Minute, time.Hour, shortLimit},
		{"somebody waits, and asked for less", true, shortLimit / 2, time.Hour, shortLimit / 2},
		{"a limit", false, 5 * time.Second, 0, 5 * time.Second},
		{"much is left", false, 0, time.Hour, finalLimit},
		{"much is left, and there is a limit", false, 5 * time.Second, time.Hour, 5 * time.Second},
		{"two thirds of what is left", false, 0, 15 * time.Second, 10 * time.Second},
		{"little is left", false, 0, time.Second, shortLimit},
		{"the time is over", false, 0, -time.Minute, shortLimit},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := Maker{Hurry: c.hurry, Limit: c.limit}
			if c.left != 0 {
				m.Until = time.Now().Add(c.left)
			}
			if got := m.patience(); got != c.want {
				t.Errorf("%s: %v, want %v", c.name, got, c.want)
			}
		})
	}
}

// Of a key in the usual form the values are taken at once; any other form is left to the caller.
func TestTakeValues(t *testing.T) {
	names := []string{"a", "b", "bc"}
	for key, want := range map[string][]string{
		"a=1 b=two bc=3.5": {"1", "two", "3.5"},
		"a=1 bc=3":         {"1", "", "3"},
		"b=1":              {"", "1", ""},
		"a= bc=":           {"", "", ""},
		"":                 {"", "", ""},
		"bc=3 a=1":         nil,
		"a=1 d=2":          nil,
		"a=1 a=2":          nil,
		"a=1 ":             nil,
		" a=1":             nil,
		"a=1  b=2":         nil,
		`a="x y" b=2`:      nil,
		"a":                nil,
		"ab=1":             nil,
	} {
		values := []string{"old", "old", "old"}
		if ok := takeValues(values, key, names); ok != (want != nil) || ok && !slices.Equal(values, want) {
			t.Errorf("the values of %q are %q, %t; want %q", key, values, ok, want)
		}
	}
}

// TestConfidence: what a schedule says of its intervals is what a confirming series has.
func TestConfidence(t *testing.T) {
	if got, want := float64((results.Schedule{Verdict: space.Faster}).Confidence())/100, kernels.Confirmed; got != want {
		t.Errorf("a schedule says %v, a series has %v", got, want)
	}
}
