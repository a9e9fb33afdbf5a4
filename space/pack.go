package space

import (
	"encoding/binary"
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
	s.setFields()
}

// field says where an ordinal is in a packed point: in the eight bytes from one on, above some bits.
type field struct {
	from  int
	shift uint
	mask  uint64
}

// put replaces the ordinal in a packed point.
func (f *field) put(packed []byte, ord int) {
	word := packed[f.from:]
	rest := binary.LittleEndian.Uint64(word) &^ (f.mask << f.shift)
	binary.LittleEndian.PutUint64(word, rest|uint64(ord+1)<<f.shift)
}

// setFields finds the fields. There are none where packed points are shorter than eight bytes, or an ordinal is spread over nine.
func (s *Space) setFields() {
	at := 0
	for _, w := range s.widths {
		from := min(at/8, s.packed-8)
		if from < 0 || at-8*from+w > 64 {
			s.fields = nil
			return
		}
		s.fields = append(s.fields, field{from, uint(at - 8*from), 1<<w - 1})
		at += w
	}
}

// packedBits is how many bits encode the ordinals of a parameter with so many values, and that it is inactive.
func packedBits(values int) int { return bits.Len(uint(values)) }

// AppendPacked appends the point in its shortest form: Space.PackedLen bytes, which Space.Unpack converts back. Two points of a
// space are equal if and only if these bytes are equal.
func (p Point) AppendPacked(b []byte) []byte { return p.space.appendPacked(b, p.ords) }

func (s *Space) appendPacked(b []byte, ords []int) []byte {
	held, n := uint64(0), 0 // bits that do not fill eight bytes yet
	for i, w := range s.widths {
		v := uint64(ords[i] + 1)
		held |= v << n
		if n += w; n >= 64 {
			b = binary.LittleEndian.AppendUint64(b, held)
			n -= 64
			held = v >> (w - n)
		}
	}
	for ; n > 0; n -= 8 {
		b = append(b, byte(held))
		held >>= 8
	}
	return b
}

// AppendComplete appends the packed form of the point that Complete makes of some ordinals, and allocates nothing else. The ordinals change,
// even where it returns false. from and packed save time: they are the ordinals and the packed form of a point that has most of these
// ordinals. Both are nil where there is none.
func (s *Space) AppendComplete(b []byte, ords, from []int, packed []byte) ([]byte, bool) {
	if !s.within(ords) {
		return b, false
	}
	settled := 0
	if len(from) == len(ords) {
		settled = s.follow(from, ords)
	}
	if t := (settler{s: s, want: ords, ords: ords}); !t.from(settled) {
		return b, false
	}
	if settled < len(ords) || s.fields == nil {
		return s.appendPacked(b, ords), true
	}
	n := len(b)
	b = append(b, packed...)
	for i, o := range ords {
		if o != from[i] {
			s.fields[i].put(b[n:], o)
		}
	}
	return b, true
}

// AppendChanged appends a packed point with other ordinals for some of its active parameters, each in its domain. It returns false where a
// condition or a constraint may read one of these: then AppendComplete says what becomes of the point.
func (s *Space) AppendChanged(b, packed []byte, ords, changed []int) ([]byte, bool) {
	if s.fields == nil || s.listed || slices.ContainsFunc(changed, func(i int) bool { return s.read[i] }) {
		return b, false
	}
	n := len(b)
	b = append(b, packed...)
	for _, i := range changed {
		s.fields[i].put(b[n:], ords[i])
	}
	return b, true
}

// follow settles ordinals, from the first on, for as long as they differ from those of a point only in parameters that no condition and no
// constraint reads. from are the ordinals of the point. It returns how many it has settled.
func (s *Space) follow(from, ords []int) int {
	for i, o := range ords {
		switch was := from[i]; {
		case o == was:
		case was < 0: // as nothing before it has changed that a condition reads
			ords[i] = -1
		case o < 0 || s.read[i]:
			return i
		}
	}
	return len(ords)
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
func (s *Space) Unpack(b []byte) Point {
	return Point{s, s.AppendUnpacked(make([]int, 0, len(s.widths)), b)}
}

// AppendUnpacked appends the ordinals of that point.
func (s *Space) AppendUnpacked(ords []int, b []byte) []int {
	if len(b) != s.PackedLen() {
		panic(fmt.Sprintf("space: Unpack of %d bytes: points of space %q take %d", len(b), s.name, s.PackedLen()))
	}
	if s.fields != nil {
		n := len(ords)
		ords = slices.Grow(ords, len(s.fields))[:n+len(s.fields)]
		for i, f := range s.fields {
			ords[n+i] = int(binary.LittleEndian.Uint64(b[f.from:])>>(f.shift&63)&f.mask) - 1
		}
		return ords
	}
	held, n := uint64(0), 0 // bits that were read and not used
	for _, w := range s.widths {
		v := held
		if n < w {
			next := uint64(0)
			if len(b) >= 8 {
				next, b = binary.LittleEndian.Uint64(b), b[8:]
			} else {
				for k, last := range b {
					next |= uint64(last) << (8 * k)
				}
			}
			v |= next << n
			held = next >> (w - n)
			n += 64
		} else {
			held >>= w
		}
		n -= w
		ords = append(ords, int(v&(1<<w-1))-1)
	}
	return ords
}
