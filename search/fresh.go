package search

import (
	"iter"
	"math/bits"
	"math/rand/v2"

	"tune/space"
)

// Fresh draws points that nobody has seen: uniformly, without replacement, until none is left. Strategies
// that make their points in other ways mark those here, and come back to Fresh when they run dry.
//
// In a space whose points are numbered it walks a keyed permutation of the numbers, so that what it needs to
// remember is what was marked; elsewhere it samples, and scans the space in canonical order once sampling
// finds nothing new.
type Fresh struct {
	space *space.Space
	rng   *rand.Rand

	n    uint64 // points, where they are numbered
	perm permutation
	next uint64 // of the permuted numbers
	// seen holds the points that were drawn or marked: by number, or by key where there are none.
	seen    map[uint64]struct{}
	seenKey map[string]struct{}

	scan     func() (space.Point, bool)
	stopScan func()
}

// sampleTries is how often Fresh samples before it concludes that little is left, and scans.
const sampleTries = 64

// NewFresh returns a source of unseen points.
func NewFresh(s *space.Space, rng *rand.Rand) *Fresh {
	f := &Fresh{space: s, rng: rng}
	if n, ok := s.Len(); ok {
		f.n = n
		f.perm = newPermutation(n, rng)
		f.seen = map[uint64]struct{}{}
	} else {
		f.seenKey = map[string]struct{}{}
	}
	return f
}

// Mark notes that a point is seen, and reports whether it was not before.
func (f *Fresh) Mark(p space.Point) bool {
	if f.seen != nil {
		i, ok := f.space.Index(p)
		if !ok {
			return false
		}
		if _, known := f.seen[i]; known {
			return false
		}
		f.seen[i] = struct{}{}
		return true
	}
	key := p.Key()
	if _, known := f.seenKey[key]; known {
		return false
	}
	f.seenKey[key] = struct{}{}
	return true
}

// Draw returns an unseen point and marks it. It returns false when every point is seen.
func (f *Fresh) Draw() (space.Point, bool) {
	if f.seen != nil {
		for f.next < f.n {
			i := f.perm.at(f.next)
			f.next++
			if _, known := f.seen[i]; !known {
				f.seen[i] = struct{}{}
				return f.space.At(i), true
			}
		}
		return space.Point{}, false
	}
	if f.scan == nil {
		for range sampleTries {
			p, err := f.space.Sample(f.rng)
			if err != nil {
				break
			}
			if f.Mark(p) {
				return p, true
			}
		}
		f.scan, f.stopScan = iter.Pull(f.space.All())
	}
	for {
		p, ok := f.scan()
		if !ok {
			f.stopScan()
			return space.Point{}, false
		}
		if f.Mark(p) {
			return p, true
		}
	}
}

// permutation is a keyed bijection on [0, n): a balanced Feistel network over the next even number of bits,
// walked until the result is below n (Black and Rogaway, "Ciphers with arbitrary finite domains", 2002).
type permutation struct {
	n    uint64
	half uint // bits of each half
	keys [4]uint64
}

func newPermutation(n uint64, rng *rand.Rand) permutation {
	p := permutation{n: n, half: uint(bits.Len64(n)+1) / 2}
	for i := range p.keys {
		p.keys[i] = rng.Uint64()
	}
	return p
}

func (p permutation) at(i uint64) uint64 {
	mask := uint64(1)<<p.half - 1
	for {
		left, right := i>>p.half, i&mask
		for _, k := range p.keys {
			left, right = right, left^(mix(right^k)&mask)
		}
		if i = left<<p.half | right; i < p.n {
			return i
		}
	}
}

// mix is the finaliser of SplitMix64 (Steele, Lea and Flood 2014).
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xBF58476D1CE4E5B9
	x ^= x >> 27
	x *= 0x94D049BB133111EB
	return x ^ x>>31
}

// Take proposes up to n points of full fidelity from draw, and at most as many as the budget allows.
func Take(n int, p space.Progress, draw func() (space.Point, bool)) []space.Proposal {
	if p.Evaluations > 0 {
		n = min(n, p.Evaluations)
	}
	var out []space.Proposal
	for len(out) < n {
		point, ok := draw()
		if !ok {
			break
		}
		out = append(out, space.Proposal{Point: point})
	}
	return out
}
