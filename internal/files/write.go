package files

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Write replaces a file atomically: its name always refers to the whole old or the whole new content, also after a power failure.
func Write(path string, data []byte) error {
	return Stream(path, true, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// Stream is Write for content that is produced piece by piece. If it is not durable it does not wait for the disk: after a power
// failure the file may be damaged. Errors of the system are a *fs.PathError that has path, and not the name of the file beside it that
// is written first.
func Stream(path string, durable bool, write func(io.Writer) error) (err error) {
	file, temp, err := createBeside(path)
	defer func() {
		if p, ok := err.(*fs.PathError); ok && p.Path == temp {
			err = &fs.PathError{Op: p.Op, Path: path, Err: p.Err}
		}
	}()
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			file.Close()
			os.Remove(temp)
		}
	}()
	buffered := bufio.NewWriter(file)
	if err = write(buffered); err != nil {
		return err
	}
	if err = buffered.Flush(); err != nil {
		return err
	}
	if durable {
		if err = file.Sync(); err != nil {
			return err
		}
	}
	if err = file.Close(); err != nil {
		return err
	}
	if err = os.Rename(temp, path); err != nil {
		return err
	}
	if !durable {
		return nil
	}
	return SyncDir(filepath.Dir(path))
}

// Out is Stream for a file that the user names. What is no regular file, such as a pipe or /dev/null, is written to and not replaced, and so is
// what an open descriptor of this process stands for, such as /dev/stdout. A symbolic link stays, and the file that it leads to is replaced.
func Out(path string, durable bool, write func(io.Writer) error) error {
	info, err := os.Stat(path)
	if err != nil || info.IsDir() {
		return Stream(path, durable, write)
	}
	ofSystem := strings.HasPrefix(path, "/dev/") || strings.HasPrefix(path, "/proc/")
	if info.Mode().IsRegular() && !ofSystem {
		if target, err := filepath.EvalSymlinks(path); err == nil {
			path = target
		}
		return Stream(path, durable, write)
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	buffered := bufio.NewWriter(file)
	if err = write(buffered); err == nil {
		err = buffered.Flush()
	}
	return errors.Join(err, file.Close())
}

// AppendLine appends a line to a file, which it makes if it is not there, and syncs it. Like OpenToChange it follows no symbolic link.
func AppendLine(path string, line []byte) error {
	file, err := OpenToChange(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o666)
	if err != nil {
		return err
	}
	_, err = file.Write(append(line, '\n'))
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// Cut shortens a file to a size in bytes. Like OpenToChange it follows no symbolic link.
func Cut(path string, size int64) error {
	file, err := OpenToChange(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(file.Truncate(size), file.Close())
}

// createBeside creates a new hidden file in the directory of path, and returns its name, also with an error. Unlike os.CreateTemp it
// applies the umask, as for any other file.
func createBeside(path string) (file *os.File, name string, err error) {
	const attempts = 1000
	dir, base := filepath.Split(path)
	for i := range attempts {
		name = fmt.Sprintf("%s.%s.%d-%d.tmp", dir, base, os.Getpid(), i)
		file, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
		if !errors.Is(err, fs.ErrExist) {
			return file, name, err
		}
	}
	return nil, "", fmt.Errorf("too many temporary files beside %s", path)
}

// SyncDir makes the entries of a directory durable.
func SyncDir(dir string) error {
	file, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}
