package recorded_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tune/kernels"
	"tune/kernels/kernelstest"
	"tune/kernels/recorded"
	"tune/space"
)

// small has configurations that are right, and some that cannot be built.
const small = `{"space": "s", "objective": "time", "unit": "ms", "names": ["a", "b"], "values": [[1, 2, 4, 8], ["x", "y", "z"]],
"rows": [[[0,0], null, "InvalidConfig", 0.1, null], [[0,1], 4, "", 1, null], [[1,1], 3.5, "", 1.5, [3, 3.5, 4, 0.2]], [[1,2], 3, "", 2, null],
[[2,0], 2, "", 1, null], [[2,1], null, "InvalidConfig", 0.25, null], [[3,0], 2.5, "", 1, null], [[3,2], 9, "", 3, null]]}`

func load(t *testing.T, path string) *recorded.Kernel {
	t.Helper()
	k, err := recorded.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func problem(t *testing.T, k *recorded.Kernel) *recorded.Problem {
	t.Helper()
	p, err := k.Problem(kernels.Shape{})
	if err != nil {
		t.Fatal(err)
	}
	return p.(*recorded.Problem)
}

func TestConformance(t *testing.T) {
	k, err := recorded.New("small.json", []byte(small))
	if err != nil {
		t.Fatal(err)
	}
	kernelstest.Run(t, k, "")
}

// TestEvaluate: every row has its outcome: the cost, or the status of its reason, and the time that it once took.
func TestEvaluate(t *testing.T) {
	k := load(t, "../../results/exchange/testdata/square.json")
	if info := k.Info(); info.Name != "recorded" || info.Unit != "ms" || !info.Exact {
		t.Errorf("%+v", info)
	}
	p := problem(t, k)
	if n, ok := p.Space().Len(); !ok || n != 10 {
		t.Fatalf("%d points, %v", n, ok)
	}
	if p.Optimum() != 1 || len(p.Presets()) != 2 || p.Presets()[1].Point.Key() != "block=64 unroll=2 layout=row" {
		t.Errorf("optimum %v of %v", p.Optimum(), p.Presets())
	}
	if len(kernels.Starts(p)) != 0 {
		t.Error("a search may begin with the optimum")
	}
	e := kernels.Evaluator{Problem: p}
	statuses := map[space.Status]int{}
	for point := range p.Space().All() {
		out, err := e.Evaluate(t.Context(), space.Trial{Proposal: space.Proposal{Point: point}})
		if err != nil {
			t.Fatal(err)
		}
		want := p.Lookup(point)
		if out.Status != want.Status || out.Cost != want.Cost || out.Seconds != want.Seconds || out.Reason != want.Reason {
			t.Errorf("%s: %+v, want %+v", point, out, want)
		}
		statuses[out.Status]++
	}
	for status, want := range map[space.Status]int{space.OK: 6, space.Crashed: 1, space.CompileFailed: 1, space.Timeout: 1, space.Invalid: 1} {
		if statuses[status] != want {
			t.Errorf("%d outcomes are %v, want %d", statuses[status], status, want)
		}
	}
}

// TestSave: the copy in a run directory is the same kernel, wherever the file is by then; a copy that was changed is
// refused.
func TestSave(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "data.json") // also the name of the description beside the copy
	if err := os.WriteFile(path, []byte(small), 0o666); err != nil {
		t.Fatal(err)
	}
	k := load(t, path)
	run := filepath.Join(dir, "run")
	if _, err := recorded.Open(run); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a directory without data: %v", err)
	}
	if err := k.Save(run); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	again, err := recorded.Open(run)
	if err != nil {
		t.Fatal(err)
	}
	if again.Info().Version != k.Info().Version || *again.Info().Files.Data != *k.Info().Files.Data {
		t.Errorf("%+v is %+v when it is read back", k.Info(), again.Info())
	}
	copied := filepath.Join(run, "data", "0-data.json")
	if err := os.WriteFile(copied, []byte(strings.Replace(small, "3.5", "3.25", 1)), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := recorded.Open(run); err == nil || !strings.Contains(err.Error(), "was changed") {
		t.Errorf("a changed copy: %v", err)
	}
	if err := os.Remove(copied); err != nil {
		t.Fatal(err)
	}
	if _, err := recorded.Open(run); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing copy: %v", err)
	}
}

func TestNothingValid(t *testing.T) {
	_, err := recorded.New("bad.json", []byte(`{"names": ["a"], "values": [[1]], "rows": [[[0], null, "timeout", 1, null]]}`))
	if err == nil || !strings.Contains(err.Error(), "bad.json: none of its 1 configurations is valid") {
		t.Error(err)
	}
	if _, err := recorded.Load(t.TempDir()); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Error(err)
	}
}
