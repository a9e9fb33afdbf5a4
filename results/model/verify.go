package model

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"tune/internal/files"
	"tune/kernels"
	"tune/kernels/model"
)

// VerifyOptions say how the library of a model is verified.
type VerifyOptions struct {
	Dir     string
	Find    func(name string) (kernels.Kernel, error)
	Seeds   []uint64 // of the inputs that kernels are checked on
	Observe func(Progress)
}

// Verification is what was found right.
type Verification struct {
	Files   int `json:"files"`
	Kernels int `json:"kernels"`
	Checks  int `json:"checks"`
}

// MismatchError says that a file is not what was measured.
type MismatchError struct{ Path, Why string }

func (e *MismatchError) Error() string { return e.Path + ": " + e.Why }

// IsLibrary reports whether a directory is one that the library of a model was begun in.
func IsLibrary(dir string) bool {
	_, err := files.Read(filepath.Join(dir, tuningDir, planName), mostPlan)
	return err == nil
}

// Verify writes the files of a library again, from what was measured, and compares them with those in the directory. Then it builds every
// kernel from its point, compares the code with the source of the library, and checks it against the reference on fresh inputs. Nothing
// in the directory is executed.
func Verify(ctx context.Context, o VerifyOptions) (*Verification, error) {
	m, _, err := reopen(o.Dir, o.Find)
	if err != nil {
		return nil, err
	}
	m.Observe = o.Observe
	v := &Verification{}
	made, err := m.files(m.report())
	if err != nil {
		return nil, err
	}
	for _, name := range sorted(made) {
		is, err := files.In(o.Dir).Read(name, files.Data)
		if err != nil {
			return nil, err
		}
		if !bytes.Equal(is, made[name]) {
			return nil, &MismatchError{filepath.Join(o.Dir, name), "it is not what the measurements in " + tuningDir + " make: the command that began the library writes it again"}
		}
		v.Files++
	}
	for i, t := range m.tasks {
		m.tell(Progress{Step: "checking", Text: t.Name, Done: i, Of: len(m.tasks)})
		if err := m.verify(ctx, t, o.Seeds); err != nil {
			return nil, err
		}
		v.Kernels++
		v.Checks += len(o.Seeds)
	}
	return v, nil
}

// reopen reads a finished library of a model, for those that change nothing in it.
func reopen(dir string, find func(string) (kernels.Kernel, error)) (*maker, *Report, error) {
	plan, err := readPlan(dir)
	if err != nil {
		return nil, nil, err
	}
	report, err := ReadReport(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("%s: the library is not finished: repeat the command that began it, which goes on with it", dir)
	}
	if err != nil {
		return nil, nil, err
	}
	m := &maker{Options: Options{Plan: plan, Dir: dir, Find: find, Machine: report.Machine, Version: report.ToolVersion}}
	if err := m.load(false); err != nil {
		return nil, nil, err
	}
	for _, t := range m.tasks {
		if t.row == nil {
			return nil, nil, &MismatchError{filepath.Join(dir, tuningDir, measuredName), fmt.Sprintf("the line of %s is missing: the command that began the library measures it again", t.Name)}
		}
	}
	return m, report, nil
}

// sorted returns the names of files in order.
func sorted(made map[string][]byte) (names []string) {
	for name := range made {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// readPlan reads the plan of a library.
func readPlan(dir string) (*Plan, error) {
	path := filepath.Join(dir, tuningDir, planName)
	text, err := files.Read(path, mostPlan)
	if err != nil {
		return nil, err
	}
	p := &Plan{}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(p); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if p.Format != planFormat || p.Model == nil {
		return nil, fmt.Errorf("%s: field format is %d, want %d: another version of tune began this library: give --out a new folder", path, p.Format, planFormat)
	}
	// What tasks follow from is in the scenarios; what was written of them has to agree.
	tasks := model.Tasks(p.Scenarios)
	if !slices.EqualFunc(tasks, p.Tasks, func(a, b model.Task) bool {
		return a.Kernel == b.Kernel && a.Shape == b.Shape && a.Name == b.Name && slices.Equal(a.Calls, b.Calls)
	}) {
		return nil, fmt.Errorf("%s: the tasks are not those of the scenarios: give --out a new folder", path)
	}
	p.Tasks = tasks
	return p, nil
}

// verify builds a task's point anew, compares its code with the library's, and checks it.
func (m *maker) verify(ctx context.Context, t *task, seeds []uint64) error {
	k, err := t.open()
	if err != nil {
		return err
	}
	point, err := k.Problem.Space().Parse(t.row.Point)
	if err != nil {
		return fmt.Errorf("%s: %w", t.Name, err)
	}
	c, err := k.Build(ctx, point, seeds)
	if err != nil {
		return fmt.Errorf("%s: %w", t.Name, err)
	}
	program, build, err := filesOf(c)
	if err != nil {
		return fmt.Errorf("%s: %w", t.Name, err)
	}
	l, err := m.Plan.library(t.Task, program, build)
	if err != nil {
		return fmt.Errorf("%s: %w", t.Name, err)
	}
	name := filepath.Join("src", l.SourceName)
	is, err := files.In(m.Dir).Read(name, files.Data)
	if err != nil {
		return err
	}
	if !bytes.Equal(is, l.Source) {
		return &MismatchError{filepath.Join(m.Dir, name), "it is not what its point builds here"}
	}
	return nil
}
