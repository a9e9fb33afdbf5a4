package main

import (
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"tune"
	"tune/kernels"
	"tune/results/exchange"
)

// pace estimates how long the rest of some work takes, whose parts take about the same.
type pace struct {
	work  string
	began time.Time
	from  int // parts that were done then
	done  int // parts that are done
}

// left returns about how long the rest takes; false while that cannot be said. Another work begins a new estimate, and so does less
// that is done.
func (p *pace) left(now time.Time, work string, done, total int) (time.Duration, bool) {
	if work != p.work || done < p.done || p.began.IsZero() {
		*p = pace{work: work, began: now, from: done}
	}
	p.done = done
	parts, spent := done-p.from, now.Sub(p.began)
	if parts < 1 || done >= total || spent < time.Second {
		return 0, false
	}
	return spent / time.Duration(parts) * time.Duration(total-done), true
}

// contest returns how far a final measurement is and how long it takes, as a line and as an event.
func (p *pace) contest(now time.Time, c kernels.ContestProgress) (l line, e event) {
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
	l = progressLine(c.String())
	if left, ok := p.left(now, e.Phase, c.Pair-1, c.Of); ok && c.Pair > 0 {
		l, e.Left = l.left(how, left), seconds(left)
	}
	return l, e
}

// atLeastSecond rounds an estimate to seconds.
func atLeastSecond(d time.Duration) time.Duration { return max(d.Round(time.Second), time.Second) }

// counter returns what shows how many of some work are done and how long the rest takes, and what removes that: on a terminal a line,
// which changes at most some 200 times, or events, or where --progress asks for them plain lines. Elsewhere nothing is shown.
func (a *app) counter(of string) (observe func(done, total int), end func()) {
	return a.counterOf(of, 0, 0)
}

// counterOf is counter for so much work, which it shows from the beginning, and of which each takes the given time at most; 0 where that has to
// be estimated.
func (a *app) counterOf(of string, total int, each time.Duration) (observe func(done, total int), end func()) {
	if a.quiet || a.width == nil && a.events == nil && !a.plain {
		return nil, func() {}
	}
	var p pace
	var told time.Time
	p.left(time.Now(), of, 0, 0)
	observe = func(done, total int) {
		now := time.Now()
		due := done%max(1, total/200) == 0
		if a.width == nil {
			due = done == total || now.Sub(told) >= a.period()
		}
		if !due {
			return
		}
		told = now
		left, known := p.left(now, of, done, total)
		how := "about"
		if each > 0 && done < total {
			left, known, how = each*time.Duration(total-done), true, "up to"
		}
		l, e := line{{fmt.Sprintf("%d of %d", done, total), stays}, {" " + of, 7}}, event{Event: eventProgress, Phase: of, Done: done, Of: total}
		if known {
			l, e.Left = l.left(how, left), seconds(left)
		}
		switch {
		case a.events != nil:
			a.events.emit(e)
		case a.width == nil:
			fmt.Fprintln(a.stderr, l)
		default:
			a.redraw(l)
		}
	}
	if total > 0 {
		observe(0, total)
	}
	return observe, a.wipe
}

// period is how often something is written of what goes on and on, where no line is live.
func (a *app) period() time.Duration {
	if a.events != nil {
		return eventPeriod
	}
	return plainPeriod
}

// redraw draws the line that changes, and wipe removes it, if there is a terminal.
func (a *app) redraw(l line) { drawLine(a.live, l, a.width()) }
func (a *app) wipe() {
	if a.width != nil {
		fmt.Fprint(a.live, "\r\x1b[K")
	}
}

// soon is how long a command may take without a word.
const soon = time.Second

// work shows what a command is busy with, once that has taken a second: on a terminal in a line that changes, or how far it is as events,
// or where --progress asks for them as plain lines. nil shows nothing.
type work struct {
	a          *app
	what       string
	began      time.Time
	stop, done chan struct{} // of the line; nil where none is live

	mu   sync.Mutex
	pace pace
	now  string    // what is done now; "" where it is one thing
	part line      // how far it is; nil where that is not known
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
				w.a.redraw(w.line(spent))
			}
		}
	}
}

// line describes the work. How far it is matters more than what it is.
func (w *work) line(spent time.Duration) line {
	w.mu.Lock()
	defer w.mu.Unlock()
	took, now := " · "+spent.Round(time.Second).String(), ""
	if w.part != nil {
		return slices.Concat(line{{w.what, 5}, {took, 4}}, w.part)
	}
	if w.now != "" {
		now = ": " + w.now
	}
	return line{{w.what, stays}, {now, 7}, {took, stays}}
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
	w.part = line{{fmt.Sprintf(" · %d %%", 100*min(done, total)/total), stays}}
	if known {
		w.part = w.part.left("about", left)
	}
	if w.a.events == nil && !w.a.plain || now.Sub(w.began) < soon || now.Sub(w.told) < w.a.period() {
		return
	}
	w.told = now
	if w.a.plain {
		fmt.Fprintln(w.a.stderr, slices.Concat(line{{w.what, stays}}, w.part))
		return
	}
	e := event{Event: eventProgress, Phase: phase, Done: done, Of: total}
	if known {
		e.Left = seconds(left)
	}
	w.a.events.emit(e)
}

// doing takes note of what is done now, where that is all that can be said.
func (w *work) doing(what string) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = what
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
	// brief leaves out what takes less than a second, and plain lines that nobody asks for.
	brief bool
	began time.Time
	pace  pace
	shown bool // whether a line is live
	step  string
	at    time.Time
}

func newNotice(a *app, quiet bool) *notice { return &notice{a: a, quiet: quiet, began: time.Now()} }

// say shows a line that belongs to a step, or the event that says the same.
func (n *notice) say(step string, l line, e event) {
	now := time.Now()
	due := step != n.step || now.Sub(n.at) >= eventPeriod
	switch {
	case n.quiet:
	case n.a.events != nil && (due || e.Pair > 0):
		n.step, n.at = step, now
		n.a.events.emit(e)
	case n.a.width != nil && (!n.brief || now.Sub(n.began) >= soon) && (step != n.step || now.Sub(n.at) >= livePeriod):
		n.shown, n.step, n.at = true, step, now
		n.a.redraw(l)
	case n.a.events == nil && n.a.width == nil && (!n.brief || n.a.plain && now.Sub(n.began) >= soon) && (step != n.step || now.Sub(n.at) >= plainPeriod):
		n.step, n.at = step, now
		fmt.Fprintln(n.a.stderr, l)
	}
}

// waiting shows what a measurement waits for.
func (n *notice) waiting(why string, left time.Duration) {
	l := line{{"waiting", stays}, {" for a quiet machine", 7}, {": " + why, cut + 6}, {fmt.Sprintf("; up to %v more", left.Round(time.Second)), stays}}
	n.say(phaseWait, l, event{Event: eventProgress, Phase: phaseWait, Text: why, Left: seconds(left)})
}

// measuring shows how far a measurement is.
func (n *notice) measuring(p kernels.ContestProgress) {
	l, e := n.pace.contest(time.Now(), p)
	n.say(p.Step(), l, e)
}

// verifying shows how far a verification is.
func (n *notice) verifying(p tune.VerifyProgress) {
	e := event{Event: eventProgress, Phase: string(p.Phase), Check: p.Check, Of: p.Of}
	l := progressLine(p.String())
	if left, ok := n.pace.left(time.Now(), e.Phase, p.Check-1, p.Of); ok {
		l, e.Left = l.left("about", left), seconds(left)
	}
	n.say(e.Phase, l, e)
}

// turns shows how many turns of a measurement are over.
func (n *notice) turns(turn, of int) {
	l, e := progressLine(fmt.Sprintf("measuring, turn %d of up to %d", turn, of)), event{Event: eventProgress, Phase: phaseTurns, Pair: turn, Of: of}
	if left, ok := n.pace.left(time.Now(), e.Phase, turn-1, of); ok {
		l, e.Left = l.left("up to", left), seconds(left)
	}
	n.say(e.Phase, l, e)
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
