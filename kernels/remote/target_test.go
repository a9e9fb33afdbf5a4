package remote_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"tune/kernels"
	"tune/kernels/remote"
	"tune/kernels/remote/natsserver"
	"tune/space"
)

// dune is a measured kernel with everything that a target passes on. Its costs are those of a bowl.
type dune struct {
	bowl
	mu   sync.Mutex
	held func(ctx context.Context) // called by each check and comparison; may be nil
}

// holds sets what is called by each check and comparison.
func (k *dune) holds(f func(ctx context.Context)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.held = f
}

func (k *dune) Info() kernels.Info {
	return kernels.Info{Name: "dune", Doc: "a dune", Version: k.version, Unit: "ns"}
}

func (k *dune) Problem(kernels.Shape) (kernels.Problem, error) {
	return &duneProblem{bowlProblem{&k.bowl}, k}, nil
}

type duneProblem struct {
	bowlProblem
	k *dune
}

func (p *duneProblem) Presets() []kernels.Preset {
	start, err := bowlSpace.Parse("x=3 y=4")
	if err != nil {
		panic(err)
	}
	return append(p.bowlProblem.Presets(), kernels.Preset{Name: "start", Doc: "near", Point: start, Start: true})
}

func (p *duneProblem) Traits() kernels.Traits {
	return kernels.Traits{
		Checking: kernels.FixedInput, Launches: true, Lacks: func() []string { return []string{"no cage"} }, Levels: 1, BuildAt: p.buildAt, Blind: []string{"y"},
		Threads: func(point space.Point) (int, error) { return 1 + int(point.Int("x")), nil },
		Weak: func(_ context.Context, seeds []uint64) ([]space.WeakOutput, error) {
			return []space.WeakOutput{{Output: fmt.Sprint("out", len(seeds)), Kind: space.Unwritten}}, nil
		},
		Measures: func(name string) error {
			if name == space.MetricEnergy {
				return errors.New("no meter")
			}
			return nil
		},
		Compare: p.compare, MostFinalists: 3,
	}
}

func (p *duneProblem) Build(ctx context.Context, point space.Point) (kernels.Candidate, error) {
	return p.buildAt(ctx, point, 0)
}

func (p *duneProblem) buildAt(ctx context.Context, point space.Point, fidelity int) (kernels.Candidate, error) {
	if point.Int("x") == 63 {
		return nil, kernels.Reject(space.CompileFailed, "x is 63\x1b[31m")
	}
	return &duneCandidate{bowlCandidate: bowlCandidate{p.b, point}, p: p, fidelity: fidelity}, ctx.Err()
}

func (p *duneProblem) compare(ctx context.Context, baseline kernels.Candidate, finalists []kernels.Candidate, s kernels.Series) (kernels.Final, error) {
	f := kernels.Final{Machine: kernels.MachineState{Load: 0.5, Probes: 7}, Best: 0}
	for pair := 1; pair <= 2; pair++ {
		s.Observe(pair, 2)
		p.k.hold(ctx)
	}
	base := baseline.(*duneCandidate)
	for _, c := range finalists {
		one := c.(*duneCandidate)
		one.deviation.Add(2e-3, 1)
		comparison := kernels.Comparison{Ratio: 2, Low: 1.5, High: 2.5, Cost: 1, Baseline: 2, Pairs: 9, Ratios: []float64{2, 2.5}, Metrics: []space.Metric{{Name: "seed", Value: float64(s.Seed)}}}
		if one.p == base.p && one.point().Int("x") == 5 {
			comparison = kernels.Comparison{Err: kernels.Reject(space.Crashed, "it fell over")}
		}
		f.Comparisons = append(f.Comparisons, comparison)
	}
	return f, ctx.Err()
}

func (k *dune) hold(ctx context.Context) {
	k.mu.Lock()
	held := k.held
	k.mu.Unlock()
	if held != nil {
		held(ctx)
	}
}

type duneCandidate struct {
	bowlCandidate
	p         *duneProblem
	fidelity  int
	alone     bool
	deviation kernels.Deviation
}

func (c *duneCandidate) point() space.Point { return c.bowlCandidate.p }

func (c *duneCandidate) Abilities() kernels.Abilities {
	return kernels.Abilities{
		Isolate: func() { c.alone = true },
		Measure: func(context.Context, []string) ([]space.Metric, error) {
			return []space.Metric{{Name: space.MetricCodeBytes, Value: 12}}, nil
		},
		Deviation: func() kernels.Deviation { return c.deviation },
		Repacking: &space.Repacking{Argument: "b", Bytes: 8, PackedBytes: 16, Alignment: 64, Layout: "twice"},
	}
}

func (c *duneCandidate) Check(ctx context.Context, seed uint64) error {
	c.p.k.hold(ctx)
	c.deviation.Add(1e-3, 1)
	return cmp.Or(ctx.Err(), c.bowlCandidate.Check(ctx, seed))
}

func (c *duneCandidate) Score(ctx context.Context, fidelity int) (kernels.Score, error) {
	s, err := c.bowlCandidate.Score(ctx, fidelity)
	s.Metrics = append(s.Metrics, space.Metric{Name: "z", Value: float64(10*c.fidelity + fidelity)})
	if c.alone {
		s.Metrics[1].Value += 0.5
	}
	return s, err
}

func (c *duneCandidate) Artifacts() ([]kernels.Artifact, error) {
	return []kernels.Artifact{
		{Name: "kernel.c", Write: func(w io.Writer) error { _, err := io.WriteString(w, "int x;\n"); return err }},
		{Name: "big.bin", Derived: true, Write: func(w io.Writer) error { _, err := w.Write(make([]byte, 3<<20)); return err }},
		{Name: "empty", Write: func(io.Writer) error { return nil }},
	}, nil
}

// post is a server with workers, and a connection of a coordinator.
type post struct {
	*farm
	nc *nats.Conn
}

func newPost(t *testing.T) *post {
	f := &farm{t: t, config: natsserver.Config{Address: "127.0.0.1:0"}}
	f.start()
	f.config.Address = fmt.Sprintf("127.0.0.1:%d", f.server.Port())
	f.login.URL = "nats://" + f.config.Address
	t.Cleanup(func() { f.server.Close() })
	nc, err := f.login.Connect("coordinator", remote.Events{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return &post{f, nc}
}

// open has the worker of a name open a kernel.
func (p *post) open(name string, k kernels.Kernel) (*remote.Target, *kernels.Opened, error) {
	p.t.Helper()
	found, err := remote.Lookup(p.t.Context(), p.nc, name)
	if err != nil {
		p.t.Fatal(err)
	}
	return p.openAt(found, k)
}

// openAt has a worker that was found open a kernel.
func (p *post) openAt(found remote.Info, k kernels.Kernel) (*remote.Target, *kernels.Opened, error) {
	p.t.Helper()
	target := remote.NewTarget(p.nc, found, rand.Text(), lease)
	p.t.Cleanup(target.Close)
	away, err := target.Open(p.t.Context(), k, kernels.Shape{}, nil)
	if err != nil {
		return target, nil, err
	}
	o, err := kernels.Open(away, kernels.Shape{})
	if err != nil {
		p.t.Fatal(err)
	}
	return target, o, nil
}

// mustOpen is open for a worker that does.
func (p *post) mustOpen(name string, k kernels.Kernel) *kernels.Opened {
	p.t.Helper()
	_, o, err := p.open(name, k)
	if err != nil {
		p.t.Fatal(err)
	}
	return o
}

func duneWorker(name string, k *dune) *remote.Worker {
	return &remote.Worker{Name: name, Jobs: 1, Table: kernels.Table{k}}
}

func pointOf(t *testing.T, key string) space.Point {
	t.Helper()
	p, err := bowlSpace.Parse(key)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestTarget: a problem on a target does what it does here, and evaluations have the same outcomes, failures included.
func TestTarget(t *testing.T) {
	p := newPost(t)
	p.worker(duneWorker("ada", &dune{bowl: bowl{version: "1"}}))
	away := p.mustOpen("ada", &dune{bowl: bowl{version: "1"}})
	here := kernels.Opened{Info: away.Info, Problem: must(t, (&dune{}).Problem)}
	if got, want := away.Problem.Space().Fingerprint(), bowlSpace.Fingerprint(); got != want {
		t.Errorf("space %s, want %s", got, want)
	}
	for i, preset := range here.Problem.Presets() {
		got := away.Problem.Presets()[i]
		if got.Name != preset.Name || got.Doc != preset.Doc || got.Point.Key() != preset.Point.Key() || got.Start != preset.Start {
			t.Errorf("preset %+v, want %+v", got, preset)
		}
	}
	got, want := away.Problem.Traits(), here.Problem.Traits()
	if err := got.Validate(); err != nil {
		t.Error(err)
	}
	if got.Checking != want.Checking || got.Launches != want.Launches || got.Levels != want.Levels || !slices.Equal(got.Blind, want.Blind) || got.MostFinalists != want.MostFinalists {
		t.Errorf("traits %+v, want %+v", got, want)
	}
	if lacks := got.Lacks(); len(lacks) != 1 || lacks[0] != "on worker ada: no cage" {
		t.Errorf("lacks %q", lacks)
	}
	if err := got.Measures(space.MetricEnergy); err == nil || err.Error() != "no meter" {
		t.Errorf("energy: %v", err)
	}
	if err := got.Measures(space.MetricCodeBytes); err != nil {
		t.Error(err)
	}
	if n, err := got.Threads(pointOf(t, "x=4 y=0")); n != 5 || err != nil {
		t.Errorf("%d threads, %v", n, err)
	}
	if weak, err := got.Weak(t.Context(), []uint64{1, 2}); err != nil || len(weak) != 1 || weak[0] != (space.WeakOutput{Output: "out2", Kind: space.Unwritten}) {
		t.Errorf("weak %v, %v", weak, err)
	}
	for _, key := range []string{"x=0 y=0", "x=7 y=1", "x=11 y=5", "x=63 y=0"} {
		for fidelity := range 2 {
			trial := space.Trial{Proposal: space.Proposal{Point: pointOf(t, key), Fidelity: fidelity}}
			var outcomes [2]space.Outcome
			for i, problem := range []kernels.Problem{away.Problem, here.Problem} {
				e := kernels.Evaluator{Problem: problem, CheckSeed: 3, Alone: true, Metrics: []string{space.MetricCodeBytes}}
				o, err := e.Evaluate(t.Context(), trial)
				if err != nil {
					t.Fatal(err)
				}
				o.Seconds = 0
				outcomes[i] = o
			}
			if a, b := fmt.Sprintf("%+v", outcomes[0]), fmt.Sprintf("%+v", outcomes[1]); a != b {
				t.Errorf("%s at fidelity %d: %s, want %s", key, fidelity, a, b)
			}
		}
	}
	if _, err := away.Baseline(t.Context(), 1); err != nil {
		t.Error(err)
	}
}

func must(t *testing.T, problem func(kernels.Shape) (kernels.Problem, error)) kernels.Problem {
	t.Helper()
	p, err := problem(kernels.Shape{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestTargetFinal: the files of a candidate and a comparison come back as they are.
func TestTargetFinal(t *testing.T) {
	t.Parallel() // it waits most of the time
	p := newPost(t)
	p.worker(duneWorker("ada", &dune{bowl: bowl{version: "1"}}))
	o := p.mustOpen("ada", &dune{bowl: bowl{version: "1"}})
	var built []kernels.Candidate
	for _, key := range []string{"x=0 y=0", "x=11 y=5", "x=5 y=5"} {
		c, err := o.Build(t.Context(), pointOf(t, key), []uint64{1})
		if err != nil {
			t.Fatal(err)
		}
		built = append(built, c)
	}
	artifacts, err := built[1].Artifacts()
	if err != nil || len(artifacts) != 3 {
		t.Fatalf("%v, %v", artifacts, err)
	}
	for i, want := range []string{"int x;\n", string(make([]byte, 3<<20)), ""} {
		var b bytes.Buffer
		if err := artifacts[i].Write(&b); err != nil || b.String() != want || artifacts[i].Derived != (i == 1) {
			t.Errorf("%s: %d bytes, %v", artifacts[i].Name, b.Len(), err)
		}
	}
	if r := built[1].Abilities().Repacking; r == nil || r.Layout != "twice" || r.PackedBytes != 16 {
		t.Errorf("repacking %+v", r)
	}
	if d := built[1].Abilities().Deviation(); d.MaxError != 1e-3 || d.ErrorShare != 1e-3 {
		t.Errorf("deviation %+v", d)
	}
	final, err := o.Compare()(t.Context(), built[0], built[1:], kernels.Series{Limit: time.Second, Seed: 42, Observe: func(int, int) {}})
	if err != nil {
		t.Fatal(err)
	}
	one, other := final.Comparisons[0], final.Comparisons[1]
	if one.Err != nil || one.Ratio != 2 || one.Low != 1.5 || one.Pairs != 9 || !slices.Equal(one.Ratios, []float64{2, 2.5}) || one.Metrics[0].Value != 42 {
		t.Errorf("%+v", one)
	}
	if r := kernels.AsRejection(other.Err); r == nil || r.Status != space.Crashed || r.Reason != "it fell over" || other.Pairs != 0 {
		t.Errorf("%+v", other)
	}
	if final.Machine.Load != 0.5 || final.Machine.Probes != 7 {
		t.Errorf("%+v", final.Machine)
	}
	if d := built[1].Abilities().Deviation(); d.MaxError != 2e-3 {
		t.Errorf("deviation after the comparison %+v", d)
	}
	if _, err := o.Compare()(t.Context(), built[0], built[1:], kernels.Series{Sure: func(float64, float64) bool { return true }}); err == nil {
		t.Error("Sure is taken without a word")
	}
}

// TestTargetProgress: a long comparison says how far it is, and ends when nobody waits for it.
func TestTargetProgress(t *testing.T) {
	t.Parallel() // it waits most of the time
	p := newPost(t)
	ended := make(chan struct{})
	var once sync.Once
	k := &dune{bowl: bowl{version: "1"}}
	p.worker(duneWorker("ada", k))
	o := p.mustOpen("ada", &dune{bowl: bowl{version: "1"}})
	c, err := o.Build(t.Context(), pointOf(t, "x=0 y=0"), nil)
	if err != nil {
		t.Fatal(err)
	}
	k.holds(func(ctx context.Context) { <-ctx.Done(); once.Do(func() { close(ended) }) })
	ctx, cancel := context.WithCancel(t.Context())
	seen := 0
	_, err = o.Compare()(ctx, c, []kernels.Candidate{c}, kernels.Series{Observe: func(pair, of int) {
		if seen = pair; of != 2 {
			t.Errorf("pair %d of %d", pair, of)
		}
		cancel()
	}})
	if !errors.Is(err, context.Canceled) || seen != 1 {
		t.Errorf("pair %d, %v", seen, err)
	}
	select {
	case <-ended:
	case <-time.After(5 * time.Second):
		t.Error("the worker goes on")
	}
}

// TestTargetGone: a worker that is killed is gone after a while, and its candidates with it. Where one of that name is back, what needs no
// earlier candidate goes on there. Another worker takes its place only where it may.
func TestTargetGone(t *testing.T) {
	t.Parallel() // it waits most of the time
	p := newPost(t)
	kill := p.worker(duneWorker("ada", &dune{bowl: bowl{version: "1"}}))
	target, o, err := p.open("ada", &dune{bowl: bowl{version: "1"}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := o.Build(t.Context(), pointOf(t, "x=0 y=0"), nil)
	if err != nil {
		t.Fatal(err)
	}
	kill()
	began := time.Now()
	gone := func(err error, why string) {
		t.Helper()
		g, is := errors.AsType[*remote.GoneError](err)
		if !is || g.Worker != "ada" || !strings.Contains(g.Why, why) {
			t.Errorf("%v, want that it %s", err, why)
		}
	}
	gone(c.Check(t.Context(), 1), "has fallen silent")
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it took %v to see that", took)
	}
	_, err = o.Build(t.Context(), pointOf(t, "x=0 y=0"), nil)
	gone(err, "has left")
	kill = p.worker(duneWorker("ada", &dune{bowl: bowl{version: "1"}}))
	if _, err = o.Build(t.Context(), pointOf(t, "x=0 y=0"), []uint64{1}); err != nil {
		t.Error(err)
	}
	gone(c.Check(t.Context(), 1), "has lost the candidates")
	if i := target.Info(); i.Name != "ada" {
		t.Errorf("%+v", i)
	}
	// Where the target may move, a worker like it takes its place, and no other one.
	p.fake(`{"name":"abe","fingerprint":"another","self":"ABE"}`, "ABE", func(map[string]any) string { t.Error("another machine is asked"); return "" })
	p.worker(duneWorker("amy", &dune{bowl: bowl{version: "2"}})) // whose kernel is another one
	p.worker(duneWorker("bob", &dune{bowl: bowl{version: "1"}}))
	said := ""
	target.MayMove(func(text string) { said = text })
	kill()
	built, err := o.Build(t.Context(), pointOf(t, "x=0 y=0"), []uint64{1})
	if err != nil {
		t.Fatal(err)
	}
	if err := built.Check(t.Context(), 1); err != nil {
		t.Error(err)
	}
	if i := target.Info(); i.Name != "bob" || said != "worker ada has left: worker bob, which has the same processor, takes its place for the final measurement" {
		t.Errorf("%+v: %s", i, said)
	}
}

// TestTargetAgain: a coordinator that begins again need not wait for what it had asked for before.
func TestTargetAgain(t *testing.T) {
	t.Parallel() // it waits most of the time
	p := newPost(t)
	inside := make(chan struct{}, 10)
	k := &dune{bowl: bowl{version: "1"}}
	p.worker(duneWorker("ada", k))
	found, err := remote.Lookup(t.Context(), p.nc, "ada")
	if err != nil {
		t.Fatal(err)
	}
	for sitting := range 2 {
		target := remote.NewTarget(p.nc, found, "run", lease)
		defer target.Close()
		away, err := target.Open(t.Context(), &dune{bowl: bowl{version: "1"}}, kernels.Shape{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		o, err := kernels.Open(away, kernels.Shape{})
		if err != nil {
			t.Fatal(err)
		}
		c, err := o.Build(t.Context(), pointOf(t, "x=0 y=0"), nil)
		if err != nil {
			t.Fatal(err)
		}
		if sitting == 0 {
			k.holds(func(ctx context.Context) { inside <- struct{}{}; <-ctx.Done() })
			go c.Check(t.Context(), 1) // which the coordinator, killed, does not wait for
			<-inside
			continue
		}
		k.holds(nil)
		if err := c.Check(t.Context(), 1); err != nil {
			t.Error(err)
		}
	}
}

// TestTargetStopped: a worker that is stopped in the middle of a call says so at once.
func TestTargetStopped(t *testing.T) {
	t.Parallel() // it waits most of the time
	p := newPost(t)
	inside := make(chan struct{}, 1)
	k := &dune{bowl: bowl{version: "1"}, held: func(ctx context.Context) { inside <- struct{}{}; <-ctx.Done() }}
	nc, err := p.login.Connect("worker", remote.Events{})
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- duneWorker("ada", k).Serve(ctx, nc) }()
	o := p.mustOpen("ada", &dune{bowl: bowl{version: "1"}})
	c, err := o.Build(t.Context(), pointOf(t, "x=0 y=0"), nil)
	if err != nil {
		t.Fatal(err)
	}
	go func() { <-inside; stop() }()
	if err := c.Check(t.Context(), 1); !isGone(err) {
		t.Errorf("%v", err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

func isGone(err error) bool {
	_, gone := errors.AsType[*remote.GoneError](err)
	return gone
}

// TestTargetServerGone: the server is killed in the middle of a call and started again, and the call is answered.
func TestTargetServerGone(t *testing.T) {
	t.Parallel() // it waits most of the time
	p := newPost(t)
	began, free := make(chan struct{}), make(chan struct{})
	var once sync.Once
	k := &dune{bowl: bowl{version: "1"}, held: func(context.Context) { once.Do(func() { close(began) }); <-free }}
	p.worker(duneWorker("ada", k))
	o := p.mustOpen("ada", &dune{bowl: bowl{version: "1"}})
	c, err := o.Build(t.Context(), pointOf(t, "x=0 y=0"), nil)
	if err != nil {
		t.Fatal(err)
	}
	var again sync.WaitGroup
	again.Go(func() {
		<-began
		p.server.Close()
		close(free) // the answer finds no server
		time.Sleep(300 * time.Millisecond)
		p.start()
	})
	if err := c.Check(t.Context(), 1); err != nil {
		t.Error(err)
	}
	again.Wait()
}

// TestTargetRefused: what a worker does not open, it says.
func TestTargetRefused(t *testing.T) {
	t.Parallel() // it waits most of the time
	p := newPost(t)
	p.worker(&remote.Worker{Name: "ada", Jobs: 1, Table: kernels.Table{&dune{bowl: bowl{version: "2"}}}, Allow: []string{"dune"}})
	p.worker(&remote.Worker{Name: "bob", Jobs: 1, Table: kernels.Table{&dune{bowl: bowl{version: "1"}}}, Allow: []string{"bowl"}})
	p.worker(&remote.Worker{Name: "cid", Jobs: 1})
	for name, want := range map[string]string{
		"ada": "worker ada: this worker has version 2 of the kernel, and the run version 1",
		"bob": "worker bob: its owner does not allow it",
		"cid": "worker cid: this worker has no such kernel",
	} {
		if _, _, err := p.open(name, &dune{bowl: bowl{version: "1"}}); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	found, err := remote.Lookup(t.Context(), p.nc, "cid")
	if err != nil {
		t.Fatal(err)
	}
	own := remote.NewTarget(p.nc, found, "own", lease)
	defer own.Close()
	_, err = own.Open(t.Context(), &dune{bowl: bowl{version: "1"}}, kernels.Shape{}, []remote.File{{Name: "k.yaml", Mode: 0o600, Data: []byte("x")}})
	if err == nil || err.Error() != "worker cid: it is the code of a user, which its owner does not allow: tune worker --allow-user-code" {
		t.Error(err)
	}
}

// TestLookup: a worker is found by its name, and names that nobody or several have are errors.
func TestLookup(t *testing.T) {
	t.Parallel() // it waits most of the time
	p := newPost(t)
	if _, err := remote.Lookup(t.Context(), p.nc, "ada"); err == nil || err.Error() != `no worker "ada" is there, and no other one` {
		t.Error(err)
	}
	for _, name := range []string{"ada", "bob", "bob"} {
		p.worker(worker(name, 1, nil))
	}
	if i, err := remote.Lookup(t.Context(), p.nc, "ada"); err != nil || i.Name != "ada" || i.Go == "" {
		t.Errorf("%+v, %v", i, err)
	}
	for name, want := range map[string]string{
		"adda": `no worker "adda" is there: want one of ada, bob, bob (did you mean "ada"?)`,
		"bob":  "2 workers have the name bob: give each its own by tune worker --name",
	} {
		if _, err := remote.Lookup(t.Context(), p.nc, name); err == nil || err.Error() != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	p.fake(`{"name":"old","tool":"0.0.9"}`, "none", func(map[string]any) string { return "" })
	if _, err := remote.Lookup(t.Context(), p.nc, "old"); err == nil || !strings.HasPrefix(err.Error(), "worker old has tune 0.0.9, for whose machine no run can be tuned") {
		t.Error(err)
	}
}

// TestNobodyAnnounces: where no run is announced, a worker refuses none.
func TestNobodyAnnounces(t *testing.T) {
	t.Parallel() // it waits most of the time
	p := newPost(t)
	notes := make(chan string, 10)
	w := worker("ada", 1, nil)
	w.Note = func(text string) { notes <- text }
	p.worker(w)
	if _, err := remote.Lookup(t.Context(), p.nc, "ada"); err != nil {
		t.Fatal(err)
	}
	select {
	case text := <-notes:
		t.Errorf("it says %q", text)
	case <-time.After(500 * time.Millisecond):
	}
}

// fake answers as a worker would: info to whoever asks for workers, and to each call at its desks what answer returns; "" is silence.
func (p *post) fake(info, self string, answer func(c map[string]any) string) {
	p.t.Helper()
	for subject, handle := range map[string]nats.MsgHandler{
		"tune.v1.who": func(m *nats.Msg) { _ = m.Respond([]byte(info)) },
		"tune.v1.desk." + self: func(m *nats.Msg) {
			var c map[string]any
			if json.Unmarshal(m.Data, &c) != nil || m.Reply == "" {
				return
			}
			if text := answer(c); text != "" {
				_ = m.Respond([]byte(strings.ReplaceAll(text, "NUMBER", fmt.Sprint(c["number"]))))
			}
		},
	} {
		s, err := p.nc.Subscribe(subject, handle)
		if err != nil {
			p.t.Fatal(err)
		}
		p.t.Cleanup(func() { _ = s.Unsubscribe() })
	}
	if err := p.nc.Flush(); err != nil {
		p.t.Fatal(err)
	}
}

// openedDune is what a worker says of the dune.
func openedDune(t *testing.T, change func(map[string]any)) string {
	t.Helper()
	var text bytes.Buffer
	if err := bowlSpace.Write(&text); err != nil {
		t.Fatal(err)
	}
	said := map[string]any{
		"space": text.String(), "fingerprint": bowlSpace.Fingerprint(), "compare": true, "finalists": 3,
		"presets": []any{map[string]any{"name": "baseline", "key": "x=0 y=0"}},
	}
	if change != nil {
		change(said)
	}
	out, err := json.Marshal(map[string]any{"result": said})
	if err != nil {
		t.Fatal(err)
	}
	return `{"number":NUMBER,` + string(out[1:])
}

// TestTargetNonsense: whatever a worker answers, the coordinator has an error that names the worker, and never waits for long.
func TestTargetNonsense(t *testing.T) {
	t.Parallel() // it waits most of the time
	p := newPost(t)
	const info = `{"name":"eve","self":"EVE","fingerprint":"f"}`
	var mu sync.Mutex
	answers := map[string]string{}
	p.fake(info, "EVE", func(c map[string]any) string {
		mu.Lock()
		defer mu.Unlock()
		return answers[fmt.Sprint(c["do"])]
	})
	say := func(do, text string) {
		mu.Lock()
		defer mu.Unlock()
		answers[do] = text
	}
	eve, err := remote.Lookup(t.Context(), p.nc, "eve")
	if err != nil {
		t.Fatal(err)
	}
	set := func(name string, value any) func(map[string]any) { return func(m map[string]any) { m[name] = value } }
	for want, text := range map[string]string{
		"its space has the fingerprint " + bowlSpace.Fingerprint() + ", and it says 0": openedDune(t, set("fingerprint", "0")),
		"read space":                       openedDune(t, set("space", "parameters: 7")),
		"it has 0 presets: want 1 to 1000": openedDune(t, set("presets", []any{})),
		"preset bad: ":                     openedDune(t, set("presets", []any{map[string]any{"name": "bad", "key": "x=64 y=0"}})),
		"a number of its traits":           openedDune(t, set("levels", -1)),
		"a number of its traits is":        openedDune(t, set("checking", 9)),
		"its space has no parameter z":     openedDune(t, set("blind", []string{"z"})),
		"MostFinalists is of Compare":      openedDune(t, set("compare", false)),
		"its answer cannot be read":        `{"number":NUMBER,"result":{"space":7}}`,
		"gives answers that make no sense": `{`,
		"its answer has 9000000 bytes":     `{"number":NUMBER,"long":{"sha256":"00","size":9000000}}`,
		"has ended, or has begun again":    `{"number":NUMBER,"unknown":true}`,
		"has fallen silent":                "",
		"no room (sic)":                    `{"number":NUMBER,"error":"no room\u001b[31m (sic)"}`,
		"is at fault, and not of what":     `{"number":NUMBER,"fault":{"status":"ok","reason":""}}`,
	} {
		say("open", text)
		if _, _, err := p.openAt(eve, &dune{bowl: bowl{version: "1"}}); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "worker") || strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%s: %v", want, err)
		}
	}
	say("open", openedDune(t, nil))
	o := p.mustOpen("eve", &dune{bowl: bowl{version: "1"}})
	const built, done = `{"number":NUMBER,"result":{"deviates":true}}`, `{"number":NUMBER,"result":`
	say("build", built)
	c, err := o.Build(t.Context(), pointOf(t, "x=0 y=0"), nil)
	if err != nil {
		t.Fatal(err)
	}
	do := map[string]func() error{
		"check":     func() error { return c.Check(t.Context(), 1) },
		"score":     func() error { _, err := c.Score(t.Context(), 0); return err },
		"artifacts": func() error { _, err := c.Artifacts(); return err },
		"compare": func() error {
			_, err := o.Compare()(t.Context(), c, []kernels.Candidate{c}, kernels.Series{})
			return err
		},
	}
	const sum = `"0000000000000000000000000000000000000000000000000000000000000000"`
	one := func(text string) string {
		return done + `{"Comparisons":[` + text + `],"faults":[null],"progressed":[{},{}]}}`
	}
	for _, l := range []struct{ do, text, want string }{
		{"check", done + `{"deviation":{"MaxError":-1}}}`, "max_error is -1"},
		{"score", done + `{"cost":1,"metrics":[{"name":"a\u001b","value":1}]}}`, "is not the name of a metric"},
		{"score", done + `{"cost":1e999}}`, "its answer cannot be read"},
		{"artifacts", done + `[{"name":"../x","sha256":` + sum + `,"size":1}]}`, `"../x" is not the name of a file`},
		{"artifacts", done + `[{"name":"a","sha256":` + sum + `,"size":0},{"name":"a","sha256":` + sum + `,"size":0}]}`, `its file "a" is given twice`},
		{"artifacts", done + `[{"name":"a","sha256":` + sum + `,"size":99000000}]}`, `its file "a" has 99000000 bytes: want at most 64 MiB`},
		{"artifacts", done + `[{"name":"a","sha256":` + sum + `,"size":60000000},{"name":"b","sha256":` + sum + `,"size":60000000}]}`, "its files have more than 64 MiB together"},
		{"artifacts", done + `[{"name":"a","sha256":` + sum + `,"size":0}]}`, "its checksum differs"},
		{"compare", done + `{"Comparisons":[]}}`, "1 finalists were compared, and 0 comparisons came back"},
		{"compare", one(`{"Ratio":2,"Low":3,"High":1}`), "a number of a comparison is out of range"},
		{"compare", one(`{"Ratio":2,"Low":1.5,"High":3}`), "it has an interval without pairs"},
		{"compare", one(`{"Ratio":2,"Pairs":-1}`), "a number of a comparison is out of range"},
	} {
		say(l.do, l.text)
		if err := do[l.do](); err == nil || !strings.Contains(err.Error(), l.want) || !strings.Contains(err.Error(), "worker eve") {
			t.Errorf("%s %s: %v", l.do, l.text, err)
		}
	}
}

// TestTargetAlone: while a target measures, its worker evaluates nothing else.
func TestTargetAlone(t *testing.T) {
	t.Parallel() // it waits most of the time
	f := newFarm(t, remote.Job{})
	inside, free := make(chan struct{}), make(chan struct{})
	var once sync.Once
	var measuring, beside atomic.Bool
	k := &dune{bowl: bowl{version: "1"}, held: func(context.Context) {
		measuring.Store(true)
		once.Do(func() { close(inside) })
		<-free
		measuring.Store(false)
	}}
	plainBowl := &bowl{"1", func(string) error {
		if measuring.Load() {
			beside.Store(true)
		}
		return nil
	}}
	f.worker(&remote.Worker{Name: "ada", Jobs: 4, Table: kernels.Table{plainBowl, k}})
	nc, err := f.login.Connect("other coordinator", remote.Events{})
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	p := &post{f, nc}
	o := p.mustOpen("ada", &dune{bowl: bowl{version: "1"}})
	c, err := o.Build(t.Context(), pointOf(t, "x=0 y=0"), nil)
	if err != nil {
		t.Fatal(err)
	}
	checked := make(chan error, 1)
	go func() { checked <- c.Check(t.Context(), 1) }()
	<-inside
	searched := make(chan struct{})
	go func() { defer close(searched); f.search(t, 100) }()
	time.Sleep(300 * time.Millisecond)
	close(free)
	if err := <-checked; err != nil {
		t.Error(err)
	}
	<-searched
	if beside.Load() {
		t.Error("something was evaluated while the target measured")
	}
}
