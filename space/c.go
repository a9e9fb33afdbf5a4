package space

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// CName is a name of a formula that C code has as a variable of type int64_t.
type CName struct {
	Text     string // the expression of C that stands for it
	Positive bool   // whether it is above 0 wherever the code runs, so that it may divide
}

// NoCError says why a part of a formula has no form in C.
type NoCError struct{ Formula, Reason string }

func (e *NoCError) Error() string { return fmt.Sprintf("%s: %s", e.Formula, e.Reason) }

// C writes the formula as an expression of C, over the names that C has as variables; all other names stand for their values, or are
// inactive where they have none. The result is an int64_t or a double. Results are the same as those of Value wherever no operation
// on integers overflows. The error is a *NoCError where C has no such expression.
func (f Formula) C(variables map[string]CName, of map[string]Value) (string, error) {
	w := cWriter{f, variables, of}
	if v, ok, err := w.constant(f.root); ok || err != nil {
		return cValue(v), err
	}
	return w.number(f.root)
}

// Condition writes a formula as a condition of C. It holds where the formula is true, and, with may, also where the value of an inactive
// name would decide: so do constraints. always reports that it holds whatever the variables are.
func (f Formula) Condition(variables map[string]CName, of map[string]Value, may bool) (text string, always bool, err error) {
	w := cWriter{f, variables, of}
	text, err = w.condition(f.root, may)
	return text, text == cTrue, err
}

const cTrue, cFalse = "1", "0"

// cWriter writes parts of a formula in C.
type cWriter struct {
	Formula
	variables map[string]CName
	of        map[string]Value
}

func (w cWriter) fail(format string, args ...any) error {
	return &NoCError{w.src, fmt.Sprintf(format, args...)}
}

// varies reports whether a part names a variable of C.
func (w cWriter) varies(n *node) bool {
	if n.op == opName {
		_, is := w.variables[n.text]
		return is
	}
	for _, kid := range n.kids {
		if w.varies(kid) {
			return true
		}
	}
	return false
}

// lacks reports whether a part names what is inactive.
func (w cWriter) lacks(n *node) bool {
	if n.op == opName {
		_, known := w.of[n.text]
		_, is := w.variables[n.text]
		return !known && !is
	}
	for _, kid := range n.kids {
		if w.lacks(kid) {
			return true
		}
	}
	return false
}

// constant returns the value of a part that names no variable; ok is false where it names one.
func (w cWriter) constant(n *node) (v Value, ok bool, err error) {
	if w.varies(n) {
		return Value{}, false, nil
	}
	v, err = w.at(n, w.of)
	if err != nil {
		return v, false, w.fail("%v", err)
	}
	if v.kind == kindString {
		return v, false, w.fail("the text %v has no number in C", v)
	}
	return v.counted(), true, nil
}

// cValue writes a number.
func cValue(v Value) string {
	if v.kind == kindInt {
		switch n := v.int(); {
		case n == math.MinInt64:
			return "(-INT64_C(9223372036854775807) - 1)"
		case n > math.MaxInt32 || n < -math.MaxInt32:
			return fmt.Sprintf("INT64_C(%d)", n)
		case n < 0:
			return fmt.Sprintf("(%d)", n)
		default:
			return strconv.FormatInt(n, 10)
		}
	}
	x, _ := v.Number()
	text := strconv.FormatFloat(x, 'g', 17, 64)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	if x < 0 {
		return "(" + text + ")"
	}
	return text
}

// cInfix are the operators that C writes alike.
var cInfix = map[op]string{opAdd: "+", opSub: "-", opMul: "*"}

// number writes a part that is a number.
func (w cWriter) number(n *node) (string, error) {
	if v, ok, err := w.constant(n); ok || err != nil {
		return cValue(v), err
	}
	switch n.op {
	case opName:
		return w.variables[n.text].Text, nil
	case opAnd, opOr, opNot, opChain, opIn, opNotIn:
		if w.lacks(n) {
			return "", w.fail("a library cannot compute with a condition on a parameter that is inactive")
		}
		return w.condition(n, true)
	case opChoose:
		if w.lacks(n.kids[0]) {
			return "", w.fail("a library cannot choose by a parameter that is inactive")
		}
		parts := []string{}
		condition, err := w.condition(n.kids[0], true)
		for i := 1; err == nil && i < 3; i++ {
			var part string
			part, err = w.number(n.kids[i])
			parts = append(parts, part)
		}
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("(%s ? %s : %s)", condition, parts[0], parts[1]), nil
	case opPow:
		return "", w.fail("a power of a field of the shape has no form in C: write a product")
	}
	kids, err := w.numbers(n.kids)
	if err != nil {
		return "", err
	}
	if len(strings.Join(kids, "")) > mostC {
		return "", w.fail("it is too long in C: write it more shortly")
	}
	return w.operation(n, kids)
}

// numbers writes parts that are numbers.
func (w cWriter) numbers(parts []*node) ([]string, error) {
	out := make([]string, len(parts))
	for i, part := range parts {
		var err error
		if out[i], err = w.number(part); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// mostC bounds the operands of an operation in C, of which some are written twice.
const mostC = 4096

// operation writes an operation on operands that are written already.
func (w cWriter) operation(n *node, x []string) (string, error) {
	switch n.op {
	case opNegate:
		return "(-" + x[0] + ")", nil
	case opAbs:
		return fmt.Sprintf("(%[1]s < 0 ? -%[1]s : %[1]s)", x[0]), nil
	case opMin, opMax:
		if len(x) > 8 {
			return "", w.fail("a library takes min and max of 8 values at most: write several in one another")
		}
		sign := map[op]string{opMin: "<", opMax: ">"}[n.op]
		out := x[0]
		for _, other := range x[1:] {
			out = fmt.Sprintf("(%[2]s %[3]s %[1]s ? %[2]s : %[1]s)", out, other, sign)
		}
		return out, nil
	case opDiv, opFloorDiv, opMod:
		by := n.kids[1]
		v, known, err := w.constant(by)
		switch {
		case err != nil:
			return "", err
		case known && (v.kind != kindInt || v.int() <= 0), !known && (by.op != opName || !w.variables[by.text].Positive):
			return "", w.fail("a library divides by whole numbers above 0 only, and by fields that are never below 1")
		case n.op == opDiv:
			return fmt.Sprintf("((double)%s / %s)", x[0], x[1]), nil
		case !w.whole(n.kids[0]):
			return "", w.fail("a library divides whole numbers only where // and %% are asked for")
		case w.natural(n.kids[0]): // rounded down as C does
			return fmt.Sprintf("(%s %s %s)", x[0], map[op]string{opFloorDiv: "/", opMod: "%"}[n.op], x[1]), nil
		case n.op == opFloorDiv:
			return fmt.Sprintf("(%[1]s / %[2]s - (%[1]s %% %[2]s < 0))", x[0], x[1]), nil
		}
		return fmt.Sprintf("(%[1]s %% %[2]s + (%[1]s %% %[2]s < 0 ? %[2]s : 0))", x[0], x[1]), nil
	}
	sign, ok := cInfix[n.op]
	if !ok {
		return "", w.fail("an operation has no form in C")
	}
	return fmt.Sprintf("(%s %s %s)", x[0], sign, x[1]), nil
}

// natural reports whether a part is certainly not below 0. It may be below 0 where the answer is no.
func (w cWriter) natural(n *node) bool {
	if v, ok, err := w.constant(n); ok && err == nil {
		x, is := v.Number()
		return is && x >= 0
	}
	all := func(parts []*node) bool {
		return !slices.ContainsFunc(parts, func(p *node) bool { return !w.natural(p) })
	}
	switch n.op {
	case opName:
		return w.variables[n.text].Positive
	case opAdd, opMul, opMin, opDiv, opFloorDiv, opMod: // what divides is above 0
		return all(n.kids)
	case opMax:
		return slices.ContainsFunc(n.kids, w.natural)
	case opChoose:
		return all(n.kids[1:])
	case opSub:
		return w.natural(n.kids[0]) && w.atMost(n.kids[1], n.kids[0])
	case opAbs, opAnd, opOr, opNot, opChain, opIn, opNotIn:
		return true
	}
	return false
}

// atMost reports whether a part is certainly not above another one that is not below 0: 0, a remainder of it, or a choice of these.
func (w cWriter) atMost(part, whole *node) bool {
	if v, ok, err := w.constant(part); ok && err == nil {
		x, is := v.Number()
		return is && x <= 0
	}
	switch part.op {
	case opMod:
		return part.kids[0].String() == whole.String()
	case opChoose:
		return w.atMost(part.kids[1], whole) && w.atMost(part.kids[2], whole)
	}
	return false
}

// whole reports whether a part is a whole number in C.
func (w cWriter) whole(n *node) bool {
	if v, ok, err := w.constant(n); ok && err == nil {
		return v.kind == kindInt
	}
	if n.op == opDiv {
		return false
	}
	kids := n.kids
	if n.op == opChoose {
		kids = kids[1:]
	}
	for _, kid := range kids {
		if !w.whole(kid) {
			return false
		}
	}
	return true
}

// condition writes the condition that a part may be true, or with may unset that it is certainly true. They differ where a value is
// inactive: nothing is certain of it, and everything may be.
func (w cWriter) condition(n *node, may bool) (string, error) {
	switch n.op {
	case opAnd, opOr:
		return w.several(n, may)
	case opNot:
		inner, err := w.condition(n.kids[0], !may)
		switch {
		case err != nil:
			return "", err
		case inner == cTrue:
			return cFalse, nil
		case inner == cFalse:
			return cTrue, nil
		}
		return "!" + inner, nil
	}
	if w.lacks(n) {
		if n.op == opChoose {
			return "", w.fail("a library cannot choose by a parameter that is inactive")
		}
		if may {
			return cTrue, nil
		}
		return cFalse, nil
	}
	if !w.varies(n) {
		is, err := w.truth(n, w.of)
		switch {
		case err != nil:
			return cFalse, nil // what has no value breaks a constraint
		case is:
			return cTrue, nil
		}
		return cFalse, nil
	}
	switch n.op {
	case opChain:
		return w.chain(n)
	case opIn, opNotIn:
		return w.member(n)
	}
	x, err := w.number(n)
	if err != nil {
		return "", err
	}
	return "(" + x + " != 0)", nil
}

// several writes a conjunction or a disjunction.
func (w cWriter) several(n *node, may bool) (string, error) {
	decided, other, sign := cFalse, cTrue, " && "
	if n.op == opOr {
		decided, other, sign = cTrue, cFalse, " || "
	}
	var parts []string
	for _, kid := range n.kids {
		part, err := w.condition(kid, may)
		switch {
		case err != nil:
			return "", err
		case part == decided:
			return decided, nil
		case part != other:
			parts = append(parts, part)
		}
	}
	switch len(parts) {
	case 0:
		return other, nil
	case 1:
		return parts[0], nil
	}
	return "(" + strings.Join(parts, sign) + ")", nil
}

// chain writes comparisons.
func (w cWriter) chain(n *node) (string, error) {
	kids, err := w.numbers(n.kids)
	if err != nil {
		return "", err
	}
	var parts []string
	for i, cmp := range n.cmp {
		parts = append(parts, fmt.Sprintf("%s %s %s", kids[i], cmp, kids[i+1]))
	}
	return "(" + strings.Join(parts, " && ") + ")", nil
}

// member writes a test for membership.
func (w cWriter) member(n *node) (string, error) {
	kids, err := w.numbers(n.kids)
	if err != nil {
		return "", err
	}
	cmp, sign := "==", " || "
	if n.op == opNotIn {
		cmp, sign = "!=", " && "
	}
	var parts []string
	for _, element := range kids[1:] {
		parts = append(parts, fmt.Sprintf("%s %s %s", kids[0], cmp, element))
	}
	return "(" + strings.Join(parts, sign) + ")", nil
}
