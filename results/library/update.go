package library

import (
	"fmt"
	"slices"
)

// Extend returns the plan of a library that takes in the tasks and shapes of another plan. What the library has stays: its shapes, and
// the representatives that were searched. Weights, and the number of variants, are those of the other plan where it has the task.
func (p *Plan) Extend(with *Plan) (*Plan, error) {
	out := *p
	out.Tasks = slices.Clone(p.Tasks)
	out.BLAS, out.own = p.BLAS || with.BLAS, with.own
	if with.Name != p.Name {
		return nil, fmt.Errorf("field name: the library is %s, and the file makes %s: give --out another folder", p.Name, with.Name)
	}
	if with.Machine != p.Machine {
		return nil, fmt.Errorf("the library was measured on another processor (%s): make a new one with --out", p.Machine)
	}
	for _, t := range with.Tasks {
		i := slices.IndexFunc(out.Tasks, func(old TaskPlan) bool { return old.Function == t.Function })
		if i < 0 {
			out.Tasks = append(out.Tasks, t)
			continue
		}
		old := out.Tasks[i]
		if old.Kernel != t.Kernel || old.Version != t.Version || old.Fixed != t.Fixed || !slices.Equal(old.Fields, t.Fields) || old.Counted != t.Counted {
			return nil, fmt.Errorf("function %s: the library has it of kernel %s version %s with %q, and the file of %s version %s with %q: give it another name",
				t.Function, old.Kernel, old.Version, old.Fixed, t.Kernel, t.Version, t.Fixed)
		}
		out.Tasks[i] = old.extend(t)
	}
	return &out, nil
}

// extend takes in the shapes of a task of the same function.
func (t TaskPlan) extend(with TaskPlan) TaskPlan {
	index := func(shapes []PlannedShape, fields []int64) int {
		return slices.IndexFunc(shapes, func(s PlannedShape) bool { return slices.Equal(s.Fields, fields) })
	}
	t.Training, t.HeldOut, t.Representatives = slices.Clone(t.Training), slices.Clone(t.HeldOut), slices.Clone(t.Representatives)
	t.Weight, t.Variants, t.Tolerated = with.Weight, with.Variants, with.Tolerated
	for _, s := range with.Training {
		if i := index(t.Training, s.Fields); i >= 0 {
			t.Training[i].Weight = s.Weight
		} else {
			t.Training = append(t.Training, s)
		}
	}
	for _, r := range with.Representatives {
		if i := index(t.Training, with.Training[r].Fields); !slices.Contains(t.Representatives, i) {
			t.Representatives = append(t.Representatives, i)
		}
	}
	for _, s := range with.HeldOut {
		if i := index(t.HeldOut, s.Fields); i >= 0 {
			t.HeldOut[i].Weight = s.Weight
		} else {
			t.HeldOut = append(t.HeldOut, s)
		}
	}
	t.HeldOut = slices.DeleteFunc(t.HeldOut, func(s PlannedShape) bool { return index(t.Training, s.Fields) >= 0 })
	return t
}
