package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// puller asks the queue of a run for tasks, one after the other. It keeps its subscription: a new one for each task, as package jetstream has it,
// costs as much as the task.
type puller struct {
	nc      *nats.Conn
	sub     *nats.Subscription
	comes   chan *nats.Msg
	patient *time.Timer
	subject string
}

// late is how much later than it was asked to the queue may say that it has no task.
const late = 2 * time.Second

// errQueueGone says that the queue is no longer there.
var errQueueGone = errors.New("its queue is gone")

// newPuller returns a puller of the queue of a run.
func newPuller(nc *nats.Conn, run string) (*puller, error) {
	comes := make(chan *nats.Msg, 8) // one at a time; SubscribeSync makes room for thousands
	sub, err := nc.ChanSubscribe(nats.NewInbox(), comes)
	if err != nil {
		return nil, err
	}
	return &puller{nc, sub, comes, time.NewTimer(0), fmt.Sprintf("$JS.API.CONSUMER.MSG.NEXT.%s.%s", streamOf(run), consumerName)}, nil
}

// next returns the next task, or nil where there is none within a time. After an error, or without a task where ctx has ended, the puller is of
// no use any more.
func (p *puller) next(ctx context.Context, wait time.Duration) (*nats.Msg, error) {
	request, err := json.Marshal(struct {
		Batch   int           `json:"batch"`
		Expires time.Duration `json:"expires"`
	}{1, wait})
	if err != nil {
		return nil, err
	}
	if err := p.nc.PublishRequest(p.subject, p.sub.Subject, request); err != nil {
		return nil, err
	}
	m, err := p.await(ctx, wait)
	if err != nil {
		return nil, err
	}
	switch status := m.Header.Get("Status"); {
	case status == "":
		return m, nil
	case status == "404" || status == "408": // nothing came
		return nil, nil
	default:
		why := m.Header.Get("Description")
		if status == "503" || strings.Contains(strings.ToLower(why), "deleted") { // nobody answers for the queue
			return nil, errQueueGone
		}
		return nil, fmt.Errorf("the queue answers %s %s", status, why)
	}
}

// await waits for what comes after a request.
func (p *puller) await(ctx context.Context, wait time.Duration) (*nats.Msg, error) {
	p.patient.Reset(wait + late)
	defer p.patient.Stop()
	select {
	case m, ok := <-p.comes:
		if !ok {
			return nil, nats.ErrBadSubscription
		}
		return m, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-p.patient.C:
		return nil, context.DeadlineExceeded
	}
}

// close ends the puller. What it asked for and still comes is given back: it would be in nobody's hand for a lease.
func (p *puller) close(wait time.Duration) {
	defer p.sub.Unsubscribe()
	if m, err := p.await(context.Background(), wait); err == nil && m.Header.Get("Status") == "" {
		_ = m.Nak()
	}
}

// puller returns one that nobody uses.
func (s *serving) puller(nc *nats.Conn) (*puller, error) {
	s.pulling.Lock()
	defer s.pulling.Unlock()
	if n := len(s.idle); n > 0 {
		p := s.idle[n-1]
		s.idle = s.idle[:n-1]
		return p, nil
	}
	return newPuller(nc, s.job.ID)
}

// putBack takes a puller back that waits for nothing.
func (s *serving) putBack(p *puller) {
	s.pulling.Lock()
	defer s.pulling.Unlock()
	s.idle = append(s.idle, p)
}

// closePullers ends the pullers of a run that nobody works on any more.
func (s *serving) closePullers() {
	s.pulling.Lock()
	defer s.pulling.Unlock()
	for _, p := range s.idle {
		_ = p.sub.Unsubscribe()
	}
	s.idle = nil
}
