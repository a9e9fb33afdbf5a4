package vector

import "tune/sim"

// maxBuffers bounds the buffers for copies through memory. Each takes 8 words of memory, which the index words of a
// whole group are, and 8 of scratch for their addresses.
const maxBuffers = 6

// transfer brings 8 words that come one after another into one vector: on the scalar engine, or through memory, by
// the store engine, which has little else to do.
type transfer struct {
	b      *lowering
	buffer int16
	dst    operand
	stores []int32
}

// newCopy begins a copy and decides which way it goes.
func (b *lowering) newCopy(g int) *transfer {
	c := &transfer{b: b}
	// Groups that lack items have no words of their own to spare: where there are others, they lend them.
	if b.shape.Batch >= sim.VLen && share(b.cfg.StoreCopies, b.turn()) > 0 {
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

// buffers returns how many buffers there are: the index words of the last whole groups.
func (b *lowering) buffers() int { return min(maxBuffers, b.shape.Batch/sim.VLen) }

// bufferGroup returns the group whose index words are the i-th buffer. The last groups end last, so that their
// indices wait the least for the copies of others.
func (b *lowering) bufferGroup(i int) int { return b.shape.Batch/sim.VLen - 1 - i }

// needBuffers makes the addresses of the buffers' words.
func (b *lowering) needBuffers() {
	if b.buffersReady >= 0 {
		return
	}
	b.setUp(func() operand {
		// 0, 1, … 7, of which every buffer is a shift.
		steps := b.g.newPieces(vectorWidth)
		for l := range sim.VLen {
			switch {
			case l < 2:
				b.emitTo(steps.at(l), sim.OpConst, onLoad, uint32(l))
			default:
				half := l &^ 1
				if half == l {
					half = l / 2
					b.emitTo(steps.at(l), sim.OpAdd, onALU, 0, steps.at(half), steps.at(half))
				} else {
					b.emitTo(steps.at(l), sim.OpAdd, onALU, 0, steps.at(half), steps.at(1))
				}
			}
		}
		var ready []int32
		for i := range b.buffers() {
			start := b.emit(sim.OpVBroadcast, onVALU, vectorWidth, 0, b.indexAddress(b.bufferGroup(i)))
			words := b.valu(sim.OpVAdd, steps, start)
			b.g.buffers = append(b.g.buffers, words.reg)
			ready = append(ready, int32(len(b.g.ops)-1))
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
