package library

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"tune/internal/files"
	"tune/kernels"
	"tune/kernels/native"
	"tune/results"
	"tune/results/session"
	"tune/search"
	"tune/search/tasks"
	"tune/space"
)

// Options say how a library is made.
type Options struct {
	// Plan is what to make. A directory that was begun with another plan is refused.
	Plan *Plan
	Dir  string
	Kernels
	// Budget is the wall time, over all sittings. Evaluations, if not 0, ends the search of each representative after as many instead,
	// and then every shape is measured.
	Budget      time.Duration
	Evaluations int
	Jobs        int
	// Measure is roughly how long the measurement of a shape may take; 0 lets the budget decide.
	Measure time.Duration
	// Update takes the plan into the library that the directory holds; the budget is then that of the update.
	Update bool
	// Machine is the one that measures, whose fingerprint the plan has.
	Machine results.Machine
	Version string // of tune
	Observe func(Progress)
	Began   time.Time
}

// Progress says how far a library is. Its steps are "searching", "measuring", "certifying", "writing" and "testing".
type Progress = session.Progress

// The names of what stands in the directory beside the library itself.
const (
	tuningDir    = results.TuningDir
	planName     = "plan.json"
	measuredName = "measured.jsonl"
	variantsName = "variants.json"
	runsDir      = results.RunsDir
)

// The shares of the budget at which the steps end. The rest is for writing and testing the library.
const (
	searchUntil  = 0.50
	measureUntil = 0.80
	certifyUntil = 0.92
	recordUntil  = 0.97
)

// OtherPlanError says that a directory holds a library of another plan.
type OtherPlanError struct{ Dir string }

func (e *OtherPlanError) Error() string {
	return fmt.Sprintf("%s: it was begun for other tasks, shapes or kernels, or on another machine: give another --out, or take the file into it by --update", e.Dir)
}

// maker makes a library.
type maker struct {
	Options
	spent   float64 // seconds of earlier sittings
	before  float64 // those of them that do not count against the budget
	tasks   []*task
	locked  bool   // it alone writes to the directory
	claimed []byte // the plan to write, once it is known that a library of it can be made; nil where it is in the directory
}

// task is the state of a task.
type task struct {
	TaskPlan
	dir      string
	kernel   kernels.Kernel
	variants []variant
	measured []measurement
	linkage  native.Linkage // with the plain form, where gather or reopen has come to it
}

// Make carries out a plan, or goes on with it, and writes the library. When ctx is cancelled it stops, and everything measured so far is
// kept.
func Make(ctx context.Context, o Options) (*Report, error) {
	if o.Began.IsZero() {
		o.Began = time.Now()
	}
	m := &maker{Options: o}
	release, err := m.open()
	if err != nil {
		return nil, err
	}
	defer release()
	for _, t := range m.tasks { // before anything takes long
		if t.linkage, err = t.plainForm(ctx); err != nil {
			return nil, err
		}
	}
	if m.claimed != nil {
		if err := files.Write(filepath.Join(m.Dir, tuningDir, planName), m.claimed); err != nil {
			return nil, err
		}
	}
	if err := m.search(ctx); err != nil {
		return nil, err
	}
	for _, t := range m.tasks {
		if err := m.gather(ctx, t); err != nil {
			return nil, err
		}
	}
	if err := m.measureAll(ctx); err != nil {
		return nil, err
	}
	return m.finish(ctx)
}

// open begins the directory, or reads what an earlier sitting left in it.
func (m *maker) open() (release func(), err error) {
	dir := filepath.Join(m.Dir, tuningDir)
	if err := m.begin(dir); err != nil {
		return nil, err
	}
	lock, err := results.Lock(dir)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			lock.Close()
		}
	}()
	m.locked = true
	if err = m.claim(dir); err != nil {
		return nil, err
	}
	if err = m.load(); err != nil {
		return nil, err
	}
	if m.Update {
		m.before = m.spent
	}
	return func() { lock.Close() }, nil
}

// load reads what the directory holds of each task.
func (m *maker) load() (err error) {
	for _, p := range m.Plan.Tasks {
		t := &task{TaskPlan: p, dir: filepath.Join(m.Dir, tuningDir, p.Function)}
		if t.kernel, err = m.kernelOf(t); err != nil {
			return err
		}
		if v := t.kernel.Info().Version; v != p.Version {
			remedy := "give --out a new folder"
			if !m.locked {
				remedy = fmt.Sprintf("it needs the tune that made it, %s, or another library, made by this one", m.Version)
			}
			return fmt.Errorf("%s: kernel %s is version %s, and the library was begun with version %s: %s", m.Dir, p.Kernel, v, p.Version, remedy)
		}
		if err = t.readVariants(); err != nil {
			return err
		}
		if t.measured, err = readMeasured(filepath.Join(t.dir, measuredName), m.locked); err != nil {
			return err
		}
		for _, one := range t.measured {
			m.spent += one.Seconds
		}
		for _, r := range t.Representatives {
			run, err := results.Read(t.runDir(r))
			switch {
			case err == nil:
				m.spent += run.Elapsed
			case !results.NotBegun(err):
				return err
			}
		}
		m.tasks = append(m.tasks, t)
	}
	return nil
}

// begin makes the directory, unless it holds something else than a library.
func (m *maker) begin(dir string) error {
	_, err := os.Stat(filepath.Join(dir, planName))
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if m.Update {
		return fmt.Errorf("%s: there is no library that tune has begun, which could be updated: leave out --update", m.Dir)
	}
	if err := m.empty(); err != nil {
		return err
	}
	return os.MkdirAll(dir, 0o777)
}

// claim compares the plan with that of the directory, which it takes in for an update. The caller has locked the directory.
func (m *maker) claim(dir string) error {
	path := filepath.Join(dir, planName)
	old, err := files.Read(path, mostPlan)
	if errors.Is(err, fs.ErrNotExist) {
		return m.take()
	}
	if err != nil {
		return err
	}
	p, err := parsePlan(old)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	again, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(m.Plan, "", "  ")
	if err != nil || string(again) == string(text) {
		return err
	}
	if !m.Update {
		return &OtherPlanError{m.Dir}
	}
	if m.Plan, err = p.Extend(m.Plan); err != nil {
		return fmt.Errorf("%s: %w", m.Dir, err)
	}
	return m.take()
}

// take makes the plan that which is to be written.
func (m *maker) take() error {
	text, err := json.MarshalIndent(m.Plan, "", "  ")
	m.claimed = append(text, '\n')
	return err
}

const mostPlan = 64 << 20

// empty refuses a directory that holds something else than a library.
func (m *maker) empty() error {
	entries, err := os.ReadDir(m.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() != tuningDir {
			return fmt.Errorf("%s: it holds %s, and no library that tune has begun: give --out a new folder", m.Dir, e.Name())
		}
	}
	return nil
}

// elapsed is the time over all sittings.
func (m *maker) elapsed() time.Duration { return space.Duration(m.spent) + time.Since(m.Began) }

// left reports whether a step that ends at a share of the budget has time left.
func (m *maker) left(share float64) bool {
	return m.Budget == 0 || m.elapsed().Seconds()-m.before < share*m.Budget.Seconds()
}

// until returns how long a step that ends at a share of the budget may take yet; 0 where no budget ends it.
func (m *maker) until(share float64) time.Duration {
	if m.Evaluations > 0 {
		return 0
	}
	return max(space.Duration(share*m.Budget.Seconds()+m.before)-m.elapsed(), 0)
}

func (m *maker) tell(p Progress) {
	if m.Observe != nil {
		p.Elapsed = m.elapsed()
		m.Observe(p)
	}
}

// runDir is the run directory of a representative, by its index among the training shapes.
func (t *task) runDir(shape int) string {
	return filepath.Join(t.dir, runsDir, t.name(t.Training[shape].Fields))
}

// searched reports whether the run of a representative has begun.
func (t *task) searched(r int) bool {
	_, err := results.Read(t.runDir(r))
	return err == nil
}

// name returns the name of a shape in the names of files and variants: m64_n128_k256.
func (t *task) name(fields []int64) (text string) {
	for i, f := range t.Fields {
		if i > 0 {
			text += "_"
		}
		text += fmt.Sprintf("%s%d", f, fields[i])
	}
	return text
}

// searched is a representative with the state of its search.
type searched struct {
	session.Sliced
	task  *task
	shape int
}

// search hands out the search time among the representatives of all tasks that have no variant yet.
func (m *maker) search(ctx context.Context) error {
	var all []*searched
	for _, t := range m.tasks {
		share := t.Weight / totalWeight(t.Training)
		for _, r := range t.Representatives {
			if t.variantOf(r) != nil {
				continue
			}
			s := &searched{session.Sliced{Dir: t.runDir(r), Kernel: t.kernel}, t, r}
			s.State.Weight = share * t.groupWeight(r)
			if err := s.Read(); err != nil {
				return err
			}
			all = append(all, s)
		}
	}
	for len(all) > 0 && (m.Evaluations > 0 || m.left(searchUntil) || nothing(all)) {
		states := make([]tasks.Task, len(all))
		for i, s := range all {
			states[i] = s.State
		}
		next := tasks.Next(states)
		if next < 0 {
			break // every space is exhausted
		}
		s := all[next]
		m.tell(Progress{Step: "searching", Text: s.task.Function + " " + s.task.Called(s.task.Training[s.shape].Fields), Done: done(all), Of: len(all), Left: m.until(searchUntil)})
		if err := m.slice(ctx, s, all); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if m.Evaluations > 0 { // one slice is the whole search
			all = slices.DeleteFunc(all, func(other *searched) bool { return other == s })
		}
	}
	return nil
}

// nothing reports whether there is no variant yet, and none of the representatives has had time.
func nothing(all []*searched) bool {
	return done(all) == 0 && !slices.ContainsFunc(all, func(s *searched) bool { return len(s.task.variants) > 0 })
}

// done counts the representatives that have had time.
func done(all []*searched) (n int) {
	for _, s := range all {
		if s.Found() {
			n++
		}
	}
	return n
}

// groupWeight is the weight of the training shapes that are nearest to a representative.
func (t *task) groupWeight(r int) (sum float64) {
	for _, s := range t.Training {
		best, least := -1, math.Inf(1)
		for _, other := range t.Representatives {
			if d := t.far(s.Fields, t.Training[other].Fields); d < least {
				best, least = other, d
			}
		}
		if best == r {
			sum += s.Weight
		}
	}
	return sum
}

// far is the distance of two shapes in the logarithms of their fields.
func (t *task) far(a, b []int64) (sum float64) {
	for i := range a {
		d := math.Log(float64(max(a[i], 1)) / float64(max(b[i], 1)))
		sum += d * d
	}
	return sum
}

// slice searches a representative for a while.
func (m *maker) slice(ctx context.Context, s *searched, all []*searched) error {
	name, fields := s.task.Function, s.task.Training[s.shape]
	budget := search.Budget{Evaluations: m.Evaluations}
	if m.Budget > 0 && m.Evaluations == 0 {
		budget.Wall = space.Duration(s.Spent + m.sliceSeconds(len(all)))
	}
	err := s.Search(ctx, session.Slice{
		Version: m.Version, Budget: budget, Jobs: m.Jobs, Machine: m.Machine, Began: m.Began,
		Seed:  kernels.Derive(m.Plan.Seed, "search "+name+" "+s.task.name(fields.Fields)),
		Open:  func() (*kernels.Opened, error) { return kernels.OpenText(s.Kernel, s.task.Text(fields)) },
		First: func(p kernels.Problem) []string { return neighbours(s, all, p) }, Pinned: s.task.pinned(),
	})
	if err != nil {
		return fmt.Errorf("%s %s: %w", name, s.task.Called(fields.Fields), err)
	}
	return nil
}

// pinned returns the values that parameters have in the searches of a task; nil for none. Where each shape may have a variant of its own, code that
// is fast there alone is welcome.
func (t *task) pinned() map[string]string {
	if len(t.Training) <= t.Variants && len(t.HeldOut) == 0 {
		return nil
	}
	return t.linkage.Pinned
}

// sliceSeconds is how long one slice is: each representative could have a few in the time for searching.
func (m *maker) sliceSeconds(representatives int) float64 {
	const each = 5
	return max(2, searchUntil*m.Budget.Seconds()/float64(each*representatives))
}

// neighbours returns the best points of the nearest representatives that have been searched, as far as they are points here too.
func neighbours(s *searched, all []*searched, p kernels.Problem) (keys []string) {
	const most = 2
	near := slices.DeleteFunc(slices.Clone(all), func(other *searched) bool { return other.task != s.task }) // whose fields are others
	at := s.task.Training[s.shape].Fields
	slices.SortStableFunc(near, func(a, b *searched) int {
		return cmp.Compare(s.task.far(at, a.task.Training[a.shape].Fields), s.task.far(at, b.task.Training[b.shape].Fields))
	})
	for _, other := range near {
		if other.Best == "" || len(keys) == most {
			continue
		}
		if point, err := p.Space().ParsePartial(other.Best); err == nil && !slices.Contains(keys, point.Key()) {
			keys = append(keys, point.Key())
		}
	}
	return keys
}
