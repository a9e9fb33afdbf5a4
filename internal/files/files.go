// Package files reads files that users name, and files in directories that somebody else may have made. It reads only regular
// files and pipes, never more than a stated limit, and follows no path out of a directory. It also writes files, so that nobody
// ever sees one half written.
package files

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// The limits of the kinds of files.
const (
	Settings = 4 << 20   // a preset, a schedule, the settings of a run, the list of a saved kernel
	YAML     = 2 << 20   // a space, a kernel: in memory they are a hundred times as large
	Text     = 64 << 20  // a source, a program
	Earlier  = 256 << 20 // earlier measurements that a run started from
	Data     = 1 << 30   // measurements, the elements of buffers
)

// LimitError says that a file is larger than the limit for its kind.
type LimitError struct {
	Path  string
	Limit int64 // bytes
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("%s has more than %s, the most that is read of such a file", e.Path, Size(e.Limit))
}

// Size writes a number of bytes in the largest unit that it is a whole number of.
func Size(n int64) string {
	for _, u := range []struct {
		name string
		size int64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n >= u.size && n%u.size == 0 {
			return fmt.Sprintf("%d %s", n/u.size, u.name)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}

// Read returns the content of a regular file or a pipe, of at most limit bytes. The path may lead anywhere, because the user has
// given it.
func Read(path string, limit int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f, path, limit)
}

// Open opens a regular file or a pipe. It does not wait for a process to write to a pipe.
func Open(path string) (*os.File, error) {
	// Other kinds are not even opened: opening a device or a terminal may have an effect.
	if info, err := os.Stat(path); err != nil {
		if at, ok := errors.AsType[*fs.PathError](err); ok {
			at.Op = "open"
		}
		return nil, err
	} else if err := readable(path, info); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	return keep(f, path, readable)
}

// OpenRegular opens a regular file, and returns its size in bytes. Any other kind of file is an error.
func OpenRegular(path string) (f *os.File, size int64, err error) {
	if f, err = Open(path); err != nil {
		return nil, 0, err
	}
	if f, err = keep(f, path, func(path string, info fs.FileInfo) error {
		size = info.Size()
		return regular(path, info)
	}); err != nil {
		return nil, 0, err
	}
	return f, size, nil
}

// keep returns a file that is open if it passes a check, and closes it otherwise. The path is for the check's error.
func keep(f *os.File, path string, check func(path string, info fs.FileInfo) error) (*os.File, error) {
	info, err := f.Stat()
	if err == nil {
		err = check(path, info)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// regular reports what is no regular file.
func regular(path string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", path)
	}
	return nil
}

// readable reports what is neither a regular file nor a pipe.
func readable(path string, info fs.FileInfo) error {
	switch mode := info.Mode(); {
	case mode.IsRegular(), mode&fs.ModeNamedPipe != 0:
		return nil
	case mode.IsDir():
		return fmt.Errorf("%s is not a regular file, but a directory", path)
	}
	return regular(path, info)
}

// readAll reads a file that is open. A regular one that is too large is refused before it is read.
func readAll(f *os.File, path string, limit int64) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > limit {
		return nil, &LimitError{path, limit}
	}
	var b bytes.Buffer
	if info.Mode().IsRegular() {
		b.Grow(int(info.Size()) + bytes.MinRead)
	}
	n, err := b.ReadFrom(io.LimitReader(f, limit+1))
	switch {
	case err != nil:
		return nil, err
	case n > limit:
		return nil, &LimitError{path, limit}
	}
	return b.Bytes(), nil
}

// Dir is a directory whose files somebody else may have written. It reads only files below it.
type Dir struct {
	path string
}

// In returns the directory at a path.
func In(path string) Dir { return Dir{path} }

// Path returns the path of a file of the directory.
func (d Dir) Path(name string) string { return filepath.Join(d.path, name) }

// Read returns the content of a regular file of the directory, of at most limit bytes.
func (d Dir) Read(name string, limit int64) ([]byte, error) {
	f, err := d.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f, d.Path(name), limit)
}

// Open opens a regular file of the directory. A name that leads out of it, by itself or by a symbolic link, is an
// *OutsideError.
func (d Dir) Open(name string) (*os.File, error) {
	if !filepath.IsLocal(name) {
		return nil, &OutsideError{d.path, name}
	}
	root, err := os.OpenRoot(d.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, d.explain(name, err)
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	info, err := root.Stat(name)
	if err == nil {
		err = regular(d.Path(name), info)
	}
	if err != nil {
		return nil, d.explain(name, err)
	}
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, d.explain(name, err)
	}
	return keep(f, d.Path(name), regular)
}

// Create writes a new file of the directory, with the directories above it. A name that leads out of it, by itself or by a symbolic
// link, is an *OutsideError.
func (d Dir) Create(name string, data []byte, mode fs.FileMode) error {
	if !filepath.IsLocal(name) {
		return &OutsideError{d.path, name}
	}
	root, err := os.OpenRoot(d.path)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return d.explain(name, err)
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return d.explain(name, err)
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(mode & fs.ModePerm) // whatever the umask is
	}
	return errors.Join(err, f.Close())
}

// Remove removes a file of the directory, or a directory with all that is in it. It is no error where there is none.
func (d Dir) Remove(name string) error {
	if !filepath.IsLocal(name) || filepath.Clean(name) == "." {
		return &OutsideError{d.path, name}
	}
	root, err := os.OpenRoot(d.path)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := root.RemoveAll(name); err != nil {
		return d.explain(name, err)
	}
	return nil
}

// Scratch makes a directory for temporary files of this process, whose name begins with a prefix, and removes those that killed
// processes left.
func Scratch(prefix string) (string, error) {
	RemoveStale(os.TempDir(), prefix)
	dir, err := os.MkdirTemp("", prefix+strconv.Itoa(os.Getpid())+"-*")
	if err != nil {
		if info, serr := os.Stat(os.TempDir()); serr != nil || !info.IsDir() {
			return "", fmt.Errorf("no folder for temporary files: %w: name another folder by TMPDIR", err)
		}
		return "", fmt.Errorf("no folder for temporary files: %w: make %s writable, or name another folder by TMPDIR", err, os.TempDir())
	}
	return dir, nil
}

// RemoveStale removes from a directory what Scratch has made for processes that are gone.
func RemoveStale(temp, prefix string) {
	entries, _ := os.ReadDir(temp)
	for _, e := range entries {
		rest, ok := strings.CutPrefix(e.Name(), prefix)
		if !ok {
			continue
		}
		text, _, whole := strings.Cut(rest, "-")
		pid, err := strconv.Atoi(text)
		if !whole || err != nil || pid <= 0 { // it is somebody else's
			continue
		}
		p, err := os.FindProcess(pid)
		if err == nil && errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone) {
			os.RemoveAll(filepath.Join(temp, e.Name())) // this fails for files of other users
		}
	}
}

// explain names the whole path in an error, and tells a link that leads out of the directory from other ones.
func (d Dir) explain(name string, err error) error {
	at, ok := errors.AsType[*fs.PathError](err)
	if !ok {
		return err
	}
	if _, no := at.Err.(syscall.Errno); !no && !errors.Is(err, fs.ErrNotExist) {
		return &OutsideError{d.path, name} // the only error of package os for a root that has no other type
	}
	return &fs.PathError{Op: "open", Path: d.Path(name), Err: at.Err}
}

// OutsideError says that a name leads out of its directory.
type OutsideError struct{ Dir, Name string }

func (e *OutsideError) Error() string {
	return fmt.Sprintf("%q leads out of %s: put the file into that directory", e.Name, e.Dir)
}

// Beside reports a name that is not that of a file, or directory, beside the one that mentions it.
func Beside(name string) error {
	if name != filepath.Base(name) || !filepath.IsLocal(name) || name == "." {
		return fmt.Errorf("%q is not the name of a file beside it: write the name alone, without a directory", name)
	}
	return nil
}

// OpenToChange opens a regular file to change it, with flags of package os. It follows no symbolic link and opens nothing else:
// in a directory from elsewhere a link could make tune write to another file.
func OpenToChange(path string, flags int, mode fs.FileMode) (*os.File, error) {
	f, err := os.OpenFile(path, flags|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, mode)
	if errors.Is(err, syscall.ELOOP) {
		return nil, fmt.Errorf("%s is a symbolic link, which could lead anywhere: put the file itself there", path)
	}
	if err != nil {
		return nil, err
	}
	return keep(f, path, regular)
}
