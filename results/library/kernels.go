package library

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"tune/kernels"
	"tune/kernels/library"
	"tune/kernels/native"
	"tune/space"
)

// Kernels finds the kernels of tasks. Load and Open may be nil where there are none of users.
type Kernels struct {
	// Lookup finds one of tune's own by its name.
	Lookup func(name string) (kernels.Kernel, error)
	// Load reads the file of a user's.
	Load func(path string) (kernels.Kernel, error)
	// Open reads the copy of a user's kernel that a run directory keeps, if it may run.
	Open func(runDir string) (kernels.Kernel, error)
}

// of returns the kernel that a task of a file names.
func (k Kernels) of(f *File, t Task) (kernels.Kernel, error) {
	switch {
	case !t.Own():
		return k.Lookup(t.Kernel)
	case k.Load == nil:
		return nil, fmt.Errorf("kernel %s is a user's, and cannot be used here: take one of tune's", t.Kernel)
	}
	return k.Load(f.beside(t.Kernel))
}

// kernelOf returns the kernel of a planned task. That of a user was read with the file of the library; else the copies in the runs of the
// library are all there is.
func (m *maker) kernelOf(t *task) (kernels.Kernel, error) {
	if !t.Own {
		return m.Kernels.Lookup(t.Kernel)
	}
	if k := m.Plan.own[t.Function]; k != nil {
		return k, nil
	}
	if m.Kernels.Open == nil {
		return nil, fmt.Errorf("%s: kernel %s is a user's, and cannot be used here: take one of tune's", m.Dir, t.Kernel)
	}
	for _, r := range t.Representatives {
		if t.searched(r) {
			return m.Kernels.Open(t.runDir(r))
		}
	}
	return nil, fmt.Errorf("%s: no run of %s is left, which would have a copy of its kernel: 'tune library FILE.yaml' reads it from your file", filepath.Join(t.dir, runsDir), t.Function)
}

// linkable is a problem with a form whose code programs can call at any shape.
type linkable interface {
	Linked() (*native.Problem, native.Linkage, bool, error)
}

// openLinked opens a kernel at a shape, and returns the problem whose code programs can call.
func openLinked(k kernels.Kernel, fixed, called string) (*native.Problem, native.Linkage, error) {
	opened, err := openShape(k, fixed, called)
	if err != nil {
		return nil, native.Linkage{}, err
	}
	one, ok := opened.Problem.(linkable)
	if !ok {
		return nil, native.Linkage{}, &UnlinkableError{k.Info().Name, fixed}
	}
	p, l, ok, err := one.Linked()
	if err == nil && !ok {
		err = &UnlinkableError{k.Info().Name, fixed}
	}
	return p, l, err
}

// openShape opens a kernel at a shape.
func openShape(k kernels.Kernel, fixed, called string) (*kernels.Opened, error) {
	shape, err := kernels.ParseShape(k.Info().Shape, fixed+","+called)
	if err != nil {
		return nil, err
	}
	return kernels.Open(k, shape)
}

// weakOutputs returns the outputs of which checks prove little at every training shape of the task. It asks shape by shape, until no output
// is left: two calls of the reference, where its results depend on its inputs.
func (t *task) weakOutputs(ctx context.Context, seed uint64) (out []space.WeakOutput, err error) {
	for i, shape := range t.Training {
		opened, err := openShape(t.kernel, t.Fixed, t.Called(shape.Fields))
		if err != nil {
			return nil, err
		}
		weak := opened.Problem.Traits().Weak
		if weak == nil {
			return nil, nil
		}
		found, err := weak(ctx, kernels.ExportSeeds(seed))
		if err != nil {
			return nil, err
		}
		if i == 0 {
			out = found
		}
		out = slices.DeleteFunc(out, func(w space.WeakOutput) bool { return !slices.Contains(found, w) })
		if len(out) == 0 {
			return nil, nil
		}
	}
	return out, nil
}

// checkForeign returns an error where code that is not tune's own cannot be in a library: at the baseline, and with each value of each
// parameter that a point has beside the values of the baseline.
func checkForeign(p *native.Problem, l native.Linkage) error {
	points := []space.Point{p.Presets()[0].Point}
	for _, parameter := range p.Space().Parameters() {
		for i := range min(parameter.Len(), mostValues) {
			if point, err := p.Space().Make(map[string]any{parameter.Name: parameter.At(i).Any()}); err == nil {
				points = append(points, point)
			}
		}
	}
	for _, point := range points {
		source, err := p.Source(point)
		if kernels.AsRejection(err) != nil {
			continue
		}
		if err == nil {
			err = library.Check(l, source)
		}
		if err != nil {
			return fmt.Errorf("with %s: %w", point.Key(), err)
		}
	}
	return nil
}

// mostValues is how many values of a parameter are tried.
const mostValues = 64

// nameSymbols finds the symbols of code that is not tune's own.
func (t *task) nameSymbols(ctx context.Context, p *native.Problem, s *native.Source) (err error) {
	if s.Symbols, err = p.Symbols(ctx, *s); err != nil {
		return fmt.Errorf("%s: %w", t.Function, err)
	}
	return nil
}

// plainForm returns the linkage of the task, with the symbols of the plain form. It compiles the baseline too, to tell early what a library
// cannot have.
func (t *task) plainForm(ctx context.Context) (native.Linkage, error) {
	p, l, err := openLinked(t.kernel, t.Fixed, t.Called(t.Training[0].Fields))
	if err == nil && l.Foreign {
		if err = t.nameSymbols(ctx, p, &l.Plain); err != nil {
			err = fmt.Errorf("%w: the reference becomes the plain form of the library, which is compiled without flags of the processor: put it into a file of its own if the source needs them", err)
		}
		var first native.Source
		if err == nil {
			first, err = p.Source(p.Presets()[0].Point)
		}
		if err == nil {
			err = t.nameSymbols(ctx, p, &first)
		}
	}
	return l, err
}
