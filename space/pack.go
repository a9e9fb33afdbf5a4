package space

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// PackedLen returns the length in bytes of a packed point: the bits for the ordinals of all parameters, rounded up.
func (s *Space) PackedLen() int {
	n := 0
	for i := range s.params {
		n += packedBits(&s.params[i])
	}
	return (n + 7) / 8
}

// packedBits is how many bits encode the ordinals of a parameter, and that it is inactive.
func packedBits(p *Parameter) int { return bits.Len(uint(p.Len())) }

// AppendPacked appends the point in its shortest form: Space.PackedLen bytes, which Space.Unpack converts back. Two points of a
// space are equal if and only if these bytes are equal.
func (p Point) AppendPacked(b []byte) []byte {
	held, n := uint64(0), 0 // bits that do not fill a byte yet
	for i, o := range p.ords {
		w := packedBits(&p.space.params[i])
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
	ords := make([]int, len(s.params))
	at := 0
	var wide [16]byte
	for i := range s.params {
		w := packedBits(&s.params[i])
		clear(wide[:])
		copy(wide[:9], b[at/8:])
		v := binary.LittleEndian.Uint64(wide[:])>>(at%8) | uint64(wide[8])<<(64-at%8)
		ords[i] = int(v&(1<<w-1)) - 1
		at += w
	}
	return Point{s, ords}
}
