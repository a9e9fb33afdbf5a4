package remote

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"tune/internal/cpu"
	"tune/internal/files"
	"tune/internal/plain"
	"tune/kernels"
	"tune/kernels/native"
)

const (
	forgotten = 10 * announcing // a run that is not announced for so long is over, or its coordinator is dead
	mostGiven = 20              // how often a task is given out; each time it cost its worker the lease
	telling   = 500 * time.Millisecond

	mostRuns    = 100     // that a worker serves at once
	mostDropped = 100_000 // trials that are remembered, because nobody waits for them
)

// Worker evaluates the candidates of runs on other machines. Set its fields before Serve.
type Worker struct {
	Name  string        // unique among workers; "" means the host's name and the process
	Tool  string        // the version of tune
	Table kernels.Table // the kernels that it has
	Allow []string      // names of those that it evaluates; nil for all of which Serves says nothing against
	Jobs  int           // candidates evaluated at once; 0 means one for each core
	Note  func(text string)
	// User loads the kernel in a user's file. Its close is called when nothing of it runs any more. nil says that the owner of this
	// worker allows no code of users.
	User func(path string) (k kernels.Kernel, close func() error, err error)
	// Pace returns how many seconds the machine takes for a loop of fixed work; nil where nothing tells it.
	Pace func(context.Context) (float64, error)
	// Compilers are those that kernels in C are compiled by, with their versions.
	Compilers []string
	// Roofs are the measured rates of one core, which others are told.
	Roofs []native.Roof
	// Machine is the same for all workers of a machine; "" where nothing tells it.
	Machine string

	self  string // differs for each process
	nc    *nats.Conn
	js    jetstream.JetStream
	all   sync.WaitGroup
	quiet quiet
	store store
	loads atomic.Int64 // kernels of users, which numbers their folders
	// failures are the tasks in turn that it could not evaluate.
	failures atomic.Int64

	mu        sync.Mutex
	serving   map[string]*serving  // by the run's ID
	refused   map[string]RefusedOf // by the run's ID and sitting
	turn      int                  // of serving
	changed   chan struct{}        // closed when what can be worked on changes
	busy      int
	evaluated int
	desks     map[string]*desk // by their coordinators' IDs
	alone     int              // calls at desks of kernels whose costs are measured, under way or waiting to begin
	ending    bool             // no desk is made any more
}

// serving is a run that the worker serves, or prepares to serve.
type serving struct {
	job       Job
	ctx       context.Context // ends with the run
	cancel    context.CancelFunc
	announced time.Time
	taken     bool           // whether tasks are taken
	measuring bool           // whether the reference is evaluated
	held      map[int]held   // what is in hand, by the trial
	dropped   map[int]bool   // trials that nobody waits for, and that are not in hand yet
	users     sync.WaitGroup // whoever works on it

	pulling sync.Mutex
	idle    []*puller // guarded by pulling

	// The rest is set before taken and measuring are.
	opened    *kernels.Opened
	evaluator *kernels.Evaluator
	close     func() error // of the user's kernel; nil for another one
	folder    string       // of its files, in the folder of the worker
}

// held is a task in hand.
type held struct {
	m      *nats.Msg
	cancel context.CancelFunc
}

// Info says what the worker is.
func (w *Worker) Info() Info {
	i := Info{
		Name: w.Name, Tool: w.Tool, OS: runtime.GOOS, Arch: runtime.GOARCH, CPU: cpu.Model(), Fingerprint: cpu.Fingerprint(), ISAs: cpu.Features(),
		Cores: runtime.NumCPU(), Load: loadOf(), Jobs: w.Jobs, Go: runtime.Version(), Self: w.self,
	}
	for _, k := range w.Table {
		if info := k.Info(); Serves(info) == "" && (w.Allow == nil || slices.Contains(w.Allow, info.Name)) {
			i.Kernels = append(i.Kernels, KernelOf{info.Name, info.Version})
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	i.Busy, i.Evaluated, i.UserCode, i.Compilers, i.Roofs = w.busy, w.evaluated, w.User != nil, w.Compilers, w.Roofs
	for _, r := range w.refused {
		i.Refuses = append(i.Refuses, r)
	}
	slices.SortFunc(i.Refuses, func(a, b RefusedOf) int { return strings.Compare(a.Kernel+a.Why, b.Kernel+b.Why) })
	return i
}

// Serves says why no worker evaluates a kernel; "" where workers do.
func Serves(i kernels.Info) string {
	switch {
	case i.Asked:
		return "its points are scored by a client"
	case i.Files.Data != nil:
		return "it is made of measurements that workers do not have"
	}
	return ""
}

// ServesShape says why no worker evaluates a kernel at a shape; "" where workers do.
func ServesShape(i kernels.Info, shape kernels.Shape) string {
	for _, f := range i.Shape {
		if f.Text != "" && shape.Text(f.Name) != f.Default {
			return fmt.Sprintf("%s=%s may name a file that workers do not have", f.Name, plain.Line(shape.Text(f.Name)))
		}
	}
	return ""
}

// loadOf is the load of the machine over the last minute; 0 where nothing tells it.
func loadOf() float64 {
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

// MachineID returns what is the same for all processes of this machine, until it starts again; "" where nothing tells it.
func MachineID() string {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// scratchPrefix begins the names of workers' folders.
const scratchPrefix = "tune-brought-"

// prepare sets what Serve needs.
func (w *Worker) prepare(nc *nats.Conn) (err error) {
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
	w.self, w.nc = rand.Text(), nc
	w.serving, w.refused, w.changed = map[string]*serving{}, map[string]RefusedOf{}, make(chan struct{})
	w.desks = map[string]*desk{}
	if w.js, err = jetstream.New(nc); err != nil {
		return err
	}
	if w.User != nil {
		if w.store.folder, err = files.Scratch(scratchPrefix); err != nil {
			return fmt.Errorf("the folder for the files of users' kernels: %w", err)
		}
	}
	return nil
}

// Serve evaluates what is asked for, until ctx ends. What is in hand then is given back.
func (w *Worker) Serve(ctx context.Context, nc *nats.Conn) error {
	if err := w.prepare(nc); err != nil {
		return err
	}
	if w.store.folder != "" {
		defer os.RemoveAll(w.store.folder)
	}
	jobs := make(chan Job, 64)
	take := announcements(jobs)
	announced, err := nc.Subscribe(subjectRun, take)
	if err != nil {
		return err
	}
	defer announced.Unsubscribe()
	inbox := nats.NewInbox() // of the runs that are there already
	answers, err := nc.Subscribe(inbox, take)
	if err != nil {
		return err
	}
	defer answers.Unsubscribe()
	who, err := nc.Subscribe(subjectWho, func(m *nats.Msg) {
		if text, err := json.Marshal(w.Info()); err == nil {
			_ = m.Respond(text)
		}
	})
	if err != nil {
		return err
	}
	defer who.Unsubscribe()
	drop, err := nc.Subscribe(subjectDrop+"*", w.drop)
	if err != nil {
		return err
	}
	defer drop.Unsubscribe()
	desks, err := nc.Subscribe(subjectDesk+w.self, func(m *nats.Msg) { w.called(ctx, m) })
	if err != nil {
		return err
	}
	defer desks.Unsubscribe()
	if err := nc.PublishRequest(subjectRuns, inbox, nil); err != nil {
		return err
	}
	defer w.all.Wait()
	w.all.Go(func() { w.attend(ctx, jobs) })
	for range w.Jobs {
		w.all.Go(func() { w.work(ctx) })
	}
	<-ctx.Done()
	w.mu.Lock()
	w.ending = true
	w.mu.Unlock()
	return nil
}

// announcements returns what passes on announcements of runs. Each comes twice a second, mostly as the one before.
func announcements(jobs chan<- Job) nats.MsgHandler {
	var mu sync.Mutex
	var last []byte
	var job Job
	return func(m *nats.Msg) {
		if len(m.Data) == 0 {
			return // nobody announces a run yet
		}
		mu.Lock()
		defer mu.Unlock()
		if !bytes.Equal(m.Data, last) {
			job, last = Job{}, nil
			if json.Unmarshal(m.Data, &job) != nil || !nameable(job.ID) || job.Lease < time.Millisecond {
				return
			}
			last = m.Data
		}
		select {
		case jobs <- job:
		default: // it is announced again
		}
	}
}

// nameable reports whether the ID of a run can be part of a subject.
func nameable(id string) bool {
	return id != "" && len(id) <= 100 && !strings.ContainsFunc(id, func(c rune) bool {
		return c != '-' && c != '_' && !(c < 128 && (unicode.IsLetter(c) || unicode.IsDigit(c)))
	})
}

// drop ends the evaluation of a trial that the coordinator does not wait for any more.
func (w *Worker) drop(m *nats.Msg) {
	var d dropped
	if json.Unmarshal(m.Data, &d) != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.serving[strings.TrimPrefix(m.Subject, subjectDrop)]
	if s == nil || s.job.Sitting != d.Sitting {
		return
	}
	if h, ok := s.held[d.Trial]; ok {
		h.cancel()
	} else if len(s.dropped) < mostDropped {
		s.dropped[d.Trial] = true
	}
}

// attend takes up runs and forgets them, and renews leases.
func (w *Worker) attend(ctx context.Context, jobs <-chan Job) {
	tick := time.NewTicker(announcing / 2)
	defer tick.Stop()
	renewed := map[string]time.Time{}
	for {
		select {
		case <-ctx.Done():
			return
		case job := <-jobs:
			w.announced(ctx, job)
		case now := <-tick.C:
			w.mu.Lock()
			for id, s := range w.serving {
				if now.Sub(s.announced) > forgotten && w.nc.IsConnected() {
					w.leave(id, "its coordinator is gone")
				} else if now.Sub(renewed[id]) >= s.job.Lease/4 {
					renewed[id] = now
					w.renew(s)
				}
			}
			for _, d := range w.desks {
				if now.Sub(d.heard) > silentDesk && w.nc.IsConnected() {
					w.clear(d, "its coordinator is gone")
				}
			}
			w.mu.Unlock()
		}
	}
}

// renew renews the leases of what is in hand. The caller holds mu.
func (w *Worker) renew(s *serving) {
	if !s.taken && len(s.held) == 0 {
		return
	}
	a := alive{Worker: w.Name, Trials: []int{}}
	for n, h := range s.held {
		a.Trials = append(a.Trials, n)
		_ = h.m.InProgress()
	}
	if text, err := json.Marshal(a); err == nil {
		_ = w.nc.Publish(subjectAlive+s.job.ID, text)
	}
}

// leave ends the service of a run. The caller holds mu.
func (w *Worker) leave(id, why string) {
	s := w.serving[id]
	s.cancel()
	delete(w.serving, id)
	w.note("%s: %s", s.job.name(), why)
	w.wake()
}

// wake wakes what waits for something to work on. The caller holds mu.
func (w *Worker) wake() {
	close(w.changed)
	w.changed = make(chan struct{})
}

// name names a run for the owner of a worker.
func (j Job) name() string {
	return strings.TrimSpace(plain.Clip(plain.Line(j.Kernel), 60) + " " + plain.Clip(plain.Line(j.Shape), 200))
}

func (w *Worker) note(format string, args ...any) {
	if w.Note != nil {
		w.Note(plain.Line(fmt.Sprintf(format, args...)))
	}
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
