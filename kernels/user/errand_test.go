package user

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tune/kernels"
	"tune/space"
)

// history returns the lines that commands have written to a file.
func history(t *testing.T, dir, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(strings.Fields(string(text)), " ")
}

// TestErrands: setup runs once, before everything; prepare before each run, warm-ups included; cleanup once, at the end.
func TestErrands(t *testing.T) {
	for _, place := range []string{"", "files: [data],"} {
		k, dir := load(t, `
kernel: {shape: {k: 5}}
space: {parameters: [{name: n, type: int, from: 1, to: 2}]}
command:
  {`+place+` environment: {LOG: "{{here}}/log"},
   setup: 'echo setup{{k}} >> "$LOG"; echo {{k}} > made; cat data > copy; test "$PWD" = "$TUNE_SETUP"; test -d "$TMPDIR"',
   build: 'echo build{{n}} >> "$LOG"', prepare: 'echo p{{n}} >> "$LOG"; echo {{n}} > "$TMPDIR/ready"',
   run: [sh, -c, 'echo r >> "$LOG"; cat "$TUNE_SETUP/copy" "$TMPDIR/ready" > "$TMPDIR/out"; cat "$TUNE_SETUP/made"'],
   check: 'test "$(cat "$TMPDIR/out" | tr -d "\n")" = 7{{n}}',
   cleanup: 'echo cleanup{{k}} >> "$LOG"; test "$(cat made)" = 5', warmup: 2, metric: {repeats: 2}}
`, "data", "7\n")
		p := problem(t, k, "")
		if err := p.Traits().Examine(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"n=1", "n=2"} {
			if out := evaluate(t, p, key); out.Status != space.OK || out.Cost != 5 {
				t.Errorf("place %q, %s: %+v", place, key, out)
			}
		}
		const each = "p1 r p1 r p1 r p1 r "
		want := "setup5 build1 " + each + "build2 " + strings.ReplaceAll(each, "1", "2")
		if err := k.Close(); err != nil {
			t.Error(err)
		}
		if got := history(t, dir, "log"); got != want+"cleanup5" {
			t.Errorf("place %q: got\n%s, want\n%scleanup5", place, got, want)
		}
		if err := k.Close(); err != nil || history(t, dir, "log") != want+"cleanup5" {
			t.Errorf("place %q: closed twice: %v, %s", place, err, history(t, dir, "log"))
		}
	}
}

// TestErrandsOfNoRun: where nothing ran, there is nothing to clean up.
func TestErrandsOfNoRun(t *testing.T) {
	k, dir := load(t, "space: {parameters: [{name: n, type: bool}]}\ncommand: {run: echo 1, setup: echo s >> log, cleanup: echo c >> log}\n")
	problem(t, k, "")
	if err := k.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "log")); err == nil {
		t.Error("a command has run")
	}
}

// TestErrandsFail: a setup that fails is no candidate's outcome and names its field, and cleanup runs after it all the same. So does it
// after a run that was interrupted. A cleanup that fails is an error of Close.
func TestErrandsFail(t *testing.T) {
	for _, test := range []struct{ name, command, setup, closing string }{
		{"setup", "setup: 'echo 1; echo 2; echo no room; exit 4'", "command.setup ended with status 4: no room (before it: 1 | 2)", ""},
		{"slow setup", "setup: sleep 400, limits: {setup: 200ms}", "command.setup ran past its limit of 200ms", ""},
		{"setup without a program", "setup: [./no-such-program]", "command.setup cannot be run", ""},
		{"cleanup", "setup: 'true', cleanup: 'echo c >> {{here}}/log; echo stuck; exit 2'", "", "command.cleanup ended with status 2: stuck"},
		{"slow cleanup", "cleanup: 'echo c >> {{here}}/log; sleep 400', limits: {cleanup: 200ms}", "", "command.cleanup ran past its limit of 200ms"},
	} {
		for _, place := range []string{"", "files: [], "} {
			command := place + test.command
			if test.closing == "" {
				command += ", cleanup: 'echo c >> {{here}}/log'"
			}
			k, dir := load(t, "space: {parameters: [{name: n, type: bool}]}\ncommand: {run: echo 1, "+command+"}\n")
			p := problem(t, k, "")
			e := &kernels.Evaluator{Problem: p}
			out, err := e.Evaluate(t.Context(), space.Trial{Proposal: space.Proposal{Point: p.Space().At(0)}})
			failed, _ := errors.AsType[*SetupError](err)
			switch {
			case test.setup == "" && (err != nil || out.Status != space.OK):
				t.Errorf("%s: %+v, %v", test.name, out, err)
			case test.setup != "" && (failed == nil || !strings.HasPrefix(failed.Error(), test.setup)):
				t.Errorf("%s: got %v, want %s", test.name, err, test.setup)
			}
			if err := k.Close(); test.closing == "" && err != nil || test.closing != "" && (err == nil || !strings.HasPrefix(err.Error(), test.closing)) {
				t.Errorf("%s: Close returned %v, want %q", test.name, err, test.closing)
			}
			if got := history(t, dir, "log"); got != "c" {
				t.Errorf("%s: cleanup ran as %q", test.name, got)
			}
		}
	}
	k, dir := load(t, "space: {parameters: [{name: n, type: bool}]}\ncommand: {run: 'echo r >> log; sleep 400', cleanup: echo c >> log}\n")
	p := problem(t, k, "")
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	e := &kernels.Evaluator{Problem: p}
	if _, err := e.Evaluate(ctx, space.Trial{Proposal: space.Proposal{Point: p.Space().At(0)}}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if err := k.Close(); err != nil || history(t, dir, "log") != "r c" {
		t.Errorf("after an interruption: %v, %s", err, history(t, dir, "log"))
	}
	if left := sleepers(t); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
}

// TestPrepare: what prepares a run is not measured, runs in the same place, and costs a candidate that makes it fail.
func TestPrepare(t *testing.T) {
	for _, test := range []struct {
		name, command string
		status        space.Status
		reason        string
	}{
		{"not measured", "{prepare: sleep 0.5, run: 'true', warmup: 1, metric: {from: time, repeats: 1}}", space.OK, ""},
		{"starts afresh", "{files: [], prepare: 'test ! -e in && echo 7 > in', run: cat in, metric: {repeats: 3}}", space.OK, ""},
		{"fails", "{prepare: 'echo no >&2; exit 3', run: echo 1}", space.Crashed, "command.prepare ended with status 3: no"},
		{"is slow", "{prepare: sleep 400, run: echo 1, limits: {prepare: 200ms}}", space.Timeout, "command.prepare ran past its limit of 200ms"},
		{"fails later", "{prepare: 'echo x >> log; test $(wc -l < log) -lt 3', run: echo 1, warmup: 1}", space.Crashed, "command.prepare ended with status 1"},
		{"a warm-up fails", "{run: 'test -e log || { touch log; exit 5; }; echo 1', warmup: 1}", space.Crashed, "the command ended with status 5"},
	} {
		k, _ := load(t, "space: {parameters: [{name: n, type: int, from: 1, to: 2}]}\ncommand: "+test.command+"\n")
		out := evaluate(t, problem(t, k, ""), "n=1")
		if out.Status != test.status || out.Reason != test.reason || out.Cost > 0.4e9 {
			t.Errorf("%s: %+v", test.name, out)
		}
	}
}

// TestErrandsStartAfresh: what a run leaves in the directory of setup is gone before the next one, and where it changes what setup made,
// setup runs again. Otherwise a program that keeps its results beside its input would be measured without its work.
func TestErrandsStartAfresh(t *testing.T) {
	for _, exact := range []string{"true", "false"} {
		for run, want := range map[string]string{
			`test ! -e "$TUNE_SETUP/kept" && touch "$TUNE_SETUP/kept" && cat "$TUNE_SETUP/made"`: "s",
			`cat "$TUNE_SETUP/made"; echo 9 > "$TUNE_SETUP/made"`:                                "s s s s",
			`cat "$TUNE_SETUP/made"; rm "$TUNE_SETUP/made"`:                                      "s s s s",
		} {
			k, dir := load(t, "space: {parameters: [{name: n, type: int, from: 1, to: 2}]}\ncommand:\n  files: []\n  setup: echo s >> {{here}}/log; echo 7 > made\n  run: '"+run+
				"'\n  metric: {repeats: 2, exact: "+exact+"}\n")
			p := problem(t, k, "")
			for _, key := range []string{"n=1", "n=2"} {
				if out := evaluate(t, p, key); out.Status != space.OK || out.Cost != 7 {
					t.Errorf("%s, exact %s, %s: %+v", run, exact, key, out)
				}
			}
			if got := history(t, dir, "log"); got != want {
				t.Errorf("%s, exact %s: setup ran as %q, want %q", run, exact, got, want)
			}
		}
	}
}

// TestErrandsComeBack: where the directory of setup has gone, setup runs again.
func TestErrandsComeBack(t *testing.T) {
	k, dir := load(t, `
space: {parameters: [{name: n, type: int, from: 1, to: 3}]}
command:
  files: []
  setup: echo s >> {{here}}/log; echo 7 > made
  run: 'cat "$TUNE_SETUP/made"; if test {{n}} = 1; then rm -rf "$TUNE_SETUP"; fi'
  metric: {repeats: 1}
`)
	p := problem(t, k, "")
	for _, key := range []string{"n=2", "n=1", "n=3"} {
		if out := evaluate(t, p, key); out.Status != space.OK || out.Cost != 7 {
			t.Errorf("%s: %+v", key, out)
		}
	}
	if got := history(t, dir, "log"); got != "s s" {
		t.Errorf("setup ran as %q", got)
	}
}

// TestOtherMetrics: further numbers are medians of the same runs, and one that is missing is a wrong answer.
func TestOtherMetrics(t *testing.T) {
	const file = `
space: {parameters: [{name: n, type: int, from: 1, to: 2}]}
command:
  files: []
  run: 'echo x >> "$LOG"; i=$(wc -l < "$LOG"); echo "peak=$i"; echo warn $((2 * i)) >&2; head -c $((100 * i)) /dev/zero > out; echo 9'
  environment: {LOG: "{{here}}/log"}
  metric: {repeats: 3}
  metrics:
    peak: {pattern: 'peak=([0-9]+)'}
    warned: {from: stderr, pattern: '[0-9]+'}
    bytes: {from: size, file: out}
    took: {from: time}
`
	k, _ := load(t, file)
	p := problem(t, k, "")
	out := evaluate(t, p, "n=1")
	for name, want := range map[string]float64{"peak": 2, "warned": 4, "bytes": 200, "runs": 3} {
		if got, _ := out.Metric(name); got != want {
			t.Errorf("%s is %v, want %v (%+v)", name, got, want, out)
		}
	}
	if took, _ := out.Metric("took"); out.Cost != 9 || took < 1e5 {
		t.Errorf("%+v", out)
	}
	var all []kernels.Candidate
	for range 2 {
		c, err := p.Build(t.Context(), p.Space().At(uint64(len(all))))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	f, err := p.Traits().Compare(t.Context(), all[0], all[1:], kernels.Series{Limit: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if peak, _ := space.FindMetric(f.Comparisons[0].Metrics, "peak"); peak < 4 {
		t.Errorf("%+v", f)
	}
	k, _ = load(t, strings.Replace(file, "peak=([", "peek=([", 1))
	if out := evaluate(t, problem(t, k, ""), "n=1"); out.Status != space.WrongAnswer || !strings.HasPrefix(out.Reason, "command.metrics.peak: the pattern peek=([0-9]+) matches nothing") {
		t.Errorf("%+v", out)
	}
}

func TestOutliers(t *testing.T) {
	for _, test := range []struct {
		costs []float64
		n     int
		first bool
	}{
		{[]float64{10, 10.1, 9.9, 10}, 0, false},
		{[]float64{30, 10, 10.1, 9.9}, 0, false}, // too few
		{[]float64{10, 10.1, 9.9, 10, 10.2, 9.8}, 0, false},
		{[]float64{10, 11, 12, 13, 14, 15}, 0, false},
		{[]float64{30, 10, 10.1, 9.9, 10, 10.1}, 1, true},
		{[]float64{10, 30, 10.1, 2, 10, 10.1}, 2, false},
		{[]float64{2, 10, 10.1, 9.9, 10, 10.1}, 1, false},
		{[]float64{10, 10, 10, 10, 10.5}, 0, false}, // too near
		{[]float64{10, 10, 10, 10, 11.5}, 1, false},
	} {
		if n, first := outliers(test.costs); n != test.n || first != test.first {
			t.Errorf("%v: %d, %v", test.costs, n, first)
		}
	}
	k, _ := load(t, `
space: {parameters: [{name: n, type: int, from: 1, to: 2}]}
command: {run: 'test -e cache && echo 10 || { touch cache; echo 90; }', metric: {repeats: 6}}
`)
	out := evaluate(t, problem(t, k, ""), "n=1")
	if n, _ := out.Metric(MetricOutliers); n != 1 || out.Cost != 10 || !strings.Contains(OutlierAdvice(out.Metrics), "warmup: 1") {
		t.Errorf("%+v", out)
	}
	if text := OutlierAdvice([]space.Metric{{Name: MetricOutliers, Value: 2}}); !strings.Contains(text, "the machine was busy") {
		t.Error(text)
	}
	if text := OutlierAdvice(nil); text != "" {
		t.Error(text)
	}
}

// TestShowOutput: what commands print is shown with the field or the point that it comes from.
func TestShowOutput(t *testing.T) {
	k, _ := load(t, "space: {parameters: [{name: n, type: int, from: 1, to: 2}]}\ncommand: {setup: echo ready, run: 'echo slow >&2; echo 3', check: 'true', metric: {repeats: 1}}\n")
	var text strings.Builder
	if !k.ShowOutput(&text) {
		t.Error("a command has no output")
	}
	if out := evaluate(t, problem(t, k, ""), "n=1"); out.Status != space.OK {
		t.Error(out)
	}
	const want = `command.setup printed:
ready
the command at n=1 printed:
3
the command at n=1 printed on standard error:
slow
the check at n=1 printed nothing
`
	if text.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &text, want)
	}
}

// TestErrandsInScript: the script of a candidate sets up and prepares by itself.
func TestErrandsInScript(t *testing.T) {
	for _, place := range []string{"", "files: [data], "} {
		k, dir := load(t, `
space: {parameters: [{name: n, type: int, from: 1, to: 2}]}
command: {`+place+`setup: cp data made, build: 'echo {{n}} > built', prepare: cat built > ready, run: 'cat "$TUNE_SETUP/made" ready', metric: {pattern: '[0-9]+'}}
`, "data", "7\n")
		p := problem(t, k, "")
		c, err := p.Build(t.Context(), p.Space().At(1))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Check(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		files, err := c.Artifacts()
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		if err := files[0].Write(&text); err != nil {
			t.Fatal(err)
		}
		sh := exec.Command("sh", "-c", text.String())
		sh.Dir = t.TempDir()
		if err := os.WriteFile(filepath.Join(sh.Dir, "data"), []byte("7\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		if out, err := sh.CombinedOutput(); err != nil || string(out) != "7\n2\n" {
			t.Errorf("place %q in %s: %q, %v\n%s", place, dir, out, err, &text)
		}
	}
}

// nearly is a kernel of which n=4 costs what n=3 does but for a millionth, and n=9 is noise.
const nearly = `
space: {parameters: [{name: n, type: enum, values: [3, 4, 2, 9]}]}
command:
  run: 'echo x >> runs{{n}}; i=$(wc -l < runs{{n}}); case {{n}} in 4) echo 3.00000$((i % 2));; 9) echo $i;; *) echo {{n}}.0000$((i % 2));; esac'
  check: 'true'
  metric: {within: 0.1%, unit: instructions}
`

// TestWithin: a metric that is nearly exact needs two runs, in the search and in each series at the end. Points that differ by less
// than the share are equal, and one whose runs differ by more is noise.
func TestWithin(t *testing.T) {
	k, dir := load(t, nearly)
	p := problem(t, k, "")
	if k.Info().Exact {
		t.Error("it counts as exact")
	}
	for _, n := range []string{"3", "4", "2"} {
		out := evaluate(t, p, "n="+n)
		if runs, _ := out.Metric("runs"); out.Status != space.OK || runs != 2 {
			t.Errorf("n=%s: %+v", n, out)
		}
	}
	const noise = "noise: runs of one point gave 1 and 2, which differ by 66.7 %, and metric.within allows 0.1 %"
	if out := evaluate(t, p, "n=9"); out.Status != space.Invalid || out.Reason != noise {
		t.Errorf("%+v", out)
	}
	var all []kernels.Candidate
	for i := range 4 {
		c, err := p.Build(t.Context(), p.Space().At(uint64(i)))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	f, err := p.Traits().Compare(t.Context(), all[0], all[1:], kernels.Series{Limit: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	c := f.Comparisons
	if r := kernels.AsRejection(c[2].Err); r == nil || !strings.HasPrefix(r.Reason, "noise: ") {
		t.Errorf("noise was compared: %+v", c[2])
	}
	if c[0].Faster() || c[0].Indistinct || c[0].Low > 1 || c[0].High < 1 || c[0].Pairs != 2 {
		t.Errorf("what is equal within the share: %+v", c[0])
	}
	if !c[1].Faster() || f.Best != 1 || c[1].Indistinct || c[1].Low < 1.49 || c[1].High > 1.51 || c[1].Ratio < 1.499 || c[1].Ratio > 1.501 {
		t.Errorf("what is faster: %+v", c[1])
	}
	if got := strings.Count(history(t, dir, "runs2"), "x"); got != 4 {
		t.Errorf("n=2 ran %d times, want 2 in the search and 2 in the comparison", got)
	}
	if _, err := p.Traits().Compare(t.Context(), all[3], all[1:2], kernels.Series{Limit: time.Minute}); kernels.AsRejection(err) == nil {
		t.Errorf("the noise of the baseline: %v", err)
	}
}

func TestReadErrands(t *testing.T) {
	for _, test := range []struct{ new, want string }{
		{"setup: 'x {{TILE}}'", "my.yaml:6:10: command.setup: {{TILE}} is a parameter: setup runs once for all points, so that only constants of the shape and {{here}} have a value there"},
		{"cleanup: [rm, '{{here}}', '{{TILE}}']", "my.yaml:6:12: command.cleanup: {{TILE}} is a parameter: cleanup runs once for all points, so that only constants of the shape and {{here}} have a value there"},
		{"prepare: 'x {{TILES}}'", `my.yaml:6:15: command.prepare: {{TILES}}: there is no parameter and no constant of this name (did you mean "TILE"?)`},
		{"prepare: ''", "my.yaml:6:12: command.prepare: want a command"},
		{"warmup: -1", "my.yaml:6:11: command.warmup: want a whole number from 0 to 1000"},
		{"limits: {setup: 5}", "my.yaml:6:19: command.limits.setup: want a time with a unit, from 1ms to 24h, such as 30s or 2m"},
		{"metric: {within: 0.001}", "my.yaml:6:20: command.metric.within: want a share above 0% and up to 10%, such as 0.1%"},
		{"metric: {within: 20%}", "my.yaml:6:20: command.metric.within: want a share above 0% and up to 10%, such as 0.1%"},
		{"metric: {within: 1%, exact: true}", "my.yaml:6:20: command.metric.within: the metric is exact: leave one of the two out"},
		{"metric: {within: 1%, from: cpu}", "my.yaml:6:20: command.metric.within: times are not that steady: leave within out"},
		{"metric: {within: 1%, repeats: 1}", "my.yaml:6:33: command.metric.repeats: one run does not show how far apart the numbers are, which within needs: want 2 or more"},
		{"metrics: {runs: {from: time}}", `my.yaml:6:13: command.metrics.runs: "runs" cannot name a metric: want letters, digits and _, but none of tune's own names, which are runs, spread, value, outliers, slow_first, within`},
		{"metrics: {peak: {from: time, unit: s}}", `my.yaml:6:32: command.metrics.peak.unit: a metric has no field "unit": want one of from, pattern, json, file, goal`},
		{"metrics: {peak: {from: time, goal: most}}", `my.yaml:6:38: command.metrics.peak.goal: "most": want one of minimise, maximise`},
		{"metrics: {peak: {from: time, json: a}}", "my.yaml:6:38: command.metrics.peak.json: it needs from: output or stderr, but this metric has from: time"},
		{"metrics: [peak]", "my.yaml:6:12: command.metrics: want a mapping from names to metrics, as in {bytes: {pattern: 'size=([0-9]+)'}}"},
	} {
		_, err := read("my.yaml", []byte(strings.Replace(commandText, "  run:", "  "+test.new+"\n  run:", 1)), library)
		if err == nil || err.Error() != test.want {
			t.Errorf("%s:\ngot  %v\nwant %s", test.new, err, test.want)
		}
	}
	text := strings.Replace(commandText, "  run:", "  setup: [no-such-setup]\n  prepare: [no-such-prepare]\n  cleanup: [no-such-cleanup]\n  check: [echo]\n  files: []\n  run:", 1)
	k, err := read("my.yaml", []byte(text), library)
	if err != nil {
		t.Fatal(err)
	}
	if got := Faults(k.Warnings()).Error(); strings.Count(got, "there is no program no-such-") != 3 {
		t.Error(got)
	}
	for _, want := range []string{"sets up   no-such-setup", "prepares  no-such-prepare", "cleans up no-such-cleanup"} {
		if got := strings.Join(k.Plan(), "\n"); !strings.Contains(got, want) {
			t.Errorf("the plan is\n%s\nwithout %q", got, want)
		}
	}
}
