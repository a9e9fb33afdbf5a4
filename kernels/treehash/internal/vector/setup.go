package vector

import (
	"fmt"
	"math/bits"

	"tune/kernels/treehash/tree"
	"tune/sim"
)

// setup is what all groups share.
type setup struct {
	scalars map[uint32]operand // scalar constants
	known   []uint32           // those constants, in the order in which they were made
	vectors map[uint32]reg     // broadcast constants
	nodes   map[nodeKey]reg
	blocks  map[nodeKey]block
	root    operand // the word of the plain root
	// The load of the header, and the fence behind the table of the last records.
	headerLoad, lastReady int32
	tables                [maxTables]struct {
		built bool
		ready int32 // the fence behind the table's last store
	}
	sums map[int]reg // addresses that were added up; see address

	// Copies through memory.
	buffersReady int32 // the fence behind the addresses of the buffers, -1 while there are none
	copyLoads    []int32
	ringLoads    []int32 // those of the ring
	lastCopied   bool    // whether there has been a copy out of the last table
}

// nodeKey names a broadcast tree node, or the difference of two: node `from` less node `less` (-1 for none).
// xored nodes carry the last hash constant.
type nodeKey struct {
	from, less int
	xored      bool
}

// block is a vector of tree nodes in scratch.
type block struct {
	reg   reg
	first int   // the number of its first node
	load  int32 // the operation that read it
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

// given makes the constants that take no slot of their own. A word of scratch that nothing writes is zero, and with it as
// the address one load brings the first words of the image, which the shape decides: its header, and the root behind it.
func (b *lowering) given() {
	b.setUp(func() operand {
		zero := whole(b.g.newReg(wordWidth))
		header := b.emit(sim.OpVLoad, onLoad, vectorWidth, 0, zero)
		b.g.names = append(b.g.names, name{zero.reg, "zero"}, name{header.reg, "header"})
		b.know(0, zero)
		for i, v := range tree.Header(b.shape) {
			if _, ok := b.scalars[v]; !ok {
				b.know(v, header.at(i))
			}
		}
		b.root, b.headerLoad = header.at(b.shape.TreeAddr()), int32(len(b.g.ops)-1)
		return noReg
	})
}

// know notes a constant that is there.
func (b *lowering) know(v uint32, at operand) {
	b.scalars[v] = at
	b.known = append(b.known, v)
}

// scalar returns a register that holds a constant. It is computed from two constants that are there already, made on the
// flow engine, or loaded.
func (b *lowering) scalar(v uint32) operand {
	if r, ok := b.scalars[v]; ok {
		return r
	}
	turn := len(b.known) % shares
	r := b.setUp(func() operand {
		if share(b.cfg.DeriveConstants, turn) > 0 {
			if code, x, y, ok := b.derive(v); ok {
				return b.emit(code, onALU, wordWidth, 0, b.scalars[x], b.scalars[y])
			}
		}
		if share(b.cfg.ConstantFlow, turn) > 0 {
			return b.emit(sim.OpAddImm, onFlow, wordWidth, v, b.scalars[0])
		}
		return b.emit(sim.OpConst, onLoad, wordWidth, v)
	})
	b.know(v, r)
	return r
}

// derive finds an operation on two known constants that gives v. Of several it takes the one whose first operand is
// known the longest.
func (b *lowering) derive(v uint32) (code sim.Op, x, y uint32, ok bool) {
	known := func(v uint32) bool { _, ok := b.scalars[v]; return ok }
	for _, x := range b.known {
		switch {
		case known(v - x):
			return sim.OpAdd, x, v - x, true
		case known(x - v):
			return sim.OpSub, x, x - v, true
		case known(x ^ v):
			return sim.OpXor, x, x ^ v, true
		case x != 0 && v%x == 0 && known(v/x):
			return sim.OpMul, x, v / x, true
		}
		for _, y := range b.known {
			if y < 32 && x<<y == v {
				return sim.OpShl, x, y, true
			}
		}
	}
	return 0, 0, 0, false
}

// vector returns a register whose lanes all hold a constant.
func (b *lowering) vector(v uint32) operand {
	r, ok := b.vectors[v]
	if !ok {
		s := b.scalar(v)
		r = b.setUp(func() operand { return b.broadcast(s) }).reg
		b.vectors[v] = r
		b.g.names = append(b.g.names, name{r, fmt.Sprintf("constant %#x", v)})
	}
	return whole(r)
}

// broadcast returns a vector whose lanes all hold a word. What is not needed soon may go through memory.
func (b *lowering) broadcast(word operand) operand {
	if !b.broadcastsByStore() {
		return b.valu(sim.OpVBroadcast, word)
	}
	c := b.throughMemory(true)
	for l := range sim.VLen {
		c.lane(l, word)
	}
	return c.vector()
}

// address returns a register with the address base + 8*i, made by one addition: on the flow engine to the base itself,
// on the scalar engine to the address that has one bit of i less, so that no long chain comes about.
func (b *lowering) address(base, i int) operand {
	at := base + sim.VLen*i
	if i == 0 {
		return b.scalar(uint32(base))
	}
	if r, ok := b.sums[at]; ok {
		return whole(r)
	}
	if b.sums == nil {
		b.sums = map[int]reg{}
	}
	r := b.setUp(func() operand {
		if share(b.cfg.AddressFlow, len(b.sums)%shares) > 0 {
			return b.emit(sim.OpAddImm, onFlow, wordWidth, uint32(sim.VLen*i), b.scalar(uint32(base)))
		}
		low := 1 << bits.TrailingZeros(uint(i))
		return b.emit(sim.OpAdd, onALU, wordWidth, 0, b.address(base, i-low), b.scalar(uint32(sim.VLen*low)))
	})
	b.sums[at] = r.reg
	return r
}

// valueAddress returns a register with the address of the group's first value.
func (b *lowering) valueAddress(g int) operand { return b.address(b.shape.ValueAddr(), g) }

func (b *lowering) indexAddress(g int) operand { return b.address(b.shape.IndexAddr(), g) }

// node returns a broadcast tree node, or the broadcast difference of two.
func (b *lowering) node(k nodeKey) operand {
	r, ok := b.nodes[k]
	if !ok {
		r = b.setUp(func() operand {
			v := b.treeWord(k.from, k.xored)
			if k.less >= 0 {
				v = b.emit(sim.OpSub, onALU, wordWidth, 0, v, b.treeWord(k.less, k.xored))
			}
			return b.broadcast(v)
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
	if node == 0 && !xored {
		return b.root
	}
	bl := b.treeBlock(node/sim.VLen, xored)
	return operand{bl.reg, int8(node - bl.first)}
}

// treeBlock returns the vector with the nodes 8i to 8i + 7.
func (b *lowering) treeBlock(i int, xored bool) block {
	k := nodeKey{i, -1, xored}
	bl, ok := b.blocks[k]
	if !ok {
		b.setUp(func() operand {
			if xored {
				bl = b.treeBlock(i, false)
				bl.reg = b.valu(sim.OpVXor, whole(bl.reg), b.vector(tree.Stages[5].C)).reg
			} else {
				// The image may end before a whole vector does; the last vector of the image then
				// holds the nodes, at other lanes.
				at := min(b.shape.TreeAddr()+i*sim.VLen, b.shape.Words()-sim.VLen)
				bl = block{first: at - b.shape.TreeAddr()}
				bl.reg = b.emit(sim.OpVLoad, onLoad, vectorWidth, 0, b.scalar(uint32(at))).reg
				bl.load = int32(len(b.g.ops) - 1)
			}
			return noReg
		})
		b.blocks[k] = bl
	}
	return bl
}

// recordStride is the number of words in a record: the left child, the right child, the node.
const (
	recordStride = 3
	recordRight  = 1
	recordNode   = 2
)

// table returns the fence behind the table of records whose nodes are at a depth, and builds it where it is not
// there yet. A table takes the words of the two levels that it is made of, so it is built where they lie: all of its
// words are in scratch before they are overwritten.
func (b *lowering) table(depth int) int32 {
	t := &b.tables[(depth-b.cfg.Levels)/2]
	if !t.built {
		b.setUp(func() operand { t.ready = b.buildTable(depth); return noReg })
		t.built = true
	}
	return t.ready
}

// blocksAbove returns how many vectors of the tree hold the levels in scratch.
func (b *lowering) blocksAbove() int { return (1<<b.cfg.Levels + sim.VLen - 2) / sim.VLen }

func (b *lowering) buildTable(depth int) int32 {
	// The levels above share vectors of the tree with this one, and are read before it is overwritten.
	for i := range b.blocksAbove() {
		b.treeBlock(i, false)
	}
	start, nodes := b.levelAddr(depth), 1<<depth
	vectors := recordStride * nodes / sim.VLen
	type source struct {
		reg  operand
		load int32
	}
	sources := make([]*source, vectors)
	word := func(i int) operand {
		v := i / sim.VLen
		if sources[v] == nil {
			r := b.emit(sim.OpVLoad, onLoad, vectorWidth, 0, b.address(start, v))
			sources[v] = &source{r, int32(len(b.g.ops) - 1)}
		}
		return sources[v].reg.at(i % sim.VLen)
	}
	constant := b.scalar(0)
	if b.cfg.DeferC {
		constant = b.scalar(tree.Stages[5].C)
	}
	records := make([]operand, vectors)
	for v := range records {
		records[v] = b.g.newPieces(vectorWidth)
		for l := range sim.VLen {
			k, field := (sim.VLen*v+l)/recordStride, (sim.VLen*v+l)%recordStride
			from := word(k)
			if field != recordNode {
				from = word(nodes + 2*k + field)
			}
			b.emitTo(records[v].at(l), sim.OpXor, onALU, 0, from, constant)
		}
	}
	if b.cfg.LastTable && depth == lastTableLevel {
		b.buildLastTable(word, constant)
	}
	stores := make([]int32, vectors)
	for v := range records {
		stores[v] = b.emitTo(noReg, sim.OpVStore, onStore, 0, b.address(start, v), records[v])
		b.g.weakly(sources[v].load, stores[v])
	}
	// Vectors of the levels above reach into the first vectors of the table.
	for i := range b.blocksAbove() {
		bl := b.treeBlock(i, false)
		end := b.shape.TreeAddr() + bl.first + sim.VLen
		for v := 0; v < vectors && start+sim.VLen*v < end; v++ {
			b.g.weakly(bl.load, stores[v])
		}
	}
	return b.fence(stores...)
}
