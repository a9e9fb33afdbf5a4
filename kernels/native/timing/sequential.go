package timing

import (
	"math"
	"slices"
)

// Sequential compares two candidates from pairs of costs that come one after the other, and may be asked after each whether it is sure:
// however often that is, it errs with no more than the stated probability.
//
// It bets on the sign of what is left of the logarithm of each pair's ratio, less that of a supposed ratio. If the supposition is right
// or too large, no bet against it pays on average, so that the wealth from all bets is a supermartingale, and by Ville's inequality it
// ever reaches 1/Error with a probability of at most Error (Waudby-Smith and Ramdas, "Estimating means of bounded random variables by
// betting", 2024). The ratios whose bets have not paid that much are an interval that holds after all pairs at once.
//
// The logarithms count up to twice their usual distance from their median, which outliers do not move, and less where the product of
// the two costs says that the machine was disturbed. Both depend on earlier pairs and on the product alone. So what is assumed is that
// of two candidates of the supposed ratio, each pair could equally well have been the other way round, given all earlier ones: it holds
// if the first side of a pair is drawn at random, whatever the machine does, and however alike neighbouring pairs are. No distribution
// or independence is assumed.
type Sequential struct {
	// Error is the probability of each wrong end of the interval, such as 0.01; it must be set.
	Error float64

	pairs    []weighed
	logs     []float64 // of the ratios, sorted
	products []float64 // the logarithms of the products, sorted
}

// weighed is a pair.
type weighed struct {
	log    float64 // of base over other
	scale  float64 // the distance that counts as 1
	weight float64 // from 0 to 1
}

// bets are shares of the wealth that are put on a pair, and the parts of the wealth that are bet in this way, so that none has to be
// chosen. Half of it is bet highly, because most that is guarded is far from the bar, and pairs can be slow.
var bets = [...]struct{ share, part float64 }{
	{0.04, 1. / 12}, {0.09, 1. / 12}, {0.18, 1. / 12}, {0.32, 1. / 12}, {0.5, 1. / 12}, {0.7, 1. / 12}, {0.97, 1. / 2},
}

const (
	// usualScale is what logarithms of ratios vary by before there are pairs that say it, leastScale what they vary by at least.
	usualScale, leastScale = 0.01, 0.0005
	// reach is how many times the usual distance counts at most.
	reach = 2
)

// Add adds a pair. Costs that are not positive numbers are no pair.
func (s *Sequential) Add(base, other float64) {
	log, product := math.Log(base)-math.Log(other), math.Log(base)+math.Log(other)
	if math.IsNaN(log) || math.IsInf(log, 0) || math.IsInf(product, 0) {
		return
	}
	s.pairs = append(s.pairs, weighed{log, reach * s.usual(), s.calm(product)})
	insert := func(to []float64, v float64) []float64 {
		i, _ := slices.BinarySearch(to, v)
		return slices.Insert(to, i, v)
	}
	s.logs, s.products = insert(s.logs, log), insert(s.products, product)
}

// Pairs returns how many pairs were added.
func (s *Sequential) Pairs() int { return len(s.pairs) }

// usual returns the usual distance of the logarithms so far from their median, as a standard deviation.
func (s *Sequential) usual() float64 {
	const normal = 1.4826 // of a normal distribution, in median distances
	distances := []float64{usualScale / normal, usualScale / normal}
	if len(s.logs) > 0 {
		middle := Quantile(s.logs, 0.5)
		for _, l := range s.logs {
			distances = append(distances, math.Abs(l-middle))
		}
	}
	return max(leastScale, normal*Median(distances))
}

// calm returns the weight of a pair by its product: 1 unless that is far above the least quarter of those before.
func (s *Sequential) calm(product float64) float64 {
	if len(s.products) == 0 {
		return 1
	}
	excess := product - Quantile(s.products, 0.25)
	return min(1, math.Log(restless)/max(excess, math.SmallestNonzeroFloat64))
}

// paid reports whether bets that the ratio is above another one, whose logarithm is given, have ever paid 1/Error. sign -1 is for bets
// that it is below.
func (s *Sequential) paid(log, sign float64) bool {
	var wealth [len(bets)]float64
	for i, bet := range bets {
		wealth[i] = bet.part
	}
	for _, p := range s.pairs {
		won, sum := sign*p.at(log), 0.0
		for i, bet := range bets {
			wealth[i] *= 1 + bet.share*won
			sum += wealth[i]
		}
		if sum >= 1/s.Error {
			return true
		}
	}
	return false
}

// at returns what a pair says against a ratio, from -1 to 1.
func (p weighed) at(log float64) float64 { return p.weight * max(-1, min(1, (p.log-log)/p.scale)) }

// Above reports whether the ratio, base over other, is proven to be above another one.
func (s *Sequential) Above(ratio float64) bool { return s.paid(math.Log(ratio), 1) }

// Below reports whether it is proven to be below another one.
func (s *Sequential) Below(ratio float64) bool { return s.paid(math.Log(ratio), -1) }

// Ratio returns the ratio and its interval. Low or High is 0 where there are too few pairs for that end.
func (s *Sequential) Ratio() Ratio {
	r := Ratio{Pairs: len(s.pairs)}
	if r.Pairs == 0 {
		return r
	}
	middle := search(s.logs, func(log float64) bool { return s.against(log) > 0 })
	r.Value = math.Exp(middle)
	// Beyond all pairs every bet pays. Where even that is not enough, there is no end.
	far := 0.0
	for _, p := range s.pairs {
		far = max(far, p.scale)
	}
	ends := []float64{s.logs[0] - far, s.logs[len(s.logs)-1] + far}
	if s.paid(ends[0], 1) {
		r.Low = min(r.Value, math.Exp(search(ends, func(log float64) bool { return s.paid(log, 1) })))
	}
	if s.paid(ends[1], -1) {
		r.High = max(r.Value, math.Exp(search(ends, func(log float64) bool { return !s.paid(log, -1) })))
	}
	return r
}

// against sums up what the pairs say against a ratio.
func (s *Sequential) against(log float64) (sum float64) {
	for _, p := range s.pairs {
		sum += p.at(log)
	}
	return sum
}

// search returns where a property ends that small numbers have, between the first and the last of some sorted ones.
func search(sorted []float64, has func(float64) bool) float64 {
	low, high := sorted[0], sorted[len(sorted)-1]
	for range 60 {
		if middle := low + (high-low)/2; has(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	return low + (high-low)/2
}

// Needed returns about how many pairs, in all, it takes to prove on which side of a ratio this one is, if it goes on as it has begun. It
// is 0 where no number would do, because the two may be equal.
func (s *Sequential) Needed(ratio float64) int {
	log, sum, squares := math.Log(ratio), 0.0, 0.0
	for _, p := range s.pairs {
		v := p.at(log)
		sum, squares = sum+v, squares+v*v
	}
	if sum == 0 {
		return 0
	}
	// The best bet grows by mean²/2·variance a pair; to find it costs a factor of some e.
	growth := sum * sum / (2 * squares * float64(len(s.pairs)))
	const most = 1e6
	needed := math.Ceil((1 - math.Log(s.Error)) / growth)
	if needed > most {
		return 0
	}
	return max(int(needed), len(s.pairs)+1)
}
