package tune

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tune/kernels"
	"tune/kernels/native"
	"tune/search"
)

// KernelBench tunes a kernel whose costs are measured at several shapes, and measures each result beside the kernel's
// baseline and the installed libraries that compute the same.
type KernelBench struct {
	Kernel kernels.Kernel
	Shapes []kernels.Shape
	Budget search.Budget // for each shape
	Seed   uint64
	Jobs   int
	Peers  []string // names of libraries; none means all that the kernel knows and finds
	// Limit is about how long the final measurement of a shape takes; 0 means 20 s.
	Limit time.Duration
	// Observe is called with each outcome of a search; see search.Settings. Start is called before each shape.
	Observe func(search.Event)
	Start   func(Start)
}

// BenchRow is what came of one shape.
type BenchRow struct {
	Shape   string `json:"shape"`
	Threads int    `json:"threads"`
	// Rate is in billions of operations a second; 0 where the kernel does not count them. PeakShare is its
	// part of the measured peak of the threads' cores; 0 where that is not known.
	Rate      float64 `json:"gflops"`
	PeakShare float64 `json:"peak_share"`
	// Peers are the rates of the libraries, and Baseline that of the kernel's baseline.
	Peers    map[string]float64 `json:"peers"`
	Baseline float64            `json:"baseline"`
	// BestPeer is the fastest library, or "baseline" where there is none. Ratio is how many times faster than
	// it the result is, the median of paired measurements, with its 95 % interval.
	BestPeer string  `json:"best_peer"`
	Ratio    float64 `json:"ratio"`
	Low      float64 `json:"ratio_low"`
	High     float64 `json:"ratio_high"`
	// RatioBaseline is the same against the baseline.
	RatioBaseline float64 `json:"ratio_baseline"`
	Pairs         int     `json:"pairs"`
	Unverified    bool    `json:"unverified,omitempty"` // the machine was not idle
	Evaluations   int     `json:"evaluations"`
	Key           string  `json:"point"`
}

const baselineName = "baseline"

// Run tunes and measures one shape after another, and hands each row over as soon as it is known.
func (b KernelBench) Run(ctx context.Context, row func(BenchRow) error) error {
	// A wrong name is told before anything is tuned.
	for _, shape := range b.Shapes {
		problem, err := b.Kernel.Problem(shape)
		if err != nil {
			return fmt.Errorf("%s: %w", shape, err)
		}
		if _, err := b.peers(problem); err != nil {
			return err
		}
	}
	dir, err := os.MkdirTemp("", "tune-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for i, shape := range b.Shapes {
		report, err := Run(ctx, Options{
			Kernel: b.Kernel, Shape: shape, Seed: b.Seed, Budget: b.Budget, Jobs: b.Jobs,
			Dir: filepath.Join(dir, fmt.Sprint(i)), Observe: b.Observe, Start: b.Start,
		})
		if err != nil {
			return fmt.Errorf("%s: %w", shape, err)
		}
		if report.Result.Stop == search.Interrupted {
			return context.Cause(ctx)
		}
		if report.Schedule == nil {
			return fmt.Errorf("%s: %w", shape, ErrNoValid)
		}
		r, err := b.measure(ctx, shape, report)
		if err != nil {
			return fmt.Errorf("%s: %w", shape, err)
		}
		if err := row(r); err != nil {
			return err
		}
	}
	return nil
}

func (b KernelBench) measure(ctx context.Context, shape kernels.Shape, report *Report) (BenchRow, error) {
	r := BenchRow{Shape: shape.String(), Threads: shapeThreads(shape), Peers: map[string]float64{},
		Evaluations: report.Result.Told, Key: report.Schedule.Key}
	problem, err := b.Kernel.Problem(shape)
	if err != nil {
		return r, err
	}
	comparer, ok := problem.(kernels.Comparer)
	if !ok {
		return r, fmt.Errorf("the costs of %s are exact: there is nothing to measure", b.Kernel.Info().Name)
	}
	point, err := problem.Space().Parse(report.Schedule.Key)
	if err != nil {
		return r, err
	}
	s := &session{info: b.Kernel.Info(), problem: problem}
	seeds := freshSeeds(b.Seed)[:1]
	winner, err := s.build(ctx, point, seeds)
	if err != nil {
		return r, err
	}
	score, err := winner.Score(ctx, 0)
	if err != nil {
		return r, err
	}
	names, rivals, err := b.rivals(ctx, s, seeds)
	if err != nil {
		return r, err
	}
	final, err := comparer.Compare(ctx, winner, rivals, cmp.Or(b.Limit, 20*time.Second))
	if err != nil {
		return r, err
	}

	unit, rate := rateOf(score)
	operations := rate * score.Cost // billions a call, times a billion
	best := -1
	for i, c := range final.Comparisons {
		if c.Err != nil {
			if names[i] == baselineName {
				return r, fmt.Errorf("%s: %w", names[i], c.Err)
			}
			continue // a library that dies here is none to compare with
		}
		r.Rate = operations / c.Baseline
		if names[i] == baselineName {
			r.Baseline, r.RatioBaseline = operations/c.Cost, 1/c.Ratio
		} else {
			r.Peers[names[i]] = operations / c.Cost
		}
		// The baseline comes last, and counts as a peer where it is the only one.
		if best < 0 || names[i] != baselineName && c.Ratio > final.Comparisons[best].Ratio {
			best = i
		}
	}
	if best < 0 {
		return r, errors.New("nothing was left to compare with")
	}
	// The comparison has the winner as its baseline, so that its ratio is that of the peer.
	c := final.Comparisons[best]
	r.BestPeer, r.Ratio, r.Pairs, r.Unverified = names[best], 1/c.Ratio, c.Pairs, c.Unverified
	if c.Low > 0 && c.High > 0 {
		r.Low, r.High = 1/c.High, 1/c.Low
	}
	peaks, err := native.Peak(ctx)
	if err != nil {
		return r, err
	}
	if peak := map[string]float64{"gflops": peaks.F32, "gops": peaks.I8}[unit]; peak > 0 {
		r.PeakShare = r.Rate * 1e9 / (peak * float64(r.Threads))
	}
	return r, nil
}

func (b KernelBench) peers(problem kernels.Problem) ([]kernels.Peer, error) {
	if peered, ok := problem.(kernels.Peered); ok {
		return peered.Peers(b.Peers)
	}
	if len(b.Peers) > 0 {
		return nil, fmt.Errorf("no library is known that computes %s: leave the peers out", b.Kernel.Info().Name)
	}
	return nil, nil
}

// rivals returns the libraries and, last, the baseline, all of them right on the inputs of the seeds.
func (b KernelBench) rivals(ctx context.Context, s *session, seeds []uint64) (names []string, rivals []kernels.Candidate, err error) {
	peers, err := b.peers(s.problem)
	if err != nil {
		return nil, nil, err
	}
	for _, p := range peers {
		if err := kernels.Verify(ctx, p.Candidate, seeds); err != nil {
			return nil, nil, fmt.Errorf("peer %s: %w", p.Name, err)
		}
		names, rivals = append(names, p.Name), append(rivals, p.Candidate)
	}
	baseline, err := s.build(ctx, s.problem.Presets()[0].Point, seeds)
	if err != nil {
		return nil, nil, fmt.Errorf("baseline: %w", err)
	}
	return append(names, baselineName), append(rivals, baseline), nil
}

// rateOf returns the metric of a score that is its rate of operations, or of bytes where it counts none.
func rateOf(score kernels.Score) (unit string, rate float64) {
	for _, unit := range []string{"gflops", "gops", "gbs"} {
		for _, m := range score.Metrics {
			if m.Name == unit {
				return unit, m.Value
			}
		}
	}
	return "", 0
}

// shapeThreads returns the threads that a shape allows; 1 where it has no such field.
func shapeThreads(s kernels.Shape) int {
	for part := range strings.SplitSeq(s.String(), ",") {
		if name, _, _ := strings.Cut(part, "="); name == "threads" {
			return s.Int("threads")
		}
	}
	return 1
}
