package remote

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"tune/internal/plain"
	"tune/space"
)

const (
	announcing  = 500 * time.Millisecond // how often a run is announced
	mostWaiting = 100_000                // jobs of workers that wait for a task, and tasks that are in hand
	mostErrors  = 5                      // how often workers may fail to evaluate a trial before the run ends, if no other worker is left to try
	mostName    = 400                    // bytes of the name of a worker
	mostLies    = 3                      // how many useless answers a worker gives before it is set aside
)

// Coordinator is the evaluator of a run whose candidates workers evaluate. It is safe for concurrent use.
type Coordinator struct {
	job  Job
	note func(text string)
	nc   *nats.Conn
	js   jetstream.JetStream
	ctx  context.Context // ends with Close
	stop context.CancelFunc
	done sync.WaitGroup
	subs []*nats.Subscription

	files map[string][]byte // what workers may ask for, by checksum
	// machine is that of the coordinator, as workers name theirs.
	machine string

	mu     sync.Mutex
	stream jetstream.Stream
	open   map[int]*open
	own    Costs // of this machine, where the job has a reference
	again  func(context.Context) (Costs, error)
	// measuring says that again is under way; measured is when it, or what came before it, ended.
	measuring bool
	measured  time.Time
	closed    bool
	parties   map[string]party     // workers that asked to be taken, by name
	lies      map[string]int       // useless answers, by worker
	unable    map[string]bool      // workers that could not evaluate something
	seen      map[string]time.Time // when each worker was heard of
	counted   Counts
}

// Counts are what a coordinator has seen. They add up: what was taken is the number of outcomes, whatever happened on the way.
type Counts struct {
	Taken    int // outcomes
	Again    int // tasks that were published again
	Known    int // answers that nobody needed any more
	Useless  int // answers that made no sense
	Failures int // reports of workers that could not evaluate
}

// open is a trial that waits for its outcome.
type open struct {
	point    space.Point
	key      string
	fidelity int
	heard    time.Time // of the last sign that it is in the queue or in hand
	errors   int
	failed   map[string]bool // the workers that could not evaluate it
	answer   chan answer     // with room for one
}

type answer struct {
	outcome space.Outcome
	err     error
}

// NewCoordinator announces a run on a connection, whose Events.Reached has to call Restore. bring are the files of a user's kernel, its
// own first; none for a kernel that is built in. note is told what a user should know, a line each.
//
// Where job.Joins is set, workers wait for Measured.
func NewCoordinator(ctx context.Context, nc *nats.Conn, job Job, bring []File, note func(text string)) (*Coordinator, error) {
	if job.Lease <= 0 {
		job.Lease = DefaultLease
	}
	job.Sitting, job.Reference = rand.Text(), ""
	list, all, err := pack(bring)
	if err != nil {
		return nil, err
	}
	job.Files = list
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, err
	}
	c := &Coordinator{
		job: job, note: note, nc: nc, js: js, files: all, machine: MachineID(), open: map[int]*open{}, parties: map[string]party{}, lies: map[string]int{}, unable: map[string]bool{}, seen: map[string]time.Time{},
	}
	c.ctx, c.stop = context.WithCancel(context.WithoutCancel(ctx))
	// What an earlier sitting has left is asked for again.
	if err := js.DeleteStream(ctx, streamOf(job.ID)); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, noJetStream(nc, err)
	}
	if err := c.ensure(ctx); err != nil {
		return nil, noJetStream(nc, err)
	}
	for subject, handle := range map[string]nats.MsgHandler{
		subjectTold + job.ID:  c.told,
		subjectAlive + job.ID: c.alive,
		subjectFile + job.ID:  func(m *nats.Msg) { give(c.files, m) },
		subjectJoin + job.ID:  c.joins,
		subjectRuns:           func(m *nats.Msg) { _ = m.Respond(c.announcement(false)) },
	} {
		s, err := nc.Subscribe(subject, handle)
		if err != nil {
			return nil, err
		}
		// What is not read yet is asked again; a limit would drop the connection's other messages too.
		_ = s.SetPendingLimits(-1, -1)
		c.subs = append(c.subs, s)
	}
	c.done.Go(func() { c.attend(c.ctx) })
	return c, nil
}

// noJetStream says what to do about a server without JetStream.
func noJetStream(nc *nats.Conn, err error) error {
	if errors.Is(err, jetstream.ErrJetStreamNotEnabled) || errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount) || errors.Is(err, nats.ErrNoResponders) {
		return fmt.Errorf("the NATS server at %s has no JetStream: start it with -js", nc.ConnectedUrlRedacted())
	}
	return fmt.Errorf("the work queue of the run: %w", err)
}

// ensure makes the stream and its consumer, where they do not exist.
func (c *Coordinator) ensure(ctx context.Context) error {
	stream, err := c.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name: streamOf(c.job.ID), Subjects: []string{subjectTasks + c.job.ID}, Retention: jetstream.WorkQueuePolicy,
		// The run directory is the truth, and what is lost here is asked again.
		Storage: jetstream.MemoryStorage, MaxAge: time.Hour,
	})
	if err != nil {
		return err
	}
	_, err = stream.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{
		Durable: consumerName, AckPolicy: jetstream.AckExplicitPolicy, AckWait: c.job.Lease, MaxDeliver: -1, MaxAckPending: mostWaiting,
		MaxWaiting: mostWaiting, MemoryStorage: true,
	})
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.stream = stream
	c.mu.Unlock()
	return nil
}

// attend announces the run, and looks whether tasks were lost.
func (c *Coordinator) attend(ctx context.Context) {
	tick := time.NewTicker(announcing)
	defer tick.Stop()
	look := time.NewTicker(c.job.Lease)
	defer look.Stop()
	c.announce(false)
	short := false // whether the last look found the queue to lack tasks
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			c.announce(false)
		case <-look.C:
			short = c.look(ctx, short)
		}
	}
}

func (c *Coordinator) announce(ended bool) {
	_ = c.nc.Publish(subjectRun, c.announcement(ended))
}

// announcement returns the run as workers see it.
func (c *Coordinator) announcement(ended bool) []byte {
	c.mu.Lock()
	job := c.job
	c.mu.Unlock()
	job.Ended = ended
	text, err := json.Marshal(job)
	if err != nil {
		return nil // it is text and numbers
	}
	return text
}

// look publishes again what is neither in the queue nor in anybody's hand. It takes two looks to be sure, because a task is published
// in one moment and in the queue in the next. It returns whether the queue lacks tasks.
func (c *Coordinator) look(ctx context.Context, again bool) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	c.mu.Lock()
	stream, waiting := c.stream, len(c.open)
	c.mu.Unlock()
	if waiting == 0 {
		return false
	}
	info, err := stream.Info(ctx)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		c.Restore(ctx)
		return false
	}
	if err != nil || info.State.Msgs >= uint64(waiting) {
		return false // while the server is not there, nothing can be done
	}
	if again {
		c.publishSilent(c.job.Lease)
	}
	return true
}

// Restore makes the queue again, as far as the server has lost it, and publishes what nobody has in hand.
func (c *Coordinator) Restore(ctx context.Context) {
	for range 20 {
		err := c.ensure(ctx)
		if err == nil {
			break
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(announcing): // a server that has just started may not be ready
		}
	}
	c.announce(false)
	c.publishSilent(0)
}

// publishSilent publishes the tasks again of which nothing was heard for a time.
func (c *Coordinator) publishSilent(silent time.Duration) {
	c.mu.Lock()
	var lost []task
	for n, o := range c.open {
		if time.Since(o.heard) >= silent {
			o.heard = time.Now()
			lost = append(lost, c.task(n, o))
			c.counted.Again++
		}
	}
	c.mu.Unlock()
	for _, t := range lost {
		c.publish(t)
	}
}

func (c *Coordinator) task(n int, o *open) task {
	return task{Sitting: c.job.Sitting, Trial: n, Key: o.key, Fidelity: o.fidelity}
}

// publish puts a task into the queue. What is lost on the way is found by look.
func (c *Coordinator) publish(t task) {
	if text, err := json.Marshal(t); err == nil { // it is text and numbers
		_ = c.nc.Publish(subjectTasks+c.job.ID, text)
	}
}

// Evaluate has a worker evaluate a trial, and waits for its outcome.
func (c *Coordinator) Evaluate(ctx context.Context, t space.Trial) (space.Outcome, error) {
	o := &open{point: t.Point, key: t.Point.Key(), fidelity: t.Fidelity, heard: time.Now(), answer: make(chan answer, 1)}
	c.mu.Lock()
	c.open[t.Number] = o
	c.mu.Unlock()
	c.publish(c.task(t.Number, o))
	select {
	case a := <-o.answer:
		return a.outcome, a.err
	case <-ctx.Done():
		c.mu.Lock()
		delete(c.open, t.Number)
		c.mu.Unlock()
		// What a worker still measures could disturb what comes next.
		if text, err := json.Marshal(dropped{c.job.Sitting, t.Number}); err == nil {
			_ = c.nc.Publish(subjectDrop+c.job.ID, text)
		}
		return space.Outcome{}, ctx.Err()
	}
}

// told takes what a worker tells.
func (c *Coordinator) told(m *nats.Msg) {
	var t told
	err := json.Unmarshal(m.Data, &t)
	reply := ""
	if err != nil || t.Worker == "" || len(t.Worker) > mostName {
		reply = c.useless(plain.Clip(plain.Line(t.Worker), 60), "an answer that cannot be read")
	} else {
		reply = c.take(t)
	}
	_ = m.Respond([]byte(reply))
}

// take takes an outcome. The first one of a trial counts.
func (c *Coordinator) take(t told) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen[t.Worker] = time.Now()
	o := c.open[t.Trial]
	switch {
	case c.lies[t.Worker] >= mostLies:
		return answerLeave
	case t.Sitting != c.job.Sitting || o == nil:
		c.counted.Known++
		return answerKnown
	case !c.mayTell(t.Worker):
		return answerAgain
	case t.Key != o.key:
		return c.lied(t.Worker, fmt.Sprintf("the outcome of another point than that of trial %d", t.Trial))
	case t.Error != "":
		return c.failed(t, o)
	}
	if err := t.Outcome.Validate(); err != nil || t.Outcome.Fidelity != o.fidelity {
		return c.lied(t.Worker, fmt.Sprintf("an outcome of trial %d that cannot be one: %v", t.Trial, err))
	}
	delete(c.open, t.Trial)
	c.counted.Taken++
	t.Outcome.By = plain.Clip(plain.Line(t.Worker), 100)
	o.answer <- answer{outcome: t.Outcome}
	return answerTaken
}

// failed notes that a worker cannot evaluate a trial, which another one may. The caller holds mu.
func (c *Coordinator) failed(t told, o *open) string {
	c.counted.Failures++
	what := fmt.Sprintf("trial %d, %s", t.Trial, o.key)
	why := plain.Clip(plain.Line(strings.TrimPrefix(t.Error, what+": ")), 300)
	if o.failed == nil {
		o.failed = map[string]bool{}
	}
	o.failed[t.Worker] = true
	if o.errors++; o.errors >= mostErrors && (t.Given || len(o.failed) >= mostErrors || !c.untried(o)) {
		delete(c.open, t.Trial)
		o.answer <- answer{err: fmt.Errorf("%s: workers failed %d times to evaluate it; the last one was %s: %s", what, o.errors, plain.Line(t.Worker), why)}
		return answerTaken
	}
	if t.Given {
		return answerAgain
	}
	if !c.unable[t.Worker] {
		c.unable[t.Worker] = true
		c.note(fmt.Sprintf("worker %s cannot evaluate %s, which goes to another one: %s", plain.Line(t.Worker), what, why))
	}
	// A new task, and not the same again: how often a task was given out says whether it crashes workers.
	o.heard = time.Now()
	again := c.task(t.Trial, o)
	time.AfterFunc(telling, func() {
		c.mu.Lock()
		waits := c.open[again.Trial] == o && !c.closed
		c.mu.Unlock()
		if waits {
			c.publish(again)
		}
	})
	return answerKnown
}

// untried reports whether there is a worker that has not failed to evaluate a trial. The caller holds mu.
func (c *Coordinator) untried(o *open) bool {
	for worker, at := range c.seen {
		if !o.failed[worker] && c.lies[worker] < mostLies && time.Since(at) < c.job.Lease {
			return true
		}
	}
	return false
}

func (c *Coordinator) useless(worker, what string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lied(worker, what)
}

// lied notes a useless answer. The caller holds mu.
func (c *Coordinator) lied(worker, what string) string {
	c.counted.Useless++
	if c.lies[worker]++; c.lies[worker] == mostLies {
		c.note(fmt.Sprintf("worker %s is set aside: it gave %s, and %d useless answers in all", plain.Line(worker), what, mostLies))
		return answerLeave
	}
	return answerAgain
}

// alive notes which trials are in hand.
func (c *Coordinator) alive(m *nats.Msg) {
	var a alive
	if json.Unmarshal(m.Data, &a) != nil || a.Worker == "" || len(a.Worker) > mostName {
		return
	}
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lies[a.Worker] >= mostLies {
		return
	}
	c.seen[a.Worker] = now
	for _, n := range a.Trials {
		if o := c.open[n]; o != nil {
			o.heard = now
		}
	}
}

// Workers is how many workers were heard of within the last lease.
func (c *Coordinator) Workers() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, at := range c.seen {
		if time.Since(at) < c.job.Lease {
			n++
		}
	}
	return n
}

// Counts returns what was seen so far.
func (c *Coordinator) Counts() Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counted
}

// Close tells the workers that the run wants nothing more, and removes its queue.
func (c *Coordinator) Close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.stop()
	c.done.Wait()
	for _, s := range c.subs {
		_ = s.Unsubscribe()
	}
	c.announce(true)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if c.nc.IsConnected() { // otherwise the queue ends with its age
		_ = c.js.DeleteStream(ctx, streamOf(c.job.ID))
		_ = c.nc.FlushWithContext(ctx)
	}
}
