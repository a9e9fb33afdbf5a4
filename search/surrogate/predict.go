package surrogate

import (
	"sync"

	"tune/space"
)

// mostTabled bounds the memory for the tables of PredictAll, in numbers.
const mostTabled = 1 << 23

// table is, for a value of a parameter and each of its groups of features, the part of the squared distance to each observed point, and what the
// kernel of the group alone is there.
type table struct{ parts, alone [][]float64 }

// PredictAll writes what the model expects of points, to the bit what Predict returns, but in less time: what a value of a parameter does to the
// covariances with the observed points is computed once. It works in two goroutines.
func (m *Model) PredictAll(points []space.Point, out []float64) {
	tables := m.tables(points)
	inTwo(func(half int) {
		predict := m.Predict
		if tables != nil {
			predict = m.predictor(tables)
		}
		for i := half; i < len(points); i += 2 {
			out[i] = predict(points[i])
		}
	})
}

// inTwo calls a function for 0 and 1 in two goroutines.
func inTwo(do func(half int)) {
	var both sync.WaitGroup
	for half := range 2 {
		both.Go(func() { do(half) })
	}
	both.Wait()
}

// fewPoints is for how many points another goroutine would hardly save time.
const fewPoints = 64

// each calls a function for the numbers below n, in two goroutines where they are not few.
func each(n int, do func(i int)) {
	if n < fewPoints {
		for i := range n {
			do(i)
		}
		return
	}
	inTwo(func(half int) {
		for i := half; i < n; i += 2 {
			do(i)
		}
	})
}

// tables returns, for each parameter, the tables of the ordinals that points have; nil where they would take too much memory.
func (m *Model) tables(points []space.Point) []map[int]*table {
	tables, numbers := make([]map[int]*table, len(m.enc.params)), 0
	for k := range tables {
		tables[k] = map[int]*table{}
		for _, p := range points {
			tables[k][p.Ordinal(k)] = nil
		}
		if first, end := m.enc.features(k); first < end {
			groups := 1 + m.process.group[end-1] - m.process.group[first]
			numbers += 2 * groups * len(tables[k]) * len(m.alpha)
		}
		if numbers > mostTabled {
			return nil
		}
	}
	inTwo(func(half int) {
		for k := half; k < len(tables); k += 2 {
			for o := range tables[k] {
				tables[k][o] = m.table(k, o)
			}
		}
	})
	return tables
}

// table returns that of an ordinal of parameter k.
func (m *Model) table(k, ordinal int) *table {
	g, x, t := m.process, m.at(k, ordinal), &table{}
	first, end := m.enc.features(k)
	for from := first; from < end; {
		to := from + 1
		for to < end && g.group[to] == g.group[from] {
			to++
		}
		parts, alone := make([]float64, len(g.x)), make([]float64, len(g.x))
		for i, o := range g.x {
			parts[i] = squared(x[from-first:to-first], o[from:to])
			alone[i] = matern(parts[i])
		}
		t.parts, t.alone = append(t.parts, parts), append(t.alone, alone)
		from = to
	}
	return t
}

// predictor returns Predict by tables. It adds the same numbers in the same order.
func (m *Model) predictor(tables []map[int]*table) func(space.Point) float64 {
	all, own := make([]float64, len(m.alpha)), make([]float64, len(m.alpha))
	return func(point space.Point) float64 {
		clear(all)
		clear(own)
		for k := range tables {
			t := tables[k][point.Ordinal(k)]
			for j, parts := range t.parts {
				alone, all, own := t.alone[j][:len(parts)], all[:len(parts)], own[:len(parts)]
				for i, v := range parts {
					all[i] += v
					own[i] += alone[i]
				}
			}
		}
		sum := 0.0
		for i, a := range m.alpha {
			sum += a * ((1-additive)*matern(all[i]) + m.process.parts*own[i])
		}
		return m.mean + m.scale*sum
	}
}
