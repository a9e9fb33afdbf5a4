package rowwise

import (
	"encoding/binary"
	"fmt"
	"math"
	"runtime"
	"sync"

	"tune/kernels"
	"tune/kernels/blocks"
	"tune/kernels/native"
	"tune/space"
)

// The tolerances, see the package's documentation.
const (
	toleranceNorm    = 1e-6 // of the norms, rope and activations
	toleranceSoftmax = 1e-5 // of softmax and layernorm
	toleranceFast    = 1e-3
	// least is what results may be wrong by in any case: below it they may be 0.
	least = 0x1p-120
	// activationReach bounds the part of a tolerance that grows with the input.
	activationReach = 8
)

// reference computes in double precision what a case has to become, row by row.
type reference struct {
	*Spec
	size
	in [][]float32
}

// wanted is what one element has to become.
type wanted struct{ value, tolerance float64 }

// right reports whether a result is what is wanted.
func (w wanted) right(got float64) bool {
	return got == w.value || math.IsNaN(got) && math.IsNaN(w.value) || math.Abs(got-w.value) <= w.tolerance
}

// verify compares the outputs.
func (f *reference) verify(buffers [][]byte) (kernels.Deviation, error) {
	workers := min(runtime.GOMAXPROCS(0), f.rows)
	deviations, mistakes := make([]kernels.Deviation, workers), make([]mistake, workers)
	var group sync.WaitGroup
	for part := range workers {
		group.Go(func() {
			for row := f.rows * part / workers; row < f.rows*(part+1)/workers; row++ {
				f.verifyRow(row, buffers, &deviations[part], &mistakes[part])
			}
		})
	}
	group.Wait()
	var d kernels.Deviation
	var all mistake
	for part := range workers {
		d = d.Or(deviations[part])
		all.merge(mistakes[part])
	}
	if all.count > 0 {
		return d, kernels.Reject(space.WrongAnswer, "%d of %d results are wrong; the worst is %s", all.count, f.results(), all.text)
	}
	return d, nil
}

// results returns how many results there are.
func (f *reference) results() int {
	if f.op.name == "argmax" {
		return f.rows
	}
	return f.rows * f.cols * len(f.op.outputs)
}

// mistake collects wrong results.
type mistake struct {
	count int
	worst float64 // in tolerances
	text  string
}

// add counts a wrong result, which is off by so many tolerances.
func (m *mistake) add(off float64, format string, args ...any) {
	m.count++
	if math.IsNaN(off) {
		off = math.Inf(1)
	}
	if m.text == "" || off > m.worst {
		m.worst, m.text = off, fmt.Sprintf(format, args...)
	}
}

func (m *mistake) merge(other mistake) {
	if other.count > 0 && (m.text == "" || other.worst > m.worst) {
		m.worst, m.text = other.worst, other.text
	}
	m.count += other.count
}

// verifyRow compares a row of each output.
func (f *reference) verifyRow(row int, buffers [][]byte, d *kernels.Deviation, m *mistake) {
	if f.op.name == "argmax" {
		got, want := int32(binary.NativeEndian.Uint32(buffers[1][4*row:])), f.argmax(row)
		if got != want {
			m.add(math.Inf(1), "row %d: got %d, want %d", row, got, want)
		}
		return
	}
	outputs := buffers[len(f.in):]
	if f.op.q8 {
		bytes := f.cols / q8Weights * q8Bytes
		f.verifyBlocks(row, f.row(row), outputs[0][row*bytes:(row+1)*bytes], m)
		return
	}
	if f.op.name == "add-rmsnorm" {
		f.compare(row, "s", f.added(row), native.AsFloats(outputs[0]), d, m)
		outputs = outputs[1:]
	}
	f.compare(row, "y", f.row(row), native.AsFloats(outputs[0]), d, m)
}

// compare compares a row of floats.
func (f *reference) compare(row int, name string, want []wanted, all []float32, d *kernels.Deviation, m *mistake) {
	got := all[row*f.cols : (row+1)*f.cols]
	for i, w := range want {
		g := float64(got[i])
		if !w.right(g) {
			m.add(math.Abs(g-w.value)/max(w.tolerance, math.SmallestNonzeroFloat64), "element %d of row %d of %s: got %v, want %v", i, row, name, got[i], float32(w.value))
			continue
		}
		d.Add(math.Abs(g-w.value), w.tolerance)
	}
}

// line returns a row of an input that has the rows of the output.
func (f *reference) line(input, row int) []float32 {
	return f.in[input][row*f.cols : (row+1)*f.cols]
}

// row returns what the elements of a row of the last output have to become, before they are quantised.
func (f *reference) row(row int) []wanted {
	switch f.op.name {
	case "softmax":
		return f.softmax(f.line(0, row))
	case "rmsnorm", "rmsnorm-q8":
		return f.rmsnorm(f.line(0, row), f.in[1])
	case "add-rmsnorm":
		s := make([]float32, f.cols)
		for i, w := range f.added(row) {
			s[i] = float32(w.value)
		}
		return f.rmsnorm(s, f.in[2])
	case "layernorm":
		return f.layernorm(f.line(0, row))
	case "rope":
		return f.turned(row, func(i int) (first, second int) { return i, i + f.cols/2 })
	case "rope-pairwise":
		return f.turned(row, func(i int) (first, second int) { return 2 * i, 2*i + 1 })
	}
	out := make([]wanted, f.cols)
	for i, x := range f.line(0, row) {
		out[i] = f.activated(float64(x))
		if len(f.in) > 1 {
			u := float64(f.line(1, row)[i])
			out[i].value *= u
			out[i].tolerance *= math.Abs(u)
		}
		out[i].tolerance += least
	}
	return out
}

// tolerance returns the wider one where the shape admits it.
func (f *reference) tolerance(exact float64) float64 {
	if f.fast {
		return toleranceFast
	}
	return exact
}

func (f *reference) softmax(x []float32) []wanted {
	top, sum := math.Inf(-1), 0.0
	for _, v := range x {
		top = math.Max(top, float64(v))
	}
	out := make([]wanted, len(x))
	for i, v := range x {
		out[i].value = math.Exp(float64(v) - top)
		sum += out[i].value
	}
	for i := range out {
		out[i].value /= sum
		out[i].tolerance = f.tolerance(toleranceSoftmax)*out[i].value + least
	}
	return out
}

// added returns the sums of two rows, which have to be exact.
func (f *reference) added(row int) []wanted {
	out := make([]wanted, f.cols)
	r := f.line(1, row)
	for i, x := range f.line(0, row) {
		out[i].value = float64(x + r[i])
	}
	return out
}

func (f *reference) rmsnorm(x, w []float32) []wanted {
	squares := 0.0
	for _, v := range x {
		squares += float64(v) * float64(v)
	}
	scale := 1 / math.Sqrt(squares/float64(len(x))+f.eps)
	out := make([]wanted, len(x))
	for i, v := range x {
		y := float64(v) * scale * float64(w[i])
		out[i] = wanted{y, toleranceNorm*math.Abs(y) + least}
	}
	return out
}

func (f *reference) layernorm(x []float32) []wanted {
	n, mean, squares := float64(len(x)), 0.0, 0.0
	for _, v := range x {
		mean += float64(v) / n
	}
	for _, v := range x {
		squares += (float64(v) - mean) * (float64(v) - mean)
	}
	scale := 1 / math.Sqrt(squares/n+f.eps)
	out := make([]wanted, len(x))
	for i, v := range x {
		z, w, b := (float64(v)-mean)*scale, float64(f.in[1][i]), float64(f.in[2][i])
		out[i] = wanted{z*w + b, toleranceSoftmax*(math.Abs(w)*(math.Abs(z)+max(1, math.Abs(mean)*scale))+math.Abs(b)) + least}
	}
	return out
}

// turned turns the pairs of a row.
func (f *reference) turned(row int, pair func(i int) (first, second int)) []wanted {
	x, table := f.line(0, row), f.in[1][row/f.heads*f.cols:]
	out := make([]wanted, f.cols)
	for i := range f.cols / 2 {
		first, second := pair(i)
		a, b := float64(x[first]), float64(x[second])
		c, s := float64(table[i]), float64(table[f.cols/2+i])
		out[first] = wanted{a*c - b*s, toleranceNorm*(math.Abs(a*c)+math.Abs(b*s)) + least}
		out[second] = wanted{a*s + b*c, toleranceNorm*(math.Abs(a*s)+math.Abs(b*c)) + least}
		if f.fromZero {
			// Who computes the angles turns by a slightly other one, which moves the results by a share of the whole pair.
			out[first].tolerance = toleranceFast * (math.Abs(a) + math.Abs(b))
			out[second].tolerance = out[first].tolerance
		}
	}
	return out
}

// activated returns silu or gelu of x, without the least tolerance.
func (f *reference) activated(x float64) wanted {
	var y float64
	switch {
	case math.IsInf(x, -1):
		// y is 0, the limit.
	case f.op.name == "gelu":
		y = x / (1 + math.Exp(-2*math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
	case f.op.name == "gelu-erf":
		y = x / 2 * math.Erfc(-x/math.Sqrt2)
	default:
		y = x / (1 + math.Exp(-x))
	}
	return wanted{y, f.tolerance(toleranceNorm) * (math.Abs(y) + min(math.Abs(x), activationReach))}
}

// argmax returns the first place of the largest element.
func (f *reference) argmax(row int) int32 {
	best, top := int32(0), float32(math.Inf(-1))
	for i, v := range f.line(0, row) {
		if v > top {
			best, top = int32(i), v
		}
	}
	return best
}

// verifyBlocks compares a row of blocks of Q8_0 with the numbers that they stand for.
func (f *reference) verifyBlocks(row int, want []wanted, got []byte, m *mistake) {
	for b := range f.cols / q8Weights {
		f.verifyBlock(fmt.Sprintf("block %d of row %d", b, row), want[b*q8Weights:(b+1)*q8Weights], got[b*q8Bytes:(b+1)*q8Bytes], m)
	}
}

// verifyBlock compares a block: its scale has to be one that numbers within the tolerances have, and so does each integer.
func (f *reference) verifyBlock(name string, want []wanted, got []byte, m *mistake) {
	amax, off := 0.0, 0.0
	finite := true
	for _, w := range want {
		finite = finite && !math.IsNaN(w.value) && !math.IsInf(w.value, 0)
		amax, off = max(amax, math.Abs(w.value)), max(off, w.tolerance)
	}
	bits := binary.LittleEndian.Uint16(got)
	quants := got[2:]
	if !finite {
		amax, off = 0, 0
	}
	// 1e-6 is for the rounding of d before it becomes half precision.
	low, high := blocks.ToF16(float32(max(0, amax-off)/127*(1-1e-6))), blocks.ToF16(float32((amax+off)/127*(1+1e-6)))
	if !finite {
		low, high = 0x7e00, 0x7e00
	}
	if bits < low || bits > high {
		m.add(math.Inf(1), "%s: d is %#04x, want %#04x, for %v", name, bits, low, float32(amax/127))
	}
	d := amax / 127
	for i, w := range want {
		q := float64(int8(quants[i]))
		if !finite || d < leastScale {
			if q != 0 {
				m.add(math.Inf(1), "%s: element %d is %v, want 0", name, i, q)
			}
			continue
		}
		// Halfway between two integers either is right.
		slack := (w.tolerance+off)/d + 1e-4
		if e := math.Abs(q - w.value/d); e > 0.5+slack {
			m.add(e, "%s: element %d is %v, want %v", name, i, q, math.RoundToEven(w.value/d))
		}
	}
}
