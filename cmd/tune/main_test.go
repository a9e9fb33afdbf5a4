package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"

	"tune/internal/pattern"
	"tune/kernels/all"
	"tune/kernels/native"
	"tune/kernels/native/nativetest"
	"tune/kernels/peers"
)

// gorace keeps the race detector, which would sleep for a second at the end of every process, from doing so.
const gorace = "atexit_sleep_ms=0"

// disguises are what this binary is under the names of programs, for scripts and for the tests that start processes.
var disguises = map[string]func(){
	"tune": func() {
		if os.Getenv(careful) != "" {
			nativetest.OwnWorkers()
			main()
		}
		runOn(nativetest.Brief()) // which main has done otherwise, and neither returns
	},
	natsServer: serveNATS,
}

// TestMain puts this binary on the path as each of disguises.
func TestMain(m *testing.M) {
	tests := tidied{m, ""}
	if disguises[filepath.Base(os.Args[0])] == nil {
		for key := range variables(os.Environ()) {
			os.Unsetenv(variable(key))
		}
		for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
			os.Unsetenv(name)
		}
		var err error
		if tests.data, err = os.MkdirTemp("", "tune-test-data-"); err != nil {
			panic(err)
		}
		os.Setenv("XDG_DATA_HOME", tests.data)
		os.Setenv(heapVariable, largerHeap)
		sharedCache = cacheOfTests(tests.data)
		if !raceDetector {
			// One test more than there are processors, because tests wait for a part of their time. The flag -parallel says otherwise.
			if err := flag.Set("test.parallel", strconv.Itoa(runtime.GOMAXPROCS(0)+1)); err != nil {
				panic(err)
			}
		}
	}
	os.Setenv("GORACE", gorace)
	testscript.Main(tests, disguises)
}

// careful is a variable of the environment. Where it is set, tune measures as its users' does. Elsewhere in these tests it does not wait
// for its core to become fast, which it seldom is while other tests run, and scores are brief. The script user sets it, and so does TestQuick.
const careful = "TEST_CAREFUL"

// tune lets its heap grow to five times what is live, but only after its packages are initialised. With this variable of the environment the heap
// grows as much from the beginning, and the thousands of processes of these tests take a fifth less time to start. TestFilesAreBounded, which
// measures memory, leaves it empty.
const heapVariable, largerHeap = "GOGC", "400"

// sharedCache is the cache of the scripts and of the guide, so that what all of them need is compiled and measured once.
var sharedCache string

// cacheOfTests returns a folder for sharedCache that stays, so that what has not changed since the last tests is not compiled again. It is no
// folder of the user's tune, which has more than scripts expect, such as libraries to compare with. Without a home it is one in dir.
func cacheOfTests(dir string) string {
	if user, err := os.UserCacheDir(); err == nil && os.MkdirAll(filepath.Join(user, "tune-tests"), 0o700) == nil {
		return filepath.Join(user, "tune-tests")
	}
	return filepath.Join(dir, "cache")
}

// tidied runs the tests with a folder for data of their own, so that no run enters itself in the index of the user.
type tidied struct {
	*testing.M
	data string
}

func (t tidied) Run() int {
	defer os.RemoveAll(t.data)
	return t.M.Run()
}

// TestScript runs the command line as users do. Beside testscript's own commands there are:
//
//	exits CODE COMMAND…      runs a command that must exit with the code
//	json FILE PATH[OP VALUE]…  FILE, which may be stdout, is one JSON value that has each path; OP is = for
//	                         the same text, ~ for a match, @ for the number of elements
//	setjson FILE PATH VALUE  changes a value of a JSON file
//	mistake CODE TEXT… -- COMMAND…  runs a command that must exit with the code, and say why in one line that has each text
//	misuse TEXT… -- COMMAND…  the same for a wrong flag or argument: code 2, and a second line that names tune help
//	fault TEXT… -- FILE      checks the file of a kernel, which must have one fault, whose line has each text
//
// and the conditions root, stress, which holds in make stress, and mount, where a file system can be mounted.
func TestScript(t *testing.T) {
	t.Parallel()
	testscript.Run(t, scriptsIn("testdata/script"))
}

// scriptsIn are the parameters of the scripts in a folder.
func scriptsIn(dir string) testscript.Params {
	return testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("GORACE", gorace)
			e.Setenv(heapVariable, largerHeap)
			e.Setenv(nativetest.WorkerVariable, os.Getenv(nativetest.WorkerVariable))
			repo, err := filepath.Abs("../..")
			e.Setenv("REPO", repo)
			if cache, err := goCache(); err == nil {
				e.Setenv("GOCACHE", cache) // which the go command finds by HOME
			}
			e.Setenv("XDG_CACHE_HOME", sharedCache)
			e.Setenv("XDG_STATE_HOME", filepath.Join(e.WorkDir, ".state"))
			e.Setenv("XDG_DATA_HOME", filepath.Join(e.WorkDir, ".data"))
			e.Setenv("TUNE_FINAL", "100ms") // of 30 s; scripts that need more say so
			return err
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "json": checkJSON, "setjson": setJSON, "mistake": mistake, "misuse": misuse, "fault": fault,
		},
		Condition: func(name string) (bool, error) {
			switch name {
			case "root":
				return os.Geteuid() == 0, nil
			case "stress":
				return nativetest.Stress, nil
			case "openblas", "dnnl":
				return slices.ContainsFunc(peers.Find(), func(l peers.Library) bool { return l.Name == name }), nil
			case "dnnl-int8":
				machine, err := nativetest.Host().Machine()
				return err == nil && peers.Quantised{}.Unfit(machine.ISAs) == "", nil
			case "mount":
				return exec.Command("unshare", "-rm", "mount", "-t", "tmpfs", "none", os.TempDir()).Run() == nil, nil
			}
			return false, fmt.Errorf("unknown condition %s", name)
		},
	}
}

// goCache returns where the go command keeps what it has compiled.
var goCache = sync.OnceValues(func() (string, error) {
	dir, err := exec.Command("go", "env", "GOCACHE").Output()
	return strings.TrimSpace(string(dir)), err
})

// commandAfter splits the arguments of a command of scripts into texts and the command line after --.
func commandAfter(ts *testscript.TestScript, neg bool, args []string) (texts, command []string) {
	at := slices.Index(args, "--")
	if neg || at < 1 || at == len(args)-1 {
		ts.Fatalf("usage: TEXT… -- COMMAND…")
	}
	return args[:at], args[at+1:]
}

// hint is the second line of what is wrong with flags or arguments.
const hint = "Run 'tune help' for commands, flags and examples.\n"

func mistake(ts *testscript.TestScript, neg bool, args []string) {
	texts, command := commandAfter(ts, neg, args)
	exits(ts, false, append(texts[:1:1], command...))
	sayOnce(ts, ts.ReadFile("stderr"), "tune: ", texts[1:])
	if out := ts.ReadFile("stdout"); out != "" {
		ts.Fatalf("it also prints\n%s", out)
	}
}

func misuse(ts *testscript.TestScript, neg bool, args []string) {
	texts, command := commandAfter(ts, neg, args)
	exits(ts, false, append([]string{"2"}, command...))
	line, ok := strings.CutSuffix(ts.ReadFile("stderr"), hint)
	if !ok {
		ts.Fatalf("no hint at tune help:\n%s", line)
	}
	sayOnce(ts, line, "tune: ", texts)
}

func fault(ts *testscript.TestScript, neg bool, args []string) {
	texts, command := commandAfter(ts, neg, args)
	exits(ts, false, []string{"2", "tune", "check", "--static", command[0]})
	sayOnce(ts, ts.ReadFile("stdout"), command[0]+":", texts)
	if want := "tune: " + command[0] + ": 1 fault\n"; ts.ReadFile("stderr") != want {
		ts.Fatalf("standard error is %q, want %q", ts.ReadFile("stderr"), want)
	}
}

// sayOnce checks what is said of a mistake: one line with a prefix and all texts.
func sayOnce(ts *testscript.TestScript, said, prefix string, texts []string) {
	if len(texts) == 0 {
		ts.Fatalf("the script does not say which texts")
	}
	if !strings.HasPrefix(said, prefix) || strings.Count(said, "\n") != 1 || !strings.HasSuffix(said, "\n") {
		ts.Fatalf("not one line that begins with %q:\n%s", prefix, said)
	}
	for _, text := range texts {
		if !strings.Contains(said, text) {
			ts.Fatalf("it does not say %q:\n%s", text, said)
		}
	}
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		got = e.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d\n%s%s", got, want, ts.ReadFile("stdout"), ts.ReadFile("stderr"))
	}
	if text := ts.ReadFile("stderr"); strings.Contains(text, "goroutine ") {
		ts.Fatalf("a panic reached the user:\n%s", text)
	}
}

func parseJSON(text string) (any, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("there is text after the JSON value")
	}
	return v, nil
}

// at finds a value by a path such as schedule.checks.0.ok.
func at(v any, path string) (any, error) {
	for key := range strings.SplitSeq(path, ".") {
		if key == "" {
			continue
		}
		switch c := v.(type) {
		case map[string]any:
			next, ok := c[key]
			if !ok {
				return nil, fmt.Errorf("%s: no %q", path, key)
			}
			v = next
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(c) {
				return nil, fmt.Errorf("%s: no element %q of %d", path, key, len(c))
			}
			v = c[i]
		default:
			return nil, fmt.Errorf("%s: %v has no %q", path, v, key)
		}
	}
	return v, nil
}

func textOf(v any) string {
	switch v := v.(type) {
	case map[string]any, []any:
		b, _ := json.Marshal(v)
		return string(b)
	case nil:
		return "null"
	}
	return fmt.Sprint(v)
}

var assertion = pattern.Lazy(`^([^=~@]*)([=~@]?)(.*)$`)

func checkJSON(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: json FILE PATH[OP VALUE]… (with @ for a number of elements: # begins a comment)")
	}
	root, err := parseJSON(ts.ReadFile(args[0]))
	if err != nil {
		ts.Fatalf("%s: %v", args[0], err)
	}
	for _, a := range args[1:] {
		m := assertion().FindStringSubmatch(a)
		v, err := at(root, m[1])
		if err != nil {
			ts.Fatalf("%v", err)
		}
		got, ok := textOf(v), true
		switch m[2] {
		case "=":
			ok = got == m[3]
		case "~":
			ok = regexp.MustCompile(m[3]).MatchString(got)
		case "@":
			n := -1
			switch v := v.(type) {
			case []any:
				n = len(v)
			case map[string]any:
				n = len(v)
			}
			ok = strconv.Itoa(n) == m[3]
		}
		if !ok {
			ts.Fatalf("%s: got %s", a, got)
		}
	}
}

func setJSON(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: setjson FILE PATH VALUE")
	}
	root, err := parseJSON(ts.ReadFile(args[0]))
	ts.Check(err)
	value, err := parseJSON(args[2])
	ts.Check(err)
	keys := strings.Split(args[1], ".")
	last := keys[len(keys)-1]
	parent, err := at(root, strings.Join(keys[:len(keys)-1], "."))
	ts.Check(err)
	switch c := parent.(type) {
	case map[string]any:
		c[last] = value
	case []any:
		i, err := strconv.Atoi(last)
		ts.Check(err)
		c[i] = value
	}
	b, err := json.MarshalIndent(root, "", "  ")
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), b, 0o666))
}

// testApp is an invocation in this process.
func testApp() (a *app, stdout, stderr *bytes.Buffer) {
	stdout, stderr = new(bytes.Buffer), new(bytes.Buffer)
	host := native.NewHost(native.HostOptions{})
	return &app{stdout: stdout, stderr: stderr, host: host, table: all.Table(host)}, stdout, stderr
}

func commands(c *cobra.Command) []*cobra.Command {
	out := []*cobra.Command{c}
	for _, sub := range c.Commands() {
		if !sub.Hidden {
			out = append(out, commands(sub)...)
		}
	}
	return out
}

// TestHelp: every command has an example whose flags it takes, every flag says what it is for, and the help of
// each is printed.
func TestHelp(t *testing.T) {
	a, _, _ := testApp()
	for _, c := range commands(a.root()) {
		path := strings.Fields(c.CommandPath())
		if c.Short == "" || c.Example == "" {
			t.Errorf("%s has no short text or no example", c.CommandPath())
		}
		for line := range strings.SplitSeq(c.Example, "\n") {
			words := strings.Fields(strings.ReplaceAll(line, "> ", ">"))
			if len(words) == 0 || words[0] != "tune" {
				t.Errorf("%s: example %q is no call of tune", c.CommandPath(), line)
				continue
			}
			fresh, _, _ := testApp()
			found, rest, err := fresh.root().Find(words[1:])
			if err != nil || !strings.HasPrefix(found.CommandPath(), c.CommandPath()) && c.Name() != "help" {
				t.Errorf("%s: example %q is of %v (%v)", c.CommandPath(), line, found.CommandPath(), err)
				continue
			}
			if err := found.ParseFlags(rest); err != nil {
				t.Errorf("example %q: %v", line, err)
			}
		}
		for _, args := range [][]string{append(path[1:], "--help"), append([]string{"help"}, path[1:]...)} {
			a, stdout, stderr := testApp()
			if code := a.run(t.Context(), args); code != 0 || stderr.Len() > 0 || !strings.Contains(stdout.String(), "Examples:\n") {
				t.Errorf("tune %s: exit code %d, stderr %q, stdout\n%s", strings.Join(args, " "), code, stderr, stdout)
			}
		}
	}
}

// TestManual: the doc comment of the command, its manual, names every command and exit code.
func TestManual(t *testing.T) {
	source, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	manual, _, _ := strings.Cut(string(source), "\npackage main\n")
	a, _, _ := testApp()
	for _, c := range commands(a.root()) {
		if !c.HasSubCommands() && !strings.Contains(manual, c.CommandPath()) {
			t.Errorf("the manual does not name %s", c.CommandPath())
		}
	}
	for _, code := range []int{exitOK, exitFailed, exitUsage, exitNoValid, exitUnsure, exitInterrupted} {
		if !regexp.MustCompile(fmt.Sprintf(`(?m)^//\t%d +\w`, code)).MatchString(manual) {
			t.Errorf("the manual does not name exit code %d", code)
		}
	}
}

// TestAge: the name of a process may hold anything, and the time of its start is the 22nd field.
func TestAge(t *testing.T) {
	const stat = "7 (a) b (c)) R 1 7 7 0 -1 4194304 92 0 0 0 0 0 0 0 20 0 1 0 12345 2772992 228 18446744073709551615"
	if age, ok := ageOf(stat, "123.70 200.01\n"); !ok || age != 250*time.Millisecond {
		t.Errorf("the age is %v, %v", age, ok)
	}
	for _, c := range [][2]string{{"", "1 2"}, {stat, ""}, {"7 (a) R 1", "1 2"}, {strings.Replace(stat, "12345", "x", 1), "1 2"}} {
		if age, ok := ageOf(c[0], c[1]); ok {
			t.Errorf("of %q and %q the age is %v", c[0], c[1], age)
		}
	}
	now := time.Now()
	if began := processBegan(now); began.After(now) || now.Sub(began) > time.Second {
		t.Errorf("this process began %v ago", now.Sub(began))
	}
}
