package sim

// Bound is a lower bound on the cycles of any program that executes the same slots with the same flow of values between them.
type Bound struct {
	// PerEngine is the number of cycles that each engine needs for its slots if all of its capacity is used.
	PerEngine [NumEngines]int
	// Dependence is the length in slots of the longest chain in which each slot reads a word of scratch that the one before it
	// wrote. A value takes one cycle from slot to slot. Memory causes no dependence here, because addresses are known only when
	// the program runs.
	Dependence int
	// Cycles is the largest of these.
	Cycles int
}

// LowerBound bounds the cycles of a program that runs to its end. For a program with jumps it counts only what is certainly
// executed, the bundles up to the first jump; BoundOf gives a better bound.
func LowerBound(p *Program) Bound {
	n, _ := p.prefix()
	var slots [NumEngines]int
	for i := range p.Bundles[:n] {
		for _, s := range p.Bundles[i].Slots {
			slots[s.Op.Engine()]++
		}
	}
	return newBound(slots, dependence(p.Bundles[:n]))
}

// BoundOf bounds the cycles of a run from visits, the executions of each bundle as returned by Machine.Profile. Its Dependence is
// that of LowerBound.
func BoundOf(p *Program, visits []int) Bound {
	n, _ := p.prefix()
	return newBound(Utilisation(p, visits).Slots, dependence(p.Bundles[:n]))
}

func newBound(slots [NumEngines]int, dependence int) Bound {
	b := Bound{Dependence: dependence, Cycles: dependence}
	for e, n := range slots {
		b.PerEngine[e] = (n + SlotLimit[e] - 1) / SlotLimit[e]
		b.Cycles = max(b.Cycles, b.PerEngine[e])
	}
	return b
}

// Limiter names the cause of the bound: an engine, or "dependence". At a tie an engine comes before dependence, and the first
// engine before the others.
func (b Bound) Limiter() string {
	for e, n := range b.PerEngine {
		if n == b.Cycles {
			return Engine(e).String()
		}
	}
	return "dependence"
}

// dependence returns the length of the longest chain of bundles that run one after another.
func dependence(bundles []Bundle) int {
	// depth is, for each word, the length of the longest chain that ends in its writer. A program that
	// Decode would refuse may name words outside of scratch; those are left out.
	var depth [ScratchWords]int
	longest := 0
	type landing struct {
		words []int
		depth int
	}
	var landings [NumEngines][]landing
	for i := range bundles {
		for e := range landings {
			landings[e] = landings[e][:0]
		}
		for _, s := range bundles[i].Slots {
			d := 0
			spans, n := s.Reads()
			for _, span := range spans[:n] {
				for _, w := range words(&depth, span) {
					d = max(d, w)
				}
			}
			d++
			longest = max(longest, d)
			e := s.Op.Engine()
			landings[e] = append(landings[e], landing{words(&depth, s.Writes()), d})
		}
		for e := range landings {
			for _, l := range landings[e] {
				for k := range l.words {
					l.words[k] = l.depth
				}
			}
		}
	}
	return longest
}

// words returns the part of t that the span covers, as far as it lies inside.
func words[T any](t *[ScratchWords]T, s Span) []T {
	if s.Addr >= ScratchWords {
		return nil
	}
	return t[s.Addr:][:min(s.N, ScratchWords-s.Addr)]
}
