package warm_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"tune/search"
	"tune/search/warm"
	"tune/space"
)

// drawer asks for random points, and remembers what it learns of other points.
type drawer struct {
	fresh   *search.Fresh
	learned []string
}

func (d *drawer) Ask(p space.Progress) []space.Proposal { return search.Take(8, p, d.fresh.Draw) }

func (d *drawer) Tell([]space.Trial, []space.Outcome) {}

func (d *drawer) Learn(trials []space.Trial, outcomes []space.Outcome) {
	for i, t := range trials {
		d.learned = append(d.learned, fmt.Sprint(t.Point.Key(), " ", outcomes[i].Cost))
	}
}

// TestWarm: the leaders come first, and the strategy learns of them after 24 points of its own. From then on points that were bad in
// the source are postponed if the source ranks points as this run does, and none if it does not.
func TestWarm(t *testing.T) {
	in, err := space.New("line", []space.Parameter{space.Range("x", 0, 399)})
	if err != nil {
		t.Fatal(err)
	}
	for _, sign := range []float64{1, -1} {
		leaders := []int{1, 2, 3, 4, 5} // 0 is the strategy's own start
		if sign < 0 {
			leaders = []int{399, 398, 397, 396, 395, 394}
		}
		var source space.Source
		for p := range in.All() {
			source.Observations = append(source.Observations,
				space.Observation{Point: p, Outcome: space.Outcome{Status: space.OK, Cost: sign * float64(p.Int("x"))}})
		}
		d := &drawer{fresh: search.NewFresh(in, rand.New(rand.NewPCG(1, 1)))}
		s := warm.New(d, d.fresh, []space.Point{in.Default()}, []space.Source{source})
		var asked []int
		var heard []string
		for {
			batch := s.Ask(space.Progress{})
			if len(batch) == 0 {
				break
			}
			var trials []space.Trial
			var outcomes []space.Outcome
			for _, b := range batch {
				x := b.Point.Int("x")
				if len(asked) < len(leaders) {
					heard = append(heard, fmt.Sprint(b.Point.Key(), " ", x))
				}
				trials = append(trials, space.Trial{Number: len(asked), Proposal: b})
				outcomes = append(outcomes, space.Outcome{Status: space.OK, Cost: float64(x)})
				asked = append(asked, x)
			}
			if len(asked) < len(heard)+24 && len(d.learned) > 0 {
				t.Fatalf("after %d points the strategy has heard of %v", len(asked), d.learned)
			}
			s.Tell(trials, outcomes)
		}
		if !slices.Equal(d.learned, heard) {
			t.Errorf("the strategy hears of %v, not %v", d.learned, heard)
		}
		if got := asked[:len(leaders)]; !slices.Equal(got, leaders) {
			t.Errorf("it begins with %v, not %v", got, leaders)
		}
		bad := 0
		for _, x := range asked[50:90] {
			if x >= 300 {
				bad++
			}
		}
		if sign > 0 && bad > 0 || sign < 0 && bad < 4 {
			t.Errorf("source times %v: %d of 40 points are of the worst quarter", sign, bad)
		}
		if slices.Sort(asked); len(asked) != 400 || len(slices.Compact(asked)) != 400 {
			t.Errorf("it asks %d points, not each of 400 once", len(asked))
		}
	}
}
