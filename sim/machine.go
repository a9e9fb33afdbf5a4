package sim

import "fmt"

// DefaultCycles is the cycle limit of a run that sets none.
const DefaultCycles = 10_000_000

// Limits bounds a run.
type Limits struct {
	// Cycles is the most cycles that the run may take; 0 or less stands for DefaultCycles.
	Cycles int
	// Pause makes a pause return control to the caller. Otherwise a pause costs its cycle and has no
	// effect.
	Pause bool
}

func (l Limits) cycles() int {
	if l.Cycles <= 0 {
		return DefaultCycles
	}
	return l.Cycles
}

// Result is how far a run has come.
type Result struct {
	Cycles int  // since the start
	Pauses int  // pauses executed since the start
	Paused bool // the run stands at a pause and may be resumed
	// Trace holds the words that trace_write appended since the start. It belongs to the machine and is overwritten by the next
	// run.
	Trace []uint32
}

// Machine runs programs, one at a time. It may be used repeatedly, and then allocates nothing. The zero value is ready. A machine
// belongs to one goroutine.
type Machine struct {
	regs   [fileWords + VLen]uint32 // scratch and staging words; the last few are never used
	trace  []uint32
	code   *Code
	mem    []uint32
	visits []int // counts the executions of each bundle, where it is not nil
	limit  int
	pause  bool
	pc     int // step to execute next
	cycles int
	pauses int
	paused bool
}

// NewMachine returns a machine.
func NewMachine() *Machine { return new(Machine) }

// Run executes code from its first bundle on zeroed scratch. mem is the memory, which Run changes. The error is a *Fault; the
// state of memory and scratch is then unspecified.
func (m *Machine) Run(code *Code, mem []uint32, lim Limits) (Result, error) {
	m.start(code, mem, lim)
	return m.finish(m.exec(m.limit))
}

// Resume continues a paused run. Its result counts from the start of the run. On a machine that is not
// paused it does nothing.
func (m *Machine) Resume() (Result, error) {
	if !m.paused {
		return m.result(), nil
	}
	m.paused = false
	return m.finish(m.exec(m.limit))
}

// Profile runs code like Run and counts how often each bundle was executed. A bundle that costs no cycle
// is never counted, and pauses do not return control.
func (m *Machine) Profile(code *Code, mem []uint32, lim Limits) (Result, []int, error) {
	lim.Pause = false
	m.start(code, mem, lim)
	visits := make([]int, code.Bundles())
	m.visits = visits
	res, err := m.finish(m.exec(m.limit))
	return res, visits, err
}

// Scratch returns the words of scratch as the last run left them. They are the machine's own.
func (m *Machine) Scratch() []uint32 { return m.regs[:ScratchWords:ScratchWords] }

func (m *Machine) start(code *Code, mem []uint32, lim Limits) {
	clear(m.regs[:ScratchWords])
	m.trace = m.trace[:0]
	m.code, m.mem, m.visits = code, mem, nil
	m.limit, m.pause = lim.cycles(), lim.Pause
	m.pc, m.cycles, m.pauses, m.paused = 0, 0, 0, false
}

// finish releases what only a paused run needs.
func (m *Machine) finish(err error) (Result, error) {
	if !m.paused {
		m.code, m.mem, m.visits = nil, nil, nil
	}
	return m.result(), err
}

func (m *Machine) result() Result {
	return Result{Cycles: m.cycles, Pauses: m.pauses, Paused: m.paused, Trace: m.trace}
}

// fault returns the fault of an instruction.
//
//go:noinline
func (m *Machine) fault(s *step, in *instr, format string, args ...any) *Fault {
	return &Fault{Bundle: int(s.bundle), Engine: in.engine, Slot: int(in.slot), Cycle: m.cycles, Reason: fmt.Sprintf(format, args...)}
}

// outside returns the fault of a memory access to n words from addr.
//
//go:noinline
func (m *Machine) outside(s *step, in *instr, n int, addr uint32) *Fault {
	if n == 1 {
		return m.fault(s, in, "memory address %d is out of range: memory has %d words", addr, len(m.mem))
	}
	return m.fault(s, in, "memory addresses from %d to %d are out of range: memory has %d words", addr, uint64(addr)+uint64(n)-1, len(m.mem))
}

//go:noinline
func (m *Machine) divisionByZero(s *step, in *instr) *Fault {
	return m.fault(s, in, "division by zero in %s", in.op)
}

// follow runs code one bundle at a time and calls before and after around each, where they are not nil,
// with its number. It ends quietly after the given number of cycles, if that is not 0.
func (m *Machine) follow(code *Code, mem []uint32, lim Limits, cycles int, before, after func(bundle int)) (Result, error) {
	lim.Pause = false
	m.start(code, mem, lim)
	for m.pc < len(code.steps) && (cycles == 0 || m.cycles < cycles) {
		bundle, done := int(code.steps[m.pc].bundle), m.cycles
		if before != nil {
			before(bundle)
		}
		err := m.exec(m.cycles + 1)
		if after != nil && m.cycles > done {
			after(bundle)
		}
		if err != nil {
			return m.finish(err)
		}
	}
	return m.finish(nil)
}
