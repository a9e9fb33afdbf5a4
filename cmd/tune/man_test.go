package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// TestMan: every command has a manual page, with all of its flags.
func TestMan(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "man1")
	a, stdout, stderr := testApp()
	if code := a.run(t.Context(), []string{"man", dir}); code != 0 || stderr.Len() > 0 || !strings.Contains(stdout.String(), " pages in "+dir) {
		t.Fatalf("exit code %d: %s%s", code, stdout, stderr)
	}
	a, _, _ = testApp()
	for _, c := range commands(a.root()) {
		name := strings.ReplaceAll(c.CommandPath(), " ", "-")
		data, err := os.ReadFile(filepath.Join(dir, name+".1"))
		if err != nil {
			t.Error(err)
			continue
		}
		c.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
			if !strings.Contains(string(data), "\\-\\-"+strings.ReplaceAll(f.Name, "-", "\\-")) {
				t.Errorf("the page of %s lacks --%s", name, f.Name)
			}
		})
	}
}
