package report_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tune/results"
	"tune/results/report"
	"tune/space"
)

// accessible checks that each drawing of a page has a name, that a table with the same follows it, and that the keyboard reaches one of its
// marks. It returns how many drawings there are.
func accessible(t testing.TB, html string) int {
	t.Helper()
	figures := regexp.MustCompile(`(?s)<figure>.*?</figure>`).FindAllString(html, -1)
	for _, f := range figures {
		head := regexp.MustCompile(`<svg [^>]*>`).FindString(f)
		_, after, _ := strings.Cut(f, "</svg>")
		if !regexp.MustCompile(` role="group" aria-label="[^"]+: [^"]+"`).MatchString(head) {
			t.Errorf("a drawing has no name: %s", head)
		}
		// The table of a front is below all of its drawings.
		if !strings.Contains(after, "<table") && !strings.Contains(head, `class="front"`) {
			t.Errorf("no table follows %s", head)
		}
		if reached := regexp.MustCompile(`<(?:circle|rect|path)[^>]* tabindex="0"><title>[^<]+</title>`).FindAllString(f, -1); len(reached) != 1 {
			t.Errorf("the keyboard reaches %d marks of %s", len(reached), head)
		}
	}
	if n := strings.Count(html, "<svg"); n != len(figures) {
		t.Errorf("%d drawings are in %d figures", n, len(figures))
	}
	return len(figures)
}

// rows are the rows of the table with a caption, each with the texts of its cells.
func rows(t testing.TB, html, caption string) (out [][]string) {
	t.Helper()
	_, table, ok := strings.Cut(html, `<caption class="dim">`+caption+`</caption>`)
	if !ok {
		t.Errorf("there is no table %q", caption)
		return nil
	}
	table, _, _ = strings.Cut(table, "</table>")
	_, body, _ := strings.Cut(table, "<tbody>")
	for _, row := range strings.Split(body, "</tr>") {
		var cells []string
		for _, m := range regexp.MustCompile(`<t[dh][^>]*>([^<]*)</t[dh]>`).FindAllStringSubmatch(row, -1) {
			cells = append(cells, m[1])
		}
		if cells != nil {
			out = append(out, cells)
		}
	}
	return out
}

// TestAccessible: what each drawing of a page shows is in a table too, and the keyboard reaches its marks.
func TestAccessible(t *testing.T) {
	dir := t.TempDir()
	create(t, filepath.Join(dir, "a"), settings(), outcomes(144))
	s := export(t, filepath.Join(dir, "a"))
	f := &results.Final{
		First: []results.Compared{{Key: s.Key, Ratio: 2, Interval: &[2]float64{1.9, 2.1}, Pairs: 2, Ratios: []float64{1.95, 2.05}}, {Key: "tile=32", Failed: "it died"}},
		Peers: []results.Compared{{Name: "blas", Ratio: 1.5, Pairs: 1, Ratios: []float64{1.5}}},
	}
	if err := f.Keep(filepath.Join(dir, "a"), s); err != nil {
		t.Fatal(err)
	}
	both := settings()
	both.Objectives = "cost,size"
	create(t, filepath.Join(dir, "b"), both, traded(30))
	one, two := report.Open(filepath.Join(dir, "a"), report.Options{}), report.Open(filepath.Join(dir, "b"), report.Options{})
	one.Roofline = &report.Roofline{Intensity: 4, Reached: 30, Unit: "GFLOP/s", Peak: report.Roof{Name: "f32", Most: 100}, Memory: []report.Roof{{Name: "L1", Most: 200}, {Name: "memory", Most: 10}}}
	one.Usage = &report.Usage{Units: []string{"alu", "load"}, Limits: []int{12, 2}, Bounds: []int{3, 2}, Cycles: [][]uint8{{12, 0}, {3, 2}, {0, 1}}, Bound: 3, Limiting: "alu"}
	html := page(t, one)
	if n := accessible(t, html); n < 12 {
		t.Errorf("the page has %d drawings", n)
	}
	if n := accessible(t, page(t, one, two, one)); n < 20 { // the first is of all runs
		t.Errorf("three runs have %d drawings", n)
	}

	best := rows(t, html, "The best so far")
	if got := strings.Join(best[0], " "); got != "#99 10.0 seconds 1.14 ms tile=8 unroll=1 contract=on" {
		t.Errorf("the last of the best so far is %q", got)
	}
	if got := fmt.Sprint(rows(t, html, "Outcomes by status")); got != "[[ok 96] [wrong answer 48]]" {
		t.Errorf("the outcomes by status are %s", got)
	}
	if n, m := strings.Count(html, ">The best so far<"), strings.Count(html, ">Outcomes by status<"); n != 2 || m != 1 {
		t.Errorf("the best so far is there %d times, the outcomes by status %d times", n, m)
	}
	sum := 0
	for _, bin := range rows(t, html, "Outcomes by cost") {
		n, err := strconv.Atoi(bin[2])
		if err != nil || n == 0 {
			t.Errorf("a bin has %q", bin)
		}
		sum += n
	}
	if sum != 96 {
		t.Errorf("the bins have %d outcomes", sum)
	}
	if got := rows(t, html, "Shares of the variance"); len(got) == 0 || got[0][0] != "tile" {
		t.Errorf("the shares are %q", got)
	}
	if got := rows(t, html, "Best costs by tile and contract"); len(got) != 12 || got[0][0] != "8" || got[0][2] != "1.14 ms" {
		t.Errorf("the cells are %q", got)
	}
	if got := fmt.Sprint(rows(t, html, "Slots that the engines use")); got != "[[0 to 0 12 (100 %) 0 (0 %)] [1 to 1 3 (25 %) 2 (100 %)] [2 to 2 0 (0 %) 1 (50 %)]]" {
		t.Errorf("the engines use %s", got)
	}
	if got := fmt.Sprint(rows(t, html, "The kernel and its roofs")); got != "[[this kernel, at 4 operations a byte 30 GFLOP/s ] [arithmetic, f32 100 GFLOP/s 30.0 %] [reads in L1 200 GB/s 3.8 %] [reads in memory 10 GB/s 75.0 %]]" {
		t.Errorf("the roofs are %s", got)
	}
	if got := rows(t, html, "Costs by contract"); len(got) != 2 || len(got[0]) != 6 || got[0][0] != "off (of the best)" {
		t.Errorf("the costs by contract are %q", got)
	}
	if got := fmt.Sprint(rows(t, html, "Ratios")); got != "[[tile=8 unroll=1 contract=off 2× 1.9× 2.1× 2 1.95× 2.05×] [tile=32 failed: it died   0  ]]" {
		t.Errorf("the ratios are %s", got)
	}
}

// TestOverlay: the table of several runs has nothing of a run after its end.
func TestOverlay(t *testing.T) {
	dir := t.TempDir()
	var runs []*report.Run
	for _, n := range []int{144, 100, 30, 10, 1} {
		name := filepath.Join(dir, fmt.Sprint(n))
		create(t, name, settings(), outcomes(n))
		runs = append(runs, report.Open(name, report.Options{}))
	}
	var got []string
	for _, row := range rows(t, page(t, runs...), "The best so far, by evaluations") {
		got = append(got, strings.Join(row[1:], "|"))
	}
	// The runs have their evaluations in the columns 1, 10, 100 and 144.
	want := []string{"8.12 ms|1.16 ms|1.14 ms|1.14 ms", "8.12 ms|1.16 ms|1.14 ms|", "8.12 ms|1.16 ms|1.16 ms|", "8.12 ms|1.16 ms||", "8.12 ms|||"}
	if !slices.Equal(got, want) {
		t.Errorf("the table has %q, want %q", got, want)
	}
}

// TestTop: the best outcomes are shown with all their metrics, in the order of their costs.
func TestTop(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	var entries []space.Entry
	for i := range 40 {
		o := space.Outcome{Status: space.OK, Cost: float64(1000 + (i*7)%40), Metrics: []space.Metric{{Name: "gbs", Value: float64(i)}}}
		switch {
		case i == 11: // 37
			o.Metrics = slices.Insert(o.Metrics, 0, space.Metric{Name: "<size>", Value: 12345})
		case i == 23: // the least, 1001
			o.Metrics = []space.Metric{{Name: "<size>", Value: 77}}
		case i == 0:
			o = space.Fail(space.Crashed, "it died")
		case i == 29: // 1003
			o.Fidelity = 1
		}
		entries = append(entries, space.Entry{Number: i, Key: fmt.Sprintf("n=%d", i), Elapsed: float64(i), Outcome: o})
	}
	create(t, dir, settings(), entries)
	r := report.Open(dir, report.Options{})
	var got []string
	for _, o := range r.Top {
		got = append(got, fmt.Sprintf("%s:%g", o.Key, o.Cost))
	}
	const want = "n=23:1001 n=6:1002 n=12:1004 n=35:1005 n=18:1006 n=1:1007 n=24:1008 n=7:1009 n=30:1010 n=13:1011"
	if strings.Join(got, " ") != want {
		t.Errorf("the best are %s, want %s", strings.Join(got, " "), want)
	}
	html := page(t, r)
	table := rows(t, html, "The best outcomes of the search")
	if len(table) != 10 || strings.Join(table[0], "|") != "#23|1.00 µs|77||23.0 seconds|n=23" || strings.Join(table[1], "|") != "#6|1.00 µs||6 GB/s|6.0 seconds|n=6" {
		t.Errorf("the table is %q", table)
	}
	if !strings.Contains(html, `<th scope="col">&lt;size&gt;</th><th scope="col">gbs</th>`) {
		t.Error("the table lacks the names of the metrics")
	}
}

// TestTopLeft: the page says what the table of the best outcomes leaves out, and nothing where it leaves nothing out.
func TestTopLeft(t *testing.T) {
	open := func(metrics int) *report.Run {
		dir := filepath.Join(t.TempDir(), "run")
		entries := outcomes(24)
		for i := range entries {
			for k := i % 2; k < metrics; k += 2 { // two outcomes have all of them together
				entries[i].Outcome.Metrics = append(entries[i].Outcome.Metrics, space.Metric{Name: fmt.Sprintf("metric%02d", k), Value: float64(k)})
			}
		}
		create(t, dir, settings(), entries)
		return report.Open(dir, report.Options{})
	}
	const metrics = "Of 40 metrics, the first 32 are shown."
	const rows = "A page of several runs shows the 5 best outcomes of each; a page of this run alone shows 10."
	few, many := open(32), open(40)
	for name, c := range map[string]struct {
		html          string
		metrics, rows int
	}{
		"few": {page(t, few), 0, 0}, "many": {page(t, many), 1, 0}, "both": {page(t, few, many), 1, 2},
	} {
		if n, m := strings.Count(c.html, `<p class="dim">`+metrics), strings.Count(c.html, `<p class="dim">`+rows); n != c.metrics || m != c.rows {
			t.Errorf("%s: the page says %d times that metrics are left out, %d times that rows are, want %d and %d", name, n, m, c.metrics, c.rows)
		}
		if n, tables := strings.Count(c.html, `<th scope="col">metric`), strings.Count(c.html, ">The best outcomes of the search<"); n != 32*tables {
			t.Errorf("%s: %d tables have %d metrics", name, tables, n)
		}
	}
}

// TestReducedFidelity: outcomes of reduced fidelity have pale marks over evaluations and over time. That they count nowhere else is a note, and
// nothing that is wrong.
func TestReducedFidelity(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	entries := outcomes(144)
	for i := range 10 {
		entries[i].Outcome.Fidelity = 1
	}
	create(t, dir, settings(), entries)
	r := report.Open(dir, report.Options{})
	const want = "10 outcomes are of reduced fidelity, with a pale mark in the charts of costs over evaluations and over time, and nowhere else: their costs do not compare with the others"
	if len(r.Problems) != 0 || len(r.Notes) != 2 || r.Notes[1] != want { // the first one is that nothing is exported
		t.Errorf("the problems are %q, the notes %q", r.Problems, r.Notes)
	}
	html := page(t, r)
	if !strings.Contains(html, `<p class="note">`+want) || !strings.Contains(markdown(t, r), "> "+want) {
		t.Error("the page or the summary does not say so")
	}
	if n := strings.Count(html, `<circle class="low"`); n != 2*10 {
		t.Errorf("%d marks are pale", n)
	}
	if got := fmt.Sprint(rows(t, html, "Outcomes by status")); got != "[[ok 86] [wrong answer 48] [ok, of reduced fidelity 10]]" {
		t.Errorf("the outcomes by status are %s", got)
	}
}

// TestMany: what is not drawn because there is too much of it is counted, and a heat map puts many values into bins.
func TestMany(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	var entries []space.Entry
	for i := range 4000 {
		x := uint64(i) * 0x9e3779b97f4a7c15
		wide := int(x >> 40 % 100)
		key := fmt.Sprintf("wide=%d", wide)
		cost := 1000 + 10*float64(wide)
		for k := range 29 {
			key += fmt.Sprintf(" p%d=%d", k, x>>(k%32)%3)
			cost += float64(x>>(k%32)%3) * float64(k+1) / 10
		}
		entries = append(entries, space.Entry{Number: i, Key: key, Elapsed: float64(i), Outcome: space.Outcome{Status: space.OK, Cost: cost + float64(wide)*float64(x>>28%3)}})
	}
	create(t, dir, settings(), entries)
	html := page(t, report.Open(dir, report.Options{}))
	for _, want := range []string{
		"Of 30 parameters with several values, those 24 are drawn whose middle value is furthest from the best.",
		"<figcaption>wide: 32 of 100 values, those with the least costs</figcaption>", "; 100 values of wide in 24 bins</figcaption>",
		`aria-label="costs by wide: 32 of 100 values, those with the least costs"`, "wide=0 to ",
	} {
		if !strings.Contains(html, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	accessible(t, html)
	title := regexp.MustCompile(`aria-label="best costs by (\w+) and (\w+):`).FindStringSubmatch(html)
	if title == nil {
		t.Fatal("there is no heat map")
	}
	sum := 0
	for _, cell := range rows(t, html, fmt.Sprintf("Best costs by %s and %s", title[1], title[2])) {
		n, err := strconv.Atoi(cell[3])
		if err != nil {
			t.Fatal(err)
		}
		sum += n
	}
	if sum != 4000 {
		t.Errorf("the cells have %d outcomes, want all", sum)
	}
}

// TestSearchesOfALibrary: the searches of a library export nothing, so that no schedule is missing.
func TestSearchesOfALibrary(t *testing.T) {
	tuning := filepath.Join(t.TempDir(), "tuning")
	dir := filepath.Join(tuning, "sums", "runs", "rows4")
	if err := os.MkdirAll(filepath.Dir(dir), 0o777); err != nil {
		t.Fatal(err)
	}
	create(t, dir, settings(), outcomes(12))
	if r := report.Open(dir, report.Options{}); len(r.Notes) == 0 {
		t.Errorf("nothing says that a run without a library has no schedule")
	}
	if err := os.WriteFile(filepath.Join(tuning, "plan.json"), []byte("{}"), 0o666); err != nil {
		t.Fatal(err)
	}
	if r := report.Open(dir, report.Options{}); len(r.Notes) != 0 {
		t.Errorf("the notes on a search of a library are %q", r.Notes)
	}
}
