package attention

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"tune/kernels"
	"tune/kernels/blocks"
	"tune/kernels/native"
	"tune/space"
)

// operands are the inputs of one case, and what is known of its result.
type operands struct {
	*Spec
	size
	q    []float32
	k, v numbers

	// The rows that are compared, by the number head·queries + query; and for each element of them what it has to be, and the
	// tolerance of it.
	rows            []int
	want, tolerance []float32
	// least and largest bound every element of a kv head, as mean values of it.
	least, largest []float32
}

// numbers are keys or values, in the type that the kernel reads.
type numbers struct {
	floats []float32
	halves []uint16
	bf16   bool
}

// newNumbers rounds floats to a type.
func newNumbers(kv string, floats []float32) numbers {
	if kv == kvF32 {
		return numbers{floats: floats}
	}
	n := numbers{halves: make([]uint16, len(floats)), bf16: kv == kvBF16}
	for i, f := range floats {
		if n.bf16 {
			n.halves[i] = blocks.ToBF16(f)
		} else {
			n.halves[i] = blocks.ToF16(f)
		}
	}
	return n
}

// bytes are those that the kernel reads.
func (n numbers) bytes() []byte {
	if n.halves == nil {
		return native.AsBytes(n.floats)
	}
	return native.AsBytes(n.halves)
}

// widen writes the numbers from an index on.
func (n numbers) widen(from int, to []float64) {
	switch {
	case n.halves == nil:
		for i, f := range n.floats[from : from+len(to)] {
			to[i] = float64(f)
		}
	case n.bf16:
		for i, h := range n.halves[from : from+len(to)] {
			to[i] = float64(blocks.FromBF16(h))
		}
	default:
		for i, h := range n.halves[from : from+len(to)] {
			to[i] = float64(blocks.FromF16(h))
		}
	}
}

// The number of multiply-adds up to which every row is computed from all of its keys, and of those that are spent on some rows of
// larger shapes.
const (
	wholeLimit = 1 << 27
	someLimit  = 1 << 26
)

// rowCost is the number of multiply-adds of a row that sees the whole context: scores, values, and absolute values.
func (a *Spec) rowCost(s size) int { return 3 * s.context * a.head }

// whole reports whether every row of a case is computed from all of its keys.
func (a *Spec) whole(s size) bool {
	return 3*a.visible(s)*float64(a.head)*float64(s.heads) <= wholeLimit
}

// someRows draws rows to compare: of each head one at least, and the first and the last of all.
func (a *Spec) someRows(s size, rng *rand.Rand) []int {
	rows := []int{0, s.heads*s.queries - 1}
	for h := range s.heads {
		rows = append(rows, h*s.queries+rng.IntN(s.queries))
	}
	for range someLimit/a.rowCost(s) - len(rows) {
		rows = append(rows, rng.IntN(s.heads*s.queries))
	}
	slices.Sort(rows)
	return slices.Compact(rows)
}

// seen is how many keys a query sees.
func (o *operands) seen(query int) int {
	if o.causal {
		return o.context - o.queries + query + 1
	}
	return o.context
}

// query writes a query, as its scores are computed from it.
func (o *operands) query(row int, to []float64) {
	scale := 1 / math.Sqrt(float64(o.head))
	for d, f := range o.q[row*o.head : (row+1)*o.head] {
		if o.accuracy == accuracyBF16 {
			f = blocks.FromBF16(blocks.ToBF16(f))
		}
		to[d] = float64(f) * scale
	}
}

// prepare computes what verify compares with, for the given rows in ascending order, each from all of its keys.
func (o *operands) prepare(ctx context.Context, rows []int) error {
	o.setRows(rows)
	return o.eachKVHead(ctx, func(kvHead int) {
		first, last := o.rowsOf(kvHead)
		if first < last {
			o.direct(kvHead, first, last)
		}
	})
}

func (o *operands) setRows(rows []int) {
	o.rows = rows
	o.want, o.tolerance = make([]float32, len(rows)*o.head), make([]float32, len(rows)*o.head)
	o.least, o.largest = make([]float32, o.kvHeads), make([]float32, o.kvHeads)
}

// eachKVHead calls f for each kv head, in parallel, after it has bounded its values.
func (o *operands) eachKVHead(ctx context.Context, f func(kvHead int)) error {
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for kvHead := range o.kvHeads {
		group.Go(func() error {
			if ctx.Err() == nil {
				o.bound(kvHead)
				f(kvHead)
			}
			return ctx.Err()
		})
	}
	return group.Wait()
}

// bound finds the least and the largest value of a kv head.
func (o *operands) bound(kvHead int) {
	value := make([]float64, o.head)
	least, largest := math.Inf(1), math.Inf(-1)
	for j := range o.context {
		o.v.widen((kvHead*o.context+j)*o.head, value)
		least, largest = min(least, slices.Min(value)), max(largest, slices.Max(value))
	}
	o.least[kvHead], o.largest[kvHead] = float32(least), float32(largest)
}

// rowsOf returns the range of o.rows of a kv head.
func (o *operands) rowsOf(kvHead int) (first, last int) {
	of := o.group() * o.queries
	first, _ = slices.BinarySearch(o.rows, kvHead*of)
	last, _ = slices.BinarySearch(o.rows, (kvHead+1)*of)
	return first, last
}

// keyBlock is how many keys, or values, are widened at once, and rowBlock how many rows share them.
const (
	keyBlock = 64
	rowBlock = 256
)

// direct computes rows of a kv head from all of their keys.
func (o *operands) direct(kvHead, first, last int) {
	for ; first < last; first += rowBlock {
		o.directBlock(kvHead, first, min(first+rowBlock, last))
	}
}

func (o *operands) directBlock(kvHead, first, last int) {
	d, n := o.head, last-first
	base := kvHead * o.context
	block, q, weights := make([]float64, keyBlock*d), make([]float64, n*d), make([]float64, n*o.context)
	for r := range n {
		o.query(o.rows[first+r], q[r*d:(r+1)*d])
	}
	blocks := func(from numbers, use func(r, j int, element []float64)) {
		for j0 := 0; j0 < o.context; j0 += keyBlock {
			j1 := min(j0+keyBlock, o.context)
			from.widen((base+j0)*d, block[:(j1-j0)*d])
			for r := range n {
				for j := j0; j < min(j1, o.seen(o.rows[first+r]%o.queries)); j++ {
					use(r, j, block[(j-j0)*d:(j-j0+1)*d])
				}
			}
		}
	}
	blocks(o.k, func(r, j int, key []float64) { weights[r*o.context+j] = dot(q[r*d:(r+1)*d], key) })
	for r := range n {
		softmax(weights[r*o.context : r*o.context+o.seen(o.rows[first+r]%o.queries)])
	}
	sums, absolute := make([]float64, n*d), make([]float64, n*d)
	blocks(o.v, func(r, j int, value []float64) {
		w, s, a := weights[r*o.context+j], sums[r*d:(r+1)*d], absolute[r*d:(r+1)*d]
		for i, v := range value {
			s[i] += w * v
			a[i] += w * math.Abs(v)
		}
	})
	for r := range n {
		o.set(first+r, sums[r*d:(r+1)*d], absolute[r*d:(r+1)*d])
	}
}

// set notes a result and its tolerance.
func (o *operands) set(at int, sums, absolute []float64) {
	tolerance := tolerances[o.accuracy]
	for i, s := range sums {
		o.want[at*o.head+i] = float32(s)
		o.tolerance[at*o.head+i] = float32(tolerance * absolute[i])
	}
}

func dot(a, b []float64) float64 {
	var s0, s1 float64
	b = b[:len(a)]
	i := 0
	for ; i+2 <= len(a); i += 2 {
		s0 += a[i] * b[i]
		s1 += a[i+1] * b[i+1]
	}
	for ; i < len(a); i++ {
		s0 += a[i] * b[i]
	}
	return s0 + s1
}

// softmax replaces scores by their weights.
func softmax(x []float64) {
	top, sum := slices.Max(x), 0.0
	for i, s := range x {
		x[i] = math.Exp(s - top)
		sum += x[i]
	}
	for i := range x {
		x[i] /= sum
	}
}

// prepareCoded computes every row of a case whose keys are codes, of which key j of a kv head is the one with the number
// code[kvHead·context + j]. A row then is Σ exp(q · code) V(code) / Σ exp(q · code) N(code) over the codes, where N is how many keys
// of a code the row sees, and V the sum of their values. Both grow with the query.
func (o *operands) prepareCoded(ctx context.Context, codes int, code []uint8) error {
	rows := make([]int, o.heads*o.queries)
	for i := range rows {
		rows[i] = i
	}
	o.setRows(rows)
	return o.eachKVHead(ctx, func(kvHead int) { o.coded(kvHead, codes, code[kvHead*o.context:(kvHead+1)*o.context]) })
}

func (o *operands) coded(kvHead, codes int, code []uint8) {
	d, base := o.head, kvHead*o.context
	keys, values, absolute := make([]float64, codes*d), make([]float64, codes*d), make([]float64, codes*d)
	count := make([]float64, codes)
	value, q, scores := make([]float64, d), make([]float64, d), make([]float64, codes)
	sums, sizes := make([]float64, d), make([]float64, d)
	upto := 0
	for i := range o.queries {
		for ; upto < o.seen(i); upto++ {
			c := int(code[upto])
			if count[c]++; count[c] == 1 {
				o.k.widen((base+upto)*d, keys[c*d:(c+1)*d])
			}
			o.v.widen((base+upto)*d, value)
			for e, v := range value {
				values[c*d+e] += v
				absolute[c*d+e] += math.Abs(v)
			}
		}
		for h := kvHead * o.group(); h < (kvHead+1)*o.group(); h++ {
			o.query(h*o.queries+i, q)
			top, total := math.Inf(-1), 0.0
			for c := range codes {
				scores[c] = dot(q, keys[c*d:(c+1)*d])
				if count[c] > 0 {
					top = max(top, scores[c])
				}
			}
			clear(sums)
			clear(sizes)
			for c, s := range scores {
				if count[c] == 0 {
					continue
				}
				w := math.Exp(s - top)
				total += w * count[c]
				for e := range sums {
					sums[e] += w * values[c*d+e]
					sizes[e] += w * absolute[c*d+e]
				}
			}
			for e := range sums {
				sums[e] /= total
				sizes[e] /= total
			}
			o.set(h*o.queries+i, sums, sizes)
		}
	}
}

// verify compares results. Rows that are not compared have to lie between the least and the largest value, as every mean does.
func (o *operands) verify(out []float32) (kernels.Deviation, error) {
	var d kernels.Deviation
	worst, at, excess := -1, 0, 1.0
	for n, row := range o.rows {
		h, i := row/o.queries, row%o.queries
		start := (i*o.heads + h) * o.head
		for e := range o.head {
			want, tolerance := float64(o.want[n*o.head+e]), float64(o.tolerance[n*o.head+e])
			off := math.Abs(float64(out[start+e]) - want)
			if off <= tolerance {
				d.Add(off, tolerance)
				continue
			}
			share := off / max(tolerance, math.SmallestNonzeroFloat32)
			if share != share {
				share = math.Inf(1)
			}
			if worst < 0 || share > excess {
				worst, at, excess = start+e, n*o.head+e, share
			}
		}
	}
	if worst >= 0 {
		return d, kernels.Reject(space.WrongAnswer, "out[query %d, head %d, %d] is %v, want %v: %.3g times the tolerance",
			worst/o.head/o.heads, worst/o.head%o.heads, worst%o.head, out[worst], o.want[at], excess)
	}
	if len(o.rows) == o.heads*o.queries {
		return d, nil
	}
	slack := float32(tolerances[o.accuracy])
	for i, x := range out {
		h := i / o.head % o.heads
		least, largest := o.least[h/o.group()], o.largest[h/o.group()]
		room := slack * max(-least, largest)
		if !(least-room <= x && x <= largest+room) {
			return d, kernels.Reject(space.WrongAnswer, "out[query %d, head %d, %d] is %v, beyond the values it is a mean of, from %v to %v",
				i/o.head/o.heads, h, i%o.head, x, least, largest)
		}
	}
	return d, nil
}
