package native

import (
	"context"
	_ "embed"
	"fmt"
	"slices"

	"tune/kernels/native/cc"
	"tune/kernels/native/timing"
	"tune/kernels/native/worker"
)

// Unit is what the operations of a kernel are counted in: it decides which peak they are compared with.
type Unit uint8

// The units.
const (
	ByName   Unit = iota // Floats, or Integers where Work.OpsName is "GOP/s"
	Floats               // operations in single precision
	Halves               // operations on half precision, which may be done in single precision
	BFloats              // operations on bfloat16, which may be done in single precision
	Integers             // operations on integers of 8 bits
	loads                // bytes that are read
	units                // how many there are
)

// Peaks are the highest rates that one core of this machine has reached so far, in operations a second; a multiply-add counts as
// two. A rate is 0 where the processor has no instruction for it.
type Peaks struct {
	F32  float64 // multiply-adds of single precision
	F16  float64 // multiply-adds of half precision
	BF16 float64 // dot products of bfloat16, or products of tiles of it
	I8   float64 // dot products of unsigned with signed bytes, in steps where there is no instruction for them; or products of tiles of them
	L1   float64 // bytes a second that are read from the nearest cache
}

// rate returns where the rate of a unit is.
func (p *Peaks) rate(u Unit) *float64 {
	return [units]*float64{Floats: &p.F32, Halves: &p.F16, BFloats: &p.BF16, Integers: &p.I8, loads: &p.L1}[u]
}

//go:embed probe/peak.c
var peakText string

// The probes of probe/peak.c that measure no rate.
const (
	probeSupported = -1 // writes a mask of the probes that this processor can run
	probeIssue     = 0  // a fixed number of independent additions
)

// rateProbe is a probe that does only one kind of work.
type rateProbe struct {
	id   int
	ops  float64 // of an iteration; or bytes that it reads
	unit Unit
	kind string // of the roof that it measures
	name string
}

var rateProbes = []rateProbe{
	{1, 12 * 4 * 2, Floats, "f32", "f32 multiply-add, 128 bits"}, // four lanes, by whatever instructions the compiler chooses
	{2, 12 * 8 * 2, Floats, "f32", "f32 multiply-add, 256 bits"},
	{3, 24 * 16 * 2, Floats, "f32", "f32 multiply-add, 512 bits"},
	{10, 24 * 32 * 2, Halves, "f16", "f16 multiply-add, 512 bits"},
	{9, 24 * 32 * 2, BFloats, "bf16", "bf16 dot product, 512 bits"},
	{4, 12 * 32 * 2, Integers, "int8", "int8 dot product, 256 bits"},
	{5, 24 * 64 * 2, Integers, "int8", "int8 dot product, 512 bits"},
	// Those of processors without dot products of bytes.
	{17, 12 * 8 * 2, Integers, "int8", "int16 multiply-add, 128 bits"},
	{18, 12 * 32 * 2, Integers, "int8", "int8 products added in 16 and 32 bits, 256 bits"},
	{19, 24 * 64 * 2, Integers, "int8", "int8 products added in 16 and 32 bits, 512 bits"},
	{11, 4 * 16 * 16 * 64 * 2, Integers, "int8 tiles", "int8 tiles"},
	{12, 4 * 16 * 16 * 32 * 2, BFloats, "bf16 tiles", "bf16 tiles"},
	{6, 4096, loads, "read", "read L1, 128 bits"},
	{7, 4096, loads, "read", "read L1, 256 bits"},
	{8, 4096, loads, "read", "read L1, 512 bits"},
}

const (
	probeIterations = 4096 // of one call
	peakSamples     = 15
	glimpseSamples  = 3 // where a rate that is too low does no harm
)

// Peak measures the peak rates of the core that times, once for a host.
func (h *Host) Peak(ctx context.Context) (Peaks, error) {
	if known, all := h.knownPeaks(); all {
		return known, nil
	}
	return h.peakAgain(ctx)
}

// knownPeaks returns the highest rates that are known, and whether all have been measured.
func (h *Host) knownPeaks() (known Peaks, all bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.peak != nil {
		return *h.peak, true
	}
	return h.glimpse, false
}

// peakAgain measures the peak rates once more, and returns the highest ever seen: on a shared machine the core may be slow at the
// moment.
func (h *Host) peakAgain(ctx context.Context) (Peaks, error) {
	peaks, err := h.probePeaks(ctx, func(peaks *Peaks, w runner, mask uint32) error {
		for i := range rateProbes {
			if err := peaks.raise(ctx, w, h.gauge.so, mask, i, h.samples(peakSamples)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return Peaks{}, err
	}
	h.mu.Lock()
	h.peak = &peaks
	h.mu.Unlock()
	return peaks, nil
}

// peakFor returns peak rates for which enough is true, or all of them where it is true of none. Rates only rise when more is measured,
// and so does what they are enough for: a few samples of the fastest probes usually are.
func (h *Host) peakFor(ctx context.Context, enough func(Peaks) bool) (Peaks, error) {
	known, all := h.knownPeaks()
	if all || enough(known) {
		return known, nil
	}
	known, err := h.probePeaks(ctx, func(peaks *Peaks, w runner, mask uint32) error {
		for _, unit := range []Unit{Floats, loads, Integers, BFloats, Halves} {
			for i, probe := range slices.Backward(rateProbes) { // the widest of a unit comes last
				if probe.unit != unit || mask>>probe.id&1 == 0 {
					continue
				}
				if err := peaks.raise(ctx, w, h.gauge.so, mask, i, glimpseSamples); err != nil || enough(*peaks) {
					return err
				}
				break
			}
		}
		return nil
	})
	if err != nil {
		return Peaks{}, err
	}
	h.mu.Lock()
	h.glimpse = known
	h.mu.Unlock()
	if enough(known) {
		return known, nil
	}
	return h.Peak(ctx)
}

// probePeaks calls f with the rates that are known, to raise them, and a worker that has the probes. It is that of the gauge: no candidate
// runs there. mask has the probes that the processor can run.
func (h *Host) probePeaks(ctx context.Context, f func(peaks *Peaks, w runner, mask uint32) error) (Peaks, error) {
	peaks, _ := h.knownPeaks()
	err := h.timed(ctx, 1, worker.Limits{}, func(o worker.Options) error {
		if err := h.startGauge(ctx, o); err != nil {
			return err
		}
		w := h.gauge.m.w
		mask, err := supportedProbes(ctx, w, h.gauge.so)
		if err == nil {
			err = f(&peaks, w, mask)
		}
		if err != nil {
			h.endGauge()
		}
		return err
	})
	if err != nil {
		return Peaks{}, fmt.Errorf("measuring the peak of this core: %w", err)
	}
	return peaks, nil
}

// samples returns how many of n samples a probe takes: half of them on a hasty host, whose costs do not count.
func (h *Host) samples(n int) int {
	if h.hasty {
		return n / 2
	}
	return n
}

// raise takes n samples of probe i, where the processor can run it, and enters its rate if it is higher than the known one.
func (p *Peaks) raise(ctx context.Context, w runner, so string, mask uint32, i, n int) error {
	probe := &rateProbes[i]
	if mask>>probe.id&1 == 0 {
		return nil
	}
	rate, err := probeRate(ctx, w, so, *probe, n)
	if known := p.rate(probe.unit); err == nil && rate > *known {
		*known = rate
	}
	return err
}

// probeRate returns the operations a second of a probe, from n samples.
func probeRate(ctx context.Context, w runner, so string, p rateProbe, n int) (float64, error) {
	m, err := newProbe(ctx, w, so, p.id, timing.SampleSeconds)
	if err != nil {
		return 0, err
	}
	seconds, err := m.fastest(ctx, n)
	return p.ops * probeIterations / seconds, err
}

// fastest returns the second fastest of n samples, in seconds a call, because the clock may be wrong once.
func (m *meter) fastest(ctx context.Context, n int) (float64, error) {
	s, err := m.sample(ctx, n)
	if err != nil {
		return 0, err
	}
	slices.Sort(s)
	middle := timing.Quantile(s, 0.5)
	s = slices.DeleteFunc(s, func(v float64) bool { return v < 0.75*middle })
	return s[min(1, len(s)-1)], nil
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
	return probeMeter(ctx, w, []int64{int64(id), probeIterations}, length)
}

// anyThreads is more than any process has.
const anyThreads = 1 << 12

// probeMeter returns a meter of a probe in a worker that has the probes and its buffer loaded. dims are the id of the probe, the
// iterations of a call, and what else it needs.
func probeMeter(ctx context.Context, w runner, dims []int64, length float64) (*meter, error) {
	m := newMeterOf(w)
	m.length = length
	m.dims, m.calls, m.wall = dims, 1, worker.DefaultLimits().Wall
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
