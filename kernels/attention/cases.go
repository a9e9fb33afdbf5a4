package attention

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

// filling says what the inputs of a case are.
type filling uint8

const (
	// uniform inputs have scores with a deviation of about 2, so that some keys weigh much more than others.
	uniform filling = iota
	// coded inputs have a few different keys in each head, in random order.
	coded
	// extremes have heads of equal keys, of queries that are zero, of scores so large that few keys weigh anything, and of tiny
	// values; with values of half precision, also of subnormal ones.
	extremes
)

// spread is the largest query of uniform inputs, steep that of heads with large scores, and growing the last of scores that grow
// from its opposite on.
const (
	spread  = 6
	steep   = 40
	growing = 20
)

// codes is how many different keys a head of coded inputs has.
const codes = 16

// askedOf returns the cases of the asked shape: the one that is timed, and a coded one where that is not compared as a whole.
func (a *Spec) askedOf(ctx context.Context, seed uint64) ([]native.Case, error) {
	return a.asked.Of(seed, func() (cases []native.Case, err error) {
		fills := []filling{uniform}
		if !a.whole(a.size) {
			fills = append(fills, coded)
		}
		for n, fill := range fills {
			c, err := a.newCase(ctx, a.size, fill, seed, uint64(n))
			if err != nil {
				return nil, err
			}
			cases = append(cases, c)
		}
		return cases, nil
	})
}

// CaseClass names what the cases of a point depend on: the sizes of its tiles.
func (a *Spec) CaseClass(p space.Point) string {
	k := a.knobs(p)
	return fmt.Sprintf("%d keys, %d rows", k.TileKeys, k.TileRows)
}

// Cases returns the asked shape and odd ones: a single key, a few keys, more than two tiles of keys, more than a tile of rows, and
// extreme inputs.
func (a *Spec) Cases(ctx context.Context, p space.Point, seed uint64) ([]native.Case, error) {
	return a.casesWith(ctx, p, seed, func(kvHeads int) int { return kvHeads })
}

// casesWith returns cases with a number of kv heads that may depend on the one that is asked for.
func (a *Spec) casesWith(ctx context.Context, p space.Point, seed uint64, heads func(int) int) ([]native.Case, error) {
	k := a.knobs(p)
	tileKeys, tileRows := max(k.TileKeys, 32), max(k.TileRows, 1)
	rng := rand.New(rand.NewPCG(seed, 0x617474656e))
	g := a.group()
	few := 2 + rng.IntN(4)
	many := tileRows/g + 1 + rng.IntN(5)
	sized := func(queries, context, kvHeads int) size {
		return size{queries, context, heads(kvHeads) * g, heads(kvHeads)}
	}
	sizes := []size{
		sized(1, 1, 1),
		sized(few, few+rng.IntN(40), 2),
		sized(1+rng.IntN(3), 2*tileKeys+1+rng.IntN(tileKeys), 1),
		sized(many, many+rng.IntN(30), 1),
	}
	if !a.causal {
		sizes[1].context = 1 + rng.IntN(few) // fewer keys than queries
	}
	list, err := a.askedOf(ctx, seed)
	if err != nil {
		return nil, err
	}
	list = append([]native.Case(nil), list...)
	add := func(s size, fill filling) error {
		c, err := a.newCase(ctx, s, fill, seed, uint64(len(list)+1))
		list = append(list, c)
		return err
	}
	for _, s := range sizes {
		if err := add(s, uniform); err != nil {
			return nil, err
		}
	}
	rows := 1 + rng.IntN(6)
	if err := add(sized(rows, rows+tileKeys+rng.IntN(tileKeys), extremeHeads), extremes); err != nil {
		return nil, err
	}
	return list, nil
}

// Variant returns the asked shape with the inputs of a seed.
func (a *Spec) Variant(ctx context.Context, _ space.Point, seed uint64) (native.Case, error) {
	return a.newCase(ctx, a.size, uniform, seed, 0)
}

// Draw returns the inputs of the asked shape for a seed.
func (a *Spec) Draw(_ context.Context, _ space.Point, seed uint64) ([][]byte, error) {
	o, _ := a.draw(a.size, uniform, seed, 0)
	return o.inputs(), nil
}

// VariantClass names one class for all points.
func (a *Spec) VariantClass(space.Point) string { return "" }

// newCase makes a case with its reference. The same seed and number give the same inputs everywhere.
func (a *Spec) newCase(ctx context.Context, s size, fill filling, seed, number uint64) (native.Case, error) {
	o, code := a.draw(s, fill, seed, number)
	var err error
	switch {
	case fill == coded:
		err = o.prepareCoded(ctx, codes, code)
	case a.whole(s):
		rows := make([]int, s.heads*s.queries)
		for i := range rows {
			rows[i] = i
		}
		err = o.prepare(ctx, rows)
	default:
		err = o.prepare(ctx, a.someRows(s, rand.New(rand.NewPCG(seed, 0x726f7773))))
	}
	return o.asCase(), err
}

// inputs are the contents of the buffers.
func (o *operands) inputs() [][]byte {
	return [][]byte{native.AsBytes(o.q), o.k.bytes(), o.v.bytes(), nil}
}

// asCase makes the case of prepared operands.
func (o *operands) asCase() native.Case {
	const result = 3
	c := native.Case{
		Name:    fmt.Sprintf("queries=%d context=%d heads=%d kv_heads=%d", o.queries, o.context, o.heads, o.kvHeads),
		Dims:    []int64{int64(o.queries), int64(o.context), int64(o.heads), int64(o.kvHeads), int64(o.head)},
		Buffers: o.buffers(o.size),
		Inputs:  o.inputs(),
	}
	want := *o
	want.q, want.k, want.v = nil, numbers{}, numbers{} // the case holds them
	c.Verify = func(buffers [][]byte) (kernels.Deviation, error) {
		return want.verify(native.AsFloats(buffers[result]))
	}
	return c
}

// draw draws inputs; for coded ones, it also returns the code of each key.
func (a *Spec) draw(s size, fill filling, seed, number uint64) (*operands, []uint8) {
	var group sync.WaitGroup
	draw := func(stream uint64, n int, scale float32, to *[]float32) {
		group.Go(func() { *to = symmetric(rand.New(rand.NewPCG(seed, number<<8|stream)), n, scale) })
	}
	var q, k, v []float32
	draw(0, s.heads*s.queries*a.head, spread, &q)
	draw(1, s.kvHeads*s.context*a.head, 1, &k)
	draw(2, s.kvHeads*s.context*a.head, 1, &v)
	group.Wait()
	o := &operands{Spec: a, size: s, q: q}
	var code []uint8
	switch fill {
	case coded:
		code = o.codeKeys(k, rand.New(rand.NewPCG(seed, number<<8|3)))
	case extremes:
		o.extremes(k, v)
	}
	o.k, o.v = newNumbers(a.kv, k), newNumbers(a.kv, v)
	return o, code
}

// symmetric draws floats from [-scale, scale).
func symmetric(rng *rand.Rand, n int, scale float32) []float32 {
	out := make([]float32, n)
	scale /= 1 << 23
	for i := 0; i < n; i += 2 {
		bits := rng.Uint64()
		out[i] = float32(int32(bits)>>8) * scale
		if i+1 < n {
			out[i+1] = float32(int32(bits>>32)>>8) * scale
		}
	}
	return out
}

// codeKeys replaces each key by one of the first keys of its head, drawn at random.
func (o *operands) codeKeys(k []float32, rng *rand.Rand) []uint8 {
	code := make([]uint8, o.kvHeads*o.context)
	for h := range o.kvHeads {
		first := h * o.context
		book := append([]float32(nil), k[first*o.head:(first+min(codes, o.context))*o.head]...)
		n := len(book) / o.head
		for j := range o.context {
			c := rng.IntN(n)
			code[first+j] = uint8(c)
			copy(k[(first+j)*o.head:(first+j+1)*o.head], book[c*o.head:])
		}
	}
	return code
}

// extremeHeads is the number of kinds of heads in extreme inputs.
const extremeHeads = 5

// extremes changes uniform inputs: kv head by kv head, all keys are equal; the queries are zero; the scores are large; the values
// are tiny; or the largest score is that of the last key, and scores grow from key to key.
func (o *operands) extremes(k, v []float32) {
	d, n := o.head, o.context*o.head
	for h := range o.kvHeads {
		keys, values := k[h*n:(h+1)*n], v[h*n:(h+1)*n]
		q := o.q[h*o.group()*o.queries*d : (h+1)*o.group()*o.queries*d]
		switch h % extremeHeads {
		case 0:
			for j := 1; j < o.context; j++ {
				copy(keys[j*d:(j+1)*d], keys[:d])
			}
		case 1:
			clear(q)
		case 2:
			for i := range q {
				q[i] *= steep / spread
			}
		case 3:
			for i := range values {
				values[i] *= 0x1p-13 // half of them subnormal in half precision
			}
		case 4:
			for i := range q {
				q[i] = growing / float32(math.Sqrt(float64(d)))
			}
			for i := range keys {
				keys[i] = float32(i/d)/float32(o.context)*2 - 1
			}
		}
	}
}
