package vector

import "tune/sim"

// The records that are read in the last round but one may have a table of their own. No further address is derived from
// an address in it, so that it needs no order: the place of a record is the sum of the parities as they are, inverted or
// not, each with a weight. The first weight is 1, so that the parity itself is a summand and the sum needs no base: two
// records share six words, field by field. The table lies in two halves, because there is no room in one piece: the lower
// one in the header and the levels above, which have been read by then, and the upper one in the first index words.
const (
	lastTableLevel = 3
	// lastTableWords is how many index words the upper half takes.
	lastTableWords = 2 * vectorWidth
	// A field of a record in it is two words behind the one before.
	lastTableField = 2
)

// lastWeights returns what the parities since the root weigh.
func (b *lowering) lastWeights() [lastTableLevel]uint32 {
	return [lastTableLevel]uint32{1, vectorWidth, uint32(b.shape.IndexAddr())}
}

// readsLast says whether the records of a round are in that table.
func (p plan) readsLast(r int) bool { return p.cfg.LastTable && r+2 == p.shape.Rounds }

// lastAddress returns the addresses of the last records.
func (b *lowering) lastAddress(bits []parity) operand {
	w := b.lastWeights()
	var sum operand
	if share(b.cfg.LastFlow, b.turn()) > 0 {
		// Where the second parity is 1, the sum is w[1] or w[1] + 1.
		one := b.emit(sim.OpVSelect, onFlow, vectorWidth, 0, bits[0].reg, b.vector(w[1]+1), b.vector(w[1]))
		sum = b.emit(sim.OpVSelect, onFlow, vectorWidth, 0, bits[1].reg, one, bits[0].reg)
	} else {
		sum = b.valu(sim.OpMultiplyAdd, bits[1].reg, b.vector(w[1]), bits[0].reg)
	}
	return b.valu(sim.OpMultiplyAdd, bits[2].reg, b.vector(w[2]), sum)
}

// lastTable returns the fence behind that table. It is built along with the one in the place of its levels.
func (b *lowering) lastTable() int32 {
	b.table(lastTableLevel)
	return b.lastReady
}

// buildLastTable builds that table out of the words of its levels: a node is word(k), its children are those from
// word(2^level + 2k) on.
func (b *lowering) buildLastTable(word func(i int) operand, constant operand) {
	const nodes = 1 << lastTableLevel
	w := b.lastWeights()
	// The words that the lower half takes have been read.
	read := []int32{b.headerLoad}
	for i := range b.blocksAbove() {
		read = append(read, b.treeBlock(i, false).load)
	}
	var stores []int32
	for pair := range nodes / 2 {
		second, third := pair&1, pair>>1
		address, pad := b.scalar(uint32(second)*w[1]+uint32(third)*w[2]), 0
		if pair == 1 {
			// Behind the second pair stands what is still needed, so that its vector begins two words before it.
			address, pad = b.scalar(w[1]-2), 2
		}
		vector := b.g.newPieces(vectorWidth)
		for l := range sim.VLen {
			// What a vector has beyond six words is of no account.
			i := (l - pad + sim.VLen) % sim.VLen % (recordStride * lastTableField)
			k, field := 4*(i%lastTableField)+2*second+third, i/lastTableField
			if b.cfg.DeferC {
				k ^= nodes - 1
			}
			from := word(k)
			if field != recordNode {
				from = word(nodes + 2*k + field)
			}
			b.emitTo(vector.at(l), sim.OpXor, onALU, 0, from, constant)
		}
		store := b.emitTo(noReg, sim.OpVStore, onStore, 0, address, vector)
		for _, r := range read {
			b.g.weakly(r, store)
		}
		if pair == 1 {
			b.g.after(stores[0], store) // two of its words are in both
		}
		stores = append(stores, store)
	}
	b.lastReady = b.fence(stores...)
}
