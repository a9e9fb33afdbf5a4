package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReadSaved: a copy is read by its list. A directory without a list has no copy, and one with a list and a fault has a damaged one.
func TestReadSaved(t *testing.T) {
	type list struct {
		Format int
		Name   string
	}
	s := Saved{What: "thing", Folder: "things", List: "list.json", Format: 3}
	read := func(dir string) (string, error) {
		return ReadSaved(s, dir, func(l list, read func(string, int64) ([]byte, error)) (string, error) {
			data, err := read(l.Name, 10)
			return string(data), err
		})
	}
	for _, c := range []struct{ list, want, reason string }{
		{`{"format": 3, "name": "a"}`, "content", ""},
		{`{"format": 3, "name": "b"}`, "", "no such file or directory: put it back, or start a new run"},
		{`{"format": 3, "name": "long"}`, "", "long"},
		{`{"format": 4, "name": ["a later form"]}`, "", "list.json has format 4, and this tune reads format 3"},
		{`{"format": 3, "name": 5}`, "", "cannot unmarshal"},
		{`{`, "", "JSON"},
	} {
		dir := t.TempDir()
		if _, err := read(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a directory without a copy: %v", err)
		}
		for name, text := range map[string]string{"list.json": c.list, "a": "content", "long": strings.Repeat("x", 11)} {
			if err := errors.Join(os.MkdirAll(filepath.Join(dir, "things"), 0o777), Write(filepath.Join(dir, "things", name), []byte(text))); err != nil {
				t.Fatal(err)
			}
		}
		got, err := read(dir)
		switch {
		case got != c.want || (err == nil) != (c.reason == ""):
			t.Errorf("%s: %q, %v", c.list, got, err)
		case err != nil && (errors.Is(err, fs.ErrNotExist) || !strings.HasPrefix(err.Error(), filepath.Join(dir, "things")+": the saved thing cannot be read: ") || !strings.Contains(err.Error(), c.reason)):
			t.Errorf("%s: %v, want %s", c.list, err, c.reason)
		}
	}
}
