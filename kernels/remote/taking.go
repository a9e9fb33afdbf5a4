package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"tune/internal/cpu"
	"tune/internal/plain"
	"tune/kernels"
	"tune/space"
)

// announced takes up a run that is announced, or notes that it is still there.
func (w *Worker) announced(ctx context.Context, job Job) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s, known := w.serving[job.ID]
	if known && s.job.Sitting != job.Sitting {
		w.leave(job.ID, "its coordinator begins again")
		known = false
	}
	switch {
	case known && job.Ended:
		w.leave(job.ID, "the run has ended")
	case known:
		s.announced = time.Now()
	}
	if job.Ended {
		delete(w.refused, job.ID+job.Sitting)
	}
	_, refused := w.refused[job.ID+job.Sitting]
	if known || refused || job.Ended || job.Joins && job.Reference == "" { // which comes when the coordinator has it
		return
	}
	if len(w.serving) >= mostRuns {
		return
	}
	maps.DeleteFunc(w.refused, func(_ string, r RefusedOf) bool { return r.Run == job.ID }) // why it was refused before
	s = &serving{job: job, announced: time.Now(), held: map[int]held{}, dropped: map[int]bool{}}
	s.ctx, s.cancel = context.WithCancel(ctx)
	w.serving[job.ID] = s
	w.all.Go(func() { w.takeUp(s) })
}

// takeUp prepares the service of a run, has tasks taken until the run ends, and then clears up.
func (w *Worker) takeUp(s *serving) {
	err := w.open(s)
	if err == nil {
		err = w.connect(s)
	}
	switch {
	case s.ctx.Err() != nil:
	case err != nil:
		w.refuse(s, err)
	case s.job.Joins:
		w.join(s)
	default:
		w.take(s)
	}
	<-s.ctx.Done()
	w.mu.Lock()
	if w.serving[s.job.ID] == s {
		delete(w.serving, s.job.ID)
	}
	w.mu.Unlock()
	s.users.Wait()
	s.closePullers()
	w.tidy(s)
}

// refuse ends the service of a sitting for good.
func (w *Worker) refuse(s *serving, why error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.serving[s.job.ID] != s || s.ctx.Err() != nil {
		return
	}
	w.noteRefusal(s, why.Error())
	w.leave(s.job.ID, "refused: "+why.Error())
}

// noteRefusal remembers why a run is not served. The caller holds mu.
func (w *Worker) noteRefusal(s *serving, why string) {
	if len(w.refused) >= 100 { // of runs that are long over
		clear(w.refused)
	}
	w.refused[s.job.ID+s.job.Sitting] = RefusedOf{s.job.ID, plain.Clip(plain.Line(s.job.Kernel), 60), plain.Clip(plain.Line(why), 300)}
}

// take begins to take tasks of a run.
func (w *Worker) take(s *serving) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.serving[s.job.ID] != s || s.ctx.Err() != nil || s.taken {
		return
	}
	s.taken = true
	delete(w.refused, s.job.ID+s.job.Sitting)
	w.note("%s: serving", s.job.name())
	w.wake()
}

// setAside ends the taking of tasks for now.
func (w *Worker) setAside(s *serving, why string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.serving[s.job.ID] != s || s.ctx.Err() != nil {
		return
	}
	if s.taken || w.refused[s.job.ID+s.job.Sitting].Why == "" {
		w.note("%s: set aside for now: %s", s.job.name(), why)
	}
	s.taken = false
	w.noteRefusal(s, why)
	w.wake()
}

// connect finds the queue of a run. It waits where that is not there yet.
func (w *Worker) connect(s *serving) (err error) {
	for s.ctx.Err() == nil {
		look, cancel := context.WithTimeout(s.ctx, patience)
		_, err = w.js.Consumer(look, streamOf(s.job.ID), consumerName)
		cancel()
		if err == nil {
			return nil
		}
		if !errors.Is(err, jetstream.ErrStreamNotFound) && !errors.Is(err, jetstream.ErrConsumerNotFound) && !errors.Is(err, context.DeadlineExceeded) && w.nc.IsConnected() {
			return fmt.Errorf("the work queue of the run: %w", err)
		}
		select {
		case <-s.ctx.Done():
		case <-time.After(announcing):
		}
	}
	return s.ctx.Err()
}

// open opens the kernel of a run. The error says why the worker does not serve it.
func (w *Worker) open(s *serving) error {
	job := s.job
	k, err := w.lookup(s)
	if err != nil {
		return err
	}
	info := k.Info()
	if err := sameVersion(info, job); err != nil {
		return err
	}
	if err := w.suits(job); err != nil {
		return err
	}
	if info.Exact == job.Timed || job.Timed && !job.Joins && job.Only == "" {
		return errors.New("the run and this worker do not agree whether its costs are exact")
	}
	if s.opened, err = openAt(k, job.Shape); err != nil {
		return err
	}
	if s.opened.Problem.Space().Fingerprint() != job.Space {
		return errors.New("the kernel has another space here")
	}
	s.evaluator = &kernels.Evaluator{Problem: s.opened.Problem, CheckSeed: job.CheckSeed, Metrics: job.Metrics}
	return nil
}

// sameVersion reports that a run is of another version of a kernel.
func sameVersion(info kernels.Info, job Job) error {
	if info.Version != job.Version {
		return fmt.Errorf("this worker has version %s of the kernel, and the run version %s", info.Version, plain.Clip(plain.Line(job.Version), 60))
	}
	return nil
}

// openAt opens a kernel at a shape, where that names nothing that workers do not have.
func openAt(k kernels.Kernel, text string) (*kernels.Opened, error) {
	info := k.Info()
	shape, err := kernels.ParseShape(info.Shape, text)
	if err != nil {
		return nil, err
	}
	if why := ServesShape(info, shape); why != "" {
		return nil, errors.New(why)
	}
	return kernels.Open(k, shape)
}

// suits says why a run does not want this worker.
func (w *Worker) suits(job Job) error {
	if job.Only != "" && job.Only != w.Name {
		return fmt.Errorf("the run is tuned for worker %s", plain.Clip(plain.Line(job.Only), 100))
	}
	wants, err := ParseWants(job.On)
	if err != nil {
		return err
	}
	if len(wants) > 0 { // what the worker is takes a moment to find out
		if unmet := wants.Unmet(w.Info()); unmet != "" {
			return fmt.Errorf("the run wants %s", unmet)
		}
	}
	if job.Timed && job.Fingerprint != cpu.Fingerprint() {
		return fmt.Errorf("its costs are measured on a processor of fingerprint %s, and this one has %s", plain.Clip(plain.Line(job.Fingerprint), 20), cpu.Fingerprint())
	}
	if job.Timed && len(job.Compilers) > 0 && !slices.Equal(job.Compilers, w.Compilers) {
		return fmt.Errorf("its costs are measured with other compilers: %v there, and %v here", job.Compilers, w.Compilers)
	}
	return nil
}

// lookup returns the kernel of a run: of the table, or of the files that travel with it.
func (w *Worker) lookup(s *serving) (kernels.Kernel, error) {
	job := s.job
	if job.Files != nil {
		return w.lookupUser(s)
	}
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
	return k, nil
}

// lookupUser fetches the files of a user's kernel, if the owner of the worker allows that.
func (w *Worker) lookupUser(s *serving) (kernels.Kernel, error) {
	if w.User == nil {
		return nil, errors.New("it is the code of a user, which its owner does not allow: tune worker --allow-user-code")
	}
	if w.Allow != nil && !slices.Contains(w.Allow, s.job.Kernel) {
		return nil, errors.New("its owner does not allow it")
	}
	if err := w.suits(s.job); err != nil { // before anything is fetched
		return nil, err
	}
	list, err := w.store.list(s.ctx, w.nc, s.job)
	if err != nil {
		return nil, err
	}
	w.note("%s: the code of a user: %s", s.job.name(), describe(list))
	s.folder = filepath.Join("kernels", strconv.FormatInt(w.loads.Add(1), 10))
	path, err := w.store.unpack(s.ctx, w.nc, s.job, s.folder, list)
	if err != nil {
		return nil, err
	}
	k, end, err := w.User(path)
	if err != nil {
		return nil, err
	}
	if s.close = end; k.Info().Name != s.job.Kernel {
		return nil, fmt.Errorf("its files are those of kernel %s", k.Info().Name)
	}
	return k, nil
}

// join has the coordinator compare this machine with its own, and takes tasks while it agrees.
func (w *Worker) join(s *serving) {
	for s.ctx.Err() == nil {
		j := join{Worker: w.Name, Self: w.self, Sitting: s.job.Sitting, Machine: w.Machine, Asks: true}
		answer := w.ask(s, j)
		if answer.Taken {
			j.Asks = false
			j.Costs, j.Failed = w.compare(s)
			answer = w.ask(s, j)
		}
		switch {
		case s.ctx.Err() != nil:
			return
		case answer.Later:
		case answer.Taken:
			w.take(s)
		case answer.Again <= 0:
			w.refuse(s, errors.New(answer.Why))
			return
		default:
			w.setAside(s, answer.Why)
		}
		if answer.Again <= 0 {
			return
		}
		select {
		case <-s.ctx.Done():
		case <-time.After(max(answer.Again, telling)):
		}
	}
}

// compare evaluates the reference of a run. failed says why there are no costs.
func (w *Worker) compare(s *serving) (costs Costs, failed string) {
	point, err := s.opened.Problem.Space().Parse(s.job.Reference)
	if err != nil {
		return Costs{}, err.Error()
	}
	w.measures(s, true)
	defer w.measures(s, false)
	leave, err := w.quiet.enter(s.ctx, companyOf(s.job.Timed))
	if err != nil {
		return Costs{}, err.Error()
	}
	defer leave()
	if costs, err = Measure(s.ctx, s.evaluator, point, s.job.Timed, w.Pace); err != nil {
		return Costs{}, err.Error()
	}
	return costs, ""
}

// measures notes whether the reference of a run is being evaluated, so that nothing else begins then.
func (w *Worker) measures(s *serving, now bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s.measuring = now
	w.wake()
}

// mostReference is how often the reference is evaluated where costs are measured, and longReference how long that goes on after the
// second time.
const (
	mostReference = 5
	longReference = 10 * time.Second
)

// Measure evaluates the reference of a run: several times where costs are measured, and then it also measures how fast the machine is, by
// pace, which may be nil.
func Measure(ctx context.Context, e *kernels.Evaluator, reference space.Point, timed bool, pace func(context.Context) (float64, error)) (Costs, error) {
	var costs Costs
	began := time.Now()
	for i := range mostReference {
		o, err := e.Evaluate(ctx, space.Trial{Proposal: space.Proposal{Point: reference}})
		if err != nil {
			return Costs{}, err
		}
		if o.Status != space.OK {
			return Costs{}, fmt.Errorf("%s: %s", o.Status, o.Reason)
		}
		costs.Reference = append(costs.Reference, o.Cost)
		if !timed || i > 0 && time.Since(began) > longReference {
			break
		}
	}
	if timed && pace != nil {
		// What the loop says is a second look. Without it the costs stand.
		costs.Pace, _ = pace(ctx)
	}
	return costs, ctx.Err()
}

// ask asks the coordinator whether it takes the worker, for as long as the run is there.
func (w *Worker) ask(s *serving, j join) (answer joined) {
	text, err := json.Marshal(j)
	if err != nil { // a cost that is not finite
		j.Costs, j.Failed = Costs{}, err.Error()
		text, _ = json.Marshal(j)
	}
	for s.ctx.Err() == nil {
		ctx, cancel := context.WithTimeout(s.ctx, patience)
		m, err := w.nc.RequestWithContext(ctx, subjectJoin+s.job.ID, text)
		cancel()
		if err == nil && json.Unmarshal(m.Data, &answer) == nil {
			return answer
		}
		select { // the coordinator or the server is not there for now
		case <-s.ctx.Done():
		case <-time.After(telling):
		}
	}
	return joined{}
}
