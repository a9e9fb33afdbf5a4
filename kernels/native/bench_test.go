//go:build bench

package native_test

import (
	"fmt"
	"testing"

	"tune/kernels"
	"tune/kernels/all"
	"tune/kernels/native"
)

// BenchmarkVariation prints by how much it changes the time of a call, in the median of paired turns, that what is timed
// varies: ratio is varied over plain, with the ends of its 95 % interval.
func BenchmarkVariation(b *testing.B) {
	host := native.NewHost(native.HostOptions{})
	defer host.Close()
	for _, c := range []struct{ kernel, shape string }{
		{"gemm-f32", "m=64,n=64,k=64"}, {"gemm-f32", "m=128,n=128,k=128"}, {"gemm-f32", "m=256,n=256,k=256"},
		{"gemm-f32", "m=512,n=512,k=512"}, {"gemm-f32", "m=1024,n=1024,k=1024"}, {"gemm-f32", "m=2048,n=2048,k=2048"},
		{"gemm-f32", "m=1,n=4096,k=4096,layout=nt"}, {"gemm-f32", "m=4,n=4096,k=4096,layout=nt"}, {"gemm-f32", "m=32,n=4096,k=4096,layout=nt"},
		{"gemm-f32", "m=128,n=896,k=4864"},
		{"gemm-i8", "m=32,n=512,k=512"}, {"elementwise-f32", "op=relu,n=4096"}, {"elementwise-f32", "op=dot,n=65536"}, {"elementwise-f32", "op=relu,n=4194304"},
		{"rowwise", "op=softmax,rows=32,cols=4096"},
	} {
		b.Run(fmt.Sprintf("kernel=%s/shape=%s", c.kernel, c.shape), func(b *testing.B) {
			k, err := all.Table(host).Lookup(c.kernel)
			if err != nil {
				b.Fatal(err)
			}
			shape, err := kernels.ParseShape(k.Info().Shape, c.shape)
			if err != nil {
				b.Fatal(err)
			}
			problem, err := k.Problem(shape)
			if err != nil {
				b.Fatal(err)
			}
			// The last preset is the best start.
			presets := problem.Presets()
			candidate, err := problem.Build(b.Context(), presets[len(presets)-1].Point)
			if err != nil {
				b.Fatal(err)
			}
			if err := candidate.Check(b.Context(), 1); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				ratio, err := native.VariationCost(b.Context(), candidate, 21)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(ratio.Value, "ratio")
				b.ReportMetric(ratio.Low, "low")
				b.ReportMetric(ratio.High, "high")
			}
		})
	}
}
