package auto

import (
	"math"
	"math/rand/v2"
	"slices"

	"tune/search"
	"tune/search/internal/code"
	"tune/space"
)

// several searches for the front of several goals by random scalarisations (Knowles, "ParEGO: a hybrid algorithm with on-line
// landscape approximation for expensive multiobjective optimization problems", 2006):
//
//  1. Weights of the goals are drawn, and make one number of the values of an outcome: see scalar.
//  2. A portfolio made anew learns these numbers of all outcomes so far, and looks for the least of them for some evaluations.
//  3. Then other weights are drawn. All portfolios share one source of fresh points, so that none asks for a point again, and each
//     takes over what the bandit of the one before remembers.
//
// The more outcomes there are, the longer it keeps its weights: learning all outcomes again takes a bounded share of the thinking time.
type several struct {
	space   *space.Space
	seed    uint64
	cfg     Config // without sources
	fresh   *search.Fresh
	weights weights
	draws   int
	scalar  scalar
	inner   *auto // with the weights of the last draw
	drawn   int   // outcomes told at that draw
	stale   bool  // whether the scalar does not serve for what was told since

	numbers search.Column[int32]     // of the points told, in fresh
	values  []search.Column[float64] // of each goal; NaN where the outcome does not count
	front   *space.Front
}

// New weights are drawn after a share of the outcomes told, and after leastKept at least.
const (
	keptShare = 16
	leastKept = 4
)

// learned is how many outcomes a portfolio learns in one call.
const learned = 1 << 12

func newSeveral(s *space.Space, seed uint64, c Config, fresh *search.Fresh) (search.Strategy, error) {
	v := &several{
		space: s, seed: seed, cfg: c, fresh: fresh, front: space.NewFront(c.Goals.Exact()), values: make([]search.Column[float64], len(c.Goals)),
		weights: newWeights(len(c.Goals), rand.New(rand.NewPCG(seed, 0x7363616c))),
	}
	v.cfg.Start = append(slices.Concat(c.Start, search.Leaders(c.Sources, search.MostLeaders)), code.Centre(s))
	v.cfg.Sources = nil
	if err := v.draw(); err != nil {
		return nil, err
	}
	return v, nil
}

// Ask lets the portfolio ask, one with other weights where it is time.
func (v *several) Ask(p space.Progress) []space.Proposal {
	if told := v.numbers.Len(); v.stale || told-v.drawn >= max(leastKept, told/keptShare) {
		if err := v.draw(); err != nil {
			// This cannot happen: the same configuration made the first portfolio.
			panic("auto: " + err.Error())
		}
	}
	return v.inner.Ask(p)
}

// draw draws weights, and makes the portfolio that searches with them.
func (v *several) draw() error {
	v.scalar = v.newScalar(v.weights.at(v.draws))
	c := v.cfg
	c.Start = slices.DeleteFunc(slices.Clone(c.Start), v.fresh.Seen)
	arms, err := newArms(v.space, v.seed+uint64(v.draws)*0x9E3779B97F4A7C15, c, v.fresh, true)
	if err != nil {
		return err
	}
	next := &auto{cfg: c, arms: arms, best: math.Inf(1)}
	told := v.numbers.Len()
	if v.inner != nil {
		next.told, next.uses, next.model = told, v.inner.uses, v.inner.model
	}
	for from := 0; from < told; from += learned {
		next.learn(v.known(from, min(from+learned, told)))
	}
	v.inner, v.drawn, v.stale = next, told, false
	v.draws++
	return nil
}

// known returns outcomes that were told, with their scalars as costs.
func (v *several) known(from, to int) (trials []space.Trial, outcomes []space.Outcome) {
	values := make([]float64, len(v.values))
	for i := from; i < to; i++ {
		for k := range values {
			values[k] = *v.values[k].At(i)
		}
		trials = append(trials, space.Trial{Number: i, Proposal: space.Proposal{Point: v.fresh.At(int(*v.numbers.At(i)))}})
		outcomes = append(outcomes, v.scalar.outcome(values))
	}
	return trials, outcomes
}

// Tell keeps the outcomes, and tells the portfolio their scalars.
func (v *several) Tell(trials []space.Trial, outcomes []space.Outcome) {
	from := v.numbers.Len()
	for i, t := range trials {
		values, ok := v.cfg.Goals.Values(outcomes[i])
		ok = ok && outcomes[i].Counts() && !slices.ContainsFunc(values, func(x float64) bool { return !space.Finite(x) })
		for k := range v.values {
			x := math.NaN()
			if ok {
				x = values[k]
			}
			v.values[k].Append(x)
		}
		v.numbers.Append(int32(v.fresh.Number(t.Point)))
		if ok {
			v.front.Offer(space.Entry{Number: from + i, Outcome: outcomes[i]})
			v.stale = v.stale || !v.scalar.serves(values)
		}
	}
	if !v.stale {
		_, scalars := v.known(from, v.numbers.Len())
		v.inner.Tell(trials, scalars)
	}
}

// scalar makes one number of the values of an outcome: the augmented weighted Tchebycheff function of ParEGO. Values count by how far
// they are along the range of the front that is known, as logarithms where all known ones are above 0.
type scalar struct {
	weights   []float64
	low, high []float64 // of the front, as logarithms where log is set
	log       []bool
	none      bool // whether there was no front yet
}

// augmented is the weight of the sum beside the largest part, so that of points that are equal in that the better one wins.
const augmented = 0.05

// newScalar returns the scalar for some weights, by what is known.
func (v *several) newScalar(weights []float64) scalar {
	goals := len(v.values)
	s := scalar{weights: weights, low: make([]float64, goals), high: make([]float64, goals), log: make([]bool, goals)}
	front := v.front.Entries()
	s.none = len(front) == 0
	for k := range goals {
		least, most := math.Inf(1), math.Inf(-1) // of all
		for i := range v.numbers.Len() {
			if x := *v.values[k].At(i); !math.IsNaN(x) {
				least, most = min(least, x), max(most, x)
			}
		}
		s.log[k] = least > 0
		first, last := math.Inf(1), math.Inf(-1) // of the front
		for _, e := range front {
			values, _ := v.cfg.Goals.Values(e.Outcome)
			first, last = min(first, values[k]), max(last, values[k])
		}
		if first == last {
			last = most // the front says nothing about the range
		}
		s.low[k], s.high[k] = s.place(k, first), s.place(k, last)
	}
	return s
}

// place returns a value as it counts.
func (s scalar) place(k int, value float64) float64 {
	if s.log[k] {
		return math.Log(value)
	}
	return value / 2 // the difference of two finite values may overflow
}

// serves reports whether the scalar is defined for the values of an outcome.
func (s scalar) serves(values []float64) bool {
	for k, x := range values {
		if s.log[k] && x <= 0 {
			return false
		}
	}
	return !s.none
}

// outcome returns what the portfolio is told: a right outcome whose cost is the scalar, or a failed one where the values are not known.
// Costs are shifted so that the least is below 0, where the model learns them as they are and not as logarithms.
func (s scalar) outcome(values []float64) space.Outcome {
	most, sum := math.Inf(-1), 0.0
	for k, x := range values {
		if math.IsNaN(x) {
			return space.Outcome{Status: space.Invalid}
		}
		part := s.place(k, x) - s.low[k]
		if span := s.high[k] - s.low[k]; span > 0 {
			part /= span
		}
		part = s.weights[k] * min(max(part, -largestPart), largestPart)
		most, sum = max(most, part), sum+part
	}
	return space.Outcome{Status: space.OK, Cost: most + augmented*sum - 2}
}

// largestPart bounds what one goal adds to a scalar, so that it is finite.
const largestPart = 1e200

// weights is a sequence of weights of goals that fills their simplex evenly from the start: the spacings of the points of an additive
// recurrence (Roberts, "The unreasonable effectiveness of quasirandom sequences", 2018) that begins where the seed says.
type weights struct{ begin, step []float64 }

func newWeights(goals int, rng *rand.Rand) weights {
	root := 2.0 // of x^goals = x + 1, by iteration
	for range 64 {
		root = math.Pow(1+root, 1/float64(goals))
	}
	var w weights
	step := 1.0
	for range goals - 1 {
		step /= root
		w.begin, w.step = append(w.begin, rng.Float64()), append(w.step, step)
	}
	return w
}

// at returns the weights number k, which add up to 1.
func (w weights) at(k int) []float64 {
	var cuts []float64
	for i, begin := range w.begin {
		_, part := math.Modf(begin + float64(k)*w.step[i])
		cuts = append(cuts, part)
	}
	slices.Sort(cuts)
	out, last := make([]float64, 0, len(cuts)+1), 0.0
	for _, c := range append(cuts, 1) {
		out, last = append(out, c-last), c
	}
	return out
}
