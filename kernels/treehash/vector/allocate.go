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
	first, last := make([]int32, n), make([]int32, n)
	for r := range first {
		first[r], last[r] = int32(s.cycles()), -1
		for _, d := range g.defs[r] {
			first[r] = min(first[r], s.first[d])
			last[r] = max(last[r], s.last[d]+1)
		}
	}
	for i := range g.ops {
		o := &g.ops[i]
		for k := range int(o.nsrc) {
			r := o.src[k].reg
			last[r] = max(last[r], s.last[i])
		}
	}
	words := peak(g, first, last, 1)
	blocks := peak(g, first, last, sim.VLen)
	singles := (words + sim.VLen - 1) / sim.VLen
	const total = sim.ScratchWords / sim.VLen
	if blocks+singles > total {
		return nil, kernels.Reject(space.Invalid, "needs %d words of scratch at once (%d vectors and %d single words): the machine has %d",
			blocks*sim.VLen+words, blocks, words, sim.ScratchWords)
	}

	// The ends of intervals are met in the order of cycles, so that freed words are free in time.
	byFirst := make([]reg, n)
	for r := range byFirst {
		byFirst[r] = reg(r)
	}
	slices.SortFunc(byFirst, func(a, b reg) int {
		if first[a] != first[b] {
			return int(first[a] - first[b])
		}
		return int(a - b)
	})
	ends := make([][]reg, s.cycles()+2)
	addr := make([]uint32, n)
	var freeBlocks, freeWords pool
	freeBlocks.fill(blocks)
	freeWords.fill(words)
	cycle := int32(0)
	for _, r := range byFirst {
		for ; cycle <= first[r]; cycle++ {
			for _, e := range ends[cycle] {
				if g.width[e] == 1 {
					freeWords.put(int(sim.ScratchWords - 1 - addr[e]))
				} else {
					freeBlocks.put(int(addr[e] / sim.VLen))
				}
			}
		}
		if g.width[r] == 1 {
			addr[r] = uint32(sim.ScratchWords - 1 - freeWords.take())
		} else {
			addr[r] = uint32(freeBlocks.take() * sim.VLen)
		}
		ends[last[r]] = append(ends[last[r]], r)
	}
	return addr, nil
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
