package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestConsent: who has a terminal is asked before a kernel from elsewhere runs, and only yes is yes.
func TestConsent(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	ran := filepath.Join(dir, "ran")
	text := "space: {parameters: [{name: n, type: int, from: 1, to: 3}]}\ncommand: {run: 'touch " + ran + "; echo {{n}}', metric: {exact: true}}\nrun: {evals: 3}\n"
	if err := os.WriteFile("k.yaml", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	tune := func(answer string, terminal bool, args ...string) (code int, stderr string) {
		t.Helper()
		a, _, errs := testApp()
		a.stdin, a.interactive = strings.NewReader(answer), terminal
		code = a.run(t.Context(), args)
		return code, errs.String()
	}
	t.Setenv("XDG_STATE_HOME", filepath.Join(dir, "mine"))
	if code, text := tune("", false, "run", "-c", "./k.yaml", "--dir", "run", "-q"); code != exitOK {
		t.Fatalf("exit code %d: %s", code, text)
	}
	t.Setenv("XDG_STATE_HOME", filepath.Join(dir, "theirs"))
	for _, test := range []struct {
		answer   string
		terminal bool
		runs     bool
	}{
		{"y\n", true, true}, {"yes\n", true, true}, {" Y \n", true, true},
		{"n\n", true, false}, {"\n", true, false}, {"", true, false}, {"yesterday\n", true, false}, {"no\ny\n", true, false},
		{"y\n", false, false},
	} {
		os.Remove(ran)
		code, text := tune(test.answer, test.terminal, "verify", "run")
		_, err := os.Stat(ran)
		if (err == nil) != test.runs || (code == exitOK) != test.runs || !strings.Contains(text, "touch "+ran) {
			t.Errorf("%+v: exit code %d, %v: %s", test, code, err, text)
		}
		if asked := strings.Contains(text, "Run it? [y/N] "); asked != test.terminal {
			t.Errorf("%+v: asked: %v", test, asked)
		}
	}
}
