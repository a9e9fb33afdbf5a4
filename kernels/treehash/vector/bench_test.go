package vector

import (
	"context"
	"testing"
)

// benchConfig is a point of the headline shape with three tables, as most good ones have.
var benchConfig = Config{
	Levels: 3, Tables: 3, Fuse: true, DeferC: true, FirstFlow: 64, NextFlow: 32, WindowGather: 32, StoreCopies: 16,
	CopyBuffers: 8, DeriveConstants: 32, Window: 32, Lanes: true, MaddFirst: true,
	LoadRound: 300, VectorRound: 300, ScalarRound: 300, FlowRound: 300, SetupRound: 300, Laggards: 100,
}

// BenchmarkParts times what a candidate is made of: the bound, which is the cheapest score; the list schedule; a round
// trip of the justifier.
func BenchmarkParts(b *testing.B) {
	b.Run("part=bound", func(b *testing.B) {
		for b.Loop() {
			if _, err := BoundOf(headline, benchConfig, false); err != nil {
				b.Fatal(err)
			}
		}
	})
	g := lower(headline, benchConfig, false)
	chooseEngines(g, benchConfig)
	e := g.edges()
	sched, err := listSchedule(context.Background(), g, e, benchConfig)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("part=list", func(b *testing.B) {
		for b.Loop() {
			if _, err := listSchedule(context.Background(), g, e, benchConfig); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, noise := range []int{0, 8} {
		name := "part=trip"
		if noise > 0 {
			name = "part=disturbed"
		}
		b.Run(name, func(b *testing.B) {
			j := newJustifier(g, e, 1)
			for b.Loop() {
				late, early := j.roundTrip(sched, noise)
				j.spare = append(j.spare, late, early)
			}
			b.ReportMetric(float64(len(g.ops)), "operations")
		})
	}
}
