package space

import (
	"fmt"
	"slices"
	"strings"
)

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

// The names of metrics that are measured only where a run asks for them; see Measured.
const (
	MetricCodeBytes    = "code_bytes"
	MetricInstructions = "instructions"
	MetricCycles       = "cpu_cycles"
	MetricCacheMisses  = "cache_misses"
	MetricBranchMisses = "branch_misses"
	MetricPageFaults   = "page_faults"
	MetricEnergy       = "energy_nj"
)

// MeasuredMetric is a metric of machine code that is measured only where a run asks for it.
type MeasuredMetric struct{ Name, Doc string }

var measured = []MeasuredMetric{
	{MetricCodeBytes, "bytes of machine code"},
	{MetricInstructions, "instructions of a call"},
	{MetricCycles, "cycles of the processor in a call"},
	{MetricCacheMisses, "accesses of a call that the last cache did not serve, as the processor counts them"},
	{MetricBranchMisses, "branches of a call that were predicted wrong"},
	{MetricPageFaults, "page faults of a call"},
	{MetricEnergy, "energy that the processor uses during a call, in nJ: that of all its cores and caches"},
}

// Measured lists the metrics that are measured only where a run asks for them.
func Measured() []MeasuredMetric { return slices.Clone(measured) }

// ParseMeasured reads names of metrics of Measured, such as instructions,cache-misses, and returns them in the order of Measured. The words
// size and energy name metrics too, and so do names with a hyphen for an underscore. "" are none.
func ParseMeasured(text string) ([]string, error) {
	if text == "" {
		return nil, nil
	}
	var words, asked []string
	for _, m := range measured {
		words = append(words, m.Name)
	}
	words = append(words, goalSize, goalEnergy)
	for word := range strings.SplitSeq(text, ",") {
		word = strings.TrimSpace(word)
		name := strings.ReplaceAll(word, "-", "_")
		if other := goalMetrics[name]; other != "" && slices.Contains(words, name) {
			name = other
		}
		if !slices.Contains(words, name) {
			return nil, fmt.Errorf("%q is no metric that can be asked for: want some of %s%s", word, strings.Join(words, ", "), DidYouMean(name, words))
		}
		if slices.Contains(asked, name) {
			return nil, fmt.Errorf("%q is there twice", word)
		}
		asked = append(asked, name)
	}
	var names []string
	for _, m := range measured {
		if slices.Contains(asked, m.Name) {
			names = append(names, m.Name)
		}
	}
	return names, nil
}

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
