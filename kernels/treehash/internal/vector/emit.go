package vector

import "tune/sim"

// emit writes the scheduled operations as bundles.
func emit(g *graph, s *schedule, a *allocation) *sim.Program {
	// Slots are counted for every cycle and then written in the order of operations.
	start := make([]int32, s.cycles+1)
	each := func(f func(cycle int32, o *op, lane int8)) {
		for i := range g.ops {
			o := &g.ops[i]
			switch {
			case o.place == onNone:
			case s.spread(int32(i)):
				for l := range sim.VLen {
					f(s.lanes[sim.VLen*i+l], o, int8(l))
				}
			default:
				f(s.first[i], o, -1)
			}
		}
	}
	each(func(cycle int32, _ *op, _ int8) { start[cycle+1]++ })
	for t := range s.cycles {
		start[t+1] += start[t]
	}
	slots := make([]sim.Slot, start[s.cycles])
	p := &sim.Program{Bundles: make([]sim.Bundle, s.cycles)}
	for t := range p.Bundles {
		p.Bundles[t].Slots = slots[start[t]:start[t+1]:start[t+1]]
	}
	each(func(cycle int32, o *op, lane int8) {
		slots[start[cycle]] = a.slot(g, o, lane)
		start[cycle]++
	})
	for _, n := range g.names {
		p.Names = append(p.Names, sim.NamedRange{Name: n.text, Span: sim.Span{Addr: a.addr[n.reg], N: uint32(g.width[n.reg])}})
	}
	return p
}

// slot returns the slot of an operation, or of one of its lanes.
func (a *allocation) slot(g *graph, o *op, lane int8) sim.Slot {
	word := func(r operand) uint32 { return a.addr[r.reg] + uint32(max(r.lane, 0)) }
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
		src := o.src[k]
		if k == 0 && o.buffer > 0 {
			src.reg = g.buffers[a.buffer[o.buffer]]
		}
		put(word(src))
	}
	switch {
	case o.code == sim.OpLoadOffset:
		put(uint32(lane))
	case o.code == sim.OpConst || o.code == sim.OpAddImm:
		put(o.imm)
	case lane >= 0:
		slot.Op = scalarForm(o.code)
		for k := range n {
			slot.Args[k] += uint32(lane)
		}
	}
	return slot
}
