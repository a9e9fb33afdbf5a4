package tune

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tune/kernels"
	"tune/kernels/treehash"
	"tune/results"
	"tune/results/schedule"
	"tune/search"
	"tune/search/strategies"
	"tune/space"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// toy is a kernel that tests shape. Its points are the numbers 1 to size, and number n costs n, which is less than
// the baseline, the last point, costs.
type toy struct {
	size    int
	version string // "" means 1
	noise   func() float64
	// build, check and score replace what is done for a number, where they are set.
	build func(n int) error
	check func(ctx context.Context, n int, seed uint64) error
	score func(n int) error
	cost  func(n int) float64 // nil means n itself
}

func (k toy) Info() kernels.Info {
	info := kernels.Info{Name: "toy", Doc: "a number", Version: k.version, Unit: "cycles", Exact: k.noise == nil}
	if k.version == "" {
		info.Version = "1"
	}
	if k.noise != nil {
		info.Unit = "ns"
	}
	return info
}

func (k toy) Problem(kernels.Shape) (kernels.Problem, error) {
	sp, err := space.New("toy", []space.Parameter{space.Range("n", 1, k.size)})
	return &toyProblem{k, sp}, err
}

type toyProblem struct {
	toy
	space *space.Space
}

func (p *toyProblem) Space() *space.Space { return p.space }

func (p *toyProblem) Presets() []kernels.Preset {
	point, err := p.space.Parse("n=" + strconv.Itoa(p.size))
	if err != nil {
		panic(err)
	}
	return []kernels.Preset{{Name: "baseline", Doc: "the last", Point: point}}
}

func (p *toyProblem) Build(_ context.Context, point space.Point) (kernels.Candidate, error) {
	n := point.Int("n")
	if p.build != nil {
		if err := p.build(n); err != nil {
			return nil, err
		}
	}
	return &toyCandidate{p, n}, nil
}

func (p *toyProblem) Traits() kernels.Traits { return kernels.Traits{Load: p.load} }

// load reads a program, which is the number.
func (p *toyProblem) load(r io.Reader) (kernels.Candidate, error) {
	var n int
	if _, err := fmt.Fscan(r, &n); err != nil {
		return nil, err
	}
	if n == 0 {
		panic("a program that nobody expected")
	}
	return &toyCandidate{p, n}, nil
}

type toyCandidate struct {
	*toyProblem
	n int
}

func (c *toyCandidate) Check(ctx context.Context, seed uint64) error {
	if c.check != nil {
		return c.check(ctx, c.n, seed)
	}
	return ctx.Err()
}

func (c *toyCandidate) Score(context.Context, int) (kernels.Score, error) {
	if c.score != nil {
		if err := c.score(c.n); err != nil {
			return kernels.Score{}, err
		}
	}
	cost := float64(c.n)
	if c.cost != nil {
		cost = c.cost(c.n)
	}
	if c.noise != nil {
		cost += c.noise()
	}
	return kernels.Score{Cost: cost, Metrics: []space.Metric{{Name: "parity", Value: float64(c.n % 2)}, {Name: "square", Value: float64(c.n * c.n)}}}, nil
}

func (*toyCandidate) Abilities() kernels.Abilities { return kernels.Abilities{} }

func (c *toyCandidate) Artifacts() ([]kernels.Artifact, error) {
	write := func(text string) func(io.Writer) error {
		return func(w io.Writer) error {
			_, err := fmt.Fprintln(w, text)
			return err
		}
	}
	return []kernels.Artifact{
		{Name: "program.json", Write: write(strconv.Itoa(c.n))},
		{Name: "trace.json", Write: write(fmt.Sprintf(`{"trace": %d}`, c.n))},
	}, nil
}

func wrongAnswer(n int) error { return kernels.Reject(space.WrongAnswer, "%d is wrong", n) }

// runToy runs a search that must not fail.
func runToy(t *testing.T, k kernels.Kernel, o Options) *Report {
	t.Helper()
	o.Kernel = k
	if o.Dir == "" {
		o.Dir = filepath.Join(t.TempDir(), "run")
	}
	report, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func export(t *testing.T, k kernels.Kernel, dir, format string) string {
	t.Helper()
	var b strings.Builder
	if err := Export(t.Context(), kernels.Table{k}, dir, format, &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// verify verifies the schedule of a run and returns its steps that do not hold.
func verify(t *testing.T, k kernels.Kernel, dir string) []string {
	t.Helper()
	v, err := Verify(t.Context(), kernels.Table{k}, filepath.Join(dir, ScheduleName), FreshSeeds(3))
	if err != nil {
		t.Fatal(err)
	}
	var failed []string
	for _, s := range v.Steps {
		if s.Err != nil {
			failed = append(failed, s.Name+": "+s.Err.Error())
		}
	}
	if v.OK() != (len(failed) == 0) {
		t.Errorf("OK is %t, and these failed: %q", v.OK(), failed)
	}
	return failed
}

func TestRun(t *testing.T) {
	var starts []Start
	known := 0
	report := runToy(t, toy{size: 40}, Options{
		Strategy: "random", Seed: 3, Budget: search.Budget{Evaluations: 20}, Jobs: 4,
		Start: func(s Start) { starts = append(starts, s) },
		Observe: func(e search.Event) {
			if known++; e.Known != known {
				t.Errorf("outcome %d is observed as the %dth", known, e.Known)
			}
		},
	})
	if len(starts) != 1 || starts[0].Dir != report.Dir || starts[0].Baseline.Cost != 40 || starts[0].Settings.Seed != 3 || starts[0].Resumed != 0 {
		t.Errorf("started with %+v", starts)
	}
	if known != 20 || report.Result.Stop != search.EvaluationsSpent || report.Result.Told != 20 || report.Result.Valid != 20 || len(report.Refused) != 0 {
		t.Errorf("report %+v after %d outcomes", report, known)
	}
	s := report.Schedule
	if s == nil || s.Cost != report.Result.Best.Outcome.Cost || s.Key != report.Result.Best.Trial.Point.Key() || s.Trial != report.Result.Best.Trial.Number {
		t.Fatalf("schedule %+v of best %+v", s, report.Result.Best)
	}
	if s.Ratio != 40/s.Cost || len(s.Checks) != ExportChecks || s.Index == nil || *s.Index != uint64(s.Cost)-1 || s.Run != "run" || s.Evaluations != 20 {
		t.Errorf("schedule %+v", s)
	}
	want := []string{fmt.Sprintf("tune run toy --strategy random --seed 3 --evals %d", s.Trial+1), "tune verify best.json"}
	if !slices.Equal(s.Reproduce, want) {
		t.Errorf("reproduce %q, want %q", s.Reproduce, want)
	}
	if failed := verify(t, toy{size: 40}, report.Dir); failed != nil {
		t.Errorf("verification fails: %q", failed)
	}
	if n, err := Replay(kernels.Table{toy{size: 40}}, report.Dir); n != 20 || err != nil {
		t.Errorf("replay: %d, %v", n, err)
	}
	for format, want := range map[string]string{"program": fmt.Sprintf("%v\n", s.Cost), "trace": fmt.Sprintf("{\"trace\": %v}\n", s.Cost)} {
		if got := export(t, toy{size: 40}, report.Dir, format); got != want {
			t.Errorf("%s: %q, want %q", format, got, want)
		}
	}
	entries, err := os.ReadDir(report.Dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if want := []string{"best.json", "best.program.json", "best.trace.json", "journal.jsonl", "lock", "run.json", "summary.json"}; !slices.Equal(names, want) {
		t.Errorf("the run directory holds %q, want %q", names, want)
	}
}

// TestSameRun: whatever the strategy, the number of jobs and the order of finishing change nothing.
func TestSameRun(t *testing.T) {
	slow := toy{size: 60, check: func(context.Context, int, uint64) error {
		time.Sleep(time.Duration(rand.IntN(300)) * time.Microsecond)
		return nil
	}}
	target := 4.0
	for _, strategy := range strategies.Names() {
		if testing.Short() && (strategy == "auto" || strategy == "surrogate") {
			continue // their models take long
		}
		for _, budget := range []search.Budget{{Evaluations: 37}, {Evaluations: 50, Target: &target}, {}} {
			var want string
			for _, jobs := range []int{0, 1, 2, 8} {
				report := runToy(t, slow, Options{Strategy: strategy, Seed: 5, Budget: budget, Jobs: jobs})
				got := export(t, slow, report.Dir, "csv") + report.Schedule.Key
				if want == "" {
					want = got
				}
				if got != want {
					t.Errorf("%s with %+v: %d jobs gave\n%s\nwant\n%s", strategy, budget, jobs, got, want)
				}
			}
		}
	}
}

// liar is right on the inputs that a search of the seed checks on, and wrong on all others, where n is small.
func liar(size int, seed uint64, lies int) toy {
	known := kernels.Derive(seed, "check")
	return toy{size: size, check: func(_ context.Context, n int, seed uint64) error {
		if n <= lies && seed != known {
			return wrongAnswer(n)
		}
		return nil
	}}
}

// TestLiar: incumbents that are wrong on fresh inputs are refused, and the next best is exported, also where more
// are refused than are kept in memory.
func TestLiar(t *testing.T) {
	for _, lies := range []int{1, 3, schedule.Kept - 1, schedule.Kept, schedule.Kept + 1, 150} {
		k := liar(200, 9, lies)
		report := runToy(t, k, Options{Strategy: "random", Seed: 9})
		if s := report.Schedule; s == nil || s.Cost != float64(lies+1) {
			t.Fatalf("%d liars: schedule %+v", lies, s)
		}
		if len(report.Refused) != lies {
			t.Fatalf("%d liars: %d refused", lies, len(report.Refused))
		}
		for i, r := range report.Refused {
			if want := fmt.Sprintf("n=%d", i+1); r.Key != want || !strings.Contains(r.Reason, fmt.Sprintf("wrong answer: %d is wrong", i+1)) {
				t.Fatalf("refusal %d is %+v", i, r)
			}
		}
		if report.Result.Best.Outcome.Cost != 1 {
			t.Errorf("the search's best is %+v", report.Result.Best)
		}
		if failed := verify(t, k, report.Dir); failed != nil {
			t.Errorf("verification fails: %q", failed)
		}
		if got, want := export(t, k, report.Dir, "program"), fmt.Sprintf("%d\n", lies+1); got != want {
			t.Errorf("%d liars: exported program %q, want %q", lies, got, want)
		}
	}
}

// Where all lie, nothing is exported.
func TestAllLie(t *testing.T) {
	k := liar(100, 9, 100)
	report := runToy(t, k, Options{Strategy: "grid", Seed: 9})
	if report.Schedule != nil || len(report.Refused) != 100 {
		t.Errorf("schedule %+v, %d refused", report.Schedule, len(report.Refused))
	}
	if _, err := os.Stat(filepath.Join(report.Dir, ScheduleName)); !os.IsNotExist(err) {
		t.Errorf("there is a schedule: %v", err)
	}
	for _, format := range []string{"json", "program", "trace"} {
		if err := Export(t.Context(), kernels.Table{k}, report.Dir, format, io.Discard); !errors.Is(err, ErrNoValid) {
			t.Errorf("export %s: %v", format, err)
		}
	}
}

// A candidate that changes its mind about its cost is refused too.
func TestFickle(t *testing.T) {
	var scored atomic.Int64
	k := toy{size: 20, score: func(n int) error {
		if n == 1 && scored.Add(1) > 1 {
			return kernels.Reject(space.Crashed, "once is enough")
		}
		return nil
	}}
	report := runToy(t, k, Options{Strategy: "grid"})
	if len(report.Refused) != 1 || report.Schedule.Cost != 2 {
		t.Errorf("refused %+v, schedule %+v", report.Refused, report.Schedule)
	}
}

func TestNoValid(t *testing.T) {
	k := toy{size: 20, check: func(_ context.Context, n int, _ uint64) error {
		if n < 20 {
			return wrongAnswer(n)
		}
		return nil
	}}
	report := runToy(t, k, Options{Strategy: "grid", Budget: search.Budget{Evaluations: 10}})
	if report.Schedule != nil || report.Result.Valid != 0 || report.Result.Told != 10 || len(report.Refused) != 0 {
		t.Errorf("report %+v", report)
	}
	if err := Export(t.Context(), kernels.Table{k}, report.Dir, "json", io.Discard); !errors.Is(err, ErrNoValid) {
		t.Errorf("export: %v", err)
	}
	if csv := export(t, k, report.Dir, "csv"); strings.Count(csv, "wrong answer") != 10 {
		t.Errorf("csv\n%s", csv)
	}
	// With a larger budget the baseline is found.
	report, err := Resume(t.Context(), kernels.Table{k}, report.Dir, Changes{Budget: search.Budget{Evaluations: 20}})
	if err != nil || report.Schedule == nil || report.Schedule.Ratio != 1 {
		t.Errorf("resumed: %+v, %v", report, err)
	}
}

// A baseline that is wrong is a defect of the kernel, not of a candidate.
func TestWrongBaseline(t *testing.T) {
	for name, k := range map[string]toy{
		"wrong": {size: 5, check: func(context.Context, int, uint64) error { return wrongAnswer(5) }},
		"fails": {size: 5, build: func(int) error { return errors.New("no disk") }},
		"panic": {size: 5, build: func(int) error { panic("oh") }},
	} {
		_, err := Run(t.Context(), Options{Kernel: k, Dir: filepath.Join(t.TempDir(), "run"), Strategy: "grid"})
		if err == nil || !strings.HasPrefix(err.Error(), "the baseline") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Panics of a generator or a candidate are outcomes, and refusals at the export.
func TestPanics(t *testing.T) {
	var built sync.Map
	k := toy{size: 20, build: func(n int) error {
		if n == 1 {
			panic("one")
		}
		if _, again := built.LoadOrStore(n, true); again && n == 2 {
			panic("two")
		}
		return nil
	}}
	report := runToy(t, k, Options{Strategy: "grid"})
	if report.Result.Valid != 19 || len(report.Refused) != 1 || !strings.HasPrefix(report.Refused[0].Reason, "crashed: panic: two at ") || report.Schedule.Cost != 3 {
		t.Errorf("report %+v, schedule %+v", report, report.Schedule)
	}
}

// An error that is not of a candidate ends the run, and what was recorded stands.
func TestFailure(t *testing.T) {
	var broken atomic.Bool
	broken.Store(true)
	k := toy{size: 60, build: func(n int) error {
		if n == 30 && broken.Load() {
			return errors.New("no disk")
		}
		return nil
	}}
	dir := filepath.Join(t.TempDir(), "run")
	if _, err := Run(t.Context(), Options{Kernel: k, Strategy: "grid", Dir: dir}); err == nil || !strings.Contains(err.Error(), "no disk") {
		t.Fatalf("error %v", err)
	}
	broken.Store(false)
	report, err := Resume(t.Context(), kernels.Table{k}, dir, Changes{})
	if err != nil || report.Result.Told != 60 {
		t.Fatalf("resumed: %+v, %v", report, err)
	}
}

// TestTimed: a kernel whose scores are samples. Costs need not be met again, and no command line finds the same
// points again, but the recorded run can be replayed.
func TestTimed(t *testing.T) {
	k := toy{size: 40, noise: rand.Float64}
	report := runToy(t, k, Options{Seed: 2, Budget: search.Budget{Evaluations: 30}, Jobs: 2})
	s := report.Schedule
	if s == nil || s.Unit != "ns" || s.Cost != report.Result.Best.Outcome.Cost || !slices.Equal(s.Reproduce, []string{"tune verify best.json"}) {
		t.Fatalf("schedule %+v", s)
	}
	if failed := verify(t, k, report.Dir); failed != nil {
		t.Errorf("verification fails: %q", failed)
	}
	if n, err := Replay(kernels.Table{k}, report.Dir); n != 30 || err != nil {
		t.Errorf("replay: %d, %v", n, err)
	}
	before := export(t, k, report.Dir, "csv")
	report, err := Resume(t.Context(), kernels.Table{k}, report.Dir, Changes{Budget: search.Budget{Evaluations: 35}})
	if err != nil || report.Result.Told != 35 {
		t.Fatalf("resumed: %+v, %v", report, err)
	}
	if after := export(t, k, report.Dir, "csv"); !strings.HasPrefix(after, before) {
		t.Errorf("what was measured has changed:\n%s\nwas\n%s", after, before)
	}
}

// TestInterrupted: a run that is cancelled exports what it has; resumed, it is the run that nobody cancelled.
func TestInterrupted(t *testing.T) {
	k := toy{size: 300}
	whole := runToy(t, k, Options{Seed: 4, Budget: search.Budget{Evaluations: 200}})
	want := export(t, k, whole.Dir, "csv")
	// With two others at work, the run may be past its last evaluation before it notices a later cancellation.
	moments := []int{1, 2, 24, 25, 100, 197}
	if testing.Short() {
		moments = []int{2, 25, 100}
	}
	for _, after := range moments {
		ctx, cancel := context.WithCancel(t.Context())
		dir := filepath.Join(t.TempDir(), "run")
		report, err := Run(ctx, Options{
			Kernel: k, Seed: 4, Budget: search.Budget{Evaluations: 200}, Jobs: 3, Dir: dir,
			Observe: func(e search.Event) {
				if e.Known == after {
					cancel()
				}
			},
		})
		cancel()
		if err != nil || report.Result.Stop != search.Interrupted || report.Schedule == nil {
			t.Fatalf("after %d: %+v, %v", after, report, err)
		}
		if failed := verify(t, k, dir); failed != nil {
			t.Errorf("after %d: verification fails: %q", after, failed)
		}
		if state := results.Describe(dir).State; state != results.Interrupted {
			t.Errorf("after %d: the run is listed as %v", after, state)
		}
		var start Start
		report, err = Resume(t.Context(), kernels.Table{k}, dir, Changes{Jobs: 2, Start: func(s Start) { start = s }})
		if err != nil {
			t.Fatalf("after %d: %v", after, err)
		}
		if start.Resumed < after || start.Elapsed <= 0 || start.Budget.Evaluations != 200 {
			t.Errorf("after %d: resumed with %+v", after, start)
		}
		if got := export(t, k, dir, "csv"); got != want {
			t.Errorf("after %d: the resumed run differs", after)
		}
		if report.Schedule.Key != whole.Schedule.Key {
			t.Errorf("after %d: best is %s, want %s", after, report.Schedule.Key, whole.Schedule.Key)
		}
	}
}

func TestWallBudget(t *testing.T) {
	k := toy{size: 1 << 20, check: func(ctx context.Context, n int, _ uint64) error {
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
		}
		return ctx.Err()
	}}
	began := time.Now()
	report := runToy(t, k, Options{Budget: search.Budget{Wall: 400 * time.Millisecond}})
	if took := time.Since(began); report.Result.Stop != search.TimeSpent || took > 20*time.Second {
		t.Errorf("%+v after %v", report.Result, took)
	}
	if report.Schedule == nil {
		t.Error("nothing is exported")
	}
	// What the first sitting spent is spent.
	told := report.Result.Told
	report, err := Resume(t.Context(), kernels.Table{k}, report.Dir, Changes{})
	if err != nil || report.Result.Stop != search.TimeSpent || report.Result.Told > told+50 {
		t.Errorf("resumed: %+v, %v, after %d", report, err, told)
	}
}

func TestRefusedOptions(t *testing.T) {
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "x"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for want, o := range map[string]Options{
		"Options.Jobs is -1":                          {Jobs: -1},
		"Budget.Wall is -1ns: want more than nothing": {Budget: search.Budget{Wall: -1}},
		"Budget.Evaluations is -1: want 1 or more":    {Budget: search.Budget{Evaluations: -1}},
		`did you mean "grid"?`:                        {Strategy: "gird"},
		"not empty":                                   {Dir: full},
		"is a file":                                   {Dir: filepath.Join(full, "x")},
	} {
		o.Kernel = toy{size: 5}
		dir := filepath.Join(t.TempDir(), "run")
		if o.Dir == "" {
			o.Dir = dir
		}
		if _, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q in it", err, want)
		}
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Errorf("%s: a directory was made: %v", want, err)
		}
	}
}

// Another kernel, another version or another space cannot go on with a run.
func TestOtherKernel(t *testing.T) {
	report := runToy(t, toy{size: 20}, Options{Strategy: "grid", Budget: search.Budget{Evaluations: 5}})
	for want, table := range map[string]kernels.Table{
		`unknown kernel "toy"`: {},
		"version 1 of kernel":  {toy{size: 20, version: "2"}},
		"another space":        {toy{size: 21}},
	} {
		_, err := Resume(t.Context(), table, report.Dir, Changes{})
		_, rerr := Replay(table, report.Dir)
		eerr := Export(t.Context(), table, report.Dir, "trace", io.Discard) // of a kernel that is not there all else can be had
		for what, err := range map[string]error{"resume": err, "replay": rerr, "export": eerr} {
			if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), report.Dir) {
				t.Errorf("%s: %v, want %q after the directory", what, err, want)
			}
		}
	}
	// A failed attempt leaves the run free for another.
	if _, err := Resume(t.Context(), kernels.Table{toy{size: 20}}, report.Dir, Changes{}); err != nil {
		t.Error(err)
	}
	if err := Export(t.Context(), kernels.Table{toy{size: 20}}, report.Dir, "cvs", io.Discard); err == nil || !strings.Contains(err.Error(), `did you mean "csv"?`) {
		t.Errorf("format: %v", err)
	}
}

// tamper changes the schedule of a run.
func tamper(t *testing.T, dir string, change func(*results.Schedule)) {
	t.Helper()
	path := filepath.Join(dir, ScheduleName)
	s, err := results.ReadSchedule(path)
	if err != nil {
		t.Fatal(err)
	}
	change(&s)
	if err := s.Write(path); err != nil {
		t.Fatal(err)
	}
}

func TestVerifyTampered(t *testing.T) {
	k := toy{size: 20}
	program := func(text string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			if err := os.WriteFile(filepath.Join(dir, "best.program.json"), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	schedule := func(change func(*results.Schedule)) func(*testing.T, string) {
		return func(t *testing.T, dir string) { tamper(t, dir, change) }
	}
	for _, c := range []struct {
		name   string
		change func(*testing.T, string)
		want   []string // the steps that fail begin so
	}{
		{"nothing", func(*testing.T, string) {}, nil},
		{"cost", schedule(func(s *results.Schedule) { s.Cost, s.Ratio = 2, 10 }), []string{"rebuilt", "it agrees with the run", "the saved program is right"}},
		{"ratio", schedule(func(s *results.Schedule) { s.Ratio = 2 }), []string{"its version"}},
		{"baseline cost", schedule(func(s *results.Schedule) { s.Baseline.Cost, s.Ratio = 40, 40 }), []string{"its version"}},
		{"baseline key", schedule(func(s *results.Schedule) { s.Baseline.Key = "n=19" }), []string{"its version"}},
		{"no metrics", schedule(func(s *results.Schedule) { s.Metrics = nil }), []string{"its version"}},
		{"a metric", schedule(func(s *results.Schedule) { s.Metrics[1].Value++ }), []string{"its version"}},
		{"a metric under another name", schedule(func(s *results.Schedule) { s.Metrics[1].Name = "cube" }), []string{"its version"}},
		{"the metrics of an earlier version", schedule(func(s *results.Schedule) { s.Metrics = s.Metrics[:1] }), nil},
		{"unit", schedule(func(s *results.Schedule) { s.Unit = "ns" }), []string{"its version"}},
		{"version", schedule(func(s *results.Schedule) { s.KernelVersion += "9" }), []string{"its version"}},
		{"checks", schedule(func(s *results.Schedule) { s.Checks[1].Seed++ }), []string{"its version"}},
		{"a check less", schedule(func(s *results.Schedule) { s.Checks = s.Checks[1:] }), []string{"its version"}},
		{"index", schedule(func(s *results.Schedule) { *s.Index = 7 }), []string{"the point"}},
		{"point", schedule(func(s *results.Schedule) { s.Point = []byte(`{"n":3}`) }), []string{"the point"}},
		{"a point that has no index", schedule(func(s *results.Schedule) { s.Point, s.Index = []byte(`{"n":3}`), nil }), []string{"the point"}},
		{"no point", schedule(func(s *results.Schedule) { s.Point = []byte(`{"n":99}`) }), []string{"the point"}},
		{"point and key", schedule(func(s *results.Schedule) { s.Point, s.Key, s.Index = []byte(`{"n":3}`), "n=3", nil }), []string{"rebuilt", "it agrees with the run"}},
		{"another program", program("2\n"), []string{"best.program.json is", "the saved program is right", "the saved program is the one"}},
		{"an equal program", program("1 \n"), []string{"best.program.json is", "the saved program is the one"}},
		{"no program", program("x"), []string{"best.program.json is", "the saved program is right", "the saved program is the one"}},
		{"a program that panics", program("0"), []string{"best.program.json is", "the saved program is right", "the saved program is the one"}},
		{"no artifact", schedule(func(s *results.Schedule) { s.Artifacts = nil }), []string{"the saved program is right"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			report := runToy(t, k, Options{Strategy: "grid"})
			c.change(t, report.Dir)
			failed := verify(t, k, report.Dir)
			if len(failed) != len(c.want) {
				t.Fatalf("failed %q, want %q", failed, c.want)
			}
			for i, f := range failed {
				if !strings.HasPrefix(f, c.want[i]) {
					t.Errorf("failed %q, want %q", f, c.want[i])
				}
			}
		})
	}
}

// TestVerifyProgress: a verification tells of each check before it begins.
func TestVerifyProgress(t *testing.T) {
	report := runToy(t, toy{size: 20}, Options{Strategy: "grid"})
	var told []string
	tell := func(p VerifyProgress) { told = append(told, p.String()) }
	v, err := Verify(t.Context(), kernels.Table{toy{size: 20}}, filepath.Join(report.Dir, ScheduleName), FreshSeeds(2), tell)
	if err != nil || !v.OK() {
		t.Fatal(v, err)
	}
	want := []string{
		"checking what the point builds, input 1 of 2", "checking what the point builds, input 2 of 2",
		"checking the baseline, input 1 of 1",
		"checking the saved program, input 1 of 2", "checking the saved program, input 2 of 2",
	}
	if !slices.Equal(told, want) {
		t.Errorf("it tells %q, want %q", told, want)
	}
}

func TestVerifyCancelled(t *testing.T) {
	report := runToy(t, toy{size: 20}, Options{Strategy: "grid"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Verify(ctx, kernels.Table{toy{size: 20}}, filepath.Join(report.Dir, ScheduleName), FreshSeeds(1)); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// TestExportRemade: what is missing in the run directory, or is not of the incumbent, is made from the journal.
func TestExportRemade(t *testing.T) {
	k := toy{size: 20}
	for name, spoil := range map[string]func(dir string) error{
		"no schedule": func(dir string) error { return os.Remove(filepath.Join(dir, ScheduleName)) },
		"no program":  func(dir string) error { return os.Remove(filepath.Join(dir, "best.program.json")) },
		"another program": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "best.program.json"), []byte("7\n"), 0o666)
		},
		"another schedule": func(dir string) error { tamper(t, dir, func(s *results.Schedule) { s.Trial = 3 }); return nil },
		"no JSON":          func(dir string) error { return os.WriteFile(filepath.Join(dir, ScheduleName), []byte("{"), 0o666) },
	} {
		report := runToy(t, k, Options{Strategy: "grid"})
		if err := spoil(report.Dir); err != nil {
			t.Fatal(err)
		}
		if got := export(t, k, report.Dir, "program"); got != "1\n" {
			t.Errorf("%s: program %q", name, got)
		}
		if got := export(t, k, report.Dir, "trace"); got != "{\"trace\": 1}\n" {
			t.Errorf("%s: trace %q", name, got)
		}
		if got := export(t, k, report.Dir, "json"); !strings.Contains(got, `"cost": 1,`) || !strings.Contains(got, `"run": "run"`) {
			t.Errorf("%s: schedule %s", name, got)
		}
	}
}

// TestExportRows: who exports outcomes is told of each of them, in all formats that list them.
func TestExportRows(t *testing.T) {
	k := toy{size: 20}
	report := runToy(t, k, Options{Strategy: "grid"})
	for _, format := range []string{"csv", "t4", "kerneltuner", "recorded"} {
		told, total := 0, 0
		err := Export(t.Context(), kernels.Table{k}, report.Dir, format, io.Discard, func(done, of int) { told, total = told+1, of })
		if err != nil || told == 0 || told > total || format == "csv" && (told != total || total != report.Result.Told) {
			t.Errorf("%s: it is told %d times, of %d: %v", format, told, total, err)
		}
	}
}

// TestSeeds: no purpose of a run shares its inputs with another.
func TestSeeds(t *testing.T) {
	seen := map[uint64]string{}
	add := func(seed uint64, what string) {
		if other := seen[seed]; other != "" {
			t.Errorf("%s and %s have seed %d", what, other, seed)
		}
		seen[seed] = what
	}
	for seed := range uint64(100) {
		add(seed, fmt.Sprint("the search of ", seed))
		add(kernels.Derive(seed, "check"), fmt.Sprint("the check of ", seed))
		for i, s := range kernels.ExportSeeds(seed) {
			add(s, fmt.Sprint("export ", i, " of ", seed))
		}
	}
	for i, s := range FreshSeeds(1000) {
		add(s, fmt.Sprint("fresh ", i))
	}
}

// TestPresetCosts pins what the named points of the tree-hash kernel cost at its default shape.
func TestPresetCosts(t *testing.T) {
	var k treehash.Kernel
	shape, err := kernels.ParseShape(k.Info().Shape, "")
	if err != nil {
		t.Fatal(err)
	}
	p, err := k.Problem(shape)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, preset := range p.Presets() {
		o, err := (&kernels.Evaluator{Problem: p, CheckSeed: 1}).Evaluate(t.Context(), space.Trial{Proposal: space.Proposal{Point: preset.Point}})
		if err != nil {
			t.Fatal(err)
		}
		got[preset.Name] = o.Cost
	}
	for name, want := range map[string]float64{"baseline": 147734, "study": 64383} {
		if got[name] != want {
			t.Errorf("%s costs %v, want %v", name, got[name], want)
		}
	}
}

// TestSchedule: what Run returns is what is on disk.
func TestSchedule(t *testing.T) {
	report := runToy(t, toy{size: 20}, Options{Strategy: "grid"})
	s, err := results.ReadSchedule(filepath.Join(report.Dir, ScheduleName))
	if err != nil || !reflect.DeepEqual(s, *report.Schedule) || s.Format == 0 {
		t.Errorf("%v: on disk %+v, returned %+v", err, s, report.Schedule)
	}
	var file bytes.Buffer
	if err := Export(t.Context(), kernels.Table{toy{size: 20}}, report.Dir, "json", &file); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(filepath.Join(report.Dir, ScheduleName)); err != nil || !bytes.Equal(data, file.Bytes()) {
		t.Errorf("the export differs from the file: %v", err)
	}
}

// TestOptionsErrors: options that no run can have are named by their fields, and so are changes.
func TestOptionsErrors(t *testing.T) {
	nan := math.NaN()
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "x"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	shape, err := kernels.ParseShape([]kernels.Field{{Name: "n", Min: 1, Max: 9, Default: "1"}}, "")
	if err != nil {
		t.Fatal(err)
	}
	for want, o := range map[string]Options{
		"tune: Options.Dir is not set":                                                                          {Kernel: toy{size: 3}},
		"tune: Options.Strategy is grid and Options.Own is mine: set one of them":                               {Dir: "x", Strategy: "grid", Own: &strategies.Strategy{Name: "mine"}},
		`tune: Options.Own: strategy "mine" cannot be made: take one that Own, Parse, Lookup or Table returned`: {Dir: "x", Own: &strategies.Strategy{Name: "mine"}},
		"tune: Options.Jobs is -1: want 1 or more, or 0 for one":                                                {Dir: "x", Jobs: -1},
		"tune: Options.Budget.Wall is -1ns: want more than nothing, or 0 for no limit":                          {Dir: "x", Budget: search.Budget{Wall: -1}},
		"tune: Options.Budget.Evaluations is -1: want 1 or more, or 0 for no limit":                             {Dir: "x", Budget: search.Budget{Evaluations: -1}},
		"tune: Options.Budget.Target is not a number: want a cost, or nil":                                      {Dir: "x", Budget: search.Budget{Target: &nan}},
		"tune: Options.Final is -1ns: want more than nothing, or 0 to let the budget decide":                    {Dir: "x", Final: -1},
		"tune: Options.From has a nil: take what ReadEarlier returns":                                           {Dir: "x", From: []*Earlier{nil}},
		`tune: Options.Strategy: unknown strategy "bayes": want auto, `:                                         {Dir: "x", Strategy: "bayes"},
		`tune: Options.Objectives: "speed" leaves out the cost: write "cost,speed", `:                           {Dir: "x", Objectives: "speed"},
		"tune: Options.Metrics: kernel toy has no energy: ":                                                     {Dir: "x", Metrics: []string{"energy"}},
		"tune: Options.Shape: kernel toy has no field, and this shape has n: make one with ParseShape ":         {Dir: "x", Shape: shape},
		`tune: Options.Pinned: space "toy" has no parameter "m"`:                                                {Dir: "x", Pinned: map[string]string{"m": "3"}},
		`tune: Options.First: the point "m=3": `:                                                                {Dir: "x", First: []string{"m=3"}},
		"tune: Options.Dir: cannot create a run in " + full + ": the directory is not empty (it holds x)":       {Dir: full},
		"tune: Options.Began is ": {Dir: "x", Began: time.Now().Add(time.Hour)},
	} {
		o.Kernel = toy{size: 3}
		if _, err := Run(t.Context(), o); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if _, err := Run(t.Context(), Options{Dir: "x"}); err == nil || err.Error() != "tune: Options.Kernel is not set" {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat("x"); err == nil {
		t.Error("a run that cannot begin made its directory")
	}
	report := runToy(t, toy{size: 3}, Options{Budget: search.Budget{Evaluations: 2}})
	for want, c := range map[string]Changes{
		"tune: Changes.Jobs is -1: want 1 or more, or 0 for one":                             {Jobs: -1},
		"tune: Changes.Budget.Wall is -1ns: want more than nothing, or 0 for no limit":       {Budget: search.Budget{Wall: -1}},
		"tune: Changes.Final is -1ns: want more than nothing, or 0 to let the budget decide": {Final: -1},
	} {
		if _, err := Resume(t.Context(), kernels.Table{toy{size: 3}}, report.Dir, c); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestExportWithoutProgram: a schedule whose point made no file has no program.
func TestExportWithoutProgram(t *testing.T) {
	k := toy{size: 20}
	report := runToy(t, k, Options{Budget: search.Budget{Evaluations: 20}})
	tamper(t, report.Dir, func(s *results.Schedule) { s.Artifacts = nil })
	if err := Export(t.Context(), kernels.Table{k}, report.Dir, "program", io.Discard); err == nil || err.Error() != "kernel toy has no program to export" {
		t.Errorf("got %v", err)
	}
}
