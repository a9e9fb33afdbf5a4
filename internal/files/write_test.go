package files

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// A file has either its old content or the new one, and nothing is left beside it.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	holds := func(want string) {
		t.Helper()
		data, err := os.ReadFile(path)
		if err != nil || string(data) != want {
			t.Errorf("the file holds %q, %v, want %q", data, err, want)
		}
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) != 1 {
			t.Errorf("the directory holds %v, %v", entries, err)
		}
	}
	if err := Write(path, []byte("one")); err != nil {
		t.Fatal(err)
	}
	holds("one")
	full := errors.New("the disk is full")
	for _, durable := range []bool{true, false} {
		err := Stream(path, durable, func(w io.Writer) error {
			io.WriteString(w, "half of it")
			return full
		})
		if err != full {
			t.Errorf("the error is %v, want %v", err, full)
		}
		holds("one")
	}
	if err := Stream(path, false, func(w io.Writer) error { _, err := io.WriteString(w, "two"); return err }); err != nil {
		t.Fatal(err)
	}
	holds("two")
	nowhere := filepath.Join(dir, "none", "file")
	if err := Write(nowhere, nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file in no directory: %v", err)
	} else if p, ok := errors.AsType[*fs.PathError](err); !ok || p.Path != nowhere {
		t.Errorf("the error names another file than %s: %v", nowhere, err)
	}
	if err := SyncDir(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
}
