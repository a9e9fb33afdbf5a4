package strategies_test

import (
	"context"
	"testing"

	"tune/search"
	"tune/search/internal/functions"
	"tune/search/strategies"
	"tune/space"
)

// BenchmarkOverhead measures what a run costs beside its evaluations: a function of ten parameters that takes no
// time itself, and 1,000 evaluations.
func BenchmarkOverhead(b *testing.B) {
	const evaluations = 1000
	f := functions.Sphere(10)
	for _, strategy := range strategies.Table() {
		b.Run("strategy="+strategy.Name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s, err := strategy.New(f.Space, 1, strategies.Hints{})
				if err != nil {
					b.Fatal(err)
				}
				ev := search.EvaluatorFunc(func(_ context.Context, t space.Trial) (space.Outcome, error) {
					return space.Outcome{Status: space.OK, Cost: f.Cost(t.Point)}, nil
				})
				r, err := search.Run(b.Context(), s, ev, search.Settings{Budget: search.Budget{Evaluations: evaluations}})
				if err != nil || r.Told != evaluations {
					b.Fatal(r.Told, err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/evaluations, "µs/evaluation")
		})
	}
}
