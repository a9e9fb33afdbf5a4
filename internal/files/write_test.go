package files

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestOut: what the user names is written to where it is a pipe, and where it is a link the file behind that is replaced.
func TestOut(t *testing.T) {
	dir := t.TempDir()
	pipe, link, file := filepath.Join(dir, "pipe"), filepath.Join(dir, "link"), filepath.Join(dir, "file")
	if err := errors.Join(syscall.Mkfifo(pipe, 0o600), os.WriteFile(file, []byte("old"), 0o600), os.Symlink("file", link)); err != nil {
		t.Fatal(err)
	}
	text := func(w io.Writer) error { _, err := io.WriteString(w, "new"); return err }
	read := make(chan string)
	go func() {
		data, err := os.ReadFile(pipe)
		if err != nil {
			t.Error(err)
		}
		read <- string(data)
	}()
	if err := Out(pipe, true, text); err != nil {
		t.Fatal(err)
	}
	if got := <-read; got != "new" {
		t.Errorf("the reader of the pipe got %q", got)
	}
	if err := errors.Join(Out(link, true, text), Out(filepath.Join(dir, "other"), false, text), Out("/dev/null", true, text)); err != nil {
		t.Error(err)
	}
	for name, want := range map[string]fs.FileMode{pipe: fs.ModeNamedPipe, link: fs.ModeSymlink, file: 0, "/dev/null": fs.ModeDevice | fs.ModeCharDevice} {
		if info, err := os.Lstat(name); err != nil || info.Mode().Type() != want {
			t.Errorf("%s is now of the type %v, %v", name, info.Mode().Type(), err)
		}
	}
	if data, err := os.ReadFile(file); err != nil || string(data) != "new" {
		t.Errorf("behind the link is %q, %v", data, err)
	}
}

// TestLines: lines are appended and cut off, and never in the file that a link leads to.
func TestLines(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	if err := errors.Join(AppendLine(path, []byte("one")), AppendLine(path, []byte("two")), os.Symlink("file", link)); err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{"append": AppendLine(link, []byte("three")), "cut": Cut(link, 0)} {
		if err == nil || !strings.Contains(err.Error(), "is a symbolic link") {
			t.Errorf("%s by a link: %v", what, err)
		}
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "one\ntwo\n" {
		t.Errorf("it holds %q, %v", data, err)
	}
	if err := Cut(path, 4); err != nil {
		t.Error(err)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "one\n" {
		t.Errorf("it holds %q, %v", data, err)
	}
}

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
