package vector

import (
	"errors"
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

// interpreter executes operations on registers instead of scratch.
type interpreter struct {
	regs    [][wideWidth]uint32
	buffers [][vectorWidth]uint32 // of copies through memory: every copy has one of its own, as it has none yet
	mem     []uint32
}

// interpret executes the operations of a graph in the given order, or as they stand where order is nil. It changes mem. It
// knows nothing of cycles and engines, so that what it finds wrong is wrong in the operations or their order.
func interpret(g *graph, order []int32, mem []uint32) error {
	m := &interpreter{make([][wideWidth]uint32, len(g.width)), make([][vectorWidth]uint32, g.copies+1), mem}
	for step := range g.ops {
		i := int32(step)
		if order != nil {
			i = order[step]
		}
		if err := m.execute(&g.ops[i]); err != nil {
			return fmt.Errorf("operation %d, %v: %w", i, g.ops[i].code, err)
		}
	}
	return nil
}

func (m *interpreter) execute(o *op) error {
	switch {
	case o.place == onNone:
		return nil
	case o.buffer > 0:
		m.copy(o)
		return nil
	}
	switch o.code {
	case sim.OpLoad, sim.OpVLoad, sim.OpLoadOffset, sim.OpStore, sim.OpVStore:
		return m.access(o)
	}
	return m.compute(o)
}

// read returns a word of source k of an operation, and write changes one of its result.
func (m *interpreter) read(o *op, k, lane int) uint32 {
	return m.regs[o.src[k].reg][int(max(o.src[k].lane, 0))+lane]
}

func (m *interpreter) write(o *op, lane int, v uint32) {
	m.regs[o.dst.reg][int(max(o.dst.lane, 0))+lane] = v
}

// copy executes an operation of a copy through memory: the store of a word, or the load of all of them.
func (m *interpreter) copy(o *op) {
	buffer := &m.buffers[o.buffer]
	if o.code == sim.OpStore {
		buffer[o.src[0].lane] = m.read(o, 1, 0)
		return
	}
	for l := range sim.VLen {
		m.write(o, l, buffer[l])
	}
}

// access executes a load or a store.
func (m *interpreter) access(o *op) error {
	memory := func(addr uint32, words int) ([]uint32, error) {
		if int(addr)+words > len(m.mem) {
			return nil, fmt.Errorf("address %d is out of range: memory has %d words", addr, len(m.mem))
		}
		return m.mem[addr:][:words], nil
	}
	switch o.code {
	case sim.OpLoadOffset:
		for l := range sim.VLen {
			words, err := memory(m.read(o, 0, l), 1)
			if err != nil {
				return err
			}
			m.write(o, l, words[0])
		}
	case sim.OpStore, sim.OpVStore:
		words, err := memory(m.read(o, 0, 0), o.readWidth(1))
		if err != nil {
			return err
		}
		for l := range words {
			words[l] = m.read(o, 1, l)
		}
	default:
		words, err := memory(m.read(o, 0, 0), o.writeWidth())
		if err != nil {
			return err
		}
		for l, w := range words {
			m.write(o, l, w)
		}
	}
	return nil
}

// compute executes an operation between registers.
func (m *interpreter) compute(o *op) error {
	switch o.code {
	case sim.OpConst:
		m.write(o, 0, o.imm)
	case sim.OpAddImm:
		m.write(o, 0, m.read(o, 0, 0)+o.imm)
	case sim.OpVBroadcast:
		for l := range sim.VLen {
			m.write(o, l, m.read(o, 0, 0))
		}
	case sim.OpMultiplyAdd:
		for l := range sim.VLen {
			m.write(o, l, m.read(o, 0, l)*m.read(o, 1, l)+m.read(o, 2, l))
		}
	case sim.OpVSelect:
		for l := range sim.VLen {
			v := m.read(o, 2, l)
			if m.read(o, 0, l) != 0 {
				v = m.read(o, 1, l)
			}
			m.write(o, l, v)
		}
	default:
		code, lanes := o.code, 1
		if code.Engine() == sim.VALU {
			code, lanes = scalarForm(code), sim.VLen
		}
		f := scalarForms[code]
		if f == nil {
			return errors.New("the interpreter does not know it")
		}
		for l := range lanes {
			m.write(o, l, f(m.read(o, 0, l), m.read(o, 1, l)))
		}
	}
	return nil
}

// scalarForm returns the scalar operation of a vector one; they stand in the same order.
func scalarForm(code sim.Op) sim.Op { return code - sim.OpVAdd + sim.OpAdd }
