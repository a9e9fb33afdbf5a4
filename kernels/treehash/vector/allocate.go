package vector

import (
	"math/bits"
	"slices"

	"tune/kernels"
	"tune/sim"
	"tune/space"
)

// allocate gives every register its scratch words by a linear scan over the schedule (Poletto and Sarkar 1999).
// A value is there from the cycle after its first write, and its words may be written again in the cycle of its
// last read, because a cycle reads before it writes. Vectors fill scratch from the bottom in blocks of 8 words,
// single words from the top.
func allocate(g *graph, s *schedule) ([]uint32, error) {
	n := len(g.width)
	first, last := lifetimes(g, s)
	words := peak(g, first, last, 1)
	blocks := peak(g, first, last, sim.VLen)
	singles := (words + sim.VLen - 1) / sim.VLen
	const total = sim.ScratchWords / sim.VLen
	if blocks+singles > total {
		return nil, kernels.Reject(space.Invalid, "needs %d words of scratch at once (%d vectors and %d single words): the machine has %d",
			blocks*sim.VLen+words, blocks, words, sim.ScratchWords)
	}

	// Registers are met by their first cycle, and those whose last cycle has come are freed before. Both
	// orders are chains through the registers of a cycle.
	begins, ends := newChains(s.cycles()+2, n), newChains(s.cycles()+2, n)
	for r := n - 1; r >= 0; r-- {
		begins.add(first[r], int32(r))
		ends.add(last[r], int32(r))
	}
	addr := make([]uint32, n)
	var freeBlocks, freeWords pool
	freeBlocks.fill(blocks)
	freeWords.fill(words)
	for t := range begins.head {
		for r := ends.head[t]; r >= 0; r = ends.next[r] {
			if g.width[r] == 1 {
				freeWords.put(int(sim.ScratchWords - 1 - addr[r]))
			} else {
				freeBlocks.put(int(addr[r] / sim.VLen))
			}
		}
		for r := begins.head[t]; r >= 0; r = begins.next[r] {
			if g.width[r] == 1 {
				addr[r] = uint32(sim.ScratchWords - 1 - freeWords.take())
			} else {
				addr[r] = uint32(freeBlocks.take() * sim.VLen)
			}
		}
	}
	return addr, nil
}

// lifetimes returns for each register the cycle of its first write, and the cycle from which its words are free.
func lifetimes(g *graph, s *schedule) (first, last []int32) {
	n := len(g.width)
	first, last = make([]int32, n), make([]int32, n)
	for r := range n {
		// A value that nobody reads still must not be written over another one.
		first[r], last[r] = s.first[g.def[r]], s.last[g.def[r]]+1
	}
	for r, more := range g.moreDefs {
		for _, d := range more {
			first[r], last[r] = min(first[r], s.first[d]), max(last[r], s.last[d]+1)
		}
	}
	for i := range g.ops {
		o := &g.ops[i]
		for k := range int(o.nsrc) {
			r := o.src[k].reg
			last[r] = max(last[r], s.last[i])
		}
	}
	return first, last
}

// chains lists registers by cycle, without a slice for each cycle.
type chains struct {
	head []int32 // of each cycle, -1 where it has none
	next []int32 // of each register
}

func newChains(cycles, registers int) chains {
	c := chains{make([]int32, cycles), make([]int32, registers)}
	for t := range c.head {
		c.head[t] = -1
	}
	return c
}

func (c chains) add(cycle, r int32) {
	c.next[r] = c.head[cycle]
	c.head[cycle] = r
}

// peak returns how many registers of a width are live at once at the most.
func peak(g *graph, first, last []int32, width uint8) int {
	change := make([]int32, slices.Max(last)+2)
	for r, w := range g.width {
		if w == width {
			change[first[r]]++
			change[last[r]]--
		}
	}
	most, live := int32(0), int32(0)
	for _, c := range change {
		live += c
		most = max(most, live)
	}
	return int(most)
}

// pool is a set of free places; take returns the lowest.
type pool [sim.ScratchWords / 64]uint64

func (p *pool) fill(n int) {
	for i := range n {
		p.put(i)
	}
}

func (p *pool) put(i int) { p[i/64] |= 1 << (i % 64) }

func (p *pool) take() int {
	for w := range p {
		if p[w] != 0 {
			i := bits.TrailingZeros64(p[w])
			p[w] &^= 1 << i
			return 64*w + i
		}
	}
	panic("vector: no free place, though the peak was counted")
}
