package remote_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"tune/internal/cpu"
	"tune/kernels"
	"tune/kernels/remote"
	"tune/space"
)

// pit is a kernel whose costs are measured: machines multiply them.
type pit struct {
	bowl
	times func() float64 // of costs; nil for 1
}

func (p *pit) Info() kernels.Info {
	i := p.bowl.Info()
	i.Exact = false
	return i
}

func (p *pit) Problem(kernels.Shape) (kernels.Problem, error) {
	return &pitProblem{bowlProblem{&p.bowl}, p}, nil
}

type pitProblem struct {
	bowlProblem
	p *pit
}

func (p *pitProblem) Build(ctx context.Context, point space.Point) (kernels.Candidate, error) {
	return &pitCandidate{bowlCandidate{p.b, point}, p.p}, ctx.Err()
}

type pitCandidate struct {
	bowlCandidate
	p *pit
}

func (c *pitCandidate) Score(ctx context.Context, fidelity int) (kernels.Score, error) {
	s, err := c.bowlCandidate.Score(ctx, fidelity)
	if c.p.times != nil {
		s.Cost *= c.p.times()
	}
	return s, err
}

// timedWorker is a worker on a machine of its own, whose costs are so many times those of others.
func timedWorker(name string, times func() float64, pace float64) *remote.Worker {
	return &remote.Worker{
		Name: name, Jobs: 2, Table: kernels.Table{&pit{bowl{version: "1"}, times}}, Machine: name,
		Pace: func(context.Context) (float64, error) { return pace, nil },
	}
}

func constant(v float64) func() float64 { return func() float64 { return v } }

func timedFarm(t *testing.T) *farm {
	f := newFarm(t, remote.Job{Joins: true, Timed: true, Fingerprint: cpu.Fingerprint(), Lease: 3 * lease}) // they stay members on a busy machine too
	f.measured()
	return f
}

// measured gives workers what they are compared with: the costs of this machine.
func (f *farm) measured() {
	f.t.Helper()
	e := &kernels.Evaluator{Problem: &bowlProblem{&bowl{version: "1"}}}
	costs, err := remote.Measure(f.t.Context(), e, bowlSpace.Default(), true, func(context.Context) (float64, error) { return 1, nil })
	if err != nil {
		f.t.Fatal(err)
	}
	if len(costs.Reference) != 5 || costs.Pace != 1 {
		f.t.Fatalf("costs %+v", costs)
	}
	f.coord.Measured(bowlSpace.Default(), costs, nil)
}

// refuses waits until the workers that answer say why they do not serve: each text once.
func (f *farm) refuses(want map[string]string) {
	f.t.Helper()
	nc, err := f.login.Connect("list", remote.Events{})
	if err != nil {
		f.t.Fatal(err)
	}
	defer nc.Close()
	var text []byte
	for range 100 {
		found, err := remote.Workers(f.t.Context(), nc, 100*time.Millisecond)
		if err != nil {
			f.t.Fatal(err)
		}
		met := 0
		for _, i := range found {
			var whys []string
			for _, r := range i.Refuses {
				whys = append(whys, r.Why)
			}
			if why, ok := want[i.Name]; ok && strings.Contains(strings.Join(whys, "\n"), why) {
				met++
			}
		}
		if met == len(want) {
			return
		}
		text, _ = json.Marshal(found)
	}
	f.t.Errorf("the workers do not say why: %s\nwant %v", text, want)
}

// TestCompared: a worker whose baseline, or whose clock, is not like that of the others measures nothing for a run, and says why.
func TestCompared(t *testing.T) {
	t.Parallel() // it waits most of the time
	f := timedFarm(t)
	n := new(atomic.Int64)
	for _, w := range []*remote.Worker{
		timedWorker("a", constant(1.01), 1), timedWorker("b", constant(0.99), 1.02),
		timedWorker("slow", constant(1.5), 1), timedWorker("clock", nil, 1.3),
		timedWorker("restless", func() float64 { return float64(1 + n.Add(1)%2) }, 1),
	} {
		f.worker(w)
	}
	other := timedWorker("other", nil, 1)
	other.Machine = "a"
	foreign := timedWorker("compiler", nil, 1)
	foreign.Compilers = []string{"gcc: 13"}
	// A worker is asked for its costs only while there is something to evaluate.
	var mu sync.Mutex
	by := map[string]bool{}
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			o, err := f.coord.Evaluate(ctx, space.Trial{Number: i, Proposal: space.Proposal{Point: bowlSpace.At(uint64(i % 4096))}})
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			by[o.By] = true
			mu.Unlock()
		}
	})
	f.refuses(map[string]string{
		"slow": "the baseline costs", "clock": "a loop of fixed work takes 1.", "restless": "apart: the machine does other work too",
	})
	for range 600 { // who comes first serves
		mu.Lock()
		both := by["a"] && by["b"]
		mu.Unlock()
		if both {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	f.worker(other)
	f.refuses(map[string]string{"other": "worker a measures on the same machine"})
	stop()
	all.Wait()
	if len(by) != 2 || !by["a"] || !by["b"] {
		t.Errorf("%v measured", by)
	}
	if n := f.coord.Workers(); n > 2 {
		t.Errorf("%d workers count", n)
	}
}

// TestComparedAgain: a worker that was set aside is taken when its machine is quiet again.
func TestComparedAgain(t *testing.T) {
	t.Parallel() // it waits most of the time
	f := timedFarm(t)
	var quiet atomic.Bool
	f.worker(timedWorker("w", func() float64 {
		if quiet.Load() {
			return 1
		}
		return 2
	}, 1))
	var all sync.WaitGroup
	all.Go(func() {
		o, err := f.coord.Evaluate(t.Context(), space.Trial{Proposal: space.Proposal{Point: bowlSpace.Default()}})
		if err != nil || o.By != "w" {
			t.Errorf("%+v, %v", o, err)
		}
	})
	f.refuses(map[string]string{"w": "the baseline costs"})
	quiet.Store(true)
	all.Wait()
}

// TestOwnDoubted: where it is the coordinator's own machine that was not quiet, it measures again.
func TestOwnDoubted(t *testing.T) {
	t.Parallel() // it waits most of the time
	f := newFarm(t, remote.Job{Joins: true, Timed: true, Fingerprint: cpu.Fingerprint()})
	f.coord.Measured(bowlSpace.Default(), remote.Costs{Reference: []float64{300, 310}, Pace: 2}, func(context.Context) (remote.Costs, error) {
		return remote.Costs{Reference: []float64{146, 147}, Pace: 1}, nil
	})
	f.worker(timedWorker("w", nil, 1))
	o, err := f.coord.Evaluate(t.Context(), space.Trial{Proposal: space.Proposal{Point: bowlSpace.Default()}})
	if err != nil || o.By != "w" {
		t.Errorf("%+v, %v", o, err)
	}
}

// TestUncompared: who was not taken cannot tell outcomes.
func TestUncompared(t *testing.T) {
	f := timedFarm(t)
	liar, err := f.login.Connect("liar", remote.Events{})
	if err != nil {
		t.Fatal(err)
	}
	defer liar.Close()
	tasks, err := liar.SubscribeSync("tune.v1.task.run")
	if err != nil {
		t.Fatal(err)
	}
	if err := liar.Flush(); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		o, err := f.coord.Evaluate(t.Context(), space.Trial{Proposal: space.Proposal{Point: bowlSpace.Default()}})
		if err != nil || o.By != "good" {
			t.Errorf("%+v, %v", o, err)
		}
	})
	m, err := tasks.NextMsg(5 * time.Second)
	if err != nil {
		t.Fatal(err)
	}
	var task map[string]any
	if err := json.Unmarshal(m.Data, &task); err != nil {
		t.Fatal(err)
	}
	task["worker"], task["outcome"] = "liar", map[string]any{"status": "ok", "cost": -1}
	text, _ := json.Marshal(task)
	if r, err := liar.Request("tune.v1.told.run", text, 5*time.Second); err != nil || string(r.Data) != "again" {
		t.Errorf("%v, %v", r, err)
	}
	for _, request := range []string{`{`, `{"worker":"liar","sitting":"other"}`, `{"worker":"liar","reference":[1e999]}`} {
		r, err := liar.Request("tune.v1.join.run", []byte(request), 5*time.Second)
		if err != nil || strings.Contains(string(r.Data), `"taken":true`) {
			t.Errorf("%s: %v, %v", request, r, err)
		}
	}
	f.worker(timedWorker("good", nil, 1))
	all.Wait()
}

// TestSameName: of two workers with one name the second waits.
func TestSameName(t *testing.T) {
	f := timedFarm(t)
	f.worker(timedWorker("twin", nil, 1))
	if _, err := f.coord.Evaluate(t.Context(), space.Trial{Proposal: space.Proposal{Point: bowlSpace.Default()}}); err != nil {
		t.Fatal(err)
	}
	f.worker(timedWorker("twin", nil, 1))
	f.refuses(map[string]string{"twin": "another worker has the name twin"})
}

// TestOtherMachine: a run whose time is measured is served on the same processor, with the same compilers.
func TestOtherMachine(t *testing.T) {
	f := newFarm(t, remote.Job{Joins: true, Timed: true, Fingerprint: "another"})
	f.measured()
	f.worker(timedWorker("w", nil, 1))
	f.refuses(map[string]string{"w": "its costs are measured on a processor of fingerprint another"})
	f = newFarm(t, remote.Job{Joins: true, Timed: true, Fingerprint: cpu.Fingerprint(), Compilers: []string{"gcc: 12"}})
	f.measured()
	f.worker(timedWorker("w", nil, 1))
	f.refuses(map[string]string{"w": "other compilers"})
}

// TestDropped: what nobody waits for any more is not measured to its end.
func TestDropped(t *testing.T) {
	f := newFarm(t, remote.Job{})
	began, stopped := make(chan struct{}), make(chan error, 1)
	w := worker("w", 1, nil)
	w.Table = kernels.Table{&slowKernel{bowl{version: "1"}, began, stopped}}
	f.worker(w)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-began; cancel() }()
	if _, err := f.coord.Evaluate(ctx, space.Trial{Proposal: space.Proposal{Point: bowlSpace.Default()}}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	select {
	case <-stopped:
	case <-time.After(10 * time.Second):
		t.Error("the worker goes on")
	}
}

// slowKernel evaluates until it is stopped.
type slowKernel struct {
	bowl
	began   chan struct{}
	stopped chan error
}

func (k *slowKernel) Problem(kernels.Shape) (kernels.Problem, error) {
	return &slowProblem{bowlProblem{&k.bowl}, k}, nil
}

type slowProblem struct {
	bowlProblem
	k *slowKernel
}

func (p *slowProblem) Build(ctx context.Context, _ space.Point) (kernels.Candidate, error) {
	close(p.k.began)
	<-ctx.Done()
	p.k.stopped <- ctx.Err()
	return nil, ctx.Err()
}

// brought is a user's kernel: it is right where its files are.
type brought struct{ bowl }

func loader(t *testing.T, loaded chan<- map[string]string) func(string) (kernels.Kernel, func() error, error) {
	return func(path string) (kernels.Kernel, func() error, error) {
		got, dir := map[string]string{}, filepath.Dir(path)
		err := filepath.WalkDir(dir, func(at string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			name, _ := filepath.Rel(dir, at)
			data, err := os.ReadFile(at)
			info, _ := d.Info()
			got[name] = info.Mode().String() + " " + string(data)
			return err
		})
		if err != nil {
			t.Error(err)
		}
		loaded <- got
		return &brought{bowl{version: "1"}}, func() error { close(loaded); return nil }, nil
	}
}

// TestFilesTravel: the files of a user's kernel arrive as they are, where the owner of the worker allows that and nowhere else.
func TestFilesTravel(t *testing.T) {
	big := strings.Repeat("0123456789abcdef", 1<<16) // several pieces
	f := newFarmWith(t, remote.Job{Joins: true}, []remote.File{
		{Name: "bowl.yaml", Mode: 0o600, Data: []byte("kernel")}, {Name: "data/big", Mode: 0o640, Data: []byte(big)}, {Name: "empty", Mode: 0o755},
		{Name: "same", Mode: 0o444, Data: []byte("kernel")},
	})
	loaded := make(chan map[string]string, 1)
	w := &remote.Worker{Name: "allows", Jobs: 1, User: loader(t, loaded)}
	strict := &remote.Worker{Name: "strict", Jobs: 1, Table: kernels.Table{&bowl{version: "1"}}}
	other := &remote.Worker{Name: "other", Jobs: 1, User: loader(t, nil), Allow: []string{"treehash"}}
	var notes []string
	var mu sync.Mutex
	w.Note = func(text string) { mu.Lock(); notes = append(notes, text); mu.Unlock() }
	kill := f.worker(w)
	f.worker(strict)
	f.worker(other)
	f.coord.Measured(bowlSpace.Default(), remote.Costs{Reference: []float64{146}}, nil)
	got := <-loaded
	want := map[string]string{"bowl.yaml": "-rw------- kernel", "data/big": "-rw-r----- " + big, "empty": "-rwxr-xr-x ", "same": "-r--r--r-- kernel"}
	if len(got) != len(want) {
		t.Errorf("%d files", len(got))
	}
	for name, text := range want {
		if got[name] != text {
			t.Errorf("%s is %.40q", name, got[name])
		}
	}
	o, err := f.coord.Evaluate(t.Context(), space.Trial{Proposal: space.Proposal{Point: bowlSpace.Default()}})
	if err != nil || o.By != "allows" || o.Cost != 146 {
		t.Errorf("%+v, %v", o, err)
	}
	f.refuses(map[string]string{"strict": "the code of a user, which its owner does not allow", "other": "its owner does not allow it"})
	kill()
	if _, open := <-loaded; open {
		t.Error("the kernel is not closed")
	}
	mu.Lock()
	defer mu.Unlock()
	if text := strings.Join(notes, "\n"); !strings.Contains(text, "bowl: the code of a user: 4 files, 1048588 bytes: bowl.yaml (6 bytes, sha256 ") || !strings.Contains(text, "data/big") {
		t.Error(text)
	}
}

// TestOtherCosts: a worker on which an exact kernel costs something else, or fails, serves no run of it.
func TestOtherCosts(t *testing.T) {
	f := newFarmWith(t, remote.Job{Joins: true}, []remote.File{{Name: "bowl.yaml", Mode: 0o600, Data: []byte("kernel")}})
	load := func(work func(string) error, version string) func(string) (kernels.Kernel, func() error, error) {
		return func(string) (kernels.Kernel, func() error, error) {
			return &bowl{version, work}, func() error { return nil }, nil
		}
	}
	f.worker(&remote.Worker{Name: "differs", Jobs: 1, User: load(nil, "1")})
	f.worker(&remote.Worker{Name: "fails", Jobs: 1, User: load(func(string) error { return kernels.Reject(space.Crashed, "there is no python3") }, "1")})
	f.worker(&remote.Worker{Name: "version", Jobs: 1, User: load(nil, "2")})
	f.coord.Measured(bowlSpace.Default(), remote.Costs{Reference: []float64{17}}, nil)
	f.refuses(map[string]string{
		"differs": "the baseline costs 146 there, and 17 where the run is", "fails": "the baseline fails there: crashed: there is no python3",
		"version": "version 2 of the kernel, and the run version 1",
	})
}

// TestFilesOutside: what must not travel is refused on either side.
func TestFilesOutside(t *testing.T) {
	for name, want := range map[string]string{"../x": "leads out", "/etc/passwd": "leads out", "a/../../x": "leads out", "": "leads out", "a//b": "leads out", ".": "leads out", "a\nb": "leads out"} {
		f := newFarm(t, remote.Job{})
		nc, err := f.login.Connect("other", remote.Events{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = remote.NewCoordinator(t.Context(), nc, remote.Job{ID: "other"}, []remote.File{{Name: "k.yaml"}, {Name: name}}, func(string) {})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", name, err)
		}
		nc.Close()
	}
}

// TestHostileList: a coordinator that lists files which lead out of the worker's folder, that are too large, or that are not what it says,
// is refused, and nothing of it is loaded or written.
func TestHostileList(t *testing.T) {
	t.Parallel() // it waits most of the time
	outside := filepath.Join(os.TempDir(), "tune-evil")
	f := newFarm(t, remote.Job{})
	nc, err := f.login.Connect("hostile", remote.Events{})
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	f.worker(&remote.Worker{Name: "w", Jobs: 1, User: func(string) (kernels.Kernel, func() error, error) {
		t.Error("it is loaded")
		return nil, nil, errors.New("no")
	}})
	f.refuses(map[string]string{"w": "this worker has no such kernel"}) // it listens
	sum := func(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }
	for id, test := range map[string]struct{ list, want string }{
		"up":       {fmt.Sprintf(`[{"name":"k.yaml","sha256":%q,"size":1},{"name":"../../tune-evil","sha256":%q,"size":1}]`, sum("x"), sum("x")), "leads out of the folder"},
		"root":     {fmt.Sprintf(`[{"name":%q,"sha256":%q,"size":1}]`, outside, sum("x")), "leads out of the folder"},
		"large":    {fmt.Sprintf(`[{"name":"k.yaml","sha256":%q,"size":99999999}]`, sum("x")), "the most that travels"},
		"device":   {fmt.Sprintf(`[{"name":"k.yaml","mode":69206016,"sha256":%q,"size":1}]`, sum("x")), "no regular file"},
		"other":    {fmt.Sprintf(`[{"name":"k.yaml","sha256":%q,"size":1}]`, sum("y")), "its checksum differs"},
		"absent":   {fmt.Sprintf(`[{"name":"k.yaml","sha256":%q,"size":1}]`, sum("z")), "does not have a file that it lists"},
		"sum":      {`[{"name":"k.yaml","sha256":"../../tune-evil","size":1}]`, "has no checksum"},
		"beneath":  {fmt.Sprintf(`[{"name":"k","sha256":%[1]q,"size":1},{"name":"k/x","sha256":%[1]q,"size":1}]`, sum("x")), "kernels/"},
		"nonsense": {`{`, "cannot be read"},
		"empty":    {`[]`, "0 files"},
	} {
		has := map[string]string{sum(test.list): test.list, sum("x"): "x", sum("y"): "?"}
		s, err := nc.Subscribe("tune.v1.file."+id, func(m *nats.Msg) {
			var w struct{ SHA256 string }
			_ = json.Unmarshal(m.Data, &w)
			_ = m.Respond([]byte(has[w.SHA256]))
		})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Unsubscribe()
		job := remote.Job{
			ID: id, Sitting: "1", Kernel: id, Joins: true, Reference: "x=0 y=0", Lease: time.Second,
			Files: &remote.Content{SHA256: sum(test.list), Size: int64(len(test.list))},
		}
		text, _ := json.Marshal(job)
		if err := nc.Publish("tune.v1.run", text); err != nil {
			t.Fatal(err)
		}
		f.refuses(map[string]string{"w": test.want})
	}
	if _, err := os.Stat(outside); err == nil {
		t.Error("a file is written outside")
	}
}
