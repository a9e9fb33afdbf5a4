package report_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"tune/results/report"
	"tune/space"
)

// traded are outcomes of which those with i%5 == 0 are on the front of cost and size, and one lacks the size.
func traded(n int) (out []space.Entry) {
	for i := range n {
		o := space.Outcome{Status: space.OK, Cost: 1e3 * float64(1+i), Metrics: []space.Metric{{Name: "a&b", Value: float64(i)}, {Name: "size", Value: float64(1000 - i/5*5)}}}
		if i == 7 {
			o.Metrics = nil
		}
		out = append(out, space.Entry{Number: i, Key: fmt.Sprintf("tile=%d unroll=%d", i, i%2), Elapsed: float64(i), Outcome: o})
	}
	return out
}

// TestFront: a run with several objectives has its front as a drawing and as a table, and says how a point of it is exported.
func TestFront(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "both")
	s := settings()
	s.Objectives = "cost,size"
	create(t, dir, s, traded(30))
	r := report.Open(dir, report.Options{})
	if r.Front == nil || len(r.Front.Points) != 6 || r.Front.Lacking != 1 || r.Front.Points[1].Words[0] != "6.00 µs" || r.Front.Points[1].Words[1] != "995" {
		t.Fatalf("the front is %+v", r.Front)
	}
	html := page(t, r)
	drawings(t, html)
	for _, want := range []string{
		`class="front" data-points="6"`, "6 points that no other point beats in cost, size.", "One right outcome lacks one of these numbers.",
		"#5 cost 6.00 µs, size 995: tile=5 unroll=1", "both&#39; --pick &#39;cost &lt;= 1.1*best, min size&#39;", `data-value="995"`,
	} {
		if !strings.Contains(html, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if n := strings.Count(html[strings.Index(html, `class="front"`):], "<circle"); n < 28 {
		t.Errorf("the page draws %d outcomes from the front on", n)
	}
	if s := html[strings.Index(html, `class="front"`):]; strings.Contains(s[:strings.Index(s, "</svg>")], "#29 ") {
		t.Error("the drawing has the outcome that is farthest from the front")
	}
	if text := markdown(t, r); !strings.Contains(text, "| cost | size | point of the front |\n| ---: | ---: | --- |\n| 1.00 µs | 1,000 | tile=0 unroll=0 |\n") {
		t.Errorf("Markdown has no front:\n%s", text)
	}
}

// TestFrontLeft: the page and Markdown say how many points of a front they leave out.
func TestFrontLeft(t *testing.T) {
	open := func(n int) *report.Run {
		var entries []space.Entry
		for i := range n {
			o := space.Outcome{Status: space.OK, Cost: float64(1 + i), Metrics: []space.Metric{{Name: "size", Value: float64(n - i)}}}
			entries = append(entries, space.Entry{Number: i, Key: fmt.Sprintf("tile=%d", i), Outcome: o})
		}
		dir, s := filepath.Join(t.TempDir(), "run"), settings()
		s.Objectives = "cost,size"
		create(t, dir, s, entries)
		return report.Open(dir, report.Options{})
	}
	const left = `<p class="dim">Rows that are left out: `
	front := func(html string) string {
		_, html, _ = strings.Cut(html, "<h3>Front</h3>")
		html, _, _ = strings.Cut(html, "To export a point of it")
		return html
	}
	many, few := open(1700), open(200)
	html := front(page(t, many))
	if n := strings.Count(html, `<td class="key">`); n != 200 || !strings.Contains(html, left+"1,500.</p>") || !strings.Contains(html, "The front of 1,700 points, of which the first 300 are drawn") {
		t.Errorf("the table has %d of 1700 points, and the page does not say what is left out", n)
	}
	if html := front(page(t, few)); strings.Contains(html, left) || strings.Contains(html, "of which the first") || strings.Count(html, `<td class="key">`) != 200 {
		t.Error("of 200 points the page says that some are left out, or leaves some out")
	}
	if html := front(page(t, few, few)); !strings.Contains(html, left+"150.</p>") {
		t.Error("a page of two runs does not say that it leaves out points")
	}
	if text := markdown(t, many); !strings.Contains(text, "\n1680 more are left out; the report of this run as HTML has the first 200.\n") {
		t.Error("Markdown does not say what the report as HTML has")
	}
	if text := markdown(t, few); !strings.Contains(text, "\n180 more are in the report as HTML.\n") {
		t.Error("Markdown does not say that the report as HTML has more")
	}
}

// Three objectives, names with markup, a run without any point that counts, one with boxes, and one objective.
func TestFrontOfAnyRun(t *testing.T) {
	for _, c := range []struct {
		objectives string
		entries    []space.Entry
		want, no   string
	}{
		{"cost,size,a&b:maximise", traded(400), ">a&amp;b<", "a&b<"},
		{"cost,size,a&b:maximise", traded(400), "in cost, size, a&amp;b. More a&amp;b is better.", "More size"},
		{"cost,a&b:maximise", traded(400), "rotate(-90)\">a&amp;b, more is better</text>", "do not count"},
		{"cost:50%,size:2.5", traded(30), "Differences in cost of less than about 50 % do not count. Differences in size of less than about 2.5 do not count.", "is better"},
		{"cost,size", []space.Entry{{Key: "tile=1 unroll=0", Outcome: space.Fail(space.Crashed, "it ends")}}, "so that there is no front", `class="front"`},
		{"cost,size", traded(1), "1 point that no other point beats", "1 points"},
		{"cost,none", traded(5), "No right outcome has all of cost, none", "class=\"front\""},
		{"cost:50%,size:100%", traded(30), "1 point that no other point beats", "30 points"},
		{"", traded(5), "Costs over evaluations", "<h3>Front</h3>"},
	} {
		dir := filepath.Join(t.TempDir(), "run")
		s := settings()
		s.Objectives = c.objectives
		create(t, dir, s, c.entries)
		html := page(t, report.Open(dir, report.Options{}))
		drawings(t, html)
		if body := html[strings.Index(html, "<body>"):]; !strings.Contains(body, c.want) || strings.Contains(body, c.no) {
			t.Errorf("%q: the page has no %q, or has %q", c.objectives, c.want, c.no)
		}
	}
}
