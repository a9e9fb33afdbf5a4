package results

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	"tune/internal/files"
	"tune/space"
)

// scanner reads the records of a journal one after another.
type scanner struct {
	name   string
	from   *bufio.Reader
	format format // nil before the first line
	ledger ledger
	whole  func(*space.Entry) bool // see lineFormat
	parts  []string                // likewise
	raw    bool                    // likewise

	outline Outline // of the records that were read
	tally   tally   // of the outcomes that were read
	metrics nameSet // the names of theirs

	line, torn []byte // memory for a long line, and a line without an end
	number     int    // of the line that was read last
	damaged    int    // the first damaged line; 0 for none
	lines      int    // records
	valid      int64  // bytes of them
	total      int64  // bytes read
}

// newScanner reads a journal. Its errors name the file where r has a Name method, as *os.File has.
func newScanner(r io.Reader) *scanner {
	s := &scanner{name: "journal", from: bufio.NewReaderSize(r, 256<<10), ledger: newLedger(), tally: newTally()}
	if named, ok := r.(interface{ Name() string }); ok {
		s.name = named.Name()
	}
	return s
}

func (s *scanner) recovery() Recovery {
	return Recovery{Lines: s.lines, TornBytes: int(s.total - s.valid)}
}

// next reads the next record that concerns the run. It returns io.EOF after the last.
func (s *scanner) next(r *record) error {
	for {
		s.number++
		line, n, err := readLine(s.from, &s.line)
		if err != nil && err != io.EOF {
			return &LineError{s.name, s.number, err}
		}
		s.total += n
		if n == 0 {
			if s.lines == 0 && (s.total > int64(len(s.torn)) || !couldBegin(s.torn)) {
				return fmt.Errorf("%s is not a journal of tune: %s", s.name, restoreRemedy)
			}
			return io.EOF
		}
		if s.format == nil {
			s.setFormat(formatOf(line))
		}
		payload, ok := s.format.unseal(line)
		switch {
		case err == io.EOF || !ok:
			if s.damaged == 0 {
				s.damaged = s.number
			}
			if err == io.EOF {
				s.torn = bytes.Clone(line)
			}
			continue
		case s.damaged != 0:
			return &LineError{s.name, s.damaged, fmt.Errorf("the line is damaged, and line %d after it is not: %s", s.number, s.remedy())}
		}
		if err := s.take(payload, r); err != nil {
			return &LineError{s.name, s.number, err}
		}
		s.lines++
		s.valid = s.total
		if r.kind != aShape {
			s.note(r)
			return nil
		}
	}
}

// remedy is what to do about a line that is damaged in the middle of a journal.
func (s *scanner) remedy() string {
	if s.damaged < 2 {
		return restoreRemedy
	}
	return fmt.Sprintf("restore the file from a copy; without one, 'head -n %d' keeps the lines before it, from which the run goes on", s.damaged-1)
}

// note keeps count of what the records come to.
func (s *scanner) note(r *record) {
	s.outline.add(r)
	if r.kind == anOutcome {
		s.tally.add(&r.entry)
		s.metrics.add(r.metrics)
	}
}

// setFormat sets the format, and tells it what to decode completely.
func (s *scanner) setFormat(f format) {
	s.format = f
	if lines, ok := f.(*lineFormat); ok {
		lines.whole, lines.parts, lines.raw = s.whole, s.parts, s.raw
	}
}

// take reads a record whose checksum is right.
func (s *scanner) take(payload []byte, r *record) error {
	if _, old := s.format.(sealedFormat); old && s.lines == 0 {
		if err := checkSealedHeader(payload); err != nil {
			return err
		}
	}
	if err := s.format.decode(payload, r); err != nil {
		return err
	}
	switch {
	case s.lines == 0 && r.kind != aHeader:
		return errors.New("the first record is not a header")
	case s.lines > 0 && r.kind == aHeader:
		return errors.New("a second header")
	}
	if err := r.check(); err != nil {
		return err
	}
	return s.ledger.admit(r)
}

// mostRubbish bounds what is read in search of the end of a line, in bytes: a write that was cut off leaves less than a line.
const mostRubbish = 4 * maxLine

var errRubbish = fmt.Errorf("there is no end of a line in %s", files.Size(mostRubbish))

// readLine returns the next line, without its newline, and the number of bytes read. The line is valid until the next call; memory
// holds one that is longer than the buffer of the reader. For a last line without a newline it returns io.EOF as well. Of a line that
// is too long it returns only the length, so that it cannot be taken for a record.
func readLine(r *bufio.Reader, memory *[]byte) (line []byte, n int64, err error) {
	buf := (*memory)[:0]
	defer func() { *memory = buf }()
	for {
		part, err := r.ReadSlice('\n')
		if err == nil && n == 0 && len(part) <= maxLine {
			return part[:len(part)-1], int64(len(part)), nil // as nearly all are
		}
		n += int64(len(part))
		if n <= maxLine {
			buf = append(buf, part...)
		}
		if err == bufio.ErrBufferFull && n <= mostRubbish {
			continue
		}
		if err == bufio.ErrBufferFull {
			return buf[:0], n, errRubbish
		}
		if n > maxLine {
			return buf[:0], n, err
		}
		return bytes.TrimSuffix(buf, []byte("\n")), n, err
	}
}

// Outline is what a journal says of a run as a whole.
type Outline struct {
	RunID    string  // the name of the run directory that the journal was made in
	Batches  int     // batches asked for
	Outcomes int     // outcomes known
	Elapsed  float64 // seconds, over all sittings
	Ends     []End   // one for each sitting that stopped by itself, in order
	Ended    bool    // whether the last record is an End; if not, the last sitting was cut off
}

// LastEnd returns the end of the run: the zero value while it goes on, or when it was cut off.
func (o Outline) LastEnd() End {
	if !o.Ended {
		return End{}
	}
	return o.Ends[len(o.Ends)-1]
}

func (o *Outline) add(r *record) {
	o.Ended = r.kind == anEnd
	switch r.kind {
	case aHeader:
		o.RunID = r.run
	case aBatch:
		o.Batches++
	case anOutcome:
		o.Outcomes++
		o.Elapsed = max(o.Elapsed, r.entry.Elapsed)
	case anEnd:
		o.Ends = append(o.Ends, r.end)
		o.Elapsed = max(o.Elapsed, r.end.Elapsed)
	}
}

// readAll reads to the end of a journal, and calls see with each record and the place where the record begins.
func (s *scanner) readAll(see func(r *record, at place)) error {
	var r record
	for {
		at := place{s.valid, s.lines}
		if err := s.next(&r); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		see(&r, at)
	}
}

// place is a position between two records: the number of bytes and lines before it.
type place struct {
	bytes int64
	lines int
}

// shapes are those declared so far.
func (s *scanner) shapes() []shape {
	if lines, ok := s.format.(*lineFormat); ok {
		return lines.shapes
	}
	return nil
}

// mostAtOnce bounds the outcomes that memory is allocated for before they are read: a damaged file may ask for any number.
const mostAtOnce = 256

// rounds yields the batches of a journal with their outcomes. A batch is yielded when all its outcomes are read, or when the
// journal has ended, so that usually no more than one is held in memory.
func (s *scanner) rounds() iter.Seq2[space.Round, error] {
	return func(yield func(space.Round, error) bool) {
		var (
			r    record
			held []space.Round
		)
		give := func() bool {
			slices.SortFunc(held[0].Entries, func(a, b space.Entry) int { return a.Number - b.Number })
			ok := yield(held[0], nil)
			held = held[1:]
			return ok
		}
		for {
			err := s.next(&r)
			if err != nil && err != io.EOF {
				yield(space.Round{}, err)
				return
			}
			for len(held) > 0 && (err == io.EOF || len(held[0].Entries) == held[0].Batch.Count) {
				if !give() {
					return
				}
			}
			if err == io.EOF {
				return
			}
			switch r.kind {
			case aBatch:
				held = append(held, space.Round{Batch: r.batch, Entries: make([]space.Entry, 0, min(r.batch.Count, mostAtOnce))})
			case anOutcome:
				// It is nearly always the last one: the batch before it is told.
				i := len(held) - 1
				for held[i].Batch.First > r.entry.Number {
					i--
				}
				held[i].Entries = append(held[i].Entries, r.entry)
			}
		}
	}
}
