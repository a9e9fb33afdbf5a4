package vector

import (
	"context"
	"fmt"

	"tune/sim"
)

// issue is one slot of the schedule: an operation, or one lane of it (-1 for the whole).
type issue struct {
	op   int32
	lane int8
}

// schedule says what is issued when. Cycle t issues issues[start[t]:start[t+1]].
type schedule struct {
	issues []issue
	start  []int32
	// first and last are the cycles of each operation's first and last slot.
	first, last []int32
}

// cycles returns the length of the schedule.
func (s *schedule) cycles() int { return len(s.start) - 1 }

// priorities gives every operation a key; of two that are ready the smaller key goes first. A group's place
// in the order counts against its progress through the rounds, so that the groups spread over the rounds and
// every engine finds work.
func priorities(g *graph, c Config) []int64 {
	perRound := [...]int{onALU: c.VectorRound, onVALU: c.VectorRound, onLanes: c.VectorRound, onEither: c.VectorRound,
		onLoad: c.LoadRound, onStore: c.VectorRound, onFlow: c.FlowRound}
	keys := make([]int64, len(g.ops))
	for i := range g.ops {
		o := &g.ops[i]
		rank := groupWeight * int(o.group)
		if o.shared {
			rank += c.SetupRound * int(o.round)
		} else {
			rank += groupWeight - perRound[o.place]*int(o.round)
		}
		keys[i] = int64(rank)<<32 | int64(tie(uint32(i), uint32(c.Shuffle)))
	}
	return keys
}

// tie orders equal priorities: as the operations were written, or shuffled by a seed. The mixing function is
// the finaliser of MurmurHash3 (Appleby, public domain).
func tie(i, seed uint32) uint32 {
	if seed == 0 {
		return i
	}
	h := i + seed*0x9E3779B1
	h ^= h >> 16
	h *= 0x85EBCA6B
	h ^= h >> 13
	h *= 0xC2B2AE35
	return h ^ h>>16
}

// listSchedule places every operation in the first cycle in which what it reads is there and its engine has a
// slot, by priority (list scheduling, Graham 1969). An operation of several slots may spread over cycles.
func listSchedule(ctx context.Context, g *graph, c Config) (*schedule, error) {
	e := g.edges()
	l := &list{
		g: g, cfg: c, edges: e, keys: priorities(g, c), pending: e.preds,
		out: &schedule{
			issues: make([]issue, 0, 4*len(g.ops)), start: make([]int32, 1, 4096),
			first: make([]int32, len(g.ops)), last: make([]int32, len(g.ops)),
		},
		gather: -1, lanes: -1,
		switchAt: len(g.ops) * c.Laggards / 100,
	}
	for i := range l.pending {
		if l.pending[i] == 0 {
			l.ready = append(l.ready, int32(i))
		}
	}
	for l.done < len(g.ops) {
		if l.now&255 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		l.cycle()
		if l.now > 64*len(g.ops)+1<<16 {
			return nil, fmt.Errorf("vector: the scheduler makes no progress at cycle %d", l.now)
		}
	}
	return l.out, nil
}

type queue int

// The queues of ready operations.
const (
	qALU    queue = iota // scalar slots, and lanes that were moved for good
	qVector              // only the vector engine
	qEither              // the vector engine or lanes
	qLoad
	qStore
	qFlow
	numQueues
)

var queueOf = [...]queue{onALU: qALU, onLanes: qALU, onVALU: qVector, onEither: qEither, onLoad: qLoad, onStore: qStore, onFlow: qFlow}

type list struct {
	g       *graph
	cfg     Config
	edges   edges
	keys    []int64
	pending []int32 // predecessors that are not complete
	out     *schedule

	now     int
	done    int
	queues  [numQueues]opHeap
	ready   []int32 // become ready in this cycle
	next    []int32 // become ready in the next
	delayed opHeap  // wait for their group's start, by cycle

	// A gather and an operation in lanes that have begun, or -1, and their next lanes.
	gather, lanes         int32
	gatherLane, lanesLane uint8

	switchAt int // operations after which the longest remaining chain goes first
}

func (l *list) cycle() {
	for len(l.delayed) > 0 && l.delayed[0].key <= int64(l.now) {
		l.ready = append(l.ready, l.delayed.pop())
	}
	for _, i := range l.ready {
		l.queues[queueOf[l.g.ops[i].place]].push(l.keys[i], i)
	}
	l.ready = l.ready[:0]
	if l.done >= l.switchAt {
		l.switchToChains()
	}

	l.loads()
	for range sim.SlotLimit[sim.Store] {
		if !l.one(qStore) {
			break
		}
	}
	l.one(qFlow)
	l.vectors()
	l.scalars()

	// A cycle without a slot costs nothing, so it is not part of the program.
	if n := int32(len(l.out.issues)); n > l.out.start[len(l.out.start)-1] {
		l.out.start = append(l.out.start, n)
	} else if len(l.delayed) > 0 && len(l.next) == 0 {
		l.now = int(l.delayed[0].key) - 1
	}
	l.now++
	l.ready, l.next = l.next, l.ready
}

// switchToChains reorders the queues by the length of the chain that hangs on each operation.
func (l *list) switchToChains() {
	l.switchAt = len(l.g.ops) + 1
	for i, h := range l.g.heights(l.edges) {
		l.keys[i] = -int64(h)<<32 | l.keys[i]&(1<<32-1)
	}
	for q := range l.queues {
		h := l.queues[q]
		for i := range h {
			h[i].key = l.keys[h[i].op]
		}
		h.init()
	}
}

// slot is the cycle of the program that is being filled.
func (l *list) slot() int32 { return int32(len(l.out.start) - 1) }

func (l *list) begin(i int32) { l.out.first[i] = l.slot() }

func (l *list) issue(i int32, lane int8) {
	l.out.issues = append(l.out.issues, issue{i, lane})
}

// complete makes the successors of an operation ready in the next cycle.
func (l *list) complete(i int32) {
	l.out.last[i] = l.slot()
	l.done++
	for _, s := range l.edges.list[l.edges.start[i]:l.edges.start[i+1]] {
		if l.pending[s]--; l.pending[s] == 0 {
			o := &l.g.ops[s]
			if start := l.cfg.Stagger * int(o.group); !o.shared && start > l.now+1 {
				l.delayed.push(int64(start), s)
			} else {
				l.next = append(l.next, s)
			}
		}
	}
}

// one issues the first operation of a queue whose operations take one slot.
func (l *list) one(q queue) bool {
	if len(l.queues[q]) == 0 {
		return false
	}
	i := l.queues[q].pop()
	l.begin(i)
	l.issue(i, -1)
	l.complete(i)
	return true
}

// lane issues the next lane of an operation that is executed lane by lane, and reports whether it was the last.
func (l *list) lane(i int32, lane *uint8) bool {
	l.issue(i, int8(*lane))
	*lane++
	if *lane < sim.VLen {
		return false
	}
	*lane = 0
	l.complete(i)
	return true
}

func (l *list) loads() {
	for range sim.SlotLimit[sim.Load] {
		if l.gather < 0 {
			if len(l.queues[qLoad]) == 0 {
				return
			}
			i := l.queues[qLoad][0].op
			if l.g.ops[i].units == 1 {
				l.one(qLoad)
				continue
			}
			l.gather = l.queues[qLoad].pop()
			l.begin(l.gather)
		}
		if l.lane(l.gather, &l.gatherLane) {
			l.gather = -1
		}
	}
}

func (l *list) vectors() {
	only, either := &l.queues[qVector], &l.queues[qEither]
	for range sim.SlotLimit[sim.VALU] {
		switch {
		case len(*only) == 0 && len(*either) == 0:
			return
		case len(*either) == 0,
			len(*only) > 0 && (l.cfg.MaddFirst || (*only)[0].key < (*either)[0].key):
			l.one(qVector)
		default:
			l.one(qEither)
		}
	}
}

// scalars fills the scalar engine: lanes that have begun, then its own operations, then what the vector engine
// had no slot for.
func (l *list) scalars() {
	for range sim.SlotLimit[sim.ALU] {
		if l.lanes < 0 {
			q := qALU
			if len(l.queues[qALU]) == 0 {
				q = qEither
			}
			if len(l.queues[q]) == 0 {
				return
			}
			i := l.queues[q][0].op
			if l.g.ops[i].place == onALU {
				l.one(qALU)
				continue
			}
			l.lanes = l.queues[q].pop()
			l.begin(l.lanes)
		}
		if l.lane(l.lanes, &l.lanesLane) {
			l.lanes = -1
		}
	}
}

// opHeap is a binary heap of operations, smallest key first and then smallest number.
type opHeap []keyed

type keyed struct {
	key int64
	op  int32
}

func (a keyed) before(b keyed) bool {
	return a.key < b.key || a.key == b.key && a.op < b.op
}

func (h *opHeap) push(key int64, o int32) {
	*h = append(*h, keyed{key, o})
	s := *h
	i := len(s) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if !s[i].before(s[parent]) {
			break
		}
		s[i], s[parent] = s[parent], s[i]
		i = parent
	}
}

func (h *opHeap) pop() int32 {
	s := *h
	top := s[0].op
	s[0] = s[len(s)-1]
	*h = s[:len(s)-1]
	h.down(0)
	return top
}

func (h opHeap) init() {
	for i := len(h)/2 - 1; i >= 0; i-- {
		h.down(i)
	}
}

func (h opHeap) down(i int) {
	for {
		c := 2*i + 1
		if c >= len(h) {
			return
		}
		if c+1 < len(h) && h[c+1].before(h[c]) {
			c++
		}
		if !h[c].before(h[i]) {
			return
		}
		h[i], h[c] = h[c], h[i]
		i = c
	}
}
