package schedule

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tune/internal/files"
	"tune/internal/plain"
	"tune/kernels"
	"tune/results"
	"tune/space"
)

// Verification is the result of checking a schedule again.
type Verification struct {
	Schedule results.Schedule
	Checking kernels.Checking // how candidates are checked
	Seeds    []uint64         // of the checks; none where nothing is checked
	// Deviation is the error of the rebuilt candidate on these inputs; nil where the candidate is wrong, or its kernel measures
	// no errors. The schedule has another one, from other inputs.
	Deviation *kernels.Deviation
	Weak      []space.WeakOutput // outputs of which the checks at the export prove little
	Steps     []Step
}

// Step is one thing that was verified.
type Step struct {
	Name string
	Err  error // nil where it passed
}

// OK reports whether every step passed.
func (v *Verification) OK() bool {
	for _, s := range v.Steps {
		if s.Err != nil {
			return false
		}
	}
	return true
}

// VerifyProgress says how far a verification is: the check that begins, from 1, and how many its phase has.
type VerifyProgress struct {
	Phase     VerifyPhase
	Check, Of int
}

// VerifyPhase is the candidate that a verification checks.
type VerifyPhase string

// The phases of a verification.
const (
	Rebuilding   VerifyPhase = "check-rebuilt"  // what the point builds
	Baselining   VerifyPhase = "check-baseline" // what the baseline's point builds, where costs are exact
	SavedProgram VerifyPhase = "check-saved"    // the program beside the schedule
)

var phaseWords = map[VerifyPhase]string{
	Rebuilding: "checking what the point builds", Baselining: "checking the baseline", SavedProgram: "checking the saved program",
}

// String describes the progress in words.
func (p VerifyProgress) String() string {
	return fmt.Sprintf("%s, input %d of %d", phaseWords[p.Phase], p.Check, p.Of)
}

// FreshSeeds returns n seeds that nobody can predict.
func FreshSeeds(n int) []uint64 {
	seeds := make([]uint64, n)
	for i := range seeds {
		seeds[i] = kernels.FreshSeed()
	}
	return seeds
}

// Verify rebuilds the schedule in a file from its point, and checks it on the inputs from the given seeds. It does the same with
// the program that was saved beside the schedule. Where the file is in the directory of a run, it also compares the two. seeds
// must not be empty. An error means that the schedule cannot be examined; what fails is a step with an error. Each of observe is
// called before every check.
func Verify(ctx context.Context, table kernels.Table, path string, seeds []uint64, observe ...func(VerifyProgress)) (*Verification, error) {
	if len(seeds) == 0 {
		return nil, fmt.Errorf("%s: without seeds there are no inputs to check it on: give some, as FreshSeeds makes them", path)
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil, fmt.Errorf("%s is a folder: want the file of a schedule, such as %s", path, filepath.Join(path, results.ScheduleName))
	}
	schedule, err := results.ReadSchedule(path)
	if err != nil {
		return nil, err
	}
	k, err := open(table, schedule.Kernel, schedule.Shape, schedule.Pinned)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	traits := k.Problem.Traits()
	checking := traits.Checking
	v := &Verification{Schedule: schedule, Checking: checking, Seeds: checking.Claimed(seeds)}
	if len(v.Seeds) < len(seeds) {
		seeds = seeds[:1] // it has to run, whatever that proves
	}
	x := &verifier{Verification: v, k: k, path: path, seeds: seeds}
	phase := Rebuilding
	k.Checking = func(check, of int) {
		for _, tell := range observe {
			tell(VerifyProgress{phase, check, of})
		}
	}
	weak := x.weak(ctx)
	x.point(ctx)
	phase = Baselining
	err = verifyFields(k, schedule)
	if err == nil {
		err = verifyCosts(ctx, k, x.rebuilt, schedule)
	}
	if err == nil {
		err = weak
	}
	x.step("its version, checks, baseline, ratio, verdict and metrics match", err)
	x.repacking()
	x.origin()
	x.files()
	phase = SavedProgram
	if traits.Load != nil {
		x.saved(ctx, traits.Launches)
	} else {
		x.unloaded()
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return v, nil
}

// verifier is a verification in progress.
type verifier struct {
	*Verification
	k       *kernels.Opened
	path    string
	seeds   []uint64          // that candidates are checked on
	rebuilt kernels.Candidate // from the point; nil where it failed
}

// step adds a step, and reports whether it passed.
func (x *verifier) step(name string, err error) bool {
	x.Steps = append(x.Steps, Step{name, err})
	return err == nil
}

// point checks that the point belongs to the space, and rebuilds it.
func (x *verifier) point(ctx context.Context) {
	s, schedule := x.k.Problem.Space(), x.Schedule
	point, err := s.UnmarshalPoint(schedule.Point)
	switch {
	case err != nil:
	case point.Key() != schedule.Key:
		err = fmt.Errorf("field point is %q, and field key says %q", point.Key(), schedule.Key)
	case schedule.SpaceFingerprint == s.Fingerprint():
		// Adding points to the space changes their numbers.
		if i, ok := s.Index(point); ok && schedule.Index != nil && *schedule.Index != i {
			err = fmt.Errorf("field index is %d, and the point has index %d", *schedule.Index, i)
		}
	}
	if !x.step("the point belongs to the space", err) {
		return
	}
	rebuilt, _, err := x.k.Rebuild(ctx, point, schedule.Cost, x.seeds)
	what := "rebuilt from its point it is " + passes(x.Checking, len(x.seeds))
	for _, w := range x.Weak {
		what += " (" + w.String() + ")"
	}
	if err == nil {
		if deviation := rebuilt.Abilities().Deviation; deviation != nil {
			d := deviation()
			x.Deviation = &d
			what += ", " + d.String()
		}
	}
	if x.k.Info.Exact {
		what += " and costs " + space.Unit(schedule.Unit).Words(schedule.Cost)
	}
	if x.step(what, err) {
		x.rebuilt = rebuilt
	}
}

// weak finds the outputs of which the checks of the schedule prove little, and compares them with what the schedule says. Schedules of
// earlier versions do not say it.
func (x *verifier) weak(ctx context.Context) (err error) {
	if x.Weak, err = weakOutputs(ctx, x.k, kernels.ExportSeeds(x.Schedule.Seed)); err != nil {
		return err
	}
	if claimed := x.Schedule.Weak; len(claimed) > 0 && !slices.Equal(claimed, x.Weak) {
		return fmt.Errorf("field weak_checks is %v, and on the inputs of its checks it is %v", claimed, x.Weak)
	}
	return nil
}

// repacking compares what the schedule says of an argument in another layout with what the point builds.
func (x *verifier) repacking() {
	claimed := x.Schedule.Repacking
	if x.rebuilt == nil {
		return
	}
	built := x.rebuilt.Abilities().Repacking
	switch {
	case claimed == nil && built == nil:
	case claimed == nil:
		x.step(built.String(), errors.New("field repacking is missing, and programs have to do this"))
	case built == nil:
		x.step("no argument is repacked", fmt.Errorf("field repacking says that %s is", plain.Line(claimed.Argument)))
	default:
		x.step(built.String(), sameRepacking(*claimed, *built))
	}
}

// sameRepacking compares what a schedule says of a layout with what the point builds.
func sameRepacking(claimed, built space.Repacking) error {
	for _, f := range []struct {
		name           string
		claimed, built any
	}{
		{"argument", claimed.Argument, built.Argument},
		{"bytes", claimed.Bytes, built.Bytes},
		{"packed_bytes", claimed.PackedBytes, built.PackedBytes},
		{"alignment", claimed.Alignment, built.Alignment},
		{"layout", claimed.Layout, built.Layout},
	} {
		if f.claimed != f.built {
			return fmt.Errorf("field repacking.%s is %s, and the point has %v", f.name, plain.Line(fmt.Sprint(f.claimed)), f.built)
		}
	}
	return nil
}

// origin compares what the schedule says of its run with the run in its directory, if there is one.
func (x *verifier) origin() {
	dir := filepath.Dir(x.path)
	if !hasRun(dir) {
		x.step("its command lines are those that tune writes; without its run, their paths and budgets are not compared, nor are run, machine, tool_version and created",
			verifyReproduce(x.k.Info, x.Schedule))
		return
	}
	later, err := verifyRun(x.k, dir, x.Schedule)
	name := "it agrees with the run in its directory"
	if err == nil && len(later) > 0 {
		name += fmt.Sprintf(", except for %s, which a later session or measurement may change", strings.Join(later, " and "))
	}
	if !x.step(name, err) || x.k.Compare() == nil || filepath.Base(x.path) != results.ScheduleName {
		return
	}
	kept, err := verifyFinal(dir, x.Schedule)
	name = "its costs, ratio and verdict are those of the pairs in " + results.FinalName
	if err == nil && !kept {
		if x.Schedule.Pairs == 0 {
			return
		}
		name = "without the pairs in " + results.FinalName + ", its costs, ratio and verdict are compared with one another alone"
	}
	x.step(name, err)
}

// files compares the files beside the schedule with what was exported, and with what the point builds.
func (x *verifier) files() {
	dir := filepath.Dir(x.path)
	beside := files.In(dir)
	for i, a := range x.Schedule.Artifacts {
		name := a.Name + " is the file that was exported"
		if _, err := os.Lstat(beside.Path(a.Name)); a.Derived && errors.Is(err, fs.ErrNotExist) {
			x.step(a.Name+" is missing, and can be made again with tune export", nil)
		} else if ok := x.step(name, a.Verify(dir)); ok && i > 0 && x.rebuilt != nil {
			x.step(a.Name+" is the one that the point builds", sameArtifact(x.rebuilt, beside, a.Name))
		}
	}
}

// saved checks the saved program by itself. launches says that this compiles or runs it.
func (x *verifier) saved(ctx context.Context, launches bool) {
	name := "the saved program is right by itself"
	if x.k.Info.Exact {
		name += " and costs the same"
	}
	if len(x.Schedule.Artifacts) == 0 {
		x.step(name, errors.New("field artifacts names no program"))
		return
	}
	beside, program := files.In(filepath.Dir(x.path)), x.Schedule.Artifacts[0].Name
	verify := func() { x.step(name, verifySaved(ctx, x.k, beside, program, x.Schedule.Cost, x.seeds)) }
	switch {
	case !launches:
		verify()
		if x.rebuilt != nil {
			x.step(sameStep, sameArtifact(x.rebuilt, beside, program))
		}
	// Do not compile and run a changed file just to find out that it is different.
	case x.rebuilt == nil:
		x.step(name, errors.New("it is not run, because the point does not build it"))
	case !x.step(sameStep, sameArtifact(x.rebuilt, beside, program)):
		x.step(name, errors.New("it is not run, because it is not what the point builds"))
	default:
		verify()
	}
}

// sameStep is the step that compares the saved program with that of the point.
const sameStep = "the saved program is the one that the point builds"

// unloaded compares a saved program that cannot be loaded, such as a command, with the one that the point builds.
func (x *verifier) unloaded() {
	if x.rebuilt == nil {
		return
	}
	built, err := x.rebuilt.Artifacts()
	if err == nil && len(built)+len(x.Schedule.Artifacts) == 0 {
		return // the kernel has no programs
	}
	if err == nil {
		err = x.sameProgram(built)
	}
	x.step(sameStep, err)
}

// sameProgram compares the first file of the schedule with the program among the files of the rebuilt candidate.
func (x *verifier) sameProgram(built []kernels.Artifact) error {
	saved := x.Schedule.Artifacts
	switch {
	case len(saved) == 0:
		return errors.New("field artifacts names no program")
	case len(built) > 0 && !isArtifact(saved[0].Name, built[0]):
		return fmt.Errorf("field artifacts[0].name is %q, and the program is %s", saved[0].Name, results.ArtifactPath(filepath.Base(x.path), built[0].Name))
	}
	return sameArtifact(x.rebuilt, files.In(filepath.Dir(x.path)), saved[0].Name)
}

// passes describes a candidate that passes n checks.
func passes(c kernels.Checking, n int) string {
	if c == kernels.NotChecked {
		return c.Words(n)
	}
	return "right " + c.Words(n)
}

// verifyFields compares what can be compared without a candidate: the schedule's unit, the version of its kernel, the inputs that
// it was checked on, its baseline, and where costs are exact the ratio to that.
func verifyFields(k *kernels.Opened, schedule results.Schedule) error {
	if schedule.Unit != k.Info.Unit {
		return fmt.Errorf("field unit is %q, want %q", schedule.Unit, k.Info.Unit)
	}
	if schedule.KernelVersion != k.Info.Version {
		return fmt.Errorf("field kernel_version is %q, and this is version %q of %s", schedule.KernelVersion, k.Info.Version, k.Info.Name)
	}
	var seeds []uint64
	for _, c := range schedule.Checks {
		seeds = append(seeds, c.Seed)
	}
	want := kernels.ExportSeeds(schedule.Seed)
	if schedule.Checked != "" { // earlier versions have no such field, and counted all seeds
		checking := k.Problem.Traits().Checking
		if schedule.Checked != checking.String() {
			return fmt.Errorf("field checked is %q, and what checks of %s show is %q", schedule.Checked, k.Info.Name, checking)
		}
		want = checking.Claimed(want)
	}
	if !slices.Equal(seeds, want) {
		return fmt.Errorf("field checks names the inputs %d, and a run of seed %d is checked on %d", seeds, schedule.Seed, want)
	}
	base := k.Problem.Presets()[0]
	if baselines := k.Problem.Traits().Baselines; baselines != nil {
		for _, p := range baselines() {
			if p.Key() == schedule.Baseline.Key {
				base.Point = p // the right one is not determined again
			}
		}
	}
	if key := base.Point.Key(); schedule.Baseline.Preset != base.Name || schedule.Baseline.Key != key {
		return fmt.Errorf("field baseline is %s (%s), and the baseline of %s is %s (%s)",
			schedule.Baseline.Preset, schedule.Baseline.Key, k.Info.Name, base.Name, key)
	}
	if c := schedule.Closest; c != nil && schedule.SpaceFingerprint == k.Problem.Space().Fingerprint() {
		if _, err := k.Problem.Space().Parse(c.Key); err != nil {
			return fmt.Errorf("field closest.key: %w", err)
		}
	}
	if d, _, ok := kernels.SplitDeviation(schedule.Metrics); ok {
		if err := d.Validate(); err != nil {
			return fmt.Errorf("field metrics: %w", err)
		}
	}
	return schedule.Coherent(k.Info.Exact)
}

// verifyCosts builds the baseline of a schedule whose costs are exact. It compares its cost, and the metrics of the rebuilt
// candidate, which is nil where the point failed. Measured costs are compared elsewhere, by measuring the candidates side by
// side.
func verifyCosts(ctx context.Context, k *kernels.Opened, rebuilt kernels.Candidate, schedule results.Schedule) error {
	if !k.Info.Exact {
		return nil
	}
	base := k.Problem.Presets()[0]
	if _, _, err := k.Rebuild(ctx, base.Point, schedule.Baseline.Cost, kernels.ExportSeeds(schedule.Seed)[:1]); err != nil {
		return fmt.Errorf("field baseline.cost: %w", err)
	}
	if rebuilt == nil {
		return nil
	}
	score, err := rebuilt.Score(ctx, 0)
	if err != nil {
		return err
	}
	// The deviation comes from other inputs.
	_, claimed, _ := kernels.SplitDeviation(schedule.Metrics)
	metrics := slices.SortedFunc(slices.Values(score.Metrics), func(a, b space.Metric) int { return strings.Compare(a.Name, b.Name) })
	// A file of an earlier tune may lack a metric that the kernel has now.
	earlier := slices.DeleteFunc(slices.Clone(metrics), func(m space.Metric) bool {
		return !slices.ContainsFunc(claimed, func(c space.Metric) bool { return c.Name == m.Name })
	})
	if len(earlier) > 0 {
		metrics = earlier
	}
	if !slices.Equal(metrics, claimed) {
		return fmt.Errorf("field metrics is %v, and the program has %v", claimed, metrics)
	}
	return nil
}

// verifySaved loads the program in a file and confirms it.
func verifySaved(ctx context.Context, k *kernels.Opened, beside files.Dir, name string, cost float64, seeds []uint64) error {
	file, err := beside.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	c, err := k.Load(file)
	if err != nil {
		return fmt.Errorf("%s: %w", beside.Path(name), err)
	}
	_, err = k.Confirm(ctx, c, cost, seeds)
	return err
}

// sameArtifact compares a file of a schedule with the one that a candidate writes, byte by byte; see kernels.Artifact.Earlier.
func sameArtifact(c kernels.Candidate, beside files.Dir, name string) error {
	artifacts, err := c.Artifacts()
	if err != nil {
		return err
	}
	at := slices.IndexFunc(artifacts, func(a kernels.Artifact) bool { return isArtifact(name, a) })
	if at < 0 {
		return kernels.Reject(space.WrongAnswer, "the point builds no such file")
	}
	got, err := beside.Read(name, files.Data)
	if err != nil {
		return err
	}
	line := 0
	for _, write := range []func(io.Writer) error{artifacts[at].Write, artifacts[at].Earlier} {
		if write == nil {
			continue
		}
		var want bytes.Buffer
		if err := write(&want); err != nil {
			return err
		}
		if bytes.Equal(got, want.Bytes()) {
			return nil
		}
		if line == 0 {
			line = firstDifference(got, want.Bytes())
		}
	}
	return fmt.Errorf("%s differs from what the point builds, first in line %d", beside.Path(name), line)
}

// isArtifact reports whether a file of a schedule is a file of a candidate. The schedule may have been renamed.
func isArtifact(name string, a kernels.Artifact) bool { return strings.HasSuffix(name, "."+a.Name) }

// firstDifference returns the number of the first line in which two texts differ.
func firstDifference(a, b []byte) int {
	same := 0
	for same < min(len(a), len(b)) && a[same] == b[same] {
		same++
	}
	return 1 + bytes.Count(a[:same], []byte("\n"))
}
