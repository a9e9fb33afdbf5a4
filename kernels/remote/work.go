package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"tune/internal/plain"
	"tune/space"
)

// quiet keeps evaluations whose time is measured apart from others, which would disturb them.
type quiet struct {
	mu     sync.Mutex
	of     company // what is inside
	inside int
	freed  chan struct{} // closed when the last one leaves; nil where nobody waits
}

// company says what may be done beside something.
type company uint8

const (
	untimed company = iota // other things whose time is not measured
	timed                  // others whose time is measured, which wait for each other
	alone                  // nothing
)

// companyOf says what may be done beside an evaluation.
func companyOf(isTimed bool) company {
	if isTimed {
		return timed
	}
	return untimed
}

// enter waits until nothing is inside that may not be beside it.
func (q *quiet) enter(ctx context.Context, of company) (leave func(), err error) {
	for {
		q.mu.Lock()
		if q.inside == 0 || q.of == of && of != alone {
			q.of = of
			q.inside++
			q.mu.Unlock()
			return q.leave, nil
		}
		if q.freed == nil {
			q.freed = make(chan struct{})
		}
		freed := q.freed
		q.mu.Unlock()
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-freed:
		}
	}
}

func (q *quiet) leave() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.inside--; q.inside == 0 && q.freed != nil {
		close(q.freed)
		q.freed = nil
	}
}

// ready returns the IDs of the runs whose tasks may be taken, in order. A run whose costs are measured has the worker to itself, and so
// has a call at a desk of such a kernel. The caller holds mu.
func (w *Worker) ready() (ids []string) {
	if w.alone > 0 {
		return nil
	}
	alone := false
	for _, s := range w.serving {
		alone = alone || s.job.Timed && (s.taken || s.measuring)
	}
	for id, s := range w.serving {
		if s.taken && s.job.Timed == alone {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// next returns the run to take a task of, and how long to wait for it. It waits while there is none. Whoever gets a run calls
// users.Done of it.
func (w *Worker) next(ctx context.Context) (*serving, time.Duration) {
	for {
		w.mu.Lock()
		ids := w.ready()
		changed := w.changed
		if len(ids) > 0 {
			w.turn++
			s := w.serving[ids[w.turn%len(ids)]]
			s.users.Add(1)
			w.mu.Unlock()
			if len(ids) > 1 {
				return s, 100 * time.Millisecond
			}
			return s, time.Second
		}
		w.mu.Unlock()
		select {
		case <-ctx.Done():
			return nil, 0
		case <-changed:
		}
	}
}

// work evaluates one task after the other.
func (w *Worker) work(ctx context.Context) {
	for ctx.Err() == nil {
		s, wait := w.next(ctx)
		if s == nil {
			return
		}
		w.workOn(ctx, s, wait)
		s.users.Done()
	}
}

// workOn takes a task of a run, where there is one within a time, and evaluates it.
func (w *Worker) workOn(ctx context.Context, s *serving, wait time.Duration) {
	p, err := s.puller(w.nc)
	if err == nil {
		var m *nats.Msg
		m, err = p.next(s.ctx, wait)
		switch {
		case err == nil:
			s.putBack(p)
		case s.ctx.Err() != nil:
			go p.close(wait)
			return
		default:
			_ = p.sub.Unsubscribe()
		}
		if m != nil {
			w.rest(s, w.evaluate(s, m))
		}
	}
	if err == nil || errors.Is(err, context.DeadlineExceeded) {
		return
	}
	// The server or the queue is not there. The next announcement finds it again.
	w.mu.Lock()
	if w.serving[s.job.ID] == s && errors.Is(err, errQueueGone) && w.nc.IsConnected() {
		w.leave(s.job.ID, err.Error())
	}
	w.mu.Unlock()
	select {
	case <-ctx.Done():
	case <-time.After(announcing / 5):
	}
}

// evaluate evaluates a task, and tells the coordinator. failures are the tasks in turn that could not be evaluated, this one included.
func (w *Worker) evaluate(s *serving, m *nats.Msg) (failures int64) {
	var t task
	if err := json.Unmarshal(m.Data, &t); err != nil || t.Sitting != s.job.Sitting {
		_ = m.Term() // no task of this sitting
		return 0
	}
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	w.mu.Lock()
	if s.dropped[t.Trial] {
		delete(s.dropped, t.Trial)
		w.mu.Unlock()
		_ = m.Ack()
		return 0
	}
	s.held[t.Trial] = held{m, cancel}
	w.busy++
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		delete(s.held, t.Trial)
		w.busy--
		w.evaluated++
		w.mu.Unlock()
	}()
	answer := told{Worker: w.Name, Sitting: t.Sitting, Trial: t.Trial, Key: t.Key}
	point, err := s.opened.Problem.Space().Parse(t.Key)
	meta, merr := m.Metadata()
	switch {
	case err != nil:
	case merr == nil && meta.NumDelivered > mostGiven:
		answer.Given = true
		err = fmt.Errorf("it was given out %d times, and each time its worker fell silent: it may have crashed them", meta.NumDelivered-1)
	default:
		var leave func()
		if leave, err = w.quiet.enter(ctx, companyOf(s.job.Timed)); err == nil {
			answer.Outcome, err = s.evaluator.Evaluate(ctx, space.Trial{Number: t.Trial, Proposal: space.Proposal{Point: point, Fidelity: t.Fidelity}})
			leave()
		}
	}
	switch {
	case s.ctx.Err() != nil:
		_ = m.Nak() // the run has ended, or this worker does
		return 0
	case ctx.Err() != nil:
		_ = m.Ack() // nobody waits for it any more
		return 0
	case err != nil:
		answer.Outcome, answer.Error = space.Outcome{}, err.Error()
		if !answer.Given {
			w.note("%s: cannot evaluate %s", s.job.name(), plain.Clip(err.Error(), 300))
			failures = w.failures.Add(1)
		}
	default:
		w.failures.Store(0)
	}
	text, err := json.Marshal(answer)
	if err != nil { // a cost that is not finite
		answer.Outcome, answer.Error = space.Outcome{}, err.Error()
		text, _ = json.Marshal(answer)
	}
	w.tell(s, m, text)
	return failures
}

// rest waits after tasks in turn that this worker could not evaluate, the longer the more there were, so that others get the next ones.
func (w *Worker) rest(s *serving, failures int64) {
	if failures == 0 {
		return
	}
	select {
	case <-s.ctx.Done():
	case <-time.After(telling << min(failures-1, 4)):
	}
}

// tell hands an answer to the coordinator, for as long as that is there, and then gives the task back.
func (w *Worker) tell(s *serving, m *nats.Msg, text []byte) {
	for s.ctx.Err() == nil {
		ctx, cancel := context.WithTimeout(s.ctx, 10*telling)
		reply, err := w.nc.RequestWithContext(ctx, subjectTold+s.job.ID, text)
		cancel()
		if err == nil {
			switch string(reply.Data) {
			case answerTaken, answerKnown:
				_ = m.Ack()
			case answerLeave:
				_ = m.Nak()
				w.refuse(s, errors.New("the coordinator has set this worker aside"))
			default:
				_ = m.NakWithDelay(telling)
			}
			return
		}
		select { // the coordinator or the server is not there for now
		case <-s.ctx.Done():
		case <-time.After(telling):
		}
	}
	_ = m.Nak()
}
