package library

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	"tune/internal/files"
	"tune/internal/plain"
	"tune/kernels/native"
	"tune/space"
)

// VerifyOptions say how a library is verified.
type VerifyOptions struct {
	Dir string
	Kernels
	Seeds   []uint64 // of the inputs of the checks
	Observe func(Progress)
}

// Verification is what was found of a library that holds.
type Verification struct {
	Files     int `json:"files"`    // that are the same as when they are written again
	Variants  int `json:"variants"` // that were checked
	Checks    int `json:"checks"`   // in all
	Functions int `json:"functions"`
	// Weak lists by function the outputs of which checks prove little at every training shape.
	Weak map[string][]space.WeakOutput `json:"weak_checks,omitempty"`
}

// MismatchError says that a library is not what its measurements make.
type MismatchError struct{ Dir, File, Reason string }

func (e *MismatchError) Error() string {
	return fmt.Sprintf("%s: %s", filepath.Join(e.Dir, e.File), e.Reason)
}

// IsLibrary reports whether a directory holds a library that tune has begun.
func IsLibrary(dir string) bool {
	_, err := files.Read(filepath.Join(dir, tuningDir, planName), mostPlan)
	return err == nil
}

// Verify writes the files of a library again, from what was measured, and compares them with those in the directory. Then it compiles
// every variant and checks it against the reference on fresh inputs, at the shape that it was tuned at and at the training shapes of
// its task. Nothing in the directory is executed.
func Verify(ctx context.Context, o VerifyOptions) (*Verification, error) {
	m, report, all, err := reopen(ctx, o.Dir, o.Kernels)
	if err != nil {
		return nil, err
	}
	m.Observe = o.Observe
	out := &Verification{Functions: len(all), Weak: map[string][]space.WeakOutput{}}
	if out.Files, err = m.same(all, report); err != nil {
		return nil, err
	}
	for _, s := range all {
		for n, v := range s.used {
			m.tell(Progress{Step: "checking", Text: s.Function + " " + s.variants[v].Name, Done: n, Of: len(s.used)})
			checks, err := m.checkVariant(ctx, s, s.variants[v], o.Seeds)
			if err != nil {
				return nil, err
			}
			out.Variants, out.Checks = out.Variants+1, out.Checks+checks
		}
		weak, err := s.weakOutputs(ctx, m.Plan.Seed)
		if err != nil {
			return nil, err
		}
		if len(weak) > 0 {
			out.Weak[s.Function] = weak
		}
		if claimed := report.of(s.Function).Weak; len(claimed) > 0 && !slices.Equal(claimed, weak) {
			return nil, &MismatchError{o.Dir, manifestName, fmt.Sprintf("weak_checks of %s is %v, and on the inputs of its checks it is %v: the same 'tune library' command writes it again", s.Function, claimed, weak)}
		}
	}
	return out, nil
}

// of returns what the report says of a function.
func (r *Report) of(function string) ReportFunction {
	for _, f := range r.Functions {
		if f.Function == function {
			return f
		}
	}
	return ReportFunction{}
}

// reopen reads a library that was made, generates the code of its variants, and settles its tasks again.
func reopen(ctx context.Context, dir string, find Kernels) (*maker, *Report, []*settled, error) {
	path := filepath.Join(dir, tuningDir, planName)
	text, err := files.Read(path, mostPlan)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil, fmt.Errorf("%s holds no library that tune has made: 'tune library FILE.yaml --out %s' makes one", dir, plain.ShellWord(dir))
	}
	if err != nil {
		return nil, nil, nil, err
	}
	plan, err := parsePlan(text)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	report, err := ReadReport(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil, fmt.Errorf("%s: the library is not finished: repeat the command that began it, which goes on with it", dir)
	}
	if err != nil {
		return nil, nil, nil, err
	}
	m := &maker{Options: Options{Plan: plan, Dir: dir, Kernels: find, Machine: report.Machine, Version: report.ToolVersion}}
	if err := m.load(); err != nil {
		return nil, nil, nil, err
	}
	var all []*settled
	for _, t := range m.tasks {
		if t.linkage, err = t.plainForm(ctx); err != nil {
			return nil, nil, nil, err
		}
		if err := m.sources(ctx, t); err != nil {
			return nil, nil, nil, err
		}
		s, err := t.settle(plan.Seed)
		if err != nil {
			return nil, nil, nil, err
		}
		all = append(all, s)
	}
	return m, report, all, nil
}

// ReadReport reads the manifest of a library.
func ReadReport(dir string) (*Report, error) {
	path := filepath.Join(dir, manifestName)
	text, err := files.Read(path, mostPlan)
	if err != nil {
		return nil, err
	}
	r := &Report{Dir: dir}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if r.Format != reportFormat {
		return nil, fmt.Errorf("%s: format is %d, want %d: another version of tune wrote it", path, r.Format, reportFormat)
	}
	return r, nil
}

// Taken returns the held-out shapes at which a function of a library calls each of its variants, by the names of the variants, as they were
// measured last. A shape at which the plain form runs in place of the variant is not among them. There are none where the folder of the
// library has no measurements any more.
func (r *Report) Taken(function string) (map[string][][]int64, error) {
	if err := native.CheckName(function); err != nil {
		return nil, err // it names a folder
	}
	all, err := readMeasured(filepath.Join(r.Dir, tuningDir, function, measuredName), false)
	if err != nil {
		return nil, err
	}
	taken, known := map[string][][]int64{}, map[string]bool{}
	for _, m := range slices.Backward(all) {
		if shape := fmt.Sprint(m.Fields); m.Role == heldOut && !known[shape] {
			known[shape] = true
			if !slices.Contains(m.Outside, m.Choice) {
				taken[m.Choice] = append(taken[m.Choice], m.Fields)
			}
		}
	}
	for _, shapes := range taken {
		slices.SortFunc(shapes, slices.Compare[[]int64])
	}
	return taken, nil
}

// same compares the files in the directory with what the measurements make, and returns how many there are.
func (m *maker) same(all []*settled, report *Report) (int, error) {
	made, err := m.files(all)
	if err != nil {
		return 0, err
	}
	if want := slices.Sorted(maps.Keys(made)); !slices.Equal(want, slices.Sorted(maps.Keys(report.Files))) {
		return 0, &MismatchError{m.Dir, manifestName, fmt.Sprintf("it lists other files than the measurements make: the same 'tune library' command writes them again (%d, want %d)", len(report.Files), len(want))}
	}
	for _, name := range slices.Sorted(maps.Keys(made)) {
		got, err := files.Read(filepath.Join(m.Dir, filepath.FromSlash(name)), mostPlan)
		if err != nil {
			return 0, err
		}
		if !bytes.Equal(got, made[name]) {
			return 0, &MismatchError{m.Dir, name, "it is not what the measurements in " + tuningDir + " make: somebody changed it, or another version of tune wrote it; the same 'tune library' command writes it again"}
		}
	}
	return len(made), nil
}

// checkVariant checks a variant at the shape that it was tuned at, on all seeds, and at each training shape on one.
func (m *maker) checkVariant(ctx context.Context, s *settled, v variant, seeds []uint64) (checks int, err error) {
	at := [][]int64{v.Tuned}
	for _, shape := range s.Training {
		if !slices.Equal(shape.Fields, v.Tuned) {
			at = append(at, shape.Fields)
		}
	}
	for i, fields := range at {
		p, _, err := openLinked(s.kernel, s.Fixed, s.Called(fields))
		if err != nil {
			return checks, err
		}
		c, err := adopt(p, v)
		if err != nil {
			continue // the plain form runs there
		}
		for n, seed := range seeds {
			if i > 0 && n > 0 {
				break
			}
			if err := c.Check(ctx, seed); err != nil {
				return checks, fmt.Errorf("%s: variant %s of %s at %s: %w", m.Dir, v.Name, s.Function, s.Called(fields), err)
			}
			checks++
		}
	}
	return checks, nil
}
