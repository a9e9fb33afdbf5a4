package insight

import "tune/space"

// ThroughDiagram and Sampled are two of the ways of Learned, for spaces of any size.
func ThroughDiagram(s *space.Space, m Separable) (out Shares, ok bool) { return throughDiagram(s, m) }

func Sampled(s *space.Space, m Model, n int) Shares {
	points := draw(s, n)
	return analyse(columnsOf(s, points), predicted(m, points), false)
}

// Work says how many edges the diagram has, how many products the model, how many of these are used, and how much work that is.
type Work struct {
	Edges, Products, Used int
	Work                  float64
}

func WorkOf(s *space.Space, m Separable) (w Work) {
	p, ok := pathsOf(s)
	if !ok {
		return w
	}
	for k := range p.layers {
		w.Edges += len(p.layers[k].edges)
	}
	w.Products = len(m.Products())
	points := draw(s, checked)
	kept, _ := choose(p, m, points, predicted(m, points))
	w.Used = 1 + len(p.layers) + len(kept)
	w.Work = p.work(w.Used)
	return w
}
