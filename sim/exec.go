package sim

import "fmt"

// exec runs the machine until the program ends, a pause returns control, or the run has taken stop cycles.
// Taking more cycles than the run's limit is a fault.
//
// Long because every operation is a case of one switch in one loop: a call for each would cost more than most of them do.
func (m *Machine) exec(stop int) error {
	code, regs, mem := m.code, &m.regs, m.mem
	for uint(m.pc) < uint(len(code.steps)) {
		s := &code.steps[m.pc]
		if m.cycles >= stop {
			if m.cycles < m.limit {
				return nil
			}
			return &Fault{
				Bundle: int(s.bundle), Engine: s.engine, Slot: int(s.slot), Cycle: m.cycles,
				Reason: fmt.Sprintf("the run takes more than its limit of %d cycles", m.limit),
			}
		}
		word := regs[s.reg&fileMask]
		ins := code.instrs[s.start:s.end]
		for i := range ins {
			in := &ins[i]
			switch in.op {
			case OpAdd:
				regs[in.d&fileMask] = regs[in.a&fileMask] + regs[in.b&fileMask]
			case OpSub:
				regs[in.d&fileMask] = regs[in.a&fileMask] - regs[in.b&fileMask]
			case OpMul:
				regs[in.d&fileMask] = regs[in.a&fileMask] * regs[in.b&fileMask]
			case OpDiv:
				b := regs[in.b&fileMask]
				if b == 0 {
					return m.divisionByZero(s, in)
				}
				regs[in.d&fileMask] = regs[in.a&fileMask] / b
			case OpCDiv:
				b := regs[in.b&fileMask]
				if b == 0 {
					return m.divisionByZero(s, in)
				}
				regs[in.d&fileMask] = cdiv(regs[in.a&fileMask], b)
			case OpXor:
				regs[in.d&fileMask] = regs[in.a&fileMask] ^ regs[in.b&fileMask]
			case OpAnd:
				regs[in.d&fileMask] = regs[in.a&fileMask] & regs[in.b&fileMask]
			case OpOr:
				regs[in.d&fileMask] = regs[in.a&fileMask] | regs[in.b&fileMask]
			case OpShl:
				regs[in.d&fileMask] = regs[in.a&fileMask] << regs[in.b&fileMask]
			case OpShr:
				regs[in.d&fileMask] = regs[in.a&fileMask] >> regs[in.b&fileMask]
			case OpMod:
				b := regs[in.b&fileMask]
				if b == 0 {
					return m.divisionByZero(s, in)
				}
				regs[in.d&fileMask] = regs[in.a&fileMask] % b
			case OpLt:
				regs[in.d&fileMask] = lt(regs[in.a&fileMask], regs[in.b&fileMask])
			case OpEq:
				regs[in.d&fileMask] = eq(regs[in.a&fileMask], regs[in.b&fileMask])

			case OpVAdd:
				d, a, b := lanes(regs, in.d), lanes(regs, in.a), lanes(regs, in.b)
				d[0] = a[0] + b[0]
				d[1] = a[1] + b[1]
				d[2] = a[2] + b[2]
				d[3] = a[3] + b[3]
				d[4] = a[4] + b[4]
				d[5] = a[5] + b[5]
				d[6] = a[6] + b[6]
				d[7] = a[7] + b[7]
			case OpVSub:
				d, a, b := lanes(regs, in.d), lanes(regs, in.a), lanes(regs, in.b)
				d[0] = a[0] - b[0]
				d[1] = a[1] - b[1]
				d[2] = a[2] - b[2]
				d[3] = a[3] - b[3]
				d[4] = a[4] - b[4]
				d[5] = a[5] - b[5]
				d[6] = a[6] - b[6]
				d[7] = a[7] - b[7]
			case OpVMul:
				d, a, b := lanes(regs, in.d), lanes(regs, in.a), lanes(regs, in.b)
				d[0] = a[0] * b[0]
				d[1] = a[1] * b[1]
				d[2] = a[2] * b[2]
				d[3] = a[3] * b[3]
				d[4] = a[4] * b[4]
				d[5] = a[5] * b[5]
				d[6] = a[6] * b[6]
				d[7] = a[7] * b[7]
			case OpVDiv:
				d, a, b := lanes(regs, in.d), lanes(regs, in.a), lanes(regs, in.b)
				for i := range d {
					if b[i] == 0 {
						return m.divisionByZero(s, in)
					}
					d[i] = a[i] / b[i]
				}
			case OpVCDiv:
				d, a, b := lanes(regs, in.d), lanes(regs, in.a), lanes(regs, in.b)
				for i := range d {
					if b[i] == 0 {
						return m.divisionByZero(s, in)
					}
					d[i] = cdiv(a[i], b[i])
				}
			case OpVXor:
				d, a, b := lanes(regs, in.d), lanes(regs, in.a), lanes(regs, in.b)
				d[0] = a[0] ^ b[0]
				d[1] = a[1] ^ b[1]
				d[2] = a[2] ^ b[2]
				d[3] = a[3] ^ b[3]
				d[4] = a[4] ^ b[4]
				d[5] = a[5] ^ b[5]
				d[6] = a[6] ^ b[6]
				d[7] = a[7] ^ b[7]
			case OpVAnd:
				d, a, b := lanes(regs, in.d), lanes(regs, in.a), lanes(regs, in.b)
				d[0] = a[0] & b[0]
				d[1] = a[1] & b[1]
				d[2] = a[2] & b[2]
				d[3] = a[3] & b[3]
				d[4] = a[4] & b[4]
				d[5] = a[5] & b[5]
				d[6] = a[6] & b[6]
				d[7] = a[7] & b[7]
			case OpVOr:
				d, a, b := lanes(regs, in.d), lanes(regs, in.a), lanes(regs, in.b)
				d[0] = a[0] | b[0]
				d[1] = a[1] | b[1]
				d[2] = a[2] | b[2]
				d[3] = a[3] | b[3]
				d[4] = a[4] | b[4]
				d[5] = a[5] | b[5]
				d[6] = a[6] | b[6]
				d[7] = a[7] | b[7]
			case OpVShl:
				d, a, b := lanes(regs, in.d), lanes(regs, in.a), lanes(regs, in.b)
				d[0] = a[0] << b[0]
				d[1] = a[1] << b[1]
				d[2] = a[2] << b[2]
				d[3] = a[3] << b[3]
				d[4] = a[4] << b[4]
				d[5] = a[5] << b[5]
				d[6] = a[6] << b[6]
				d[7] = a[7] << b[7]
			case OpVShr:
				d, a, b := lanes(regs, in.d), lanes(regs, in.a), lanes(regs, in.b)
				d[0] = a[0] >> b[0]
				d[1] = a[1] >> b[1]
				d[2] = a[2] >> b[2]
				d[3] = a[3] >> b[3]
				d[4] = a[4] >> b[4]
				d[5] = a[5] >> b[5]
				d[6] = a[6] >> b[6]
				d[7] = a[7] >> b[7]
			case OpVMod:
				d, a, b := lanes(regs, in.d), lanes(regs, in.a), lanes(regs, in.b)
				for i := range d {
					if b[i] == 0 {
						return m.divisionByZero(s, in)
					}
					d[i] = a[i] % b[i]
				}
			case OpVLt:
				d, a, b := lanes(regs, in.d), lanes(regs, in.a), lanes(regs, in.b)
				for i := range d {
					d[i] = lt(a[i], b[i])
				}
			case OpVEq:
				d, a, b := lanes(regs, in.d), lanes(regs, in.a), lanes(regs, in.b)
				for i := range d {
					d[i] = eq(a[i], b[i])
				}
			case OpVBroadcast:
				a := regs[in.a&fileMask]
				*lanes(regs, in.d) = [VLen]uint32{a, a, a, a, a, a, a, a}
			case OpMultiplyAdd:
				d, a, b, c := lanes(regs, in.d), lanes(regs, in.a), lanes(regs, in.b), lanes(regs, in.c)
				d[0] = a[0]*b[0] + c[0]
				d[1] = a[1]*b[1] + c[1]
				d[2] = a[2]*b[2] + c[2]
				d[3] = a[3]*b[3] + c[3]
				d[4] = a[4]*b[4] + c[4]
				d[5] = a[5]*b[5] + c[5]
				d[6] = a[6]*b[6] + c[6]
				d[7] = a[7]*b[7] + c[7]

			case OpLoad:
				addr := regs[in.a&fileMask]
				if uint64(addr) >= uint64(len(mem)) {
					return m.outside(s, in, 1, addr)
				}
				regs[in.d&fileMask] = mem[addr]
			case OpVLoad:
				addr := regs[in.a&fileMask]
				if uint64(addr)+VLen > uint64(len(mem)) {
					return m.outside(s, in, VLen, addr)
				}
				*lanes(regs, in.d) = [VLen]uint32(mem[addr:])
			case OpConst:
				regs[in.d&fileMask] = in.imm

			case OpStore:
				addr := regs[in.d&fileMask]
				if uint64(addr) >= uint64(len(mem)) {
					return m.outside(s, in, 1, addr)
				}
				mem[addr] = regs[in.a&fileMask]
			case OpVStore:
				addr := regs[in.d&fileMask]
				if uint64(addr)+VLen > uint64(len(mem)) {
					return m.outside(s, in, VLen, addr)
				}
				*(*[VLen]uint32)(mem[addr:]) = *lanes(regs, in.a)

			case OpSelect:
				v := in.c
				if regs[in.a&fileMask] != 0 {
					v = in.b
				}
				regs[in.d&fileMask] = regs[v&fileMask]
			case OpVSelect:
				d, c, a, b := lanes(regs, in.d), lanes(regs, in.a), lanes(regs, in.b), lanes(regs, in.c)
				for i := range d {
					v := b[i]
					if c[i] != 0 {
						v = a[i]
					}
					d[i] = v
				}
			case OpAddImm:
				regs[in.d&fileMask] = regs[in.a&fileMask] + in.imm

			case opMove:
				regs[in.d&fileMask] = regs[in.a&fileMask]
			case opVMove:
				*lanes(regs, in.d) = *lanes(regs, in.a)
			}
		}

		if m.visits != nil {
			m.visits[s.bundle]++
		}
		m.cycles++
		m.pc++
		switch s.ctl {
		case fallThrough:
		case halt:
			m.pc = len(code.steps)
		case pause:
			m.pauses++
			if m.pause {
				m.paused = true
				return nil
			}
		case traceWrite:
			m.trace = append(m.trace, word)
		case jump:
			m.pc = int(s.target)
		case condJump:
			if word != 0 {
				m.pc = int(s.target)
			}
		case jumpIndirect:
			if uint64(word) >= uint64(len(code.stepAt)) {
				return &Fault{
					Bundle: int(s.bundle), Engine: Flow, Cycle: m.cycles - 1,
					Reason: fmt.Sprintf("jump_indirect to bundle %d, and the program has %d", word, code.Bundles()),
				}
			}
			m.pc = int(code.stepAt[word])
		}
	}
	return nil
}

// lanes returns the vector that begins at word i.
func lanes(regs *[fileWords + VLen]uint32, i uint16) *[VLen]uint32 {
	j := int(i) & fileMask
	return (*[VLen]uint32)(regs[j : j+VLen])
}

// cdiv returns a/b rounded up; b is not 0.
func cdiv(a, b uint32) uint32 {
	q := a / b
	if q*b != a {
		q++
	}
	return q
}

func lt(a, b uint32) uint32 {
	if a < b {
		return 1
	}
	return 0
}

func eq(a, b uint32) uint32 {
	if a == b {
		return 1
	}
	return 0
}
