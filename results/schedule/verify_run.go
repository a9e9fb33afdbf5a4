package schedule

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"tune/kernels"
	"tune/results"
	"tune/space"
)

// roundings is how much, in seconds, two readings of a clock may differ because of rounding.
const roundings = 1e-6

// hasRun reports whether a directory is that of a run.
func hasRun(dir string) bool {
	for _, name := range []string{results.SettingsName, results.JournalName} {
		if _, err := os.Lstat(filepath.Join(dir, name)); errors.Is(err, fs.ErrNotExist) {
			return false
		}
	}
	return true
}

// verifyRun compares a schedule with the run in its directory: the settings, the trial of its point, the other points that it
// names, how far the run was, and the command lines that find the point again. The run may have gone on since the schedule was
// written. It returns the fields that differ and may, because a run can go on, and be measured, elsewhere and by another version.
func verifyRun(k *kernels.Opened, dir string, s results.Schedule) (later []string, err error) {
	run, err := results.Read(dir)
	if err != nil {
		return nil, err
	}
	if err := cmp.Or(verifySettings(run.Settings, s), verifyName(run, s)); err != nil {
		return nil, err
	}
	facts, err := gather(run, s)
	if err != nil {
		return nil, err
	}
	if s.Machine != run.Settings.Machine {
		later = append(later, "machine")
	}
	if s.By != run.Settings.For {
		later = append(later, "by")
	}
	if s.ToolVersion != run.Settings.ToolVersion {
		later = append(later, "tool_version")
	}
	return later, cmp.Or(facts.trialOf(k.Info, s), facts.named(k.Info, s), facts.progress(s), facts.reproduces(k, run.Settings, s))
}

// verifyFinal compares a schedule with the pairs that it sums up. kept is false where a run of an earlier version has kept none.
func verifyFinal(dir string, s results.Schedule) (kept bool, err error) {
	final, err := results.ReadFinal(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return true, err
	}
	return len(final.Confirmed) > 0, final.Agree(s)
}

// verifySettings compares what a schedule repeats of the settings of its run.
func verifySettings(run results.Settings, s results.Schedule) error {
	for _, f := range []struct {
		name      string
		got, want any
	}{
		{"kernel", s.Kernel, run.Kernel},
		{"shape", s.Shape, run.Shape},
		{"space_fingerprint", s.SpaceFingerprint, run.SpaceFingerprint},
		{"pinned", kernels.PinnedText(s.Pinned), kernels.PinnedText(run.Pinned)},
		{"strategy", s.Strategy, run.Strategy},
		// Schedules of earlier versions lack these two.
		{"strategy_config", cmp.Or(s.StrategyConfig, run.StrategyConfig), run.StrategyConfig},
		{"strategy_version", cmp.Or(s.StrategyVersion, run.StrategyVersion), run.StrategyVersion},
		{"seed", s.Seed, run.Seed},
		{"clock", s.Clock, run.Clock},
		{"data", fileOf(s.Data), fileOf(run.Data)},
	} {
		if f.got != f.want {
			return fmt.Errorf("field %s is %#v, and %s of the run says %#v", f.name, f.got, results.SettingsName, f.want)
		}
	}
	if s.Created.Before(run.Created) {
		return fmt.Errorf("field created is %v, and %s says that the run began at %v", s.Created, results.SettingsName, run.Created)
	}
	return nil
}

// fileOf returns a file that may be nil.
func fileOf(f *results.File) results.File {
	if f == nil {
		return results.File{}
	}
	return *f
}

// verifyName compares the name of the run in a schedule with the one that its directory was made with, and with the one that it
// has now.
func verifyName(run *results.Run, s results.Schedule) error {
	dir, err := filepath.Abs(run.Dir)
	if err != nil {
		return err
	}
	if now := filepath.Base(dir); s.Run != "" && s.Run != "." && s.Run != now && s.Run != run.RunID {
		return fmt.Errorf("field run is %q, and the run was made as %q and is in %q", s.Run, run.RunID, now)
	}
	return nil
}

// facts are what a run says of a schedule.
type facts struct {
	trial    *space.Entry       // the trial of the schedule's number; nil where the run has no outcome of it
	costs    map[string]float64 // of the other points that the schedule names, where they are right
	outcomes int                // of the run
	counted  int                // those of them that End.Trim leaves
	by       int                // those that were known when the schedule was written, at most
	sittings int                // that ended by themselves
	ended    bool               // whether the last one did
	batches  []space.Batch      // those needed to reproduce the run
}

// gather reads the journal of a run.
func gather(run *results.Run, s results.Schedule) (*facts, error) {
	f := &facts{costs: map[string]float64{}, sittings: len(run.Ends), ended: run.Ended}
	named := map[string]bool{}
	for _, key := range namedBy(s) {
		named[key] = true
	}
	told := run.LastEnd().Told
	wanted := func(e *space.Entry) bool { return e.Number == s.Trial || len(named) > 0 && e.Outcome.Counts() }
	for r, err := range run.Only(wanted) {
		if err != nil {
			return nil, err
		}
		f.batches = keepTelling(f.batches, r.Batch)
		for _, e := range r.Entries {
			f.outcomes++
			if told == 0 || e.Number < told {
				f.counted++
			}
			if e.Elapsed <= s.ElapsedSeconds+roundings {
				f.by++
			}
			if e.Number == s.Trial {
				f.trial = &e
			}
			if named[e.Key] && e.Outcome.Counts() {
				f.costs[e.Key] = e.Outcome.Cost
			}
		}
	}
	return f, nil
}

// namedBy returns the keys of the points that a schedule names beside its own and the baseline's.
func namedBy(s results.Schedule) []string {
	var keys []string
	if s.Closest != nil {
		keys = append(keys, s.Closest.Key)
	}
	for _, key := range slices.Concat(s.IndistinctFrom, s.TooFewPairs) {
		if key != s.Baseline.Key {
			keys = append(keys, key)
		}
	}
	return keys
}

// trialOf compares the trial of a schedule's point with the point and its cost.
func (f *facts) trialOf(info kernels.Info, s results.Schedule) error {
	e := f.trial
	switch {
	case s.Trial == results.NoTrial:
		// The cost that the search measured of the baseline is recorded nowhere else.
		if seen := s.Search; seen != nil && seen.Cost != seen.Baseline {
			return fmt.Errorf("field seen_by_search.cost is %v, and field seen_by_search.baseline is %v: the point is the baseline, and the search did not ask for it", seen.Cost, seen.Baseline)
		}
		return nil
	case e == nil:
		return fmt.Errorf("field trial is %d, and %s has no outcome of that number", s.Trial, results.JournalName)
	case e.Key != s.Key:
		return fmt.Errorf("field trial is %d, and %s says that this is the point %q, not %q", s.Trial, results.JournalName, e.Key, s.Key)
	case !e.Outcome.Counts():
		return fmt.Errorf("field trial is %d, and %s says that its outcome is %q at fidelity %d", s.Trial, results.JournalName, e.Outcome.Status, e.Outcome.Fidelity)
	case (info.Exact || s.Search == nil && s.Verdict != "") && e.Outcome.Cost != s.Cost:
		return fmt.Errorf("field cost is %v, and %s says that trial %d costs %v", s.Cost, results.JournalName, s.Trial, e.Outcome.Cost)
	case s.Search != nil && e.Outcome.Cost != s.Search.Cost:
		return fmt.Errorf("field seen_by_search.cost is %v, and %s says that trial %d cost %v", s.Search.Cost, results.JournalName, s.Trial, e.Outcome.Cost)
	}
	return nil
}

// named compares the other points that a schedule names with the right ones of the run.
func (f *facts) named(info kernels.Info, s results.Schedule) error {
	for i, key := range namedBy(s) {
		field := "indistinct_from"
		if i == 0 && s.Closest != nil {
			field = "closest.key"
		} else if slices.Contains(s.TooFewPairs, key) {
			field = "too_few_pairs"
		}
		if _, ok := f.costs[key]; !ok {
			return fmt.Errorf("field %s names %q, and %s has no right outcome of that point", field, key, results.JournalName)
		}
	}
	if c := s.Closest; c != nil && info.Exact && f.costs[c.Key] != c.Cost {
		return fmt.Errorf("field closest.cost is %v, and %s says that the point costs %v", c.Cost, results.JournalName, f.costs[c.Key])
	}
	return nil
}

// progress compares how far the run was with its outcomes. Only of a run that ended once is it known how many it had when the
// schedule was written: another one may have gone on since, and ended again without writing a schedule.
func (f *facts) progress(s results.Schedule) error {
	n, simulated := s.Evaluations, s.Clock == results.Simulated
	switch {
	case n > f.outcomes:
		return fmt.Errorf("field evaluations is %d, and %s has %d outcomes", n, results.JournalName, f.outcomes)
	case f.ended && f.sittings == 1 && n != f.counted && n != f.outcomes:
		return fmt.Errorf("field evaluations is %d, and %s says that the run ended once, after %d", n, results.JournalName, f.counted)
	case n > f.by && !simulated: // simulated times may repeat
		return fmt.Errorf("field elapsed_seconds is %v, and %s says that the run had at most %d of the %d outcomes of field evaluations by then", s.ElapsedSeconds, results.JournalName, f.by, n)
	case f.trial != nil && !simulated && f.trial.Elapsed > s.ElapsedSeconds+roundings:
		return fmt.Errorf("field elapsed_seconds is %v, and %s says that trial %d ended after %v s", s.ElapsedSeconds, results.JournalName, s.Trial, f.trial.Elapsed)
	}
	return nil
}
