package tune

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestExamples builds the programs of examples, which are a module of their own, against this checkout, and runs them.
func TestExamples(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds programs")
	}
	t.Parallel()
	bin := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", bin+string(filepath.Separator), "./...")
	build.Dir = "examples"
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
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
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(bin, "tune"), "./cmd/tune")
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
	for args, want := range map[string]string{
		"export runs/dot --format trace": `unknown kernel "dot"`,
		"verify runs/dot":                `unknown kernel "dot"`,
		"resume runs/dot":                `unknown kernel "dot"`,
	} {
		if _, errs := tune(1, strings.Fields(args)...); !strings.Contains(errs, want) {
			t.Errorf("tune %s: want %s in\n%s", args, want, errs)
		}
	}
}
