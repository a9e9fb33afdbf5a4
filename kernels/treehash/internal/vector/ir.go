package vector

import "tune/sim"

// reg is a virtual register: a single word, a vector of 8 words, a window of 15, into which 8 vectors are loaded that
// overlap in all but one word, or a wide window of 22, where they overlap in all but two.
type reg int32

// The widths of registers, in words.
const (
	wordWidth   = 1
	vectorWidth = sim.VLen
	windowWidth = 2*sim.VLen - 1
	wideWidth   = 3*sim.VLen - 2
)

// kept returns how many words of a register are read for long: the words of a window behind its last whole vector are
// read only between its loads.
func kept(width uint8) int {
	if width < vectorWidth {
		return int(width)
	}
	return int(width) / vectorWidth * vectorWidth
}

// operand is a register that an operation reads or writes: the whole of it, or what begins at one of its words. How
// many words that are is the operation's business.
type operand struct {
	reg  reg
	lane int8 // -1 for the whole register
}

func whole(r reg) operand { return operand{r, -1} }

// at returns the words of a register from the given one on.
func (o operand) at(word int) operand { return operand{o.reg, int8(word)} }

var noReg = operand{reg: -1, lane: -1}

// op is one operation on virtual registers. It is executed as `units` slots: none for a fence, 1, or the 8 lanes of a
// gather or of arithmetic that goes to the scalar engine.
type op struct {
	code  sim.Op // of the slot; the vector form until the lanes are emitted
	place place  // which engine executes it
	units uint8
	nsrc  uint8
	dst   operand // reg -1 where it writes no register
	src   [3]operand
	imm   uint32
	// buffer is the number of the copy through memory that the operation is part of, from 1; 0 for none. Its first
	// source then is the address of that copy's buffer, which is assigned after the schedule.
	buffer int16
	// group and round say whose work it is. What all groups share bears those of its first use.
	group, round int16
	shared       bool
}

// place is an operation's engine. The pass that chooses engines turns onVALU into onEither.
type place uint8

const (
	onALU    place = iota // one scalar slot
	onVALU                // one vector slot
	onEither              // a vector slot, or 8 scalar ones, one a lane, maybe in different cycles
	onLoad
	onStore
	onFlow
	onNone // a fence: it takes no slot, and orders what stands before it against what stands behind
	numPlaces
)

var placeNames = [numPlaces]string{"alu", "valu", "valu or alu", "load", "store", "flow", "fence"}

// String returns the engine's name.
func (p place) String() string { return placeNames[p] }

// graph is a program as a list of operations, right when they are executed one after another, with the edges that
// every other order has to respect.
type graph struct {
	ops   []op
	width []uint8 // words of each register
	names []name
	arcs  []arc
	// last is the last operation that wrote each register, or -1; writers holds those of each word where a register
	// is written piece by piece.
	last    []int32
	writers map[reg]*pieces
	// copies counts the copies through memory; buffers are the vectors with the addresses of the buffers' words.
	copies  int
	buffers []reg
	// turns are the buffers of the copies that take turns, from copy 1; -1 for the others, whose buffers are assigned after
	// the schedule.
	turns []int16
	pool  int // how many of the buffers those are
}

// arc says that operation `to` waits for operation `from`: until the cycle after its last slot, or, where it is weak,
// until the cycle of its last slot, because a cycle reads before it writes.
type arc struct {
	from, to int32
	weak     bool
}

// pieces tracks a register that is written piece by piece: for each word its last writer, and who has read it since.
type pieces struct {
	writer  [wideWidth]int32
	readers [wideWidth][]int32
}

// name says what a register that lives long holds, for traces.
type name struct {
	reg  reg
	text string
}

func (g *graph) newReg(words uint8) reg {
	g.width = append(g.width, words)
	g.last = append(g.last, -1)
	return reg(len(g.width) - 1)
}

// newPieces returns a register that is written piece by piece.
func (g *graph) newPieces(words uint8) operand {
	r := g.newReg(words)
	p := &pieces{}
	for i := range p.writer {
		p.writer[i] = -1
	}
	if g.writers == nil {
		g.writers = map[reg]*pieces{}
	}
	g.writers[r] = p
	return whole(r)
}

// readWidth returns how many words an operation reads of its k-th source, and writeWidth how many it writes.
func (o *op) readWidth(k int) int {
	switch o.code {
	case sim.OpVStore:
		if k == 1 {
			return vectorWidth
		}
		return 1
	case sim.OpVLoad, sim.OpVBroadcast:
		return 1
	case sim.OpLoadOffset, sim.OpVSelect, sim.OpMultiplyAdd:
		return vectorWidth
	}
	if o.code.Engine() == sim.VALU {
		return vectorWidth
	}
	return 1
}

func (o *op) writeWidth() int {
	switch o.code {
	case sim.OpVLoad, sim.OpVBroadcast, sim.OpLoadOffset, sim.OpVSelect, sim.OpMultiplyAdd:
		return vectorWidth
	}
	if o.code.Engine() == sim.VALU {
		return vectorWidth
	}
	return 1
}

// add appends an operation with the edges that its registers give, and returns its number.
func (g *graph) add(o op) int32 {
	n := int32(len(g.ops))
	for k := range int(o.nsrc) {
		s := o.src[k]
		if s.reg < 0 {
			continue // the address of a buffer; see fenceBuffers
		}
		p := g.writers[s.reg]
		if p == nil {
			g.after(g.last[s.reg], n)
			continue
		}
		before := int32(-1)
		first := int(max(s.lane, 0))
		for w := first; w < first+o.readWidth(k); w++ {
			if p.writer[w] != before {
				g.after(p.writer[w], n)
			}
			before = p.writer[w]
			p.readers[w] = append(p.readers[w], n)
		}
	}
	if r := o.dst.reg; r >= 0 {
		if p := g.writers[r]; p != nil {
			first := int(max(o.dst.lane, 0))
			before := int32(-1)
			for w := first; w < first+o.writeWidth(); w++ {
				for _, reader := range p.readers[w] {
					if reader != n {
						g.arcs = append(g.arcs, arc{reader, n, true})
					}
				}
				p.readers[w] = p.readers[w][:0]
				if p.writer[w] >= 0 && p.writer[w] != before {
					g.after(p.writer[w], n)
				}
				before = p.writer[w]
				p.writer[w] = n
			}
		}
		g.last[r] = n
	}
	g.ops = append(g.ops, o)
	return n
}

// after orders two operations; -1 for `from` orders nothing.
func (g *graph) after(from, to int32) {
	if from >= 0 {
		g.arcs = append(g.arcs, arc{from, to, false})
	}
}

// weakly orders two operations that may share a cycle.
func (g *graph) weakly(from, to int32) {
	if from >= 0 {
		g.arcs = append(g.arcs, arc{from, to, true})
	}
}

// edges lists the arcs of every operation in a compact form: those that leave operation i are
// succ[succStart[i]:succStart[i+1]], those that enter it likewise in pred. An entry is twice the number of the
// other operation, plus 1 for a weak arc.
type edges struct {
	succStart, succ []int32
	predStart, pred []int32
}

func (g *graph) edges() *edges {
	n := len(g.ops)
	e := &edges{
		succStart: make([]int32, n+1), succ: make([]int32, len(g.arcs)),
		predStart: make([]int32, n+1), pred: make([]int32, len(g.arcs)),
	}
	for _, a := range g.arcs {
		e.succStart[a.from+1]++
		e.predStart[a.to+1]++
	}
	for i := range n {
		e.succStart[i+1] += e.succStart[i]
		e.predStart[i+1] += e.predStart[i]
	}
	nextSucc, nextPred := make([]int32, n), make([]int32, n)
	copy(nextSucc, e.succStart)
	copy(nextPred, e.predStart)
	for _, a := range g.arcs {
		weak := int32(0)
		if a.weak {
			weak = 1
		}
		e.succ[nextSucc[a.from]] = 2*a.to + weak
		nextSucc[a.from]++
		// Read backwards, a fence waits for what stands behind it, and not the other way round.
		switch {
		case g.ops[a.from].place == onNone:
			weak = 0
		case g.ops[a.to].place == onNone:
			weak = 1
		}
		e.pred[nextPred[a.to]] = 2*a.from + weak
		nextPred[a.to]++
	}
	return e
}

func (e *edges) succs(i int32) []int32 { return e.succ[e.succStart[i]:e.succStart[i+1]] }

// least returns the least number of cycles that an operation takes: none for a fence, and as many as its units need on
// the engine where they are spread the widest.
func (o *op) least() int32 {
	switch {
	case o.place == onNone:
		return 0
	case o.place == onLoad && o.units > 1:
		return int32(o.units) / int32(sim.SlotLimit[sim.Load])
	}
	return 1
}

// heights returns for each operation the length in cycles of the longest chain that begins with it.
func (g *graph) heights(e *edges) []int32 {
	h := make([]int32, len(g.ops))
	// Arcs run forwards, so a walk from the back sees successors first.
	for i := len(g.ops) - 1; i >= 0; i-- {
		best, own := int32(0), g.ops[i].least()
		for _, s := range e.succs(int32(i)) {
			if s&1 == 0 {
				best = max(best, h[s>>1])
			} else if own > 0 {
				best = max(best, h[s>>1]-1)
			} else {
				best = max(best, h[s>>1])
			}
		}
		h[i] = best + own
	}
	return h
}

// depths returns for each operation the number of cycles that pass at the least before its first.
func (g *graph) depths(e *edges) []int32 {
	d := make([]int32, len(g.ops))
	for i := range g.ops {
		own := g.ops[i].least()
		for _, s := range e.succs(int32(i)) {
			at := d[i] + own
			if s&1 == 1 && own > 0 {
				at--
			}
			d[s>>1] = max(d[s>>1], at)
		}
	}
	return d
}
