package search

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"tune/space"
)

// Points numbers points in the order in which they come, finds each again, and takes no two for one, whatever their hashes.
func TestPoints(t *testing.T) {
	var params []space.Parameter
	for i := range 9 {
		params = append(params, space.Range(fmt.Sprintf("p%d", i), 0, 6))
	}
	s, err := space.New("wide", params)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for _, poor := range []bool{false, true} {
		points, numbers := NewPoints(s), map[string]int{}
		most := 3*chunkLen + 17
		if poor { // every hash is the same
			points.index.sum, most = func([]byte) uint64 { return 7 }, 300
		}
		for range most {
			p, err := s.Sample(rng)
			if err != nil {
				t.Fatal(err)
			}
			want, known := numbers[p.Key()]
			if i, ok := points.Find(p); ok != known || ok && i != want {
				t.Fatalf("%s is found as %d, %t; want %d, %t", p, i, ok, want, known)
			}
			i, fresh := 0, false
			switch rng.IntN(3) {
			case 0:
				i, fresh = points.Add(p)
			case 1:
				if i, fresh, _ = points.AddComplete(p.Ordinals(), nil, 0); !slices.Equal(points.AppendOrdinals(nil, i), p.Ordinals()) {
					t.Fatalf("point %d has the ordinals %v, want %v", i, points.AppendOrdinals(nil, i), p.Ordinals())
				}
			case 2:
				hashes := []uint64{points.Hash(p.AppendPacked(nil)), rng.Uint64()}
				points.Touch(hashes)
				points.Fetch(hashes)
				n := points.Len()
				i = points.AddHashed(p.AppendPacked(nil), hashes[0])
				fresh = points.Len() > n
			}
			if fresh == known {
				t.Fatalf("%s is new: %t", p, fresh)
			}
			if !known {
				want = len(numbers)
				numbers[p.Key()] = want
			}
			if i != want || points.At(i).Key() != p.Key() {
				t.Fatalf("%s has the number %d, want %d; that is %s", p, i, want, points.At(i))
			}
		}
		if i, _, ok := points.AddComplete([]int{0, 0, 0, 0, 0, 0, 0, 0, 7}, nil, 0); ok {
			t.Errorf("ordinals that are no point have the number %d", i)
		}
		if points.Len() != len(numbers) {
			t.Errorf("%d points, want %d", points.Len(), len(numbers))
		}
		for key, want := range numbers {
			p, err := s.Parse(key)
			if err != nil {
				t.Fatal(err)
			}
			if i, ok := points.Find(p); !ok || i != want {
				t.Errorf("%s is found as %d, %t; want %d", key, i, ok, want)
			}
		}
	}
}

// A column holds what was put in, across its chunks, and does not move it.
func TestColumn(t *testing.T) {
	var c Column[float64]
	c.Append(math.Pi)
	for i := 1; i < 2*chunkLen+5; i++ {
		c.Append(float64(i))
	}
	second := c.At(chunkLen + 1)
	for range 3 * chunkLen {
		c.Append(-1)
	}
	*c.At(chunkLen + 1) = 7
	if *second != 7 || *c.At(0) != math.Pi || *c.At(chunkLen) != chunkLen || c.Len() != 5*chunkLen+5 {
		t.Errorf("%d values, among them %v, %v, %v", c.Len(), *c.At(0), *c.At(chunkLen), *second)
	}
}
