package native

import (
	"math"
	"math/rand/v2"
	"testing"

	"tune/kernels/native/timing"
	"tune/kernels/native/worker"
	"tune/space"
)

// TestUneven: a candidate that does in a few calls what belongs to many costs what its calls take on average. One whose samples other work
// disturbs now and then costs what it always did.
func TestUneven(t *testing.T) {
	for _, c := range []struct {
		name  string
		long  func(sample int, rng *rand.Rand) bool // whether a sample takes fifty times as long
		level bool
		cost  float64 // in calls
	}{
		{"even", func(int, *rand.Rand) bool { return false }, false, 1},
		{"every twentieth sample", func(n int, _ *rand.Rand) bool { return n%20 == 0 }, true, 3.45},
		{"every fifth sample", func(n int, _ *rand.Rand) bool { return n%5 == 0 }, true, 10.8},
		{"disturbed", func(_ int, rng *rand.Rand) bool { return rng.IntN(200) == 0 }, false, 1},
	} {
		const seconds = 1e-4
		rng := rand.New(rand.NewPCG(1, 2))
		f := &fake{seconds: seconds, clock: func(truth float64, n int) float64 {
			if c.long(n, rng) {
				return 50 * truth
			}
			return truth
		}}
		m := newFakeMeter(f, 0)
		m.length = timing.BurstSeconds
		m.calls = timing.Calls(seconds, m.length)
		m.c = &candidate{problem: &Problem{}, point: space.Point{}}
		e, err := m.measure(t.Context(), 11, 0)
		if err != nil {
			t.Fatal(err)
		}
		if m.level != c.level || e.Cost < 0.8*c.cost*seconds || e.Cost > 1.25*c.cost*seconds {
			t.Errorf("%s: levelled: %v, it costs %.3g calls", c.name, m.level, e.Cost/seconds)
		}
		if m.c.noted().level != c.level {
			t.Errorf("%s: it is noted as uneven: %v", c.name, m.c.noted().level)
		}
	}
}

// TestUnevenClocks: with several threads a candidate is uneven by the CPU time of them all, because other work makes the wall clock uneven.
func TestUnevenClocks(t *testing.T) {
	m := newFakeMeter(&fake{seconds: 1e-4}, 0)
	uneven := worker.Timing{Seconds: []float64{1, 1, 1, 1, 1, 1, 1, 1, 1, 50}, Work: 2}
	if !m.uneven(uneven) {
		t.Error("one thread: not uneven")
	}
	if m.threads, m.uses = 2, 2; m.uneven(uneven) {
		t.Error("two threads, disturbed by other work: uneven")
	}
	for _, c := range []struct {
		work  float64
		level bool
		cost  float64 // in calls
	}{{2, false, 1}, {4, false, 1}, {6, true, 3}} {
		const seconds = 1e-4
		m := newFakeMeter(&fake{seconds: seconds, timing: func(_ worker.TimeRequest, t *worker.Timing) {
			t.Work = c.work * seconds
			t.Seconds[0] += (c.work/2 - 1) * seconds * float64(len(t.Seconds))
		}}, 0)
		m.threads, m.uses, m.length = 2, 2, timing.BurstSeconds
		m.calls = timing.Calls(seconds, m.length)
		m.c = &candidate{problem: &Problem{}, point: space.Point{}}
		e, err := m.measure(t.Context(), 11, 0)
		if err != nil {
			t.Fatal(err)
		}
		if m.level != c.level || math.Abs(e.Cost-c.cost*seconds) > 0.01*seconds {
			t.Errorf("calls with %g times their time on both cores: levelled: %v, it costs %.3g calls", c.work/2, m.level, e.Cost/seconds)
		}
	}
	if m.threads, m.uses = 1, 1; m.uneven(worker.Timing{Seconds: uneven.Seconds[4:]}) {
		t.Error("few samples: uneven")
	}
}
