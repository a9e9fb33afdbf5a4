package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"tune/internal/guard"
	"tune/internal/plain"
	"tune/kernels"
	"tune/space"
)

const (
	silentDesk     = 30 * time.Second // after which a desk of which nothing is heard is cleared
	mostDesks      = 20
	mostCalls      = 64  // of a desk, under way at once
	keptReplies    = 64  // of a desk, for calls that are repeated
	keptCandidates = 100 // of a desk: the last ones
)

// desk is what a worker has in hand for the coordinator of a run that is tuned for the worker's machine: a kernel, and candidates of it.
type desk struct {
	id     string
	run    string          // its ID
	ctx    context.Context // ends with the desk
	cancel context.CancelFunc
	heard  time.Time // of the coordinator; guarded by the worker's mu
	users  sync.WaitGroup
	long   *nats.Subscription

	mu         sync.Mutex
	s          *serving        // with the files of a user's kernel; nil before the kernel is opened
	opened     *kernels.Opened // nil before that
	calls      map[int]*underWay
	answered   []int // numbers of calls, the oldest first
	candidates map[int]kernels.Candidate
	built      []int             // their numbers, the oldest first
	blobs      map[string][]byte // what the coordinator may fetch, by checksum
}

// underWay is a call of a desk.
type underWay struct {
	cancel context.CancelFunc
	now    reply // the answer, once it is known
}

// called handles a message of a coordinator.
func (w *Worker) called(ctx context.Context, m *nats.Msg) {
	var c call
	if json.Unmarshal(m.Data, &c) != nil || !nameable(c.Desk) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	d := w.desks[c.Desk]
	if d == nil && c.Do == doOpen && c.Open != nil && !w.ending {
		for _, before := range w.desks {
			if before.run == c.Open.Run {
				w.clear(before, "its coordinator begins again")
			}
		}
		if len(w.desks) < mostDesks {
			d = w.furnish(ctx, c.Desk, c.Open.Run)
		}
	}
	if d == nil {
		respond(m, reply{Number: c.Number, Unknown: true})
		return
	}
	d.heard = time.Now()
	switch c.Do {
	case doHere:
	case doLeave:
		w.clear(d, "the run has ended")
	case doDrop:
		d.drop(c.Number)
	default:
		d.take(w, c, m)
	}
}

// furnish makes a desk for a run. The caller holds mu.
func (w *Worker) furnish(ctx context.Context, id, run string) *desk {
	d := &desk{id: id, run: run, calls: map[int]*underWay{}, candidates: map[int]kernels.Candidate{}, blobs: map[string][]byte{}}
	d.ctx, d.cancel = context.WithCancel(ctx)
	var err error
	d.long, err = w.nc.Subscribe(subjectLong+id, func(m *nats.Msg) {
		d.mu.Lock()
		defer d.mu.Unlock()
		give(d.blobs, m)
	})
	if err != nil {
		d.cancel()
		return nil
	}
	w.desks[id] = d
	w.all.Go(func() { // when the desk is cleared, or the worker ends
		<-d.ctx.Done()
		w.mu.Lock()
		delete(w.desks, id)
		w.mu.Unlock()
		_ = d.long.Unsubscribe()
		d.users.Wait()
		if d.s != nil {
			w.tidy(d.s)
		}
	})
	return d
}

// clear ends a desk. The caller holds mu.
func (w *Worker) clear(d *desk, why string) {
	d.cancel()
	delete(w.desks, d.id)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.s != nil {
		w.note("%s: no longer tuned for this machine: %s", d.s.job.name(), why)
	}
}

// respond answers a message.
func respond(m *nats.Msg, r reply) {
	if text, err := json.Marshal(r); err == nil { // it is text and numbers
		_ = m.Respond(text)
	}
}

// drop ends a call that the coordinator does not wait for any more.
func (d *desk) drop(number int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if u := d.calls[number]; u != nil {
		u.cancel()
	}
}

// take begins a call, or says how far it is where it is repeated. The caller holds mu of the worker.
func (d *desk) take(w *Worker, c call, m *nats.Msg) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if u := d.calls[c.Number]; u != nil {
		respond(m, u.now)
		return
	}
	if len(d.calls)-len(d.answered) >= mostCalls {
		respond(m, reply{Number: c.Number, Error: fmt.Sprintf("more than %d calls at once", mostCalls)})
		return
	}
	ctx, cancel := context.WithCancel(d.ctx)
	u := &underWay{cancel, reply{Number: c.Number, Working: true}}
	d.calls[c.Number] = u
	respond(m, u.now)
	d.users.Go(func() {
		defer cancel()
		r := d.answer(ctx, w, c, func(pair, of int) {
			d.mu.Lock()
			defer d.mu.Unlock()
			u.now.Pair, u.now.Of = pair, of
		})
		d.mu.Lock()
		defer d.mu.Unlock()
		u.now = r
		if d.answered = append(d.answered, c.Number); len(d.answered) > keptReplies {
			delete(d.calls, d.answered[0])
			d.answered = d.answered[1:]
		}
		respond(m, r)
	})
}

// answer carries out a call.
func (d *desk) answer(ctx context.Context, w *Worker, c call, observe func(pair, of int)) reply {
	r := reply{Number: c.Number}
	var result any
	err := guard.Call(func() (err error) {
		if c.Do == doOpen {
			result, err = d.open(ctx, w, c.Open)
			return err
		}
		d.mu.Lock()
		o := d.opened
		d.mu.Unlock()
		if o == nil {
			return errors.New("no kernel is open")
		}
		if c.Do != doThreads { // which disturbs nothing
			leave, err := w.apart(ctx, !o.Info.Exact)
			if err != nil {
				return err
			}
			defer leave()
		}
		result, err = d.do(ctx, o, c, observe)
		return err
	})
	if p, ok := errors.AsType[*guard.Panic](err); ok {
		err = kernels.Reject(space.Crashed, "%v", p)
	}
	if err != nil && ctx.Err() != nil {
		r.Unknown = true // the worker ends, or nobody waits for the answer
		return r
	}
	if r.Fault = faultOf(err); r.Fault != nil {
		return r
	}
	var text json.RawMessage
	if err == nil {
		text, err = encode(result)
	}
	switch {
	case err != nil:
		r.Error = plain.Clip(plain.Line(err.Error()), mostReason)
	case len(text) <= inMessage:
		r.Result = text
	default:
		long := contentOf(text)
		d.mu.Lock()
		d.blobs[long.SHA256] = text
		d.mu.Unlock()
		r.Long = &long
	}
	return r
}

// apart waits until a call disturbs nothing and is disturbed by nothing.
func (w *Worker) apart(ctx context.Context, isTimed bool) (leave func(), err error) {
	of := untimed
	change := func(by int) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.busy += by; isTimed {
			w.alone += by
			w.wake()
		}
	}
	if isTimed {
		of = alone
	}
	change(1)
	out, err := w.quiet.enter(ctx, of)
	if err != nil {
		change(-1)
		return nil, err
	}
	return func() { out(); change(-1) }, nil
}

// open opens the kernel of a desk.
func (d *desk) open(ctx context.Context, w *Worker, o *opening) (*openedKernel, error) {
	d.mu.Lock()
	before := d.s
	d.mu.Unlock()
	if before != nil || o == nil {
		return nil, errors.New("a kernel is open already")
	}
	s := &serving{job: Job{ID: d.id, Kernel: o.Kernel, Version: o.Version, Shape: o.Shape, Files: o.Files}, ctx: ctx}
	k, err := w.lookup(s)
	if err == nil {
		err = sameVersion(k.Info(), s.job)
	}
	var opened *kernels.Opened
	if err == nil {
		opened, err = openAt(k, o.Shape)
	}
	var described *openedKernel
	if err == nil {
		described, err = describeKernel(opened)
	}
	if err != nil {
		w.tidy(s)
		return nil, err
	}
	w.note("%s: tuned for this machine", s.job.name())
	d.mu.Lock()
	defer d.mu.Unlock()
	d.s, d.opened = s, opened
	return described, nil
}

// tidy ends the kernel of a user, and removes its files.
func (w *Worker) tidy(s *serving) {
	if s.close != nil {
		if err := s.close(); err != nil {
			w.note("%s: %v", s.job.name(), err)
		}
	}
	if s.folder != "" {
		_ = w.store.remove(s.folder) // the whole folder goes with the worker
	}
}

// describeKernel says what a coordinator has to know of a problem.
func describeKernel(o *kernels.Opened) (*openedKernel, error) {
	p := o.Problem
	t := p.Traits()
	var text bytes.Buffer
	if err := p.Space().Write(&text); err != nil {
		return nil, err
	}
	out := &openedKernel{
		Space: text.String(), Fingerprint: p.Space().Fingerprint(), Presets: presetsOf(p), Checking: uint8(t.Checking), Launches: t.Launches, Levels: t.Levels, Blind: t.Blind,
		Threads: t.Threads != nil, Weak: t.Weak != nil, Examine: t.Examine != nil, Compare: t.Compare != nil, Finalists: t.MostFinalists,
	}
	if t.Lacks != nil {
		out.Lacks = append([]string{}, t.Lacks()...)
	}
	if t.Baselines != nil {
		for _, point := range t.Baselines() {
			out.Baselines = append(out.Baselines, point.Key())
		}
	}
	if t.Measures != nil {
		for _, m := range space.Measured() {
			u := unmeasuredFor{Name: m.Name}
			if err := t.Measures(m.Name); err != nil {
				u.Why = err.Error()
			}
			out.Measures = append(out.Measures, u)
		}
	}
	return out, nil
}

// presetsOf lists the presets of a problem.
func presetsOf(p kernels.Problem) (out []presetOf) {
	for _, preset := range p.Presets() {
		out = append(out, presetOf{preset.Name, preset.Doc, preset.Point.Key(), preset.Start, preset.First})
	}
	return out
}

// do carries out a call of an open kernel.
func (d *desk) do(ctx context.Context, o *kernels.Opened, c call, observe func(pair, of int)) (any, error) {
	traits := o.Problem.Traits()
	switch {
	case c.Do == doBuild:
		return d.build(ctx, o.Problem, c)
	case c.Do == doCompare && traits.Compare != nil && c.Series != nil:
		return d.compare(ctx, traits.Compare, c, observe)
	case c.Do == doThreads && traits.Threads != nil:
		point, err := o.Problem.Space().Parse(c.Key)
		if err != nil {
			return nil, err
		}
		return traits.Threads(point)
	case c.Do == doWeak && traits.Weak != nil:
		return traits.Weak(ctx, c.Seeds)
	case c.Do == doExamine && traits.Examine != nil:
		return nil, traits.Examine(ctx)
	case c.Do == doSettle && traits.Settle != nil && len(c.Seeds) == 1:
		if err := traits.Settle(ctx, c.Seeds[0]); err != nil {
			return nil, err
		}
		return presetsOf(o.Problem), nil
	}
	candidate, err := d.candidate(c.Candidate)
	if err != nil {
		return nil, err
	}
	can := candidate.Abilities()
	if can.Isolate != nil && c.Alone {
		can.Isolate()
	}
	switch {
	case c.Do == doCheck && len(c.Seeds) == 1:
		if err := candidate.Check(ctx, c.Seeds[0]); err != nil {
			return nil, err
		}
		return progressOf(candidate), nil
	case c.Do == doScore:
		score, err := candidate.Score(ctx, c.Fidelity)
		if err == nil && !space.Finite(score.Cost) {
			err = kernels.Reject(space.Invalid, "its cost is %v", score.Cost)
		}
		return scored{progressOf(candidate), score.Cost, score.Metrics}, err
	case c.Do == doMeasure:
		if can.Measure == nil {
			return measuredOf{}, nil
		}
		more, err := can.Measure(ctx, c.Names)
		return measuredOf{progressOf(candidate), more}, err
	case c.Do == doArtifacts:
		return d.artifacts(candidate)
	}
	return nil, fmt.Errorf("this worker does not know the call %q of this kernel", plain.Clip(plain.Line(c.Do), 40))
}

// build builds a candidate.
func (d *desk) build(ctx context.Context, p kernels.Problem, c call) (any, error) {
	point, err := p.Space().Parse(c.Key)
	if err != nil {
		return nil, err
	}
	var built kernels.Candidate
	switch at := p.Traits().BuildAt; {
	case c.Fidelity == 0:
		built, err = p.Build(ctx, point)
	case at != nil:
		built, err = at(ctx, point, c.Fidelity)
	default:
		err = errors.New("the kernel has no cheaper scores")
	}
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.candidates[c.Number] = built
	if d.built = append(d.built, c.Number); len(d.built) > keptCandidates {
		delete(d.candidates, d.built[0])
		d.built = d.built[1:]
	}
	can := built.Abilities()
	return builtCandidate{can.Deviation != nil, can.Repacking}, nil
}

// candidate returns a candidate by its number.
func (d *desk) candidate(number int) (kernels.Candidate, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := d.candidates[number]
	if c == nil {
		return nil, fmt.Errorf("this worker has no candidate %d any more", number)
	}
	return c, nil
}

// progressOf is what the checks and calls of a candidate have found so far.
func progressOf(c kernels.Candidate) (p progressed) {
	if deviation := c.Abilities().Deviation; deviation != nil {
		p.Deviation = deviation()
	}
	return p
}

// compare measures candidates side by side.
func (d *desk) compare(ctx context.Context, compare kernels.CompareFunc, c call, observe func(pair, of int)) (any, error) {
	all := make([]kernels.Candidate, 0, 1+len(c.Finalists))
	for _, number := range slices.Concat([]int{c.Candidate}, c.Finalists) {
		candidate, err := d.candidate(number)
		if err != nil {
			return nil, err
		}
		all = append(all, candidate)
	}
	s := *c.Series
	final, err := compare(ctx, all[0], all[1:], kernels.Series{Limit: s.Limit, Confirm: s.Confirm, Seed: s.Seed, Peak: s.Peak, Observe: observe})
	if err != nil {
		return nil, err
	}
	out := comparedAll{Final: final, Faults: make([]*fault, len(final.Comparisons))}
	for i, one := range final.Comparisons {
		if one.Err != nil && faultOf(one.Err) == nil {
			return nil, one.Err
		}
		if _, err := json.Marshal(withoutError(one)); err != nil && one.Err == nil {
			one.Err = kernels.Reject(space.Invalid, "its comparison cannot be written: %v", err) // a cost or a ratio is not finite
		}
		if out.Faults[i] = faultOf(one.Err); out.Faults[i] != nil {
			one = kernels.Comparison{}
		}
		out.Comparisons[i] = one
	}
	for _, candidate := range all {
		out.Progressed = append(out.Progressed, progressOf(candidate))
	}
	return out, nil
}

// withoutError is a comparison without its error, which JSON cannot hold.
func withoutError(c kernels.Comparison) kernels.Comparison {
	c.Err = nil
	return c
}

// artifacts makes the files of a candidate, for the coordinator to fetch.
func (d *desk) artifacts(c kernels.Candidate) (any, error) {
	list, err := c.Artifacts()
	if err != nil {
		return nil, err
	}
	out, blobs, room := []exported{}, map[string][]byte{}, int64(MostBytes)
	for _, a := range list {
		b := limited{room: room}
		if err := a.Write(&b); err != nil {
			return nil, fmt.Errorf("%s: %w", a.Name, err)
		}
		data := b.buffer.Bytes()
		room -= int64(len(data))
		e := exported{a.Name, a.Derived, contentOf(data)}
		out, blobs[e.SHA256] = append(out, e), data
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.blobs = blobs // the coordinator has fetched those before
	return out, nil
}

// limited is a buffer that takes so many bytes.
type limited struct {
	buffer bytes.Buffer
	room   int64
}

// Write implements io.Writer.
func (l *limited) Write(p []byte) (int, error) {
	if l.room -= int64(len(p)); l.room < 0 {
		return 0, fmt.Errorf("the files of the candidate have more than %d MiB, the most that travels", MostBytes>>20)
	}
	return l.buffer.Write(p)
}
