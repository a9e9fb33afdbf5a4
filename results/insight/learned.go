package insight

import (
	"math/rand/v2"
	"runtime"

	"golang.org/x/sync/errgroup"

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
)

// Learned returns the shares of what a model expects. The decision diagram of the space lists its points: a space of up to mostPredicted
// points is covered completely, so that the shares are exact. Of a larger one they come from points that the diagram draws, each
// equally likely. log says that the model predicts logarithms of costs.
func Learned(s *space.Space, m Model, log bool) Shares {
	var points []space.Point
	n, ok := s.Len()
	covers := ok && n <= mostPredicted
	if covers {
		for i := range n {
			points = append(points, s.At(i))
		}
	} else {
		rng := rand.New(rand.NewPCG(0x736861726573, 0))
		for range drawn {
			p, err := s.Sample(rng)
			if err != nil {
				break
			}
			points = append(points, p)
		}
	}
	out := analyse(columnsOf(s, points), predicted(m, points), covers)
	out.Log = log
	return out
}

// predicted returns what a model expects of points.
func predicted(m Model, points []space.Point) []float64 {
	y := make([]float64, len(points))
	var group errgroup.Group
	parts := runtime.GOMAXPROCS(0)
	for part := range parts {
		group.Go(func() error {
			for i := part; i < len(points); i += parts {
				y[i] = m.Predict(points[i])
			}
			return nil
		})
	}
	_ = group.Wait() // no part fails
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
