package space

// Layer is one layer of the decision diagram of a space: what the paths may choose for one parameter.
type Layer struct {
	Nodes int
	Edges []Edge // ascending by the node that they come from, and by their values
}

// Edge is a bundle of N edges between the same two nodes, for the ordinals Lo, Lo+1, …
type Edge struct {
	From, To int32 // a node of the layer, and one of the next layer
	Lo, N    int   // Lo is -1 where the parameter is inactive
}

// Layers returns the layers of the decision diagram, one for each parameter, for those who sum over all points without listing them: the
// points are the paths from the one node of the first layer to the one behind the last. ok is false where the diagram lacks
// constraints, so that some paths are no points, and where it has more than the given number of edges.
func (s *Space) Layers(most int) (layers []Layer, ok bool) {
	if s.partial {
		return nil, false
	}
	edges := 0
	for i := range s.diagram.layers {
		if edges += len(s.diagram.layers[i].runs); edges > most {
			return nil, false
		}
	}
	for i := range s.diagram.layers {
		l := &s.diagram.layers[i]
		out := Layer{Nodes: len(l.first) - 1, Edges: make([]Edge, 0, len(l.runs))}
		for k := range out.Nodes {
			for _, r := range l.runs[l.first[k]:l.first[k+1]] {
				out.Edges = append(out.Edges, Edge{From: int32(k), To: r.child, Lo: r.lo, N: r.n})
			}
		}
		layers = append(layers, out)
	}
	return layers, true
}
