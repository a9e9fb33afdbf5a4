package files

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
)

// Saved is a copy, in a run directory, of what the run was started from: files in a folder, and beside them a list in JSON, which is
// written last.
type Saved struct {
	What   string // that was copied, for messages: kernel
	Folder string // of the run directory
	List   string // the name of the list
	Format int    // of the list, in its field format
}

// ListPath returns the path of the list in a run directory.
func (s Saved) ListPath() string { return filepath.Join(s.Folder, s.List) }

// ReadSaved reads a copy in a run directory. from makes it of the list, and of what reads a file of the folder, of at most limit bytes. A
// directory without a list is an error that is fs.ErrNotExist; any other fault of the copy is not.
func ReadSaved[L, T any](s Saved, runDir string, from func(list L, read func(name string, limit int64) ([]byte, error)) (T, error)) (T, error) {
	var none T
	in := In(runDir)
	text, err := in.Read(s.ListPath(), Settings)
	if err != nil {
		return none, err
	}
	var list L
	out := none
	if err = s.decode(text, &list); err == nil {
		out, err = from(list, func(name string, limit int64) ([]byte, error) { return in.Read(filepath.Join(s.Folder, name), limit) })
	}
	if err == nil {
		return out, nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%v: put it back, or start a new run", err) // not %w: it must not look like a directory without a copy
	}
	return none, fmt.Errorf("%s: the saved %s cannot be read: %w", in.Path(s.Folder), s.What, err)
}

// decode decodes a list of the format.
func (s Saved) decode(text []byte, list any) error {
	var head struct{ Format int }
	if err := json.Unmarshal(text, &head); err != nil {
		return err
	}
	if head.Format != s.Format {
		return fmt.Errorf("%s has format %d, and this tune reads format %d: use the tune that wrote it", s.List, head.Format, s.Format)
	}
	return json.Unmarshal(text, list)
}
