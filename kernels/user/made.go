package user

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// made is what a build left in the directory of a candidate. Every run starts from it: a run that found the output of an earlier
// one could do nothing and be right.
type made map[string]entry

// entry is a file, or a directory, of which only the mode counts.
type entry struct {
	mode     fs.FileMode
	size     int64
	modified time.Time
}

func newEntry(d fs.DirEntry) (entry, error) {
	info, err := d.Info()
	if err != nil {
		return entry{}, err
	}
	if d.IsDir() {
		return entry{mode: info.Mode()}, nil
	}
	return entry{info.Mode(), info.Size(), info.ModTime()}, nil
}

// survey lists a directory.
func survey(dir string) (made, error) {
	m := made{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		m[path], err = newEntry(d)
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
		e, err := newEntry(d)
		if e.mode != old.mode || e.size != old.size || !e.modified.Equal(old.modified) {
			same = false
			return filepath.SkipAll
		}
		return err
	})
	return err == nil && same && left == len(m)
}

// renew puts the directory of the candidate back to what it was after the build.
func (c *commandCandidate) renew(ctx context.Context) error {
	if c.p.shared() || !c.ran || c.made.restore(c.dir) {
		return nil
	}
	return c.make(ctx)
}
