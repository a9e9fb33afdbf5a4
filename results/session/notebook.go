package session

import (
	"cmp"
	"iter"
	"slices"
	"sync"

	"tune/results/insight"
	"tune/results/schedule"
	"tune/space"
)

// notebook is a digest of the run that also collects the outcomes for package insight, so that a long journal need not be read once more
// at the end. It is the recorder and the history of the search, and passes on everything to the digest.
type notebook struct {
	*schedule.Digest

	mu        sync.Mutex
	collector *insight.Collector
	// last are the outcomes of the last batch in the order in which they became known. collect takes them in the order asked.
	last []space.Entry
}

func newNotebook(d *schedule.Digest) *notebook {
	return &notebook{Digest: d, collector: insight.NewCollector(0)}
}

// Rounds yields the batches that the journal holds, and notes their outcomes where they are read, which is ahead of the search.
func (n *notebook) Rounds() iter.Seq2[space.Round, error] { return n.RoundsBeside(func() {}) }

// RoundsBeside is Rounds for [search.ReadAhead].
func (n *notebook) RoundsBeside(beside func()) iter.Seq2[space.Round, error] {
	return n.Digest.Asked(n.collector.Keeps, func(r space.Round) {
		n.collect()
		n.note(r.Entries...)
		beside()
	})
}

// Batch records a batch.
func (n *notebook) Batch(b space.Batch) error {
	n.collect()
	return n.Digest.Batch(b)
}

// Record records an outcome, and notes it.
func (n *notebook) Record(e space.Entry) error {
	n.note(e)
	return n.Digest.Record(e)
}

// note adds outcomes to those of the last batch.
func (n *notebook) note(entries ...space.Entry) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.last = append(n.last, entries...)
}

// collect gives the outcomes of the last batch to the collector.
func (n *notebook) collect() {
	n.mu.Lock()
	defer n.mu.Unlock()
	slices.SortFunc(n.last, func(a, b space.Entry) int { return cmp.Compare(a.Number, b.Number) })
	for i := range n.last {
		n.collector.Add(&n.last[i])
	}
	n.last = n.last[:0]
}

// table returns the table of all outcomes. Nothing may be recorded after it.
func (n *notebook) table() *insight.Table {
	n.collect()
	return n.collector.Table()
}
