package schedule

import (
	"iter"
	"slices"
	"sync"

	"tune/results"
	"tune/search"
	"tune/space"
)

// Kept is how many of the best outcomes a digest keeps.
const Kept = 64

// Digest is a search.Recorder that passes everything on to the journal and keeps what the export needs, so that the export does
// not have to read a journal of perhaps millions of outcomes. It is also what the search.History of the run is made of, and digests
// what is read from there.
type Digest struct {
	search.Recorder
	past results.Stored
	dir  string // of the run

	mu      sync.Mutex
	batches []space.Batch // batches needed to tell how the run can be reproduced
	right   int           // outcomes that could be exported
	best    []space.Entry // the best of them, in the order of results.Ranking
	// isSerial is that of NewDigest.
	isSerial func(space.Entry) bool
	serial   []space.Entry // the best of those, in the same order
}

// NewDigest follows a run. isSerial reports whether an outcome is of a point with one thread; these are kept separately. It is
// nil where all points are serial.
func NewDigest(run *results.Run, isSerial func(space.Entry) bool) *Digest {
	return &Digest{Recorder: run.Journal, past: run.Stored, dir: run.Dir, isSerial: isSerial}
}

// Asked yields what the journal holds, and digests it; see [results.Stored.Asked]. It wants the keys of outcomes that it may keep.
func (d *Digest) Asked(want func(*space.Entry) bool, see func(space.Round)) iter.Seq2[space.Round, error] {
	var best []space.Entry // those of the outcomes that were read
	keeps := func(e *space.Entry) bool {
		if !e.Outcome.Counts() || d.isSerial != nil {
			return e.Outcome.Counts()
		}
		kept := false
		best = keep(best, e, func() bool { kept = true; return true })
		return kept
	}
	return func(yield func(space.Round, error) bool) {
		for r, err := range d.past.Asked(func(e *space.Entry) bool { return keeps(e) || want(e) }, see) {
			if err == nil {
				d.note(r)
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

// Telling returns the batches that are needed to reproduce the run.
func (d *Digest) Telling() []space.Batch { return d.batches }

// Spent returns the time that earlier sittings spent.
func (d *Digest) Spent() float64 { return d.past.Spent() }

// note digests a round of earlier sittings.
func (d *Digest) note(r space.Round) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.batches = keepTelling(d.batches, r.Batch)
	for i := range r.Entries {
		d.add(&r.Entries[i])
	}
}

// keepTelling appends a batch if it is needed to reproduce the run: a batch at which a budget of evaluations was spent, or that
// was asked for under another limit than the one before.
func keepTelling(batches []space.Batch, b space.Batch) []space.Batch {
	p := b.Progress
	if len(batches) > 0 && b.Count != p.Evaluations {
		last := batches[len(batches)-1].Progress
		if p.Evaluations == 0 && last.Evaluations == 0 ||
			p.Evaluations > 0 && last.Evaluations > 0 && p.Told+p.Evaluations == last.Told+last.Evaluations {
			return batches
		}
	}
	return append(batches, b)
}

// batchesOf returns the batches of a run that are needed to reproduce it.
func batchesOf(run *results.Run) ([]space.Batch, error) {
	var batches []space.Batch
	for r, err := range run.Rounds() {
		if err != nil {
			return nil, err
		}
		batches = keepTelling(batches, r.Batch)
	}
	return batches, nil
}

// Batch records a batch.
func (d *Digest) Batch(b space.Batch) error {
	d.mu.Lock()
	d.batches = keepTelling(d.batches, b)
	d.mu.Unlock()
	return d.Recorder.Batch(b)
}

// Record records an outcome.
func (d *Digest) Record(e space.Entry) error {
	d.mu.Lock()
	d.add(&e)
	d.mu.Unlock()
	return d.Recorder.Record(e)
}

func (d *Digest) add(e *space.Entry) {
	if !e.Outcome.Counts() {
		return
	}
	d.right++
	d.best = keep(d.best, e, func() bool { return true })
	if d.isSerial != nil {
		d.serial = keep(d.serial, e, func() bool { return d.isSerial(*e) })
	}
}

// keep inserts an entry that counts into the list of the best if it belongs there. It has its key: its values as they were written would keep
// the memory of many others.
func keep(best []space.Entry, e *space.Entry, belongs func() bool) []space.Entry {
	// The order is total, so that the list does not depend on the order of finishing.
	if len(best) == Kept && (space.Objective{}).Value(e.Outcome) > (space.Objective{}).Value(best[Kept-1].Outcome) {
		return best // as nearly all are in a long run
	}
	at, _ := slices.BinarySearchFunc(best, *e, space.Objective{}.Compare)
	if at >= Kept || !belongs() {
		return best
	}
	best = slices.Insert(best, at, *e)
	best[at].Written = nil
	return best[:min(len(best), Kept)]
}

// Outcomes returns the outcomes of the whole run that count at the given end, which are read from the journal.
func (d *Digest) Outcomes(end results.End) (results.History, error) {
	run, err := results.Look(d.dir)
	if err != nil {
		return nil, err
	}
	return end.Trim(run), nil
}

// Ranking returns the best outcomes that count at the given end, and whether these are all that count; and the best with one
// thread.
func (d *Digest) Ranking(end results.End) (whole bool, best, serial []space.Entry) {
	d.mu.Lock()
	defer d.mu.Unlock()
	best, serial = slices.Clone(d.best), slices.Clone(d.serial)
	if end.Told > 0 {
		late := func(e space.Entry) bool { return e.Number >= end.Told }
		best, serial = slices.DeleteFunc(best, late), slices.DeleteFunc(serial, late)
	}
	return d.right == len(d.best), best, serial
}
