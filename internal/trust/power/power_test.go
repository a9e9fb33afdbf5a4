package power

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tune/kernels/native/nativetest"
)

// TestRun: contests are held and counted, on both machines.
func TestRun(t *testing.T) {
	nativetest.Here(t)
	if testing.Short() {
		t.Skip("it measures for seconds")
	}
	// Two finalists take part in all that five do.
	defer func(all []trial) { trials = all }(trials)
	trials = []trial{{"gain", "3 % less work, and the same", []int{0, -30}, 0.9, true}}
	var table strings.Builder
	done := 0
	if _, err := Run(t.Context(), &table, Options{Cases: []string{"aliek"}}); err == nil {
		t.Error("a case that is not known was tried")
	}
	r, err := Run(t.Context(), &table, Options{Runs: 1, Limit: 100 * time.Millisecond, Cases: []string{"gain"}, Observe: func(int, int, string) { done++ }})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Rows) != 2 || done != len(r.Rows) || strings.Count(table.String(), "\n") != len(r.Rows)+4 {
		t.Fatalf("%d rows after %d contests:\n%s", len(r.Rows), done, table.String())
	}
	for _, row := range r.Rows {
		if row.Runs != 1 || row.Faster+row.NoGain+row.Unverified != 1 || row.Right > row.Faster || row.Seconds <= 0 {
			t.Errorf("a row is %+v", row)
		}
	}
}

// TestJudge: chance is no failure, and what it cannot explain is one.
func TestJudge(t *testing.T) {
	for _, c := range []struct {
		row Row
		ok  bool
	}{
		{Row{Runs: 500, Faster: 12, Bound: 0.025}, true},
		{Row{Runs: 500, Faster: 30, Bound: 0.025}, false},
		{Row{Runs: 34, Faster: 3, Bound: 0.025}, true},
		{Row{Runs: 34, Faster: 4, Bound: 0.025}, false},
		{Row{Runs: 100, Right: 92, Faster: 93, Bound: 0.9, AtLeast: true}, true},
		{Row{Runs: 100, Right: 80, Faster: 99, Bound: 0.9, AtLeast: true}, false},
	} {
		if c.row.judge(); c.row.OK != c.ok {
			t.Errorf("%+v: want %v", c.row, c.ok)
		}
	}
	if p := atMost(4, 2, 0.5); math.Abs(p-11.0/16) > 1e-9 {
		t.Errorf("at most 2 of 4 coins: %v", p)
	}
}

// TestGuard: guards are held and counted, on both machines, and a row says what its counts are worth.
func TestGuard(t *testing.T) {
	nativetest.Here(t)
	if testing.Short() {
		t.Skip("it measures for seconds")
	}
	var table strings.Builder
	done := 0
	if _, err := Guard(t.Context(), &table, Options{Cases: []string{"moer"}}); err == nil {
		t.Error("a case that is not known was tried")
	}
	rows, err := Guard(t.Context(), &table, Options{Runs: 1, Cases: []string{"more"}, Limit: 100 * time.Millisecond, Observe: func(int, int, string) { done++ }})
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 2 || done != len(rows) || strings.Count(table.String(), "\n") != len(rows)+4 {
		t.Fatalf("%d rows after %d guards:\n%s", len(rows), done, table.String())
	}
	for _, row := range rows {
		if row.Runs != 1 || row.Slower+row.Holds+row.CannotTell != 1 || row.Pairs < 1 || row.Seconds <= 0 {
			t.Errorf("a row is %+v", row)
		}
	}
}

// TestHyperfine: programs of the kernels are built once, and hyperfine's ratio is counted by what it claims.
func TestHyperfine(t *testing.T) {
	nativetest.Here(t)
	dir := t.TempDir()
	fake := filepath.Join(dir, "hyperfine")
	script := "#!/bin/sh\nfor file; do test \"$last\" = --export-json && break; last=$file; done\n\"$6\" && \"$7\" && cp \"$REPORT\" \"$file\"\n"
	if err := os.WriteFile(fake, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	p, err := newPrograms(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s, err := newSpec()
	if err != nil {
		t.Fatal(err)
	}
	base, err := p.build(t.Context(), s, "baseline", 0)
	if err != nil {
		t.Fatal(err)
	}
	more, err := p.build(t.Context(), s, "a", 30)
	if err != nil || more == base {
		t.Fatalf("%q and %q: %v", base, more, err)
	}
	var b Beside
	for i, c := range []struct {
		report       string
		beyond, mean int
		failed       bool
	}{
		{`{"results": [{"mean": 1, "stddev": 0.01}, {"mean": 1.03, "stddev": 0.01}]}`, 1, 1, false},
		{`{"results": [{"mean": 1, "stddev": 0.03}, {"mean": 1.03, "stddev": 0.03}]}`, 1, 2, false},
		{`{"results": [{"mean": 1, "stddev": 0.001}, {"mean": 1.01, "stddev": 0.001}]}`, 2, 2, false},
		{`{"results": [{"mean": 1.03, "stddev": 0.01}, {"mean": 1, "stddev": 0.01}]}`, 2, 2, false},
		{`{"results": [{"mean": 1}]}`, 2, 2, true},
	} {
		report := filepath.Join(dir, "report.json")
		if err := os.WriteFile(report, []byte(c.report), 0o644); err != nil {
			t.Fatal(err)
		}
		t.Setenv("REPORT", report)
		if said, err := p.compare(t.Context(), base, more, &b); (err != nil) != c.failed || b.Beyond != c.beyond || b.Mean != c.mean {
			t.Errorf("%d: %q, %v: %+v", i, said, err, b)
		}
	}
	if b.Runs != 4 {
		t.Errorf("%d comparisons were counted", b.Runs)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := newPrograms(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "install") {
		t.Errorf("without hyperfine: %v", err)
	}
}
