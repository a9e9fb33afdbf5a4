package remote

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/nats-io/nats.go"

	"tune/internal/plain"
	"tune/space"
)

// party is a worker that asked to be taken.
type party struct {
	self, machine string
	costs         Costs
	taken         bool
	why           string    // it is not
	heard         time.Time // of its last request
	asked         time.Time // when it began to measure; zero when it has told its costs
}

const (
	agreeSlack  = 0.03 // by which share intervals of costs are widened
	mostSpread  = 0.3  // how far the costs of a machine may be apart, over their median
	mostPace    = 1.10 // how many times as long as on the others the loop of fixed work may take
	againLeases = 12   // after so many leases a worker compares itself again
	askedLeases = 6    // for so many leases nobody else of the machine may measure
)

// Measured tells what the reference costs on this machine. From then on workers may ask to be taken. again measures it once more, where
// workers disagree; nil where costs are exact.
func (c *Coordinator) Measured(reference space.Point, own Costs, again func(context.Context) (Costs, error)) {
	c.mu.Lock()
	c.job.Reference, c.own, c.again, c.measured = reference.Key(), own, again, time.Now()
	c.mu.Unlock()
	c.announce(false)
}

// doubtOwn measures the reference on this machine again, because a worker disagrees: this machine may have done other work when it did so
// last. The caller holds mu.
func (c *Coordinator) doubtOwn(now time.Time) {
	if c.again == nil || c.measuring || c.closed || len(c.open) == 0 || now.Sub(c.measured) < c.job.Lease {
		return
	}
	for name, p := range c.parties {
		if p.machine == c.machine && (p.taken && c.live(name, now) || now.Sub(p.asked) < askedLeases*c.job.Lease) {
			return // the two would disturb each other
		}
	}
	c.measuring = true
	c.done.Go(func() {
		own, err := c.again(c.ctx)
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.measuring, c.measured = false, time.Now(); err == nil {
			c.own = own
		}
	})
}

// mayTell reports whether outcomes of a worker are taken. The caller holds mu.
func (c *Coordinator) mayTell(worker string) bool {
	if c.job.Only != "" && worker != c.job.Only {
		return false
	}
	return !c.job.Joins || c.parties[worker].taken
}

// joins answers the request of a worker to be taken.
func (c *Coordinator) joins(m *nats.Msg) {
	var j join
	answer := joined{Why: "the request of the worker cannot be read"}
	if json.Unmarshal(m.Data, &j) == nil && j.Worker != "" && len(j.Worker) <= mostName && len(j.Self)+len(j.Machine) <= mostName {
		answer = c.judge(j)
	}
	if text, err := json.Marshal(answer); err == nil { // it is text and numbers
		_ = m.Respond(text)
	}
}

// judge decides whether a worker is taken.
func (c *Coordinator) judge(j join) joined {
	c.mu.Lock()
	defer c.mu.Unlock()
	if j.Sitting != c.job.Sitting || c.job.Reference == "" {
		return joined{Why: "the coordinator has begun again", Again: c.job.Lease}
	}
	now := time.Now()
	name := plain.Clip(plain.Line(j.Worker), 100)
	if before, known := c.parties[j.Worker]; known && before.self != j.Self && c.live(j.Worker, now) {
		return joined{Why: fmt.Sprintf("another worker has the name %s: give each its own by --name", name), Again: c.job.Lease}
	}
	if _, known := c.parties[j.Worker]; !known && len(c.parties) >= mostParties {
		maps.DeleteFunc(c.parties, func(name string, _ party) bool { return !c.live(name, now) })
	}
	if _, known := c.parties[j.Worker]; !known && len(c.parties) >= mostParties {
		return joined{Why: "the run has too many workers", Again: c.job.Lease}
	}
	before := c.parties[j.Worker]
	why, again := c.rival(j, now), c.job.Lease
	if why == "" && j.Asks && c.job.Timed && (len(c.open) == 0 || c.measuring && j.Machine == c.machine) {
		return joined{Later: true, Again: announcing} // the final measurement may be under way, perhaps on the machine of this worker
	}
	if why == "" && j.Asks {
		before.self, before.machine, before.heard, before.asked = j.Self, j.Machine, now, now
		c.parties[j.Worker] = before
		return joined{Taken: true}
	}
	if why == "" {
		why, again = c.doubt(j, now)
	}
	p := party{self: j.Self, machine: j.Machine, costs: j.Costs, taken: why == "", why: why, heard: now}
	c.parties[j.Worker] = p
	if c.job.Timed && !j.Asks && len(j.Reference) > 0 && (why != "" || j.Pace*mostPace < c.own.Pace) {
		c.doubtOwn(now)
	}
	if p.taken {
		c.seen[j.Worker] = now
		if before.why != "" {
			c.note(fmt.Sprintf("worker %s agrees with the others now", name))
		}
		if c.job.Timed {
			again = againLeases * c.job.Lease
		}
		return joined{Taken: true, Again: again}
	}
	delete(c.seen, j.Worker) // it does not count among those at work
	if before.why == "" {
		c.note(fmt.Sprintf("worker %s is set aside: %s", name, why))
	}
	return joined{Why: why, Again: again}
}

// rival says which other worker of the same machine measures for the run; "" where none does. The caller holds mu.
func (c *Coordinator) rival(j join, now time.Time) string {
	if !c.job.Timed || j.Machine == "" {
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(c.parties)) {
		p := c.parties[name]
		if name != j.Worker && p.machine == j.Machine && (p.taken && c.live(name, now) || now.Sub(p.asked) < askedLeases*c.job.Lease) {
			return fmt.Sprintf("worker %s measures on the same machine, and two at once would disturb each other", plain.Line(name))
		}
	}
	return ""
}

// mostParties is how many workers can ask to be taken.
const mostParties = 10_000

// live reports whether a worker was heard of within the last lease. The caller holds mu.
func (c *Coordinator) live(worker string, now time.Time) bool {
	p := c.parties[worker]
	last := c.seen[worker]
	if p.heard.After(last) {
		last = p.heard
	}
	return now.Sub(last) < c.job.Lease
}

// doubt says why a worker is not taken, and after which time it may ask again; "" where it is taken. The caller holds mu.
func (c *Coordinator) doubt(j join, now time.Time) (why string, again time.Duration) {
	switch {
	case j.Failed != "":
		return "the baseline fails there: " + plain.Clip(plain.Line(j.Failed), 200), c.later()
	case len(j.Reference) == 0 || len(j.Reference) > 100 || slices.ContainsFunc(append(slices.Clone(j.Reference), j.Pace), func(v float64) bool { return !space.Finite(v) }):
		return "it gives no costs of the baseline", 0
	case !c.job.Timed:
		for _, v := range j.Reference {
			if v != c.own.Reference[0] {
				return fmt.Sprintf("the baseline costs %v there, and %v where the run is: an exact cost is the same everywhere", v, c.own.Reference[0]), 0
			}
		}
		return "", 0
	}
	var others []Costs
	for name, p := range c.parties {
		if name != j.Worker && p.taken && c.live(name, now) {
			others = append(others, p.costs)
		}
	}
	return disagrees(j.Costs, append(others, c.own)), c.job.Lease
}

// later is when a worker whose baseline failed may ask again: where costs are exact, never.
func (c *Coordinator) later() time.Duration {
	if c.job.Timed {
		return c.job.Lease
	}
	return 0
}

// interval is where a cost is.
type interval struct{ low, middle, high float64 }

// intervalOf returns the interval of some costs, a little wider than they are.
func intervalOf(costs []float64) interval {
	sorted := slices.Sorted(slices.Values(costs))
	middle := (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
	slack := agreeSlack * math.Abs(middle) // of a metric to maximise the cost is negative
	return interval{sorted[0] - slack, middle, sorted[len(sorted)-1] + slack}
}

// median returns the median of something of all.
func median(all []interval, of func(interval) float64) float64 {
	values := make([]float64, len(all))
	for i, v := range all {
		values[i] = of(v)
	}
	return intervalOf(values).middle
}

// disagrees says how the costs of a machine differ from those of others, of which there is at least one; "" where they agree.
func disagrees(own Costs, others []Costs) string {
	mine := intervalOf(own.Reference)
	scale := math.Abs(mine.middle)
	if apart := mine.high - mine.low - 2*agreeSlack*scale; apart > mostSpread*scale {
		return fmt.Sprintf("its costs of the baseline are %.0f %% apart: the machine does other work too", 100*apart/scale)
	}
	var theirs []interval
	var paces []float64
	for _, o := range others {
		theirs = append(theirs, intervalOf(o.Reference))
		if o.Pace > 0 {
			paces = append(paces, o.Pace)
		}
	}
	if len(paces) > 0 && own.Pace > 0 {
		pace := intervalOf(paces).middle
		if ratio := own.Pace / pace; ratio > mostPace {
			return fmt.Sprintf("a loop of fixed work takes %.2f times as long there as on the others: its clock is slower, or it does other work too", ratio)
		}
	}
	low := median(theirs, func(i interval) float64 { return i.low })
	high := median(theirs, func(i interval) float64 { return i.high })
	if mine.low > high || mine.high < low {
		middle := median(theirs, func(i interval) float64 { return i.middle })
		return fmt.Sprintf("the baseline costs %.4g to %.4g there, and %.4g on the others", mine.low, mine.high, middle)
	}
	return ""
}
