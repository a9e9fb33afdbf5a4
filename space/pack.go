package space

import (
	"fmt"
	"math/bits"
)

// PackedLen returns the length in bytes of a packed point: the bits for the ordinals of all parameters, rounded up.
func (s *Space) PackedLen() int { return s.packed }

// setPacked computes what packing needs.
func (s *Space) setPacked() {
	n := 0
	for _, size := range s.sizes {
		w := packedBits(size)
		s.widths, n = append(s.widths, w), n+w
	}
	s.packed = (n + 7) / 8
}

// packedBits is how many bits encode the ordinals of a parameter with so many values, and that it is inactive.
func packedBits(values int) int { return bits.Len(uint(values)) }

// AppendPacked appends the point in its shortest form: Space.PackedLen bytes, which Space.Unpack converts back. Two points of a
// space are equal if and only if these bytes are equal.
func (p Point) AppendPacked(b []byte) []byte {
	held, n := uint64(0), 0 // bits that do not fill a byte yet
	for i, o := range p.ords {
		w := p.space.widths[i]
		v := uint64(o + 1)
		if n+w > 64 { // at most 7 bits are pending
			b = append(b, byte(held|v<<n))
			held, v, w, n = v>>(8-n), 0, w-(8-n), 0
		}
		held |= v << n
		for n += w; n >= 8; n -= 8 {
			b = append(b, byte(held))
			held >>= 8
		}
	}
	if n > 0 {
		b = append(b, byte(held))
	}
	return b
}

// Unpack returns the point whose packed form is b. It panics where b has the wrong length.
func (s *Space) Unpack(b []byte) Point {
	if len(b) != s.PackedLen() {
		panic(fmt.Sprintf("space: Unpack of %d bytes: points of space %q take %d", len(b), s.name, s.PackedLen()))
	}
	ords := make([]int, len(s.widths))
	held, n, at := uint64(0), 0, 0 // bits that were read and not used, and how many bytes were read
	for i, w := range s.widths {
		for n < w && n <= 56 {
			held |= uint64(b[at]) << n
			n, at = n+8, at+1
		}
		v := held
		if n < w { // some bits of the next byte; n is above 56
			next := uint64(b[at])
			at++
			v |= next << n
			held, n = next>>(w-n), n+8-w
		} else {
			held, n = held>>w, n-w
		}
		ords[i] = int(v&(1<<w-1)) - 1
	}
	return Point{s, ords}
}
