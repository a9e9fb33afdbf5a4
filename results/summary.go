package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"tune/internal/files"
	"tune/space"
)

// summaryName is the name of the file, in a run directory, from which runs are listed without reading their journals. It can be
// deleted: everything in it is in the journal.
const summaryName = "summary.json"

const (
	summaryFormat = 2
	// wholeUpTo is the size in bytes up to which a journal is read completely all the same: it takes a few milliseconds, and
	// damage is found.
	wholeUpTo = 1 << 20
)

// digested is what a journal says up to the last batch that was asked for when all before it were told. What comes after that
// place is read from the journal, and it is little: a batch, and what was recorded since the file was written.
type digested struct {
	Format  int          `json:"format"`
	Journal int          `json:"journal"` // its format
	Bytes   int64        `json:"bytes"`   // of the journal up to that place
	Lines   int          `json:"lines"`   // that these are
	Run     string       `json:"run"`
	Batches int          `json:"batches"`
	Trials  int          `json:"trials"`
	Ends    []End        `json:"ends,omitempty"`
	Shapes  [][][]string `json:"shapes,omitempty"`  // that were declared: the parameters and the metrics of each
	Metrics []string     `json:"metrics,omitempty"` // the names of all
	Tally   tally        `json:"tally"`
}

// digester follows the records of a journal.
type digester struct {
	settled digested // up to the last place
	run     string   // of the header
	shapes  []shape  // declared up to the last place
	metrics nameSet  // up to there
	since   []measured
	ends    []End
	last    bool // whether the last record is an end
}

// measured is an outcome after that place, and the names of its metrics.
type measured struct {
	entry space.Entry
	names []string
}

func newDigester() digester {
	return digester{settled: digested{Format: summaryFormat, Tally: newTally()}}
}

// see processes a record that begins at a place of the journal. l is the ledger, which has admitted it, and f the format.
func (d *digester) see(r *record, at place, l *ledger, f format) {
	d.last = r.kind == anEnd
	switch r.kind {
	case aHeader:
		d.run = r.run
	case anOutcome:
		m := measured{r.entry, r.metrics}
		if m.names == nil {
			m.names = metricsOf(r.entry.Outcome.Metrics) // this process is writing it
		}
		d.since = append(d.since, m)
	case anEnd:
		d.ends = append(d.ends, r.end)
	case aBatch:
		if l.ended != r.batch.First {
			return // an earlier batch lacks outcomes, which may still come
		}
		for i := range d.since {
			d.settled.Tally.add(&d.since[i].entry)
			d.metrics.add(d.since[i].names)
		}
		d.since = d.since[:0]
		d.settled.Run, d.settled.Ends = d.run, d.ends
		d.settled.Bytes, d.settled.Lines, d.settled.Batches, d.settled.Trials = at.bytes, at.lines, r.batch.Number, r.batch.First
		d.settled.Journal = f.number()
		if lines, ok := f.(*lineFormat); ok {
			d.shapes = lines.shapes
		}
	}
}

// wants reports whether an outcome may be the best so far: only then are its key and metrics read.
func (d *digester) wants(e *space.Entry) bool {
	best := d.settled.Tally.Best
	return best == nil || !space.Objective{}.Less(best.Outcome, e.Outcome)
}

// end is the last record, if that is an end.
func (d *digester) end() *End {
	if !d.last {
		return nil
	}
	return &d.ends[len(d.ends)-1]
}

// elapsedAt is the time that a run had spent at the last of its ends.
func elapsedAt(ends []End) (most float64) {
	for _, e := range ends {
		most = max(most, e.Elapsed)
	}
	return most
}

// names are those of all metrics.
func (d *digester) names() *nameSet {
	var all nameSet
	all.add(d.metrics.sorted())
	for i := range d.since {
		all.add(d.since[i].names)
	}
	return &all
}

// summary is the summary of the run, without the trials that End.Trim removes.
func (d *digester) summary() Summary {
	t := d.settled.Tally
	t.Counts = maps.Clone(t.Counts)
	last := d.end()
	for i := range d.since {
		e := &d.since[i].entry
		if last == nil || last.Told == 0 || e.Number < last.Told {
			t.add(e)
		}
		t.Elapsed = max(t.Elapsed, e.Elapsed)
	}
	t.Elapsed = max(t.Elapsed, elapsedAt(d.ends))
	return t.summary()
}

// file returns the content for the summary file; false where there is nothing yet.
func (d *digester) file() (digested, bool) {
	out := d.settled
	out.Shapes = nil // those that it was read with
	out.Tally.Counts = maps.Clone(out.Tally.Counts)
	out.Tally.Elapsed = max(out.Tally.Elapsed, elapsedAt(out.Ends))
	out.Metrics = d.metrics.sorted()
	for _, s := range d.shapes {
		out.Shapes = append(out.Shapes, [][]string{s.params, s.metrics})
	}
	return out, out.Bytes > 0
}

func writeSummary(dir string, d digested) error {
	data, err := json.Marshal(d)
	if err != nil {
		return err
	}
	return files.Stream(filepath.Join(dir, summaryName), false, func(w io.Writer) error {
		_, err := w.Write(append(data, '\n'))
		return err
	})
}

// summarise returns the result of a run so far and how it ended; the end is nil where the run has not ended.
func summarise(dir string) (Summary, *End, error) {
	file, err := readerOf(filepath.Join(dir, JournalName))
	if err != nil {
		return Summary{}, nil, err
	}
	defer file.Close()
	_, d, err := digestOf(dir, file)
	return d.summary(), d.end(), err
}

// digestOf reads the journal of a directory to its end: the part after the place that the summary file names, or all of it where
// it is short or the two do not match. Neither result is nil.
func digestOf(dir string, journal *os.File) (*scanner, *digester, error) {
	if s, d, err := openSummary(dir, journal); err == nil {
		if err := d.follow(s); err == nil {
			return s, d, nil
		}
	}
	d := newDigester()
	s := newScanner(journal)
	s.whole = d.wants
	if _, err := journal.Seek(0, io.SeekStart); err != nil {
		return s, &d, err
	}
	return s, &d, d.follow(s)
}

// follow processes all remaining records.
func (d *digester) follow(s *scanner) error {
	return s.readAll(func(r *record, at place) { d.see(r, at, &s.ledger, s.format) })
}

// openSummary returns a scanner that starts where the summary file ends, and a digester that knows what comes before.
func openSummary(dir string, journal *os.File) (*scanner, *digester, error) {
	path := filepath.Join(dir, summaryName)
	d := newDigester()
	if err := readJSON(path, summaryFormat, files.Settings, &d.settled); err != nil {
		return nil, nil, err
	}
	in := &d.settled
	if in.Bytes <= 0 || in.Lines <= 0 || in.Batches < 0 || in.Trials < 0 || in.Journal < 1 || in.Journal > newestFormat || in.Tally.Counts == nil {
		return nil, nil, fmt.Errorf("%s makes no sense", path)
	}
	if in.Bytes < wholeUpTo {
		return nil, nil, errors.New("the journal is short enough to be read")
	}
	// The place must be where a batch of that number begins; otherwise this is not the journal that the file was made from.
	if _, err := journal.Seek(in.Bytes, io.SeekStart); err != nil {
		return nil, nil, err
	}
	s := newScanner(journal)
	s.whole = d.wants
	s.setFormat(newFormat(in.Journal))
	s.valid, s.total, s.lines, s.number = in.Bytes, in.Bytes, in.Lines, in.Lines
	s.ledger.batches, s.ledger.trials, s.ledger.ended = in.Batches, in.Trials, in.Trials
	s.outline = Outline{RunID: in.Run, Batches: in.Batches, Outcomes: in.Tally.outcomes(), Elapsed: in.Tally.Elapsed, Ends: slices.Clone(in.Ends)}
	s.tally, s.metrics = in.Tally, nameSet{}
	s.tally.Counts = maps.Clone(in.Tally.Counts)
	s.metrics.add(in.Metrics)
	d.run, d.ends = in.Run, slices.Clone(in.Ends)
	d.metrics.add(in.Metrics)
	if lines, ok := s.format.(*lineFormat); ok {
		lines.trials = in.Trials
		for _, names := range in.Shapes {
			if len(names) != 2 {
				return nil, nil, fmt.Errorf("%s makes no sense", path)
			}
			lines.add(shape{params: names[0], metrics: names[1]})
		}
		d.shapes = lines.shapes
	}
	at := place{in.Bytes, in.Lines}
	var r record
	if err := s.next(&r); err != nil || r.kind != aBatch {
		return nil, nil, errors.Join(err, fmt.Errorf("%s is not of this journal", path))
	}
	d.see(&r, at, &s.ledger, s.format)
	return s, &d, nil
}
