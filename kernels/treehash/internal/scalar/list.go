package scalar

import (
	"math"
	"slices"

	"tune/sim"
)

// edge is a dependence: the instruction to may not execute before the cycle of the edge's owner plus
// latency. The latency is 1 after a write, and 0 after a read, since a bundle reads before it writes.
type edge struct {
	to      int32
	latency int32
}

// graph holds the dependences among instructions: those of instruction i are edges[start[i]:start[i+1]].
type graph struct {
	start []int32
	edges []edge
	preds []int32 // how many edges lead to each instruction
}

// newGraph finds the true, anti and output dependences of instructions in program order. Memory needs no special rule: different
// items never alias, and the words of one item have a number, see instr. There are no edges across a pause, because the scheduler
// never looks past one.
func newGraph(instrs []instr, words uint32) graph {
	type dependence struct{ from, to, latency int32 }
	deps := make([]dependence, 0, 5*len(instrs))
	writer := make([]int32, words) // the last writer of each word
	for i := range writer {
		writer[i] = -1
	}
	// The readers of each word since its last write are a linked list.
	type reader struct{ instr, next int32 }
	readers := make([]reader, 0, 4*len(instrs))
	lastReader := slices.Repeat([]int32{-1}, int(words))

	// Instructions before the last pause have smaller numbers.
	floor, readersFloor := int32(0), int32(0)

	for i := range instrs {
		to := int32(i)
		if instrs[i].Op == sim.OpPause {
			floor, readersFloor = to+1, int32(len(readers))
			continue
		}
		reads, nr, writes, nw := instrs[i].accesses()
		for _, w := range reads[:nr] {
			if from := writer[w]; from >= floor {
				deps = append(deps, dependence{from, to, 1})
			}
		}
		for _, w := range writes[:nw] {
			// Where the old word was read, the readers stand between the two writers.
			if from := writer[w]; from >= floor && lastReader[w] < readersFloor {
				deps = append(deps, dependence{from, to, 1})
			}
			for r := lastReader[w]; r >= readersFloor; r = readers[r].next {
				deps = append(deps, dependence{readers[r].instr, to, 0})
			}
			writer[w], lastReader[w] = to, -1
		}
		for _, w := range reads[:nr] {
			if writer[w] == to {
				continue // an instruction that overwrites what it reads does not wait for itself
			}
			readers = append(readers, reader{to, lastReader[w]})
			lastReader[w] = int32(len(readers) - 1)
		}
	}

	g := graph{start: make([]int32, len(instrs)+1), edges: make([]edge, len(deps)), preds: make([]int32, len(instrs))}
	for _, d := range deps {
		g.start[d.from+1]++
		g.preds[d.to]++
	}
	for i := range instrs {
		g.start[i+1] += g.start[i]
	}
	fill := slices.Clone(g.start)
	for _, d := range deps {
		g.edges[fill[d.from]] = edge{d.to, d.latency}
		fill[d.from]++
	}
	return g
}

// heights returns the longest path from each instruction to an end, in cycles.
func (g graph) heights() []int32 {
	h := make([]int32, len(g.preds))
	for i := len(h) - 1; i >= 0; i-- {
		for _, e := range g.edges[g.start[i]:g.start[i+1]] {
			h[i] = max(h[i], h[e.to]+e.latency)
		}
	}
	return h
}

// list appends instructions by list scheduling: cycle after cycle, each unit takes the ready instructions
// of the highest priority.
func (p *packer) list(instrs []instr) {
	g := newGraph(instrs, p.words)
	s := scheduler{
		packer:  p,
		instrs:  instrs,
		graph:   g,
		keys:    make([]uint64, len(instrs)),
		soonest: make([]int32, len(instrs)),
		slots:   make([]sim.Slot, 0, len(instrs)),
	}
	for i := range s.keys {
		s.keys[i] = uint64(i)
	}
	if p.priority == PriorityPath {
		for i, h := range g.heights() {
			s.keys[i] |= uint64(math.MaxInt32-h) << 32
		}
	}
	for start := 0; start < len(instrs); {
		end := start
		for end < len(instrs) && instrs[end].Op != sim.OpPause {
			end++
		}
		s.stretch(start, end)
		if end < len(instrs) {
			p.pause()
		}
		start = end + 1
	}
}

// scheduler is the state of list scheduling.
type scheduler struct {
	*packer
	graph
	instrs  []instr
	keys    []uint64       // orders the ready: the smallest is taken first; the low half is the instruction
	ready   [numUnits]heap // keys of what may execute in the current cycle
	next    []int32        // instructions that are ready in the next cycle
	soonest []int32        // the cycle from which each instruction may execute
	cycle   int32
	slots   []sim.Slot
}

// stretch schedules the instructions from start to end, which has no pause.
func (s *scheduler) stretch(start, end int) {
	for i := start; i < end; i++ {
		if s.preds[i] == 0 {
			s.push(int32(i))
		}
	}
	for left := end - start; left > 0; {
		first := len(s.slots)
		used := [numUnits]int{}
		// An instruction may make others ready in the same cycle, so the units are asked in turn until none takes any.
		for taken := true; taken; {
			taken = false
			for u := range s.ready {
				for ; used[u] < s.limits[u] && len(s.ready[u]) > 0; used[u]++ {
					s.take(int32(uint32(s.ready[u].pop())))
					taken = true
				}
			}
		}
		n := len(s.slots)
		s.bundles = append(s.bundles, sim.Bundle{Slots: s.slots[first:n:n]})
		left -= n - first
		s.cycle++
		for _, i := range s.next {
			s.push(i)
		}
		s.next = s.next[:0]
	}
}

// push makes an instruction ready.
func (s *scheduler) push(i int32) {
	s.ready[s.unit(s.instrs[i].Slot)].push(s.keys[i])
}

// take puts an instruction into the current cycle.
func (s *scheduler) take(i int32) {
	s.slots = append(s.slots, s.instrs[i].Slot)
	for _, e := range s.edges[s.start[i]:s.start[i+1]] {
		s.soonest[e.to] = max(s.soonest[e.to], s.cycle+e.latency)
		if s.preds[e.to]--; s.preds[e.to] > 0 {
			continue
		}
		if s.soonest[e.to] > s.cycle {
			s.next = append(s.next, e.to)
		} else {
			s.push(e.to)
		}
	}
}

// heap is a binary heap of keys, the smallest first. It is written out because container/heap costs an interface call and an
// allocation for each key, which would be most of a build's time.
type heap []uint64

func (h *heap) push(k uint64) {
	s := append(*h, k)
	i := len(s) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if s[parent] <= k {
			break
		}
		s[i] = s[parent]
		i = parent
	}
	s[i] = k
	*h = s
}

func (h *heap) pop() uint64 {
	s := *h
	top, n := s[0], len(s)-1
	k := s[n]
	s = s[:n]
	for i := 0; n > 0; {
		child := 2*i + 1
		if child+1 < n && s[child+1] < s[child] {
			child++
		}
		if child >= n || k <= s[child] {
			s[i] = k
			break
		}
		s[i] = s[child]
		i = child
	}
	*h = s
	return top
}
