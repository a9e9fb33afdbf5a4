package tune

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tune/kernels"
	"tune/results"
	"tune/search"
	"tune/space"
)

// TestMeasure: the final of a run is held again, and what comes of it takes the place of the schedule, or nothing does.
func TestMeasure(t *testing.T) {
	k := newMeasuredToy()
	fail := errors.New("no core is left")
	ratio := func(r, low, high float64) func(int) kernels.Comparison {
		return func(int) kernels.Comparison { return compared(r, low, high) }
	}
	busy := func(int) kernels.Comparison { return unsure(compared(1.2, 0.9, 1.3)) }
	k.compare = scripted(busy, busy)
	report := runToy(t, k, Options{Budget: search.Budget{Evaluations: 20}, Strategy: "grid"})
	if report.Schedule.Verdict != space.Unverified {
		t.Fatalf("the schedule is %+v", report.Schedule)
	}
	csv := func() string {
		var b strings.Builder
		if err := Export(t.Context(), kernels.Table{k}, report.Dir, "csv", &b); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	before := csv()
	path := filepath.Join(report.Dir, ScheduleName)
	read := func() results.Schedule {
		t.Helper()
		s, err := results.ReadSchedule(path)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	measure := func(o MeasureOptions) (*Report, error) {
		return Measure(t.Context(), kernels.Table{k}, report.Dir, o)
	}
	steps := 0
	for _, test := range []struct {
		name           string
		first, confirm func(int) kernels.Comparison
		key            string
		verdict        space.Verdict
		fails          bool
	}{
		{"unverified again", busy, busy, "n=2", space.Unverified, false},
		{"another point", func(n int) kernels.Comparison {
			if n == 8 {
				return compared(2, 1.9, 2.1)
			}
			return compared(1.2, 1.1, 1.3)
		}, ratio(2, 1.9, 2.1), "n=8", space.Faster, false},
		{"a busy machine", busy, busy, "n=8", space.Faster, true},
		{"the baseline", ratio(1, 0.9, 1.1), ratio(1, 0.9, 1.1), "n=20", space.NoGain, false},
		{"and back", ratio(1.2, 1.1, 1.3), ratio(1.2, 1.1, 1.3), "n=2", space.Faster, false},
	} {
		k.compare = scripted(test.first, test.confirm)
		got, err := measure(MeasureOptions{Measuring: func(kernels.ContestProgress) { steps++ }})
		_, unverified := errors.AsType[*UnverifiedError](err)
		if unverified != test.fails || !unverified && err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		s := read()
		if s.Key != test.key || s.Verdict != test.verdict || got.Schedule.Key != s.Key || s.Search == nil || s.Search.Baseline != 60 {
			t.Errorf("%s: the schedule is %+v", test.name, s)
		}
		if failed := verify(t, k, report.Dir); len(failed) > 0 {
			t.Errorf("%s: verification fails: %q", test.name, failed)
		}
	}
	if steps == 0 {
		t.Error("nothing was told")
	}

	// What fails or is ended leaves everything as it is.
	was := read()
	k.compare = func(*measuredProblem, int, []int, kernels.Series) (kernels.Final, error) {
		return kernels.Final{}, fail
	}
	if _, err := measure(MeasureOptions{}); !errors.Is(err, fail) {
		t.Errorf("a failure gave %v", err)
	}
	k.compare = scripted(ratio(1.5, 1.4, 1.6), ratio(1.5, 1.4, 1.6))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Measure(ended, kernels.Table{k}, report.Dir, MeasureOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a measurement that was ended gave %v", err)
	}
	if s := read(); s.Created != was.Created {
		t.Errorf("the schedule was replaced: %+v", s)
	}
	if csv() != before {
		t.Error("the outcomes have changed")
	}
	left, err := filepath.Glob(filepath.Join(report.Dir, ".measure-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}

	// Without a schedule the baseline is scored anew.
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := measure(MeasureOptions{}); err != nil || read().Search.Baseline != 60 {
		t.Errorf("without a schedule: %v", err)
	}

	// A run that goes on has the lock.
	run, err := results.Open(report.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := measure(MeasureOptions{}); !isInUse(err) {
		t.Errorf("beside a search: %v", err)
	}
	if err := run.Close(); err != nil {
		t.Fatal(err)
	}
}

func isInUse(err error) bool { _, ok := errors.AsType[*results.InUseError](err); return ok }

// TestMeasureNothing: what cannot be measured says so.
func TestMeasureNothing(t *testing.T) {
	exact := toy{size: 20}
	report := runToy(t, exact, Options{Budget: search.Budget{Evaluations: 5}})
	if _, err := Measure(t.Context(), kernels.Table{exact}, report.Dir, MeasureOptions{}); !errors.Is(err, ErrExact) {
		t.Errorf("an exact kernel gave %v", err)
	}
	if _, err := Measure(t.Context(), kernels.Table{exact}, filepath.Join(t.TempDir(), "none"), MeasureOptions{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a run that is not there gave %v", err)
	}
}

// TestMeasureWaits: a machine that works is waited for, with a reason, and given up.
func TestMeasureWaits(t *testing.T) {
	stop := make(chan struct{})
	defer close(stop)
	for range 2 {
		go func() {
			for x := 1.0; ; x = math.Sqrt(x + 1) {
				select {
				case <-stop:
					return
				default:
				}
			}
		}()
	}
	k := newMeasuredToy()
	report := runToy(t, k, Options{Budget: search.Budget{Evaluations: 5}})
	var why []string
	_, err := Measure(t.Context(), kernels.Table{k}, report.Dir, MeasureOptions{Wait: 1500 * time.Millisecond, Waiting: func(w string, left time.Duration) {
		if why = append(why, w); left <= 0 || left > 1500*time.Millisecond {
			t.Errorf("%v is left", left)
		}
	}})
	if busy, ok := errors.AsType[*BusyError](err); !ok {
		t.Skipf("this system does not tell how busy it is: %v", err)
	} else if len(why) == 0 || !strings.Contains(busy.Why, "busy") {
		t.Errorf("it was told %q and %q", why, busy.Why)
	}
}

// settlingToy is a kernel whose baseline is wrong, so that another point is the baseline.
type settlingToy struct{ measuredToy }

type settlingProblem struct {
	*measuredProblem
	baseline space.Point // the zero point until it is settled
}

func (k settlingToy) Problem(s kernels.Shape) (kernels.Problem, error) {
	p, err := k.measuredToy.Problem(s)
	if err != nil {
		return nil, err
	}
	return &settlingProblem{measuredProblem: p.(*measuredProblem)}, nil
}

func (p *settlingProblem) candidates() []space.Point {
	second, _ := p.Space().Parse("n=19")
	return []space.Point{p.measuredProblem.Presets()[0].Point, second}
}

func (p *settlingProblem) Presets() []kernels.Preset {
	presets := p.measuredProblem.Presets()
	if p.baseline.Key() != "" {
		presets[0].Point = p.baseline
	}
	return presets
}

func (p *settlingProblem) Traits() kernels.Traits {
	t := p.measuredProblem.Traits()
	t.Baselines = p.candidates
	t.Settle = func(ctx context.Context, seed uint64) (err error) {
		p.baseline, err = kernels.FirstRight(ctx, p, p.candidates(), seed)
		return err
	}
	return t
}

// TestMeasureSettles: where the first point that may be the baseline is wrong, a run is measured again beside the same one as before.
func TestMeasureSettles(t *testing.T) {
	k := settlingToy{newMeasuredToy()}
	k.check = func(ctx context.Context, n int, _ uint64) error {
		if n == 20 {
			return wrongAnswer(n)
		}
		return ctx.Err()
	}
	report := runToy(t, k, Options{Budget: search.Budget{Evaluations: 20}, Strategy: "grid"})
	if report.Baseline.Key != "n=19" {
		t.Fatalf("the baseline is %+v", report.Baseline)
	}
	again, err := Measure(t.Context(), kernels.Table{k}, report.Dir, MeasureOptions{})
	if err != nil || again.Baseline.Key != "n=19" || again.Schedule.Key != report.Schedule.Key {
		t.Errorf("measured again: %+v, %v", again, err)
	}
}

// uncheckedToy is a measured toy whose candidates are not checked.
type uncheckedToy struct{ measuredToy }

type uncheckedProblem struct{ *measuredProblem }

func (k uncheckedToy) Problem(s kernels.Shape) (kernels.Problem, error) {
	p, err := k.measuredToy.Problem(s)
	if err != nil {
		return nil, err
	}
	return uncheckedProblem{p.(*measuredProblem)}, nil
}

func (p uncheckedProblem) Traits() kernels.Traits {
	t := p.measuredProblem.Traits()
	t.Checking = kernels.NotChecked
	return t
}

// TestMeasureChecking: a report of a new measurement says how the candidates are checked, as that of the run does.
func TestMeasureChecking(t *testing.T) {
	k := uncheckedToy{newMeasuredToy()}
	report := runToy(t, k, Options{Budget: search.Budget{Evaluations: 20}, Strategy: "grid"})
	again, err := Measure(t.Context(), kernels.Table{k}, report.Dir, MeasureOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if report.Checking != kernels.NotChecked || again.Checking != kernels.NotChecked {
		t.Errorf("the run is checked %v, and the measurement %v", report.Checking, again.Checking)
	}
}
