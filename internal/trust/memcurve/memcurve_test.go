package memcurve

import (
	"fmt"
	"strings"
	"testing"

	"tune/search/strategies"
)

// TestPerPoint: what is alive for each evaluated point stays below the limit, with the journal's digest, the strategy and
// what wraps it. Beside that there is what does not grow, which counts for less the longer the run is.
func TestPerPoint(t *testing.T) {
	if testing.Short() {
		t.Skip("some tens of thousands of evaluations for each strategy")
	}
	for _, s := range strategies.Table() {
		evaluations := mostEvaluations
		levels := []int{0} // the wrapper for fidelities is the same for each
		switch s.Name {
		case "grid": // it needs more, because its set of points grows by doubling
			evaluations = 30_000
		case "evolve":
			levels = []int{0, 2}
		case "auto": // slow; with fidelities it is in the wrapper as it is without
			evaluations, levels = autoEvaluations, []int{2}
		case "surrogate": // slow, and a part of auto
			evaluations, levels = surrogateEvaluations, []int{0}
		}
		for _, levels := range levels {
			t.Run(fmt.Sprintf("strategy=%s/levels=%d", s.Name, levels), func(t *testing.T) {
				var out strings.Builder
				err := Run(t.Context(), &out, Options{Evaluations: evaluations, Strategy: s.Name, Levels: levels, Dir: t.TempDir(), Rows: 3, PerPoint: perPoint(s.Name)})
				t.Logf("\n%s", &out)
				if err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// perPoint is the limit of a strategy: 200 bytes, but of those with a model, whose runs here are short, as they are slow.
// The model itself takes some megabytes, however long the run is.
func perPoint(strategy string) int64 {
	return map[string]int64{"auto": 200 + model/autoEvaluations, "surrogate": 200 + model/surrogateEvaluations}[strategy]
}

const model = 8 << 20

// TestLimits: a limit that is passed is an error.
func TestLimits(t *testing.T) {
	for _, o := range []Options{{Evaluations: 2000, MostRSS: 1 << 20}, {Evaluations: 2000, PerPoint: 1}, {Evaluations: -1}} {
		var out strings.Builder
		if err := Run(t.Context(), &out, o); err == nil {
			t.Errorf("%+v: no error\n%s", o, &out)
		}
	}
}
