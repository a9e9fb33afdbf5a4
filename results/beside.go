package results

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tune/internal/files"
)

// CopySchedule writes the schedule in a directory to another file, and beside that the files that the schedule names. They are renamed after
// the file, as best.program.json is named after best.json, and their contents stay. It returns the names of those that it wrote: one that is
// there already, with the same content, stays as it is. One with another content is replaced only if it belongs to the schedule that the
// file has had until now; otherwise nothing is written. Those of that schedule that the new one does not have are removed, unless they were changed.
func CopySchedule(from, path string) (wrote []string, err error) {
	s, err := ReadSchedule(filepath.Join(from, ScheduleName))
	if err != nil {
		return nil, err
	}
	to := filepath.Dir(path)
	var former []Artifact
	if old, err := ReadSchedule(path); err == nil {
		former = old.Artifacts
	}
	var kept, missing []Artifact // with the names after path, and those before
	for _, a := range s.Artifacts {
		if err := a.Verify(from); err != nil {
			return nil, err
		}
		renamed := a
		renamed.Name = filepath.Base(ArtifactPath(path, strings.TrimPrefix(a.Name, strings.TrimSuffix(ScheduleName, "json"))))
		kept = append(kept, renamed)
		if !exists(from, a.Name) || exists(to, renamed.Name) && renamed.Verify(to) == nil {
			continue // a derived file may be missing
		}
		own := slices.ContainsFunc(former, func(f Artifact) bool { return f.Name == renamed.Name && f.Verify(to) == nil })
		if exists(to, renamed.Name) && !own {
			return nil, fmt.Errorf("%s exists, and the files of the schedule have to be beside it: choose another name for the schedule, or move the file",
				filepath.Join(to, renamed.Name))
		}
		missing = append(missing, a)
		wrote = append(wrote, renamed.Name)
	}
	for i, a := range missing {
		if err := copyArtifact(from, a.Name, filepath.Join(to, wrote[i])); err != nil {
			return nil, err
		}
	}
	s.Artifacts = kept
	if err := s.Write(path); err != nil {
		return wrote, err
	}
	return wrote, removeFormer(path, former, kept)
}

// removeFormer removes the files of the former schedule of a path that the new one does not have. Those that are named after another schedule belong
// to that one too.
func removeFormer(path string, former, kept []Artifact) error {
	folder, prefix := filepath.Dir(path), filepath.Base(ArtifactPath(path, ""))
	for _, f := range former {
		stays := slices.ContainsFunc(kept, func(a Artifact) bool { return a.Name == f.Name })
		if stays || !strings.HasPrefix(f.Name, prefix) || filepath.Base(f.Name) != f.Name || !exists(folder, f.Name) || f.Verify(folder) != nil {
			continue
		}
		if err := os.Remove(filepath.Join(folder, f.Name)); err != nil {
			return err
		}
	}
	return nil
}

// exists reports whether a directory has something of a name.
func exists(dir, name string) bool {
	_, err := os.Lstat(filepath.Join(dir, name))
	return !errors.Is(err, fs.ErrNotExist)
}

// copyArtifact copies a file of a schedule.
func copyArtifact(from, name, path string) error {
	file, err := files.In(from).Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = WriteArtifact(path, func(w io.Writer) error {
		_, err := io.Copy(w, file)
		return err
	})
	return err
}

// IsOwn reports whether a file is one that a run keeps for itself: its settings, its journal and what goes with them. No export may replace it.
func IsOwn(path string) bool {
	folder, name := filepath.Split(path)
	own := []string{SettingsName, JournalName, FinalName, summaryName, originName, lockName}
	return slices.Contains(own, name) && exists(folder, SettingsName)
}
