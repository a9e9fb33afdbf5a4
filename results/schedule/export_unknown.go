package schedule

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tune/kernels"
	"tune/results"
	"tune/results/chart"
	"tune/results/exchange"
	"tune/space"
)

// exportUnknown exports a run of a kernel that the table does not have, such as one of a Go program. Its journal suffices for the
// outcomes and for a chart. Its schedule and program are copied, where they are those of the run as it stands. unknown says that the
// kernel is not there.
func (e Exporter) exportUnknown(run *results.Run, format string, w io.Writer, unknown error) error {
	switch f := exchange.Format(format); {
	case format == "csv":
		names, err := namesOf(run)
		if err != nil {
			return err
		}
		return writeCSV(names, run, e.counter(run), w)
	case slices.Contains(chart.Formats, format):
		return drawChart(run, !run.Settings.Measured, format, w)
	case slices.Contains(exchange.Formats(), f):
		s, err := triedSpace(run)
		if err != nil {
			return err
		}
		return exchangeFormat(s, nil, run, f, e.counter(run), w)
	case e.Pick != "":
		return e.unpicked(run, unknown)
	case format == "json" || format == "program":
		schedule, err := saved(run)
		if err != nil {
			return err
		}
		return copyFile(schedule, run.Dir, format, w)
	}
	return fmt.Errorf("%s: %w: without it there is no %s; every other format can be written", run.Dir, unknown, format)
}

// unpicked says that a point of the front cannot be built, where one is asked for.
func (e Exporter) unpicked(run *results.Run, unknown error) error {
	if e.Pick == "" {
		return nil
	}
	return fmt.Errorf("%s: %w: without it no point of the front can be built", run.Dir, unknown)
}

// saved returns the schedule in the directory of a run whose kernel is not there, so that it cannot be made again.
func saved(run *results.Run) (results.Schedule, error) {
	history := run.LastEnd().Trim(run)
	ranking, err := results.Ranking(history, nil, Kept)
	if err != nil {
		return results.Schedule{}, err
	}
	if len(ranking) == 0 {
		return results.Schedule{}, ErrNoValid
	}
	serial, err := bestSerial(saysSerial, history)
	if err != nil {
		return results.Schedule{}, err
	}
	exact := !run.Settings.Measured
	schedule, err := current(run, slices.Concat(ranking, serial), exact, saysSerial)
	if err == nil {
		err = agrees(run, schedule, exact)
	}
	if err != nil {
		err = fmt.Errorf("%w: %s", err, goOn)
	}
	return schedule, err
}

// goOn says how the schedule of a run whose kernel is not there is made again.
const goOn = "the program that made the run writes it when it goes on with the run"

// agrees compares a schedule with its run, as far as that is possible without the kernel.
func agrees(run *results.Run, s results.Schedule, exact bool) error {
	f, err := gather(run, s)
	if err != nil {
		return err
	}
	set, info := run.Settings, kernels.Info{Exact: exact}
	err = cmp.Or(verifySettings(set, s), verifyName(run, s), f.trialOf(info, s), f.named(info, s), f.progress(s))
	if err == nil && (s.Unit != set.Unit || s.KernelVersion != set.KernelVersion) {
		err = fmt.Errorf("fields unit and kernel_version are %q and %q, and %s of the run says %q and %q", s.Unit, s.KernelVersion, results.SettingsName, set.Unit, set.KernelVersion)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", filepath.Join(run.Dir, results.ScheduleName), err)
	}
	return err
}

// saysSerial reports whether an outcome says that its point has one thread.
func saysSerial(e space.Entry) bool {
	n, ok := e.Outcome.Metric(space.MetricThreads)
	return ok && n == 1
}

// namesOf returns the parameters of the points in a run, in their order.
func namesOf(run *results.Run) (names []string, err error) {
	for r, err := range run.Rounds() {
		if err != nil {
			return nil, err
		}
		for _, e := range r.Entries {
			at := 0 // behind the parameter before
			err := space.SplitKey(e.Key, func(name, _ string) {
				i := slices.Index(names, name)
				if i < 0 {
					i = at
					names = slices.Insert(names, i, strings.Clone(name))
				}
				at = i + 1
			})
			if err != nil {
				return nil, err
			}
		}
	}
	return names, nil
}

// triedSpace returns a space with the parameters of a run whose kernel is not there, and the values that the run has tried: numbers
// in ascending order, and others in the order of the journal. The schedule says which values are texts: a key does not tell the text
// 12 from the number. A run with points that lack a parameter is refused, because only the kernel knows which default it has there.
func triedSpace(run *results.Run) (*space.Space, error) {
	names, err := namesOf(run)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, ErrNoValid
	}
	path := filepath.Join(run.Dir, results.ScheduleName)
	best, err := results.ReadSchedule(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%s is missing, which says of what kind the values are: %s", path, goOn)
	}
	if err != nil {
		return nil, err
	}
	var point map[string]json.RawMessage
	if err := json.Unmarshal(best.Point, &point); err != nil {
		return nil, fmt.Errorf("%s: field point: %w", path, err)
	}
	params, tried := make([]space.Parameter, len(names)), make([]map[string]struct{}, len(names))
	for i, name := range names {
		params[i], tried[i] = space.Values(name), map[string]struct{}{}
	}
	for r, err := range run.Rounds() {
		if err != nil {
			return nil, err
		}
		for _, e := range r.Entries {
			at := 0
			err := space.SplitKey(e.Key, func(name, text string) {
				if at == len(names) || name != names[at] {
					return
				}
				if _, known := tried[at][text]; !known {
					text = strings.Clone(text)
					tried[at][text] = struct{}{}
					params[at].Values = append(params[at].Values, valueOf(text, strings.HasPrefix(string(point[name]), `"`)))
				}
				at++
			})
			if err == nil && at < len(names) {
				err = fmt.Errorf("%s: the point %q has no value of %s, and only the program that made the run knows its default: let that program call tune.Export", run.Dir, e.Key, names[at])
			}
			if err != nil {
				return nil, err
			}
		}
	}
	for _, p := range params {
		slices.SortStableFunc(p.Values, func(a, b space.Value) int {
			x, isNumber := a.Number()
			y, both := b.Number()
			if !isNumber || !both {
				return 0
			}
			return cmp.Compare(x, y)
		})
	}
	return space.New(run.Settings.Kernel, params)
}

// valueOf reads a value of a key.
func valueOf(text string, isText bool) space.Value {
	if !isText {
		return space.GuessValue(text)
	}
	if unquoted, err := strconv.Unquote(text); err == nil {
		text = unquoted
	}
	return space.StringValue(text)
}
