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

// TestVersion: the version is in the name of the file that a library's name leads to, where that has one.
func TestVersion(t *testing.T) {
	dir := t.TempDir()
	for file, want := range map[string]string{
		"libopenblasp-r0.3.21.so": "0.3.21", "libopenblas-r0.3.29.so": "0.3.29", "libdnnl.so.2.6": "2.6", "libdnnl.so.3.1.1": "3.1.1",
		"libdnnl.so.2": "", "libblis.so.4.0.0": "", "libopenblas.so.0": "",
	} {
		path, link := filepath.Join(dir, file), filepath.Join(dir, "link-"+file)
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(file, link); err != nil {
			t.Fatal(err)
		}
		if got := (Library{Path: link}).Version(); got != want {
			t.Errorf("%s: version %q, want %q", file, got, want)
		}
	}
	if got := (Library{Path: filepath.Join(dir, "none")}).Version(); got != "" {
		t.Errorf("a file that is not there has the version %q", got)
	}
}
