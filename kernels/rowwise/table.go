package rowwise

import (
	"math"
	"strings"
)

// tableLanes is how many segments a table has for each register of a coefficient: an instruction permutes one register, or two, by
// the numbers of the segments.
const tableLanes = 16

// table has polynomials for F(−a), a ≥ 0, where F is the logistic function or Φ: x·F(x) = max(0, x) − |x|·F(−|x|). Segment i is
// around i steps.
type table struct {
	segments     int
	bound        float64     // from here on F is 0
	coefficients [][]float64 // by power, then by segment, of a in steps from the middle of the segment
}

// last is the number of the segment at the bound: 15, or 30 of two registers. By those the bounds have quotients that are exact as floats,
// so that F is exactly 0 at the bound; 31 is a prime.
func (t table) last() int { return t.segments / tableLanes * (tableLanes - 1) }

// step is the length of a segment.
func (t table) step() float64 { return t.bound / float64(t.last()) }

// newTable interpolates F at Chebyshev's points of each segment. The last one is lowered a little, so that at the bound F is 0.
func newTable(factor func(x float64) float64, segments int, bound float64, degree int) table {
	t := table{segments: segments, bound: bound, coefficients: make([][]float64, degree+1)}
	for segment := range segments {
		middle := float64(segment) * t.step()
		f := func(r float64) float64 { return factor(-(middle + r*t.step())) }
		var polynomial []float64
		switch {
		case segment == 0:
			polynomial = interpolate(f, 0, 0.5, degree+1)
		case segment > t.last():
			polynomial = make([]float64, degree+1) // never looked up
		case segment == t.last():
			slope := func(r float64) float64 { return (f(r) - f(0)) / r }
			polynomial = append([]float64{0}, interpolate(slope, -0.5, 0, degree)...)
		default:
			polynomial = interpolate(f, -0.5, 0.5, degree+1)
		}
		for power, c := range polynomial {
			t.coefficients[power] = append(t.coefficients[power], c)
		}
	}
	return t
}

// powers has polynomials for 2ᵗ: segment i is around t = i/16, and its argument is what t is above that.
func powers(degree int) table {
	t := table{segments: tableLanes, coefficients: make([][]float64, degree+1)}
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

// tableShape is what table an operation has: its bound and, by the number of segments, the degree of its polynomials.
type tableShape struct {
	factor  func(x float64) float64
	bound   float64
	degrees map[int]int
}

// tableShapes are those of the factors, by whether they are exact. The degrees are the least that keep within the tolerance.
var tableShapes = map[bool]map[string]tableShape{
	true: {
		"silu":     {logistic, 15, map[int]int{16: 5, 32: 4}},
		"gelu":     {cubicLogistic, 5, map[int]int{16: 4, 32: 3}},
		"gelu-erf": {phi, 5, map[int]int{16: 4, 32: 3}},
	},
	false: {
		"silu":     {logistic, 8, map[int]int{16: 2, 32: 1}},
		"gelu":     {cubicLogistic, 4, map[int]int{16: 2, 32: 1}},
		"gelu-erf": {phi, 4, map[int]int{16: 2, 32: 1}},
	},
}

// tableOf returns the table of an operation.
func tableOf(op string, segments int, exact bool) table {
	if op == "softmax" {
		return powers(map[bool]int{true: 2, false: 1}[exact])
	}
	if strings.HasPrefix(op, "swiglu") {
		op = "silu"
	}
	s := tableShapes[exact][op]
	return newTable(s.factor, segments, s.bound, s.degrees[segments])
}

// TableBound is where the table ends.
func (k knobs) TableBound() string { return floats(k.table.bound)[0] }

// TableSteps is the number of segments in a unit.
func (k knobs) TableSteps() string { return floats(1 / k.table.step())[0] }

// TableRows are the coefficients as constants of C, the highest power first, each by registers.
func (k knobs) TableRows() [][]string {
	var out [][]string
	for power := len(k.table.coefficients) - 1; power >= 0; power-- {
		texts := floats(k.table.coefficients[power]...)
		var registers []string
		for at := 0; at < len(texts); at += tableLanes {
			registers = append(registers, strings.Join(texts[at:at+tableLanes], ", "))
		}
		out = append(out, registers)
	}
	return out
}
