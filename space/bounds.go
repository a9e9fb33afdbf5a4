package space

import (
	gocmp "cmp"
	"math"
	"slices"
)

// The bounds of an expression over a box of assignments are the results that it may have when each parameter takes any ordinal of
// a range. They are computed by interval arithmetic [Moore, "Interval Analysis", 1966]; states without a value are kept beside
// the interval. Bounds may be too wide, never too narrow, so that they can prove that a constraint holds, or fails, for all open
// parameters.

// span is the set of possible states of a parameter: the ordinals lo … hi (none where hi < lo), and inactive where off is set.
type span struct {
	lo, hi int
	off    bool
}

// fixed is the span of one ordinal; -1 means inactive.
func fixed(ord int) span {
	if ord < 0 {
		return span{0, -1, true}
	}
	return span{ord, ord, false}
}

// states is a set of truths: bit 1<<t stands for t. For an operand, the bit of fine says that it can have a value.
type states uint8

const (
	canFalse   states = 1 << isFalse
	canTrue    states = 1 << isTrue
	canUnknown states = 1 << isUnknown
	canFault   states = 1 << isFault
	canValue          = canFalse
	anything          = canFalse | canTrue | canUnknown | canFault
)

// bound is the interval of an operand's values, with lo > hi where it has none, and its possible states.
type bound[T int64 | float64] struct {
	lo, hi T
	states states
}

// order says how the values of a parameter depend on its ordinals.
type order uint8

const (
	unordered order = iota
	ascending
	descending
)

// extent is what bounds need to know about a parameter's domain.
type extent struct {
	order order
	// lo and hi are the ordinals of the least and the greatest number.
	lo, hi int
}

func extentOf(p *Parameter) extent {
	n := p.Len()
	if p.Type != TypeEnum {
		return extent{ascending, 0, n - 1}
	}
	if k := p.kind(); k != kindInt && k != kindFloat {
		return extent{}
	}
	less := func(a, b Value) int {
		if a.kind == kindInt {
			return gocmp.Compare(a.int(), b.int())
		}
		return gocmp.Compare(a.float(), b.float())
	}
	e := extent{}
	up, down := true, true
	for i := 1; i < n; i++ {
		switch c := less(p.Values[i-1], p.Values[i]); {
		case c < 0:
			down = false
		default:
			up = false
		}
		if less(p.Values[i], p.Values[e.lo]) < 0 {
			e.lo = i
		}
		if less(p.Values[i], p.Values[e.hi]) > 0 {
			e.hi = i
		}
	}
	switch {
	case up:
		e.order = ascending
	case down:
		e.order = descending
	}
	return e
}

// bounds evaluates syntax trees over a box.
type bounds struct {
	params  []Parameter
	extents []extent
	box     []span
}

func newBounds(params []Parameter) *bounds {
	b := &bounds{params: params, extents: make([]extent, len(params)), box: make([]span, len(params))}
	for i := range params {
		b.extents[i] = extentOf(&params[i])
	}
	return b
}

// ends returns the ordinals of the least and the greatest number in the span of parameter i, and its states.
func (b *bounds) ends(i int) (least, greatest int, s states) {
	sp := b.box[i]
	if sp.off {
		s = canUnknown
	}
	if sp.lo > sp.hi {
		return 0, 0, s
	}
	s |= canValue
	switch {
	case sp.lo == sp.hi || b.extents[i].order == ascending:
		return sp.lo, sp.hi, s
	case b.extents[i].order == descending:
		return sp.hi, sp.lo, s
	}
	return b.extents[i].lo, b.extents[i].hi, s
}

// truth returns the possible results of n.
func (b *bounds) truth(n *node) states {
	switch n.op {
	case opBool:
		return 1 << truth(n.num)
	case opName:
		sp, p, s := b.box[n.param], &b.params[n.param], states(0)
		if sp.off {
			s = canUnknown
		}
		for o := sp.lo; o <= sp.hi; o++ {
			s |= 1 << truthOf(p.at(o).bool())
		}
		return s
	case opNot:
		return negate(b.truth(n.kids[0]))
	case opAnd, opOr:
		j := newJoin(n.op == opOr)
		for _, kid := range n.kids {
			if !j.add(b.truth(kid)) {
				break
			}
		}
		return j.end()
	case opChain:
		j := newJoin(false)
		for i, cmp := range n.cmp {
			if !j.add(b.compare(n.kids[i], n.kids[i+1], cmp)) {
				break
			}
		}
		return j.end()
	case opIn:
		return b.member(n)
	case opNotIn:
		return negate(b.member(n))
	case opChoose:
		c := b.truth(n.kids[0])
		s := c & (canUnknown | canFault)
		if c&canTrue != 0 {
			s |= b.truth(n.kids[1])
		}
		if c&canFalse != 0 {
			s |= b.truth(n.kids[2])
		}
		return s
	}
	return anything
}

func negate(s states) states {
	return s&(canUnknown|canFault) | (s&canFalse)<<1 | (s&canTrue)>>1
}

// joining is join over sets of truths.
type joining struct {
	decided, neutral states
	out              states
	// clear: all parts so far may have been neutral. unknown: one of them may have been unknown and the rest neutral.
	clear, unknown bool
}

func newJoin(or bool) joining {
	if or {
		return joining{decided: canTrue, neutral: canFalse, clear: true}
	}
	return joining{decided: canFalse, neutral: canTrue, clear: true}
}

// add returns false where later parts are never evaluated.
func (j *joining) add(s states) bool {
	j.out |= s & (j.decided | canFault)
	j.unknown = j.unknown && s&(j.neutral|canUnknown) != 0 || j.clear && s&canUnknown != 0
	j.clear = j.clear && s&j.neutral != 0
	return j.clear || j.unknown
}

func (j *joining) end() states {
	if j.clear {
		j.out |= j.neutral
	}
	if j.unknown {
		j.out |= canUnknown
	}
	return j.out
}

// both returns the states of an operation on two operands, without its own faults; values is false where it has no value.
func both(x, y states) (s states, values bool) {
	if x&canValue == 0 {
		return x, false
	}
	return x&^canValue | y, y&canValue != 0
}

func (b *bounds) compare(x, y *node, cmp string) states {
	switch {
	case x.typ == typeInt && y.typ == typeInt:
		return compareBounds(b.int(x), b.int(y), cmp)
	case x.typ.numeric():
		return compareBounds(b.exact(x), b.exact(y), cmp)
	case x.typ == typeBool:
		p, q := b.truth(x), b.truth(y)
		s := p & (canUnknown | canFault)
		for _, t := range []states{canFalse, canTrue} {
			if p&t == 0 {
				continue
			}
			s |= q & (canUnknown | canFault)
			if q&t != 0 {
				s |= equalIs(true, cmp)
			}
			if q&(t^canFalse^canTrue) != 0 {
				s |= equalIs(false, cmp)
			}
		}
		return s
	}
	if x.op == opString {
		x, y = y, x
	}
	if x.op != opName || y.op != opString {
		return anything
	}
	sp, s := b.box[x.param], states(0)
	if sp.off {
		s = canUnknown
	}
	p := &b.params[x.param]
	for o := sp.lo; o <= sp.hi; o++ {
		s |= equalIs(p.Values[o].text == y.text, cmp)
	}
	return s
}

// equalIs is the result of == or != for a result of equality.
func equalIs(equal bool, cmp string) states {
	if equal == (cmp == "==") {
		return canTrue
	}
	return canFalse
}

func compareBounds[T int64 | float64](x, y bound[T], cmp string) states {
	s, values := both(x.states, y.states)
	if s &^= canValue; !values {
		return s
	}
	table := comparisonTables[cmp]
	if x.lo < y.hi {
		s |= 1 << table[0]
	}
	if x.lo <= y.hi && y.lo <= x.hi {
		s |= 1 << table[1]
	}
	if x.hi > y.lo {
		s |= 1 << table[2]
	}
	return s
}

func (b *bounds) member(n *node) states {
	x := n.kids[0]
	if x.typ == typeInt {
		v := b.int(x)
		s, single := v.states&^canValue, v.lo == v.hi
		if v.states&canValue == 0 {
			return s
		}
		literal := !slices.ContainsFunc(n.kids[1:], func(e *node) bool { return e.op != opInt })
		if literal {
			hit := slices.ContainsFunc(n.kids[1:], func(e *node) bool { return e.num >= v.lo && e.num <= v.hi })
			if hit {
				s |= canTrue
			}
			if !hit || !single {
				s |= canFalse
			}
			return s
		}
	}
	j := newJoin(true)
	for _, e := range n.kids[1:] {
		if !j.add(b.compare(x, e, "==")) {
			break
		}
	}
	return j.end()
}

// int bounds an expression of type integer.
func (b *bounds) int(n *node) bound[int64] {
	switch n.op {
	case opInt:
		return bound[int64]{n.num, n.num, canValue}
	case opName:
		least, greatest, s := b.ends(n.param)
		if s&canValue == 0 {
			return bound[int64]{states: s}
		}
		p := &b.params[n.param]
		return bound[int64]{p.at(least).int(), p.at(greatest).int(), s}
	case opChoose:
		return choice(b.truth(n.kids[0]), n, b.int)
	case opNegate, opAbs:
		x := b.int(n.kids[0])
		if n.op == opAbs && x.lo >= 0 || x.states&canValue == 0 {
			return x
		}
		if x.lo == math.MinInt64 {
			x.states |= canFault
			x.lo = -math.MaxInt64
			x.hi = max(x.hi, x.lo)
		}
		if n.op == opAbs && x.hi > 0 {
			return bound[int64]{0, max(-x.lo, x.hi), x.states}
		}
		return bound[int64]{-x.hi, -x.lo, x.states}
	case opMin, opMax:
		return extremes(n, b.int)
	}
	x, y := b.int(n.kids[0]), b.int(n.kids[1])
	s, values := both(x.states, y.states)
	if !values {
		return bound[int64]{states: s}
	}
	r := reach{lo: math.MaxInt64, hi: math.MinInt64, states: s}
	switch n.op {
	case opAdd:
		r.take(addInt, x.lo, y.lo)
		r.take(addInt, x.hi, y.hi)
	case opSub:
		r.take(subInt, x.lo, y.hi)
		r.take(subInt, x.hi, y.lo)
	case opMul:
		r.corners(mulInt, x, y.lo, y.hi)
	case opFloorDiv, opMod:
		if y.lo <= 0 && y.hi >= 0 {
			r.states |= canFault
		}
		if y.lo == 0 && y.hi == 0 {
			r.states &^= canValue
			break
		}
		if n.op == opMod {
			r.modulo(x, y)
			break
		}
		if y.lo < 0 {
			r.corners(floorDivInt, x, y.lo, min(y.hi, -1))
		}
		if y.hi > 0 {
			r.corners(floorDivInt, x, max(y.lo, 1), y.hi)
		}
	case opPow:
		switch {
		case x.lo == x.hi && y.lo == y.hi:
			r.take(powInt, x.lo, y.lo)
		case x.lo >= 1 && y.lo >= 0:
			r.take(powInt, x.lo, y.lo)
			r.take(powInt, x.hi, y.hi)
		default:
			r.lo, r.hi = math.MinInt64, math.MaxInt64
			r.states |= canFault
		}
	}
	return bound[int64](r)
}

// reach collects the results at the corners of the box for an operation that is monotone between them.
type reach bound[int64]

// take adds the result at one corner. If it overflows, results near it may too, and the others may have any value on that side.
func (r *reach) take(f func(a, b int64) (int64, truth), a, b int64) {
	v, state := f(a, b)
	if state != fine {
		r.states |= canFault
		r.lo, r.hi = math.MinInt64, math.MaxInt64
		return
	}
	r.lo, r.hi = min(r.lo, v), max(r.hi, v)
}

func (r *reach) corners(f func(a, b int64) (int64, truth), x bound[int64], lo, hi int64) {
	r.take(f, x.lo, lo)
	if x.lo != x.hi {
		r.take(f, x.hi, lo)
	}
	if lo != hi {
		r.take(f, x.lo, hi)
		r.take(f, x.hi, hi)
	}
}

// modulo bounds a remainder, which has the sign of the divisor.
func (r *reach) modulo(x, y bound[int64]) {
	switch {
	case x.lo == x.hi && y.lo == y.hi:
		r.take(modInt, x.lo, y.lo)
	case y.lo > 0 && x.lo >= 0 && x.hi < y.lo:
		r.lo, r.hi = x.lo, x.hi
	default:
		r.lo, r.hi = 0, 0
		if y.lo < 0 {
			r.lo = y.lo + 1
		}
		if y.hi > 0 {
			r.hi = y.hi - 1
			if x.lo >= 0 && y.lo > 0 {
				r.hi = min(r.hi, x.hi)
			}
		}
	}
}

// exact bounds a number for a comparison: an integer that a float cannot represent is widened to the neighbouring floats.
func (b *bounds) exact(n *node) bound[float64] {
	if n.typ != typeInt {
		return b.float(n)
	}
	x := b.int(n)
	f := bound[float64]{float64(x.lo), float64(x.hi), x.states}
	if x.lo < -1<<53 || x.lo > 1<<53 {
		f.lo = math.Nextafter(f.lo, math.Inf(-1))
	}
	if x.hi < -1<<53 || x.hi > 1<<53 {
		f.hi = math.Nextafter(f.hi, math.Inf(1))
	}
	return f
}

// float bounds a numeric expression as a float. Rounding is monotone, so the corners of a sum, a difference, a product or a
// quotient are bounds as they are.
func (b *bounds) float(n *node) bound[float64] {
	if n.typ == typeInt {
		x := b.int(n)
		return bound[float64]{float64(x.lo), float64(x.hi), x.states}
	}
	switch n.op {
	case opFloat:
		return bound[float64]{n.flt, n.flt, canValue}
	case opName:
		least, greatest, s := b.ends(n.param)
		if s&canValue == 0 {
			return bound[float64]{states: s}
		}
		values := b.params[n.param].Values
		return bound[float64]{values[least].float(), values[greatest].float(), s}
	case opChoose:
		return choice(b.truth(n.kids[0]), n, b.float)
	case opNegate, opAbs:
		x := b.float(n.kids[0])
		switch {
		case n.op == opAbs && x.lo >= 0 || x.states&canValue == 0:
			return x
		case n.op == opAbs && x.hi > 0:
			return bound[float64]{0, max(-x.lo, x.hi), x.states}
		}
		return bound[float64]{-x.hi, -x.lo, x.states}
	case opMin, opMax:
		return extremes(n, b.float)
	}
	x, y := b.float(n.kids[0]), b.float(n.kids[1])
	s, values := both(x.states, y.states)
	if !values {
		return bound[float64]{states: s}
	}
	whole := bound[float64]{-math.MaxFloat64, math.MaxFloat64, s | canFault}
	divides := n.op == opDiv || n.op == opFloorDiv || n.op == opMod
	if divides && y.lo <= 0 && y.hi >= 0 {
		return whole
	}
	apply := floatOps[n.op]
	if x.lo != x.hi || y.lo != y.hi {
		switch n.op {
		case opMod:
			limit := max(math.Abs(y.lo), math.Abs(y.hi))
			return bound[float64]{-limit, limit, s}
		case opFloorDiv, opPow:
			return whole
		}
	}
	r := bound[float64]{math.Inf(1), math.Inf(-1), s}
	for _, v := range [4]float64{apply(x.lo, y.lo), apply(x.lo, y.hi), apply(x.hi, y.lo), apply(x.hi, y.hi)} {
		if !Finite(v) {
			return whole
		}
		r.lo, r.hi = min(r.lo, v), max(r.hi, v)
	}
	return r
}

// choice bounds a conditional.
func choice[T int64 | float64](c states, n *node, f func(*node) bound[T]) bound[T] {
	out := bound[T]{states: c & (canUnknown | canFault)}
	for i, side := range [2]states{canTrue, canFalse} {
		if c&side == 0 {
			continue
		}
		x := f(n.kids[1+i])
		switch {
		case x.states&canValue == 0:
		case out.states&canValue == 0:
			out.lo, out.hi = x.lo, x.hi
		default:
			out.lo, out.hi = min(out.lo, x.lo), max(out.hi, x.hi)
		}
		out.states |= x.states
	}
	return out
}

// extremes bounds min and max.
func extremes[T int64 | float64](n *node, f func(*node) bound[T]) bound[T] {
	out := f(n.kids[0])
	for _, kid := range n.kids[1:] {
		x := f(kid)
		s, values := both(out.states, x.states)
		switch {
		case !values:
			return bound[T]{states: s}
		case n.op == opMin:
			out = bound[T]{min(out.lo, x.lo), min(out.hi, x.hi), s}
		default:
			out = bound[T]{max(out.lo, x.lo), max(out.hi, x.hi), s}
		}
	}
	return out
}
