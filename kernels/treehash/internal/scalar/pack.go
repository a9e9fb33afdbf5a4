package scalar

import (
	"slices"

	"tune/sim"
)

// unit is a set of engines that share a limit of slots in a bundle.
type unit uint8

const (
	unitALU unit = iota
	unitLoad
	unitStore
	unitFlow
	numUnits = iota
)

// packer turns instructions into bundles. It appends to the bundles that it has.
type packer struct {
	packing  Packing
	priority Priority
	units    [sim.NumEngines]unit
	limits   [numUnits]int
	words    uint32 // one past the last word that an instruction reads or writes, see instr
	bundles  []sim.Bundle
}

func newPacker(c Config, words uint32) *packer {
	p := &packer{packing: c.Packing, priority: c.Priority, words: words}
	p.units = [sim.NumEngines]unit{sim.ALU: unitALU, sim.Load: unitLoad, sim.Store: unitStore, sim.Flow: unitFlow}
	p.limits = [numUnits]int{
		unitALU: sim.SlotLimit[sim.ALU], unitLoad: sim.SlotLimit[sim.Load],
		unitStore: sim.SlotLimit[sim.Store], unitFlow: sim.SlotLimit[sim.Flow],
	}
	if c.Memory == MemoryOne {
		p.units[sim.Store] = unitLoad
		p.limits[unitLoad] = 1
	}
	return p
}

// unit returns the unit that executes a slot.
func (p *packer) unit(s sim.Slot) unit { return p.units[s.Op.Engine()] }

// pause appends a pause in a bundle of its own.
func (p *packer) pause() {
	p.bundles = append(p.bundles, sim.Bundle{Slots: []sim.Slot{{Op: sim.OpPause}}})
}

// pack appends instructions. No other instruction crosses a pause among them.
func (p *packer) pack(instrs []instr) {
	switch p.packing {
	case PackSingle:
		p.single(instrs)
	case PackInOrder:
		p.inOrder(instrs)
	case PackList:
		p.list(instrs)
	}
}

// single appends one bundle for each instruction.
func (p *packer) single(instrs []instr) {
	slots := make([]sim.Slot, len(instrs)) // one allocation for all bundles
	p.bundles = slices.Grow(p.bundles, len(instrs))
	for i := range instrs {
		slots[i] = instrs[i].Slot
		p.bundles = append(p.bundles, sim.Bundle{Slots: slots[i : i+1 : i+1]})
	}
}

// accesses returns the words that an instruction reads and writes.
func (in *instr) accesses() (reads [4]uint32, nr int, writes [2]uint32, nw int) {
	spans, n := in.Slot.Reads()
	for _, s := range spans[:n] {
		reads[nr] = s.Addr
		nr++
	}
	if in.reads != 0 {
		reads[nr] = in.reads
		nr++
	}
	if w := in.Slot.Writes(); w.N > 0 {
		writes[nw] = w.Addr
		nw++
	}
	if in.writes != 0 {
		writes[nw] = in.writes
		nw++
	}
	return reads, nr, writes, nw
}

// inOrder appends instructions strictly in order. A bundle ends where the next instruction touches a word
// that the bundle already writes, or finds its unit full.
func (p *packer) inOrder(instrs []instr) {
	slots := make([]sim.Slot, len(instrs))
	written := make([]int, p.words) // the bundle that last wrote a word, counted from 1
	var used [numUnits]int
	start, bundle := 0, 1
	next := func(i int) {
		if start < i {
			p.bundles = append(p.bundles, sim.Bundle{Slots: slots[start:i:i]})
		}
		start, bundle, used = i, bundle+1, [numUnits]int{}
	}
	for i := range instrs {
		if instrs[i].Op == sim.OpPause {
			next(i)
			p.pause()
			start = i + 1
			continue
		}
		u := p.unit(instrs[i].Slot)
		reads, nr, writes, nw := instrs[i].accesses()
		fits := used[u] < p.limits[u]
		for _, w := range reads[:nr] {
			fits = fits && written[w] != bundle
		}
		for _, w := range writes[:nw] {
			fits = fits && written[w] != bundle
		}
		if !fits {
			next(i)
		}
		slots[i] = instrs[i].Slot
		used[u]++
		for _, w := range writes[:nw] {
			written[w] = bundle
		}
	}
	next(len(instrs))
}
