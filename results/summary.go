package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"

	"tune/internal/files"
	"tune/space"
)

// SummaryName is the name of the file, in a run directory, from which a list of runs is made without reading their
// journals. It can be deleted: what it says is in the journal.
const SummaryName = "summary.json"

const (
	summaryFormat = 1
	// wholeUpTo is how much of a journal, in bytes, is read all the same: it takes a few milliseconds, and what is
	// damaged shows.
	wholeUpTo = 1 << 20
)

// digested is what a journal says up to the last batch that was asked when all before it were told. What comes after
// that place is read from the journal, and it is little: a batch, and what was recorded since the file was written.
type digested struct {
	Format  int          `json:"format"`
	Journal int          `json:"journal"` // its format
	Bytes   int64        `json:"bytes"`   // of the journal up to that place
	Batches int          `json:"batches"`
	Trials  int          `json:"trials"`
	Shapes  [][][]string `json:"shapes,omitempty"` // that were declared: the parameters and the metrics of each
	Tally   tally        `json:"tally"`
}

// digester follows the records of a journal.
type digester struct {
	settled digested      // up to the last place
	shapes  []shape       // declared up to there
	since   []space.Entry // outcomes after it
	last    *End          // the last record, where that is an end
	elapsed float64       // at the last end
}

func newDigester() digester {
	return digester{settled: digested{Format: summaryFormat, Tally: newTally()}}
}

// see takes a record that begins at an offset of the journal. l is the ledger, which has admitted it, and f the format.
func (d *digester) see(r *record, offset int64, l *ledger, f format) {
	d.last = nil
	switch r.kind {
	case anOutcome:
		d.since = append(d.since, r.entry)
	case anEnd:
		end := r.end
		d.last, d.elapsed = &end, max(d.elapsed, end.Elapsed)
	case aBatch:
		if l.ended != r.batch.First {
			return // an earlier batch lacks outcomes, which may still come
		}
		for i := range d.since {
			d.settled.Tally.add(&d.since[i])
		}
		d.since = d.since[:0]
		d.settled.Bytes, d.settled.Batches, d.settled.Trials = offset, r.batch.Number, r.batch.First
		d.settled.Journal = f.number()
		if lines, ok := f.(*lineFormat); ok {
			d.shapes = lines.shapes
		}
	}
}

// wants reports whether an outcome may be the best so far: of no other the key and the metrics are looked at.
func (d *digester) wants(e *space.Entry) bool {
	best := d.settled.Tally.Best
	return best == nil || !space.Objective{}.Less(best.Outcome, e.Outcome)
}

// summary is that of the run, without the trials that End.Trim takes away.
func (d *digester) summary() Summary {
	t := d.settled.Tally
	t.Counts = maps.Clone(t.Counts)
	for i := range d.since {
		if d.last == nil || d.last.Told == 0 || d.since[i].Number < d.last.Told {
			t.add(&d.since[i])
		}
		t.Elapsed = max(t.Elapsed, d.since[i].Elapsed)
	}
	t.Elapsed = max(t.Elapsed, d.elapsed)
	return t.summary()
}

// file returns what the summary file is to hold; false where there is nothing yet.
func (d *digester) file() (digested, bool) {
	out := d.settled
	out.Tally.Counts = maps.Clone(out.Tally.Counts)
	out.Tally.Elapsed = max(out.Tally.Elapsed, d.elapsed)
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
	return writeFile(filepath.Join(dir, SummaryName), false, func(w io.Writer) error {
		_, err := w.Write(append(data, '\n'))
		return err
	})
}

// summarise says what a run has come to and how it ended, nil where it did not. It reads the summary file and the
// rest of the journal, or all of it where that is short or the two do not fit.
func summarise(dir string) (Summary, *End, error) {
	file, err := readerOf(filepath.Join(dir, JournalName))
	if err != nil {
		return Summary{}, nil, err
	}
	defer file.Close()
	if s, d, err := openSummary(dir, file); err == nil {
		if err := d.follow(s); err == nil {
			return d.summary(), d.last, nil
		}
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return Summary{}, nil, err
	}
	d := newDigester()
	s := newScanner(file)
	s.whole = d.wants
	err = d.follow(s)
	return d.summary(), d.last, err
}

// follow sees all records that are left.
func (d *digester) follow(s *scanner) error {
	base := d.settled.Bytes
	_, err := s.readAll(func(r *record, offset int64) { d.see(r, base+offset, &s.ledger, s.format) })
	return err
}

// openSummary returns a scanner that goes on where the summary file ends, and a digester that knows what comes before.
func openSummary(dir string, journal *os.File) (*scanner, *digester, error) {
	path := filepath.Join(dir, SummaryName)
	d := newDigester()
	if err := readJSON(path, summaryFormat, files.Settings, &d.settled); err != nil {
		return nil, nil, err
	}
	in := &d.settled
	if in.Bytes <= 0 || in.Batches < 0 || in.Trials < 0 || in.Journal < 1 || in.Journal > newestFormat || in.Tally.Counts == nil {
		return nil, nil, fmt.Errorf("%s makes no sense", path)
	}
	if in.Bytes < wholeUpTo {
		return nil, nil, errors.New("the journal is short enough to be read")
	}
	// The place must be where a batch of that number begins, or this is not the journal that the file was made from.
	if _, err := journal.Seek(in.Bytes, io.SeekStart); err != nil {
		return nil, nil, err
	}
	s := newScanner(journal)
	s.format, s.lines = newFormat(in.Journal), 1 // the header is behind
	s.ledger.batches, s.ledger.trials, s.ledger.ended = in.Batches, in.Trials, in.Trials
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
	var r record
	if err := s.next(&r); err != nil || r.kind != aBatch {
		return nil, nil, errors.Join(err, fmt.Errorf("%s is not of this journal", path))
	}
	d.see(&r, in.Bytes, &s.ledger, s.format)
	return s, &d, nil
}
