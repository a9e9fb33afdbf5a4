package tune

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestMutants: the code that each row of docs/testing.md changes occurs in its file, exactly once. Line breaks count as spaces.
func TestMutants(t *testing.T) {
	page, err := os.ReadFile("docs/testing.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile("(?m)^\\| (\\S+\\.go) \\| `(.*?)` → ").FindAllStringSubmatch(string(page), -1)
	if want := strings.Count(string(page), "` → "); len(rows) != want || want == 0 {
		t.Errorf("%d of %d mutations were read", len(rows), want)
	}
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
	}
}
