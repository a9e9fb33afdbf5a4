package native

import (
	"context"

	"tune/kernels"
	"tune/kernels/native/timing"
	"tune/kernels/native/worker"
)

// plain is a worker whose timed calls all work on the same inputs, in one stretch a sample.
type plain struct {
	runner
	buffers []worker.Buffer
	inputs  [][]byte
}

func (p *plain) Map(buffers []worker.Buffer, inputs [][]byte) error {
	p.buffers, p.inputs = buffers, inputs
	return p.runner.Map(buffers, inputs)
}

func (p *plain) Vary(*worker.Pool) error {
	one, err := worker.NewPool(p.buffers, [][][]byte{p.inputs}, 1)
	if err != nil {
		return err
	}
	return p.runner.Vary(one)
}

func (p *plain) Time(ctx context.Context, t worker.TimeRequest) (worker.Timing, error) {
	t.Window, t.Sparse, t.Touch = t.Calls, false, false
	got, err := p.runner.Time(ctx, t)
	got.Evidence, got.Long, got.Short, got.Whole = nil, 0, 0, 0
	return got, err
}

// VariationCost returns how many times as long a call takes by the clock of varied calls as by that of plain ones, from
// so many turns beside each other, and the share of the time of varied turns that is spent in calls.
func VariationCost(ctx context.Context, k kernels.Candidate, turns int) (timing.Ratio, error) {
	c := k.(*candidate)
	p := c.problem
	if err := c.compile(ctx); err != nil {
		return timing.Ratio{}, err
	}
	var ratio timing.Ratio
	err := p.host.timed(ctx, c.threads(), p.limits, func(o worker.Options) error {
		var meters []*meter
		for i := range 2 {
			w, err := p.host.start(ctx, o)
			if err != nil {
				return err
			}
			defer w.Close()
			if i == 1 {
				w = &plain{runner: w}
			}
			m, err := c.newMeter(ctx, w, timing.BurstSeconds, nil)
			if err != nil {
				return err
			}
			meters = append(meters, m)
		}
		meters[1].calls = meters[0].calls
		var samples [2][]float64
		for turn := range turns {
			for i := range 2 {
				i = (i + turn) % 2
				s, err := meters[i].turnOf(ctx, meters[i].bursts(timing.SampleSeconds))
				if err != nil {
					return err
				}
				samples[i] = append(samples[i], s.Fast)
			}
		}
		var err error
		ratio, err = timing.Pairs(samples[0], samples[1], 0, 0, timing.Confidence)
		return err
	})
	return ratio, err
}
