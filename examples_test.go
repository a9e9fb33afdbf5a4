package tune

import (
	"bytes"
	"errors"
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
	dir := filepath.Join(t.TempDir(), "run")
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
	// What it recorded is exported without the program.
	var csv, svg bytes.Buffer
	if err := errors.Join(Export(t.Context(), nil, dir, "csv", &csv), Export(t.Context(), nil, dir, "svg", &svg)); err != nil {
		t.Fatal(err)
	}
	if head, rows, _ := strings.Cut(csv.String(), "\n"); !strings.HasSuffix(head, ",parts,reason") || !strings.HasPrefix(rows, "0,0,0,ok,") {
		t.Errorf("the outcomes are\n%s", csv.String())
	}
	if !strings.Contains(svg.String(), ">dot<") {
		t.Error("the chart does not name the kernel")
	}
	if err := Export(t.Context(), nil, dir, "program", &csv); err == nil || !strings.Contains(err.Error(), "exported as csv, svg or png") {
		t.Errorf("another format: %v", err)
	}
}
