package insight

import (
	"encoding/binary"
	"iter"
	"math"

	"tune/space"
)

// packed holds rows in little memory: a run keeps them while it searches. A row of 24 parameters takes some 45 bytes.
type packed struct {
	chunks [][]byte
	len    int
	buf    []byte
}

// chunkBytes is the size of a chunk. No row is in two chunks.
const chunkBytes = 32 << 10

// add appends a row.
func (p *packed) add(r *Row) {
	b := binary.AppendUvarint(p.buf[:0], uint64(r.Number))
	status := byte(r.Status) << 1
	if r.Reduced {
		status |= 1
	}
	b = append(b, status)
	b = binary.LittleEndian.AppendUint64(b, math.Float64bits(r.Cost))
	b = binary.LittleEndian.AppendUint64(b, math.Float64bits(r.Elapsed))
	b = binary.AppendUvarint(b, uint64(len(r.Choices)))
	for _, c := range r.Choices {
		b = binary.AppendUvarint(b, uint64(c+1))
	}
	p.buf = b
	last := len(p.chunks) - 1
	if last < 0 || cap(p.chunks[last])-len(p.chunks[last]) < len(b) {
		p.chunks = append(p.chunks, make([]byte, 0, max(chunkBytes, len(b))))
		last++
	}
	p.chunks[last] = append(p.chunks[last], b...)
	p.len++
}

// all yields the rows in the order in which they were added. Their choices are valid until the next one.
func (p *packed) all() iter.Seq[Row] {
	return func(yield func(Row) bool) {
		var choices []int32
		for _, b := range p.chunks {
			for len(b) > 0 {
				number := func() uint64 {
					v, n := binary.Uvarint(b)
					b = b[n:]
					return v
				}
				r := Row{Number: int(number())}
				r.Status, r.Reduced = space.Status(b[0]>>1), b[0]&1 != 0
				r.Cost = math.Float64frombits(binary.LittleEndian.Uint64(b[1:]))
				r.Elapsed = math.Float64frombits(binary.LittleEndian.Uint64(b[9:]))
				b = b[17:]
				choices = choices[:0]
				for range number() {
					choices = append(choices, int32(number())-1)
				}
				if r.Choices = choices; !yield(r) {
					return
				}
			}
		}
	}
}
