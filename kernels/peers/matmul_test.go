package peers_test

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"tune/kernels/native/nativetest"
	"tune/kernels/peers"
)

// dnnl returns oneDNN, and skips the test where it is not there.
func dnnl(t *testing.T) peers.Library {
	t.Helper()
	nativetest.Here(t)
	found := peers.Find()
	i := slices.IndexFunc(found, peers.Library.HasMatmul)
	if i < 0 {
		t.Skip("no oneDNN of version 2: on Debian, apt-get install libdnnl2")
	}
	return found[i]
}

// drawElements draws elements of a type: their bytes, and their values. Integers are of the whole range.
func drawElements(rng *rand.Rand, typ string, n int) (data []byte, values []float64) {
	for range n {
		switch typ {
		case peers.ElemF32:
			f := float32(rng.NormFloat64())
			data, values = binary.NativeEndian.AppendUint32(data, math.Float32bits(f)), append(values, float64(f))
		case peers.ElemBF16:
			b := math.Float32bits(float32(rng.NormFloat64())) >> 16
			data, values = binary.NativeEndian.AppendUint16(data, uint16(b)), append(values, float64(math.Float32frombits(b<<16)))
		case peers.ElemS8:
			b := []byte{127, 128, byte(rng.Uint32())}[rng.IntN(3)]
			data, values = append(data, b), append(values, float64(int8(b)))
		case peers.ElemU8:
			b := []byte{0, 255, byte(rng.Uint32())}[rng.IntN(3)]
			data, values = append(data, b), append(values, float64(b))
		}
	}
	return data, values
}

// Products of all types, at odd sizes, in either layout of the weights and in oneDNN's own: of integers exactly.
func TestMatmul(t *testing.T) {
	l := dnnl(t)
	isas := nativetest.Here(t).ISAs
	for _, types := range [][3]string{{"f32", "f32", "f32"}, {"bf16", "bf16", "f32"}, {"s8", "s8", "s32"}, {"u8", "s8", "s32"}} {
		for form := range 4 {
			p := peers.Product{A: types[0], W: types[1], C: types[2], Transposed: form&1 != 0, Packed: form&2 != 0}
			if unfit := p.Unfit(isas); unfit != "" {
				t.Logf("%s: oneDNN %s", p.A, unfit)
				continue
			}
			for _, size := range [][3]int{{1, 1, 1}, {5, 37, 71}, {33, 64, 128}} {
				m, n, k := size[0], size[1], size[2]
				rng := rand.New(rand.NewPCG(uint64(form), uint64(m)))
				aBytes, a := drawElements(rng, p.A, m*k)
				wBytes, w := drawElements(rng, p.W, n*k)
				dims := []int64{int64(m), int64(n), int64(k)}
				if p.Packed {
					var err error
					if wBytes, err = l.MatmulPacker(nativetest.Host(), p)(t.Context(), dims, wBytes); err != nil {
						t.Fatal(err)
					}
				}
				c := calls(t, l.Matmul(p, 1), dims, m*n, aBytes, wBytes)
				for i := range m {
					for j := range n {
						want, size := 0.0, 0.0
						for x := range k {
							at := x*n + j
							if p.Transposed {
								at = j*k + x
							}
							want += a[i*k+x] * w[at]
							size += math.Abs(a[i*k+x] * w[at])
						}
						bits := binary.NativeEndian.Uint32(c[4*(i*n+j):])
						got, tolerance := float64(int32(bits)), 0.0
						if p.C == peers.ElemF32 {
							got, tolerance = float64(math.Float32frombits(bits)), 1e-5*size
						}
						if !(math.Abs(got-want) <= tolerance) {
							t.Fatalf("%+v, %v: element (%d, %d) is %v, want %v", p, size, i, j, got, want)
						}
					}
				}
			}
		}
	}
}
