package results

import (
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"

	"tune/internal/files"
	"tune/space"
)

// Stored is the part of a journal that a call has read and checked. It stays on disk, and takes almost no memory however long the
// journal is.
type Stored struct {
	Outline
	path string
	size int64 // bytes of the part; -1 where it was not checked, and is the whole journal
	// metrics are the names of all metrics; nil where they were not looked for.
	metrics *nameSet
	// state is what was known at the end of the part; nil where it was not checked.
	state *state
}

// state is what the lines up to a place of a journal amount to. Reading all of them must give the same as starting at the place
// that the summary file names.
type state struct {
	lines, batches, trials, ended, ahead int
	outline                              Outline
	counts                               map[space.Status]int
	best                                 int // its number; -1 for none
	cost                                 float64
	shapes                               []shape
	metrics                              []string
}

func (s *scanner) state() *state {
	out := &state{
		lines: s.lines, batches: s.ledger.batches, trials: s.ledger.trials, ended: s.ledger.ended, ahead: len(s.ledger.ahead),
		outline: s.outline, counts: maps.Clone(s.tally.Counts), best: -1, shapes: slices.Clone(s.shapes()), metrics: s.metrics.sorted(),
	}
	if b := s.tally.Best; b != nil {
		out.best, out.cost = b.Number, b.Outcome.Cost
	}
	return out
}

// storedUpTo is the part of a journal that a scanner has read.
func storedUpTo(path string, s *scanner, metrics *nameSet) Stored {
	return Stored{s.outline, path, s.valid, metrics, s.state()}
}

// Rounds yields the batches with their outcomes, each time reading them anew, on a goroutine that reads ahead of the caller. An
// error ends it; it is an error of reading, because the content was checked before.
func (s Stored) Rounds() iter.Seq2[space.Round, error] { return ahead(s.read(nil)) }

// Only is Rounds, but only the outcomes that want wants have their keys and metrics: the others take a third of the time to read. want
// sees everything else of an outcome. Reading is not ahead of the caller.
func (s Stored) Only(want func(*space.Entry) bool) iter.Seq2[space.Round, error] {
	return s.read(func(from *scanner) { from.whole = want })
}

// Parts is Rounds, but the keys have only the given parameters, and outcomes have no metrics: they take a third of the time to read. A key
// may have more, and one without any of these parameters cannot be split.
func (s Stored) Parts(params []string) iter.Seq2[space.Round, error] {
	return ahead(s.read(func(from *scanner) { from.parts = params }))
}

// Asked is Rounds for a search, which compares points and needs no keys. Outcomes have the values of their points, which take half as long
// to read, and keys only where want wants them; nil wants none. An outcome that is written in full, or in format 1, has a key and no values.
// see is called with each round before it is yielded; it may be nil. Both are called on the goroutine that reads.
func (s Stored) Asked(want func(*space.Entry) bool, see func(space.Round)) iter.Seq2[space.Round, error] {
	if want == nil {
		want = func(*space.Entry) bool { return false }
	}
	read := s.read(func(from *scanner) { from.raw, from.whole = true, want })
	return ahead(func(yield func(space.Round, error) bool) {
		for r, err := range read {
			if err == nil && see != nil {
				see(r)
			}
			if !yield(r, err) {
				return
			}
		}
	})
}

// read is Rounds on the goroutine of the caller. limit says what the scanner leaves out; nil means nothing.
func (s Stored) read(limit func(*scanner)) iter.Seq2[space.Round, error] {
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
		if limit != nil {
			limit(from)
		}
		for r, err := range from.rounds() {
			if !yield(r, err) {
				return
			}
		}
		switch {
		case from.valid < s.size:
			yield(space.Round{}, fmt.Errorf("%s has become shorter since it was opened", s.path))
		case s.state != nil && !reflect.DeepEqual(from.state(), s.state):
			yield(space.Round{}, unfitSummary(s.path))
		}
	}
}

// How far reading is ahead: the number of parcels, and of outcomes in a parcel.
const (
	parcelsAhead  = 4
	parcelEntries = 512
)

// parcel is a group of rounds that is passed between the goroutines at once.
type parcel struct {
	rounds []space.Round
	err    error // after them
}

// ahead iterates over a sequence on another goroutine, which ends with the loop.
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

// readerOf opens a journal for reading: a regular file of its directory, not a link that leads out of it.
func readerOf(path string) (*os.File, error) {
	return files.In(filepath.Dir(path)).Open(filepath.Base(path))
}

// readStored reads a journal without locking or changing it, and describes what it found. See OpenJournal for what it does not
// find.
func readStored(path string) (Stored, Recovery, error) {
	file, err := readerOf(path)
	if err != nil {
		return Stored{}, Recovery{}, withoutJournal(err)
	}
	defer file.Close()
	s, digest, err := digestOf(filepath.Dir(path), file)
	return storedUpTo(path, s, digest.names()), s.recovery(), err
}

// unfitSummary says that the summary file beside a journal does not belong to it.
func unfitSummary(path string) error {
	return fmt.Errorf("%s is not what %s says: remove that file, which only saves time", path, filepath.Join(filepath.Dir(path), summaryName))
}

// nameSet is the names of metrics.
type nameSet struct {
	names map[string]struct{}
	last  []string // most outcomes have the same names as the one before
}

func (s *nameSet) add(names []string) {
	if slices.Equal(names, s.last) {
		return
	}
	if s.names == nil {
		s.names = make(map[string]struct{})
	}
	for _, name := range names {
		s.names[name] = struct{}{}
	}
	s.last = names
}

// metricsOf returns the names of metrics.
func metricsOf(metrics []space.Metric) (names []string) {
	for _, m := range metrics {
		names = append(names, m.Name)
	}
	return names
}

func (s *nameSet) sorted() []string { return slices.Sorted(maps.Keys(s.names)) }

// metricNames returns the sorted names of the metrics of a history. It reads the history unless the names are known from an
// earlier read.
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
			names.add(metricsOf(r.Entries[i].Outcome.Metrics))
		}
	}
	return names.sorted(), nil
}

func (s Stored) known() *nameSet { return s.metrics }
