package treehash

import (
	"context"
	"math/rand/v2"
	"testing"

	"tune/kernels"
	"tune/space"
)

// BenchmarkCandidates evaluates random points of the vector family at the headline shape: build, check and
// score, on one core.
func BenchmarkCandidates(b *testing.B) {
	shape, err := kernels.ParseShape(Kernel{}.Info().Shape, "")
	if err != nil {
		b.Fatal(err)
	}
	p, err := Kernel{}.Problem(shape)
	if err != nil {
		b.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	points := make([]space.Point, 0, 64)
	for len(points) < cap(points) {
		point, err := p.Space().Sample(rng)
		if err != nil {
			b.Fatal(err)
		}
		if point.Str("family") == "vector" {
			points = append(points, point)
		}
	}
	e := kernels.Evaluator{Problem: p, CheckSeed: 1}
	i := 0
	b.Run("family=vector", func(b *testing.B) {
		for b.Loop() {
			_, err := e.Evaluate(context.Background(), space.Trial{Number: i, Proposal: space.Proposal{Point: points[i%len(points)]}})
			if err != nil {
				b.Fatal(err)
			}
			i++
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "candidates/s")
	})

	// The check alone, as an export or a verification repeats it: the best of the programs, decoded, on one tree.
	var c *candidate
	for _, point := range points {
		built, err := p.Build(context.Background(), point)
		if kernels.AsRejection(err) != nil {
			continue // it does not fit into scratch
		}
		if err != nil {
			b.Fatal(err)
		}
		if err := built.Check(context.Background(), 1); err != nil {
			b.Fatal(err)
		}
		if next := built.(*candidate); c == nil || next.cycles < c.cycles {
			c = next
		}
	}
	slots := 0
	for _, bundle := range c.program.Bundles {
		slots += len(bundle.Slots)
	}
	b.Run("part=check", func(b *testing.B) {
		for b.Loop() {
			if err := c.Check(context.Background(), 1); err != nil {
				b.Fatal(err)
			}
		}
		perSecond := float64(b.N) / b.Elapsed().Seconds()
		b.ReportMetric(perSecond, "checks/s")
		b.ReportMetric(perSecond*float64(slots), "slots/s")
		b.ReportMetric(float64(c.cycles), "cycles")
	})
}
