package native

import (
	"context"
	"slices"

	"tune/kernels"
	"tune/kernels/native/timing"
	"tune/kernels/native/worker"
)

// fixed is a worker whose timed calls all work on the same inputs at the same place, in one stretch a sample.
type fixed struct {
	runner
	buffers []worker.Buffer
	inputs  [][]byte
}

func (p *fixed) Map(buffers []worker.Buffer, inputs [][]byte) error {
	p.buffers, p.inputs = buffers, inputs
	return p.runner.Map(buffers, inputs)
}

func (p *fixed) Vary(*worker.Pool) error {
	one, err := worker.NewPool(p.buffers, [][][]byte{p.inputs}, 1)
	if err != nil {
		return err
	}
	return p.runner.Vary(one)
}

func (p *fixed) Time(ctx context.Context, t worker.TimeRequest) (worker.Timing, error) {
	t.Window, t.Sparse, t.Touch, t.Places = t.Calls, false, false, 1
	got, err := p.runner.Time(ctx, t)
	got.Evidence, got.First, got.Each, got.Whole = nil, 0, 0, 0
	return got, err
}

// VariationCost returns how many times as long a call takes by the clock of varied calls as by that of plain ones. Each of so many
// pairs is of two new workers, which take turns beside each other: the places that a process has in memory are worth some percent.
func VariationCost(ctx context.Context, k kernels.Candidate, pairs int) (timing.Ratio, error) {
	const turns = 5
	c := k.(*candidate)
	p := c.problem
	if err := c.compile(ctx); err != nil {
		return timing.Ratio{}, err
	}
	var samples [2][]float64
	for pair := range pairs {
		err := p.host.timed(ctx, c.threads(), p.limits, func(o worker.Options) error {
			meters, err := variationMeters(ctx, c, o)
			if err != nil {
				return err
			}
			var took [2][]float64
			for turn := range turns {
				for i := range meters {
					i = (i + turn + pair) % 2
					s, err := meters[i].turnOf(ctx, meters[i].bursts(timing.SampleSeconds))
					if err != nil {
						return err
					}
					took[i] = append(took[i], s.Fast)
				}
			}
			for i, m := range meters {
				samples[i] = append(samples[i], slices.Min(took[i]))
				m.w.Close()
			}
			return nil
		})
		if err != nil {
			return timing.Ratio{}, err
		}
	}
	r, _, err := timing.Pairs(samples[0], samples[1], 0, 0, timing.Confidence)
	return r, err
}

// variationMeters starts two workers of a candidate: the calls of the second do not vary.
func variationMeters(ctx context.Context, c *candidate, o worker.Options) (meters [2]*meter, err error) {
	for i := range meters {
		w, err := c.problem.host.start(ctx, o)
		if err != nil {
			return meters, err
		}
		if i == 1 {
			w = &fixed{runner: w}
		}
		if meters[i], err = c.newMeter(ctx, w, metering{length: timing.BurstSeconds}); err != nil {
			w.Close()
			return meters, err
		}
	}
	meters[1].calls = meters[0].calls
	return meters, nil
}

// NoteReuse notes that a candidate reuses results.
func NoteReuse(c kernels.Candidate) { c.(*candidate).noteReuse() }

// Seats returns how many workers a host keeps for surveys.
func Seats(h *Host) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.seats)
}
