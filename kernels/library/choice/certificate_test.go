package choice

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// exactPairs returns pairs of equal weight without errors.
func exactPairs(ratios ...float64) []Pair {
	var out []Pair
	for i, r := range ratios {
		out = append(out, Pair{1, r, r, r, i % 2})
	}
	return out
}

// TestCertificateByHand: mean, percentile, worst, and what was not seen.
func TestCertificateByHand(t *testing.T) {
	pairs := exactPairs(1, 1.1, 1.2, 1.5)
	pairs[3].Weight = 2
	c, err := Certify(pairs, Bootstrap{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if !same(c.Mean.Value, 0.26) || !same(c.P95.Value, 0.5) || !same(c.Worst.Value, 0.5) || c.Shapes != 4 || c.Variants != 2 || c.Missing != 0 {
		t.Errorf("got %+v", c)
	}
	if !same(c.Worst.Low, 0.5) || !same(c.Worst.High, 0.5) {
		t.Errorf("without errors the worst of the judged shapes is known: %+v", c.Worst)
	}
	if want := 1 - math.Pow(0.05, 0.25); !same(c.Beyond, want) {
		t.Errorf("beyond the worst are up to %v, want %v", c.Beyond, want)
	}
	again, err := Certify(pairs, Bootstrap{Seed: 1})
	if err != nil || again != c {
		t.Errorf("the same seed gave %+v and %+v", c, again)
	}
}

// TestPercentile: shapes with 95 % of the weight have at most the percentile.
func TestPercentile(t *testing.T) {
	var regrets, weights []float64
	for i := range 100 {
		regrets, weights = append(regrets, float64(i)), append(weights, 1)
	}
	if got := summarise(regrets, weights).P95; got != 94 {
		t.Errorf("the percentile of 0 to 99 is %v, want 94", got)
	}
	weights[99] = 1000
	if got := summarise(regrets, weights).P95; got != 99 {
		t.Errorf("with most of the weight at the last the percentile is %v, want 99", got)
	}
}

// TestErrorsOfPairs: errors of the pairs make each interval wider.
func TestErrorsOfPairs(t *testing.T) {
	sharp := exactPairs(1.1, 1.1, 1.1, 1.1)
	c, err := Certify(sharp, Bootstrap{})
	if err != nil {
		t.Fatal(err)
	}
	if !same(c.Mean.Low, c.Mean.High) {
		t.Errorf("equal shapes without errors leave a doubt: %+v", c.Mean)
	}
	for i := range sharp {
		sharp[i].Low, sharp[i].High = 1.05, 1.2
	}
	d, err := Certify(sharp, Bootstrap{})
	if err != nil {
		t.Fatal(err)
	}
	if !(d.Mean.Low < 0.09 && d.Mean.Low > 0.02 && d.Mean.High > 0.11 && d.Mean.High < 0.2) {
		t.Errorf("the mean of four pairs from 0.05 to 0.2 is in %+v", d.Mean)
	}
	if !(d.Worst.Low < 0.05 && d.Worst.High > 0.2) {
		t.Errorf("one of four pairs from 0.05 to 0.2 is the worst, in %+v", d.Worst)
	}
}

// TestMissingPick: a variant without a cost makes the regrets infinite, and is counted.
func TestMissingPick(t *testing.T) {
	m := sizes()
	m.Costs[1][3] = Missing
	c, err := Evaluate(fixed(3), m, Bootstrap{})
	if err != nil {
		t.Fatal(err)
	}
	if c.Missing != 1 || !math.IsInf(c.Mean.Value, 1) || !math.IsInf(c.Worst.High, 1) {
		t.Errorf("got %+v", c)
	}
}

// TestCoverage: the interval of the mean holds the mean of all shapes about as often as it says, though few shapes of a skewed
// distribution were judged, with errors.
func TestCoverage(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	// Of four shapes one has a regret, of 0.2 in the mean: the mean is 0.05.
	const mean, trials, shapes = 0.05, 400, 40
	holds := 0
	for range trials {
		var pairs []Pair
		for range shapes {
			truth := 1.0
			if r.IntN(4) == 0 {
				truth += 0.2 * r.ExpFloat64()
			}
			seen := truth * math.Exp(0.01*r.NormFloat64())
			pairs = append(pairs, Pair{1, seen, seen * math.Exp(-0.0196), seen * math.Exp(0.0196), 0})
		}
		c, err := Certify(pairs, Bootstrap{Samples: 300})
		if err != nil {
			t.Fatal(err)
		}
		holds += cut(c.Mean.Low <= mean && mean <= c.Mean.High)
	}
	t.Logf("%d of %d intervals hold the mean", holds, trials)
	if share := float64(holds) / trials; share < 0.88 {
		t.Errorf("%.3f of the intervals hold the mean, want about 0.95", share)
	}
}

// TestBeyond: the share of shapes above the worst is at most what was said, as often as was said.
func TestBeyond(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	holds := 0
	for range 1000 {
		var ratios []float64
		worst := 0.0
		for range 20 {
			x := r.Float64()
			worst = max(worst, x)
			ratios = append(ratios, 1+x)
		}
		c, err := Certify(exactPairs(ratios...), Bootstrap{Samples: 100})
		if err != nil {
			t.Fatal(err)
		}
		holds += cut(1-worst <= c.Beyond)
	}
	if holds < 930 || holds > 970 {
		t.Errorf("%d of 1000 bounds hold, want about 950", holds)
	}
}

// TestCertifyErrors: what cannot be certified is refused, and the message says what to give.
func TestCertifyErrors(t *testing.T) {
	good := exactPairs(1, 2)
	for _, c := range []struct {
		pairs []Pair
		b     Bootstrap
		want  string
	}{
		{nil, Bootstrap{}, "judge the chooser at 2 or more"},
		{exactPairs(1), Bootstrap{}, "judge the chooser at 2 or more"},
		{good, Bootstrap{Samples: 5}, "want 100 or more"},
		{good, Bootstrap{Confidence: 95}, "less than 1"},
		{[]Pair{{0, 1, 1, 1, 0}, good[0]}, Bootstrap{}, "pair 1 has the weight 0"},
		{[]Pair{good[0], {1, 1, 2, 3, 0}}, Bootstrap{}, "pair 2 has the ratio 1"},
		{[]Pair{good[0], {1, math.NaN(), 1, 1, 0}}, Bootstrap{}, "pair 2 has the ratio NaN"},
	} {
		if _, err := Certify(c.pairs, c.b); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.pairs, err, c.want)
		}
	}
	if _, err := Evaluate(fixed(9), sizes(), Bootstrap{}); err == nil || !strings.Contains(err.Error(), "variant 9 at n=10") {
		t.Errorf("a chooser out of range gives %v", err)
	}
}
