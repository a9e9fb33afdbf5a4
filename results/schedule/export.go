package schedule

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tune/internal/files"
	"tune/kernels"
	"tune/results"
	"tune/results/chart"
	"tune/results/exchange"
	"tune/space"
)

// Formats are what Export can write.
var Formats = slices.Concat([]string{"json", "program", "trace", "csv"}, chart.Formats,
	[]string{string(exchange.T4), string(exchange.KernelTuner), string(exchange.Recorded)})

// Exporter exports runs.
type Exporter struct {
	Table       kernels.Table
	ToolVersion string
	// Measure allows the best candidates to be built, run and measured again where that is necessary.
	Measure bool
	// Pick exports a point of the front of a run with several objectives, in place of the best one: see space.ParsePick. It is then built
	// and checked again, and with Measure measured. "" exports the best.
	Pick string
	// Limit is roughly how long each series of that measurement takes; 0 means 30 s.
	Limit time.Duration
	// Progress is told how far that measurement is; it may be nil.
	Progress func(kernels.ContestProgress)
	// Rows is told how many outcomes are written, and about how many there are, in formats that list them; it may be nil.
	Rows func(done, total int)
}

// counter returns what is called for each outcome of a run that is written.
func (e Exporter) counter(run *results.Run) func() {
	done := 0
	return func() {
		if done++; e.Rows != nil {
			e.Rows(done, run.Outcomes)
		}
	}
}

// Export writes a run in one of Formats: its schedule, its program or the program's trace, its outcomes as text or in a format of
// package exchange, or a chart of the best cost over time. A file that is missing from the run directory, or that has changed, is
// made again from the journal, if that starts neither a compiler nor a process, or if Measure is set. Otherwise the error is a
// *StaleError. Of a kernel that Table does not have, such as one of a Go program, nothing is made again, and there is no trace.
func (e Exporter) Export(ctx context.Context, dir, format string, w io.Writer) error {
	if !slices.Contains(Formats, format) {
		return fmt.Errorf("unknown format %q: want %s%s", format, strings.Join(Formats, ", "), space.DidYouMean(format, Formats))
	}
	run, err := results.Read(dir)
	if err != nil {
		return err
	}
	if _, unknown := e.Table.Lookup(run.Settings.Kernel); unknown != nil {
		return e.exportUnknown(run, format, w, unknown)
	}
	k, err := OpenRun(e.Table, &run.Settings)
	if err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	if format == "csv" {
		var names []string
		for _, p := range k.Problem.Space().Parameters() {
			names = append(names, p.Name)
		}
		return writeCSV(names, run, e.counter(run), w)
	}
	if f := exchange.Format(format); slices.Contains(exchange.Formats(), f) {
		return exchangeFormat(k.Problem.Space(), k.Problem.Traits().Origin, run, f, e.counter(run), w)
	}
	if slices.Contains(chart.Formats, format) {
		return drawChart(run, k.Info.Exact, format, w)
	}
	return e.file(ctx, k, run, format, w)
}

// StaleError says that the schedule of a run is missing or out of date, and that making it again would run candidates.
type StaleError struct {
	Dir string
	Err error // what is missing or wrong
}

func (e *StaleError) Error() string { return e.Err.Error() }
func (e *StaleError) Unwrap() error { return e.Err }

// drawChart draws the best cost over time.
func drawChart(run *results.Run, exact bool, format string, w io.Writer) error {
	unit := space.Unit(run.Settings.Unit)
	c := chart.Run{
		Unit: unit, Start: run.Elapsed, End: run.Elapsed, Title: strings.TrimSpace(run.Settings.Kernel + " " + run.Settings.Shape), Seen: !exact,
	}
	steps, err := results.Convergence(run)
	if err != nil {
		return err
	}
	for _, e := range steps {
		c.Steps = append(c.Steps, chart.Step{Seconds: e.Elapsed, Cost: e.Outcome.Cost})
	}
	if len(c.Steps) == 0 {
		return ErrNoValid
	}
	for r, err := range run.Only(func(e *space.Entry) bool { return e.Outcome.Counts() }) {
		if err != nil {
			return err
		}
		for i := range r.Entries {
			e := &r.Entries[i]
			c.Start = min(c.Start, e.Elapsed)
			switch {
			case e.Outcome.Status != space.OK:
				c.Failed = append(c.Failed, e.Elapsed)
			case e.Key == run.Settings.Baseline.Key && e.Outcome.Counts():
				c.Baseline = e.Outcome.Cost
			}
		}
	}
	if best, err := results.ReadResult(run.Dir, run.Settings, &steps[len(steps)-1]); err == nil {
		switch {
		case best.Search != nil:
			c.Baseline = best.Search.Baseline
		case exact:
			c.Baseline = best.Baseline.Cost
		}
		// The best cost of the search is not that of the schedule where that was measured separately, and where it is the baseline's.
		instead := exact && best.Closest != nil && !results.Cheaper(c.Steps[len(c.Steps)-1].Cost, best.Cost)
		if c.Seen = c.Seen || instead; instead || c.Seen && best.Pairs > 0 {
			c.Final, c.Note = best.Cost, fmt.Sprintf("exported: %s, %.2f× %s as the baseline (%s)", unit.Words(best.Cost), best.Ratio, unit.Compared(), unit.Words(best.Baseline.Cost))
		}
	}
	return chart.WriteRun(w, format, c)
}

// ErrNoValid says that a run has no right candidate to export.
var ErrNoValid = errors.New("no candidate was valid")

// file writes the schedule, its program, or the trace of it.
func (e Exporter) file(ctx context.Context, k *kernels.Opened, run *results.Run, format string, w io.Writer) error {
	if format == "trace" && k.Problem.Traits().Launches {
		return fmt.Errorf("kernel %s has no trace to export", k.Info.Name)
	}
	return e.ready(ctx, k, run, func(schedule results.Schedule, dir string) error {
		if format == "trace" {
			return exportTrace(ctx, k, schedule, w)
		}
		return copyFile(schedule, dir, format, w)
	})
}

// ExportTo writes the schedule of a run to a file, and beside that the files that it names, so that it can be verified there. See
// results.CopySchedule, which returns the names too; and Export, which makes again what is missing.
func (e Exporter) ExportTo(ctx context.Context, dir, path string) (wrote []string, err error) {
	run, err := results.Read(dir)
	if err != nil {
		return nil, err
	}
	if _, unknown := e.Table.Lookup(run.Settings.Kernel); unknown != nil {
		if err := e.unpicked(run, unknown); err != nil {
			return nil, err
		}
		if _, err := saved(run); err != nil {
			return nil, err
		}
		return results.CopySchedule(dir, path)
	}
	k, err := OpenRun(e.Table, &run.Settings)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	err = e.ready(ctx, k, run, func(_ results.Schedule, from string) (err error) {
		wrote, err = results.CopySchedule(from, path)
		return err
	})
	return wrote, err
}

// copyFile writes the file of a schedule in a directory or, for the format program, the program beside it.
func copyFile(schedule results.Schedule, dir, format string, w io.Writer) error {
	name := results.ScheduleName
	if format == "program" {
		if len(schedule.Artifacts) == 0 {
			return fmt.Errorf("kernel %s has no program to export", schedule.Kernel)
		}
		name = schedule.Artifacts[0].Name
	}
	file, err := files.In(dir).Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = io.Copy(w, file)
	return err
}

// Files returns the schedule of a run, and the content of the files that belong to it, by name. It makes them again as Export does.
func (e Exporter) Files(ctx context.Context, dir string) (*results.Schedule, map[string][]byte, error) {
	run, err := results.Read(dir)
	if err != nil {
		return nil, nil, err
	}
	k, err := OpenRun(e.Table, &run.Settings)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", dir, err)
	}
	var found *results.Schedule
	texts := map[string][]byte{}
	err = e.ready(ctx, k, run, func(schedule results.Schedule, dir string) error {
		found = &schedule
		for _, a := range schedule.Artifacts {
			text, err := files.In(dir).Read(a.Name, files.Data)
			if err != nil {
				return err
			}
			texts[a.Name] = text
		}
		return nil
	})
	return found, texts, err
}

// ready calls use with the schedule of a run and the directory that has its files. Where those of the run are missing or out of
// date, it makes them again.
func (e Exporter) ready(ctx context.Context, k *kernels.Opened, run *results.Run, use func(schedule results.Schedule, dir string) error) error {
	history := run.LastEnd().Trim(run)
	ranking, err := results.Ranking(history, nil, Kept)
	if err != nil {
		return err
	}
	if len(ranking) == 0 {
		return ErrNoValid
	}
	serial, err := BestSerial(k, history)
	if err != nil {
		return err
	}
	launches := k.Problem.Traits().Launches
	if e.Pick != "" {
		one, err := e.picked(run, history)
		if err != nil {
			return err
		}
		if launches && !e.Measure {
			return &StaleError{run.Dir, errors.New("a point that is picked has to be built and checked")}
		}
		return e.remake(ctx, k, run, use, func(m *Maker) (Made, error) { return m.makeOne(ctx, one) })
	}
	schedule, stale := current(run, slices.Concat(ranking, serial), k.Info.Exact, k.Serial())
	if stale == nil {
		stale = verifyFields(k, schedule)
	}
	if stale == nil && !launches {
		stale = verifyCosts(ctx, k, nil, schedule)
	}
	switch {
	case stale == nil:
		return use(schedule, run.Dir)
	case launches && !e.Measure:
		return &StaleError{run.Dir, stale}
	}
	return e.remake(ctx, k, run, use, func(m *Maker) (Made, error) { return m.MakeFrom(ctx, history) })
}

// remake makes the schedule of a run in a temporary directory, and calls use with it.
func (e Exporter) remake(ctx context.Context, k *kernels.Opened, run *results.Run, use func(results.Schedule, string) error, make func(*Maker) (Made, error)) error {
	dir, err := os.MkdirTemp("", "tune-export-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	m, err := e.maker(ctx, k, run, dir)
	if err != nil {
		return err
	}
	made, err := make(m)
	if err != nil {
		return err
	}
	if made.Schedule == nil {
		return ErrNoValid
	}
	return use(*made.Schedule, dir)
}

// maker returns a Maker that makes the schedule of a run again, into a directory.
func (e Exporter) maker(ctx context.Context, k *kernels.Opened, run *results.Run, dir string) (*Maker, error) {
	baseline, err := newBaseline(ctx, k, run.Settings.CheckSeed)
	if err != nil {
		return nil, err
	}
	batches, err := batchesOf(run)
	if err != nil {
		return nil, err
	}
	spent := space.Duration(run.Elapsed)
	return &Maker{
		Kernel: k, Settings: run.Settings, ToolVersion: e.ToolVersion, Run: run.Dir, Dir: dir, Baseline: baseline,
		Told: run.Outcomes, Elapsed: func() time.Duration { return spent }, Batches: batches, Progress: e.Progress, Limit: e.Limit,
	}, nil
}

// current returns the schedule in a run directory if it is that of the incumbent, with its files as they were exported; otherwise
// the error says what is wrong. Where costs are measured, the final measurement may have preferred another finalist. The baseline
// may be exported though it is none of the best points; where costs are exact, only while no point of the run is better. isSerial is
// what kernels.Opened.Serial returns.
func current(run *results.Run, ranking []space.Entry, exact bool, isSerial func(space.Entry) bool) (results.Schedule, error) {
	dir := run.Dir
	path := filepath.Join(dir, results.ScheduleName)
	schedule, err := results.ReadResult(dir, run.Settings, &ranking[0])
	if errors.Is(err, fs.ErrNotExist) {
		return schedule, fmt.Errorf("%s is missing", path)
	}
	if err != nil {
		return schedule, err
	}
	choice, mayBeBaseline := ranking[:1], true
	isBaseline := func(e space.Entry) bool { return e.Key == schedule.Baseline.Key }
	if exact {
		mayBeBaseline = !results.Cheaper(ranking[0].Outcome.Cost, schedule.Baseline.Cost)
	} else {
		// The baseline is not among the finalists.
		others := slices.DeleteFunc(slices.Clone(ranking), isBaseline)
		choice = slices.Concat(others[:min(len(others), mostFinalists)], serialOf(isSerial, others, 1))
	}
	// The best points may lack the baseline; where they have it, they know its trial.
	otherTrial := schedule.Trial != results.NoTrial && slices.ContainsFunc(ranking, func(e space.Entry) bool {
		return isBaseline(e) && e.Number != schedule.Trial
	})
	if !slices.ContainsFunc(choice, func(e space.Entry) bool {
		return e.Number == schedule.Trial && e.Key == schedule.Key && (!exact || e.Outcome.Cost == schedule.Cost)
	}) && !(mayBeBaseline && schedule.Key == schedule.Baseline.Key && !otherTrial) {
		of := fmt.Sprintf("trial %d", schedule.Trial)
		if schedule.Trial == results.NoTrial {
			of = kernels.BaselineName(schedule.Baseline.Preset)
		}
		return schedule, fmt.Errorf("%s is of %s, which is not one of the best of the run as it stands", path, of)
	}
	for _, a := range schedule.Artifacts {
		if err := a.Verify(dir); err != nil {
			return schedule, err
		}
	}
	return schedule, nil
}

// exportTrace builds the point of a schedule and writes the trace of it.
func exportTrace(ctx context.Context, k *kernels.Opened, schedule results.Schedule, w io.Writer) error {
	point, err := k.Problem.Space().Parse(schedule.Key)
	if err != nil {
		return err
	}
	c, err := k.Problem.Build(ctx, point)
	if err != nil {
		return err
	}
	artifacts, err := c.Artifacts()
	if err != nil {
		return err
	}
	for _, a := range artifacts {
		if a.Name == "trace.json" {
			return a.Write(w)
		}
	}
	return fmt.Errorf("kernel %s has no trace to export", k.Info.Name)
}

func writeCSV(names []string, run *results.Run, wrote func(), w io.Writer) error {
	values := make([]string, len(names))
	return results.WriteCSV(w, run, run.LastEnd(), names, func(key string) ([]string, error) {
		wrote()
		if takeValues(values, key, names) {
			return values, nil
		}
		// A key lists the values as the file shows them, mostly in the order of the parameters.
		clear(values)
		at, missing := 0, false
		err := space.SplitKey(key, func(name, text string) {
			for at < len(names) && names[at] != name {
				at++
			}
			if at == len(names) {
				at = max(slices.Index(names, name), 0)
			}
			if missing = missing || names[at] != name; !missing {
				values[at] = text
			}
		})
		if err == nil && missing {
			err = fmt.Errorf("key %q is none of the space", key)
		}
		return values, err
	})
}

// takeValues takes the values out of a key whose parameters are in order, without quotes and with a blank between two of them. It reports
// whether the key is one; any other has to be read with more care.
func takeValues(values []string, key string, names []string) bool {
	for i, name := range names {
		rest, ok := strings.CutPrefix(key, name)
		if !ok || rest == "" || rest[0] != '=' {
			values[i] = ""
			continue
		}
		end := 1
		for end < len(rest) && rest[end] != ' ' {
			if rest[end] == '"' {
				return false
			}
			end++
		}
		if end == len(rest)-1 {
			return false
		}
		values[i], key = rest[1:end], rest[min(end+1, len(rest)):]
	}
	return key == ""
}
