package scalar

import (
	"fmt"

	"tune/kernels"
	"tune/kernels/treehash/tree"
	"tune/sim"
	"tune/space"
)

// A lane's registers.
type lane struct {
	offset uint32 // of the lane's item, where offsets are counted
	addr   uint32 // of the next load or store
	index  uint32 // the index, as loaded
	next   uint32 // the index of the next round; the same register as index, or not
	value  uint32 // the value, as loaded
	hash   uint32 // what the stages compute; the same register as value, or not
	node   uint32
	t1, t2 uint32 // the two halves of a stage
	child  uint32 // 1 or 2
	cond   uint32
	token  uint32 // not scratch: stands for the lane's place in the stages, see instr; 0 for none
}

// layout is the allocation of scratch, and of numbers past it for what instr needs.
type layout struct {
	header    [tree.HeaderWords]uint32
	temp      uint32            // address of a header word
	constants []uint32          // in the order of their allocation
	addrs     map[uint32]uint32 // of the constants
	lanes     []lane
	names     []sim.NamedRange
	words     uint32 // of scratch

	indices, values uint32 // numbers of the first item's index and value in memory
	end             uint32 // one past the last number
}

// newLayout allocates the scratch of a program. It is rejected where the machine has less.
func newLayout(s tree.Shape, c Config) (*layout, error) {
	l := &layout{addrs: make(map[uint32]uint32)}
	l.temp = l.word("temp")
	for i, name := range [tree.HeaderWords]string{
		tree.HeaderRounds: "rounds", tree.HeaderNodes: "nodes", tree.HeaderBatch: "batch", tree.HeaderHeight: "height",
		tree.HeaderTree: "tree", tree.HeaderIndices: "indices", tree.HeaderValues: "values",
	} {
		l.header[i] = l.word(name)
	}
	for _, v := range []uint32{0, 1, 2} {
		l.constant(v)
	}
	for _, st := range tree.Stages {
		l.constant(st.C)
		l.constant(st.K)
	}
	if c.Offsets == OffsetCounter {
		l.constant(uint32(c.Lanes))
	} else {
		for i := range s.Batch {
			l.constant(uint32(i))
		}
	}
	l.lanes = make([]lane, c.Lanes)
	for i := range l.lanes {
		reg := func(name string) uint32 { return l.word(fmt.Sprintf("%s_%d", name, i)) }
		r := lane{
			addr: reg("addr"), index: reg("idx"), value: reg("val"), node: reg("node"),
			t1: reg("t1"), t2: reg("t2"), child: reg("child"), cond: reg("cond"),
		}
		r.next, r.hash = r.index, r.value
		if c.IndexRegisters == IndexCurNext {
			r.next = reg("next")
		}
		if c.HashOutput == HashRenamed {
			r.hash = reg("hash")
		}
		if c.Offsets == OffsetCounter {
			r.offset = reg("it")
		}
		l.lanes[i] = r
	}
	if l.words > sim.ScratchWords {
		return nil, kernels.Reject(space.Invalid, "needs %d words of scratch for %d lanes and %d constants; the machine has %d",
			l.words, c.Lanes, len(l.constants), sim.ScratchWords)
	}
	l.indices = sim.ScratchWords
	l.values = l.indices + uint32(s.Batch)
	l.end = l.values + uint32(s.Batch)
	if c.HashOrder == HashToken {
		for i := range l.lanes {
			l.lanes[i].token = l.end
			l.end++
		}
	}
	return l, nil
}

// word allocates a word of scratch.
func (l *layout) word(name string) uint32 {
	addr := l.words
	l.names = append(l.names, sim.NamedRange{Name: name, Span: sim.Span{Addr: addr, N: 1}})
	l.words++
	return addr
}

// constant returns the address of a constant, which it allocates at its first use.
func (l *layout) constant(v uint32) uint32 {
	addr, ok := l.addrs[v]
	if !ok {
		addr = l.word(fmt.Sprintf("const_%d", v))
		l.addrs[v] = addr
		l.constants = append(l.constants, v)
	}
	return addr
}
