package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tune/kernels"
	"tune/results"
	"tune/results/schedule"
	"tune/space"
)

// Peers tunes a kernel whose costs are measured at several shapes, and measures each result beside the kernel's
// baseline and the installed libraries that compute the same.
type Peers struct {
	Kernel kernels.Kernel
	Shapes []kernels.Shape
	// Tune searches at a shape, in a new run directory.
	Tune  func(ctx context.Context, shape kernels.Shape, dir string) (Tuned, error)
	Seed  uint64   // of the searches; results are then checked on inputs that the searches did not use
	Names []string // of libraries, which have to be installed; none means all that the kernel knows and finds
	Alone bool     // no libraries at all
	// Limit is roughly how long the measurement of a shape takes; 0 means 20 s.
	Limit time.Duration
	// Dir is the folder that keeps the run of each shape, in a folder with the name of the shape, or of the kernel where it has none; ""
	// keeps none.
	Dir string
	// Measuring is told which of how many turns of that measurement begins; nil is not told.
	Measuring func(turn, of int)
	// Failed is told why one of several shapes has no row; nil is not told.
	Failed func(error)
}

// Tuned is the result of a search.
type Tuned struct {
	Key         string // of the point that was exported
	Evaluations int
}

// Row is the result for one shape.
type Row struct {
	Shape   string `json:"shape"`
	Threads int    `json:"threads"`
	// Rate is the kernel's rate, in Unit: "GFLOP/s", "GOP/s" or "GB/s". PeakShare is the share that the kernel has of what the cores do
	// that it uses if they do nothing but PeakOf, such as "f32 multiply-add, 512 bits" or "read in memory"; 0 where that is unknown.
	// Rate and Unit are zero where the kernel counts neither operations nor bytes.
	Rate      float64 `json:"rate"`
	Unit      string  `json:"unit"`
	PeakShare float64 `json:"peak_share"`
	PeakOf    string  `json:"peak_of,omitempty"`
	// Cost and BaselineCost are the costs of the result and of the baseline, in CostUnit.
	Cost         float64    `json:"cost"`
	BaselineCost float64    `json:"baseline_cost"`
	CostUnit     space.Unit `json:"cost_unit"`
	// GFLOPS is in billions of floating-point operations a second; 0 where the kernel does not count them.
	GFLOPS float64 `json:"gflops,omitempty"`
	// Peers are the rates of the libraries, and Baseline that of the kernel's baseline, also in Unit.
	Peers map[string]float64 `json:"peers"`
	// PeerCosts are the costs of the libraries, in CostUnit.
	PeerCosts map[string]float64 `json:"peer_costs"`
	// PeerErrors are the largest absolute errors of the libraries' results, of those whose checks measure them.
	PeerErrors map[string]float64 `json:"peer_errors,omitempty"`
	Baseline   float64            `json:"baseline"`
	// LeftOut says of libraries, or ways of one, why they are not compared with.
	LeftOut map[string]string `json:"left_out,omitempty"`
	// BestPeer is the fastest library, or "baseline" where there is none. Ratio is how many times faster than it the result is:
	// the median of paired measurements, with its 95 % interval.
	BestPeer string  `json:"best_peer"`
	Ratio    float64 `json:"ratio"`
	Low      float64 `json:"ratio_low"`
	High     float64 `json:"ratio_high"`
	// RatioBaseline is the same against the baseline.
	RatioBaseline float64 `json:"ratio_baseline"`
	// SerialRatio is the same against the best point with one thread that the search found, with its interval, where the shape
	// allows several threads; 0 where the search found no such point, and 1 where the result is that point.
	SerialRatio float64 `json:"serial_ratio,omitempty"`
	SerialLow   float64 `json:"serial_ratio_low,omitempty"`
	SerialHigh  float64 `json:"serial_ratio_high,omitempty"`
	Pairs       int     `json:"pairs"`
	// Within is the share by which the costs of a point may differ, where the intervals follow from that alone; otherwise 0.
	Within      float64 `json:"within,omitempty"`
	Unverified  bool    `json:"unverified,omitempty"` // the machine was not idle
	Evaluations int     `json:"evaluations"`
	Key         string  `json:"point"`
}

// The names of rivals that are not libraries.
const (
	baselineName = "baseline"
	serialName   = "serial"
)

// rival is a candidate that a result is measured beside.
type rival struct {
	name      string
	candidate kernels.Candidate
}

// Run tunes and measures one shape after another, and passes on each row as soon as it is known. A shape that fails costs its own row
// alone; the error is then that of the first.
func (b Peers) Run(ctx context.Context, row func(Row) error) error {
	// A wrong name is reported before anything is tuned.
	if _, err := b.Absent(); err != nil {
		return err
	}
	dir := b.Dir
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", "tune-bench-"); err != nil {
			return err
		}
		defer os.RemoveAll(dir)
	}
	failed, first := 0, error(nil)
	for _, shape := range b.Shapes {
		r, err := b.one(ctx, shape, dir)
		if err == nil {
			if err := row(r); err != nil {
				return err
			}
			continue
		}
		err = fmt.Errorf("%s: %w", shape, err)
		if b.Failed != nil && len(b.Shapes) > 1 {
			b.Failed(err)
		}
		if ctx.Err() != nil {
			return err
		}
		failed, first = failed+1, cmp.Or(first, err)
	}
	if failed > 1 {
		return fmt.Errorf("%d of %d shapes have no result; the first: %w", failed, len(b.Shapes), first)
	}
	return first
}

// one tunes at one shape, and measures the result.
func (b Peers) one(ctx context.Context, shape kernels.Shape, dir string) (Row, error) {
	run := filepath.Join(dir, cmp.Or(shape.String(), b.Kernel.Info().Name))
	tuned, err := b.Tune(ctx, shape, run)
	if err != nil {
		return Row{}, err
	}
	return b.Measure(ctx, shape, tuned, run)
}

// Absent returns the libraries that are left out because they are not installed. An unknown name of a library is an error, and so is
// a named library that is not installed.
func (b Peers) Absent() (absent []kernels.Peer, err error) {
	for _, shape := range b.Shapes {
		problem, err := b.Kernel.Problem(shape)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", shape, err)
		}
		peers, err := b.peers(problem)
		if err != nil {
			return nil, err
		}
		absent = slices.DeleteFunc(peers, func(p kernels.Peer) bool { return p.Candidate != nil }) // of each shape the same
	}
	return absent, nil
}

// Measure measures the result of a search at a shape. run is the directory of the search, which knows its best point with one thread;
// "" leaves that out.
func (b Peers) Measure(ctx context.Context, shape kernels.Shape, tuned Tuned, run string) (Row, error) {
	r := Row{Shape: shape.String(), Threads: shapeThreads(shape), Peers: map[string]float64{}, PeerCosts: map[string]float64{}, PeerErrors: map[string]float64{}, LeftOut: map[string]string{},
		Evaluations: tuned.Evaluations, Key: tuned.Key}
	s, err := kernels.Open(b.Kernel, shape)
	if err != nil {
		return r, err
	}
	// The costs are those of the comparison. The score says what a call does, from which the rates follow, and needs few samples for that.
	if brief := s.Problem.Traits().Brief; brief != nil {
		brief()
	}
	compare := s.Compare()
	if compare == nil {
		return r, fmt.Errorf("the costs of %s are exact: there is nothing to measure", s.Info.Name)
	}
	point, err := s.Problem.Space().Parse(tuned.Key)
	if err != nil {
		return r, err
	}
	seeds := kernels.ExportSeeds(b.Seed)[:1]
	winner, err := s.Build(ctx, point, seeds)
	if err != nil {
		return r, err
	}
	score, err := winner.Score(ctx, 0)
	if err != nil {
		return r, err
	}
	rivals, err := b.rivals(ctx, s, seeds, r.LeftOut)
	if err != nil {
		return r, err
	}
	if r.Threads > 1 && run != "" {
		serial, key, err := b.serial(ctx, s, run, seeds)
		switch {
		case err != nil:
			return r, err
		case serial == nil:
		case key == tuned.Key:
			r.SerialRatio, r.SerialLow, r.SerialHigh = 1, 1, 1
		default:
			rivals = append(rivals, rival{serialName, serial})
		}
	}
	candidates := make([]kernels.Candidate, len(rivals))
	for i, other := range rivals {
		candidates[i] = other.candidate
	}
	final, err := compare(ctx, winner, candidates, kernels.Series{Limit: cmp.Or(b.Limit, measureLimit), Peak: true, Observe: b.Measuring})
	if err != nil {
		return r, err
	}
	if err := r.fill(s.Info, score, rivals, final); err != nil || run == "" {
		return r, err
	}
	return r, keepPairs(run, tuned.Key, rivals, final)
}

// keepPairs keeps in the directory of a run how its point was measured beside the rivals.
func keepPairs(run, key string, rivals []rival, final kernels.Final) error {
	var peers []results.Compared
	for i, c := range final.Comparisons {
		one := schedule.PairsOf("", c).Inverse()
		one.Name = rivals[i].name
		peers = append(peers, one)
	}
	return results.KeepPeers(run, key, peers)
}

// fill sets the rates and ratios from the comparison of a result with its rivals; score is the result's.
func (r *Row) fill(info kernels.Info, score kernels.Score, rivals []rival, final kernels.Final) error {
	metric, rate := rateOf(info, score)
	work := rate * score.Cost // billions of operations or bytes a call, times a billion
	r.Unit, r.CostUnit = rateUnits[metric], space.Unit(info.Unit)
	best := -1
	for i, c := range final.Comparisons {
		if c.Err != nil {
			if rivals[i].name == baselineName {
				return fmt.Errorf("%s: %w", baselineName, c.Err)
			}
			if rivals[i].name != serialName {
				r.LeftOut[rivals[i].name] = c.Err.Error()
			}
			continue
		}
		r.Rate, r.Cost = work/c.Baseline, c.Baseline
		switch rivals[i].name {
		case serialName:
			r.SerialRatio, r.SerialLow, r.SerialHigh = inverse(c)
			continue
		case baselineName:
			r.Baseline, r.BaselineCost = work/c.Cost, c.Cost
			r.RatioBaseline, _, _ = inverse(c)
		default:
			r.Peers[rivals[i].name], r.PeerCosts[rivals[i].name] = work/c.Cost, c.Cost
			if deviation := rivals[i].candidate.Abilities().Deviation; deviation != nil {
				r.PeerErrors[rivals[i].name] = deviation().MaxError
			}
		}
		// The baseline follows the libraries, and counts as one where there is none.
		if best < 0 || rivals[i].name != baselineName && c.Ratio > final.Comparisons[best].Ratio {
			best = i
		}
	}
	if best < 0 {
		return errors.New("nothing was left to compare with")
	}
	c := final.Comparisons[best]
	r.BestPeer, r.Pairs, r.Unverified = rivals[best].name, c.Pairs, c.Unverified
	r.Ratio, r.Low, r.High = inverse(c)
	r.Within, _ = space.FindMetric(c.Metrics, space.MetricWithin)
	if value, ok := space.FindMetric(score.Metrics, space.MetricGFLOPS); ok {
		r.GFLOPS = value * score.Cost / r.Cost // as measured here
	}
	r.PeakShare, r.PeakOf = final.PeakShare, final.PeakOf
	return nil
}

func (b Peers) peers(problem kernels.Problem) ([]kernels.Peer, error) {
	if b.Alone {
		return nil, nil
	}
	if peers := problem.Traits().Peers; peers != nil {
		return peers(b.Names)
	}
	if len(b.Names) > 0 {
		return nil, fmt.Errorf("no library is known that computes %s: leave the peers out", b.Kernel.Info().Name)
	}
	return nil, nil
}

// rivals returns the libraries and, last, the baseline, all of them right on the inputs of the seeds. It adds to leftOut the ways of a
// library that there are not here.
func (b Peers) rivals(ctx context.Context, s *kernels.Opened, seeds []uint64, leftOut map[string]string) ([]rival, error) {
	peers, err := b.peers(s.Problem)
	if err != nil {
		return nil, err
	}
	var out []rival
	for _, p := range peers {
		if p.Candidate == nil {
			continue
		}
		if err := kernels.Verify(ctx, p.Candidate, seeds); err != nil {
			if r := kernels.AsRejection(err); p.Optional && r != nil && r.Status == space.Invalid {
				leftOut[p.Name] = r.Reason
				continue
			}
			return nil, fmt.Errorf("peer %s: %w", p.Name, err)
		}
		out = append(out, rival{p.Name, p.Candidate})
	}
	baseline, err := s.Build(ctx, s.Problem.Presets()[0].Point, seeds)
	if err != nil {
		return nil, fmt.Errorf("baseline: %w", err)
	}
	return append(out, rival{baselineName, baseline}), nil
}

// serial returns the best point with one thread that the search in a run directory found and that is right on the inputs of the
// seeds, with its key; nil where there is none.
func (b Peers) serial(ctx context.Context, s *kernels.Opened, dir string, seeds []uint64) (kernels.Candidate, string, error) {
	run, err := results.Read(dir)
	if err != nil {
		return nil, "", err
	}
	serial, err := schedule.BestSerial(s, run)
	if err != nil {
		return nil, "", err
	}
	for _, e := range serial {
		point, err := s.Problem.Space().Parse(e.Key)
		if err != nil {
			return nil, "", err
		}
		c, err := s.Build(ctx, point, seeds)
		if err == nil {
			return c, e.Key, nil
		}
		if kernels.AsRejection(err) == nil {
			return nil, "", err
		}
	}
	return nil, "", nil
}

// inverse inverts the ratio of a comparison and its interval: it returns how many times faster the baseline of the comparison is.
func inverse(c kernels.Comparison) (ratio, low, high float64) {
	if c.Ratio <= 0 {
		return 0, 0, 0 // no plausible pair
	}
	if c.Low > 0 && c.High > 0 {
		low, high = 1/c.High, 1/c.Low
	}
	return 1 / c.Ratio, low, high
}

// rateUnits are the metrics of a score that are rates, and their units.
var rateUnits = map[string]string{space.MetricGFLOPS: "GFLOP/s", space.MetricGOPS: "GOP/s", space.MetricGBS: "GB/s"}

// rateOf returns the metric of a score that is its kernel's rate.
func rateOf(info kernels.Info, score kernels.Score) (metric string, rate float64) {
	for _, metric := range []string{info.Rate, space.MetricGFLOPS, space.MetricGOPS, space.MetricGBS} {
		if v, ok := space.FindMetric(score.Metrics, metric); ok {
			return metric, v
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
