package insight

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"tune/space"
)

// Model says what a point is expected to cost; see surrogate.Model. It is asked by several goroutines at once.
type Model interface {
	Predict(p space.Point) float64
}

const (
	// mostPredicted is how many points a space has at most of which a model is asked about all.
	mostPredicted = 1 << 14
	// drawn is how many points of a larger space it is asked about.
	drawn = 1 << 13
	// drawnForParts is how many are drawn where shares that came through the diagram overlap. Its parts are off by up to 0.02.
	drawnForParts = 1 << 11
)

// Learned returns the shares of what a model expects of all points. The decision diagram of the space lists its points: a model is asked
// about each, where there are up to mostPredicted. In a larger space a Separable model is summed over the paths of the diagram.
// Where that is too much work, and for other models, the shares come from points that the diagram draws, each equally likely. log
// says that the model predicts logarithms of costs.
func Learned(s *space.Space, m Model, log bool) Shares { return expect(s, m, log).Shares }

// expectation is what a model expects of the points of a space.
type expectation struct {
	Shares
	points []space.Point // that it was asked about; nil where it was not asked
	y      []float64     // what it expects of each
}

func expect(s *space.Space, m Model, log bool) (e expectation) {
	defer func() { e.Log = log }()
	if n, ok := s.Len(); ok && n <= mostPredicted {
		for i := range n {
			e.points = append(e.points, s.At(i))
		}
		e.y = predicted(m, e.points)
		e.Shares = analyse(columnsOf(s, e.points), e.y, true)
		return e
	}
	if separable, ok := m.(Separable); ok {
		if e.Shares, ok = throughDiagram(s, separable); ok {
			return e
		}
	}
	e.points = draw(s, drawn)
	e.y = predicted(m, e.points)
	e.Shares = analyse(columnsOf(s, e.points), e.y, false)
	return e
}

// portions are the shares that are worth a word, the largest first, of a variance of which that of the model is a part. Those that overlap are taken apart,
// so that each part of the variance counts once.
func (e *expectation) portions(s *space.Space, m Model, part float64) (out []portion) {
	if e.Overlap {
		whole := e.All && e.points != nil && !s.Listed() // see Table.whole
		if e.points == nil {
			e.points = draw(s, drawnForParts)
			e.y = predicted(m, e.points)
		}
		out = explained(columnsOf(s, e.points), e.y, e.Pairs, whole, false)
	} else {
		for _, s := range slices.Concat(e.Single, e.Pairs) {
			out = append(out, portion{Share: s})
		}
		slices.SortStableFunc(out, func(a, b portion) int { return cmp.Compare(b.Share.Share, a.Share.Share) })
	}
	for i := range out {
		if out[i].Share.Share *= part; out[i].Share.Share < leastMattering {
			return out[:i]
		}
	}
	return out
}

// draw draws points of a space.
func draw(s *space.Space, n int) (points []space.Point) {
	rng := rand.New(rand.NewPCG(0x736861726573, 0))
	for range n {
		p, err := s.Sample(rng)
		if err != nil {
			break
		}
		points = append(points, p)
	}
	return points
}

// many is a model that predicts many points in less time than one after the other.
type many interface {
	// PredictAll writes what the model expects of each point to out.
	PredictAll(points []space.Point, out []float64)
}

// predicted returns what a model expects of points.
func predicted(m Model, points []space.Point) []float64 {
	y := make([]float64, len(points))
	if all, ok := m.(many); ok {
		all.PredictAll(points, y)
		return y
	}
	inTwo(len(points), func() func(int) {
		return func(i int) { y[i] = m.Predict(points[i]) }
	})
	return y
}

// True returns the shares of costs that are known for points of a space.
func True(s *space.Space, points []space.Point, costs []float64) Shares {
	y, log := logs(costs)
	out := analyse(columnsOf(s, points), y, true)
	out.Log = log
	return out
}

// columnsOf are the columns of points.
func columnsOf(s *space.Space, points []space.Point) []column {
	var out []column
	ordinals := make([]int, len(points))
	for k, p := range s.Parameters() {
		for i, point := range points {
			ordinals[i] = point.Ordinal(k)
		}
		if c, varied := newColumn(p.Name, ordinals, p.Len()); varied {
			out = append(out, c)
		}
	}
	return out
}

// Of returns the shares that a model says, and those of the right outcomes that were measured. Nothing is learned where they are too few.
func Of(s *space.Space, right []space.Observation, learn Learner) (learned, measured Shares) {
	points, costs := make([]space.Point, len(right)), make([]float64, len(right))
	for i, o := range right {
		points[i], costs[i] = o.Point, o.Outcome.Cost
	}
	y, log := logs(costs)
	measured = analyse(columnsOf(s, points), y, false)
	measured.Log = log
	if m, ok := learn(s, right, log); ok {
		learned = Learned(s, m, log)
	}
	return learned, measured
}
