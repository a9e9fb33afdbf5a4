package tune

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tune/kernels"
	"tune/results"
	"tune/space"
)

// Verification is what became of a schedule that was checked again.
type Verification struct {
	Schedule results.Schedule
	Seeds    []uint64 // of the fresh inputs
	Steps    []Step
}

// Step is one thing that was verified.
type Step struct {
	Name string
	Err  error // nil where it holds
}

// OK reports whether every step holds.
func (v *Verification) OK() bool {
	for _, s := range v.Steps {
		if s.Err != nil {
			return false
		}
	}
	return true
}

// FreshSeeds returns n seeds that nobody can have foreseen.
func FreshSeeds(n int) []uint64 {
	seeds := make([]uint64, n)
	for i := range seeds {
		var b [8]byte
		rand.Read(b[:]) // it never fails
		seeds[i] = binary.LittleEndian.Uint64(b[:])
	}
	return seeds
}

// Verify rebuilds the schedule of a file from its point, checks it on the inputs of the given seeds, and does the
// same with the program that was saved beside it; seeds must not be empty. An error means that the schedule cannot be examined; what does
// not hold is a step with an error.
func Verify(ctx context.Context, table kernels.Table, path string, seeds []uint64) (*Verification, error) {
	schedule, err := results.ReadSchedule(path)
	if err != nil {
		return nil, err
	}
	k, err := table.Lookup(schedule.Kernel)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	info := k.Info()
	shape, err := kernels.ParseShape(info.Shape, schedule.Shape)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	problem, err := k.Problem(shape)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	s := &session{info: info, problem: problem, settings: results.Settings{Kernel: info.Name}}
	v := &Verification{Schedule: schedule, Seeds: seeds}
	step := func(name string, err error) bool {
		v.Steps = append(v.Steps, Step{name, err})
		return err == nil
	}

	point, err := problem.Space().UnmarshalPoint(schedule.Point)
	switch {
	case err != nil:
	case point.Key() != schedule.Key:
		err = fmt.Errorf("the point is %q, but the key says %q", point.Key(), schedule.Key)
	case schedule.SpaceFingerprint == problem.Space().Fingerprint():
		// Where points were added to the space since, their numbers have changed.
		if i, ok := problem.Space().Index(point); ok && schedule.Index != nil && *schedule.Index != i {
			err = fmt.Errorf("the point has index %d, not %d", i, *schedule.Index)
		}
	}
	var rebuilt kernels.Candidate
	if step("the point belongs to the space", err) {
		rebuilt, err = s.rebuild(ctx, point, schedule.Cost, seeds)
		if !step(fmt.Sprintf("rebuilt from its point it is right on %d fresh inputs and costs %v %s", len(seeds), schedule.Cost, schedule.Unit), err) {
			rebuilt = nil
		}
	}
	step("its baseline, ratio and metrics are so", s.verifyClaims(ctx, rebuilt, schedule))
	for _, a := range schedule.Artifacts {
		step(a.Name+" is the file that was exported", a.Verify(filepath.Dir(path)))
	}
	if loader, ok := problem.(kernels.Loader); ok {
		const name = "the saved program is right by itself and costs the same"
		if len(schedule.Artifacts) == 0 {
			step(name, errors.New("field artifacts names no program"))
		} else {
			program := filepath.Join(filepath.Dir(path), schedule.Artifacts[0].Name)
			step(name, s.verifySaved(ctx, loader, program, schedule.Cost, seeds))
			if rebuilt != nil {
				step("the saved program is the one that the point builds", sameProgram(rebuilt, program))
			}
		}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return v, nil
}

// verifyClaims compares what can be computed again of a schedule: its unit, its metrics, its baseline and the ratio
// to that. Costs that are measured are left to the comparison of their candidates. rebuilt is nil where the point
// does not hold.
func (s *session) verifyClaims(ctx context.Context, rebuilt kernels.Candidate, schedule results.Schedule) error {
	if schedule.Unit != s.info.Unit {
		return fmt.Errorf("field unit is %q, want %q", schedule.Unit, s.info.Unit)
	}
	if want := ratio(schedule.Baseline.Cost, schedule.Cost); s.info.Exact && schedule.Baseline.Preset != "" && schedule.Ratio != want {
		return fmt.Errorf("field ratio is %v, and the costs give %v", schedule.Ratio, want)
	}
	if !s.info.Exact {
		return nil
	}
	for _, p := range s.problem.Presets() {
		if p.Name != schedule.Baseline.Preset {
			continue
		}
		if key := p.Point.Key(); key != schedule.Baseline.Key {
			return fmt.Errorf("field baseline.key is %q, and the preset %s is %q", schedule.Baseline.Key, p.Name, key)
		}
		if _, err := s.rebuild(ctx, p.Point, schedule.Baseline.Cost, []uint64{schedule.Checks[0].Seed}); err != nil {
			return fmt.Errorf("field baseline.cost: %w", err)
		}
	}
	if rebuilt == nil {
		return nil
	}
	score, err := rebuilt.Score(ctx, 0)
	if err != nil {
		return err
	}
	metrics := slices.SortedFunc(slices.Values(score.Metrics), func(a, b space.Metric) int { return strings.Compare(a.Name, b.Name) })
	if !slices.Equal(metrics, schedule.Metrics) {
		return fmt.Errorf("field metrics is %v, and the program has %v", schedule.Metrics, metrics)
	}
	return nil
}

func (s *session) verifySaved(ctx context.Context, loader kernels.Loader, path string, cost float64, seeds []uint64) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	var c kernels.Candidate
	err = guard(func() (err error) {
		c, err = loader.Load(file)
		return err
	})
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return s.confirm(ctx, c, cost, seeds)
}

// sameProgram compares a saved program with the one that a candidate writes, byte by byte.
func sameProgram(c kernels.Candidate, path string) error {
	artifacts, err := c.Artifacts()
	if err != nil {
		return err
	}
	if len(artifacts) == 0 {
		return kernels.Reject(space.WrongAnswer, "the candidate has no program to compare with")
	}
	var want bytes.Buffer
	if err := artifacts[0].Write(&want); err != nil {
		return err
	}
	got, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if !bytes.Equal(got, want.Bytes()) {
		return fmt.Errorf("%s differs from the program that the point builds", path)
	}
	return nil
}
