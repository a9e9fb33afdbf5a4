package results

import (
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"tune/internal/files"
	"tune/space"
)

// Stored is the part of a journal that a call has read through, on disk. It takes no memory to speak of, however long
// the journal is.
type Stored struct {
	Outline
	path string
	size int64 // bytes of the part; -1 where it was not read through, and is all
	// metrics are the names of all metrics; nil where they were not looked for.
	metrics *nameSet
}

// Rounds reads the batches with their outcomes, each time anew, on a goroutine of its own ahead of the caller. An error
// ends it: it is one of reading, since what is read was found to be sound before.
func (s Stored) Rounds() iter.Seq2[space.Round, error] { return ahead(s.read()) }

// read is Rounds on the goroutine of the caller.
func (s Stored) read() iter.Seq2[space.Round, error] {
	return func(yield func(space.Round, error) bool) {
		file, err := readerOf(s.path)
		if err != nil {
			yield(space.Round{}, err)
			return
		}
		defer file.Close()
		var part io.Reader = file
		if s.size >= 0 {
			part = io.LimitReader(file, s.size)
		}
		from := newScanner(part)
		from.name = s.path
		for r, err := range from.rounds() {
			if !yield(r, err) {
				return
			}
		}
		if from.valid < s.size {
			yield(space.Round{}, fmt.Errorf("%s has become shorter since it was opened", s.path))
		}
	}
}

// How far reading is ahead: so many parcels, each of rounds with so many outcomes.
const (
	parcelsAhead  = 4
	parcelEntries = 512
)

// parcel is rounds that change the goroutine together.
type parcel struct {
	rounds []space.Round
	err    error // after them
}

// ahead goes through a sequence on a goroutine of its own, which ends with the loop.
func ahead(rounds iter.Seq2[space.Round, error]) iter.Seq2[space.Round, error] {
	return func(yield func(space.Round, error) bool) {
		parcels, done := make(chan parcel, parcelsAhead), make(chan struct{})
		var reading sync.WaitGroup
		defer reading.Wait()
		defer close(done)
		reading.Go(func() {
			defer close(parcels)
			var next parcel
			entries := 0
			send := func() bool {
				select {
				case parcels <- next:
					next, entries = parcel{}, 0
					return true
				case <-done:
					return false
				}
			}
			for r, err := range rounds {
				if err != nil {
					next.err = err
					break
				}
				next.rounds = append(next.rounds, r)
				if entries += len(r.Entries) + 1; entries >= parcelEntries && !send() {
					return
				}
			}
			send()
		})
		for p := range parcels {
			for _, r := range p.rounds {
				if !yield(r, nil) {
					return
				}
			}
			if p.err != nil {
				yield(space.Round{}, p.err)
				return
			}
		}
	}
}

// Spent returns the time in seconds that the sittings spent.
func (s Stored) Spent() float64 { return s.Elapsed }

// readerOf opens a journal for reading: a regular file of its directory, which no link leads out of.
func readerOf(path string) (*os.File, error) {
	return files.In(filepath.Dir(path)).Open(filepath.Base(path))
}

// readStored reads through a journal without locking or changing it, and says what it found.
func readStored(path string) (Stored, Recovery, error) {
	file, err := readerOf(path)
	if err != nil {
		return Stored{}, Recovery{}, err
	}
	defer file.Close()
	s := newScanner(file)
	s.whole = func(*space.Entry) bool { return false }
	var metrics nameSet
	outline, err := s.readAll(func(r *record, _ int64) {
		if r.kind == anOutcome {
			metrics.add(r.entry.Outcome.Metrics)
		}
	})
	return Stored{outline, path, s.valid, &metrics}, s.recovery(), err
}

// nameSet is the names of metrics.
type nameSet struct {
	names map[string]struct{}
	last  []space.Metric // most outcomes have the names of the one before
}

func (s *nameSet) add(metrics []space.Metric) {
	if slices.EqualFunc(metrics, s.last, func(a, b space.Metric) bool { return a.Name == b.Name }) {
		return
	}
	if s.names == nil {
		s.names = make(map[string]struct{})
	}
	for _, m := range metrics {
		s.names[m.Name] = struct{}{}
	}
	s.last = append(s.last[:0], metrics...)
}

func (s *nameSet) sorted() []string { return slices.Sorted(maps.Keys(s.names)) }

// metricNames returns the names of the metrics of a history, ordered. It goes through it unless that was done when it was
// read.
func metricNames(h History) ([]string, error) {
	if known, ok := h.(interface{ known() *nameSet }); ok && known.known() != nil {
		return known.known().sorted(), nil
	}
	var names nameSet
	for r, err := range h.Rounds() {
		if err != nil {
			return nil, err
		}
		for i := range r.Entries {
			names.add(r.Entries[i].Outcome.Metrics)
		}
	}
	return names.sorted(), nil
}

func (s Stored) known() *nameSet { return s.metrics }
