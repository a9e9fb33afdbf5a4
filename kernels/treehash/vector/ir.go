package vector

import "tune/sim"

// reg is a virtual register: a vector of 8 words or a single word. The graph is in static single assignment
// form but for vectors that are written lane by lane, whose writers are all definitions of it.
type reg int32

// operand is a register that an operation reads: the whole of it, or one lane of a vector.
type operand struct {
	reg  reg
	lane int8 // -1 for the whole register
}

func whole(r reg) operand { return operand{r, -1} }

// op is one operation on virtual registers. It is executed as `units` slots: 1, or the 8 lanes of a gather or of
// an arithmetic operation that was moved to the scalar engine.
type op struct {
	code  sim.Op // of the slot; the vector form until the lanes are emitted
	place place  // which engine executes it
	units uint8
	nsrc  uint8
	dst   operand // reg -1 where it writes no register
	src   [3]operand
	imm   uint32
	// group and round say whose work it is. What all groups share bears those of its first use.
	group, round int16
	shared       bool
}

// place is an operation's engine. The choice pass turns some onVALU into onEither or onLanes.
type place uint8

const (
	onALU    place = iota // one scalar slot
	onVALU                // one vector slot
	onLanes               // 8 scalar slots, one a lane
	onEither              // a vector slot, or 8 scalar ones where the vector slots of a cycle are taken
	onLoad
	onStore
	onFlow
)

// graph is the program as operations with true dependences.
type graph struct {
	ops   []op
	width []uint8 // words of each register
	// def is the operation that writes each register, or -1. The few registers that several operations
	// write, lane by lane, have the others in moreDefs.
	def      []int32
	moreDefs map[reg][]int32
	names    []name
	// after holds ordering edges that no register carries: {before, after}.
	after [][2]int32
}

func (g *graph) newReg(words uint8) reg {
	g.width = append(g.width, words)
	g.def = append(g.def, -1)
	return reg(len(g.width) - 1)
}

// add appends an operation and returns its number.
func (g *graph) add(o op) int32 {
	n := int32(len(g.ops))
	if o.units == 0 {
		o.units = 1
	}
	g.ops = append(g.ops, o)
	if r := o.dst.reg; r >= 0 {
		if g.def[r] < 0 {
			g.def[r] = n
		} else {
			if g.moreDefs == nil {
				g.moreDefs = map[reg][]int32{}
			}
			g.moreDefs[r] = append(g.moreDefs[r], n)
		}
	}
	return n
}

// name says what a register that lives long holds, for traces.
type name struct {
	reg  reg
	text string
}

// edges lists the successors of every operation, in a compact form: those of op i are
// list[start[i]:start[i+1]]. preds counts the predecessors.
type edges struct {
	start, list, preds []int32
}

func (g *graph) edges() edges {
	n := len(g.ops)
	e := edges{start: make([]int32, n+1), preds: make([]int32, n)}
	visit := func(f func(from, to int32)) {
		for i := range g.ops {
			o := &g.ops[i]
			for s := range int(o.nsrc) {
				r := o.src[s].reg
				f(g.def[r], int32(i))
				for _, d := range g.moreDefs[r] {
					f(d, int32(i))
				}
			}
		}
		for _, a := range g.after {
			f(a[0], a[1])
		}
	}
	visit(func(from, to int32) {
		e.start[from+1]++
		e.preds[to]++
	})
	for i := range n {
		e.start[i+1] += e.start[i]
	}
	e.list = make([]int32, e.start[n])
	next := make([]int32, n)
	copy(next, e.start[:n])
	visit(func(from, to int32) {
		e.list[next[from]] = to
		next[from]++
	})
	return e
}

// heights returns for each operation the length in cycles of the longest chain that begins with it.
func (g *graph) heights(e edges) []int32 {
	h := make([]int32, len(g.ops))
	// Operations are added after what they read, so a walk from the back sees successors first; ordering
	// edges run forwards too.
	for i := len(g.ops) - 1; i >= 0; i-- {
		best := int32(0)
		for _, s := range e.list[e.start[i]:e.start[i+1]] {
			best = max(best, h[s])
		}
		h[i] = best + 1
	}
	return h
}
