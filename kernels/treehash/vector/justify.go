package vector

import (
	"context"
	"math/rand/v2"
	"slices"

	"tune/sim"
)

// justify shortens a schedule by forward-backward improvement (Li and Willis 1992; Tormos and Lova 2001): all
// operations are pushed as late as they go, in the order of their ends, and then as early as they go, in the order of
// their beginnings. Neither makes a schedule longer, and what one leaves free the other fills. When nothing is gained
// any more, the order is disturbed at random, and the descent begins again. Of the schedules that fit into scratch the
// shortest is returned.
type justifier struct {
	g *graph
	// forward and backward are the two directions: the backward one sees the arcs and time reversed.
	forward, backward packer
	rng               *rand.Rand
}

func newJustifier(g *graph, e *edges, seed uint64) *justifier {
	return &justifier{
		g:        g,
		forward:  newPacker(g, e.succStart, e.succ, e.predStart),
		backward: newPacker(g, e.predStart, e.pred, e.succStart),
		rng:      rand.New(rand.NewPCG(seed, 0x6a757374)),
	}
}

// improve makes the given number of disturbed descents, fewer where the bound, below which no schedule goes, is reached
// or far away.
func (j *justifier) improve(ctx context.Context, s *schedule, descents, bound int) (*schedule, error) {
	best, bestFits := s, fits(j.g, s)
	current := s
	for d := range descents + 1 {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		noise := 0
		if d > 0 {
			noise = 1 << (1 + d%5)
		}
		for stale := 0; stale < 2; {
			late, early := j.roundTrip(current, noise)
			noise = 0
			stale++
			if early.cycles < current.cycles {
				stale = 0
			}
			current = early
			// What is late holds the values of loads for a shorter time, and may fit where the other does not.
			for _, next := range []*schedule{early, late} {
				if next.cycles < best.cycles || !bestFits {
					if f := fits(j.g, next); f || !bestFits && next.cycles < best.cycles {
						best, bestFits = next, f
					}
				}
			}
		}
		if best.cycles <= bound && bestFits || hopeless(d, best.cycles, bound) {
			break
		}
		if current.cycles > best.cycles+2 {
			current = best
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

// roundTrip pushes a schedule back and forth, and returns where it stood after either.
func (j *justifier) roundTrip(s *schedule, noise int) (late, early *schedule) {
	n := len(j.g.ops)
	keys := make([]int64, n)
	for i := range keys {
		keys[i] = -int64(s.last[i]) << 32
		if noise > 0 {
			keys[i] += int64(j.rng.Uint64N(uint64(noise) << 32))
		}
		// Ties go against the order of the operations, which respects the arcs.
		keys[i] += int64(n - i)
	}
	late = j.backward.pack(keys)
	late.reverse(j.g)
	for i := range keys {
		keys[i] = int64(late.first[i])<<32 + int64(i)
	}
	return late, j.forward.pack(keys)
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

// packer is a serial schedule generation scheme: it takes operations one after another, each when those before it are
// taken, by key, and places it in the first cycles that are free.
type packer struct {
	g          *graph
	start, out []int32 // the arcs that leave each operation
	into       []int32 // where the arcs that enter each operation begin, and so how many there are

	pending, est []int32
	ready        opHeap
	used         [sim.NumEngines][]uint8
	free         [sim.NumEngines][]int32 // the first cycle from here on that has a slot, by path halving
}

func newPacker(g *graph, start, out, into []int32) packer {
	n := len(g.ops)
	return packer{g: g, start: start, out: out, into: into, pending: make([]int32, n), est: make([]int32, n)}
}

func (p *packer) pack(keys []int64) *schedule {
	n := len(p.g.ops)
	s := newSchedule(n)
	clear(p.est)
	for e := range p.used {
		p.used[e], p.free[e] = p.used[e][:0], p.free[e][:0]
	}
	p.ready = p.ready[:0]
	for i := range int32(n) {
		if p.pending[i] = p.into[i+1] - p.into[i]; p.pending[i] == 0 {
			p.ready.push(keys[i], i)
		}
	}
	for len(p.ready) > 0 {
		i := p.ready.pop()
		p.place(s, i)
		s.cycles = max(s.cycles, int(s.last[i])+1)
		gap := int32(1)
		if p.g.ops[i].place == onNone {
			gap = 0 // the weak arcs of a fence count from its own cycle
		}
		for _, a := range p.out[p.start[i]:p.start[i+1]] {
			at := s.last[i] + 1
			if a&1 == 1 {
				at -= gap
			}
			p.est[a>>1] = max(p.est[a>>1], at)
			if p.pending[a>>1]--; p.pending[a>>1] == 0 {
				p.ready.push(keys[a>>1], a>>1)
			}
		}
	}
	return s
}

func (p *packer) place(s *schedule, i int32) {
	o := &p.g.ops[i]
	est := p.est[i]
	switch {
	case o.place == onNone:
		s.first[i], s.last[i] = est, est-1
	case o.place == onEither:
		if at := p.find(sim.VALU, est); !p.lanesBy(s, sim.ALU, i, est, at) {
			p.take(sim.VALU, at)
			s.first[i], s.last[i] = at, at
		}
	case o.units > 1:
		p.lanesBy(s, sim.Load, i, est, 1<<30)
	default:
		at := p.find(o.code.Engine(), est)
		p.take(o.code.Engine(), at)
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
