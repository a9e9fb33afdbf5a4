package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tune/internal/files"
	"tune/internal/plain"
	"tune/kernels"
	"tune/kernels/user"
	"tune/results"
	"tune/space"
)

// lookup returns the kernel of a name on the command line. The error of an unknown name says which file it may stand for.
func (a *app) lookup(name string) (kernels.Kernel, error) {
	k, err := a.catalog(false).Lookup(name)
	if _, unknown := errors.AsType[*kernels.UnknownError](err); !unknown {
		return k, err
	}
	for _, ending := range []string{".yaml", ".yml"} {
		if describesKernel(name + ending) {
			return nil, fmt.Errorf("%w; for the kernel in %[2]s write %[2]s", err, name+ending)
		}
	}
	if found := kernelsIn(name); len(found) > 0 {
		return nil, ofFile(fmt.Errorf("%s is a folder: for the kernel in it write %s", name, strings.Join(found, " or ")))
	}
	info, serr := os.Stat(name)
	switch {
	case isRunDir(name):
		return nil, ofFile(fmt.Errorf("%s is a run, and no kernel: 'tune resume %s' continues it", name, plain.ShellWord(name)))
	case serr == nil && info.IsDir():
		return nil, ofFile(fmt.Errorf("%s is a folder without the file of a kernel: name a file, or a kernel of 'tune list'", name))
	case serr == nil && info.Mode().IsRegular():
		kind := kindOf(name)
		if other := kind.noKernel(name); other != nil {
			return nil, other
		}
		if configPath(name) == name && kind == kindKernel {
			return nil, ofFile(fmt.Errorf("%s describes a kernel, but its name does not end in .yaml: rename it, or give it by --config", name))
		}
		if configPath(name) == name {
			return nil, notYAML(name)
		}
		return nil, fmt.Errorf("%w; for the file write %s", err, configPath(name))
	}
	return nil, err
}

// notYAML says that a file is not one that describes a kernel.
func notYAML(path string) error {
	return ofFile(fmt.Errorf("%s is no YAML file, and a kernel of your own is described by one: 'tune init DIR' writes an example", path))
}

// describesKernel reports whether a file describes a kernel of the user's.
func describesKernel(path string) bool {
	data, err := files.Read(path, files.YAML)
	return err == nil && user.IsKernel(data)
}

// present returns an error where a file that the command line names is not there. It says which file beside it has a name like that.
func present(path string) error {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return nil // what reads it says what is wrong
	}
	if target, err := os.Readlink(path); err == nil {
		return fmt.Errorf("%s is a link to %s, which is not there: mend the link, or name the file itself", path, target)
	}
	dir, ext := filepath.Dir(path), filepath.Ext(path)
	endings := []string{ext}
	if isYAML(path) {
		endings = append(endings, ".yaml", ".yml")
	}
	var beside []string
	named := map[string]string{} // the names of the files, by what is before the ending
	for _, ending := range endings {
		names, _ := filepath.Glob(filepath.Join(dir, "*"+ending)) // a pattern that is wrong matches nothing
		for _, name := range names {
			stem := strings.TrimSuffix(filepath.Base(name), ending)
			if _, err := os.Stat(name); err == nil && named[stem] == "" {
				beside, named[stem] = append(beside, stem), filepath.Base(name)
			}
		}
	}
	like := space.Nearest(strings.TrimSuffix(filepath.Base(path), ext), beside)
	if like == "" {
		return fmt.Errorf("there is no file %s", path)
	}
	return fmt.Errorf("there is no file %s (did you mean %s?)", path, filepath.Join(dir, named[like]))
}

// absent returns an error where there is nothing at the path of a run.
func absent(path string) error {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return nil // what opens it says what is wrong
	}
	if strings.ContainsAny(path, "*?[") {
		return usage(fmt.Errorf("%s is a pattern that nothing matches: 'tune runs' lists the runs", path))
	}
	return usage(fmt.Errorf("%s is not a run: there is no file or folder of that name; 'tune runs' lists the runs", path))
}

// nothingValid says why a run has no result.
func nothingValid(dir string, evaluated int) error {
	err := fmt.Errorf("no candidate was valid: see 'tune export %s --format csv' for the reasons", plain.ShellWord(dir))
	if evaluated == 0 {
		err = fmt.Errorf("no candidate was evaluated before the budget ended: continue with a longer one, 'tune resume %s --budget TIME'", plain.ShellWord(dir))
	}
	return &exitError{exitNoValid, err}
}

// withoutResult is nothingValid for a run that ended so, otherwise nil.
func withoutResult(dir string) error {
	run, err := results.Read(dir)
	if err != nil || run.LastEnd().Why == "" {
		return nil // what needs its result says what is wrong
	}
	if end := run.LastEnd(); end.Why == results.BaselineFailed {
		reason := ""
		if end.Reason != "" {
			reason = " (" + plain.Line(end.Reason) + ")"
		}
		return &exitError{exitNoValid, fmt.Errorf("%s in %s%s, so that nothing was evaluated: mend the kernel, and start a new run", end.Why, dir, reason)}
	}
	ranking, err := results.Ranking(run.LastEnd().Trim(run), nil, 1)
	if err != nil || len(ranking) > 0 {
		return nil
	}
	return nothingValid(dir, run.Outcomes)
}

// mustBeRun returns an error where a folder is no run, or holds runs instead.
func mustBeRun(dir string) error {
	err := isRun(dir)
	if err != nil || results.IsRun(dir) {
		return err // what opens a damaged run says what is wrong
	}
	early := results.CheckBegun(dir)
	if e, ok := errors.AsType[*results.NotBegunError](early); ok && !e.Empty {
		return early // a kill is not the fault of the command line
	}
	if early != nil {
		return ofFile(early)
	}
	return ofFile(fmt.Errorf("%s is not a run: it has no %s: 'tune runs' lists the runs", dir, results.SettingsName))
}

// isRun returns an error where a folder that should be a run holds runs instead. It lists them.
func isRun(dir string) error {
	list, err := results.List(dir)
	if err != nil || len(list) == 0 || isRunDir(dir) {
		return nil // what opens it says what is wrong
	}
	const most = 5
	var names []string
	for _, l := range list[:min(len(list), most)] {
		names = append(names, l.Dir)
	}
	more := ""
	if len(list) > most {
		more = fmt.Sprintf(" and %d more, which 'tune runs --out %s' lists", len(list)-most, plain.ShellWord(dir))
	}
	return ofFile(fmt.Errorf("%s is a folder of runs, and no run itself: name one of %s%s", dir, strings.Join(names, ", "), more))
}
