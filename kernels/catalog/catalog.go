// Package catalog finds the kernels of runs and schedules: tune's own kernels, users' kernels, of which a run directory keeps a
// copy, and measured spaces, whose file it keeps.
package catalog

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tune/internal/files"
	"tune/kernels"
	"tune/kernels/all"
	"tune/kernels/asktell"
	"tune/kernels/native"
	"tune/kernels/recorded"
	"tune/kernels/user"
	"tune/results"
)

// Catalog says where to look. The zero value knows tune's own kernels, and lets every user's kernel run.
type Catalog struct {
	// Host is the machine that kernels in C are compiled and run on.
	Host *native.Host
	// Table holds the kernels that need no file; nil means tune's own.
	Table kernels.Table
	// MayRun is called before a user's kernel from a run directory is returned, as that may have been made elsewhere. An error
	// refuses the kernel. nil refuses none: see results.MadeHere.
	MayRun func(k *user.Kernel, dir string) error
	// RunsDir is the default folder of run directories, where the run of a schedule is searched for; "" is "runs".
	RunsDir string
}

// Found is a table with the kernel that was found. Close ends what that kernel has started.
type Found struct {
	kernels.Table
	own   *user.Kernel
	asked *asktell.Kernel
}

// Asked returns the kernel that was found, where a client scores its points; nil for any other.
func (o *Found) Asked() *asktell.Kernel { return o.asked }

// Own returns the user's kernel that was found; nil where none was.
func (o *Found) Own() *user.Kernel { return o.own }

// Close closes the user's kernel, if one was found.
func (o *Found) Close() error {
	if o.own == nil {
		return nil
	}
	return o.own.Close()
}

// ProgramError says that the kernel of a run belongs to a program in Go, which alone can call it.
type ProgramError struct {
	Dir, Kernel string
	// Function says that the run is of a Go function, and Program that it notes a kernel of a program's own. Otherwise the kernel is one that
	// tune does not have, and that the run keeps no copy of.
	Function, Program bool
}

func (e *ProgramError) Error() string {
	if e.Function {
		return fmt.Sprintf("%s is a run of the Go function %s, which only its program can call", e.Dir, e.Kernel)
	}
	if e.Program {
		return fmt.Sprintf("%s is a run of the kernel %s of a Go program, which only that program can call", e.Dir, e.Kernel)
	}
	return fmt.Sprintf("%s is a run of the kernel %s, which tune does not have and the run keeps no copy of, as of one of a Go program: only that program can call it",
		e.Dir, e.Kernel)
}

// MissingError says that a run has lost its copy of the kernel of a file.
type MissingError struct {
	Dir, Kernel string
	Folder      string // that is missing
}

func (e *MissingError) Error() string {
	return fmt.Sprintf("%s is a run of the kernel %s of a file, and the folder %s with its copy of the file is missing: put the folder back, or start a new run of the file",
		e.Dir, e.Kernel, e.Folder)
}

// CheckRun returns a *ProgramError or a *MissingError where the kernels lack that of the run in a directory.
func (o *Found) CheckRun(dir string) error {
	run, err := results.Look(dir)
	if err != nil {
		return err
	}
	if _, err := o.Lookup(run.Settings.Kernel); err != nil {
		return lacks(dir, run)
	}
	return nil
}

// lacks says why there is no kernel for a run: it belongs to a program, or its copy is missing.
func lacks(dir string, run *results.Run) error {
	s := run.Settings
	folder := user.CopyDir(dir)
	if _, err := os.Lstat(folder); errors.Is(err, fs.ErrNotExist) && !s.Function && !s.Program && user.IsVersion(s.KernelVersion) {
		return &MissingError{dir, s.Kernel, folder}
	}
	return &ProgramError{Dir: dir, Kernel: s.Kernel, Function: s.Function, Program: s.Program}
}

// GivenError says that a file given by the caller is of no use here.
type GivenError struct {
	What string // "config" or "data"
	Err  error
}

func (e *GivenError) Error() string { return e.What + ": " + e.Err.Error() }
func (e *GivenError) Unwrap() error { return e.Err }

func given(what, format string, args ...any) error {
	return &GivenError{what, fmt.Errorf(format, args...)}
}

func (c Catalog) table() kernels.Table {
	if c.Table == nil {
		return all.Table(c.Host)
	}
	return slices.Clone(c.Table)
}

// without returns the kernels of the table but one, which a program has another kernel by the name of.
func (c Catalog) without(name string) kernels.Table {
	return slices.DeleteFunc(c.table(), func(k kernels.Kernel) bool { return k.Info().Name == name })
}

func (c Catalog) with(k kernels.Kernel) *Found {
	o := &Found{Table: append(c.table(), k)}
	o.own, _ = k.(*user.Kernel)
	o.asked, _ = k.(*asktell.Kernel)
	return o
}

// Lookup returns a kernel of the table by its name. The error of an unknown name is a *kernels.UnknownError.
func (c Catalog) Lookup(name string) (kernels.Kernel, error) {
	k, err := c.table().Lookup(name)
	unknown, ok := errors.AsType[*kernels.UnknownError](err)
	switch {
	case !ok:
		return k, err
	case name == recorded.Name:
		return nil, errors.New("the kernel recorded needs a file of measurements: " +
			"tune run and tune bench search take one by --data FILE, and tune space FILE shows its space")
	}
	unknown.Names = append(unknown.Names, recorded.Name)
	return nil, unknown
}

// OfRun returns the kernels that a run directory may have been made with: those of the table, and the one that the directory has
// a copy of. run says that its candidates are to run, so that MayRun is called.
func (c Catalog) OfRun(dir string, run bool) (*Found, error) {
	data, err := recorded.Open(dir)
	if err == nil {
		return c.with(data), nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, cmp.Or(results.CheckBegun(dir), err)
	}
	asked, err := asktell.Open(dir)
	if err == nil {
		return c.with(asked), nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, cmp.Or(results.CheckBegun(dir), err)
	}
	k, err := c.open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		run, err := results.Look(dir)
		if err == nil && run.Settings.Program {
			return &Found{Table: c.without(run.Settings.Kernel)}, nil
		}
		return &Found{Table: c.table()}, nil // what reads the run says what is wrong with it
	}
	if err != nil {
		return nil, cmp.Or(results.CheckBegun(dir), err) // the copy may be incomplete
	}
	if run {
		if err := c.mayRun(k, dir); err != nil {
			return nil, err
		}
	}
	return c.with(k), nil
}

// open reads the user's kernel that a run directory holds a copy of.
func (c Catalog) open(dir string) (*user.Kernel, error) {
	k, err := user.Open(dir)
	if err != nil {
		return nil, err
	}
	return k.On(c.Host), nil
}

// mayRun asks whether a kernel may run, and closes it if not.
func (c Catalog) mayRun(k *user.Kernel, dir string) error {
	if c.MayRun == nil {
		return nil
	}
	if err := c.MayRun(k, dir); err != nil {
		k.Close()
		return err
	}
	return nil
}

// OfSchedule returns the kernels that the schedule in a file may be of: those of the table, and the user's kernel that it was
// made with. That is the one in the file config if it is given, and otherwise the copy in the run's directory, which is searched
// for beside the schedule and in RunsDir. data is the file of the schedule's measurements; "" searches for it.
func (c Catalog) OfSchedule(path, config, data string) (*Found, error) {
	s, err := results.ReadSchedule(path)
	if err != nil {
		return nil, err
	}
	known := !s.Program && slices.Contains(c.table().Names(), s.Kernel)
	dir := filepath.Dir(path)
	switch {
	case config != "" && s.Kernel == recorded.Name:
		return nil, given("config", "%s is a built-in kernel without a file: leave it out", s.Kernel)
	case data != "" && s.Kernel != recorded.Name:
		return nil, given("data", "kernel %s does not take measurements: leave it out", s.Kernel)
	case config != "" && known:
		return nil, given("config", "%s is a built-in kernel without a file: leave it out", s.Kernel)
	case config != "":
		return c.ofConfig(path, s, config)
	case known:
		return &Found{Table: c.table()}, nil
	case s.Kernel == recorded.Name:
		return c.ofData(s, dir, data)
	}
	return c.ofCopy(path, s, dir)
}

// ofConfig returns the kernel of a file for a schedule.
func (c Catalog) ofConfig(path string, s results.Schedule, config string) (*Found, error) {
	k, err := user.Load(config)
	if err != nil {
		return nil, &GivenError{"config", err}
	}
	k.On(c.Host)
	if name := k.Info().Name; name != s.Kernel {
		k.Close()
		return nil, given("config", "%s is the kernel %s, and %s is of %s", config, name, path, s.Kernel)
	}
	return c.with(k), nil
}

// ofCopy returns the kernel of the run that a schedule is of.
func (c Catalog) ofCopy(path string, s results.Schedule, dir string) (*Found, error) {
	var looked []string
	for _, run := range c.runsOf(s, dir) {
		if slices.Contains(looked, user.CopyDir(run)) {
			continue
		}
		looked = append(looked, user.CopyDir(run))
		if asked, err := asktell.Open(run); err == nil {
			if info := asked.Info(); run == dir || info.Name == s.Kernel && info.Version == s.KernelVersion {
				return c.with(asked), nil
			}
		}
		k, err := c.open(run)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		// Another run of the same name may have another kernel.
		if info := k.Info(); run != dir && (info.Name != s.Kernel || info.Version != s.KernelVersion) {
			k.Close()
			continue
		}
		if err := c.mayRun(k, run); err != nil {
			return nil, err
		}
		return c.with(k), nil
	}
	if run, err := results.Look(dir); err == nil && run.Settings.Kernel == s.Kernel {
		return nil, lacks(dir, run)
	}
	if s.Program {
		return nil, &ProgramError{Dir: path, Kernel: s.Kernel, Program: true}
	}
	_, err := c.Lookup(s.Kernel)
	return nil, fmt.Errorf("%s: %w; if it is your own, there is no copy of it in %s: give its YAML file by --config, or the schedule in its run directory; if it is of a Go program, let that call tune.Verify",
		path, err, strings.Join(looked, ", "))
}

// runsOf lists where the run directory of a schedule may be: the schedule's own directory, beside it, and the default folder of
// runs.
func (c Catalog) runsOf(s results.Schedule, dir string) []string {
	return []string{dir, filepath.Join(dir, s.Run), filepath.Join(filepath.Dir(dir), s.Run), filepath.Join(cmp.Or(c.RunsDir, "runs"), s.Run)}
}

// ofData returns the kernel of a schedule's measurements: the given file, or for "" the copy in the run's directory, or the file
// that they came from.
func (c Catalog) ofData(s results.Schedule, dir, file string) (*Found, error) {
	holds := func(k *recorded.Kernel) bool { return k.Info().Version == s.KernelVersion }
	if file != "" {
		k, err := recorded.Load(file)
		if err != nil {
			return nil, &GivenError{"data", err}
		}
		if !holds(k) {
			return nil, given("data", "%s differs from the measurements that the schedule was made from", file)
		}
		return c.with(k), nil
	}
	for _, run := range c.runsOf(s, dir) {
		k, err := recorded.Open(run)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, err
		case run == dir || holds(k):
			return c.with(k), nil
		}
	}
	looked := "the run's directory"
	// Somebody else may have written this path. It is followed only below the working directory.
	if s.Data != nil && filepath.IsLocal(s.Data.Path) {
		if data, err := files.In(".").Read(s.Data.Path, files.Data); err == nil {
			if k, err := recorded.New(s.Data.Path, data); err == nil && holds(k) {
				return c.with(k), nil
			}
		}
		looked += " or in " + s.Data.Path
	}
	return nil, fmt.Errorf("the measurements that the schedule was made from are not in %s: put the schedule into its run directory (%s), or name them by --data FILE",
		looked, strings.TrimSuffix(s.Run, "/"))
}
