package main

import (
	"fmt"
	"io"
	"sync"
	"time"
	"unicode/utf8"

	"tune"
	"tune/kernels"
	"tune/results/exchange"
)

// pace estimates how long the rest of some work takes, whose parts take about the same.
type pace struct {
	work  string
	began time.Time
	from  int // parts that were done then
}

// left returns about how long the rest takes; false while that cannot be said. Another work begins a new estimate.
func (p *pace) left(now time.Time, work string, done, total int) (time.Duration, bool) {
	if work != p.work || p.began.IsZero() {
		*p = pace{work, now, done}
	}
	parts, spent := done-p.from, now.Sub(p.began)
	if parts < 1 || done >= total || spent < time.Second {
		return 0, false
	}
	return spent / time.Duration(parts) * time.Duration(total-done), true
}

// contest returns the estimate for a final measurement, in words and as an event.
func (p *pace) contest(now time.Time, c kernels.ContestProgress) (words string, e event) {
	e = event{Event: eventProgress, Finalists: c.Finalists, Pair: c.Pair, Of: c.Of}
	how := "up to"
	switch {
	case c.Pair == 0 && c.Confirming:
		e.Phase = phaseCheckWinner
	case c.Pair == 0:
		e.Phase = phaseCheckFinalists
	case c.Confirming:
		e.Phase, how = phaseConfirmWinner, "about"
	default:
		e.Phase = phaseMeasureFinalists
	}
	words = c.String()
	if left, ok := p.left(now, e.Phase, c.Pair-1, c.Of); ok && c.Pair > 0 {
		words += fmt.Sprintf(" · %s %v left", how, atLeastSecond(left))
		e.Left = seconds(left)
	}
	return words, e
}

// atLeastSecond rounds an estimate to seconds.
func atLeastSecond(d time.Duration) time.Duration { return max(d.Round(time.Second), time.Second) }

// counter returns what shows on a terminal how many of some work are done and how long the rest takes, and what removes that
// line; elsewhere nothing is shown. The line changes at most some 200 times.
func (a *app) counter(of string) (observe func(done, total int), end func()) {
	if a.width == nil {
		return nil, func() {}
	}
	var p pace
	p.left(a.began, of, 0, 0)
	observe = func(done, total int) {
		if done%max(1, total/200) != 0 {
			return
		}
		text := fmt.Sprintf("%d of %d %s", done, total, of)
		if left, ok := p.left(time.Now(), of, done, total); ok {
			text += fmt.Sprintf(" · about %v left", atLeastSecond(left))
		}
		a.redraw(text)
	}
	return observe, a.wipe
}

// redraw draws the line that changes, and wipe removes it. Both need a terminal.
func (a *app) redraw(text string) { fmt.Fprintf(a.live, "\r\x1b[K%s", clip(text, a.width()-1)) }
func (a *app) wipe()              { fmt.Fprint(a.live, "\r\x1b[K") }

// soon is how long a command may take without a word.
const soon = time.Second

// working shows on a terminal what a command is busy with, once that has taken a second. end removes the line; it must be called
// before anything else is printed.
func (a *app) working(what string) (end func()) { return a.work(what, false).end }

// work shows what a command is busy with, once that has taken a second: on a terminal in a line that changes, or as events. nil shows
// nothing.
type work struct {
	a          *app
	what       string
	began      time.Time
	stop, done chan struct{} // of the line; nil where none is live

	mu   sync.Mutex
	pace pace
	part string    // how far it is; "" where that is not known
	seen time.Time // when that was
	told time.Time // the last event
}

// work begins to show. end must be called before anything else is printed.
func (a *app) work(what string, quiet bool) *work {
	if quiet {
		return nil
	}
	w := &work{a: a, what: what, began: time.Now()}
	if a.width != nil {
		w.stop, w.done = make(chan struct{}), make(chan struct{})
		go w.show()
	}
	return w
}

// show keeps the line until the work ends.
func (w *work) show() {
	defer close(w.done)
	shown := false
	tick := time.NewTicker(livePeriod)
	defer tick.Stop()
	for {
		select {
		case <-w.stop:
			if shown {
				w.a.wipe()
			}
			return
		case now := <-tick.C:
			if spent := now.Sub(w.began); spent >= soon {
				shown = true
				w.a.redraw(w.line(spent, w.a.width()-1))
			}
		}
	}
}

// line describes the work. Where that needs more than the given columns, it leaves out what the work is.
func (w *work) line(spent time.Duration, columns int) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := fmt.Sprintf("%s · %v", w.what, spent.Round(time.Second))
	if w.part == "" {
		return text
	}
	if text += " · " + w.part; utf8.RuneCountInString(text) > columns {
		return w.part
	}
	return text
}

// observe takes note of how much of a phase is done, and of how much.
func (w *work) observe(phase string, done, total int) {
	if w == nil || total < 1 {
		return
	}
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	if phase == w.pace.work && now.Sub(w.seen) < livePeriod {
		return // it is called for every row
	}
	w.seen = now
	left, known := w.pace.left(now, phase, done, total)
	w.part = fmt.Sprintf("%d %%", 100*min(done, total)/total)
	if known {
		w.part += fmt.Sprintf(" · about %v left", atLeastSecond(left))
	}
	if w.a.events == nil || now.Sub(w.began) < soon || now.Sub(w.told) < eventPeriod {
		return
	}
	w.told = now
	e := event{Event: eventProgress, Phase: phase, Done: done, Of: total}
	if known {
		e.Left = seconds(left)
	}
	w.a.events.emit(e)
}

// rows is observe for the rows of a run that are written.
func (w *work) rows(done, total int) { w.observe(string(exchange.Writing), done, total) }

// step is observe for a file of measurements.
func (w *work) step(step exchange.Step, done, total int) { w.observe(string(step), done, total) }

// end removes the line. It may be called again.
func (w *work) end() {
	if w == nil || w.stop == nil {
		return
	}
	close(w.stop)
	<-w.done
	w.stop = nil
}

// notice shows what a command waits for or does: on a terminal in one line that changes, elsewhere a plain line for every new step and
// every so often, or as events.
type notice struct {
	a     *app
	quiet bool
	// brief leaves out what takes less than a second, and plain lines.
	brief bool
	began time.Time
	pace  pace
	shown bool // whether a line is live
	step  string
	at    time.Time
}

func newNotice(a *app, quiet bool) *notice { return &notice{a: a, quiet: quiet, began: time.Now()} }

// say shows a text that belongs to a step, or the event that says the same.
func (n *notice) say(step, text string, e event) {
	now := time.Now()
	due := step != n.step || now.Sub(n.at) >= eventPeriod
	switch {
	case n.quiet:
	case n.a.events != nil && (due || e.Pair > 0):
		n.step, n.at = step, now
		n.a.events.emit(e)
	case n.a.width != nil && (!n.brief || now.Sub(n.began) >= soon) && (step != n.step || now.Sub(n.at) >= livePeriod):
		n.shown, n.step, n.at = true, step, now
		n.a.redraw(text)
	case n.a.events == nil && n.a.width == nil && !n.brief && (step != n.step || now.Sub(n.at) >= plainPeriod):
		n.step, n.at = step, now
		fmt.Fprintln(n.a.stderr, text)
	}
}

// waiting shows what a measurement waits for.
func (n *notice) waiting(why string, left time.Duration) {
	n.say(phaseWait, fmt.Sprintf("waiting for a quiet machine: %s; up to %v more", why, left.Round(time.Second)),
		event{Event: eventProgress, Phase: phaseWait, Text: why, Left: seconds(left)})
}

// measuring shows how far a measurement is.
func (n *notice) measuring(p kernels.ContestProgress) {
	words, e := n.pace.contest(time.Now(), p)
	n.say(p.Step(), words, e)
}

// verifying shows how far a verification is.
func (n *notice) verifying(p tune.VerifyProgress) {
	e := event{Event: eventProgress, Phase: string(p.Phase), Check: p.Check, Of: p.Of}
	words := p.String()
	if left, ok := n.pace.left(time.Now(), e.Phase, p.Check-1, p.Of); ok {
		words += fmt.Sprintf(" · about %v left", atLeastSecond(left))
		e.Left = seconds(left)
	}
	n.say(e.Phase, words, e)
}

// turns shows how many turns of a measurement are over.
func (n *notice) turns(turn, of int) {
	text := fmt.Sprintf("measuring, turn %d of up to %d", turn, of)
	if left, ok := n.pace.left(time.Now(), "turns", turn-1, of); ok {
		text += fmt.Sprintf(" · up to %v left", atLeastSecond(left))
	}
	n.say("turns", text, event{})
}

// end removes the line that changes.
func (n *notice) end() {
	if n.shown {
		n.shown = false
		n.a.wipe()
	}
}

// wiping removes a notice before anything is written, perhaps to the same terminal.
type wiping struct {
	w io.Writer
	n *notice
}

// Write implements io.Writer.
func (w wiping) Write(p []byte) (int, error) {
	w.n.end()
	return w.w.Write(p)
}
