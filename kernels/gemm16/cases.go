package gemm16

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
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
	uniform  filling = iota // floats in [−1, 1)
	ties                    // floats halfway between two numbers of 16 bits
	extremes                // rows of the largest, of subnormal and of other numbers
	odd                     // rows of A with a NaN or an infinity among others
)

// operands are the rounded inputs of a case, and what its results have to be.
type operands struct {
	size
	*Type
	a, b  []float32       // m × k, n × k
	small bool            // some of them may count as zero
	known *native.Sampled // results of C; nil before compute
	// product is B·x of Freivalds's test, made at its first use.
	product func() *product
}

// Tolerance is how far a result may be from the exact one, relative to the sum of the sizes of what is added up for it.
func Tolerance(k int) float64 { return 0x1p-24 * (8*math.Sqrt(float64(k)) + 64) }

// drawn is a case as it is for every point.
type drawn struct {
	size
	a, b []byte   // as they arrive, b where it is not packed
	bits []uint16 // of b, n × k
	want *operands

	mutex  sync.Mutex
	packed map[layout][]byte
}

// keepVariants is how many seeds of variants are kept.
const keepVariants = 3

// asked returns the inputs of the asked shape for a seed.
func (g *Spec) asked(kept *native.Kept[*drawn], seed uint64) *drawn {
	d, _ := kept.Of(seed, func() (*drawn, error) { return g.draw(size{g.m, g.n, g.k}, uniform, seed, 0), nil })
	return d
}

// Variant returns the asked shape with the inputs of a seed, laid out as a point wants it.
func (g *Spec) Variant(_ context.Context, p space.Point, seed uint64) (native.Case, error) {
	return g.newCase(p, g.asked(&g.varied, seed)), nil
}

// VariantClass names the layout of packed B that a point wants.
func (g *Spec) VariantClass(p space.Point) string {
	l, ok := g.layoutOf(p, g.n, g.k)
	if !ok || g.weights != asPacked {
		return ""
	}
	return fmt.Sprintf("%+v", l)
}

// Draw returns the inputs of the variant of a seed, without its reference.
func (g *Spec) Draw(_ context.Context, p space.Point, seed uint64) ([][]byte, error) {
	d := g.inputsOf(size{g.m, g.n, g.k}, uniform, seed, 0)
	return [][]byte{d.a, g.weightsFor(p, d), nil}, nil
}

// Cases returns the asked shape and odd ones: less than a tile and a panel, several with some left over, more than one block along k, ties,
// extreme inputs, rows that are no numbers.
func (g *Spec) Cases(ctx context.Context, p space.Point, seed uint64) ([]native.Case, error) {
	rng := rand.New(rand.NewPCG(seed, 0x67656d6d3136))
	mr, nr := 4, 16
	if k := g.knobs(p); k.Unit != unitPlain {
		mr, nr = k.MR, k.NR*k.Lanes()
	}
	middle := size{1 + rng.IntN(3*mr), 1 + rng.IntN(3*nr), 1 + rng.IntN(300)}
	if kc := p.Int("kc"); kc > 0 {
		// Deep products are dear in the reference: a few results each in a second tile and panel will do.
		middle = size{mr + rng.IntN(3), nr + rng.IntN(3), kc + 1 + rng.IntN(kc)}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	list := []*drawn{
		g.asked(&g.checked, seed),
		g.draw(size{1 + rng.IntN(3), 1 + rng.IntN(3), 1 + rng.IntN(9)}, ties, seed, 1),
		g.draw(middle, uniform, seed, 2),
		g.draw(size{mr + 1 + rng.IntN(2*mr), nr + rng.IntN(nr+1), 2 + rng.IntN(140)}, ties, seed, 3),
		g.draw(size{mr + rng.IntN(mr+1), extremeRows + rng.IntN(nr), 32 * (1 + rng.IntN(4))}, extremes, seed, 4),
		g.draw(size{2 + rng.IntN(2*mr), 1 + rng.IntN(2*nr), 1 + rng.IntN(70)}, odd, seed, 5),
	}
	out := make([]native.Case, len(list))
	for i, d := range list {
		out[i] = g.newCase(p, d)
	}
	return out, nil
}

// newCase makes the case of a point.
func (g *Spec) newCase(p space.Point, d *drawn) native.Case {
	b := g.weightsFor(p, d)
	elem := g.elem(g.weights)
	if _, ok := g.layoutOf(p, d.n, d.k); !ok && g.weights == asPacked {
		elem = native.U16
	}
	const result = 2
	return native.Case{
		Name: fmt.Sprintf("m=%d n=%d k=%d", d.m, d.n, d.k),
		Dims: []int64{int64(d.m), int64(d.n), int64(d.k)},
		Buffers: []native.Buffer{
			{Name: "a", Elem: g.elem(g.inputs), Len: d.m * d.k, Mode: native.In},
			{Name: "b", Elem: elem, Len: len(b) / elem.Size(), Mode: native.In},
			{Name: "c", Elem: native.F32, Len: d.m * d.n, Mode: native.Out},
		},
		Inputs: [][]byte{d.a, b, nil},
		Verify: func(buffers [][]byte) (kernels.Deviation, error) {
			return d.want.verify(native.AsFloats(buffers[result]))
		},
	}
}

// weightsFor returns B as a point wants it.
func (g *Spec) weightsFor(p space.Point, d *drawn) []byte {
	l, ok := g.layoutOf(p, d.n, d.k)
	if !ok || g.weights != asPacked {
		return d.b
	}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if d.packed == nil {
		d.packed = map[layout][]byte{}
	}
	if d.packed[l] == nil {
		d.packed[l] = l.pack(d.bits, d.n, d.k, true)
	}
	return d.packed[l]
}

// draw draws inputs, and computes their reference. The same seed and number give the same inputs everywhere.
func (g *Spec) draw(s size, fill filling, seed, number uint64) *drawn {
	d := g.inputsOf(s, fill, seed, number)
	d.want.compute(rand.New(rand.NewPCG(seed, ^number)), wholeLimit)
	return d
}

// inputsOf draws inputs.
func (g *Spec) inputsOf(s size, fill filling, seed, number uint64) *drawn {
	rng := rand.New(rand.NewPCG(seed, number))
	other := fill
	if fill == odd {
		other = uniform // a number that counts as zero would make NaN of an infinity
	}
	a, b := g.matrix(s.m, s.k, fill, rng), g.matrix(s.n, s.k, other, rng)
	d := &drawn{size: s}
	o := &operands{size: s, Type: g.Type}
	var abits []uint16
	abits, o.a = g.round(a)
	d.bits, o.b = g.round(b)
	if g.inputs == asF32 {
		d.a = native.AsBytes(a)
	} else {
		d.a = native.AsBytes(abits)
	}
	if g.weights == asF32 {
		d.b = native.AsBytes(arrange(s, b, g.nt))
	} else {
		d.b = native.AsBytes(arrange(s, d.bits, g.nt))
	}
	o.small = g.flush > 0 && fill == extremes
	o.product = sync.OnceValue(o.signed)
	d.want = o
	return d
}

// arrange returns B, which is n × k, in a layout.
func arrange[T any](s size, b []T, nt bool) []T {
	if nt {
		return b
	}
	out := make([]T, len(b))
	native.InParts(s.n, func(from, to int) {
		for j := from; j < to; j++ {
			for i := range s.k {
				out[i*s.n+j] = b[j*s.k+i]
			}
		}
	})
	return out
}

// round returns the 16 bits of floats, and their values.
func (t *Type) round(x []float32) ([]uint16, []float32) {
	bits, values := make([]uint16, len(x)), make([]float32, len(x))
	native.InParts(len(x), func(from, to int) {
		for i := from; i < to; i++ {
			bits[i] = t.bits(x[i])
			values[i] = t.value(bits[i])
		}
	})
	return bits, values
}

// extremeRows is the number of kinds of rows in extreme inputs.
const extremeRows = 6

// matrix draws rows of floats.
func (g *Spec) matrix(rows, k int, fill filling, rng *rand.Rand) []float32 {
	x := make([]float32, rows*k)
	for i := 0; i < len(x); i += 2 {
		bits := rng.Uint64()
		x[i] = float32(int32(bits)>>8) / (1 << 23)
		if i+1 < len(x) {
			x[i+1] = float32(int32(bits>>32)>>8) / (1 << 23)
		}
	}
	switch fill {
	case ties:
		// Numbers of this size have a step of 2.
		first := 2 << g.precision()
		for i := range x {
			x[i] = float32(first+rng.IntN(first)) * float32(1-2*int(rng.Uint64()&1)) / float32(first)
		}
	case extremes:
		for r := range rows {
			for i := range k {
				at := r*k + i
				switch r % extremeRows {
				case 0:
					x[at] = g.widest
				case 1:
					x[at] = g.widest * float32(1-2*(i%2))
				case 2:
					x[at] *= 0x1p-20 // subnormal in half precision
				case 3:
					x[at] *= 0x1p-127 // subnormal in single precision
				case 4:
					x[at] = 0
				}
			}
		}
	case odd:
		inf := float32(math.Inf(1))
		for r := 0; r < rows; r += 2 {
			x[r*k+rng.IntN(k)] = []float32{float32(math.NaN()), inf, -inf, 0x1p127 * 1.9999999}[rng.IntN(4)]
		}
	}
	return x
}

// precision is how many bits the fraction of a number has.
func (t *Type) precision() int {
	if t == BFloat16 {
		return 7
	}
	return 10
}

// wholeLimit is the number of multiply-adds up to which every result is compared with its own reference. Above it, some rows and columns
// are, and all results of a row together by Freivalds's test.
const wholeLimit = 1 << 26

// compute fills in the reference: whole up to so many multiply-adds.
func (o *operands) compute(rng *rand.Rand, limit int) {
	o.known = native.Sample(rng, o.m, o.n, o.k, limit, o.result)
}

// result returns the reference of an element.
func (o *operands) result(i, j int) native.Wanted {
	a, b := o.a[i*o.k:(i+1)*o.k], o.b[j*o.k:(j+1)*o.k]
	var r native.Wanted
	var sum float64
	for l, x := range a {
		p := float64(x) * float64(b[l])
		r.Value += p
		sum += math.Abs(p)
	}
	// What is left out because it counts as zero, and sums that are so small.
	lost := 2 * float64(o.k) * o.flush
	if o.small {
		for l, x := range a {
			if v, w := math.Abs(float64(x)), math.Abs(float64(b[l])); min(v, w) <= o.flush {
				lost += v * w
			}
		}
	}
	r.Size = Tolerance(o.k)*sum + lost
	return r
}

// verify compares C.
func (o *operands) verify(c []float32) (kernels.Deviation, error) {
	d, err := o.known.Compare(c, 1, 0)
	if err != nil || o.known.Whole {
		return d, err
	}
	return d, o.freivalds(c)
}

// product is B·x and |B|·|x| for a vector x of random signs.
type product struct{ x, sums, sizes []float64 }

// signed makes the product for Freivalds's test.
func (o *operands) signed() *product {
	rng := rand.New(rand.NewPCG(uint64(o.m*o.n), 0x66726569))
	p := &product{make([]float64, o.n), make([]float64, o.k), make([]float64, o.k)}
	for j := range p.x {
		p.x[j] = float64(1 - 2*int(rng.Uint64()&1))
	}
	native.InParts(o.k, func(from, to int) {
		for j, x := range p.x {
			for l, v := range o.b[j*o.k+from : j*o.k+to] {
				p.sums[from+l] += x * float64(v)
				p.sizes[from+l] += math.Abs(float64(v))
			}
		}
	})
	return p
}

// freivaldsTolerance is how far the product of a row of C with random signs may be from the exact one, relative to the sizes of what is added
// up, and to the root of how many they are. Inputs are uniform where it is used, so that sums stay far below those sizes.
const freivaldsTolerance = 0x1p-20

// freivalds compares C·x with A·(B·x), row by row, for a vector x of random signs [Freivalds, "Probabilistic machines can use less running
// time", IFIP 1977]. An element that is wrong by more than the tolerance of all elements together fails its row.
func (o *operands) freivalds(c []float32) error {
	p := o.product()
	for i := range o.m {
		var want, size, got float64
		for l, a := range o.a[i*o.k : (i+1)*o.k] {
			want += float64(a) * p.sums[l]
			size += math.Abs(float64(a)) * p.sizes[l]
		}
		for j, v := range c[i*o.n : (i+1)*o.n] {
			got += float64(v) * p.x[j]
		}
		if limit := freivaldsTolerance * size / math.Sqrt(float64(o.n)); !(math.Abs(got-want) <= limit) {
			return kernels.Reject(space.WrongAnswer, "row %d: the product with random signs is %g, want %g ± %.2g", i, got, want, limit)
		}
	}
	return nil
}
