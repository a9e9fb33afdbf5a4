package space

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Packing loses nothing, whatever the sizes of the domains, and tells points apart.
func TestPackedPointsReadBack(t *testing.T) {
	fast := 0 // points that were changed without completing them
	defer func() {
		if fast == 0 {
			t.Error("no point was changed in its packed form")
		}
	}()
	rapid.Check(t, func(t *rapid.T) {
		var params []Parameter
		for i := range rapid.IntRange(1, 12).Draw(t, "parameters") {
			wide := rapid.SampledFrom([]int{0, 1, 2, 6, 7, 8, 254, 255, 256, 65535, 1 << 31, math.MaxInt/2 - 1}).Draw(t, "wide")
			p := Range(fmt.Sprintf("p%d", i), 0, wide)
			if i > 0 && rapid.Bool().Draw(t, "conditional") {
				p = p.If("p0 > 0")
			}
			params = append(params, p)
		}
		s, err := New("packed", params)
		if err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(1, rapid.Uint64().Draw(t, "seed")))
		seen := map[string]string{}
		for range 20 {
			p, err := s.Sample(rng)
			if err != nil {
				t.Fatal(err)
			}
			packed := p.AppendPacked(nil)
			if q := s.Unpack(packed); !q.Equal(p) || len(packed) != s.PackedLen() {
				t.Fatalf("%s packs into %x, and reads back as %s", p, packed, q)
			}
			if key := p.Key(); !p.HasKey(key) || p.HasKey(key+"0") || p.HasKey("p1=-1"+key) {
				t.Fatalf("%s is not told from other keys", key)
			}
			if key, twice := seen[string(packed)]; twice && key != p.Key() {
				t.Fatalf("%s and %s are packed alike", key, p)
			}
			seen[string(packed)] = p.Key()
			// A point that is made of it by changing one value is packed as any other is.
			ords := p.Ordinals()
			changed := rng.IntN(len(params))
			ords[changed] = rng.IntN(s.sizes[changed])
			near, ok := s.AppendComplete([]byte("x"), slices.Clone(ords), p.ords, packed)
			settled, may := s.Complete(ords)
			if ok != may || ok && string(near) != "x"+string(settled.AppendPacked(nil)) {
				t.Fatalf("%s with p%d changed to %d packs into %x, %t", p, changed, ords[changed], near, ok)
			}
			if p.ords[changed] >= 0 {
				several := []int{changed}
				for range 2 {
					if i := rng.IntN(len(params)); p.ords[i] >= 0 && !slices.Contains(several, i) {
						ords[i] = rng.IntN(s.sizes[i])
						several = append(several, i)
					}
				}
				if near, ok := s.AppendChanged([]byte("x"), packed, ords, several); ok {
					fast++
					if settled, may := s.Complete(ords); !may || string(near) != "x"+string(settled.AppendPacked(nil)) {
						t.Fatalf("%s with %v changed to %v packs into %x", p, several, ords, near)
					}
				}
			}
			// A mask keeps of two points what tells their values of the given parameters apart.
			q, err := s.Sample(rng)
			if err != nil {
				t.Fatal(err)
			}
			i := rng.IntN(len(params))
			other, mask, alike := q.AppendPacked(nil), s.PackedMask([]int{i}), true
			for k, bits := range mask {
				alike = alike && packed[k]&bits == other[k]&bits
			}
			if alike != (p.Ordinal(i) == q.Ordinal(i)) {
				t.Fatalf("the mask %x of p%d takes %s and %s for alike: %t", mask, i+1, p, q, alike)
			}
		}
	})
}

// TestPackedOverNineBytes: an ordinal of 63 bits that does not begin with a byte is spread over nine bytes.
func TestPackedOverNineBytes(t *testing.T) {
	const values = math.MaxInt/2 + 1
	s, err := New("x", []Parameter{Bool("a"), Bool("b"), Range("c", 0, values-1)})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []int{0, 1, values / 2, values - 1} {
		p, err := s.FromOrdinals([]int{1, 0, c})
		if err != nil {
			t.Fatal(err)
		}
		if q := s.Unpack(p.AppendPacked(nil)); !q.Equal(p) {
			t.Errorf("%s reads back as %s", p, q)
		}
	}
}
