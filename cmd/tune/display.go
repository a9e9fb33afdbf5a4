package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

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
	final    line         // how far the measurement at the end is; nil before it
	step     string       // of it that was told
	pace     pace         // of it
	first    int          // outcomes known when this sitting began
	plainAt  time.Time
	events   *events // that are written instead of text; nil for none
	searched bool    // whether the last event of the search was written
	// prefix begins the live line, and only the name of what is tuned comes before it, where the run is one of several; "" otherwise.
	prefix string
	// workers returns how many workers evaluate candidates; nil where this machine does.
	workers func() int
	stop    chan struct{}
	done    chan struct{}
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

// watch returns the display of a run.
func (a *app) watch(quiet bool) *display {
	d := newDisplay(a.live, a.width, quiet, a.began)
	d.events = a.events
	return d
}

// baseline says that the baseline is evaluated now.
func (d *display) baseline() {
	if d.events != nil {
		d.events.emit(event{Event: eventProgress, Phase: phaseBaseline})
	}
}

// start shows what the run begins with.
func (d *display) start(s tune.Start) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.unit, d.base, d.first, d.measured = space.Unit(s.Settings.Unit), s.Baseline.Cost, s.Resumed, s.Measured
	d.budget, d.prior, d.virtual = s.Budget, s.Elapsed, s.Settings.Clock == results.Simulated
	name := strings.TrimSpace(s.Settings.Kernel + " " + s.Settings.Shape)
	switch {
	case d.quiet:
	case d.events != nil:
		d.events.emit(startEvent(s))
		for _, note := range d.notes(s) {
			d.events.emit(event{Event: eventNote, Text: plain.Line(note)})
		}
	case d.prefix != "":
		fmt.Fprintln(d.text, name)
	default:
		if d.found != "" {
			fmt.Fprintln(d.text, d.found)
		}
		fmt.Fprintf(d.text, "%s, strategy %s, seed %d, in %s\n", name, strategyOf(s.Settings), s.Settings.Seed, s.Dir)
		for _, note := range d.notes(s) {
			fmt.Fprintln(d.text, note)
		}
		fmt.Fprintf(d.text, "baseline: %s\n", d.unit.Words(s.Baseline.Cost))
	}
	if d.width != nil && !d.quiet {
		go d.refresh()
	} else {
		close(d.done)
	}
}

// startEvent is the event of a run that begins.
func startEvent(s tune.Start) event {
	return event{
		Event: eventStart, Dir: s.Dir, Kernel: s.Settings.Kernel, Shape: s.Settings.Shape, Strategy: strategyOf(s.Settings), Seed: &s.Settings.Seed,
		Unit: s.Settings.Unit, Baseline: &s.Baseline.Cost, Evaluations: &s.Resumed,
		Budget: &eventBudget{s.Budget.Wall.Seconds(), s.Budget.Evaluations, s.Budget.Target},
	}
}

// notes are what there is to say about the beginning of a run, one line each.
func (d *display) notes(s tune.Start) (notes []string) {
	add := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	if s.Recovery.TornBytes > 0 {
		add("the journal was repaired: %s", s.Recovery)
	}
	if s.Resumed > 0 {
		add("resuming after %s", plain.Count(s.Resumed, "outcome"))
		if spent := alreadySpent(s); spent != "" {
			add("%s: nothing new is evaluated", spent)
		}
	}
	if t, m := s.Settings.For, s.Settings.Machine; t != "" {
		add("tuned for worker %s: %s, %s", t, cmp.Or(m.CPU, "unknown processor"), m.Arch)
	}
	if pinned := kernels.PinnedText(s.Settings.Pinned); pinned != "" {
		add("all points have %s", pinned)
	}
	for _, f := range s.Settings.From {
		add("from %s: %s: %d unchanged, %d with the nearest values, %d dropped", f.Path, plain.Count(f.Same+f.Adapted+f.Dropped, "measurement"), f.Same, f.Adapted, f.Dropped)
	}
	if note := cacheNote(); note != "" && s.Compiled {
		add("%s", note)
	}
	for _, l := range s.Lacks {
		add("isolation: %s", l)
	}
	for _, f := range d.warnings {
		add("warning: %s", f)
	}
	for _, m := range s.Unmeasured {
		add("note: %s is not measured: %v", m.Name, m.Err)
	}
	if s.Unsigned != nil {
		add("note: the run is not marked as made here (%v): resume and verify will ask before running its kernel, and need --yes without a terminal", s.Unsigned)
	}
	return notes
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
			drawLine(d.out, d.line(), d.width())
			d.mu.Unlock()
		}
	}
}

// Write shows text among the progress, above the live line.
func (d *display) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.events != nil {
		d.events.emit(event{Event: eventNote, Text: plain.Text(string(p))})
		return len(p), nil
	}
	if d.width != nil && !d.quiet {
		fmt.Fprint(d.out, "\r\x1b[K")
	}
	return d.text.Write(p)
}

// end ends the live line. It must be called once, after start.
func (d *display) end() {
	close(d.stop)
	<-d.done
	d.mu.Lock()
	defer d.mu.Unlock()
	d.endSearch()
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
	now := d.now()
	switch {
	case d.events != nil && better:
		d.plainAt = now
		d.events.emit(d.searchEvent(eventBest))
	case d.events != nil && now.Sub(d.plainAt) >= eventPeriod:
		d.plainAt = now
		d.events.emit(d.searchEvent(eventProgress))
	case d.events == nil && (better || now.Sub(d.plainAt) >= plainPeriod):
		d.plainAt = now
		fmt.Fprintln(d.text, d.line())
	}
}

// searchEvent is an event of the search as it stands. The caller holds mu.
func (d *display) searchEvent(name string) event {
	known, valid := d.last.Known, d.last.Valid
	e := event{Event: name, Phase: phaseSearch, Evaluations: &known, Valid: &valid}
	if o := d.last.Best.Outcome; o.Status == space.OK {
		e.Best = &o.Cost
	}
	spent := d.now().Sub(d.began)
	var left []time.Duration
	if remains, ok := d.remains(spent); ok {
		left = append(left, remains)
	}
	if rest, ok := d.rest(spent); ok {
		left = append(left, rest)
	}
	if len(left) > 0 {
		e.Left = seconds(slices.Min(left))
	}
	return e
}

// rest estimates how long the rest of a budget of evaluations takes.
func (d *display) rest(spent time.Duration) (time.Duration, bool) {
	n, done := d.budget.Evaluations, d.last.Known-d.first
	switch {
	case n > 0 && d.last.Known >= n:
		return 0, true
	case n <= 0 || done <= 0 || d.virtual:
		return 0, false
	}
	return spent / time.Duration(done) * time.Duration(n-d.last.Known), true
}

// timeLeft says how long the search goes on, by the limit that ends it first; "" where that cannot be said, or where nothing is to go.
func (d *display) timeLeft(spent time.Duration) string {
	remains, timed := d.remains(spent)
	rest, counted := d.rest(spent)
	switch {
	case counted && rest == 0:
	case timed && (!counted || remains <= rest):
		return fmt.Sprintf(" · %s left", remains.Round(time.Second))
	case counted && spent >= time.Second && (timed || d.width != nil):
		return fmt.Sprintf(" · about %v left", atLeastSecond(rest))
	}
	return ""
}

// remains returns what is left of a time budget.
func (d *display) remains(spent time.Duration) (time.Duration, bool) {
	if d.budget.Wall <= 0 {
		return 0, false
	}
	if d.virtual {
		return max(d.budget.Wall-d.last.Elapsed, 0), true
	}
	return max(d.budget.Wall-d.prior-spent, 0), true
}

// endSearch writes the last event of the search, once. The caller holds mu.
func (d *display) endSearch() {
	if d.events != nil && !d.quiet && !d.searched {
		d.searched = true
		d.events.emit(d.searchEvent(eventProgress))
	}
}

// measuring takes note of how far the measurement at the end is. Where no line is live each step of it has a line of its own, and
// others come every so often.
func (d *display) measuring(p kernels.ContestProgress) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	words, e := d.pace.contest(now, p)
	d.final = words
	switch {
	case d.width != nil || d.quiet:
	case d.events != nil:
		d.endSearch()
		d.events.emit(e)
	case p.Step() != d.step || now.Sub(d.plainAt) >= plainPeriod:
		d.plainAt, d.step = now, p.Step()
		fmt.Fprintln(d.out, d.final)
	}
}

// line describes the run as it stands.
func (d *display) line() line {
	spent := d.now().Sub(d.began)
	if d.final != nil {
		return slices.Concat(line{{d.prefix, 6}}, d.final, line{{fmt.Sprintf(" · %s in all", (d.prior + spent).Round(time.Second)), 4}})
	}
	label, best, ratio := "best", "none yet", ""
	if o := d.last.Best.Outcome; o.Status == space.OK {
		best = d.unit.Words(o.Cost)
		if o.Cost > 0 && d.base > 0 {
			ratio = fmt.Sprintf(" (%s %s)", times(d.base/o.Cost), d.unit.Compared())
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
	baseline := space.Outcome{Status: space.OK, Cost: d.base}
	if o := d.last.Best.Outcome; d.measured || o.Status == space.OK && (space.Objective{}).Less(baseline, o) {
		label = "best seen" // the measurement at the end has the last word, and what is slower than the baseline is not exported
	}
	simulated := ""
	if d.virtual {
		simulated = fmt.Sprintf(" · %s simulated", d.last.Elapsed.Round(100*time.Millisecond))
	}
	workers := ""
	if d.workers != nil {
		workers = " · " + plain.Count(d.workers(), "worker")
	}
	toGo := ""
	if n := d.budget.Evaluations; n > 0 {
		toGo = " · " + plain.Number(float64(max(n-d.last.Known, 0))) + " to go"
	}
	return line{
		{d.prefix, 7}, {label + " " + best, stays}, {ratio, 6}, {" · " + plain.Number(float64(d.last.Known)) + " evaluated", 5}, {fmt.Sprintf(", %.*f/s", decimals, rate), 2},
		{fmt.Sprintf(" · %.0f%% valid", valid), 3}, {toGo, 7}, {d.timeLeft(spent), 8}, {simulated, 4}, {workers, 4},
	}
}
