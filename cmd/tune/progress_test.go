package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"tune"
	"tune/kernels"
	"tune/kernels/native/timing"
	"tune/results/exchange"
	"tune/results/schedule"
	"tune/results/session"
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
		{2, "a", 0, 10, 0},   // nothing is done
		{0.5, "a", 2, 10, 0}, // too soon
		{2, "a", 4, 10, 3 * time.Second},
		{4, "a", 8, 10, time.Second},
		{4, "a", 10, 10, 0},
		{5, "b", 3, 10, 0}, // another work: what was done before says nothing
		{7, "b", 5, 10, 5 * time.Second},
		{8, "b", 1, 10, 0}, // it began anew
		{10, "b", 2, 10, 16 * time.Second},
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
		a.work("reading x", false).end()
		end := a.work("reading y", false).end
		time.Sleep(900 * time.Millisecond)
		end()
		if out.Len() > 0 {
			t.Errorf("after less than a second: %q", out)
		}
		end = a.work("reading z", false).end
		time.Sleep(3*time.Second + livePeriod/2)
		end()
		if text := out.String(); !strings.HasPrefix(text, wiped+"reading z · 1s") || !strings.HasSuffix(text, wiped+"reading z · 3s"+wiped) {
			t.Errorf("it shows %q", text)
		}
		a.width = func() int { return 40 }
		out.Reset()
		w := a.work("checking kernels/my.yaml", false)
		w.doing("trying the baseline")
		time.Sleep(2*time.Second + livePeriod/2)
		w.end()
		if text := out.String(); !strings.HasSuffix(text, wiped+"checking kernels/my.yaml · 2s"+wiped) {
			t.Errorf("in 40 columns: %q", text)
		}
		if got, want := w.line(time.Minute).String(), "checking kernels/my.yaml: trying the baseline · 1m0s"; got != want {
			t.Errorf("the line is %q, want %q", got, want)
		}
		a.width = nil
		out.Reset()
		end = a.work("reading", false).end
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
		if line := w.line(time.Second).fit(20); line != "25 %" {
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
		// Where it is known how long each takes at most, that is said from the beginning.
		out.Reset()
		a.width = func() int { return 40 }
		_, end = a.counterOf("searches", 9000, 2*time.Minute)
		end()
		if got, want := out.String(), wiped+"0 of 9000 · up to 300h0m0s left"+wiped; got != want {
			t.Errorf("it shows %q, want %q", got, want)
		}
		out.Reset()
		a.width = nil
		if observe, _ := a.counter("searches"); observe != nil {
			t.Error("a counter without a terminal")
		}
		// Plain lines for those who ask, and events, at most one a second and one at the end.
		a.plain, a.stderr = true, out
		observe, end = a.counter("searches")
		for i := range 5 {
			observe(i, 4)
			time.Sleep(6 * time.Second)
		}
		end()
		if got, want := out.String(), "0 of 4 searches\n2 of 4 searches · about 12s left\n4 of 4 searches\n"; got != want {
			t.Errorf("as plain lines %q, want %q", got, want)
		}
		out.Reset()
		a.plain, a.events = false, &events{w: out, began: time.Now(), now: time.Now}
		observe, end = a.counter("searches")
		for i := range 5 {
			observe(i, 4)
			time.Sleep(600 * time.Millisecond)
		}
		end()
		if got, want := out.String(), `{"event":"progress","time":0,"phase":"searches","of":4}
{"event":"progress","time":1.2,"phase":"searches","done":2,"of":4,"left":1.2}
{"event":"progress","time":2.4,"phase":"searches","done":4,"of":4}
`; got != want {
			t.Errorf("as events %q, want %q", got, want)
		}
		a.width, a.quiet = func() int { return 60 }, true
		if observe, _ := a.counter("searches"); observe != nil {
			t.Error("a counter with --quiet")
		}
	})
}

// TestReadingSpaces: of files that are read at once, each counts by its size.
func TestReadingSpaces(t *testing.T) {
	paths := []string{filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")}
	for i, size := range []int{100, 300} {
		if err := os.WriteFile(paths[i], make([]byte, size), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		a, _, out := testApp()
		a.events = &events{w: out, began: time.Now(), now: time.Now}
		w := a.work("reading measured spaces", false)
		read := readingOf(paths, w)
		time.Sleep(2 * time.Second)
		read(0)(exchange.Reading, 1, 2)
		time.Sleep(2 * time.Second)
		read(1)(exchange.Checking, 1, 2)
		w.end()
		if got, want := out.String(), `{"event":"progress","time":2,"phase":"read-spaces","done":25,"of":400}
{"event":"progress","time":4,"phase":"read-spaces","done":250,"of":400,"left":1.333}
`; got != want {
			t.Errorf("it tells %s, want %s", got, want)
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
		if got, want := out.String(), wiped+"checking what the point builds · about 14s left"+wiped+"checking what the point builds · about 12s left"+wiped; got != want {
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
	a.width = func() int { return 40 } // of which the line has 39
	out.Reset()
	n.measuring(kernels.ContestProgress{Finalists: 3, Pair: 1, Of: 7})
	fmt.Fprint(w, "result 2")
	if got, want := out.String(), wiped+"measuring 3 finalists"+wiped+"result 2"; got != want {
		t.Errorf("in 40 columns it shows %q, want %q", got, want)
	}
}

// TestNarrowNotices: what a command waits for or does is shown in any width, with the time that is left.
func TestNarrowNotices(t *testing.T) {
	for _, c := range []struct {
		name string
		show func(n *notice, i int) // at the beginning, and 2 s later
		want map[int]string
	}{
		{"waiting", func(n *notice, _ int) { n.waiting("others keep 62 % of its cores busy, load 3.2", 598*time.Second) }, map[int]string{
			120: "waiting for a quiet machine: others keep 62 % of its cores busy, load 3.2; up to 9m58s more",
			80:  "waiting for a quiet machine: others keep 62 % of its cores bu; up to 9m58s more",
			50:  "waiting for a quiet machine; up to 9m58s more",
			40:  "waiting; up to 9m58s more",
		}},
		{"measuring", func(n *notice, i int) { n.measuring(kernels.ContestProgress{Finalists: 5, Pair: 1 + i, Of: 20}) }, map[int]string{
			80: "measuring 5 finalists, pair 2 of up to 20 · up to 38s left",
			40: "measuring 5 finalists · up to 38s left",
		}},
		{"verifying", func(n *notice, i int) {
			n.verifying(tune.VerifyProgress{Phase: schedule.Rebuilding, Check: 1 + i, Of: 20})
		}, map[int]string{
			80: "checking what the point builds, input 2 of 20 · about 38s left",
			40: "checking what the poin · about 38s left",
		}},
		{"turns", func(n *notice, i int) { n.turns(1+i, 20) }, map[int]string{
			80: "measuring, turn 2 of up to 20 · up to 38s left",
			40: "measuring · up to 38s left",
		}},
		{"comparing", func(n *notice, i int) { n.comparing(tune.CompareProgress{Phase: tune.Comparing, At: 1 + i, Of: 20}) }, map[int]string{
			80: "measuring A and B in turns, pair 2 of 20 · about 38s left",
			40: "measuring A and B in t · about 38s left",
		}},
		{"guarding", func(n *notice, i int) {
			n.guarding("runs/a/best.json", schedule.GuardProgress{Phase: schedule.Guarding, At: 11 + i, Ratio: timing.Ratio{Low: 1.01, High: 1.03}, Bar: 0.98, Left: 38 * time.Second})
		}, map[int]string{
			120: "runs/a/best.json: measuring in turns, pair 12: the ratio is 1.010 to 1.030, and has to be 0.980 · up to 38s left",
			80:  "runs/a/best.json: measuring in turns, pair 12 · up to 38s left",
			60:  "runs/a/best.j: measuring in turns, pair 12 · up to 38s left",
			40:  "measuring in turns · up to 38s left",
		}},
		{"checking what is guarded", func(n *notice, i int) {
			n.guarding("runs/a/best.json", schedule.GuardProgress{Phase: schedule.CheckingGuarded, At: 1 + i, Of: 20})
		}, map[int]string{
			80: "runs/a/best.json: checking it, input 2 of 20 · about 38s left",
			40: "checking it · about 38s left",
		}},
		{"a library within a budget", func(n *notice, i int) {
			n.tasks(session.Progress{Step: "measuring", Text: "sgemm m=512,n=512,k=512", Done: 2 + i, Of: 21, Elapsed: 62 * time.Second, Left: 38 * time.Second})
		}, map[int]string{
			80: "measuring 3 of 21: sgemm m=512,n=512,k=512 · 1m2s · up to 38s left",
			50: "measuring 3 of 21: sgemm m=512,n · up to 38s left",
			40: "measuring 3 of 21 · up to 38s left",
		}},
		{"a library without", func(n *notice, i int) {
			n.tasks(session.Progress{Step: "certifying", Text: "sgemm m=512,n=512,k=512", Done: i, Of: 20, Elapsed: 62 * time.Second})
		}, map[int]string{
			80: "certifying 1 of 20: sgemm m=512,n=512,k=512 · 1m2s · about 38s left",
			40: "certifying 1 of 20 · about 38s left",
		}},
	} {
		for columns, want := range c.want {
			t.Run(fmt.Sprintf("%s in %d", c.name, columns), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					a, out := terminalApp()
					a.width = func() int { return columns }
					n := newNotice(a, false)
					c.show(n, 0)
					time.Sleep(2 * time.Second)
					c.show(n, 1)
					frames := strings.Split(out.String(), wiped)
					if got := frames[len(frames)-1]; got != want || utf8.RuneCountInString(got) >= columns {
						t.Errorf("it shows %q, want %q", got, want)
					}
				})
			})
		}
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
		l, e := p.contest(at.Add(time.Duration(c.seconds)*time.Second), c.progress)
		if words := l.String(); words != c.words || e.Phase != c.phase || e.Pair != c.progress.Pair || e.Of != c.progress.Of || (e.Left != nil) != strings.Contains(words, "left") {
			t.Errorf("%q, %+v, want %q of %s", l, e, c.words, c.phase)
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
	dir := filepath.Join(t.TempDir(), "a run")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "run.json"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if got, want := adviseFull(dir, full).Error(), "make room on the disk, then continue the run with 'tune resume '"+dir+"''"; !strings.HasSuffix(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	other := errors.New("other")
	if adviseFull("d", other) != other || adviseFull("d", nil) != nil {
		t.Error("an error that is none of a full disk was changed")
	}
}

// TestReplayTold: a replay tells how many of the recorded trials it has compared.
func TestReplayTold(t *testing.T) {
	a, _, stderr := testApp()
	dir := filepath.Join(t.TempDir(), "run")
	if code := a.run(t.Context(), []string{"run", "treehash", "--shape", small, "--evals", "20", "--dir", dir, "-q", "--no-db"}); code != exitOK {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	var told [][2]int
	n, err := session.Replay(tune.Version(), a.table, dir, func(done, total int) { told = append(told, [2]int{done, total}) })
	if err != nil || n != 20 || len(told) < 2 || told[len(told)-1] != [2]int{20, 20} || told[0][0] >= 20 {
		t.Errorf("%d trials, %v, told %v", n, err, told)
	}
}

// TestShapes: of several shapes the live line says which one it is and how long all of them take, and programs get the events of each.
func TestShapes(t *testing.T) {
	a, out := terminalApp()
	o := session.NewRun{Work: session.Work{Final: 20 * time.Second}}
	o.Budget.Wall = 40 * time.Second
	end := a.showShape(&o, 1, 4, false)
	o.Start(startOf(o.Budget.Wall, 0, 0, 0))
	time.Sleep(livePeriod * 3 / 2)
	end()
	if text := out.String(); !strings.HasPrefix(text, "k a=1\n") || !strings.Contains(text, wiped+"2 of 4, about 3m0s · best none yet") || !strings.HasSuffix(text, wiped) {
		t.Errorf("it shows %q", text)
	}
	out.Reset()
	a.width, a.events = nil, &events{w: out, began: time.Now(), now: time.Now}
	end = a.showShape(&o, 1, 4, false)
	o.Start(startOf(o.Budget.Wall, 0, 0, 0))
	o.Observe(searchEventOf(1, 1, 1500))
	o.Measuring(kernels.ContestProgress{Finalists: 5, Pair: 1, Of: 21})
	end()
	for _, want := range []string{`{"event":"start",`, `{"event":"best",`, `"phase":"measure-finalists","finalists":5,"pair":1,"of":21}`} {
		if strings.Count(out.String(), want) != 1 {
			t.Errorf("%s is not once in %s", want, out)
		}
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
