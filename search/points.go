package search

import (
	"encoding/binary"
	"hash/maphash"
	"math/bits"

	"tune/space"
)

// Points is a set of points of a space, numbered in the order in which they were added. It stores packed points, and finds one by
// a hash and then a comparison of the point itself, so that two points are never confused. A point takes [space.Space.PackedLen]
// bytes and 6 to 13 more.
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
	return p.look(p.index.Hash(p.buf))
}

// look finds the point whose packed form is in buf, and has the hash.
func (p *Points) look(hash uint64) (i int, ok bool) {
	return p.index.Find(hash, func(i int) bool { return string(p.Packed(i)) == string(p.buf) })
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

// AppendComplete appends the packed form of the point that AddComplete would add.
func (p *Points) AppendComplete(b []byte, ords, from []int, of int) ([]byte, bool) {
	p.ords = append(p.ords[:0], ords...)
	return p.space.AppendComplete(b, p.ords, from, p.Packed(of))
}

// AppendChanged appends the packed form of point of with some other ordinals, where [space.Space.AppendChanged] makes it.
func (p *Points) AppendChanged(b []byte, of int, ords, changed []int) ([]byte, bool) {
	return p.space.AppendChanged(b, p.Packed(of), ords, changed)
}

// Hash returns the hash of a packed point.
func (p *Points) Hash(packed []byte) uint64 { return p.index.Hash(packed) }

// AddHashed adds a packed point with its hash, and returns its number.
func (p *Points) AddHashed(packed []byte, hash uint64) int {
	p.buf = append(p.buf[:0], packed...)
	i, _ := p.addHashed(hash)
	return i
}

// Touch and Fetch prepare for adding points with some hashes, as those of [Index] do.
func (p *Points) Touch(hashes []uint64) { p.index.Touch(hashes) }

// Fetch comes after Touch.
func (p *Points) Fetch(hashes []uint64) {
	p.index.Fetch(hashes, func(i int) byte { return p.Packed(i)[0] })
}

// add adds the point whose packed form is in buf, where it is new.
func (p *Points) add() (i int, fresh bool) { return p.addHashed(p.index.Hash(p.buf)) }

// addHashed is add where the hash is known.
func (p *Points) addHashed(hash uint64) (i int, fresh bool) {
	i, ok := p.look(hash)
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
// hashes; a large table is seven sixteenths to seven eighths full. Of each hash it has a few bits beside the number: what a number stands
// for is somewhere else in memory, and is looked at only where these agree.
type Index struct {
	hash    func(x *Index, i int) uint64 // of what number i stands for
	sum     func([]byte) uint64
	groups  []group
	n       int
	alike   []uint32 // memory of Fetch
	fetched byte     // for the compiler to keep what Fetch reads
}

// group has the places of a table that fill a line of the cache: a search waits for memory once to see all of them.
type group struct {
	tags    [16]uint8 // of the hashes, for as many places as there are; 0 where there is no number, and after the last place
	numbers [groupLen]uint32
}

const groupLen = 12

// tagOf returns seven bits of a hash, which play no part in where its number is, with the eighth set.
func tagOf(hash uint64) uint8 { return uint8(hash>>56) | 0x80 }

// half returns the tags of the places from 8·k on.
func (g *group) half(k int) uint64 { return binary.LittleEndian.Uint64(g.tags[8*k:]) }

// len returns how many numbers the group has.
func (g *group) len() int {
	if tags := g.half(1); tags != 0 {
		return 16 - bits.LeadingZeros64(tags)/8
	}
	return 8 - bits.LeadingZeros64(g.half(0))/8
}

// with returns tags in which the bytes that are equal to a tag have their highest bit set, and no other bit is. Now and then a byte above one of
// these has it too.
func with(tags uint64, tag uint8) uint64 {
	const ones = 0x0101010101010101
	differ := tags ^ ones*uint64(tag)
	return (differ - ones) &^ differ & (ones << 7)
}

// NewIndex returns an index. hash returns the hash of the item with a number, the same as was given to Add.
func NewIndex(hash func(x *Index, i int) uint64) *Index {
	seed := maphash.MakeSeed()
	return &Index{hash: hash, sum: func(b []byte) uint64 { return maphash.Bytes(seed, b) }}
}

// Hash returns the hash of bytes. It differs between processes, and no result depends on it.
func (x *Index) Hash(b []byte) uint64 { return x.sum(b) }

// Find returns the number with the given hash for which equal returns true.
func (x *Index) Find(hash uint64, equal func(i int) bool) (i int, ok bool) {
	if len(x.groups) == 0 {
		return 0, false
	}
	tag := tagOf(hash)
	for at := int(hash); ; at++ {
		g := &x.groups[at&(len(x.groups)-1)]
		for k := range 2 {
			for alike := with(g.half(k), tag); alike != 0; alike &= alike - 1 {
				if i := int(g.numbers[8*k+bits.TrailingZeros64(alike)/8]); equal(i) {
					return i, true
				}
			}
		}
		if g.tags[groupLen-1] == 0 {
			return 0, false
		}
	}
}

// Touch has the processor fetch the memory where Find and Add look first for some hashes: that of a large index is in no cache. It writes a byte
// that is 0 anyway, because a processor waits for what it reads, but not for what it writes.
func (x *Index) Touch(hashes []uint64) {
	if len(x.groups) == 0 {
		return
	}
	for _, hash := range hashes {
		x.groups[int(hash)&(len(x.groups)-1)].tags[groupLen] = 0
	}
}

// Fetch, after Touch, reads the memory where Find looks next: what the numbers stand for. item reads that. The reads do not wait for each
// other, as those of one Find do for those of the one before.
func (x *Index) Fetch(hashes []uint64, item func(i int) byte) {
	x.alike = x.alike[:0]
	for _, hash := range hashes {
		if len(x.groups) == 0 {
			return
		}
		g := &x.groups[int(hash)&(len(x.groups)-1)]
		for k := range 2 {
			if alike := with(g.half(k), tagOf(hash)); alike != 0 {
				x.alike = append(x.alike, g.numbers[8*k+bits.TrailingZeros64(alike)/8])
			}
		}
	}
	for _, i := range x.alike {
		x.fetched += item(int(i))
	}
}

// Add adds the next number, i.
func (x *Index) Add(hash uint64, i int) {
	if 8*x.n >= 7*groupLen*len(x.groups) {
		x.grow()
	}
	x.place(hash, i)
	x.n++
}

// grow doubles the table.
func (x *Index) grow() {
	x.groups = make([]group, max(2*len(x.groups), 1))
	var hashes [touchedAtOnce]uint64
	for i := 0; i < x.n; i += len(hashes) {
		some := hashes[:min(len(hashes), x.n-i)]
		for k := range some {
			some[k] = x.hash(x, i+k)
		}
		x.Touch(some)
		for k, hash := range some {
			x.place(hash, i+k)
		}
	}
}

// touchedAtOnce is more than what a processor can wait for at once.
const touchedAtOnce = 64

func (x *Index) place(hash uint64, i int) {
	for at := int(hash); ; at++ {
		g := &x.groups[at&(len(x.groups)-1)]
		if n := g.len(); n < groupLen {
			g.tags[n], g.numbers[n] = tagOf(hash), uint32(i)
			return
		}
	}
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
