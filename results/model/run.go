package model

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tune/kernels"
	"tune/kernels/model"
	"tune/kernels/native/cc"
	"tune/results"
	"tune/results/session"
	"tune/search"
	"tune/search/tasks"
	"tune/space"
)

// Options say how the library of a model is made.
type Options struct {
	// Plan is what to make. A directory that was begun with another plan is refused.
	Plan *Plan
	Dir  string
	// Find looks up a kernel by name.
	Find func(name string) (kernels.Kernel, error)
	// Budget is the wall time, over all sittings. Evaluations, if not 0, ends the search of each task after as many instead.
	Budget      time.Duration
	Evaluations int
	Jobs        int
	// Measure is roughly how long each final measurement of a task may take; 0 lets the budget decide.
	Measure time.Duration
	// Peers are the libraries to measure beside; none means all that are installed. NoPeers leaves them out.
	Peers   []string
	NoPeers bool
	// Machine is the one that measures, whose fingerprint the plan has.
	Machine results.Machine
	Version string // of tune
	Observe func(Progress)
	Began   time.Time
}

// Progress says how far the library of a model is. Its steps are "searching", "measuring" and "writing".
type Progress = session.Progress

// The final measurements get this share of the budget, and more where the tasks are so many or so large that processes and references
// take longer than that.
const (
	leastMeasuring = 0.4
	mostMeasuring  = 0.7
)

// searchSeconds is how much of the budget is for the searches.
func (m *maker) searchSeconds() float64 {
	// Seconds of a task; bytes of weights a second, over all inputs that winners are checked on; operations a second of the plain form,
	// over all its calls.
	const each, weightsRate, opsRate = 5, 1e6, 0.3e9
	measuring := 0.0
	for _, t := range m.tasks {
		measuring += each + t.One.Weights/weightsRate + t.One.Ops/opsRate
	}
	budget := m.Budget.Seconds()
	return budget - min(max(measuring, leastMeasuring*budget), mostMeasuring*budget)
}

// maker makes a library.
type maker struct {
	Options
	spent float64 // seconds of earlier sittings
	tasks []*task
}

// task is the state of a task.
type task struct {
	model.Task
	search session.Sliced
	row    *Row // what was measured of it; nil before that
}

// Make carries out a plan, or goes on with it, and writes the library. When ctx is cancelled it stops, and everything measured so far is
// kept.
func Make(ctx context.Context, o Options) (*Report, error) {
	if o.Began.IsZero() {
		o.Began = time.Now()
	}
	m := &maker{Options: o}
	if err := begin(m.Dir); err != nil {
		return nil, err
	}
	lock, err := results.Lock(filepath.Join(m.Dir, tuningDir))
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	if err := m.Plan.claim(m.Dir); err != nil {
		return nil, err
	}
	if err := m.load(true); err != nil {
		return nil, err
	}
	if err := m.examine(); err != nil {
		return nil, err
	}
	if err := m.search(ctx); err != nil {
		return nil, err
	}
	if err := m.measureAll(ctx); err != nil {
		return nil, err
	}
	return m.finish()
}

// examine finds shapes that a kernel refuses, or that this machine has no memory for, before anything is searched.
func (m *maker) examine() error {
	unfit := map[string]error{}
	for _, name := range m.Peers {
		unfit[name] = fmt.Errorf("unknown peer %q: no library is known that computes a kernel of this model", name)
	}
	left := 0
	for _, t := range m.tasks {
		k, err := t.open()
		if errors.Is(err, cc.ErrNone) || errors.Is(err, cc.ErrCache) {
			return err // which says what this machine lacks
		}
		if t.row != nil {
			continue
		}
		if left++; err != nil {
			return fmt.Errorf("%s of %s: %w: another --quant, --batch, --contexts or --prompt may do", strings.Join(t.Roles, ", "), m.Plan.Model.Name, err)
		}
		_, others := peersOf(k, m.Peers)
		for name, was := range unfit {
			if err := others[name]; err == nil && k.Problem.Traits().Peers != nil {
				delete(unfit, name)
			} else {
				unfit[name] = cmp.Or(err, was)
			}
		}
	}
	for _, name := range m.Peers {
		if err := unfit[name]; err != nil && left > 0 {
			return &PeersError{err}
		}
	}
	return nil
}

// PeersError says that a library of Options.Peers computes no kernel of a model, or is not installed.
type PeersError struct{ Err error }

func (e *PeersError) Error() string { return e.Err.Error() }

// Unwrap returns what is wrong with it.
func (e *PeersError) Unwrap() error { return e.Err }

// peersOf returns those of the named libraries that compute what a kernel does, and of the others why they do not. Kernels know different ones.
func peersOf(k *kernels.Opened, names []string) (fit []string, others map[string]error) {
	offered := k.Problem.Traits().Peers
	others = map[string]error{}
	for _, name := range names {
		if offered == nil {
			continue
		}
		if _, err := offered([]string{name}); err != nil {
			others[name] = err
		} else {
			fit = append(fit, name)
		}
	}
	return fit, others
}

// load reads what earlier sittings left. With mend it removes what one was writing when it was killed.
func (m *maker) load(mend bool) error {
	rows, err := readRows(filepath.Join(m.Dir, tuningDir, measuredName), mend)
	if err != nil {
		return err
	}
	for _, planned := range m.Plan.Tasks {
		kernel, err := m.Find(planned.Kernel)
		if err != nil {
			return err
		}
		t := &task{Task: planned, search: session.Sliced{Dir: filepath.Join(m.Dir, tuningDir, runsDir, planned.Name), Kernel: kernel}}
		if is, was := kernel.Info().Version, m.Plan.Versions[t.Kernel]; is != was {
			return fmt.Errorf("%s: kernel %s is version %s, and the library was begun with version %s: give --out a new folder", m.Dir, t.Kernel, is, was)
		}
		if i := slices.IndexFunc(rows, func(r Row) bool { return r.Task == t.Name }); i >= 0 {
			t.row = &rows[i]
			m.spent += t.row.Seconds
		}
		if err := t.search.Read(); err != nil {
			return err
		}
		m.spent += t.search.Spent
		m.tasks = append(m.tasks, t)
	}
	return nil
}

// elapsed is the time over all sittings.
func (m *maker) elapsed() time.Duration { return space.Duration(m.spent) + time.Since(m.Began) }

func (m *maker) tell(p Progress) {
	if m.Observe != nil {
		p.Elapsed = m.elapsed()
		m.Observe(p)
	}
}

// seconds is the time of a call as far as it is known.
func (t *task) seconds() float64 {
	if n := len(t.search.State.Slices); n > 0 && !math.IsInf(t.search.State.Slices[n-1].Best, 1) {
		return t.search.State.Slices[n-1].Best * 1e-9
	}
	return Expected(t.One)
}

// search hands out the search time among the tasks that are not measured yet. Those that are expected to take most of a step come first.
func (m *maker) search(ctx context.Context) error {
	expected := m.Plan.share(func(i int) float64 { return Expected(m.Plan.Tasks[i].One) })
	var open []int
	for i, t := range m.tasks {
		if t.row == nil && (m.Evaluations == 0 || !t.search.Found() || t.search.Evaluations() < m.Evaluations) {
			open = append(open, i)
		}
	}
	slices.SortStableFunc(open, func(a, b int) int { return cmp.Compare(expected[b], expected[a]) })
	searched := 0
	for len(open) > 0 && (m.Evaluations > 0 || m.elapsed().Seconds() < m.searchSeconds()) {
		share := m.Plan.share(func(i int) float64 { return m.tasks[i].seconds() })
		states := make([]tasks.Task, len(open))
		for n, i := range open {
			states[n] = m.tasks[i].search.State
			states[n].Weight = share[i]
		}
		next := 0
		if m.Evaluations == 0 {
			if next = tasks.Next(states); next < 0 {
				break // every space is exhausted
			}
		}
		t := m.tasks[open[next]]
		p := Progress{Step: "searching", Text: fmt.Sprintf("%s (%.1f %% of a step)", t.Name, 100*share[open[next]]), Of: len(m.tasks)}
		if m.Evaluations == 0 {
			p.Left = max(space.Duration(m.searchSeconds())-m.elapsed(), 0)
		}
		for _, other := range m.tasks {
			if other.row != nil || other.search.Found() {
				p.Done++
			}
		}
		m.tell(p)
		if err := m.slice(ctx, t, len(open)); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if searched++; m.Evaluations > 0 { // one slice is the whole search
			open = slices.Delete(open, next, next+1)
		}
	}
	return nil
}

// slice searches a task for a while.
func (m *maker) slice(ctx context.Context, t *task, open int) error {
	budget := search.Budget{Evaluations: m.Evaluations}
	if m.Evaluations == 0 {
		budget.Wall = space.Duration(t.search.Spent + m.sliceSeconds(t, open))
	}
	err := t.search.Search(ctx, session.Slice{
		Version: m.Version, Budget: budget, Jobs: m.Jobs, Machine: m.Machine, Began: m.Began,
		Seed: kernels.Derive(m.Plan.Seed, "search "+t.Name), Open: t.open,
		First: func(p kernels.Problem) []string { return m.neighbours(t, p) },
	})
	if err != nil {
		return fmt.Errorf("%s: %w", t.Name, err)
	}
	return nil
}

// sliceSeconds is how long a slice is: each task could have a few in the time for searching. References of large shapes take seconds
// before the first candidate is measured.
func (m *maker) sliceSeconds(t *task, open int) float64 {
	const few, least, weightsRate, opsRate = 3, 2, 8e6, 1e9
	usual := max(least, m.searchSeconds()/float64(few*open))
	if t.search.Found() {
		return usual
	}
	return usual + min(t.One.Weights/weightsRate+t.One.Ops/opsRate, m.searchSeconds()/5)
}

// open opens the kernel of a task at its shape.
func (t *task) open() (*kernels.Opened, error) { return kernels.OpenText(t.search.Kernel, t.Shape) }

// neighbours returns the best points of the nearest tasks of the same kernel that have been searched, as far as they are points here too.
func (m *maker) neighbours(t *task, p kernels.Problem) (keys []string) {
	const most = 2
	near := slices.Clone(m.tasks)
	slices.SortStableFunc(near, func(a, b *task) int { return cmp.Compare(far(t, a), far(t, b)) })
	for _, other := range near {
		if other.search.Best == "" || len(keys) == most || math.IsInf(far(t, other), 1) {
			continue
		}
		if point, err := p.Space().ParsePartial(other.search.Best); err == nil && !slices.Contains(keys, point.Key()) {
			keys = append(keys, point.Key())
		}
	}
	return keys
}

// far is the distance of two tasks in the logarithms of their shapes' numbers; infinite for other kernels or other words.
func far(a, b *task) (sum float64) {
	if a.Kernel != b.Kernel || a.One.Field("op") != b.One.Field("op") || a.One.Field("format") != b.One.Field("format") {
		return math.Inf(1)
	}
	for _, name := range []string{"m", "n", "k", "rows", "cols", "heads", "kv_heads", "queries", "context", "head"} {
		d := math.Log(float64(max(a.One.Number(name), 1)) / float64(max(b.One.Number(name), 1)))
		sum += d * d
	}
	return sum
}
