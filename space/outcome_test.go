package space

import (
	"math"
	"testing"
)

// TestOutcomeValidate: what no journal may keep.
func TestOutcomeValidate(t *testing.T) {
	for _, o := range []Outcome{
		{Status: OK}, {Status: OK, Cost: -1, Seconds: 2, Fidelity: 3, Metrics: []Metric{{"a", 1}, {"b", -1}}}, {Status: Crashed, Reason: "x"},
	} {
		if err := o.Validate(); err != nil {
			t.Errorf("%+v: %v", o, err)
		}
	}
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		outcome Outcome
		want    string
	}{
		{Outcome{}, "it has no status"}, {Outcome{Status: 7}, "it has no status"},
		{Outcome{Status: OK, Cost: nan}, "its cost is NaN"}, {Outcome{Status: OK, Cost: -inf}, "its cost is -Inf"}, {Outcome{Status: Crashed, Cost: inf}, "its cost is +Inf"},
		{Outcome{Status: OK, Fidelity: -1}, "its fidelity is -1"},
		{Outcome{Status: OK, Seconds: -0.5}, "it took -0.5 s"}, {Outcome{Status: OK, Seconds: nan}, "it took NaN s"}, {Outcome{Status: OK, Seconds: inf}, "it took +Inf s"},
		{Outcome{Status: OK, Metrics: []Metric{{"", 1}}}, `"" is not the name of a metric`},
		{Outcome{Status: OK, Metrics: []Metric{{"\xff", 1}}}, `"\xff" is not the name of a metric`},
		{Outcome{Status: OK, Metrics: []Metric{{"a", nan}}}, "its metric a is NaN"},
		{Outcome{Status: OK, Metrics: []Metric{{"b", 1}, {"a", 1}}}, "its metrics are not ordered by name: a comes after b"},
		{Outcome{Status: OK, Metrics: []Metric{{"a", 1}, {"a", 2}}}, "its metrics are not ordered by name: a comes after a"},
	} {
		if err := c.outcome.Validate(); err == nil || err.Error() != c.want {
			t.Errorf("%+v: %v, want %s", c.outcome, err, c.want)
		}
	}
}

// TestStatusText: every status reads back from its text, and no other does.
func TestStatusText(t *testing.T) {
	for _, s := range append(Statuses(), StatusUnset) {
		text, err := s.MarshalText()
		var back Status
		if err != nil || back.UnmarshalText(text) != nil || back != s {
			t.Errorf("%d is written as %q and read as %d, %v", s, text, back, err)
		}
	}
	if len(Statuses()) != 6 || Statuses()[0] != OK {
		t.Errorf("the statuses are %v", Statuses())
	}
	for _, text := range []string{"", "OK", "status(7)", "okay"} {
		if got, err := ParseStatus(text); err == nil {
			t.Errorf("%q is read as %v", text, got)
		}
	}
	if got := Status(7).String(); got != "status(7)" {
		t.Errorf("an unknown status is %q", got)
	}
}
