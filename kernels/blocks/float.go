package blocks

import "math"

// maxF16 is the largest finite fp16.
const maxF16 = 65504

// ToF16 returns the bits of the fp16 that is nearest to a value, ties to even. A value that rounds to more than 65504 becomes an
// infinity; NaN becomes a quiet NaN.
func ToF16(v float32) uint16 {
	b := math.Float32bits(v)
	sign, b := uint16(b>>16)&0x8000, b&0x7fffffff
	switch {
	case b > 0x7f800000: // NaN
		return sign | 0x7e00 | uint16(b>>13)&0x1ff
	case b >= 0x477ff000: // 65520, halfway to the next power of two, and beyond
		return sign | 0x7c00
	case b < 0x38800000: // below 2⁻¹⁴: multiples of 2⁻²⁴, which is also the step of float32 from ½ to 1
		return sign | uint16(math.Float32bits(math.Float32frombits(b)+0.5)-math.Float32bits(0.5))
	}
	b += 0xfff + b>>13&1
	return sign | uint16(b>>13-112<<10)
}

// FromF16 returns the value of an fp16, exactly. A NaN becomes quiet.
func FromF16(h uint16) float32 {
	sign, exponent, fraction := uint32(h&0x8000)<<16, uint32(h>>10&31), uint32(h&0x3ff)
	switch {
	case exponent == 31 && fraction != 0:
		return math.Float32frombits(sign | 0x7fc00000 | fraction<<13)
	case exponent == 31:
		return math.Float32frombits(sign | 0x7f800000)
	case exponent == 0:
		return math.Float32frombits(sign | math.Float32bits(float32(fraction)*0x1p-24))
	}
	return math.Float32frombits(sign | (exponent+112)<<23 | fraction<<13)
}

// ToBF16 returns the bits of the bf16 that is nearest to a value, ties to even. NaN becomes a quiet NaN.
func ToBF16(v float32) uint16 {
	b := math.Float32bits(v)
	if v != v {
		return uint16(b>>16) | 0x40
	}
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}

// FromBF16 returns the value of a bf16, exactly.
func FromBF16(h uint16) float32 { return math.Float32frombits(uint32(h) << 16) }
