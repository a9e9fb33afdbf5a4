package results

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// originSettings are those of signedRun, as Create completes them.
var originSettings = Settings{Format: settingsFormat, Kernel: "k", Strategy: "random", Shape: "n=4"}

func signedRun(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	run, err := Create(dir, originSettings)
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "list"), []byte("what it starts"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Sign(dir, originSettings, "list"); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestOrigin(t *testing.T) {
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	change := func(name, from, to string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			path := filepath.Join(dir, name)
			text, err := os.ReadFile(path)
			if err != nil || !strings.Contains(string(text), from) {
				t.Fatalf("%s: %q, %v", path, text, err)
			}
			if err := os.WriteFile(path, []byte(strings.Replace(string(text), from, to, 1)), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, test := range []struct {
		name   string
		attack func(t *testing.T, dir string)
		want   string // "" where it is made here
	}{
		{"as it was made", func(*testing.T, string) {}, ""},
		{"moved", func(t *testing.T, dir string) {
			if err := os.Rename(dir, dir+"-2"); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(dir+"-2", dir); err != nil {
				t.Fatal(err)
			}
		}, ""},
		{"no origin", func(t *testing.T, dir string) { os.Remove(filepath.Join(dir, originName)) }, "it has no origin.json, which a run gets where HOME or XDG_STATE_HOME is set"},
		{"another kernel", change("list", "what", "that"), "changed since"},
		{"another shape", change(SettingsName, "n=4", "n=5"), "changed since"},
		{"another tag", change(originName, `"tag": "`, `"tag": "00`), "changed since"},
		{"no tag", change(originName, `"tag"`, `"tug"`), "unknown field"},
		{"another format", change(originName, `1`, `2`), "changed since"},
		{"another user", func(t *testing.T, _ string) { t.Setenv("XDG_STATE_HOME", t.TempDir()) }, "has no signed run"},
		{"another user who has made runs", func(t *testing.T, _ string) {
			t.Setenv("XDG_STATE_HOME", t.TempDir())
			signedRun(t)
		}, "another user or machine"},
		{"a key that the group can read", func(t *testing.T, _ string) {
			if err := os.Chmod(filepath.Join(state, "tune", "key"), 0o640); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.Chmod(filepath.Join(state, "tune", "key"), 0o600) })
		}, "can be read or written by others"},
		{"a key that others can read", func(t *testing.T, _ string) {
			if err := os.Chmod(filepath.Join(state, "tune", "key"), 0o604); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.Chmod(filepath.Join(state, "tune", "key"), 0o600) })
		}, "can be read or written by others"},
		{"a key that is none", func(t *testing.T, _ string) {
			path := filepath.Join(state, "tune", "key")
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte("key\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.WriteFile(path, text, 0o600) })
		}, "holds no key: remove it, and the next run makes a new one"},
		{"an origin elsewhere", func(t *testing.T, dir string) {
			path := filepath.Join(dir, originName)
			if err := os.Rename(path, dir+".json"); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(dir+".json", path); err != nil {
				t.Fatal(err)
			}
		}, "leads out of"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := signedRun(t)
			test.attack(t, dir)
			err := MadeHere(dir, "list")
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
	info, err := os.Stat(filepath.Join(state, "tune", "key"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key: %v, %v", info.Mode(), err)
	}
}

// Runs that are the first ones, at once, have the same key.
func TestOriginRace(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	var keys [16]string
	var wait sync.WaitGroup
	for i := range keys {
		wait.Go(func() {
			key, err := stateKey(true)
			if err != nil {
				t.Error(err)
			}
			keys[i] = string(key)
		})
	}
	wait.Wait()
	for _, k := range keys {
		if k != keys[0] || len(k) != keyBytes {
			t.Errorf("%x, and the first is %x", k, keys[0])
		}
	}
}

// The order in which files are named does not count, and every one of them does.
func TestOriginOfFiles(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	dir := signedRun(t)
	must(t, os.WriteFile(filepath.Join(dir, "more"), []byte("what it reads"), 0o600), Sign(dir, originSettings, "more", "list"), MadeHere(dir, "list", "more"), MadeHere(dir, "more", "list"))
	for _, names := range [][]string{nil, {"list"}, {"list", "list"}, {"list", "more", "more"}} {
		checkError(t, MadeHere(dir, names...), "changed since")
	}
	checkError(t, MadeHere(dir, "list", "more", "none"), "none")
}

// The key is in the folder of the user's state, and a folder that is named relative to wherever tune runs is none.
func TestOriginState(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Chdir(t.TempDir())
	for _, state := range []string{"", "state", "./state"} {
		t.Setenv("XDG_STATE_HOME", state)
		must(t, MadeHere(signedRun(t), "list"))
		if entries, err := os.ReadDir("."); err != nil || len(entries) > 0 {
			t.Errorf("with the state in %q the working folder holds %v, %v", state, entries, err)
		}
	}
	if _, err := os.Stat(filepath.Join(home, ".local", "state", "tune", "key")); err != nil {
		t.Error(err)
	}
	dir := signedRun(t)
	for _, home := range []string{"", "home"} { // a key in the working folder would be that of whoever works there
		t.Setenv("HOME", home)
		checkError(t, Sign(dir, originSettings, "list"), "neither HOME nor XDG_STATE_HOME is an absolute path: set one of them")
		checkError(t, MadeHere(dir, "list"), "neither HOME nor XDG_STATE_HOME is an absolute path: set one of them")
	}
}

// A run can be signed before its settings are written, so that no kill leaves a run without the mark.
func TestOriginFirst(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	dir := filepath.Join(t.TempDir(), "run")
	run, err := Create(dir, Settings{Kernel: "k", Strategy: "random", Shape: "n=4", Created: time.Now()}, func(dir string, s Settings) error {
		if _, err := os.Stat(filepath.Join(dir, SettingsName)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the settings are there already: %v", err)
		}
		must(t, os.WriteFile(filepath.Join(dir, "list"), []byte("what it starts"), 0o600))
		return Sign(dir, s, "list")
	})
	if err != nil {
		t.Fatal(err)
	}
	must(t, run.Close(), MadeHere(dir, "list"))
}
