package timing

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"time"

	"tune/kernels"
)

// mostRounds is how many counting rounds a series has where the limit allows it, confirmRounds the number for a confirming
// series. allRounds bounds all rounds, counting or not, when one of several finalists is chosen, and those of a confirming series on
// a machine that is disturbed. Finalists that are behind are dropped after raceRounds, and after each raceEvery more.
const mostRounds, confirmRounds, allRounds, raceRounds, raceEvery = 21, 30, 63, 16, 6

// fewRounds is how many rounds a series has where Few is set: half of them may be disturbed.
const fewRounds = 2 * LeastPairs

// mostCalm is how many pairs a confirming series selects at most. Where more rounds are needed because the machine is disturbed, the
// additional ones replace disturbed pairs.
const mostCalm = confirmRounds / 2

// dropped is the confidence with which a finalist is slower before it is dropped. It is high because a series looks often, and because
// a machine that is disturbed for a second disturbs several rounds alike.
const dropped = 0.99

// restless is the ratio of the products of the selected pairs, largest over smallest, from which on a confirming series has more
// rounds.
const restless = 1.06

// overdue is how many times the limit a series may take if it has no interval yet.
const overdue = 2

// onceOff is how far off a cost may be that was measured once: a shared core may be half as fast as usual.
const onceOff = 2

// Series is a comparison in progress. Its entrants take turns, round by round; the others are compared with the first one.
// Packages native, user and gofunc measure by it. Set its fields before Run.
type Series struct {
	kernels.Series
	Entrants int
	// Turns is how many turns each entrant has in a round, one or a power of two; 0 means 1. With short turns, a disturbance of
	// some hundredths of a second slows both sides.
	Turns int
	// Few ends the series after fewRounds, on a disturbed machine too, which is enough for an interval that distinguishes what differs much.
	// It is for tests, which see the same progress: Observe is told of as many rounds as without it.
	Few bool
	// Mean makes the cost of a round the mean of its turns, for entrants that do in a few calls what belongs to many.
	Mean bool
	Now  func() time.Time // nil means time.Now
	// Turn measures an entrant once. A *kernels.Rejection drops that entrant; for the first entrant it ends the series as its
	// error, like any other error. So what may have other causes is not an error before it has happened twice.
	Turn func(ctx context.Context, entrant int) (cost float64, err error)
	// Slow reports whether an entrant is so slow that one turn is enough. nil means never.
	Slow func(entrant int) bool
	// Begin and End are called before and after each round. nil does nothing.
	Begin, End func(ctx context.Context, round int) error
	// Counting returns a function that reports which of the first n rounds count, and whether they count only for lack of better
	// ones. nil counts all.
	Counting func(n int) (counts func(round int) bool, unverified bool)
	// Counted returns how many of the first n rounds are good. nil counts all.
	Counted func(n int) int
	Floors  []float64 // for each entrant: the least possible cost of a turn; nil for none

	costs  [][]float64 // by entrant and round; 0 where there is none
	errs   []error     // why an entrant is out
	single []bool      // whether an entrant was measured once, for all rounds
	coins  *rand.Rand
	toss   bool // whether the order of the last round was reversed
}

// errDropped marks an entrant that was dropped because it is behind, or for lack of time. It keeps its costs.
var errDropped = errors.New("it is behind, and not measured to the end")

// Backward reports whether the current round began with the last entrant.
func (s *Series) Backward() bool { return s.toss }

// Costs returns the costs of an entrant's turns.
func (s *Series) Costs(entrant int) []float64 { return s.costs[entrant] }

// Reject drops an entrant that is not out yet. It must not be the first one.
func (s *Series) Reject(entrant int, err error) {
	s.init()
	if s.errs[entrant] == nil || s.errs[entrant] == errDropped {
		s.errs[entrant] = err
	}
}

// Out reports whether an entrant has no more turns.
func (s *Series) Out(entrant int) bool {
	s.init()
	return s.errs[entrant] != nil
}

// Failed reports whether an entrant has been found at fault.
func (s *Series) Failed(entrant int) bool {
	s.init()
	return s.errs[entrant] != nil && s.errs[entrant] != errDropped
}

// Once reports whether the first entrant is not measured any more, because it is slow.
func (s *Series) Once() bool { return s.single[0] }

func (s *Series) init() {
	if s.errs != nil {
		return
	}
	s.costs, s.errs, s.single = make([][]float64, s.Entrants), make([]error, s.Entrants), make([]bool, s.Entrants)
	s.coins = rand.New(rand.NewPCG(s.Seed, 0))
	if s.Now == nil {
		s.Now = time.Now
	}
	if s.Floors == nil {
		s.Floors = make([]float64, s.Entrants)
	}
	if s.Counted == nil {
		s.Counted = func(n int) int { return n }
	}
	if s.Slow == nil {
		s.Slow = func(int) bool { return false }
	}
	if s.Counting == nil {
		s.Counting = func(int) (func(int) bool, bool) { return func(int) bool { return true }, false }
	}
}

// choosing reports whether this series chooses the best finalist, so that its result is not quoted.
func (s *Series) choosing() bool { return !s.Confirm && !s.Peak }

// Run measures until there are enough rounds, or the limit is reached. How long that takes depends on how fast the entrants and
// the machine are, never on which entrant is ahead, so that there is no repeated look at the result. A series that chooses one of
// several finalists continues until one is left.
func (s *Series) Run(ctx context.Context) error {
	s.init()
	enough := mostRounds
	if s.Confirm {
		enough = confirmRounds
	}
	start := s.Now()
	deadline := start.Add(s.Limit)
	if s.Sure != nil {
		return s.runUntilSure(ctx, deadline)
	}
	for round := range allRounds {
		counted := s.Counted(round)
		if s.choosing() && round >= raceRounds && (round-raceRounds)%raceEvery == 0 {
			s.dropBehind()
		}
		if s.Few && round >= fewRounds {
			return nil
		}
		if counted >= enough && (!s.choosing() || s.running() < 2) && (!s.Confirm || s.calm()) {
			return nil
		}
		now := s.Now()
		if round == 1 {
			// Slow entrants have several turns only where the limit allows enough for an interval.
			if (LeastPairs-1)*now.Sub(start) > deadline.Sub(now) {
				for i := 1; i < s.Entrants; i++ {
					if !s.Out(i) && s.Slow(i) {
						return nil
					}
				}
				s.single[0] = s.Slow(0)
			}
		}
		switch late := now.Sub(deadline); {
		case late > 0 && round >= LeastPairs, late > overdue*s.Limit && round > 0:
			return nil
		case late > 0 && round >= 2:
			s.dropSlower()
		}
		if s.Observe != nil {
			of := enough + round - counted // rounds that do not count are repeated
			if s.choosing() {
				of = allRounds
			}
			if of = min(of, s.affordable(round, now.Sub(start))); of <= round {
				of = 0 // it ends when the machine is calm
			}
			s.Observe(round+1, of)
		}
		if err := s.round(ctx, round); err != nil {
			return err
		}
	}
	return nil
}

// affordable returns how many rounds the limit allows, where the first ones took some time, each about the same; before the first, all.
func (s *Series) affordable(rounds int, spent time.Duration) int {
	if rounds == 0 || spent <= 0 {
		return allRounds
	}
	each := spent / time.Duration(rounds)
	within := func(limit time.Duration) int { // a round begins until the limit is past
		if limit < spent {
			return rounds
		}
		return rounds + int((limit-spent)/each) + 1
	}
	return max(within(s.Limit), min(LeastPairs, within((1+overdue)*s.Limit)))
}

// runUntilSure measures pairs until Sure is, the limit is reached or the finalist is out.
func (s *Series) runUntilSure(ctx context.Context, deadline time.Time) error {
	for round := 0; round == 0 || s.Now().Before(deadline); round++ {
		if s.Observe != nil {
			s.Observe(round+1, 0)
		}
		if err := s.round(ctx, round); err != nil {
			return err
		}
		if s.Out(1) {
			return nil
		}
		a, b := s.costs[0][round], s.costs[1][round]
		if believable(a, s.Floors[0]) && believable(b, s.Floors[1]) && s.Sure(a, b) {
			return nil
		}
	}
	return nil
}

// calm reports whether the pairs that a confirming series selects were hardly disturbed. That depends only on the products of their
// costs, and so not on which side is ahead.
func (s *Series) calm() bool {
	for i := 1; i < s.Entrants; i++ {
		if s.Out(i) || s.single[0] || s.single[i] {
			continue
		}
		a, b, _ := s.selected(0, i)
		if last := len(a) - 1; last > 0 && a[last]*b[last] > restless*a[0]*b[0] {
			return false
		}
	}
	return true
}

// round gives each entrant its turns: forwards and backwards in alternation, so that a drift favours nobody. In a confirming
// series the first side is drawn at random: for equal entrants, the effect of the order then has a random sign.
func (s *Series) round(ctx context.Context, round int) error {
	s.toss = round%2 == 1
	if s.Confirm {
		s.toss = s.coins.Uint64()&1 == 1
	}
	if s.Begin != nil {
		if err := s.Begin(ctx, round); err != nil {
			return err
		}
	}
	turns := make([][]float64, s.Entrants)
	for at, i := range s.order() {
		if s.Out(i) || i == 0 && s.single[0] || at >= s.Entrants && s.Slow(i) {
			continue // one turn of a slow first entrant is long enough
		}
		cost, err := s.Turn(ctx, i)
		if err != nil && (i == 0 || kernels.AsRejection(err) == nil) {
			return err
		}
		if err != nil {
			s.errs[i] = err
			continue
		}
		turns[i] = append(turns[i], cost)
	}
	for i := range s.costs {
		if s.Out(i) {
			continue
		}
		// Disturbances come and go, and only ever lengthen a turn. So the least of a round varies a third as much as a quartile
		// does, and its error is the same for both sides of a pair.
		cost := Summarise(turns[i], s.Floors[i]).Low
		switch {
		case i == 0 && s.single[0]:
			cost = s.costs[0][0]
		case len(turns[i]) == 1:
			cost = turns[i][0] // it is checked when it is paired
		case s.Mean:
			cost = Mean(turns[i])
		}
		s.costs[i] = append(s.costs[i], cost)
	}
	if s.End != nil {
		return s.End(ctx, round)
	}
	return nil
}

// order lists the entrants for the turns of a round, in the Thue-Morse sequence: ABBA BAAB ….
func (s *Series) order() []int {
	turns := max(s.Turns, 1)
	order := make([]int, 0, turns*s.Entrants)
	for turn := range uint(turns) {
		back := s.toss != (bits.OnesCount(turn)%2 == 1)
		for i := range s.Entrants {
			if back {
				i = s.Entrants - 1 - i
			}
			order = append(order, i)
		}
	}
	return order
}

// dropSlower drops all but the finalist that is ahead, so that at least that one gets its interval.
func (s *Series) dropSlower() {
	best, least := 0, 0.0
	for i := 1; i < s.Entrants; i++ {
		if s.Out(i) {
			continue
		}
		if cost := Summarise(s.costs[i], s.Floors[i]).Cost; best == 0 || cost < least {
			best, least = i, cost
		}
	}
	for i := 1; i < s.Entrants; i++ {
		if !s.Out(i) && i != best {
			s.errs[i] = errDropped
		}
	}
}

// running returns how many finalists have more turns.
func (s *Series) running() (n int) {
	for i := 1; i < s.Entrants; i++ {
		if !s.Out(i) {
			n++
		}
	}
	return n
}

// dropBehind drops the finalists that are proven to be slower than the one that is ahead, so that the others get more rounds.
func (s *Series) dropBehind() {
	best, ahead := 0, kernels.Comparison{}
	for i := 1; i < s.Entrants; i++ {
		now, err := s.compare(0, i, s.confidence())
		c := kernels.Comparison{Ratio: now.ratio.Value, Low: now.ratio.Low}
		if !s.Failed(i) && err == nil && (best == 0 || c.Ahead(ahead)) {
			best, ahead = i, c
		}
	}
	for i := 1; i < s.Entrants && best > 0; i++ {
		if i == best || s.Out(i) {
			continue
		}
		now, err := s.compare(best, i, dropped)
		if ratio := now.ratio; err == nil && ratio.High < 1 && ratio.High > 0 {
			s.errs[i] = errDropped
		}
	}
}

func (s *Series) confidence() float64 {
	if s.Confirm {
		return kernels.Confirmed
	}
	return Confidence
}

// selected returns the costs of two entrants in the rounds that are compared: the counting ones in which both have a cost, and of
// those the ones that were disturbed least.
func (s *Series) selected(first, second int) (a, b []float64, unverified bool) {
	n := min(len(s.costs[first]), len(s.costs[second]))
	counts, unverified := s.Counting(n)
	for i := range n {
		if counts(i) {
			a, b = append(a, s.costs[first][i]), append(b, s.costs[second][i])
		}
	}
	switch {
	case s.Confirm:
		a, b = calmest(a, b, mostCalm)
	case !s.Peak:
		a, b = calmest(a, b, n)
	}
	return a, b, unverified
}

// compared is how two entrants compare over the selected rounds.
type compared struct {
	ratio      Ratio
	ratios     []float64 // of the single pairs that ratio sums up
	base       []float64 // the costs of the first entrant
	unverified bool
}

// compare compares two entrants over the selected rounds. An error says that no pair can be believed.
func (s *Series) compare(first, second int, confidence float64) (c compared, err error) {
	var other []float64
	c.base, other, c.unverified = s.selected(first, second)
	c.ratio, c.ratios, err = Pairs(c.base, other, s.Floors[first], s.Floors[second], confidence)
	if s.single[first] || s.single[second] {
		// A cost that was measured once must not pass for pairs.
		c.ratio.Low, c.ratio.High = c.ratio.Low/onceOff, c.ratio.High*onceOff
	}
	return c, err
}

// Final sums up. A cost is the baseline's cost in the turns of the pairs, over the ratio of these pairs, so that the three
// numbers agree.
func (s *Series) Final() kernels.Final {
	s.init()
	f := kernels.Final{Best: -1, Comparisons: make([]kernels.Comparison, s.Entrants-1)}
	for i := range f.Comparisons {
		c := &f.Comparisons[i]
		if s.Failed(i + 1) {
			c.Err = s.errs[i+1]
			continue
		}
		pairs, err := s.compare(0, i+1, s.confidence())
		if err != nil {
			// The clock was wrong every time; that is no reason to call the finalist wrong.
			c.Unverified, c.Indistinct, c.TooFew = true, true, true
			continue
		}
		ratio := pairs.ratio
		c.Ratio, c.Low, c.High, c.Pairs, c.Ratios = ratio.Value, ratio.Low, ratio.High, ratio.Pairs, pairs.ratios
		c.Baseline = Summarise(pairs.base, s.Floors[0]).Cost
		c.Cost = c.Baseline / c.Ratio
		c.Unverified = pairs.unverified || s.Slow(i+1) && c.Pairs < LeastPairs || s.Confirm && s.single[0] && c.Low <= 1 && c.High >= 1
		if f.Best < 0 || c.Ahead(f.Comparisons[f.Best]) {
			f.Best = i
		}
	}
	for i := range f.Comparisons {
		c := &f.Comparisons[i]
		if c.Err != nil || c.Pairs == 0 {
			continue
		}
		first, second := i+1, f.Best+1
		if i == f.Best {
			second = 0
		}
		pairs, err := s.compare(first, second, s.confidence())
		c.Indistinct, c.TooFew = err != nil || pairs.ratio.Indistinct(), err != nil || pairs.ratio.TooFew()
	}
	return f
}

// Candidates puts the baseline of a comparison before its finalists, as the entrants of a series. Each must have the type that
// measures itself.
func Candidates[T kernels.Candidate](baseline kernels.Candidate, finalists []kernels.Candidate) ([]T, error) {
	all := make([]T, 0, len(finalists)+1)
	for _, k := range append([]kernels.Candidate{baseline}, finalists...) {
		c, ok := k.(T)
		if !ok {
			return nil, fmt.Errorf("cannot measure a candidate of type %T", k)
		}
		all = append(all, c)
	}
	return all, nil
}
