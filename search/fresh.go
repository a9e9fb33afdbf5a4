package search

import (
	"math/bits"
	"math/rand/v2"

	"tune/space"
)

// Fresh draws points that nobody has seen: uniformly, without replacement, until none is left. Strategies that make their points
// in other ways mark those here, and draw from Fresh when they have no idea of their own.
//
// Where the points of a space are numbered, Fresh walks a keyed permutation of the numbers. Elsewhere it samples, and once
// sampling finds nothing new it scans the space in canonical order.
type Fresh struct {
	// Later, where it is set, says which points are held back: they count as seen until nothing else is left; then Later becomes
	// nil.
	Later func(space.Point) bool

	space *space.Space
	rng   *rand.Rand

	numbered bool
	n        uint64 // points, where they are numbered
	perm     permutation
	next     uint64 // of the permuted numbers

	known *Points  // the points that were drawn, marked or asked for by Number
	seen  []uint64 // a bit for each of them: whether it was drawn or marked

	scan func() (space.Point, bool) // nil while sampling finds new points
}

// sampleTries is how often Fresh samples without success before it concludes that little is left, and scans.
const sampleTries = 64

// NewFresh returns a source of unseen points.
func NewFresh(s *space.Space, rng *rand.Rand) *Fresh {
	f := &Fresh{space: s, rng: rng, known: NewPoints(s)}
	if f.n, f.numbered = s.Len(); f.numbered {
		f.perm = newPermutation(f.n, rng)
	}
	return f
}

// SeededFresh returns a source of unseen points that draws by the seed of a strategy.
func SeededFresh(s *space.Space, seed uint64) *Fresh {
	return NewFresh(s, rand.New(rand.NewPCG(seed, 0x66726573)))
}

// Mark notes that a point is seen, and reports whether it was unseen before. For a point that is held back it returns false and
// notes nothing.
func (f *Fresh) Mark(p space.Point) bool {
	if f.late(p) {
		return false
	}
	return f.mark(p)
}

// mark does what Mark does, also for points that are held back.
func (f *Fresh) mark(p space.Point) bool {
	if !f.holds(p) {
		return false
	}
	i := f.Number(p)
	if f.bit(i) {
		return false
	}
	f.seen[i/64] |= 1 << (i % 64)
	return true
}

// holds reports whether a point is one of the space.
func (f *Fresh) holds(p space.Point) bool { return p.Space().Same(f.space) }

// bit reports whether known point i is seen.
func (f *Fresh) bit(i int) bool { return i/64 < len(f.seen) && f.seen[i/64]>>(i%64)&1 != 0 }

// Number returns the number under which strategies keep what they know of a point: 0, 1, 2, … in the order in which the points
// became known here.
func (f *Fresh) Number(p space.Point) int {
	i, fresh := f.known.Add(p)
	if fresh && i/64 == len(f.seen) {
		f.seen = append(f.seen, 0)
	}
	return i
}

// Known returns the number of a point that has one.
func (f *Fresh) Known(p space.Point) (int, bool) { return f.known.Find(p) }

// At returns the point with a number.
func (f *Fresh) At(i int) space.Point { return f.known.At(i) }

func (f *Fresh) late(p space.Point) bool { return f.Later != nil && f.Later(p) }

// Seen reports whether a point was drawn or marked.
func (f *Fresh) Seen(p space.Point) bool {
	if !f.holds(p) {
		return false
	}
	i, ok := f.known.Find(p)
	return ok && f.bit(i)
}

// Draw returns an unseen point and marks it. It returns false when every point is seen.
func (f *Fresh) Draw() (space.Point, bool) {
	if f.numbered {
		for f.next < f.n {
			p := f.space.At(f.perm.at(f.next))
			f.next++
			if !f.late(p) && f.mark(p) {
				return p, true
			}
		}
		if f.Later != nil {
			f.Later, f.next = nil, 0
			return f.Draw()
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
		f.scan = InOrder(f.space)
	}
	for {
		p, ok := f.scan()
		if !ok && f.Later != nil {
			f.Later, f.scan = nil, InOrder(f.space)
			continue
		}
		if !ok {
			return space.Point{}, false
		}
		if f.Mark(p) {
			return p, true
		}
	}
}

// InOrder returns a function that gives the points in canonical order, one a call, and false once there are no
// more. Unlike iter.Pull it holds no coroutine, so that a strategy that uses it can be dropped at any time.
func InOrder(s *space.Space) func() (space.Point, bool) {
	if n, ok := s.Len(); ok {
		i := uint64(0)
		return func() (space.Point, bool) {
			if i == n {
				return space.Point{}, false
			}
			i++
			return s.At(i - 1), true
		}
	}
	var (
		ahead []space.Point
		given int
		last  bool // nothing comes after what is read ahead
	)
	return func() (space.Point, bool) {
		if len(ahead) == 0 && !last {
			n := min(max(given, leastAhead), mostAhead)
			ahead = stretch(s, given, n)
			last = len(ahead) < n
		}
		if len(ahead) == 0 {
			return space.Point{}, false
		}
		p := ahead[0]
		ahead = ahead[1:]
		given++
		return p, true
	}
}

// InOrder reads ahead where points are not numbered. As it enumerates from the start each time, it reads as many points as it has
// given already, within these bounds.
const (
	leastAhead = 64
	mostAhead  = 1 << 16
)

// stretch returns up to n points in canonical order, without the first skip.
func stretch(s *space.Space, skip, n int) []space.Point {
	var out []space.Point
	for p := range s.All() {
		if skip > 0 {
			skip--
			continue
		}
		if out = append(out, p); len(out) == n {
			break
		}
	}
	return out
}

// permutation is a random bijection on [0, n). A small one is a shuffled list, which makes every order equally
// likely. A large one is a balanced Feistel network over the next even number of bits, walked until the result is
// below n (Black and Rogaway, "Ciphers with arbitrary finite domains", 2002): it costs no memory, and makes every
// number equally likely at each place, though it cannot make every order.
type permutation struct {
	n    uint64
	list []int
	half uint // bits of each half
	keys [4]uint64
}

// longestList is the largest permutation that is a list.
const longestList = 1 << 12

func newPermutation(n uint64, rng *rand.Rand) permutation {
	p := permutation{n: n}
	if n <= longestList {
		p.list = rng.Perm(int(n))
		return p
	}
	p.half = uint(bits.Len64(n-1)+1) / 2
	for i := range p.keys {
		p.keys[i] = rng.Uint64()
	}
	return p
}

func (p permutation) at(i uint64) uint64 {
	if p.list != nil {
		return uint64(p.list[i])
	}
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
