package space

// The names of metrics that mean the same in every kernel.
const (
	// MetricBound is what the full cost of a point cannot fall below, said by its cheapest score. A search need not look further at
	// a point whose bound is no better than what it has.
	MetricBound = "bound"
	// MetricThreads is how many threads the code of a candidate has.
	MetricThreads = "threads"
	// MetricMaxError and MetricErrorShare are those of kernels.Deviation.
	MetricMaxError   = "max_error"
	MetricErrorShare = "error_share"
	// MetricSamples is how many samples a time was estimated from, MetricRuns how many runs of a command a cost was.
	MetricSamples = "samples"
	MetricRuns    = "runs"
	// MetricSpread is how far samples are apart, relative to what was made of them.
	MetricSpread = "spread"
	// MetricUnverified is 1 where a time was taken on a machine that was not as it should be, and else 0.
	MetricUnverified = "unverified"
	// MetricValue is what a command's metric was, where that is to be maximised and the cost is its inverse.
	MetricValue = "value"
	// Rates, in 10^9 a second: floating-point operations, other operations, bytes.
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
