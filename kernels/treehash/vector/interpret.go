package vector

import (
	"fmt"

	"tune/sim"
)

// scalarForms are the functions behind the arithmetic that the generator uses, by the scalar operation.
var scalarForms = map[sim.Op]func(a, b uint32) uint32{
	sim.OpAdd: func(a, b uint32) uint32 { return a + b },
	sim.OpSub: func(a, b uint32) uint32 { return a - b },
	sim.OpMul: func(a, b uint32) uint32 { return a * b },
	sim.OpXor: func(a, b uint32) uint32 { return a ^ b },
	sim.OpAnd: func(a, b uint32) uint32 { return a & b },
	sim.OpOr:  func(a, b uint32) uint32 { return a | b },
	sim.OpShl: func(a, b uint32) uint32 { return a << b },
	sim.OpShr: func(a, b uint32) uint32 { return a >> b },
}

// interpret executes the operations of a graph on registers instead of scratch, in the given order, or as they stand
// where order is nil. It changes mem. It knows nothing of cycles and engines, so that what it finds wrong is wrong
// in the operations or their order. Every copy through memory has a buffer of its own, as it has none yet.
func interpret(g *graph, order []int32, mem []uint32) error {
	regs := make([][windowWidth + 1]uint32, len(g.width))
	buffers := make([][vectorWidth]uint32, g.copies+1)
	n := len(g.ops)
	for step := range n {
		i := int32(step)
		if order != nil {
			i = order[step]
		}
		o := &g.ops[i]
		if o.place == onNone {
			continue
		}
		read := func(k, lane int) uint32 {
			return regs[o.src[k].reg][int(max(o.src[k].lane, 0))+lane]
		}
		write := func(lane int, v uint32) { regs[o.dst.reg][int(max(o.dst.lane, 0))+lane] = v }
		if o.buffer > 0 {
			buffer, at := &buffers[o.buffer], o.src[0].lane
			if o.code == sim.OpStore {
				buffer[at] = read(1, 0)
				continue
			}
			for l := range sim.VLen {
				write(l, buffer[l])
			}
			continue
		}
		memory := func(addr uint32, words int) ([]uint32, error) {
			if int(addr)+words > len(mem) {
				return nil, fmt.Errorf("operation %d, %v: address %d is out of range: memory has %d words", i, o.code, addr, len(mem))
			}
			return mem[addr:][:words], nil
		}
		switch o.code {
		case sim.OpConst:
			write(0, o.imm)
		case sim.OpAddImm:
			write(0, read(0, 0)+o.imm)
		case sim.OpLoad, sim.OpVLoad:
			words, err := memory(read(0, 0), o.writeWidth())
			if err != nil {
				return err
			}
			for l, w := range words {
				write(l, w)
			}
		case sim.OpStore, sim.OpVStore:
			words, err := memory(read(0, 0), o.readWidth(1))
			if err != nil {
				return err
			}
			for l := range words {
				words[l] = read(1, l)
			}
		case sim.OpLoadOffset:
			for l := range sim.VLen {
				words, err := memory(read(0, l), 1)
				if err != nil {
					return err
				}
				write(l, words[0])
			}
		case sim.OpVBroadcast:
			for l := range sim.VLen {
				write(l, read(0, 0))
			}
		case sim.OpMultiplyAdd:
			for l := range sim.VLen {
				write(l, read(0, l)*read(1, l)+read(2, l))
			}
		case sim.OpVSelect:
			for l := range sim.VLen {
				v := read(2, l)
				if read(0, l) != 0 {
					v = read(1, l)
				}
				write(l, v)
			}
		default:
			code, lanes := o.code, 1
			if code.Engine() == sim.VALU {
				code, lanes = scalarForm(code), sim.VLen
			}
			f := scalarForms[code]
			if f == nil {
				return fmt.Errorf("operation %d: the interpreter does not know %v", i, o.code)
			}
			for l := range lanes {
				write(l, f(read(0, l), read(1, l)))
			}
		}
	}
	return nil
}

// scalarForm returns the scalar operation of a vector one; they stand in the same order.
func scalarForm(code sim.Op) sim.Op { return code - sim.OpVAdd + sim.OpAdd }
