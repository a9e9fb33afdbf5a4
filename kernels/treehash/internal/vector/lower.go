package vector

import (
	"tune/kernels/treehash/tree"
	"tune/sim"
)

// lower writes the kernel as operations on virtual registers: one group of 8 items after another, each through all
// its rounds. Constants, tree nodes and tables are made where they are first needed, so that the order of the set-up
// follows its deadlines.
func lower(s tree.Shape, c Config, indices bool) *graph {
	ops := 24 * Groups(s) * s.Rounds
	b := &lowering{
		plan: plan{s, c}, indices: indices,
		g: &graph{ops: make([]op, 0, ops), arcs: make([]arc, 0, 3*ops)},
		setup: setup{
			scalars: map[uint32]operand{}, vectors: map[uint32]reg{}, nodes: map[nodeKey]reg{}, blocks: map[nodeKey]block{},
			buffersReady: -1,
		},
	}
	b.run()
	return b.g
}

type lowering struct {
	plan
	indices bool // whether the final indices are stored too
	g       *graph

	// group, round and shared tag the operations that are added.
	group, round int16
	shared       bool

	setup
}

// item is where the 8 items of a group stand.
type item struct {
	value operand
	bits  []parity // since the root, oldest first
	addr  linear   // the last address that was made since the root
	// children are those of the record that was read last.
	children children
}

// children are the children in a record, a lane each: two vectors, or a wide window, in which the words of the even lanes
// stand before those of the odd ones.
type children struct {
	left, right operand
	wide        bool // left is the window
}

func (b *lowering) emit(code sim.Op, where place, words uint8, imm uint32, src ...operand) operand {
	d := whole(b.g.newReg(words))
	b.emitTo(d, code, where, imm, src...)
	return d
}

func (b *lowering) emitTo(d operand, code sim.Op, where place, imm uint32, src ...operand) int32 {
	o := op{code: code, place: where, units: 1, dst: d, imm: imm, group: b.group, round: b.round, shared: b.shared, nsrc: uint8(len(src))}
	copy(o.src[:], src)
	if code == sim.OpLoadOffset {
		o.units = sim.VLen
	}
	return b.g.add(o)
}

func (b *lowering) valu(code sim.Op, src ...operand) operand {
	return b.emit(code, onVALU, vectorWidth, 0, src...)
}

// fence returns an operation that takes no slot and stands behind the given ones.
func (b *lowering) fence(before ...int32) int32 {
	f := b.g.add(op{place: onNone, dst: noReg, group: b.group, round: b.round, shared: b.shared})
	for _, o := range before {
		b.g.after(o, f)
	}
	return f
}

func (b *lowering) run() {
	groups := Groups(b.shape)
	b.given()
	last := make([]int32, groups) // each group's last operation
	lenders := map[int]item{}
	for g := range groups {
		b.group, b.round = int16(g), 0
		address := b.valueAddress(g)
		first := int32(len(b.g.ops))
		it := item{value: b.loadValues(g, address), addr: linear{reg: noReg}}
		if before := g - b.cfg.Window; before >= 0 {
			for i := first; i < int32(len(b.g.ops)); i++ {
				b.g.after(last[before], i)
			}
		}
		for r := range b.shape.Rounds {
			b.round = int16(r)
			b.step(&it, g, r)
		}
		b.round = int16(b.shape.Rounds)
		last[g] = b.storeLanes(g, address, it.value)
		switch {
		case !b.indices:
		case b.lends(g):
			lenders[g] = it
		default:
			last[g] = b.storeIndices(g, &it, nil)
		}
	}
	// The copies of all groups stand before what overwrites the buffers.
	for g := range groups {
		if it, ok := lenders[g]; ok {
			b.group = int16(g)
			b.storeIndices(g, &it, b.copyLoads)
		}
	}
}

// items returns the number of items in a group: 8 but in the tail of the batch.
func (b *lowering) items(g int) int { return min(sim.VLen, b.shape.Batch-sim.VLen*g) }

// loadValues loads the group's values. The lanes of a tail that hold no item are zero: they are hashed
// along, which is harmless, and never stored.
func (b *lowering) loadValues(g int, address operand) operand {
	n := b.items(g)
	if n == sim.VLen {
		return b.emit(sim.OpVLoad, onLoad, vectorWidth, 0, address)
	}
	v := b.g.newPieces(vectorWidth)
	b.emitTo(v, sim.OpVBroadcast, onVALU, 0, b.scalar(0))
	for i := range n {
		b.emitTo(v.at(i), sim.OpLoad, onLoad, 0, b.laneAddress(address, i))
	}
	return v
}

// storeLanes stores a group's vector and returns the number of the last operation.
func (b *lowering) storeLanes(g int, address, v operand) int32 {
	n := b.items(g)
	if n == sim.VLen {
		return b.emitTo(noReg, sim.OpVStore, onStore, 0, address, v)
	}
	var o int32
	for i := range n {
		o = b.emitTo(noReg, sim.OpStore, onStore, 0, b.laneAddress(address, i), v.at(i))
	}
	return o
}

func (b *lowering) laneAddress(address operand, lane int) operand {
	if lane == 0 {
		return address
	}
	return b.emit(sim.OpAddImm, onFlow, wordWidth, uint32(lane), address)
}

// step takes a group through one round.
func (b *lowering) step(it *item, g, r int) {
	depth := b.depth(r)
	switch b.lookup(g, r) {
	case lookSelect:
		it.value = b.valu(sim.OpVXor, it.value, b.selectNode(it.bits, depth, b.carried(g, r)))
	case lookRecord:
		if b.readsLast(r) {
			b.readRecords(it, b.lastAddress(it.bits), lastTableField, b.lastTable(), b.newCopy(b.cfg.LastCopies, true))
			break
		}
		it.addr = b.advance(it.addr, it.bits, uint32(b.levelAddr(depth)), recordStride, b.addressBits(it, depth))
		if share(b.cfg.SplitRecords, b.otherTurn()) > 0 {
			b.splitRecords(it, depth)
			break
		}
		b.readRecords(it, it.addr.reg, 1, b.table(depth), b.newCopy(b.cfg.StoreCopies, false))
	case lookChild:
		b.chooseChild(it, it.bits[depth-1])
	case lookLone:
		addr := b.advance(it.addr, it.bits, uint32(b.levelAddr(depth)+recordNode), recordStride, b.addressBits(it, depth))
		it.addr = addr
		node := b.gather(addr.reg, b.table(depth))
		it.value = b.valu(sim.OpVXor, it.value, node)
	case lookGather:
		b.gatherNodes(it, depth)
	}

	last, next := r == b.shape.Rounds-1, b.depth(r+1)
	applyC := !b.carried(g, r+1)
	it.value = b.hash(it.value, applyC)
	if next == 0 {
		it.bits, it.addr = nil, linear{reg: noReg}
		return
	}
	if !last || b.indices {
		it.bits = append(it.bits, parity{b.valu(sim.OpVAnd, it.value, b.vector(1)), !applyC})
	}
}

// addressBits returns how many parities of the address at a level choose on the flow engine.
func (b *lowering) addressBits(it *item, depth int) int {
	switch {
	case it.addr.reg.reg < 0:
		return b.flowBits(siteFirst)
	case depth-it.addr.depth > 1:
		return b.flowBits(siteNext)
	}
	return b.flowBits(siteChain)
}

// readRecords reads one record a lane, behind a fence: the left child, the right child, the node, each so many words
// behind the one before. The vectors that the lanes are loaded into overlap in all but one word, so that the left
// children come to stand side by side; before the next lane overwrites them, the node goes into the value and the right
// child is copied away.
func (b *lowering) readRecords(it *item, addr operand, field int, ready int32, c *transfer) {
	window, value := b.g.newPieces(windowWidth), b.g.newPieces(vectorWidth)
	for l := range sim.VLen {
		load := b.emitTo(window.at(l), sim.OpVLoad, onLoad, 0, addr.at(l))
		b.g.weakly(ready, load)
		b.emitTo(value.at(l), sim.OpXor, onALU, 0, it.value.at(l), window.at(l+field*recordNode))
		c.lane(l, window.at(l+field*recordRight))
	}
	it.value, it.children = value, children{left: window.at(0), right: c.vector()}
}

// splitRecords reads the records into a wide window, the even lanes first and then the odd ones, so that both children of
// a lane stay where they are: of an even lane l in the words l and l+1, of an odd one in l+7 and l+8.
func (b *lowering) splitRecords(it *item, depth int) {
	ready := b.table(depth)
	window, value := b.g.newPieces(wideWidth), b.g.newPieces(vectorWidth)
	for i := range sim.VLen {
		l, at := 2*i, 2*i
		if l >= sim.VLen {
			l -= sim.VLen - 1
		}
		load := b.emitTo(window.at(at), sim.OpVLoad, onLoad, 0, it.addr.reg.at(l))
		b.g.weakly(ready, load)
		b.emitTo(value.at(l), sim.OpXor, onALU, 0, it.value.at(l), window.at(at+recordNode))
	}
	it.value, it.children = value, children{left: window, wide: true}
}

// chooseChild takes the value through the children that the parity of the round before chooses. Out of a wide window one
// selection is right in the even lanes, and another in the odd ones.
func (b *lowering) chooseChild(it *item, p parity) {
	c := it.children
	if !c.wide {
		it.value = b.valu(sim.OpVXor, it.value, b.vselect(p, c.left, c.right))
		return
	}
	nodes := [2]operand{
		b.vselect(p, c.left.at(0), c.left.at(1)),
		b.vselect(p, c.left.at(sim.VLen-1), c.left.at(sim.VLen)),
	}
	value := b.g.newPieces(vectorWidth)
	for l := range sim.VLen {
		b.emitTo(value.at(l), sim.OpXor, onALU, 0, it.value.at(l), nodes[l%2].at(l))
	}
	it.value = value
}

// gather loads a word a lane, after a fence if there is one.
func (b *lowering) gather(addr operand, ready int32) operand {
	v := b.emit(sim.OpLoadOffset, onLoad, vectorWidth, 0, addr)
	b.g.weakly(ready, int32(len(b.g.ops)-1))
	return v
}

// gatherNodes reads the nodes from the tree. The number of a node in heap order, from 1, is the easiest to compute:
// it doubles and takes the parity. A vector that is loaded from there has the node behind a few words.
func (b *lowering) gatherNodes(it *item, depth int) {
	onFlow := b.addressBits(it, depth)
	const skip = tree.HeaderWords - 1
	if share(b.cfg.WindowGather, b.turn()) == 0 {
		it.addr = b.advance(it.addr, it.bits, uint32(b.levelAddr(depth)), 1, onFlow)
		it.value = b.valu(sim.OpVXor, it.value, b.gather(it.addr.reg, -1))
		return
	}
	it.addr = b.advance(it.addr, it.bits, uint32(b.levelAddr(depth)-skip), 1, onFlow)
	value := b.g.newPieces(vectorWidth)
	for l := range sim.VLen {
		words := b.emit(sim.OpVLoad, onLoad, vectorWidth, 0, it.addr.reg.at(l))
		b.emitTo(value.at(l), sim.OpXor, onALU, 0, it.value.at(l), words.at(skip))
	}
	it.value = value
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

// storeIndices stores the numbers of the nodes at which the group's items end, behind the given operations.
func (b *lowering) storeIndices(g int, it *item, before []int32) int32 {
	index := b.vector(0)
	if depth := b.depth(b.shape.Rounds); depth > 0 {
		index = b.advance(it.addr, it.bits, 1<<depth-1, 1, b.addressBits(it, depth)).reg
	}
	o := b.storeLanes(g, b.indexAddress(g), index)
	for _, c := range before {
		b.g.weakly(c, o)
	}
	return o
}

// selectNode returns the nodes of a level that is held in scratch: a tree of selections, by the oldest
// parity first, so that only the last selection waits for the newest one.
func (b *lowering) selectNode(bits []parity, depth int, xored bool) operand {
	first := 1<<depth - 1
	if depth == 0 {
		return b.node(nodeKey{0, -1, xored})
	}
	madd := share([...]int{0, b.cfg.Madd1, b.cfg.Madd2, b.cfg.Madd3, b.cfg.Madd3}[depth], b.turn()) > 0
	half := 1 << (depth - 1)
	level := make([]operand, half)
	for i := range level {
		level[i] = b.selectPair(bits[0], first+i, first+half+i, madd, xored)
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
	return b.emit(sim.OpVSelect, onFlow, vectorWidth, 0, p.reg, odd, even)
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
