package vector

import (
	"context"
	"math"
	"slices"

	"tune/kernels/treehash/tree"
	"tune/sim"
)

// Bound is what no schedule of a graph can be shorter than.
type Bound struct {
	// Slots are those that each engine has to execute. Those of alu are the slots of alu and valu together, whose work may
	// move from one to the other: an operation on a vector counts as 8 of them. Those of valu are of the operations alone
	// that alu cannot execute.
	Slots [sim.NumEngines]int
	// Floors are the cycles that the engines need for their slots, each filled from the first cycle to the last.
	Floors [sim.NumEngines]int
	// Dependence is the length of the longest chain of operations.
	Dependence int
	// Engines are, for each engine, the cycles that it needs with its head, in which nothing is ready for it, and its
	// tail, in which what it has issued last is still being used. That of alu again is for alu and valu together.
	Engines [sim.NumEngines]int
}

// Cycles is the greatest of the bounds.
func (b Bound) Cycles() int {
	return max(b.Dependence, slices.Max(b.Floors[:]), slices.Max(b.Engines[:]))
}

// forecastPower is how little an engine counts that has some cycles to spare. With 64 forecasts agreed best with the
// cycles of schedules.
const forecastPower = 64

// Forecast is about what a schedule takes. Where several engines are nearly full at once, no schedule reaches the bound:
// the forecast is the norm of the engines' bounds with a high power, which is near the greatest alone, and above it where
// others are close.
func (b Bound) Forecast() float64 {
	greatest := float64(b.Cycles())
	sum := 0.0
	for _, c := range b.Engines {
		sum += math.Pow(float64(c)/greatest, forecastPower)
	}
	return greatest * math.Pow(max(sum, 1), 1.0/forecastPower)
}

// perCycle returns how many of the Slots of an engine a cycle has at most. Those of alu are the words that alu and valu
// compute together.
func perCycle(e sim.Engine) int {
	if e == sim.ALU {
		return sim.SlotLimit[sim.ALU] + sim.VLen*sim.SlotLimit[sim.VALU]
	}
	return sim.SlotLimit[e]
}

// bound finds lower bounds without scheduling.
//
// For the head and the tail of an engine: of its slots, those that cannot be issued before cycle h and those that keep
// the program busy for t cycles more need at least h + (their number / slots a cycle) + t cycles. All pairs of h and t
// are tried.
func (g *graph) bound(e *edges) Bound {
	var b Bound
	depth, height := g.depths(e), g.heights(e)
	for i := range g.ops {
		b.Dependence = max(b.Dependence, int(depth[i]+height[i]))
	}
	var work [sim.NumEngines][]weighed
	for i := range g.ops {
		o := &g.ops[i]
		if o.place == onNone {
			continue
		}
		engine, units := o.code.Engine(), int32(o.units)
		// A spread operation issues its lanes at any time between; its tail begins with the last.
		w := weighed{depth[i], height[i] - o.least(), units}
		switch {
		case o.place == onEither:
			w.slots = sim.VLen
			work[sim.ALU] = append(work[sim.ALU], w)
		case engine == sim.VALU:
			work[sim.VALU] = append(work[sim.VALU], w)
			w.slots = sim.VLen
			work[sim.ALU] = append(work[sim.ALU], w)
		default:
			work[engine] = append(work[engine], w)
		}
	}
	for engine, ws := range work {
		limit := perCycle(sim.Engine(engine))
		for _, w := range ws {
			b.Slots[engine] += int(w.slots)
		}
		b.Floors[engine] = (b.Slots[engine] + limit - 1) / limit
		b.Engines[engine] = headAndTail(ws, limit, b.Dependence, b.Floors[engine])
	}
	return b
}

// weighed is an operation's slots with the cycles that pass before and after them at the least.
type weighed struct{ head, tail, slots int32 }

// headAndTail returns the greatest bound of all pairs of a head and a tail, which is no less than the floor. Heads and
// tails are at most top.
func headAndTail(ws []weighed, limit, top, floor int) int {
	byHead := newChains(top+1, len(ws))
	for k, w := range ws {
		byHead.add(w.head, int32(k))
	}
	// The slots with at least some head are counted by their tails.
	byTail := make([]int, top+1)
	best, total, longest := floor, 0, 0
	for head := top; head >= 0; head-- {
		if byHead.head[head] < 0 {
			continue
		}
		for k := byHead.head[head]; k >= 0; k = byHead.next[k] {
			w := ws[k]
			byTail[w.tail] += int(w.slots)
			total, longest = total+int(w.slots), max(longest, int(w.tail))
		}
		// Shorter tails gain nothing where not even all slots would.
		slots, all := 0, head+(total+limit-1)/limit
		for tail := longest; tail >= 0 && all+tail > best; tail-- {
			if byTail[tail] > 0 {
				slots += byTail[tail]
				best = max(best, head+(slots+limit-1)/limit+tail)
			}
		}
	}
	return best
}

// BoundOf returns the bound of a configuration's graph with all groups in flight: fewer in flight only add to what waits, so it bounds their
// schedules too, and seldom by less.
func BoundOf(s tree.Shape, cfg Config, indices bool) (Bound, error) {
	if err := cfg.Validate(s, indices); err != nil {
		return Bound{}, err
	}
	cfg.Window = Groups(s)
	c := newCompilation(s, cfg, indices, -1)
	if err := c.through(context.Background(), "engines"); err != nil {
		return Bound{}, err
	}
	return c.graph.bound(c.graph.edges()), nil
}
