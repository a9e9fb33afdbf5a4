package space_test

import (
	"slices"
	"testing"

	"tune/space"
)

// TestLayers: the paths through the layers are the points, in their order.
func TestLayers(t *testing.T) {
	s, err := space.New("layers", []space.Parameter{
		space.Range("a", 0, 9), space.Bool("b"), space.Range("c", 0, 4).If("b"), space.Pow2("d", 1, 16),
	}, "a * d <= 40", "c < a")
	if err != nil {
		t.Fatal(err)
	}
	layers, ok := s.Layers(1000)
	if !ok || len(layers) != 4 || layers[0].Nodes != 1 {
		t.Fatalf("%+v", layers)
	}
	var paths [][]int
	var walk func(k int, node int32, path []int)
	walk = func(k int, node int32, path []int) {
		if k == len(layers) {
			paths = append(paths, slices.Clone(path))
			return
		}
		for _, e := range layers[k].Edges {
			for o := e.Lo; e.From == node && o < e.Lo+e.N; o++ {
				walk(k+1, e.To, append(path, o))
			}
		}
	}
	walk(0, 0, nil)
	at := 0
	for p := range s.All() {
		if at >= len(paths) || !slices.Equal(paths[at], p.Ordinals()) {
			t.Fatalf("path %d is not %v", at, p.Ordinals())
		}
		at++
	}
	if at != len(paths) {
		t.Errorf("%d paths for %d points", len(paths), at)
	}
	if _, ok := s.Layers(3); ok {
		t.Error("a diagram of more edges has layers")
	}
	loose, err := space.New("loose", []space.Parameter{space.Range("a", 0, 1<<40), space.Range("b", 0, 1<<40)}, "a <= b")
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := loose.Layers(1000); ok {
		t.Error("a diagram that lacks a constraint has layers")
	}
}
