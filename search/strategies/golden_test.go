package strategies_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"tune/search"
	"tune/search/evolve"
	"tune/search/halving"
	"tune/search/strategies"
	"tune/space"
)

const (
	// goldenEvaluations is how many evaluations a trace has, and shown how many of its keys stand in the golden file.
	goldenEvaluations, shown = 500, 4
)

// hashedAt are the evaluations up to which a trace has a hash: a failure shows between which two of them it departs. Lines of
// several strategies are equal up to there where they draw the same random points.
var hashedAt = []int{20, 60, 150, 300, goldenEvaluations}

// landscape is a space with a cost at each point.
type landscape struct {
	name    string
	space   *space.Space
	outcome func(space.Point) space.Outcome
	seeds   []uint64
}

// landscapesOf returns what traces are taken on. All costs are sums and products of small whole numbers, so that they are
// exact on any machine.
func landscapesOf(t *testing.T) []landscape {
	t.Helper()
	tiles, err := space.New("tiles", []space.Parameter{
		space.Pow2("m", 1, 256), space.Pow2("n", 1, 256), space.Range("k", 1, 48), space.Range("unroll", 1, 12),
		space.Bool("prefetch"), space.Range("distance", 0, 31).If("prefetch"),
		space.Bool("packed"), space.Ints("align", 1, 4, 16, 64).If("packed and m > 1"),
	}, "m * n <= 4096", "k % unroll == 0", "not packed or n >= 2")
	if err != nil {
		t.Fatal(err)
	}
	words, err := space.New("words", []space.Parameter{
		space.Enum("order", "ijk", "ikj", "jik", "jki", "kij", "kji"), space.Enum("layout", "row", "column", "blocked", "morton"),
		space.Enum("vector", "none", "sse", "avx", "avx512"), space.Enum("schedule", "static", "dynamic", "guided"),
		space.Enum("sync", "spin", "futex", "barrier").If("schedule != 'static'"),
		space.Bool("inline"), space.Bool("alias"), space.Enum("level", "O1", "O2", "O3", "Os", "Ofast"),
		space.Enum("malloc", "libc", "arena", "huge"),
	}, "layout != 'morton' or order != 'ijk'")
	if err != nil {
		t.Fatal(err)
	}
	square := func(x int) int { return x * x }
	return []landscape{
		{"tiles", tiles, func(p space.Point) space.Outcome {
			if p.Int("m")*p.Int("n")*p.Int("unroll") > 12000 {
				return space.Fail(space.CompileFailed, "too many registers")
			}
			cost := 40 + 9*square(p.Ordinal(0)-6) + 7*square(p.Ordinal(1)-4) + square(p.Int("k")-30)/4 + 5*square(p.Int("unroll")-6)
			if p.Bool("prefetch") {
				cost += square(p.Int("distance")-19)/8 - 12
			}
			if p.Bool("packed") {
				cost += 3*square(p.Ordinal(7)-1) - 5
			}
			return space.Outcome{Status: space.OK, Cost: float64(cost)}
		}, []uint64{1, 2}},
		{"words", words, func(p space.Point) space.Outcome {
			if p.Str("vector") == "avx512" && p.Str("level") == "O1" {
				return space.Fail(space.WrongAnswer, "not equal")
			}
			// What each word costs, and what pairs of words cost together.
			cost := 100
			for i, o := range p.Ordinals() {
				cost += (7*(o+2)*(i+3) + 5*square(o-i)) % 31
			}
			cost += 11 * ((p.Ordinal(0)*5 + p.Ordinal(1)*3) % 7)
			cost += 6 * ((p.Ordinal(2)*3 + p.Ordinal(7)*2 + p.Ordinal(8)) % 5)
			return space.Outcome{Status: space.OK, Cost: float64(cost)}
		}, []uint64{1, 2}},
	}
}

// tracer makes a strategy whose trace is kept.
type tracer struct {
	name string
	make func(l landscape, seed uint64) (search.Strategy, error)
}

// tracers are all strategies of the table, and what wraps them: sources of an earlier run, and fidelities.
func tracers() []tracer {
	var out []tracer
	for _, s := range strategies.Table() {
		out = append(out, tracer{s.Name, func(l landscape, seed uint64) (search.Strategy, error) {
			return s.New(l.space, seed, strategies.Hints{})
		}})
	}
	for _, name := range []string{"evolve", "ils", "swarm"} {
		out = append(out, tracer{name + " from a start and sources", func(l landscape, seed uint64) (search.Strategy, error) {
			s, err := strategies.Lookup(name)
			if err != nil {
				return nil, err
			}
			// The sources are measured elsewhere: the first 200 points of the space, and some of the first 20,000.
			near, far := space.Source{Name: "near"}, space.Source{Name: "far"}
			n := 0
			for p := range l.space.All() {
				if n == 20000 {
					break
				}
				o := space.Observation{Point: p, Outcome: l.outcome(p)}
				if n < 200 {
					near.Observations = append(near.Observations, o)
				}
				if n%997 == 0 {
					o.Outcome.Cost *= 3
					far.Observations = append(far.Observations, o)
				}
				n++
			}
			return s.New(l.space, seed, strategies.Hints{Start: []space.Point{l.space.Default()}, Sources: []space.Source{near, far}})
		}})
	}
	for levels := 1; levels <= 2; levels++ {
		out = append(out, tracer{fmt.Sprintf("evolve in halving of %d", levels), func(l landscape, seed uint64) (search.Strategy, error) {
			inner, err := evolve.New(l.space, seed, evolve.Config{})
			if err != nil {
				return nil, err
			}
			c := halving.Config{Levels: levels}
			if levels == 2 {
				parameters := l.space.Parameters()
				c.Blind = []string{parameters[3].Name, parameters[5].Name}
			}
			return halving.New(l.space, seed, inner, c)
		}})
	}
	return out
}

// goldenTrace carries out a search, and describes what it asked and found.
func goldenTrace(t *testing.T, what tracer, l landscape, seed uint64) string {
	t.Helper()
	s, err := what.make(l, seed)
	if err != nil {
		t.Fatal(err)
	}
	var asked, out strings.Builder
	best, at, n := math.Inf(1), -1, 0
	sum := sha256.New()
	_, err = search.Run(t.Context(), s, search.EvaluatorFunc(func(_ context.Context, t space.Trial) (space.Outcome, error) {
		o := l.outcome(t.Point)
		if t.Fidelity > 0 && o.Status == space.OK { // cheap scores err more the cheaper they are
			o.Cost += float64((t.Point.Ordinal(0)*7+t.Point.Ordinal(1)*3)%11) * float64(t.Fidelity)
		}
		return o, nil
	}), search.Settings{Budget: search.Budget{Evaluations: goldenEvaluations}, Observe: func(e search.Event) {
		line := e.Trial.Point.Key()
		if f := e.Trial.Fidelity; f > 0 {
			line += fmt.Sprintf(" (fidelity %d)", f)
		}
		if n++; n <= shown {
			fmt.Fprintf(&out, "\t%s\n", line)
		}
		sum.Write([]byte(line + "\n"))
		for _, m := range hashedAt {
			if m == n {
				fmt.Fprintf(&asked, " %d:%s", n, hex.EncodeToString(sum.Sum(nil)[:4]))
			}
		}
		if o := e.Outcome; o.Status == space.OK && o.Fidelity == 0 && o.Cost < best {
			best, at = o.Cost, n
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s, seed %d: best %v, found at %d of %d; asked%s\n%s", what.name, seed, best, at, n, &asked, &out)
}

// TestGolden: each strategy, and what wraps it, asks the points that it asked when the golden files were written, and comes to the
// same cost. TestTraces pins more searches to the version of each strategy; here a failure shows from where on a search differs, and
// whether it is better or worse for it.
//
// The files hold for amd64: on other processors the compiler may join a product and a sum into one rounding, and the model
// takes another turn.
func TestGolden(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the golden files are those of amd64")
	}
	for _, l := range landscapesOf(t) {
		t.Run(l.name, func(t *testing.T) {
			path := filepath.Join("testdata", l.name+".golden")
			want := map[string]string{}
			if !*update {
				data, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				for _, text := range sections(string(data)) {
					want[title(text)] = text
				}
			}
			all := tracers()
			traces := make([]string, len(all)*len(l.seeds))
			t.Run("traces", func(t *testing.T) {
				for i, what := range all {
					for j, seed := range l.seeds {
						if (j > 0 && dear(what.name) || l.name == "words" && what.name == "surrogate") && !stress && !*update {
							break // the model asks the first 150 points of auto too
						}
						t.Run(fmt.Sprintf("%s/seed=%d", what.name, seed), func(t *testing.T) {
							t.Parallel()
							got := goldenTrace(t, what, l, seed)
							traces[i*len(l.seeds)+j] = got
							if w := want[title(got)]; got != w && !*update {
								t.Errorf("the trace is\n%sand in %s\n%s", got, path, w)
							}
						})
					}
				}
			})
			switch {
			case *update:
				if err := os.WriteFile(path, []byte(strings.Join(traces, "")), 0o666); err != nil {
					t.Fatal(err)
				}
			case len(want) != len(traces):
				t.Errorf("%s has %d traces, and there are %d", path, len(want), len(traces))
			}
		})
	}
}

// sections cuts a golden file into its traces.
func sections(text string) (out []string) {
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "\t") || len(out) == 0 {
			out = append(out, "")
		}
		out[len(out)-1] += line
	}
	return out
}

// title returns whose trace a section is.
func title(section string) string {
	name, _, _ := strings.Cut(section, ":")
	return name
}
