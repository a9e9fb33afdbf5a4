package bench

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"tune/results/insight"
	"tune/search"
	"tune/search/strategies"
	"tune/search/surrogate"
	"tune/space"
)

// Importance compares what searches of measured spaces say about the importance of parameters with the truth, which all measurements of
// the space give. Nothing is written to disk, and the result does not depend on Jobs.
type Importance struct {
	Spaces      []DataSpace
	Strategy    string // as strategies.Parse reads it
	Seeds       []uint64
	Evaluations []int // the numbers of evaluations after which they are compared, ascending
	Jobs        int   // searches at once; 0 means one for each core
	Outcomes    bool  // whether the report holds the outcomes, for other programs
	// Observe is called, by one goroutine at a time, after each search; nil observes nothing.
	Observe func(done, total int)
}

// ImportanceReport is how well the importance of parameters was found.
type ImportanceReport struct {
	Seeds   int                `json:"seeds"`
	Overall []ImportanceResult `json:"overall"` // the mean over spaces
	Spaces  []ImportanceResult `json:"spaces"`
	Truth   []ImportanceTruth  `json:"truth"`
	// Outcomes are what each search saw; nil unless they were asked for.
	Outcomes []ImportanceOutcomes `json:"outcomes,omitempty"`
}

// ImportanceResult is the mean over seeds of a rank correlation (Spearman) with the true shares of the parameters, after a number of
// evaluations, with its standard error.
type ImportanceResult struct {
	Space       string   `json:"space,omitempty"` // "" over all
	Evaluations int      `json:"evals"`
	Learned     Estimate `json:"learned"`  // of the shares of the model
	Measured    Estimate `json:"measured"` // of the shares of the outcomes themselves
}

// ImportanceTruth are the true shares of the parameters of a space.
type ImportanceTruth struct {
	Space  string         `json:"space"`
	Shares insight.Shares `json:"shares"`
}

// ImportanceOutcomes are the right outcomes of one search, in the order in which it asked.
type ImportanceOutcomes struct {
	Space  string      `json:"space"`
	Seed   uint64      `json:"seed"`
	Names  []string    `json:"names"`
	Sizes  []int       `json:"sizes"`  // of the domains
	Trials []int       `json:"trials"` // the number of each outcome
	Points [][]int     `json:"points"` // ordinals
	Values [][]float64 `json:"values"` // those of the parameters; of a word, its ordinal
	Costs  []float64   `json:"costs"`
}

// correlations of one search: those of the learned and of the measured shares, for each number of evaluations.
type correlations [][2]float64

// Run carries out every search.
func (b Importance) Run(ctx context.Context) (*ImportanceReport, error) {
	entry, err := strategies.Parse(b.Strategy)
	if err != nil {
		return nil, err
	}
	r := &ImportanceReport{Seeds: len(b.Seeds)}
	for _, s := range b.Spaces {
		r.Truth = append(r.Truth, ImportanceTruth{s.Name, truth(s)})
	}
	found := make([]correlations, len(b.Spaces)*len(b.Seeds))
	outcomes := make([]ImportanceOutcomes, len(found))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(cmp.Or(b.Jobs, runtime.NumCPU()))
	var mu sync.Mutex
	done := 0
	for k := range found {
		group.Go(func() error {
			in, seed := k/len(b.Seeds), b.Seeds[k%len(b.Seeds)]
			one, seen, err := b.search(ctx, b.Spaces[in], entry, seed, r.Truth[in].Shares)
			if err != nil {
				return fmt.Errorf("%s, seed %d: %w", b.Spaces[in].Name, seed, err)
			}
			found[k], outcomes[k] = one, seen
			mu.Lock()
			defer mu.Unlock()
			if done++; b.Observe != nil {
				b.Observe(done, len(found))
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	if b.Outcomes {
		r.Outcomes = outcomes
	}
	b.sum(r, found)
	return r, nil
}

// truth are the shares over all right points of a measured space.
func truth(s DataSpace) insight.Shares {
	var points []space.Point
	var costs []float64
	for p := range s.Problem.Space().All() {
		if o := s.Problem.Lookup(p); o.Counts() {
			points, costs = append(points, p), append(costs, o.Cost)
		}
	}
	return insight.True(s.Problem.Space(), points, costs)
}

// search carries out one search, and compares.
func (b Importance) search(ctx context.Context, s DataSpace, entry strategies.Strategy, seed uint64, truth insight.Shares) (correlations, ImportanceOutcomes, error) {
	in := s.Problem.Space()
	seen := ImportanceOutcomes{Space: s.Name, Seed: seed}
	for _, p := range in.Parameters() {
		seen.Names, seen.Sizes = append(seen.Names, p.Name), append(seen.Sizes, p.Len())
	}
	strategy, err := StrategyOf(entry, s.Problem, seed)
	if err != nil {
		return nil, seen, err
	}
	look := func(_ context.Context, t space.Trial) (space.Outcome, error) { return s.Problem.Lookup(t.Point), nil }
	steps, err := trace(ctx, strategy, search.EvaluatorFunc(look), search.Settings{Budget: search.Budget{Evaluations: slices.Max(b.Evaluations)}, Virtual: true})
	if err != nil {
		return nil, seen, err
	}
	var right []space.Observation
	var out correlations
	at := 0
	for _, n := range b.Evaluations {
		for ; at < min(n, len(steps)); at++ {
			if o := steps[at].outcome; o.Counts() {
				right = append(right, space.Observation{Point: steps[at].point, Outcome: o})
				seen.add(at, steps[at])
			}
		}
		learned, measured := insight.Of(in, right, func(in *space.Space, right []space.Observation, log bool) (insight.Model, bool) {
			return surrogate.Learn(in, seed, right, log)
		})
		out = append(out, [2]float64{rankCorrelation(truth, learned), rankCorrelation(truth, measured)})
	}
	return out, seen, nil
}

func (o *ImportanceOutcomes) add(trial int, s step) {
	o.Trials, o.Points, o.Costs = append(o.Trials, trial), append(o.Points, s.point.Ordinals()), append(o.Costs, s.outcome.Cost)
	var values []float64
	for i, p := range s.point.Space().Parameters() {
		v := float64(s.point.Ordinal(i))
		if s.point.Ordinal(i) >= 0 {
			if x, ok := p.At(s.point.Ordinal(i)).Number(); ok {
				v = x
			}
		}
		values = append(values, v)
	}
	o.Values = append(o.Values, values)
}

// sum takes the means over seeds, and over spaces.
func (b Importance) sum(r *ImportanceReport, found []correlations) {
	seeds := len(b.Seeds)
	result := func(name string, evals int, of func(seed int) [2]float64) ImportanceResult {
		out := ImportanceResult{Space: name, Evaluations: evals}
		for side, to := range []*Estimate{&out.Learned, &out.Measured} {
			mean, squares := 0.0, 0.0
			for i := range seeds {
				mean += of(i)[side] / float64(seeds)
			}
			for i := range seeds {
				d := of(i)[side] - mean
				squares += d * d
			}
			to.Mean = mean
			if seeds > 1 {
				to.Error = math.Sqrt(squares / float64(seeds-1) / float64(seeds))
			}
		}
		return out
	}
	for e, n := range b.Evaluations {
		for k, s := range b.Spaces {
			r.Spaces = append(r.Spaces, result(s.Name, n, func(i int) [2]float64 { return found[k*seeds+i][e] }))
		}
		r.Overall = append(r.Overall, result("", n, func(i int) (mean [2]float64) {
			for k := range b.Spaces {
				for side := range mean {
					mean[side] += found[k*seeds+i][e][side] / float64(len(b.Spaces))
				}
			}
			return mean
		}))
	}
}

// rankCorrelation is that of the shares of the parameters which have a true share. Parameters that are not in found count as 0.
func rankCorrelation(truth, found insight.Shares) float64 {
	var a, b []float64
	for _, s := range truth.Single {
		a = append(a, s.Share)
		share := 0.0
		for _, o := range found.Single {
			if o.Parameters[0] == s.Parameters[0] {
				share = o.Share
			}
		}
		b = append(b, share)
	}
	return spearman(a, b)
}

// spearman is the rank correlation of two samples: the correlation of their ranks, where equal values share the mean of theirs. It is 0
// where one of them has equal values only.
func spearman(a, b []float64) float64 {
	ra, rb := ranks(a), ranks(b)
	mean := float64(len(a)-1) / 2
	var ab, aa, bb float64
	for i := range ra {
		x, y := ra[i]-mean, rb[i]-mean
		ab, aa, bb = ab+x*y, aa+x*x, bb+y*y
	}
	if aa == 0 || bb == 0 {
		return 0
	}
	return ab / math.Sqrt(aa*bb)
}

func ranks(values []float64) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		for j, w := range values {
			switch {
			case w < v:
				out[i]++
			case w == v && j != i:
				out[i] += 0.5
			}
		}
	}
	return out
}
