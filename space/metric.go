package space

// The names of metrics that mean the same in every kernel.
const (
	// MetricBound is a lower bound of the full cost of a point, known from its cheapest score. A search can skip a point whose
	// bound is no better than the best cost it has.
	MetricBound = "bound"
	// MetricThreads is how many threads the code of a candidate has.
	MetricThreads = "threads"
	// MetricMaxError and MetricErrorShare are the numbers of kernels.Deviation.
	MetricMaxError   = "max_error"
	MetricErrorShare = "error_share"
	// MetricSamples is the number of samples behind a time, MetricRuns the number of runs of a command behind a cost.
	MetricSamples = "samples"
	MetricRuns    = "runs"
	// MetricSpread is the spread of the samples, relative to the result.
	MetricSpread = "spread"
	// MetricWithin is the share by which the costs of one point may differ, of a kernel whose costs are nearly exact.
	MetricWithin = "within"
	// MetricUnverified is 1 for a time that was measured while the machine was not in the required state, and otherwise 0.
	MetricUnverified = "unverified"
	// MetricValue is the number that a command reported, if it is to be maximised and the cost is its inverse.
	MetricValue = "value"
	// Rates, in 10^9 per second: floating-point operations, other operations, bytes.
	MetricGFLOPS = "gflops"
	MetricGOPS   = "gops"
	MetricGBS    = "gbs"
)

// Metric returns the value of a metric by its name.
func (o Outcome) Metric(name string) (value float64, ok bool) { return FindMetric(o.Metrics, name) }

// FindMetric returns the value of one of some metrics by its name.
func FindMetric(metrics []Metric, name string) (value float64, ok bool) {
	for _, m := range metrics {
		if m.Name == name {
			return m.Value, true
		}
	}
	return 0, false
}
