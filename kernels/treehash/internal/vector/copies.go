package vector

import "tune/sim"

// maxBuffers bounds the buffers for copies through memory. Each takes 8 words of memory, which the index words of a
// whole group are, and 8 of scratch for their addresses.
const maxBuffers = 16

// bufferShares is what the number of buffers counts in. How many are needed grows with the copies that are made, so the
// knob is their ratio.
const bufferShares = 16

// transfer brings 8 words that come one after another into one vector: on the scalar engine, or through memory, by
// the store engine, which has little else to do.
type transfer struct {
	b      *lowering
	buffer int16
	dst    operand
	stores []int32
}

// newCopy begins a copy, of which so many 32nds go through memory.
func (b *lowering) newCopy(stored int) *transfer {
	c := &transfer{b: b}
	// Groups that lack items have no words of their own to spare: where there are others, they lend them.
	if b.shape.Batch >= sim.VLen && share(stored, b.turn()) > 0 {
		b.needBuffers()
		b.g.copies++
		c.buffer = int16(b.g.copies)
		return c
	}
	c.dst = b.g.newPieces(vectorWidth)
	return c
}

// lane copies the word of a lane.
func (c *transfer) lane(l int, word operand) {
	if c.buffer == 0 {
		c.b.emitTo(c.dst.at(l), sim.OpOr, onALU, 0, word, word)
		return
	}
	o := c.b.emitTo(noReg, sim.OpStore, onStore, 0, noReg.at(l), word)
	c.b.g.ops[o].buffer = c.buffer
	c.b.g.weakly(c.b.buffersReady, o)
	c.stores = append(c.stores, o)
}

// vector returns the copy.
func (c *transfer) vector() operand {
	if c.buffer == 0 {
		return c.dst
	}
	d := c.b.emit(sim.OpVLoad, onLoad, vectorWidth, 0, noReg.at(0))
	o := int32(len(c.b.g.ops) - 1)
	c.b.g.ops[o].buffer = c.buffer
	for _, s := range c.stores {
		c.b.g.after(s, o)
	}
	c.b.copyLoads = append(c.b.copyLoads, o)
	return d
}

// buffers returns how many buffers there are: each is the index words of one of the last whole groups.
func (b *lowering) buffers() int {
	wanted := (max(b.cfg.StoreCopies, b.cfg.LastCopies)*b.cfg.CopyBuffers + bufferShares - 1) / bufferShares
	lenders := b.shape.Batch / sim.VLen
	if b.cfg.LastTable {
		lenders -= lastTableWords / sim.VLen // these index words are taken
	}
	return min(max(wanted, 1), maxBuffers, lenders)
}

// bufferGroup returns the group whose index words are the i-th buffer. The last groups end last, so that their
// indices wait the least for the copies of others.
func (b *lowering) bufferGroup(i int) int { return b.shape.Batch/sim.VLen - 1 - i }

// needBuffers makes the addresses of the buffers' words.
func (b *lowering) needBuffers() {
	if b.buffersReady >= 0 {
		return
	}
	b.setUp(func() operand {
		// The words of the lowest buffer follow one another; each of the others is as far above it as its group is.
		lowest := b.bufferGroup(b.buffers() - 1)
		first := b.g.newPieces(vectorWidth)
		ready := make([]int32, 0, b.buffers()*sim.VLen)
		add := func(to, x, y operand) { ready = append(ready, b.emitTo(to, sim.OpAdd, onALU, 0, x, y)) }
		for l := range sim.VLen {
			add(first.at(l), b.indexAddress(lowest), b.scalar(uint32(l)))
		}
		b.g.buffers = append(b.g.buffers, first.reg)
		for i := 1; i < b.buffers(); i++ {
			words := b.g.newPieces(vectorWidth)
			for l := range sim.VLen {
				add(words.at(l), first.at(l), b.scalar(uint32(sim.VLen*i)))
			}
			b.g.buffers = append(b.g.buffers, words.reg)
		}
		b.buffersReady = b.fence(ready...)
		return noReg
	})
}

// lends says whether the group's index words are a buffer, so that its indices have to wait for the copies of all.
func (b *lowering) lends(g int) bool {
	last := b.shape.Batch/sim.VLen - 1
	return b.cfg.StoreCopies > 0 && g <= last && g > last-b.buffers()
}
