package results

import (
	"cmp"
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

// SettingsName is the name of the settings in a run directory.
const SettingsName = "run.json"

const settingsFormat = 1

// Settings is what a run was asked to do: everything needed to repeat or resume it.
type Settings struct {
	Format           int       `json:"format"`                     // of this file; Create sets it
	ToolVersion      string    `json:"tool_version"`               // the version of tune
	Kernel           string    `json:"kernel"`                     // its name
	KernelVersion    string    `json:"kernel_version"`             // its version
	Shape            string    `json:"shape"`                      // of the problem, in its text form; may be empty
	Unit             string    `json:"unit"`                       // of costs: see kernels.Info
	SpaceFingerprint string    `json:"space_fingerprint"`          // changes with the points of the space
	Strategy         string    `json:"strategy"`                   // its name
	StrategyConfig   string    `json:"strategy_config"`            // all of its constants, as constant=value,…; "" for the defaults of version 1
	StrategyVersion  int       `json:"strategy_version,omitempty"` // changes with what the strategy asks for; 0, in earlier runs, means 1
	Seed             uint64    `json:"seed"`                       // of the strategy
	CheckSeed        uint64    `json:"check_seed"`                 // of the inputs that candidates are checked on
	Budget           Budget    `json:"budget"`                     // when to stop
	Jobs             int       `json:"jobs"`                       // trials evaluated at once; does not affect results
	Baseline         Preset    `json:"baseline"`                   // what the incumbent is compared with
	Created          time.Time `json:"created"`                    // when the run was made
	Machine          Machine   `json:"machine"`                    // where
	// Clock is Simulated where times are simulated: those that the evaluations once took, on Jobs simulated workers. It is ""
	// where they are real.
	Clock string `json:"clock,omitempty"`
	// Measured says that costs are measured: those of the search were measured at different moments, and the schedule has newer
	// ones. Runs of earlier versions do not have this field.
	Measured bool `json:"measured,omitempty"`
	// Data is the file of measurements that the kernel was made from; nil for a kernel without one.
	Data *File `json:"data,omitempty"`
	// From are the sources of earlier measurements that the strategy started from; the file from.json holds what it saw of them.
	From []From `json:"from,omitempty"`
	// Function says that what was tuned is a function of a Go program, which only that program can call.
	Function bool `json:"function,omitempty"`
	// Program says that the kernel is a program's own, which the commands do not have, whatever its name is. Runs of earlier versions do not
	// have this field.
	Program bool `json:"program,omitempty"`
	// For is the name of the worker whose machine the run is tuned for, where that builds, checks and measures; otherwise it is "".
	For string `json:"for,omitempty"`
	// Metrics are what is measured of each candidate besides, as far as the machine allows; see space.Measured.
	Metrics []string `json:"metrics,omitempty"`
	// Objectives are what the run looks for where that is more than the least cost: see space.ParseGoals. Otherwise it is "".
	Objectives string `json:"objectives,omitempty"`
	// Pinned are values of parameters, as in keys: all points of the run have them, wherever the parameters are active.
	Pinned map[string]string `json:"pinned,omitempty"`
	// First are the keys of the points that the search evaluates before all others, in their order: those that the user gave, then
	// those of the kernel's file.
	First []string `json:"first,omitempty"`
}

// From is a source of earlier measurements, and how its points were carried over.
type From struct {
	File
	Same    int `json:"same"`    // points that exist in this space as they are
	Adapted int `json:"adapted"` // points that took nearest values, or a default
	Dropped int `json:"dropped"` // points without a counterpart here
	// Other says that the source is of another kernel, and was accepted all the same.
	Other bool `json:"other,omitempty"`
}

// Simulated is the Clock of runs, schedules and ends with simulated times.
const Simulated = "simulated"

// File is a file, or a run directory, that a run depends on.
type File struct {
	Path   string `json:"path"`   // as the user named it
	SHA256 string `json:"sha256"` // of its content, in hexadecimal
}

// Budget holds the limits of a run. The zero value sets none.
type Budget struct {
	WallSeconds float64  `json:"wall_seconds,omitempty"` // over all sittings; 0 for no limit
	Evaluations int      `json:"evaluations,omitempty"`  // over all sittings; 0 for no limit
	Target      *float64 `json:"target,omitempty"`       // the cost to stop at; nil for none
}

// Preset is a named point.
type Preset struct {
	Name string `json:"name"`
	Key  string `json:"key"` // the canonical key of the point
}

// Goals returns what the run looks for. The error is of the field objectives.
func (s Settings) Goals() (space.Goals, error) {
	goals, err := space.ParseGoals(s.Objectives, s.Unit)
	if err != nil {
		return nil, fmt.Errorf("field objectives: %w", err)
	}
	return goals, nil
}

// Validate reports settings that no run can have, by the name of the field in the file.
func (s Settings) Validate() error {
	if _, err := s.Goals(); err != nil {
		return err
	}
	if _, err := space.ParseMeasured(strings.Join(s.Metrics, ",")); err != nil {
		return fmt.Errorf("field metrics: %w", err)
	}
	if err := required(field{"kernel", s.Kernel}, field{"strategy", s.Strategy}); err != nil {
		return err
	}
	switch b := s.Budget; {
	case !space.Finite(b.WallSeconds) || b.WallSeconds < 0:
		return fmt.Errorf("field budget.wall_seconds is %v: want seconds, 0 or more", b.WallSeconds)
	case b.Evaluations < 0:
		return fmt.Errorf("field budget.evaluations is %d: want 0 or more", b.Evaluations)
	case b.Target != nil && !space.Finite(*b.Target):
		return fmt.Errorf("field budget.target is %v: want a finite cost", *b.Target)
	case s.Jobs < 0:
		return fmt.Errorf("field jobs is %d: want 0 or more", s.Jobs)
	}
	return nil
}

// field is a field of a file and its text.
type field struct{ name, text string }

// required reports the first field that is empty.
func required(fields ...field) error {
	for _, f := range fields {
		if f.text == "" {
			return fmt.Errorf("field %s is missing", f.name)
		}
	}
	return nil
}

// Run is one search and all that it has recorded.
type Run struct {
	Dir      string
	Settings Settings
	// Stored is what the journal held when the run was opened.
	Stored
	// Recovery describes what reading the journal found.
	Recovery Recovery
	// Journal receives what the run records from now on. It is nil after Read.
	Journal *Journal
}

// Close closes the journal, if there is one, and releases the lock.
func (r *Run) Close() error {
	if r.Journal == nil {
		return nil
	}
	return r.Journal.Close()
}

// Create makes a run directory, with its parents, and locks it until Close. The directory must not exist, or be empty, or hold
// what an interrupted Create left. Each function of prepare is called with the directory and the settings, as they will be read, and writes
// further files of the run. The settings are written last: a directory without them holds no results. Where the directory cannot hold the
// run, the error is a *DirError.
func Create(dir string, s Settings, prepare ...func(dir string, s Settings) error) (*Run, error) {
	s.Format = settingsFormat
	s.Created = s.Created.Round(0).UTC()
	if err := s.Validate(); err != nil {
		return nil, fmt.Errorf("settings of run %s: %w", dir, err)
	}
	text, err := encodeSettings(SettingsName, s)
	if err != nil {
		return nil, fmt.Errorf("settings of run %s: %w", dir, err)
	}
	run, err := create(dir, s, text, prepare)
	if err != nil {
		return nil, &DirError{err}
	}
	return run, nil
}

// DirError says that a directory cannot hold a new run.
type DirError struct{ Err error }

func (e *DirError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *DirError) Unwrap() error { return e.Err }

// create makes the files of a new run, of which text are the settings.
func create(dir string, s Settings, text []byte, prepare []func(dir string, s Settings) error) (*Run, error) {
	if err := makeDir(dir); err != nil {
		return nil, fmt.Errorf("cannot create the run directory: %w", err)
	}
	if err := checkFree(dir); err != nil {
		return nil, err
	}
	lock, err := acquireLock(dir)
	if err != nil {
		return nil, err
	}
	// Another process may have made a run here before the lock was taken.
	journal, err := begin(dir, lock)
	if err != nil {
		lock.Close()
		return nil, err
	}
	for _, p := range append(prepare, func(dir string, _ Settings) error { return files.Write(filepath.Join(dir, SettingsName), text) }) {
		if err := p(dir, s); err != nil {
			journal.Close()
			return nil, fmt.Errorf("cannot create the run: %w", err)
		}
	}
	return &Run{Dir: dir, Settings: s, Stored: journal.Past(), Recovery: Recovery{Lines: 1}, Journal: journal}, nil
}

// begin makes the journal of a new run in a locked directory, replacing one in which nothing was asked.
func begin(dir string, lock io.Closer) (*Journal, error) {
	if err := checkFree(dir); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, JournalName)
	err := os.Remove(path)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		var journal *Journal
		if journal, err = createJournal(path, lock); err == nil {
			return journal, nil
		}
	}
	return nil, fmt.Errorf("cannot create the run: %w", err)
}

// checkFree reports a directory in which a new run must not be made.
func checkFree(dir string) error {
	state, other, err := look(dir)
	switch {
	case err != nil:
		return fmt.Errorf("cannot create the run: %w", err)
	case state == begun:
		return fmt.Errorf("%s holds a run already", dir)
	case state == foreign:
		return fmt.Errorf("cannot create a run in %s: the directory is not empty (it holds %s)", dir, other)
	}
	return nil
}

// The states of a directory.
const (
	empty   = iota // nothing, or a lock
	cutOff         // a journal in which nothing was asked, and perhaps other files of an interrupted Create
	begun          // settings
	foreign        // anything else
)

// look returns the state of a directory, and the name of a file that does not belong there.
func look(dir string) (state int, other string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return empty, "", err
	}
	for _, e := range entries {
		switch e.Name() {
		case lockName:
		case SettingsName:
			return begun, "", nil
		case JournalName:
			state = cutOff
		default:
			other = e.Name()
		}
	}
	if state == cutOff {
		if stored, _, err := readStored(filepath.Join(dir, JournalName)); err != nil || stored.Batches > 0 {
			return foreign, JournalName, nil
		}
		return cutOff, "", nil
	}
	if other != "" {
		return foreign, other, nil
	}
	return empty, "", nil
}

// NotBegunError says that a directory is empty, or holds only the leftovers of a run that was interrupted before it began.
type NotBegunError struct {
	Dir   string
	Empty bool
}

// Error says what to do about it.
func (e *NotBegunError) Error() string {
	if e.Empty {
		return fmt.Sprintf("%s is not a run: the folder is empty: 'tune runs' lists the runs, and 'tune run KERNEL --dir %s' makes one here", e.Dir, plain.ShellWord(e.Dir))
	}
	return fmt.Sprintf("%s is not a run: one was cut off here before anything was measured: start it again by 'tune run KERNEL --dir %s'", e.Dir, plain.ShellWord(e.Dir))
}

// NotBegun reports whether an error of Read or Open says that there is no run in the directory.
func NotBegun(err error) bool {
	_, not := errors.AsType[*NotBegunError](err)
	return not || errors.Is(err, fs.ErrNotExist)
}

// CheckBegun returns a *NotBegunError for a directory in which a run was interrupted before it began, and for an empty one.
func CheckBegun(dir string) error {
	if state, _, err := look(dir); err == nil && (state == cutOff || state == empty) {
		_, err := os.Lstat(filepath.Join(dir, lockName)) // what a run makes first
		return &NotBegunError{Dir: dir, Empty: state == empty && errors.Is(err, fs.ErrNotExist)}
	}
	return nil
}

// Open opens a run to resume it, and locks it until Close; see OpenJournal for what it repairs. Where another process writes to the run,
// the error is an *InUseError; where there is no run in the directory, NotBegun says so.
func Open(dir string) (*Run, error) {
	settings, err := readSettings(dir)
	if err != nil {
		return nil, err
	}
	journal, recovery, err := OpenJournal(filepath.Join(dir, JournalName))
	if err != nil {
		return nil, withoutJournal(err)
	}
	return &Run{Dir: dir, Settings: settings, Stored: journal.Past(), Recovery: recovery, Journal: journal}, nil
}

// Read reads a run without locking or changing it.
func Read(dir string) (*Run, error) {
	settings, err := readSettings(dir)
	if err != nil {
		return nil, err
	}
	stored, recovery, err := readStored(filepath.Join(dir, JournalName))
	if err != nil {
		return nil, err
	}
	return &Run{Dir: dir, Settings: settings, Stored: stored, Recovery: recovery}, nil
}

// Look reads the settings of a run but not its journal, for callers that read the journal anyway. Rounds then yields all of the
// journal and finds what is wrong with it; the rest of Stored is unknown.
func Look(dir string) (*Run, error) {
	settings, err := readSettings(dir)
	if err != nil {
		return nil, err
	}
	return &Run{Dir: dir, Settings: settings, Stored: Stored{path: filepath.Join(dir, JournalName), size: -1}}, nil
}

// LookWithoutSettings is Look for a run whose settings cannot be read: there is only what the journal says.
func LookWithoutSettings(dir string) *Run {
	return &Run{Dir: dir, Stored: Stored{path: filepath.Join(dir, JournalName), size: -1}}
}

func readSettings(dir string) (Settings, error) {
	path := filepath.Join(dir, SettingsName)
	var s Settings
	if err := readJSON(path, settingsFormat, files.Settings, &s); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			if early := CheckBegun(dir); early != nil {
				return Settings{}, early
			}
			remedy := "'tune runs' lists the runs"
			if _, jerr := os.Stat(filepath.Join(dir, JournalName)); jerr == nil {
				remedy = restoreRemedy
			}
			return Settings{}, fmt.Errorf("%s is not a run: %w: %s", dir, err, remedy)
		}
		return Settings{}, withRemedy(err, restoreRemedy)
	}
	if err := s.Validate(); err != nil {
		return Settings{}, withRemedy(&contentError{path, err}, restoreRemedy)
	}
	return s, nil
}

// IsOfRun reports whether a run writes a file of the given name into its directory, other than its schedule.
func IsOfRun(name string) bool {
	own := []string{SettingsName, JournalName, lockName, originName, sourcesName, summaryName, FinalName}
	return slices.Contains(own, name) || name != ScheduleName && strings.HasPrefix(name, strings.TrimSuffix(ScheduleName, "json"))
}

// withoutJournal adds to the error of a run that has settings and no journal what to do about it. Any other error stays as it is.
func withoutJournal(err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return fmt.Errorf("the journal of the run is missing: %w: %s", err, restoreRemedy)
}

// restoreRemedy is what to do about a file of a run that nothing else in the run can replace.
const restoreRemedy = "restore the file from a copy, or start a new run"

// DefaultDir names a run directory by its kernel, the time in t's own zone, and its seed: root/kernel-YYYYMMDD-HHMMSS-seed.
// Letters of the kernel's name that are unsuitable for a file name become dashes.
func DefaultDir(root, kernel string, t time.Time, seed uint64) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-', r == '.':
			return r
		}
		return '-'
	}, kernel)
	return filepath.Join(root, fmt.Sprintf("%s-%s-%d", name, t.Format("20060102-150405"), seed))
}

// State says what a run directory is doing.
type State uint8

// The states of a run.
const (
	Damaged     State = iota // it cannot be read
	Running                  // a process is writing to it
	Finished                 // its last sitting stopped by itself, and said why
	Interrupted              // its last sitting was cut off, or somebody ended it
	Failed                   // its baseline failed, so that nothing was searched
)

var stateNames = [...]string{"damaged", "running", "finished", "interrupted", "failed"}

// BaselineFailed is why a sitting stopped whose baseline failed.
const BaselineFailed = "the baseline failed"

// StoppedByHand is why a sitting stopped that somebody ended, as the search says it.
const StoppedByHand = "interrupted"

// States lists the words of all states.
func States() []string { return slices.Clone(stateNames[:]) }

// String returns the state in a word.
func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return fmt.Sprintf("state(%d)", uint8(s))
}

// Listing is one run of a list.
type Listing struct {
	Dir      string
	Settings Settings // the zero value where they cannot be read
	State    State
	End      End     // why the last sitting stopped; the zero value where it is cut off, or goes on
	Summary  Summary // without the trials that End.Trim takes away
	Err      error   // what is wrong, where State is Damaged
}

// List describes the runs in the directory root: the newest first, those made at the same instant by name, and those whose
// settings cannot be read last. A directory that does not exist holds no runs. Of a long journal List reads only the part after
// the summary file, so that damage before that part is found only when the run itself is read.
func List(root string) ([]Listing, error) {
	dirs, err := RunsIn(root)
	if err != nil {
		return nil, err
	}
	var list []Listing
	for _, dir := range dirs {
		list = append(list, Describe(dir))
	}
	slices.SortFunc(list, NewestFirst)
	return list, nil
}

// NewestFirst orders a list of runs as List does.
func NewestFirst(a, b Listing) int {
	return cmp.Or(b.Settings.Created.Compare(a.Settings.Created), cmp.Compare(a.Dir, b.Dir))
}

// RunsIn returns the run directories in a folder. A folder that does not exist has none.
func RunsIn(folder string) (dirs []string, err error) {
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		if dir := filepath.Join(folder, e.Name()); IsRun(dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs, nil
}

// What stands in a library of kernels, or of those of a model: what it came to, what it is made from, and in that the runs of each search.
const (
	ManifestName = "manifest.json"
	TuningDir    = "tuning"
	RunsDir      = "runs"
)

// Folders are the folders of runs in a directory: the directory itself, its folder of runs, and those of a library of kernels, which keeps
// the runs of each function.
func Folders(dir string) []string {
	out := []string{dir}
	tuning := filepath.Join(dir, TuningDir)
	inside := []string{dir, tuning}
	entries, _ := os.ReadDir(tuning) // only a library has it
	for _, e := range entries {
		inside = append(inside, filepath.Join(tuning, e.Name()))
	}
	for _, of := range inside {
		runs := filepath.Join(of, RunsDir)
		if info, err := os.Stat(runs); err == nil && info.IsDir() {
			out = append(out, runs)
		}
	}
	return out
}

// IsRun reports whether a directory has the files of a run, or one of them.
func IsRun(dir string) bool {
	for _, name := range []string{SettingsName, JournalName} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

// Describe describes the run in a directory; see [List].
func Describe(dir string) Listing {
	l := Listing{Dir: dir}
	// The lock is checked before the journal is read: a run that ends in between then shows as running. The other order could
	// show it as interrupted.
	running := isLocked(dir)
	if l.Settings, l.Err = readSettings(dir); l.Err != nil {
		return l
	}
	var end *End
	l.Summary, end, l.Err = summarise(dir)
	switch {
	case l.Err != nil:
	case running:
		l.State = Running
	case end != nil && end.Why == BaselineFailed:
		l.State, l.End = Failed, *end
	case end != nil && end.Why == StoppedByHand:
		l.State, l.End = Interrupted, *end
	case end != nil:
		l.State, l.End = Finished, *end
	default:
		l.State = Interrupted
	}
	return l
}
