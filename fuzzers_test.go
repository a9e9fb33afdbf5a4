package tune

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	fuzzFunction = regexp.MustCompile(`(?m)^func Fuzz(\w+)\(`)
	fuzzersList  = regexp.MustCompile(`(?m)^FUZZERS := ((?:.*\\\n)*.*)$`)
)

// TestFuzzersAreRun: make fuzz runs each fuzzer there is, and no other one.
func TestFuzzersAreRun(t *testing.T) {
	var want []string
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range fuzzFunction.FindAllStringSubmatch(string(text), -1) {
			want = append(want, filepath.ToSlash(filepath.Dir(path))+":"+m[1])
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	m := fuzzersList.FindStringSubmatch(string(text))
	if m == nil || len(want) == 0 {
		t.Fatalf("the Makefile has no FUZZERS, or there are no fuzzers (%d)", len(want))
	}
	listed := strings.Fields(strings.ReplaceAll(m[1], "\\\n", " "))
	for _, f := range want {
		if !slices.Contains(listed, f) {
			t.Errorf("make fuzz does not run %s: add it to FUZZERS in the Makefile", f)
		}
	}
	for i, f := range listed {
		if !slices.Contains(want, f) || slices.Contains(listed[:i], f) {
			t.Errorf("FUZZERS in the Makefile has %s, which is no fuzzer or is there twice", f)
		}
	}
}
