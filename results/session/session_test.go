package session

import (
	"errors"
	"slices"
	"testing"
	"time"

	"tune/kernels"
	"tune/space"
)

func TestForExport(t *testing.T) {
	for _, c := range []struct{ wall, rebuild, want time.Duration }{
		{0, time.Second, 0},
		{-1, 0, 0},
		{100 * time.Millisecond, 0, 50 * time.Millisecond},
		{time.Second, 0, 100 * time.Millisecond},
		{time.Second, 250 * time.Millisecond, 350 * time.Millisecond},
		{time.Second, time.Minute, 500 * time.Millisecond},
		{30 * time.Second, 2 * time.Second, 2300 * time.Millisecond},
		{time.Hour, 0, 600 * time.Millisecond},
	} {
		if got := forExport(c.wall, c.rebuild); got != c.want {
			t.Errorf("of %v, with a program that takes %v to make, %v is kept, want %v", c.wall, c.rebuild, got, c.want)
		}
	}
}

// measuring is a problem of which only the traits matter.
type measuring struct {
	kernels.Problem
	traits kernels.Traits
}

func (p measuring) Traits() kernels.Traits { return p.traits }

// TestMeasurable: a run measures what it was asked for and what its goals are about, as far as the machine does. It goes on without a
// metric, and not without a goal.
func TestMeasurable(t *testing.T) {
	const refusal = "the system counts no energy"
	some := kernels.Traits{Measures: func(name string) error {
		if name == space.MetricEnergy {
			return errors.New(refusal)
		}
		return nil
	}}
	for _, c := range []struct {
		traits         kernels.Traits
		asked          []string
		goals          string
		names, without []string
		err            string
	}{
		{traits: some},
		{traits: some, asked: []string{space.MetricInstructions}, goals: "time,size", names: []string{space.MetricCodeBytes, space.MetricInstructions}},
		{traits: some, asked: []string{space.MetricCodeBytes}, goals: "time,size", names: []string{space.MetricCodeBytes}},
		{traits: some, asked: []string{space.MetricEnergy, space.MetricPageFaults}, names: []string{space.MetricPageFaults}, without: []string{space.MetricEnergy}},
		{traits: some, goals: "time,energy", err: "energy_nj: this machine does not measure it: " + refusal},
		{goals: "time,energy"}, // a metric of the kernel's own, perhaps
		{asked: []string{space.MetricEnergy}, err: "kernel k has no energy_nj: these are metrics of machine code that tune compiles"},
	} {
		goals, err := space.ParseGoals(c.goals, "ns")
		if err != nil {
			t.Fatal(err)
		}
		names, unmeasured, err := measurable(&kernels.Opened{Info: kernels.Info{Name: "k"}, Problem: measuring{traits: c.traits}}, c.asked, goals)
		var without []string
		for _, u := range unmeasured {
			without = append(without, u.Name)
		}
		said := ""
		if err != nil {
			said = err.Error()
		}
		if !slices.Equal(names, c.names) || !slices.Equal(without, c.without) || said != c.err {
			t.Errorf("%q and the goals %q: %q without %q, %v", c.asked, c.goals, names, without, err)
		}
	}
}
