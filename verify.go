package tune

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
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
	// Deviation is what the candidate that was rebuilt shows on them; nil where it is wrong, or its kernel measures
	// none. It is not the schedule's own, which is that of other inputs.
	Deviation *kernels.Deviation
	Steps     []Step
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
// same with the program that was saved beside it; seeds must not be empty. An error means that the schedule cannot be
// examined; what does not hold is a step with an error.
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
		what := fmt.Sprintf("rebuilt from its point it is right on %d fresh inputs", len(seeds))
		if m, ok := rebuilt.(kernels.Deviator); ok && err == nil {
			d := m.Deviation()
			v.Deviation = &d
			what += ", " + d.String()
		}
		if info.Exact {
			what += fmt.Sprintf(" and costs %v %s", schedule.Cost, schedule.Unit)
		}
		if !step(what, err) {
			rebuilt = nil
		}
	}
	step("its version, checks, baseline, ratio, verdict and metrics are so", s.verifyClaims(ctx, rebuilt, schedule))
	for i, a := range schedule.Artifacts {
		name := a.Name + " is the file that was exported"
		if _, err := os.Stat(filepath.Join(filepath.Dir(path), a.Name)); a.Derived && errors.Is(err, fs.ErrNotExist) {
			step(a.Name+" is missing, and can be made again with tune export", nil)
		} else if ok := step(name, a.Verify(filepath.Dir(path))); ok && i > 0 && rebuilt != nil {
			step(a.Name+" is the one that the point builds", sameArtifact(rebuilt, path, a.Name))
		}
	}
	if loader, ok := problem.(kernels.Loader); ok {
		name := "the saved program is right by itself"
		if info.Exact {
			name += " and costs the same"
		}
		if len(schedule.Artifacts) == 0 {
			step(name, errors.New("field artifacts names no program"))
		} else {
			program := filepath.Join(filepath.Dir(path), schedule.Artifacts[0].Name)
			step(name, s.verifySaved(ctx, loader, program, schedule.Cost, seeds))
			if rebuilt != nil {
				step("the saved program is the one that the point builds", sameArtifact(rebuilt, path, schedule.Artifacts[0].Name))
			}
		}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return v, nil
}

// verifyClaims compares what can be computed again of a schedule: its unit, the version of its kernel, the inputs that
// it was checked on, its metrics, its baseline and the ratio to that. Costs that are measured are left to the
// comparison of their candidates. rebuilt is nil where the point does not hold.
func (s *session) verifyClaims(ctx context.Context, rebuilt kernels.Candidate, schedule results.Schedule) error {
	if schedule.Unit != s.info.Unit {
		return fmt.Errorf("field unit is %q, want %q", schedule.Unit, s.info.Unit)
	}
	if schedule.KernelVersion != s.info.Version {
		return fmt.Errorf("field kernel_version is %q, and this is version %q of %s", schedule.KernelVersion, s.info.Version, s.info.Name)
	}
	var seeds []uint64
	for _, c := range schedule.Checks {
		seeds = append(seeds, c.Seed)
	}
	if want := freshSeeds(schedule.Seed); !slices.Equal(seeds, want) {
		return fmt.Errorf("field checks names the inputs %d, and a run of seed %d is checked on %d", seeds, schedule.Seed, want)
	}
	base := s.problem.Presets()[0]
	if key := base.Point.Key(); schedule.Baseline.Preset != base.Name || schedule.Baseline.Key != key {
		return fmt.Errorf("field baseline is %s (%s), and the baseline of %s is %s (%s)",
			schedule.Baseline.Preset, schedule.Baseline.Key, s.info.Name, base.Name, key)
	}
	if d, _, ok := kernels.SplitDeviation(schedule.Metrics); ok {
		if err := d.Validate(); err != nil {
			return fmt.Errorf("field metrics: %w", err)
		}
	}
	if err := s.verifyVerdict(schedule); err != nil {
		return err
	}
	if !s.info.Exact {
		return nil
	}
	if want := ratio(schedule.Baseline.Cost, schedule.Cost); schedule.Ratio != want {
		return fmt.Errorf("field ratio is %v, and the costs give %v", schedule.Ratio, want)
	}
	if _, err := s.rebuild(ctx, base.Point, schedule.Baseline.Cost, seeds[:1]); err != nil {
		return fmt.Errorf("field baseline.cost: %w", err)
	}
	if rebuilt == nil {
		return nil
	}
	score, err := rebuilt.Score(ctx, 0)
	if err != nil {
		return err
	}
	// The deviation is that of other inputs.
	_, claimed, _ := kernels.SplitDeviation(schedule.Metrics)
	metrics := slices.SortedFunc(slices.Values(score.Metrics), func(a, b space.Metric) int { return strings.Compare(a.Name, b.Name) })
	if !slices.Equal(metrics, claimed) {
		return fmt.Errorf("field metrics is %v, and the program has %v", claimed, metrics)
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

// sameArtifact compares a file of a schedule with the one that a candidate writes, byte by byte.
func sameArtifact(c kernels.Candidate, schedule, name string) error {
	artifacts, err := c.Artifacts()
	if err != nil {
		return err
	}
	at := slices.IndexFunc(artifacts, func(a kernels.Artifact) bool {
		return strings.HasSuffix(name, "."+a.Name) // the schedule may have another name by now
	})
	if at < 0 {
		return kernels.Reject(space.WrongAnswer, "the point builds no such file")
	}
	var want bytes.Buffer
	if err := artifacts[at].Write(&want); err != nil {
		return err
	}
	path := filepath.Join(filepath.Dir(schedule), name)
	got, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if !bytes.Equal(got, want.Bytes()) {
		return fmt.Errorf("%s differs from what the point builds", path)
	}
	return nil
}
