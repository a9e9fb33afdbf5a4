package cc

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"tune/internal/cpu"
	"tune/internal/pattern"
	"tune/kernels"
	"tune/space"
)

// Limits of one compilation.
const (
	defaultTimeout  = 60 * time.Second // of wall time, and of CPU time
	defaultMaxBytes = 1 << 30          // of the cache on disk
	memoryLimit     = 4 << 30          // bytes of address space of each process
	objectLimit     = 256 << 20        // bytes of each file that it writes
	stderrLimit     = 64 << 10         // bytes of its messages that are kept
)

// Toolchain compiles source text into shared objects. Goroutines may share it. Set its fields before its first use.
type Toolchain struct {
	// MaxBytes bounds the cache: beyond it the least recently used objects are removed. Those used in the last minutes stay,
	// because a process may be about to load them. 0 means 1 GiB.
	MaxBytes int64
	// Jobs is how many compilers run at once; 0 means one for each core.
	Jobs int

	cache     cache
	compilers []Compiler

	once  sync.Once
	slots chan struct{}

	mu      sync.Mutex
	flights map[string]*flight
	stats   Stats
	park    park
}

// Stats counts what a toolchain has done.
type Stats struct {
	Compiled int           // compilations, failed ones included
	Hits     int           // objects that were found in the cache
	Time     time.Duration // total wall time of the compilers
}

// flight is one compilation that several callers may wait for.
type flight struct {
	done    chan struct{}
	cancel  context.CancelFunc
	waiting int
	so      string
	err     error
}

// CacheDir returns the directory of the cache, which it creates where there is none.
func (t *Toolchain) CacheDir() (string, error) {
	t.setLimits()
	err := t.cache.prepare()
	return t.cache.dir, err
}

// New returns a toolchain with the given compilers and its cache in dir, which is created when it is needed; "" means this
// user's cache.
func New(dir string, compilers []Compiler) *Toolchain {
	return &Toolchain{cache: cache{dir: dir}, compilers: slices.Clone(compilers), flights: map[string]*flight{}}
}

// setLimits sets the limits before the first use.
func (t *Toolchain) setLimits() {
	t.once.Do(func() {
		t.slots = make(chan struct{}, or(t.Jobs, runtime.NumCPU()))
		t.cache.max = or(t.MaxBytes, defaultMaxBytes)
	})
}

// Compilers returns the compilers, the preferred one first.
func (t *Toolchain) Compilers() []Compiler { return slices.Clone(t.compilers) }

// Stats returns the counts so far.
func (t *Toolchain) Stats() Stats {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.stats
}

// Compiler returns the compiler of the given name, or the preferred one for "". One that is not installed is a
// *kernels.Rejection.
func (t *Toolchain) Compiler(name string) (Compiler, error) {
	if len(t.compilers) == 0 {
		return Compiler{}, ErrNone
	}
	if name == "" {
		return t.compilers[0], nil
	}
	var names []string
	for _, c := range t.compilers {
		if c.Name == name {
			return c, nil
		}
		names = append(names, c.Name)
	}
	return Compiler{}, kernels.Reject(space.Invalid, "compiler %s is not installed: there is %s", name, strings.Join(names, ", "))
}

// Build compiles one translation unit in the given language, "c" or "c++", and returns the path of the shared object. compiler is
// a name, "" for the preferred one; flags come in addition to -shared and -fPIC. A text that does not compile is a
// *kernels.Rejection with status CompileFailed and the first errors, and so is one from which no shared object was made; one that
// takes too long has status Timeout.
func (t *Toolchain) Build(ctx context.Context, lang, text string, compiler string, flags []string) (so string, err error) {
	return t.BuildWithin(ctx, defaultTimeout, lang, text, compiler, flags)
}

// BuildWithin is Build with a bound on the time of the compilation; 0 means a minute.
func (t *Toolchain) BuildWithin(ctx context.Context, limit time.Duration, lang, text string, compiler string, flags []string) (so string, err error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	c, err := t.Compiler(compiler)
	if err != nil {
		return "", err
	}
	if _, ok := extensions[lang]; !ok {
		return "", fmt.Errorf("cc: unknown language %q: want c or c++", lang)
	}
	t.setLimits()
	u := unit{lang: lang, text: text, compiler: c, flags: flags, limit: or(limit, defaultTimeout)}
	id := u.hash(text) + u.limit.String() // callers with different limits do not wait for each other

	t.mu.Lock()
	f := t.flights[id]
	if f == nil {
		inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
		f = &flight{done: make(chan struct{}), cancel: cancel}
		t.flights[id] = f
		go func() {
			defer cancel()
			f.so, f.err = t.build(inner, u)
			t.mu.Lock()
			if t.flights[id] == f {
				delete(t.flights, id)
			}
			t.mu.Unlock()
			close(f.done)
		}()
	}
	f.waiting++
	t.mu.Unlock()

	select {
	case <-f.done:
		return f.so, f.err
	case <-ctx.Done():
	}
	t.mu.Lock()
	if f.waiting--; f.waiting == 0 {
		// Nobody waits for it any more. A later caller must not join a compilation that is being killed.
		if t.flights[id] == f {
			delete(t.flights, id)
		}
		f.cancel()
	}
	last := f.waiting == 0
	t.mu.Unlock()
	if last {
		<-f.done // so that no process is left when Build returns
	}
	return "", ctx.Err()
}

func or[T int | int64 | time.Duration](v, fallback T) T {
	if v > 0 {
		return v
	}
	return fallback
}

// unit is one thing to compile.
type unit struct {
	lang, text string
	compiler   Compiler
	flags      []string
	limit      time.Duration // of the compilation
}

var extensions = map[string]string{"c": "c", "c++": "cc"}

// file is the name of the source, as messages show it.
func (u unit) file() string { return "kernel." + extensions[u.lang] }

// Command returns the command line that makes a shared object from a source file, for users to repeat. The libraries among the flags
// come behind the source, which needs them: of an archive before it a linker takes nothing, and some linkers forget shared ones too.
func Command(lang, compiler string, flags []string, source, object string) []string {
	flags, libraries := splitLibraries(flags)
	return command(lang, compiler, flags, libraries, source, object)
}

// Command1 is Command as tune 0.1.0 had it, with the libraries where they are among the flags.
func Command1(lang, compiler string, flags []string, source, object string) []string {
	return command(lang, compiler, flags, nil, source, object)
}

func command(lang, compiler string, flags, libraries []string, source, object string) []string {
	line := append([]string{compiler}, flags...)
	line = append(line, "-shared", "-fPIC", "-o", object, source)
	line = append(line, libraries...)
	if lang == "c++" {
		line = append(line, "-lstdc++")
	}
	return append(line, "-lm")
}

// ObjectCommand returns the command line that makes an object to be linked into a program. It lacks a flag for the linker that matters only to
// the shared objects that tune loads.
func ObjectCommand(compiler string, flags []string, source, object string) []string {
	line := []string{compiler}
	for _, f := range flags {
		if f != "-Wl,-Bsymbolic" {
			line = append(line, f)
		}
	}
	return append(line, "-c", "-o", object, source)
}

// splitLibraries splits flags into those that name libraries, such as -lblas and lib/libfast.a, and the others.
func splitLibraries(flags []string) (others, libraries []string) {
	for i, f := range flags {
		if strings.HasPrefix(f, "-l") || IsLibrary(f) || i > 0 && flags[i-1] == "-l" {
			libraries = append(libraries, f)
		} else {
			others = append(others, f)
		}
	}
	return others, libraries
}

// IsLibrary reports whether a flag is the path of a library.
func IsLibrary(flag string) bool {
	return !strings.HasPrefix(flag, "-") && (strings.HasSuffix(flag, ".a") || strings.HasSuffix(flag, ".so"))
}

// linked says which version of its libraries a unit is linked with, as far as the flags say where they are: an archive becomes part
// of the object. "" is for none.
func (u unit) linked() string {
	others, libraries := splitLibraries(u.flags)
	var dirs, paths []string
	for i, f := range others {
		if dir, ok := strings.CutPrefix(f, "-L"); ok && dir != "" {
			dirs = append(dirs, dir)
		} else if i > 0 && others[i-1] == "-L" {
			dirs = append(dirs, f)
		}
	}
	for _, l := range libraries {
		if IsLibrary(l) {
			paths = append(paths, l)
			continue
		}
		name := "lib" + strings.TrimPrefix(l, "-l")
		for _, dir := range dirs {
			paths = append(paths, filepath.Join(dir, name+".a"), filepath.Join(dir, name+".so"))
		}
	}
	var text strings.Builder
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil {
			fmt.Fprintf(&text, "%s %d %d\n", path, info.Size(), info.ModTime().UnixNano())
		}
	}
	return text.String()
}

// hash returns the name of the object in the cache. text is what the compiler finally reads.
func (u unit) hash(text string) string {
	h := sha256.New()
	part := func(s string) { fmt.Fprintf(h, "%d:%s", len(s), s) }
	const format = "1" // changes with the command line and the layout of the cache
	for _, s := range []string{format, u.lang, u.compiler.Path, u.compiler.Version, cpu.Identity()} {
		part(s)
	}
	fmt.Fprintf(h, "%d flags", len(u.flags))
	for _, f := range u.flags {
		part(f)
	}
	if _, libraries := splitLibraries(u.flags); len(libraries) > 0 {
		part("libraries behind the source")
		part(u.linked())
	}
	part(text)
	return hex.EncodeToString(h.Sum(nil))
}

// Includes of files whose content the text of a unit does not show.
var localInclude = pattern.Lazy(`(?m)^[ \t]*#[ \t]*(include(_next)?[ \t]*[^ \t<]|embed)`)

// includes reports whether a text includes files other than those of the system. It asks the pattern about directives alone: a text has few of them,
// and to search all of it takes milliseconds.
func includes(text string) bool {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimLeft(line, " \t"), "#") && localInclude().MatchString(line) {
			return true
		}
	}
	return false
}

// reads reports whether a unit reads files other than those of the system.
func (u unit) reads() bool {
	return includes(u.text) || slices.ContainsFunc(u.flags, func(f string) bool {
		for _, prefix := range []string{"-I", "-i", "@", "--include", "-B", "--sysroot", "-Xclang", "-Wp,"} {
			if strings.HasPrefix(f, prefix) {
				return true
			}
		}
		return false
	})
}

// build returns the object of a unit from the cache, or compiles it.
func (t *Toolchain) build(ctx context.Context, u unit) (string, error) {
	if err := t.cache.prepare(); err != nil {
		return "", err
	}
	text := u.text
	if !u.reads() {
		if so, ok := t.cache.lookup(u.hash(text)); ok {
			t.count(func(s *Stats) { s.Hits++ })
			return so, nil
		}
	}
	select {
	case t.slots <- struct{}{}:
	case <-ctx.Done():
		return "", ctx.Err()
	}
	defer func() { <-t.slots }()
	dir, err := os.MkdirTemp(t.cache.dir, scratchPrefix)
	if err != nil && !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EDQUOT) {
		err = unusable(err)
	}
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, u.file()), []byte(u.text), 0o600); err != nil {
		return "", err
	}
	const object = "kernel.so"
	if u.reads() {
		// The included files may change between two calls, so their content is part of the name of the object.
		if err := t.compile(ctx, u, dir, append(slices.Clone(u.flags), "-E", "-P", "-o", "kernel.i", u.file())); err != nil {
			return "", err
		}
		b, err := os.ReadFile(filepath.Join(dir, "kernel.i"))
		if errors.Is(err, fs.ErrNotExist) {
			return "", noObject(u)
		}
		if err != nil {
			return "", err
		}
		text = u.text + "\x00" + string(b)
		if so, ok := t.cache.lookup(u.hash(text)); ok {
			t.count(func(s *Stats) { s.Hits++ })
			return so, nil
		}
	}
	start := time.Now()
	err = t.compile(ctx, u, dir, Command(u.lang, u.compiler.Path, u.flags, u.file(), object)[1:])
	t.count(func(s *Stats) { s.Compiled++; s.Time += time.Since(start) })
	if err != nil {
		return "", err
	}
	// Only objects enter the cache: some flags make a compiler end with success without one.
	if !isObject(filepath.Join(dir, object)) {
		return "", noObject(u)
	}
	return t.cache.insert(u.hash(text), filepath.Join(dir, object))
}

// noObject is the rejection of a unit whose compiler ended with success and made nothing that can be loaded.
func noObject(u unit) error {
	return kernels.Reject(space.CompileFailed, "%s made no shared object: flags such as -fsyntax-only or -E keep it from that", u.compiler.Name)
}

func (t *Toolchain) count(f func(*Stats)) {
	t.mu.Lock()
	f(&t.stats)
	t.mu.Unlock()
}

// compile runs the compiler of a unit in dir and converts a failure into an error.
func (t *Toolchain) compile(ctx context.Context, u unit, dir string, args []string) error {
	limited, cancel := context.WithTimeoutCause(ctx, u.limit, errTimeout)
	defer cancel()
	messages := &head{limit: stderrLimit}
	err := t.park.run(limited, u.compiler, args, dir, messages, u.limit)
	text := messages.String()
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case context.Cause(limited) == errTimeout:
		return kernels.Reject(space.Timeout, "%s did not end within %v", u.compiler.Name, u.limit)
	case strings.Contains(text, "No space left on device"):
		return fmt.Errorf("%s: no space left on the device of %s", u.compiler.Name, dir)
	}
	if _, ended := errors.AsType[*exitError](err); !ended {
		return fmt.Errorf("cannot run %s: %w", u.compiler.Path, err)
	}
	if reason := firstErrors(text); reason != "" {
		return kernels.Reject(space.CompileFailed, "%s: %s%s%s", u.compiler.Name, reason, limitReached(text), lacks(u, text))
	}
	return kernels.Reject(space.CompileFailed, "%s: %v", u.compiler.Name, err)
}

var errTimeout = errors.New("the time for a compilation is over")

// unknownFlag matches the complaint of a compiler about a flag that it does not know: of gcc with quotes of either kind, and of clang.
var unknownFlag = pattern.Lazy("(?:unrecognized command[- ]line option|unknown argument:|unsupported option) *['\"‘`]?(-[^'\"’; ]+)")

// lacks returns the flags of a unit that its compiler does not know, and what to do about it, as the end of a sentence; "" for none.
func lacks(u unit, text string) string {
	var unknown []string
	for _, m := range unknownFlag().FindAllStringSubmatch(text, -1) {
		if slices.Contains(u.flags, m[1]) && !slices.Contains(unknown, m[1]) {
			unknown = append(unknown, m[1])
		}
	}
	if len(unknown) == 0 {
		return ""
	}
	return fmt.Sprintf(" (%s does not know %s: a newer compiler may; install one, or name it in the variable CC)", u.compiler.Version, strings.Join(unknown, ", "))
}

// limitReached returns the limit of tune's that a compiler's messages complain of, as the end of a sentence; "" for none.
func limitReached(text string) string {
	for _, l := range []struct {
		words []string
		limit string
	}{
		{[]string{"File size limit exceeded", "File too large"}, fmt.Sprintf("each file that a compiler writes to %d MiB", objectLimit>>20)},
		{[]string{"out of memory", "memory exhausted", "annot allocate memory", "bad_alloc"}, fmt.Sprintf("the memory of each process of a compiler to %d GiB", memoryLimit>>30)},
	} {
		if slices.ContainsFunc(l.words, func(w string) bool { return strings.Contains(text, w) }) {
			return " (tune limits " + l.limit + ")"
		}
	}
	return ""
}

// firstErrors returns the lines of a compiler's messages that say what is wrong.
func firstErrors(text string) string {
	const most, width = 3, 300
	var lines, others []string
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.ToValidUTF8(strings.TrimSpace(line), "?")
		if line == "" {
			continue
		}
		if len(line) > width {
			line = strings.ToValidUTF8(line[:width], "") + " …"
		}
		// That the linker failed says nothing beside its own lines.
		linked := strings.Contains(line, "ld returned ") || strings.Contains(line, "linker command failed")
		if !linked && strings.Contains(line, "error:") || strings.Contains(line, "undefined reference") || strings.Contains(line, "compiler error") {
			lines = append(lines, line)
		} else {
			others = append(others, line)
		}
	}
	if len(lines) == 0 {
		lines = others
	}
	if len(lines) > most {
		lines = append(lines[:most:most], fmt.Sprintf("and %d more lines", len(lines)-most))
	}
	return strings.Join(lines, "; ")
}

// head keeps the first bytes that are written to it.
type head struct {
	limit int
	b     []byte
}

var _ io.Writer = (*head)(nil)

func (h *head) Write(p []byte) (int, error) {
	h.b = append(h.b, p[:min(len(p), h.limit-len(h.b))]...)
	return len(p), nil
}

func (h *head) String() string { return string(h.b) }
