package vector

import (
	"context"
	"fmt"

	"tune/sim"
)

// schedule says what is issued when.
type schedule struct {
	cycles int
	// first and last are the cycles of each operation's first and last slot. A fence has the cycle that it stands
	// before as its last, and one more as its first.
	first, last []int32
	// lanes holds the cycle of each lane of the operations that are executed lane by lane, 8 for every operation;
	// the first is -1 where the operation is one slot.
	lanes []int32
}

func newSchedule(n int) *schedule {
	s := &schedule{first: make([]int32, n), last: make([]int32, n), lanes: make([]int32, sim.VLen*n)}
	for i := range n {
		s.lanes[sim.VLen*i] = -1
	}
	return s
}

// spread says whether an operation is executed lane by lane.
func (s *schedule) spread(i int32) bool { return s.lanes[sim.VLen*i] >= 0 }

// flowFirst is what set-up on the flow engine is ahead of everything else: more than any place and progress are worth.
const flowFirst = 1 << 24

// priorities gives every operation a key; of two that are ready the smaller key goes first. A group's place
// in the order counts against its progress through the rounds, so that the groups spread over the rounds and
// every engine finds work.
func priorities(g *graph, c Config) []int64 {
	perRound := [numPlaces]int{onALU: c.ScalarRound, onVALU: c.VectorRound, onEither: c.VectorRound,
		onLoad: c.LoadRound, onStore: c.ScalarRound, onFlow: c.FlowRound}
	keys := make([]int64, len(g.ops))
	for i := range g.ops {
		o := &g.ops[i]
		rank := groupWeight * int(o.group)
		if o.shared {
			rank += c.SetupRound * int(o.round)
			// Set-up on the flow engine is short, and the lookups that it would wait behind take all of that
			// engine's cycles.
			if o.place == onFlow {
				rank -= flowFirst
			}
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
func listSchedule(ctx context.Context, g *graph, e *edges, c Config) (*schedule, error) {
	n := len(g.ops)
	l := &list{
		g: g, cfg: c, edges: e, keys: priorities(g, c), pending: make([]int32, n), readyAt: make([]int32, n),
		out: newSchedule(n), gather: -1, lanes: -1, switchAt: n * c.Laggards / 100,
	}
	for i := range l.pending {
		l.pending[i] = e.predStart[i+1] - e.predStart[i]
	}
	for i := range l.pending {
		if l.pending[i] == 0 && e.predStart[i+1] == e.predStart[i] {
			l.release(int32(i))
		}
	}
	for l.done < n {
		if l.now&63 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		before := l.done
		l.cycle()
		if l.done == before && l.gather < 0 && l.lanes < 0 && len(l.ready) == 0 {
			return nil, fmt.Errorf("vector: the scheduler makes no progress at cycle %d", l.now)
		}
	}
	return l.out, nil
}

type queue int

// The queues of ready operations.
const (
	qALU    queue = iota // scalar slots
	qVector              // only the vector engine
	qEither              // the vector engine or lanes
	qLoad
	qStore
	qFlow
	numQueues
)

var queueOf = [numPlaces]queue{onALU: qALU, onVALU: qVector, onEither: qEither, onLoad: qLoad, onStore: qStore, onFlow: qFlow}

type list struct {
	g       *graph
	cfg     Config
	edges   *edges
	keys    []int64
	pending []int32 // predecessors that are not complete
	readyAt []int32 // the first cycle that the complete ones allow
	out     *schedule

	now    int32
	done   int
	queues [numQueues]opHeap
	ready  []int32 // become ready in the next cycle

	// A gather and an operation in lanes that have begun, or -1, and their next lanes.
	gather, lanes         int32
	gatherLane, lanesLane int32

	switchAt int // operations after which the longest remaining chain goes first
}

func (l *list) cycle() {
	if l.done >= l.switchAt {
		l.switchToChains()
	}
	// Loads come last, because only they wait for readers of the same cycle.
	l.vectors()
	l.scalars()
	for range sim.SlotLimit[sim.Store] {
		if !l.one(qStore) {
			break
		}
	}
	l.one(qFlow)
	l.loads()

	l.now++
	ready := l.ready
	for _, i := range ready {
		l.queues[queueOf[l.g.ops[i].place]].push(l.keys[i], i)
	}
	l.ready = ready[:0]
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

// release lets an operation go whose predecessors are complete.
func (l *list) release(i int32) {
	at := l.readyAt[i]
	switch {
	case l.g.ops[i].place == onNone:
		l.out.first[i], l.out.last[i] = at, at-1
		l.done++
		l.propagate(i, at-1)
	case at <= l.now:
		l.queues[queueOf[l.g.ops[i].place]].push(l.keys[i], i)
	default:
		l.ready = append(l.ready, i)
	}
}

// propagate tells the successors of an operation the cycle of its last slot.
func (l *list) propagate(i, last int32) {
	fence := l.g.ops[i].place == onNone
	for _, s := range l.edges.succs(i) {
		at, to := last+1, s>>1
		if s&1 == 1 && !fence {
			at--
		}
		l.readyAt[to] = max(l.readyAt[to], at)
		if l.pending[to]--; l.pending[to] == 0 {
			l.release(to)
		}
	}
}

// complete notes an operation whose last slot is in this cycle.
func (l *list) complete(i int32) {
	l.out.last[i] = l.now
	l.out.cycles = max(l.out.cycles, int(l.now)+1)
	l.done++
	l.propagate(i, l.now)
}

// one issues the first operation of a queue whose operations take one slot.
func (l *list) one(q queue) bool {
	if len(l.queues[q]) == 0 {
		return false
	}
	i := l.queues[q].pop()
	l.out.first[i] = l.now
	l.complete(i)
	return true
}

// lane issues the next lane of an operation that is executed lane by lane, and reports whether it was the last.
func (l *list) lane(i int32, lane *int32) bool {
	l.out.lanes[sim.VLen*i+*lane] = l.now
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
			l.out.first[l.gather] = l.now
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
			len(*only) > 0 && (l.cfg.MaddFirst || (*only)[0].before((*either)[0])):
			l.one(qVector)
		default:
			l.one(qEither)
		}
	}
}

// scalars fills the scalar engine, by priority with its own operations, lanes that have begun, and what the vector
// engine had no slot for.
func (l *list) scalars() {
	own, either := &l.queues[qALU], &l.queues[qEither]
	for range sim.SlotLimit[sim.ALU] {
		lanes := l.lanes >= 0 || len(*either) > 0
		if len(*own) == 0 && !lanes {
			return
		}
		if lanes && len(*own) > 0 {
			var next keyed
			if l.lanes >= 0 {
				next = keyed{l.keys[l.lanes], l.lanes}
			} else {
				next = (*either)[0]
			}
			lanes = next.before((*own)[0])
		}
		if !lanes {
			l.one(qALU)
			continue
		}
		if l.lanes < 0 {
			l.lanes = either.pop()
			l.out.first[l.lanes] = l.now
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
