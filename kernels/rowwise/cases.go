package rowwise

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"

	"tune/kernels/native"
	"tune/space"
)

// filling says what the inputs of a case are.
type filling uint8

const (
	ordinary filling = iota // of the size that they have in a model
	extremes                // rows of NaN, of infinities, of zeros, of equal, of large and of low elements
)

// size is the size of one case.
type size struct{ rows, cols, heads int }

// CaseClass names one class for all points: the odd sizes are odd for every width of vectors and number of rows.
func (k *Spec) CaseClass(space.Point) string { return "" }

// Cases returns the asked shape and odd ones: less than a vector, several steps with some left over, several stretches of a sum,
// many short rows, and special numbers.
func (k *Spec) Cases(ctx context.Context, _ space.Point, seed uint64) ([]native.Case, error) {
	rng := rand.New(rand.NewPCG(seed, 0x726f7773))
	list := []native.Case{k.newCase(k.size, ordinary, seed, 0)}
	for i, one := range []struct {
		size
		filling
	}{
		{size{1 + rng.IntN(3), 1 + rng.IntN(33), 1}, ordinary},
		{size{9 + rng.IntN(8), 34 + rng.IntN(500), 3 + rng.IntN(9)}, ordinary},
		{size{1 + rng.IntN(4), 2*sumSpan + rng.IntN(sumSpan), 2}, ordinary},
		{size{70 + rng.IntN(30), 1 + rng.IntN(70), 5}, ordinary},
		{size{extremeRows + rng.IntN(4), 32 + rng.IntN(120), 1}, extremes},
		{size{extremeRows, sumSpan + 1 + rng.IntN(sumSpan), 1}, extremes},
	} {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		list = append(list, k.newCase(k.fit(one.size), one.filling, seed, uint64(i+1)))
	}
	return list, nil
}

// fit returns a size near to one that the operation has.
func (k *Spec) fit(s size) size {
	switch {
	case k.op.q8:
		s.cols += q8Weights - 1 - (s.cols-1)%q8Weights
	case k.op.rope:
		s.cols += s.cols % 2
		s.rows += s.heads - 1 - (s.rows-1)%s.heads
	}
	if !k.op.rope {
		s.heads = 1
	}
	return s
}

// Variant returns the asked shape with the inputs of a seed.
func (k *Spec) Variant(_ context.Context, _ space.Point, seed uint64) (native.Case, error) {
	return k.newCase(k.size, ordinary, seed, 0), nil
}

// VariantClass names one class for all points.
func (k *Spec) VariantClass(space.Point) string { return "" }

// Draw returns the inputs of the asked shape for a seed.
func (k *Spec) Draw(_ context.Context, _ space.Point, seed uint64) ([][]byte, error) {
	return k.newCase(k.size, ordinary, seed, 0).Inputs, nil
}

// newCase draws the inputs of a case. The same seed and number give the same inputs everywhere.
func (k *Spec) newCase(s size, fill filling, seed, number uint64) native.Case {
	c := native.Case{
		Name:    fmt.Sprintf("rows=%d cols=%d heads=%d", s.rows, s.cols, s.heads),
		Dims:    []int64{int64(s.rows), int64(s.cols), int64(s.heads)},
		Buffers: k.buffers(s),
	}
	inputs := make([][]float32, len(k.op.inputs))
	var group sync.WaitGroup
	for i, b := range c.Buffers {
		if b.Mode != native.In {
			c.Inputs = append(c.Inputs, nil)
			continue
		}
		inputs[i] = make([]float32, b.Len)
		c.Inputs = append(c.Inputs, native.AsBytes(inputs[i]))
		group.Go(func() {
			rng := rand.New(rand.NewPCG(seed, number<<8|uint64(i)))
			k.fill(inputs[i], b.Name, s, rng)
			switch {
			case fill == extremes && i == 0:
				k.placeExtremes(inputs[0], s, rng)
			case fill == extremes && k.op.q8:
				spread(inputs[i], rng)
			}
		})
	}
	group.Wait()
	c.Verify = (&reference{Spec: k, size: s, in: inputs}).verify
	return c
}

// fill draws the ordinary content of an input.
func (k *Spec) fill(data []float32, name string, s size, rng *rand.Rand) {
	if name == "table" {
		angles(data, s.cols, k.firstPosition(rng))
		return
	}
	scale, offset := 2.0, 0.0
	switch name {
	case "w":
		scale, offset = 0.5, 1
	case "x", "g":
		if k.op.exponential {
			scale = 8
		}
	}
	for i := range data {
		data[i] = float32(scale*(float64(rng.Uint64()>>40)*0x1p-23-1) + offset)
	}
	if k.op.name == "layernorm" && name == "x" {
		for r := range s.rows {
			mean := float32(4*rng.Float64() - 2)
			for i := r * s.cols; i < (r+1)*s.cols; i++ {
				data[i] += mean
			}
		}
	}
}

// firstPosition draws the position of the first token.
func (k *Spec) firstPosition(rng *rand.Rand) int {
	if k.fromZero {
		return 0
	}
	return rng.IntN(1 << 12)
}

// ropeBase is the base of the angles of rope.
const ropeBase = 10000

// angles fills a table of cosines and sines, of positions that follow each other: pair j turns by position · ropeBase^(−2j/cols).
func angles(table []float32, cols, position int) {
	for row := 0; row < len(table); row += cols {
		for j := range cols / 2 {
			angle := float64(position) * math.Pow(ropeBase, -2*float64(j)/float64(cols))
			table[row+j], table[row+cols/2+j] = float32(math.Cos(angle)), float32(math.Sin(angle))
		}
		position++
	}
}

// spread gives blocks of numbers different magnitudes, so that their scales are normal, subnormal and zero in half precision.
func spread(data []float32, rng *rand.Rand) {
	for i := 0; i < len(data); i += q8Weights {
		factor := float32(math.Ldexp(1, rng.IntN(50)-35))
		for j := i; j < i+q8Weights; j++ {
			data[j] *= factor
		}
	}
}

// extremeRows is the number of kinds of rows in extreme inputs.
const extremeRows = 10

// placeExtremes writes special rows over the ordinary ones.
func (k *Spec) placeExtremes(data []float32, s size, rng *rand.Rand) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	// Exponentials of differences of these are 0 or 1, and squares are floats.
	large := float32(1e15)
	if k.op.flat {
		large = 1e3
	}
	for r := range s.rows {
		row := data[r*s.cols : (r+1)*s.cols]
		at := rng.IntN(len(row))
		switch r % extremeRows {
		case 0:
			row[at] = nan
			for i := range row {
				if k.op.name == "argmax" && rng.IntN(3) == 0 {
					row[i] = nan // among them after the maximum, in its lane
				}
			}
		case 1:
			row[at] = inf
		case 2:
			row[at] = -inf
		case 3, 4, 5:
			for i := range row {
				row[i] = []float32{-inf, 0, row[i]}[r%extremeRows-3]
				if r%extremeRows == 5 && rng.IntN(2) == 0 {
					row[i] = -inf
				}
			}
		case 6:
			for i := range row {
				row[i] = float32(rng.IntN(5) - 2)
			}
		case 7:
			for i := range row {
				row[i] *= large
			}
		case 8:
			for i := range row {
				row[i] = float32(math.Copysign(1e-30, float64(row[i])))
			}
		case 9:
			for i := range row {
				row[i] -= 85 // exponentials are near the least float
			}
		}
	}
}
