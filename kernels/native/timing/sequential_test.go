package timing

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"tune/kernels"
)

// decide measures a program until a Sequential is sure on which side of a bar its ratio to the baseline is. The result is -1 below, 1
// above, and 0 where it is not sure in time.
func decide(t *testing.T, n noise, seed uint64, cost, bar float64, limit time.Duration) (side, pairs int) {
	t.Helper()
	m, s := newMachine(n, seed), Sequential{Error: 0.01}
	_, err := m.Compare(t.Context(), program(1), []kernels.Candidate{program(cost)}, kernels.Series{
		Limit: limit, Confirm: true, Seed: seed,
		Sure: func(a, b float64) bool {
			s.Add(a, b)
			return s.Above(bar) || s.Below(bar)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case s.Above(bar):
		side = 1
	case s.Below(bar):
		side = -1
	}
	return side, len(s.pairs)
}

// TestSequentialAlike: whatever the machine does, what is not slower than the slack allows is seldom called slower, though each pair is
// looked at; not even what is exactly as slow as that.
func TestSequentialAlike(t *testing.T) {
	const trials, bar = sequentialTrials, 1 / 1.02
	for _, n := range noises {
		t.Run(n.name, func(t *testing.T) {
			slower, held, pairs, edge, faster := 0, 0, 0, 0, 0
			for seed := range uint64(trials) {
				side, took := decide(t, n, seed, 1, bar, time.Minute)
				pairs += took
				switch side {
				case -1:
					slower++
				case 1:
					held++
				}
				switch side, _ = decide(t, n, seed, 1.02, bar, 5*time.Second); side {
				case -1:
					edge++
				case 1:
					faster++
				}
			}
			t.Logf("alike: %d of %d slower, %d hold, after %d pairs; at the edge: %d slower, %d hold", slower, trials, held, pairs/trials, edge, faster)
			limit := int(trials * atMost(0.01, trials))
			if slower > limit || edge > limit || faster > limit {
				t.Errorf("more than %d of %d trials err", limit, trials)
			}
			if held < trials*95/100 && !n.harsh {
				t.Errorf("only %d of %d hold", held, trials)
			}
		})
	}
}

// TestSequentialSlower: a slowdown of 3 % is found where 2 % are allowed.
func TestSequentialSlower(t *testing.T) {
	const trials, bar = sequentialTrials, 1 / 1.02
	for _, n := range noises {
		t.Run(n.name, func(t *testing.T) {
			found, missed, pairs := 0, 0, 0
			for seed := range uint64(trials) {
				side, took := decide(t, n, seed, 1.03, bar, time.Minute)
				pairs += took
				switch side {
				case -1:
					found++
				case 1:
					missed++
				}
			}
			t.Logf("%d of %d are found, %d missed, after %d pairs", found, trials, missed, pairs/trials)
			if missed > int(trials*atMost(0.01, trials)) {
				t.Errorf("%d of %d are said to hold", missed, trials)
			}
			if found < trials*95/100 && !n.harsh {
				t.Errorf("only %d of %d are found", found, trials)
			}
		})
	}
}

// TestSequentialNoise: neither noise that goes on from pair to pair, nor outliers without a mean, nor a drift of both sides makes it err
// more often, as long as the order of each pair is drawn. The interval holds the truth all the time.
func TestSequentialNoise(t *testing.T) {
	const trials, length, truth = sequentialTrials, 150, 0.25 // truth is a logarithm
	for _, c := range []struct {
		name string
		next func(r *rand.Rand, before float64) float64 // the next of a series of disturbances, of turns one after the other
	}{
		{"independent", func(r *rand.Rand, _ float64) float64 { return 0.02 * r.NormFloat64() }},
		{"autocorrelated", func(r *rand.Rand, before float64) float64 { return 0.98*before + 0.01*r.NormFloat64() }},
		{"random walk", func(r *rand.Rand, before float64) float64 { return before + 0.02*r.NormFloat64() }},
		{"drift", func(r *rand.Rand, before float64) float64 { return before + 0.004 + 0.005*r.NormFloat64() }},
		{"Cauchy", func(r *rand.Rand, _ float64) float64 { return 0.01 * math.Tan(math.Pi*(r.Float64()-0.5)) }},
		{"bursts", func(r *rand.Rand, before float64) float64 {
			if r.Float64() < 0.05 {
				return 0.5 * r.Float64()
			}
			return 0.6*before + 0.002*r.NormFloat64()
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			wrong := 0
			for seed := range uint64(trials) {
				r := rand.New(rand.NewPCG(seed, 7))
				s, noise := Sequential{Error: 0.01}, 0.0
				for range length {
					var turns [2]float64
					for i := range turns {
						noise = c.next(r, noise)
						turns[i] = noise
					}
					if r.Uint64()&1 == 1 {
						turns[0], turns[1] = turns[1], turns[0]
					}
					s.Add(math.Exp(turns[0]+truth), math.Exp(turns[1]))
				}
				if s.Above(math.Exp(truth)) || s.Below(math.Exp(truth)) {
					wrong++
				}
			}
			t.Logf("%d of %d intervals lost the truth", wrong, trials)
			if limit := int(trials * atMost(0.02, trials)); wrong > limit {
				t.Errorf("%d of %d intervals lost the truth: want at most %d", wrong, trials, limit)
			}
		})
	}
}

// TestSequentialRatio: the interval agrees with what is proven, shrinks, and turns with the sides.
func TestSequentialRatio(t *testing.T) {
	s, turned := Sequential{Error: 0.01}, Sequential{Error: 0.01}
	if r := s.Ratio(); r != (Ratio{}) || s.Needed(1) != 0 {
		t.Errorf("without pairs it is %+v", r)
	}
	r := rand.New(rand.NewPCG(1, 1))
	last := math.Inf(1)
	for i := range 100 {
		a, b := 1.5*math.Exp(0.01*r.NormFloat64()), math.Exp(0.01*r.NormFloat64())
		s.Add(a, b)
		turned.Add(b, a)
		for _, bad := range []float64{0, -1, math.NaN(), math.Inf(1)} {
			s.Add(bad, 1)
			s.Add(1, bad)
		}
		if len(s.pairs) != i+1 {
			t.Fatal("a cost that is no positive number counts")
		}
		got, back := s.Ratio(), turned.Ratio()
		if got.Low == 0 {
			if i > 20 {
				t.Fatalf("no interval after %d pairs", i+1)
			}
			continue
		}
		if got.Low > got.Value || got.High < got.Value || got.High/got.Low > last*1.02 {
			t.Fatalf("after %d pairs it is %+v", i+1, got)
		}
		last = got.High / got.Low
		if math.Abs(got.Low*back.High-1) > 1e-6 || math.Abs(got.High*back.Low-1) > 1e-6 {
			t.Fatalf("%+v, and turned round %+v", got, back)
		}
		if !s.Above(got.Low*0.9999) || s.Above(got.Low*1.0001) || !s.Below(got.High*1.0001) || s.Below(got.High*0.9999) {
			t.Fatalf("%+v does not agree with what is proven", got)
		}
	}
	if got := s.Ratio(); math.Abs(got.Value-1.5) > 0.01 || got.High/got.Low > 1.02 {
		t.Errorf("it is %+v, and the truth is 1.5", got)
	}
}

// TestSequentialNeeded: what it says that it takes is about what it took.
func TestSequentialNeeded(t *testing.T) {
	var off []float64
	for seed := range uint64(60) {
		r, s, said, took := rand.New(rand.NewPCG(seed, 3)), Sequential{Error: 0.01}, 0, 0
		for took = 1; !s.Above(1.02) && !s.Below(1.02) && took < 5000; took++ {
			s.Add(math.Exp(0.03*r.NormFloat64()), 1)
			if took == 30 {
				said = s.Needed(1.02)
			}
		}
		if said > 0 && took > 30 {
			off = append(off, float64(said)/float64(took))
		}
	}
	slices.Sort(off)
	if len(off) < 20 || Quantile(off, 0.5) < 0.4 || Quantile(off, 0.5) > 2.5 {
		t.Errorf("what it says is off by %v", off)
	}
	s := Sequential{Error: 0.01}
	for i := range 40 {
		s.Add(math.Exp(0.01*float64(1-2*(i%2))), 1)
	}
	if n := s.Needed(1); n > 0 && n < 200 {
		t.Errorf("two that are about equal are told apart with %d pairs", n)
	}
	if s.Add(1, 1); s.Needed(s.Ratio().Value) < 10_000 && s.Needed(s.Ratio().Value) != 0 {
		t.Errorf("a ratio is told apart from itself with %d pairs", s.Needed(s.Ratio().Value))
	}
}
