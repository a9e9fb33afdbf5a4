package tune

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tune/kernels"
	"tune/search"
	"tune/space"
)

var spun uint64

// spinning is a function of which n=1 does an eighth of the work of n=8, the baseline.
func spinning() Function {
	return Function{
		Name: "spinning", Parameters: []space.Parameter{space.Ints("n", 8, 4, 2, 1, 3)}, Seed: 1, Budget: 6 * time.Second, Evaluations: 5,
		Make: func(p space.Point) func() {
			n := p.Int("n")
			return func() {
				x := uint64(n)
				for range n * 20_000 {
					x ^= x << 13
					x ^= x >> 7
					x ^= x << 17
				}
				spun += x
			}
		},
	}
}

func TestFunc(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	f := spinning()
	// Points that would win by doing nothing: one panics, one is wrong, one is wrong for some inputs only.
	var seed uint64
	done := 0
	honest := f.Make
	f.Make = func(p space.Point) func() {
		call, n := honest(p), p.Int("n")
		switch n {
		case 1:
			return func() { panic("n is 1") }
		case 3:
			return func() { done = 0 }
		case 4:
			return func() { done = int(seed%4) & 2 / 2 * n }
		}
		return func() { call(); done = n }
	}
	f.Inputs = func(s uint64) { seed, done = s, -1 }
	f.Check = func() error {
		if done <= 0 {
			return fmt.Errorf("%d of the elements were done", done)
		}
		return nil
	}
	failed := map[space.Status]int{}
	f.Observe = func(e search.Event) { failed[e.Outcome.Status]++ }
	r, err := Func(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	if r.Point.Key() != "n=2" || r.Ratio < 2 || r.Ratio > 8 || r.NS <= 0 || r.BaselineNS <= r.NS || r.Verdict == space.NoGain {
		t.Errorf("%v: %+v", r, r)
	}
	if r.Verdict == space.Faster && (r.Low <= 1 || r.High < r.Ratio) {
		t.Errorf("%+v", r)
	}
	if failed[space.Crashed] != 1 || failed[space.WrongAnswer] == 0 || failed[space.OK] < 2 || len(r.Report.Insight.Failures) == 0 {
		t.Errorf("the outcomes are %v", failed)
	}
	if text := r.String(); !strings.HasPrefix(text, "n=2: ") || !strings.Contains(text, "× as fast as the baseline (") || strings.Contains(text, "not checked") {
		t.Error(text)
	}
	r.Report.Checking = kernels.FixedInput
	if text := r.String(); !strings.HasSuffix(text, ", checked on one fixed input: field Inputs is not set") {
		t.Error(text)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("%v is left (%v)", left, err)
	}
}

// TestFuncResumes: with a directory a run goes on where it was stopped, and only with the function that it is of.
func TestFuncResumes(t *testing.T) {
	f := spinning()
	f.Dir = filepath.Join(t.TempDir(), "run")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	seen := 0
	f.Observe = func(e search.Event) {
		if seen++; seen == 2 {
			cancel()
		}
	}
	r, err := Func(ctx, f)
	if err != nil || r.Report.Result.Stop != search.Interrupted || r.Report.Result.Told != 2 || r.NS <= 0 {
		t.Fatalf("a run that is cancelled: %+v, %v", r, err)
	}
	f.Observe = nil
	if r, err = Func(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	if r.Report.Result.Told != 5 || r.Report.Dir != f.Dir {
		t.Errorf("it went on to %+v", r.Report.Result)
	}
	if text := r.String(); !strings.HasSuffix(text, ", not checked: field Check is not set") {
		t.Error(text)
	}
	if _, err := os.Stat(filepath.Join(f.Dir, ScheduleName)); err != nil {
		t.Error(err)
	}
	// The program does with its run what the commands cannot do.
	k, err := f.Kernel()
	if err != nil {
		t.Fatal(err)
	}
	if v, err := Verify(t.Context(), kernels.Table{k}, filepath.Join(f.Dir, ScheduleName), FreshSeeds(2)); err != nil || !v.OK() {
		t.Errorf("it is verified as %+v, %v", v, err)
	}
	if n, err := Replay(kernels.Table{k}, f.Dir); n != 5 || err != nil {
		t.Errorf("%d points are replayed, %v", n, err)
	}
	other := f
	other.Version = "2"
	if _, err := Func(t.Context(), other); err == nil || !strings.HasPrefix(err.Error(), "tune.Func: field Dir: "+f.Dir+": the run was made with version 1 of kernel spinning") {
		t.Errorf("another version: %v", err)
	}
	other = f
	other.Strategy = "random"
	if _, err := Func(t.Context(), other); err == nil || !strings.HasPrefix(err.Error(), "tune.Func: field Strategy: "+f.Dir+": the run has strategy ") {
		t.Errorf("another strategy: %v", err)
	}
	other = f
	other.Dir = filepath.Join(t.TempDir(), "wrong")
	other.Check = func() error { return errors.New("never right") }
	if _, err := Func(t.Context(), other); err == nil || !strings.HasPrefix(err.Error(), "tune.Func: in "+other.Dir+": the baseline of kernel spinning: wrong answer") {
		t.Errorf("a function that is wrong: %v", err)
	}
	other = f
	other.Name = "other"
	if _, err := Func(t.Context(), other); err == nil || err.Error() != "tune.Func: field Dir: "+f.Dir+`: unknown kernel "spinning": the run is of it, and not of other: choose another folder, or give the kernel of the run` {
		t.Errorf("another function: %v", err)
	}
}

func TestFuncFails(t *testing.T) {
	for want, change := range map[string]func(*Function){
		`tune.Func: field Name is "treehash", the name of a kernel that comes with tune: choose another`:                     func(f *Function) { f.Name = "treehash" },
		`tune.Func: field Name is "recorded", the name of a kernel that comes with tune: choose another`:                     func(f *Function) { f.Name = "recorded" },
		`tune.Func: field Name is "a b": want letters, digits and . - _`:                                                     func(f *Function) { f.Name = "a b" },
		"tune.Func: field Budget is -1s: want more than nothing, or 0 for 30s":                                               func(f *Function) { f.Budget = -time.Second },
		"tune.Func: field Evaluations is -1: want 1 or more, or 0 for no limit":                                              func(f *Function) { f.Evaluations = -1 },
		"tune.Func: field Parameters is empty: list what may vary":                                                           func(f *Function) { f.Parameters = nil },
		`tune.Func: field Parameters: parameter "lines": it has no type`:                                                     func(f *Function) { f.Parameters = append(f.Parameters, space.Parameter{Name: "lines"}) },
		"tune.Func: field Dir: cannot create a run in docs: the directory is not empty":                                      func(f *Function) { f.Dir = "docs" },
		"tune.Func: no point was measured: field Budget is 30ns: give more, such as 30 * time.Second":                        func(f *Function) { f.Budget, f.Evaluations = 30, 0 },
		"tune.Func: field Make is not set":                                                                                   func(f *Function) { f.Make = nil },
		"tune.Func: field Constraints: constraint 1: column 11: or needs true or false, and a number alone compares nothing": func(f *Function) { f.Constraints = []string{f.Parameters[0].Name + " == 2 or 4"} },
		`tune.Func: field Constraints: constraint 1: column 1: there is no parameter "m"`:                                    func(f *Function) { f.Constraints = []string{"m > 3"} },
		`tune.Func: field Strategy: unknown strategy "gird"`:                                                                 func(f *Function) { f.Strategy = "gird" },
		"the baseline of kernel spinning: wrong answer: never right":                                                         func(f *Function) { f.Check = func() error { return errors.New("never right") } },
	} {
		f := spinning()
		change(&f)
		if r, err := Func(t.Context(), f); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, %v, want %s", r, err, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r, err := Func(ctx, spinning()); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled before it began: %v, %v", r, err)
	}
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "none"))
	const want = "tune.Func: field Dir is not set, and there is no temporary folder: set it, or TMPDIR: "
	if r, err := Func(t.Context(), spinning()); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("without a temporary folder: %v, %v", r, err)
	}
}

// TestFuncInGuide: the program in the guide compiles, and main has a dozen lines.
func TestFuncInGuide(t *testing.T) {
	guide, err := os.ReadFile("docs/guide.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(guide), "\n## Your own Go function or kernel\n")
	_, text, _ = strings.Cut(text, "\n```go\n")
	text, _, found := strings.Cut(text, "\n```\n")
	_, body, hasMain := strings.Cut(text, "\nfunc main() {\n")
	if lines := strings.Count(body, "\n"); !found || !hasMain || lines > 14 {
		t.Fatalf("main has %d lines in\n%s", lines, text)
	}
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	file, overlay := filepath.Join(t.TempDir(), "main.go"), filepath.Join(t.TempDir(), "overlay.json")
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(dir, "docs", "main.go"): file}})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(file, []byte(text), 0o666), os.WriteFile(overlay, replace, 0o666)); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "go", "vet", "-overlay", overlay, "./docs").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
