package native

import (
	"context"
	_ "embed"
	"fmt"
	"slices"

	"tune/kernels/native/cc"
	"tune/kernels/native/timing"
	"tune/kernels/native/worker"
	"tune/space"
)

// Peaks are the highest rates that one core of this machine has reached so far, in operations a second; a multiply-add counts as
// two.
type Peaks struct {
	F32 float64 // multiply-adds of single precision
	I8  float64 // dot products of unsigned with signed bytes (VNNI); 0 where the processor has none
	L1  float64 // bytes a second that are read from the nearest cache

	f32, i8 *rateProbe // the probes that reached them; nil where none did
}

//go:embed probe/peak.c
var peakText string

// The probes of probe/peak.c, and the operations of one of their iterations.
const (
	probeSupported = -1 // writes a mask of the probes that this processor can run
	probeIssue     = 0  // a fixed number of independent additions
)

// rateProbe is a probe that does only one kind of work.
type rateProbe struct {
	id   int
	ops  float64 // or bytes that are read
	kind rateKind
}

// rateKind says what a probe does.
type rateKind uint8

const (
	ofFloats rateKind = iota
	ofBytes           // arithmetic on bytes
	ofLoads
)

var rateProbes = []rateProbe{
	{1, 12 * 4 * 2, ofFloats},  // four lanes, by whatever instructions the compiler chooses
	{2, 12 * 8 * 2, ofFloats},  // AVX2 and FMA
	{3, 24 * 16 * 2, ofFloats}, // AVX-512
	{4, 12 * 32 * 2, ofBytes},  // AVX-VNNI
	{5, 24 * 64 * 2, ofBytes},  // AVX-512 VNNI
	{6, 4096, ofLoads},         // of 16 bytes
	{7, 4096, ofLoads},         // of 32 bytes
	{8, 4096, ofLoads},         // of 64 bytes
}

const (
	probeIterations = 4096 // of one call
	peakSamples     = 15
)

// Peak measures the peak rates of the core that times, once for a host.
func (h *Host) Peak(ctx context.Context) (Peaks, error) {
	h.mu.Lock()
	known := h.peak
	h.mu.Unlock()
	if known != nil {
		return *known, nil
	}
	return h.peakAgain(ctx)
}

// peakAgain measures the peak rates once more, and returns the highest ever seen: on a shared machine the core may be slow at the
// moment.
func (h *Host) peakAgain(ctx context.Context) (Peaks, error) {
	so, err := h.probe(ctx)
	if err != nil {
		return Peaks{}, err
	}
	var peaks Peaks
	h.mu.Lock()
	if h.peak != nil {
		peaks = *h.peak
	}
	h.mu.Unlock()
	err = h.timed(ctx, 1, worker.Limits{}, func(o worker.Options) error {
		return h.borrow(ctx, o, alone, func(w runner) error {
			mask, err := supportedProbes(ctx, w, so)
			if err != nil {
				return err
			}
			for i, probe := range rateProbes {
				if mask>>probe.id&1 == 0 {
					continue
				}
				rate, err := probeRate(ctx, w, so, probe.id, probe.ops)
				if err != nil {
					return err
				}
				switch {
				case probe.kind == ofBytes && rate > peaks.I8:
					peaks.I8, peaks.i8 = rate, &rateProbes[i]
				case probe.kind == ofFloats && rate > peaks.F32:
					peaks.F32, peaks.f32 = rate, &rateProbes[i]
				case probe.kind == ofLoads:
					peaks.L1 = max(peaks.L1, rate)
				}
			}
			return nil
		})
	})
	if err != nil {
		return Peaks{}, fmt.Errorf("measuring the peak of this core: %w", err)
	}
	h.mu.Lock()
	h.peak = &peaks
	h.mu.Unlock()
	return peaks, nil
}

// probeRate returns the operations a second of a probe, from its second fastest sample, because the clock may be wrong once.
func probeRate(ctx context.Context, w runner, so string, id int, ops float64) (float64, error) {
	m, err := newProbe(ctx, w, so, id, timing.SampleSeconds)
	if err != nil {
		return 0, err
	}
	s, err := m.sample(ctx, peakSamples)
	if err != nil {
		return 0, err
	}
	slices.Sort(s)
	middle := timing.Quantile(s, 0.5)
	s = slices.DeleteFunc(s, func(v float64) bool { return v < 0.75*middle })
	return ops * probeIterations / s[min(1, len(s)-1)], nil
}

// probeCase is the single buffer that probes write to, so that no compiler removes their work.
var probeCase = Case{Name: "probe", Buffers: []Buffer{{Name: "sink", Elem: U32, Len: 1024, Mode: Out}}, Inputs: [][]byte{nil}}

// newProbe returns a meter of a probe in a worker; its samples take length, in seconds.
func newProbe(ctx context.Context, w runner, so string, id int, length float64) (*meter, error) {
	if err := mapCase(w, probeCase); err != nil {
		return nil, err
	}
	if err := w.Load(so); err != nil {
		return nil, err
	}
	return probeMeter(ctx, w, id, length)
}

// anyThreads is more than any process has.
const anyThreads = 1 << 12

// probeMeter returns a meter of a probe in a worker that has the probes loaded.
func probeMeter(ctx context.Context, w runner, id int, length float64) (*meter, error) {
	m := newMeterOf(w)
	m.length = length
	m.dims, m.calls, m.wall = []int64{int64(id), probeIterations}, 16, worker.DefaultLimits().Wall
	m.uses = anyThreads // Activity of the system beside tune's own code is nobody's fault.
	s, err := m.sample(ctx, 2)
	if err != nil {
		return nil, err
	}
	m.perCall = max(s[0], s[1])
	m.calls = min(timing.Calls(m.perCall, m.length), 1<<16)
	return m, nil
}

// lengthen makes the samples of a probe as long as those of another meter. Otherwise an event that recurs every few milliseconds,
// such as the host's timer under a virtual machine, would hit every sample of one and none of the other.
func (m *meter) lengthen(other *meter) {
	most := 20 * timing.SampleSeconds / float64(other.turnSamples()) // a tenth of a second a turn
	m.calls = max(1, int(min(other.perCall*float64(other.calls), most)/m.perCall))
}

// peakProbe returns the probe whose operations are those of the problem; nil where there is none for this processor.
func (p *Problem) peakProbe(ctx context.Context) (*rateProbe, error) {
	if p.work.Ops <= 0 {
		return nil, nil
	}
	peaks, err := p.host.Peak(ctx)
	if err != nil {
		return nil, err
	}
	if rateName(p.work.OpsName) == space.MetricGOPS {
		return peaks.i8, nil
	}
	return peaks.f32, nil
}

// probe returns the compiled probes.
func (h *Host) probe(ctx context.Context) (string, error) {
	tools, err := h.Toolchain(ctx)
	if err != nil {
		return "", err
	}
	return buildProbe(ctx, tools)
}

func buildProbe(ctx context.Context, tools *cc.Toolchain) (string, error) {
	return tools.Build(ctx, "c", peakText, "", []string{"-O2", "-ffp-contract=fast"})
}
