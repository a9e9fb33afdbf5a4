//go:build browser

package report_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"tune/results/report"
	"tune/space"
)

// anyChromium returns a browser that opens pages without a window, and skips the test where none is installed.
func anyChromium(t *testing.T) context.Context {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium-headless-shell", "headless-shell", "chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		t.Skip("no Chromium: make browser-test installs it")
	}
	// The program may be a script, so that the browser is a child of what is started: all of its processes are killed.
	group := chromedp.ModifyCmdFunc(func(cmd *exec.Cmd) {
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
		cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	})
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, group)
	// The context of a test ends before its clean-up, which would not wait for the browser then.
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// chromium returns a browser in which no page may have a fault.
func chromium(t *testing.T) context.Context {
	t.Helper()
	ctx := anyChromium(t)
	faults(ctx, func(fault string) { t.Error("the page has a fault: " + fault) })
	return ctx
}

// faults tells of what goes wrong in the pages that a browser opens: what a script throws or writes as an error, what a policy refuses,
// and what cannot be loaded.
func faults(ctx context.Context, told func(fault string)) {
	chromedp.ListenTarget(ctx, func(event any) {
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			told(e.ExceptionDetails.Error())
		case *runtime.EventConsoleAPICalled:
			if e.Type == runtime.APITypeError {
				told(fmt.Sprint(e.Args))
			}
		case *log.EventEntryAdded:
			if e.Entry.Level == log.LevelError {
				told(e.Entry.Text + " " + e.Entry.URL)
			}
		}
	})
}

// leave opens an empty page, so that no page sees that its server ends.
func leave(t *testing.T, ctx context.Context) {
	t.Helper()
	if err := chromedp.Run(ctx, chromedp.Navigate("about:blank")); err != nil {
		t.Error(err)
	}
}

// TestBrowserFaults: what a policy refuses, what is not there, and what a script throws are faults.
func TestBrowserFaults(t *testing.T) {
	ctx := anyChromium(t)
	found := make(chan string, 16)
	faults(ctx, func(fault string) { found <- fault })
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
			w.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'")
			fmt.Fprint(w, `<!DOCTYPE html><title>bad</title><link rel="stylesheet" href="/lost.css"><script>inline = 1</script><script src="/bad.js"></script>`)
		case "/bad.js":
			fmt.Fprint(w, `throw new Error("thrown")`)
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	defer leave(t, ctx)
	if err := chromedp.Run(ctx, chromedp.Navigate(server.URL)); err != nil {
		t.Fatal(err)
	}
	missing := []string{"Content Security Policy", "/lost.css", "thrown"}
	for late := time.After(20 * time.Second); len(missing) > 0; {
		select {
		case fault := <-found:
			missing = slices.DeleteFunc(missing, func(want string) bool { return strings.Contains(fault, want) })
		case <-late:
			t.Fatalf("no fault has %q", missing)
		}
	}
}

// reported writes the report of a run of 144 outcomes, which it makes in a folder, and returns its file.
func reported(t *testing.T, dir string) string {
	t.Helper()
	create(t, filepath.Join(dir, "a"), settings(), outcomes(144))
	file := filepath.Join(dir, "a.html")
	if err := os.WriteFile(file, []byte(page(t, report.Open(filepath.Join(dir, "a"), report.Options{}))), 0o666); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestBrowser: the report has the points of the journal, shows the value under the mouse, and its tables sort; a live page moves.
func TestBrowser(t *testing.T) {
	ctx := chromium(t)
	dir := t.TempDir()
	file := reported(t, dir)
	var marks, charts int
	var value, first, sorted string
	err := chromedp.Run(ctx,
		chromedp.Navigate("file://"+file),
		chromedp.Evaluate(`document.querySelectorAll("svg.trace")[0].querySelectorAll("circle").length`, &marks),
		chromedp.Evaluate(`document.querySelectorAll("svg").length`, &charts),
		chromedp.Evaluate(`document.querySelector("svg.trace circle.step").dispatchEvent(new PointerEvent("pointerover", {bubbles: true})); document.getElementById("value").textContent`, &value),
		chromedp.Evaluate(`var table = [...document.querySelectorAll("table.sort")].find((t) => t.tHead.textContent.includes("loss")); table.tBodies[0].rows[0].cells[0].textContent`, &first),
		chromedp.Evaluate(`table.tHead.querySelector("button").click(); table.tBodies[0].rows[0].cells[0].textContent`, &sorted),
	)
	if err != nil {
		t.Fatal(err)
	}
	if marks < 100 || charts < 6 || value == "" || first != "tile" || sorted != "contract" {
		t.Errorf("%d marks, %d charts, the value %q, the tables begin with %q and %q", marks, charts, value, first, sorted)
	}
	server := serve(t, &report.Server{Dirs: []string{dir}})
	defer leave(t, ctx)
	var rows int
	if err := chromedp.Run(ctx, chromedp.Navigate(server.URL), chromedp.Evaluate(`document.querySelectorAll("#runs tbody tr").length`, &rows)); err != nil || rows != 1 {
		t.Fatalf("the list has %d runs: %v", rows, err)
	}
	// Sorted by the evaluations, the fewest first, with the focus of the keyboard on that button.
	const button = `document.querySelectorAll("#runs thead button")[4]`
	if err := chromedp.Run(ctx, chromedp.Evaluate(button+`.click(); `+button+`.focus()`, nil)); err != nil {
		t.Fatal(err)
	}
	create(t, filepath.Join(dir, "b"), settings(), outcomes(48))
	if err := chromedp.Run(ctx, chromedp.Poll(`document.querySelectorAll("#runs tbody tr").length === 2`, nil, chromedp.WithPollingTimeout(30*time.Second))); err != nil {
		t.Fatalf("the list does not move: %v", err)
	}
	var top string
	var focused bool
	err = chromedp.Run(ctx, chromedp.Evaluate(`document.querySelector("#runs tbody tr").cells[4].textContent`, &top), chromedp.Evaluate(`document.activeElement === `+button, &focused))
	if err != nil || top != "48" || !focused {
		t.Errorf("when the list has moved, the first run has %s evaluations, and the focus is kept: %v; %v", top, focused, err)
	}
}

// TestBrowserEnds: the page of a run says that the run has ended, when the server that ends with it has sent the last page.
func TestBrowserEnds(t *testing.T) {
	ctx := anyChromium(t) // which complains that the server does not answer any more
	dir := t.TempDir()
	create(t, filepath.Join(dir, "a"), settings(), outcomes(3))
	serving, end := context.WithCancel(t.Context())
	server := httptest.NewServer((&report.Server{Dirs: []string{dir}}).Handler(serving))
	defer leave(t, ctx)
	said := func(want string) chromedp.Action {
		return chromedp.Poll(`document.getElementById("connection").textContent === `+fmt.Sprintf("%q", want), nil, chromedp.WithPollingTimeout(30*time.Second))
	}
	if err := chromedp.Run(ctx, chromedp.Navigate(server.URL+report.PathOf(filepath.Join(dir, "a"))), said("live")); err != nil {
		t.Fatal(err)
	}
	end()
	server.Close()
	const late = `new Promise((done) => setTimeout(() => done(document.getElementById("connection").textContent), 5000))` // when it has tried again
	var last string
	err := chromedp.Run(ctx, said("the run has ended: this page stays as it is"), chromedp.Evaluate(late, &last, func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
	if err != nil || last != "the run has ended: this page stays as it is" {
		t.Errorf("the page says %q: %v", last, err)
	}
}

// TestBrowserSorts: costs sort by what they are, whatever their units.
func TestBrowserSorts(t *testing.T) {
	ctx := chromium(t)
	dir := t.TempDir()
	for name, cost := range map[string]float64{"a": 2.5e6, "b": 153.8, "c": 47e3} { // 2.50 ms, 153.8 ns and 47.00 µs
		create(t, filepath.Join(dir, name), settings(), []space.Entry{{Key: "tile=4", Outcome: space.Outcome{Status: space.OK, Cost: cost}}})
	}
	sorted := func(table string, column int) (got string) {
		t.Helper()
		order := fmt.Sprintf(`var t = document.querySelector(%q); t.tHead.querySelectorAll("button")[%d].click(); [...t.tBodies[0].rows].map((r) => r.cells[%[2]d].textContent).join()`, table, column)
		if err := chromedp.Run(ctx, chromedp.Evaluate(order, &got)); err != nil {
			t.Fatal(err)
		}
		return got
	}
	const want = "153.8 ns,47.00 µs,2.50 ms"
	server := serve(t, &report.Server{Dirs: []string{dir}})
	if err := chromedp.Run(ctx, chromedp.Navigate(server.URL)); err != nil {
		t.Fatal(err)
	}
	if got := sorted("#runs", 5); got != want {
		t.Errorf("the list sorts to %s", got)
	}
	var runs []*report.Run
	for _, name := range []string{"a", "b", "c"} {
		runs = append(runs, report.Open(filepath.Join(dir, name), report.Options{}))
	}
	file := filepath.Join(dir, "all.html")
	if err := os.WriteFile(file, []byte(page(t, runs...)), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := chromedp.Run(ctx, chromedp.Navigate("file://"+file)); err != nil {
		t.Fatal(err)
	}
	if got := sorted("table.sort", 4); strings.ReplaceAll(got, " as the search saw it", "") != want {
		t.Errorf("the runs of a report sort to %s", got)
	}
}

// TestBrowserPrints: on paper nothing is folded away, and no line is wider than the page.
func TestBrowserPrints(t *testing.T) {
	ctx := chromium(t)
	dir := t.TempDir()
	s := settings()
	s.Shape = strings.Repeat("length=1234567,", 20)
	create(t, filepath.Join(dir, "a"), s, outcomes(144))
	file := filepath.Join(dir, "a.html")
	if err := os.WriteFile(file, []byte(page(t, report.Open(filepath.Join(dir, "a"), report.Options{}))), 0o666); err != nil {
		t.Fatal(err)
	}
	folded := `[...document.querySelectorAll("details")].filter((d) => d.querySelector("table").checkVisibility()).length`
	var all, shown, printed int
	var wide bool
	var ink string
	err := chromedp.Run(ctx, chromedp.EmulateViewport(400, 800), chromedp.Navigate("file://"+file),
		chromedp.Evaluate(`document.querySelectorAll("details").length`, &all), chromedp.Evaluate(folded, &shown),
		chromedp.Evaluate(`document.documentElement.scrollWidth > innerWidth`, &wide),
		emulation.SetEmulatedMedia().WithMedia("print").WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}),
		chromedp.Evaluate(folded, &printed), chromedp.Evaluate(`getComputedStyle(document.body).color`, &ink))
	if ink != "rgb(28, 32, 36)" {
		t.Errorf("the ink is %s", ink)
	}
	if err != nil || all < 2 || shown != 0 || printed != all || wide {
		t.Errorf("of %d folded tables %d are on the screen and %d on paper; wider than the page: %v; %v", all, shown, printed, wide, err)
	}
}
