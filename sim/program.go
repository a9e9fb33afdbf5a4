package sim

import "encoding/json"

// Sizes of the machine, in 32-bit words.
const (
	ScratchWords = 1536 // the register file
	VLen         = 8    // words of a vector operand
)

// Engine is one of the machine's functional units.
type Engine uint8

// The engines, in the order in which their writes land.
const (
	ALU Engine = iota
	VALU
	Load
	Store
	Flow
	Debug
	NumEngines = iota
)

var engineNames = [NumEngines]string{"alu", "valu", "load", "store", "flow", "debug"}

// SlotLimit is the number of slots that each engine has in one cycle.
var SlotLimit = [NumEngines]int{ALU: 12, VALU: 6, Load: 2, Store: 2, Flow: 1, Debug: 64}

// String returns the engine's name in the exchange format.
func (e Engine) String() string {
	if int(e) < len(engineNames) {
		return engineNames[e]
	}
	return "engine?"
}

// Op is an operation. An operation belongs to one engine: the vector form of an arithmetic operation is
// another Op than its scalar form.
type Op uint8

// The operations. The zero value is none.
const (
	OpNone Op = iota

	// alu: d a b
	OpAdd
	OpSub
	OpMul
	OpDiv
	OpCDiv
	OpXor
	OpAnd
	OpOr
	OpShl
	OpShr
	OpMod
	OpLt
	OpEq

	// valu: the same lane by lane, in the same order
	OpVAdd
	OpVSub
	OpVMul
	OpVDiv
	OpVCDiv
	OpVXor
	OpVAnd
	OpVOr
	OpVShl
	OpVShr
	OpVMod
	OpVLt
	OpVEq
	OpVBroadcast  // d a
	OpMultiplyAdd // d a b c

	OpLoad       // d a
	OpLoadOffset // d a k(imm)
	OpVLoad      // d a
	OpConst      // d imm

	OpStore  // a s
	OpVStore // a s

	OpSelect       // d c a b
	OpVSelect      // d c a b
	OpAddImm       // d a imm
	OpHalt         //
	OpPause        //
	OpTraceWrite   // a
	OpCoreID       // d
	OpCondJump     // c imm
	OpCondJumpRel  // c imm
	OpJump         // imm
	OpJumpIndirect // a

	NumOps = iota
)

// role says what an operand is.
type role uint8

const (
	none role = iota
	dst       // scratch word written
	dstV      // 8 scratch words written
	src       // scratch word read
	srcV      // 8 scratch words read
	imm       // immediate
	dstK      // load_offset: the word k past the operand is written
	srcK      // load_offset: the word k past the operand is read
)

type opInfo struct {
	name   string
	engine Engine
	roles  [4]role
}

var (
	aluRoles  = [4]role{dst, src, src}
	valuRoles = [4]role{dstV, srcV, srcV}
)

var ops = [NumOps]opInfo{
	OpAdd: {"+", ALU, aluRoles}, OpSub: {"-", ALU, aluRoles}, OpMul: {"*", ALU, aluRoles},
	OpDiv: {"//", ALU, aluRoles}, OpCDiv: {"cdiv", ALU, aluRoles}, OpXor: {"^", ALU, aluRoles},
	OpAnd: {"&", ALU, aluRoles}, OpOr: {"|", ALU, aluRoles}, OpShl: {"<<", ALU, aluRoles},
	OpShr: {">>", ALU, aluRoles}, OpMod: {"%", ALU, aluRoles}, OpLt: {"<", ALU, aluRoles},
	OpEq: {"==", ALU, aluRoles},

	OpVAdd: {"+", VALU, valuRoles}, OpVSub: {"-", VALU, valuRoles}, OpVMul: {"*", VALU, valuRoles},
	OpVDiv: {"//", VALU, valuRoles}, OpVCDiv: {"cdiv", VALU, valuRoles}, OpVXor: {"^", VALU, valuRoles},
	OpVAnd: {"&", VALU, valuRoles}, OpVOr: {"|", VALU, valuRoles}, OpVShl: {"<<", VALU, valuRoles},
	OpVShr: {">>", VALU, valuRoles}, OpVMod: {"%", VALU, valuRoles}, OpVLt: {"<", VALU, valuRoles},
	OpVEq:         {"==", VALU, valuRoles},
	OpVBroadcast:  {"vbroadcast", VALU, [4]role{dstV, src}},
	OpMultiplyAdd: {"multiply_add", VALU, [4]role{dstV, srcV, srcV, srcV}},

	OpLoad:       {"load", Load, [4]role{dst, src}},
	OpLoadOffset: {"load_offset", Load, [4]role{dstK, srcK, imm}},
	OpVLoad:      {"vload", Load, [4]role{dstV, src}},
	OpConst:      {"const", Load, [4]role{dst, imm}},

	OpStore:  {"store", Store, [4]role{src, src}},
	OpVStore: {"vstore", Store, [4]role{src, srcV}},

	OpSelect:       {"select", Flow, [4]role{dst, src, src, src}},
	OpVSelect:      {"vselect", Flow, [4]role{dstV, srcV, srcV, srcV}},
	OpAddImm:       {"add_imm", Flow, [4]role{dst, src, imm}},
	OpHalt:         {"halt", Flow, [4]role{}},
	OpPause:        {"pause", Flow, [4]role{}},
	OpTraceWrite:   {"trace_write", Flow, [4]role{src}},
	OpCoreID:       {"coreid", Flow, [4]role{dst}},
	OpCondJump:     {"cond_jump", Flow, [4]role{src, imm}},
	OpCondJumpRel:  {"cond_jump_rel", Flow, [4]role{src, imm}},
	OpJump:         {"jump", Flow, [4]role{imm}},
	OpJumpIndirect: {"jump_indirect", Flow, [4]role{src}},
}

// Engine returns the engine that executes the operation.
func (o Op) Engine() Engine { return ops[o].engine }

// String returns the operation's name in the exchange format.
func (o Op) String() string {
	if o == OpNone || int(o) >= NumOps {
		return "op?"
	}
	return ops[o].name
}

// Slot is one operation with its operands, destination first as in the exchange format. Immediates are
// stored mod 2^32; unused operands are 0.
type Slot struct {
	Op   Op
	Args [4]uint32
}

// Span is a range of scratch words.
type Span struct {
	Addr, N uint32
}

// Writes returns the scratch words that the slot writes; N is 0 where it writes none.
func (s Slot) Writes() Span {
	switch ops[s.Op].roles[0] {
	case dst:
		return Span{s.Args[0], 1}
	case dstV:
		return Span{s.Args[0], VLen}
	case dstK:
		return Span{s.Args[0] + s.Args[2], 1}
	}
	return Span{}
}

// Reads returns the scratch words that the slot reads: the first n spans of r.
func (s Slot) Reads() (r [3]Span, n int) {
	for i, ro := range ops[s.Op].roles {
		switch ro {
		case src:
			r[n] = Span{s.Args[i], 1}
		case srcV:
			r[n] = Span{s.Args[i], VLen}
		case srcK:
			r[n] = Span{s.Args[i] + s.Args[2], 1}
		default:
			continue
		}
		n++
	}
	return r, n
}

// Bundle is what the machine executes in one cycle.
type Bundle struct {
	// Slots may stand in any order; the slots of one engine keep theirs.
	Slots []Slot
	// Named has a bit (1 << engine) for each engine that the exchange format names with an empty
	// list. Such a bundle costs its cycle.
	Named uint8
	// Debug holds the debug slots as they were read. They do nothing.
	Debug []json.RawMessage
}

// NamedRange gives a name to a range of scratch, for traces.
type NamedRange struct {
	Name string
	Span Span
}

// Program is a list of bundles. Execution begins with the first.
type Program struct {
	Bundles []Bundle
	// Names are optional names of scratch ranges; they are not part of the exchange format.
	Names []NamedRange
}
