package blocks

import "math"

// largest returns the largest magnitude of some values.
func largest(x []float32) (most float32) {
	for _, v := range x {
		if v < 0 {
			v = -v
		}
		most = max(most, v)
	}
	return most
}

// fit80 is the definition of q8_0.
func fit80(x []float32, p *Parts) {
	d := largest(x) / 127
	p.D, p.Scales[0] = FromF16(ToF16(d)), 1
	if p.D != 0 {
		multiply(x, 1/d, p)
	}
}

// fit8K is the definition of q8_k.
func fit8K(x []float32, p *Parts) {
	d := largest(x) / 127
	p.Scales[0] = 1
	if d < 0x1p-126 {
		return
	}
	if p.D = d; math.IsInf(float64(d*127), 0) { // the largest float32 itself, rounded up
		p.D = float32(math.Inf(1))
		return
	}
	multiply(x, 1/d, p)
	for i := range p.Sums {
		for _, q := range p.Quants[16*i:][:16] {
			p.Sums[i] += int16(q)
		}
	}
}

// multiply sets the quants to the rounded products of the weights and a number.
func multiply(x []float32, by float32, p *Parts) {
	for i, v := range x {
		p.Quants[i] = int8(math.RoundToEven(float64(v * by)))
	}
}

// toF16 rounds a scale to a fp16. A subnormal one is rounded away from zero, because its steps are wide: a smaller scale would not
// reach the largest weights.
func toF16(v float64) float64 {
	h := ToF16(float32(v))
	if h&0x7fff < 0x400 && math.Abs(float64(FromF16(h))) < math.Abs(v)*(1-1e-6) {
		h++
	}
	return float64(FromF16(h))
}

// exactly leaves a scale as it is.
func exactly(v float64) float64 { return v }

// nearest returns the whole number from low to high that is nearest to a value.
func nearest(v, low, high float64) float64 {
	v = math.RoundToEven(v)
	if v < low {
		return low
	}
	if v > high {
		return high
	}
	return v
}

// fitSimple finds the scale of one block without minima.
func fitSimple(x []float32, q limits, p *Parts) {
	d := fitScale(x, q, toF16)
	p.D, p.Scales[0] = float32(d), 1
	put(x, d, 0, q, p.Quants[:])
}

// put sets the quants of weights to those nearest under x ≈ d·q + b. Without a scale, all are 0.
func put(x []float32, d, b float64, q limits, quants []int8) {
	if d == 0 {
		clear(quants[:len(x)])
		return
	}
	inverse, low, high := 1/d, float64(q.low), float64(q.high)
	for i, v := range x {
		quants[i] = int8(nearest((float64(v)-b)*inverse, low, high))
	}
}

// fitScale finds a scale d, made fit by round, for which x ≈ d·q has a small squared error with quants within limits. It returns 0
// for zeros, and an infinity where round does so for all scales.
func fitScale(x []float32, q limits, round func(float64) float64) float64 {
	far := 0.0 // the weight that is farthest from 0
	for _, v := range x {
		if v := float64(v); math.Abs(v) > math.Abs(far) {
			far = v
		}
	}
	if far == 0 {
		return 0
	}
	// The error that is left with the scale of least squares is Σx² − (Σxq)²/Σq².
	score, scale := 0.0, 0.0
	for step := range 9 {
		n := float64(q.low) - 1 + float64(step)/2
		for _, d := range [2]float64{far / n, -far / n} {
			if _, xq, qq := scaleError(x, d, q); qq > 0 && float64(xq*xq)/qq > score {
				score, scale = float64(xq*xq)/qq, xq/qq
			}
		}
	}
	d := round(far / float64(q.low)) // what is usual: the result is never worse
	if math.IsInf(d, 0) {
		return d
	}
	least, _, _ := scaleError(x, d, q)
	for next := round(scale); ; {
		e, xq, qq := scaleError(x, next, q)
		if !(e < least) {
			return d
		}
		d, least, next = next, e, round(xq/qq)
	}
}

// scaleError returns the squared error of x ≈ d·q with the nearest quants, and Σxq and Σq².
func scaleError(x []float32, d float64, q limits) (e, xq, qq float64) {
	inverse, low, high := 1/d, float64(q.low), float64(q.high)
	for _, v := range x {
		v := float64(v)
		n := nearest(v*inverse, low, high)
		off := v - float64(d*n)
		e += float64(off * off)
		xq += float64(v * n)
		qq += float64(n * n)
	}
	return e, xq, qq
}

// side says which sign the offset of a line may have.
type side int

const (
	anySign side = iota
	notPositive
	notNegative
)

// bound moves an offset to the nearest one that is allowed.
func (s side) bound(b float64) float64 {
	switch s {
	case notPositive:
		return min(b, 0)
	case notNegative:
		return max(b, 0)
	}
	return b
}

// lineThrough finds a line for which x ≈ s·q + b has a small squared error with quants from 0 to a highest one, s ≥ 0 and b on the
// allowed side.
func lineThrough(x []float32, highest int, allowed side) (s, b float64) {
	low, high := float64(x[0]), float64(x[0])
	for _, v := range x {
		low, high = min(low, float64(v)), max(high, float64(v))
	}
	b = allowed.bound(low)
	if high <= b {
		return 0, b
	}
	// Everything is relative to b, so that nothing cancels where b is large.
	base, n, least := b, float64(len(x)), math.Inf(1)
	for step := range 9 {
		scale, shift := (high-base)/(float64(highest)+1-float64(step)/2), 0.0
		var y, yy, q, qq, yq float64
		for _, v := range x {
			v := float64(v) - base
			k := nearest(v/scale, 0, float64(highest))
			y, yy, q, qq, yq = y+v, yy+float64(v*v), q+k, qq+float64(k*k), yq+float64(v*k)
		}
		scale = yq / qq
		if det := float64(n*qq) - float64(q*q); det > 0 {
			scale = (float64(n*yq) - float64(y*q)) / det
			shift = (y - float64(scale*q)) / n
		}
		if b := allowed.bound(base + shift); b != base+shift || scale <= 0 {
			shift = b - base
			scale = (yq - float64(shift*q)) / qq
		}
		// Σ(y − s·q − c)²
		e := yy + float64(scale*scale*qq) + float64(shift*shift*n) - 2*(float64(scale*yq)+float64(shift*y)-float64(scale*shift*q))
		if scale > 0 && e < least {
			least, s, b = e, scale, base+shift
		}
	}
	return s, b
}

// fitLine finds the scale and the minimum of one block whose minimum is a number of its own.
func fitLine(x []float32, highest int, p *Parts) {
	q := limits{0, highest}
	low, high := float64(x[0]), float64(x[0])
	for _, v := range x {
		low, high = min(low, float64(v)), max(high, float64(v))
	}
	usual := reachable(low)
	scale, offset := toF16((high-usual)/float64(highest)), usual // what is usual: the result is never worse
	if math.IsInf(toF16(low), -1) || math.IsInf(scale, 0) {
		p.D = float32(math.Inf(1))
		return
	}
	least := lineError(x, scale, offset, q)
	s, b := lineThrough(x, highest, anySign)
	for _, b := range around(reachable(b)) {
		d := toF16(s)
		for range 3 { // then the scale of least squares for this minimum, and its quants
			if e := lineError(x, d, b, q); e < least {
				least, scale, offset = e, d, b
			}
			d = toF16(scaleOver(x, d, b, q))
		}
	}
	p.D, p.Scales[0] = float32(scale), 1
	p.Min, p.Mins[0] = float32(-offset), 1
	put(x, scale, offset, q, p.Quants[:])
}

// reachable rounds a minimum to a finite fp16.
func reachable(b float64) float64 { return max(-maxF16, min(toF16(b), maxF16)) }

// around returns a finite fp16 and those beside it.
func around(v float64) []float64 {
	list := []float64{v}
	h := ToF16(float32(v))
	if h&0x7fff > 0 {
		list = append(list, float64(FromF16(h-1)))
	}
	if h&0x7fff < 0x7bff {
		list = append(list, float64(FromF16(h+1)))
	}
	return list
}

// lineError returns the squared error of x ≈ d·q + b with the nearest quants.
func lineError(x []float32, d, b float64, q limits) (e float64) {
	inverse, low, high := 0.0, float64(q.low), float64(q.high)
	if d != 0 {
		inverse = 1 / d
	}
	for _, v := range x {
		v := float64(v) - b
		off := v - float64(d*nearest(v*inverse, low, high))
		e += float64(off * off)
	}
	return e
}

// scaleOver returns the scale of least squares for x ≈ d·q + b, given b, with the quants that are nearest under a scale.
func scaleOver(x []float32, d, b float64, q limits) float64 {
	if d == 0 {
		return 0
	}
	var vq, qq float64
	for _, v := range x {
		v := float64(v) - b
		n := nearest(v/d, 0, float64(q.high))
		vq, qq = vq+float64(v*n), qq+float64(n*n)
	}
	if qq == 0 {
		return 0
	}
	return vq / qq
}
