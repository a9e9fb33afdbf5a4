package strategies_test

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"tune/search"
	"tune/search/strategies"
	"tune/space"
)

var update = flag.Bool("update", false, "rewrite the golden traces")

// traced is a search of which all that is asked is pinned.
type traced struct {
	name        string
	space       *space.Space
	outcome     func(space.Point) space.Outcome
	hints       strategies.Hints
	seeds       []uint64
	evaluations int
}

// tracedSearches go through points that fail, starts, sources and several goals. TestGolden has longer searches.
func tracedSearches(t *testing.T) []traced {
	t.Helper()
	mixed, err := space.New("mixed", []space.Parameter{
		space.Enum("word", "x", "y", "z"), space.Ints("tile", 1, 3, 7, 8, 12), space.Floats("ratio", 0.5, 1, 2.5),
		space.Stepped("step", -6, 6, 4), space.Pow2("pow", 2, 16), space.Bool("flag"), space.Range("lanes", 1, 4).If("flag"),
	}, "tile != 3 or ratio < 1")
	if err != nil {
		t.Fatal(err)
	}
	rough := func(p space.Point) space.Outcome {
		h := fnv.New64a()
		h.Write([]byte(p.Key()))
		if h.Sum64()%8 == 0 {
			return space.Fail(space.Crashed, "as planned")
		}
		return space.Outcome{Status: space.OK, Cost: float64(1 + h.Sum64()>>40)}
	}
	plain, cost := bowl(t)
	warm := strategies.Hints{Start: []space.Point{plain.At(70)}, Sources: []space.Source{measured(plain, 300), measured(plain, 10)}}
	// The metric is best where the cost is not, and a few points lack it.
	goals := space.Goals{{}, {Metric: "m", Maximise: true}}
	several := func(outcome func(space.Point) space.Outcome) func(space.Point) space.Outcome {
		return func(p space.Point) space.Outcome {
			o := outcome(p)
			if o.Status == space.OK && (p.Ordinal(0)+p.Ordinal(1))%5 != 3 {
				o.Metrics = []space.Metric{{Name: "m", Value: float64(p.Ordinal(0)*p.Ordinal(0) + 3*p.Ordinal(1) - 5)}}
			}
			return o
		}
	}
	warmSeveral := warm
	warmSeveral.Goals = goals
	return []traced{
		{name: "mixed", space: mixed, outcome: rough, seeds: []uint64{1, 2}, evaluations: 400},
		{name: "warm", space: plain, outcome: right(cost), hints: warm, seeds: []uint64{1}, evaluations: 170},
		{name: "mixed-goals", space: mixed, outcome: several(rough), hints: strategies.Hints{Goals: goals}, seeds: []uint64{1, 2}, evaluations: 220},
		{name: "warm-goals", space: plain, outcome: several(right(cost)), hints: warmSeveral, seeds: []uint64{1}, evaluations: 170},
	}
}

// trace returns the batches of a search, a point a line and an empty line behind each batch. What is left of the budget is
// shown by every other batch only.
func trace(t *testing.T, s search.Strategy, outcome func(space.Point) space.Outcome, evaluations int) string {
	t.Helper()
	var b strings.Builder
	for told, round := 0, 0; told < evaluations; round++ {
		p := space.Progress{Told: told, Left: 1}
		if round%2 == 1 || evaluations-told < 40 {
			p.Evaluations, p.Left = evaluations-told, 1-float64(told)/float64(evaluations)
		}
		batch := s.Ask(p)
		if len(batch) == 0 {
			break
		}
		var trials []space.Trial
		var outcomes []space.Outcome
		for _, q := range batch {
			trials = append(trials, space.Trial{Number: told, Proposal: q})
			outcomes = append(outcomes, outcome(q.Point))
			fmt.Fprintln(&b, q.Point.Key())
			told++
		}
		fmt.Fprintln(&b)
		s.Tell(trials, outcomes)
	}
	return b.String()
}

// TestTraces: with its defaults a strategy asks what it asked when its version was made. Where this fails for another reason than a
// new constant, what a seed finds has changed: the strategy wants a new version in the table, and then the file is written again by
// -update.
func TestTraces(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the traces are of amd64: elsewhere products and sums may be rounded at once")
	}
	path := filepath.Join("testdata", "traces.txt")
	old, err := os.ReadFile(path)
	if err != nil && !*update {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSpace(string(old)), "\n")
	var lines []string
	note := func(line, otherwise string) {
		lines = append(lines, line)
		if !*update && !slices.Contains(want, line) {
			t.Error(otherwise)
		}
	}
	for _, entry := range strategies.Table() {
		note(fmt.Sprintf("%s version=%d %s", entry.Name, entry.Version, entry.Config()), entry.Name+" has another version or other defaults")
		for _, c := range tracedSearches(t) {
			if c.hints.Goals.Several() && (!entry.Several || entry.Hintless) {
				continue // it looks at the cost alone, or at nothing
			}
			few := dear(entry.Name) && !stress && !*update
			for i, seed := range c.seeds {
				if few && (i > 0 || c.evaluations > 300) {
					break // TestGolden goes as far
				}
				s, err := entry.New(c.space, seed, c.hints)
				if err != nil {
					t.Fatal(err)
				}
				sum := sha256.Sum256([]byte(trace(t, s, c.outcome, c.evaluations)))
				note(fmt.Sprintf("%s %s seed=%d %x", entry.Name, c.name, seed, sum[:8]),
					fmt.Sprintf("%s asks for other points of %s with seed %d", entry.Name, c.name, seed))
			}
		}
	}
	if *update {
		if err := os.MkdirAll("testdata", 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}
