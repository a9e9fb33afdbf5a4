package vector

import (
	"math/bits"

	"tune/kernels"
	"tune/sim"
	"tune/space"
)

// allocation is where the registers and the buffers of copies are.
type allocation struct {
	addr []uint32 // of each register
	// buffer is the buffer of each copy through memory, from copy 1.
	buffer []int
}

// lifetimes are, for each register, the cycle of its first write and the cycle from which its words are free: a value
// is there from the cycle after it was written, and its words may be written again in the cycle of its last read.
// The upper words of a window, which are not kept, have an end of their own.
type lifetimes struct {
	first, last, upper []int32
}

func lifetimesOf(g *graph, s *schedule) lifetimes {
	n := len(g.width)
	l := lifetimes{make([]int32, n), make([]int32, n), make([]int32, n)}
	for r := range n {
		l.first[r] = 1 << 30
	}
	for i := range g.ops {
		o := &g.ops[i]
		if r := o.dst.reg; r >= 0 {
			l.first[r] = min(l.first[r], s.first[i])
			// A value that nobody reads still must not be written over another one.
			l.last[r] = max(l.last[r], s.last[i]+1)
			l.upper[r] = max(l.upper[r], s.last[i]+1)
		}
		for k := range int(o.nsrc) {
			r := o.src[k].reg
			if r < 0 {
				continue
			}
			if int(o.src[k].lane) >= kept(g.width[r]) {
				l.upper[r] = max(l.upper[r], s.last[i])
			} else {
				l.last[r] = max(l.last[r], s.last[i])
			}
		}
	}
	for r := range n {
		if l.first[r] == 1<<30 {
			l.first[r] = 0 // nothing writes it: its words have to be free from the start, so that they are zero
		}
	}
	if g.copies > 0 {
		for i := range g.ops {
			if g.ops[i].buffer > 0 {
				for _, r := range g.buffers {
					l.last[r] = max(l.last[r], s.last[i])
				}
			}
		}
	}
	return l
}

// demand returns the most words that are live at once.
func demand(g *graph, l lifetimes, cycles int) int {
	change := make([]int32, cycles+2)
	for r, w := range g.width {
		low := int32(kept(w))
		change[l.first[r]] += low
		change[l.last[r]] -= low
		if high := int32(w) - low; high > 0 {
			change[l.first[r]] += high
			change[l.upper[r]] -= high
		}
	}
	most, live := int32(0), int32(0)
	for _, c := range change {
		live += c
		most = max(most, live)
	}
	return int(most)
}

// allocate gives every register its scratch words by a linear scan over the schedule (Poletto and Sarkar 1999), each
// where it fits first: vectors from the bottom, on multiples of 8, single words from the top. The buffers of copies
// through memory are given the same way.
func allocate(g *graph, s *schedule) (*allocation, error) {
	n := len(g.width)
	l := lifetimesOf(g, s)
	if words := demand(g, l, s.cycles); words > sim.ScratchWords {
		return nil, kernels.Reject(space.Invalid, "needs %d words of scratch at once: the machine has %d", words, sim.ScratchWords)
	}
	// Registers are met by their first cycle, and those whose last cycle has come are freed before. All
	// orders are chains through the registers of a cycle.
	begins, ends, uppers := newChains(s.cycles+2, n), newChains(s.cycles+2, n), newChains(s.cycles+2, n)
	for r := n - 1; r >= 0; r-- {
		begins.add(l.first[r], int32(r))
		ends.add(l.last[r], int32(r))
		if int(g.width[r]) > kept(g.width[r]) {
			uppers.add(l.upper[r], int32(r))
		}
	}
	a := &allocation{addr: make([]uint32, n)}
	used := newScratch()
	for t := range begins.head {
		for r := ends.head[t]; r >= 0; r = ends.next[r] {
			used.free(int(a.addr[r]), kept(g.width[r]))
		}
		for r := uppers.head[t]; r >= 0; r = uppers.next[r] {
			low := kept(g.width[r])
			used.free(int(a.addr[r])+low, int(g.width[r])-low)
		}
		for r := begins.head[t]; r >= 0; r = begins.next[r] {
			at := used.take(int(g.width[r]))
			if at < 0 {
				return nil, kernels.Reject(space.Invalid, "needs %d words of scratch in one piece in cycle %d: what is free is too scattered", g.width[r], t)
			}
			a.addr[r] = uint32(at)
		}
	}
	return a, a.assignBuffers(g, s)
}

// assignBuffers gives every copy through memory a buffer from its first store until its load.
func (a *allocation) assignBuffers(g *graph, s *schedule) error {
	if g.copies == 0 {
		return nil
	}
	first, last := make([]int32, g.copies+1), make([]int32, g.copies+1)
	for c := range first {
		first[c] = 1 << 30
	}
	for i := range g.ops {
		if c := g.ops[i].buffer; c > 0 {
			first[c], last[c] = min(first[c], s.first[i]), max(last[c], s.last[i])
		}
	}
	begins := newChains(s.cycles+2, g.copies+1)
	a.buffer = make([]int, g.copies+1)
	for c := g.copies; c > 0; c-- {
		if turn := int(g.turns[c-1]); turn >= 0 {
			a.buffer[c] = turn
		} else {
			begins.add(first[c], int32(c))
		}
	}
	free := make([]int32, g.pool) // the first cycle in which each may be stored into again
	for t := range begins.head {
		for c := begins.head[t]; c > 0; c = begins.next[c] {
			a.buffer[c] = -1
			for b, from := range free {
				// A store beside the load that ends a copy comes after it.
				if from <= first[c] {
					a.buffer[c], free[b] = b, last[c]
					break
				}
			}
			if a.buffer[c] < 0 {
				return kernels.Reject(space.Invalid, "copies more than %d records' children at once through memory", len(free))
			}
		}
	}
	return nil
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

// scratch has a bit for each word that is used, and one for each vector that is not used at all.
type scratch struct {
	words   [sim.ScratchWords / 64]uint64
	vectors [sim.ScratchWords / vectorWidth / 64]uint64
}

func newScratch() *scratch {
	s := &scratch{}
	for i := range s.vectors {
		s.vectors[i] = ^uint64(0)
	}
	return s
}

// take returns the address of free words and marks them as used; -1 where there are none.
func (s *scratch) take(words int) int {
	if words == wordWidth {
		for w := len(s.words) - 1; w >= 0; w-- {
			if free := ^s.words[w]; free != 0 {
				at := 64*w + 63 - bits.LeadingZeros64(free)
				s.mark(at, 1)
				return at
			}
		}
		return -1
	}
	for i, free := range s.vectors {
		for ; free != 0; free &= free - 1 {
			at := vectorWidth * (64*i + bits.TrailingZeros64(free))
			if s.unused(at+vectorWidth, words-vectorWidth) {
				s.mark(at, words)
				return at
			}
		}
	}
	return -1
}

// unused says whether words are there and free. The first of them is that of a vector.
func (s *scratch) unused(at, words int) bool {
	for ; words > 0; at, words = at+vectorWidth, words-vectorWidth {
		if at >= sim.ScratchWords || s.words[at/64]>>(at%64)&(1<<min(words, vectorWidth)-1) != 0 {
			return false
		}
	}
	return true
}

// mark notes words as used: some of one vector, or all of it and some of the next ones.
func (s *scratch) mark(at, words int) {
	if words > vectorWidth {
		s.mark(at+vectorWidth, words-vectorWidth)
		words = vectorWidth
	}
	s.words[at/64] |= (1<<words - 1) << (at % 64)
	v := at / vectorWidth
	s.vectors[v/64] &^= 1 << (v % 64)
}

// free frees words: some of one vector, or all of it and some of the next ones.
func (s *scratch) free(at, words int) {
	if words > vectorWidth {
		s.free(at+vectorWidth, words-vectorWidth)
		words = vectorWidth
	}
	s.words[at/64] &^= (1<<words - 1) << (at % 64)
	if v := at / vectorWidth; s.unused(v*vectorWidth, vectorWidth) {
		s.vectors[v/64] |= 1 << (v % 64)
	}
}
