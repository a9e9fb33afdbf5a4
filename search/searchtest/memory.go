package searchtest

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"tune/search"
	"tune/space"
)

// Memory is a search.Recorder that keeps a run in memory. It refuses what no journal accepts: batches and trials out of order,
// and a second outcome of a trial. The zero value is an empty journal.
type Memory struct {
	// Fail is called before each call; if it returns an error, the call returns that. The name of the call is "batch N", "record
	// N" or "sync". Nil fails nothing.
	Fail func(call string) error

	mu      sync.Mutex
	history space.History
	calls   []string
}

var _ search.Recorder = (*Memory)(nil)

// NewMemory returns a recorder that holds what earlier sittings recorded.
func NewMemory(h space.History) *Memory {
	return &Memory{history: clone(h)}
}

// History returns what is recorded so far.
func (m *Memory) History() space.History {
	m.mu.Lock()
	defer m.mu.Unlock()
	return clone(m.history)
}

// Calls returns the calls so far, in the form that Fail gets them.
func (m *Memory) Calls() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.calls)
}

// Batch records a batch.
func (m *Memory) Batch(b space.Batch) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.call(fmt.Sprintf("batch %d", b.Number)); err != nil {
		return err
	}
	first := m.trials()
	if b.Number != len(m.history.Batches) || b.First != first || b.Count < 1 {
		return fmt.Errorf("batch %+v follows %d batches with %d trials", b, len(m.history.Batches), first)
	}
	m.history.Batches = append(m.history.Batches, b)
	return nil
}

// Record records an outcome.
func (m *Memory) Record(e space.Entry) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.call(fmt.Sprintf("record %d", e.Number)); err != nil {
		return err
	}
	if err := e.Outcome.Validate(); err != nil {
		return fmt.Errorf("trial %d: %w", e.Number, err)
	}
	if _, dup := m.history.Entries[e.Number]; dup || e.Number >= m.trials() {
		return fmt.Errorf("trial %d is recorded already, or in no batch", e.Number)
	}
	if m.history.Entries == nil {
		m.history.Entries = map[int]space.Entry{}
	}
	m.history.Entries[e.Number] = e
	m.history.Elapsed = max(m.history.Elapsed, e.Elapsed)
	return nil
}

// Sync notes that it was called.
func (m *Memory) Sync() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.call("sync")
}

func (m *Memory) call(what string) error {
	m.calls = append(m.calls, what)
	if m.Fail != nil {
		return m.Fail(what)
	}
	return nil
}

// trials is the number of trials in all batches.
func (m *Memory) trials() int {
	if len(m.history.Batches) == 0 {
		return 0
	}
	last := m.history.Batches[len(m.history.Batches)-1]
	return last.First + last.Count
}

func clone(h space.History) space.History {
	h.Batches, h.Entries = slices.Clone(h.Batches), maps.Clone(h.Entries)
	return h
}

// Cut returns the history as a run that was killed would have left it: the first batches, and of the last of these the outcomes
// that known keeps.
func Cut(h space.History, batches int, known func(number int) bool) space.History {
	h = clone(h)
	h.Batches = h.Batches[:batches]
	maps.DeleteFunc(h.Entries, func(number int, _ space.Entry) bool {
		if batches == 0 {
			return true
		}
		last := h.Batches[batches-1]
		return number >= last.First+last.Count || number >= last.First && !known(number)
	})
	h.Elapsed = 0
	for _, e := range h.Entries {
		h.Elapsed = max(h.Elapsed, e.Elapsed)
	}
	return h
}

// Difference says how two histories differ, "" where they agree in everything but readings of the clock.
func Difference(a, b space.History) string {
	for i := range max(len(a.Batches), len(b.Batches)) {
		switch {
		case i >= len(a.Batches) || i >= len(b.Batches):
			return fmt.Sprintf("one has %d batches, the other %d", len(a.Batches), len(b.Batches))
		case a.Batches[i] != b.Batches[i]:
			return fmt.Sprintf("batch %d is %+v in one, %+v in the other", i, a.Batches[i], b.Batches[i])
		}
	}
	for _, number := range slices.Sorted(maps.Keys(a.Entries)) {
		x, y := a.Entries[number], b.Entries[number]
		if x, y := timeless(x), timeless(y); x != y {
			return fmt.Sprintf("trial %d is %s in one, %s in the other", number, x, y)
		}
	}
	if len(a.Entries) != len(b.Entries) {
		return fmt.Sprintf("one has %d outcomes, the other %d", len(a.Entries), len(b.Entries))
	}
	return ""
}

// timeless is an entry without the time it took.
func timeless(e space.Entry) string {
	e.Elapsed, e.Outcome.Seconds = 0, 0
	return fmt.Sprintf("%+v", e)
}
