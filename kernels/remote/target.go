package remote

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"tune/internal/files"
	"tune/internal/plain"
	"tune/kernels"
	"tune/space"
)

const (
	asking   = time.Second            // after which a call is repeated
	looking  = 500 * time.Millisecond // for which answers of workers are collected
	fetching = 2 * time.Minute        // that a long result or a file may take
)

// Target is a worker whose machine a run is tuned for. It opens the kernel there, and candidates are built, checked, scored and compared
// there. It is safe for concurrent use.
type Target struct {
	nc     *nats.Conn
	silent time.Duration
	ctx    context.Context // ends with Close
	stop   context.CancelFunc
	done   sync.WaitGroup
	calls  atomic.Int64

	opening opening
	files   map[string][]byte // of a user's kernel, by checksum
	knew    *openedKernel     // what the worker said of the problem

	moving  sync.Mutex // one goroutine at a time looks for the worker again
	mu      sync.Mutex
	info    Info
	at      seat
	silence seat              // the last one that has fallen silent, for good
	moved   func(text string) // told where another worker takes the place of this one; nil where none may
	repeat  []call            // what a new process of the worker is told before anything else
}

// seat is a desk in a process of the worker.
type seat struct{ self, desk string }

// UnknownWorkerError says that no worker has a name.
type UnknownWorkerError struct {
	Name  string
	There []string // the names of those that there are
}

func (e *UnknownWorkerError) Error() string {
	if len(e.There) == 0 {
		return fmt.Sprintf("no worker %q is there, and no other one", e.Name)
	}
	const most = 12
	names, more := e.There, ""
	if len(names) > most {
		names, more = names[:most], fmt.Sprintf(" and %d more", len(names)-most)
	}
	return fmt.Sprintf("no worker %q is there: want one of %s%s%s", e.Name, strings.Join(names, ", "), more, space.DidYouMean(e.Name, e.There))
}

// GoneError says that the worker that a run is tuned for does not answer any more, or has lost what it had in hand.
type GoneError struct {
	Worker, Why string
	lost        bool // what it had in hand, and it may be back
}

func (e *GoneError) Error() string { return workerName(e.Worker) + " " + e.Why }

// Lost implements kernels.Loss.
func (e *GoneError) Lost() bool { return e.lost }

// workerName names a worker for messages.
func workerName(name string) string { return "worker " + plain.Clip(plain.Line(name), 100) }

// Lookup finds the worker of a name. Where there is none the error is an *UnknownWorkerError.
func Lookup(ctx context.Context, nc *nats.Conn, name string) (Info, error) {
	unknown := &UnknownWorkerError{Name: plain.Line(name)}
	for range 3 { // one that has just started may not answer yet
		next := time.After(looking)
		all, err := Workers(ctx, nc, looking)
		if len(all) == 0 && err == nil { // which the server may say at once
			select {
			case <-ctx.Done():
			case <-next:
			}
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return Info{}, err
		}
		unknown.There = nil
		for _, i := range all {
			unknown.There = append(unknown.There, plain.Clip(plain.Line(i.Name), 100))
		}
		named := slices.DeleteFunc(all, func(i Info) bool { return i.Name != name })
		switch {
		case len(named) > 1:
			return Info{}, fmt.Errorf("%d workers have the name %s: give each its own by tune worker --name", len(named), plain.Line(name))
		case len(named) == 1 && !nameable(named[0].Self):
			return Info{}, fmt.Errorf("%s has tune %s, for whose machine no run can be tuned: start it with the version of the run", workerName(name), plain.Clip(plain.Line(named[0].Tool), 60))
		case len(named) == 1:
			return named[0], nil
		}
	}
	return Info{}, unknown
}

// NewTarget returns the worker that Lookup has found as the target of a run, which has an ID as in Job. It counts as gone when nothing is heard of it for a time, which is at least
// three times as long as a call takes to be repeated.
func NewTarget(nc *nats.Conn, found Info, run string, silent time.Duration) *Target {
	t := &Target{nc: nc, info: found, silent: max(silent, 3*asking), opening: opening{Run: run}}
	t.ctx, t.stop = context.WithCancel(context.Background())
	return t
}

// Info says what the worker is.
func (t *Target) Info() Info {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.info
}

// MayMove allows that, from now on, another worker takes the place of one that has left and is not back soon: one with the same processor and
// compilers, where the kernel has the same space. note is told which one. It is for the final measurement, whose candidates are then all built and
// measured there. Before it, costs of two machines would be compared.
func (t *Target) MayMove(note func(text string)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.moved = note
}

// Open opens a kernel at a shape on the worker, and returns the same kernel with the problem of the worker. bring are the files of a
// user's kernel, as for NewCoordinator. It is called once.
func (t *Target) Open(ctx context.Context, k kernels.Kernel, shape kernels.Shape, bring []File) (kernels.Kernel, error) {
	info := k.Info()
	list, all, err := pack(bring)
	if err != nil {
		return nil, err
	}
	t.opening, t.files = opening{t.opening.Run, info.Name, info.Version, shape.String(), list}, all
	at, knew, err := t.sit(ctx, t.Info().Self)
	if err != nil {
		return nil, err
	}
	t.at, t.knew = at, knew
	p, err := newAway(t, knew)
	if err != nil {
		return nil, fmt.Errorf("%s: what it says of kernel %s makes no sense: %w", workerName(t.Info().Name), info.Name, err)
	}
	t.done.Go(t.stay)
	return &awayKernel{info, shape.String(), p}, nil
}

// sit opens the kernel at a new desk of a process of the worker.
func (t *Target) sit(ctx context.Context, self string) (seat, *openedKernel, error) {
	at := seat{self, rand.Text()}
	if len(t.files) > 0 {
		s, err := t.nc.Subscribe(subjectFile+at.desk, func(m *nats.Msg) { give(t.files, m) })
		if err != nil {
			return at, nil, err
		}
		defer s.Unsubscribe() // nothing is fetched later
	}
	var knew openedKernel
	_, err := t.call(ctx, at, call{Do: doOpen, Open: &t.opening}, &knew, nil)
	return at, &knew, err
}

// stay tells the worker now and then that the coordinator is there.
func (t *Target) stay() {
	tick := time.NewTicker(asking)
	defer tick.Stop()
	for {
		select {
		case <-t.ctx.Done():
			return
		case <-tick.C:
			t.tell(t.seat(), call{Do: doHere})
		}
	}
}

// Close tells the worker that the run wants nothing more.
func (t *Target) Close() {
	t.stop()
	t.done.Wait()
	t.tell(t.seat(), call{Do: doLeave})
	ctx, cancel := context.WithTimeout(context.Background(), asking)
	defer cancel()
	_ = t.nc.FlushWithContext(ctx)
}

// seat returns the desk of the target.
func (t *Target) seat() seat {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.at
}

// tell sends a message that nobody answers.
func (t *Target) tell(at seat, c call) {
	c.Desk = at.desk
	if text, err := json.Marshal(c); err == nil && at.self != "" { // it is text and numbers
		_ = t.nc.Publish(subjectDesk+at.self, text)
	}
}

// anew makes a call that needs nothing of earlier ones. Where the worker has begun again, the new process is called.
func (t *Target) anew(ctx context.Context, c call, result any) (at seat, number int, err error) {
	at = t.seat()
	number, err = t.call(ctx, at, c, result, nil)
	if _, gone := errors.AsType[*GoneError](err); gone {
		if err := t.again(ctx, at); err != nil {
			return at, 0, err
		}
		at = t.seat()
		number, err = t.call(ctx, at, c, result, nil)
	}
	return at, number, err
}

// again opens the kernel in the present process of the worker, unless another goroutine has done so since the desk was used.
func (t *Target) again(ctx context.Context, used seat) error {
	t.moving.Lock()
	defer t.moving.Unlock()
	if t.seat() != used {
		return nil
	}
	name := t.Info().Name
	for began := time.Now(); ; {
		found, err := Lookup(ctx, t.nc, name)
		_, unknown := errors.AsType[*UnknownWorkerError](err)
		switch {
		case unknown && time.Since(began) < t.silent:
		case unknown:
			return t.move(ctx)
		case err != nil:
			return err
		default:
			return t.settle(ctx, found)
		}
	}
}

// settle opens the kernel in a process of a worker, which has to be as the one before.
func (t *Target) settle(ctx context.Context, found Info) error {
	if found.Fingerprint != t.Info().Fingerprint {
		return &GoneError{Worker: found.Name, Why: "is another machine now"}
	}
	at, now, err := t.sit(ctx, found.Self)
	if err != nil {
		return err
	}
	if now.Fingerprint != t.knew.Fingerprint || now.Levels != t.knew.Levels || !slices.Equal(now.Presets, t.knew.Presets) {
		return &GoneError{Worker: found.Name, Why: "has begun again, and has another kernel now"}
	}
	t.mu.Lock()
	repeat := t.repeat
	t.mu.Unlock()
	for _, c := range repeat {
		if _, err := t.call(ctx, at, c, nil, nil); err != nil {
			return err
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.at, t.info = at, found
	return nil
}

// move settles at another worker like the one that has left, where that is allowed: at the one with the least to do.
func (t *Target) move(ctx context.Context) error {
	t.mu.Lock()
	was, moved := t.info, t.moved
	t.mu.Unlock()
	gone := &GoneError{Worker: was.Name, Why: "has left"}
	if moved == nil {
		return gone
	}
	all, err := Workers(ctx, t.nc, looking)
	if err != nil {
		return err
	}
	slices.SortStableFunc(all, func(a, b Info) int { return cmp.Compare(a.Busy, b.Busy) })
	for _, i := range all {
		if i.Fingerprint != was.Fingerprint || i.OS != was.OS || i.Arch != was.Arch || !slices.Equal(i.Compilers, was.Compilers) || !nameable(i.Self) {
			continue
		}
		if t.settle(ctx, i) == nil {
			moved(fmt.Sprintf("%s has left: %s, which has the same processor, takes its place for the final measurement", workerName(was.Name), workerName(i.Name)))
			return nil
		}
	}
	return cmp.Or(ctx.Err(), error(gone))
}

// call makes a call, repeats it until it is answered, and returns its number. Where the candidate is at fault the error is a
// *kernels.Rejection, and where the worker is gone a *GoneError. observe, which may be nil, is told how far a comparison is.
func (t *Target) call(ctx context.Context, at seat, c call, result any, observe func(pair, of int)) (number int, err error) {
	c.Desk, c.Number = at.desk, int(t.calls.Add(1))
	text, err := json.Marshal(c)
	if err != nil {
		return 0, err
	}
	t.mu.Lock()
	silence := t.silence
	t.mu.Unlock()
	if silence == at {
		return 0, t.fallenSilent()
	}
	s, err := t.nc.SubscribeSync(nats.NewInbox())
	if err != nil {
		return 0, err
	}
	defer s.Unsubscribe()
	heard, useless, pair := time.Now(), 0, 0
	for {
		if err := t.nc.PublishRequest(subjectDesk+at.self, s.Subject, text); err != nil {
			return 0, err
		}
		silent := t.silent
		for next := time.Now().Add(asking); time.Now().Before(next); {
			r, err := nextReply(ctx, s, next)
			switch {
			case ctx.Err() != nil:
				t.tell(at, call{Do: doDrop, Number: c.Number})
				return 0, ctx.Err()
			case errors.Is(err, nats.ErrNoResponders): // it has ended, or comes back after the server
				silent = min(silent, patience)
			case errors.Is(err, context.DeadlineExceeded):
			case err != nil:
				return 0, err
			case r.Number != c.Number:
				if heard, useless = time.Now(), useless+1; useless == mostLies {
					return 0, fmt.Errorf("%s gives answers that make no sense", workerName(t.Info().Name))
				}
			case r.Unknown:
				return 0, &GoneError{t.Info().Name, "has ended, or has begun again", true}
			case r.Working:
				if heard = time.Now(); observe != nil && r.Pair > pair {
					pair = r.Pair
					observe(pair, max(r.Of, 0))
				}
			default:
				return c.Number, t.finish(ctx, at, r, result)
			}
		}
		switch {
		case !t.nc.IsConnected():
			heard = time.Now() // nothing can be heard while the server is not there
		case time.Since(heard) > silent:
			t.mu.Lock()
			t.silence = at // a worker that is heard of again gets another desk
			t.mu.Unlock()
			return 0, t.fallenSilent()
		}
	}
}

func (t *Target) fallenSilent() error {
	return &GoneError{t.Info().Name, "has fallen silent", true}
}

// nextReply returns the next answer, before a moment. One that cannot be read has the number -1. Where nobody is there to answer it
// waits until that moment.
func nextReply(ctx context.Context, s *nats.Subscription, before time.Time) (r reply, err error) {
	ctx, cancel := context.WithDeadline(ctx, before)
	defer cancel()
	m, err := s.NextMsgWithContext(ctx)
	if errors.Is(err, nats.ErrNoResponders) {
		<-ctx.Done()
	}
	if err == nil && json.Unmarshal(m.Data, &r) != nil {
		r = reply{Number: -1}
	}
	return r, err
}

// finish reads the answer to a call.
func (t *Target) finish(ctx context.Context, at seat, r reply, result any) error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("%s: %s", workerName(t.Info().Name), fmt.Sprintf(format, args...))
	}
	text := []byte(r.Result)
	switch {
	case r.Fault != nil:
		return r.Fault.rejection()
	case r.Error != "":
		return fail("%s", plain.Clip(plain.Line(r.Error), mostReason))
	case r.Long != nil && (r.Long.Size < 0 || r.Long.Size > mostResult):
		return fail("its answer has %d bytes: want at most %s", r.Long.Size, files.Size(mostResult))
	case r.Long != nil:
		var err error
		if text, err = t.fetch(ctx, at, *r.Long); err != nil {
			return err
		}
	}
	if result == nil {
		return nil
	}
	if err := json.Unmarshal(text, result); err != nil {
		return fail("its answer cannot be read: %s", plain.Clip(plain.Line(err.Error()), 200))
	}
	return nil
}

// fetch fetches bytes that the worker lists.
func (t *Target) fetch(ctx context.Context, at seat, c Content) ([]byte, error) {
	look, cancel := context.WithTimeout(ctx, fetching)
	defer cancel()
	data, err := fetch(look, t.nc, workerName(t.Info().Name), subjectLong+at.desk, c)
	if err != nil && look.Err() != nil && ctx.Err() == nil {
		err = &GoneError{Worker: t.Info().Name, Why: "does not give what it has made"}
	}
	return data, err
}
