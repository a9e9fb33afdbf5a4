package gemm

import (
	"tune/kernels"
	"tune/kernels/native"
	"tune/kernels/peers"
)

// Kernel is the product of two matrices of float32.
type Kernel struct {
	// Host is the machine that it is compiled and run on. Problem needs it.
	Host *native.Host
}

// maxDim bounds each dimension.
const maxDim = 1 << 20

// Info describes the kernel.
func (Kernel) Info() kernels.Info {
	return kernels.Info{
		Name:    "gemm-f32",
		Doc:     "product of two matrices of float32, as generated C on this CPU",
		Version: "11",
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
func (k Kernel) Problem(s kernels.Shape) (kernels.Problem, error) {
	of := func(s kernels.Shape, m native.Machine) (*Spec, error) {
		return NewSpec(m, s.Text("layout"), Dims{s.Int("m"), s.Int("n"), s.Int("k")}, s.Int("threads"))
	}
	return native.Open(k.Host, s, of, (*Spec).peers)
}

// peers returns the products of the named libraries, all of which have to be installed, or of all libraries.
func (g *Spec) peers(p *native.Problem, names []string) ([]kernels.Peer, error) {
	wrap := func(s native.Source) kernels.Candidate { return p.Wrap(s, g.Presets()[0].Point) }
	transposed, threads := g.layout == LayoutNT, g.threads
	offers := peers.OfLibraries(wrap, func(l peers.Library) native.Source { return l.Sgemm(transposed, threads) })
	ggml := peers.OfGGML(func(l peers.GGML) ([]kernels.Peer, error) {
		return []kernels.Peer{{Name: "ggml", Candidate: wrap(l.Source(peers.MulMat(peers.F32), peers.Plain, threads))}}, nil
	})
	if !transposed {
		ggml.Unfit = "multiplies only by rows of weights: say layout=" + LayoutNT + " in --shapes"
	}
	return peers.Select(names, append(offers, ggml))
}
