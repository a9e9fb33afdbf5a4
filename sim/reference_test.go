package sim

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// reference executes programs in the plainest way: every slot of a bundle reads the state before it, and
// the writes wait in lists until the bundle is done.
type reference struct {
	p       *Program
	scratch [ScratchWords]uint32
	mem     []uint32
	trace   []uint32
	visits  []int
	pc      int
	cycles  int
	pauses  int
}

type write struct{ addr, value uint32 }

// run executes the program, of which Decode must have approved. It returns the faults of the bundle that
// ended the run, in the order of engines and slots, or none.
func (r *reference) run(limit int) []Fault {
	r.visits = make([]int, len(r.p.Bundles))
	for r.pc < len(r.p.Bundles) {
		i := r.pc
		b := r.p.Bundles[i]
		if len(b.Slots) == 0 && b.Named&^(1<<Debug) == 0 {
			r.pc++
			continue
		}
		if r.cycles == limit {
			return []Fault{{Bundle: i, Cycle: r.cycles, Reason: "limit"}}
		}
		r.pc++
		next := r.pc
		r.visits[i]++
		var scratch, mem []write
		var faults []Fault
		var paused bool
		for e := range Engine(NumEngines) {
			slot := 0
			for _, s := range b.Slots {
				if s.Op.Engine() != e {
					continue
				}
				sw, mw, err := r.slot(s, i, &next)
				if err != nil {
					faults = append(faults, Fault{Bundle: i, Engine: e, Slot: slot, Cycle: r.cycles, Reason: err.Error()})
				}
				scratch, mem = append(scratch, sw...), append(mem, mw...)
				switch s.Op {
				case OpPause:
					paused = true
				case OpTraceWrite:
					r.trace = append(r.trace, r.scratch[s.Args[0]])
				}
				slot++
			}
		}
		if len(faults) > 0 {
			return faults
		}
		for _, w := range scratch {
			r.scratch[w.addr] = w.value
		}
		for _, w := range mem {
			r.mem[w.addr] = w.value
		}
		r.cycles++
		if paused {
			r.pauses++
		}
		r.pc = next
	}
	return nil
}

// slot returns what a slot of bundle i writes to scratch and to memory, and sets next where it jumps.
func (r *reference) slot(s Slot, i int, next *int) (scratch, mem []write, err error) {
	x := func(k int) uint32 { return r.scratch[s.Args[k]] }
	set := func(addr, v uint32) { scratch = append(scratch, write{addr, v}) }
	load := func(addr uint64) uint32 {
		if addr >= uint64(len(r.mem)) {
			err = fmt.Errorf("address")
			return 0
		}
		return r.mem[addr]
	}
	store := func(addr uint64, v uint32) {
		if addr >= uint64(len(r.mem)) {
			err = fmt.Errorf("address")
			return
		}
		mem = append(mem, write{uint32(addr), v})
	}
	switch a := s.Args; s.Op {
	case OpVBroadcast:
		for k := range uint32(VLen) {
			set(a[0]+k, x(1))
		}
	case OpMultiplyAdd:
		for k := range uint32(VLen) {
			set(a[0]+k, r.scratch[a[1]+k]*r.scratch[a[2]+k]+r.scratch[a[3]+k])
		}
	case OpLoad:
		set(a[0], load(uint64(x(1))))
	case OpLoadOffset:
		set(a[0]+a[2], load(uint64(r.scratch[a[1]+a[2]])))
	case OpVLoad:
		for k := range uint32(VLen) {
			set(a[0]+k, load(uint64(x(1))+uint64(k)))
		}
	case OpConst:
		set(a[0], a[1])
	case OpStore:
		store(uint64(x(0)), x(1))
	case OpVStore:
		for k := range uint32(VLen) {
			store(uint64(x(0))+uint64(k), r.scratch[a[1]+k])
		}
	case OpSelect:
		if x(1) != 0 {
			set(a[0], x(2))
		} else {
			set(a[0], x(3))
		}
	case OpVSelect:
		for k := range uint32(VLen) {
			if r.scratch[a[1]+k] != 0 {
				set(a[0]+k, r.scratch[a[2]+k])
			} else {
				set(a[0]+k, r.scratch[a[3]+k])
			}
		}
	case OpAddImm:
		set(a[0], x(1)+a[2])
	case OpCoreID:
		set(a[0], 0)
	case OpPause, OpTraceWrite:
	case OpHalt:
		*next = len(r.p.Bundles)
	case OpCondJump:
		if x(0) != 0 {
			*next = int(a[1])
		}
	case OpCondJumpRel:
		if x(0) != 0 {
			*next = i + 1 + int(int32(a[1]))
		}
	case OpJump:
		*next = int(a[0])
	case OpJumpIndirect:
		*next = int(x(0))
		if *next > len(r.p.Bundles) {
			err = fmt.Errorf("jump")
		}
	default:
		n := uint32(1)
		if s.Op.Engine() == VALU {
			n = VLen
		}
		for k := range n {
			v, e := arithmetic(s.Op.String(), uint64(r.scratch[a[1]+k]), uint64(r.scratch[a[2]+k]))
			if e != nil {
				err = e
			}
			set(a[0]+k, v)
		}
	}
	return scratch, mem, err
}

func arithmetic(op string, a, b uint64) (uint32, error) {
	truth := map[bool]uint32{true: 1}
	switch op {
	case "+":
		return uint32(a + b), nil
	case "-":
		return uint32(a - b), nil
	case "*":
		return uint32(a * b), nil
	case "^":
		return uint32(a ^ b), nil
	case "&":
		return uint32(a & b), nil
	case "|":
		return uint32(a | b), nil
	case "<<":
		return uint32(a << b), nil
	case ">>":
		return uint32(a >> b), nil
	case "<":
		return truth[a < b], nil
	case "==":
		return truth[a == b], nil
	}
	if b == 0 {
		return 0, fmt.Errorf("division")
	}
	switch op {
	case "//":
		return uint32(a / b), nil
	case "cdiv":
		return uint32((a + b - 1) / b), nil
	case "%":
		return uint32(a % b), nil
	}
	panic("no arithmetic " + op)
}

// Random programs keep small constants, none of them 0, in these words, so that most of their addresses,
// divisors and shifts are in range. Their other operands lie in few words, so that slots collide often.
const (
	steadyWord  = 100
	steadyWords = 24
	memWords    = 48
	busyWords   = 40
)

// genProgram draws a program that Decode accepts. Jumps is how many bundles in eight may jump.
func genProgram(t *rapid.T, jumps int) *Program {
	p := &Program{}
	for i := range uint32(steadyWords / 2) {
		p.Bundles = append(p.Bundles, Bundle{Slots: []Slot{
			{Op: OpConst, Args: [4]uint32{steadyWord + 2*i, 1 + 7*i%40}},
			{Op: OpConst, Args: [4]uint32{steadyWord + 2*i + 1, 1 + 11*i%40}},
		}})
	}
	n := rapid.IntRange(0, 12).Draw(t, "bundles")
	last := uint32(len(p.Bundles) + n)
	for i := range n {
		p.Bundles = append(p.Bundles, genBundle(t, uint32(len(p.Bundles)), last, rapid.IntRange(1, 8).Draw(t, fmt.Sprint("jump", i)) <= jumps))
	}
	return p
}

func genBundle(t *rapid.T, at, last uint32, jump bool) Bundle {
	var b Bundle
	word := rapid.Uint32Range(0, busyWords-1)
	// Nearly all draws of a steady word are one; the rest go anywhere, to provoke faults.
	steady := func(n uint32) uint32 {
		if rapid.IntRange(0, 60).Draw(t, "wild") == 0 {
			return word.Draw(t, "word")
		}
		return rapid.Uint32Range(steadyWord, steadyWord+steadyWords-n).Draw(t, "steady")
	}
	// Half of the bundles write no word twice.
	distinct := rapid.Bool().Draw(t, "distinct")
	var written [ScratchWords]bool
	most := rapid.IntRange(1, 12).Draw(t, "most")
	anyImm := rapid.OneOf(rapid.Uint32Range(0, 50), rapid.Uint32())
	for e := range Engine(Debug) {
		n := rapid.IntRange(0, min(most, SlotLimit[e])).Draw(t, e.String())
		if n == 0 && rapid.IntRange(0, 9).Draw(t, "named") == 0 {
			b.Named |= 1 << e
		}
		for range n {
			op := rapid.SampledFrom(opsOf(e, jump)).Draw(t, "op")
			s := Slot{Op: op}
			for k, r := range ops[op].roles {
				switch r {
				case none:
				case imm:
					s.Args[k] = anyImm.Draw(t, "imm")
				default:
					s.Args[k] = word.Draw(t, "word")
				}
			}
			switch op {
			case OpDiv, OpCDiv, OpMod:
				s.Args[2] = steady(1)
			case OpVDiv, OpVCDiv, OpVMod:
				s.Args[2] = steady(VLen)
			case OpLoad, OpVLoad:
				s.Args[1] = steady(1)
			case OpLoadOffset:
				s.Args[2] = rapid.Uint32Range(0, 7).Draw(t, "k")
				s.Args[1] = steady(VLen)
			case OpStore, OpVStore:
				s.Args[0] = steady(1)
			case OpJump:
				s.Args[0] = rapid.Uint32Range(0, last).Draw(t, "target")
			case OpCondJump:
				s.Args[1] = rapid.Uint32Range(0, last).Draw(t, "target")
			case OpCondJumpRel:
				s.Args[1] = rapid.Uint32Range(0, last).Draw(t, "target") - at - 1
			case OpJumpIndirect:
				s.Args[0] = steady(1)
			}
			w := s.Writes()
			double := false
			for a := w.Addr; a < w.Addr+w.N; a++ {
				double = double || written[a]
				written[a] = true
			}
			if !distinct || !double {
				b.Slots = append(b.Slots, s)
			}
		}
	}
	return b
}

func opsOf(e Engine, jumps bool) (list []Op) {
	for o := OpNone + 1; o < NumOps; o++ {
		if o.Engine() == e && (jumps || o < OpHalt || o == OpPause || o == OpTraceWrite || o == OpCoreID) {
			list = append(list, o)
		}
	}
	return list
}

func genMem(t *rapid.T) []uint32 {
	return rapid.SliceOfN(rapid.Uint32(), memWords, memWords).Draw(t, "mem")
}

func TestMachineAgreesWithReference(t *testing.T) {
	m := NewMachine()
	rapid.Check(t, func(t *rapid.T) {
		p := genProgram(t, 2)
		mem := genMem(t)
		limit := rapid.IntRange(1, 200).Draw(t, "limit")
		pause := rapid.Bool().Draw(t, "pause")
		code, err := Decode(p)
		if err != nil {
			t.Fatal(err)
		}

		ref := reference{p: p, mem: append([]uint32(nil), mem...)}
		faults := ref.run(limit)
		res, err := m.Run(code, mem, Limits{Cycles: limit, Pause: pause})
		returns := 0
		for err == nil && res.Paused {
			returns++
			res, err = m.Resume()
		}
		if len(faults) > 0 {
			f, ok := err.(*Fault)
			if !ok {
				t.Fatalf("got %v, want a fault: %v", err, &faults[0])
			}
			for _, want := range faults {
				if f.Bundle == want.Bundle && f.Cycle == want.Cycle && (want.Reason == "limit" || f.Engine == want.Engine && f.Slot == want.Slot) {
					return
				}
			}
			t.Fatalf("got fault %v, want one of %v", f, faults)
		}
		if err != nil {
			t.Fatalf("got fault %v, want none", err)
		}
		if pause && returns != ref.pauses {
			t.Fatalf("%d returns, want %d", returns, ref.pauses)
		}
		want := State{Cycles: ref.cycles, Pauses: ref.pauses, Trace: ref.trace, Scratch: ref.scratch[:], Mem: ref.mem}
		if err := want.compare(State{res.Cycles, res.Pauses, res.Trace, m.Scratch(), mem}); err != nil {
			t.Fatal(err)
		}
	})
}
