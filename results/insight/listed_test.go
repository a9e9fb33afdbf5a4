package insight_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"tune/results/insight"
	"tune/space"
)

// lookListed looks at outcomes in a space that lists its points.
func lookListed(t *testing.T, params []space.Parameter, rows [][]int, entries []space.Entry) *insight.Insight {
	t.Helper()
	listed, err := space.FromRows("rows", params, rows)
	if err != nil {
		t.Fatal(err)
	}
	in, err := insight.Look(history(entries), listed, insight.Reference{}, learn)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// Of a list of points that is a sample of a grid, a parameter that decides nothing has no share, and the shares add up to little more than 100 %. With
// what chance gives, those of a model of 40 points add up to 500 %.
func TestSampleOfGrid(t *testing.T) {
	for _, n := range []int{40, 100, 300} {
		for seed := range uint64(4) {
			rng := rand.New(rand.NewPCG(seed, 1))
			var params []space.Parameter
			for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
				params = append(params, space.Range(name, 0, 7))
			}
			var rows [][]int
			var entries []space.Entry
			seen := map[string]bool{}
			for len(rows) < n {
				row := make([]int, len(params))
				key := ""
				for k := range row {
					row[k] = rng.IntN(8)
					key += fmt.Sprintf(" %s=%d", params[k].Name, row[k])
				}
				if seen[key] {
					continue
				}
				seen[key] = true
				cost := math.Exp(0.3*float64(row[0]) + 0.2*float64(row[1]) + 0.1*rng.NormFloat64())
				entries = append(entries, space.Entry{Number: len(rows), Key: key[1:], Outcome: space.Outcome{Status: space.OK, Cost: cost}})
				rows = append(rows, row)
			}
			in := lookListed(t, params, rows, entries)
			for side, of := range map[string]insight.Shares{"learned": *in.Learned, "measured": in.Measured} {
				sum, noise := 0.0, 0.0
				for name, share := range named(of) {
					if sum += share; name != "a" && name != "b" && name != "a × b" {
						noise = max(noise, share)
					}
				}
				if a := named(of)["a"]; a < 0.5 || sum > 1.25 || noise > 0.05 {
					t.Errorf("%d points, seed %d, %s: a has %.2f, all %.2f, and what decides nothing %.2f: %+v", n, seed, side, a, sum, noise, of)
				}
			}
		}
	}
}

// A parameter that has as many values as there are points still has its share: values next to each other count together.
func TestSampleOfManyValues(t *testing.T) {
	params := []space.Parameter{space.Range("a", 0, 39), space.Range("b", 0, 2)}
	var rows [][]int
	var entries []space.Entry
	for i := range 40 {
		rows = append(rows, []int{i, i % 3})
		entries = append(entries, space.Entry{Number: i, Key: fmt.Sprintf("a=%d b=%d", i, i%3), Outcome: space.Outcome{Status: space.OK, Cost: math.Exp(float64(i) / 10)}})
	}
	in := lookListed(t, params, rows, entries)
	for side, of := range map[string]insight.Shares{"learned": *in.Learned, "measured": in.Measured} {
		if shares := named(of); shares["a"] < 0.9 || shares["b"] > 0 {
			t.Errorf("%s: %+v", side, of)
		}
	}
	if !strings.HasPrefix(in.String(), "a 9") {
		t.Errorf("%s, want the share of a", in)
	}
}
