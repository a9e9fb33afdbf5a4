package space

import (
	gocmp "cmp"
	"math"
	"slices"
)

// truth is the result of evaluating an expression, or the reason why an operand has none.
type truth uint8

const (
	isFalse truth = iota
	isTrue
	// isUnknown means that the expression needs an inactive parameter.
	isUnknown
	// isFault means that the arithmetic has no answer: a division by zero, an overflow.
	isFault
)

// fine is the state of an operand that has a value. It has the same number as isFalse, which is not otherwise a state of
// operands.
const fine = isFalse

// Compiled expressions of each type. An operand's state is fine, isUnknown or isFault.
type (
	boolFunc   func(ords []int) truth
	intFunc    func(ords []int) (int64, truth)
	floatFunc  func(ords []int) (float64, truth)
	stringFunc func(ords []int) (string, truth)
)

// compiler turns a checked tree into closures. It evaluates subtrees without parameters once, and reports faults in these.
type compiler struct {
	src   string
	scope *scope
	err   error
}

// constant reports whether n reads no parameter.
func (n *node) constant() bool {
	if n.op == opName {
		return false
	}
	for _, kid := range n.kids {
		if !kid.constant() {
			return false
		}
	}
	return true
}

// fold evaluates a constant subtree once. It keeps the first fault as the compiler's error.
func fold[T any](k *compiler, n *node, f func([]int) (T, truth)) func([]int) (T, truth) {
	if len(n.kids) == 0 || !n.constant() {
		return f
	}
	v, state := f(nil)
	if state == isFault {
		k.fault(n)
	}
	return func([]int) (T, truth) { return v, state }
}

func (k *compiler) fault(n *node) {
	if k.err == nil {
		k.err = &ExprError{Expr: k.src, Column: n.col, Reason: "this has no value: it divides by zero or overflows"}
	}
}

// bool compiles an expression of type true or false.
func (k *compiler) bool(n *node) boolFunc {
	switch n.op {
	case opBool:
		v := truth(n.num)
		return func([]int) truth { return v }
	case opName:
		i, table := n.param, [2]truth{isFalse, isTrue}
		if p := &k.scope.params[i]; p.Type == TypeEnum {
			for j, v := range p.Values {
				table[j] = truthOf(v.bool())
			}
		}
		return func(ords []int) truth {
			if ords[i] < 0 {
				return isUnknown
			}
			return table[ords[i]&1]
		}
	case opNot:
		f := k.bool(n.kids[0])
		return func(ords []int) truth { return not(f(ords)) }
	case opAnd:
		return k.junction(n, isFalse)
	case opOr:
		return k.junction(n, isTrue)
	case opChain:
		links := make([]boolFunc, len(n.cmp))
		for i, cmp := range n.cmp {
			links[i] = k.compare(n.kids[i], n.kids[i+1], cmp)
		}
		return join(links, isFalse)
	case opIn:
		return k.member(n)
	case opNotIn:
		f := k.member(n)
		return func(ords []int) truth { return not(f(ords)) }
	case opChoose:
		c, a, b := k.bool(n.kids[0]), k.bool(n.kids[1]), k.bool(n.kids[2])
		return func(ords []int) truth {
			switch t := c(ords); t {
			case isTrue:
				return a(ords)
			case isFalse:
				return b(ords)
			default:
				return t
			}
		}
	}
	panic("space: an expression was compiled before it was checked")
}

func not(t truth) truth {
	if t <= isTrue {
		return isTrue - t
	}
	return t
}

// junction compiles and (decided by isFalse) and or (decided by isTrue).
func (k *compiler) junction(n *node, decided truth) boolFunc {
	parts := make([]boolFunc, len(n.kids))
	for i, kid := range n.kids {
		parts[i] = k.bool(kid)
	}
	return join(parts, decided)
}

// join is Kleene's strong conjunction or disjunction [Kleene, "Introduction to Metamathematics", 1952,
// §64]: it goes from left to right and stops at the first part that decides, or that faults.
func join(parts []boolFunc, decided truth) boolFunc {
	switch len(parts) {
	case 1:
		return parts[0]
	case 2:
		a, b := parts[0], parts[1]
		return func(ords []int) truth {
			x := a(ords)
			if x == decided || x == isFault {
				return x
			}
			if y := b(ords); x != isUnknown || y == decided || y == isFault {
				return y
			}
			return isUnknown
		}
	}
	return func(ords []int) truth {
		result := not(decided)
		for _, part := range parts {
			switch x := part(ords); x {
			case decided, isFault:
				return x
			case isUnknown:
				result = isUnknown
			}
		}
		return result
	}
}

// comparisonTables has what each comparison says where its left side is less than the right one, equal to it, and greater.
var comparisonTables = map[string][3]truth{
	"<": {isTrue, isFalse, isFalse}, "<=": {isTrue, isTrue, isFalse},
	">": {isFalse, isFalse, isTrue}, ">=": {isFalse, isTrue, isTrue},
	"==": {isFalse, isTrue, isFalse}, "!=": {isTrue, isFalse, isTrue},
}

// compare compiles one comparison.
func (k *compiler) compare(a, b *node, cmp string) boolFunc {
	switch {
	case a.typ == typeString:
		return k.compareStrings(a, b, cmp == "==")
	case a.typ == typeBool:
		x, y, equal := k.bool(a), k.bool(b), cmp == "=="
		return func(ords []int) truth {
			s := x(ords)
			if s > isTrue {
				return s
			}
			t := y(ords)
			if t > isTrue {
				return t
			}
			return truthOf((s == t) == equal)
		}
	case a.typ == typeInt && b.typ == typeInt:
		return k.compareInts(a, b, cmp)
	}
	table := comparisonTables[cmp]
	switch {
	case a.typ == typeInt:
		return compareWith(k.int(a), k.float(b), compareIntFloat, table)
	case b.typ == typeInt:
		return compareWith(k.float(a), k.int(b), func(f float64, i int64) int { return -compareIntFloat(i, f) }, table)
	}
	return compareWith(k.float(a), k.float(b), gocmp.Compare[float64], table)
}

// compareWith compares two operands, the left one first.
func compareWith[A, B any](x func([]int) (A, truth), y func([]int) (B, truth), order func(A, B) int, table [3]truth) boolFunc {
	return func(ords []int) truth {
		a, state := x(ords)
		if state != fine {
			return state
		}
		b, state := y(ords)
		if state != fine {
			return state
		}
		return table[1+order(a, b)]
	}
}

// compareIntFloat compares exactly, because converting i to a float could round. It returns -1, 0 or 1.
func compareIntFloat(i int64, f float64) int {
	switch {
	case f >= 1<<63:
		return -1
	case f < -1<<63:
		return 1
	}
	whole := math.Trunc(f)
	switch n := int64(whole); {
	case i < n:
		return -1
	case i > n:
		return 1
	case whole < f:
		return -1
	case whole > f:
		return 1
	}
	return 0
}

func truthOf(b bool) truth {
	if b {
		return isTrue
	}
	return isFalse
}

// compareInts is what nearly all constraints come down to, so it has a fast path for a constant on the right.
func (k *compiler) compareInts(a, b *node, cmp string) boolFunc {
	x, table := k.int(a), comparisonTables[cmp]
	if b.op == opInt {
		limit := b.num
		switch cmp {
		case "<", "<=":
			if cmp == "<" {
				limit-- // A literal is never negative.
			}
			return func(ords []int) truth {
				s, state := x(ords)
				if state != fine {
					return state
				}
				return truthOf(s <= limit)
			}
		case "==":
			return func(ords []int) truth {
				s, state := x(ords)
				if state != fine {
					return state
				}
				return truthOf(s == limit)
			}
		}
	}
	y := k.int(b)
	return func(ords []int) truth {
		s, state := x(ords)
		if state != fine {
			return state
		}
		t, state := y(ords)
		if state != fine {
			return state
		}
		return table[1+gocmp.Compare(s, t)]
	}
}

// compareStrings compares a parameter with a literal by ordinal, and anything else by text.
func (k *compiler) compareStrings(a, b *node, equal bool) boolFunc {
	if a.op == opString {
		a, b = b, a
	}
	if a.op == opName && b.op == opString {
		i, want := a.param, slices.Index(k.scope.params[a.param].texts(), b.text)
		return func(ords []int) truth {
			if ords[i] < 0 {
				return isUnknown
			}
			return truthOf((ords[i] == want) == equal)
		}
	}
	x, y := k.string(a), k.string(b)
	return func(ords []int) truth {
		s, state := x(ords)
		if state != fine {
			return state
		}
		t, state := y(ords)
		if state != fine {
			return state
		}
		return truthOf((s == t) == equal)
	}
}

// member compiles "in". Integer literals, the usual case, become a sorted table.
func (k *compiler) member(n *node) boolFunc {
	table := make([]int64, 0, len(n.kids))
	for _, element := range n.kids[1:] {
		if element.op == opInt {
			table = append(table, element.num)
		}
	}
	if n.kids[0].typ == typeInt && len(table) == len(n.kids)-1 {
		slices.Sort(table)
		x := k.int(n.kids[0])
		return func(ords []int) truth {
			s, state := x(ords)
			if state != fine {
				return state
			}
			_, found := slices.BinarySearch(table, s)
			return truthOf(found)
		}
	}
	tests := make([]boolFunc, len(n.kids)-1)
	for i, element := range n.kids[1:] {
		tests[i] = k.compare(n.kids[0], element, "==")
	}
	return join(tests, isTrue)
}

// string compiles a literal, a parameter or a conditional of strings.
func (k *compiler) string(n *node) stringFunc {
	switch n.op {
	case opString:
		v := n.text
		return func([]int) (string, truth) { return v, fine }
	case opName:
		i, texts := n.param, k.scope.params[n.param].texts()
		return func(ords []int) (string, truth) {
			if ords[i] < 0 {
				return "", isUnknown
			}
			return texts[ords[i]], fine
		}
	}
	return choose(k.bool(n.kids[0]), k.string(n.kids[1]), k.string(n.kids[2]))
}

// choose compiles a conditional of any type but bool.
func choose[T any](c boolFunc, a, b func([]int) (T, truth)) func([]int) (T, truth) {
	return func(ords []int) (T, truth) {
		switch t := c(ords); t {
		case isTrue:
			return a(ords)
		case isFalse:
			return b(ords)
		default:
			var zero T
			return zero, t
		}
	}
}

// int compiles an expression of type integer.
func (k *compiler) int(n *node) intFunc {
	switch n.op {
	case opInt:
		v := n.num
		return func([]int) (int64, truth) { return v, fine }
	case opName:
		return k.intParameter(n.param)
	case opChoose:
		return fold(k, n, choose(k.bool(n.kids[0]), k.int(n.kids[1]), k.int(n.kids[2])))
	case opNegate, opAbs:
		x, isAbs := k.int(n.kids[0]), n.op == opAbs
		return fold(k, n, func(ords []int) (int64, truth) {
			v, state := x(ords)
			if isAbs && v >= 0 || state != fine {
				return v, state
			}
			if v == math.MinInt64 {
				return 0, isFault
			}
			return -v, fine
		})
	case opMin, opMax:
		parts, isMin := make([]intFunc, len(n.kids)), n.op == opMin
		for i, kid := range n.kids {
			parts[i] = k.int(kid)
		}
		return fold(k, n, func(ords []int) (int64, truth) { return extreme(parts, isMin, ords) })
	}
	x, y := k.int(n.kids[0]), k.int(n.kids[1])
	if n.op == opMul {
		if n.kids[1].op == opInt {
			factor := n.kids[1].num
			return fold(k, n, func(ords []int) (int64, truth) {
				a, state := x(ords)
				if state != fine {
					return 0, state
				}
				return mulInt(a, factor)
			})
		}
		return fold(k, n, func(ords []int) (int64, truth) {
			a, state := x(ords)
			if state != fine {
				return 0, state
			}
			b, state := y(ords)
			if state != fine {
				return 0, state
			}
			return mulInt(a, b)
		})
	}
	apply := intOps[n.op]
	return fold(k, n, func(ords []int) (int64, truth) {
		a, state := x(ords)
		if state != fine {
			return 0, state
		}
		b, state := y(ords)
		if state != fine {
			return 0, state
		}
		return apply(a, b)
	})
}

// intParameter compiles the value of an integer parameter.
func (k *compiler) intParameter(i int) intFunc {
	p := &k.scope.params[i]
	switch p.Type {
	case TypeInt:
		from, step := p.From, p.Step
		return func(ords []int) (int64, truth) {
			o := ords[i]
			if o < 0 {
				return 0, isUnknown
			}
			return from + int64(o)*step, fine
		}
	case TypePow2:
		from := p.From
		return func(ords []int) (int64, truth) {
			o := ords[i]
			if o < 0 {
				return 0, isUnknown
			}
			return from << (uint(o) & 63), fine
		}
	}
	table := make([]int64, len(p.Values))
	for j, v := range p.Values {
		table[j] = v.int()
	}
	return func(ords []int) (int64, truth) {
		o := ords[i]
		if o < 0 {
			return 0, isUnknown
		}
		return table[o], fine
	}
}

// float compiles a numeric expression to a float; every float result is finite or a fault.
func (k *compiler) float(n *node) floatFunc {
	if n.typ == typeInt {
		x := k.int(n)
		return func(ords []int) (float64, truth) {
			v, state := x(ords)
			return float64(v), state
		}
	}
	switch n.op {
	case opFloat:
		v := n.flt
		return func([]int) (float64, truth) { return v, fine }
	case opName:
		i, values := n.param, k.scope.params[n.param].Values
		table := make([]float64, len(values))
		for j, v := range values {
			table[j] = v.float()
		}
		return func(ords []int) (float64, truth) {
			if ords[i] < 0 {
				return 0, isUnknown
			}
			return table[ords[i]], fine
		}
	case opChoose:
		return fold(k, n, choose(k.bool(n.kids[0]), k.float(n.kids[1]), k.float(n.kids[2])))
	case opNegate, opAbs:
		x, isAbs := k.float(n.kids[0]), n.op == opAbs
		return fold(k, n, func(ords []int) (float64, truth) {
			v, state := x(ords)
			if isAbs && v >= 0 {
				return v, state
			}
			return -v, state
		})
	case opMin, opMax:
		parts, isMin := make([]floatFunc, len(n.kids)), n.op == opMin
		for i, kid := range n.kids {
			parts[i] = k.float(kid)
		}
		return fold(k, n, func(ords []int) (float64, truth) { return extreme(parts, isMin, ords) })
	}
	x, y := k.float(n.kids[0]), k.float(n.kids[1])
	apply := floatOps[n.op]
	divides := n.op == opDiv || n.op == opFloorDiv || n.op == opMod
	return fold(k, n, func(ords []int) (float64, truth) {
		a, state := x(ords)
		if state != fine {
			return 0, state
		}
		b, state := y(ords)
		if state != fine {
			return 0, state
		}
		if divides && b == 0 {
			return 0, isFault
		}
		v := apply(a, b)
		if !Finite(v) {
			return 0, isFault
		}
		return v, fine
	})
}

// intOps are the operators on integers but for the product.
var intOps = map[op]func(a, b int64) (int64, truth){
	opAdd: addInt, opSub: subInt, opFloorDiv: floorDivInt, opMod: modInt, opPow: powInt,
}

// floatOps are the operators on floats. Their results are finite or faults.
var floatOps = map[op]func(a, b float64) float64{
	opAdd:      func(a, b float64) float64 { return a + b },
	opSub:      func(a, b float64) float64 { return a - b },
	opMul:      func(a, b float64) float64 { return a * b },
	opDiv:      func(a, b float64) float64 { return a / b },
	opFloorDiv: floorDivFloat,
	opMod:      modFloat,
	opPow:      math.Pow,
}

// extreme is min and max.
func extreme[T int64 | float64, F ~func([]int) (T, truth)](parts []F, isMin bool, ords []int) (T, truth) {
	best, state := parts[0](ords)
	if state != fine {
		return best, state
	}
	for _, part := range parts[1:] {
		v, state := part(ords)
		if state != fine {
			return v, state
		}
		if (v < best) == isMin && v != best {
			best = v
		}
	}
	return best, fine
}

func mulInt(a, b int64) (int64, truth) {
	c := a * b
	if int64(int32(a)) == a && int64(int32(b)) == b {
		return c, fine
	}
	if a != 0 && (c/a != b || a == -1 && b == math.MinInt64) {
		return 0, isFault
	}
	return c, fine
}

func addInt(a, b int64) (int64, truth) {
	c := a + b
	if (a^c)&(b^c) < 0 {
		return 0, isFault
	}
	return c, fine
}

func subInt(a, b int64) (int64, truth) {
	c := a - b
	if (a^b)&(a^c) < 0 {
		return 0, isFault
	}
	return c, fine
}

// floorDivInt rounds towards minus infinity, as Python does.
func floorDivInt(a, b int64) (int64, truth) {
	if b == 0 || a == math.MinInt64 && b == -1 {
		return 0, isFault
	}
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q, fine
}

// modInt has the sign of the divisor, so that a == (a // b) * b + a % b.
func modInt(a, b int64) (int64, truth) {
	if b == 0 {
		return 0, isFault
	}
	if b == -1 {
		return 0, fine
	}
	r := a % b
	if r != 0 && (r < 0) != (b < 0) {
		r += b
	}
	return r, fine
}

func modFloat(a, b float64) float64 {
	r := math.Mod(a, b)
	if r != 0 && (r < 0) != (b < 0) {
		r += b
	}
	return r
}

// floorDivFloat is Python's: it subtracts the exact remainder before it divides, so that 1.0 // 0.1 is 9 although 1.0 / 0.1
// rounds to 10.
func floorDivFloat(a, b float64) float64 {
	r := math.Mod(a, b)
	q := (a - r) / b
	if r != 0 && (r < 0) != (b < 0) {
		q--
	}
	return math.Round(q)
}

// powInt has no result for a negative exponent, because the result must be an integer.
func powInt(a, b int64) (int64, truth) {
	if b < 0 {
		return 0, isFault
	}
	switch {
	case b == 0 || a == 1:
		return 1, fine
	case a == 0:
		return 0, fine
	case a == -1:
		return 1 - 2*(b&1), fine
	case b > 63:
		return 0, isFault
	}
	result := int64(1)
	for range b {
		var state truth
		if result, state = mulInt(result, a); state != fine {
			return 0, isFault
		}
	}
	return result, fine
}
