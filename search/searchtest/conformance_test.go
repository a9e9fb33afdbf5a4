package searchtest

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"tune/search"
	"tune/search/random"
	"tune/space"
)

// failure is what a check said when it failed.
type failure string

// probe takes the place of a *testing.T.
type probe struct{}

func (probe) Helper()                           {}
func (probe) Errorf(format string, args ...any) { panic(failure(fmt.Sprintf(format, args...))) }
func (probe) Fatalf(format string, args ...any) { panic(failure(fmt.Sprintf(format, args...))) }

// said returns what a check says of a strategy: "" where it passes.
func said(t *testing.T, name string, s *suite) (text string) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case failure:
			text = string(p)
		default:
			panic(p)
		}
	}()
	for _, c := range checks {
		if c.name == name {
			c.check(s, probe{})
			return ""
		}
	}
	t.Fatalf("there is no check %q", name)
	return ""
}

// spoilt is random search with one fault.
type spoilt struct {
	search.Strategy
	in   *space.Space
	seed uint64

	batches, slow int
	asked         []space.Proposal
	spoil         func(s *spoilt, p space.Progress, proposals []space.Proposal) []space.Proposal
	hear          func(s *spoilt, o space.Outcome)
}

func (s *spoilt) Ask(p space.Progress) []space.Proposal {
	proposals := s.Strategy.Ask(p)
	if s.spoil != nil {
		proposals = s.spoil(s, p, proposals)
	}
	s.batches++
	s.asked = append(s.asked, proposals...)
	return proposals
}

func (s *spoilt) Tell(trials []space.Trial, outcomes []space.Outcome) {
	if s.hear != nil {
		for _, o := range outcomes {
			s.hear(s, o)
		}
	}
}

// restart makes the inner strategy anew, from another seed.
func (s *spoilt) restart(seed uint64) { s.Strategy = random.New(s.in, s.seed+seed) }

// Each fault is found by the check that is there for it, and random search without one passes.
func TestChecksFail(t *testing.T) {
	all, err := theSpaces()
	if err != nil {
		t.Fatal(err)
	}
	calls := uint64(0)
	for _, c := range []struct {
		fault string
		check string
		spoil func(s *spoilt, p space.Progress, proposals []space.Proposal) []space.Proposal
		hear  func(s *spoilt, o space.Outcome)
	}{
		{"stops one short", "exhausts", func(s *spoilt, _ space.Progress, in []space.Proposal) []space.Proposal {
			return in[:max(len(in)-1, 0)]
		}, nil},
		{"asks twice in a batch", "exhausts", func(s *spoilt, p space.Progress, in []space.Proposal) []space.Proposal {
			if len(in) > 2 {
				in[2] = in[0]
			}
			return in
		}, nil},
		{"asks a told point again", "exhausts", func(s *spoilt, p space.Progress, in []space.Proposal) []space.Proposal {
			if s.batches == 1 && len(in) > 0 {
				in[0] = s.asked[0]
			}
			return in
		}, nil},
		{"never ends", "exhausts", func(s *spoilt, _ space.Progress, in []space.Proposal) []space.Proposal {
			if len(in) == 0 {
				return s.asked[:1]
			}
			return in
		}, nil},
		{"asks nothing now and then", "far from the end", func(s *spoilt, _ space.Progress, in []space.Proposal) []space.Proposal {
			if s.batches == 3 {
				return nil
			}
			return in
		}, nil},
		{"asks an empty point", "far from the end", func(s *spoilt, _ space.Progress, in []space.Proposal) []space.Proposal {
			in[0] = space.Proposal{}
			return in
		}, nil},
		{"asks in another space", "far from the end", func(s *spoilt, _ space.Progress, in []space.Proposal) []space.Proposal {
			in[0].Point = all.few[0].At(0)
			return in
		}, nil},
		{"asks for more than is allowed", "evaluations", func(s *spoilt, p space.Progress, in []space.Proposal) []space.Proposal {
			if p.Evaluations > 0 {
				p.Evaluations++
			}
			s.restart(0)
			return s.Strategy.Ask(p)
		}, nil},
		{"draws from a global source", "seed", func(s *spoilt, p space.Progress, in []space.Proposal) []space.Proposal {
			s.restart(rand.Uint64())
			return s.Strategy.Ask(p)
		}, nil},
		{"has one seed", "seed", func(s *spoilt, p space.Progress, in []space.Proposal) []space.Proposal {
			if s.batches == 0 {
				s.Strategy = random.New(s.in, 1)
				return s.Strategy.Ask(p)
			}
			return in
		}, nil},
		{"shares a counter", "instances", func(s *spoilt, p space.Progress, in []space.Proposal) []space.Proposal {
			if calls++; s.batches == 0 {
				calls = 0
			}
			if calls != uint64(s.batches) {
				return in[:1]
			}
			return in
		}, nil},
		{"reads the time", "clock", nil, func(s *spoilt, o space.Outcome) {
			if o.Seconds > 1 {
				s.restart(99)
			}
		}},
		{"spends the budget otherwise", "prefix", func(s *spoilt, p space.Progress, in []space.Proposal) []space.Proposal {
			if p.Evaluations == 3 {
				in[0], in[1] = in[1], in[0]
			}
			return in
		}, nil},
		{"asks at random near the end", "progress", func(s *spoilt, p space.Progress, in []space.Proposal) []space.Proposal {
			if p.Left < 0.5 {
				s.restart(rand.Uint64())
				return s.Strategy.Ask(p)
			}
			return in
		}, nil},
		{"asks nothing when the time is over", "progress", func(s *spoilt, p space.Progress, in []space.Proposal) []space.Proposal {
			if p.Left == 0 {
				return nil
			}
			return in
		}, nil},
		{"reads what has no meaning", "jobs", nil, func(s *spoilt, o space.Outcome) {
			if o.Seconds > 50e-6 {
				s.slow++
			}
			if s.slow == 40 {
				s.restart(99)
			}
		}},
	} {
		make := func(in *space.Space, seed uint64) (search.Strategy, error) {
			return &spoilt{Strategy: random.New(in, seed), in: in, seed: seed, spoil: c.spoil, hear: c.hear}, nil
		}
		if text := said(t, c.check, &suite{spaces: all, factory: make}); text == "" {
			t.Errorf("the check %q passes a strategy that %s", c.check, c.fault)
		} else {
			t.Logf("%s: %s", c.fault, text)
		}
	}
	for _, c := range checks {
		make := func(in *space.Space, seed uint64) (search.Strategy, error) { return random.New(in, seed), nil }
		if text := said(t, c.name, &suite{spaces: all, factory: make}); text != "" {
			t.Errorf("the check %q fails random search: %s", c.name, text)
		}
	}
}
