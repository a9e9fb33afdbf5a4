package timing

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"tune/kernels"
)

func TestSummarise(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	tests := []struct {
		name     string
		samples  []float64
		floor    float64
		cost     float64
		kept     int
		rejected int
	}{
		{"none", nil, 0, 0, 0, 0},
		{"one", []float64{3}, 0, 3, 1, 0},
		{"two", []float64{3, 5}, 0, 4, 2, 0},
		{"quartile", []float64{5, 1.5, 4, 2, 3}, 0, 2, 5, 0},
		{"slow outliers", []float64{1, 1, 1, 1, 900}, 0, 1, 5, 0},
		{"two slow outliers", []float64{1, 50, 1, 1, 900}, 0, 1, 5, 0},
		{"fast outlier", []float64{1, 1.01, 1.02, 1e-6, 1.01}, 0, 1.0075, 4, 1},
		{"two fast outliers", []float64{1, 0.3, 1, 1e-6, 1}, 0, 1, 3, 2},
		{"mild lie below the roof", []float64{1, 0.85, 1, 1, 1}, 0.98, 1, 4, 1},
		{"roof within its own error", []float64{1, 0.95, 1, 1, 1}, 0.98, 1, 5, 0},
		{"all below the roof", []float64{0.1, 0.1, 0.1}, 1, 0, 0, 3},
		{"no numbers", []float64{nan, inf, 0, -1, 2}, 0, 2, 1, 4},
		{"bimodal", []float64{1, 1.3, 1, 1.3, 1, 1.3, 1, 1.3}, 0, 1, 8, 0},
	}
	for _, test := range tests {
		s := Summarise(test.samples, test.floor)
		if math.Abs(s.Cost-test.cost) > 1e-9 || s.Kept != test.kept || s.Rejected != test.rejected {
			t.Errorf("%s: got %+v, want cost %v of %d, %d rejected", test.name, s, test.cost, test.kept, test.rejected)
		}
	}
}

// clock draws a sample as a noisy machine does: mostly close to the truth, now and then far above it, and rarely far
// below.
func clock(r *rand.Rand, truth float64) float64 {
	s := truth * (1 + 0.013*math.Abs(r.NormFloat64()))
	switch u := r.Float64(); {
	case u < 0.01:
		return s * 1e-4
	case u < 0.02:
		return s * 0.85
	case u < 0.12:
		return s * (1 + 3*r.Float64())
	}
	return s
}

// TestRanking: of candidates a few percent apart the summary picks one that is as good as the best, where the minimum
// picks whatever the clock lied about.
func TestRanking(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var regret, naive float64
	const rounds = 300
	for range rounds {
		best, pick, cheapest, lowest := math.Inf(1), 0.0, math.Inf(1), math.Inf(1)
		luckiest := 0.0
		for range 31 {
			truth := 1 + 0.5*r.Float64()
			best = min(best, truth)
			samples := make([]float64, Most)
			for i := range samples {
				samples[i] = clock(r, truth)
				if samples[i] < lowest {
					lowest, luckiest = samples[i], truth
				}
			}
			if s := Summarise(samples, 0); s.Cost < cheapest {
				cheapest, pick = s.Cost, truth
			}
		}
		regret += pick/best - 1
		naive += luckiest/best - 1
	}
	if regret /= rounds; regret > 0.005 {
		t.Errorf("the pick is %.2f %% off the best", 100*regret)
	}
	if naive /= rounds; naive < 0.05 {
		t.Errorf("the test is too kind: the minimum picks within %.2f %%", 100*naive)
	}
}

// TestRace: the race stops those that are behind, and never the one that would have won.
func TestRace(t *testing.T) {
	tests := []struct {
		cost float64
		kept int
		best float64
		want bool
	}{
		{1.3, 1, 1, false}, {1.3, 2, 1, true}, {1.2, 2, 1, false}, {1.2, 5, 1, false}, {1.2, 6, 1, true},
		{1.04, 6, 1, false}, {1.04, 11, 1, false}, {0.5, 2, 1, false}, {9, 9, 0, false},
	}
	for _, test := range tests {
		if got := behind(Summary{Cost: test.cost, Low: test.cost, Kept: test.kept}, test.best); got != test.want {
			t.Errorf("cost %v after %d samples against %v: %v", test.cost, test.kept, test.best, got)
		}
	}
	// One of three samples may be far too slow: until there are four the least of them counts.
	for kept, want := range map[int]bool{2: false, 3: false, 4: true} {
		if got := behind(Summary{Cost: 1.4, Low: 1.1, Kept: kept}, 1); got != want {
			t.Errorf("after %d samples of which the least is well: %v", kept, got)
		}
	}
	r := rand.New(rand.NewPCG(3, 4))
	lost, saved, full := 0, 0, 0
	for range 1000 {
		best := 1.0
		truth := 0.9 + 0.6*r.Float64()
		var samples []float64
		for len(samples) < Most {
			samples = append(samples, clock(r, truth))
			if n := len(samples); (n == 2 || n == 6) && behind(Summarise(samples, 0), best) {
				break
			}
		}
		full += Most
		saved += Most - len(samples)
		if truth < 0.97 && len(samples) < Most {
			lost++
		}
	}
	if lost > 10 {
		t.Errorf("%d of 1000 candidates were stopped though they were better", lost)
	}
	if share := float64(saved) / float64(full); share < 0.3 {
		t.Errorf("the race saves %.0f %% of the samples", 100*share)
	}
}

func TestCalls(t *testing.T) {
	for _, test := range []struct {
		perCall float64
		calls   int
	}{{1, 1}, {0.005, 1}, {0.0049, 2}, {1e-6, 5000}, {0, 1 << 24}, {-1, 1 << 24}, {1e-12, 1 << 24}, {math.NaN(), 1 << 24}} {
		if got := Calls(test.perCall, SampleSeconds); got != test.calls {
			t.Errorf("Calls(%v) is %d, want %d", test.perCall, got, test.calls)
		}
	}
	for _, test := range []struct {
		perCall float64
		samples int
	}{{1e-6, Most}, {0.2, Least}, {1.5, 1}} {
		if got := Samples(test.perCall); got != test.samples {
			t.Errorf("Samples(%v) is %d, want %d", test.perCall, got, test.samples)
		}
	}
}

// TestPairs: the paired ratio sees through what slows both sides, tells apart what differs by more than the noise,
// and covers the truth about as often as it says.
func TestPairs(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	const rounds = 400
	covered, distinct, mistaken := 0, 0, 0
	for range rounds {
		draw := func(truth float64) (base, other []float64) {
			for range 15 {
				drift := 1 + 2*r.Float64() // of the machine, the same for both
				base = append(base, drift*(1+0.01*r.NormFloat64()))
				other = append(other, drift/truth*(1+0.01*r.NormFloat64()))
			}
			return base, other
		}
		base, other := draw(1.03)
		got, _, err := Pairs(base, other, 0, 0, Confidence)
		if err != nil {
			t.Fatal(err)
		}
		if got.Low <= 1.03 && 1.03 <= got.High {
			covered++
		}
		if !got.Indistinct() {
			distinct++
		}
		base, other = draw(1)
		if got, _, err = Pairs(base, other, 0, 0, Confidence); err != nil {
			t.Fatal(err)
		}
		if !got.Indistinct() {
			mistaken++
		}
	}
	if share := float64(covered) / rounds; share < 0.92 {
		t.Errorf("the interval covers the truth in %.1f %% of the cases", 100*share)
	}
	if share := float64(distinct) / rounds; share < 0.95 {
		t.Errorf("3 %% of difference are seen in %.1f %% of the cases", 100*share)
	}
	if share := float64(mistaken) / rounds; share > 0.08 {
		t.Errorf("a difference is seen where there is none in %.1f %% of the cases", 100*share)
	}
}

func TestPairsEdges(t *testing.T) {
	ones := func(n int) []float64 {
		s := make([]float64, n)
		for i := range s {
			s[i] = 1 + float64(i)/1000
		}
		return s
	}
	if _, _, err := Pairs(ones(2), ones(3), 0, 0, Confidence); err == nil {
		t.Error("lists of different length were paired")
	}
	if _, _, err := Pairs(nil, nil, 0, 0, Confidence); err == nil {
		t.Error("nothing was compared")
	}
	got, _, err := Pairs(ones(6), ones(6), 0, 0, kernels.Confirmed)
	if err != nil || got.Value != 1 || got.Low != 0 || got.High != 0 || !got.Indistinct() || !got.TooFew() {
		t.Errorf("six pairs gave %+v, %v: want no interval", got, err)
	}
	if got, _, err = Pairs(ones(7), ones(7), 0, 0, kernels.Confirmed); err != nil || got.Low != 1 || got.High != 1 {
		t.Errorf("seven pairs gave %+v, %v: want an interval", got, err)
	}
	wild := append(ones(9), 1e-9, 1, math.NaN())
	beside := append(ones(9), 1, 1e-9, 1)
	if got, _, err = Pairs(wild, beside, 0, 0, Confidence); err != nil || got.Pairs != 9 || got.Value != 1 {
		t.Errorf("wild samples gave %+v, %v", got, err)
	}
	if got, _, err = Pairs([]float64{1, 1, 1}, []float64{1, 1, 0.5}, 0, 0.9, Confidence); err != nil || got.Pairs != 2 {
		t.Errorf("a sample below the roof gave %+v, %v", got, err)
	}
}

// TestLoad: work of this process shows in the load of the machine, and a busy machine is not idle.
func TestLoad(t *testing.T) {
	before := ReadLoad()
	if !before.Readable {
		t.Skip("this system does not tell its load")
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for x := 1.0; ctx.Err() == nil; x = math.Sqrt(x + 1) {
		}
	}()
	time.Sleep(100 * time.Millisecond)
	if Idle(t.Context()) {
		t.Error("a machine with a spinning thread is called idle")
	}
	busy, steal := ReadLoad().Shares(before)
	if busy <= 0.05 || busy > 1.01 || steal < 0 || steal > 1 {
		t.Errorf("a share of %v was busy and %v stolen", busy, steal)
	}
	cancel()
	<-done
}

// TestCalmest: the pairs that count are the same whichever side of each is which, and whatever the factor between the sides; pairs in
// which the clock lied are none of them.
func TestCalmest(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		n := 1 + r.IntN(60)
		a, b := make([]float64, n), make([]float64, n)
		for i := range a {
			slow := 1 + 0.05*r.Float64()
			a[i], b[i] = slow*(1+0.01*r.Float64()), slow*(1+0.01*r.Float64())
		}
		calmA, calmB := calmest(a, b, n)
		if want := min(n, max(LeastPairs, (n+1)/2)); len(calmA) != want || len(calmB) != want {
			t.Fatalf("of %d pairs %d and %d count, want %d", n, len(calmA), len(calmB), want)
		}
		other := slices.Clone(a)
		swapped := slices.Clone(b)
		for i := range other {
			if r.IntN(2) == 0 {
				other[i], swapped[i] = swapped[i], other[i]
			}
			other[i] *= 4
			swapped[i] *= 2
		}
		calmOther, calmSwapped := calmest(other, swapped, n)
		for i := range calmA {
			if calmOther[i]*calmSwapped[i] != 8*calmA[i]*calmB[i] {
				t.Fatalf("pair %d is %v and %v, and was %v and %v", i, calmOther[i], calmSwapped[i], calmA[i], calmB[i])
			}
		}
	}
	a, b := slices.Repeat([]float64{1}, 30), slices.Repeat([]float64{1}, 30)
	a[3], b[7], b[20] = 0.7, 0.5, 0
	a[4] = 5
	calmA, calmB := calmest(a, b, 30)
	if len(calmA) != 15 || slices.Min(calmA) != 1 || slices.Min(calmB) != 1 || slices.Max(calmA) != 1 {
		t.Errorf("with a clock that lies: %v and %v", calmA, calmB)
	}
	// Rounds that one side missed count for nothing, however many they are.
	a, b = slices.Repeat([]float64{1}, 14), slices.Repeat([]float64{1}, 14)
	clear(b[:5])
	if calmA, calmB = calmest(a, b, 14); len(calmA) != 7 || slices.Min(calmB) != 1 {
		t.Errorf("with rounds that one side missed: %v and %v", calmA, calmB)
	}
	// More pairs do not mean that more are selected than asked for.
	a, b = slices.Repeat([]float64{2}, 60), slices.Repeat([]float64{2}, 60)
	for i := range 16 {
		a[3*i], b[3*i] = 1, 1
	}
	if calmA, calmB = calmest(a, b, 15); len(calmA) != 15 || slices.Max(calmA) != 1 || slices.Max(calmB) != 1 {
		t.Errorf("of many pairs: %v and %v", calmA, calmB)
	}
	if a, b := calmest(nil, nil, 15); a != nil || b != nil {
		t.Errorf("of no pairs: %v, %v", a, b)
	}
}

// TestRestless: where others slow the core now and then, a candidate is not stopped for its first samples alone, and one that is
// behind is stopped all the same.
func TestRestless(t *testing.T) {
	for _, c := range []struct {
		restless bool
		slow     int // samples that take longer
		factor   float64
		kept     int
		stopped  bool
	}{{false, 4, 1.5, 3, true}, {true, 4, 1.5, Most, false}, {false, 100, 1.5, 3, true}, {true, 100, 1.5, 6, true}, {true, 100, 4, 2, true}} {
		n := 0
		sum, stopped, err := Sampling{Want: Most, Best: 1, Restless: c.restless}.Run(func(k int) ([]float64, error) {
			out := make([]float64, k)
			for i := range out {
				if out[i] = 1; n < c.slow {
					out[i] = c.factor
				}
				n++
			}
			return out, nil
		})
		if err != nil || stopped != c.stopped || sum.Kept != c.kept {
			t.Errorf("%+v: %d samples, stopped %t, %v", c, sum.Kept, stopped, err)
		}
	}
}
