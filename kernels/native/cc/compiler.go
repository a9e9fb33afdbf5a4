package cc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Compiler is a C compiler of this machine. It compiles C++ too where the support for it is installed.
type Compiler struct {
	Name    string `json:"name"`    // "gcc", "clang", or the base name of $CC
	Path    string `json:"path"`    // absolute
	Version string `json:"version"` // the first line that it prints for --version
}

// ErrNone says that the machine has no C compiler, and what to do about it. An error about the compiler that CC names is ErrNone too.
var ErrNone = errors.New("no C compiler found: install gcc (apt-get install gcc) or set CC")

// namedError is ErrNone where CC names the compiler.
type namedError string

func (e namedError) Error() string {
	return fmt.Sprintf("CC is %q, which is not a compiler that can be run: unset it or name one", string(e))
}

func (e namedError) Is(target error) bool { return target == ErrNone }

// because adds to an error why the compilers that were tried cannot be run, in the same line.
func because(err error, broken []error) error {
	for _, b := range broken {
		err = fmt.Errorf("%w; %w", err, b)
	}
	return err
}

// versionTimeout bounds how long a compiler may take to say its version.
const versionTimeout = 10 * time.Second

// Names are the compilers that Find looks for by name, the preferred one first.
var Names = []string{"gcc", "clang"}

// Find returns the compilers on PATH: that of $CC first, if set, then gcc and clang, or cc where there is neither. It fails with
// ErrNone where none of them works.
func Find(ctx context.Context) ([]Compiler, error) {
	var found []Compiler
	var broken []error
	try := func(asked answer) bool {
		c, err := asked()
		switch {
		case err != nil:
			broken = append(broken, fmt.Errorf("%s: %w", c.Path, err))
			return false
		case c.Path == "":
			return false
		case !slices.ContainsFunc(found, func(other Compiler) bool { return other.Name == c.Name }):
			found = append(found, c)
		}
		return true
	}
	if named := os.Getenv("CC"); named != "" && !try(ask(ctx, named)) {
		return nil, cmp.Or(ctx.Err(), because(namedError(named), broken))
	}
	// A compiler takes some hundredths of a second to say its version, so that both are asked at the same time.
	gcc, clang := ask(ctx, Names[0]), ask(ctx, Names[1])
	hasGCC, hasClang := try(gcc), try(clang)
	if !hasGCC && !hasClang && len(found) == 0 {
		try(ask(ctx, "cc"))
	}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case len(found) == 0:
		return nil, because(ErrNone, broken)
	}
	return found, nil
}

// answer waits for what a command says that may be a compiler: the path is "" where there is no such command, and an error says why it is
// no compiler.
type answer func() (Compiler, error)

// ask asks a command for its version, on another goroutine, where it is not known.
func ask(ctx context.Context, command string) answer {
	path, err := exec.LookPath(command)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return func() (Compiler, error) { return Compiler{}, nil }
	}
	said := make(chan error, 1)
	c := Compiler{Name: filepath.Base(command), Path: path}
	go func() {
		var err error
		file := identified(path)
		if c.Version = known(file); c.Version == "" {
			if c.Version, err = version(ctx, path); err == nil && file != "" {
				keep(file, c.Version)
			}
		}
		said <- err
	}()
	return sync.OnceValues(func() (Compiler, error) { err := <-said; return c, err })
}

// version asks a compiler for its version.
func version(ctx context.Context, path string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.Env = environment("")
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		return "", err
	}
	line, _, _ := strings.Cut(string(out), "\n")
	if line = strings.TrimSpace(line); line == "" {
		return "", errors.New("it prints no version")
	}
	return line, nil
}

// environment returns the environment of a compiler: that of this process, with messages in English and, where dir
// is set, temporary files below it.
func environment(dir string) []string {
	env := slices.DeleteFunc(os.Environ(), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		// Variables that add paths or options unknown to the key would make wrong cache entries.
		return name == "LANG" || strings.HasPrefix(name, "LC_") || name == "TMPDIR" || name == "CPATH" ||
			name == "C_INCLUDE_PATH" || name == "CPLUS_INCLUDE_PATH" || name == "LIBRARY_PATH" || name == "DEPENDENCIES_OUTPUT" ||
			name == "SUNPRO_DEPENDENCIES" || name == "GCC_EXEC_PREFIX" || name == "CCC_OVERRIDE_OPTIONS"
	})
	env = append(env, "LC_ALL=C")
	if dir != "" {
		env = append(env, "TMPDIR="+dir)
	}
	return env
}
