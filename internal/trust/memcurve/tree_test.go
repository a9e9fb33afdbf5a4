package memcurve

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"

	"tune/kernels"
	"tune/kernels/treehash"
	"tune/space"
)

// tree is the tree-hash kernel with costs that are made up, so that an evaluation takes next to nothing. Its space, its fidelities and its
// metrics are those of the kernel. Costs are as far apart as those of the kernel, and as many points fail.
type tree struct{ treehash.Kernel }

func (t tree) Problem(shape kernels.Shape) (kernels.Problem, error) {
	inner, err := t.Kernel.Problem(shape)
	if err != nil {
		return nil, err
	}
	p := &madeUp{Problem: inner}
	for i, param := range inner.Space().Parameters() {
		p.knobs = append(p.knobs, newKnob(i, param.Len(), slices.Contains(inner.Traits().Blind, param.Name)))
	}
	return p, nil
}

// madeUp is a problem of it.
type madeUp struct {
	kernels.Problem
	knobs []knob
}

// knob is a parameter.
type knob struct {
	blind     bool
	size      int
	best      int     // the ordinal that costs least
	weight    float64 // what the ordinal farthest from that costs, in cycles
	takesRoom bool
}

func newKnob(i, size int, blind bool) knob {
	k := knob{blind: blind, size: size, best: int(drawn(i, 1) * float64(size)), weight: 2 + 30*drawn(i, 2), takesRoom: drawn(i, 4) < 0.3}
	if blind {
		k.weight = 4
	}
	return k
}

// drawn returns a number from 0 to 1 that depends only on some others.
func drawn(of ...int) float64 {
	h := uint64(0x9E3779B97F4A7C15)
	for _, v := range of {
		h = (h ^ uint64(v+1)) * 0xBF58476D1CE4E5B9
		h ^= h >> 29
	}
	return float64(h>>11) / (1 << 53)
}

func (p *madeUp) Traits() kernels.Traits {
	inner := p.Problem.Traits()
	return kernels.Traits{Levels: inner.Levels, Blind: inner.Blind, BuildAt: p.buildAt}
}

func (p *madeUp) Build(ctx context.Context, point space.Point) (kernels.Candidate, error) {
	return p.buildAt(ctx, point, 0)
}

const (
	leastCycles = 860 // of a program
	// A scalar program takes so many times more.
	scalarFactor = 40
	// Points of more room than that fail at each fidelity, and those that have fewer buffers than copies at all but the cheapest.
	mostRoom = 3.2
	// pairCycles is what two values cost together at the most.
	pairCycles = 4
	// coarse is how many groups the values of a parameter make where they matter together with others.
	coarse = 8
)

func (p *madeUp) buildAt(ctx context.Context, point space.Point, fidelity int) (kernels.Candidate, error) {
	forecast, adjusted, room, noise := float64(leastCycles), 0.0, 0.0, 0
	for i := range p.knobs {
		k, o := &p.knobs[i], point.Ordinal(i)
		if o < 0 {
			continue
		}
		cost := k.weight * math.Abs(float64(o-k.best)) / float64(k.size)
		noise = (31*noise + o) % 9973
		if k.blind {
			adjusted += cost
			continue
		}
		if k.takesRoom {
			room += float64(o) / float64(k.size)
		}
		forecast += cost
		if j := (i + 5) % len(p.knobs); !p.knobs[j].blind && point.Ordinal(j) >= 0 {
			forecast += pairCycles * drawn(i, j, coarse*o/k.size, coarse*point.Ordinal(j)/p.knobs[j].size)
		}
	}
	if point.Str("family") == "scalar" {
		forecast *= scalarFactor
	}
	if room > mostRoom {
		return nil, kernels.Reject(space.Invalid, "the program needs %.0f words of scratch, and the machine has 1536", 1536*room/mostRoom)
	}
	c := &program{cycles: forecast, bound: math.Floor(forecast)}
	if fidelity == p.Traits().Levels {
		return c, nil
	}
	if point.Int("store_copies") > 4*point.Int("copy_buffers") {
		return nil, kernels.Reject(space.Invalid, "%d copies have no buffer", point.Int("store_copies"))
	}
	c.slots = noise%97 + 1
	c.cycles = math.Ceil(forecast*1.004+adjusted) + float64(c.slots%6)*float64(fidelity)
	return c, ctx.Err()
}

// program is a candidate: a forecast where slots is 0.
type program struct {
	cycles, bound float64
	slots         int
}

func (c *program) Check(ctx context.Context, _ uint64) error { return ctx.Err() }

func (c *program) Score(context.Context, int) (kernels.Score, error) {
	if c.slots == 0 {
		return kernels.Score{Cost: c.cycles, Metrics: []space.Metric{{Name: space.MetricBound, Value: c.bound}}}, nil
	}
	var metrics []space.Metric
	for i, name := range []string{"alu", "floor", "flow", "load", "slots", "store", "valu"} {
		metrics = append(metrics, space.Metric{Name: name, Value: c.bound + float64(i*c.slots)})
	}
	return kernels.Score{Cost: c.cycles, Metrics: metrics}, nil
}

func (c *program) Abilities() kernels.Abilities { return kernels.Abilities{} }

func (c *program) Artifacts() ([]kernels.Artifact, error) {
	return []kernels.Artifact{{Name: "program.txt", Write: func(w io.Writer) error {
		_, err := fmt.Fprintln(w, c.cycles)
		return err
	}}}, nil
}
