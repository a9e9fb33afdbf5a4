package db

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tune/results"
	"tune/results/insight"
	"tune/space"
)

var here = results.Machine{OS: "linux", Arch: "amd64", CPU: "this CPU", Cores: 2, Fingerprint: "aa11"}
var elsewhere = results.Machine{OS: "linux", Arch: "amd64", CPU: "another CPU", Cores: 8, Fingerprint: "bb22"}

// made is a run for a test.
type made struct {
	version, shape string
	machine        results.Machine
	cost           float64
	verdict        space.Verdict // "" for a run without a schedule
	exact          bool
}

// noon is when the first run of a test was made.
var noon = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

// makeRun writes a run directory with three outcomes.
func makeRun(t testing.TB, dir string, m made, number int) {
	t.Helper()
	run, err := results.Create(dir, results.Settings{
		Kernel: "k", KernelVersion: m.version, Shape: m.shape, Unit: "ns", Strategy: "random", Seed: uint64(number), Machine: m.machine,
		Created: noon.Add(time.Duration(number) * time.Minute), Measured: !m.exact,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	fail := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	fail(run.Journal.Batch(space.Batch{Count: 3}))
	for i, o := range []space.Outcome{{Status: space.OK, Cost: m.cost}, {Status: space.OK, Cost: 2 * m.cost}, space.Fail(space.WrongAnswer, "out[1] is 2")} {
		fail(run.Journal.Record(space.Entry{Number: i, Key: fmt.Sprintf("u=%d", i), Outcome: o, Elapsed: float64(i)}))
	}
	fail(run.Journal.End(results.End{Why: "evaluations spent", Elapsed: 3}))
	if m.verdict == "" {
		return
	}
	s := results.Schedule{
		Format: 1, Kernel: "k", KernelVersion: m.version, Shape: m.shape, Unit: "ns", Point: json.RawMessage(`{"u":0}`), Key: "u=0", Cost: m.cost, Verdict: m.verdict, Unverified: m.verdict == space.Unverified,
		Checked: results.Unchecked, Checks: []results.Check{}, Ratio: 2, RatioInterval: &[2]float64{1.9, 2.1}, Pairs: 40, Baseline: results.Baseline{Key: "u=1", Cost: 2 * m.cost},
		Artifacts: []results.Artifact{}, Reproduce: []string{},
	}
	text, err := json.Marshal(s)
	fail(err)
	fail(os.WriteFile(filepath.Join(dir, results.ScheduleName), text, 0o666))
}

func openAt(t testing.TB, path string) *DB {
	t.Helper()
	d, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// filled is an index of runs in directories 0, 1, ….
func filled(t testing.TB, runs ...made) (d *DB, root string) {
	t.Helper()
	root = t.TempDir()
	d = openAt(t, filepath.Join(t.TempDir(), "tune.db"))
	for i, m := range runs {
		dir := filepath.Join(root, fmt.Sprint(i))
		makeRun(t, dir, m, i)
		if err := d.Add(t.Context(), dir, nil); err != nil {
			t.Fatal(err)
		}
	}
	return d, root
}

// TestBest: this machine comes before others, then the shape, then the verdict, then the cost.
func TestBest(t *testing.T) {
	d, root := filled(t,
		made{"1", "m=512,n=512", here, 100, space.Unverified, false},
		made{"1", "m=512,n=512", here, 120, space.Faster, false},
		made{"1", "m=512,n=512", here, 110, space.Faster, false},
		made{"1", "m=512,n=512", elsewhere, 10, space.Faster, false},
		made{"1", "m=64,n=64", elsewhere, 5, space.Faster, false},
		made{"0", "m=512,n=512", here, 1, space.Faster, false},
		made{"1", "m=640,n=512", here, 1, "", false},
		made{"2", "m=32,n=8", elsewhere, 7, space.Faster, true},
	)
	for _, c := range []struct {
		version, shape string
		machine        results.Machine
		want           int // the directory
		distance       float64
		here           bool
	}{
		{"1", "m=512,n=512", here, 2, 0, true},
		{"1", "m=512,n=512", elsewhere, 3, 0, true},
		{"1", "m=1024,n=512", here, 2, 1, true},
		{"1", "m=64,n=64", here, 2, 6, true}, // the nearest of this machine
		{"1", "m=64,n=128", elsewhere, 4, 1, true},
		{"1", "m=512,n=512", results.Machine{Fingerprint: "cc"}, 3, 0, false},
		{"0", "m=512,n=512", here, 5, 0, true},
		{"", "m=512,n=512", here, 5, 0, true}, // whatever the version
		{"2", "m=32,n=8", here, 7, 0, true},   // its cost depends on no machine
	} {
		got, err := d.Best(t.Context(), Query{"k", c.version, c.shape, c.machine})
		if err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
		if got.Dir != filepath.Join(root, fmt.Sprint(c.want)) || math.Abs(got.Distance-c.distance) > 1e-9 || got.Here != c.here || got.Schedule.Key != "u=0" {
			t.Errorf("%+v: %s at distance %v, here %v", c, got.Dir, got.Distance, got.Here)
		}
	}
	for _, q := range []Query{{"other", "1", "m=512,n=512", here}, {"k", "3", "m=512,n=512", here}} {
		if _, err := d.Best(t.Context(), q); !errors.Is(err, ErrUnknown) {
			t.Errorf("%+v: %v", q, err)
		}
	}
}

// TestBestPinned: that a run is faster than a baseline with pinned values does not put it before one that is faster than both.
func TestBestPinned(t *testing.T) {
	d, root := filled(t, made{"1", "m=512", here, 100, space.Unverified, false}, made{"1", "m=64", here, 100, space.Unverified, false}, made{"1", "m=8", here, 100, space.Faster, false})
	for i, m := range []made{{"1", "m=512", here, 500, space.Faster, false}, {"1", "m=64", here, 50, space.Faster, false}, {"1", "m=8", here, 50, space.Faster, false}} {
		dir := filepath.Join(root, fmt.Sprint("pinned", i))
		makeRun(t, dir, m, 10+i)
		path := filepath.Join(dir, results.SettingsName)
		text, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path, bytes.Replace(text, []byte("{"), []byte(`{"pinned": {"u": "0"},`), 1), 0o666)
		}
		if err == nil {
			err = d.Add(t.Context(), dir, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for shape, want := range map[string]float64{"m=512": 100, "m=64": 50, "m=8": 50} {
		if best, err := d.Best(t.Context(), Query{"k", "1", shape, here}); err != nil || *best.Cost != want {
			t.Errorf("%s: %+v, %v: want cost %v", shape, best.Row, err, want)
		}
	}
}

// TestNearest: the shape that Best finds by looking at a few is the one that looking at all finds.
func TestNearest(t *testing.T) {
	ctx := t.Context()
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "tune-db-")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		d, err := Open(ctx, filepath.Join(dir, "tune.db"))
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		number := rapid.IntRange(0, 70)
		one := rapid.Custom(func(t *rapid.T) string {
			text := fmt.Sprintf("m=%d,n=%d,layout=%s", number.Draw(t, "m"), number.Draw(t, "n"), rapid.SampledFrom([]string{"nn", "nt"}).Draw(t, "layout"))
			if rapid.IntRange(0, 4).Draw(t, "more") == 0 {
				text += fmt.Sprintf(",k=%d", number.Draw(t, "k"))
			}
			return text
		})
		shapes := rapid.SliceOfN(one, 1, 12).Draw(t, "shapes")
		for i, s := range shapes {
			e := entry{Run: fmt.Sprint(i), Settings: results.Settings{Kernel: "k", Shape: s, Machine: here, Measured: true}, Schedule: &results.Schedule{Key: "u=0", Cost: 1}}
			if err := d.enter(ctx, e); err != nil {
				t.Fatal(err)
			}
		}
		asked := one.Draw(t, "asked")
		least := math.Inf(1)
		for _, s := range shapes {
			least = min(least, parseShape(asked).distance(parseShape(s)))
			if a, b := parseShape(asked).distance(parseShape(s)), parseShape(s).distance(parseShape(asked)); math.Abs(a-b) > 1e-9 {
				t.Fatalf("%s and %s: %v, the other way %v", asked, s, a, b)
			}
		}
		got, err := d.Best(ctx, Query{Kernel: "k", Shape: asked, Machine: here})
		if err != nil || math.Abs(got.Distance-least) > 1e-9 {
			t.Fatalf("%s: %v at %v, want %v (%v)", asked, got.Shape, got.Distance, least, err)
		}
	})
}

// TestTies: of shapes that are equally far away it is always the same one, though sums of the same numbers in another order differ.
func TestTies(t *testing.T) {
	d := openAt(t, filepath.Join(t.TempDir(), "tune.db"))
	for i, s := range []string{"m=700,n=500,k=300", "m=700,n=300,k=500", "m=500,n=700,k=300", "m=500,n=300,k=700", "m=300,n=700,k=500", "m=300,n=500,k=700"} {
		e := entry{Run: fmt.Sprint(i), Settings: results.Settings{Kernel: "k", Shape: s, Machine: here, Measured: true}, Schedule: &results.Schedule{Key: "u=0", Cost: 1}}
		if err := d.enter(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	for range 50 {
		got, err := d.Best(t.Context(), Query{Kernel: "k", Shape: "m=100,n=100,k=100", Machine: here})
		if err != nil || got.Shape != "m=300,n=500,k=700" {
			t.Fatalf("%s, %v: want the first in the order of their texts", got.Shape, err)
		}
	}
}

// TestSources: runs to start from are of this machine first, and near.
func TestSources(t *testing.T) {
	d, root := filled(t,
		made{"1", "m=512", elsewhere, 1, space.Faster, false},
		made{"1", "m=64", here, 1, space.Faster, false},
		made{"1", "m=256", here, 1, "", false}, // without a schedule it has outcomes all the same
		made{"2", "m=512", here, 1, space.Faster, false},
		made{"1", "m=500", here, 1, space.Faster, false},
	)
	if err := os.RemoveAll(filepath.Join(root, "4")); err != nil {
		t.Fatal(err)
	}
	got, err := d.Sources(t.Context(), Query{"k", "1", "m=512", here}, 3, func(dir string) bool { return !Gone(dir) })
	var want []string
	for _, n := range []string{"2", "1", "0"} {
		want = append(want, filepath.Join(root, n))
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, want %q (%v)", got, want, err)
	}
}

// TestProgram: a run of a kernel of a program's own is listed, and no answer about the kernel of tune's that has its name.
func TestProgram(t *testing.T) {
	d, root := filled(t)
	dir := filepath.Join(root, "0")
	makeRun(t, dir, made{"1", "m=512", here, 1, space.Faster, false}, 0)
	path := filepath.Join(dir, results.SettingsName)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, bytes.Replace(text, []byte("{"), []byte(`{"program": true,`), 1), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := d.Add(t.Context(), dir, nil); err != nil {
		t.Fatal(err)
	}
	if rows, err := d.List(t.Context(), Filter{}); err != nil || len(rows) != 1 || rows[0].Kernel != "k" {
		t.Errorf("the list is %+v, %v", rows, err)
	}
	q := Query{"k", "1", "m=512", here}
	if found, err := d.Sources(t.Context(), q, 3, func(string) bool { return true }); err != nil || len(found) > 0 {
		t.Errorf("a source of another kernel: %q, %v", found, err)
	}
	if best, err := d.Best(t.Context(), q); !errors.Is(err, ErrUnknown) {
		t.Errorf("the best of another kernel: %+v, %v", best, err)
	}
}

// TestAdd: a run is entered once, wherever it moves to, and again when it has changed.
func TestAdd(t *testing.T) {
	d, root := filled(t, made{"1", "m=512", here, 100, "", false})
	first := filepath.Join(root, "0")
	list := func() []Row {
		t.Helper()
		rows, err := d.List(t.Context(), Filter{})
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	add := func(dir string) {
		t.Helper()
		if err := d.Add(t.Context(), dir, nil); err != nil {
			t.Fatal(err)
		}
	}
	if rows := list(); len(rows) != 1 || rows[0].Evaluations != 3 || rows[0].Valid != 2 || rows[0].Ended != "evaluations spent" || rows[0].Cost != nil {
		t.Fatalf("%+v", rows)
	}
	moved := filepath.Join(root, "moved")
	if err := os.Rename(first, moved); err != nil {
		t.Fatal(err)
	}
	add(moved)
	if rows := list(); len(rows) != 1 || rows[0].Dir != moved {
		t.Fatalf("%+v", rows)
	}
	makeRun(t, first, made{"1", "m=512", here, 50, space.Faster, false}, 1)
	add(first)
	if err := os.RemoveAll(first); err != nil {
		t.Fatal(err)
	}
	makeRun(t, first, made{"1", "m=512", here, 40, space.Faster, false}, 2) // another run in the same place
	add(first)
	if rows := list(); len(rows) != 2 || rows[0].Seed != "2" || *rows[0].Cost != 40 {
		t.Fatalf("%+v", rows)
	}
	detail, err := d.Show(t.Context(), first)
	if err != nil || len(detail.Points) != 2 || detail.Points[0].Key != "u=0" || len(detail.Failures) != 1 || detail.Failures[0].Reason != "out[1] is 2" {
		t.Fatalf("%+v, %v", detail, err)
	}
	if want := (Comparison{"u=0", "u=1", 2, 1.9, 2.1, 40}); len(detail.Comparisons) != 1 || detail.Comparisons[0] != want {
		t.Errorf("%+v, want %+v", detail.Comparisons, want)
	}
	if _, err := d.Show(t.Context(), "nothing"); err == nil || !strings.Contains(err.Error(), "tune db list") {
		t.Error(err)
	}
	if err := os.RemoveAll(moved); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(moved, nil, 0o666); err != nil { // a file in its place
		t.Fatal(err)
	}
	if n, err := d.Collect(t.Context(), Gone); err != nil || n != 1 || len(list()) != 1 {
		t.Errorf("forgot %d: %v", n, err)
	}
}

// What a sitting knows of its run takes the place of the journal, and says the same.
func TestAddKnown(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	run, err := results.Create(dir, results.Settings{Kernel: "k", Strategy: "random", Unit: "ns"})
	if err != nil {
		t.Fatal(err)
	}
	const n = 2000
	if err := run.Journal.Batch(space.Batch{Count: n}); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		o := space.Outcome{Status: space.OK, Cost: float64(1 + i*7919%501), Metrics: []space.Metric{{Name: "m", Value: float64(i)}}}
		switch i % 7 {
		case 3:
			o = space.Fail(space.Timeout, "trial %d", i)
		case 4:
			o.Fidelity, o.Cost = 1, 0.5
		}
		if err := run.Journal.Record(space.Entry{Number: i, Key: fmt.Sprintf("a=%d b=%d", i%7, i), Outcome: o}); err != nil {
			t.Fatal(err)
		}
	}
	if err := run.Close(); err != nil {
		t.Fatal(err)
	}
	if run, err = results.Look(dir); err != nil {
		t.Fatal(err)
	}
	ranking, err := results.Ranking(run, nil, 2*mostPoints)
	if err != nil {
		t.Fatal(err)
	}
	look, err := insight.Look(run, nil, insight.Reference{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var entries []entry
	for _, known := range []*Facts{nil, {Best: ranking, Failures: look.Failures}} {
		e, err := read(t.Context(), dir, known)
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, e)
	}
	if !reflect.DeepEqual(entries[0], entries[1]) || len(entries[0].Points) != mostPoints || len(entries[0].Failures) != 1 || len(entries[0].Failures[0].With) != 1 {
		t.Errorf("%+v, want %+v", entries[1], entries[0])
	}
}

// TestExport: an index that is exported and imported says the same, without directories; what came from a directory stays.
func TestExport(t *testing.T) {
	d, root := filled(t, made{"1", "m=512", here, 100, space.Faster, false}, made{"1", "m=64", elsewhere, 7, "", false})
	if err := d.SetRoofs(t.Context(), here, json.RawMessage(`[{"rate":1}]`)); err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if n, err := d.Export(t.Context(), &text); err != nil || n != 2 {
		t.Fatal(n, err)
	}
	other := openAt(t, filepath.Join(t.TempDir(), "tune.db"))
	if n, err := other.Import(t.Context(), bytes.NewReader(text.Bytes()), "x"); err != nil || n != 2 {
		t.Fatal(n, err)
	}
	rows, err := d.List(t.Context(), Filter{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		a, erra := d.Show(t.Context(), r.Run)
		b, errb := other.Show(t.Context(), r.Run)
		if b.Dir != "" {
			t.Errorf("an imported run has the directory %q", b.Dir)
		}
		a.Dir = ""
		if !reflect.DeepEqual(a, b) || erra != nil || errb != nil {
			t.Errorf("%+v\n%+v\n%v %v", a, b, erra, errb)
		}
	}
	var again bytes.Buffer
	if _, err := other.Export(t.Context(), &again); err != nil {
		t.Fatal(err)
	}
	if want := strings.NewReplacer(`,"dir":"`+filepath.Join(root, "0")+`"`, "", `,"dir":"`+filepath.Join(root, "1")+`"`, "").Replace(text.String()); again.String() != want {
		t.Errorf("exported again:\n%s\nwant\n%s", again.String(), want)
	}
	if n, err := other.Import(t.Context(), bytes.NewReader(text.Bytes()), "x"); err != nil || n != 0 {
		t.Errorf("of the same export %d runs are new the second time: %v", n, err)
	}
	if n, err := d.Import(t.Context(), &text, "x"); err != nil || n != 0 {
		t.Errorf("%d runs of a directory were replaced: %v", n, err)
	}
	for _, bad := range []struct{ text, want string }{
		{"{", ""}, {`{"run":""}`, "field run is missing or too long"}, {`{"run":"a","settings":{"kernel":"k"}}`, "field settings: "},
		{`{"run":"a","settings":{"kernel":"k","strategy":"s"},"schedule":{"kernel":"k"}}`, "field s"},
		{`{"run":"a","settings":{"kernel":"k","strategy":"s","machine":{"cpu":"` + strings.Repeat("x", 1<<17) + `"}}}`, "field settings: "},
		{`{"run":"a","points":[` + strings.Repeat("{},", mostPoints) + `{}]}`, "field points has "},
	} {
		_, err := other.Import(t.Context(), strings.NewReader("\n"+bad.text), "file.jsonl")
		if err == nil || !strings.Contains(err.Error(), "file.jsonl, line 2: "+bad.want) || !strings.HasSuffix(err.Error(), ": want what 'tune db export' writes; the runs before it are in the index") {
			t.Errorf("%.60s: %v", bad.text, err)
		}
	}
	if _, err := other.Import(t.Context(), strings.NewReader(strings.Repeat("x", mostLine+1)), "file.jsonl"); err == nil || err.Error() != "file.jsonl: a line has more than 16 MiB: want what 'tune db export' writes; the runs before it are in the index" {
		t.Error(err)
	}
	if _, err := other.Show(t.Context(), "none"); err == nil || !strings.Contains(err.Error(), ": the index has no run none: see 'tune db list'; 'tune db rebuild DIR' enters the runs of a folder") {
		t.Error(err)
	}
}

// TestFaults: a file that is no index is named with what to do, and stays as it is.
func TestFaults(t *testing.T) {
	for _, c := range []struct {
		name string
		make func(t *testing.T, path string)
		want string
	}{
		{"text", func(t *testing.T, path string) {
			os.WriteFile(path, []byte(strings.Repeat("no database\n", 100)), 0o600)
		}, "tune db rebuild"},
		{"newer", func(t *testing.T, path string) { change(t, path, "PRAGMA user_version = 99") }, "the index has version 99, and this tune knows versions up to "},
		{"other program", func(t *testing.T, path string) { change(t, path, "PRAGMA application_id = 7") }, "it is a database of another program: name another file by --db"},
		{"folder", func(t *testing.T, path string) { os.Mkdir(path, 0o700) }, "it is a folder: name a file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "tune.db")
			c.make(t, path)
			before, _ := os.ReadFile(path)
			d, err := Open(t.Context(), path)
			if err == nil {
				d.Close()
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("%v, want %q and the path", err, c.want)
			}
			if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
				t.Error("it was changed")
			}
		})
	}
	if _, err := OpenExisting(t.Context(), filepath.Join(t.TempDir(), "none.db")); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "tune db rebuild") {
		t.Error(err)
	}
}

func change(t *testing.T, path, statement string) {
	t.Helper()
	d := openAt(t, path)
	if _, err := d.sql.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestRebuild: whatever byte of an index is damaged, rebuilding it finds all runs again and keeps the damaged file.
func TestRebuild(t *testing.T) {
	root := t.TempDir()
	for i := range 3 {
		makeRun(t, filepath.Join(root, "deep", fmt.Sprint(i)), made{"1", fmt.Sprintf("m=%d", 100+i), here, 1, space.Faster, false}, i)
	}
	if err := os.MkdirAll(filepath.Join(root, "bad"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "bad", results.SettingsName), []byte("{"), 0o666); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "tune.db")
	check := func(why string, damaged bool) {
		t.Helper()
		done, err := Rebuild(t.Context(), path, []string{root}, nil)
		if err != nil || done.Runs != 3 || len(done.Faults) != 1 || (done.Damaged != "") != damaged {
			t.Fatalf("%s: %+v, %v", why, done, err)
		}
		d := openAt(t, path)
		defer d.Close()
		if rows, err := d.List(t.Context(), Filter{}); err != nil || len(rows) != 3 {
			t.Fatalf("%s: %+v, %v", why, rows, err)
		}
	}
	check("new", false)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"header": slices.Concat([]byte("x"), whole[1:]), "page": slices.Concat(whole[:4096], bytes.Repeat([]byte{0xff}, len(whole)-4096))} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		check(name, true)
	}
	if err := os.WriteFile(path, whole[:len(whole)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	check("cut", true)
}

// TestRebuildInterrupted: an index that is whole stays where it is, at whatever moment rebuilding it is interrupted.
func TestRebuildInterrupted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tune.db")
	d := openAt(t, path)
	tx, err := d.sql.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 1500 {
		e := entry{Run: fmt.Sprint(i), Settings: results.Settings{Kernel: "k", Shape: fmt.Sprintf("m=%d", i), Machine: here}, Points: []Point{{Key: strings.Repeat("u", 2000)}}}
		if err := e.write(t.Context(), tx); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(tx.Commit(), d.Close()); err != nil {
		t.Fatal(err)
	}
	interrupted := 0
	for patience := time.Duration(0); patience < 20*time.Millisecond; patience += 200 * time.Microsecond {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		done, err := Rebuild(ctx, path, nil, nil)
		cancel()
		if err != nil {
			interrupted++
		}
		if moved, _ := filepath.Glob(path + ".damaged*"); done.Damaged != "" || len(moved) > 0 {
			t.Fatalf("interrupted after %v, it took the index for damaged: %+v, %v", patience, done, err)
		}
	}
	if interrupted == 0 {
		t.Error("nothing was interrupted")
	}
	d = openAt(t, path)
	if rows, err := d.List(t.Context(), Filter{}); err != nil || len(rows) != 1500 {
		t.Errorf("%d runs, %v", len(rows), err)
	}
}

// TestMigrate: a later version brings the file to its tables and keeps what it holds; this version then refuses it.
func TestMigrate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tune.db")
	dir := filepath.Join(t.TempDir(), "run")
	makeRun(t, dir, made{"1", "m=512", here, 100, space.Faster, false}, 0)
	d := openAt(t, path)
	if err := d.Add(t.Context(), dir, nil); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	now := migrations
	t.Cleanup(func() { migrations = now })
	migrations = append(slices.Clone(now), "ALTER TABLE runs ADD COLUMN note TEXT NOT NULL DEFAULT 'none'")
	later := openAt(t, path)
	var note string
	if err := later.sql.QueryRowContext(t.Context(), "SELECT note FROM runs").Scan(&note); err != nil || note != "none" {
		t.Errorf("%q, %v", note, err)
	}
	if rows, err := later.List(t.Context(), Filter{}); err != nil || len(rows) != 1 || *rows[0].Cost != 100 {
		t.Errorf("%+v, %v", rows, err)
	}
	migrations = now
	_, err := Open(t.Context(), path)
	if newer, ok := errors.AsType[*NewerError](err); !ok || newer.Version != len(now)+1 {
		t.Error(err)
	}
}

// BenchmarkBest asks an index of 10^5 runs at random shapes.
func BenchmarkBest(b *testing.B) {
	ctx := context.Background()
	d := openAt(b, filepath.Join(b.TempDir(), "tune.db"))
	rng := rand.New(rand.NewPCG(1, 2))
	size := func() int { return 1 << rng.IntN(12) * (1 + rng.IntN(3)) }
	shape := func() string { return fmt.Sprintf("m=%d,n=%d,k=%d,layout=nn", size()+rng.IntN(9), size(), size()) }
	tx, err := d.sql.BeginTx(ctx, nil)
	if err != nil {
		b.Fatal(err)
	}
	for i := range 100_000 {
		e := entry{Run: fmt.Sprint(i), Settings: results.Settings{Kernel: "k", Shape: shape(), Machine: here, Measured: true}, Schedule: &results.Schedule{Key: "u=0", Cost: 1, Verdict: space.Faster}}
		if err := e.write(ctx, tx); err != nil {
			b.Fatal(err)
		}
	}
	if err := tx.Commit(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := d.Best(ctx, Query{Kernel: "k", Shape: shape(), Machine: here}); err != nil {
			b.Fatal(err)
		}
	}
}
