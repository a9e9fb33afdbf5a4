package schedule

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"tune/kernels"
	"tune/results"
	"tune/search"
	"tune/search/strategies"
)

// Forms of parts of the command lines in a schedule.
const (
	shellWord = `(?:[-_+=./,:@%A-Za-z0-9]+|'(?:[^']|'\\'')*')` // as plain.ShellWord writes one
	duration  = `(?:[0-9.]+(?:ns|µs|ms|s|m|h))+`
)

// verifyReproduce reports command lines that Maker.reproduce would not write for a schedule, whatever its run. Paths, and the
// budgets that the run once had, can be anything; they are words that a shell does not take for more.
func verifyReproduce(info kernels.Info, s results.Schedule) error {
	last := len(s.Reproduce) - 1
	if want := "tune verify " + results.ScheduleName; last < 0 || s.Reproduce[last] != want {
		return fmt.Errorf("field reproduce does not end with %q", want)
	}
	lines := s.Reproduce[:last]
	if len(lines) > 0 && (!info.Exact || s.Trial == results.NoTrial) {
		return fmt.Errorf("field reproduce has the line %q, and no run finds this point again for sure", lines[0])
	}
	entry, err := strategies.Recorded(s.Strategy, s.StrategyConfig, s.StrategyVersion)
	known := err == nil
	first, later := firstLine(info, s, entry, known), regexp.MustCompile(`^tune resume again(?: --budget `+duration+`)?(?: --evals [0-9]+)?$`)
	for i, line := range lines {
		form := later
		if i == 0 {
			form = first
		}
		if !form.MatchString(line) {
			return fmt.Errorf("field reproduce has the line %q, which is none that tune writes for this point", line)
		}
	}
	evals := fmt.Sprintf(" --evals %d", s.Trial+1)
	if len(lines) > 0 && known && !info.Asked && !entry.Paced && s.Clock != results.Simulated && !strings.HasSuffix(lines[last-1], evals) {
		return fmt.Errorf("field reproduce has the line %q, which does not end with%s, where trial %d is", lines[last-1], evals, s.Trial)
	}
	return nil
}

// firstLine is the form of the first command line that finds a schedule's point again. known says that entry is the strategy of
// its run.
func firstLine(info kernels.Info, s results.Schedule, entry strategies.Strategy, known bool) *regexp.Regexp {
	kernel := regexp.QuoteMeta(s.Kernel)
	if info.Files.Path != "" {
		kernel = "-c " + shellWord
	}
	if info.Files.Data != nil {
		kernel += " --data " + shellWord
	}
	shape := ""
	if s.Shape != "" {
		shape = " --shape " + regexp.QuoteMeta(s.Shape)
	}
	strategy := `[-_+=.,:A-Za-z0-9]+`
	if known {
		strategy = regexp.QuoteMeta(entry.Text())
	}
	run := fmt.Sprintf(`tune run %s(?: --from %s)*(?: --from-any)?(?: --objective %s)?(?: --pin %s)*(?: --start %s)*%s --strategy %s --seed %d(?: --budget %s --jobs [0-9]+)?(?: --evals [0-9]+)?(?: --dir again)?`,
		kernel, shellWord, shellWord, shellWord, shellWord, shape, strategy, s.Seed, duration)
	return regexp.MustCompile(`^(?:` + run + `|tune replay ` + shellWord + `)$`)
}

// reproduces compares the command lines of a schedule with those that its run gives. They also depend on the directory that the
// run had, and on the budget of its last sitting, which are recorded nowhere else and taken from the lines.
func (f *facts) reproduces(k *kernels.Opened, run results.Settings, s results.Schedule) error {
	if err := verifyReproduce(k.Info, s); err != nil {
		return err
	}
	if _, err := strategies.Recorded(run.Strategy, run.StrategyConfig, run.StrategyVersion); err != nil {
		return nil // another version of tune has made the run
	}
	got := s.Reproduce[:len(s.Reproduce)-1]
	m := Maker{Kernel: k, Settings: run, Batches: f.batches, Run: replayed(got, s.Run)}
	want := m.reproduce(s.Trial)
	m.Budget = resumedBudget(got)
	if !slices.Equal(got, want) && !slices.Equal(got, m.reproduce(s.Trial)) {
		return fmt.Errorf("field reproduce is %q, and the run gives %q", got, want)
	}
	return nil
}

// replayed returns the directory of a run of a name that command lines replay; the name where they replay none.
func replayed(lines []string, name string) string {
	if len(lines) == 0 {
		return name
	}
	word, _ := strings.CutPrefix(lines[0], "tune replay ")
	dir := strings.Trim(strings.ReplaceAll(word, `'\''`, "\x00"), "'")
	if dir = strings.ReplaceAll(dir, "\x00", "'"); filepath.Base(dir) != name {
		return name
	}
	return dir
}

// resumedBudget returns the budget with which command lines resume a run. Any other one had some limit of time.
func resumedBudget(lines []string) search.Budget {
	budget := search.Budget{Wall: 1}
	if len(lines) < 2 {
		return budget
	}
	var wall string
	if n, _ := fmt.Sscanf(lines[1], "tune resume again --budget %s --evals %d", &wall, &budget.Evaluations); n > 0 {
		budget.Wall, _ = time.ParseDuration(wall)
	}
	return budget
}
