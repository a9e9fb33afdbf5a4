package report

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tune/internal/files"
	"tune/internal/guard"
	"tune/internal/plain"
	"tune/results"
	"tune/results/exchange"
	"tune/results/insight"
	"tune/space"
)

// mostRows is how many outcomes of a run are drawn at most; of more, every n-th one is.
const mostRows = 1 << 18

// Run is what a page shows of a run, or of a file of measurements.
type Run struct {
	Name     string // the directory or the file
	Settings results.Settings
	State    string
	Elapsed  float64 // seconds
	Unit     space.Unit
	// Problems say what of the run cannot be read or shown. The rest is there.
	Problems []string
	// Damage are those of the problems that say which file of the run is damaged.
	Damage []string
	// Notes say what is not drawn although nothing is wrong.
	Notes    []string
	Schedule *results.Schedule // nil where nothing is exported
	// Final are the pairs that the schedule sums up; nil where they are not there.
	Final   *results.Final
	Table   *insight.Table   // never nil
	Insight *insight.Insight // never nil
	File    bool             // whether it is a file of measurements
	// Top are the best outcomes that the search saw, the best first.
	Top []TopOutcome
	// Front is what a run with several objectives found; nil for other runs.
	Front *Front
	// Usage is what the program of the schedule uses of its machine; nil where that is not known.
	Usage *Usage
	// Limits are sentences about what bounds the kernel.
	Limits []string
	// Roofline places the kernel below the roofs of the processor; nil where they are not known.
	Roofline *Roofline
	// Again is the command that begins a run with the same settings, where no schedule says how the point is found again; "" for none.
	Again string
	// Source is the text of the winning program, and its name.
	Source, SourceName string

	effects []insight.Effect // of the parameters

	// sharesHidden leaves the shares of parameters out. Those of the outcomes of a search that goes on mislead: parameters that it has vary
	// together each have the whole of what they explain.
	sharesHidden bool
}

// Options say how runs are read.
type Options struct {
	// Space returns the space of the kernel of a run, so that shares can be learned; a nil one where the kernel has another one now. A nil
	// function means that nothing is learned.
	Space func(dir string) (*space.Space, error)
	Learn insight.Learner
	// Again returns the command that begins a run with the settings of the one in a directory, or ""; nil returns none.
	Again func(dir string, s results.Settings) string
	// Explain adds what depends on the kind of kernel; nil adds nothing.
	Explain func(dir string, r *Run)
}

// Open reads the run in a directory. What cannot be read is one of its problems.
func Open(dir string, o Options) *Run {
	about := results.Describe(dir)
	r := &Run{Name: dir, Settings: about.Settings, State: about.State.String(), Elapsed: about.Summary.Elapsed, Unit: unitOf(about.Settings.Unit)}
	if about.End.Why != "" && about.End.Why != r.State {
		r.State += ": " + about.End.Why
	}
	r.Table, r.Insight = &insight.Table{Stride: 1}, &insight.Insight{}
	if about.State == results.Failed {
		r.problem("%s", about.End.Words())
	}
	if about.Err != nil {
		r.damage("this run is damaged: %v", about.Err)
	}
	look, err := results.Look(dir)
	lost := err != nil
	if lost {
		// The schedule and the outcomes are shown all the same; the space is not known without the settings.
		look, o.Space = results.LookWithoutSettings(dir), nil
	}
	r.readSchedule(about, lost)
	if !lost && o.Again != nil && (r.Schedule == nil || len(r.Schedule.Reproduce) < 2) { // the last of these verifies
		r.Again = o.Again(dir, about.Settings)
	}
	explained := guard.Aside(func() {
		if o.Explain != nil && r.Schedule != nil {
			o.Explain(dir, r)
		}
	})
	counted := about.End.Trim(look)
	table, err := insight.Collect(counted, mostRows)
	explained()
	r.Table = table
	if err != nil && about.Err == nil {
		r.damage("the journal cannot be read to its end: %v", err)
	}
	for i := range table.Rows {
		r.Elapsed = max(r.Elapsed, table.Rows[i].Elapsed)
	}
	if s := r.Schedule; s != nil && len(r.Damage) == 0 && table.Seen < s.Evaluations {
		r.damage("the end of the journal is lost: it has %s, and %s was made after %s", counting(table.Seen, "outcome"), results.ScheduleName, counting(s.Evaluations, "evaluation"))
	}
	r.find(o, counted, func() (*space.Space, error) { return o.Space(dir) })
	r.readFront(counted)
	return r
}

// find finds what mattered, and meanwhile the best outcomes and the effects of the parameters.
func (r *Run) find(o Options, h results.History, in func() (*space.Space, error)) {
	wait := guard.Aside(func() {
		r.readTop(h)
		r.effects = r.Table.Effects()
	})
	r.look(o, h, in)
	wait()
}

// unitOf is the unit that a file names.
func unitOf(text string) space.Unit { return space.Unit(plain.Line(text)) }

// ofLibrary reports whether a run is one of the searches of a library, which export nothing: they stand in DIR/tuning/TASK/runs.
func ofLibrary(dir string) bool {
	runs := filepath.Dir(filepath.Clean(dir))
	_, err := os.Stat(filepath.Join(runs, "..", "..", "plan.json"))
	return filepath.Base(runs) == "runs" && err == nil
}

// readSchedule reads the schedule of a run and what belongs to it. Where the settings are lost, it says what the run was about.
func (r *Run) readSchedule(about results.Listing, lost bool) {
	dir := about.Dir
	s, err := results.ReadResult(dir, about.Settings, about.Summary.Best)
	switch {
	case err == nil:
		r.Schedule = &s
		r.readFinal(dir)
		r.readSource(dir)
	case !errors.Is(err, fs.ErrNotExist):
		r.damage("the schedule cannot be read: %v", err)
	case about.State == results.Finished && about.Summary.Best != nil && !ofLibrary(dir):
		r.note("there is no %s, so that what is best is as the search saw it: nothing was exported, or the file is lost", results.ScheduleName)
	}
	if lost && r.Schedule != nil {
		r.Unit = unitOf(s.Unit)
		r.Settings = results.Settings{
			Kernel: s.Kernel, KernelVersion: s.KernelVersion, Shape: s.Shape, Unit: s.Unit, Strategy: s.Strategy, StrategyConfig: s.StrategyConfig, Seed: s.Seed,
			Machine: s.Machine, Clock: s.Clock, Baseline: results.Preset{Name: s.Baseline.Preset, Key: s.Baseline.Key},
		}
	}
}

func (r *Run) problem(format string, args ...any) {
	r.Problems = append(r.Problems, plain.Line(fmt.Sprintf(format, args...)))
}

func (r *Run) note(format string, args ...any) {
	r.Notes = append(r.Notes, plain.Line(fmt.Sprintf(format, args...)))
}

// damage is problem for what is wrong with a file of the run.
func (r *Run) damage(format string, args ...any) {
	r.problem(format, args...)
	r.Damage = append(r.Damage, r.Problems[len(r.Problems)-1])
}

// look finds out what mattered, and says what is not there to be shown.
func (r *Run) look(o Options, h results.History, in func() (*space.Space, error)) {
	var s *space.Space
	if o.Space != nil || r.File {
		var err error
		if s, err = in(); err != nil {
			r.problem("shares are those of the outcomes alone, because the space of the kernel is not known: %v", err)
			s = nil
		} else if s == nil {
			r.problem("shares are those of the outcomes alone, because the kernel has another space now")
		}
	}
	var failures []insight.Failure
	var err error
	sought := guard.Aside(func() { failures, err = r.Table.Failures(h) })
	from := insight.Reference{Defaults: r.Settings.Baseline.Key}
	if r.Schedule != nil {
		from = insight.Exported(r.Schedule)
	}
	r.Insight = r.Table.Look(s, from, o.Learn)
	sought()
	if r.Insight.Failures = failures; err != nil && len(r.Problems) == 0 {
		r.problem("causes of failures are not known: %v", err)
	}
	right, reduced := 0, 0
	for i := range r.Table.Rows {
		switch row := &r.Table.Rows[i]; {
		case row.Counts():
			right++
		case row.Reduced && row.Status == space.OK:
			reduced++
		}
	}
	if reduced > 0 {
		r.note("%s of reduced fidelity, with a pale mark in the charts of costs over evaluations and over time, and nowhere else: their costs do not compare with the others", counting(reduced, "outcome")+map[bool]string{true: " is", false: " are"}[reduced == 1])
	}
	switch {
	case r.Table.Seen == 0 && len(r.Damage) > 0:
		r.problem("no outcome can be shown")
	case r.Table.Seen == 0:
		r.problem("there is no outcome yet: no candidate was evaluated")
	case right == 0 && r.Table.Seen == 1:
		r.problem("no candidate was right: the one outcome failed")
	case right == 0:
		r.problem("no candidate was right: all %s failed", counting(r.Table.Seen, "outcome"))
	case r.Table.Seen == 1:
		r.problem("there is one outcome: nothing can be compared")
	}
	if r.Table.Stride > 1 {
		r.note("of %s outcomes, the best one and one in %d are drawn, and what mattered is about these", plain.Number(float64(r.Table.Seen)), r.Table.Stride)
	}
}

// readFinal reads the pairs that the schedule sums up.
func (r *Run) readFinal(dir string) {
	f, err := results.ReadFinal(dir)
	switch {
	case err == nil && !f.Of(*r.Schedule):
		r.problem("the pairs of the final comparison are not shown: %s is of another schedule than %s", results.FinalName, results.ScheduleName)
	case err == nil:
		r.Final = &f
	case !errors.Is(err, fs.ErrNotExist):
		r.damage("the pairs of the final comparison cannot be read: %v", err)
	}
}

// readSource reads the program of the schedule, where it is text that people read.
func (r *Run) readSource(dir string) {
	for _, a := range r.Schedule.Artifacts {
		if !slices.Contains([]string{".c", ".cc", ".cpp", ".h", ".go", ".py", ".cu", ".cl", ".s", ".txt"}, filepath.Ext(a.Name)) {
			continue
		}
		source, err := files.In(dir).Read(a.Name, files.Settings)
		if err != nil {
			r.damage("the program cannot be read: %v", err)
			return
		}
		if sum := sha256.Sum256(source); hex.EncodeToString(sum[:]) != a.SHA256 {
			r.damage("the program is not the one that was exported: %s has changed since", a.Name)
		}
		r.SourceName, r.Source = a.Name, plain.Text(string(source))
		return
	}
}

// sourceIn is what the room of a run has of its program.
func (r *Run) sourceIn(room portion) string {
	if most := room.source(); len(r.Source) > most {
		return strings.ToValidUTF8(r.Source[:most], "") + "\n… the rest is in the file " + plain.Line(r.SourceName) + " of the run"
	}
	return r.Source
}

// Measurements reads a file of measurements.
func Measurements(path string, o Options) (*Run, error) {
	f, err := exchange.Open(path, nil)
	if err != nil {
		return nil, err
	}
	r := &Run{
		Name: path, File: true, State: "measurements", Unit: unitOf(f.Unit),
		Settings: results.Settings{Kernel: cmp.Or(f.Kernel, f.Space), Unit: f.Unit, Machine: results.Machine{CPU: f.Device}},
	}
	h := space.History{Entries: map[int]space.Entry{}, Batches: []space.Batch{{Count: len(f.Rows)}}}
	seconds := 0.0
	s, err := f.MakeSpace()
	if err != nil {
		return nil, err
	}
	for i, row := range f.Rows {
		seconds += row.Outcome.Seconds
		e := space.Entry{Number: i, Outcome: row.Outcome, Elapsed: seconds}
		if p, err := s.FromOrdinals(row.Ordinals); err == nil {
			e.Key = p.Key()
		}
		h.Entries[i] = e
	}
	r.Elapsed = seconds
	if r.Table, err = insight.Collect(h, mostRows); err != nil {
		return nil, err
	}
	r.find(o, h, func() (*space.Space, error) { return s, nil })
	return r, nil
}

// Unread is a file of measurements that cannot be read.
func Unread(path string, err error) *Run {
	r := &Run{Name: path, File: true, State: "damaged", Table: &insight.Table{Stride: 1}, Insight: &insight.Insight{}}
	r.damage("the measurements cannot be read: %v", err)
	return r
}

// clock is the unit in which the times of a run are written, and how many seconds it has.
func (r *Run) clock() (name string, seconds float64) {
	name, seconds = "seconds", 1
	for _, larger := range []struct {
		name    string
		seconds float64
	}{{"minutes", 60}, {"hours", 3600}, {"days", 86400}} {
		if r.Elapsed >= 2*larger.seconds {
			name, seconds = larger.name, larger.seconds
		}
	}
	if r.Settings.Clock == results.Simulated || r.File {
		name = "simulated " + name
	}
	return name, seconds
}

// after writes a time of a run.
func (r *Run) after(seconds float64) string {
	name, unit := r.clock()
	return fmt.Sprintf("%.1f %s", seconds/unit, name)
}

// baselineCost is the cost of the baseline in the search, 0 where it is not known.
func (r *Run) baselineCost() float64 {
	if r.Schedule != nil && r.Schedule.Search != nil {
		return r.Schedule.Search.Baseline
	}
	if r.Schedule != nil {
		return r.Schedule.Baseline.Cost
	}
	return 0
}

// bestKey is the key of the point that is exported, or else the best that the search saw.
func (r *Run) bestKey() string {
	if r.Schedule != nil {
		return r.Schedule.Key
	}
	if best := r.Table.Best(); best != nil {
		for _, o := range r.Top {
			if o.Number == best.Number { // the journal has the parameters in the order of the schedule, the table as they come
				return o.Key
			}
		}
		return r.Table.Key(best)
	}
	return ""
}

// Best says what is best: 1.30 ms, 1.99× as fast as the baseline.
func (r *Run) Best() string {
	if s := r.Schedule; s != nil {
		text := r.Unit.Words(s.Cost)
		if s.Ratio > 0 && s.Key != s.Baseline.Key {
			text += fmt.Sprintf(", %.2f× %s as the baseline (%s)", s.Ratio, r.Unit.Compared(), r.Unit.Words(s.Baseline.Cost))
		} else if s.Key == s.Baseline.Key {
			text += ": the baseline itself"
		}
		return text
	}
	if best := r.Table.Best(); best != nil {
		return asSeen(r.Unit, best.Cost)
	}
	return ""
}

// asSeen writes the least cost that a search saw, where nothing is exported.
func asSeen(unit space.Unit, cost float64) string { return unit.Words(cost) + " as the search saw it" }

// BestCost is the cost that Best says; 0 for none.
func (r *Run) BestCost() float64 {
	if r.Schedule != nil {
		return r.Schedule.Cost
	}
	if best := r.Table.Best(); best != nil {
		return best.Cost
	}
	return 0
}

// Title is the kernel with its shape.
func (r *Run) Title() string {
	return cmp.Or(strings.TrimSpace(r.Settings.Kernel+" "+r.Settings.Shape), filepath.Base(r.Name))
}

// Reproduce are the commands that find the point again, or where none does the one that begins a run with the same settings, and the one that
// verifies the schedule.
func (r *Run) Reproduce() string {
	if r.Schedule == nil {
		return plain.Text(r.Again)
	}
	lines := slices.Clone(r.Schedule.Reproduce)
	for i, line := range lines {
		if line == "tune verify "+results.ScheduleName { // as in the directory of the run
			lines[i] = "tune verify " + quoted(filepath.Join(r.Name, results.ScheduleName))
		}
	}
	if r.Again != "" {
		lines = slices.Insert(lines, 0, r.Again)
	}
	return plain.Text(strings.Join(lines, "\n"))
}

// Charts are the drawings of a run.
type Charts struct {
	Plots  []Plot // of all outcomes
	Values []Plot // of one parameter each
	Left   string // that there are more parameters than those; "" where there are not
	Fronts []Plot
	Strips []Plot
	Top    *Numbers // the best outcomes; nil where there is none
	// TopLeft are sentences about what Top leaves out.
	TopLeft []string
	// Less are sentences about what a page of several runs leaves out of this one.
	Less []string
	// Finalists are rows of the comparison at the end, and FinalistsLeft says how many further ones are left out. The same is said of Losses,
	// and of the points of a front.
	Finalists                             []Finalist
	Losses                                []insight.Loss
	FrontPoints                           []FrontPoint
	FinalistsLeft, LossesLeft, FrontsLeft int
	// Source is what the page shows of the winning program.
	Source string
}

// draw makes the drawings of a run on a page of some runs.
func (r *Run) draw(runs int) Charts {
	room := portion{runs}
	var c Charts
	c.Plots = r.plots(room)
	c.Top, c.TopLeft = r.topNumbers(room.of(mostTop, leastTop))
	c.Finalists, c.FinalistsLeft = first(r.Finalists(), room.rows())
	c.Losses, c.LossesLeft = first(r.Insight.Losses, room.rows())
	if r.Front != nil {
		c.FrontPoints, c.FrontsLeft = first(r.Front.Points, room.rows())
	}
	c.Less = r.less(room)
	if room.brief() {
		return c
	}
	if r.Front != nil {
		c.Fronts = r.Front.draw(r.Unit, room)
	}
	c.Strips, c.Source = r.strips(room), r.sourceIn(room)
	winner, err := space.KeyTexts(r.bestKey())
	if err != nil {
		winner = nil
	}
	n := min(len(r.effects), room.of(mostCharts, 2))
	if n < len(r.effects) {
		c.Left = fmt.Sprintf("Of %d parameters with several values, those %d are drawn whose middle value is furthest from the best.", len(r.effects), n)
	}
	for _, e := range r.effects[:n] {
		c.Values = append(c.Values, r.values(e, winner[e.Parameter], room))
	}
	return c
}

// first returns the first elements of a list, at most the given number, and how many are left out.
func first[T any](list []T, most int) (some []T, left int) {
	return list[:min(len(list), most)], max(len(list)-most, 0)
}

// plots draws all outcomes, and what the program of the schedule uses.
func (r *Run) plots(room portion) []Plot {
	var outcomes Plot
	drawn := guard.Aside(func() { outcomes = r.trace(false, room) })
	others := r.otherPlots(room)
	drawn()
	return plots(append([]Plot{outcomes}, others...)...)
}

// otherPlots draws what comes after the outcomes by evaluation.
func (r *Run) otherPlots(room portion) (all []Plot) {
	if r.Elapsed > 0 && !room.brief() {
		all = append(all, r.trace(true, room))
	}
	if !room.brief() {
		all = append(all, r.distribution(room))
	}
	if !r.sharesHidden {
		all = append(all, importance(r.Insight.Learned, &r.Insight.Measured, room))
	}
	if room.brief() {
		return all
	}
	all = append(all, r.pairs(room)...)
	if r.Usage != nil {
		all = append(all, r.Usage.usage(room))
	}
	if r.Roofline != nil {
		all = append(all, r.Roofline.draw())
	}
	return all
}

// less says what a page of several runs leaves out of this one, as far as the drawings do not say it.
func (r *Run) less(room portion) (out []string) {
	if r.Source != "" && room.brief() {
		out = append(out, fmt.Sprintf("The winning program is not shown: it is %s in the directory of the run.", r.SourceName))
	}
	if room.brief() {
		return append(out, fmt.Sprintf("A page of more than %d runs leaves out the charts over time, by value, by pair and of fronts, the distribution of the costs, the pairs of the "+
			"final comparison, and what the program uses of its machine. A page of this run alone has them: tune report %s", mostWhole, quoted(r.Name)))
	}
	if n := room.pairs(); n < mostPairs && len(r.strongest()) > n {
		out = append(out, fmt.Sprintf("Each of several runs has the best costs of %s. A page of this run alone has those of up to %d.", counting(n, "pair"), mostPairs))
	}
	return out
}

// pairs draws the pairs of parameters that matter most.
func (r *Run) pairs(room portion) (out []Plot) {
	for _, pair := range r.strongest() {
		if len(out) == room.pairs() {
			break
		}
		if p := r.pair(pair[0], pair[1], room); p.Drawing != "" {
			out = append(out, p)
		}
	}
	return out
}

// strongest lists pairs of parameters by their indices: by the shares of the pairs, and then the two parameters that matter most.
func (r *Run) strongest() (out [][2]int) {
	index := func(name string) int {
		return slices.IndexFunc(r.Table.Parameters, func(p insight.Parameter) bool { return p.Name == name })
	}
	shares := &r.Insight.Measured
	if r.Insight.Learned != nil {
		shares = r.Insight.Learned
	}
	add := func(a, b string) {
		if pair := [2]int{index(a), index(b)}; pair[0] >= 0 && pair[1] >= 0 && !slices.Contains(out, pair) {
			out = append(out, pair)
		}
	}
	for _, p := range shares.Pairs[:min(len(shares.Pairs), 2*mostPairs)] {
		if p.Share >= 0.01 {
			add(p.Parameters[0], p.Parameters[1])
		}
	}
	if len(shares.Single) >= 2 {
		add(shares.Single[0].Parameters[0], shares.Single[1].Parameters[0])
	}
	return out
}
