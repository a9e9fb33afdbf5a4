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
	turns  bool  // it has the next buffer of the ring
	before int32 // the load that ends the copy before it there, -1 for none
	dst    operand
	stores []int32
}

// canStore says whether there is memory for buffers. Groups that lack items have no words of their own to spare: where
// there are others, they lend them.
func (p plan) canStore() bool { return p.shape.Batch >= sim.VLen }

// newCopy begins a copy, of which so many 32nds go through memory, out of a table of records or the last one.
func (b *lowering) newCopy(stored int, last bool) *transfer {
	if b.canStore() && share(stored, b.turn()) > 0 {
		b.lastCopied = b.lastCopied || last
		return b.throughMemory(last)
	}
	return &transfer{b: b, dst: b.g.newPieces(vectorWidth)}
}

// throughMemory begins a copy by the store engine. Where copies take turns, those of the last table and broadcasts get the
// next buffer of their ring.
func (b *lowering) throughMemory(last bool) *transfer {
	b.needBuffers()
	b.g.copies++
	c := &transfer{b: b, buffer: int16(b.g.copies), before: -1}
	turn := -1
	if last && b.takesTurns() {
		c.turns = true
		pool, ring := b.pools()
		n := len(b.ringLoads)
		if n >= ring {
			c.before = b.ringLoads[n-ring]
		}
		turn = pool + n%ring
	}
	b.g.turns = append(b.g.turns, int16(turn))
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
	c.b.g.weakly(c.before, o)
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
	if c.turns {
		c.b.ringLoads = append(c.b.ringLoads, o)
	}
	return d
}

// buffers returns how many buffers there are: each is the index words of one of the last whole groups.
func (b *lowering) buffers() int {
	pool, ring := b.pools()
	return pool + ring
}

// takesTurns says whether broadcasts have a ring of buffers, which the copies out of the last table use after them.
func (p plan) takesTurns() bool {
	copies := p.cfg.StoreCopies > 0 || p.cfg.LastCopies > 0
	return p.cfg.StoreBroadcasts > 0 && copies && p.canStore() && (p.cfg.StoreCopies == 0 || p.lenders() > 1)
}

// pools returns how many buffers are assigned after the schedule, and how many are in the ring.
func (b *lowering) pools() (pool, ring int) {
	most := min(maxBuffers, b.lenders())
	if !b.takesTurns() {
		return min(max(b.wanted(max(b.cfg.StoreCopies, b.cfg.LastCopies)), 1), most), 0
	}
	if b.cfg.StoreCopies > 0 {
		pool = min(b.wanted(b.cfg.StoreCopies), most/2)
	}
	return pool, min(max(b.wanted(b.cfg.LastCopies), 1), most-pool)
}

// broadcastsByStore says whether a word that is needed in this round gets into all lanes through memory: not early, and not
// where it would have to wait for copies that have had their turn in the ring.
func (b *lowering) broadcastsByStore() bool {
	r := int(b.round)
	return b.takesTurns() && !b.lastCopied && r < b.shape.Rounds && r >= b.shape.Rounds-b.cfg.StoreBroadcasts
}

// wanted returns how many buffers a share of copies asks for.
func (b *lowering) wanted(copies int) int {
	return (copies*b.cfg.CopyBuffers + bufferShares - 1) / bufferShares
}

// lenders returns how many groups have index words to spare.
func (p plan) lenders() int {
	lenders := p.shape.Batch / sim.VLen
	if p.cfg.LastTable {
		lenders -= lastTableWords / sim.VLen // these index words are taken
	}
	return lenders
}

// bufferGroup returns the group whose index words are the i-th buffer. The last groups end last, so that their
// indices wait the least for the copies of others.
func (b *lowering) bufferGroup(i int) int { return b.shape.Batch/sim.VLen - 1 - i }

// needBuffers makes the addresses of the buffers' words.
func (b *lowering) needBuffers() {
	if b.buffersReady >= 0 {
		return
	}
	b.g.pool, _ = b.pools()
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
