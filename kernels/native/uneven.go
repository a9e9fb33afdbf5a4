package native

import (
	"context"

	"tune/kernels/native/timing"
	"tune/kernels/native/worker"
)

// manner is how a candidate is timed, beyond what its buffers and calls decide.
type manner struct {
	apart bool // whether every timed call has completely new inputs, in buffers of its own where the caches hold several
	// level says that each sample of a request counts for at least the mean of them all. Otherwise the fastest samples count, and work that is
	// done in a few of the calls for many others would not.
	level bool
}

// and returns the manner that has what either of two has.
func (n manner) and(other manner) manner {
	return manner{n.apart || other.apart, n.level || other.level}
}

// exceeds reports whether a manner has something that another one lacks.
func (n manner) exceeds(other manner) bool { return n.apart && !other.apart || n.level && !other.level }

// A candidate is uneven if the mean of the samples of a request is more than unevenTimes their median, in most requests of leastUneven
// samples or more. Other work on the machine makes samples of the CPU clock uneven as well, but seldom by so much. Those of the wall clock it
// makes uneven often. So with several threads the mean that shows it is that of the CPU time of all threads, divided by their number.
const (
	unevenTimes = 2.5
	leastUneven = 8
)

// uneven reports whether a few samples of a request took most of its time.
func (m *meter) uneven(t worker.Timing) bool {
	mean := timing.Mean(t.Seconds)
	if m.clock() == worker.Wall {
		mean = t.Work / float64(m.uses)
	}
	return m.c != nil && len(t.Seconds) >= leastUneven && mean > unevenTimes*timing.Median(t.Seconds)
}

// noteLevel adds the samples of a request to the mean by which a search levels.
func (m *meter) noteLevel(t worker.Timing) {
	for _, seconds := range t.Seconds {
		m.spent += seconds * float64(m.calls)
		m.made += float64(m.calls)
	}
}

// levelOut raises the samples of a request to their mean if the candidate is uneven. In a search that is the mean of all requests since that
// was suspected.
func (m *meter) levelOut(ctx context.Context, t worker.Timing, clock worker.Clock) error {
	if !m.level && clock == m.clock() && m.uneven(t) {
		proven, err := m.proveUneven(ctx, len(t.Seconds))
		if err != nil || !proven {
			return err
		}
		m.level = true
		m.c.noteUneven()
	}
	if m.level {
		least := timing.Mean(t.Seconds)
		if !m.strict { // in a comparison the mean of all turns of a round counts
			m.noteLevel(t)
			least = m.spent / m.made
		}
		for i := range t.Seconds {
			t.Seconds[i] = max(t.Seconds[i], least)
		}
	}
	return nil
}

// proveUneven finds out whether the candidate is the reason that samples were uneven, by the test of proveLate.
func (m *meter) proveUneven(ctx context.Context, n int) (bool, error) {
	m.spent, m.made = 0, 0
	return prove(func() (uneven, told bool, err error) {
		t, err := m.timed(ctx, m.request(n, m.clock()))
		if err != nil {
			return false, false, err
		}
		m.noteLevel(t)
		return m.uneven(t), true, nil
	})
}
