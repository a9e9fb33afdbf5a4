package t1

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"tune/space"
)

// The values of an expression are int64, float64, string, bool, *list, and *tuple.
type (
	list  struct{ elements []any }
	tuple struct{ elements []any }
)

// maxElements bounds how many elements lists, strings and comprehensions of one expression may make together.
const maxElements = 1 << 20

// evaluator computes the value of an expression in Python.
type evaluator struct {
	src string
	// left is how many elements may still be made.
	left int
}

func newEvaluator(src string) *evaluator { return &evaluator{src: src, left: maxElements} }

// names are the variables of an expression.
type names map[string]any

func (e *evaluator) fail(n *node, format string, args ...any) error {
	return fault(e.src, n.at, format, args...)
}

// spend uses up elements of the budget.
func (e *evaluator) spend(n *node, count int) error {
	if count > e.left {
		return e.fail(n, "the expression makes more than %d elements", maxElements)
	}
	e.left -= count
	return nil
}

// elementsOf lists what Python iterates over.
func elementsOf(v any) ([]any, bool) {
	switch v := v.(type) {
	case *list:
		return v.elements, true
	case *tuple:
		return v.elements, true
	case string:
		var out []any
		for _, r := range v {
			out = append(out, string(r))
		}
		return out, true
	}
	return nil, false
}

// truthOf is bool(v).
func truthOf(v any) bool {
	switch v := v.(type) {
	case int64:
		return v != 0
	case float64:
		return v != 0
	case string:
		return v != ""
	case bool:
		return v
	case *list:
		return len(v.elements) > 0
	case *tuple:
		return len(v.elements) > 0
	}
	return false
}

// show is repr(v).
func show(v any) string {
	switch v := v.(type) {
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return showFloat(v)
	case bool:
		if v {
			return "True"
		}
		return "False"
	case string:
		// A Go string has the escapes of a Python one.
		return strconv.Quote(v)
	case *list:
		return "[" + showAll(v.elements) + "]"
	case *tuple:
		if len(v.elements) == 1 {
			return "(" + show(v.elements[0]) + ",)"
		}
		return "(" + showAll(v.elements) + ")"
	}
	return fmt.Sprint(v)
}

func showFloat(f float64) string {
	text := strconv.FormatFloat(f, 'g', -1, 64)
	if a := math.Abs(f); f == 0 || a >= 1e-4 && a < 1e16 {
		text = strconv.FormatFloat(f, 'f', -1, 64)
	}
	if !strings.ContainsAny(text, ".eIN") {
		text += ".0"
	}
	return text
}

// showAll cuts what would be too long for an error.
func showAll(elements []any) string {
	var words []string
	for i, v := range elements {
		if i == 20 && len(elements) > 21 {
			words = append(words, "…")
			break
		}
		words = append(words, show(v))
	}
	return strings.Join(words, ", ")
}

// eval computes n, where the names have the given values.
func (e *evaluator) eval(n *node, in names) (any, error) {
	switch n.op {
	case opLiteral:
		return n.value, nil
	case opName:
		if v, ok := in[n.text]; ok {
			return v, nil
		}
		return nil, e.fail(n, "%q has no value here", n.text)
	case opAnd, opOr:
		var v any
		for _, kid := range n.kids {
			var err error
			if v, err = e.eval(kid, in); err != nil || truthOf(v) == (n.op == opOr) {
				return v, err
			}
		}
		return v, nil
	case opChoose:
		c, err := e.eval(n.kids[0], in)
		if err != nil {
			return nil, err
		}
		if truthOf(c) {
			return e.eval(n.kids[1], in)
		}
		return e.eval(n.kids[2], in)
	case opCompare:
		left, err := e.eval(n.kids[0], in)
		if err != nil {
			return nil, err
		}
		for i, word := range n.cmp {
			right, err := e.eval(n.kids[i+1], in)
			if err != nil {
				return nil, err
			}
			holds, err := e.compare(n, word, left, right)
			if err != nil || !holds {
				return false, err
			}
			left = right
		}
		return true, nil
	case opFor:
		out := &list{}
		err := e.iterate(n, 0, in, func(in names) error {
			v, err := e.eval(n.kids[0], in)
			if err != nil {
				return err
			}
			out.elements = append(out.elements, v)
			return e.spend(n, 1)
		})
		return out, err
	case opUnary:
		v, err := e.eval(n.kids[0], in)
		if err != nil {
			return nil, err
		}
		return e.unary(n, v)
	}
	kids := make([]any, len(n.kids))
	for i, kid := range n.kids {
		var err error
		if kids[i], err = e.eval(kid, in); err != nil {
			return nil, err
		}
	}
	switch n.op {
	case opList:
		return &list{kids}, e.spend(n, len(kids))
	case opTuple:
		return &tuple{kids}, e.spend(n, len(kids))
	case opCall:
		return e.call(n, kids)
	}
	return e.binary(n, kids[0], kids[1])
}

// iterate calls do for every binding that the clauses of a comprehension make, from clause i on.
func (e *evaluator) iterate(n *node, i int, in names, do func(names) error) error {
	if i == len(n.clauses) {
		return do(in)
	}
	v, err := e.eval(n.kids[1+i], in)
	if err != nil {
		return err
	}
	elements, ok := elementsOf(v)
	if !ok {
		return e.fail(n.kids[1+i], "%s cannot be iterated over", show(v))
	}
next:
	for _, element := range elements {
		// Empty loops cost as well.
		if err := e.spend(n, 1); err != nil {
			return err
		}
		inner := make(names, len(in)+1)
		for k, v := range in {
			inner[k] = v
		}
		targets := n.clauses[i].names
		if len(targets) == 1 {
			inner[targets[0]] = element
		} else {
			parts, ok := elementsOf(element)
			if !ok || len(parts) != len(targets) {
				return e.fail(n, "%s is not %d values", show(element), len(targets))
			}
			for k, name := range targets {
				inner[name] = parts[k]
			}
		}
		for _, condition := range n.clauses[i].conditions {
			c, err := e.eval(condition, inner)
			if err != nil {
				return err
			}
			if !truthOf(c) {
				continue next
			}
		}
		if err := e.iterate(n, i+1, inner, do); err != nil {
			return err
		}
	}
	return nil
}

// number turns a truth value into 1 or 0, as Python's arithmetic does.
func number(v any) (any, bool) {
	switch v := v.(type) {
	case bool:
		if v {
			return int64(1), true
		}
		return int64(0), true
	case int64, float64:
		return v, true
	}
	return nil, false
}

func toFloat(v any) float64 {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case float64:
		return v
	}
	return math.NaN()
}

func (e *evaluator) unary(n *node, v any) (any, error) {
	if n.text == "not" {
		return !truthOf(v), nil
	}
	v, ok := number(v)
	if !ok {
		return nil, e.fail(n, "%s needs a number", n.text)
	}
	if n.text == "+" {
		return v, nil
	}
	switch v := v.(type) {
	case int64:
		if v == math.MinInt64 {
			return nil, e.fail(n, "the result does not fit 64 bits")
		}
		return -v, nil
	default:
		return -toFloat(v), nil
	}
}

// equal is Python's ==.
func equal(a, b any) bool {
	x, okx := number(a)
	y, oky := number(b)
	if okx || oky {
		return okx && oky && compareNumbers(x, y) == 0
	}
	switch a := a.(type) {
	case string:
		return a == b
	case *list:
		b, ok := b.(*list)
		return ok && slices.EqualFunc(a.elements, b.elements, equal)
	case *tuple:
		b, ok := b.(*tuple)
		return ok && slices.EqualFunc(a.elements, b.elements, equal)
	}
	return false
}

// compareNumbers is exact.
func compareNumbers(a, b any) int {
	x, isInt := a.(int64)
	y, alsoInt := b.(int64)
	if isInt && alsoInt {
		return cmp.Compare(x, y)
	}
	return exact(a).Cmp(exact(b))
}

func exact(v any) *big.Float {
	if i, ok := v.(int64); ok {
		return new(big.Float).SetPrec(64).SetInt64(i)
	}
	return new(big.Float).SetPrec(64).SetFloat64(v.(float64))
}

func (e *evaluator) compare(n *node, word string, a, b any) (bool, error) {
	switch word {
	case "==":
		return equal(a, b), nil
	case "!=":
		return !equal(a, b), nil
	case "in", "not in":
		if text, ok := b.(string); ok {
			part, ok := a.(string)
			if !ok {
				return false, e.fail(n, "%s cannot be in a string", show(a))
			}
			return strings.Contains(text, part) == (word == "in"), nil
		}
		elements, ok := elementsOf(b)
		if !ok {
			return false, e.fail(n, "nothing is in %s: it is not a list", show(b))
		}
		return slices.ContainsFunc(elements, func(v any) bool { return equal(a, v) }) == (word == "in"), nil
	}
	order, ok := compareOrdered(a, b)
	if !ok {
		return false, e.fail(n, "%s and %s have no order", show(a), show(b))
	}
	switch word {
	case "<":
		return order < 0, nil
	case "<=":
		return order <= 0, nil
	case ">":
		return order > 0, nil
	}
	return order >= 0, nil
}

// compareOrdered orders numbers, strings, and lists or tuples of them.
func compareOrdered(a, b any) (int, bool) {
	if x, ok := number(a); ok {
		y, ok := number(b)
		if !ok {
			return 0, false
		}
		return compareNumbers(x, y), true
	}
	if x, ok := a.(string); ok {
		y, ok := b.(string)
		return strings.Compare(x, y), ok
	}
	if fmt.Sprintf("%T", a) != fmt.Sprintf("%T", b) {
		return 0, false
	}
	x, _ := elementsOf(a)
	y, _ := elementsOf(b)
	for i := range min(len(x), len(y)) {
		if !equal(x[i], y[i]) {
			return compareOrdered(x[i], y[i])
		}
	}
	return cmp.Compare(len(x), len(y)), true
}

func (e *evaluator) binary(n *node, a, b any) (any, error) {
	if v, done, err := e.sequence(n, a, b); done {
		return v, err
	}
	x, okx := number(a)
	y, oky := number(b)
	if !okx || !oky {
		return nil, e.fail(n, "%s does not take %s and %s", n.text, show(a), show(b))
	}
	i, isInt := x.(int64)
	j, alsoInt := y.(int64)
	if isInt && alsoInt {
		return e.integers(n, i, j)
	}
	if n.text == "<<" || n.text == ">>" {
		return nil, e.fail(n, "%s needs integers", n.text)
	}
	f, g := toFloat(x), toFloat(y)
	if strings.ContainsAny(n.text, "/%") && g == 0 || n.text == "**" && f == 0 && g < 0 {
		return nil, e.fail(n, "this divides by zero")
	}
	var v float64
	switch n.text {
	case "+":
		v = f + g
	case "-":
		v = f - g
	case "*":
		v = f * g
	case "/":
		v = f / g
	case "//":
		v, _ = divMod(f, g)
	case "%":
		_, v = divMod(f, g)
	case "**":
		v = math.Pow(f, g)
	}
	if !space.Finite(v) {
		return nil, e.fail(n, "the result is not a finite number")
	}
	return v, nil
}

// divMod is Python's: the remainder is exact and has the sign of the divisor, and the quotient is rounded from what is
// left, so that 1.0 // 0.1 is 9.
func divMod(a, b float64) (quotient, remainder float64) {
	remainder = math.Mod(a, b)
	div := (a - remainder) / b
	if remainder != 0 {
		if (b < 0) != (remainder < 0) {
			remainder += b
			div--
		}
	} else {
		remainder = math.Copysign(0, b)
	}
	if div == 0 {
		return math.Copysign(0, a/b), remainder
	}
	quotient = math.Floor(div)
	if div-quotient > 0.5 {
		quotient++
	}
	return quotient, remainder
}

// integers computes with integers exactly; the error says that the result does not fit 64 bits.
func (e *evaluator) integers(n *node, i, j int64) (any, error) {
	x, y, v := big.NewInt(i), big.NewInt(j), new(big.Int)
	switch n.text {
	case "+":
		v.Add(x, y)
	case "-":
		v.Sub(x, y)
	case "*":
		v.Mul(x, y)
	case "/":
		if j == 0 {
			return nil, e.fail(n, "this divides by zero")
		}
		f, _ := new(big.Rat).SetFrac(x, y).Float64()
		return f, nil
	case "//", "%":
		if j == 0 {
			return nil, e.fail(n, "this divides by zero")
		}
		q, r := new(big.Int).QuoRem(x, y, new(big.Int))
		if r.Sign() != 0 && r.Sign() != y.Sign() {
			q.Sub(q, big.NewInt(1))
			r.Add(r, y)
		}
		if v = q; n.text == "%" {
			v = r
		}
	case "**":
		switch {
		case j < 0 && i == 0:
			return nil, e.fail(n, "this divides by zero")
		case j < 0:
			return math.Pow(float64(i), float64(j)), nil
		case j > 64 && (i < -1 || i > 1):
			return nil, e.fail(n, "the result does not fit 64 bits")
		}
		if i >= -1 && i <= 1 && j > 2 {
			y = big.NewInt(2 + j%2)
		}
		v.Exp(x, y, nil)
	case "<<", ">>":
		switch {
		case j < 0:
			return nil, e.fail(n, "the shift is negative")
		case n.text == ">>":
			v.Rsh(x, uint(min(j, 64)))
		case j > 64 && i != 0:
			return nil, e.fail(n, "the result does not fit 64 bits")
		default:
			v.Lsh(x, uint(min(j, 64)))
		}
	}
	if !v.IsInt64() {
		return nil, e.fail(n, "the result does not fit 64 bits")
	}
	return v.Int64(), nil
}

// sequence adds lists, tuples and strings, and multiplies them by integers. Done is false where neither applies.
func (e *evaluator) sequence(n *node, a, b any) (v any, done bool, err error) {
	if n.text == "*" {
		if _, ok := number(a); ok {
			a, b = b, a
		}
		times, ok := number(b)
		count, isInt := times.(int64)
		if !ok || !isInt {
			return nil, false, nil
		}
		count = max(count, 0)
		switch a := a.(type) {
		case string:
			if err := e.spend(n, clampProduct(len(a), count)); err != nil {
				return nil, true, err
			}
			return strings.Repeat(a, int(count)), true, nil
		case *list:
			if err := e.spend(n, clampProduct(len(a.elements), count)); err != nil || len(a.elements) == 0 {
				return &list{}, true, err
			}
			return &list{slices.Repeat(a.elements, int(count))}, true, nil
		case *tuple:
			if err := e.spend(n, clampProduct(len(a.elements), count)); err != nil || len(a.elements) == 0 {
				return &tuple{}, true, err
			}
			return &tuple{slices.Repeat(a.elements, int(count))}, true, nil
		}
		return nil, false, nil
	}
	if n.text != "+" {
		return nil, false, nil
	}
	switch a := a.(type) {
	case string:
		if b, ok := b.(string); ok {
			return a + b, true, e.spend(n, len(a)+len(b))
		}
	case *list:
		if b, ok := b.(*list); ok {
			return &list{slices.Concat(a.elements, b.elements)}, true, e.spend(n, len(a.elements)+len(b.elements))
		}
	case *tuple:
		if b, ok := b.(*tuple); ok {
			return &tuple{slices.Concat(a.elements, b.elements)}, true, e.spend(n, len(a.elements)+len(b.elements))
		}
	}
	return nil, false, nil
}

// clampProduct multiplies without overflow.
func clampProduct(n int, count int64) int {
	if n > 0 && count > maxElements {
		return maxElements + 1
	}
	return n * int(min(count, maxElements+1))
}

// functions are those that an expression may call, with how many arguments they take (-1: any number).
var functions = map[string]struct{ least, most int }{
	"abs": {1, 1}, "all": {1, 1}, "any": {1, 1}, "bool": {1, 1}, "float": {1, 1}, "int": {1, 1}, "len": {1, 1}, "list": {0, 1},
	"max": {1, -1}, "min": {1, -1}, "pow": {2, 2}, "range": {1, 3}, "set": {1, 1}, "sorted": {1, 1}, "sum": {1, 1}, "tuple": {0, 1},
}

// checkCall says what is wrong with the function or the number of its arguments.
func checkCall(src string, n *node) error {
	f, ok := functions[n.text]
	if !ok {
		known := make([]string, 0, len(functions))
		for name := range functions {
			known = append(known, name)
		}
		slices.Sort(known)
		return fault(src, n.at, "there is no function %q; the functions are %s", n.text, strings.Join(known, ", "))
	}
	if len(n.kids) < f.least || f.most >= 0 && len(n.kids) > f.most {
		return fault(src, n.at, "%s does not take %d arguments", n.text, len(n.kids))
	}
	return nil
}

func (e *evaluator) call(n *node, args []any) (any, error) {
	if err := checkCall(e.src, n); err != nil {
		return nil, err
	}
	switch n.text {
	case "range":
		return e.rangeOf(n, args)
	case "abs":
		v, ok := number(args[0])
		if i, isInt := v.(int64); ok && isInt && i != math.MinInt64 {
			return max(i, -i), nil
		}
		if !ok || v == int64(math.MinInt64) {
			return nil, e.fail(n, "%s has no absolute value here", show(args[0]))
		}
		return math.Abs(toFloat(v)), nil
	case "pow":
		return e.binary(&node{op: opBinary, text: "**", at: n.at}, args[0], args[1])
	case "bool":
		return truthOf(args[0]), nil
	case "int", "float":
		return e.convert(n, args[0])
	}
	if len(args) == 0 {
		args = []any{&list{}}
	}
	elements, ok := elementsOf(args[0])
	switch {
	case len(args) > 1:
		elements = args
	case !ok:
		return nil, e.fail(n, "%s cannot be iterated over", show(args[0]))
	}
	switch n.text {
	case "len":
		return int64(len(elements)), nil
	case "list":
		return &list{elements}, e.spend(n, len(elements))
	case "tuple":
		return &tuple{elements}, e.spend(n, len(elements))
	case "all", "any":
		for _, v := range elements {
			if truthOf(v) == (n.text == "any") {
				return n.text == "any", nil
			}
		}
		return n.text == "all", nil
	case "sum":
		var total any = int64(0)
		for _, v := range elements {
			var err error
			if total, err = e.binary(&node{op: opBinary, text: "+", at: n.at}, total, v); err != nil {
				return nil, err
			}
		}
		return total, nil
	case "sorted", "set":
		return e.sorted(n, elements)
	}
	if len(elements) == 0 {
		return nil, e.fail(n, "%s of nothing", n.text)
	}
	best := elements[0]
	for _, v := range elements[1:] {
		order, ok := compareOrdered(v, best)
		if !ok {
			return nil, e.fail(n, "%s and %s have no order", show(v), show(best))
		}
		if n.text == "min" && order < 0 || n.text == "max" && order > 0 {
			best = v
		}
	}
	return best, nil
}

// sorted also implements set, whose order Python leaves open: here it is ascending.
func (e *evaluator) sorted(n *node, elements []any) (any, error) {
	out, comparable := slices.Clone(elements), true
	slices.SortStableFunc(out, func(a, b any) int {
		order, ok := compareOrdered(a, b)
		comparable = comparable && ok
		return order
	})
	if !comparable {
		return nil, e.fail(n, "the elements have no order")
	}
	if n.text == "set" {
		out = slices.CompactFunc(out, equal)
	}
	return &list{out}, e.spend(n, len(out))
}

// convert is int(v) and float(v).
func (e *evaluator) convert(n *node, v any) (any, error) {
	if text, ok := v.(string); ok {
		text = strings.TrimSpace(text)
		if n.text == "int" {
			if i, err := strconv.ParseInt(text, 10, 64); err == nil {
				return i, nil
			}
		} else if f, err := strconv.ParseFloat(text, 64); err == nil && !math.IsInf(f, 0) && !math.IsNaN(f) {
			return f, nil
		}
		return nil, e.fail(n, "%s is not a number", show(v))
	}
	v, ok := number(v)
	if !ok {
		return nil, e.fail(n, "%s needs a number", n.text)
	}
	if n.text == "float" {
		return toFloat(v), nil
	}
	if i, ok := v.(int64); ok {
		return i, nil
	}
	f := math.Trunc(toFloat(v))
	if f < -1<<63 || f >= 1<<63 {
		return nil, e.fail(n, "the result does not fit 64 bits")
	}
	return int64(f), nil
}

func (e *evaluator) rangeOf(n *node, args []any) (any, error) {
	bounds := []int64{0, 0, 1}
	for i, a := range args {
		v, ok := number(a)
		b, isInt := v.(int64)
		if !ok || !isInt {
			return nil, e.fail(n, "range needs integers, not %s", show(a))
		}
		if len(args) == 1 {
			i = 1
		}
		bounds[i] = b
	}
	from, to, step := bounds[0], bounds[1], bounds[2]
	if step == 0 {
		return nil, e.fail(n, "the step of a range is zero")
	}
	out := &list{}
	for v := from; step > 0 && v < to || step < 0 && v > to; {
		out.elements = append(out.elements, v)
		if err := e.spend(n, 1); err != nil {
			return nil, err
		}
		next := v + step
		if (next > v) != (step > 0) {
			break
		}
		v = next
	}
	return out, nil
}
