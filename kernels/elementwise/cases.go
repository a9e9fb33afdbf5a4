package elementwise

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"tune/kernels"
	"tune/kernels/native"
	"tune/space"
)

// filling says what the inputs of a case are.
type filling uint8

const (
	uniform  filling = iota // in [−1, 1)
	special                 // uniform, with NaN, infinities and zeros among it
	rough                   // special, with subnormal and huge numbers too
	extremes                // for reductions: zeros, an array with a NaN, one with an infinity, and a uniform one
	whole                   // for reductions: −1, 0 and 1, with sums that floats hold exactly, in whatever order they add up
)

// size is the size of one case.
type size struct{ n, arrays int }

// keepBytes is the size of a case from which on the cases of one seed alone are kept.
const keepBytes = 64 << 20

// asked returns the cases of the asked shape: the one that is timed, and for a reduction one whose result is exact, because
// what rounding may do to long sums hides a few wrong terms.
func (k *Spec) asked(seed uint64) []native.Case {
	list, _ := k.inputs.Of(seed, func() ([]native.Case, error) {
		s := size{k.n, k.arrays}
		if k.op.reduce {
			return []native.Case{k.newCase(s, uniform, seed, 0), k.newCase(s, whole, seed, wholeNumber)}, nil
		}
		return []native.Case{k.newCase(s, special, seed, 0)}, nil
	})
	return list
}

// wholeNumber is the number of the case of whole numbers, which no other has.
const wholeNumber = 1 << 16

// Cases returns the asked shape, for reductions with two kinds of inputs, and odd ones: less than a vector, a few steps, several pages for the streams of the
// point, and sizes on both sides of its threshold.
func (k *Spec) Cases(ctx context.Context, p space.Point, seed uint64) ([]native.Case, error) {
	rng := rand.New(rand.NewPCG(seed, 0x73697a6573))
	width, step := 1, 16
	if p.Str("code") == codeVector {
		width = p.Int("lanes")
		step = p.Int("unroll") * width * p.Int("streams")
	}
	sizes := []size{
		{1, 1 + rng.IntN(3)},
		{1 + rng.IntN(2*width+1), 3},
		{1 + rng.IntN(3*step), 2 + rng.IntN(3)},
	}
	if p.Str("code") == codeVector && p.Int("streams") > 1 {
		// Room for the distance between streams to be cut by up to a page.
		sizes = append(sizes, size{p.Int("streams")*2*64*lineFloats + rng.IntN(2*step), 1})
	}
	if k.parallel(p) {
		t := max(1, p.Int("threshold"))
		sizes = append(sizes, size{t - 1 + rng.IntN(2*p.Int("workers")*p.Int("pieces")), 1}, size{t/8 + rng.IntN(64), 13 + rng.IntN(9)})
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	list := slices.Clip(k.asked(seed))
	for i, s := range sizes {
		fill := rough
		if k.op.reduce {
			fill = uniform
		}
		list = append(list, k.newCase(size{max(1, s.n), s.arrays}, fill, seed, uint64(i+1)))
	}
	if k.op.reduce {
		list = append(list, k.newCase(size{1 + rng.IntN(2*step), 4}, extremes, seed, uint64(len(sizes)+1)))
	}
	return list, nil
}

// Variant returns the asked shape with the inputs of a seed.
func (k *Spec) Variant(_ context.Context, _ space.Point, seed uint64) (native.Case, error) {
	fill := special
	if k.op.reduce {
		fill = uniform
	}
	c := k.newCase(size{k.n, k.arrays}, fill, seed, 0)
	if k.op.reduce {
		// Threads take pieces as they come, and add up in that order.
		c.Agree = native.AgreeF32(len(c.Buffers)-1, 2*sumTolerance(k.n, float64(k.n)), 1e-5)
	}
	return c, nil
}

// Draw returns the inputs of the asked shape for a seed.
func (k *Spec) Draw(ctx context.Context, p space.Point, seed uint64) ([][]byte, error) {
	c, err := k.Variant(ctx, p, seed)
	return c.Inputs, err
}

// VariantClass names one class for all points.
func (k *Spec) VariantClass(space.Point) string { return "" }

// newCase draws the inputs of a case. The same seed and number give the same inputs everywhere.
func (k *Spec) newCase(s size, fill filling, seed, number uint64) native.Case {
	c := native.Case{
		Name:    fmt.Sprintf("n=%d arrays=%d", s.n, s.arrays),
		Dims:    []int64{int64(s.n), int64(s.arrays)},
		Buffers: k.buffers(s.n, s.arrays),
	}
	var inputs [][]float32
	var group sync.WaitGroup
	for i, b := range c.Buffers {
		if b.Mode != native.In {
			c.Inputs = append(c.Inputs, nil)
			continue
		}
		data := make([]float32, b.Len)
		inputs = append(inputs, data)
		c.Inputs = append(c.Inputs, native.AsBytes(data))
		group.Go(func() {
			rng := rand.New(rand.NewPCG(seed, number<<8|uint64(i)))
			if fill == whole {
				placeWhole(data, s.n, rng)
				return
			}
			for e := range data {
				data[e] = float32(rng.Uint64()>>40)*0x1p-23 - 1
			}
			placeSpecials(data, s, fill, rng)
		})
	}
	group.Wait()
	if fill == whole && k.op.name == "distance" {
		closeTo(inputs[0], inputs[1], s.n)
	}
	out := len(c.Buffers) - 1
	if fill == whole {
		sums := k.wholeSums(s, inputs)
		c.Verify = func(buffers [][]byte) (kernels.Deviation, error) {
			return kernels.Deviation{}, k.verifyWhole(s.n, sums, native.AsFloats(buffers[out]))
		}
		return c
	}
	c.Verify = func(buffers [][]byte) (kernels.Deviation, error) {
		got := native.AsFloats(buffers[out])
		if k.op.reduce {
			return k.verifySums(s, inputs, got)
		}
		return kernels.Deviation{}, k.verifyElements(s, inputs, got) // exact
	}
	return c
}

// specials are the values that arithmetic treats differently; the first of them are found in the timed inputs too.
var specials = []float32{
	float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), 0, float32(math.Copysign(0, -1)),
	0x1p-149, -0x1p-149, 0x1p-126, -0x1.fffffcp-127, math.MaxFloat32, -math.MaxFloat32, 0x1p-80, -0x1p80,
}

// mildSpecials is how many of them do not slow any CPU down.
const mildSpecials = 5

// placeSpecials writes special values over some of the data.
func placeSpecials(data []float32, s size, fill filling, rng *rand.Rand) {
	switch fill {
	case special, rough:
		list := specials
		if fill == special {
			list = specials[:mildSpecials]
		}
		for range min(len(data)/4+1, 4*len(list)) {
			data[rng.IntN(len(data))] = list[rng.IntN(len(list))]
		}
	case extremes:
		clear(data[:s.n])
		// The other input may hold a zero there only by a chance of 2⁻²⁴.
		data[s.n+rng.IntN(s.n)] = float32(math.NaN())
		data[2*s.n+rng.IntN(s.n)] = float32(math.Inf(1))
	}
}

// The most terms of a sum of whole numbers that are not 0, about: sums of so many terms are exact in any order, and of
// squares that far apart the roots are too.
const (
	wholeTerms   = 1 << 23
	wholeSquares = 1 << 18
)

// placeWhole fills arrays with −1, 0 and 1, fewer of them other than 0 where the arrays are long.
func placeWhole(data []float32, n int, rng *rand.Rand) {
	share := uint64(min(0.75, wholeTerms/float64(n)) * (1 << 32))
	for i := range data {
		if bits := rng.Uint64(); bits>>32 < share {
			data[i] = float32(int(bits&1)*2 - 1)
		}
	}
}

// closeTo makes b like a but for one in so many elements, so that the distance of long arrays stays small.
func closeTo(a, b []float32, n int) {
	every := max(n/wholeSquares, 2)
	for i := range b {
		if i%every != i/every%every {
			b[i] = a[i]
		}
	}
}

// wholeSums adds up each array of whole numbers.
func (k *Spec) wholeSums(s size, in [][]float32) []int64 {
	sums := make([]int64, s.arrays)
	for array := range sums {
		for i := array * s.n; i < (array+1)*s.n; i++ {
			a, b := int64(in[0][i]), int64(in[1][i])
			if k.op.name == "distance" {
				sums[array] += (a - b) * (a - b)
			} else {
				sums[array] += a * b
			}
		}
	}
	return sums
}

// verifyWhole compares reductions of whole numbers. A distance is right where its square is nearer to the sum than to any
// other number, so that the root need not be rounded in one way, and within the tolerance.
func (k *Spec) verifyWhole(n int, sums []int64, got []float32) error {
	for array, g := range got {
		sum := float64(sums[array])
		low, high, want := sum, sum, sum
		if k.op.name == "distance" {
			off := min(sumTolerance(n, sum), 0.5)
			low, high, want = float64(float32(math.Sqrt(sum-off))), float64(float32(math.Sqrt(sum+off))), math.Sqrt(sum)
		}
		if !(low <= float64(g) && float64(g) <= high) {
			return kernels.Reject(space.WrongAnswer, "array %d of whole numbers: got %v, want %v, which is exact in any order", array, g, float32(want))
		}
	}
	return nil
}

// result returns what one element has to become. The conversions keep the compiler from fusing operations.
func (k *Spec) result(a, b float32) float32 {
	switch k.op.name {
	case "relu":
		if a < 0 {
			return 0
		}
		return a
	case "mul":
		return float32(a * b)
	case "add":
		return float32(a + b)
	}
	d := float32(a - b)
	return float32(d * d)
}

// verifyElements compares elementwise results, bit by bit.
func (k *Spec) verifyElements(s size, in [][]float32, got []float32) error {
	a, b := in[0], in[len(in)-1]
	wrong, worst, worstError := 0, 0, math.Inf(-1)
	for i, g := range got {
		want := k.result(a[i], b[i])
		if math.Float32bits(g) == math.Float32bits(want) || g != g && want != want {
			continue
		}
		wrong++
		e := math.Abs(float64(g) - float64(want))
		if e != e {
			e = math.Inf(1)
		}
		if e > worstError {
			worst, worstError = i, e
		}
	}
	if wrong == 0 {
		return nil
	}
	return kernels.Reject(space.WrongAnswer, "%d of %d elements are wrong; the worst is element %d of array %d: got %v, want %v",
		wrong, len(got), worst%s.n, worst/s.n, got[worst], k.result(a[worst], b[worst]))
}

// sumTolerance returns how far a sum of n terms may be from the exact one, where the absolute values of the terms
// have the given sum.
func sumTolerance(n int, absolute float64) float64 {
	return 4 * math.Sqrt(float64(n)) * 0x1p-24 * absolute
}

// verifySums compares the results of a reduction with sums in double precision.
func (k *Spec) verifySums(s size, in [][]float32, got []float32) (d kernels.Deviation, err error) {
	a, b := in[0], in[1]
	worst, excess, message := -1, 0.0, ""
	for array, g := range got {
		sum, absolute := 0.0, 0.0
		for i := array * s.n; i < (array+1)*s.n; i++ {
			t := float64(a[i]) * float64(b[i])
			if k.op.name == "distance" {
				d := float64(a[i]) - float64(b[i])
				t = d * d
			}
			sum += t
			absolute += math.Abs(t)
		}
		tolerance := sumTolerance(s.n, absolute)
		low, high, exact := sum-tolerance, sum+tolerance, sum
		if k.op.name == "distance" {
			low, high = float64(float32(math.Sqrt(max(0, low)))), float64(float32(math.Sqrt(high)))
			exact = math.Sqrt(sum)
		}
		want := float32(exact)
		if low <= float64(g) && float64(g) <= high || math.IsNaN(sum) && g != g || math.IsInf(sum, 0) && g == want {
			// What is tolerated of a distance reaches further down than up.
			d.Add(float64(g)-exact, high-exact)
			d.Add(exact-float64(g), exact-low)
			continue
		}
		// How far it is beyond what is tolerated, in units of that.
		e := math.Abs(float64(g)-float64(want)) / max(high-low, math.SmallestNonzeroFloat64)
		if e != e {
			e = math.Inf(1)
		}
		if worst < 0 || e > excess {
			worst, excess = array, e
			message = fmt.Sprintf("array %d: got %v, want %v (from %v to %v)", array, g, want, low, high)
		}
	}
	if worst < 0 {
		return d, nil
	}
	return d, kernels.Reject(space.WrongAnswer, "%s", message)
}
