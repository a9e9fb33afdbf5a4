package report_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"tune/results"
	"tune/results/report"
	"tune/space"
)

// export writes a schedule that was measured to the directory of a run.
func export(t *testing.T, dir string) results.Schedule {
	t.Helper()
	s := results.Schedule{
		Kernel: "blur", KernelVersion: "3", Shape: "n=512", Unit: "ns", Point: json.RawMessage(`{"tile":8}`), Key: "tile=8 unroll=1 contract=off", Cost: 1e6,
		Checked: "fresh inputs", Checks: []results.Check{{Seed: 1, OK: true}}, Baseline: results.Baseline{Preset: "plain", Key: "tile=4 unroll=1 contract=off", Cost: 2e6},
		Verdict: space.Faster, Ratio: 2, RatioInterval: &[2]float64{1.9, 2.1}, Pairs: 15, SpaceFingerprint: "f", Strategy: "auto", Created: time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC),
	}
	path := filepath.Join(dir, "best.json")
	if err := s.Write(path); err != nil {
		t.Fatal(err)
	}
	s, err := results.ReadSchedule(path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestStrips: each comparison at the end of a run has as many dots as pairs, and a page says what is wrong with their file.
func TestStrips(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	create(t, dir, settings(), outcomes(48))
	s := export(t, dir)
	if html := page(t, report.Open(dir, report.Options{})); !strings.Contains(html, "there is no final.json of this schedule") || !strings.Contains(html, "Compared at the end") || strings.Contains(html, `class="strips"`) {
		t.Error("without the file, the page does not say so, or lacks the rest")
	}
	compared := func(key, name string, ratio float64, pairs int) results.Compared {
		c := results.Compared{Key: key, Name: name, Ratio: ratio, Interval: &[2]float64{0.95 * ratio, 1.05 * ratio}, Pairs: pairs}
		for i := range pairs {
			c.Ratios = append(c.Ratios, ratio*(1+float64(i-pairs/2)/100))
		}
		return c
	}
	f := &results.Final{
		First:     []results.Compared{compared(s.Key, "", 2, 21), compared("tile=16 <b>", "", 1.5, 20), {Key: "tile=32", Failed: "it <died>"}},
		Confirmed: []results.Compared{compared(s.Key, "", 2, 15)},
		Peers:     []results.Compared{compared("", "blas", 1.2, 17), {Name: "unused | lib", Failed: "none"}, compared("", "baseline", 2, 17)},
	}
	if err := f.Keep(dir, s); err != nil {
		t.Fatal(err)
	}
	html := page(t, report.Open(dir, report.Options{}))
	strips := map[string]string{}
	for _, d := range drawings(t, html) {
		if m := regexp.MustCompile(`data-series="(\w+)"`).FindStringSubmatch(d); m != nil {
			strips[m[1]] = d
		}
	}
	for name, want := range map[string][]int{"finalists": {21, 20}, "confirmation": {15}, "peers": {17, 17}} {
		got, all := strips[name], 0
		for _, pairs := range want {
			all += pairs
			level := map[bool]string{false: "95", true: "98"}[name == "confirmation"]
			if !regexp.MustCompile(fmt.Sprintf(`of %d pairs, interval \S+ to \S+ \(%s %%\)`, pairs, level)).MatchString(got) {
				t.Errorf("%s: no comparison has %d pairs, and an interval with its level", name, pairs)
			}
		}
		if n := strings.Count(got, `class="pt pair"`); n != all {
			t.Errorf("%s: %d dots, want %d", name, n, all)
		}
		if strings.Count(got, `class="median"`) != len(want) || strings.Count(got, `class="interval`) != len(want) || strings.Count(got, `class="baseline"`) != 1 {
			t.Errorf("%s: not each comparison has its ratio and interval, or there is no line at 1", name)
		}
	}
	if !strings.Contains(strips["finalists"], "failed: it &lt;died&gt;") || !strings.Contains(html, "blas, pair 1: 1.104×") || strings.Contains(html, "of this schedule.") {
		t.Error("a failed finalist or a pair of a peer is missing")
	}
	if want := `<th scope="row">blas</th><td class="n">1.200×</td><td class="n">1.140 to 1.260 (95 %)</td><td class="n">17</td>`; !strings.Contains(html, want) {
		t.Errorf("the peers have no table: want %q", want)
	}
	if want, got := "| blas | 1.200× | 1.140 to 1.260 (95 %) | 17 |\n| unused \\| lib | failed: none | ", markdown(t, report.Open(dir, report.Options{})); !strings.Contains(got, want) {
		t.Errorf("Markdown has no peers: want %q in\n%s", want, got)
	}
	for text, want := range map[string]string{
		`{"format": 1, "key": "a", "first": [{"key": "a", "ratio": 1e300}]}`: "the pairs of the final comparison cannot be read",
		`{"format": 1`: "the pairs of the final comparison cannot be read",
		`{"format": 1, "key": "other", "created": "2026-01-02T03:04:05Z"}`: "is of another schedule than best.json",
	} {
		if err := os.WriteFile(filepath.Join(dir, results.FinalName), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		r := report.Open(dir, report.Options{})
		if html := page(t, r); !strings.Contains(html, want) || !strings.Contains(html, "Compared at the end") || strings.Contains(html, `class="strips"`) {
			t.Errorf("%s: the page does not say %q, or lacks the rest: %q", text, want, r.Problems)
		}
	}
}
