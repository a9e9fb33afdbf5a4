package vector

import (
	"context"
	"math/rand/v2"
	"slices"

	"tune/sim"
)

// justifier shortens a schedule by forward-backward improvement (Li and Willis 1992; Tormos and Lova 2001): all
// operations are pushed as late as they go, in the order of their ends, and then as early as they go, in the order of
// their beginnings. Neither makes a schedule longer, and what one leaves free the other fills. When nothing is gained
// any more, the order is disturbed at random, and the descent begins again. What belongs to one round of one group is
// moved together: that gains more than if each operation is moved on its own. The disturbances get smaller from descent
// to descent. Of the schedules that fit into scratch the shortest is returned.
type justifier struct {
	g *graph
	e *edges
	// forward and backward are the two directions: the backward one sees the arcs and time reversed.
	forward, backward packer
	rng               *rand.Rand
	keys, order       []int32
	starts            []int32     // of the keys, while they are sorted
	rounds            int         // one more than the last
	shifts            []int32     // of each round of each group, by a disturbance
	spare             []*schedule // that are used again
}

func newJustifier(g *graph, e *edges, seed uint64) *justifier {
	n := len(g.ops)
	kinds, groups, rounds := make([]kind, n), 0, 0
	for i := range g.ops {
		o := &g.ops[i]
		kinds[i] = kindOf(o)
		groups, rounds = max(groups, int(o.group)+1), max(rounds, int(o.round)+1)
	}
	// A fence takes no time, so that nothing shares its cycle: forwards its successors may begin where it stands, and
	// backwards both sides count from there.
	into, out := make([]int32, len(e.pred)), make([]int32, len(e.succ))
	next := slices.Clone(e.predStart)
	for i := range int32(n) {
		for k := e.succStart[i]; k < e.succStart[i+1]; k++ {
			to, weak := e.succ[k]>>1, e.succ[k]&1
			if kinds[i] == fenceKind {
				weak = 0
			}
			into[next[to]] = 2*i + weak
			next[to]++
			if kinds[to] == fenceKind {
				weak = 0
			}
			out[k] = 2*to + weak
		}
	}
	return &justifier{
		g: g, e: e,
		forward:  packer{kinds: kinds, start: e.predStart, arcs: into},
		backward: packer{kinds: kinds, start: e.succStart, arcs: out},
		rng:      rand.New(rand.NewPCG(seed, 0x6a757374)),
		keys:     make([]int32, n), order: make([]int32, n),
		rounds: rounds, shifts: make([]int32, groups*rounds),
	}
}

// How many cycles a disturbance moves a round of a group by, at the most: in the first descents, and after how many
// halvings in the last.
const (
	noisiest     = 128
	noiseHalving = 5
)

// Where a schedule is no farther than so many cycles above its bound after the planned descents, as many follow again, with
// smaller disturbances, up to once for each encoreFor of them: there the time is spent best.
const (
	promising = 8
	encoreFor = 8
)

// noise returns how many cycles the disturbance before a descent, counted from 1, moves by.
func noise(d, descents int) int {
	k := d - 1
	if k < descents {
		return noisiest >> (noiseHalving * (k + 1) / descents)
	}
	return noisiest >> 2 >> ((noiseHalving - 2) * (k%descents + 1) / descents)
}

// improve makes the given number of disturbed descents, fewer where the bound, below which no schedule goes, is reached
// or far away, and more where it is near.
func (j *justifier) improve(ctx context.Context, s *schedule, descents, bound int) (*schedule, error) {
	best, bestFits := s, fits(j.g, s)
	current := s
	// drop gives a schedule back that nobody needs any more; the one that is given stays the caller's.
	drop := func(used *schedule) {
		if used != s && used != best && used != current {
			j.spare = append(j.spare, used)
		}
	}
	planned, encores := descents, descents/encoreFor
	for d := 0; d <= planned; d++ {
		disturbance := 0
		if d > 0 {
			disturbance = noise(d, descents)
		}
		for gained := true; gained; {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			late, early := j.roundTrip(current, disturbance)
			disturbance = 0
			gained = early.cycles < current.cycles
			before := current
			current = early
			// What is late holds the values of loads for a shorter time, and may fit where the other does not.
			for _, next := range []*schedule{early, late} {
				if next.cycles < best.cycles || !bestFits {
					if f := fits(j.g, next); f || !bestFits && next.cycles < best.cycles {
						was := best
						best, bestFits = next, f
						if was != before {
							drop(was)
						}
					}
				}
			}
			drop(before)
			drop(late)
		}
		if best.cycles <= bound && bestFits || hopeless(d, best.cycles, bound) {
			break
		}
		if current.cycles > best.cycles+2 {
			was := current
			current = best
			drop(was)
		}
		if d == planned && encores > 0 && best.cycles <= bound+promising {
			planned, encores = planned+descents, encores-1
		}
	}
	return best, nil
}

// hopeless says whether a schedule is so far above its bound after some descents that more are not worth their time:
// what is still to be gained gets less and less.
func hopeless(descents, cycles, bound int) bool {
	above := cycles - bound
	return descents >= 12 && above > 6+bound/50 || descents >= 4 && above > 10+bound/20
}

// noiseSteps is how fine the random disturbance of a cycle is.
const noiseSteps = 16

// roundTrip pushes a schedule back and forth, and returns where it stood after either. Up to so many cycles of noise
// disturb the order of the way back.
func (j *justifier) roundTrip(s *schedule, noise int) (late, early *schedule) {
	// An operation ends before its successors do, or as they do, so that the order of the ends, of equal ones the
	// last operation first, respects the arcs.
	end := int32(s.cycles) - 1
	for i := range j.keys {
		j.keys[i] = end - s.last[i]
	}
	top := s.cycles + 1 // a fence before the first cycle ends in cycle -1
	if noise > 0 {
		top = (top + noise) * noiseSteps
		for k := range j.shifts {
			j.shifts[k] = int32(j.rng.IntN(noise * noiseSteps))
		}
		for i := len(j.keys) - 1; i >= 0; i-- {
			o := &j.g.ops[i]
			key := j.keys[i]*noiseSteps + j.shifts[int(o.group)*j.rounds+int(o.round)]
			for _, a := range j.e.succs(int32(i)) {
				key = max(key, j.keys[a>>1])
			}
			j.keys[i] = key
		}
	}
	j.sort(top, true)
	late = j.schedule()
	j.backward.pack(j.order, late)
	late.reverse(j.g)
	// An operation begins before its successors do, or as they do.
	for i := range j.keys {
		j.keys[i] = late.first[i]
	}
	j.sort(late.cycles+1, false)
	early = j.schedule()
	j.forward.pack(j.order, early)
	return late, early
}

// sort orders the operations by their keys, which are below top, and equal ones by their numbers, the last first where
// that is asked for.
func (j *justifier) sort(top int, lastFirst bool) {
	j.starts = slices.Grow(j.starts[:0], top+1)[:top+1]
	clear(j.starts)
	for _, k := range j.keys {
		j.starts[k+1]++
	}
	for k := range top {
		j.starts[k+1] += j.starts[k]
	}
	n := len(j.keys)
	for k := range n {
		i := k
		if lastFirst {
			i = n - 1 - k
		}
		at := &j.starts[j.keys[i]]
		j.order[*at] = int32(i)
		*at++
	}
}

// schedule returns one to fill.
func (j *justifier) schedule() *schedule {
	if n := len(j.spare); n > 0 {
		s := j.spare[n-1]
		j.spare = j.spare[:n-1]
		return s
	}
	return newSchedule(len(j.g.ops))
}

// reverse turns a schedule of the reversed graph into one of the graph.
func (s *schedule) reverse(g *graph) {
	end := int32(s.cycles) - 1
	for i := range g.ops {
		s.first[i], s.last[i] = end-s.last[i], end-s.first[i]
		if s.spread(int32(i)) {
			lanes := s.lanes[sim.VLen*i : sim.VLen*i+sim.VLen]
			slices.Reverse(lanes)
			for l := range lanes {
				lanes[l] = end - lanes[l]
			}
		}
	}
}

// fits says whether a schedule's registers fit into scratch.
func fits(g *graph, s *schedule) bool {
	_, err := allocate(g, s)
	return err == nil
}

// kind says which slots an operation takes.
type kind uint8

const (
	fenceKind  kind = kind(sim.NumEngines) + iota // none
	eitherKind                                    // one of the vector engine, or 8 lanes of the scalar one
	gatherKind                                    // 8 lanes of the load engine
)

// kindOf returns an operation's kind: one of the above, or the engine of which it takes one slot.
func kindOf(o *op) kind {
	switch {
	case o.place == onNone:
		return fenceKind
	case o.place == onEither:
		return eitherKind
	case o.units > 1:
		return gatherKind
	}
	return kind(o.code.Engine())
}

// packer is a serial schedule generation scheme: it takes operations one after another, in an order that respects the
// arcs, and places each in the first cycles that are free.
type packer struct {
	kinds []kind
	// The arcs that enter operation i are arcs[start[i]:start[i+1]]: twice the number of the operation that they come
	// from, plus 1 where both may share a cycle.
	start, arcs []int32

	used [sim.NumEngines][]uint8
	free [sim.NumEngines][]int32 // the first cycle from here on that has a slot, by path halving
}

func (p *packer) pack(order []int32, s *schedule) {
	for e := range p.used {
		p.used[e], p.free[e] = p.used[e][:0], p.free[e][:0]
	}
	s.cycles = 0
	for _, i := range order {
		est := int32(0)
		for _, a := range p.arcs[p.start[i]:p.start[i+1]] {
			est = max(est, s.last[a>>1]+1-a&1)
		}
		p.place(s, i, est)
		s.cycles = max(s.cycles, int(s.last[i])+1)
	}
}

func (p *packer) place(s *schedule, i, est int32) {
	s.lanes[sim.VLen*i] = -1
	switch k := p.kinds[i]; k {
	case fenceKind:
		s.first[i], s.last[i] = est, est-1
	case eitherKind:
		if at := p.find(sim.VALU, est); !p.lanesBy(s, sim.ALU, i, est, at) {
			p.take(sim.VALU, at)
			s.first[i], s.last[i] = at, at
		}
	case gatherKind:
		p.lanesBy(s, sim.Load, i, est, 1<<30)
	default:
		at := p.find(sim.Engine(k), est)
		p.take(sim.Engine(k), at)
		s.first[i], s.last[i] = at, at
	}
}

// lanesBy places an operation lane by lane where its last lane ends before the given cycle, and reports whether.
func (p *packer) lanesBy(s *schedule, e sim.Engine, i, est, before int32) bool {
	lanes := s.lanes[sim.VLen*i : sim.VLen*i+sim.VLen]
	n := 0
	for at := est; n < sim.VLen; at++ {
		if at = p.find(e, at); at >= before {
			lanes[0] = -1
			return false
		}
		for k := int(p.used[e][at]); k < sim.SlotLimit[e] && n < sim.VLen; k++ {
			lanes[n] = at
			n++
		}
	}
	for _, at := range lanes {
		p.take(e, at)
	}
	s.first[i], s.last[i] = lanes[0], lanes[sim.VLen-1]
	return true
}

// find returns the first cycle from the given one on in which an engine has a slot.
func (p *packer) find(e sim.Engine, at int32) int32 {
	for int(at) >= len(p.free[e]) {
		p.free[e] = append(p.free[e], int32(len(p.free[e])))
		p.used[e] = append(p.used[e], 0)
	}
	free := p.free[e]
	for free[at] != at {
		next := free[at]
		for int(next) >= len(free) {
			p.free[e] = append(p.free[e], int32(len(p.free[e])))
			p.used[e] = append(p.used[e], 0)
			free = p.free[e]
		}
		free[at] = free[next]
		at = next
	}
	return at
}

func (p *packer) take(e sim.Engine, at int32) {
	if p.used[e][at]++; int(p.used[e][at]) == sim.SlotLimit[e] {
		p.free[e][at] = at + 1
	}
}
