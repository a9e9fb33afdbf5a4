package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tune/internal/files"
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
		if data, rerr := files.Read(name+ending, files.YAML); rerr == nil && user.IsKernel(data) {
			return nil, fmt.Errorf("%w; for the kernel in %[2]s write %[2]s", err, name+ending)
		}
	}
	if found := kernelsIn(name); len(found) > 0 {
		return nil, fmt.Errorf("%w; for the kernel in the folder %s write %s", err, name, strings.Join(found, " or "))
	}
	if info, serr := os.Stat(name); serr == nil && info.Mode().IsRegular() {
		return nil, fmt.Errorf("%w; for the file write %s", err, configPath(name))
	}
	return nil, err
}

// present returns an error where a file that the command line names is not there. It says which file beside it has a name like that.
func present(path string) error {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return nil // what reads it says what is wrong
	}
	dir, ext := filepath.Dir(path), filepath.Ext(path)
	var beside []string
	names, _ := filepath.Glob(filepath.Join(dir, "*"+ext)) // a pattern that is wrong matches nothing
	for _, name := range names {
		beside = append(beside, strings.TrimSuffix(filepath.Base(name), ext))
	}
	like := space.Nearest(strings.TrimSuffix(filepath.Base(path), ext), beside)
	if like == "" {
		return fmt.Errorf("there is no file %s", path)
	}
	return fmt.Errorf("there is no file %s (did you mean %s?)", path, filepath.Join(dir, like+ext))
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
		more = fmt.Sprintf(" and %d more, which 'tune runs --out %s' lists", len(list)-most, dir)
	}
	return fmt.Errorf("%s is a folder of runs, and no run itself: name one of %s%s", dir, strings.Join(names, ", "), more)
}
