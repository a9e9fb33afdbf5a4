package session

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
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

// TestExamine: a kernel that is slow to examine takes no longer than the wall budget, or examineLeast. What is found counts in any case, and so does an
// interrupt.
func TestExamine(t *testing.T) {
	fault := errors.New("a fault")
	for _, c := range []struct {
		wall, takes, stopped, want time.Duration
		err                        error
	}{
		{time.Minute, 0, 0, 0, fault},
		{time.Minute, 59 * time.Second, 0, 59 * time.Second, fault},
		{time.Minute, time.Hour, 0, time.Minute, nil},
		{time.Second, time.Hour, 0, examineLeast, nil},
		{time.Minute, time.Hour, 2 * time.Second, 2 * time.Second, context.Canceled},
		{0, time.Hour, 0, time.Hour, fault},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if c.stopped > 0 {
				time.AfterFunc(c.stopped, cancel)
			}
			s := &Session{kernel: &kernels.Opened{Problem: measuring{traits: kernels.Traits{Examine: func(ctx context.Context) error {
				select {
				case <-time.After(c.takes):
					return fault
				case <-ctx.Done():
					return ctx.Err()
				}
			}}}}}
			began := time.Now()
			if err := s.examine(ctx, c.wall); !errors.Is(err, c.err) || time.Since(began) != c.want {
				t.Errorf("%+v: %v after %v", c, err, time.Since(began))
			}
		})
	}
}
