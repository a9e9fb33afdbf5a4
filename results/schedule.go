package results

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tune/internal/files"
	"tune/internal/plain"
	"tune/space"
)

// ScheduleName is the name of the schedule in a run directory.
const ScheduleName = "best.json"

const scheduleFormat = 1

// Schedule is an exported incumbent: the point, its cost, how that was found, and the files that were built from it.
type Schedule struct {
	Format        int             `json:"format"` // of this file; Write sets it
	Kernel        string          `json:"kernel"`
	KernelVersion string          `json:"kernel_version"`
	Shape         string          `json:"shape"`           // of the problem, in its text form; may be empty
	Unit          string          `json:"unit"`            // of the costs: "cycles" or "ns"
	Point         json.RawMessage `json:"point"`           // an object: the values by parameter, in the order of the space
	Key           string          `json:"key"`             // the canonical key of the point
	Index         *uint64         `json:"index,omitempty"` // of the point, where the space is enumerable
	Cost          float64         `json:"cost"`
	Metrics       []space.Metric  `json:"metrics,omitempty"`
	// Program is as in Settings.
	Program bool `json:"program,omitempty"`
	// Checked says how candidates were checked: "fresh inputs", "fixed input", "check command" or Unchecked; "" in files of
	// earlier versions.
	Checked string  `json:"checked,omitempty"`
	Checks  []Check `json:"checks"` // at the export; all of them passed
	// Weak lists the outputs of which these checks prove little; empty in files of earlier versions.
	Weak     []space.WeakOutput `json:"weak_checks,omitempty"`
	Baseline Baseline           `json:"baseline"`
	// Verdict says what is known about the point compared with the baseline; "" in schedules of earlier versions.
	Verdict space.Verdict `json:"verdict,omitempty"`
	// Ratio is the cost of the baseline over the cost of the point: above 1 the point is faster.
	// Zero where there is no baseline to compare with.
	Ratio float64 `json:"ratio,omitempty"`
	// RatioInterval is the confidence interval of a measured ratio; nil where the ratio was computed.
	RatioInterval *[2]float64 `json:"ratio_interval,omitempty"`
	// Pairs is how often point and baseline were measured side by side for the ratio.
	Pairs int `json:"pairs,omitempty"`
	// IndistinctFrom lists the keys of other points, possibly the baseline's, that the same measurements do not distinguish from
	// this one.
	IndistinctFrom []string `json:"indistinct_from,omitempty"`
	// TooFewPairs lists the keys of those of which there were too few pairs to say whether they differ from this one. Schedules of
	// earlier versions have them in IndistinctFrom.
	TooFewPairs []string `json:"too_few_pairs,omitempty"`
	// Unverified says that the machine was not as quiet as the measurement needs.
	Unverified bool `json:"unverified,omitempty"`
	// Closest is set where the baseline is exported instead of another point: it is the one that was measured beside the baseline
	// and not proven to be faster, or where costs are exact, the best one of the search that passes all checks. Otherwise it is
	// nil.
	Closest *Closest `json:"closest,omitempty"`
	// Search holds what the search measured of the point and of the baseline, at different moments; nil where costs are exact.
	Search *Seen `json:"seen_by_search,omitempty"`
	// Repacking says which argument programs have to lay out ahead for the point; nil where they pass all as they are.
	Repacking *space.Repacking `json:"repacking,omitempty"`
	// MachineState is how quiet the machine was while the ratio was measured; nil where it was computed.
	MachineState *MachineState `json:"machine_state,omitempty"`

	SpaceFingerprint string `json:"space_fingerprint"`
	// Pinned is that of Settings: the space is that of these points alone.
	Pinned          map[string]string `json:"pinned,omitempty"`
	Strategy        string            `json:"strategy"`
	StrategyConfig  string            `json:"strategy_config,omitempty"`  // see Settings
	StrategyVersion int               `json:"strategy_version,omitempty"` // see Settings
	Seed            uint64            `json:"seed"`
	Evaluations     int               `json:"evaluations"`     // that the run had made
	ElapsedSeconds  float64           `json:"elapsed_seconds"` // that the run had taken, over all sittings
	Trial           int               `json:"trial"`           // the number of the point's trial; NoTrial for a baseline that the search did not ask for
	Clock           string            `json:"clock,omitempty"` // of elapsed_seconds: see Settings
	Data            *File             `json:"data,omitempty"`  // the measurements that the kernel was made from
	Run             string            `json:"run"`             // the name of the run directory
	ToolVersion     string            `json:"tool_version"`
	Machine         Machine           `json:"machine"`
	By              string            `json:"by,omitempty"` // the worker of that machine that built, checked and measured; "" for the machine of the run
	Created         time.Time         `json:"created"`

	Artifacts []Artifact `json:"artifacts"` // the files beside this one; the first is the program
	Reproduce []string   `json:"reproduce"` // the command lines that find and verify the point again
}

// Unchecked is the Checked of a schedule whose kernel has no way to tell right from wrong.
const Unchecked = "not checked"

// NoTrial is the Trial of a baseline that the search did not ask for.
const NoTrial = -1

// Seen is what a search measured of a point that was measured again later.
type Seen struct {
	Cost     float64 `json:"cost"`
	Baseline float64 `json:"baseline"`
}

// Closest is a point that is no better than a baseline, as far as is proven. Its fields are like those of a Schedule; where costs
// are exact, it has no interval and no pairs.
type Closest struct {
	Key           string      `json:"key"`
	Cost          float64     `json:"cost"`
	Ratio         float64     `json:"ratio"`
	RatioInterval *[2]float64 `json:"ratio_interval,omitempty"`
	Pairs         int         `json:"pairs"`
}

// MachineState is how quiet a machine was during a measurement.
type MachineState struct {
	Load   float64 `json:"load"`   // average number of threads that wanted to run, over the last minute
	Busy   float64 `json:"busy"`   // share of all cores that worked, the measurement's own included
	Steal  float64 `json:"steal"`  // share of all cores that the host gave to others
	Drift  float64 `json:"drift"`  // of a loop of fixed work: slowest less fastest run over the median, without outliers
	Probes int     `json:"probes"` // runs of that loop
}

// Check is one comparison with the reference.
type Check struct {
	Seed uint64 `json:"seed"` // of the inputs
	OK   bool   `json:"ok"`
}

// Baseline is the preset that an incumbent is compared with. The zero value means that there is none.
type Baseline struct {
	Preset string  `json:"preset,omitempty"`
	Key    string  `json:"key,omitempty"`
	Cost   float64 `json:"cost,omitempty"` // in the schedule's unit
	// Metrics are those that the run asked for; see Settings.Metrics.
	Metrics []space.Metric `json:"metrics,omitempty"`
}

// Artifact is a file that an export wrote.
type Artifact struct {
	Name   string `json:"name"`   // in the directory of the schedule
	SHA256 string `json:"sha256"` // of its content, in hexadecimal
	Bytes  int64  `json:"bytes"`  // of its content
	// Derived says that the file can be made again from the others, so that it may be missing.
	Derived bool `json:"derived,omitempty"`
}

// Validate reports a schedule with impossible values, by the name of the field in the file.
func (s Schedule) Validate() error {
	if err := required(field{"kernel", s.Kernel}, field{"unit", s.Unit}, field{"key", s.Key},
		field{"point", string(s.Point)}); err != nil {
		return err
	}
	var point map[string]json.RawMessage
	if err := json.Unmarshal(s.Point, &point); err != nil || point == nil {
		return fmt.Errorf("field point is not a JSON object")
	}
	switch {
	case !space.Finite(s.Cost):
		return fmt.Errorf("field cost is %v: want a finite number", s.Cost)
	case !space.Finite(s.Baseline.Cost):
		return fmt.Errorf("field baseline.cost is %v: want a finite number", s.Baseline.Cost)
	case !space.Finite(s.Ratio):
		return fmt.Errorf("field ratio is %v: want a finite number", s.Ratio)
	case s.Pairs < 0:
		return fmt.Errorf("field pairs is %d: want 0 or more", s.Pairs)
	case s.MachineState != nil && !(space.Finite(s.MachineState.Load) && space.Finite(s.MachineState.Busy) && space.Finite(s.MachineState.Steal) && space.Finite(s.MachineState.Drift)):
		return fmt.Errorf("field machine_state is %+v: want finite numbers", *s.MachineState)
	case s.Repacking != nil && (s.Repacking.Argument == "" || s.Repacking.Bytes < 0 || s.Repacking.PackedBytes < 0 || s.Repacking.Alignment < 1):
		return fmt.Errorf("field repacking: want an argument, bytes and packed_bytes from 0, and an alignment from 1")
	case s.Verdict != "" && !s.Verdict.Valid():
		return fmt.Errorf("field verdict is %q: want one of %q", s.Verdict, space.Verdicts())
	case s.Search != nil && !(space.Finite(s.Search.Cost) && space.Finite(s.Search.Baseline)):
		return fmt.Errorf("field seen_by_search is %+v: want finite numbers", *s.Search)
	case s.Trial < NoTrial || s.Trial == NoTrial && s.Key != s.Baseline.Key:
		return fmt.Errorf("field trial is %d: want the number of a trial, from 0", s.Trial)
	case len(s.Checks) == 0 && s.Checked != Unchecked:
		return fmt.Errorf("field checks is empty: the point was never checked")
	case len(s.Checks) > 0 && s.Checked == Unchecked:
		return fmt.Errorf("field checks names %d inputs, and field checked says %q", len(s.Checks), s.Checked)
	}
	if err := validInterval("", s.Ratio, s.RatioInterval); err != nil {
		return err
	}
	if c := s.Closest; c != nil {
		if !space.Finite(c.Cost) || !space.Finite(c.Ratio) || c.Pairs < 0 || c.Key == "" {
			return fmt.Errorf("field closest is %+v: want a key, finite numbers, and pairs from 0", *c)
		}
		if err := validInterval("closest.", c.Ratio, c.RatioInterval); err != nil {
			return err
		}
	}
	for _, key := range s.TooFewPairs {
		if slices.Contains(s.IndistinctFrom, key) {
			return fmt.Errorf("fields indistinct_from and too_few_pairs both name %q", key)
		}
	}
	for i, w := range s.Weak {
		if !w.Valid() {
			return fmt.Errorf("field weak_checks[%d] has output %q and reference %q", i, w.Output, w.Kind)
		}
	}
	for i, c := range s.Checks {
		if !c.OK {
			return fmt.Errorf("field checks: check %d, with seed %d, did not pass", i, c.Seed)
		}
	}
	for i, a := range s.Artifacts {
		if sum, err := hex.DecodeString(a.SHA256); err != nil || len(sum) != sha256.Size {
			return fmt.Errorf("field artifacts: %q of artifact %d is not a SHA-256 sum", a.SHA256, i)
		}
		// A schedule may come from elsewhere, and must not refer to files outside its own directory.
		if err := files.Beside(a.Name); err != nil {
			return fmt.Errorf("field artifacts[%d].name: %w", i, err)
		}
	}
	if s.Run != "" && s.Run != "." && files.Beside(s.Run) != nil {
		return fmt.Errorf("field run: %q is not the name of a run directory: write the name alone; the schedule is found with its run in the same directory, or beside it", s.Run)
	}
	return nil
}

// Confidence is that of the intervals in the schedule, in percent: of those of a confirming series, which earlier versions did not have.
func (s Schedule) Confidence() int {
	if s.Verdict == "" {
		return 95
	}
	return 98
}

// validInterval reports an interval that its ratio cannot have.
func validInterval(prefix string, ratio float64, interval *[2]float64) error {
	switch {
	case interval == nil:
	case !(space.Finite(interval[0]) && interval[0] <= interval[1] && space.Finite(interval[1])):
		return fmt.Errorf("field %sratio_interval is %v: want two finite numbers, the smaller one first", prefix, *interval)
	case ratio < interval[0] || ratio > interval[1]:
		return fmt.Errorf("field %[1]sratio is %[2]v, which is not in %[1]sratio_interval %[3]v", prefix, ratio, *interval)
	}
	return nil
}

// Write writes the schedule to a file, atomically. A schedule that Validate refuses is not written, and neither is one that is too
// large to be read.
func (s Schedule) Write(path string) error {
	s.Format = scheduleFormat
	s.Created = s.Created.Round(0).UTC()
	if err := s.Validate(); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	text, err := encodeSettings(filepath.Base(path), s)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return files.Write(path, text)
}

// MoveSchedule moves the schedule in a directory and its artifacts over those in another directory on the same file system. The schedule is
// moved last. If the move is interrupted, the former schedule remains, and Artifact.Verify tells whether its files are still its own.
func MoveSchedule(from, to string) error {
	s, err := ReadSchedule(filepath.Join(from, ScheduleName))
	if err != nil {
		return err
	}
	old, oldErr := ReadSchedule(filepath.Join(to, ScheduleName))
	moved := map[string]bool{}
	for _, a := range s.Artifacts {
		if err := a.Verify(from); err != nil {
			return err
		}
		moved[a.Name] = true
	}
	for _, a := range s.Artifacts {
		if err := os.Rename(filepath.Join(from, a.Name), filepath.Join(to, a.Name)); err != nil {
			return err
		}
	}
	if err := os.Rename(filepath.Join(from, ScheduleName), filepath.Join(to, ScheduleName)); err != nil {
		return err
	}
	if oldErr == nil {
		for _, a := range old.Artifacts {
			if !moved[a.Name] {
				if err := os.Remove(filepath.Join(to, a.Name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
					return err
				}
			}
		}
	}
	return files.SyncDir(to)
}

// ReadSchedule reads a schedule. Its errors name the file and the field. It does not look at the
// artifacts; see Artifact.Verify.
func ReadSchedule(path string) (Schedule, error) {
	var s Schedule
	if err := readJSON(path, scheduleFormat, files.Settings, &s); err != nil {
		return Schedule{}, withRemedy(err, scheduleRemedy(path))
	}
	if err := s.Validate(); err != nil {
		return Schedule{}, fmt.Errorf("%s: %w", path, err)
	}
	var point bytes.Buffer
	if err := json.Compact(&point, s.Point); err != nil {
		return Schedule{}, fmt.Errorf("%s: field point: %w", path, err)
	}
	s.Point = point.Bytes()
	return s, nil
}

// scheduleRemedy is what to do about a file that is no schedule: a run writes its own again.
func scheduleRemedy(path string) string {
	dir := filepath.Dir(path)
	if _, err := os.Stat(filepath.Join(dir, SettingsName)); err == nil && filepath.Base(path) == ScheduleName {
		return fmt.Sprintf("'tune resume %s' writes it again", plain.ShellWord(dir))
	}
	return "want a schedule, such as the best.json of a run"
}

// ArtifactPath returns the path of an artifact of a schedule: best.program.json for the artifact
// program.json of best.json.
func ArtifactPath(schedule, name string) string {
	return strings.TrimSuffix(schedule, ".json") + "." + name
}

// WriteArtifact writes a file, atomically and durably, and describes it.
func WriteArtifact(path string, write func(io.Writer) error) (Artifact, error) {
	return writeArtifact(path, write, true)
}

// WriteDerived writes a file that can be made again from others, atomically, and describes it. It does not wait for the disk:
// after a power failure the file may be missing or damaged, and its description then does not match.
func WriteDerived(path string, write func(io.Writer) error) (Artifact, error) {
	return writeArtifact(path, write, false)
}

func writeArtifact(path string, write func(io.Writer) error, durable bool) (Artifact, error) {
	sum := sha256.New()
	var size counter
	err := files.Stream(path, durable, func(w io.Writer) error {
		return write(io.MultiWriter(w, sum, &size))
	})
	if err != nil {
		dir := filepath.Dir(path)
		if _, serr := os.Stat(dir); errors.Is(serr, fs.ErrNotExist) {
			return Artifact{}, fmt.Errorf("cannot write %s: there is no folder %s", path, dir)
		}
		return Artifact{}, fmt.Errorf("cannot write %s: %w", path, err)
	}
	return Artifact{filepath.Base(path), hex.EncodeToString(sum.Sum(nil)), int64(size), !durable}, nil
}

// Verify reports an artifact whose file in dir is not the one that was exported. A derived file may be missing.
func (a Artifact) Verify(dir string) error {
	in := files.In(dir)
	path := in.Path(a.Name)
	file, err := in.Open(a.Name)
	if a.Derived && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	sum := sha256.New()
	size, err := io.Copy(sum, file)
	if err != nil {
		return err
	}
	if got := hex.EncodeToString(sum.Sum(nil)); size != a.Bytes || got != a.SHA256 {
		return fmt.Errorf("%s is not the file that was exported: it has %d bytes with SHA-256 %s, not %d with %s",
			path, size, got, a.Bytes, a.SHA256)
	}
	return nil
}

// counter counts the bytes written to it.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}
