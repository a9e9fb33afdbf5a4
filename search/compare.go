package search

import (
	"fmt"
	"sync/atomic"

	"tune/space"
)

// comparison compares what a strategy asks for with what was recorded. It does so on a goroutine of its own: in a long history that takes
// a good part of the time that the strategy takes. The strategy may be ahead, and may have been told outcomes of other points than it asked
// for, which nothing comes of: after finish, no result is used where the two differ.
type comparison struct {
	next    parcel
	parcels chan parcel // nil until there is one
	done    chan struct{}
	failed  atomic.Bool // err is set, or is about to be
	// What follows is of the goroutine, until it has ended.
	compared int // outcomes
	err      error
}

// parcel is what is passed to the goroutine at once.
type parcel struct {
	trials  []space.Trial
	entries []*space.Entry // what was recorded of them
}

const (
	parcelLen    = 512
	parcelsAhead = 2
)

// add has a recorded outcome compared with its trial. It returns false where an earlier one has been found to differ.
func (c *comparison) add(t space.Trial, e *space.Entry) bool {
	c.next.trials, c.next.entries = append(c.next.trials, t), append(c.next.entries, e)
	if len(c.next.trials) < parcelLen {
		return true
	}
	if c.parcels == nil {
		c.parcels, c.done = make(chan parcel, parcelsAhead), make(chan struct{})
		go func() {
			defer close(c.done)
			for p := range c.parcels {
				c.compare(p)
			}
		}()
	}
	c.parcels <- c.next
	c.next = parcel{make([]space.Trial, 0, parcelLen), make([]*space.Entry, 0, parcelLen)}
	return !c.failed.Load()
}

func (c *comparison) compare(p parcel) {
	for i := range p.trials {
		if c.err != nil {
			return
		}
		t, e := &p.trials[i], p.entries[i]
		if t.Fidelity == e.Outcome.Fidelity && t.Point.HasKey(e.Key) {
			c.compared++
			continue
		}
		c.err = fmt.Errorf("search: trial %d asks for %q at fidelity %d, but %q at %d was recorded: the strategy, its settings or the space have changed",
			t.Number, t.Point.Key(), t.Fidelity, e.Key, e.Outcome.Fidelity)
		c.failed.Store(true)
	}
}

// finish returns how many outcomes agree, and what the first that does not agree is. More may be added after it.
func (c *comparison) finish() (int, error) {
	if c.parcels != nil {
		close(c.parcels)
		<-c.done
		c.parcels = nil
	}
	c.compare(c.next)
	c.next = parcel{}
	return c.compared, c.err
}
