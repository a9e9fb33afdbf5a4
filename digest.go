package tune

import (
	"cmp"
	"slices"
	"sync"

	"tune/results"
	"tune/search"
	"tune/space"
)

// finalists is how many of the best outcomes a digest keeps.
const finalists = 64

// digest is a search.Recorder that passes everything on to the journal and keeps what the export needs, so that
// the export does not have to read a journal that may hold millions of outcomes.
type digest struct {
	search.Recorder

	mu      sync.Mutex
	batches []space.Batch
	right   int           // outcomes that could be exported
	best    []space.Entry // the best of them, in the order of results.Ranking
}

func newDigest(run *results.Run) *digest {
	d := &digest{Recorder: run.Journal, batches: slices.Clone(run.History.Batches)}
	for _, e := range run.History.Entries {
		d.add(e)
	}
	return d
}

// Batch records a batch.
func (d *digest) Batch(b space.Batch) error {
	d.mu.Lock()
	d.batches = append(d.batches, b)
	d.mu.Unlock()
	return d.Recorder.Batch(b)
}

// Record records an outcome.
func (d *digest) Record(e space.Entry) error {
	d.mu.Lock()
	d.add(e)
	d.mu.Unlock()
	return d.Recorder.Record(e)
}

func (d *digest) add(e space.Entry) {
	if e.Outcome.Status != space.OK || e.Outcome.Fidelity != 0 {
		return
	}
	d.right++
	// A total order, so that what is kept does not depend on the order of finishing.
	at, _ := slices.BinarySearchFunc(d.best, e, func(a, b space.Entry) int {
		return cmp.Or(cmp.Compare(a.Outcome.Cost, b.Outcome.Cost), cmp.Compare(a.Number, b.Number))
	})
	if at < finalists {
		d.best = slices.Insert(d.best, at, e)
		d.best = d.best[:min(len(d.best), finalists)]
	}
}

// ranking returns the best outcomes that count at the given end, and whether they are all that do.
func (d *digest) ranking(end results.End) (whole bool, best []space.Entry) {
	d.mu.Lock()
	defer d.mu.Unlock()
	best = slices.Clone(d.best)
	if end.Told > 0 {
		best = slices.DeleteFunc(best, func(e space.Entry) bool { return e.Number >= end.Told })
	}
	return d.right == len(d.best), best
}
