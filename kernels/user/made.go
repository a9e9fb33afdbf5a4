package user

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// made is what a build left in the directory of a candidate, and around it. Every run starts from it: a run that found the output of an earlier
// one could do nothing and be right.
type made map[string]entry

// entry is a file, or a directory, of which only the mode counts. A program can set the time when a file was modified, but neither
// the time when anything of it was changed nor its number.
type entry struct {
	mode     uint32
	size     int64
	number   uint64
	modified unix.Timespec
	changed  unix.Timespec
}

func newEntry(path string) (entry, error) {
	var s unix.Stat_t
	if err := unix.Lstat(path, &s); err != nil {
		return entry{}, &fs.PathError{Op: "lstat", Path: path, Err: err}
	}
	if s.Mode&unix.S_IFMT == unix.S_IFDIR {
		return entry{mode: uint32(s.Mode)}, nil
	}
	return entry{uint32(s.Mode), s.Size, s.Ino, s.Mtim, s.Ctim}, nil
}

// survey lists a directory.
func survey(dir string) (made, error) {
	m := made{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		m[path], err = newEntry(path)
		return err
	})
	return m, err
}

// restore removes what is new in a directory. It reports whether the rest is unchanged; otherwise the directory has to be made
// again.
func (m made) restore(dir string) bool {
	left := 0
	same := true
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		old, known := m[path]
		if !known {
			if err := os.RemoveAll(path); err != nil {
				return err
			}
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		left++
		e, err := newEntry(path)
		if e != old {
			same = false
			return filepath.SkipAll
		}
		return err
	})
	return err == nil && same && left == len(m)
}

// renew puts the directory of the candidate back to what it was after the build.
func (c *commandCandidate) renew(ctx context.Context) error {
	if c.p.shared() || !c.ran || c.made.restore(c.around()) {
		return nil
	}
	return c.make(ctx)
}
