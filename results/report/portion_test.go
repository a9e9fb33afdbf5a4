package report_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tune/internal/plain"
	"tune/results"
	"tune/results/report"
	"tune/space"
)

// whole is a run that has all parts of a page, each as large as it may be.
func whole(t *testing.T) *report.Run {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "whole")
	entries := make([]space.Entry, 3000)
	for i := range entries {
		key, cost, x := "", 2e6, uint64(i)*0x9e3779b97f4a7c15
		for k := range 45 {
			of := uint64(3)
			if k < 6 {
				of = 40
			}
			value := x >> k % of
			key += fmt.Sprintf("parameter_%d=%d ", k, value)
			cost += float64(value) * float64(46-k)
		}
		entries[i] = space.Entry{Number: i, Key: strings.TrimSpace(key), Elapsed: float64(i) / 10, Outcome: space.Outcome{Status: space.OK, Cost: cost - 600*float64(i)}}
		entries[i].Outcome.Metrics = []space.Metric{{Name: space.MetricGBS, Value: 3}, {Name: "size", Value: float64(i)}}
		if i%9 == 3 {
			entries[i].Outcome = space.Fail(space.Invalid, "no such tile")
		}
	}
	s := settings()
	s.Objectives, s.Baseline.Key = "cost,size", strings.ReplaceAll(entries[7].Key, "=1 ", "=0 ")
	create(t, dir, s, entries)
	source := []byte(strings.Repeat("int a; // <a line of a program>\n", 6000))
	sum := sha256.Sum256(source)
	if err := os.WriteFile(filepath.Join(dir, "best.c"), source, 0o666); err != nil {
		t.Fatal(err)
	}
	best := export(t, dir)
	best.Key, best.Reproduce = entries[2999].Key, []string{"tune run k --start " + entries[2999].Key, "tune verify best.json"}
	best.Artifacts = []results.Artifact{{Name: "best.c", SHA256: hex.EncodeToString(sum[:]), Bytes: int64(len(source))}}
	f := &results.Final{}
	for _, list := range []*[]results.Compared{&f.First, &f.Confirmed, &f.Peers} {
		for k := range 24 {
			c := results.Compared{Key: entries[2990-k].Key, Ratio: 1.5, Interval: &[2]float64{1.4, 1.6}, Pairs: 128}
			if list == &f.First {
				best.IndistinctFrom = append(best.IndistinctFrom, c.Key)
			}
			for i := range c.Pairs {
				c.Ratios = append(c.Ratios, 1.4+float64(i)/640)
			}
			*list = append(*list, c)
		}
	}
	f.First[23].Key, f.Confirmed[0].Key = best.Key, best.Key
	best.Ratio, best.RatioInterval, best.Pairs, best.Baseline.Cost = 1.5, f.Confirmed[0].Interval, 128, 1.5*best.Cost
	if err := best.Write(filepath.Join(dir, results.ScheduleName)); err != nil {
		t.Fatal(err)
	}
	if err := f.Keep(dir, best); err != nil {
		t.Fatal(err)
	}
	r := report.Open(dir, report.Options{})
	if len(r.Damage) > 0 {
		t.Fatal(r.Damage)
	}
	r.Roofline = &report.Roofline{Intensity: 4, Reached: 30, Unit: "GFLOP/s", Peak: report.Roof{Name: "f32", Most: 100}, Memory: []report.Roof{{Name: "L1", Most: 200}, {Name: "memory", Most: 10}}}
	r.Usage = &report.Usage{Units: []string{"alu", "valu", "load", "store", "flow"}, Limits: []int{12, 6, 2, 2, 1}, Bounds: []int{3, 2, 1, 1, 1}, Bound: 3, Limiting: "alu"}
	for range 2000 {
		r.Usage.Cycles = append(r.Usage.Cycles, []uint8{12, 6, 2, 1, 1})
	}
	return r
}

// TestMarksLeft: below the drawings of outcomes the page says how many have a mark of their own, and nothing where all have one.
func TestMarksLeft(t *testing.T) {
	for n, merged := range map[int]bool{3: false, 20_000: true} {
		dir := filepath.Join(t.TempDir(), "run")
		create(t, dir, settings(), outcomes(n))
		html := page(t, report.Open(dir, report.Options{}))
		figures := regexp.MustCompile(`(?s)<figure><figcaption>Costs over .*?</figure>`).FindAllString(html, -1)
		if len(figures) != 2 {
			t.Fatalf("%d outcomes have %d drawings", n, len(figures))
		}
		for _, f := range figures {
			marks := strings.Count(f, `<circle class="pt"`) + strings.Count(f, `<circle class="fail`)
			want := fmt.Sprintf(`<p class="dim">%s of 20,000 outcomes have a mark of their own; the others would lie on these marks or beside them.</p>`, plain.Number(float64(marks)))
			if strings.Contains(f, want) != merged || strings.Contains(f, "a mark of their own") != merged || marks > 2500 {
				t.Errorf("of %d outcomes, %d have a mark, and the page does not say so, or says it without need", n, marks)
			}
		}
	}
}

// TestSizeOfSeveral: a page of any number of runs has at most 2 MB, whatever these have, and says what it leaves out.
func TestSizeOfSeveral(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes seconds")
	}
	r := whole(t)
	for _, n := range []int{1, 2, 3, 5, 8, 9, 64} {
		html := page(t, slices.Repeat([]*report.Run{r}, n)...)
		t.Logf("%d runs: %d bytes", n, len(html))
		if len(html) > 2_000_000 {
			t.Errorf("a page of %d runs has %d bytes", n, len(html))
		}
		accessible(t, html)
		all := n <= 8
		for _, part := range []string{">Costs over time</figcaption>", ">The front of ", "The finalists, pair by pair", "Use of the engines by cycle", "Best costs of a pair", "<h3>Costs by value", "The winning program: best.c", "Distribution of the costs"} {
			if got := strings.Contains(html, part); got != all {
				t.Errorf("%d runs: %q is there: %v", n, part, got)
			}
		}
		for said, want := range map[string]bool{
			"The winning program is not shown: it is best.c in the directory of the run.": !all, "A page of more than 8 runs leaves out": !all,
			"A page of this run alone has those of up to 3.": all && n > 1, "Of each comparison, one pair in ": all, "… the rest is in the file best.c of the run": all && n > 1,
			"Of 24 comparisons, ": all && n > 1, "outcomes have a mark of their own; the others": true, "that were the best so far, the last ": true,
			"shares, the greatest ": true,
		} {
			if strings.Contains(html, said) != want {
				t.Errorf("%d runs: the page says %q: %v, want %v", n, said, !want, want)
			}
		}
		if left := strings.Count(html, `<p class="dim">Rows that are left out: `); left < 3*n {
			t.Errorf("%d runs: %d tables say that rows are left out", n, left)
		}
		if exported := `class="tick win"`; all && !strings.Contains(html, exported) {
			t.Errorf("%d runs: the strips lack the exported point", n)
		}
	}
}
