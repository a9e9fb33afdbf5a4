package gemm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"

	"golang.org/x/sync/errgroup"

	"tune/kernels"
	"tune/kernels/native"
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

// operands are the inputs of one case and what is known of its result. Only the inputs are made at once.
type operands struct {
	d    Dims
	nt   bool
	seed uint64
	full bool // whether every element is compared
	a, b []float32

	once sync.Once
	want []float64 // the whole result, up to fullLimit
	// Above fullLimit: some rows and columns of it, and its products with random vectors of signs.
	rows, cols       []int
	wantRow, wantCol [][]float64
	signs            [2][]float64 // for columns of the result, and for rows
	products         [2][]float64
}

// newOperands draws inputs from [-1, 1).
func newOperands(d Dims, nt bool, seed uint64) *operands {
	o := &operands{d: d, nt: nt, seed: seed, full: float64(d.M)*float64(d.N)*float64(d.K) <= fullLimit}
	r := rand.New(rand.NewPCG(seed, uint64(d.M)<<42^uint64(d.N)<<21^uint64(d.K)))
	o.a, o.b = uniform(r, d.M*d.K), uniform(r, d.K*d.N)
	return o
}

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

// product returns A·B for the rows of A and the columns of B named, nil meaning all.
func (o *operands) product(rows, cols []int) []float64 {
	all := func(n int) []int {
		out := make([]int, n)
		for i := range out {
			out[i] = i
		}
		return out
	}
	if rows == nil {
		rows = all(o.d.M)
	}
	if cols == nil {
		cols = all(o.d.N)
	}
	k := o.d.K
	a, b := make([]float64, len(rows)*k), make([]float64, len(cols)*k)
	for n, i := range rows {
		for p, v := range o.a[i*k : (i+1)*k] {
			a[n*k+p] = float64(v)
		}
	}
	for n, j := range cols {
		if o.nt {
			for p, v := range o.b[j*k : (j+1)*k] {
				b[n*k+p] = float64(v)
			}
		} else {
			for p := range k {
				b[n*k+p] = float64(o.b[p*o.d.N+j])
			}
		}
	}
	out := make([]float64, len(rows)*len(cols))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	// Blocks of columns and of depth stay in the nearest cache but one.
	const blockCols, blockRows = 64, 64
	for i0 := 0; i0 < len(rows); i0 += blockRows {
		g.Go(func() error {
			for j0 := 0; j0 < len(cols); j0 += blockCols {
				dotBlock(a, b, out, k, len(cols), i0, min(i0+blockRows, len(rows)), j0, min(j0+blockCols, len(cols)))
			}
			return nil
		})
	}
	_ = g.Wait() // no part fails
	return out
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

// prepare computes what Verify compares with.
func (o *operands) prepare() {
	d := o.d
	if o.full {
		o.want = o.product(nil, nil)
		return
	}
	r := rand.New(rand.NewPCG(o.seed, 0x9e3779b97f4a7c15))
	o.rows, o.cols = lines(r, d.M), lines(r, d.N)
	byRow, byCol := o.product(o.rows, nil), o.product(nil, o.cols)
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
	// Freivalds' check in both directions: C·s against A·(B·s), and t·C against (t·A)·B.
	o.signs[0], o.signs[1] = signs(r, d.N), signs(r, d.M)
	bs, ta := make([]float64, d.K), make([]float64, d.K)
	o.eachB(func(p, j int, v float64) { bs[p] += v * o.signs[0][j] })
	for i := range d.M {
		for p, v := range o.a[i*d.K : (i+1)*d.K] {
			ta[p] += float64(v) * o.signs[1][i]
		}
	}
	o.products[0], o.products[1] = make([]float64, d.M), make([]float64, d.N)
	for i := range d.M {
		for p, v := range o.a[i*d.K : (i+1)*d.K] {
			o.products[0][i] += float64(v) * bs[p]
		}
	}
	o.eachB(func(p, j int, v float64) { o.products[1][j] += ta[p] * v })
}

// eachB goes through B as it lies in memory.
func (o *operands) eachB(f func(p, j int, v float64)) {
	if o.nt {
		for j := range o.d.N {
			for p, v := range o.b[j*o.d.K : (j+1)*o.d.K] {
				f(p, j, float64(v))
			}
		}
		return
	}
	for p := range o.d.K {
		for j, v := range o.b[p*o.d.N : (p+1)*o.d.N] {
			f(p, j, float64(v))
		}
	}
}

// lines draws the rows or columns to compare in full: the first, the last, and random ones between.
func lines(r *rand.Rand, n int) []int {
	out := []int{0, n - 1}
	for len(out) < min(sampledLines, n) {
		out = append(out, r.IntN(n))
	}
	return out
}

func signs(r *rand.Rand, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = float64(1 - 2*int(r.Uint64()>>63))
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

// verify compares c with the product. The deviation is that of the elements that are compared one by one.
func (o *operands) verify(c []float32) (kernels.Deviation, error) {
	o.once.Do(o.prepare)
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
	// Errors within the tolerance have random signs, so that a sum of n of them stays within √n tolerances;
	// a row that is beyond is examined element by element.
	byRow, byCol := make([]float64, d.M), make([]float64, d.N)
	for i := range d.M {
		row := c[i*d.N : (i+1)*d.N]
		var s float64
		t := o.signs[1][i]
		for j, v := range row {
			s += float64(v) * o.signs[0][j]
			byCol[j] += t * float64(v)
		}
		byRow[i] = s
	}
	var sum worst
	for i, s := range byRow {
		sum.compare(i, -1, s, o.products[0][i], abs*math.Sqrt(float64(d.N)))
	}
	for j, s := range byCol {
		sum.compare(-1, j, s, o.products[1][j], abs*math.Sqrt(float64(d.M)))
	}
	if sum.excess <= 1 {
		return w.deviation(), nil
	}
	line := "row"
	if sum.i >= 0 {
		for j, want := range o.product([]int{sum.i}, nil) {
			element(&w, sum.i, j, want)
		}
	} else {
		line = "column"
		for i, want := range o.product(nil, []int{sum.j}) {
			element(&w, i, sum.j, want)
		}
	}
	if err := o.verdict(w); err != nil {
		return w.deviation(), err
	}
	return w.deviation(), kernels.Reject(space.WrongAnswer, "%s %d: the sum of its elements under random signs is %g, want %g", line, max(sum.i, sum.j), sum.got, sum.want)
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

// Cases returns the asked shape and some odd ones.
func (s *Spec) Cases(_ space.Point, seed uint64) ([]native.Case, error) {
	shapes := append([]Dims{s.dims}, oddShapes...)
	out := make([]native.Case, 0, len(shapes))
	for _, d := range shapes {
		o := newOperands(d, s.layout == LayoutNT, seed)
		out = append(out, native.Case{
			Name: fmt.Sprintf("M=%d N=%d K=%d", d.M, d.N, d.K),
			Dims: []int64{int64(d.M), int64(d.N), int64(d.K)},
			Buffers: []native.Buffer{
				{Name: "A", Elem: native.F32, Len: d.M * d.K, Mode: native.In},
				{Name: "B", Elem: native.F32, Len: d.K * d.N, Mode: native.In},
				{Name: "C", Elem: native.F32, Len: d.M * d.N, Mode: native.Out},
			},
			Inputs: [][]byte{native.AsBytes(o.a), native.AsBytes(o.b), nil},
			Verify: func(buffers [][]byte) (kernels.Deviation, error) { return o.verify(native.AsFloats(buffers[2])) },
		})
	}
	return out, nil
}
