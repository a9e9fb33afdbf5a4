package grid_test

import (
	"slices"
	"testing"

	"go.uber.org/goleak"

	"tune/search/grid"
	"tune/space"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The order is that of the space, whether or not the points are numbered.
func TestOrder(t *testing.T) {
	numbered, err := space.New("numbered", []space.Parameter{
		space.Range("a", 1, 9), space.Bool("b"), space.Pow2("c", 1, 64).If("b"),
	}, "not b or a * c < 100")
	if err != nil {
		t.Fatal(err)
	}
	scattered, err := space.New("scattered", []space.Parameter{space.Range("x", 0, 1999), space.Range("y", 0, 1999)},
		"(x * 7919 + y * 104729) % 16381 == 1")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*space.Space{numbered, scattered} {
		var got, want []string
		for p := range s.All() {
			want = append(want, p.Key())
		}
		strategy, evaluations := grid.New(s), 7 // a budget cuts the first batch
		for {
			batch := strategy.Ask(space.Progress{Evaluations: evaluations})
			if len(batch) == 0 {
				break
			}
			if len(batch) > grid.BatchSize || evaluations > 0 && len(batch) != evaluations {
				t.Fatalf("a batch has %d points", len(batch))
			}
			for _, p := range batch {
				got = append(got, p.Point.Key())
			}
			evaluations = 0
			strategy.Tell(nil, nil)
		}
		if !slices.Equal(got, want) {
			t.Errorf("space %s: the %d points asked are not the %d of All in their order", s.Name(), len(got), len(want))
		}
	}
}

// A strategy that is dropped before its end leaves nothing behind; TestMain looks for it.
func TestDropped(t *testing.T) {
	var params []space.Parameter
	for _, name := range []string{"a", "b", "c", "d"} {
		params = append(params, space.Range(name, 0, 1<<40))
	}
	s, err := space.New("vast", params)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(grid.New(s).Ask(space.Progress{})); n != grid.BatchSize {
		t.Errorf("the first batch has %d points", n)
	}
}
