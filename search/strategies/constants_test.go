package strategies_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tune/search"
	"tune/search/constant"
	"tune/search/internal/functions"
	"tune/search/searchtest"
	"tune/search/strategies"
	"tune/space"
)

// TestConstantTables: each constant is named and explained, its default is in its range, and a strategy with its defaults is
// the one of the table.
func TestConstantTables(t *testing.T) {
	name := regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)
	for _, s := range strategies.Table() {
		if s.Version < 1 || len(s.Constants) == 0 || s.Text() != s.Name {
			t.Errorf("%s has version %d and %d constants, and is written as %s", s.Name, s.Version, len(s.Constants), s.Text())
		}
		var config []string
		seen := map[string]bool{}
		for _, c := range s.Constants {
			if !name.MatchString(c.Name) || seen[c.Name] || c.Doc == "" || strings.ContainsAny(c.Doc, "\n\t") || len(c.Doc) > 150 {
				t.Errorf("%s: the constant %q, %q is not complete, or there are two", s.Name, c.Name, c.Doc)
			}
			seen[c.Name] = true
			if !(c.Min <= c.Default && c.Default <= c.Max && c.Min < c.Max) {
				t.Errorf("%s: %s is %v, of %v to %v", s.Name, c.Name, c.Default, c.Min, c.Max)
			}
			config = append(config, c.Name+"="+c.Format(c.Default))
		}
		if want := strings.Join(config, ","); s.Config() != want {
			t.Errorf("%s has %s, and the table says %s", s.Name, s.Config(), want)
		}
	}
}

// extremes are the texts of strategies that have one constant at its minimum or maximum, and with it the one that bounds it.
func extremes(s strategies.Strategy, c constant.Constant) []string {
	bound := ""
	for _, other := range s.Constants {
		if other.Name == c.Within {
			bound = fmt.Sprintf(",%s=%s", other.Name, other.Format(other.Max))
		}
	}
	return []string{s.Name + ":" + c.Name + "=" + c.Format(c.Min), s.Name + ":" + c.Name + "=" + c.Format(c.Max) + bound}
}

// brisk returns what makes a strategy with a model fast, without the given constant. With it auto comes to its bandit in the few
// evaluations of a test.
func brisk(s strategies.Strategy, without string) (constants string) {
	for _, c := range map[string][]string{"auto": {"lead=12", "pool=60", "samples=1"}, "surrogate": {"pool=60", "samples=1"}}[s.Name] {
		if name, _, _ := strings.Cut(c, "="); name != without {
			constants += "," + c
		}
	}
	return constants
}

// TestExtremes: a strategy keeps its promises with each of its constants at the ends of its range.
func TestExtremes(t *testing.T) {
	for _, s := range strategies.Table() {
		for _, c := range s.Constants {
			for _, text := range extremes(s, c) {
				if parse(t, text).Text() == s.Name {
					continue // the default, which TestConformance takes
				}
				if s.Name == "auto" && (c.Name == "pool" || c.Name == "samples") && !stress {
					continue // the model's own, which surrogate has too
				}
				entry := parse(t, text+brisk(s, c.Name))
				t.Run(text, func(t *testing.T) {
					t.Parallel()
					if dear(s.Name) {
						inShort(t)
					}
					searchtest.Brief(t, func(in *space.Space, seed uint64) (search.Strategy, error) {
						return entry.New(in, seed, strategies.Hints{})
					})
				})
			}
		}
	}
}

// TestConstantsCount: with each constant at one end of its range a strategy asks otherwise, in spaces and for numbers of evaluations
// where it has a part in what is asked: its points, or how many of them make a batch.
func TestConstantsCount(t *testing.T) {
	few, many, bits := functions.Rosenbrock(3), functions.Rosenbrock(10), functions.OneMax(10)
	// Of constants that count later than others, or in other spaces: what else is set, and the search.
	type where struct {
		with        string
		f           functions.Function
		evaluations int
	}
	quick := "lead=12,pool=60,samples=1"
	special := map[string]where{
		"ils:pairs":               {"", bits, 400},
		"ils:kick":                {"", bits, 400},
		"ils:patience":            {"", bits, 400},
		"auto:pool":               {"lead=30", few, 30},
		"auto:samples":            {"lead=30,pool=60", few, 30},
		"auto:lead":               {"pool=60,samples=1", few, 60},
		"auto:model_until":        {quick, few, 80},
		"auto:model_every":        {quick + ",model_until=12", few, 80},
		"surrogate:near_from":     {"pool=200,samples=1", many, 80},
		"surrogate:near_least":    {"pool=200,samples=1", many, 80},
		"surrogate:near_most":     {"pool=200,samples=1", many, 80},
		"surrogate:most":          {"pool=60,samples=1,batch=4", few, 60},
		"surrogate:pool":          {"", few, 40},
		"surrogate:samples":       {"pool=60", few, 30},
		"surrogate:sampled_until": {"pool=60", few, 40},
	}
	for _, s := range strategies.Table() {
		for _, c := range s.Constants {
			at, ok := special[s.Name+":"+c.Name]
			if !ok {
				at = where{"", few, 400}
				switch s.Name {
				case "auto":
					at = where{quick, few, 80}
				case "surrogate":
					at = where{"pool=60,samples=1", few, 40}
				}
			}
			t.Run(s.Name+":"+c.Name, func(t *testing.T) {
				t.Parallel()
				if dear(s.Name) {
					inShort(t)
				}
				asked := func(text string) string {
					if at.with != "" {
						name, constants, some := strings.Cut(text, ":")
						if text = name + ":" + at.with; some {
							text += "," + constants
						}
					}
					strategy, err := parse(t, text).New(at.f.Space, 1, strategies.Hints{})
					if err != nil {
						t.Fatal(err)
					}
					return trace(t, strategy, right(at.f.Cost), at.evaluations)
				}
				plain := asked(s.Name)
				if !slices.ContainsFunc(extremes(s, c), func(text string) bool { return asked(text) != plain }) {
					t.Errorf("it changes nothing in %d evaluations of %s", at.evaluations, at.f.Name)
				}
			})
		}
	}
}
