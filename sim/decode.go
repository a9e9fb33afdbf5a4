package sim

import (
	"fmt"
	"math"
	"math/bits"
)

// fileWords is the size of the machine's register file. First comes scratch. Behind it are staging words for the writes of a
// bundle that cannot be put in order: at most 12 scalars of alu and 9 vectors of the others. Unused words fill up to a power of
// two, so that a masked index needs no bounds check.
const (
	fileWords = 2048
	fileMask  = fileWords - 1
)

// Operations that exist only in decoded programs: they move staged words to their destination.
const (
	opMove  = NumOps + iota // d a
	opVMove                 // d a
)

// instr is a decoded slot. Its operands are validated, so that it executes without checks of scratch addresses.
type instr struct {
	imm        uint32
	d, a, b, c uint16
	op         Op
	engine     Engine
	slot       uint8
}

// control says what follows a bundle.
type control uint8

const (
	fallThrough control = iota
	halt
	pause
	traceWrite
	jump
	condJump
	jumpIndirect
)

// step is a decoded bundle that costs a cycle; other bundles are left out.
type step struct {
	start, end uint32  // its instructions
	bundle     uint32  // the bundle it was decoded from
	target     uint32  // the step that jump and condJump go to
	reg        uint16  // the word that ctl reads, before the instructions run
	ctl        control // what follows
	engine     Engine  // where a fault of the whole bundle is reported
	slot       int8    // likewise
}

// Code is a decoded program. It does not change, so any number of machines may run it at once.
type Code struct {
	instrs []instr
	steps  []step
	// stepAt is, for each bundle and for the end of the program, the first step at or after it.
	stepAt []uint32
	slots  int
}

// Bundles returns the number of bundles of the program.
func (c *Code) Bundles() int { return len(c.stepAt) - 1 }

// Slots returns the number of slots of the program, without those of debug.
func (c *Code) Slots() int { return c.slots }

// Decode validates a program and compiles it. The error is a *Fault.
//
// The slots of a bundle read the state before it, so the obvious way to execute a bundle is to buffer its writes. Decode instead
// orders the slots so that every reader of a word comes before its writer, and every load before every store. Executed one after
// another with direct writes, they then have the same effect. Where there is no such order (for instance in a swap), some writes
// go to staging words and are moved to their destination at the end of the bundle. Where two slots write one word, all writes are
// staged, in the order in which they land.
func Decode(p *Program) (*Code, error) {
	d := decoder{p: p}
	n := 0
	for i := range p.Bundles {
		n += len(p.Bundles[i].Slots)
	}
	c := &Code{
		instrs: make([]instr, 0, n),
		steps:  make([]step, 0, len(p.Bundles)),
		stepAt: make([]uint32, 1, len(p.Bundles)+1),
		slots:  n,
	}
	for i := range p.Bundles {
		if err := d.bundle(c, i); err != nil {
			return nil, err
		}
		c.stepAt = append(c.stepAt, uint32(len(c.steps)))
	}
	for i := range c.steps {
		if s := &c.steps[i]; s.ctl == jump || s.ctl == condJump {
			s.target = c.stepAt[s.target]
		}
	}
	return c, nil
}

// decoder holds what decoding a bundle needs besides the program.
type decoder struct {
	p *Program
	// written has a bit for each word that the bundle writes, and writer the number of the instruction
	// that writes it.
	written [fileWords/64 + 1]uint64
	writer  [fileWords]uint8
}

// writtenAt returns the bits of written for n words from a.
func (d *decoder) writtenAt(a, n uint16) uint64 {
	k, shift := int(a)/64&(fileWords/64-1), a%64
	// The upper part is shifted in two steps, neither by 64.
	return (d.written[k]>>shift | d.written[k+1]<<1<<(63-shift)) & (1<<(n%64) - 1)
}

// shape is what decoding needs to know about an operation, precomputed.
type shape struct {
	max    [4]uint32 // greatest valid operands
	reads  []operand // operands that are read
	writes uint16    // words written from the first operand
}

type operand struct{ index, words uint16 }

var shapes = func() (t [NumOps + 2]shape) {
	for o := range t {
		s := &t[o]
		switch o {
		case opMove:
			s.writes = 1
			continue
		case opVMove:
			s.writes = VLen
			continue
		}
		for k, r := range ops[o].roles {
			s.max[k] = math.MaxUint32
			switch r {
			case dst:
				s.max[k], s.writes = ScratchWords-1, 1
			case dstV:
				s.max[k], s.writes = ScratchWords-VLen, VLen
			case src:
				s.max[k] = ScratchWords - 1
				s.reads = append(s.reads, operand{uint16(k), 1})
			case srcV:
				s.max[k] = ScratchWords - VLen
				s.reads = append(s.reads, operand{uint16(k), VLen})
			}
		}
	}
	return t
}()

// control returns what follows a bundle with the operation; instructions fall through.
func (o Op) control() control {
	switch o {
	case OpHalt:
		return halt
	case OpPause:
		return pause
	case OpTraceWrite:
		return traceWrite
	case OpJump:
		return jump
	case OpCondJump, OpCondJumpRel:
		return condJump
	case OpJumpIndirect:
		return jumpIndirect
	}
	return fallThrough
}

// costs reports whether the bundle costs a cycle.
func (b *Bundle) costs() bool {
	return len(b.Slots) > 0 || b.Named&(1<<Debug-1) != 0
}

// bundle validates bundle i and appends its step and instructions to c.
func (d *decoder) bundle(c *Code, i int) error {
	b := &d.p.Bundles[i]
	if n := len(b.Debug); n > SlotLimit[Debug] {
		return staticFault(i, Debug, SlotLimit[Debug], "too many slots: %d, and the engine has %d", n, SlotLimit[Debug])
	}
	if !b.costs() {
		return nil
	}

	st := step{start: uint32(len(c.instrs)), bundle: uint32(i), slot: -1}
	st.engine = Engine(bits.TrailingZeros8(b.Named | 1<<Debug))
	var count [NumEngines]int
	var ins [32]instr
	n := 0
	for pos, s := range b.Slots {
		if s.Op == OpNone || s.Op >= NumOps {
			return staticFault(i, NumEngines, pos, "unknown operation %d", s.Op)
		}
		e := ops[s.Op].engine
		slot := count[e]
		if count[e]++; count[e] > SlotLimit[e] {
			return staticFault(i, e, slot, "too many slots: the engine has %d", SlotLimit[e])
		}
		if st.slot < 0 || e < st.engine {
			st.engine, st.slot = e, 0
		}
		if f := operandFault(i, slot, s); f != nil {
			return f
		}
		ctl := s.Op.control()
		if ctl == fallThrough {
			ins[n].compile(s, e, slot)
			n++
			continue
		}
		// The word that a control reads is fetched before the instructions run, so its order among
		// them does not matter.
		st.ctl, st.reg = ctl, uint16(s.Args[0])
		switch s.Op {
		case OpJump:
			st.reg, st.target = 0, s.Args[0]
		case OpCondJump:
			st.target = s.Args[1]
		case OpCondJumpRel:
			st.target = uint32(i) + 1 + s.Args[1]
		}
		if st.target > uint32(len(d.p.Bundles)) {
			return staticFault(i, Flow, slot, "%s to bundle %d, and the program has %d", s.Op, int32(st.target), len(d.p.Bundles))
		}
	}
	c.instrs = d.order(c.instrs, ins[:n])
	st.end = uint32(len(c.instrs))
	c.steps = append(c.steps, st)
	return nil
}

// operandFault returns the fault of the slot's operands, or nil where they lie in scratch.
func operandFault(bundle, slot int, s Slot) *Fault {
	most := &shapes[s.Op].max
	if s.Op != OpLoadOffset && s.Args[0] <= most[0] && s.Args[1] <= most[1] && s.Args[2] <= most[2] && s.Args[3] <= most[3] {
		return nil
	}
	for k, r := range ops[s.Op].roles {
		a, n := s.Args[k], uint32(1)
		switch r {
		case none, imm:
			continue
		case dstV, srcV:
			n = VLen
		case dstK, srcK:
			a += s.Args[2]
		}
		if a > ScratchWords-n {
			// Signed, because a negative offset may lead below the first word.
			what := fmt.Sprintf("scratch word %d", int32(a))
			if n > 1 {
				what = fmt.Sprintf("the %d scratch words from %d", n, int32(a))
			}
			return staticFault(bundle, s.Op.Engine(), slot, "operand %d of %s is %s, and scratch has %d words", k+1, s.Op, what, ScratchWords)
		}
	}
	return nil
}

// compile translates a slot whose operands are valid. It fills the instruction in place, field by field:
// copying one that was just put together from narrow fields would stall.
func (in *instr) compile(s Slot, e Engine, slot int) {
	in.imm, in.op, in.engine, in.slot = 0, s.Op, e, uint8(slot)
	in.d, in.a, in.b, in.c = uint16(s.Args[0]), uint16(s.Args[1]), uint16(s.Args[2]), uint16(s.Args[3])
	switch s.Op {
	case OpLoadOffset:
		in.op = OpLoad
		in.d, in.a, in.b = uint16(s.Args[0]+s.Args[2]), uint16(s.Args[1]+s.Args[2]), 0
	case OpConst:
		in.imm, in.a = s.Args[1], 0
	case OpAddImm:
		in.imm, in.b = s.Args[2], 0
	case OpCoreID:
		// There is one core, and its number is 0.
		in.op = OpConst
	}
}

// order appends the instructions of a bundle to out, in an order that has the bundle's effect. It
// changes ins.
func (d *decoder) order(out, ins []instr) []instr {
	// Instructions of one kind are kept together as far as possible, because the branch that dispatches them is then predicted
	// better.
	for i := 1; i < len(ins); i++ {
		for j := i; j > 0 && ins[j].before(&ins[j-1]); j-- {
			ins[j], ins[j-1] = ins[j-1], ins[j]
		}
	}

	clear(d.written[:])
	var loads, stores uint32
	for i := range ins {
		in := &ins[i]
		switch in.op {
		case OpLoad, OpVLoad:
			loads |= 1 << i
		case OpStore, OpVStore:
			stores |= 1 << i
		}
		n := shapes[in.op].writes
		if n == 0 {
			continue
		}
		if d.writtenAt(in.d, n) != 0 {
			return stageAll(out, ins)
		}
		k, mask := in.d/64, uint64(1)<<n-1
		d.written[k] |= mask << (in.d % 64)
		d.written[k+1] |= mask >> (64 - in.d%64)
		writer := d.writer[in.d:][:n]
		for w := range writer {
			writer[w] = uint8(i)
		}
	}

	// preds are, for each instruction, those that must come before it.
	var preds [32]uint32
	for i := range ins {
		in := &ins[i]
		for _, r := range shapes[in.op].reads {
			a := in.operand(r.index)
			for hit := d.writtenAt(a, r.words); hit != 0; hit &= hit - 1 {
				w := d.writer[a+uint16(bits.TrailingZeros64(hit))]
				// An instruction may overwrite what it reads. But its lanes run upwards: where a lane would read what an earlier
				// lane wrote, the instruction cannot come even before itself.
				if int(w) != i || r.words > 1 && a < in.d {
					preds[w] |= 1 << i
				}
			}
		}
	}
	for m := stores; m != 0; m &= m - 1 {
		i := bits.TrailingZeros32(m)
		preds[i] |= loads
		for o := stores; o != 0; o &= o - 1 {
			if j := bits.TrailingZeros32(o); ins[j].slot < ins[i].slot {
				preds[i] |= 1 << j
			}
		}
	}

	var homes [32]instr
	nHomes := 0
	staging := uint16(ScratchWords)
	last := 0
	for left := uint32(1)<<len(ins) - 1; left != 0; {
		// Continuing from the last instruction taken finishes one kind before the next begins.
		i := ready(&preds, left, left&^(1<<last-1))
		if i < 0 {
			i = ready(&preds, left, left)
		}
		if i >= 0 {
			out = append(out, ins[i])
			left &^= 1 << i
			last = i
			continue
		}
		// A cycle. The first remaining instruction writes to staging words, which no other instruction reads. It does write: an
		// instruction that waits and does not write is a store, and then a load before it remains too.
		i = bits.TrailingZeros32(left)
		homes[nHomes], staging = ins[i].stage(staging)
		nHomes++
		preds[i] = 0
		last = i
	}
	return append(out, homes[:nHomes]...)
}

// operand returns the address that is operand k.
func (in *instr) operand(k uint16) uint16 {
	switch k {
	case 0:
		return in.d
	case 1:
		return in.a
	case 2:
		return in.b
	}
	return in.c
}

// ready returns the first of the set that has no predecessor left, or -1.
func ready(preds *[32]uint32, left, set uint32) int {
	for ; set != 0; set &= set - 1 {
		if i := bits.TrailingZeros32(set); preds[i]&left == 0 {
			return i
		}
	}
	return -1
}

// before orders instructions by kind, then by engine and slot.
func (in *instr) before(o *instr) bool {
	if in.op != o.op {
		return in.op < o.op
	}
	return in.slot < o.slot
}

// stage redirects the instruction's write to the staging words from free on, and returns the instruction that moves it to its
// destination and the next free word.
func (in *instr) stage(free uint16) (home instr, next uint16) {
	n := shapes[in.op].writes
	home = instr{op: opMove, d: in.d, a: free, engine: in.engine, slot: in.slot}
	if n == VLen {
		home.op = opVMove
	}
	in.d = free
	return home, free + n
}

// stageAll appends the instructions of a bundle with every write staged, then the moves in the order in
// which writes land. Stores land last of all, in order, and nothing of the bundle reads after them.
func stageAll(out, ins []instr) []instr {
	for i := 1; i < len(ins); i++ {
		for j := i; j > 0 && (ins[j].engine < ins[j-1].engine || ins[j].engine == ins[j-1].engine && ins[j].slot < ins[j-1].slot); j-- {
			ins[j], ins[j-1] = ins[j-1], ins[j]
		}
	}
	var homes [32]instr
	n := 0
	staging := uint16(ScratchWords)
	for _, in := range ins {
		if shapes[in.op].writes > 0 {
			homes[n], staging = in.stage(staging)
			n++
		}
		out = append(out, in)
	}
	return append(out, homes[:n]...)
}
