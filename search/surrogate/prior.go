package surrogate

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"tune/space"
)

// priors are what other runs say about points of the space.
type priors struct {
	sources []known
}

// known is one source.
type known struct {
	byKey map[string]float64 // warped costs
	x     [][]float64        // some of its points, to estimate those that it lacks
	y     []float64
	flat  float64 // values below this are in the better quarter of the space
}

func newPriors(s *space.Space, e *encoder, sources []space.Source) *priors {
	p := &priors{}
	for _, source := range sources {
		type point struct {
			space.Point
			cost float64
		}
		var points []point
		k := known{byKey: map[string]float64{}}
		failed := map[string]bool{}
		for _, o := range source.Observations {
			if o.Outcome.Fidelity != 0 {
				continue
			}
			if o.Outcome.Status != space.OK {
				failed[o.Point.Key()] = true
				continue
			}
			points = append(points, point{o.Point, o.Outcome.Cost})
		}
		if len(points) == 0 {
			continue
		}
		slices.SortStableFunc(points, func(a, b point) int { return cmp.Compare(a.cost, b.cost) })
		costs := make([]float64, len(points))
		for i, q := range points {
			costs[i] = q.cost
		}
		w := newWarp(costs)
		distinct := points[:0]
		for _, q := range points {
			key := q.Key()
			if _, twice := k.byKey[key]; twice || failed[key] {
				continue
			}
			k.byKey[key] = w.at(q.cost)
			distinct = append(distinct, q)
		}
		if len(distinct) == 0 {
			continue
		}
		for key := range failed {
			k.byKey[key] = w.at(costs[len(costs)-1])
		}
		stride := 1.0
		if len(distinct) > mostKept {
			stride = float64(len(distinct)-mostKept/2) / (mostKept / 2)
		}
		for i, at := 0, 0.0; i < len(distinct); i = int(at) {
			k.x, k.y = append(k.x, e.encode(distinct[i].Point)), append(k.y, k.byKey[distinct[i].Key()])
			if at++; len(k.x) >= mostKept/2 {
				at += stride - 1
			}
		}
		p.sources = append(p.sources, k)
	}
	p.flatten(s, e)
	return p
}

// flatten finds, for each source, the value at which its better quarter of the space begins: at least the quartile of what it
// measured.
func (p *priors) flatten(s *space.Space, e *encoder) {
	if len(p.sources) == 0 {
		return
	}
	rng := rand.New(rand.NewPCG(0x666c6174, 0))
	said := make([][]float64, len(p.sources))
	for range flatOf {
		q, err := s.Sample(rng)
		if err != nil {
			break
		}
		for i, v := range p.at(q, e.encode(q)) {
			said[i] = append(said[i], v)
		}
	}
	for i, values := range said {
		p.sources[i].flat = 1
		if len(values) > 0 {
			slices.Sort(values)
			p.sources[i].flat = max(values[len(values)/4], 1)
		}
	}
}

// at returns what each source says of a point; nil where there is none.
func (p *priors) at(point space.Point, x []float64) []float64 {
	if len(p.sources) == 0 {
		return nil
	}
	out, key := make([]float64, len(p.sources)), point.Key()
	for i, s := range p.sources {
		if y, ok := s.byKey[key]; ok {
			out[i] = y
			continue
		}
		var near [nearestOf]struct{ d, y float64 }
		for j := range near {
			near[j].d = math.Inf(1)
		}
		for j, other := range s.x {
			d, y := squared(x, other), s.y[j]
			for m := range near {
				if d < near[m].d {
					d, near[m].d = near[m].d, d
					y, near[m].y = near[m].y, y
				}
			}
		}
		sum, weights := 0.0, 0.0
		for _, n := range near {
			if !math.IsInf(n.d, 1) {
				w := 1 / (n.d + nearestGap)
				sum, weights = sum+w*n.y, weights+w
			}
		}
		out[i] = sum / weights
	}
	return out
}

// trend is the mean function of the model: a constant and a weighted sum of what the sources say.
type trend struct {
	constant float64
	weights  []float64
	floor    []float64 // for each source: its better points count as this
	scale    float64   // standard deviation of the remainder
}

func (t trend) at(prior []float64) float64 {
	sum := t.constant
	for i, w := range t.weights {
		sum += w * max(prior[i], t.floor[i])
	}
	return sum
}

// fit fits the trend to values, with a floor where flat, by ridge regression towards equal weights, one source after the other
// (coordinate descent). Value k belongs to a point for which source i predicts prior(k)[i].
func (p *priors) fit(y []float64, flat bool, prior func(k int) []float64) trend {
	n := float64(len(y))
	t := trend{weights: make([]float64, len(p.sources)), floor: make([]float64, len(p.sources)), scale: 1}
	if flat {
		for i, s := range p.sources {
			t.floor[i] = s.flat
		}
	}
	mean := 0.0
	for _, v := range y {
		mean += v / n
	}
	if len(p.sources) == 0 {
		t.constant = mean
		return t
	}
	says := func(k, i int) float64 { return max(prior(k)[i], t.floor[i]) }
	expected := sourceWeight / float64(len(p.sources))
	means := make([]float64, len(p.sources))
	for i := range t.weights {
		t.weights[i] = expected
		for k := range y {
			means[i] += says(k, i) / n
		}
	}
	for range sweeps {
		for i := range t.weights {
			top, bottom := firmness*firmVariance*expected, firmness*firmVariance
			for k, v := range y {
				rest := v - mean
				for j, w := range t.weights {
					if j != i {
						rest -= w * (says(k, j) - means[j])
					}
				}
				d := says(k, i) - means[i]
				top, bottom = top+d*rest, bottom+d*d
			}
			t.weights[i] = max(top/bottom, 0)
		}
	}
	t.constant = mean
	for i, w := range t.weights {
		t.constant -= w * means[i]
	}
	return t
}
