package vector

import "tune/sim"

// chooseEngines decides which vector arithmetic may leave the vector engine. multiply_add and vbroadcast have no
// scalar form, and stay.
func chooseEngines(g *graph, c Config) {
	if c.ALU == ALUNever {
		return
	}
	moved, movable := 0, 0
	for i := range g.ops {
		o := &g.ops[i]
		if o.place != onVALU || o.code == sim.OpMultiplyAdd || o.code == sim.OpVBroadcast {
			continue
		}
		if c.ALU == ALUIdle {
			o.place = onEither
			continue
		}
		// Bresenham's line spreads the share evenly.
		movable++
		if movable*c.Share/16 > moved {
			moved++
			o.place, o.units = onLanes, sim.VLen
		}
	}
}
