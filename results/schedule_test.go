package results

import (
	"encoding/json"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tune/internal/files"
	"tune/space"
)

// failingWriter writes something and fails.
func failingWriter(w io.Writer) error {
	if _, err := io.WriteString(w, "half"); err != nil {
		return err
	}
	return errDisk
}

func testSchedule() Schedule {
	index := uint64(1<<64 - 1)
	return Schedule{
		Kernel: "treehash", KernelVersion: "3", Shape: "height=10", Unit: "cycles",
		Point: json.RawMessage(`{"unroll":4,"layout":"a<b"}`), Key: "unroll=4 layout=a<b", Index: &index,
		Cost: 1470, Metrics: []space.Metric{{Name: "load", Value: 0.1}}, Checks: []Check{{Seed: 3, OK: true}},
		Baseline: Baseline{Preset: "scalar", Key: "unroll=1", Cost: 2940}, Ratio: 2, RatioInterval: &[2]float64{1.9, 2.1},
		SpaceFingerprint: "a1b2", Strategy: "evolve", StrategyConfig: "population=32", Seed: 1<<64 - 1,
		Evaluations: 100, ElapsedSeconds: 1.5, Trial: 17, Run: "treehash-1", ToolVersion: "v1.2.3",
		Machine: ThisMachine(), Created: noon,
		Artifacts: []Artifact{{Name: "best.program.json", SHA256: strings.Repeat("0a", 32), Bytes: 5}},
		Reproduce: []string{"tune run treehash --seed 7", "tune verify best.json"},
	}
}

func TestScheduleReadsBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "best.json")
	want := testSchedule()
	must(t, want.Write(path))
	got, err := ReadSchedule(path)
	must(t, err)
	want.Format = scheduleFormat
	if !reflect.DeepEqual(got, want) {
		t.Errorf("schedule is\n%+v\nwant\n%+v", got, want)
	}
	data, err := os.ReadFile(path)
	must(t, err)
	// The values of the point stay in the order of the space, and readable.
	if !strings.Contains(string(data), "\"point\": {\n    \"unroll\": 4,\n    \"layout\": \"a<b\"\n  }") {
		t.Errorf("the file reads\n%s", data)
	}
}

// TestScheduleTooLarge: a schedule that could not be read back is not written over one that can.
func TestScheduleTooLarge(t *testing.T) {
	path := filepath.Join(t.TempDir(), "best.json")
	s := testSchedule()
	must(t, s.Write(path))
	s.Machine.CPU = strings.Repeat("<", files.Settings)
	if err := s.Write(path); err == nil || !strings.HasPrefix(err.Error(), path+": best.json would have 41") || !strings.Contains(err.Error(), "at most 4 MiB of it are read: shorten the texts") {
		t.Errorf("the error is %v", err)
	}
	if _, err := ReadSchedule(path); err != nil {
		t.Errorf("the earlier schedule is gone: %v", err)
	}
}

func TestScheduleErrors(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "best.json")
	must(t, testSchedule().Write(path))
	good, err := os.ReadFile(path)
	must(t, err)
	for _, test := range []struct{ old, new, want string }{
		{`"format": 1`, `"format": 2`, "format 2 is not known"},
		{`"kernel_version"`, `"kernel_versoin"`, `unknown field "kernel_versoin"`},
		{`"cost": 1470`, `"cost": "1470"`, "field cost: a JSON string does not fit"},
		{`"kernel": "treehash"`, `"kernel": ""`, "field kernel is missing"},
		{`"unit": "cycles",`, ``, "field unit is missing"},
		{`"point": {`, `"point": null, "metrics": [], "machine": {`, `unknown field "unroll"`},
		{`"ok": true`, `"ok": false`, "field checks: check 0, with seed 3, did not pass"},
		{`"trial": 17`, `"trial": -1`, "field trial is -1"},
		{`"best.program.json"`, `"../../.bashrc"`, "is not the name of a file beside it"},
		{`"best.program.json"`, `".."`, "is not the name of a file beside it"},
		{`"best.program.json"`, `""`, "is not the name of a file beside it"},
		{`0a0a`, `0a`, "is not a SHA-256 sum"},
		{`1.9,`, `2.9,`, "field ratio_interval is [2.9 2.1]"},
		{`1.9,`, `2.05,`, "which is not in ratio_interval [2.05 2.1]"},
		{`2.1`, `1.95`, "which is not in ratio_interval [1.9 1.95]"},
		{`"kernel": "treehash"`, `"kernel": "treehash", "weak_checks": [{"output": "y", "reference": "odd"}]`, `field weak_checks[0] has output "y" and reference "odd"`},
		{`"kernel": "treehash"`, `"kernel": "treehash", "checked": "not checked"`, "field checks names 1 inputs"},
		{`"trial": 17`, `"trial": -2`, "field trial is -2: want the number of a trial, from 0"},
		{`"cost": 1470`, `"cost": 14, "cost": 1470`, "field cost is there twice"},
		{`"cost": 1470`, `"cost": 14, "COST": 1470`, `field COST: its name is written "cost"`},
		{`"seed": 3`, `"seed": 1, "\u017feed": 3`, "field checks[0].\u017feed: its name is written \"seed\""},
		{`"sha256"`, `"sha256": "", "sha256"`, "field artifacts[0].sha256 is there twice"},
		{`"point": {`, `"point": {"unroll": 1,`, "field point.unroll is there twice"},
	} {
		bad := strings.Replace(string(good), test.old, test.new, 1)
		if bad == string(good) {
			t.Fatalf("%s is not in\n%s", test.old, good)
		}
		must(t, os.WriteFile(path, []byte(bad), 0o666))
		_, err := ReadSchedule(path)
		checkError(t, err, test.want)
		checkError(t, err, path)
	}

	unchecked := testSchedule()
	unchecked.Checks = nil
	other := filepath.Join(dir, "other.json")
	checkError(t, unchecked.Write(other), "field checks is empty")
	pointless := testSchedule()
	pointless.Point = json.RawMessage(`[1]`)
	checkError(t, pointless.Write(other), "field point is not a JSON object")
	for want, change := range map[string]func(*Schedule){
		"field baseline.cost is NaN: want a finite number":                 func(s *Schedule) { s.Baseline.Cost = math.NaN() },
		"field machine_state is {":                                         func(s *Schedule) { s.MachineState = &MachineState{Load: math.Inf(1)} },
		"field repacking: want an argument, bytes and packed_bytes from 0": func(s *Schedule) { s.Repacking = &space.Repacking{Argument: "w"} },
		`fields indistinct_from and too_few_pairs both name "a"`:           func(s *Schedule) { s.IndistinctFrom, s.TooFewPairs = []string{"a"}, []string{"a"} },
	} {
		s := testSchedule()
		change(&s)
		checkError(t, s.Write(other), want)
	}
	if _, err := os.Stat(other); err == nil {
		t.Error("a schedule that was refused was written")
	}
}

// A schedule that is moved over another one takes its files along, and leaves none of the other's.
func TestMoveSchedule(t *testing.T) {
	write := func(dir string, artifacts map[string]string) {
		t.Helper()
		s := testSchedule()
		s.Artifacts = nil
		for _, name := range slices.Sorted(maps.Keys(artifacts)) {
			a, err := WriteArtifact(filepath.Join(dir, name), func(w io.Writer) error {
				_, err := io.WriteString(w, artifacts[name])
				return err
			})
			must(t, err)
			s.Artifacts = append(s.Artifacts, a)
		}
		must(t, s.Write(filepath.Join(dir, "best.json")))
	}
	from, to := t.TempDir(), t.TempDir()
	write(to, map[string]string{"best.a": "old a", "best.b": "old b"})
	must(t, os.WriteFile(filepath.Join(to, "mine"), []byte("x"), 0o666))
	write(from, map[string]string{"best.a": "new a", "best.c": "new c"})
	must(t, MoveSchedule(from, to))
	s, err := ReadSchedule(filepath.Join(to, "best.json"))
	must(t, err)
	for _, a := range s.Artifacts {
		must(t, a.Verify(to))
	}
	names := func(dir string) (out []string) {
		entries, err := os.ReadDir(dir)
		must(t, err)
		for _, e := range entries {
			out = append(out, e.Name())
		}
		return out
	}
	if got := names(to); !slices.Equal(got, []string{"best.a", "best.c", "best.json", "mine"}) || len(names(from)) > 0 {
		t.Errorf("there are %v, and %v where it came from", got, names(from))
	}
	// One whose files are not its own is not moved.
	write(from, map[string]string{"best.a": "newer a"})
	must(t, os.WriteFile(filepath.Join(from, "best.a"), []byte("else"), 0o666))
	checkError(t, MoveSchedule(from, to), "is not the file that was exported")
	for _, a := range s.Artifacts {
		must(t, a.Verify(to))
	}
}

func TestArtifact(t *testing.T) {
	dir := t.TempDir()
	path := ArtifactPath(filepath.Join(dir, "best.json"), "program.txt")
	if want := filepath.Join(dir, "best.program.txt"); path != want {
		t.Fatalf("artifact path is %s, want %s", path, want)
	}
	a, err := WriteArtifact(path, func(w io.Writer) error {
		_, err := io.WriteString(w, "abc")
		return err
	})
	must(t, err)
	// The sum is the example of FIPS 180-2, appendix B.1.
	want := Artifact{Name: "best.program.txt", SHA256: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", Bytes: 3}
	if a != want {
		t.Errorf("artifact is %+v, want %+v", a, want)
	}
	must(t, a.Verify(dir), os.WriteFile(path, []byte("abd"), 0o666))
	checkError(t, a.Verify(dir), "is not the file that was exported")
	must(t, os.Remove(path))
	checkError(t, a.Verify(dir), "no such file")
}

func TestThisMachine(t *testing.T) {
	if m := ThisMachine(); m.OS == "" || m.Arch == "" || m.Cores < 1 || m.Go == "" {
		t.Errorf("this machine is %+v", m)
	}
}

func TestDerived(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "best.trace.json")
	a, err := WriteDerived(path, func(w io.Writer) error {
		_, err := io.WriteString(w, "{}")
		return err
	})
	must(t, err, a.Verify(dir), os.WriteFile(path, []byte("[]"), 0o666))
	if err := a.Verify(dir); err == nil {
		t.Error("a changed file is taken for the one that was exported")
	}
	must(t, os.Remove(path), a.Verify(dir)) // it can be made again
}
