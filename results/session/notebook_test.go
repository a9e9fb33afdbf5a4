package session

import (
	"fmt"
	"path/filepath"
	"reflect"
	"testing"

	"tune/results"
	"tune/results/insight"
	"tune/results/schedule"
	"tune/space"
)

// Whatever the order in which outcomes become known, and over two sittings, the notebook has the table of the journal.
func TestNotebook(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	run, err := results.Create(dir, results.Settings{Kernel: "toy", Strategy: "grid"})
	if err != nil {
		t.Fatal(err)
	}
	record := func(n *notebook, number int) {
		key := fmt.Sprintf("kind=%d size=%d", number%2, 1<<(number%5))
		if number%3 == 0 {
			key = fmt.Sprintf("kind=2 depth=%d size=8", number)
		}
		o := space.Outcome{Status: space.OK, Cost: float64(number)}
		if number%4 == 1 {
			o = space.Fail(space.WrongAnswer, "trial %d", number)
		}
		if err := n.Record(space.Entry{Number: number, Key: key, Outcome: o}); err != nil {
			t.Fatal(err)
		}
	}
	begin := func(n *notebook, number int) {
		if err := n.Batch(space.Batch{Number: number, First: 4 * number, Count: 4}); err != nil {
			t.Fatal(err)
		}
	}
	first := newNotebook(schedule.NewDigest(run, nil))
	for batch := range 3 {
		begin(first, batch)
		for _, i := range []int{2, 3, 0, 1} {
			if batch < 2 || i > 1 { // the first sitting ends within the third batch
				record(first, 4*batch+i)
			}
		}
	}
	if err := run.Close(); err != nil {
		t.Fatal(err)
	}
	if run, err = results.Open(dir); err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	second := newNotebook(schedule.NewDigest(run, nil))
	for _, err := range second.Rounds() {
		if err != nil {
			t.Fatal(err)
		}
	}
	record(second, 9)
	record(second, 8)
	begin(second, 3)
	record(second, 15)
	if err := second.Sync(); err != nil {
		t.Fatal(err)
	}
	look, err := results.Look(dir)
	if err != nil {
		t.Fatal(err)
	}
	want, err := insight.Collect(look, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range want.Rows {
		want.Rows[i].Elapsed = 0
	}
	got := second.table()
	if !reflect.DeepEqual(got, want) || got.Seen != 13 {
		t.Errorf("the notebook has\n%+v\nand the journal\n%+v", got, want)
	}
	_, best, _ := second.Ranking(results.End{})
	ranking, err := results.Ranking(look, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range best {
		best[i].Elapsed, ranking[i].Elapsed = 0, 0
	}
	if !reflect.DeepEqual(best, ranking) {
		t.Errorf("the best are\n%+v\nand in the journal\n%+v", best, ranking)
	}
}
