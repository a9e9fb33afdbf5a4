package main

import (
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"tune"
	"tune/internal/plain"
	"tune/kernels"
	"tune/kernels/user"
	"tune/results"
	"tune/search"
	"tune/space"
)

// display shows the progress of a search: on a terminal one live line, elsewhere a plain line for every new
// incumbent and every so often. Its methods may be called by several goroutines.
type display struct {
	out   io.Writer  // takes what moves the cursor too; all other text goes through plain
	text  io.Writer  // makes it so
	width func() int // columns of the terminal; nil where out is none
	quiet bool
	now   func() time.Time

	mu      sync.Mutex
	unit    space.Unit
	base    float64
	budget  search.Budget
	began   time.Time // of this sitting
	prior   time.Duration
	virtual bool // the run goes by simulated time
	// measured is whether costs are, so that what the search sees is not what is exported.
	measured bool
	last     search.Event
	warnings []user.Fault // about the file of the kernel
	found    string       // settings.found
	final    string       // how far the measurement at the end is; "" before it
	step     string       // of it that was told
	first    int          // outcomes known when this sitting began
	plainAt  time.Time
	stop     chan struct{}
	done     chan struct{}
}

const (
	livePeriod  = 100 * time.Millisecond
	plainPeriod = 10 * time.Second
)

func newDisplay(out io.Writer, width func() int, quiet bool, began time.Time) *display {
	return &display{
		out: out, text: plain.NewWriter(out), width: width, quiet: quiet, now: time.Now, began: began, plainAt: began,
		stop: make(chan struct{}), done: make(chan struct{}),
	}
}

// start shows what the run begins with.
func (d *display) start(s tune.Start) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.unit, d.base, d.first, d.measured = space.Unit(s.Settings.Unit), s.Baseline.Cost, s.Resumed, s.Measured
	d.budget, d.prior, d.virtual = s.Budget, s.Elapsed, s.Settings.Clock == results.Simulated
	if !d.quiet {
		if d.found != "" {
			fmt.Fprintln(d.text, d.found)
		}
		fmt.Fprintf(d.text, "%s, strategy %s, seed %d, in %s\n", strings.TrimSpace(s.Settings.Kernel+" "+s.Settings.Shape), strategyOf(s.Settings), s.Settings.Seed, s.Dir)
		if s.Recovery.TornBytes > 0 {
			fmt.Fprintf(d.text, "the journal was repaired: %s\n", s.Recovery)
		}
		if s.Resumed > 0 {
			fmt.Fprintf(d.text, "resuming after %d outcomes\n", s.Resumed)
			if spent := alreadySpent(s); spent != "" {
				fmt.Fprintf(d.text, "%s: nothing new is evaluated\n", spent)
			}
		}
		for _, f := range s.Settings.From {
			fmt.Fprintf(d.text, "from %s: %d measurements: %d unchanged, %d with the nearest values, %d dropped\n",
				f.Path, f.Same+f.Adapted+f.Dropped, f.Same, f.Adapted, f.Dropped)
		}
		for _, l := range s.Lacks {
			fmt.Fprintf(d.text, "isolation: %s\n", l)
		}
		for _, f := range d.warnings {
			fmt.Fprintf(d.text, "warning: %s\n", f)
		}
		if s.Unsigned != nil {
			fmt.Fprintf(d.text, "note: the run is not marked as made here (%v): resume and verify will ask before running its kernel\n", s.Unsigned)
		}
		fmt.Fprintf(d.text, "baseline: %s\n", d.unit.Words(s.Baseline.Cost))
	}
	if d.width != nil && !d.quiet {
		go d.refresh()
	} else {
		close(d.done)
	}
}

// alreadySpent says which budget of a resumed run is spent before anything is evaluated; "" for none.
func alreadySpent(s tune.Start) string {
	switch n := s.Budget.Evaluations; {
	case n > 0 && s.Resumed == n:
		return fmt.Sprintf("the budget of %d evaluations is spent already", n)
	case n > 0 && s.Resumed > n:
		return fmt.Sprintf("the budget of %d evaluations is spent already (there are %d)", n, s.Resumed)
	case s.Budget.Wall > 0 && s.Elapsed >= s.Budget.Wall:
		return fmt.Sprintf("the time budget of %s is spent already (%s were taken)", s.Budget.Wall, s.Elapsed.Round(100*time.Millisecond))
	}
	return ""
}

func (d *display) refresh() {
	defer close(d.done)
	tick := time.NewTicker(livePeriod)
	defer tick.Stop()
	for {
		select {
		case <-d.stop:
			fmt.Fprint(d.out, "\r\x1b[K")
			return
		case <-tick.C:
			d.mu.Lock()
			// A line that fills its row would move the cursor to the next one.
			fmt.Fprintf(d.out, "\r\x1b[K%s", clip(plain.Line(d.line(d.width()-1)), d.width()-1))
			d.mu.Unlock()
		}
	}
}

// end ends the live line. It must be called once, after start.
func (d *display) end() {
	close(d.stop)
	<-d.done
}

// observe takes note of an outcome.
func (d *display) observe(e search.Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	better := space.Objective{}.Less(e.Best.Outcome, d.last.Best.Outcome)
	d.last = e
	if d.width != nil || d.quiet || e.Known <= d.first {
		return
	}
	if now := d.now(); better || now.Sub(d.plainAt) >= plainPeriod {
		d.plainAt = now
		fmt.Fprintln(d.text, d.line(math.MaxInt))
	}
}

// measuring takes note of how far the measurement at the end is. Where no line is live each step of it has a line of its own, and
// others come every so often.
func (d *display) measuring(p kernels.ContestProgress) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.final = p.String()
	if d.width != nil || d.quiet {
		return
	}
	if now := d.now(); p.Step() != d.step || now.Sub(d.plainAt) >= plainPeriod {
		d.plainAt, d.step = now, p.Step()
		fmt.Fprintln(d.out, d.final)
	}
}

// line describes the run as it stands. Where that needs more than the given columns, it leaves out what matters least.
func (d *display) line(columns int) string {
	spent := d.now().Sub(d.began)
	if d.final != "" {
		return fmt.Sprintf("%s · %s in all", d.final, (d.prior + spent).Round(time.Second))
	}
	label, best, ratio := "best", "none yet", ""
	if o := d.last.Best.Outcome; o.Status == space.OK {
		best = d.unit.Words(o.Cost)
		if o.Cost > 0 && d.base > 0 {
			ratio = fmt.Sprintf(" (%.2f× %s)", d.base/o.Cost, d.unit.Compared())
		}
	}
	valid := 0.0
	if d.last.Known > 0 {
		valid = 100 * float64(d.last.Valid) / float64(d.last.Known)
	}
	rate := float64(max(d.last.Known-d.first, 0)) / max(spent.Seconds(), 1e-3)
	decimals := 0
	if rate < 9.95 {
		decimals = 1
	}
	if d.measured || d.last.Best.Outcome.Status == space.OK && d.last.Best.Outcome.Cost > d.base {
		label = "best seen" // the measurement at the end has the last word, and what is slower than the baseline is not exported
	}
	left, simulated := "", ""
	if d.budget.Wall > 0 {
		remains := d.budget.Wall - d.prior - spent
		if d.virtual {
			remains = d.budget.Wall - d.last.Elapsed
		}
		left = fmt.Sprintf(" · %s left", max(remains, 0).Round(time.Second))
	}
	if d.virtual {
		simulated = fmt.Sprintf(" · %s simulated", d.last.Elapsed.Round(100*time.Millisecond))
	}
	toGo := ""
	if n := d.budget.Evaluations; n > 0 {
		toGo = fmt.Sprintf(" · %d to go", max(n-d.last.Known, 0))
	}
	// In the order in which they are shown; less is left out first.
	parts := []struct {
		text string
		rank int
	}{
		{label + " " + best, 9}, {ratio, 6}, {fmt.Sprintf(" · %d evaluated", d.last.Known), 5}, {fmt.Sprintf(", %.*f/s", decimals, rate), 2},
		{fmt.Sprintf(" · %.0f%% valid", valid), 3}, {toGo, 7}, {left, 8}, {simulated, 4},
	}
	for least := 0; ; least++ {
		var text strings.Builder
		for _, p := range parts {
			if p.rank > least {
				text.WriteString(p.text)
			}
		}
		if utf8.RuneCountInString(text.String()) <= columns || least == 8 {
			return text.String()
		}
	}
}

// clip cuts a text to the given number of characters, each of which takes a column.
func clip(text string, columns int) string {
	if r := []rune(text); len(r) > columns {
		return string(r[:max(columns, 0)])
	}
	return text
}

// counter returns what shows on a terminal how many of some work are done, and what removes that line; elsewhere nothing
// is shown. The line changes at most some 200 times.
func (a *app) counter(of string) (observe func(done, total int), end func()) {
	if !a.terminal {
		return nil, func() {}
	}
	observe = func(done, total int) {
		if done%max(1, total/200) == 0 {
			fmt.Fprintf(a.live, "\r\x1b[K%d of %d %s", done, total, of)
		}
	}
	return observe, func() { fmt.Fprint(a.live, "\r\x1b[K") }
}

// notice shows what a command waits for or does: on a terminal in one line that changes, elsewhere a plain line for every new step and
// every so often.
type notice struct {
	a     *app
	quiet bool
	step  string
	at    time.Time
}

func newNotice(a *app, quiet bool) *notice { return &notice{a: a, quiet: quiet} }

// say shows a text that belongs to a step.
func (n *notice) say(step, text string) {
	switch now := time.Now(); {
	case n.quiet:
	case n.a.width != nil:
		fmt.Fprintf(n.a.live, "\r\x1b[K%s", clip(text, n.a.width()-1))
	case step != n.step || now.Sub(n.at) >= plainPeriod:
		n.step, n.at = step, now
		fmt.Fprintln(n.a.stderr, text)
	}
}

// measuring shows how far a measurement is.
func (n *notice) measuring(p kernels.ContestProgress) {
	n.say(p.Step(), p.String())
}

// end removes the line that changes.
func (n *notice) end() {
	if n.a.width != nil && !n.quiet {
		fmt.Fprint(n.a.live, "\r\x1b[K")
	}
}
