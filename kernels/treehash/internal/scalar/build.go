package scalar

import (
	"tune/kernels/treehash/tree"
	"tune/sim"
)

// loadSteps is the number of slots in which a lane loads its index, value and node.
const loadSteps = 6

// instr is a slot as it is emitted. Besides its scratch operands it may read or write one thing that is not scratch: the word of
// memory that a load or store touches, or the token of a lane's stages. Such things have numbers from sim.ScratchWords on, so
// that the packers treat them like scratch; 0 means none. Loads of the header and the tree need none, because nothing is stored
// there.
type instr struct {
	sim.Slot
	reads, writes uint32
}

// builder emits the slots of one program.
type builder struct {
	shape  tree.Shape
	config Config
	*layout
	instrs []instr
}

// Build generates the program of a point. It fails where the shape or the configuration is out of range, and with a
// *kernels.Rejection where there are not enough registers.
func Build(s tree.Shape, c Config) (*sim.Program, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	l, err := newLayout(s, c)
	if err != nil {
		return nil, err
	}
	b := &builder{shape: s, config: c, layout: l}
	p := newPacker(c, l.end)

	b.prologue()
	// The study packs only the body; list scheduling packs the prologue too.
	if c.Packing == PackList {
		p.pack(b.instrs)
	} else {
		p.single(b.instrs)
	}
	p.pause()

	// One slot for each of 36 steps and for the lane counters, and a pause between stages.
	b.instrs = make([]instr, 0, s.Rounds*(s.Batch+c.Lanes)*38+s.Rounds*s.Batch*5)
	for range s.Rounds {
		b.round()
	}
	p.pack(b.instrs)
	p.pause()
	return &sim.Program{Bundles: p.bundles, Names: l.names}, nil
}

// emit appends a slot.
func (b *builder) emit(op sim.Op, args ...uint32) *instr {
	in := instr{Slot: sim.Slot{Op: op}}
	copy(in.Args[:], args)
	b.instrs = append(b.instrs, in)
	return &b.instrs[len(b.instrs)-1]
}

// prologue loads the header and the constants.
func (b *builder) prologue() {
	for i, addr := range b.header {
		b.emit(sim.OpConst, b.temp, uint32(i))
		b.emit(sim.OpLoad, addr, b.temp)
	}
	for _, v := range b.constants {
		b.emit(sim.OpConst, b.constant(v), v)
	}
}

// round emits a round: the batch, a group at a time.
func (b *builder) round() {
	if b.config.Offsets == OffsetCounter {
		for l, r := range b.lanes {
			b.emit(sim.OpConst, r.offset, uint32(l))
		}
	}
	for first := 0; first < b.shape.Batch; first += b.config.Lanes {
		b.group(first)
	}
}

// group emits a round of the items from first on, one for each lane.
func (b *builder) group(first int) {
	lanes := b.lanes[:min(len(b.lanes), b.shape.Batch-first)] // the tail's other lanes are masked off
	b.loads(first, lanes)
	for _, r := range lanes {
		b.emit(sim.OpXor, r.value, r.value, r.node)
	}
	b.hash(lanes)

	zero, one, two := b.constant(0), b.constant(1), b.constant(2)
	for _, r := range lanes {
		b.emit(sim.OpMod, r.cond, r.hash, two)
		b.emit(sim.OpEq, r.cond, r.cond, zero)
		b.emit(sim.OpSelect, r.child, r.cond, one, two)
		b.emit(sim.OpMul, r.next, r.index, two)
		b.emit(sim.OpAdd, r.next, r.next, r.child)
	}
	for _, r := range lanes {
		b.emit(sim.OpLt, r.cond, r.next, b.header[tree.HeaderNodes])
		b.emit(sim.OpSelect, r.next, r.cond, r.next, zero)
	}
	for l, r := range lanes {
		b.address(r, tree.HeaderIndices, first+l)
		b.emit(sim.OpStore, r.addr, r.next).writes = b.indices + uint32(first+l)
	}
	for l, r := range lanes {
		b.address(r, tree.HeaderValues, first+l)
		b.emit(sim.OpStore, r.addr, r.hash).writes = b.values + uint32(first+l)
	}
	if b.config.Offsets == OffsetCounter {
		for _, r := range b.lanes {
			b.emit(sim.OpAdd, r.offset, r.offset, b.constant(uint32(b.config.Lanes)))
		}
	}
}

// address emits the address of an item's index or value.
func (b *builder) address(r lane, base, item int) {
	offset := r.offset
	if b.config.Offsets == OffsetConstant {
		offset = b.constant(uint32(item))
	}
	b.emit(sim.OpAdd, r.addr, b.header[base], offset)
}

// loads emits the loads of a group in the order of the configuration.
func (b *builder) loads(first int, lanes []lane) {
	switch b.config.LoadOrder {
	case LoadsByKind:
		for step := 0; step < loadSteps; step += 2 {
			for l, r := range lanes {
				b.loadStep(r, first+l, step)
				b.loadStep(r, first+l, step+1)
			}
		}
	case LoadsByLane:
		for l, r := range lanes {
			for step := range loadSteps {
				b.loadStep(r, first+l, step)
			}
		}
	case LoadsDiagonal:
		for at := range loadSteps + (len(lanes)-1)*b.config.Stagger {
			for l, r := range lanes {
				if step := at - l*b.config.Stagger; step >= 0 && step < loadSteps {
					b.loadStep(r, first+l, step)
				}
			}
		}
	}
}

// loadStep emits one of the slots that load a lane's item.
func (b *builder) loadStep(r lane, item, step int) {
	switch step {
	case 0:
		b.address(r, tree.HeaderIndices, item)
	case 1:
		b.emit(sim.OpLoad, r.index, r.addr).reads = b.indices + uint32(item)
	case 2:
		b.address(r, tree.HeaderValues, item)
	case 3:
		b.emit(sim.OpLoad, r.value, r.addr).reads = b.values + uint32(item)
	case 4:
		b.emit(sim.OpAdd, r.addr, b.header[tree.HeaderTree], r.index)
	case 5:
		b.emit(sim.OpLoad, r.node, r.addr)
	}
}

// hash emits the six stages of a group.
func (b *builder) hash(lanes []lane) {
	for i, st := range tree.Stages {
		if i > 0 && b.config.HashOrder == HashBarrier {
			b.emit(sim.OpPause)
		}
		for _, r := range lanes {
			in := r.hash
			if i == 0 {
				in = r.value
			}
			b.emit(st.Op1, r.t1, in, b.constant(st.C)).reads = r.token
			b.emit(st.ShiftOp, r.t2, in, b.constant(st.K)).reads = r.token
			b.emit(st.Op2, r.hash, r.t1, r.t2).writes = r.token
		}
	}
}
