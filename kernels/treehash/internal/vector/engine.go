package vector

import "tune/sim"

// chooseEngines lets vector arithmetic leave the vector engine. multiply_add and vbroadcast have no scalar form, and
// stay.
func chooseEngines(g *graph) {
	for i := range g.ops {
		o := &g.ops[i]
		if o.place == onVALU && o.code != sim.OpMultiplyAdd && o.code != sim.OpVBroadcast {
			o.place = onEither
		}
	}
}
