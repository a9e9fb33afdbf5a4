package results_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tune/results"
	"tune/space"
)

// A small run is recorded, read back, and written as CSV.
func Example() {
	root, err := os.MkdirTemp("", "results-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(root)
	created := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	dir := results.DefaultDir(root, "treehash", created, 7)
	if err := record(dir, created); err != nil {
		log.Fatal(err)
	}

	run, err := results.Read(dir)
	if err != nil {
		log.Fatal(err)
	}
	summary, err := results.Summarise(run)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(filepath.Base(run.Dir), "ended:", run.LastEnd().Why)
	fmt.Printf("%d evaluations, best %v %s at %s\n",
		summary.Evaluations, summary.Best.Outcome.Cost, run.Settings.Unit, summary.Best.Key)

	// A real caller has the space of the kernel read the key.
	values := func(key string) ([]string, error) {
		_, value, _ := strings.Cut(key, "=")
		return []string{value}, nil
	}
	if err := results.WriteCSV(os.Stdout, run, run.LastEnd(), []string{"unroll"}, values); err != nil {
		log.Fatal(err)
	}

	// Output:
	// treehash-20260301-120000-7 ended: evaluations spent
	// 3 evaluations, best 1470 cycles at unroll=4
	// number,batch,fidelity,status,cost,load_slots,unroll,reason
	// 0,0,0,ok,2190,814,1,
	// 1,0,0,ok,1470,802,4,
	// 2,0,0,invalid,,,16,needs 1700 words of scratch; there are 1536
}

// record makes a run of one batch.
func record(dir string, created time.Time) error {
	run, err := results.Create(dir, results.Settings{
		Kernel: "treehash", Unit: "cycles", Strategy: "grid", Seed: 7, Created: created,
	})
	if err != nil {
		return err
	}
	defer run.Close()
	journal := run.Journal
	if err := journal.Batch(space.Batch{Number: 0, First: 0, Count: 3}); err != nil {
		return err
	}
	ok := func(cost, loads float64) space.Outcome {
		return space.Outcome{Status: space.OK, Cost: cost, Metrics: []space.Metric{{Name: "load_slots", Value: loads}}}
	}
	// Outcomes are recorded in the order in which they become known.
	for _, e := range []space.Entry{
		{Number: 2, Key: "unroll=16", Outcome: space.Fail(space.Invalid, "needs 1700 words of scratch; there are 1536")},
		{Number: 0, Key: "unroll=1", Outcome: ok(2190, 814)},
		{Number: 1, Key: "unroll=4", Outcome: ok(1470, 802)},
	} {
		if err := journal.Record(e); err != nil {
			return err
		}
	}
	if err := journal.End(results.End{Why: "evaluations spent", Elapsed: 0.2}); err != nil {
		return err
	}
	return run.Close()
}
