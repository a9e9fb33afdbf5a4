package bench

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"tune/kernels"
	"tune/kernels/recorded"
	"tune/results/exchange"
	"tune/search"
	"tune/search/strategies"
	"tune/space"
)

// Objectives compares strategies on tasks with two goals, whose true front is known: the cost of a measured space, and another number
// that the file has of each configuration. Every strategy searches every task with every seed; a failed configuration counts as an
// evaluation. Nothing is written to disk, and the result does not depend on Jobs.
type Objectives struct {
	Spaces []DataSpace
	// Second are the names of the columns that are the second goal, each of which makes a task of a space that has it; none mean the first
	// of SecondColumns that a space has.
	Second      []string
	Strategies  []string // as strategies.Parse reads them
	Seeds       []uint64
	Evaluations []int // the numbers of evaluations after which fronts are compared, ascending
	Jobs        int   // searches at once; 0 means one for each core
	Rows        bool  // whether the tasks of the report have all their points, for other programs
	// Observe is called, by one goroutine at a time, after each search; nil observes nothing.
	Observe func(done, total int)
}

// ObjectivesReport is how the strategies did.
type ObjectivesReport struct {
	Seeds   int                `json:"seeds"`
	Overall []ObjectivesResult `json:"overall"` // the mean over tasks
	Results []ObjectivesResult `json:"results"` // of each task
	Tasks   []ObjectivesTask   `json:"tasks"`
	// Left are the tasks that were left out, because one point is the best in both goals: there is nothing to trade.
	Left []string `json:"left_out,omitempty"`
}

// ObjectivesResult is the mean over seeds of a hypervolume, as a share of that of the true front, with its standard error.
type ObjectivesResult struct {
	Task        string   `json:"task,omitempty"` // "" over all
	Strategy    string   `json:"strategy"`
	Evaluations int      `json:"evals"`
	Volume      Estimate `json:"volume"`
}

// ObjectivesTask says what a task is. Both numbers are minimised. They count as logarithms where all of them are above 0, and then along
// the true front: 0 where it is best, 1 where it is worst. The hypervolume is that below Reference in both.
type ObjectivesTask struct {
	Name      string       `json:"name"`
	Space     string       `json:"space"`
	Second    string       `json:"second"`
	Points    int          `json:"points"` // right ones that have both numbers
	Front     [][2]float64 `json:"front"`  // the true one, as measured, the least cost first
	Log       [2]bool      `json:"log"`
	Reference float64      `json:"reference"`
	Volume    float64      `json:"volume"` // of the true front
	// What other programs need for a search of their own; nil unless it was asked for. A point that is not among Rows cannot be asked.
	Names []string `json:"names,omitempty"`
	Sizes []int    `json:"sizes,omitempty"` // of the domains
	Rows  [][]int  `json:"rows,omitempty"`  // ordinals
	// Values has two numbers for each row; none where the row failed or lacks one.
	Values [][]float64 `json:"values,omitempty"`
}

// SecondColumn is a number of measured configurations.
type SecondColumn struct {
	Name, Doc string
	of        func(*exchange.Row) (v float64, ok bool)
}

// SecondColumns lists the columns that can be a second goal.
func SecondColumns() []SecondColumn {
	return []SecondColumn{
		{"compile", "seconds spent on compiling", func(r *exchange.Row) (float64, bool) { return r.CompileSeconds, r.CompileSeconds > 0 }},
		{"seconds", "seconds spent on compiling and measuring", func(r *exchange.Row) (float64, bool) { return r.Outcome.Seconds, r.Outcome.Seconds > 0 }},
		{"spread", "the standard deviation of the repeats over the cost", func(r *exchange.Row) (float64, bool) {
			s := r.Spread()
			if s == nil || !(r.Outcome.Cost > 0) {
				return 0, false
			}
			return s[3] / r.Outcome.Cost, true
		}},
	}
}

// reference is the place of the reference point, beyond the worst of the true front by a tenth of its range.
const reference = 1.1

// pairTask is a task of two goals.
type pairTask struct {
	ObjectivesTask
	problem   *recorded.Problem
	column    SecondColumn
	goals     space.Goals
	low, span [2]float64 // of the true front, as the numbers count
}

// Validate reports what makes no sense, named as the flags of the command are.
func (b Objectives) Validate() error {
	var names []string
	for _, c := range SecondColumns() {
		names = append(names, c.Name)
	}
	for i, name := range b.Second {
		if !slices.Contains(names, name) {
			return fmt.Errorf("--second: %q is no column: want %s%s", name, strings.Join(names, ", "), space.DidYouMean(name, names))
		}
		if slices.Contains(b.Second[:i], name) {
			return fmt.Errorf("--second: %s is given twice", name)
		}
	}
	for _, name := range b.Strategies {
		if entry, err := strategies.Parse(name); err != nil {
			return fmt.Errorf("--strategies: %w", err)
		} else if !entry.Several {
			return fmt.Errorf("--strategies: %s looks for the least cost alone: want %s", entry.Name, strategies.ForSeveral())
		}
	}
	switch {
	case len(b.Seeds) < 2:
		return fmt.Errorf("--seeds: %d: want 2 or more, for a standard error", len(b.Seeds))
	case len(b.Evaluations) == 0 || b.Evaluations[0] < 1 || !slices.IsSorted(b.Evaluations):
		return fmt.Errorf("--evals: %v: want numbers from 1, ascending", b.Evaluations)
	}
	return nil
}

// Run carries out every search.
func (b Objectives) Run(ctx context.Context) (*ObjectivesReport, error) {
	if err := b.Validate(); err != nil {
		return nil, err
	}
	r := &ObjectivesReport{Seeds: len(b.Seeds)}
	tasks, err := b.tasks(r)
	if err != nil {
		return nil, err
	}
	found := make([][][]float64, len(tasks)*len(b.Strategies)) // by task and strategy, then by seed and number of evaluations
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(cmp.Or(b.Jobs, runtime.NumCPU()))
	var mu sync.Mutex
	done := 0
	for k := range found {
		found[k] = make([][]float64, len(b.Seeds))
		t, name := tasks[k/len(b.Strategies)], b.Strategies[k%len(b.Strategies)]
		for i, seed := range b.Seeds {
			group.Go(func() (err error) {
				if found[k][i], err = b.search(ctx, t, name, seed); err != nil {
					return fmt.Errorf("%s, strategy %s, seed %d: %w", t.Name, name, seed, err)
				}
				mu.Lock()
				defer mu.Unlock()
				if done++; b.Observe != nil {
					b.Observe(done, len(found)*len(b.Seeds))
				}
				return nil
			})
		}
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	b.sum(r, tasks, found)
	return r, nil
}

// tasks makes the tasks of all spaces.
func (b Objectives) tasks(r *ObjectivesReport) (tasks []*pairTask, err error) {
	for _, s := range b.Spaces {
		columns := SecondColumns()
		if s.column != nil {
			columns = []SecondColumn{*s.column}
		}
		for _, c := range columns {
			if s.column == nil && len(b.Second) > 0 && !slices.Contains(b.Second, c.Name) {
				continue
			}
			t := newPairTask(s, c)
			if t.Points == 0 {
				continue
			}
			if len(t.Front) < 2 {
				r.Left = append(r.Left, t.Name)
			} else {
				if b.Rows {
					t.listRows()
				}
				tasks = append(tasks, t)
				r.Tasks = append(r.Tasks, t.ObjectivesTask)
			}
			if len(b.Second) == 0 {
				break
			}
		}
	}
	if len(tasks) == 0 {
		return nil, fmt.Errorf("no space makes a task: want files that have one of the columns, and more than one point on the front of it and the cost")
	}
	return tasks, nil
}

// newPairTask finds the true front of a space in its cost and a column.
func newPairTask(s DataSpace, c SecondColumn) *pairTask {
	t := &pairTask{problem: s.Problem, column: c, goals: space.Goals{{}, {Metric: c.Name}}}
	t.Name, t.Space, t.Second, t.Reference, t.Log = s.Name+" "+c.Name, s.Name, c.Name, reference, [2]bool{true, true}
	front := space.NewFront(t.goals)
	for p := range s.Problem.Space().All() {
		o := t.outcome(p)
		if values, ok := t.goals.Values(o); ok && o.Counts() {
			for k, v := range values {
				t.Log[k] = t.Log[k] && v > 0
			}
			front.Offer(space.Entry{Number: t.Points, Outcome: o})
			t.Points++
		}
	}
	for _, e := range front.Entries() {
		values, _ := t.goals.Values(e.Outcome)
		t.Front = append(t.Front, [2]float64(values))
	}
	if len(t.Front) < 2 {
		return t
	}
	first, last := t.Front[0], t.Front[len(t.Front)-1] // the best cost with the worst of the others, and the other way round
	for k := range 2 {
		best, worst := min(first[k], last[k]), max(first[k], last[k])
		t.low[k] = t.counted(k, best)
		t.span[k] = t.counted(k, worst) - t.low[k]
	}
	t.Volume = t.volume(t.Front)
	return t
}

// outcome returns what is known of a point, with the column as a metric.
func (t *pairTask) outcome(p space.Point) space.Outcome {
	o := t.problem.Lookup(p)
	if row := t.problem.Row(p); row != nil && o.Status == space.OK {
		if v, ok := t.column.of(row); ok {
			o.Metrics = []space.Metric{{Name: t.column.Name, Value: v}}
		}
	}
	return o
}

// counted returns a number as it counts.
func (t *pairTask) counted(k int, v float64) float64 {
	if t.Log[k] {
		return math.Log(v)
	}
	return v
}

// volume returns the hypervolume of some pairs of numbers.
func (t *pairTask) volume(pairs [][2]float64) float64 {
	places := make([][]float64, len(pairs))
	for i, v := range pairs {
		places[i] = []float64{(t.counted(0, v[0]) - t.low[0]) / t.span[0], (t.counted(1, v[1]) - t.low[1]) / t.span[1]}
	}
	return space.Hypervolume(places, []float64{reference, reference})
}

// listRows lists the points of the task.
func (t *pairTask) listRows() {
	in := t.problem.Space()
	for _, p := range in.Parameters() {
		t.Names, t.Sizes = append(t.Names, p.Name), append(t.Sizes, p.Len())
	}
	for p := range in.All() {
		o := t.outcome(p)
		values, ok := t.goals.Values(o)
		if !ok || !o.Counts() {
			values = []float64{}
		}
		t.Rows, t.Values = append(t.Rows, p.Ordinals()), append(t.Values, values)
	}
}

// search carries out one search, and returns the share of the true hypervolume after each number of evaluations.
func (b Objectives) search(ctx context.Context, t *pairTask, name string, seed uint64) ([]float64, error) {
	entry, err := strategies.Parse(name)
	if err != nil {
		return nil, err
	}
	strategy, err := entry.New(t.problem.Space(), seed, strategies.Hints{Goals: t.goals, Start: kernels.Starts(t.problem)})
	if err != nil {
		return nil, err
	}
	look := func(_ context.Context, trial space.Trial) (space.Outcome, error) { return t.outcome(trial.Point), nil }
	steps, err := trace(ctx, strategy, search.EvaluatorFunc(look), search.Settings{Budget: search.Budget{Evaluations: slices.Max(b.Evaluations)}, Virtual: true})
	if err != nil {
		return nil, err
	}
	var pairs [][2]float64
	var out []float64
	at := 0
	for _, n := range b.Evaluations {
		for ; at < min(n, len(steps)); at++ {
			if values, ok := t.goals.Values(steps[at].outcome); ok && steps[at].outcome.Counts() {
				pairs = append(pairs, [2]float64(values))
			}
		}
		out = append(out, t.volume(pairs)/t.Volume)
	}
	return out, nil
}

// sum takes the means over seeds, and over tasks.
func (b Objectives) sum(r *ObjectivesReport, tasks []*pairTask, found [][][]float64) {
	n := len(b.Strategies)
	for e, evals := range b.Evaluations {
		for j, name := range b.Strategies {
			means := make([]float64, len(b.Seeds))
			for k, t := range tasks {
				shares := make([]float64, len(b.Seeds))
				for i := range b.Seeds {
					shares[i] = found[k*n+j][i][e]
					means[i] += shares[i] / float64(len(tasks))
				}
				r.Results = append(r.Results, ObjectivesResult{t.Name, name, evals, estimate(shares)})
			}
			r.Overall = append(r.Overall, ObjectivesResult{"", name, evals, estimate(means)})
		}
	}
	slices.SortStableFunc(r.Results, func(x, y ObjectivesResult) int {
		at := func(name string) int {
			return slices.IndexFunc(tasks, func(t *pairTask) bool { return t.Name == name })
		}
		return cmp.Compare(at(x.Task), at(y.Task))
	})
}
