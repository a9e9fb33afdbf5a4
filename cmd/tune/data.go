package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"tune/internal/files"
	"tune/kernels"
	"tune/kernels/recorded"
	"tune/results"
)

// adoptData puts the kernel of a data file into the table, where the settings name one. A data file alone stands for
// the kernel too; named says that the command line names one.
func (a *app) adoptData(set *settings, named bool) error {
	switch {
	case set.data == "" && set.kernel == recorded.Name:
		return usage(errors.New("the kernel recorded needs a file of measurements: give one by --data FILE"))
	case set.data == "":
		return nil
	case !named && set.from["kernel"] == "":
		set.kernel = recorded.Name
	case set.kernel != recorded.Name:
		return set.blame("data", fmt.Errorf("kernel %s does not take measurements: they are for %s", set.kernel, recorded.Name))
	}
	k, err := recorded.Load(set.data)
	if err != nil {
		return err
	}
	a.table = append(slices.Clone(a.table), k)
	return nil
}

// runsOf lists where the run directory of a schedule may be: the schedule's own directory, beside it, and where runs are
// by default.
func runsOf(s results.Schedule, dir string) []string {
	return []string{dir, filepath.Join(dir, s.Run), filepath.Join(filepath.Dir(dir), s.Run), filepath.Join(settingDefault("out"), s.Run)}
}

// lookup returns a kernel for a command that takes no file of measurements.
func (a *app) lookup(name string) (kernels.Kernel, error) {
	if name == recorded.Name {
		return nil, errors.New("the kernel recorded needs a file of measurements: " +
			"tune run and tune bench search take one by --data FILE, and tune space FILE shows its space")
	}
	return a.table.Lookup(name)
}

// tableOfData returns the kernels with the one of a schedule's measurements: the given file, or where that is "" the copy in
// the run's directory, or the file that they came from.
func (a *app) tableOfData(s results.Schedule, dir, given string) (table kernels.Table, closeTable func(), err error) {
	holds := func(k *recorded.Kernel) bool { return k.Info().Version == s.KernelVersion }
	found := func(k *recorded.Kernel) (kernels.Table, func(), error) {
		return append(slices.Clone(a.table), k), func() {}, nil
	}
	if given != "" {
		k, err := recorded.Load(given)
		if err != nil {
			return nil, nil, usage(fmt.Errorf("--data: %w", err))
		}
		if !holds(k) {
			return nil, nil, usage(fmt.Errorf("--data: %s differs from the measurements that the schedule was made from", given))
		}
		return found(k)
	}
	for _, run := range runsOf(s, dir) {
		k, err := recorded.Open(run)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, nil, err
		case run == dir || holds(k):
			return found(k)
		}
	}
	looked := "the run's directory"
	// The path is what somebody named once. It is followed below where tune runs, and nowhere else.
	if s.Data != nil && filepath.IsLocal(s.Data.Path) {
		if data, err := files.In(".").Read(s.Data.Path, files.Data); err == nil {
			if k, err := recorded.New(s.Data.Path, data); err == nil && holds(k) {
				return found(k)
			}
		}
		looked += " or in " + s.Data.Path
	}
	return nil, nil, fmt.Errorf("the measurements that the schedule was made from are not in %s: put the schedule into its run directory (%s), or name them by --data FILE",
		looked, strings.TrimSuffix(s.Run, "/"))
}
