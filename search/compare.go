package search

import (
	"fmt"
	"iter"
	"sync"
	"sync/atomic"

	"tune/space"
)

// comparison compares what a strategy asks for with what was recorded. In a long history that takes a tenth of the time that the strategy
// takes. Where the history is read ahead, it is done on the goroutine that reads: a third one would take turns with the strategy where there
// are two processors. The strategy may be ahead, and may have been told outcomes of other points than it asked for, which nothing comes of:
// after finish, no result is used where the two differ.
type comparison struct {
	next    parcel
	parcels chan parcel // nil where the history is not read ahead
	failed  atomic.Bool // err is set, or is about to be

	mu       sync.Mutex
	compared int // outcomes
	err      error
	matcher  space.Matcher
}

// parcel is what is compared at once.
type parcel struct {
	trials  []space.Trial
	entries []*space.Entry // what was recorded of them
}

const (
	parcelLen    = 512
	parcelsAhead = 8
)

// rounds yields those of a history, and has outcomes compared where they are read.
func (c *comparison) rounds(h History) iter.Seq2[space.Round, error] {
	ahead, ok := h.(ReadAhead)
	if !ok {
		return h.Rounds()
	}
	c.parcels = make(chan parcel, parcelsAhead)
	return ahead.RoundsBeside(func() {
		if len(c.parcels) > 0 {
			c.work()
		}
	})
}

// add has a recorded outcome compared with its trial. It returns false where an earlier one has been found to differ.
func (c *comparison) add(t space.Trial, e *space.Entry) bool {
	c.next.trials, c.next.entries = append(c.next.trials, t), append(c.next.entries, e)
	if len(c.next.trials) < parcelLen {
		return true
	}
	select {
	case c.parcels <- c.next:
		c.next = parcel{make([]space.Trial, 0, parcelLen), make([]*space.Entry, 0, parcelLen)}
		return !c.failed.Load()
	default: // nobody else has the time
		_, err := c.finish()
		return err == nil
	}
}

// work compares what waits for it.
func (c *comparison) work() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		select {
		case p := <-c.parcels:
			c.compare(p)
		default:
			return
		}
	}
}

func (c *comparison) compare(p parcel) {
	for i := range p.trials {
		if c.err != nil {
			return
		}
		t, e := &p.trials[i], p.entries[i]
		if t.Fidelity == e.Outcome.Fidelity && c.same(t.Point, e) {
			c.compared++
			continue
		}
		c.err = fmt.Errorf("search: trial %d asks for %q at fidelity %d, but %q at %d was recorded: the strategy, its settings or the space have changed",
			t.Number, t.Point.Key(), t.Fidelity, e.PointKey(), e.Outcome.Fidelity)
		c.failed.Store(true)
	}
}

// same reports whether an outcome is recorded of a point.
func (c *comparison) same(p space.Point, e *space.Entry) bool {
	if e.Written != nil {
		return c.matcher.Matches(p, e.Written)
	}
	return p.HasKey(e.Key)
}

// finish compares what is left, and returns how many outcomes agree, and what the first that does not agree is. More may be added after it.
func (c *comparison) finish() (int, error) {
	c.work()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.compare(c.next)
	c.next.trials, c.next.entries = c.next.trials[:0], c.next.entries[:0]
	return c.compared, c.err
}
