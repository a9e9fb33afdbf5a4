package t1

import (
	"bytes"
	"os"
	"testing"
)

// opened are the spaces of testdata with their numbers of combinations and points.
var opened = []struct {
	name            string
	product, points uint64
}{
	{"hotspot", 4440000, 82984},
	{"gemm", 663552, 116928},
	{"dedispersion", 22272, 11130},
	{"convolution", 10240, 4362},
}

// BenchmarkOpen goes from the text of a T1 file to a space whose points can be counted, numbered and drawn.
func BenchmarkOpen(b *testing.B) {
	for _, test := range opened {
		b.Run("space="+test.name, func(b *testing.B) {
			data, err := os.ReadFile("testdata/" + test.name + ".json")
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				f, err := Read(bytes.NewReader(data))
				if err != nil {
					b.Fatal(err)
				}
				s, err := f.Space()
				if err != nil {
					b.Fatal(err)
				}
				if n, ok := s.Len(); n != test.points || !ok {
					b.Fatalf("%d points", n)
				}
			}
		})
	}
}
