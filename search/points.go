package search

import (
	"hash/maphash"

	"tune/space"
)

// Points is a set of points of a space, numbered in the order in which they were added. It stores packed points, and finds one by
// a hash and then a comparison of the point itself, so that two points are never confused. A point takes [space.Space.PackedLen]
// bytes and 7 to 13 more.
type Points struct {
	space *space.Space
	width int
	n     int
	// packed holds the points, chunkLen in a chunk.
	packed [][]byte
	index  *Index
	// Memory that calls share.
	buf  []byte
	ords []int
}

// NewPoints returns an empty set.
func NewPoints(s *space.Space) *Points {
	p := &Points{space: s, width: s.PackedLen()}
	p.index = NewIndex(func(x *Index, i int) uint64 { return x.Hash(p.Packed(i)) })
	return p
}

// chunkLen is how many values one allocation holds: growing copies none of the existing ones.
const chunkLen = 1 << 12

// Len returns the number of points.
func (p *Points) Len() int { return p.n }

// At returns point i.
func (p *Points) At(i int) space.Point { return p.space.Unpack(p.Packed(i)) }

// AppendOrdinals appends the ordinals of point i.
func (p *Points) AppendOrdinals(ords []int, i int) []int {
	return p.space.AppendUnpacked(ords, p.Packed(i))
}

// Packed returns the packed form of point i, which must not be changed.
func (p *Points) Packed(i int) []byte {
	at := i % chunkLen * p.width
	return p.packed[i/chunkLen][at : at+p.width]
}

// Find returns the number of a point, and whether it is in the set.
func (p *Points) Find(q space.Point) (int, bool) {
	p.buf = q.AppendPacked(p.buf[:0])
	i, ok, _ := p.look()
	return i, ok
}

// look finds the point whose packed form is in buf.
func (p *Points) look() (i int, ok bool, hash uint64) {
	hash = p.index.Hash(p.buf)
	i, ok = p.index.Find(hash, func(i int) bool { return string(p.Packed(i)) == string(p.buf) })
	return i, ok, hash
}

// Add returns the number of a point, and whether it is new.
func (p *Points) Add(q space.Point) (i int, fresh bool) {
	p.buf = q.AppendPacked(p.buf[:0])
	return p.add()
}

// AddComplete is Add for the point that [space.Space.Complete] makes of some ordinals. ok is false where there is none. from are the
// ordinals of point of, which most of the ordinals are those of; nil for none.
func (p *Points) AddComplete(ords, from []int, of int) (i int, fresh, ok bool) {
	p.ords = append(p.ords[:0], ords...)
	var packed []byte
	if from != nil {
		packed = p.Packed(of)
	}
	if p.buf, ok = p.space.AppendComplete(p.buf[:0], p.ords, from, packed); !ok {
		return 0, false, false
	}
	i, fresh = p.add()
	return i, fresh, true
}

// add adds the point whose packed form is in buf, where it is new.
func (p *Points) add() (i int, fresh bool) {
	i, ok, hash := p.look()
	if ok {
		return i, false
	}
	if p.n%chunkLen == 0 {
		size := 0 // the first chunk grows, because most sets are small
		if p.n > 0 {
			size = chunkLen * p.width
		}
		p.packed = append(p.packed, make([]byte, 0, size))
	}
	last := &p.packed[len(p.packed)-1]
	*last = append(*last, p.buf...)
	p.index.Add(hash, p.n)
	p.n++
	return p.n - 1, true
}

// Index finds numbers 0, 1, 2, … by the hash of what they stand for. It is a hash table with open addressing that stores no
// hashes; a large table is three eighths to three quarters full. Of each hash it has a few bits beside the number: what a number stands
// for is somewhere else in memory, and is looked at only where these agree.
type Index struct {
	hash  func(x *Index, i int) uint64 // of what number i stands for
	sum   func([]byte) uint64
	table []uint32 // the numbers
	tags  []uint8  // the tags of their hashes; 0 where there is no number
	n     int
}

// tagOf returns seven bits of a hash, which play no part in where its number is, with the eighth set.
func tagOf(hash uint64) uint8 { return uint8(hash>>56) | 0x80 }

// NewIndex returns an index. hash returns the hash of the item with a number, the same as was given to Add.
func NewIndex(hash func(x *Index, i int) uint64) *Index {
	seed := maphash.MakeSeed()
	return &Index{hash: hash, sum: func(b []byte) uint64 { return maphash.Bytes(seed, b) }}
}

// Hash returns the hash of bytes. It differs between processes, and no result depends on it.
func (x *Index) Hash(b []byte) uint64 { return x.sum(b) }

// Find returns the number with the given hash for which equal returns true.
func (x *Index) Find(hash uint64, equal func(i int) bool) (i int, ok bool) {
	if len(x.table) == 0 {
		return 0, false
	}
	mask, tag := uint64(len(x.table)-1), tagOf(hash)
	for at := hash & mask; x.tags[at] != 0; at = (at + 1) & mask {
		if x.tags[at] != tag {
			continue
		}
		if i := int(x.table[at]); equal(i) {
			return i, true
		}
	}
	return 0, false
}

// Add adds the next number, i.
func (x *Index) Add(hash uint64, i int) {
	if 4*x.n >= 3*len(x.table) {
		size := max(2*len(x.table), 16)
		x.table, x.tags = make([]uint32, size), make([]uint8, size)
		for j := range x.n {
			x.place(x.hash(x, j), j)
		}
	}
	x.place(hash, i)
	x.n++
}

func (x *Index) place(hash uint64, i int) {
	mask := uint64(len(x.table) - 1)
	at := hash & mask
	for x.tags[at] != 0 {
		at = (at + 1) & mask
	}
	x.table[at], x.tags[at] = uint32(i), tagOf(hash)
}

// Column is a list that grows in chunks, so that growing never copies it. The zero value is empty.
type Column[T any] struct {
	chunks [][]T
	n      int
}

// Len returns the number of values.
func (c *Column[T]) Len() int { return c.n }

// At returns a pointer to value i.
func (c *Column[T]) At(i int) *T { return &c.chunks[i/chunkLen][i%chunkLen] }

// Append adds a value.
func (c *Column[T]) Append(v T) {
	if c.n%chunkLen == 0 {
		size := 0
		if c.n > 0 {
			size = chunkLen
		}
		c.chunks = append(c.chunks, make([]T, 0, size))
	}
	last := &c.chunks[len(c.chunks)-1]
	*last = append(*last, v)
	c.n++
}
