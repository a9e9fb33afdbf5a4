package kernels

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tune/space"
)

// Deviation is how far the results of a right candidate are from the reference, over everything that its checks compared. The two
// numbers may come from different results: a large result may have a larger error and yet use less of its tolerance.
type Deviation struct {
	// MaxError is the largest absolute difference, in the unit of the results.
	MaxError float64
	// ErrorShare is the largest share of a tolerance that an error has used, from 0 to 1. It is 0 where results have to be exact.
	ErrorShare float64
}

// Add includes a result with the given absolute error and tolerance.
func (d *Deviation) Add(err, tolerance float64) {
	if !(err > 0) || math.IsInf(err, 1) {
		return
	}
	d.MaxError = max(d.MaxError, err)
	if tolerance > 0 {
		d.ErrorShare = max(d.ErrorShare, err/tolerance)
	}
}

// Or returns the larger of the numbers of two deviations.
func (d Deviation) Or(other Deviation) Deviation {
	return Deviation{max(d.MaxError, other.MaxError), max(d.ErrorShare, other.ErrorShare)}
}

// String describes the deviation as users read it.
func (d Deviation) String() string {
	if d.ErrorShare == 0 {
		return fmt.Sprintf("largest error %.2g", d.MaxError)
	}
	return fmt.Sprintf("largest error %.2g, %.2g %% of the tolerance", d.MaxError, 100*d.ErrorShare)
}

// Validate reports a deviation that no right candidate can have.
func (d Deviation) Validate() error {
	switch {
	case !(d.MaxError >= 0) || math.IsInf(d.MaxError, 1):
		return fmt.Errorf("%s is %v: want a number that is not negative", space.MetricMaxError, d.MaxError)
	case !(d.ErrorShare >= 0 && d.ErrorShare <= 1):
		return fmt.Errorf("%s is %v: a right result uses between 0 and 1 of its tolerance", space.MetricErrorShare, d.ErrorShare)
	}
	return nil
}

// WithDeviation returns metrics sorted by name, with those of the candidate's deviation, which replace others of the same name.
// It does not modify metrics.
func WithDeviation(metrics []space.Metric, c Candidate) []space.Metric {
	out := slices.Clone(metrics)
	if deviation := c.Abilities().Deviation; deviation != nil {
		d := deviation()
		_, out, _ = SplitDeviation(out)
		out = append(out, space.Metric{Name: space.MetricMaxError, Value: d.MaxError}, space.Metric{Name: space.MetricErrorShare, Value: d.ErrorShare})
	}
	return sortedMetrics(out)
}

// sortedMetrics sorts metrics by name.
func sortedMetrics(list []space.Metric) []space.Metric {
	slices.SortStableFunc(list, func(a, b space.Metric) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// SplitDeviation removes the numbers of a deviation from metrics. ok is false where there are none.
func SplitDeviation(metrics []space.Metric) (d Deviation, rest []space.Metric, ok bool) {
	for _, m := range metrics {
		switch m.Name {
		case space.MetricMaxError:
			d.MaxError, ok = m.Value, true
		case space.MetricErrorShare:
			d.ErrorShare, ok = m.Value, true
		default:
			rest = append(rest, m)
		}
	}
	return d, rest, ok
}
