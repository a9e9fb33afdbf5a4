package vector

import (
	"fmt"

	"tune/kernels/treehash/tree"
	"tune/sim"
)

// lower writes the kernel as operations on virtual registers: one group of 8 items after another, each
// through all its rounds. Constants and tree nodes are made where they are first needed, so that the order of
// the set-up follows its deadlines.
func lower(s tree.Shape, c Config, indices bool) *graph {
	b := &lowering{
		shape: s, cfg: c, indices: indices,
		g:       &graph{ops: make([]op, 0, 32*Groups(s)*s.Rounds)},
		scalars: map[uint32]reg{}, vectors: map[uint32]reg{}, nodes: map[nodeKey]reg{}, blocks: map[nodeKey]block{},
	}
	b.run()
	return b.g
}

type lowering struct {
	shape   tree.Shape
	cfg     Config
	indices bool // whether the final indices are stored too
	g       *graph

	// group, round and shared tag the operations that are added.
	group, round int16
	shared       bool

	scalars map[uint32]reg // scalar constants
	vectors map[uint32]reg // broadcast constants
	nodes   map[nodeKey]reg
	blocks  map[nodeKey]block
	address operand // of the last value vector; the base that the next address is made from
}

// nodeKey names a broadcast tree node, or the difference of two: node `from` less node `less` (-1 for none).
// xored nodes carry the last hash constant.
type nodeKey struct {
	from, less int
	xored      bool
}

// block is a vector of tree nodes in scratch, and the number of its first.
type block struct {
	reg   reg
	first int
}

// item is where the 8 items of a group stand.
type item struct {
	value operand
	// bits are the parities since the root, oldest first, while addr is not known.
	bits []parity
	// addr holds the addresses of the items' nodes where they are gathered; reg -1 elsewhere.
	addr operand
}

// parity is the low bit of a value. It is inverted where the hash's last constant, which is odd, has not
// been applied to the value yet.
type parity struct {
	reg      operand
	inverted bool
}

var noReg = operand{reg: -1, lane: -1}

func (b *lowering) emit(code sim.Op, where place, words uint8, imm uint32, src ...operand) operand {
	d := whole(b.g.newReg(words))
	b.emitTo(d, code, where, imm, src...)
	return d
}

func (b *lowering) emitTo(d operand, code sim.Op, where place, imm uint32, src ...operand) int32 {
	o := op{code: code, place: where, dst: d, imm: imm, group: b.group, round: b.round, shared: b.shared, nsrc: uint8(len(src))}
	copy(o.src[:], src)
	if code == sim.OpLoadOffset {
		o.units = sim.VLen
	}
	return b.g.add(o)
}

func (b *lowering) valu(code sim.Op, src ...operand) operand {
	return b.emit(code, onVALU, sim.VLen, 0, src...)
}

// setUp runs f with its operations marked as shared by all groups; they keep the group and the round of
// their first use, which is their deadline.
func (b *lowering) setUp(f func() operand) operand {
	before := b.shared
	b.shared = true
	r := f()
	b.shared = before
	return r
}

// scalar returns a register that holds a constant.
func (b *lowering) scalar(v uint32) operand {
	r, ok := b.scalars[v]
	if !ok {
		r = b.setUp(func() operand { return b.emit(sim.OpConst, onLoad, 1, v) }).reg
		b.scalars[v] = r
	}
	return whole(r)
}

// vector returns a register whose lanes all hold a constant.
func (b *lowering) vector(v uint32) operand {
	r, ok := b.vectors[v]
	if !ok {
		s := b.scalar(v)
		r = b.setUp(func() operand { return b.valu(sim.OpVBroadcast, s) }).reg
		b.vectors[v] = r
		b.g.names = append(b.g.names, name{r, fmt.Sprintf("constant %#x", v)})
	}
	return whole(r)
}

func (b *lowering) run() {
	groups := Groups(b.shape)
	last := make([]int32, groups) // each group's last operation
	for g := range groups {
		b.group, b.round = int16(g), 0
		address := b.valueAddress(g)
		first := int32(len(b.g.ops))
		it := item{value: b.loadValues(g, address), addr: noReg}
		if before := g - b.cfg.Window; before >= 0 {
			for i := first; i < int32(len(b.g.ops)); i++ {
				b.g.after = append(b.g.after, [2]int32{last[before], i})
			}
		}
		for r := range b.shape.Rounds {
			b.round = int16(r)
			b.step(&it, g, r)
		}
		b.round = int16(b.shape.Rounds)
		last[g] = b.storeLanes(g, address, it.value)
		if b.indices {
			last[g] = b.storeLanes(g, b.indexAddress(g), b.finalIndex(it))
		}
	}
}

// lanes returns the number of items in a group: 8 but in the tail of the batch.
func (b *lowering) lanes(g int) int { return min(sim.VLen, b.shape.Batch-sim.VLen*g) }

// valueAddress returns a register with the address of the group's first value.
func (b *lowering) valueAddress(g int) operand {
	at := uint32(b.shape.ValueAddr() + sim.VLen*g)
	if g == 0 || b.cfg.Addresses == AddrLoad {
		b.address = b.scalar(at)
		return b.address
	}
	before := b.address
	b.address = b.setUp(func() operand {
		if b.cfg.Addresses == AddrALU {
			return b.emit(sim.OpAdd, onALU, 1, 0, before, b.scalar(sim.VLen))
		}
		// Every address is derived from the first, so that none waits for another.
		base := b.scalar(uint32(b.shape.ValueAddr()))
		return b.emit(sim.OpAddImm, onFlow, 1, uint32(sim.VLen*g), base)
	})
	return b.address
}

func (b *lowering) indexAddress(g int) operand {
	return b.scalar(uint32(b.shape.IndexAddr() + sim.VLen*g))
}

// loadValues loads the group's values. The lanes of a tail that hold no item are zero: they are hashed
// along, which is harmless, and never stored.
func (b *lowering) loadValues(g int, address operand) operand {
	n := b.lanes(g)
	if n == sim.VLen {
		return b.emit(sim.OpVLoad, onLoad, sim.VLen, 0, address)
	}
	v := b.valu(sim.OpVBroadcast, b.scalar(0))
	cleared := int32(len(b.g.ops) - 1)
	for i := range n {
		at := b.laneAddress(address, i)
		o := b.emitTo(operand{v.reg, int8(i)}, sim.OpLoad, onLoad, 0, at)
		b.g.after = append(b.g.after, [2]int32{cleared, o})
	}
	return v
}

// storeLanes stores a group's vector and returns the number of the last operation.
func (b *lowering) storeLanes(g int, address, v operand) int32 {
	n := b.lanes(g)
	if n == sim.VLen {
		return b.emitTo(noReg, sim.OpVStore, onStore, 0, address, v)
	}
	var o int32
	for i := range n {
		at := b.laneAddress(address, i)
		o = b.emitTo(noReg, sim.OpStore, onStore, 0, at, operand{v.reg, int8(i)})
	}
	return o
}

func (b *lowering) laneAddress(address operand, lane int) operand {
	if lane == 0 {
		return address
	}
	return b.emit(sim.OpAddImm, onFlow, 1, uint32(lane), address)
}

// levels returns how many levels of the tree the group selects from scratch.
func (b *lowering) levels(g int) int {
	if g < b.cfg.Shallow {
		return max(b.cfg.Levels-1, 0)
	}
	return b.cfg.Levels
}

// step takes a group through one round.
func (b *lowering) step(it *item, g, r int) {
	depth := r % (b.shape.Height + 1)
	next := (r + 1) % (b.shape.Height + 1)
	lastRound := r == b.shape.Rounds-1
	held := depth < b.levels(g)

	var node operand
	if held {
		// The very first values come without a constant to carry.
		node = b.selectNode(it.bits, depth, b.cfg.DeferC && r > 0)
	} else {
		if it.addr == noReg {
			it.addr = b.firstAddress(it.bits, uint32(b.shape.TreeAddr()))
		}
		node = b.emit(sim.OpLoadOffset, onLoad, sim.VLen, 0, it.addr)
	}
	it.value = b.valu(sim.OpVXor, it.value, node)

	applyC := !b.cfg.DeferC || lastRound || next >= b.levels(g)
	wantParity := next != 0 && (!lastRound || b.indices)
	it.value = b.hash(it.value, applyC)
	if !wantParity {
		it.bits, it.addr = nil, noReg
		return
	}
	p := parity{b.valu(sim.OpVAnd, it.value, b.vector(1)), !applyC}
	switch {
	case it.addr == noReg || depth == 0:
		// At the root the address is a constant, and so the bits still say all.
		it.bits, it.addr = append(it.bits, p), noReg
	case lastRound:
		// An index, not an address, is wanted now.
		it.addr = b.nextAddress(it.addr, p, uint32(b.shape.TreeAddr()))
	default:
		it.addr = b.nextAddress(it.addr, p, 0)
	}
}

// hash emits the six stages. Without applyC the last stage leaves out its xor with a constant.
func (b *lowering) hash(x operand, applyC bool) operand {
	st := tree.Stages
	// a + C + (a << k) = a*(1 + 2^k) + C
	x = b.valu(sim.OpMultiplyAdd, x, b.vector(1+1<<st[0].K), b.vector(st[0].C))

	u, v := b.valu(sim.OpVXor, x, b.vector(st[1].C)), b.valu(sim.OpVShr, x, b.vector(st[1].K))
	x = b.valu(sim.OpVXor, u, v)

	mul := uint32(1 + 1<<st[2].K)
	if b.cfg.Fuse {
		// With y = x*33 + C2, stage 3 is (y + C3) ^ (y << 9), and both sides are linear in x.
		u = b.valu(sim.OpMultiplyAdd, x, b.vector(mul), b.vector(st[2].C+st[3].C))
		v = b.valu(sim.OpMultiplyAdd, x, b.vector(mul<<st[3].K), b.vector(st[2].C<<st[3].K))
	} else {
		x = b.valu(sim.OpMultiplyAdd, x, b.vector(mul), b.vector(st[2].C))
		u, v = b.valu(sim.OpVAdd, x, b.vector(st[3].C)), b.valu(sim.OpVShl, x, b.vector(st[3].K))
	}
	x = b.valu(sim.OpVXor, u, v)

	x = b.valu(sim.OpMultiplyAdd, x, b.vector(1+1<<st[4].K), b.vector(st[4].C))

	v = b.valu(sim.OpVShr, x, b.vector(st[5].K))
	if applyC {
		x = b.valu(sim.OpVXor, x, b.vector(st[5].C))
	}
	return b.valu(sim.OpVXor, x, v)
}

// firstAddress turns the parities since the root into addresses, by Horner's rule: the node at depth m has the
// address base - 1 + 2^m + sum p_k 2^(m-1-k). An inverted parity is 1 - p, so its term changes sign and adds to
// the constant.
func (b *lowering) firstAddress(bits []parity, base uint32) operand {
	m := len(bits)
	constant := base - 1 + 1<<m
	for k, p := range bits {
		if p.inverted {
			constant += 1 << (m - 1 - k)
		}
	}
	if m == 0 {
		return b.vector(constant)
	}
	// sum holds sign * (the terms so far).
	sum, negative := bits[0].reg, bits[0].inverted
	if m == 1 {
		return b.addSigned(b.vector(constant), bits[0])
	}
	for _, p := range bits[1 : m-1] {
		sum = b.valu(sim.OpMultiplyAdd, sum, b.double(negative != p.inverted), p.reg)
		negative = p.inverted
	}
	// All but the newest parity is summed first, because the newest comes last.
	sum = b.valu(sim.OpMultiplyAdd, sum, b.double(negative), b.vector(constant))
	return b.addSigned(sum, bits[m-1])
}

// double returns the vector constant 2, or -2.
func (b *lowering) double(negative bool) operand {
	two := int32(2)
	if negative {
		two = -2
	}
	return b.vector(uint32(two))
}

// addSigned returns x + p, or x - p for an inverted parity (whose 1 is in x already).
func (b *lowering) addSigned(x operand, p parity) operand {
	if p.inverted {
		return b.valu(sim.OpVSub, x, p.reg)
	}
	return b.valu(sim.OpVAdd, x, p.reg)
}

// nextAddress moves addresses one level down: with a = base + i, a' = base + 2i + 1 + p = 2a + (1 - base) + p.
// The result is less by `less`.
func (b *lowering) nextAddress(addr operand, p parity, less uint32) operand {
	bias := 1 - uint32(b.shape.TreeAddr()) - less
	if b.onFlow() {
		zero, one := b.vector(bias), b.vector(bias+1)
		if p.inverted {
			zero, one = one, zero
		}
		q := b.emit(sim.OpVSelect, onFlow, sim.VLen, 0, p.reg, one, zero)
		return b.valu(sim.OpMultiplyAdd, addr, b.double(false), q)
	}
	if p.inverted {
		bias++
	}
	t := b.valu(sim.OpMultiplyAdd, addr, b.double(false), b.vector(bias))
	return b.addSigned(t, p)
}

// onFlow says whether this address update takes its bias from the flow engine, so that BiasFlow eighths of
// them do, spread evenly over groups and rounds.
func (b *lowering) onFlow() bool {
	return (int(b.group)+int(b.round))%8*b.cfg.BiasFlow/8 != ((int(b.group)+int(b.round))%8+1)*b.cfg.BiasFlow/8
}

// finalIndex returns the indices after the last round.
func (b *lowering) finalIndex(it item) operand {
	switch {
	case it.addr != noReg:
		return it.addr
	case len(it.bits) == 0:
		return b.vector(0)
	}
	return b.firstAddress(it.bits, 0)
}

// selectNode returns the nodes of a level that is held in scratch: a tree of selections, by the oldest
// parity first, so that only the last selection waits for the newest one.
func (b *lowering) selectNode(bits []parity, depth int, xored bool) operand {
	first := 1<<depth - 1
	if depth == 0 {
		return b.node(nodeKey{0, -1, xored})
	}
	half := 1 << (depth - 1)
	level := make([]operand, half)
	for i := range level {
		level[i] = b.selectPair(bits[0], first+i, first+half+i, depth <= b.cfg.MaddLevels, xored)
	}
	for _, p := range bits[1:] {
		half /= 2
		for i := range half {
			level[i] = b.vselect(p, level[i], level[half+i])
		}
		level = level[:half]
	}
	return level[0]
}

// vselect returns `even` in the lanes whose parity is 0, else `odd`.
func (b *lowering) vselect(p parity, even, odd operand) operand {
	if p.inverted {
		even, odd = odd, even
	}
	return b.emit(sim.OpVSelect, onFlow, sim.VLen, 0, p.reg, odd, even)
}

func (b *lowering) selectPair(p parity, even, odd int, madd, xored bool) operand {
	if !madd {
		return b.vselect(p, b.node(nodeKey{even, -1, xored}), b.node(nodeKey{odd, -1, xored}))
	}
	if p.inverted {
		even, odd = odd, even
	}
	return b.valu(sim.OpMultiplyAdd, p.reg, b.node(nodeKey{odd, even, xored}), b.node(nodeKey{even, -1, xored}))
}

// node returns a broadcast tree node, or the broadcast difference of two.
func (b *lowering) node(k nodeKey) operand {
	r, ok := b.nodes[k]
	if !ok {
		r = b.setUp(func() operand {
			v := b.treeWord(k.from, k.xored)
			if k.less >= 0 {
				v = b.emit(sim.OpSub, onALU, 1, 0, v, b.treeWord(k.less, k.xored))
			}
			return b.valu(sim.OpVBroadcast, v)
		}).reg
		b.nodes[k] = r
		text := fmt.Sprintf("node %d", k.from)
		if k.less >= 0 {
			text += fmt.Sprintf(" less node %d", k.less)
		}
		if k.xored {
			text += " ^ C"
		}
		b.g.names = append(b.g.names, name{r, text})
	}
	return whole(r)
}

// treeWord returns the scratch word that holds a node.
func (b *lowering) treeWord(node int, xored bool) operand {
	k := nodeKey{node / sim.VLen, -1, xored}
	bl, ok := b.blocks[k]
	if !ok {
		if xored {
			plain := b.treeWord(node, false)
			bl = block{first: node - int(plain.lane)}
			bl.reg = b.valu(sim.OpVXor, whole(plain.reg), b.vector(tree.Stages[5].C)).reg
		} else {
			// The image may end before a whole vector does; the last vector of the image then
			// holds the nodes, at other lanes.
			at := min(b.shape.TreeAddr()+node/sim.VLen*sim.VLen, b.shape.Words()-sim.VLen)
			bl = block{first: at - b.shape.TreeAddr()}
			bl.reg = b.emit(sim.OpVLoad, onLoad, sim.VLen, 0, b.scalar(uint32(at))).reg
		}
		b.blocks[k] = bl
	}
	return operand{bl.reg, int8(node - bl.first)}
}
