package kernels_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tune/kernels"
	"tune/space"
)

// named is a candidate that nobody calls.
type named int

func (named) Check(context.Context, uint64) error                   { return nil }
func (named) Score(context.Context, int) (s kernels.Score, e error) { return s, nil }
func (named) Artifacts() ([]kernels.Artifact, error)                { return nil, nil }
func (named) Abilities() kernels.Abilities                          { return kernels.Abilities{} }

// comparison is one with an interval round a ratio.
func comparison(low, ratio, high float64) kernels.Comparison {
	return kernels.Comparison{Ratio: ratio, Low: low, High: high, Pairs: 9, Cost: 100 / ratio, Baseline: 100}
}

func unsure(c kernels.Comparison) kernels.Comparison { c.Unverified = true; return c }

func few(c kernels.Comparison) kernels.Comparison { c.Indistinct, c.TooFew = true, true; return c }

func near(c kernels.Comparison) kernels.Comparison { c.Indistinct = true; return c }

var dead = kernels.Comparison{Err: kernels.Reject(space.Crashed, "it died")}

// scripted is a comparer that answers from lists, and notes what it was asked.
type scripted struct {
	first   []kernels.Comparison         // of each finalist
	confirm map[named]kernels.Comparison // of the finalist that is confirmed
	errs    []error                      // of the calls, in order
	asked   []string
	limits  []time.Duration
}

func (s *scripted) Compare(_ context.Context, baseline kernels.Candidate, finalists []kernels.Candidate, series kernels.Series) (kernels.Final, error) {
	what := fmt.Sprint(baseline, " with ", finalists)
	if series.Confirm {
		what = "confirm " + what
	}
	s.asked, s.limits = append(s.asked, what), append(s.limits, series.Limit)
	if series.Observe != nil {
		series.Observe(1, 30)
	}
	var err error
	if n := len(s.asked); n <= len(s.errs) {
		err = s.errs[n-1]
	}
	if !series.Confirm {
		return kernels.Final{Comparisons: s.first}, err
	}
	return kernels.Final{Comparisons: []kernels.Comparison{s.confirm[finalists[0].(named)]}, Machine: kernels.MachineState{Probes: len(s.asked)}}, err
}

// TestContest: which finalist is confirmed, what the second series makes of it, and who else is not told from it.
func TestContest(t *testing.T) {
	none := kernels.Comparison{} // of a series in which no pair could be believed
	for _, c := range []struct {
		name     string
		first    []kernels.Comparison
		confirm  map[named]kernels.Comparison
		wrong    []int // on all inputs
		chosen   int
		verdict  space.Verdict
		baseline bool
		close    []int
		few      []int
		refused  []int
	}{
		{name: "the greatest lower end wins, not the greatest ratio",
			first:   []kernels.Comparison{comparison(1.1, 1.5, 2), comparison(1.2, 1.3, 1.4), comparison(1.15, 1.2, 1.3)},
			confirm: map[named]kernels.Comparison{1: comparison(1.1, 1.2, 1.3)}, chosen: 1, verdict: space.Faster},
		{name: "of equal lower ends the greater ratio",
			first:   []kernels.Comparison{comparison(1.1, 1.2, 2), comparison(1.1, 1.3, 2)},
			confirm: map[named]kernels.Comparison{1: comparison(1.1, 1.2, 1.3)}, chosen: 1, verdict: space.Faster},
		{name: "of equal ones the first of the search",
			first:   []kernels.Comparison{comparison(1.1, 1.2, 2), comparison(1.1, 1.2, 2)},
			confirm: map[named]kernels.Comparison{0: comparison(1.1, 1.2, 1.3)}, chosen: 0, verdict: space.Faster},
		{name: "one finalist has one series",
			first: []kernels.Comparison{none}, confirm: map[named]kernels.Comparison{0: comparison(1.01, 1.2, 1.3)}, chosen: 0, verdict: space.Faster},
		{name: "an interval that begins at 1 is no gain",
			first: []kernels.Comparison{none}, confirm: map[named]kernels.Comparison{0: comparison(1, 1.2, 1.3)}, chosen: 0, verdict: space.NoGain, baseline: true},
		{name: "slower is no gain",
			first: []kernels.Comparison{none}, confirm: map[named]kernels.Comparison{0: comparison(0.7, 0.8, 0.9)}, chosen: 0, verdict: space.NoGain, baseline: true},
		{name: "what looks faster and is not verified is exported",
			first: []kernels.Comparison{none}, confirm: map[named]kernels.Comparison{0: unsure(comparison(1.1, 1.2, 1.3))}, chosen: 0, verdict: space.Unverified},
		{name: "what looks slower and is not verified is not",
			first: []kernels.Comparison{none}, confirm: map[named]kernels.Comparison{0: unsure(comparison(0.7, 0.8, 0.9))}, chosen: 0, verdict: space.Unverified, baseline: true},
		{name: "without an interval nothing is verified",
			first: []kernels.Comparison{none}, confirm: map[named]kernels.Comparison{0: comparison(0, 1.2, 0)}, chosen: 0, verdict: space.Unverified},
		{name: "without a pair the finalist stays",
			first: []kernels.Comparison{none}, confirm: map[named]kernels.Comparison{0: none}, chosen: 0, verdict: space.Unverified},
		{name: "who else is not told from the winner",
			first:   []kernels.Comparison{comparison(1.1, 1.2, 1.3), near(comparison(1.2, 1.3, 1.4)), near(comparison(1, 1.1, 1.2)), comparison(0.7, 0.8, 0.9), {Err: dead.Err, Indistinct: true}},
			confirm: map[named]kernels.Comparison{1: comparison(1.1, 1.2, 1.3)}, refused: []int{4}, chosen: 1, verdict: space.Faster, close: []int{2}},
		{name: "of whom too little is known",
			first:   []kernels.Comparison{comparison(1.1, 1.2, 1.3), few(comparison(0, 1.2, 0)), near(comparison(1, 1.1, 1.2))},
			confirm: map[named]kernels.Comparison{0: comparison(1.1, 1.2, 1.3)}, chosen: 0, verdict: space.Faster, close: []int{2}, few: []int{1}},
		{name: "nobody, where the baseline is exported",
			first:   []kernels.Comparison{comparison(1.1, 1.2, 1.3), near(comparison(1, 1.1, 1.2))},
			confirm: map[named]kernels.Comparison{0: comparison(0.9, 1, 1.1)}, chosen: 0, verdict: space.NoGain, baseline: true},
		{name: "what dies in the first series is refused",
			first:   []kernels.Comparison{dead, comparison(1.1, 1.2, 1.3)},
			confirm: map[named]kernels.Comparison{1: comparison(1.1, 1.2, 1.3)}, chosen: 1, verdict: space.Faster, refused: []int{0}},
		{name: "what dies in the second makes room",
			first:   []kernels.Comparison{comparison(1.2, 1.3, 1.4), comparison(1.1, 1.2, 1.3)},
			confirm: map[named]kernels.Comparison{0: dead, 1: comparison(1.1, 1.2, 1.3)}, chosen: 1, verdict: space.Faster, refused: []int{0}},
		{name: "what is wrong makes room",
			first:   []kernels.Comparison{comparison(1.2, 1.3, 1.4), comparison(1.1, 1.2, 1.3)},
			confirm: map[named]kernels.Comparison{1: comparison(1.1, 1.2, 1.3)}, wrong: []int{0}, chosen: 1, verdict: space.Faster, refused: []int{0}},
		{name: "none is right",
			first: []kernels.Comparison{comparison(1.2, 1.3, 1.4), dead}, wrong: []int{0}, chosen: -1, refused: []int{1, 0}},
		{name: "where nothing is verified the order of the search stands",
			first:   []kernels.Comparison{unsure(comparison(1.1, 1.2, 1.3)), unsure(comparison(2, 2.1, 2.2))},
			confirm: map[named]kernels.Comparison{0: comparison(1.1, 1.2, 1.3)}, chosen: 0, verdict: space.Faster},
		{name: "but for what looks slower",
			first:   []kernels.Comparison{unsure(comparison(0.8, 0.9, 1)), unsure(comparison(1, 1.1, 1.2))},
			confirm: map[named]kernels.Comparison{1: comparison(1.1, 1.2, 1.3)}, chosen: 1, verdict: space.Faster},
		{name: "what is verified comes before what is not",
			first:   []kernels.Comparison{unsure(comparison(2, 2.1, 2.2)), comparison(1.1, 1.2, 1.3)},
			confirm: map[named]kernels.Comparison{1: comparison(1.1, 1.2, 1.3)}, chosen: 1, verdict: space.Faster},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &scripted{first: c.first, confirm: c.confirm}
			var finalists []kernels.Candidate
			for i := range c.first {
				finalists = append(finalists, named(i))
			}
			r, err := kernels.Contest{Compare: s.Compare, Baseline: named(99), Finalists: finalists, Limit: 10 * time.Second, Seed: 1,
				Admit: func(_ context.Context, i int) error {
					if slices.Contains(c.wrong, i) {
						return kernels.Reject(space.WrongAnswer, "it is wrong")
					}
					return nil
				}}.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var refused []int
			for _, f := range r.Refused {
				refused = append(refused, f.Finalist)
				if kernels.AsRejection(f.Err) == nil {
					t.Errorf("finalist %d is refused for %v", f.Finalist, f.Err)
				}
			}
			if r.Chosen != c.chosen || r.Verdict != c.verdict || r.Baseline != c.baseline || !slices.Equal(r.Indistinct, c.close) || !slices.Equal(r.TooFew, c.few) || !slices.Equal(refused, c.refused) {
				t.Errorf("finalist %d is %q, baseline %v, beside %v; refused are %v", r.Chosen, r.Verdict, r.Baseline, r.Indistinct, refused)
			}
			if c.chosen >= 0 && r.Comparison().Ratio != c.confirm[named(c.chosen)].Ratio {
				t.Errorf("the comparison is %+v", r.Comparison())
			}
			if confirmed := s.asked[0]; len(c.first) == 1 && confirmed != "confirm 99 with [0]" {
				t.Errorf("one finalist is measured by %v", s.asked)
			}
			for i, what := range s.asked {
				first := !strings.HasPrefix(what, "confirm")
				if limit := s.limits[i]; first && limit != 5*time.Second || !first && (limit < 5*time.Second || limit > 10*time.Second) {
					t.Errorf("%s has %v of 10 s", what, limit)
				}
			}
		})
	}
}

// sleeper is a comparer that takes its time.
type sleeper struct {
	*scripted
	first time.Duration // what the first series takes
}

func (s sleeper) Compare(ctx context.Context, baseline kernels.Candidate, finalists []kernels.Candidate, series kernels.Series) (kernels.Final, error) {
	if !series.Confirm {
		time.Sleep(s.first)
	}
	return s.scripted.Compare(ctx, baseline, finalists, series)
}

// TestContestLimit: the second series has what the first has left of the limit, and half of it at the least.
func TestContestLimit(t *testing.T) {
	for first, want := range map[time.Duration]time.Duration{time.Second: 9 * time.Second, 5 * time.Second: 5 * time.Second, 9 * time.Second: 5 * time.Second, time.Minute: 5 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			s := &scripted{first: []kernels.Comparison{comparison(1.1, 1.2, 1.3), comparison(1, 1.1, 1.2)}, confirm: map[named]kernels.Comparison{0: comparison(1.1, 1.2, 1.3)}}
			_, err := kernels.Contest{Compare: sleeper{s, first}.Compare, Baseline: named(99), Finalists: []kernels.Candidate{named(0), named(1)}, Limit: 10 * time.Second}.Run(t.Context())
			if err != nil || s.limits[0] != 5*time.Second || s.limits[1] != want {
				t.Errorf("after a first series of %v the limits are %v, want 5s and %v; %v", first, s.limits, want, err)
			}
		})
	}
}

// TestContestFails: what is nobody's fault among the finalists ends a contest.
func TestContestFails(t *testing.T) {
	two := []kernels.Comparison{comparison(1.1, 1.2, 1.3), comparison(1, 1.1, 1.2)}
	fault := errors.New("no core is left")
	for _, c := range []struct {
		name  string
		s     scripted
		admit error
		want  string
	}{
		{"the baseline dies", scripted{first: two, errs: []error{kernels.Reject(space.Crashed, "it died")}}, nil, "the final measurement: crashed: it died"},
		{"the first series fails", scripted{first: two, errs: []error{fault}}, nil, "the final measurement: no core is left"},
		{"the second series fails", scripted{first: two, confirm: map[named]kernels.Comparison{}, errs: []error{nil, fault}}, nil, "no core is left"},
		{"the baseline dies in the second", scripted{first: two, errs: []error{nil, kernels.Reject(space.Crashed, "it died")}}, nil, "the final measurement: crashed: it died"},
		{"a comparison is missing", scripted{first: two[:1]}, nil, "2 finalists were compared, and 1 comparisons came back"},
		{"a check fails", scripted{first: two}, fault, "no core is left"},
	} {
		r, err := kernels.Contest{Compare: c.s.Compare, Baseline: named(99), Finalists: []kernels.Candidate{named(0), named(1)}, Limit: time.Second,
			Admit: func(context.Context, int) error { return c.admit }}.Run(t.Context())
		if err == nil || !strings.Contains(err.Error(), c.want) || kernels.AsRejection(err) != nil || r.Chosen != -1 || len(r.Refused) != 0 {
			t.Errorf("%s: %+v, %v", c.name, r, err)
		}
	}
}

// TestContestObserved: who watches sees each step.
func TestContestObserved(t *testing.T) {
	s := &scripted{first: []kernels.Comparison{comparison(1.1, 1.2, 1.3), comparison(1, 1.1, 1.2)}, confirm: map[named]kernels.Comparison{0: comparison(1.1, 1.2, 1.3)}}
	var seen []string
	_, err := kernels.Contest{Compare: s.Compare, Baseline: named(99), Finalists: []kernels.Candidate{named(0), named(1)}, Limit: time.Second,
		Admit:   func(context.Context, int) error { return nil },
		Observe: func(p kernels.ContestProgress) { seen = append(seen, p.String()) }}.Run(t.Context())
	want := []string{"measuring 2 finalists, pair 1 of up to 30", "checking the winner on fresh inputs", "confirming the winner, pair 1 of 30"}
	if err != nil || !slices.Equal(seen, want) {
		t.Errorf("%q, %v", seen, err)
	}
	if got := (kernels.ContestProgress{Finalists: 1, Confirming: true, Pair: 31}).String(); got != "confirming the winner, pair 31" {
		t.Errorf("where nobody knows how many: %s", got)
	}
	if got := (kernels.ContestProgress{}).String(); got != "checking the finalists on fresh inputs" {
		t.Errorf("before it begins: %s", got)
	}
}

// TestContestNotFinite: a finalist whose numbers are not finite is refused, in both series, and the next one is confirmed.
func TestContestNotFinite(t *testing.T) {
	inf := math.Inf(1)
	good, endless := comparison(1.9, 2, 2.1), kernels.Comparison{Ratio: inf, Low: 1, High: inf, Pairs: 9, Baseline: 100}
	nan := kernels.Comparison{Ratio: 2, Low: 1.9, High: 2.1, Cost: math.NaN(), Pairs: 9, Baseline: 100}
	s := &scripted{first: []kernels.Comparison{endless, comparison(2.9, 3, 3.1), good}, confirm: map[named]kernels.Comparison{1: nan, 2: good}}
	result, err := kernels.Contest{Compare: s.Compare, Baseline: named(-1), Finalists: []kernels.Candidate{named(0), named(1), named(2)}, Limit: time.Second}.Run(t.Context())
	if err != nil || result.Chosen != 2 || result.Verdict != space.Faster || len(result.Refused) != 2 {
		t.Errorf("%+v, %v", result, err)
	}
}
