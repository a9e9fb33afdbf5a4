package gemm

import (
	"context"
	"runtime"
	"time"

	"tune/kernels"
	"tune/kernels/native"
	"tune/kernels/native/cpu"
)

// Kernel is the product of two matrices of float32.
type Kernel struct{}

// maxDim bounds each dimension.
const maxDim = 1 << 20

// Info describes the kernel.
func (Kernel) Info() kernels.Info {
	return kernels.Info{
		Name:    "gemm-f32",
		Doc:     "product of two matrices of float32, as generated C on this CPU",
		Version: "1",
		Unit:    "ns",
		Shape: []kernels.Field{
			{Name: "m", Doc: "rows of A and C", Default: "256", Min: 1, Max: maxDim},
			{Name: "n", Doc: "columns of C", Default: "256", Min: 1, Max: maxDim},
			{Name: "k", Doc: "columns of A", Default: "256", Min: 1, Max: maxDim},
			{Name: "layout", Doc: "how B is stored: k by n, or (nt) n by k, row by row", Default: LayoutNN, Options: []string{LayoutNN, LayoutNT}},
			{Name: "threads", Doc: "threads that a point may use at most", Default: "1", Min: 1, Max: maxThreads},
		},
	}
}

// maxThreads bounds the threads of a product.
const maxThreads = 256

// Problem makes the product of a shape on this machine. It fails where there is no C compiler.
func (Kernel) Problem(s kernels.Shape) (kernels.Problem, error) {
	m, err := Host()
	if err != nil {
		return nil, err
	}
	spec, err := NewSpec(m, s.Text("layout"), Dims{s.Int("m"), s.Int("n"), s.Int("k")}, s.Int("threads"))
	if err != nil {
		return nil, err
	}
	return native.New(spec, native.Options{})
}

// Host describes this machine.
func Host() (Machine, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	tools, err := native.Shared().Toolchain(ctx)
	if err != nil {
		return Machine{}, err
	}
	m := Machine{ISAs: cpu.Features()}
	for _, c := range tools.Compilers() {
		m.Compilers = append(m.Compilers, c.Name)
	}
	if runtime.GOARCH == "arm64" {
		m.Registers = 32
	}
	return m, nil
}
