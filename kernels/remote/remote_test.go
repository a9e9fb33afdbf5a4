package remote_test

import (
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	mathrand "math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"tune/kernels"
	"tune/kernels/native"
	"tune/kernels/remote"
	"tune/kernels/remote/natsserver"
	"tune/search"
	"tune/space"
)

// bowl is an exact kernel: the cost of (x, y) is least at (11, 5), and some points fail.
type bowl struct {
	version string
	work    func(key string) error // of each score; may be nil
}

func (b *bowl) Info() kernels.Info {
	return kernels.Info{Name: "bowl", Doc: "a bowl", Version: b.version, Unit: "cost", Exact: true}
}

var bowlSpace = func() *space.Space {
	s, err := space.Read(strings.NewReader("name: bowl\nparameters:\n  - {name: x, type: int, from: 0, to: 63}\n  - {name: y, type: int, from: 0, to: 63}\n"))
	if err != nil {
		panic(err)
	}
	return s
}()

func (b *bowl) Problem(kernels.Shape) (kernels.Problem, error) { return &bowlProblem{b}, nil }

type bowlProblem struct{ b *bowl }

func (p *bowlProblem) Space() *space.Space { return bowlSpace }
func (p *bowlProblem) Presets() []kernels.Preset {
	return []kernels.Preset{{Name: "baseline", Doc: "the corner", Point: bowlSpace.Default()}}
}
func (p *bowlProblem) Traits() kernels.Traits { return kernels.Traits{} }
func (p *bowlProblem) Build(ctx context.Context, point space.Point) (kernels.Candidate, error) {
	return &bowlCandidate{p.b, point}, ctx.Err()
}

type bowlCandidate struct {
	b *bowl
	p space.Point
}

func (c *bowlCandidate) Check(context.Context, uint64) error {
	if c.p.Int("x")%13 == 7 {
		return kernels.Reject(space.WrongAnswer, "x is %d", c.p.Int("x"))
	}
	return nil
}

func (c *bowlCandidate) Score(context.Context, int) (kernels.Score, error) {
	if c.b.work != nil {
		if err := c.b.work(c.p.Key()); err != nil {
			return kernels.Score{}, err
		}
	}
	x, y := c.p.Int("x")-11, c.p.Int("y")-5
	return kernels.Score{Cost: float64(x*x + y*y), Metrics: []space.Metric{{Name: "x", Value: float64(x)}}}, nil
}

func (c *bowlCandidate) Artifacts() ([]kernels.Artifact, error) { return nil, nil }
func (c *bowlCandidate) Abilities() kernels.Abilities           { return kernels.Abilities{} }

// walk asks for random points in batches, and notes what it is told.
type walk struct {
	fresh *search.Fresh
	size  int
	told  []string
}

func (w *walk) Ask(p space.Progress) (batch []space.Proposal) {
	for range min(w.size, p.Evaluations) {
		point, ok := w.fresh.Draw()
		if !ok {
			break
		}
		batch = append(batch, space.Proposal{Point: point})
	}
	return batch
}

func (w *walk) Tell(trials []space.Trial, outcomes []space.Outcome) {
	for i, t := range trials {
		o := outcomes[i]
		w.told = append(w.told, fmt.Sprintf("%d %s %v %v %v %s", t.Number, t.Point.Key(), o.Status, o.Cost, o.Metrics, o.Reason))
	}
}

// recorder counts how often each trial is recorded.
type recorder struct {
	mu    sync.Mutex
	times map[int]int
}

func (r *recorder) Batch(space.Batch) error { return nil }
func (r *recorder) Sync() error             { return nil }
func (r *recorder) Record(e space.Entry) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.times[e.Number]++
	return nil
}

// farm is a server with a coordinator.
type farm struct {
	t      testing.TB
	config natsserver.Config
	server *natsserver.Server
	login  remote.Login
	coord  *remote.Coordinator
	notes  chan string
}

const lease = time.Second

func newFarm(t testing.TB, job remote.Job) *farm { return newFarmWith(t, job, nil) }

// newFarmWith is newFarm for a kernel that travels with its files.
func newFarmWith(t testing.TB, job remote.Job, bring []remote.File) *farm {
	f := &farm{t: t, config: natsserver.Config{Address: "127.0.0.1:0"}, notes: make(chan string, 100)}
	f.start()
	f.config.Address = fmt.Sprintf("127.0.0.1:%d", f.server.Port())
	f.login.URL = "nats://" + f.config.Address
	t.Cleanup(func() { f.server.Close() })
	var coord atomic.Pointer[remote.Coordinator]
	nc, err := f.login.Connect("coordinator", remote.Events{Reached: func() {
		go coord.Load().Restore(context.WithoutCancel(t.Context()))
	}})
	if err != nil {
		t.Fatal(err)
	}
	job.ID, job.Kernel, job.Version, job.Space, job.Lease = "run", "bowl", "1", bowlSpace.Fingerprint(), cmp.Or(job.Lease, lease)
	f.coord, err = remote.NewCoordinator(t.Context(), nc, job, bring, func(text string) { f.notes <- text })
	if err != nil {
		t.Fatal(err)
	}
	coord.Store(f.coord)
	t.Cleanup(func() { f.coord.Close(); nc.Close() })
	return f
}

func (f *farm) start() {
	f.t.Helper()
	var err error
	if f.server, err = natsserver.Start(f.config); err != nil {
		f.t.Fatal(err)
	}
}

// worker starts a worker. kill ends it as kill -9 does: its connection is gone, and nothing is given back.
func (f *farm) worker(w *remote.Worker) (kill func()) {
	f.t.Helper()
	nc, err := f.login.Connect("worker", remote.Events{})
	if err != nil {
		f.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(f.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := w.Serve(ctx, nc); err != nil && ctx.Err() == nil {
			f.t.Error(err)
		}
	}()
	var once sync.Once
	kill = func() {
		once.Do(func() {
			nc.Close()
			cancel()
			<-done
		})
	}
	f.t.Cleanup(kill)
	return kill
}

func worker(name string, jobs int, work func(string) error) *remote.Worker {
	return &remote.Worker{Name: name, Jobs: jobs, Table: kernels.Table{&bowl{"1", work}}}
}

// search runs a walk of a farm's coordinator, or on this machine without a farm.
func (f *farm) search(t testing.TB, evals int) (*walk, *recorder) {
	t.Helper()
	w, r := &walk{fresh: search.SeededFresh(bowlSpace, 1), size: 64}, &recorder{times: map[int]int{}}
	var ev search.Evaluator = &kernels.Evaluator{Problem: &bowlProblem{&bowl{version: "1"}}}
	if f != nil {
		ev = f.coord
	}
	if _, err := search.Run(t.Context(), w, ev, search.Settings{Jobs: 100, Budget: search.Budget{Evaluations: evals}, Recorder: r}); err != nil {
		t.Fatal(err)
	}
	for n := range evals {
		if r.times[n] != 1 {
			t.Errorf("trial %d was recorded %d times", n, r.times[n])
		}
	}
	return w, r
}

func same(t testing.TB, got, want *walk) {
	t.Helper()
	if a, b := strings.Join(got.told, "\n"), strings.Join(want.told, "\n"); a != b {
		t.Errorf("other outcomes than on one machine:\n%.2000s\nwant\n%.2000s", a, b)
	}
}

// TestSame: outcomes do not depend on how many workers there are.
func TestSame(t *testing.T) {
	want, _ := (*farm)(nil).search(t, 500)
	for _, n := range []int{1, 2, 4, 8} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			f := newFarm(t, remote.Job{})
			for i := range n {
				f.worker(worker(fmt.Sprint("w", i), 2, nil))
			}
			got, _ := f.search(t, 500)
			same(t, got, want)
			if c := f.coord.Counts(); c.Taken != 500 || c.Useless+c.Failures > 0 {
				t.Errorf("%+v", c)
			}
		})
	}
}

// TestKilledWorkers: what killed workers had in hand is evaluated by others, and counts once.
func TestKilledWorkers(t *testing.T) {
	t.Parallel() // it waits most of the time
	want, _ := (*farm)(nil).search(t, 300)
	f := newFarm(t, remote.Job{})
	slow := func(string) error { time.Sleep(4 * time.Millisecond); return nil }
	f.worker(worker("stays", 1, slow))
	ended := make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		for i := 0; ; i++ {
			kill := f.worker(worker(fmt.Sprint("dies", i), 2, slow))
			select {
			case <-ended:
				return
			case <-time.After(80 * time.Millisecond):
				kill()
			}
		}
	})
	got, _ := f.search(t, 300)
	close(ended)
	all.Wait()
	same(t, got, want)
	t.Logf("%+v", f.coord.Counts())
}

// TestServerGone: the server is killed and started again, and has lost all that it held. The run goes on.
func TestServerGone(t *testing.T) {
	t.Parallel() // it waits most of the time
	want, _ := (*farm)(nil).search(t, 300)
	f := newFarm(t, remote.Job{})
	slow := func(string) error { time.Sleep(3 * time.Millisecond); return nil }
	for i := range 2 {
		f.worker(worker(fmt.Sprint("w", i), 2, slow))
	}
	var all sync.WaitGroup
	all.Go(func() {
		for range 3 {
			time.Sleep(120 * time.Millisecond)
			f.server.Close()
			time.Sleep(50 * time.Millisecond)
			f.start()
		}
	})
	got, _ := f.search(t, 300)
	all.Wait()
	same(t, got, want)
	t.Logf("%+v", f.coord.Counts())
}

// TestSlowNetwork: over a network that delays every packet by 50 ms, stalls now and then, and cuts connections, the outcomes are the same.
func TestSlowNetwork(t *testing.T) {
	want, _ := (*farm)(nil).search(t, 200)
	f := newFarm(t, remote.Job{})
	direct := f.login.URL
	f.login.URL = "nats://" + slowly(t, f.config.Address)
	for i := range 2 {
		f.worker(worker(fmt.Sprint("w", i), 8, nil))
	}
	f.login.URL = direct
	got, _ := f.search(t, 200)
	same(t, got, want)
	t.Logf("%+v", f.coord.Counts())
}

// slowly returns the address of a way to a server that is slow and not reliable.
func slowly(t *testing.T, to string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	var seed atomic.Uint64
	relay := func(from, into net.Conn) {
		type chunk struct {
			data []byte
			due  time.Time
		}
		chunks, r := make(chan chunk, 10_000), mathrand.New(mathrand.NewPCG(seed.Add(1), 1))
		go func() {
			defer close(chunks)
			for {
				data := make([]byte, 1500)
				n, err := from.Read(data)
				if err != nil || r.IntN(400) == 0 { // the way is cut
					return
				}
				delay := 50 * time.Millisecond
				if r.IntN(100) == 0 {
					delay += 200 * time.Millisecond // what a lost packet costs
				}
				chunks <- chunk{data[:n], time.Now().Add(delay)}
			}
		}()
		for c := range chunks {
			time.Sleep(time.Until(c.due))
			if _, err := into.Write(c.data); err != nil {
				break
			}
		}
		from.Close()
		into.Close()
		for range chunks {
		}
	}
	go func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", to)
			if err != nil {
				near.Close()
				continue
			}
			go relay(near, far)
			go relay(far, near)
		}
	}()
	return l.Addr().String()
}

// TestHung: a worker that hangs loses its trials to others; what it tells in the end changes nothing.
func TestHung(t *testing.T) {
	t.Parallel() // it waits most of the time
	want, _ := (*farm)(nil).search(t, 64)
	f := newFarm(t, remote.Job{})
	taken, release := make(chan struct{}, 64), make(chan struct{})
	hang := f.hung(taken, release)
	go func() {
		<-taken
		f.worker(worker("good", 2, nil))
	}()
	got, _ := f.search(t, 64)
	same(t, got, want)
	close(release)
	<-hang
	for range 50 {
		if f.coord.Counts().Known > 0 {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Errorf("the late answer is not seen: %+v", f.coord.Counts())
}

// hung takes a task as a worker does that hangs: it renews no lease, and answers when it is released.
func (f *farm) hung(taken chan<- struct{}, release <-chan struct{}) (done chan struct{}) {
	f.t.Helper()
	nc, err := f.login.Connect("hung", remote.Events{})
	if err != nil {
		f.t.Fatal(err)
	}
	js, err := jetstream.New(nc)
	if err != nil {
		f.t.Fatal(err)
	}
	consumer, err := js.Consumer(f.t.Context(), "TUNE_run", "workers")
	if err != nil {
		f.t.Fatal(err)
	}
	done = make(chan struct{})
	go func() {
		defer close(done)
		defer nc.Close()
		m, err := consumer.Next(jetstream.FetchMaxWait(10 * time.Second))
		if err != nil {
			f.t.Error(err)
			return
		}
		taken <- struct{}{}
		<-release
		var task map[string]any
		if err := json.Unmarshal(m.Data(), &task); err != nil {
			f.t.Error(err)
		}
		task["worker"], task["outcome"] = "hung", map[string]any{"status": "ok", "cost": -1}
		text, _ := json.Marshal(task)
		if r, err := nc.Request("tune.v1.told.run", text, 5*time.Second); err != nil || string(r.Data) != "known" {
			f.t.Errorf("the late answer: %v, %v", r, err)
		}
	}()
	return done
}

// TestUseless: answers that make no sense are no outcomes, and who gives them is set aside.
func TestUseless(t *testing.T) {
	t.Parallel() // it waits most of the time
	want, _ := (*farm)(nil).search(t, 40)
	f := newFarm(t, remote.Job{})
	liar, err := f.login.Connect("liar", remote.Events{})
	if err != nil {
		t.Fatal(err)
	}
	defer liar.Close()
	announced, err := liar.SubscribeSync("tune.v1.run")
	if err != nil {
		t.Fatal(err)
	}
	m, err := announced.NextMsg(5 * time.Second)
	if err != nil {
		t.Fatal(err)
	}
	var job remote.Job
	if err := json.Unmarshal(m.Data, &job); err != nil {
		t.Fatal(err)
	}
	tasks, err := liar.SubscribeSync("tune.v1.task.run")
	if err != nil {
		t.Fatal(err)
	}
	if err := liar.Flush(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		got, _ := f.search(t, 40)
		same(t, got, want)
	}()
	task, err := tasks.NextMsg(5 * time.Second)
	if err != nil {
		t.Fatal(err)
	}
	var asked struct {
		Trial int
		Key   string
	}
	if err := json.Unmarshal(task.Data, &asked); err != nil {
		t.Fatal(err)
	}
	tell := func(worker, sitting, key, outcome string) string {
		t.Helper()
		text := fmt.Sprintf(`{"worker":%q,"sitting":%q,"trial":%d,"key":%q,"outcome":%s}`, worker, sitting, asked.Trial, key, outcome)
		r, err := liar.Request("tune.v1.told.run", []byte(text), 5*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		return string(r.Data)
	}
	const good = `{"status":"ok","cost":-1e9}`
	for i, test := range []struct{ sitting, key, outcome, want string }{
		{"another", asked.Key, good, "known"},
		{job.Sitting, "x=1 y=2 z=3", good, "again"},
		{job.Sitting, asked.Key, `{"status":"ok","cost":1,"fidelity":3}`, "again"},
		{job.Sitting, asked.Key, `{"cost":1}`, "leave"},
		{job.Sitting, asked.Key, good, "leave"}, // from now on nothing of it counts
	} {
		if got := tell("liar", test.sitting, test.key, test.outcome); got != test.want {
			t.Errorf("answer %d is %q, want %q", i, got, test.want)
		}
	}
	if r, err := liar.Request("tune.v1.told.run", []byte(`{`), 5*time.Second); err != nil || string(r.Data) != "again" {
		t.Errorf("no JSON: %v, %v", r, err)
	}
	if note := <-f.notes; !strings.Contains(note, "worker liar is set aside") {
		t.Errorf("note %q", note)
	}
	f.worker(worker("good", 2, nil))
	<-done
	if c := f.coord.Counts(); c.Taken != 40 || c.Useless != 4 {
		t.Errorf("%+v", c)
	}
	// Late and twice.
	if got := tell("good", job.Sitting, asked.Key, good); got != "known" {
		t.Errorf("a second answer is %q, want known", got)
	}
}

// TestFailing: where workers cannot evaluate a trial, another one may; where none can, the run ends with the reason.
func TestFailing(t *testing.T) {
	t.Parallel() // it waits most of the time
	f := newFarm(t, remote.Job{})
	var failed atomic.Int32
	f.worker(worker("broken", 1, func(string) error {
		failed.Add(1)
		return errors.New("no space left on device")
	}))
	_, err := f.coord.Evaluate(t.Context(), space.Trial{Proposal: space.Proposal{Point: bowlSpace.Default()}})
	if err == nil || !strings.Contains(err.Error(), "workers failed 5 times to evaluate it; the last one was broken: ") || !strings.Contains(err.Error(), "no space left") {
		t.Error(err)
	}
	if failed.Load() != 5 {
		t.Errorf("%d failures", failed.Load())
	}
}

// TestOneFailing: a worker that cannot evaluate does not end a run in which another one can, however long that one is busy, and both sides
// say so.
func TestOneFailing(t *testing.T) {
	t.Parallel() // it waits most of the time
	f := newFarm(t, remote.Job{})
	evaluate := func(number int) <-chan error {
		done := make(chan error, 1)
		go func() {
			o, err := f.coord.Evaluate(t.Context(), space.Trial{Number: number, Proposal: space.Proposal{Point: bowlSpace.At(uint64(number))}})
			if err == nil && o.By != "good" {
				err = fmt.Errorf("worker %s evaluated it", o.By)
			}
			done <- err
		}()
		return done
	}
	var failed atomic.Int32
	busy := make(chan struct{})
	release := sync.OnceFunc(func() { close(busy) })
	f.worker(worker("good", 1, func(string) error { <-busy; return nil }))
	t.Cleanup(release)
	first := evaluate(0)
	for range 500 {
		if f.coord.Workers() > 0 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	broken, said := worker("broken", 1, func(string) error {
		if failed.Add(1) == 6 {
			release()
		}
		return errors.New("no space left on device")
	}), make(chan string, 100)
	broken.Note = func(text string) { said <- text }
	f.worker(broken)
	second := evaluate(1)
	if err := <-second; err != nil {
		t.Errorf("the one that was refused: %v", err)
	}
	release()
	if err := <-first; err != nil {
		t.Errorf("the one before: %v", err)
	}
	if failed.Load() < 6 {
		t.Errorf("%d failures", failed.Load())
	}
	if note := <-f.notes; note != "worker broken cannot evaluate trial 1, x=0 y=1, which goes to another one: no space left on device" {
		t.Errorf("note %q", note)
	}
	for want := "cannot evaluate trial 1, x=0 y=1: no space left on device"; ; {
		select {
		case text := <-said:
			if strings.HasSuffix(text, want) {
				return
			}
		default:
			t.Fatal("the worker does not say why")
		}
	}
}

// TestRefused: a worker serves no run of another version, of a kernel that its owner does not allow, or that does not want it.
func TestRefused(t *testing.T) {
	f := newFarm(t, remote.Job{On: "isa=generic, cores=100000"})
	other := worker("other", 1, nil)
	other.Table = kernels.Table{&bowl{version: "2"}}
	strict := worker("strict", 1, nil)
	strict.Allow = []string{}
	strict.Roofs = []native.Roof{{Kind: "read", Level: "L1", Rate: 2e11, Unit: "GB/s"}}
	for _, w := range []*remote.Worker{worker("few", 1, nil), other, strict} {
		f.worker(w)
	}
	nc, err := f.login.Connect("list", remote.Events{})
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	for range 40 {
		found, err := remote.Workers(t.Context(), nc, 100*time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := json.Marshal(found)
		if len(found) == 3 && strings.Contains(string(text), "the run wants cores=100000") && strings.Contains(string(text), "has version 2 of the kernel, and the run version 1") &&
			strings.Contains(string(text), "its owner does not allow it") {
			for _, w := range found {
				if want := map[bool][]native.Roof{true: strict.Roofs}[w.Name == strict.Name]; !slices.Equal(w.Roofs, want) {
					t.Errorf("%s announces the roofs %v, want %v", w.Name, w.Roofs, want)
				}
			}
			return
		}
	}
	t.Error("the workers do not say why they refuse the run")
}

func TestWants(t *testing.T) {
	info := remote.Info{CPU: "AMD EPYC 9655 96-Core", ISAs: []string{"generic", "avx512vnni"}, Arch: "amd64", OS: "linux", Cores: 8, Name: "a/b"}
	for text, want := range map[string]string{
		"": "", "isa=avx512vnni, cpu=*EPYC*": "", "cores=8,arch=amd*": "", "cores=9": "cores=9", "isa=avx51?": "isa=avx51?", "name=a/*": "", "cpu=EPYC*": "cpu=EPYC*",
	} {
		w, err := remote.ParseWants(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := w.Unmet(info); got != want {
			t.Errorf("%q: %q is unmet, want %q", text, got, want)
		}
	}
	for text, want := range map[string]string{"cpu": "want name=pattern", "cpus=x": "did you mean \"cpu\"?", "cpu=[": "no pattern", "cores=many": "no number"} {
		if _, err := remote.ParseWants(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// TestAuthentication: a server without the right token, or certificate, takes nobody; and nobody uses a server on a network that takes
// anybody.
func TestAuthentication(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	start := func(c natsserver.Config) int {
		t.Helper()
		s, err := natsserver.Start(c)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		return s.Port()
	}
	refused := func(l remote.Login, want string) {
		t.Helper()
		nc, err := l.Connect("test", remote.Events{})
		if err == nil {
			nc.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", l.URL, err, want)
		}
	}
	accepted := func(l remote.Login) {
		t.Helper()
		nc, err := l.Connect("test", remote.Events{})
		if err != nil {
			t.Errorf("%s: %v", l.URL, err)
			return
		}
		nc.Close()
	}
	token := start(natsserver.Config{Address: "127.0.0.1:0", Token: "secret"})
	address := fmt.Sprintf("127.0.0.1:%d", token)
	refused(remote.Login{URL: "nats://" + address}, "refuses the token, the user or the key")
	refused(remote.Login{URL: "nats://wrong@" + address}, "refuses the token")
	refused(remote.Login{URL: "nats://" + address, TokenFile: file("wrong", "wrong\n")}, "refuses the token")
	refused(remote.Login{URL: "nats://" + address, TokenFile: file("none", "\n")}, "holds no token")
	accepted(remote.Login{URL: "nats://secret@" + address})
	accepted(remote.Login{URL: "nats://" + address, TokenFile: file("token", "secret\n")})

	cert, key := certificate(t, dir)
	secure := fmt.Sprintf("127.0.0.1:%d", start(natsserver.Config{Address: "127.0.0.1:0", Token: "secret", Cert: cert, Key: key}))
	refused(remote.Login{URL: "tls://secret@" + secure}, "certificate")
	accepted(remote.Login{URL: "tls://secret@" + secure, CA: cert})
	refused(remote.Login{URL: "tls://wrong@" + secure, CA: cert}, "refuses the token")
	refused(remote.Login{URL: "tls://secret@" + address, CA: cert}, "tls")

	for _, c := range []natsserver.Config{{Address: ":0"}, {Address: "0.0.0.0:0"}} {
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "anybody could give work to your workers") {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if err := (natsserver.Config{Address: "4222"}).Validate(); err == nil {
		t.Error("4222 is an address")
	}
	for _, url := range []string{"host", "http://host:4222", "nats://:4222", "nats://a b"} {
		refused(remote.Login{URL: url}, "is no address of a NATS server")
	}
	if got := remote.Redact("nats://secret@host:4222") + remote.Redact("nats://user:secret@host:4222"); strings.Contains(got, "secret") {
		t.Errorf("a secret is shown: %s", got)
	}
	mute, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer mute.Close()
	refused(remote.Login{URL: "nats://" + mute.Addr().String()}, "does not answer: is a NATS server there?")
	ip := outside()
	if ip == "" {
		t.Skip("this machine has no address but loopback")
	}
	open, err := server.NewServer(&server.Options{Host: ip, Port: server.RANDOM_PORT, NoSigs: true, NoLog: true})
	if err != nil {
		t.Fatal(err)
	}
	go open.Start()
	defer open.Shutdown()
	if !open.ReadyForConnections(10 * time.Second) {
		t.Fatal("the open server does not start")
	}
	refused(remote.Login{URL: "nats://" + open.Addr().String()}, "takes anybody")
	refused(remote.Login{URL: "nats://secret@" + open.Addr().String()}, "takes anybody")
}

// outside returns an address of this machine that is not loopback.
func outside() string {
	list, err := net.InterfaceAddrs()
	if err != nil {
		return ""
	}
	for _, a := range list {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() {
			return n.IP.String()
		}
	}
	return ""
}

// certificate makes a certificate of 127.0.0.1 that signs itself.
func certificate(t *testing.T, dir string) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "tune"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	text, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, kind string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return write("cert.pem", "CERTIFICATE", der), write("key.pem", "EC PRIVATE KEY", text)
}

// BenchmarkWire measures what the wire costs an evaluation that costs nothing itself, one at a time and many at a time.
func BenchmarkWire(b *testing.B) {
	for _, size := range []int{1, 64} {
		b.Run(fmt.Sprintf("batch=%d", size), func(b *testing.B) {
			f := newFarm(b, remote.Job{})
			f.worker(worker("w", 4, nil))
			n := 0
			for b.Loop() {
				var all sync.WaitGroup
				for range size {
					t := space.Trial{Number: n, Proposal: space.Proposal{Point: bowlSpace.At(uint64(n % 4096))}}
					n++
					all.Go(func() {
						if _, err := f.coord.Evaluate(b.Context(), t); err != nil {
							b.Error(err)
						}
					})
				}
				all.Wait()
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(n), "µs/evaluation")
		})
	}
}

// BenchmarkSleeping measures the throughput of workers whose evaluations sleep 50 ms, each of them.
func BenchmarkSleeping(b *testing.B) {
	for _, workers := range []int{1, 8} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			f := newFarm(b, remote.Job{})
			for i := range workers {
				f.worker(worker(fmt.Sprint("w", i), 1, func(string) error { time.Sleep(50 * time.Millisecond); return nil }))
			}
			for f.coord.Workers() < workers { // until all have found the run
				evaluateMany(b, f.coord, 0, 64)
			}
			b.ResetTimer()
			n := 0
			for b.Loop() {
				var all sync.WaitGroup
				for i := range 64 {
					point := bowlSpace.At(uint64(i)) // x is 0, which passes its check
					all.Go(func() {
						if _, err := f.coord.Evaluate(b.Context(), space.Trial{Number: 10_000 + n + i, Proposal: space.Proposal{Point: point}}); err != nil {
							b.Error(err)
						}
					})
				}
				all.Wait()
				n += 64
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "evaluations/s")
		})
	}
}

// BenchmarkMany measures a coordinator with 1,000 candidates at work, all parts in one process: of as many workers with a connection each, and of
// 20 workers.
func BenchmarkMany(b *testing.B) {
	for _, workers := range []int{1000, 20} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			f := newFarm(b, remote.Job{Lease: remote.DefaultLease})
			for i := range workers {
				f.worker(worker(fmt.Sprint("w", i), manyJobs/workers, nil))
			}
			n := 0
			for f.coord.Workers() < workers { // until all have found the run
				evaluateMany(b, f.coord, n, manyJobs)
				n += manyJobs
			}
			before, first := processorTime(b), n
			b.ResetTimer()
			for b.Loop() {
				evaluateMany(b, f.coord, n, 10*manyJobs)
				n += 10 * manyJobs
			}
			b.ReportMetric(float64(n-first)/b.Elapsed().Seconds(), "evaluations/s")
			b.ReportMetric(float64((processorTime(b)-before).Microseconds())/float64(n-first), "cpu-µs/evaluation")
		})
	}
}
