//go:build browser

package report_test

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestBrowserKeyboard: the keyboard stops once at each chart, arrows go from mark to mark and show their values, and Escape closes them: they stay
// closed when the mouse moves.
func TestBrowserKeyboard(t *testing.T) {
	ctx := chromium(t)
	file := reported(t, t.TempDir())
	const shown = `document.getElementById("value").textContent`
	const stops = `[...document.querySelectorAll("svg")].map((s) => s.querySelectorAll("[tabindex]").length).join("")`
	// The mouse moves to where there is no mark.
	const away = `document.querySelector("h1").dispatchEvent(new PointerEvent("pointerover", {bubbles: true}))`
	const over = `document.querySelector("svg.trace circle").dispatchEvent(new PointerEvent("pointerover", {bubbles: true}))`
	var first, second, back, last, kept, closed, still, hovered, left, again, one string
	var charts int
	err := chromedp.Run(ctx, chromedp.Navigate("file://"+file),
		chromedp.Evaluate(`document.querySelectorAll("svg").length`, &charts),
		chromedp.Evaluate(`document.querySelector("svg.trace [tabindex]").focus()`, nil), chromedp.Evaluate(shown, &first),
		chromedp.KeyEvent(kb.ArrowRight), chromedp.Evaluate(shown, &second),
		chromedp.KeyEvent(kb.ArrowLeft), chromedp.Evaluate(shown, &back),
		chromedp.KeyEvent(kb.End), chromedp.Evaluate(shown, &last),
		chromedp.Evaluate(stops, &one),
		chromedp.Evaluate(away, nil), chromedp.Evaluate(shown, &kept),
		chromedp.KeyEvent(kb.Escape), chromedp.Evaluate(shown, &closed),
		chromedp.Evaluate(away, nil), chromedp.Evaluate(shown, &still),
		chromedp.Evaluate(over, nil), chromedp.Evaluate(shown, &hovered),
		chromedp.Evaluate(away, nil), chromedp.Evaluate(shown, &left),
		chromedp.KeyEvent(kb.End), chromedp.Evaluate(shown, &again)) // the last has the focus already
	if err != nil {
		t.Fatal(err)
	}
	if first != "#0 8.12 ms" || second == first || second == "" || back != first || !strings.HasPrefix(last, "best so far: #99 ") || closed != "" {
		t.Errorf("the values are %q, %q, %q, %q and %q", first, second, back, last, closed)
	}
	if kept != last || still != "" || hovered == "" || left != "" || again != last {
		t.Errorf("with the mouse the values are %q before Escape, %q, %q and %q after it, and %q after a key", kept, still, hovered, left, again)
	}
	if one != strings.Repeat("1", charts) {
		t.Errorf("the keyboard stops %s times at %d charts", one, charts)
	}
	// Tab goes on to the numbers of the chart, and not to its next mark.
	var next string
	if err := chromedp.Run(ctx, chromedp.KeyEvent(kb.Tab), chromedp.Evaluate(`document.activeElement.textContent`, &next)); err != nil || !strings.HasPrefix(next, "Numbers: Costs over evaluations") {
		t.Errorf("after Tab the focus is at %q: %v", next, err)
	}
}
