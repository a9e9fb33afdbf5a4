package vector

import (
	"fmt"

	"tune/sim"
)

// checkEngines reports an operation whose engine cannot execute it.
func (g *graph) checkEngines() error {
	engines := [numPlaces]sim.Engine{onALU: sim.ALU, onVALU: sim.VALU, onEither: sim.VALU, onLoad: sim.Load, onStore: sim.Store, onFlow: sim.Flow}
	for i := range g.ops {
		o := &g.ops[i]
		if o.place == onNone {
			continue
		}
		if o.code.Engine() != engines[o.place] || o.place == onEither && (o.code == sim.OpMultiplyAdd || o.code == sim.OpVBroadcast) {
			return fmt.Errorf("operation %d, %v, cannot be executed on %v", i, o.code, o.place)
		}
	}
	return nil
}

// check reports an arc that the schedule breaks, or a cycle that asks more of an engine than it has.
func (s *schedule) check(g *graph, e *edges) error {
	used := make([][sim.NumEngines]int, s.cycles)
	for i := range g.ops {
		o, n := &g.ops[i], int32(i)
		switch {
		case o.place == onNone:
		case s.spread(n):
			engine := sim.ALU
			if o.place == onLoad {
				engine = sim.Load
			}
			for l := range sim.VLen {
				at := s.lanes[sim.VLen*i+l]
				if at < s.first[i] || at > s.last[i] {
					return fmt.Errorf("lane %d of operation %d is in cycle %d, not in %d to %d", l, i, at, s.first[i], s.last[i])
				}
				used[at][engine]++
			}
		default:
			if s.first[i] != s.last[i] || o.units != 1 {
				return fmt.Errorf("operation %d has one slot in %d to %d", i, s.first[i], s.last[i])
			}
			used[s.first[i]][o.code.Engine()]++
		}
		for _, a := range e.succs(n) {
			gap := int32(1)
			if a&1 == 1 || o.place == onNone {
				gap = 0
			}
			end := s.last[i]
			if o.place == onNone {
				end++ // a fence stands before the cycle after its last
			}
			if to := a >> 1; s.first[to] < end+gap {
				return fmt.Errorf("operation %d begins in cycle %d, and operation %d ends in %d", to, s.first[to], i, s.last[i])
			}
		}
	}
	for cycle, engines := range used {
		for e, n := range engines {
			if n > sim.SlotLimit[e] {
				return fmt.Errorf("cycle %d uses %d slots of %v", cycle, n, sim.Engine(e))
			}
		}
	}
	return nil
}
