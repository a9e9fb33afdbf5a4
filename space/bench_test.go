package space

import (
	"math/rand/v2"
	"testing"
)

// gemm is a space of the size that a blocked matrix product has.
func gemm() ([]Parameter, []string) {
	return []Parameter{
			Range("mr", 1, 16), Range("nr", 1, 16), Stepped("kc", 16, 1024, 16), Stepped("mc", 16, 512, 16), Pow2("nc", 64, 8192),
			Range("unroll", 1, 8), Enum("layout", "rows", "columns", "tiles"), Bool("prefetch"), Range("distance", 1, 16).If("prefetch"),
		}, []string{
			"mr*nr <= 28 && kc*mr*4 <= 32768", "mc % mr == 0", "kc % unroll == 0", "mc * kc * 4 <= 262144", "layout != 'tiles' or nr in [4, 8, 16]",
		}
}

func BenchmarkEval(b *testing.B) {
	params, constraints := gemm()
	for _, test := range []struct{ name, text string }{{"form=two-products", constraints[0]}, {"form=remainder", constraints[1]}, {"form=enum", constraints[4]}} {
		b.Run(test.name, func(b *testing.B) {
			e, err := scopeOf(params).compile(test.text, len(params))
			if err != nil {
				b.Fatal(err)
			}
			ords := []int{3, 5, 10, 7, 2, 3, 1, 1, 4}
			b.ReportAllocs()
			for b.Loop() {
				e.eval(ords)
			}
		})
	}
}

func BenchmarkNew(b *testing.B) {
	params, constraints := gemm()
	wide := []Parameter{Range("a", 0, 1<<40), Range("b", 0, 1<<40), Range("c", 0, 1<<40)}
	dense := []Parameter{Range("a", 0, 119), Range("b", 0, 119), Range("c", 0, 119), Range("d", 0, 119)}
	for _, test := range []struct {
		name        string
		params      []Parameter
		constraints []string
	}{
		{"space=gemm", params, constraints},
		{"space=free", wide, nil},
		{"space=too-wide", wide, []string{"a <= b", "b <= c"}},
		{"space=dense", dense[:3], []string{"a * b + c <= 9000"}},
		{"space=too-dense", dense, []string{"a * b + c * d <= 9000"}},
	} {
		b.Run(test.name, func(b *testing.B) {
			for b.Loop() {
				if _, err := New("x", test.params, test.constraints...); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkPoint(b *testing.B) {
	params, constraints := gemm()
	s, err := New("gemm", params, constraints...)
	if err != nil {
		b.Fatal(err)
	}
	n, ok := s.Len()
	if !ok {
		b.Fatal("the space cannot be counted")
	}
	p := s.At(n / 3)
	r := rand.New(rand.NewPCG(1, 2))
	for _, test := range []struct {
		name string
		do   func()
	}{
		{"op=at", func() { s.At(n / 3) }},
		{"op=index", func() { s.Index(p) }},
		{"op=sample", func() {
			if _, err := s.Sample(r); err != nil {
				b.Fatal(err)
			}
		}},
		{"op=key", func() { p.Key() }},
		{"op=parse", func() {
			if _, err := s.Parse(p.Key()); err != nil {
				b.Fatal(err)
			}
		}},
		{"op=neighbours", func() { s.Neighbours(p, Adjacent) }},
	} {
		b.Run(test.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				test.do()
			}
		})
	}
	b.Run("op=all", func(b *testing.B) {
		points := 0
		for b.Loop() {
			for range s.All() {
				if points++; points%1000 == 0 {
					break
				}
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(points), "ns/point")
	})
}
