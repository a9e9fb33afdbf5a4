package results

import (
	"errors"
	"fmt"
	"math"
	"unicode/utf8"

	"tune/space"
)

// kind says what a record is.
type kind uint8

const (
	noRecord kind = iota
	aHeader
	aShape // a declaration that outcomes refer to; it says nothing of the run
	aBatch
	anOutcome
	anEnd
)

// record is one record of a journal. Only the fields of its kind count.
type record struct {
	kind  kind
	run   string // of a header: the name of the run directory
	batch space.Batch
	entry space.Entry
	// metrics are the names of the metrics of an outcome that was read, also of one that was not decoded completely.
	metrics []string
	end     End
}

// check reports a record that is invalid by itself, or that would not read back unchanged.
func (r *record) check() error {
	switch r.kind {
	case aBatch:
		return checkBatch(r.batch)
	case anOutcome:
		if err := checkOutcome(r.entry); err != nil {
			return fmt.Errorf("trial %d: %w", r.entry.Number, err)
		}
	case anEnd:
		return checkEnd(r.end)
	}
	return nil
}

func checkBatch(b space.Batch) error {
	switch {
	case b.Number < 0 || b.First < 0 || b.Count < 1:
		return fmt.Errorf("batch %d has %d trials from %d on", b.Number, b.Count, b.First)
	case !space.Finite(b.Progress.Left):
		return fmt.Errorf("batch %d was asked with %v of the budget left", b.Number, b.Progress.Left)
	}
	return nil
}

func checkEnd(e End) error {
	switch {
	case e.Why == "" || !utf8.ValidString(e.Why):
		return errors.New("the end does not say why")
	case !utf8.ValidString(e.Reason):
		return errors.New("the reason of the end is not UTF-8")
	case !space.Finite(e.Elapsed) || e.Elapsed < 0:
		return fmt.Errorf("the end has an elapsed time of %v s", e.Elapsed)
	case e.Told < 0:
		return fmt.Errorf("the end has %d trials told", e.Told)
	}
	return nil
}

func checkOutcome(e space.Entry) error {
	o := e.Outcome
	if err := o.Validate(); err != nil {
		return err
	}
	switch {
	case e.Number < 0:
		return errors.New("its number is negative")
	case e.Key == "" || !utf8.ValidString(e.Key):
		return fmt.Errorf("%q is not the key of a point", e.Key)
	case !space.Finite(e.Elapsed) || e.Elapsed < 0:
		return fmt.Errorf("its elapsed time is %v s", e.Elapsed)
	}
	return nil
}

// ledger holds what the next record of a journal must agree with. The reader and the writer share it, so that nothing is written
// that could not be read. It stays small however long the journal is, because a search tells a batch before it asks for the next
// one.
type ledger struct {
	batches int              // batches so far
	trials  int              // trials in them
	ended   int              // the trials below this number have an outcome
	ahead   map[int]struct{} // those above it that have one
}

func newLedger() ledger { return ledger{ahead: make(map[int]struct{})} }

// admit accepts a record that has passed check, or says why it cannot come next.
func (l *ledger) admit(r *record) error {
	switch {
	case r.kind == aBatch:
		return l.admitBatch(r.batch)
	case r.kind == anOutcome:
		return l.admitOutcome(r.entry.Number)
	case r.kind == anEnd && r.end.Told > l.trials:
		return fmt.Errorf("the run ended after %d trials told, but %d were asked", r.end.Told, l.trials)
	}
	return nil
}

func (l *ledger) admitBatch(b space.Batch) error {
	switch {
	case b.Number != l.batches:
		return fmt.Errorf("batch %d stands where batch %d is expected", b.Number, l.batches)
	case b.First != l.trials:
		return fmt.Errorf("batch %d begins at trial %d rather than %d", b.Number, b.First, l.trials)
	case b.Count > math.MaxInt-b.First:
		return fmt.Errorf("batch %d has %d trials", b.Number, b.Count)
	}
	l.batches++
	l.trials += b.Count
	return nil
}

func (l *ledger) admitOutcome(number int) error {
	if number >= l.trials {
		return fmt.Errorf("trial %d is in no batch: %d trials were asked", number, l.trials)
	}
	if _, dup := l.ahead[number]; dup || number < l.ended {
		return fmt.Errorf("trial %d has an outcome already", number)
	}
	if number > l.ended {
		l.ahead[number] = struct{}{}
		return nil
	}
	for l.ended++; len(l.ahead) > 0; l.ended++ {
		if _, ok := l.ahead[l.ended]; !ok {
			break
		}
		delete(l.ahead, l.ended)
	}
	return nil
}
