package searchtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tune/search"
	"tune/space"
)

// Option is a property of a strategy that changes what is checked.
type Option uint8

const (
	// Seedless is the option of a strategy that does not use its seed.
	Seedless Option = iota + 1
	// Paced is the option of a strategy that adapts to what is left of the budget: a run with a smaller budget need not ask for
	// the first points of a run with a larger one.
	Paced
	// Dear is the option of a strategy that thinks for milliseconds about each point: every check is made, over fewer evaluations
	// and seeds.
	Dear
)

// Conformance checks everything that package search expects of a strategy. The factory makes a strategy for a space, from a seed.
func Conformance(t *testing.T, name string, factory func(*space.Space, uint64) (search.Strategy, error), options ...Option) {
	all, err := theSpaces()
	if err != nil {
		t.Fatal(err)
	}
	s := &suite{spaces: all, factory: factory, seedless: slices.Contains(options, Seedless),
		paced: slices.Contains(options, Paced), dear: slices.Contains(options, Dear)}
	for _, c := range checks {
		t.Run(name+"/"+c.name, func(t *testing.T) {
			t.Parallel()
			c.check(s, t)
		})
	}
	for _, p := range properties {
		t.Run(name+"/"+p.name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) { p.check(s, t) })
		})
	}
}

// Brief makes most of the checks in a short time, for a strategy in many variants, one with each value of its constants. A small
// space is exhausted, a budget is met in a large one, the seed decides what is asked for, and a replay of a run agrees.
func Brief(t *testing.T, factory func(*space.Space, uint64) (search.Strategy, error)) {
	t.Helper()
	all, err := theSpaces()
	if err != nil {
		t.Fatal(err)
	}
	s := &suite{spaces: all, factory: factory}
	const evaluations = 41
	small, wide := s.few[3], s.many[0]
	s.asker(t, small, 1, rough).exhausted()
	first, again := s.asker(t, wide, 2, rough).run(evaluations), s.asker(t, wide, 2, rough).run(evaluations)
	if len(first) != evaluations || !slices.Equal(first, again) {
		t.Fatalf("space %s: it asks for %d points, and for the same the second time: %v", wide.Name(), len(first), slices.Equal(first, again))
	}
	past := s.whole(t, small, 3, evaluator(rough, 0), search.Settings{Budget: search.Budget{Evaluations: evaluations}, Jobs: 2})
	if n, err := search.Replay(s.make(t, small, 3), past); err != nil || n != evaluations {
		t.Fatalf("space %s: of %d outcomes, a replay agrees on %d: %v", small.Name(), evaluations, n, err)
	}
}

// checks are what the suite does once, properties what it repeats with random choices.
var (
	checks = []struct {
		name  string
		check func(*suite, tb)
	}{
		{"exhausts", (*suite).exhausts},
		{"exhausts scattered points", (*suite).exhaustsScattered},
		{"far from the end", (*suite).farFromTheEnd},
		{"evaluations", (*suite).evaluations},
		{"seed", (*suite).seed},
		{"instances", (*suite).instances},
		{"clock", (*suite).clock},
		{"prefix", (*suite).prefix},
		{"progress", (*suite).progress},
		{"jobs", (*suite).jobs},
	}
	properties = []struct {
		name  string
		check func(*suite, *rapid.T)
	}{
		{"exhausts random spaces", (*suite).exhaustsRandom},
		{"replay and resume", (*suite).resume},
	}
)

// tb is what the checks need of a *testing.T, which a *rapid.T has as well. It lets the tests of the suite observe that a check
// fails.
type tb interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

type suite struct {
	spaces
	factory  func(*space.Space, uint64) (search.Strategy, error)
	seedless bool
	paced    bool
	dear     bool
}

// most is a number of evaluations, or of other work of a check; an eighth of it where the strategy is dear.
func (s *suite) most(n int) int {
	if s.dear {
		return max(n/8, 1)
	}
	return n
}

// exhaustible lists the spaces that a check exhausts under each landscape: a dear strategy exhausts the largest only
// under the first.
func (s *suite) exhaustible(land landscape) []*space.Space {
	if s.dear && land.name != rough.name {
		return slices.DeleteFunc(slices.Clone(s.few), func(in *space.Space) bool { return points(in) > 200 })
	}
	return s.few
}

func (s *suite) make(t tb, in *space.Space, seed uint64) search.Strategy {
	t.Helper()
	strategy, err := s.factory(in, seed)
	if err != nil {
		t.Fatalf("space %s, seed %d: %v", in.Name(), seed, err)
	}
	return strategy
}

// asker drives a strategy by hand and checks every proposal.
type asker struct {
	t        tb
	strategy search.Strategy
	in       *space.Space
	land     landscape
	seconds  float64 // reported as the time of every outcome
	seen     map[string]bool
	asked    []string // keys, in the order asked
}

func (s *suite) asker(t tb, in *space.Space, seed uint64, land landscape) *asker {
	t.Helper()
	return &asker{t: t, strategy: s.make(t, in, seed), in: in, land: land, seen: map[string]bool{}}
}

// round asks for one batch and tells its outcomes. It returns the size of the batch; evaluations is what the budget leaves, 0
// where it sets no limit.
func (a *asker) round(evaluations int) int {
	a.t.Helper()
	p := space.Progress{Told: len(a.asked), Left: 1, Evaluations: evaluations}
	if evaluations > 0 {
		p.Left = float64(evaluations) / float64(len(a.asked)+evaluations)
	}
	return a.batch(p)
}

// batch is round for any progress.
func (a *asker) batch(p space.Progress) int {
	a.t.Helper()
	evaluations := p.Evaluations
	proposals := a.strategy.Ask(p)
	if evaluations > 0 && len(proposals) > evaluations {
		a.t.Fatalf("space %s: it asks for %d points where %d are left", a.in.Name(), len(proposals), evaluations)
	}
	var trials []space.Trial
	var outcomes []space.Outcome
	for _, p := range proposals {
		if p.Point.IsZero() || p.Fidelity < 0 {
			a.t.Fatalf("space %s: it asks for %q at fidelity %d", a.in.Name(), p.Point, p.Fidelity)
		}
		if err := a.in.Explain(p.Point.Ordinals()); err != nil {
			a.t.Fatalf("space %s: it asks for %q: %v", a.in.Name(), p.Point, err)
		}
		if same, err := a.in.FromOrdinals(p.Point.Ordinals()); err != nil || !same.Equal(p.Point) {
			a.t.Fatalf("space %s: it asks for %q, which is %q there: %v", a.in.Name(), p.Point, same, err)
		}
		key := p.Point.Key()
		if what := fmt.Sprint(key, p.Fidelity); a.seen[what] {
			a.t.Fatalf("space %s: it asks for %q again, after %d points", a.in.Name(), key, len(a.asked))
		} else {
			a.seen[what] = true
		}
		o := a.land.outcome(p.Point)
		o.Fidelity, o.Seconds = p.Fidelity, a.seconds
		trials, outcomes = append(trials, space.Trial{Number: len(a.asked), Proposal: p}), append(outcomes, o)
		a.asked = append(a.asked, key)
	}
	if len(proposals) > 0 {
		a.strategy.Tell(trials, outcomes)
	}
	return len(proposals)
}

// run asks until this many points were asked for, 0 for all of them, and returns their keys. It fails where the strategy stops
// early.
func (a *asker) run(evaluations int) []string {
	a.t.Helper()
	for evaluations == 0 || len(a.asked) < evaluations {
		left := 0
		if evaluations > 0 {
			left = evaluations - len(a.asked)
		}
		if a.round(left) == 0 {
			if evaluations > 0 {
				a.t.Fatalf("space %s: it stops after %d points, and %d are allowed", a.in.Name(), len(a.asked), evaluations)
			}
			break
		}
	}
	return a.asked
}

// exhausted runs to the end and checks that every point was asked.
func (a *asker) exhausted() {
	a.t.Helper()
	a.run(0)
	n := 0
	for _, p := range every(a.in) {
		if n++; !a.seen[fmt.Sprint(p.Key(), 0)] {
			a.t.Fatalf("space %s, %s: it stops without having asked %q", a.in.Name(), a.land.name, p)
		}
	}
	if len(a.asked) < n {
		a.t.Fatalf("space %s, %s: it stops after %d points of %d", a.in.Name(), a.land.name, len(a.asked), n)
	}
	if a.round(0) > 0 {
		a.t.Fatalf("space %s, %s: it goes on after its end", a.in.Name(), a.land.name)
	}
}

// seeds are what most checks run with: the corners, and one more.
var seeds = []uint64{0, 1, 1<<64 - 1}

// exhausts asks until nothing is left: every point is asked, and only once, whatever the outcomes are.
func (s *suite) exhausts(t tb) {
	for _, land := range landscapes {
		for _, in := range s.exhaustible(land) {
			for _, seed := range seeds[:min(s.most(2*len(seeds)), len(seeds))] {
				s.asker(t, in, seed, land).exhausted()
			}
		}
	}
}

// exhaustsScattered is exhausts where random draws hardly ever find a point, and points have no numbers.
func (s *suite) exhaustsScattered(t tb) {
	s.asker(t, s.scattered, 1, rough).exhausted()
}

// exhaustsRandom is exhausts on random spaces, with batches cut short by budgets.
func (s *suite) exhaustsRandom(t *rapid.T) {
	in := drawSpace(t)
	a := s.asker(t, in, rapid.Uint64().Draw(t, "seed"), rapid.SampledFrom(landscapes).Draw(t, "landscape"))
	for range rapid.IntRange(0, 5).Draw(t, "short batches") {
		if a.round(rapid.IntRange(1, 10).Draw(t, "evaluations")) == 0 {
			break
		}
	}
	a.exhausted()
}

// farFromTheEnd asks in spaces that no run exhausts.
func (s *suite) farFromTheEnd(t tb) {
	n := 500
	if s.dear {
		n = 32
	}
	for i, in := range s.many {
		for j, land := range landscapes {
			if s.dear && i != j%len(s.many) {
				continue // each landscape in one of the spaces
			}
			s.asker(t, in, 5, land).run(n)
		}
	}
}

// evaluations checks that a budget is met exactly, down to a single evaluation.
func (s *suite) evaluations(t tb) {
	for _, in := range slices.Concat(s.few, s.many) {
		for _, n := range []int{1, 2, 3, 5, 17, 64, 65, 100} {
			if size, ok := in.Len(); ok && uint64(n) > size || s.dear && n > 17 && (n != 64 || in != s.many[0]) {
				continue
			}
			if asked := s.asker(t, in, 3, rough).run(n); len(asked) != n {
				t.Fatalf("space %s: it asks %d points of %d", in.Name(), len(asked), n)
			}
		}
	}
}

// seed checks that a seed decides all that is asked, and that it decides anything.
func (s *suite) seed(t tb) {
	for _, in := range slices.Concat(s.few[3:], s.many) {
		n := max(s.most(60), 16)
		distinct := map[string]uint64{}
		for seed := range uint64(max(s.most(8), 3)) {
			first, again := s.asker(t, in, seed, rough).run(n), s.asker(t, in, seed, rough).run(n)
			if !slices.Equal(first, again) {
				t.Fatalf("space %s: seed %d asks for other points the second time", in.Name(), seed)
			}
			text := fmt.Sprint(first)
			if other, same := distinct[text]; same && !s.seedless {
				t.Errorf("space %s: seeds %d and %d ask for the same", in.Name(), other, seed)
			}
			distinct[text] = seed
		}
		if s.seedless && len(distinct) > 1 {
			t.Errorf("space %s: a strategy without a seed depends on it", in.Name())
		}
	}
}

// instances checks that strategies at work at the same time do not touch each other.
func (s *suite) instances(t tb) {
	for _, in := range s.many {
		n := s.most(200)
		alone := s.asker(t, in, 1, rough).run(n)
		one, other := s.asker(t, in, 1, rough), s.asker(t, in, 2, rough)
		for len(one.asked) < n {
			one.round(n - len(one.asked))
			other.round(0)
		}
		if !slices.Equal(one.asked, alone) {
			t.Errorf("space %s: it asks for other points beside a second strategy", in.Name())
		}
	}
}

// clock checks that the time that outcomes took has no effect.
func (s *suite) clock(t tb) {
	for _, in := range s.many {
		fast, slow := s.asker(t, in, 1, rough), s.asker(t, in, 1, rough)
		slow.seconds = 3600
		if n := s.most(200); !slices.Equal(fast.run(n), slow.run(n)) {
			t.Errorf("space %s: it asks for other points where evaluations are slow", in.Name())
		}
	}
}

// prefix checks that a run with a smaller budget asks for the first points of a run with a larger one: the budget cuts the last
// batch, and has no other effect. A paced strategy is free to ask for others.
func (s *suite) prefix(t tb) {
	if s.paced {
		return
	}
	for _, in := range slices.Concat(s.few[3:], s.many) {
		most := s.most(150)
		for _, land := range []landscape{rough, landscapes[1], landscapes[2]} {
			whole := s.asker(t, in, 4, land).run(min(most, points(in)))
			for n := 1; n < len(whole); n += 1 + n/5 {
				if part := s.asker(t, in, 4, land).run(n); !slices.Equal(part, whole[:n]) {
					t.Fatalf("space %s, %s: with a budget of %d it does not ask for the first of %d", in.Name(), land.name, n, len(whole))
				}
			}
		}
	}
}

// progress checks that a strategy copes with any readings of a budget, in evaluations and by the clock, and that it asks for the
// same where it is shown the same: only what is journaled decides.
func (s *suite) progress(t tb) {
	for _, in := range slices.Concat(s.few[3:4], s.many) {
		n := min(s.most(200), points(in))
		one, again := s.asker(t, in, 7, rough), s.asker(t, in, 7, rough)
		rng := rand.New(rand.NewPCG(7, 7))
		for i := 0; len(one.asked) < n; i++ {
			p := space.Progress{Told: len(one.asked), Left: 1 - float64(len(one.asked))/float64(n)}
			switch i % 4 {
			case 0: // the clock has nearly run out
				p.Left = 0
			case 1: // the budget was raised
				p.Left = 1
			case 2:
				p.Evaluations = 1 + rng.IntN(12)
			}
			if one.batch(p) == 0 {
				t.Fatalf("space %s: it stops after %d points, shown %+v", in.Name(), len(one.asked), p)
			}
			again.batch(p)
		}
		if !slices.Equal(one.asked, again.asked) {
			t.Errorf("space %s: it asks for other points where it is shown the same progress", in.Name())
		}
	}
}

// points is the number of points of a space, or the largest number.
func points(in *space.Space) int {
	if n, ok := in.Len(); ok {
		return int(n)
	}
	return int(^uint(0) >> 1)
}

// evaluator gives the outcomes of a landscape, each after a random delay below pause.
func evaluator(land landscape, pause time.Duration) search.Evaluator {
	return search.EvaluatorFunc(func(_ context.Context, t space.Trial) (space.Outcome, error) {
		if pause > 0 {
			time.Sleep(rand.N(pause))
		}
		return land.outcome(t.Point), nil
	})
}

// whole carries out a run and returns what it recorded.
func (s *suite) whole(t tb, in *space.Space, seed uint64, ev search.Evaluator, set search.Settings) space.History {
	t.Helper()
	past, _ := set.History.(space.History)
	memory := NewMemory(past)
	set.Recorder = memory
	if _, err := search.Run(context.Background(), s.make(t, in, seed), ev, set); err != nil {
		t.Fatalf("space %s, seed %d: %v", in.Name(), seed, err)
	}
	return memory.History()
}

// jobs checks that the number of workers, and the order in which they finish, changes nothing.
func (s *suite) jobs(t tb) {
	for _, in := range slices.Concat(s.few[3:4], s.many) {
		budget := search.Budget{Evaluations: min(s.most(150), points(in))}
		one := s.whole(t, in, 6, evaluator(rough, 0), search.Settings{Budget: budget})
		for _, jobs := range []int{2, 8} {
			more := s.whole(t, in, 6, evaluator(rough, 500*time.Microsecond), search.Settings{Budget: budget, Jobs: jobs})
			if d := Difference(one, more); d != "" {
				t.Errorf("space %s: a run with %d jobs differs: %s", in.Name(), jobs, d)
			}
		}
	}
}

// resume cuts recorded runs at random: at any batch, with any part of its outcomes known. Replayed from what is left, the
// strategy asks for the same, and the run ends as the one that was not cut.
func (s *suite) resume(t *rapid.T) {
	land := rapid.SampledFrom(landscapes).Draw(t, "landscape")
	in := rapid.SampledFrom(slices.Concat(s.few, s.many)).Draw(t, "space")
	seed := rapid.Uint64().Draw(t, "seed")
	set := search.Settings{
		Budget: search.Budget{Evaluations: rapid.IntRange(0, s.most(200)).Draw(t, "evaluations")},
		Jobs:   rapid.SampledFrom([]int{1, 2, 8}).Draw(t, "jobs"),
	}
	if points(in) > 1000 || s.dear {
		set.Budget.Evaluations = max(set.Budget.Evaluations, 1)
	}
	whole := s.whole(t, in, seed, evaluator(land, 0), set)
	if n, err := search.Replay(s.make(t, in, seed), whole); err != nil || n != len(whole.Entries) {
		t.Fatalf("space %s: of %d outcomes, a replay agrees on %d: %v", in.Name(), len(whole.Entries), n, err)
	}
	share := rapid.Float64Range(0, 1).Draw(t, "share known")
	rng := rand.New(rand.NewPCG(seed, 1))
	cut := Cut(whole, rapid.IntRange(0, len(whole.Batches)).Draw(t, "batches"), func(int) bool { return rng.Float64() < share })
	if n, err := search.Replay(s.make(t, in, seed), cut); err != nil || n != len(cut.Entries) {
		t.Fatalf("space %s: of %d outcomes, a replay of the part agrees on %d: %v", in.Name(), len(cut.Entries), n, err)
	}
	set.History = cut
	if d := Difference(whole, s.whole(t, in, seed, evaluator(land, 0), set)); d != "" {
		t.Fatalf("space %s: the run that goes on after %d outcomes differs: %s", in.Name(), len(cut.Entries), d)
	}
}
