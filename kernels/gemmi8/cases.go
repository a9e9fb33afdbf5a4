package gemmi8

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"

	"tune/kernels"
	"tune/kernels/native"
	"tune/space"
)

// size is the size of one case.
type size struct{ m, n, k int }

// filling says what the inputs of a case are.
type filling uint8

const (
	// uniform inputs are floats in [−1, 1), of which the scales clip a few.
	uniform filling = iota
	// ties inputs are multiples of half a step, so that rounding decides about every other one.
	ties
	// extremes inputs are rows of the largest and smallest integers, and of what is clipped to them. Sums of
	// adjacent products saturate in 16 bits, whatever the trick, where a multiplication does that.
	extremes
	// signed inputs have rows of one sign each, so that the sign of every sum is known, and are so sparse that a float
	// holds it.
	signed
)

// operands are the quantised inputs of a case, and what its results have to be.
type operands struct {
	size
	a, w  []int8 // m × k, n × k
	scale float32
	relu  bool
	signA []int8            // of the rows of a, where the inputs are signed
	signW []int8            // of the rows of w
	rows  map[int][]float32 // of C, that are known
	cols  map[int][]float32
	whole bool // whether rows has all of C
}

// drawn is a case as it is for every point.
type drawn struct {
	size
	a, w, scales []byte
	want         *operands
}

// keepVariants is more seeds of variants than a problem has.
const keepVariants = 32

// asked returns the inputs of the asked shape: those that are timed, and where they cannot be compared as a whole, others
// that can.
func (g *Spec) asked(seed uint64) []*drawn {
	d, _ := g.inputs.Of(seed, func() ([]*drawn, error) {
		s := size{g.m, g.n, g.k}
		d := []*drawn{g.draw(s, uniform, seed, 0)}
		if g.relu && !d[0].want.whole {
			d = append(d, g.draw(s, signed, seed, 5))
		}
		return d, nil
	})
	return d
}

// Variant returns the asked shape with the inputs of a seed, laid out as a point wants it.
func (g *Spec) Variant(_ context.Context, p space.Point, seed uint64) (native.Case, error) {
	d, err := g.varied.Of(seed, func() (*drawn, error) { return g.draw(size{g.m, g.n, g.k}, uniform, seed, 0), nil })
	return g.newCase(p, d), err
}

// VariantClass names the layout of the weights that a point wants.
func (g *Spec) VariantClass(p space.Point) string {
	if g.weights != weightsPacked || p.Str("form") == formPlain {
		return ""
	}
	return fmt.Sprintf("%+v", layoutOf(p, g.n, g.k))
}

// Cases returns the asked shape and odd ones: less than a tile, several tiles and panels with some left over, more
// than one block along k, ties and extreme inputs. Above wholeLimit with relu the asked shape has a second case.
func (g *Spec) Cases(ctx context.Context, p space.Point, seed uint64) ([]native.Case, error) {
	rng := rand.New(rand.NewPCG(seed, 0x67656d6d6938))
	mr, nr := 4, 16
	if p.Str("form") != formPlain {
		l := layoutOf(p, 1, 1)
		mr, nr = l.mr, l.nr
	}
	middle := size{1 + rng.IntN(3*mr), 1 + rng.IntN(3*nr), 1 + rng.IntN(300)}
	if kc := p.Int("kc"); kc > 0 {
		// Deep products are dear in the reference: a few results each in a second tile and panel will do.
		middle = size{mr + rng.IntN(3), nr + rng.IntN(3), kc + 1 + rng.IntN(kc)}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	list := append(slices.Clip(g.asked(seed)),
		g.draw(size{1 + rng.IntN(3), 1 + rng.IntN(3), 1 + rng.IntN(9)}, ties, seed, 1),
		g.draw(middle, uniform, seed, 2),
		g.draw(size{mr + 1 + rng.IntN(2*mr), nr + rng.IntN(nr+1), 1 + rng.IntN(140)}, ties, seed, 3),
		g.draw(size{extremeRows + rng.IntN(mr), extremeRows + rng.IntN(nr), 64 + rng.IntN(140)}, extremes, seed, 4),
	)
	out := make([]native.Case, len(list))
	for i, d := range list {
		out[i] = g.newCase(p, d)
	}
	return out, nil
}

// newCase makes the case of a point.
func (g *Spec) newCase(p space.Point, d *drawn) native.Case {
	weights := native.Buffer{Name: "w", Elem: native.F32, Len: d.n * d.k, Mode: native.In}
	w := d.w
	if g.weights != weightsF32 {
		weights.Elem = native.I8
		w = native.AsBytes(d.want.w)
	}
	if g.weights == weightsPacked && p.Str("form") != formPlain {
		l := layoutOf(p, d.n, d.k)
		weights.Elem, weights.Len = native.U8, l.packedBytes()
		w = l.pack(d.want.w, d.n, d.k)
	}
	const result = 3
	return native.Case{
		Name: fmt.Sprintf("m=%d n=%d k=%d", d.m, d.n, d.k),
		Dims: []int64{int64(d.m), int64(d.n), int64(d.k)},
		Buffers: []native.Buffer{
			{Name: "a", Elem: native.F32, Len: d.m * d.k, Mode: native.In},
			weights,
			{Name: "scales", Elem: native.F32, Len: 2, Mode: native.In},
			{Name: "c", Elem: native.F32, Len: d.m * d.n, Mode: native.Out},
		},
		Inputs: [][]byte{d.a, w, d.scales, nil},
		Verify: func(buffers [][]byte) (kernels.Deviation, error) {
			return kernels.Deviation{}, d.want.verify(native.AsFloats(buffers[result])) // exact
		},
	}
}

// draw draws inputs. The same seed and number give the same inputs everywhere.
func (g *Spec) draw(s size, fill filling, seed, number uint64) *drawn {
	rng := rand.New(rand.NewPCG(seed, number))
	// A quantised value of 127 stands for about 0.97: the inputs beyond are clipped.
	sa, sw := float32(0.97/127), float32(0.96/127)
	if fill != uniform {
		sa, sw = 0x1p-7, 0x1p-9
	}
	var signA, signW []int8
	if fill == signed {
		signA, signW = signs(s.m, rng), signs(s.n, rng)
	}
	a := matrix(s.m, s.k, fill, signA, sa, rng)
	w := matrix(s.n, s.k, fill, signW, sw, rng)
	o := &operands{size: s, a: quantise(a, sa), w: quantise(w, sw), scale: float32(sa * sw), relu: g.relu, signA: signA, signW: signW}
	o.compute(rng, wholeLimit)
	d := &drawn{size: s, a: native.AsBytes(a), scales: native.AsBytes([]float32{sa, sw}), want: o}
	if g.weights == weightsF32 {
		d.w = native.AsBytes(w)
	}
	return d
}

// extremeRows is the number of kinds of rows in extreme inputs.
const extremeRows = 7

// signs draws signs.
func signs(n int, rng *rand.Rand) []int8 {
	out := make([]int8, n)
	for i := range out {
		out[i] = int8(1 - 2*rng.IntN(2))
	}
	return out
}

// signedSum is about how large the sums of signed inputs may become. Floats hold every integer up to twice that.
const signedSum = 1 << 23

// matrix draws rows of floats that a scale turns into integers; signs are those of the rows of signed inputs.
func matrix(rows, k int, fill filling, signs []int8, scale float32, rng *rand.Rand) []float32 {
	out := make([]float32, rows*k)
	switch fill {
	case signed:
		const largest = 127
		density := min(1, math.Sqrt(4*signedSum/(float64(k)*(largest+1)*(largest+1))))
		limit := uint64(density * (1 << 32))
		for i := range out {
			if bits := rng.Uint64(); bits>>32 < limit {
				out[i] = float32(int64(signs[i/k])*int64(1+bits%largest)) * scale
			}
		}
	case uniform:
		for i := range out {
			out[i] = float32(rng.Uint64()>>40)*0x1p-23 - 1
		}
	case ties:
		for i := range out {
			out[i] = float32(rng.IntN(540)-270) / 2 * scale
		}
	case extremes:
		inf := float32(math.Inf(1))
		for r := range rows {
			row := out[r*k : (r+1)*k]
			for i := range row {
				row[i] = [extremeRows]float32{
					-128, 127, [2]float32{-128, 127}[i%2], [2]float32{-inf, inf}[i/2%2], -inf, 1e30, [4]float32{-128, -127, 0, 127}[rng.IntN(4)],
				}[r%extremeRows] * scale
			}
		}
	}
	return out
}

// quantise is the definition: clipped to a byte, rounded to the nearest integer, ties to even.
func quantise(x []float32, scale float32) []int8 {
	inverse := 1 / scale
	out := make([]int8, len(x))
	for i, v := range x {
		t := min(max(float32(v*inverse), -128), 127)
		out[i] = int8(math.RoundToEven(float64(t)))
	}
	return out
}

// wholeLimit is the number of multiply-adds up to which every result is compared with its own reference. Above it,
// some rows and columns are, and all results together by Freivalds's test.
const wholeLimit = 1 << 30

// someLines is how many rows, and columns, are compared of a large product.
const someLines = 24

// compute fills in the reference: whole up to so many multiply-adds.
func (o *operands) compute(rng *rand.Rand, limit int) {
	o.rows, o.cols = map[int][]float32{}, map[int][]float32{}
	o.whole = o.m*o.n*o.k <= limit
	var rows, cols []int
	for i := range o.m {
		if o.whole || i == o.m-1 {
			rows = append(rows, i)
		}
	}
	if !o.whole {
		cols = append(cols, o.n-1)
		for range someLines {
			rows = append(rows, rng.IntN(o.m))
			cols = append(cols, rng.IntN(o.n))
		}
	}
	for _, i := range rows {
		o.rows[i] = make([]float32, o.n)
	}
	for _, j := range cols {
		o.cols[j] = make([]float32, o.m)
	}
	var group sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for part := range workers {
		group.Go(func() {
			for i := part; i < len(rows); i += workers {
				row := o.rows[rows[i]]
				// A row that was drawn twice is computed by the worker of its first place.
				if first(rows, rows[i]) != i {
					continue
				}
				for j := range row {
					row[j] = o.result(o.sum(rows[i], j))
				}
			}
			for i := part; i < len(cols); i += workers {
				if first(cols, cols[i]) != i {
					continue
				}
				col := o.cols[cols[i]]
				for r := range col {
					col[r] = o.result(o.sum(r, cols[i]))
				}
			}
		})
	}
	group.Wait()
}

// first returns the first place of x in list.
func first(list []int, x int) int {
	for i, y := range list {
		if x == y {
			return i
		}
	}
	return -1
}

// sum returns the product of row i of a and row j of w.
func (o *operands) sum(i, j int) int32 {
	a, w := o.a[i*o.k:(i+1)*o.k], o.w[j*o.k:(j+1)*o.k]
	var s int32
	for l, x := range a {
		s += int32(x) * int32(w[l])
	}
	return s
}

// result returns the float of a sum.
func (o *operands) result(s int32) float32 {
	if o.relu {
		s = max(s, 0)
	}
	return float32(s) * o.scale
}

// verify compares C, bit by bit.
func (o *operands) verify(c []float32) error {
	wrong, compared := 0, 0
	worst, worstError, worstWant := 0, math.Inf(-1), float32(0)
	compare := func(at int, want float32) {
		compared++
		if math.Float32bits(c[at]) == math.Float32bits(want) {
			return
		}
		wrong++
		e := math.Abs(float64(c[at]) - float64(want))
		if e != e {
			e = math.Inf(1)
		}
		if e > worstError || e == worstError && at < worst {
			worst, worstError, worstWant = at, e, want
		}
	}
	for i, row := range o.rows {
		for j, want := range row {
			compare(i*o.n+j, want)
		}
	}
	for j, col := range o.cols {
		for i, want := range col {
			compare(i*o.n+j, want)
		}
	}
	if wrong > 0 {
		return kernels.Reject(space.WrongAnswer, "%d of %d compared elements are wrong; the worst is element (%d, %d): got %v, want %v (sums %v and %v)",
			wrong, compared, worst/o.n, worst%o.n, c[worst], worstWant, c[worst]/o.scale, worstWant/o.scale)
	}
	if o.whole {
		return nil
	}
	return o.freivalds(c)
}

// freivalds compares C·x with A·(Wᵀ·x) in integers, for a vector x of random numbers [Freivalds, "Probabilistic
// machines can use less running time", IFIP 1977]: a row with a wrong element passes with a chance of 2⁻³², or less. The
// integers of C are those that its floats stand for. What relu has cut off is known where the inputs are signed: the
// columns that it leaves in a row are those of the row's sign, and each of the others has to be zero. Otherwise with relu
// each result has still to be one of an integer that is not negative.
func (o *operands) freivalds(c []float32) error {
	rng := rand.New(rand.NewPCG(uint64(len(c)), 0x66726569))
	x := make([]int64, o.n)
	for j := range x {
		x[j] = int64(rng.Uint64() >> 32)
	}
	known := !o.relu || o.signA != nil
	// left reports whether relu leaves an element, or 0 for sure.
	left := func(i, j int) bool { return !o.relu || o.signA == nil || o.signA[i] == o.signW[j] }
	y := map[bool][]int64{} // Wᵀ·x, modulo 2⁶⁴ like all that follows, over the columns that are left in a row of a sign
	for i := range o.m {
		positive := o.signA == nil || o.signA[i] > 0
		if y[positive] != nil || !known {
			continue
		}
		sums := make([]int64, o.k)
		for j, f := range x {
			if left(i, j) {
				for l, w := range o.w[j*o.k : (j+1)*o.k] {
					sums[l] += int64(w) * f
				}
			}
		}
		y[positive] = sums
	}
	for i := range o.m {
		var want, got int64
		if known {
			sums := y[o.signA == nil || o.signA[i] > 0]
			for l, a := range o.a[i*o.k : (i+1)*o.k] {
				want += int64(a) * sums[l]
			}
		}
		for j := range o.n {
			v := c[i*o.n+j]
			s := math.RoundToEven(float64(v) / float64(o.scale))
			if !(math.Abs(s) <= math.MaxInt32) || math.Float32bits(o.result(int32(s))) != math.Float32bits(v) {
				return kernels.Reject(space.WrongAnswer, "element (%d, %d) is %v, which is not an integer times the scales", i, j, v)
			}
			if !left(i, j) {
				if s != 0 {
					return kernels.Reject(space.WrongAnswer, "element (%d, %d) is %v, want 0 (sum %v)", i, j, v, o.sum(i, j))
				}
				continue
			}
			got += int64(s) * x[j]
		}
		if known && got != want {
			return kernels.Reject(space.WrongAnswer, "row %d: the product with a random vector is %d, want %d (modulo 2⁶⁴)", i, got, want)
		}
	}
	return nil
}

// putInt16 writes a short in the machine's order.
func putInt16(b []byte, v int16) { binary.NativeEndian.PutUint16(b, uint16(v)) }
