package nativetest

import (
	"bytes"
	"crypto/sha256"
	"encoding/gob"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tune/internal/cpu"
	"tune/internal/files"
)

// keptFor is how long what tests have compiled is kept after its last use.
const keptFor = 30 * 24 * time.Hour

// built is what a command has made in a directory.
type built struct {
	Output []byte
	Files  []builtFile
}

type builtFile struct {
	Name string
	Mode fs.FileMode
	Data []byte
}

// Make runs make in a directory. What it compiled there in an earlier test, from the same files with the same compilers, is put back
// before: so make does only the rest, such as to run a self-test. What it compiles may depend on no file elsewhere, and not on PREFIX.
func Make(t testing.TB, dir string, args ...string) ([]byte, error) {
	t.Helper()
	key := keyOf(t, dir, "make", args)
	if b := readBuilt(t, key); b != nil {
		b.restore(t, dir)
		return command(t, dir, "make", args).CombinedOutput()
	}
	return build(t, dir, key, "make", args)
}

// Compile runs a compiler in a directory. If it was run in an earlier test, on the same files, what it made then is put back instead. What
// it compiles may depend on no file elsewhere.
func Compile(t testing.TB, dir, compiler string, args ...string) ([]byte, error) {
	t.Helper()
	key := keyOf(t, dir, compiler, args)
	if b := readBuilt(t, key); b != nil {
		b.restore(t, dir)
		return b.Output, nil
	}
	return build(t, dir, key, compiler, args)
}

func command(t testing.TB, dir, name string, args []string) *exec.Cmd {
	c := exec.CommandContext(t.Context(), name, args...)
	c.Dir = dir
	return c
}

// build runs a command, and keeps the files that it makes. Those that make has made are right even where it fails, as where a self-test finds
// a fault. A compiler has to succeed.
func build(t testing.TB, dir, key, name string, args []string) ([]byte, error) {
	t.Helper()
	before := filesIn(t, dir)
	out, err := command(t, dir, name, args).CombinedOutput()
	if t.Context().Err() != nil || err != nil && name != "make" {
		return out, err
	}
	b := built{Output: out}
	for path, info := range filesIn(t, dir) {
		if old, ok := before[path]; ok && old.ModTime().Equal(info.ModTime()) {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, path))
		if err != nil {
			t.Fatal(err)
		}
		b.Files = append(b.Files, builtFile{path, info.Mode().Perm(), data})
	}
	b.keep(t, key)
	return out, err
}

// filesIn returns the files of a directory and of those in it.
func filesIn(t testing.TB, dir string) map[string]fs.FileInfo {
	t.Helper()
	in := map[string]fs.FileInfo{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		in[name] = info
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// keyOf names what a command makes: by its arguments, the compilers of this machine, and all files of the directory.
func keyOf(t testing.TB, dir, name string, args []string) string {
	t.Helper()
	sum := sha256.New()
	fmt.Fprintf(sum, "%s\n%q\n", tools(), name)
	for _, arg := range args {
		if !strings.HasPrefix(arg, "PREFIX=") {
			fmt.Fprintf(sum, "%q\n", arg)
		}
	}
	in := filesIn(t, dir)
	for _, path := range slices.Sorted(maps.Keys(in)) {
		data, err := os.ReadFile(filepath.Join(dir, path))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(sum, "%q %v %x\n", path, in[path].Mode().Perm(), sha256.Sum256(data))
	}
	return fmt.Sprintf("%x", sum.Sum(nil))
}

// tools describes the processor, the compilers, and what make takes from the environment.
var tools = sync.OnceValue(func() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s ", cpu.Fingerprint()) // for flags such as -march=native
	for _, name := range []string{"CC", "CXX", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "CPATH", "LIBRARY_PATH", "MAKEFLAGS", "AR", "OBJCOPY"} {
		fmt.Fprintf(&b, "%s=%q ", name, os.Getenv(name))
	}
	for _, name := range []string{"cc", "gcc", "g++", "clang", "clang++", "ld", "as", "ar", "objcopy"} {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		if info, err := os.Stat(path); err == nil {
			fmt.Fprintf(&b, "%s %d %v ", path, info.Size(), info.ModTime())
		}
	}
	return b.String()
})

// keptDir is where what tests have compiled is kept. Old files are removed when it is first used.
var keptDir = sync.OnceValues(func() (string, error) {
	dir := filepath.Join(os.TempDir(), "tune-built-test-cache")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	old, err := os.ReadDir(dir)
	for _, f := range old {
		if info, err := f.Info(); err == nil && time.Since(info.ModTime()) > keptFor {
			os.Remove(filepath.Join(dir, f.Name())) // another test may have done it
		}
	}
	return dir, err
})

// readBuilt returns what a command has made, or nil if that is not kept.
func readBuilt(t testing.TB, key string) *built {
	t.Helper()
	dir, err := keptDir()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, key)
	data, err := os.ReadFile(path)
	var b built
	if err != nil || gob.NewDecoder(bytes.NewReader(data)).Decode(&b) != nil {
		return nil
	}
	now := time.Now()
	if err := os.Chtimes(path, now, now); err != nil {
		t.Logf("it may be removed early: %v", err)
	}
	return &b
}

func (b built) keep(t testing.TB, key string) {
	t.Helper()
	dir, err := keptDir()
	if err != nil {
		t.Fatal(err)
	}
	err = files.Out(filepath.Join(dir, key), false, func(w io.Writer) error { return gob.NewEncoder(w).Encode(b) })
	if err != nil {
		t.Fatal(err)
	}
}

// restore writes the files. All get one time, so that make finds them up to date.
func (b built) restore(t testing.TB, dir string) {
	t.Helper()
	now := time.Now()
	for _, f := range b.Files {
		path := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, f.Mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, f.Mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, now, now); err != nil {
			t.Fatal(err)
		}
	}
}
