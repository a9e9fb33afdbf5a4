package bench

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"tune/kernels"
	"tune/kernels/recorded"
	"tune/results/exchange"
	"tune/space"
)

// Knobs returns tasks that need no file: kernels with knobs that trade accuracy for work. Every point is computed here, in numbers of 32 bits or
// fewer, on inputs that never change. Its error is the largest one of its results beside the same in double precision, as a share of the
// largest right result. Its cost is a count of what a vector processor would do, and no time, so that there is no noise.
func Knobs() ([]DataSpace, error) {
	var out []DataSpace
	for _, k := range []knobs{softmaxKnobs(), productKnobs(), multigridKnobs()} {
		s, err := k.space()
		if err != nil {
			return nil, fmt.Errorf("the task %s: %w", k.name, err)
		}
		out = append(out, s)
	}
	return out, nil
}

// knobs is a kernel with knobs.
type knobs struct {
	name   string
	params []space.Parameter
	valid  func(v []int) bool // of ordinals
	// work returns the operations of a point, and exact its error.
	work, exact func(v []int) float64
}

// space computes all points.
func (k knobs) space() (DataSpace, error) {
	file := &exchange.File{Space: k.name, Objective: "work", Unit: "operations", Parameters: k.params}
	errors := map[string]float64{}
	v := make([]int, len(k.params))
	for more := true; more; more = next(v, k.params) {
		if k.valid(v) {
			file.Rows = append(file.Rows, exchange.Row{Ordinals: slices.Clone(v), Outcome: space.Outcome{Status: space.OK, Cost: k.work(v)}})
			errors[fmt.Sprint(v)] = k.exact(v)
		}
	}
	var text strings.Builder
	if err := file.Write(&text, exchange.Recorded); err != nil {
		return DataSpace{}, err
	}
	kernel, err := recorded.New(k.name+".json", []byte(text.String()))
	if err != nil {
		return DataSpace{}, err
	}
	p, err := kernel.Problem(kernels.Shape{})
	if err != nil {
		return DataSpace{}, err
	}
	column := SecondColumn{"error", "the largest error", func(r *exchange.Row) (float64, bool) { v, ok := errors[fmt.Sprint(r.Ordinals)]; return v, ok }}
	return DataSpace{Name: k.name, Problem: p.(*recorded.Problem), column: &column}, nil
}

// next steps to the next ordinals, and reports whether there are any.
func next(v []int, params []space.Parameter) bool {
	for i := range v {
		if v[i]++; v[i] < params[i].Len() {
			return true
		}
		v[i] = 0
	}
	return false
}

// numbers is a parameter with some whole numbers.
func numbers(name string, values ...int) space.Parameter { return space.Ints(name, values...) }

// remember returns a function that computes each result once; of names the ordinals that it depends on.
func remember(f func(v []int) float64, of func(v []int) []int) func(v []int) float64 {
	known := map[string]float64{}
	return func(v []int) float64 {
		key := fmt.Sprint(of(v))
		if _, ok := known[key]; !ok {
			known[key] = f(v)
		}
		return known[key]
	}
}

// The precisions that numbers are kept in, and how many bits of a mantissa each has, the leading one included.
const (
	f32 = iota
	f16
	bf16
	i8 // with a scale for each block
)

// rounded rounds a number to a precision. Exponents have no limit.
func rounded(x float32, precision int) float32 {
	bits := map[int]int{f32: 24, f16: 11, bf16: 8}[precision]
	if bits == 24 || x == 0 {
		return x
	}
	mantissa, exponent := math.Frexp(float64(x))
	return float32(math.Ldexp(math.RoundToEven(math.Ldexp(mantissa, bits)), exponent-bits))
}

// inputs returns some numbers of a normal distribution, always the same ones.
func inputs(n int, stream uint64) []float32 {
	rng := rand.New(rand.NewPCG(20, stream))
	out := make([]float32, n)
	for i := range out {
		out[i] = float32(rng.NormFloat64())
	}
	return out
}

// off returns the largest difference as a share of the largest right number. One rounding of 32 bits is the least that counts.
func off(got []float32, right []float64) float64 {
	most, size := 0.0, 0.0
	for i, r := range right {
		most, size = max(most, math.Abs(float64(got[i])-r)), max(size, math.Abs(r))
	}
	return max(most/size, 0x1p-24)
}

// softmaxKnobs is the softmax of a row. Exponentials are a table and a polynomial; sums, what is kept and the division may be less exact.
func softmaxKnobs() knobs {
	degrees, tables, sums := []int{1, 2, 3, 4, 5, 6}, []int{0, 1, 2, 3, 4, 5, 6}, []int{1, 2, 4, 8}
	const steps, unrolls = 4, 4
	x := inputs(256, 1)
	right := make([]float64, len(x))
	total := 0.0
	for i, v := range x {
		right[i] = math.Exp(float64(v))
		total += right[i]
	}
	for i := range right {
		right[i] /= total
	}
	return knobs{
		name: "softmax",
		params: []space.Parameter{
			numbers("degree", degrees...), numbers("table", tables...), space.Enum("sum", "f32", "f16", "bf16"), numbers("sums", sums...),
			space.Range("steps", 0, steps-1), space.Enum("keep", "f32", "bf16", "again"), numbers("unroll", 1, 2, 4, 8),
		},
		valid: func([]int) bool { return true },
		work: func(v []int) float64 {
			degree, table, unroll := degrees[v[0]], tables[v[1]], float64(int(1)<<v[6])
			exponential := float64(3 + degree)
			if table > 0 {
				exponential += 1 + float64(table)/2
			}
			add := max(1, 4/float64(sums[v[3]]))
			if v[2] != f32 {
				add = add/2 + 0.25
			}
			keep := []float64{2, 1.5, exponential}[v[5]]
			divide := []float64{1, 3, 5, 8}[v[4]]
			registers := unroll*4 + float64(degree+sums[v[3]])
			return 16 * (exponential + add + keep + divide + 4/unroll + max(0, registers-32)/4)
		},
		exact: remember(func(v []int) float64 {
			return off(softmax(x, degrees[v[0]], tables[v[1]], v[2], sums[v[3]], v[4], v[5] == 1), right)
		}, func(v []int) []int { return []int{v[0], v[1], v[2], v[3], v[4], v[5] % 2} }),
	}
}

// softmax computes a softmax. With 3 steps of Newton's method the division is exact.
func softmax(x []float32, degree, table, sum, sums, steps int, short bool) []float32 {
	out, parts := make([]float32, len(x)), make([]float32, sums)
	for i, v := range x {
		scaled := float64(int(1) << table)
		n := math.Round(float64(v) / math.Ln2 * scaled)
		r := float32(float64(v) - n*math.Ln2/scaled)
		p := float32(1)
		for k := degree; k > 0; k-- {
			p = float32(1) + float32(p*r)/float32(k)
		}
		out[i] = float32(p * float32(math.Exp2(n/scaled)))
		parts[i%sums] = rounded(parts[i%sums]+out[i], sum)
		if short {
			out[i] = rounded(out[i], bf16)
		}
	}
	total := float32(0)
	for _, p := range parts {
		total = rounded(total+p, sum)
	}
	inverse := 1 / total
	if steps < 3 {
		inverse = rounded(inverse, bf16)
		for range steps {
			inverse = float32(inverse * (2 - float32(total*inverse)))
		}
	}
	for i := range out {
		out[i] = float32(out[i] * inverse)
	}
	return out
}

// productKnobs is a product of matrices whose elements and sums may have fewer bits.
func productKnobs() knobs {
	blocks, chunks := []int{16, 32, 64, 128, 256}, []int{512, 128, 32, 8}
	rows, columns := []int{1, 2, 4, 6, 8}, []int{1, 2, 3, 4}
	const length, results = 512, 16
	a, b := inputs(length*results, 2), inputs(length*results, 3)
	right := make([]float64, results)
	for i := range a {
		right[i/length] += float64(a[i]) * float64(b[i])
	}
	bytes := []float64{4, 2, 2, 1}
	return knobs{
		name: "product",
		params: []space.Parameter{
			space.Enum("a", "f32", "f16", "bf16", "i8"), space.Enum("b", "f32", "f16", "bf16", "i8"), numbers("block", blocks...),
			space.Enum("sum", "f32", "f16"), numbers("chunk", chunks...), space.Bool("compensated"), numbers("rows", rows...), numbers("columns", columns...),
		},
		valid: func(v []int) bool {
			scaled, short := v[0] == i8 || v[1] == i8, v[3] == f16
			return (scaled || v[2] == 0) && (short || v[4] == 0) && rows[v[6]]*columns[v[7]] <= 24
		},
		work: func(v []int) float64 {
			mr, nr := float64(rows[v[6]]), float64(columns[v[7]])
			lanes := 64 / max(bytes[v[0]], bytes[v[1]], []float64{4, 2}[v[3]])
			steps := length / lanes
			multiply := max(mr*nr, 8) / 2
			load := (mr*bytes[v[0]] + nr*bytes[v[1]]) * lanes / 64
			if v[0] != v[1] {
				load += (mr + nr) / 2
			}
			if v[5] == 1 {
				multiply *= 2.5
			}
			extra := mr * nr * length / float64(chunks[v[4]])
			if v[0] == i8 || v[1] == i8 {
				extra += mr * nr * length / float64(blocks[v[2]])
			}
			return (steps*(max(multiply, load)+1) + extra) / (mr * nr)
		},
		exact: remember(func(v []int) float64 {
			p := product{a: v[0], b: v[1], block: blocks[v[2]], sum: v[3], chunk: chunks[v[4]], compensated: v[5] == 1}
			got := make([]float32, results)
			for i := range got {
				got[i] = p.dot(a[i*length:(i+1)*length], b[i*length:(i+1)*length])
			}
			return off(got, right)
		}, func(v []int) []int { return v[:6] }),
	}
}

// product is how the elements of a product are kept and summed.
type product struct {
	a, b, block, sum, chunk int
	compensated             bool
}

// dot computes one element. After each chunk the sum is added to one of 32 bits.
func (p product) dot(a, b []float32) float32 {
	x, y := kept(a, p.a, p.block), kept(b, p.b, p.block)
	var total, part, lost float32
	for i := range x {
		term := float32(x[i] * y[i])
		if p.compensated { // Kahan, "Further remarks on reducing truncation errors", 1965
			term = rounded(term-lost, p.sum)
			after := rounded(part+term, p.sum)
			lost = rounded(rounded(after-part, p.sum)-term, p.sum)
			part = after
		} else {
			part = rounded(part+term, p.sum)
		}
		if (i+1)%p.chunk == 0 {
			total, part, lost = total+part-lost, 0, 0
		}
	}
	return total
}

// kept returns elements as they are kept.
func kept(x []float32, precision, block int) []float32 {
	out := make([]float32, len(x))
	for from := 0; from < len(x); from += block {
		to := min(from+block, len(x))
		largest := float32(0)
		for _, v := range x[from:to] {
			largest = max(largest, float32(math.Abs(float64(v))))
		}
		for i := from; i < to; i++ {
			if precision == i8 {
				scale := largest / 127
				out[i] = float32(scale * float32(math.RoundToEven(float64(x[i]/scale))))
			} else {
				out[i] = rounded(x[i], precision)
			}
		}
	}
	return out
}

// multigridKnobs solves Poisson's equation on a line by cycles over coarser and coarser grids, which end before the solution is exact.
func multigridKnobs() knobs {
	coarsest, weights := []int{1, 2, 4, 8}, []int{50, 60, 67, 75, 85, 100}
	const n = 63
	force := inputs(n, 4)
	right := exactLine(force)
	m := func(v []int) *multigrid {
		return &multigrid{levels: v[0] + 1, before: v[1], after: v[2], weight: float32(weights[v[3]]) / 100, coarsest: coarsest[v[4]]}
	}
	return knobs{
		name: "multigrid",
		params: []space.Parameter{
			space.Range("levels", 1, 5), space.Range("before", 0, 3), space.Range("after", 0, 3), numbers("weight", weights...),
			numbers("coarsest", coarsest...), space.Range("cycles", 1, 6),
		},
		valid: func(v []int) bool { return v[1]+v[2] > 0 },
		work: func(v []int) float64 {
			g := m(v)
			g.run(force, v[5]+1)
			return float64(g.updates)
		},
		exact: func(v []int) float64 { return off(m(v).run(force, v[5]+1), right) },
	}
}

// exactLine solves -u” = f with u = 0 at both ends, by elimination.
func exactLine(force []float32) []float64 {
	n := len(force)
	slope, value := make([]float64, n), make([]float64, n) // u[i] = value[i] + slope[i]·u[i+1]
	before, known := 0.0, 0.0
	for i, f := range force {
		slope[i] = 1 / (2 - before)
		value[i] = (float64(f) + known) * slope[i]
		before, known = slope[i], value[i]
	}
	for i := n - 2; i >= 0; i-- {
		value[i] += slope[i] * value[i+1]
	}
	return value
}

// multigrid is a solver, which counts the updates of numbers.
type multigrid struct {
	levels, before, after, coarsest int
	weight                          float32
	updates                         int
}

func (m *multigrid) run(force []float32, cycles int) []float32 {
	u := make([]float32, len(force))
	for range cycles {
		m.cycle(u, force, 1)
	}
	return u
}

// cycle is a V-cycle from a level on (Briggs, Henson and McCormick, "A multigrid tutorial", 2000).
func (m *multigrid) cycle(u, force []float32, level int) {
	if level == m.levels {
		m.smooth(u, force, m.coarsest)
		return
	}
	m.smooth(u, force, m.before)
	half := len(u) / 2
	coarse, rest := make([]float32, half), residual(u, force)
	for i := range coarse {
		coarse[i] = rest[2*i] + 2*rest[2*i+1] + rest[2*i+2]
	}
	step := make([]float32, half)
	m.updates += 2 * len(u)
	m.cycle(step, coarse, level+1)
	for i, s := range step {
		u[2*i] += s / 2
		u[2*i+1] += s
		u[2*i+2] += s / 2
	}
	m.smooth(u, force, m.after)
}

// smooth is damped Jacobi.
func (m *multigrid) smooth(u, force []float32, times int) {
	for range times {
		for i, r := range residual(u, force) {
			u[i] += float32(m.weight * r / 2)
		}
		m.updates += len(u)
	}
}

// residual is what is left of the force.
func residual(u, force []float32) []float32 {
	out := make([]float32, len(u))
	for i := range u {
		out[i] = force[i] - 2*u[i]
		if i > 0 {
			out[i] += u[i-1]
		}
		if i+1 < len(u) {
			out[i] += u[i+1]
		}
	}
	return out
}
