package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strconv"
	"sync"

	"golang.org/x/sync/errgroup"

	"tune/kernels"
	"tune/kernels/recorded"
	"tune/results/earlier"
	"tune/search"
	"tune/search/strategies"
	"tune/space"
)

// Data compares strategies on measured spaces, whose optimum is known. Every strategy searches every space with every seed, for
// the same number of evaluations; a failed configuration counts as an evaluation. Nothing is written to disk, and the result does
// not depend on Jobs.
type Data struct {
	Spaces      []DataSpace
	Strategies  []string // as strategies.Parse reads them
	Seeds       []uint64
	Evaluations int
	// From are earlier measurements that every search starts from.
	From []*earlier.Earlier
	// Jobs is how many searches run at once; 0 means one for each core.
	Jobs int
	// Observe is called, by one goroutine at a time, after each search; nil observes nothing.
	Observe func(done, total int)
}

// DataSpace is a measured space.
type DataSpace struct {
	Name    string
	Problem *recorded.Problem

	column *SecondColumn // the only second goal, of a task that Knobs returned; nil for a file, which has those of SecondColumns
}

// DataReport is how the strategies did.
type DataReport struct {
	Evaluations int          `json:"evals"`
	Seeds       int          `json:"seeds"`
	Overall     []DataResult `json:"overall"` // one for each strategy: the mean over spaces, all with equal weight
	Spaces      []DataResult `json:"spaces"`  // one for each strategy of each space
}

// DataResult is how one strategy did on one space, or over all.
type DataResult struct {
	Space    string `json:"space,omitempty"` // "" over all
	Strategy string `json:"strategy"`
	// Mean is the optimum over the best cost so far, as a mean over seeds, at some numbers of evaluations. It is 1 where every
	// seed has found the optimum; a seed without a valid configuration counts as 0.
	Mean Checkpoints `json:"mean"`
	// Optimum is the share of seeds that have found the optimum by the end.
	Optimum float64 `json:"optimum"`
	// Wasted is the mean number of evaluations that were spent on failed configurations.
	Wasted float64 `json:"wasted"`
	// Error is the standard error of Mean; none with a single seed.
	Error Checkpoints `json:"standard_error"`
	// Curve has the mean after each evaluation, and the band that holds four fifths of the seeds.
	Curve Band `json:"-"`
}

// Band is a mean over seeds with the tenth and the ninetieth percentile, after each evaluation.
type Band struct{ Mean, Low, High []float64 }

// Checkpoints are values at numbers of evaluations.
type Checkpoints struct {
	At    []int
	Value []float64
}

// MarshalJSON writes an object from numbers of evaluations to values, in order.
func (c Checkpoints) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, n := range c.At {
		v, err := json.Marshal(c.Value[i])
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%q:%s", strconv.Itoa(n), v)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// dataSearch is one search of a space: the ratio after each evaluation, and how many evaluations failed.
type dataSearch struct {
	ratio  []float64
	wasted int
}

// Run carries out every search.
func (b Data) Run(ctx context.Context) (*DataReport, error) {
	entries := make([]strategies.Strategy, len(b.Strategies))
	for i, name := range b.Strategies {
		var err error
		if entries[i], err = strategies.Parse(name); err != nil {
			return nil, err
		}
	}
	for _, s := range b.Spaces {
		if !(s.Problem.Optimum() > 0) {
			return nil, fmt.Errorf("%s: its optimum is %v: the ratio to it needs costs above 0", s.Name, s.Problem.Optimum())
		}
	}
	hints := make([]strategies.Hints, len(b.Spaces))
	for i, s := range b.Spaces {
		var sources []space.Source
		for _, e := range b.From {
			source, _ := e.Carry(s.Problem.Space())
			sources = append(sources, source)
		}
		hints[i] = strategies.Hints{Start: kernels.Starts(s.Problem), Sources: space.BestFirst(sources)}
	}
	searches := make([][]dataSearch, len(b.Spaces)*len(entries)) // by space and strategy, then by seed
	jobs := b.Jobs
	if jobs == 0 {
		jobs = runtime.NumCPU()
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(jobs)
	var mu sync.Mutex
	done := 0
	for k := range searches {
		searches[k] = make([]dataSearch, len(b.Seeds))
		s, hint, entry := b.Spaces[k/len(entries)], hints[k/len(entries)], entries[k%len(entries)]
		for i, seed := range b.Seeds {
			group.Go(func() error {
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				one, err := b.search(ctx, s.Problem, entry, seed, hint)
				if err != nil {
					return fmt.Errorf("%s, strategy %s, seed %d: %w", s.Name, entry.Text(), seed, err)
				}
				searches[k][i] = one
				if b.Observe != nil {
					mu.Lock()
					defer mu.Unlock()
					done++
					b.Observe(done, len(searches)*len(b.Seeds))
				}
				return nil
			})
		}
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return b.report(searches), nil
}

// search carries out one search. If it ends early, because the space has no other point, its best cost stands for the remaining
// evaluations.
func (b Data) search(ctx context.Context, p *recorded.Problem, entry strategies.Strategy, seed uint64, h strategies.Hints) (dataSearch, error) {
	strategy, err := entry.New(p.Space(), seed, h)
	if err != nil {
		return dataSearch{}, err
	}
	look := func(_ context.Context, t space.Trial) (space.Outcome, error) { return p.Lookup(t.Point), nil }
	steps, err := trace(ctx, strategy, search.EvaluatorFunc(look), search.Settings{Budget: search.Budget{Evaluations: b.Evaluations}, Virtual: true})
	if err != nil {
		return dataSearch{}, err
	}
	out := dataSearch{ratio: make([]float64, b.Evaluations)}
	best, optimum := math.Inf(1), p.Optimum()
	for i := range out.ratio {
		if i < len(steps) {
			switch o := steps[i].outcome; {
			case o.Status != space.OK:
				out.wasted++
			case o.Fidelity == 0:
				best = min(best, space.Objective{}.Value(o))
			}
		}
		out.ratio[i] = optimum / best
	}
	return out, nil
}

// report sums the searches up, in the order of spaces, strategies and seeds.
func (b Data) report(searches [][]dataSearch) *DataReport {
	r := &DataReport{Evaluations: b.Evaluations, Seeds: len(b.Seeds)}
	n := len(b.Strategies)
	for k, runs := range searches {
		curves := make([][]float64, len(runs))
		found, wasted := 0.0, 0.0
		for i, s := range runs {
			curves[i] = s.ratio
			wasted += float64(s.wasted)
			if s.ratio[b.Evaluations-1] == 1 {
				found++
			}
		}
		seeds := float64(len(runs))
		r.Spaces = append(r.Spaces, b.result(b.Spaces[k/n].Name, b.Strategies[k%n], curves, found/seeds, wasted/seeds))
	}
	for j, name := range b.Strategies {
		// The mean over spaces is taken for each seed, so that the band is that of whole suites.
		curves := make([][]float64, len(b.Seeds))
		found, wasted := 0.0, 0.0
		for i := range curves {
			curves[i] = make([]float64, b.Evaluations)
		}
		for k := range b.Spaces {
			one := r.Spaces[k*n+j]
			found, wasted = found+one.Optimum, wasted+one.Wasted
			for i, s := range searches[k*n+j] {
				for e, v := range s.ratio {
					curves[i][e] += v / float64(len(b.Spaces))
				}
			}
		}
		spaces := float64(len(b.Spaces))
		r.Overall = append(r.Overall, b.result("", name, curves, found/spaces, wasted/spaces))
	}
	return r
}

// result reads the means, their errors and the band off the curves of the seeds.
func (b Data) result(name, strategy string, curves [][]float64, optimum, wasted float64) DataResult {
	out := DataResult{Space: name, Strategy: strategy, Optimum: optimum, Wasted: wasted}
	column := make([]float64, len(curves))
	quantile := func(q float64) float64 {
		at := q * float64(len(column)-1)
		i := int(at)
		return column[i] + (at-float64(i))*(column[min(i+1, len(column)-1)]-column[i])
	}
	for e := range b.Evaluations {
		sum := 0.0
		for i, c := range curves {
			column[i] = c[e]
			sum += c[e]
		}
		slices.Sort(column)
		out.Curve.Mean = append(out.Curve.Mean, sum/float64(len(curves)))
		out.Curve.Low, out.Curve.High = append(out.Curve.Low, quantile(0.1)), append(out.Curve.High, quantile(0.9))
	}
	for _, n := range checkpoints(b.Evaluations) {
		mean := out.Curve.Mean[n-1]
		out.Mean.At, out.Mean.Value = append(out.Mean.At, n), append(out.Mean.Value, mean)
		if len(curves) == 1 {
			continue
		}
		squares := 0.0
		for _, c := range curves {
			squares += (c[n-1] - mean) * (c[n-1] - mean)
		}
		seeds := float64(len(curves))
		out.Error.At, out.Error.Value = append(out.Error.At, n), append(out.Error.Value, math.Sqrt(squares/(seeds-1)/seeds))
	}
	return out
}
