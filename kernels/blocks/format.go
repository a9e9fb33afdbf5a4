package blocks

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"tune/space"
)

// Format is a way to store a row of weights. Formats come from Formats, Floats, ByName and ByType. They can be compared, and used by
// several goroutines at once.
type Format struct {
	Name    string // in lower case: q4_0
	Type    uint32 // the number of the format in GGUF files
	Weights int    // of a block
	Bytes   int    // of a block
	Sub     int    // weights that share a scale

	code *code
}

// code is what distinguishes formats: either one has integers, with limits, split, join and fit, or it is a float type, with get
// and put.
type code struct {
	quants, scales, mins limits
	split                func(block []byte, p *Parts)
	join                 func(block []byte, p *Parts)
	fit                  func(x []float32, p *Parts) // an infinite D or Min says that no scale reaches the weights
	largest              float32                     // scale, where it is not that of fp16

	get func(b []byte) float32
	put func(b []byte, v float32)
}

// limits are the smallest and the largest of some whole numbers.
type limits struct{ low, high int }

// Parts is a block taken apart. With s = i / Sub, weight i is
//
//	D·Scales[s]·Quants[i] − Min·Mins[s]
//
// Where a format has no scales, these are 1. q4_1 and q5_1 have one minimum of 1, and Min = −m; other formats without minima have
// zeros there. What a format has no room for is zero.
type Parts struct {
	D, Min float32
	Quants [256]int8
	Scales [16]int8
	Mins   [16]uint8
	Sums   [16]int16 // of q8_k: stored sums of 16 quants each
}

// formats holds every format: first the ones of blocks, then the float types.
var formats = []Format{
	simple("q4_0", 2, 4, false),
	simple("q4_1", 3, 4, true),
	simple("q5_0", 6, 5, false),
	simple("q5_1", 7, 5, true),
	{"q8_0", 8, 32, 34, 32, &code{
		quants: limits{-128, 127}, scales: limits{1, 1}, split: split80, join: join80, fit: fit80,
	}},
	withMins("q4_k", 12, 4),
	withMins("q5_k", 13, 5),
	{"q6_k", 14, 256, 210, 16, &code{
		quants: limits{-32, 31}, scales: limits{-128, 127}, split: split6K, join: join6K, fit: fit6K,
	}},
	{"q8_k", 15, 256, 292, 256, &code{
		quants: limits{-128, 127}, scales: limits{1, 1}, split: split8K, join: join8K, fit: fit8K, largest: math.MaxFloat32 / 127,
	}},

	{"f32", 0, 1, 4, 1, &code{
		get: func(b []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b)) },
		put: func(b []byte, v float32) { binary.LittleEndian.PutUint32(b, math.Float32bits(v)) },
	}},
	{"f16", 1, 1, 2, 1, &code{
		get: func(b []byte) float32 { return FromF16(binary.LittleEndian.Uint16(b)) },
		put: func(b []byte, v float32) { binary.LittleEndian.PutUint16(b, ToF16(v)) },
	}},
	{"bf16", 30, 1, 2, 1, &code{
		get: func(b []byte) float32 { return FromBF16(binary.LittleEndian.Uint16(b)) },
		put: func(b []byte, v float32) { binary.LittleEndian.PutUint16(b, ToBF16(v)) },
	}},
}

// floats is the number of float types, which end the list.
const floats = 3

// Formats returns the formats of blocks, in the order of their numbers.
func Formats() []Format { return append([]Format(nil), formats[:len(formats)-floats]...) }

// Floats returns the formats f32, f16 and bf16.
func Floats() []Format { return append([]Format(nil), formats[len(formats)-floats:]...) }

// ByName returns the format of a name, in lower or upper case. The error of an unknown name lists the right ones.
func ByName(name string) (Format, error) {
	var names []string
	for _, f := range formats {
		if f.Name == strings.ToLower(name) {
			return f, nil
		}
		names = append(names, f.Name)
	}
	return Format{}, fmt.Errorf("unknown format %q: want one of %s%s", name, strings.Join(names, ", "), space.DidYouMean(name, names))
}

// ByType returns the format of a number in GGUF files, and whether this package has it.
func ByType(n uint32) (Format, bool) {
	for _, f := range formats {
		if f.Type == n {
			return f, true
		}
	}
	return Format{}, false
}

// RowBytes returns how many bytes a row of k weights takes.
func (f Format) RowBytes(k int) (int, error) {
	switch {
	case k < 0:
		return 0, fmt.Errorf("k=%d is negative", k)
	case k%f.Weights != 0:
		near := fmt.Sprint((k/f.Weights + 1) * f.Weights)
		if below := k / f.Weights * f.Weights; below > 0 {
			near = fmt.Sprintf("%d or %s", below, near)
		}
		return 0, fmt.Errorf("k=%d is not a multiple of %d, the block of %s: want a multiple, such as %s", k, f.Weights, f.Name, near)
	case k/f.Weights > math.MaxInt/f.Bytes:
		return 0, fmt.Errorf("k=%d is too large: a row of %s would have more bytes than an int can count", k, f.Name)
	}
	return k / f.Weights * f.Bytes, nil
}

// Quantise writes weights as blocks. It refuses NaN, infinities and what no scale reaches; f32, f16 and bf16 take them all. The
// length of dst has to be that of RowBytes(len(src)). After an error the content of dst is of no use.
func (f Format) Quantise(dst []byte, src []float32) error {
	n, err := f.RowBytes(len(src))
	if err != nil {
		return err
	}
	if len(dst) != n {
		return fmt.Errorf("%s: %d weights take %d bytes, but there is room for %d", f.Name, len(src), n, len(dst))
	}
	if f.code.put != nil {
		for i, v := range src {
			f.code.put(dst[i*f.Bytes:], v)
		}
		return nil
	}
	for i := 0; i < len(src); i += f.Weights {
		x := src[i : i+f.Weights]
		for j, v := range x {
			if v := float64(v); math.IsNaN(v) || math.IsInf(v, 0) {
				return fmt.Errorf("%s: element %d is %v: only finite values can be quantised", f.Name, i+j, v)
			}
		}
		var p Parts
		f.code.fit(x, &p)
		if math.IsInf(float64(p.D), 0) || math.IsInf(float64(p.Min), 0) {
			most := cmp.Or(f.code.largest, maxF16)
			return fmt.Errorf("%s: elements %d to %d, of up to %g, need a scale beyond %g, the largest of the format", f.Name, i, i+f.Weights-1, largest(x), most)
		}
		f.code.join(dst[i/f.Weights*f.Bytes:][:f.Bytes], &p)
	}
	return nil
}

// Dequantise returns the values of blocks. dst has to have room for exactly the weights of src.
func (f Format) Dequantise(dst []float32, src []byte) error {
	if len(src)%f.Bytes != 0 {
		return fmt.Errorf("%s: %d bytes are not whole blocks of %d bytes", f.Name, len(src), f.Bytes)
	}
	if n := len(src) / f.Bytes; len(dst)%f.Weights != 0 || len(dst)/f.Weights != n {
		return fmt.Errorf("%s: %d bytes are %d blocks of %d weights, but there is room for %d weights", f.Name, len(src), n, f.Weights, len(dst))
	}
	if f.code.get != nil {
		for i := range dst {
			dst[i] = f.code.get(src[i*f.Bytes:])
		}
		return nil
	}
	var p Parts
	for i := 0; i < len(dst); i += f.Weights {
		f.code.split(src[i/f.Weights*f.Bytes:][:f.Bytes], &p)
		for s := range f.Weights / f.Sub {
			d, m := p.D*float32(p.Scales[s]), p.Min*float32(p.Mins[s])
			quants := p.Quants[s*f.Sub:][:f.Sub]
			values := dst[i+s*f.Sub:][:f.Sub]
			for j, q := range quants {
				values[j] = float32(d*float32(q)) - m
			}
		}
	}
	return nil
}

// Split takes a block apart.
func (f Format) Split(block []byte) (Parts, error) {
	if err := f.whole(block); err != nil {
		return Parts{}, err
	}
	var p Parts
	f.code.split(block, &p)
	return p, nil
}

// Join writes a block of parts, and refuses what the format has no room for. D and Min are rounded to fp16, but for q8_k.
func (f Format) Join(block []byte, p Parts) error {
	if err := f.whole(block); err != nil {
		return err
	}
	for i, q := range p.Quants {
		if err := f.within("quant", i, int(q), f.Weights, f.code.quants); err != nil {
			return err
		}
	}
	for i := range p.Scales {
		if err := f.within("scale", i, int(p.Scales[i]), f.Weights/f.Sub, f.code.scales); err != nil {
			return err
		}
		if err := f.within("minimum", i, int(p.Mins[i]), f.Weights/f.Sub, f.code.mins); err != nil {
			return err
		}
	}
	f.code.join(block, &p)
	return nil
}

// within reports a part outside its limits. From the given number of them on, parts are zero.
func (f Format) within(what string, i, v, n int, want limits) error {
	if i >= n {
		want = limits{}
	}
	if v < want.low || v > want.high {
		return fmt.Errorf("%s: %s %d is %d: want %d to %d", f.Name, what, i, v, want.low, want.high)
	}
	return nil
}

// whole reports a format without integers, and bytes that are not one block.
func (f Format) whole(block []byte) error {
	if f.code.split == nil {
		return fmt.Errorf("%s is a float type: it has no scales and integers", f.Name)
	}
	if len(block) != f.Bytes {
		return fmt.Errorf("%s: a block has %d bytes, not %d", f.Name, f.Bytes, len(block))
	}
	return nil
}
