// Report reads the directory of a run, of any kernel, and prints for each value of a parameter how often it was tried, how often
// it was right, and the least cost with it.
package main

import (
	"fmt"
	"log"
	"maps"
	"os"
	"slices"
	"strings"

	"tune/results"
	"tune/space"
)

// tally is what became of the points with one value.
type tally struct {
	tried, right int
	best         space.Outcome
}

func (t *tally) add(o space.Outcome) {
	t.tried++
	if o.Status != space.OK {
		return
	}
	if t.right++; t.right == 1 || (space.Objective{}).Less(o, t.best) {
		t.best = o
	}
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: report RUN")
	}
	run, err := results.Read(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	values := map[string]*tally{}
	for round, err := range run.Rounds() {
		if err != nil {
			log.Fatal(err)
		}
		for _, e := range round.Entries {
			for _, pair := range strings.Fields(e.Key) {
				if values[pair] == nil {
					values[pair] = &tally{}
				}
				values[pair].add(e.Outcome)
			}
		}
	}
	unit := space.Unit(run.Settings.Unit)
	for _, pair := range slices.Sorted(maps.Keys(values)) {
		v := values[pair]
		fmt.Printf("%-24s %4d tried %4d right", pair, v.tried, v.right)
		if v.right > 0 {
			fmt.Printf("   best %s", unit.Words(v.best.Cost))
		}
		fmt.Println()
	}
}
