package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"tune/kernels/all"
	"tune/kernels/native"
	"tune/kernels/native/cc"
	"tune/results"
	"tune/results/report"
	"tune/space"
)

// TestRoofline: a kernel in C is placed below the roofs that are kept, and where that is not possible the page says why.
func TestRoofline(t *testing.T) {
	dir := t.TempDir()
	here := results.Machine{Arch: "amd64", CPU: "This CPU"}
	roofs := []native.Roof{
		{Kind: "f32", Rate: 100e9, Unit: "GFLOP/s"}, {Kind: "bf16", Rate: 900e9, Unit: "GFLOP/s"}, {Kind: "int8 tiles", Rate: 400e9, Unit: "GOP/s"},
		{Kind: "read", Level: "L1", Rate: 200e9, Unit: "GB/s"}, {Kind: "copy", Level: "L1", Rate: 300e9, Unit: "GB/s"},
		{Kind: "read", Level: "memory", Rate: 10e9, Unit: "GB/s"},
	}
	memory := func(l1 float64, shared string) []report.Roof {
		return []report.Roof{{Name: "L1", Most: l1}, {Name: "memory" + shared, Most: 10}}
	}
	metric := func(name string, value float64) space.Metric { return space.Metric{Name: name, Value: value} }
	gflops, gbs := metric(space.MetricGFLOPS, 40), metric(space.MetricGBS, 20)
	for _, c := range []struct {
		name    string
		build   string
		cpu     string
		metrics []space.Metric
		roofs   []native.Roof
		limits  string // part of the first
		want    *report.Roofline
	}{
		{"floats", `{"threads": 1}`, "This CPU", []space.Metric{gflops, gbs}, roofs, "40.0 % of the 100.0 GFLOP/s that one core reaches",
			&report.Roofline{Intensity: 2, Reached: 40, Unit: "GFLOP/s", Peak: report.Roof{Name: "f32", Most: 100}, Memory: memory(200, "")}},
		{"two threads", `{"threads": 2}`, "This CPU", []space.Metric{gflops, gbs}, roofs, "20.0 % of the 200.0 GFLOP/s that 2 cores reach",
			&report.Roofline{Intensity: 2, Reached: 40, Unit: "GFLOP/s", Peak: report.Roof{Name: "f32", Most: 200}, Memory: memory(400, ", of one core")}},
		{"whole numbers", `{}`, "This CPU", []space.Metric{metric(space.MetricGOPS, 100), gbs}, roofs, "25.0 % of the 400.0 GOP/s",
			&report.Roofline{Intensity: 5, Reached: 100, Unit: "GOP/s", Peak: report.Roof{Name: "int8 tiles", Most: 400}, Memory: memory(200, "")}},
		{"no bytes stated", `{}`, "This CPU", []space.Metric{gflops}, roofs, "40.0 % of the 100.0 GFLOP/s", nil},
		{"no roofs kept", `{}`, "This CPU", []space.Metric{gflops, gbs}, nil, "'tune machine' measures the roofs of this processor", nil},
		{"another processor", `{}`, "That CPU", []space.Metric{gflops, gbs}, roofs, "not known here: the run is of another processor (amd64 That CPU)", nil},
		{"no work stated", `{}`, "This CPU", nil, nil, "", nil},
		{"no kernel in C", "", "That CPU", []space.Metric{gflops, gbs}, roofs, "", nil},
	} {
		s := &results.Schedule{Cost: 1, Metrics: c.metrics, Machine: results.Machine{Arch: "amd64", CPU: c.cpu}}
		if c.build != "" {
			s.Artifacts = []results.Artifact{{Name: "best.c"}, {Name: "best.build.json"}}
			if err := os.WriteFile(filepath.Join(dir, "best.build.json"), []byte(c.build), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		r := &report.Run{Schedule: s}
		below(dir, r, here, func() []native.Roof { return c.roofs })
		if (len(r.Limits) > 0) != (c.limits != "") || c.limits != "" && !strings.Contains(r.Limits[0], c.limits) {
			t.Errorf("%s: the limits are %q, want %q", c.name, r.Limits, c.limits)
		}
		if !reflect.DeepEqual(r.Roofline, c.want) {
			t.Errorf("%s: the roofline is %+v, want %+v", c.name, r.Roofline, c.want)
		}
	}
}

// TestRooflineNotMeasured: on a machine whose roofs nobody has measured, a report names the command, and measures nothing.
func TestRooflineNotMeasured(t *testing.T) {
	dir := t.TempDir()
	a := &app{host: native.NewHost(native.HostOptions{CacheDir: t.TempDir(), Compilers: []cc.Compiler{{Name: "none"}}})}
	defer a.host.Close()
	if err := os.WriteFile(filepath.Join(dir, "best.build.json"), []byte(`{"threads": 1}`), 0o666); err != nil {
		t.Fatal(err)
	}
	r := &report.Run{Schedule: &results.Schedule{
		Cost: 1, Machine: results.ThisMachine(), Metrics: []space.Metric{{Name: space.MetricGBS, Value: 2}}, Artifacts: []results.Artifact{{Name: "best.build.json"}},
	}}
	a.roofline(dir, r)
	if len(r.Limits) != 1 || !strings.Contains(r.Limits[0], "'tune machine'") || r.Roofline != nil {
		t.Errorf("the limits are %q, the roofline %+v", r.Limits, r.Roofline)
	}
}

// TestReportOfOldRun: a run that version 0.1.0 has written is shown, and the page says what of it is not known now.
func TestReportOfOldRun(t *testing.T) {
	page := reportPage(t, filepath.Join("..", "..", "testdata", "v0.1.0"))
	r := page.Runs[0]
	if len(r.Damage) > 0 || r.Table.Seen != 20 || r.Usage == nil || len(r.Top) != 2 {
		t.Errorf("damage %q, %d outcomes, %d of the best; its engines: %v", r.Damage, r.Table.Seen, len(r.Top), r.Usage)
	}
	html := pageText(t, page)
	for _, want := range []string{`data-outcomes="20"`, "18 outcomes are of reduced fidelity", "because the kernel has another space now", "Use of the engines by cycle", "tune verify "} {
		if !strings.Contains(html, want) {
			t.Errorf("the page has no %q", want)
		}
	}
}

// reportPage reads what tune report shows of a run.
func reportPage(t testing.TB, dir string) report.Page {
	t.Helper()
	host := native.NewHost(native.HostOptions{})
	defer host.Close()
	var page report.Page
	if err := (&app{host: host, table: all.Table(host)}).reported([]string{dir}, &page, nil); err != nil {
		t.Fatal(err)
	}
	return page
}

func pageText(t testing.TB, page report.Page) string {
	t.Helper()
	var text bytes.Buffer
	if err := page.HTML(&text); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// largeRun makes a run of the tree hash with so many outcomes of random points, a tenth of which failed.
func largeRun(b *testing.B, n int) (dir string) {
	b.Helper()
	small := filepath.Join(b.TempDir(), "small")
	if out, err := exec.Command("tune", "run", "treehash", "--evals", "16", "--strategy", "grid", "--no-db", "-q", "--dir", small).CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	host := native.NewHost(native.HostOptions{})
	defer host.Close()
	s, err := (&app{host: host, table: all.Table(host)}).spaceOfRun(small)
	if err != nil || s == nil {
		b.Fatalf("%v, %v", s, err)
	}
	look, err := results.Look(small)
	if err != nil {
		b.Fatal(err)
	}
	dir = filepath.Join(b.TempDir(), "large")
	run, err := results.Create(dir, look.Settings)
	if err != nil {
		b.Fatal(err)
	}
	defer run.Close()
	r := rand.New(rand.NewPCG(1, 2))
	const batch = 100
	for i := range n {
		if i%batch == 0 {
			if err := run.Journal.Batch(space.Batch{Number: i / batch, First: i, Count: min(batch, n-i)}); err != nil {
				b.Fatal(err)
			}
		}
		p, err := s.Sample(r)
		if err != nil {
			b.Fatal(err)
		}
		cost := 2000.0
		for k, ordinal := range p.Ordinals() {
			cost += float64(max(ordinal, 0)) * float64(1+k%7)
		}
		e := space.Entry{Number: i, Key: p.Key(), Elapsed: float64(i) / 1000, Outcome: space.Outcome{Status: space.OK, Cost: cost}}
		for k, name := range []string{"load", "slots", "store"} {
			e.Outcome.Metrics = append(e.Outcome.Metrics, space.Metric{Name: name, Value: cost / float64(k+2)})
		}
		if r.IntN(10) == 0 {
			e.Outcome = space.Fail(space.WrongAnswer, "the hash is another one")
		}
		if err := run.Journal.Record(e); err != nil {
			b.Fatal(err)
		}
	}
	if err := run.Journal.End(results.End{Why: "evaluations spent", Elapsed: float64(n) / 1000}); err != nil {
		b.Fatal(err)
	}
	for _, name := range []string{"best.json", "best.program.json"} {
		text, err := os.ReadFile(filepath.Join(small, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), text, 0o666)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	return dir
}

// BenchmarkReport writes pages of runs with many outcomes as tune report does: what mattered is learned in the space of the kernel, and the
// program is examined.
func BenchmarkReport(b *testing.B) {
	for _, n := range []int{100_000, 1_000_000} {
		b.Run(fmt.Sprintf("outcomes=%d", n), func(b *testing.B) {
			dir := largeRun(b, n)
			size := 0
			for b.Loop() {
				page := reportPage(b, dir)
				if r := page.Runs[0]; r.Insight.Learned == nil || r.Usage == nil || r.Table.Seen != n || len(r.Damage) > 0 {
					b.Fatalf("%d outcomes, %q, %q", r.Table.Seen, r.Problems, r.Damage)
				}
				size = len(pageText(b, page))
			}
			b.ReportMetric(float64(size), "bytes")
		})
	}
}
