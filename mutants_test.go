package tune

import (
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestMutants: the code that each row of docs/testing.md changes occurs in its file, exactly once, and the tests that it names are in the
// package of the file, or in the one that it names. Line breaks count as spaces.
func TestMutants(t *testing.T) {
	page, err := os.ReadFile("docs/testing.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile("(?m)^\\| (\\S+\\.go) \\| `(.*?)` → .* \\| (.*) \\|$").FindAllStringSubmatch(string(page), -1)
	if want := strings.Count(string(page), "` → "); len(rows) != want || want == 0 {
		t.Errorf("%d of %d mutations were read", len(rows), want)
	}
	named := regexp.MustCompile("`(Test\\w+)`(?: of (the root|[a-z0-9/]+))?")
	for _, row := range rows {
		file, code := row[1], strings.ReplaceAll(row[2], `\|`, "|")
		source, err := os.ReadFile(file)
		if err != nil {
			t.Error(err)
			continue
		}
		if n := strings.Count(strings.Join(strings.Fields(string(source)), " "), code); n != 1 {
			t.Errorf("%s: %q occurs %d times", file, code, n)
		}
		tests := named.FindAllStringSubmatch(row[3], -1)
		if len(tests) == 0 && !strings.HasPrefix(row[3], "*equivalent*") {
			t.Errorf("%s: %q: %s names no test", file, code, row[3])
		}
		for _, test := range tests {
			folder := cmp.Or(strings.Replace(test[2], "the root", ".", 1), filepath.Dir(file))
			if !hasTest(t, folder, test[1]) {
				t.Errorf("%s: %q: there is no %s in %s", file, code, test[1], folder)
			}
		}
	}
}

// hasTest reports whether a folder has a test of a name.
func hasTest(t *testing.T, folder, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "\nfunc "+name+"(") {
			return true
		}
	}
	return false
}
