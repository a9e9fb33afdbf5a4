package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"tune"
	"tune/kernels"
	"tune/results/exchange"
	"tune/results/schedule"
	"tune/space"
)

func TestPace(t *testing.T) {
	var p pace
	at := func(seconds float64) time.Time {
		return time.Unix(1e9, 0).Add(time.Duration(seconds * float64(time.Second)))
	}
	for _, c := range []struct {
		seconds     float64
		work        string
		done, total int
		want        time.Duration // 0 where nothing can be said
	}{
		{0, "a", 0, 10, 0},
		{0.5, "a", 2, 10, 0}, // too soon
		{2, "a", 0, 10, 0},   // nothing is done
		{2, "a", 4, 10, 3 * time.Second},
		{4, "a", 8, 10, time.Second},
		{4, "a", 10, 10, 0},
		{5, "b", 3, 10, 0}, // another work: what was done before says nothing
		{7, "b", 5, 10, 5 * time.Second},
	} {
		if left, ok := p.left(at(c.seconds), c.work, c.done, c.total); left != c.want || ok != (c.want > 0) {
			t.Errorf("after %v s, %d of %d: %v, %v, want %v", c.seconds, c.done, c.total, left, ok, c.want)
		}
	}
}

// terminalApp is an invocation with a terminal of 60 columns.
func terminalApp() (*app, *bytes.Buffer) {
	a, _, stderr := testApp()
	a.live, a.width = stderr, func() int { return 60 }
	a.began = time.Now()
	return a, stderr
}

const wiped = "\r\x1b[K"

// TestWorking: what takes over a second is shown, and how long it has taken; what takes less, or has no terminal, is not.
func TestWorking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, out := terminalApp()
		a.working("reading x")()
		end := a.working("reading y")
		time.Sleep(900 * time.Millisecond)
		end()
		if out.Len() > 0 {
			t.Errorf("after less than a second: %q", out)
		}
		end = a.working("reading z")
		time.Sleep(3*time.Second + livePeriod/2)
		end()
		if text := out.String(); !strings.HasPrefix(text, wiped+"reading z · 1s") || !strings.HasSuffix(text, wiped+"reading z · 3s"+wiped) {
			t.Errorf("it shows %q", text)
		}
		a.width = nil
		out.Reset()
		end = a.working("reading")
		time.Sleep(3 * time.Second)
		if end(); out.Len() > 0 {
			t.Errorf("without a terminal: %q", out)
		}
	})
}

// TestWork: of an import and an export a terminal sees how much is done and how long the rest takes, and programs get events, at most
// one a second.
func TestWork(t *testing.T) {
	run := func(a *app) {
		w := a.work("importing a.T4.json", false)
		for _, step := range []exchange.Step{exchange.Reading, exchange.Writing} {
			for done := range 4 {
				time.Sleep(time.Second)
				w.step(step, 25*(done+1), 100)
				w.step(step, 25*(done+1), 100)
			}
		}
		time.Sleep(livePeriod / 2)
		w.end()
		w.end()
	}
	synctest.Test(t, func(t *testing.T) {
		a, out := terminalApp()
		run(a)
		text := out.String()
		for _, want := range []string{"importing a.T4.json · 2s · 50 % · about 2s left", "importing a.T4.json · 5s · 25 %" + wiped, "importing a.T4.json · 7s · 75 % · about 1s left"} {
			if !strings.Contains(text, wiped+want) {
				t.Errorf("%q is not in %q", want, text)
			}
		}
		if !strings.HasSuffix(text, wiped) {
			t.Errorf("it ends with %q", text)
		}
		w := a.work("importing a.T4.json", false)
		time.Sleep(time.Second)
		w.rows(1, 4)
		if line := w.line(time.Second, 20); line != "25 %" {
			t.Errorf("in 20 columns: %q", line)
		}
		w.end()

		out.Reset()
		a.width = nil
		if run(a); out.Len() > 0 {
			t.Errorf("without a terminal: %q", out)
		}
		a.events = &events{w: out, began: time.Now(), now: time.Now}
		run(a)
		got := strings.Split(strings.TrimSpace(out.String()), "\n")
		if want := `{"event":"progress","time":2,"phase":"read","done":50,"of":100,"left":2}`; len(got) != 8 || got[1] != want {
			t.Errorf("%d events, the second is %s, want %s", len(got), got[1], want)
		}
		out.Reset()
		a.work("importing", true).step(exchange.Reading, 1, 2) // --quiet
		w = a.work("importing", false)
		for range 9 {
			time.Sleep(livePeriod)
			w.rows(1, 2)
		}
		if out.Len() > 0 {
			t.Errorf("in less than a second, and with --quiet: %q", out)
		}
	})
}

// TestCounter: the time that is left follows from what is done.
func TestCounter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, out := terminalApp()
		observe, end := a.counter("searches")
		time.Sleep(10 * time.Second)
		observe(1, 4)
		end()
		if got, want := out.String(), wiped+"1 of 4 searches · about 30s left"+wiped; got != want {
			t.Errorf("it shows %q, want %q", got, want)
		}
		a.width = nil
		if observe, _ := a.counter("searches"); observe != nil {
			t.Error("a counter without a terminal")
		}
	})
}

// TestVerifying: a verification that takes over a second is shown with the time that is left, and as events.
func TestVerifying(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, out := terminalApp()
		n := newNotice(a, false)
		n.brief = true
		for i := range 3 {
			n.verifying(tune.VerifyProgress{Phase: schedule.Rebuilding, Check: i + 1, Of: 8})
			time.Sleep(2 * time.Second)
		}
		n.end()
		if got, want := out.String(), wiped+"checking what the point builds, input 2 of 8 · about 14s le"+wiped+"checking what the point builds, input 3 of 8 · about 12s le"+wiped; got != want {
			t.Errorf("it shows %q, want %q", got, want)
		}
		a.width = nil
		out.Reset()
		n = newNotice(a, false)
		n.brief = true
		time.Sleep(time.Minute)
		if n.verifying(tune.VerifyProgress{Phase: schedule.SavedProgram, Check: 1, Of: 8}); out.Len() > 0 {
			t.Errorf("without a terminal: %q", out)
		}
	})
}

// TestWiping: a notice is gone before a result is written beside it.
func TestWiping(t *testing.T) {
	a, out := terminalApp()
	n := newNotice(a, false)
	n.measuring(kernels.ContestProgress{Finalists: 2, Pair: 1, Of: 7})
	w := wiping{out, n}
	fmt.Fprint(w, "result ")
	fmt.Fprint(w, "1")
	n.end()
	if got, want := out.String(), wiped+"measuring 2 finalists, pair 1 of up to 7"+wiped+"result 1"; got != want {
		t.Errorf("it shows %q, want %q", got, want)
	}
}

// TestContestLeft: the final measurement says how long its pairs take.
func TestContestLeft(t *testing.T) {
	var p pace
	at := time.Unix(1e9, 0)
	for _, c := range []struct {
		progress kernels.ContestProgress
		seconds  int
		words    string
		phase    string
	}{
		{kernels.ContestProgress{}, 0, "checking the finalists on fresh inputs", phaseCheckFinalists},
		{kernels.ContestProgress{Finalists: 5, Pair: 1, Of: 21}, 10, "measuring 5 finalists, pair 1 of up to 21", phaseMeasureFinalists},
		{kernels.ContestProgress{Finalists: 5, Pair: 3, Of: 21}, 14, "measuring 5 finalists, pair 3 of up to 21 · up to 38s left", phaseMeasureFinalists},
		{kernels.ContestProgress{Finalists: 5, Confirming: true}, 30, "checking the winner on fresh inputs", phaseCheckWinner},
		{kernels.ContestProgress{Finalists: 5, Confirming: true, Pair: 1, Of: 3}, 31, "confirming the winner, pair 1 of 3", phaseConfirmWinner},
		{kernels.ContestProgress{Finalists: 5, Confirming: true, Pair: 2, Of: 3}, 33, "confirming the winner, pair 2 of 3 · about 4s left", phaseConfirmWinner},
	} {
		words, e := p.contest(at.Add(time.Duration(c.seconds)*time.Second), c.progress)
		if words != c.words || e.Phase != c.phase || e.Pair != c.progress.Pair || e.Of != c.progress.Of || (e.Left != nil) != strings.Contains(words, "left") {
			t.Errorf("%q, %+v, want %q of %s", words, e, c.words, c.phase)
		}
	}
}

// TestEvents: an event is one line of ASCII, whatever text it has, and has the documented fields alone.
func TestEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _, stderr := testApp()
		a.live, a.began = stderr, time.Now()
		if err := (&progressFlag{a: a}).Set("json"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(1234567 * time.Microsecond)
		fmt.Fprint(a.stderr, "one µs\ntwo")
		fmt.Fprint(a.stderr, " \x1b[31m<&>\n")
		code := exitFailed
		a.events.emit(event{Event: eventEnd, Code: &code, Text: "2× as\u202efast"})
		const want = `{"event":"note","time":1.235,"text":"one \u00b5s"}
{"event":"note","time":1.235,"text":"two <&>"}
{"event":"end","time":1.235,"text":"2\u00d7 as\ufffdfast","code":1}
`
		if got := strings.ReplaceAll(stderr.String(), `\u202e`, `\ufffd`); got != want {
			t.Errorf("got\n%swant\n%s", got, want)
		}
		for line := range strings.Lines(stderr.String()) {
			if !json.Valid([]byte(line)) {
				t.Errorf("no JSON: %s", line)
			}
		}
	})
}

// TestFull: the error of a full disk names the remedy, once.
func TestFull(t *testing.T) {
	full := fmt.Errorf("journal d/journal.jsonl: %w", &fs.PathError{Op: "write", Path: "d/journal.jsonl", Err: syscall.ENOSPC})
	if got, want := adviseFull("d", full).Error(), "cannot write d/journal.jsonl: no space left on device: make room on the disk, then start the run again"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	other := errors.New("other")
	if adviseFull("d", other) != other || adviseFull("d", nil) != nil {
		t.Error("an error that is none of a full disk was changed")
	}
}

// TestShapes: of several shapes the live line says which one it is and how long all of them take.
func TestShapes(t *testing.T) {
	a, out := terminalApp()
	o := tune.Options{Final: 20 * time.Second}
	o.Budget.Wall = 40 * time.Second
	end := a.showShape(&o, 1, 4, false)
	o.Start(startOf(o.Budget.Wall, 0, 0, 0))
	time.Sleep(livePeriod * 3 / 2)
	end()
	if text := out.String(); !strings.HasPrefix(text, "k a=1\n") || !strings.Contains(text, wiped+"2 of 4, about 3m0s · best none yet") || !strings.HasSuffix(text, wiped) {
		t.Errorf("it shows %q", text)
	}
}

// TestInterrupted: an error is an interruption only where somebody interrupted, and a baseline that failed then has failed.
func TestInterrupted(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	failed := fmt.Errorf("k: %w", &tune.BaselineError{Kernel: "k", Preset: "baseline", Outcome: space.Fail(space.Crashed, "oops")})
	for _, c := range []struct {
		ctx  context.Context
		err  error
		want bool
	}{
		{t.Context(), context.Canceled, false},
		{ended, context.Canceled, true},
		{ended, errors.New("other"), true},
		{ended, failed, false},
	} {
		if got := interrupted(c.ctx, c.err); got != c.want {
			t.Errorf("%v, ended %v: %t, want %t", c.err, c.ctx.Err() != nil, got, c.want)
		}
	}
}
