package user

import (
	"math"

	"tune/kernels/native/timing"
	"tune/space"
)

// Metrics of the runs of a command.
const (
	// MetricOutliers is how many of the runs are far from the others; it is there only where some are.
	MetricOutliers = "outliers"
	// MetricSlowFirst is 1 where the first run is one of them, because it took longer.
	MetricSlowFirst = "slow_first"
)

// How far from the median an outlier is: more than outlierDeviations times the median of all distances from it, and more than
// outlierShare of it. The first is the modified z-score of Iglewicz and Hoaglin ("How to detect and handle outliers", 1993), at ten
// standard deviations of a normal distribution as in hyperfine.
const (
	outlierDeviations = 14.826 * 1.4826
	outlierShare      = 0.1
	// leastForOutliers is how many runs are enough to say which are far from the others.
	leastForOutliers = 5
)

// outliers returns how many of some costs are far from the others, and whether the first one is because it is greater.
func outliers(costs []float64) (n int, slowFirst bool) {
	if len(costs) < leastForOutliers {
		return 0, false
	}
	middle := timing.Median(costs)
	distances := make([]float64, len(costs))
	for i, c := range costs {
		distances[i] = math.Abs(c - middle)
	}
	bound := max(outlierDeviations*timing.Median(distances), outlierShare*middle)
	for _, d := range distances {
		if d > bound {
			n++
		}
	}
	return n, costs[0]-middle > bound
}

// outlierMetrics returns the metrics that say that some costs are outliers.
func outlierMetrics(costs []float64) []space.Metric {
	n, slowFirst := outliers(costs)
	if n == 0 {
		return nil
	}
	metrics := []space.Metric{{Name: MetricOutliers, Value: float64(n)}}
	if slowFirst {
		metrics = append(metrics, space.Metric{Name: MetricSlowFirst, Value: 1})
	}
	return metrics
}

// OutlierAdvice says in a sentence what outliers among the runs of a command mean, and what helps; "" where there are none.
func OutlierAdvice(metrics []space.Metric) string {
	if _, ok := space.FindMetric(metrics, MetricOutliers); !ok {
		return ""
	}
	if _, ok := space.FindMetric(metrics, MetricSlowFirst); ok {
		return "the first run took far longer than the others, perhaps because caches were empty: warmup: 1 in the file fills them before the runs that count, and prepare: can empty them before each"
	}
	return "outliers were found: the machine was busy, or caches were not always full: repeat it on a quiet machine, or use warmup: or prepare: in the file"
}
