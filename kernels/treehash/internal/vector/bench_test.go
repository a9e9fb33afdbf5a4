package vector

import (
	"context"
	"testing"
)

// benchConfig is a point of the headline shape with three tables and little else, so that its graph is of the usual size.
var benchConfig = Config{
	Levels: 3, Tables: 3, Fuse: true, DeferC: true, FirstFlow: 32, Window: 32, Lanes: true, Laggards: 100,
}

// BenchmarkParts times what a candidate is made of: the bound, which is the cheapest score; the list schedule; a round
// trip of the justifier. A restart is a disturbed trip from the list schedule with those after it until nothing is gained,
// and a greedy candidate is a program as the list schedule has it.
func BenchmarkParts(b *testing.B) {
	b.Run("part=bound", func(b *testing.B) {
		for b.Loop() {
			if _, err := BoundOf(headline, benchConfig, false); err != nil {
				b.Fatal(err)
			}
		}
	})
	g, e := chosen(b, headline, benchConfig, false)
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
	b.Run("part=restart", func(b *testing.B) {
		j := newJustifier(g, e, 1)
		for b.Loop() {
			current, noise := sched, noisiest
			for gained := true; gained; noise = 0 {
				_, early := j.roundTrip(current, noise)
				gained, current = early.cycles < current.cycles, early
			}
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "restarts/s")
	})
	b.Run("part=greedy", func(b *testing.B) {
		for b.Loop() {
			if _, err := Build(context.Background(), headline, benchConfig, false, -1); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "candidates/s")
	})
}
