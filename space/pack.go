package space

import (
	"fmt"
	"math/bits"
	"slices"
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
func (p Point) AppendPacked(b []byte) []byte { return p.space.appendPacked(b, p.ords) }

func (s *Space) appendPacked(b []byte, ords []int) []byte {
	held, n := uint64(0), 0 // bits that do not fill a byte yet
	for i, w := range s.widths {
		v := uint64(ords[i] + 1)
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

// AppendComplete appends the packed form of the point that Complete makes of some ordinals. It uses their memory: they change, even where
// it returns false, and it allocates nothing else.
func (s *Space) AppendComplete(b []byte, ords []int) ([]byte, bool) {
	if !s.within(ords) {
		return b, false
	}
	if t := (settler{s: s, want: ords, ords: ords}); !t.from(0) {
		return b, false
	}
	return s.appendPacked(b, ords), true
}

// PackedMask returns PackedLen bytes in which the bits are set that hold the ordinals of the given parameters in a packed point.
func (s *Space) PackedMask(params []int) []byte {
	mask, at := make([]byte, s.packed), 0
	for i, w := range s.widths {
		for bit := at; bit < at+w && slices.Contains(params, i); bit++ {
			mask[bit/8] |= 1 << (bit % 8)
		}
		at += w
	}
	return mask
}

// Unpack returns the point whose packed form is b. It panics where b has the wrong length.
func (s *Space) Unpack(b []byte) Point { return Point{s, s.UnpackOrdinals(b)} }

// UnpackOrdinals returns the ordinals of that point, as Point.Ordinals does.
func (s *Space) UnpackOrdinals(b []byte) []int {
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
	return ords
}
