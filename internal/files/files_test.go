package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestReadRefusesWhatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ path, want string }{
		{"/dev/zero", "/dev/zero is not a regular file"},
		{"/dev/tty", "not a regular file"},
		{dir, "but a directory"},
	} {
		if _, err := Read(test.path, Text); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.path, err, test.want)
		}
	}
	// Nobody writes to it, and nobody waits.
	if data, err := Read(fifo, Text); err != nil || len(data) > 0 {
		t.Errorf("a pipe that nobody writes to: %q, %v", data, err)
	}
	if _, err := Read(filepath.Join(dir, "none"), Text); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

func TestReadKeepsTheLimit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, make([]byte, 100), 0o600); err != nil {
		t.Fatal(err)
	}
	if data, err := Read(path, 100); err != nil || len(data) != 100 {
		t.Errorf("a file at the limit: %d bytes, %v", len(data), err)
	}
	_, err := Read(path, 99)
	if large, ok := errors.AsType[*LimitError](err); !ok || large.Limit != 99 {
		t.Errorf("a file beyond the limit: %v", err)
	}
	// A sparse file has no bytes on disk, and all of them when it is read.
	if err := os.Truncate(path, 1<<40); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path, Data); err == nil || !strings.Contains(err.Error(), "more than 1 GiB") {
		t.Errorf("a sparse file: %v", err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	go func() { w.Write(make([]byte, 300)); w.Close() }()
	if _, err := readAll(r, "pipe", 200); err == nil {
		t.Error("a pipe beyond the limit is read")
	}
}

func TestOpenToChange(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(at("mine"), []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Symlink("mine", at("link")), os.Symlink("/dev/null", at("null")), os.Symlink("none", at("dangling")), syscall.Mkfifo(at("fifo"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"link": "is a symbolic link", "null": "is a symbolic link", "dangling": "is a symbolic link", "fifo": "not a regular file", "mine": "", "new": "",
	} {
		f, err := OpenToChange(at(name), os.O_RDWR|os.O_CREATE, 0o600)
		if err == nil {
			f.Close()
		}
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

func TestDirStaysInside(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "dir")
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	link := func(to, name string) {
		t.Helper()
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(top, "secret"), "secret")
	write(filepath.Join(dir, "in", "file"), "inside")
	link("in/file", "fine")
	link("../secret", "out")
	link(filepath.Join(top, "secret"), "absolute")
	link("..", "up")
	link("/dev/zero", "zero")
	for _, name := range []string{"fine", "in/file", "in/../in/file"} {
		if data, err := In(dir).Read(name, Text); err != nil || string(data) != "inside" {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
	for _, name := range []string{"out", "absolute", "up/secret", "../secret", "/etc/passwd", "zero", "in/../../secret", ""} {
		_, err := In(dir).Read(name, Text)
		if _, outside := errors.AsType[*OutsideError](err); !outside {
			t.Errorf("%s: %v, want an OutsideError", name, err)
		}
	}
	if _, err := In(dir).Read("none", Text); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	if _, err := In(filepath.Join(top, "none")).Read("x", Text); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
	if _, err := In(dir).Read("in", Text); err == nil {
		t.Error("a directory is read")
	}
}

// TestCreateStaysInside: new files lie in the directory, whatever their names and the links there say; what is there is not replaced.
func TestCreateStaysInside(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	d := In(dir)
	if err := d.Create("a/b/c", []byte("text"), 0o755); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, "a/b/c"))
	if err != nil || info.Mode() != 0o755 {
		t.Errorf("%v, %v", info, err)
	}
	if err := d.Create("a/b/c", nil, 0o600); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a file that is there: %v", err)
	}
	if err := os.Symlink(other, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"../x", "/x", "", "link/x", "a/../../x"} {
		err := d.Create(name, []byte("text"), 0o600)
		if outside, ok := errors.AsType[*OutsideError](err); !ok || outside.Name != name {
			t.Errorf("%q: %v", name, err)
		}
		if err := d.Remove(name); err == nil {
			t.Errorf("%q is removed", name)
		}
	}
	if left, err := os.ReadDir(other); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
	if err := d.Remove("."); err == nil {
		t.Error("the directory itself is removed")
	}
	for range 2 { // the second time it is not there
		if err := d.Remove("a"); err != nil {
			t.Error(err)
		}
	}
}

// TestScratch: a directory for temporary files is of this process, and takes away what others left.
func TestScratch(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	stale := filepath.Join(temp, "tune-test-99999999-1") // more than any process has
	if err := os.Mkdir(stale, 0o700); err != nil {
		t.Fatal(err)
	}
	foreign := filepath.Join(temp, "tune-test-99999999")
	if err := os.Mkdir(foreign, 0o700); err != nil {
		t.Fatal(err)
	}
	dir, err := Scratch("tune-test-")
	if err != nil || filepath.Dir(dir) != temp {
		t.Fatalf("%s, %v", dir, err)
	}
	if _, err := os.Stat(stale); err == nil {
		t.Error("what another process left is still there")
	}
	if _, err := Scratch("tune-test-"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(foreign); err != nil {
		t.Error("what is not of a process is gone")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Error("the directory of this process is gone")
	}
}
