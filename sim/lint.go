package sim

import (
	"fmt"
	"math/bits"
	"slices"
)

// Warning is something that the machine executes but a generator probably did not intend.
type Warning struct {
	Bundle int
	Engine Engine
	Slot   int // within its engine
	Reason string
}

// String names the place and says why.
func (w Warning) String() string {
	return fmt.Sprintf("bundle %d, %s slot %d: %s", w.Bundle, w.Engine, w.Slot, w.Reason)
}

// Lint looks at a program without running it and reports, in the order of bundles,
//   - slots of one bundle that write the same word of scratch, or store through the same address word;
//   - reads of scratch that no path from the first bundle writes before: the word has its initial 0.
//     Each word is reported at its first read only.
//
// It follows jumps; a jump_indirect may go anywhere. Unreachable code is left out of the second report. Decode must
// accept the program.
func Lint(p *Program) []Warning {
	l := linter{p: p}
	var warnings []Warning
	unwritten := l.unwrittenReads()
	for i := range p.Bundles {
		warnings = append(warnings, l.doubleWrites(i)...)
		for len(unwritten) > 0 && unwritten[0].Bundle == i {
			warnings = append(warnings, unwritten[0])
			unwritten = unwritten[1:]
		}
	}
	return warnings
}

// LintRun runs a program on a copy of mem and reports stores in one bundle to the same word of memory, each pair of slots once.
// The error is a *Fault; the warnings up to it are returned.
func LintRun(p *Program, mem []uint32, lim Limits) ([]Warning, error) {
	code, err := Decode(p)
	if err != nil {
		return nil, err
	}
	var warnings []Warning
	seen := make([]bool, len(p.Bundles))
	m := NewMachine()
	_, err = m.follow(code, slices.Clone(mem), lim, 0, func(i int) {
		var stores [2]Slot
		n := 0
		for _, s := range p.Bundles[i].Slots {
			if s.Op.Engine() == Store {
				stores[n] = s
				n++
			}
		}
		if n < 2 || seen[i] {
			return
		}
		var from, to [2]uint64
		for k, s := range stores {
			from[k] = uint64(m.regs[s.Args[0]])
			if to[k] = from[k] + 1; s.Op == OpVStore {
				to[k] = from[k] + VLen
			}
		}
		if first := max(from[0], from[1]); first < min(to[0], to[1]) {
			seen[i] = true
			warnings = append(warnings, Warning{i, Store, 1, fmt.Sprintf("writes memory word %d, which store slot 0 writes too", first)})
		}
	}, nil)
	slices.SortStableFunc(warnings, func(a, b Warning) int { return a.Bundle - b.Bundle })
	return warnings, err
}

type linter struct {
	p *Program
	// writer is the last writer of each word in the bundle whose number + 1 is its stamp.
	writer [ScratchWords]struct {
		stamp  int
		engine Engine
		slot   int
	}
}

// each calls f for the slots of a bundle in the order in which their writes land.
func (b *Bundle) each(f func(e Engine, slot int, s Slot)) {
	for e := range Debug {
		slot := 0
		for _, s := range b.Slots {
			if s.Op.Engine() == e {
				f(e, slot, s)
				slot++
			}
		}
	}
}

func (l *linter) doubleWrites(i int) []Warning {
	var warnings []Warning
	var stores []uint32
	l.p.Bundles[i].each(func(e Engine, slot int, s Slot) {
		if e == Store {
			if k := slices.Index(stores, s.Args[0]); k >= 0 {
				warnings = append(warnings, Warning{i, e, slot, fmt.Sprintf("writes memory at the address in scratch word %d, and so does store slot %d", s.Args[0], k)})
			}
			stores = append(stores, s.Args[0])
		}
		span := s.Writes()
		written := words(&l.writer, span)
		for k := 0; k < len(written); {
			w := written[k]
			run := k
			for k < len(written) && written[k] == w {
				written[k].stamp, written[k].engine, written[k].slot = i+1, e, slot
				k++
			}
			if w.stamp == i+1 {
				warnings = append(warnings, Warning{i, e, slot, fmt.Sprintf("writes %s, which %s slot %d writes too", scratchWords(span.Addr+uint32(run), k-run), w.engine, w.slot)})
			}
		}
	})
	return warnings
}

func scratchWords(addr uint32, n int) string {
	if n == 1 {
		return fmt.Sprintf("scratch word %d", addr)
	}
	return fmt.Sprintf("scratch words %d to %d", addr, addr+uint32(n)-1)
}

// wordSet is a set of scratch words.
type wordSet [ScratchWords / 64]uint64

func (s *wordSet) has(a uint32) bool { return s[a/64]>>(a%64)&1 != 0 }

func (s *wordSet) addSpan(sp Span) {
	for a := sp.Addr; a < min(sp.Addr+sp.N, ScratchWords); a++ {
		s[a/64] |= 1 << (a % 64)
	}
}

// union adds the words of o to s and reports whether that changed s.
func (s *wordSet) union(o *wordSet) bool {
	var fresh uint64
	for k, w := range o {
		fresh |= w &^ s[k]
		s[k] |= w
	}
	return fresh != 0
}

// block is a stretch of bundles that is entered only at its first and left only at its last.
type block struct {
	start, end int
	next       []int // blocks that may follow
	anywhere   bool  // any block may follow
	reached    bool
	in         wordSet // words that some path to the block writes
	written    wordSet // words that the block writes
}

// unwrittenReads is a forward data-flow analysis over the blocks of the program: the words that may have
// been written at the start of a block are the union of those at the ends of the blocks before it.
func (l *linter) unwrittenReads() []Warning {
	blocks := l.blocks()
	if len(blocks) == 0 {
		return nil
	}
	// Each sweep goes through the blocks in order, so that a program without backward jumps takes one
	// sweep and another that finds no change.
	var anywhere wordSet
	anywhereReached := false
	blocks[0].reached = true
	for changed := true; changed; {
		changed = false
		for k := range blocks {
			b := &blocks[k]
			if anywhereReached {
				changed = !b.reached || changed
				b.reached = true
				changed = b.in.union(&anywhere) || changed
			}
			if !b.reached {
				continue
			}
			out := b.in
			out.union(&b.written)
			for _, n := range b.next {
				changed = blocks[n].in.union(&out) || !blocks[n].reached || changed
				blocks[n].reached = true
			}
			if b.anywhere {
				changed = anywhere.union(&out) || !anywhereReached || changed
				anywhereReached = true
			}
		}
	}

	var warnings []Warning
	var reported wordSet
	for k := range blocks {
		b := &blocks[k]
		if !b.reached {
			continue
		}
		written := b.in
		for i := b.start; i < b.end; i++ {
			l.p.Bundles[i].each(func(e Engine, slot int, s Slot) {
				spans, n := s.Reads()
				for _, sp := range spans[:n] {
					for a, end := sp.Addr, min(sp.Addr+sp.N, ScratchWords); a < end; a++ {
						first := a
						for a < end && !written.has(a) && !reported.has(a) {
							a++
						}
						if a > first {
							reported.addSpan(Span{first, a - first})
							warnings = append(warnings, Warning{i, e, slot, "reads " + scratchWords(first, int(a-first)) + ", which nothing writes before"})
						}
					}
				}
			})
			for _, s := range l.p.Bundles[i].Slots {
				written.addSpan(s.Writes())
			}
		}
	}
	return warnings
}

// blocks splits the program where jumps begin and end.
func (l *linter) blocks() []block {
	bundles := l.p.Bundles
	n := len(bundles)
	type exit struct {
		ctl    control
		target int
	}
	exits := make([]exit, n)
	leads := make([]uint64, n/64+1)
	lead := func(i int) { leads[i/64] |= 1 << (i % 64) }
	lead(0)
	for i := range bundles {
		for _, s := range bundles[i].Slots {
			x := exit{ctl: s.Op.control(), target: n}
			switch s.Op {
			case OpJump:
				x.target = int(s.Args[0])
			case OpCondJump:
				x.target = int(s.Args[1])
			case OpCondJumpRel:
				x.target = i + 1 + int(int32(s.Args[1]))
			}
			switch x.ctl {
			case jump, condJump:
				if x.target < 0 || x.target > n {
					x.target = n
				}
				lead(x.target)
			case jumpIndirect, halt:
			default:
				continue
			}
			lead(i + 1)
			exits[i] = x
		}
	}

	var blocks []block
	at := make(map[int]int) // block that starts at a bundle
	for k, w := range leads {
		for ; w != 0; w &= w - 1 {
			if i := 64*k + bits.TrailingZeros64(w); i < n {
				if len(blocks) > 0 {
					blocks[len(blocks)-1].end = i
				}
				at[i] = len(blocks)
				blocks = append(blocks, block{start: i, end: n})
			}
		}
	}
	for k := range blocks {
		b := &blocks[k]
		for i := b.start; i < b.end; i++ {
			for _, s := range bundles[i].Slots {
				b.written.addSpan(s.Writes())
			}
		}
		x := exits[b.end-1]
		follow := func(i int) {
			if next, ok := at[i]; ok {
				b.next = append(b.next, next)
			}
		}
		switch x.ctl {
		case halt:
		case jumpIndirect:
			b.anywhere = true
		case jump:
			follow(x.target)
		case condJump:
			follow(x.target)
			follow(b.end)
		default:
			follow(b.end)
		}
	}
	return blocks
}
