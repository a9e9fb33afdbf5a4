package gofunc

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tune/kernels"
	"tune/kernels/kernelstest"
	"tune/space"
)

var sink uint64

// spin works for about a number of microseconds.
func spin(us int) {
	x := uint64(us) | 1
	for range us * 500 {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	sink += x
}

func newSpace(t *testing.T, values ...int) *space.Space {
	t.Helper()
	s, err := space.New("spin", []space.Parameter{space.Ints("n", values...)})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func newProblem(t *testing.T, f Function) kernels.Problem {
	t.Helper()
	if f.Name == "" {
		f.Name = "spin"
	}
	k, err := New(f)
	if err != nil {
		t.Fatal(err)
	}
	p, err := k.Problem(kernels.Shape{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func evaluate(t *testing.T, p kernels.Problem, n int) space.Outcome {
	t.Helper()
	point, err := p.Space().Parse(fmt.Sprintf("n=%d", n))
	if err != nil {
		t.Fatal(err)
	}
	out, err := (&kernels.Evaluator{Problem: p, CheckSeed: 7}).Evaluate(t.Context(), space.Trial{Proposal: space.Proposal{Point: point}})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestConforms(t *testing.T) {
	k, err := New(Function{Name: "spin", Space: newSpace(t, 3, 1, 2), Make: func(p space.Point) func() {
		n := p.Int("n")
		return func() { spin(n) }
	}})
	if err != nil {
		t.Fatal(err)
	}
	kernelstest.Run(t, k, "")
}

// TestOutcomes: whatever a point does wrong costs that point, and no wrong one has a cost.
func TestOutcomes(t *testing.T) {
	result, calls := 0, 0
	f := Function{
		Space: newSpace(t, 1, 2, 3, 4, 5, 6, 7, 8),
		Make: func(p space.Point) func() {
			n := p.Int("n")
			calls = 0
			switch n {
			case 2:
				panic("no such width")
			case 3:
				return nil
			case 7:
				runtime.Goexit()
			}
			return func() {
				calls++
				switch {
				case n == 4:
					result = []int{1, 2, 3}[calls+2]
				case n == 5:
					result = -1
				case n == 6 && calls > 1:
					result = -2
				case n == 8 && calls > 1:
					runtime.Goexit()
				default:
					result = 1
				}
				spin(20)
			}
		},
		Inputs: func(uint64) { result = 0 },
		Check: func() error {
			if result != 1 {
				return fmt.Errorf("the result is %d, want 1", result)
			}
			return nil
		},
	}
	p := newProblem(t, f)
	for n, want := range map[int]struct {
		status space.Status
		reason string
	}{
		1: {space.OK, ""},
		2: {space.Crashed, "panic: no such width at tune/kernels/gofunc.TestOutcomes"},
		3: {space.Invalid, "Make returned no function"},
		4: {space.Crashed, "panic: runtime error: index out of range [3] with length 3 at "},
		5: {space.WrongAnswer, "the result is -1, want 1"},
		6: {space.WrongAnswer, "after the timed calls: the result is -2, want 1"},
		7: {space.Crashed, "ended its goroutine (runtime.Goexit)"},
		8: {space.Crashed, "ended its goroutine (runtime.Goexit)"},
	} {
		if out := evaluate(t, p, n); out.Status != want.status || !strings.HasPrefix(out.Reason, want.reason) || (out.Cost > 0) != (n == 1) {
			t.Errorf("n=%d: %+v", n, out)
		}
	}
	if c := p.Traits().Checking; c != kernels.FreshInputs {
		t.Error(c)
	}
	f.Inputs = nil
	if c := newProblem(t, f).Traits().Checking; c != kernels.FixedInput {
		t.Error(c)
	}
	if out := evaluate(t, newProblem(t, f), 6); out.Status != space.WrongAnswer || !strings.HasPrefix(out.Reason, "after the timed calls: ") {
		t.Errorf("right once, without Inputs: %+v", out)
	}
	f.Check = nil
	if c := newProblem(t, f).Traits().Checking; c != kernels.NotChecked {
		t.Error(c)
	}
}

// busyTries is how often what depends on the clock is tried: on a very busy machine it is right in one of many tries.
const busyTries = 20

// TestTimes: a cost is the time of one call, without Reset and without Make, and inputs are there when Make is called.
func TestTimes(t *testing.T) {
	dirty, filled := true, false
	p := newProblem(t, Function{
		Space: newSpace(t, 1, 2),
		Make: func(p space.Point) func() {
			if !filled {
				t.Error("Make is called before Inputs")
			}
			time.Sleep(100 * time.Millisecond)
			return func() {
				if dirty {
					t.Error("a call comes without Reset")
				}
				dirty = true
				time.Sleep(time.Duration(p.Int("n")) * time.Millisecond)
			}
		},
		Inputs: func(seed uint64) { filled = true },
		Reset: func() {
			dirty = false
			time.Sleep(30 * time.Millisecond)
		},
	})
	// On a busy machine a sleep takes longer, but not often as long as Reset does.
	for try := 1; ; try++ {
		out := evaluate(t, p, 1)
		quiet := out.Status == space.OK && out.Cost < 30e6
		if out.Status == space.OK && out.Cost < 1e6 || !quiet && try == busyTries {
			t.Fatalf("a sleep of 1 ms: %+v", out)
		}
		if quiet {
			return
		}
	}
}

// TestEnds: where the time is over, a function with long calls is not called until its score is complete.
func TestEnds(t *testing.T) {
	for most := 1; most <= 6; most++ {
		ctx, cancel := context.WithCancel(t.Context())
		calls := 0
		p := newProblem(t, Function{
			Space: newSpace(t, 1),
			Make: func(space.Point) func() {
				return func() {
					if calls++; calls == most {
						cancel()
					}
					time.Sleep(25 * time.Millisecond)
				}
			},
			Inputs: func(uint64) {}, Check: func() error { return nil },
		})
		_, err := (&kernels.Evaluator{Problem: p}).Evaluate(ctx, space.Trial{Proposal: space.Proposal{Point: p.Space().Default()}})
		if !errors.Is(err, context.Canceled) || calls > most+1 {
			t.Errorf("cancelled in call %d, it was called %d times: %v", most, calls, err)
		}
		cancel()
	}
}

// TestAllocates: garbage of calls is noticed, so that it is collected before samples.
func TestAllocates(t *testing.T) {
	var kept []byte
	p := newProblem(t, Function{Space: newSpace(t, 0, 100), Make: func(p space.Point) func() {
		n := p.Int("n")
		return func() {
			if n > 0 {
				kept = make([]byte, n)
			}
			spin(1)
		}
	}})
	for i := range uint64(2) {
		built, err := p.Build(t.Context(), p.Space().At(i))
		if err != nil {
			t.Fatal(err)
		}
		c := built.(*candidate)
		if err := c.make(); err != nil {
			t.Fatal(err)
		}
		if c.calibrate(); c.allocates != (i == 1) || c.calls < 100 {
			t.Errorf("point %d: %+v", i, c)
		}
	}
	_ = kept
}

// TestCompare: functions are compared in turns; one that fails now, or gives wrong results, is out, and so is a baseline.
func TestCompare(t *testing.T) {
	result, broken := 0, 0
	p := newProblem(t, Function{
		Space: newSpace(t, 40, 20, 30, 10),
		Make: func(p space.Point) func() {
			n := p.Int("n")
			return func() {
				if result = n; n == 30 && broken == 30 {
					result = -1
				}
				if n == broken && n != 30 {
					panic("broken")
				}
				if n == -broken {
					runtime.Goexit()
				}
				spin(n)
			}
		},
		Check: func() error {
			if result < 0 {
				return errors.New("wrong")
			}
			return nil
		},
	})
	var all []kernels.Candidate
	for i := range uint64(4) {
		c, err := p.Build(t.Context(), p.Space().At(i))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	compare := func(limit time.Duration, confirm bool, who ...kernels.Candidate) (kernels.Final, error) {
		return p.Traits().Compare(t.Context(), who[0], who[1:], kernels.Series{Limit: limit, Confirm: confirm, Seed: 3})
	}
	var f kernels.Final
	var err error
	// Ratios have to be right in one of a few comparisons, because the machine may be busy; everything else in each.
	for try := 1; ; try++ {
		if f, err = compare(time.Second, true, all[0], all[1]); err != nil {
			t.Fatal(err)
		}
		c := f.Comparisons[0]
		interval := c.Low != 0 // a few pairs give none
		if interval && (c.Low > c.Ratio || c.High < c.Ratio) || len(c.Metrics) == 0 || f.Machine.Probes == 0 {
			t.Fatalf("half of the work: %+v", f)
		}
		if interval && c.Ratio >= 1.6 && c.Ratio <= 2.4 {
			break
		}
		if try == busyTries {
			t.Fatalf("half of the work: %+v", f)
		}
	}
	broken = 10
	for try := 1; ; try++ {
		if f, err = compare(time.Second, false, all...); err != nil { // with fewer pairs there is no interval to rank by
			t.Fatal(err)
		}
		c := f.Comparisons
		if kernels.AsRejection(c[2].Err) == nil || c[1].Err != nil {
			t.Fatalf("one panics: %+v", f)
		}
		if f.Best == 0 && c[0].Ratio >= 1.5 {
			break
		}
		if try == busyTries {
			t.Fatalf("one panics: %+v", f)
		}
	}
	broken = 30
	if f, err = compare(300*time.Millisecond, true, all[0], all[2]); err != nil || kernels.AsRejection(f.Comparisons[0].Err) == nil {
		t.Errorf("one is wrong now: %+v, %v", f, err)
	}
	broken = 40
	if _, err = compare(300*time.Millisecond, true, all[0], all[1]); kernels.AsRejection(err) == nil {
		t.Errorf("the baseline panics: %v", err)
	}
	broken = -10
	if f, err = compare(300*time.Millisecond, true, all[0], all[3]); err != nil || kernels.AsRejection(f.Comparisons[0].Err) == nil {
		t.Errorf("one ends its goroutine: %+v, %v", f, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	broken = 0
	if _, err := p.Traits().Compare(ctx, all[0], all[1:], kernels.Series{Limit: time.Second}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestWatch(t *testing.T) {
	w := watch{quiet: []bool{true, false, true, true, true, true, true, true, false}}
	if counts, unverified := w.counting(9); unverified || counts(1) || !counts(2) || w.counted(9) != 7 {
		t.Error("seven quiet rounds are enough")
	}
	if counts, unverified := w.counting(8); unverified || counts(1) {
		t.Error("seven of eight rounds are quiet")
	}
	w.quiet[0] = false
	if counts, unverified := w.counting(9); !unverified || !counts(1) {
		t.Error("six quiet rounds of nine verify nothing")
	}
}

func TestValidate(t *testing.T) {
	noop := func(space.Point) func() { return func() {} }
	for want, f := range map[string]Function{
		"field Name is \"\": want letters, digits and . - _":                 {Space: newSpace(t, 1), Make: noop},
		"field Name is \"a b\": want letters, digits and . - _":              {Name: "a b", Space: newSpace(t, 1), Make: noop},
		"field Space is not set":                                             {Name: "a", Make: noop},
		"field Make is not set: it returns the function to time for a point": {Name: "a", Space: newSpace(t, 1)},
	} {
		if _, err := New(f); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestKept: a function that has nothing to do in a repeated call does not score, however it keeps its result, and honest ones do that
// look like it.
func TestKept(t *testing.T) {
	if testing.Short() {
		t.Skip("it measures times")
	}
	data, out := make([]uint64, 64), uint64(0)
	work := func() uint64 { // some 40 µs
		x := uint64(1)
		for range 400 {
			for _, v := range data {
				x = x*6364136223846793005 + v
			}
		}
		return x
	}
	fill := func(seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 1))
		for i := range data {
			data[i] = rng.Uint64()
		}
		out = 0
	}
	var (
		known = map[[64]uint64]uint64{} // of all points
		last  *[64]uint64
		kept  uint64
	)
	for name, c := range map[string]struct {
		make   func() func()
		reason string // "" for an honest one
	}{
		"honest": {func() func() { return func() { out = work() } }, ""},
		"a table made in the first call": {func() func() {
			var table []uint64
			return func() {
				if table == nil {
					for i := range 2000 {
						table = append(table, uint64(i))
					}
				}
				out = work() + table[1] - 1
			}
		}, ""},
		"reads its inputs when it is made": {func() func() {
			read := slices.Clone(data)
			return func() {
				x := uint64(1)
				for range 400 {
					for _, v := range read {
						x = x*6364136223846793005 + v
					}
				}
				out = x
			}
		}, ""},
		"short": {func() func() { return func() { out = work1(data) } }, ""},
		"once": {func() func() {
			once := sync.OnceValue(work)
			return func() { out = once() }
		}, "on new inputs"},
		"inputs packed once": {func() func() {
			var once sync.Once
			var packed []uint64
			return func() {
				once.Do(func() {
					for range 150 {
						packed = slices.Clone(data)
						slices.Sort(packed)
						packed = slices.Clone(data)
					}
				})
				x := uint64(1)
				for range 400 {
					for _, v := range packed {
						x = x*6364136223846793005 + v
					}
				}
				out = x
			}
		}, "on new inputs"},
		"a map by content": {func() func() {
			return func() {
				key := [64]uint64(data)
				v, ok := known[key]
				if !ok {
					v = work()
					known[key] = v
				}
				out = v
			}
		}, "on new inputs"},
		"the last result with its input": {func() func() {
			return func() {
				if last == nil || *last != [64]uint64(data) {
					copied := [64]uint64(data)
					last, kept = &copied, work()
				}
				out = kept
			}
		}, "on new inputs"},
		"skipped while the output is right": {func() func() {
			var was uint64
			return func() {
				if out == 0 || out != was {
					out = work()
					was = out
				}
			}
		}, "the first call takes"},
	} {
		p := newProblem(t, Function{
			Space: newSpace(t, 1, 2), Inputs: fill, Make: func(space.Point) func() { return c.make() },
			Check: func() error {
				want := work()
				if name == "short" {
					want = work1(data)
				}
				if out != want {
					return fmt.Errorf("the result is %d, want %d", out, want)
				}
				return nil
			},
		})
		got := evaluate(t, p, 1)
		if c.reason == "" && got.Status != space.OK || c.reason != "" && (got.Status != space.Invalid || !strings.Contains(got.Reason, c.reason)) {
			t.Errorf("%s: %v (%s), want %q", name, got.Status, got.Reason, c.reason)
		}
	}
}

func work1(data []uint64) (x uint64) {
	for _, v := range data {
		x += v
	}
	return x
}

// TestKeptOnSlowerMachine: a machine that becomes slower after the repeated calls were timed makes no honest function suspicious.
func TestKeptOnSlowerMachine(t *testing.T) {
	slow := false
	spin := func() {
		for began, d := time.Now(), 200*time.Microsecond; time.Since(began) < d; {
			if slow {
				d = 4 * time.Millisecond
			}
		}
	}
	p := newProblem(t, Function{
		Space: newSpace(t, 1), Make: func(space.Point) func() { return spin },
		Inputs: func(uint64) { slow = true }, Check: func() error { return nil },
	})
	built, err := p.Build(t.Context(), p.Presets()[0].Point)
	if err != nil {
		t.Fatal(err)
	}
	c := built.(*candidate)
	if err := c.make(); err != nil {
		t.Fatal(err)
	}
	c.calibrate()
	if slow {
		t.Fatal("the inputs changed before the repeated calls")
	}
	if err := c.keeps(t.Context(), 0); err != nil {
		t.Error(err)
	}
}

// TestSkips: a function that leaves out work in some calls is found by the calls after the timed ones, whose outputs are cleared. What takes its inputs
// when it is made is not called on others.
func TestSkips(t *testing.T) {
	if testing.Short() {
		t.Skip("it measures times")
	}
	in, out := make([]uint64, 2000), make([]uint64, 2000)
	work := func(in []uint64, from, to int) {
		for i := from; i < to; i++ {
			out[i] = in[i]
			for range 40 {
				out[i] = out[i]*6364136223846793005 + 1
			}
		}
	}
	half, all := len(in)/2, len(in)
	for name, c := range map[string]struct {
		make   func() func()
		reason string // "" for an honest one
	}{
		"honest": {func() func() { return func() { work(in, 0, all) } }, ""},
		"reads its inputs when it is made": {func() func() {
			read := slices.Clone(in)
			return func() { work(read, 0, all) }
		}, ""},
		"every other call": {func() func() {
			calls := 0
			return func() {
				if calls++; calls < 8 || calls%2 == 0 {
					work(in, 0, all)
				}
			}
		}, "after the timed calls"},
		"half of it in turns": {func() func() {
			calls := 0
			return func() {
				switch calls++; {
				case calls < 8:
					work(in, 0, all)
				case calls%2 == 0:
					work(in, 0, half)
				default:
					work(in, half, all)
				}
			}
		}, "after the timed calls"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProblem(t, Function{
				Name: "skips", Space: newSpace(t, 1),
				Make: func(space.Point) func() { return c.make() },
				Inputs: func(seed uint64) {
					for i := range in {
						in[i] = seed + uint64(i)*seed
					}
					clear(out)
				},
				Check: func() error {
					for i, want := range in {
						for range 40 {
							want = want*6364136223846793005 + 1
						}
						if out[i] != want {
							return fmt.Errorf("out[%d] is %d, want %d", i, out[i], want)
						}
					}
					return nil
				},
			})
			got := evaluate(t, p, 1)
			if c.reason == "" && got.Status != space.OK || c.reason != "" && (got.Status != space.WrongAnswer || !strings.Contains(got.Reason, c.reason)) {
				t.Errorf("%v: %s, want %q", got.Status, got.Reason, c.reason)
			}
		})
	}
}

// TestSaves: a function that leaves out work where it meets what it has met, its outputs above all, has the cost of a call that does all of it. An honest
// one has its own.
func TestSaves(t *testing.T) {
	if testing.Short() {
		t.Skip("it measures times")
	}
	in, out := make([]uint64, 2000), make([]uint64, 2000)
	var grown, seen, was []uint64
	rounds := 40
	work := func(in []uint64, from, to int) {
		for i := from; i < to; i++ {
			out[i] = in[i]
			for range rounds {
				out[i] = out[i]*6364136223846793005 + 1
			}
		}
	}
	third, half, all := len(in)/3, len(in)/2, len(in)
	makers := map[string]func() func(){
		"honest": func() func() { return func() { work(in, 0, all) } },
		"honest, with outputs that grow": func() func() {
			return func() {
				work(in, 0, all)
				grown = append(grown[:0], out...)
			}
		},
		"honest, with inputs of its own": func() func() {
			read := slices.Clone(in)
			return func() { work(read, 0, all) }
		},
		"all of it where the output is clear": func() func() {
			return func() {
				if out[all-1] == 0 {
					work(in, half, all)
				}
				work(in, 0, half)
			}
		},
		"all of it where the output is clear, with inputs of its own": func() func() {
			read := slices.Clone(in)
			return func() {
				if out[all-1] == 0 {
					work(read, half, all)
				}
				work(read, 0, half)
			}
		},
		"all of it where the output is clear, and in the first calls": func() func() {
			calls := 0
			return func() {
				if calls++; calls < 100 || out[all-1] == 0 {
					work(in, half, all)
				}
				work(in, 0, half)
			}
		},
		"all of it where the output is not what it wrote": func() func() {
			return func() {
				if !slices.Equal(out, was) {
					work(in, half, all)
				}
				work(in, 0, half)
				was = append(was[:0], out...)
			}
		},
		// One that keeps half of it, or more, is refused instead: keptShare.
		"a third of it is kept by the inputs": func() func() {
			kept := make([]uint64, third)
			return func() {
				if !slices.Equal(in, seen) {
					work(in, all-third, all)
					copy(kept, out[all-third:])
					seen = append(seen[:0], in...)
				}
				work(in, 0, all-third)
				copy(out[all-third:], kept)
			}
		},
	}
	problem := func(name string) kernels.Problem {
		return newProblem(t, Function{
			Name: "saves", Space: newSpace(t, 1, 2),
			Make: func(p space.Point) func() {
				if p.Int("n") == 1 {
					return makers["honest"]()
				}
				return makers[name]()
			},
			Inputs: func(seed uint64) {
				for i := range in {
					in[i] = seed + uint64(i)*seed
				}
				clear(out)
				grown = nil
			},
			Check: func() error {
				for i, want := range in {
					for range rounds {
						want = want*6364136223846793005 + 1
					}
					if out[i] != want {
						return fmt.Errorf("out[%d] is %d, want %d", i, out[i], want)
					}
				}
				return nil
			},
		})
	}
	for name := range makers {
		t.Run(name, func(t *testing.T) {
			p := problem(name)
			for try := 1; ; try++ {
				base, got := evaluate(t, p, 1), evaluate(t, p, 2)
				if base.Status != space.OK || got.Status != space.OK {
					t.Fatalf("%v, and %v", base, got)
				}
				if share := got.Cost / base.Cost; share > 0.85 && (share < 1.3 || !strings.HasPrefix(name, "honest")) {
					break
				} else if try == busyTries {
					t.Fatalf("it is scored at %.2f of the honest cost", share)
				}
			}
			var two []kernels.Candidate
			for i := range uint64(2) {
				c, err := p.Build(t.Context(), p.Space().At(i))
				if err != nil {
					t.Fatal(err)
				}
				two = append(two, c)
			}
			for try := 1; ; try++ {
				f, err := p.Traits().Compare(t.Context(), two[0], two[1:], kernels.Series{Limit: time.Second, Seed: 3})
				if err != nil || f.Comparisons[0].Err != nil {
					t.Fatal(err, f)
				}
				if r := f.Comparisons[0].Ratio; r > 0.7 && r < 1.15 {
					break
				} else if try == busyTries {
					t.Fatalf("it is measured as %.2f times as fast as the honest function", r)
				}
			}
		})
	}
}
