package peers

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFind(t *testing.T) {
	empty, dir := t.TempDir(), t.TempDir()
	if found := find([]string{empty}); len(found) != 0 {
		t.Errorf("found %v in an empty directory", found)
	}
	path := filepath.Join(dir, "libblis.so.4")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	found := find([]string{empty, dir})
	if len(found) != 1 || found[0] != (Library{Name: "blis", Path: path}) {
		t.Errorf("found %v, want blis at %s", found, path)
	}
	if text := found[0].Sgemm(true, 3).Text; !strings.Contains(text, path) || !strings.Contains(text, `setenv("BLIS_NUM_THREADS", "3", 1)`) {
		t.Errorf("the source does not load %s with 3 threads:\n%s", path, text)
	}
}
