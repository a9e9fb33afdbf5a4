package blocks

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"testing"
)

// The golden files are those of testdata/golden.py, which was written from the definitions of the formats and shares nothing with this
// package. `python3 kernels/blocks/testdata/golden.py` repeats them.

// golden reads a file of testdata.
func golden(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// float32s reads little-endian numbers.
func float32s(b []byte) []float32 {
	v := make([]float32, len(b)/4)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return v
}

// same reports whether two numbers have the same bits, or are both NaN.
func same(a, b float32) bool {
	return math.Float32bits(a) == math.Float32bits(b) || a != a && b != b
}

// TestGolden: raw blocks have the values of the definition, bit for bit, and survive being taken apart and put together.
func TestGolden(t *testing.T) {
	for _, f := range Formats() {
		data := golden(t, f.Name+".golden")
		n := len(data) / (f.Bytes + 4*f.Weights)
		if n < 16 || n*(f.Bytes+4*f.Weights) != len(data) {
			t.Fatalf("%s: %d bytes are no golden file", f.Name, len(data))
		}
		raw, want := data[:n*f.Bytes], float32s(data[n*f.Bytes:])
		got := make([]float32, n*f.Weights)
		if err := f.Dequantise(got, raw); err != nil {
			t.Fatal(err)
		}
		for i := range want {
			if !same(got[i], want[i]) {
				t.Fatalf("%s: block %d, weight %d: %v, want %v", f.Name, i/f.Weights, i%f.Weights, got[i], want[i])
			}
		}
		for i := range n {
			block, again := raw[i*f.Bytes:][:f.Bytes], make([]byte, f.Bytes)
			p, err := f.Split(block)
			if err != nil {
				t.Fatal(err)
			}
			if err := f.Join(again, p); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(again, block) {
				t.Errorf("%s: block %d is %x, and after Split and Join %x", f.Name, i, block, again)
			}
		}
	}
}

// TestActivations: q8_0 and q8_k are quantised by their definition, bit for bit.
func TestActivations(t *testing.T) {
	for _, name := range []string{"q8_0", "q8_k"} {
		f, err := ByName(name)
		if err != nil {
			t.Fatal(err)
		}
		data := golden(t, name+".activations")
		record := 4*f.Weights + f.Bytes
		if len(data) != 16*record {
			t.Fatalf("%s: %d bytes are no 16 records of %d", name, len(data), record)
		}
		for i := range 16 {
			x, want := float32s(data[i*record:][:4*f.Weights]), data[i*record+4*f.Weights:][:f.Bytes]
			got := make([]byte, f.Bytes)
			if err := f.Quantise(got, x); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%s: block %d of %v:\n%x, want\n%x", name, i, x, got, want)
			}
		}
	}
}

// TestHalves: conversions to 16 bits round as exact fractions do.
func TestHalves(t *testing.T) {
	data := golden(t, "halves.golden")
	for ; len(data) > 0; data = data[8:] {
		v := math.Float32frombits(binary.LittleEndian.Uint32(data))
		h, b := binary.LittleEndian.Uint16(data[4:]), binary.LittleEndian.Uint16(data[6:])
		if got := ToF16(v); got != h {
			t.Errorf("fp16 of %v (%x): %04x, want %04x", v, v, got, h)
		}
		if got := ToBF16(v); got != b {
			t.Errorf("bf16 of %v (%x): %04x, want %04x", v, v, got, b)
		}
	}
}

// TestEveryHalf: each fp16 and bf16 has the value of its fields, and is its own nearest one; a NaN stays one and becomes quiet.
func TestEveryHalf(t *testing.T) {
	for n := range 1 << 16 {
		h := uint16(n)
		sign := 1.0
		if h >= 0x8000 {
			sign = -1
		}
		check := func(name string, got float32, back uint16, fraction, bits int) {
			bias := 1<<(15-fraction-1) - 1
			exponent, mantissa := int(h&0x7fff)>>fraction, int(h)&(1<<fraction-1)
			want := sign * math.Ldexp(float64(mantissa+1<<fraction), exponent-bias-fraction)
			switch {
			case exponent == 0:
				want = sign * math.Ldexp(float64(mantissa), 1-bias-fraction)
			case exponent == 1<<(15-fraction)-1 && mantissa != 0:
				if quiet := h | 1<<(fraction-1); got == got || back != quiet {
					t.Errorf("%s %04x: %v, and back %04x, want NaN and %04x", name, h, got, back, quiet)
				}
				return
			case exponent == 1<<(15-fraction)-1:
				want = math.Inf(int(sign))
			}
			if float64(got) != want || math.Signbit(float64(got)) != (sign < 0) || back != h {
				t.Errorf("%s %04x: %v, and back %04x, want %v", name, h, got, back, want)
			}
		}
		f, b := FromF16(h), FromBF16(h)
		check("fp16", f, ToF16(f), 10, 16)
		check("bf16", b, ToBF16(b), 7, 16)
	}
}
