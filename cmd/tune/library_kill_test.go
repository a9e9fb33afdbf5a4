package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tune/kernels/native/nativetest"
	"tune/results"
)

const killedYAML = `
name: killed
tasks:
  - kernel: fill.yaml
    function: one
    variants: 2
    representatives: 2
    held_out: 1
    samples: 1
    shapes: [{n: 40}, {n: 900}]
    ranges: {n: {from: 1, to: 1000}}
  - {kernel: fill.yaml, function: two, variants: 1, shapes: [{n: 7}]}
`

const fillYAML = `
kernel: {name: fill, shape: {n: {default: 100, from: 1, to: 1000000}}}
space: {parameters: [{name: STEP, type: pow2, from: 1, to: 16}]}
source:
  text: "void fill(float *y, const float *x, int n) { for (int i = 0; i < n; i += STEP) for (int j = i; j < i + STEP && j < n; j++) y[j] = 2 * x[j]; }"
  language: c
  function: fill
  arguments:
    - {name: y, type: float, length: n, access: write}
    - {name: x, type: float, length: n, access: read}
    - {name: n, type: int, value: n}
  reference: {function: fill}
  flags: [-O1]
`

// TestKillLibrary: a library whose making is killed at any moment goes on by the same command, measures nothing again, and is right.
func TestKillLibrary(t *testing.T) { testKillLibrary(t, 1, 3) }

func testKillLibrary(t *testing.T, rounds, kills int) {
	if testing.Short() {
		t.Skip("it makes a library several times")
	}
	t.Parallel()
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("needs gcc")
	}
	home := t.TempDir()
	for name, text := range map[string]string{"killed.yaml": killedYAML, "fill.yaml": fillYAML} {
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	args := func(dir string) []string {
		return []string{"library", filepath.Join(home, "killed.yaml"), "--evals", "2", "--measure", "5ms", "--out", dir, "-q"}
	}
	whole := 4 * time.Second // about what a library takes, which is not made once more to learn it
	if nativetest.Stress {
		began := time.Now()
		tuneOK(t, args(filepath.Join(home, "timed"))...)
		whole = time.Since(began)
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("moments drawn from seed %d, of %v", seed, whole)
	rng := rand.New(rand.NewPCG(seed, 0))
	for round := range rounds {
		dir := filepath.Join(home, fmt.Sprint("round", round))
		var before libraryState
		killed := 0
		for range kills {
			if kill(t, time.Duration(rng.Int64N(int64(whole/3))), args(dir)) {
				killed++
			}
			now := stateOfLibrary(t, dir)
			before.kept(t, now)
			before = now
		}
		tuneOK(t, args(dir)...)
		now := stateOfLibrary(t, dir)
		before.kept(t, now)
		now.once(t)
		tuneOK(t, "verify", dir, "--checks", "1")
		if _, err := exec.LookPath("make"); err == nil {
			if out, err := exec.Command("make", "-s", "-C", dir, "check", "ROUNDS=20", "CFLAGS=-O0").CombinedOutput(); err != nil || !bytes.Contains(out, []byte("all right")) {
				t.Errorf("the self-test: %v\n%s", err, out)
			}
		}
		t.Logf("round %d: %d kills", round, killed)
	}
}

// libraryState is what a library has measured: the whole lines of the measurements of each task, and the outcomes of each search.
type libraryState struct {
	measured map[string][]string
	outcomes map[string]int
}

func stateOfLibrary(t *testing.T, dir string) libraryState {
	t.Helper()
	s := libraryState{map[string][]string{}, map[string]int{}}
	for _, task := range []string{"one", "two"} {
		text, err := os.ReadFile(filepath.Join(dir, "tuning", task, "measured.jsonl"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if strings.HasSuffix(line, "\n") {
				s.measured[task] = append(s.measured[task], line)
			}
		}
		runs, err := filepath.Glob(filepath.Join(dir, "tuning", task, "runs", "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, run := range runs {
			r, err := results.Read(run)
			if results.NotBegun(err) {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			s.outcomes[run] = r.Outcomes
		}
	}
	return s
}

// kept reports what a later state has lost.
func (s libraryState) kept(t *testing.T, later libraryState) {
	t.Helper()
	for task, lines := range s.measured {
		if n := min(len(lines), len(later.measured[task])); !slices.Equal(lines, later.measured[task][:n]) || n < len(lines) {
			t.Errorf("%s had %d measurements, and they are not the first %d of now", task, len(lines), len(later.measured[task]))
		}
	}
	for run, n := range s.outcomes {
		if later.outcomes[run] < n {
			t.Errorf("%s had %d outcomes, and has %d", run, n, later.outcomes[run])
		}
	}
}

// once reports shapes that were measured twice in a role.
func (s libraryState) once(t *testing.T) {
	t.Helper()
	for task, lines := range s.measured {
		seen := map[string]bool{}
		for _, line := range lines {
			var m struct {
				Role, Choice string
				Fields       []int64
			}
			if err := json.Unmarshal([]byte(line), &m); err != nil {
				t.Fatal(err)
			}
			key := fmt.Sprint(m.Role, m.Choice, m.Fields)
			if seen[key] {
				t.Errorf("%s: %s was measured twice", task, key)
			}
			seen[key] = true
		}
	}
}
