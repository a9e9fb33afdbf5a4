package vector

import "tune/sim"

// emit writes the scheduled operations as bundles.
func emit(g *graph, s *schedule, addr []uint32) *sim.Program {
	slots := make([]sim.Slot, len(s.issues))
	for i, is := range s.issues {
		slots[i] = slotOf(&g.ops[is.op], is.lane, addr)
	}
	p := &sim.Program{Bundles: make([]sim.Bundle, s.cycles())}
	for t := range p.Bundles {
		p.Bundles[t].Slots = slots[s.start[t]:s.start[t+1]:s.start[t+1]]
	}
	for _, n := range g.names {
		p.Names = append(p.Names, sim.NamedRange{Name: n.text, Span: sim.Span{Addr: addr[n.reg], N: uint32(g.width[n.reg])}})
	}
	return p
}

// slotOf returns the slot of an operation, or of one of its lanes.
func slotOf(o *op, lane int8, addr []uint32) sim.Slot {
	word := func(r operand) uint32 { return addr[r.reg] + uint32(max(r.lane, 0)) }
	slot := sim.Slot{Op: o.code}
	n := 0
	put := func(v uint32) {
		slot.Args[n] = v
		n++
	}
	if o.dst.reg >= 0 {
		put(word(o.dst))
	}
	for k := range int(o.nsrc) {
		put(word(o.src[k]))
	}
	switch {
	case o.code == sim.OpLoadOffset:
		put(uint32(lane))
	case o.code == sim.OpConst || o.code == sim.OpAddImm:
		put(o.imm)
	case lane >= 0:
		// The scalar operations stand in the order of the vector ones.
		slot.Op = o.code - sim.OpVAdd + sim.OpAdd
		for k := range n {
			slot.Args[k] += uint32(lane)
		}
	}
	return slot
}
