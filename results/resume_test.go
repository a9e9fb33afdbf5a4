package results_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tune/results"
	"tune/search"
	"tune/search/searchtest"
	"tune/search/strategies"
	"tune/space"
)

// sitting is a run that can be carried out in several sittings, with its journal in a directory.
type sitting struct {
	space    *space.Space
	strategy strategies.Strategy
	seed     uint64
	budget   search.Budget
}

// evaluate fails here and there, has metrics, reasons of several lines, and the cost of a bowl. It takes a random
// time, so that of several trials some end in another order than they began.
func (s sitting) evaluate(_ context.Context, t space.Trial) (space.Outcome, error) {
	time.Sleep(rand.N(20 * time.Microsecond))
	x, y := t.Point.Int("x"), t.Point.Int("y")
	switch {
	case (x+2*y)%11 == 0:
		return space.Fail(space.CompileFailed, "line %d:\n\t\"too many registers\"", x), nil
	case x == 17:
		panic("seventeen")
	}
	return space.Outcome{
		Status: space.OK, Cost: float64((x-40)*(x-40)+(y-25)*(y-25)) / 8,
		Metrics: []space.Metric{{Name: "loads", Value: float64(x * y)}},
	}, nil
}

// sit goes on with the run in a directory, or begins it, and returns why it ended.
func (s sitting) sit(t *testing.T, dir string, jobs int) search.Result {
	t.Helper()
	path := filepath.Join(dir, results.JournalName)
	var journal *results.Journal
	var err error
	if _, missing := os.Stat(path); missing != nil {
		journal, err = results.CreateJournal(path)
	} else {
		journal, _, err = results.OpenJournal(path)
	}
	must(t, err)
	strategy, err := s.strategy.New(s.space, s.seed, strategies.Hints{})
	must(t, err)
	r, err := search.Run(t.Context(), strategy, search.EvaluatorFunc(s.evaluate), search.Settings{
		Budget: s.budget, Jobs: jobs, Recorder: journal, History: journal.Past(),
	})
	must(t, err)
	end := results.End{Why: r.Stop.String(), Elapsed: r.Elapsed.Seconds()}
	if r.Stop == search.TargetReached {
		end.Told = r.Told
	}
	must(t, journal.End(end))
	must(t, journal.Close())
	return r
}

// csv returns what the journal in a directory says, without the clock.
func (s sitting) csv(t *testing.T, dir string) []byte {
	t.Helper()
	log := s.log(t, dir)
	var out bytes.Buffer
	must(t, results.WriteCSV(&out, log.History, log.LastEnd(), []string{"x", "y"}, func(key string) ([]string, error) {
		p, err := s.space.Parse(key)
		if err != nil {
			return nil, err
		}
		x, _ := p.Value("x")
		y, _ := p.Value("y")
		return []string{x.String(), y.String()}, nil
	}))
	return out.Bytes()
}

func (s sitting) log(t *testing.T, dir string) results.Log {
	t.Helper()
	file, err := os.Open(filepath.Join(dir, results.JournalName))
	must(t, err)
	defer file.Close()
	log, _, err := results.ReadJournal(file)
	must(t, err)
	return log
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// sittings are runs that end in each of the ways that do not depend on the clock.
// Strategies with a model think for less long where brief.
func sittings(t *testing.T, brief bool) map[string]sitting {
	t.Helper()
	wide, err := space.New("wide", []space.Parameter{space.Range("x", 0, 99), space.Range("y", 0, 99)}, "x != y")
	must(t, err)
	small, err := space.New("small", []space.Parameter{space.Range("x", 10, 20), space.Range("y", 1, 12)}, "x > y")
	must(t, err)
	least := 0.0 // one point of 9,900 has it
	out := map[string]sitting{}
	for _, s := range strategies.Table() {
		if brief && (s.Name == "auto" || s.Name == "surrogate") {
			s = quick(t, s.Name)
		}
		out[s.Name+" to 150 evaluations"] = sitting{wide, s, 3, search.Budget{Evaluations: 150}}
		out[s.Name+" to the end"] = sitting{small, s, 4, search.Budget{}}
		if s.Name != "grid" {
			out[s.Name+" to the target"] = sitting{wide, s, 5, search.Budget{Target: &least, Evaluations: 5000}}
		}
	}
	return out
}

// quick returns a strategy with a model that thinks for less long. What it has to remember is the same, and auto comes to its bandit.
func quick(t *testing.T, name string) strategies.Strategy {
	t.Helper()
	text := name + ":pool=60,samples=1"
	if name == "auto" {
		text += ",lead=30"
	}
	s, err := strategies.Parse(text)
	must(t, err)
	return s
}

// TestResume cuts the journal of a whole run at random bytes, as a crash of the machine may, goes on with what is
// left, cuts that too, and goes on again: it ends with the outcomes of the run that was never cut, byte by byte.
func TestResume(t *testing.T) { testResume(t, 7, true) }

func testResume(t *testing.T, cuts int, brief bool) {
	for name, s := range sittings(t, brief) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cuts := cuts
			if name := s.strategy.Name; name == "auto" || name == "surrogate" {
				cuts = (cuts + 2) / 3 // they think for longer than the others
				if name == "surrogate" && !brief {
					cuts = (cuts + 2) / 3 // it asks for the first points of auto too
				}
				if testing.Short() {
					cuts = 1
				}
			}
			rng, whole := rand.New(rand.NewPCG(1, 1)), t.TempDir()
			want := s.sit(t, whole, 1)
			csv := s.csv(t, whole)
			journal, err := os.ReadFile(filepath.Join(whole, results.JournalName))
			must(t, err)
			if n := bytes.Count(csv, []byte("\n")); n < want.Told+1 || want.Told < 40 {
				t.Fatalf("the whole run has %d outcomes and %d lines", want.Told, n)
			}
			for i := range cuts {
				dir, jobs := t.TempDir(), []int{1, 2, 8}[i%3]
				path := filepath.Join(dir, results.JournalName)
				first := rng.IntN(len(journal) + 1)
				must(t, os.WriteFile(path, journal[:first], 0o666))
				// What was cut once is cut again further on, in another order of outcomes where there
				// are several jobs.
				s.sit(t, dir, jobs)
				again, err := os.ReadFile(path)
				must(t, err)
				second := first + rng.IntN(len(again)-first+1)
				must(t, os.WriteFile(path, again[:second], 0o666))
				got := s.sit(t, dir, jobs)
				if got.Stop != want.Stop || got.Told != want.Told || got.Valid != want.Valid || got.Best.Trial.Number != want.Best.Trial.Number {
					t.Errorf("with %d jobs, after cuts at %d and %d, the run ends with %+v, not %+v", jobs, first, second, got, want)
				}
				if text := s.csv(t, dir); !bytes.Equal(text, csv) {
					t.Errorf("with %d jobs, after cuts at %d and %d, the outcomes are\n%s\nnot\n%s", jobs, first, second, text, csv)
				}
				h := s.log(t, dir).History
				if d := searchtest.Difference(searchtest.Cut(h, len(h.Batches)-1, all), searchtest.Cut(s.log(t, whole).History, len(h.Batches)-1, all)); d != "" {
					t.Errorf("with %d jobs, after cuts at %d and %d, the journal differs: %s", jobs, first, second, d)
				}
				strategy, err := s.strategy.New(s.space, s.seed, strategies.Hints{})
				must(t, err)
				if n, err := search.Replay(strategy, h); err != nil || n != len(h.Entries) {
					t.Errorf("with %d jobs, after cuts at %d and %d, a replay compares %d trials of %d: %v", jobs, first, second, n, len(h.Entries), err)
				}
			}
		})
	}
}

func all(int) bool { return true }

// TestOneSittingOrMany stops a run again and again after a few evaluations, as an impatient user does.
func TestOneSittingOrMany(t *testing.T) {
	s := sittings(t, true)["evolve to 150 evaluations"]
	whole := t.TempDir()
	s.sit(t, whole, 1)
	for _, jobs := range []int{1, 2, 8} {
		dir, sat := t.TempDir(), 0
		for stop := search.Interrupted; stop == search.Interrupted; sat++ {
			stop = func() search.Stop {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				path := filepath.Join(dir, results.JournalName)
				journal, _, err := results.OpenJournal(path)
				if os.IsNotExist(err) {
					journal, err = results.CreateJournal(path)
				}
				must(t, err)
				strategy, err := s.strategy.New(s.space, s.seed, strategies.Hints{})
				must(t, err)
				known := journal.Past().Outcomes
				r, err := search.Run(ctx, strategy, search.EvaluatorFunc(s.evaluate), search.Settings{
					Budget: s.budget, Jobs: jobs, Recorder: journal, History: journal.Past(),
					Observe: func(e search.Event) {
						if e.Known == known+11 {
							cancel()
						}
					},
				})
				must(t, err)
				must(t, journal.End(results.End{Why: r.Stop.String(), Elapsed: r.Elapsed.Seconds()}))
				must(t, journal.Close())
				return r.Stop
			}()
		}
		if sat < 5 || !bytes.Equal(s.csv(t, dir), s.csv(t, whole)) {
			t.Errorf("with %d jobs, the outcomes of %d sittings are\n%s\nand of one\n%s", jobs, sat, s.csv(t, dir), s.csv(t, whole))
		}
	}
}
