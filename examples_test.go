package tune

import (
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
}
