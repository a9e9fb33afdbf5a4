//go:build linux && (amd64 || arm64)

package worker

import "time"

// rest sums up the CPU time that a worker uses between requests. In a final measurement the other entrants are measured then, and a
// thread that a candidate has left behind could slow them. The worker itself uses some after each answer, and for its own memory now and
// then. What is above that adds up, and what is below is taken off again, down to 0, so that time at rest is no credit for work later
// (a cumulative sum: Page, "Continuous inspection schemes", Biometrika 41, 1954).
type rest struct {
	cpu   time.Duration // of the process at its last answer
	since time.Time     // of that answer; zero before the first
	work  time.Duration
}

// What a worker may use between requests: of the time itself, after each answer, and in all.
const (
	restShare = 0.02
	restEach  = 300 * time.Microsecond
	restLimit = 30 * time.Millisecond
)

// begin notes that the worker has answered.
func (r *rest) begin(cpu time.Duration, now time.Time) { r.cpu, r.since = cpu, now }

// end notes that the next request follows.
func (r *rest) end(cpu time.Duration, now time.Time) {
	if r.since.IsZero() {
		return
	}
	allowed := time.Duration(restShare*float64(now.Sub(r.since))) + restEach
	r.work = max(r.work+cpu-r.cpu-allowed, 0)
	r.since = time.Time{}
}

// rested returns how much a worker has worked between requests since its candidate was loaded.
func (n *instance) rested() time.Duration {
	cpu, now := n.cpuTime(), time.Now()
	n.rest.end(cpu, now)
	n.rest.begin(cpu, now)
	return n.rest.work
}
