//go:build browser

package report_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"tune/results"
	"tune/results/report"
	"tune/space"
)

// mark is a mark of a chart in the browser, with what the page shows while the pointer is on it.
type mark struct {
	Class, Value string
	X, Y         float64
}

// marksOf returns the marks of the chart of that number which draws outcomes.
func marksOf(t *testing.T, ctx context.Context, chart int) (marks []mark) {
	t.Helper()
	err := chromedp.Run(ctx, chromedp.Evaluate(fmt.Sprintf(`[...document.querySelectorAll("svg.trace")[%d].querySelectorAll("circle")].map((c) => {
		const name = c.getAttribute("class"); // before the pointer is on it
		c.dispatchEvent(new PointerEvent("pointerover", {bubbles: true}));
		return {class: name, value: document.getElementById("value").textContent, x: c.cx.baseVal.value, y: c.cy.baseVal.value};
	})`, chart), &marks))
	if err != nil {
		t.Fatal(err)
	}
	return marks
}

// journalOf returns the outcomes of a run by their numbers.
func journalOf(t *testing.T, dir string) (entries []space.Entry) {
	t.Helper()
	run, err := results.Look(dir)
	if err != nil {
		t.Fatal(err)
	}
	for round, err := range run.Rounds() {
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, round.Entries...)
	}
	return entries
}

// straight reports the first of some places that is not on a straight line through the first and the last, in the order of their values.
func straight(values, places []float64) error {
	low, high := 0, 0
	for i, v := range values {
		if v < values[low] {
			low = i
		}
		if v > values[high] {
			high = i
		}
	}
	if places[low] == places[high] {
		return fmt.Errorf("the least and the greatest value are both at %v", places[low])
	}
	for i, v := range values {
		share := (v - values[low]) / (values[high] - values[low])
		if want := places[low] + share*(places[high]-places[low]); math.Abs(places[i]-want) > 0.2 {
			return fmt.Errorf("the value %v is at %v, want %v", v, places[i], want)
		}
	}
	return nil
}

// TestBrowserPoints: the charts of outcomes have one mark for each outcome of the journal: its number, cost or status by the value under the
// pointer, its number or time to the right, and the logarithm of its cost upwards. Failures are below all costs.
func TestBrowserPoints(t *testing.T) {
	ctx := chromium(t)
	dir := filepath.Join(t.TempDir(), "a")
	create(t, dir, settings(), outcomes(144))
	file := filepath.Join(t.TempDir(), "a.html")
	if err := os.WriteFile(file, []byte(page(t, report.Open(dir, report.Options{}))), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := chromedp.Run(ctx, chromedp.Navigate("file://"+file)); err != nil {
		t.Fatal(err)
	}
	journal := journalOf(t, dir)
	var best space.Entry
	for chart, across := range []func(space.Entry) float64{func(e space.Entry) float64 { return float64(e.Number) }, func(e space.Entry) float64 { return e.Elapsed }} {
		marks := marksOf(t, ctx, chart)
		var x, y, number, cost []float64
		lane := math.Inf(1)
		for _, e := range journal {
			class, value := "pt", fmt.Sprintf("#%d %s", e.Number, space.Unit("ns").Words(e.Outcome.Cost))
			if e.Outcome.Status != space.OK {
				class, value = fmt.Sprintf("fail s%d", e.Outcome.Status), fmt.Sprintf("#%d %s", e.Number, e.Outcome.Status)
			}
			k := slices.IndexFunc(marks, func(m mark) bool { return m.Class == class && m.Value == value })
			if k < 0 {
				t.Fatalf("chart %d has no mark %q that shows %q: %+v", chart, class, value, marks[:min(len(marks), 4)])
			}
			x, number = append(x, marks[k].X), append(number, across(e))
			if e.Outcome.Status == space.OK {
				y, cost = append(y, marks[k].Y), append(cost, math.Log(e.Outcome.Cost))
				if best.Key == "" || e.Outcome.Cost < best.Outcome.Cost {
					best = e
				}
			} else {
				lane = min(lane, marks[k].Y)
			}
			marks = slices.Delete(marks, k, k+1)
		}
		for _, left := range marks {
			if left.Class != "step" {
				t.Errorf("chart %d has a mark that is of no outcome: %+v", chart, left)
			}
		}
		if err := straight(number, x); err != nil {
			t.Errorf("chart %d to the right: %v", chart, err)
		}
		if err := straight(cost, y); err != nil {
			t.Errorf("chart %d upwards: %v", chart, err)
		}
		if slices.Max(y) >= lane || y[slices.Index(cost, slices.Min(cost))] != slices.Max(y) {
			t.Errorf("chart %d: failures are at %v, costs down to %v, the least one at %v", chart, lane, slices.Max(y), y[slices.Index(cost, slices.Min(cost))])
		}
	}
	// The pointer itself, on the last mark of the best so far.
	var at struct{ X, Y float64 }
	var value string
	err := chromedp.Run(ctx,
		chromedp.Evaluate(`var m = [...document.querySelectorAll("svg.trace")[0].querySelectorAll("circle.step")].at(-1); m.scrollIntoView({block: "center"}); var b = m.getBoundingClientRect(); ({x: b.x + b.width / 2, y: b.y + b.height / 2})`, &at),
		chromedp.ActionFunc(func(ctx context.Context) error { return input.DispatchMouseEvent(input.MouseMoved, at.X, at.Y).Do(ctx) }),
		chromedp.Evaluate(`document.getElementById("value").textContent`, &value))
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("best so far: #%d %s after ", best.Number, space.Unit("ns").Words(best.Outcome.Cost)); !strings.HasPrefix(value, want) || !strings.HasSuffix(value, best.Key) {
		t.Errorf("under the pointer the page shows %q, want %q… and %s", value, want, best.Key)
	}
}

// TestBrowserLive: the page of a run moves while its outcomes arrive, without being loaded again: its marks, its best, its count and its state.
func TestBrowserLive(t *testing.T) {
	ctx := chromium(t)
	dir := t.TempDir()
	server := serve(t, &report.Server{Dirs: []string{dir}})
	run, err := results.Create(filepath.Join(dir, "a"), settings())
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	entries := outcomes(49)
	entries[48].Key, entries[48].Outcome = "tile=8 unroll=1 contract=off", space.Outcome{Status: space.OK, Cost: 5e5}
	arrive := func(from, to int) {
		t.Helper()
		if err := run.Journal.Batch(space.Batch{Number: from / 24, First: from, Count: to - from}); err != nil {
			t.Fatal(err)
		}
		for _, e := range entries[from:to] {
			if err := run.Journal.Record(e); err != nil {
				t.Fatal(err)
			}
		}
	}
	defer leave(t, ctx)
	arrive(0, 24)
	if err := chromedp.Run(ctx, chromedp.Navigate(server.URL+report.PathOf(filepath.Join(dir, "a"))), chromedp.Evaluate(`window.unchanged = true`, nil)); err != nil {
		t.Fatal(err)
	}
	awaits := func(what string, marks int, entry, text string) {
		t.Helper()
		shown := fmt.Sprintf(`document.querySelectorAll("svg.trace")[0].querySelectorAll("circle.pt, circle.fail").length === %d &&
			[...document.querySelectorAll("dt")].find((d) => d.textContent === %q).nextElementSibling.textContent.startsWith(%q)`, marks, entry, text)
		if err := chromedp.Run(ctx, chromedp.Poll(shown, nil, chromedp.WithPollingTimeout(30*time.Second))); err != nil {
			t.Fatalf("%s: the page has not %d marks and %s %q: %v", what, marks, entry, text, err)
		}
	}
	awaits("with the first outcomes", 24, "state", "running")
	// The first mark has the focus, and Escape has closed its value. Both stay when it is drawn anew.
	if err := chromedp.Run(ctx, chromedp.Evaluate(`document.querySelector("svg.trace [tabindex]").focus()`, nil), chromedp.KeyEvent(kb.Escape)); err != nil {
		t.Fatal(err)
	}
	arrive(24, 48)
	awaits("with more outcomes", 48, "evaluated", "48 in ")
	var focus, value string
	err = chromedp.Run(ctx, chromedp.Evaluate(`document.activeElement.textContent`, &focus), chromedp.Evaluate(`document.getElementById("value").textContent`, &value))
	if err != nil || focus != "#0 8.12 ms" || value != "" {
		t.Errorf("when the page has moved, the focus is at %q, and the value is %q: %v", focus, value, err)
	}
	arrive(48, 49)
	awaits("with a better one", 49, "best", space.Unit("ns").Words(5e5))
	if err := run.Journal.End(results.End{Why: "evaluations spent", Elapsed: 5}); err != nil {
		t.Fatal(err)
	}
	if err := run.Close(); err != nil {
		t.Fatal(err)
	}
	awaits("after the end", 49, "state", "finished: evaluations spent")
	var same bool
	if err := chromedp.Run(ctx, chromedp.Evaluate(`window.unchanged === true`, &same)); err != nil || !same {
		t.Errorf("the page was loaded again: %v", err)
	}
}
