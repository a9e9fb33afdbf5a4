package blocks

import (
	"math/rand/v2"
	"testing"
)

func BenchmarkQuantise(b *testing.B) {
	for _, f := range Formats() {
		b.Run("format="+f.Name, func(b *testing.B) {
			x, blocks := benchmark(b, f)
			b.SetBytes(int64(4 * len(x)))
			for b.Loop() {
				if err := f.Quantise(blocks, x); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDequantise(b *testing.B) {
	for _, f := range Formats() {
		b.Run("format="+f.Name, func(b *testing.B) {
			x, blocks := benchmark(b, f)
			b.SetBytes(int64(4 * len(x)))
			for b.Loop() {
				if err := f.Dequantise(x, blocks); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// benchmark returns a row of normal weights, and its blocks.
func benchmark(b *testing.B, f Format) ([]float32, []byte) {
	b.Helper()
	rng := rand.New(rand.NewPCG(4, 18))
	x := make([]float32, 4096)
	for i := range x {
		x[i] = float32(rng.NormFloat64())
	}
	blocks, _ := quantised(b, f, x)
	return x, blocks
}
