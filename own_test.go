package tune

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tune/kernels"
	"tune/kernels/catalog"
	"tune/results"
	"tune/search"
	"tune/search/random"
	"tune/search/strategies"
	"tune/space"
)

// mine is a strategy of a program's own.
func mine(t *testing.T, name string, version int) *strategies.Strategy {
	t.Helper()
	s, err := strategies.Own(name, version, func(s *space.Space, seed uint64, _ strategies.Hints) (search.Strategy, error) {
		return random.Config{}.New(s, seed)
	})
	if err != nil {
		t.Fatal(err)
	}
	return &s
}

// TestOwnStrategyIsKept: a run goes on with the strategy of the program that began it, and with no other.
func TestOwnStrategyIsKept(t *testing.T) {
	k, dir := toy{size: 40}, filepath.Join(t.TempDir(), "run")
	table, more := kernels.Table{k}, search.Budget{Evaluations: 30}
	report, err := Run(t.Context(), Options{Kernel: k, Own: mine(t, "mine", 2), Seed: 1, Dir: dir, Budget: search.Budget{Evaluations: 10}})
	if err != nil || report.Settings.Strategy != "mine" || report.Settings.StrategyVersion != 2 || report.Result.Told != 10 {
		t.Fatalf("%+v, %v", report, err)
	}
	for _, c := range []struct {
		name string
		own  *strategies.Strategy
		text string
		want string
	}{
		{"none", nil, "", "a strategy of a program's own is known to that program alone"},
		{"another", mine(t, "other", 2), "", `unknown strategy "mine"`},
		{"another version", mine(t, "mine", 3), "", "version 2 of strategy mine"},
		{"another by name", mine(t, "mine", 2), "random", "tune: Changes.Strategy: " + dir + ": the run has strategy mine, not random"},
		{"an unknown name", mine(t, "mine", 2), "ranbom", "tune: Changes.Strategy: " + dir + `: unknown strategy "ranbom"`},
	} {
		_, err := Resume(t.Context(), table, dir, Changes{Own: c.own, Strategy: c.text, Budget: more})
		if _, is := errors.AsType[*RunError](err); !is || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: the error is %v; it should say %q", c.name, err, c.want)
		}
	}
	if _, err := Replay(table, dir); err == nil {
		t.Error("it is replayed without its strategy")
	}
	report, err = Resume(t.Context(), table, dir, Changes{Own: mine(t, "mine", 2), Strategy: "mine", Budget: more})
	if err != nil || report.Result.Told != 30 {
		t.Fatalf("%+v, %v", report, err)
	}
	if n, err := Replay(table, dir, *mine(t, "other", 1), *mine(t, "mine", 2)); n != 30 || err != nil {
		t.Errorf("%d points replayed, %v", n, err)
	}
	if v, err := Verify(t.Context(), table, filepath.Join(dir, ScheduleName), FreshSeeds(2)); err != nil || !v.OK() {
		t.Errorf("%+v, %v", v, err)
	}
}

// TestOwnStrategyNames: a name that could be taken for another, or for a text with constants, is refused.
func TestOwnStrategyNames(t *testing.T) {
	for _, c := range []struct {
		name    string
		version int
		want    string
	}{
		{"auto", 1, "the name is taken by one of tune's own"}, {"", 1, "want a name of lower-case letters, digits and dashes"}, {"a:b=1", 1, "want a name"}, {"Mine", 1, "want a name"}, {"mine", 0, "want 1 or more"},
		{"mine", 1, "the function that makes it is nil"},
	} {
		if _, err := strategies.Own(c.name, c.version, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q, version %d: the error is %v; it should say %q", c.name, c.version, err, c.want)
		}
	}
	_, err := Run(t.Context(), Options{Kernel: toy{size: 4}, Own: mine(t, "mine", 1), Strategy: "random", Dir: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), "set one of them") {
		t.Errorf("two strategies: %v", err)
	}
}

// named is the toy by another name.
type named struct {
	toy
	name string
}

func (k *named) Info() kernels.Info {
	info := k.toy.Info()
	info.Name = k.name
	return info
}

// TestOwnKernelNames: a kernel of a program may have the name of one that comes with tune. Its run and schedule say so, and the commands do
// not take them for those of that one. A run that does not say it is opened as before.
func TestOwnKernelNames(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	k := &named{toy{size: 4}, "treehash"}
	if _, err := Run(t.Context(), Options{Kernel: k, Dir: dir}); err != nil {
		t.Fatal(err)
	}
	of := catalog.Catalog{}
	found, err := of.OfRun(dir, false)
	if err != nil {
		t.Fatal(err)
	}
	if err, ok := errors.AsType[*catalog.ProgramError](found.CheckRun(dir)); !ok || err.Error() != dir+" is a run of the kernel treehash of a Go program, which only that program can call" {
		t.Errorf("the commands take the run for one of tune's: %v", err)
	}
	best := filepath.Join(dir, ScheduleName)
	alone := filepath.Join(t.TempDir(), "best.json")
	text, err := os.ReadFile(best)
	if err == nil {
		err = os.WriteFile(alone, text, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{best, alone} {
		if _, err := of.OfSchedule(path, "", ""); !errors.As(err, new(*catalog.ProgramError)) {
			t.Errorf("the commands take the schedule %s for one of tune's: %v", path, err)
		}
	}
	if v, err := Verify(t.Context(), kernels.Table{k}, best, FreshSeeds(1)); err != nil || !v.OK() {
		t.Errorf("the program verifies its schedule as %+v, %v", v, err)
	}
	e, err := ReadEarlier(dir)
	if err != nil {
		t.Fatal(err)
	}
	p, err := k.Problem(kernels.Shape{})
	if err != nil {
		t.Fatal(err)
	}
	if other, ok := errors.AsType[*OtherKernelError](e.Fits("treehash", false, p)); !ok || !strings.HasSuffix(other.Error(), " is of the kernel treehash of a Go program, and this run is not") {
		t.Errorf("the kernel of tune starts from it: %v", other)
	}
	if err := e.Fits("treehash", true, p); err != nil {
		t.Errorf("the program does not start from its own run: %v", err)
	}
	settings := filepath.Join(dir, results.SettingsName)
	text, err = os.ReadFile(settings)
	old := bytes.Replace(text, []byte("\"program\": true"), []byte("\"program\": false"), 1)
	if err != nil || bytes.Equal(old, text) {
		t.Fatalf("the run does not say that it is of a program: %v\n%s", err, text)
	}
	if err := os.WriteFile(settings, old, 0o666); err != nil {
		t.Fatal(err)
	}
	if found, err = of.OfRun(dir, false); err != nil || found.CheckRun(dir) != nil {
		t.Errorf("a run of an earlier version: %v", err)
	}
}

// batch is a strategy that asks for one batch.
type batch []space.Proposal

func (b *batch) Ask(space.Progress) []space.Proposal {
	asked := *b
	*b = nil
	return asked
}

func (b *batch) Tell([]space.Trial, []space.Outcome) {}

// leveled is the toy with cheaper scores, of which each is the full one.
type leveled struct {
	toy
	levels int
}

func (k leveled) Problem(s kernels.Shape) (kernels.Problem, error) {
	p, err := k.toy.Problem(s)
	return &leveledProblem{p, k.levels}, err
}

type leveledProblem struct {
	kernels.Problem
	levels int
}

func (p *leveledProblem) Traits() kernels.Traits {
	t := p.Problem.Traits()
	if t.Levels = p.levels; p.levels > 0 {
		t.BuildAt = func(ctx context.Context, point space.Point, _ int) (kernels.Candidate, error) {
			return p.Build(ctx, point)
		}
	}
	return t
}

// TestOwnStrategyAtFault: what a strategy may not ask for ends the run with an error before it is recorded, and a strategy that cannot be
// made is no panic.
func TestOwnStrategyAtFault(t *testing.T) {
	other, err := space.New("other", []space.Parameter{space.Range("n", 1, 41)})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		levels int
		asked  func(s *space.Space) []space.Proposal
		want   string
	}{
		{"another space", 0, func(*space.Space) []space.Proposal { return []space.Proposal{{Point: other.At(3)}} }, "of space other, and not of the kernel's space toy"},
		{"another space, halved", 2, func(s *space.Space) []space.Proposal {
			return []space.Proposal{{Point: s.At(3)}, {Point: other.At(3)}}
		}, "of space other, and not of the kernel's space toy"},
		{"no point, halved", 2, func(*space.Space) []space.Proposal { return []space.Proposal{{}} }, "asked for an empty point"},
		{"a fidelity", 0, func(s *space.Space) []space.Proposal { return []space.Proposal{{Point: s.At(3), Fidelity: 1}} }, `asked for "n=4" at fidelity 1: this kernel has the fidelities 0 to 0, and 0 is the full one`},
	} {
		dir := filepath.Join(t.TempDir(), "run")
		own, err := strategies.Own("mine", 1, func(s *space.Space, _ uint64, _ strategies.Hints) (search.Strategy, error) {
			asked := batch(c.asked(s))
			return &asked, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		_, err = Run(t.Context(), Options{Kernel: leveled{toy{size: 40}, c.levels}, Own: &own, Dir: dir, Budget: search.Budget{Evaluations: 9}})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: the error is %v; it should say %q", c.name, err, c.want)
		}
		if run, err := results.Read(dir); err != nil || run.Outcomes > 0 {
			t.Errorf("%s: %+v, %v", c.name, run, err)
		}
	}
	none, err := strategies.Own("none", 1, func(*space.Space, uint64, strategies.Hints) (search.Strategy, error) { return nil, nil })
	if err != nil {
		t.Fatal(err)
	}
	for want, own := range map[string]*strategies.Strategy{
		`strategy "" cannot be made: take one that Own, Parse, Lookup or Table returned`: {},
		`strategy "mine" cannot be made`:                                                 {Name: "mine", Version: 1},
		"returned nil":                                                                   &none,
	} {
		_, err := Run(t.Context(), Options{Kernel: toy{size: 4}, Own: own, Dir: filepath.Join(t.TempDir(), "run")})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v; it should say %q", err, want)
		}
	}
	k, dir := toy{size: 4}, filepath.Join(t.TempDir(), "run")
	runToy(t, k, Options{Own: mine(t, "mine", 1), Dir: dir})
	for _, own := range []*strategies.Strategy{{}, {Name: "mine", Version: 1}} {
		if _, err := Resume(t.Context(), kernels.Table{k}, dir, Changes{Own: own}); err == nil {
			t.Errorf("%+v goes on with the run", own)
		}
	}
}

// TestOwnEvaluatorCannotLie: whatever an evaluator answers, what is exported is right and has the cost that the kernel gives it.
func TestOwnEvaluatorCannotLie(t *testing.T) {
	k := toy{size: 40, check: func(_ context.Context, n int, _ uint64) error {
		if n < 10 {
			return kernels.Reject(space.WrongAnswer, "%d is too small", n)
		}
		return nil
	}}
	for name, lie := range map[string]func(n int) space.Outcome{
		"all cost the same":      func(int) space.Outcome { return space.Outcome{Status: space.OK, Cost: 1} },
		"what is wrong is right": func(n int) space.Outcome { return space.Outcome{Status: space.OK, Cost: float64(n)} },
	} {
		dir := filepath.Join(t.TempDir(), "run")
		report, err := Run(t.Context(), Options{
			Kernel: k, Strategy: "grid", Dir: dir, Machine: &results.Machine{OS: "plan9", Arch: "mips", Cores: 3, Go: "go1"},
			Evaluator: search.EvaluatorFunc(func(_ context.Context, trial space.Trial) (space.Outcome, error) {
				o := lie(trial.Point.Int("n"))
				o.By = "far away"
				return o, nil
			}),
		})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if s := report.Schedule; s != nil && (s.Cost != float64(number(t, s.Key)) || s.Cost < 10) {
			t.Errorf("%s: %s is exported at %v", name, s.Key, s.Cost)
		}
		if len(report.Refused) == 0 {
			t.Errorf("%s: nothing is refused", name)
		}
		if m := report.Settings.Machine; m.OS != "plan9" || report.Schedule != nil && report.Schedule.Machine != m {
			t.Errorf("%s: the machine is %+v", name, m)
		}
		run, err := results.Read(dir)
		if err != nil {
			t.Fatal(err)
		}
		for r, err := range run.Rounds() {
			for _, e := range r.Entries {
				if err != nil || e.Outcome.By != "far away" {
					t.Fatalf("%s: the journal has %+v, %v", name, e, err)
				}
			}
		}
	}
}

// TestMachineTooLong: a description of a machine that is too long for the files of a run is refused before anything is evaluated.
func TestMachineTooLong(t *testing.T) {
	k, dir := toy{size: 40}, filepath.Join(t.TempDir(), "run")
	long, longest := strings.Repeat("x", 64<<10+1), strings.Repeat("x", 64<<10)
	for field, m := range map[string]*results.Machine{"os": {OS: long}, "arch": {Arch: long}, "cpu": {CPU: long}, "go": {Go: long}} {
		want := "field machine." + field + " has 65537 bytes, and may have at most 64 KiB: shorten it"
		if _, err := Run(t.Context(), Options{Kernel: k, Dir: dir, Machine: m}); err == nil || err.Error() != "tune: Options.Machine: "+want {
			t.Errorf("Run returned %v, want %q", err, want)
		}
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Errorf("a directory was made: %v", err)
		}
	}
	// The longest ones are read again.
	report := runToy(t, k, Options{Strategy: "grid", Dir: dir, Budget: search.Budget{Evaluations: 5}, Machine: &results.Machine{OS: longest, Arch: longest, CPU: longest, Go: longest}})
	if report.Schedule == nil || report.Schedule.Machine.Go != longest {
		t.Error("the machine is not in the schedule")
	}
	for field, m := range map[string]*results.Machine{"os": {OS: long}, "cpu": {CPU: strings.Repeat("<", 5<<20)}} {
		report, err := Resume(t.Context(), kernels.Table{k}, dir, Changes{Machine: m, Budget: search.Budget{Evaluations: 9}})
		if err == nil || !strings.HasPrefix(err.Error(), "tune: Changes.Machine: field machine."+field+" has ") {
			t.Errorf("Resume returned %+v, %v", report, err)
		}
	}
	if run, err := results.Read(dir); err != nil || run.Outcomes != 5 {
		t.Errorf("%v: the run has %d outcomes", err, run.Outcomes)
	}
}

// TestOwnEvaluatorMetrics: what an evaluator says beside the cost is in the journal, and not in the schedule, which is the kernel's.
func TestOwnEvaluatorMetrics(t *testing.T) {
	k, dir := toy{size: 40}, filepath.Join(t.TempDir(), "run")
	report, err := Run(t.Context(), Options{
		Kernel: k, Strategy: "grid", Dir: dir,
		Evaluator: search.EvaluatorFunc(func(_ context.Context, trial space.Trial) (space.Outcome, error) {
			return space.Outcome{Status: space.OK, Cost: float64(trial.Point.Int("n")), Metrics: []space.Metric{{Name: "waited", Value: 3}}}, nil
		}),
	})
	if err != nil || report.Schedule == nil {
		t.Fatalf("%+v, %v", report, err)
	}
	if _, ok := space.FindMetric(report.Schedule.Metrics, "waited"); ok {
		t.Errorf("the schedule has the metrics %v", report.Schedule.Metrics)
	}
	if v, err := Verify(t.Context(), kernels.Table{k}, filepath.Join(dir, ScheduleName), FreshSeeds(2)); err != nil || !v.OK() {
		t.Errorf("%+v, %v", v, err)
	}
}

func number(t *testing.T, key string) int {
	t.Helper()
	sp, err := space.New("toy", []space.Parameter{space.Range("n", 1, 40)})
	if err != nil {
		t.Fatal(err)
	}
	p, err := sp.Parse(key)
	if err != nil {
		t.Fatal(err)
	}
	return p.Int("n")
}

// TestFirst: a run evaluates the points of Options.First before all others, keeps them for later sittings, and refuses what is no point.
func TestFirst(t *testing.T) {
	k, dir := toy{size: 40}, filepath.Join(t.TempDir(), "run")
	table, o := kernels.Table{k}, Options{Kernel: k, Strategy: "random", Seed: 1, Dir: dir, Budget: search.Budget{Evaluations: 2}}
	for key, want := range map[string]string{"n=41": `the point "n=41": parameter "n" has no value 41`, "m=1": `the point "m=1": space "toy" has no parameter "m"`} {
		o.First = []string{"n=3", key}
		_, err := Run(t.Context(), o)
		if first, ok := errors.AsType[*FirstError](err); !ok || first.Key != key || !strings.HasPrefix(err.Error(), "tune: Options.First: "+want) {
			t.Errorf("%s: %v, want %s", key, err, want)
		}
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("a run that cannot begin leaves a directory")
	}
	o.First = []string{"n=31", "n=7", "", "n=31"} // "" is the default
	report, err := Run(t.Context(), o)
	if err != nil || strings.Join(report.Settings.First, "; ") != "n=31; n=7; n=1" {
		t.Fatalf("%+v, %v", report, err)
	}
	if report, err = Resume(t.Context(), table, dir, Changes{Budget: search.Budget{Evaluations: 12}}); err != nil || report.Result.Told != 12 {
		t.Fatalf("%+v, %v", report, err)
	}
	if n, err := Replay(table, dir); err != nil || n != 12 {
		t.Errorf("%d trials agree, %v", n, err)
	}
	run, err := results.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for round, err := range run.Rounds() {
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range round.Entries {
			keys = append(keys, e.Key)
		}
	}
	if strings.Join(keys[:3], "; ") != "n=31; n=7; n=1" {
		t.Errorf("the search began with %v", keys[:3])
	}
	if v, err := Verify(t.Context(), table, filepath.Join(dir, ScheduleName), []uint64{1}); err != nil || !v.OK() {
		t.Errorf("%+v, %v", v, err)
	}
	// What was recorded has to be points of the space.
	path := filepath.Join(dir, results.SettingsName)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), "n=31", "n=99", 1)), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Replay(table, dir); err == nil || !strings.Contains(err.Error(), `field first: parameter "n" has no value 99`) {
		t.Errorf("%v", err)
	}
}
