package code_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tune/search/internal/code"
	"tune/space"
)

func conditional(t interface{ Fatal(...any) }) *space.Space {
	s, err := space.New("conditional", []space.Parameter{
		space.Range("rows", 1, 8), space.Pow2("cols", 1, 16), space.Enum("order", "x", "y", "z"), space.Bool("packed"),
		space.Range("lanes", 1, 4).If("packed"), space.Ints("tile", 8, 4, 2),
	}, "rows * cols <= 32")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// KickOne does what KickSome does with one parameter, and draws the same random numbers.
func TestKickOne(t *testing.T) {
	in := conditional(t)
	some, one := code.New(in, 1, rand.New(rand.NewPCG(1, 2)), nil, nil), code.New(in, 1, rand.New(rand.NewPCG(1, 2)), nil, nil)
	free := []int{0, 1, 2, 3, 4, 5}
	active, inactive := 0, 0
	for range 2000 {
		values, from := []int{3, 2, 1, 0, 2, 1}, []int{3, 2, 1, 0, -1, 1}
		ords := slices.Clone(values)
		changed := some.KickSome(ords, free, 1)
		i, ord := one.KickOne(values, free, from)
		if len(changed) != 1 || changed[0] != i {
			t.Fatalf("KickOne takes parameter %d, and KickSome %v", i, changed)
		}
		if from[i] < 0 {
			ords[i] = -1
			inactive++
		} else {
			active++
		}
		if ord != ords[i] {
			t.Fatalf("KickOne makes parameter %d %d, and KickSome %d", i, ord, ords[i])
		}
	}
	if active < 1000 || inactive < 200 {
		t.Errorf("%d active and %d inactive parameters", active, inactive)
	}
}

func TestOrdered(t *testing.T) {
	for _, c := range []struct {
		p    space.Parameter
		want bool
	}{
		{space.Range("p", 1, 8), true}, {space.Pow2("p", 1, 8), true}, {space.Stepped("p", -6, 6, 4), true},
		{space.Ints("p", 1, 3, 7), true}, {space.Ints("p", 7, 3, 1), true}, {space.Ints("p", 3, 1, 7), false},
		{space.Floats("p", 0.5, 2), true}, {space.Enum("p", "a", "b"), false}, {space.Bool("p"), false},
	} {
		if got := code.Ordered(c.p); got != c.want {
			t.Errorf("Ordered of %v is %v", c.p, got)
		}
	}
}

// TestMoves: what is near a point is another valid point; what stands for a vector is valid and was never given before,
// until all points are; and a point is what its vector stands for.
func TestMoves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := conditional(t)
		n, _ := in.Len()
		seed := rapid.Uint64().Draw(t, "seed")
		c := code.New(in, seed, rand.New(rand.NewPCG(seed, 0)), nil, nil)
		p := in.At(rapid.Uint64Range(0, n-1).Draw(t, "point"))
		if q, ok := c.Neighbour(p); !ok || q.Equal(p) || in.Explain(q.Ordinals()) != nil {
			t.Fatalf("near %s is %s, %v", p, q, ok)
		}
		if q, ok := in.Complete(c.Ordinals(c.Vector(p))); !ok || !q.Equal(p) {
			t.Fatalf("%s becomes %s, %v", p, q, ok)
		}
		ords := p.Ordinals()
		c.Kick(ords, rapid.IntRange(0, 9).Draw(t, "parameters"))
		for i, o := range ords {
			if o < -1 || o >= c.Sizes[i] || (o < 0) != (p.Ordinal(i) < 0) {
				t.Fatalf("a kick makes %v of %v", ords, p.Ordinals())
			}
		}
		seen := map[string]bool{}
		for range n {
			q, ok := c.Unseen(p.Ordinals())
			if !ok || seen[q.Key()] || in.Explain(q.Ordinals()) != nil {
				t.Fatalf("after %d of %d points comes %s, %v", len(seen), n, q, ok)
			}
			if len(seen) == 0 && !q.Equal(p) {
				t.Fatalf("%s stands for the unseen %s", q, p)
			}
			seen[q.Key()] = true
		}
		if q, ok := c.Unseen(p.Ordinals()); ok {
			t.Fatalf("after all points comes %s", q)
		}
	})
}

// TestNewcomer: the start comes first and once, then what is random.
func TestNewcomer(t *testing.T) {
	in := conditional(t)
	start := []space.Point{in.At(5), in.At(9), in.At(5)}
	c := code.New(in, 1, rand.New(rand.NewPCG(1, 0)), start, nil)
	var keys []string
	for {
		p, ok := c.Newcomer()
		if !ok {
			break
		}
		keys = append(keys, p.Key())
	}
	if keys[0] != in.At(5).Key() || keys[1] != in.At(9).Key() {
		t.Errorf("it begins with %q", keys[:2])
	}
	n, _ := in.Len()
	slices.Sort(keys)
	if keys = slices.Compact(keys); len(keys) != int(n) {
		t.Errorf("it gives %d different points of %d", len(keys), n)
	}
}

// TestCentre: the centre is the middle of each domain where that is valid, else near it.
func TestCentre(t *testing.T) {
	free, err := space.New("free", []space.Parameter{space.Range("x", 0, 8), space.Range("y", 0, 4)})
	if err != nil {
		t.Fatal(err)
	}
	bound, err := space.New("bound", []space.Parameter{space.Range("x", 0, 8), space.Range("y", 0, 4)}, "x + y < 6")
	if err != nil {
		t.Fatal(err)
	}
	if got := code.Centre(free).Key(); got != "x=4 y=2" {
		t.Errorf("the centre is %q", got)
	}
	if got := code.Centre(bound).Key(); got != "x=3 y=2" {
		t.Errorf("the centre within bounds is %q", got)
	}
}
