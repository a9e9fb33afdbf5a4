package blocks

import (
	"encoding/binary"
	"math"
)

// half and putHalf read and write an fp16.
func half(b []byte) float32       { return FromF16(binary.LittleEndian.Uint16(b)) }
func putHalf(b []byte, v float32) { binary.LittleEndian.PutUint16(b, ToF16(v)) }

// simple makes a format of 32 weights of 4 or 5 bits: d, perhaps m, perhaps the fifth bits, then 16 bytes of nibbles. The low nibble
// of byte j is of element j, the high one of element j+16. Without a minimum the quants are centred.
func simple(name string, number uint32, bits int, withMin bool) Format {
	center, fifth, nibbles := 1<<(bits-1), 2, 2
	c := &code{quants: limits{-center, center - 1}, scales: limits{1, 1}}
	if withMin {
		center, fifth, nibbles = 0, 4, 4
		c.quants, c.mins = limits{0, 1<<bits - 1}, limits{1, 1}
	}
	if bits == 5 {
		nibbles += 4
	}
	c.split = func(b []byte, p *Parts) {
		p.D, p.Scales[0] = half(b), 1
		if withMin {
			p.Min, p.Mins[0] = -half(b[2:]), 1
		}
		var high uint32
		if bits == 5 {
			high = binary.LittleEndian.Uint32(b[fifth:])
		}
		for j, v := range b[nibbles:] {
			p.Quants[j] = int8(int(v&15|byte(high>>j&1)<<4) - center)
			p.Quants[j+16] = int8(int(v>>4|byte(high>>(j+16)&1)<<4) - center)
		}
	}
	c.join = func(b []byte, p *Parts) {
		putHalf(b, p.D)
		if withMin {
			putHalf(b[2:], -p.Min)
		}
		var high uint32
		for j := range 16 {
			low, up := int(p.Quants[j])+center, int(p.Quants[j+16])+center
			b[nibbles+j] = byte(low&15 | up<<4)
			high |= uint32(low>>4)<<j | uint32(up>>4)<<(j+16)
		}
		if bits == 5 {
			binary.LittleEndian.PutUint32(b[fifth:], high)
		}
	}
	c.fit = func(x []float32, p *Parts) { fitSimple(x, c.quants, p) }
	if withMin {
		c.fit = func(x []float32, p *Parts) { fitLine(x, c.quants.high, p) }
	}
	return Format{name, number, 32, nibbles + 16, 32, c}
}

func split80(b []byte, p *Parts) {
	p.D, p.Scales[0] = half(b), 1
	for j, v := range b[2:] {
		p.Quants[j] = int8(v)
	}
}

func join80(b []byte, p *Parts) {
	putHalf(b, p.D)
	for j := range b[2:] {
		b[2+j] = byte(p.Quants[j])
	}
}

// unpack6 reads the scales and minima of 8 sub-blocks, of six bits each, from 12 bytes. Those of the first four sub-blocks lie in
// the low six bits of bytes 0 to 3 and 4 to 7. Of the other four, bytes 8 to 11 have the low four bits, the scale's below the
// minimum's, and the two high bits lie on top of bytes 0 to 7.
func unpack6(b []byte, scales *[16]int8, mins *[16]uint8) {
	for i := range 4 {
		scales[i], mins[i] = int8(b[i]&63), b[4+i]&63
		scales[4+i], mins[4+i] = int8(b[8+i]&15|b[i]>>6<<4), b[8+i]>>4|b[4+i]>>6<<4
	}
}

// pack6 is the inverse of unpack6.
func pack6(b []byte, scales *[16]int8, mins *[16]uint8) {
	for i := range 4 {
		s, m := byte(scales[4+i]), mins[4+i]
		b[i], b[4+i], b[8+i] = byte(scales[i])|s>>4<<6, mins[i]|m>>4<<6, s&15|m<<4
	}
}

// withMins makes a format of 256 weights of 4 or 5 bits, of 8 sub-blocks of 32: d, dmin, the scales and minima, perhaps fifth bits,
// nibbles. Each 32 bytes of nibbles are two sub-blocks, the low nibbles one, the high ones the next. Bit s of byte l of the fifth
// bits is of element l of sub-block s.
func withMins(name string, number uint32, bits int) Format {
	nibbles := 16
	if bits == 5 {
		nibbles += 32
	}
	c := &code{quants: limits{0, 1<<bits - 1}, scales: limits{0, 63}, mins: limits{0, 63}}
	c.split = func(b []byte, p *Parts) {
		p.D, p.Min = half(b), half(b[2:])
		unpack6(b[4:16], &p.Scales, &p.Mins)
		for s := range 8 {
			from, shift := b[nibbles+s/2*32:][:32], s%2*4
			quants := p.Quants[32*s:][:32]
			for l, v := range from {
				quants[l] = int8(v >> shift & 15)
			}
			if bits == 5 {
				for l, v := range b[16:48] {
					quants[l] |= int8(v >> s & 1 << 4)
				}
			}
		}
	}
	c.join = func(b []byte, p *Parts) {
		putHalf(b, p.D)
		putHalf(b[2:], p.Min)
		pack6(b[4:16], &p.Scales, &p.Mins)
		clear(b[16:])
		for i, q := range p.Quants {
			s, l := i/32, i%32
			b[nibbles+s/2*32+l] |= byte(q) & 15 << (s % 2 * 4)
			if bits == 5 {
				b[16+l] |= byte(q) >> 4 << s
			}
		}
	}
	c.fit = func(x []float32, p *Parts) { fitMins(x, c.quants.high, p) }
	return Format{name, number, 256, nibbles + 128, 32, c}
}

// place6 says where element i of a q6_k block lies: the byte of ql with its low four bits, the byte of qh with its high two, and
// how far each is shifted. Halves of 128 are alike. In each, 32 elements are in the low nibbles of 32 bytes, the next 32 in those of the
// next 32 bytes, and the other 64 in the high nibbles; a byte of qh has two bits of one element of each 32.
func place6(i int) (low, lowShift, high, highShift int) {
	h, l, quarter := i/128, i%32, i%128/32
	return 64*h + quarter%2*32 + l, quarter / 2 * 4, 32*h + l, quarter * 2
}

func split6K(b []byte, p *Parts) {
	ql, qh := b[:128], b[128:192]
	for i := range p.Quants {
		low, lowShift, high, highShift := place6(i)
		p.Quants[i] = int8(ql[low]>>lowShift&15|qh[high]>>highShift&3<<4) - 32
	}
	for i := range p.Scales {
		p.Scales[i] = int8(b[192+i])
	}
	p.D = half(b[208:])
}

func join6K(b []byte, p *Parts) {
	clear(b)
	ql, qh := b[:128], b[128:192]
	for i, v := range p.Quants {
		low, lowShift, high, highShift := place6(i)
		q := byte(v + 32)
		ql[low] |= q & 15 << lowShift
		qh[high] |= q >> 4 << highShift
	}
	for i, v := range p.Scales {
		b[192+i] = byte(v)
	}
	putHalf(b[208:], p.D)
}

func split8K(b []byte, p *Parts) {
	p.D, p.Scales[0] = math.Float32frombits(binary.LittleEndian.Uint32(b)), 1
	for i := range p.Quants {
		p.Quants[i] = int8(b[4+i])
	}
	for i := range p.Sums {
		p.Sums[i] = int16(binary.LittleEndian.Uint16(b[260+2*i:]))
	}
}

func join8K(b []byte, p *Parts) {
	binary.LittleEndian.PutUint32(b, math.Float32bits(p.D))
	for i, q := range p.Quants {
		b[4+i] = byte(q)
	}
	for i, v := range p.Sums {
		binary.LittleEndian.PutUint16(b[260+2*i:], uint16(v))
	}
}
