package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"tune/internal/cpu"
	"tune/internal/plain"
	"tune/kernels"
	"tune/space"
)

const (
	forgotten = 10 * announcing // a run that is not announced for so long is over, or its coordinator is dead
	mostGiven = 20              // how often a task is given out; each time it cost its worker the lease
	telling   = 500 * time.Millisecond
)

// Worker evaluates the candidates of runs on other machines. Set its fields before Serve.
type Worker struct {
	Name  string        // unique among workers; "" means the host's name and the process
	Tool  string        // the version of tune
	Table kernels.Table // the kernels that it has
	Allow []string      // names of those that it evaluates; nil for all of which Serves says nothing against
	Jobs  int           // candidates evaluated at once; 0 means one for each core
	Note  func(text string)

	mu        sync.Mutex
	serving   map[string]*serving  // by the run's ID
	refused   map[string]RefusedOf // by the run's ID and sitting
	turn      int                  // of serving
	changed   chan struct{}        // closed when serving changes
	busy      int
	evaluated int
}

// serving is a run that the worker serves.
type serving struct {
	job       Job
	opened    *kernels.Opened
	evaluator *kernels.Evaluator
	consumer  jetstream.Consumer
	ctx       context.Context // ends with the run
	cancel    context.CancelFunc
	announced time.Time
	held      map[int]jetstream.Msg // what is in hand, by the trial
}

// Info says what the worker is.
func (w *Worker) Info() Info {
	i := Info{
		Name: w.Name, Tool: w.Tool, OS: runtime.GOOS, Arch: runtime.GOARCH, CPU: cpu.Model(), Fingerprint: cpu.Fingerprint(), ISAs: cpu.Features(),
		Cores: runtime.NumCPU(), Load: load(), Jobs: w.Jobs,
	}
	for _, k := range w.Table {
		if info := k.Info(); Serves(info) == "" && (w.Allow == nil || slices.Contains(w.Allow, info.Name)) {
			i.Kernels = append(i.Kernels, KernelOf{info.Name, info.Version})
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	i.Busy, i.Evaluated = w.busy, w.evaluated
	for _, r := range w.refused {
		i.Refuses = append(i.Refuses, r)
	}
	slices.SortFunc(i.Refuses, func(a, b RefusedOf) int { return strings.Compare(a.Kernel+a.Why, b.Kernel+b.Why) })
	return i
}

// Serves says why no worker evaluates a kernel; "" where workers do.
func Serves(i kernels.Info) string {
	switch {
	case !i.Exact:
		return "its costs are measured, and those of different machines cannot be compared"
	case i.Asked:
		return "its points are scored by a client"
	case i.Files.Path != "" || i.Files.Data != nil:
		return "it is made of files that workers do not have"
	}
	return ""
}

// load is the load of the machine over the last minute; 0 where nothing tells it.
func load() float64 {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(text), " ")
	v, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return 0
	}
	return v
}

// Serve evaluates what is asked for, until ctx ends. What is in hand then is given back.
func (w *Worker) Serve(ctx context.Context, nc *nats.Conn) error {
	if w.Name == "" {
		host, err := os.Hostname()
		if err != nil {
			host = "worker"
		}
		w.Name = fmt.Sprintf("%s-%d", host, os.Getpid())
	}
	if w.Jobs == 0 {
		w.Jobs = runtime.NumCPU()
	}
	w.serving, w.refused, w.changed = map[string]*serving{}, map[string]RefusedOf{}, make(chan struct{})
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	jobs := make(chan Job, 64)
	announced, err := nc.Subscribe(subjectRun, func(m *nats.Msg) {
		var job Job
		if json.Unmarshal(m.Data, &job) == nil && job.ID != "" && job.Lease > 0 {
			select {
			case jobs <- job:
			default: // it is announced again
			}
		}
	})
	if err != nil {
		return err
	}
	defer announced.Unsubscribe()
	who, err := nc.Subscribe(subjectWho, func(m *nats.Msg) {
		if text, err := json.Marshal(w.Info()); err == nil {
			_ = m.Respond(text)
		}
	})
	if err != nil {
		return err
	}
	defer who.Unsubscribe()
	if err := nc.Publish(subjectRuns, nil); err != nil {
		return err
	}
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() { w.attend(ctx, nc, js, jobs) })
	for range w.Jobs {
		all.Go(func() { w.work(ctx, nc) })
	}
	<-ctx.Done()
	return nil
}

// attend takes up runs and forgets them, and renews leases.
func (w *Worker) attend(ctx context.Context, nc *nats.Conn, js jetstream.JetStream, jobs <-chan Job) {
	tick := time.NewTicker(announcing / 2)
	defer tick.Stop()
	renewed := map[string]time.Time{}
	for {
		select {
		case <-ctx.Done():
			return
		case job := <-jobs:
			w.announced(ctx, js, job)
		case now := <-tick.C:
			w.mu.Lock()
			for id, s := range w.serving {
				if now.Sub(s.announced) > forgotten && nc.IsConnected() {
					w.leave(id, "its coordinator is gone")
				} else if now.Sub(renewed[id]) >= s.job.Lease/4 {
					renewed[id] = now
					w.renew(nc, s)
				}
			}
			w.mu.Unlock()
		}
	}
}

// renew renews the leases of what is in hand. The caller holds mu.
func (w *Worker) renew(nc *nats.Conn, s *serving) {
	a := alive{Worker: w.Name, Trials: []int{}}
	for n, m := range s.held {
		a.Trials = append(a.Trials, n)
		_ = m.InProgress()
	}
	if text, err := json.Marshal(a); err == nil {
		_ = nc.Publish(subjectAlive+s.job.ID, text)
	}
}

// leave ends the service of a run. The caller holds mu.
func (w *Worker) leave(id, why string) {
	s := w.serving[id]
	s.cancel()
	delete(w.serving, id)
	w.note("%s %s: %s", s.job.Kernel, s.job.Shape, why)
	close(w.changed)
	w.changed = make(chan struct{})
}

func (w *Worker) note(format string, args ...any) {
	if w.Note != nil {
		w.Note(plain.Line(fmt.Sprintf(format, args...)))
	}
}

// announced takes up a run that is announced, if the worker can serve it.
func (w *Worker) announced(ctx context.Context, js jetstream.JetStream, job Job) {
	w.mu.Lock()
	s, known := w.serving[job.ID]
	if known && s.job.Sitting != job.Sitting {
		w.leave(job.ID, "its coordinator begins again")
		known = false
	}
	if known {
		s.announced = time.Now()
		if job.Ended {
			w.leave(job.ID, "the run has ended")
		}
	}
	_, refused := w.refused[job.ID+job.Sitting]
	w.mu.Unlock()
	if known || refused || job.Ended {
		return
	}
	opened, err := w.open(job)
	if err != nil {
		w.mu.Lock()
		if len(w.refused) >= 100 { // of runs that are long over
			clear(w.refused)
		}
		w.refused[job.ID+job.Sitting] = RefusedOf{plain.Clip(plain.Line(job.Kernel), 60), plain.Clip(plain.Line(err.Error()), 300)}
		w.mu.Unlock()
		w.note("%s %s: refused: %v", plain.Clip(job.Kernel, 60), plain.Clip(job.Shape, 200), err)
		return
	}
	look, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	consumer, err := js.Consumer(look, streamOf(job.ID), consumerName)
	if err != nil {
		return // its queue is not there yet, and it is announced again
	}
	s = &serving{
		job: job, opened: opened, evaluator: &kernels.Evaluator{Problem: opened.Problem, CheckSeed: job.CheckSeed}, consumer: consumer,
		announced: time.Now(), held: map[int]jetstream.Msg{},
	}
	s.ctx, s.cancel = context.WithCancel(ctx)
	w.note("%s %s: serving", job.Kernel, job.Shape)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.serving[job.ID] = s
	close(w.changed)
	w.changed = make(chan struct{})
}

// open opens the kernel of a run. The error says why the worker does not serve it.
func (w *Worker) open(job Job) (*kernels.Opened, error) {
	k, err := w.Table.Lookup(job.Kernel)
	if err != nil {
		return nil, errors.New("this worker has no such kernel")
	}
	info := k.Info()
	if why := Serves(info); why != "" {
		return nil, errors.New(why)
	}
	if w.Allow != nil && !slices.Contains(w.Allow, info.Name) {
		return nil, errors.New("its owner does not allow it")
	}
	if info.Version != job.Version {
		return nil, fmt.Errorf("this worker has version %s of the kernel, and the run version %s", info.Version, job.Version)
	}
	wants, err := ParseWants(job.On)
	if err != nil {
		return nil, err
	}
	if unmet := wants.Unmet(w.Info()); unmet != "" {
		return nil, fmt.Errorf("the run wants %s", unmet)
	}
	shape, err := kernels.ParseShape(info.Shape, job.Shape)
	if err != nil {
		return nil, err
	}
	opened, err := kernels.Open(k, shape)
	if err != nil {
		return nil, err
	}
	if opened.Problem.Space().Fingerprint() != job.Space {
		return nil, errors.New("the kernel has another space here")
	}
	return opened, nil
}

// next returns the run to take a task of, and how long to wait for it. It waits while there is none.
func (w *Worker) next(ctx context.Context) (*serving, time.Duration) {
	for {
		w.mu.Lock()
		ids := make([]string, 0, len(w.serving))
		for id := range w.serving {
			ids = append(ids, id)
		}
		changed := w.changed
		if len(ids) > 0 {
			slices.Sort(ids)
			w.turn++
			s := w.serving[ids[w.turn%len(ids)]]
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
func (w *Worker) work(ctx context.Context, nc *nats.Conn) {
	for ctx.Err() == nil {
		s, wait := w.next(ctx)
		if s == nil {
			return
		}
		fetch, cancel := context.WithTimeout(s.ctx, wait)
		m, err := s.consumer.Next(jetstream.FetchContext(fetch))
		expired := fetch.Err() != nil
		cancel()
		if err == nil {
			w.evaluate(s, nc, m)
			continue
		}
		if !expired && !errors.Is(err, nats.ErrTimeout) {
			// The server or the queue is not there. The next announcement finds it again.
			w.mu.Lock()
			if w.serving[s.job.ID] == s && !errors.Is(err, nats.ErrConnectionClosed) && nc.IsConnected() {
				w.leave(s.job.ID, "its queue is gone")
			}
			w.mu.Unlock()
			select {
			case <-ctx.Done():
			case <-time.After(announcing / 5):
			}
		}
	}
}

// evaluate evaluates a task, and tells the coordinator.
func (w *Worker) evaluate(s *serving, nc *nats.Conn, m jetstream.Msg) {
	var t task
	if err := json.Unmarshal(m.Data(), &t); err != nil || t.Sitting != s.job.Sitting {
		_ = m.Term() // no task of this sitting
		return
	}
	w.mu.Lock()
	s.held[t.Trial] = m
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
		err = fmt.Errorf("it was given out %d times, and each time its worker fell silent: it may have crashed them", meta.NumDelivered-1)
	default:
		answer.Outcome, err = s.evaluator.Evaluate(s.ctx, space.Trial{Number: t.Trial, Proposal: space.Proposal{Point: point, Fidelity: t.Fidelity}})
	}
	if s.ctx.Err() != nil {
		_ = m.Nak() // the run has ended, or this worker does
		return
	}
	if err != nil {
		answer.Outcome, answer.Error = space.Outcome{}, err.Error()
	}
	text, err := json.Marshal(answer)
	if err != nil { // a cost that is not finite
		answer.Outcome, answer.Error = space.Outcome{}, err.Error()
		text, _ = json.Marshal(answer)
	}
	w.tell(s, nc, m, text)
}

// tell hands an answer to the coordinator, for as long as that is there, and then gives the task back.
func (w *Worker) tell(s *serving, nc *nats.Conn, m jetstream.Msg, text []byte) {
	for s.ctx.Err() == nil {
		ctx, cancel := context.WithTimeout(s.ctx, 10*telling)
		reply, err := nc.RequestWithContext(ctx, subjectTold+s.job.ID, text)
		cancel()
		if err == nil {
			switch string(reply.Data) {
			case answerTaken, answerKnown:
				_ = m.Ack()
			case answerLeave:
				_ = m.Nak()
				w.mu.Lock()
				if w.serving[s.job.ID] == s {
					w.refused[s.job.ID+s.job.Sitting] = RefusedOf{s.job.Kernel, "the coordinator has set this worker aside"}
					w.leave(s.job.ID, "the coordinator has set this worker aside")
				}
				w.mu.Unlock()
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

// Workers asks which workers there are, and collects answers for a time. They are in the order of their names.
func Workers(ctx context.Context, nc *nats.Conn, wait time.Duration) ([]Info, error) {
	inbox := nats.NewInbox()
	s, err := nc.SubscribeSync(inbox)
	if err != nil {
		return nil, err
	}
	defer s.Unsubscribe()
	if err := nc.PublishRequest(subjectWho, inbox, nil); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	found := []Info{}
	for {
		m, err := s.NextMsgWithContext(ctx)
		if err != nil {
			break // the time is over; nobody else answers
		}
		var i Info
		if json.Unmarshal(m.Data, &i) == nil && i.Name != "" {
			found = append(found, i)
		}
	}
	slices.SortFunc(found, func(a, b Info) int { return strings.Compare(a.Name, b.Name) })
	return found, nil
}
