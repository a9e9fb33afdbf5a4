package strategies_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"tune/search"
	"tune/search/searchtest"
	"tune/search/strategies"
	"tune/space"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Every strategy of the table passes the conformance suite. That of auto is in its own package, with a lead so short that the suite
// comes to the bandit; here it is for make stress. So are the defaults of surrogate: the whole suite in its own package has a small pool,
// and here the brief one has one sample.
func TestConformance(t *testing.T) {
	for _, s := range strategies.Table() {
		if dear(s.Name) && !slices.Contains(models(), s.Name) {
			continue
		}
		var options []searchtest.Option
		if s.Name == "grid" {
			options = append(options, searchtest.Seedless)
		}
		if s.Paced {
			options = append(options, searchtest.Paced)
		}
		if dear(s.Name) {
			options = append(options, searchtest.Dear)
		}
		if dear(s.Name) && !stress {
			entry := parse(t, s.Name+":"+strings.TrimPrefix(brisk(s, ""), ","))
			t.Run(s.Name, func(t *testing.T) {
				searchtest.Brief(t, func(in *space.Space, seed uint64) (search.Strategy, error) {
					return entry.New(in, seed, strategies.Hints{})
				})
			})
			continue
		}
		searchtest.Conformance(t, s.Name, func(in *space.Space, seed uint64) (search.Strategy, error) {
			return s.New(in, seed, strategies.Hints{})
		}, options...)
		// A strategy that begins with given points keeps its promises. Below, those without a model begin with one too.
		if stress {
			searchtest.Conformance(t, s.Name+" from a start", func(in *space.Space, seed uint64) (search.Strategy, error) {
				return s.New(in, seed, strategies.Hints{Start: []space.Point{in.Default(), in.Default()}})
			}, options...)
		}
		if s.Hintless || dear(s.Name) {
			continue
		}
		// So does one that begins with a source that knows much of the space, right where the landscape is a slope and
		// misleading elsewhere, and one that knows little. What begins so is the same wrapper, so that the whole suite is for one of them.
		name, warmed := s.Name+" from sources", func(in *space.Space, seed uint64) (search.Strategy, error) {
			return s.New(in, seed, strategies.Hints{Start: []space.Point{in.Default()}, Sources: []space.Source{measured(in, 300), measured(in, 10)}})
		}
		if stress || s.Name == "evolve" {
			searchtest.Conformance(t, name, warmed, options...)
		} else {
			t.Run(name, func(t *testing.T) { searchtest.Brief(t, warmed) })
		}
	}
}

// measured returns a source that has up to n points of a space, each of which costs the sum of its ordinals.
func measured(in *space.Space, n int) space.Source {
	var s space.Source
	for p := range in.All() {
		if len(s.Observations) == n {
			break
		}
		o := space.Outcome{Status: space.OK}
		for _, ordinal := range p.Ordinals() {
			o.Cost += float64(ordinal)
		}
		if len(s.Observations)%7 == 6 {
			o = space.Fail(space.Crashed, "there")
		}
		s.Observations = append(s.Observations, space.Observation{Point: p, Outcome: o})
	}
	return s
}

func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range strategies.Table() {
		if s.Name == "" || s.Doc == "" || strings.Contains(s.Doc, "\n") || seen[s.Name] {
			t.Errorf("the entry %q, %q is not complete, or there are two", s.Name, s.Doc)
		}
		seen[s.Name] = true
		if found, err := strategies.Lookup(s.Name); err != nil || found.Name != s.Name {
			t.Errorf("Lookup(%q) = %q, %v", s.Name, found.Name, err)
		}
	}
	if !seen[strategies.Default] {
		t.Errorf("the default, %q, is not in the table", strategies.Default)
	}
	for _, c := range []struct{ objectives, kernel, want string }{
		{"", "", "auto"}, {"cost", "evolve", "evolve"}, {"time,error", "", "auto"}, {"time,error", "auto", "auto"}, {"cycles,load", "evolve", "nsga2"},
	} {
		if got := strategies.For(c.objectives, c.kernel); got != c.want {
			t.Errorf("objectives %q of a kernel with strategy %q: %s, want %s", c.objectives, c.kernel, got, c.want)
		}
	}
	_, err := strategies.Lookup("evolv")
	want := fmt.Sprintf(`unknown strategy "evolv": want %s (did you mean "evolve"?)`, strings.Join(strategies.Names(), ", "))
	if err == nil || err.Error() != want {
		t.Errorf("Lookup of a misspelt name: %v", err)
	}
}
