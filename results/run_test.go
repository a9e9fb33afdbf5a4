package results

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"tune/internal/files"
	"tune/space"
)

var noon = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

func testSettings() Settings {
	target := 1400.5
	return Settings{
		ToolVersion: "v1.2.3", Kernel: "treehash", KernelVersion: "3", Shape: "height=10,rounds=16,batch=256",
		Unit: "cycles", SpaceFingerprint: "a1b2", Strategy: "evolve", StrategyConfig: "population=32 <&>",
		Seed: 1<<64 - 1, CheckSeed: 5, Budget: Budget{WallSeconds: 60, Evaluations: 100, Target: &target}, Jobs: 8,
		Baseline: Preset{Name: "scalar", Key: "unroll=1"}, Created: noon, Machine: ThisMachine(),
	}
}

// makeRun makes a run with one batch of three trials, two of which are known.
func makeRun(t *testing.T, dir string, s Settings) *Run {
	t.Helper()
	run, err := Create(dir, s)
	must(t, err)
	t.Cleanup(func() { run.Close() })
	must(t, run.Journal.Batch(space.Batch{Count: 3}), run.Journal.Record(okEntry(2)), run.Journal.Record(okEntry(1)))
	return run
}

func TestRunReadsBack(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "down", "run-1")
	s := testSettings()
	run := makeRun(t, dir, s)
	s.Format = settingsFormat
	if !reflect.DeepEqual(run.Settings, s) || run.RunID != "run-1" || run.Outcomes != 0 {
		t.Errorf("new run is %+v", run)
	}

	// It can be read while it is being written.
	read, err := Read(dir)
	must(t, err)
	if !reflect.DeepEqual(read.Settings, s) || read.Journal != nil || read.Outcomes != 2 || read.Ended {
		t.Errorf("the run reads as %+v", read)
	}
	must(t, read.Close())
	_, err = Open(dir)
	checkError(t, err, "in use by another tune")

	// A sitting that was cut off is resumed from what is whole.
	must(t, run.Close())
	journal := filepath.Join(dir, JournalName)
	info, err := os.Stat(journal)
	must(t, err)
	must(t, os.Truncate(journal, info.Size()-5))
	again, err := Open(dir)
	must(t, err)
	defer again.Close()
	if again.Recovery.Lines != 4 || again.Recovery.TornBytes == 0 || again.Outcomes != 1 {
		t.Errorf("resumed with %+v and %+v", again.Recovery, again.Stored)
	}
	must(t, again.Journal.Record(okEntry(1)), again.Journal.Record(okEntry(0)), again.Journal.End(End{Why: "done", Elapsed: 9}), again.Close())
	read, err = Read(dir)
	must(t, err)
	if read.Outcomes != 3 || read.LastEnd().Why != "done" || read.Elapsed != 9 {
		t.Errorf("at the end the run reads as %+v", read.Stored)
	}
}

func TestCreateErrors(t *testing.T) {
	root := t.TempDir()
	file := filepath.Join(root, "file")
	must(t, os.WriteFile(file, nil, 0o666))
	full := filepath.Join(root, "full")
	must(t, os.Mkdir(full, 0o777), os.WriteFile(filepath.Join(full, "thesis.tex"), nil, 0o666))
	taken := filepath.Join(root, "taken")
	must(t, makeRun(t, taken, testSettings()).Close())
	locked := filepath.Join(root, "locked")
	must(t, os.Mkdir(locked, 0o777))
	odd := filepath.Join(root, "odd")
	must(t, os.MkdirAll(filepath.Join(odd, lockName), 0o777))
	lock, err := acquireLock(locked)
	must(t, err)
	defer lock.Close()

	nameless, negative, endless, aimless := testSettings(), testSettings(), testSettings(), testSettings()
	nameless.Kernel = ""
	negative.Budget.Evaluations = -1
	target := math.NaN()
	endless.Budget.Target = &target
	aimless.Objectives = "speed"
	for _, test := range []struct {
		dir  string
		s    Settings
		want string
	}{
		{full, testSettings(), "the directory is not empty (it holds thesis.tex)"},
		{taken, testSettings(), "holds a run already"},
		{locked, testSettings(), "in use by another tune"},
		{file, testSettings(), "is a file, not a directory"},
		{filepath.Join(file, "run"), testSettings(), "is a file, not a directory"},
		{filepath.Join(root, "x"), nameless, "field kernel is missing"},
		{filepath.Join(root, "x"), negative, "field budget.evaluations is -1: want 0 or more"},
		{filepath.Join(root, "x"), endless, "field budget.target is NaN: want a finite cost"},
		{filepath.Join(root, "x"), endless, "settings of run "},
		{odd, testSettings(), "cannot lock the run: "},
		{filepath.Join(root, "x"), aimless, "field objectives: "},
	} {
		_, err := Create(test.dir, test.s)
		checkError(t, err, test.want)
		checkError(t, err, test.dir[:len(root)])
	}
	if _, err := os.Stat(filepath.Join(root, "x")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("a run that was refused has a directory")
	}
	if os.Geteuid() != 0 {
		closed := filepath.Join(root, "closed")
		must(t, os.Mkdir(closed, 0o555))
		_, err := Create(filepath.Join(closed, "run"), testSettings())
		checkError(t, err, "permission denied")
	}
	// An empty directory will do, also with the lock of a Create that was cut off.
	empty := filepath.Join(root, "empty")
	must(t, os.Mkdir(empty, 0o777), os.WriteFile(filepath.Join(empty, lockName), nil, 0o666))
	must(t, makeRun(t, empty, testSettings()).Close())
}

// TestReadOnly: on a file system that cannot be written, no run is made and none is continued, not even by root; it is read.
func TestReadOnly(t *testing.T) {
	const variable = "RESULTS_READ_ONLY"
	root := os.Getenv(variable)
	if root == "" {
		if out, err := exec.Command("unshare", "-rm", "mount", "-t", "tmpfs", "none", t.TempDir()).CombinedOutput(); err != nil {
			t.Skipf("no file system can be mounted: %v\n%s", err, out)
		}
		c := exec.Command("unshare", "-rm", os.Args[0], "-test.run=^TestReadOnly$", "-test.count=1", "-test.v")
		c.Env = append(os.Environ(), variable+"="+t.TempDir())
		if out, err := c.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestReadOnly") {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	mount := func(args ...string) {
		if out, err := exec.Command("mount", append(args, root)...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	mount("-t", "tmpfs", "none")
	kept := filepath.Join(root, "kept")
	must(t, makeRun(t, kept, testSettings()).Close(), os.Mkdir(filepath.Join(root, "empty"), 0o777))
	mount("-o", "remount,ro")
	for _, dir := range []string{"new", "deep/down", "empty"} {
		_, err := Create(filepath.Join(root, dir), testSettings())
		checkError(t, err, root)
		checkError(t, err, "read-only file system")
	}
	_, err := Open(kept)
	checkError(t, err, kept)
	checkError(t, err, "read-only file system: copy the run to a folder that can be written, and continue it there")
	if run, err := Read(kept); err != nil || run.Outcomes != 2 {
		t.Errorf("the run is read with %v", err)
	}
}

// TestCreateReadsBack: settings that are too large to be read back are refused before the directory is made, and the largest that
// are not refused are read back.
func TestCreateReadsBack(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	s := testSettings()
	s.Machine.CPU = strings.Repeat("<", files.Settings)
	_, err := Create(dir, s)
	if err == nil || !strings.Contains(err.Error(), "at most 4 MiB of it are read: shorten the texts") {
		t.Fatalf("the error is %v", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory was made (%v)", err)
	}
	s.Machine.CPU = ""
	s.Format = settingsFormat
	text, err := encodeJSON(s)
	must(t, err)
	s.Machine.CPU = strings.Repeat("<", files.Settings-len(text)-1)
	for ; ; s.Machine.CPU = s.Machine.CPU[1:] {
		run, err := Create(dir, s)
		if err != nil {
			continue
		}
		must(t, run.Close())
		break
	}
	if run, err := Read(dir); err != nil || run.Settings.Machine.CPU != s.Machine.CPU || len(s.Machine.CPU) < files.Settings-len(text)-100 {
		t.Errorf("%d bytes are read with %v", len(s.Machine.CPU), err)
	}
}

func TestSettingsErrors(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	must(t, makeRun(t, dir, testSettings()).Close())
	path := filepath.Join(dir, SettingsName)
	good, err := os.ReadFile(path)
	must(t, err)
	for _, test := range []struct{ old, new, want string }{
		{`"jobs"`, `"jebs"`, `unknown field "jebs"`},
		{`"evaluations"`, `"evals"`, `unknown field "evals"`},
		{`"evaluations": 100`, `"evaluations": "100"`, "field budget.evaluations: a JSON string does not fit"},
		{`"format": 1`, `"format": 9, "new": 1`, "format 9 is not known to this tune, which reads format 1"},
		{`"format": 1,`, ``, "field format is missing"},
		{`"kernel": "treehash"`, `"kernel": ""`, "field kernel is missing"},
		{`"kernel":`, `"kernel"`, "not valid JSON at byte"},
		{`"kernel":`, `// it is` + "\n" + `"kernel":`, ": JSON has no comments: leave it out"},
		{"}\n}\n", "}\n", "not valid JSON at byte"},
		{"}\n}\n", "}\n}\n{}", "not valid JSON"},
		{`"wall_seconds": 60`, `"wall_seconds": -60`, "field budget.wall_seconds is -60"},
		{`"jobs":`, `"jobs": 2, "jobs":`, "field jobs is there twice"},
		{`"jobs":`, `"jobs": 2, "Jobs":`, `field Jobs: its name is written "jobs"`},
		{`"jobs":`, `"JOBS":`, `field JOBS: its name is written "jobs"`},
		{`"format":`, `"Format":`, `field Format: its name is written "format"`},
		{`"evaluations":`, `"evaluations": 1, "evaluations":`, "field budget.evaluations is there twice"},
	} {
		bad := strings.Replace(string(good), test.old, test.new, 1)
		if bad == string(good) {
			t.Fatalf("%s is not in\n%s", test.old, good)
		}
		must(t, os.WriteFile(path, []byte(bad), 0o666))
		for _, read := range []func() error{
			func() error { _, err := Read(dir); return err },
			func() error { _, err := Open(dir); return err },
		} {
			err := read()
			checkError(t, err, test.want)
			checkError(t, err, path)
		}
	}
	outside := filepath.Join(filepath.Dir(dir), "outside.json")
	must(t, os.Remove(path), os.WriteFile(outside, good, 0o666), os.Symlink("../outside.json", path))
	_, err = Read(dir)
	checkError(t, err, `"run.json" leads out of `)
	must(t, os.Remove(path))
	_, err = Read(dir)
	checkError(t, err, "is not a run")
	must(t, os.WriteFile(path, good, 0o666), os.Remove(filepath.Join(dir, JournalName)))
	_, err = Open(dir)
	checkError(t, err, JournalName+": no such file")
}

func TestList(t *testing.T) {
	root := t.TempDir()
	none, err := List(filepath.Join(root, "missing"))
	must(t, err)
	if len(none) != 0 {
		t.Errorf("a missing directory lists %v", none)
	}
	at := func(minutes int) Settings {
		s := testSettings()
		s.Created = noon.Add(time.Duration(minutes) * time.Minute)
		return s
	}
	dir := func(name string) string { return filepath.Join(root, name) }
	finished := makeRun(t, dir("b-finished"), at(1))
	must(t, finished.Journal.Record(okEntry(0)), finished.Journal.End(End{Why: "target reached", Told: 2, Elapsed: 7}), finished.Close())
	must(t, makeRun(t, dir("a-cut-off"), at(1)).Close())
	failed := makeRun(t, dir("b-failed"), at(1))
	must(t, failed.Journal.End(End{Why: BaselineFailed}), failed.Close())
	byHand := makeRun(t, dir("b-by-hand"), at(1))
	must(t, byHand.Journal.End(End{Why: StoppedByHand}), byHand.Close())
	makeRun(t, dir("c-running"), at(2))
	must(t, makeRun(t, dir("d-damaged"), at(0)).Close())
	damaged := filepath.Join(dir("d-damaged"), JournalName)
	data, err := os.ReadFile(damaged)
	must(t, err)
	data[len(data)/2] ^= 1
	must(t, os.WriteFile(damaged, data, 0o666))
	must(t, os.Mkdir(dir("e-unset"), 0o777), os.WriteFile(filepath.Join(dir("e-unset"), JournalName), nil, 0o666))
	must(t, os.Mkdir(dir("f-no-run"), 0o777), os.WriteFile(dir("g-file"), nil, 0o666))

	list, err := List(root)
	must(t, err)
	want := []struct {
		name        string
		state       State
		evaluations int
		seed        uint64
		err         string
	}{
		{"c-running", Running, 2, 1<<64 - 1, ""},
		{"a-cut-off", Interrupted, 2, 1<<64 - 1, ""},
		{"b-by-hand", Interrupted, 2, 1<<64 - 1, ""},
		{"b-failed", Failed, 2, 1<<64 - 1, ""},
		{"b-finished", Finished, 2, 1<<64 - 1, ""},
		{"d-damaged", Damaged, 0, 1<<64 - 1, "the line is damaged"},
		{"e-unset", Damaged, 0, 0, "is not a run"},
	}
	if len(list) != len(want) {
		t.Fatalf("list is %+v", list)
	}
	for i, w := range want {
		l := list[i]
		if filepath.Base(l.Dir) != w.name || l.State != w.state || l.Settings.Seed != w.seed || (l.Err != nil) != (w.err != "") {
			t.Errorf("entry %d is %v (%+v), want %+v", i, l.State, l, w)
		}
		if w.err != "" {
			checkError(t, l.Err, w.err)
		} else if l.Summary.Evaluations != w.evaluations {
			t.Errorf("%s has %d evaluations, want %d", w.name, l.Summary.Evaluations, w.evaluations)
		}
	}
	if end := list[4].End; end.Why != "target reached" || list[4].Summary.Best.Number != 0 {
		t.Errorf("the finished run ended with %+v, %+v", end, list[4].Summary)
	}
	if why := list[2].End.Why; why != StoppedByHand {
		t.Errorf("the run that somebody ended has ended with %q", why)
	}
	if end := list[3].End; end.Words() != BaselineFailed { // of an earlier version
		t.Errorf("the failed run ended with %q", end.Words())
	}
	// Looking does not repair.
	after, err := os.ReadFile(damaged)
	must(t, err)
	if string(after) != string(data) {
		t.Error("listing has changed a damaged journal")
	}
}

func TestDefaultDir(t *testing.T) {
	when := time.Date(2026, time.March, 1, 9, 5, 7, 999, time.FixedZone("CET", 3600))
	for _, test := range []struct{ kernel, want string }{
		{"treehash", "runs/treehash-20260301-090507-42"},
		{"my/own kernel.v2", "runs/my-own-kernel.v2-20260301-090507-42"},
	} {
		if got := DefaultDir("runs", test.kernel, when, 42); got != test.want {
			t.Errorf("DefaultDir is %s, want %s", got, test.want)
		}
	}
}

func TestAtomicWriteKeepsTheOldFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.json")
	must(t, writeJSON(path, 1))
	if err := writeJSON(path, func() {}); err == nil {
		t.Error("a function was written as JSON")
	}
	_, err := WriteArtifact(path, failingWriter)
	if !errors.Is(err, errDisk) {
		t.Errorf("error is %v", err)
	}
	data, err := os.ReadFile(path)
	must(t, err)
	var got int
	if err := json.Unmarshal(data, &got); err != nil || got != 1 {
		t.Errorf("the file holds %q", data)
	}
	entries, err := os.ReadDir(dir)
	must(t, err)
	if len(entries) != 1 {
		t.Errorf("a failed write leaves %v", entries)
	}
}

// What a Create leaves that is cut off at any place is no run, says so, and makes way for a new one.
func TestCutOffCreate(t *testing.T) {
	write := func(name, text string) func(dir string) {
		return func(dir string) { must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666)) }
	}
	header := string(encode(t, Log{Outline: Outline{RunID: "run"}}, newestFormat))
	batch := string(encode(t, Log{History: space.History{Batches: []space.Batch{{Count: 1}}}}, newestFormat))
	for _, test := range []struct {
		name  string
		left  []func(dir string)
		begun bool // it is more than a beginning
	}{
		{name: "nothing"},
		{name: "a lock", left: []func(string){write(lockName, "1\n")}},
		{name: "an empty journal", left: []func(string){write(lockName, "1\n"), write(JournalName, "")}},
		{name: "half a header", left: []func(string){write(JournalName, header[:9])}},
		{name: "a header", left: []func(string){write(JournalName, header), write("."+SettingsName+".7-0.tmp", "{")}},
		{name: "other files", left: []func(string){write(JournalName, header), write(sourcesName, "{}")}},
		{name: "a batch", left: []func(string){write(JournalName, batch)}, begun: true},
		{name: "no journal of ours", left: []func(string){write(JournalName, "precious")}, begun: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "run")
			must(t, os.Mkdir(dir, 0o777))
			for _, leave := range test.left {
				leave(dir)
			}
			_, err := Read(dir)
			_, again := Open(dir)
			for _, err := range []error{err, again} {
				none, early := errors.AsType[*NotBegunError](err)
				if early == test.begun || early && (none.Empty != (len(test.left) == 0) || strings.Contains(err.Error(), "the folder is empty") != none.Empty) {
					t.Errorf("it is said to be: %v", err)
				}
			}
			run, err := Create(dir, testSettings())
			if test.begun {
				checkError(t, err, "the directory is not empty (it holds journal.jsonl)")
				return
			}
			must(t, err)
			must(t, run.Journal.Batch(space.Batch{Count: 1}), run.Close())
			read, err := Read(dir)
			must(t, err)
			if read.Batches != 1 {
				t.Errorf("the new run reads as %+v", read)
			}
		})
	}
}

// A run whose files are not all written yet is none.
func TestSettingsComeLast(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	looked := false
	run, err := Create(dir, testSettings(), func(dir string, _ Settings) error {
		looked = true
		if CheckBegun(dir) == nil {
			t.Error("it counts as begun before its files are there")
		}
		return nil
	})
	must(t, err, run.Close(), CheckBegun(dir))
	if !looked {
		t.Error("nothing was prepared")
	}
}

// A journal that is deleted under a run is noticed by the next Sync, and by every record after it.
func TestDeletedDirectoryIsNoticed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	run := makeRun(t, dir, testSettings())
	must(t, run.Journal.Sync(), os.RemoveAll(dir))
	must(t, run.Journal.Record(okEntry(0))) // it is on its way
	for _, err := range []error{run.Journal.Sync(), run.Journal.Batch(space.Batch{Number: 1, First: 3, Count: 1}), run.Close()} {
		if !errors.Is(err, errDeleted) {
			t.Errorf("error is %v, want %v", err, errDeleted)
		}
		checkError(t, err, filepath.Join(dir, JournalName))
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("the directory has come back")
	}
}

// A list of runs reads the summary file and the end of the journal, and says what the whole journal does.
func TestListReadsNoWholeJournal(t *testing.T) {
	formats(t, func(t *testing.T, number int) {
		root := t.TempDir()
		dir := filepath.Join(root, "run")
		must(t, makeRun(t, dir, testSettings()).Close())
		// Batches of two shapes of points, and of failures.
		l := Log{History: space.History{Entries: make(map[int]space.Entry)}, Outline: Outline{RunID: "run"}}
		for b := range 40 {
			l.History.Batches = append(l.History.Batches, space.Batch{Number: b, First: 3 * b, Count: 3, Progress: space.Progress{Told: 3 * b}})
		}
		for n := range 119 {
			e := okEntry(n)
			e.Outcome.Cost = float64((n*37)%101 + 5)
			e.Outcome.Metrics = []space.Metric{{Name: []string{"alu", "load"}[n%2], Value: float64(n)}}
			if n == 1 {
				e.Outcome.Metrics[0].Name = "early"
			}
			if n%5 == 0 {
				e.Key, e.Outcome = "other=x n=1", space.Fail(space.Invalid, "%s", strings.Repeat("no ", wholeUpTo/40))
			}
			l.History.Entries[n] = e
			l.History.Elapsed = max(l.History.Elapsed, e.Elapsed)
		}
		journal := filepath.Join(dir, JournalName)
		for _, told := range []int{-1, 0, 118} { // interrupted, ended, at a target
			l := l
			if told >= 0 {
				l.Outline = outlineOf(l.History, "run", []End{{Why: "x", Told: told, Elapsed: 500}}, true)
			}
			must(t, os.WriteFile(journal, inJournalOrder(t, l, number), 0o666), os.RemoveAll(filepath.Join(dir, summaryName)))
			whole, err := List(root)
			must(t, err)
			read, err := Read(dir)
			must(t, err)
			// Only what may be the best is read as a whole.
			if want, err := Summarise(read.LastEnd().Trim(read)); err != nil || want.Best == nil || !reflect.DeepEqual(whole[0].Summary.Best, want.Best) {
				t.Errorf("told %d: the best is %+v, want %+v, %v", told, whole[0].Summary.Best, want.Best, err)
			}
			if names, err := metricNames(read); err != nil || !slices.Equal(names, []string{"alu", "early", "load"}) {
				t.Errorf("told %d: the metrics are %q, %v", told, names, err)
			}
			// To open and close it writes the summary.
			j, _, err := OpenJournal(journal)
			must(t, err, j.Close())
			quick, err := List(root)
			must(t, err)
			if !reflect.DeepEqual(quick, whole) || quick[0].Err != nil || quick[0].Summary.Evaluations == 0 {
				t.Errorf("told %d: from the summary\n%+v\nfrom the journal\n%+v", told, quick, whole)
			}
			// So do those who open it, and what they read then is what the whole journal says.
			again, err := Read(dir)
			must(t, err)
			if !reflect.DeepEqual(again.Outline, read.Outline) || again.Recovery != read.Recovery {
				t.Errorf("told %d: from the summary\n%+v %+v\nfrom the journal\n%+v %+v", told, again.Outline, again.Recovery, read.Outline, read.Recovery)
			}
			if names, err := metricNames(again); err != nil || !slices.Equal(names, []string{"alu", "early", "load"}) {
				t.Errorf("told %d: from the summary the metrics are %q, %v", told, names, err)
			}
			if got, err := Summarise(again); err != nil || got.Evaluations != 119 {
				t.Errorf("told %d: %+v, %v", told, got, err)
			}
			// What is before the end is not read: it may as well be gone.
			data, err := os.ReadFile(journal)
			must(t, err, os.WriteFile(journal, append(make([]byte, len(data)*3/4), data[len(data)*3/4:]...), 0o666))
			if blind, err := List(root); err != nil || !reflect.DeepEqual(blind, quick) {
				t.Errorf("told %d: the journal was read: %+v, %v", told, blind, err)
			}
			// Who goes through the outcomes finds it.
			blind, err := Read(dir)
			must(t, err)
			if _, err := Summarise(blind); err == nil {
				t.Errorf("told %d: nobody has found that three quarters are gone", told)
			}
			must(t, os.WriteFile(journal, data, 0o666))
			// A summary that says other things than the journal is found out, and nothing is made of it.
			if number == newestFormat {
				path := filepath.Join(dir, summaryName)
				text, err := os.ReadFile(path)
				must(t, err)
				for old, made := range map[string]string{
					`"elapsed":[0-9.]+}}`: `"elapsed":1e9}}`, `"ok":[0-9]+`: `"ok":1`, `"cost":[0-9.]+`: `"cost":1`, `"lines":`: `"lines":1`, `"run":"run"`: `"run":"other"`,
					`"tally"`: `"ends":[{"why":"x","elapsed":1}],"tally"`, `"metrics":\["alu"`: `"metrics":["aaa","alu"`,
				} {
					wrong := regexp.MustCompile(old).ReplaceAll(text, []byte(made))
					if bytes.Equal(wrong, text) {
						t.Fatalf("the summary has no %s: %s", old, text)
					}
					must(t, os.WriteFile(path, wrong, 0o666))
					odd, err := Read(dir)
					must(t, err)
					if _, err := Summarise(odd); err == nil || !strings.Contains(err.Error(), summaryName+" says: remove that file, which only saves time") {
						t.Errorf("told %d: %s in place of %s gives %v", told, made, old, err)
					}
				}
				must(t, os.WriteFile(path, text, 0o666))
				for old, made := range map[string]string{`["alu"]]`: `["ala"]]`, `"metrics":["alu","early","load"]`: `"metrics":["alu","load"]`} {
					if !strings.Contains(string(text), old) {
						t.Fatalf("the summary has no %s: %s", old, text)
					}
					must(t, os.WriteFile(path, []byte(strings.Replace(string(text), old, made, 1)), 0o666))
					odd, err := Read(dir)
					must(t, err)
					err = WriteCSV(io.Discard, odd, odd.LastEnd(), []string{"n"}, func(string) ([]string, error) { return []string{""}, nil })
					if told <= 0 && (err == nil || !strings.Contains(err.Error(), summaryName) || !strings.Contains(err.Error(), ", which only saves time")) { // a trimmed history is gone through for its metrics
						t.Errorf("told %d: %s in place of %s gives %v", told, made, old, err)
					}
					must(t, os.WriteFile(path, text, 0o666))
				}
			}
			// A summary of another journal is not believed.
			must(t, os.WriteFile(journal, data[:len(data)/2], 0o666))
			if short, err := List(root); err != nil || short[0].Err != nil || short[0].Summary.Evaluations >= quick[0].Summary.Evaluations {
				t.Errorf("told %d: of half a journal the list says %+v, %v", told, short, err)
			}
		}
		for _, text := range []string{"", "{}", `{"format":1}`, `{"format":2}`, `{"format":2,"journal":9,"bytes":9,"lines":2,"batches":1,"trials":3,"tally":{"counts":{},"elapsed":0}}`,
			`{"format":2,"journal":2,"bytes":2000000,"lines":2,"batches":0,"trials":0,"shapes":[[]],"tally":{"counts":{},"elapsed":0}}`} {
			must(t, os.WriteFile(journal, inJournalOrder(t, l, number), 0o666), os.WriteFile(filepath.Join(dir, summaryName), []byte(text), 0o666))
			if list, err := List(root); err != nil || list[0].Err != nil || list[0].Summary.Evaluations != 119 {
				t.Errorf("with the summary %q the list says %+v, %v", text, list, err)
			}
		}
	})
}

// inJournalOrder encodes a log with each outcome after its own batch, as a search records them.
func inJournalOrder(t *testing.T, l Log, number int) []byte {
	records := recordsOf(l)
	slices.SortStableFunc(records, func(a, b record) int {
		at := func(r record) int {
			switch r.kind {
			case aHeader:
				return -1
			case aBatch:
				return r.batch.First
			case anOutcome:
				return r.entry.Number
			}
			return math.MaxInt
		}
		return cmp.Or(cmp.Compare(at(a), at(b)), cmp.Compare(a.kind, b.kind))
	})
	var out []byte
	f := newFormat(number)
	for _, r := range records {
		var err error
		out, _, err = f.encode(out, &r)
		must(t, err)
		f.keep()
	}
	return out
}
