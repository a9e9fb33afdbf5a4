package tune

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
)

// TestExamples builds the programs of examples, which are a module of their own, against this checkout, and runs them. Whether cgo is used
// is left as it is for the tests, so that what they have compiled is not compiled another time. Without what a debugger needs, linking takes half
// of the time.
func TestExamples(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds programs")
	}
	t.Parallel()
	bin := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-o", bin+string(filepath.Separator), "./...")
	build.Dir = "examples"
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	work := t.TempDir()
	dir := filepath.Join(work, "runs", "dot")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"search"}, "evaluations spent: "},
		{[]string{"function", "-budget", "2s", "-dir", dir}, "parts="},
		{[]string{"report", dir}, "parts=1 "},
	} {
		out, err := exec.CommandContext(t.Context(), filepath.Join(bin, c.args[0]), c.args[1:]...).CombinedOutput()
		if err != nil || !strings.Contains(string(out), c.want) {
			t.Errorf("%s: %v, and the output is not with %q:\n%s", strings.Join(c.args, " "), err, c.want, out)
		}
	}
	// What it recorded is read by the commands of tune, without the program.
	// The tags of this test and the state of the checkout would be compiled into tune. So both are as in what make test has compiled.
	cmd := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-buildvcs=false", "-tags", ownTags(), "-o", filepath.Join(bin, "tune"), "./cmd/tune")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	tune := func(code int, args ...string) (stdout, stderr string) {
		t.Helper()
		var out, errs bytes.Buffer
		cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "tune"), args...)
		cmd.Dir, cmd.Stdout, cmd.Stderr = work, &out, &errs
		cmd.Env = append(os.Environ(), "TUNE_DB=off", "XDG_STATE_HOME="+work, "XDG_CONFIG_HOME="+work)
		if err := cmd.Run(); cmd.ProcessState.ExitCode() != code {
			t.Errorf("tune %s: %v, want exit code %d\n%s%s", strings.Join(args, " "), err, code, out.String(), errs.String())
		}
		return out.String(), errs.String()
	}
	best, err := os.ReadFile(filepath.Join(dir, ScheduleName))
	if err != nil {
		t.Fatal(err)
	}
	values, err := os.ReadFile(filepath.Join(dir, "best.values.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args string
		want []string // in the output
	}{
		{"runs", []string{"runs/dot", "finished: ", " dot "}},
		{"explain runs/dot", []string{"kernel    dot\n", "\nbest      ", "\nprogram   runs/dot/best.values.json\n", "the least cost that the search saw with each value", "parts "}},
		{"report runs/dot --format md", []string{"dot", "parts"}},
		{"report runs/dot", []string{"<!DOCTYPE html>", "dot", "parts"}},
		{"export runs/dot", []string{string(best)}},
		{"export runs/dot --format program", []string{string(values)}},
		{"export runs/dot --format csv", []string{",parts,reason\n0,0,0,ok,"}},
		{"export runs/dot --format svg", []string{"<svg ", ">dot<"}},
		{"export runs/dot --format png", []string{"\x89PNG"}},
		{"export runs/dot --format t4", []string{`"parts"`}},
		{"export runs/dot --format kerneltuner", []string{`"parts"`, `"cache"`}},
		{"export runs/dot --format recorded -o dot.json", nil},
		{"bench search --data dot.json --evals 3 --seeds 2 --strategies random", []string{"| dot ", "| random "}},
	} {
		out, _ := tune(0, strings.Fields(c.args)...)
		for _, want := range c.want {
			if !strings.Contains(out, want) {
				t.Errorf("tune %s: the output is not with %q:\n%s", c.args, want, out)
			}
		}
	}
	// What calls the function is left to the program.
	const of = "tune: runs/dot is a run of the Go function dot, which only its program can call: "
	const shown = "; here 'tune explain runs/dot', 'tune report runs/dot' and 'tune export runs/dot' show the run\n"
	for args, want := range map[string]string{
		"export runs/dot --format trace":   "tune: --format trace: " + of[len("tune: "):] + "'tune export runs/dot --format program' writes what the run found\n",
		"export runs/dot --format library": "tune: --format library: " + of[len("tune: "):] + "'tune export runs/dot --format program' writes what the run found\n",
		"verify runs/dot":                  of + "let it call tune.Verify" + shown,
		"verify runs/dot/best.json":        of + "let it call tune.Verify" + shown,
		"resume runs/dot":                  of + "let it call tune.Resume, or tune.Func with this Dir" + shown,
		"measure runs/dot":                 of + "let it call tune.Measure" + shown,
		"replay runs/dot":                  of + "let it call tune.Replay" + shown,
		"guard runs/dot":                   of + "let it call schedule.Guard of tune/results/schedule" + shown,
		"compare runs/dot runs/dot":        of + "let it call tune.Compare; --recorded compares what the files say\n",
	} {
		if _, errs := tune(1, strings.Fields(args)...); errs != want {
			t.Errorf("tune %s: want %s, and it says\n%s", args, want, errs)
		}
	}
	if out, _ := tune(0, "compare", "runs/dot", "runs/dot", "--recorded"); !strings.Contains(out, "dot") {
		t.Errorf("tune compare --recorded says\n%s", out)
	}
	// A kernel of a program's own has no such mark, and the run no copy of it either.
	settings := filepath.Join(dir, "run.json")
	text, err := os.ReadFile(settings)
	if err != nil {
		t.Fatal(err)
	}
	unmarked := bytes.Replace(text, []byte(`"function": true`), []byte(`"function": false`), 1)
	if bytes.Equal(text, unmarked) {
		t.Fatalf("the run is not marked as one of a function:\n%s", text)
	}
	if err := os.WriteFile(settings, unmarked, 0o666); err != nil {
		t.Fatal(err)
	}
	const kernel = "tune: runs/dot is a run of the kernel dot, which tune does not have and the run keeps no copy of, as of one of a Go program: only that program can call it: let it call tune.Verify"
	if _, errs := tune(1, "verify", "runs/dot"); errs != kernel+shown {
		t.Errorf("of the kernel of a program tune verify says\n%s", errs)
	}
}

// ownTags returns the build tags that this test was compiled with.
func ownTags() string {
	info, _ := debug.ReadBuildInfo()
	if info == nil {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "-tags" {
			return s.Value
		}
	}
	return ""
}

// TestDemo: the demo needs Go, git and make alone.
func TestDemo(t *testing.T) {
	make, err := exec.LookPath("make")
	if err != nil {
		t.Skip("no make")
	}
	out, err := exec.CommandContext(t.Context(), make, "--dry-run", "demo").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "bin/tune run --config treehash") {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, more := range []string{"gcc", "clang", "apt-get"} {
		if strings.Contains(string(out), more) {
			t.Errorf("make demo asks for %s:\n%s", more, out)
		}
	}
}
