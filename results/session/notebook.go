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

// notebook is a digest that also collects what the outcomes say about the parameters, so that a long journal need not be read for it
// once more.
type notebook struct {
	*schedule.Digest

	mu        sync.Mutex
	collector *insight.Collector
	// last are the outcomes of the last batch in the order in which they became known. They are collected in the order asked.
	last []space.Entry
}

func newNotebook(d *schedule.Digest) *notebook {
	return &notebook{Digest: d, collector: insight.NewCollector(0)}
}

// Rounds yields what the journal holds, and collects it.
func (n *notebook) Rounds() iter.Seq2[space.Round, error] {
	return func(yield func(space.Round, error) bool) {
		for r, err := range n.Digest.Rounds() {
			n.turn()
			n.note(r.Entries...)
			if !yield(r, err) {
				return
			}
		}
	}
}

// Batch records a batch.
func (n *notebook) Batch(b space.Batch) error {
	n.turn()
	return n.Digest.Batch(b)
}

// Record records an outcome, and collects it.
func (n *notebook) Record(e space.Entry) error {
	n.note(e)
	return n.Digest.Record(e)
}

func (n *notebook) note(entries ...space.Entry) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.last = append(n.last, entries...)
}

// turn collects the last batch.
func (n *notebook) turn() {
	n.mu.Lock()
	defer n.mu.Unlock()
	slices.SortFunc(n.last, func(a, b space.Entry) int { return cmp.Compare(a.Number, b.Number) })
	for i := range n.last {
		n.collector.Add(&n.last[i])
	}
	n.last = n.last[:0]
}

// table returns the table of all outcomes. Nothing can be recorded after it.
func (n *notebook) table() *insight.Table {
	n.turn()
	return n.collector.Table()
}
