package user

import (
	"bytes"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"

	"tune/kernels"
	"tune/kernels/native"
	"tune/space"
)

var _ native.Reshaper = (*sourceSpec)(nil)

// Reshape returns inputs like those of a variant, but with another distribution. Random numbers stay in their range, and elements of files
// stay among those of the file. What the file keeps as it is, with vary: false or by its type, stays as it is.
func (s *sourceSpec) Reshape(p space.Point, inputs [][]byte, seed uint64) (reshaped [][]byte, note string, err error) {
	if s.s.asIs {
		return nil, "", nil
	}
	c, err := s.s.shapeCase(p, s.constants)
	if err != nil {
		return nil, "", kernels.Reject(space.Invalid, "%v", s.s.explain(err))
	}
	reshaped, names := s.s.reshapeInputs(c, inputs, seed)
	if len(names) == 0 {
		return nil, "", nil
	}
	return reshaped, reshapedText(names), nil
}

// reshapedText says in a message which inputs have another distribution, and what accepts a candidate that takes no notice of it.
func reshapedText(names []string) string {
	return inputsText(names, "has", "have") + " another distribution: write vary: false, in source or at the argument of a file, if the function may keep what it has found in earlier inputs"
}

// reshapeInputs returns the inputs of a call with another distribution, and the names of those that it changed.
func (s *source) reshapeInputs(c call, inputs [][]byte, seed uint64) (out [][]byte, names []string) {
	out = slices.Clone(inputs)
	for i, b := range c.buffers {
		if b.Mode == native.Out {
			continue
		}
		// Each buffer has its own random stream, so that it does not depend on the other arguments.
		h := fnv.New64a()
		h.Write([]byte("reshape " + b.Name))
		how, stream := s.variationOf(c, i), h.Sum64()
		switch {
		case !s.fixedBuffer(c, i):
			out[i] = s.bendRandom(c, i, inputs[i], seed, stream)
		case how != unvaried && orderOf(b.Len, elementsOf(inputs[i], b.Elem)) != 0:
			out[i] = stretchOrdered(inputs[i], b.Elem)
		case how != unvaried:
			out[i] = redraw(inputs[i], b.Elem, seed, stream)
		}
		if !bytes.Equal(out[i], inputs[i]) {
			names = append(names, b.Name)
		}
	}
	return out, names
}

// elementsOf returns a function that reads the elements of a buffer.
func elementsOf(data []byte, elem native.Elem) func(i int) float64 {
	size := elem.Size()
	return func(i int) float64 { return decode(data[i*size:(i+1)*size], elem) }
}

// eachPart calls f for the parts of n elements, several at once, each with a random stream of its own: large inputs take long.
func eachPart(n int, seed, stream uint64, f func(from, to int, rng *rand.Rand)) {
	const length = 1 << 16
	native.InParts((n+length-1)/length, func(first, last int) {
		for k := first; k < last; k++ {
			f(k*length, min((k+1)*length, n), rand.New(rand.NewPCG(seed, stream+uint64(k))))
		}
	})
}

// bend is a rising function from the numbers between 0 and 1 to a part of them. It brings the lower half of them closer together than the
// upper half; mirrored does the opposite.
type bend struct {
	from, knee, to float64 // of 0, 1/2 and 1
	mirrored       bool
}

// drawBend draws a bend for the numbers of a range. Most of them then lie near that end of the range which is farther from 0, or near any
// end where both are equally far. So it changes the mean, the greatest number, their ratio, and the share of numbers above 0.
func drawBend(low, high float64, rng *rand.Rand) bend {
	b := bend{from: 0.2 + rng.Float64()/20, to: 0.55 + rng.Float64()/20}
	b.knee = b.from + 0.15*(b.to-b.from)
	b.mirrored = math.Abs(high) > math.Abs(low) || math.Abs(high) == math.Abs(low) && rng.Uint64()%2 == 0
	return b
}

func (b bend) of(u float64) float64 {
	if b.mirrored {
		u = 1 - u
	}
	v := b.from + 2*u*(b.knee-b.from)
	if u > 0.5 {
		v = b.knee + (2*u-1)*(b.to-b.knee)
	}
	if b.mirrored {
		v = 1 - v
	}
	return v
}

// bendRandom returns random numbers with another distribution in their range. Whole numbers are rounded up or down at random, so that a
// range of two numbers keeps both.
func (s *source) bendRandom(c call, i int, data []byte, seed, stream uint64) []byte {
	b, a := c.buffers[i], s.arguments[c.index[i]]
	low, lowErr := a.fill.low.number(c.values)
	high, highErr := a.fill.high.number(c.values)
	if lowErr != nil || highErr != nil {
		return data // and nothing could have been drawn
	}
	whole := a.fill.integers || !floating(b.Elem)
	size, at, width := b.Elem.Size(), elementsOf(data, b.Elem), high-low
	out := make([]byte, len(data))
	bent := drawBend(low, high, rand.New(rand.NewPCG(seed, stream)))
	eachPart(b.Len, seed, stream+1, func(from, to int, rng *rand.Rand) {
		part := out[from*size : from*size]
		for e := from; e < to; e++ {
			x := low + width*bent.of((at(e)-low)/width)
			if whole {
				x = min(max(math.Floor(x+rng.Float64()), low), high)
			}
			part = encode(part, x, b.Elem)
		}
	})
	return out
}

// redraw returns elements of data with another distribution. Of three elements, which are drawn around each place, it takes the lower one
// of two, or the third where that is nearer to 0. Elements beyond three quarters of the others are hardly ever drawn. No value is new.
func redraw(data []byte, elem native.Elem, seed, stream uint64) []byte {
	size, at := elem.Size(), elementsOf(data, elem)
	n := len(data) / size
	limit := upperQuartile(n, at, rand.New(rand.NewPCG(seed, stream)))
	out := make([]byte, len(data))
	eachPart(n, seed, stream+1, func(from, to int, rng *rand.Rand) {
		draw := func(i int) int {
			const tries = 16
			for range tries {
				if math.Abs(at(i)) <= limit {
					break
				}
				i = from + rng.IntN(to-from)
			}
			return i
		}
		for e := from; e < to; e++ {
			i := draw(e)
			if j := draw(from + rng.IntN(to-from)); at(j) < at(i) {
				i = j
			}
			k := draw(from + rng.IntN(to-from))
			if near, far := math.Abs(at(k)), math.Abs(at(i)); near < far || near == far && at(k) < at(i) {
				i = k
			}
			copy(out[e*size:(e+1)*size], data[i*size:(i+1)*size])
		}
	})
	return out
}

// upperQuartile returns a number that the absolute values of about three quarters of n numbers do not exceed.
func upperQuartile(n int, at func(i int) float64, rng *rand.Rand) float64 {
	const most = 1000
	var values []float64
	for i := range min(n, most) {
		if n > most {
			i = rng.IntN(n)
		}
		if x := math.Abs(at(i)); !math.IsNaN(x) {
			values = append(values, x)
		}
	}
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[(len(values)-1)*3/4]
}

// stretchOrdered returns elements that are in order with another distribution: the first quarter of them is stretched over half of the
// places. Floats between two elements are new; integers are those of data. The order stays, and so do the first and the last element.
func stretchOrdered(data []byte, elem native.Elem) []byte {
	size, at := elem.Size(), elementsOf(data, elem)
	n := len(data) / size
	out := make([]byte, 0, len(data))
	for i := range n {
		place := 0.5 * float64(i)
		if half := float64(n-1) / 2; float64(i) > half {
			place = half/2 + 1.5*(float64(i)-half)
		}
		k := min(int(place), n-1)
		between := place - float64(k)
		if k == n-1 || !floating(elem) || between == 0 {
			out = append(out, data[k*size:(k+1)*size]...)
			continue
		}
		x, y := at(k), at(k+1)
		if step := y - x; space.Finite(step) {
			x += between * step
		}
		out = encode(out, x, elem)
	}
	return out
}
