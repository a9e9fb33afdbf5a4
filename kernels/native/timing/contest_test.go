package timing

import (
	"context"
	"io"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"tune/kernels"
	"tune/space"
)

// noise is what a machine does to times. Shares are of a time, and lengths are in turns.
type noise struct {
	name    string
	own     float64 // standard deviation of a turn
	drift   float64 // standard deviation of a speed that changes slowly
	keeps   float64 // correlation of that speed from turn to turn
	place   float64 // standard deviation of what a process has for as long as it lives
	slow    float64 // how much longer everything takes in a slow phase
	phase   float64 // mean length of a phase, a slow one or another; 0 for none
	wild    float64 // share of samples that take up to four times as long
	lie     float64 // share of samples of which the clock reports too little
	harsh   bool    // too much for a gain of 3 % to be seen in the time that a contest has
	latency float64 // how much longer the first turn of a round takes, because of what others have left in the caches
}

var noises = []noise{
	{name: "left alone", own: 0.005, drift: 0.01, keeps: 0.99, place: 0.003},
	{name: "drift", own: 0.01, drift: 0.10, keeps: 0.99, place: 0.003},
	{name: "slow phases", own: 0.01, slow: 0.6, phase: 40, place: 0.003},
	{name: "short slow phases", own: 0.01, slow: 0.3, phase: 4, place: 0.003, harsh: true},
	{name: "outliers", own: 0.01, wild: 0.10, lie: 0.01, place: 0.003},
	{name: "places", own: 0.01, place: 0.015, harsh: true},
	{name: "order", own: 0.01, latency: 0.02},
	{name: "all of them", own: 0.01, drift: 0.05, keeps: 0.98, place: 0.005, slow: 0.4, phase: 60, wild: 0.03, lie: 0.005, latency: 0.01},
}

// machine is a machine with noise. It compares programs that are made of their cost alone.
type machine struct {
	noise
	r     *rand.Rand
	speed float64
	slow  bool
	clock time.Time
}

type program float64

func (program) Check(context.Context, uint64) error                     { return nil }
func (program) Score(context.Context, int) (s kernels.Score, err error) { return s, nil }
func (program) Artifacts() (files []kernels.Artifact, err error)        { return nil, nil }
func (program) Abilities() kernels.Abilities                            { return kernels.Abilities{} }
func (program) Load(io.Reader) (c kernels.Candidate, err error)         { return nil, nil }

func newMachine(n noise, seed uint64) *machine {
	return &machine{noise: n, r: rand.New(rand.NewPCG(seed, 1)), clock: time.Unix(0, 0)}
}

// turn is how long a program takes.
func (m *machine) turn(truth, place float64, first bool) float64 {
	m.clock = m.clock.Add(5 * time.Millisecond)
	m.speed = m.keeps*m.speed + m.drift*math.Sqrt(1-m.keeps*m.keeps)*m.r.NormFloat64()
	if m.phase > 0 && m.r.Float64() < 1/m.phase {
		m.slow = !m.slow
	}
	s := truth * math.Exp(m.speed+place+m.own*m.r.NormFloat64())
	if m.slow {
		s *= 1 + m.noise.slow*(0.8+0.4*m.r.Float64())
	}
	if first {
		s *= 1 + m.latency
	}
	samples := make([]float64, samplesOfTurn)
	for i := range samples {
		samples[i] = s
		switch u := m.r.Float64(); {
		case u < m.wild:
			samples[i] *= 1 + 3*m.r.Float64()
		case u < m.wild+m.lie:
			samples[i] *= 0.7
		}
	}
	return Summarise(samples, 0).Fast
}

// samplesOfTurn is how many samples a turn of package native has where calls are short.
const samplesOfTurn = SampleSeconds / BurstSeconds

// Compare measures by a Series, as the comparers of real programs do.
func (m *machine) Compare(ctx context.Context, baseline kernels.Candidate, finalists []kernels.Candidate, series kernels.Series) (kernels.Final, error) {
	all, err := Candidates[program](baseline, finalists)
	if err != nil {
		return kernels.Final{}, err
	}
	places := make([]float64, len(all))
	renew := func() {
		for i := range places {
			places[i] = m.place * m.r.NormFloat64()
		}
	}
	renew()
	first := false
	turns := 4
	if series.Confirm {
		turns = 8
	}
	s := Series{
		Series: series, Entrants: len(all), Turns: turns, Now: func() time.Time { return m.clock },
		Begin: func(context.Context, int) error {
			first = true
			if series.Confirm {
				renew()
			}
			return nil
		},
		Turn: func(_ context.Context, i int) (float64, error) {
			t := m.turn(float64(all[i]), places[i], first)
			first = false
			return t, nil
		},
	}
	if err := s.Run(ctx); err != nil {
		return kernels.Final{}, err
	}
	return s.Final(), nil
}

// rates holds contests of programs whose speeds are given, as parts of the baseline's, and counts what is said of them. naive is
// how often the best of the first series has an interval above 1 there.
func rates(t *testing.T, n noise, contests int, speeds ...float64) (faster, naive float64, chosen map[float64]int) {
	t.Helper()
	chosen = map[float64]int{}
	var finalists []kernels.Candidate
	for _, s := range speeds {
		finalists = append(finalists, program(1/s))
	}
	for seed := range uint64(contests) {
		m := newMachine(n, seed)
		f, err := m.Compare(t.Context(), program(1), finalists, kernels.Series{Limit: 4 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		if f.Comparisons[f.Best].Faster() {
			naive++
		}
		m = newMachine(n, seed)
		r, err := kernels.Contest{Compare: m.Compare, Baseline: program(1), Finalists: finalists, Limit: 10 * time.Second, Seed: seed}.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if r.Verdict == space.Faster {
			faster++
			chosen[speeds[r.Chosen]]++
		}
	}
	return faster / float64(contests), naive / float64(contests), chosen
}

// atMost is the share that is seen with a probability of some 1 in 1000 where the true one is p.
func atMost(p float64, n int) float64 { return p + 3.1*math.Sqrt(p*(1-p)/float64(n)) }

// TestContestAlike: whatever the machine does, programs that are alike are seldom called faster, and so are slower ones. What has
// chosen a winner would call it faster far more often.
func TestContestAlike(t *testing.T) {
	contests := alikeContests
	worst := 0.0
	for _, n := range noises {
		t.Run(n.name, func(t *testing.T) {
			faster, naive, _ := rates(t, n, contests, 1, 1, 1, 1, 1)
			t.Logf("alike: %.2f %% are called faster, by the first series %.2f %%", 100*faster, 100*naive)
			worst = max(worst, naive)
			if limit := atMost(0.025, contests); faster > limit {
				t.Errorf("of programs that are alike %.2f %% are called faster, more than %.2f %%", 100*faster, 100*limit)
			}
			faster, _, _ = rates(t, n, contests, 0.99, 0.97, 0.96, 0.94, 0.93)
			t.Logf("slower: %.2f %%", 100*faster)
			if limit := atMost(0.025, contests); faster > limit {
				t.Errorf("of programs that are slower %.2f %% are called faster, more than %.2f %%", 100*faster, 100*limit)
			}
		})
	}
	if worst < 0.05 {
		t.Errorf("the test is too kind: the series that chooses errs in %.2f %%", 100*worst)
	}
}

// TestContestGain: a gain of 3 % is seen.
func TestContestGain(t *testing.T) {
	contests := gainContests
	for _, n := range noises {
		t.Run(n.name, func(t *testing.T) {
			faster, _, chosen := rates(t, n, contests, 0.99, 1.03, 1, 1, 0.97)
			t.Logf("%.1f %% are called faster: %v", 100*faster, chosen)
			if right := float64(chosen[1.03]) / float64(contests); right < 0.9 && !n.harsh {
				t.Errorf("a gain of 3 %% is found in %.1f %% of the contests", 100*right)
			}
		})
	}
}

// TestContestAgrees: cost, baseline and ratio are of the same pairs, and agree.
func TestContestAgrees(t *testing.T) {
	for seed := range uint64(50) {
		m := newMachine(noises[len(noises)-1], seed)
		f, err := m.Compare(t.Context(), program(1), []kernels.Candidate{program(0.8), program(1.1)}, kernels.Series{Limit: 10 * time.Second, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range f.Comparisons {
			if math.Abs(c.Cost*c.Ratio/c.Baseline-1) > 1e-12 || c.Low > c.Ratio || c.High < c.Ratio {
				t.Fatalf("seed %d: %+v", seed, c)
			}
		}
	}
}
