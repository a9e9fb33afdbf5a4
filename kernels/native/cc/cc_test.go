package cc

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tune/kernels"
	"tune/space"
)

// helperDir is the environment variable that makes the test binary another process that compiles, hangDir the one that makes it
// compile what never ends, and pauseDir the one that makes it pause such a compiler.
const (
	helperDir = "TUNE_CC_TEST_DIR"
	hangDir   = "TUNE_CC_TEST_HANG"
	pauseDir  = "TUNE_CC_TEST_PAUSE"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(helperDir); dir != "" {
		os.Exit(helper(dir))
	}
	if dir := os.Getenv(hangDir); dir != "" {
		found, err := Find(context.Background())
		if err == nil {
			_, err = New(dir, found).Build(context.Background(), "c++", hopeless, "", nil)
		}
		fmt.Println(err)
		os.Exit(1)
	}
	if dir := os.Getenv(pauseDir); dir != "" {
		fmt.Println(pauseSlow(dir))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// helper builds what the other process builds, over and over.
func helper(dir string) int {
	found, err := Find(context.Background())
	if err != nil {
		fmt.Println(err)
		return 1
	}
	for i := range 4 {
		tc := New(dir, found)
		so, err := tc.Build(context.Background(), "c", numbered(i), "", []string{"-O1"})
		if err == nil && !isObject(so) {
			err = fmt.Errorf("%s is no object", so)
		}
		if err != nil {
			fmt.Println(err)
			return 1
		}
	}
	return 0
}

// pauseSlow starts a compiler that never ends, in a process of its driver, and pauses it; it returns only where that fails. Without the
// trap, the system would end what is stopped when its session loses its parent.
func pauseSlow(dir string) error {
	driver := filepath.Join(dir, "driver")
	if err := os.WriteFile(driver, []byte("#!/bin/sh\ntrap '' HUP\nsleep 1000 & wait\n"), 0o700); err != nil {
		return err
	}
	tc := New(filepath.Join(dir, "cache"), []Compiler{{Name: "gcc", Path: driver, Version: "gcc 1"}})
	ended := make(chan error, 1)
	go func() {
		_, err := tc.Build(context.Background(), "c", numbered(1), "", nil)
		ended <- err
	}()
	for {
		if slices.Contains(working(dir), "sleep S") {
			tc.Pause()
		}
		select {
		case err := <-ended:
			return err
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// working lists the programs of the processes that work in a directory, each with its state.
func working(dir string) (programs []string) {
	links, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, link := range links {
		if cwd, err := os.Readlink(link); err == nil && strings.HasPrefix(cwd, dir) {
			stat, _ := os.ReadFile(filepath.Join(filepath.Dir(link), "stat"))
			_, program, _ := strings.Cut(string(stat), "(")
			if name, rest, found := strings.Cut(program, ") "); found {
				programs = append(programs, name+" "+rest[:1])
			}
		}
	}
	slices.Sort(programs)
	return programs
}

// await waits until the programs that work in a directory are as wanted.
func await(t *testing.T, dir, what string, wanted func(programs []string) bool) {
	t.Helper()
	for range 1000 {
		if wanted(working(dir)) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%s: %v", what, working(dir))
}

func numbered(i int) string { return fmt.Sprintf("int f(void) { return %d; }\n", i) }

func compilers(t testing.TB) []Compiler {
	t.Helper()
	found, err := Find(t.Context())
	if errors.Is(err, ErrNone) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func toolchain(t testing.TB) *Toolchain { return New(t.TempDir(), compilers(t)) }

func TestFind(t *testing.T) {
	for _, c := range compilers(t) {
		if c.Name == "" || !filepath.IsAbs(c.Path) || !strings.ContainsAny(c.Version, "0123456789") {
			t.Errorf("found %+v", c)
		}
	}
	t.Setenv("PATH", t.TempDir())
	t.Setenv("CC", "")
	if _, err := Find(t.Context()); !errors.Is(err, ErrNone) {
		t.Errorf("Find without a compiler returned %v, want %v", err, ErrNone)
	}
	t.Setenv("CC", "/no/such/compiler")
	if _, err := Find(t.Context()); err == nil || !strings.Contains(err.Error(), "/no/such/compiler") {
		t.Errorf("Find with a wrong CC returned %v", err)
	}
	broken := filepath.Join(t.TempDir(), "gcc")
	if err := os.WriteFile(broken, []byte("#!/bin/sh\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CC", broken)
	if _, err := Find(t.Context()); !errors.Is(err, ErrNone) || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "unset it or name one; "+broken+": ") {
		t.Errorf("Find with a CC that is broken returned %v", err)
	}
	if _, err := New(t.TempDir(), nil).Build(t.Context(), "c", numbered(1), "", nil); !errors.Is(err, ErrNone) {
		t.Errorf("Build without a compiler returned %v, want %v", err, ErrNone)
	}
}

// TestKnown: the version of a compiler is kept until its file is another one, and that of a script is not kept.
func TestKnown(t *testing.T) {
	path, err := exec.LookPath("gcc")
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil || runtime.GOOS != "linux" {
		t.Skip("needs gcc on Linux")
	}
	program, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	dir, cache := t.TempDir(), t.TempDir()
	t.Setenv("PATH", dir)
	t.Setenv("CC", "")
	t.Setenv("XDG_CACHE_HOME", cache)
	install := func(text []byte) {
		if err := os.WriteFile(filepath.Join(dir, "gcc"), text, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	says := func() string {
		found, err := Find(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return found[0].Version
	}
	kept := func() []string {
		files, err := filepath.Glob(filepath.Join(cache, "tune", "compilers", "*"))
		if err != nil {
			t.Fatal(err)
		}
		return files
	}
	install(program)
	version := says()
	if version == "" || len(kept()) != 1 {
		t.Fatalf("the version is %q, and %q is kept", version, kept())
	}
	for text, want := range map[string]string{"other 1\n": "other 1", "cut off": version, "": version, "two\nlines\n": version} {
		if err := os.WriteFile(kept()[0], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := says(); got != want {
			t.Errorf("with %q in the file the version is %q, want %q", text, got, want)
		}
	}
	install(append(program, 0))
	if got := says(); got != version || len(kept()) != 2 {
		t.Errorf("the version of another file is %q, want %q; kept: %q", got, version, kept())
	}
	install([]byte("#!/bin/sh\necho script 1\n"))
	if got := says(); got != "script 1" || len(kept()) != 2 {
		t.Errorf("the version of a script is %q; kept: %q", got, kept())
	}
}

func TestBuild(t *testing.T) {
	tc := toolchain(t)
	for _, c := range tc.Compilers() {
		for _, lang := range []string{"c", "c++"} {
			text := numbered(1)
			if lang == "c++" {
				text = "#include <string.h>\nextern \"C\" int f(void) { auto x = strlen(\"four\"); return (int)x; }\n"
			}
			so, err := tc.Build(t.Context(), lang, text, c.Name, []string{"-O2"})
			if err != nil {
				t.Errorf("%s, %s: %v", c.Name, lang, err)
				continue
			}
			if !filepath.IsAbs(so) || !isObject(so) {
				t.Errorf("%s, %s: %s is no object", c.Name, lang, so)
			}
		}
	}
	entries, err := os.ReadDir(tc.cache.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), objectSuffix) {
			t.Errorf("%s was left in the cache", e.Name())
		}
	}
}

// TestRejected: what a candidate does wrong is told with the place where.
func TestRejected(t *testing.T) {
	tc := toolchain(t)
	tests := []struct {
		name, lang, text string
		flags            []string
		status           space.Status
		want             string
	}{
		{"syntax", "c", "int f(void) {\n\treturn 1\n}\n", nil, space.CompileFailed, "kernel.c:2:"},
		{"unknown name", "c++", "int g() { return h(); }\n", nil, space.CompileFailed, "kernel.cc:1:"},
		{"missing header", "c", "#include <no/such/header.h>\n", nil, space.CompileFailed, "no/such/header.h"},
		{"flag", "c", numbered(1), []string{"-march=nosuchcpu"}, space.CompileFailed, "nosuchcpu"},
		{"unknown flag", "c", numbered(1), []string{"-O1", "-mnosuchset"}, space.CompileFailed, tc.Compilers()[0].Version + " does not know -mnosuchset: a newer compiler may; install one, or name it in the variable CC)"},
		{"many errors", "c", strings.Repeat("x;;y z\n", 1000), nil, space.CompileFailed, "more lines"},
		{"huge object", "c", "char x[1L<<29] = {1};\n", nil, space.CompileFailed, "(tune limits each file that a compiler writes to 256 MiB)"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := tc.Build(t.Context(), test.lang, test.text, "", test.flags)
			r := kernels.AsRejection(err)
			if r == nil || r.Status != test.status || !strings.Contains(r.Reason, test.want) {
				t.Fatalf("got %v, want %v with %q", err, test.status, test.want)
			}
			if len(r.Reason) > 2000 || strings.Contains(r.Reason, tc.cache.dir) {
				t.Errorf("the reason is %q", r.Reason)
			}
		})
	}
	if _, err := tc.Build(t.Context(), "c", numbered(1), "tcc", nil); kernels.AsRejection(err) == nil || kernels.AsRejection(err).Status != space.Invalid {
		t.Errorf("a compiler that is not installed gave %v", err)
	}
	if _, err := tc.Build(t.Context(), "fortran", numbered(1), "", nil); err == nil || kernels.AsRejection(err) != nil {
		t.Errorf("an unknown language gave %v, want an error of the tuner", err)
	}
}

// TestLacks: the flags that a compiler does not know are named, whatever the compiler.
func TestLacks(t *testing.T) {
	u := unit{flags: []string{"-O2", "-mavxvnni", "-mamx-tile"}, compiler: Compiler{Version: "gcc 9"}}
	const end = ": a newer compiler may; install one, or name it in the variable CC)"
	for text, want := range map[string]string{
		"gcc: error: unrecognized command line option '-mavxvnni'; did you mean '-mavx512vnni'?":                                                     " (gcc 9 does not know -mavxvnni" + end,
		"gcc: error: unrecognized command-line option ‘-mavxvnni’\ngcc: error: unrecognized command-line option ‘-mamx-tile’; did you mean ‘-mabm’?": " (gcc 9 does not know -mavxvnni, -mamx-tile" + end,
		"clang: error: unknown argument: '-mamx-tile'":                            " (gcc 9 does not know -mamx-tile" + end,
		"clang: error: unsupported option '-mavxvnni' for target 'aarch64-linux'": " (gcc 9 does not know -mavxvnni" + end,
		"gcc: error: unrecognized command-line option ‘-mother’":                  "",
		"kernel.c:1:1: error: unknown type name '-mavxvnni'":                      "",
	} {
		if got := lacks(u, text); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// TestFirstErrors: what a linker misses is told, and not only that it failed.
func TestFirstErrors(t *testing.T) {
	const missing = "/usr/bin/ld: cannot find -lnone: No such file or directory"
	for text, want := range map[string]string{
		missing + "\ncollect2: error: ld returned 1 exit status":                              missing + "; collect2: error: ld returned 1 exit status",
		"ld.lld: error: none\nclang: error: linker command failed with exit code 1":           "ld.lld: error: none",
		"k.c: In function f:\nk.c:1:1: error: no\ncollect2: error: ld returned 1 exit status": "k.c:1:1: error: no",
	} {
		if got := firstErrors(text); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// TestLimitReached: where a compiler died of a limit of tune's, the reason says which.
func TestLimitReached(t *testing.T) {
	const file, memory = " (tune limits each file that a compiler writes to 256 MiB)", " (tune limits the memory of each process of a compiler to 4 GiB)"
	for text, want := range map[string]string{
		"gcc: internal compiler error: File size limit exceeded signal terminated program cc1": file,
		"/usr/bin/ld: final link failed: File too large":                                       file,
		"virtual memory exhausted: Cannot allocate memory":                                     memory,
		"cc1: out of memory allocating 65536 bytes after a total of 4096 bytes":                memory,
		"LLVM ERROR: out of memory":                                                            memory,
		"kernel.c:2:1: error: expected ';' before '}' token":                                   "",
	} {
		if got := limitReached(text); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// TestNoObject: a compiler that makes no shared object is the fault of the candidate's flags, and leaves nothing in the cache. What
// the cache has of this kind is made anew.
func TestNoObject(t *testing.T) {
	tc := toolchain(t)
	for _, c := range tc.Compilers() {
		for _, flags := range []string{
			"-fsyntax-only", "--version", "-###", "-E", "-M", "-S", "-c", "-I. -fsyntax-only", "-I. --version", "-I. -c", "-r -nostdlib",
		} {
			for range 2 {
				so, err := tc.Build(t.Context(), "c", numbered(1), c.Name, strings.Fields(flags))
				if r := kernels.AsRejection(err); r == nil || r.Status != space.CompileFailed {
					t.Errorf("%s %s: %q, %v", c.Name, flags, so, err)
				} else if !strings.HasPrefix(r.Reason, c.Name+" made no shared object") && flags != "-r -nostdlib" {
					t.Errorf("%s %s: the reason is %q", c.Name, flags, r.Reason)
				}
			}
		}
	}
	if left, err := os.ReadDir(tc.cache.dir); err != nil || len(left) > 0 {
		t.Errorf("the cache has %v, %v", left, err)
	}
	so, err := tc.Build(t.Context(), "c", numbered(1), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(so)
	if err != nil {
		t.Fatal(err)
	}
	for name, damaged := range map[string][]byte{"a text": []byte("f: f.c\n"), "cut off": whole[:len(whole)/2]} {
		if err := os.WriteFile(so, damaged, 0o700); err != nil {
			t.Fatal(err)
		}
		if again, err := tc.Build(t.Context(), "c", numbered(1), "", nil); err != nil || again != so || !isObject(so) {
			t.Errorf("%s: %s, %v", name, again, err)
		}
	}
}

// hopeless takes a compiler very long, and says nothing meanwhile: the number of instances doubles with every level.
const hopeless = `template <int N, unsigned M> struct F { static const unsigned v = F<N - 1, 2 * M>::v + F<N - 1, 2 * M + 1>::v; };
template <unsigned M> struct F<0, M> { static const unsigned v = M; };
unsigned f() { return F<26, 1>::v; }
`

// TestHang: a compilation that does not end is killed with everything that it started, whether by its timeout or
// because nobody waits for it any more.
func TestHang(t *testing.T) {
	dir := t.TempDir()
	tc := New(dir, compilers(t))
	const limit = 300 * time.Millisecond
	start := time.Now()
	_, err := tc.BuildWithin(t.Context(), limit, "c++", hopeless, "", nil)
	if r := kernels.AsRejection(err); r == nil || r.Status != space.Timeout {
		t.Fatalf("got %v, want a timeout", err)
	}
	if d := time.Since(start); d > 10*time.Second {
		t.Errorf("it took %v to end a compilation of at most %v", d, limit)
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	if _, err := tc.Build(ctx, "c++", hopeless, "", nil); err != context.DeadlineExceeded {
		t.Fatalf("got %v, want %v", err, context.DeadlineExceeded)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("%v was left in the cache (%v)", entries, err)
	}
	await(t, dir, "a compiler is left", func(programs []string) bool { return len(programs) == 0 })
}

// TestShared: callers that want the same object at once share one compilation, and one of them giving up does not
// end it for the others.
func TestShared(t *testing.T) {
	tc := toolchain(t)
	text := "#include <immintrin.h>\n" + numbered(7)
	impatient, cancel := context.WithCancel(t.Context())
	const callers = 8
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			ctx := t.Context()
			if i == 0 {
				ctx = impatient
			}
			_, err := tc.Build(ctx, "c", text, "", nil)
			if i == 0 && err != nil && err != context.Canceled || i > 0 && err != nil {
				t.Errorf("caller %d: %v", i, err)
			}
		})
	}
	together := func() bool {
		tc.mu.Lock()
		defer tc.mu.Unlock()
		for _, f := range tc.flights {
			return f.waiting == callers
		}
		return false
	}
	for range 10000 {
		if together() || tc.Stats().Compiled > 0 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	cancel()
	wg.Wait()
	if s := tc.Stats(); s.Compiled != 1 {
		t.Errorf("%d compilations for one text", s.Compiled)
	}
}

// TestCached: an object is compiled once, and again where anything that decides its bytes is different.
func TestCached(t *testing.T) {
	tc := toolchain(t)
	dir := t.TempDir()
	header := filepath.Join(dir, "value.h")
	write := func(value string) {
		if err := os.WriteFile(header, []byte("#define VALUE "+value+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	includes := "#include \"value.h\"\nint f(void) { return VALUE; }\n"
	first := map[string]string{}
	compiled := 0
	build := func(name string, fresh bool, text string, flags ...string) {
		t.Helper()
		so, err := tc.Build(t.Context(), "c", text, "", flags)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if fresh {
			compiled++
		}
		if got := tc.Stats().Compiled; got != compiled {
			t.Errorf("%s: %d compilations, want %d", name, got, compiled)
			compiled = got
		}
		if old := first[name]; old != "" && (old == so) == fresh {
			t.Errorf("%s: the object is %s, before it was %s", name, so, old)
		}
		first[name] = so
	}
	build("plain", true, numbered(1), "-O1")
	build("plain", false, numbered(1), "-O1")
	build("flags", true, numbered(1), "-O2")
	build("split flags", true, numbered(1), "-O2", "-g0")
	write("1")
	build("header", true, includes, "-I", dir)
	build("header", false, includes, "-I", dir)
	write("2")
	build("header", true, includes, "-I", dir)

	// An archive becomes part of the object, wherever it stands among the flags.
	calls := "int value(void);\nint f(void) { return value(); }\n"
	for _, value := range []string{"1", "23"} {
		archived(t, tc, dir, "int value(void) { return "+value+"; }\n")
		build("archive", true, calls, "-L"+dir, "-lvalue", "-O1")
		build("archive", false, calls, "-L"+dir, "-lvalue", "-O1")
		build("path of an archive", true, calls, filepath.Join(dir, "libvalue.a"))
		build("two words", true, calls, "-l", "value", "-L", dir)
		for _, name := range []string{"archive", "path of an archive", "two words"} {
			if runtime.GOOS == "linux" && !defines(t, first[name], "value") {
				t.Errorf("%s: the object does not have the function of the archive", name)
			}
		}
	}

	again := New(tc.cache.dir, tc.compilers)
	if _, err := again.Build(t.Context(), "c", numbered(1), "", []string{"-O1"}); err != nil || again.Stats().Compiled != 0 {
		t.Errorf("another toolchain compiled what the cache has (%v)", err)
	}
	other := tc.Compilers()
	other[0].Version += " patched"
	if _, err := New(tc.cache.dir, other).Build(t.Context(), "c", numbered(1), "", []string{"-O1"}); err != nil {
		t.Error(err)
	} else if n, _ := filepath.Glob(filepath.Join(tc.cache.dir, "*.so")); len(n) != compiled+1 {
		t.Errorf("a compiler of another version took a cached object: %d objects", len(n))
	}
	// What a failing disk left of an object is made anew.
	if err := os.Truncate(first["plain"], 0); err != nil {
		t.Fatal(err)
	}
	build("plain again", true, numbered(1), "-O1")
}

// TestCommand: libraries come behind the source. In tune 0.1.0 they did not.
func TestCommand(t *testing.T) {
	flags := strings.Fields("-lfast -O2 -L lib -l slow lib/libown.a -DA=x.a -Wl,-rpath,lib.so -llast lib.so")
	for want, command := range map[string]func(string, string, []string, string, string) []string{
		"cc -O2 -L lib -DA=x.a -Wl,-rpath,lib.so -shared -fPIC -o k.so k.cc -lfast -l slow lib/libown.a -llast lib.so -lstdc++ -lm": Command,
		"cc -lfast -O2 -L lib -l slow lib/libown.a -DA=x.a -Wl,-rpath,lib.so -llast lib.so -shared -fPIC -o k.so k.cc -lstdc++ -lm": Command1,
	} {
		if got := strings.Join(command("c++", "cc", flags, "k.cc", "k.so"), " "); got != want {
			t.Errorf("the command is\n%s, want\n%s", got, want)
		}
	}
}

// archived makes the archive libvalue.a of a source in a directory.
func archived(t *testing.T, tc *Toolchain, dir, text string) {
	t.Helper()
	source, object, archive := filepath.Join(dir, "value.c"), filepath.Join(dir, "value.o"), filepath.Join(dir, "libvalue.a")
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{tc.compilers[0].Path, "-fPIC", "-c", "-o", object, source}, {"ar", "rcs", archive, object}} {
		if out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
}

// defines reports whether a shared object has a function itself.
func defines(t *testing.T, so, name string) bool {
	t.Helper()
	file, err := elf.Open(so)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	symbols, err := file.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(symbols, func(s elf.Symbol) bool { return s.Name == name && s.Section != elf.SHN_UNDEF })
}

// TestEviction: the cache stays below its size, and young objects stay in it.
func TestEviction(t *testing.T) {
	tc := toolchain(t)
	var objects []string
	for i := range 4 {
		so, err := tc.Build(t.Context(), "c", numbered(i), "", nil)
		if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, so)
	}
	info, err := os.Stat(objects[0])
	if err != nil {
		t.Fatal(err)
	}
	for i, so := range objects[:3] {
		old := time.Now().Add(-time.Hour + time.Duration(i)*time.Minute)
		if err := os.Chtimes(so, old, old); err != nil {
			t.Fatal(err)
		}
	}
	abandoned := filepath.Join(tc.cache.dir, scratchPrefix+"1")
	if err := os.Mkdir(abandoned, 0o700); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-2 * stale)
	if err := os.Chtimes(abandoned, old, old); err != nil {
		t.Fatal(err)
	}
	small := New(tc.cache.dir, tc.compilers)
	small.MaxBytes = info.Size() * 5 / 2
	if _, err := small.Build(t.Context(), "c", numbered(0), "", nil); err != nil {
		t.Fatal(err)
	}
	for i, so := range objects {
		_, err := os.Stat(so)
		if gone := errors.Is(err, os.ErrNotExist); gone != (i == 1) && i > 0 && i != 2 {
			t.Errorf("object %d: gone is %v", i, gone)
		}
	}
	if n, _ := filepath.Glob(filepath.Join(tc.cache.dir, "*.so")); len(n) > 3 {
		t.Errorf("%d objects are left where two and a half fit", len(n))
	}
	if _, err := os.Stat(abandoned); err == nil {
		t.Error("what a killed compilation left is still there")
	}
}

// TestCacheDirKeeps: who asks only where the cache is removes nothing from it.
func TestCacheDirKeeps(t *testing.T) {
	tc := New(t.TempDir(), compilers(t))
	so, err := tc.Build(t.Context(), "c", numbered(1), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(so, old, old); err != nil {
		t.Fatal(err)
	}
	if _, err := New(tc.cache.dir, tc.compilers).CacheDir(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(so); err != nil {
		t.Error(err)
	}
}

func TestPrivate(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	_, err := New(dir, compilers(t)).Build(t.Context(), "c", numbered(1), "", nil)
	if err == nil || kernels.AsRejection(err) != nil || !strings.Contains(err.Error(), "chmod 700") {
		t.Errorf("a cache that all can write to gave %v", err)
	}
}

// TestProcesses: processes may fill the same cache at once.
func TestProcesses(t *testing.T) {
	compilers(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			cmd := exec.CommandContext(t.Context(), self)
			cmd.Env = append(os.Environ(), helperDir+"="+dir)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	wg.Wait()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 4 {
		t.Errorf("the cache has %v (%v), want 4 objects", entries, err)
	}
}

// TestKilled: no compiler outlives the process that started it, however that one ends, and in a pause too.
func TestKilled(t *testing.T) {
	compilers(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		mode    string
		started func(programs []string) bool
	}{
		// The driver of gcc has started the compiler proper, cc1plus; clang compiles in the process of its driver.
		{hangDir, func(programs []string) bool {
			return slices.ContainsFunc(programs, func(program string) bool {
				return strings.HasPrefix(program, "cc1") || strings.HasPrefix(program, "clang")
			})
		}},
		{pauseDir, func(programs []string) bool { return slices.Equal(programs, []string{"driver T", "sleep T"}) }},
	} {
		t.Run(c.mode, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			cmd := exec.CommandContext(t.Context(), self)
			cmd.Env = append(os.Environ(), c.mode+"="+dir)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			await(t, dir, "no compiler was started", c.started)
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			cmd.Wait()
			await(t, dir, "a compiler is left", func(programs []string) bool { return len(programs) == 0 })
		})
	}
}

func BenchmarkBuild(b *testing.B) {
	tc := toolchain(b)
	for _, c := range tc.Compilers() {
		b.Run("compiler="+c.Name, func(b *testing.B) {
			i := 0
			for b.Loop() {
				i++
				if _, err := tc.Build(b.Context(), "c", fmt.Sprintf("#include <immintrin.h>\n%s // %s", numbered(i), c.Name), c.Name, []string{"-O2"}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkHit(b *testing.B) {
	tc := toolchain(b)
	for b.Loop() {
		if _, err := tc.Build(b.Context(), "c", numbered(1), "", nil); err != nil {
			b.Fatal(err)
		}
	}
}
