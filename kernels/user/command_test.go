package user

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tune/internal/files"
	"tune/kernels"
	"tune/kernels/native"
	"tune/kernels/native/nativetest"
	"tune/space"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(childKernel); path != "" {
		evaluateChild(path)
		return
	}
	goleak.VerifyTestMain(suite{m})
}

// suite is the tests, after which the host is closed.
type suite struct{ *testing.M }

func (s suite) Run() int {
	code := s.M.Run()
	if err := sharedHost().Close(); err != nil {
		fmt.Fprintln(os.Stderr, "closing the host:", err)
		return max(code, 1)
	}
	return code
}

// sharedHost is the host of all tests that do not say otherwise: finding out how fast the machine is takes as long as most of them.
var sharedHost = sync.OnceValue(nativetest.Hasty)

// load writes files, the first of which is a kernel's, and loads it.
func load(t *testing.T, files ...string) (*Kernel, string) {
	t.Helper()
	return loadOn(t, sharedHost(), files...)
}

// loadOn is load on a host.
func loadOn(t *testing.T, host *native.Host, files ...string) (*Kernel, string) {
	t.Helper()
	dir := t.TempDir()
	for i := range files {
		files[i] = strings.ReplaceAll(files[i], "sleep 400", "sleep "+nap)
	}
	for i := 1; i < len(files); i += 2 {
		if err := os.WriteFile(filepath.Join(dir, files[i]), []byte(files[i+1]), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "kernel.yaml")
	if err := os.WriteFile(path, []byte(files[0]), 0o644); err != nil {
		t.Fatal(err)
	}
	k, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := k.Close(); err != nil {
			t.Error(err)
		}
	})
	return k.On(host), dir
}

// problem makes the problem of a shape, with brief scores: what is right counts in most tests, and no cost.
func problem(t *testing.T, k *Kernel, shape string) kernels.Problem {
	t.Helper()
	return brief(whole(t, k, shape))
}

// brief makes the scores of a problem brief from now on, where it has such. Then few timed calls are verified, so that what is wrong in some of
// them only may not be found.
func brief(p kernels.Problem) kernels.Problem {
	if brief := p.Traits().Brief; brief != nil {
		brief()
	}
	return p
}

// whole makes the problem of a shape.
func whole(t *testing.T, k *Kernel, shape string) kernels.Problem {
	t.Helper()
	s, err := kernels.ParseShape(k.Info().Shape, shape)
	if err != nil {
		t.Fatal(err)
	}
	p, err := k.Problem(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func evaluate(t *testing.T, p kernels.Problem, key string) space.Outcome {
	t.Helper()
	point, err := p.Space().Parse(key)
	if err != nil {
		t.Fatal(err)
	}
	e := &kernels.Evaluator{Problem: p, CheckSeed: 7}
	out, err := e.Evaluate(t.Context(), space.Trial{Proposal: space.Proposal{Point: point}})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestCommandOutcomes runs commands of every behaviour. Each has a sleeping grandchild where it starts one, which must be gone
// when the outcome is known.
func TestCommandOutcomes(t *testing.T) {
	t.Run("all", commandOutcomes) // which ends when all of them have
	if left := sleepers(t); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
}

func commandOutcomes(t *testing.T) {
	for _, test := range []struct {
		name, command string
		status        space.Status
		cost          float64
		reason        string
	}{
		{"number", "run: echo 3.5", space.OK, 3.5, ""},
		{"words", `run: [printf, '%s\n', noise, "{{n}}e1"]`, space.OK, 10, ""},
		{"pattern", "{run: 'echo a=1; echo a=2 b', metric: {pattern: 'a=([0-9]+)'}}", space.OK, 2, ""},
		{"stderr", "{run: 'echo 1; echo 4 >&2', metric: {from: stderr}}", space.OK, 4, ""},
		{"json", `{run: 'echo "{\"a\": [{\"b c\": 7}]}"', metric: {json: 'a[0]["b c"]'}}`, space.OK, 7, ""},
		{"last line of JSON", `{run: 'echo hello; echo "[1,\"8\"]"', metric: {json: '$[1]'}}`, space.OK, 8, ""},
		{"maximise", "{run: echo 4, metric: {goal: maximise, exact: true}}", space.OK, 0.25, ""},
		{"size", "{run: 'head -c 1234 /dev/zero > out.bin', metric: {from: size, file: out.bin}}", space.OK, 1234, ""},
		{"size in a file of its own", "{run: 'head -c 1234 /dev/zero > out{{n}}', files: [], metric: {from: size, file: 'out{{n}}'}}", space.OK, 1234, ""},
		{"size of what the build makes", "{build: 'head -c 1234 /dev/zero > prog', run: 'test -f prog', metric: {from: size, file: prog}}", space.OK, 1234, ""},
		{"size of what the build makes in a directory of its own", "{build: 'head -c 1234 /dev/zero > prog', run: 'test -f prog', files: [], metric: {from: size, file: prog}}", space.OK, 1234, ""},
		{"size beside another number", "{build: 'head -c 1234 /dev/zero > prog', run: 'wc -c < prog', metrics: {bytes: {from: size, file: prog}}}", space.OK, 1234, ""},
		{"size of what is overwritten", "{setup: echo old > out.bin, run: 'head -c 1234 /dev/zero > out.bin', metric: {from: size, file: out.bin}}", space.OK, 1234, ""},
		{"check", "{run: 'echo 1 > made; echo 2', check: 'test $(cat made) = 1 && test {{seed}} = 7'}", space.OK, 2, ""},
		{"environment", "{run: 'echo $A$B', environment: {A: '{{n}}', B: 2}}", space.OK, 12, ""},
		{"negative and exact", "{run: echo -5, metric: {exact: true}}", space.OK, -5, ""},
		{"0 and exact", "{run: echo 0, metric: {exact: true}}", space.OK, 0, ""},
		{"here", "{run: 'test -f {{here}}/kernel.yaml && echo 1', files: []}", space.OK, 1, ""},

		{"nothing", "run: 'true'", space.WrongAnswer, 0, "the command printed no number: it printed nothing: print the metric in the last line, or take the time by command.metric.from: time"},
		{"no number", "run: echo fast", space.WrongAnswer, 0, `the last line is "fast", which is not a number: print the metric there, or say where it stands by command.metric.pattern or json`},
		{"NaN", "run: echo nan", space.WrongAnswer, 0, "the metric is NaN, which is not a number"},
		{"infinity", "run: echo 1e999", space.WrongAnswer, 0, "the metric is +Inf, which is not a number"},
		{"no match", "{run: echo 3, metric: {pattern: 'a=([0-9]+)'}}", space.WrongAnswer, 0, "the pattern a=([0-9]+) matches nothing in what the command printed: 3"},
		{"no group", "{run: echo took 3, metric: {pattern: '[a-z]+ [0-9]+'}}", space.WrongAnswer, 0, `what the pattern matches is "took 3", which is not a number: put parentheses around the number in the field pattern, as in ([0-9.]+)`},
		{"no match in three lines", "{run: 'printf \"one\\ntwo\\n\"', metric: {pattern: 'a=([0-9]+)'}}", space.WrongAnswer, 0, "in what the command printed: two (before it: one)"},
		{"no match in nothing", "{run: 'echo a=3', metric: {from: stderr, pattern: 'a=([0-9]+)'}}", space.WrongAnswer, 0, "in what the command printed on standard error: it printed nothing"},
		{"no JSON at all", "{run: echo took 3 s, metric: {json: a}}", space.WrongAnswer, 0, "is not JSON: took is no value of JSON: write a text in double quotes: took 3 s"},
		{"no JSON", "{run: echo 3 4, metric: {json: a}}", space.WrongAnswer, 0, "is not JSON: something follows it"},
		{"no key", "{run: 'echo {}', metric: {json: a.b}}", space.WrongAnswer, 0, "the JSON has no $.a"},
		{"negative", "run: echo -5", space.WrongAnswer, 0, "the metric is -5: one that is not exact has to be above 0"},
		{"0", "run: echo 0", space.WrongAnswer, 0, "the metric is 0: one that is not exact has to be above 0"},
		{"too close to 0", "{run: echo 1e-320}", space.WrongAnswer, 0, "too close to 0 for ratios"},
		{"too close to 0 to maximise", "{run: echo 1e-320, metric: {goal: maximise}}", space.WrongAnswer, 0, "too close to 0 for ratios"},
		{"not above 0", "{run: echo 0, metric: {goal: maximise}}", space.WrongAnswer, 0, "one to maximise has to be above 0"},
		{"no file", "{run: 'true', metric: {from: size, file: out.bin}}", space.WrongAnswer, 0, "the command wrote no file out.bin"},
		{"a folder", "{run: 'mkdir -p out.bin', metric: {from: size, file: out.bin}}", space.WrongAnswer, 0, "out.bin is a folder, whose size says nothing: name a file, or have the command print the bytes of the files in it"},
		{"a file that is not of the run", "{run: 'true', metric: {from: size, file: kernel.yaml}}", space.WrongAnswer, 0, "the command wrote no file kernel.yaml: the one that is there is as it was before"},
		{"a file of the run before", "{run: 'test -e made || echo 1 > out.bin; echo > made', metric: {from: size, file: out.bin}}", space.WrongAnswer, 0, "the command wrote no file out.bin"},
		{"status", "run: echo 1; echo trouble >&2; exit 3", space.Crashed, 0, "the command ended with status 3: trouble"},
		{"signal", "run: kill -SEGV $$", space.Crashed, 0, "the command was ended by signal SIGSEGV"},
		{"no program", "run: [no-such-program]", space.Crashed, 0, "the command cannot be run: there is no program no-such-program on the PATH: install it, or write its path"},
		{"no file of its own", "run: [./none]", space.Crashed, 0, "the command cannot be run: there is no file "},
		{"hang", "{run: sleep 400, limits: {run: 300ms}}", space.Timeout, 0, "the command ran past its limit of 300ms"},
		{"hang after words", "{run: 'echo step 1; echo waiting >&2; sleep 400', limits: {run: 600ms}}", space.Timeout, 0, "the command ran past its limit of 600ms: waiting"},
		{"hang with SIGTERM ignored", "{run: \"trap '' TERM INT; sleep 400\", limits: {run: 300ms}}", space.Timeout, 0, "the command ran past its limit"},
		{"daemon", "run: (setsid sleep 400 >/dev/null 2>&1 &) ; echo 5", space.OK, 5, ""},
		{"daemon that holds the output", "{run: 'setsid sleep 400 & echo 5', limits: {run: 3s}}", space.OK, 5, ""},
		{"forks", "{run: 'i=0; while [ $i -lt 40 ]; do sleep 400 & i=$((i+1)); done; wait', limits: {run: 500ms}}", space.Timeout, 0, "ran past its limit"},
		{"flood", "{run: 'yes', limits: {output: 10KiB}}", space.Crashed, 0, "wrote more than 10 KiB of output"},
		{"large file", "{run: 'head -c 100000 /dev/zero > big && echo 1', limits: {file: 10KiB}}", space.Crashed, 0, "the command"},
		{"failing build", "{build: echo no >&2; exit 1, run: echo 1}", space.CompileFailed, 0, "the build ended with status 1: no"},
		{"slow build", "{build: sleep 400, run: echo 1, limits: {build: 200ms}}", space.Timeout, 0, "the build ran past its limit"},
		{"failing check", "{run: echo 1, check: echo off by one; exit 1}", space.WrongAnswer, 0, "the check ended with status 1: off by one"},
		{"slow check", "{run: echo 1, check: sleep 400, limits: {check: 200ms}}", space.Timeout, 0, "the check ran past its limit"},
		{"not exact", "{run: 'date +%N', metric: {exact: true, repeats: 3}}", space.WrongAnswer, 0, "the file says that the metric is exact"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel() // some wait for their limit
			command := test.command
			if !strings.HasPrefix(command, "{") {
				command = "\n  " + command
			}
			k, _ := load(t, "space: {parameters: [{name: n, type: int, from: 1, to: 2}]}\ncommand: "+command+"\n")
			start := time.Now()
			out := evaluate(t, problem(t, k, ""), "n=1")
			if out.Status != test.status || out.Cost != test.cost || !strings.Contains(out.Reason, test.reason) {
				t.Errorf("got %v, cost %v, %q; want %v, %v, %q", out.Status, out.Cost, out.Reason, test.status, test.cost, test.reason)
			}
			if d := time.Since(start); d > 20*time.Second {
				t.Errorf("it took %v", d)
			}
		})
	}
}

// nap is how many seconds the hostile commands sleep: as nobody else does.
var nap = strconv.Itoa(1_000_000 + os.Getpid())

// sleepers lists the processes of the hostile commands.
func sleepers(t *testing.T) []string {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, path := range lines {
		if text, err := os.ReadFile(path); err == nil && string(text) == "sleep\x00"+nap+"\x00" {
			left = append(left, path)
		}
	}
	return left
}

func TestCommandTimes(t *testing.T) {
	k, _ := load(t, `
space: {parameters: [{name: ms, type: enum, values: [5, 120]}]}
command: {run: [sleep, "0.{{ms}}"], files: [], metric: {from: time, repeats: 2}}
`)
	p := problem(t, k, "")
	if k.Info().Unit != "ns" || k.Info().Exact {
		t.Errorf("got %+v", k.Info())
	}
	out := evaluate(t, p, "ms=120")
	if out.Status != space.OK || out.Cost < 110e6 || out.Cost > 5e9 {
		t.Errorf("got %+v", out)
	}
	k, _ = load(t, `
space: {parameters: [{name: n, type: enum, values: [1000, 300000]}]}
command: {run: 'i=0; while [ $i -lt {{n}} ]; do i=$((i+1)); done', files: [], metric: {from: cpu}}
`)
	p = problem(t, k, "")
	small, large := evaluate(t, p, "n=1000"), evaluate(t, p, "n=300000")
	if small.Status != space.OK || large.Status != space.OK || large.Cost < 2*small.Cost {
		t.Errorf("CPU times are %v and %v", small.Cost, large.Cost)
	}
}

// TestCommandStopsEarly counts the runs of a candidate that is clearly behind.
func TestCommandStopsEarly(t *testing.T) {
	k, dir := load(t, `
space: {parameters: [{name: n, type: enum, values: [100, 110, 130]}]}
command: {run: 'echo x >> runs{{n}}; echo {{n}}', metric: {repeats: 9}}
`)
	p := problem(t, k, "")
	runsOf(t, p, dir, "100", 9)
	runsOf(t, p, dir, "110", 6)
	runsOf(t, p, dir, "130", 2)
}

func runsOf(t *testing.T, p kernels.Problem, dir, n string, want int) {
	t.Helper()
	if out := evaluate(t, p, "n="+n); out.Status != space.OK || strconv.FormatFloat(out.Cost, 'g', -1, 64) != n {
		t.Errorf("n=%s: %+v", n, out)
	}
	text, err := os.ReadFile(filepath.Join(dir, "runs"+n))
	if err != nil {
		t.Fatal(err)
	}
	if got := bytes.Count(text, []byte("x")); got != want {
		t.Errorf("n=%s ran %d times, want %d", n, got, want)
	}
}

// TestCommandPlaces evaluates many points at once: in one directory, where each has to find its own build, and in
// directories of their own.
func TestCommandPlaces(t *testing.T) {
	for place, points := range map[string]int{"": 4, "files: [data], templates: [conf],": keep + 2} {
		k, dir := load(t, `
kernel: {shape: {k: 3}}
space: {parameters: [{name: n, type: int, from: 1, to: 18}]}
command: {`+place+` build: 'cp data built; echo {{n}} >> built', run: 'tail -n 1 built', check: 'test $(tail -n 1 built) = {{n}}', metric: {exact: true}}
`, "data", "0\n", "conf", "k={{k}} n={{n}}\n")
		p := problem(t, k, "")
		e := &kernels.Evaluator{Problem: p}
		var wg sync.WaitGroup
		for i := range points {
			wg.Go(func() {
				out, err := e.Evaluate(t.Context(), space.Trial{Number: i, Proposal: space.Proposal{Point: p.Space().At(uint64(i))}})
				if err != nil || out.Status != space.OK || out.Cost != float64(i+1) {
					t.Errorf("place %q, point %d: %+v, %v", place, i, out, err)
				}
			})
		}
		wg.Wait()
		if _, err := os.Stat(filepath.Join(dir, "built")); (err == nil) != (place == "") {
			t.Errorf("place %q: the directory of the file has a build: %v", place, err == nil)
		}
		c := p.(*commandProblem)
		root, most := c.own.root, 1 // folder for temporary files
		if place != "" {
			most = 2 * keep // with directories
		}
		entries, err := os.ReadDir(root)
		if err != nil || len(entries) > most {
			t.Errorf("place %q: %d directories are kept (%v)", place, len(entries), err)
		}
		if err := k.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(root); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is left", root)
		}
	}
}

// TestCommandComesBack checks a candidate whose directory was given up in the meantime.
func TestCommandComesBack(t *testing.T) {
	k, _ := load(t, `
space: {parameters: [{name: n, type: int, from: 1, to: 40}]}
command: {files: [], build: 'echo {{n}} > built', run: 'cat built', metric: {exact: true}}
`)
	p := problem(t, k, "")
	first, err := p.Build(t.Context(), p.Space().At(0))
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Check(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	for i := range keep + 2 {
		if out := evaluate(t, p, fmt.Sprintf("n=%d", i+2)); out.Status != space.OK {
			t.Fatal(out)
		}
	}
	if err := kernels.Verify(t.Context(), first, []uint64{1, 2}); err != nil {
		t.Error(err)
	}
	if score, err := first.Score(t.Context(), 0); err != nil || score.Cost != 1 {
		t.Errorf("%v, %v", score, err)
	}
}

// TestCommandRemovesDirectories evaluates candidates that remove their own directory, that of all, and those of others.
func TestCommandRemovesDirectories(t *testing.T) {
	for _, exact := range []string{"true", "false"} {
		k, _ := load(t, `
space: {parameters: [{name: n, type: int, from: 1, to: 4}]}
command:
  files: []
  build: echo {{n}} > built
  run: 'case {{n}} in 2) rm -rf "$PWD";; 3) rm -rf "$(dirname "$(dirname "$PWD")")";; 4) for d in ../../*; do [ ../../$(basename "$(dirname "$PWD")") = $d ] || rm -rf $d; done;; esac; cat built; true'
  metric: {repeats: 2, exact: `+exact+`}
`)
		p := problem(t, k, "")
		first, err := p.Build(t.Context(), p.Space().At(0))
		if err != nil {
			t.Fatal(err)
		}
		for i, status := range []space.Status{space.OK, space.Crashed, space.Crashed, space.OK, space.Crashed} {
			out := evaluate(t, p, fmt.Sprintf("n=%d", []int{1, 2, 3, 4, 2}[i]))
			if out.Status != status || status == space.Crashed && out.Reason != "the command removed the directory that it runs in" {
				t.Errorf("exact %s, trial %d: %+v", exact, i, out)
			}
			if err := first.Check(t.Context(), 1); err != nil {
				t.Errorf("exact %s: after trial %d: %v", exact, i, err)
			}
		}
		if score, err := first.Score(t.Context(), 0); err != nil || score.Cost != 1 {
			t.Errorf("exact %s: %v, %v", exact, score, err)
		}
	}
}

// TestCommandStartsAfresh runs commands that find out what earlier runs left in their own directory.
func TestCommandStartsAfresh(t *testing.T) {
	// Where costs are not exact, candidates run alone. One of each kind of change shows that they start afresh too.
	inexact := []string{"output of the build", "changed file", "removed directory", "wrong later"}
	for _, test := range []struct{ name, files, build, run, reason string }{
		{"output of the build", "", "echo 7 > in", "cat in", ""},
		{"new file", "", "echo 7 > in", "test ! -e out || exit 1; cp in out; cat out", ""},
		{"new directory", "", "mkdir d; echo 7 > d/in", "test ! -e d/e || exit 1; mkdir -p d/e/f; cp d/in d/e/f/out; cat d/e/f/out", ""},
		{"new file outside", "", "echo 7 > ../in", "test ! -e ../out || exit 1; cp ../in ../out; cat ../out", ""},
		{"changed file outside", "", "echo 7 > ../in", "test $(cat ../in) = 7 || exit 1; cat ../in; echo 8 > ../in", ""},
		{"new link", "", "mkdir d; echo 7 > d/in", "test ! -e l || exit 1; ln -s d l; cat l/in", ""},
		{"changed file", "", "echo 7 > in", "test $(cat in) = 7 || exit 1; cat in; echo 8 > in", ""},
		{"changed file of the same size and time", "", "echo 7 > in", "test $(cat in) = 7 || exit 1; cat in; cp -p in old; echo 8 > in; touch -r old in", ""},
		{"another file of the same size and time", "", "echo 7 > in", "test $(cat in) = 7 || exit 1; cat in; echo 8 > new; touch -r in new; mv -f new in", ""},
		{"removed file", "", "echo 7 > in", "cat in && rm in", ""},
		{"removed directory", "", "mkdir d; echo 7 > in", "rmdir d && cat in", ""},
		{"changed mode", "", "echo 7 > in", "test ! -x in || exit 1; cat in; chmod +x in", ""},
		{"file of the kernel", "data", "'true'", "cat data && rm data", ""},
		{"wrong later", "", "echo 7 > in", "cat in; test -e '{{here}}/first' || { touch '{{here}}/first'; cp in out; }", "in a later run: the check ended with status"},
	} {
		for _, exact := range []string{"true", "false"} {
			if exact == "false" && !stress && !slices.Contains(inexact, test.name) {
				continue
			}
			check := "'true'"
			if test.reason != "" {
				check = "cmp in out"
			}
			k, _ := load(t, `
space: {parameters: [{name: n, type: int, from: 1, to: 2}]}
command:
  files: [`+test.files+`]
  build: `+test.build+`
  run: |
    `+strings.ReplaceAll(test.run, "'{{here}}/first'", `"$HERE/first"`)+`
  check: `+check+`
  environment: {HERE: "{{here}}"}
  metric: {repeats: 2, exact: `+exact+`}
`, "data", "7\n")
			out := evaluate(t, problem(t, k, ""), "n=1")
			switch {
			case test.reason == "" && (out.Status != space.OK || out.Cost != 7):
				t.Errorf("%s, exact %s: %+v", test.name, exact, out)
			case test.reason != "" && (out.Status != space.WrongAnswer || !strings.Contains(out.Reason, test.reason)):
				t.Errorf("%s, exact %s: %+v", test.name, exact, out)
			}
		}
	}
}

// TestCommandTemporaryFiles: what a run leaves among its temporary files and caches is there for its check, and not for the next
// run of any candidate.
func TestCommandTemporaryFiles(t *testing.T) {
	for _, place := range []string{"", "files: [],"} {
		for _, metric := range []string{"{exact: true, repeats: 2}", "{repeats: 2}"} {
			k, _ := load(t, `
space: {parameters: [{name: n, type: int, from: 1, to: 2}]}
command:
  {`+place+` build: 'test "$TMPDIR" = "$OUTSIDE"', metric: `+metric+`,
   run: 'for d in "$TMPDIR" "$XDG_CACHE_HOME"; do test -d "$d" && test ! -e "$d/kept" || exit 1; echo {{n}} > "$d/kept"; done; echo {{n}}',
   check: 'test $(cat "$TMPDIR/kept" "$XDG_CACHE_HOME/kept" | tr -d "\n") = {{n}}{{n}}'}
`)
			t.Setenv("OUTSIDE", os.Getenv("TMPDIR"))
			p := problem(t, k, "")
			for n := range 2 {
				if out := evaluate(t, p, fmt.Sprintf("n=%d", n+1)); out.Status != space.OK || out.Cost != float64(n+1) {
					t.Errorf("%s %s: %+v", place, metric, out)
				}
			}
		}
	}
}

// TestCommandCompareChecks compares a candidate that is right in its first runs only, in its own and in the shared directory.
func TestCommandCompareChecks(t *testing.T) {
	for _, place := range []string{"files: []", "directory: ."} {
		k, dir := load(t, `
space: {parameters: [{name: n, type: enum, values: [4, 2, 3]}]}
command:
  `+place+`
  run: 'rm -f out; echo {{n}}; test {{n}} = 2 && test -e "$HERE/late" || echo {{n}} > out'
  check: test -e out
  environment: {HERE: "{{here}}"}
`)
		p := problem(t, k, "")
		var all []kernels.Candidate
		for i := range 3 {
			c, err := p.Build(t.Context(), p.Space().At(uint64(i)))
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Check(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
			all = append(all, c)
		}
		if err := os.WriteFile(filepath.Join(dir, "late"), nil, 0o666); err != nil {
			t.Fatal(err)
		}
		f, err := p.Traits().Compare(t.Context(), all[0], all[1:], kernels.Series{Limit: 300 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		r := kernels.AsRejection(f.Comparisons[0].Err)
		if f.Best != 1 || r == nil || r.Status != space.WrongAnswer || !strings.Contains(r.Reason, "in a later run") || f.Comparisons[1].Err != nil {
			t.Errorf("%s: %+v", place, f)
		}
	}
}

// TestCommandLeavesOutWork runs a command that is fast and wrong in one run, which is neither the first nor the last, in a search and in the
// final measurement.
func TestCommandLeavesOutWork(t *testing.T) {
	for _, c := range []struct {
		wrong  int    // the run
		cost   string // what it prints there
		search bool   // whether it is found there
		final  bool   // whether it is found in the final measurement
	}{
		{2, "0.5", true, false},
		{5, "0.5", false, true},
		{0, "0.5", false, false},
		{5, "1.99", false, false}, // it is no faster than noise makes others
	} {
		k, _ := load(t, `
space: {parameters: [{name: n, type: enum, values: [4, 2]}]}
command:
  files: []
  run: |
    echo >> "$HERE/runs{{n}}"
    if [ {{n}} = 2 ] && [ $(wc -l < "$HERE/runs{{n}}") = `+strconv.Itoa(c.wrong)+` ]; then echo `+c.cost+`; else echo {{n}} | tee out; fi
  check: test -e out
  environment: {HERE: "{{here}}"}
  metric: {repeats: 3}
`)
		p := problem(t, k, "")
		base, err := p.Build(t.Context(), p.Space().At(0))
		if err == nil {
			err = base.Check(t.Context(), 1)
		}
		if err != nil {
			t.Fatal(err)
		}
		other, err := p.Build(t.Context(), p.Space().At(1))
		if err != nil {
			t.Fatal(err)
		}
		found := func(err error) bool {
			r := kernels.AsRejection(err)
			return r != nil && r.Status == space.WrongAnswer && strings.Contains(r.Reason, "in a later run: the check ended with status 1")
		}
		if err := other.Check(t.Context(), 1); found(err) != c.search || err != nil && !c.search {
			t.Errorf("wrong in run %d: %v", c.wrong, err)
		}
		if c.search {
			continue
		}
		f, err := p.Traits().Compare(t.Context(), base, []kernels.Candidate{other}, kernels.Series{Limit: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Comparisons[0].Err; found(err) != c.final || err != nil && !c.final {
			t.Errorf("wrong in run %d, which costs %s: %v", c.wrong, c.cost, err)
		}
	}
}

// TestCommandWithoutDirectory says that the user's directory is missing.
func TestCommandWithoutDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "work")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	k, _ := load(t, "space: {parameters: [{name: n, type: bool}]}\ncommand: {directory: '"+dir+"', run: echo 1}\n")
	p := problem(t, k, "")
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	c, err := p.Build(t.Context(), p.Space().At(0))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Check(t.Context(), 1); err == nil || kernels.AsRejection(err) != nil || !strings.Contains(err.Error(), "where the commands of the kernel run: make it, and resume the run") {
		t.Errorf("got %v", err)
	}
}

// TestMetricFileStays: a file of the user stays where its size is the metric, whether or not runs of the command write it.
func TestMetricFileStays(t *testing.T) {
	for _, run := range []string{"'true'", "echo more >> mine"} {
		k, dir := load(t, "space: {parameters: [{name: n, type: bool}]}\ncommand: {run: "+run+", metric: {from: size, file: mine}}\n")
		mine := filepath.Join(dir, "mine")
		if err := os.WriteFile(mine, []byte("the only copy\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		p := problem(t, k, "")
		e := &kernels.Evaluator{Problem: p}
		for i := range 2 {
			if _, err := e.Evaluate(t.Context(), space.Trial{Proposal: space.Proposal{Point: p.Space().At(uint64(i))}}); err != nil {
				t.Fatal(err)
			}
		}
		if text, err := os.ReadFile(mine); err != nil || !strings.HasPrefix(string(text), "the only copy\n") {
			t.Errorf("after %s: %q, %v", run, text, err)
		}
	}
}

// TestMetricFolder: a folder in place of the file whose size is the metric has no size that counts, and ends the run, which could not tell one
// run of the command from the next.
func TestMetricFolder(t *testing.T) {
	k, _ := load(t, "space: {parameters: [{name: n, type: bool}]}\ncommand: {run: mkdir -p d/x, metric: {from: size, file: d}}\n")
	p := problem(t, k, "")
	e := &kernels.Evaluator{Problem: p}
	out, err := e.Evaluate(t.Context(), space.Trial{Proposal: space.Proposal{Point: p.Space().At(0)}})
	if err != nil || out.Status != space.WrongAnswer || !strings.HasPrefix(out.Reason, "d is a folder, whose size says nothing: name a file") {
		t.Errorf("got %+v, %v", out, err)
	}
	if _, err := e.Evaluate(t.Context(), space.Trial{Proposal: space.Proposal{Point: p.Space().At(1)}}); err == nil || !strings.Contains(err.Error(), "the file d of the metric: remove ") {
		t.Errorf("got %v", err)
	}
}

func TestCommandCancelled(t *testing.T) {
	k, _ := load(t, "space: {parameters: [{name: n, type: bool}]}\ncommand: {run: sleep 400}\n")
	p := problem(t, k, "")
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	e := &kernels.Evaluator{Problem: p}
	start := time.Now()
	if _, err := e.Evaluate(ctx, space.Trial{Proposal: space.Proposal{Point: p.Space().At(0)}}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if d := time.Since(start); d > 10*time.Second {
		t.Errorf("it took %v", d)
	}
	if left := sleepers(t); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
}

func TestCommandScript(t *testing.T) {
	k, dir := load(t, `
space: {parameters: [{name: n, type: int, from: 1, to: 3}, {name: m, type: int, from: 4, to: 5, when: n > 1}]}
command: {build: 'echo "it''s {{n}}" > made', run: [sh, -c, 'cat made; echo "$V" "$1" "$2"', name, 'a b{{n}}', '-m{{m}}'], environment: {V: "x'y"}, metric: {pattern: '[0-9]'}}
`)
	p := problem(t, k, "")
	for _, key := range []string{"n=1", "n=2 m=5"} {
		point, err := p.Space().Parse(key)
		if err != nil {
			t.Fatal(err)
		}
		c, err := p.Build(t.Context(), point)
		if err != nil {
			t.Fatal(err)
		}
		artifacts, err := c.Artifacts()
		if err != nil || len(artifacts) != 1 || artifacts[0].Name != "command.sh" {
			t.Fatalf("%v, %v", artifacts, err)
		}
		var script bytes.Buffer
		if err := artifacts[0].Write(&script); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("sh")
		cmd.Stdin = &script
		text := script.String()
		out, err := cmd.CombinedOutput()
		want := map[string]string{"n=1": "it's 1\nx'y a b1 \n", "n=2 m=5": "it's 2\nx'y a b2 -m5\n"}[key]
		if err != nil || string(out) != want {
			t.Errorf("%s: got %q, %v, want %q\n%s", key, out, err, want, text)
		}
		if !strings.HasPrefix(text, "#!/bin/sh\n# "+key+"\nset -e\ncd "+dir) {
			t.Errorf("the script is\n%s", text)
		}
	}
}

func TestCommandCompare(t *testing.T) {
	k, _ := load(t, `
space: {parameters: [{name: n, type: enum, values: [4, 2, 3, 0]}]}
command: {run: 'test {{n}} != 0 && echo {{n}}', metric: {repeats: 1}}
`)
	p := problem(t, k, "")
	var all []kernels.Candidate
	for _, n := range []string{"4", "2", "3", "0"} {
		point, _ := p.Space().Parse("n=" + n)
		c, err := p.Build(t.Context(), point)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	f, err := p.Traits().Compare(t.Context(), all[0], all[1:], kernels.Series{Limit: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	slow, _ := load(t, `
space: {parameters: [{name: n, type: enum, values: [4, 2, 3]}]}
command: {run: 'sleep 0.1; echo {{n}}'}
`)
	sp := problem(t, slow, "")
	var turtles []kernels.Candidate
	for i := range 3 {
		c, err := sp.Build(t.Context(), sp.Space().At(uint64(i)))
		if err != nil {
			t.Fatal(err)
		}
		turtles = append(turtles, c)
	}
	late, err := sp.Traits().Compare(t.Context(), turtles[0], turtles[1:], kernels.Series{Limit: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if got := late.Comparisons; late.Best != 0 || got[0].Ratio != 2 || got[1].Err != nil || got[1].Pairs < 1 || got[0].Pairs < 1 || got[0].Pairs > 2 {
		t.Errorf("without time: %+v", late)
	}
	c := f.Comparisons
	if f.Best != 0 || c[0].Ratio != 2 || c[0].Low != 2 || c[0].Indistinct || c[0].Baseline != 4 || c[0].Cost != 2 || c[1].Indistinct || kernels.AsRejection(c[2].Err) == nil {
		t.Errorf("got %+v", f)
	}
}

// TestSaved opens the copy of a kernel after the original has gone.
func TestSaved(t *testing.T) {
	k, dir := load(t, `
kernel: {name: saved}
space: {parameters: [{name: n, type: int, from: 1, to: 3}]}
command: {files: [a.sh], templates: [b.txt], run: ./a.sh, metric: {exact: true}}
`, "a.sh", "#!/bin/sh\ncat b.txt\n", "b.txt", "{{n}}\n")
	run := t.TempDir()
	if err := k.Save(run); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	again, err := Open(run)
	if err != nil {
		t.Fatal(err)
	}
	defer again.On(native.NewHost(native.HostOptions{})).Close()
	a, b := k.Info(), again.Info()
	if a.Name != b.Name || a.Version != b.Version || a.Unit != b.Unit || a.Exact != b.Exact {
		t.Errorf("got %+v, want %+v", b, a)
	}
	if out := evaluate(t, problem(t, again, ""), "n=2"); out.Status != space.OK || out.Cost != 2 {
		t.Errorf("got %+v", out)
	}
	// A run of something else has none; one that was tampered with is refused.
	if _, err := Open(t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	entries, err := os.ReadDir(filepath.Join(run, savedIn.Folder))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if want := []string{"0-kernel.yaml", "1-a.sh", "2-b.txt", "kernel.json"}; !slices.Equal(names, want) {
		t.Errorf("got %v, want %v", names, want)
	}
	if err := os.WriteFile(filepath.Join(run, savedIn.Folder, "1-a.sh"), []byte("x"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(run); err == nil || !strings.Contains(err.Error(), "1-a.sh was changed since it was saved") {
		t.Errorf("got %v", err)
	}
	list, err := os.ReadFile(filepath.Join(run, savedIn.ListPath()))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		`{"format": 9}`: "the saved kernel cannot be read: kernel.json has format 9, and this tune reads format 1",
		`{"format": 1}`: "the saved kernel cannot be read: kernel.json: field files is empty",
		strings.Replace(string(list), `"name": "b.txt"`, `"name": "c.txt"`, 1):    "command.templates[0]: the saved kernel has no file b.txt",
		strings.Replace(string(list), `"saved": "2-b.txt"`, `"saved": "../x"`, 1): "kernel.json: field files[2].saved: ",
	} {
		if err := errors.Join(os.WriteFile(filepath.Join(run, savedIn.Folder, "1-a.sh"), []byte("#!/bin/sh\ncat b.txt\n"), 0o666), os.WriteFile(filepath.Join(run, savedIn.ListPath()), []byte(text), 0o666)); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(run); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if err := k.Save(filepath.Join(run, savedIn.ListPath())); err == nil || !strings.HasPrefix(err.Error(), "cannot save the kernel: mkdir ") {
		t.Errorf("saved in a file: %v", err)
	}
	alone, err := Open(saveOf(t, k))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := alone.Problem(kernels.Shape{}); err == nil || err.Error() != "kernel saved has no machine to run on: see user.Kernel.On" {
		t.Errorf("a kernel without a machine: %v", err)
	}
}

// saveOf saves a kernel in a folder of its own.
func saveOf(t *testing.T, k *Kernel) string {
	t.Helper()
	run := t.TempDir()
	if err := k.Save(run); err != nil {
		t.Fatal(err)
	}
	return run
}

// TestKilled kills a process in the middle of a command: nothing that the command has started outlives it.
func TestKilled(t *testing.T) {
	_, dir := load(t, "space: {parameters: [{name: n, type: bool}]}\ncommand: {run: 'setsid sleep 400 & echo x > started; sleep 400; sleep 400'}\n")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childKernel+"="+filepath.Join(dir, "kernel.yaml"))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); len(sleepers(t)) < 2; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the command was not started")
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	for deadline := time.Now().Add(10 * time.Second); len(sleepers(t)) > 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("processes are left: %v", sleepers(t))
		}
	}
}

// childKernel is the variable that makes this binary evaluate the kernel of a file.
const childKernel = "USER_TEST_KERNEL"

func evaluateChild(path string) {
	k, err := Load(path)
	if err != nil {
		panic(err)
	}
	shape, _ := kernels.ParseShape(k.Info().Shape, "")
	p, err := k.On(native.NewHost(native.HostOptions{})).Problem(shape)
	if err != nil {
		panic(err)
	}
	e := &kernels.Evaluator{Problem: p}
	e.Evaluate(context.Background(), space.Trial{Proposal: space.Proposal{Point: p.Space().Default()}})
}

// TestStale removes what a process that is gone has left, and nothing else.
func TestStale(t *testing.T) {
	dir := t.TempDir()
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{
		scratchPrefix + strconv.Itoa(gone.Process.Pid) + "-1": false, scratchPrefix + strconv.Itoa(os.Getpid()) + "-1": true,
		scratchPrefix + "x": true, "other": true,
	}
	for name := range names {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	files.RemoveStale(dir, scratchPrefix)
	for name, want := range names {
		if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
