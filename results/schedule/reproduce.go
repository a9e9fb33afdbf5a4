package schedule

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tune/internal/plain"
	"tune/kernels"
	"tune/results"
	"tune/search/strategies"
	"tune/space"
)

// reproduce returns the command lines that find a trial again. Strategies draw the points of a batch one after another, so that a
// run with a budget up to this trial finds it, even if that cuts its last batch short. Earlier batches must not be cut short:
// where the original run once had a smaller budget, the commands resume it at the same place.
func (m *Maker) reproduce(trial int) []string {
	if !m.Kernel.Info.Exact || trial == results.NoTrial {
		return nil // what a strategy asks for depends on times, which differ in every run; or it did not ask for the point
	}
	if m.Kernel.Info.Asked {
		return []string{"tune replay " + plain.ShellWord(m.Run)}
	}
	set := m.Settings
	run, entry, err := begins(set, m.Kernel.Info.Files)
	if err != nil {
		return nil // the earlier measurements of the run are not here
	}
	if wall := space.Duration(set.Budget.WallSeconds); set.Clock == results.Simulated && wall > 0 {
		// What is asked for may depend on the simulated time that is left, and that depends on the workers.
		line := fmt.Sprintf("%s --budget %s --jobs %d", run, wall, set.Jobs)
		if n := set.Budget.Evaluations; n > 0 {
			line += fmt.Sprintf(" --evals %d", n)
		}
		if m.Budget.Wall == 0 || m.Budget.Wall == wall && (m.Budget.Evaluations == set.Budget.Evaluations) {
			return []string{line}
		}
		again := fmt.Sprintf("tune resume again --budget %s", m.Budget.Wall)
		if n := m.Budget.Evaluations; n > 0 {
			again += fmt.Sprintf(" --evals %d", n)
		}
		return []string{line + " --dir again", again}
	}
	if entry.Paced {
		return m.reproducePaced(run, trial)
	}
	var stops []int // evaluations at which the budget of the run was spent before
	for _, b := range m.Batches {
		if b.First+b.Count <= trial && b.Count == b.Progress.Evaluations {
			stops = append(stops, b.First+b.Count)
		}
	}
	stops = append(stops, trial+1)
	if len(stops) == 1 {
		return []string{fmt.Sprintf("%s --evals %d", run, stops[0])}
	}
	lines := []string{fmt.Sprintf("%s --evals %d --dir again", run, stops[0])}
	for _, n := range stops[1:] {
		lines = append(lines, fmt.Sprintf("tune resume again --evals %d", n))
	}
	return lines
}

// begins returns the command line that begins a run with settings, without its budget, and its strategy. files are those of its kernel.
func begins(set results.Settings, files kernels.Files) (line string, entry strategies.Strategy, err error) {
	kernel := set.Kernel
	if file := files.Path; file != "" {
		kernel = "-c " + plain.ShellWord(file)
	}
	if data := files.Data; data != nil {
		kernel += " --data " + plain.ShellWord(data.Path)
	}
	for _, from := range set.From {
		kernel += " --from " + plain.ShellWord(from.Path)
	}
	if slices.ContainsFunc(set.From, func(f results.From) bool { return f.Other }) {
		kernel += " --from-any"
	}
	if set.Objectives != "" {
		kernel += " --objective " + plain.ShellWord(set.Objectives)
	}
	for _, name := range slices.Sorted(maps.Keys(set.Pinned)) {
		kernel += " --pin " + plain.ShellWord(name+"="+set.Pinned[name])
	}
	for _, key := range set.First {
		kernel += " --start " + plain.ShellWord(key)
	}
	if set.Shape != "" {
		kernel += " --shape " + set.Shape
	}
	if entry, err = strategies.Recorded(set.Strategy, set.StrategyConfig, set.StrategyVersion); err != nil {
		return "", entry, err
	}
	return fmt.Sprintf("tune run %s --strategy %s --seed %d", kernel, entry.Text(), set.Seed), entry, nil
}

// Again returns the command line that begins a run with the settings and the budget of a recorded one, whether that has a schedule or not;
// "" where no command does. info is that of its kernel, and dir the directory of the run.
func Again(set results.Settings, info kernels.Info, dir string) string {
	if set.Program || set.Function {
		return "" // only the program has the kernel
	}
	if info.Asked {
		return "tune replay " + plain.ShellWord(dir)
	}
	line, _, err := begins(set, info.Files)
	if err != nil {
		return ""
	}
	if set.For != "" {
		line += " --for " + plain.ShellWord(set.For)
	}
	if len(set.Metrics) > 0 {
		line += " --metrics " + plain.ShellWord(strings.Join(set.Metrics, ","))
	}
	if wall := space.Duration(set.Budget.WallSeconds); wall > 0 {
		line += fmt.Sprintf(" --budget %s", wall)
	}
	if n := set.Budget.Evaluations; n > 0 {
		line += fmt.Sprintf(" --evals %d", n)
	}
	if target := set.Budget.Target; target != nil {
		line += " --target " + plain.ShellWord(costText(space.Unit(set.Unit), *target))
	}
	if set.Clock == results.Simulated {
		line += fmt.Sprintf(" --jobs %d", set.Jobs) // the workers decide what is evaluated
	}
	return line
}

// costText writes a cost so that Parse of its unit reads it.
func costText(unit space.Unit, cost float64) string {
	if _, ok := unit.Rate(); ok {
		return strconv.FormatFloat(1/cost, 'g', -1, 64)
	}
	text := strconv.FormatFloat(cost, 'g', -1, 64)
	if _, err := unit.Parse(text); err != nil { // a time needs its unit
		text += string(unit)
	}
	return text
}

// reproducePaced is reproduce for a strategy that adapts to what is left of the budget. Such a run needs the limits of the
// original run, not limits that end it at the trial. Where what was left is a reading of the clock, and where a sitting was
// interrupted before any other limit, only a replay of the run itself repeats what it did.
func (m *Maker) reproducePaced(run string, trial int) []string {
	replay := []string{"tune replay " + plain.ShellWord(m.Run)}
	var limits []int
	for _, b := range m.Batches {
		if b.First > trial {
			break
		}
		if b.Progress.Evaluations == 0 {
			return replay
		}
		limit := b.Progress.Told + b.Progress.Evaluations
		if n := len(limits); n > 0 && limit == limits[n-1] {
			continue
		} else if n > 0 && b.First != limits[n-1] {
			return replay
		}
		limits = append(limits, limit)
	}
	if m.Settings.Budget.WallSeconds > 0 || m.Budget.Wall > 0 || len(limits) == 0 {
		return replay
	}
	line := fmt.Sprintf("%s --evals %d", run, limits[0])
	if len(limits) == 1 {
		return []string{line}
	}
	lines := []string{line + " --dir again"}
	for _, n := range limits[1:] {
		lines = append(lines, fmt.Sprintf("tune resume again --evals %d", n))
	}
	return lines
}
