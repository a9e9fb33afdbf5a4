package qgemm

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"

	"tune/kernels"
	"tune/kernels/blocks"
	"tune/kernels/native"
	"tune/space"
)

// Tolerance returns how far a result of rows of k may be from the exact one, relative to the sum of the sizes of the parts that are added up
// for it. The errors of additions in float32, of 2⁻²⁴ each, grow like the square root of their number; here is ten times that, and room
// for what is rounded before.
func Tolerance(k int) float64 { return 1e-6 * (4 + math.Sqrt(float64(k)/32)) }

// size is the size of one case.
type size struct{ m, n, k int }

// filling says what the inputs of a case are.
type filling uint8

const (
	uniform  filling = iota // activations in [−1, 1)
	ties                    // activations that are multiples of half a step, so that rounding decides about every other one
	extremes                // the largest quants of both sides and signs, large and subnormal scales, blocks of zeros
	odd                     // rows with a NaN or an infinity among others
)

// operands are the quantised inputs of a case, and what its results have to be.
type operands struct {
	size
	format
	q     []int8    // m × k
	d     []float32 // m × blocks; NaN where the row has NaN as results
	sums  []int32   // of q, m × subs
	w     []int8    // n × k
	scale []float32 // of its sub-blocks, D·sc, which is exact
	min   []float32 // of its sub-blocks, Min·m; nil where the format has no minima
	seed  uint64
	known *native.Sampled // results of C; nil before compute
	// product is Wᵀ·x of Freivalds's test, made at its first use.
	product func() *product
}

// sizeOfResult is the size of the reference of a result in bytes.
const sizeOfResult = 16

// drawn is a case as it is for every point.
type drawn struct {
	size
	a, w []byte
	want *operands

	mutex  sync.Mutex
	packed map[packing][]byte // the weights by layout
}

// keepVariants is how many seeds of variants are kept.
const keepVariants = 3

// drawnOf returns the inputs of the asked shape for a seed.
func (g *Spec) drawnOf(kept *native.Kept[*drawn], seed uint64) (*drawn, error) {
	return kept.Of(seed, func() (*drawn, error) {
		a, w, err := g.asked(seed)
		if err != nil {
			return nil, err
		}
		return g.newDrawn(size{g.m, g.n, g.k}, a, w, seed, 0), nil
	})
}

// asked draws inputs of the asked shape. Weights of a model are the same for each seed.
func (g *Spec) asked(seed uint64) (a []float32, w []byte, err error) {
	s := size{g.m, g.n, g.k}
	if g.tensor == nil {
		a, w = g.inputsOf(s, uniform, seed, 0)
		return a, w, nil
	}
	rng := rand.New(rand.NewPCG(seed, 0))
	w, err = g.tensor()
	return activations(s, rng), w, err
}

// Variant returns the asked shape with the inputs of a seed, laid out as a point wants it.
func (g *Spec) Variant(_ context.Context, p space.Point, seed uint64) (native.Case, error) {
	d, err := g.drawnOf(&g.varied, seed)
	if err != nil {
		return native.Case{}, err
	}
	w := d.w
	if layout, ok := g.packingOf(p, d.n, d.k); ok {
		w = layout.pack(w) // The variants of a layout are kept where calls are timed.
	}
	return d.newCase(w), nil
}

// VariantClass names the layout of the weights that a point wants.
func (g *Spec) VariantClass(p space.Point) string {
	layout, ok := g.packingOf(p, g.n, g.k)
	if !ok {
		return ""
	}
	return fmt.Sprint(layout.lanes, layout.signed)
}

// Draw returns the inputs of the variant of a seed, without its reference.
func (g *Spec) Draw(_ context.Context, p space.Point, seed uint64) ([][]byte, error) {
	a, w, err := g.asked(seed)
	if err != nil {
		return nil, err
	}
	packed := w
	if layout, ok := g.packingOf(p, g.n, g.k); ok {
		packed = layout.pack(w)
	}
	return [][]byte{native.AsBytes(a), packed, nil}, nil
}

// Cases returns the asked shape and odd ones: less than a tile and a panel, several with some left over, ties, extreme inputs, rows
// that are no numbers.
func (g *Spec) Cases(ctx context.Context, p space.Point, seed uint64) ([]native.Case, error) {
	rng := rand.New(rand.NewPCG(seed, 0x7167656d6d))
	mr, nr := 4, 16
	switch p.Str("form") {
	case formRows:
		mr, nr = p.Int("mr"), p.Int("nr")
	case formPanels:
		mr, nr = p.Int("mr"), p.Int("nr")*unitOf(p).Lanes()
	}
	block := g.weights.Weights
	most := 2
	if block == 32 {
		most = 9
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	asked, err := g.drawnOf(&g.inputs, seed)
	if err != nil {
		return nil, err
	}
	list := []*drawn{
		asked,
		g.draw(size{1 + rng.IntN(3), 1 + rng.IntN(3), block}, ties, seed, 1),
		g.draw(size{mr + 1 + rng.IntN(2*mr), nr + rng.IntN(2*nr), block * (1 + rng.IntN(most))}, ties, seed, 2),
		g.draw(size{1 + rng.IntN(2*mr), 1 + rng.IntN(2*nr), block * (1 + rng.IntN(most))}, extremes, seed, 3),
		g.draw(size{2 + rng.IntN(2*mr), 1 + rng.IntN(nr), block * 2}, odd, seed, 4),
	}
	out := make([]native.Case, len(list))
	for i, d := range list {
		out[i] = g.newCase(p, d)
	}
	return out, nil
}

// newCase makes the case of a point.
func (g *Spec) newCase(p space.Point, d *drawn) native.Case {
	w := d.w
	if layout, ok := g.packingOf(p, d.n, d.k); ok {
		w = d.packedAs(layout)
	}
	return d.newCase(w)
}

// newCase makes the case of weights in some layout.
func (d *drawn) newCase(w []byte) native.Case {
	const result = 2
	return native.Case{
		Name: fmt.Sprintf("m=%d n=%d k=%d", d.m, d.n, d.k),
		Dims: []int64{int64(d.m), int64(d.n), int64(d.k)},
		Buffers: []native.Buffer{
			{Name: "a", Elem: native.F32, Len: d.m * d.k, Mode: native.In},
			{Name: "w", Elem: native.U8, Len: len(w), Mode: native.In},
			{Name: "c", Elem: native.F32, Len: d.m * d.n, Mode: native.Out},
		},
		Inputs: [][]byte{d.a, w, nil},
		Verify: func(buffers [][]byte) (kernels.Deviation, error) {
			return d.want.verify(native.AsFloats(buffers[result]))
		},
	}
}

// packedAs returns the weights in a layout.
func (d *drawn) packedAs(layout packing) []byte {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if d.packed == nil {
		d.packed = map[packing][]byte{}
	}
	if d.packed[layout] == nil {
		d.packed[layout] = layout.pack(d.w)
	}
	return d.packed[layout]
}

// draw draws inputs, and computes their reference. The same seed and number give the same inputs everywhere.
func (g *Spec) draw(s size, fill filling, seed, number uint64) *drawn {
	a, w := g.inputsOf(s, fill, seed, number)
	return g.newDrawn(s, a, w, seed, number)
}

// newDrawn computes the reference of inputs.
func (g *Spec) newDrawn(s size, a []float32, w []byte, seed, number uint64) *drawn {
	o := &operands{size: s, format: g.weights, seed: seed}
	o.quantise(a)
	o.split(w)
	o.compute(rand.New(rand.NewPCG(seed, ^number)), wholeLimit)
	o.product = sync.OnceValue(o.signed)
	return &drawn{size: s, a: native.AsBytes(a), w: w, want: o}
}

// inputsOf draws activations and weights.
func (g *Spec) inputsOf(s size, fill filling, seed, number uint64) ([]float32, []byte) {
	rng := rand.New(rand.NewPCG(seed, number))
	a := activations(s, rng)
	block := g.weights.Weights
	switch fill {
	case ties:
		for i := range a {
			a[i] = float32(rng.IntN(509)-254) / 2
			if i%block == 0 {
				a[i] = 127 // so that a step is 1
			}
		}
	case extremes:
		for i := range a {
			sign := float32(1 - 2*(i/block%2))
			switch i / block % 5 {
			case 0:
				a[i] = sign
			case 1:
				a[i] = 1 - 2*float32(i%2)
			case 2:
				a[i] = 0
			case 3:
				a[i] *= 0x1p-130 // with a scale that is not used
			case 4:
				a[i] *= 0x1p100
			}
		}
	case odd:
		inf := float32(math.Inf(1))
		for r := 0; r < s.m; r += 2 {
			a[r*s.k+rng.IntN(s.k)] = []float32{float32(math.NaN()), inf, -inf}[rng.IntN(3)]
		}
	}
	return a, g.randomWeights(s, fill, rng)
}

// activations draws uniform activations.
func activations(s size, rng *rand.Rand) []float32 {
	a := make([]float32, s.m*s.k)
	for i := range a {
		a[i] = float32(rng.Uint64()>>40)*0x1p-23 - 1
	}
	return a
}

// randomWeights draws blocks: all bits of the quants and of the scales of sub-blocks are random, and the scales of blocks are such that
// weights are about 1. Negative scales are among them.
func (g *Spec) randomWeights(s size, fill filling, rng *rand.Rand) []byte {
	f := g.weights
	w := make([]byte, s.n*s.k/f.Weights*f.Bytes)
	for i := 0; i+8 <= len(w); i += 8 {
		binary.LittleEndian.PutUint64(w[i:], rng.Uint64())
	}
	for i := len(w) / 8 * 8; i < len(w); i++ {
		w[i] = byte(rng.Uint64())
	}
	step := float32(math.Exp2(float64(-f.Bits)))
	if f.Whole {
		step /= 32
	}
	half := func(b []byte, v float32) { binary.LittleEndian.PutUint16(b, blocks.ToF16(v)) }
	for b := 0; b < len(w); b += f.Bytes {
		block := w[b:][:f.Bytes]
		if fill == extremes {
			g.extremeBlock(block, b/f.Bytes)
			continue
		}
		d := step * (1 + rng.Float32()) * float32(1-2*int(rng.Uint64()&1))
		switch {
		case f.Name == "q6_k":
			half(block[f.Bytes-2:], d)
		case f.Mins:
			half(block, d)
			half(block[2:], (rng.Float32()-0.5)*step*8)
		default:
			half(block, d)
		}
	}
	return w
}

// extremeBlock makes a block of the largest or smallest quants, or with a scale that is subnormal, zero or large.
func (g *Spec) extremeBlock(block []byte, i int) {
	f := g.weights
	parts := blocks.Parts{D: []float32{1, -1, 0x1p-24, 0, 1000}[i%5]}
	low, high := -f.Center, 1<<f.Bits-1-f.Center
	for l := range f.Weights {
		parts.Quants[l] = int8([]int{low, high, []int{low, high}[l%2]}[i%3])
	}
	for s := range f.Weights / f.Sub {
		parts.Scales[s] = 1
		if f.Whole {
			parts.Scales[s] = []int8{63, 0, 1}[(i+s)%3]
			if !f.Mins {
				parts.Scales[s] = []int8{127, -128, 0}[(i+s)%3]
			}
		}
		if f.Mins {
			parts.Mins[s] = 1
			if f.Whole {
				parts.Mins[s] = []uint8{63, 0, 1}[(i+s)%3]
			}
		}
	}
	if f.Mins {
		parts.Min = []float32{-1, 1, 0}[i%3]
	}
	if err := f.Join(block, parts); err != nil {
		panic(fmt.Sprintf("qgemm: %v", err)) // the quants are within the limits
	}
}

// quantise quantises activations by the definition in the package's documentation.
func (o *operands) quantise(a []float32) {
	o.q = make([]int8, o.m*o.k)
	o.d = make([]float32, o.m*o.k/o.Weights)
	o.sums = make([]int32, o.m*o.k/o.Sub)
	for b := range o.d {
		x, q := a[b*o.Weights:][:o.Weights], o.q[b*o.Weights:][:o.Weights]
		most, isOdd := float32(0), false
		for _, v := range x {
			isOdd = isOdd || v-v != 0
			most = max(most, float32(math.Abs(float64(v))))
		}
		if isOdd {
			o.d[b] = float32(math.NaN())
			continue
		}
		const smallestNormal = 0x1p-126
		d := most / 127
		if d < smallestNormal {
			continue
		}
		o.d[b] = d
		inverse := 1 / d
		for l, v := range x {
			q[l] = int8(math.RoundToEven(float64(v * inverse)))
			o.sums[(b*o.Weights+l)/o.Sub] += int32(q[l])
		}
	}
}

// split takes the weights apart.
func (o *operands) split(w []byte) {
	count, subs := o.n*o.k/o.Weights, o.Weights/o.Sub
	o.w, o.scale = make([]int8, o.n*o.k), make([]float32, count*subs)
	if o.Mins {
		o.min = make([]float32, count*subs)
	}
	native.InParts(count, func(from, to int) {
		for b := from; b < to; b++ {
			parts, err := o.Split(w[b*o.Bytes:][:o.Bytes])
			if err != nil {
				panic(fmt.Sprintf("qgemm: %v", err)) // the slice has the size of a block
			}
			copy(o.w[b*o.Weights:], parts.Quants[:o.Weights])
			for s := range subs {
				o.scale[b*subs+s] = parts.D * float32(parts.Scales[s])
				if o.Mins {
					o.min[b*subs+s] = parts.Min * float32(parts.Mins[s])
				}
			}
		}
	})
}

// wholeLimit is the number of multiply-adds up to which every result is compared with its own reference. Above it, some rows and columns
// are, and all results of a row together by Freivalds's test.
const wholeLimit = 1 << 26

// compute fills in the reference: whole up to so many multiply-adds.
func (o *operands) compute(rng *rand.Rand, limit int) {
	o.known = native.Sample(rng, o.m, o.n, o.k, limit, o.result)
}

// result returns the reference of an element: exact integers, added up in float64.
func (o *operands) result(i, j int) native.Wanted {
	var r native.Wanted
	subs := o.k / o.Sub
	perBlock := o.Weights / o.Sub
	for s := range subs {
		w, q := o.w[j*o.k+s*o.Sub:][:o.Sub], o.q[i*o.k+s*o.Sub:][:o.Sub]
		var dot, size int32
		for l := 0; l < o.Sub; l += 4 {
			four := int32(q[l])*int32(w[l]) + int32(q[l+1])*int32(w[l+1]) + int32(q[l+2])*int32(w[l+2]) + int32(q[l+3])*int32(w[l+3])
			dot += four
			size += max(four, -four)
		}
		d, scale := float64(o.d[(i*subs+s)/perBlock]), float64(o.scale[j*subs+s])
		offset := 0.0
		if o.Mins {
			offset = d * float64(o.min[j*subs+s]) * float64(o.sums[i*subs+s])
		}
		r.Value += d*scale*float64(dot) - offset
		r.Size += d*math.Abs(scale)*float64(size) + math.Abs(offset)
	}
	return r
}

// verify compares C.
func (o *operands) verify(c []float32) (kernels.Deviation, error) { return o.within(c, Tolerance(o.k)) }

// within compares C with a tolerance relative to the sizes of what is added up.
func (o *operands) within(c []float32, tolerance float64) (kernels.Deviation, error) {
	d, err := o.known.Compare(c, tolerance, math.SmallestNonzeroFloat32)
	if err != nil || o.known.Whole {
		return d, err
	}
	return d, o.freivalds(c, tolerance)
}

// product is Wᵀ·x and |Wᵀ|·|x| for a vector x of random signs: for the quants and, by sub-blocks, for the minima.
type product struct{ x, quants, sizes, mins, minSizes []float64 }

// signed makes the product for Freivalds's test.
func (o *operands) signed() *product {
	rng := rand.New(rand.NewPCG(o.seed, 0x66726569))
	subs := o.k / o.Sub
	p := &product{make([]float64, o.n), make([]float64, o.k), make([]float64, o.k), make([]float64, subs), make([]float64, subs)}
	for j := range p.x {
		p.x[j] = float64(1 - 2*int(rng.Uint64()&1))
	}
	native.InParts(subs, func(from, to int) {
		for j, x := range p.x {
			for s := from; s < to; s++ {
				scale := float64(o.scale[j*subs+s])
				for l, v := range o.w[j*o.k+s*o.Sub:][:o.Sub] {
					p.quants[s*o.Sub+l] += x * scale * float64(v)
					p.sizes[s*o.Sub+l] += math.Abs(scale * float64(v))
				}
				if !o.Mins {
					continue
				}
				min := float64(o.min[j*subs+s])
				p.mins[s] += x * min
				p.minSizes[s] += math.Abs(min)
			}
		}
	})
	return p
}

// freivalds compares C·x with A·(Wᵀ·x), row by row, for a vector x of random signs [Freivalds, "Probabilistic machines can use less
// running time", IFIP 1977]. An element that is wrong by more than the tolerance of all elements together fails its row.
func (o *operands) freivalds(c []float32, tolerance float64) error {
	p := o.product()
	subs, perBlock := o.k/o.Sub, o.Weights/o.Sub
	for i := range o.m {
		var want, size, got float64
		for s := range subs {
			d := float64(o.d[(i*subs+s)/perBlock])
			for l, q := range o.q[i*o.k+s*o.Sub:][:o.Sub] {
				want += d * float64(q) * p.quants[s*o.Sub+l]
				size += d * math.Abs(float64(q)) * p.sizes[s*o.Sub+l]
			}
			sum := float64(o.sums[i*subs+s])
			want -= d * sum * p.mins[s]
			size += d * math.Abs(sum) * p.minSizes[s]
		}
		for j, v := range c[i*o.n : (i+1)*o.n] {
			got += float64(v) * p.x[j]
		}
		// The errors of independent elements add up like their squares. What rounds are sums of four products, whose sizes are about half
		// of those of their terms. The errors are so far below the tolerance that sums of one sign, which are not, pass too.
		if limit := tolerance * size / math.Sqrt(float64(o.n*4)); !(math.Abs(got-want) <= limit) {
			return kernels.Reject(space.WrongAnswer, "row %d: the product with random signs is %g, want %g ± %.2g", i, got, want, limit)
		}
	}
	return nil
}
