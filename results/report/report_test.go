package report_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"tune/results"
	"tune/results/insight"
	"tune/results/report"
	"tune/search/surrogate"
	"tune/space"
)

var update = flag.Bool("update", false, "write the golden files")

// create makes the directory of a run with outcomes.
func create(t testing.TB, dir string, s results.Settings, entries []space.Entry) {
	t.Helper()
	createEnding(t, dir, s, entries, results.End{Why: "evaluations spent", Elapsed: float64(len(entries)) / 10})
}

func createEnding(t testing.TB, dir string, s results.Settings, entries []space.Entry, end results.End) {
	t.Helper()
	run, err := results.Create(dir, s)
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	for i, e := range entries {
		const most = 24
		if i%most == 0 {
			if err := run.Journal.Batch(space.Batch{Number: i / most, First: i, Count: min(most, len(entries)-i)}); err != nil {
				t.Fatal(err)
			}
		}
		if err := run.Journal.Record(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := run.Journal.End(end); err != nil {
		t.Fatal(err)
	}
}

func settings() results.Settings {
	return results.Settings{
		ToolVersion: "1.2.3", Kernel: "blur", KernelVersion: "3", Shape: "n=512", Unit: "ns", SpaceFingerprint: "f", Strategy: "auto", Seed: 7, Jobs: 1,
		Baseline: results.Preset{Name: "plain", Key: "tile=4 unroll=1 contract=off"}, Created: time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC),
		Machine: results.Machine{OS: "linux", Arch: "amd64", CPU: "Example CPU", Cores: 4},
	}
}

// outcomes makes n of them: those with contract=fast are wrong.
func outcomes(n int) []space.Entry {
	var out []space.Entry
	for i := range n {
		tile, unroll := 1<<(i%6), 1+i/6%4
		contract := []string{"off", "on", "fast"}[i/24%3]
		e := space.Entry{
			Number: i, Key: fmt.Sprintf("tile=%d unroll=%d contract=%s", tile, unroll, contract), Elapsed: float64(i+1) / 10,
			Outcome: space.Outcome{Status: space.OK, Cost: 1e6 * (1 + math.Abs(float64(tile-8)) + float64(unroll)/8 + float64(i%7)/100)},
		}
		if contract == "fast" {
			e.Outcome = space.Fail(space.WrongAnswer, "out[3] is 2, want 1")
		}
		out = append(out, e)
	}
	return out
}

func learn(s *space.Space, right []space.Observation, log bool) (insight.Model, bool) {
	return surrogate.Learn(s, 1, right, log)
}

func page(t testing.TB, runs ...*report.Run) string {
	t.Helper()
	var b bytes.Buffer
	if err := (report.Page{Version: "1.2.3", Runs: runs}).HTML(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func markdown(t testing.TB, runs ...*report.Run) string {
	t.Helper()
	var b bytes.Buffer
	if err := (report.Page{Version: "1.2.3", Runs: runs}).Markdown(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// drawings checks that each drawing of a page is well-formed XML without lost numbers, and returns them.
func drawings(t testing.TB, html string) []string {
	t.Helper()
	found := regexp.MustCompile(`(?s)<svg.*?</svg>`).FindAllString(html, -1)
	for _, one := range found {
		d := xml.NewDecoder(strings.NewReader(one))
		for {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("a drawing is no XML: %v\n%.300s", err, one)
			}
		}
		if strings.Contains(one, "NaN") || strings.Contains(one, "Inf\"") {
			t.Errorf("a drawing has lost numbers: %.300s", one)
		}
	}
	return found
}

// offline checks that a page asks for nothing from elsewhere.
func offline(t testing.TB, html string) {
	t.Helper()
	for _, bad := range []string{"src=", "href=\"http", "url(", "@import", "<link"} {
		if strings.Contains(html, bad) {
			t.Errorf("the page has %s", bad)
		}
	}
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != got {
		t.Errorf("%s is other than before; go test ./results/report -update writes it:\n%s", path, got)
	}
}

func TestReportGolden(t *testing.T) {
	testdata, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir()) // so that the page has the same name of a run everywhere
	create(t, "blur-1", settings(), outcomes(144))
	r := report.Open("blur-1", report.Options{})
	if len(r.Problems) > 0 {
		t.Errorf("problems: %q", r.Problems)
	}
	html := page(t, r)
	offline(t, html)
	if again := page(t, report.Open("blur-1", report.Options{})); again != html {
		t.Error("the same run gives another page")
	}
	got := drawings(t, html)
	for _, want := range []string{
		"blur n=512", "48 wrong answers, all with contract=fast", "contract=fast</span> (48)", `data-outcomes="144"`, "Example CPU", "2026-01-02 15:04 UTC",
		"Costs over evaluations", "Costs over time", "Distribution", "Importance", "Best costs of a pair", "▲ best", "out[3] is 2, want 1", "seed 7",
		"What it costs to leave one parameter at its default",
	} {
		if !strings.Contains(html, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if n := strings.Count(got[0], "<circle"); n < 90 {
		t.Errorf("the first drawing has %d marks", n)
	}
	golden(t, filepath.Join(testdata, "blur.md"), markdown(t, r))
	golden(t, filepath.Join(testdata, "evaluations.svg"), got[0])
}

// The page says whether the shares of the model are those of all points.
func TestImportanceOfSample(t *testing.T) {
	t.Chdir(t.TempDir())
	create(t, "blur-1", settings(), outcomes(144))
	r := report.Open("blur-1", report.Options{})
	for all, want := range map[bool]string{true: "the model of all points in colour", false: "the model of a sample of the points in colour"} {
		r.Insight.Learned = &insight.Shares{Single: []insight.Share{{Parameters: []string{"tile"}, Share: 1}}, Points: 8192, All: all}
		if !strings.Contains(page(t, r), want) {
			t.Errorf("the page has no %q", want)
		}
	}
}

// TestImportanceOrder: what the model has as most important is drawn first, however many pairs vary together in the outcomes.
func TestImportanceOrder(t *testing.T) {
	t.Chdir(t.TempDir())
	create(t, "blur-1", settings(), outcomes(144))
	r := report.Open("blur-1", report.Options{})
	r.Insight.Learned = &insight.Shares{Single: []insight.Share{{Parameters: []string{"first"}, Share: 0.4}, {Parameters: []string{"second"}, Share: 0.05}}, Points: 144, All: true}
	r.Insight.Measured = insight.Shares{Single: []insight.Share{{Parameters: []string{"first"}, Share: 0.6}}}
	for k := range 20 {
		r.Insight.Measured.Pairs = append(r.Insight.Measured.Pairs, insight.Share{Parameters: []string{"other", fmt.Sprint("p", k)}, Share: 0.7})
	}
	html := page(t, r)
	var at []int
	for _, title := range []string{"first, learned: 40.0 %", "second, learned: 5.0 %", "other × p0, measured: 70.0 %"} {
		at = append(at, strings.Index(html, title))
	}
	if at[0] < 0 || !slices.IsSorted(at) {
		t.Errorf("the shares are at %d", at)
	}
}

// TestSharesNotComputed: of too few outcomes no share is drawn or written, and the page says so.
func TestSharesNotComputed(t *testing.T) {
	t.Chdir(t.TempDir())
	create(t, "blur-1", settings(), outcomes(144))
	r := report.Open("blur-1", report.Options{})
	r.Insight.Learned = &insight.Shares{Single: []insight.Share{{Parameters: []string{"first"}, Share: 0.4}}, Points: 144, All: true}
	const few, caption = "The outcomes have no shares of their own: too few are right.", "the outcomes in grey"
	if html := page(t, r); strings.Contains(html, few) || !strings.Contains(html, caption) {
		t.Error("the page says that right outcomes are too few")
	}
	r.Insight.Measured = insight.Shares{}
	html := page(t, r)
	if got := fmt.Sprint(rows(t, html, "Shares of the variance")); got != "[[first 40.0 % –]]" {
		t.Error(got)
	}
	if !strings.Contains(html, few) || strings.Contains(html, caption) || strings.Contains(html, "first, measured") {
		t.Error("the page shows shares of the outcomes")
	}
}

// TestReportOfTarget: outcomes that were in flight when a run reached its target do not count.
func TestReportOfTarget(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	entries := traded(30)
	entries[29].Outcome.Cost = 1
	s := settings()
	s.Objectives = "cost,size"
	createEnding(t, dir, s, entries, results.End{Why: "target reached", Elapsed: 30, Told: 21})
	r := report.Open(dir, report.Options{})
	if r.Table.Seen != 21 || r.BestCost() != 1e3 || r.Top[0].Number != 0 || len(r.Front.Points) != 5 {
		t.Errorf("%d outcomes, best %g, first of the best #%d, %d points of the front", r.Table.Seen, r.BestCost(), r.Top[0].Number, len(r.Front.Points))
	}
	if len(r.Problems) > 0 || r.Elapsed != 30 {
		t.Errorf("problems %q, after %g s", r.Problems, r.Elapsed)
	}
}

// TestUnread: a page of measurements that cannot be read says so, alone and beside others.
func TestUnread(t *testing.T) {
	unread := report.Unread("a<b>.json", errors.New("a<b>.json: it ends too early"))
	dir := filepath.Join(t.TempDir(), "run")
	create(t, dir, settings(), outcomes(24))
	for _, runs := range [][]*report.Run{{unread}, {unread, unread}, {report.Open(dir, report.Options{}), unread}} {
		const want = "the measurements cannot be read: a&lt;b&gt;.json: it ends too early"
		if html := page(t, runs...); !strings.Contains(html, want) || !strings.Contains(markdown(t, runs...), want) {
			t.Errorf("a page of %d does not say %q: %s", len(runs), want, html)
		}
	}
}

// What is wrong with a run is said, and the rest is there.
func TestProblems(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	failed := outcomes(144)
	for i := range failed {
		failed[i].Outcome = space.Fail(space.Crashed, "signal 11")
	}
	create(t, at("empty"), settings(), nil)
	create(t, at("one"), settings(), outcomes(1))
	create(t, at("failures"), settings(), failed)
	create(t, at("failure"), settings(), failed[:1])
	create(t, at("damaged"), settings(), outcomes(144))
	create(t, at("no settings"), settings(), outcomes(24))
	create(t, at("schedule"), settings(), outcomes(24))
	create(t, at("garbage"), settings(), outcomes(24))
	create(t, at("cut"), settings(), outcomes(144))
	damage := func(path string, change func([]byte) []byte) {
		text, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path, change(text), 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	damage(filepath.Join(at("damaged"), results.JournalName), func(b []byte) []byte {
		b[len(b)/2] ^= 0x20
		return b
	})
	damage(filepath.Join(at("garbage"), results.JournalName), func([]byte) []byte { return []byte("no journal\n") })
	for _, name := range []string{"no settings", "cut"} {
		s := export(t, at(name))
		s.Evaluations = map[string]int{"no settings": 24, "cut": 144}[name]
		if err := s.Write(filepath.Join(at(name), "best.json")); err != nil {
			t.Fatal(err)
		}
	}
	damage(filepath.Join(at("cut"), results.JournalName), func(b []byte) []byte {
		at := bytes.Index(b, []byte(`{"n":10,`))
		return b[:at+20]
	})
	if err := os.Remove(filepath.Join(at("no settings"), results.SettingsName)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(at("schedule"), "best.json"), []byte(`{"format": 1, "kernel": 7}`), 0o666); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"empty": "there is no outcome yet", "one": "there is one outcome", "failures": "no candidate was right: all 144 outcomes failed",
		"failure": "no candidate was right: the one outcome failed",
		"damaged": "this run is damaged", "no settings": "this run is damaged", "garbage": "no outcome can be shown", "cut": "the end of the journal is lost: it has 10 outcomes, and best.json was made after 144 evaluations", "schedule": "the schedule cannot be read", "not there": "this run is damaged",
	} {
		r := report.Open(at(name), report.Options{Learn: learn})
		html := page(t, r)
		drawings(t, html)
		if !strings.Contains(html, want) {
			t.Errorf("%s: the page does not say %q: %q", name, want, r.Problems)
		}
		if !strings.Contains(markdown(t, r), want) {
			t.Errorf("%s: Markdown does not say %q", name, want)
		}
		if name == "damaged" && (r.Table.Seen == 0 || !strings.Contains(html, "<svg")) {
			t.Error("what comes before the damage is not shown")
		}
		if name == "no settings" && (r.Table.Seen != 24 || !strings.Contains(html, "blur n=512") || !strings.Contains(html, "2.00× as fast as the baseline (2.00 ms)") || !strings.Contains(html, "<svg")) {
			t.Error("without the settings, the schedule and the outcomes are not shown")
		}
		if damaged := strings.Contains("damaged no settings garbage cut schedule not there", name); damaged != (len(r.Damage) > 0) {
			t.Errorf("%s: damage %q", name, r.Damage)
		}
		if (name == "garbage" || name == "damaged") && strings.Contains(html, "no candidate was evaluated") {
			t.Errorf("%s: the page says that there was no outcome, though it could not be read: %q", name, r.Problems)
		}
		if name == "failures" && !strings.Contains(html, "signal 11") {
			t.Error("the failures are not shown")
		}
	}
	// All of them on one page.
	var all []*report.Run
	for _, name := range []string{"empty", "one", "failures", "damaged", "no settings", "schedule"} {
		all = append(all, report.Open(at(name), report.Options{}))
	}
	drawings(t, page(t, all...))
}

// No label ends outside of its drawing, and times are in a unit that people read.
func TestLabels(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "long")
	entries := outcomes(144)
	for i := range entries {
		entries[i].Elapsed *= 7200
		if entries[i].Outcome.Status != space.OK {
			entries[i].Outcome = space.Fail(space.CompileFailed, "no such flag")
		}
	}
	create(t, dir, settings(), entries)
	r := report.Open(dir, report.Options{})
	html := page(t, r)
	if r.Spent() != "28.8 hours" || !strings.Contains(html, ">hours</text>") || !strings.Contains(html, "after 0.2 hours: ") {
		t.Errorf("the run took %s", r.Spent())
	}
	r.Table.Rows[143].Number = 99_999 // the axis ends with 100,000
	const digit = 6.0                 // about the width of a character
	label := regexp.MustCompile(`<text class="tick[^"]*" text-anchor="(\w+)" x="([0-9.]+)" y="[^"]*">([^<]*)</text>`)
	ends := 0
	for _, d := range drawings(t, page(t, r)) {
		for _, m := range label.FindAllStringSubmatch(d, -1) {
			x, err := strconv.ParseFloat(m[2], 64)
			if err != nil {
				t.Fatal(err)
			}
			w := digit * float64(utf8.RuneCountInString(m[3]))
			from := x - map[string]float64{"start": 0, "middle": w / 2, "end": w}[m[1]]
			if from < 0 || from+w > 680 {
				t.Errorf("%q is from %.0f to %.0f of 680", m[3], from, from+w)
			}
			if m[3] == "100,000" || m[3] == "compile failed" {
				ends++
			}
		}
	}
	if ends < 3 {
		t.Errorf("%d of the long labels are drawn", ends)
	}
}

// A program that has changed since it was exported is not shown as the winner without saying so.
func TestChangedProgram(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	create(t, dir, settings(), outcomes(48))
	s := export(t, dir)
	s.Artifacts = []results.Artifact{{Name: "best.c", SHA256: strings.Repeat("0", 64), Bytes: 7}}
	if err := errors.Join(s.Write(filepath.Join(dir, "best.json")), os.WriteFile(filepath.Join(dir, "best.c"), []byte("int a;\n"), 0o666)); err != nil {
		t.Fatal(err)
	}
	r := report.Open(dir, report.Options{})
	if want := "the program is not the one that was exported: best.c has changed since"; len(r.Damage) != 1 || r.Damage[0] != want || r.Source != "int a;\n" {
		t.Errorf("damage %q, want %q; the program is %q", r.Damage, want, r.Source)
	}
}

// The command that verifies a schedule can be copied as it is, and metrics have their units.
func TestCommandsAndUnits(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "it's a run")
	create(t, dir, settings(), outcomes(48))
	s := export(t, dir)
	s.Reproduce = []string{"tune run blur --evals 8", "tune verify best.json"}
	s.Metrics = []space.Metric{{Name: space.MetricGBS, Value: 112.5}, {Name: space.MetricSpread, Value: 0.0266251}, {Name: "mine", Value: 12345}}
	if err := s.Write(filepath.Join(dir, "best.json")); err != nil {
		t.Fatal(err)
	}
	r := report.Open(dir, report.Options{})
	want := "tune run blur --evals 8\ntune verify '" + strings.ReplaceAll(dir, "'", `'\''`) + "/best.json'"
	if r.Reproduce() != want {
		t.Errorf("it says %q, want %q", r.Reproduce(), want)
	}
	again := report.Options{Again: func(string, results.Settings) string { return "tune run blur --budget 5m" }}
	if got := report.Open(dir, again).Reproduce(); got != want {
		t.Errorf("with a command that finds the point it says %q, want %q", got, want)
	}
	s.Reproduce = s.Reproduce[1:] // as of a run whose costs are measured
	if err := s.Write(filepath.Join(dir, "best.json")); err != nil {
		t.Fatal(err)
	}
	measured := "tune run blur --budget 5m" + want[strings.Index(want, "\n"):]
	if got := report.Open(dir, again).Reproduce(); got != measured {
		t.Errorf("where costs are measured it says %q, want %q", got, measured)
	}
	html := page(t, r)
	for _, want := range []string{">112.5 GB/s<", ">2.66 %<", ">12,345<"} {
		if !strings.Contains(html, want) {
			t.Errorf("the page has no %q", want)
		}
	}
}

// Names of others are text, wherever they stand.
func TestHostile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), `<script>alert("dir")</script>`)
	s := settings()
	const evil = `<img/src=x/onerror=alert(1)>"'&` + "`|"
	s.Kernel, s.Shape, s.Machine.CPU, s.Unit = evil, `</title><script>alert(2)</script>`, "</style><script>", "\u202e</b><img>\x1b[31m"
	var entries []space.Entry
	for i := range 60 {
		e := space.Entry{Number: i, Key: fmt.Sprintf(`p=<script>alert(%d)</script> q=%s%d`, i%5, `"><svg/onload=alert(1)>`, i%4), Elapsed: float64(i + 1)}
		e.Outcome = space.Outcome{Status: space.OK, Cost: float64(1 + i*i%17)}
		if i%5 == 4 {
			e.Outcome = space.Fail(space.WrongAnswer, "</td><script>alert(3)</script>\u202e\x1b[31m")
		}
		entries = append(entries, e)
	}
	create(t, dir, s, entries)
	exported := export(t, dir)
	source := "int a; // \u202e</pre><script>alert(4)</script>\x1b[31m\n"
	sum := sha256.Sum256([]byte(source))
	exported.Unit, exported.Reproduce = s.Unit, []string{"tune run \u202e\x1b[31mx"}
	exported.Artifacts = []results.Artifact{{Name: "best<script>.c", SHA256: hex.EncodeToString(sum[:]), Bytes: int64(len(source))}}
	if err := errors.Join(exported.Write(filepath.Join(dir, "best.json")), os.WriteFile(filepath.Join(dir, "best<script>.c"), []byte(source), 0o666)); err != nil {
		t.Fatal(err)
	}
	r := report.Open(dir, report.Options{})
	if len(r.Damage) > 0 || !strings.Contains(r.Source, "alert(4)") {
		t.Fatalf("damage %q, the program is %q", r.Damage, r.Source)
	}
	html := page(t, r, r)
	drawings(t, html)
	body := html[strings.Index(html, "<body>"):]
	if n := strings.Count(body, "<script"); n != 1 {
		t.Errorf("the body has %d scripts", n)
	}
	for _, bad := range []string{"<img", "<svg/", "\x1b", "\u202e", "<script>alert"} {
		if strings.Contains(html, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	text := markdown(t, r)
	if strings.ContainsAny(text, "\u202e\x1b") {
		t.Errorf("Markdown has hidden characters:\n%q", text)
	}
	for _, line := range strings.Split(text, "\n") {
		if strings.Contains(line, "<script") && !strings.Contains(line, "`") {
			t.Errorf("Markdown has markup: %s", line)
		}
	}
}

// A hundred thousand outcomes fit in 2 MB, and several runs share that.
func TestSize(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes seconds")
	}
	dir := filepath.Join(t.TempDir(), "large")
	entries := make([]space.Entry, 100_000)
	for i := range entries {
		x := uint64(i) * 0x9e3779b97f4a7c15
		key := ""
		for k := range 12 {
			key += fmt.Sprintf("parameter_%d=%d ", k, x>>(4*k)%17)
		}
		entries[i] = space.Entry{Number: i, Key: strings.TrimSpace(key), Elapsed: float64(i) / 100, Outcome: space.Outcome{Status: space.OK, Cost: 1e6 + float64(x>>40)}}
		if x>>4%17 == 3 {
			entries[i].Outcome = space.Fail(space.Invalid, "no such tile")
		}
	}
	create(t, dir, settings(), entries)
	began := time.Now()
	r := report.Open(dir, report.Options{})
	html := page(t, r)
	t.Logf("%d bytes in %v", len(html), time.Since(began))
	if len(html) > 2_000_000 {
		t.Errorf("the page has %d bytes", len(html))
	}
	if !strings.Contains(html, `data-outcomes="100000"`) || !strings.Contains(html, "all with parameter_1=3") {
		t.Error("the page does not show all outcomes, or not why some failed")
	}
	if several := page(t, r, r, r, r, r, r, r, r); len(several) > 2_000_000 {
		t.Errorf("eight runs have %d bytes", len(several))
	}
}

// Extreme costs and times are drawn.
func TestExtremes(t *testing.T) {
	for name, costs := range map[string][]float64{
		"negative": {5, -1, -10}, "zero": {0, 0}, "tiny": {1e-300, 5e-324}, "huge": {math.MaxFloat64, 1.6e308, 1}, "both": {math.MaxFloat64, -math.MaxFloat64},
		"far apart": {1e-200, 1e200, 1, 3e-100, 7e100, 2e-150, 5e150, 4}, "as far as can be": {2e-300, math.MaxFloat64, 1, 2, 3, 4, 5, 6},
	} {
		dir := filepath.Join(t.TempDir(), name)
		var entries []space.Entry
		for i, c := range costs {
			entries = append(entries, space.Entry{Number: i, Key: fmt.Sprintf("a=%d b=%d", i, i%2), Outcome: space.Outcome{Status: space.OK, Cost: c, Metrics: []space.Metric{{Name: "size", Value: costs[len(costs)-1-i]}}}})
		}
		for _, unit := range []string{"ns", "cycles", string(space.InverseOf("GFLOP/s"))} {
			s := settings()
			s.Unit, s.Objectives = unit, "cost,size"
			at := filepath.Join(dir, strings.ReplaceAll(unit, "/", "-"))
			create(t, at, s, entries)
			for _, d := range drawings(t, page(t, report.Open(at, report.Options{}))) {
				for _, m := range regexp.MustCompile(`class="heat h([^" ]*)`).FindAllStringSubmatch(d, -1) {
					if n, err := strconv.Atoi(m[1]); err != nil || n < 0 || n > 10 {
						t.Errorf("%s in %s: a cell of a heat map has the shade %s", name, unit, m[1])
					}
				}
			}
		}
	}
}

// A kernel below its roofs, and the engines of a machine.
func TestDrawings(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	create(t, dir, settings(), outcomes(24))
	r := report.Open(dir, report.Options{})
	r.Roofline = &report.Roofline{Intensity: 4, Reached: 30, Unit: "GFLOP/s", Peak: report.Roof{Name: "f32", Most: 100}, Memory: []report.Roof{{Name: "L1", Most: 200}, {Name: "memory", Most: 10}}}
	r.Usage = &report.Usage{Units: []string{"alu", "<load>"}, Limits: []int{12, 2}, Bounds: []int{3, 2}, Cycles: [][]uint8{{12, 0}, {3, 2}, {0, 1}}, Bound: 3, Limiting: "alu"}
	html := page(t, r)
	drawings(t, html)
	for _, want := range []string{"this kernel: 30 GFLOP/s, 30 % of the arithmetic", "L1: 200 GB/s", "alu, cycles 0 to 0: 100 %", "&lt;load&gt;", "needs 3 at least, by alu"} {
		if !strings.Contains(html, want) {
			t.Errorf("the page has no %q", want)
		}
	}
}

func TestMeasurements(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.json")
	var rows []string
	for i := range 20 {
		rows = append(rows, fmt.Sprintf(`[[%d, %d], %d, "", 1, null]`, i/2, i%2, 5+i/2*3+i%2))
	}
	text := `{"space": "one", "unit": "ms", "names": ["a", "b"], "values": [[1, 2, 3, 4, 5, 6, 7, 8, 9, 10], [1, 2]], "rows": [` + strings.Join(rows, ", ") + `]}`
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	r, err := report.Measurements(path, report.Options{Learn: learn})
	if err != nil {
		t.Fatal(err)
	}
	html := page(t, r)
	drawings(t, html)
	if r.Insight.Learned == nil || !strings.Contains(html, "a 99 %") && !strings.Contains(html, "a 100 %") && !strings.Contains(html, "a 98 %") {
		t.Errorf("it says %s", r.Insight)
	}
	if _, err := report.Measurements(filepath.Join(t.TempDir(), "none.json"), report.Options{}); err == nil {
		t.Error("a file that is not there is read")
	}
}

func BenchmarkReport(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "run")
	create(b, dir, settings(), outcomes(10_000))
	for b.Loop() {
		page(b, report.Open(dir, report.Options{}))
	}
}

// TestNothingMattered: a page of costs that chance explains as well says so in a sentence, and one whose shares overlap says that too.
func TestNothingMattered(t *testing.T) {
	t.Chdir(t.TempDir())
	create(t, "blur-1", settings(), outcomes(144))
	r := report.Open("blur-1", report.Options{})
	r.Insight = &insight.Insight{Explained: &insight.Explained{Share: 0.02, Chance: 0.28}}
	const nothing = "nothing stood out: the parameters explain 2 % of the differences in cost, and chance alone up to 28 %"
	for _, text := range []string{page(t, r), markdown(t, r)} {
		if !strings.Contains(text, nothing) {
			t.Errorf("there is no %q in\n%s", nothing, text)
		}
	}
	const overlap = "The shares of the model overlap: they add up to more than 100 %"
	r.Insight.Explained.Share = 0.9
	r.Insight.Learned = &insight.Shares{Single: []insight.Share{{Parameters: []string{"tile"}, Share: 0.7}, {Parameters: []string{"unroll"}, Share: 0.6}}, Points: 144, All: true}
	if text := page(t, r); strings.Contains(text, overlap) || strings.Contains(text, "nothing stood out") {
		t.Error("the page says of shares that they overlap, or that nothing stood out")
	}
	if r.Insight.Learned.Overlap = true; !strings.Contains(page(t, r), overlap) {
		t.Errorf("the page has no %q", overlap)
	}
}
