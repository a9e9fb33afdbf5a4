package native

import (
	"context"
	"fmt"

	"tune/kernels"
	"tune/kernels/native/timing"
	"tune/space"
)

// Rates that every core is far above, in operations and bytes a second. A time that is possible even at these rates needs no
// probe.
const (
	lowOps   = 4e9
	lowBytes = 20e9
)

// peakTries is how often the peak is measured before a candidate is refused because of it.
const peakTries = 3

// least is a time that no call can be shorter than, with the reason. The rates behind it are peaks of the processor, not the rates of
// memory that roofs.go measures.
type least struct {
	seconds float64
	why     string
}

// plausible rejects an impossible time, in seconds a call, where the problem wants that.
func (c *candidate) plausible(ctx context.Context, cost float64) error {
	p := c.problem
	if !p.work.Plausible || cost >= p.leastAt(Peaks{F32: lowOps, L1: lowBytes}, 1).seconds {
		return nil
	}
	// Rates that are not known yet are at least the low ones.
	possible := func(peaks Peaks) bool {
		peaks.F32, peaks.L1 = max(peaks.F32, lowOps), max(peaks.L1, lowBytes)
		return cost >= timing.Slack*p.leastAt(peaks, c.threads()).seconds
	}
	peaks, err := p.host.peakFor(ctx, possible)
	for try := 1; ; try++ {
		if err != nil {
			return err
		}
		if possible(peaks) {
			return nil
		}
		r := p.leastAt(peaks, c.threads())
		if try == peakTries {
			return kernels.Reject(space.Invalid, "implausible: a call takes %.3g ns, and %s takes %.3g ns at least on this machine; where the file's work is not done by every call, say trusted: fast",
				cost*nanoseconds, r.why, r.seconds*nanoseconds)
		}
		peaks, err = p.host.peakAgain(ctx)
	}
}

// leastAt returns the least time of a call for a number of threads at the given rates.
func (p *Problem) leastAt(peaks Peaks, threads int) least {
	n := float64(threads)
	r := least{float64(p.traffic) / peaks.L1 / n, fmt.Sprintf("reading its inputs, or writing its outputs, at the %.0f GB/s of the nearest cache", peaks.L1*n/1e9)}
	if p.work.Bytes > 0 {
		// The stated bytes may be read or written, and a core does both at once.
		rate := 2 * peaks.L1 * n
		r = least{p.work.Bytes / rate, fmt.Sprintf("moving the stated bytes at the %.0f GB/s of the nearest cache", rate/1e9)}
	}
	rate := peaks.F32 * n
	if p.integers {
		// Integers of 16 bits may stand for floats.
		rate = max(rate, peaks.I8*n, peaks.F16*n, peaks.BF16*n)
	}
	if p.work.Ops/rate > r.seconds {
		r = least{p.work.Ops / rate, fmt.Sprintf("the stated work at the peak of %.0f %s", rate/1e9, p.work.OpsName)}
	}
	return r
}
