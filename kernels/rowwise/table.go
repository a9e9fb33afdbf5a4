package rowwise

import (
	"math"
	"strings"
	"sync"
)

// tableLanes is how many segments a table has: a vector of each coefficient is one register, which an instruction permutes by the
// numbers of the segments.
const tableLanes = 16

// table has polynomials for g(a) = a·F(−a), where F is the logistic function or Φ: x·F(x) = max(0, x) − g(|x|). Segment i is
// around i steps.
type table struct {
	bound        float64     // from here on g is 0
	coefficients [][]float64 // by power, then by segment, of a in steps from the middle of the segment
}

// step is the length of a segment.
func (t table) step() float64 { return t.bound / (tableLanes - 1) }

// newTable interpolates g at Chebyshev's points of each segment. In the first segment g(0) is exactly 0, so that small results
// have small errors; the last one is lowered a little, so that from the bound on g is 0.
func newTable(factor func(x float64) float64, bound float64, degree int) table {
	t := table{bound: bound, coefficients: make([][]float64, degree+1)}
	for segment := range tableLanes {
		var polynomial []float64
		middle := float64(segment) * t.step()
		g := func(r float64) float64 { a := middle + r*t.step(); return a * factor(-a) }
		switch segment {
		case 0:
			slope := func(r float64) float64 { return g(r) / r }
			polynomial = append([]float64{0}, interpolate(slope, 0, 0.5, degree)...)
		case tableLanes - 1:
			slope := func(r float64) float64 { return (g(r) - g(0)) / r }
			polynomial = append([]float64{0}, interpolate(slope, -0.5, 0, degree)...)
		default:
			polynomial = interpolate(g, -0.5, 0.5, degree+1)
		}
		for power, c := range polynomial {
			t.coefficients[power] = append(t.coefficients[power], c)
		}
	}
	return t
}

// powers has polynomials for 2ᵗ: segment i is around t = i/16, and its argument is what t is above that.
func powers(degree int) table {
	t := table{coefficients: make([][]float64, degree+1)}
	for segment := range tableLanes {
		f := func(r float64) float64 { return math.Exp2(float64(segment)/tableLanes + r) }
		for power, c := range interpolate(f, -0.5/tableLanes, 0.5/tableLanes, degree+1) {
			t.coefficients[power] = append(t.coefficients[power], c)
		}
	}
	return t
}

// interpolate returns the coefficients, the lowest power first, of a polynomial through so many points of f between a and b.
func interpolate(f func(float64) float64, a, b float64, points int) []float64 {
	nodes, divided := make([]float64, points), make([]float64, points)
	for i := range nodes {
		nodes[i] = (a+b)/2 + (b-a)/2*math.Cos(math.Pi*(float64(i)+0.5)/float64(points))
		divided[i] = f(nodes[i])
	}
	for level := 1; level < points; level++ {
		for i := points - 1; i >= level; i-- {
			divided[i] = (divided[i] - divided[i-1]) / (nodes[i] - nodes[i-level])
		}
	}
	out := make([]float64, points)
	for i := points - 1; i >= 0; i-- {
		// out = out·(x − nodes[i]) + divided[i]
		for power := points - 1; power > 0; power-- {
			out[power] = out[power-1] - out[power]*nodes[i]
		}
		out[0] = divided[i] - out[0]*nodes[i]
	}
	return out
}

// logistic is the factor of silu.
func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// cubicLogistic is the factor of gelu by tanh.
func cubicLogistic(x float64) float64 {
	return logistic(2 * math.Sqrt(2/math.Pi) * (x + 0.044715*x*x*x))
}

// phi is the factor of gelu by erf.
func phi(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }

// tables are those of the factors, by whether they are exact.
var tables = map[bool]func() map[string]table{
	true: sync.OnceValue(func() map[string]table {
		return map[string]table{"silu": newTable(logistic, 15, 5), "gelu": newTable(cubicLogistic, 5, 4), "gelu-erf": newTable(phi, 5, 4), "softmax": powers(2)}
	}),
	false: sync.OnceValue(func() map[string]table {
		return map[string]table{"silu": newTable(logistic, 8, 2), "gelu": newTable(cubicLogistic, 4, 2), "gelu-erf": newTable(phi, 4, 2), "softmax": powers(1)}
	}),
}

// tableOf returns the table of an operation.
func tableOf(op string, exact bool) table {
	if strings.HasPrefix(op, "swiglu") {
		op = "silu"
	}
	return tables[exact]()[op]
}

// texts returns the coefficients as constants of C, the highest power first.
func (t table) texts() []string {
	var out []string
	for power := len(t.coefficients) - 1; power >= 0; power-- {
		out = append(out, strings.Join(floats(t.coefficients[power]...), ", "))
	}
	return out
}

// TableBound is where the table ends.
func (k knobs) TableBound() string { return floats(k.table.bound)[0] }

// TableSteps is the number of segments in a unit.
func (k knobs) TableSteps() string { return floats(1 / k.table.step())[0] }

// TableRows are the coefficients.
func (k knobs) TableRows() []string { return k.table.texts() }
