package blocks

import "math"

// refinements is how often the quantisers of sub-blocks try neighbours of the small scales, and solve for the large ones.
const refinements = 2

// search looks for the parts of a block with sub-blocks, in which x ≈ d·scale·q − min·offset.
type search struct {
	x                     []float32
	sub                   int
	quants, scale, offset limits

	d, min          float64
	scales, offsets [16]int
}

// fitMins finds the parts of a block of 8 sub-blocks with scales and minima of six bits.
func fitMins(x []float32, highest int, p *Parts) {
	// min·offset is subtracted: with a positive min a sub-block reaches below zero. It is negative where no weight is.
	lowest := x[0]
	for _, v := range x {
		lowest = min(lowest, v)
	}
	allowed, sign := notPositive, 1.0
	if lowest > 0 {
		allowed, sign = notNegative, -1
	}
	f := search{x: x, sub: 32, quants: limits{0, highest}, scale: limits{0, 63}, offset: limits{0, 63}}
	var s, b [16]float64
	steepest, deepest := 0.0, 0.0
	for j := range 8 {
		s[j], b[j] = lineThrough(f.part(j), highest, allowed)
		steepest, deepest = max(steepest, s[j]), max(deepest, math.Abs(b[j]))
	}
	f.start(steepest/63, sign*deepest/63, &s, &b)
	f.refine()
	f.write(p)
}

// fit6K finds the parts of a block of q6_k: 16 sub-blocks with scales of eight bits, which have signs.
func fit6K(x []float32, p *Parts) {
	f := search{x: x, sub: 16, quants: limits{-32, 31}, scale: limits{-128, 127}}
	var s, b [16]float64
	steepest := 0.0
	for j := range s {
		s[j] = fitScale(f.part(j), f.quants, exactly)
		if math.Abs(s[j]) > math.Abs(steepest) {
			steepest = s[j]
		}
	}
	g := f
	f.start(steepest/-128, 0, &s, &b)
	g.start(steepest/127, 0, &s, &b)
	f.refine()
	g.refine()
	if g.total() < f.total() {
		f = g
	}
	f.write(p)
}

// part returns the weights of a sub-block.
func (f *search) part(j int) []float32 { return f.x[j*f.sub:][:f.sub] }

// line returns the line of a sub-block with some scale and offset.
func (f *search) line(scale, offset int) (d, b float64) {
	return float64(f.d * float64(scale)), -float64(f.min * float64(offset))
}

// start takes scales of the block, and rounds lines of the sub-blocks to them.
func (f *search) start(d, min float64, s, b *[16]float64) {
	f.d, f.min = toF16(d), toF16(min)
	for j := range len(f.x) / f.sub {
		if f.d != 0 {
			f.scales[j] = int(nearest(s[j]/f.d, float64(f.scale.low), float64(f.scale.high)))
		}
		if f.min != 0 {
			f.offsets[j] = int(nearest(-b[j]/f.min, float64(f.offset.low), float64(f.offset.high)))
		}
	}
}

// refine lowers the error by small steps.
func (f *search) refine() {
	for range refinements {
		for j := range len(f.x) / f.sub {
			f.neighbours(j)
		}
		if !f.solve() {
			break
		}
	}
}

// total returns the squared error of the block.
func (f *search) total() (e float64) {
	for j := range len(f.x) / f.sub {
		d, b := f.line(f.scales[j], f.offsets[j])
		e += lineError(f.part(j), d, b, f.quants)
	}
	return e
}

// neighbours takes the best scale and offset of a sub-block that are at most 1 away from those that it has.
func (f *search) neighbours(j int) {
	x, scale, offset := f.part(j), f.scales[j], f.offsets[j]
	d, b := f.line(scale, offset)
	least := lineError(x, d, b, f.quants)
	for s := max(scale-1, f.scale.low); s <= min(scale+1, f.scale.high); s++ {
		for o := max(offset-1, f.offset.low); o <= min(offset+1, f.offset.high); o++ {
			d, b := f.line(s, o)
			if e := lineError(x, d, b, f.quants); e < least {
				least, f.scales[j], f.offsets[j] = e, s, o
			}
		}
	}
}

// solve takes the scales of the block that are those of least squares for all integers as they are, if the error falls.
func (f *search) solve() bool {
	var aa, ac, cc, xa, xc float64 // sums over x ≈ d·a + min·c
	for j := range len(f.x) / f.sub {
		d, b := f.line(f.scales[j], f.offsets[j])
		if d == 0 {
			d = math.Inf(1) // all quants are 0
		}
		c := -float64(f.offsets[j])
		for _, v := range f.part(j) {
			v := float64(v)
			a := float64(f.scales[j]) * nearest((v-b)/d, float64(f.quants.low), float64(f.quants.high))
			aa, ac, cc = aa+float64(a*a), ac+float64(a*c), cc+float64(c*c)
			xa, xc = xa+float64(v*a), xc+float64(v*c)
		}
	}
	next := *f
	if det := float64(aa*cc) - float64(ac*ac); det > 1e-9*float64(aa*cc) {
		next.d = toF16((float64(xa*cc) - float64(xc*ac)) / det)
		next.min = toF16((float64(xc*aa) - float64(xa*ac)) / det)
	} else if aa > 0 {
		next.d = toF16(xa / aa)
	}
	if !(next.total() < f.total()) {
		return false
	}
	*f = next
	return true
}

// write hands out the parts that were found.
func (f *search) write(p *Parts) {
	p.D, p.Min = float32(f.d), float32(f.min)
	for j := range len(f.x) / f.sub {
		p.Scales[j], p.Mins[j] = int8(f.scales[j]), uint8(f.offsets[j])
		d, b := f.line(f.scales[j], f.offsets[j])
		put(f.part(j), d, b, f.quants, p.Quants[j*f.sub:])
	}
}
