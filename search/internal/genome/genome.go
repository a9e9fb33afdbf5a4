// Package genome makes points of a space individuals of eaopt: it has the operators that genetic algorithms here share. Crossover takes
// each parameter from one of two parents, and a mutation moves numbers by a step and replaces words by others. A breed may also redraw a
// parameter from its whole domain. Children that violate a constraint or were asked before are mutated again, and finally replaced by a
// point that was not asked before.
package genome

import (
	"errors"
	oldrand "math/rand"
	"math/rand/v2"
	"slices"

	"github.com/MaxHalford/eaopt"

	"tune/search"
	"tune/search/internal/code"
	"tune/space"
)

// Breed is what the genomes of a strategy have in common. All that is random in it comes from one generator.
type Breed struct {
	Space   *space.Space
	Sizes   []int  // of the parameters' domains
	Ordered []bool // by parameter: whether neighbouring ordinals are similar values
	Rand    *rand.Rand
	Old     *oldrand.Rand // draws from the same generator, for eaopt
	Fresh   *search.Fresh // the points that were not asked for yet
	// Mutation is how many parameters a mutation changes on average.
	Mutation float64
	// Redraw is the share of mutations that draw a single parameter anew from its whole domain.
	Redraw float64
	active []int // memory of Mutate
}

// NewBreed returns the breed of a space. stream tells strategies of the same seed apart. fresh is nil for points of its own.
func NewBreed(s *space.Space, seed, stream uint64, fresh *search.Fresh, mutation float64) *Breed {
	source := rand.NewPCG(seed, stream)
	params := s.Parameters()
	b := &Breed{Space: s, Sizes: make([]int, len(params)), Ordered: make([]bool, len(params)), Rand: rand.New(source), Old: oldrand.New(oldSource{source}),
		Fresh: fresh, Mutation: mutation}
	for i, p := range params {
		b.Sizes[i], b.Ordered[i] = p.Len(), code.Ordered(p)
	}
	if b.Fresh == nil {
		b.Fresh = search.SeededFresh(s, seed)
	}
	return b
}

// oldSource makes eaopt draw from the strategy's own random generator.
type oldSource struct{ *rand.PCG }

func (o oldSource) Int63() int64 { return int64(o.Uint64() >> 1) }

// Seed does nothing, because NewBreed has seeded the generator.
func (o oldSource) Seed(int64) {}

// Genome is a point as eaopt sees it.
type Genome struct {
	Ordinals []int
	breed    *Breed
}

// Individual returns a point as an individual with a known fitness.
func (b *Breed) Individual(p space.Point, fitness float64) eaopt.Individual {
	one := eaopt.NewIndividual(&Genome{p.Ordinals(), b}, b.Old)
	one.Fitness, one.Evaluated = fitness, true
	return one
}

// Of returns the ordinals of an individual.
func Of(i eaopt.Individual) []int { return i.Genome.(*Genome).Ordinals }

// Evaluate is never called, because an individual joins a population only when its fitness is known.
func (g *Genome) Evaluate() (float64, error) {
	return 0, errors.New("genome: an individual was selected before it was told")
}

// Clone copies the genome.
func (g *Genome) Clone() eaopt.Genome { return &Genome{slices.Clone(g.Ordinals), g.breed} }

// Crossover takes each parameter from the mate with probability 1/2. Only the receiver changes: eaopt would keep the old fitness of
// a mate that changes.
func (g *Genome) Crossover(mate eaopt.Genome, rng *oldrand.Rand) {
	for i, v := range mate.(*Genome).Ordinals {
		if v >= 0 && rng.Intn(2) == 0 {
			g.Ordinals[i] = v
		}
	}
}

// Mutate changes at least one active parameter, and Breed.Mutation parameters on average.
func (g *Genome) Mutate(*oldrand.Rand) { g.breed.Mutate(g.Ordinals, g.breed.Mutation) }

// Mutate changes at least one active parameter of some ordinals, and as many as rate says on average. A redraw changes one.
func (b *Breed) Mutate(ordinals []int, rate float64) {
	b.active = code.AppendMutable(b.active[:0], ordinals, b.Sizes)
	active := b.active
	if len(active) == 0 {
		return
	}
	certain := active[b.Rand.IntN(len(active))]
	if b.Redraw > 0 && b.Rand.Float64() < b.Redraw {
		ordinals[certain] = (ordinals[certain] + 1 + b.Rand.IntN(b.Sizes[certain]-1)) % b.Sizes[certain]
		return
	}
	for _, i := range active {
		if i == certain || b.Rand.Float64() < (rate-1)/float64(len(active)) {
			ordinals[i] = code.Step(b.Rand, ordinals[i], b.Sizes[i], b.Ordered[i])
		}
	}
}

// mutationTries is how often a child that cannot be asked is mutated again. After rateGrowth of these tries the rate has doubled.
const mutationTries, rateGrowth = 20, 4

// Unseen turns a child into a point that can be asked: a valid one that was not asked before.
func (b *Breed) Unseen(ordinals []int) (space.Point, bool) {
	for try := range mutationTries {
		if point, ok := b.Space.Complete(ordinals); ok && b.Fresh.Mark(point) {
			return point, true
		}
		// The rate grows, because all points nearby may have been asked.
		b.Mutate(ordinals, b.Mutation*(1+float64(try)/rateGrowth))
	}
	return b.Fresh.Draw()
}
