package gemm

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"tune/kernels"
	"tune/kernels/native"
	"tune/kernels/native/cgen"
	"tune/space"
)

// The tolerance of an element: absolute for each root of K, and relative.
const (
	absTolerance = 1e-5
	relTolerance = 1e-4
)

// fullLimit is the number of multiply-adds up to which every element is compared with the reference.
const fullLimit = 1 << 30

// sampledLines is the number of rows and of columns that are compared in full above fullLimit.
const sampledLines = 24

// operands are the inputs of one case and what is known of its result.
type operands struct {
	d    Dims
	nt   bool
	seed uint64
	full bool // whether every element is compared
	a, b []float32

	want []float64 // the whole result, up to fullLimit
	// Above fullLimit: some rows and columns of it, and sums over blocks of each row, under random weights.
	rows, cols       []int
	wantRow, wantCol [][]float64
	block            int       // columns of a block; the last may have fewer
	weights          []float64 // of the columns of the result
	sums             []float64 // of the blocks, row by row
}

// newOperands draws inputs from [-1, 1).
func newOperands(d Dims, nt bool, seed uint64) *operands {
	o := &operands{d: d, nt: nt, seed: seed, full: multiplyAdds(d) <= fullLimit}
	r := rand.New(rand.NewPCG(seed, uint64(d.M)<<42^uint64(d.N)<<21^uint64(d.K)))
	o.a, o.b = uniform(r, d.M*d.K), uniform(r, d.K*d.N)
	return o
}

func multiplyAdds(d Dims) float64 { return float64(d.M) * float64(d.N) * float64(d.K) }

// uniform draws n floats from [-1, 1): multiples of 2⁻²³.
func uniform(r *rand.Rand, n int) []float32 {
	out := make([]float32, n)
	for i := 0; i < n; i += 2 {
		bits := r.Uint64()
		out[i] = float32(int32(bits)>>8) / (1 << 23)
		if i+1 < n {
			out[i+1] = float32(int32(bits>>32)>>8) / (1 << 23)
		}
	}
	return out
}

// panelBytes bounds the columns that are held in double precision at once.
const panelBytes = 32 << 20

// product returns A·B for the rows of A and the columns of B named, nil meaning all.
func (o *operands) product(ctx context.Context, rows, cols []int) ([]float64, error) {
	if cols == nil {
		cols = indices(o.d.N)
	}
	return o.times(ctx, rows, len(cols), func(n int, to []float64) { o.column(cols[n], to) })
}

// indices returns the integers from 0 that are below n.
func indices(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// column writes a column of B.
func (o *operands) column(j int, to []float64) {
	if o.nt {
		for p, v := range o.b[j*o.d.K : (j+1)*o.d.K] {
			to[p] = float64(v)
		}
		return
	}
	for p := range to {
		to[p] = float64(o.b[p*o.d.N+j])
	}
}

// times returns the product of the rows of A named, nil meaning all, and a matrix of so many columns, each of which a
// function writes.
func (o *operands) times(ctx context.Context, rows []int, cols int, column func(n int, to []float64)) ([]float64, error) {
	if rows == nil {
		rows = indices(o.d.M)
	}
	k := o.d.K
	out := make([]float64, len(rows)*cols)
	panel := min(max(panelBytes/(8*k), 4), cols)
	b := make([]float64, panel*k)
	for j0 := 0; j0 < cols; j0 += panel {
		width := min(panel, cols-j0)
		// Blocks of columns and of depth stay in the nearest cache but one.
		const blockCols, blockRows = 64, 64
		err := parallel(ctx, width, 1, func(from, to int) {
			for j := from; j < to; j++ {
				column(j0+j, b[j*k:(j+1)*k])
			}
		})
		if err == nil {
			err = parallel(ctx, len(rows), min(blockRows, max(len(rows)/runtime.GOMAXPROCS(0), 1)), func(i0, i1 int) {
				a := make([]float64, (i1-i0)*k)
				for n, i := range rows[i0:i1] {
					for p, v := range o.a[i*k : (i+1)*k] {
						a[n*k+p] = float64(v)
					}
				}
				for j := 0; j < width; j += blockCols {
					dotBlock(a, b, out[i0*cols+j0:], k, cols, 0, i1-i0, j, min(j+blockCols, width))
				}
			})
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// parallel calls f for parts of a range, until a context is done.
func parallel(ctx context.Context, n, part int, f func(from, to int)) error {
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for from := 0; from < n; from += part {
		g.Go(func() error {
			if ctx.Err() == nil {
				f(from, min(from+part, n))
			}
			return ctx.Err()
		})
	}
	return g.Wait()
}

// dotBlock computes rows i0 to i1 and columns j0 to j1 of a product whose operands have K contiguous.
func dotBlock(a, b, out []float64, k, ld, i0, i1, j0, j1 int) {
	const depth = 256
	for p0 := 0; p0 < k; p0 += depth {
		p1 := min(p0+depth, k)
		j := j0
		for ; j+4 <= j1; j += 4 {
			b0, b1, b2, b3 := b[j*k+p0:j*k+p1], b[(j+1)*k+p0:(j+1)*k+p1], b[(j+2)*k+p0:(j+2)*k+p1], b[(j+3)*k+p0:(j+3)*k+p1]
			i := i0
			for ; i+2 <= i1; i += 2 {
				a0, a1 := a[i*k+p0:i*k+p1], a[(i+1)*k+p0:(i+1)*k+p1]
				var s00, s01, s02, s03, s10, s11, s12, s13 float64
				a1, b0, b1, b2, b3 := a1[:len(a0)], b0[:len(a0)], b1[:len(a0)], b2[:len(a0)], b3[:len(a0)]
				for p, x := range a0 {
					y := a1[p]
					s00 += x * b0[p]
					s01 += x * b1[p]
					s02 += x * b2[p]
					s03 += x * b3[p]
					s10 += y * b0[p]
					s11 += y * b1[p]
					s12 += y * b2[p]
					s13 += y * b3[p]
				}
				o := out[i*ld+j : i*ld+j+4]
				o[0], o[1], o[2], o[3] = o[0]+s00, o[1]+s01, o[2]+s02, o[3]+s03
				o = out[(i+1)*ld+j : (i+1)*ld+j+4]
				o[0], o[1], o[2], o[3] = o[0]+s10, o[1]+s11, o[2]+s12, o[3]+s13
			}
			for ; i < i1; i++ {
				for q := range 4 {
					out[i*ld+j+q] += dot(a[i*k+p0:i*k+p1], b[(j+q)*k+p0:(j+q)*k+p1])
				}
			}
		}
		for ; j < j1; j++ {
			for i := i0; i < i1; i++ {
				out[i*ld+j] += dot(a[i*k+p0:i*k+p1], b[j*k+p0:j*k+p1])
			}
		}
	}
}

func dot(a, b []float64) float64 {
	var s float64
	for i, x := range a {
		s += x * b[i]
	}
	return s
}

// prepare computes what verify compares with.
func (o *operands) prepare(ctx context.Context) (err error) {
	d := o.d
	if o.full {
		o.want, err = o.product(ctx, nil, nil)
		return err
	}
	r := rand.New(rand.NewPCG(o.seed, 0x9e3779b97f4a7c15))
	o.rows, o.cols = lines(r, d.M), lines(r, d.N)
	byRow, err := o.product(ctx, o.rows, nil)
	if err != nil {
		return err
	}
	byCol, err := o.product(ctx, nil, o.cols)
	if err != nil {
		return err
	}
	for n := range o.rows {
		o.wantRow = append(o.wantRow, byRow[n*d.N:(n+1)*d.N])
	}
	for n := range o.cols {
		col := make([]float64, d.M)
		for i := range col {
			col[i] = byCol[i*len(o.cols)+n]
		}
		o.wantCol = append(o.wantCol, col)
	}
	o.block = blockWidth(d.K)
	o.weights = weights(r, d.N)
	o.sums, err = o.times(ctx, nil, cgen.Ceil(d.N, o.block), func(n int, to []float64) { o.weighted(n*o.block, min((n+1)*o.block, d.N), to) })
	return err
}

// weighted writes the sum of some columns of B, each times its weight.
func (o *operands) weighted(from, end int, to []float64) {
	clear(to)
	if o.nt {
		for j := from; j < end; j++ {
			w := o.weights[j]
			for p, v := range o.b[j*o.d.K : (j+1)*o.d.K] {
				to[p] += w * float64(v)
			}
		}
		return
	}
	for p := range to {
		for j, v := range o.b[p*o.d.N+from : p*o.d.N+end] {
			to[p] += o.weights[from+j] * float64(v)
		}
	}
}

// blockWidth returns of how many columns a block is. A plain loop over k products errs by about 4·10⁻⁹·k (random signs,
// each addition off by a third of the last place of a partial sum), and a weighted sum of w elements by 1.5·√w of that:
// that is to be a tenth of the tolerance 10⁻⁵·√k, so that hardly a block of a right result has to be looked at closely.
func blockWidth(k int) int {
	w := 64
	for w > 4 && w*k > 1<<16 {
		w /= 2
	}
	return w
}

// lines draws the rows or columns to compare in full: the first, the last, and random ones between.
func lines(r *rand.Rand, n int) []int {
	out := []int{0, n - 1}
	for len(out) < min(sampledLines, n) {
		out = append(out, r.IntN(n))
	}
	return out
}

// weights draws numbers from [1, 2), of either sign. Signs alone would not tell two columns that were swapped, half of
// the time.
func weights(r *rand.Rand, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		bits := r.Uint64()
		out[i] = 1 + float64(bits>>12)/(1<<52)
		if bits&1 != 0 {
			out[i] = -out[i]
		}
	}
	return out
}

// worst is the element that is the farthest out of its tolerance.
type worst struct {
	i, j      int
	got, want float64
	excess    float64 // the error in tolerances
	maxError  float64
}

func (w *worst) deviation() kernels.Deviation {
	return kernels.Deviation{MaxError: w.maxError, ErrorShare: w.excess}
}

func (w *worst) compare(i, j int, got, want, tolerance float64) {
	e := math.Abs(got - want)
	w.maxError = max(w.maxError, e)
	excess := e / tolerance
	if math.IsNaN(excess) {
		excess = math.Inf(1)
	}
	if excess > w.excess {
		w.i, w.j, w.got, w.want, w.excess = i, j, got, want, excess
	}
}

// verify compares c with the product. Above fullLimit all elements go into weighted sums over blocks of a row [after
// Freivalds, "Probabilistic machines can use less running time", IFIP 1977], and each block whose sum is off by more than
// half of the tolerance of a zero is compared element by element. So an element out of its tolerance is found wherever
// the errors of the others in its block add up to less than the rest of it: always, as long as they are those of rounding.
// No result that is within the tolerance is refused. The deviation is that of the elements that are compared one by one.
func (o *operands) verify(c []float32) (kernels.Deviation, error) {
	d := o.d
	abs := absTolerance * math.Sqrt(float64(d.K))
	element := func(w *worst, i, j int, want float64) {
		w.compare(i, j, float64(c[i*d.N+j]), want, abs+relTolerance*math.Abs(want))
	}
	var w worst
	if o.want != nil {
		for i := range d.M {
			for j := range d.N {
				element(&w, i, j, o.want[i*d.N+j])
			}
		}
		return w.deviation(), o.verdict(w)
	}
	for n, i := range o.rows {
		for j, want := range o.wantRow[n] {
			element(&w, i, j, want)
		}
	}
	for n, j := range o.cols {
		for i, want := range o.wantCol[n] {
			element(&w, i, j, want)
		}
	}
	if err := o.verdict(w); err != nil {
		return w.deviation(), err
	}
	blocks := cgen.Ceil(d.N, o.block)
	suspects := make([][]int, d.M) // the blocks of each row that are off
	_ = parallel(context.Background(), d.M, 64, func(from, to int) {
		for i := from; i < to; i++ {
			row := c[i*d.N : (i+1)*d.N]
			for n := range blocks {
				end := min((n+1)*o.block, d.N)
				var s float64
				for j := n * o.block; j < end; j++ {
					s += float64(row[j]) * o.weights[j]
				}
				if !(math.Abs(s-o.sums[i*blocks+n]) <= abs/2) {
					suspects[i] = append(suspects[i], n)
				}
			}
		}
	})
	row, column := make([]float64, d.K), make([]float64, d.K)
	for n := range blocks {
		for j := n * o.block; j < min((n+1)*o.block, d.N); j++ {
			filled := false
			for i := range suspects {
				if !slices.Contains(suspects[i], n) {
					continue
				}
				if !filled {
					o.column(j, column)
					filled = true
				}
				for p, v := range o.a[i*d.K : (i+1)*d.K] {
					row[p] = float64(v)
				}
				element(&w, i, j, dot(row, column))
			}
			if err := o.verdict(w); err != nil {
				return w.deviation(), err
			}
		}
	}
	return w.deviation(), nil
}

// verdict returns the rejection for an element out of tolerance, or nil.
func (o *operands) verdict(w worst) error {
	if w.excess <= 1 {
		return nil
	}
	return kernels.Reject(space.WrongAnswer, "C[%d,%d] is %g, want %g: %.3g times the tolerance; max error %.3g", w.i, w.j, w.got, w.want, w.excess, w.maxError)
}

// oddShapes are further shapes on which a point is checked: the smallest, primes, one of each dimension, and
// fewer rows and columns than a tile has.
var oddShapes = []Dims{{1, 1, 1}, {37, 41, 1}, {1, 53, 29}, {59, 1, 31}, {3, 5, 7}, {67, 103, 71}}

// deepShape has more than one block along K, the last of which is not full, and of the other dimensions a few tiles.
func deepShape(kc int) Dims { return Dims{19, 37, kc + kc/2 + 1} }

// prepared returns the operands of the asked shape for a seed, with their reference.
func (s *Spec) prepared(ctx context.Context, seed uint64) (*operands, error) {
	o := newOperands(s.dims, s.layout == LayoutNT, seed)
	return o, o.prepare(ctx)
}

// Variant returns the asked shape with the inputs of a seed.
func (s *Spec) Variant(ctx context.Context, _ space.Point, seed uint64) (native.Case, error) {
	o, err := s.prepared(ctx, seed)
	if err != nil {
		return native.Case{}, err
	}
	c := o.asCase()
	if s.linked {
		c = o.asLinked(0)
	}
	// Libraries may split the sums among threads as it comes.
	c.Agree = native.AgreeF32(2, 2*absTolerance*math.Sqrt(float64(s.dims.K)), 2*relTolerance)
	return c, nil
}

// Draw returns the inputs of the asked shape for a seed.
func (s *Spec) Draw(_ context.Context, _ space.Point, seed uint64) ([][]byte, error) {
	return newOperands(s.dims, s.layout == LayoutNT, seed).asCase().Inputs, nil
}

// VariantClass names one class for all points.
func (s *Spec) VariantClass(space.Point) string { return "" }

// CaseClass names the depth of the blocks of a point, which decides about its cases.
func (s *Spec) CaseClass(p space.Point) string { return fmt.Sprint(p.Int("kc")) }

// Cases returns the asked shape and some odd ones, among them one of more than a block along K where the point has blocks.
func (s *Spec) Cases(ctx context.Context, p space.Point, seed uint64) ([]native.Case, error) {
	first, err := s.asked.Of(seed, func() (*operands, error) { return s.prepared(ctx, seed) })
	if err != nil {
		return nil, err
	}
	out := []native.Case{first.asCase()}
	if s.linked {
		out[0] = first.asLinked(0)
		if first.full {
			out = append(out, first.asLinked(linkedPadding))
		}
	}
	shapes := oddShapes
	if kc := p.Int("kc"); kc > 0 {
		shapes = append(slices.Clone(shapes), deepShape(kc))
	}
	for _, d := range shapes {
		o := newOperands(d, s.layout == LayoutNT, seed)
		if err := o.prepare(ctx); err != nil {
			return nil, err
		}
		if s.linked {
			out = append(out, o.asLinked(0), o.asLinked(linkedPadding))
		} else {
			out = append(out, o.asCase())
		}
	}
	return out, nil
}

func buffersOf(d Dims) []native.Buffer {
	return []native.Buffer{
		{Name: "A", Elem: native.F32, Len: d.M * d.K, Mode: native.In},
		{Name: "B", Elem: native.F32, Len: d.K * d.N, Mode: native.In},
		{Name: "C", Elem: native.F32, Len: d.M * d.N, Mode: native.Out},
	}
}

// asCase makes a case of operands whose reference is prepared.
func (o *operands) asCase() native.Case {
	d := o.d
	return native.Case{
		Name:    fmt.Sprintf("M=%d N=%d K=%d", d.M, d.N, d.K),
		Dims:    []int64{int64(d.M), int64(d.N), int64(d.K)},
		Buffers: buffersOf(d),
		Inputs:  [][]byte{native.AsBytes(o.a), native.AsBytes(o.b), nil},
		Verify:  func(buffers [][]byte) (kernels.Deviation, error) { return o.verify(native.AsFloats(buffers[2])) },
	}
}
