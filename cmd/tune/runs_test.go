package main

import (
	"path/filepath"
	"strings"
	"testing"

	"tune/results"
)

// TestRunsEnded: a run that somebody ended is listed as interrupted, like one that was cut off, and each run has one line, whatever its name.
func TestRunsEnded(t *testing.T) {
	root := t.TempDir()
	whole := filepath.Join(root, "whole")
	tuneOK(t, "run", "treehash", "--shape", "height=4,rounds=4,batch=16", "--evals", "2", "-q", "--no-db", "--dir", whole)
	look, err := results.Look(whole)
	if err != nil {
		t.Fatal(err)
	}
	for name, why := range map[string]string{"by\nhand": results.StoppedByHand, "cut": ""} {
		run, err := results.Create(filepath.Join(root, name), look.Settings)
		if err == nil && why != "" {
			err = run.Journal.End(results.End{Why: why})
		}
		if err == nil {
			err = run.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	lines := strings.Split(strings.TrimSpace(tuneOK(t, "runs", "--out", root, "--state", "interrupted")), "\n")
	if len(lines) != 3 {
		t.Fatalf("want a heading and two runs:\n%s", strings.Join(lines, "\n"))
	}
	for k, name := range []string{"by hand", "cut"} {
		if line := lines[k+1]; !strings.HasPrefix(line, filepath.Join(root, name)+" ") || !strings.Contains(line, " interrupted ") || strings.Contains(line, "interrupted:") {
			t.Errorf("the line of %q is %s", name, line)
		}
	}
	if out := tuneOK(t, "report", filepath.Join(root, "by\nhand"), "--format", "md"); !strings.Contains(out, "- **state**: interrupted\n") {
		t.Errorf("its report says\n%s", out)
	}
}
